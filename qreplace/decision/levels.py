"""Levels of evidence at which the same inequality is tried, strongest first (theory T11.2)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from qreplace.check.bounds import Checked
from qreplace.decision.routes import Route
from qreplace.premises import Evidence, Premise
from qreplace.question.model import Growth, Question, Saturating, Wrapping
from qreplace.radii.constants import Sight


@dataclass(frozen=True, eq=False)
class Level:
    """Certified: nothing declared. Else every declared premise down to the label ``weakest``."""

    certified: bool
    weakest: Evidence

    @property
    def sight(self) -> Sight:
        """The declared premises that the level admits."""
        return Sight(None if self.certified else self.weakest)

    def admits(self, route: Route) -> bool:
        """Whether everything that a route rests on, declared or checked, is good enough."""
        if self.certified:
            return route.certified
        return route.evidence.rank <= self.weakest.rank

    def admits_objective(self, evidence: Evidence | None) -> bool:
        """Whether the threshold may be used; ``None`` is a tolerance, which is simply asked."""
        if evidence is None:
            return True
        return not self.certified and evidence.rank <= self.weakest.rank


CERTIFIED = Level(True, Evidence.FINITE_WITNESS_CERTIFIED)
EVERYTHING = Level(False, Evidence.DIAGNOSTIC)
"""Every premise that is available at all."""


def levels_of(question: Question, checked: Sequence[Checked]) -> list[Level]:
    """Certified first; then one level for each label that a premise or a checked claim carries."""
    labels = {premise.evidence for premise in _declared(question)}
    if labels:
        labels.update(entry.evidence for entry in checked)
    labels.discard(Evidence.UNAVAILABLE)
    ordered = sorted(labels, key=lambda label: label.rank)
    return [CERTIFIED, *map(_level, ordered)]


def _level(label: Evidence) -> Level:
    return EVERYTHING if label is EVERYTHING.weakest else Level(False, label)


def _declared(question: Question) -> Iterator[Premise]:
    """The declared premises of the question."""
    for block in (
        question.objective,
        question.domain,
        question.tube,
        question.floor,
        question.synthesis,
        question.metadata,
        question.execution,
    ):
        yield from _premises_of(block)


def _premises_of(block: Any) -> Iterator[Premise]:
    for name in getattr(block, "__dataclass_fields__", ()):
        value = getattr(block, name)
        if isinstance(value, Premise):
            yield value
        elif isinstance(value, (Growth, Saturating, Wrapping)):
            yield from _premises_of(value)
