"""One norm for a whole ledger: what a number in another norm has to be multiplied by.

A ledger measures states in ``||X||_{2,inf}``, so vectors in l2 and matrices in the l2 operator
norm. A number in another norm is refused, and the message offers the factor that makes it a valid
bound (theory, *Norms*).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from qreplace.architecture.rounding import root_above
from qreplace.exact.rational import decimal_text
from qreplace.spec.findings import Finding, Location, needed


@dataclass(frozen=True, slots=True)
class Operator:
    """A matrix from ``columns`` to ``rows`` coordinates."""

    rows: int
    columns: int


@dataclass(frozen=True, slots=True)
class Token:
    """A vector of so many coordinates, one token's."""

    width: int


@dataclass(frozen=True, slots=True)
class Entrywise:
    """The largest entry of a vector, as a gain gamma acts."""


@dataclass(frozen=True, slots=True)
class Slope:
    """A Lipschitz constant of a map of states of so many tokens."""

    tokens: int | None


Measured = Operator | Token | Entrywise | Slope | None
"""What a number measures; ``None`` for a plain number (a score, a row sum, a scale)."""


def factor(measured: Measured, norm: str) -> Fraction | None:
    """What a bound in ``norm`` is multiplied by to hold in the ledger's; ``None`` if unknown.

    Operators: ``||W||_2 <= sqrt(rows) ||W||_inf``, ``<= sqrt(columns) ||W||_1``, ``<= ||W||_F``,
    ``<= sqrt(rows columns) max |W_ij|``. Vectors: ``||x||_2 <= sqrt(width) ||x||_inf``,
    ``<= ||x||_1``, and a token is within the Frobenius norm of all. Slopes in Frobenius norm lose
    ``sqrt(tokens)``.
    """
    match measured:
        case Operator(rows, columns):
            squares = {
                "linf": rows, "l1": columns, "frobenius": 1, "largest_entry": rows * columns,
            }  # fmt: skip
        case Token(width):
            squares = {
                "linf": width, "largest_entry": width, "l1": 1, "frobenius": 1,
                "token_frobenius": 1,
            }  # fmt: skip
        case Entrywise():
            squares = {"l2": 1, "l1": 1, "frobenius": 1}
        case Slope(tokens) if tokens is not None:
            squares = {"token_frobenius": tokens, "frobenius": tokens}
        case _:
            return None
    return root_above(Fraction(squares[norm])) if norm in squares else None


def own_norms(measured: Measured) -> tuple[str, ...]:
    """The names under which a number is in the ledger's norm."""
    match measured:
        case Operator():
            return ("l2", "token_l2_inf")
        case Token() | Slope():
            return ("token_l2_inf", "l2")
        case Entrywise():
            return ("linf", "largest_entry")
    return ()


_WANTED: dict[type, str] = {
    Operator: "the l2 operator norm",
    Token: "the l2 norm of a token (token_l2_inf)",
    Entrywise: "the largest entry (linf)",
    Slope: "the norm token_l2_inf",
}


def norm_finding(
    location: Location, measured: Measured, norm: str | None, value: Fraction
) -> Finding | None:
    """The finding for a number in another norm, with its factor; ``None`` where it is the same."""
    if norm is None or norm in own_norms(measured):
        return None
    if measured is None:
        message = needed("a number without a norm", norm, "It is not measured in one.")
        return Finding((*location, "norm"), message, "norm")
    wanted = _WANTED[type(measured)]
    known = factor(measured, norm)
    if known is None:
        remedy = "No factor is known here; state the number in the ledger's norm."
        if isinstance(measured, Slope):
            remedy = "State tokens: a Frobenius slope is multiplied by the root of their number."
    else:
        times = decimal_text(known, up=True, digits=7)
        scaled = decimal_text(known * value, up=True, digits=7)
        remedy = f"Multiply by {times} (rounded up): the bound is then {scaled}."
    return Finding((*location, "norm"), needed(wanted, norm, remedy), "norm")
