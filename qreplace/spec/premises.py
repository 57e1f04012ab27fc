"""Quantities and premises: a number, its unit, how it is known and from where (theory T11.2).

Each kind of premise has one unit; stating it is optional, stating another one is an error.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any, ClassVar, Literal

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler, field_validator
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from qreplace.premises import Evidence
from qreplace.spec.findings import needed, shown
from qreplace.spec.values import (
    NUMBER_SCHEMA,
    NUMBER_WORDS,
    Block,
    Exact,
    NonNegative,
    Positive,
    Shorthand,
    SomeText,
    Text,
    choose,
    exact_number,
    fault,
    is_number,
    tag,
)

# --- quantities: a number, with its unit if one likes -------------------------------------------


def _as_value(value: Any) -> dict[str, Any] | None:
    return {"value": value} if is_number(value) else None


_BARE_NUMBER = Shorthand(NUMBER_WORDS + " or {value, unit}", _as_value, NUMBER_SCHEMA)


class _NormAmount(Block):
    """A number that is not negative, in units of the norm."""

    value: NonNegative
    unit: Literal["norm"] | None = None


class _Duration(Block):
    """A positive number, in units of time."""

    value: Positive
    unit: Literal["time"] | None = None


class _Instant(Block):
    """A time since the start of the horizon, in units of time."""

    value: NonNegative
    unit: Literal["time"] | None = None


class _RateAmount(Block):
    """A number of either sign, in units of 1/time."""

    value: Exact
    unit: Literal["1/time"] | None = None


NormAmount = Annotated[_NormAmount, _BARE_NUMBER]
Instant = Annotated[_Instant, _BARE_NUMBER]
RateAmount = Annotated[_RateAmount, _BARE_NUMBER]
Duration = Annotated[_Duration, _BARE_NUMBER]


def duration(value: int) -> Duration:
    """A duration given by us, for defaults."""
    return _Duration.model_construct(value=Fraction(value))


def instant(value: int) -> Instant:
    """An instant given by us, for defaults."""
    return _Instant.model_construct(value=Fraction(value))


def rate_amount(value: int) -> RateAmount:
    """A rate given by us, for defaults."""
    return _RateAmount.model_construct(value=Fraction(value))


# --- premises -----------------------------------------------------------------------------------

_INTERVAL_KEYS = frozenset(["lo", "hi"])
BOUNDS_SCHEMA: dict[str, Any] = {
    "anyOf": [
        NUMBER_SCHEMA,
        {
            "type": "object",
            "properties": {"lo": NUMBER_SCHEMA, "hi": NUMBER_SCHEMA},
            "required": ["lo", "hi"],
            "additionalProperties": False,
            "description": "An interval that contains the number; lo <= hi.",
        },
    ]
}


def _bounds(value: Any) -> tuple[Fraction, Fraction]:
    """A number, or the interval ``{lo, hi}`` that contains it."""
    if not isinstance(value, dict):
        number = exact_number(value)
        return number, number
    if set(value) != _INTERVAL_KEYS:
        raise fault(needed("a number or an interval {lo, hi}", shown(value)))
    ends = []
    for key in ("lo", "hi"):
        try:
            ends.append(exact_number(value[key]))
        except PydanticCustomError as error:
            context = error.context or {}
            raise fault(context["text"], at=(key,), code="number") from None
    if ends[0] > ends[1]:
        raise fault(
            needed("lo <= hi", f"lo above hi ({_short(value['lo'])} > {_short(value['hi'])})"),
            code="interval",
        )
    return ends[0], ends[1]


def _short(value: Any) -> str:
    return str(value)[:24]


@dataclass(frozen=True, eq=False)
class _BoundsReader:
    """The annotation behind ``Bounds``."""

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(_bounds)

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        return BOUNDS_SCHEMA


Bounds = Annotated[tuple[Fraction, Fraction], _BoundsReader()]

BARE_SOURCE = "bare number"


class PremiseSpec(Block):
    """A number with its evidence label, its source and what it assumes (theory T11.2)."""

    least: ClassVar[int | None] = 0
    positive: ClassVar[bool] = False

    value: Bounds
    evidence: Evidence
    source: SomeText
    assumptions: tuple[SomeText, ...] = ()
    description: Text = ""

    @field_validator("value")
    @classmethod
    def _in_range(cls, value: tuple[Fraction, Fraction]) -> tuple[Fraction, Fraction]:
        if cls.positive and value[0] <= 0:
            raise fault("needed a value above 0, received one that is 0 or below", code="range")
        if cls.least is not None and value[0] < cls.least:
            raise fault("needed a value that is at least 0, received a negative one", code="range")
        return value


def _as_premise(value: Any) -> dict[str, Any] | None:
    if not is_number(value):
        return None
    return {"value": value, "evidence": "diagnostic", "source": BARE_SOURCE}


@dataclass(frozen=True, eq=False)
class _PremiseShorthand(Shorthand):
    """A bare number or a bare interval is a premise with the label ``diagnostic``."""

    def read(self, value: Any) -> Any:
        if isinstance(value, dict) and value.keys() <= _INTERVAL_KEYS and value:
            return {"value": value, "evidence": "diagnostic", "source": BARE_SOURCE}
        return Shorthand.read(self, value)


BARE_PREMISE = _PremiseShorthand(
    "a number, an interval {lo, hi} or a premise {value, evidence, source}",
    _as_premise,
    BOUNDS_SCHEMA,
)


class _Norm(PremiseSpec):
    """A premise in units of the norm."""

    unit: Literal["norm"] | None = None


class _NormRate(PremiseSpec):
    """A premise in units of the norm per time."""

    unit: Literal["norm/time"] | None = None


class _Rate(PremiseSpec):
    """A premise in units of 1/time."""

    unit: Literal["1/time"] | None = None


class _SignedRate(PremiseSpec):
    """A premise of either sign in units of 1/time."""

    least: ClassVar[int | None] = None
    unit: Literal["1/time"] | None = None


class _HoelderRate(PremiseSpec):
    """A Hölder constant: units of the norm per time**(1 + exponent)."""

    unit: Literal["norm/time^(1+exponent)"] | None = None


class _Time(PremiseSpec):
    """A premise in units of time."""

    unit: Literal["time"] | None = None


class _Metadata(PremiseSpec):
    """A premise in units of the distance between metadata."""

    unit: Literal["metadata"] | None = None


class _Sensitivity(PremiseSpec):
    """A premise in units of the norm per time and metadata distance."""

    unit: Literal["norm/(time*metadata)"] | None = None


class _Count(PremiseSpec):
    """A premise that counts things: at least one."""

    positive: ClassVar[bool] = True
    unit: Literal["1"] | None = None


class _Score(PremiseSpec):
    """A premise in units of a score (a readout margin or a router gap)."""

    unit: Literal["score"] | None = None


class _ScorePerNorm(PremiseSpec):
    """A premise in units of a score per norm."""

    unit: Literal["score/norm"] | None = None


class _ScoreSlope(PremiseSpec):
    """A positive premise in units of a score per time."""

    positive: ClassVar[bool] = True
    unit: Literal["score/time"] | None = None


Norm = Annotated[_Norm, BARE_PREMISE]
NormRate = Annotated[_NormRate, BARE_PREMISE]
Rate = Annotated[_Rate, BARE_PREMISE]
SignedRate = Annotated[_SignedRate, BARE_PREMISE]
HoelderRate = Annotated[_HoelderRate, BARE_PREMISE]
Time = Annotated[_Time, BARE_PREMISE]
MetadataDistance = Annotated[_Metadata, BARE_PREMISE]
Sensitivity = Annotated[_Sensitivity, BARE_PREMISE]
Count = Annotated[_Count, BARE_PREMISE]
Score = Annotated[_Score, BARE_PREMISE]
ScorePerNorm = Annotated[_ScorePerNorm, BARE_PREMISE]
ScoreSlope = Annotated[_ScoreSlope, BARE_PREMISE]


# --- terms: a premise, or explicitly absent -----------------------------------------------------


def _term_kind(value: Any) -> str | None:
    return "absent" if value in ("none", "exact") else "premise"


AbsentWord = Literal["none", "exact"]
_TERM = choose("none, exact or a premise", _term_kind)

NormTerm = Annotated[Annotated[AbsentWord, tag("absent")] | Annotated[Norm, tag("premise")], _TERM]
NormRateTerm = Annotated[
    Annotated[AbsentWord, tag("absent")] | Annotated[NormRate, tag("premise")], _TERM
]
