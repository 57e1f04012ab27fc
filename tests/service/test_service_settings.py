"""Settings from the environment, and the one table that documents them."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import pytest

from qreplace.errors import InputError
from qreplace.service.settings import VARIABLES, Settings

ROOT = Path(__file__).resolve().parents[2]


def test_defaults() -> None:
    assert Settings.from_environment({}) == Settings()
    assert Settings.from_environment({"QREPLACE_DECIDERS": "", "OTHER": "1"}) == Settings()


def test_every_variable() -> None:
    environment = {
        "QREPLACE_DATA_DIR": "elsewhere",
        "QREPLACE_MAX_BODY_BYTES": "4096",
        "QREPLACE_MAX_PARTS": "3",
        "QREPLACE_DECIDERS": "2",
        "QREPLACE_ATTEMPT_SECONDS": "7",
        "QREPLACE_ATTEMPT_MEGABYTES": "512",
        "QREPLACE_SIMULATION_SECONDS": "9",
        "QREPLACE_SIMULATION_MEGABYTES": "300",
        "QREPLACE_LOG_LEVEL": "DEBUG",
    }
    assert set(environment) == {variable.name for variable in VARIABLES}
    assert Settings.from_environment(environment) == Settings(
        Path("elsewhere"),
        max_body_bytes=4096,
        max_parts=3,
        deciders=2,
        attempt_seconds=7,
        attempt_megabytes=512,
        simulation_seconds=9,
        simulation_megabytes=300,
        log_level="debug",
    )
    assert Settings.from_environment(environment, data_dir=Path("x")).data_dir == Path("x")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("QREPLACE_MAX_BODY_BYTES", "1023"),
        ("QREPLACE_MAX_BODY_BYTES", "1073741825"),
        ("QREPLACE_MAX_BODY_BYTES", "64 MiB"),
        ("QREPLACE_MAX_BODY_BYTES", "9" * 5000),
        ("QREPLACE_MAX_PARTS", "0"),
        ("QREPLACE_DECIDERS", "-1"),
        ("QREPLACE_DECIDERS", "1.5"),
        ("QREPLACE_DECIDERS", "٣"),
        ("QREPLACE_LOG_LEVEL", "loud"),
    ],
)
def test_refused(name: str, text: str) -> None:
    with pytest.raises(InputError, match=f"needed .* in {name}, received"):
        Settings.from_environment({name: text})


def test_the_documented_table() -> None:
    text = (ROOT / "docs" / "http.md").read_text()
    rows = re.findall(r"^\| `(QREPLACE_[A-Z_]+)` \| `([^`]+)` \| (.*) \|$", text, re.MULTILINE)
    defaults = Settings()
    assert {field.name for field in fields(Settings)} == {v.field for v in VARIABLES}
    assert [(name, default) for name, default, _ in rows] == [
        (variable.name, str(getattr(defaults, variable.field))) for variable in VARIABLES
    ]
    for variable, (_, _, meaning) in zip(VARIABLES, rows, strict=True):
        if variable.least is not None:
            assert f"{variable.least} to {variable.most}" in meaning
