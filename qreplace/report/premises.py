"""Declared premises by name: what they are, what was declared, and what was said about them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from qreplace.premises import Premise
from qreplace.report.context import ReportContext
from qreplace.report.decimals import Number, at_least, at_most
from qreplace.report.text import one_line
from qreplace.report.words import in_words

CERTIFICATE = "certificate:"
"""How a required certificate that is absent is named among what was declared."""

_NAMES: dict[str, tuple[str, tuple[str, ...]]] = {
    "comparator": ("the comparator’s own error", ("objective.comparator",)),
    "margin": ("decision margin", ("objective.margin",)),
    "readout": ("readout bound", ("objective.readout",)),
    "floor_lower": ("lower end of the floor", ("floor.lower",)),
    "floor_upper": ("upper end of the floor", ("floor.upper",)),
    "covering": ("covering remainder 2 K_y eta", ("domain.covering",)),
    "field_bound": ("field bound B", ("synthesis.field_bound",)),
    "state_lipschitz": ("state-Lipschitz constant L", ("synthesis.state_lipschitz",)),
    "time_variation": ("time variation V", ("synthesis.time_variation",)),
    "growth": ("growth rate m", ("synthesis.growth.rate",)),
    "difference_bound": ("largest field difference", ("synthesis.difference_bound",)),
    "difference_lipschitz": (
        "Lipschitz constant of field differences",
        ("synthesis.difference_lipschitz",),
    ),
    "difference_variation": (
        "time variation of field differences",
        ("synthesis.difference_variation",),
    ),
    "synthesis_constant": ("synthesis constant C", ("synthesis.constant",)),
    "hoelder_constant": ("Hölder constant H", ("synthesis.constant",)),
    "tube_margin": ("tube margin", ("tube.margin",)),
    "sensitivity": ("sensitivity to metadata", ("metadata.sensitivity",)),
    "targets": ("targets of the family that are far apart", ("metadata.targets",)),
    "covering_constant": ("covering constant of the family", ("metadata.constant",)),
    "field_error": ("field-computation error eta", ("execution.field_error",)),
    "initial_error": ("error of the initial state", ("execution.initial_error",)),
    "saturation_margin": ("distance to saturation", ("execution.overflow.margin",)),
    "no_overflow": ("no-overflow invariant", ("execution.overflow.no_overflow",)),
}
"""Words and places in the question of every name that a verdict can list as declared."""

_PLACES = {
    "objective.tolerance": "tolerance",
    "execution.grid.step": "step of the grid",
    "search.depths": "largest searched depth",
}

_ROUTING = {
    "margin": "score margin on the whole path",
    "score_error": "score error",
    "score_lipschitz": "state sensitivity of the scores",
    "outer_isolation": "isolation radius away from events",
    "oracle_error": "path error of the oracle run",
    "time": "time",
    "slope": "slope of the gap",
    "jump": "jump of the field",
    "gap_error": "error of the gap",
    "gap_lipschitz": "state sensitivity of the gap",
    "isolation": "isolation radius",
    "neighbourhood": "neighbourhood",
}
"""A router's premises are named by their place, ``routing.events.0.slope``."""


@dataclass(frozen=True, slots=True)
class DeclaredPremise:
    """One declared premise as a report shows it; texts are the author's."""

    name: str
    words: str
    lower: Number | None
    upper: Number | None
    evidence: str
    source: str
    assumptions: tuple[str, ...]
    description: str


def premise_words(name: str) -> str:
    """The premise's name in words."""
    if name.startswith(CERTIFICATE):
        return f"required certificate {one_line(name.removeprefix(CERTIFICATE), 64)}"
    if name.startswith("routing."):
        *place, last = name.split(".")
        words = _ROUTING.get(last, in_words(one_line(last, 64)))
        return f"{words} at event {place[-1]}" if len(place) > 1 else words
    return _NAMES[name][0] if name in _NAMES else in_words(one_line(name, 64))


def place_words(place: str) -> str:
    """A number of the question by its place, ``synthesis.growth.rate``, in words."""
    for words, places in _NAMES.values():
        if place in places:
            return words
    return _PLACES.get(place) or premise_words(place)


def declared_premise(name: str, context: ReportContext) -> DeclaredPremise:
    """Everything that was declared under a name; mostly empty for a missing certificate."""
    for path in _NAMES.get(name, ("", (name,)))[1]:
        found = _at(context.question, path)
        if isinstance(found, Premise):
            description = context.labels.premises.get(path, "")
            return DeclaredPremise(
                name=name,
                words=premise_words(name),
                lower=at_least(found.lower),
                upper=at_most(found.upper),
                evidence=found.evidence.value,
                source=one_line(found.source),
                assumptions=tuple(one_line(text) for text in found.assumptions),
                description=one_line(description),
            )
    absent = "absent or unchecked" if name.startswith(CERTIFICATE) else ""
    return DeclaredPremise(name, premise_words(name), None, None, "unavailable", absent, (), "")


def _at(value: Any, path: str) -> Any:
    for key in path.split("."):
        if isinstance(value, tuple):
            value = value[int(key)] if key.isdecimal() and int(key) < len(value) else None
        else:
            value = getattr(value, key, None)
    return value
