"""``operator_norm``: an upper bound of a matrix's l2 operator norm (theory T10.5)."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal


@dataclass(frozen=True, slots=True)
class OperatorNormClaim:
    """``||W||_2 <= value`` for a matrix that the question names.

    ``matrix``: ``system`` is A of affine dynamics, rate included; ``target`` the target's weights;
    ``atom`` the weights of atom ``index`` (0 for the others). ``method``: ``definite`` shows that
    ``value^2 I - W^T W`` is positive semidefinite, ``products`` that
    ``value^2 >= ||W||_1 ||W||_inf``.
    """

    format: Literal["qreplace/claim/operator_norm/v1"]
    subject: str
    code: int
    matrix: Literal["system", "target", "atom"]
    index: int
    method: Literal["definite", "products"]
    value: Fraction
