"""The ideal run beside an executed one: exact, or enclosed where exact numbers would explode."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

from qreplace.simulate.fields import exact_field, linf_constants
from qreplace.simulate.model import System

EXACT_STEPS = 48
"""Steps up to which the states of a state-dependent field are kept exactly."""
GUARD_BITS = 192
"""An enclosure's own width is about 2 to the minus this many bits, whatever the growth."""


def ideal_states(
    system: System, schedule: Sequence[int]
) -> Iterator[tuple[list[Fraction], Fraction]]:
    """The ideal state after 0, 1, 2, .. steps, and how far it may be, linf, from the exact one.

    Euler states of a field that reads the state have denominators that grow with every step; past
    ``EXACT_STEPS`` each step is rounded to a fixed point fine enough that what that loses, carried
    on with the Lipschitz constant of a step, stays far below anything that is compared.
    """
    step = system.horizon / len(schedule)
    kappa = linf_constants(system, step)[1]
    free = all(atom.matrix is None and atom.inner is None for atom in system.atoms)
    exact = free or len(schedule) <= EXACT_STEPS
    bits = GUARD_BITS + _growth_bits(kappa, len(schedule))
    unit = 1 << bits
    state, radius = list(system.initial), Fraction(0)
    yield state, radius
    for pick in schedule:
        field = exact_field(system.atoms[pick], state)
        state = [z + step * g for z, g in zip(state, field, strict=True)]
        if not exact:
            state = [Fraction(round(z * unit), unit) for z in state]
            radius = _rounded_up(kappa * radius + Fraction(1, unit), bits)
        yield state, radius


def _growth_bits(kappa: Fraction, depth: int) -> int:
    """At least ``log2(kappa^depth)``: a step of factor 1 + x has at most ``3 x / 2`` bits."""
    extra = max(Fraction(0), kappa - 1)
    return int(depth * min(extra * 3 / 2, Fraction(kappa.numerator.bit_length()))) + 1


def _rounded_up(value: Fraction, bits: int) -> Fraction:
    return Fraction(-((-value.numerator << bits) // value.denominator), 1 << bits)
