"""``frozen``: every increment is below half a cell, so the state never moves (theory T4.4)."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal


@dataclass(frozen=True, slots=True)
class FrozenClaim:
    """From ``first_depth`` on, every executed schedule ends where it started.

    Write-back with nearest rounding, exact field evaluation, a start on the grid. The executed
    error is then the distance from the start to the target, which ``lower`` and ``upper`` enclose.
    """

    format: Literal["qreplace/claim/frozen/v1"]
    subject: str
    code: int
    first_depth: int
    lower: Fraction
    upper: Fraction
