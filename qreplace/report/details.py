"""Below the first screen: depths, radii, premises, plan, obstruction and claims, ready to show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from qreplace.claims import claim_digest
from qreplace.decision.plan import CLAIMED_ORDER
from qreplace.decision.words import NOT_SHOWN_BY_KIND
from qreplace.report.attempts import AttemptRow, attempt_rows
from qreplace.report.claim_words import about
from qreplace.report.context import ReportContext
from qreplace.report.decimals import Number, at_least, at_most, end
from qreplace.report.ledger import LedgerRow, ledger_rows
from qreplace.report.obstruction import Obstruction, obstruction
from qreplace.report.premises import DeclaredPremise, declared_premise
from qreplace.report.references import Reference, references
from qreplace.report.resolution import (
    ChangeRow,
    QuestionRow,
    change_rows,
    family_lines,
    question_rows,
)
from qreplace.report.summary import Candidate, candidate
from qreplace.report.text import one_line, sentence
from qreplace.report.words import CLAIMS, VERDICTS, VerdictWords, in_words


@dataclass(frozen=True, slots=True)
class DepthRow:
    """One reported depth."""

    candidate: Candidate
    words: VerdictWords
    best: bool


@dataclass(frozen=True, slots=True)
class RadiusRow:
    """A radius at the best candidate; ``value`` is ``None`` where it says nothing."""

    name: str
    value: Number | None
    formula: str
    evidence: str
    used: bool


@dataclass(frozen=True, slots=True)
class AtomRow:
    """An atom of the plan, with the author's name and recipe."""

    index: int
    name: str
    recipe: str
    uses: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Plan:
    """What to run."""

    depth: int
    metadata_bits: int
    error: Number
    weights: tuple[Number, ...]
    counts: tuple[int, ...]
    schedule: str
    """Empty for a long one."""
    order: str
    claimed: bool
    """The order is that of a claim, which holds it in full."""
    atoms: tuple[AtomRow, ...]


@dataclass(frozen=True, slots=True)
class ClaimRow:
    """A checked claim."""

    about: str
    lower: Number | None
    upper: Number | None
    evidence: str
    sha256: str


@dataclass(frozen=True, slots=True)
class ClaimGroup:
    """The checked claims of one kind, and what that kind does not show."""

    kind: str
    words: str
    not_shown: str
    rows: tuple[ClaimRow, ...]


@dataclass(frozen=True, slots=True)
class Details:
    """Everything below the first screen."""

    rows: tuple[DepthRow, ...]
    frontier: tuple[Candidate, ...]
    radii: tuple[RadiusRow, ...]
    premises: tuple[DeclaredPremise, ...]
    plan: Plan | None
    obstruction: Obstruction | None
    claims: tuple[ClaimGroup, ...]
    claim_count: int
    ledger: tuple[LedgerRow, ...]
    """What a bracket on a net of inputs loses, step by step; mostly empty."""
    attempts: tuple[AttemptRow, ...]
    questions: tuple[QuestionRow, ...]
    changes: tuple[ChangeRow, ...]
    family: tuple[str, ...]
    """What counting says of the family as a whole."""
    references: tuple[Reference, ...]
    notes: str
    target: str
    architecture: str
    checkpoint: str
    source_name: str


def detail(document: Mapping[str, Any], context: ReportContext) -> Details:
    """The details of a decision document."""
    labels = context.labels
    rows = _rows(document)
    return Details(
        rows=rows,
        frontier=_frontier(document, rows),
        radii=_radii(document),
        premises=tuple(declared_premise(name, context) for name in document["declared"]),
        plan=_plan(document["plan"]) if document["plan"] else None,
        obstruction=obstruction(document, context),
        claims=_claims(document, context),
        claim_count=len(document["claims"]),
        ledger=ledger_rows(context),
        attempts=attempt_rows(context.attempts),
        questions=question_rows(context),
        changes=change_rows(context),
        family=family_lines(context),
        references=references(document, context.claims, context.attempts),
        notes=one_line(labels.notes),
        target=one_line(labels.target),
        architecture=one_line(labels.architecture),
        checkpoint=one_line(labels.checkpoint),
        source_name=one_line(context.source_name),
    )


def _rows(document: Mapping[str, Any]) -> tuple[DepthRow, ...]:
    best = document["best"]
    chosen = (best["depth"], best["metadata_bits"]) if best else None
    return tuple(
        DepthRow(
            candidate(row),
            VERDICTS[row["verdict"]],
            (row["depth"], row["metadata_bits"]) == chosen,
        )
        for row in document["depths"]
    )


def _frontier(document: Mapping[str, Any], rows: Sequence[DepthRow]) -> tuple[Candidate, ...]:
    by_place = {(row.candidate.depth, row.candidate.metadata_bits): row for row in rows}
    places = [(point["depth"], point["metadata_bits"]) for point in document["frontier"]]
    return tuple(by_place[place].candidate for place in places)


def _radii(document: Mapping[str, Any]) -> tuple[RadiusRow, ...]:
    radii = document["best"]["radii"] if document["best"] else {}
    rows = [
        RadiusRow(
            name=in_words(name.split(":")[0]),
            value=end(radius["value"], up=True),
            formula=one_line(radius["formula"]),
            evidence=radius["evidence"],
            used=bool(radius["used"]),
        )
        for name, radius in radii.items()
    ]
    return tuple(sorted(rows, key=lambda row: not row.used))


# --- the plan -------------------------------------------------------------------------------------


def _plan(plan: Mapping[str, Any]) -> Plan:
    schedule = plan["schedule"]
    return Plan(
        depth=plan["depth"],
        metadata_bits=plan["metadata_bits"],
        error=at_most(plan["error"]),
        weights=tuple(at_least(weight) for weight in plan["weights"] or ()),
        counts=tuple(plan["counts"]),
        schedule=runs(schedule) if schedule is not None else "",
        order=one_line(plan["order"]),
        claimed=plan["order"] == CLAIMED_ORDER,
        atoms=tuple(
            AtomRow(
                index=atom["index"],
                name=one_line(atom.get("name", "")),
                recipe=one_line(atom.get("recipe", "")),
                uses=atom["uses"],
                sha256=atom["sha256"],
            )
            for atom in plan["atoms"]
        ),
    )


def runs(schedule: Sequence[int]) -> str:
    """A schedule as atom indices in order, repetitions as ``14×3``."""
    pieces: list[str] = []
    position = 0
    while position < len(schedule):
        stop = position
        while stop < len(schedule) and schedule[stop] == schedule[position]:
            stop += 1
        length = stop - position
        pieces.append(f"{schedule[position]}" if length == 1 else f"{schedule[position]}×{length}")
        position = stop
    return " ".join(pieces)


# --- the claims -----------------------------------------------------------------------------------


def _claims(document: Mapping[str, Any], context: ReportContext) -> tuple[ClaimGroup, ...]:
    known = {claim_digest(claim): claim for claim in context.claims}
    groups: dict[str, list[tuple[int, ClaimRow]]] = {}
    for entry in document["claims"]:
        order, words = about(known.get(entry["sha256"]), context)
        row = ClaimRow(
            about=words,
            lower=end(entry["lower"], up=False),
            upper=end(entry["upper"], up=True),
            evidence=entry["evidence"],
            sha256=entry["sha256"],
        )
        groups.setdefault(entry["kind"], []).append((order, row))
    first = {kind: place for place, kind in enumerate(CLAIMS)}
    kinds = sorted(groups, key=lambda kind: (first.get(kind, len(first)), kind))
    return tuple(
        ClaimGroup(
            kind=kind,
            words=CLAIMS.get(kind, in_words(kind)),
            not_shown=_kind_not_shown(kind),
            rows=tuple(row for _, row in sorted(groups[kind], key=lambda pair: pair[0])),
        )
        for kind in kinds
    )


def _kind_not_shown(kind: str) -> str:
    text = NOT_SHOWN_BY_KIND.get(kind, "")
    return sentence(text.removeprefix(f"{kind}:")) if text else ""
