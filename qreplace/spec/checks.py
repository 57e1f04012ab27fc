"""What the checks of contradictions share: their form, their wording, the listed atoms."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from qreplace.question.model import ENGINES
from qreplace.spec.blocks.constants import CodesSpec
from qreplace.spec.blocks.dictionary import ListedDictionarySpec
from qreplace.spec.blocks.objective import AccuracyMatchingSpec
from qreplace.spec.blocks.piecewise import (
    ComparatorScheduleSpec,
    NetworkSpec,
    PiecewiseAtomSpec,
    ScheduleSpec,
)
from qreplace.spec.findings import Finding, Location
from qreplace.spec.model import Spec

Findings = Iterator[Finding]


class Check(NamedTuple):
    """A check and the blocks it needs."""

    blocks: tuple[str, ...]
    run: Callable[[Spec], Findings]


def contradiction(location: Location, message: str) -> Finding:
    """Two blocks that cannot both hold."""
    return Finding(location, message, "contradiction")


def a_system(kind: str) -> str:
    """``a polynomial system``."""
    return f"{'an' if kind[0] in 'aeiou' else 'a'} {kind} system"


def listed_dictionaries(spec: Spec) -> Iterator[tuple[Location, ListedDictionarySpec]]:
    """Every dictionary that lists its atoms, with its location."""
    if isinstance(spec.dictionary, ListedDictionarySpec):
        yield ("dictionary",), spec.dictionary
    if isinstance(spec.metadata, CodesSpec):
        for index, code in enumerate(spec.metadata.codes):
            yield ("metadata", "codes", index, "dictionary"), code.dictionary


GivenMap = ScheduleSpec | NetworkSpec | ComparatorScheduleSpec


def given_maps(
    spec: Spec, valid: frozenset[str] | None = None
) -> Iterator[tuple[Location, GivenMap]]:
    """The target and the comparator of the valid blocks, where they are given as maps."""
    if (valid is None or "target" in valid) and isinstance(spec.target, GivenMap):
        yield ("target",), spec.target
    if valid is not None and "objective" not in valid:
        return
    objective = spec.objective
    if isinstance(objective, AccuracyMatchingSpec) and isinstance(objective.comparator, GivenMap):
        yield ("objective", "comparator"), objective.comparator


def map_atoms(location: Location, given: GivenMap) -> Iterator[tuple[Location, PiecewiseAtomSpec]]:
    """The atoms or layers that a map holds itself, with their locations."""
    if isinstance(given, NetworkSpec):
        name, atoms = "layers", given.layers
    else:
        name, atoms = "atoms", () if given.atoms == "target" else given.atoms
    for index, atom in enumerate(atoms):
        yield (*location, name, index), atom


def engines_of(kind: str) -> tuple[str, ...]:
    """The floor engines that apply to a kind of system; the question says pwa for piecewise."""
    return ENGINES["pwa" if kind == "piecewise" else kind]
