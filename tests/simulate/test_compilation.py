"""Numba is loaded only where something is simulated, and what it compiled is kept on disk."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
LOADED = "import sys; print('numba' in sys.modules)"
MAIN = "from qreplace.cli.__main__ import main\n"
COUNT = (
    "import numpy as np\n"
    "from qreplace.simulate.feedback import feedback\n"
    "from qreplace.simulate.feedback_kernels import run\n"
    "feedback(np.array([[3, -2]]), [0, 0], 2)\n"
    "print(sum(run.stats.cache_hits.values()), sum(run.stats.cache_misses.values()))\n"
)


def python(program: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
        env={**os.environ, **environment},
    )
    return done.stdout.strip().splitlines()[-1]


@pytest.mark.parametrize("program", [
    "import qreplace\n",
    "import qreplace.cli.simulate, qreplace.simulate.request\n",
    "import sys; sys.argv = ['qreplace', '--help']\ntry:\n    " + MAIN.strip() + "; main()\n"
    "except SystemExit: pass\n",
    "import sys; sys.argv = ['qreplace', 'simulate', 'lattice', '--help']\ntry:\n    "
    + MAIN.strip() + "; main()\nexcept SystemExit: pass\n",
    f"import qreplace; qreplace.decide({str(EXAMPLES / 'declared-transformer.yaml')!r})\n",
    f"import qreplace; qreplace.decide({str(EXAMPLES / 'leaky-layer.yaml')!r})\n",
    "import qreplace.service.app\n",
])  # fmt: skip
def test_numba_is_not_loaded_where_nothing_is_simulated(program: str) -> None:
    assert python(program + LOADED) == "False"


def test_a_second_process_compiles_nothing(tmp_path: Path) -> None:
    first = python(COUNT, NUMBA_CACHE_DIR=str(tmp_path))
    assert first == "0 1"
    assert any(tmp_path.rglob("*.nbc"))
    assert python(COUNT, NUMBA_CACHE_DIR=str(tmp_path)) == "1 0"
