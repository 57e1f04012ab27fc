"""What every atom does on a box of time and states, outward: the data of theory T3's constants.

``Fields`` is the view that constants and reachable boxes need; polynomial and affine dynamics each
have their own way to it. Sides are closed intervals, one a coordinate.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Protocol

from qreplace.errors import InputError
from qreplace.exact.intervals import Interval
from qreplace.question.model import AffineDynamicsSystem, Norm, PolynomialSystem
from qreplace.question.subject import Subject

Sides = Sequence[Interval]
Rows = Sequence[Sequence[Interval]]

MAX_PAIRED_ATOMS = 16
"""Dictionaries up to this size get differences pair by pair; larger ones the spread over atoms."""


class Fields(Protocol):
    """The atoms ``G_j(t, z)`` on ``[0, horizon]``.

    ``cells`` cut time and every coordinate of a box; finer cells tighten bounds. A method that
    speaks of ``differences`` speaks of all ``G_i - G_j``.
    """

    horizon: Fraction
    initial: Sequence[Fraction]

    @property
    def constant_slopes(self) -> bool:
        """Whether no Jacobian depends on time or state: slopes are the same everywhere then."""
        ...

    @property
    def dimension(self) -> int:
        """The number of coordinates."""
        ...

    def work(self, cells: Sequence[int]) -> int:
        """About how many steps of a few microseconds the constants take with these cells."""
        ...

    def hull(self, end: Fraction, box: Sides) -> list[Interval]:
        """The range of each component over all atoms, on the box, at times from 0 to ``end``."""
        ...

    def component(self, index: int, box: Sides) -> Interval:
        """The range of one component over all atoms, on the box, at every time."""
        ...

    def start_bound(self, norm: Norm) -> Fraction:
        """An upper bound of every ``||G_j(t, z_0)||``."""
        ...

    def slope(self, index: int, box: Sides) -> Fraction:
        """A lower bound of ``d G_i / d z_i`` over all atoms, on the box, at every time."""
        ...

    def bound(self, norm: Norm, box: Sides, cells: Sequence[int]) -> Fraction:
        """B: an upper bound of ``||G_j||``."""
        ...

    def difference_bound(self, norm: Norm, box: Sides, cells: Sequence[int]) -> Fraction:
        """An upper bound of ``||G_i - G_j||``."""
        ...

    def jacobians(self, box: Sides, cells: Sequence[int]) -> Iterator[Rows]:
        """Entries of every atom's Jacobian, cell by cell."""
        ...

    def jacobian_differences(self, box: Sides, cells: Sequence[int]) -> Iterator[Rows]:
        """Entries of the Jacobians of differences, cell by cell."""
        ...

    def variation(self, norm: Norm, box: Sides, cells: Sequence[int]) -> Fraction:
        """V: the sum over atoms of the total variation in time, the largest over states."""
        ...

    def difference_variation(self, norm: Norm, box: Sides, cells: Sequence[int]) -> Fraction:
        """The sum over moments of the largest variation of a difference there."""
        ...


def fields_of(subject: Subject, bits: int) -> Fields:
    """The fields of the dictionary that runs at ``bits`` metadata bits.

    Raises ``InputError`` for systems that hold no state-dependent atoms.
    """
    from qreplace.question.affine_fields import AffineFields
    from qreplace.question.polynomial_fields import PolynomialFields

    system = subject.question.system
    if isinstance(system, PolynomialSystem):
        return PolynomialFields(subject.polynomial(bits))
    if isinstance(system, AffineDynamicsSystem):
        return AffineFields(subject.affine(bits))
    raise InputError(f"a system of kind {system.kind} holds no state-dependent atoms")


def spread(intervals: Sequence[Interval]) -> Fraction:
    """The largest difference of two numbers, each within one of the intervals."""
    return max(high for _, high in intervals) - min(low for low, _ in intervals)
