"""Content types and Accept, as RFC 9110 has them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qreplace.service.media import ContentType, parse_content_type, preferred

OFFERED = ["application/json", "text/html", "text/csv"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("application/json", ContentType("application/json", {})),
        (" Text/YAML ; Charset=UTF-8 ", ContentType("text/yaml", {"charset": "UTF-8"})),
        ('a/b;x="1;\\"2"; y=3;', ContentType("a/b", {"x": '1;"2', "y": "3"})),
        ("a/b; x=1; x=2", ContentType("a/b", {"x": "1"})),
        ("", None),
        ("json", None),
        ("a/b c", None),
        ("a/b; x", None),
        ('a/b; x="1', None),
    ],
)
def test_content_type(text: str, expected: ContentType | None) -> None:
    assert parse_content_type(text) == expected


@pytest.mark.parametrize(
    ("accept", "expected"),
    [
        ("", "application/json"),
        ("*/*", "application/json"),
        ("text/*", "text/html"),
        ("text/csv, text/html", "text/html"),
        ("text/csv, text/html;q=0.999", "text/csv"),
        ("*/*;q=0.5, text/csv;q=0.4", "application/json"),
        ("*/*, application/json;q=0", "text/html"),
        ("text/*;q=0.2, text/csv;q=0.9, application/*;q=0.3", "text/csv"),
        ("TEXT/CSV", "text/csv"),
        ("image/png", None),
        ("*/*;q=0", None),
        ("text/csv;q=2", None),
        ("text/csv;q=0.0001", None),
        ("text", None),
    ],
)
def test_preferred(accept: str, expected: str | None) -> None:
    assert preferred(accept, OFFERED) == expected


@given(st.text(max_size=100))
def test_any_text_is_some_answer(text: str) -> None:
    assert preferred(text, OFFERED) in {*OFFERED, None}
    content_type = parse_content_type(text)
    assert content_type is None or "/" in content_type.essence
