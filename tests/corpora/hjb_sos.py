"""``hjb_sos``: value functions whose squares can be checked with a pencil, and attacks on them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

from dynamic_questions import Number, polynomial, polynomial_question
from lifted_questions import L1, LINF, block_l2, weighted_l1, weighted_linf
from square_claims import NOTHING, TIME, TINY, Hand, box, changed, gram, nudged, put

from qreplace.claims import Claim
from qreplace.claims.hjb_sos import HjbSosClaim, TerminalPart
from qreplace.claims.region import Region
from qreplace.claims.sums_of_squares import Combination, Squares
from qreplace.exact.polynomial import ZERO
from qreplace.question.model import Question
from qreplace.question.subject import Subject

OPPOSITE = [["1", "-1"], ["-1", "1"]]
"""Two atoms that keep ``z1 + z2``."""

QUESTIONS: dict[str, Question] = {
    # theory T7.4: x' = u from 0, target 2: the nearest endpoint is 1, by u = 1.
    "hjb-worked": polynomial_question([["1"], ["-1"]], [2]),
    "hjb-further": polynomial_question([["1"], ["-1"]], [3]),
    "hjb-longer": polynomial_question([["1"], ["-1"]], [2], horizon=2),
    "hjb-started": polynomial_question([["1"], ["-1"]], [2], ["1/2"]),
    # x' = -x + u with u = 0 or 1 from 0: the largest endpoint is 1 - 1/e.
    "hjb-decay": polynomial_question([["-z1"], ["1 - z1"]], [2]),
    # Every mixture ends at (s, -s): equally far from 1 in both coordinates at best.
    "hjb-linf": polynomial_question(OPPOSITE, [1, 1], norm=LINF),
    "hjb-l1": polynomial_question(OPPOSITE, [1, 1], norm=L1),
    "hjb-weighted-linf": polynomial_question(OPPOSITE, [1, 1], norm=weighted_linf(1, 2)),
    "hjb-weighted-l1": polynomial_question(OPPOSITE, [1, 1], norm=weighted_l1(1, 2)),
    "hjb-tokens": polynomial_question(
        [["1", "-1", "0", "0"], ["-1", "1", "0", "0"]], [1, 1, 1, 1], norm=block_l2(2)
    ),
    # Both ways around the unit circle from (1, 0); (2, 0) is nearest there.
    "hjb-circle": polynomial_question([["-z2", "z1"], ["z2", "-z1"]], [2, 0], [1, 0]),
    "hjb-seven": polynomial_question([["1"] * 7], [2] * 7),
    # One step of a dense square: a high power of its image would never end.
    "hjb-dense": polynomial_question([["(1 + t + z1 + z2 + z3)^2", "0", "0"]], [9, 0, 0]),
}


def subject(name: str) -> Subject:
    """The subject of a question."""
    return Subject(QUESTIONS[name], {})


def value_function(
    name: str,
    function: str,
    region: Region,
    flow: Sequence[Combination],
    lower: Number,
    *,
    terminal: Combination = NOTHING,
    terminal_region: Sequence[TerminalPart] = (),
    weights: Sequence[Number] = (1,),
    depth: int | None = None,
) -> HjbSosClaim:
    """An ``hjb_sos`` claim about one of these questions."""
    about = subject(name)
    return HjbSosClaim(
        format="qreplace/claim/hjb_sos/v1",
        subject=about.problem_digest(0),
        code=0,
        depth=depth,
        weights=tuple(map(Fraction, weights)),
        value_function=polynomial(function, about.dimension(0)),
        region=region,
        flow=tuple(flow),
        terminal_region=tuple(terminal_region),
        terminal=terminal,
        lower=Fraction(lower),
    )


ONE, TWO, FOUR = Hand(1), Hand(2), Hand(4)

# --- theory T7.4, worked -------------------------------------------------------------------------

UNIT: Region = (TIME, box([-1], [1]))
"""``t (1 - t)`` and ``1 - x^2``."""
RISE = "(1 + t - z1)^2"
# 2 (1 + t - x)(1 - u): 0 for u = 1, and 4 t + 4 (1 - x) for u = -1.
FLOW = ONE.combination([(4, "t"), (2, "1 - z1")], {0: [(4, "1")], 1: [(2, "1")]})
WORKED = value_function("hjb-worked", RISE, UNIT, [NOTHING, FLOW], 1)
GRAM_FLOW = ONE.combination(
    gram([(0, 0), (1, 0), (0, 1)], [2, 0, 4, -2, 0, 2]),
    {0: gram([(0, 0)], [8], 2), 1: [(2, "1")]},
)
GRAM = changed(WORKED, flow=(NOTHING, GRAM_FLOW))
# One step of h = 1/4 adds 4 h^2.
STEP = ONE.combination(
    [(1, "t"), ("1/2", "1 - z1"), ("1/4", "1")], {0: [(1, "1")], 1: [("1/2", "1")]}
)
STEPS = changed(WORKED, flow=(NOTHING, STEP), depth=4)

# --- invariance, implied and terminal constraints -------------------------------------------------

TIMES = ONE.combination([(1, "t")], {0: [(1, "1")]})
"""``t = t^2 + t (1 - t)``."""
POSITIVE = ONE.invariant("z1", [NOTHING, ONE.combination([(1, "1")])], ["-1", "-1"])
BELOW = ONE.invariant("1 - z1", [ONE.combination([(1, "1")]), NOTHING], ["-1", "-1"])
BOTH = ONE.invariant(
    "t*z1",
    [
        ONE.combination((), {1: [(1, "1")]}),
        ONE.combination([(1, "t")], {0: [(1, "1")], 1: [(1, "1")]}),
    ],
    ["-1", "-1"],
)
BETWEEN = ONE.implied("z1 - z1^2", ONE.combination((), {1: [(1, "1 - z1")], 2: [(1, "z1")]}))
KEPT: Region = (TIME, POSITIVE, BELOW, BOTH, BETWEEN)
"""0: ``t (1 - t)``, 1: ``x``, 2: ``1 - x``, 3: ``t x``, 4: ``x (1 - x)``."""
TWOS = [(2, "1")]
DECAY_FLOW = [
    ONE.combination([(2, "t")], {0: TWOS, 2: TWOS, 3: TWOS, 4: TWOS}),
    ONE.combination((), {3: TWOS, 4: TWOS}),
]
DECAY = value_function("hjb-decay", RISE, KEPT, DECAY_FLOW, 1)
# At the horizon 2 - x = 1 + (1 - x), and 1/2 = (2 - x)/4 + x/4.
ROOM = TerminalPart(polynomial("2 - z1", 1), ONE.combination([(1, "1")], {2: [(1, "1")]}))
TERMINAL = value_function(
    "hjb-decay",
    f"{RISE} - 1/2",
    KEPT,
    DECAY_FLOW,
    "7/10",
    terminal=ONE.combination((), {1: [("1/4", "1")], 5: [("1/4", "1")]}),
    terminal_region=[ROOM],
)
HALF = [("1/2", "1")]
KEPT_STEPS: Region = (
    TIME,
    ONE.invariant(
        "z1", [ONE.combination((), {1: HALF}), ONE.combination(HALF, {1: HALF})], ["0", "0"]
    ),
    ONE.invariant(
        "1 - z1", [ONE.combination(HALF, {2: HALF}), ONE.combination((), {2: HALF})], ["0", "0"]
    ),
    ONE.invariant(
        "t*z1",
        [
            ONE.combination((), {1: [("1/4", "1")], 3: HALF}),
            ONE.combination([("1/4", "1"), ("1/2", "t")], {0: HALF, 1: [("1/4", "1")], 3: HALF}),
        ],
        ["0", "0"],
    ),
    BETWEEN,
)
ONES = [(1, "1")]
DECAY_STEPS = value_function(
    "hjb-decay",
    RISE,
    KEPT_STEPS,
    [
        ONE.combination([(1, "t"), ("1/4", "1 + z1")], {0: ONES, 2: ONES, 3: ONES, 4: ONES}),
        ONE.combination([("1/4", "z1")], {3: ONES, 4: ONES}),
    ],
    1,
    depth=2,
)

BALL = TWO.invariant("1 - z1^2 - z2^2", [NOTHING, NOTHING], ["0", "0"])
CIRCLE = value_function(
    "hjb-circle",
    "1",
    (BALL,),
    [NOTHING, NOTHING],
    1,
    weights=(1, 1),
    terminal=TWO.combination([(2, "1 - z1"), (2, "z2")], {0: [(1, "1")]}),
)

# --- every norm, without any region ---------------------------------------------------------------

EVEN = value_function(
    "hjb-linf",
    "1/4*(2 - z1 - z2)^2",
    (),
    [NOTHING, NOTHING],
    1,
    weights=("1/2", "1/2"),
    terminal=TWO.combination([("1/4", "z1 - z2")]),
)
SUM = value_function(
    "hjb-l1",
    "1/2*(2 - z1 - z2)^2",
    (),
    [NOTHING, NOTHING],
    "7/5",
    weights=(1, 1),
    terminal=TWO.combination([("1/2", "z1 - z2")]),
)
HEAVY = value_function(
    "hjb-weighted-linf",
    "4/9*(2 - z1 - z2)^2",
    (),
    [NOTHING, NOTHING],
    "4/3",
    weights=("2/3", "4/3"),
    terminal=TWO.combination([("2/9", "1 + z1 - 2*z2")]),
)
HEAVY_SUM = value_function(
    "hjb-weighted-l1",
    "4/5*(2 - z1 - z2)^2",
    (),
    [NOTHING, NOTHING],
    "7/4",
    weights=(1, 4),
    terminal=TWO.combination([("1/5", "3 + z1 - 4*z2")]),
)
TOKENS = value_function(
    "hjb-tokens",
    "1/4*(2 - z1 - z2)^2 + 1/4*(2 - z3 - z4)^2",
    (),
    [NOTHING, NOTHING],
    "7/5",
    weights=("1/2",) * 4,
    terminal=FOUR.combination([("1/4", "z1 - z2"), ("1/4", "z3 - z4")]),
)

ACCEPTED: list[tuple[str, str, Claim]] = [
    ("hjb_sos", "hjb-worked--squares", WORKED),
    ("hjb_sos", "hjb-worked--gram", GRAM),
    ("hjb_sos", "hjb-worked--four-steps", STEPS),
    ("hjb_sos", "hjb-worked--less", changed(WORKED, lower=Fraction(0))),
    ("hjb_sos", "hjb-decay--invariant", DECAY),
    ("hjb_sos", "hjb-decay--terminal", TERMINAL),
    ("hjb_sos", "hjb-decay--two-steps", DECAY_STEPS),
    ("hjb_sos", "hjb-circle--ball", CIRCLE),
    ("hjb_sos", "hjb-linf--no-region", EVEN),
    ("hjb_sos", "hjb-linf--three-steps", changed(EVEN, depth=3)),
    ("hjb_sos", "hjb-l1--no-region", SUM),
    ("hjb_sos", "hjb-weighted-linf--no-region", HEAVY),
    ("hjb_sos", "hjb-weighted-l1--no-region", HEAVY_SUM),
    ("hjb_sos", "hjb-tokens--no-region", TOKENS),
]

MALFORMED_FROM: tuple[str, str] | None = ("hjb-worked--squares", "lower")

Rejection = tuple[str, str, Claim, str, str]


def _case(question: str, name: str, claim: Claim, pointer: str, words: str) -> Rejection:
    return "hjb_sos", f"{question}--{name}", claim, pointer, words


def _flow(claim: HjbSosClaim, index: int, **fields: Any) -> HjbSosClaim:
    """The claim with other fields of one combination of the flow."""
    part = changed(claim.flow[index], **fields)
    return changed(claim, flow=put(claim.flow, index, part))


def _part(claim: HjbSosClaim, index: int, **fields: Any) -> HjbSosClaim:
    """The claim with other fields of one part of its region."""
    part = changed(claim.region[index], **fields)
    return changed(claim, region=put(claim.region, index, part))


def _about() -> Iterator[Rejection]:
    other = "the claim is about another question"
    for name in ("hjb-further", "hjb-longer", "hjb-started"):
        yield _case(name, "another", WORKED, "/subject", other)
    yield _case("hjb-worked", "no-subject", changed(WORKED, subject=""), "/subject", other)
    code = changed(WORKED, code=-1)
    yield _case("hjb-worked", "code-negative", code, "/code", "no dictionary at this code")


def _sizes() -> Iterator[Rejection]:
    seven = changed(WORKED, subject=subject("hjb-seven").problem_digest(0))
    yield _case("hjb-seven", "states", seven, "", "at most 6 state variables")
    for name, depth in (("zero", 0), ("negative", -4), ("endless", 10**9 + 1)):
        claim = changed(STEPS, depth=depth)
        yield _case("hjb-worked", f"depth-{name}", claim, "/depth", "a depth is out of range")
    wide = changed(WORKED, value_function=polynomial("(1 + t - z1)^2", 2))
    place = "/value_function"
    yield _case("hjb-worked", "variables", wide, place, "another number of variables")
    power = changed(
        value_function("hjb-dense", "z1^32", (), [NOTHING], 0, weights=(1, 0, 0)), depth=2
    )
    more = "the claim asks for more arithmetic than is done"
    yield _case("hjb-dense", "power", power, "", more)
    steep = changed(power, value_function=polynomial("z1^40", 3), depth=None)
    wrong = "an identity does not hold coefficient by coefficient"
    yield _case("hjb-dense", "steep", steep, "/flow/0", wrong)
    square = ONE.squares((1, "t^33"))
    beyond = changed(WORKED, terminal=Combination(square, ()))
    yield _case("hjb-worked", "degree", beyond, "", "has degree at most 64")
    numbers = [Fraction(1, 3**8000), Fraction(1, 5**5500)]
    long = changed(WORKED, terminal=Combination(_constants(numbers), ()))
    yield _case("hjb-worked", "long-numbers", long, "", "too long a common denominator")
    terminal = changed(WORKED, terminal_region=(TerminalPart(ZERO, NOTHING),) * 401)
    place = "/terminal_region"
    yield _case("hjb-worked", "terminals", terminal, place, "too many terminal constraints")


def _constants(weights: Sequence[Fraction]) -> Squares:
    """So many times one."""
    return Squares("squares", tuple(weights), (polynomial("1", 1),) * len(weights))


def _weights() -> Iterator[Rejection]:
    needed = "one weight a coordinate is needed"
    for name, weights in (("none", ()), ("two", (1, 1))):
        claim = changed(WORKED, weights=tuple(map(Fraction, weights)))
        yield _case("hjb-worked", f"weights-{name}", claim, "/weights", needed)
    minus = changed(EVEN, weights=(Fraction(-1), Fraction(1)))
    yield _case("hjb-linf", "weight-negative", minus, "/weights", "is negative")
    over = "the weighted error can exceed the squared norm"
    for question, claim, index in (
        ("hjb-worked", WORKED, 0),
        ("hjb-linf", EVEN, 1),
        ("hjb-l1", SUM, 0),
        ("hjb-weighted-linf", HEAVY, 0),
        ("hjb-weighted-l1", HEAVY_SUM, 1),
        ("hjb-tokens", TOKENS, 3),
    ):
        more = put(claim.weights, index, claim.weights[index] + TINY)
        yield _case(question, "heavier", changed(claim, weights=more), "/weights", over)


def _regions() -> Iterator[Rejection]:
    def boxed(**fields: Any) -> HjbSosClaim:
        return _part(WORKED, 1, **fields)

    leave = "a trajectory can leave the box"
    place = "/region/1"
    low, high = (Fraction(-1),), (Fraction(1),)
    small = boxed(upper=(1 - TINY,))
    yield _case("hjb-worked", "box-too-small", small, place, leave)
    yield _case("hjb-worked", "box-too-small-below", boxed(lower=(TINY - 1,)), place, leave)
    outside = boxed(lower=(Fraction(1, 2),), upper=(Fraction(2),))
    yield _case("hjb-worked", "box-elsewhere", outside, place, "initial state lies outside")
    yield _case("hjb-worked", "box-empty", boxed(lower=high, upper=low), place, "side of a box")
    one = "a box has one side a coordinate"
    yield _case("hjb-worked", "box-sides", boxed(lower=low * 2), place, one)
    yield _case("hjb-worked", "box-cells", boxed(cells=(1,)), place, one)
    cells = f"{place}/cells"
    none = boxed(cells=(1, 0))
    yield _case("hjb-worked", "cells-none", none, cells, "number of cells is out of range")
    much = boxed(cells=(65_537, 1))
    yield _case("hjb-worked", "cells-beyond", much, cells, "number of cells is out of range")
    many = boxed(cells=(257, 256))
    yield _case("hjb-worked", "cells-many", many, cells, "cut into too many cells")
    sliced = boxed(cells=(1025, 1), lower=(Fraction(-1, 2),))
    yield _case("hjb-worked", "slices-many", sliced, cells, "cut into too many slices")
    full = changed(WORKED, region=(TIME,) * 401)
    yield _case("hjb-worked", "constraints", full, "/region", "too many constraints")
    absent = changed(WORKED, region=UNIT[:1])
    order = "multipliers do not name constraints in ascending order"
    yield _case("hjb-worked", "box-absent", absent, "/flow/1/multipliers/1", order)

    wide = _part(DECAY, 1, constraint=polynomial("z1", 2))
    yield _case("hjb-decay", "constraint", wide, "/region/1", "another number of variables")
    factor = _part(DECAY, 1, factors=put(POSITIVE.factors, 0, polynomial("z1", 2)))
    place = "/region/1/combinations/0"
    yield _case("hjb-decay", "factor", factor, place, "a factor has another number of variables")
    count = "one combination and one factor an atom are needed"
    short = _part(DECAY, 1, combinations=POSITIVE.combinations[:1])
    yield _case("hjb-decay", "invariance-short", short, "/region/1", count)
    spare = _part(DECAY, 1, factors=(*POSITIVE.factors, ZERO))
    yield _case("hjb-decay", "invariance-long", spare, "/region/1", count)
    away = "the initial state violates a constraint"
    left = _part(DECAY, 1, constraint=polynomial("z1 - 1", 1))
    yield _case("hjb-decay", "starts-outside", left, "/region/1", away)
    keeps = "a constraint is not shown to be invariant"
    slack = ONE.combination([(1 + TINY, "1")])
    off = _part(DECAY, 1, combinations=put(POSITIVE.combinations, 1, slack))
    yield _case("hjb-decay", "invariance-off", off, "/region/1/combinations/1", keeps)
    grows = _part(DECAY, 1, factors=put(POSITIVE.factors, 0, polynomial("1", 1)))
    yield _case("hjb-decay", "factor-sign", grows, place, keeps)
    unshown = _part(CIRCLE, 0, constraint=polynomial("1 - z1^2 - 2*z2^2", 2))
    yield _case("hjb-circle", "ellipse", unshown, place.replace("/1/", "/0/"), keeps)
    # 1 - x falls for u = 1; a multiplier of its own is what the factor is for, of any sign.
    own = ONE.combination((), {1: [(1, "1")]})
    itself = _part(DECAY, 1, combinations=put(POSITIVE.combinations, 0, own))
    usable = "a multiplier names a constraint that may not be used here"
    yield _case("hjb-decay", "invariant-by-itself", itself, f"{place}/multipliers/0", usable)
    scaled = _part(DECAY_STEPS, 1, factors=(ZERO, polynomial("1", 1)))
    place = "/region/1/combinations/1"
    yield _case("hjb-decay", "discrete-factor", scaled, place, "a discrete invariant has no factor")

    later = changed(BETWEEN, combination=ONE.combination((), {4: [(1, "1")]}))
    swapped = changed(DECAY, region=(*KEPT[:3], later, BETWEEN))
    place = "/region/3/combination/multipliers/0"
    yield _case("hjb-decay", "implied-by-later", swapped, place, usable)
    circular = _part(DECAY, 4, combination=ONE.combination((), {4: [(1, "1")]}))
    place = "/region/4/combination/multipliers/0"
    yield _case("hjb-decay", "implied-by-itself", circular, place, usable)
    follow = _part(DECAY, 4, constraint=polynomial("z1 - z1^2", 1).scaled(1 + TINY))
    yield _case("hjb-decay", "implied-off", follow, "/region/4", "does not follow")


def _squares() -> Iterator[Rejection]:
    wrong = "an identity does not hold coefficient by coefficient"
    off = _flow(WORKED, 1, free=nudged(FLOW.free))
    yield _case("hjb-worked", "coefficient", off, "/flow/1", wrong)
    missing = _flow(WORKED, 1, multipliers=FLOW.multipliers[:1])
    yield _case("hjb-worked", "multiplier-missing", missing, "/flow/1", wrong)
    crossed = changed(WORKED, flow=WORKED.flow[::-1])
    yield _case("hjb-worked", "flow-crossed", crossed, "/flow/0", wrong)
    end = changed(WORKED, terminal=ONE.combination([(TINY, "1")]))
    yield _case("hjb-worked", "terminal", end, "/terminal", wrong)
    higher = changed(WORKED, value_function=polynomial("(2 - z1)^2", 1))
    yield _case("hjb-worked", "other-function", higher, "/flow/0", wrong)
    each = "one combination an atom is needed"
    for name, flow in (("none", ()), ("short", (FLOW,)), ("long", (*WORKED.flow, NOTHING))):
        claim = changed(WORKED, flow=flow)
        yield _case("hjb-worked", f"flow-{name}", claim, "/flow", each)
    # The proof at depth 4 says nothing about other depths, nor about the floor.
    yield _case("hjb-worked", "depth-as-floor", changed(STEPS, depth=None), "/flow/1", wrong)
    yield _case("hjb-worked", "floor-as-depth", changed(WORKED, depth=4), "/flow/1", wrong)
    yield _case("hjb-worked", "other-depth", changed(STEPS, depth=5), "/flow/1", wrong)

    order = "multipliers do not name constraints in ascending order"
    first, second = FLOW.multipliers
    for name, multipliers, at in (
        ("descending", (second, first), 1),
        ("twice", (first, first, second), 1),
        ("beyond", (first, changed(second, constraint=2)), 1),
        ("negative", (changed(first, constraint=-1), second), 0),
    ):
        claim = _flow(WORKED, 1, multipliers=multipliers)
        place = f"/flow/1/multipliers/{at}"
        yield _case("hjb-worked", f"multipliers-{name}", claim, place, order)
    minus = "the weight of a square is negative"
    # With a constraint 1 >= 0 the identity also holds as (.. + 4) - 4: only the sign is wrong.
    trivial = ONE.implied("1", ONE.combination([(1, "1")]))
    signed = ONE.combination(
        [(4, "t"), (2, "1 - z1"), (4, "1")],
        {0: [(4, "1")], 1: [(2, "1")], 2: [(-4, "1")]},
    )
    sign = changed(WORKED, region=(*UNIT, trivial), flow=(NOTHING, signed))
    place = "/flow/1/multipliers/2/sos"
    yield _case("hjb-worked", "multiplier-sign", sign, place, minus)
    free = _flow(WORKED, 1, free=ONE.squares((4, "t"), (2, "1 - z1"), (-TINY, "z1")))
    yield _case("hjb-worked", "weight-negative", free, "/flow/1/free", minus)
    bare = _flow(WORKED, 1, free=changed(FLOW.free, weights=FLOW.free.weights[:1]))
    yield _case("hjb-worked", "weight-missing", bare, "/flow/1/free", "one weight a square")
    wide = _flow(WORKED, 1, free=Hand(2).squares((4, "t"), (2, "1 - z1")))
    yield _case(
        "hjb-worked", "square-variables", wide, "/flow/1/free", "a square has another number"
    )
    many = changed(WORKED, terminal=Combination(_constants([Fraction(0)] * 401), ()))
    yield _case("hjb-worked", "squares", many, "/terminal/free", "there are too many squares")


def _grams() -> Iterator[Rejection]:
    good = GRAM_FLOW.free

    def other(**fields: Any) -> HjbSosClaim:
        return _flow(GRAM, 1, free=changed(good, **fields))

    place = "/flow/1/free"
    definite = "a Gram matrix is not positive semidefinite"
    scale = 10**40
    sunk = tuple(n * scale for n in good.lower)
    # The 3 x 3 matrix is singular: an entry 1e-40 lower has an eigenvalue of that size below 0.
    below = other(lower=put(sunk, 5, sunk[5] - 1), denominator=Fraction(scale))
    yield _case("hjb-worked", "gram-eigenvalue", below, f"{place}/lower", definite)
    hollow = other(lower=tuple(map(Fraction, (0, 0, 4, -2, 0, 2))))
    yield _case("hjb-worked", "gram-zero-pivot", hollow, f"{place}/lower", definite)
    above = other(lower=put(sunk, 5, sunk[5] + 1), denominator=Fraction(scale))
    wrong = "an identity does not hold coefficient by coefficient"
    yield _case("hjb-worked", "gram-coefficient", above, "/flow/1", wrong)
    integers = "the numerators of a Gram matrix are integers"
    half = other(lower=put(good.lower, 0, Fraction(5, 2)))
    yield _case("hjb-worked", "gram-fractions", half, f"{place}/lower", integers)
    whole = "a Gram matrix has a positive whole denominator"
    for name, denominator in (("zero", 0), ("negative", -1), ("half", Fraction(1, 2))):
        claim = other(denominator=Fraction(denominator))
        yield _case("hjb-worked", f"gram-denominator-{name}", claim, f"{place}/denominator", whole)
    fit = "a monomial of a Gram basis does not fit the variables"
    for name, monomial in (("short", (0,)), ("long", (0, 0, 0)), ("negative", (-1, 1))):
        claim = other(basis=put(good.basis, 0, monomial))
        yield _case("hjb-worked", f"gram-monomial-{name}", claim, f"{place}/basis", fit)
    triangle = "a Gram matrix is given by its whole lower triangle"
    for name, lower in (("short", good.lower[:5]), ("long", (*good.lower, Fraction(0)))):
        claim = other(lower=lower)
        yield _case("hjb-worked", f"gram-triangle-{name}", claim, f"{place}/lower", triangle)
    rows = changed(WORKED, terminal=Combination(gram([(0, 0)] * 401, []), ()))
    yield _case("hjb-worked", "gram-rows", rows, "/terminal/free", "a Gram matrix has 1 to")
    empty = other(basis=(), lower=())
    yield _case("hjb-worked", "gram-empty", empty, place, "a Gram matrix has 1 to")


def _terminals() -> Iterator[Rejection]:
    def other(**fields: Any) -> HjbSosClaim:
        return changed(TERMINAL, terminal_region=(changed(ROOM, **fields),))

    place = "/terminal_region/0"
    follow = "a terminal constraint does not follow"
    # 3/2 - x is true at the horizon as well, but this is no proof of it.
    tight = other(constraint=polynomial("3/2 - z1", 1))
    yield _case("hjb-decay", "terminal-not-shown", tight, place, follow)
    timed = other(constraint=polynomial("1 + t - z1", 1))
    yield _case("hjb-decay", "terminal-in-time", timed, place, "depends on time")
    wide = other(constraint=polynomial("2 - z1", 2))
    yield _case("hjb-decay", "terminal-variables", wide, place, "another number of variables")
    strange = other(combination=ONE.combination([(1, "1")], {5: [(1, "1")]}))
    order = "multipliers do not name constraints in ascending order"
    yield _case(
        "hjb-decay", "terminal-by-itself", strange, f"{place}/combination/multipliers/0", order
    )
    dropped = changed(TERMINAL, terminal_region=())
    yield _case("hjb-decay", "terminal-absent", dropped, "/terminal/multipliers/1", order)


def _ends() -> Iterator[Rejection]:
    shows = "the lower end exceeds what the value function shows"
    above = changed(WORKED, lower=1 + TINY)
    yield _case("hjb-worked", "lower-more", above, "/lower", shows)
    root = changed(SUM, lower=Fraction(3, 2))
    yield _case("hjb-l1", "lower-rounded-up", root, "/lower", shows)
    minus = changed(WORKED, lower=Fraction(-1))
    yield _case("hjb-worked", "lower-negative", minus, "/lower", "the lower end is negative")


REJECTED: list[Rejection] = [
    *_about(),
    *_sizes(),
    *_weights(),
    *_regions(),
    *_squares(),
    *_grams(),
    *_terminals(),
    *_ends(),
]
