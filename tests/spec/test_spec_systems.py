"""Affine-dynamic and polynomial systems: lowering, engines and their hints, contradictions."""

from __future__ import annotations

import copy
import io
import json
import re
from fractions import Fraction
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from spec_examples import AFFINE, DECLARED, LIFTED, POLYNOMIAL, changed, load, premise, problems

from qreplace.exact.document import sha256_hex
from qreplace.exact.polynomial import ZERO, Polynomial, from_terms
from qreplace.question import model as q
from qreplace.question.arrays import inline_array
from qreplace.question.floor import MAX_BLOCKS, MAX_REGION
from qreplace.question.model import read_question
from qreplace.question.subject import Subject
from qreplace.question.system import MAX_FORCING_PIECES
from qreplace.spec import FloorBudget, load_spec_bytes
from qreplace.spec.blocks.floor import ENGINE_NAMES

SYSTEMS: dict[str, dict[str, Any]] = {
    "lifted_affine": LIFTED,
    "affine_dynamics": AFFINE,
    "polynomial": POLYNOMIAL,
}


def question(tree: Any) -> q.Question:
    """The question of a tree, which also survives being written and read."""
    asked = load(tree).question
    assert read_question(asked.to_bytes()) == asked
    return asked


def floor(tree: dict[str, Any], **keys: Any) -> dict[str, Any]:
    """The tree with a computed floor."""
    return changed(tree, structural_floor=keys)


def terms(**coefficients: Any) -> Polynomial:
    """``terms(c=1, xv=-2)``: a polynomial in t, x, v by the letters of its monomials."""
    found = {
        tuple(letters.count(name) for name in "txv"): Fraction(value)
        for letters, value in coefficients.items()
    }
    return from_terms(found)


# --- lowering -----------------------------------------------------------------------------------


def test_a_polynomial_system() -> None:
    loaded = load(POLYNOMIAL)
    asked = loaded.question
    assert asked.system == q.PolynomialSystem("polynomial", 2)
    assert asked.horizon == 2
    assert asked.initial is None
    assert isinstance(asked.dictionary, q.ListedDictionary)
    push, brake = asked.dictionary.atoms
    third = Fraction(-1, 3)
    assert push == q.PolynomialAtom("polynomial", (terms(v=1), terms(c=1, xvv=third)))
    assert brake == q.PolynomialAtom("polynomial", (terms(v=1), terms(c=-1)))
    assert loaded.labels.states == ("x", "v")
    problem = Subject(asked, {}).polynomial(0)
    assert problem.atoms == (push.field, brake.field)
    assert [*problem.initial, *problem.target] == [0, 0, 1, 0]


def test_states_by_their_number() -> None:
    numbered = changed(
        renamed(POLYNOMIAL, {"x": "z1", "v": "z2"}), system={"kind": "polynomial", "dimension": 2}
    )
    assert question(numbered) == question(POLYNOMIAL)
    assert load(numbered).labels.states == ("z1", "z2")
    assert load(LIFTED).labels.states == ()


def test_affine_dynamics() -> None:
    asked = question(AFFINE)
    matrix = inline_array((2, 2), [Fraction(n) for n in (0, 1, -1, 0)])
    assert asked.system == q.AffineDynamicsSystem("affine_dynamics", Fraction(-1, 2), matrix)
    assert isinstance(asked.dictionary, q.ListedDictionary)
    forcing = asked.dictionary.atoms[1]
    assert isinstance(forcing, q.ForcingAtom)
    assert [piece.start for piece in forcing.pieces] == [0, 1]
    problem = Subject(asked, {}).affine(0)
    assert list(problem.breaks) == [1]
    assert [problem.entry(i, j) for i in (0, 1) for j in (0, 1)] == [
        Fraction(-1, 2), 1, -1, Fraction(-1, 2),
    ]  # fmt: skip
    assert problem.denominator == 2
    first, second = problem.atoms[1]
    assert first.coefficients == ((0, 2), (1, 0))
    assert [second.start, second.end, *second.coefficients[0]] == [1, 2, 2, 2]


def test_a_bare_affine_system_only_integrates() -> None:
    for system in ("affine_dynamics", {"kind": "affine_dynamics", "rate": 0}):
        lowered = question(changed(AFFINE, system=system)).system
        assert lowered == q.AffineDynamicsSystem("affine_dynamics", Fraction(0), None)


def test_affine_dynamics_on_witnesses() -> None:
    objective = {**LIFTED["objective"], "domain": {"kind": "witnesses", "inputs": [[1, 2], [3, 4]]}}
    atoms = [
        {"kind": "linear_map", "weights": [[1, 0]]},
        {"kind": "quantized_linear", "codes": [[1, -2]], "scales": "1/2"},
    ]
    tree = changed(
        AFFINE,
        objective=objective,
        target={"kind": "linear_map", "weights": [[1, 1]]},
        dictionary={"bits": 2, "learned": False, "atoms": atoms},
        initial_state=[1, "1/2"],
    )
    problem = Subject(question(tree), {}).affine(0)
    assert problem.dimension == 2  # one output at two witnesses
    assert [Fraction(n, problem.denominator) for n in problem.target] == [3, 7]
    codes = problem.atoms[1][0].coefficients[0]
    assert [Fraction(n, problem.denominator) for n in codes] == [Fraction(-3, 2), Fraction(-5, 2)]
    (problem_found,) = problems(changed(tree, system={**AFFINE["system"], "matrix": [[1]]}))
    assert "2 x 2" in problem_found.message


def test_a_matrix_and_a_forcing_in_side_files() -> None:
    def npy(values: Any) -> bytes:
        stream = io.BytesIO()
        np.save(stream, np.array(values, dtype="<f4"))
        return stream.getvalue()

    matrix, rows = npy([[0, 1], [-1, 0]]), npy([[0, 1], [0.5, 0]])
    named = {
        name: {"path": name, "sha256": sha256_hex(data)}
        for name, data in (("matrix.npy", matrix), ("rows.npy", rows))
    }
    tree = copy.deepcopy(AFFINE)
    tree["system"]["matrix"] = named["matrix.npy"]
    tree["dictionary"]["atoms"][1]["pieces"][0]["coefficients"] = named["rows.npy"]
    loaded = load(tree, {"matrix.npy": matrix, "rows.npy": rows})
    stored, inline = (Subject(x.question, x.arrays).affine(0) for x in (loaded, load(AFFINE)))
    assert stored == inline
    assert set(loaded.arrays) == {sha256_hex(matrix), sha256_hex(rows)}
    (problem,) = problems(tree, {"rows.npy": rows})
    assert problem.pointer == "/system/matrix"


def test_each_code_has_its_own_fields() -> None:
    code: dict[str, Any] = {"bits": 3, "dictionary": {**POLYNOMIAL["dictionary"], "learned": True}}
    asked = question(changed(POLYNOMIAL, metadata={"kind": "codes", "codes": [code]}))
    assert len(Subject(asked, {}).polynomial(3).atoms) == 2
    broken: dict[str, Any] = copy.deepcopy(code)
    broken["dictionary"]["atoms"][0]["field"] = ["v", "w"]
    (problem,) = problems(changed(POLYNOMIAL, metadata={"kind": "codes", "codes": [broken]}))
    assert problem.pointer == "/metadata/codes/0/dictionary/atoms/0/field/1"


@pytest.mark.parametrize("tree", [AFFINE, POLYNOMIAL], ids=["affine", "polynomial"])
def test_constants_are_computed_unless_declared(tree: dict[str, Any]) -> None:
    assert question(tree).synthesis == q.ComputedSynthesis("computed")
    assert question(changed(tree, synthesis="computed")) == question(tree)
    declared = changed(tree, synthesis={"kind": "constant", "constant": premise(1)})
    assert isinstance(question(declared).synthesis, q.ConstantSynthesis)
    tube = changed(tree, tube={"kind": "declared", "margin": 1})
    assert isinstance(question(tube).tube, q.DeclaredTube)


# --- the floor ----------------------------------------------------------------------------------


def test_a_floor_with_everything() -> None:
    budget = {"seconds": 60, "megabytes": 2000, "nodes": 200_000}
    tree = floor(
        POLYNOMIAL,
        compute="auto",
        order=2,
        region=["4 - x^2 - v^2", "t*(2 - t)"],
        blocks=[["v"], ["x"]],
        budget=budget,
    )
    loaded = load(tree)
    assert loaded.question.floor == q.ComputedFloor(
        "compute", "auto", 2, (terms(c=4, xx=-1, vv=-1), terms(t=2, tt=-1)), ((0,), (1,))
    )
    assert loaded.budget == FloorBudget(60, 2000, 200_000)


def test_without_a_budget_nothing_is_limited() -> None:
    assert load(POLYNOMIAL).budget == load(DECLARED).budget == FloorBudget(None, None, None)
    assert load(floor(POLYNOMIAL, compute="auto", budget={"nodes": 5})).budget.nodes == 5


@pytest.mark.parametrize("engine", ENGINE_NAMES)
@pytest.mark.parametrize("kind", SYSTEMS)
def test_an_engine_applies_or_is_refused_with_those_that_do(kind: str, engine: str) -> None:
    tree = SYSTEMS[kind]
    for written in (engine, {"compute": engine}):
        asked = changed(tree, structural_floor=written)
        if engine in q.ENGINES[kind]:
            lowered = question(asked).floor
            assert isinstance(lowered, q.ComputedFloor)
            assert lowered == q.ComputedFloor("compute", lowered.engine)
            assert lowered.engine == engine
            continue
        (problem,) = problems(asked)
        assert problem.pointer.startswith("/structural_floor")
        assert all(known in problem.message for known in q.ENGINES[kind])
    (problem,) = problems(
        changed(DECLARED, structural_floor=engine)
    )  # nothing is computed about what is declared only
    assert "Declare lower or upper" in problem.message


HINTS: dict[str, Any] = {"order": 1, "region": ["x + 1"], "blocks": [["x"], ["v"]]}
USED = {
    ("polynomial", "order"): {"auto", "hjb_sos", "moment", "support", "compositional"},
    ("polynomial", "region"): {"auto", "hjb_sos", "moment", "support"},
    ("polynomial", "blocks"): {"auto", "compositional"},
    ("affine_dynamics", "order"): {"hjb_sos", "moment", "support"},
}


@pytest.mark.parametrize("hint", HINTS)
@pytest.mark.parametrize("kind", SYSTEMS)
def test_hints_are_taken_only_where_an_engine_uses_them(kind: str, hint: str) -> None:
    for engine in q.ENGINES[kind]:
        tree = floor(SYSTEMS[kind], compute=engine, **{hint: HINTS[hint]})
        if engine in USED.get((kind, hint), set()):
            lowered = question(tree).floor
            assert getattr(lowered, hint) not in (None, ())
            continue
        (problem,) = problems(tree)
        assert problem.pointer == f"/structural_floor/{hint}"


def test_a_lifted_floor_takes_no_budget() -> None:
    (problem,) = problems(floor(LIFTED, compute="affine_lp", budget={"seconds": 1}))
    assert problem.pointer == "/structural_floor/budget"


BLOCKS = [
    ([["x"]], "/structural_floor/blocks", "none for v"),
    ([["x", "v"], ["x"]], "/structural_floor/blocks/1/0", "x a second time"),
    ([["x"], ["v", "w"]], "/structural_floor/blocks/1/1", "(x, v)"),
    ([["x", "v"], []], "/structural_floor/blocks/1", "at least 1"),
    ([["x", "v"]] * (MAX_BLOCKS + 1), "/structural_floor/blocks", "at most 64"),
]


@pytest.mark.parametrize(("blocks", "pointer", "words"), BLOCKS)
def test_blocks_hold_every_state_once(blocks: Any, pointer: str, words: str) -> None:
    found = problems(floor(POLYNOMIAL, compute="compositional", blocks=blocks))
    assert [(p.pointer, words in p.message) for p in found] == [(pointer, True)]


REGIONS = [
    (["0*x"], "/structural_floor/region/0", "not zero"),
    (["1", "y"], "/structural_floor/region/1", "names t, x, v"),
    (["1 +"], "/structural_floor/region/0", "at character 4"),
    (["1"] * (MAX_REGION + 1), "/structural_floor/region", "at most 64"),
]


@pytest.mark.parametrize(("region", "pointer", "words"), REGIONS)
def test_regions(region: list[str], pointer: str, words: str) -> None:
    (problem,) = problems(floor(POLYNOMIAL, compute="moment", region=region))
    assert problem.pointer == pointer
    assert words in problem.message


# --- what names a study -------------------------------------------------------------------------


def study(tree: Any) -> str:
    return load(tree).question.study_id


def renamed(tree: Any, names: dict[str, str]) -> Any:
    """The tree with its states called otherwise, in every text."""
    text = json.dumps(tree)
    for old, new in names.items():
        for before in ('"', " ", "*", "("):
            for after in ('"', " ", "*", "^"):
                text = text.replace(before + old + after, before + new + after)
    return json.loads(text)


def test_names_of_states_and_ways_to_write_do_not_matter() -> None:
    tree = floor(
        POLYNOMIAL, compute="auto", region=["4 - x^2 - v^2"], blocks=[["x"], ["v"]], order=2
    )
    other = renamed(tree, {"x": "place", "v": "speed"})
    assert other["system"]["states"] == ["place", "speed"]
    assert "place" in json.dumps(other["dictionary"])
    assert study(other) == study(tree)
    spelled = copy.deepcopy(tree)
    spelled["dictionary"]["atoms"][0]["field"] = ["(2*v)/2 + 0*t", "-v**2 * x / 3\n +1"]
    spelled["dictionary"]["atoms"][1]["field"] = ["v", "-1.0"]
    spelled["dictionary"]["atoms"][1]["name"] = "brake"
    spelled["structural_floor"]["region"] = ["(2 - v)*(2 + v) - x*x"]
    spelled["structural_floor"]["blocks"] = [["v"], ["x"]]
    spelled["structural_floor"]["budget"] = {"seconds": 5, "megabytes": 100, "nodes": 7}
    spelled["horizon"] = {"value": 2, "unit": "time"}
    spelled["synthesis"] = "computed"
    assert study(spelled) == study(tree)


def test_what_is_asked_about_dynamics_matters() -> None:
    def field(text: str) -> dict[str, Any]:
        tree = copy.deepcopy(POLYNOMIAL)
        tree["dictionary"]["atoms"][0]["field"][1] = text
        return tree

    def affine(**keys: Any) -> dict[str, Any]:
        return changed(AFFINE, system={**AFFINE["system"], **keys})

    later = copy.deepcopy(AFFINE)
    later["dictionary"]["atoms"][1]["pieces"][1]["start"] = "5/4"
    variants = [
        POLYNOMIAL,
        field("1 - x*v^2/4"),
        field("1 - x^2*v/3"),
        field("1 - t*v^2/3"),
        renamed(POLYNOMIAL, {"x": "v", "v": "x"}) | {"system": POLYNOMIAL["system"]},
        changed(POLYNOMIAL, horizon=1),
        changed(POLYNOMIAL, initial_state=[0, 1]),
        floor(POLYNOMIAL, compute="moment"),
        floor(POLYNOMIAL, compute="moment", order=2),
        floor(POLYNOMIAL, compute="moment", order=2, region=["1 + x"]),
        floor(POLYNOMIAL, compute="auto", blocks=[["x", "v"]]),
        AFFINE,
        affine(rate=1),
        affine(matrix=[[0, 1], [0, 0]]),
        affine(matrix=None),
        later,
    ]
    assert len({study(tree) for tree in variants}) == len(variants)


def test_the_zero_field_is_a_field() -> None:
    tree = copy.deepcopy(POLYNOMIAL)
    tree["dictionary"]["atoms"][1]["field"] = [0, "x - x"]
    atoms = question(tree).dictionary.atoms  # type: ignore[union-attr]
    assert atoms[1] == q.PolynomialAtom("polynomial", (ZERO, ZERO))


# --- contradictions -----------------------------------------------------------------------------


def test_these_systems_say_where_they_start() -> None:
    for tree in (AFFINE, POLYNOMIAL):
        (problem,) = problems(changed(tree, initial_state=None))
        assert "missing key 'initial_state'" in problem.message
        (problem,) = problems(changed(tree, initial_state="from_input"))
        assert "needed zero or an array" in problem.message


def test_the_horizon_is_free_but_for_lifted_systems() -> None:
    assert question(changed(POLYNOMIAL, horizon="7/3")).horizon == Fraction(7, 3)
    (problem,) = problems(changed(LIFTED, horizon=2))
    assert problem.pointer == "/horizon"


def test_pieces_against_the_horizon() -> None:
    found = problems(changed(AFFINE, horizon=1))
    assert [p.pointer for p in found] == ["/dictionary/atoms/1/pieces/1/start"]
    assert "before the horizon 1" in found[0].message


def test_atoms_of_a_declared_system_do_not_move() -> None:
    for source in (AFFINE, POLYNOMIAL):
        dictionary = {"bits": 1, "learned": False, "atoms": [source["dictionary"]["atoms"][1]]}
        found = problems(changed(DECLARED, dictionary=dictionary))
        assert found[0].pointer == "/dictionary/atoms/0"
        assert "belong to a system of kind" in found[0].message


def test_everything_wrong_is_found_at_once() -> None:
    tree = changed(
        POLYNOMIAL,
        objective={**LIFTED["objective"], "domain": "full"},
        initial_state=[0],
        target={"kind": "vector", "values": [1, 2, 3]},
        structural_floor={"compute": "affine_lp", "blocks": [["x"]]},
    )
    tree["dictionary"]["atoms"][0]["field"] = ["v", "1 - x*", "2"]
    assert sorted(p.pointer for p in problems(tree)) == [
        "/dictionary/atoms/0/field",
        "/dictionary/atoms/0/field/1",
        "/initial_state",
        "/objective/domain",
        "/structural_floor/blocks",
        "/structural_floor/compute",
        "/target/values",
    ]


@pytest.mark.parametrize(
    ("norm", "pointer"),
    [
        ({"kind": "weighted_l1", "weights": [1]}, "/objective/norm/weights"),
        ({"kind": "block_l2", "block": 3}, "/objective/norm/block"),
    ],
)
def test_norms_against_the_states(norm: Any, pointer: str) -> None:
    for tree in (AFFINE, POLYNOMIAL):
        objective = {**tree["objective"], "norm": norm}
        assert [p.pointer for p in problems(changed(tree, objective=objective))] == [pointer]


# --- limits -------------------------------------------------------------------------------------


def test_the_number_of_pieces_and_their_degree() -> None:
    pieces = [{"start": i, "coefficients": [[1, 1]]} for i in range(MAX_FORCING_PIECES + 1)]
    tree = copy.deepcopy(changed(AFFINE, horizon=1000))
    tree["dictionary"]["atoms"][1]["pieces"] = pieces[:-1]
    question(tree)
    tree["dictionary"]["atoms"][1]["pieces"] = pieces
    (problem,) = problems(tree)
    assert "at most 256" in problem.message
    tree["dictionary"]["atoms"][1]["pieces"] = [{"coefficients": [[1, 1]] * 65}]
    question(tree)
    tree["dictionary"]["atoms"][1]["pieces"] = [{"coefficients": [[1, 1]] * 66}]
    (problem,) = problems(tree)
    assert "degree of at most 64" in problem.message


def wide(states: int) -> dict[str, Any]:
    """A system in which every state decays."""
    names = [f"s{i}" for i in range(states)]
    return changed(
        POLYNOMIAL,
        system={"kind": "polynomial", "states": names},
        target={"kind": "vector", "values": [1] * states},
        dictionary={
            "bits": 1,
            "learned": False,
            "atoms": [{"kind": "polynomial", "field": [f"-{name}" for name in names]}],
        },
    )


def test_the_number_of_states() -> None:
    assert question(wide(64)).system == q.PolynomialSystem("polynomial", 64)
    assert {p.pointer for p in problems(wide(65))} == {
        "/system/states",
        "/dictionary/atoms/0/field",
    }
    tree = wide(3)
    tree["system"] = {"kind": "polynomial", "dimension": 65}
    (problem,) = problems(tree)
    assert problem.pointer == "/system/dimension"


@pytest.mark.parametrize("name", ["dynamics", "polynomial"])
def test_templates_are_accepted(name: str) -> None:
    text = resources.files("qreplace.cli").joinpath("templates", f"{name}.yaml").read_bytes()
    loaded = load_spec_bytes(text, name=name, base=None, media="yaml")
    assert loaded.labels.title
    Subject(loaded.question, loaded.arrays).dimension(0)


DOCUMENT = Path(__file__).parent.parent.parent / "docs" / "systems.md"
AROUND = """
format: qreplace/spec/v1
objective: {kind: emulation, tolerance: 1, norm: l2, domain: witnesses}
search: {depths: [4]}
"""


def test_the_documented_systems_are_accepted() -> None:
    snippets = re.findall(r"```yaml\n(.*?)```", DOCUMENT.read_text("utf-8"), re.DOTALL)
    kinds = []
    for snippet in snippets:
        around = AROUND.splitlines()
        if "objective:" in snippet:
            around = [line for line in around if not line.startswith("objective")]
        data = ("\n".join(around) + "\n" + snippet).encode()
        loaded = load_spec_bytes(data, name="s.yaml", base=None, media="yaml")
        kinds.append(loaded.question.system.kind)
    assert kinds == ["affine_dynamics", "polynomial", "pwa"]
