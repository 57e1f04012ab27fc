"""``relaxed_control``: the endpoint of one explicit control, exact or enclosed (theory T7.8)."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from qreplace.claims.functional import SparseVector


@dataclass(frozen=True, slots=True)
class ControlPiece:
    """Constant mixing weights up to the time ``end``; a point of the simplex, one entry an atom."""

    end: Fraction
    weights: SparseVector


@dataclass(frozen=True, slots=True)
class RelaxedControl:
    """Piecewise-constant weights on ``[0, T]``: an upper end of E_inf.

    Piece ``p`` is integrated in ``steps[p]`` equal validated Taylor steps of order ``order``.
    """

    kind: Literal["relaxed"]
    pieces: tuple[ControlPiece, ...]
    steps: tuple[int, ...]
    order: int


@dataclass(frozen=True, slots=True)
class PureSchedule:
    """One atom a step, in ``runs`` of ``(atom, repetitions)``: an upper end of the ideal error.

    The depth is the number of steps; the Euler steps are enclosed, not approximated.
    """

    kind: Literal["schedule"]
    runs: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class RelaxedControlClaim:
    """The error of one control is at most ``upper``."""

    format: Literal["qreplace/claim/relaxed_control/v1"]
    subject: str
    code: int
    control: RelaxedControl | PureSchedule
    upper: Fraction
