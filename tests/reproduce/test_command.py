"""``qreplace reproduce`` from outside: the list, JSON, exit codes, what is printed."""

from __future__ import annotations

import json
import subprocess
import sys
from fractions import Fraction

import pytest
from typer.testing import CliRunner

import qreplace.reproduce as package
from qreplace.cli.__main__ import app
from qreplace.reproduce.table import Interval, Table, number

ROW = ["quantity", "published", "here", "lower", "lower~", "upper", "upper~", "agrees", "shown"]


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "qreplace.cli", "reproduce", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def test_alone_it_lists_what_there_is() -> None:
    ran = run()
    assert ran.returncode == 0 and ran.stderr == ""
    assert [line.split()[0] for line in ran.stdout.splitlines() if line[:1].isalpha()] == [
        *package.TABLES,
        "Compute",
    ]
    listed = json.loads(run("--json").stdout)["tables"]
    assert [entry["table"] for entry in listed] == list(package.TABLES)
    assert {tuple(entry) for entry in listed} == {("table", "title", "reference", "options")}


def test_a_table_as_json_and_for_people() -> None:
    ran = run("split", "--depth", "2", "--json")
    assert ran.returncode == 0 and ran.stderr == ""
    document = json.loads(ran.stdout)
    assert document["table"] == "split" and document["agrees"] is True
    # Two depths say nothing of where the errors go: those two rows are not compared.
    assert document["instance_given"] is False and document["compared"] == 4
    assert all(list(row) == ROW for row in document["rows"])
    exact = [Fraction(row["lower"]) for row in document["rows"] if row["lower"] is not None]
    assert Fraction(3, 16) in exact
    ran = run("split", "--depth", "2")
    assert ran.returncode == 0 and ran.stderr == ""
    lines = ran.stdout.splitlines()
    assert lines[0] == "One dictionary, two targets (QR 10.2, Figure 9)"
    assert lines[-1] == "4 of 4 comparable entries agree, on an instance of our own"
    assert any(
        line.startswith("E_D, missed target, D = 2 ") and " 0.1875 " in line for line in lines
    )


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            ["nothing"],
            "there is no table 'nothing'. There are matrix, split, phase, search, necessity",
        ),
        (["matrix", "--depth", "3"], "matrix takes no options, received --depth"),
        (["--depth", "3"], "options belong to a table"),
    ],
)
def test_what_is_refused_is_invalid_input(arguments: list[str], words: str) -> None:
    ran = run(*arguments)
    assert ran.returncode == 3 and words in ran.stderr and ran.stdout == ""


@pytest.mark.parametrize(("published", "code"), [("0.50", 0), ("0.51", 1)])
def test_it_exits_1_when_something_comparable_disagrees(
    monkeypatch: pytest.MonkeyPatch, published: str, code: int
) -> None:
    half = Interval(Fraction(1, 2), Fraction(1, 2))
    row = number("a half", half, "counted", published)
    table = Table("x", "Title", "QR 1", True, "An instance.", (row,), ())
    monkeypatch.setattr(package, "reproduce", lambda *_: table)
    for arguments in (["reproduce", "matrix"], ["reproduce", "matrix", "--json"]):
        assert CliRunner().invoke(app, arguments).exit_code == code


def test_nothing_heavy_is_imported_for_the_list() -> None:
    code = (
        "import sys; from qreplace.reproduce import TABLES; "
        "print([m for m in ('numpy', 'numba', 'scipy', 'flint') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
