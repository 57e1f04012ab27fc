"""``net_floor``: the floor of a piecewise-affine system on a net of inputs (theory T7.11)."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

HALVE = -1
NEXT = -2


@dataclass(frozen=True, slots=True)
class NetLower:
    """Every relaxed control misses the target on the net by at least ``distance``.

    Over mixed Euler steps, ``steps`` of them. ``tree`` in preorder: ``HALVE`` halves the simplex of
    controls of the present step along its longest edge (the half with the lower vertex first),
    ``NEXT`` goes on to the next step, a number names the input of ``points`` at which every control
    that is left misses by at least ``distance``.
    """

    steps: int
    points: tuple[tuple[Fraction, ...], ...]
    distance: Fraction
    tree: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class NetUpper:
    """One control, ``weights[k]`` over its steps of equal length, and its error on the net.

    ``points`` are the net: every input lies within ``radius`` of one of them.
    """

    weights: tuple[tuple[Fraction, ...], ...]
    points: tuple[tuple[Fraction, ...], ...]
    radius: Fraction
    distance: Fraction


@dataclass(frozen=True, slots=True)
class NetFloorClaim:
    """``lower <= E_inf <= upper``, from finite distances and the error terms of QR Table 9."""

    format: Literal["qreplace/claim/net_floor/v1"]
    subject: str
    code: int
    lower: Fraction
    upper: Fraction | None
    below: NetLower | None
    above: NetUpper | None
