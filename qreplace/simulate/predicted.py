"""What theory predicts for a simulated system, in the linf norm and exact rationals (T3.3, T4).

The closed forms are those of ``radii``, which reads them off a question; a test compares the two.
Atoms are autonomous and their constants hold for every state, so no tube is involved.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from qreplace.errors import InputError
from qreplace.exact.fixed_point import MAX_EXPONENT
from qreplace.exact.rational import round_up
from qreplace.radii.depth_function import EulerGrowth, phi_upper
from qreplace.simulate.fields import exact_field, linf_constants, lipschitz
from qreplace.simulate.model import Atom, Rounding, Semantics, System

BITS = 160
"""Radii are rounded up to this many bits after the point where they would be longer."""
NEAREST: tuple[Rounding, ...] = ("nearest_even", "nearest_away")

FORMULAS: dict[Semantics, str] = {
    "ideal": "T4.2 eta S1",
    "write_back": "T4.3 (rho_z + h eta) S1 / h",
    "increment": "T4.5 (rho + h eta) S1 / h",
    "error_feedback": "T4.6 rho + (L rho + eta) S1",
    "rounded_carry": "T4.6 rho + (L rho + eta) S1, T4.7 rho_r S1 / h",
}


@dataclass(frozen=True, slots=True)
class StepConstants:
    """The constants of a system at one depth, all of them upper ends (theory T3, notation)."""

    depth: int
    step: Fraction
    """h = T / D"""
    lipschitz: Fraction
    """L"""
    rate: Fraction
    """m = (kappa - 1) / h, of this very step."""
    growth: Fraction
    """S1 = h sum_{i<D} kappa^i"""
    field_bound: Fraction
    """B, on a ball about the initial state that no relaxed or Euler path leaves."""
    difference_bound: Fraction
    difference_lipschitz: Fraction
    atoms: int


def constants_at(system: System, depth: int) -> StepConstants:
    """The constants of ``system`` at a depth.

    The ball: with ``g = max_j ||G_j(z_0)||`` an Euler path satisfies ``||u_{k+1} - z_0|| <= kappa
    ||u_k - z_0|| + h g``, so it stays within ``S1 g`` of the initial state; a relaxed one stays
    within ``Phi_m(T) g``, since a step map of factor ``1 + h m`` leaves a logarithmic norm of at
    most m. Raises ``InputError`` where the growth is too steep to enclose.
    """
    step = system.horizon / depth
    lip, kappa = linf_constants(system, step)
    rate = (kappa - 1) / step
    if abs(rate * system.horizon) > MAX_EXPONENT:
        raise InputError(
            f"growth rate times horizon is {float(rate * system.horizon):.6g} at depth {depth}; "
            f"needed at most {MAX_EXPONENT} in size",
            remedy="Shorten the horizon or scale the atoms down.",
        )
    growth = growth_sum(rate, system.horizon, depth)
    starts = [exact_field(atom, system.initial) for atom in system.atoms]
    speed = max(abs(g) for field in starts for g in field)
    radius = _ball(speed, rate, growth, system.horizon)
    pair = pair_lipschitz(system.atoms)
    apart = max(max(column) - min(column) for column in zip(*starts, strict=True))
    return StepConstants(
        depth=depth,
        step=step,
        lipschitz=lip,
        rate=rate,
        growth=growth,
        field_bound=short(speed + lip * radius),
        difference_bound=short(apart + pair * radius),
        difference_lipschitz=pair,
        atoms=len(system.atoms),
    )


def _ball(speed: Fraction, rate: Fraction, growth: Fraction, horizon: Fraction) -> Fraction:
    return speed * max(growth, phi_upper(rate, horizon, BITS))


def path_radius(system: System, depth: int) -> Fraction:
    """A distance from the initial state that no relaxed or Euler path at that depth exceeds."""
    own = constants_at(system, depth)
    return _ball(largest_start(system), own.rate, own.growth, system.horizon)


def growth_sum(rate: Fraction, horizon: Fraction, depth: int) -> Fraction:
    """S1, exact where it is short, else rounded up."""
    own = EulerGrowth(rate, horizon)
    exact = own.exact(depth)
    if exact is not None and exact.denominator.bit_length() <= BITS:
        return exact
    high = own.over(depth, depth, BITS)[1]
    if high is None:
        raise InputError(f"the growth at depth {depth} is not bounded")
    return Fraction(high, 1 << BITS)


def short(value: Fraction) -> Fraction:
    """The number, rounded up if it is long."""
    return value if value.denominator.bit_length() <= BITS else round_up(value, BITS)


def pair_lipschitz(atoms: Sequence[Atom]) -> Fraction:
    """A Lipschitz constant of every difference of two atoms; 0 where they share what reads z."""
    if all(_reading(atom) == _reading(atoms[0]) for atom in atoms):
        return Fraction(0)
    if any(atom.inner is not None for atom in atoms):
        return 2 * max(lipschitz(atom) for atom in atoms)
    q = len(atoms[0].offset)
    zero = (Fraction(0),) * q
    matrices = [atom.matrix or (zero,) * q for atom in atoms]
    return max(
        sum((abs(a - b) for a, b in zip(row, other, strict=True)), Fraction(0))
        for i, one in enumerate(matrices)
        for two in matrices[:i]
        for row, other in zip(one, two, strict=True)
    )


def _reading(atom: Atom) -> tuple[object, ...]:
    return atom.matrix, atom.inner, atom.bias, atom.outer, atom.activation, atom.threshold


def chairman_half_l1(atoms: int) -> Fraction:
    """The largest half-l1 prefix discrepancy of the chairman rule (theory T2.2)."""
    if atoms == 1:
        return Fraction(0)
    return (atoms // 2) * (1 - Fraction(1, 2 * atoms - 2))


def synthesis_radius(own: StepConstants) -> Fraction:
    """``Q_D + P_D`` of theory T3.3 for a chairman schedule of constant weights.

    The endpoint of the ideal run is within it of the relaxed one. Without state dependence Q_D = 0
    (theory T7.13).
    """
    horizon = own.step * own.depth
    quadrature = own.step * own.lipschitz * own.field_bound * own.growth / 2
    weight = chairman_half_l1(own.atoms) * (
        own.difference_bound + own.difference_lipschitz * own.field_bound * horizon
    )
    return short(quadrature + own.step * weight * (1 + own.lipschitz * own.growth))


@dataclass(frozen=True, slots=True)
class Cells:
    """Rounding errors of one register each: rho_z or rho, rho_r, eta, ``||z_hat_0 - z_0||``."""

    own: Fraction = Fraction(0)
    """Of the state where it is written back, of the increment otherwise."""
    carry: Fraction = Fraction(0)
    field_error: Fraction = Fraction(0)
    initial_error: Fraction = Fraction(0)


def rounding_cell(step: Fraction, rounding: Rounding) -> Fraction:
    """The largest error of one rounding: half a step to nearest, else a step."""
    return step / 2 if rounding in NEAREST else step


def arithmetic_radius(semantics: Semantics, own: StepConstants, cells: Cells) -> Fraction:
    """A_D of one semantics (theory T4.2, T4.3, T4.5 to T4.7), linf."""
    kappa_power = 1 + own.rate * own.growth  # kappa^D
    total = cells.field_error * own.growth + kappa_power * cells.initial_error
    match semantics:
        case "ideal":
            pass
        case "write_back" | "increment":
            total += cells.own * own.growth / own.step
        case "error_feedback":
            total += cells.own * (1 + own.lipschitz * own.growth)
        case "rounded_carry":
            total += cells.own * (1 + own.lipschitz * own.growth)
            total += cells.carry * own.growth / own.step
    return short(total)


def largest_start(system: System) -> Fraction:
    """``max_j,i |G_j,i(z_0)|``, the B of the freezing line (theory T4.4)."""
    return max(abs(g) for atom in system.atoms for g in exact_field(atom, system.initial))


def freezing_depth(system: System, grid_step: Fraction) -> Fraction:
    """``2 T B / Delta``: at every depth above it nearest write-back never moves (theory T4.4)."""
    return 2 * system.horizon * largest_start(system) / grid_step


def is_frozen(system: System, depth: int, grid_step: Fraction, rounding: Rounding) -> bool:
    """Whether theory T4.4 applies: nearest rounding, start on the grid, increments below half."""
    if rounding not in NEAREST:
        return False
    if any((z / grid_step).denominator != 1 for z in system.initial):
        return False
    return depth > freezing_depth(system, grid_step)


def write_back_optimum(own: StepConstants, horizon: Fraction, cell: Fraction) -> float:
    """``sqrt(C_syn T / (rho_z S1))``, where the two terms of the prediction balance (theory T4.3).

    ``C_syn = D (Q_D + P_D)`` and S1 of the depth that ``own`` is about; a float, for drawing.
    """
    constant = own.depth * synthesis_radius(own)
    if not constant or not own.growth:
        return math.nan
    return math.sqrt(constant * horizon / (cell * own.growth))
