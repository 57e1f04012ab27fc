"""Polynomials as text and the names of states, as a specification writes them.

A text is read once the names of the states are known (``qreplace.spec.polynomials``); here only its
type and length are looked at.
"""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import CoreSchema, core_schema

from qreplace.exact.polynomial_text import MAX_TEXT
from qreplace.spec.findings import needed, shown
from qreplace.spec.values import fault, is_number

MAX_NAME = 64
TIME = "t"
"""What time is called in every polynomial."""

NAME_PATTERN = rf"^(?!{TIME}$)[A-Za-z_][A-Za-z_0-9]{{0,{MAX_NAME - 1}}}$"
_NAME = re.compile(NAME_PATTERN)


def _polynomial(value: Any) -> str:
    """A text, or a number standing for a constant."""
    if not is_number(value):
        raise fault(needed('a polynomial as text, such as "1 - x*v^2/3"', shown(value)))
    text = str(value)
    if len(text) > MAX_TEXT:
        raise fault(
            needed(f"a polynomial of at most {MAX_TEXT} characters", str(len(text))),
            code="too-large",
        )
    return text


def _state(value: Any) -> str:
    if type(value) is not str:
        raise fault(needed("the name of a state", shown(value), "Put it in quotes."), code="type")
    if value == TIME:
        raise fault(
            needed("the name of a state", "t, which is time", "Choose another name."), code="name"
        )
    if not _NAME.match(value):
        what = f"a name of letters, digits and underscores, at most {MAX_NAME}, no digit first"
        raise fault(needed(what, shown(value)), code="name")
    return value


class _Reader:
    """The annotation behind the two kinds of text."""

    def __init__(self, read: Any, schema: dict[str, Any]) -> None:
        self.read = read
        self.schema = schema

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(self.read)

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        return self.schema


POLYNOMIAL_SCHEMA: dict[str, Any] = {
    "anyOf": [{"type": "string", "minLength": 1, "maxLength": MAX_TEXT}, {"type": "number"}],
    "description": (
        "A polynomial in t and the states: exact numbers, names, + - * ^ and parentheses; "
        'division by numbers only, as in "1 - x*v^2/3".'
    ),
}

PolynomialText = Annotated[str, _Reader(_polynomial, POLYNOMIAL_SCHEMA)]
StateName = Annotated[str, _Reader(_state, {"type": "string", "pattern": NAME_PATTERN})]
