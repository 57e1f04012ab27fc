"""The searched depths and metadata budgets, cost weights and attached certificates."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, Any

from pydantic import Field, StrictInt

from qreplace.question.model import MAX_DEPTH, MAX_GRID_RANGES
from qreplace.spec.values import Block, Flag, NonNegative, Sha256, Shorthand, SomeText, integer

MAX_CANDIDATES = 10_000_000
"""Most candidates of a search, depths times metadata budgets."""

_Depth = Annotated[StrictInt, integer(1, MAX_DEPTH)]


class DepthRangeSpec(Block):
    """Depths ``from, from + step, …`` up to ``to``."""

    first: _Depth = Field(alias="from")
    last: _Depth = Field(alias="to")
    step: _Depth = 1


def _as_range(value: Any) -> dict[str, Any] | None:
    return {"from": value, "to": value} if type(value) is int else None


DepthEntry = Annotated[
    DepthRangeSpec,
    Shorthand(
        "a depth (a whole number) or {from, to, step}",
        _as_range,
        {"type": "integer", "minimum": 1, "maximum": MAX_DEPTH},
    ),
]


class SearchSpec(Block):
    """The declared candidates: every depth with every metadata budget."""

    depths: Annotated[
        tuple[DepthEntry, ...],
        Field(min_length=1, max_length=MAX_GRID_RANGES),
    ]
    metadata_bits: (
        Annotated[
            tuple[Annotated[StrictInt, integer(0, 10**6)], ...],
            Field(min_length=1, max_length=MAX_GRID_RANGES),
        ]
        | None
    ) = None


class CostsSpec(Block):
    """``codebook + metadata_bit s + schedule_bit D log2 J + step D``: proxies, not measurements."""

    codebook: NonNegative = Field(
        default_factory=lambda: Fraction(0), json_schema_extra={"default": 0}
    )
    metadata_bit: NonNegative = Field(
        default_factory=lambda: Fraction(1), json_schema_extra={"default": 1}
    )
    schedule_bit: NonNegative = Field(
        default_factory=lambda: Fraction(1), json_schema_extra={"default": 1}
    )
    step: NonNegative = Field(default_factory=lambda: Fraction(0), json_schema_extra={"default": 0})


class CertificateSpec(Block):
    """An attached claim, by path and digest; a required unchecked one blocks *certified*."""

    claim: Annotated[SomeText, Field(pattern=r"^[a-z][a-z0-9_]{0,63}$")]
    path: SomeText | None = None
    sha256: Sha256 | None = None
    required: Flag = False
