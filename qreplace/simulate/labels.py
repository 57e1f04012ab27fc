"""The one place that labels what a simulation found (theory T11.2).

A simulation proves nothing about inputs, schedules or depths that it did not run.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from qreplace.errors import InputError
from qreplace.premises import Evidence


@dataclass(frozen=True, slots=True)
class Basis:
    """What a simulated number rests on.

    - ``measured``: the largest value over the runs that were made.
    - ``exhaustive``: every case of the registered ``instance`` was run, in exact integers.
    - ``checked``: a checker recomputed it from a claim; ``evidence`` is the label it returned.
    """

    kind: Literal["measured", "exhaustive", "checked"]
    instance: str
    """What was run, in words: system, schedules, inputs, depths, counts."""
    exact: bool = True
    """Every number came from integers; ``False`` for binary floating point."""
    evidence: Evidence | None = None


def label(basis: Basis) -> Evidence:
    """The strongest label that a number with this basis may carry.

    Enumerating an instance in floating point shows no more than a measurement does. Raises
    ``InputError`` for a checked basis without a certified label.
    """
    if basis.kind == "checked":
        if basis.evidence is None or not basis.evidence.certified:
            raise InputError("a checked number needs the certified label that its checker returned")
        return basis.evidence
    if basis.kind == "exhaustive" and basis.exact:
        return Evidence.FINITE_WITNESS_CERTIFIED
    return Evidence.DIAGNOSTIC


def statement(basis: Basis) -> str:
    """What the label is about, in one sentence, for reports and for a premise's ``source``."""
    what = {
        "measured": "largest value measured over",
        "exhaustive": "every case run of",
        "checked": "checked claim about",
    }[basis.kind]
    how = "" if basis.exact else ", in binary floating point"
    return f"{what} {basis.instance}{how}"
