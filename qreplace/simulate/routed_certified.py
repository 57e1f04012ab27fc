"""A simulated routed system's events, certified: the affine data as polynomials (theory T6.1).

What the simulator measures along a computed path is a diagnostic. The same numbers, enclosed along
a validated path by ``radii.route_events``, are proved for this system and this target.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from qreplace.exact.polynomial import Polynomial, from_terms, total
from qreplace.radii.route_events import (
    CertifiedEvents,
    CertifiedRoute,
    Field,
    RoutedPath,
    Support,
    certified_events,
    certified_route,
)
from qreplace.simulate.routed_model import Affine, Routed, mixed


def certify(
    system: Routed[Fraction],
    weights: tuple[Fraction, ...],
    noise: Fraction,
    radius: Fraction,
    cells: int,
) -> tuple[CertifiedRoute, CertifiedEvents]:
    """The events of the relaxed target of constant ``weights``, valid within ``radius`` of it.

    ``noise`` bounds further errors of every score. Raises ``InputError`` with the reason where the
    target's route has no simple events, or where the cells of time are too coarse to tell.
    """
    target = mixed(system, weights)
    (relaxed,) = target.atoms
    path = RoutedPath(
        scores=_polynomials(system.scores),
        top_k=system.top_k,
        fields=lambda support: _gated(relaxed, system.gates, support),
        initial=system.initial,
        horizon=system.horizon,
    )
    route = certified_route(path, cells)
    implemented = _polynomials(system.implemented)

    def library(support: Support) -> list[Field]:
        return [_gated(row, system.gates, support) for row in system.atoms]

    return route, certified_events(path, route, implemented, library, radius, noise)


def _polynomials(own: Affine[Fraction]) -> Field:
    """One polynomial in ``t, z_1 .. z_q`` a row."""
    return tuple(_row(own, i) for i in range(own.rows))


def _row(own: Affine[Fraction], i: int) -> Polynomial:
    q = len(own.matrix[i])
    terms = {(0,) * (q + 1): own.offset[i], (1, *(0,) * q): own.drift[i]}
    for c, entry in enumerate(own.matrix[i]):
        terms[tuple(int(k == c + 1) for k in range(q + 1))] = entry
    return from_terms({exponents: value for exponents, value in terms.items() if value})


def _gated(row: Sequence[Affine[Fraction]], gates: Sequence[Fraction], support: Support) -> Field:
    """The weighted mean of the chosen experts' fields."""
    weight = sum((gates[e] for e in support), Fraction(0))
    parts = [(gates[e] / weight, _polynomials(row[e])) for e in sorted(support)]
    return tuple(
        total(field[i].scaled(share) for share, field in parts) for i in range(row[0].rows)
    )
