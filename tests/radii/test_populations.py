"""Laws over a population of inputs: formulas, and a sampled population that obeys them."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest

from qreplace.errors import InputError
from qreplace.radii.populations import (
    DispersedEvent,
    dispersed_modulus,
    margin_law,
    population_error,
)

F = Fraction


def test_events_that_are_spread_out_give_the_exponent_of_their_law() -> None:
    events = [DispersedEvent(F(2), F(1, 2)), DispersedEvent(F(3), F(1, 4))]
    theta, constant = dispersed_modulus(events, alpha=F(1), p=F(1), horizon=F(2), smooth=F(5))
    assert (theta, constant) == (1, 5 + F(1, 2) * 2 + F(1, 4) * 3)
    theta, constant = dispersed_modulus(events, alpha=F(1), p=F(2), horizon=F(1), smooth=F(5))
    assert theta == F(1, 2)
    assert -1e-13 <= float(constant) - (5 + 0.5 * 2**0.5 + 0.25 * 3**0.5) < 1e-12
    # A law steeper than p makes the field Lipschitz in time: theta stays at 1.
    theta, constant = dispersed_modulus(events, alpha=F(3), p=F(2), horizon=F(4), smooth=F(0))
    assert theta == 1
    assert -1e-13 <= float(constant) - (0.5 * 2**0.5 + 0.25 * 3**0.5) * 4**0.5 < 1e-12


@pytest.mark.parametrize("p", [1, 2, 4])
def test_a_population_keeps_its_modulus(p: int) -> None:
    """A step of height 1/2 at a time uniform on [0, 1]: nu{tau in (s, t]} = t - s."""
    times = [(k + 0.5) / 20_000 for k in range(20_000)]
    theta, constant = dispersed_modulus(
        [DispersedEvent(F(1), F(1, 2))], alpha=F(1), p=F(p), horizon=F(1), smooth=F(0)
    )
    for s, t in ((0.1, 0.2), (0.0, 0.01), (0.3, 0.9)):
        share = sum(s < own <= t for own in times) / len(times)
        distance = 0.5 * share ** (1 / p)
        assert distance <= float(constant) * (t - s) ** float(theta) * 1.001


def test_the_margin_law_stops_at_its_range_and_at_one() -> None:
    assert margin_law(F(3), F(2), F(1, 2), F(1, 10)) == 3 * F(1, 5) ** 2
    assert margin_law(F(3), F(1), F(1), F(1, 2)) == 1
    assert -1e-13 <= float(margin_law(F(1), F(1, 2), F(1), F(1, 32))) - 0.25 < 1e-12
    with pytest.raises(InputError, match="beyond the range"):
        margin_law(F(3), F(1), F(1, 2), F(3, 10))
    with pytest.raises(InputError, match="positive exponent"):
        margin_law(F(3), F(0), F(1, 2), F(1, 10))
    with pytest.raises(InputError, match="not negative"):
        margin_law(F(3), F(1), F(1, 2), F(-1, 10))
    assert population_error(F(1, 2), F(1, 16), F(2)) - F(1, 8) < F(1, 1 << 100)
    with pytest.raises(InputError, match="p of at least 1"):
        population_error(F(1), F(1), F(1, 2))


def test_a_population_is_misrouted_no_more_than_the_law_says() -> None:
    rng = random.Random(7)
    gaps = [rng.random() ** 2 for _ in range(20_000)]  # mu{gap <= u} = u^(1/2)
    for error in (F(1, 1000), F(1, 50), F(1, 5)):
        worst = sum(gap < 2 * error for gap in gaps) / len(gaps)
        assert worst <= float(margin_law(F(1), F(1, 2), F(1), error)) * 1.05
