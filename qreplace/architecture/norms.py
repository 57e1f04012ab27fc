"""LayerNorm and RMSNorm: bounds, Lipschitz constants, errors (theory T10.1).

LayerNorm is ``gamma * P x / s(x) + beta`` with ``s(x) = sqrt(||P x||^2/d + eps)``, ``P`` taking the
mean away; RMSNorm is the same with the identity for ``P``. Tokens are measured in l2.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

from qreplace.architecture.linear import ZERO
from qreplace.architecture.rounding import root_above, root_below, upper
from qreplace.errors import InputError

NormKind = Literal["layer_norm", "rms_norm", "none"]


@dataclass(frozen=True, slots=True)
class Tube:
    """Where a ledger holds: a convex set of states; ``None`` is no bound.

    ``radius``: every token has l2 norm at most this. ``lower_radius``: what a norm layer divides by
    (the centred token for LayerNorm, the token for RMSNorm) has l2 norm at least this.
    """

    radius: Fraction | None = None
    lower_radius: Fraction = ZERO

    def __post_init__(self) -> None:
        if self.radius is not None and self.lower_radius > self.radius:
            raise InputError(
                f"needed a lower radius of at most {self.radius}, received {self.lower_radius}",
                remedy="No token of the tube is that long.",
            )


@dataclass(frozen=True, slots=True)
class NormLayer:
    """A normalisation of tokens of ``width`` d, as intended and as executed.

    ``gamma`` is ``||gamma||_inf``, ``beta`` an l2 norm; ``arithmetic`` bounds the l2 error of the
    computed ``P x / s(x)``. Kind ``none`` is the identity.
    """

    kind: NormKind
    width: int
    epsilon: Fraction = ZERO
    gamma: Fraction = Fraction(1)
    beta: Fraction = ZERO
    gamma_error: Fraction = ZERO
    beta_error: Fraction = ZERO
    arithmetic: Fraction = ZERO

    def lipschitz(self, tube: Tube) -> Fraction:
        """``||gamma||_inf / sqrt(r^2/d + eps)`` between any two tokens of the tube (theory T10.1).

        With r = 0 it holds everywhere. Raises ``InputError`` where r and eps are both 0.
        """
        if self.kind == "none":
            return Fraction(1)
        return lipschitz_between(self.gamma, 2 * self._smallest_scale(tube))

    def bound(self, tube: Tube) -> Fraction:
        """``||N(x)|| <= ||gamma||_inf ||P x / s(x)|| + ||beta||``."""
        if self.kind == "none":
            return self.unit_bound(tube)
        return upper(self.gamma * self.unit_bound(tube) + self.beta)

    def unit_bound(self, tube: Tube) -> Fraction:
        """``||P x / s(x)||``: at most ``sqrt(d)``, and ``R/sqrt(R^2/d + eps)`` with a radius R.

        The latter grows with R, and ``||P x|| <= ||x||``. Raises ``InputError`` where there is no
        normalisation and no radius.
        """
        if self.kind == "none":
            if tube.radius is None:
                raise InputError(
                    "needed tube.radius: without a normalisation nothing bounds the tokens"
                )
            return tube.radius
        if tube.radius == 0:
            return ZERO
        squared = Fraction(self.width)
        if tube.radius is not None:
            squared = tube.radius**2 / (tube.radius**2 / self.width + self.epsilon)
        return root_above(squared)

    def error(self, tube: Tube) -> Fraction:
        """``||N_hat(x) - N(x)||`` at one state: ``gamma_hat * e + dgamma * P x / s(x) + dbeta``."""
        if self.kind == "none":
            return self.arithmetic
        executed = self.gamma + self.gamma_error
        unit = self.gamma_error * self.unit_bound(tube)
        return upper(executed * self.arithmetic + unit + self.beta_error)

    def executed_bound(self, tube: Tube) -> Fraction:
        """``||N_hat(x)||``: the bound and the error."""
        return upper(self.bound(tube) + self.error(tube))

    def with_errors(self, factor: Fraction) -> NormLayer:
        """The layer whose own errors are ``factor`` times as large."""
        return replace(
            self,
            gamma_error=self.gamma_error * factor,
            beta_error=self.beta_error * factor,
            arithmetic=self.arithmetic * factor,
        )

    def _smallest_scale(self, tube: Tube) -> Fraction:
        squared = tube.lower_radius**2 / self.width + self.epsilon
        if squared <= 0:
            raise InputError(
                "needed eps above 0 or a lower radius above 0: else a norm layer is not Lipschitz"
            )
        return root_below(squared)


def lipschitz_between(gamma: Fraction, scales: Fraction) -> Fraction:
    """``2 ||gamma||_inf / (s(x) + s(y))`` between two tokens (theory T10.1); ``scales`` the sum.

    It needs no segment between them. Proof: with ``p = P x / s(x)``, ``a = s(x)`` and q, b for y,
    ``a p - b q = (a + b)/2 (p - q) + (a - b)/2 (p + q)``, so ``||a p - b q||^2`` is at least
    ``((a + b)/2)^2 ||p - q||^2 + (a^2 - b^2)(||p||^2 - ||q||^2)/2``, whose last term is not
    negative: s and ``||p||`` both grow with ``||P x||``.
    """
    return upper(2 * gamma / scales)
