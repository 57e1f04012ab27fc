"""Producer of ``lattice``: the ranges that registers need, depth by depth (theory T4.10).

Neighbouring depths whose ranges fit the declared registers share one claim.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from qreplace.claims.lattice import LatticeClaim
from qreplace.errors import InputError, ProducerFailed
from qreplace.question.code_lattice import (
    MAX_STEPS,
    MAX_WORK,
    CodeRange,
    Ranges,
    Work,
    codes_are_constant,
    declared_ranges,
    fits,
    lattice_problem,
    ranges_at,
)
from qreplace.question.dynamics import AffineProblem
from qreplace.question.model import DepthRange, QuantizedExecution, Registers, Unbounded
from qreplace.question.subject import Subject

MAX_CLAIMS = 64
MAX_DEPTHS = 8192
"""Depths that are looked at one by one."""
MAX_SEARCH = 20_000_000
"""What is followed for all claims of a study, in about microseconds of one core."""
CARRY_SEARCH = MAX_SEARCH // 20
"""The same where no register is declared, and a claim can only spare the carry its rounding."""
MAX_ENUMERATION = 1_000_000
"""What is followed of it code by code at one depth: more codes than that rarely end."""

Method = Literal["intervals", "enumeration"]


@dataclass(frozen=True, slots=True)
class _Run:
    """Consecutive depths that one claim covers, and what its check costs."""

    first: int
    last: int
    method: Method
    ranges: Ranges
    cost: int


def produce(subject: Subject, bits: int, grid: Sequence[DepthRange]) -> Iterator[LatticeClaim]:
    """Claims that cover as many of the searched depths as they can, at most ``MAX_CLAIMS``.

    Raises ``ProducerFailed`` with the register that is too narrow when no depth is covered.
    """
    try:
        execution, problem = lattice_problem(subject, bits)
    except InputError as error:
        raise ProducerFailed(error.message) from None
    maker = _Maker(execution, problem)
    constant = codes_are_constant(execution, problem)
    runs = maker.constant(grid) if constant else maker.runs(grid)
    made = 0
    for run in runs:
        made += 1
        yield _claim(subject, bits, run)
        if made == MAX_CLAIMS:
            return
    if not made:
        raise ProducerFailed(maker.reason or "no searched depth can be looked at")


def _claim(subject: Subject, bits: int, run: _Run) -> LatticeClaim:
    return LatticeClaim(
        format="qreplace/claim/lattice/v1",
        subject=subject.execution_digest(bits),
        code=bits,
        first_depth=run.first,
        last_depth=run.last,
        method=run.method,
        state=run.ranges["state"],
        increment=run.ranges["increment"],
        carry=run.ranges["carry"],
        accumulator=run.ranges["accumulator"],
    )


class _Maker:
    """One execution, with the first reason against a depth and what has been followed so far."""

    def __init__(self, execution: QuantizedExecution, problem: AffineProblem) -> None:
        self.execution = execution
        self.problem = problem
        self.reads = problem.rate != 0 or problem.matrix is not None
        self.reason = ""
        self.spent = 0
        unlimited = isinstance(execution.overflow, Unbounded)
        self.most = CARRY_SEARCH if unlimited else MAX_SEARCH

    def constant(self, grid: Sequence[DepthRange]) -> Iterator[_Run]:
        """Codes that only grow with depth: the largest depth that fits covers all before it."""
        low = min(depths.first for depths in grid) - 1
        high = max(depths.last for depths in grid)
        found: _Run | None = None
        while low < high:
            middle, self.reason = (low + high + 1) // 2, ""
            run = self.at(middle)
            if run is None:
                high = middle - 1
            else:
                low, found = middle, run
        if found is not None:
            yield replace(found, first=1)

    def runs(self, grid: Sequence[DepthRange]) -> Iterator[_Run]:
        """Runs of consecutive searched depths, each covered by one claim."""
        # The checker looks at so many coordinates of atoms in all.
        most = MAX_STEPS // (len(self.problem.atoms) * self.problem.dimension)
        run: _Run | None = None
        for depth in _searched(grid):
            own = self.at(depth)
            joined = None if run is None or own is None else self._joined(run, own, most)
            if joined is None and run is not None:
                yield run
            run = joined or own
            if self.spent > self.most:
                break
        if run is not None:
            yield run

    def at(self, depth: int) -> _Run | None:
        """Ranges that fit the declared registers, by the cheaper method that does."""
        declared = declared_ranges(self.execution, depth)
        reason = ""
        methods: tuple[Method, ...] = ("intervals", "enumeration")
        for method in methods:
            most = MAX_WORK if method == "intervals" else MAX_ENUMERATION
            work = Work(min(most, max(0, self.most - self.spent)))
            try:
                found = ranges_at(self.execution, self.problem, depth, method, work, declared)
            except InputError as error:
                reason = reason or error.message
                continue
            finally:
                self.spent += work.total
            narrow = [name for name, own in declared.items() if not found[name].within(own)]
            if not narrow:
                return _Run(depth, depth, method, found, work.total)
            reason = self._too_narrow(narrow[0], found, declared, depth)
            if not self.reads and not set(narrow).isdisjoint(("state", "accumulator")):
                break  # the closed form is attained: an enumeration would find the same
        self.reason = self.reason or reason
        return None

    def _too_narrow(self, name: str, found: Ranges, declared: Ranges, depth: int) -> str:
        """A register that cannot hold its codes, and how many bits could."""
        asked, own = found[name], declared[name]
        if isinstance(self.execution.overflow, Registers):
            needed, given = signed_bits(asked), signed_bits(own)
            return f"the {name} register would need {needed} bits at depth {depth}, it has {given}"
        return (
            f"the {name} register would hold codes {asked.lower} to {asked.upper} at depth "
            f"{depth}, its limit allows {own.lower} to {own.upper}"
        )

    def _joined(self, run: _Run, own: _Run, most: int) -> _Run | None:
        """One claim for both, where its ranges fit at every depth and its check is no longer."""
        cost = run.cost + own.cost
        if own.first != run.last + 1 or own.method != run.method or cost > MAX_WORK:
            return None
        if own.last - run.first >= most:
            return None
        held = {name: run.ranges[name].hull(own.ranges[name]) for name in run.ranges}
        # A limit holds more codes at larger depths, so the ends decide.
        if not all(fits(held, declared_ranges(self.execution, d)) for d in (run.first, own.last)):
            return None
        return _Run(run.first, own.last, run.method, held, cost)


def _searched(grid: Sequence[DepthRange]) -> Iterator[int]:
    every = (
        depth for depths in grid for depth in range(depths.first, depths.last + 1, depths.step)
    )
    return itertools.islice(every, MAX_DEPTHS)


def signed_bits(own: CodeRange) -> int:
    """The least two's-complement width that holds a range."""
    return 1 + max(max(own.upper, 0).bit_length(), max(-own.lower - 1, 0).bit_length())
