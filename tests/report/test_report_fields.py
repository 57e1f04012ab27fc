"""The figure of error fields, and the words of claims about piecewise-affine maps (theory T8)."""

from __future__ import annotations

import dataclasses
from fractions import Fraction
from functools import cache
from xml.etree import ElementTree

import numpy as np
import pytest
from dynamic_examples import context_of, document_of
from lifted_questions import LINF
from piecewise_questions import atom, box, pwa_question, reference

from qreplace.claims.pwa_supremum import ComparatorMap, PwaSupremumClaim, ScheduleMap
from qreplace.produce.pwa_supremum import produce
from qreplace.question.model import Question
from qreplace.question.subject import Subject
from qreplace.report.claim_words import about, at_single_depth
from qreplace.report.field_plot import FieldPlot, field_plot
from qreplace.report.figures import draw

SVG = "{http://www.w3.org/2000/svg}"
TILTED = atom([[1, "1/2"], [0, 1]], thresholds=["1/4"])
PLAIN = atom([[1, 0], [0, 1]], thresholds=["1/3"])


@cache
def plane() -> tuple[Question, tuple[PwaSupremumClaim, ...]]:
    """Two inputs: a comparator and two schedules, on the disk."""
    question = pwa_question(
        [PLAIN], reference([TILTED], [0] * 4), dimension=2,
        comparator=reference([TILTED], [0, 0]),
    )  # fmt: skip
    subject = Subject(question, {})
    maps = (
        ComparatorMap("comparator"), ScheduleMap("schedule", (0,)),
        ScheduleMap("schedule", (0, 0)),
    )  # fmt: skip
    return question, tuple(produce(subject, 0, given, width=Fraction(1, 50)) for given in maps)


@cache
def line() -> tuple[Question, tuple[PwaSupremumClaim, ...]]:
    """One input."""
    soft = atom([[1]], thresholds=["1/2"])
    question = pwa_question(
        [atom([[1]])], reference([soft], [0]), dimension=1, inputs=1, region=box([-1], [1]),
        norm=LINF,
    )  # fmt: skip
    claim = produce(Subject(question, {}), 0, ScheduleMap("schedule", (0,)))
    return question, (claim,)


def plot(question: Question, claims: tuple[PwaSupremumClaim, ...]) -> FieldPlot:
    found = field_plot(document_of(question, claims), context_of(question, claims))
    assert found is not None
    return found


def test_the_comparator_stands_beside_the_closest_schedule() -> None:
    question, claims = plane()
    drawn = plot(question, claims)
    assert [panel.title for panel in drawn.panels] == [
        "comparator, 2 steps", "schedule of 2 steps",
    ]  # fmt: skip
    uppers = [c.upper for c in claims[1:] if c.upper is not None]
    assert drawn.panels[1].upper == pytest.approx(float(min(uppers)))
    assert "at most" in drawn.words and "cells" in drawn.words


def test_no_drawn_error_exceeds_the_claim_and_the_worst_input_attains_it() -> None:
    question, claims = plane()
    for panel in plot(question, claims).panels:
        assert panel.upper is not None and panel.worst is not None
        assert panel.largest <= panel.upper
        place = [int(np.argmin(abs(axis - x))) for axis, x in zip(panel.axes, panel.worst,
                                                                  strict=True)]  # fmt: skip
        assert panel.errors[place[1], place[0]] == pytest.approx(panel.upper, rel=0.05)


def test_every_border_of_a_cell_is_drawn_once_and_lies_where_cells_are() -> None:
    question, claims = plane()
    panel = plot(question, claims).panels[0]
    assert panel.edges and len(panel.edges) == len({frozenset(edge) for edge in panel.edges})
    assert all(abs(x) < 1.5 for edge in panel.edges for place in edge for x in place)


def test_fields_are_drawn_with_names_and_without_raster() -> None:
    question, claims = plane()
    files = draw(document_of(question, claims), context_of(question, claims))
    root = ElementTree.fromstring(files["figures/fields.svg"])
    names = {element.get("id") for element in root.iter(f"{SVG}g")}
    assert {"field", "cells", "worst"} <= names
    assert b"<image" not in files["figures/fields.svg"]
    again = draw(document_of(question, claims), context_of(question, claims))
    assert again["figures/fields.svg"] == files["figures/fields.svg"]


def test_one_input_is_drawn_as_a_curve_with_the_tolerance() -> None:
    question, claims = line()
    drawn = plot(question, claims)
    (panel,) = drawn.panels
    assert panel.largest == pytest.approx(0.5) and panel.upper == pytest.approx(0.5)
    assert "figures/fields.svg" in draw(document_of(question, claims),
                                        context_of(question, claims))  # fmt: skip


def test_nothing_is_drawn_without_a_claim_a_region_or_with_three_inputs() -> None:
    question, claims = line()
    assert field_plot(document_of(question, ()), context_of(question, ())) is None
    three = dataclasses.replace(question.system, inputs=3)  # type: ignore[type-var]
    other = dataclasses.replace(question, system=three)
    assert field_plot(document_of(question, claims), context_of(other, claims)) is None


def test_largest_errors_say_over_what() -> None:
    question, claims = plane()
    context = context_of(question, claims)
    place, words = about(claims[0], context)
    assert place == 0 and words.startswith("the comparator over ") and words.endswith("cells")
    place, words = about(claims[2], context)
    assert place == 2 and words.startswith("one schedule over ") and words.endswith("at depth 2")
    assert all(map(at_single_depth, claims))
