"""``relaxed_control``: controls and schedules that can be followed by hand, and attacks on them."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

from dynamic_questions import Number, affine_question, forcing, polynomial_question
from lifted_questions import L1, LINF, block_l2

from qreplace.claims import Claim
from qreplace.claims.functional import SparseVector
from qreplace.claims.relaxed_control import (
    ControlPiece,
    PureSchedule,
    RelaxedControl,
    RelaxedControlClaim,
)
from qreplace.question.model import Question
from qreplace.question.subject import Subject

TINIER = Fraction(1, 10**40)

QUESTIONS: dict[str, Question] = {
    # x' = -x + u with u = 0 or 1 from 0: u = 1 ends at 1 - 1/e, nearest to 2.
    "ctl-decay": polynomial_question([["-z1"], ["1 - z1"]], [2]),
    "ctl-decay-further": polynomial_question([["-z1"], ["1 - z1"]], [3]),
    "ctl-decay-longer": polynomial_question([["-z1"], ["1 - z1"]], [2], horizon=2),
    # The double integrator from (1, 0) is at rest at 0 after 2: one second each way.
    "ctl-integrator": polynomial_question(
        [["z2", "1"], ["z2", "-1"]], [0, 0], [1, 0], norm=LINF, horizon=2
    ),
    # Brockett's integrator with four directions: the square of perimeter 1 encloses 1/16 twice.
    "ctl-brockett": polynomial_question(
        [["1", "0", "-z2"], ["0", "1", "z1"], ["-1", "0", "z2"], ["0", "-1", "-z1"]],
        [0, 0, 1],
        norm=L1,
    ),
    # z' = -z + b(t): b_0 is 1 until 1/2 and then 1 + t; b_1 is 0.
    "ctl-forced": affine_question(
        [forcing((0, [[1, 0]]), ("1/2", [[1, 0], [1, 0]])), [0, 1]], [1, 1], rate=-1
    ),
    # Fields of time alone: (t, 0) until 1/2, then (0, 1); and (0, 0).
    "ctl-clocked": affine_question(
        [forcing((0, [[0, 0], [1, 0]]), ("1/2", [[0, 1]])), [0, 0]], [1, 1], norm=LINF
    ),
    "ctl-tokens": affine_question([[3, 4, 0, 0], [0, 0, 6, 8]], [3, 4, 3, 4], norm=block_l2(2)),
    # z' = z^2 from 1 leaves every bound at time 1.
    "ctl-escape": polynomial_question([["z1^2"], ["0"]], [3], [1], horizon=2),
    "ctl-squares": polynomial_question([["z1^2 - 1/3"], ["1 - z1^2"]], [1], ["1/3"]),
    "ctl-steep": polynomial_question([["z1^16"]], [3], [2]),
    "ctl-dense": polynomial_question([["(1 + z1 + z2)^12", "0"]], [1, 1]),
}


def subject(name: str) -> Subject:
    """The subject of a question."""
    return Subject(QUESTIONS[name], {})


def weights(*entries: Number) -> SparseVector:
    """Weights of the atoms in order, over a common denominator; zeros are left out."""
    values = [Fraction(entry) for entry in entries]
    common = max(value.denominator for value in values)
    kept = [(i, value * common) for i, value in enumerate(values) if value]
    return SparseVector(Fraction(common), tuple(i for i, _ in kept), tuple(n for _, n in kept))


def control(
    name: str,
    pieces: Sequence[tuple[Number, Sequence[Number]]],
    upper: Number,
    *,
    steps: Sequence[int] | None = None,
    order: int = 16,
) -> RelaxedControlClaim:
    """A relaxed control with a piece per ``(end, weights)``; four steps each unless stated."""
    return RelaxedControlClaim(
        format="qreplace/claim/relaxed_control/v1",
        subject=subject(name).problem_digest(0),
        code=0,
        control=RelaxedControl(
            "relaxed",
            tuple(ControlPiece(Fraction(end), weights(*row)) for end, row in pieces),
            tuple(steps) if steps is not None else (4,) * len(pieces),
            order,
        ),
        upper=Fraction(upper),
    )


def schedule(name: str, runs: Sequence[tuple[int, int]], upper: Number) -> RelaxedControlClaim:
    """A pure schedule of runs ``(atom, repetitions)``."""
    return RelaxedControlClaim(
        format="qreplace/claim/relaxed_control/v1",
        subject=subject(name).problem_digest(0),
        code=0,
        control=PureSchedule("schedule", tuple(runs)),
        upper=Fraction(upper),
    )


UP, DOWN = (1, 0), (0, 1)
# 1 + 1/e = 1.36787944117144232159552...
DECAY = control("ctl-decay", [(1, DOWN)], "1.3678794411714423216", steps=[8])
INTEGRATOR = control("ctl-integrator", [(1, DOWN), (2, UP)], 0)
SQUARE: list[tuple[Number, Sequence[Number]]] = [
    ("1/4", (1, 0, 0, 0)),
    ("1/2", (0, 1, 0, 0)),
    ("3/4", (0, 0, 1, 0)),
    (1, (0, 0, 0, 1)),
]
BROCKETT = control("ctl-brockett", SQUARE, "7/8")
# After 1/2: (1 - e^(-1/2), 0); then z_1' = -z_1 + 1 + t from there, so z_1(1) = 1 - e^(-1/2)/2,
# and the second coordinate stays at 0.
FORCED = control("ctl-forced", [(1, UP)], "1.0438681562")
# The clocked field for all the time: (1/8, 1/2).
CLOCKED = control("ctl-clocked", [(1, UP)], "7/8")
# Half a second each way: (3/2, 2, 3, 4) is off by (3/2, 2) in the first token: 5/2.
TOKENS = control("ctl-tokens", [(1, ("1/2", "1/2"))], "5/2")
# 1 - (3/4)^4 = 175/256 by Euler steps of 1/4.
EULER = schedule("ctl-decay", [(1, 4)], 2 - Fraction(175, 256))
SQUARES = schedule("ctl-squares", [(1, 10), (0, 2)], "2/5")

ACCEPTED: list[tuple[str, str, Claim]] = [
    ("relaxed_control", "ctl-decay--enclosed", DECAY),
    (
        "relaxed_control",
        "ctl-decay--mixed",
        control("ctl-decay", [("1/2", ("2/3", "1/3")), (1, DOWN)], "8/5"),
    ),
    ("relaxed_control", "ctl-integrator--exact", INTEGRATOR),
    ("relaxed_control", "ctl-brockett--exact", BROCKETT),
    ("relaxed_control", "ctl-forced--enclosed", FORCED),
    ("relaxed_control", "ctl-clocked--exact", CLOCKED),
    ("relaxed_control", "ctl-tokens--exact", TOKENS),
    (
        "relaxed_control",
        "ctl-escape--waits",
        control("ctl-escape", [("1/2", (1, 0)), (2, (0, 1))], "1.000001", steps=[16, 1]),
    ),
    ("relaxed_control", "ctl-decay--schedule", EULER),
    ("relaxed_control", "ctl-squares--schedule", SQUARES),
    ("relaxed_control", "ctl-clocked--schedule", schedule("ctl-clocked", [(0, 8)], "29/32")),
    ("relaxed_control", "ctl-forced--schedule", schedule("ctl-forced", [(0, 3), (1, 1)], 1)),
]

MALFORMED_FROM: tuple[str, str] | None = ("ctl-integrator--exact", "upper")

Rejection = tuple[str, str, Claim, str, str]


def _case(question: str, case: str, claim: Claim, pointer: str, words: str) -> Rejection:
    return "relaxed_control", f"{question}--{case}", claim, pointer, words


def _changed(claim: RelaxedControlClaim, **fields: Any) -> RelaxedControlClaim:
    """The claim with other fields, its own or its control's."""
    own = {field.name for field in dataclasses.fields(claim)}
    outer = {key: value for key, value in fields.items() if key in own}
    inner = {key: value for key, value in fields.items() if key not in own}
    return dataclasses.replace(claim, control=dataclasses.replace(claim.control, **inner), **outer)


def _about() -> Iterator[Rejection]:
    other = "the claim is about another question"
    for name in ("ctl-decay-further", "ctl-decay-longer"):
        yield _case(name, "other-question", DECAY, "/subject", other)
    code = "the question has no dictionary at this code"
    yield _case("ctl-decay", "code-negative", _changed(DECAY, code=-1), "/code", code)


def _pieces() -> Iterator[Rejection]:
    place = "/control/pieces"
    many = "a control has 1 to 512 pieces"
    none = _changed(DECAY, pieces=(), steps=())
    yield _case("ctl-decay", "pieces-none", none, place, many)
    row = weights(*DOWN)
    pieces = tuple(ControlPiece(Fraction(i + 1, 513), row) for i in range(513))
    yield _case("ctl-decay", "pieces-many", _changed(DECAY, pieces=pieces), place, many)
    order = "the pieces do not end one after another"
    cases: list[tuple[str, Sequence[Number]]] = [
        ("pieces-back", ("3/4", "1/2", 1)),
        ("pieces-empty", ("1/2", "1/2", 1)),
        ("pieces-zero", (0, "1/2", 1)),
        ("pieces-negative", ("-1/2", "1/2", 1)),
    ]
    for case, ends in cases:
        claim = control("ctl-decay", [(end, DOWN) for end in ends], 2)
        yield _case("ctl-decay", case, claim, place, order)
    horizon = "the last piece does not end at the horizon"
    for case, end in (("pieces-short", 1 - TINIER), ("pieces-beyond", 1 + TINIER)):
        yield _case("ctl-decay", case, control("ctl-decay", [(end, DOWN)], 2), place, horizon)
    unit = 10**3999
    long = SparseVector(Fraction(unit), (0, 1), (Fraction(1), Fraction(unit - 1)))
    thirds = (Fraction(unit // 3 + 1, unit), Fraction(2 * (unit // 3) + 1, unit), Fraction(1))
    heavy = tuple(ControlPiece(end, long) for end in thirds)
    words = "the denominators of the control are too long"
    yield _case(
        "ctl-decay", "pieces-long", _changed(DECAY, pieces=heavy, steps=(4,) * 3), place, words
    )


def _weights() -> Iterator[Rejection]:
    place = "/control/pieces/0/weights"
    numerators = f"{place}/numerators"
    sums = "the mixing weights do not sum to 1"

    def given(denominator: Number, indices: Sequence[int], numbers: Sequence[Number]) -> Claim:
        row = SparseVector(
            Fraction(denominator), tuple(indices), tuple(Fraction(n) for n in numbers)
        )
        return _changed(DECAY, pieces=(ControlPiece(Fraction(1), row),))

    minus = given(1, (0, 1), (-1, 2))
    yield _case("ctl-decay", "weights-negative", minus, numerators, "a mixing weight is negative")
    yield _case("ctl-decay", "weights-more", given(10**40, (1,), (10**40 + 1,)), numerators, sums)
    yield _case("ctl-decay", "weights-less", given(10**40, (1,), (10**40 - 1,)), numerators, sums)
    yield _case("ctl-decay", "weights-none", given(1, (), ()), numerators, sums)
    order = "indices are not ascending within range"
    yield _case("ctl-decay", "weights-no-atom", given(1, (2,), (1,)), f"{place}/indices", order)
    yield _case("ctl-decay", "weights-twice", given(2, (1, 1), (1, 1)), f"{place}/indices", order)
    count = "as many numerators as indices are needed"
    yield _case("ctl-decay", "weights-count", given(1, (0, 1), (1,)), place, count)
    positive = "a denominator is positive"
    yield _case("ctl-decay", "weights-over-zero", given(0, (), ()), place, positive)
    whole = "numerators and denominators are integers"
    halves = given(1, (0, 1), ("1/2", "1/2"))
    yield _case("ctl-decay", "weights-fractions", halves, numerators, whole)


def _steps() -> Iterator[Rejection]:
    place = "/control/steps"
    count = "one number of steps a piece is needed"
    yield _case("ctl-decay", "steps-missing", _changed(DECAY, steps=()), place, count)
    yield _case("ctl-decay", "steps-extra", _changed(DECAY, steps=(4, 4)), place, count)
    least = "a piece takes at least one step"
    yield _case("ctl-decay", "steps-zero", _changed(DECAY, steps=(0,)), place, least)
    many = "the control takes too many steps"
    yield _case("ctl-decay", "steps-many", _changed(DECAY, steps=(20_001,)), place, many)
    work = control("ctl-dense", [(1, (1,))], 100, steps=[50], order=40)
    yield _case("ctl-dense", "steps-work", work, place, "the steps take too much work")
    order = "the order of a step is 1 to 40"
    for case, number in (("order-zero", 0), ("order-high", 41), ("order-negative", -1)):
        claim = _changed(DECAY, order=number)
        yield _case("ctl-decay", case, claim, "/control/order", order)


def _runs() -> Iterator[Rejection]:
    place = "/control/runs"
    atom = "a run names no atom"
    yield _case("ctl-decay", "runs-no-atom", schedule("ctl-decay", [(2, 4)], 2), place, atom)
    yield _case("ctl-decay", "runs-negative", schedule("ctl-decay", [(-1, 4)], 2), place, atom)
    least = "a run has at least one step"
    empty = schedule("ctl-decay", [(1, 4), (0, 0)], 2)
    yield _case("ctl-decay", "runs-empty", empty, place, least)
    back = schedule("ctl-decay", [(1, 5), (0, -1)], 2)
    yield _case("ctl-decay", "runs-back", back, place, least)
    depth = "a schedule has 1 to 20000 steps"
    yield _case("ctl-decay", "runs-none", schedule("ctl-decay", [], 2), place, depth)
    yield _case("ctl-decay", "runs-deep", schedule("ctl-decay", [(1, 20_001)], 2), place, depth)
    work = schedule("ctl-dense", [(0, 20_000)], 100)
    yield _case("ctl-dense", "runs-work", work, place, "the schedule takes too much work")


def _enclosures() -> Iterator[Rejection]:
    words = "the state leaves every enclosure: needs smaller steps"
    wide = control("ctl-escape", [("1/2", (1, 0)), (2, (0, 1))], 3, steps=[1, 1])
    yield _case("ctl-escape", "step-wide", wide, "/control/steps/0", words)
    late = control("ctl-escape", [("1/2", (0, 1)), (2, (1, 0))], 3, steps=[1, 100])
    yield _case("ctl-escape", "step-escapes", late, "/control/steps/1", words)
    steep = schedule("ctl-steep", [(0, 2), (0, 8)], 10)
    yield _case("ctl-steep", "run-escapes", steep, "/control/runs/1", words)


def _ends() -> Iterator[Rejection]:
    words = "the control's error exceeds the claimed upper end"
    for question, case, claim in (
        ("ctl-integrator", "upper-below-zero", _changed(INTEGRATOR, upper=-TINIER)),
        ("ctl-brockett", "upper-less", _changed(BROCKETT, upper=Fraction(7, 8) - TINIER)),
        ("ctl-clocked", "upper-less", _changed(CLOCKED, upper=Fraction(7, 8) - TINIER)),
        ("ctl-tokens", "upper-less", _changed(TOKENS, upper=Fraction(5, 2) - TINIER)),
        ("ctl-decay", "upper-less", _changed(DECAY, upper=Fraction("1.3678794411714423215"))),
        ("ctl-decay", "schedule-less", _changed(EULER, upper=EULER.upper - TINIER)),
        # A true control for another horizon: the second half is missing.
        ("ctl-integrator", "upper-slow", control("ctl-integrator", [(2, DOWN)], 0)),
        # Steps of order 1 enclose the endpoint too widely for this end.
        ("ctl-decay", "upper-coarse", _changed(DECAY, order=1)),
    ):
        yield _case(question, case, claim, "/upper", words)


REJECTED: list[Rejection] = [
    *_about(),
    *_pieces(),
    *_weights(),
    *_steps(),
    *_runs(),
    *_enclosures(),
    *_ends(),
]
