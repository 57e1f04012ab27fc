"""``report.md``: the report as Markdown that also reads well as plain text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from qreplace.report.details import Details, Plan
from qreplace.report.obstruction import Obstruction
from qreplace.report.summary import (
    Summary,
    asked_text,
    best_text,
    declared_text,
    floor_text,
    not_shown_text,
    threshold_text,
)
from qreplace.report.text import capitalised, counted

_SPECIAL = re.compile(r"[\\`*\[\]<>|~$]|(?<!\w)_|_(?!\w)|&(?=#?\w+;)")
_BLOCK_START = re.compile(r"^(?=[#+=-])|(?<=^[0-9])(?=[.)])|(?<=^[0-9]{2})(?=[.)])")


def escaped(text: str) -> str:
    """User text as Markdown text: no markup, no links, no HTML, no table cells of its own."""

    def replaced(match: re.Match[str]) -> str:
        found = match[0]
        return {"<": "&lt;", ">": "&gt;", "&": "&amp;"}.get(found, f"\\{found}")

    return _SPECIAL.sub(replaced, text)


def _paragraph(text: str) -> str:
    """User text at the start of a line, where it must not begin a heading or a list."""
    return _BLOCK_START.sub(r"\\", escaped(text))


def markdown_bytes(summary: Summary, details: Details) -> bytes:
    """The whole report as Markdown."""
    parts = [
        _first_screen(summary),
        _questions(details),
        _changes(details),
        _family(details),
        _depths(summary, details),
        _radii(details),
        _premises(details),
        _plan(details.plan) if details.plan else "",
        _obstruction(details.obstruction) if details.obstruction else "",
        _claims(details),
        _attempts(summary, details),
        _limits(summary),
        _identity(summary, details),
    ]
    return ("\n\n".join(part for part in parts if part) + "\n").encode()


def _first_screen(summary: Summary) -> str:
    facts = [
        ("Domain", summary.domain),
        *(("Why", reason) for reason in summary.why),
        (summary.threshold_name, f"{threshold_text(summary)}; {summary.measured}"),
        ("Structural floor", floor_text(summary)),
        ("Best candidate", best_text(summary)),
        ("Weakest premise", summary.weakest),
        ("Declared, not proved", declared_text(summary)),
        ("Asked about", asked_text(summary)),
        ("Not shown", not_shown_text(summary)),
    ]
    head = f"# {summary.words.headline}: {summary.words.label}\n\n{_paragraph(summary.title)}"
    answer = f"**{escaped(summary.answer)}** ({summary.standing})"
    lines = "\n".join(f"- {label}: {escaped(text)}" for label, text in facts)
    return f"{head}\n\n{answer}\n\n{lines}"


def _questions(details: Details) -> str:
    if not details.questions:
        return ""
    rows = [
        [f"{row.name}: {row.asked}", row.standing, row.text, row.label] for row in details.questions
    ]
    table = _table(["question", "answer", "number", "label"], rows)
    return f"## Five questions, in order\n\n{table}"


def _changes(details: Details) -> str:
    if not details.changes:
        return ""
    rows = [[row.what, row.now, row.needed, row.then] for row in details.changes]
    table = _table(["what", "now", "would have to be", "then"], rows)
    text = "One change at a time, each decided anew with everything else as it is."
    return f"## What would decide it\n\n{text}\n\n{table}"


def _family(details: Details) -> str:
    if not details.family:
        return ""
    return "## The family\n\n" + "\n".join(f"- {escaped(text)}" for text in details.family)


def _depths(summary: Summary, details: Details) -> str:
    header = ["depth", "verdict", "error at least", "error at most", "cost"]
    if summary.has_metadata:
        header.insert(1, "metadata bits")
    rows = []
    for row in details.rows:
        found = row.candidate
        mark = " (best)" if row.best else ""
        cells = [
            f"{found.depth}{mark}",
            row.words.label,
            str(found.error.lower),
            "none known" if found.error.upper is None else str(found.error.upper),
            str(found.cost),
        ]
        if summary.has_metadata:
            cells.insert(1, str(found.metadata_bits))
        rows.append(cells)
    return f"## Depths\n\n{_table(header, rows)}"


def _radii(details: Details) -> str:
    if not details.radii:
        return ""
    rows = [
        [
            row.name,
            "unavailable" if row.value is None else str(row.value),
            f"`{row.formula.replace('`', '')}`",
            row.evidence,
            "yes" if row.used else "no",
        ]
        for row in details.radii
    ]
    table = _table(["radius", "at most", "formula", "evidence", "used"], rows, plain=(2,))
    return f"## Radii at the best candidate\n\n{table}"


def _premises(details: Details) -> str:
    if not details.premises:
        return ""
    rows = []
    for premise in details.premises:
        value = ""
        if premise.lower is not None and premise.upper is not None:
            same = premise.lower.value == premise.upper.value
            value = str(premise.upper) if same else f"{premise.lower} to {premise.upper}"
        said = "; ".join(text for text in (premise.description, *premise.assumptions) if text)
        rows.append([premise.words, value, premise.evidence, premise.source, said])
    table = _table(["premise", "value", "label", "source", "said about it"], rows)
    return f"## Declared, not proved\n\nNothing here was checked.\n\n{table}"


def _plan(plan: Plan) -> str:
    rows = [
        [str(atom.index), atom.name, atom.recipe, str(atom.uses), f"`{atom.sha256}`"]
        for atom in plan.atoms
    ]
    schedule = f"Schedule: `{plan.schedule}`\n\n" if plan.schedule else ""
    return (
        f"## What to run\n\nDepth {plan.depth:,}; this schedule's own ideal error is at most "
        f"{plan.error}. Order: {escaped(plan.order)}.\n\n{schedule}"
        f"{_table(['atom', 'name', 'recipe', 'uses', 'SHA-256'], rows, plain=(4,))}"
    )


def _obstruction(obstruction: Obstruction) -> str:
    text = f"## What stands in the way\n\n{' '.join(obstruction.words)}"
    if not obstruction.heaviest:
        return text
    header = ["witness", "output"] if obstruction.by_witness else ["coordinate"]
    rows = []
    for entry in obstruction.heaviest:
        own = [entry.name or str(entry.coordinate)]
        place = [str(entry.witness), str(entry.output)] if obstruction.by_witness else own
        rows.append([*place, str(entry.weight), entry.share])
    return f"{text}\n\n{_table([*header, 'weight', 'share'], rows)}"


def _attempts(summary: Summary, details: Details) -> str:
    if not details.attempts:
        return ""
    header = ["engine", "outcome", "at least", "at most", "seconds", "what stopped it"]
    if summary.has_metadata:
        header.insert(1, "metadata bits")
    rows = []
    for row in details.attempts:
        cells = [
            f"{row.engine}: {row.words}",
            row.outcome,
            "" if row.lower is None else str(row.lower),
            "" if row.upper is None else str(row.upper),
            row.seconds,
            row.detail,
        ]
        if summary.has_metadata:
            cells.insert(1, str(row.metadata_bits))
        rows.append(cells)
    text = "Ends count only once a checker accepted them. Seconds are wall-clock time."
    return f"## What was tried\n\n{text}\n\n{_table(header, rows)}"


def _claims(details: Details) -> str:
    if not details.claims:
        return "## Checked claims\n\nNone: nothing in this study was proved by a claim."
    parts = [f"## Checked claims\n\n{capitalised(counted(details.claim_count, 'claim'))}."]
    for group in details.claims:
        rows = [
            [
                row.about,
                "" if row.lower is None else str(row.lower),
                "" if row.upper is None else str(row.upper),
                f"`{row.sha256}`",
            ]
            for row in group.rows
        ]
        table = _table(["about", "at least", "at most", "SHA-256"], rows, plain=(3,))
        limits = f"\n\nDoes not show more: {escaped(group.not_shown)}" if group.not_shown else ""
        parts.append(f"### {group.kind}: {group.words}{limits}\n\n{table}")
    if details.ledger:
        parts.append(_ledger(details))
    return "\n\n".join(parts)


def _ledger(details: Details) -> str:
    rows = [
        [
            str(row.step),
            row.operation,
            str(row.amount),
            "" if row.paper is None else str(row.paper),
            row.note,
        ]
        for row in details.ledger
    ]
    table = _table(["step", "what is replaced", "adds at most", "the paper's term", "note"], rows)
    return f"### What the bracket on the net is made of\n\n{table}"


def _limits(summary: Summary) -> str:
    lines = "\n".join(f"- {escaped(text)}" for text in summary.not_shown)
    return f"## What is not shown\n\n{lines}"


def _identity(summary: Summary, details: Details) -> str:
    named = "\n".join(
        f"- {escaped(str(reference))} ({escaped(reference.used_for)})"
        for reference in details.references
    )
    return (
        "## Re-check and identity\n\n"
        "    python -m qreplace.check bundle.zip\n\n"
        "re-checks this answer offline with the standard library alone. Hashes show consistency, "
        "not authorship.\n\n"
        f"- study: `{summary.study}`\n- bundle SHA-256: `{summary.bundle_sha256}`\n"
        f"- engine: qreplace {escaped(summary.engine)}\n"
        f"- specification: {escaped(details.source_name)}\n\n"
        f"## Methods\n\n{named}\n\n"
        "Decimals are rounded outward; the exact numbers are in `report.json` and `report.csv`."
    )


def _table(
    header: Sequence[str], rows: Iterable[Sequence[str]], plain: tuple[int, ...] = ()
) -> str:
    """A table; cells are escaped but in the columns ``plain``, which are code already."""
    lines = [f"| {' | '.join(header)} |", f"|{' --- |' * len(header)}"]
    for row in rows:
        cells = [
            cell.replace("|", "\\|") if place in plain else escaped(cell)
            for place, cell in enumerate(row)
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)
