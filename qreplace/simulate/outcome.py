"""``run``: a request in, everything that is printed, drawn or sent about it out."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from qreplace.simulate.request import (
    MAX_DEPTHS,
    ArithmeticRequest,
    LatticeRequest,
    PhaseRequest,
    Request,
    RoutingRequest,
    SwitchingRequest,
)

if TYPE_CHECKING:
    from qreplace.simulate.phase_table import PhasePlan
    from qreplace.simulate.runs import ArithmeticResult
    from qreplace.simulate.switching import Rule
    from qreplace.simulate.switching_weights import Weights

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
            return _switching(request)
        case ArithmeticRequest():
            from qreplace.simulate.runs import run_arithmetic

            return arithmetic_outcome(run_arithmetic(request, progress))
        case LatticeRequest():
            return _lattice(request, progress)
        case PhaseRequest():
            return _phase(request, progress)
        case RoutingRequest():
            return _routing(request, progress)


def arithmetic_outcome(found: ArithmeticResult) -> Outcome:
    """Runs of one system, of a request or of a study; the first row's path is drawn."""

    def draw() -> Figures:
        from qreplace.simulate.figures import run_figure

        chosen = found.drawn
        return run_figure(found.system, chosen.schedule, chosen.arithmetic) if chosen else {}

    return Outcome(found.document(), found.text(), found.premises(), draw)


def _switching(request: SwitchingRequest) -> Outcome:
    from qreplace.simulate.switching import weights_of

    weights = weights_of(request.weights, request.depth)
    return switching_outcome(request.title, weights, request.rules)


def switching_outcome(
    title: str, weights: Weights, rules: Sequence[Rule], origin: str = ""
) -> Outcome:
    """The schedules of several rules on the same weights, of a request or of a study's claims."""
    from qreplace.simulate.switching import SwitchingResult, switch

    made = tuple(switch(weights, rule) for rule in dict.fromkeys(rules))
    found = SwitchingResult(title, made, origin)
    return Outcome(found.document(), found.text(), "", found.figures)


def _lattice(request: LatticeRequest, progress: Progress | None) -> Outcome:
    from qreplace.simulate.lattice import verify

    found = verify(
        request.max_code,
        request.max_depth,
        request.ratios,
        request.trials,
        request.seed,
        request.rounding,
        progress,
    )

    def draw() -> Figures:
        from qreplace.simulate.figures import lattice_figure

        return lattice_figure(found)

    return Outcome(found.document(), found.text(), found.premises(), draw)


def _routing(request: RoutingRequest, progress: Progress | None) -> Outcome:
    from qreplace.simulate.routed_runs import run_routing

    found = run_routing(request, progress)

    def draw() -> Figures:
        from qreplace.simulate.routed_figure import routing_figure

        return routing_figure(found)

    return Outcome(found.document(), found.text(), found.premises(), draw)


def _phase(request: PhaseRequest, progress: Progress | None) -> Outcome:
    from qreplace.simulate.phase import default_heat_plan, heat, phase

    plan = phase_plan(request)
    table = phase(plan, progress)
    by_bits = heat(*default_heat_plan(plan), progress=progress)

    def draw() -> Figures:
        from qreplace.simulate.phase_figure import heat_figure, phase_figure

        return {**phase_figure(table), **heat_figure(by_bits)}

    return Outcome(table.document(), table.text(), table.premise_block(), draw)


def phase_plan(request: PhaseRequest) -> PhasePlan:
    """What a phase request runs: the default system, or its own."""
    from dataclasses import replace

    from qreplace.simulate.build import depths_of, system_of
    from qreplace.simulate.phase import default_depths, default_plan, roomy_limit
    from qreplace.simulate.phase_table import PhasePlan

    plan = default_plan()
    depths = plan.depths if request.depths is None else tuple(depths_of(request.depths, MAX_DEPTHS))
    if request.system is not None and request.weights is not None:
        system = system_of(request.system)
        depths = default_depths() if request.depths is None else depths
        limit = roomy_limit(system, depths)
        plan = PhasePlan(system, request.weights, depths, plan.state_bits, limit)
    plan = replace(plan, depths=depths, rounding=request.rounding)
    if request.limit is not None:
        plan = replace(plan, limit=request.limit)
    return plan if request.state_bits is None else replace(plan, state_bits=request.state_bits)
