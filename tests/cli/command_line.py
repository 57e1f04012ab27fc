"""Run the command line as a user does: a process, its exit code, its two streams."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
EXAMPLES = ROOT / "examples"
ACCEPTED = ROOT / "tests" / "corpus" / "accepted" / "spec"


@dataclass(frozen=True)
class Ran:
    code: int
    out: str
    err: str


def qreplace(*arguments: str | Path, module: str = "qreplace.cli") -> Ran:
    """``qreplace ARGUMENTS`` in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", module, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return Ran(done.returncode, done.stdout, done.stderr)
