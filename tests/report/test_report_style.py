"""Contrast of the page's colours (WCAG AA), in the light and in the dark scheme."""

from __future__ import annotations

import re

import pytest

from qreplace.data import data_path
from qreplace.report.palette import VARIABLES

CSS = (data_path("web") / "styles" / "report.css").read_text(encoding="utf-8")

TEXT_PAIRS = [
    ("--ink", "--paper"),
    ("--ink", "--ground"),
    ("--muted", "--paper"),
    ("--muted", "--ground"),
    ("--accent", "--paper"),
    ("--accent", "--ground"),
    ("--flag", "--flag-ground"),
    ("--on-strong", "--yes"),
    ("--on-strong", "--no"),
    ("--open", "--paper"),
    ("--ink", "--flag-ground"),
    ("--ink", "--conditional-stripe"),
    ("--conditional", "--conditional-ground"),
    ("--conditional", "--conditional-stripe"),
    ("--fig-ink", "--fig-paper"),
    ("--fig-muted", "--fig-paper"),
    ("--fig-tolerance", "--paper"),
]
GRAPHIC_PAIRS = [
    (f"--fig-{name}", "--fig-paper")
    for name in ("upper", "lower", "tolerance", "floor", "yes", "no", "value", "path", "steps")
]


def schemes() -> dict[str, dict[str, str]]:
    blocks = re.findall(r":root \{(.*?)\}", CSS, re.DOTALL)
    found = [dict(re.findall(r"(--[\w-]+): (#[0-9a-f]{6});", block)) for block in blocks[:2]]
    return {"light": found[0], "dark": {**found[0], **found[1]}}


def luminance(colour: str) -> float:
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("pair", TEXT_PAIRS, ids=" on ".join)
def test_text_has_contrast(scheme: str, pair: tuple[str, str]) -> None:
    colours = schemes()[scheme]
    assert contrast(colours[pair[0]], colours[pair[1]]) >= 4.5


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("pair", GRAPHIC_PAIRS, ids=" on ".join)
def test_lines_and_marks_have_contrast(scheme: str, pair: tuple[str, str]) -> None:
    colours = schemes()[scheme]
    assert contrast(colours[pair[0]], colours[pair[1]]) >= 3


def test_the_light_scheme_draws_figures_as_the_files_do() -> None:
    light = schemes()["light"]
    assert {light[variable]: variable for variable in VARIABLES.values()} == VARIABLES


def test_paper_and_small_screens_are_provided_for() -> None:
    assert "@media print" in CSS
    assert "prefers-color-scheme: dark" in CSS
    assert "@media (max-width: 600px)" in CSS
