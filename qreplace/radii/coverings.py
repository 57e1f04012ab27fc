"""Covering radii of described families: how far a coded dictionary is from the best (T5.1).

A family is a box of parameters: scale factors, codebook entries, or any coordinates with their
half widths. ``s`` bits are spent on a product grid of it; a coordinate with b bits has ``2^b``
cells, and its code is the middle of a cell, so centres lie inside the family as theory T5.1 asks.
The radius is exact, in the norm of the parameters.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from qreplace.errors import InputError
from qreplace.exact.rational import round_up
from qreplace.exact.roots import sqrt_bounds
from qreplace.question.floor import MAX_COORDINATES, ParameterFamily

MAX_BITS_EACH = 64
SQRT_BITS = 160


@dataclass(frozen=True, slots=True)
class Covering:
    """A product grid: ``groups`` of (half width, bits, coordinates), and what it misses at most."""

    bits: int
    """Bits spent; no more than were given."""
    groups: tuple[tuple[Fraction, int, int], ...]
    radius: Fraction
    """``delta_s``; for l2 rounded up."""


def covering(family: ParameterFamily, bits: int) -> Covering:
    """The product grid of at most ``2^bits`` points that leaves the smallest largest miss.

    Bits go one by one to a coordinate whose miss is largest in linf; for l1 and l2 to one whose
    miss falls most, which is best too since each further bit of a coordinate gains less.
    """
    if not 0 <= bits <= MAX_COORDINATES * MAX_BITS_EACH:
        raise InputError(f"{bits} bits; needed 0 to {MAX_COORDINATES * MAX_BITS_EACH}")
    # Coordinates of one half width and equally many bits stay together.
    heap: list[tuple[Fraction, int, int, int]] = []
    for place, group in enumerate(family.groups):
        worth = -_worth(group.half_width, 0, family.norm)
        heapq.heappush(heap, (worth, place, 0, group.count))
    left, done = bits, []
    while heap and left:
        worth, place, own, count = heapq.heappop(heap)
        if not worth or own == MAX_BITS_EACH:
            done.append((place, own, count))
            continue
        now = min(count, left)
        left -= now
        if now < count:
            done.append((place, own, count - now))
        width = family.groups[place].half_width
        heapq.heappush(heap, (-_worth(width, own + 1, family.norm), place, own + 1, now))
    done += [(place, own, count) for _, place, own, count in heap]
    groups = tuple(
        (family.groups[place].half_width, own, count) for place, own, count in sorted(done)
    )
    return Covering(bits - left, groups, _radius(groups, family.norm))


def _miss(width: Fraction, bits: int) -> Fraction:
    """The furthest point of a coordinate from the middle of its cell."""
    return width / (1 << bits)


def _worth(width: Fraction, bits: int, norm: str) -> Fraction:
    """What the next bit of a coordinate is worth: larger goes first."""
    miss = _miss(width, bits)
    if norm == "linf":
        return miss
    return miss / 2 if norm == "l1" else miss**2 * Fraction(3, 4)


def _radius(groups: Sequence[tuple[Fraction, int, int]], norm: str) -> Fraction:
    misses = [(_miss(width, bits), count) for width, bits, count in groups]
    if norm == "linf":
        return max(miss for miss, _ in misses)
    if norm == "l1":
        return sum((miss * count for miss, count in misses), Fraction(0))
    return round_up(sqrt_bounds(sum((m * m * c for m, c in misses), Fraction(0)))[1], SQRT_BITS)


# --- families as a whole: packing -----------------------------------------------------------------


def configurations(bits: int, atoms: int, depth: int) -> int:
    """``2^s J^D``: what ``s`` metadata bits and a schedule of depth D can tell apart."""
    if bits < 0 or atoms < 1 or depth < 0:
        raise InputError("bits and depth are not negative, and there is an atom")
    reached: int = atoms**depth
    return reached << bits


def first_family_depth(targets: int, bits: int, atoms: int) -> int | None:
    """Theory T5.2: the first depth D with ``2^s J^D >= M``; ``None`` where no depth has it.

    At every smaller depth some target of a family of ``targets`` maps, pairwise more than twice the
    error apart, is missed: impossible for the *family*, which says nothing of one target.
    """
    if targets < 1:
        raise InputError("a family has at least one target")
    if configurations(bits, atoms, 0) >= targets:
        return 0
    if atoms == 1:
        return None
    needed, depth, reached = -(-targets // (1 << bits)), 0, 1
    while reached < needed:
        reached *= atoms
        depth += 1
    return depth


# --- bits against depth ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Allocation:
    """Theory T5.3: metadata and depth under ``s + l_sigma D <= B_tot``.

    ``guarantee`` bounds the excess error where its condition ``s + l_sigma <= B_tot / 2`` holds.
    """

    bits: int
    depth: int
    guarantee: Fraction | None


def allocate(
    total: int,
    *,
    dimension: int,
    metadata_constant: Fraction,
    step_bits: Fraction,
    synthesis_constant: Fraction,
) -> Allocation:
    """``s = max(0, ceil(dim log2(C_meta B)))``, ``D = floor((B - s) / l_sigma)`` (theory T5.3).

    The logarithm is decided in whole numbers: the least s with ``2^s >= (C_meta B)^dim``. Raises
    ``InputError`` where the budget leaves no step.
    """
    if total < 1 or dimension < 1 or min(metadata_constant, step_bits) <= 0:
        raise InputError("budget, dimension, constant and bits a step are positive")
    if synthesis_constant < 0:
        raise InputError("the synthesis constant is not negative")
    bits = _ceil_log2((metadata_constant * total) ** dimension)
    depth = int((total - bits) / step_bits) if bits < total else 0
    if depth < 1:
        raise InputError(
            f"{total} bits leave no step beside {bits} bits of metadata",
            remedy="Raise the budget or describe a family of smaller dimension.",
        )
    enough = bits + step_bits <= Fraction(total, 2)
    guarantee = (2 * synthesis_constant * step_bits + 1) / total if enough else None
    return Allocation(bits, depth, guarantee)


def allocation_converse(amplitude: Fraction, step_bits: Fraction, total: int) -> Fraction:
    """Theory T5.3 for the fixed teacher: no split of the budget errs less, ``a l / (2 e B)``.

    A lower bound, rounded down: with at most ``B / l_sigma`` steps theory T9.1 leaves so much.
    """
    if min(amplitude, step_bits) <= 0 or total < 1:
        raise InputError("amplitude, bits a step and budget are positive")
    return amplitude * step_bits * _INVERSE_E_LOWER / (2 * total)


_INVERSE_E_LOWER = Fraction(36787944117144232159, 10**20)
"""1/e = 0.36787944117144232159552..., rounded down."""


def _ceil_log2(value: Fraction) -> int:
    """The least ``s >= 0`` with ``2^s >= value``."""
    whole = -(-value.numerator // value.denominator)
    return max(0, (whole - 1).bit_length())
