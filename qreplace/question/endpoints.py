"""Endpoints of controls and schedules, exact or enclosed (theory T7.8).

Producers and checkers both ask here what a control reaches; every number comes from the question.
State-independent affine atoms are summed exactly at any dimension. Other affine dynamics and
polynomial ones are integrated with validated steps, part by part: a part is a time span on which
every atom is one polynomial.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise

from qreplace.errors import InputError
from qreplace.exact.polynomial import Exponents, Polynomial, Terms, accumulate, from_terms
from qreplace.exact.taylor import (
    EnclosedState,
    SeriesField,
    State,
    advance,
    enclosed,
    exact_euler_step,
)
from qreplace.question.dynamics import AffineProblem
from qreplace.question.model import MAX_POLYNOMIAL_DIMENSION, Norm, PolynomialSystem
from qreplace.question.norms import norm_bounds
from qreplace.question.subject import Subject

PRECISION = 192
"""Binary places of an enclosure beyond the magnitude of initial state and target."""
MAX_PRECISION = 4096
MAX_PIECES = 512
"""Most pieces of a control."""
MAX_STEPS = 20_000
"""Most validated steps of a control, and Euler steps of a schedule."""
MAX_WORK = 10_000_000
"""Most products of numbers for one endpoint, as ``Endpoints`` counts them: some ten seconds."""

Field = tuple[Polynomial, ...]
Piece = tuple[Fraction, Sequence[Fraction]]
"""The end of a piece of a control, and one weight an atom."""


class NotEnclosed(Exception):
    """The validated steps of piece (or run) ``position`` find no enclosure."""

    def __init__(self, position: int) -> None:
        self.position = position
        super().__init__(f"no enclosure on piece {position}")


@dataclass(frozen=True)
class SmoothPart:
    """A time span on which atom ``j`` is the polynomial field ``atoms[j]``."""

    start: Fraction
    end: Fraction
    atoms: tuple[Field, ...]

    @cached_property
    def monomials(self) -> frozenset[Exponents]:
        """The monomials of all atoms."""
        return frozenset(
            e for atom in self.atoms for component in atom for e in component.exponents
        )

    @cached_property
    def terms(self) -> int:
        """The number of terms of all atoms."""
        return sum(len(component.exponents) for atom in self.atoms for component in atom)

    def mixed(self, weights: Sequence[Fraction]) -> list[Polynomial]:
        """The field of a mixture of the atoms."""
        sums: list[Terms] = [{} for _ in self.atoms[0]]
        for atom, weight in zip(self.atoms, weights, strict=True):
            if weight:
                for terms, component in zip(sums, atom, strict=True):
                    accumulate(terms, component, weight)
        return [from_terms(terms) for terms in sums]


class Endpoints:
    """What the controls of one question reach.

    Raises ``InputError`` when the question holds no dynamics, or affine dynamics that depend on the
    state with more than ``MAX_POLYNOMIAL_DIMENSION`` coordinates.
    """

    def __init__(self, subject: Subject, bits: int) -> None:
        self.affine: AffineProblem | None = None
        """Set when no atom depends on the state."""
        self.parts: tuple[SmoothPart, ...] = ()
        if isinstance(subject.question.system, PolynomialSystem):
            problem = subject.polynomial(bits)
            self.initial, self.target = problem.initial, problem.target
            self.horizon = problem.horizon
            self.parts = (SmoothPart(Fraction(0), problem.horizon, problem.atoms),)
        else:
            affine = subject.affine(bits)
            scale = affine.denominator
            self.initial = tuple(Fraction(n, scale) for n in affine.initial)
            self.target = tuple(Fraction(n, scale) for n in affine.target)
            self.horizon = affine.horizon
            if affine.matrix is None and affine.rate == 0:
                self.affine = affine
            elif affine.dimension > MAX_POLYNOMIAL_DIMENSION:
                raise InputError(
                    f"flows of at most {MAX_POLYNOMIAL_DIMENSION} coordinates are integrated, "
                    f"the state has {affine.dimension}",
                    remedy="affine_dynamics brackets floors of affine dynamics at any dimension.",
                )
            else:
                self.parts = affine_parts(affine)
        self.count = len(self.affine.atoms if self.affine else self.parts[0].atoms)
        self.precision = _precision((*self.initial, *self.target))

    def cuts(self, pieces: Sequence[Piece]) -> Iterator[tuple[int, SmoothPart, Fraction, Fraction]]:
        """Piece number, part, start and end of every span without a change of piece or part."""
        start = Fraction(0)
        for position, (end, _) in enumerate(pieces):
            for part in self.parts:
                low, high = max(start, part.start), min(end, part.end)
                if low < high:
                    yield position, part, low, high
            start = end

    def work(self, pieces: Sequence[Piece], steps: Sequence[int], order: int) -> int:
        """At most about how many products of numbers ``relaxed`` takes."""
        if self.affine is not None:
            spans = len(pieces) * (len(self.affine.breaks) + 1)
            return (spans + len(self.target)) * sum(map(len, self.affine.atoms))
        total = 0
        for position, part, _, _ in self.cuts(pieces):
            products = sum(max(0, sum(exponents) - 1) for exponents in part.monomials)
            sums = len(self.target) * (len(part.monomials) + 1)
            step = (order + 2) * (sums + products * (order + 2) // 2)
            total += part.terms + steps[position] * step
        return total

    def relaxed(self, pieces: Sequence[Piece], steps: Sequence[int], order: int) -> State:
        """The endpoint under piecewise-constant weights whose last piece ends at the horizon.

        Between breaks of the forcing, piece ``p`` takes ``steps[p]`` equal Taylor steps of order
        ``order``, unless its flow is a polynomial; raises ``NotEnclosed`` when they are too wide.
        """
        if self.affine is not None:
            return _summed(self.affine, _occupations(self.affine, pieces))
        state: State = self.initial
        for position, part, start, end in self.cuts(pieces):
            field = part.mixed(pieces[position][1])
            span = start, end
            after = advance(field, state, span, steps[position], order, self.precision)
            if after is None:
                raise NotEnclosed(position)
            state = after
        return state

    def scheduled_work(self, depth: int) -> int:
        """At most about how many products of numbers ``scheduled`` takes at a depth."""
        if self.affine is not None:
            return depth + len(self.target) * sum(map(len, self.affine.atoms))
        largest = max(
            sum(len(component.exponents) * (1 + component.degree) for component in atom)
            for part in self.parts
            for atom in part.atoms
        )
        return depth * (largest + len(self.target))

    def scheduled(self, runs: Sequence[tuple[int, int]]) -> State:
        """The endpoint of the Euler steps of a pure schedule, runs of ``(atom, repetitions)``.

        Raises ``NotEnclosed`` when the state leaves every bound.
        """
        step = self.horizon / sum(repetitions for _, repetitions in runs)
        if self.affine is not None:
            return _summed(self.affine, _step_sums(self.affine, runs, step))
        fields: dict[tuple[int, int], SeriesField] = {}
        state: State = self.initial
        taken = place = 0
        for position, (atom, repetitions) in enumerate(runs):
            for _ in range(repetitions):
                time = step * taken
                while self.parts[place].end <= time:
                    place += 1
                after = self._after_step((place, atom), state, time, step, fields)
                if after is None:
                    raise NotEnclosed(position)
                state, taken = after, taken + 1
        return state

    def _after_step(
        self,
        key: tuple[int, int],
        state: State,
        time: Fraction,
        step: Fraction,
        fields: dict[tuple[int, int], SeriesField],
    ) -> State | None:
        """One Euler step with atom ``key[1]`` on part ``key[0]``, in rationals while short."""
        components = self.parts[key[0]].atoms[key[1]]
        if not isinstance(state, EnclosedState):
            exact = exact_euler_step(components, state, time, step)
            if exact is not None:
                return exact
        if key not in fields:
            fields[key] = SeriesField(components, self.precision)
        return fields[key].euler_step(enclosed(state, self.precision), time, step)


def error_bound(norm: Norm, state: State, target: Sequence[Fraction]) -> Fraction:
    """An upper bound of ``||z - y||`` for every z of a state; its very norm where that is exact.

    Every norm here grows with the absolute values of the entries.
    """
    if isinstance(state, EnclosedState):
        sizes = [
            _largest_distance(c, r, y, state.bits)
            for c, r, y in zip(state.centre, state.radius, target, strict=True)
        ]
        return norm_bounds(norm, sizes, 1 << state.bits)[1]
    differences = [z - y for z, y in zip(state, target, strict=True)]
    common = math.lcm(*(value.denominator for value in differences))
    numerators = [value.numerator * (common // value.denominator) for value in differences]
    return norm_bounds(norm, numerators, common)[1]


def _largest_distance(centre: int, radius: int, aim: Fraction, bits: int) -> int:
    """At least ``|z - aim|`` in units of ``2**-bits``."""
    distance = abs(centre * aim.denominator - (aim.numerator << bits))
    return radius - (-distance // aim.denominator)


def _precision(values: Sequence[Fraction]) -> int:
    largest = max(map(abs, values))
    if not largest:
        return PRECISION
    magnitude = largest.numerator.bit_length() - largest.denominator.bit_length()
    return PRECISION + min(abs(magnitude), MAX_PRECISION)


# --- affine dynamics ------------------------------------------------------------------------------


def affine_parts(affine: AffineProblem) -> tuple[SmoothPart, ...]:
    """Affine dynamics as polynomials, cut where a forcing changes its polynomial."""
    ends = (Fraction(0), *affine.breaks, affine.horizon)
    return tuple(
        SmoothPart(
            start,
            end,
            tuple(_affine_field(affine, j, start, end) for j in range(len(affine.atoms))),
        )
        for start, end in pairwise(ends)
    )


def _affine_field(affine: AffineProblem, atom: int, start: Fraction, end: Fraction) -> Field:
    size = affine.dimension
    forcing = affine.piece_at(atom, start, end).coefficients
    units = [tuple(int(i == column + 1) for i in range(size + 1)) for column in range(size)]
    field = []
    for row in range(size):
        terms: Terms = {units[column]: affine.entry(row, column) for column in range(size)}
        for power, values in enumerate(forcing):
            terms[power, *([0] * size)] = Fraction(values[row], affine.denominator)
        field.append(from_terms(terms))
    return tuple(field)


Moments = list[list[list[Fraction]]]
"""By atom, piece of its forcing, and power of time."""


def _summed(affine: AffineProblem, moments: Moments) -> State:
    """``z_0 + sum of moments[j][p][k] * coefficients[k]`` over atoms j and their pieces p."""
    flat = [value for atom in moments for piece in atom for value in piece]
    common = math.lcm(*(value.denominator for value in flat))
    total = [n * common for n in affine.initial]
    for atom, by_piece in zip(affine.atoms, moments, strict=True):
        for forcing, values in zip(atom, by_piece, strict=True):
            for coefficients, value in zip(forcing.coefficients, values, strict=True):
                factor = value.numerator * (common // value.denominator)
                if factor:
                    total = [a + factor * b for a, b in zip(total, coefficients, strict=True)]
    return tuple(Fraction(n, common * affine.denominator) for n in total)


def _no_moments(affine: AffineProblem) -> Moments:
    return [[[Fraction(0)] * len(p.coefficients) for p in atom] for atom in affine.atoms]


def _occupations(affine: AffineProblem, pieces: Sequence[Piece]) -> Moments:
    """``int w_j(t) t^k dt`` over each piece of each forcing."""
    moments = _no_moments(affine)
    start = Fraction(0)
    for end, weights in pieces:
        for j, weight in enumerate(weights):
            for p, forcing in enumerate(affine.atoms[j]):
                low, high = max(start, forcing.start), min(end, forcing.end)
                if weight and low < high:
                    for k in range(len(forcing.coefficients)):
                        span = (high ** (k + 1) - low ** (k + 1)) / (k + 1)
                        moments[j][p][k] += weight * span
        start = end
    return moments


def _step_sums(affine: AffineProblem, runs: Sequence[tuple[int, int]], step: Fraction) -> Moments:
    """``h sum of t_n^k`` over the steps n at which an atom is taken within each of its pieces."""
    moments = _no_moments(affine)
    taken = 0
    for atom, repetitions in runs:
        for p, forcing in enumerate(affine.atoms[atom]):
            # Steps n with start <= n h < end: a forcing holds from its start on.
            low = max(taken, math.ceil(forcing.start / step))
            high = min(taken + repetitions, math.ceil(forcing.end / step))
            if low < high:
                for k in range(len(forcing.coefficients)):
                    total = high - low if k == 0 else sum(n**k for n in range(low, high))
                    moments[atom][p][k] += step ** (k + 1) * total
        taken += repetitions
    return moments
