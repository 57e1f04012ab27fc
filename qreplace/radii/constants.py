"""The constants B, L, V, m and the pairwise differences: declared, checked or recomputed.

Atoms that are constant vectors give theirs directly, piecewise-affine ones as well (theory T8.1).
Affine and polynomial dynamics take those that a checked claim shows on its tube, and declared ones
beside them; declared systems only the latter.

A declared premise is seen only from the evidence level on that admits its label; below it the
formulas fall back on what else is known (``m = L``, differences at most twice the bound). So a
tighter but weaker premise never hides a stronger verdict (theory T11.2), and taking a premise away
never helps (design rule 4).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from qreplace.check.bounds import ScopedConstants
from qreplace.errors import InputError, Malformed
from qreplace.exact.fixed_point import MAX_EXPONENT
from qreplace.premises import Absent, Evidence, Premise, Term
from qreplace.question.invariant_balls import PwaConstants
from qreplace.question.model import (
    BoundedVariationSynthesis,
    ComputedSynthesis,
    ConstantSynthesis,
    CoveringMetadata,
    Growth,
    HoelderSynthesis,
    LiftedAffineSystem,
    PwaSystem,
    Question,
)
from qreplace.question.norms import norm_bounds
from qreplace.question.subject import LiftedProblem, Subject
from qreplace.radii.depth_function import EulerGrowth, PrefixPower
from qreplace.radii.radius import Constant, smaller


@dataclass(frozen=True, slots=True)
class Sight:
    """Which declared premises may be used: those with this label or a better one, or none."""

    weakest: Evidence | None

    def sees(self, premise: Premise | None) -> bool:
        """Whether a declared premise is available and admitted."""
        if premise is None or self.weakest is None or premise.evidence is Evidence.UNAVAILABLE:
            return False
        return premise.evidence.rank <= self.weakest.rank

    def upper(self, name: str, term: Term | None) -> Constant | None:
        """The upper end of a term: zero when it is absent, ``None`` when it cannot be used.

        Raises ``Malformed`` for a negative bound; only a growth rate may be negative.
        """
        if isinstance(term, Absent):
            # An explicit `none` is part of what is asked, so it is no declared premise.
            return Constant(name, Fraction(0), Evidence.ANALYTIC_CERTIFIED, False)
        if term is not None and term.upper < 0 and name != "growth":
            raise Malformed(f"the premise {name} bounds a size, so it cannot be negative")
        if term is None or not self.sees(term):
            return None
        return Constant(name, term.upper, term.evidence, True)

    def lower(self, name: str, premise: Premise | None) -> Constant | None:
        """The lower end of a premise; ``None`` when it cannot be used."""
        if premise is None or not self.sees(premise):
            return None
        return Constant(name, premise.lower, premise.evidence, True)


@dataclass(frozen=True, slots=True)
class GrowthChoice:
    """One growth rate with the depths ``first, first + 1, ...`` at which it may be used.

    A declared rate m holds for steps up to ``h_max``, so from depth ``T / h_max`` on, and is
    refused where ``1 + h m < 0``. ``m = L`` always works (theory, notation).
    """

    rate: Constant | None
    first: int
    before: str
    """Why there is nothing at smaller depths."""
    refused: str
    """Why there is nothing at all; empty for a usable rate."""
    needs_room: bool
    """Radii with m other than L step outside the states: they need a tube's margin (T3.3, T4.6)."""
    growth: EulerGrowth
    prefix: PrefixPower


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
    difference_bound: Constant | None
    """Delta_G, over pairs of atoms"""
    difference_lipschitz: Constant | None
    difference_variation: Constant | None
    state_independent: bool
    """Atoms are constant vectors: endpoints depend on counts only, so Q_D = 0 (theory T7.13)."""
    proved: bool
    """By checked claims, each constant on its own tube; the question's tube is not needed then."""
    choices: tuple[GrowthChoice, ...]
    """``m = L`` first; each choice gives a valid radius by itself."""


def field_constants(
    subject: Subject, bits: int, checked: Sequence[ScopedConstants], sight: Sight
) -> tuple[FieldConstants, ...]:
    """What is known about the dictionary that runs at ``bits`` metadata bits.

    Each alternative is valid by itself: one a checked tube, then the declared constants.
    """
    question = subject.question
    if isinstance(question.system, LiftedAffineSystem):
        return (_recomputed(question, subject.lifted(bits)),)
    if isinstance(question.system, PwaSystem):
        return _piecewise(subject, bits, sight)
    found: list[FieldConstants] = []
    # A covering code runs another dictionary than the one that the claims are about (theory T5.1).
    if checked and not isinstance(question.metadata, CoveringMetadata):
        digest = subject.problem_digest(bits)
        found.extend(_proved(question, [c for c in checked if c.subject == digest]))
    if not found or (sight.weakest is not None and _declares(question)):
        found.append(_declared(question, sight))
    return tuple(found)


def _declares(question: Question) -> bool:
    return question.synthesis is not None and not isinstance(question.synthesis, ComputedSynthesis)


def _proved(question: Question, checked: Sequence[ScopedConstants]) -> list[FieldConstants]:
    """One alternative a tube, with what holds everywhere where that is no worse."""
    everywhere = [c for c in checked if c.margin is None]
    tubes = [c for c in checked if c.margin is not None]
    if not tubes:
        return [_alternative(question, everywhere)] if everywhere else []
    return [_alternative(question, [tube, *everywhere]) for tube in tubes]


def _alternative(question: Question, sources: Sequence[ScopedConstants]) -> FieldConstants:
    """The best of each constant among sources that hold together."""
    horizon = question.horizon

    def constant(name: str, value: Fraction, source: ScopedConstants) -> Constant:
        first = 1 if source.reach_step is None else _ceiling(horizon / source.reach_step)
        return Constant(name, value, source.evidence, False, source.margin, first)

    def best(name: str) -> Constant | None:
        found: Constant | None = None
        for source in sources:
            value = getattr(source, name)
            if value is not None:
                found = smaller(found, constant(name, value, source))
        return found

    lipschitz = best("state_lipschitz")
    choices = [_plain_choice(lipschitz, horizon)]
    rates: dict[tuple[Fraction, Fraction], Constant] = {}
    for source in sources:
        if source.growth_rate is None or source.step_limit is None:
            continue
        key = source.growth_rate, source.step_limit
        rate = constant("growth", source.growth_rate, source)
        rates[key] = smaller(rates.get(key), rate) or rate
    for (value, step_limit), rate in rates.items():
        if lipschitz is None or value < lipschitz.value:
            choices.append(_growth_choice(rate, step_limit, horizon))
    variation = best("time_variation")
    return FieldConstants(
        horizon=horizon,
        atom_count=question.dictionary.atom_count,
        field_bound=best("field_bound"),
        state_lipschitz=lipschitz,
        time_variation=variation,
        difference_bound=smaller(best("difference_bound"), _twice(best("field_bound"))),
        difference_lipschitz=smaller(best("difference_lipschitz"), _twice(lipschitz)),
        difference_variation=smaller(best("difference_variation"), variation),
        state_independent=False,
        proved=True,
        choices=tuple(choices),
    )


def _recomputed(question: Question, problem: LiftedProblem) -> FieldConstants:
    """State-independent atoms: exact norms, no state or time dependence."""

    def exact(name: str, value: Fraction) -> Constant:
        return Constant(name, value, Evidence.ANALYTIC_CERTIFIED, False)

    norm, scale = question.norm, problem.denominator
    zero = Fraction(0)
    bound = max(norm_bounds(norm, atom, scale)[1] for atom in problem.atoms)
    # Coordinate by coordinate the range over atoms dominates every pairwise difference.
    spread = [max(row) - min(row) for row in problem.rows]
    lipschitz = exact("state_lipschitz", zero)
    return FieldConstants(
        horizon=question.horizon,
        atom_count=len(problem.atoms),
        field_bound=exact("field_bound", bound),
        state_lipschitz=lipschitz,
        time_variation=exact("time_variation", zero),
        difference_bound=exact("difference_bound", norm_bounds(norm, spread, scale)[1]),
        difference_lipschitz=exact("difference_lipschitz", zero),
        difference_variation=exact("difference_variation", zero),
        state_independent=True,
        proved=False,
        choices=(_plain_choice(lipschitz, question.horizon),),
    )


MARGINS = (Fraction(0), Fraction(1, 8))
"""Room about the states in which B is given, relative to how far they get: executed states need it,
ideal ones are better off without."""


def _piecewise(subject: Subject, bits: int, sight: Sight) -> tuple[FieldConstants, ...]:
    """Piecewise-affine atoms over the inputs asked about (theory T8.1): nothing depends on time.

    L and m hold for every state, B on the states' ball with some room. Each alternative has its own
    ball: of Euler steps up to the growth rate's limit, or of every step by L.
    """
    question = subject.question
    nothing = (_declared(question, sight),)
    if isinstance(question.metadata, CoveringMetadata):
        return nothing  # a covering code runs other atoms than the listed ones (theory T5.1)
    try:
        known = subject.piecewise_constants(bits)
    except InputError:
        return nothing
    count = len(subject.piecewise(bits).fields)
    found = [_on_ball(known, count, margin, every_step=False) for margin in MARGINS]
    if known.step_limit is not None and known.step_limit < question.horizon:
        found += [_on_ball(known, count, margin, every_step=True) for margin in MARGINS]
    return tuple(found)


def _on_ball(
    known: PwaConstants, atom_count: int, share: Fraction, *, every_step: bool
) -> FieldConstants:
    def exact(name: str, value: Fraction) -> Constant:
        return Constant(name, value, Evidence.ANALYTIC_CERTIFIED, False)

    def on_ball(name: str, value: Fraction) -> Constant:
        return Constant(name, value, Evidence.ANALYTIC_CERTIFIED, False, room, first)

    zero, limit, horizon = Fraction(0), known.step_limit, known.horizon
    reach = known.reach(every_step=every_step)
    first = 1 if limit is None or every_step else max(1, _ceiling(horizon / limit))
    room = zero if reach is None else share * reach
    lipschitz = exact("state_lipschitz", known.lipschitz)
    choices = [_plain_choice(lipschitz, horizon)]
    if limit is not None and not every_step:
        choices.append(_growth_choice(exact("growth", known.rate), limit, horizon))
    bound = None if reach is None else on_ball("field_bound", known.field_bound(reach + room))
    apart = None
    if reach is not None:
        apart = on_ball("difference_bound", known.difference_bound(reach + room))
    return FieldConstants(
        horizon=horizon,
        atom_count=atom_count,
        field_bound=bound,
        state_lipschitz=lipschitz,
        time_variation=exact("time_variation", zero),
        difference_bound=smaller(apart, _twice(bound)),
        difference_lipschitz=exact("difference_lipschitz", known.difference_lipschitz),
        difference_variation=exact("difference_variation", zero),
        state_independent=False,
        proved=True,
        choices=tuple(choices),
    )


def _declared(question: Question, sight: Sight) -> FieldConstants:
    block = question.synthesis
    bound = lipschitz = variation = None
    growth: Growth | None = None
    pair_bound = pair_lipschitz = pair_variation = None
    if isinstance(block, (BoundedVariationSynthesis, HoelderSynthesis, ConstantSynthesis)):
        bound = sight.upper("field_bound", block.field_bound)
        lipschitz = sight.upper("state_lipschitz", block.state_lipschitz)
        growth = block.growth
    if isinstance(block, BoundedVariationSynthesis):
        variation = sight.upper("time_variation", block.time_variation)
        pair_bound = sight.upper("difference_bound", block.difference_bound)
        pair_lipschitz = sight.upper("difference_lipschitz", block.difference_lipschitz)
        pair_variation = sight.upper("difference_variation", block.difference_variation)
    return FieldConstants(
        horizon=question.horizon,
        atom_count=question.dictionary.atom_count,
        field_bound=bound,
        state_lipschitz=lipschitz,
        time_variation=variation,
        difference_bound=smaller(pair_bound, _twice(bound)),
        difference_lipschitz=smaller(pair_lipschitz, _twice(lipschitz)),
        # A pair's variation is at most the sum of all atoms' variations.
        difference_variation=smaller(pair_variation, variation),
        state_independent=False,
        proved=False,
        choices=_choices(lipschitz, growth, question.horizon, sight),
    )


def _choices(
    lipschitz: Constant | None, declared: Growth | None, horizon: Fraction, sight: Sight
) -> tuple[GrowthChoice, ...]:
    plain = _plain_choice(lipschitz, horizon)
    if declared is None or declared.step_limit <= 0:
        return (plain,)
    rate = sight.upper("growth", declared.rate)
    if rate is None or (lipschitz is not None and rate.value >= lipschitz.value):
        return (plain,)
    return plain, _growth_choice(rate, declared.step_limit, horizon)


def _growth_choice(rate: Constant, step_limit: Fraction, horizon: Fraction) -> GrowthChoice:
    """A rate other than L, from the depth on at which steps are within its limit."""
    start = max(1, _ceiling(horizon / step_limit))
    safe = max(start, _ceiling(-rate.value * horizon))
    before = (
        "1 + h m is negative: the growth rate cannot hold there"
        if safe > start
        else f"the growth rate holds from depth {start} on"
    )
    return _choice(rate, horizon, safe, before, needs_room=True)


def _plain_choice(lipschitz: Constant | None, horizon: Fraction) -> GrowthChoice:
    """``m = L``, at every depth."""
    return _choice(lipschitz, horizon, 1, "", needs_room=False)


def _choice(
    rate: Constant | None, horizon: Fraction, first: int, before: str, *, needs_room: bool
) -> GrowthChoice:
    value = rate.value if rate is not None else Fraction(0)
    refused = ""
    if abs(value * horizon) > MAX_EXPONENT:
        refused = f"the rate times the horizon exceeds {MAX_EXPONENT}: no growth is enclosed"
    return GrowthChoice(
        rate=rate,
        first=first,
        before=before,
        refused=refused,
        needs_room=needs_room,
        growth=EulerGrowth(value, horizon),
        prefix=PrefixPower(value, horizon),
    )


def _twice(constant: Constant | None) -> Constant | None:
    """Twice a constant, resting on the same premise."""
    return None if constant is None else replace(constant, value=2 * constant.value)


def _ceiling(value: Fraction) -> int:
    return -(-value.numerator // value.denominator)
