"""The error terms of a ``net_floor`` bracket, one by one (QR Table 9, theory T7.11).

What the paper's algorithm would add for the same numbers stands beside each: it freezes the whole
field for a step and enumerates controls on a grid of the simplex.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import comb

from qreplace.check.net_floor import lower_walk, upper_net
from qreplace.check.piecewise import require_piecewise
from qreplace.claims.net_floor import NetFloorClaim
from qreplace.exact.rational import decimal_text
from qreplace.question.invariant_balls import phi_upper
from qreplace.question.subject import Subject

LARGEST_PHI = 64
LARGEST_GRID = 10**6


@dataclass(frozen=True, slots=True)
class LedgerRow:
    """One of the six steps: what it adds to the bracket, and what the paper's would.

    ``paper`` is None where the paper has no number for this claim.
    """

    step: int
    operation: str
    amount: Fraction
    paper: Fraction | None
    note: str


def ledger(subject: Subject, claim: NetFloorClaim) -> tuple[LedgerRow, ...]:
    """Six rows; the first five add up to the last, up to rounding and to a lower end clipped at 0.

    The terms are recomputed as the checker does, the distances are the claim's: check it first.
    Raises ``Rejected`` as the checker does.
    """
    problem = require_piecewise(subject, claim.code)
    covering = defect = spread = Fraction(0)
    steps = 1
    if claim.above is not None:
        net = upper_net(subject, problem, claim.above)
        covering, defect = net.covering, net.walk.steps.defect
        steps, spread = net.walk.steps.count, claim.above.distance
    if claim.below is not None:
        walk = lower_walk(subject, problem, claim.below)
        defect += walk.steps.defect
        steps, spread = walk.steps.count, spread - claim.below.distance
    width = (claim.upper or Fraction(0)) - claim.lower
    euler, grid, note = _paper(subject, claim, steps)
    return (
        LedgerRow(1, "inputs between the net's points", covering, covering, "2 K_y eta"),
        LedgerRow(2, "mixed steps", defect, euler, f"{steps} steps; the paper's is C_E / N_t"),
        LedgerRow(3, "controls between grid points", Fraction(0), grid, note),
        LedgerRow(
            4, "the target", Fraction(0), Fraction(0), "a finite composition, evaluated exactly"
        ),
        LedgerRow(5, "distances on the net", spread, None, "the control's less the tree's"),
        LedgerRow(6, "the bracket", width, None, "clipped at 0 below"),
    )


def _paper(
    subject: Subject, claim: NetFloorClaim, steps: int
) -> tuple[Fraction | None, Fraction | None, str]:
    """``C_E / N_t``, the grid's term at the Q that makes it as small, and what Q means."""
    plain = "branch and bound covers the whole simplex"
    constants = subject.piecewise_constants(claim.code)
    reach = constants.reach()
    lipschitz, horizon = constants.lipschitz, constants.horizon
    if reach is None or lipschitz * horizon > LARGEST_PHI:
        return None, None, plain
    bound, growth = constants.field_bound(reach), phi_upper(lipschitz, horizon)
    euler = lipschitz * bound * growth * horizon / (2 * steps)
    atoms = len(subject.piecewise(claim.code).fields)
    if atoms == 1 or not euler:
        return euler, Fraction(0), plain
    grid = 2 * bound * atoms * growth
    points = -(-grid // euler)
    if points > LARGEST_GRID:
        return euler, None, plain
    controls = comb(points + atoms - 1, atoms - 1)
    many = decimal_text(Fraction(controls), up=True, digits=3)
    note = f"{plain}; the paper's grid with Q = {points} has {many} controls to the power {steps}"
    return euler, grid / points, note
