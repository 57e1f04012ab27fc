"""The covering radius (theory T5.1): closed form, fall with the bits, simulated codes."""

from __future__ import annotations

import dataclasses
import random
from fractions import Fraction
from itertools import pairwise

import executed_systems as ex
import mpmath
import pytest
from declared_questions import bounded_variation, covering, declared, growth, premise, radii_of
from hypothesis import given, settings
from hypothesis import strategies as st

from qreplace.decision.evaluate import radius_at
from qreplace.premises import Evidence
from qreplace.question import model as q
from qreplace.radii.radius import Radius


def metadata(question: q.Question, bits: int, choice: int = 0) -> Radius:
    radius = radii_of(question, bits)[choice].metadata
    assert radius is not None
    return radius


def test_without_growth_the_radius_is_sensitivity_times_horizon_times_the_cover() -> None:
    question = declared(
        horizon=Fraction(3),
        synthesis=bounded_variation(state_lipschitz=0),
        metadata=covering(constant=5, sensitivity=2, dimension=4),
    )
    for bits, factor in ((0, 1), (4, 2), (8, 4), (40, 1024)):
        assert radius_at(metadata(question, bits), 9) == Fraction(2 * 5 * 3, factor)


@settings(derandomize=True, max_examples=60)
@given(
    st.builds(Fraction, st.integers(0, 30), st.integers(1, 10)),
    st.builds(Fraction, st.integers(-30, 30), st.integers(1, 10)),
    st.integers(0, 200),
    st.integers(1, 30),
    st.integers(0, 40),
)
def test_the_radius_dominates_both_the_discrete_and_the_continuous_growth(
    lipschitz: Fraction, rate: Fraction, bits: int, dimension: int, skip: int
) -> None:
    """``max(S1, Phi_m(T)) delta_s`` with T = 1 for every growth rate."""
    question = declared(
        synthesis=bounded_variation(state_lipschitz=lipschitz, growth=growth(rate)),
        metadata=covering(constant=3, sensitivity="7/2", dimension=dimension),
    )
    for chosen in radii_of(question, bits):
        depth = chosen.choice.first + skip
        assert chosen.metadata is not None
        value = radius_at(chosen.metadata, depth)
        assert value is not None
        with mpmath.workprec(400):

            def real(x: Fraction) -> mpmath.mpf:
                return mpmath.mpf(x.numerator) / x.denominator

            m = real(chosen.choice.growth.rate)
            step = mpmath.mpf(1) / depth
            discrete = 1 if m == 0 else ((1 + m * step) ** depth - 1) / m
            smooth = 1 if m == 0 else mpmath.expm1(m) / m
            delta = 3 * mpmath.power(2, -mpmath.mpf(bits) / dimension)
            true = mpmath.mpf(7) / 2 * delta * max(discrete, smooth)
            noise = 1 - mpmath.mpf(2) ** -350
            assert true * noise <= real(value)
            assert real(value) <= true * (1 + mpmath.mpf(2) ** -60) + mpmath.mpf(2) ** -120


@settings(derandomize=True, max_examples=60)
@given(st.integers(0, 2**32 - 1))
def test_a_coded_dictionary_stays_within_the_radius(seed: int) -> None:
    """Offsets moved by at most delta_s: L_Omega = 1; the pure trajectories differ by less."""
    rng = random.Random(seed)
    system = ex.random_affine(rng)
    n, bits = len(system.start), rng.randint(0, 12)
    least = max(2, -(-system.horizon.numerator // system.horizon.denominator))
    depth = rng.randint(least, 20)
    cover, dimension = Fraction(rng.randint(1, 9), 4), rng.choice([1, 2, 4])
    # 2^-(s/dim) rounded down is still a code that a covering of that radius allows.
    delta = cover / (1 << -(-bits // dimension))
    moved = [ex.add(offset, ex.noise(rng, system.norm, n, delta)()) for offset in system.offsets]
    coded = dataclasses.replace(system, offsets=moved)
    schedule = [rng.randrange(len(system.offsets)) for _ in range(depth)]
    difference = ex.add(
        coded.ideal(schedule)[-1], ex.scaled(Fraction(-1), system.ideal(schedule)[-1])
    )
    block = covering(constant=cover, sensitivity=1, dimension=dimension)
    question = system.question(q.ExactExecution("exact"), metadata=block)  # type: ignore[arg-type]
    for choice in range(len(radii_of(question, bits))):
        value = radius_at(metadata(question, bits, choice), depth)
        assert value is not None and ex.length(system.norm, difference) <= value


def test_more_bits_never_widen_the_radius() -> None:
    question = declared(metadata=covering(dimension=7))
    values = [radius_at(metadata(question, bits), 5) for bits in range(0, 300, 3)]
    assert all(a is not None and b is not None and b < a for a, b in pairwise(values))


@pytest.mark.parametrize("name", ["sensitivity", "constant"])
def test_missing_premises_are_named(name: str) -> None:
    named = {"sensitivity": "sensitivity", "constant": "covering_constant"}[name]
    for value in (None, premise(1, evidence=Evidence.UNAVAILABLE)):
        block = dataclasses.replace(covering(), **{name: value})
        radius = metadata(declared(metadata=block), 3)
        assert radius.gaps[0].reason == f"missing premise: {named}"


def test_no_metadata_has_no_radius_and_an_omitted_block_is_unavailable() -> None:
    assert radii_of(declared())[0].metadata is None
    radius = metadata(declared(metadata=None), 0)
    assert radius.gaps[0].reason == "the metadata block is omitted"
