"""spec -> question and premises -> claims -> checked bounds -> radii -> decision -> bundle.

Reads like the theorem: the floor is bracketed by claims that are produced by untrusted solvers and
checked exactly (T7), finite depth adds schedules (T7.13) and radii (T3-T6), the decision compares
the unfavourable ends with the tolerance (T11).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from qreplace.check.__main__ import stored_arrays, verdict_document
from qreplace.check.bounds import Checked
from qreplace.check.registry import check_claim
from qreplace.claims import Claim, claim_bytes, read_claim
from qreplace.claims.bundle import write_bundle
from qreplace.decision.questions import five_questions
from qreplace.decision.what_if import what_if
from qreplace.errors import Rejected
from qreplace.exact.document import canonical_bytes, sha256_hex
from qreplace.exact.rational import format_rational
from qreplace.pipeline.attempts import attempt_budget, produce_claims
from qreplace.pipeline.lifted import Progress
from qreplace.question.subject import Subject
from qreplace.report import ReportContext
from qreplace.report.companions import with_companions
from qreplace.report.context import Attempt
from qreplace.spec import FloorBudget, LoadedSpec, load_spec
from qreplace.version import __version__

__all__ = ["Certification", "Progress", "Study", "certify", "decide"]


@dataclass(frozen=True)
class Study:
    """A decided question: verdict document, checked claims and the re-checkable bundle."""

    spec: LoadedSpec
    decision: dict[str, Any]
    claims: tuple[Claim, ...]
    bundle: bytes
    attempts: tuple[Attempt, ...] = ()
    """What was tried to bracket the floor; not part of the bundle: it tells of the clock."""
    bounds: tuple[Checked, ...] = ()
    """What the checkers returned for the claims."""

    @property
    def id(self) -> str:
        """The study id: SHA-256 of the canonical question."""
        return str(self.decision["study"])

    @property
    def complete(self) -> bool:
        """Whether no budget cut an attempt short; an answer that one did is not for caching."""
        return not self.cut_short

    @property
    def cut_short(self) -> list[Attempt]:
        """The attempts that a budget ended."""
        return [attempt for attempt in self.attempts if attempt.outcome == "stopped"]

    @property
    def verdict(self) -> str:
        """One of the verdicts of ``design.md``."""
        return str(self.decision["verdict"])

    @cached_property
    def bundle_sha256(self) -> str:
        """SHA-256 of the bundle: with the engine version, the name of this answer."""
        return sha256_hex(self.bundle)

    def document(self) -> dict[str, Any]:
        """What ``decide --json`` prints: exact strings, each with a decimal companion."""
        document = {k: v for k, v in self.decision.items() if k != "format"}
        document["bundle_sha256"] = self.bundle_sha256
        document["engine"] = __version__
        document["reasons"] = [*document["reasons"], *map(_cut_short, self.cut_short)]
        document["attempts"] = [_attempt_document(attempt) for attempt in self.attempts]
        if document["plan"] is not None:
            document["plan"] = self._labelled_plan(document["plan"])
        companions: dict[str, Any] = with_companions(document)
        return companions

    def report_context(self) -> ReportContext:
        """What the reports need beside ``document()``."""
        labels = self.spec.labels
        subject = Subject(self.spec.question, self.spec.arrays)
        return ReportContext(
            title=labels.title,
            question=self.spec.question,
            labels=labels,
            source_name=self.spec.name,
            claims=self.claims,
            arrays=self.spec.arrays,
            attempts=self.attempts,
            questions=five_questions(subject, self.bounds),
            changes=what_if(subject, self.bounds),
        )

    def _labelled_plan(self, plan: dict[str, Any]) -> dict[str, Any]:
        """The plan with the names and recipes that the specification gives its atoms."""
        labels = self.spec.labels
        atoms = labels.code_atoms.get(plan["metadata_bits"], labels.atoms)
        named = []
        for atom in plan["atoms"]:
            label = atoms[atom["index"]] if atom["index"] < len(atoms) else None
            name, recipe = (label.name, label.recipe) if label is not None else ("", "")
            named.append({**atom, "name": name, "recipe": recipe})
        return {**plan, "atoms": named}


def decide(
    spec: str | Path | LoadedSpec,
    *,
    progress: Progress | None = None,
    ceiling: FloorBudget | None = None,
) -> Study:
    """Decide a specification, given as a path or already loaded.

    ``ceiling`` is the most that one attempt at a floor may use, whatever the specification asks.
    Raises ``SpecError`` or ``InputError`` for a specification that cannot be read, ``Rejected``
    for an attached claim that does not hold.
    """
    loaded = spec if isinstance(spec, LoadedSpec) else load_spec(spec)
    subject = Subject(loaded.question, loaded.arrays)
    checked = certify(loaded, subject, progress=progress, ceiling=ceiling)
    verdict = verdict_document(subject, checked.claims, checked.bounds)
    bundle = _bundle(loaded, checked.claims, verdict)
    return Study(loaded, verdict, checked.claims, bundle, checked.attempts, checked.bounds)


@dataclass(frozen=True)
class Certification:
    """Checked claims in the order of their digests, what they prove, and what was tried."""

    claims: tuple[Claim, ...]
    bounds: tuple[Checked, ...]
    attempts: tuple[Attempt, ...]


def certify(
    loaded: LoadedSpec,
    subject: Subject,
    *,
    progress: Progress | None = None,
    ceiling: FloorBudget | None = None,
) -> Certification:
    """Produce what the specification requests, add what it attaches, and check everything."""
    budget = attempt_budget(loaded.budget, ceiling)
    produced = produce_claims(subject, budget, progress or _silent)
    claims = dict(produced.claims)
    proved = dict(produced.proved)
    for digest, data in loaded.certificates.items():
        if digest in claims:
            continue
        try:
            claims[digest] = read_claim(data)
            proved[digest] = check_claim(subject, claims[digest])
        except Rejected as error:
            message = f"a claim was rejected: {error.message}"
            raise Rejected(message, pointer=error.pointer) from None
    order = sorted(claims)
    return Certification(
        claims=tuple(claims[digest] for digest in order),
        bounds=tuple(bound for digest in order for bound in proved[digest]),
        attempts=tuple(produced.attempts),
    )


def _bundle(loaded: LoadedSpec, claims: Sequence[Claim], verdict: dict[str, Any]) -> bytes:
    question = loaded.question
    named = stored_arrays(question) if loaded.arrays else ()
    arrays = {digest: loaded.arrays[digest] for digest in named}
    documents = {sha256_hex(claim_bytes(claim)): claim_bytes(claim) for claim in claims}
    return write_bundle(
        engine=__version__,
        study=question.study_id,
        question=question.to_bytes(),
        verdict=canonical_bytes(verdict),
        claims=documents,
        arrays=arrays,
    )


def _silent(stage: str, done: int, total: int) -> None:
    """No progress wanted."""


def _cut_short(attempt: Attempt) -> str:
    """Beside the decision's own reasons: more time or memory might say more."""
    return f"the attempt {attempt.engine} was cut short: {attempt.detail}"


def _attempt_document(attempt: Attempt) -> dict[str, Any]:
    """An attempt as ``decide --json`` prints it; its seconds differ each time, so reports only."""
    return {
        "engine": attempt.engine,
        "metadata_bits": attempt.metadata_bits,
        "outcome": attempt.outcome,
        "detail": attempt.detail,
        "lower": None if attempt.lower is None else format_rational(attempt.lower),
        "upper": None if attempt.upper is None else format_rational(attempt.upper),
        "claims": attempt.claims,
    }
