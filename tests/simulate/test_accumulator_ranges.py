"""Ranges of accumulators, widths that certainly suffice, and floating sums (theory T4.11)."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from qreplace.errors import InputError
from qreplace.simulate.accumulator_ranges import (
    Range,
    RegisterRanges,
    accumulator_range,
    bits_for,
    floating_dot_bound,
    l1_bits,
    register_ranges,
)
from qreplace.simulate.accumulators import accumulate, dot
from qreplace.simulate.model import Accumulator, OnOverflow

MODES: tuple[OnOverflow, ...] = ("detect", "saturate", "wrap")

# --- certified ranges -----------------------------------------------------------------------------


def partial_sums(terms: Sequence[int]) -> set[int]:
    """Of every order, complete."""
    return {
        sum(order[:count])
        for order in itertools.permutations(terms)
        for count in range(len(order) + 1)
    }


@st.composite
def rows_and_inputs(
    draw: st.DrawFn, size: int = 3, most: int = 4
) -> tuple[list[int], list[tuple[int, int]]]:
    n = draw(st.integers(1, most))
    weights = draw(st.lists(st.integers(-size, size), min_size=n, max_size=n))
    ends = st.tuples(st.integers(-2, 2), st.integers(-2, 2))
    return weights, [tuple(sorted(draw(ends))) for _ in range(n)]  # type: ignore[misc]


@given(rows_and_inputs(), st.integers(-3, 3))
@settings(max_examples=60)
@example(([2, -3], [(1, 2), (1, 1)]), 0)
def test_the_range_is_that_of_all_inputs_and_all_orders(
    given_row: tuple[list[int], list[tuple[int, int]]], bias: int
) -> None:
    """Complete: every input, every order, every prefix; nothing outside, and both ends attained."""
    weights, inputs = given_row
    found: set[int] = set()
    for x in itertools.product(*(range(low, high + 1) for low, high in inputs)):
        found |= partial_sums([*(w * c for w, c in zip(weights, x, strict=True)), bias])
    assert accumulator_range([weights], inputs, [bias]) == (Range(min(found), max(found)),)


@st.composite
def large_rows(draw: st.DrawFn) -> tuple[list[int], list[tuple[int, int]], random.Random]:
    n = draw(st.integers(1, 40))
    rng = random.Random(draw(st.integers(0, 2**32)))
    size = rng.choice([1, 7, 127, 2**20])
    weights = [rng.randint(-size, size) for _ in range(n)]
    ends = [sorted(rng.randint(-300, 300) for _ in range(2)) for _ in range(n)]
    return weights, [(low, high) for low, high in ends], rng


def attaining(weights: Sequence[int], inputs: Sequence[tuple[int, int]], sign: int) -> list[int]:
    """The products that reach an end of the range, in an order that does."""
    products = [
        sign * max(sign * w * low, sign * w * high)
        for w, (low, high) in zip(weights, inputs, strict=True)
    ]
    return sorted(products, reverse=sign > 0)


@given(large_rows())
@settings(max_examples=150)
def test_the_width_suffices_and_one_bit_less_does_not(
    drawn: tuple[list[int], list[tuple[int, int]], random.Random],
) -> None:
    weights, inputs, rng = drawn
    (own,) = accumulator_range([weights], inputs)
    bits = bits_for(own)
    ends = [attaining(weights, inputs, sign) for sign in (-1, 1)]
    lows = [accumulate(end, Accumulator(bits)) for end in ends]
    assert min(found.low for found in lows) == own.low
    assert max(found.high for found in lows) == own.high
    for _ in range(5):
        products = [
            w * rng.randint(low, high) for w, (low, high) in zip(weights, inputs, strict=True)
        ]
        rng.shuffle(products)
        found = accumulate(products, Accumulator(bits))  # an overflow is an error
        assert own.low <= found.low and found.high <= own.high
    if bits > 1:
        narrow = Accumulator(bits - 1, "saturate")
        assert any(accumulate(end, narrow).overflows for end in ends)


def test_widths_of_every_small_range() -> None:
    for low, high in itertools.product(range(-20, 21), repeat=2):
        if low > high:
            continue
        bits = bits_for(Range(low, high))
        assert Range(low, high).fits(bits)
        assert bits == 1 or not Range(low, high).fits(bits - 1)
    assert [bits_for(Range(-m, m)) for m in (0, 1, 127, 128)] == [1, 2, 8, 9]
    assert bits_for(Range(-128, 127)) == 8


def test_the_symmetric_special_case_is_the_l1_rule() -> None:
    rng = random.Random(5)
    for _ in range(300):
        weights = [rng.randint(-9, 9) for _ in range(rng.randint(1, 6))]
        largest = rng.randint(0, 9)
        (own,) = accumulator_range([weights], [(-largest, largest)] * len(weights))
        norm = sum(map(abs, weights)) * largest
        assert own == (-norm, norm)
        bits = l1_bits(weights, largest)
        assert bits == bits_for(own)
        assert norm <= 2 ** (bits - 1) - 1
        assert bits == 1 or norm > 2 ** (bits - 2) - 1


def test_one_sided_inputs_need_less_than_the_l1_rule() -> None:
    """uint8 activations: the range is not symmetric, and 64 * 127 * 255 against its half."""
    weights = [127] * 32 + [-127] * 32
    (own,) = accumulator_range([weights], [(0, 255)] * 64)
    assert own == (-127 * 255 * 32, 127 * 255 * 32)
    assert (bits_for(own), l1_bits(weights, 255)) == (21, 22)


# --- tiles and pairs ------------------------------------------------------------------------------


def random_input(rng: random.Random, inputs: Sequence[tuple[int, int]]) -> list[int]:
    return [rng.choice([low, high, rng.randint(low, high)]) for low, high in inputs]


@given(large_rows(), st.integers(1, 8), st.booleans(), st.integers(1, 24), st.integers(1, 24))
@settings(max_examples=300)
def test_certified_registers_never_overflow_and_exact_ones_are_right(
    drawn: tuple[list[int], list[tuple[int, int]], random.Random],
    tile: int,
    pairs: bool,
    bits: int,
    inner: int,
) -> None:
    weights, inputs, rng = drawn
    bare = Accumulator(None, "saturate", tile, None, pairs)
    (ranges,) = register_ranges([weights], inputs, bare)
    assert ranges.inner is not None and ranges.tile is not None
    widths = rng.choice(
        [(bits, inner), (bits_for(ranges.outer), bits_for(ranges.inner)),
         (bits_for(ranges.total), bits_for(ranges.tile))]
    )  # fmt: skip
    for mode in MODES:
        own = Accumulator(*widths[:1], mode, tile, widths[1], pairs)
        safe, right = ranges.never_overflows(own), ranges.exact(own)
        assert right or not safe
        if not right:
            continue
        for _ in range(4):
            x = random_input(rng, inputs)
            found = dot(weights, x, own)
            assert found.value == sum(w * c for w, c in zip(weights, x, strict=True))
            if safe:
                assert found.overflows == 0
                assert ranges.outer.low <= found.low and found.high <= ranges.outer.high
                assert ranges.inner.low <= found.tile_low
                assert found.tile_high <= ranges.inner.high


@given(rows_and_inputs(size=2, most=5), st.integers(1, 3))
@settings(max_examples=60)
def test_tiles_against_every_order(
    given_row: tuple[list[int], list[tuple[int, int]]], tile: int
) -> None:
    """Complete: every input, every order inside the tiles and of the tiles; ends attained."""
    weights, inputs = given_row
    (ranges,) = register_ranges([weights], inputs, Accumulator(tile=tile))
    inside, sums, outside, totals = {0}, {0}, {0}, set()
    for x in itertools.product(*(range(low, high + 1) for low, high in inputs)):
        products = [w * c for w, c in zip(weights, x, strict=True)]
        tiles = [products[start : start + tile] for start in range(0, len(products), tile)]
        for group in tiles:
            inside |= partial_sums(group)
            sums.add(sum(group))
        outside |= partial_sums([sum(group) for group in tiles])
        totals.add(sum(products))
    assert ranges == RegisterRanges(
        None,
        Range(min(inside), max(inside)),
        Range(min(sums), max(sums)),
        Range(min(outside), max(outside)),
        Range(min(totals), max(totals)),
    )


def test_saturated_pairs_against_every_order() -> None:
    """Complete, with products that saturate in pairs: the range is of what is left of the pairs."""
    inputs = [(-1, 1), (0, 1)] * 2 + [(0, 1)]
    for weights in ([20_000] * 5, [30_000, -30_000, 9, 16_384, -40_000], [-17_000] * 5):
        own = Accumulator(pairwise=True)
        outside, totals, pairs = {0}, set(), {0}
        for x in itertools.product(*(range(low, high + 1) for low, high in inputs)):
            products = [w * c for w, c in zip(weights, x, strict=True)]
            sums = [sum(products[start : start + 2]) for start in range(0, 5, 2)]
            kept = [max(-32768, min(32767, held)) for held in sums]
            pairs |= set(sums)
            outside |= partial_sums(kept)
            totals.add(sum(kept))
            assert dot(weights, x, own).value == sum(kept)
        ends = [Range(min(found), max(found)) for found in (pairs, outside, totals)]
        (ranges,) = register_ranges([weights], inputs, own)
        assert ranges == RegisterRanges(ends[0], None, None, ends[1], ends[2])
        assert not ranges.exact(own)


def test_tiles_are_certified_narrower_than_one_register() -> None:
    """4,096 products of 4-bit weights with 8-bit inputs in tiles of 64: 17 bits inside, 23 out."""
    weights, inputs = [7] * 4096, [(-128, 127)] * 4096
    (ranges,) = register_ranges([weights], inputs, Accumulator(23, tile=64, inner_bits=17))
    assert ranges.inner is not None
    assert (bits_for(ranges.inner), bits_for(ranges.outer)) == (17, 23)
    assert ranges.never_overflows(Accumulator(23, "wrap", 64, 17))
    assert not ranges.never_overflows(Accumulator(23, "wrap", 64, 16))
    assert not ranges.never_overflows(Accumulator(22, "wrap", 64, 17))
    assert dot(weights, [-128] * 4096, Accumulator(23, tile=64, inner_bits=17)).overflows == 0


def test_when_pairs_cannot_saturate() -> None:
    """Of 8-bit inputs 0 to 255, weights up to 64 in size are safe in pairs and 65 are not.

    65 * 255 * 2 is 33,150. 7-bit weights or 7-bit inputs are the known remedies.
    """
    own = Accumulator(32, pairwise=True)
    for weight, safe in ((64, True), (-64, True), (65, False), (-65, False)):
        (ranges,) = register_ranges([[weight, weight]], [(0, 255)] * 2, own)
        assert ranges.never_overflows(own) is safe
        assert (dot([weight] * 2, [255] * 2, own).overflows == 0) is safe
    (halved,) = register_ranges([[127, 127]], [(0, 127)] * 2, own)
    assert halved.never_overflows(own)
    # An unpaired last product counts alone; opposite signs never add up.
    (odd,) = register_ranges([[127, -127, 127]], [(0, 255)] * 3, own)
    assert odd.never_overflows(own)


@given(st.lists(st.integers(-128, 127), min_size=1, max_size=6), st.integers(1, 255))
def test_pairs_saturate_for_some_input_unless_certified(weights: list[int], top: int) -> None:
    """The condition is necessary, too."""
    own = Accumulator(pairwise=True)
    (ranges,) = register_ranges([weights], [(0, top)] * len(weights), own)
    worst = [
        dot(weights, [top if sign * w > 0 else 0 for w in weights], own).overflows
        for sign in (-1, 1)
    ]
    assert ranges.never_overflows(own) is (sum(worst) == 0)


def test_bad_ranges_are_refused() -> None:
    with pytest.raises(InputError, match="input 1 goes from 2 to 1"):
        accumulator_range([[1, 1]], [(0, 1), (2, 1)])
    with pytest.raises(InputError, match="row 1 has 1 weights, there are 2 inputs"):
        accumulator_range([[1, 1], [1]], [(0, 1), (0, 1)])
    with pytest.raises(InputError, match="2 rows of weights and 1 entries of the bias"):
        accumulator_range([[1], [1]], [(0, 1)], [3])
    with pytest.raises(InputError, match="no length of a tile"):
        register_ranges([[1]], [(0, 1)], Accumulator(inner_bits=3))
    with pytest.raises(InputError, match="largest input is -1"):
        l1_bits([1], -1)


# --- floating registers ---------------------------------------------------------------------------

# Unit roundoff and half of the smallest subnormal number.
FLOATS: dict[str, tuple[Any, Fraction, Fraction]] = {
    "float16": (np.float16, Fraction(1, 2**11), Fraction(1, 2**25)),
    "float32": (np.float32, Fraction(1, 2**24), Fraction(1, 2**150)),
    "bfloat16": (ml_dtypes.bfloat16, Fraction(1, 2**8), Fraction(1, 2**134)),
    "float8_e4m3fn": (ml_dtypes.float8_e4m3fn, Fraction(1, 2**4), Fraction(1, 2**10)),
}


def in_order(products: list[Any]) -> Any:
    total = products[0]
    for product in products[1:]:
        total = total + product
    return total


def in_a_tree(products: list[Any]) -> Any:
    while len(products) > 1:
        paired = [a + b for a, b in zip(products[::2], products[1::2], strict=False)]
        products = paired + products[len(products) - len(products) % 2 :]
    return products[0]


ORDERS: tuple[Callable[[list[Any]], Any], ...] = (
    in_order,
    lambda products: in_order(products[::-1]),
    lambda products: in_order(sorted(products, key=float)),
    lambda products: in_order(sorted(products, key=lambda p: abs(float(p)))),
    in_a_tree,
)


@pytest.mark.parametrize("name", sorted(FLOATS))
@pytest.mark.parametrize("scale", ["normal", "subnormal", "mixed"])
def test_floating_sums_keep_to_the_bound_in_every_order(name: str, scale: str) -> None:
    kind, roundoff, half_gap = FLOATS[name]
    tiny = float(half_gap) ** 0.5
    rng = np.random.default_rng(sum(map(ord, name + scale)))
    worst = Fraction(0)
    for _ in range(60):
        n = int(rng.integers(1, min(40, int(1 / roundoff) - 1)))
        sizes = {"normal": 1.0, "subnormal": 3 * tiny, "mixed": tiny ** rng.random(n)}[scale]
        x, y = ((rng.standard_normal(n) * sizes).astype(kind) for _ in range(2))
        exact = [Fraction(float(a)) * Fraction(float(b)) for a, b in zip(x, y, strict=True)]
        bound = floating_dot_bound(n, roundoff, sum(map(abs, exact), Fraction(0)), half_gap)
        for order in ORDERS:
            with np.errstate(under="ignore"):
                found = float(order([a * b for a, b in zip(x, y, strict=True)]))
            error = abs(Fraction(found) - sum(exact))
            assert error <= bound
            worst = max(worst, error / bound)
    assert worst > Fraction(1, 10)  # the bound is not idle


@pytest.mark.parametrize("name", sorted(FLOATS))
def test_the_gap_term_is_needed(name: str) -> None:
    """Products of exactly half a gap vanish one by one: the error is the gap term alone."""
    kind, roundoff, half_gap = FLOATS[name]
    n = 7
    power = half_gap.denominator.bit_length() - 1
    x = np.full(n, 2.0 ** -(power // 2), dtype=kind)
    y = np.full(n, 2.0 ** -(power - power // 2), dtype=kind)
    with np.errstate(under="ignore"):
        found = in_order([a * b for a, b in zip(x, y, strict=True)])
    bound = floating_dot_bound(n, roundoff, n * half_gap, half_gap)
    assert float(found) == 0
    assert floating_dot_bound(n, roundoff, n * half_gap) < n * half_gap <= bound


def test_the_bound_by_hand_and_where_it_says_nothing() -> None:
    """n = 4, u = 1/16: gamma is 1/3."""
    found = floating_dot_bound(4, Fraction(1, 16), Fraction(6), Fraction(1, 8))
    assert found == Fraction(6, 3) + Fraction(4, 8)
    with pytest.raises(InputError, match="n u is 1; needed below 1"):
        floating_dot_bound(16, Fraction(1, 16), Fraction(1))
    with pytest.raises(InputError, match="needs n >= 0"):
        floating_dot_bound(1, Fraction(1, 2), Fraction(-1))


@given(st.integers(1, 14), st.integers(0, 2**32))
@settings(max_examples=80)
def test_four_significand_bits_near_the_smallest_numbers(n: int, seed: int) -> None:
    """e4m3 all around its subnormal numbers, where a product that rounds up makes sums larger."""
    kind, roundoff, half_gap = FLOATS["float8_e4m3fn"]
    assume(n * roundoff < 1)
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 127, (2, n)) + 128 * rng.integers(0, 2, (2, n))
    x, y = (row.astype(np.uint8).view(kind) for row in codes)
    keep = [k for k in range(n) if abs(float(x[k]) * float(y[k])) < 16]
    assume(keep)
    exact = [Fraction(float(x[k])) * Fraction(float(y[k])) for k in keep]
    bound = floating_dot_bound(len(keep), roundoff, sum(map(abs, exact), Fraction(0)), half_gap)
    for order in ORDERS:
        found = float(order([x[k] * y[k] for k in keep]))
        assert abs(Fraction(found) - sum(exact)) <= bound
