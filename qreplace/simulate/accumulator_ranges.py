"""What accumulators can ever be asked to hold, and the widths that suffice (theory T4.11).

Everything is exact: whole numbers for integer registers, rationals for floating ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from qreplace.errors import InputError
from qreplace.simulate.accumulators import PAIR_BITS, require_accumulator
from qreplace.simulate.model import Accumulator
from qreplace.simulate.rounding import code_range


class Range(NamedTuple):
    """An interval of codes, both ends included."""

    low: int
    high: int

    def fits(self, bits: int | None) -> bool:
        """Whether a two's-complement register holds all of it; ``None`` is as wide as needed."""
        if bits is None:
            return True
        low, high = code_range(bits)
        return low <= self.low and self.high <= high

    def clipped(self, bits: int) -> Range:
        """What is left of it after saturation at so many bits."""
        low, high = code_range(bits)
        return Range(min(max(self.low, low), high), min(max(self.high, low), high))


@dataclass(frozen=True, slots=True)
class RegisterRanges:
    """The codes that one row's registers can be asked to hold, whatever the input and the order.

    The order is that of the terms in a tile, and of the tiles; which terms share a tile or a pair
    is given. ``outer`` holds as long as no tile overflows.
    """

    pair: Range | None
    """Sums of two neighbouring products, before they saturate; ``None`` without pairs."""
    inner: Range | None
    """Partial sums in any tile; ``None`` without tiles."""
    tile: Range | None
    """Finished sums of any tile."""
    outer: Range
    """Partial sums of the row, in a register that starts at 0 and adds the bias as a term."""
    total: Range
    """The finished sum."""

    def never_overflows(self, accumulator: Accumulator) -> bool:
        """No pair saturates and no register overflows, for any input, in any order."""
        inner = self.inner is None or self.inner.fits(accumulator.inner_bits)
        return self._pairs_fit and inner and self.outer.fits(accumulator.bits)

    def exact(self, accumulator: Accumulator) -> bool:
        """The register ends with the true sum, for any input, in any order.

        Where a register wraps, it may overflow on the way: finished sums that fit are right, since
        wrapped addition is addition modulo ``2**bits``.
        """
        if accumulator.on_overflow != "wrap":
            return self.never_overflows(accumulator)
        tiles = self.tile is None or self.tile.fits(accumulator.inner_bits)
        return self._pairs_fit and tiles and self.total.fits(accumulator.bits)

    @property
    def _pairs_fit(self) -> bool:
        return self.pair is None or self.pair.fits(PAIR_BITS)


def accumulator_range(
    weights: Sequence[Sequence[int]],
    inputs: Sequence[tuple[int, int]],
    bias: Sequence[int] | None = None,
) -> tuple[Range, ...]:
    """The range of every partial sum of ``weights x + bias``, one a row, sharp (theory T4.11).

    ``inputs`` are the smallest and largest code of each coordinate, ``bias`` is one more term. A
    partial sum holds some of the terms, so it lies between the sum of the terms' negative parts
    and the sum of their positive parts; both are attained, by the inputs that make each term
    extreme, in the orders that put terms of one sign first.
    """
    plain = Accumulator()
    return tuple(own.outer for own in register_ranges(weights, inputs, plain, bias))


def register_ranges(
    weights: Sequence[Sequence[int]],
    inputs: Sequence[tuple[int, int]],
    accumulator: Accumulator,
    bias: Sequence[int] | None = None,
) -> tuple[RegisterRanges, ...]:
    """The ranges of each row's registers, pairs and tiles included (theory T4.11)."""
    require_accumulator(accumulator)
    for index, (low, high) in enumerate(inputs):
        if low > high:
            raise InputError(f"input {index} goes from {low} to {high}; its range is empty")
    offsets = [0] * len(weights) if bias is None else list(bias)
    if len(offsets) != len(weights):
        raise InputError(f"{len(weights)} rows of weights and {len(offsets)} entries of the bias")
    found = []
    for index, (row, offset) in enumerate(zip(weights, offsets, strict=True)):
        if len(row) != len(inputs):
            raise InputError(f"row {index} has {len(row)} weights, there are {len(inputs)} inputs")
        terms = [_product(w, own) for w, own in zip(row, inputs, strict=True)]
        found.append(_row_ranges(terms, offset, accumulator))
    return tuple(found)


def _row_ranges(terms: list[Range], bias: int, accumulator: Accumulator) -> RegisterRanges:
    pair = inner = tile = None
    if accumulator.pairwise:
        sums = [_sum(terms[start : start + 2]) for start in range(0, len(terms), 2)]
        pair = _hull(sums)
        terms = [own.clipped(PAIR_BITS) for own in sums]
    if accumulator.tile is not None:
        starts = range(0, len(terms), accumulator.tile)
        tiles = [terms[start : start + accumulator.tile] for start in starts]
        inner = _hull([_partial(own) for own in tiles])
        terms = [_sum(own) for own in tiles]
        tile = _hull(terms)
    terms = [*terms, Range(bias, bias)]
    return RegisterRanges(pair, inner, tile, _partial(terms), _sum(terms))


def _product(weight: int, own: tuple[int, int]) -> Range:
    ends = weight * own[0], weight * own[1]
    return Range(min(ends), max(ends))


def _sum(terms: Sequence[Range]) -> Range:
    return Range(sum(own.low for own in terms), sum(own.high for own in terms))


def _partial(terms: Sequence[Range]) -> Range:
    """Of the sums of some of the terms: only negative, or only positive parts."""
    return Range(sum(min(0, own.low) for own in terms), sum(max(0, own.high) for own in terms))


def _hull(ranges: Sequence[Range]) -> Range:
    """The smallest range that holds 0 (an empty register) and all of these."""
    return Range(min([0, *(own.low for own in ranges)]), max([0, *(own.high for own in ranges)]))


def bits_for(own: Range) -> int:
    """The least two's-complement width that holds a range; at least 1."""
    return 1 + max((end if end >= 0 else ~end).bit_length() for end in own)


def l1_bits(weights: Sequence[int], largest: int) -> int:
    """The least P with ``||w||_1 max|x| <= 2**(P-1) - 1``: the l1 rule (theory T4.11).

    It is ``bits_for`` of the range of inputs in ``[-largest, largest]`` but for one case: a sum
    of exactly ``-2**(P-1)`` fits P bits, and its mirror image does not.
    """
    if largest < 0:
        raise InputError(f"the largest input is {largest}; needed at least 0")
    return 1 + (sum(map(abs, weights)) * largest).bit_length()


def floating_dot_bound(
    terms: int, roundoff: Fraction, magnitude: Fraction, half_gap: Fraction = Fraction(0)
) -> Fraction:
    """``gamma_n |x|.|y| + n half_gap``, ``gamma_n = n u/(1 - n u)`` (theory T4.11).

    Bounds ``|fl(x.y) - x.y|`` for products and sums rounded to nearest in one format with unit
    roundoff u = ``roundoff``, in any order and any tree of additions, where nothing overflows.
    ``magnitude`` is ``|x|.|y|``, ``half_gap`` half the smallest subnormal number. Raises
    ``InputError`` where ``n u >= 1``: the bound says nothing there.

    Sums of n floating numbers err by at most ``(n-1) u`` times the sum of their sizes (Jeannerod
    and Rump 2013). A product that underflows errs by ``half_gap`` at most, and may be that much
    larger in this sum; but sums are exact below ``2 half_gap/u``, and beyond it the difference of
    ``gamma_n`` and ``n u`` covers what that adds.
    """
    if terms < 0 or roundoff <= 0 or magnitude < 0 or half_gap < 0:
        raise InputError("a dot product's bound needs n >= 0, u > 0, |x|.|y| >= 0 and a gap >= 0")
    if terms * roundoff >= 1:
        raise InputError(
            f"{terms} terms with unit roundoff {roundoff}: n u is {terms * roundoff}; needed "
            "below 1",
            remedy="Add up in tiles, or in a format with more significand bits.",
        )
    gamma = terms * roundoff / (1 - terms * roundoff)
    return gamma * magnitude + terms * half_gap
