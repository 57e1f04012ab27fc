"""Checker of ``relaxed_control`` (theory T7.8).

Claim: one explicit control ends within ``upper`` of the target, so ``E_inf <= upper``; or one pure
schedule does after its Euler steps, so the ideal error at its depth is at most ``upper``.

Obligations, numbered as in ``schemas/relaxed_control.v1.md``:

1. the claim's subject is this question's problem at the claim's code;
2. the pieces of a relaxed control end one after another, the last at the horizon;
3. the weights of every piece are a point of the simplex;
4. every piece takes at least one step, the order is at least 1, and the work is bounded;
5. the runs of a schedule name atoms, repeat at least once each, and the work is bounded;
6. every validated step finds an enclosure;
7. the error of the enclosed endpoint is at most the claimed upper end.

The endpoint is exact where the flow is a polynomial in time (state-independent atoms, chains of
integrators), and enclosed outward everywhere else.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

from qreplace.check.bounds import ScopedBound, floor_bounds, require, require_subject
from qreplace.check.functional import check_simplex
from qreplace.claims.relaxed_control import PureSchedule, RelaxedControl, RelaxedControlClaim
from qreplace.errors import Rejected
from qreplace.exact.taylor import MAX_ORDER, EnclosedState, State
from qreplace.premises import Evidence
from qreplace.question.endpoints import (
    MAX_PIECES,
    MAX_STEPS,
    MAX_WORK,
    Endpoints,
    NotEnclosed,
    Piece,
    error_bound,
)
from qreplace.question.subject import Subject

MAX_NUMBER_BITS = 65_536
"""Most bits of all denominators of a control together."""


def check(subject: Subject, claim: RelaxedControlClaim) -> tuple[ScopedBound, ...]:
    """The upper bound on E_inf, or on the ideal error at a depth; raises ``Rejected``."""
    require_subject(subject, claim.subject, claim.code)  # 1
    endpoints = Endpoints(subject, claim.code)
    control = claim.control
    try:
        if isinstance(control, RelaxedControl):
            depth = None
            state = _relaxed(endpoints, control)
        else:
            state = _scheduled(endpoints, control)
            depth = sum(repetitions for _, repetitions in control.runs)
    except NotEnclosed as failure:  # 6
        part = "steps" if isinstance(control, RelaxedControl) else "runs"
        place = f"/control/{part}/{failure.position}"
        raise Rejected(
            "the state leaves every enclosure: needs smaller steps", pointer=place
        ) from None
    error = error_bound(subject.question.norm, state, endpoints.target)
    require(
        error <= claim.upper, "the control's error exceeds the claimed upper end", "/upper"
    )  # 7
    exact = not isinstance(state, EnclosedState)
    evidence = Evidence.ANALYTIC_CERTIFIED if exact else Evidence.INTERVAL_CERTIFIED
    return floor_bounds(subject, claim, upper=claim.upper, evidence=evidence, depth=depth)


def _relaxed(endpoints: Endpoints, control: RelaxedControl) -> State:
    count = len(control.pieces)
    within = 1 <= count <= MAX_PIECES
    require(within, "a control has 1 to 512 pieces", "/control/pieces")  # 2
    ends = [Fraction(0), *(piece.end for piece in control.pieces)]
    ascending = all(one < other for one, other in pairwise(ends))
    require(ascending, "the pieces do not end one after another", "/control/pieces")  # 2
    whole = ends[-1] == endpoints.horizon
    require(whole, "the last piece does not end at the horizon", "/control/pieces")  # 2
    pieces: list[Piece] = []
    length = 0
    for position, piece in enumerate(control.pieces):
        place = f"/control/pieces/{position}/weights"
        numerators = check_simplex(piece.weights, endpoints.count, place)  # 3
        denominator = piece.weights.denominator.numerator
        pieces.append((piece.end, [Fraction(n, denominator) for n in numerators]))
        length += denominator.bit_length() + piece.end.denominator.bit_length()
    fits = length <= MAX_NUMBER_BITS
    require(fits, "the denominators of the control are too long", "/control/pieces")
    _check_steps(endpoints, control, pieces)  # 4
    return endpoints.relaxed(pieces, control.steps, control.order)


def _check_steps(endpoints: Endpoints, control: RelaxedControl, pieces: list[Piece]) -> None:
    steps, place = control.steps, "/control/steps"
    require(len(steps) == len(pieces), "one number of steps a piece is needed", place)
    require(all(n >= 1 for n in steps), "a piece takes at least one step", place)
    require(sum(steps) <= MAX_STEPS, "the control takes too many steps", place)
    order = control.order
    require(1 <= order <= MAX_ORDER, "the order of a step is 1 to 40", "/control/order")
    affordable = endpoints.work(pieces, steps, order) <= MAX_WORK
    require(affordable, "the steps take too much work", place)


def _scheduled(endpoints: Endpoints, control: PureSchedule) -> State:
    place = "/control/runs"
    atoms = range(endpoints.count)
    require(all(atom in atoms for atom, _ in control.runs), "a run names no atom", place)  # 5
    require(all(n >= 1 for _, n in control.runs), "a run has at least one step", place)  # 5
    depth = sum(n for _, n in control.runs)
    require(1 <= depth <= MAX_STEPS, "a schedule has 1 to 20000 steps", place)  # 5
    affordable = endpoints.scheduled_work(depth) <= MAX_WORK
    require(affordable, "the schedule takes too much work", place)  # 5
    return endpoints.scheduled(control.runs)
