"""Compiled rounding of binary64 arrays is the exact rounding of their rational values."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from qreplace.exact.block_formats import BLOCK_FORMATS, BlockFormat
from qreplace.exact.float_formats import FORMATS, FloatFormat, NonFinite
from qreplace.exact.rounding import ROUNDINGS, Rounding
from qreplace.simulate.block_kernels import round_blocks
from qreplace.simulate.draws import draw
from qreplace.simulate.format_kernels import _shifted, round_values

FLOATS = [name for name, own in FORMATS.items() if own.subnormals]
SEED, STEP, CHANNEL = 2**63 + 11, -1, 1 << 42
SPECIAL = {NonFinite.INFINITY: np.inf, NonFinite.MINUS_INFINITY: -np.inf, NonFinite.NAN: np.nan}


def any_numbers(rng: np.random.Generator, count: int) -> Any:
    """Finite binary64 numbers of every exponent, zeros and subnormal ones included."""
    bits = rng.integers(0, 2**64, count, dtype=np.uint64).view(np.float64)
    return np.concatenate([bits[np.isfinite(bits)], [0.0, -0.0, 5e-324, -5e-324, 1e-310, -1e308]])


def near_ties(own: FloatFormat, rng: np.random.Generator, count: int) -> Any:
    """Values of a format, midpoints, and the binary64 numbers beside them; beyond the ends too."""
    small = own.bits <= 8
    codes = own.codes() if small else rng.integers(0, 1 << min(own.bits - 1, 31), count)
    found = (own.decode(int(code)) for code in codes)
    values = [v for v in found if isinstance(v, Fraction)]
    middles = [v + own.half_gap(v) for v in values] + [-v - own.half_gap(v) for v in values]
    exact = np.array([float(v) for v in [*values, *middles]])
    beside = [np.nextafter(exact, np.inf), np.nextafter(exact, -np.inf)]
    everything = np.concatenate([exact, *beside, exact * 3])
    return everything[np.isfinite(everything)]


def drawn(rounding: Rounding, i: int) -> int:
    return draw(SEED, STEP, CHANNEL + i) if rounding == "stochastic" else 0


@pytest.mark.parametrize("name", FLOATS)
def test_arrays_are_rounded_exactly_in_every_mode(name: str) -> None:
    own, rng = FORMATS[name], np.random.default_rng(1)
    values = np.concatenate([
        any_numbers(rng, 80),
        near_ties(own, rng, 30),
        rng.normal(size=60) * float(own.smallest),
        rng.normal(size=60) * float(own.smallest) * 2.0**-40,
    ])  # fmt: skip
    for rounding in ROUNDINGS:
        found = round_values(values, own, rounding, SEED, STEP, CHANNEL)
        for i, value in enumerate(values):
            exact = own.round(Fraction(float(value)), rounding, drawn(rounding, i))
            if isinstance(exact, NonFinite):
                assert np.array_equal(found[i], SPECIAL[exact], equal_nan=True)
            else:
                assert Fraction(float(found[i])) == exact
                assert np.signbit(found[i]) == np.signbit(value)


@pytest.mark.parametrize(("name", "peer"), [
    ("bf16", ml_dtypes.bfloat16), ("fp16", np.float16), ("fp32", np.float32),
    ("e4m3", ml_dtypes.float8_e4m3fn), ("e5m2", ml_dtypes.float8_e5m2),
    ("e3m2", ml_dtypes.float6_e3m2fn), ("e2m3", ml_dtypes.float6_e2m3fn),
    ("e2m1", ml_dtypes.float4_e2m1fn),
])  # fmt: skip
def test_large_arrays_are_the_peers_casts(name: str, peer: Any) -> None:
    rng = np.random.default_rng(2)
    scale = 2.0 ** rng.integers(-30, 20, 50_000)
    values = (rng.normal(size=50_000) * scale).astype(np.float32).astype(np.float64)
    with np.errstate(all="ignore"):
        wanted = values.astype(np.float32).astype(peer).astype(np.float64)
    found = round_values(values, FORMATS[name], "nearest_even", 0, 0, 0)
    assert np.array_equal(found, wanted, equal_nan=True)
    assert np.array_equal(np.signbit(found[wanted == 0]), np.signbit(wanted[wanted == 0]))


@pytest.mark.parametrize(("name", "peer"), [("bf16", ml_dtypes.bfloat16), ("fp16", np.float16)])
def test_all_midpoints_of_16_bit_formats_are_the_peers_casts(name: str, peer: Any) -> None:
    """Every value, every midpoint of neighbours, and the binary32 numbers beside them."""
    with np.errstate(all="ignore"):
        values = np.arange(2**16, dtype=np.uint16).view(peer).astype(np.float64)
        values = np.sort(values[np.isfinite(values)])
        middles = ((values[1:] + values[:-1]) / 2).astype(np.float32)
        exact = np.concatenate([values.astype(np.float32), middles])
        beside = [np.nextafter(exact, np.float32(side)) for side in (np.inf, -np.inf)]
        chosen = np.concatenate([exact, *beside])
        chosen = chosen[np.isfinite(chosen)]
        wanted = chosen.astype(peer).astype(np.float64)
    found = round_values(chosen.astype(np.float64), FORMATS[name], "nearest_even", 0, 0, 0)
    assert len(chosen) > 380_000
    assert np.array_equal(found, wanted)


def test_stochastic_shifts_of_every_length_are_exact() -> None:
    """Where 2^shift passes 64 bits, against the same comparison in Python's whole numbers."""
    rng = np.random.default_rng(3)
    for shift in [*range(29, 140), 200, 1000]:
        for _ in range(12):
            bits = int(rng.integers(1, 54))
            significand = int(rng.integers(1, 1 << bits))
            chosen = int(rng.integers(0, 2**64, dtype=np.uint64))
            if shift > 64 and rng.integers(2):
                chosen >>= min(63, shift - 20)  # small draws decide there
            if rng.integers(4) == 0:
                chosen = 2**64 - 1 - chosen
            for sign in (1, -1):
                below, rest = divmod(sign * significand, 1 << shift)
                up = ((chosen << shift) >> 64) < rest
                wanted = abs(below + (up if rest else 0))
                found = _shifted(np.uint64(significand), shift, sign < 0, 4, np.uint64(chosen))
                assert int(found) == wanted, (significand, shift, sign, chosen)


def plain_blocks(
    values: Any, own: BlockFormat, rounding: Rounding
) -> tuple[list[Fraction], list[Fraction], int]:
    """The reference, block by block."""
    exact = [Fraction(float(x)) for x in values]
    tensor = own.tensor_scale_of(max(map(abs, exact)))
    kept: list[Fraction] = []
    scales: list[Fraction] = []
    saturated = 0
    for start in range(0, len(exact), own.size):
        part = exact[start : start + own.size]
        draws = [drawn(rounding, start + i) for i in range(len(part))]
        block = own.quantize(part, rounding, draws, tensor)
        kept += block.values
        scales += [block.scale] * len(part)
        saturated += block.saturated
    return kept, scales, saturated


@pytest.mark.parametrize("name", list(BLOCK_FORMATS))
@pytest.mark.parametrize("rounding", ROUNDINGS)
def test_blocks_are_rounded_exactly(name: str, rounding: Rounding) -> None:
    own, rng = BLOCK_FORMATS[name], np.random.default_rng(4)
    for count in (1, 33, 70):
        quarters = rng.integers(-15, 16, count) * 0.25  # many ties
        spread = 2.0 ** rng.integers(-200, 200, count)
        for values in (
            rng.normal(size=count),
            quarters,
            quarters * 2.0**-130,
            rng.normal(size=count) * spread,
            np.zeros(count),
            any_numbers(rng, count),
        ):
            found = round_blocks(values, own, rounding, SEED, STEP, CHANNEL)
            kept, scales, saturated = plain_blocks(values, own, rounding)
            assert [Fraction(float(x)) for x in found.values] == kept
            assert [Fraction(float(x)) for x in found.scales] == scales
            assert int(found.saturated.sum()) == saturated
            assert np.array_equal(np.signbit(found.values), np.signbit(values))
