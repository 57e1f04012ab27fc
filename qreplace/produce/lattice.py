"""Producer of ``lattice``: the ranges that registers need, depth by depth (theory T4.10).

Neighbouring depths whose ranges fit the declared registers share one claim.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from qreplace.claims.lattice import LatticeClaim
from qreplace.errors import InputError, ProducerFailed
from qreplace.question.code_lattice import (
    MAX_STEPS,
    CodeRange,
    Ranges,
    code_lattice,
    codes_are_constant,
    declared_ranges,
    enumerated_ranges,
    interval_ranges,
    lattice_problem,
)
from qreplace.question.model import DepthRange
from qreplace.question.subject import Subject

MAX_CLAIMS = 64
MAX_DEPTHS = 8192
"""Depths that are looked at one by one."""

Method = Literal["intervals", "enumeration"]


def produce(subject: Subject, bits: int, grid: Sequence[DepthRange]) -> Iterator[LatticeClaim]:
    """Claims that cover as many of the searched depths as they can, at most ``MAX_CLAIMS``.

    Raises ``ProducerFailed`` with the register that is too narrow when no depth is covered.
    """
    try:
        execution, problem = lattice_problem(subject, bits)
    except InputError as error:
        raise ProducerFailed(error.message) from None
    if codes_are_constant(execution, problem):
        yield from _constant(subject, bits, grid)
        return
    reason, made = "", 0
    for first, last, method, ranges in _runs(subject, bits, grid):
        if isinstance(ranges, str):
            reason = reason or ranges
            continue
        if made == MAX_CLAIMS:
            return
        made += 1
        yield _claim(subject, bits, first, last, method, ranges)
    if not made:
        raise ProducerFailed(reason or "no searched depth can be looked at")


def _claim(
    subject: Subject, bits: int, first: int, last: int, method: Method, ranges: Ranges
) -> LatticeClaim:
    return LatticeClaim(
        format="qreplace/claim/lattice/v1",
        subject=subject.execution_digest(bits),
        code=bits,
        first_depth=first,
        last_depth=last,
        method=method,
        state=ranges["state"],
        increment=ranges["increment"],
        carry=ranges["carry"],
        accumulator=ranges["accumulator"],
    )


def _constant(subject: Subject, bits: int, grid: Sequence[DepthRange]) -> Iterator[LatticeClaim]:
    """Codes that only grow with depth: the largest depth that fits covers all before it."""
    low, high = 0, max(depths.last for depths in grid)
    reason = ""
    while low < high:
        middle = (low + high + 1) // 2
        found = _ranges(subject, bits, middle)
        if isinstance(found, str):
            reason, high = reason or found, middle - 1
        else:
            low = middle
    if low == 0:
        raise ProducerFailed(reason)
    found = _ranges(subject, bits, low)
    if not isinstance(found, str):
        yield _claim(subject, bits, 1, low, found[0], found[1])


def _runs(
    subject: Subject, bits: int, grid: Sequence[DepthRange]
) -> Iterator[tuple[int, int, Method, Ranges | str]]:
    """Runs of consecutive searched depths that one claim covers, or a reason against one depth."""
    execution, problem = lattice_problem(subject, bits)
    most = MAX_STEPS // max(1, len(problem.atoms) * problem.dimension)
    run: tuple[int, int, Method, Ranges] | None = None
    for depth in _searched(grid):
        found = _ranges(subject, bits, depth)
        if isinstance(found, str):
            if run is not None:
                yield run
            run = None
            yield depth, depth, "intervals", found
            continue
        method, ranges = found
        joined = None if run is None else _joined(run, depth, method, ranges, most)
        holds = joined is not None and all(
            _fits(joined[3], declared_ranges(execution, d)) for d in (joined[0], depth)
        )
        if joined is not None and holds:
            run = joined
            continue
        if run is not None:
            yield run
        run = depth, depth, method, ranges
    if run is not None:
        yield run


def _joined(
    run: tuple[int, int, Method, Ranges], depth: int, method: Method, ranges: Ranges, most: int
) -> tuple[int, int, Method, Ranges] | None:
    first, last, own, held = run
    if depth != last + 1 or method != own or depth - first >= most:
        return None
    return first, depth, own, {name: held[name].hull(ranges[name]) for name in held}


def _searched(grid: Sequence[DepthRange]) -> Iterator[int]:
    count = 0
    for depths in grid:
        for depth in range(depths.first, depths.last + 1, depths.step):
            yield depth
            count += 1
            if count == MAX_DEPTHS:
                return


def _ranges(subject: Subject, bits: int, depth: int) -> tuple[Method, Ranges] | str:
    """Ranges that fit the declared registers, by the cheaper method that does; else the reason."""
    execution, problem = lattice_problem(subject, bits)
    declared = declared_ranges(execution, depth)
    methods: tuple[Method, ...] = ("intervals", "enumeration")
    reason = ""
    for method in methods:
        try:
            lattice = code_lattice(execution, problem, depth)
            found = (interval_ranges if method == "intervals" else enumerated_ranges)(lattice)
        except InputError as error:
            reason = reason or error.message
            continue
        if _fits(found, declared):
            return method, found
        reason = _too_narrow(found, declared, depth)
    return reason


def _fits(found: Ranges, declared: Ranges) -> bool:
    return all(found[name].within(own) for name, own in declared.items())


def _too_narrow(found: Ranges, declared: Ranges, depth: int) -> str:
    """The first register that cannot hold its codes, and how many bits could."""
    for name, own in declared.items():
        if not found[name].within(own):
            needed, given = signed_bits(found[name]), signed_bits(own)
            return f"the {name} register would need {needed} bits at depth {depth}, it has {given}"
    return ""


def signed_bits(own: CodeRange) -> int:
    """The least two's-complement width that holds a range."""
    return 1 + max(own.upper.bit_length(), (-own.lower - 1).bit_length() if own.lower < 0 else 0)
