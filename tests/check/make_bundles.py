"""Writes the corpus of bundles: ``python tests/check/make_bundles.py``.

They say that an earlier engine made them, whose wording may differ, so they stay valid while the
sentences of a verdict change; run this again when its keys do.
"""

from __future__ import annotations

import dataclasses
import json
import struct
import sys
import zipfile
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from bundle_kit import (
    CLAIMS,
    EARLIER,
    HONEST,
    Members,
    bundle_of,
    manifest_of,
    members_of,
    rehashed,
    renamed,
    tolerating,
    with_question,
    with_verdict,
    zipped,
)
from corpus_questions import QUESTIONS, STORE

from qreplace.claims import claim_bytes, claim_digest
from qreplace.exact.document import canonical_bytes, sha256_hex
from qreplace.question.arrays import read_npy
from qreplace.question.model import Certificate, LinearTarget

CORPUS = Path(__file__).parents[1] / "corpus"

Refused = tuple[str, bytes, str]
"""Name, bundle, words of the reason."""

FEASIBLE = HONEST["feasible"](EARLIER)
LIFTED = HONEST["lifted"](EARLIER)
UNRESOLVED = HONEST["unresolved"](EARLIER)
PARTS = members_of(FEASIBLE)
MANIFEST = manifest_of(PARTS)


def claim_member(name: str) -> str:
    """Where a claim of the corpus lies in a bundle."""
    return f"claims/{claim_digest(CLAIMS[name])}.json"


def accepted() -> dict[str, bytes]:
    """Honest bundles."""
    found = {name: make(EARLIER) for name, make in HONEST.items()}
    words = {"reasons": ["worded differently"], "not_shown": [], "weakest": "in other words"}
    found["other-words"] = with_verdict(FEASIBLE, **words)
    return found


# --- the container -------------------------------------------------------------------------------


def container() -> Iterator[Refused]:
    """Hidden or moved bytes around honest members; every digest is right."""
    words = "the ZIP container is not the canonical one"
    ordered = sorted(PARTS.items())
    yield "comment", zipped(ordered, comment=b"hello"), words
    yield "order", zipped(ordered[::-1]), words
    yield "times", zipped(ordered, year=1999), words
    yield "extra-field", zipped(ordered, extra=struct.pack("<HHI", 0x9999, 4, 7)), words
    yield "prefix", b"#!/bin/sh\n" + FEASIBLE, words
    directory, end = _directory(FEASIBLE)
    yield "two-directories", _second_directory(FEASIBLE, directory, end), words
    yield "gap", _gap(FEASIBLE, directory, end), words
    hidden = [*ordered, (claim_member("linf-edge--rounded"), b"{}")]
    yield "unlisted", zipped(sorted(hidden)), "is not listed in the manifest"
    for name in ("question.json", "verdict.json", claim_member("linf-edge--one-each")):
        rest = {key: data for key, data in PARTS.items() if key != name}
        short = name.split("/")[0].removesuffix(".json")
        yield f"missing-{short}", zipped(rest), f"{name} is listed in the manifest but missing"
        changed = {**PARTS, name: PARTS[name] + b" "}
        yield f"changed-{short}", zipped(changed), f"{name} does not have the SHA-256"
    loose = json.dumps(MANIFEST, sort_keys=True).encode()
    yield "manifest-spaces", zipped({**PARTS, "manifest.json": loose}), "not in canonical form"
    one = claim_member("linf-edge--one-each")
    other = claim_member("linf-edge--rounded")
    moved = {key: data for key, data in PARTS.items() if key != one} | {other: PARTS[one]}
    yield "misnamed", rehashed(moved), "is not named by its SHA-256"


def _directory(bundle: bytes) -> tuple[int, int]:
    """Offsets of the central directory and of the record that ends it."""
    end = bundle.rindex(b"PK\x05\x06")
    return struct.unpack("<I", bundle[end + 16 : end + 20])[0], end


def _second_directory(bundle: bytes, directory: int, end: int) -> bytes:
    """The central directory twice; the record names the second."""
    record = bytearray(bundle[end:])
    record[16:20] = struct.pack("<I", end)
    return bundle[:end] + bundle[directory:end] + bytes(record)


def _gap(bundle: bytes, directory: int, end: int) -> bytes:
    """Bytes that no entry owns, between the last member and the directory."""
    record = bytearray(bundle[end:])
    record[16:20] = struct.pack("<I", directory + 9)
    return bundle[:directory] + b"gap bytes" + bundle[directory:end] + bytes(record)


def malformed() -> Iterator[Refused]:
    """What is no bundle at all."""
    yield "empty", b"", "not a readable ZIP file"
    yield "text", b"PK, but not a ZIP file", "not a readable ZIP file"
    yield "truncated", FEASIBLE[:-30], "not a readable ZIP file"
    yield "half", FEASIBLE[: len(FEASIBLE) // 2], "not a readable ZIP file"
    yield "no-members", zipped({}), "has no manifest.json"
    rest = {key: data for key, data in PARTS.items() if key != "manifest.json"}
    yield "no-manifest", zipped(rest), "has no manifest.json"
    yield "compressed", zipped(PARTS, method=zipfile.ZIP_DEFLATED), "is compressed"
    twice = [*PARTS.items(), ("question.json", PARTS["question.json"])]
    yield "duplicate", zipped(twice), "two members named 'question.json'"
    for case, name in (
        ("escaping", "../question.json"),
        ("escaping-deep", f"claims/../../{'0' * 64}.json"),
        ("absolute", "/etc/question.json"),
        ("backslash", "claims\\x.json"),
        ("folder", "claims/"),
        ("foreign", "readme.txt"),
        ("upper-case", f"claims/{'A' * 64}.json"),
        ("newline", "question.json\n"),
    ):
        yield f"name-{case}", zipped([*PARTS.items(), (name, b"")]), "with a foreign name"
    yield "encrypted", _flagged(FEASIBLE, 0x1), "encrypted"
    yield "name-not-utf-8", _not_utf8(FEASIBLE), "not a readable ZIP file"
    yield "overlapping", _overlapping(FEASIBLE), "larger than the bundle"
    for name in ("question.json", "verdict.json"):
        rest = {key: data for key, data in PARTS.items() if key != name}
        yield f"without-{name.removesuffix('.json')}", rehashed(rest), f"has no {name}"
    for case, tree, words in (
        ("list", [], "other keys"),
        ("key-missing", {k: v for k, v in MANIFEST.items() if k != "engine"}, "other keys"),
        ("key-more", {**MANIFEST, "signature": ""}, "other keys"),
        ("engine", {**MANIFEST, "engine": 1}, "wrong type"),
        ("members", {**MANIFEST, "members": []}, "wrong type"),
        ("format", {**MANIFEST, "format": "qreplace/bundle/v2"}, "needed format"),
    ):
        yield f"manifest-{case}", zipped({**PARTS, "manifest.json": canonical_bytes(tree)}), words
    for case, data, words in (
        ("json", b"{", "is not JSON"),
        ("twice", PARTS["manifest.json"][:-1] + b',"study":""}', "appears twice"),
        ("nested", b"[" * 99 + b"]" * 99, "nests deeper"),
    ):
        yield f"manifest-{case}", zipped({**PARTS, "manifest.json": data}), words
    for case, data, words in (
        ("json", b"{", "is not JSON"),
        ("list", b"[]", "the verdict is not an object"),
        ("nan", PARTS["verdict.json"].replace(b"false", b"NaN"), "NaN is not a number"),
    ):
        yield f"verdict-{case}", rehashed({**PARTS, "verdict.json": data}), words
    loose = json.dumps(json.loads(PARTS["question.json"])).encode()
    yield "question-spaces", rehashed({**PARTS, "question.json": loose}), "not in canonical form"
    claim = claim_member("linf-edge--one-each")
    spaced = renamed({**PARTS, claim: PARTS[claim] + b"\n"})
    yield "claim-newline", rehashed(spaced), "the claim is not in canonical form"


def _flagged(bundle: bytes, flag: int) -> bytes:
    """The first member with a general-purpose flag set, in both of its headers."""
    data = bytearray(bundle)
    data[6] |= flag
    data[bundle.index(b"PK\x01\x02") + 8] |= flag
    return bytes(data)


def _not_utf8(bundle: bytes) -> bytes:
    """The first member's name is said to be UTF-8 and is not."""
    data = bytearray(bundle)
    entry = bundle.index(b"PK\x01\x02")
    data[entry + 9] |= 0x8
    data[entry + 46] = 0xFF
    return bytes(data)


def _overlapping(bundle: bytes) -> bytes:
    """The last member's sizes reach over everything behind it; so do its own checksums."""
    data = bytearray(bundle)
    entry = bundle.rindex(b"PK\x01\x02")
    data[entry + 20 : entry + 28] = struct.pack("<II", len(bundle), len(bundle))
    return bytes(data)


# --- forged contents, re-hashed ------------------------------------------------------------------


def forged() -> Iterator[Refused]:
    """Every digest fits; what is said does not follow."""
    yield "study", rehashed(PARTS, study="0" * 64), "the study id is not the digest"
    easier = tolerating("linf-edge", "1/3")
    yield (
        "easier-question",
        with_question(FEASIBLE, easier, verdict=False),
        ("differs from the recomputed one"),
    )
    harder = tolerating("linf-edge", "1/5")
    yield "harder-question", with_question(FEASIBLE, harder, verdict=True), "in 'best'"
    yield (
        "other-dictionary",
        with_question(FEASIBLE, QUESTIONS["one-atom"], verdict=True),
        ("the claim is about another question"),
    )
    yield "stronger-verdict", with_verdict(UNRESOLVED, verdict="certified_feasible"), "in 'verdict'"
    yield "opposite-verdict", with_verdict(FEASIBLE, verdict="certified_impossible"), "in 'verdict'"
    yield "stronger-label", with_verdict(FEASIBLE, evidence="analytic_certified"), "in 'evidence'"
    yield "wider-domain", with_verdict(FEASIBLE, domain="full"), "in 'domain'"
    yield "zero-for-false", with_verdict(FEASIBLE, minimal=0), "in 'minimal'"
    yield "another-key", with_verdict(FEASIBLE, signed=True), "in 'signed'"
    yield "another-null", with_verdict(FEASIBLE, pardon=None), "in 'pardon'"
    yield "fewer-nulls", _less(FEASIBLE, "obstruction"), "in 'obstruction'"
    yield "fewer-keys", _less(FEASIBLE, "weakest"), "in 'weakest'"
    sharper = {"lower": "1/4", "upper": "1/4"}
    yield "sharper-bracket", with_verdict(UNRESOLVED, bracket=sharper), "in 'bracket'"
    verdict = json.loads(PARTS["verdict.json"])
    plan = {**verdict["plan"], "error": "0"}
    yield "better-plan", with_verdict(FEASIBLE, plan=plan), "in 'plan'"
    loose = json.dumps(verdict, sort_keys=True).encode()
    spaced = rehashed({**PARTS, "verdict.json": loose})
    yield "verdict-spaces", spaced, "the stored verdict is not in canonical form"
    for name in ("linf-edge--width-0", "linf-edge--one-each"):
        fewer = {k: v for k, v in PARTS.items() if k != claim_member(name)}
        yield f"without-{name.split('--')[1]}", rehashed(fewer), "differs from the recomputed one"
    bare = {k: v for k, v in PARTS.items() if not k.startswith("claims/")}
    yield "without-claims", rehashed(bare), "differs from the recomputed one"
    alien = {**PARTS, claim_member("l1-edge--width-0"): claim_bytes(CLAIMS["l1-edge--width-0"])}
    yield "claim-of-another", rehashed(alien), "the claim is about another question"
    more = {**PARTS, claim_member("linf-edge--rounded"): claim_bytes(CLAIMS["linf-edge--rounded"])}
    yield "claim-more", rehashed(more), "differs from the recomputed one in 'claims'"
    false = dataclasses.replace(CLAIMS["linf-edge--width-0"], lower=Fraction(1, 3))
    yield "false-claim", _with_claim(false), "the dual value is not the claimed lower end"
    yield from arrays()
    negative = bundle_of(tolerating("linf-edge", "-1"), engine=EARLIER)
    yield "rests-on-nothing", negative, "rests on neither claims nor declared premises"
    needed = (Certificate("affine_lp", "0" * 64, required=True),)
    asking = dataclasses.replace(QUESTIONS["linf-edge"], certificates=needed)
    honest = bundle_of(asking, ("linf-edge--width-0",), engine=EARLIER)
    yield "withheld", with_verdict(honest, verdict="certified_impossible"), "in 'verdict'"


def _less(bundle: bytes, key: str) -> bytes:
    members = members_of(bundle)
    verdict = {k: v for k, v in json.loads(members["verdict.json"]).items() if k != key}
    return rehashed({**members, "verdict.json": canonical_bytes(verdict)})


def _with_claim(claim: Any) -> bytes:
    """The bracket of the feasible bundle replaced by another claim."""
    members = {k: v for k, v in PARTS.items() if k != claim_member("linf-edge--width-0")}
    data = claim_bytes(claim)
    return rehashed({**members, f"claims/{sha256_hex(data)}.json": data})


def arrays() -> Iterator[Refused]:
    """Missing, foreign, exchanged, differently written and mistyped arrays."""
    members = members_of(LIFTED)
    names = sorted(name for name in members if name.startswith("arrays/"))
    first = names[0]
    fewer = {k: v for k, v in members.items() if k != first}
    yield "array-missing", rehashed(fewer), "that the question names is missing"
    changed = bytearray(members[first])
    changed[-1] ^= 1
    other = renamed({**members, first: bytes(changed)})
    yield "array-changed", rehashed(other), "that the question names is missing"
    foreign = renamed({**members, f"arrays/{'0' * 64}.npy": bytes(changed)})
    yield "array-foreign", rehashed(foreign), "is not named by the question"
    question = QUESTIONS["quantized-lift"]
    target, atoms = question.target, question.dictionary
    assert isinstance(target, LinearTarget)
    codes = [atom.codes for atom in atoms.atoms]  # type: ignore[union-attr]
    exchanged = dataclasses.replace(
        question,
        dictionary=dataclasses.replace(
            atoms,  # type: ignore[type-var]
            atoms=tuple(
                dataclasses.replace(atom, codes=code)  # type: ignore[call-arg]
                for atom, code in zip(atoms.atoms, codes[::-1], strict=True)  # type: ignore[union-attr]
            ),
        ),
    )
    yield (
        "arrays-exchanged",
        with_question(LIFTED, exchanged, verdict=True),
        ("the claim is about another question"),
    )
    yield "array-rewritten", _rewritten(members, target), "is not a canonical .npy file"


def _rewritten(members: Members, target: LinearTarget) -> bytes:
    """The target's array in .npy version 2, named by its new digest everywhere."""
    old = target.weights.sha256  # type: ignore[union-attr]
    raw = read_npy(STORE[old])
    text = STORE[old][10 : len(STORE[old]) - len(raw.data)]
    data = b"\x93NUMPY\x02\x00" + struct.pack("<I", len(text)) + text + raw.data
    digest = sha256_hex(data)
    question = dataclasses.replace(
        QUESTIONS["quantized-lift"],
        target=dataclasses.replace(
            target,
            weights=dataclasses.replace(target.weights, sha256=digest),  # type: ignore[call-arg]
        ),
    )
    rest = {k: v for k, v in members.items() if k != f"arrays/{old}.npy"}
    swapped = rehashed({**rest, f"arrays/{digest}.npy": data})
    return with_question(swapped, question, verdict=True)


def refused(verdict: str) -> list[Refused]:
    """The refused bundles of one folder."""
    sources: dict[str, tuple[Callable[[], Iterator[Refused]], ...]] = {
        "rejected": (container, forged),
        "malformed": (malformed,),
    }
    return [case for source in sources[verdict] for case in source()]


def main() -> None:
    """Write the corpus; bundles that nothing makes any more are removed."""
    for verdict in ("accepted", "rejected", "malformed"):
        folder = CORPUS / verdict / "bundle"
        folder.mkdir(parents=True, exist_ok=True)
        for path in folder.iterdir():
            path.unlink()
    for name, data in accepted().items():
        (CORPUS / "accepted" / "bundle" / f"{name}.zip").write_bytes(data)
    for verdict, error in (("rejected", "Rejected"), ("malformed", "Malformed")):
        for name, data, words in refused(verdict):
            path = CORPUS / verdict / "bundle" / f"{name}.zip"
            path.write_bytes(data)
            path.with_name(path.name + ".expect").write_text(f"{error} - {words}\n", "utf-8")


if __name__ == "__main__":
    main()
