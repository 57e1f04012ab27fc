"""QR 10.4, Figure 13: which alphabets can match an accuracy, at which depth and storage.

A student of an alphabet matches a comparator of depth L when its error is at most the comparator's
(theory T1.2). A floor above that excludes all large depths; the small ones are checked one by one.
Elsewhere the matching depth is found: every smaller depth excluded, a schedule of that depth shown.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from qreplace.errors import InputError
from qreplace.reproduce import Entry, Progress, within
from qreplace.reproduce.table import Interval, Row, Table, number
from qreplace.reproduce.threshold_family import Alphabet, tolerance

LENGTHS = (8, 16, 32, 64)
SIZES = {"binary": 2, "ternary": 3, "2-bit": 4, "3-bit": 8, "4-bit": 16}
"""Levels of each alphabet."""
ABOVE = ("binary", "2-bit")
"""Alphabets whose floors the paper finds above every tolerance."""
SWEET_SPOTS = {8: "ternary", 16: "3-bit", 32: "4-bit", 64: "4-bit"}
DEPTH = 32
MOST_DEPTH = 48
SHALLOW = 16
"""Depths that are checked one by one below those that a floor excludes."""

MIXTURES = "affine_dynamics"
TREE = "schedule_minimum"
SEARCH = "exhaustive"


@dataclass(frozen=True)
class Cell:
    """What is known about one alphabet against one comparator.

    ``excluded``: the reason for every depth that is excluded one by one. ``beyond``: no depth from
    here on matches, None where that is not known. ``matched``: a depth that does. ``open``: smaller
    depths about which nothing was decided.
    """

    alphabet: Alphabet
    excluded: dict[int, str]
    beyond: int | None
    matched: int | None
    open: tuple[int, ...]

    @property
    def first(self) -> int | None:
        """The first depth that may match; None when there is none."""
        if self.open:
            return self.open[0]
        if self.matched is not None or self.beyond is not None:
            return self.matched
        return max(self.excluded, default=0) + 1

    @property
    def depths(self) -> Interval | None:
        """The matching depth; None where no depth matches."""
        if self.first is None:
            return None
        last = None if self.matched is None else Fraction(self.matched)
        return Interval(Fraction(self.first), last)

    @property
    def bits(self) -> tuple[int | None, int | None]:
        """Least storage that may match, and the least that does; None for none."""
        least = None if self.first is None else self.alphabet.storage(self.first)
        most = None if self.matched is None else self.alphabet.storage(self.matched)
        return least, most

    def text(self) -> str:
        """The cell in words."""
        least, most = self.bits
        if self.first is None:
            return "no depth"
        if self.matched is None:
            return f"D at least {self.first}, {least} bits or more"
        if self.first == self.matched:
            return f"D = {self.matched}, {most} bits"
        return f"D = {self.first} to {self.matched}, {least} to {most} bits"

    def shown(self) -> str:
        """By which checkers, at which depths."""
        parts = []
        for reason in (MIXTURES, TREE, SEARCH):
            depths = [depth for depth, why in self.excluded.items() if why == reason]
            if depths:
                parts.append(f"{reason} ({_ranges(depths)})")
        if self.beyond is not None:
            parts.append(f"{MIXTURES} ({self.beyond} and beyond)")
        if self.matched is not None:
            parts.append(f"pwa_supremum ({self.matched})")
        return ", ".join(parts)


def compute(entry: Entry, progress: Progress, depth: int = DEPTH) -> Table:
    """Floors, tolerances, all cells, and the least storage for each comparator."""
    deepest = within("depth", depth, 1, MOST_DEPTH)
    alphabets = [Alphabet(name, size) for name, size in SIZES.items()]
    stages = len(alphabets) * (len(LENGTHS) + 1)
    progress("cells", 0, stages)
    tolerances = {length: tolerance(length) for length in LENGTHS}
    cells: dict[tuple[str, int], Cell] = {}
    rows = [
        number(f"tolerance: error of the comparator, L = {length}", found, "pwa_supremum")
        for length, found in tolerances.items()
    ]
    for place, alphabet in enumerate(alphabets):
        rows.append(number(f"infinite-depth floor, {alphabet.name}", alphabet.floor, MIXTURES))
        for step, length in enumerate(LENGTHS):
            progress("cells", place * (len(LENGTHS) + 1) + step + 1, stages)
            cells[alphabet.name, length] = cell(alphabet, tolerances[length], deepest)
    rows += [_cell_row(name, length, found) for (name, length), found in cells.items()]
    rows += [_sweet_spot(length, [cells[name, length] for name in SIZES]) for length in LENGTHS]
    progress("cells", stages, stages)
    return Table(
        name="phase",
        title=entry.title,
        reference=entry.reference,
        given=False,
        instance=(
            "Our instance (the paper's is not given): atoms S_l(y) - x, s = 0, horizon 1, every y "
            "in [-7/4, 7/4]; thresholds l on k/(n-1), n = 2, 3, 4, 8, 16; target alpha S_{53/100}, "
            "the limit of a high-precision atom whose threshold is a level of no alphabet; "
            "alpha = 1 - 1/e rounded down to 2^-100. The comparator is L steps of that atom."
        ),
        rows=tuple(rows),
        notes=(
            "Threshold and interval were chosen so that the floors fall as published: of the 490 "
            "instances with thresholds 2/100 .. 99/100 and y up to 1, 5/4, 3/2, 7/4 or 2, three "
            "do. That these floors lie where the paper's do is therefore no confirmation of the "
            "paper; the matching depths and the storage were not chosen.",
            "Storage: one threshold an atom in whole bits (1, 2, 2, 3, 4 a level), and "
            "ceil(D log2 J) bits for the schedule. Exhaustive means branch and bound over all "
            "schedules, contenders compared exactly, without a claim.",
        ),
    )


def cell(alphabet: Alphabet, allowed: Interval, deepest: int) -> Cell:
    """Go through the depths until one matches, or no further one can.

    Raises ``InputError`` unless both ends of the tolerance are known.
    """
    least, most = allowed.lower, allowed.upper
    if least is None or most is None:
        raise InputError("a tolerance has both of its ends")
    beyond = _beyond(alphabet, most)
    last = deepest if beyond is None else beyond - 1
    excluded: dict[int, str] = {}
    undecided: list[int] = []
    for depth in range(1, last + 1):
        if alphabet.at_depth(depth) > most:
            excluded[depth] = MIXTURES
            continue
        best = alphabet.best(depth)
        if best.error.upper is not None and best.error.upper <= least:
            return Cell(alphabet, excluded, beyond, depth, tuple(undecided))
        if best.least is None or best.least <= most:
            undecided.append(depth)
        else:
            proved = alphabet.excluded_by_claim(depth, most)
            excluded[depth] = TREE if proved else SEARCH
    return Cell(alphabet, excluded, beyond, None, tuple(undecided))


def _beyond(alphabet: Alphabet, allowed: Fraction) -> int | None:
    """The first depth from which on no depth matches; None where the floor shows none."""
    floor = alphabet.floor.lower
    if floor is None or floor <= allowed:
        return None
    for depth in range(1, SHALLOW + 1):
        if alphabet.from_depth_on(depth) > allowed:
            return depth
    return None


def _cell_row(name: str, length: int, found: Cell) -> Row:
    published = "floor above tolerance" if name in ABOVE else None
    agrees = None
    if published is not None and (found.first is None or found.matched is not None):
        agrees = found.first is None
    return Row(
        f"{name}, L = {length}", found.text(), found.shown(), published, agrees, found.depths
    )


def _sweet_spot(length: int, cells: Sequence[Cell]) -> Row:
    """The alphabet that needs the least storage; compared only where every other one needs more."""
    quantity, published = f"least storage, L = {length}", SWEET_SPOTS[length]
    matched = [(most, found) for found in cells if (most := found.bits[1]) is not None]
    if not matched:
        settled = all(found.first is None for found in cells)
        here = "none matches" if settled else "none matches so far"
        return Row(quantity, here, "the cells above", published, False if settled else None)
    most, best = min(matched, key=lambda entry: entry[0])
    others = [found.bits[0] for found in cells if found is not best]
    least, name = best.bits[0], best.alphabet.name
    interval = Interval(None if least is None else Fraction(least), Fraction(most))
    if not all(other is None or other > most for other in others):
        here, agrees = f"{name}, {most} bits, or another", None
    else:
        here, agrees = f"{name}, {most} bits", name == published
    return Row(quantity, here, "the cells above", published, agrees, interval)


def _ranges(depths: Sequence[int]) -> str:
    """``1-5, 7`` for ascending depths."""
    parts: list[list[int]] = []
    for depth in depths:
        if parts and parts[-1][-1] == depth - 1:
            parts[-1].append(depth)
        else:
            parts.append([depth])
    return ", ".join(str(p[0]) if len(p) == 1 else f"{p[0]}-{p[-1]}" for p in parts)
