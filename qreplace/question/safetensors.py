"""One tensor out of a ``.safetensors`` file, with the standard library only.

The format: eight bytes of little-endian header length, a JSON header that names each tensor's
type, shape and byte range, then the data, little-endian and in C order.
"""

from __future__ import annotations

import struct
from typing import Any

from qreplace.errors import InputError, Malformed
from qreplace.exact.document import read_json
from qreplace.question.arrays import RawArray, raw_array

MAX_HEADER = 16 * 1024 * 1024

CODES = {
    "I8": "|i1", "U8": "|u1", "I16": "<i2", "U16": "<u2", "I32": "<i4", "U32": "<u4",
    "I64": "<i8", "U64": "<u8", "F16": "<f2", "F32": "<f4", "F64": "<f8",
}  # fmt: skip


def read_safetensors(data: bytes, tensor: str, *, what: str = "array") -> RawArray:
    """The tensor named ``tensor``; BF16 is widened to float32, which holds it exactly.

    Raises ``InputError`` for a damaged header, a name that is not there, a type that is not read,
    and byte ranges that leave the file or disagree with the shape.
    """
    if len(data) < 8:
        raise InputError(f"the {what} is not a .safetensors file")
    length = struct.unpack("<Q", data[:8])[0]
    if length > MAX_HEADER or 8 + length > len(data):
        raise InputError(f"the {what} has a damaged .safetensors header")
    try:
        header = read_json(data[8 : 8 + length], max_bytes=MAX_HEADER, what=f"header of the {what}")
    except Malformed as error:
        raise InputError(error.message) from None
    names = sorted(name for name in header if name != "__metadata__") if _is_object(header) else []
    if tensor not in names:
        raise InputError(
            f"the {what} has no tensor {tensor[:80]!r}",
            remedy=f"It has: {_first(names)}.",
        )
    entry = header[tensor]
    offsets = entry.get("data_offsets") if _is_object(entry) else None
    if not _is_range(offsets, len(data) - 8 - length) or not _is_shape(entry.get("shape")):
        raise InputError(f"the {what} has a damaged entry for the tensor {tensor[:80]!r}")
    start, end = (8 + length + offset for offset in entry["data_offsets"])
    shape = tuple(entry["shape"])
    kind = entry.get("dtype")
    if kind == "BF16":
        return raw_array("<f4", shape, widen_bf16(data[start:end]), what=what)
    if kind not in CODES:
        known = ", ".join([*sorted(CODES), "BF16"])
        raise InputError(f"the {what} has element type {kind!r}", remedy=f"Read are: {known}.")
    return raw_array(CODES[kind], shape, data[start:end], what=what)


def widen_bf16(data: bytes) -> bytes:
    """Little-endian bfloat16 to little-endian float32: the same value, sixteen zero bits below."""
    if len(data) % 2:
        raise InputError(f"bfloat16 data of an odd number of bytes ({len(data)})")
    wide = bytearray(2 * len(data))
    wide[2::4] = data[0::2]
    wide[3::4] = data[1::2]
    return bytes(wide)


def _is_object(value: Any) -> bool:
    return isinstance(value, dict)


def _is_shape(value: Any) -> bool:
    return isinstance(value, list) and all(type(extent) is int for extent in value)


def _is_range(value: Any, size: int) -> bool:
    return (
        isinstance(value, list)
        and len(value) == 2
        and all(type(offset) is int for offset in value)
        and 0 <= value[0] <= value[1] <= size
    )


def _first(names: list[str]) -> str:
    shown = ", ".join(name[:80] for name in names[:8])
    return shown + (f" and {len(names) - 8} more" if len(names) > 8 else "") or "no tensor"
