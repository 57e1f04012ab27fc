"""``count_minimum``: no counts of one depth have a smaller error (theory T7.13)."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from qreplace.claims.functional import Functional


@dataclass(frozen=True, slots=True)
class Split:
    """Counts ``n[atom] <= at`` first, then ``n[atom] >= at + 1``."""

    kind: Literal["split"]
    atom: int
    at: int


@dataclass(frozen=True, slots=True)
class Bounded:
    """No counts of this part come closer than ``lower``, by the functional of this number."""

    kind: Literal["bounded"]
    functional: int


@dataclass(frozen=True, slots=True)
class Single:
    """One choice of counts is left; its own error is at least ``lower``."""

    kind: Literal["single"]


@dataclass(frozen=True, slots=True)
class CountMinimumClaim:
    """``min over integer counts n >= 0 with sum n = depth of ||B n / depth - y|| >= lower``.

    ``tree`` in preorder, over boxes of counts.
    """

    format: Literal["qreplace/claim/count_minimum/v1"]
    subject: str
    code: int
    depth: int
    lower: Fraction
    functionals: tuple[Functional, ...]
    tree: tuple[Split | Bounded | Single, ...]
