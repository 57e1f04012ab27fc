"""Safe limits: what is too large is refused quickly, before anything is built from it."""

from __future__ import annotations

import time

import pytest

from qreplace.errors import SpecError
from qreplace.spec import load_spec_bytes
from qreplace.spec.reading import MAX_BYTES, MAX_NESTING, Media

MILLION = b"9" * 1_000_000
JSON, YAML = "json", "yaml"


def nested(levels: int) -> bytes:
    return b'{"format": ' + b"[" * (levels - 1) + b"]" * (levels - 1) + b"}"


CASES = [
    ("oversized", b" " * (MAX_BYTES + 1), JSON, "", "needed at most"),
    ("oversized", b" " * (MAX_BYTES + 1), YAML, "", "needed at most"),
    ("nested", nested(MAX_NESTING + 1), JSON, "", "nests deeper than 32"),
    ("nested", nested(MAX_NESTING + 1), YAML, "", "nests deeper than 32"),
    ("nested-far", nested(400_000), JSON, "", "nests deeper than 32"),
    ("nested-far", b"[" * 1_000_000, YAML, "", "nests deeper than 32"),
    ("nodes", b'{"a": [' + b"1," * 150_000 + b"1]}", JSON, "", "at most 100000 values"),
    ("nodes", b"a: [" + b"1," * 150_000 + b"1]", YAML, "", "at most 100000 values"),
    ("integer", b'{"horizon": ' + MILLION + b"}", JSON, "/horizon", "at most 4000"),
    ("integer", b"horizon: " + MILLION, YAML, "/horizon", "1000000 characters"),
    ("decimal", b'{"horizon": 0.' + MILLION + b"}", JSON, "/horizon", "characters"),
    ("decimal", b"horizon: 0." + MILLION, YAML, "/horizon", "characters"),
    ("fraction", b'{"horizon": "1/' + MILLION + b'"}', JSON, "/horizon", "characters"),
    ("exponent", b'{"horizon": 1e99999999999}', JSON, "/horizon", "exponent"),
    ("hexadecimal", b"horizon: 0x" + b"f" * 900_000, YAML, "/horizon", "characters"),
    ("aliases", b"a: &a [x]\nb: [" + b"*a," * 99_000 + b"x]", YAML, "/b/0", "aliases"),
    (
        "keys",
        b"{" + b",".join(b'"k%d":1' % i for i in range(49_000)) + b"}",
        JSON,
        "/k0",
        "unknown",
    ),
    (
        "inline",
        b'{"initial_state": [' + b"0.5," * 65_536 + b"1]}",
        JSON,
        "/initial_state",
        "at most 65536 entries",
    ),
    ("title", b'{"title": "' + b"x" * 20_000 + b'"}', JSON, "/title", "at most 10000 characters"),
]


@pytest.mark.parametrize(
    ("data", "media", "pointer", "fragment"),
    [case[1:] for case in CASES],
    ids=[f"{case[0]}-{case[2]}" for case in CASES],
)
def test_too_large(data: bytes, media: Media, pointer: str, fragment: str) -> None:
    start = time.process_time()
    with pytest.raises(SpecError) as caught:
        load_spec_bytes(data, name="s", base=None, media=media)
    assert any(p.pointer == pointer and fragment in p.message for p in caught.value.problems)
    assert len(caught.value.problems) <= 101
    assert all(len(problem.message) < 500 for problem in caught.value.problems)
    assert time.process_time() - start < 30


def test_the_deepest_allowed_nesting_is_read() -> None:
    for media in (JSON, YAML):
        with pytest.raises(SpecError) as caught:
            load_spec_bytes(nested(MAX_NESTING), name="s", base=None, media=media)  # type: ignore[arg-type]
        assert not any("nests" in problem.message for problem in caught.value.problems)
