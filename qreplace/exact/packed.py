"""Integer matrix products by Kronecker substitution: many small integers in one large one.

``n`` small signed integers are the base-``256**size`` digits of one Python integer; a linear
combination of such integers is the linear combination of all digits at once, at the speed of
CPython's long multiplication. ``product_plain`` is the reference for it.
"""

from __future__ import annotations

import functools
import sys
from array import array
from collections.abc import Sequence
from operator import mul

_WORDS = {4: "I", 8: "Q"}
_PLUS_128 = bytes((value + 128) % 256 for value in range(256))


def pack(values: Sequence[int], size: int) -> int:
    """``sum_i values[i] * 256**(size * i)`` for values below ``128 * 256**(size-1)`` in size."""
    offset = 1 << (8 * size - 1)
    shifted = [value + offset for value in values]
    if size in _WORDS:
        words = array(_WORDS[size], shifted)
        if sys.byteorder == "big":
            words.byteswap()
        raw = words.tobytes()
    else:
        raw = b"".join([value.to_bytes(size, "little") for value in shifted])
    return int.from_bytes(raw, "little") - offset * _repunit(len(values), size)


def unpack(packed: int, count: int, size: int) -> list[int]:
    """The ``count`` signed digits of ``packed`` to base ``256**size``."""
    offset = 1 << (8 * size - 1)
    raw = (packed + offset * _repunit(count, size)).to_bytes(count * size, "little")
    if size in _WORDS:
        digits = array(_WORDS[size], raw)
        if sys.byteorder == "big":
            digits.byteswap()
        return [digit - offset for digit in digits]
    return [
        int.from_bytes(raw[start : start + size], "little") - offset
        for start in range(0, count * size, size)
    ]


@functools.lru_cache(maxsize=64)
def _repunit(count: int, size: int) -> int:
    return int.from_bytes((b"\x01" + bytes(size - 1)) * count, "little")


def product(matrix: Sequence[int], width: int, vectors: Sequence[Sequence[int]]) -> list[list[int]]:
    """``matrix @ vector`` for every vector, exactly.

    ``matrix`` is flat in C order with ``width`` columns, each vector has ``width`` entries. The
    columns of the matrix are packed, so a vector costs ``width`` multiplications of a small by a
    long integer, whatever the number of rows.
    """
    if not matrix or not vectors:
        return [[0] * (len(matrix) // width if width else 0) for _ in vectors]
    rows = len(matrix) // width
    largest = max(max(matrix), -min(matrix))
    bound = largest * max(sum(map(abs, vector)) for vector in vectors)
    size = (max(bound, largest).bit_length() + 2 + 7) // 8
    size = 4 if size <= 4 else 8 if size <= 8 else size
    columns = _pack_columns(matrix, width, size)
    return [unpack(sum(map(mul, vector, columns)), rows, size) for vector in vectors]


def _pack_columns(matrix: Sequence[int], width: int, size: int) -> list[int]:
    """Every column packed; entries of one byte are moved as bytes, not one by one."""
    rows = len(matrix) // width
    try:
        small = array("b", matrix).tobytes().translate(_PLUS_128)
    except OverflowError:
        return [pack(matrix[i::width], size) for i in range(width)]
    shift = 128 * _repunit(rows, size)
    columns = []
    for i in range(width):
        digits = bytearray(rows * size)
        digits[::size] = small[i::width]
        columns.append(int.from_bytes(digits, "little") - shift)
    return columns


def product_plain(
    matrix: Sequence[int], width: int, vectors: Sequence[Sequence[int]]
) -> list[list[int]]:
    """The same product, entry by entry: the reference."""
    rows = [matrix[start : start + width] for start in range(0, len(matrix), width)]
    return [[sum(map(mul, row, vector)) for row in rows] for vector in vectors]
