"""Questions about declared systems, built without the specification, and how to decide any."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from lifted_questions import LINF, make_question

from qreplace.check.__main__ import check_claims
from qreplace.check.bounds import Checked
from qreplace.claims import Claim, claim_bytes
from qreplace.claims.schedule_error import ScheduleErrorClaim
from qreplace.decision.levels import EVERYTHING
from qreplace.decision.routes import ChosenRadii
from qreplace.decision.search import Search
from qreplace.decision.verdict import decide
from qreplace.premises import ABSENT, Evidence, Premise
from qreplace.produce.affine_lp import produce as produce_bracket
from qreplace.question import model as q
from qreplace.question.norms import norm_bounds
from qreplace.question.subject import Subject

Number = Fraction | int | str


def premise(
    value: Number, upper: Number | None = None, evidence: Evidence = Evidence.INTERVAL_CERTIFIED
) -> Premise:
    """A declared number or interval."""
    low = Fraction(value)
    high = low if upper is None else Fraction(upper)
    return Premise("declared", low, high, evidence, "test", ())


def optional(value: Number | Premise | None) -> Premise | None:
    """A premise from a number, or nothing."""
    return value if value is None or isinstance(value, Premise) else premise(value)


def bounded_variation(**constants: Any) -> q.BoundedVariationSynthesis:
    """B = L = 1, no time variation, nothing known about differences; numbers become premises."""
    fields: dict[str, Any] = {
        "field_bound": 1,
        "state_lipschitz": 1,
        "time_variation": ABSENT,
        "growth": None,
        "difference_bound": None,
        "difference_lipschitz": None,
        "difference_variation": None,
        **constants,
    }
    plain = (q.Growth, type(ABSENT))
    made = {k: v if isinstance(v, plain) else optional(v) for k, v in fields.items()}
    return q.BoundedVariationSynthesis("bounded_variation", **made)


def growth(rate: Number | Premise, step_limit: Number = 1) -> q.Growth:
    """A growth rate, shown for steps up to ``step_limit``."""
    made = optional(rate)
    assert made is not None
    return q.Growth(made, Fraction(step_limit))


def floor(
    lower: Number | Premise | None = 0,
    upper: Number | Premise | None = "1/100",
    covers: Any = "dictionary",
) -> q.DeclaredFloor:
    """A declared bracket."""
    return q.DeclaredFloor("declared", optional(lower), optional(upper), covers)


def covering(constant: Number = 1, sensitivity: Number = 1, dimension: int = 4) -> Any:
    """Covering metadata."""
    return q.CoveringMetadata("covering", premise(sensitivity), premise(constant), dimension)


def quantized(
    semantics: Any = "write_back",
    step: Number = "1/256",
    power: int = 0,
    rounding: Any = "nearest",
    limit: Number | None = None,
    **fields: Any,
) -> q.QuantizedExecution:
    """A declared execution, everything but the rounding exact; with a limit registers saturate."""
    grid = q.Grid(
        q.DepthRule(Fraction(step), power), rounding, None if limit is None else Fraction(limit)
    )
    values: dict[str, Any] = {
        "carry": None,
        "field_error": ABSENT,
        "initial_error": ABSENT,
        "overflow": q.Unbounded("unbounded") if limit is None else q.Saturating("saturate", None),
        **fields,
    }
    return q.QuantizedExecution("quantized", semantics, grid, **values)


def depths(first: int, last: int, step: int = 1, bits: Sequence[int] = (0,)) -> q.Search:
    """One range of depths."""
    return q.Search((q.DepthRange(first, last, step),), tuple(bits))


def declared(**blocks: Any) -> q.Question:
    """A declared system of dimension 2 with two atoms, exact execution, depths 1 to 128."""
    atoms = blocks.pop("atoms", 2)
    dimension = blocks.pop("dimension", 2)
    question = q.Question(
        format="qreplace/question/v1",
        objective=q.Emulation("emulation", Fraction(1, 10)),
        scope="endpoint",
        norm=LINF,
        domain=q.WitnessDomain("witnesses", None),
        horizon=Fraction(1),
        system=q.DeclaredSystem("declared", dimension),
        initial=None,
        tube=q.WholeSpaceTube("whole_space"),
        target=q.DeclaredTarget("declared", "map"),
        dictionary=q.DeclaredDictionary("declared", atoms, 4, False, True),
        floor=floor(),
        synthesis=bounded_variation(),
        metadata=q.NoMetadata("none"),
        execution=q.ExactExecution("exact"),
        routing=q.NoRouting("none"),
        search=depths(1, 128),
        costs=q.Costs(Fraction(0), Fraction(1), Fraction(1), Fraction(0)),
        certificates=(),
    )
    return dataclasses.replace(question, **blocks)


def tolerance(value: Number) -> q.Emulation:
    """A tolerance."""
    return q.Emulation("emulation", Fraction(value))


# --- deciding -----------------------------------------------------------------------------------


def floor_claims(subject: Subject, bits: int = 0) -> list[Claim]:
    """The exact bracket of a lifted question."""
    return [produce_bracket(subject, bits)]


def schedule_claim(subject: Subject, counts: Sequence[int], bits: int = 0) -> ScheduleErrorClaim:
    """The exact error of a schedule of a lifted question."""
    problem, depth = subject.lifted(bits), sum(counts)
    residual = problem.residual(counts, depth)
    scale = depth * problem.denominator
    return ScheduleErrorClaim(
        format="qreplace/claim/schedule_error/v1",
        subject=subject.problem_digest(bits),
        code=bits,
        counts=tuple(counts),
        error=norm_bounds(subject.question.norm, residual, scale)[1],
    )


def checked(subject: Subject, claims: Sequence[Claim]) -> tuple[list[Claim], list[Checked]]:
    """What the checkers return for the claims."""
    return check_claims(subject, [claim_bytes(claim) for claim in claims])


def verdict_of(
    question: q.Question, claims: Sequence[Claim] = (), store: Mapping[str, bytes] | None = None
) -> dict[str, Any]:
    """The decision document of a question with claims, all of them checked."""
    subject = Subject(question, dict(store or {}))
    return decide(subject, *checked(subject, claims))


def radii_of(question: q.Question, bits: int = 0) -> tuple[ChosenRadii, ...]:
    """The radii of a question from every available premise, one choice a growth rate."""
    return Search(Subject(question, {}), []).environment(bits, EVERYTHING).chosen


def lifted(target: list[Any], atoms: list[list[Any]], **blocks: Any) -> q.Question:
    """A lifted question with tolerance 1/10 at depths 1 to 8."""
    blocks.setdefault("objective", tolerance("1/10"))
    return make_question(target, atoms, **blocks)


def decided(question: q.Question, *counts: list[int]) -> dict[str, Any]:
    """Decide a lifted question with its exact bracket and the named schedules."""
    subject = Subject(question, {})
    schedules = [schedule_claim(subject, list(count)) for count in counts]
    return verdict_of(question, [*floor_claims(subject), *schedules])
