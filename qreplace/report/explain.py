"""``qreplace explain``: a verdict in words, and what differs between two studies."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from qreplace.report.attempts import attempt_rows
from qreplace.report.context import ReportContext
from qreplace.report.decimals import at_least
from qreplace.report.premises import declared_premise, premise_words
from qreplace.report.resolution import change_rows, family_lines, question_rows
from qreplace.report.summary import (
    Summary,
    asked_text,
    best_text,
    floor_text,
    interval,
    summarise,
    threshold_text,
)
from qreplace.report.text import capitalised, counted, listed, one_line, sentence
from qreplace.report.words import CLAIMS, OBJECTIVES, VERDICTS, in_words

WIDTH = 88


def explain(document: dict[str, Any], context: ReportContext) -> str:
    """The verdict of one study, in paragraphs under plain headings."""
    summary = summarise(document, context)
    parts = [
        ("Question", [_question(summary, context)]),
        ("Answer", [_answer(summary)]),
        ("Reason", list(summary.why)),
        ("Five questions, in order", _five(context)),
        ("What it rests on", _grounds(document, summary, context)),
        ("The family", list(family_lines(context))),
        ("What was tried", _attempts(context)),
        ("What would change it", [*_changes(document, summary), *_deciding(context)]),
        ("What is not shown", list(summary.not_shown)),
        ("How to check it", [_check(summary)]),
    ]
    return "\n\n".join(f"{heading}\n{_paragraphs(texts)}" for heading, texts in parts if texts)


def _question(summary: Summary, context: ReportContext) -> str:
    question = context.question
    atoms = counted(question.dictionary.atom_count, "atom")
    target = one_line(context.labels.target)
    named = f" Target: {target}." if target else ""
    bits = counted(question.dictionary.bits, "bit")
    return (
        f"{summary.title}. Can {atoms} of {bits}, run one after another as low-bit steps, "
        f"{OBJECTIVES[question.objective.kind]}?{named} The error is the "
        f"{summary.measured}; it must be {_allowed(summary)}. Domain: {summary.domain}. "
        f"Part of the question: {asked_text(summary)}."
    )


def _allowed(summary: Summary) -> str:
    if summary.strict:
        return threshold_text(summary)
    return f"at most {summary.threshold.lower}"


def _answer(summary: Summary) -> str:
    words = summary.words
    return f"{words.headline} ({words.label}). {summary.answer} {sentence(summary.standing)}"


def _grounds(document: Mapping[str, Any], summary: Summary, context: ReportContext) -> list[str]:
    found = []
    kinds = Counter(claim["kind"] for claim in document["claims"])
    if kinds:
        counts = [f"{count:,} × {CLAIMS.get(kind, kind)}" for kind, count in sorted(kinds.items())]
        found.append(f"Checked claims: {listed(counts)}.")
    else:
        found.append("No claim was checked.")
    found.append(f"Structural floor: {floor_text(summary)}.")
    found.append(f"Best candidate: {best_text(summary)}.")
    if summary.words.standing != "open":
        found.append(f"Weakest premise: {summary.weakest}.")
    for name in document["declared"]:
        premise = declared_premise(name, context)
        value = "" if premise.upper is None else f" = {_value(premise.lower, premise.upper)}"
        source = f", source: {premise.source}" if premise.source else ""
        label = in_words(premise.evidence)
        found.append(f"Declared, not proved: {premise.words}{value} ({label}{source}).")
    return found


def _five(context: ReportContext) -> list[str]:
    return [
        f"{row.name}: {row.standing}. {row.text}{f' ({row.label})' if row.label else ''}."
        for row in question_rows(context)
    ]


def _attempts(context: ReportContext) -> list[str]:
    """Every attempt in a sentence, when reports have a table of them."""
    found = []
    for row in attempt_rows(context.attempts):
        text = f"{row.words} ({row.engine}): {row.outcome}"
        ends = [
            f"at {side} {end}" for side, end in (("least", row.lower), ("most", row.upper)) if end
        ]
        if ends:
            text += f", {' and '.join(ends)}"
        if row.seconds:
            text += f", {row.seconds} s"
        found.append(sentence(f"{text}; {row.detail}" if row.detail else text))
    return found


def _value(lower: Any, upper: Any) -> str:
    return str(upper) if lower.value == upper.value else f"{lower} to {upper}"


def _changes(document: Mapping[str, Any], summary: Summary) -> list[str]:
    """What would have to be different, as far as the numbers themselves say it."""
    found = []
    words, floor = summary.words, summary.floor
    if words.standing == "conditional":
        found.append("Claims that prove the declared premises would make it certified.")
    if words.tone == "yes" and summary.best and summary.best.error.upper:
        text = f"An allowed error below {summary.best.error.upper} needs another depth or schedule"
        if floor is not None and floor.lower.value > 0:
            text += f"; below {floor.lower} the structural floor would stand against it"
        found.append(f"{text}.")
    if document["obstruction"]:
        missed = at_least(_missed(document))
        deeper = "; more depth cannot" if document["impossible_from"] is not None else ""
        found.append(
            f"The tolerance is missed by at least {missed}. Another library of atoms, another "
            f"target or a larger tolerance can change that{deeper}."
        )
    if words.tone == "open":
        found.append("What is named as missing above, or a search that reaches further.")
    return found


def _deciding(context: ReportContext) -> list[str]:
    """The changes that were found to decide an open study."""
    return [
        f"{capitalised(row.what)} {row.needed} instead of {row.now}: {row.then}."
        for row in change_rows(context)
    ]


def _missed(document: Mapping[str, Any]) -> Fraction:
    """By how much the tolerance is missed: at every reported depth, where all are impossible."""
    allowed = Fraction(document["tolerance"]["hi"])
    rows = document["depths"]
    margins = [Fraction(row["interval"]["lower"]) - allowed for row in rows]
    if margins and all(margin > 0 for margin in margins):
        return min(margins)
    return Fraction(document["obstruction"]["missed_by"])


def _check(summary: Summary) -> str:
    return (
        "python -m qreplace.check bundle.zip re-derives all of it offline. "
        f"Study {summary.study}, bundle SHA-256 {summary.bundle_sha256}."
    )


def _paragraphs(texts: list[str]) -> str:
    return "\n".join(
        textwrap.fill(
            text, WIDTH, initial_indent="  ", subsequent_indent="  ", break_on_hyphens=False
        )
        for text in texts
    )


# --- two studies ----------------------------------------------------------------------------------


def explain_difference(a: dict[str, Any], b: dict[str, Any]) -> str:
    """What differs between two decision documents, verdict first; equal parts are left out."""
    lines = [
        *_identity(a, b),
        *_verdicts(a, b),
        *_numbers(a, b),
        *_sets(a, b),
        *_claims(a, b),
    ]
    if len(lines) == 1:
        lines.append("Verdict, numbers, premises and claims are the same.")
    return "\n".join(textwrap.fill(line, WIDTH, subsequent_indent="  ") for line in lines)


def _identity(a: Mapping[str, Any], b: Mapping[str, Any]) -> list[str]:
    if a["study"] == b["study"]:
        lines = [f"The same question (study {a['study'][:16]})."]
    else:
        lines = [f"Two questions: A is study {a['study'][:16]}, B is study {b['study'][:16]}."]
    if a["engine"] != b["engine"]:
        lines.append(f"Engine: {one_line(a['engine'])} in A, {one_line(b['engine'])} in B.")
    return lines


def _verdicts(a: Mapping[str, Any], b: Mapping[str, Any]) -> list[str]:
    lines = []
    one, other = VERDICTS[a["verdict"]], VERDICTS[b["verdict"]]
    if one is not other:
        lines.append(
            f"Verdict: {one.headline} ({one.label}) in A, {other.headline} ({other.label}) in B."
        )
        for name, document in (("A", a), ("B", b)):
            reasons = " ".join(sentence(one_line(text)) for text in document["reasons"])
            lines.append(f"Why {name}: {reasons}")
    for key, words in (("domain", "Domain"), ("evidence", "Weakest label")):
        if a[key] != b[key]:
            lines.append(f"{words}: {in_words(a[key])} in A, {in_words(b[key])} in B.")
    return lines


def _numbers(a: Mapping[str, Any], b: Mapping[str, Any]) -> list[str]:
    lines = []
    if (a["tolerance"]["lo"], a["tolerance"]["hi"]) != (b["tolerance"]["lo"], b["tolerance"]["hi"]):
        one, other = (interval(d["tolerance"]["lo"], d["tolerance"]["hi"]) for d in (a, b))
        lines.append(f"Tolerance: {one} in A, {other} in B.")
    floors = [d["bracket"] and (d["bracket"]["lower"], d["bracket"]["upper"]) for d in (a, b)]
    if floors[0] != floors[1]:
        texts = [str(interval(*ends)) if ends else "not known" for ends in floors]
        lines.append(f"Floor: {texts[0]} in A, {texts[1]} in B.")
    if _best(a) != _best(b):
        lines.append(f"Best candidate: {_best(a)} in A, {_best(b)} in B.")
    lines.extend(_depths(a, b))
    return lines


def _best(document: Mapping[str, Any]) -> str:
    best = document["best"]
    if not best:
        return "none"
    error = interval(best["interval"]["lower"], best["interval"]["upper"])
    return f"depth {best['depth']:,} with {best['metadata_bits']:,} metadata bits, error {error}"


def _depths(a: Mapping[str, Any], b: Mapping[str, Any]) -> list[str]:
    """How many depths that both report changed their verdict or their upper end."""
    one = {row["depth"]: row for row in a["depths"]}
    other = {row["depth"]: row for row in b["depths"]}
    shared = sorted(one.keys() & other.keys())
    turned = [d for d in shared if one[d]["verdict"] != other[d]["verdict"]]
    tighter = [d for d in shared if _closer(other[d], one[d])]
    looser = [d for d in shared if _closer(one[d], other[d])]
    lines = []
    if one.keys() != other.keys():
        lines.append(f"Reported depths: {len(one):,} in A, {len(other):,} in B.")
    for depths, words in (
        (turned, "another verdict"),
        (tighter, "a smaller upper end in B"),
        (looser, "a larger upper end in B"),
    ):
        if depths:
            shown = ", ".join(f"{d:,}" for d in depths[:8]) + (", …" if len(depths) > 8 else "")
            lines.append(f"{counted(len(depths), 'depth')} with {words}: {shown}.")
    return lines


def _closer(row: Mapping[str, Any], than: Mapping[str, Any]) -> bool:
    upper, reference = row["interval"]["upper"], than["interval"]["upper"]
    if upper is None or reference is None:
        return upper is not None
    return Fraction(upper) < Fraction(reference)


def _sets(a: Mapping[str, Any], b: Mapping[str, Any]) -> list[str]:
    lines = []
    for key, words in (
        ("declared", "Declared, not proved"),
        ("asked", "Asked about"),
        ("not_shown", "Not shown"),
    ):
        for name, here, there in (("A", a, b), ("B", b, a)):
            only = [text for text in here[key] if text not in there[key]]
            if only:
                texts = [premise_words(t) if key == "declared" else one_line(t) for t in only]
                lines.append(f"{words}, only in {name}: {'; '.join(texts)}.")
    return lines


def _claims(a: Mapping[str, Any], b: Mapping[str, Any]) -> list[str]:
    lines = []
    digests = [{claim["sha256"] for claim in document["claims"]} for document in (a, b)]
    for name, document, others in (("A", a, digests[1]), ("B", b, digests[0])):
        only = Counter(c["kind"] for c in document["claims"] if c["sha256"] not in others)
        if only:
            counts = [
                f"{count:,} × {CLAIMS.get(kind, kind)}" for kind, count in sorted(only.items())
            ]
            lines.append(f"Claims only in {name}: {listed(counts)}.")
    return lines
