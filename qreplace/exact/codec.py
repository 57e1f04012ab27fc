"""Frozen dataclasses to and from exact documents, and their JSON Schema.

One description (the dataclass) gives the writer, the strict reader and the schema, so the three
cannot drift apart. Fields may be strings, integers, booleans, ``Fraction`` (as text), literals,
string enumerations, optional values, tuples, string-keyed mappings, other dataclasses, and unions
of dataclasses told apart by a ``kind`` literal. Reading takes every field and no other.
"""

from __future__ import annotations

import dataclasses
import enum
import functools
import types
import typing
from collections.abc import Mapping
from fractions import Fraction
from typing import Any, Literal, TypeVar, Union, get_args, get_origin

from qreplace.errors import Malformed
from qreplace.exact.rational import format_rational, parse_rational

T = TypeVar("T")

RATIONAL_PATTERN = r"^(0|-?[1-9][0-9]{0,3999}(/[1-9][0-9]{0,3999})?)$"


def encode(value: Any) -> Any:
    """The document of a dataclass (or of any value a field may hold)."""
    if value is None or type(value) in (str, int, bool):
        return value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: encode(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, Fraction):
        return format_rational(value)
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, (tuple, list)):
        return [encode(item) for item in value]
    if isinstance(value, Mapping):
        return {key: encode(item) for key, item in value.items()}
    return value


def decode(kind: type[T], document: Any, pointer: str = "") -> T:
    """Read ``document`` as a ``kind``; raises ``Malformed`` with a pointer to the first fault."""
    result: T = _decode(kind, document, pointer)
    return result


@functools.cache
def _fields(kind: type) -> dict[str, Any]:
    hints = typing.get_type_hints(kind)
    return {f.name: hints[f.name] for f in dataclasses.fields(kind)}


@functools.cache
def variants(kind: Any) -> dict[str, type]:
    """The dataclasses of a tagged union by their ``kind``."""
    found: dict[str, type] = {}
    for option in get_args(kind):
        if dataclasses.is_dataclass(option):
            tag = get_args(_fields(typing.cast(type, option))["kind"])[0]
            found[tag] = typing.cast(type, option)
    return found


def _decode(kind: Any, document: Any, pointer: str) -> Any:
    if isinstance(kind, type):
        if dataclasses.is_dataclass(kind):
            return _decode_dataclass(kind, document, pointer)
        if kind is Fraction:
            return _decode_rational(document, pointer)
        if issubclass(kind, enum.Enum):
            return _decode_enum(kind, document, pointer)
        return _decode_plain(kind, document, pointer)
    origin = get_origin(kind)
    if origin is Literal:
        if document not in get_args(kind) or isinstance(document, bool):
            wanted = " or ".join(repr(option) for option in get_args(kind))
            raise Malformed(f"needed {wanted}, received {_shown(document)}", pointer=pointer)
        return document
    if origin in (Union, types.UnionType):
        return _decode_union(kind, document, pointer)
    if origin is tuple:
        return _decode_tuple(kind, document, pointer)
    return _decode_mapping(kind, document, pointer)


def _decode_dataclass(kind: type, document: Any, pointer: str) -> Any:
    if not isinstance(document, dict):
        raise Malformed(f"needed an object, received {_shown(document)}", pointer=pointer)
    fields = _fields(kind)
    for name in document:
        if name not in fields:
            raise Malformed(f"unknown key {_shown(name)}", pointer=f"{pointer}/{escape(str(name))}")
    for name in fields:
        if name not in document:
            raise Malformed(f"missing key {name!r}", pointer=pointer)
    values = {
        name: _decode(hint, document[name], f"{pointer}/{name}") for name, hint in fields.items()
    }
    try:
        return kind(**values)
    except Malformed as error:
        raise Malformed(error.message, pointer=error.pointer or pointer) from None


def _decode_rational(document: Any, pointer: str) -> Fraction:
    if not isinstance(document, str):
        raise Malformed(
            f'needed an exact number as text, "p/q", received {_shown(document)}', pointer=pointer
        )
    value = parse_rational(document, pointer)
    if format_rational(value) != document:
        raise Malformed(f"{_shown(document)} is not in lowest terms", pointer=pointer)
    return value


def _decode_enum(kind: type[enum.Enum], document: Any, pointer: str) -> enum.Enum:
    for member in kind:
        if member.value == document:
            return member
    wanted = ", ".join(str(member.value) for member in kind)
    raise Malformed(f"needed one of {wanted}, received {_shown(document)}", pointer=pointer)


def _decode_plain(kind: type, document: Any, pointer: str) -> Any:
    if type(document) is not kind:
        raise Malformed(f"needed {kind.__name__}, received {_shown(document)}", pointer=pointer)
    return document


def _decode_union(kind: Any, document: Any, pointer: str) -> Any:
    options = get_args(kind)
    if document is None and type(None) in options:
        return None
    rest = [option for option in options if option is not type(None)]
    if len(rest) == 1:
        return _decode(rest[0], document, pointer)
    if not isinstance(document, dict):
        raise Malformed(f"needed an object, received {_shown(document)}", pointer=pointer)
    table = variants(kind)
    tag = document.get("kind")
    if not isinstance(tag, str) or tag not in table:
        raise Malformed(
            f"needed a kind among {', '.join(sorted(table))}, received {_shown(tag)}",
            pointer=f"{pointer}/kind",
        )
    return _decode_dataclass(table[tag], document, pointer)


def _decode_tuple(kind: Any, document: Any, pointer: str) -> tuple[Any, ...]:
    if not isinstance(document, list):
        raise Malformed(f"needed a list, received {_shown(document)}", pointer=pointer)
    arguments = get_args(kind)
    if len(arguments) == 2 and arguments[1] is Ellipsis:
        item = arguments[0]
        return tuple(_decode(item, value, f"{pointer}/{i}") for i, value in enumerate(document))
    if len(document) != len(arguments):
        raise Malformed(f"needed {len(arguments)} items, received {len(document)}", pointer=pointer)
    return tuple(
        _decode(item, value, f"{pointer}/{i}")
        for i, (item, value) in enumerate(zip(arguments, document, strict=True))
    )


def _decode_mapping(kind: Any, document: Any, pointer: str) -> dict[str, Any]:
    if not isinstance(document, dict):
        raise Malformed(f"needed an object, received {_shown(document)}", pointer=pointer)
    item = get_args(kind)[1]
    return {
        key: _decode(item, value, f"{pointer}/{escape(key)}") for key, value in document.items()
    }


def escape(token: str) -> str:
    """A reference token of a JSON Pointer (RFC 6901)."""
    return token.replace("~", "~0").replace("/", "~1")


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def json_schema(kind: type, *, identifier: str, title: str) -> dict[str, Any]:
    """The JSON Schema (2020-12) of the documents that ``decode`` accepts for ``kind``."""
    definitions: dict[str, Any] = {}
    root = _schema(kind, definitions)
    body = definitions.pop(root["$ref"].rsplit("/", 1)[1])
    schema: dict[str, Any] = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": identifier,
        "title": title,
        **body,
    }
    if definitions:
        schema["$defs"] = dict(sorted(definitions.items()))
    return schema


def _schema(kind: Any, definitions: dict[str, Any]) -> dict[str, Any]:
    if isinstance(kind, type):
        return _schema_of_class(kind, definitions)
    origin = get_origin(kind)
    if origin is Literal:
        values = list(get_args(kind))
        return {"const": values[0]} if len(values) == 1 else {"enum": values}
    if origin in (Union, types.UnionType):
        options = get_args(kind)
        alternatives = [_schema(o, definitions) for o in options if o is not type(None)]
        if type(None) in options:
            alternatives.append({"type": "null"})
        return {"oneOf": alternatives} if len(alternatives) > 1 else alternatives[0]
    if origin is tuple:
        arguments = get_args(kind)
        if len(arguments) == 2 and arguments[1] is Ellipsis:
            return {"type": "array", "items": _schema(arguments[0], definitions)}
        return {
            "type": "array",
            "prefixItems": [_schema(a, definitions) for a in arguments],
            "minItems": len(arguments),
            "maxItems": len(arguments),
        }
    return {"type": "object", "additionalProperties": _schema(get_args(kind)[1], definitions)}


def _schema_of_class(kind: type, definitions: dict[str, Any]) -> dict[str, Any]:
    if dataclasses.is_dataclass(kind):
        name = kind.__name__
        if name not in definitions:
            definitions[name] = {}
            fields = _fields(kind)
            body: dict[str, Any] = {
                "type": "object",
                "properties": {n: _schema(h, definitions) for n, h in fields.items()},
                "required": list(fields),
                "additionalProperties": False,
            }
            if kind.__doc__ and not kind.__doc__.startswith(f"{name}("):
                body["description"] = kind.__doc__.strip().split("\n\n")[0].replace("\n", " ")
            definitions[name] = body
        return {"$ref": f"#/$defs/{name}"}
    if kind is Fraction:
        return {"type": "string", "pattern": RATIONAL_PATTERN, "description": "exact, p/q"}
    if issubclass(kind, enum.Enum):
        return {"enum": [member.value for member in kind]}
    return {"type": {str: "string", int: "integer", bool: "boolean"}[kind]}
