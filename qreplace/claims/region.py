"""A region ``K = {(t, z): g_i >= 0}`` with the proof that every trajectory stays in it (T7.4).

A region is a list of parts; each part gives one or more constraint polynomials ``g_i(t, z)``,
numbered through in the order of the parts.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from qreplace.claims.sums_of_squares import Combination
from qreplace.exact.polynomial import Polynomial


@dataclass(frozen=True, slots=True)
class TimePart:
    """``g = t (T - t)``: time runs through the horizon. One constraint."""

    kind: Literal["time"]


@dataclass(frozen=True, slots=True)
class BoxPart:
    """``g_i = (z_i - lower_i)(upper_i - z_i)`` by speeds and walls. One constraint a coordinate.

    On the box, cut into ``cells[0]`` parts in time and ``cells[i]`` along ``z_i`` for the interval
    bound, every atom's ``i``-th component is so small that no trajectory leaves within the horizon;
    or it is so over ``cells[0]`` slices of time, with sides that no atom crosses.
    """

    kind: Literal["box"]
    lower: tuple[Fraction, ...]
    upper: tuple[Fraction, ...]
    cells: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class InvariantPart:
    """``g`` by invariance: one constraint, with a proof an atom.

    Continuous: ``d_t g + grad g . G_j = combination_j + factor_j * g``, the combination naming
    other constraints only. Discrete: ``g(t + h, z + h G_j) = combination_j``, ``g`` itself allowed,
    and every factor is the zero polynomial.
    """

    kind: Literal["invariant"]
    constraint: Polynomial
    combinations: tuple[Combination, ...]
    factors: tuple[Polynomial, ...]


@dataclass(frozen=True, slots=True)
class ImpliedPart:
    """``g = combination`` of constraints with smaller numbers: one constraint that follows."""

    kind: Literal["implied"]
    constraint: Polynomial
    combination: Combination


RegionPart = TimePart | BoxPart | InvariantPart | ImpliedPart
Region = tuple[RegionPart, ...]
