"""Integer matrix products by Kronecker substitution: many small integers in one large one.

``n`` signed integers below ``2**(w-1)`` in absolute value are the base-``2**w`` digits of one
Python integer; a linear combination of such integers is the linear combination of all digits at
once, at the speed of CPython's long multiplication. ``product_plain`` is the reference that the
packed product is tested against.
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Sequence
from operator import mul


def pack(values: Sequence[int], width: int) -> int:
    """``sum_i values[i] * 2**(width * i)``; ``width`` is a multiple of 8."""
    size = width // 8
    offset = 1 << (width - 1)
    raw = b"".join([(value + offset).to_bytes(size, "little") for value in values])
    return int.from_bytes(raw, "little") - offset * _repunit(len(values), width)


def unpack(packed: int, count: int, width: int) -> list[int]:
    """The ``count`` signed digits of ``packed``, each below ``2**(width-1)`` in absolute value."""
    size = width // 8
    offset = 1 << (width - 1)
    raw = (packed + offset * _repunit(count, width)).to_bytes(count * size, "little")
    if size == 8:
        digits = array("Q", raw)
        if sys.byteorder == "big":
            digits.byteswap()
        return [digit - offset for digit in digits]
    return [
        int.from_bytes(raw[start : start + size], "little") - offset
        for start in range(0, count * size, size)
    ]


def _repunit(count: int, width: int) -> int:
    return ((1 << (count * width)) - 1) // ((1 << width) - 1)


def product(left: Sequence[Sequence[int]], right: Sequence[Sequence[int]]) -> list[list[int]]:
    """``left @ right.T``, exactly: rows of both are the inner dimension.

    ``left`` has shape (m, p), ``right`` (n, p); the result has shape (m, n). The rows of ``right``
    are packed, so the work is m * p multiplications of small by long integers.
    """
    if not left or not right:
        return [[] for _ in left]
    largest = max((max(map(abs, row), default=0) for row in left), default=0)
    bound = largest * max(sum(map(abs, row)) for row in right)
    width = max(64, -(-(bound.bit_length() + 2) // 8) * 8)
    columns = [pack(column, width) for column in zip(*right, strict=True)]
    count = len(right)
    return [unpack(sum(map(mul, row, columns)), count, width) for row in left]


def product_plain(left: Sequence[Sequence[int]], right: Sequence[Sequence[int]]) -> list[list[int]]:
    """The same product, entry by entry."""
    return [[sum(map(mul, row, other)) for other in right] for row in left]
