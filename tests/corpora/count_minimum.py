"""``count_minimum``: counts that can be listed by hand, and attacks on trees that cut them off."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from fractions import Fraction

from dynamic_questions import polynomial_question
from lifted_questions import L1, L2, block_l2, make_question, weighted_linf

from qreplace.claims import Claim
from qreplace.claims.count_minimum import Bounded, CountMinimumClaim, Single, Split
from qreplace.claims.functional import Functional, SparseVector
from qreplace.question.model import Question
from qreplace.question.subject import Subject

TINIER = Fraction(1, 10**40)

QUESTIONS: dict[str, Question] = {
    # n/D of one atom against 1/2: an odd depth misses by 1/(2D).
    "count-half": make_question(["1/2"], [[0], [1]]),
    "count-other-half": make_question(["1/2"], [[0], [2]]),
    # The same along (3, 4): five times as far.
    "count-slope": make_question(["3/2", 2], [[0, 0], [3, 4]], L2),
    "count-blocks": make_question(["1/2", "1/2"], [[0, 0], [1, 1]], block_l2(1)),
    "count-weighted": make_question(["1/2", 0], [[0, 0], [1, 0]], weighted_linf(4, 1)),
    # Three corners and their middle: two steps miss one corner's share.
    "count-corners": make_question(["1/3", "1/3", "1/3"], [[1, 0, 0], [0, 1, 0], [0, 0, 1]], L1),
    "count-state": polynomial_question([["-z1"], ["1 - z1"]], [2]),
}


def subject(name: str) -> Subject:
    """The subject of a question."""
    return Subject(QUESTIONS[name], {})


def functional(*entries: Fraction | int | str, norms: Sequence[str] = ()) -> Functional:
    """A functional by all its entries; zeros are left out."""
    values = [Fraction(entry) for entry in entries]
    common = max(value.denominator for value in values)
    kept = [(i, value * common) for i, value in enumerate(values) if value]
    vector = SparseVector(Fraction(common), tuple(i for i, _ in kept), tuple(n for _, n in kept))
    return Functional(vector, tuple(map(Fraction, norms)))


def split(atom: int, at: int) -> Split:
    """``n[atom] <= at``, then ``n[atom] > at``."""
    return Split("split", atom, at)


def bounded(number: int) -> Bounded:
    """Closed by a functional."""
    return Bounded("bounded", number)


SINGLE = Single("single")
Part = Split | Bounded | Single


def claim(
    name: str,
    depth: int,
    lower: Fraction | int | str,
    functionals: Sequence[Functional],
    *tree: Part,
) -> CountMinimumClaim:
    """A claim about a question of this corpus."""
    code = 0
    digest = "0" * 64 if name == "count-state" else subject(name).problem_digest(code)
    return CountMinimumClaim(
        format="qreplace/claim/count_minimum/v1",
        subject=digest,
        code=code,
        depth=depth,
        lower=Fraction(lower),
        functionals=tuple(functionals),
        tree=tree,
    )


UP, DOWN = functional(1), functional(-1)
SIDES = [split(1, 1), bounded(0), bounded(1)]
"""At most one step of three: the endpoint is too low; else too high."""
HALF = claim("count-half", 3, "1/6", [UP, DOWN], *SIDES)
ALONG = [functional("3/5", "4/5", norms=["1"]), functional("-3/5", "-4/5", norms=["1"])]
SLOPE = claim("count-slope", 3, "5/6", ALONG, *SIDES)
BLOCKS = claim(
    "count-blocks",
    3,
    "1/6",
    [functional("1/2", "1/2", norms=["1/2", "1/2"]), functional(0, -1, norms=["1"])],
    *SIDES,
)
WEIGHTED = claim("count-weighted", 3, "2/3", [functional(4, 0), functional(-4, 0)], *SIDES)
LISTED: list[Part] = [
    # n_0 = 0, then n_1 = 0, 1, 2; n_0 = 1, then n_1 = 0, 1; n_0 = 2.
    split(0, 0),
    *(split(1, 0), SINGLE, split(1, 1), SINGLE, SINGLE),
    *(split(0, 1), split(1, 0), SINGLE, SINGLE, SINGLE),
]
CORNERS = claim("count-corners", 2, "2/3", [], *LISTED)
# Twice a corner is cut off by that corner's coordinate: 1 - 1/3 and the others' 1/3 each.
TWICE = [functional(*(-1 if i == j else 1 for i in range(3))) for j in range(3)]
CUT_CORNERS = claim(
    "count-corners",
    2,
    "2/3",
    TWICE,
    *(split(0, 1), split(1, 1), split(2, 1)),
    *(split(0, 0), SINGLE, split(1, 0), SINGLE, SINGLE),
    *(bounded(2), bounded(1), bounded(0)),
)

MET = claim("count-half", 2, 0, [], split(1, 0), SINGLE, split(1, 1), SINGLE, SINGLE)
ONE_STEP = claim("count-half", 1, "1/2", [], split(0, 0), SINGLE, SINGLE)

ACCEPTED: list[tuple[str, str, Claim]] = [
    ("count_minimum", "count-half--pinned", HALF),
    ("count_minimum", "count-half--less", dataclasses.replace(HALF, lower=Fraction(1, 7))),
    ("count_minimum", "count-half--nothing", MET),
    ("count_minimum", "count-half--one-step", ONE_STEP),
    ("count_minimum", "count-slope--pinned", SLOPE),
    ("count_minimum", "count-blocks--pinned", BLOCKS),
    ("count_minimum", "count-weighted--pinned", WEIGHTED),
    ("count_minimum", "count-corners--listed", CORNERS),
    ("count_minimum", "count-corners--cut", CUT_CORNERS),
]

MALFORMED_FROM: tuple[str, str] | None = ("count-half--pinned", "lower")


def _tree(original: CountMinimumClaim, *tree: Part) -> CountMinimumClaim:
    return dataclasses.replace(original, tree=tree)


def _with(original: CountMinimumClaim, number: int, other: Functional) -> CountMinimumClaim:
    functionals = list(original.functionals)
    functionals[number] = other
    return dataclasses.replace(original, functionals=tuple(functionals))


def _about_the_question() -> Iterator[tuple[str, Claim, str, str]]:
    other = dataclasses.replace(HALF, subject=subject("count-other-half").problem_digest(0))
    yield "count-half--another-subject", other, "/subject", "about another question"
    state = claim("count-state", 3, 0, [], SINGLE)
    own = dataclasses.replace(state, subject=subject("count-state").problem_digest(0))
    yield "count-state--no-counts", own, "", "holds no lifted problem"
    negative = dataclasses.replace(HALF, code=-1)
    yield "count-half--code", negative, "/code", "no dictionary at this code"
    yield (
        "count-half--no-steps",
        dataclasses.replace(HALF, depth=0),
        "/depth",
        "at least one step",
    )


def _functionals() -> Iterator[tuple[str, Claim, str, str]]:
    place = "/functionals/1/vector"
    too_long = "the dual norm of the witness exceeds 1"
    stretched = _with(HALF, 1, functional(-1 - TINIER))
    yield "count-half--stretched", stretched, f"{place}/numerators", too_long
    outside = _with(HALF, 1, functional(0, 1))
    yield "count-half--no-such-coordinate", outside, f"{place}/indices", "not ascending"
    short = dataclasses.replace(ALONG[1], block_norms=(1 - TINIER,))
    yield (
        "count-slope--short-norm",
        _with(SLOPE, 1, short),
        "/functionals/1/block_norms",
        "a block norm bound is too small",
    )
    unused = dataclasses.replace(HALF, functionals=(*HALF.functionals, functional(2)))
    yield "count-half--unused-functional", unused, "/functionals/2/vector/numerators", too_long
    primes = [Fraction(1, 3**7000), Fraction(1, 5**4500)]
    long = dataclasses.replace(BLOCKS.functionals[0], block_norms=tuple(primes))
    yield "count-blocks--endless-norms", _with(BLOCKS, 0, long), "", "too long a common denominator"


def _trees() -> Iterator[tuple[str, Claim, str, str]]:
    yield "count-half--empty-tree", _tree(HALF), "/tree", "the tree leaves parts open"
    half_open = _tree(HALF, split(1, 1), bounded(0))
    yield "count-half--one-side-only", half_open, "/tree", "the tree leaves parts open"
    beyond = _tree(HALF, *SIDES, bounded(0))
    yield "count-half--one-part-more", beyond, "/tree/3", "goes on after every part is closed"
    one_side = "a split leaves no counts on one side"
    yield (
        "count-half--split-at-the-end",
        _tree(HALF, split(1, 3), bounded(0), bounded(1)),
        "/tree/0",
        one_side,
    )
    below = _tree(HALF, split(1, -1), bounded(0), bounded(1))
    yield "count-half--split-below", below, "/tree/0", one_side
    for atom, case in ((2, "no-such-atom"), (-1, "atom-from-the-end")):
        wrong = _tree(HALF, split(atom, 1), bounded(0), bounded(1))
        yield f"count-half--{case}", wrong, "/tree/0", one_side
    # n_0 is 2 or 3 once n_1 <= 1: a part that the sum leaves empty is no part.
    empty = _tree(HALF, split(1, 1), split(0, 1), bounded(0), bounded(0), bounded(1))
    yield "count-half--split-against-the-sum", empty, "/tree/1", one_side
    for number, case in ((2, "no-such-functional"), (-1, "functional-from-the-end")):
        wrong = _tree(HALF, split(1, 1), bounded(0), bounded(number))
        yield f"count-half--{case}", wrong, "/tree/2", "names a functional that is not there"


def _bounds() -> Iterator[tuple[str, Claim, str, str]]:
    below = "the functional does not keep a part above the lower end"
    more = dataclasses.replace(HALF, lower=HALF.lower + TINIER)
    yield "count-half--a-little-more", more, "/tree/1", below
    yield (
        "count-slope--a-little-more",
        dataclasses.replace(SLOPE, lower=SLOPE.lower + TINIER),
        "/tree/1",
        below,
    )
    swapped = _tree(HALF, split(1, 1), bounded(1), bounded(0))
    yield "count-half--sides-swapped", swapped, "/tree/1", below
    shifted = _tree(HALF, split(1, 0), bounded(0), bounded(1))
    yield "count-half--split-one-lower", shifted, "/tree/2", below
    even = dataclasses.replace(HALF, depth=4)
    yield "count-half--at-an-even-depth", even, "/tree/2", below
    relaxed = _tree(HALF, bounded(0))
    yield "count-half--undivided", relaxed, "/tree/0", below
    weaker = _with(WEIGHTED, 0, functional(1, 0))
    yield "count-weighted--weight-forgotten", weaker, "/tree/1", below
    choices = "more than one choice of counts is left"
    yield "count-half--one-of-two", _tree(HALF, split(1, 1), SINGLE, bounded(1)), "/tree/1", choices
    unlisted = _tree(CORNERS, split(0, 0), SINGLE, *LISTED[6:])
    yield "count-corners--unlisted", unlisted, "/tree/1", choices
    smaller = "one choice of counts has a smaller error"
    more = dataclasses.replace(CORNERS, lower=CORNERS.lower + TINIER)
    yield "count-corners--a-little-more", more, "/tree/4", smaller
    single = claim("count-slope", 1, Fraction(5, 2) + TINIER, [], split(0, 0), SINGLE, SINGLE)
    yield "count-slope--root-rounded-up", single, "/tree/1", smaller


REJECTED: list[tuple[str, str, Claim, str, str]] = [
    ("count_minimum", *entry)
    for attacks in (_about_the_question, _functionals, _trees, _bounds)
    for entry in attacks()
]
