"""Matching depths against brute force over error laws."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qreplace.decision.matching import (
    ErrorLaw,
    ExchangeRate,
    NoExchangeRate,
    exchange_rate,
    matching_depth,
)
from qreplace.errors import InputError
from qreplace.exact.fixed_teacher import teacher_bounds, teacher_error

F = Fraction
small = st.builds(Fraction, st.integers(0, 40), st.integers(1, 12))


@settings(max_examples=300)
@given(
    floor=small, lower=small, more=small, second=small, first=st.integers(1, 6), gap=small,
    shares=st.lists(st.integers(0, 8), min_size=60, max_size=60),
)  # fmt: skip
def test_no_error_between_the_laws_matches_outside_the_answer(
    floor: Fraction, lower: Fraction, more: Fraction, second: Fraction, first: int, gap: Fraction,
    shares: list[int],
) -> None:  # fmt: skip
    """Any sequence E_D between the two laws, and anything at all below their first depth."""
    law = ErrorLaw(floor, lower + more, lower, second, first)
    comparator = floor + gap
    if gap == 0:
        with pytest.raises(InputError, match="does not exceed the floor"):
            matching_depth(law, comparator)
        return
    found = matching_depth(law, comparator)
    matches = []
    for depth, share in enumerate(shares, start=1):
        low = max(F(0), floor + lower / depth - second / depth**2)
        high = floor + (lower + more) / depth
        error = low + (high - low) * F(share, 8)
        if depth < first:
            error = floor + gap * share / 4
        matches.append((depth, error <= comparator))
    open_depths = {d for one, last in found.open_depths for d in range(one, last + 1)}
    for depth, does in matches:
        if found.excluded is not None and found.excluded[0] <= depth <= found.excluded[1]:
            assert not does
        elif found.at_most is not None and depth >= found.at_most:
            assert does
        else:
            assert depth in open_depths
    # The answer is sharp: the ends of the excluded range are the last that the law excludes.
    if found.excluded is not None:
        for depth in (found.excluded[0] - 1, found.excluded[1] + 1):
            if depth >= max(first, 1):
                assert floor + lower / depth - second / depth**2 <= comparator


def test_the_fixed_teacher_and_a_coherent_comparator() -> None:
    """E_D between a/(2e D) and a/(2e (D - 1/2)): D = Theta(L) with both constants."""
    tight = teacher_bounds(F(1), 1000)
    lower = tight[0] * 1000
    law = ErrorLaw(F(0), teacher_bounds(F(1), 2)[1] * 2, lower, F(0), 2)
    comparator = F(1, 100)
    found = matching_depth(law, comparator)
    true = next(d for d in range(1, 100) if teacher_error(F(1), d)[1] <= comparator)
    assert found.at_least <= true
    assert found.at_most is not None and true <= found.at_most
    assert found.open_depths[0] == (1, 1)
    rate = exchange_rate(law, F(1, 4), F(1, 2))
    assert isinstance(rate, ExchangeRate)
    assert rate.low == lower * 2 and rate.high == law.upper * 4  # type: ignore[operator]


@pytest.mark.parametrize(("law", "low", "words"), [
    (ErrorLaw(F(0), F(1), None), F(1), "a lower law of E_D"),
    (ErrorLaw(F(0), None, F(1)), F(1), "an upper law of E_D"),
    (ErrorLaw(F(0), F(1), F(0)), F(1), "a lower law of E_D"),
    (ErrorLaw(F(0), F(1), F(1)), None, "a lower law of the comparator"),
    (ErrorLaw(F(0), F(1), F(1)), F(0), "positive"),
])  # fmt: skip
def test_one_side_gives_no_exchange_rate(law: ErrorLaw, low: Fraction | None, words: str) -> None:
    found = exchange_rate(law, low, F(1))
    assert isinstance(found, NoExchangeRate)
    assert words in found.reason


def test_laws_that_cannot_be_are_refused() -> None:
    with pytest.raises(InputError, match="not negative"):
        ErrorLaw(F(-1), F(1), F(1))
    with pytest.raises(InputError, match="above the upper one"):
        ErrorLaw(F(0), F(1), F(2))
