"""The same question and claims give the same bytes, in any process (design rule 7)."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest
from declared_questions import decided, declared, lifted, tolerance, verdict_of

from qreplace.exact.document import canonical_bytes
from qreplace.pipeline import decide

ROOT = Path(__file__).parent.parent.parent
SPECS = [
    "tests/corpus/accepted/spec/lifted-vectors.yaml",
    "tests/corpus/accepted/spec/metadata-codes.yaml",
    "examples/declared-transformer.yaml",
    "examples/declared-moe.yaml",
    "examples/affine-128.yaml",
]
SCRIPT = """
import hashlib, sys
from qreplace.pipeline import decide
for path in sys.argv[1:]:
    print(hashlib.sha256(decide(path).bundle).hexdigest())
"""


def test_deciding_twice_gives_equal_documents() -> None:
    for question in (declared(), declared(objective=tolerance("1/1000"))):
        assert canonical_bytes(verdict_of(question)) == canonical_bytes(verdict_of(question))
    question = lifted(["1/2", "1/2"], [[1, 0], [0, 1]])
    assert canonical_bytes(decided(question, [1, 1])) == canonical_bytes(decided(question, [1, 1]))


@pytest.mark.parametrize(
    "surroundings",
    [
        {"PYTHONHASHSEED": "1", "LANG": "C", "TZ": "UTC"},
        {"PYTHONHASHSEED": "4242", "LANG": "de_DE.UTF-8", "LC_ALL": "C.UTF-8", "TZ": "Asia/Tokyo"},
    ],
    ids=["seed 1", "seed 4242"],
)
def test_other_processes_give_the_same_bundles(surroundings: dict[str, str]) -> None:
    here = [hashlib.sha256(decide(ROOT / path).bundle).hexdigest() for path in SPECS]
    ran = subprocess.run(
        [sys.executable, "-c", SCRIPT, *SPECS],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), **surroundings},
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert ran.stdout.split() == here
