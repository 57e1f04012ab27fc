"""Weighted mixtures of experts: constants between route changes, and at one (theory T6.7)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

from qreplace.architecture.chain import Ball, Link
from qreplace.architecture.linear import ZERO
from qreplace.architecture.mlp import Mlp
from qreplace.architecture.rounding import softmax_error, upper

Gating = Literal["one_hot", "uniform", "softmax"]


@dataclass(frozen=True, slots=True)
class StatedExpert:
    """Bounds that hold for every expert on every input of the tube."""

    own_bound: Fraction
    own_lipschitz: Fraction
    own_error: Fraction = ZERO

    def bound(self, radius: Fraction) -> Fraction:
        """``B_E``, whatever the radius."""
        return self.own_bound

    def lipschitz(self, radius: Fraction) -> Fraction:
        """``L_E``, whatever the radius."""
        return self.own_lipschitz

    def error(self, ball: Ball) -> tuple[Fraction, tuple[Link, ...]]:
        """``eta_E`` and ``L_E`` times the distance of the inputs."""
        total = upper(self.own_lipschitz * ball.distance + self.own_error)
        return total, (Link("expert", ball.distance, self.own_lipschitz, total),)

    def with_errors(self, component: str, factor: Fraction) -> StatedExpert:
        """The experts that err ``factor`` times as much."""
        return replace(self, own_error=self.own_error * factor)


@dataclass(frozen=True, slots=True)
class Mixture:
    """``sum_e pi_e(z) E_e(z)`` over the ``active`` experts of highest score (theory T6.7).

    Weights are not negative and sum to 1, executed ones too. ``gating``: ``one_hot`` (one active),
    ``uniform`` (each 1/k), or ``softmax`` of the active scores. ``score_lipschitz`` is L_s in the
    largest score per norm of z; eta_s is ``score_error`` plus ``score_growth`` times the norm of
    the executed z; ``weight_error`` is the l1 error of computing the weights from the scores.
    ``expert`` bounds every expert.
    """

    expert: Mlp | StatedExpert
    gating: Gating
    active: int
    score_lipschitz: Fraction
    score_error: Fraction = ZERO
    weight_error: Fraction = ZERO
    score_growth: Fraction = ZERO

    @property
    def weight_lipschitz(self) -> Fraction:
        """``L_pi`` while the active experts stay the same: a softmax has that of its scores."""
        return self.score_lipschitz if self.gating == "softmax" else ZERO

    def bound(self, radius: Fraction) -> Fraction:
        """``B_E``: weights are convex."""
        return self.expert.bound(radius)

    def lipschitz(self, radius: Fraction) -> Fraction:
        """``L_E + B_E L_pi`` between route changes."""
        weights = self.expert.bound(radius) * self.weight_lipschitz
        return upper(self.expert.lipschitz(radius) + weights)

    def error(self, ball: Ball) -> tuple[Fraction, tuple[Link, ...]]:
        """``eta_E + B_E eta_pi`` while both follow the same route, and how it arises."""
        own, links = self.expert.error(ball)
        scores = self.scores_error(ball)
        changed = softmax_error(scores) if self.gating == "softmax" else ZERO
        weights = upper(changed + self.weight_error)
        total = upper(own + self.expert.bound(ball.radius) * weights)
        links = (
            *links,
            Link("scores", ball.distance, self.score_lipschitz, scores),
            Link("weights", changed, self.expert.bound(ball.radius), total),
        )
        return total, links

    def scores_error(self, ball: Ball) -> Fraction:
        """The largest error of a score for inputs as in ``ball``, in units of a score."""
        own = self.score_error + self.score_growth * ball.executed_radius
        return upper(self.score_lipschitz * ball.distance + own)

    def jump(self, radius: Fraction) -> Fraction:
        """``Delta_r``: B_E times the l1 jump of the weights when two experts of equal score swap.

        Both have the least active score, so a weight of at most 1/k moves: ``2/k``.
        """
        return upper(self.bound(radius) * Fraction(2, self.active))

    def with_errors(self, component: str, factor: Fraction) -> Mixture:
        """The operator whose ``component`` errs ``factor`` times as much."""
        if component == "scores":
            return replace(
                self,
                score_error=self.score_error * factor,
                score_growth=self.score_growth * factor,
            )
        if component == "weights":
            return replace(self, weight_error=self.weight_error * factor)
        return replace(self, expert=self.expert.with_errors(component, factor))
