"""What the producers of ``hjb_sos`` and ``support`` share: one problem, its regions, one clock."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Generic

from qreplace.produce.region_search import Found, RegionSearch, wanted_region
from qreplace.produce.regions import ProvedRegion
from qreplace.produce.sos_program import Budget, Clock, Solver
from qreplace.produce.value_functions import require_flow_size
from qreplace.question.subject import Subject

DEFAULT_ORDER = 2


class SosProducer(ABC, Generic[Found]):
    """One problem, its regions found once, and what solver and exact repair cost."""

    def __init__(
        self,
        subject: Subject,
        bits: int,
        *,
        depth: int | None = None,
        solver: Solver = "CLARABEL",
        budget: Budget | None = None,
    ) -> None:
        self.problem = subject.polynomial(bits)
        self.norm = subject.question.norm
        self.subject = subject.problem_digest(bits)
        self.bits = bits
        self.depth = depth
        self.solver: Solver = solver
        self.clock = Clock(budget or Budget())
        wanted = wanted_region(subject)
        self.regions = RegionSearch(self.problem, depth, wanted, self.clock, solver)

    @property
    def notes(self) -> list[str]:
        """What was tried and did not work."""
        return self.regions.notes

    def best(self, order: int) -> Found:
        """The best attempt of one order over the regions found; raises ``ProducerFailed``."""
        require_flow_size(self.problem, order, self.depth, self.clock.budget)
        return self.regions.best(lambda region: self.attempt(order, region))

    @abstractmethod
    def attempt(self, order: int, region: ProvedRegion) -> Found:
        """One programme, solved and repaired; raises ``ProducerFailed``."""
