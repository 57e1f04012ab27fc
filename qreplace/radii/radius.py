"""A radius as an object: a function of depth with its premises, its gaps and its conditions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

from qreplace.premises import Evidence, weakest
from qreplace.radii.depth_function import ZERO, DepthSum


@dataclass(frozen=True, slots=True)
class Constant:
    """An upper end of a premise or a recomputed number, as a radius uses it."""

    name: str
    value: Fraction
    evidence: Evidence
    declared: bool
    margin: Fraction | None = None
    """A checked constant of a tube holds within this distance of the ideal states; else None."""
    first: int = 1
    """The tube of a checked constant holds the Euler states from this depth on."""


def smaller(one: Constant | None, other: Constant | None) -> Constant | None:
    """The smaller of two upper bounds of one quantity; on a tie the one that is known better."""
    known = [constant for constant in (one, other) if constant is not None]
    return min(known, key=_rank, default=None)


def _rank(c: Constant) -> tuple[Fraction, bool, int, bool, int]:
    """Smaller values first; on a tie what was checked, better evidenced, and holds more widely."""
    return c.value, c.declared, c.evidence.rank, c.margin is not None, c.first


def larger(one: Constant | None, other: Constant | None) -> Constant | None:
    """The larger of two lower bounds of one quantity; on a tie the better evidenced one."""
    known = [constant for constant in (one, other) if constant is not None]
    return min(known, key=lambda c: (-c.value, c.declared, c.evidence.rank), default=None)


@dataclass(frozen=True, slots=True)
class Gap:
    """Depths at which there is no radius, and why."""

    first: int
    last: int | None
    reason: str


@dataclass(frozen=True, slots=True)
class Guard:
    """``sum(D) <= limit`` (``<`` when strict), without which a radius says nothing."""

    sum: DepthSum
    limit: Fraction
    reason: str
    strict: bool = False


@dataclass(frozen=True, slots=True)
class Piece:
    """The radius on depths ``first..last`` (no end when ``last`` is None), on its own guards."""

    first: int
    last: int | None
    sum: DepthSum
    guards: tuple[Guard, ...] = ()


@dataclass(frozen=True, slots=True)
class Radius:
    """A certified-by-its-premises upper bound, as a function of depth.

    ``guards`` are conditions of every piece. ``formula`` cites the theory digest. ``declared``
    names the declared premises it rests on; ``evidence`` is the weakest label of all it uses.
    """

    name: str
    formula: str
    evidence: Evidence
    declared: tuple[str, ...]
    pieces: tuple[Piece, ...]
    gaps: tuple[Gap, ...] = ()
    guards: tuple[Guard, ...] = ()


def unavailable(name: str, reason: str) -> Radius:
    """A radius that is missing at every depth."""
    return Radius(name, "", Evidence.UNAVAILABLE, (), (), (Gap(1, None, reason),))


def everywhere(name: str, formula: str, total: DepthSum, used: Premises) -> Radius:
    """A radius with one formula for every depth at which its premises hold."""
    return Radius(
        name,
        formula,
        used.evidence,
        used.declared,
        (Piece(used.first, None, total),),
        depths_before(used.first),
        used.guards,
    )


def added(radii: Sequence[Radius], first: int = 1, last: int | None = None) -> tuple[Piece, ...]:
    """The sum of radii on ``first..last`` where all of them speak, on the guards of every one."""
    found = [Piece(first, last, ZERO)]
    for radius in radii:
        found = [part for piece in found for part in _with_radius(piece, radius)]
    return tuple(replace(piece, sum=piece.sum.merged()) for piece in found)


def _with_radius(piece: Piece, radius: Radius) -> list[Piece]:
    """The parts of a piece on which the radius has one too."""
    parts = []
    for other in radius.pieces:
        first = max(piece.first, other.first)
        last = min((end for end in (piece.last, other.last) if end is not None), default=None)
        if last is None or first <= last:
            guards = (*piece.guards, *radius.guards, *other.guards)
            parts.append(Piece(first, last, piece.sum + other.sum, guards))
    return parts


def on_depths(radius: Radius, ranges: Sequence[tuple[int, int]], reason: str) -> Radius:
    """The radius on the given depths only, which are in order and apart; gaps elsewhere."""
    pieces = [
        replace(piece, first=max(first, piece.first),
                last=last if piece.last is None else min(last, piece.last))
        for first, last in ranges
        for piece in radius.pieces
        if max(first, piece.first) <= (last if piece.last is None else min(last, piece.last))
    ]  # fmt: skip
    starts = [1, *(last + 1 for _, last in ranges)]
    ends = [*(first - 1 for first, _ in ranges), None]
    gaps = [
        Gap(start, end, reason)
        for start, end in zip(starts, ends, strict=True)
        if end is None or start <= end
    ]
    return replace(radius, pieces=tuple(pieces), gaps=(*radius.gaps, *gaps))


def depths_before(first: int) -> tuple[Gap, ...]:
    """The gap below the depth from which a checked tube holds the Euler states."""
    reason = f"the tube of the checked constants holds Euler states from depth {first} on"
    return (Gap(1, first - 1, reason),) if first > 1 else ()


@dataclass
class Premises:
    """Collects what a formula uses: labels, declared names, guards, and what is missing."""

    used: list[Constant] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    conditions: list[Guard] = field(default_factory=list)

    def need(self, name: str, constant: Constant | None) -> Fraction:
        """The constant's value; records it, or records that it is missing (and returns 0)."""
        if constant is None:
            self.missing.append(name)
            return Fraction(0)
        self.used.append(constant)
        return constant.value

    @property
    def evidence(self) -> Evidence:
        """The weakest label used."""
        return weakest([constant.evidence for constant in self.used])

    @property
    def declared(self) -> tuple[str, ...]:
        """The declared premises used, sorted."""
        return tuple(sorted({constant.name for constant in self.used if constant.declared}))

    @property
    def first(self) -> int:
        """The depth from which every constant used holds."""
        return max((constant.first for constant in self.used), default=1)

    @property
    def guards(self) -> tuple[Guard, ...]:
        """The conditions collected."""
        return tuple(self.conditions)

    @property
    def lack(self) -> str:
        """What is missing, in words; empty when nothing is."""
        names = ", ".join(dict.fromkeys(self.missing))
        return f"missing premise: {names}" if names else ""
