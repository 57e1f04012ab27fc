"""QR 5, B.4, Figure 11: first-order converses by complete enumeration (theory T9.1, T9.3, T8.6).

The fixed teacher and the two-token attention at every small depth, all ``2^D`` schedules; the
signed ray at D = 128; and the rate beyond which the closed form of the teacher is not the optimum.
"""

from __future__ import annotations

import math
from fractions import Fraction

from qreplace.exact.fixed_teacher import (
    best_of_all,
    signed_ray_error,
    teacher_error,
    two_token_error,
)
from qreplace.reproduce import Entry, Progress, within
from qreplace.reproduce.table import DIAGNOSTIC, Interval, Row, Table, decimal, number

TEACHER_DEPTH = 14
TOKEN_DEPTH = 12
SPREAD = Fraction(1)
ENUMERATED = "every schedule, in rationals"
CLOSED = "closed form, enclosed"
ARB = "closed form in ball arithmetic, every schedule in floats"
RAY_DEPTH = 128
RAY = (("1", "0.2371"), ("1/2", "0.1185"), ("1/3", "0.0790"), ("1/7", "0.0339"))
"""The gap of the two smallest levels, and D E_D as the paper prints it."""
MACHINE = 1e-13
STIFF_DEPTH = 8


def compute(entry: Entry, progress: Progress, depth: int = TEACHER_DEPTH) -> Table:
    """The teacher up to ``depth``, two tokens up to two less, the signed ray and the stiff rate."""
    deepest = within("depth", depth, 2, TEACHER_DEPTH)
    rows: list[Row] = []
    for steps in range(2, deepest + 1):
        progress("depths", steps - 2, deepest)
        rows.append(_teacher(steps))
    for steps in range(2, min(deepest, TOKEN_DEPTH) + 1):
        rows.append(_tokens(steps))
    rows += _stiff()
    rows += _rays()
    progress("depths", deepest, deepest)
    return Table(
        name="necessity",
        title=entry.title,
        reference=entry.reference,
        given=True,
        instance=(
            "Fixed teacher x <- (1 - 1/D) x + q/D, q in {0, 1}, target 1 - 1/e; two tokens whose "
            "mean is that teacher and whose disagreement, 1 at the start, decays with c = tanh 1; "
            "signed ray at D = 128."
        ),
        rows=tuple(rows),
        notes=(
            "The paper says that enumeration matches its formulas to machine precision and prints "
            "no numbers of it. Here every endpoint of the teacher is a rational, compared with an "
            "enclosure of the target.",
            "The paper does not print the scale a of the signed ray. Each of its four numbers is "
            "rounded; together they allow the a of the last row, which does not contain 1.2834.",
        ),
    )


def _teacher(depth: int) -> Row:
    closed = teacher_error(Fraction(1), depth)
    found, schedule = best_of_all(Fraction(1), depth)
    agrees = schedule == (1,) * depth and max(found[0], closed[0]) <= min(found[1], closed[1])
    return Row(
        f"E_D, fixed teacher, D = {depth}", Interval(*closed).text(), ENUMERATED,
        "all steps on a", agrees, Interval(*closed),
    )  # fmt: skip


def _tokens(depth: int) -> Row:
    """All schedules of the attention itself in floats, beside the formula in balls."""
    low, high = two_token_error(Fraction(1), SPREAD, depth)
    least = attention_least(1.0, float(SPREAD), depth)
    ball = _arb_two_tokens(depth)
    inside = ball[0] <= high and low <= ball[1]
    near = float(low) - MACHINE <= least <= float(high) + MACHINE
    return Row(
        f"E_D, two tokens, D = {depth}", Interval(low, high).text(), ARB,
        "to machine precision", inside and near, Interval(low, high),
    )  # fmt: skip


def attention_least(amplitude: float, spread: float, depth: int) -> float:
    """The least Frobenius error over all schedules of two tokens under softmax attention.

    Scores 1 between a token and itself and -1 between the two: the mean is kept, their difference
    shrinks by ``tanh 1``. Floats; all schedules at once.
    """
    import numpy as np

    own = math.exp(1) / (math.exp(1) + math.exp(-1))
    weights = np.array([[own, 1 - own], [1 - own, own]])
    picks = np.arange(1 << depth)
    states = np.tile([spread, -spread], (1 << depth, 1))
    for step in range(depth):
        q = amplitude * (picks >> step & 1)
        states += (q[:, None] - states @ weights) / depth
    goal = amplitude * (1 - math.exp(-1))
    apart = spread * math.exp(-math.tanh(1))
    off = states - np.array([goal + apart, goal - apart])
    return float(np.sqrt((off**2).sum(axis=1)).min())


def _arb_two_tokens(depth: int) -> tuple[Fraction, Fraction]:
    """The same formula by Arb: an independent enclosure."""
    import flint

    flint.ctx.prec = 160
    one, c = flint.arb(1), flint.arb(1).tanh()
    mean = (-one).exp() - (1 - one / depth) ** depth
    apart = (-c).exp() - (1 - c / depth) ** depth
    spread = flint.arb(SPREAD.numerator) / SPREAD.denominator
    ball = (2 * mean**2 + 2 * (spread * apart) ** 2).sqrt()
    return _rational(ball.lower()), _rational(ball.upper())


def _rational(ball: object) -> Fraction:
    """An exact ball (radius zero) as a rational."""
    mantissa, exponent = ball.mid().man_exp()  # type: ignore[attr-defined]
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)


def _stiff() -> list[Row]:
    """lam T = 2: mixing in zeros comes closer than the closed form says (theory T9.1)."""
    found, schedule = best_of_all(Fraction(1), STIFF_DEPTH, Fraction(2))
    formula = abs((math.exp(-2) - (1 - 2 / STIFF_DEPTH) ** STIFF_DEPTH) / 2)
    name = f"lam T = 2, D = {STIFF_DEPTH}"
    return [
        number(f"{name}: least error", Interval(*found), ENUMERATED),
        Row(f"{name}: all steps on a", f"{formula:.4g}", DIAGNOSTIC),
        Row(f"{name}: a best schedule", "".join(map(str, schedule)), ENUMERATED),
    ]


def _rays() -> list[Row]:
    rows, low, high = [], Fraction(0), Fraction(10)
    for gap, published in RAY:
        unit = RAY_DEPTH * signed_ray_error(Fraction(1), Fraction(gap), RAY_DEPTH)
        half = Fraction(1, 2 * 10**4)
        low = max(low, (Fraction(published) - half) / unit)
        high = min(high, (Fraction(published) + half) / unit)
        exact = Interval(unit, unit)
        rows.append(Row(f"D E_D / a, signed ray, gap {gap}", exact.text(), CLOSED,
                        f"{published} / a", None, exact))  # fmt: skip
    allowed = f"{decimal(low, up=True)} to {decimal(high, up=False)}"
    rows.append(Row("a that all four published numbers allow", allowed, CLOSED, None,
                    low <= high, Interval(low, high)))  # fmt: skip
    return rows
