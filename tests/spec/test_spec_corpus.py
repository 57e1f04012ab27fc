"""The corpus: what is accepted, and what is refused with which words at which place.

Beside a refused file ``X`` stands ``X.expect``: a line a problem, ``LINE POINTER FRAGMENT``, in
the order in which the problems are reported (``-`` for none).
"""

from __future__ import annotations

from pathlib import Path

import pytest

from qreplace.errors import SpecError
from qreplace.question.model import read_question
from qreplace.spec import load_spec

CORPUS = Path(__file__).parent.parent / "corpus"
EXAMPLES = Path(__file__).parent.parent.parent / "examples"


def specs(kind: str) -> list[str]:
    """The specifications of a corpus folder, as relative paths."""
    folder = CORPUS / kind / "spec"
    found = [path for path in folder.iterdir() if path.suffix in (".yaml", ".json")]
    return sorted(str(path.relative_to(CORPUS)) for path in found)


@pytest.mark.parametrize("name", specs("accepted"))
def test_accepted(name: str) -> None:
    loaded = load_spec(CORPUS / name)
    assert read_question(loaded.question.to_bytes()) == loaded.question
    assert loaded.name == Path(name).name


@pytest.mark.parametrize("name", [*specs("rejected"), *specs("malformed")])
def test_refused_for_the_expected_reasons(name: str) -> None:
    path = CORPUS / name
    expected = [
        line.split(" ", 2) for line in Path(f"{path}.expect").read_text("utf-8").splitlines()
    ]
    with pytest.raises(SpecError) as caught:
        load_spec(path)
    received = caught.value.problems
    assert [(str(p.line or "-"), p.pointer or "-") for p in received] == [
        (line, pointer) for line, pointer, _ in expected
    ]
    for problem, (_, _, fragment) in zip(received, expected, strict=True):
        assert fragment in problem.message
        assert problem.file == str(path)
    assert caught.value.exit_code == 3


def test_every_expectation_has_its_file() -> None:
    for expectation in CORPUS.glob("*/spec/*.expect"):
        assert expectation.with_suffix("").exists(), expectation.name


@pytest.mark.parametrize("name", ["declared-transformer.yaml", "declared-moe.yaml"])
def test_examples_are_accepted(name: str) -> None:
    loaded = load_spec(EXAMPLES / name)
    assert loaded.labels.title
    assert loaded.arrays == {}
