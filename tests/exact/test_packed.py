"""The packed product equals the plain one, digit for digit."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from qreplace.exact.packed import pack, product, product_plain, unpack


@given(st.lists(st.integers(-(2**70), 2**70), min_size=1, max_size=8), st.integers(9, 12))
def test_unpack_inverts_pack(values: list[int], size: int) -> None:
    assert unpack(pack(values, size), len(values), size) == values


@given(st.data())
def test_packed_product_is_the_plain_product(data: st.DataObject) -> None:
    width = data.draw(st.integers(1, 5))
    rows = data.draw(st.integers(1, 5))
    bits = data.draw(st.sampled_from([2, 8, 29, 31, 60, 100]))
    numbers = st.integers(-(2**bits), 2**bits)
    matrix = data.draw(st.lists(numbers, min_size=rows * width, max_size=rows * width))
    vectors = data.draw(
        st.lists(st.lists(numbers, min_size=width, max_size=width), min_size=1, max_size=3)
    )
    assert product(matrix, width, vectors) == product_plain(matrix, width, vectors)


@given(st.sampled_from([7, 31, 63]), st.integers(1, 4), st.booleans())
def test_products_at_the_edge_of_a_digit(bits: int, width: int, negative: bool) -> None:
    extreme = -(2**bits) if negative else 2**bits - 1
    matrix = [extreme] * (3 * width)
    vectors = [[1] * width, [-1] * width]
    assert product(matrix, width, vectors) == product_plain(matrix, width, vectors)
