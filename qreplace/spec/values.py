"""Building blocks of the models: exact numbers, texts, quantities, premises, shorthands, kinds.

Validators raise ``fault(...)``; ``problems.py`` turns every error into needed, received, remedy.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any

from pydantic import (
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    StrictBool,
    StrictInt,
    Tag,
)
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from qreplace.errors import Malformed
from qreplace.exact.rational import MAX_DIGITS, parse_rational
from qreplace.spec.findings import Location, needed, shown

MAX_TEXT = 10_000
TAG_PREFIX = "kind="
"""Union tags start with this, so that a location can be told from a key of the document."""

_TOO_LONG = 10**MAX_DIGITS

_NOT_FINITE = frozenset(
    sign + word for sign in ("", "+", "-") for word in ("nan", "inf", "infinity", ".nan", ".inf")
)


def fault(text: str, *, at: Location = (), code: str = "invalid") -> PydanticCustomError:
    """An error with our own words, ``at`` a location below the value that is validated."""
    return PydanticCustomError("fault", "{text}", {"text": text, "at": at, "code": code})


class Block(BaseModel):
    """A block of the specification: no unknown keys, no changes after reading."""

    model_config = ConfigDict(extra="forbid", frozen=True)


# --- exact numbers ------------------------------------------------------------------------------

RATIONAL_TEXT = r"^[+-]?([0-9]+/[0-9]+|([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?)$"
NUMBER_SCHEMA: dict[str, Any] = {
    "anyOf": [{"type": "number"}, {"type": "string", "pattern": RATIONAL_TEXT}],
    "description": 'An exact number: an integer, a decimal (0.1 is 1/10) or "p/q".',
}
NUMBER_WORDS = 'an exact number (an integer, a decimal or "p/q")'


def is_number(value: Any) -> bool:
    """Whether a value of a document may denote a number."""
    return type(value) is int or isinstance(value, str)


def exact_number(value: Any) -> Fraction:
    """The rational that a value of a document denotes."""
    if type(value) is int:
        return Fraction(value)
    if not isinstance(value, str):
        raise fault(needed(NUMBER_WORDS, shown(value)), code="number")
    if value.lower() in _NOT_FINITE:
        raise fault(needed("a finite exact number", shown(value)), code="number")
    try:
        number = parse_rational(value)
    except Malformed as error:
        raise fault(error.message, code="number") from None
    # With its exponent written out a decimal may be longer than what the question can hold.
    if abs(number.numerator) >= _TOO_LONG or number.denominator >= _TOO_LONG:
        raise fault(
            needed(f"a number of at most {MAX_DIGITS} digits", "a longer one"), code="number"
        )
    return number


@dataclass(frozen=True, eq=False)
class _Exact:
    """The annotation behind ``Exact``: reads a number exactly, within optional bounds."""

    least: int | None = None
    positive: bool = False

    def read(self, value: Any) -> Fraction:
        number = exact_number(value)
        if self.positive and number <= 0:
            raise fault(needed("a number above 0", shown(value)), code="range")
        if self.least is not None and number < self.least:
            raise fault(
                needed(f"a number that is at least {self.least}", shown(value)), code="range"
            )
        return number

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(self.read)

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        bounds: dict[str, Any] = {}
        if self.positive:
            bounds = {"exclusiveMinimum": 0}
        elif self.least is not None:
            bounds = {"minimum": self.least}
        number, text = NUMBER_SCHEMA["anyOf"]
        return {**NUMBER_SCHEMA, "anyOf": [{**number, **bounds}, text]}


Exact = Annotated[Fraction, _Exact()]
NonNegative = Annotated[Fraction, _Exact(least=0)]
Positive = Annotated[Fraction, _Exact(positive=True)]


def integer(least: int, most: int) -> Any:
    """The bounds of a whole number."""
    return Field(ge=least, le=most)


Bits = Annotated[StrictInt, integer(1, 64)]
Flag = StrictBool


# --- texts --------------------------------------------------------------------------------------


def _text(value: Any) -> str:
    if type(value) is not str:
        raise fault(needed("text", shown(value), "Put it in quotes."), code="type")
    if len(value) > MAX_TEXT:
        raise fault(needed(f"at most {MAX_TEXT} characters", str(len(value))), code="too-large")
    return value


def _some_text(value: Any) -> str:
    if not _text(value).strip():
        raise fault(needed("text that is not empty", shown(value)))
    return str(value)


@dataclass(frozen=True, eq=False)
class _Text:
    """The annotation behind ``Text``."""

    read: Callable[[Any], str]
    schema: tuple[tuple[str, Any], ...]

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(self.read)

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        return {"type": "string", **dict(self.schema)}


Text = Annotated[str, _Text(_text, (("maxLength", MAX_TEXT),))]
SomeText = Annotated[str, _Text(_some_text, (("maxLength", MAX_TEXT), ("minLength", 1)))]


SHA256_PATTERN = r"^[0-9a-f]{64}$"


def _sha256(value: Any) -> str:
    if type(value) is not str or len(value) != 64 or not set(value) <= set("0123456789abcdef"):
        remedy = "" if type(value) is str else "Put it in quotes."
        raise fault(needed("a SHA-256 (64 lower-case hexadecimal digits)", shown(value), remedy))
    return value


Sha256 = Annotated[str, _Text(_sha256, (("pattern", SHA256_PATTERN),))]


# --- shorthands and kinds -----------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Shorthand:
    """A shorter way to write an object: ``expand`` makes the object, or returns ``None``."""

    what: str
    expand: Callable[[Any], dict[str, Any] | None]
    schema: dict[str, Any]

    def read(self, value: Any) -> Any:
        """The long form of a short one; anything else as it is."""
        if isinstance(value, dict):
            return value
        expanded = self.expand(value)
        if expanded is None:
            raise fault(needed(self.what, shown(value)), code="type")
        return expanded

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        return core_schema.no_info_before_validator_function(self.read, handler(source))

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        return {"anyOf": [self.schema, handler(schema)]}


def tag(kind: str) -> Tag:
    """The tag of a union's member."""
    return Tag(TAG_PREFIX + kind)


def choose(what: str, chooser: Callable[[Any], str | None]) -> Discriminator:
    """Tell the members of a union apart by ``chooser``, which returns a kind."""

    def tagged(value: Any) -> str | None:
        kind = chooser(value)
        return None if kind is None else TAG_PREFIX + kind

    return Discriminator(
        tagged,
        custom_error_type="unknown_kind",
        custom_error_message=what,
    )


def kinds(*names: str, default: str | None = None) -> Discriminator:
    """Tell the members of a union apart by their key ``kind``."""

    def chooser(value: Any) -> str | None:
        kind = value.get("kind", default) if isinstance(value, dict) else None
        return kind if isinstance(kind, str) and kind in names else None

    return choose("one of the kinds " + ", ".join(names), chooser)


def bare(*names: str, others: bool = True) -> Shorthand:
    """Let ``word`` stand for ``{kind: word}``; ``names`` are the words that need nothing else."""

    def expand(value: Any) -> dict[str, Any] | None:
        return {"kind": value} if type(value) is str else None

    what = "one of " + ", ".join(names) + (" or an object with a kind" if others else "")
    return Shorthand(what, expand, {"enum": list(names)})
