"""Published tables and figures recomputed, and printed beside the published numbers.

``TABLES`` lists what there is; ``reproduce(name)`` computes one. Nothing heavy is imported before.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from qreplace.errors import InputError

if TYPE_CHECKING:
    from qreplace.reproduce.table import Table

Progress = Callable[[str, int, int], None]
"""Called with a stage's name, the steps done and the steps in all."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One table: where the paper prints it, what it is, and the options it takes."""

    title: str
    reference: str
    options: Mapping[str, str]
    """Name of an option with what it means here."""


TABLES: dict[str, Entry] = {
    "matrix": Entry("Matrix-valued accuracy matching", "QR 10.7, Table 6, Appendix E", {}),
    "split": Entry(
        "One dictionary, two targets",
        "QR 10.2, Figure 9",
        {"depth": "the largest depth, 1 to 12"},
    ),
    "phase": Entry(
        "Phase boundary and precision sweet spot",
        "QR 10.4, Figure 13",
        {"depth": "the largest depth of a student, 1 to 48"},
    ),
    "search": Entry(
        "What local search misses",
        "QR 10.10, Figure 23",
        {
            "depth": "steps of a schedule, 2 to 22",
            "restarts": "local searches, 1 to 4096",
            "seed": "where the local searches start",
        },
    ),
    "necessity": Entry(
        "First-order converses, enumerated",
        "QR 5, 10.1, Appendix B.4, Figure 11",
        {"depth": "the largest depth, 2 to 14"},
    ),
}


def reproduce(
    name: str, options: Mapping[str, int] | None = None, progress: Progress | None = None
) -> Table:
    """Compute a table; ``options`` are those that its entry names.

    Raises ``InputError`` for a name or an option that there is not.
    """
    if name not in TABLES:
        raise InputError(
            f"there is no table {name[:40]!r}", remedy=f"There are {', '.join(TABLES)}."
        )
    given = dict(options or {})
    for option in given:
        if option not in TABLES[name].options:
            known = ", ".join(f"--{key}" for key in TABLES[name].options) or "no options"
            raise InputError(f"{name} takes {known}, received --{option}")
    module = importlib.import_module(f"qreplace.reproduce.{name}")
    table: Table = module.compute(TABLES[name], progress or _silent, **given)
    return table


def within(option: str, value: int, least: int, most: int) -> int:
    """An option's value; raises ``InputError`` outside its limits."""
    if not least <= value <= most:
        raise InputError(f"--{option} is {least} to {most}, received {value}")
    return value


def _silent(stage: str, done: int, total: int) -> None:
    del stage, done, total
