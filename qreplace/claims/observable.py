"""``observable``: linear functionals that every atom moves alike (theory T7.7)."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from qreplace.claims.functional import Functional


@dataclass(frozen=True, slots=True)
class ObservableClaim:
    """Every schedule ends with the same ``<witness, z>``, so ``E >= |<witness, y - z(T)>|``.

    ``rows`` are functionals ``O`` of the state and ``dynamics`` is ``M`` with
    ``O G_j(t, z) = a(t) + M (O z)`` for *every* atom, ``a`` read off the first one. ``witness`` is
    ``combination^T O`` with dual norm at most 1. ``depth``: null for E_inf, else the ideal error of
    every schedule of that depth. T7.7's scalar case is one row with ``dynamics = ((-mu,),)``.
    """

    format: Literal["qreplace/claim/observable/v1"]
    subject: str
    code: int
    depth: int | None
    rows: tuple[tuple[Fraction, ...], ...]
    dynamics: tuple[tuple[Fraction, ...], ...]
    combination: tuple[Fraction, ...]
    witness: Functional
    lower: Fraction
