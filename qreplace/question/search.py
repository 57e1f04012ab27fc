"""Search grid, costs and certificates."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from qreplace.errors import Malformed

MAX_DEPTH = 10**9
MAX_GRID_RANGES = 4096


@dataclass(frozen=True, slots=True)
class DepthRange:
    """Depths ``first, first + step, ...`` up to ``last``."""

    first: int
    last: int
    step: int

    def __post_init__(self) -> None:
        if not 1 <= self.first <= self.last <= MAX_DEPTH or self.step < 1:
            raise Malformed(f"depths run from 1 to {MAX_DEPTH}, first <= last, step >= 1")


@dataclass(frozen=True, slots=True)
class Search:
    """The declared candidates: every depth of the ranges with every metadata budget."""

    depths: tuple[DepthRange, ...]
    metadata_bits: tuple[int, ...]

    def __post_init__(self) -> None:
        if not self.depths or len(self.depths) > MAX_GRID_RANGES:
            raise Malformed(f"a search has 1 to {MAX_GRID_RANGES} depth ranges")
        if not self.metadata_bits or list(self.metadata_bits) != sorted(set(self.metadata_bits)):
            raise Malformed("metadata budgets are distinct, ascending and at least one")
        if self.metadata_bits[0] < 0:
            raise Malformed("a metadata budget is not negative")
        previous = 0
        for depths in self.depths:
            if depths.first <= previous:
                raise Malformed("depth ranges are ascending and disjoint")
            previous = depths.last


@dataclass(frozen=True, slots=True)
class Costs:
    """Declared cost weights (theory T11.4): proxies, not measurements.

    ``cost = codebook + metadata_bit s + schedule_bit D log2 J + step D``; the last holds latency,
    activation and carry traffic a step.
    """

    codebook: Fraction
    metadata_bit: Fraction
    schedule_bit: Fraction
    step: Fraction

    def __post_init__(self) -> None:
        if min(self.codebook, self.metadata_bit, self.schedule_bit, self.step) < 0:
            raise Malformed("cost weights are not negative")


@dataclass(frozen=True, slots=True)
class Certificate:
    """An attached certificate; a required one that is absent or unchecked blocks *certified*."""

    claim: str
    sha256: str | None
    required: bool
