"""What each attempt at a floor may spend: beside the question, since it does not change it."""

from __future__ import annotations

from dataclasses import dataclass

from qreplace.spec.blocks.floor import ComputedFloorSpec
from qreplace.spec.model import Spec


@dataclass(frozen=True, slots=True)
class FloorBudget:
    """Limits of one attempt; ``None`` leaves one to the program.

    ``seconds`` of wall-clock time and ``megabytes`` of memory; ``nodes`` counts branch-and-bound
    nodes, or iterations of a solver that has none.
    """

    seconds: int | None = None
    megabytes: int | None = None
    nodes: int | None = None


def budget(spec: Spec) -> FloorBudget:
    """The budget of a specification; empty where it states none."""
    floor = spec.structural_floor
    stated = floor.budget if isinstance(floor, ComputedFloorSpec) else None
    if stated is None:
        return FloorBudget()
    return FloorBudget(stated.seconds, stated.megabytes, stated.nodes)
