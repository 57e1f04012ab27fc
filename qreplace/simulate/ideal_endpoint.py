"""The end of an ideal run of affine atoms, in whole numbers: many steps, no path kept.

``ideal.ideal_states`` is the reference, for every field and state by state.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from qreplace.simulate.fields import linf_constants
from qreplace.simulate.ideal import ideal_states
from qreplace.simulate.model import Atom, System, Vector

GUARD_BITS = 192


@dataclass(frozen=True, slots=True)
class IdealEnd:
    """Where an ideal run ends, and how far it got."""

    state: Vector
    radius: Fraction
    """Linf distance, at most, of the exact endpoint from ``state``."""
    reach: Fraction
    """At least the largest ``|z_i|`` along the run."""


def ideal_end(system: System, schedule: Sequence[int]) -> IdealEnd:
    """The ideal endpoint of a schedule, enclosed.

    States are whole numbers of ``2**-bits``; each step is rounded down once a coordinate, and what
    that loses grows by at most ``kappa = ||I + h A||`` a step afterwards. ``bits`` leaves room for
    ``kappa^D``, whose logarithm to base 2 is at most ``3/2 D (kappa - 1)``.
    """
    if any(atom.inner is not None for atom in system.atoms):
        return _by_states(system, schedule)
    depth = len(schedule)
    step = system.horizon / depth
    kappa = linf_constants(system, step)[1]
    bits = GUARD_BITS + math.ceil(Fraction(3, 2) * depth * max(kappa - 1, Fraction(0)))
    moves = [_move(atom, step, bits) for atom in system.atoms]
    state = [(z.numerator << bits) // z.denominator for z in system.initial]
    slack = 0 if all(z.denominator == 1 for z in system.initial) else 1
    low, high = min(state), max(state)
    for pick in schedule:
        rows, offset, denominator = moves[pick]
        state = [
            z + (sum([a * state[k] for k, a in row]) + b) // denominator
            for z, row, b in zip(state, rows, offset, strict=True)
        ]
        slack = -(-kappa.numerator * slack // kappa.denominator) + 1
        low, high = min(low, *state), max(high, *state)
    unit = 1 << bits
    reach = Fraction(max(abs(low), abs(high)) + slack, unit)  # the slack never shrinks
    return IdealEnd(tuple(Fraction(z, unit) for z in state), Fraction(slack, unit), reach)


def _by_states(system: System, schedule: Sequence[int]) -> IdealEnd:
    state, radius, reach = list(system.initial), Fraction(0), Fraction(0)
    for state, radius in ideal_states(system, schedule):
        reach = max(reach, max(map(abs, state)) + radius)
    return IdealEnd(tuple(state), radius, reach)


def _move(
    atom: Atom, step: Fraction, bits: int
) -> tuple[list[list[tuple[int, int]]], list[int], int]:
    """``h A`` row by row without its zeros and ``h b``, over one denominator; b in the unit."""
    q = len(atom.offset)
    scaled = [[step * a for a in row] for row in atom.matrix or ()]
    forcing = [step * b for b in atom.offset]
    denominator = math.lcm(
        *(a.denominator for row in scaled for a in row), *(b.denominator for b in forcing)
    )
    rows = [[(k, int(a * denominator)) for k, a in enumerate(row) if a] for row in scaled]
    offset = [int(b * denominator) << bits for b in forcing]
    return rows or [[] for _ in range(q)], offset, denominator
