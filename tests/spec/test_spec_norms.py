"""Which norm bounds which: the table against random vectors."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qreplace.spec.blocks.objective import BlockL2Spec, NormSpec, PlainNormSpec, WeightedNormSpec
from qreplace.spec.norms import at_most, conversion, describe

NORMS: list[NormSpec] = [
    PlainNormSpec(kind="linf"),
    PlainNormSpec(kind="l1"),
    PlainNormSpec(kind="l2"),
    BlockL2Spec(kind="block_l2", block=2),
    BlockL2Spec(kind="block_l2", block=3),
    BlockL2Spec(kind="block_l2", block=6),
    *(
        WeightedNormSpec.model_validate({"kind": kind, "weights": weights})
        for kind in ("weighted_linf", "weighted_l1")
        for weights in ([1, 2, 3, 1, 2, 3], [1, "1/2", 1, 1, 1, "1/3"])
    ),
]


def square(norm: NormSpec, x: list[int]) -> Fraction:
    """The square of a norm, which is rational for all of them."""
    if isinstance(norm, BlockL2Spec):
        blocks = [x[i : i + norm.block] for i in range(0, len(x), norm.block)]
        return Fraction(max(sum(v * v for v in block) for block in blocks))
    if norm.kind == "l2":
        return Fraction(sum(v * v for v in x))
    weights = norm.weights if isinstance(norm, WeightedNormSpec) else (Fraction(1),) * len(x)
    terms = [w * abs(v) for w, v in zip(weights, x, strict=True)]
    return (max(terms) if norm.kind.endswith("linf") else sum(terms, Fraction(0))) ** 2


@pytest.mark.parametrize("second", NORMS, ids=describe)
@pytest.mark.parametrize("first", NORMS, ids=describe)
@given(st.lists(st.integers(-9, 9), min_size=6, max_size=6))
def test_at_most_holds_for_every_vector(first: NormSpec, second: NormSpec, x: list[int]) -> None:
    if at_most(first, second):
        assert square(first, x) <= square(second, x)


def test_what_the_table_knows() -> None:
    linf, l1, l2, two, three, six = NORMS[:6]
    chain = [linf, two, six, l2, l1]
    for index, low in enumerate(chain):
        for high in chain[index:]:
            assert at_most(low, high)
    assert not at_most(l2, linf)
    assert not at_most(two, three)
    assert at_most(three, six)


def test_conversions_in_words() -> None:
    linf, l1, l2, two = NORMS[:4]
    assert conversion(l2, linf) == "linf <= l2 <= sqrt(q) linf in dimension q"
    assert conversion(linf, l1) == "linf <= l1 <= q linf in dimension q"
    assert "sqrt(2)" in conversion(linf, two)
    assert "sqrt(q/2)" in conversion(l2, two)
    assert conversion(NORMS[6], linf) == "1 linf <= weighted_linf <= 3 linf"
    assert conversion(NORMS[6], l2) == ""
