"""Support functions of what ``z' = A z + b_j(t)`` reaches, from above (theory T7.2, T3.6)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from operator import mul

from qreplace.errors import Malformed
from qreplace.exact.affine_flow import (
    GUARD_BITS,
    AffineData,
    Generator,
    Integrand,
    Piece,
    ScalarData,
    ScalarPiece,
    adjoint_cells,
    constant_atoms,
    cut_times,
    integral,
    integrands,
    piece_from,
    precision,
    step_norm,
)
from qreplace.exact.bernstein import positive_integral
from qreplace.exact.fixed_point import power

NEGLIGIBLE_BITS = 80
"""Excesses this much below the integrands are not looked at more closely."""


def support(
    data: AffineData,
    indices: Sequence[int],
    numerators: Sequence[int],
    denominator: int,
    dominant: Sequence[tuple[Fraction, int]],
) -> Fraction:
    """An upper bound of ``lambda^T e^{AT} z_0 + int_0^T max_j lambda^T e^{A(T-t)} b_j(t) dt``.

    lambda is ``numerators / denominator`` on ``indices``; ``dominant`` are ``(end, atom)`` with
    ascending ends, the last one the horizon. On a cell the maximum is the dominant integrand plus
    what others exceed it by, of which the Bernstein coefficients are an upper bound.
    """
    if not any(numerators):
        return Fraction(0)
    if data.matrix is None and constant_atoms(data) and data.rate == 0:
        return _linear_support(data, indices, numerators, denominator)
    reduced, vector, unit = _reduced(data, indices, numerators, denominator)
    bits = precision(reduced)
    norm = Generator(reduced).column_norm
    times = cut_times(reduced, [end for end, _ in dominant], norm)
    total, last = 0, None
    for cell in adjoint_cells(reduced, vector, unit, times, bits):
        end = reduced.horizon - cell.start
        atom = next(atom for limit, atom in dominant if end <= limit)
        functions = integrands(reduced, cell)
        total += maximum_integral(functions, atom, cell.width)
        last = cell
    if last is None:
        raise Malformed("a flow needs a positive horizon")
    final = [sum(column) for column in zip(*last.coefficients, strict=True)]
    total += sum(map(mul, final, reduced.initial))
    total += last.radius * sum(map(abs, reduced.initial))
    return Fraction(total, reduced.denominator << bits)


def _reduced(
    data: AffineData, indices: Sequence[int], numerators: Sequence[int], denominator: int
) -> tuple[AffineData, list[int], int]:
    """The data, lambda dense and its denominator; one scalar equation where ``A = rate I``."""
    if data.matrix is not None:
        vector = [0] * len(data.initial)
        for index, number in zip(indices, numerators, strict=True):
            vector[index] = number
        return data, vector, denominator

    def along(values: Sequence[int]) -> int:
        return sum(map(mul, numerators, (values[i] for i in indices)))

    atoms = tuple(
        tuple(
            ScalarPiece(p.start, p.end, tuple((along(row),) for row in p.coefficients))
            for p in atom
        )
        for atom in data.atoms
    )
    scalar = ScalarData(data, atoms, (along(data.initial),), data.denominator * denominator)
    return scalar, [1], 1


def _linear_support(
    data: AffineData, indices: Sequence[int], numerators: Sequence[int], denominator: int
) -> Fraction:
    """``z' = b_j``: exactly ``lambda . z_0 + T max_j lambda . b_j``."""
    scalar, _, _ = _reduced(data, indices, numerators, denominator)
    reach = max(atom[0].coefficients[0][0] for atom in scalar.atoms)
    return (scalar.initial[0] + scalar.horizon * reach) / scalar.denominator


def maximum_integral(functions: Sequence[Integrand], dominant: int, width: Fraction) -> int:
    """An upper bound of the integral of the maximum over a cell, in units."""
    leader = functions[dominant]
    centre, error = integral(leader, width)
    differences = []
    for index, function in enumerate(functions):
        if index == dominant:
            continue
        pairs = _padded(function.coefficients, leader.coefficients)
        difference = [a - b for a, b in pairs]
        # Both errors are part of the excess: the maximum of enclosures is at most this.
        difference[0] += max(0, function.error - leader.error)
        if difference[0] + sum(c for c in difference[1:] if c > 0) > 0:
            differences.append(difference)
    size = max(max(map(abs, function.coefficients)) for function in functions)
    return centre + error + positive_integral(differences, width, size >> NEGLIGIBLE_BITS)


def _padded(one: list[int], other: list[int]) -> Iterator[tuple[int, int]]:
    size = max(len(one), len(other))
    yield from zip(one + [0] * (size - len(one)), other + [0] * (size - len(other)), strict=True)


# --- discrete time -------------------------------------------------------------------------------


def discrete_support(
    data: AffineData,
    indices: Sequence[int],
    numerators: Sequence[int],
    denominator: int,
    depth: int,
) -> Fraction:
    """An upper bound of ``lambda . z_D`` over all schedules of ``depth`` Euler steps (theory T3.6).

    It is ``lambda^T (I + hA)^D z_0 + h sum_k max_j lambda^T (I + hA)^{D-1-k} b_j(t_k)``, exactly
    where ``A = 0`` and the atoms are constant.
    """
    if not any(numerators):
        return Fraction(0)
    if data.matrix is None and constant_atoms(data):
        step_factor = 1 + data.rate * data.horizon / depth
        if data.rate == 0:
            return _linear_support(data, indices, numerators, denominator)
        if step_factor >= 0:
            return _geometric_support(data, indices, numerators, denominator, depth)
    reduced, vector, unit = _reduced(data, indices, numerators, denominator)
    generator = Generator(reduced)
    bits = precision(reduced, depth)
    step = reduced.horizon / depth
    factor = step_norm(generator.columns, generator.denominator, step)
    numerator, divisor = step.numerator, step.denominator * generator.denominator
    current = [(n << bits) // unit for n in vector]
    radius = 0 if unit == 1 else 1
    total = 0
    for k in reversed(range(depth)):
        total += max(_value_up(atom, current, radius, k * step) for atom in reduced.atoms)
        moved = [sum(map(mul, column, current)) for column in generator.columns]
        current = [c + m * numerator // divisor for c, m in zip(current, moved, strict=True)]
        radius = math.ceil(factor * radius) + 1
    start: int = sum(map(mul, current, reduced.initial)) + radius * sum(map(abs, reduced.initial))
    return Fraction(start + step * total) / (reduced.denominator << bits)


def _value_up(atom: Sequence[Piece], vector: list[int], radius: int, time: Fraction) -> int:
    """An upper bound of ``<vector, b(time)>`` in units."""
    value = 0
    for row in reversed(piece_from(atom, time).coefficients):
        own = sum(map(mul, row, vector)) + radius * sum(map(abs, row))
        value = own - (-value * time.numerator // time.denominator)
    return value


def _geometric_support(
    data: AffineData,
    indices: Sequence[int],
    numerators: Sequence[int],
    denominator: int,
    depth: int,
) -> Fraction:
    """Constant atoms, ``A = rate I`` and ``kappa >= 0``: the sum is geometric."""
    scalar, _, _ = _reduced(data, indices, numerators, denominator)
    kappa = 1 + scalar.rate * scalar.horizon / depth
    bits = GUARD_BITS + 2 * depth.bit_length() + abs(scalar.rate).denominator.bit_length()
    bounds = [Fraction(p, 1 << bits) for p in power(kappa, depth, bits)]
    start = max(scalar.initial[0] * bound for bound in bounds)
    reach = max(atom[0].coefficients[0][0] for atom in scalar.atoms)
    sums = [(bound - 1) / scalar.rate for bound in bounds]  # h sum_{m<D} kappa^m
    return (start + max(reach * s for s in sums)) / scalar.denominator
