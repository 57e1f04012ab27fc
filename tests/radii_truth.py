"""Executed cases with everything theory T4's radii need, and those formulas written out once more.

The systems are stable (steps that contract in linf) or not; constants are row sums, recomputed.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Literal

from declared_questions import bounded_variation, declared, growth, premise, quantized
from lifted_questions import LINF

from qreplace.premises import ABSENT
from qreplace.question import model as q
from qreplace.simulate.model import (
    ROUNDINGS,
    Arithmetic,
    Atom,
    Matrix,
    Rounding,
    Semantics,
    System,
    Vector,
    grid,
)

Kind = Literal["scalar", "vector", "relu", "soft_threshold"]
KINDS: tuple[Kind, ...] = ("scalar", "vector", "relu", "soft_threshold")


def number(rng: random.Random, most: int = 6, parts: int = 6) -> Fraction:
    return Fraction(rng.randint(-most, most), rng.randint(1, parts))


def vector(rng: random.Random, size: int) -> Vector:
    return tuple(number(rng) for _ in range(size))


def matrix(rng: random.Random, rows: int, columns: int) -> Matrix:
    return tuple(vector(rng, columns) for _ in range(rows))


def row_sum(own: Matrix) -> Fraction:
    """The operator norm in linf."""
    return max(sum(map(abs, row), Fraction(0)) for row in own)


def shrunk(own: Matrix, norm: Fraction) -> Matrix:
    """Rescaled to an operator norm; zero stays zero."""
    size = row_sum(own) or Fraction(1)
    return tuple(tuple(norm * x / size for x in row) for row in own)


def identity(size: int, factor: int) -> Matrix:
    return tuple(tuple(Fraction(factor * (i == j)) for j in range(size)) for i in range(size))


def random_atom(rng: random.Random, kind: Kind, size: int, stable: bool) -> Atom:
    """``R(z) - z`` with ``Lip R < 1`` where stable; else any field of that kind."""
    rate = Fraction(rng.randint(1, 9), 10) if stable else Fraction(rng.randint(1, 12), 5)
    offset = vector(rng, size)
    if kind in ("scalar", "vector"):
        own = shrunk(matrix(rng, size, size), rate)
        if stable:
            leak = identity(size, -1)
            own = tuple(
                tuple(a + b for a, b in zip(r, s, strict=True))
                for r, s in zip(own, leak, strict=True)
            )
        return Atom(offset, own)
    hidden = size if kind == "soft_threshold" else rng.randint(1, 3)
    inner, outer = shrunk(matrix(rng, hidden, size), rate), identity(size, 1)
    if kind == "relu":
        inner = shrunk(inner, Fraction(rng.randint(1, 3)))
        outer = shrunk(matrix(rng, size, hidden), rate / (row_sum(inner) or 1))
    proximal = stable or (kind == "soft_threshold" and rng.random() < 0.5)
    return Atom(
        offset,
        identity(size, -1) if proximal else None,
        inner,
        vector(rng, hidden),
        outer,
        kind,
        Fraction(rng.randint(0, 3), 4) if kind == "soft_threshold" else Fraction(0),
    )


def random_system(rng: random.Random, kind: Kind | None = None) -> System:
    """One to three atoms of one kind, all stable or none."""
    chosen = kind or rng.choice(KINDS)
    size = 1 if chosen == "scalar" else rng.randint(1, 3)
    stable = rng.random() < 0.5
    atoms = tuple(random_atom(rng, chosen, size, stable) for _ in range(rng.randint(1, 3)))
    return System(atoms, vector(rng, size), Fraction(rng.randint(1, 4), 2))


def lipschitz(atom: Atom, step: Fraction | None = None) -> Fraction:
    """Of the field, or of ``I + step G`` for a step; linf, by row sums."""
    scale, size = (Fraction(1) if step is None else step), len(atom.offset)
    sums = []
    for i in range(size):
        own = [scale * x for x in atom.matrix[i]] if atom.matrix else [Fraction(0)] * size
        if step is not None:
            own[i] += 1
        total = sum(map(abs, own), Fraction(0))
        if atom.inner and atom.outer:
            for v, row in zip(atom.outer[i], atom.inner, strict=True):
                total += scale * abs(v) * sum(map(abs, row), Fraction(0))
        sums.append(total)
    return max(sums)


def cell(step: Fraction, rounding: Rounding) -> Fraction:
    """The rounding radius of a grid in linf (theory T4): half a step, or twice that."""
    return step / 2 if rounding.startswith("nearest") else step


@dataclass(frozen=True)
class Case:
    """A run to make, with what its radius is made of."""

    system: System
    schedule: list[int]
    arithmetic: Arithmetic
    step: Fraction
    """Of the grid that is rounded to in every step: the state's or the increment's."""
    carry_step: Fraction | None
    activation_step: Fraction | None

    @property
    def depth(self) -> int:
        return len(self.schedule)

    @property
    def h(self) -> Fraction:
        return self.system.horizon / self.depth

    @cached_property
    def lipschitz(self) -> Fraction:
        return max(lipschitz(atom) for atom in self.system.atoms)

    @cached_property
    def kappa(self) -> Fraction:
        return max(lipschitz(atom, self.h) for atom in self.system.atoms)

    @property
    def rho(self) -> Fraction:
        return cell(self.step, self.arithmetic.rounding)

    @property
    def carry_rho(self) -> Fraction:
        step = self.carry_step
        return Fraction(0) if step is None else cell(step, self.arithmetic.rounding)

    @cached_property
    def eta(self) -> Fraction:
        """Before the run: every hidden value is off by a cell of the activation's grid."""
        if self.activation_step is None:
            return Fraction(0)
        sums = [row_sum(atom.outer) for atom in self.system.atoms if atom.outer is not None]
        return max(sums, default=Fraction(0)) * cell(self.activation_step, self.arithmetic.rounding)

    @property
    def start(self) -> Fraction:
        """How far the stored initial state may be from the given one."""
        state = self.arithmetic.state
        if state is None:
            return Fraction(0)
        step = state.steps[0][0]  # type: ignore[union-attr]
        on_grid = all((x / step).denominator == 1 for x in self.system.initial)
        return Fraction(0) if on_grid else cell(step, self.arithmetic.rounding)

    def radius(
        self, kappa: Fraction | None = None, *, path: bool = False, eta: Fraction | None = None
    ) -> Fraction:
        """``A_D`` by T4.2, T4.3, T4.5, T4.6 and T4.7, transcribed; over all prefixes for a path."""
        kappa = self.kappa if kappa is None else kappa
        field_error = self.eta if eta is None else eta
        sum_of_powers = sum((kappa**i for i in range(self.depth)), Fraction(0))  # S1 / h
        s1 = self.h * sum_of_powers
        if self.arithmetic.semantics in ("write_back", "increment"):
            total = (self.rho + self.h * field_error) * sum_of_powers
        else:
            total = self.rho + (self.lipschitz * self.rho + field_error) * s1
            total += self.carry_rho * sum_of_powers
        grown = kappa**self.depth
        return total + self.start * (max(Fraction(1), grown) if path else grown)

    def question(self, **blocks: object) -> q.Question:
        """The same as a question with declared constants: the project's own radius is asked for."""
        own = self.arithmetic
        rounding: q.Rounding = "nearest" if own.rounding.startswith("nearest") else "directed"
        if own.rounding == "stochastic":
            rounding = "stochastic"
        carry = None
        if self.carry_step is not None:
            carry = q.Grid(q.DepthRule(self.carry_step, 0), rounding, None)
        semantics = "error_feedback" if own.semantics == "rounded_carry" else own.semantics
        values: dict[str, object] = {
            "carry": carry,
            "field_error": premise(self.eta) if self.eta else ABSENT,
            "initial_error": premise(self.start) if self.start else ABSENT,
            **blocks,
        }
        rate = (self.kappa - 1) / self.h
        return declared(
            norm=LINF,
            dimension=self.system.dimension,
            atoms=len(self.system.atoms),
            horizon=self.system.horizon,
            execution=quantized(semantics, self.step, 0, rounding, **values),  # type: ignore[arg-type]
            synthesis=bounded_variation(
                field_bound=premise(self._field_bound()),
                state_lipschitz=premise(self.lipschitz),
                growth=growth(rate, self.h),
            ),
        )

    def _field_bound(self) -> Fraction:
        """Of state-independent atoms; nothing else here asks for one."""
        return max(max(map(abs, atom.offset)) for atom in self.system.atoms)


def random_case(
    rng: random.Random, semantics: Semantics, *, activation: bool = True, most: int = 20
) -> Case:
    """A system, a schedule and an arithmetic with registers as wide as needed."""
    system = random_system(rng)
    schedule = [rng.randrange(len(system.atoms)) for _ in range(rng.randint(1, most))]
    step = Fraction(rng.randint(1, 3), rng.randint(1, 60))
    carry = step / rng.randint(1, 9) if semantics == "rounded_carry" else None
    hidden = None
    if activation and system.atoms[0].inner is not None and rng.random() < 0.7:
        hidden = Fraction(1, rng.randint(1, 30))
    state, increment = grid(step), None
    if semantics != "write_back" and rng.random() < 0.7:
        # The increment's own grid, with the state on a finer one or on none.
        increment = grid(step)
        state = grid(step / rng.randint(1, 4))
    own = Arithmetic(
        semantics,
        rng.choice(ROUNDINGS),
        state,
        increment,
        None if carry is None else grid(carry),
        None if hidden is None else grid(hidden),
        None,
        rng.getrandbits(40),
    )
    if increment is not None and rng.random() < 0.3:
        own = replace(own, state=None)
    return Case(system, schedule, own, step, carry, hidden)
