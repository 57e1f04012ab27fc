"""The figure of one or two states: what is drawn, for which claims, names and sizes."""

from __future__ import annotations

import dataclasses
import itertools
from fractions import Fraction
from functools import cache
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from dynamic_examples import (
    ONE,
    TURNING,
    TWO,
    affine_claim,
    blocks,
    context_of,
    document_of,
    observable,
    relaxed,
    schedule,
    support,
    value_function,
    worked_example,
)
from dynamic_questions import affine_question, forcing, polynomial_question
from dynamic_truth import float_norm
from html_reader import only, read_html
from hypothesis import given
from hypothesis import strategies as st
from lifted_questions import L1, L2, LINF, block_l2, make_question, weighted_l1, weighted_linf
from report_examples import HOSTILE

from qreplace.claims import Claim
from qreplace.exact.polynomial import Polynomial, from_terms
from qreplace.question.model import Norm, Question, StoredArray
from qreplace.question.subject import Subject
from qreplace.report import render
from qreplace.report.figures import draw
from qreplace.report.float_paths import MAX_TERMS, FloatPolynomial, euler_path, relaxed_path
from qreplace.report.state_plot import StatePlot, state_plot
from qreplace.report.two_state_figure import unit_ball

SVG = "{http://www.w3.org/2000/svg}"
ONE_CLAIMS: list[Claim] = [
    worked_example(),
    relaxed(1, (1, (1, 0))),
    schedule("5/4", (0, 7), (1, 1)),
]
TWO_CLAIMS: list[Claim] = [
    value_function("(z1 - 1)^2 + (z2 - 1)^2 + 1/2*(1 - t)*(z1 - 2)", 2, "1/2"),
    relaxed("3/5", ("1/2", (1, 0, 0)), (1, ("1/2", 0, "1/2"))),
    schedule("4/5", (0, 4), (2, 4)),
]


def plot_of(question: Question, claims: list[Claim], **fields: Any) -> StatePlot | None:
    states = fields.pop("states", ())
    return state_plot(document_of(question, claims, **fields), context_of(
        question, claims, states=states))  # fmt: skip


@cache
def files_of(name: str) -> dict[str, bytes]:
    question, claims, bracket = {
        "one": (ONE, ONE_CLAIMS, (1, 1)),
        "two": (TWO, TWO_CLAIMS, ("1/2", "3/5")),
    }[name]
    states = ("x",) if name == "one" else ("position", "speed")
    return render(
        document_of(question, claims, bracket=bracket), context_of(question, claims, states=states)
    )


def svg_of(files: dict[str, bytes]) -> ElementTree.Element:
    return ElementTree.fromstring(files["figures/states.svg"])


def groups(root: ElementTree.Element) -> set[str]:
    return {element.attrib["id"] for element in root.iter() if "id" in element.attrib}


def texts(root: ElementTree.Element) -> list[str]:
    return ["".join(element.itertext()).strip() for element in root.iter(f"{SVG}text")]


# --- what is drawn --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "drawn", "written"),
    [
        ("one", {"tolerance", "floor", "distance"}, {"x", "time", "v stays above", "at most"}),
        ("two", {"tolerance", "floor", "distance", "box"},
         {"position", "speed", "v ends above", "at most 0.6"}),
    ],
)  # fmt: skip
def test_the_figure_holds_every_element_and_names_it(
    name: str, drawn: set[str], written: set[str]
) -> None:
    root = svg_of(files_of(name))
    shared = {"region", "levels", "level", "beyond", "relaxed", "schedule", "start", "target"}
    assert shared | drawn <= groups(root)
    legend = {"region K", "levels of v", "relaxed control", "schedule, depth 8", "target",
              "tolerance", "structural floor", "start", "out of reach"}  # fmt: skip
    assert legend | written <= set(texts(root))
    title, words = root.find(f"{SVG}title"), root.find(f"{SVG}desc")
    assert title is not None and title.text == "The states' paths"
    assert words is not None and words.text
    assert "misses the target by at most" in words.text


def test_a_png_stands_beside_the_svg() -> None:
    assert files_of("one")["figures/states.png"].startswith(b"\x89PNG\r\n\x1a\n")


def test_the_page_shows_and_explains_it() -> None:
    for name in ("one", "two"):
        elements = read_html(files_of(name)["report.html"])
        section = only(elements, "section", id="states")
        for piece in ("Paths", "Region K", "Levels", "Target", "hatched is out of reach"):
            assert piece in section.text
        assert ("as it is at the end" in section.text) == (name == "two")
        identifiers = [e.attributes["id"] for e in elements if "id" in e.attributes]
        assert len(identifiers) == len(set(identifiers))
        page = files_of(name)["report.html"].decode()
        assert "url(#states-" in page  # the hatching, by its own identifier
        assert page.count("url(#") == page.count("url(#states-") + page.count("url(#interval-") + (
            page.count("url(#frontier-")
        )


def test_the_same_study_gives_the_same_bytes() -> None:
    document, context = document_of(ONE, ONE_CLAIMS, bracket=(1, 1)), context_of(
        ONE, ONE_CLAIMS, states=("x",)
    )  # fmt: skip
    again = draw(document, context)
    for kind in ("svg", "png"):
        assert again[f"figures/states.{kind}"] == files_of("one")[f"figures/states.{kind}"]


def test_a_functional_draws_a_line_and_forcings_a_path() -> None:
    files = draw(document_of(TURNING, [affine_claim()], bracket=("3/5", "5/4")),
                 context_of(TURNING, [affine_claim()]))  # fmt: skip
    root = svg_of(files)
    assert {"wall", "relaxed", "floor"} <= groups(root)
    assert not {"region", "levels", "beyond", "schedule"} & groups(root)
    assert {"z1", "z2", "reachable up to"} <= set(texts(root))


def test_a_declared_floor_is_called_so() -> None:
    files = draw(document_of(ONE, [schedule(1, (0, 2))], bracket=(1, 2)),
                 context_of(ONE, [schedule(1, (0, 2))]))  # fmt: skip
    assert "declared floor" in texts(svg_of(files))


def test_names_of_the_user_are_text_and_nothing_else() -> None:
    hostile = ('<b>$x^2$ & "', "\u202eevil\U0001f480")
    document = document_of(TWO, TWO_CLAIMS)
    files = render(document, context_of(TWO, TWO_CLAIMS, states=hostile))
    written = texts(svg_of(files))
    assert '<b>$x^2$ & "' in written  # neither markup nor mathematics
    assert "\ufffdevil\ufffd" in written
    elements = read_html(files["report.html"])
    figure = [e for e in elements if e.tag == "b" and "figure" in e.path]
    assert not figure
    identifiers = [e.attributes["id"] for e in elements if "id" in e.attributes]
    assert len(identifiers) == len(set(identifiers))


def test_long_names_are_cut() -> None:
    drawn = plot_of(ONE, ONE_CLAIMS, states=(HOSTILE,))
    assert drawn is not None
    assert len(drawn.names[0]) <= 24


# --- when there is no figure ----------------------------------------------------------------------


def test_no_figure_without_a_claim_to_draw() -> None:
    assert plot_of(ONE, []) is None
    assert plot_of(ONE, [observable()]) is None
    assert "figures/states.svg" not in draw(document_of(ONE, []), context_of(ONE, []))


def test_no_figure_without_the_context() -> None:
    assert "figures/states.svg" not in draw(document_of(ONE, ONE_CLAIMS))


def test_no_figure_of_three_states_or_of_a_lifted_system() -> None:
    three = polynomial_question([["1", "0", "0"]], [1, 1, 1])
    assert plot_of(three, [relaxed(1, (1, (1,)))]) is None
    assert plot_of(make_question([1], [[0]], L2), [relaxed(1, (1, (1,)))]) is None


def test_no_figure_where_the_arrays_are_missing() -> None:
    target = dataclasses.replace(
        TURNING.target, values=StoredArray("stored", "c" * 64, "<f8", (2,))
    )
    question = dataclasses.replace(TURNING, target=target)
    assert plot_of(question, [affine_claim()]) is None


# --- which claim is drawn -------------------------------------------------------------------------


def test_the_best_claims_are_drawn() -> None:
    weak = value_function("1/2 - z1", 1, "1/4")
    discrete = value_function("9 - z1", 1, 3, depth=8)
    drawn = plot_of(ONE, [discrete, support(), weak, *ONE_CLAIMS, relaxed(3, (1, (0, 1)))])
    assert drawn is not None and drawn.shade is not None and drawn.relaxed is not None
    assert drawn.shade.symbol == "v"
    assert drawn.shade.level == 1.0
    assert drawn.relaxed.path.end == pytest.approx((1.0,))


def test_the_schedule_of_the_best_depth_is_drawn_else_the_closest() -> None:
    claims: list[Claim] = [schedule(2, (0, 4)), schedule(1, (0, 8)), schedule("3/2", (0, 6))]
    at_best = plot_of(ONE, claims, best_depth=4, verdict="certified_feasible")
    closest = plot_of(ONE, claims)
    assert at_best is not None and at_best.schedule is not None
    assert at_best.schedule.depth == 4
    assert closest is not None and closest.schedule is not None
    assert closest.schedule.depth == 8


def test_the_schedule_to_run_is_drawn_before_any_claim() -> None:
    plan = {"schedule": [0, 0, 1, 0], "error": "3/2", "depth": 4}
    document = {**document_of(ONE, [schedule(1, (0, 8))]), "plan": plan}
    drawn = state_plot(document, context_of(ONE, [schedule(1, (0, 8))]))
    assert drawn is not None and drawn.schedule is not None
    assert (drawn.schedule.depth, drawn.schedule.upper) == (4, Fraction(3, 2))
    assert drawn.schedule.path.end == (0.5,)


def test_no_level_binds_where_the_claim_is_about_one_depth() -> None:
    discrete = value_function("(1 + t - z1)^2", 1, 1, depth=8)
    root = svg_of(draw(document_of(ONE, [discrete]), context_of(ONE, [discrete])))
    assert "levels" in groups(root)
    assert not {"level", "beyond"} & groups(root)


def test_blocks_are_drawn_as_their_sum_less_the_coupling() -> None:
    drawn = plot_of(TWO, [blocks()])
    assert drawn is not None and drawn.shade is not None
    assert drawn.shade.level == pytest.approx(2 - 11 / 24)
    assert drawn.shade.function.at((0.0, 0.25, 0.5)) == pytest.approx(0.75**2 + 0.5**2)
    assert drawn.shade.box == ((-0.5, -0.5), (0.5, 0.5))


def test_the_drawn_path_keeps_to_the_drawn_level() -> None:
    drawn = plot_of(ONE, ONE_CLAIMS)
    assert drawn is not None and drawn.shade is not None and drawn.relaxed is not None
    path = drawn.relaxed.path
    for t, z in zip(path.times, path.states, strict=True):
        assert drawn.shade.function.at((t, *z)) >= drawn.shade.level - 1e-9


def test_the_wall_lies_between_what_is_reached_and_the_target() -> None:
    drawn = plot_of(ONE, [support(), relaxed(1, (1, (1, 0)))])
    assert drawn is not None and drawn.wall is not None and drawn.relaxed is not None
    assert drawn.wall.normal == (1.0,)
    assert drawn.relaxed.path.end[0] <= drawn.wall.offset + 1e-9 < drawn.target[0]


# --- sizes ----------------------------------------------------------------------------------------


def test_a_state_that_grows_beyond_bounds_is_cut_off_and_misses_nothing() -> None:
    bursting = polynomial_question([["z1^2"]], [2], [1], horizon=3)
    claims: list[Claim] = [relaxed(1, (3, (1,)))]
    drawn = plot_of(bursting, claims)
    assert drawn is not None and drawn.relaxed is not None
    assert not drawn.relaxed.path.finished
    root = svg_of(draw(document_of(bursting, claims), context_of(bursting, claims)))
    assert "distance" not in groups(root)


@pytest.mark.parametrize("text", ["1e300*z1^2 + t", "1e200*z1^60 - 1e250", "0*t", "7"])
def test_any_value_function_is_drawn_or_left_out(text: str) -> None:
    claims: list[Claim] = [value_function(text, 1, 0), relaxed(1, (1, (1, 0)))]
    root = svg_of(draw(document_of(ONE, claims), context_of(ONE, claims)))
    assert "relaxed" in groups(root)


@pytest.mark.parametrize("size", ["1e90", "1e-90", "1e200"])
def test_any_size_of_numbers_is_drawn_or_left_out(size: str) -> None:
    question = polynomial_question([["1"], ["-1"]], [size])
    claims: list[Claim] = [relaxed(size, (1, (1, 0)))]
    files = draw(
        document_of(question, claims, tolerance="1e300"), context_of(question, claims)
    )  # fmt: skip
    assert ("figures/states.svg" in files) == (size != "1e200")


def test_controls_and_functions_beyond_the_limits_are_not_drawn() -> None:
    problem = Subject(ONE, {}).polynomial(0)
    assert euler_path(problem, [(0, 10**12)]) is None
    control = relaxed(1, *((Fraction(k, 2000), (1, 0)) for k in range(1, 2001))).control
    assert relaxed_path(problem, control.pieces) is None
    orders = itertools.product(range(29), repeat=3)
    terms = {key: Fraction(1) for key in orders if sum(key) <= 28}
    large = value_function("z1", 2, 0, value_function=from_terms(terms))
    assert len(terms) > MAX_TERMS
    assert plot_of(TWO, [large]) is None


# --- floats against exact numbers -----------------------------------------------------------------

RATIONAL = st.fractions(min_value=-2, max_value=2, max_denominator=8)


@given(
    st.dictionaries(st.tuples(*[st.integers(0, 3)] * 3), RATIONAL, max_size=6),
    st.tuples(RATIONAL, RATIONAL, RATIONAL),
)
def test_a_float_polynomial_has_the_exact_values(
    terms: dict[tuple[int, ...], Fraction], point: tuple[Fraction, ...]
) -> None:
    exact: Polynomial = from_terms(terms)
    near = FloatPolynomial(exact)
    place = [float(x) for x in point]
    truth = float(exact.at(point))
    assert near.at(place) == pytest.approx(truth, abs=1e-9)
    arrays = [np.full((2, 2), x) for x in place]
    assert near.on(*arrays) == pytest.approx(np.full((2, 2), truth), abs=1e-9)


@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(1, 3)), min_size=1, max_size=4),
    st.tuples(RATIONAL, RATIONAL),
)
def test_an_euler_path_follows_the_exact_steps(
    runs: list[tuple[int, int]], start: tuple[Fraction, Fraction]
) -> None:
    question = polynomial_question(
        [["1 - t", "z1"], ["-z2", "1/2"], ["z1*z2", "0"]], [0, 0], list(start)
    )
    problem = Subject(question, {}).polynomial(0)
    path = euler_path(problem, runs)
    assert path is not None
    atoms = [atom for atom, repeats in runs for _ in range(repeats)]
    step, state = Fraction(1, len(atoms)), tuple(start)
    for k, atom in enumerate(atoms):
        slope = [part.at((k * step, *state)) for part in problem.atoms[atom]]
        state = tuple(z + step * s for z, s in zip(state, slope, strict=True))
    assert len(path.times) == len(atoms) + 1
    assert path.end == pytest.approx(tuple(map(float, state)), abs=1e-9)


def test_a_relaxed_path_ends_where_decay_and_forcing_lead() -> None:
    """x' = -x + b(t) with b = 1 up to 1/2 and 2 t afterwards."""
    question = affine_question([forcing((0, [[1]]), ("1/2", [[0], [2]])), [0]], [0], rate=-1)
    problem = Subject(question, {}).affine(0)
    control = relaxed(1, (1, (1, 0))).control
    path = relaxed_path(problem, control.pieces)
    half = 1 - np.exp(-0.5)
    # 2 t - 2 solves the second part; the difference to it decays.
    truth = (half - (2 * 0.5 - 2)) * np.exp(-0.5) + (2 * 1 - 2)
    assert path is not None and path.finished
    assert path.end[0] == pytest.approx(truth, abs=1e-9)


def test_mixed_weights_mix_the_fields() -> None:
    problem = Subject(TWO, {}).polynomial(0)
    control = relaxed(1, (1, ("3/4", "1/4", 0))).control
    path = relaxed_path(problem, control.pieces)
    assert path is not None
    assert path.end == pytest.approx((0.5, 0.25))


NORMS: list[Norm] = [
    L1, L2, LINF, block_l2(1), block_l2(2), weighted_linf(2, "1/3"), weighted_l1("1/5", 4),
]  # fmt: skip


@pytest.mark.parametrize("norm", NORMS, ids=lambda norm: norm.kind)
def test_the_tolerance_ball_is_the_ball_of_the_norm(norm: Norm) -> None:
    x, y = unit_ball(norm)
    assert (x[0], y[0]) == (x[-1], y[-1])
    corners = np.array([x, y]).T
    middles = (corners[1:] + corners[:-1]) / 2
    assert float_norm(norm, corners) == pytest.approx(np.ones(len(corners)))
    # A circle's chords lie a little inside, the sides of the other balls on the boundary.
    assert float_norm(norm, middles) == pytest.approx(np.ones(len(middles)), abs=1e-3)
