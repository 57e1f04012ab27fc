"""The structural split of 2607.23390 (Figure 9, theory T7.7) as piecewise-affine maps on [-1, 1].

Atoms ``S_l(sigma y) - mu x`` with signs sigma and thresholds l in {0, 1}: on [-1, 1] the threshold
1 gives 0, so every map that can be reached is ``c y``. The target ``alpha S_{1/2}(y)`` is missed by
``alpha / 6``, ``alpha = (1 - e^{-mu}) / mu``; targets ``c y`` with ``|c| <= alpha`` are reached.

Endpoints and targets are affine between the kinks -1, -1/2, 0, 1/2, 1, so the largest difference
lies at one of them: floors on these witnesses are those of the whole interval. alpha is irrational;
targets use its value ``near``, rounded down to 2^-100, and floors scale with it.
"""

from __future__ import annotations

from bisect import bisect
from fractions import Fraction
from functools import cache
from itertools import product

import pytest
from lifted_questions import L1, L2, LINF
from piecewise_questions import atom, box, pwa_question

from qreplace.check import affine_dynamics, net_floor, observable
from qreplace.errors import InputError
from qreplace.exact.fixed_point import exponential
from qreplace.produce.affine_dynamics import produce as produce_bracket
from qreplace.produce.net_floor import produce as produce_net
from qreplace.produce.observable import produce as produce_observable
from qreplace.question.maps import homogeneous
from qreplace.question.model import NetworkTarget, Norm
from qreplace.question.subject import Subject

BITS = 200
MU = Fraction(1, 2)
TINY = Fraction(1, 10**12)
KINKS = ["-1", "-1/2", "0", "1/2", "1"]
DEPTHS = range(1, 11)


def near(mu: Fraction) -> Fraction:
    """``(1 - e^{-mu}) / mu`` rounded down to 2^-100."""
    low = (1 - Fraction(exponential(-mu, BITS)[1], 1 << BITS)) / mu
    return Fraction(int(low * 2**100), 2**100)


def question(
    target: tuple[Fraction, Fraction], mu: Fraction = MU, norm: Norm = LINF, *, full: bool = True
) -> Subject:
    """The split with the target ``factor S_level(y)``, given as ``(factor, level)``."""
    factor, level = target
    atoms = [
        atom([[sigma]], thresholds=[threshold], leak=mu)
        for threshold in (0, 1)
        for sigma in (1, -1)
    ]
    aim = NetworkTarget("network", (atom([[1]], thresholds=[level], output=[[factor]]),))
    asked = pwa_question(
        atoms,
        aim,
        dimension=1,
        inputs=1,
        region=box([-1], [1]),
        witnesses=[[y] for y in KINKS],
        norm=norm,
        full=full,
    )
    return Subject(asked, {})


def ends(subject: Subject) -> tuple[Fraction, Fraction]:
    """The bracket of the lifted floor."""
    bounds = affine_dynamics.check(subject, produce_bracket(subject, 0))
    assert {b.domain for b in bounds} == {"witnesses"}
    assert {b.quantity for b in bounds} == {"relaxed_floor"}
    found = {b.side: b.value for b in bounds}
    return found["lower"], found["upper"]


@pytest.mark.parametrize("mu", [Fraction(1, 3), Fraction(1, 2), Fraction(1)])
@pytest.mark.parametrize("norm", [LINF, L2, L1])
def test_one_target_is_missed_by_a_sixth(mu: Fraction, norm: Norm) -> None:
    alpha = near(mu)
    subject = question((alpha, Fraction(1, 2)), mu, norm)
    lower, upper = ends(subject)
    assert abs(lower - alpha / 6) < TINY and abs(upper - alpha / 6) < TINY and lower <= upper
    (bound,) = observable.check(subject, produce_observable(subject, 0))
    assert alpha / 6 - TINY < bound.value <= alpha / 6 + TINY


@pytest.mark.parametrize("share", ["0", "1/3", "-1", "9/10"])
def test_another_target_is_reached(share: str) -> None:
    lower, upper = ends(question((Fraction(share) * near(MU), Fraction(0))))
    assert lower == 0 <= upper < TINY


def test_the_net_floor_knows_the_whole_interval() -> None:
    """Its lower end is sharp with one step; its upper end falls with the net."""
    alpha = near(MU)
    subject = question((alpha, Fraction(1, 2)))
    claims = list(produce_net(subject, 0, width=Fraction(1, 64), nodes=40))
    lower, upper = net_floor.check(subject, claims[-1])
    assert lower.domain == upper.domain == "full"
    assert alpha / 6 - Fraction(1, 10**6) < lower.value <= alpha / 6 <= upper.value
    assert upper.value - lower.value < Fraction(1, 64)


def test_the_kinks_are_enough() -> None:
    """No input of a fine grid does worse than the worst kink, for pure schedules of depth 4."""
    subject = question((near(MU), Fraction(1, 2)))
    problem = subject.piecewise(0)
    grid = [homogeneous((Fraction(k, 36) - 1,)) for k in range(73)]
    for schedule in product(range(4), repeat=4):
        student = problem.student(schedule)

        def error(point: tuple[int, ...]) -> Fraction:
            return abs(student.value(point)[0] - problem.target.value(point)[0])  # noqa: B023

        assert max(map(error, grid)) <= max(error(q) for q in problem.witnesses or ())


@cache
def reachable(depth: int) -> tuple[list[int], int]:
    """Every c of an endpoint ``c y`` at a depth, ascending, over the second number.

    Complete: two of the four atoms are alike, so three choices a step give every value.
    """
    keep, unit = 2 * depth - 1, 2 * depth
    found, scale = {0}, 1
    for _ in range(depth):
        found = {keep * c + 2 * scale * u for c in found for u in (-1, 0, 1)}
        scale *= unit
    return sorted(found), scale


def finite_error(c: Fraction, subject: Subject) -> Fraction:
    """The largest difference of ``c y`` and the target, at the kinks."""
    target = subject.piecewise(0).target
    points = [homogeneous((Fraction(y),)) for y in KINKS]
    return max(abs(c * Fraction(q[0], q[1]) - target.value(q)[0]) for q in points)


def best_error(subject: Subject, aim: Fraction, depth: int) -> Fraction:
    """``E_D``: the error falls and then rises in c about ``aim``, so its neighbours decide."""
    every, scale = reachable(depth)
    place = bisect(every, aim * scale)
    around = every[max(0, place - 1) : place + 1]
    return min(finite_error(Fraction(c, scale), subject) for c in around)


@pytest.mark.parametrize("depth", [1, 2, 3, 4])
def test_the_enumeration_is_that_of_all_schedules(depth: int) -> None:
    subject = question((near(MU), Fraction(1, 2)))
    problem = subject.piecewise(0)
    one = homogeneous((Fraction(1),))
    every = {problem.student(s).value(one)[0] for s in product(range(4), repeat=depth)}
    values, scale = reachable(depth)
    assert every == {Fraction(c, scale) for c in values}
    best = min(finite_error(c, subject) for c in every)
    assert best == best_error(subject, near(MU) / 3, depth)


def test_finite_depths_tend_to_the_floors() -> None:
    """One series tends to 0, the other to alpha / 6 from above; both are exact."""
    alpha = near(MU)
    split, plain = question((alpha, Fraction(1, 2))), question((alpha / 5, Fraction(0)))
    missed = [best_error(split, alpha / 3, depth) for depth in DEPTHS]
    reached = [best_error(plain, alpha / 5, depth) for depth in DEPTHS]
    assert all(error >= alpha / 6 for error in missed)
    assert all(error >= 0 for error in reached)
    assert missed[0] > alpha / 6 + Fraction(1, 10) and reached[0] > Fraction(1, 10)
    for excess in ([e - alpha / 6 for e in missed], reached):
        assert max(excess[5:]) < Fraction(1, 100) and max(excess[8:]) < Fraction(1, 1000)


def test_lifted_floors_at_a_depth_bound_every_schedule() -> None:
    """The observable decays freely at every depth as well (theory T3.6)."""
    alpha = near(MU)
    subject = question((alpha, Fraction(1, 2)))
    for depth in (1, 4, 10):
        (bound,) = observable.check(subject, produce_observable(subject, 0, depth))
        assert bound.quantity == "ideal_error" and depth in bound.depths
        assert alpha / 6 - TINY < bound.value <= best_error(subject, alpha / 3, depth)


def test_witnesses_beyond_the_interval_are_refused() -> None:
    asked = pwa_question(
        [atom([[1]])],
        NetworkTarget("network", (atom([[1]]),)),
        dimension=1,
        inputs=1,
        region=box([-1], [1]),
        witnesses=[[2]],
        norm=LINF,
    )
    with pytest.raises(InputError, match="outside the region"):
        Subject(asked, {}).affine_floor(0)
