"""The synthesis radius: relaxed control to pure schedule and back (theory T3).

The sharp directed radii (T3.3) serve a verdict; the paper's symmetric constant (T3.1) is reported
beside them. It never serves better: with ``m = L`` it bounds T3.3 term by term, since
``S1 <= Phi_L(T) <= T e^{LT}``, ``1 + L S1 = kappa^D <= e^{LT}``, half the l1 discrepancy is at most
``J/2`` and differences are at most twice the bounds. T3.2 and a declared ``C/D`` serve alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from qreplace.exact.fixed_point import MAX_EXPONENT
from qreplace.exact.rational import round_up
from qreplace.question.model import (
    ComputedSynthesis,
    ConstantSynthesis,
    DeclaredTube,
    HoelderSynthesis,
    Question,
)
from qreplace.radii.constants import FieldConstants, GrowthChoice, Sight
from qreplace.radii.depth_function import (
    ZERO,
    DepthSum,
    exp_upper,
    monomial,
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
    depths_before,
    everywhere,
    unavailable,
)

EXACT_ATOMS = 64
"""Dictionaries up to this size get the exact greedy bound."""
TOO_STEEP = f"L T exceeds {MAX_EXPONENT}: the exponential is not enclosed"


@dataclass(frozen=True, slots=True)
class SynthesisRadii:
    """The radius for each direction, and what is only reported beside them."""

    relaxed_to_pure: Radius
    """Adds to an upper end: ``Q_D + P_D``, or the paper's ``C/D``."""
    pure_to_relaxed: Radius
    """Subtracts from a lower end: ``Q_D``, or the paper's ``C/D``."""
    paper: Radius | None = None
    """T3.1, where T3.3 serves."""


@lru_cache(maxsize=256)
def half_l1_discrepancy(atom_count: int) -> Fraction:
    """The largest prefix half-l1 discrepancy needed: T2.2, or T2.1 where that is smaller.

    Tijdeman's rule knows the weights in advance; the greedy rule's bound is ``max i (H_J - H_i)``.
    """
    if atom_count == 1:
        return Fraction(0)
    chairman = (atom_count // 2) * (1 - Fraction(1, 2 * atom_count - 2))
    # H_J - H_i from the end; large dictionaries take it rounded up, to keep the numbers short.
    rest, greedy = Fraction(0), Fraction(0)
    for i in range(atom_count - 1, 0, -1):
        term = Fraction(1, i + 1)
        rest += term if atom_count <= EXACT_ATOMS else round_up(term, 128)
        greedy = max(greedy, i * rest)
    return min(chairman, greedy)


def synthesis_radii(
    question: Question, constants: FieldConstants, choice: GrowthChoice, sight: Sight
) -> SynthesisRadii:
    """The radii that the question's synthesis block supports with one growth rate."""
    block = question.synthesis
    if constants.state_independent:
        return _state_independent(question, constants)
    if constants.proved:
        return _sharp(question, constants, choice, sight)
    missing = None
    if isinstance(block, ComputedSynthesis):
        missing = unavailable("synthesis", "no checked claim gives the field's constants")
    elif block is None:
        missing = unavailable("synthesis", "the synthesis block is omitted")
    elif question.tube is None:
        missing = unavailable("synthesis", "no tube is declared on which the constants hold")
    if missing is not None:
        return SynthesisRadii(missing, missing)
    if isinstance(block, ConstantSynthesis):
        both = _declared_constant(question, block, constants, sight)
        return SynthesisRadii(both, both)
    if isinstance(block, HoelderSynthesis):
        both = _hoelder(question, block, constants, sight)
        return SynthesisRadii(both, both)
    return _sharp(question, constants, choice, sight)


def _sharp(
    question: Question, constants: FieldConstants, choice: GrowthChoice, sight: Sight
) -> SynthesisRadii:
    return SynthesisRadii(
        relaxed_to_pure=_switching(question, constants, choice, sight),
        pure_to_relaxed=_quadrature(constants, choice),
        paper=_bounded_variation(question, constants),
    )


def _state_independent(question: Question, c: FieldConstants) -> SynthesisRadii:
    """T7.13: order is irrelevant, so ``Q_D = 0`` and ``P_D = h M Delta_G``; a path adds ``B h``."""
    used = Premises()
    spread = used.need("difference_bound", c.difference_bound)
    switching = monomial(c.horizon * half_l1_discrepancy(c.atom_count) * spread, -1)
    formula = "T3.3 P_D = h M Delta_G (T7.13: Q_D = 0)"
    if question.scope == "path":
        switching += monomial(used.need("field_bound", c.field_bound) * c.horizon, -1)
        formula += " + B h (T3.5)"
    forward = everywhere("synthesis", formula, switching, used)
    backward = everywhere("synthesis", "T7.13 Q_D = 0", ZERO, Premises())
    return SynthesisRadii(forward, backward)


def _declared_constant(
    question: Question, block: ConstantSynthesis, c: FieldConstants, sight: Sight
) -> Radius:
    used = Premises()
    value = used.need("constant", sight.upper("synthesis_constant", block.constant))
    if question.scope == "path":
        value += 2 * used.need("field_bound", c.field_bound) * c.horizon
    if used.missing:
        return unavailable("synthesis", used.lack)
    return everywhere("synthesis", "declared C / D", monomial(value, -1), used)


def _bounded_variation(question: Question, c: FieldConstants) -> Radius:
    """T3.1: ``C = T e^{LT} [V + LBT/2 + J^2 (B + LBT) + JV]``; path adds ``2BT``."""
    used = Premises()
    bound = used.need("field_bound", c.field_bound)
    lipschitz = used.need("state_lipschitz", c.state_lipschitz)
    variation = used.need("time_variation", c.time_variation)
    if used.missing or lipschitz * c.horizon > MAX_EXPONENT:
        return unavailable("synthesis", used.lack or TOO_STEEP)
    t, count = c.horizon, c.atom_count
    drift = lipschitz * bound * t
    bracket = variation + drift / 2 + count**2 * (bound + drift) + count * variation
    value = t * exp_upper(lipschitz * t) * bracket
    if question.scope == "path":
        value += 2 * bound * t
    return everywhere("synthesis", "T3.1 C / D (paper)", monomial(value, -1), used)


def _hoelder(
    question: Question, block: HoelderSynthesis, c: FieldConstants, sight: Sight
) -> Radius:
    """T3.2, with exponent theta and constant H."""
    used = Premises()
    bound = used.need("field_bound", c.field_bound)
    lipschitz = used.need("state_lipschitz", c.state_lipschitz)
    modulus = used.need("hoelder_constant", sight.upper("hoelder_constant", block.constant))
    if used.missing or lipschitz * c.horizon > MAX_EXPONENT:
        return unavailable("synthesis", used.lack or TOO_STEEP)
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


def _quadrature(c: FieldConstants, choice: GrowthChoice) -> Radius:
    """T3.3 ``Q_D = h (V max(1, kappa^(D-1)) + L B S1 / 2)``: pure to relaxed."""
    used = Premises()
    total = _quadrature_sum(c, choice, used)
    return on_growth("synthesis", "T3.3 Q_D (sharp)", total, choice, used)


def _quadrature_sum(c: FieldConstants, choice: GrowthChoice, used: Premises) -> DepthSum:
    bound = used.need("field_bound", c.field_bound)
    lipschitz = used.need("state_lipschitz", c.state_lipschitz)
    variation = used.need("time_variation", c.time_variation)
    t = c.horizon
    return monomial(t * variation, -1, choice.prefix) + monomial(
        t * lipschitz * bound / 2, -1, choice.growth
    )


def _switching(question: Question, c: FieldConstants, choice: GrowthChoice, sight: Sight) -> Radius:
    """T3.3 ``Q_D + P_D``, ``P_D = h W (1 + L S1)``: relaxed to pure; a path adds ``B h``."""
    used = Premises()
    total = _quadrature_sum(c, choice, used)
    bound = used.need("field_bound", c.field_bound)
    lipschitz = used.need("state_lipschitz", c.state_lipschitz)
    pair_bound = used.need("difference_bound", c.difference_bound)
    pair_lipschitz = used.need("difference_lipschitz", c.difference_lipschitz)
    pair_variation = used.need("difference_variation", c.difference_variation)
    t = c.horizon
    weight = half_l1_discrepancy(c.atom_count) * (
        pair_bound + pair_lipschitz * bound * t + pair_variation
    )
    total += monomial(t * weight, -1) + monomial(t * weight * lipschitz, -1, choice.growth)
    if question.scope == "path":
        total += monomial(bound * t, -1)
    if choice.needs_room and weight:
        reason = "the tube's margin is smaller than the enlargement h W of T3.3"
        need_room(question, c, choice, monomial(t * weight, -1), reason, used, sight)
    return on_growth("synthesis", "T3.3 Q_D + P_D (sharp)", total, choice, used)


def need_room(
    question: Question,
    constants: FieldConstants,
    choice: GrowthChoice,
    enlargement: DepthSum,
    reason: str,
    used: Premises,
    sight: Sight,
) -> None:
    """Demand that the tube of m and L reaches ``enlargement`` beyond the states it holds."""
    if constants.proved:
        room = smallest_margin([choice.rate, constants.state_lipschitz])
        if room is not None:
            used.conditions.append(Guard(enlargement, room, reason))
        return
    if not isinstance(question.tube, DeclaredTube):
        return  # the constants hold everywhere
    margin = used.need("tube_margin", sight.lower("tube_margin", question.tube.margin))
    used.conditions.append(Guard(enlargement, margin, reason))


def smallest_margin(used: Iterable[Constant | None]) -> Fraction | None:
    """The room in which all the constants hold; ``None`` when they hold everywhere."""
    margins = [c.margin for c in used if c is not None and c.margin is not None]
    return min(margins, default=None)


def on_growth(
    name: str,
    formula: str,
    total: DepthSum,
    choice: GrowthChoice,
    used: Premises,
    ceiling: Fraction | None = None,
) -> Radius:
    """A radius made with one growth rate: on the depths where it holds, if nothing is missing."""
    used.need("growth" if choice.needs_room else "state_lipschitz", choice.rate)
    if used.missing or choice.refused:
        return unavailable(name, used.lack or choice.refused)
    first = max(choice.first, used.first)
    gaps = depths_before(first)
    if first > 1 and choice.first >= used.first:
        gaps = (Gap(1, first - 1, choice.before),)
    reaches = "it reaches the saturation margin (T4.8)"
    own = () if ceiling is None else (Guard(total, ceiling, reaches, strict=True),)
    pieces = (Piece(first, None, total, own),)
    return Radius(name, formula, used.evidence, used.declared, pieces, gaps, used.guards)
