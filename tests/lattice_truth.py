"""What registers really hold: small systems run by the definitions, in rationals (theory T4.10).

Nothing here is shared with ``question.code_lattice``: every step is taken from the definitions in
``question.execution``, for all schedules, and codes are only read off what happened.
"""

from __future__ import annotations

import dataclasses
import itertools
import random
from collections.abc import Callable, Iterator
from fractions import Fraction
from math import ceil, floor
from typing import Any

from corpora.lattice import execution, grid
from dynamic_questions import affine_question
from hypothesis import strategies as st
from lifted_questions import LINF, make_question, vector

from qreplace.question.code_lattice import (
    CodeLattice,
    CodeRange,
    Ranges,
    code_lattice,
    lattice_problem,
)
from qreplace.question.model import Overflow, Question, Unbounded
from qreplace.question.subject import Subject

Vector = tuple[Fraction, ...]
QUARTERS = st.integers(-6, 6).map(lambda n: Fraction(n, 4))
SEMANTICS = ("write_back", "increment", "error_feedback")


@dataclasses.dataclass(frozen=True)
class Case:
    """A small system ``z' = A z + b_j`` on ``[0, 1]`` with its grids, at one depth."""

    rate: Fraction
    matrix: tuple[Vector, ...] | None
    atoms: tuple[Vector, ...]
    initial: Vector
    semantics: Any
    rounding: str
    depth: int
    cell: Fraction
    """The grid's cell times ``D**power``."""
    power: int = 0
    carry: tuple[Fraction, int] | None = None
    """The carry's cell times ``D**p``, and p; ``None``: there is no such grid."""
    limit: Fraction | None = None
    overflow: Overflow = Unbounded("unbounded")  # noqa: RUF009  (a frozen value)

    @property
    def size(self) -> int:
        """The number of coordinates."""
        return len(self.initial)

    @property
    def step(self) -> Fraction:
        """The grid's cell."""
        return self.cell / self.depth**self.power

    def entry(self, i: int, j: int) -> Fraction:
        """An entry of A."""
        own = self.rate if i == j else Fraction(0)
        return own + (self.matrix[i][j] if self.matrix else 0)

    @property
    def ratio(self) -> int:
        """The least m for which every increment from a state on the grid is on cells step / m."""
        size, h = range(self.size), Fraction(1, self.depth)
        numbers = [h * b / self.step for atom in self.atoms for b in atom]
        numbers += [h * self.entry(i, j) for i in size for j in size]
        return next(m for m in itertools.count(1) if all((x * m).denominator == 1 for x in numbers))

    @property
    def fine(self) -> Fraction:
        """The fine lattice's step."""
        if self.carry is None:
            return self.step / self.ratio
        return self.carry[0] / self.depth ** self.carry[1]

    def question(self) -> Question:
        """The question whose execution this is."""
        carry = None if self.carry is None else grid(str(self.carry[0]), self.carry[1])
        most = None if self.limit is None else str(self.limit)
        own = execution(
            grid(str(self.cell), self.power, self.rounding, most), carry, self.overflow,
            self.semantics,
        )  # fmt: skip
        if self.rate == 0 and self.matrix is None:
            made = make_question([1] * self.size, self.atoms, LINF, execution=own)
            return dataclasses.replace(made, initial=vector(self.initial))
        made = affine_question(
            self.atoms, [1] * self.size, self.initial, LINF, rate=self.rate,
            state_matrix=self.matrix, execution=own,
        )  # fmt: skip
        return made

    def lattice(self) -> CodeLattice:
        """The lattice under test."""
        found, problem = lattice_problem(Subject(self.question(), {}), 0)
        return code_lattice(found, problem, self.depth)

    def terms(self, atom: Vector, z: Vector, i: int) -> list[Fraction]:
        """What the accumulator of coordinate ``i`` adds up."""
        h = Fraction(1, self.depth)
        return [h * atom[i], *(h * self.entry(i, j) * z[j] for j in range(self.size))]


@st.composite
def cases(draw: Any, depths: tuple[int, ...] = (1, 2, 3, 4), reads: bool | None = None) -> Case:
    """A case whose grids fit its increments at its depth."""
    size = draw(st.integers(1, 2))
    vectors = st.tuples(*[QUARTERS] * size)
    reads = draw(st.booleans()) if reads is None else reads
    cell = draw(st.sampled_from([Fraction(1, 4), Fraction(1, 2), Fraction(1), Fraction(3, 4)]))
    rate = draw(st.sampled_from([-2, -1, Fraction(-1, 2), 1])) if reads else 0
    case = Case(
        rate=Fraction(rate),
        matrix=draw(st.none() | st.tuples(*[vectors] * size)) if reads else None,
        atoms=tuple(draw(st.lists(vectors, min_size=1, max_size=2))),
        initial=tuple(cell * draw(st.integers(-3, 3)) for _ in range(size)),
        semantics=draw(st.sampled_from(SEMANTICS)),
        rounding=draw(st.sampled_from(["nearest", "directed", "stochastic"])),
        depth=draw(st.sampled_from(depths)),
        cell=cell,
    )
    finer = draw(st.sampled_from([None, 1, 2, 3]))
    carry = None if finer is None else (case.step / (case.ratio * finer), 0)
    return dataclasses.replace(case, carry=carry)


# --- runs, by the definitions ---------------------------------------------------------------------

Rule = Callable[[Fraction], int]
NEAREST: dict[str, Rule] = {
    "to even": round,
    "half up": lambda x: floor(x + Fraction(1, 2)),
    "half down": lambda x: ceil(x - Fraction(1, 2)),
    "half away": lambda x: (1 if x >= 0 else -1) * floor(abs(x) + Fraction(1, 2)),
}
DIRECTED: dict[str, Rule] = {
    "floor": floor,
    "ceiling": ceil,
    "toward zero": int,
    "away from zero": lambda x: ceil(x) if x >= 0 else floor(x),
}


class Seen:
    """The smallest and largest code of each register."""

    def __init__(self) -> None:
        self.codes: dict[str, set[Fraction]] = {
            name: set() for name in ("state", "increment", "carry", "accumulator")
        }

    def note(self, name: str, value: Fraction, unit: Fraction) -> None:
        code = value / unit
        assert code.denominator == 1, (name, value, unit)
        self.codes[name].add(code)

    @property
    def ranges(self) -> Ranges:
        return {
            name: CodeRange(int(min(codes)), int(max(codes)))
            for name, codes in self.codes.items()
            if codes
        }


def advance(
    case: Case, atom: Vector, z: Vector, r: Vector, choose: Callable[[Fraction], int], seen: Seen,
    rng: random.Random,
) -> tuple[Vector, Vector]:  # fmt: skip
    """One executed step; partial sums are taken in a random order."""
    states, left = [], []
    for i in range(case.size):
        terms = case.terms(atom, z, i)
        rng.shuffle(terms)
        for count in range(len(terms) + 1):
            seen.note("accumulator", sum(terms[:count], Fraction(0)), case.fine)
        increment = sum(terms, Fraction(0))
        if case.semantics == "write_back":
            new = case.step * choose((z[i] + increment) / case.step)
            carried = Fraction(0)
        else:
            wanted = increment + (r[i] if case.semantics == "error_feedback" else 0)
            taken = case.step * choose(wanted / case.step)
            seen.note("increment", taken, case.step)
            carried = wanted - taken if case.semantics == "error_feedback" else Fraction(0)
            new = z[i] + taken
        seen.note("state", new, case.step)
        seen.note("carry", carried, case.fine)
        states.append(new)
        left.append(carried)
    return tuple(states), tuple(left)


def start(case: Case, seen: Seen) -> tuple[Vector, Vector]:
    for z in case.initial:
        seen.note("state", z, case.step)
    seen.note("carry", Fraction(0), case.fine)
    return case.initial, (Fraction(0),) * case.size


def choosers(case: Case, rng: random.Random) -> Iterator[Callable[[Fraction], int]]:
    """Every rule within the declared rounding, and ones that change from step to step."""
    rules = list((NEAREST if case.rounding == "nearest" else DIRECTED).values())
    yield from rules
    yield lambda x: rng.choice(rules)(x)


def ran(case: Case, seed: int) -> Ranges:
    """What really occurs in every schedule of the depth, by every rule."""
    seen, rng = Seen(), random.Random(seed)
    for schedule in itertools.product(case.atoms, repeat=case.depth):
        for choose in choosers(case, rng):
            z, r = start(case, seen)
            for atom in schedule:
                z, r = advance(case, atom, z, r, choose, seen, rng)
    return seen.ranges


def neighbours(case: Case, x: Fraction) -> list[int]:
    """The codes that some rule within the declared rounding gives."""
    codes = {floor(x), ceil(x)}
    if case.rounding == "nearest":
        codes = {code for code in codes if abs(code - x) <= Fraction(1, 2)}
    return sorted(codes)


def reached(case: Case) -> Ranges:
    """Every atom, every admitted code of every coordinate, every order of the partial sums."""
    seen = Seen()
    states = {start(case, seen)}
    for _ in range(case.depth):
        following = set()
        for (z, r), atom in itertools.product(states, case.atoms):
            options = []
            for i in range(case.size):
                terms = case.terms(atom, z, i)
                for order in itertools.permutations(terms):
                    for total in itertools.accumulate(order, initial=Fraction(0)):
                        seen.note("accumulator", total, case.fine)
                wanted = sum(terms, Fraction(0))
                wanted += r[i] if case.semantics == "error_feedback" else 0
                options.append([(case.step * code, wanted - case.step * code)
                                for code in neighbours(case, wanted / case.step)])  # fmt: skip
            for picks in itertools.product(*options):
                left = [rest if case.semantics == "error_feedback" else Fraction(0)
                        for _, rest in picks]  # fmt: skip
                new = tuple(x + taken for x, (taken, _) in zip(z, picks, strict=True))
                for x, (taken, _), rest in zip(new, picks, left, strict=True):
                    seen.note("state", x, case.step)
                    seen.note("increment", taken, case.step)
                    seen.note("carry", rest, case.fine)
                following.add((new, tuple(left)))
        states = following
    return seen.ranges


def assert_within(inner: Ranges, outer: Ranges) -> None:
    for name, own in inner.items():
        assert own.within(outer[name]), (name, own, outer[name])
