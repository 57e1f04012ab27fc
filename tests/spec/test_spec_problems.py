"""Whatever is written, the answer is a specification or a ``SpecError`` in our own words."""

from __future__ import annotations

import copy
import json
import random
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from spec_examples import DECLARED, LIFTED, changed, load, premise, problems

from qreplace.errors import SpecError
from qreplace.spec import load_spec_bytes
from qreplace.spec.problems import _WORDS, findings_of
from qreplace.spec.reading import read_document

ROOT = Path(__file__).parent.parent.parent
SOURCES = [
    path.read_bytes()
    for folder in (ROOT / "examples", ROOT / "tests" / "corpus" / "accepted" / "spec")
    for path in sorted(folder.glob("*.yaml"))
]
STRANGE: list[Any] = [
    None, True, 0, -1, 10**30, "", "none", "exact", "1/0", "x" * 100, [], {}, [[]], [[1], 2],
    {"kind": "none"}, {"kind": 3}, {"value": []}, {"lo": 1, "hi": 0}, {"lo": "x", "hi": 1},
    {"path": "../x", "sha256": "0" * 64}, {"values": 3}, {"rows": [[1]]}, {"compute": "magic"},
    {"from": 5, "to": 1}, {"kind": "block_l2", "block": 0}, "kind=fault", {"kind=x": 1}, ["linf"],
]  # fmt: skip
FOREIGN = ["pydantic", "Input should", "validation error", "Field required", "valid value"]


def places(tree: Any) -> list[tuple[Any, Any]]:
    """Every container and key of a tree."""
    found = []
    stack = [tree]
    while stack:
        item = stack.pop()
        keys = list(item) if isinstance(item, dict) else range(len(item))
        for key in keys:
            found.append((item, key))
            if isinstance(item[key], (dict, list)):
                stack.append(item[key])
    return found


@pytest.mark.parametrize("seed", range(12))
def test_altered_specifications(seed: int) -> None:
    generator = random.Random(seed)
    trees = [read_document(source, "yaml").tree for source in SOURCES]
    for _ in range(120):
        tree = copy.deepcopy(generator.choice(trees))
        for _ in range(generator.randrange(1, 4)):
            container, key = generator.choice(places(tree))
            action = generator.randrange(4)
            if action == 0 and isinstance(container, dict):
                container[generator.choice(["kind", "norm", "x", "value"])] = container.pop(key)
            elif action == 1 and isinstance(container, dict):
                del container[key]
            else:
                container[key] = copy.deepcopy(generator.choice(STRANGE))
        check(json.dumps(tree).encode(), "json")


def check(data: bytes, media: Any) -> None:
    """Load, and look at the words of what is refused."""
    try:
        load_spec_bytes(data, name="s", base=None, media=media)
    except SpecError as error:
        assert error.problems
        for problem in error.problems:
            assert not any(word in problem.message for word in FOREIGN), problem
            assert "kind=" not in problem.pointer or b"kind=" in data
            assert problem.line is not None
            str(problem).encode()


@pytest.mark.parametrize("seed", range(6))
def test_damaged_text(seed: int) -> None:
    generator = random.Random(seed)
    snippets = [
        b'"\\U00110000"', b"%YAML 1.1\n", b"%TAG", b"---\n", b"...", b"&a ", b"*a", b"!!x ", b"{",
        b"}", b"[", b"]", b": ", b"? ", b"- ", b"|", b">9", b"\t", b"\xff", b"\x00", b"'", b'"',
        b"@", b"\xe2\x80\xa8", b"\xef\xbb\xbf", b"\r", b".inf", b"<<: ", b'"\\ud800"', b"!<tag:",
    ]  # fmt: skip
    for _ in range(60):
        text = bytearray(generator.choice(SOURCES))
        for _ in range(generator.randrange(1, 4)):
            at = generator.randrange(len(text) + 1)
            if generator.random() < 0.7:
                text[at:at] = generator.choice(snippets)
            else:
                del text[at : at + generator.randrange(20)]
        try:
            load_spec_bytes(bytes(text), name="s", base=None, media="yaml")
        except SpecError as error:
            str(error).encode()


def test_every_kind_of_pydantic_error_has_words() -> None:
    """The kinds of errors that the models can raise are the ones that are translated."""
    from pydantic import ValidationError

    from qreplace.spec.model import Spec

    seen = set()
    for block in DECLARED:
        for value in STRANGE:
            try:
                Spec.model_validate({**DECLARED, block: value})
            except ValidationError as error:
                seen |= {item["type"] for item in error.errors()}
                assert findings_of(error, {**DECLARED, block: value})
    assert seen <= {*_WORDS, "fault", "unknown_kind", "missing", "extra_forbidden"}


def test_tags_of_unions_are_not_in_pointers() -> None:
    synthesis = {"kind": "constant", "constant": 1, "growth": {"rate": "x", "step_limit": 1}}
    (problem,) = problems(changed(DECLARED, synthesis=synthesis))
    assert problem.pointer == "/synthesis/growth/rate"


def test_a_fault_in_one_block_hides_no_contradiction_elsewhere() -> None:
    tree = changed(DECLARED, routing="sideways", structural_floor={"lower": 2, "upper": 1})
    assert [problem.pointer for problem in problems(tree)] == [
        "/structural_floor/lower",
        "/routing",
    ]


def test_each_unit_is_checked() -> None:
    for unit in ("norm", "1/time", "score"):
        tree = changed(LIFTED, horizon={"value": 1, "unit": unit})
        (problem,) = problems(tree)
        assert problem.pointer == "/horizon/unit"
        assert problem.code == "unit"
    constant = premise(1, unit="norm")
    load(changed(DECLARED, synthesis={"kind": "constant", "constant": constant}))


def test_a_misspelt_key_is_recognised() -> None:
    tree = changed(DECLARED, tube={"kind": "declared", "margin": premise(1), "norn": "l2"})
    (problem,) = problems(tree)
    assert "Did you mean 'norm'" in problem.message
    assert problem.pointer == "/tube/norn"


def test_a_declared_study_is_loaded_quickly() -> None:
    tree = read_document((ROOT / "examples" / "declared-transformer.yaml").read_bytes(), None).tree
    data = json.dumps(tree).encode()
    load(data)
    best = min(_seconds(data) for _ in range(20))
    assert best < 0.05


def _seconds(data: bytes) -> float:
    start = time.process_time()
    for _ in range(10):
        load(data)
    return (time.process_time() - start) / 10


@pytest.mark.parametrize(
    ("code", "absent"),
    [
        ("import qreplace.spec", ["pydantic", "ruamel"]),
        (
            (
                "import sys; from qreplace.spec import load_spec_bytes as f; "
                "f(sys.stdin.buffer.read(), name='s', base=None, media='json')"
            ),
            ["ruamel", "numpy"],
        ),
    ],
)
def test_nothing_heavy_is_imported_before_it_is_needed(code: str, absent: list[str]) -> None:
    after = "import sys; print(*sorted(m for m in sys.modules if '.' not in m))"
    result = subprocess.run(
        [sys.executable, "-c", f"{code}; {after}"],
        input=json.dumps(DECLARED),
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
    )
    assert not set(absent) & set(result.stdout.split())
