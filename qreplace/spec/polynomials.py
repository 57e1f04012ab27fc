"""The polynomials of a specification, read in ``t`` and the names of its states.

Nothing is raised here: what is wrong becomes a finding at the text, with the character in it.
"""

from __future__ import annotations

from collections.abc import Iterator

from qreplace.errors import Malformed
from qreplace.exact.polynomial import Polynomial
from qreplace.exact.polynomial_text import Work, parse_polynomial
from qreplace.spec.blocks.dictionary import PolynomialAtomSpec, PolynomialSystemSpec
from qreplace.spec.blocks.floor import ComputedFloorSpec
from qreplace.spec.blocks.polynomial import TIME
from qreplace.spec.checks import listed_dictionaries
from qreplace.spec.findings import Finding, Location, needed
from qreplace.spec.model import Spec

MAX_FIELD_TERMS = 50_000
"""Terms of all polynomials of a specification together."""
MAX_FIELD_WORK = 400_000
"""Products formed while multiplying out all of them (see ``polynomial_text``)."""


def read_polynomials(
    spec: Spec, valid: frozenset[str] | None = None
) -> tuple[dict[Location, Polynomial], list[Finding]]:
    """Every polynomial of the valid blocks by the location of its text, and what is wrong."""
    read: dict[Location, Polynomial] = {}
    found: list[Finding] = []
    if not isinstance(spec.system, PolynomialSystemSpec):
        return read, found
    names = (TIME, *spec.system.names)
    work, terms = Work(MAX_FIELD_WORK), 0
    for location, text in _texts(spec, valid):
        try:
            read[location] = parse_polynomial(text, names, work)
        except Malformed as error:
            found.append(Finding(location, error.message, "polynomial"))
            if work.left < 0:
                break
            continue
        if location[0] == "structural_floor" and not read[location].exponents:
            message = needed("a polynomial that is not zero", "one that is", "Leave it out.")
            found.append(Finding(location, message, "polynomial"))
        terms += len(read[location].exponents)
        if terms > MAX_FIELD_TERMS:
            message = needed(f"at most {MAX_FIELD_TERMS} terms in all polynomials together", "more")
            found.append(Finding(location, message, "too-large"))
            break
    return read, found


def _texts(spec: Spec, valid: frozenset[str] | None) -> Iterator[tuple[Location, str]]:
    """The texts of the valid blocks; without a valid system none can be read."""

    def has(*blocks: str) -> bool:
        return valid is None or valid.issuperset(blocks)

    if has("system", "dictionary", "metadata"):
        for location, dictionary in listed_dictionaries(spec):
            for index, atom in enumerate(dictionary.atoms):
                if isinstance(atom, PolynomialAtomSpec):
                    for part, text in enumerate(atom.field):
                        yield (*location, "atoms", index, "field", part), text
    floor = spec.structural_floor
    if has("system", "structural_floor") and isinstance(floor, ComputedFloorSpec):
        for index, text in enumerate(floor.region):
            yield ("structural_floor", "region", index), text
