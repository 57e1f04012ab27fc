"""What the lowering of every block shares: arrays and polynomials by location, premises."""

from __future__ import annotations

from dataclasses import dataclass, field

from qreplace.exact.polynomial import Polynomial
from qreplace.premises import ABSENT, Premise, Term
from qreplace.question import model as q
from qreplace.spec.premises import PremiseSpec
from qreplace.spec.resolve import Resolved


@dataclass(slots=True)
class Lowering:
    """What lowering needs besides the block in hand, and the descriptions it gathers."""

    resolved: Resolved
    inputs: int = 0
    """The length of an input of a piecewise system."""
    premises: dict[str, str] = field(default_factory=dict)

    def array(self, *location: str | int) -> q.Array:
        """The array named at a location."""
        return self.resolved.arrays[location]

    def optional_array(self, *location: str | int) -> q.Array | None:
        """The array named at a location, if any."""
        return self.resolved.arrays.get(location)

    def polynomial(self, *location: str | int) -> Polynomial:
        """The polynomial whose text stands at a location."""
        return self.resolved.polynomials[location]

    def premise(self, spec: PremiseSpec, path: str) -> Premise:
        """A premise; its description is kept under ``path``."""
        if spec.description:
            self.premises[path] = spec.description
        lower, upper = spec.value
        return Premise("declared", lower, upper, spec.evidence, spec.source, spec.assumptions)

    def optional(self, spec: PremiseSpec | None, path: str) -> Premise | None:
        """A premise, or ``None`` where it is unavailable."""
        return None if spec is None else self.premise(spec, path)

    def term(self, spec: PremiseSpec | str | None, path: str) -> Term | None:
        """A premise, explicitly absent, or unavailable."""
        if isinstance(spec, str):
            return ABSENT
        return self.optional(spec, path)
