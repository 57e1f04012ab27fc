"""Objective and domain: what error is asked about, and on which inputs (theory T1)."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from qreplace.premises import Premise
from qreplace.question.piecewise import NetworkTarget, ScheduleTarget
from qreplace.question.terms import Array


@dataclass(frozen=True, slots=True)
class Emulation:
    """T1.1: error to the high-precision map itself, at most ``tolerance``."""

    kind: Literal["emulation"]
    tolerance: Fraction


Comparator = Premise | ScheduleTarget | NetworkTarget


@dataclass(frozen=True, slots=True)
class AccuracyMatching:
    """T1.2: error to a common reference at most the comparator's own.

    The comparator is its error as a declared interval, or, for piecewise-affine questions, the map
    itself, whose error is bracketed by checked claims.
    """

    kind: Literal["accuracy_matching"]
    comparator: Comparator

    @property
    def comparator_map(self) -> ScheduleTarget | NetworkTarget | None:
        """The comparator where it is given as a map."""
        return None if isinstance(self.comparator, Premise) else self.comparator


@dataclass(frozen=True, slots=True)
class Behavioural:
    """T1.3: same decision; ``readout * error < margin`` strictly. Can only show feasibility.

    ``readout`` bounds the dual norm ``||w_i - w_j||_*`` over competing rows.
    """

    kind: Literal["behavioural"]
    margin: Premise
    readout: Premise


Objective = Emulation | AccuracyMatching | Behavioural


@dataclass(frozen=True, slots=True)
class WitnessDomain:
    """The question is about finitely many inputs; for a linear map, the rows of ``inputs``."""

    kind: Literal["witnesses"]
    inputs: Array | None


@dataclass(frozen=True, slots=True)
class FullDomain:
    """The question is about every input. ``inputs`` are the witnesses that bounds are computed on.

    ``covering``: a bound on ``2 K_y eta`` (theory T7.12), what lies between the witnesses; without
    it no upper end from witnesses counts.
    """

    kind: Literal["full"]
    inputs: Array | None
    covering: Premise | None


Domain = WitnessDomain | FullDomain
