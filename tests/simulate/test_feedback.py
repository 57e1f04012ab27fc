"""Fast error feedback equals the plain reference, and refuses what it could not do exactly."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from qreplace.errors import InputError
from qreplace.simulate.arithmetic import simulate
from qreplace.simulate.feedback import EXACT, feedback, feedback_plain
from qreplace.simulate.model import Arithmetic, Atom, System, grid

TIES = [[1, 3, -1, -3, 2, -2, 5, -5]]


@st.composite
def cases(draw: st.DrawFn) -> tuple[list[list[int]], list[int], int, list[int]]:
    lanes = draw(st.sampled_from([1, 3, 513]))
    largest = draw(st.sampled_from([3, 1000, 1 << 40]))
    ratio = draw(st.sampled_from([1, 2, 3, 4, 7, 16, 1001, 1 << 30, (1 << 40) + 1]))
    code = st.integers(-largest, largest)
    pattern = draw(st.lists(code, min_size=2 * min(lanes, 5), max_size=2 * min(lanes, 5)))
    half = len(pattern) // 2
    codes = [[pattern[part * half + i % half] for i in range(lanes)] for part in (0, 1)]
    schedule = draw(st.lists(st.integers(0, 1), min_size=1, max_size=12))
    return codes, schedule, ratio, [draw(code)] * lanes


@settings(max_examples=150)
@given(cases())
@example((TIES, [0] * 9, 2, [0] * 8))
@example((TIES, [0] * 9, 4, [1] * 8))
def test_it_is_the_reference_bit_for_bit(case: Any) -> None:
    codes, schedule, ratio, start = case
    found = feedback(codes, schedule, ratio, start)
    states, residuals = feedback_plain(codes, schedule, ratio, start)
    assert (found.states.tolist(), found.residuals.tolist()) == (states, residuals)
    # T4.6: nothing is lost, the carry holds the rest.
    for lane, own in enumerate(start):
        total = ratio * own + sum(codes[atom][lane] for atom in schedule)
        assert ratio * states[lane] + residuals[lane] == total
        assert abs(residuals[lane]) <= ratio // 2


def test_quotients_next_to_ties_round_as_they_should() -> None:
    """p / m within 1 / 2m of a tie, at the largest numbers that are let in."""
    for ratio in (3, 7, 1023, (1 << 25) + 1):
        near = (EXACT // ratio - 4) * ratio + ratio // 2
        codes = [[near + shift for shift in range(-3, 4)]]
        start = [0] * 7
        found = feedback(codes, [0], ratio, start)
        assert found.states.tolist() == feedback_plain(codes, [0], ratio, start)[0]


def test_the_general_simulator_agrees() -> None:
    codes, schedule, ratio = [[5, -3], [-2, 9]], [0, 1, 1, 0, 1, 0, 0], 8
    depth = len(schedule)
    atoms = tuple(Atom(tuple(Fraction(depth * c) for c in row)) for row in codes)
    own = Arithmetic(
        "error_feedback",
        "nearest_even",
        state=grid(Fraction(ratio)),
        increment=grid(Fraction(ratio)),
    )
    run = simulate(System(atoms, (Fraction(0), Fraction(0)), Fraction(1)), schedule, own)
    found = feedback(codes, schedule, ratio)
    assert [ratio * int(n) for n in found.states] == list(run.executed)


@pytest.mark.parametrize(("codes", "schedule", "ratio", "words"), [
    ([[EXACT]], [0], 3, "needed below 2^51"),
    ([[1]], [0], EXACT, "needed below 2^51"),
    ([[1 << 50]], [0] * 4, 1, "needed below 2^51"),
    ([[1]], [0], 0, "at least 1"),
    ([[1.5]], [0], 2, "whole numbers"),
    ([[1]], [1], 2, "there are 1"),
    ([[1]], [-1], 2, "there are 1"),
    ([[1]], [], 2, "whole numbers"),
    ([1], [0], 2, "shape"),
])  # fmt: skip
def test_what_is_not_exact_is_refused(codes: Any, schedule: Any, ratio: int, words: str) -> None:
    with pytest.raises(InputError, match=words.replace("^", r"\^")):
        feedback(codes, schedule, ratio)


def test_the_bound_of_the_proof() -> None:
    """Below 2^51 a quotient that is no tie keeps its side of one; the margin is a factor of two."""
    ratio = 3
    whole = EXACT - 2
    assert math.ulp(whole / ratio) / 2 <= 1 / (4 * ratio)
