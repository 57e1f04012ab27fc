"""What passes through a component: one row of a ledger's table."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True, slots=True)
class Link:
    """A component of the block: the error that arrives, its constant, the error that leaves.

    ``leaving`` holds the component's own error besides. Where a block has several heads, the
    largest of each number is given. Units: the norm of a token, but scores and row sums of softmax
    weights for ``scores`` and ``softmax``.
    """

    component: str
    arriving: Fraction
    constant: Fraction
    leaving: Fraction


@dataclass(frozen=True, slots=True)
class Ball:
    """What an operator is fed: radii of its intended and executed input, and their distance."""

    radius: Fraction
    executed_radius: Fraction
    distance: Fraction
