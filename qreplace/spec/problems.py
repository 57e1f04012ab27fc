"""Pydantic's errors as findings: our words, and locations in the document as it was written."""

from __future__ import annotations

import difflib
import types
import typing
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel, Tag, ValidationError

from qreplace.spec.findings import MAX_FINDINGS, Finding, Location, needed, shown
from qreplace.spec.model import Spec
from qreplace.spec.values import TAG_PREFIX

MAX_ERRORS = 2 * MAX_FINDINGS
"""Errors that are put into words; what is beyond is only said to exist."""


@dataclass(frozen=True, slots=True)
class Contract:
    """A kind of document: its model, and where its prose stands."""

    model: type[BaseModel]
    prose: str

    @property
    def reference(self) -> str:
        """Where to read on."""
        return f"See {self.prose}."


SPEC = Contract(Spec, "schemas/spec.v1.md")


def findings_of(error: ValidationError, tree: Any, contract: Contract = SPEC) -> list[Finding]:
    """Every error of a validation by ``contract``, in plain words, located in ``tree``."""
    items = error.errors(include_url=False)[:MAX_ERRORS]
    return [_finding(item, tree, contract) for item in items if not _echoes(item)]


def _echoes(item: Any) -> bool:
    """Whether a list only counts as too short because its entries are wrong."""
    return bool(item["type"] == "too_short" and len(item["input"]) >= item["ctx"]["min_length"])


def _finding(item: Any, tree: Any, contract: Contract) -> Finding:
    kind, context, value = item["type"], item.get("ctx", {}), item.get("input")
    location, holder = _locate(item["loc"], tree)
    if kind == "fault":
        below = tuple(context["at"])
        return Finding((*location, *below), context["text"], context["code"])
    if kind == "unknown_kind":
        return _unknown_kind(item["msg"], location, value, tree)
    if kind == "missing":
        key = str(item["loc"][-1])
        message = f"missing key {key!r}. {contract.reference}"
        return Finding(location, message, "missing-key")
    if kind == "extra_forbidden":
        key = str(item["loc"][-1])
        message = f"unknown key {key!r}{_suggestion(key, item['loc'], contract)}"
        return Finding((*holder, key), message, "unknown-key", at_key=True)
    if kind == "literal_error" and item["loc"][-1] == "unit":
        message = needed(f"the unit {context['expected']}", shown(value), "Convert the number.")
        return Finding(location, message, "unit")
    if kind not in _WORDS:
        message = needed("a valid value", shown(value), contract.reference)
        return Finding(location, message, _CODES.get(kind, kind))
    return Finding(location, _WORDS[kind](context, value, item), _CODES.get(kind, kind))


def _unknown_kind(what: str, location: Location, value: Any, tree: Any) -> Finding:
    """An unknown kind: at its key, or at the bare word that stands for it."""
    if isinstance(value, dict) and "kind" in value:
        written = tree
        for token in location:
            written = written[token]
        where = (*location, "kind") if isinstance(written, dict) else location
        return Finding(where, needed(what, shown(value["kind"])), "kind")
    return Finding(location, needed(what, shown(value)), "kind")


def _one_of(context: Any, value: Any, item: Any) -> str:
    expected = context["expected"].replace("'", "")
    several = " or " in expected
    return needed(f"one of {expected}" if several else expected, shown(value))


_WORDS: dict[str, Any] = {
    "literal_error": _one_of,
    "enum": _one_of,
    "model_type": lambda c, v, i: needed("an object", shown(v)),
    "model_attributes_type": lambda c, v, i: needed("an object", shown(v)),
    "tuple_type": lambda c, v, i: needed("a list", shown(v)),
    "int_type": lambda c, v, i: needed("a whole number", shown(v)),
    "bool_type": lambda c, v, i: needed("true or false", shown(v)),
    "greater_than_equal": lambda c, v, i: needed(f"a number that is at least {c['ge']}", shown(v)),
    "less_than_equal": lambda c, v, i: needed(f"a number that is at most {c['le']}", shown(v)),
    "too_short": lambda c, v, i: needed(
        f"at least {c['min_length']} entry", str(c["actual_length"])
    ),
    "too_long": lambda c, v, i: needed(f"at most {c['max_length']} entries", "more"),
    "string_pattern_mismatch": lambda c, v, i: needed(
        "a name of lower-case letters, digits and underscores", shown(v)
    ),
}

_CODES = {
    "model_type": "type",
    "model_attributes_type": "type",
    "tuple_type": "type",
    "int_type": "type",
    "bool_type": "type",
    "string_pattern_mismatch": "invalid",
    "literal_error": "choice",
    "enum": "choice",
    "greater_than_equal": "range",
    "less_than_equal": "range",
    "too_short": "count",
    "too_long": "count",
}


def _locate(path: tuple[str | int, ...], tree: Any) -> tuple[Location, Location]:
    """The part of an error's path that exists in the document, and its parent.

    Tags of unions and the keys that a shorthand stands for are not in the document.
    """
    location: list[str | int] = []
    here = tree
    for token in path:
        in_list = isinstance(here, list) and isinstance(token, int) and token < len(here)
        if in_list or (isinstance(here, dict) and token in here):
            here = here[token]
            location.append(token)
    if location and location[-1] == path[-1]:
        return tuple(location), tuple(location[:-1])
    return tuple(location), tuple(location)


def _suggestion(key: str, path: tuple[str | int, ...], contract: Contract) -> str:
    """What the user may have meant, or which keys there are."""
    known = sorted(_keys_at(path[:-1], contract.model))
    close = difflib.get_close_matches(key, known, n=1, cutoff=0.7)
    if close:
        return f". Did you mean {close[0]!r}?"
    return f". Known here: {', '.join(known)}." if known else f". {contract.reference}"


def _keys_at(path: tuple[str | int, ...], root: type[BaseModel]) -> set[str]:
    """The keys of the models that a path of an error leads to."""
    members: list[tuple[str | None, Any]] = [(None, root)]
    for token in path:
        if isinstance(token, str) and token.startswith(TAG_PREFIX):
            members = [(None, model) for found, model in members if found == token]
        elif isinstance(token, str):
            members = [
                member
                for _, model in members
                for name, info in model.model_fields.items()
                if token == (info.alias or name)
                for member in _models(info.annotation)
            ]
    return {info.alias or name for _, model in members for name, info in model.model_fields.items()}


def _models(annotation: Any, tag: str | None = None) -> Iterator[tuple[str | None, Any]]:
    """The models within an annotation, each with the tag of its union."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield tag, annotation
        return
    origin = get_origin(annotation)
    if origin is Annotated:
        inner, *metadata = get_args(annotation)
        own = [item.tag for item in metadata if isinstance(item, Tag)]
        yield from _models(inner, own[0] if own else tag)
    elif origin in (Union, types.UnionType, tuple):
        for option in typing.get_args(annotation):
            yield from _models(option, tag)
