"""Dataclasses to documents and back; what the reader takes, the schema describes."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qreplace.errors import Malformed
from qreplace.exact.codec import decode, encode, escape, json_schema, variants


class Colour(enum.Enum):
    """Two."""

    RED = "red"
    BLUE = "blue"


@dataclass(frozen=True, slots=True)
class Dot:
    """A place.

    More about it.
    """

    kind: Literal["dot"]
    at: Fraction


@dataclass(frozen=True, slots=True)
class Line:
    kind: Literal["line"]
    ends: tuple[Fraction, Fraction]

    def __post_init__(self) -> None:
        if self.ends[0] > self.ends[1]:
            raise Malformed("a line backwards")


@dataclass(frozen=True, slots=True)
class Picture:
    name: str
    count: int
    done: bool
    colour: Colour
    shape: Dot | Line
    inner: Dot | Line | None
    single: Dot | None
    numbers: tuple[int, ...]
    notes: Mapping[str, Fraction]
    size: Literal["small", "large"]


NUMBERS = st.fractions()
DOTS = st.builds(Dot, st.just("dot"), NUMBERS)
LINES = st.builds(lambda a, b: Line("line", (min(a, b), max(a, b))), NUMBERS, NUMBERS)
PICTURES = st.builds(
    Picture,
    name=st.text(st.characters(exclude_categories=["Cs"])),
    count=st.integers(),
    done=st.booleans(),
    colour=st.sampled_from(Colour),
    shape=DOTS | LINES,
    inner=st.none() | DOTS | LINES,
    single=st.none() | DOTS,
    numbers=st.lists(st.integers()).map(tuple),
    notes=st.dictionaries(st.text("ab~/"), NUMBERS),
    size=st.sampled_from(["small", "large"]),
)
SCHEMA = json_schema(Picture, identifier="https://example.org/p", title="picture")
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)


def picture() -> dict[str, Any]:
    return {
        "name": "n", "count": 1, "done": False, "colour": "red",
        "shape": {"kind": "dot", "at": "1/2"}, "inner": None, "single": None,
        "numbers": [1, 2], "notes": {"a": "3"}, "size": "small",
    }  # fmt: skip


@given(PICTURES)
def test_reading_inverts_writing(value: Picture) -> None:
    document = encode(value)
    assert decode(Picture, document) == value
    assert VALIDATOR.is_valid(document)


@pytest.mark.parametrize(
    ("path", "value", "pointer"),
    [
        (("name",), 1, "/name"),
        (("count",), True, "/count"),
        (("count",), "1", "/count"),
        (("done",), 0, "/done"),
        (("colour",), "green", "/colour"),
        (("colour",), ["red"], "/colour"),
        (("shape",), None, "/shape"),
        (("shape", "kind"), "cube", "/shape/kind"),
        (("shape", "at"), "2/4", "/shape/at"),
        (("shape", "at"), "0.5", "/shape/at"),
        (("shape", "at"), "1/0", "/shape/at"),
        (("shape", "at"), 1, "/shape/at"),
        (("shape", "more"), 1, "/shape/more"),
        (("shape",), {"kind": "line", "ends": ["1"]}, "/shape/ends"),
        (("shape",), {"kind": "line", "ends": ["1", "2", "3"]}, "/shape/ends"),
        (("shape",), {"kind": "line", "ends": ["2", "1"]}, "/shape"),
        (("inner",), 3, "/inner"),
        (("single",), [], "/single"),
        (("numbers",), {"0": 1}, "/numbers"),
        (("numbers",), [1, "2"], "/numbers/1"),
        (("notes",), [], "/notes"),
        (("notes",), {"a/b~c": "x"}, "/notes/a~1b~0c"),
        (("size",), "medium", "/size"),
        (("size",), True, "/size"),
    ],
)
def test_refused_at_the_place(path: tuple[str, ...], value: Any, pointer: str) -> None:
    document = picture()
    place = document
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    with pytest.raises(Malformed) as caught:
        decode(Picture, document)
    assert caught.value.pointer == pointer


@pytest.mark.parametrize("name", sorted(picture()))
def test_every_key_is_needed(name: str) -> None:
    document = {key: value for key, value in picture().items() if key != name}
    with pytest.raises(Malformed, match=f"missing key '{name}'"):
        decode(Picture, document)
    assert not VALIDATOR.is_valid(document)


def test_unknown_keys_of_any_length() -> None:
    with pytest.raises(Malformed, match="unknown key") as caught:
        decode(Picture, {**picture(), "x" * 1000: 1})
    assert len(caught.value.message) < 100
    with pytest.raises(Malformed, match="needed an object"):
        decode(Picture, [])


def test_the_schema_is_a_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    assert SCHEMA["$defs"]["Dot"]["description"] == "A place."
    assert "Picture" not in SCHEMA["$defs"]


@pytest.mark.parametrize("text", ["1/0", "01", "-0", "+1", "1.5", "1e3", "", "1/01", " 1"])
def test_the_schema_refuses_texts_that_are_not_canonical(text: str) -> None:
    assert not VALIDATOR.is_valid({**picture(), "notes": {"a": text}})


def test_variants_and_pointers() -> None:
    assert variants(Dot | Line | None) == {"dot": Dot, "line": Line}
    assert escape("a/b~c") == "a~1b~0c"
