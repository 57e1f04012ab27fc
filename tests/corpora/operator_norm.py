"""``operator_norm``: exact bounds of small matrices, and attacks on them."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any, Literal

from dynamic_questions import Number, affine_question, listed, matrix, polynomial_question
from lifted_questions import L2, LINF, Numbers, make_question, vector

from qreplace.claims import Claim
from qreplace.claims.operator_norm import OperatorNormClaim
from qreplace.question.model import (
    LinearAtom,
    LinearTarget,
    ListedDictionary,
    QuantizedLinearAtom,
    Question,
    WitnessDomain,
)
from qreplace.question.subject import Subject

TINY = Fraction(1, 10**40)

_MAPS = listed(
    LinearAtom("linear_map", matrix([[1, 1], [0, 0]])),
    QuantizedLinearAtom("quantized_linear", matrix([[3, 1], [2, 1]]), vector(["1/2", 1]), 1),
)


def maps(
    target: Sequence[Numbers], dictionary: ListedDictionary, witnesses: Sequence[Numbers]
) -> Question:
    """A lifted question about linear maps."""
    return dataclasses.replace(
        make_question([0], [[0]]),
        target=LinearTarget("linear_map", matrix(target)),
        dictionary=dictionary,
        domain=WitnessDomain("witnesses", matrix(witnesses)),
    )


QUESTIONS: dict[str, Question] = {
    # Singular values 2 and 1 with the rate: [[0, 2], [-1, 0]].
    "matrix-l2": affine_question(
        [[1, 0], [0, 1]], [1, 1], norm=L2, rate=1, state_matrix=[[-1, 2], [-1, -1]]
    ),
    "matrix-linf": affine_question(
        [[1, 0], [0, 1]], [1, 1], norm=LINF, rate=1, state_matrix=[[-1, 2], [-1, -1]]
    ),
    "matrix-rate": affine_question([[1, 0], [0, 1]], [1, 1], norm=LINF, rate="-3/2"),
    # Maps of the witnesses: a target, a plain and a quantized atom.
    "matrix-maps": maps([["3/5", "4/5"], ["-4/5", "3/5"]], _MAPS, [[1, 0], [0, 1]]),
    "matrix-none": polynomial_question([["1"], ["-1"]], [2]),
}


def subject(name: str) -> Subject:
    """The subject of a question."""
    return Subject(QUESTIONS[name], {})


def bound(
    name: str,
    value: Number,
    which: Literal["system", "target", "atom"] = "system",
    index: int = 0,
    method: Literal["definite", "products"] = "definite",
) -> OperatorNormClaim:
    """A claim about a question."""
    return OperatorNormClaim(
        "qreplace/claim/operator_norm/v1",
        subject(name).problem_digest(0),
        0,
        which,
        index,
        method,
        Fraction(value),
    )


SYSTEM = bound("matrix-l2", 2)
RATE = bound("matrix-rate", "3/2")
TARGET = bound("matrix-maps", 1, "target")
ATOM = bound("matrix-maps", "1.41421357", "atom")
CODES = bound("matrix-maps", "1.41421357", "atom", 1)
PRODUCTS = bound("matrix-maps", "7/5", "target", method="products")

ACCEPTED: list[tuple[str, str, Claim]] = [
    # value^2 I - A^T A is singular: the bound is the norm itself.
    ("operator_norm", "matrix-l2--exact", SYSTEM),
    ("operator_norm", "matrix-linf--exact", bound("matrix-linf", 2)),
    ("operator_norm", "matrix-rate--exact", RATE),
    ("operator_norm", "matrix-maps--target", TARGET),
    ("operator_norm", "matrix-maps--atom", ATOM),
    ("operator_norm", "matrix-maps--codes", CODES),
    ("operator_norm", "matrix-maps--products", PRODUCTS),
    ("operator_norm", "matrix-l2--products", bound("matrix-l2", 2, method="products")),
]

MALFORMED_FROM: tuple[str, str] | None = ("matrix-l2--exact", "value")

Rejection = tuple[str, str, Claim, str, str]


def _changed(claim: OperatorNormClaim, **fields: Any) -> OperatorNormClaim:
    return dataclasses.replace(claim, **fields)


def _rejected() -> Iterator[Rejection]:
    def case(name: str, claim: Claim, pointer: str, words: str) -> Rejection:
        return "operator_norm", name, claim, pointer, words

    other = "the claim is about another question"  # 1
    yield case("matrix-linf--other-norm", SYSTEM, "/subject", other)
    nowhere = "the question has no dictionary at this code"
    yield case("matrix-l2--code", _changed(SYSTEM, code=-1), "/code", nowhere)

    words = "the question holds no such matrix"  # 2
    for name, claim in (
        ("matrix-none--system", bound("matrix-none", 2)),
        ("matrix-l2--target", _changed(SYSTEM, matrix="target")),
        ("matrix-l2--atom", _changed(SYSTEM, matrix="atom")),
        ("matrix-l2--index", _changed(SYSTEM, index=1)),
        ("matrix-maps--target-index", _changed(TARGET, index=1)),
        ("matrix-maps--atom-index", _changed(ATOM, index=2)),
        ("matrix-maps--negative-index", _changed(ATOM, index=-1)),
    ):
        yield case(name, claim, "/matrix", words)

    words = "the norm is not shown to be within the bound"  # 3
    for name, claim in (
        ("matrix-l2--below", SYSTEM),
        ("matrix-rate--below", RATE),
        ("matrix-maps--target-below", TARGET),
    ):
        yield case(name, _changed(claim, value=claim.value - TINY), "/value", words)
    for name, claim in (("atom-below", ATOM), ("codes-below", CODES)):
        less = _changed(claim, value=Fraction("1.41421356"))
        yield case(f"matrix-maps--{name}", less, "/value", words)
    words = "the product of norms exceeds the bound"
    less = _changed(PRODUCTS, value=PRODUCTS.value - TINY)
    yield case("matrix-maps--products-below", less, "/value", words)
    minus = _changed(SYSTEM, value=Fraction(-2))
    yield case("matrix-l2--negative", minus, "/value", "a norm is not negative")


REJECTED: list[Rejection] = list(_rejected())
