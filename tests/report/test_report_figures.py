"""Figures: what is drawn where, for any range of numbers, readable without seeing it."""

from __future__ import annotations

import struct
from typing import Any
from xml.etree import ElementTree

import pytest
from report_examples import (
    DECLARED,
    LIFTED,
    VERDICTS,
    changed,
    drawn_files,
    study,
    study_of,
    with_tolerance,
)

from qreplace.report.figures import draw
from qreplace.report.inline_svg import inline
from qreplace.report.palette import VARIABLES

SVG = "{http://www.w3.org/2000/svg}"


def drawing(files: dict[str, bytes], name: str) -> ElementTree.Element:
    return ElementTree.fromstring(files[f"figures/{name}.svg"])


def groups(root: ElementTree.Element) -> set[str]:
    return {element.attrib["id"] for element in root.iter() if "id" in element.attrib}


def texts(root: ElementTree.Element) -> list[str]:
    return ["".join(element.itertext()).strip() for element in root.iter(f"{SVG}text")]


@pytest.mark.parametrize("verdict", VERDICTS)
@pytest.mark.parametrize("name", ["interval", "frontier"])
def test_every_figure_has_the_tolerance_line_and_words(verdict: str, name: str) -> None:
    root = drawing(drawn_files(verdict), name)
    assert "tolerance" in groups(root)
    assert "tolerance" in texts(root)
    title, words = root.find(f"{SVG}title"), root.find(f"{SVG}desc")
    assert title is not None and title.text
    assert words is not None and words.text


@pytest.mark.parametrize("verdict", VERDICTS)
@pytest.mark.parametrize("name", ["interval", "frontier"])
def test_every_figure_is_also_a_png(verdict: str, name: str) -> None:
    data = drawn_files(verdict)[f"figures/{name}.png"]
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    width, height = struct.unpack(">II", data[16:24])
    assert width > height > 400
    assert b"tIME" not in data
    assert b"tEXt" not in data


def test_band_floor_and_best_are_drawn() -> None:
    found = groups(drawing(drawn_files("certified_feasible"), "interval"))
    assert {"interval", "upper", "lower", "floor", "best", "rows-yes"} <= found


def test_rows_show_their_verdict_by_shape() -> None:
    files = drawn_files("certified_impossible")
    assert "rows-no" in groups(drawing(files, "interval"))
    assert "cannot meet it" in texts(drawing(files, "interval"))
    assert "best" not in groups(drawing(files, "interval"))


def test_a_study_without_upper_ends_says_so() -> None:
    files = drawn_files("unresolved")
    assert "no upper end is known at any depth" in texts(drawing(files, "interval"))
    assert "no upper end is known, so there is no frontier" in texts(drawing(files, "frontier"))


def test_a_wide_range_of_depths_is_drawn_on_a_logarithmic_axis() -> None:
    wide = study_of(changed(LIFTED, search={"depths": [1, 4, 16, 64, 256, 1024]}))
    labels = texts(drawing(draw(wide.document()), "interval"))
    depths = [label for label in labels if label.replace(",", "").isdigit()]
    assert "1,024" in depths
    assert "16" in depths
    narrow = texts(drawing(drawn_files("certified_feasible"), "interval"))
    assert {"4", "5", "6", "7", "8"} <= set(narrow)


def test_a_tolerance_of_zero_is_still_a_line() -> None:
    """On a logarithmic axis 0 has no place; the line then lies on the edge."""
    strict = with_tolerance(changed(LIFTED, search={"depths": [1, 64]}), "0")
    root = drawing(draw(study_of(strict).document()), "interval")
    line = next(e for e in root.iter() if e.attrib.get("id") == "tolerance")
    assert next(line.iter(f"{SVG}path")).attrib["d"].startswith("M")


def test_numbers_too_large_to_draw_are_said_to_be() -> None:
    files = draw(study_of(with_tolerance(DECLARED, "1e400")).document())
    assert "error (drawn no higher than 1e+100)" in texts(drawing(files, "interval"))


def test_one_depth_of_no_cost_still_draws() -> None:
    single = study_of(changed(LIFTED, search={"depths": [1]}, costs={"schedule_bit": 0}))
    assert "frontier" in groups(drawing(draw(single.document()), "frontier"))


def test_a_figure_has_no_date_no_doctype_and_no_address_to_fetch() -> None:
    data = drawn_files("certified_feasible")["figures/interval.svg"]
    assert b"<metadata>" not in data
    assert b"<!DOCTYPE" not in data
    assert b"<image" not in data


def test_inline_figures_take_the_colours_of_the_page() -> None:
    data = drawn_files("certified_feasible")["figures/interval.svg"]
    text = inline(data, "figures/interval.svg")
    assert text.startswith("<svg ")
    assert 'role="img"' in text
    assert 'id="interval-tolerance"' in text
    for colour, variable in VARIABLES.items():
        assert text.count(colour) == text.count(f"var({variable}, {colour})")
    root = ElementTree.fromstring(text)
    assert root.attrib["aria-labelledby"].split() == ["interval-name", "interval-words"]
    assert {"interval-name", "interval-words"} <= groups(root)


def test_drawing_leaves_the_settings_of_matplotlib_alone() -> None:
    import matplotlib as mpl

    before: dict[str, Any] = dict(mpl.rcParams)
    draw(study("certified_feasible").document())
    assert dict(mpl.rcParams) == before
