"""``compositional``: local value functions and a coupling budget (theory T7.5)."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from qreplace.claims.region import BoxPart
from qreplace.claims.sums_of_squares import Combination
from qreplace.exact.polynomial import Polynomial


@dataclass(frozen=True, slots=True)
class Block:
    """One block: coordinates ``i``, local value function and its proofs, in its own variables.

    Every polynomial here is in ``t`` and the block's coordinates, in their order. ``local[j]`` is
    ``g_ij``, one polynomial a coordinate; what the atom's field has beyond it is the coupling
    ``c_ij``. ``flow[j]`` proves ``d_t v_i + grad v_i . g_ij >= 0``, ``terminal`` that
    ``phi_i - v_i(T, .) >= 0``; constraint 0 is ``t (T - t)``, constraint ``k`` the box of the
    block's ``k``-th coordinate. ``coupling[l]`` is a budget: over all atoms and the whole box the
    part of ``grad v_i . c_ij`` that is due to block ``l`` is at least ``-coupling[l]``; a monomial
    of ``c_ij`` is due to the first other block it has coordinates of, else to the block itself.
    """

    coordinates: tuple[int, ...]
    weights: tuple[Fraction, ...]
    value_function: Polynomial
    local: tuple[tuple[Polynomial, ...], ...]
    flow: tuple[Combination, ...]
    terminal: Combination
    coupling: tuple[Fraction, ...]


@dataclass(frozen=True, slots=True)
class CompositionalClaim:
    """``E_inf^2 >= sum of v_i(0, z_i0) - T * sum of all coupling budgets``, at least ``lower^2``.

    ``tube`` is a box over all coordinates that every trajectory keeps to.
    """

    format: Literal["qreplace/claim/compositional/v1"]
    subject: str
    code: int
    tube: BoxPart
    blocks: tuple[Block, ...]
    lower: Fraction
