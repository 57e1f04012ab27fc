"""What a checker will do is estimated from above, before it is done."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import pytest
from corpora.hjb_sos import ACCEPTED, subject
from hypothesis import given, settings
from hypothesis import strategies as st
from square_claims import changed, gram

from qreplace.check import hjb_sos
from qreplace.check.work import (
    MAX_NUMBER_BITS,
    MAX_WORK,
    Work,
    number_bits,
    numbers_of,
    oversized_is_rejected,
)
from qreplace.claims.hjb_sos import HjbSosClaim
from qreplace.claims.sums_of_squares import Combination, Squares
from qreplace.errors import Malformed, Rejected
from qreplace.exact.polynomial import Polynomial, after_step, from_terms, lie_derivative

COEFFICIENTS = st.integers(1, 3).map(Fraction)
TERMS = st.dictionaries(st.tuples(*[st.integers(0, 2)] * 3), COEFFICIENTS, max_size=5)
POLYNOMIALS = TERMS.map(from_terms)


@pytest.fixture
def products(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """Counts the products of terms that polynomials really form."""
    count = [0]
    plain = Polynomial.__mul__

    def counted(one: Polynomial, other: Polynomial) -> Polynomial:
        count[0] += len(one.exponents) * len(other.exponents)
        return plain(one, other)

    monkeypatch.setattr(Polynomial, "__mul__", counted)
    yield count


@settings(max_examples=50)
@given(POLYNOMIALS, POLYNOMIALS, POLYNOMIALS, st.sampled_from([None, 2]))
def test_changes_are_estimated_from_above(
    function: Polynomial, one: Polynomial, other: Polynomial, depth: int | None
) -> None:
    count = 0
    plain = Polynomial.__mul__

    def counted(a: Polynomial, b: Polynomial) -> Polynomial:
        nonlocal count
        count += len(a.exponents) * len(b.exponents)
        return plain(a, b)

    work = Work(3)
    work.change(function, [(one, other)], depth)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Polynomial, "__mul__", counted)
        if depth is None:
            lie_derivative(function, (one, other))
        else:
            after_step(function, (one, other), Fraction(1, depth))
    assert count * work.price <= work.total


@pytest.mark.parametrize(
    ("name", "claim"), [case[1:] for case in ACCEPTED], ids=[case[1] for case in ACCEPTED]
)
def test_whole_claims_are_estimated_from_above(
    name: str, claim: HjbSosClaim, products: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    totals: list[Work] = []
    plain = Work.__init__

    def kept(self: Work, *arguments: object) -> None:
        plain(self, *arguments)  # type: ignore[arg-type]
        totals.append(self)

    monkeypatch.setattr(Work, "__init__", kept)
    hjb_sos.check(subject(name.split("--")[0]), claim)
    (work,) = totals
    fixed = 8 * (claim.value_function.arity or 1) + 40  # phi and the constraints themselves
    assert products[0] <= work.total / work.price + fixed
    assert work.total < MAX_WORK / 100


def test_the_total_is_bounded() -> None:
    work = Work(2)
    work.products(MAX_WORK // work.price)
    with pytest.raises(Rejected, match="more arithmetic than is done"):
        work.products(1 + MAX_WORK)


def test_numbers_are_found_everywhere() -> None:
    claim = ACCEPTED[0][2]
    lower = Fraction(3, 7**40)
    found = set(numbers_of(changed(claim, lower=lower)))
    assert lower in found and Fraction(4) in found and Fraction(2) in found
    part = Squares("squares", (Fraction(1, 6), Fraction(1, 10)), ())
    assert number_bits(part) == 1 + 5
    assert number_bits() == 1
    edge = Fraction(1, 2 ** (MAX_NUMBER_BITS - 1))
    assert number_bits((edge,)) == MAX_NUMBER_BITS + 1
    with pytest.raises(Rejected, match="too long a common denominator"):
        number_bits((edge, Fraction(1, 3)))


def test_oversized_polynomials_refuse_the_claim() -> None:
    with pytest.raises(Rejected) as caught, oversized_is_rejected("/there"):
        raise Malformed("too large")
    assert (caught.value.message, caught.value.pointer) == ("too large", "/there")
    with pytest.raises(KeyError), oversized_is_rejected():
        raise KeyError


def test_gram_matrices_cost_what_their_proof_costs() -> None:
    """With room to spare the quick proof is counted, without any the decisive one."""
    size = 60
    basis = [(0, i) for i in range(size)]
    long = 10**30

    def total(shift: int) -> int:
        """The matrix of ones, times a long number, with ``shift`` more on its diagonal."""
        lower = [long + (shift if i == j else 0) for i in range(size) for j in range(i + 1)]
        work = Work(2)
        work.combination(Combination(gram(basis, lower), ()), [])
        return work.total

    assert total(0) > 10 * total(long)
    short = changed(gram(basis, [1]), lower=())
    work = Work(2)
    work.combination(Combination(short, ()), [])
    assert work.total <= total(long)
