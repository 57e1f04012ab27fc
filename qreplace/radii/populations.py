"""Routers over a population of inputs: laws in L^p, where a sup says nothing (T6.5, T6.6).

A routed map jumps between inputs, so it is no continuous function of them. What is small is the
*share* of inputs whose route differs at a time, and with it the error in ``L^p`` of the population.
Every number here is an upper bound in rationals; powers are rounded outward.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from qreplace.errors import InputError
from qreplace.radii.depth_function import rational_power_upper

MAX_EXPONENT_DENOMINATOR = 64


@dataclass(frozen=True, slots=True)
class DispersedEvent:
    """``nu{tau_r in (s, t]} <= concentration |t - s|^alpha``; the field jumps by ``jump`` there."""

    concentration: Fraction
    jump: Fraction


def dispersed_modulus(
    events: Sequence[DispersedEvent],
    *,
    alpha: Fraction,
    p: Fraction,
    horizon: Fraction,
    smooth: Fraction,
) -> tuple[Fraction, Fraction]:
    """Theory T6.5: exponent theta and constant H of the field's Hölder modulus in ``L^p``.

    ``theta = min(1, alpha / p)``, ``H = H_0 T^(1 - theta) + sum Delta_r K_r^(1/p) T^(alpha/p -
    theta)`` with ``smooth`` the Lipschitz constant in time between events; T3.2 takes it on.
    """
    _require(alpha, p)
    if horizon <= 0:
        raise InputError("the horizon is positive")
    theta = min(Fraction(1), alpha / p)
    total = smooth * _power(horizon, 1 - theta)
    for event in events:
        share = _power(event.concentration, 1 / p)
        total += event.jump * share * _power(horizon, alpha / p - theta)
    return theta, total


def margin_law(constant: Fraction, alpha: Fraction, upto: Fraction, error: Fraction) -> Fraction:
    """Theory T6.6: the share of inputs that a score error may misroute, ``C (2 eps)^alpha``.

    For ``mu{gap <= u} <= C u^alpha`` up to ``u_0 = upto``; raises ``InputError`` beyond it, where
    the law says nothing. A share never exceeds 1.
    """
    _require(alpha, Fraction(1))
    if min(constant, error) < 0:
        raise InputError("a law's constant and a score error are not negative")
    if 2 * error > upto:
        raise InputError("the score error is beyond the range of the margin law")
    return min(Fraction(1), constant * _power(2 * error, alpha))


def population_error(jump: Fraction, share: Fraction, p: Fraction) -> Fraction:
    """Theory T6.6: the field's error in ``L^p`` where that share of inputs is misrouted."""
    _require(Fraction(1), p)
    return jump * _power(share, 1 / p)


def _require(alpha: Fraction, p: Fraction) -> None:
    if alpha <= 0 or p < 1:
        raise InputError("needed a positive exponent alpha and p of at least 1")
    if max(alpha.denominator, p.denominator, p.numerator, alpha.numerator) > (
        MAX_EXPONENT_DENOMINATOR
    ):
        raise InputError(f"exponents are p/q with p and q up to {MAX_EXPONENT_DENOMINATOR}")


def _power(base: Fraction, exponent: Fraction) -> Fraction:
    """An upper bound of ``base ** exponent``, exact for whole exponents and for 0 and 1."""
    if exponent.denominator == 1:
        return base ** int(exponent)
    return base if base in (0, 1) else rational_power_upper(base, exponent)
