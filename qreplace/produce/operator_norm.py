"""Upper bounds of l2 operator norms, found in floats and written with room to prove (T10.5)."""

from __future__ import annotations

from fractions import Fraction
from typing import Literal

from qreplace.claims.operator_norm import OperatorNormClaim
from qreplace.errors import ProducerFailed
from qreplace.exact.rational import round_up
from qreplace.exact.roots import sqrt_bounds
from qreplace.exact.spectral import EXACT_ROWS, MAX_ROWS, at_most, products
from qreplace.question.matrices import NamedMatrix, named_matrix
from qreplace.question.subject import Subject

GAPS = (Fraction(0), Fraction(1, 10**9), Fraction(1, 10**6), Fraction(1, 10**4))
"""Tried above the norm, relative to it; the first that is shown is kept."""
Method = Literal["definite", "products"]
BITS = 40
"""Bounds are rounded up to this many bits below their size."""


def produce(
    subject: Subject,
    bits: int = 0,
    matrix: Literal["system", "target", "atom"] = "system",
    index: int = 0,
) -> OperatorNormClaim:
    """A claim within about 1e-9 of the norm; by products where the matrix is too large.

    Raises ``ProducerFailed`` when the question holds no such matrix.
    """
    found = named_matrix(subject, bits, matrix, index)
    if found is None:
        raise ProducerFailed(f"the question holds no matrix called {matrix} {index}")
    method, value = upper_bound(found)
    return OperatorNormClaim(
        format="qreplace/claim/operator_norm/v1",
        subject=subject.problem_digest(bits),
        code=bits,
        matrix=matrix,
        index=index,
        method=method,
        value=value,
    )


def upper_bound(matrix: NamedMatrix, max_rows: int = MAX_ROWS) -> tuple[Method, Fraction]:
    """A bound of a matrix's norm and how it is shown: by products beyond ``max_rows`` rows."""
    value = _definite(matrix, max_rows)
    if value is not None:
        return "definite", value
    return "products", _short(sqrt_bounds(products(matrix.rows, matrix.denominator))[1])


def _definite(matrix: NamedMatrix, max_rows: int) -> Fraction | None:
    """The smallest bound tried that is shown; ``None`` beyond ``max_rows`` rows."""
    if min(len(matrix.rows), len(matrix.rows[0])) > max_rows:
        return None
    estimate = _estimate(matrix)
    exact = min(len(matrix.rows), len(matrix.rows[0])) <= EXACT_ROWS
    candidates = [estimate.limit_denominator(1 << 20)] if exact else []
    candidates += [_short(estimate * (1 + gap)) for gap in GAPS]
    for value in candidates:
        if at_most(matrix.rows, matrix.denominator, value, max_rows):
            return value
    return None


def _estimate(matrix: NamedMatrix) -> Fraction:
    """The largest singular value in floats."""
    import numpy as np

    largest = max(1, *(abs(entry) for row in matrix.rows for entry in row))
    scaled = np.array([[entry / largest for entry in row] for row in matrix.rows])
    norm = float(np.linalg.norm(scaled, 2))
    return Fraction(norm) * Fraction(largest, matrix.denominator)


def _short(value: Fraction) -> Fraction:
    """Rounded up to ``BITS`` bits below its own size."""
    size = value.numerator.bit_length() - value.denominator.bit_length()
    return round_up(value, max(0, BITS - size))
