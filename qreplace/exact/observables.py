"""Endpoints of ``w' = a(t) + M w``: functionals that every atom moves alike (theory T7.7)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from qreplace.exact.affine_flow import (
    Enclosure,
    Mixture,
    discrete_endpoint,
    endpoint,
)

Row = Sequence[Fraction]
MAX_EXACT_STEPS = 100_000


@dataclass(frozen=True)
class DriftPiece:
    """``a(t) = sum_k coefficients[k] t^k`` on ``[start, end]``."""

    start: Fraction
    end: Fraction
    coefficients: tuple[tuple[Fraction, ...], ...]


@dataclass(frozen=True)
class _IntegerPiece:
    start: Fraction
    end: Fraction
    coefficients: tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class ObservableFlow:
    """The observables as affine dynamics in integers with one atom."""

    matrix: tuple[tuple[int, ...], ...]
    matrix_denominator: int
    initial: tuple[int, ...]
    atoms: tuple[tuple[_IntegerPiece, ...], ...]
    denominator: int
    horizon: Fraction
    rate: Fraction = Fraction(0)


def observable_flow(
    dynamics: Sequence[Row], drift: Sequence[DriftPiece], initial: Row, horizon: Fraction
) -> ObservableFlow:
    """The flow over common denominators."""
    below = math.lcm(*(x.denominator for row in dynamics for x in row))
    entries = [x for piece in drift for row in piece.coefficients for x in row]
    common = math.lcm(*(x.denominator for x in (*entries, *initial)))
    pieces = tuple(
        _IntegerPiece(p.start, p.end, tuple(_over(row, common) for row in p.coefficients))
        for p in drift
    )
    return ObservableFlow(
        matrix=tuple(_over(row, below) for row in dynamics),
        matrix_denominator=below,
        initial=_over(initial, common),
        atoms=(pieces,),
        denominator=common,
        horizon=horizon,
    )


def _over(row: Row, denominator: int) -> tuple[int, ...]:
    return tuple(x.numerator * (denominator // x.denominator) for x in row)


def combined_endpoint(
    flow: ObservableFlow, combination: Row, depth: int | None
) -> tuple[Fraction, Fraction]:
    """Bounds of ``c . w(T)``, after ``depth`` Euler steps if a depth is given; exact if M = 0."""
    if not any(map(any, flow.matrix)) and (depth is None or depth <= MAX_EXACT_STEPS):
        value = _dot(combination, _without_coupling(flow, depth))
        return value, value
    state = (
        endpoint(flow, [Mixture(flow.horizon, [1], 1)])
        if depth is None
        else discrete_endpoint(flow, 0, depth)
    )
    return _combined(combination, state)


def _combined(combination: Row, state: Enclosure) -> tuple[Fraction, Fraction]:
    centre = sum((c * z for c, z in zip(combination, state.centre, strict=True)), Fraction(0))
    centre /= state.denominator
    spread = sum(map(abs, combination), Fraction(0)) * state.radius
    return centre - spread, centre + spread


def _dot(one: Row, other: Row) -> Fraction:
    return sum((a * b for a, b in zip(one, other, strict=True)), Fraction(0))


def _without_coupling(flow: ObservableFlow, depth: int | None) -> list[Fraction]:
    """``w(0)`` plus the integral, or the Euler sum, of a."""
    total = [Fraction(n, flow.denominator) for n in flow.initial]
    (pieces,) = flow.atoms
    for position, piece in enumerate(pieces):
        last = position == len(pieces) - 1
        for k, row in enumerate(piece.coefficients):
            if depth is None:
                factor = (piece.end ** (k + 1) - piece.start ** (k + 1)) / (k + 1)
            else:
                factor = _power_sum(flow.horizon / depth, piece, k, depth, last)
            total = [
                w + factor * Fraction(n, flow.denominator) for w, n in zip(total, row, strict=True)
            ]
    return total


def _power_sum(step: Fraction, piece: _IntegerPiece, k: int, depth: int, last: bool) -> Fraction:
    """``h sum t_n^k`` over the steps that begin while a piece holds."""
    first = math.ceil(piece.start / step)
    beyond = depth if last else math.ceil(piece.end / step)
    total: int = sum(n**k for n in range(first, beyond))
    return Fraction(step ** (k + 1)) * total
