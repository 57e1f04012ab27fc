"""The searched depths as the canonical list of ranges: the same depths, the same question."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from qreplace.question.model import MAX_GRID_RANGES, DepthRange
from qreplace.spec.blocks.constants import CodesSpec
from qreplace.spec.blocks.search import MAX_CANDIDATES, DepthRangeSpec
from qreplace.spec.findings import Finding, needed
from qreplace.spec.model import Spec

_Run = tuple[int, int, int]
"""First, last (itself a member) and step; a single depth has step 0."""


def canonical_depths(entries: tuple[DepthRangeSpec, ...]) -> tuple[DepthRange, ...]:
    """Ascending, disjoint ranges, made greedily: each is extended for as long as its step holds.

    The result depends on the set of depths only. The entries do not overlap.
    """
    merged: list[_Run] = []
    for run in sorted(_run(entry) for entry in entries):
        rest: _Run | None = run
        while rest is not None:
            rest = _absorb(merged, rest)
    return tuple(DepthRange(first, last, step or 1) for first, last, step in merged)


def _run(entry: DepthRangeSpec) -> _Run:
    count = (entry.last - entry.first) // entry.step
    return entry.first, entry.first + count * entry.step, entry.step if count else 0


def _absorb(merged: list[_Run], run: _Run) -> _Run | None:
    """Add ``run``, or its first depth, to the last range; what remains of it."""
    first, last, step = run
    if not merged:
        merged.append((first, first, 0))
        return _tail(run)
    start, end, stride = merged[-1]
    if stride == 0:
        merged[-1] = (start, first, first - start)
        return _tail(run)
    if first != end + stride:
        merged.append((first, first, 0))
        return _tail(run)
    if step in (0, stride):
        merged[-1] = (start, last, stride)
        return None
    merged[-1] = (start, first, stride)
    return _tail(run)


def _tail(run: _Run) -> _Run | None:
    first, last, step = run
    if step == 0:
        return None
    return first + step, last, step if first + step < last else 0


def grid_findings(spec: Spec) -> Iterator[Finding]:
    """Backward or overlapping ranges, and grids that are too large."""
    entries = spec.search.depths
    backward = [i for i, entry in enumerate(entries) if entry.last < entry.first]
    for index in backward:
        entry = entries[index]
        yield Finding(
            ("search", "depths", index),
            needed("from <= to", f"from {entry.first} to {entry.last}"),
            "contradiction",
        )
    if backward:
        return
    order = sorted(range(len(entries)), key=lambda i: (entries[i].first, entries[i].last))
    overlapping = False
    for before, after in itertools.pairwise(order):
        if entries[after].first <= _run(entries[before])[1]:
            overlapping = True
            yield _overlap(entries[before], entries[after], max(before, after))
    if overlapping:
        return
    depths = sum((entry.last - entry.first) // entry.step + 1 for entry in entries)
    budgets = len(spec.search.metadata_bits or ())
    if isinstance(spec.metadata, CodesSpec):
        budgets = len(spec.metadata.codes)
    if depths * max(budgets, 1) > MAX_CANDIDATES:
        yield Finding(
            ("search",),
            needed(f"at most {MAX_CANDIDATES} candidates", str(depths * max(budgets, 1))),
            "too-large",
        )
    elif len(canonical_depths(entries)) > MAX_GRID_RANGES:
        yield Finding(
            ("search", "depths"),
            needed(f"depths that form at most {MAX_GRID_RANGES} ranges", "more"),
            "too-large",
        )


def _overlap(first: DepthRangeSpec, second: DepthRangeSpec, index: int) -> Finding:
    if first.first == first.last == second.first == second.last:
        message = f"depth {first.first} appears twice. Keep one of them."
    else:
        message = needed(
            "depths that do not overlap or interleave",
            f"{_words(first)} and {_words(second)}",
            "Merge them into one range, or list single depths.",
        )
    return Finding(("search", "depths", index), message, "contradiction")


def _words(entry: DepthRangeSpec) -> str:
    if entry.first == entry.last:
        return str(entry.first)
    return f"{entry.first} to {entry.last} in steps of {entry.step}"
