"""Exact weights of switching, checked before anything runs (theory T2).

Weights are whole numbers over one denominator: one row that holds at every step, or one row a step.
They lie in an int64 array where the compiled rules have room, else in Python integers.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from qreplace.claims.relaxed_control import ControlPiece, PureSchedule, RelaxedControl
from qreplace.decision.controls import Shares, cell_averages
from qreplace.errors import InputError
from qreplace.exact.rational import format_rational
from qreplace.question.system import MAX_ATOMS
from qreplace.simulate.model import MAX_SIMULATED_DEPTH

Row = Sequence[Fraction | int]

MAX_ENTRIES = 16_000_000
"""Entries of weights that change from step to step."""
MAX_WORK = 1 << 32
"""Steps times atoms of a compiled run."""
MAX_PLAIN = 4_000_000
"""Steps times atoms, and entries of a control's averages, that run in Python."""
MAX_DENOMINATOR_BITS = 13_500
"""Of a common denominator: about as many digits as one number may have."""
MAX_LONG_BITS = 1 << 30
"""Entries times bits of weights that are too long for 64 bits."""

_SIMPLEX = "Write the weights as fractions, or let the last one be what is left."


@dataclass(frozen=True, eq=False)
class Weights:
    """Checked weights; made by ``weights_of``, ``whole_weights`` or ``control_weights``.

    One row is known for all times, past the depth too; of D rows nothing is known past the depth.
    """

    rows: Any
    """Numerators, (1, J) or (D, J): an int64 array, or tuples of integers too long for one."""
    denominator: int
    """N; every row sums to it."""
    depth: int
    """D, in steps."""

    @property
    def atoms(self) -> int:
        """J."""
        return len(self.rows[0])

    @property
    def constant(self) -> bool:
        """One row for every step."""
        return len(self.rows) == 1

    @property
    def fits(self) -> bool:
        """The compiled rules have room: see ``has_room``."""
        return has_room(self.atoms, self.denominator)

    def row(self, step: int) -> list[Fraction]:
        """The weights of a step, counted from 0."""
        own = self.rows[0 if self.constant else step]
        return [Fraction(int(n), self.denominator) for n in own]

    def shares(self) -> Shares:
        """The numerators of every step as Python integers; a constant row is held once."""
        rows = self.rows.tolist() if self.fits else self.rows
        return [rows[0]] * self.depth if self.constant else rows


def has_room(atoms: int, denominator: int) -> bool:
    """Whether ``8 J N`` is below 2^63: every number of ``switching_kernels`` then fits int64."""
    return 8 * atoms * denominator < 1 << 63


def weights_of(rows: Sequence[Row], depth: int | None = None) -> Weights:
    """Exact weights, checked: every row a point of the simplex.

    ``rows`` holds one row, for all ``depth`` steps, or one a step. Raises ``InputError`` for a row
    that misses the simplex by however little.
    """
    atoms = len(rows[0]) if len(rows) else 0
    steps = require_shape(len(rows), atoms, depth)
    common = 1
    for step, row in enumerate(rows):
        common = common_denominator(row, step, atoms, common)
    if not has_room(atoms, common):
        _require_short(len(rows) * atoms, common)
        return Weights(
            tuple(tuple(_numerators(row, step, common)) for step, row in enumerate(rows)),
            common,
            steps,
        )
    import numpy as np

    whole = np.empty((len(rows), atoms), dtype=np.int64)
    for step, row in enumerate(rows):
        whole[step] = _numerators(row, step, common)
    whole.flags.writeable = False
    return Weights(whole, common, steps)


def whole_weights(numerators: Any, denominator: int, depth: int | None = None) -> Weights:
    """Weights given as integers over one denominator, (D, J), (1, J) or (J,); copied.

    For many steps: no rational is built. Raises ``InputError`` as ``weights_of`` does, and where
    the denominator leaves no room in 64 bits.
    """
    import numpy as np

    given = np.asarray(numerators)
    if given.dtype.kind not in "iu":
        raise InputError(
            f"numerators have the type {given.dtype}; needed whole numbers of at most 64 bits",
            remedy="Multiply the weights by their common denominator, exactly.",
        )
    if given.ndim == 1:
        given = given[np.newaxis]
    if given.ndim != 2:
        raise InputError(f"numerators have {given.ndim} axes; needed steps by atoms")
    steps = require_shape(given.shape[0], given.shape[1], depth)
    if isinstance(denominator, bool) or not isinstance(denominator, int) or denominator < 1:
        raise InputError(f"the denominator is {denominator}; needed a whole number from 1")
    if not has_room(given.shape[1], denominator):
        raise InputError(
            f"{given.shape[1]} atoms over a denominator of {denominator.bit_length()} bits; "
            "needed 8 times their product below 2^63",
            remedy="Give the weights as fractions, or round them to a smaller denominator.",
        )
    outside = (given < 0) | (given > denominator)
    if outside.any():
        step, atom = (int(i) for i in np.argwhere(outside)[0])
        raise InputError(
            f"weight {atom} of row {step} is {given[step, atom]}/{denominator}; needed 0 to 1",
            remedy=_SIMPLEX,
        )
    whole = np.array(given, dtype=np.int64, order="C")
    totals = whole.sum(axis=1)
    wrong = np.flatnonzero(totals != denominator)
    if len(wrong):
        _refuse_sum(int(wrong[0]), Fraction(int(totals[wrong[0]]), denominator))
    whole.flags.writeable = False
    return Weights(whole, denominator, steps)


def control_weights(
    control: RelaxedControl | PureSchedule, atoms: int, horizon: Fraction, depth: int
) -> Weights:
    """The averages of a ``relaxed_control`` claim's control over ``depth`` equal cells, exactly.

    They are the weights of the mixed Euler scheme. Raises ``InputError`` for a control that does
    not cover ``[0, horizon]``, and for a pure schedule: it needs no switching.
    """
    if isinstance(control, PureSchedule):
        raise InputError("the claim holds a schedule already; there is nothing to switch")
    return piece_weights(control.pieces, atoms, horizon, depth)


def piece_weights(
    pieces: Sequence[ControlPiece], atoms: int, horizon: Fraction, depth: int
) -> Weights:
    """The same of the control's pieces alone."""
    require_shape(depth, atoms, None)
    if (depth + len(pieces)) * atoms > MAX_PLAIN:
        raise InputError(
            f"averages of {len(pieces)} pieces over {depth} cells of {atoms} atoms; needed "
            f"at most {MAX_PLAIN} entries"
        )
    ends = [Fraction(0), *(piece.end for piece in pieces)]
    if any(a >= b for a, b in itertools.pairwise(ends)) or ends[-1] != horizon:
        raise InputError("the control's pieces need ends that grow from 0 up to the horizon")
    if any(i >= atoms for piece in pieces for i in piece.weights.indices):
        raise InputError(f"the control mixes an atom that is not among the {atoms}")
    return weights_of(cell_averages(pieces, atoms, horizon, depth))


def require_shape(rows: int, atoms: int, depth: int | None) -> int:
    """The number of steps of so many rows; raises ``InputError`` where a limit is passed."""
    if not rows or not 1 <= atoms <= MAX_ATOMS:
        raise InputError(f"needed weights of 1 to {MAX_ATOMS} atoms, received {atoms}")
    steps = rows if depth is None else depth
    if not 1 <= steps <= MAX_SIMULATED_DEPTH:
        raise InputError(f"the depth is {steps}; needed 1 to {MAX_SIMULATED_DEPTH}")
    if rows not in (1, steps):
        raise InputError(f"{rows} rows of weights for {steps} steps; needed 1 or {steps}")
    if rows * atoms > MAX_ENTRIES:
        raise InputError(
            f"{rows} rows of {atoms} weights; needed at most {MAX_ENTRIES} weights",
            remedy="Weights that stay the same need one row.",
        )
    if steps * atoms > MAX_WORK:
        raise InputError(f"{steps} steps of {atoms} atoms; needed at most {MAX_WORK} in product")
    return steps


def require_simplex(row: Row, step: int, atoms: int) -> tuple[list[int], int]:
    """A row as numerators over its own denominator; raises ``InputError`` outside the simplex."""
    common = common_denominator(row, step, atoms, 1)
    return _numerators(row, step, common), common


def common_denominator(row: Row, step: int, atoms: int, common: int) -> int:
    """``common`` widened to a row's denominators; refuses what is no weight, or too long."""
    if len(row) != atoms:
        raise InputError(f"row {step} has {len(row)} weights; needed {atoms}")
    for atom, weight in enumerate(row):
        if not isinstance(weight, int | Fraction):
            raise InputError(
                f"weight {atom} of row {step} is of the type {type(weight).__name__}; needed an "
                "exact number",
                remedy="Write it as a fraction.",
            )
        if weight < 0:
            raise InputError(f"weight {atom} of row {step} is negative", remedy=_SIMPLEX)
        if common % weight.denominator:
            common = math.lcm(common, weight.denominator)
            if common.bit_length() > MAX_DENOMINATOR_BITS:
                raise InputError(
                    f"the weights up to row {step} have a common denominator of more than "
                    f"{MAX_DENOMINATOR_BITS} bits",
                    remedy="Round the weights to a smaller common denominator.",
                )
    return common


def _numerators(row: Row, step: int, common: int) -> list[int]:
    whole = [weight.numerator * (common // weight.denominator) for weight in row]
    total = sum(whole)
    if total != common:
        _refuse_sum(step, Fraction(total, common))
    return whole


def _refuse_sum(step: int, total: Fraction) -> None:
    text = format_rational(total)
    if len(text) > 80:
        excess = abs(total - 1)
        bits = excess.numerator.bit_length() - excess.denominator.bit_length()
        text = f"1 {'plus' if total > 1 else 'minus'} about 10^{round(bits * 0.30103)}"
    raise InputError(f"row {step} sums to {text}; needed exactly 1", remedy=_SIMPLEX)


def _require_short(entries: int, common: int) -> None:
    bits = common.bit_length()
    if entries * bits > MAX_LONG_BITS:
        raise InputError(
            f"{entries} weights over a denominator of {bits} bits; needed at most {MAX_LONG_BITS} "
            "bits in all",
            remedy="Round the weights to a smaller common denominator.",
        )
