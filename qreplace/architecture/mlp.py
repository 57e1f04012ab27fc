"""MLPs, plain and gated: bound, Lipschitz constant and error (theory T10.3)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from qreplace.architecture.activations import Activation, largest_value, lipschitz
from qreplace.architecture.chain import Ball, Link
from qreplace.architecture.linear import ZERO, Linear
from qreplace.architecture.rounding import root_above, upper


@dataclass(frozen=True, slots=True)
class Mlp:
    """``W_2 act(u) + b_2`` with ``u = W_1 z + b_1``; gated, ``W_2 (act(W_g z + b_g) * u) + b_2``.

    ``activation_error`` bounds the l2 error per token of the computed hidden layer beside that of
    its inputs. ``hidden_width`` is the length of the hidden layer.
    """

    up: Linear
    down: Linear
    activation: Activation
    hidden_width: int
    gate: Linear | None = None
    activation_error: Fraction = ZERO

    def hidden_bound(self, radius: Fraction) -> Fraction:
        """l2 of the hidden layer for ``||z|| <= radius``.

        ``|act(x)| <= |x|``, and ``|act(x)| <= act(B)`` for ``|x| <= B`` at every one of the
        ``hidden_width`` places. Gated: ``||a * u||_2 <= ||a||_inf ||u||_2``, either way round.
        """
        up = self.up.bound(radius)
        if self.gate is None:
            spread = root_above(self.hidden_width * largest_value(self.activation, up) ** 2)
            return min(up, spread)
        gate = self.gate.bound(radius)
        return upper(largest_value(self.activation, gate) * up)

    def bound(self, radius: Fraction) -> Fraction:
        """``||M(z)||`` for ``||z|| <= radius``."""
        return self.down.bound(self.hidden_bound(radius))

    def lipschitz(self, radius: Fraction) -> Fraction:
        """A Lipschitz constant on ``||z|| <= radius``; without a gate it holds everywhere."""
        return upper(self.down.norm * self._hidden_lipschitz(radius))

    def _hidden_lipschitz(self, radius: Fraction) -> Fraction:
        slope = lipschitz(self.activation)
        if self.gate is None:
            return slope * self.up.norm
        gate = self.gate.bound(radius)
        steady = largest_value(self.activation, gate) * self.up.norm
        return steady + slope * self.gate.norm * self.up.bound(radius)

    def error(self, ball: Ball) -> tuple[Fraction, tuple[Link, ...]]:
        """``||M_hat(z_hat) - M(z)||`` for inputs in ``ball``, and how it arises (theory T10.3)."""
        links: list[Link] = []
        up = self.up.error(ball.distance, ball.radius, ball.executed_radius)
        links.append(Link("up", ball.distance, self.up.norm, up))
        slope = lipschitz(self.activation)
        if self.gate is None:
            constant, hidden = slope, slope * up
        else:
            gate = self.gate.error(ball.distance, ball.radius, ball.executed_radius)
            links.append(Link("gate", ball.distance, self.gate.norm, gate))
            constant, hidden = self._gated_error(ball, up, gate)
        hidden = upper(hidden + self.activation_error)
        links.append(Link("activation", max(link.leaving for link in links), constant, hidden))
        radius = self.hidden_bound(ball.radius)
        total = self.down.error(hidden, radius, upper(radius + hidden))
        links.append(Link("down", hidden, self.down.norm, total))
        return total, tuple(links)

    def _gated_error(self, ball: Ball, up: Fraction, gate: Fraction) -> tuple[Fraction, Fraction]:
        """``a_hat u_hat - a u = a (u_hat - u) + (a_hat - a) u_hat``, in l2 by l2 and linf."""
        if self.gate is None:
            return ZERO, ZERO
        steady = largest_value(self.activation, self.gate.bound(ball.radius))
        rising = lipschitz(self.activation) * (self.up.bound(ball.radius) + up)
        return upper(max(steady, rising)), upper(steady * up + rising * gate)

    def with_errors(self, component: str, factor: Fraction) -> Mlp:
        """The operator whose ``component`` errs ``factor`` times as much."""
        if component == "activation":
            return replace(self, activation_error=self.activation_error * factor)
        return replace(self, **{component: getattr(self, component).with_errors(factor)})
