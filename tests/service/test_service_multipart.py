"""The multipart reader: what clients write is read back byte for byte, anything else is refused."""

from __future__ import annotations

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qreplace.errors import Malformed
from qreplace.service.media import parse_content_type
from qreplace.service.multipart import MAX_HEADER_BYTES, Part, read_parts

NAMES = st.text(
    st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"], exclude_characters="%\\"),
    max_size=20,
)
"""Names without the two characters that clients escape in different ways."""


def written(*parts: tuple[str, tuple[str, bytes, str]]) -> tuple[bytes, str]:
    """A body as httpx writes it, and its boundary."""
    request = httpx.Request("POST", "http://service", files=list(parts))
    content_type = parse_content_type(request.headers["content-type"])
    assert content_type is not None and content_type.essence == "multipart/form-data"
    return request.read(), content_type.parameters["boundary"]


@given(st.lists(st.tuples(NAMES, NAMES, st.binary())), st.binary(max_size=3))
def test_what_httpx_writes_is_read_back(files: list[tuple[str, str, bytes]], end: bytes) -> None:
    parts = [(name, (file or "f", data, "text/plain")) for name, file, data in files]
    parts.append(("spec", ("s.json", b"\r\n--" + end, "application/json")))
    body, boundary = written(*parts)
    expected = [Part(name, file, media, data) for name, (file, data, media) in parts]
    assert read_parts(body, boundary, max_parts=100) == expected


PART = b'--b\r\nContent-Disposition: form-data; name="spec"\r\n\r\n{}\r\n'


def test_plain_field() -> None:
    assert read_parts(PART + b"--b--\r\n", "b", max_parts=1) == [Part("spec", None, "", b"{}")]
    assert read_parts(PART + b"--b--", "b", max_parts=1)[0].data == b"{}"
    assert read_parts(b"--b--", "b", max_parts=1) == []


def test_escaped_names() -> None:
    head = b'--b\r\ncontent-disposition: form-data; filename="a\\"b%22%0D.npy"; name=x\r\n\r\n'
    assert read_parts(head + b"\r\n--b--", "b", max_parts=1) == [Part("x", 'a"b"\r.npy', "", b"")]


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"", "without it"),
        (b"{}", "without it"),
        (PART, "closing boundary"),
        (PART + b"--b-", "closing boundary"),
        (PART + b"--b--more", "closing boundary"),
        (b"before\r\n" + PART + b"--b--", "other bytes"),
        (PART + PART + b"--b--", "at most 1 parts"),
        (b"--b" + PART[3:].replace(b"\r\n\r\n", b"\r\n") + b"--b--", "headers of at most"),
        (b"--bx" + PART[3:] + b"--b--", "line end after the boundary"),
        (PART.replace(b"form-data", b"attachment") + b"--b--", "form-data with one name"),
        (PART.replace(b"; name", b"; other") + b"--b--", "form-data with one name"),
        (PART.replace(b'"spec"', b'"spec"; name="two"') + b"--b--", "form-data with one name"),
        (PART.replace(b'"spec"', b'"spec') + b"--b--", "form-data with one name"),
        (b"--b\r\n\r\n{}\r\n--b--", "Name: value"),
        (b"--b\r\nno colon\r\n\r\n{}\r\n--b--", "Name: value"),
        (b"--b\r\nA: 1\r\na: 2\r\n\r\n{}\r\n--b--", "Name: value"),
        (b"--b\r\nA: \xff\r\n\r\n{}\r\n--b--", "UTF-8"),
        (b"--b\r\nA: " + b"x" * MAX_HEADER_BYTES + b"\r\n\r\n\r\n--b--", "headers of at most"),
        (
            PART.replace(b"\r\n\r\n", b"\r\nContent-Transfer-Encoding: base64\r\n\r\n") + b"--b--",
            "Content-Transfer-Encoding",
        ),
    ],
)
def test_refused(body: bytes, reason: str) -> None:
    with pytest.raises(Malformed, match=reason):
        read_parts(body, "b", max_parts=1)


@pytest.mark.parametrize("boundary", ["", " ", "x" * 71, "a\r\nb", "ü", "a "])
def test_refused_boundaries(boundary: str) -> None:
    with pytest.raises(Malformed, match="boundary of 1 to 70"):
        read_parts(PART + b"--b--", boundary, max_parts=1)


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(body: bytes) -> None:
    for text in (body, PART + body, b"--b\r\n" + body + b"\r\n--b--"):
        try:
            parts = read_parts(text, "b", max_parts=3)
        except Malformed as error:
            assert error.message
        else:
            assert len(parts) <= 3
