"""``python -m qreplace.check FILE``: re-check a bundle or a claim, offline, standard library only.

Steps for a bundle, numbered as in ``schemas/bundle.v1.md``:

1. the container is canonical and every member has the digest that the manifest names;
2. the question is canonical and its digest is the study id;
3. the arrays it names are there and have the named digests; no other array is;
4. every claim is re-checked against the problem formed anew from question and arrays;
5. the decision is recomputed from question and checked bounds alone;
6. the stored verdict equals the recomputed one;
7. a resolved verdict rests on a claim or on declared premises.

Exit codes: 0 accepted, 4 rejected, 3 malformed, 5 internal error.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import traceback
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from qreplace.check.bounds import Checked, ScopedBound, ScopedConstants, ScopedRegisters
from qreplace.check.registry import check_claim
from qreplace.claims import Claim, claim_kind, read_claim
from qreplace.claims.bundle import Bundle, read_bundle
from qreplace.decision.verdict import decide
from qreplace.errors import InputError, Malformed, QReplaceError, Rejected
from qreplace.exact.document import canonical_bytes, read_json
from qreplace.exact.rational import decimal_text, format_rational
from qreplace.premises import weakest
from qreplace.question.arrays import read_npy
from qreplace.question.model import Question, StoredArray, read_question
from qreplace.question.subject import Subject
from qreplace.version import __version__

VERDICT_FORMAT = "qreplace/verdict/v1"

ENGINES_WITH_KNOWN_FAULTS: dict[str, str] = {}
"""Engine versions whose bundles need re-deciding, with the fault; none is known."""

_FAULTS = (ArithmeticError, AttributeError, LookupError, MemoryError, RuntimeError, TypeError,
           ValueError)  # fmt: skip
"""What only a fault of ours raises; nothing is accepted then, and the exit code says so."""

_TEXT_KEYS = ("reasons", "not_shown", "weakest", "asked")
"""Wording may change between engine versions; everything else may not."""


@dataclass(frozen=True)
class Report:
    """What was accepted: the proposition in words, its ends, and what it rests on."""

    kind: str
    proposition: str
    lower: str | None
    upper: str | None
    evidence: str
    verdict: dict[str, Any] | None
    notes: tuple[str, ...]

    def document(self) -> dict[str, Any]:
        """The object that ``qreplace check --json`` prints."""
        return {
            "kind": self.kind,
            "proposition": self.proposition,
            "lower": self.lower,
            "upper": self.upper,
            "evidence": self.evidence,
            "notes": list(self.notes),
        }


def check_bundle(data: bytes) -> Report:
    """Re-derive everything a bundle says; raises ``Rejected`` or ``Malformed`` with the reason."""
    bundle = read_bundle(data)  # 1
    question = read_question(bundle.question)  # 2
    if question.study_id != bundle.study:
        raise Rejected("the study id is not the digest of the question")
    _check_arrays(question, bundle)  # 3
    subject = Subject(question, bundle.arrays)
    claims, bounds = check_claims(subject, bundle.claims.values())  # 4
    recomputed = verdict_document(subject, claims, bounds)  # 5
    notes = _compare_verdicts(bundle, recomputed)  # 6
    resolved = recomputed["verdict"] != "unresolved"
    if resolved and not claims and not recomputed["declared"]:  # 7
        raise Rejected("a resolved verdict rests on neither claims nor declared premises")
    bracket = recomputed["bracket"] or {}
    return Report(
        kind="bundle",
        proposition=proposition(question, recomputed),
        lower=bracket.get("lower"),
        upper=bracket.get("upper"),
        evidence=recomputed["evidence"],
        verdict=recomputed,
        notes=tuple(notes),
    )


def check_claims(
    subject: Subject, documents: Iterator[bytes] | Sequence[bytes] | Any
) -> tuple[list[Claim], list[Checked]]:
    """Parse and check claim documents; claims come back in the order of their digests."""
    claims: list[Claim] = []
    bounds: list[Checked] = []
    for document in documents:
        claim = read_claim(document)
        claims.append(claim)
        bounds.extend(check_claim(subject, claim))
    return claims, bounds


def verdict_document(
    subject: Subject, claims: Sequence[Claim], bounds: Sequence[Checked]
) -> dict[str, Any]:
    """The decision document in the form that a bundle stores."""
    return {"format": VERDICT_FORMAT, **decide(subject, claims, bounds)}


def _check_arrays(question: Question, bundle: Bundle) -> None:
    named = set(stored_arrays(question))
    for digest in sorted(named - bundle.arrays.keys()):
        raise Rejected(f"the array {digest} that the question names is missing")
    for digest in sorted(bundle.arrays.keys() - named):
        raise Rejected(f"the array {digest} is not named by the question")
    for digest, data in bundle.arrays.items():
        if read_npy(data).to_npy() != data:
            raise Rejected(f"the array {digest} is not a canonical .npy file")


def stored_arrays(value: Any) -> Iterator[str]:
    """The digests of every stored array in a question."""
    if isinstance(value, StoredArray):
        yield value.sha256
    elif isinstance(value, tuple):
        for item in value:
            yield from stored_arrays(item)
    elif hasattr(value, "__dataclass_fields__"):
        for name in value.__dataclass_fields__:
            yield from stored_arrays(getattr(value, name))


def _compare_verdicts(bundle: Bundle, recomputed: dict[str, Any]) -> list[str]:
    notes = []
    if bundle.engine in ENGINES_WITH_KNOWN_FAULTS:
        fault = ENGINES_WITH_KNOWN_FAULTS[bundle.engine]
        notes.append(f"engine {bundle.engine} has a known fault ({fault}); re-decide the study")
    if canonical_bytes(recomputed) == bundle.verdict:
        return notes
    stored = read_json(bundle.verdict, what="verdict")
    if not isinstance(stored, dict):
        raise Malformed("the verdict is not an object")
    if canonical_bytes(stored) != bundle.verdict:
        raise Rejected("the stored verdict is not in canonical form")
    for key in sorted(stored.keys() | recomputed.keys()):
        both = key in stored and key in recomputed
        if both and key in _TEXT_KEYS and bundle.engine != __version__:
            continue
        # Compared as bytes: to Python 1 and True are equal, to a reader they are not.
        if not both or canonical_bytes(stored[key]) != canonical_bytes(recomputed[key]):
            raise Rejected(f"the stored verdict differs from the recomputed one in {key!r}")
    notes.append(f"worded by engine {bundle.engine}, re-checked by {__version__}")
    return notes


_PROPOSITIONS = {
    "certified_feasible": "a schedule meets the tolerance",
    "certified_impossible": "no declared candidate meets the tolerance",
    "certified_asymptotically_impossible": "no depth from some point on meets the tolerance",
    "conditionally_feasible": "given the declared premises, a schedule meets the tolerance",
    "conditionally_impossible": "given the declared premises, no declared candidate meets the "
    "tolerance",
    "unresolved": "nothing is claimed: the question is unresolved",
}


def proposition(question: Question, verdict: dict[str, Any]) -> str:
    """The proposition that holds, its domain and its declared premises, in words."""
    text = _PROPOSITIONS[verdict["verdict"]]
    best = verdict["best"]
    if best is not None:
        text += f" at depth {best['depth']} with {best['metadata_bits']} metadata bits"
    elif verdict["impossible_from"] is not None:
        text += f" (every depth from {verdict['impossible_from']} on)"
    text += f"; {question.norm.kind} norm, {question.scope}, tolerance {verdict['tolerance']['lo']}"
    text += f"; domain: {verdict['domain']}"
    if verdict["declared"]:
        text += f"; declared, not proved: {', '.join(verdict['declared'])}"
    if verdict["asked"]:
        text += f"; asked about: {', '.join(verdict['asked'])}"
    return text


def check_claim_file(data: bytes, question: Question, arrays: dict[str, bytes]) -> Report:
    """Check one claim against a question."""
    claim = read_claim(data)
    checked = check_claim(Subject(question, arrays), claim)
    bounds = [bound for bound in checked if isinstance(bound, ScopedBound)]
    constants = [bound for bound in checked if isinstance(bound, ScopedConstants)]
    lowers = [bound.value for bound in bounds if bound.side == "lower"]
    uppers = [bound.value for bound in bounds if bound.side == "upper"]
    evidence = weakest([entry.evidence for entry in checked])
    registers = [entry for entry in checked if isinstance(entry, ScopedRegisters)]
    if registers:
        text = _registers_text(registers[0])
    else:
        text = _bounds_text(bounds, question) if bounds else _constants_text(constants, question)
    return Report(
        kind=claim_kind(claim),
        proposition=text,
        lower=format_rational(max(lowers)) if lowers else None,
        upper=format_rational(min(uppers)) if uppers else None,
        evidence=evidence.value,
        verdict=None,
        notes=(),
    )


_QUANTITIES = {
    "relaxed_floor": "the structural floor",
    "ideal_error": "the ideal error",
    "executed_error": "the executed error",
    "comparator_error": "the comparator's error",
}
_OF_ONE_MAP = {"ideal_error": "the largest error of one schedule"}


def _bounds_text(bounds: Sequence[ScopedBound], question: Question) -> str:
    """What the bounds of one claim say, in words."""
    lowers = [bound.value for bound in bounds if bound.side == "lower"]
    uppers = [bound.value for bound in bounds if bound.side == "upper"]
    text = _QUANTITIES[bounds[0].quantity]
    if any(b.side == "lower" and b.covers == "one_schedule" for b in bounds):
        # Other schedules may do better: nothing is said about the least error at a depth.
        text = _OF_ONE_MAP.get(bounds[0].quantity, text)
    if lowers:
        text += f" is at least {decimal_text(max(lowers), up=False)}"
    if uppers:
        joint = " and" if lowers else " is"
        text += f"{joint} at most {decimal_text(min(uppers), up=True)}"
    first, last = bounds[0].depths.first, bounds[0].depths.last
    if bounds[0].quantity not in ("relaxed_floor", "comparator_error"):
        text += f" at depth {first}" if first == last else f" at every depth from {first} on"
    where = "full domain" if bounds[0].domain == "full" else bounds[0].domain
    return f"{text}, {question.norm.kind} norm, on the {where}"


def _registers_text(entry: ScopedRegisters) -> str:
    """What checked registers say, in words."""
    first, last = entry.depths.first, entry.depths.last
    where = f"at depth {first}" if first == last else f"at every depth from {first} to {last}"
    carry = "; the carry is exact" if entry.exact_carry else ""
    return (
        f"no declared register overflows, whatever the schedule, {where}{carry}, on the witnesses"
    )


_CONSTANTS = {
    "field_bound": "field bound",
    "state_lipschitz": "state-Lipschitz constant",
    "growth_rate": "growth rate",
    "time_variation": "time variation",
    "difference_bound": "bound of the atoms' differences",
    "difference_lipschitz": "Lipschitz constant of the differences",
    "difference_variation": "time variation of the differences",
}


def _constants_text(constants: Sequence[ScopedConstants], question: Question) -> str:
    """What checked constants say, in words."""
    shown = [
        f"{words} at most {decimal_text(value, up=True)}"
        for entry in constants
        for name, words in _CONSTANTS.items()
        if (value := getattr(entry, name)) is not None
    ]
    if not shown:
        return "the operator norm of a matrix of the question is at most the claimed value"
    margins = [entry.margin for entry in constants if entry.margin is not None]
    room = f", with room {decimal_text(min(margins), up=False)} about every ideal state"
    where = f"on a tube{room}" if margins else "everywhere"
    return f"{', '.join(shown)}; {question.norm.kind} norm, {where}"


def check_file(path: Path, question: Path | None, arrays: Path | None) -> Report:
    """Check the file at ``path``: a bundle, or a claim with the question it is about."""
    data = read_file(path)
    if data[:2] == b"PK":
        if question is not None:
            raise InputError("a bundle holds its own question", remedy="Leave out --question.")
        return check_bundle(data)
    if question is None:
        raise InputError(
            f"{path.name} is not a bundle", remedy="A claim needs --question FILE to be checked."
        )
    body = read_file(question)
    if body[:2] == b"PK":
        bundle = read_bundle(body)
        return check_claim_file(data, read_question(bundle.question), bundle.arrays)
    return check_claim_file(data, read_question(body), _array_folder(arrays))


def _array_folder(folder: Path | None) -> dict[str, bytes]:
    if folder is None:
        return {}
    if not folder.is_dir():
        raise InputError(f"{folder} is not a folder of arrays")
    return {path.stem: read_file(path) for path in sorted(folder.glob("*.npy"))}


def read_file(path: Path) -> bytes:
    """The bytes of a file; raises ``InputError`` when it cannot be read."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from None


def render(report: Report) -> str:
    """The report for people."""
    lines = [f"accepted: {report.kind}", f"proposition: {report.proposition}"]
    if report.verdict is not None:
        lines.append(f"verdict: {report.verdict['verdict']} ({report.evidence})")
        lines.extend(f"not shown: {text}" for text in report.verdict["not_shown"])
    else:
        lines.append(f"evidence: {report.evidence}")
    lines.extend(f"note: {text}" for text in report.notes)
    lines.append("note: hashes show consistency, not authorship")
    return "\n".join(map(_printable, lines))


def _printable(text: str) -> str:
    """One line without control characters: a document's own texts must not forge a report."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m qreplace.check",
        description="Re-check a bundle, or a claim against its question, with exact arithmetic.",
        epilog="exit codes: 0 accepted, 4 rejected, 3 malformed or unreadable, 5 internal error",
    )
    parser.add_argument("file", type=Path, help="a bundle.zip or a claim .json")
    parser.add_argument("--question", type=Path, help="question.json, or a bundle that holds it")
    parser.add_argument("--arrays", type=Path, help="folder of <sha256>.npy for a bare question")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args(arguments)
    try:
        report = check_file(options.file, options.question, options.arrays)
    except QReplaceError as error:
        word = (
            "rejected"
            if error.exit_code == 4
            else "malformed"
            if error.exit_code == 3
            else "failed"
        )
        if options.json:
            print(json.dumps({"error": word, "reason": str(error)}))
        else:
            print(f"{word}: {_printable(str(error))}", file=sys.stderr)
        return error.exit_code
    except _FAULTS as error:
        traceback.print_exc()
        print(f"failed: {type(error).__name__}", file=sys.stderr)
        return 5
    text = json.dumps(report.document(), ensure_ascii=False) if options.json else render(report)
    try:
        print(text, flush=True)
    except BrokenPipeError:  # whoever read the first lines has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


if __name__ == "__main__":
    sys.exit(main())
