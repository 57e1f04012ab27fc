"""Converses at finite depth with a closed form: how close D pure steps come (theory T9, T8.6).

The fixed teacher asks ``x_{k+1} = (1 - lam h) x_k + h q_k`` with ``q_k`` in {0, a}, from 0, to
reach ``a (1 - e^{-lam T}) / lam``: what the atom a reaches in continuous time, and no pure schedule
of any depth. Values are enclosures ``(lower, upper)`` in rationals, rounded outward.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import isqrt

from qreplace.errors import InputError
from qreplace.exact.fixed_point import exponential, power
from qreplace.exact.intervals import Interval
from qreplace.exact.rational import round_down, round_up

BITS = 160
MAX_CLOSED_DEPTH = 1 << 20
MAX_ENUMERATED = 18
"""At most 2^18 schedules are looked at one by one."""


def exp_interval(x: Fraction, bits: int = BITS) -> Interval:
    """An enclosure of ``exp(x)``."""
    low, high = exponential(x, bits)
    return Fraction(low, 1 << bits), Fraction(high, 1 << bits)


def power_interval(base: Interval, exponent: int, bits: int = BITS) -> Interval:
    """An enclosure of ``base ** exponent`` for bases that are not negative."""
    low, high = power(base[0], exponent, bits)[0], power(base[1], exponent, bits)[1]
    return Fraction(low, 1 << bits), Fraction(high, 1 << bits)


def minus(one: Interval, other: Interval) -> Interval:
    """The difference of two intervals."""
    return one[0] - other[1], one[1] - other[0]


def times(one: Interval, factor: Fraction) -> Interval:
    """An interval times a number that is not negative."""
    return one[0] * factor, one[1] * factor


# --- the fixed teacher ----------------------------------------------------------------------------


def teacher_target(amplitude: Fraction, rate: Fraction, horizon: Fraction) -> Interval:
    """``a (1 - e^{-lam T}) / lam``."""
    _require(amplitude, rate, horizon, 1)
    decayed = exp_interval(-rate * horizon)
    one = Fraction(1)
    return times(minus((one, one), decayed), amplitude / rate)


def teacher_error(
    amplitude: Fraction, depth: int, rate: Fraction = Fraction(1), horizon: Fraction = Fraction(1)
) -> Interval:
    """Theory T9.1: ``E_D = (a / lam)(e^{-lam T} - (1 - lam T / D)^D)``, all steps on the atom a.

    Only for ``lam T <= 1``: beyond, other schedules come closer (raises ``InputError``).
    """
    _require(amplitude, rate, horizon, depth)
    if rate * horizon > 1:
        raise InputError(
            "the all-a schedule is best for lam T up to 1 only",
            remedy="Use best_of_all, which looks at every schedule.",
        )
    left = 1 - rate * horizon / depth
    found = minus(exp_interval(-rate * horizon), power_interval((left, left), depth))
    low, high = times(found, amplitude / rate)
    return max(low, Fraction(0)), high


def teacher_bounds(amplitude: Fraction, depth: int) -> Interval:
    """Theory T9.1 for lam = T = 1, D >= 2: ``a / (2 e D) <= E_D <= a / (2 e (D - 1/2))``."""
    _require(amplitude, Fraction(1), Fraction(1), depth)
    if depth < 2:
        raise InputError("the two-sided bound holds from depth 2 on")
    small = times(exp_interval(Fraction(-1)), amplitude / 2)
    return small[0] / depth, small[1] / (depth - Fraction(1, 2))


def endpoints(
    labels: Sequence[Fraction], depth: int, rate: Fraction, horizon: Fraction
) -> list[Fraction]:
    """The endpoint of every schedule: ``sum h q_k (1 - lam h)^(D-1-k)``, in lexicographic order."""
    if depth < 1 or len(labels) ** depth > 1 << MAX_ENUMERATED:
        raise InputError(f"needed at most 2^{MAX_ENUMERATED} schedules")
    step = horizon / depth
    factor = 1 - rate * step
    weights = [step * factor ** (depth - 1 - k) for k in range(depth)]
    unit = step.denominator * factor.denominator ** (depth - 1)
    for label in labels:
        unit *= label.denominator
    reached = [0]
    for weight in weights:
        moves = [int(weight * label * unit) for label in labels]
        reached = [x + move for x in reached for move in moves]
    return [Fraction(x, unit) for x in reached]


def best_of_all(
    amplitude: Fraction, depth: int, rate: Fraction = Fraction(1), horizon: Fraction = Fraction(1)
) -> tuple[Interval, tuple[int, ...]]:
    """The least error over all ``2^D`` schedules of {0, a}, enclosed, and a best schedule.

    Steps are numbered from the first; 1 stands for a. Depth at most ``MAX_ENUMERATED``.
    """
    target = teacher_target(amplitude, rate, horizon)
    found = endpoints((Fraction(0), amplitude), depth, rate, horizon)
    best: tuple[Fraction, Fraction, int] | None = None
    for index, x in enumerate(found):
        high = max(abs(x - target[0]), abs(x - target[1]))
        if best is None or high < best[0]:
            low = max(Fraction(0), x - target[1], target[0] - x)
            best = high, low, index
    if best is None:
        raise InputError("there is no schedule")
    lower = min(max(Fraction(0), x - target[1], target[0] - x) for x in found)
    bits = tuple(best[2] >> (depth - 1 - k) & 1 for k in range(depth))
    return (lower, best[0]), bits


# --- channels with defects, and two tokens --------------------------------------------------------


def channel_error(
    amplitude: Fraction, depth: int, mode_defect: Fraction, teacher_defect: Fraction
) -> Fraction:
    """Theory T9.2: a lower bound of E_D where a norm-one functional exposes the fixed teacher.

    ``|l(G_j) - (q_j - l(z))|`` is at most ``mode_defect``, the teacher's residual at most
    ``teacher_defect``. Not positive: it says nothing.
    """
    _require(amplitude, Fraction(1), Fraction(1), depth)
    if min(mode_defect, teacher_defect) < 0:
        raise InputError("a defect is not negative")
    left = 1 - Fraction(1, depth)
    kept = power_interval((left, left), depth)
    e = exp_interval(Fraction(-1))
    lower = amplitude * (e[0] - kept[1]) - mode_defect * (1 - kept[0])
    return lower - teacher_defect * (1 - e[0])


def vacuous_from(
    amplitude: Fraction, mode_defect: Fraction, teacher_defect: Fraction
) -> int | None:
    """The depth from which T9.2 says nothing; ``None``: at no depth up to ``MAX_CLOSED_DEPTH``.

    The bound falls with depth while it is positive: its rate in ``(1 - 1/D)^D`` is the defect less
    the amplitude.
    """

    def says(depth: int) -> bool:
        return channel_error(amplitude, depth, mode_defect, teacher_defect) > 0

    if says(MAX_CLOSED_DEPTH):
        return None
    low, high = 0, 1
    while says(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if says(middle) else (low, middle)
    return high


def two_token_error(amplitude: Fraction, spread: Fraction, depth: int) -> Interval:
    """Theory T9.3, D >= 2: ``sqrt(2 mean^2 + 2 disagreement^2)`` in the Frobenius norm.

    The mean mode is the fixed teacher; the disagreement of the two tokens, ``spread`` at the start,
    decays at the rate ``c = tanh 1`` whatever is chosen.
    """
    if depth < 2:
        raise InputError("the two-token law holds from depth 2 on")
    mean = teacher_error(amplitude, depth)
    rate = tanh_one()
    # e^{-c} and (1 - c/D)^D fall as c grows.
    decayed = exp_interval(-rate[1])[0], exp_interval(-rate[0])[1]
    stepped = power_interval((1 - rate[1] / depth, 1 - rate[0] / depth), depth)
    apart = minus(decayed, stepped)
    apart = max(apart[0], Fraction(0)), apart[1]
    squares = [2 * mean[end] ** 2 + 2 * (spread * apart[end]) ** 2 for end in (0, 1)]
    return _root(squares[0], up=False), _root(squares[1], up=True)


def tanh_one() -> Interval:
    """``tanh 1 = 1 - 2 / (e^2 + 1)``."""
    low, high = exp_interval(Fraction(2))
    return (
        round_down(1 - 2 / (low + 1), BITS),
        round_up(1 - 2 / (high + 1), BITS),
    )


# --- the signed ray -------------------------------------------------------------------------------


def signed_ray_error(scale: Fraction, gap: Fraction, depth: int) -> Fraction:
    """Theory T8.6: ``E = (a Delta_0 / (2D)) (1 - 1/D)^(D-1)`` at the target that is worst for D.

    ``gap`` is the distance of the two smallest levels. The target moves with D: it is a minimax
    statement, about no fixed target.
    """
    _require(scale, Fraction(1), Fraction(1), depth)
    return scale * gap / (2 * depth) * (1 - Fraction(1, depth)) ** (depth - 1)


def signed_ray_best(
    scale: Fraction, levels: Sequence[Fraction], target: Fraction, depth: int
) -> Fraction:
    """The least ``|x_D - target|`` over all schedules of ``x -> (1 - 1/D) x + (a/D) q``, exact."""
    labels = [scale * level for level in levels]
    found = endpoints(labels, depth, Fraction(1), Fraction(1))
    return min(abs(x - target) for x in found)


def _root(value: Fraction, *, up: bool) -> Fraction:
    """A rational square root, rounded."""
    scaled = (value.numerator << 2 * BITS) // value.denominator
    root = isqrt(scaled)
    return Fraction(root + up, 1 << BITS)


def _require(amplitude: Fraction, rate: Fraction, horizon: Fraction, depth: int) -> None:
    if min(amplitude, rate, horizon) <= 0:
        raise InputError("amplitude, rate and horizon are positive")
    if not 1 <= depth <= MAX_CLOSED_DEPTH:
        raise InputError(f"the depth is {depth}; needed 1 to {MAX_CLOSED_DEPTH}")
