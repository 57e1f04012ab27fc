"""Lowering of how it runs: execution, routing and the searched candidates."""

from __future__ import annotations

from fractions import Fraction

from qreplace.exact.block_formats import number_format
from qreplace.exact.rounding import Rounding
from qreplace.question import model as q
from qreplace.spec.blocks import constants as c
from qreplace.spec.blocks import execution as e
from qreplace.spec.blocks import routing as r
from qreplace.spec.depths import canonical_depths
from qreplace.spec.lower.context import Lowering
from qreplace.spec.model import Spec


def execution(spec: e.ExecutionSpec | None, context: Lowering) -> q.Execution | None:
    """The execution block; ``None`` when it is left out."""
    match spec:
        case None:
            return None
        case e.ExactExecutionSpec():
            return q.ExactExecution("exact")
    carry = spec.carry.grid if isinstance(spec.carry, e.GridCarrySpec) else None
    return q.QuantizedExecution(
        kind="quantized",
        semantics=spec.semantics,
        grid=_grid(spec.grid),
        carry=None if carry is None else _grid(carry),
        field_error=context.term(spec.field_error, "execution.field_error"),
        initial_error=context.term(spec.initial_error, "execution.initial_error"),
        overflow=_overflow(spec.overflow, context),
    )


def _grid(spec: e.GridSpec) -> q.Grid:
    if spec.format is not None:
        return _floating_grid(spec, spec.format)
    if spec.step is not None:
        step = q.DepthRule(spec.step.coefficient, spec.step.power)
    else:
        bits, limit = spec.bits or 0, spec.limit or Fraction(0)
        step = q.DepthRule(2 * limit / ((1 << bits) - 1), 0)
    return q.Grid(step, spec.rounding, spec.limit)


def _floating_grid(spec: e.GridSpec, name: str) -> q.Grid:
    """Theory T4.12: the largest rounding error up to the limit, whatever the mode."""
    limit = spec.limit or Fraction(0)
    mode: Rounding = "nearest_even" if spec.rounding == "nearest" else "floor"
    radius = number_format(name).write_back_radius(limit, mode)
    return q.Grid(q.DepthRule(radius, 0), "floating", limit)


def _overflow(spec: e.OverflowSpec, context: Lowering) -> q.Overflow:
    match spec:
        case e.SaturateSpec():
            margin = context.optional(spec.margin, "execution.overflow.margin")
            return q.Saturating("saturate", margin)
        case e.WrapSpec():
            bound = context.optional(spec.no_overflow, "execution.overflow.no_overflow")
            return q.Wrapping("wrap", bound)
        case e.RegistersSpec():
            return q.Registers(
                "registers",
                spec.on_overflow,
                spec.state_bits,
                spec.increment_bits,
                spec.carry_bits,
                spec.accumulator_bits,
            )
    return q.Unbounded("unbounded")


def _event(spec: r.RouteEventSpec, path: str, context: Lowering) -> q.RouteEvent:
    return q.RouteEvent(
        time=context.premise(spec.time, f"{path}.time"),
        slope=context.premise(spec.slope, f"{path}.slope"),
        jump=context.premise(spec.jump, f"{path}.jump"),
        gap_error=context.premise(spec.gap_error, f"{path}.gap_error"),
        gap_lipschitz=context.premise(spec.gap_lipschitz, f"{path}.gap_lipschitz"),
        isolation=context.premise(spec.isolation, f"{path}.isolation"),
        neighbourhood=context.premise(spec.neighbourhood, f"{path}.neighbourhood"),
    )


def routing(spec: r.RoutingSpec | None, context: Lowering) -> q.Routing | None:
    """The routing block; ``None`` when it is left out."""
    match spec:
        case None:
            return None
        case r.NoRoutingSpec():
            return q.NoRouting("none")
        case r.FrozenSpec():
            return q.FrozenRouting(
                kind="frozen",
                margin=context.optional(spec.margin, "routing.margin"),
                score_error=context.optional(spec.score_error, "routing.score_error"),
                score_lipschitz=context.optional(spec.score_lipschitz, "routing.score_lipschitz"),
            )
        case r.PrescribedSpec():
            events = ((f"routing.events.{index}", event) for index, event in enumerate(spec.events))
            return q.PrescribedRouting(
                kind="prescribed",
                events=tuple(
                    q.PrescribedEvent(
                        time=context.premise(event.time, f"{path}.time"),
                        jump=context.premise(event.jump, f"{path}.jump"),
                    )
                    for path, event in events
                ),
            )
    return q.StateDependentRouting(
        kind="state_dependent",
        events=tuple(
            _event(event, f"routing.events.{index}", context)
            for index, event in enumerate(spec.events)
        ),
        score_error=context.optional(spec.score_error, "routing.score_error"),
        score_lipschitz=context.optional(spec.score_lipschitz, "routing.score_lipschitz"),
        outer_isolation=context.optional(spec.outer_isolation, "routing.outer_isolation"),
        oracle_error=context.optional(spec.oracle_error, "routing.oracle_error"),
    )


def search(spec: Spec) -> q.Search:
    """The search grid, depths merged into ranges."""
    declared = spec.search.metadata_bits
    if declared is None and isinstance(spec.metadata, c.CodesSpec):
        declared = tuple(code.bits for code in spec.metadata.codes)
    return q.Search(canonical_depths(spec.search.depths), tuple(sorted(declared or (0,))))
