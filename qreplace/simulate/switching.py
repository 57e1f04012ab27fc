"""Switching rules on exact weights, and the prefix discrepancy that each realises (theory T2).

The plain references are ``chairman``, ``greedy`` and ``prefix_discrepancy`` of
``decision.controls`` and ``chairman_schedule`` of ``decision.schedules``; where the weights' common
denominator leaves room in 64 bits, compiled twins run that give the same. ``switching_online`` has
the rule for an unknown future.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, Literal

from qreplace.decision.controls import Discrepancy, chairman, greedy, prefix_discrepancy
from qreplace.decision.schedules import chairman_schedule
from qreplace.errors import InputError
from qreplace.simulate.documents import columns, numbers, shown
from qreplace.simulate.model import require_schedule
from qreplace.simulate.switching_weights import MAX_PLAIN, Weights
from qreplace.simulate.switching_weights import control_weights as control_weights
from qreplace.simulate.switching_weights import weights_of as weights_of
from qreplace.simulate.switching_weights import whole_weights as whole_weights

Rule = Literal["chairman", "greedy", "sum_up"]
RULES: tuple[Rule, ...] = ("chairman", "greedy", "sum_up")
"""``chairman``: Tijdeman's. ``greedy``: the paper's; on steps of equal length, which is all there
is here, sum-up rounding is the same rule, and has the same schedules and bounds."""
MAX_LISTED = 4096
"""Steps of a schedule that a document lists."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """What a rule keeps every prefix within, whatever the weights; in steps."""

    largest: Fraction
    half_l1: Fraction
    formula: str
    half_l1_formula: str
    known_ahead: bool
    """The rule needs the weights of all steps in advance."""
    published: Fraction | None
    """The paper's own bound of the largest (QR Lemma 2), where it speaks of the rule."""


@lru_cache(maxsize=64)
def bounds_of(rule: Rule, atoms: int) -> Bounds:
    """The bounds of theory T2.1 (greedy, sum-up rounding) and T2.2 (chairman)."""
    zero, published = Fraction(0), None if rule == "chairman" else Fraction(atoms)
    if atoms == 1:
        return Bounds(zero, zero, "one atom", "one atom", rule == "chairman", published)
    if rule == "chairman":
        most = 1 - Fraction(1, 2 * atoms - 2)
        half, formula = atoms // 2 * most, "T2.2: 1 - 1/(2J - 2)"
        return Bounds(most, half, formula, "T2.2: floor(J/2) (1 - 1/(2J - 2))", True, None)
    # H_J - H_i, from the last i down.
    rest, half = zero, zero
    for i in range(atoms - 1, 0, -1):
        rest += Fraction(1, i + 1)
        half = max(half, i * rest)
    return Bounds(rest, half, "T2.1: H_J - 1", "T2.1: max_i i (H_J - H_i)", False, published)


@dataclass(frozen=True, eq=False)
class Switching:
    """A schedule with its realised discrepancies (theory T2.3) beside its rule's bounds."""

    rule: Rule
    weights: Weights
    schedule: Any
    """(D,) atoms, an int32 array."""
    realised: Discrepancy
    bounds: Bounds
    compiled: bool

    @property
    def largest(self) -> Fraction:
        """max over prefixes and atoms of ``|P_j - n_j|``."""
        return self.realised.largest

    @property
    def largest_at(self) -> int:
        """The first prefix, in steps, at which it is attained."""
        return self.realised.largest_at

    @property
    def half_l1(self) -> Fraction:
        """max over prefixes of ``sum_j |P_j - n_j| / 2``."""
        return self.realised.half_l1

    @property
    def half_l1_at(self) -> int:
        """The first prefix, in steps, at which it is attained."""
        return self.realised.half_l1_at

    def document(self) -> dict[str, Any]:
        """The rule's part of what ``--json`` prints; long schedules are counted, not listed."""
        listed = self.weights.depth <= MAX_LISTED
        return {
            "rule": self.rule,
            "depth": self.weights.depth,
            "atoms": self.weights.atoms,
            **numbers(
                largest=self.largest,
                largest_bound=self.bounds.largest,
                half_l1=self.half_l1,
                half_l1_bound=self.bounds.half_l1,
                published_bound=self.bounds.published,
            ),
            "largest_at": self.largest_at,
            "half_l1_at": self.half_l1_at,
            "bound": self.bounds.formula,
            "half_l1_formula": self.bounds.half_l1_formula,
            "weights_known_ahead": self.bounds.known_ahead,
            "counts": self.counts(),
            "schedule": [int(pick) for pick in self.schedule] if listed else None,
        }

    def counts(self) -> list[int]:
        """How often each atom is used."""
        import numpy as np

        return [int(n) for n in np.bincount(self.schedule, minlength=self.weights.atoms)]


def switch(weights: Weights, rule: Rule) -> Switching:
    """The schedule of a rule; compiled where the denominator leaves room, else plain.

    The chairman's deadlines look past the depth where one row of weights holds for ever, and a
    shorter schedule is then a prefix of a longer one; of D rows nothing is known past the depth.
    Both keep T2.2's bound.
    """
    if rule not in RULES:
        raise InputError(f"the rule is {rule!r}; needed one of {', '.join(RULES)}")
    import numpy as np

    if weights.fits:
        from qreplace.simulate.switching_kernels import discrepancies, schedule_of

        schedule = schedule_of(weights, rule)
        found = _in_steps(discrepancies(weights, schedule), weights.denominator)
    else:
        _require_plain(weights)
        picks = plain_schedule(weights, rule)
        schedule = np.array(picks, dtype=np.int32)
        found = prefix_discrepancy(weights.shares(), picks, weights.denominator)
    bounds = bounds_of(rule, weights.atoms)
    return Switching(rule, weights, schedule, found, bounds, weights.fits)


def plain_schedule(weights: Weights, rule: Rule) -> list[int]:
    """The schedule by the plain references, in Python integers."""
    if rule != "chairman":
        return greedy(weights.shares(), weights.denominator)
    if weights.constant:
        return chairman_schedule(weights.row(0), weights.depth)
    return chairman(weights.shares(), weights.denominator)


def realised_discrepancy(weights: Weights, schedule: Sequence[int] | Any) -> Discrepancy:
    """What any given schedule realises, exactly (theory T2.3); it may replace either bound."""
    import numpy as np

    if len(schedule) != weights.depth:
        raise InputError(f"a schedule of {len(schedule)} steps for weights of {weights.depth}")
    given = np.asarray(schedule)
    if given.ndim != 1 or given.dtype.kind not in "iu":
        raise InputError("a schedule needs to be a list of whole numbers, one atom a step")
    picks = given.tolist()
    require_schedule(picks, weights.atoms)
    if weights.fits and 2 * weights.depth * weights.denominator < 1 << 63:
        from qreplace.simulate.switching_kernels import discrepancies

        found = discrepancies(weights, given.astype(np.int32))
        return _in_steps(found, weights.denominator)
    _require_plain(weights)
    return prefix_discrepancy(weights.shares(), picks, weights.denominator)


def _in_steps(found: tuple[int, int, int, int], unit: int) -> Discrepancy:
    largest, largest_at, total, total_at = found
    return Discrepancy(Fraction(largest, unit), largest_at, Fraction(total, 2 * unit), total_at)


def _require_plain(weights: Weights) -> None:
    if weights.depth * weights.atoms > MAX_PLAIN:
        raise InputError(
            f"weights over a denominator of {weights.denominator.bit_length()} bits, "
            f"{weights.depth} steps of {weights.atoms} atoms; needed at most {MAX_PLAIN} in "
            "product where 64 bits are too few",
            remedy="Round the weights to a smaller common denominator.",
        )


@dataclass(frozen=True)
class SwitchingResult:
    """The schedules of several rules on the same weights."""

    title: str
    found: tuple[Switching, ...]
    origin: str = ""
    """In words, where the weights come from, where a study's claims hold them."""

    def document(self) -> dict[str, Any]:
        """What ``--json`` prints."""
        return {
            "kind": "switching",
            "title": self.title,
            "origin": self.origin,
            "rules": [own.document() for own in self.found],
        }

    def text(self) -> str:
        """The result for a terminal."""
        header = ["rule", "largest", "of at most", "half l1", "of at most", "bound"]
        cells = [
            [
                own.rule,
                f"{shown(own.largest)} at step {own.largest_at:,}",
                shown(own.bounds.largest),
                f"{shown(own.half_l1)} at step {own.half_l1_at:,}",
                shown(own.bounds.half_l1),
                own.bounds.formula + ("" if own.bounds.known_ahead else ", also online"),
            ]
            for own in self.found
        ]
        first = self.found[0].weights
        lines = [self.title, ""] if self.title else []
        lines += [
            f"prefix discrepancies of {first.atoms} atoms over {first.depth:,} steps",
            "",
            *columns(header, cells),
        ]
        if self.origin:
            lines += ["", f"weights: {self.origin}"]
        for own in self.found:
            picks = " ".join(str(int(pick)) for pick in own.schedule[:40])
            more = " ..." if first.depth > 40 else ""
            lines += ["", f"{own.rule}: {picks}{more}"]
        return "\n".join(lines)

    def figures(self) -> dict[str, bytes]:
        """Prefix discrepancies against the step, with the bounds."""
        from qreplace.simulate.figures import discrepancy_curve, switching_figure

        curves = [
            discrepancy_curve(
                own.rule,
                [own.weights.row(step) for step in range(len(own.weights.rows))],
                own.schedule,
                own.bounds.largest,
                own.bounds.formula,
            )
            for own in self.found
        ]
        return switching_figure(curves)
