"""Published switched systems and optimal control examples: the bracket holds the known answer.

Each is turned into the form that is asked here: a fixed horizon, and the distance of the endpoint
to a target. Below a known minimal time that distance is positive, from it on 0.

- J. B. Lasserre, D. Henrion, C. Prieur, E. Trélat, *Nonlinear optimal control via occupation
  measures and LMI-relaxations*, SIAM J. Control Optim. 47 (2008) 1643-1666, section 5: the double
  integrator, and the Brockett integrator.
- B. Stellato, S. Ober-Blöbaum, P. J. Goulart, *Second-order switching time optimization for
  switched dynamical systems*, IEEE Trans. Automat. Control 62 (2017) 5407-5414, the switched linear
  example with unstable modes.
- S. Sager, *Reformulations and algorithms for the optimization of switching decisions in nonlinear
  optimal control*, J. Process Control 19 (2009) 1238-1247: the Lotka-Volterra fishing problem.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest
from dynamic_questions import affine_question, polynomial_question
from dynamic_truth import ROUNDING, enumerated_value, scalar_floor
from lifted_questions import L1, LINF

from qreplace.check import affine_dynamics as affine_checker
from qreplace.check import hjb_sos as hjb_checker
from qreplace.check import relaxed_control as control_checker
from qreplace.produce import affine_dynamics, hjb_sos
from qreplace.produce.relaxed_control import produce
from qreplace.question.model import Question
from qreplace.question.subject import Subject

Lower = Callable[[Subject], tuple[Any, ...]]


def by_support(subject: Subject) -> tuple[Any, ...]:
    """Bounds of the affine engine, checked."""
    return affine_checker.check(subject, affine_dynamics.produce(subject, 0))


def by_value_function(subject: Subject) -> tuple[Any, ...]:
    """Bounds of a value function of degree 4, checked."""
    return hjb_checker.check(subject, hjb_sos.produce(subject, 0, order=2))


def bracket(question: Question, lower: Lower) -> tuple[float, float]:
    """Largest checked lower end, and the checked error of the produced control."""
    subject = Subject(question, {})
    lows = [bound.value for bound in lower(subject) if bound.side == "lower"]
    (upper,) = control_checker.check(subject, produce(subject, 0))
    low = max(lows, default=Fraction(0))
    assert low <= upper.value
    return float(low), float(upper.value)


# --- double integrator ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("horizon", "truth"),
    [
        # Along lambda = (1, -r) / (1 + r), r = sqrt(3/2) - 1.
        (1, 3 - math.sqrt(6)),
        (2, 0.0),  # the minimal time from (1, 0): T = 2 sqrt(x_1) there
        (3, 0.0),
    ],
)
def test_double_integrator(horizon: int, truth: float) -> None:
    """``x_1' = x_2, x_2' = u``, ``|u| <= 1``, from (1, 0) to rest at 0, in the maximum norm.

    At time 1 the endpoint leaves ``max over lambda of lambda_1 - int |lambda_1 s + lambda_2| ds``
    over ``|lambda_1| + |lambda_2| <= 1``: ``(1/2 + r - r^2) / (1 + r)`` at its largest.
    """
    question = affine_question(
        [[0, 1], [0, -1]], [0, 0], [1, 0], LINF, state_matrix=[[0, 1], [0, 0]], horizon=horizon
    )
    low, high = bracket(question, by_support)
    assert low <= truth + 1e-12 and truth - 1e-12 <= high
    assert high - low <= 1e-9


# --- Brockett integrator --------------------------------------------------------------------------

BROCKETT = [["1", "0", "-z2"], ["-1", "0", "z2"], ["0", "1", "z1"], ["0", "-1", "-z1"]]


def test_brockett_integrator_below_its_minimal_time() -> None:
    """``x_3' = x_1 u_2 - x_2 u_1`` with u in the diamond, from 0 towards (0, 0, 1), in l1.

    A path that ends at (a, b), closed by a segment to 0, has l1-length at most ``1 + s`` with
    ``s = |a| + |b|``; the isoperimetric inequality of the l1 plane (perimeter^2 / 16, the square)
    gives ``x_3 <= (1 + s)^2 / 8``. So the distance ``s + |1 - x_3|`` is least at s = 0: 7/8. The
    minimal time to the target is sqrt(8) in the diamond (sqrt(2 pi) in the published disc).
    """
    low, high = bracket(polynomial_question(BROCKETT, [0, 0, 1], norm=L1), by_value_function)
    assert low <= 7 / 8 <= high
    assert high == 7 / 8 and low > 0.7


def test_brockett_integrator_at_its_minimal_time() -> None:
    """(0, 0, 1/8) takes the time 1 along the square, and is reached exactly then."""
    question = polynomial_question(BROCKETT, [0, 0, "1/8"], norm=L1)
    subject = Subject(question, {})
    (upper,) = control_checker.check(subject, produce(subject, 0))
    assert 0 <= upper.value < 1e-6


# --- switched linear modes ------------------------------------------------------------------------


def test_switched_linear_modes() -> None:
    """``A_1 = [[-1, 0], [1, 2]]``, ``A_2 = [[1, 1], [1, -2]]`` from (1, 1) over one second.

    How near to 0 the state can be driven: at the end the modes are mixed, along an arc that no
    finite switching follows exactly.
    """
    modes = [["-z1", "z1 + 2*z2"], ["z1 + z2", "z1 - 2*z2"]]
    question = polynomial_question(modes, [0, 0], [1, 1])
    problem = Subject(question, {}).polynomial(0)
    reached = enumerated_value(problem, question.norm, cells=12, mixtures=4, keep=2000)
    low, high = bracket(question, by_value_function)
    assert low <= reached + ROUNDING
    assert high <= reached * 1.002
    assert high - low <= 0.005 * high


# --- fishing --------------------------------------------------------------------------------------

FISHING = [["z1 - z1*z2", "z1*z2 - z2"], ["3/5*z1 - z1*z2", "z1*z2 - 6/5*z2"]]
"""Prey and predator without fishing, and with it (catch rates 0.4 and 0.2)."""


def test_lotka_volterra_fishing() -> None:
    """From (0.5, 0.7) towards the equilibrium (1, 1) within one unit of time.

    Fishing only takes prey away that is below its equilibrium: the best control never fishes.
    """
    question = polynomial_question(FISHING, [1, 1], ["1/2", "7/10"])
    problem = Subject(question, {}).polynomial(0)
    reached = enumerated_value(problem, question.norm, cells=12, keep=2000)
    low, high = bracket(question, by_value_function)
    assert low <= reached + ROUNDING and reached - ROUNDING <= high
    assert high - low <= 1e-5


# --- switched scalar ------------------------------------------------------------------------------


def test_switched_scalar() -> None:
    """``x' = -x + u``, u in {0, 1}, target 2: squared floor ``(1 + 1/e)^2`` (theory T7.9)."""
    question = polynomial_question([["-z1"], ["1 - z1"]], [2])
    truth = 1 + math.exp(-1)
    assert abs(scalar_floor(Subject(question, {}).polynomial(0), 1000) - truth) < 1e-9
    low, high = bracket(question, by_value_function)
    assert low <= truth <= high + 1e-15
    assert low**2 >= 1.87108 and high - truth < 1e-12
