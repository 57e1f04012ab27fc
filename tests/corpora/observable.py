"""``observable``: functionals that all atoms move alike, exact and enclosed, and attacks."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

from dynamic_questions import Number, affine_question, forcing, polynomial_question
from lifted_questions import L1, L2, LINF, make_question

from qreplace.claims import Claim
from qreplace.claims.functional import Functional, SparseVector
from qreplace.claims.observable import ObservableClaim
from qreplace.question.model import Question
from qreplace.question.subject import Subject

TINY = Fraction(1, 10**30)

TURNING = [[0, 1, 0], [0, 0, 1], [0, -1, 0]]
"""The second and third coordinate turn by themselves; the first one follows."""

QUESTIONS: dict[str, Question] = {
    # The two-point soft-threshold split with rational data: mu = 1/3, target 1/3 at y = 1.
    "observable-split": affine_question(
        [["1/2", 1], ["-1/2", -1], [0, 0], [0, 0]], [0, "1/3"], rate="-1/3", norm=LINF
    ),
    "observable-split-longer": affine_question(
        [["1/2", 1], ["-1/2", -1], [0, 0], [0, 0]],
        [0, "1/3"],
        rate="-1/3",
        norm=LINF,
        horizon=2,
    ),
    # Both atoms add 1 to the second coordinate.
    "observable-lifted": make_question([0, 3], [[1, 1], [-1, 1]], norm=L1),
    "observable-turn": affine_question(
        [forcing((0, [[1, 1, 0]])), forcing((0, [[-1, 1, 0]]))],
        [0, 3, 0],
        [0, 0, 1],
        state_matrix=TURNING,
        norm=L2,
    ),
    # The difference of the coordinates grows by t, whatever the products do.
    "observable-product": polynomial_question(
        [["z1*z2 + t", "z1*z2"], ["z1*z2 + t + 1", "z1*z2 + 1"]], [2, 0], norm=LINF
    ),
    # A common second coordinate that changes its forcing at 1/3: 1/3 + 2/9 + 4/9.
    "observable-jump": affine_question(
        [
            forcing((0, [[1, 1]]), ("1/3", [[0, 0], [0, 1]])),
            forcing((0, [[0, 1]]), ("1/3", [[1, 0], [0, 1]])),
        ],
        [0, 2],
        norm=LINF,
    ),
    "observable-fast": affine_question(
        [[0, 1], [1, 1]], [0, 2], norm=LINF, state_matrix=[[0, 0], [0, 600]]
    ),
}


def subject(name: str) -> Subject:
    """The subject of a question."""
    return Subject(QUESTIONS[name], {})


def witness(denominator: int, *entries: int, norms: Sequence[Number] = ()) -> Functional:
    """Dense numerators over a denominator."""
    kept = [(i, Fraction(n)) for i, n in enumerate(entries) if n]
    vector = SparseVector(
        Fraction(denominator), tuple(i for i, _ in kept), tuple(n for _, n in kept)
    )
    return Functional(vector, tuple(map(Fraction, norms)))


def observed(
    name: str,
    rows: Sequence[Sequence[Number]],
    dynamics: Sequence[Sequence[Number]],
    combination: Sequence[Number],
    functional: Functional,
    lower: Number,
    depth: int | None = None,
) -> ObservableClaim:
    """An ``observable`` claim about one of these questions."""
    return ObservableClaim(
        format="qreplace/claim/observable/v1",
        subject=subject(name).problem_digest(0),
        code=0,
        depth=depth,
        rows=tuple(tuple(map(Fraction, row)) for row in rows),
        dynamics=tuple(tuple(map(Fraction, row)) for row in dynamics),
        combination=tuple(map(Fraction, combination)),
        witness=functional,
        lower=Fraction(lower),
    )


SPLIT = observed(
    "observable-split",
    [[-2, 1]],
    [["-1/3"]],
    ["1/3"],
    witness(3, -2, 1),
    Fraction(1, 9) - TINY,
)
SECOND = witness(1, 0, 1)
LIFTED = observed("observable-lifted", [[0, 1]], [[0]], [1], SECOND, 2)
# w' = (1, 0) + turning, from (0, 1): w_1(1) = 2 sin 1 = 1.68294196961579301...
TURN = observed(
    "observable-turn",
    [[0, 1, 0], [0, 0, 1]],
    [[0, 1], [-1, 0]],
    [1, 0],
    witness(1, 0, 1, 0, norms=(1,)),
    "1.317058030384206986",
)
# Two Euler steps: (0, 1) -> (1, 1) -> (2, 1/2).
TURN_STEPS = dataclasses.replace(TURN, depth=2, lower=1 - TINY)
DIFFERENCE = witness(2, 1, -1)
PRODUCT = observed("observable-product", [[1, -1]], [[0]], ["1/2"], DIFFERENCE, "3/4")
# 1/4 (0 + 1/4 + 1/2 + 3/4) = 3/8 instead of 1/2.
PRODUCT_STEPS = dataclasses.replace(PRODUCT, depth=4, lower=Fraction(13, 16))
JUMP = observed("observable-jump", [[0, 1]], [[0]], [1], SECOND, "11/9")
# t = 0, 1/3, 2/3: (1 + 1/3 + 2/3) / 3.
JUMP_STEPS = dataclasses.replace(JUMP, depth=3, lower=Fraction(4, 3))

ACCEPTED: list[tuple[str, str, Claim]] = [
    ("observable", "observable-split--free-decay", SPLIT),
    ("observable", "observable-lifted--exact", LIFTED),
    (
        "observable",
        "observable-lifted--two-rows",
        dataclasses.replace(
            LIFTED,
            rows=((Fraction(0), Fraction(1)), (Fraction(0), Fraction(2))),
            dynamics=((Fraction(0),) * 2,) * 2,
            combination=(Fraction(0), Fraction(1, 2)),
        ),
    ),
    ("observable", "observable-turn--two-rows", TURN),
    ("observable", "observable-turn--two-steps", TURN_STEPS),
    ("observable", "observable-product--exact", PRODUCT),
    ("observable", "observable-product--four-steps", PRODUCT_STEPS),
    ("observable", "observable-jump--exact", JUMP),
    ("observable", "observable-jump--three-steps", JUMP_STEPS),
]

MALFORMED_FROM: tuple[str, str] | None = ("observable-product--exact", "lower")

Rejection = tuple[str, str, Claim, str, str]


def changed(claim: Any, **fields: Any) -> Any:
    """The claim with other fields."""
    return dataclasses.replace(claim, **fields)


def _rejected() -> Iterator[Rejection]:
    def case(name: str, claim: Claim, pointer: str, words: str) -> Rejection:
        return "observable", name, claim, pointer, words

    other = "the claim is about another question"  # 1
    yield case("observable-split-longer--other-horizon", SPLIT, "/subject", other)
    yield from _wrong_shapes(case)  # 2

    excess = "the dual norm of the witness exceeds 1"  # 3
    place = "/witness/vector/numerators"
    large = changed(PRODUCT, combination=(Fraction(1),), witness=witness(1, 1, -1))
    yield case("observable-product--dual-norm", large, place, excess)

    words = "the witness is not the combination of the rows"  # 4
    for name, functional in (("sign", witness(2, -1, 1)), ("entry", witness(2, 1, 0))):
        claim = changed(PRODUCT, witness=functional)
        yield case(f"observable-product--{name}", claim, "/witness", words)

    yield from _wrong_dynamics(case)  # 5

    words = "the observable ends nearer to the target"  # 6
    for name, claim in (
        ("observable-split--lower", SPLIT),
        ("observable-lifted--lower", LIFTED),
        ("observable-turn--lower", TURN),
        ("observable-turn--lower-at-depth", TURN_STEPS),
        ("observable-product--lower", PRODUCT),
        ("observable-product--lower-at-depth", PRODUCT_STEPS),
        ("observable-jump--lower", JUMP),
        ("observable-jump--lower-at-depth", JUMP_STEPS),
    ):
        raised = changed(claim, lower=claim.lower + Fraction(1, 10**17))
        yield case(name, raised, "/lower", words)
    shallow = changed(PRODUCT_STEPS, depth=5)
    yield case("observable-product--other-depth", shallow, "/lower", words)


def _wrong_shapes(case: Any) -> Iterator[Rejection]:
    words = "an observable has 1 to 128 rows"
    yield case("observable-lifted--no-rows", changed(LIFTED, rows=()), "/rows", words)
    many = changed(LIFTED, rows=LIFTED.rows * 129)
    yield case("observable-lifted--many-rows", many, "/rows", words)
    longer = changed(LIFTED, rows=((*LIFTED.rows[0], Fraction(0)),))
    words = "a row of the observable has another dimension"
    yield case("observable-lifted--long-row", longer, "/rows", words)
    words = "the dynamics are not square in the rows"
    for name, dynamics in (
        ("none", ()),
        ("wide", ((Fraction(0), Fraction(0)),)),
        ("tall", ((Fraction(0),), (Fraction(0),))),
    ):
        claim = changed(LIFTED, dynamics=dynamics)
        yield case(f"observable-lifted--dynamics-{name}", claim, "/dynamics", words)
    words = "one weight a row is needed"
    claim = changed(LIFTED, combination=(Fraction(1), Fraction(1)))
    yield case("observable-lifted--weights", claim, "/combination", words)
    words = "the numbers of the observable have too many digits"
    fine = Fraction(1, 2**4200)
    for name, fields in (
        ("rows", {"rows": ((Fraction(0), fine),)}),
        ("dynamics", {"dynamics": ((fine,),)}),
        ("combination", {"combination": (1 / fine,)}),
    ):
        claim = changed(LIFTED, **fields)
        yield case(f"observable-lifted--long-{name}", claim, f"/{name}", words)
    claim = changed(LIFTED, depth=0)
    yield case("observable-lifted--no-depth", claim, "/depth", "a depth is at least 1")
    words = "the depth takes too long to check"
    yield case("observable-lifted--depth", changed(LIFTED, depth=2**64), "/depth", words)
    yield case("observable-turn--depth", changed(TURN, depth=10**9), "/depth", words)
    fast = observed("observable-fast", [[0, 1]], [[600]], [1], SECOND, 0)
    words = "the state matrix is too large over the horizon"
    yield case("observable-fast--growth", fast, "/dynamics", words)


def _wrong_dynamics(case: Any) -> Iterator[Rejection]:
    words = "an atom moves the observable otherwise"
    first = witness(1, 1, 0)
    for name, claim in (("lifted", LIFTED), ("jump", JUMP), ("product", PRODUCT)):
        seen = changed(
            claim, rows=((Fraction(1), Fraction(0)),), combination=(Fraction(1),), witness=first
        )
        yield case(f"observable-{name}--atoms", seen, "/rows", words)
    # The first coordinate's two atoms agree at second order only.
    nearly = observed("observable-split", [[-2 + TINY, 1]], [["-1/3"]], [0], witness(1), 0)
    yield case("observable-split--nearly", nearly, "/rows", words)

    words = "the observable does not evolve by its own dynamics"
    place = "/dynamics/0"
    rates = changed(SPLIT, dynamics=((Fraction(-1, 3) + TINY,),))
    yield case("observable-split--rate", rates, place, words)
    alone = changed(
        TURN, rows=TURN.rows[:1], dynamics=((Fraction(0),),), combination=TURN.combination[:1]
    )
    yield case("observable-turn--coupled", alone, place, words)
    turned = changed(TURN, dynamics=tuple(zip(*TURN.dynamics, strict=True)))
    yield case("observable-turn--turned", turned, place, words)
    decay = changed(PRODUCT, dynamics=((Fraction(-1),),))
    yield case("observable-product--rate", decay, place, words)


REJECTED: list[Rejection] = list(_rejected())
