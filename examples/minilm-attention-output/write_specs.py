"""Write this example's three specifications from ``SHA256SUMS`` and ``recipes.json`` in ``data``.

Run it after ``build.py``; the result is checked in, and a test keeps the two equal.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

HERE = Path(__file__).parent

STUDIES = {
    "impossible": (
        "0.02",
        "{from: 1, to: 64}",
        "As good as 8-bit weights: plain 8-bit rounding of this block errs by 0.0195.",
    ),
    "feasible": (
        "0.05",
        "{from: 1, to: 64}",
        "A tenth of the residual stream (RMS 0.508) to which the block's output is added.",
    ),
    "unresolved": (
        "0.043",
        "{from: 1, to: 64}",
        "A quarter of the block's output (RMS 0.1739 with its bias): just above the floor.",
    ),
}


def specification(tolerance: str, depths: str, reason: str) -> str:
    """The text of one specification."""
    sums = {
        line.split()[1]: line.split()[0]
        for line in (HERE / "data" / "SHA256SUMS").read_text("utf-8").splitlines()
    }
    recipes = json.loads((HERE / "data" / "recipes.json").read_text("utf-8"))

    def array(name: str) -> str:
        return f"{{path: data/{name}, sha256: {sums[name]}}}"

    lines = [
        "# Written by write_specs.py; README.md says where the data and the tolerance come from.",
        "format: qreplace/spec/v1",
        f"title: MiniLM attention output projection in 4-bit versions, error at most {tolerance}",
        f"notes: {json.dumps(reason)}",
        "",
        "objective:",
        "  kind: emulation",
        f"  tolerance: {tolerance}",
        "  norm: linf",
        f"  domain: {{kind: witnesses, inputs: {array('witnesses.npy')}}}",
        "",
        "system: {kind: lifted_affine}",
        "",
        "target:",
        "  kind: linear_map",
        "  name: encoder.layer.0.attention.output.dense of all-MiniLM-L6-v2",
        f"  weights: {array('target.npy')}",
        "",
        "dictionary:",
        "  bits: 4",
        "  learned: false",
        "  schedule: shared",
        "  atoms:",
    ]
    for recipe in recipes:
        lines += [
            "    - kind: quantized_linear",
            f"      name: {recipe['name']}",
            f"      recipe: {json.dumps(recipe['recipe'])}",
            f"      codes: {array(recipe['codes'])}",
            f"      scales: {array(recipe['scales'])}",
        ]
    lines += [
        "",
        "structural_floor: {compute: affine_lp}",
        "metadata: none",
        "execution: exact",
        "routing: none",
        "",
        f"search: {{depths: [{depths}], metadata_bits: [0]}}",
        "costs: {codebook: 0, metadata_bit: 0, schedule_bit: 1, step: 1}",
    ]
    return "\n".join(lines) + "\n"


def main() -> int:
    """Write the files, or compare them with what would be written."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare only; exit 1 on a difference")
    check = parser.parse_args().check
    different = []
    for name, study in STUDIES.items():
        path = HERE / f"{name}.yaml"
        text = specification(*study)
        if not check:
            path.write_text(text, encoding="utf-8")
        elif path.read_text("utf-8") != text:
            different.append(path.name)
    if different:
        print(f"differ from what this script writes: {', '.join(different)}", file=sys.stderr)
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
