"""A linear layer, as intended and as executed: bounds and errors (theory T10.3)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from qreplace.architecture.rounding import upper

ZERO = Fraction(0)


@dataclass(frozen=True, slots=True)
class Linear:
    """``z -> W z + b`` and its executed form ``W_hat z + b_hat``, computed with a small error.

    Operator norms are l2, so they act on every token alike; biases and errors are l2 norms of a
    token. ``executed`` is ``||W_hat||``, at most ``norm + difference`` whatever is given.
    """

    norm: Fraction
    """``||W||``."""
    difference: Fraction = ZERO
    """``||W_hat - W||``."""
    executed: Fraction | None = None
    bias: Fraction = ZERO
    bias_error: Fraction = ZERO
    arithmetic: Fraction = ZERO
    """Error of computing ``W_hat z + b_hat`` for one token, at most."""

    @property
    def executed_norm(self) -> Fraction:
        """``||W_hat||``: the smaller of what is given and ``||W|| + ||W_hat - W||``."""
        known = self.norm + self.difference
        return known if self.executed is None else min(known, self.executed)

    def bound(self, radius: Fraction) -> Fraction:
        """``||W z + b||`` for ``||z|| <= radius``."""
        return upper(self.norm * radius + self.bias)

    def error(self, arriving: Fraction, radius: Fraction, executed_radius: Fraction) -> Fraction:
        """``||W_hat z_hat + b_hat - (W z + b)||`` as computed (theory T10.3).

        ``||z_hat - z|| <= arriving``, ``||z|| <= radius`` and ``||z_hat|| <= executed_radius``: the
        smaller of ``||W|| arriving + ||dW|| executed_radius`` and
        ``||W_hat|| arriving + ||dW|| radius``, and the errors of bias and arithmetic.
        """
        first = self.norm * arriving + self.difference * executed_radius
        second = self.executed_norm * arriving + self.difference * radius
        return upper(min(first, second) + self.bias_error + self.arithmetic)

    def with_errors(self, factor: Fraction) -> Linear:
        """The layer whose own errors are ``factor`` (in [0, 1]) times as large.

        Its weights lie between W and ``W_hat``, so their norm is at most the mean of the two norms
        with these weights.
        """
        return replace(
            self,
            difference=self.difference * factor,
            executed=(1 - factor) * self.norm + factor * self.executed_norm,
            bias_error=self.bias_error * factor,
            arithmetic=self.arithmetic * factor,
        )

    def without_bias(self) -> Linear:
        """The linear part alone."""
        return replace(self, bias=ZERO, bias_error=ZERO)
