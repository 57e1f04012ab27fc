"""What the checks of contradictions share: their form, their wording, the listed atoms."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from qreplace.spec.blocks.constants import CodesSpec
from qreplace.spec.blocks.dictionary import ListedDictionarySpec
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
