"""Accumulators: integer products added up in a declared register (theory T4.11)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from operator import index
from typing import Any

from qreplace.errors import InputError
from qreplace.simulate.model import Accumulator, OnOverflow
from qreplace.simulate.rounding import code_range, fit

PAIR_BITS = 16
"""Pairs of products saturate at this width where ``pairwise`` is declared."""


@dataclass(frozen=True, slots=True)
class Accumulated:
    """What was left in the register, and the extremes of what it was asked to hold."""

    value: int
    low: int
    high: int
    overflows: int
    tile_low: int
    tile_high: int


class _Adder:
    """One register that codes are added to, in order."""

    def __init__(self, bits: int | None, on_overflow: OnOverflow, name: str) -> None:
        self.bits, self.on_overflow, self.name = bits, on_overflow, name
        self.value = self.low = self.high = self.overflows = 0

    def add(self, code: int) -> None:
        total = self.value + code
        self.low, self.high = min(self.low, total), max(self.high, total)
        self.value = total
        if self.bits is None:
            return
        self.value, over = fit(total, self.bits, self.on_overflow)
        self.overflows += over
        if over and self.on_overflow == "detect":
            raise InputError(
                f"{self.name} overflows: the partial sum {total} needs more than {self.bits} bits",
                remedy="Widen it, or say that it saturates or wraps.",
            )

    def clear(self) -> None:
        """Start the next tile; the extremes stay."""
        self.value = 0


def require_accumulator(accumulator: Accumulator) -> None:
    """Refuse a width of tiles where there are no tiles: it would be ignored."""
    if accumulator.inner_bits is not None and accumulator.tile is None:
        raise InputError(
            f"an accumulator has tiles of {accumulator.inner_bits} bits, but no length of a tile",
            remedy="Give the terms of a tile, or leave the tiles' width out.",
        )


def accumulate(products: Sequence[int], accumulator: Accumulator) -> Accumulated:
    """Add integer products in the order of their index, as the register does (theory T4.11).

    With ``pairwise``, neighbouring products are added with 16-bit saturation first, and their sums
    are the terms; a saturated pair counts as an overflow and is never an error. With ``tile``, so
    many of the terms add up in the inner register, whose sums then add up in the outer one.
    Extremes are of what a register was asked to hold, before it saturated or wrapped; an empty
    register holds 0. Raises ``InputError`` where a register overflows and overflow is an error.
    """
    require_accumulator(accumulator)
    outer = _Adder(accumulator.bits, accumulator.on_overflow, "the accumulator")
    inner = _Adder(accumulator.inner_bits, accumulator.on_overflow, "a tile's accumulator")
    terms, saturated = _pairs(products) if accumulator.pairwise else (list(products), 0)
    size = accumulator.tile or 1
    for start in range(0, len(terms), size):
        if accumulator.tile is None:
            outer.add(terms[start])
            continue
        inner.clear()
        for term in terms[start : start + size]:
            inner.add(term)
        outer.add(inner.value)
    return Accumulated(
        outer.value,
        outer.low,
        outer.high,
        outer.overflows + inner.overflows + saturated,
        inner.low,
        inner.high,
    )


def _pairs(products: Sequence[int]) -> tuple[list[int], int]:
    """Sums of neighbouring products, saturated at 16 bits, and how many of them were."""
    found, saturated = [], 0
    for start in range(0, len(products), 2):
        held, over = fit(sum(products[start : start + 2]), PAIR_BITS, "saturate")
        found.append(held)
        saturated += over
    return found, saturated


def dot(weights: Sequence[int], x: Sequence[int], accumulator: Accumulator) -> Accumulated:
    """``weights . x`` in the register; both are codes (theory T4.11)."""
    if len(weights) != len(x):
        raise InputError(f"a row has {len(weights)} weights, the vector {len(x)} entries")
    return accumulate([index(w) * index(c) for w, c in zip(weights, x, strict=True)], accumulator)


def accumulate_rows(
    weights: Sequence[Sequence[int]], x: Sequence[int], accumulator: Accumulator
) -> tuple[Accumulated, ...]:
    """``dot`` of every row with ``x``, in a compiled loop where everything fits 64 bits.

    Accepts lists or integer arrays. What it returns and raises is what ``dot`` does, row by row.
    """
    import numpy as np

    require_accumulator(accumulator)
    codes = _integers(x, 1)
    rows = _integers(weights, 2)
    if rows.shape[1] != len(codes):
        raise InputError(f"a row has {rows.shape[1]} weights, the vector {len(codes)} entries")
    if not _fits_compiled(rows, codes):
        vector = codes.tolist()
        return tuple(dot(row, vector, accumulator) for row in rows.tolist())
    from qreplace.simulate.accumulators_kernels import add_rows

    found = np.zeros((len(rows), 6), dtype=np.int64)
    failed = add_rows(
        rows.astype(np.int64, copy=False),
        codes.astype(np.int64, copy=False),
        _limits(accumulator.bits),
        _limits(accumulator.inner_bits),
        _limits(PAIR_BITS),
        ("detect", "saturate", "wrap").index(accumulator.on_overflow),
        accumulator.tile or 0,
        accumulator.pairwise,
        found,
    )
    if failed >= 0:
        dot(rows[failed].tolist(), codes.tolist(), accumulator)
    return tuple(Accumulated(*row) for row in found.tolist())


COMPILED_ROOM = 1 << 62
"""Sums of absolute products stay below this, so that a register and a term fit 64 bits."""


def _limits(bits: int | None) -> tuple[int, int]:
    """The smallest and largest code of a register; 64 bits hold anything that is compiled."""
    return code_range(64 if bits is None else bits)


def _integers(values: Any, dimensions: int) -> Any:
    """A whole-number array of so many dimensions; Python integers where 64 bits are too few."""
    import numpy as np

    try:
        found = np.asarray(values)
        if found.dtype.kind not in "iub" or found.dtype == np.uint64:
            found = np.asarray(values, dtype=object)
    except ValueError as error:
        raise InputError("the rows of a matrix of codes have different lengths") from error
    if found.ndim == 1 and dimensions == 2 and found.size == 0:
        found = found.reshape(0, 0)
    if found.ndim != dimensions:
        raise InputError(f"codes have {found.ndim} dimensions; needed {dimensions}")
    if found.dtype == object and not all(isinstance(x, int) for x in found.flat):
        raise InputError("codes are whole numbers")
    return found


def _fits_compiled(rows: Any, codes: Any) -> bool:
    """Whether no sum of the rows' absolute products can leave 64 bits, in Python's integers."""
    if rows.size == 0 or rows.dtype == object or codes.dtype == object:
        return bool(rows.size == 0)
    largest = max(abs(int(rows.min())), int(rows.max()))
    inputs = max(abs(int(codes.min())), int(codes.max()))
    return bool(largest * inputs * len(codes) < COMPILED_ROOM)
