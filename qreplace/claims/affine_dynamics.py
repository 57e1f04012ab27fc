"""``affine_dynamics``: support function and control of ``z' = A z + b_j(t)`` (T7.2, T3.6)."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from qreplace.claims.functional import Functional
from qreplace.claims.relaxed_control import ControlPiece


@dataclass(frozen=True, slots=True)
class DominantPiece:
    """Up to the time ``end`` atom ``atom`` is (nearly) the largest along the witness.

    What another atom exceeds it by is bounded and subtracted, so a wrong atom costs only width.
    """

    end: Fraction
    atom: int


@dataclass(frozen=True, slots=True)
class AffineDynamicsClaim:
    """``lower <= E_inf <= upper`` when ``depth`` is null, else ``lower <= E_depth`` (ideal).

    ``witness`` is lambda of the support function; ``dominant`` cuts ``[0, T]`` for its integral
    (empty at a depth, where the sum is formed as it is). ``control`` are piecewise-constant weights
    whose enclosed endpoint is within ``upper``; empty, with ``upper`` null, when none is claimed.
    """

    format: Literal["qreplace/claim/affine_dynamics/v1"]
    subject: str
    code: int
    depth: int | None
    witness: Functional
    dominant: tuple[DominantPiece, ...]
    control: tuple[ControlPiece, ...]
    lower: Fraction
    upper: Fraction | None
