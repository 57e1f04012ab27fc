"""The questions of the tables are the ones their texts describe."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qreplace.errors import InputError
from qreplace.question.maps import Point, homogeneous
from qreplace.question.regions import Ball
from qreplace.question.subject import Subject
from qreplace.reproduce import reproduce
from qreplace.reproduce.instances import (
    mass,
    mixture,
    scalar_subject,
    shipped_claims,
    shipped_question,
    threshold_atom,
)
from qreplace.reproduce.matrix import witness_inputs

SMALL = st.fractions(-2, 2, max_denominator=20)
LEVELS = st.fractions(0, 2, max_denominator=20)


def soft(u: Fraction, level: Fraction) -> Fraction:
    return (1 if u > 0 else -1) * max(abs(u) - level, Fraction(0))


def point(y: Fraction) -> Point:
    return homogeneous((y,))


@given(st.lists(st.tuples(SMALL, LEVELS), min_size=1, max_size=4), SMALL)
def test_mixtures_are_sums_of_soft_thresholds(
    terms: list[tuple[Fraction, Fraction]], y: Fraction
) -> None:
    atom = threshold_atom(Fraction(1), Fraction(0), leak=Fraction(1))
    subject = scalar_subject([atom], mixture(terms), Fraction(2), [Fraction(1)])
    wanted = sum((weight * soft(y, level) for weight, level in terms), Fraction(0))
    assert subject.piecewise(0).target.value(point(y)) == (wanted,)


@given(SMALL, LEVELS, SMALL, st.fractions(0, 1, max_denominator=8), SMALL)
def test_atoms_are_recurrent_soft_thresholds(
    gain: Fraction, level: Fraction, state: Fraction, leak: Fraction, y: Fraction
) -> None:
    atom = threshold_atom(gain, level, state=state, leak=leak)
    target = mixture([(Fraction(1), Fraction(0))])
    subject = scalar_subject([atom], target, Fraction(2), [Fraction(1)])
    x = Fraction(0)
    for _ in range(3):
        x += (soft(gain * y + state * x, level) - leak * x) / 3
    assert subject.piecewise(0).student((0, 0, 0)).value(point(y)) == (x,)


@pytest.mark.parametrize("rate", [Fraction(1, 2), Fraction(1), Fraction(3, 2)])
def test_the_mass_is_rounded_down(rate: Fraction) -> None:
    found = mass(rate)
    assert (found * 2**100).denominator == 1
    assert math.isclose(found, (1 - math.exp(-rate)) / rate, rel_tol=1e-15)
    # From below, and by less than one unit: e^{-rate} between its alternating partial sums.
    partial, term, above, below = Fraction(0), Fraction(1), Fraction(1), Fraction(0)
    for k in range(1, 80):
        partial += term
        above, below = (partial, below) if k % 2 else (above, partial)
        term = -term * rate / k
    assert found <= (1 - below) / rate
    assert found > (1 - above) / rate - Fraction(1, 2**99)


def test_the_shipped_claims_are_about_the_shipped_question() -> None:
    digest = Subject(shipped_question(), {}).problem_digest(0)
    claims = shipped_claims()
    assert len(claims) == 11
    assert {getattr(claim, "subject", None) for claim in claims} == {digest}


def test_the_witnesses_are_1281_inputs_of_the_disk() -> None:
    inputs = witness_inputs()
    assert inputs.shape == (1281, 2)
    rows = list(zip(inputs.values[::2], inputs.values[1::2], strict=True))
    disk = Ball((Fraction(0), Fraction(0)), Fraction(1))
    assert len(set(rows)) == 1281
    assert all(disk.contains(homogeneous(row)) for row in rows)
    # The grid is that of quarter turns.
    assert set(rows) == {(-y, x) for x, y in rows}


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        ("nothing", {}, "no table 'nothing'. There are matrix, split, phase, search"),
        ("matrix", {"depth": 3}, "matrix takes no options, received --depth"),
        ("split", {"seed": 3}, "split takes --depth, received --seed"),
        ("split", {"depth": 13}, "--depth is 1 to 12, received 13"),
        ("phase", {"depth": 0}, "--depth is 1 to 48, received 0"),
        ("search", {"depth": 23}, "--depth is 2 to 22, received 23"),
        ("search", {"restarts": 0}, "--restarts is 1 to 4096, received 0"),
        ("search", {"seed": -1}, "--seed is 0 to 4294967295, received -1"),
    ],
)
def test_what_is_refused(name: str, options: dict[str, int], words: str) -> None:
    with pytest.raises(InputError) as caught:
        reproduce(name, options)
    assert words in str(caught.value)
