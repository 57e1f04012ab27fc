"""The names of a study's answers (design.md, verdicts)."""

from __future__ import annotations

import enum

from qreplace.decision.levels import Level


class Verdict(enum.Enum):
    """Every answer a study can have."""

    CERTIFIED_FEASIBLE = "certified_feasible"
    CERTIFIED_IMPOSSIBLE = "certified_impossible"
    CERTIFIED_ASYMPTOTICALLY_IMPOSSIBLE = "certified_asymptotically_impossible"
    CONDITIONALLY_FEASIBLE = "conditionally_feasible"
    CONDITIONALLY_IMPOSSIBLE = "conditionally_impossible"
    UNRESOLVED = "unresolved"

    @property
    def resolved(self) -> bool:
        """Anything but unresolved."""
        return self is not Verdict.UNRESOLVED


def named(level: Level, *, feasible: bool) -> Verdict:
    """What a level of evidence calls its answer about every declared candidate, or about one."""
    if level.certified:
        return Verdict.CERTIFIED_FEASIBLE if feasible else Verdict.CERTIFIED_IMPOSSIBLE
    return Verdict.CONDITIONALLY_FEASIBLE if feasible else Verdict.CONDITIONALLY_IMPOSSIBLE


WITHHELD = {
    Verdict.CERTIFIED_FEASIBLE: Verdict.CONDITIONALLY_FEASIBLE,
    Verdict.CERTIFIED_IMPOSSIBLE: Verdict.CONDITIONALLY_IMPOSSIBLE,
    # "Conditionally impossible" is said of every declared candidate; nobody showed that here.
    Verdict.CERTIFIED_ASYMPTOTICALLY_IMPOSSIBLE: Verdict.UNRESOLVED,
}
"""What remains while a required certificate is absent or unchecked (theory T11.3)."""
