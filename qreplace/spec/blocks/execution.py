"""Execution: grids, rounding, carry, overflow and the errors of the executed arithmetic (T4)."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import StrictInt, model_validator

from qreplace.exact.block_formats import number_format
from qreplace.exact.rational import approximate
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


FormatName = Literal[
    "bf16", "fp16", "fp32", "e4m3", "e5m2", "e3m2", "e2m3", "e2m1",
    "mxfp8_e4m3", "mxfp8_e5m2", "mxfp6_e3m2", "mxfp6_e2m3", "mxfp4",
]  # fmt: skip
"""Formats whose rounding radius follows from the magnitude alone: no scale of a whole tensor."""


class GridSpec(Block):
    """A grid over ``[-limit, limit]``: fixed-point by ``step`` or ``bits``, or a floating format.

    With ``bits`` the step is ``2 limit / (2**bits - 1)`` (theory T4.3). With ``format`` it is the
    largest rounding error of magnitudes up to ``limit`` (theory T4.12).
    """

    step: (
        Annotated[
            DepthRuleSpec, Shorthand("a number or {coefficient, power}", _as_rule, NUMBER_SCHEMA)
        ]
        | None
    ) = None
    bits: Bits | None = None
    format: FormatName | None = None
    rounding: Literal["nearest", "directed", "stochastic"]
    limit: Positive | None = None

    @model_validator(mode="after")
    def _one_way(self) -> GridSpec:
        given = [name for name in ("step", "bits", "format") if getattr(self, name) is not None]
        if len(given) != 1:
            received = " and ".join(given) or "none of them"
            raise fault(needed("one of step, bits and format", received), code="contradiction")
        if self.bits is not None and self.limit is None:
            raise fault("needed limit beside bits: the step is 2 limit / (2^bits - 1)")
        if self.format is not None:
            self._require_range(self.format)
        return self

    def _require_range(self, name: str) -> None:
        if self.limit is None:
            raise fault("needed limit beside format: its rounding error depends on the magnitude")
        largest = number_format(name).largest
        if self.limit > largest:
            raise fault(
                needed(f"a limit that {name} holds, at most {approximate(largest):.6g}",
                       f"{approximate(self.limit):.6g}"),
                at=("limit",), code="range",
            )  # fmt: skip


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
