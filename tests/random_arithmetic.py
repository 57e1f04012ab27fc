"""Random systems, schedules and arithmetics, all rational; hypothesis strategies."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import strategies as st

from qreplace.simulate.model import (
    ROUNDINGS,
    Arithmetic,
    Atom,
    FixedPoint,
    Matrix,
    Semantics,
    System,
    Vector,
)

STEPS = [Fraction(1, 4), Fraction(1, 8), Fraction(1, 6), Fraction(1, 16), Fraction(3, 32)]


def small(most: int = 8, parts: int = 8) -> st.SearchStrategy[Fraction]:
    return st.integers(-most, most).map(lambda n: Fraction(n, parts))


def vector(size: int) -> st.SearchStrategy[Vector]:
    return st.tuples(*[small()] * size)


def matrix(rows: int, columns: int) -> st.SearchStrategy[Matrix]:
    return st.tuples(*[vector(columns)] * rows)


@st.composite
def atoms(draw: st.DrawFn, q: int) -> Atom:
    """An affine atom, a ReLU residual or a soft-threshold step."""
    kind = draw(st.sampled_from(["free", "affine", "relu", "soft_threshold"]))
    offset = draw(vector(q))
    if kind == "free":
        return Atom(offset)
    own = draw(matrix(q, q))
    if kind == "affine":
        return Atom(offset, own)
    hidden = draw(st.integers(1, 3))
    return Atom(
        offset,
        own if draw(st.booleans()) else None,
        draw(matrix(hidden, q)),
        draw(vector(hidden)),
        draw(matrix(q, hidden)),
        "relu" if kind == "relu" else "soft_threshold",
        abs(draw(small())) if kind == "soft_threshold" else Fraction(0),
    )


@st.composite
def systems(draw: st.DrawFn, most: int = 3) -> System:
    q = draw(st.integers(1, most))
    count = draw(st.integers(1, 3))
    return System(
        tuple(draw(atoms(q)) for _ in range(count)),
        draw(vector(q)),
        draw(st.sampled_from([Fraction(1), Fraction(1, 2), Fraction(2)])),
    )


def schedules(count: int, most: int = 12) -> st.SearchStrategy[list[int]]:
    return st.lists(st.integers(0, count - 1), min_size=1, max_size=most)


@st.composite
def registers(
    draw: st.DrawFn, depth: int, width: int, *, factor: int = 1, detect: bool = True
) -> FixedPoint:
    """Per tensor, per channel or per step; unbounded, saturating, wrapping or detecting."""
    rows = draw(st.sampled_from([1, depth]))
    columns = draw(st.sampled_from([1, width]))
    steps = tuple(
        tuple(draw(st.sampled_from(STEPS)) * factor for _ in range(columns)) for _ in range(rows)
    )
    bits = draw(st.one_of(st.none(), st.integers(2, 9)))
    modes = ["saturate", "wrap", "detect"] if detect else ["saturate", "wrap"]
    return FixedPoint(steps, bits, draw(st.sampled_from(modes)))


@st.composite
def arithmetics(draw: st.DrawFn, semantics: Semantics, depth: int, q: int) -> Arithmetic:
    """Any register of the semantics, in any mode; the state's and increment's grids agree."""
    state = draw(registers(depth, q))
    increment = None
    if semantics != "write_back":
        state = FixedPoint(((state.steps[0][0],),), state.bits, state.on_overflow)
        if draw(st.booleans()):
            wide = state.steps[0][0] * draw(st.integers(1, 3))
            bits = draw(st.one_of(st.none(), st.integers(2, 6)))
            increment = FixedPoint(((wide,),), bits, draw(st.sampled_from(["saturate", "wrap"])))
        if increment is not None and draw(st.booleans()):
            state = None
    carry = draw(registers(depth, q)) if semantics == "rounded_carry" else None
    activation = draw(st.one_of(st.none(), registers(depth, 1)))
    return Arithmetic(
        semantics,
        draw(st.sampled_from(ROUNDINGS)),
        state,
        increment,
        carry,
        activation,
        None,
        draw(st.integers(0, 2**32)),
    )
