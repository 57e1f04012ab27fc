"""Registers that dot products add up in (theory T4.11)."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from qreplace.errors import InputError
from qreplace.simulate.accumulator_ranges import Range, bits_for
from qreplace.simulate.accumulators import Accumulated, accumulate, accumulate_rows, dot
from qreplace.simulate.model import Accumulator, OnOverflow

MODES: tuple[OnOverflow, ...] = ("detect", "saturate", "wrap")


# --- an independent register, bit by bit ----------------------------------------------------------


def stored(code: int, bits: int | None, mode: str) -> int:
    """By the definition: a string of bits read as two's complement, or the nearest end."""
    if bits is None or -(2 ** (bits - 1)) <= code < 2 ** (bits - 1):
        return code
    if mode == "saturate":
        return 2 ** (bits - 1) - 1 if code > 0 else -(2 ** (bits - 1))
    digits = [(code >> place) % 2 for place in range(bits)]
    return sum(digit << place for place, digit in enumerate(digits)) - (digits[-1] << bits)


def slow(products: Sequence[int], own: Accumulator) -> int | None:
    """What is left in the register; ``None`` where an overflow is an error."""
    terms = list(products)
    if own.pairwise:
        padded = terms + [0] * (len(terms) % 2)
        pairs = zip(padded[::2], padded[1::2], strict=True)
        terms = [max(-32768, min(32767, a + b)) for a, b in pairs]
    groups = [[t] for t in terms]
    if own.tile is not None:
        count = -(-len(terms) // own.tile)
        groups = [terms[own.tile * g : own.tile * (g + 1)] for g in range(count)]
    held = 0
    for group in groups:
        inside = 0
        for term in group:
            inside += term
            if own.tile is not None:
                wanted, inside = inside, stored(inside, own.inner_bits, own.on_overflow)
                if own.on_overflow == "detect" and wanted != inside:
                    return None
        wanted = held + inside
        held = stored(wanted, own.bits, own.on_overflow)
        if own.on_overflow == "detect" and wanted != held:
            return None
    return held


@st.composite
def accumulators(draw: st.DrawFn, widths: tuple[int, int] = (1, 20)) -> Accumulator:
    width = st.one_of(st.none(), st.integers(*widths))
    tile = draw(st.one_of(st.none(), st.integers(1, 5)))
    inner = None if tile is None else draw(width)
    mode = draw(st.sampled_from(MODES))
    return Accumulator(draw(width), mode, tile, inner, draw(st.booleans()))


PRODUCTS = st.lists(
    st.one_of(st.integers(-9, 9), st.integers(-40_000, 40_000), st.integers(-(2**30), 2**30)),
    max_size=9,
)


@given(PRODUCTS, accumulators())
@settings(max_examples=400)
def test_any_register_against_its_definition(products: list[int], own: Accumulator) -> None:
    wanted = slow(products, own)
    if wanted is None:
        with pytest.raises(InputError, match="overflows: the partial sum"):
            accumulate(products, own)
    else:
        assert accumulate(products, own).value == wanted


def test_every_short_sum_in_every_mode_and_order() -> None:
    """All sequences of four terms in [-3, 3] in registers of 1, 2 and 3 bits."""
    for terms in itertools.product(range(-3, 4), repeat=4):
        for bits, mode in itertools.product((1, 2, 3), ("saturate", "wrap")):
            for tile, inner in ((None, None), (2, 2), (3, 3)):
                own = Accumulator(bits, mode, tile, inner)  # type: ignore[arg-type]
                assert accumulate(terms, own).value == slow(terms, own)


def test_extremes_and_overflows_are_of_what_was_asked_for() -> None:
    """3-bit registers hold -4 to 3; 5 and -6 are asked for."""
    terms = [3, 2, -6, -1, -3]
    # 3, then 5 held as 3, -3, -4, -7 held as -4
    assert accumulate(terms, Accumulator(3, "saturate")) == Accumulated(-4, -7, 5, 2, 0, 0)
    # 3, then 5 held as -3, -9 held as -1, -2, -5 held as 3
    assert accumulate(terms, Accumulator(3, "wrap")) == Accumulated(3, -9, 5, 3, 0, 0)
    # tiles 3, 5 | -6, -7 | -3 in wide registers; sums 5, -2, -5
    tiled = accumulate(terms, Accumulator(4, "detect", 2, 8))
    assert tiled == Accumulated(-5, -5, 5, 0, -7, 5)
    assert accumulate([], Accumulator(1)) == Accumulated(0, 0, 0, 0, 0, 0)


def test_pairs_saturate_before_anything_else() -> None:
    """255 * 127 twice is 64,770: the known loss of 8-bit instructions that add in 16 bits."""
    products = [255 * 127, 255 * 127, -255 * 128, -255 * 128, 5]
    found = accumulate(products, Accumulator(32, pairwise=True))
    assert (found.value, found.overflows) == (32767 - 32768 + 5, 2)
    assert sum(products) == 64770 - 65280 + 5


@pytest.mark.parametrize(
    ("own", "match"),
    [
        (Accumulator(4), "the accumulator overflows: the partial sum 8 needs more than 4 bits"),
        (Accumulator(None, "detect", 3, 3), "a tile's accumulator overflows: the partial sum 4 "),
    ],
)
def test_an_overflow_that_must_not_be_names_the_partial_sum(own: Accumulator, match: str) -> None:
    for run in (accumulate, lambda p, a: accumulate_rows([[0, 0, 0], p], [1, 1, 1], a)):
        with pytest.raises(InputError, match=match):
            run([3, 1, 4], own)


def test_what_is_refused() -> None:
    with pytest.raises(InputError, match="no length of a tile"):
        accumulate([1], Accumulator(8, inner_bits=4))
    with pytest.raises(InputError, match="no length of a tile"):
        accumulate_rows([[1]], [1], Accumulator(8, inner_bits=4))
    with pytest.raises(InputError, match="2 weights, the vector 1"):
        dot([1, 2], [1], Accumulator())
    with pytest.raises(InputError, match="2 weights, the vector 1"):
        accumulate_rows([[1, 2]], [1], Accumulator())
    with pytest.raises(InputError, match="whole numbers"):
        accumulate_rows([[0.5]], [1], Accumulator())  # type: ignore[list-item]
    with pytest.raises(InputError, match="different lengths"):
        accumulate_rows([[1], [1, 2]], [1], Accumulator())
    with pytest.raises(InputError, match="dimensions"):
        accumulate_rows([[1]], [[1]], Accumulator())  # type: ignore[list-item]
    for bits in (0, 64):
        with pytest.raises(InputError, match=f"an accumulator has {bits} bits"):
            Accumulator(bits)
        with pytest.raises(InputError, match=f"a tile's accumulator has {bits} bits"):
            Accumulator(tile=1, inner_bits=bits)


# --- the compiled twin ----------------------------------------------------------------------------


@pytest.mark.parametrize("size", [2, 200, 2**15, 2**28, 2**31, 2**70])
def test_the_compiled_rows_are_the_plain_ones(size: int) -> None:
    """Bit for bit, errors included; the largest sizes leave 64 bits and are added up plainly."""
    rng = random.Random(size)
    shapes = [(rng.randint(1, 4), rng.randint(0, 9)) for _ in range(150)]
    outcomes = set()
    for m, n in shapes:
        rows = [[rng.randint(-size, size) for _ in range(n)] for _ in range(m)]
        x = [rng.randint(-size, size) for _ in range(n)]
        tile = rng.choice([None, 1, 2, 3, 20])
        inner = rng.choice([None, 1, 8, 17, 63]) if tile else None
        bits = rng.choice([None, 1, 8, 16, 40, 63])
        own = Accumulator(bits, rng.choice(MODES), tile, inner, rng.random() < 0.5)
        try:
            wanted: Any = tuple(dot(row, x, own) for row in rows)
        except InputError as error:
            outcomes.add("error")
            with pytest.raises(InputError) as found:
                accumulate_rows(rows, x, own)
            assert str(found.value) == str(error)
            continue
        outcomes.add("overflow" if any(row.overflows for row in wanted) else "fine")
        assert accumulate_rows(rows, x, own) == wanted
    assert outcomes == {"error", "overflow", "fine"}


def test_arrays_of_codes_of_any_width_are_not_added_up_in_their_own() -> None:
    """int8 arrays would wrap by themselves."""
    rows = np.full((2, 3), -128, dtype=np.int8)
    x = np.full(3, 127, dtype=np.int8)
    wanted = 3 * -128 * 127
    assert [own.value for own in accumulate_rows(rows, x, Accumulator(32))] == [wanted] * 2
    assert dot(rows[0], x, Accumulator(32)).value == wanted
    high = np.full((1, 2), 2**63 + 1, dtype=np.uint64)
    found = accumulate_rows(high, np.ones(2, dtype=np.uint64), Accumulator())
    assert found[0].value == 2**64 + 2


# --- wrapping is addition modulo 2**bits ----------------------------------------------------------


@given(PRODUCTS, st.integers(1, 63))
def test_wrapping_is_the_true_sum_modulo_the_width(products: list[int], bits: int) -> None:
    found = accumulate(products, Accumulator(bits, "wrap"))
    assert (found.value - sum(products)) % 2**bits == 0
    assert -(2 ** (bits - 1)) <= found.value < 2 ** (bits - 1)


@given(PRODUCTS.filter(len))
@example([100, 100, -150])
def test_overflow_on_the_way_is_harmless_where_the_sum_fits(products: list[int]) -> None:
    total = sum(products)
    bits = bits_for(Range(min(0, total), max(0, total)))
    assert accumulate(products, Accumulator(bits, "wrap")).value == total


def test_overflow_on_the_way_is_not_harmless_where_it_saturates() -> None:
    assert accumulate([100, 100, -150], Accumulator(8, "wrap")).value == 50
    assert accumulate([100, 100, -150], Accumulator(8, "saturate")).value == 127 - 150
