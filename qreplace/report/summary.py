"""The first screen: verdict, domain, reason, weakest premise, what is declared and not shown.

HTML, Markdown and the terminal all show this one summary, so none of them can say more or less.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from qreplace.claims import claim_digest
from qreplace.question.model import BlockL2Norm, NoMetadata, Question, VectorTarget
from qreplace.report.claim_words import at_single_depth
from qreplace.report.context import ReportContext
from qreplace.report.decimals import Number, at_least, at_most, end
from qreplace.report.premises import premise_words
from qreplace.report.text import capitalised, counted, listed, one_line, sentence
from qreplace.report.words import (
    DOMAINS,
    ENDS,
    EVIDENCE,
    NORMS,
    OBJECTIVES,
    SCOPES,
    STANDINGS,
    THRESHOLDS,
    VERDICTS,
    VerdictWords,
    full_not_shown,
    in_words,
    short_not_shown,
)


@dataclass(frozen=True, slots=True)
class Interval:
    """Two ends; a missing upper end means that none is known."""

    lower: Number
    upper: Number | None

    @property
    def width_zero(self) -> bool:
        """Both ends are the same exact number."""
        return self.upper is not None and self.lower.value == self.upper.value

    def __str__(self) -> str:
        if self.upper is None:
            return f"at least {self.lower}"
        if self.lower.text == self.upper.text:
            return self.lower.text
        return f"{self.lower} to {self.upper}"


@dataclass(frozen=True, slots=True)
class Candidate:
    """A depth with its metadata, cost and error interval."""

    depth: int
    metadata_bits: int
    cost: Number
    error: Interval


@dataclass(frozen=True, slots=True)
class Summary:
    """What a reader of the first screen knows."""

    title: str
    verdict: str
    words: VerdictWords
    standing: str
    answer: str
    domain: str
    why: tuple[str, ...]
    threshold_name: str
    threshold: Interval
    strict: bool
    measured: str
    """The norm and where the error is taken."""
    floor: Interval | None
    floor_checked: bool
    best: Candidate | None
    minimal: bool
    closest: Candidate | None
    """Without a best candidate: the row with the smallest upper end."""
    has_metadata: bool
    weakest: str
    declared: tuple[str, ...]
    asked: tuple[str, ...]
    not_shown_short: tuple[str, ...]
    not_shown: tuple[str, ...]
    study: str
    bundle_sha256: str
    engine: str


def summarise(document: Mapping[str, Any], context: ReportContext) -> Summary:
    """The first screen of a decision document."""
    question = context.question
    words = VERDICTS[document["verdict"]]
    threshold = interval(document["tolerance"]["lo"], document["tolerance"]["hi"])
    best = candidate(document["best"]) if document["best"] else None
    not_shown = [sentence(full_not_shown(one_line(text))) for text in document["not_shown"]]
    bracket = document["bracket"]
    return Summary(
        title=study_title(document, context),
        verdict=document["verdict"],
        words=words,
        standing=STANDINGS[words.standing],
        answer=_answer(document, question, best, threshold),
        domain=_domain(document["domain"], question),
        why=tuple(sentence(one_line(reason)) for reason in document["reasons"]),
        threshold_name=THRESHOLDS[question.objective.kind],
        threshold=threshold,
        strict=question.objective.kind == "behavioural",
        measured=f"{_norm(question)}, {SCOPES[question.scope]}",
        floor=interval(bracket["lower"], bracket["upper"]) if bracket else None,
        floor_checked=floor_checked(document, context),
        best=best,
        minimal=bool(document["minimal"]),
        closest=None if best else _closest(document),
        has_metadata=not isinstance(question.metadata, NoMetadata),
        weakest=weakest_words(one_line(document["weakest"])),
        declared=tuple(premise_words(name) for name in document["declared"]),
        asked=tuple(one_line(text) for text in document["asked"]),
        not_shown_short=tuple(
            short_not_shown(one_line(text)) for text in _general_first(document["not_shown"])
        ),
        not_shown=tuple(not_shown),
        study=document["study"],
        bundle_sha256=document["bundle_sha256"],
        engine=document["engine"],
    )


def study_title(document: Mapping[str, Any], context: ReportContext) -> str:
    """The study's title; else the file's name; else the start of its identifier."""
    for text in (context.title, context.source_name):
        if text.strip():
            return one_line(text)
    return f"study {document['study'][:12]}"


def interval(lower: str, upper: str | None) -> Interval:
    """An interval of a document, its decimals rounded outward."""
    return Interval(at_least(lower), end(upper, up=True))


def candidate(row: Mapping[str, Any]) -> Candidate:
    """A depth row, or the best candidate."""
    ends = row["interval"]
    return Candidate(
        row["depth"],
        row["metadata_bits"],
        at_most(row["cost"]),
        interval(ends["lower"], ends["upper"]),
    )


def _closest(document: Mapping[str, Any]) -> Candidate | None:
    bounded = [row for row in document["depths"] if row["interval"]["upper"] is not None]
    if not bounded:
        return None
    return candidate(min(bounded, key=lambda row: Fraction(row["interval"]["upper"])))


def floor_checked(document: Mapping[str, Any], context: ReportContext) -> bool:
    """Whether an end of the bracket is that of a checked claim about the floor.

    A claim about one schedule or one depth is not, even where its end is the same number.
    """
    bracket = document["bracket"]
    if not bracket:
        return False
    known = {claim_digest(claim): claim for claim in context.claims}
    return any(
        bracket[side] is not None and entry[side] == bracket[side]
        for entry in document["claims"]
        if entry["kind"] not in _NEVER_ABOUT_THE_FLOOR
        and not at_single_depth(known.get(entry["sha256"]))
        for side in ("lower", "upper")
    )


_NEVER_ABOUT_THE_FLOOR = ("schedule_error", "frozen", "lattice", "exposed_channel")
"""Kinds that are known not to be, should the claims themselves not be at hand."""


# --- sentences ------------------------------------------------------------------------------------


def _answer(
    document: Mapping[str, Any], question: Question, best: Candidate | None, threshold: Interval
) -> str:
    """The verdict as one sentence about the question that was asked."""
    verdict, start = document["verdict"], document["impossible_from"]
    what = OBJECTIVES[question.objective.kind]
    if verdict == "unresolved":
        return f"It is open whether the low-bit steps can {what}."
    premise = "If everything declared holds, " if verdict.startswith("conditionally") else ""
    if best is not None:
        steps = counted(best.depth, "step")
        verb = "is" if best.depth == 1 else "are"
        bits = (
            ""
            if isinstance(question.metadata, NoMetadata)
            else (f" with {counted(best.metadata_bits, 'metadata bit')}")
        )
        text = f"{steps}{bits} {verb} enough: the error is at most {best.error.upper}"
        text += f", and {threshold.lower} is allowed."
        return premise + text if premise else text
    allowed = f"the error exceeds the {threshold.upper} that is allowed"
    if start == 1:
        text = f"however many steps are taken, {allowed}."
    elif verdict == "certified_asymptotically_impossible":
        text = f"from depth {start:,} on, {allowed}, at every depth."
    else:
        text = f"at every depth of the declared search, {allowed}."
    return premise + text if premise else capitalised(text)


_END = re.compile(r"(\w+) (lower|upper) end \((\w+)\)")
_RADIUS = re.compile(r"(\w+): ([\w, ]+) \((\w+)\)")


def weakest_words(text: str) -> str:
    """The weakest premise in words; texts of another form only lose their underscores."""
    end_of = _END.fullmatch(text)
    if end_of and end_of[1] in ENDS and end_of[3] in EVIDENCE:
        return f"{end_of[2]} end of {ENDS[end_of[1]]} ({EVIDENCE[end_of[3]]})"
    radius = _RADIUS.fullmatch(text)
    if radius and radius[3] in EVIDENCE:
        names = [premise_words(name) for name in radius[2].split(", ")]
        named = listed(names) if len(names) <= 2 else f"{len(names)} of the declared premises"
        return f"the {radius[1]} radius, which rests on {named} ({EVIDENCE[radius[3]]})"
    return in_words(text)


def _domain(domain: str, question: Question) -> str:
    inputs = question.domain.inputs
    linear = not isinstance(question.target, VectorTarget)
    if domain == "witnesses" and inputs is not None and linear and len(inputs.shape) == 2:
        count = inputs.shape[0]
        return f"the {counted(count, 'named witness input')} only, not every input"
    if domain == "witnesses":
        return f"{DOMAINS[domain]}, not every input"
    return DOMAINS[domain]


def _norm(question: Question) -> str:
    text = NORMS[question.norm.kind]
    if isinstance(question.norm, BlockL2Norm):
        text = text.replace("a block (", f"a block of {question.norm.block:,} coordinates (")
    return text


def _general_first(texts: list[str]) -> list[str]:
    """Limits of the study before those of single claims, which name the claim's kind."""
    general = ("domain", "execution", "impossibility", "feasibility", "costs")
    return sorted(texts, key=lambda text: not text.startswith(general))


# --- sentences that several formats share ---------------------------------------------------------


def threshold_text(summary: Summary) -> str:
    """What the error is compared with."""
    less = "below " if summary.strict else ""
    return f"{less}{summary.threshold}"


def floor_text(summary: Summary) -> str:
    """The structural floor, and how it is known."""
    if summary.floor is None:
        return "not known"
    how = "checked" if summary.floor_checked else "declared, not checked"
    if summary.floor.width_zero and summary.floor_checked:
        how = "checked; both ends are one exact number"
    return f"{summary.floor} ({how})"


def best_text(summary: Summary) -> str:
    """The best candidate, or the closest one."""
    if summary.best is not None:
        found = summary.best
        bits = f", {counted(found.metadata_bits, 'metadata bit')}" if summary.has_metadata else ""
        least = (
            "every smaller depth is certified impossible"
            if summary.minimal
            else "a smaller depth is not excluded"
        )
        if found.depth == 1:
            least = "the smallest depth there is"
        return f"depth {found.depth:,}{bits}: error {found.error}, cost {found.cost} ({least})"
    if summary.closest is None:
        return "none; no upper end is known at any depth"
    near = summary.closest
    return f"none; the smallest error shown is {near.error.upper}, at depth {near.depth:,}"


def declared_text(summary: Summary) -> str:
    """What was declared rather than proved."""
    if summary.declared:
        return listed(list(summary.declared))
    if summary.words.standing == "certified":
        return "nothing; every number used was checked or recomputed here"
    return "nothing"


def asked_text(summary: Summary) -> str:
    """Explicit ``none`` and ``exact``: part of the question."""
    return listed(list(summary.asked)) if summary.asked else "nothing is left out by declaration"


def not_shown_text(summary: Summary) -> str:
    """What is not shown, in a few words each."""
    return "; ".join(dict.fromkeys(summary.not_shown_short))
