"""When Can Depth Replace Precision? (arXiv 2607.23390): published constants, certified here.

The soft-threshold split (theory T7.7): atoms ``S_l(sigma y) - (1 - s) x`` with signs
``sigma = +-1`` and thresholds ``l in {0, 1}`` for inputs ``y`` in [-1, 1]. Lifted to the witnesses
y = 1/2 and y = 1 they are constant vectors with decay mu = 1 - s; ``S_0`` gives (1/2, 1), ``S_1``
gives 0. Everything reachable is ``c y`` with ``|c| <= alpha``, ``alpha = (1 - e^{-mu}) / mu``; the
target ``alpha S_{1/2}(y)`` = (0, alpha / 2) is missed by exactly ``alpha / 6``.
"""

from __future__ import annotations

from fractions import Fraction

import pytest
from dynamic_questions import affine_question
from lifted_questions import LINF

from qreplace.check import affine_dynamics, observable
from qreplace.exact.fixed_point import exponential
from qreplace.produce.affine_dynamics import produce as produce_bracket
from qreplace.produce.observable import produce as produce_observable
from qreplace.produce.observable import search
from qreplace.question.subject import Subject

BITS = 200
SPLIT = [["1/2", 1], ["-1/2", -1], [0, 0], [0, 0]]
"""``(S_0(sigma y), S_1(sigma y))`` at y = 1/2 and 1, sigma = +-1."""


def alpha(mu: Fraction) -> tuple[Fraction, Fraction]:
    """Bounds of ``(1 - e^{-mu}) / mu``."""
    low, high = exponential(-mu, BITS)
    return (1 - Fraction(high, 1 << BITS)) / mu, (1 - Fraction(low, 1 << BITS)) / mu


def split(mu: Fraction, target: list[Fraction]) -> Subject:
    return Subject(affine_question(SPLIT, target, rate=-mu, norm=LINF), {})


@pytest.mark.parametrize("mu", [Fraction(1, 2), Fraction(1, 3), Fraction(3, 4), Fraction(1)])
def test_the_split_misses_by_a_sixth_of_alpha(mu: Fraction) -> None:
    """``alpha / 6`` to 1e-12, from below by the observable, from both sides by the bracket.

    The target is rational: alpha rounded to 2^-100, which moves the floor by less than that.
    """
    low, high = alpha(mu)
    near = Fraction(int(low * 2**100), 2**100)
    subject = split(mu, [Fraction(0), near / 2])
    found = search(subject, 0)
    (row,) = found.rows
    assert row[1] != 0 and row[0] == -2 * row[1], "the functional is (1/3) x_1 - (2/3) x_1/2"
    claim = produce_observable(subject, 0)
    (lower,) = observable.check(subject, claim)
    weights = {i: n / claim.witness.vector.denominator for i, n in zip(
        claim.witness.vector.indices, claim.witness.vector.numerators, strict=True)}  # fmt: skip
    assert {abs(w) for w in weights.values()} == {Fraction(1, 3), Fraction(2, 3)}
    bracket = affine_dynamics.check(subject, produce_bracket(subject, 0))
    ends = {bound.side: bound.value for bound in bracket}
    slack = Fraction(1, 2**98)
    for end in (lower.value, ends["lower"]):
        assert low / 6 - Fraction(1, 10**12) < end <= high / 6 + slack
    assert low / 6 - slack <= ends["upper"] < high / 6 + Fraction(1, 10**12)


@pytest.mark.parametrize("depth", [1, 3, 16])
def test_no_depth_does_better(depth: int) -> None:
    """The functional decays freely at every depth as well: the miss is the target's own third."""
    mu = Fraction(1, 2)
    low, _ = alpha(mu)
    near = Fraction(int(low * 2**100), 2**100)
    subject = split(mu, [Fraction(0), near / 2])
    claim = produce_observable(subject, 0, depth)
    (bound,) = observable.check(subject, claim)
    assert bound.quantity == "ideal_error" and depth in bound.depths
    assert near / 6 - Fraction(1, 10**12) < bound.value <= near / 6


@pytest.mark.parametrize("share", ["0", "1/3", "-1", "9/10"])
def test_a_target_in_range_has_floor_0(share: str) -> None:
    """``c y`` with ``|c| <= alpha`` is reached exactly in the limit."""
    mu = Fraction(1, 2)
    low, _ = alpha(mu)
    c = Fraction(share) * Fraction(int(low * 2**60), 2**60)
    subject = split(mu, [c / 2, c])
    bracket = affine_dynamics.check(subject, produce_bracket(subject, 0))
    ends = {bound.side: bound.value for bound in bracket}
    assert ends["lower"] <= 0 <= ends["upper"] < Fraction(1, 10**12)
    assert produce_observable(subject, 0).lower < Fraction(1, 10**12)


def test_beyond_the_range_the_range_decides() -> None:
    """Twice alpha times y is missed by alpha at y = 1."""
    mu = Fraction(1, 2)
    low, high = alpha(mu)
    c = 2 * Fraction(int(low * 2**100), 2**100)
    subject = split(mu, [c / 2, c])
    bracket = affine_dynamics.check(subject, produce_bracket(subject, 0))
    ends = {bound.side: bound.value for bound in bracket}
    assert low - Fraction(1, 10**12) < ends["lower"] <= ends["upper"] < high + Fraction(1, 10**12)
