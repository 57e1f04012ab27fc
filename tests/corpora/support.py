"""``support``: exact reach functions of nilpotent systems, and attacks on them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

from dynamic_questions import Number, affine_question, forcing, polynomial, polynomial_question
from lifted_questions import LINF
from square_claims import NOTHING, TIME, TINY, Hand, box, changed, functional, nudged, put

from qreplace.claims import Claim
from qreplace.claims.functional import Functional
from qreplace.claims.region import Region
from qreplace.claims.sums_of_squares import Combination
from qreplace.claims.support import SupportClaim
from qreplace.question.model import Question
from qreplace.question.subject import Subject

QUESTIONS: dict[str, Question] = {
    # x'' = u from rest: x(1) = 1/2 at most, with speed 1; the target asks for 1 and 1.
    "support-double": polynomial_question([["z2", "1"], ["z2", "-1"]], [1, 1], norm=LINF),
    "support-double-longer": polynomial_question(
        [["z2", "1"], ["z2", "-1"]], [1, 1], norm=LINF, horizon="3/2"
    ),
    "support-double-started": polynomial_question(
        [["z2", "1"], ["z2", "-1"]], [1, 1], ["1/4", 0], norm=LINF
    ),
    "support-double-further": polynomial_question([["z2", "1"], ["z2", "-1"]], [2, 1], norm=LINF),
    # x' = u: at every depth the endpoint 1 is the largest.
    "support-line": polynomial_question([["1"], ["-1"]], [2]),
    # x' = u t as forcings: 1/2 at most.
    "support-forced": affine_question([forcing((0, [[0], [1]])), forcing((0, [[0], [-1]]))], [2]),
}


def subject(name: str) -> Subject:
    """The subject of a question."""
    return Subject(QUESTIONS[name], {})


def reach(
    name: str,
    witness: Functional,
    bound: str,
    region: Region,
    flow: Sequence[Combination],
    lower: Number,
    *,
    terminal: Combination = NOTHING,
    depth: int | None = None,
) -> SupportClaim:
    """A ``support`` claim about one of these questions."""
    about = subject(name)
    return SupportClaim(
        format="qreplace/claim/support/v1",
        subject=about.problem_digest(0),
        code=0,
        depth=depth,
        witness=witness,
        bound=polynomial(bound, about.dimension(0)),
        region=region,
        flow=tuple(flow),
        terminal=terminal,
        lower=Fraction(lower),
    )


ONE, TWO = Hand(1), Hand(2)
ONLY_TIME: Region = (TIME,)
FIRST = functional(1, 0)
REACH = "z1 + (1 - t)*z2 + 1/2*(1 - t)^2"
# -(d_t w + grad w . G) = (1 - t)(1 - u): 0 for u = 1, 2 (1 - t) for u = -1.
BRAKE = TWO.combination([(2, "1 - t")], {0: [(2, "1")]})
DOUBLE = reach("support-double", FIRST, REACH, ONLY_TIME, [NOTHING, BRAKE], "1/2")
# Half of lambda = (1/2, 1/2): w = (z1 + (2 - t) z2 + (2 - t)^2/2 - 1/2)/2 is exact as well.
MIXED = reach(
    "support-double",
    functional("1/2", "1/2"),
    "1/2*(z1 + (2 - t)*z2 + 1/2*(2 - t)^2 - 1/2)",
    ONLY_TIME,
    [NOTHING, TWO.combination([(1, "1"), (1, "1 - t")], {0: [(1, "1")]})],
    "1/4",
)
UNIT = functional(1, norms=(1,))
# w - w(after) = h (1 - u).
LINE = reach("support-line", UNIT, "z1 + 1 - t", (), [NOTHING, ONE.combination([(2, "1")])], 1)
LINE_STEPS = changed(LINE, depth=4, flow=(NOTHING, ONE.combination([("1/2", "1")])))
# A slack of 1 - x at the end, which the box pays: 1 - x = ((1 - x)^2 + (1 - x^2))/2.
LOOSE = reach(
    "support-line",
    UNIT,
    "2 - t",
    (TIME, box([-1], [1])),
    [ONE.combination([(1, "1")])] * 2,
    0,
    terminal=ONE.combination([("1/2", "1 - z1")], {1: [("1/2", "1")]}),
)
FORCED = reach(
    "support-forced",
    UNIT,
    "z1 + 1/2 - 1/2*t^2",
    ONLY_TIME,
    [NOTHING, ONE.combination([(2, "t")], {0: [(2, "1")]})],
    "3/2",
)

ACCEPTED: list[tuple[str, str, Claim]] = [
    ("support", "support-double--exact", DOUBLE),
    ("support", "support-double--mixed", MIXED),
    ("support", "support-double--less", changed(DOUBLE, lower=Fraction(-1))),
    ("support", "support-line--no-region", LINE),
    ("support", "support-line--four-steps", LINE_STEPS),
    ("support", "support-line--loose", LOOSE),
    ("support", "support-forced--exact", FORCED),
]

MALFORMED_FROM: tuple[str, str] | None = ("support-double--exact", "lower")

Rejection = tuple[str, str, Claim, str, str]


def _case(question: str, name: str, claim: Claim, pointer: str, words: str) -> Rejection:
    return "support", f"{question}--{name}", claim, pointer, words


def _witness(claim: SupportClaim, **fields: Any) -> SupportClaim:
    """The claim with another vector of its witness."""
    vector = changed(claim.witness.vector, **fields)
    return changed(claim, witness=changed(claim.witness, vector=vector))


def _about() -> Iterator[Rejection]:
    other = "the claim is about another question"
    for name in ("longer", "started", "further"):
        yield _case(f"support-double-{name}", "another", DOUBLE, "/subject", other)
    code = changed(DOUBLE, code=-1)
    yield _case("support-double", "code-negative", code, "/code", "no dictionary at this code")
    zero = changed(LINE_STEPS, depth=0)
    yield _case("support-line", "depth-zero", zero, "/depth", "a depth is out of range")
    wide = changed(DOUBLE, bound=polynomial("z1", 1))
    yield _case("support-double", "variables", wide, "/bound", "another number of variables")


def _witnesses() -> Iterator[Rejection]:
    excess = "the dual norm of the witness exceeds 1"
    over = changed(MIXED, witness=functional("1/2", Fraction(1, 2) + TINY))
    yield _case("support-double", "dual-norm", over, "/witness/vector/numerators", excess)
    norms = changed(DOUBLE, witness=changed(FIRST, block_norms=(Fraction(1),)))
    place = "/witness/block_norms"
    yield _case("support-double", "norms", norms, place, "block norms belong to block l2")
    small = changed(LINE, witness=functional(1, norms=(1 - TINY,)))
    yield _case("support-line", "norm-small", small, place, "a block norm bound is too small")
    large = changed(LINE, witness=functional(1, norms=(1 + TINY,)))
    yield _case("support-line", "norm-large", large, place, excess)
    index = _witness(DOUBLE, indices=(2,))
    place = "/witness/vector/indices"
    yield _case("support-double", "index", index, place, "not ascending within range")
    none = _witness(DOUBLE, denominator=Fraction(0))
    yield _case(
        "support-double", "denominator", none, "/witness/vector", "a denominator is positive"
    )


def _proofs() -> Iterator[Rejection]:
    wrong = "an identity does not hold coefficient by coefficient"
    off = changed(BRAKE, free=nudged(BRAKE.free))
    tipped = changed(DOUBLE, flow=put(DOUBLE.flow, 1, off))
    yield _case("support-double", "coefficient", tipped, "/flow/1", wrong)
    each = "one combination an atom is needed"
    yield _case("support-double", "flow-none", changed(DOUBLE, flow=()), "/flow", each)
    short = changed(DOUBLE, flow=DOUBLE.flow[:1])
    yield _case("support-double", "flow-short", short, "/flow", each)
    # The reach of the worst control, -w in place of w, is what the sign of the flow forbids.
    turned = changed(LINE, bound=polynomial("z1 + t - 1", 1), lower=Fraction(3))
    yield _case("support-line", "falls", turned, "/flow/0", wrong)
    low = changed(LINE, bound=polynomial("z1 + 1 - t - 1/2", 1), lower=Fraction(3, 2))
    yield _case("support-line", "terminal", low, "/terminal", wrong)
    other = changed(DOUBLE, witness=functional(0, 1))
    yield _case("support-double", "other-witness", other, "/terminal", wrong)
    yield _case("support-line", "depth-as-floor", changed(LINE_STEPS, depth=None), "/flow/1", wrong)
    yield _case("support-line", "floor-as-depth", changed(LINE, depth=4), "/flow/1", wrong)
    small = changed(LOOSE, region=(TIME, box([-1], [1 - TINY])))
    leave = "a trajectory can leave the box"
    yield _case("support-line", "box-too-small", small, "/region/1", leave)
    minus = "the weight of a square is negative"
    sunk = changed(BRAKE, free=nudged(BRAKE.free, Fraction(-3)))
    negative = changed(DOUBLE, flow=put(DOUBLE.flow, 1, sunk))
    yield _case("support-double", "weight-negative", negative, "/flow/1/free", minus)
    above = changed(DOUBLE, lower=DOUBLE.lower + TINY)
    words = "the lower end exceeds the separation of the target"
    yield _case("support-double", "lower-more", above, "/lower", words)


REJECTED: list[Rejection] = [*_about(), *_witnesses(), *_proofs()]
