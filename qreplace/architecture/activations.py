"""Activations: Lipschitz constants proved by enclosure, largest values on a ball (theory T10.3).

The derivative f' of an activation is enclosed on the whole line. Inside ``[-T, T]`` intervals are
halved until each is shown to stay below the constant: by interval arithmetic on f' itself, or by
``|f'(midpoint)| + sup |f''| width/2`` with f'' enclosed likewise. Beyond T a formula falls
monotonically. Nothing is sampled and nothing is a float.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Literal

from qreplace.architecture.enclosures import (
    ONE,
    density,
    density_at,
    distribution_at,
    exp_at,
    increasing,
    minus,
    outward,
    root_two_over_pi,
    tanh_at,
)
from qreplace.errors import Rejected
from qreplace.exact.intervals import Interval, add, magnitude, multiply, power, scale

Activation = Literal["gelu", "gelu_tanh", "silu", "relu", "identity"]

LIPSCHITZ: dict[Activation, Fraction] = {
    "gelu": Fraction("1.12891"),
    "gelu_tanh": Fraction("1.12900"),
    "silu": Fraction("1.09984"),
    "relu": Fraction(1),
    "identity": Fraction(1),
}
"""The constants of theory T10.3; ``lipschitz`` proves the first three before it returns them."""
MAX_CELLS = 20_000
_CUBIC = Fraction("0.044715")
_HALF = Fraction(1, 2)
_TWO: Interval = (Fraction(2), Fraction(2))


@dataclass(frozen=True, slots=True)
class Smooth:
    """An activation through its first two derivatives on intervals, and its tail.

    ``tail`` bounds ``|f'|`` beyond ``[-reach, reach]``.
    """

    first: Callable[[Interval], Interval]
    second: Callable[[Interval], Interval]
    reach: Fraction
    tail: Callable[[Fraction], Fraction]


def _gelu_first(x: Interval) -> Interval:
    """``Phi(x) + x phi(x)``."""
    return add(increasing(distribution_at, x), multiply(x, density(x)))


def _gelu_second(x: Interval) -> Interval:
    """``phi(x) (2 - x^2)``."""
    return multiply(density(x), add(_TWO, minus(power(x, 2))))


def _gelu_tail(reach: Fraction) -> Fraction:
    """``Phi <= 1`` and ``|x| phi(x)`` falls beyond 1."""
    return 1 + reach * density_at(reach)[1]


def _logistic(x: Interval) -> Interval:
    """``1/(1 + exp(-x)) = (1 + tanh(x/2))/2``."""
    return scale(add(ONE, increasing(tanh_at, scale(x, _HALF))), _HALF)


def _silu_first(x: Interval) -> Interval:
    """``s (1 + x (1 - s))``."""
    s = _logistic(x)
    return multiply(s, add(ONE, multiply(x, _logistic(minus(x)))))


def _silu_second(x: Interval) -> Interval:
    """``s (1 - s) (2 + x (1 - 2 s))``, where ``1 - 2 s = -tanh(x/2)``."""
    slope = multiply(_logistic(x), _logistic(minus(x)))
    bend = minus(increasing(tanh_at, scale(x, _HALF)))
    return multiply(slope, add(_TWO, multiply(x, bend)))


def _silu_tail(reach: Fraction) -> Fraction:
    """Both sides are below ``1 + x exp(-x)`` with ``x = |x|``, which falls beyond 1."""
    return 1 + reach * exp_at(-reach)[1]


def _inner(x: Interval) -> tuple[Interval, Interval, Interval]:
    """``u = c (x + a x^3)``, its first and its second derivative."""
    c = root_two_over_pi()
    cubic = add(ONE, scale(power(x, 2), _CUBIC))
    rising = multiply(c, (x[0] * (1 + _CUBIC * x[0] ** 2), x[1] * (1 + _CUBIC * x[1] ** 2)))
    slope = multiply(c, add(scale(cubic, Fraction(3)), minus(_TWO)))
    return outward(rising), outward(slope), outward(multiply(c, scale(x, 6 * _CUBIC)))


def _tanh_and_slope(u: Interval) -> tuple[Interval, Interval]:
    """``tanh u`` and ``1 - tanh(u)^2``."""
    t = increasing(tanh_at, u)
    return t, add(ONE, minus(power(t, 2)))


def _tanh_gelu_first(x: Interval) -> Interval:
    """``(1 + t)/2 + x (1 - t^2) u'/2`` with ``t = tanh u``."""
    u, slope, _ = _inner(x)
    t, s = _tanh_and_slope(u)
    return scale(add(add(ONE, t), multiply(x, outward(multiply(s, slope)))), _HALF)


def _tanh_gelu_second(x: Interval) -> Interval:
    """``(1 - t^2) (u' + x (u''/2 - t u'^2))``."""
    u, slope, bend = _inner(x)
    t, s = _tanh_and_slope(u)
    inside = add(scale(bend, _HALF), minus(outward(multiply(t, power(slope, 2)))))
    return multiply(s, add(slope, multiply(x, inside)))


def _tanh_gelu_tail(reach: Fraction) -> Fraction:
    """``1 + 2 x exp(-2 c x) c (1 + 3 a x^2)``: ``u >= c x`` and ``1 - t^2 <= 4 exp(-2 u)``.

    Its logarithmic derivative is at most ``3/x - 2c``, negative for x beyond 2.
    """
    low, high = root_two_over_pi()
    slope = high * (1 + 3 * _CUBIC * reach**2)
    return 1 + 2 * reach * exp_at(-2 * low * reach)[1] * slope


SMOOTH: dict[Activation, Smooth] = {
    "gelu": Smooth(_gelu_first, _gelu_second, Fraction(8), _gelu_tail),
    "gelu_tanh": Smooth(_tanh_gelu_first, _tanh_gelu_second, Fraction(16), _tanh_gelu_tail),
    "silu": Smooth(_silu_first, _silu_second, Fraction(24), _silu_tail),
}


@cache
def lipschitz(activation: Activation) -> Fraction:
    """A Lipschitz constant, proved on first use; raises ``Rejected`` if the proof fails."""
    constant = LIPSCHITZ[activation]
    own = SMOOTH.get(activation)
    if own is not None:
        prove_at_most(own, constant)
    return constant


def prove_at_most(own: Smooth, constant: Fraction) -> int:
    """Show ``|f'| <= constant`` on the whole line; the number of intervals that it took.

    Raises ``Rejected`` where a value is above, or ``MAX_CELLS`` intervals do not suffice.
    """
    if own.tail(own.reach) > constant:
        raise Rejected("the derivative is not shown to be within the constant beyond the reach")
    waiting: list[Interval] = [(-own.reach, own.reach)]
    seen = 0
    while waiting:
        cell = waiting.pop()
        seen += 1
        if seen > MAX_CELLS:
            raise Rejected(f"{MAX_CELLS} intervals do not show the derivative's bound")
        if magnitude(own.first(cell)) <= constant:
            continue
        middle = (cell[0] + cell[1]) / 2
        at = own.first((middle, middle))
        if at[0] > constant or at[1] < -constant:
            raise Rejected("the derivative exceeds the constant")
        if magnitude(at) + magnitude(own.second(cell)) * (cell[1] - cell[0]) / 2 <= constant:
            continue
        waiting += [(cell[0], middle), (middle, cell[1])]
    return seen


def largest_value(activation: Activation, radius: Fraction) -> Fraction:
    """``sup |f(x)|`` over ``|x| <= radius``: the value at ``radius``, rounded up; at most radius.

    All of them are ``x g(x)`` with ``0 <= g <= 1`` increasing, so ``|f(-x)| <= f(x)`` for x >= 0.
    """
    if activation in ("relu", "identity") or radius == 0:
        return radius
    x = min(radius, Fraction(16))
    if activation == "gelu":
        share = distribution_at(x)[1]
    elif activation == "silu":
        share = _logistic((x, x))[1]
    else:
        share = (1 + tanh_at(_inner((x, x))[0][1])[1]) / 2
    return radius if radius > x else radius * min(share, Fraction(1))
