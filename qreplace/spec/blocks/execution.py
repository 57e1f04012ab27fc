"""Execution: grids, rounding, carry, overflow and the errors of the executed arithmetic (T4)."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import StrictInt, model_validator

from qreplace.question.execution import MAX_REGISTER_BITS
from qreplace.spec.blocks.objective import NormSpec
from qreplace.spec.findings import needed
from qreplace.spec.premises import Norm, NormRateTerm, NormTerm
from qreplace.spec.values import (
    NUMBER_SCHEMA,
    Bits,
    Block,
    Positive,
    Shorthand,
    bare,
    choose,
    fault,
    integer,
    is_number,
    kinds,
    tag,
)


class DepthRuleSpec(Block):
    """A number that may depend on depth: ``coefficient / D**power``."""

    coefficient: Positive
    power: Annotated[StrictInt, integer(0, 8)]


def _as_rule(value: Any) -> dict[str, Any] | None:
    return {"coefficient": value, "power": 0} if is_number(value) else None


class GridSpec(Block):
    """A fixed-point grid over ``[-limit, limit]``, by its ``step`` or by ``bits``.

    With ``bits`` the step is ``2 limit / (2**bits - 1)`` (theory T4.3).
    """

    step: (
        Annotated[
            DepthRuleSpec, Shorthand("a number or {coefficient, power}", _as_rule, NUMBER_SCHEMA)
        ]
        | None
    ) = None
    bits: Bits | None = None
    rounding: Literal["nearest", "directed", "stochastic"]
    limit: Positive | None = None

    @model_validator(mode="after")
    def _one_way(self) -> GridSpec:
        if (self.step is None) == (self.bits is None):
            received = "neither" if self.step is None else "both"
            raise fault(f"needed either step or bits, received {received}", code="contradiction")
        if self.bits is not None and self.limit is None:
            raise fault("needed limit beside bits: the step is 2 limit / (2^bits - 1)")
        return self


class ExactCarrySpec(Block):
    """The carry is kept exactly."""

    kind: Literal["exact"]


class GridCarrySpec(Block):
    """T4.7: the carry is rounded on its own grid."""

    grid: GridSpec


def _carry_kind(value: Any) -> str | None:
    if value.get("kind") == "exact":
        return "exact"
    return "grid" if "grid" in value else None


CarrySpec = Annotated[
    Annotated[ExactCarrySpec, tag("exact")] | Annotated[GridCarrySpec, tag("grid")],
    choose("exact or {grid: …}", _carry_kind),
    bare("exact", others=False),
]


RegisterBits = Annotated[StrictInt, integer(1, MAX_REGISTER_BITS)]


class UnboundedSpec(Block):
    """The registers are as wide as they need to be."""

    kind: Literal["unbounded"]


class SaturateSpec(Block):
    """T4.8: clipping; ``margin`` is the distance of every ideal prefix from the box boundary."""

    kind: Literal["saturate"]
    margin: Norm | None = None


class WrapSpec(Block):
    """T4.9: two's complement; ``no_overflow`` bounds every coordinate before it is written."""

    kind: Literal["wrap"]
    no_overflow: Norm | None = None


class RegistersSpec(Block):
    """T4.10: two's-complement registers by their widths; a checked ``lattice`` claim backs them."""

    kind: Literal["registers"]
    on_overflow: Literal["saturate", "wrap"]
    state_bits: RegisterBits | None = None
    increment_bits: RegisterBits | None = None
    carry_bits: RegisterBits | None = None
    accumulator_bits: RegisterBits | None = None

    @model_validator(mode="after")
    def _some(self) -> RegistersSpec:
        widths = (self.state_bits, self.increment_bits, self.carry_bits, self.accumulator_bits)
        if all(bits is None for bits in widths):
            raise fault(needed("the width of at least one register, such as state_bits", "none"))
        return self


OverflowSpec = Annotated[
    Annotated[UnboundedSpec, tag("unbounded")]
    | Annotated[SaturateSpec, tag("saturate")]
    | Annotated[WrapSpec, tag("wrap")]
    | Annotated[RegistersSpec, tag("registers")],
    kinds("unbounded", "saturate", "wrap", "registers"),
    bare("unbounded", "saturate", "wrap"),
]


class ExactExecutionSpec(Block):
    """Ideal real arithmetic: the question is about exact execution."""

    kind: Literal["exact"]


class QuantizedExecutionSpec(Block):
    """Write-back, increment quantization or increment error feedback on declared grids."""

    kind: Literal["quantized"] = "quantized"
    semantics: Literal["write_back", "increment", "error_feedback"]
    grid: GridSpec
    carry: CarrySpec | None = None
    field_error: NormRateTerm | None = None
    initial_error: NormTerm | None = None
    overflow: OverflowSpec
    norm: NormSpec | None = None


ExecutionSpec = Annotated[
    Annotated[ExactExecutionSpec, tag("exact")]
    | Annotated[QuantizedExecutionSpec, tag("quantized")],
    kinds("exact", "quantized", default="quantized"),
    bare("exact"),
]
