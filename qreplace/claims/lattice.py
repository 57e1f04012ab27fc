"""``lattice``: what every register holds on a common lattice, so that none overflows (T4.10)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from qreplace.question.code_lattice import CodeRange


@dataclass(frozen=True, slots=True)
class LatticeClaim:
    """At every depth from ``first_depth`` to ``last_depth`` all codes stay in these ranges.

    Codes: ``state`` and ``increment`` count the grid's step, ``carry`` and ``accumulator`` the fine
    lattice's. ``intervals`` propagates ranges for all schedules at once; ``enumeration`` visits
    every code that some schedule reaches.
    """

    format: Literal["qreplace/claim/lattice/v1"]
    subject: str
    code: int
    first_depth: int
    last_depth: int
    method: Literal["intervals", "enumeration"]
    state: CodeRange
    increment: CodeRange
    carry: CodeRange
    accumulator: CodeRange

    @property
    def ranges(self) -> dict[str, CodeRange]:
        """The ranges by register."""
        return {
            "state": self.state,
            "increment": self.increment,
            "carry": self.carry,
            "accumulator": self.accumulator,
        }
