"""``python -m benchmarks [NAME ...]``: run all benchmarks, or the named ones."""

from __future__ import annotations

import importlib
import sys

NAMES = (
    "startup",
    "declared",
    "bracket",
    "real_example",
    "affine_bracket",
    "value_functions",
    "count_minimum",
    "piecewise_cells",
    "piecewise_boxes",
    "schedule_minimum",
    "switching_rules",
    "lattice_grid",
    "error_feedback_steps",
)


def main() -> None:
    """Run them in order."""
    for name in sys.argv[1:] or NAMES:
        importlib.import_module(f"benchmarks.{name}").main()


if __name__ == "__main__":
    main()
