"""What the first screen says: on the page before anything else, and in every format."""

from __future__ import annotations

import pytest
from html_reader import Element, only, read_html
from report_examples import LIFTED, VERDICTS, changed, drawn_files, plain_files, study, study_of

from qreplace.report.summary import Summary, summarise, weakest_words
from qreplace.report.terminal import MAX_LINES, WIDTH, render_terminal
from qreplace.report.words import VERDICTS as WORDS

FACTS = [
    "Why",
    "Domain",
    "Weakest premise",
    "Declared, not proved",
    "Not shown",
    "Tolerance",
    "Structural floor",
    "Best candidate",
    "Asked about",
]


def page(verdict: str) -> list[Element]:
    return read_html(drawn_files(verdict)["report.html"])


def summary(verdict: str) -> Summary:
    found = study(verdict)
    return summarise(found.document(), found.report_context())


def card(verdict: str) -> Element:
    return next(element for element in page(verdict) if "card" in element.classes)


@pytest.mark.parametrize("verdict", VERDICTS)
def test_the_first_heading_is_the_verdict(verdict: str) -> None:
    headings = [e for e in page(verdict) if e.tag in ("h1", "h2", "h3")]
    assert [e.tag for e in headings].count("h1") == 1
    assert headings[0].tag == "h1"
    words = WORDS[verdict]
    assert headings[0].text.lower() == f"{words.headline} {words.label}".lower()
    title = next(e for e in page(verdict) if e.tag == "title")
    assert title.text.startswith(f"{words.headline} ({words.label})")


@pytest.mark.parametrize("verdict", VERDICTS)
def test_the_first_screen_holds_every_fact_before_any_section(verdict: str) -> None:
    elements = page(verdict)
    first_section = next(i for i, e in enumerate(elements) if e.tag == "h2")
    terms = [e.text for e in elements[:first_section] if e.tag == "dt"]
    assert terms == FACTS
    text = card(verdict).text
    found = summary(verdict)
    assert found.answer in text
    assert all(reason in text for reason in found.why)
    assert found.domain[1:] in text
    assert str(found.threshold) in text
    assert all(name[1:] in text for name in found.declared)
    assert all(asked[1:] in text for asked in found.asked)
    assert all(short[1:] in text for short in found.not_shown_short)


@pytest.mark.parametrize("verdict", VERDICTS)
def test_colour_is_never_alone(verdict: str) -> None:
    """Tone and standing also show as words, as the icon's shape and as the kind of border."""
    words = WORDS[verdict]
    assert {words.tone, words.standing} <= set(card(verdict).classes)
    icon = next(e for e in page(verdict) if "icon" in e.classes)
    assert icon.attributes["aria-hidden"] == "true"
    shapes = {"yes": "circle", "no": "path", "open": "path"}
    shape = next(e for e in page(verdict) if "icon-shape" in e.classes)
    assert shape.tag == shapes[words.tone]


def test_certified_conditional_and_open_verdicts_differ_in_word_and_form() -> None:
    forms = {verdict: (WORDS[verdict].headline, WORDS[verdict].standing) for verdict in VERDICTS}
    assert len({forms[v] for v in VERDICTS}) == len(VERDICTS)
    for tone in ("feasible", "impossible"):
        certified, conditional = forms[f"certified_{tone}"], forms[f"conditionally_{tone}"]
        assert certified[0] != conditional[0]
        assert certified[1] != conditional[1]


def test_conditional_verdicts_name_what_was_declared() -> None:
    text = card("conditionally_feasible").text
    assert "2 declared" in text
    assert "synthesis constant C" in text
    assert "Not proved" in text
    assert "upper end of the declared floor (diagnostic only)" in text.lower()


def test_certified_verdicts_say_that_nothing_was_declared() -> None:
    text = card("certified_feasible").text
    assert "Nothing; every number used was checked or recomputed here." in text
    assert "Proved" in text


def test_an_asymptotic_verdict_names_its_depth() -> None:
    start = study("certified_asymptotically_impossible").document()["impossible_from"]
    assert start > 1
    assert f"From depth {start} on" in card("certified_asymptotically_impossible").text


@pytest.mark.parametrize("verdict", VERDICTS)
def test_plain_text_formats_say_the_same(verdict: str) -> None:
    found = summary(verdict)
    markdown = plain_files(verdict)["report.md"].decode()
    head = markdown.split("\n## ")[0]
    assert head.startswith(f"# {found.words.headline}: {found.words.label}\n")
    assert found.answer in head
    for label in FACTS:
        assert f"\n- {label}: " in head
    terminal = render_terminal(study(verdict).document(), study(verdict).report_context())
    lines = terminal.split("\n")
    assert len(lines) <= MAX_LINES
    assert max(map(len, lines)) <= WIDTH
    assert lines[0].startswith(found.words.mark)
    joined = " ".join(terminal.split())
    assert found.answer in joined
    assert found.domain in joined
    for label in ("why", "weakest", "declared", "asked about", "not shown"):
        assert any(line.startswith(label) for line in lines), label


@pytest.mark.parametrize("verdict", VERDICTS)
def test_sections_follow_with_table_headers(verdict: str) -> None:
    elements = page(verdict)
    for section in ("depths", "claims", "not-shown", "exact", "check", "identity"):
        only(elements, "section", id=section)
    for header in (e for e in elements if e.tag == "th"):
        assert header.attributes.get("scope") in ("col", "row")
    for region in (e for e in elements if "table" in e.classes):
        assert region.attributes["aria-label"]
        assert region.attributes["tabindex"] == "0"


def test_the_plan_names_its_atoms() -> None:
    plan = only(page("certified_feasible"), "section", id="plan").text
    assert "8 steps over 2 atoms" in plan
    assert "east" in plan
    assert "by hand" in plan
    for atom in study("certified_feasible").document()["plan"]["atoms"]:
        assert atom["sha256"] in plan


def test_the_obstruction_says_by_how_much_and_where() -> None:
    text = only(page("certified_impossible"), "section", id="obstruction").text
    assert "missed by at least 0.025" in text
    assert "50.0 %" in text


def test_declared_premises_are_shown_with_label_source_and_assumption() -> None:
    text = only(page("conditionally_feasible"), "section", id="declared").text
    for piece in ("0.1", "calibrated estimate", "fitted to runs", "C of C/D.", "are typical"):
        assert piece in text


@pytest.mark.parametrize("verdict", VERDICTS)
def test_claims_are_listed_with_hashes_and_their_limits(verdict: str) -> None:
    text = only(page(verdict), "section", id="claims").text
    claims = study(verdict).document()["claims"]
    assert all(claim["sha256"] in text for claim in claims)
    assert text.count("Not more than that:") == len({claim["kind"] for claim in claims})
    if not claims:
        assert "None." in text


@pytest.mark.parametrize("verdict", VERDICTS)
def test_the_page_says_how_to_check_it(verdict: str) -> None:
    elements = page(verdict)
    assert "python -m qreplace.check bundle.zip" in only(elements, "section", id="check").text
    identity = only(elements, "section", id="identity").text
    assert study(verdict).id in identity
    assert study(verdict).bundle_sha256 in identity
    assert "arXiv:2607.23390" in identity


def test_exact_numbers_stand_beside_their_decimals() -> None:
    values = {e.attributes["value"] for e in page("certified_feasible") if e.tag == "data"}
    document = study("certified_feasible").document()
    assert document["best"]["interval"]["upper"] in values
    exact = only(page("certified_feasible"), "section", id="exact").text
    assert document["bracket"]["lower"] in exact


def test_the_weakest_premise_in_words() -> None:
    assert weakest_words("affine_lp lower end (finite_witness_certified)") == (
        "lower end of the structural floor (certified on finitely many witnesses)"
    )
    assert weakest_words("synthesis: field_bound, growth (diagnostic)") == (
        "the synthesis radius, which rests on field bound B and growth rate m (diagnostic only)"
    )
    assert weakest_words("something_new (odd)") == "something new (odd)"


def test_an_absent_required_certificate_is_named_up_front() -> None:
    certificates = [{"claim": "lean_claim", "required": True}]
    found = study_of(changed(LIFTED, certificates=certificates))
    shown = summarise(found.document(), found.report_context())
    assert shown.words.standing == "conditional"
    assert shown.declared == ("required certificate lean_claim",)
    assert "lean claim is absent or unchecked" in shown.weakest
    text = render_terminal(found.document(), found.report_context())
    assert f"study {found.id[:10]}, bundle {found.bundle_sha256[:10]}" in text
