"""Perturbed brackets and the boxes they stand on."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from dynamic_questions import polynomial_question
from lifted_questions import L2, LINF

from qreplace.check.perturbed import check
from qreplace.check.region import check_box
from qreplace.claims import claim_bytes
from qreplace.errors import ProducerFailed
from qreplace.produce.perturbed import produce
from qreplace.produce.tubes import find_box, reach
from qreplace.question.dynamics import PolynomialProblem
from qreplace.question.subject import Subject


def problem(
    atoms: list[list[str]], initial: list[str] | None = None, horizon: str = "1"
) -> PolynomialProblem:
    size = len(atoms[0])
    question = polynomial_question(atoms, [1] * size, initial, horizon=horizon)
    return Subject(question, {}).polynomial(0)


def test_an_affine_system_loses_nothing() -> None:
    """``x' = u - x/2``: 2 - 2 (1 - e^{-1/2}), its own nominal system."""
    subject = Subject(polynomial_question([["-z1/2"], ["1 - z1/2"]], [2], norm=LINF), {})
    claim = produce(subject, 0)
    (bound,) = check(subject, claim)
    assert claim.field_error == 0
    assert abs(float(bound.value) - 2 * math.exp(-0.5)) < 1e-7


def test_the_loss_falls_with_the_nonlinearity() -> None:
    """``x' = u - x/2 + c x^3``: from below, and within the error times the horizon."""
    last = None
    for c in (4, 16, 64):
        atoms = [[f"-z1/2 + z1^3/{16 * c}"], [f"1 - z1/2 + z1^3/{16 * c}"]]
        subject = Subject(polynomial_question(atoms, [2], norm=LINF), {})
        claim = produce(subject, 0)
        (bound,) = check(subject, claim)
        gap = 2 * math.exp(-0.5) - float(bound.value)
        assert 0 < gap < 0.1
        assert last is None or gap < last / 2
        last = gap


def test_what_leaves_nothing_is_said() -> None:
    near = Subject(polynomial_question([["-z1^3"], ["1 + z1^3"]], ["1/4"], horizon="1/2"), {})
    with pytest.raises(ProducerFailed, match="leaves nothing"):
        produce(near, 0)
    away = Subject(polynomial_question([["z1^2"], ["1 + z1^2"]], [1], horizon=4), {})
    with pytest.raises(ProducerFailed, match="no box"):
        produce(away, 0)


def test_the_same_claim_every_time() -> None:
    atoms = [["z2", "-z1 + z1^3/6"], ["z2", "1 - z1 + z1^3/6"]]
    subject = Subject(polynomial_question(atoms, [1, 1], norm=L2, horizon="1/2"), {})
    assert claim_bytes(produce(subject, 0)) == claim_bytes(produce(subject, 0))


# --- boxes -------------------------------------------------------------------------------------

BOXES = [
    problem([["1"], ["-1"]]),
    problem([["-z1"], ["1 - z1"]], horizon="3/4"),
    problem([["z2", "z1^3 - z1"], ["z2 + 1", "-z1 - z1^3/4"]], ["1/3", "1/7"], "1/2"),
    problem([["z2", "1 - z1^2*z2"], ["t*z2", "-z1 - z1^3/4"]], horizon="1/2"),
    problem(
        [["z2*z3", "-z1*z3", "z1*z2/2"], ["z2*z3 + 1/4", "-z1*z3", "z1*z2/2"]],
        ["1/3", "1/7", "1/5"],
    ),
]


@pytest.mark.parametrize("number", range(len(BOXES)))
def test_boxes_hold_by_the_checkers_own_rule(number: int) -> None:
    found = find_box(BOXES[number])
    check_box(BOXES[number], found, "")
    sides = list(zip(found.lower, found.upper, strict=True))
    reached = reach(BOXES[number], sides, found.cells)
    for (low, high), (low_by_speed, high_by_speed), start in zip(
        sides, reached, BOXES[number].initial, strict=True
    ):
        assert low <= start <= high
        # No wider than twice what speeds alone reach on it.
        assert high - low <= 2 * (high_by_speed - low_by_speed) + Fraction(1, 64)


def test_the_known_box() -> None:
    found = find_box(BOXES[0])
    assert (found.lower, found.upper) == ((Fraction(-1),), (Fraction(1),))


def test_no_box_for_what_escapes() -> None:
    with pytest.raises(ProducerFailed, match="no box holds every trajectory"):
        find_box(problem([["z1^2"], ["1 + z1^2"]], ["1"], "2"))
