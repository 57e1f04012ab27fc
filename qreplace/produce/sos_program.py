"""Sums-of-squares programmes and their floats; what one attempt may cost (theory T7.9).

A programme asks for parameters ``theta`` and sums of squares with

    fixed_k + sum_a theta_a linear_ka = s_k0 + sum_i s_ki g_ki        for every identity k

that maximise ``objective . theta``. Its dual has one vector of moments ``y_k`` an identity and the
localising matrices ``M(g_ki y_k) >= 0``; it has far fewer variables, and every interior-point
method returns Gram matrices and parameters as multipliers. Gram matrices are kept above
``margin * I``: that costs ``margin`` times the traces, and leaves room for the exact repair.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from qreplace.errors import ProducerFailed
from qreplace.exact.polynomial import ZERO, Exponents, Polynomial, constant
from qreplace.produce.monomials import count, monomials, product

Floats = NDArray[np.float64]
Solver = Literal["CLARABEL", "SCS"]

MAX_GRAM_ROWS = 130
MAX_MOMENTS = 12_000
"""Most monomials over all identities of one programme."""


@dataclass(frozen=True)
class Budget:
    """What one attempt may cost.

    ``seconds`` is for the attempt as a whole, programme after programme; ``iterations`` is for one
    run of a solver (``None``: a number that fits the solver).
    """

    seconds: float | None = None
    iterations: int | None = None
    gram_rows: int = MAX_GRAM_ROWS
    megabytes: int = 2000
    """Memory that an interior-point method's dense blocks may take, estimated before it starts."""


@dataclass
class Clock:
    """A budget being used up."""

    budget: Budget = field(default_factory=Budget)
    started: float = field(default_factory=time.perf_counter)
    solver_seconds: float = 0.0
    exact_seconds: float = 0.0

    @property
    def left(self) -> float | None:
        """Seconds left; negative when overdrawn, ``None`` when there is no limit."""
        if self.budget.seconds is None:
            return None
        return self.budget.seconds - (time.perf_counter() - self.started)

    @property
    def exhausted(self) -> bool:
        """Whether no time is left."""
        return self.left is not None and self.left <= 0

    def remaining(self) -> float | None:
        """Seconds left; raises ``ProducerFailed`` when there are none."""
        left = self.left
        if left is not None and left <= 0:
            raise ProducerFailed(
                f"the time budget of {self.budget.seconds:g} s is used up",
                remedy="Give more seconds or a lower order",
            )
        return left


class NoSuchSquares(ProducerFailed):
    """The solver holds the programme to be infeasible: the moments fall without end."""


@dataclass(frozen=True)
class GramBlock:
    """A multiplier ``b^T Q b`` of one constraint; ``number`` is ``None`` for the free part."""

    number: int | None
    constraint: Polynomial
    basis: tuple[Exponents, ...]


@dataclass(frozen=True)
class Identity:
    """One identity of a programme; the first block is the free one."""

    name: str
    fixed: Polynomial
    linear: Mapping[int, Polynomial]
    blocks: tuple[GramBlock, ...]

    @cached_property
    def support(self) -> tuple[Exponents, ...]:
        """Every monomial that can occur on either side, in a fixed order."""
        found = set(self.fixed.exponents)
        for part in self.linear.values():
            found.update(part.exponents)
        for block in self.blocks:
            pairs = {product(a, b) for a in block.basis for b in block.basis}
            found.update(product(m, e) for m in pairs for e in block.constraint.exponents)
        return tuple(sorted(found, key=lambda e: (sum(e), e)))


@dataclass(frozen=True)
class ParameterSet:
    """What some parameters are restricted to; the others are free.

    ``budget``: ``theta >= 0`` and ``sum sizes . theta <= 1``. ``l1``, ``linf``, ``l2``: a weighted
    norm ``|| sizes * theta ||`` is at most 1, ``l2`` in consecutive ``groups`` whose norms add up.
    """

    kind: Literal["budget", "l1", "linf", "l2"]
    parameters: tuple[int, ...]
    sizes: tuple[Fraction, ...]
    group: int = 1


@dataclass(frozen=True)
class Program:
    """Identities in ``size`` parameters, and what is maximised."""

    identities: tuple[Identity, ...]
    size: int
    objective: Mapping[int, Fraction]
    sets: tuple[ParameterSet, ...] = ()


@dataclass(frozen=True)
class FloatSolution:
    """A solver's answer: nothing about it is certain.

    ``grams[k][i]`` belongs to block i of identity k; ``moments[k]`` to its support.
    """

    parameters: Floats
    grams: tuple[tuple[Floats, ...], ...]
    moments: tuple[Floats, ...]
    value: float
    status: str


def identity(
    name: str,
    fixed: Polynomial,
    linear: Mapping[int, Polynomial],
    constraints: Sequence[tuple[int, Polynomial]],
    variables: Sequence[int],
    arity: int,
    degree: int,
) -> Identity:
    """An identity whose two sides have degree at most ``degree``, which is even.

    The multiplier of ``g_i`` gets every monomial with which ``s_i g_i`` keeps to that degree.
    """
    one = constant(Fraction(1), arity)
    blocks = [GramBlock(None, one, monomials(variables, arity, degree // 2))]
    for number, polynomial in constraints:
        if polynomial == ZERO or polynomial.degree > degree:
            continue
        half = (degree - polynomial.degree) // 2
        blocks.append(GramBlock(number, polynomial, monomials(variables, arity, half)))
    return Identity(name, fixed, linear, tuple(blocks))


def require_size(variables: int, degree: int, identities: int, budget: Budget) -> None:
    """Raise ``ProducerFailed`` for a programme that is too large to be worth starting."""
    rows = count(variables, degree // 2)
    if rows > budget.gram_rows:
        raise ProducerFailed(
            f"degree {degree} in {variables} variables needs Gram matrices of {rows} rows; "
            f"at most {budget.gram_rows} are tried",
            remedy="Ask for a lower order, or for blocks",
        )
    moments = count(variables, degree) * identities
    if moments > MAX_MOMENTS:
        raise ProducerFailed(
            f"degree {degree} in {variables} variables and {identities} identities needs "
            f"{moments} moments; at most {MAX_MOMENTS} are tried",
            remedy="Ask for a lower order, or for blocks",
        )


def require_memory(program: Program, budget: Budget) -> None:
    """Raise ``ProducerFailed`` when an interior-point method's dense blocks would not fit.

    It holds a dense square block a cone; first-order methods do not.
    """
    sizes = [len(b.basis) for part in program.identities for b in part.blocks]
    megabytes = sum((n * (n + 1) // 2) ** 2 for n in sizes) * 8 // 2**20
    if megabytes > budget.megabytes:
        raise ProducerFailed(
            f"Gram matrices of up to {max(sizes)} rows need about {megabytes} MB in an "
            f"interior-point method; {budget.megabytes} MB may be used",
            remedy="Ask for a lower order, or for the solver SCS",
        )
