"""Figures of simulations: what is drawn, in the palette alone, the same every time, in words."""

from __future__ import annotations

import random
import re
import struct
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from xml.etree import ElementTree

import pytest

from qreplace.decision.controls import prefix_discrepancy
from qreplace.decision.schedules import chairman_schedule
from qreplace.errors import InputError
from qreplace.report.inline_svg import inline
from qreplace.report.palette import VARIABLES
from qreplace.simulate import figures
from qreplace.simulate.figures import (
    MAX_POINTS,
    DiscrepancyCurve,
    discrepancy_curve,
    heat_figure,
    lattice_figure,
    phase_figure,
    places_of,
    run_figure,
    run_path,
    switching_figure,
)
from qreplace.simulate.lattice import verify
from qreplace.simulate.model import Arithmetic, grid
from qreplace.simulate.phase import default_plan, default_system, heat, phase
from qreplace.simulate.phase_figure import _edges, _Levels

SVG = "{http://www.w3.org/2000/svg}"
DEPTHS = (4, 16, 64, 256, 1024, 4096, 16384)
WEIGHTS = (Fraction(1, 7), Fraction(2, 7), Fraction(4, 7))


def drawn_phase() -> dict[str, bytes]:
    return phase_figure(phase(replace(default_plan(), depths=DEPTHS)))


def drawn_heat() -> dict[str, bytes]:
    return heat_figure(heat(replace(default_plan(), depths=DEPTHS), [6, 10, 14]))


def drawn_run() -> dict[str, bytes]:
    system, weights = default_system()
    own = Arithmetic("error_feedback", "nearest_even", state=grid(Fraction(1, 64)))
    return run_figure(system, chairman_schedule(weights, 40), own)


def curves() -> list[DiscrepancyCurve]:
    schedule = chairman_schedule(WEIGHTS, 50)
    bound = Fraction(3, 4)
    turns = [k % 3 for k in range(50)]
    return [
        discrepancy_curve("chairman", [WEIGHTS], schedule, bound, "T2.2"),
        discrepancy_curve("in turn", [WEIGHTS], turns, None, ""),
    ]


def drawn_switching() -> dict[str, bytes]:
    return switching_figure(curves())


def drawn_lattice() -> dict[str, bytes]:
    return lattice_figure(verify(max_code=3, max_depth=3, ratios=(1, 2, 3), trials=2))


DRAWINGS: dict[str, Callable[[], dict[str, bytes]]] = {
    "phase": drawn_phase,
    "heat": drawn_heat,
    "run": drawn_run,
    "switching": drawn_switching,
    "lattice": drawn_lattice,
}


@lru_cache
def files(name: str) -> dict[str, bytes]:
    """The files of a figure, drawn once."""
    return DRAWINGS[name]()


def drawing(name: str) -> ElementTree.Element:
    return ElementTree.fromstring(files(name)[f"{name}.svg"])


def groups(name: str) -> set[str]:
    return {element.attrib["id"] for element in drawing(name).iter() if "id" in element.attrib}


def texts(name: str) -> list[str]:
    return ["".join(e.itertext()).strip() for e in drawing(name).iter(f"{SVG}text")]


def description(name: str) -> str:
    words = drawing(name).find(f"{SVG}desc")
    assert words is not None and words.text
    return words.text


@pytest.mark.parametrize("name", list(DRAWINGS))
def test_every_figure_has_words_and_a_png(name: str) -> None:
    assert set(files(name)) == {f"{name}.svg", f"{name}.png"}
    title = drawing(name).find(f"{SVG}title")
    assert title is not None and title.text
    assert len(description(name)) > 60
    data = files(name)[f"{name}.png"]
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    width, height = struct.unpack(">II", data[16:24])
    assert width > height > 300 if name != "run" else height > 600
    assert b"tIME" not in data and b"tEXt" not in data


@pytest.mark.parametrize("name", list(DRAWINGS))
def test_figures_use_the_palette_alone_so_a_dark_page_can_turn_them(name: str) -> None:
    svg = files(name)[f"{name}.svg"].decode()
    assert set(re.findall(r"#[0-9a-f]{6}\b", svg)) <= set(VARIABLES)
    turned = inline(svg.encode(), name)
    assert "var(--fig-ink" in turned and "<image" not in turned


@pytest.mark.parametrize("name", ["phase", "run"])
def test_the_same_data_gives_the_same_bytes(name: str) -> None:
    assert DRAWINGS[name]() == files(name)


def test_the_phase_figure_draws_errors_predictions_and_lines() -> None:
    measured = {"write_back", "increment", "error_feedback", "rounded_carry", "scaled_feedback"}
    expected = {f"measured-{curve}" for curve in measured}
    expected |= {f"predicted-{curve}" for curve in measured}
    assert expected | {"freezing", "optimum", "best"} <= groups("phase")
    found = texts("phase")
    assert any("frozen beyond D = 2TB/Δ = 11,605" in text for text in found)
    assert any("predicted optimum, D = 175" in text for text in found)
    assert "depth D (steps)" in found
    assert "no measured error exceeds" in description("phase")


def test_a_phase_figure_of_one_semantics_and_one_depth_is_drawn() -> None:
    plan = replace(default_plan(), depths=(8,), curves=("error_feedback",))
    svg = phase_figure(phase(plan))["phase.svg"].decode()
    assert "measured-error_feedback" in svg
    assert "freezing" not in svg and "optimum" not in svg


def test_the_heat_figure_has_its_lines_and_classes() -> None:
    assert {"freezing", "optimum"} <= groups("heat")
    found = texts("heat")
    assert "state bits" in found
    assert sum(text.startswith("error 1e") for text in found) >= 4
    assert "At 6 bits write-back is best at depth" in description("heat")


def test_classes_of_errors_cover_all_of_them() -> None:
    levels = _Levels.of([0.0, 3e-12, 2e-4, 0.9])
    assert levels.count <= 8
    assert levels.level(0.0) == levels.level(3e-12) == 0
    assert levels.level(0.9) == levels.count - 1
    assert 0 < levels.alpha(0) < levels.alpha(levels.count - 1)
    assert levels.alpha(levels.count - 1) == pytest.approx(1)
    assert _Levels.of([0.0]).words == ["error 1e0 to 1e1"]


def test_cell_borders_lie_between_the_centres() -> None:
    assert _edges([1.0, 2.0, 4.0]) == [0.5, 1.5, 3.0, 5.0]
    assert _edges([3.0]) == [2.5, 3.5]


def test_the_run_figure_shows_the_worst_coordinate_and_the_carry() -> None:
    assert {"ideal", "executed", "deviation"} <= groups("run")
    assert any("minus the carry" in text for text in texts("run"))
    system, weights = default_system()
    own = Arithmetic("error_feedback", "nearest_even", state=grid(Fraction(1, 64)))
    path = run_path(system, chairman_schedule(weights, 40), own)
    # An exact field: what rounding has added up to is minus the carry, below half a step.
    assert max(map(abs, path.deviation)) <= 1 / 128
    assert path.executed[-1] != path.ideal[-1]
    assert len(path.times) == 41 and path.times[-1] == 1.0


def test_a_run_too_long_to_draw_is_refused() -> None:
    system, _ = default_system()
    own = Arithmetic("write_back", "nearest_even", state=grid(Fraction(1, 64)))
    with pytest.raises(InputError, match="too long to draw"):
        run_path(system, [0] * 30_000, own)


def test_places_are_thinned_with_both_ends() -> None:
    assert places_of(4) == [0, 1, 2, 3]
    found = places_of(100_000)
    assert len(found) == MAX_POINTS and (found[0], found[-1]) == (0, 99_999)


def test_the_switching_figure_has_each_rule_and_the_known_bounds() -> None:
    assert {"rule-chairman", "rule-in turn"} <= groups("switching")
    assert any("chairman: at most 0.75, T2.2" in text for text in texts("switching"))
    assert "in turn: the largest prefix discrepancy over 50 steps" in description("switching")


@pytest.mark.parametrize("depth", [1, 37, 2000])
def test_drawn_discrepancies_are_the_exact_ones(
    depth: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(figures, "CHUNK", 13)
    rng = random.Random(depth)
    schedule = [rng.randrange(3) for _ in range(depth)]
    curve = discrepancy_curve("any", [WEIGHTS], schedule, None, "")
    realised = prefix_discrepancy([WEIGHTS] * len(schedule), schedule)
    assert max(curve.values) == pytest.approx(float(realised.largest))
    assert len(curve.values) == len(curve.steps) <= MAX_POINTS
    assert curve.steps[-1] == depth
    rows = discrepancy_curve("rows", [WEIGHTS] * depth, schedule, None, "")
    assert rows.values == pytest.approx(curve.values)


def test_the_lattice_figure_has_a_panel_for_each_register() -> None:
    found = texts("lattice")
    for words in ("carry r, codes", "before rounding, codes", "increment q, codes",
                  "state z, codes", "bound (T4.10)", "largest code seen"):  # fmt: skip
        assert words in found
    assert "Carry r: 0 of 0 at ratio 1, 1 of 1 at ratio 2" in description("lattice")
