"""``support``: a polynomial upper bound of a linear functional's reach (theory T7.6, T3.6)."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from qreplace.claims.functional import Functional
from qreplace.claims.region import Region
from qreplace.claims.sums_of_squares import Combination
from qreplace.exact.polynomial import Polynomial


@dataclass(frozen=True, slots=True)
class SupportClaim:
    """``E >= <lambda, y> - w(0, z_0)``, at least ``lower``.

    E is E_inf when ``depth`` is null, the ideal error at that depth otherwise. ``bound`` is
    ``w(t, z)``; ``flow`` proves for every atom, on the region, that
    ``-(d_t w + grad w . G_j) >= 0`` (discrete: ``w(t, z) - w(t + h, z + h G_j) >= 0``), and
    ``terminal`` that ``w(T, z) - <lambda, z> >= 0`` there, with the constraints at ``t = T``.
    """

    format: Literal["qreplace/claim/support/v1"]
    subject: str
    code: int
    depth: int | None
    witness: Functional
    bound: Polynomial
    region: Region
    flow: tuple[Combination, ...]
    terminal: Combination
    lower: Fraction
