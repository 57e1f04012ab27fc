"""Block formats against a slow reference written apart, and the bounds of theory T4.12."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qreplace.errors import InputError
from qreplace.exact.block_formats import BLOCK_FORMATS, Block, BlockFormat, number_format
from qreplace.exact.float_formats import FORMATS
from qreplace.exact.rounding import ROUNDINGS

MX = ["mxfp8_e4m3", "mxfp8_e5m2", "mxfp6_e3m2", "mxfp6_e2m3", "mxfp4"]
MAX_EXPONENT = dict(zip(MX, [8, 15, 4, 2, 2], strict=True))
"""Of the largest element, from the OCP specification's tables."""
LARGEST = dict(zip(MX, [448, 57344, 28, Fraction(15, 2), 6], strict=True))
PEERS = {
    "mxfp8_e4m3": ml_dtypes.float8_e4m3fn,
    "mxfp8_e5m2": ml_dtypes.float8_e5m2,
    "mxfp6_e3m2": ml_dtypes.float6_e3m2fn,
    "mxfp6_e2m3": ml_dtypes.float6_e2m3fn,
    "mxfp4": ml_dtypes.float4_e2m1fn,
}


def nearest(values: list[tuple[Fraction, int]], wanted: Fraction) -> Fraction:
    """The closest element, of two the one with the even code; beyond the last one, the last."""
    return min(values, key=lambda entry: (abs(entry[0] - wanted), entry[1] % 2))[0]


def elements(own: BlockFormat) -> list[tuple[Fraction, int]]:
    element = own.element
    found = [(element.decode(code), code) for code in element.codes()]
    return [(value, code) for value, code in found if isinstance(value, Fraction)]


def ocp_scale(name: str, values: list[Fraction]) -> Fraction:
    """The power of two at most the largest magnitude, over that of the largest element."""
    largest = max(map(abs, values))
    if largest == 0:
        return Fraction(1, 2**127)
    power = Fraction(1)
    while power > largest:
        power /= 2
    while 2 * power <= largest:
        power *= 2
    return max(Fraction(1, 2**127), min(Fraction(2**127), power / 2 ** MAX_EXPONENT[name]))


def numbers(low: int = -30, high: int = 30) -> st.SearchStrategy[Fraction]:
    """Of many magnitudes, and with many ties."""
    return st.builds(
        lambda n, d, e: Fraction(n, d) * (Fraction(2) ** e),
        st.integers(-64, 64), st.sampled_from([1, 1, 1, 3, 7]), st.integers(low, high),
    )  # fmt: skip


@settings(max_examples=25)
@given(st.data())
@pytest.mark.parametrize("name", MX)
def test_mx_blocks_are_those_of_the_rule(name: str, data: st.DataObject) -> None:
    own = BLOCK_FORMATS[name]
    spread = data.draw(st.sampled_from([0, 4, 30]))
    values = data.draw(st.lists(numbers(-spread, spread), min_size=1, max_size=32))
    block = own.quantize(values)
    scale = ocp_scale(name, values)
    assert own.scale.decode(block.scale_code) == block.scale == scale
    known = elements(own)
    for value, code, kept in zip(values, block.codes, block.values, strict=True):
        element = own.element.decode(code)
        assert element == nearest(known, value / scale)
        assert kept == element * scale
    assert block.saturated == sum(abs(v) > LARGEST[name] * scale for v in values)


@pytest.mark.parametrize("name", MX)
def test_elements_are_the_peers_casts(name: str) -> None:
    """Where nothing is clipped, the element is the peer's cast of the scaled value."""
    own = BLOCK_FORMATS[name]
    rng = np.random.default_rng(11)
    for _ in range(40):
        values = (rng.normal(size=32) * 2.0 ** rng.integers(-6, 6)).astype(np.float32)
        block = own.quantize([Fraction(float(v)) for v in values])
        if block.saturated:
            continue
        scaled = (values.astype(np.float64) / float(block.scale)).astype(np.float32)
        cast = scaled.astype(PEERS[name]).astype(np.float64) * float(block.scale)
        assert [float(v) for v in block.values] == list(cast)


def nvfp4_scale(values: list[Fraction], tensor: Fraction) -> Fraction:
    """The nearest e4m3 number to amax / (6 tensor scale), at most 448."""
    own = FORMATS["e4m3"]
    known = [(own.decode(code), code) for code in range(127)]
    wanted = max(map(abs, values)) / 6 / tensor
    return nearest([(v, c) for v, c in known if isinstance(v, Fraction)], wanted) * tensor


@settings(max_examples=40)
@given(st.data())
def test_nvfp4_blocks_are_those_of_the_rule(data: st.DataObject) -> None:
    own = BLOCK_FORMATS["nvfp4"]
    spread = data.draw(st.sampled_from([0, 3, 12]))
    values = data.draw(st.lists(numbers(-spread, spread), min_size=1, max_size=16))
    factor = data.draw(st.sampled_from([Fraction(1), Fraction(1, 8), Fraction(64)]))
    tensor = own.tensor_scale_of(max(map(abs, values)) * factor)
    block = own.quantize(values, tensor_scale=tensor)
    scale = nvfp4_scale(values, tensor)
    assert block.scale == scale
    assert own.scale.decode(block.scale_code) * tensor == scale  # type: ignore[operator]
    for value, code, kept in zip(values, block.codes, block.values, strict=True):
        element = own.element.decode(code)
        wanted = value / scale if scale else Fraction(0)
        assert element == nearest(elements(own), wanted)
        assert kept == element * scale
    assert own.tensor_scale is not None and own.tensor_scale.holds(tensor)


@settings(max_examples=25)
@given(st.data())
@pytest.mark.parametrize("name", [*MX, "nvfp4"])
def test_no_error_crosses_its_bound(name: str, data: st.DataObject) -> None:
    """T4.12, for the block's own magnitude and for any magnitude above it, in every mode."""
    own = BLOCK_FORMATS[name]
    spread = data.draw(st.sampled_from([0, 2, 12]))
    values = data.draw(st.lists(numbers(-spread, spread), min_size=1, max_size=8))
    values.append(data.draw(st.sampled_from([Fraction(79, 10), Fraction(511), Fraction(255, 2)])))
    largest = max(map(abs, values))
    tensor = Fraction(1, 2**3) if name == "nvfp4" else Fraction(1)
    tube = largest * data.draw(st.fractions(1, 5, max_denominator=64))
    for rounding in ROUNDINGS:
        draws = data.draw(st.lists(st.integers(0, 2**64 - 1), min_size=9, max_size=9))
        block = own.quantize(values, rounding, draws[: len(values)], tensor)
        error = max(abs(v - kept) for v, kept in zip(values, block.values, strict=True))
        assert error <= own.error_bound(largest, rounding, tensor)
        assert error <= own.write_back_radius(tube, rounding, tensor)
        summed = block.scale * own.half_gap * (1 if rounding.startswith("nearest") else 2)
        clipped = max(Fraction(0), largest - block.scale * own.element.largest)
        assert own.error_bound(largest, rounding, tensor) <= summed + clipped  # as T4.12 adds them


def test_mxfp4_stores_seven_point_nine_with_error_one_point_nine() -> None:
    """The example of theory T4.12: shared exponent 2 - 2, largest element 6."""
    own = BLOCK_FORMATS["mxfp4"]
    value = Fraction(79, 10)
    block = own.quantize([value, Fraction(1), Fraction(-5), Fraction(1, 4)])
    assert block == Block(127, Fraction(1), (7, 2, 14, 0), (6, 1, -4, 0), 1)  # type: ignore[arg-type]
    assert own.error_bound(value) == Fraction(19, 10)


def test_a_smaller_magnitude_may_lose_more() -> None:
    """Clipping makes T4.12's block bound no function that grows: a tube needs the supremum."""
    own = BLOCK_FORMATS["mxfp8_e4m3"]
    below = Fraction(2559, 10)
    lost = below - own.quantize([below]).values[0]
    assert lost == own.error_bound(below) == Fraction(319, 10)
    assert own.error_bound(Fraction(256)) == 16 < lost
    assert own.write_back_radius(Fraction(256)) == 32 > lost


def test_ends_of_the_scale() -> None:
    own = BLOCK_FORMATS["mxfp4"]
    assert own.quantize([Fraction(0)] * 32) == Block(
        0, Fraction(1, 2**127), (0,) * 32, (0,) * 32, 0
    )  # type: ignore[arg-type]
    tiny, huge = Fraction(1, 2**140), Fraction(2**140)
    assert own.quantize([tiny]).scale == Fraction(1, 2**127)
    assert own.quantize([tiny, -tiny]).codes == (0, 8)
    assert own.quantize([huge]).values == (6 * Fraction(2**127),)
    assert own.error_bound(huge) == huge - 6 * Fraction(2**127)
    packed = BLOCK_FORMATS["nvfp4"]
    lost = packed.quantize([tiny], tensor_scale=Fraction(1))
    assert (lost.scale, lost.values, lost.saturated) == (0, (0,), 1)
    assert packed.error_bound(tiny) == tiny
    assert packed.quantize([Fraction(10**5)], tensor_scale=Fraction(1)).values == (6 * 448,)


def test_bits_of_an_element() -> None:
    bits = {name: own.bits for name, own in BLOCK_FORMATS.items()}
    assert bits["mxfp4"] == Fraction(17, 4) and bits["nvfp4"] == Fraction(9, 2)
    assert bits["mxfp8_e4m3"] == Fraction(33, 4) and bits["mxfp6_e2m3"] == Fraction(25, 4)


@pytest.mark.parametrize("run", [
    lambda: BLOCK_FORMATS["mxfp4"].quantize([]),
    lambda: BLOCK_FORMATS["mxfp4"].quantize([Fraction(1)] * 33),
    lambda: BLOCK_FORMATS["mxfp4"].quantize([Fraction(1)], "stochastic"),
    lambda: BLOCK_FORMATS["mxfp4"].quantize([Fraction(1)], tensor_scale=Fraction(2)),
    lambda: BLOCK_FORMATS["nvfp4"].quantize([Fraction(1)], tensor_scale=Fraction(1, 3)),
    lambda: BLOCK_FORMATS["nvfp4"].quantize([Fraction(1)], tensor_scale=Fraction(0)),
    lambda: number_format("e8m0"),
    lambda: number_format("fp12"),
])  # fmt: skip
def test_what_does_not_fit_is_refused(run: Any) -> None:
    with pytest.raises(InputError):
        run()
