"""Exact documents: what is written comes back, and nothing loose is read."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qreplace.errors import Malformed
from qreplace.exact.document import (
    MAX_DEPTH,
    MAX_INTEGER_DIGITS,
    ExactText,
    canonical_bytes,
    limit_nesting,
    read_json,
    sha256_hex,
)

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
LEAVES = st.none() | st.booleans() | st.integers(-(10**30), 10**30) | TEXTS
DOCUMENTS = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4)
)


@given(DOCUMENTS)
def test_reading_inverts_writing(document: Any) -> None:
    data = canonical_bytes(document)
    assert read_json(data) == document
    assert canonical_bytes(read_json(data)) == data


@given(DOCUMENTS)
def test_the_standard_parser_reads_the_same(document: Any) -> None:
    assert json.loads(canonical_bytes(document)) == document


@given(st.dictionaries(TEXTS, st.integers(), min_size=2, max_size=6))
def test_key_order_does_not_matter(document: dict[str, int]) -> None:
    backwards = dict(reversed(list(document.items())))
    assert canonical_bytes(document) == canonical_bytes(backwards)


@given(st.binary(max_size=60))
def test_any_bytes_are_read_or_malformed(data: bytes) -> None:
    with contextlib.suppress(Malformed):
        canonical_bytes(read_json(data))


@given(st.text(alphabet='[]{}",:0123456789.eE+-\\utrnalsef dDcC8', max_size=40))
def test_any_text_is_read_or_malformed(text: str) -> None:
    with contextlib.suppress(Malformed):
        canonical_bytes(read_json(text.encode()))


def test_numbers_with_a_fraction_keep_their_text() -> None:
    document = read_json(b"[0.1, 1e-30, -2.50E+7, 3]")
    assert document == ["0.1", "1e-30", "-2.50E+7", 3]
    assert all(isinstance(item, ExactText) for item in document[:3])


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b'{"a":1,"a":2}', "the key 'a' appears twice"),
        (b'[{"b":{"a":1,"\\u0061":2}}]', "the key 'a' appears twice"),
        (b"NaN", "NaN is not a number"),
        (b"[-Infinity]", "-Infinity is not a number"),
        (b"\xff", "not UTF-8 (byte 0)"),
        (b"", "not JSON"),
        (b"[1,]", "line 1, column"),
        (b"1 2", "not JSON"),
        (b"[1]\n}", "line 2, column 1"),
        (b"\xef\xbb\xbf1", "not JSON"),
        (b"'a'", "not JSON"),
        (b"0x10", "not JSON"),
        (b"01", "not JSON"),
        (b"+1", "not JSON"),
        (b'"a\tb"', "not JSON"),
    ],
)
def test_refused(data: bytes, words: str) -> None:
    with pytest.raises(Malformed) as caught:
        read_json(data)
    assert words in caught.value.message


@pytest.mark.parametrize("data", [b'"\\ud800"', b'{"\\udfff": 1}', b'"\\ude00\\ud83d"'])
def test_half_a_surrogate_pair_is_never_written(data: bytes) -> None:
    with pytest.raises(Malformed, match="half of a surrogate pair"):
        canonical_bytes(read_json(data))


def test_whole_surrogate_pairs_are_one_character() -> None:
    assert read_json(b'"\\ud83d\\ude00"') == "\U0001f600"


def test_limits() -> None:
    with pytest.raises(Malformed, match="has 101 bytes; at most 100"):
        read_json(b" " * 100 + b"1", max_bytes=100)
    digits = b"9" * MAX_INTEGER_DIGITS
    assert read_json(digits) == int(digits)
    with pytest.raises(Malformed, match=f"an integer of {MAX_INTEGER_DIGITS + 1} digits"):
        read_json(digits + b"9")
    with pytest.raises(Malformed, match="an integer of 1000000 digits"):
        read_json(b"[" + b"7" * 10**6 + b"]")


@pytest.mark.parametrize("opening", ["[", '{"a":'])
def test_nesting(opening: str) -> None:
    closing = "]" if opening == "[" else "}"
    for depth in (MAX_DEPTH, MAX_DEPTH + 1, 100_000):
        text = opening * depth + "1" + closing * depth
        if depth <= MAX_DEPTH:
            read_json(text.encode())
        else:
            with pytest.raises(Malformed, match="nests deeper than 64"):
                read_json(text.encode())


def test_brackets_in_texts_do_not_nest() -> None:
    limit_nesting(json.dumps(['[{"' * 100, "\\" * 7 + '"' + "[" * 100]))
    limit_nesting("[1],[2]," * 100)


@pytest.mark.parametrize("value", [0.5, [1, {"a": float("nan")}], (1.0,)])
def test_a_binary_float_is_never_written(value: Any) -> None:
    with pytest.raises(Malformed, match="binary float"):
        canonical_bytes(value)


def test_canonical_form() -> None:
    assert (
        canonical_bytes({"b": [1, True, None], "a": "é"}) == '{"a":"é","b":[1,true,null]}'.encode()
    )
    assert sha256_hex(b"").startswith("e3b0c44298fc1c14")
