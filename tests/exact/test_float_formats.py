"""Floating formats: every code against ml_dtypes, every rounding against a search of the values."""

from __future__ import annotations

import bisect
import itertools
import random
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qreplace.errors import InputError
from qreplace.exact.float_formats import (
    FORMATS,
    FloatFormat,
    NonFinite,
)
from qreplace.exact.rounding import ROUNDINGS, Rounding

PEERS: dict[str, Any] = {
    "bf16": ml_dtypes.bfloat16,
    "fp16": np.float16,
    "fp32": np.float32,
    "e4m3": ml_dtypes.float8_e4m3fn,
    "e5m2": ml_dtypes.float8_e5m2,
    "e3m2": ml_dtypes.float6_e3m2fn,
    "e2m3": ml_dtypes.float6_e2m3fn,
    "e2m1": ml_dtypes.float4_e2m1fn,
    "e8m0": ml_dtypes.float8_e8m0fnu,
}
SMALL = ["e4m3", "e5m2", "e3m2", "e2m3", "e2m1"]
SIGNED = [*SMALL, "bf16", "fp16"]
UNSIGNED_CODE = {1: np.uint8, 2: np.uint16, 4: np.uint32}


def from_codes(name: str, codes: Any) -> Any:
    """ml_dtypes' (or NumPy's) reading of codes, in binary64."""
    dtype = np.dtype(PEERS[name])
    with np.errstate(invalid="ignore"):
        return np.asarray(codes, dtype=UNSIGNED_CODE[dtype.itemsize]).view(dtype).astype(np.float64)


def to_codes(name: str, values: Any) -> Any:
    """Its nearest-even rounding of binary32 numbers, as codes."""
    dtype = np.dtype(PEERS[name])
    with np.errstate(all="ignore"):
        cast = np.asarray(values, dtype=np.float32).astype(dtype)
    width = FORMATS[name].bits
    return cast.view(UNSIGNED_CODE[dtype.itemsize]).astype(np.int64) & ((1 << width) - 1)


def special(value: float) -> NonFinite | None:
    if np.isnan(value):
        return NonFinite.NAN
    if np.isinf(value):
        return NonFinite.INFINITY if value > 0 else NonFinite.MINUS_INFINITY
    return None


def same_code(own: FloatFormat, one: int, other: int) -> bool:
    """Equal codes, or two NaN: which of them a peer writes is its own affair."""
    if one == other:
        return True
    return own.decode(one) is NonFinite.NAN and own.decode(other) is NonFinite.NAN


@pytest.mark.parametrize("name", [*SIGNED, "e8m0"])
def test_every_code_is_decoded_as_the_peer_does(name: str) -> None:
    own = FORMATS[name]
    for code, value in zip(own.codes(), from_codes(name, own.codes()), strict=True):
        found = own.decode(code)
        assert found == (special(value) or Fraction(float(value))), code


@pytest.mark.parametrize("name", [*SIGNED, "e8m0"])
def test_codes_are_those_of_their_values(name: str) -> None:
    own = FORMATS[name]
    top = 1 << (own.bits - 1)
    for code in own.codes()[:: 23 if own.bits == 16 else 1]:
        value = own.decode(code)
        negative = own.signed and bool(code & top)
        if value is not NonFinite.NAN:
            assert own.code_of(value, negative=negative) == code
        else:
            assert own.decode(own.code_of(value, negative=negative)) is NonFinite.NAN


@pytest.mark.parametrize(
    ("name", "largest", "normal", "smallest", "count"),
    [
        ("bf16", (2 - Fraction(1, 2**7)) * 2**127, Fraction(1, 2**126), Fraction(1, 2**133), 65279),
        ("fp16", Fraction(65504), Fraction(1, 2**14), Fraction(1, 2**24), 63487),
        ("e4m3", Fraction(448), Fraction(1, 2**6), Fraction(1, 2**9), 253),
        ("e5m2", Fraction(57344), Fraction(1, 2**14), Fraction(1, 2**16), 247),
        ("e3m2", Fraction(28), Fraction(1, 4), Fraction(1, 16), 63),
        ("e2m3", Fraction(15, 2), Fraction(1), Fraction(1, 8), 63),
        ("e2m1", Fraction(6), Fraction(1), Fraction(1, 2), 15),
        ("e8m0", Fraction(2**127), Fraction(1, 2**127), Fraction(1, 2**127), 255),
    ],
)
def test_the_ends_are_those_of_the_published_tables(
    name: str, largest: Fraction, normal: Fraction, smallest: Fraction, count: int
) -> None:
    own = FORMATS[name]
    assert (own.largest, own.smallest_normal, own.smallest) == (largest, normal, smallest)
    assert len(own.values()) == count
    assert own.values()[-1] == largest
    assert min(v for v in own.values() if v > 0) == smallest


def around(values: Any) -> Any:
    """binary32 numbers, with their neighbours."""
    exact = np.asarray(values, dtype=np.float32)
    return np.concatenate(
        [exact, np.nextafter(exact, np.float32(np.inf)), np.nextafter(exact, np.float32(-np.inf))]
    )


@pytest.mark.parametrize("name", SIGNED)
def test_nearest_even_is_the_peers_cast_at_every_midpoint(name: str) -> None:
    """All midpoints of neighbours (of 16-bit formats one in 97), and just beside them."""
    own = FORMATS[name]
    values = own.values()[:: 97 if own.bits == 16 else 1]
    ends = [float(v) for v in values]
    middles = [float((v + own.gap(v) / 2) if v > 0 else (v - own.gap(v) / 2)) for v in values]
    beyond = [float(own.largest) * x for x in (1.0, 1.03125, 1.0625, 1.25, 2.0)]
    beyond = [x for x in beyond if x < 3e38]
    rng = np.random.default_rng(7)
    drawn = rng.normal(size=800) * 2.0 ** rng.integers(-20, 18, size=800)
    chosen = np.concatenate(
        [around([*ends, *middles, *beyond, *(-x for x in beyond)]), drawn.astype(np.float32)]
    )
    chosen = np.concatenate([chosen[np.isfinite(chosen)], np.float32([0.0])])
    for value, code in zip(chosen, to_codes(name, chosen), strict=True):
        found = own.encode(Fraction(float(value)))
        assert same_code(own, found, int(code)), value


def test_fp32_is_the_cast_of_binary64() -> None:
    own = FORMATS["fp32"]
    rng = np.random.default_rng(3)
    drawn = rng.normal(size=2000) * 2.0 ** rng.integers(-155, 128, size=2000)
    half = np.concatenate([drawn.astype(np.float32).astype(np.float64), drawn])
    ties = half * (1 + 2.0**-24)
    with np.errstate(over="ignore"):
        for value in np.concatenate([half, ties]):
            found = own.round(Fraction(float(value)))
            wanted = float(np.float32(value))
            assert found == (special(wanted) or Fraction(wanted))


def test_scales_are_rounded_as_the_peer_does() -> None:
    own = FORMATS["e8m0"]
    values = [1.0, 1.25, 1.5, 1.75, 3.0, 0.75, 2.0**-127, 2.0**-128, 2.0**127, 1.49 * 2.0**127,
              1.5 * 2.0**127, 0.0, -1.0]  # fmt: skip
    codes = [own.encode(Fraction(value)) for value in values]
    assert codes == list(to_codes("e8m0", values))


def test_nothing_is_rounded_twice() -> None:
    """Just above a tie of bf16; a cast by way of binary32, as the peer's, loses what decides."""
    value = 1 + 2.0**-8 + 2.0**-40
    assert FORMATS["bf16"].round(Fraction(value)) == 1 + Fraction(1, 2**7)
    assert float(np.float64(value).astype(np.float32).astype(ml_dtypes.bfloat16)) == 1.0


# --- every mode, by a search of the values --------------------------------------------------------


def searched(own: FloatFormat, value: Fraction, rounding: Rounding, draw: int) -> Fraction:
    """The rounding of a number within the finite range, from the list of values alone."""
    values = own.values()
    at = bisect.bisect_left(values, value)
    if values[at] == value:
        return value
    low, high = values[at - 1], values[at]
    if rounding == "floor":
        return low
    if rounding == "toward_zero":
        return low if value > 0 else high
    if rounding == "stochastic":
        share = (value - low) / (high - low)
        # Up when the draw falls below the share, both in units of the share's denominator.
        return high if (draw * share.denominator) >> 64 < share.numerator else low
    middle = (low + high) / 2
    if value != middle:
        return low if value < middle else high
    if rounding == "nearest_away":
        return high if value > 0 else low
    return low if own.code_of(low) % 2 == 0 else high


@settings(max_examples=60)
@given(st.data())
@pytest.mark.parametrize("name", [*SMALL, "fp16"])
def test_every_mode_is_what_a_search_finds(name: str, data: st.DataObject) -> None:
    own = FORMATS[name]
    size = data.draw(st.sampled_from([own.largest, own.smallest_normal, own.smallest, Fraction(1)]))
    value = min(own.largest, size) * data.draw(
        st.fractions(-1, 1, max_denominator=10**6)
        | st.integers(-64, 64).map(lambda n: Fraction(n, 64))
    )
    draw = data.draw(st.integers(0, 2**64 - 1))
    for rounding in ROUNDINGS:
        assert own.round(value, rounding, draw) == searched(own, value, rounding, draw)


@pytest.mark.parametrize("name", SMALL)
def test_the_bound_of_every_value_is_reached_and_never_crossed(name: str) -> None:
    """T4.12 at, beside and between every two neighbours."""
    own = FORMATS[name]
    values = own.values()
    for low, high in itertools.pairwise(values):
        middle = (low + high) / 2
        assert own.half_gap(middle) == (high - low) / 2
        for value in (low, middle, (low + middle) / 2, (high + middle) / 2, high):
            for rounding in ROUNDINGS:
                rounded = own.round(value, rounding, 2**63)
                assert isinstance(rounded, Fraction)
                error = abs(rounded - value)
                assert error <= own.write_back_radius(abs(value), rounding)
                if rounding.startswith("nearest"):
                    assert error <= own.half_gap(value)
        assert abs(own.round(middle) - middle) == own.half_gap(middle)  # type: ignore[operator]


@given(st.fractions(-448, 448), st.fractions(0, 448))
def test_a_radius_covers_every_smaller_magnitude(value: Fraction, tube: Fraction) -> None:
    own = FORMATS["e4m3"]
    value = max(-tube, min(tube, value))
    for rounding in ROUNDINGS:
        rounded = own.round(value, rounding, 12345)
        assert isinstance(rounded, Fraction)
        assert abs(rounded - value) <= own.write_back_radius(tube, rounding)


TINY = Fraction(1, 2**126)


@pytest.mark.parametrize(("magnitude", "radius"), [
    (Fraction(1), Fraction(1, 256)),  # neighbours 1 and 1 + 1/128
    (Fraction(255, 128), Fraction(1, 256)),
    (Fraction(2), Fraction(1, 128)),
    (Fraction(1, 3), Fraction(1, 1024)),
    (TINY, TINY / 256),
    (TINY / 2, TINY / 256),  # subnormal: the gap no longer shrinks
    (Fraction(0), TINY / 256),
])  # fmt: skip
def test_the_half_gap_of_bf16_by_hand(magnitude: Fraction, radius: Fraction) -> None:
    assert FORMATS["bf16"].write_back_radius(magnitude) == radius
    assert FORMATS["bf16"].write_back_radius(magnitude, "stochastic") == 2 * radius


# --- freezing (T4.4 through T4.12) ----------------------------------------------------------------


def frozen_values(name: str) -> list[Fraction]:
    values = FORMATS[name].values()
    if FORMATS[name].bits < 16:
        return list(values)
    rng = random.Random(5)
    powers = [v for v in values if v and abs(v).numerator & (abs(v).numerator - 1) == 0]
    return [*rng.sample(list(values), 150), *rng.sample(powers, 40), values[0], values[-1]]


@pytest.mark.parametrize("name", SIGNED)
@pytest.mark.parametrize("sign", [-1, 1])
def test_increments_below_the_threshold_are_ignored_at_every_code(name: str, sign: int) -> None:
    """Every value of the small formats, sampled ones of the others; and the threshold is sharp."""
    own = FORMATS[name]
    for value in frozen_values(name):
        threshold = own.freezes_below(value, sign)
        for share in (Fraction(1, 3), 1 - Fraction(1, 2**70)):
            moved = value + sign * share * threshold
            assert own.round(moved) == own.round(moved, "nearest_away") == value
        beyond = value + sign * threshold * (1 + Fraction(1, 2**70))
        if abs(beyond) <= own.largest:
            assert own.round(beyond) != value


def test_a_power_of_two_freezes_a_quarter_of_its_upper_gap_downward() -> None:
    own = FORMATS["bf16"]
    gap = own.gap(Fraction(1))
    assert gap == Fraction(1, 128)
    assert own.freezes_below(Fraction(1), 1) == gap / 2
    assert own.freezes_below(Fraction(1), -1) == gap / 4
    assert own.freezes_below(Fraction(-1), 1) == gap / 4
    assert own.freezes_below(own.smallest_normal, -1) == own.smallest / 2
    assert own.freezes_below(Fraction(0), -1) == own.smallest / 2
    # Half the upper gap would be wrong downward: this one moves.
    assert own.round(1 - gap * Fraction(3, 10)) != 1


# --- overflow -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "above"), [
    ("bf16", NonFinite.INFINITY), ("fp16", NonFinite.INFINITY), ("e5m2", NonFinite.INFINITY),
    ("e4m3", NonFinite.NAN), ("e3m2", None), ("e2m3", None), ("e2m1", None),
])  # fmt: skip
def test_overflow_is_the_declared_one(name: str, above: NonFinite | None) -> None:
    own = FORMATS[name]
    half = own.half_gap(own.largest)
    wanted = own.largest if above is None else above
    below = {NonFinite.INFINITY: NonFinite.MINUS_INFINITY, None: -own.largest}.get(above, above)
    inside, tie, huge = own.largest + half * Fraction(99, 100), own.largest + half, own.largest * 9
    for rounding in ("nearest_even", "nearest_away"):
        assert own.round(inside, rounding) == own.largest
        assert own.round(huge, rounding) == wanted
        assert own.round(-huge, rounding) == below
    assert own.round(tie, "nearest_away") == wanted
    even = own.code_of(own.largest) % 2 == 0
    assert own.round(tie) == (own.largest if even else wanted)
    for value in (inside, huge):
        assert own.round(value, "toward_zero") == own.largest
        assert own.round(-value, "toward_zero") == -own.largest
        assert own.round(value, "floor") == own.largest
        assert own.round(-value, "floor") == below
    assert own.round(inside, "stochastic", 0) == wanted
    assert own.round(inside, "stochastic", 2**64 - 1) == own.largest


@pytest.mark.parametrize("run", [
    lambda: FORMATS["e4m3"].decode(256),
    lambda: FORMATS["e2m1"].code_of(Fraction(5)),
    lambda: FORMATS["e2m1"].code_of(NonFinite.NAN),
    lambda: FORMATS["e4m3"].code_of(NonFinite.INFINITY),
    lambda: FORMATS["fp32"].values(),
    lambda: FORMATS["e4m3"].write_back_radius(Fraction(449)),
    lambda: FORMATS["e4m3"].write_back_radius(Fraction(-1)),
    lambda: FORMATS["e4m3"].freezes_below(Fraction(1, 3), 1),
    lambda: FORMATS["e4m3"].freezes_below(Fraction(1), 0),
])  # fmt: skip
def test_what_a_format_does_not_hold_is_refused(run: Any) -> None:
    with pytest.raises(InputError):
        run()
