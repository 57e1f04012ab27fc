"""``net_floor``: the floor of a piecewise-affine system on a net of inputs (theory T7.11)."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal


@dataclass(frozen=True, slots=True)
class NetFunctional:
    """A functional of the outputs at some inputs: ``values[i]`` weighs those at ``points[i]``."""

    points: tuple[int, ...]
    values: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class NetLower:
    """Every relaxed control misses the target at some of the ``points`` by at least ``distance``.

    Over ``steps`` mixed steps. ``tree`` in preorder: a negative number ``-1 - k`` halves the
    simplex of controls of step k along its longest edge (the half with the edge's lower vertex
    first), any other names the functional that separates the target from every control of the
    cells left.
    """

    steps: int
    points: tuple[tuple[Fraction, ...], ...]
    functionals: tuple[NetFunctional, ...]
    distance: Fraction
    tree: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class NetUpper:
    """One control and its largest error on the net.

    ``weights[k]`` are the control's on the k-th of as many intervals of equal length; each takes
    ``repeats`` mixed steps. The net are the middles of ``cells[i]`` equal parts of the region's box
    along each input, without those that miss the region; with no ``cells``, the witnesses.
    """

    weights: tuple[tuple[Fraction, ...], ...]
    repeats: int
    cells: tuple[int, ...]
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
