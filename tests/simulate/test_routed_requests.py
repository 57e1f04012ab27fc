"""``simulate routing``: measured events against exact ones, the document, the figure, refusals."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from random_routed import Case, Maker
from ruamel.yaml import YAML

from qreplace.errors import InputError, SpecError
from qreplace.report.palette import VARIABLES
from qreplace.simulate.outcome import Outcome, run
from qreplace.simulate.request import FORMAT, RoutingRequest, load_request, request_from
from qreplace.simulate.routed import route
from qreplace.simulate.routed_events import SCALES, changes, fine_data, measure
from qreplace.simulate.routed_figure import routing_figure
from qreplace.simulate.routed_runs import run_routing

F = Fraction
DOCUMENT = (Path(__file__).parents[2] / "docs" / "simulate.md").read_text("utf-8")
SHOWN = next(b for b in re.findall(r"```yaml\n(.*?)```", DOCUMENT, re.S) if "routing" in b)
STILL = {"offset": [0]}
TREE: dict[str, Any] = {
    "format": FORMAT,
    "kind": "routing",
    "system": {
        "initial_state": [0],
        "atoms": [[{"offset": [0]}, {"offset": ["1/4"]}]],
        "scores": {"offset": [0, "-1/2"], "drift": [0, 1]},
    },
    "depths": [8, 64],
    "target_steps": 1024,
}


def request(**changes: Any) -> RoutingRequest:
    found = request_from({**TREE, **changes}, "request")
    assert isinstance(found, RoutingRequest)
    return found


@lru_cache
def documented() -> Outcome:
    tree = YAML(typ="safe").load(SHOWN)
    return run(request_from(tree, "documentation"))


def test_the_request_of_the_documentation_keeps_the_theorem() -> None:
    found = documented().document
    assert found["label"] == "diagnostic"
    (event,) = found["events"]
    assert (event["leaving"], event["entering"]) == (0, 1)
    assert Fraction(event["gap_error"]) == F(1, 128) + 2 * F(1, 128)
    assert Fraction(event["gap_lipschitz"]) == F(1, 2)
    assert [row["depth"] for row in found["rows"]] == [16, 64, 256, 1024]
    for row in found["rows"]:
        assert row["premises_hold"] and row["failures"] == []
        assert row["outside_windows"] == 0
        assert Fraction(row["state_error"]) <= Fraction(row["bound"])
        step = F(1, row["depth"])
        for k in row["first_mismatches"]:
            width = Fraction(row["windows"][0])
            low, high = Fraction(event["time_low"]), Fraction(event["time_high"])
            assert low - width <= k * step <= high + width
    assert found["rows"][-1]["mismatches"] > 0


def test_the_numbers_are_those_of_the_simulator() -> None:
    """One event at t = 1/2, z = max(0, t - 1/2) / 4: everything is known by hand."""
    found = run_routing(request(noise="1/32", seed=3))
    assert found.measured is not None
    (event,) = found.measured.events
    assert event.time_low <= F(1, 2) <= event.time_high
    assert abs(event.slope - 1) < F(1, 100)
    assert event.jump == F(1, 4)
    assert event.gap_error == F(1, 16) and found.measured.score_error == F(1, 32)
    assert event.gap_lipschitz == found.measured.score_lipschitz == 0
    half = event.neighbourhood
    # The boundary gap just outside the neighbourhood is its half width: the slope is 1.
    assert abs(found.measured.outer_isolation - half / 2) < F(1, 100)
    for row in found.rows:
        times = np.arange(row.depth + 1) / row.depth
        target = np.maximum(0, times - 0.5)[:, np.newaxis] / 4
        assert np.abs(row.runs.target - target).max() < 1e-3
        assert row.gain is not None and row.gain.bound is not None
        own = row.gain.windows[0]
        assert own == event.gap_error / event.slope
        assert all(abs(k / row.depth - 0.5) <= float(own) + 1e-3 for k in row.runs.mismatches)
        assert row.outside == 0


def cases(count: int) -> list[Case]:
    maker, found = Maker(21, binary=True), []
    while len(found) < count:
        case = maker.case()
        if case is not None:
            found.append(case)
    return found


def test_measured_events_are_the_exact_ones() -> None:
    """On exact target paths, what is measured is near what is known."""
    for case in cases(40):
        steps = 4000
        times = np.arange(steps + 1) * (case.system.horizon / steps)
        places = np.array(case.places)
        states = np.stack([np.interp(times, case.corners, own) for own in places.T], axis=1)
        states[0] = case.system.initial
        supports = route(case.system, [0] * steps, states).target_supports
        path = fine_data(case.system, states, supports)
        found, irregular = changes(path)
        assert irregular == ""
        assert [(c.leaving, c.entering) for c in found] == [
            (s.leaving, s.entering) for s in case.swaps
        ]
        noise = F(case.noise)
        measured = measure(path, found, SCALES[0], noise, 0.5)
        halves = [float(event.neighbourhood) for event in measured.events]
        same = replace(
            case, swaps=tuple(replace(s, half=h) for s, h in zip(case.swaps, halves, strict=True))
        )
        for r, (event, known) in enumerate(zip(measured.events, same.events(0.5), strict=True)):
            assert event.time_low <= known.time_low <= event.time_high + F(1, 10**9)
            assert abs(1 - event.slope / known.slope) < F(1, 20)
            for name in ("jump", "gap_error", "gap_lipschitz"):
                one, other = getattr(event, name), getattr(known, name)
                assert abs(one - other) <= F(1, 100) * other + F(1, 10**9), (name, r)
            if known.isolation < 1000:
                assert abs(event.isolation - max(F(0), known.isolation)) <= F(1, 50)
        assert abs(float(measured.outer_isolation) - max(0.0, same.outer_isolation)) < 0.05
        assert float(measured.score_error) == pytest.approx(same.eta, rel=1e-6)
        assert float(measured.score_lipschitz) == pytest.approx(same.score_lipschitz)


def test_a_failing_premise_is_named_and_claims_nothing() -> None:
    tree = json.loads(json.dumps(TREE["system"]))
    tree["atoms"][0][1]["offset"] = [4]
    tree["scores"]["matrix"] = [[0], ["1/4"]]
    document = run_routing(request(system=tree)).document()
    for row in document["rows"]:
        assert not row["premises_hold"] and row["bound"] is None
        assert [own["premise"] for own in row["failures"]] == ["small_gain"]
    assert any("chi is at least 1" in note and "D = 8, 64" in note for note in document["notes"])


def test_a_route_without_events_is_about_its_margin() -> None:
    tree = {**TREE["system"], "scores": {"offset": [1, 0]}}
    found = run_routing(request(system=tree, noise="1/4"))
    assert found.found == () and not any(row.runs.mismatches for row in found.rows)
    assert any("never changes (T6.4): its margin is 1" in note for note in found.notes())
    block = YAML(typ="safe").load(found.premises())["routing"]
    assert block["kind"] == "frozen" and Fraction(block["margin"]["value"]) == 1
    assert routing_figure(found)["routing.svg"].startswith(b"<?xml")


@pytest.mark.parametrize(("scores", "top_k", "words"), [
    # Experts 0 and 1 leave together.
    ({"offset": [0, 0, "-1/2", "-1/2"], "drift": [0, 0, 1, 1]}, 2, "simultaneous"),
    # Expert 1 pushes the state down, expert 0 up, about the surface z = 0: the target slides.
    ({"offset": [0, 0], "matrix": [[0], [1]]}, 1, "chatters or slides"),
])  # fmt: skip
def test_routes_without_simple_events_are_said_to_be_so(
    scores: Any, top_k: int, words: str
) -> None:
    count = len(scores["offset"])
    fields = [{"offset": [1 - 2 * (e % 2)]} for e in range(count)]
    tree = {"initial_state": [0], "atoms": [fields], "scores": scores, "top_k": top_k}
    found = run_routing(request(system=tree))
    assert words in found.irregular
    assert found.document()["events"] == [] and found.premises() == ""
    assert all(row.gain is None and not row.holds for row in found.rows)
    assert words in found.text()
    assert routing_figure(found)["routing.svg"].startswith(b"<?xml")


def test_the_figure_shows_gaps_windows_errors_and_the_bound() -> None:
    files = documented().figures
    assert set(files) == {"routing.svg", "routing.png"}
    drawing = ElementTree.fromstring(files["routing.svg"])
    ids = {element.attrib["id"] for element in drawing.iter() if "id" in element.attrib}
    wanted = {"target-0", "executed-0", "oracle", "executed-error", "bound", "mismatches"}
    assert wanted | {"window-0"} <= ids
    svg = files["routing.svg"].decode()
    assert set(re.findall(r"#[0-9a-f]{6}\b", svg)) <= set(VARIABLES)
    words = drawing.find("{http://www.w3.org/2000/svg}desc")
    assert words is not None and words.text
    assert "0 of them outside the windows" in words.text and "The bound is" in words.text


def test_the_same_request_gives_the_same_answer() -> None:
    again = run(request_from(YAML(typ="safe").load(SHOWN), "documentation"))
    assert again.files() == documented().files()


@pytest.mark.parametrize(("changes", "where", "words"), [
    ({"depths": []}, "/depths", "1"),
    ({"noise": -1}, "/noise", "at least 0"),
    ({"target_steps": 8}, "/target_steps", "at least 16"),
    ({"schedule": {"steps": [0]}}, "/schedule", "relaxed system"),
    ({"schedule": {"all": True}}, "/schedule", "relaxed system"),
    ({"system": {**TREE["system"], "atoms": TREE["system"]["atoms"] * 2}}, "",
     "a schedule beside several atoms"),
    ({"system": {**TREE["system"], "top_k": 0}}, "/system/top_k", "at least 1"),
    ({"system": {**TREE["system"], "gates": [1, 0]}}, "/system/gates/1", "above 0"),
    ({"system": {**TREE["system"], "score": STILL}}, "/system/score", "'scores'"),
])  # fmt: skip
def test_bad_requests_are_told_what_is_needed(
    changes: dict[str, Any], where: str, words: str
) -> None:
    with pytest.raises(SpecError) as caught:
        request(**changes)
    found = [(problem.pointer, problem.message) for problem in caught.value.problems]
    assert any(pointer == where and words in message for pointer, message in found), found


@pytest.mark.parametrize(("changes", "words"), [
    ({"system": {**TREE["system"], "gates": [1]}}, "needed 2 gates"),
    ({"system": {**TREE["system"], "top_k": 3}}, "top_k is 3"),
    ({"system": {**TREE["system"], "scores": STILL}}, "atom 0 has 2 experts; needed 1"),
    ({"implemented": STILL}, "implemented score function has 1 rows"),
    ({"schedule": {"weights": ["1/2", "1/2"]}}, "needed 1 weights"),
    ({"schedule": {"weights": ["1/2"]}}, "sum to 1 exactly"),
    ({"depths": [3_000_000, 2_000_000]}, "coordinate steps"),
    ({"target_steps": 4_194_304, "system": {**TREE["system"],
      "atoms": [[STILL] * 4], "scores": {"offset": [0] * 4}}}, "needed at most 16777216 numbers"),
])  # fmt: skip
def test_requests_that_cannot_run_are_refused(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        run_routing(request(**changes))


def test_a_request_file_of_another_kind_is_refused(tmp_path: Path) -> None:
    source = tmp_path / "request.yaml"
    source.write_text(f"format: {FORMAT}\nkind: lattice\n", "utf-8")
    with pytest.raises(SpecError, match="the kind routing"):
        load_request(source, "routing")
