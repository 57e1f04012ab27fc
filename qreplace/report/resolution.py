"""The five questions of QR 11 and what would decide an open study, as rows ready to show."""

from __future__ import annotations

from dataclasses import dataclass

from qreplace.decision.family import family_findings
from qreplace.decision.questions import ASKED, Answer, Standing
from qreplace.decision.what_if import Change
from qreplace.exact.rational import decimal_text
from qreplace.report.context import ReportContext
from qreplace.report.premises import place_words
from qreplace.report.text import capitalised, counted
from qreplace.report.words import EVIDENCE

MAX_BUDGETS = 8
"""Metadata budgets of which a report says what they mean for the family."""

STANDINGS: dict[Standing, str] = {
    "yes": "yes",
    "no": "no",
    "open": "open",
    "not_asked": "not asked",
}


@dataclass(frozen=True, slots=True)
class QuestionRow:
    """One of the five questions with its answer, and what the number in it rests on."""

    name: str
    asked: str
    standing: str
    text: str
    label: str


@dataclass(frozen=True, slots=True)
class ChangeRow:
    """One change that would decide the study."""

    what: str
    now: str
    needed: str
    then: str


def question_rows(context: ReportContext) -> tuple[QuestionRow, ...]:
    """The five questions in order; empty where the context has none."""
    return tuple(
        QuestionRow(
            name=capitalised(answer.name),
            asked=ASKED[answer.name],
            standing=STANDINGS[answer.standing],
            text=capitalised(answer.text),
            label=_label(answer),
        )
        for answer in context.questions
    )


def _label(answer: Answer) -> str:
    if answer.evidence is None:
        return ""
    how = "declared" if answer.declared else "checked"
    return f"{how}, {EVIDENCE[answer.evidence.value]}"


def change_rows(context: ReportContext) -> tuple[ChangeRow, ...]:
    """The changes that would decide an unresolved study, those that say yes first."""
    ordered = sorted(context.changes, key=lambda change: change.resolved_to != "feasible")
    return tuple(
        ChangeRow(
            what=place_words(change.name),
            now=decimal_text(change.now, up=True),
            needed=_needed(change),
            then=_then(change),
        )
        for change in ordered
    )


def family_lines(context: ReportContext) -> tuple[str, ...]:
    """What counting says of the family as a whole, in sentences; empty where nothing is asked."""
    found = family_findings(context.question)
    if not found:
        return ()
    label = EVIDENCE[found[0].evidence.value]
    lines = [
        f"This family, not this target: it is declared to hold {found[0].targets:,} targets that "
        f"are pairwise more than twice the tolerance apart ({label}), and 2^s J^D configurations "
        "serve at most as many (T5.2)."
    ]
    for one in found[:MAX_BUDGETS]:
        bits = counted(one.bits, "metadata bit")
        if one.first_depth is None:
            lines.append(f"With {bits} no depth serves the whole family.")
        elif one.first_depth > 1:
            lines.append(f"With {bits} no depth below {one.first_depth:,} serves the whole family.")
        else:
            lines.append(f"With {bits} counting excludes no depth.")
    if len(found) > MAX_BUDGETS:
        lines.append(f"{len(found) - MAX_BUDGETS:,} more budgets are not listed.")
    return tuple(lines)


def _needed(change: Change) -> str:
    side = "at most" if change.direction == "at_most" else "at least"
    text = f"{side} {decimal_text(change.needed, up=change.direction == 'at_most')}"
    if change.now and change.needed and change.name != "search.depths":
        ratio = max(change.now / change.needed, change.needed / change.now)
        text += f" (a factor of {decimal_text(ratio, up=True, digits=3)})"
    return text


def _then(change: Change) -> str:
    words = change.verdict.value.replace("_", " ")
    if change.depth is None:
        return words
    return f"{words} with {counted(change.depth, 'step')}"
