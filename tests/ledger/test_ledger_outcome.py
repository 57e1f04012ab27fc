"""What a ledger prints, writes and hands to a study."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ledger_kit import BLOCK, LINEAR, changed, ledger, routed
from ruamel.yaml import YAML

import qreplace
from qreplace.spec import load_spec

SPEC = {
    "format": "qreplace/spec/v1",
    "objective": {"kind": "emulation", "tolerance": "1/2",
                  "norm": {"kind": "block_l2", "block": 4}, "domain": "witnesses"},
    "system": {"kind": "declared", "dimension": 12},
    "initial_state": "from_input",
    "horizon": "1/64",
    "target": {"kind": "declared", "name": "the block's flow"},
    "dictionary": {"bits": 8, "learned": False, "atom_count": 1},
    "structural_floor": {"upper": 0},
    "tube": "whole_space",
    "metadata": "none",
    "execution": {"semantics": "error_feedback", "grid": {"step": "1/65536", "rounding": "nearest"},
                  "carry": "exact", "initial_error": "exact", "overflow": "unbounded"},
    "routing": "none",
    "search": {"depths": [1, 4, 16]},
}  # fmt: skip


def merged(premises: str) -> dict[str, Any]:
    """The study above with the premises of a ledger."""
    own = YAML(typ="safe").load(premises)
    spec = json.loads(json.dumps(SPEC))
    spec["synthesis"] = own["synthesis"]
    spec["execution"] |= own["execution"]
    return dict(spec)


@pytest.mark.parametrize("tree", [
    BLOCK,
    routed(),
    changed(BLOCK, {"attention/scale": {"value": "1/4", "variation": "1/3"}}),
    changed(BLOCK, {f"{b}/{n}/error": "exact" for b, n in (
        ("attention", "query"), ("attention", "key"), ("attention", "value"),
        ("attention", "output"), ("mlp", "up"), ("mlp", "down"))}),
])  # fmt: skip
def test_premises_validate_within_a_declared_study_and_are_upper_bounds(
    tree: dict[str, Any], tmp_path: Path
) -> None:
    outcome = ledger(tmp_path, tree)
    (tmp_path / "spec.yaml").write_text(json.dumps(merged(outcome.premises())), "utf-8")
    question = load_spec(tmp_path / "spec.yaml").question
    stated = {own.name: own for own in outcome.totals}
    eta = question.execution.field_error  # type: ignore[union-attr]
    if stated["field_error"].value:
        assert stated["field_error"].value <= eta.upper  # type: ignore[union-attr]
        assert eta.upper <= stated["field_error"].value * (1 + Fraction(1, 10**11))  # type: ignore[union-attr]
        assert eta.source == outcome.ledger.source  # type: ignore[union-attr]
        assert tuple(eta.assumptions) == outcome.ledger.assumptions  # type: ignore[union-attr]
    else:
        assert eta.kind == "absent"  # type: ignore[union-attr]


def test_a_study_on_premises_of_a_ledger_is_conditional(tmp_path: Path) -> None:
    outcome = ledger(tmp_path, BLOCK)
    (tmp_path / "spec.yaml").write_text(json.dumps(merged(outcome.premises())), "utf-8")
    study = qreplace.decide(tmp_path / "spec.yaml")
    assert study.verdict == "conditionally_feasible"
    assert {"field_bound", "state_lipschitz", "field_error"} <= set(study.decision["declared"])


def test_the_document_says_the_same_as_the_table(tmp_path: Path) -> None:
    outcome = ledger(tmp_path, BLOCK)
    document = json.loads(json.dumps(outcome.document()))
    total = Fraction(document["totals"]["field_error"]["value"])
    shares = [Fraction(row["share"]) for row in document["components"]]
    assert sum(shares) == 1
    assert total == outcome.ledger.block.field_error()
    text = outcome.text()
    for row in document["components"]:
        assert row["component"] in text
    key = next(row for row in document["components"] if row["component"] == "attention.key")
    assert Fraction(key["share"]) == max(shares)
    assert "attention.key costs most: 31.6 % of eta_G" in text
    assert f"sha256:{document['ledger']}" in text
    assert {own["symbol"] for own in document["totals"].values()} == {"B", "L_z", "m", "V", "eta_G"}
    assert (
        document["totals"]["growth_rate"]["value"] == document["totals"]["state_lipschitz"]["value"]
    )
    assert all("T" in own["formula"] for own in document["totals"].values())


def test_labels_are_the_weakest_of_what_a_result_rests_on(tmp_path: Path) -> None:
    strong = {"value": "1/100", "evidence": "interval_certified", "source": "s"}
    weak = strong | {"evidence": "calibrated_estimate"}
    one = {"value": 1, "evidence": "analytic_certified", "source": "s"}
    linear = {"norm": one, "error": strong}
    norm = {"kind": "rms_norm", "eps": 1, "gamma": one}
    tree = {**BLOCK, "attention": None,
            "mlp": {"scale": {"value": one}, "norm": norm, "activation": "relu",
                    "up": linear, "down": linear}}  # fmt: skip
    tree.pop("attention")

    def labels(tree: dict[str, Any]) -> dict[str, str]:
        return {own.name: own.evidence.value for own in ledger(tmp_path, tree).totals}

    assert labels(tree)["field_bound"] == "analytic_certified"
    assert labels(tree)["field_error"] == "interval_certified"
    assert labels(changed(tree, {"mlp/up/error": weak}))["field_error"] == "calibrated_estimate"
    assert labels(changed(tree, {"mlp/up/error": weak}))["field_bound"] == "analytic_certified"
    bare = changed(tree, {"mlp/up/norm": 1})
    assert labels(bare)["field_bound"] == labels(bare)["field_error"] == "diagnostic"
    drifting = changed(tree, {"mlp/scale": {"value": one, "variation": weak}})
    assert labels(drifting)["time_variation"] == "calibrated_estimate"


def test_atoms_multiply_the_variation(tmp_path: Path) -> None:
    tree = changed(BLOCK, {"attention/scale": {"value": "1/4", "variation": "1/3"}})
    one, four = (ledger(tmp_path, changed(tree, {"atoms": n})).totals[3].value for n in (1, 4))
    assert four == 4 * one > 0


def test_a_routed_block_says_what_its_events_need(tmp_path: Path) -> None:
    outcome = ledger(tmp_path, routed())
    named = {own.name: own.value for own in outcome.totals}
    assert named["jump"] == 2  # beta 2 B_E / k
    assert named["gap_lipschitz"] == 2 * named["score_lipschitz"]
    assert float(named["score_lipschitz"]) == pytest.approx(5)
    assert float(named["gap_error"]) == pytest.approx(1 / 25)
    assert "#   gap_lipschitz:" in outcome.premises()
    assert "intended and executed routers choose the same experts" in outcome.ledger.assumptions


def test_shared_keys_serve_several_heads(tmp_path: Path) -> None:
    tree = changed(BLOCK, {"dimensions/key_heads": 1, "attention/key": [LINEAR]})
    outcome = ledger(tmp_path, tree)
    assert outcome.ledger.block == ledger(tmp_path, BLOCK).ledger.block


def test_the_figure_is_the_same_every_time_and_says_what_it_shows(tmp_path: Path) -> None:
    first, second = (ledger(tmp_path, BLOCK).files() for _ in range(2))
    assert first == second
    assert set(first) == {"ledger.json", "premises.yaml", "ledger.svg", "ledger.png"}
    svg = first["ledger.svg"].decode()
    assert "<title" in svg
    assert "attention.key" in svg
    assert "eta_G is at most" in svg
    assert first["ledger.png"].startswith(b"\x89PNG")


def test_a_block_in_which_nothing_errs(tmp_path: Path) -> None:
    exact = {**LINEAR, "error": "exact"}
    names = ("attention/query", "attention/key", "attention/value", "attention/output",
             "mlp/up", "mlp/down")  # fmt: skip
    outcome = ledger(tmp_path, changed(BLOCK, dict.fromkeys(names, exact)))
    assert "No component errs." in outcome.text()
    assert "field_error: exact" in outcome.premises()
    assert outcome.files()["ledger.png"]


def test_the_ledger_bounds_a_block_that_is_run(tmp_path: Path) -> None:
    """From weights in the description to outputs: nothing in between is taken on trust."""
    from random_blocks import (
        AttentionPart,
        BlockPart,
        MlpPart,
        NormPart,
        in_ball,
        layer,
        quantised,
        token_norm,
    )

    rng = np.random.default_rng(11)
    width, hidden = 4, 8
    ratios = []
    for case in range(6):
        bits = 3 + case % 4
        q, k, v, o = (layer(rng, width, width, 0.6, bits) for _ in range(4))
        up, down = layer(rng, hidden, width, 0.6, bits), layer(rng, width, hidden, 0.6, bits)
        gamma, beta = rng.uniform(0.5, 1.5, size=width), rng.normal(size=width) * 0.1
        norm = NormPart("layer_norm", Fraction(1, 4), gamma, beta, gamma, beta)

        def spec(own: Any, bits: int = bits) -> dict[str, Any]:
            assert np.allclose(own.executed, quantised(own.weight, bits))
            return {"weights": _texts(own.weight), "quantize": {"bits": bits},
                    "bias": {"vector": _texts(own.bias), "executed": "exact"}}  # fmt: skip

        described = {"kind": "layer_norm", "eps": "1/4",
                     "gamma": {"vector": _texts(gamma), "executed": "exact"},
                     "beta": {"vector": _texts(beta), "executed": "exact"}}  # fmt: skip
        tree = {
            **BLOCK,
            "attention": {"scale": 1, "norm": described, "query": spec(q), "key": spec(k),
                          "value": spec(v), "output": spec(o)},
            "mlp": {"scale": "1/2", "norm": described, "activation": "gelu",
                    "up": spec(up), "down": spec(down)},
        }  # fmt: skip
        block = ledger(tmp_path, tree).ledger.block
        heads = [tuple(_half(own, h) for own in (q, k, v)) for h in range(2)]
        part = BlockPart(norm, AttentionPart(heads, o, 2), norm, MlpPart(up, down, "gelu", None),
                         (1.0, 0.5), (1.0, 0.5))  # fmt: skip
        x = in_ball(rng, (400, 5, width), 3.0)
        y = in_ball(rng, x.shape, 3.0)
        error = token_norm(part.run(x, executed=True) - part.run(x)).max()
        slope = (token_norm(part.run(x) - part.run(y)) / token_norm(x - y)).max()
        size = token_norm(part.run(x)).max()
        for measured, bound in ((error, block.field_error()), (slope, block.state_lipschitz()),
                                (size, block.field_bound())):  # fmt: skip
            ratios.append(measured / float(bound))
    assert max(ratios) <= 1 + 1e-9
    assert min(ratios[::3]) > 0.01


def _half(own: Any, head: int) -> Any:
    from random_blocks import Layer

    rows = slice(2 * head, 2 * head + 2)
    return Layer(own.weight[rows], own.executed[rows], own.bias[rows], own.executed_bias[rows])


def _texts(values: Any) -> Any:
    """Floats as exact texts."""
    if np.ndim(values):
        return [_texts(value) for value in values]
    top, bottom = float(values).as_integer_ratio()
    return f"{top}/{bottom}"
