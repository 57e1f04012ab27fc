"""How long does the real 6,144-dimensional example take, as whole processes?

Peer: an empty Python process in the same run, so that the machine's own speed is on the record.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.measure import best_of, record

ROOT = Path(__file__).parent.parent
EXAMPLE = ROOT / "examples" / "minilm-attention-output"
REPEATS = 3
DECIDE = (
    "import pathlib, sys, qreplace;"
    "pathlib.Path(sys.argv[2]).write_bytes(qreplace.decide(sys.argv[1]).bundle)"
)


def _run(*arguments: str) -> None:
    subprocess.run([sys.executable, *arguments], check=True, capture_output=True, cwd=ROOT)


def main() -> None:
    """Measure and record."""
    empty, _ = best_of(5, lambda: _run("-c", "pass"))
    rows = []
    for name in ("impossible", "feasible", "unresolved"):
        with tempfile.TemporaryDirectory() as folder:
            spec, bundle = str(EXAMPLE / f"{name}.yaml"), Path(folder) / "bundle.zip"
            decided, _ = best_of(REPEATS, lambda s=spec, b=bundle: _run("-c", DECIDE, s, str(b)))
            full, _ = best_of(
                REPEATS,
                lambda s=spec, f=folder: _run("-m", "qreplace.cli", "decide", s, "--out", f),
            )
            checked, _ = best_of(REPEATS, lambda b=bundle: _run("-m", "qreplace.check", str(b)))
            rows.append(
                {
                    "spec": name,
                    "decide_and_bundle_s": decided,
                    "decide_with_reports_and_figures_s": full,
                    "check_s": checked,
                    "bundle_bytes": bundle.stat().st_size,
                    "empty_python_s": empty,
                }
            )
    record("real_example", rows)


if __name__ == "__main__":
    main()
