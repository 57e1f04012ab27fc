"""``affine_dynamics``: decay, a rotation, forcings and depths with known answers, and attacks."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

from dynamic_questions import Number, affine_question, forcing
from lifted_questions import L1, L2, LINF, make_question

from qreplace.claims import Claim
from qreplace.claims.affine_dynamics import AffineDynamicsClaim, DominantPiece
from qreplace.claims.functional import Functional, SparseVector
from qreplace.claims.relaxed_control import ControlPiece
from qreplace.question.model import Question
from qreplace.question.subject import Subject

TINY = Fraction(1, 10**30)

RAMPS = [forcing((0, [[0], [1]])), forcing((0, [[1], [-1]]))]
"""``t`` and ``1 - t``: the larger one has integral 3/4."""
JUMPS = [forcing((0, [[1]]), ("1/3", [[0]])), forcing((0, [[0]]), ("1/3", [[1], [1]]))]
"""1 until 1/3; from then on ``1 + t``: together 1/3 + 2/3 + 4/9."""

QUESTIONS: dict[str, Question] = {
    # x' = u - x, u in {0, 1}: at most 1 - 1/e of the target 2.
    "affine-decay": affine_question([[0], [1]], [2], rate=-1, norm=LINF),
    "affine-decay-longer": affine_question([[0], [1]], [2], rate=-1, norm=LINF, horizon=2),
    "affine-decay-started": affine_question([[0], [1]], [2], [1], rate=-1, norm=LINF),
    # A rotation pushed along the second axis: the first coordinate gets 3 + cos 4 at most.
    "affine-turn": affine_question(
        [[0, 1], [0, -1]], [3, 0], norm=LINF, state_matrix=[[0, 1], [-1, 0]], horizon=4
    ),
    "affine-turn-l2": affine_question(
        [[0, 1], [0, -1]], [3, 0], norm=L2, state_matrix=[[0, 1], [-1, 0]], horizon=4
    ),
    "affine-ramps": affine_question(RAMPS, [2], norm=LINF),
    "affine-jumps": affine_question(JUMPS, [2], norm=LINF),
    "affine-jumps-turned": affine_question(JUMPS, [2], norm=LINF, state_matrix=[[0]]),
    # A = 0 and constant atoms: everything is exact.
    "affine-lifted": make_question(["2/3", "2/3"], [[1, 0], [0, 1]], norm=L1),
    "affine-fast": affine_question([[0], [1]], [2], norm=LINF, state_matrix=[[600]]),
    "affine-heavy": affine_question([[j] for j in range(64)], [2], norm=LINF, state_matrix=[[500]]),
    "affine-wiggly": affine_question([forcing((0, [[1]] * 34)), [0]], [2], norm=LINF),
}


def subject(name: str) -> Subject:
    """The subject of a question."""
    return Subject(QUESTIONS[name], {})


def sparse(denominator: int, *entries: tuple[int, int]) -> SparseVector:
    """``(index, numerator)`` over a denominator."""
    return SparseVector(
        Fraction(denominator), tuple(i for i, _ in entries), tuple(Fraction(n) for _, n in entries)
    )


def functional(*entries: Number, norms: Sequence[Number] = ()) -> Functional:
    """Dense entries over 1."""
    values = [Fraction(entry) for entry in entries]
    kept = [(i, value.numerator) for i, value in enumerate(values) if value]
    return Functional(sparse(1, *kept), tuple(map(Fraction, norms)))


def piece(end: Number, *weights: int) -> ControlPiece:
    """Weights in parts of their sum."""
    kept = [(j, n) for j, n in enumerate(weights) if n]
    return ControlPiece(Fraction(end), sparse(sum(weights), *kept))


def affine(
    name: str,
    witness: Functional,
    dominant: Sequence[tuple[Number, int]],
    control: Sequence[ControlPiece],
    lower: Number,
    upper: Number | None,
    depth: int | None = None,
) -> AffineDynamicsClaim:
    """An ``affine_dynamics`` claim about one of these questions."""
    return AffineDynamicsClaim(
        format="qreplace/claim/affine_dynamics/v1",
        subject=subject(name).problem_digest(0),
        code=0,
        depth=depth,
        witness=witness,
        dominant=tuple(DominantPiece(Fraction(end), atom) for end, atom in dominant),
        control=tuple(control),
        lower=Fraction(lower),
        upper=None if upper is None else Fraction(upper),
    )


ONE = functional(1)
FIRST = functional(1, 0)
# 1 + 1/e = 1.36787944117144232159552377016146...
DECAY = affine(
    "affine-decay",
    ONE,
    [(1, 1)],
    [piece(1, 0, 1)],
    "1.36787944117144232159552377016",
    "1.36787944117144232159552377017",
)
# -cos 4 = 0.653643620863611914639168183097...; the sign of sin (4 - t) changes at 4 - pi.
SWITCHED = ("0.858407346410206761537356616720", 1)
TURN = affine(
    "affine-turn",
    FIRST,
    [SWITCHED, (4, 0)],
    [piece(SWITCHED[0], 0, 1), piece(4, 1, 0)],
    "0.65364362086361191463916818309",
    "4/5",
)
RAMP = affine(
    "affine-ramps",
    ONE,
    [("1/2", 1), (1, 0)],
    [piece("1/2", 0, 1), piece(1, 1, 0)],
    Fraction(5, 4) - TINY,
    Fraction(5, 4) + TINY,
)
JUMP = affine(
    "affine-jumps",
    ONE,
    [("1/3", 0), (1, 1)],
    [piece("1/3", 1, 0), piece(1, 0, 1)],
    Fraction(5, 9) - TINY,
    Fraction(5, 9) + TINY,
)
JUMP_TURNED = dataclasses.replace(JUMP, subject=subject("affine-jumps-turned").problem_digest(0))
LIFTED = affine("affine-lifted", functional(1, 1), [(1, 0)], [piece(1, 1, 1)], "1/3", "1/3")
# Two steps of a half: 1/2 (1 + 1/2) of the target 2.
TWO_STEPS = affine("affine-decay", ONE, [], [], "5/4", None, depth=2)
# kappa = 1 - 2 < 0: the steps alternate, and only the last counts.
BACK = affine("affine-decay-longer", ONE, [], [], 0, None, depth=1)
# b(t) = t, 1 - t at t = 0, 1/4, 1/2, 3/4: 1/4 (1 + 3/4 + 1/2 + 3/4) = 3/4.
RAMP_STEPS = affine("affine-ramps", ONE, [], [], Fraction(5, 4) - TINY, None, depth=4)
# A change takes effect at its own time: at t = 0, 1/3, 2/3 the larger ones are 1, 4/3, 5/3.
JUMP_STEPS = affine("affine-jumps", ONE, [], [], Fraction(2, 3) - TINY, None, depth=3)
TURN_STEPS = affine("affine-turn", FIRST, [], [], "3", None, depth=1)

ACCEPTED: list[tuple[str, str, Claim]] = [
    ("affine_dynamics", "affine-decay--bracket", DECAY),
    (
        "affine_dynamics",
        "affine-decay--lower-only",
        dataclasses.replace(DECAY, control=(), upper=None),
    ),
    ("affine_dynamics", "affine-decay--two-steps", TWO_STEPS),
    ("affine_dynamics", "affine-decay-longer--one-step", BACK),
    ("affine_dynamics", "affine-turn--bracket", TURN),
    (
        "affine_dynamics",
        "affine-turn--other-dominant",
        dataclasses.replace(
            TURN,
            dominant=(DominantPiece(Fraction(4), 1),),
            lower=Fraction("0.6536436208"),
        ),
    ),
    ("affine_dynamics", "affine-turn--one-step", TURN_STEPS),
    (
        "affine_dynamics",
        "affine-turn-l2--lower-only",
        dataclasses.replace(
            TURN,
            subject=subject("affine-turn-l2").problem_digest(0),
            witness=functional(1, 0, norms=(1,)),
            control=(),
            upper=None,
        ),
    ),
    ("affine_dynamics", "affine-ramps--bracket", RAMP),
    ("affine_dynamics", "affine-ramps--four-steps", RAMP_STEPS),
    ("affine_dynamics", "affine-jumps--bracket", JUMP),
    ("affine_dynamics", "affine-jumps--three-steps", JUMP_STEPS),
    ("affine_dynamics", "affine-jumps-turned--bracket", JUMP_TURNED),
    ("affine_dynamics", "affine-lifted--width-0", LIFTED),
    (
        "affine_dynamics",
        "affine-lifted--many-steps",
        affine("affine-lifted", functional(1, 1), [], [], "1/3", None, depth=10**15),
    ),
]

MALFORMED_FROM: tuple[str, str] | None = ("affine-decay--bracket", "lower")

Rejection = tuple[str, str, Claim, str, str]


def changed(claim: Any, **fields: Any) -> Any:
    """The claim with other fields."""
    return dataclasses.replace(claim, **fields)


def _rejected() -> Iterator[Rejection]:
    def case(name: str, claim: Claim, pointer: str, words: str) -> Rejection:
        return "affine_dynamics", name, claim, pointer, words

    other = "the claim is about another question"  # 1
    for question in ("longer", "started"):
        yield case(f"affine-decay-{question}--other-question", DECAY, "/subject", other)
    nowhere = "the question has no dictionary at this code"
    yield case("affine-decay--no-code", changed(DECAY, code=-1), "/code", nowhere)

    excess = "the dual norm of the witness exceeds 1"  # 2
    wide = Functional(sparse(10**30, (0, 10**30 + 1)), ())
    yield case("affine-decay--dual-norm", changed(DECAY, witness=wide), _NUMERATORS, excess)

    yield from _too_large(case)
    yield from _wrong_pieces(case)

    low = "the dual value is below the claimed lower end"  # 5
    for name, claim in (
        ("affine-decay--lower", DECAY),
        ("affine-turn--lower", TURN),
        ("affine-ramps--lower", RAMP),
        ("affine-jumps--lower", JUMP),
        ("affine-lifted--lower", LIFTED),
        ("affine-decay--lower-at-depth", TWO_STEPS),
        ("affine-ramps--lower-at-depth", RAMP_STEPS),
        ("affine-jumps--lower-at-depth", JUMP_STEPS),
        ("affine-turn--lower-at-depth", TURN_STEPS),
    ):
        raised = changed(claim, lower=claim.lower + Fraction(1, 10**28))
        yield case(name, raised, "/lower", low)
    other_depth = changed(TWO_STEPS, depth=3, lower=Fraction(1298, 1000))
    yield case("affine-decay--three-steps", other_depth, "/lower", low)

    far = "the control ends beyond the claimed upper end"  # 7
    for name, claim in (
        ("affine-decay--upper", DECAY),
        ("affine-ramps--upper", RAMP),
        ("affine-jumps--upper", JUMP),
        ("affine-lifted--upper", LIFTED),
    ):
        yield case(name, changed(claim, upper=claim.upper - Fraction(1, 10**28)), "/upper", far)
    swapped = (piece(SWITCHED[0], 1, 0), piece(4, 0, 1))
    yield case("affine-turn--other-control", changed(TURN, control=swapped), "/upper", far)


_NUMERATORS = "/witness/vector/numerators"


def _too_large(case: Any) -> Iterator[Rejection]:  # 3
    """Claims and questions beyond the limits."""

    def moved(name: str) -> AffineDynamicsClaim:
        return affine(name, ONE, [(1, 0)], [], 0, None)

    fast = "the state matrix is too large over the horizon"
    yield case("affine-fast--growth", moved("affine-fast"), "", fast)
    heavy = "the claim takes too long to check"
    yield case("affine-heavy--work", moved("affine-heavy"), "", heavy)
    wiggly = "a forcing's degree is too large to enclose"
    yield case("affine-wiggly--degree", moved("affine-wiggly"), "", wiggly)
    many = tuple(DominantPiece(Fraction(k + 1, 1025), 1) for k in range(1025))
    pieces = "the claim has too many pieces"
    yield case("affine-decay--many-pieces", changed(DECAY, dominant=many), "", pieces)
    long = "a time has too many digits"
    late = (DominantPiece(1 - Fraction(1, 2**300), 1), *DECAY.dominant)
    yield case("affine-decay--long-time", changed(DECAY, dominant=late), "/dominant", long)
    slow = (ControlPiece(1 - Fraction(1, 2**300), DECAY.control[0].weights), *DECAY.control)
    yield case("affine-decay--long-end", changed(DECAY, control=slow), "/control", long)
    unit = 2**256
    weights = (ControlPiece(Fraction(1), sparse(unit, (0, 1), (1, unit - 1))),)
    digits = "a weight has too many digits"
    place = "/control/0/weights"
    yield case("affine-decay--long-weight", changed(DECAY, control=weights), place, digits)
    deep = "the depth takes too long to check"
    yield case("affine-decay--depth", changed(TWO_STEPS, depth=2**64), "/depth", deep)
    steps = changed(RAMP_STEPS, depth=10**9)
    yield case("affine-ramps--depth", steps, "/depth", deep)


def _wrong_pieces(case: Any) -> Iterator[Rejection]:
    order = "the pieces do not end one after another"  # 4, 6
    whole = "the last piece ends at the horizon"
    for side in ("dominant", "control"):
        own = getattr(TURN, side)
        for name, pieces, words in (
            ("reversed", own[::-1], order),
            ("repeated", (own[0], *own), order),
            ("at-zero", (dataclasses.replace(own[0], end=Fraction(0)), own[1]), order),
            ("short", own[:1], whole),
            ("beyond", (*own, dataclasses.replace(own[1], end=Fraction(5))), whole),
            ("empty", (), whole),
        ):
            claim = changed(TURN, **{side: pieces})
            yield case(f"affine-turn--{side}-{name}", claim, f"/{side}", words)
    unknown = "a dominant atom is not in the dictionary"
    for name, atom in (("beyond", 2), ("negative", -1)):
        claim = changed(DECAY, dominant=(DominantPiece(Fraction(1), atom),))
        yield case(f"affine-decay--atom-{name}", claim, "/dominant", unknown)
    deep = "a depth is at least 1"
    yield case("affine-decay--no-depth", changed(TWO_STEPS, depth=0), "/depth", deep)
    pieces = changed(TWO_STEPS, dominant=DECAY.dominant)
    words = "a sum at a depth has no dominant pieces"
    yield case("affine-decay--pieces-at-depth", pieces, "/dominant", words)

    negative = ControlPiece(Fraction(1), sparse(1, (0, -1), (1, 2)))  # 6
    place = "/control/0/weights/numerators"
    claim = changed(DECAY, control=(negative,))
    yield case("affine-decay--negative-weight", claim, place, "a mixing weight is negative")
    over = ControlPiece(Fraction(1), sparse(10**30, (1, 10**30 + 1)))
    claim = changed(DECAY, control=(over,))
    yield case("affine-decay--weights-above-1", claim, place, "do not sum to 1")

    alone = "a control comes with an upper end"  # 7
    yield case("affine-decay--no-upper", changed(DECAY, upper=None), "/control", alone)
    both = changed(TWO_STEPS, control=DECAY.control)
    yield case("affine-decay--control-at-depth", both, "/control", alone)
    silent = "a control says nothing at a depth"
    claim = changed(TWO_STEPS, upper=Fraction(3))
    yield case("affine-decay--upper-at-depth", claim, "/upper", silent)


REJECTED: list[Rejection] = list(_rejected())
