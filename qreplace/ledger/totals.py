"""B, L_z, m, V and eta_G of a described block, each with its formula and weakest label."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from qreplace.architecture.moe import Mixture
from qreplace.ledger.build import Ledger
from qreplace.premises import Evidence


@dataclass(frozen=True, slots=True)
class Total:
    """One result: its symbol, value, unit, formula and the weakest label it rests on."""

    name: str
    symbol: str
    value: Fraction
    unit: str
    formula: str
    evidence: Evidence


def totals_of(ledger: Ledger) -> tuple[Total, ...]:
    """The results of a ledger: those of the field, and what the events of a router need."""
    block = ledger.block
    size, error = ledger.evidence("size"), ledger.evidence("size", "error")
    varies = ledger.evidence("size", "variation")
    variation = block.time_variation() * ledger.request.atoms
    rate = block.state_lipschitz()
    return (
        Total("field_bound", "B", block.field_bound(), "norm/time",
              "|alpha| B_A + |beta| B_M (T10.4)", size),
        Total("state_lipschitz", "L_z", rate, "1/time",
              "|alpha| L_A L_N1 + |beta| L_M L_N2 (T10.1-T10.4)", size),
        Total("growth_rate", "m", rate, "1/time", "m = L_z (T3, notation)", size),
        Total("time_variation", "V", variation, "norm/time",
              "atoms (Var(alpha) B_A + Var(beta) B_M) (T3.1, T10.4)", varies),
        Total("field_error", "eta_G", block.field_error(), "norm/time",
              "|dalpha| B_A + |alpha_hat| eta_A + |dbeta| B_M + |beta_hat| eta_M (T10.4)", error),
        *_routing(ledger),
    )  # fmt: skip


def _routing(ledger: Ledger) -> tuple[Total, ...]:
    """Jump, slope and error of a gap, in units of the block's own state (theory T6.7)."""
    branch, tube = ledger.block.branches.get("experts"), ledger.block.tube
    if branch is None or not isinstance(branch.operator, Mixture):
        return ()
    mixture, ball = branch.operator, branch.ball(tube)
    slope = mixture.score_lipschitz * branch.norm.lipschitz(tube)
    error = mixture.scores_error(ball)
    jump = branch.scale * mixture.jump(ball.radius)
    size, both = ledger.evidence("size"), ledger.evidence("size", "error")
    return (
        Total("jump", "Delta_r", jump, "norm/time", "|beta| 2 B_E/k (T6.7)", size),
        Total("score_lipschitz", "L_s", slope, "score/norm", "L_s L_N2 (T6)", size),
        Total("score_error", "eta_s", error, "score", "L_s eta_N2 + eta_s (T6)", both),
        Total("gap_lipschitz", "L_r", 2 * slope, "score/norm", "2 L_s (T6.7)", size),
        Total("gap_error", "eta_r", 2 * error, "score", "2 eta_s (T6.7)", both),
    )
