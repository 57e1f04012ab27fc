"""Writes the corpus of questions and claims: ``python tests/check/make_corpus.py``.

Every claim is small enough to follow by hand. ``accepted/<kind>/<question>--<case>.json`` is about
``accepted/question/<question>.json``; beside a refused document lies ``.expect`` with the error's
class, its JSON Pointer (``-`` for none) and words of its message. A test compares the folder with
what this writes. Large documents are made in the tests instead.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

import corpora
import corpus_claims
import corpus_questions
from corpus_questions import CONTRADICTORY, STORE

from qreplace.claims import KINDS, claim_bytes
from qreplace.exact.codec import encode
from qreplace.exact.document import canonical_bytes

CORPUS = Path(__file__).parents[1] / "corpus"

QUESTIONS = {**corpus_questions.QUESTIONS, **corpora.QUESTIONS}
ACCEPTED_CLAIMS = [*corpus_claims.ACCEPTED_CLAIMS, *corpora.ACCEPTED]
REJECTED_CLAIMS = [*corpus_claims.REJECTED_CLAIMS, *corpora.REJECTED]
MALFORMED_FROM = {
    "linf-edge--width-0": "lower",
    "linf-edge--one-each": "error",
    "frozen-grid--first-depth": "lower",
    **corpora.MALFORMED_FROM,
}
"""Accepted claims that malformed documents are made from, and the number that is broken."""
NULLABLE = ("pwa_supremum",)
"""Kinds in which that number may be missing."""


def expectation(error: str, pointer: str, words: str) -> bytes:
    """What lies beside a refused document."""
    return f"{error} {pointer or '-'} {words}\n".encode()


def documents() -> dict[str, bytes]:
    """Every file by its path in the corpus."""
    files: dict[str, bytes] = {}
    for name, question in QUESTIONS.items():
        files[f"accepted/question/{name}.json"] = question.to_bytes()
    for digest, data in STORE.items():
        files[f"accepted/question/arrays/{digest}.npy"] = data
    for kind, name, claim in ACCEPTED_CLAIMS:
        files[f"accepted/{kind}/{name}.json"] = claim_bytes(claim)
    for kind, name, claim, pointer, words in REJECTED_CLAIMS:
        files[f"rejected/{kind}/{name}.json"] = claim_bytes(claim)
        files[f"rejected/{kind}/{name}.json.expect"] = expectation("Rejected", pointer, words)
    for name, document, pointer, words in CONTRADICTORY:
        files[f"rejected/question/{name}.json"] = canonical_bytes(document)
        files[f"rejected/question/{name}.json.expect"] = expectation("Malformed", pointer, words)
    for path, data, pointer, words in malformed():
        files[f"malformed/{path}.json"] = data
        files[f"malformed/{path}.json.expect"] = expectation("Malformed", pointer, words)
    return files


# --- documents that are not of their format -------------------------------------------------------


def malformed() -> Iterator[tuple[str, bytes, str, str]]:
    """Path without suffix, bytes, pointer, words."""
    for kind, name, claim in ACCEPTED_CLAIMS:
        if name in MALFORMED_FROM:
            number = MALFORMED_FROM[name]
            for case, data, pointer, words in broken(encode(claim), number):
                if case == "null" and kind in NULLABLE:
                    continue
                yield f"{kind}/{name}--{case}", data, pointer, words
    question = encode(QUESTIONS["linf-edge"])
    for case, data, pointer, words in broken(question, "horizon"):
        if "format" not in case:
            yield f"question/{case}", data, pointer, words
    for case, change, pointer, words in QUESTION_FAULTS:
        tree = json.loads(canonical_bytes(question))
        change(tree)
        yield f"question/{case}", canonical_bytes(tree), pointer, words


RATIONAL_FAULTS = [
    ("float", "0.25", "is not in lowest terms"),
    ("integer", "1", "needed an exact number as text"),
    ("nan", "NaN", "NaN is not a number of this format"),
    ("infinity", "-Infinity", "-Infinity is not a number of this format"),
    ("nan-text", '"NaN"', "needed an exact number"),
    ("decimal-text", '"0.25"', "is not in lowest terms"),
    ("not-reduced", '"2/8"', "is not in lowest terms"),
    ("plus", '"+1/4"', "is not in lowest terms"),
    ("zero-denominator", '"1/0"', "has denominator 0"),
    ("negative-denominator", '"1/-4"', "needed an exact number"),
    ("exponent", '"1e99999"', "decimal exponent"),
    ("other-digits", '"\u0661/\u0664"', "needed an exact number"),
    ("null", "null", 'needed an exact number as text, "p/q", received None'),
    ("list", '["1/4"]', "needed an exact number as text"),
]
"""A rational in every way that it may not be written: case, text, words."""
WHOLE_FAULTS = [
    ("float", "3.5", "needed int, received"),
    ("text", '"3"', "needed int, received"),
    ("boolean", "true", "needed int, received"),
    ("null", "null", "needed int, received"),
    ("list", "[3]", "needed int, received"),
    ("nan", "NaN", "NaN is not a number of this format"),
    ("infinity", "-Infinity", "-Infinity is not a number of this format"),
]
"""A whole number in every way that it may not be written."""


def broken(tree: dict[str, Any], number: str) -> Iterator[tuple[str, bytes, str, str]]:
    """One document in every way that no reader may take."""
    text = canonical_bytes(tree).decode()
    value = canonical_bytes(tree[number]).decode()

    def replaced(other: str) -> bytes:
        return text.replace(f'"{number}":{value}', f'"{number}":{other}').encode()

    place = f"/{number}"
    yield "empty", b"", "", "is not JSON"
    yield "truncated", text[:-2].encode(), "", "is not JSON"
    yield "trailing", text.encode() + b"{}", "", "is not JSON"
    yield "byte-order-mark", b"\xef\xbb\xbf" + text.encode(), "", "is not JSON"
    yield "not-utf-8", text.encode()[:-1] + b"\xff}", "", "is not UTF-8"
    yield "nested", b"[" * 65 + b"]" * 65, "", "nests deeper than 64 levels"
    yield "twice", text[:-1].encode() + f',"{number}":{value}}}'.encode(), "", "appears twice"
    yield "unknown-key", canonical_bytes({**tree, "valid": True}), "/valid", "unknown key"
    yield (
        "missing-key",
        canonical_bytes({k: v for k, v in tree.items() if k != number}),
        "",
        (f"missing key '{number}'"),
    )
    yield "spaces", json.dumps(tree, sort_keys=True).encode(), "", "is not in canonical form"
    backwards = dict(sorted(tree.items(), reverse=True))
    yield (
        "order",
        json.dumps(backwards, separators=(",", ":")).encode(),
        "",
        ("is not in canonical form"),
    )
    faults = WHOLE_FAULTS if isinstance(tree[number], int) else RATIONAL_FAULTS
    for case, other, words in faults:
        yield case, replaced(other), "" if case in ("nan", "infinity") else place, words
    lone = '"\\ud800"'
    for before, after in (
        (f'"subject":"{tree.get("subject")}"', f'"subject":{lone}'),
        ('"certificates":[]', f'"certificates":[{{"claim":{lone},"required":true,"sha256":null}}]'),
    ):
        if before in text:
            changed = text.replace(before, after).encode()
            yield "half-a-surrogate", changed, "", "half of a surrogate pair"
    yield "format-version", text.replace("/v1", "/v2").encode(), "/format", "has version v1 only"
    yield (
        "format-kind",
        text.replace('"qreplace/claim/', '"qreplace/claim/x').encode(),
        ("/format"),
        "unknown claim kind",
    )
    yield (
        "format-list",
        canonical_bytes({**tree, "format": ["qreplace"]}),
        "/format",
        ("needed a format like"),
    )
    if "code" in tree:
        for case, code, words in (
            ("code-true", True, "needed int, received True"),
            ("code-text", "0", "needed int, received '0'"),
        ):
            yield case, canonical_bytes({**tree, "code": code}), "/code", words


def _set(*path: str | int, to: Any) -> Callable[[Any], None]:
    def change(tree: Any) -> None:
        for step in path[:-1]:
            tree = tree[step]
        tree[path[-1]] = to

    return change


_ATOM = ("dictionary", "atoms", 0, "values")

QUESTION_FAULTS: list[tuple[str, Callable[[Any], None], str, str]] = [
    ("format", _set("format", to="qreplace/question/v2"), "/format", (
        "needed 'qreplace/question/v1'"
    )),
    ("shape", _set(*_ATOM, "shape", to=[3]), "/dictionary/atoms/0/values", "holds 3 values"),
    ("shape-negative", _set(*_ATOM, "shape", to=[-1, -2]), "/dictionary/atoms/0/values", (
        "no negative extents"
    )),
    ("no-atoms", _set("dictionary", "atoms", to=[]), "/dictionary", "a dictionary has 1 to"),
    ("kind", _set("norm", "kind", to="l3"), "/norm/kind", "needed a kind among"),
    ("kind-missing", _set("norm", to={}), "/norm/kind", "needed a kind among"),
    ("kind-list", _set("norm", "kind", to=["l1"]), "/norm/kind", "needed a kind among"),
    ("weights-zero", _set("norm", to={"kind": "weighted_l1", "weights": ["1", "0"]}), "/norm", (
        "weights of a norm are positive"
    )),
    ("block-zero", _set("norm", to={"kind": "block_l2", "block": 0}), "/norm", "at least one"),
    ("depth-zero", _set("search", "depths", 0, "first", to=0), "/search/depths/0", (
        "depths run from 1"
    )),
    ("depths-none", _set("search", "depths", to=[]), "/search", "1 to 4096 depth ranges"),
    ("budgets", _set("search", "metadata_bits", to=[2, 1]), "/search", "distinct, ascending"),
    ("cost-negative", _set("costs", "step", to="-1"), "/costs", "not negative"),
    ("boolean", _set("dictionary", "learned", to=1), "/dictionary/learned", "needed bool"),
    ("evidence", _set("objective", to={"kind": "accuracy_matching", "comparator": {
        "kind": "declared", "lower": "1", "upper": "2", "evidence": "proved", "source": "",
        "assumptions": [],
    }}), "/objective/comparator/evidence", "needed one of"),
    ("interval", _set("objective", to={"kind": "accuracy_matching", "comparator": {
        "kind": "declared", "lower": "2", "upper": "1", "evidence": "diagnostic", "source": "",
        "assumptions": [],
    }}), "/objective/comparator", "lower end exceeds"),
]  # fmt: skip


def main() -> None:
    """Write the corpus; files of these folders that nothing makes any more are removed."""
    made = documents()
    for verdict in ("accepted", "rejected", "malformed"):
        for kind in (*KINDS, "question"):
            for path in (CORPUS / verdict / kind).rglob("*.*"):
                if str(path.relative_to(CORPUS)) not in made:
                    path.unlink()
    for name, data in made.items():
        path = CORPUS / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    print(f"{len(made)} files")


if __name__ == "__main__":
    main()
