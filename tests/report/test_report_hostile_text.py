"""Texts of users stay texts: no markup, no link, no request, no control of a terminal."""

from __future__ import annotations

import re
import unicodedata

import pytest
from html_reader import read_html
from markdown_it import MarkdownIt
from report_examples import DECLARED, HOSTILE, LIFTED, VERDICTS, changed, drawn_files, study_of

from qreplace.pipeline import Study
from qreplace.report import render
from qreplace.report.explain import explain, explain_difference
from qreplace.report.markdown import escaped
from qreplace.report.terminal import MAX_LINES, WIDTH, render_terminal
from qreplace.report.text import one_line

ESCAPABLE = HOSTILE.replace("\x9b", "")  # the specification itself refuses control characters


@pytest.fixture(scope="module")
def hostile_studies() -> list[Study]:
    atoms = [
        {"kind": "vector", "name": ESCAPABLE, "recipe": ESCAPABLE, "values": values}
        for values in ([1, 0], [0, 1])
    ]
    lifted = changed(
        LIFTED,
        title=ESCAPABLE,
        notes=ESCAPABLE,
        target={**LIFTED["target"], "name": ESCAPABLE},
        dictionary={**LIFTED["dictionary"], "atoms": atoms},
    )
    premise = {
        "value": "1/10",
        "evidence": "diagnostic",
        "source": ESCAPABLE,
        "assumptions": [ESCAPABLE],
        "description": ESCAPABLE,
    }
    declared = changed(
        DECLARED,
        title=ESCAPABLE,
        target={
            "kind": "declared",
            "name": ESCAPABLE,
            "architecture": ESCAPABLE,
            "checkpoint": ESCAPABLE,
        },
        synthesis={"kind": "constant", "constant": premise},
    )
    return [study_of(lifted, ESCAPABLE), study_of(declared, ESCAPABLE)]


def rendered(study: Study, *, figures: bool = False) -> dict[str, bytes]:
    return render(study.document(), study.report_context(), figures=figures)


def test_html_holds_no_markup_of_the_user(hostile_studies: list[Study]) -> None:
    allowed = {"html", "head", "meta", "title", "style", "body", "main", "header", "section", "p"}
    allowed |= {"div", "h1", "h2", "h3", "dl", "dt", "dd", "ul", "li", "b", "a", "code", "span"}
    allowed |= {"table", "caption", "thead", "tbody", "tr", "th", "td", "data", "details"}
    allowed |= {"summary", "figure", "figcaption", "svg", "path", "circle", "g", "defs", "use"}
    allowed |= {"text", "clippath", "rect", "desc"}
    for study in hostile_studies:
        page = rendered(study)["report.html"]
        elements = read_html(page)
        assert {element.tag for element in elements} <= allowed
        assert [e.tag for e in elements].count("style") == 1
        assert [e.tag for e in elements if e.path == ("html", "head")].count("title") == 1
        assert "alert(1)" in next(e for e in elements if "study-title" in e.classes).text
        assert not any(key.startswith("on") for e in elements for key in e.attributes)


@pytest.mark.parametrize("verdict", VERDICTS)
def test_html_makes_no_request(verdict: str) -> None:
    page = drawn_files(verdict)["report.html"].decode()
    elements = read_html(page)
    for element in elements:
        assert element.tag not in {"script", "link", "img", "iframe", "object", "base", "form"}
        for key in ("src", "href", "xlink:href", "action", "srcset", "data"):
            if key in element.attributes:
                assert element.attributes[key].startswith("#")
    assert "@import" not in page
    assert all(target.startswith("#") for target in re.findall(r"url\(([^)]*)\)", page))
    policy = next(e for e in elements if "http-equiv" in e.attributes)
    assert policy.attributes["content"].startswith("default-src 'none'")
    links = [e.attributes["href"][1:] for e in elements if e.tag == "a"]
    anchors = {e.attributes["id"] for e in elements if "id" in e.attributes}
    assert set(links) <= anchors


@pytest.mark.parametrize("verdict", VERDICTS)
def test_identifiers_are_unique(verdict: str) -> None:
    elements = read_html(drawn_files(verdict)["report.html"])
    identifiers = [e.attributes["id"] for e in elements if "id" in e.attributes]
    assert len(identifiers) == len(set(identifiers))
    names = [n for e in elements for n in e.attributes.get("aria-labelledby", "").split()]
    assert set(names) <= set(identifiers)


def test_markdown_holds_no_markup_of_the_user(hostile_studies: list[Study]) -> None:
    reader = MarkdownIt("commonmark", {"html": True}).enable("table")
    for study in hostile_studies:
        text = rendered(study)["report.md"].decode()
        tags = set(re.findall(r"<([a-z0-9]+)", reader.render(text)))
        allowed = {"h1", "h2", "h3", "p", "strong", "ul", "li", "code", "pre", "table", "thead"}
        assert tags <= allowed | {"tbody", "tr", "th", "td", "br"}
        assert reader.render(text).count("<h1") == 1


@pytest.mark.parametrize(
    "text",
    ["# heading", "1. item", "- item", "> quote", "a | b", "_x_", "~~x~~", "&lt;b&gt;", "a\\"],
)
def test_escaped_text_reads_back_as_it_was(text: str) -> None:
    reader = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    tokens = reader.parseInline(f"x {escaped(text)}")[0].children or []
    assert "".join(token.content for token in tokens) == f"x {text}"


def test_identifiers_keep_their_underscores() -> None:
    assert escaped("field_bound of affine_lp") == "field_bound of affine_lp"


def test_terminal_and_explanations_are_plain_and_short(hostile_studies: list[Study]) -> None:
    for study in hostile_studies:
        document, context = study.document(), study.report_context()
        text = render_terminal(document, context)
        assert len(text.split("\n")) <= MAX_LINES
        assert max(map(len, text.split("\n"))) <= WIDTH
        for shown in (text, explain(document, context), explain_difference(document, document)):
            odd = {c for c in shown if unicodedata.category(c) in ("Cc", "Cf")}
            assert odd <= {"\n"}


def test_one_line_hides_nothing() -> None:
    assert one_line("a\n b\t\tc") == "a b c"
    assert one_line("\x1b[31mred \u202eback") == "\ufffd[31mred \ufffdback"
    assert one_line("x" * 50, 10) == "xxxxxxxxx…"
    assert one_line("\u0646\u200c\u0645 👩\u200d🔬") == "\u0646\u200c\u0645 👩\u200d🔬"


def test_csv_and_figures_hold_no_text_of_the_user(hostile_studies: list[Study]) -> None:
    for study in hostile_studies:
        files = rendered(study, figures=True)
        for name in ("report.csv", "figures/interval.svg", "figures/frontier.svg"):
            assert b"alert" not in files[name]
