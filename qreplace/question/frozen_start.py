"""What freezing needs to know: initial state, target, and the largest field there (T4.4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from qreplace.errors import InputError
from qreplace.exact.polynomial import Polynomial
from qreplace.question.dynamics import AffineProblem, PolynomialProblem
from qreplace.question.model import (
    AffineDynamicsSystem,
    Grid,
    LiftedAffineSystem,
    PolynomialSystem,
)
from qreplace.question.norms import norm_bounds
from qreplace.question.subject import Subject


@dataclass(frozen=True, slots=True)
class FrozenStart:
    """A state that no increment moves, if none is large enough."""

    initial: tuple[Fraction, ...]
    field: Fraction
    """At least ``|G_j,i(t, z_0)|`` for every atom, coordinate and time of the horizon."""
    horizon: Fraction
    ends: tuple[Fraction, Fraction]
    """An enclosure of ``||target - z_0||`` in the question's norm."""


def frozen_start(subject: Subject, bits: int) -> FrozenStart:
    """The start of a study with given atoms; raises ``InputError`` for any other.

    The field's bound is the largest ``|G|`` of constant atoms at z_0 exactly; in time it adds up
    coefficients, ``sum_k |c_k| T^k``, so it may be larger than the largest value.
    """
    system = subject.question.system
    if isinstance(system, PolynomialSystem):
        return _polynomial(subject, subject.polynomial(bits))
    if isinstance(system, (LiftedAffineSystem, AffineDynamicsSystem)):
        return _affine(subject, subject.affine(bits))
    raise InputError(f"freezing is not computed for a {system.kind} system")


def _affine(subject: Subject, problem: AffineProblem) -> FrozenStart:
    scale, q = problem.denominator, problem.dimension
    initial = tuple(Fraction(n, scale) for n in problem.initial)
    drift = _drift(problem, initial)
    largest = Fraction(0)
    for pieces in problem.atoms:
        for piece in pieces:
            for i in range(q):
                column = [Fraction(row[i], scale) for row in piece.coefficients]
                column[0] += drift[i]
                largest = max(largest, _on_interval(column, piece.end))
    gap = [a - b for a, b in zip(problem.target, problem.initial, strict=True)]
    ends = norm_bounds(subject.question.norm, gap, scale)
    return FrozenStart(initial, largest, problem.horizon, ends)


def _drift(problem: AffineProblem, initial: Sequence[Fraction]) -> list[Fraction]:
    """``A z_0``; quick where the state is 0 or A is a multiple of the identity."""
    own = [problem.rate * z for z in initial]
    if problem.matrix is None or not any(initial):
        return own
    filled = [(j, z) for j, z in enumerate(initial) if z]
    return [
        drift + sum((row[j] * z for j, z in filled), Fraction(0)) / problem.matrix_denominator
        for drift, row in zip(own, problem.matrix, strict=True)
    ]


def _polynomial(subject: Subject, problem: PolynomialProblem) -> FrozenStart:
    largest = Fraction(0)
    for field in problem.atoms:
        for own in field:
            column = _in_time(own, problem.initial)
            largest = max(largest, _on_interval(column, problem.horizon))
    gap = [a - b for a, b in zip(problem.target, problem.initial, strict=True)]
    scale = 1
    for value in gap:
        scale *= value.denominator
    ends = norm_bounds(subject.question.norm, [int(value * scale) for value in gap], scale)
    return FrozenStart(problem.initial, largest, problem.horizon, ends)


def _in_time(own: Polynomial, state: Sequence[Fraction]) -> list[Fraction]:
    """Coefficients in t of ``G(t, z)`` at one state."""
    found: dict[int, Fraction] = {0: Fraction(0)}
    for exponents, coefficient in zip(own.exponents, own.coefficients, strict=True):
        value = coefficient
        for power, z in zip(exponents[1:], state, strict=True):
            if power:
                value *= z**power
        found[exponents[0]] = found.get(exponents[0], Fraction(0)) + value
    return [found.get(power, Fraction(0)) for power in range(max(found) + 1)]


def _on_interval(coefficients: Sequence[Fraction], end: Fraction) -> Fraction:
    """At least the largest ``|p(t)|`` on ``[0, end]``."""
    return sum((abs(c) * end**k for k, c in enumerate(coefficients)), Fraction(0))


def on_grid(grid: Grid, state: Sequence[Fraction]) -> bool:
    """Whether a state lies on the grid at every depth, within the grid's range.

    A grid that shrinks with depth moves under every state but 0.
    """
    if not any(state):
        return True
    if grid.step.power or any((z / grid.step.coefficient).denominator != 1 for z in state):
        return False
    return grid.limit is None or max(map(abs, state)) <= grid.limit


def within_register(grid: Grid, bits: int | None, state: Sequence[Fraction]) -> bool:
    """Whether a two's-complement register of codes holds a state that is on the grid."""
    if bits is None or not any(state):
        return True
    largest = 1 << (bits - 1)
    return all(-largest <= z / grid.step.coefficient < largest for z in state)
