"""Concrete weights: exact entries, exact rounding, norms that are proved (theory T10.5)."""

from __future__ import annotations

import hashlib
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ledger_kit import BLOCK, changed, ledger
from safetensors.numpy import save

from qreplace.errors import InputError, Rejected
from qreplace.ledger import weights as own
from qreplace.ledger.request import QuantizeSpec
from qreplace.ledger.weights import Pair, euclidean, largest, operator_norm, quantized
from qreplace.premises import Evidence

WHOLE = st.integers(-9, 9)


def as_floats(rows: list[list[int]], denominator: int) -> Any:
    return np.array(rows, dtype=float) / denominator


@pytest.mark.parametrize("shape", [(3, 3), (5, 2), (2, 5), (40, 60), (60, 50)])
def test_a_norm_is_above_the_largest_singular_value_and_near_it(shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(sum(shape))
    rows = rng.integers(-999, 999, size=shape).tolist()
    found = operator_norm(rows, 64)
    true = np.linalg.norm(as_floats(rows, 64), 2)
    assert true * (1 - 1e-12) <= float(found) <= true * (1 + 1e-8)


def test_larger_matrices_are_cut_into_bands(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own, "MAX_DEFINITE_ROWS", 8)
    rng = np.random.default_rng(4)
    for shape in ((20, 30), (30, 20)):
        rows = rng.integers(-9, 9, size=shape).tolist()
        true = np.linalg.norm(as_floats(rows, 1), 2)
        products = np.sqrt(np.linalg.norm(rows, 1) * np.linalg.norm(rows, np.inf))
        assert true <= float(operator_norm(rows, 1)) < products


def test_a_bound_that_is_not_shown_is_never_returned(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own, "upper_bound", lambda matrix, limit: ("definite", Fraction(1)))
    with pytest.raises(Rejected, match="not shown"):
        operator_norm([[3, 0], [0, 4]], 2)
    assert operator_norm([[0, 0]], 2) == 0


@given(
    rows=st.lists(st.lists(WHOLE, min_size=4, max_size=4), min_size=1, max_size=3),
    bits=st.integers(2, 8),
    group=st.sampled_from([None, 1, 2, 4]),
)
def test_rounding_is_to_nearest_within_every_group(
    rows: list[list[int]], bits: int, group: int | None
) -> None:
    pair = quantized(rows, 7, QuantizeSpec(bits=bits, group=group))
    last, width = 2 ** (bits - 1) - 1, group or 4
    for row, made in zip(rows, pair.executed, strict=True):
        for start in range(0, 4, width):
            part = row[start : start + width]
            step = Fraction(max(map(abs, part)), last * 7)
            for entry, code in zip(part, made[start : start + width], strict=True):
                value = Fraction(code, pair.denominator)
                if not step:
                    assert value == 0
                    continue
                assert (value / step).denominator == 1
                assert abs(value - Fraction(entry, 7)) <= step / 2
    assert [[Fraction(x, pair.denominator) for x in row] for row in pair.intended] == [
        [Fraction(x, 7) for x in row] for row in rows
    ]


def test_a_group_has_to_divide_the_row() -> None:
    with pytest.raises(InputError, match="divides 4 columns"):
        quantized([[1, 2, 3, 4]], 1, QuantizeSpec(bits=4, group=3))


def test_vectors_are_measured_exactly() -> None:
    assert euclidean([3, -4], 2) == Fraction(5, 2)
    assert largest([3, -4], 2) == 2
    assert euclidean([1, 1], 1) ** 2 >= 2
    pair = Pair([[1], [2], [3], [4]], [[1], [2], [3], [5]], 1)
    assert [band.difference() for band in pair.bands(2)] == [[[0], [0]], [[0], [1]]]


def block_of_arrays(folder: Path, **more: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """The block with every weight in a side file, and the arrays."""
    rng = np.random.default_rng(8)
    shapes = {"query": (4, 4), "key": (4, 4), "value": (4, 4), "output": (4, 4),
              "up": (8, 4), "down": (4, 8)}  # fmt: skip
    arrays = {name: rng.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}
    data = save({**arrays, **more})
    (folder / "w.safetensors").write_bytes(data)
    digest = hashlib.sha256(data).hexdigest()

    def tensor(name: str) -> dict[str, str]:
        return {"path": "w.safetensors", "sha256": digest, "tensor": name}

    found = BLOCK
    for name in shapes:
        branch = "mlp" if name in ("up", "down") else "attention"
        layer = {"weights": tensor(name), "quantize": {"bits": 4, "group": 2}}
        found = changed(found, {f"{branch}/{name}": layer})
    return found, {**arrays, "tensor": tensor}


def test_weights_in_side_files_give_proved_norms_head_by_head(tmp_path: Path) -> None:
    tree, arrays = block_of_arrays(tmp_path)
    outcome = ledger(tmp_path, tree)
    heads = outcome.ledger.block.branches["attention"].operator.heads  # type: ignore[union-attr]
    query = arrays["query"].astype(float)
    for k, head in enumerate(heads):
        part = query[2 * k : 2 * k + 2]
        assert float(head.query.norm) == pytest.approx(np.linalg.norm(part, 2), rel=1e-7)
        assert float(head.query.norm) >= np.linalg.norm(part, 2) * (1 - 1e-12)
        groups = part.reshape(2, 2, 2)
        scale = np.abs(groups).max(axis=-1, keepdims=True) / 7
        change = (np.rint(groups / scale) * scale - groups).reshape(2, 4)
        assert float(head.query.difference) == pytest.approx(np.linalg.norm(change, 2), rel=1e-6)
    computed = [k for k in outcome.ledger.known if "weights" in k.place or "executed" in k.place]
    assert len(computed) == 2 * (3 * 2 + 3)
    assert {k.evidence for k in computed} == {Evidence.INTERVAL_CERTIFIED}


def test_codes_with_scales_are_the_weights_they_mean(tmp_path: Path) -> None:
    codes = [[1, -2, 3, 4]] * 8
    for scales, meant in (
        ("1/2", [0.5, -1.0, 1.5, 2.0]),
        ([["1/2", 1]] * 8, [0.5, -1.0, 3.0, 4.0]),
    ):
        layer = {"weights": [meant] * 8, "executed": {"codes": codes, "scales": scales}}
        outcome = ledger(tmp_path, changed(BLOCK, {"mlp/up": layer}))
        assert outcome.ledger.block.branches["mlp"].operator.up.difference == 0  # type: ignore[union-attr]
    shifted = {"weights": [meant] * 8,
               "executed": {"codes": codes, "scales": 1, "zero_point": 1}}  # fmt: skip
    outcome = ledger(tmp_path, changed(BLOCK, {"mlp/up": shifted}))
    change = np.array([[0.0, -3.0, 2.0, 3.0]] * 8) - np.array([meant] * 8)
    found = outcome.ledger.block.branches["mlp"].operator.up.difference  # type: ignore[union-attr]
    assert float(found) == pytest.approx(np.linalg.norm(change, 2), rel=1e-7)


def test_biases_and_gains_in_side_files(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    bias, gain = rng.normal(size=4).astype(np.float32), rng.normal(size=4).astype(np.float32)
    tree, arrays = block_of_arrays(tmp_path, bias=bias, other=bias + 1, gain=gain)
    tensor = arrays["tensor"]
    vector = {"vector": tensor("bias"), "executed": tensor("other")}
    tree = changed(tree, {
        "attention/query/bias": vector, "mlp/down/bias": vector,
        "attention/norm": {"kind": "rms_norm", "eps": 1,
                           "gamma": {"vector": tensor("gain"), "executed": "exact"}},
    })  # fmt: skip
    block = ledger(tmp_path, tree).ledger.block
    attention, mlp = block.branches["attention"], block.branches["mlp"]
    wide = bias.astype(float)
    assert float(mlp.operator.down.bias) == pytest.approx(np.linalg.norm(wide))  # type: ignore[union-attr]
    assert float(mlp.operator.down.bias_error) == pytest.approx(2, abs=1e-6)  # type: ignore[union-attr]
    second = attention.operator.heads[1].query  # type: ignore[union-attr]
    assert float(second.bias) == pytest.approx(np.linalg.norm(wide[2:]))
    assert float(second.bias_error) == pytest.approx(np.sqrt(2), abs=1e-6)
    assert attention.norm.gamma == Fraction(float(np.abs(gain).max()))
    assert attention.norm.gamma_error == 0


def test_a_wrong_digest_and_a_large_matrix_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from qreplace.errors import SpecError

    tree, _ = block_of_arrays(tmp_path)
    monkeypatch.setattr(own, "MAX_ENTRIES", 20)
    with pytest.raises(SpecError, match="State its norm and its error"):
        ledger(tmp_path, tree)
    (tmp_path / "w.safetensors").write_bytes(b"other")
    with pytest.raises(SpecError, match="SHA-256"):
        ledger(tmp_path, tree)


def test_a_routers_rows_bound_its_scores(tmp_path: Path) -> None:
    from ledger_kit import routed

    router = {"weights": [[3, 4, 0, 0], [1, 1, 1, 1]], "executed": [[3, 4, 0, 1], [1, 1, 1, 1]],
              "bias": {"vector": [0, 0], "executed": [0, "1/10"]}}  # fmt: skip
    mixture = (
        ledger(tmp_path, changed(routed(), {"experts/scores": router}))
        .ledger.block.branches["experts"]
        .operator
    )
    assert mixture.score_lipschitz == 5  # type: ignore[union-attr]
    assert mixture.score_growth == 1  # type: ignore[union-attr]
    assert mixture.score_error == Fraction(1, 10)  # type: ignore[union-attr]
