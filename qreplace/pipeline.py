"""spec -> question and premises -> claims -> checked bounds -> radii -> decision -> bundle.

Reads like the theorem: the floor is bracketed by claims that are produced by untrusted solvers and
checked exactly (T7), finite depth adds schedules (T7.13) and radii (T3-T6), the decision compares
the unfavourable ends with the tolerance (T11).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any

from qreplace.check.__main__ import check_claims, stored_arrays, verdict_document
from qreplace.check.bounds import ScopedBound
from qreplace.check.frozen import frozen_step_rule
from qreplace.claims import Claim, claim_bytes
from qreplace.claims.affine_lp import AffineLPClaim
from qreplace.claims.bundle import write_bundle
from qreplace.decision.grid import count, every_depth, thinned
from qreplace.errors import ProducerFailed, Rejected
from qreplace.exact.document import canonical_bytes, sha256_hex
from qreplace.question.model import ComputedFloor, LiftedAffineSystem, QuantizedExecution
from qreplace.question.subject import Subject
from qreplace.report import ReportContext
from qreplace.report.companions import with_companions
from qreplace.spec import LoadedSpec, load_spec
from qreplace.version import __version__

MAX_SCHEDULE_DEPTHS = 96
"""Schedules are searched at every grid depth up to this many, else at a spread of them."""
MAX_SCHEDULE_STEPS = 4096
"""Beyond this depth the closed-form radius P_D is already small and no schedule is searched."""

Progress = Callable[[str, int, int], None]
"""Called with a stage's name, the steps done and the steps in all."""


@dataclass(frozen=True)
class Study:
    """A decided question: verdict document, checked claims and the re-checkable bundle."""

    spec: LoadedSpec
    decision: dict[str, Any]
    claims: tuple[Claim, ...]
    bundle: bytes

    @property
    def id(self) -> str:
        """The study id: SHA-256 of the canonical question."""
        return str(self.decision["study"])

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
        if document["plan"] is not None:
            document["plan"] = self._labelled_plan(document["plan"])
        companions: dict[str, Any] = with_companions(document)
        return companions

    def report_context(self) -> ReportContext:
        """What the reports need beside ``document()``."""
        labels = self.spec.labels
        return ReportContext(
            title=labels.title,
            question=self.spec.question,
            labels=labels,
            source_name=self.spec.name,
            claims=self.claims,
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


def decide(spec: str | Path | LoadedSpec, *, progress: Progress | None = None) -> Study:
    """Decide a specification, given as a path or already loaded.

    Raises ``SpecError`` or ``InputError`` for a specification that cannot be read, ``Rejected``
    for an attached claim that does not hold.
    """
    loaded = spec if isinstance(spec, LoadedSpec) else load_spec(spec)
    subject = Subject(loaded.question, loaded.arrays)
    claims, bounds = certify(loaded, subject, progress=progress)
    verdict = verdict_document(subject, claims, bounds)
    return Study(loaded, verdict, tuple(claims), _bundle(loaded, claims, verdict))


def certify(
    loaded: LoadedSpec, subject: Subject, *, progress: Progress | None = None
) -> tuple[list[Claim], list[ScopedBound]]:
    """Produce what the specification requests, add what it attaches, and check everything."""
    documents = dict(loaded.certificates)
    for claim in _produced(subject, progress or _silent):
        data = claim_bytes(claim)
        documents[sha256_hex(data)] = data
    try:
        return check_claims(subject, [documents[digest] for digest in sorted(documents)])
    except Rejected as error:
        raise Rejected(f"a claim was rejected: {error.message}", pointer=error.pointer) from None


def _produced(subject: Subject, progress: Progress) -> list[Claim]:
    question = subject.question
    if not isinstance(question.floor, ComputedFloor) or not isinstance(
        question.system, LiftedAffineSystem
    ):
        return []
    claims: list[Claim] = []
    for bits in sorted(question.codes) or list(question.search.metadata_bits[:1]):
        claims.extend(_claims_at(subject, bits, progress))
    return claims


def _claims_at(subject: Subject, bits: int, progress: Progress) -> list[Claim]:
    """The floor's bracket, schedules at searched depths, and freezing where it applies."""
    from qreplace.produce.affine_lp import produce as produce_bracket

    progress("floor", 0, 1)
    try:
        floor = produce_bracket(subject, bits)
    except ProducerFailed:
        return []
    progress("floor", 1, 1)
    return [floor, *_schedules(subject, bits, floor, progress), *_frozen(subject, bits)]


def _schedules(
    subject: Subject, bits: int, floor: AffineLPClaim, progress: Progress
) -> list[Claim]:
    from qreplace.produce.schedule_error import ScheduleProducer
    from qreplace.produce.threads import single_threaded

    weights = [Fraction(0)] * len(subject.lifted(bits).atoms)
    for index, number in zip(floor.primal.indices, floor.primal.numerators, strict=True):
        weights[index] = number / floor.primal.denominator
    producer = ScheduleProducer(subject, bits, weights)
    depths = schedule_depths(subject)
    claims: list[Claim] = []
    with single_threaded():
        for done, depth in enumerate(depths):
            progress("schedules", done, len(depths))
            claims.append(producer.produce(depth))
    progress("schedules", len(depths), len(depths))
    return claims


def schedule_depths(subject: Subject) -> list[int]:
    """Where schedules are searched: the grid's depths, or a spread of them."""
    grid = subject.question.search.depths
    few = count(grid) <= MAX_SCHEDULE_DEPTHS
    depths = list(every_depth(grid)) if few else thinned(grid, [], MAX_SCHEDULE_DEPTHS)
    return [depth for depth in depths if depth <= MAX_SCHEDULE_STEPS]


def _frozen(subject: Subject, bits: int) -> list[Claim]:
    from qreplace.produce.frozen import produce as produce_frozen

    if not isinstance(subject.question.execution, QuantizedExecution):
        return []
    try:
        step = frozen_step_rule(subject)
    except Rejected:
        return []
    claim = produce_frozen(subject, bits, step)
    return [] if claim is None else [claim]


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
