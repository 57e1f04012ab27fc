"""What an operator sets: the data folder and the limits, from ``QREPLACE_*`` variables.

``docs/http.md`` holds the one table of them; a test keeps it equal to ``VARIABLES``.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from qreplace.errors import InputError

MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class Variable:
    """One environment variable of the service: a whole number within bounds, or a text."""

    name: str
    field: str
    least: int | None = None
    most: int | None = None


VARIABLES = (
    Variable("QREPLACE_DATA_DIR", "data_dir"),
    Variable("QREPLACE_MAX_BODY_BYTES", "max_body_bytes", 1024, 1 << 30),
    Variable("QREPLACE_MAX_PARTS", "max_parts", 1, 100_000),
    Variable("QREPLACE_DECIDERS", "deciders", 1, 64),
    Variable("QREPLACE_ATTEMPT_SECONDS", "attempt_seconds", 1, 86_400),
    Variable("QREPLACE_ATTEMPT_MEGABYTES", "attempt_megabytes", 64, 1_048_576),
    Variable("QREPLACE_SIMULATION_SECONDS", "simulation_seconds", 1, 86_400),
    Variable("QREPLACE_SIMULATION_MEGABYTES", "simulation_megabytes", 256, 1_048_576),
    Variable("QREPLACE_LOG_LEVEL", "log_level"),
)
LOG_LEVELS = ("debug", "info", "warning", "error")


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of one service; the defaults suit one machine and one user."""

    data_dir: Path = Path("qreplace-data")
    """Folder of the study store; it is made when it is not there."""
    max_body_bytes: int = 64 * MIB
    """Largest request body, attachments and all, in bytes."""
    max_parts: int = 1024
    """Most parts of one multipart body."""
    deciders: int = 1
    """Studies that are read or decided at the same time, each in a thread."""
    attempt_seconds: int = 120
    """Most wall-clock seconds of one attempt at a floor, whatever a specification asks for."""
    attempt_megabytes: int = 4096
    """Most memory of one attempt at a floor, in MiB."""
    simulation_seconds: int = 120
    """Most wall-clock seconds of one simulation."""
    simulation_megabytes: int = 2048
    """Most memory of one simulation, in MiB."""
    log_level: str = "info"

    @classmethod
    def from_environment(
        cls, environment: Mapping[str, str] | None = None, *, data_dir: Path | None = None
    ) -> Settings:
        """Settings from ``QREPLACE_*``; an empty variable counts as not set.

        ``data_dir`` wins over the variable. Raises ``InputError`` for a value out of bounds.
        """
        given = os.environ if environment is None else environment
        settings = cls()
        for variable in VARIABLES:
            text = given.get(variable.name, "")
            if text:
                changed: dict[str, Any] = {variable.field: _value(variable, text)}
                settings = replace(settings, **changed)
        return settings if data_dir is None else replace(settings, data_dir=data_dir)


def _value(variable: Variable, text: str) -> int | str | Path:
    if variable.field == "data_dir":
        return Path(text)
    if variable.field == "log_level":
        if text.lower() not in LOG_LEVELS:
            raise _refused(variable, f"one of {', '.join(LOG_LEVELS)}", text)
        return text.lower()
    least, most = variable.least or 0, variable.most or 0
    needed = f"a whole number from {least} to {most}"
    if not (text.isascii() and text.isdigit() and len(text) <= 12):
        raise _refused(variable, needed, text)
    if not least <= int(text) <= most:
        raise _refused(variable, needed, text)
    return int(text)


def _refused(variable: Variable, needed: str, text: str) -> InputError:
    return InputError(
        f"needed {needed} in {variable.name}, received {text[:40]!r}",
        remedy="docs/http.md lists the settings.",
    )
