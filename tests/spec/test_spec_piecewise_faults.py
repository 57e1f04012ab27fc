"""What piecewise specifications are refused for: each fault in its place, with its words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from piecewise_specs import DISK, PIECEWISE, RELU, SOFT, matching, network, put, soft, with_atom
from spec_examples import AFFINE, DECLARED, LIFTED, POLYNOMIAL, changed, load, problems

from qreplace.errors import SpecError
from qreplace.question import model as q
from qreplace.spec import load_spec_bytes
from qreplace.spec.blocks.floor import ENGINE_NAMES

EXAMPLE = Path(__file__).parent.parent.parent / "examples" / "matrix-matching.yaml"
VECTOR: dict[str, Any] = {"kind": "vector", "values": [1, 2]}
WIDE: dict[str, Any] = {"activation": "relu", "input_weights": [[1, 0], [0, 1], [1, 1]]}
NARROW: dict[str, Any] = {"activation": "relu", "state_weights": [[1, 0, 0], [0, 1, 0]]}


def check(tree: dict[str, Any], pointer: str, words: str) -> None:
    """Exactly this problem is found."""
    found = problems(tree)
    assert [problem.pointer for problem in found] == [pointer]
    assert words in found[0].message


STEPS: list[tuple[Any, str, str]] = [
    (10, "", 'received the number 10. Put digits in quotes, as in "0010"'),
    ("0a10", "", "needed a digit a step, such as 0010, received 'a' at character 2"),
    ("0120", "", "needed an atom from 0 to 1, at step 3, received 2"),
    ([0, 1, 5], "/2", "needed an atom from 0 to 1, at step 3, received 5"),
    ([0, -1], "/1", "needed the number of an atom, from 0, received the number -1"),
    ([0, "1"], "/1", "received the text '1'"),
    ("  ", "", "needed 1 to 1024 steps, received 0"),
    ([], "", "needed 1 to 1024 steps, received 0"),
    ("0" * 1025, "", "received 1025"),
]


@pytest.mark.parametrize(("steps", "suffix", "words"), STEPS)
def test_steps(steps: Any, suffix: str, words: str) -> None:
    check(put(PIECEWISE, "/target/steps", steps), f"/target/steps{suffix}", words)
    own = matching({"kind": "schedule", "atoms": [SOFT, RELU], "steps": steps})
    check(own, f"/objective/comparator/steps{suffix}", words)
    borrowed = matching({"kind": "schedule", "atoms": "target", "steps": steps})
    check(borrowed, f"/objective/comparator/steps{suffix}", words)


def test_steps_against_the_number_of_atoms() -> None:
    tree = put(PIECEWISE, "/target", {"kind": "schedule", "atoms": [SOFT] * 11, "steps": "01"})
    words = "needed a list of numbers where there are more than 10 atoms, received digits with 11"
    check(tree, "/target/steps", words)
    load(put(tree, "/target/atoms", [SOFT] * 10))
    tree = put(PIECEWISE, "/target/atoms", [SOFT])
    check(tree, "/target/steps", "needed 0, the only atom, at step 2, received 1")


def test_a_comparator_borrows_only_from_a_schedule() -> None:
    given = {"kind": "schedule", "atoms": "target", "steps": "0"}
    words = "needed the comparator's own atoms, received atoms of the target, whose kind is network"
    check(matching(given, target=network(RELU)["target"]), "/objective/comparator/atoms", words)
    words = "needed target, received the text 'dictionary'"
    check(matching({**given, "atoms": "dictionary"}), "/objective/comparator/atoms", words)
    check(put(PIECEWISE, "/target/atoms", "target"), "/target/atoms", "needed a list")
    words = "needed a premise, or a map of kind schedule or network"
    check(matching({"kind": "map"}), "/objective/comparator/kind", words)


FAULTS: dict[str, list[tuple[Any, str, str]]] = {
    "/objective/scope": [("path", "", "needed the scope endpoint for a piecewise system")],
    "/objective/domain": [
        ("witnesses", "", "needed the witness inputs of a piecewise system (domain.inputs)"),
        ({"kind": "full", "inputs": [[1, 2, 3]]}, "/inputs", "n x 2, a row an input, received 1 x"),
        ({"kind": "witnesses", "inputs": [1, 2]}, "/inputs", "n x 2, a row an input, received 2"),
        ({"kind": "full", "inputs": [[0, 1], [1, "1/99"]]}, "/inputs", "received row 1 outside it"),
        ({"kind": "witnesses", "inputs": [[2, 0]]}, "/inputs", "received row 0 outside it"),
    ],
    "/objective/norm": [
        ({"kind": "weighted_linf", "weights": [1]}, "/weights", "needed 2 weights"),
        ({"kind": "block_l2", "block": 3}, "/block", "divides 2"),
    ],
    "/system/inputs": [(5000, "", "at most 4096")],
    "/system/dimension": [(0, "", "at least 1")],
    "/initial_state": [
        ([1], "", "2 coordinates"),
        ("from_input", "", "needed zero or an array for a piecewise system"),
    ],
    "/synthesis": [
        ({"kind": "constant", "constant": 1}, "", "needed synthesis computed for a piecewise"),
    ],
    "/structural_floor": [
        ({"compute": "auto", "order": 2}, "/order", "for a piecewise system"),
        ({"compute": "net_floor", "order": 2}, "/order", "no order for the engine net_floor"),
        ({"compute": "auto", "blocks": [["x"]]}, "/blocks", "for a piecewise system"),
    ],
    "/target": [
        (VECTOR, "", "needed a target of kind schedule or network for a piecewise system"),
        ({"kind": "linear_map", "weights": [[1]]}, "", "received linear_map"),
        ({"kind": "declared", "name": "net"}, "", "needed a target with data for a piecewise"),
    ],
    "/dictionary": [
        ({"bits": 1, "learned": False, "atom_count": 2}, "", "needed the atoms of a piecewise"),
    ],
}  # fmt: skip


@pytest.mark.parametrize("place", FAULTS)
def test_blocks(place: str) -> None:
    for value, suffix, words in FAULTS[place]:
        check(put(PIECEWISE, place, value), place + suffix, words)


def test_the_full_domain_needs_a_region() -> None:
    check(
        put(PIECEWISE, "/system/region", None), "/system", "missing key 'region': the full domain"
    )


def polytope(normals: list[list[int]], offsets: list[int]) -> dict[str, Any]:
    return {"kind": "polytope", "normals": normals, "offsets": offsets}


def polygon(*vertices: list[int]) -> dict[str, Any]:
    return {"kind": "polygon", "vertices": list(vertices)}


def box(lower: list[Any], upper: list[Any]) -> dict[str, Any]:
    return {"kind": "box", "lower": lower, "upper": upper}


SIDES = [[1, 0], [-1, 0], [0, 1], [0, -1]]
REGIONS: list[tuple[dict[str, Any], str, str]] = [
    ({"kind": "sphere", "radius": 1}, "/kind", "ball, disk, box, polygon, polytope"),
    ({"kind": "ball", "radius": 0}, "/radius", "above 0"),
    ({**DISK, "center": [1]}, "/center", "center of shape 2, one number an input, received 1"),
    (box([0], [1, 1]), "/lower", "lower of shape 2, one number an input, received 1"),
    (box([0, 1], [1, "1/2"]), "/upper", "for every input, received 1 and 1/2 at index 1"),
    (box([0, 1], [1, 1]), "/upper", "for every input, received 1 and 1 at index 1"),
    (polygon([0, 0], [0, 1], [1, 0]), "", "counterclockwise"),
    (polygon([0, 0], [1, 1], [2, 2]), "", "no three lie on a line"),
    (polygon([0, 0], [1, 1]), "", "3 to 1024 corners, received 2"),
    (polygon([0, 0, 0]), "/vertices", "corners of shape n x 2"),
    (polygon(*([i, 0] for i in range(1025))), "/vertices", "at most 1024 corners"),
    (polytope(SIDES[::2], [1, 1]), "", "unbounded: add the missing inequalities"),
    (polytope(SIDES, [0, -1, 1, 1]), "", "empty: its inequalities contradict each other"),
    (polytope(SIDES, [0, 0, 1, 1]), "", "flat: it has no interior points"),
    (polytope([[1]], [1]), "/normals", "normals of shape m x 2"),
    (polytope([[1, 0]], [1, 2]), "/offsets", "offsets of shape 1, one a row of the normals"),
]


@pytest.mark.parametrize(("region", "suffix", "words"), REGIONS)
def test_regions(region: dict[str, Any], suffix: str, words: str) -> None:
    check(put(PIECEWISE, "/system/region", region), f"/system/region{suffix}", words)


@pytest.mark.parametrize(("kind", "remedy"), [("disk", "Use a ball"), ("polygon", "a polytope")])
def test_plane_regions_have_two_inputs(kind: str, remedy: str) -> None:
    region = DISK if kind == "disk" else polygon([0, 0], [1, 0], [0, 1])
    tree = put(put(PIECEWISE, "/system/region", region), "/system/inputs", 3)
    (found,) = problems(tree)
    assert found.pointer == "/system/region"
    assert f"needed 2 inputs for a {kind}, received a {kind} with inputs: 3" in found.message
    assert remedy in found.message


@pytest.mark.parametrize(("rows", "inputs"), [(1025, 1), (1025, 2)])
def test_polytopes_whose_corners_are_too_many(rows: int, inputs: int) -> None:
    atom = {"activation": "relu", "input_weights": [[1] * inputs] * 2}
    tree = changed(
        with_atom(atom),
        system={
            "kind": "piecewise",
            "inputs": inputs,
            "dimension": 2,
            "region": polytope([[1] * inputs] * rows, [1] * rows),
        },
        target={"kind": "schedule", "atoms": [atom], "steps": "0"},
    )
    check(tree, "/system/region/normals", f"received {rows}. Give a box or a ball.")


ATOMS: list[tuple[dict[str, Any], str, str]] = [
    (VECTOR, "", "needed a piecewise atom, as the system is piecewise, received an atom of kind v"),
    ({**RELU, "activation": "gelu"}, "/activation", "soft_threshold, relu or identity"),
    (soft(thresholds=None), "", "missing key 'thresholds'"),
    ({**RELU, "thresholds": 0}, "/thresholds", "only soft_threshold has them, received relu"),
    (soft(thresholds="-1/9"), "/thresholds", "at least 0, received -1/9 at index 0"),
    (soft(thresholds=[0, "-0.5"]), "/thresholds", "at least 0, received -1/2 at index 1"),
    (soft(thresholds=[1, 1, 1]), "/thresholds", "needed one threshold, or 2, one a row, rec"),
    (soft(thresholds=True), "/thresholds", "needed a threshold or an array of thresholds"),
    (soft(input_weights=None, state_weights=None), "", "input_weights, state_weights or both"),
    (soft(input_weights=[[1, 2, 3]] * 2), "/input_weights", "n x 2, a column an input, received 2"),
    (soft(input_weights=[1, 2]), "/input_weights", "n x 2, a column an input, received 2"),
    (soft(state_weights=[[1, 2, 3]]), "/state_weights", "2 x 2, a column a coordinate, received 1"),
    (soft(input_weights=None, state_weights=[[1]]), "/state_weights", "n x 2, a column a coord"),
    (soft(bias=[1]), "/bias", "bias of shape 2, one a row of the weights, received 1"),
    (soft(bias=[[1, 2]]), "/bias", "received 1 x 2"),
    (WIDE, "", "needed 2 outputs, as the state has coordinates, received 3. Add output_weights of"),
    ({**WIDE, "output_weights": [[1, 1, 1]]}, "/output_weights", "2 x 3, a row an output, rec"),
    (soft(offset=[1, 2, 3]), "/offset", "offset of shape 2, one an output, received 3"),
    (soft(state_matrix=[[1]]), "/state_matrix", "a matrix of shape 2 x 2, received 1 x 1"),
    (soft(leak="much"), "/leak", "number"),
    (soft(weights=[[1]]), "/weights", "unknown key 'weights'"),
]  # fmt: skip


@pytest.mark.parametrize(("atom", "suffix", "words"), ATOMS)
def test_atoms(atom: dict[str, Any], suffix: str, words: str) -> None:
    """Of the dictionary, and those of a map that is given whole."""
    check(with_atom(atom), f"/dictionary/atoms/0{suffix}", words)
    if atom is VECTOR:
        return
    check(put(PIECEWISE, "/target/atoms/1", atom), f"/target/atoms/1{suffix}", words)
    tree = matching({"kind": "schedule", "atoms": [atom], "steps": "0"})
    check(tree, f"/objective/comparator/atoms/0{suffix}", words)


def test_zeros_that_are_too_many() -> None:
    p = 2000
    tree = changed(
        with_atom(
            {"activation": "relu", "state_weights": [[1]] * 40, "output_weights": [[1] * 40]}
        ),
        system={
            "kind": "piecewise",
            "inputs": p,
            "dimension": 1,
            "region": {**DISK, "kind": "ball"},
        },
        target={
            "kind": "schedule",
            "atoms": [{"activation": "relu", "input_weights": [[0] * p]}],
            "steps": "0",
        },
    )
    check(tree, "/dictionary/atoms/0", "40 x 2000 zeros are too many. Name a side file.")


LAYERS: list[tuple[list[dict[str, Any]], str, str]] = [
    ([WIDE], "/0", "needed 2 outputs, as the state has coordinates, received 3"),
    ([WIDE, SOFT], "/1/state_weights", "state weights of shape 2 x 3"),
    ([{**WIDE, "leak": 0}, NARROW], "/0/leak", "changes the width of the state from 2 to 3, rec"),
    ([{**WIDE, "state_matrix": [[1, 0], [0, 1]]}, NARROW], "/0/state_matrix", "no state matrix in"),
    ([WIDE, {**NARROW, "leak": "1/2"}], "/1/leak", "from 3 to 2, received 1/2"),
    ([{**RELU, "kind": "vector"}], "/0/kind", "needed piecewise, received the text 'vector'"),
    ([], "", "at least 1 entry"),
]


@pytest.mark.parametrize(("layers", "suffix", "words"), LAYERS)
def test_layers(layers: list[dict[str, Any]], suffix: str, words: str) -> None:
    check(network(*layers), f"/target/layers{suffix}", words)
    tree = matching({"kind": "network", "layers": layers})
    check(tree, f"/objective/comparator/layers{suffix}", words)


@pytest.mark.parametrize("tree", [LIFTED, AFFINE, POLYNOMIAL, DECLARED])
def test_maps_belong_to_piecewise_systems(tree: dict[str, Any]) -> None:
    name = tree["system"] if isinstance(tree["system"], str) else tree["system"]["kind"]
    for target in (PIECEWISE["target"], network(RELU)["target"]):
        (found,) = problems(changed(tree, target=target))
        assert found.pointer == "/target"
        assert f"{name} system, received a {target['kind']}. Maps given whole" in found.message
    given = {"kind": "network", "layers": [RELU]}
    objective = {k: v for k, v in tree["objective"].items() if k != "tolerance"}
    objective |= {"kind": "accuracy_matching", "comparator": given}
    (found,) = problems(changed(tree, objective=objective))
    assert found.pointer == "/objective/comparator"
    assert f"as a premise for {'an' if name[0] in 'aeiou' else 'a'} {name} system" in found.message
    (found,) = problems(changed(tree, dictionary={"bits": 1, "learned": False, "atoms": [RELU]}))
    assert found.pointer == "/dictionary/atoms/0"
    assert "Piecewise atoms belong to a system of kind piecewise" in found.message


def test_everything_wrong_is_found_at_once() -> None:
    tree = matching({"kind": "schedule", "atoms": "target", "steps": "09"}, initial_state=[1])
    tree["objective"]["scope"] = "path"
    tree["system"]["region"] = box([0, 0], [0, 1])
    tree["target"]["atoms"][1]["bias"] = [1, 2, 3]
    tree["dictionary"]["atoms"][0]["thresholds"] = -1
    assert sorted(p.pointer for p in problems(tree)) == [
        "/dictionary/atoms/0/thresholds",
        "/initial_state",
        "/objective/comparator/steps",
        "/objective/scope",
        "/system/region/upper",
        "/target/atoms/1/bias",
    ]


def test_a_wrong_block_hides_no_fault_of_another() -> None:
    tree = put(PIECEWISE, "/dictionary/atoms/0/colour", "red")
    tree["target"]["atoms"][0]["thresholds"] = [-1, 1]
    found = [p.pointer for p in problems(tree)]
    assert sorted(found) == ["/dictionary/atoms/0/colour", "/target/atoms/0/thresholds"]


def test_problems_have_lines() -> None:
    broken = EXAMPLE.read_text("utf-8").replace('"0010"', "0010").replace(": 7/20", ": -7/20")
    with pytest.raises(SpecError) as caught:
        load_spec_bytes(broken.encode(), name="m.yaml", base=None, media="yaml")
    lines = broken.splitlines()
    marked = [lines[(p.line or 0) - 1].split(":")[0].strip() for p in caught.value.problems]
    assert marked == ["comparator", "thresholds"]
    assert "the number 10" in caught.value.problems[0].message


@pytest.mark.parametrize("engine", ENGINE_NAMES)
def test_engines(engine: str) -> None:
    asked = changed(PIECEWISE, structural_floor={"compute": engine, "budget": {"seconds": 5}})
    if engine in q.ENGINES["pwa"]:
        floor = load(asked).question.floor
        assert isinstance(floor, q.ComputedFloor)
        assert floor.engine == engine
        return
    words = "a piecewise system (auto, net_floor, affine_dynamics, observable), received"
    check(asked, "/structural_floor/compute", words)
