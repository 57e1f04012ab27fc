"""Write ``affine-128.yaml``: sixteen signed 4-bit 8 x 8 maps on sixteen witnesses (dimension 128).

The shape is that of the instance in QR 8.4, whose numbers are not published; these come from a
seeded generator, so the floor is this instance's own and not the paper's 0.12575462209.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

SEED = 2607
WIDTH = 8
WITNESSES = 16
ATOMS = 16


class Lehmer:
    """The minimal standard generator: the same numbers on every machine and Python."""

    def __init__(self, seed: int) -> None:
        self.state = seed

    def below(self, bound: int) -> int:
        """A number in ``range(bound)``."""
        self.state = self.state * 48271 % 2147483647
        return self.state % bound


def specification() -> str:
    """The text of the specification."""
    numbers = Lehmer(SEED)
    target = [[numbers.below(129) - 64 for _ in range(WIDTH)] for _ in range(WIDTH)]
    inputs = [[numbers.below(65) - 32 for _ in range(WIDTH)] for _ in range(WITNESSES)]
    lines = [
        "# Written by make_affine_128.py. Sixteen signed 4-bit 8 x 8 maps on sixteen witnesses: a",
        "# lifted target of dimension 128, as in QR 8.4 (whose own numbers are not published).",
        "format: qreplace/spec/v1",
        "title: 128-dimensional lifted affine instance",
        "",
        "objective:",
        "  kind: emulation",
        "  tolerance: 0.25",
        "  norm: linf",
        "  domain:",
        "    kind: witnesses",
        "    inputs:",
        *(f"      - [{', '.join(decimal(v, 32) for v in row)}]" for row in inputs),
        "",
        "system: {kind: lifted_affine}",
        "",
        "target:",
        "  kind: linear_map",
        "  weights:",
        *(f"    - [{', '.join(decimal(v, 64) for v in row)}]" for row in target),
        "",
        "dictionary:",
        "  bits: 4",
        "  learned: false",
        "  schedule: shared",
        "  atoms:",
    ]
    for index in range(ATOMS):
        # w ~ code / 7 with an error of up to a step and a half, a different one in every atom.
        codes = [
            [max(-8, min(7, (2 * 7 * w + 64) // 128 + numbers.below(4) - numbers.below(4)))
             for w in row]
            for row in target
        ]  # fmt: skip
        lines.append(
            f"    - {{kind: quantized_linear, name: atom-{index:02d}, scales: 1/7, codes: ["
        )
        lines += [f"        [{', '.join(map(str, row))}]," for row in codes]
        lines.append("      ]}")
    lines += [
        "",
        "structural_floor: {compute: affine_lp}",
        "metadata: none",
        "execution: exact",
        "routing: none",
        "",
        "search: {depths: [{from: 1, to: 48}], metadata_bits: [0]}",
    ]
    return "\n".join(lines) + "\n"


def decimal(numerator: int, denominator: int) -> str:
    """``numerator / denominator`` for a power of two, in decimals."""
    return f"{numerator / denominator:.6f}".rstrip("0").rstrip(".")


def main() -> int:
    """Write the file, or compare it with what would be written."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare only; exit 1 on a difference")
    path = Path(__file__).with_name("affine-128.yaml")
    text = specification()
    if parser.parse_args().check:
        same = path.read_text("utf-8") == text
        if not same:
            print(f"{path.name} differs from what this script writes", file=sys.stderr)
        return 0 if same else 1
    path.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
