"""The synthesis radius: relaxed control to pure schedule and back (theory T3).

Two alternatives are formed where their premises allow: the paper's symmetric constant (T3.1, T3.2)
and the sharp directed radii (T3.3). Either may serve a verdict; both are reported.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from qreplace.question.model import (
    ConstantSynthesis,
    DeclaredTube,
    HoelderSynthesis,
    Question,
)
from qreplace.radii.constants import FieldConstants, premise_constant
from qreplace.radii.depth_function import (
    ZERO,
    DepthSum,
    EulerGrowth,
    Monomial,
    PrefixPower,
    exp_upper,
    phi_upper,
    rational_power_upper,
)
from qreplace.radii.radius import (
    Constant,
    Gap,
    Guard,
    Piece,
    Premises,
    Radius,
    everywhere,
    monomial,
    unavailable,
)


@dataclass(frozen=True, slots=True)
class SynthesisRadii:
    """Alternatives for each direction; any one of them is valid by itself."""

    relaxed_to_pure: tuple[Radius, ...]
    """Adds to an upper end: ``Q_D + P_D``, or the paper's ``C/D``."""
    pure_to_relaxed: tuple[Radius, ...]
    """Subtracts from a lower end: ``Q_D``, or the paper's ``C/D``."""


def half_l1_discrepancy(atom_count: int) -> Fraction:
    """The largest prefix half-l1 discrepancy needed: T2.2, or T2.1 where that is smaller.

    Tijdeman's rule knows the weights in advance; the greedy rule's bound is ``max i (H_J - H_i)``.
    """
    if atom_count == 1:
        return Fraction(0)
    chairman = (atom_count // 2) * (1 - Fraction(1, 2 * atom_count - 2))
    if atom_count > 64:  # the greedy bound grows like J/e and is never smaller there
        return chairman
    harmonic = [Fraction(0)]
    for i in range(1, atom_count + 1):
        harmonic.append(harmonic[-1] + Fraction(1, i))
    greedy = max(i * (harmonic[atom_count] - harmonic[i]) for i in range(1, atom_count))
    return min(chairman, greedy)


def synthesis_radii(question: Question, constants: FieldConstants) -> SynthesisRadii:
    """The radii that the question's synthesis block supports."""
    block = question.synthesis
    if constants.state_independent:
        return _state_independent(constants)
    if block is None:
        missing = unavailable("synthesis", "the synthesis block is omitted")
        return SynthesisRadii((missing,), (missing,))
    if question.tube is None:
        missing = unavailable("synthesis", "no tube is declared on which the constants hold")
        return SynthesisRadii((missing,), (missing,))
    if isinstance(block, ConstantSynthesis):
        both = _declared_constant(question, block, constants)
        return SynthesisRadii((both,), (both,))
    if isinstance(block, HoelderSynthesis):
        both = _hoelder(question, block, constants)
        return SynthesisRadii((both,), (both,))
    paper = _bounded_variation(question, constants)
    quadrature, forward = _sharp(question, constants)
    return SynthesisRadii((forward, paper), (quadrature, paper))


def _state_independent(c: FieldConstants) -> SynthesisRadii:
    """T7.13: order is irrelevant, so ``Q_D = 0`` and ``P_D = h M Delta_G``."""
    used = Premises()
    used.need("field_bound", c.field_bound)
    spread = used.need("difference_bound", c.difference_bound)
    switching = monomial(c.horizon * half_l1_discrepancy(c.atom_count) * spread, -1)
    forward = everywhere("synthesis", "T3.3 P_D = h M Delta_G (T7.13: Q_D = 0)", switching, used)
    backward = everywhere("synthesis", "T7.13 Q_D = 0", ZERO, used)
    return SynthesisRadii((forward,), (backward,))


def _declared_constant(question: Question, block: ConstantSynthesis, c: FieldConstants) -> Radius:
    used = Premises()
    value = used.need("constant", premise_constant("synthesis_constant", block.constant))
    if question.scope == "path":
        value += 2 * used.need("field_bound", c.field_bound) * c.horizon
    if used.missing:
        return _missing(used)
    return everywhere("synthesis", "declared C / D", monomial(value, -1), used)


def _bounded_variation(question: Question, c: FieldConstants) -> Radius:
    """T3.1: ``C = T e^{LT} [V + LBT/2 + J^2 (B + LBT) + JV]``; path adds ``2BT``."""
    used = Premises()
    bound = used.need("field_bound", c.field_bound)
    lipschitz = used.need("state_lipschitz", c.state_lipschitz)
    variation = used.need("time_variation", c.time_variation)
    if used.missing:
        return _missing(used)
    t, count = c.horizon, c.atom_count
    drift = lipschitz * bound * t
    bracket = variation + drift / 2 + count**2 * (bound + drift) + count * variation
    value = t * exp_upper(lipschitz * t) * bracket
    if question.scope == "path":
        value += 2 * bound * t
    return everywhere("synthesis", "T3.1 C / D (paper)", monomial(value, -1), used)


def _hoelder(question: Question, block: HoelderSynthesis, c: FieldConstants) -> Radius:
    """T3.2, with exponent theta and constant H."""
    used = Premises()
    bound = used.need("field_bound", c.field_bound)
    lipschitz = used.need("state_lipschitz", c.state_lipschitz)
    modulus = used.need("hoelder_constant", premise_constant("hoelder_constant", block.constant))
    if used.missing:
        return _missing(used)
    t, square, theta = c.horizon, Fraction(c.atom_count**2), block.exponent
    growth, phi = exp_upper(lipschitz * t), phi_upper(lipschitz, t)
    time = rational_power_upper(t, theta) * modulus * (phi / (theta + 1) + square * t * growth)
    space = t * (lipschitz * bound * phi / 2 + square * (bound + lipschitz * bound * t) * growth)
    if question.scope == "path":
        space += 2 * bound * t
    return everywhere(
        "synthesis",
        "T3.2 (paper, Hölder in time)",
        monomial(time, -theta) + monomial(space, -1),
        used,
    )


def _sharp(question: Question, c: FieldConstants) -> tuple[Radius, Radius]:
    """T3.3: ``Q_D`` and ``Q_D + P_D`` on the depths where each growth rate holds."""
    used = Premises()
    bound = used.need("field_bound", c.field_bound)
    lipschitz = used.need("state_lipschitz", c.state_lipschitz)
    variation = used.need("time_variation", c.time_variation)
    pieces, gaps = growth_pieces(c, used)
    if used.missing:
        return _missing(used), _missing(used)
    forward_used = Premises(list(used.used))
    pair_bound = forward_used.need("difference_bound", c.difference_bound)
    pair_lipschitz = forward_used.need("difference_lipschitz", c.difference_lipschitz)
    pair_variation = forward_used.need("difference_variation", c.difference_variation)
    t = c.horizon
    weight = half_l1_discrepancy(c.atom_count) * (
        pair_bound + pair_lipschitz * bound * t + pair_variation
    )
    back, forth = [], []
    for first, last, rate in pieces:
        growth, prefix = EulerGrowth(rate, t), PrefixPower(rate, t)
        quadrature = _product(t * variation, prefix) + _product(t * lipschitz * bound / 2, growth)
        switching = monomial(t * weight, -1) + _product(t * weight * lipschitz, growth)
        path = monomial(bound * t, -1) if question.scope == "path" else ZERO
        back.append(Piece(first, last, quadrature))
        forth.append(Piece(first, last, quadrature + switching + path))
    guards = _tube_guards(question, c, t * weight, forward_used)
    backward = Radius(
        "synthesis", "T3.3 Q_D (sharp)", used.evidence, used.declared, tuple(back), gaps
    )
    forward = Radius(
        "synthesis",
        "T3.3 Q_D + P_D (sharp)",
        forward_used.evidence,
        forward_used.declared,
        tuple(forth),
        gaps,
        guards,
    )
    return backward, forward


def _tube_guards(
    question: Question, c: FieldConstants, enlargement: Fraction, used: Premises
) -> tuple[Guard, ...]:
    """T3.3 steps outside the mixed states by ``h W`` unless ``m = L``: the tube needs that room."""
    if c.growth is None or not isinstance(question.tube, DeclaredTube):
        return ()
    margin = question.tube.margin
    used.need("tube_margin", Constant("tube_margin", margin.lower, margin.evidence, True))
    return (
        Guard(
            monomial(enlargement, -1),
            margin.lower,
            "the tube's margin is smaller than the enlargement h W of T3.3",
        ),
    )


def growth_pieces(
    c: FieldConstants, used: Premises
) -> tuple[list[tuple[int, int | None, Fraction]], tuple[Gap, ...]]:
    """Depth ranges with the growth rate that holds there; gaps where ``1 + h m < 0``.

    Without a declared rate ``m = L``. A declared rate holds from depth ``T / step_limit`` on and
    is used there if it beats L.
    """
    lipschitz = used.need("state_lipschitz", c.state_lipschitz)
    if c.growth is None or c.growth.rate.value >= lipschitz:
        return [(1, None, lipschitz)], ()
    rate = used.need("growth", c.growth.rate)
    start = max(1, _ceiling(c.horizon / c.growth.step_limit))
    pieces: list[tuple[int, int | None, Fraction]] = []
    if start > 1:
        pieces.append((1, start - 1, lipschitz))
    safe = max(start, _ceiling(-rate * c.horizon))
    gaps: tuple[Gap, ...] = ()
    if safe > start:
        gaps = (Gap(start, safe - 1, "1 + h m is negative: the growth rate cannot hold there"),)
    pieces.append((safe, None, rate))
    return pieces, gaps


def _product(coefficient: Fraction, factor: EulerGrowth | PrefixPower) -> DepthSum:
    if coefficient == 0:
        return ZERO
    return DepthSum((Monomial(coefficient, -1, (factor,)),))


def _ceiling(value: Fraction) -> int:
    return -(-value.numerator // value.denominator)


def _missing(used: Premises) -> Radius:
    names = ", ".join(dict.fromkeys(used.missing))
    return unavailable("synthesis", f"missing premise: {names}")
