"""The constants B, L, V, m and the pairwise differences: declared, or recomputed from the data."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from qreplace.premises import Absent, Evidence, Premise, Term
from qreplace.question.model import (
    BoundedVariationSynthesis,
    ConstantSynthesis,
    Growth,
    HoelderSynthesis,
    LiftedAffineSystem,
    Question,
)
from qreplace.question.norms import norm_bounds
from qreplace.question.subject import LiftedProblem, Subject
from qreplace.radii.radius import Constant


@dataclass(frozen=True, slots=True)
class GrowthConstant:
    """``m`` from depth ``T / step_limit`` on; below it ``m = L`` (theory, notation)."""

    rate: Constant
    step_limit: Fraction


@dataclass(frozen=True, slots=True)
class FieldConstants:
    """What is known about the atoms on the tube; ``None`` is unavailable (theory T3)."""

    horizon: Fraction
    atom_count: int
    field_bound: Constant | None
    """B"""
    state_lipschitz: Constant | None
    """L"""
    time_variation: Constant | None
    """V, the sum of the atoms' total variations in time"""
    growth: GrowthConstant | None
    difference_bound: Constant | None
    """Delta_G, over pairs of atoms"""
    difference_lipschitz: Constant | None
    difference_variation: Constant | None
    state_independent: bool
    """Atoms are constant vectors: endpoints depend on counts only, so Q_D = 0 (theory T7.13)."""


def field_constants(subject: Subject, bits: int) -> FieldConstants:
    """The constants of the dictionary that runs at ``bits`` metadata bits."""
    question = subject.question
    if isinstance(question.system, LiftedAffineSystem):
        return _recomputed(question, subject.lifted(bits))
    return _declared(question)


def _recomputed(question: Question, problem: LiftedProblem) -> FieldConstants:
    """State-independent atoms: exact norms, no state or time dependence."""

    def exact(name: str, value: Fraction) -> Constant:
        return Constant(name, value, Evidence.ANALYTIC_CERTIFIED, False)

    norm, scale = question.norm, problem.denominator
    zero = Fraction(0)
    bound = max(norm_bounds(norm, atom, scale)[1] for atom in problem.atoms)
    # Coordinate by coordinate the range over atoms dominates every pairwise difference.
    spread = [max(row) - min(row) for row in problem.rows]
    return FieldConstants(
        horizon=question.horizon,
        atom_count=len(problem.atoms),
        field_bound=exact("field_bound", bound),
        state_lipschitz=exact("state_lipschitz", zero),
        time_variation=exact("time_variation", zero),
        growth=None,
        difference_bound=exact("difference_bound", norm_bounds(norm, spread, scale)[1]),
        difference_lipschitz=exact("difference_lipschitz", zero),
        difference_variation=exact("difference_variation", zero),
        state_independent=True,
    )


def _declared(question: Question) -> FieldConstants:
    block = question.synthesis
    count = question.dictionary.atom_count
    bound = lipschitz = variation = None
    growth: Growth | None = None
    pair_bound = pair_lipschitz = pair_variation = None
    if isinstance(block, (BoundedVariationSynthesis, HoelderSynthesis, ConstantSynthesis)):
        bound = _constant("field_bound", block.field_bound)
        lipschitz = _constant("state_lipschitz", block.state_lipschitz)
        growth = block.growth
    if isinstance(block, BoundedVariationSynthesis):
        variation = _constant("time_variation", block.time_variation)
        pair_bound = _constant("difference_bound", block.difference_bound) or _times(2, bound)
        pair_lipschitz = _constant("difference_lipschitz", block.difference_lipschitz) or _times(
            2, lipschitz
        )
        # A pair's variation is at most the sum of all atoms' variations.
        pair_variation = _constant("difference_variation", block.difference_variation) or variation
    return FieldConstants(
        horizon=question.horizon,
        atom_count=count,
        field_bound=bound,
        state_lipschitz=lipschitz,
        time_variation=variation,
        growth=GrowthConstant(Constant.of("growth", growth.rate), growth.step_limit)
        if growth is not None
        else None,
        difference_bound=pair_bound,
        difference_lipschitz=pair_lipschitz,
        difference_variation=pair_variation,
        state_independent=False,
    )


def _constant(name: str, term: Term | None) -> Constant | None:
    if term is None:
        return None
    if isinstance(term, Absent):
        # An explicit `none` is part of what is asked, so it is no declared premise.
        return Constant(name, Fraction(0), Evidence.ANALYTIC_CERTIFIED, False)
    return Constant.of(name, term)


def _times(factor: int, constant: Constant | None) -> Constant | None:
    """A multiple of a constant, resting on the same premise."""
    if constant is None:
        return None
    return Constant(constant.name, factor * constant.value, constant.evidence, constant.declared)


def term_constant(name: str, term: Term | None) -> Constant | None:
    """The constant of a radius term: zero when absent, ``None`` when unavailable."""
    return _constant(name, term)


def premise_constant(name: str, premise: Premise | None) -> Constant | None:
    """The constant of an optional premise."""
    return None if premise is None else Constant.of(name, premise)
