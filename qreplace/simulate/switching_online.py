"""Switching while the future is unknown: one row of weights in, one atom out (theory T2.1)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from qreplace.errors import InputError
from qreplace.question.system import MAX_ATOMS
from qreplace.simulate.model import require_schedule
from qreplace.simulate.switching import Bounds, bounds_of
from qreplace.simulate.switching_weights import (
    MAX_DENOMINATOR_BITS,
    Row,
    Weights,
    require_simplex,
)


class OnlineSwitch:
    """The greedy rule, a step at a time; sum-up rounding is the same rule on equal steps.

    ``bounds`` hold after every step, those to come included, whatever the rows: T2.1's. T2.2's do
    not: Tijdeman's rule needs the weights in advance.
    """

    def __init__(self, atoms: int) -> None:
        if not 1 <= atoms <= MAX_ATOMS:
            raise InputError(f"needed 1 to {MAX_ATOMS} atoms, received {atoms}")
        self.steps = 0
        """Steps so far."""
        self.bounds = bounds_of("greedy", atoms)
        self._unit = 1
        self._balance = [0] * atoms

    @classmethod
    def after(cls, weights: Weights, schedule: Sequence[int]) -> OnlineSwitch:
        """Start after a prefix that ran ``schedule`` on ``weights``, by whatever rule.

        Where the balances that it left are worse than the greedy rule's own, ``bounds`` say so: see
        ``bounds_from``.
        """
        if len(schedule) != weights.depth:
            raise InputError(f"a prefix of {len(schedule)} steps for weights of {weights.depth}")
        require_schedule(schedule, weights.atoms)
        made = cls(weights.atoms)
        made.steps, made._unit = weights.depth, weights.denominator
        if weights.constant:
            made._balance = [weights.depth * int(n) for n in weights.rows[0]]
        else:
            made._balance = [sum(column) for column in zip(*weights.shares(), strict=True)]
        for pick in schedule:
            made._balance[pick] -= weights.denominator
        made.bounds = bounds_from(made.balance)
        return made

    @property
    def balance(self) -> list[Fraction]:
        """``P_j - n_j`` so far, exactly."""
        return [Fraction(own, self._unit) for own in self._balance]

    def push(self, row: Row) -> int:
        """The atom of the next step.

        Raises ``InputError``, and changes nothing, for a row outside the simplex or one whose
        denominators have outgrown ``MAX_DENOMINATOR_BITS`` together with those before.
        """
        whole, own = require_simplex(row, self.steps, len(self._balance))
        unit = math.lcm(self._unit, own)
        if unit.bit_length() > MAX_DENOMINATOR_BITS:
            raise InputError(
                f"the weights up to row {self.steps} have a common denominator of more than "
                f"{MAX_DENOMINATOR_BITS} bits",
                remedy="Round the weights to a smaller common denominator.",
            )
        grown, scale = unit // self._unit, unit // own
        balance = [b * grown + w * scale for b, w in zip(self._balance, whole, strict=True)]
        pick = max(range(len(balance)), key=lambda j: (balance[j], -j))
        balance[pick] -= unit
        self._unit, self._balance = unit, balance
        self.steps += 1
        return pick


def bounds_from(balance: Sequence[Fraction]) -> Bounds:
    """What the greedy rule keeps every later prefix within, started at any balances of sum 0.

    Let ``S_m`` be the sum of the m largest balances at the start. The sum of any i balances never
    passes ``max_{m >= i} i (S_m / m + H_m - H_i)``, and no balance falls below the lower of its
    start and ``-(1 - 1/J)``. Proof as T2.1's: if the picked atom is among the i, their sum can't
    grow; else, before the pick is taken off, it is at most ``i / (i + 1)`` of the sum with the
    picked one, which is at most 1 more than the bound for ``i + 1``; induction from ``S_J = 0``.
    Started at 0, or after the greedy rule's own steps, it is T2.1 or better.
    """
    atoms = len(balance)
    ordered = sorted(balance, reverse=True)
    sums = [Fraction(0)]
    for own in ordered:
        sums.append(sums[-1] + own)
    largest = half = Fraction(0)
    # best = max_{m >= i} (S_m / m + H_m - H_i)
    best = sums[atoms] / atoms
    for i in range(atoms - 1, 0, -1):
        best = max(best + Fraction(1, i + 1), sums[i] / i)
        largest, half = best, max(half, i * best)
    lowest = max(-ordered[-1], 1 - Fraction(1, atoms))
    return Bounds(
        max(largest, lowest) if atoms > 1 else Fraction(0),
        half,
        "T2.1 from the balances at its start: max_m (S_m / m + H_m) - 1",
        "T2.1 from the balances at its start: max_{m >= i} i (S_m / m + H_m - H_i)",
        False,
        None,
    )
