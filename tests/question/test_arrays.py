"""Arrays: every entry is exactly what NumPy's bits denote, and only canonical files are read."""

from __future__ import annotations

import io
import struct
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from qreplace.errors import InputError, Malformed
from qreplace.exact.document import sha256_hex
from qreplace.question.arrays import (
    DTYPES,
    ITEM_SIZE,
    ExactArray,
    RawArray,
    exact_values,
    inline_array,
    load_array,
    raw_array,
    read_npy,
)
from qreplace.question.model import InlineArray, StoredArray

FLOATS = {"<f2": np.uint16, "<f4": np.uint32, "<f8": np.uint64}
INTEGERS = sorted(set(DTYPES) - set(FLOATS))


def saved(values: Any, version: tuple[int, int] | None = None) -> bytes:
    stream = io.BytesIO()
    np.lib.format.write_array(stream, values, version=version)
    return stream.getvalue()


def fractions(values: ExactArray) -> list[Fraction]:
    return [Fraction(n, values.denominator) for n in values.numerators]


@given(st.data(), st.sampled_from(sorted(FLOATS)))
def test_floats_are_the_rationals_of_their_bits(data: st.DataObject, code: str) -> None:
    bits = 8 * ITEM_SIZE[code]
    patterns = data.draw(st.lists(st.integers(0, 2**bits - 1), max_size=6))
    array = np.array(patterns, dtype=FLOATS[code]).view(code)
    if not np.isfinite(array).all():
        with pytest.raises(InputError, match="a NaN or an infinity at flat index"):
            exact_values(read_npy(saved(array)))
        return
    # float() of each entry is exact, and so is Fraction() of a float.
    assert fractions(exact_values(read_npy(saved(array)))) == [Fraction(float(x)) for x in array]


@pytest.mark.parametrize("code", sorted(FLOATS))
def test_subnormals_zeros_and_extremes(code: str) -> None:
    limits = np.finfo(np.dtype(code))
    numbers = [
        0.0, -0.0, limits.tiny, -limits.tiny, limits.smallest_subnormal,
        -limits.smallest_subnormal, limits.max, limits.min, limits.eps, 1.0, -1.5,
    ]  # fmt: skip
    array = np.array(numbers, dtype=code)
    for part in (array, array[:2], array[4:6], array[6:8], array[:0]):
        exact = exact_values(read_npy(saved(part)))
        assert fractions(exact) == [Fraction(float(x)) for x in part]
        assert exact.denominator > 0
    for bad in (np.nan, np.inf, -np.inf):
        with pytest.raises(InputError, match="NaN or an infinity at flat index 1"):
            exact_values(read_npy(saved(np.array([1.0, bad], dtype=code))))


@pytest.mark.parametrize("code", INTEGERS)
def test_integers(code: str) -> None:
    limits = np.iinfo(np.dtype(code))
    array = np.array([[limits.min, limits.max, 0], [1, 2, 3]], dtype=code)
    exact = exact_values(read_npy(saved(array)))
    assert exact == ExactArray((2, 3), [int(x) for x in array.ravel()], 1)


@given(
    st.sampled_from(sorted(DTYPES)),
    st.lists(st.integers(0, 4), max_size=4).map(tuple),
)
@example("<f4", ())
def test_our_files_are_numpys_and_back(code: str, shape: tuple[int, ...]) -> None:
    array = np.ones(shape, dtype=code)
    raw = read_npy(saved(array))
    assert raw == RawArray(code, shape, array.tobytes())
    assert raw.to_npy() == saved(array, (1, 0))
    loaded = np.load(io.BytesIO(raw.to_npy()), allow_pickle=False)
    assert loaded.dtype == array.dtype and loaded.shape == shape
    assert raw.reference().sha256 == sha256_hex(raw.to_npy())


@pytest.mark.parametrize("version", [(1, 0), (2, 0), (3, 0)])
def test_every_version_is_read_and_stored_as_the_first(version: tuple[int, int]) -> None:
    array = np.arange(6, dtype="<i4").reshape(2, 3)
    raw = read_npy(saved(array, version))
    assert raw.to_npy() == saved(array, (1, 0))


GOOD = saved(np.array([1.0, 2.0], dtype="<f4"))


def with_header(text: bytes, data: bytes = b"\0" * 8) -> bytes:
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + data


HEADERS = [
    b"",
    b"{",
    b"()",
    b"{[]: 1}",
    b"{{}: 1}",
    b"__import__('os')",
    b"{'descr': '<f4', 'fortran_order': False}",
    b"{'descr': '<f4', 'fortran_order': False, 'shape': (2,), 'more': 1}",
    b"{'descr': '<f4', 'fortran_order': True, 'shape': (2,)}",
    b"{'descr': '<f4', 'fortran_order': 0, 'shape': (2,)}",
    b"{'descr': '>f4', 'fortran_order': False, 'shape': (2,)}",
    b"{'descr': '|O', 'fortran_order': False, 'shape': (1,)}",
    b"{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,)}",
    b"{'descr': '<c8', 'fortran_order': False, 'shape': (1,)}",
    b"{'descr': '<f4', 'fortran_order': False, 'shape': [2]}",
    b"{'descr': '<f4', 'fortran_order': False, 'shape': 2}",
    b"{'descr': '<f4', 'fortran_order': False, 'shape': (True, 2)}",
    b"{'descr': '<f4', 'fortran_order': False, 'shape': (2.0,)}",
    b"{'descr': '<f4', 'fortran_order': False, 'shape': (-2,)}",
    b"{'descr': '<f4', 'fortran_order': False, 'shape': (-1, -2)}",
    b"{'descr': '<f4', 'fortran_order': False, 'shape': (3,)}",
    b"{'descr': '<f4', 'fortran_order': False, 'shape': (1,)}",
    b"{'descr': '<f4', 'fortran_order': False, 'shape': (2,) + (1,) * 9}",
    b"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 1, 1, 1, 1, 1, 1, 1, 1)}",
    b"{'descr': '<f4', 'fortran_order': False, 'shape': (268435456, 268435456)}",
    b"{'descr': '<f4', 'fortran_order': False, 'shape': (" + b"9" * 5000 + b",)}",
    b"{'descr': '<f4', 'fortran_order': False, 'shape': (" + b"9" * 4000 + b",)}",
    b"(" * 1000,
    b"-" * 3000 + b"1",
    b"\x00",
    b"\xff\xfe",
]


@pytest.mark.parametrize("header", HEADERS, ids=range(len(HEADERS)))
def test_damaged_headers(header: bytes) -> None:
    with pytest.raises(InputError):
        read_npy(with_header(header))


def test_every_cut_and_every_flipped_bit() -> None:
    for end in range(len(GOOD)):
        with pytest.raises(InputError):
            read_npy(GOOD[:end])
    with pytest.raises(InputError):
        read_npy(GOOD + b"\0")
    digest = sha256_hex(GOOD)
    reference = StoredArray("stored", digest, "float32", (2,))
    for position in range(len(GOOD)):
        for bit in range(8):
            changed = bytearray(GOOD)
            changed[position] ^= 1 << bit
            with pytest.raises(InputError):
                load_array(reference, {digest: bytes(changed)})


@given(st.binary(max_size=80))
def test_any_bytes_are_an_array_or_refused(data: bytes) -> None:
    for candidate in (data, b"\x93NUMPY\x01\x00" + data, with_header(data)):
        try:
            read_npy(candidate)
        except InputError:
            continue


def test_what_a_question_names_is_what_is_loaded() -> None:
    digest = sha256_hex(GOOD)
    good = StoredArray("stored", digest, "float32", (2,))
    assert fractions(load_array(good, {digest: GOOD})) == [1, 2]
    with pytest.raises(InputError, match="is missing"):
        load_array(good, {})
    for dtype, shape in (("float64", (2,)), ("float32", (1, 2)), ("float32", (2, 1))):
        with pytest.raises(InputError, match="the question says"):
            load_array(StoredArray("stored", digest, dtype, shape), {digest: GOOD})
    other = saved(np.array([1.0, 2.0], dtype="<f4"), (2, 0))
    name = sha256_hex(other)
    with pytest.raises(InputError, match="does not have the named SHA-256"):
        load_array(StoredArray("stored", name, "float32", (2,)), {name: other})


@given(st.lists(st.fractions(), max_size=6))
def test_inline_arrays(values: list[Fraction]) -> None:
    assert fractions(load_array(inline_array((len(values),), values), {})) == values


@pytest.mark.parametrize("shape", [(2,), (0,), (1, 2), (-1, -1)])
def test_inline_shapes(shape: tuple[int, ...]) -> None:
    with pytest.raises(Malformed):
        InlineArray("inline", shape, (Fraction(1),))
    with pytest.raises(Malformed):
        inline_array(shape, [Fraction(1)])


@pytest.mark.parametrize("shape", [[2], (True, 2), (2.0,), (-2,), (1 << 40,), (2,) * 9, None])
def test_impossible_shapes(shape: object) -> None:
    with pytest.raises(InputError):
        raw_array("<f4", shape, b"\0" * 8)
