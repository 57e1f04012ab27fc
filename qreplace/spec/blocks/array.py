"""Arrays of a specification: nested lists of exact numbers, or side files named by digest."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from qreplace.spec.findings import Location, needed, shown
from qreplace.spec.values import (
    NUMBER_SCHEMA,
    Block,
    Sha256,
    Shorthand,
    SomeText,
    choose,
    exact_number,
    fault,
    is_number,
    tag,
)

MAX_INLINE = 65_536
"""Most entries of an array that is written out; larger ones go to side files."""


def _nested(value: Any) -> tuple[tuple[int, ...], tuple[Fraction, ...]]:
    """Shape and C-order entries of nested lists of numbers."""
    if not isinstance(value, list):
        raise fault(needed("nested lists of numbers", shown(value)), code="type")
    shape: list[int] = []
    level: list[tuple[Location, Any]] = [((), value)]
    while level and isinstance(level[0][1], list):
        extent = len(level[0][1])
        following: list[tuple[Location, Any]] = []
        for location, item in level:
            if not isinstance(item, list) or len(item) != extent:
                raise fault(
                    needed(f"a list of {extent} as its neighbours are", shown(item)),
                    at=location,
                    code="shape",
                )
            following.extend(((*location, i), entry) for i, entry in enumerate(item))
        shape.append(extent)
        level = following
        if len(level) > MAX_INLINE:
            raise fault(
                needed(
                    f"at most {MAX_INLINE} entries written out",
                    f"{len(level)}",
                    "Put the array in a side file.",
                ),
                code="too-large",
            )
    if not level:
        raise fault("needed at least one entry, received an empty list", code="shape")
    return tuple(shape), tuple(_entry(location, item) for location, item in level)


def _entry(location: Location, item: Any) -> Fraction:
    try:
        return exact_number(item)
    except PydanticCustomError as error:
        raise fault((error.context or {})["text"], at=location, code="number") from None


@dataclass(frozen=True, eq=False)
class _NestedLists:
    """The annotation behind an inline array's values."""

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(_nested)

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        return NESTED_SCHEMA


NESTED_SCHEMA: dict[str, Any] = {
    "type": "array",
    "minItems": 1,
    "items": {"anyOf": [*NUMBER_SCHEMA["anyOf"], {"type": "array"}]},
    "description": f"Nested lists of exact numbers, all rows equally long; at most {MAX_INLINE}.",
}


class InlineArraySpec(Block):
    """A small array written out as nested lists."""

    values: Annotated[tuple[tuple[int, ...], tuple[Fraction, ...]], _NestedLists()]


class SideFileSpec(Block):
    """An array in a ``.npy`` or ``.safetensors`` file beside the specification."""

    path: SomeText
    sha256: Sha256
    tensor: SomeText | None = None


def _as_values(value: Any) -> dict[str, Any] | None:
    return {"values": value} if isinstance(value, list) else None


def _array_kind(value: Any) -> str | None:
    return "inline" if "values" in value else "file"


ArraySpec = Annotated[
    Annotated[InlineArraySpec, tag("inline")] | Annotated[SideFileSpec, tag("file")],
    choose("an array", _array_kind),
    Shorthand("an array: nested lists, {values: …} or {path, sha256}", _as_values, NESTED_SCHEMA),
]


def _as_numbers(value: Any) -> dict[str, Any] | None:
    if isinstance(value, list):
        return {"values": value}
    return {"values": [value]} if is_number(value) else None


ScalesSpec = Annotated[
    Annotated[InlineArraySpec, tag("inline")] | Annotated[SideFileSpec, tag("file")],
    choose("scales", _array_kind),
    Shorthand(
        "a scale or an array of scales",
        _as_numbers,
        {"anyOf": [*NUMBER_SCHEMA["anyOf"], NESTED_SCHEMA]},
    ),
]

ThresholdsSpec = Annotated[
    Annotated[InlineArraySpec, tag("inline")] | Annotated[SideFileSpec, tag("file")],
    choose("thresholds", _array_kind),
    Shorthand(
        "a threshold or an array of thresholds",
        _as_numbers,
        {"anyOf": [*NUMBER_SCHEMA["anyOf"], NESTED_SCHEMA]},
    ),
]
