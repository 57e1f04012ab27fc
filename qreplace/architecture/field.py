"""The field of a pre-norm block: B, L_z, V and eta_G on a tube (theory T10.4).

``G(t, X) = alpha(t) A(N_1(X)) + beta(t) M(N_2(X))``, each term a ``Branch``; a block may have one
of them only, and M may be a mixture of experts. The norm is ``||X||_{2,inf}``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

from qreplace.architecture.attention import Attention
from qreplace.architecture.chain import Ball, Link
from qreplace.architecture.linear import ZERO
from qreplace.architecture.mlp import Mlp
from qreplace.architecture.moe import Mixture
from qreplace.architecture.norms import NormLayer, Tube
from qreplace.architecture.rounding import upper

Operator = Attention | Mlp | Mixture


@dataclass(frozen=True, slots=True)
class Branch:
    """``scale(t) * operator(norm(X))``.

    ``scale`` bounds ``|alpha(t)|``, ``scale_error`` the error of the executed one at each step,
    ``scale_variation`` is the total variation of alpha over the horizon.
    """

    operator: Operator
    norm: NormLayer
    scale: Fraction = Fraction(1)
    scale_error: Fraction = ZERO
    scale_variation: Fraction = ZERO

    def ball(self, tube: Tube, *, same_input: bool = False) -> Ball:
        """What the operator is fed: intended and executed normalised tokens.

        ``same_input`` gives both the executed one, as the supremum ``eta_A`` of T10.4 needs.
        """
        radius, error = self.norm.bound(tube), self.norm.error(tube)
        executed = upper(radius + error)
        if same_input:
            return Ball(executed, executed, ZERO)
        return Ball(radius, executed, error)

    def bound(self, tube: Tube) -> Fraction:
        """``|alpha| B_A``."""
        return upper(self.scale * self.operator.bound(self.norm.bound(tube)))

    def lipschitz(self, tube: Tube) -> Fraction:
        """``|alpha| L_A L_N``."""
        inner = self.norm.lipschitz(tube) * self.operator.lipschitz(self.norm.bound(tube))
        return upper(self.scale * inner)

    def variation(self, tube: Tube) -> Fraction:
        """The total variation in time, ``Var(alpha) B_A``."""
        return upper(self.scale_variation * self.operator.bound(self.norm.bound(tube)))

    def error(self, tube: Tube) -> tuple[Fraction, tuple[Link, ...]]:
        """``||alpha_hat A_hat(N_hat(X)) - alpha A(N(X))||`` at one state, and how it arises.

        ``|alpha_hat|`` times the smaller of the error carried through every component and
        ``L_A eta_N + eta_A`` (theory T10.4), and ``|d alpha| B_A``.
        """
        ball = self.ball(tube)
        carried, links = self.operator.error(ball)
        inner = min(carried, self.separate_error(tube))
        executed = self.scale + self.scale_error
        lost = self.scale_error * self.operator.bound(ball.radius)
        total = upper(executed * inner + lost)
        return total, (
            Link("norm", ZERO, self.norm.lipschitz(tube), ball.distance),
            *links,
            Link("scale", inner, executed, total),
        )

    def separate_error(self, tube: Tube) -> Fraction:
        """``L_A eta_N + eta_A``, with ``eta_A`` over all executed inputs (theory T10.4)."""
        ball = self.ball(tube)
        own, _ = self.operator.error(self.ball(tube, same_input=True))
        return upper(self.operator.lipschitz(ball.executed_radius) * ball.distance + own)

    def with_errors(self, component: str, factor: Fraction) -> Branch:
        """The branch whose ``component`` errs ``factor`` times as much."""
        if component == "scale":
            return replace(self, scale_error=self.scale_error * factor)
        if component == "norm":
            return replace(self, norm=self.norm.with_errors(factor))
        return replace(self, operator=self.operator.with_errors(component, factor))


@dataclass(frozen=True, slots=True)
class TransformerBlock:
    """The branches of a block by name, on a tube; all bounds hold there."""

    branches: Mapping[str, Branch]
    tube: Tube

    def field_bound(self) -> Fraction:
        """``B``: ``||G|| <= sum |scale| B_operator``."""
        return upper(sum((b.bound(self.tube) for b in self.branches.values()), ZERO))

    def state_lipschitz(self) -> Fraction:
        """``L_z``, which also serves as the growth rate m (theory, notation)."""
        return upper(sum((b.lipschitz(self.tube) for b in self.branches.values()), ZERO))

    def time_variation(self) -> Fraction:
        """The total variation in time of this one field."""
        return upper(sum((b.variation(self.tube) for b in self.branches.values()), ZERO))

    def field_error(self) -> Fraction:
        """``eta_G``: ``||G_hat(X) - G(X)||`` at one state of the tube (theory T10.4)."""
        return upper(sum((b.error(self.tube)[0] for b in self.branches.values()), ZERO))

    def chain(self) -> tuple[Link, ...]:
        """How the error arises, component by component, names as ``attention.query``."""
        return tuple(
            replace(link, component=f"{name}.{link.component}")
            for name, branch in self.branches.items()
            for link in branch.error(self.tube)[1]
        )

    def with_errors(self, component: str, factor: Fraction) -> TransformerBlock:
        """The block whose ``component`` (as ``chain`` names it) errs ``factor`` times as much."""
        name, own = component.split(".", 1)
        changed = self.branches[name].with_errors(own, factor)
        return replace(self, branches={**self.branches, name: changed})
