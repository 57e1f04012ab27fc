"""Claims of every kind made by hand, and decision documents around them, without any engine."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from corpus_claims import sparse
from dynamic_questions import Number, affine_question, polynomial, polynomial_question
from lifted_questions import L2, LINF

from qreplace.claims import Claim, claim_digest, claim_kind
from qreplace.claims.affine_dynamics import AffineDynamicsClaim, DominantPiece
from qreplace.claims.compositional import Block, CompositionalClaim
from qreplace.claims.count_minimum import Bounded, CountMinimumClaim, Split
from qreplace.claims.exposed_channel import ExposedChannelClaim
from qreplace.claims.field_constants import FieldConstantsClaim
from qreplace.claims.functional import Functional
from qreplace.claims.hjb_sos import HjbSosClaim
from qreplace.claims.lattice import LatticeClaim
from qreplace.claims.net_floor import NetFloorClaim, NetFunctional, NetLower, NetUpper
from qreplace.claims.observable import ObservableClaim
from qreplace.claims.operator_norm import OperatorNormClaim
from qreplace.claims.perturbed import NominalAtom, PerturbedClaim
from qreplace.claims.pwa_supremum import PwaSupremumClaim, ScheduleMap, WitnessCover
from qreplace.claims.region import BoxPart, TimePart
from qreplace.claims.relaxed_control import (
    ControlPiece,
    PureSchedule,
    RelaxedControl,
    RelaxedControlClaim,
)
from qreplace.claims.schedule_minimum import ScheduleMinimumClaim
from qreplace.claims.sums_of_squares import NO_SQUARES, Combination, Gram, Multiplier, Squares
from qreplace.claims.support import SupportClaim
from qreplace.decision.words import not_shown
from qreplace.exact.polynomial import Polynomial
from qreplace.exact.rational import format_rational
from qreplace.question.code_lattice import CodeRange
from qreplace.question.model import Question
from qreplace.report import ReportContext
from qreplace.report.context import Attempt
from qreplace.spec.lower import Labels

LABELS = Labels(
    title="",
    notes="",
    target="",
    architecture="",
    checkpoint="",
    atoms=(),
    code_atoms={},
    premises={},
    mixing_weights=(),
)

NOTHING = Combination(NO_SQUARES, ())
ONE = polynomial_question([["1"], ["-1"]], [2])
"""``x' = u`` with u in {-1, 1} from 0 to the target 2 in time 1: the floor is 1 (theory T7.4)."""
TWO = polynomial_question([["1", "z1"], ["-1", "z1"], ["0", "-1"]], [1, 1], norm=L2)
"""``x' = u, y' = x`` or ``y' = -1``."""
TURNING = affine_question([[1, 0], [0, 1]], [2, 1], norm=LINF, state_matrix=[[0, -1], [1, 0]])
"""A rotation with two forcings."""


def squares(*parts: tuple[Number, Polynomial]) -> Squares:
    """A weighted sum of squares."""
    return Squares("squares", tuple(Fraction(c) for c, _ in parts), tuple(p for _, p in parts))


def functional(*entries: Number) -> Functional:
    """A functional with these entries; its block norms do not matter to a report."""
    return Functional(sparse(*entries), ())


def relaxed(upper: Number, *pieces: tuple[Number, Sequence[Number]]) -> RelaxedControlClaim:
    """A relaxed control by its pieces ``(end, weights)``."""
    control = RelaxedControl(
        "relaxed",
        tuple(ControlPiece(Fraction(end), sparse(*weights)) for end, weights in pieces),
        tuple(8 for _ in pieces),
        6,
    )
    return RelaxedControlClaim(
        "qreplace/claim/relaxed_control/v1", "a" * 64, 0, control, Fraction(upper)
    )


def schedule(upper: Number, *runs: tuple[int, int]) -> RelaxedControlClaim:
    """A pure schedule by its runs."""
    return RelaxedControlClaim(
        "qreplace/claim/relaxed_control/v1", "a" * 64, 0, PureSchedule("schedule", runs),
        Fraction(upper),
    )  # fmt: skip


def value_function(text: str, dimension: int, lower: Number, **fields: Any) -> HjbSosClaim:
    """A value function on the time interval and a box; its proofs are left out."""
    box = BoxPart(
        "box", (Fraction(-1),) * dimension, (Fraction(1),) * dimension, (1,) * (dimension + 1)
    )
    claim = HjbSosClaim(
        format="qreplace/claim/hjb_sos/v1",
        subject="a" * 64,
        code=0,
        depth=None,
        weights=(Fraction(1),) * dimension,
        value_function=polynomial(text, dimension),
        region=(TimePart("time"), box),
        flow=(NOTHING,),
        terminal_region=(),
        terminal=NOTHING,
        lower=Fraction(lower),
    )
    return dataclasses.replace(claim, **fields)


def worked_example() -> HjbSosClaim:
    """The value function of theory T7.4 with its proofs: ``v = (1 + t - x)^2``, floor 1."""
    t, x, z = polynomial("t", 1), polynomial("1 - z1", 1), polynomial("1", 1)
    down = Combination(
        squares((4, t), (2, x)),
        (Multiplier(0, squares((4, z))), Multiplier(1, squares((2, z)))),
    )
    return value_function("(1 + t - z1)^2", 1, 1, flow=(NOTHING, down))


def support(**fields: Any) -> SupportClaim:
    """``w = x + 1 - t`` bounds where ``x' = u`` gets to."""
    claim = SupportClaim(
        format="qreplace/claim/support/v1",
        subject="a" * 64,
        code=0,
        depth=None,
        witness=functional(1),
        bound=polynomial("z1 + 1 - t", 1),
        region=(TimePart("time"),),
        flow=(NOTHING,),
        terminal=NOTHING,
        lower=Fraction(1),
    )
    return dataclasses.replace(claim, **fields)


def blocks() -> CompositionalClaim:
    """Two blocks of one coordinate each."""
    half = Fraction(1, 2)

    def block(coordinate: int, coupling: tuple[Fraction, ...]) -> Block:
        return Block(
            (coordinate,), (Fraction(1),), polynomial("(1 - z1)^2", 1),
            ((polynomial("1", 1),),), (NOTHING,), NOTHING, coupling,
        )  # fmt: skip

    tube = BoxPart("box", (-half, -half), (half, half), (1, 1, 1))
    return CompositionalClaim(
        "qreplace/claim/compositional/v1", "a" * 64, 0, tube,
        (block(0, (Fraction(0), Fraction(1, 8))), block(1, (Fraction(1, 3), Fraction(0)))), half,
    )  # fmt: skip


def affine_claim(**fields: Any) -> AffineDynamicsClaim:
    """A support function and a control for a system of two states."""
    claim = AffineDynamicsClaim(
        format="qreplace/claim/affine_dynamics/v1",
        subject="a" * 64,
        code=0,
        depth=None,
        witness=functional("1/2", "1/2"),
        dominant=(DominantPiece(Fraction(1), 0),),
        control=(
            ControlPiece(Fraction(1, 2), sparse(1, 0)),
            ControlPiece(Fraction(1), sparse("1/2", "1/2")),
        ),
        lower=Fraction(3, 5),
        upper=Fraction(5, 4),
    )
    return dataclasses.replace(claim, **fields)


def perturbed() -> PerturbedClaim:
    """A nominal system within 1/7 of the true one."""
    tube = BoxPart("box", (Fraction(-1),), (Fraction(1),), (1, 1))
    return PerturbedClaim(
        "qreplace/claim/perturbed/v1", "a" * 64, 0, ((Fraction(0),),),
        (NominalAtom(((Fraction(1),),)),), tube, Fraction(1, 7), functional(1),
        (DominantPiece(Fraction(1), 0),), Fraction(1, 2),
    )  # fmt: skip


def observable(rows: int = 2, depth: int | None = None) -> ObservableClaim:
    """So many common functionals."""
    zero = (Fraction(0),) * rows
    return ObservableClaim(
        "qreplace/claim/observable/v1", "a" * 64, 0, depth, ((Fraction(1), Fraction(0)),) * rows,
        (zero,) * rows, (Fraction(1), *zero[1:]), functional(1), Fraction(1, 3),
    )  # fmt: skip


def operator_norm() -> OperatorNormClaim:
    """The norm of an atom's weights, a third above 1."""
    return OperatorNormClaim(
        "qreplace/claim/operator_norm/v1", "a" * 64, 0, "atom", 3, "definite", Fraction(4, 3)
    )


def field_constants() -> FieldConstantsClaim:
    """Constants of which none is a short decimal."""
    tube = BoxPart("box", (Fraction(-1),), (Fraction(1),), (1, 1))
    third = Fraction(1, 3)
    return FieldConstantsClaim(
        "qreplace/claim/field_constants/v1", "a" * 64, 0, tube, (-third,), (third,), 2 * third,
        field_bound=4 * third, state_lipschitz=5 * third, growth_rate=-2 * third,
        step_limit=2 * third, time_variation=third, difference_bound=7 * third,
        difference_lipschitz=third, difference_variation=third,
    )  # fmt: skip


def gram_claim() -> HjbSosClaim:
    """A value function whose proof has a Gram matrix."""
    gram = Gram("gram", ((0, 0), (0, 1)), Fraction(1), tuple(map(Fraction, (1, 0, 1))))
    return value_function("1 - z1", 1, "1/2", flow=(Combination(gram, ()),))


NO_SUBJECT = "0" * 64
PIECEWISE_CLAIMS: dict[str, Claim] = {
    "pwa_supremum": PwaSupremumClaim(
        "qreplace/claim/pwa_supremum/v1", NO_SUBJECT, 0, ScheduleMap("schedule", (0, 1)),
        Fraction(1, 3), (Fraction(0),), Fraction(1, 2), WitnessCover("witnesses"),
    ),
    "schedule_minimum": ScheduleMinimumClaim(
        "qreplace/claim/schedule_minimum/v1", NO_SUBJECT, 0, 3, Fraction(1), ((Fraction(0),),),
        (-1, 0, -1, 0, 0),
    ),
    "count_minimum": CountMinimumClaim(
        "qreplace/claim/count_minimum/v1", NO_SUBJECT, 0, 4, Fraction(1), (),
        (Split("split", 0, 1), Bounded("bounded", 0), Bounded("bounded", 0)),
    ),
    "net_floor": NetFloorClaim(
        "qreplace/claim/net_floor/v1", NO_SUBJECT, 0, Fraction(1), Fraction(2),
        NetLower(2, ((Fraction(0),),), (NetFunctional((0,), ((1,),)),), Fraction(1), (0,)),
        NetUpper(((Fraction(1), Fraction(0)),), 1, (), Fraction(1)),
    ),
    "lattice": LatticeClaim(
        "qreplace/claim/lattice/v1", NO_SUBJECT, 0, 3, 9, "intervals", CodeRange(-4, 5),
        CodeRange(-1, 2), CodeRange(-8, 8), CodeRange(0, 7),
    ),
    "exposed_channel": ExposedChannelClaim(
        "qreplace/claim/exposed_channel/v1", NO_SUBJECT, 0, 3, 40, 0, functional(1), Fraction(1),
        (Fraction(0), Fraction(1), Fraction(1)), Fraction(1, 7),
        BoxPart("box", (Fraction(-1),), (Fraction(1),), (1, 1)), Fraction(1, 3),
    ),
}  # fmt: skip
ONE_OF_EACH: dict[str, Claim] = {
    **PIECEWISE_CLAIMS,
    "affine_dynamics": affine_claim(),
    "perturbed": perturbed(),
    "hjb_sos": worked_example(),
    "compositional": blocks(),
    "support": support(),
    "observable": observable(),
    "relaxed_control": relaxed(1, (1, (1, 0))),
    "operator_norm": operator_norm(),
    "field_constants": field_constants(),
}


# --- documents around them ------------------------------------------------------------------------


def document_of(
    question: Question,
    claims: Sequence[Claim],
    *,
    verdict: str = "unresolved",
    tolerance: Number = "1/2",
    bracket: tuple[Number, Number | None] | None = None,
    best_depth: int | None = None,
) -> dict[str, Any]:
    """A decision document as ``decide --json`` prints it, with two depths and no radii."""
    upper = None if bracket is None or bracket[1] is None else str(Fraction(bracket[1]))
    lower = "0" if bracket is None else str(Fraction(bracket[0]))
    rows: list[dict[str, Any]] = [
        {
            "depth": depth,
            "metadata_bits": 0,
            "verdict": verdict if verdict in ("certified_feasible",) else "unresolved",
            "cost": str(depth),
            "interval": {"lower": lower, "upper": upper},
        }
        for depth in (4, 8)
    ]
    best = None
    if best_depth is not None:
        own = {"depth": best_depth, "metadata_bits": 0, "cost": str(best_depth)}
        best = {**own, "interval": {"lower": lower, "upper": upper}, "radii": {}}
    return {
        "study": question.study_id,
        "bundle_sha256": "b" * 64,
        "engine": "0",
        "verdict": verdict,
        "domain": "witnesses",
        "evidence": "interval_certified",
        "asked": [],
        "declared": [],
        "tolerance": {"lo": str(Fraction(tolerance)), "hi": str(Fraction(tolerance))},
        "bracket": None if bracket is None else {"lower": lower, "upper": upper},
        "best": best,
        "minimal": False,
        "impossible_from": None,
        "depths": rows,
        "frontier": [],
        "plan": None,
        "obstruction": None,
        "claims": [_entry(claim) for claim in claims],
        "attempts": [],
        "weakest": "nothing decided: no premise was used",
        "reasons": ["made by hand"],
        "not_shown": not_shown(question, claims, verdict),
    }


def _entry(claim: Claim) -> dict[str, Any]:
    ends = {side: getattr(claim, side, None) for side in ("lower", "upper")}
    return {
        "kind": claim_kind(claim),
        "sha256": claim_digest(claim),
        **{side: None if end is None else format_rational(end) for side, end in ends.items()},
        "evidence": "interval_certified",
    }


def context_of(
    question: Question,
    claims: Sequence[Claim],
    *,
    states: tuple[str, ...] = (),
    attempts: Sequence[Attempt] = (),
) -> ReportContext:
    """The context of a study made by hand."""
    return ReportContext(
        title="By hand",
        question=question,
        labels=dataclasses.replace(LABELS, states=states),
        source_name="spec.yaml",
        claims=claims,
        attempts=attempts,
    )
