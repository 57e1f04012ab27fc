"""Every verdict renders in every format; JSON and CSV hold the same exact numbers."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pytest
from html_reader import read_html
from report_examples import (
    DECLARED,
    VERDICTS,
    drawn_files,
    plain_files,
    study,
    study_of,
    with_tolerance,
)

from qreplace.report import render
from qreplace.report.tables import COLUMNS, KEY_ORDER

TEXTS = ["report.json", "report.csv", "report.md", "report.html"]
FIGURES = [f"figures/{name}.{kind}" for name in ("interval", "frontier") for kind in ("svg", "png")]


@pytest.mark.parametrize("verdict", VERDICTS)
def test_every_verdict_renders_every_file(verdict: str) -> None:
    files = drawn_files(verdict)
    assert sorted(files) == sorted([*TEXTS, *FIGURES])
    assert all(files.values())
    read_html(files["report.html"])


@pytest.mark.parametrize("verdict", VERDICTS)
def test_without_figures_only_the_texts_are_made(verdict: str) -> None:
    files = plain_files(verdict)
    assert list(files) == TEXTS
    assert b"<figcaption" not in files["report.html"]


@pytest.mark.parametrize("verdict", VERDICTS)
def test_json_is_the_document_in_the_documented_order(verdict: str) -> None:
    data = plain_files(verdict)["report.json"]
    loaded = json.loads(data)
    assert loaded == study(verdict).document()
    assert list(loaded) == list(KEY_ORDER)
    assert data.endswith(b"}\n")


@pytest.mark.parametrize("verdict", VERDICTS)
def test_csv_parses_back_to_the_same_exact_numbers(verdict: str) -> None:
    rows = list(csv.DictReader(io.StringIO(plain_files(verdict)["report.csv"].decode())))
    document = study(verdict).document()
    assert len(rows) == len(document["depths"])
    assert tuple(rows[0]) == COLUMNS
    for row, depth in zip(rows, document["depths"], strict=True):
        assert int(row["depth"]) == depth["depth"]
        assert int(row["metadata_bits"]) == depth["metadata_bits"]
        assert row["verdict"] == depth["verdict"]
        assert row["cost"] == depth["cost"]
        assert row["lower"] == depth["interval"]["lower"]
        assert row["upper"] == (depth["interval"]["upper"] or "")
        assert Fraction(row["lower_decimal"]) <= Fraction(row["lower"])
        if row["upper"]:
            assert Fraction(row["upper_decimal"]) >= Fraction(row["upper"])


def test_a_missing_upper_end_is_an_empty_field() -> None:
    rows = list(csv.DictReader(io.StringIO(plain_files("unresolved")["report.csv"].decode())))
    assert {(row["upper"], row["upper_decimal"]) for row in rows} == {("", "")}


@pytest.mark.parametrize("verdict", ["certified_feasible", "conditionally_impossible"])
def test_the_same_study_gives_the_same_bytes(verdict: str) -> None:
    found = study(verdict)
    assert render(found.document(), found.report_context()) == drawn_files(verdict)


def test_another_process_gives_the_same_bytes(tmp_path: Path) -> None:
    script = (
        "import hashlib, sys\n"
        "sys.path.insert(0, sys.argv[1])\n"
        "from report_examples import drawn_files\n"
        "files = drawn_files('certified_feasible')\n"
        "print({name: hashlib.sha256(data).hexdigest() for name, data in files.items()})\n"
    )
    folder = str(Path(__file__).parent)
    outputs = {
        subprocess.run(
            [sys.executable, "-c", script, folder],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path), "HOME": str(tmp_path)},
            capture_output=True,
            check=True,
            text=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(outputs) == 1
    assert "report.html" in outputs.pop()


@pytest.mark.parametrize("tolerance", ["1e400", "1e-400"])
def test_numbers_beyond_floating_point_still_render(tolerance: str) -> None:
    found = study_of(with_tolerance(DECLARED, tolerance))
    files = render(found.document(), found.report_context())
    near = json.loads(files["report.json"])["tolerance"]["lo~"]
    assert near in (None, 0.0)
    assert tolerance in files["report.html"].decode()


def test_importing_the_package_loads_no_renderer() -> None:
    script = (
        "import sys, qreplace.report\n"
        "heavy = {'matplotlib', 'jinja2', 'numpy'} & set(sys.modules)\n"
        "sys.exit(str(heavy) if heavy else 0)\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
