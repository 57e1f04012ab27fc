"""How long until the first answer: ``import qreplace`` and ``qreplace --help``, whole processes.

Peers: an empty Python process and ``import typer`` alone.
"""

from __future__ import annotations

import subprocess
import sys

from benchmarks.measure import best_of, record

REPEATS = 15


def _seconds(*arguments: str) -> float:
    def action() -> None:
        subprocess.run([sys.executable, *arguments], check=True, capture_output=True)

    action()
    return best_of(REPEATS, action)[0]


def main() -> None:
    """Measure and record."""
    empty = _seconds("-c", "pass")
    imported = _seconds("-c", "import qreplace")
    record(
        "startup",
        [
            {
                "empty_python_s": empty,
                "import_typer_s": _seconds("-c", "import typer"),
                "import_qreplace_s": imported,
                "import_qreplace_alone_s": imported - empty,
                "help_s": _seconds("-m", "qreplace.cli", "--help"),
            }
        ],
    )


if __name__ == "__main__":
    main()
