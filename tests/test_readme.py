"""What the README shows is what happens."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text("utf-8")


def _run(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    words = shlex.split(command, comments=True)
    if words[0] == "qreplace":
        words = [sys.executable, "-m", "qreplace.cli", *words[1:]]
    elif words[0] == "python":
        words = [sys.executable, *words[1:]]
    return subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)


def test_the_commands_of_the_readme_work_in_the_order_shown(tmp_path: Path) -> None:
    blocks = [b for b in re.findall(r"```\n(.*?)```", README, re.S) if "qreplace init" in b]
    commands = [line for block in blocks for line in block.splitlines() if line.strip()]
    assert len(commands) == 9
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    for command in commands:
        if command.startswith("qreplace serve"):
            continue  # tests/service starts the real server
        done = _run(command, tmp_path)
        assert done.returncode == 0, (command, done.stdout, done.stderr)
    assert (tmp_path / "out" / "report.html").is_file()


def test_the_rendered_verdict_is_the_current_one(tmp_path: Path) -> None:
    block = next(
        b for b in re.findall(r"```\n(.*?)```", README, re.S) if b.startswith("$ qreplace")
    )
    command, shown = block.split("\n", 1)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    done = _run(command.removeprefix("$ "), tmp_path)
    assert _without_identity(done.stdout) == _without_identity(shown)


def _without_identity(text: str) -> list[str]:
    """The study and bundle digests name one answer of one engine; the rest is the same."""
    return [line for line in text.strip().splitlines() if not line.startswith("re-check")]


def test_every_linked_file_exists() -> None:
    for target in re.findall(r"\]\((?!https?:)([^)#]+)\)", README):
        assert (ROOT / target).exists(), target


def test_make_targets_named_in_the_readme_exist() -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    for target in re.findall(r"`?make ([a-z]+)`?", README):
        assert re.search(rf"^{target}:", makefile, re.M), target


def test_import_stays_light_and_lazy() -> None:
    """``import qreplace`` loads nothing heavy; the figure is in benchmarks."""
    script = (
        "import sys, qreplace; "
        "print([m for m in ('numpy','pydantic','flint','highspy','typer') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, env=os.environ
    )
    assert done.stdout.strip() == "[]"
