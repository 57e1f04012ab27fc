"""``field_constants``: B, L, m, V and the pairwise differences on a tube (theory T3)."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from qreplace.claims.region import BoxPart


@dataclass(frozen=True, slots=True)
class FieldConstantsClaim:
    """Constants of every atom on a box that holds all relaxed and Euler states with room to spare.

    ``tube`` is the box on which the constants hold. ``reach_lower`` and ``reach_upper`` bound the
    relaxed and the mixed Euler states; ``margin`` is the distance in the question's norm from there
    to the outside of the tube. ``growth_rate`` is m, shown for steps up to ``step_limit``. Units
    are those of the state for ``margin``, state per time for bounds, 1 / time for Lipschitz
    constants and m.
    """

    format: Literal["qreplace/claim/field_constants/v1"]
    subject: str
    code: int
    tube: BoxPart
    reach_lower: tuple[Fraction, ...]
    reach_upper: tuple[Fraction, ...]
    margin: Fraction
    field_bound: Fraction
    state_lipschitz: Fraction
    growth_rate: Fraction
    step_limit: Fraction
    time_variation: Fraction
    difference_bound: Fraction
    difference_lipschitz: Fraction
    difference_variation: Fraction
