"""``hjb_sos``: a polynomial value function below every trajectory's cost (theory T7.4, T3.6)."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from qreplace.claims.region import Region
from qreplace.claims.sums_of_squares import Combination
from qreplace.exact.polynomial import Polynomial


@dataclass(frozen=True, slots=True)
class TerminalPart:
    """``h(z) >= 0`` on the slice of the region at the horizon, and why.

    ``h = combination`` of the region's constraints at ``t = T``; a polynomial in ``t, z`` without
    ``t``.
    """

    constraint: Polynomial
    combination: Combination


@dataclass(frozen=True, slots=True)
class HjbSosClaim:
    """``E >= lower``: E_inf when ``depth`` is null, the ideal error at that depth otherwise.

    ``phi = sum of weights[i] (z_i - y_i)^2`` is at most the squared error in the question's norm.
    ``value_function`` is ``v(t, z)``; ``flow`` proves for every atom, on the region, that
    ``d_t v + grad v . G_j >= 0`` (discrete: ``v(t + h, z + h G_j) - v(t, z) >= 0``); ``terminal``
    that ``phi - v(T, .) >= 0`` there, with constraints numbered as in the region, at ``t = T``, and
    those of ``terminal_region`` after them. Then ``lower^2 <= v(0, z_0)``.
    """

    format: Literal["qreplace/claim/hjb_sos/v1"]
    subject: str
    code: int
    depth: int | None
    weights: tuple[Fraction, ...]
    value_function: Polynomial
    region: Region
    flow: tuple[Combination, ...]
    terminal_region: tuple[TerminalPart, ...]
    terminal: Combination
    lower: Fraction
