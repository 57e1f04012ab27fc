"""Piecewise systems: lowering of maps, regions and atoms, and everything that is refused."""

from __future__ import annotations

import copy
import dataclasses
import io
import json
import math
from collections.abc import Mapping
from fractions import Fraction
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from piecewise_questions import INSTANCE, matrix_question
from piecewise_specs import DISK, PIECEWISE, RELU, SOFT, matching, network, put, with_atom
from spec_examples import LIFTED, changed, load, premise, problems

from qreplace.errors import InputError, SpecError
from qreplace.exact.document import sha256_hex
from qreplace.question import model as q
from qreplace.question.arrays import inline_array
from qreplace.question.maps import homogeneous
from qreplace.question.model import read_question
from qreplace.question.subject import Subject
from qreplace.spec import load_spec, load_spec_bytes
from qreplace.spec.lower import lower
from qreplace.spec.model import Spec
from qreplace.spec.resolve import resolve
from qreplace.spec.shapes import shape_findings
from qreplace.spec.side_files import SideFiles

EXAMPLES = Path(__file__).parent.parent.parent / "examples"


def question(tree: Any, files: Mapping[str, bytes] | None = None) -> q.Question:
    """The question of a tree, which also survives being written and read."""
    asked = load(tree, files).question
    assert read_question(asked.to_bytes()) == asked
    return asked


def rows(*values: Any) -> q.InlineArray:
    """A matrix of a question."""
    flat = [Fraction(value) for row in values for value in row]
    return inline_array((len(values), len(values[0])), flat)


# --- the published instance ---------------------------------------------------------------------


def test_the_example_is_the_published_instance() -> None:
    loaded = load_spec(EXAMPLES / "matrix-matching.yaml")
    published = matrix_question(
        tube=None, costs=loaded.question.costs, domain=q.FullDomain("full", None, None)
    )
    assert loaded.question == published
    assert isinstance(published.target, q.ScheduleTarget)
    assert list(published.target.schedule) == INSTANCE["H32"]
    assert [atom.name for atom in loaded.labels.atoms] == ["stretch, 4 bits", "rotate, 4 bits"]
    costs = loaded.question.costs
    depths = [depth for depth in (4, 8) if costs.codebook + costs.schedule_bit * depth == 80]
    assert depths == [8]


def test_the_example_needs_no_witnesses_and_takes_them() -> None:
    tree = matching({"kind": "schedule", "atoms": "target", "steps": "01"})
    tree["objective"]["domain"] = {"kind": "full", "inputs": [[0, 1], ["3/5", "4/5"]]}
    problem = Subject(question(tree), {}).piecewise(0)
    assert problem.witnesses == ((0, 1, 1), (3, 4, 5))


# --- lowering -----------------------------------------------------------------------------------


def test_atoms_and_their_defaults() -> None:
    full = {
        **SOFT,
        "kind": "piecewise",
        "bias": [1, 2, 3],
        "input_weights": [[1, 0], [0, 1], [1, 1]],
        "state_weights": [[0, 0], [0, 1], [1, 0]],
        "thresholds": [0, "1/2", 1],
        "output_weights": [[1, 0, 1], [0, 1, 0]],
        "state_matrix": [[0, 1], [-1, 0]],
        "leak": "-1/3",
        "offset": [0, "1/7"],
    }
    state_only = {"activation": "identity", "state_weights": [[1, 2], [3, 4]]}
    tree = changed(
        PIECEWISE, dictionary={**LIFTED["dictionary"], "atoms": [full, RELU, state_only]}
    )
    asked = question(tree)
    assert isinstance(asked.dictionary, q.ListedDictionary)
    first, second, third = asked.dictionary.atoms
    assert first == q.PwaAtom(
        kind="pwa",
        activation="soft_threshold",
        input_weights=rows([1, 0], [0, 1], [1, 1]),
        state_weights=rows([0, 0], [0, 1], [1, 0]),
        bias=inline_array((3,), [Fraction(n) for n in (1, 2, 3)]),
        thresholds=inline_array((3,), [Fraction(0), Fraction(1, 2), Fraction(1)]),
        output_weights=rows([1, 0, 1], [0, 1, 0]),
        state_matrix=rows([0, 1], [-1, 0]),
        leak=Fraction(-1, 3),
        offset=inline_array((2,), [Fraction(0), Fraction(1, 7)]),
    )
    weights = rows([0, -1], [1, 0])
    assert second == q.PwaAtom(
        "pwa", "relu", weights, None, None, None, None, None, Fraction(1), None
    )
    zeros, state = rows([0, 0], [0, 0]), rows([1, 2], [3, 4])
    assert third == q.PwaAtom(
        "pwa", "identity", zeros, state, None, None, None, None, Fraction(0), None
    )
    fields = Subject(asked, {}).piecewise(0).fields
    assert [len(f.bias) for f in fields] == [3, 2, 2]


@pytest.mark.parametrize(
    ("activation", "leak", "residual"),
    [("soft_threshold", 1, 1), ("relu", 0, 1), ("identity", 0, 1)],
)
def test_the_leak_that_is_left_out(activation: str, leak: int, residual: int) -> None:
    """1 for a soft threshold and in every layer, else 0."""
    atom: dict[str, Any] = {"activation": activation, "input_weights": [[1, 0], [0, 1]]}
    if activation == "soft_threshold":
        atom["thresholds"] = 0
    asked = question(changed(with_atom(atom), target={"kind": "network", "layers": [atom]}))
    assert isinstance(asked.dictionary, q.ListedDictionary)
    assert asked.dictionary.atoms[0].leak == leak  # type: ignore[union-attr]
    assert isinstance(asked.target, q.NetworkTarget)
    assert asked.target.layers[0].leak == residual


def test_a_network_maps_its_inputs() -> None:
    """A ReLU network with a hidden layer of three and a residual layer, at a point."""
    layers: list[dict[str, Any]] = [
        {"activation": "relu", "input_weights": [[1, 0], [0, 1], [1, -1]], "bias": [0, -1, 0]},
        {"activation": "relu", "state_weights": [[1, 1, 0], [0, 0, 1]]},
        {"activation": "identity", "state_weights": [[0, 1], [1, 0]], "leak": 0, "offset": [1, 0]},
    ]
    asked = question(changed(network(*layers), initial_state=[5, 5]))
    target = Subject(asked, {}).piecewise(0).target
    x, y = Fraction(3), Fraction(2)
    hidden: list[Any] = [max(x, 0), max(y - 1, 0), max(x - y, 0)]
    middle: list[Any] = [max(hidden[0] + hidden[1], 0), max(hidden[2], 0)]
    expected = (middle[0] + middle[1] + 1, middle[1] + middle[0])
    assert target.value(homogeneous([x, y])) == expected


@pytest.mark.parametrize("steps", ["0110", "01 10", " 0 1 1 0 ", [0, 1, 1, 0]])
def test_steps_are_digits_or_numbers(steps: Any) -> None:
    asked = question(put(PIECEWISE, "/target/steps", steps))
    assert asked == question(PIECEWISE)
    assert isinstance(asked.target, q.ScheduleTarget)
    assert asked.target.schedule == (0, 1, 1, 0)


def test_long_schedules_and_many_atoms() -> None:
    deep = question(put(PIECEWISE, "/target/steps", "01" * 64))
    assert len(deep.target.schedule) == 128  # type: ignore[union-attr]
    question(put(PIECEWISE, "/target/steps", "0" * 1024))
    atoms = [SOFT] * 12
    tree = changed(PIECEWISE, target={"kind": "schedule", "atoms": atoms, "steps": [11, 0, 10]})
    assert question(tree).target.schedule == (11, 0, 10)  # type: ignore[union-attr]


def test_a_comparator_is_a_map_or_a_premise() -> None:
    borrowed = question(matching({"kind": "schedule", "atoms": "target", "steps": "01"}))
    own = question(matching({"kind": "schedule", "atoms": [SOFT, RELU], "steps": [0, 1]}))
    assert own == borrowed
    assert isinstance(own.objective, q.AccuracyMatching)
    assert isinstance(own.target, q.ScheduleTarget)
    assert own.objective.comparator == q.ScheduleTarget("schedule", own.target.atoms, (0, 1))
    whole = question(matching({"kind": "network", "layers": [RELU]}))
    assert isinstance(whole.objective, q.AccuracyMatching)
    assert whole.objective.comparator == q.NetworkTarget("network", (own.target.atoms[1],))
    assert Subject(whole, {}).piecewise(0).comparator is not None
    for declared in ("1/9", {"lo": "1/10", "hi": "1/9"}, premise("1/9")):
        known = question(matching(declared)).objective.comparator  # type: ignore[union-attr]
        assert known.upper == Fraction(1, 9)  # type: ignore[union-attr]


REGIONS: list[tuple[dict[str, Any], Any]] = [
    (DISK, q.BallRegion("ball", None, Fraction(1))),
    (
        {"kind": "ball", "radius": "1/2", "center": [1, 2]},
        q.BallRegion("ball", inline_array((2,), [Fraction(1), Fraction(2)]), Fraction(1, 2)),
    ),
    (
        {"kind": "box", "lower": [-1, 0], "upper": [1, 2]},
        q.BoxRegion(
            "box",
            inline_array((2,), [Fraction(-1), Fraction(0)]),
            inline_array((2,), [Fraction(1), Fraction(2)]),
        ),
    ),
    (
        {"kind": "polygon", "vertices": [[0, 0], [1, 0], [0, 1]]},
        q.PolygonRegion("polygon", rows([0, 0], [1, 0], [0, 1])),
    ),
    (
        {"kind": "polytope", "normals": [[-1, 0], [0, -1], [1, 1]], "offsets": [0, 0, 1]},
        q.PolytopeRegion(
            "polytope",
            rows([-1, 0], [0, -1], [1, 1]),
            inline_array((3,), [Fraction(n) for n in (0, 0, 1)]),
        ),
    ),
]


@pytest.mark.parametrize(("region", "expected"), REGIONS, ids=[r["kind"] for r, _ in REGIONS])
def test_regions(region: dict[str, Any], expected: Any) -> None:
    asked = question(put(PIECEWISE, "/system/region", region))
    assert asked.system == q.PwaSystem("pwa", 2, 2, expected)
    assert Subject(asked, {}).piecewise(0).region is not None


def test_what_people_call_things_names_no_study() -> None:
    named = copy.deepcopy(PIECEWISE)
    named["target"]["name"] = "reference"
    named["dictionary"]["atoms"][0] = {
        **SOFT,
        "kind": "piecewise",
        "name": "soft",
        "recipe": "by hand",
    }
    named["system"]["region"] = {"kind": "ball", "radius": 1}
    named["initial_state"] = "zero"
    named["synthesis"] = "computed"
    loaded = load(named)
    assert loaded.question.study_id == question(PIECEWISE).study_id
    assert loaded.labels.target == "reference"
    assert (loaded.labels.atoms[0].name, loaded.labels.atoms[0].recipe) == ("soft", "by hand")
    other = put(PIECEWISE, "/dictionary/atoms/0/thresholds", "1/5")
    assert question(other).study_id != question(PIECEWISE).study_id


@pytest.mark.parametrize("norm", ["linf", "l1", "l2", {"kind": "weighted_l1", "weights": [1, 2]}])
def test_every_norm_fits_the_full_domain(norm: Any) -> None:
    asked = question(put(PIECEWISE, "/objective/norm", norm))
    assert isinstance(asked.domain, q.FullDomain)


def test_witnesses_in_place_of_a_region() -> None:
    tree = put(
        PIECEWISE, "/objective/domain", {"kind": "witnesses", "inputs": [[1, 2], [-7, "1/2"]]}
    )
    tree = put(tree, "/system/region", None)
    problem = Subject(question(tree), {}).piecewise(0)
    assert problem.region is None
    assert problem.witnesses == ((1, 2, 1), (-14, 1, 2))


def test_each_code_has_its_own_atoms() -> None:
    code = {"bits": 3, "dictionary": {"bits": 2, "learned": True, "atoms": [RELU]}}
    tree = changed(PIECEWISE, metadata={"kind": "codes", "codes": [code]})
    subject = Subject(question(tree), {})
    assert [len(subject.piecewise(bits).fields) for bits in (3,)] == [1]
    broken = put(tree, "/metadata/codes/0/dictionary/atoms/0/input_weights", [[1]])
    (problem,) = problems(broken)
    assert problem.pointer == "/metadata/codes/0/dictionary/atoms/0/input_weights"


# --- side files ---------------------------------------------------------------------------------


def npy(values: Any, dtype: str) -> bytes:
    stream = io.BytesIO()
    np.save(stream, np.array(values, dtype=dtype))
    return stream.getvalue()


def test_floats_of_side_files_are_exact_dyadics() -> None:
    weights, corners = npy([[0.65, 0], [0, 0.65]], "<f4"), npy([[0, 0], [1, 0], [0, 1]], "<i2")
    files = {"w.npy": weights, "v.npy": corners}
    named = {name: {"path": name, "sha256": sha256_hex(data)} for name, data in files.items()}
    tree = put(PIECEWISE, "/dictionary/atoms/0/input_weights", named["w.npy"])
    tree = put(tree, "/target/atoms/1/input_weights", named["w.npy"])
    tree = put(tree, "/system/region", {"kind": "polygon", "vertices": named["v.npy"]})
    loaded = load(tree, files)
    problem = Subject(loaded.question, loaded.arrays).piecewise(0)
    field = problem.fields[0]
    assert Fraction(field.input_weights[0][0], field.inner) == Fraction(5452595, 8388608)
    written = put(PIECEWISE, "/dictionary/atoms/0/input_weights", "DECIMALS")
    data = json.dumps(written).replace('"DECIMALS"', "[[0.65, 0], [0, 0.65]]").encode()
    exact = Subject(load(data).question, {}).piecewise(0).fields[0]
    assert Fraction(exact.input_weights[0][0], exact.inner) == Fraction(13, 20)
    (missing,) = problems(tree, {"w.npy": weights})
    assert missing.pointer == "/system/region/vertices"
    found = problems(tree, {"v.npy": corners})
    pointers = ["/target/atoms/1/input_weights", "/dictionary/atoms/0/input_weights"]
    assert sorted(p.pointer for p in found) == sorted(pointers)


def test_thresholds_and_region_of_side_files_are_read() -> None:
    levels, ends = npy([0.5, -0.25], "<f8"), npy([1, 1], "<f8")
    files = {"t.npy": levels, "e.npy": ends}
    named = {name: {"path": name, "sha256": sha256_hex(data)} for name, data in files.items()}
    tree = put(PIECEWISE, "/dictionary/atoms/0/thresholds", named["t.npy"])
    box = {"kind": "box", "lower": named["e.npy"], "upper": [2, 1]}
    found = problems(put(tree, "/system/region", box), files)
    assert [(p.pointer, p.message) for p in found] == [
        (
            "/system/region/upper",
            "needed lower < upper for every input, received 1 and 1 at index 1",
        ),
        (
            "/dictionary/atoms/0/thresholds",
            "needed thresholds that are at least 0, received -1/4 at index 1",
        ),
    ]


# --- the places agree with what forms the maps --------------------------------------------------

_EXTENTS = st.sampled_from([1, 2, 2, 3])


@st.composite
def _atoms(draw: st.DrawFn) -> dict[str, Any]:
    """An atom whose arrays have mostly, but not always, fitting shapes."""
    activation = draw(st.sampled_from(["soft_threshold", "relu", "identity"]))
    width = draw(st.sampled_from([2, 2, 3]))

    def extent(usual: int) -> int:
        return usual if draw(st.integers(0, 11)) else draw(_EXTENTS)

    def matrix(height: int, length: int) -> list[list[int]]:
        shape = extent(height), extent(length)
        return [[1] * shape[1] for _ in range(shape[0])]

    atom: dict[str, Any] = {"activation": activation}
    if draw(st.booleans()):
        atom["state_weights"] = matrix(width, draw(st.sampled_from([2, 2, 3])))
    if "state_weights" not in atom or draw(st.booleans()):
        atom["input_weights"] = matrix(width, 2)
    if width != 2 or draw(st.booleans()):
        atom["output_weights"] = matrix(draw(st.sampled_from([2, 2, 3])), width)
    if draw(st.booleans()):
        atom["bias"] = [1] * extent(width)
    if draw(st.booleans()):
        atom["offset"] = [1] * extent(2)
    if not draw(st.integers(0, 3)):
        atom["state_matrix"] = matrix(2, 2)
    if draw(st.booleans()):
        atom["leak"] = draw(st.sampled_from([0, 1, "1/2"]))
    if activation == "soft_threshold":
        atom["thresholds"] = draw(st.sampled_from([0, "1/2", [0, 1], [1] * width, "-1/2"]))
    return atom


@given(st.lists(_atoms(), min_size=1, max_size=3), st.booleans(), st.booleans())
def test_what_is_found_is_what_cannot_be_formed(
    layers: list[dict[str, Any]], as_network: bool, as_target: bool
) -> None:
    """A finding exactly where ``Subject.piecewise`` refuses: nothing more and nothing less."""
    tree = copy.deepcopy(PIECEWISE)
    if as_network:
        tree["target"] = {"kind": "network", "layers": layers}
    elif as_target:
        tree["target"] = {"kind": "schedule", "atoms": layers, "steps": "0"}
    else:
        tree["dictionary"]["atoms"] = layers
    spec = Spec.model_validate(json.loads(json.dumps(tree)))
    resolved = resolve(spec, SideFiles(None, {}))
    assert not resolved.findings
    found = shape_findings(spec, resolved)
    asked, _ = lower(spec, resolved)
    try:
        Subject(asked, {}).piecewise(0)
    except InputError:
        assert found
    else:
        assert not found
        assert load(tree).question == asked


@given(
    st.lists(
        st.tuples(*[st.integers(-2, 2)] * 3).filter(lambda row: any(row[:2])),
        min_size=2,
        max_size=6,
    )
)
def test_a_polytope_is_accepted_where_it_can_be_formed(faces: list[tuple[int, ...]]) -> None:
    region = {
        "kind": "polytope",
        "normals": [list(face[:2]) for face in faces],
        "offsets": [face[2] for face in faces],
    }
    tree = put(PIECEWISE, "/system/region", region)
    try:
        asked = load(tree).question
    except SpecError as error:
        assert [p.pointer for p in error.problems] == ["/system/region"]
        return
    found = Subject(asked, {}).piecewise(0).region
    assert found is not None
    low, high = found.box
    assert all(math.isfinite(float(b - a)) and a < b for a, b in zip(low, high, strict=True))


def test_a_box_of_many_inputs_is_accepted_without_its_corners() -> None:
    p = 2000
    atom = {"activation": "relu", "input_weights": [[1] * p]}
    tree = changed(
        PIECEWISE,
        objective={**PIECEWISE["objective"], "domain": {"kind": "full", "inputs": [[0] * p]}},
        system={
            "kind": "piecewise",
            "inputs": p,
            "dimension": 1,
            "region": {"kind": "box", "lower": [-1] * p, "upper": [1] * p},
        },
        target={"kind": "schedule", "atoms": [atom], "steps": "0"},
        dictionary={"bits": 1, "learned": False, "atoms": [atom]},
    )
    assert load(tree).question.system.inputs == p  # type: ignore[union-attr]
    tree["objective"]["domain"]["inputs"] = [[0] * (p - 1) + [2]]
    (problem,) = problems(tree)
    assert "row 0 outside it" in problem.message


def test_the_template_is_accepted() -> None:
    text = resources.files("qreplace.cli").joinpath("templates", "piecewise.yaml").read_bytes()
    loaded = load_spec_bytes(text, name="piecewise", base=None, media="yaml")
    assert loaded.labels.title
    problem = Subject(loaded.question, loaded.arrays).piecewise(0)
    assert (problem.inputs, problem.dimension) == (2, 2)


def test_the_question_of_the_example_can_be_changed_and_read_back() -> None:
    asked = load_spec(EXAMPLES / "matrix-matching.yaml").question
    other = dataclasses.replace(asked, horizon=Fraction(2))
    assert read_question(other.to_bytes()) == other != asked
