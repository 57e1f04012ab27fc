"""A premise: a value with its evidence label, its source and what it assumes (theory T11.2)."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from qreplace.errors import Malformed


class Evidence(enum.Enum):
    """The evidence ladder of theory T11.2, strongest first."""

    ANALYTIC_CERTIFIED = "analytic_certified"
    INTERVAL_CERTIFIED = "interval_certified"
    FINITE_WITNESS_CERTIFIED = "finite_witness_certified"
    CALIBRATED_ESTIMATE = "calibrated_estimate"
    DIAGNOSTIC = "diagnostic"
    UNAVAILABLE = "unavailable"

    def __init__(self, label: str) -> None:
        self.rank = len(type(self).__members__)
        """0 for the strongest label; a larger rank is weaker evidence."""

    @property
    def certified(self) -> bool:
        """Whether the label is one of the certified ones (a *declared* one never counts)."""
        return self.rank <= Evidence.FINITE_WITNESS_CERTIFIED.rank


def weakest(labels: list[Evidence]) -> Evidence:
    """The weakest of the labels; the strongest possible one when there are none."""
    return max(labels, key=lambda label: label.rank, default=Evidence.ANALYTIC_CERTIFIED)


@dataclass(frozen=True, slots=True)
class Premise:
    """A declared number: an interval that contains it, how it is known, and from where."""

    kind: Literal["declared"]
    lower: Fraction
    upper: Fraction
    evidence: Evidence
    source: str
    assumptions: tuple[str, ...]

    def __post_init__(self) -> None:
        if self.lower > self.upper:
            raise Malformed("an interval whose lower end exceeds its upper end")


@dataclass(frozen=True, slots=True)
class Absent:
    """An explicit ``none`` or ``exact``: the term is not part of what is asked (theory T11.2)."""

    kind: Literal["absent"]


Term = Premise | Absent
"""A radius term: a declared number, or explicitly absent. An omitted term is ``None``."""

ABSENT = Absent("absent")
