"""``run``: a request in, everything that is printed, drawn or sent about it out."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from qreplace.simulate.request import (
    ArithmeticRequest,
    LatticeRequest,
    PhaseRequest,
    Request,
    SwitchingRequest,
)

Progress = Callable[[str, int, int], None]
Figures = Mapping[str, bytes]


@dataclass(frozen=True)
class Outcome:
    """A finished simulation. ``draw`` makes the figures, by file name; they are drawn once."""

    document: dict[str, Any]
    """What ``--json`` prints."""
    text: str
    """For a terminal."""
    premises: str
    """A block for a specification, as YAML; empty where the simulation supports none."""
    draw: Callable[[], Figures]

    @cached_property
    def figures(self) -> Figures:
        """The figures by file name."""
        return self.draw()

    def files(self) -> dict[str, bytes]:
        """Everything that ``--out`` writes."""
        result = json.dumps(self.document, ensure_ascii=False, indent=2).encode() + b"\n"
        files = {"result.json": result, **self.figures}
        if self.premises:
            files["premises.yaml"] = self.premises.encode()
        return files


def run(request: Request, progress: Progress | None = None) -> Outcome:
    """Simulate what a request asks for; raises ``InputError`` before anything long starts."""
    match request:
        case SwitchingRequest():
            from qreplace.simulate.runs_switching import switching_outcome

            return switching_outcome(request)
        case ArithmeticRequest():
            from qreplace.simulate.runs import arithmetic_outcome

            return arithmetic_outcome(request, progress)
        case LatticeRequest():
            from qreplace.simulate.runs_lattice import lattice_outcome

            return lattice_outcome(request, progress)
        case PhaseRequest():
            from qreplace.simulate.runs_phase import phase_outcome

            return phase_outcome(request, progress)
