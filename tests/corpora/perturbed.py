"""``perturbed``: a quadratic drift and a swinging push close to affine systems, and attacks."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

from dynamic_questions import Number, polynomial_question
from lifted_questions import L1, L2, LINF

from qreplace.claims import Claim
from qreplace.claims.affine_dynamics import DominantPiece
from qreplace.claims.functional import Functional, SparseVector
from qreplace.claims.perturbed import NominalAtom, PerturbedClaim
from qreplace.claims.region import BoxPart
from qreplace.question.model import Question
from qreplace.question.subject import Subject

TINY = Fraction(1, 10**30)

SQUARE = [["z1^2/8"], ["1 + z1^2/8"]]
SWING = [["z2", "1 + t*z1/8"], ["z2", "-1 + t*z1/8"]]

QUESTIONS: dict[str, Question] = {
    # On [0, 1] the square is within 1/16 of its middle value.
    "perturbed-square": polynomial_question(SQUARE, [1], horizon="1/2", norm=LINF),
    "perturbed-square-longer": polynomial_question(SQUARE, [1], horizon="5/8", norm=LINF),
    "perturbed-square-further": polynomial_question(SQUARE, [2], horizon="1/2", norm=LINF),
    # A double integrator whose push depends on time and place by 1/32.
    "perturbed-swing": polynomial_question(SWING, [1, 0], horizon="1/2", norm=L2),
    "perturbed-swing-l1": polynomial_question(SWING, [1, 0], horizon="1/2", norm=L1),
}


def subject(name: str) -> Subject:
    """The subject of a question."""
    return Subject(QUESTIONS[name], {})


def rows(*values: Sequence[Number]) -> tuple[tuple[Fraction, ...], ...]:
    """Rows of rationals."""
    return tuple(tuple(map(Fraction, row)) for row in values)


def box(lower: Sequence[Number], upper: Sequence[Number], cells: Sequence[int]) -> BoxPart:
    """A box with its cells."""
    return BoxPart("box", tuple(map(Fraction, lower)), tuple(map(Fraction, upper)), tuple(cells))


def first(denominator: int = 1, numerator: int = 1, norms: Sequence[Number] = ()) -> Functional:
    """A multiple of the first coordinate."""
    vector = SparseVector(Fraction(denominator), (0,), (Fraction(numerator),))
    return Functional(vector, tuple(map(Fraction, norms)))


HALF = Fraction(1, 2)
# 1 - (1 + 1/16) / 2 - 1/16 * 1/2 = 7/16.
NEAR = PerturbedClaim(
    format="qreplace/claim/perturbed/v1",
    subject=subject("perturbed-square").problem_digest(0),
    code=0,
    matrix=rows([0]),
    atoms=(NominalAtom(rows(["1/16"])), NominalAtom(rows(["17/16"]))),
    tube=box([0], [1], [1, 1]),
    field_error=Fraction(1, 16),
    witness=first(),
    dominant=(DominantPiece(HALF, 1),),
    lower=Fraction(7, 16) - TINY,
)
# Half the tube in cells: z^2 / 8 <= 9/128 on [0, 3/4], so 9/256 about its middle.
TIGHT = dataclasses.replace(
    NEAR,
    atoms=(NominalAtom(rows(["9/256"])), NominalAtom(rows(["265/256"]))),
    tube=box([0], ["3/4"], [1, 4]),
    field_error=Fraction(9, 256),
    lower=1 - Fraction(265, 512) - Fraction(9, 512) - TINY,
)
# 1 - 1/8 - 1/32 * int sqrt(1 + s^2) ds, the integral 0.5201..
SWINGING = PerturbedClaim(
    format="qreplace/claim/perturbed/v1",
    subject=subject("perturbed-swing").problem_digest(0),
    code=0,
    matrix=rows([0, 1], [0, 0]),
    atoms=(NominalAtom(rows([0, 1])), NominalAtom(rows([0, -1]))),
    tube=box(["-1/2", "-3/4"], ["1/2", "3/4"], [1, 1, 1]),
    field_error=Fraction(1, 32),
    witness=first(norms=(1,)),
    dominant=(DominantPiece(HALF, 0),),
    lower=Fraction(858, 1000),
)
# The dual of l1 is the maximum: max(1, s) = 1.
SWINGING_L1 = dataclasses.replace(
    SWINGING,
    subject=subject("perturbed-swing-l1").problem_digest(0),
    witness=first(),
    lower=1 - Fraction(1, 8) - Fraction(1, 64) - TINY,
)

ACCEPTED: list[tuple[str, str, Claim]] = [
    ("perturbed", "perturbed-square--near", NEAR),
    ("perturbed", "perturbed-square--cells", TIGHT),
    ("perturbed", "perturbed-swing--near", SWINGING),
    ("perturbed", "perturbed-swing-l1--near", SWINGING_L1),
]

MALFORMED_FROM: tuple[str, str] | None = ("perturbed-square--near", "field_error")

Rejection = tuple[str, str, Claim, str, str]


def changed(claim: Any, **fields: Any) -> Any:
    """The claim with other fields."""
    return dataclasses.replace(claim, **fields)


def _rejected() -> Iterator[Rejection]:
    def case(name: str, claim: Claim, pointer: str, words: str) -> Rejection:
        return "perturbed", name, claim, pointer, words

    other = "the claim is about another question"  # 1
    for question in ("longer", "further"):
        yield case(f"perturbed-square-{question}--other-question", NEAR, "/subject", other)

    yield from _wrong_nominal(case)  # 2

    excess = "the dual norm of the witness exceeds 1"  # 3
    wide = changed(NEAR, witness=first(10**30, 10**30 + 1))
    yield case("perturbed-square--dual-norm", wide, "/witness/vector/numerators", excess)

    words = "a dominant atom is not in the dictionary"  # 4
    claim = changed(NEAR, dominant=(DominantPiece(HALF, 2),))
    yield case("perturbed-square--atom", claim, "/dominant", words)
    words = "the last piece ends at the horizon"
    claim = changed(NEAR, dominant=(DominantPiece(Fraction(1, 4), 1),))
    yield case("perturbed-square--short", claim, "/dominant", words)

    words = "a trajectory can leave the box"  # 5
    small = changed(NEAR, tube=box([0], ["1/2"], [1, 1]))
    yield case("perturbed-square--tube", small, "/tube", words)
    words = "the initial state lies outside the box"
    away = changed(NEAR, tube=box(["1/8"], [1], [1, 1]))
    yield case("perturbed-square--outside", away, "/tube", words)

    words = "the field differs by more than its claimed error"  # 6
    for name, claim in (
        ("perturbed-square--error", NEAR),
        ("perturbed-square--error-on-cells", TIGHT),
        ("perturbed-swing--error", SWINGING),
        ("perturbed-swing-l1--error", SWINGING_L1),
    ):
        less = changed(claim, field_error=claim.field_error - TINY)
        yield case(name, less, "/field_error", words)
    negative = changed(NEAR, field_error=Fraction(-1, 16), lower=Fraction(1, 2))
    yield case("perturbed-square--negative-error", negative, "/field_error", words)
    tilted = changed(NEAR, matrix=rows([TINY]))
    yield case("perturbed-square--tilted", tilted, "/field_error", words)
    moved = changed(NEAR, atoms=(NEAR.atoms[0], NominalAtom(rows([1]))))
    yield case("perturbed-square--other-forcing", moved, "/field_error", words)

    words = "the perturbed value is below the claimed lower end"  # 7
    for name, claim in (
        ("perturbed-square--lower", NEAR),
        ("perturbed-square--lower-on-cells", TIGHT),
        ("perturbed-swing-l1--lower", SWINGING_L1),
    ):
        raised = changed(claim, lower=claim.lower + Fraction(1, 10**28))
        yield case(name, raised, "/lower", words)
    # Above 1 - 1/8 - 1/32 * 0.52011.. = 0.858746..
    raised = changed(SWINGING, lower=Fraction(85875, 100000))
    yield case("perturbed-swing--lower", raised, "/lower", words)


def _wrong_nominal(case: Any) -> Iterator[Rejection]:
    words = "the nominal matrix has another dimension"
    for name, matrix in (("empty", ()), ("wide", rows([0, 0])), ("tall", rows([0], [0]))):
        claim = changed(NEAR, matrix=matrix)
        yield case(f"perturbed-square--matrix-{name}", claim, "/matrix", words)
    words = "one nominal forcing an atom is needed"
    claim = changed(NEAR, atoms=NEAR.atoms[:1])
    yield case("perturbed-square--one-forcing", claim, "/atoms", words)
    words = "a nominal forcing has another dimension"
    for name, coefficients in (("empty", ()), ("wide", rows([1, 1])), ("later", ((), ()))):
        atoms = (NEAR.atoms[0], NominalAtom(coefficients))
        claim = changed(NEAR, atoms=atoms)
        yield case(f"perturbed-square--forcing-{name}", claim, "/atoms/1", words)
    words = "the nominal numbers have too many digits"
    fine = Fraction(1, 2**4200)
    claim = changed(NEAR, matrix=rows([fine]))
    yield case("perturbed-square--long-matrix", claim, "/matrix", words)
    claim = changed(NEAR, atoms=(NEAR.atoms[0], NominalAtom(rows([fine]))))
    yield case("perturbed-square--long-forcing", claim, "/atoms", words)
    words = "the state matrix is too large over the horizon"
    claim = changed(NEAR, matrix=rows([2000]))
    yield case("perturbed-square--growth", claim, "/matrix", words)
    words = "a forcing's degree is too large to enclose"
    wiggly = NominalAtom(rows(*([0] for _ in range(34))))
    claim = changed(NEAR, atoms=(NEAR.atoms[0], wiggly))
    yield case("perturbed-square--degree", claim, "/matrix", words)
    words = "the field error takes too long to bound"
    claim = changed(NEAR, tube=box([0], [1], [1, 16384]))
    yield case("perturbed-square--cells-beyond", claim, "/tube/cells", words)


REJECTED: list[Rejection] = list(_rejected())
