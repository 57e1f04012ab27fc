"""Concrete weights to exact matrices, and to operator norms that are proposed and then checked.

Entries are the rationals that their bits denote; a bound is proposed in floats by the producer of
``operator_norm`` and shown by its checker in integers (theory T10.5).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from qreplace.architecture.rounding import root_above, root_sum_square
from qreplace.check.operator_norm import check_matrix
from qreplace.errors import InputError
from qreplace.exact.rounding import round_quotient
from qreplace.ledger.request import CodesSpec, QuantizeSpec
from qreplace.produce.operator_norm import upper_bound
from qreplace.question.arrays import ExactArray, exact_values, inline_array, load_array
from qreplace.question.matrices import NamedMatrix
from qreplace.spec.blocks.array import ArraySpec, InlineArraySpec, ScalesSpec
from qreplace.spec.resolve import read_array
from qreplace.spec.side_files import SideFiles

MAX_DEFINITE_ROWS = 512
"""Gram matrices up to this size are factored; larger ones are cut into bands of rows."""
MAX_ENTRIES = 1 << 22
"""Most entries of one matrix."""

Rows = list[list[int]]


@dataclass(frozen=True, slots=True)
class Pair:
    """Intended and executed weights over one denominator."""

    intended: Rows
    executed: Rows
    denominator: int

    def bands(self, count: int) -> list[Pair]:
        """The weights cut into ``count`` bands of as many rows each."""
        size = len(self.intended) // count
        return [
            Pair(
                self.intended[start : start + size],
                self.executed[start : start + size],
                self.denominator,
            )
            for start in range(0, len(self.intended), size)
        ]

    def difference(self) -> Rows:
        """``W_hat - W``."""
        return [
            [b - a for a, b in zip(one, other, strict=True)]
            for one, other in zip(self.intended, self.executed, strict=True)
        ]


def read_exact(named: ArraySpec | ScalesSpec, files: SideFiles, what: str) -> ExactArray:
    """The exact entries of an array that a description names; raises ``InputError``."""
    if isinstance(named, InlineArraySpec):
        shape, values = named.values
        return load_array(inline_array(shape, list(values)), {}, what=what)
    raw = read_array(files.verified(named.path, named.sha256), named)
    return exact_values(raw, what=what)


def matrix_rows(own: ExactArray, rows: int, columns: int, what: str) -> Rows:
    """The rows of a matrix of that shape; raises ``InputError`` for another, or a larger one."""
    if own.shape != (rows, columns):
        received = " x ".join(map(str, own.shape)) or "a single number"
        raise InputError(f"needed {rows} x {columns} {what}, received {received}")
    if own.size > MAX_ENTRIES:
        raise InputError(
            f"needed at most {MAX_ENTRIES} entries in the {what}, received {own.size}",
            remedy="State its norm and its error instead of its weights.",
        )
    flat = own.numerators
    return [flat[start : start + columns] for start in range(0, own.size, columns)]


def same(rows: Rows, denominator: int) -> Pair:
    """Weights that are executed as they are."""
    return Pair(rows, rows, denominator)


def between(intended: ExactArray, executed: ExactArray, rows: int, columns: int) -> Pair:
    """Intended and executed weights, both given as arrays."""
    one = matrix_rows(intended, rows, columns, "weights")
    other = matrix_rows(executed, rows, columns, "executed weights")
    return Pair(
        [[entry * executed.denominator for entry in row] for row in one],
        [[entry * intended.denominator for entry in row] for row in other],
        intended.denominator * executed.denominator,
    )


def dequantized(own: CodesSpec, files: SideFiles, rows: int, columns: int) -> ExactArray:
    """``diag(scales) (codes - zero_point)``, with one scale, one a row, or one a row and group."""
    codes = read_exact(own.codes, files, "codes")
    scales = read_exact(own.scales, files, "scales")
    entries = matrix_rows(codes, rows, columns, "codes")
    groups = scales.shape[1] if len(scales.shape) == 2 else 1
    if scales.size not in (1, rows * groups) or columns % groups:
        raise InputError(
            f"needed one scale, {rows} of them, or {rows} x groups that divide {columns} columns; "
            f"received {' x '.join(map(str, scales.shape))}"
        )
    factors = scales.numerators * (rows if scales.size == 1 else 1)
    width = columns // groups
    shift = own.zero_point * codes.denominator
    flat = [
        factors[i * groups + j // width] * (entry - shift)
        for i, row in enumerate(entries)
        for j, entry in enumerate(row)
    ]
    return ExactArray((rows, columns), flat, scales.denominator * codes.denominator)


def quantized(rows: Rows, denominator: int, own: QuantizeSpec) -> Pair:
    """Weights rounded to nearest codes, a scale for every group of columns of every row.

    With q the last code, ``2^(bits-1) - 1``, and M the largest magnitude of a group, a weight w
    becomes ``round(w q / M) M / q``, ties to even; a group of zeros stays zero.
    """
    width = len(rows[0])
    group = width if own.group is None else own.group
    if width % group:
        raise InputError(f"needed a group that divides {width} columns, received {group}")
    last = (1 << (own.bits - 1)) - 1
    executed: Rows = []
    for row in rows:
        made: list[int] = []
        for start in range(0, width, group):
            part = row[start : start + group]
            largest = max(map(abs, part))
            made += [
                round_quotient(entry * last, largest, "nearest_even") * largest if largest else 0
                for entry in part
            ]
        executed.append(made)
    intended = [[entry * last for entry in row] for row in rows]
    return Pair(intended, executed, denominator * last)


def operator_norm(rows: Rows, denominator: int) -> Fraction:
    """A checked upper bound of ``||W||_2``, about 1e-9 above it up to ``MAX_DEFINITE_ROWS`` rows.

    Larger matrices are cut into bands along their shorter side: ``||W||^2`` is at most the sum of
    the squares of theirs.
    """
    if not any(map(any, rows)):
        return Fraction(0)
    if min(len(rows), len(rows[0])) <= MAX_DEFINITE_ROWS:
        matrix = NamedMatrix(rows, denominator)
        method, value = upper_bound(matrix, MAX_DEFINITE_ROWS)
        check_matrix(matrix, method, value, MAX_DEFINITE_ROWS)
        return value
    if len(rows) > len(rows[0]):
        rows = [list(column) for column in zip(*rows, strict=True)]
    starts = range(0, len(rows), MAX_DEFINITE_ROWS)
    bands = (rows[start : start + MAX_DEFINITE_ROWS] for start in starts)
    return root_sum_square(operator_norm(band, denominator) for band in bands)


def euclidean(entries: Sequence[int], denominator: int) -> Fraction:
    """The l2 norm of a vector, rounded up."""
    return root_above(Fraction(sum(entry * entry for entry in entries), denominator**2))


def largest(entries: Sequence[int], denominator: int) -> Fraction:
    """The largest magnitude of a vector."""
    return Fraction(max(map(abs, entries)), denominator)
