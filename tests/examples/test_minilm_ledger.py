"""The MiniLM ledger: its norms are the checkpoint's, its premises are the study's."""

from __future__ import annotations

import hashlib
import importlib.util
import sys
from fractions import Fraction
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from ruamel.yaml import YAML

import qreplace
from qreplace.ledger.outcome import LedgerOutcome, run

EXAMPLE = Path(__file__).parents[2] / "examples" / "minilm-ledger"
LAYER = "encoder.layer.0."


@cache
def outcome(name: str) -> LedgerOutcome:
    return run(EXAMPLE / name)


@cache
def tree(name: str) -> dict[str, Any]:
    found: dict[str, Any] = YAML(typ="safe").load((EXAMPLE / name).read_text("utf-8"))
    return found


@cache
def builder() -> ModuleType:
    spec = importlib.util.spec_from_file_location("minilm_ledger_build", EXAMPLE / "build.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_the_studys_premises_are_those_of_the_ledger() -> None:
    premises = YAML(typ="safe").load(outcome("block.yaml").premises())
    study = tree("study.yaml")
    assert study["synthesis"] == premises["synthesis"]
    assert {key: study["execution"][key] for key in premises["execution"]} == premises["execution"]


def test_the_study_is_conditionally_feasible_and_says_on_what() -> None:
    study = qreplace.decide(EXAMPLE / "study.yaml")
    assert study.verdict == "conditionally_feasible"
    assert study.decision["best"]["depth"] == 2
    assert {"field_bound", "state_lipschitz", "field_error"} <= set(study.decision["declared"])


def quantised(weight: Any) -> Any:
    groups = weight.reshape(len(weight), -1, 64)
    scale = np.abs(groups).max(axis=-1, keepdims=True) / 127
    return (np.rint(groups / scale) * scale).reshape(weight.shape)


@pytest.mark.parametrize(("place", "name", "gamma"), [
    (("attention", "query"), "attention.self.query", "embeddings.LayerNorm"),
    (("attention", "key"), "attention.self.key", "embeddings.LayerNorm"),
    (("attention", "value"), "attention.self.value", "embeddings.LayerNorm"),
    (("attention", "output"), "attention.output.dense", None),
    (("mlp", "up"), "intermediate.dense", LAYER + "attention.output.LayerNorm"),
    (("mlp", "down"), "output.dense", None),
])  # fmt: skip
def test_the_norms_of_the_block_are_the_checkpoints(
    place: tuple[str, str], name: str, gamma: str | None
) -> None:
    weights = builder().load_weights()
    weight = weights[f"{LAYER}{name}.weight"].astype(float)
    bias = weights[f"{LAYER}{name}.bias"].astype(float)
    if gamma is not None:
        bias = weight @ weights[gamma + ".bias"].astype(float) + bias
        weight = weight * weights[gamma + ".weight"].astype(float)
    change = quantised(weight) - weight
    entry = tree("block.yaml")[place[0]][place[1]]
    entries = entry if isinstance(entry, list) else [entry]
    size = len(weight) // len(entries)
    for k, own in enumerate(entries):
        rows = slice(k * size, (k + 1) * size)
        for key, true in (
            ("norm", np.linalg.norm(weight[rows], 2)),
            ("error", np.linalg.norm(change[rows], 2)),
            ("bias", np.linalg.norm(bias[rows])),
        ):
            stated = float(own[key]["value"])
            assert true * (1 - 1e-9) <= stated <= true * (1 + 1e-6), (name, k, key)


def test_the_head_is_the_checkpoints_and_its_ledger_is_proved() -> None:
    data = builder().head_data(builder().load_weights())
    assert (EXAMPLE / "data" / "head-0.safetensors").read_bytes() == data
    written = builder().head_text(hashlib.sha256(data).hexdigest())
    assert (EXAMPLE / "head.yaml").read_text("utf-8") == written
    found = outcome("head.yaml")
    assert {own.evidence.value for own in found.totals} <= {
        "interval_certified", "analytic_certified",
    }  # fmt: skip
    assert found.ledger.known


def test_the_head_never_errs_by_more_than_its_ledger_says() -> None:
    """Both versions of the head are run on tokens of the tube."""
    weights = builder().load_weights()
    rng = np.random.default_rng(3)
    x = rng.normal(size=(40, 16, 384))
    x *= rng.uniform(7, 15, size=(40, 16, 1)) / np.linalg.norm(x, axis=-1, keepdims=True)
    centred = x - x.mean(axis=-1, keepdims=True)
    length = np.linalg.norm(centred, axis=-1)
    assert length.min() >= 6
    unit = centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + 1e-12)
    first = "embeddings.LayerNorm"
    z = unit * weights[first + ".weight"].astype(float) + weights[first + ".bias"].astype(float)

    def run_head(low: bool) -> Any:
        q, k, v = (
            z @ _four_bits(weights[f"{LAYER}attention.self.{n}.weight"][:32], 64, low).T
            + weights[f"{LAYER}attention.self.{n}.bias"][:32].astype(float)
            for n in ("query", "key", "value")
        )
        scores = q @ np.swapaxes(k, -1, -2) / np.sqrt(32)
        scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
        mixed = scores / scores.sum(axis=-1, keepdims=True) @ v
        output = weights[LAYER + "attention.output.dense.weight"][:, :32]
        return mixed @ _four_bits(output, 32, low).T

    exact, executed = run_head(False), run_head(True)
    block = outcome("head.yaml").ledger.block
    error = np.linalg.norm(executed - exact, axis=-1).max()
    assert 0 < error <= float(block.field_error())
    assert np.linalg.norm(exact, axis=-1).max() <= float(block.field_bound())
    assert Fraction(float(error)) < block.field_error()


def _four_bits(weight: Any, group: int, low: bool) -> Any:
    wide = weight.astype(float)
    if not low:
        return wide
    groups = wide.reshape(len(wide), -1, group)
    scale = np.abs(groups).max(axis=-1, keepdims=True) / 7
    return (np.rint(groups / scale) * scale).reshape(wide.shape)
