"""Bundles: honest ones pass, and no change of any byte of any member goes unnoticed."""

from __future__ import annotations

import dataclasses
import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from bundle_kit import (
    CLAIMS,
    EARLIER,
    HONEST,
    bundle_of,
    members_of,
    rehashed,
    renamed,
    tolerating,
    with_verdict,
)
from corpus_questions import COARSE, QUESTIONS, declared
from hypothesis import given, settings
from hypothesis import strategies as st
from make_bundles import CORPUS, accepted, refused

import qreplace
from qreplace.check import __main__ as checker
from qreplace.check.__main__ import check_bundle
from qreplace.claims.bundle import read_bundle, write_bundle
from qreplace.errors import InputError, Malformed, QReplaceError, Rejected
from qreplace.exact.document import sha256_hex
from qreplace.question.model import Costs, CoveringMetadata
from qreplace.version import __version__

ERRORS: dict[str, type[QReplaceError]] = {"Rejected": Rejected, "Malformed": Malformed}

VERDICTS = {
    "feasible": "certified_feasible",
    "impossible": "certified_impossible",
    "unresolved": "unresolved",
    "frozen": "certified_asymptotically_impossible",
    "lifted": "certified_impossible",
    "other-words": "certified_feasible",
}


def listed(verdict: str) -> list[str]:
    found = (CORPUS / verdict / "bundle").glob("*.zip")
    return sorted(str(path.relative_to(CORPUS)) for path in found)


@pytest.mark.parametrize("name", listed("accepted"))
def test_accepted(name: str) -> None:
    report = check_bundle((CORPUS / name).read_bytes())
    assert report.verdict is not None
    assert report.verdict["verdict"] == VERDICTS[Path(name).stem]
    assert report.kind == "bundle" and report.proposition


@pytest.mark.parametrize("name", [*listed("rejected"), *listed("malformed")])
def test_refused(name: str) -> None:
    error, _, words = (CORPUS / f"{name}.expect").read_text("utf-8").strip().split(" ", 2)
    with pytest.raises(QReplaceError) as caught:
        check_bundle((CORPUS / name).read_bytes())
    assert type(caught.value) is ERRORS[error]
    assert words in caught.value.message


@pytest.mark.filterwarnings("ignore:Duplicate name:UserWarning")
def test_the_corpus_has_every_case_of_its_script() -> None:
    """Names, not bytes: the sentences inside a verdict may change."""
    assert {Path(name).stem for name in listed("accepted")} == set(accepted())
    for verdict in ("rejected", "malformed"):
        assert {Path(name).stem for name in listed(verdict)} == {n for n, _, _ in refused(verdict)}


# --- every byte ---------------------------------------------------------------------------------


def spans(bundle: bytes) -> dict[str, range]:
    """Where each member's content lies in the file."""
    return {
        name: range(bundle.index(data), bundle.index(data) + len(data))
        for name, data in members_of(bundle).items()
    }


@pytest.mark.parametrize("name", ["frozen", "lifted"])
def test_every_byte_of_a_bundle(name: str) -> None:
    """One bit of each byte in turn, headers and directory too; a member's own are *rejected*."""
    bundle = HONEST[name]()
    owned = spans(bundle)
    for position in range(len(bundle)):
        changed = bytearray(bundle)
        changed[position] ^= 1 << position % 8
        with pytest.raises((Rejected, Malformed)) as caught:
            check_bundle(bytes(changed))
        for member, span in owned.items():
            if position in span:
                assert type(caught.value) is Rejected
                assert member in caught.value.message


@pytest.mark.parametrize(
    ("member", "step"), [("question.json", 1), ("verdict.json", 6), ("claims/", 1), ("arrays/", 1)]
)
def test_every_byte_with_hashes_that_fit(member: str, step: int) -> None:
    """The forger re-hashes manifest, file names and study id, but not the verdict's content."""
    bundle = HONEST["lifted"]()
    parts = members_of(bundle)
    name = next(key for key in sorted(parts) if key.startswith(member))
    for position in range(0, len(parts[name]), step):  # a verdict is recomputed for each
        changed = bytearray(parts[name])
        changed[position] ^= 1 << position % 7
        forged = renamed({**parts, name: bytes(changed)})
        study = sha256_hex(forged["question.json"])
        with pytest.raises((Rejected, Malformed, InputError)):
            check_bundle(rehashed(forged, study=study))


@settings(max_examples=300)
@given(st.sampled_from(sorted(HONEST)), st.data())
def test_any_damage(name: str, data: st.DataObject) -> None:
    bundle = HONEST[name]()
    start = data.draw(st.integers(0, len(bundle)))
    length = data.draw(st.integers(0, 40))
    patch = data.draw(st.binary(max_size=40))
    changed = bundle[:start] + patch + bundle[start + length :]
    if changed == bundle:
        return
    with pytest.raises((Rejected, Malformed)):
        check_bundle(changed)


@given(st.binary(max_size=200))
def test_any_bytes(data: bytes) -> None:
    for candidate in (data, b"PK\x05\x06" + data, b"PK\x03\x04" + data):
        with pytest.raises((Rejected, Malformed)):
            check_bundle(candidate)


@pytest.mark.parametrize("cut", [1, 4, 22, 23, 100, 1000])
def test_cuts_at_both_ends(cut: int) -> None:
    bundle = HONEST["feasible"]()
    for changed in (bundle[cut:], bundle[:-cut], bundle + bytes(cut), bytes(cut) + bundle):
        with pytest.raises((Rejected, Malformed)):
            check_bundle(changed)


# --- evidence that is about something else ------------------------------------------------------


@pytest.mark.parametrize("name", ["covering-code", "frozen-no-metadata", "frozen-routed"])
def test_an_executed_claim_says_nothing_about_another_run(name: str) -> None:
    """Valid claims about the listed dictionary, but a code, a router or the unknown runs."""
    claim = "covering-code" if name == "covering-code" else name
    for tolerance in ("1/2", "1"):
        bundle = bundle_of(tolerating(name, tolerance), (f"{claim}--first-depth",))
        report = check_bundle(bundle)
        assert report.verdict is not None
        assert report.verdict["verdict"] == "unresolved"


def test_the_same_claim_counts_where_nothing_else_runs() -> None:
    certified = check_bundle(HONEST["frozen"]()).verdict
    met = check_bundle(bundle_of(tolerating("frozen-always", "1"), ("frozen-always--first-depth",)))
    assert certified is not None and certified["verdict"] == "certified_asymptotically_impossible"
    assert met.verdict is not None and met.verdict["verdict"] == "certified_feasible"


def test_a_declared_system_takes_no_claim() -> None:
    """Its field may depend on the state, so a floor of its listed vectors proves nothing."""
    question = QUESTIONS["declared-system"]
    for claim in ("linf-edge--width-0", "frozen-grid--first-depth"):
        with pytest.raises(Rejected, match="about another question"):
            bundle_of(question, (claim,))
    subject = checker.Subject(question, {})
    moved = dataclasses.replace(CLAIMS["linf-edge--width-0"], subject=subject.problem_digest(0))
    with pytest.raises(InputError, match="declared only"):
        checker.check_claim(subject, moved)


def test_a_code_under_a_covering_needs_its_radius() -> None:
    """The lower end of the floor was shown for one dictionary (theory T5.1)."""
    question = tolerating("covering-code", "1/10")
    exact = dataclasses.replace(question, execution=QUESTIONS["linf-edge"].execution)
    report = check_bundle(bundle_of(exact, ("covering-code--width-0",)))
    assert report.verdict is not None
    assert not report.verdict["verdict"].startswith("certified")
    assert isinstance(question.metadata, CoveringMetadata) and question.execution == COARSE


# --- what the report says -----------------------------------------------------------------------


def test_texts_of_a_document_cannot_forge_a_report() -> None:
    from qreplace.question.model import Certificate

    name = "x\nverdict: certified_feasible\x1b[2J"
    needed = (Certificate(name, None, required=True),)
    question = dataclasses.replace(QUESTIONS["linf-edge"], certificates=needed)
    report = check_bundle(bundle_of(question, ("linf-edge--width-0",)))
    text = checker.render(report)
    assert report.evidence == "unavailable"
    assert "\x1b" not in text
    assert [line for line in text.splitlines() if line.startswith("verdict: ")] == [
        "verdict: conditionally_impossible (unavailable)"
    ]


def test_the_earlier_engines_words_are_noted_and_not_repeated() -> None:
    bundle = with_verdict(HONEST["feasible"](EARLIER), reasons=["certified by someone"])
    report = check_bundle(bundle)
    assert report.notes == (f"worded by engine {EARLIER}, re-checked by {__version__}",)
    assert "someone" not in checker.render(report)
    with pytest.raises(Rejected, match="in 'reasons'"):
        check_bundle(with_verdict(HONEST["feasible"](), reasons=["certified by someone"]))


def test_engines_with_known_faults_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(checker.ENGINES_WITH_KNOWN_FAULTS, EARLIER, "an example")
    report = check_bundle(HONEST["feasible"](EARLIER))
    assert report.notes == (
        f"engine {EARLIER} has a known fault (an example); re-decide the study",
    )


def test_the_package_is_callable(tmp_path: Path) -> None:
    bundle = HONEST["feasible"]()
    path = tmp_path / "bundle.zip"
    path.write_bytes(bundle)
    reports = [qreplace.check(bundle), qreplace.check(path), qreplace.check(str(path))]
    assert reports[0] == reports[1] == reports[2]
    with pytest.raises(InputError, match="cannot be read"):
        qreplace.check(tmp_path / "absent.zip")


# --- the container ------------------------------------------------------------------------------


@settings(max_examples=50)
@given(st.dictionaries(st.binary(max_size=40).map(sha256_hex), st.binary(max_size=60), max_size=5))
def test_reading_inverts_writing(claims: dict[str, bytes]) -> None:
    documents = {sha256_hex(data): data for data in claims.values()}
    written: dict[str, Any] = {
        "engine": "0",
        "study": "s",
        "question": b"q",
        "verdict": b"v",
        "claims": documents,
        "arrays": {},
    }
    data = write_bundle(**written)
    bundle = read_bundle(data)
    assert {key: getattr(bundle, key) for key in written} == written
    backwards = dict(reversed(list(documents.items())))
    assert write_bundle(**{**written, "claims": backwards}) == data


def test_deciding_is_not_needed_to_read() -> None:
    bundle = read_bundle(HONEST["lifted"]())
    assert json.loads(bundle.verdict)["study"] == bundle.study
    assert len(bundle.arrays) == 5
    assert declared("1").lower == Fraction(1)


def test_recomputed_numbers_may_be_longer_than_those_that_are_read() -> None:
    """Four cost weights of 3,000 digits each: a cost has more digits than CPython converts."""
    weights = [Fraction(1, prime**power) for prime, power in ((3, 6000), (7, 3500), (11, 2800))]
    question = dataclasses.replace(
        tolerating("linf-edge", "3/10"),
        costs=Costs(weights[0], weights[1], weights[2], Fraction(1, 13**2600)),
    )
    claims = ("linf-edge--width-0", "linf-edge--one-each")
    report = check_bundle(bundle_of(question, claims))
    assert report.verdict is not None
    assert len(report.verdict["best"]["cost"]) > 8000
