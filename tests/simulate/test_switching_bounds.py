"""The switching bounds on 10^5 sequences, attained, approached, best possible (theory T2.1, T2.2).

Discrepancies are recomputed here from the schedules, by NumPy, apart from the library's own.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from qreplace.simulate.switching import (
    Rule,
    bounds_of,
    plain_schedule,
    realised_discrepancy,
    switch,
)
from qreplace.simulate.switching_kernels import schedule_of
from qreplace.simulate.switching_online import OnlineSwitch
from qreplace.simulate.switching_weights import Weights, weights_of, whole_weights

CASES = {2: (22_000, 24), 3: (22_000, 24), 4: (20_000, 24), 5: (12_000, 24), 8: (12_000, 20),
         16: (8_000, 24), 33: (3_000, 40), 64: (1_000, 70)}  # fmt: skip
"""Atoms: sequences, and steps of each; 100,000 sequences in all."""
CHUNK = 500
TWO: tuple[Rule, ...] = ("greedy", "chairman")

Block = tuple[int, Any]
"""A denominator, and numerators (sequences, steps, atoms)."""


def whole(rng: Any, shares: Any, unit: int) -> Any:
    """Numerators near positive shares (.., J): rounded down, what is left to a random atom."""
    found = np.floor(shares / shares.sum(axis=-1, keepdims=True) * unit).astype(np.int64)
    lucky = rng.integers(0, shares.shape[-1], shares.shape[:-1])[..., np.newaxis]
    left = unit - found.sum(axis=-1, keepdims=True)
    np.put_along_axis(found, lucky, np.take_along_axis(found, lucky, -1) + left, -1)
    return found


def random_rows(rng: Any, count: int, depth: int, atoms: int) -> Block:
    """Dirichlet rows, concentrated and spread ones."""
    spread = rng.choice([0.1, 0.5, 1.0, 10.0], size=(count, 1, 1))
    return 99_991, whole(rng, rng.gamma(spread, size=(count, depth, atoms)) + 1e-12, 99_991)


def vertex_rows(rng: Any, count: int, depth: int, atoms: int) -> Block:
    """Rows one part in 720 from a vertex, or on it."""
    found = np.zeros((count, depth, atoms), dtype=np.int64)
    for size in (719, 1):
        where = rng.integers(0, atoms, (count, depth, 1))
        np.put_along_axis(found, where, np.take_along_axis(found, where, -1) + size, -1)
    return 720, found


def coarse_rows(rng: Any, count: int, depth: int, atoms: int) -> Block:
    """Denominators of at most 12; half of the sequences repeat one row, where ties abound."""
    unit = int(rng.choice([2, 3, 4, 6, 12]))
    where = rng.integers(0, atoms, (count, depth, unit))
    where[: count // 2] = where[: count // 2, :1]
    return unit, (where[..., np.newaxis] == np.arange(atoms)).sum(axis=2)


def against_greedy(rng: Any, count: int, depth: int, atoms: int) -> Block:
    """Weights chosen by the balances: equal ones on the m largest, m falling to 2, over and over.

    A round of m = J, J - 1, .. from balances of 0 is the family that attains H_J - 1; later rounds
    start from what the last one left, some at a smaller m, some rows a little off.
    """
    unit = 720_720
    balance = np.zeros((count, atoms), dtype=np.int64)
    found = np.zeros((count, depth, atoms), dtype=np.int64)
    m = np.full(count, atoms)
    noisy = rng.random((count, depth)) < 0.3
    noisy[: count // 4] = False
    everyone = np.arange(count)
    for k in range(depth):
        order = np.argsort(-balance, axis=1, kind="stable")
        rank = np.argsort(order, axis=1, kind="stable")
        row = np.where(rank < m[:, np.newaxis], unit // m[:, np.newaxis], 0)
        shift = noisy[:, k] * rng.integers(0, 50, count)
        row[everyone, order[:, 0]] += unit - row.sum(axis=1) + shift
        row[everyone, order[:, 1]] -= shift
        found[:, k] = row
        balance += row
        balance[everyone, balance.argmax(axis=1)] -= unit
        m = np.where(m > 2, m - 1, rng.integers(2, atoms + 1, count))
    return unit, found


def against_chairman(rng: Any, count: int, depth: int, atoms: int) -> Block:
    """``extremal`` on shuffled atoms, slightly off, after steps that leave all balances at 0."""
    parts = 2 * atoms - 2
    unit = parts * 10_000
    own = np.array(extremal(atoms)) * 10_000
    found = np.zeros((count, depth, atoms), dtype=np.int64)
    for n in range(count):
        pure = int(rng.integers(0, depth - len(own) + 1))
        found[n, np.arange(depth), rng.integers(0, atoms, depth)] = unit
        found[n, pure : pure + len(own)] = own[:, rng.permutation(atoms)]
        off = int(rng.integers(-3, 4))
        a, b = rng.integers(0, atoms, 2)
        if found[n, pure, a] >= abs(off) and found[n, pure, b] >= abs(off):
            found[n, pure, a] += off
            found[n, pure, b] -= off
    return unit, found


def extremal(atoms: int) -> list[list[int]]:
    """J - 1 rows over 2J - 2 on which no schedule does better than 1 - 1/(2J - 2).

    First 1/(2J - 2) on each atom but the last, which has 1/2; then J - 2 times 1/(J - 1) on each
    but the last. If the first pick is one of those, it is that far ahead. Else one of those J - 1
    is not picked in the J - 2 other steps, and is ``1/(2J - 2) + (J - 2)/(J - 1)`` behind.
    """
    first = [1] * (atoms - 1) + [atoms - 1]
    return [first] + [[2] * (atoms - 1) + [0]] * (atoms - 2)


MAKERS: tuple[Callable[[Any, int, int, int], Block], ...] = (
    random_rows, vertex_rows, coarse_rows, against_greedy, against_chairman,
)  # fmt: skip


def blocks(atoms: int) -> Iterator[tuple[str, int, Any]]:
    """All sequences of so many atoms, an equal share of each kind, in chunks."""
    rng = np.random.default_rng(atoms)
    count, depth = CASES[atoms]
    for maker in MAKERS:
        left = count // len(MAKERS)
        while left:
            size = min(left, CHUNK)
            unit, rows = maker(rng, size, depth, atoms)
            left -= size
            yield maker.__name__, unit, rows


def schedules(unit: int, rows: Any, rule: Rule) -> Any:
    """(sequences, steps) by the compiled rule."""
    rows.flags.writeable = False
    depth = rows.shape[1]
    return np.stack([schedule_of(Weights(own, unit, depth), rule) for own in rows])


def prefix_balances(unit: int, rows: Any, picks: Any) -> Any:
    """``P_j - n_j`` over the unit, (sequences, steps, atoms)."""
    used = picks[..., np.newaxis] == np.arange(rows.shape[2])
    return np.cumsum(rows - unit * used, axis=1)


def at_most(found: int, bound: Fraction, unit: int) -> bool:
    return Fraction(found, unit) <= bound


def test_there_are_a_hundred_thousand_sequences() -> None:
    assert sum(count // len(MAKERS) * len(MAKERS) for count, _ in CASES.values()) == 100_000


@pytest.mark.parametrize("atoms", CASES)
def test_both_bounds_hold_on_every_sequence(atoms: int) -> None:
    """Largest and half-l1, and the greedy rule's lower side; the adversaries come near."""
    both = {rule: bounds_of(rule, atoms) for rule in TWO}
    nearest = dict.fromkeys(TWO, Fraction(0))
    for kind, unit, rows in blocks(atoms):
        assert (rows >= 0).all() and (rows.sum(axis=2) == unit).all(), kind
        for rule, bounds in both.items():
            balance = prefix_balances(unit, rows, schedules(unit, rows, rule))
            largest = int(np.abs(balance).max())
            assert at_most(largest, bounds.largest, unit), (kind, rule)
            total = int(np.abs(balance).sum(axis=2).max())
            assert at_most(total, 2 * bounds.half_l1, unit), (kind, rule)
            if rule == "greedy":
                assert at_most(-int(balance.min()), 1 - Fraction(1, atoms), unit), kind
            nearest[rule] = max(nearest[rule], Fraction(largest, unit) / bounds.largest)
    assert nearest["greedy"] > Fraction(99, 100)
    assert nearest["chairman"] == 1


# --- attained and best possible -----------------------------------------------------------------


def worst_for_greedy(atoms: int) -> list[list[Fraction]]:
    """Equal weights on the atoms not yet picked: the last one ends at ``H_J - 1``."""
    online, found = OnlineSwitch(atoms), []
    left = list(range(atoms))
    for size in range(atoms, 1, -1):
        row = [Fraction(1, size) if j in left else Fraction(0) for j in range(atoms)]
        found.append(row)
        left.remove(online.push(row))
    return found


@pytest.mark.parametrize("atoms", [2, 3, 4, 8, 16, 33, 64])
def test_the_greedy_bounds_are_attained(atoms: int) -> None:
    """All three: the largest, the half-l1 (on the way), and the lower side -(1 - 1/J)."""
    weights = weights_of(worst_for_greedy(atoms))
    found = switch(weights, "greedy")
    harmonic = sum((Fraction(1, i) for i in range(1, atoms + 1)), Fraction(0))
    assert found.largest == harmonic - 1 == found.bounds.largest
    assert found.half_l1 == found.bounds.half_l1
    assert found.largest_at == atoms - 1
    first = OnlineSwitch(atoms)
    pick = first.push(weights.row(0))
    assert first.balance[pick] == -(1 - Fraction(1, atoms))
    # The compiled rule ran wherever the common denominator leaves room.
    assert found.compiled is (8 * atoms * math.lcm(*range(1, atoms + 1)) < 1 << 63)


@pytest.mark.parametrize("atoms", [2, 3, 4, 8, 16, 64, 1000])
def test_the_chairman_bound_is_attained(atoms: int) -> None:
    found = switch(whole_weights(np.array(extremal(atoms)), 2 * atoms - 2), "chairman")
    assert found.largest == found.bounds.largest == 1 - Fraction(1, 2 * atoms - 2)


@pytest.mark.parametrize("atoms", [2, 3, 4, 5])
def test_no_schedule_does_better_on_the_extremal_rows(atoms: int) -> None:
    """Every schedule, by enumeration: T2.2 is best possible."""
    weights = whole_weights(np.array(extremal(atoms)), 2 * atoms - 2)
    best = min(
        realised_discrepancy(weights, picks).largest
        for picks in itertools.product(range(atoms), repeat=atoms - 1)
    )
    assert best == 1 - Fraction(1, 2 * atoms - 2)


@pytest.mark.parametrize("atoms", [2, 3, 4, 8, 16])
def test_random_constant_weights_come_near_the_chairman_bound(atoms: int) -> None:
    """As the digest reports for random weights: within a few millionths, never past it."""
    rng, unit = np.random.default_rng(atoms), 1_000_003
    nearest = Fraction(0)
    for _ in range(30):
        row = whole(rng, rng.dirichlet(np.full(atoms, 0.5)) + 1e-12, unit)
        found = switch(whole_weights(row, unit, 20_000), "chairman")
        nearest = max(nearest, found.largest)
    bound = bounds_of("chairman", atoms).largest
    assert bound - Fraction(1, 10_000) < nearest <= bound


# --- complete enumeration -----------------------------------------------------------------------


def rows_over(unit: int, atoms: int) -> list[tuple[int, ...]]:
    """Every point of the simplex with this denominator."""
    return [row for row in itertools.product(range(unit + 1), repeat=atoms) if sum(row) == unit]


@pytest.mark.parametrize(("atoms", "unit", "depth"), [(2, 4, 4), (3, 2, 4), (3, 3, 3), (4, 2, 3)])
def test_every_small_sequence(atoms: int, unit: int, depth: int) -> None:
    """Both rules on all sequences: plain twins, both bounds, lower side."""
    sequences = np.array(list(itertools.product(rows_over(unit, atoms), repeat=depth)))
    sequences.flags.writeable = False
    for rule in TWO:
        bounds = bounds_of(rule, atoms)
        picks = schedules(unit, sequences, rule)
        balance = prefix_balances(unit, sequences, picks)
        assert at_most(int(np.abs(balance).max()), bounds.largest, unit)
        assert at_most(int(np.abs(balance).sum(axis=2).max()), 2 * bounds.half_l1, unit)
        if rule == "greedy":
            assert at_most(-int(balance.min()), 1 - Fraction(1, atoms), unit)
        for own, found in zip(sequences, picks.tolist(), strict=True):
            assert plain_schedule(Weights(own, unit, depth), rule) == found


def test_for_two_atoms_the_chairman_is_within_what_any_schedule_can_do() -> None:
    """All sequences of 3 rows over 6: the best of the 8 schedules, at worst 1/2, as promised."""
    worst = Fraction(0)
    for rows in itertools.product(rows_over(6, 2), repeat=3):
        weights = whole_weights(np.array(rows), 6)
        every = itertools.product((0, 1), repeat=3)
        best = min(realised_discrepancy(weights, picks).largest for picks in every)
        found = switch(weights, "chairman").largest
        assert best <= found <= Fraction(1, 2)
        worst = max(worst, best)
    assert worst == Fraction(1, 2)


@pytest.mark.parametrize("rule", TWO)
def test_every_constant_row_over_six(rule: Rule) -> None:
    for row in rows_over(6, 3):
        found = switch(whole_weights(np.array(row), 6, 13), rule)
        assert found.largest <= found.bounds.largest
        assert found.half_l1 <= found.bounds.half_l1
        if rule == "chairman":
            # A period of the weights ends on them exactly.
            twelve = np.bincount(found.schedule[:12], minlength=3)
            assert twelve.tolist() == [2 * n for n in row]
