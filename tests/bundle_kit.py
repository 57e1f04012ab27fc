"""Bundles for tests: honest ones, and the forger's tools that re-hash what was changed."""

from __future__ import annotations

import dataclasses
import io
import json
import zipfile
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from corpus_claims import CLAIM_BY_NAME as CLAIMS
from corpus_questions import QUESTIONS, STORE

from qreplace.check.__main__ import check_claims, stored_arrays, verdict_document
from qreplace.claims import claim_bytes
from qreplace.claims.bundle import write_bundle
from qreplace.exact.document import canonical_bytes, sha256_hex
from qreplace.question.model import Emulation, Question
from qreplace.question.subject import Subject
from qreplace.version import __version__

Members = dict[str, bytes]

EARLIER = "0.0.1"
"""An engine whose wording may differ from this one's."""


def tolerating(name: str, tolerance: str) -> Question:
    """A question of the corpus with another tolerance."""
    objective = Emulation("emulation", Fraction(tolerance))
    return dataclasses.replace(QUESTIONS[name], objective=objective)


def bundle_of(
    question: Question,
    claims: Sequence[str] = (),
    *,
    engine: str = __version__,
    store: Mapping[str, bytes] = STORE,
) -> bytes:
    """An honest bundle of the named claims of the corpus."""
    subject = Subject(question, store)
    documents = {sha256_hex(claim_bytes(CLAIMS[n])): claim_bytes(CLAIMS[n]) for n in claims}
    checked, bounds = check_claims(subject, [documents[d] for d in sorted(documents)])
    return write_bundle(
        engine=engine,
        study=question.study_id,
        question=question.to_bytes(),
        verdict=canonical_bytes(verdict_document(subject, checked, bounds)),
        claims=documents,
        arrays={digest: store[digest] for digest in stored_arrays(question)},
    )


SCHEDULES = ("linf-edge--one-each", "linf-edge--uneven")


def feasible(engine: str = __version__) -> bytes:
    """Floor 1/4, tolerance 3/10: met at depth 2."""
    claims = ("linf-edge--width-0", *SCHEDULES)
    return bundle_of(tolerating("linf-edge", "3/10"), claims, engine=engine)


def impossible(engine: str = __version__) -> bytes:
    """Floor 1/4, tolerance 1/10: never."""
    return bundle_of(QUESTIONS["linf-edge"], ("linf-edge--width-0",), engine=engine)


def unresolved(engine: str = __version__) -> bytes:
    """A loose bracket about the tolerance, and no schedule."""
    question = tolerating("linf-edge", "1/4")
    return bundle_of(question, ("linf-edge--rounded",), engine=engine)


def frozen(engine: str = __version__) -> bytes:
    """Tolerance 1/2, below what the frozen state misses from depth 9 on."""
    claims = ("frozen-grid--first-depth",)
    return bundle_of(tolerating("frozen-grid", "1/2"), claims, engine=engine)


def lifted(engine: str = __version__) -> bytes:
    """Quantised maps in side arrays."""
    return bundle_of(QUESTIONS["quantized-lift"], ("quantized-lift--width-0",), engine=engine)


HONEST = {
    "feasible": feasible,
    "impossible": impossible,
    "unresolved": unresolved,
    "frozen": frozen,
    "lifted": lifted,
}


# --- the forger ----------------------------------------------------------------------------------


def members_of(bundle: bytes) -> Members:
    """Every member with its content."""
    with zipfile.ZipFile(io.BytesIO(bundle)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def zipped(
    members: Mapping[str, bytes] | Sequence[tuple[str, bytes]],
    *,
    method: int = zipfile.ZIP_STORED,
    comment: bytes = b"",
    year: int = 1980,
    extra: bytes = b"",
) -> bytes:
    """A container with the given members in the given order, hashes as they are."""
    buffer = io.BytesIO()
    pairs = list(members.items()) if isinstance(members, Mapping) else list(members)
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.comment = comment
        for name, data in pairs:
            info = zipfile.ZipInfo(name, (year, 1, 1, 0, 0, 0))
            info.compress_type = method
            info.create_system = 3
            info.external_attr = 0o644 << 16
            info.extra = extra
            archive.writestr(info, data)
    return buffer.getvalue()


def manifest_of(members: Mapping[str, bytes]) -> dict[str, Any]:
    """The manifest as a tree."""
    tree: dict[str, Any] = json.loads(members["manifest.json"])
    return tree


def rehashed(members: Mapping[str, bytes], **manifest: Any) -> bytes:
    """The canonical container of changed members under a manifest that fits them."""
    kept = {name: data for name, data in members.items() if name != "manifest.json"}
    tree = {
        **manifest_of(members),
        "members": {name: sha256_hex(data) for name, data in kept.items()},
        **manifest,
    }
    return zipped(sorted({**kept, "manifest.json": canonical_bytes(tree)}.items()))


def renamed(members: Mapping[str, bytes]) -> Members:
    """Claims and arrays under the names that their changed contents need."""
    found: Members = {}
    for name, data in members.items():
        folder, slash, file = name.rpartition("/")
        suffix = file[file.rfind(".") :]
        found[f"{folder}/{sha256_hex(data)}{suffix}" if slash else name] = data
    return found


def with_verdict(bundle: bytes, **changes: Any) -> bytes:
    """The bundle with other entries in its verdict, re-hashed."""
    members = members_of(bundle)
    verdict = {**json.loads(members["verdict.json"]), **changes}
    return rehashed({**members, "verdict.json": canonical_bytes(verdict)})


def with_question(bundle: bytes, question: Question, *, verdict: bool) -> bytes:
    """The bundle about another question: study ids follow, in the verdict too when ``verdict``."""
    members = {**members_of(bundle), "question.json": question.to_bytes()}
    if verdict:
        tree = {**json.loads(members["verdict.json"]), "study": question.study_id}
        members["verdict.json"] = canonical_bytes(tree)
    return rehashed(members, study=question.study_id)
