"""Arrays as exact integers over one power of two, read with the standard library only.

The one stored form is the canonical ``.npy``: version 1.0, little-endian, C order, fixed header.
Its SHA-256 names the array in a question. Every floating-point entry *is* the dyadic rational
that its bits denote; no float arithmetic is done on it here.
"""

from __future__ import annotations

import ast
import functools
import math
import operator
import struct
import sys
from array import array
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from qreplace.errors import InputError, Malformed
from qreplace.exact.document import sha256_hex
from qreplace.question.model import Array, InlineArray, StoredArray

MAX_ELEMENTS = 1 << 28
MAX_DIMENSIONS = 8

_INTEGER_CODES = {"|i1": "b", "|u1": "B", "<i2": "h", "<u2": "H", "<i4": "i", "<u4": "I",
                  "<i8": "q", "<u8": "Q"}  # fmt: skip
_FLOAT_LAYOUT = {"<f2": ("H", 5, 10), "<f4": ("I", 8, 23), "<f8": ("Q", 11, 52)}
DTYPES = {
    "|i1": "int8", "|u1": "uint8", "<i2": "int16", "<u2": "uint16", "<i4": "int32",
    "<u4": "uint32", "<i8": "int64", "<u8": "uint64", "<f2": "float16", "<f4": "float32",
    "<f8": "float64",
}  # fmt: skip
ITEM_SIZE = {code: int(code[2:]) for code in DTYPES}

ArrayStore = Mapping[str, bytes]
"""Canonical ``.npy`` bytes by their SHA-256."""


@dataclass(frozen=True, slots=True)
class RawArray:
    """An array as stored: numpy type code, shape, little-endian C-order bytes."""

    code: str
    shape: tuple[int, ...]
    data: bytes

    def to_npy(self) -> bytes:
        """The canonical ``.npy`` file."""
        shape = "(" + ", ".join(map(str, self.shape)) + ("," if len(self.shape) == 1 else "") + ")"
        header = f"{{'descr': '{self.code}', 'fortran_order': False, 'shape': {shape}, }}"
        padding = -(10 + len(header) + 1) % 64
        text = (header + " " * padding + "\n").encode("latin-1")
        return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + self.data

    def reference(self) -> StoredArray:
        """How a question names this array."""
        return StoredArray("stored", sha256_hex(self.to_npy()), DTYPES[self.code], self.shape)


@dataclass(frozen=True, slots=True)
class ExactArray:
    """``numerators[i] / denominator`` in C order; one positive common denominator."""

    shape: tuple[int, ...]
    numerators: list[int]
    denominator: int

    @property
    def size(self) -> int:
        """The number of entries."""
        return len(self.numerators)


def read_npy(data: bytes, *, what: str = "array") -> RawArray:
    """Read a ``.npy`` file (versions 1 to 3, C order, little-endian numbers).

    Raises ``InputError`` for anything else: pickled objects, Fortran order, big-endian data, a
    header that is not the three plain fields, sizes that disagree with the shape.
    """
    if data[:6] != b"\x93NUMPY" or len(data) < 12:
        raise InputError(f"the {what} is not a .npy file")
    if data[6] == 1:
        length, start = struct.unpack("<H", data[8:10])[0], 10
    elif data[6] in (2, 3):
        length, start = struct.unpack("<I", data[8:12])[0], 12
    else:
        raise InputError(f"the {what} has .npy version {data[6]}; 1, 2 and 3 are read")
    if length > 4096 or start + length > len(data):
        raise InputError(f"the {what} has a damaged .npy header")
    try:
        header = ast.literal_eval(data[start : start + length].decode("latin-1").strip())
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        raise InputError(f"the {what} has a damaged .npy header") from None
    if not isinstance(header, dict) or set(header) != {"descr", "fortran_order", "shape"}:
        raise InputError(f"the {what} has a .npy header with other fields than the format's")
    code, shape = header["descr"], header["shape"]
    if not isinstance(code, str) or code not in DTYPES:
        raise InputError(
            f"the {what} has element type {str(code)[:40]!r}",
            remedy=f"Read are: {', '.join(sorted(DTYPES))}.",
        )
    if header["fortran_order"] is not False:
        raise InputError(f"the {what} is in Fortran order", remedy="Save it in C order.")
    return raw_array(code, shape, data[start + length :], what=what)


def raw_array(code: str, shape: object, data: bytes, *, what: str = "array") -> RawArray:
    """A ``RawArray`` whose shape and byte count are checked."""
    if not isinstance(shape, tuple) or len(shape) > MAX_DIMENSIONS:
        raise InputError(f"the {what} has no shape of at most {MAX_DIMENSIONS} dimensions")
    if any(type(extent) is not int or not 0 <= extent <= MAX_ELEMENTS for extent in shape):
        raise InputError(f"the {what} has an impossible shape {str(shape)[:60]}")
    size = math.prod(shape)
    if size > MAX_ELEMENTS:
        raise InputError(f"the {what} has {size} entries; at most {MAX_ELEMENTS} are read")
    if len(data) != size * ITEM_SIZE[code]:
        raise InputError(
            f"the {what} holds {len(data)} bytes; its shape needs {size * ITEM_SIZE[code]}"
        )
    return RawArray(code, shape, bytes(data))


def exact_values(raw: RawArray, *, what: str = "array") -> ExactArray:
    """The exact entries; raises ``InputError`` on NaN and infinities."""
    if raw.code in _INTEGER_CODES:
        numbers = _unpack(_INTEGER_CODES[raw.code], raw.data)
        return ExactArray(raw.shape, numbers.tolist(), 1)
    code, exponent_bits, fraction_bits = _FLOAT_LAYOUT[raw.code]
    patterns = _unpack(code, raw.data).tolist()
    return _from_bit_patterns(raw.shape, patterns, exponent_bits, fraction_bits, what)


def _unpack(code: str, data: bytes) -> array[int]:
    numbers = array(code, data)
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers


def _from_bit_patterns(
    shape: tuple[int, ...], patterns: list[int], exponent_bits: int, fraction_bits: int, what: str
) -> ExactArray:
    """Sign, exponent and fraction by integer arithmetic; a common power of two below."""
    special = (1 << exponent_bits) - 1
    hidden = 1 << fraction_bits
    fraction_mask = hidden - 1
    sign_bit = 1 << (exponent_bits + fraction_bits)
    exponents = [(pattern >> fraction_bits) & special for pattern in patterns]
    if special in exponents:
        position = exponents.index(special)
        raise InputError(f"the {what} has a NaN or an infinity at flat index {position}")
    # A subnormal has exponent field 0, no hidden bit, and the scale of exponent field 1.
    lowest = max(min(exponents, default=1), 1)
    sizes = [
        ((pattern & fraction_mask) | hidden) << (exponent - lowest)
        if exponent
        else pattern & fraction_mask
        for pattern, exponent in zip(patterns, exponents, strict=True)
    ]
    common = functools.reduce(operator.or_, sizes, 0)
    if not common:
        return ExactArray(shape, sizes, 1)
    trailing = (common & -common).bit_length() - 1
    numerators = [
        -(size >> trailing) if pattern & sign_bit else size >> trailing
        for size, pattern in zip(sizes, patterns, strict=True)
    ]
    power = lowest + trailing - ((1 << (exponent_bits - 1)) - 1 + fraction_bits)
    if power >= 0:
        return ExactArray(shape, [n << power for n in numerators], 1)
    return ExactArray(shape, numerators, 1 << -power)


def load_array(reference: Array, store: ArrayStore, *, what: str = "array") -> ExactArray:
    """The exact entries of an array that a question names.

    Raises ``InputError`` when it is missing from ``store``, when its bytes are not the canonical
    ``.npy`` with the named digest, or when type or shape differ from the question's.
    """
    if isinstance(reference, InlineArray):
        denominator = math.lcm(*(value.denominator for value in reference.values), 1)
        numerators = [v.numerator * (denominator // v.denominator) for v in reference.values]
        return ExactArray(reference.shape, numerators, denominator)
    data = store.get(reference.sha256)
    if data is None:
        raise InputError(f"the {what} with SHA-256 {reference.sha256} is missing")
    raw = read_npy(data, what=what)
    if raw.to_npy() != data or sha256_hex(data) != reference.sha256:
        raise InputError(f"the {what} does not have the named SHA-256 {reference.sha256}")
    if DTYPES[raw.code] != reference.dtype or raw.shape != reference.shape:
        raise InputError(
            f"the {what} is {DTYPES[raw.code]} {raw.shape}; the question says {reference.dtype} "
            f"{reference.shape}"
        )
    return exact_values(raw, what=what)


def inline_array(shape: tuple[int, ...], values: list[Fraction]) -> InlineArray:
    """An inline array of exact values in C order."""
    if math.prod(shape) != len(values):
        raise Malformed(f"shape {shape} holds {math.prod(shape)} values, received {len(values)}")
    return InlineArray("inline", shape, tuple(values))
