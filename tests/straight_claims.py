"""Random systems with constant fields, and certificates of their floors written out by rule.

With ``m = max_j <lambda, b_j>`` no mixture carries ``<lambda, z>`` farther than ``m T``, so
``d(t, z) = <lambda, y - z> - m (T - t)`` never falls; where it is not negative, neither does
``k d^2``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from dynamic_questions import polynomial_question
from hypothesis import strategies as st
from lifted_questions import L1, L2, LINF, block_l2, weighted_l1, weighted_linf
from square_claims import TIME, box, functional

from qreplace.claims.hjb_sos import HjbSosClaim
from qreplace.claims.region import Region
from qreplace.claims.sums_of_squares import (
    NO_SQUARES,
    Combination,
    Multiplier,
    Squares,
)
from qreplace.claims.support import SupportClaim
from qreplace.exact.polynomial import Polynomial, constant, total, variable
from qreplace.exact.roots import sqrt_bounds
from qreplace.question.model import (
    BlockL2Norm,
    L1Norm,
    L2Norm,
    LinfNorm,
    Norm,
    Question,
    WeightedL1Norm,
    WeightedLinfNorm,
)
from qreplace.question.subject import Subject

Vector = tuple[Fraction, ...]
NUMBERS = st.fractions(-2, 2, max_denominator=3)


@dataclass(frozen=True)
class StraightSystem:
    """``z' = b_j``, its question and a functional that its target is far along."""

    atoms: tuple[Vector, ...]
    initial: Vector
    target: Vector
    horizon: Fraction
    norm: Norm
    functional: Vector

    @property
    def question(self) -> Question:
        atoms = [[str(entry) for entry in atom] for atom in self.atoms]
        return polynomial_question(
            atoms, self.target, self.initial, self.norm, horizon=self.horizon
        )

    @property
    def arity(self) -> int:
        return len(self.target) + 1

    @property
    def sides(self) -> list[tuple[Fraction, Fraction]]:
        """A box that no trajectory leaves, wider than needed."""
        return [
            (
                start + self.horizon * min(0, *(atom[i] for atom in self.atoms)) - 1,
                start + self.horizon * max(0, *(atom[i] for atom in self.atoms)) + 1,
            )
            for i, start in enumerate(self.initial)
        ]

    @property
    def region(self) -> Region:
        return (TIME, box([low for low, _ in self.sides], [high for _, high in self.sides]))

    @property
    def reach(self) -> Fraction:
        """``m``."""
        return max(dot(self.functional, atom) for atom in self.atoms)

    @property
    def distance(self) -> Polynomial:
        """``d(t, z)``."""
        y = constant(dot(self.functional, self.target) - self.reach * self.horizon, self.arity)
        return y + variable(0, self.arity).scaled(self.reach) - linear(self.functional)


def dot(one: Sequence[Fraction], other: Sequence[Fraction]) -> Fraction:
    return sum((a * b for a, b in zip(one, other, strict=True)), Fraction(0))


def linear(entries: Sequence[Fraction]) -> Polynomial:
    """``<entries, z>``."""
    arity = len(entries) + 1
    return total(variable(i + 1, arity).scaled(entry) for i, entry in enumerate(entries))


@st.composite
def straight_systems(draw: st.DrawFn, dimension: int | None = None) -> StraightSystem:
    """One or two coordinates, two to four atoms, any norm; ``d >= 0`` on the box."""
    size = dimension or draw(st.integers(1, 2))
    vectors = st.tuples(*[NUMBERS] * size)
    atoms = tuple(draw(st.lists(vectors, min_size=2, max_size=4)))
    initial = draw(vectors)
    direction = draw(vectors.filter(any))
    horizon = draw(st.sampled_from([Fraction(1), Fraction(1, 2), Fraction(3, 2)]))
    weights = draw(st.lists(st.sampled_from(["1/2", "1", "3"]), min_size=size, max_size=size))
    norm = draw(
        st.sampled_from([L2, LINF, L1, block_l2(1), weighted_l1(*weights), weighted_linf(*weights)])
    )
    aimless = StraightSystem(atoms, initial, initial, horizon, norm, direction)
    farthest = sum(
        (max(a * low, a * high) for a, (low, high) in zip(direction, aimless.sides, strict=True)),
        Fraction(0),
    )
    needed = farthest + max(Fraction(0), aimless.reach) * horizon + draw(st.fractions(0, 2))
    target = tuple(a * needed / dot(direction, direction) for a in direction)
    return StraightSystem(atoms, initial, target, horizon, norm, direction)


def above_least(
    function: Polynomial, factor: Fraction, sides: Sequence[tuple[Fraction, Fraction]]
) -> Combination:
    """``factor * function`` for an affine one that is not negative for variables on their sides.

    A distance from an end is ``((x - a)^2 + (x - a)(b - x)) / (b - a)``; constraint ``i`` is
    ``(x_i - a)(b - x_i)``.
    """
    if not factor:
        return Combination(NO_SQUARES, ())
    arity = len(sides)
    one = constant(Fraction(1), arity)
    weights, polynomials, multipliers = [], [], []
    least = function.coefficient((0,) * arity)
    for index, (low, high) in enumerate(sides):
        slope = function.coefficient(tuple(int(i == index) for i in range(arity)))
        if not slope:
            continue
        end = low if slope > 0 else high
        least += slope * end
        weights.append(factor * abs(slope) / (high - low))
        polynomials.append(variable(index, arity) - constant(end, arity))
        multipliers.append(Multiplier(index, Squares("squares", (weights[-1],), (one,))))
    free = Squares("squares", (factor * least, *weights), (one, *polynomials))
    return Combination(free, tuple(multipliers))


def error_weights(norm: Norm, size: int, share: Fraction) -> Vector:
    """The heaviest weights that the norm's rule allows, split by ``share`` where they are split."""
    parts = (Fraction(1),) if size == 1 else (share, 1 - share)
    if isinstance(norm, (L2Norm, L1Norm)):
        return (Fraction(1),) * size
    if isinstance(norm, WeightedL1Norm):
        return tuple(w * w for w in norm.weights)
    if isinstance(norm, WeightedLinfNorm):
        return tuple(p * w * w for p, w in zip(parts, norm.weights, strict=True))
    assert isinstance(norm, (LinfNorm, BlockL2Norm))
    return parts


def value_claim(
    system: StraightSystem, depth: int | None, share: Fraction = Fraction(1, 2)
) -> HjbSosClaim:
    """``v = k d^2`` with ``1/k = sum lambda_i^2 / w_i`` (Cauchy-Schwarz)."""
    weights = error_weights(system.norm, len(system.target), share)
    spread = sum((a * a / w for a, w in zip(system.functional, weights, strict=True)), Fraction(0))
    k = 1 / spread
    distance = system.distance
    sides = [(Fraction(0), system.horizon), *system.sides]
    flow = []
    for atom in system.atoms:
        gain = system.reach - dot(system.functional, atom)
        if depth is None:
            flow.append(above_least(distance, 2 * k * gain, sides))
        else:
            # (d + h gain)^2 - d^2 = 2 h gain d + (h gain)^2.
            step = system.horizon / depth * gain
            part = above_least(distance, 2 * k * step, sides)
            if step:
                one = constant(Fraction(1), system.arity)
                free = Squares(
                    "squares",
                    (*part.free.weights, k * step * step),
                    (*part.free.polynomials, one),
                )
                part = Combination(free, part.multipliers)
            flow.append(part)
    value = (distance * distance).scaled(k)
    lower = sqrt_bounds(value.at((Fraction(0), *system.initial)))[0]
    return HjbSosClaim(
        format="qreplace/claim/hjb_sos/v1",
        subject=Subject(system.question, {}).problem_digest(0),
        code=0,
        depth=depth,
        weights=weights,
        value_function=value,
        region=system.region,
        flow=tuple(flow),
        terminal_region=(),
        terminal=_rest(system, weights, k),
        lower=lower,
    )


def _rest(system: StraightSystem, weights: Vector, k: Fraction) -> Combination:
    """``sum w_i e_i^2 - k <lambda, e>^2`` as one square."""
    if len(weights) == 1:
        return Combination(NO_SQUARES, ())
    (a, b), (w, u) = system.functional, weights
    misses = [variable(i + 1, 3) - constant(y, 3) for i, y in enumerate(system.target)]
    crossed = misses[0].scaled(b) - misses[1].scaled(a * u / w)
    return Combination(Squares("squares", (k * w / u,), (crossed,)), ())


def reach_claim(system: StraightSystem, depth: int | None) -> SupportClaim:
    """``w = <lambda, z> + m (T - t)`` for lambda scaled into the dual ball."""
    size = dual_norm_bound(system.norm, system.functional)
    direction = tuple(a / size for a in system.functional)
    reach = system.reach / size
    arity = system.arity
    time_left = constant(system.horizon, arity) - variable(0, arity)
    step = Fraction(1) if depth is None else system.horizon / depth
    one = constant(Fraction(1), arity)
    flow = tuple(
        Combination(Squares("squares", (step * (reach - dot(direction, atom)),), (one,)), ())
        for atom in system.atoms
    )
    norms: tuple[Fraction, ...] = ()
    if isinstance(system.norm, (L2Norm, BlockL2Norm)):
        block = len(direction) if isinstance(system.norm, L2Norm) else system.norm.block
        starts = range(0, len(direction), block)
        parts = (direction[start : start + block] for start in starts)
        norms = tuple(sqrt_bounds(dot(part, part))[1] for part in parts if any(part))
    gap = dot(direction, system.target) - dot(direction, system.initial)
    return SupportClaim(
        format="qreplace/claim/support/v1",
        subject=Subject(system.question, {}).problem_digest(0),
        code=0,
        depth=depth,
        witness=functional(*direction, norms=norms),
        bound=linear(direction) + time_left.scaled(reach),
        region=(),
        flow=flow,
        terminal=Combination(NO_SQUARES, ()),
        lower=gap - reach * system.horizon,
    )


def dual_norm_bound(norm: Norm, entries: Vector) -> Fraction:
    """A little more than the dual norm, so that its square roots fit."""
    if isinstance(norm, L1Norm):
        return max(map(abs, entries))
    if isinstance(norm, (LinfNorm, BlockL2Norm)):
        return sum(map(abs, entries), Fraction(0)) * (1 + Fraction(1, 10**12))
    if isinstance(norm, WeightedL1Norm):
        return max(abs(a) / w for a, w in zip(entries, norm.weights, strict=True))
    if isinstance(norm, WeightedLinfNorm):
        return sum((abs(a) / w for a, w in zip(entries, norm.weights, strict=True)), Fraction(0))
    assert isinstance(norm, L2Norm)
    return Fraction(math.isqrt(int(dot(entries, entries) * 10**24)) + 1, 10**12) * (
        1 + Fraction(1, 10**12)
    )
