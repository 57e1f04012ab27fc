"""Levels of evidence at which the same inequality is tried, strongest first (theory T11.2)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from qreplace.decision.routes import Route
from qreplace.premises import Evidence, weakest


@dataclass(frozen=True, slots=True)
class Level:
    """Certified only, or every premise down to ``weakest``."""

    certified: bool
    weakest: Evidence

    def admits(self, route: Route) -> bool:
        """Whether the route may be used at this level."""
        if self.certified:
            return route.certified
        return route.evidence.rank <= self.weakest.rank

    def admits_objective(self, evidence: Evidence | None) -> bool:
        """Whether the threshold may be used; ``None`` is a tolerance, which is simply asked."""
        if evidence is None:
            return True
        return not self.certified and evidence.rank <= self.weakest.rank


CERTIFIED = Level(True, Evidence.FINITE_WITNESS_CERTIFIED)


def levels_of(routes: Iterable[Route], objective: Evidence | None) -> list[Level]:
    """Certified first; then one level for each label that a usable uncertified route carries."""
    labels = set()
    for route in routes:
        if route.certified and objective is None:
            continue
        label = route.evidence if objective is None else weakest([route.evidence, objective])
        labels.add(label)
    labels.discard(Evidence.UNAVAILABLE)
    ordered = sorted(labels, key=lambda label: label.rank)
    return [CERTIFIED, *(Level(False, label) for label in ordered)]
