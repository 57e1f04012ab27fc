"""Switching rules: compiled twins against the plain references, results, refusals (theory T2)."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qreplace.claims.functional import SparseVector
from qreplace.claims.relaxed_control import ControlPiece, PureSchedule, RelaxedControl
from qreplace.decision.controls import cell_averages, prefix_discrepancy
from qreplace.decision.schedules import chairman_schedule
from qreplace.errors import InputError
from qreplace.simulate.switching import (
    RULES,
    Rule,
    SwitchingResult,
    bounds_of,
    plain_schedule,
    realised_discrepancy,
    switch,
)
from qreplace.simulate.switching_weights import (
    MAX_DENOMINATOR_BITS,
    Weights,
    control_weights,
    weights_of,
    whole_weights,
)

HALF = Fraction(1, 2)
TINY = Fraction(1, 10**30)
LONG = Fraction(1, 3**60)


@st.composite
def simplex_rows(
    draw: st.DrawFn, most_atoms: int = 6, most_steps: int = 24
) -> list[list[Fraction]]:
    """Weights with small denominators of their own in every row; zeros and ties are common."""
    atoms = draw(st.integers(1, most_atoms))
    steps = draw(st.integers(1, most_steps))
    found = []
    for _ in range(steps):
        parts = draw(st.lists(st.integers(0, 9), min_size=atoms, max_size=atoms))
        if not any(parts):
            parts[0] = 1
        found.append([Fraction(part, sum(parts)) for part in parts])
    return found


@settings(max_examples=150)
@given(simplex_rows(), st.sampled_from(RULES))
def test_compiled_schedules_are_the_plain_ones(own: list[list[Fraction]], rule: Rule) -> None:
    weights = weights_of(own)
    found = switch(weights, rule)
    assert found.compiled
    picks = plain_schedule(weights, rule)
    assert found.schedule.tolist() == picks
    assert found.realised == prefix_discrepancy(own * (weights.depth // len(own)), picks)
    assert found.largest <= found.bounds.largest
    assert found.half_l1 <= found.bounds.half_l1


@settings(max_examples=100)
@given(simplex_rows(most_steps=1), st.integers(1, 60), st.integers(0, 30), st.sampled_from(RULES))
def test_one_row_of_weights_holds_for_ever(
    own: list[list[Fraction]], depth: int, more: int, rule: Rule
) -> None:
    """A shorter schedule is a prefix of a longer one; the chairman's is the decision's own."""
    found = switch(weights_of(own, depth), rule)
    longer = switch(weights_of(own, depth + more), rule)
    assert found.schedule.tolist() == longer.schedule.tolist()[:depth]
    assert found.realised == prefix_discrepancy(own * depth, found.schedule.tolist())
    if rule == "chairman":
        assert found.schedule.tolist() == chairman_schedule(own[0], depth)
    else:
        assert found.schedule.tolist() == switch(weights_of(own * depth), rule).schedule.tolist()


def test_equal_rows_say_nothing_of_what_comes_after() -> None:
    """After two rows 0, 1/4, 3/4 nothing is due, so the first eligible atom is taken; T2.2 holds.

    One row that holds for ever makes the last atom due sooner.
    """
    row = [Fraction(0), Fraction(1, 4), Fraction(3, 4)]
    for rows, picks in (([row], [2, 2]), ([row] * 2, [2, 1])):
        found = switch(weights_of(rows, 2), "chairman")
        assert found.schedule.tolist() == picks
        assert found.largest <= found.bounds.largest


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("steps", [1, 40])
def test_weights_too_long_for_64_bits_are_switched_plainly(rule: Rule, steps: int) -> None:
    row = [LONG, HALF, HALF - LONG]
    weights = weights_of([row] * steps, 40)
    found = switch(weights, rule)
    assert not found.compiled and not weights.fits
    assert found.schedule.tolist() == plain_schedule(weights, rule)
    assert found.realised == prefix_discrepancy([row] * 40, found.schedule.tolist())
    assert 0 < found.largest <= found.bounds.largest
    assert weights.shares()[0] == weights.shares()[-1] and len(weights.shares()) == 40


def test_room_ends_where_it_is_said_to() -> None:
    """8 J N < 2^63: the largest denominator that is compiled agrees with the plain rules."""
    most = (1 << 63) // 16 - 1
    for unit, fits in ((most, True), (most + 1, False)):
        share = Fraction(unit // 3 | 1, unit)
        weights = weights_of([[share, 1 - share]], 50)
        assert weights.denominator == unit and weights.fits is fits
        for rule in RULES:
            found = switch(weights, rule)
            assert found.compiled is fits
            assert found.schedule.tolist() == plain_schedule(weights, rule)


def test_constant_weights_are_one_row_at_any_depth() -> None:
    weights = weights_of([[HALF, Fraction(1, 3), Fraction(1, 6)]], 10_000_000)
    assert weights.rows.shape == (1, 3)
    long = weights_of([[LONG, 1 - LONG]], 1000).shares()
    assert all(row is long[0] for row in long)


# --- whole numbers ------------------------------------------------------------------------------


@given(simplex_rows())
def test_whole_numbers_are_the_same_weights(own: list[list[Fraction]]) -> None:
    one = weights_of(own)
    two = whole_weights(np.array(one.rows), one.denominator)
    assert [two.row(step) for step in range(two.depth)] == [
        own[0 if one.constant else step] for step in range(two.depth)
    ]
    assert np.array_equal(one.rows, two.rows) and one.depth == two.depth


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.uint64])
def test_whole_numbers_of_every_integer_type(dtype: Any) -> None:
    given = np.array([[3, 97], [100, 0]], dtype=dtype)
    weights = whole_weights(given, 100)
    assert weights.rows.dtype == np.int64 and weights.rows.tolist() == [[3, 97], [100, 0]]
    with pytest.raises(InputError, match="weight 1 of row 0 is 97/96"):
        whole_weights(given, 96)


def test_weights_do_not_follow_the_array_they_came_from() -> None:
    given = np.array([[1, 3], [2, 2]])
    weights = whole_weights(given, 4)
    given[0] = [9, 9]
    assert weights.row(0) == [Fraction(1, 4), Fraction(3, 4)]
    with pytest.raises(ValueError, match="read-only"):
        weights.rows[0, 0] = 9


@pytest.mark.parametrize(("numerators", "unit", "words"), [
    (np.array([[0.5, 0.5]]), 1, "the type float64"),
    (np.array([[np.nan, 1.0]]), 1, "the type float64"),
    (np.array([[True, False]]), 1, "the type bool"),
    (np.array([[1 << 70, 0]]), 1 << 70, "the type object"),
    (np.zeros((2, 2, 2), dtype=int), 1, "3 axes"),
    (np.array(1), 1, "0 axes"),
    (np.zeros((0, 2), dtype=int), 1, "1 to 4096 atoms"),
    (np.zeros((2, 0), dtype=int), 1, "1 to 4096 atoms"),
    (np.zeros((1, 4097), dtype=int), 1, "received 4097"),
    (np.array([[1, 0]]), 0, "the denominator is 0"),
    (np.array([[1, 0]]), True, "the denominator is True"),
    (np.array([[1 << 60, 0]]), 1 << 60, "below 2\\^63"),
    (np.array([[1, 1], [3, -1]]), 2, "weight 0 of row 1 is 3/2"),
    (np.array([[1, 1], [2, -1]]), 2, "weight 1 of row 1 is -1/2"),
    (np.array([[1, 1], [2, 1]]), 2, "row 1 sums to 3/2; needed exactly 1"),
    (np.array([[2**64 - 1, 2]], dtype=np.uint64), 1, "weight 0 of row 0"),
])  # fmt: skip
def test_whole_numbers_outside_the_simplex_are_refused(
    numerators: Any, unit: int, words: str
) -> None:
    with pytest.raises(InputError, match=words):
        whole_weights(numerators, unit)


# --- a claim's control --------------------------------------------------------------------------


def _mixed(*numerators: int) -> SparseVector:
    return SparseVector(Fraction(sum(numerators)), (0, 1), tuple(map(Fraction, numerators)))


def _control(*ends: Fraction) -> RelaxedControl:
    mixes = [_mixed(1, 2), _mixed(3, 1), _mixed(1, 0)]
    pieces = tuple(ControlPiece(end, mix) for end, mix in zip(ends, mixes, strict=False))
    return RelaxedControl("relaxed", pieces, (1,) * len(pieces), 4)


def test_weights_of_a_claims_control_are_its_cell_averages() -> None:
    control = _control(Fraction(1, 3), Fraction(1))
    weights = control_weights(control, 3, Fraction(1), 7)
    rows = cell_averages(control.pieces, 3, Fraction(1), 7)
    assert [weights.row(step) for step in range(7)] == rows
    # A third of the horizon is 7/3 cells: the third cell is 1/3 the first mix, 2/3 the second.
    third = Fraction(1, 3) * Fraction(1, 3) + Fraction(2, 3) * Fraction(3, 4)
    assert weights.row(2) == [third, 1 - third, 0]
    for rule in RULES:
        found = switch(weights, rule)
        assert found.largest <= found.bounds.largest
        assert 2 not in found.schedule


@pytest.mark.parametrize(("control", "words"), [
    (PureSchedule("schedule", ((0, 3),)), "a schedule already"),
    (_control(Fraction(1, 3)), "ends that grow from 0 up to the horizon"),
    (_control(Fraction(2, 3), Fraction(1, 3), Fraction(1)), "ends that grow"),
    (_control(Fraction(1), Fraction(2)), "ends that grow"),
    (RelaxedControl("relaxed", (), (), 4), "ends that grow"),
])  # fmt: skip
def test_controls_that_miss_the_horizon_are_refused(control: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        control_weights(control, 2, Fraction(1), 5)


def test_controls_beyond_the_limits_are_refused() -> None:
    control = _control(Fraction(1))
    with pytest.raises(InputError, match="not among the 1"):
        control_weights(control, 1, Fraction(1), 5)
    with pytest.raises(InputError, match="at most 4000000 entries"):
        control_weights(control, 2, Fraction(1), 5_000_000)
    with pytest.raises(InputError, match="needed weights of 1 to 4096 atoms"):
        control_weights(control, 2, Fraction(1), 0)


# --- given schedules ----------------------------------------------------------------------------


@given(simplex_rows(), st.randoms(use_true_random=False))
def test_any_schedules_discrepancy_is_exact(own: list[list[Fraction]], rng: Any) -> None:
    picks = [rng.randrange(len(own[0])) for _ in own]
    found = realised_discrepancy(weights_of(own), picks)
    assert found == prefix_discrepancy(own, picks)
    assert found == realised_discrepancy(weights_of(own), np.array(picks))


def test_a_schedule_that_leaves_64_bits_is_followed_plainly() -> None:
    """One atom is never used: its balance grows to 1000 N, beyond int64 for this N."""
    unit = (1 << 63) // 16 - 1
    weights = whole_weights(np.array([unit, 0]), unit, 1000)
    assert weights.fits
    found = realised_discrepancy(weights, [1] * 1000)
    assert found.largest == found.half_l1 == 1000
    assert found.largest_at == found.half_l1_at == 1000


@pytest.mark.parametrize(("schedule", "words"), [
    ([0, 1], "2 steps for weights of 3"),
    ([0, 1, 2], "step 2 runs atom 2"),
    ([0, -1, 1], "step 1 runs atom -1"),
    ([0.0, 1.0, 0.5], "whole numbers"),
])  # fmt: skip
def test_schedules_that_do_not_fit_are_refused(schedule: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        realised_discrepancy(weights_of([[HALF, HALF]], 3), schedule)


# --- refusals -----------------------------------------------------------------------------------

DISTINCT = [[Fraction(1, 2**9000), 1 - Fraction(1, 2**9000)],
            [Fraction(1, 3**4000), 1 - Fraction(1, 3**4000)]]  # fmt: skip


@pytest.mark.parametrize(("own", "depth", "words"), [
    ([], None, "needed weights"),
    ([[]], 3, "needed weights"),
    ([[HALF, HALF + TINY]], 3, "row 0 sums to 1(0+)1/10+; needed exactly 1"),
    ([[HALF, HALF], [HALF, HALF - TINY]], None, "row 1 sums to 9+/10+; needed exactly 1"),
    ([[HALF, HALF - TINY**3]], 3, "row 0 sums to 1 minus about 10\\^-90"),
    ([[HALF, HALF + TINY**3]], 3, "row 0 sums to 1 plus about 10\\^-90"),
    ([[Fraction(3, 2), Fraction(-1, 2)]], 3, "weight 1 of row 0 is negative"),
    ([[Fraction(1)], [HALF, HALF]], None, "row 1 has 2 weights"),
    ([[0.5, 0.5]], 3, "weight 0 of row 0 is of the type float"),
    ([[float("nan"), 1]], 3, "of the type float"),
    ([[Fraction(1)]], 0, "the depth is 0"),
    ([[Fraction(1)]], 10**8, "the depth is 100000000"),
    ([[Fraction(1)]] * 2, 3, "2 rows of weights for 3 steps"),
    ([[1] + [0] * 4096], 2, "1 to 4096 atoms, received 4097"),
    ([[1] + [0] * 4095], 10**7, "needed at most 4294967296 in product"),
    ([[1, *([0] * 4095)]] * 4000, None, "needed at most 16000000 weights"),
    (DISTINCT, None, f"more than {MAX_DENOMINATOR_BITS} bits"),
])  # fmt: skip
def test_weights_outside_the_simplex_are_refused_first(
    own: list[list[Any]], depth: int | None, words: str
) -> None:
    with pytest.raises(InputError, match=words):
        weights_of(own, depth)


def test_a_refusal_says_what_to_do() -> None:
    with pytest.raises(InputError) as caught:
        weights_of([[HALF, HALF + TINY]], 3)
    assert "let the last one be what is left" in caught.value.remedy


def test_too_much_plain_work_is_refused() -> None:
    with pytest.raises(InputError, match="at most 4000000 in product"):
        switch(weights_of([[LONG, 1 - LONG]], 10**7), "greedy")
    with pytest.raises(InputError, match="bits in all"):
        row = [Fraction(1, 2**13_000), 1 - Fraction(1, 2**13_000)]
        weights_of([row] * 50_000)


def test_unknown_rules_are_refused() -> None:
    with pytest.raises(InputError, match="needed one of chairman, greedy, sum_up"):
        switch(weights_of([[HALF, HALF]], 3), "largest")  # type: ignore[arg-type]


# --- results ------------------------------------------------------------------------------------


def test_bounds_name_their_theory_and_the_papers_own() -> None:
    greedy, chairman = bounds_of("greedy", 4), bounds_of("chairman", 4)
    assert greedy.largest == Fraction(13, 12) and greedy.published == 4
    assert greedy.half_l1 == Fraction(7, 6)  # 2 (1/3 + 1/4)
    assert chairman.largest == Fraction(5, 6) and chairman.half_l1 == Fraction(5, 3)
    assert chairman.published is None and chairman.known_ahead and not greedy.known_ahead
    assert "T2.1" in greedy.formula and "T2.2" in chairman.half_l1_formula
    assert bounds_of("sum_up", 4) == greedy
    for rule in RULES:
        assert bounds_of(rule, 1).largest == bounds_of(rule, 1).half_l1 == 0


def test_the_document_and_the_text() -> None:
    weights = weights_of([[HALF, Fraction(1, 3), Fraction(1, 6)]], 12)
    result = SwitchingResult("mine", (switch(weights, "chairman"), switch(weights, "greedy")))
    first, second = result.document()["rules"]
    assert first["largest"] == "2/3" and first["largest_bound"] == "3/4"
    assert first["half_l1_bound"] == "3/4" and first["published_bound"] is None
    assert second["largest_bound"] == "5/6" and second["published_bound"] == "3"
    assert second["half_l1_formula"] == "T2.1: max_i i (H_J - H_i)"
    assert first["counts"] == [6, 4, 2]
    assert first["schedule"] == plain_schedule(weights, "chairman")
    assert "chairman" in result.text() and "T2.2" in result.text()
    long = switch(weights_of([[HALF] * 2], 5000), "greedy").document()
    assert long["schedule"] is None and long["counts"] == [2500, 2500]
    assert long["largest"] == "1/2" and long["largest_at"] == 1


@pytest.mark.parametrize("rule", RULES)
def test_one_atom_is_always_on_its_weight(rule: Rule) -> None:
    found = switch(weights_of([[Fraction(1)]], 5), rule)
    assert found.schedule.tolist() == [0] * 5
    assert found.largest == found.half_l1 == found.largest_at == 0


def test_sum_up_rounding_is_the_greedy_rule_on_equal_steps() -> None:
    """Sager's rule: at step k the atom with the largest ``sum_{l <= k} a_l - sum_{l < k} p_l``."""
    own = [[Fraction(k % 3, 6), Fraction(3 - k % 3, 6), HALF] for k in range(20)]
    used, picks = [Fraction(0)] * 3, []
    for k in range(20):
        sums = [sum((row[j] for row in own[: k + 1]), Fraction(0)) for j in range(3)]
        gaps = [total - n for total, n in zip(sums, used, strict=True)]
        picks.append(gaps.index(max(gaps)))
        used[picks[-1]] += 1
    assert switch(weights_of(own), "sum_up").schedule.tolist() == picks


def test_weights_are_compared_by_identity() -> None:
    """Two arrays have no single truth value; equality is not promised."""
    one = Weights(np.array([[1]]), 1, 1)
    assert one == one and one != Weights(np.array([[1]]), 1, 1)
