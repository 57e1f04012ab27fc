"""The best certificate over the regions that are found for one problem."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Protocol, TypeVar

from qreplace.errors import ProducerFailed
from qreplace.exact.polynomial import Polynomial
from qreplace.produce.regions import NoRegion, ProvedRegion, RegionFinder
from qreplace.produce.sos_program import Clock, Solver
from qreplace.question.dynamics import PolynomialProblem
from qreplace.question.model import ComputedFloor
from qreplace.question.subject import Subject

ENOUGH = Fraction(1, 10**5)
"""A further region that gains less than this part of the value ends the search."""


class Valued(Protocol):
    """Anything with an exact value; more is better."""

    @property
    def value(self) -> Fraction:
        """What is compared."""


Found = TypeVar("Found", bound=Valued)


class RegionSearch:
    """Regions in the order they are found; none is searched for twice."""

    def __init__(
        self,
        problem: PolynomialProblem,
        depth: int | None,
        wanted: tuple[Polynomial, ...],
        clock: Clock,
        solver: Solver,
    ) -> None:
        self.clock = clock
        self.notes: list[str] = []
        """What was tried and did not work."""
        self._found: list[ProvedRegion] = []
        self._search = RegionFinder(problem, depth, wanted, clock, solver).candidates()

    def __iter__(self) -> Iterator[ProvedRegion]:
        position = 0
        while True:
            if position == len(self._found):
                region = next(self._search, None)
                if region is None:
                    return
                self.notes.extend(note for note in region.notes if note not in self.notes)
                self._found.append(region)
            yield self._found[position]
            position += 1

    def best(self, attempt: Callable[[ProvedRegion], Found]) -> Found:
        """The best attempt, region after region until one gains next to nothing.

        Raises ``ProducerFailed`` when none succeeds.
        """
        best: Found | None = None
        failure: ProducerFailed | None = None
        try:
            for region in self:
                try:
                    found = attempt(region)
                except ProducerFailed as error:
                    self.clock.remaining()
                    self.notes.append(error.message)
                    failure = failure or error
                    continue
                if best is None:
                    best = found
                    continue
                gain = found.value - best.value
                best = found if gain > 0 else best
                if gain <= ENOUGH * abs(best.value):
                    break
        except ProducerFailed as error:  # out of time, or no region at all
            if best is None:
                raise
            self.notes.append(error.message)
        if best is None:
            raise failure or NoRegion("no region was found that holds every trajectory")
        return best


def wanted_region(subject: Subject) -> tuple[Polynomial, ...]:
    """The constraints that the question asks to use."""
    floor = subject.question.floor
    return floor.region if isinstance(floor, ComputedFloor) else ()


def requested_order(subject: Subject) -> int | None:
    """The order that the question asks for."""
    floor = subject.question.floor
    return floor.order if isinstance(floor, ComputedFloor) else None
