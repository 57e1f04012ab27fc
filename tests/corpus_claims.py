"""The claims of the corpus, accepted and rejected; each rejected one fails for one reason."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any, Literal

from corpus_questions import QUESTIONS, STORE

from qreplace.claims import Claim
from qreplace.claims.affine_lp import AffineLPClaim
from qreplace.claims.frozen import FrozenClaim
from qreplace.claims.functional import SparseVector
from qreplace.claims.schedule_error import ScheduleErrorClaim
from qreplace.exact.roots import sqrt_bounds
from qreplace.question.subject import Subject

Number = Fraction | int | str
Method = Literal["optimal_basis", "refined_basis", "rounded", "tangent_cuts"]

TINY = Fraction(1, 10**30)
TINIER = Fraction(1, 10**40)


def subject(name: str) -> Subject:
    """The subject of a question of the corpus."""
    return Subject(QUESTIONS[name], STORE)


def sparse(*entries: Number) -> SparseVector:
    """A dense list of rationals over their common denominator; zeros are left out."""
    values = [Fraction(entry) for entry in entries]
    denominator = math.lcm(*(value.denominator for value in values), 1)
    kept = [(i, value * denominator) for i, value in enumerate(values) if value]
    return SparseVector(Fraction(denominator), tuple(i for i, _ in kept), tuple(n for _, n in kept))


def affine(
    name: str,
    alpha: Sequence[Number],
    witness: Sequence[Number],
    lower: Number,
    upper: Number,
    *,
    norms: Sequence[Number] = (),
    code: int = 0,
    method: Method = "optimal_basis",
) -> AffineLPClaim:
    """An ``affine_lp`` claim about a question of the corpus."""
    return AffineLPClaim(
        format="qreplace/claim/affine_lp/v1",
        subject=subject(name).problem_digest(code),
        code=code,
        method=method,
        primal=sparse(*alpha),
        dual=sparse(*witness),
        dual_block_norms=tuple(map(Fraction, norms)),
        lower=Fraction(lower),
        upper=Fraction(upper),
    )


def schedule(name: str, counts: Sequence[int], error: Number, code: int = 0) -> ScheduleErrorClaim:
    """A ``schedule_error`` claim about a question of the corpus."""
    digest = subject(name).problem_digest(code)
    return ScheduleErrorClaim(
        "qreplace/claim/schedule_error/v1", digest, code, tuple(counts), Fraction(error)
    )


def frozen(name: str, first: int, lower: Number = "3/4", upper: Number = "3/4") -> FrozenClaim:
    """A ``frozen`` claim about a question of the corpus."""
    digest = subject(name).execution_digest(0)
    return FrozenClaim(
        "qreplace/claim/frozen/v1", digest, 0, first, Fraction(lower), Fraction(upper)
    )


ROOT = sqrt_bounds(Fraction(1, 8))[1]
"""The middle of the edge is sqrt(1/8) from (3/4, 3/4)."""

HALVES = ("1/2", "1/2")
EDGE = affine("linf-edge", HALVES, HALVES, "1/4", "1/4")
LOOSE = affine("linf-edge", ("2/3", "1/3"), ("1/2", "1/4"), "1/16", "5/12", method="rounded")
L1_EDGE = affine("l1-edge", HALVES, (1, 1), "1/2", "1/2")
HEAVY = affine("weighted-linf-edge", ("7/12", "5/12"), ("2/3", "2/3"), "1/3", "1/3")
HEAVY_SUM = affine("weighted-l1-edge", ("3/4", "1/4"), (1, 1), "1/2", "1/2")
ROUND = affine(
    "l2-edge", HALVES, ("7/10", "7/10"), "7/20", ROOT, norms=("99/100",), method="tangent_cuts"
)
BLOCKS = affine(
    "two-blocks",
    HALVES,
    ("3/10", "4/10", "-3/10", "-4/10"),
    "5/2",
    "5/2",
    norms=HALVES,
    method="tangent_cuts",
)
LIFT_FLOOR = Fraction(6858525843, 2785017856)
LIFT = affine(
    "quantized-lift",
    (Fraction(676121807, 696254464), Fraction(20132657, 696254464)),
    (0, 0, 0, 0, Fraction(19, 83), Fraction(-64, 83)),
    LIFT_FLOOR,
    LIFT_FLOOR,
)

ACCEPTED_CLAIMS: list[tuple[str, str, Claim]] = [
    ("affine_lp", "linf-edge--width-0", EDGE),
    ("affine_lp", "linf-edge--rounded", LOOSE),
    ("affine_lp", "linf-edge--no-witness", affine("linf-edge", (1, 0), (), 0, "3/4")),
    ("affine_lp", "l1-edge--width-0", L1_EDGE),
    ("affine_lp", "weighted-linf-edge--width-0", HEAVY),
    ("affine_lp", "weighted-l1-edge--width-0", HEAVY_SUM),
    ("affine_lp", "l2-edge--tangent", ROUND),
    ("affine_lp", "two-blocks--width-0", BLOCKS),
    ("affine_lp", "one-atom--width-0", affine("one-atom", (1,), (1,), "2/3", "2/3")),
    ("affine_lp", "met-exactly--width-0", affine("met-exactly", ("1/3", "2/3", 0), (), 0, 0)),
    # From (1/4, 0) the target is (1/2, 3/4) away: a = 3/8 misses both by 1/8.
    (
        "affine_lp",
        "initial-state--width-0",
        affine("initial-state", ("3/8", "5/8"), HALVES, "1/8", "1/8"),
    ),
    ("affine_lp", "two-codes--code-0", affine("two-codes", (1, 0), ("-1", 0), "1/4", "1/4")),
    (
        "affine_lp",
        "two-codes--code-2",
        affine("two-codes", HALVES, HALVES, "1/4", "1/4", code=2),
    ),
    ("affine_lp", "quantized-lift--width-0", LIFT),
    ("affine_lp", "covering-code--width-0", affine("covering-code", HALVES, HALVES, "1/4", "1/4")),
    ("schedule_error", "linf-edge--one-each", schedule("linf-edge", (1, 1), "1/4")),
    ("schedule_error", "linf-edge--uneven", schedule("linf-edge", (2, 1), "5/12")),
    ("schedule_error", "l2-edge--one-each", schedule("l2-edge", (1, 1), ROOT)),
    ("schedule_error", "one-atom--deep", schedule("one-atom", (10**6,), "2/3")),
    ("schedule_error", "met-exactly--three", schedule("met-exactly", (1, 2, 0), 0)),
    ("frozen", "frozen-grid--first-depth", frozen("frozen-grid", 9)),
    ("frozen", "frozen-grid--later", frozen("frozen-grid", 1000)),
    ("frozen", "frozen-always--first-depth", frozen("frozen-always", 1)),
    ("frozen", "covering-code--first-depth", frozen("covering-code", 9)),
    ("frozen", "frozen-no-metadata--first-depth", frozen("frozen-no-metadata", 9)),
    ("frozen", "frozen-routed--first-depth", frozen("frozen-routed", 9)),
    # The state (1/4, 0) is on the grid; the target is (1/2, 3/4) away.
    ("frozen", "frozen-initial-state--first-depth", frozen("frozen-initial-state", 9)),
    # A z_0 = (-5/16, 1/8), so no field exceeds 9/8.
    ("frozen", "frozen-register--first-depth", frozen("frozen-register", 9, "5/4", "5/4")),
    ("frozen", "frozen-leak--first-depth", frozen("frozen-leak", 10, 1, 1)),
    # Coefficients in t are added up: 1 + 1/4 on the first half.
    ("frozen", "frozen-forced--first-depth", frozen("frozen-forced", 11)),
    ("frozen", "frozen-polynomial--first-depth", frozen("frozen-polynomial", 18, 1, 1)),
]

CLAIM_BY_NAME = {name: claim for _, name, claim in ACCEPTED_CLAIMS}


def changed(claim: Any, **fields: Any) -> Any:
    """The claim with other fields."""
    return dataclasses.replace(claim, **fields)


def vector(claim: AffineLPClaim, side: str, **fields: Any) -> AffineLPClaim:
    """The claim with another primal or dual vector."""
    part = dataclasses.replace(getattr(claim, side), **fields)
    return dataclasses.replace(claim, **{side: part})


def stretched(claim: AffineLPClaim, factor: Fraction = 1 + TINY) -> AffineLPClaim:
    """The witness times ``factor`` with the dual value that it then has."""
    dual = claim.dual
    scaled = SparseVector(
        dual.denominator * factor.denominator,
        dual.indices,
        tuple(n * factor.numerator for n in dual.numerators),
    )
    return changed(claim, dual=scaled, lower=claim.lower * factor)


Rejection = tuple[str, str, Claim, str, str]


def _rejected_affine() -> Iterator[Rejection]:
    def case(question: str, name: str, claim: Claim, pointer: str, words: str) -> Rejection:
        return "affine_lp", f"{question}--{name}", claim, pointer, words

    other = "the claim is about another question"  # 1
    yield case("linf-edge", "other-norm", L1_EDGE, "/subject", other)
    yield case(
        "linf-edge",
        "other-target",
        affine("initial-state", ("3/8", "5/8"), HALVES, "1/8", "1/8"),
        "/subject",
        other,
    )
    yield case("linf-edge", "no-subject", changed(EDGE, subject=""), "/subject", other)
    code = affine("two-codes", HALVES, HALVES, "1/4", "1/4", code=2)
    yield case("two-codes", "code-of-another", changed(code, code=0), "/subject", other)
    nowhere = "the question has no dictionary at this code"
    unknown = subject("linf-edge").problem_digest(0)
    yield case(
        "two-codes", "code-of-none", changed(code, code=1, subject=unknown), "/code", nowhere
    )
    yield case("linf-edge", "code-negative", changed(EDGE, code=-1), "/code", nowhere)

    weights = "/primal/numerators"  # 2
    negative = vector(EDGE, "primal", numerators=(Fraction(3), Fraction(-1)))
    yield case("linf-edge", "negative-weight", negative, weights, "a mixing weight is negative")
    over = SparseVector(Fraction(2 * 10**30), (0, 1), (Fraction(10**30), Fraction(10**30 + 1)))
    yield case(
        "linf-edge", "weights-above-1", changed(EDGE, primal=over), weights, "do not sum to 1"
    )
    under = SparseVector(Fraction(2 * 10**30), (0, 1), (Fraction(10**30), Fraction(10**30 - 1)))
    yield case(
        "linf-edge", "weights-below-1", changed(EDGE, primal=under), weights, "do not sum to 1"
    )
    none = SparseVector(Fraction(1), (), ())
    yield case("linf-edge", "no-weights", changed(EDGE, primal=none), weights, "do not sum to 1")

    order = "indices are not ascending within range"
    integers = "numerators and denominators are integers"
    for side in ("primal", "dual"):
        for name, indices in (
            ("descending", (1, 0)),
            ("repeated", (1, 1)),
            ("beyond", (0, 2)),
            ("negative", (-1, 0)),
        ):
            wrong = vector(EDGE, side, indices=indices)
            yield case("linf-edge", f"{side}-{name}", wrong, f"/{side}/indices", order)
        short = vector(EDGE, side, indices=(0,))
        yield case(
            "linf-edge", f"{side}-lengths", short, f"/{side}", "as many numerators as indices"
        )
        parts = vector(EDGE, side, numerators=(Fraction(1, 2), Fraction(3, 2)))
        yield case("linf-edge", f"{side}-fractions", parts, f"/{side}/numerators", integers)
        half = vector(EDGE, side, denominator=Fraction(5, 2))
        yield case("linf-edge", f"{side}-denominator", half, f"/{side}", integers)
        for name, value in (("zero", 0), ("below-zero", -2)):
            wrong = vector(EDGE, side, denominator=Fraction(value))
            yield case(
                "linf-edge", f"{side}-{name}", wrong, f"/{side}", "a denominator is positive"
            )

    excess = "the dual norm of the witness exceeds 1"  # 3
    for question, claim in (
        ("linf-edge", EDGE),
        ("l1-edge", L1_EDGE),
        ("weighted-linf-edge", HEAVY),
    ):
        yield case(question, "dual-norm", stretched(claim), "/dual/numerators", excess)
    heavy = changed(HEAVY_SUM, dual=sparse(0, 1), lower=Fraction(-1, 4))
    yield case("weighted-l1-edge", "dual-norm", stretched(heavy), "/dual/numerators", excess)
    opposite = changed(EDGE, dual=sparse("3/4", "-1/2"), lower=Fraction(-9, 16))
    yield case("linf-edge", "dual-norm-of-signs", opposite, "/dual/numerators", excess)
    small = "a block norm bound is too small"
    place = "/dual_block_norms"
    yield case("two-blocks", "witness", stretched(BLOCKS), place, small)
    wide = changed(stretched(BLOCKS), dual_block_norms=(Fraction(1, 2) * (1 + TINY),) * 2)
    yield case("two-blocks", "dual-norm", wide, place, excess)
    tight = changed(BLOCKS, dual_block_norms=(Fraction(1, 2) - TINY, Fraction(1, 2)))
    yield case("two-blocks", "bound-below", tight, place, small)
    minus = changed(BLOCKS, dual_block_norms=(Fraction(-1, 2), Fraction(1, 2)))
    yield case("two-blocks", "bound-negative", minus, place, small)
    lone = changed(BLOCKS, dual_block_norms=(Fraction(1),))
    yield case("two-blocks", "bound-missing", lone, place, "one norm bound a nonzero block")
    third = changed(BLOCKS, dual_block_norms=(Fraction(1, 2), Fraction(1, 2), Fraction(0)))
    yield case("two-blocks", "bound-extra", third, place, "one norm bound a nonzero block")
    root = changed(ROUND, dual_block_norms=(Fraction(98, 100),))
    yield case("l2-edge", "bound-below", root, place, small)
    yield case("l2-edge", "dual-norm", changed(ROUND, dual_block_norms=(1 + TINY,)), place, excess)
    alien = changed(EDGE, dual_block_norms=(Fraction(1),))
    yield case("linf-edge", "bound-alien", alien, place, "block norms belong to block l2")

    below, above = "not the claimed lower end", "not the claimed upper end"  # 4, 5
    swapped = changed(LOOSE, lower=LOOSE.upper, upper=LOOSE.lower)
    yield case("linf-edge", "swapped", swapped, "/lower", below)
    for name, by in (("more", TINIER), ("less", -TINIER)):
        yield case(
            "linf-edge", f"lower-{name}", changed(EDGE, lower=EDGE.lower + by), "/lower", below
        )
        yield case(
            "linf-edge", f"upper-{name}", changed(EDGE, upper=EDGE.upper + by), "/upper", above
        )
    yield case(
        "l2-edge",
        "upper-inside",
        changed(ROUND, upper=sqrt_bounds(Fraction(1, 8))[0]),
        "/upper",
        above,
    )
    turned = vector(EDGE, "dual", numerators=(Fraction(-1), Fraction(-1)))
    yield case("linf-edge", "witness-turned", turned, "/lower", below)


def _rejected_schedules() -> Iterator[Rejection]:
    def case(question: str, name: str, claim: Claim, pointer: str, words: str) -> Rejection:
        return "schedule_error", f"{question}--{name}", claim, pointer, words

    good = schedule("linf-edge", (1, 1), "1/4")
    other = schedule("l1-edge", (1, 1), "1/2")
    yield case("linf-edge", "other-norm", other, "/subject", "about another question")  # 1
    nowhere = "no dictionary at this code"
    yield case("two-codes", "code-of-none", changed(good, code=1), "/code", nowhere)
    counts = "/counts"  # 2
    needed = "one count an atom is needed"
    yield case("linf-edge", "short", changed(good, counts=(2,)), counts, needed)
    yield case("linf-edge", "long", changed(good, counts=(1, 1, 0)), counts, needed)
    yield case("linf-edge", "empty", changed(good, counts=()), counts, needed)
    yield case(
        "linf-edge", "negative", changed(good, counts=(3, -1)), counts, "a count is negative"
    )
    yield case("linf-edge", "no-steps", changed(good, counts=(0, 0)), counts, "at least one step")
    wrong = "the schedule's error is not the claimed one"  # 3
    for name, by in (("more", TINIER), ("less", -TINIER)):
        yield case(
            "linf-edge", f"error-{name}", changed(good, error=good.error + by), "/error", wrong
        )
    inside = schedule("l2-edge", (1, 1), sqrt_bounds(Fraction(1, 8))[0])
    yield case("l2-edge", "error-inside", inside, "/error", wrong)
    yield case("linf-edge", "other-counts", changed(good, counts=(2, 1)), "/error", wrong)


def _rejected_frozen() -> Iterator[Rejection]:
    def case(question: str, name: str, claim: Claim, pointer: str, words: str) -> Rejection:
        return "frozen", f"{question}--{name}", claim, pointer, words

    good = frozen("frozen-grid", 9)
    coarser = frozen("frozen-always", 9)
    yield case("frozen-grid", "other-grid", coarser, "/subject", "about another question")  # 1
    ideal = changed(good, subject=subject("frozen-grid").problem_digest(0))
    yield case("frozen-grid", "problem-only", ideal, "/subject", "about another question")
    yield case("frozen-grid", "code-negative", changed(good, code=-1), "/code", "at this code")
    for question, words in (  # 2
        ("grid-exact", "freezing is about full-state write-back"),
        ("grid-unsaid", "freezing is about full-state write-back"),
        ("grid-feedback", "freezing is about full-state write-back"),
        ("grid-increment", "freezing is about full-state write-back"),
        ("grid-stochastic", "freezing needs nearest rounding"),
        ("grid-directed", "freezing needs nearest rounding"),
        ("grid-field-error", "freezing needs an exactly evaluated field"),
        ("grid-field-unsaid", "freezing needs an exactly evaluated field"),
        ("grid-initial-error", "freezing needs an exact initial state"),
        ("grid-initial-unsaid", "freezing needs an exact initial state"),
        ("grid-off-start", "the initial state is not on the grid"),
        ("grid-moving-start", "the initial state is not on the grid"),
        ("grid-narrow-start", "the initial state is not on the grid"),
        ("declared-system", "freezing is not computed for a declared system"),
        ("grid-shrinking", "the cells shrink faster than the increments"),
        ("grid-narrow-register", "the state's register does not hold the initial state"),
        ("grid-narrow-accumulator", "freezing needs an accumulator that is as wide as it needs"),
    ):
        yield case(question, "claimed", frozen(question, 9), "", words)
    reach = "an increment reaches half a cell"  # 3
    yield case("frozen-grid", "one-too-small", frozen("frozen-grid", 8), "/first_depth", reach)
    for name, first in (("leak", 9), ("forced", 10), ("polynomial", 17)):
        early = frozen(f"frozen-{name}", first)
        yield case(f"frozen-{name}", "one-too-small", early, "/first_depth", reach)
    yield case("frozen-grid", "zero-depth", frozen("frozen-grid", 0), "/first_depth", "at least 1")
    wrong = "the distance to the target is not the claimed one"  # 4
    yield case("frozen-grid", "lower-more", changed(good, lower=good.lower + TINIER), "", wrong)
    yield case("frozen-grid", "upper-less", changed(good, upper=good.upper - TINIER), "", wrong)
    yield case("frozen-grid", "lower-less", changed(good, lower=good.lower - TINIER), "", wrong)


REJECTED_CLAIMS: list[Rejection] = [
    *_rejected_affine(),
    *_rejected_schedules(),
    *_rejected_frozen(),
]
