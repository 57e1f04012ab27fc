"""Softmax attention: bound, Lipschitz constant and error in ``||.||_{2,inf}`` (theory T10.2).

Three facts sharpen the formulas of the digest without another premise. Rows of a softmax sum to 1,
so a change of the weights acts on the values less any common vector: the value bias drops out of
``B_V (eta_S + ..)``. A constant added to a row of scores changes no weight: without a rotary
encoding the key bias, the same for all keys, drops out everywhere. And a change of the weights is
never above 2 in l1, as ``2 tanh(eta_S/2)`` says.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from qreplace.architecture.chain import Ball, Link
from qreplace.architecture.linear import ZERO, Linear
from qreplace.architecture.rounding import root_below, root_sum_square, softmax_error, upper


@dataclass(frozen=True, slots=True)
class Head:
    """The three projections of one head."""

    query: Linear
    key: Linear
    value: Linear


@dataclass(frozen=True, slots=True)
class Attention:
    """``concat_h(softmax(Q_h K_h^T / sqrt(d_k)) V_h) W_O^T + b_O``, masked or not.

    ``score_error`` bounds the error of each computed score beside that of queries and keys,
    ``softmax_error`` the row-l1 error of the computed softmax, ``product_error`` the l2 error per
    token and head of the computed product with the values. ``rotary``: queries and keys are rotated
    by their positions, which keeps every norm.
    """

    heads: tuple[Head, ...]
    output: Linear
    key_width: int
    score_error: Fraction = ZERO
    softmax_error: Fraction = ZERO
    product_error: Fraction = ZERO
    rotary: bool = False

    def _key(self, head: Head) -> Linear:
        return head.key if self.rotary else head.key.without_bias()

    def bound(self, radius: Fraction) -> Fraction:
        """``||A(Z)||`` for ``||Z|| <= radius``: weights are convex, so a head is within ``B_V``."""
        concat = root_sum_square(head.value.bound(radius) for head in self.heads)
        return self.output.bound(concat)

    def lipschitz(self, radius: Fraction) -> Fraction:
        """A Lipschitz constant on the ball ``||Z|| <= radius``.

        Along a segment ``dZ_i = sum_j P_ij dV_j + Cov_P(dS_i, V)``. The values lie in a ball of
        radius ``||W_V|| R``, and ``dS_ij = (dq_i . k_j + q_i . dk_j)/sqrt(d_k)``, so a head has the
        constant ``||W_V|| + ||W_V|| R (||W_Q|| B_K + B_Q ||W_K||)/sqrt(d_k)``: that of the values,
        plus their spread times that of the scores.
        """
        own = root_sum_square(self._head_lipschitz(head, radius) for head in self.heads)
        return upper(self.output.norm * own)

    def score_lipschitz(self, head: Head, radius: Fraction) -> Fraction:
        """How fast a head's scores change, in the largest score per norm of the state."""
        key = self._key(head)
        rate = head.query.norm * key.bound(radius) + head.query.bound(radius) * key.norm
        return upper(rate / root_below(Fraction(self.key_width)))

    def _head_lipschitz(self, head: Head, radius: Fraction) -> Fraction:
        spread = head.value.norm * radius
        return upper(head.value.norm + spread * self.score_lipschitz(head, radius))

    def error(self, ball: Ball) -> tuple[Fraction, tuple[Link, ...]]:
        """``||A_hat(Z_hat) - A(Z)||`` for inputs as in ``ball``, and how it arises (theory T10.2).

        A head: ``(1 + eta_P) eta_V + ||W_V|| R min(eta_S, 2 tanh(eta_S/2)) + B_V eta_P`` and the
        product's rounding; heads by root sum of squares; then the output layer.
        """
        traced = [self._head_error(head, ball) for head in self.heads]
        concat = root_sum_square(links[-1].leaving for links in traced)
        radius = root_sum_square(head.value.bound(ball.radius) for head in self.heads)
        total = self.output.error(concat, radius, upper(radius + concat))
        links = [_largest(column) for column in zip(*traced, strict=True)]
        links.append(Link("output", concat, self.output.norm, total))
        return total, tuple(links)

    def _head_error(self, head: Head, ball: Ball) -> tuple[Link, ...]:
        radius, executed, distance = ball.radius, ball.executed_radius, ball.distance
        key = self._key(head)
        query_error = head.query.error(distance, radius, executed)
        key_error = key.error(distance, radius, executed)
        value_error = head.value.error(distance, radius, executed)
        query_bound, key_bound = head.query.bound(radius), key.bound(radius)
        crossed = query_error * key_bound + query_bound * key_error + query_error * key_error
        arriving = upper(crossed / root_below(Fraction(self.key_width)))
        scores = upper(arriving + self.score_error)
        weights = softmax_error(scores)
        spread = upper(head.value.norm * radius)
        mixed = (
            (1 + self.softmax_error) * value_error
            + spread * weights
            + head.value.bound(radius) * self.softmax_error
            + self.product_error
        )
        return (
            Link("query", distance, head.query.norm, query_error),
            Link("key", distance, key.norm, key_error),
            Link("value", distance, head.value.norm, value_error),
            Link("scores", arriving, Fraction(1), scores),
            Link("softmax", scores, Fraction(1), upper(weights + self.softmax_error)),
            Link("product", weights, spread, upper(mixed)),
        )

    def with_errors(self, component: str, factor: Fraction) -> Attention:
        """The operator whose ``component`` errs ``factor`` times as much."""
        if component == "output":
            return replace(self, output=self.output.with_errors(factor))
        if component in ("query", "key", "value"):
            heads = tuple(_head_with_errors(head, component, factor) for head in self.heads)
            return replace(self, heads=heads)
        name = {"scores": "score_error", "softmax": "softmax_error", "product": "product_error"}
        return replace(self, **{name[component]: getattr(self, name[component]) * factor})


def _head_with_errors(head: Head, component: str, factor: Fraction) -> Head:
    changed = {component: getattr(head, component).with_errors(factor)}
    return replace(head, **changed)


def _largest(column: tuple[Link, ...]) -> Link:
    return Link(
        column[0].component,
        max(link.arriving for link in column),
        max(link.constant for link in column),
        max(link.leaving for link in column),
    )
