"""Boxes of counts with a fixed sum: splitting, tightening and the greedy fill, against listing."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qreplace.exact.counts import CountBox, all_counts


def members(box: CountBox) -> list[tuple[int, ...]]:
    """Every choice of counts in a box, by listing."""
    ranges = [range(a, b + 1) for a, b in zip(box.lower, box.upper, strict=True)]
    return [n for n in itertools.product(*ranges) if sum(n) == box.total]


@st.composite
def boxes(draw: st.DrawFn) -> CountBox:
    """A part of all counts after some splits."""
    box = all_counts(draw(st.integers(1, 4)), draw(st.integers(1, 7)))
    for _ in range(draw(st.integers(0, 4))):
        places = list(divisions(box))
        if not places:
            break
        box = box.split(*draw(st.sampled_from(places)))[draw(st.integers(0, 1))]
    return box


def divisions(box: CountBox) -> Iterator[tuple[int, int]]:
    """Every split of a box."""
    for atom, (low, high) in enumerate(zip(box.lower, box.upper, strict=True)):
        yield from ((atom, at) for at in range(low, high))


@settings(max_examples=200)
@given(boxes())
def test_every_end_of_a_box_is_taken(box: CountBox) -> None:
    counts = members(box)
    assert counts
    columns = list(zip(*counts, strict=True))
    assert tuple(map(min, columns)) == box.lower
    assert tuple(map(max, columns)) == box.upper
    assert box.single == (len(counts) == 1)
    if box.single:
        assert counts == [box.lower]


@settings(max_examples=200)
@given(boxes())
def test_a_split_divides_the_counts_into_two_parts_that_are_not_empty(box: CountBox) -> None:
    for atom, at in divisions(box):
        assert box.divides(atom, at)
        left, right = box.split(atom, at)
        assert members(left) == [n for n in members(box) if n[atom] <= at]
        assert members(right) == [n for n in members(box) if n[atom] > at]


@given(boxes(), st.integers(-2, 5), st.integers(-2, 9))
def test_what_does_not_divide_is_said_so(box: CountBox, atom: int, at: int) -> None:
    inside = 0 <= atom < len(box.lower)
    sides = {n[atom] <= at for n in members(box)} if inside else set()
    assert box.divides(atom, at) == (len(sides) == 2)


@settings(max_examples=200)
@given(boxes(), st.data())
def test_the_greedy_fill_is_the_maximum(box: CountBox, data: st.DataObject) -> None:
    size = len(box.lower)
    values = data.draw(st.lists(st.integers(-9, 9), min_size=size, max_size=size))
    order = sorted(range(size), key=lambda j: -values[j])
    listed = max(sum(v * n for v, n in zip(values, n, strict=True)) for n in members(box))
    assert box.largest(values, order) == listed


@pytest.mark.parametrize("total", [1, 10**30])
def test_one_atom_takes_every_step(total: int) -> None:
    box = all_counts(1, total)
    assert box.single
    assert box.largest([3], [0]) == 3 * total
