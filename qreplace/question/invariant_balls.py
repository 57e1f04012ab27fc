"""Constants of piecewise-affine systems and the balls that hold their states (theory T8.1).

An atom is ``G(z)(y) = V phi(W y + S z + b) + D z + c`` with ``D = A - leak I``. Every activation
has slopes in [0, 1], so for two states ``G(z) - G(z') = (V P S + D) (z - z')`` with a diagonal P of
slopes. That gives, for every state and every input,

- ``L``, a bound of ``||V P S + D||``;
- ``m`` with ``||I + h (V P S + D)|| <= 1 + h m`` for steps ``h <= h_0 = 1 / leak``, the largest
  leak of an atom. It is enough to see it at ``h_0``: a shorter step is a mixture of that step and
  of standing still, so ``m = (kappa(h_0) - 1) / h_0``, at most ``||V|| ||S|| + ||A|| - leak``;
- ``g``, a bound of ``||G_j(z_0)(y)||`` over the inputs asked about.

States stay within ``g S`` of ``z_0``, S a bound of ``Phi_m(T)`` and of ``h sum kappa^i`` at every
depth; for ``m < 0`` within ``g / |m|`` for all time, the invariant ball of T8.1 (there ``z_0 = 0``
and ``g = W_* Y``). On that ball the fields are at most ``g + L`` times the radius.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from operator import mul

from qreplace.errors import InputError
from qreplace.exact.fixed_point import exponential
from qreplace.exact.intervals import magnitude
from qreplace.question.atom_sizes import (
    AtomSizes,
    Inputs,
    Rows,
    constant_part,
    hidden_range,
    matrix_norm,
    output_range,
    rational,
    spectral_upper,
)
from qreplace.question.model import FullDomain, L2Norm, Norm, Question
from qreplace.question.operator_bounds import (
    IntervalRows,
    euclidean,
    norm_upper,
    operator_upper,
)
from qreplace.question.piecewise_problem import PwaProblem

ZERO = Fraction(0)

MAX_PRODUCTS = 2_000_000
"""Most products of the atoms' Jacobians: larger systems are given no constants."""
MAX_PAIRED_ATOMS = 32
LARGEST_EXPONENT = 64
PHI_BITS = 192


def phi_upper(rate: Fraction, horizon: Fraction) -> Fraction:
    """An upper bound of ``Phi_m(T) = (e^{mT} - 1) / m``; raises ``InputError`` where m T is large.

    For ``m < 0`` the bounds T and ``1 / |m|`` serve where the exponential is not worth its bits.
    """
    if rate == 0:
        return horizon
    if abs(rate) * horizon > LARGEST_EXPONENT or abs(rate) * horizon < Fraction(1, 1 << 64):
        if rate < 0:
            return min(horizon, -1 / rate)
        if rate * horizon > LARGEST_EXPONENT:
            raise InputError(f"the growth rate times the horizon exceeds {LARGEST_EXPONENT}")
        return horizon * (1 + rate * horizon)
    low, high = exponential(rate * horizon, PHI_BITS)
    end = high if rate > 0 else low
    return (Fraction(end, 1 << PHI_BITS) - 1) / rate


def growth_factor(rate: Fraction, horizon: Fraction) -> Fraction | None:
    """An upper bound of ``Phi_m(T)`` and of ``h sum_{i<k} kappa^i`` at every depth (theory T3).

    ``None`` where it is too large to enclose.
    """
    if rate < 0:
        return min(horizon, -1 / rate)
    return None if rate * horizon > LARGEST_EXPONENT else phi_upper(rate, horizon)


@dataclass(frozen=True)
class PwaConstants:
    """Constants of a dictionary, outward, in one norm (module docstring).

    ``lipschitz`` L and ``rate`` m hold for every state and input; ``start`` is g.
    ``step_limit`` is the largest step of m, None where m is L and holds at every step. The
    difference constants are maxima over pairs of atoms: Lipschitz, and at ``z_0``.
    """

    horizon: Fraction
    lipschitz: Fraction
    rate: Fraction
    step_limit: Fraction | None
    start: Fraction
    difference_lipschitz: Fraction
    difference_start: Fraction

    @property
    def invariant_radius(self) -> Fraction:
        """``g / |m|``: holds relaxed states, and Euler states of steps up to ``step_limit``.

        Raises ``InputError`` for a system that is not contractive.
        """
        if self.rate >= 0:
            raise InputError(
                "no ball is invariant: ||V|| ||S|| + ||A|| is not below the leak "
                "(finite horizons are still bounded by the growth rate)"
            )
        return -self.start / self.rate

    def reach(self, *, every_step: bool = False) -> Fraction | None:
        """How far states get from ``z_0`` within the horizon, relaxed or Euler at every depth.

        With ``every_step`` for Euler steps of any size, by L; else for those up to ``step_limit``.
        ``None`` where the growth is too large to enclose.
        """
        factor = growth_factor(self.lipschitz if every_step else self.rate, self.horizon)
        return None if factor is None else self.start * factor

    def field_bound(self, radius: Fraction) -> Fraction:
        """B on the ball of this radius about ``z_0``."""
        return self.start + self.lipschitz * radius

    def difference_bound(self, radius: Fraction) -> Fraction:
        """The largest ``||G_i - G_j||`` on that ball."""
        return self.difference_start + self.difference_lipschitz * radius

    def step_factor(self, step: Fraction) -> Fraction:
        """A Lipschitz constant of every ``z + h G_j(z)``."""
        contracts = self.step_limit is None or step <= self.step_limit
        return 1 + step * (self.rate if contracts else self.lipschitz)

    @property
    def relaxed_speed(self) -> Fraction:
        """B along relaxed trajectories; raises ``InputError`` where growth is not enclosed."""
        return self.field_bound(self.start * phi_upper(self.rate, self.horizon))


def pwa_constants(
    problem: PwaProblem, norm: Norm, inputs: Inputs, *, pairs: bool = True
) -> PwaConstants:
    """The constants over these inputs; raises ``InputError`` for systems that are too large.

    Without ``pairs``, differences of atoms are bounded by twice an atom alone.
    """
    hidden = sum(max(len(field.bias), 1) for field in problem.fields)
    if problem.dimension**2 * hidden > MAX_PRODUCTS:
        raise InputError("the system is too large for its constants to be computed")
    atoms = [AtomSizes(field, norm) for field in problem.fields]
    initial = [Fraction(n, problem.initial_unit) for n in problem.initial]
    lipschitz = max(atom.jacobian_norm(ZERO) for atom in atoms)
    rate, limit = lipschitz, None
    leak = max(atom.leak for atom in atoms)
    if leak > 0:
        found = (max(atom.step_norm(1 / leak) for atom in atoms) - 1) * leak
        if found < lipschitz:
            rate, limit = found, 1 / leak
    start = max(_start_bound(atom, initial, inputs) for atom in atoms)
    slope, apart = 2 * lipschitz, 2 * start
    if pairs and len(atoms) <= MAX_PAIRED_ATOMS:
        both = list(combinations(atoms, 2))
        slope = max((_pair_lipschitz(a, b) for a, b in both), default=ZERO)
        apart = max((_pair_start(a, b, initial, inputs) for a, b in both), default=ZERO)
    return PwaConstants(
        problem.horizon,
        lipschitz,
        rate,
        limit,
        start,
        min(slope, 2 * lipschitz),
        min(apart, 2 * start),
    )


def _start_bound(atom: AtomSizes, initial: Sequence[Fraction], inputs: Inputs) -> Fraction:
    """A bound of ``||G(z_0)(y)||``."""
    norm = atom.norm
    if inputs.region is None:
        values = (atom.forcing(point, initial) for point in inputs.points)
        return max(norm_upper(norm, [abs(x) for x in value]) for value in values)
    field = atom.field
    constant = constant_part(field, initial)
    box = hidden_range(field, initial, inputs)
    ranges = output_range(atom.output, box)
    sides = [(low + c, high + c) for (low, high), c in zip(ranges, constant, strict=True)]
    bound = norm_upper(norm, [magnitude(side) for side in sides])
    weights = rational(field.input_weights, field.inner)
    at_start = [
        Fraction(b, field.inner) + sum(map(mul, row, initial), ZERO)
        for b, row in zip(field.bias, atom.state, strict=True)
    ]
    rest = norm_upper(norm, [abs(c) for c in constant])
    plain = field.atom.output_weights is None
    if plain or euclidean(norm, len(constant)):
        hidden = _hidden_largest(inputs, norm, weights, at_start, plain)
        if hidden is not None:
            factor = Fraction(1) if plain else spectral_upper(atom.output)
            bound = min(bound, factor * hidden + rest)
    return bound


def _hidden_largest(
    inputs: Inputs, norm: Norm, weights: Rows, offset: Sequence[Fraction], plain: bool
) -> Fraction | None:
    """A bound of ``||W y + S z_0 + b||``: in the norm itself for V = I, else in l2."""
    return inputs.largest(norm if plain else L2Norm("l2"), weights, offset)


def _pair_lipschitz(one: AtomSizes, other: AtomSizes) -> Fraction:
    """A Lipschitz constant of ``G_i - G_j``; a drift that both share cancels."""
    drift = [
        [a - b for a, b in zip(p, q, strict=True)]
        for p, q in zip(one.drift, other.drift, strict=True)
    ]
    together: IntervalRows = [
        [(d + a[0] - b[1], d + a[1] - b[0]) for d, a, b in zip(line, first, second, strict=True)]
        for line, first, second in zip(drift, one.nonlinear, other.nonlinear, strict=True)
    ]
    apart = matrix_norm(one.norm, drift) + one.nonlinear_norm + other.nonlinear_norm
    return min(operator_upper(one.norm, together), apart)


def _pair_start(
    one: AtomSizes, other: AtomSizes, initial: Sequence[Fraction], inputs: Inputs
) -> Fraction:
    """A bound of ``||G_i(z_0)(y) - G_j(z_0)(y)||``."""
    norm = one.norm
    if inputs.region is None:
        return max(
            norm_upper(
                norm,
                [abs(a - b) for a, b in zip(
                    one.forcing(q, initial), other.forcing(q, initial), strict=True)],
            )
            for q in inputs.points
        )  # fmt: skip
    sides = []
    for atom in (one, other):
        constant = constant_part(atom.field, initial)
        ranges = output_range(atom.output, hidden_range(atom.field, initial, inputs))
        sides.append([(a + c, b + c) for (a, b), c in zip(ranges, constant, strict=True)])
    gaps = [
        max(abs(a[1] - b[0]), abs(b[1] - a[0])) for a, b in zip(sides[0], sides[1], strict=True)
    ]
    return norm_upper(norm, gaps)


def question_inputs(question: Question, problem: PwaProblem) -> Inputs:
    """Every input of the region for a full domain, else the witnesses."""
    region = problem.region if isinstance(question.domain, FullDomain) else None
    return Inputs(() if region is not None else problem.witnesses or (), region)
