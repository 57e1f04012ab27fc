"""``compositional``: two weakly coupled integrators and a chain of blocks, and attacks on them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

from dynamic_questions import Number, polynomial, polynomial_question
from lifted_questions import LINF
from square_claims import NOTHING, TINY, Hand, box, changed, nudged, put

from qreplace.claims import Claim
from qreplace.claims.compositional import Block, CompositionalClaim
from qreplace.claims.region import BoxPart
from qreplace.claims.sums_of_squares import Combination
from qreplace.question.model import Question
from qreplace.question.subject import Subject

SIGNS = ((1, 1), (1, -1), (-1, 1), (-1, -1))
PAIR = [[f"{a} + 1/20*z2", f"{b} + 1/20*z1"] for a, b in SIGNS]
"""Two integrators that see a twentieth of each other."""
CHAIN = [
    ["1 + 1/20*z2", "1 + 1/20*z3*z1", "1 + 1/20*z1*z3 + 1/40*z2"],
    ["-1 + 1/20*z2", "-1 + 1/20*z3*z1", "-1 + 1/20*z1*z3 + 1/40*z2"],
]
"""One sign for three integrators with products in their coupling."""

QUESTIONS: dict[str, Question] = {
    "comp-pair": polynomial_question(PAIR, [3, 3]),
    "comp-pair-linf": polynomial_question(PAIR, [3, 3], norm=LINF),
    "comp-pair-longer": polynomial_question(PAIR, [3, 3], horizon="9/8"),
    "comp-pair-further": polynomial_question(PAIR, [4, 3]),
    "comp-chain": polynomial_question(CHAIN, [3, 3, 3]),
}


def subject(name: str) -> Subject:
    """The subject of a question."""
    return Subject(QUESTIONS[name], {})


def composed(
    name: str, tube: BoxPart, blocks: Sequence[Block], lower: Number
) -> CompositionalClaim:
    """A ``compositional`` claim about one of these questions."""
    return CompositionalClaim(
        format="qreplace/claim/compositional/v1",
        subject=subject(name).problem_digest(0),
        code=0,
        tube=tube,
        blocks=tuple(blocks),
        lower=Fraction(lower),
    )


ONE = Hand(1)
SIDE = Fraction(5, 4)
RISE = "(2 + t - z1)^2"
# 2 (2 + t - x)(1 - u): 0 for u = 1, 4 t + 3 + 4 (5/4 - x) for u = -1, and
# 5/4 - x = ((5/4 - x)^2 + (25/16 - x^2)) * 2/5.
FALL = ONE.combination(
    [(4, "t"), (3, "1"), ("8/5", "5/4 - z1")], {0: [(4, "1")], 1: [("8/5", "1")]}
)


def line(
    coordinate: int, signs: Sequence[int], coupling: Sequence[Number], weight: Number = 1
) -> Block:
    """One integrator whose local field is its sign; the value function is scaled by the weight."""
    flow = {1: NOTHING, -1: FALL}
    factor = Fraction(weight)
    return Block(
        coordinates=(coordinate,),
        weights=(factor,),
        value_function=polynomial(RISE, 1).scaled(factor),
        local=tuple((polynomial(str(sign), 1),) for sign in signs),
        flow=tuple(scaled(flow[sign], factor) for sign in signs),
        terminal=NOTHING,
        coupling=tuple(map(Fraction, coupling)),
    )


def scaled(combination: Combination, factor: Fraction) -> Combination:
    """Every weight times a factor."""

    def times(sos: Any) -> Any:
        return changed(sos, weights=tuple(factor * w for w in sos.weights))

    multipliers = tuple(changed(m, sos=times(m.sos)) for m in combination.multipliers)
    return Combination(times(combination.free), multipliers)


TUBE = box([-SIDE] * 2, [SIDE] * 2)
# |2 (2 + t - x1) x2 / 20| <= 2 (17/4)(5/4)/20 = 17/32.
LOSS = Fraction(17, 32)
BLOCKS = (
    line(0, [a for a, _ in SIGNS], (0, LOSS)),
    line(1, [b for _, b in SIGNS], (LOSS, 0)),
)
# 2^2 + 2^2 - 2 * 17/32 = 111/16.
SPLIT = composed("comp-pair", TUBE, BLOCKS, "79/30")
HALVES = (
    line(0, [a for a, _ in SIGNS], (0, LOSS / 2), "1/2"),
    line(1, [b for _, b in SIGNS], (LOSS / 2, 0), "1/2"),
)
LINF_SPLIT = composed("comp-pair-linf", TUBE, HALVES, "93/50")
# One block with both coordinates, in another order, and nothing left over: on the tube 3 - x is at
# least 7/4, and (3 - x)^2 - 49/16 = 12/5 (5/4 - x)^2 + 7/5 (25/16 - x^2).
TWO = Hand(2)
ENDS = TWO.combination(
    [("12/5", "5/4 - z1"), ("12/5", "5/4 - z2")], {1: [("7/5", "1")], 2: [("7/5", "1")]}
)
WHOLE = Block(
    coordinates=(1, 0),
    weights=(Fraction(1), Fraction(1)),
    value_function=polynomial("49/8", 2),
    local=tuple(
        (polynomial(f"{b} + 1/20*z2", 2), polynomial(f"{a} + 1/20*z1", 2)) for a, b in SIGNS
    ),
    flow=(NOTHING,) * 4,
    terminal=ENDS,
    coupling=(Fraction(0),),
)
TOGETHER = composed("comp-pair", TUBE, (WHOLE,), "12/5")
# x1 x3 in the second and the third field is due to the first block, the first other one it touches;
# 2 (17/4)(25/16)/20 = 85/128.
TRIPLE = Fraction(85, 128)
LINKS = (
    line(0, (1, -1), (0, LOSS, 0)),
    line(1, (1, -1), (TRIPLE, 0, 0)),
    line(2, (1, -1), (TRIPLE, LOSS / 2, 0)),
)
LINKED = composed("comp-chain", box([-SIDE] * 3, [SIDE] * 3, (1, 2, 1, 1)), LINKS, "157/50")

ACCEPTED: list[tuple[str, str, Claim]] = [
    ("compositional", "comp-pair--split", SPLIT),
    ("compositional", "comp-pair--together", TOGETHER),
    ("compositional", "comp-pair--spared", changed(SPLIT, lower=Fraction(0))),
    ("compositional", "comp-pair-linf--split", LINF_SPLIT),
    ("compositional", "comp-chain--split", LINKED),
]

MALFORMED_FROM: tuple[str, str] | None = ("comp-pair--split", "lower")

Rejection = tuple[str, str, Claim, str, str]


def _case(question: str, name: str, claim: Claim, pointer: str, words: str) -> Rejection:
    return "compositional", f"{question}--{name}", claim, pointer, words


def _first(claim: CompositionalClaim = SPLIT, **fields: Any) -> CompositionalClaim:
    """The claim with other fields of its first block."""
    block = changed(claim.blocks[0], **fields)
    return changed(claim, blocks=put(claim.blocks, 0, block))


def _about() -> Iterator[Rejection]:
    other = "the claim is about another question"
    for name in ("comp-pair-linf", "comp-pair-longer", "comp-pair-further"):
        yield _case(name, "another", SPLIT, "/subject", other)
    code = changed(SPLIT, code=-1)
    yield _case("comp-pair", "code-negative", code, "/code", "no dictionary at this code")


def _shapes() -> Iterator[Rejection]:
    once = "the blocks do not hold every coordinate exactly once"
    for name, blocks in (
        ("none", ()),
        ("one", BLOCKS[:1]),
        ("twice", (BLOCKS[0], BLOCKS[0])),
        ("three", (*BLOCKS, BLOCKS[1])),
        ("beyond", (BLOCKS[0], changed(BLOCKS[1], coordinates=(2,)))),
        ("below", (BLOCKS[0], changed(BLOCKS[1], coordinates=(-1,)))),
    ):
        claim = changed(SPLIT, blocks=blocks)
        yield _case("comp-pair", f"blocks-{name}", claim, "/blocks", once)
    hollow = changed(BLOCKS[0], coordinates=())
    empty = changed(SPLIT, blocks=(hollow, *BLOCKS))
    place = "/blocks/0/coordinates"
    yield _case("comp-pair", "block-empty", empty, place, "a block has 1 to 6 coordinates")
    weights = _first(weights=())
    needed = "one weight a coordinate of the block is needed"
    yield _case("comp-pair", "weights", weights, "/blocks/0/weights", needed)
    each = "one local field and one combination an atom are needed"
    for name, fields in (
        ("local-none", {"local": ()}),
        ("local-short", {"local": BLOCKS[0].local[:3]}),
        ("flow-short", {"flow": BLOCKS[0].flow[:3]}),
        ("flow-long", {"flow": (*BLOCKS[0].flow, NOTHING)}),
    ):
        yield _case("comp-pair", name, _first(**fields), "/blocks/0", each)
    bare = _first(local=put(BLOCKS[0].local, 0, ()))
    component = "one component a coordinate of the block is needed"
    yield _case("comp-pair", "components", bare, "/blocks/0/local", component)
    budget = "one coupling budget a block is needed"
    for name, coupling in (("none", ()), ("short", (LOSS,)), ("long", (Fraction(0), LOSS, LOSS))):
        claim = _first(coupling=coupling)
        yield _case("comp-pair", f"budgets-{name}", claim, "/blocks/0/coupling", budget)
    variables = "a local function has another number of variables"
    wide = _first(value_function=polynomial(RISE, 2))
    yield _case("comp-pair", "function-variables", wide, "/blocks/0", variables)
    field = _first(local=put(BLOCKS[0].local, 0, (polynomial("1 + 1/20*z2", 2),)))
    yield _case("comp-pair", "field-variables", field, "/blocks/0", variables)
    long = _first(coupling=(Fraction(1, 3**8000), Fraction(1, 5**5500)))
    words = "too long a common denominator"
    yield _case("comp-pair", "long-numbers", long, "", words)


def _weights() -> Iterator[Rejection]:
    over = "the weighted error can exceed the squared norm"
    heavy = _first(weights=(1 + TINY,))
    yield _case("comp-pair", "heavier", heavy, "/blocks", over)
    # Each block alone keeps to the maximum norm, both together do not.
    both = changed(LINF_SPLIT, blocks=BLOCKS)
    yield _case("comp-pair-linf", "heavier-together", both, "/blocks", over)
    minus = _first(weights=(Fraction(-1),))
    yield _case("comp-pair", "weight-negative", minus, "/blocks", "is negative")


def _proofs() -> Iterator[Rejection]:
    small = Fraction(20, 19) - TINY
    leave = "a trajectory can leave the box"
    tight = changed(SPLIT, tube=box([-small] * 2, [small] * 2))
    yield _case("comp-pair", "tube-too-small", tight, "/tube", leave)
    flat = changed(SPLIT, tube=box([-SIDE], [SIDE]))
    yield _case("comp-pair", "tube-sides", flat, "/tube", "a box has one side a coordinate")
    wrong = "an identity does not hold coefficient by coefficient"
    off = changed(FALL, free=nudged(FALL.free))
    flow = _first(flow=put(BLOCKS[0].flow, 2, off))
    yield _case("comp-pair", "coefficient", flow, "/blocks/0/flow/2", wrong)
    # The local field says what the local proof is about; what it leaves out is coupling.
    still = _first(local=put(BLOCKS[0].local, 2, (polynomial("1", 1),)))
    yield _case("comp-pair", "other-field", still, "/blocks/0/flow/2", wrong)
    other = changed(SPLIT, tube=box([-SIDE - 1] * 2, [SIDE + 1] * 2))
    yield _case("comp-pair", "other-tube", other, "/blocks/0/flow/2", wrong)
    light = _first(weights=(1 - TINY,))
    yield _case("comp-pair", "terminal", light, "/blocks/0/terminal", wrong)
    minus = "the weight of a square is negative"
    sunk = changed(FALL, free=nudged(FALL.free, Fraction(-5)))
    negative = _first(flow=put(BLOCKS[0].flow, 2, sunk))
    yield _case("comp-pair", "square-negative", negative, "/blocks/0/flow/2/free", minus)
    order = "multipliers do not name constraints in ascending order"
    foreign = changed(FALL, multipliers=(changed(FALL.multipliers[0], constraint=2),))
    strange = _first(flow=put(BLOCKS[0].flow, 2, foreign))
    place = "/blocks/0/flow/2/multipliers/0"
    yield _case("comp-pair", "constraint-of-another", strange, place, order)
    budget = "a coupling budget is too small"
    place = "/blocks/0/coupling"
    less = _first(coupling=(Fraction(0), LOSS - TINY))
    yield _case("comp-pair", "budget", less, f"{place}/1", budget)
    below = _first(coupling=(-TINY, LOSS))
    yield _case("comp-pair", "budget-of-nothing", below, f"{place}/0", budget)
    swapped = _first(coupling=(LOSS, Fraction(0)))
    yield _case("comp-pair", "budget-of-another", swapped, f"{place}/1", budget)
    # The same sum, but what a product costs is due to the first other block it touches.
    moved = changed(LINKED.blocks[2], coupling=(Fraction(0), TRIPLE + LOSS / 2, Fraction(0)))
    later = changed(LINKED, blocks=put(LINKED.blocks, 2, moved))
    yield _case("comp-chain", "budget-of-a-later-one", later, "/blocks/2/coupling/0", budget)
    faster = _first(
        local=put(BLOCKS[0].local, 0, (polynomial("2", 1),)),
        flow=put(BLOCKS[0].flow, 0, _downhill()),
    )
    yield _case("comp-pair", "faster-than-it-is", faster, "/blocks/0/flow/0", wrong)
    slower = _first(
        local=put(BLOCKS[0].local, 0, (polynomial("-1", 1),)),
        flow=put(BLOCKS[0].flow, 0, FALL),
    )
    # A local field of -1 where it is 1: provable, but the missing 2 is coupling to itself.
    yield _case("comp-pair", "slower-than-it-is", slower, f"{place}/0", budget)


def _downhill() -> Combination:
    """As if ``2 (2 + t - x)(1 - 2)`` were a sum of squares."""
    return changed(FALL, free=changed(FALL.free, weights=(*FALL.free.weights[:2], Fraction(0))))


def _ends() -> Iterator[Rejection]:
    shows = "the lower end exceeds what the value functions show"
    above = changed(TOGETHER, lower=Fraction(5, 2))
    yield _case("comp-pair", "lower-more", above, "/lower", shows)
    # More than V(0) - T * sum of budgets, though less than V(0).
    free = changed(SPLIT, lower=Fraction(27, 10))
    yield _case("comp-pair", "lower-without-loss", free, "/lower", shows)
    minus = changed(SPLIT, lower=Fraction(-1))
    yield _case("comp-pair", "lower-negative", minus, "/lower", "the lower end is negative")


REJECTED: list[Rejection] = [*_about(), *_shapes(), *_weights(), *_proofs(), *_ends()]
