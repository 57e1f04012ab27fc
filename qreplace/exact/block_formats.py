"""Block formats: elements of a small floating format that share a scale (theory T4.12).

MX (OCP Microscaling 1.0): 32 elements, a power of two. NVFP4: 16 elements, an e4m3 scale, and one
fp32 scale a tensor.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from qreplace.errors import InputError
from qreplace.exact.float_formats import (
    FORMATS,
    FloatFormat,
    NonFinite,
    Value,
    floor_log2,
    power_of_two,
)
from qreplace.exact.rounding import Rounding


@dataclass(frozen=True, slots=True)
class Block:
    """A stored block."""

    scale_code: int
    scale: Fraction
    """What element values are multiplied by: the stored scale times the tensor's."""
    codes: tuple[int, ...]
    values: tuple[Fraction, ...]
    saturated: int
    """How many elements were clipped to the largest one."""


@dataclass(frozen=True, slots=True)
class BlockFormat:
    """Blocks of ``size`` elements with a scale in the format ``scale``.

    An ``e8m0`` scale follows the OCP rule: its exponent is that of the largest magnitude, less the
    element's largest exponent. Any other scale is the largest magnitude over the largest element
    and over the tensor's scale, rounded to nearest and clipped to its range.
    """

    name: str
    element: FloatFormat
    size: int
    scale: FloatFormat
    tensor_scale: FloatFormat | None = None
    """The format of a tensor's own scale."""

    @property
    def bits(self) -> Fraction:
        """Bits an element, the block's scale included and the tensor's not."""
        return self.element.bits + Fraction(self.scale.bits, self.size)

    @property
    def largest(self) -> Fraction:
        """The largest magnitude that is stored without clipping, with the tensor's scale 1."""
        return self.element.largest * self.scale.largest

    @property
    def half_gap(self) -> Fraction:
        """The largest half gap of the element's grid."""
        return self.element.half_gap(self.element.largest)

    def tensor_scale_of(self, magnitude: Fraction) -> Fraction:
        """The scale of a tensor with this largest magnitude: its blocks' scales fill their range.

        1 where the format has none, or all is 0.
        """
        if self.tensor_scale is None or magnitude == 0:
            return Fraction(1)
        own = self.tensor_scale
        wanted = abs(magnitude) / self.largest
        return _finite(own.round(min(wanted, own.largest)), own) or own.smallest

    def scale_of(self, magnitude: Fraction, tensor_scale: Fraction = Fraction(1)) -> Fraction:
        """The stored scale of a block with this largest magnitude."""
        own = self.scale
        if not own.subnormals:
            # A block of zeros has the smallest scale there is.
            if magnitude == 0:
                return own.smallest
            exponent = floor_log2(abs(magnitude)) - self.element.largest_exponent
            return min(own.largest, max(own.smallest, power_of_two(exponent)))
        wanted = abs(magnitude) / self.element.largest / tensor_scale
        return _finite(own.round(min(wanted, own.largest)), own)

    def quantize(
        self,
        values: Sequence[Fraction],
        rounding: Rounding = "nearest_even",
        draws: Sequence[int] = (),
        tensor_scale: Fraction = Fraction(1),
    ) -> Block:
        """Store up to ``size`` values; elements beyond the largest are clipped to it.

        The last block of a tensor may be shorter. ``draws``, one a value, are for stochastic
        rounding. Raises ``InputError`` for another number of values and for a tensor scale that its
        format does not hold.
        """
        self._require(values, rounding, draws, tensor_scale)
        stored = self.scale_of(max(map(abs, values)), tensor_scale)
        scale = stored * tensor_scale
        codes: list[int] = []
        kept: list[Fraction] = []
        saturated = 0
        for i, value in enumerate(values):
            draw = draws[i] if draws else 0
            rounded, clipped = self._element(value, scale, rounding, draw)
            codes.append(self.element.code_of(rounded, negative=value < 0))
            kept.append(rounded * scale)
            saturated += clipped
        return Block(self.scale.code_of(stored), scale, tuple(codes), tuple(kept), saturated)

    def _element(
        self, value: Fraction, scale: Fraction, rounding: Rounding, draw: int
    ) -> tuple[Fraction, bool]:
        """The element of a value, and whether it was clipped."""
        if scale == 0:
            return Fraction(0), value != 0
        wanted = value / scale
        rounded = _finite(self.element.round(wanted, rounding, draw), self.element, value < 0)
        return rounded, abs(wanted) > self.element.largest

    def _require(
        self,
        values: Sequence[Fraction],
        rounding: Rounding,
        draws: Sequence[int],
        tensor_scale: Fraction,
    ) -> None:
        if not 1 <= len(values) <= self.size:
            raise InputError(
                f"a block of {self.name} has 1 to {self.size} values, not {len(values)}"
            )
        if len(draws) != len(values) and (draws or rounding == "stochastic"):
            raise InputError(f"needed a draw for each of {len(values)} values, not {len(draws)}")
        own = self.tensor_scale
        if own is None and tensor_scale != 1:
            raise InputError(f"{self.name} has no scale of the tensor")
        if own is not None and not (tensor_scale > 0 and own.holds(tensor_scale)):
            raise InputError(f"the tensor's scale {tensor_scale} is no positive {own.name} number")

    def error_bound(
        self,
        magnitude: Fraction,
        rounding: Rounding = "nearest_even",
        tensor_scale: Fraction = Fraction(1),
    ) -> Fraction:
        """The largest error in a block whose largest magnitude is *exactly* this (theory T4.12).

        The scale times the largest half gap of the elements (the gap, for directed and stochastic
        rounding), or what clipping takes from the largest magnitude. T4.12 adds the two, but one
        element meets only one of them. The scale is the stored one: its own rounding is in both.
        """
        scale = self.scale_of(abs(magnitude), tensor_scale) * tensor_scale
        clipped = abs(magnitude) - scale * self.element.largest
        return max(self._grain(rounding) * scale, clipped)

    def write_back_radius(
        self,
        magnitude: Fraction,
        rounding: Rounding = "nearest_even",
        tensor_scale: Fraction = Fraction(1),
    ) -> Fraction:
        """The largest error in any block of magnitudes up to this one (theory T4.12).

        More than ``error_bound`` of the magnitude itself: clipping is worst just below the power of
        two at which an OCP scale doubles, and a rounded scale may be half a gap too small.
        """
        size, largest = abs(magnitude), self.element.largest
        own = self.error_bound(size, rounding, tensor_scale)
        if not self.scale.subnormals:
            below = self.scale_of(size) / 2
            clipped = 2 * power_of_two(self.element.largest_exponent) - largest
            return max(own, below * clipped)
        wanted = min(size / largest / tensor_scale, self.scale.largest)
        return max(own, tensor_scale * largest * self.scale.half_gap(wanted))

    def _grain(self, rounding: Rounding) -> Fraction:
        """The largest rounding error of an element."""
        return self.half_gap if rounding.startswith("nearest") else 2 * self.half_gap


def _finite(value: Value, own: FloatFormat, negative: bool = False) -> Fraction:
    """Clipped where it overflowed."""
    if isinstance(value, NonFinite):
        return -own.largest if negative else own.largest
    return value


def _mx(name: str, element: str) -> BlockFormat:
    return BlockFormat(name, FORMATS[element], 32, FORMATS["e8m0"])


BLOCK_FORMATS: dict[str, BlockFormat] = {
    own.name: own
    for own in (
        _mx("mxfp8_e4m3", "e4m3"),
        _mx("mxfp8_e5m2", "e5m2"),
        _mx("mxfp6_e3m2", "e3m2"),
        _mx("mxfp6_e2m3", "e2m3"),
        _mx("mxfp4", "e2m1"),
        BlockFormat("nvfp4", FORMATS["e2m1"], 16, FORMATS["e4m3"], FORMATS["fp32"]),
    )
}


def number_format(name: str) -> FloatFormat | BlockFormat:
    """The floating or block format of that name; raises ``InputError`` with the known names.

    Formats of scales, which hold no zero, are left out.
    """
    known: dict[str, FloatFormat | BlockFormat] = {
        **{key: own for key, own in FORMATS.items() if own.subnormals},
        **BLOCK_FORMATS,
    }
    if name not in known:
        raise InputError(
            f"there is no floating format {name[:40]!r}", remedy=f"There are {', '.join(known)}."
        )
    return known[name]
