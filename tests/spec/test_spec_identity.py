"""What names a study: the same question has one identifier, another question another one."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ruamel.yaml import YAML
from spec_examples import DECLARED, LIFTED, changed, load, premise

from qreplace.exact.document import read_json, sha256_hex
from qreplace.question.arrays import RawArray
from qreplace.spec import load_spec_bytes

CORPUS = Path(__file__).parent.parent / "corpus" / "accepted" / "spec"


def as_yaml(tree: Any) -> bytes:
    """Block-style YAML of a tree."""
    stream = io.StringIO()
    emitter = YAML()
    emitter.default_flow_style = False
    emitter.dump(json.loads(json.dumps(tree)), stream)
    return stream.getvalue().encode()


def study(tree: Any) -> str:
    """The study id of a tree."""
    return load(tree).question.study_id


@pytest.mark.parametrize("tree", [LIFTED, DECLARED])
def test_yaml_and_json_ask_the_same_question(tree: dict[str, Any]) -> None:
    loaded = load_spec_bytes(as_yaml(tree), name="a.yaml", base=None, media="yaml")
    assert loaded.question == load(tree).question


def test_corpus_pair_in_yaml_and_json() -> None:
    pair = [
        load_spec_bytes((CORPUS / name).read_bytes(), name=name, base=CORPUS, media=None)
        for name in ("lifted-vectors.yaml", "lifted-vectors.json")
    ]
    assert pair[0].question.study_id == pair[1].question.study_id


@given(st.permutations(sorted(DECLARED)))
def test_order_of_keys_does_not_matter(keys: list[str]) -> None:
    assert study({key: DECLARED[key] for key in keys}) == study(DECLARED)


def test_comments_and_texts_for_people_do_not_matter() -> None:
    plain = study(LIFTED)
    atoms = [{**atom, "name": "n", "recipe": "r"} for atom in LIFTED["dictionary"]["atoms"]]
    texts = changed(
        LIFTED,
        title="A title",
        notes="Notes",
        target={**LIFTED["target"], "name": "target"},
        dictionary={**LIFTED["dictionary"], "atoms": atoms},
    )
    assert study(texts) == plain
    commented = b"# a comment\n" + as_yaml(LIFTED) + b"# another\n"
    loaded = load_spec_bytes(commented, name="other.yaml", base=None, media="yaml")
    assert loaded.question.study_id == plain


def test_descriptions_do_not_matter_but_are_kept() -> None:
    constant = premise(1, description="what it is")
    described = load(changed(DECLARED, synthesis={"kind": "constant", "constant": constant}))
    plain = load(changed(DECLARED, synthesis={"kind": "constant", "constant": premise(1)}))
    assert described.question == plain.question
    assert described.labels.premises == {"synthesis.constant": "what it is"}


def test_ways_to_write_a_number_do_not_matter() -> None:
    texts = ["0.5", "5e-1", '"1/2"', '"2/4"', '".5"', "0.50"]
    tolerance = '"tolerance": "1/10"'
    source = json.dumps(DECLARED)
    assert tolerance in source
    studies = {study(source.replace(tolerance, f'"tolerance": {t}').encode()) for t in texts}
    assert len(studies) == 1


def test_defaults_do_not_matter_when_written_out() -> None:
    objective = {**LIFTED["objective"], "scope": "endpoint", "domain": {"kind": "witnesses"}}
    spelled = changed(
        LIFTED,
        objective=objective,
        system={"kind": "lifted_affine"},
        horizon={"value": 1, "unit": "time"},
        synthesis="computed",
        metadata={"kind": "none"},
        initial_state="zero",
        costs={"codebook": 0, "metadata_bit": 1, "schedule_bit": 1, "step": 0},
        certificates=[],
    )
    assert study(spelled) == study(LIFTED)


def test_what_is_asked_matters() -> None:
    objective = DECLARED["objective"]
    variants = [
        DECLARED,
        changed(DECLARED, objective={**objective, "tolerance": "1/11"}),
        changed(DECLARED, objective={**objective, "scope": "path"}),
        changed(DECLARED, objective={**objective, "norm": "linf"}),
        changed(DECLARED, metadata=None),
        changed(DECLARED, execution=None),
        changed(DECLARED, structural_floor={"lower": 0}),
        changed(DECLARED, synthesis={"kind": "constant", "constant": premise(1)}),
        changed(
            DECLARED,
            synthesis={"kind": "constant", "constant": premise(1, evidence="diagnostic")},
        ),
        changed(DECLARED, synthesis={"kind": "constant", "constant": premise(1, source="b")}),
        changed(
            DECLARED, synthesis={"kind": "constant", "constant": premise(1, assumptions=["a"])}
        ),
        changed(DECLARED, certificates=[{"claim": "lean_claim", "required": True}]),
        changed(DECLARED, search={"depths": [4, 9]}),
    ]
    assert len({study(tree) for tree in variants}) == len(variants)


def test_a_digest_matters_and_a_path_does_not() -> None:
    one = RawArray("<f4", (2,), b"\0\0\x80\x3f\0\0\0\0").to_npy()
    other = RawArray("<f4", (2,), b"\0\0\x80\x3f\0\0\x80\x3f").to_npy()

    def with_file(name: str, data: bytes) -> str:
        values = {"path": name, "sha256": sha256_hex(data)}
        tree = changed(LIFTED, target={"kind": "vector", "values": values})
        return load(tree, {name: data}).question.study_id

    assert with_file("a.npy", one) == with_file("b/c.npy", one)
    assert with_file("a.npy", one) != with_file("a.npy", other)


def test_source_is_kept_as_written() -> None:
    data = as_yaml(LIFTED)
    loaded = load_spec_bytes(data, name="a.yaml", base=None, media=None)
    assert loaded.source == data
    assert loaded.name == "a.yaml"
    assert read_json(loaded.question.to_bytes())["format"] == "qreplace/question/v1"
