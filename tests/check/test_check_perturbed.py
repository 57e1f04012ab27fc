"""No ``perturbed`` claim that passes is beaten by a trajectory of the true field."""

from __future__ import annotations

import dataclasses
import random
from fractions import Fraction

import numpy as np
import pytest
from dynamic_questions import polynomial_question
from hypothesis import given, settings
from hypothesis import strategies as st
from lifted_questions import L1, L2, LINF, block_l2, weighted_l1, weighted_linf

from qreplace.check.perturbed import adjoint_integral, check, dual_norm_bound, nominal_problem
from qreplace.errors import ProducerFailed, Rejected
from qreplace.produce.mixture_program import float_dual_norm, float_norm
from qreplace.produce.perturbed import produce
from qreplace.question.dynamics import PolynomialProblem
from qreplace.question.model import Norm
from qreplace.question.subject import Subject

NORMS: list[Norm] = [LINF, L1, L2, weighted_linf(1, 2), weighted_l1("1/2", 2), block_l2(1)]


def nearly_affine(seed: int, norm: Norm) -> Subject:
    """Two coordinates, two or three atoms, small quadratic and cubic terms and some time."""
    draw = random.Random(seed)

    def number(size: int, unit: int) -> str:
        return f"({draw.randint(-size, size)}/{unit})"

    def part() -> str:
        linear = f"{number(4, 4)} + {number(2, 4)}*z1 + {number(2, 4)}*z2"
        small = f"{number(2, 16)}*z1*z2 + {number(2, 24)}*z1^3"
        return f"{linear} + {small} + {number(2, 8)}*t + {number(1, 16)}*t*z2"

    atoms = [[part(), part()] for _ in range(draw.randint(2, 3))]
    target = [Fraction(draw.choice([-2, -1, 1, 2])), Fraction(draw.randint(-2, 2))]
    return Subject(polynomial_question(atoms, target, norm=norm, horizon="1/2"), {})


def simulated(problem: PolynomialProblem, atoms: list[int], steps: int) -> np.ndarray:
    """The endpoint of equal arcs by the fourth-order Runge-Kutta method."""
    state = np.array([float(x) for x in problem.initial])
    h = float(problem.horizon) / (steps * len(atoms))
    compiled = [
        [([float(c) for c in p.coefficients], np.array(p.exponents).reshape(-1, 3)) for p in field]
        for field in problem.atoms
    ]
    for number, atom in enumerate(atoms):
        for k in range(steps):
            t = (number * steps + k) * h

            def field(at: float, z: np.ndarray, atom: int = atom) -> np.ndarray:
                point = np.array([at, *z])
                return np.array(
                    [np.dot(c, np.prod(point**e, axis=1)) if c else 0.0 for c, e in compiled[atom]]
                )

            a = field(t, state)
            b = field(t + h / 2, state + h / 2 * a)
            c = field(t + h / 2, state + h / 2 * b)
            state = state + h / 6 * (a + 2 * b + 2 * c + field(t + h, state + h * c))
    return state


@settings(max_examples=5)
@given(st.integers(0, 10**6), st.sampled_from(NORMS))
def test_no_switching_beats_a_lower_end(seed: int, norm: Norm) -> None:
    subject = nearly_affine(seed, norm)
    problem = subject.polynomial(0)
    try:
        claim = produce(subject, 0)
    except ProducerFailed:
        return
    (bound,) = check(subject, claim)
    assert bound.value == claim.lower > 0
    assert bound.quantity == "relaxed_floor" and bound.covers == "every_schedule"
    target = np.array([float(y) for y in problem.target])
    draw = random.Random(seed)
    for _ in range(12):
        atoms = [draw.randrange(len(problem.atoms)) for _ in range(5)]
        assert float_norm(norm, simulated(problem, atoms, 8) - target) >= float(bound.value) - 1e-7
    for share in (Fraction(1, 10**4), Fraction(1, 2)):
        less = dataclasses.replace(claim, field_error=claim.field_error * (1 - share))
        if claim.field_error and share == Fraction(1, 2):
            with pytest.raises(Rejected, match="differs by more"):
                check(subject, less)


def test_most_of_these_systems_get_a_claim() -> None:
    """So the property above is not empty."""
    found = 0
    for seed in range(6):
        try:
            produce(nearly_affine(seed, NORMS[seed % len(NORMS)]), 0)
            found += 1
        except ProducerFailed:
            pass
    assert found >= 3


@pytest.mark.parametrize("norm", NORMS, ids=lambda norm: norm.kind)
def test_dual_norms_and_the_adjoint_integral(norm: Norm) -> None:
    numerators, denominator = [3, -4], 7
    exact = float_dual_norm(norm, np.array([3 / 7, -4 / 7]))
    bound = float(dual_norm_bound(norm, numerators, denominator))
    assert exact <= bound * (1 + 1e-15) and bound <= exact * (1 + 1e-12)
    claim = None
    for seed in range(40):
        try:
            subject = nearly_affine(seed, norm)
            claim = produce(subject, 0)
            break
        except ProducerFailed:
            continue
    assert claim is not None
    nominal = nominal_problem(subject.polynomial(0), claim)
    vector = [0.0, 0.0]
    for index, n in zip(claim.witness.vector.indices, claim.witness.vector.numerators, strict=True):
        vector[index] = float(n / claim.witness.vector.denominator)
    numbers = [n.numerator for n in claim.witness.vector.numerators]
    bound = float(adjoint_integral(norm, nominal, claim.witness, numbers))
    from scipy.linalg import expm

    matrix = np.array([[float(x) for x in row] for row in claim.matrix])
    count = 400
    h = float(nominal.horizon) / count
    lengths = [
        float_dual_norm(norm, expm(matrix.T * (k + 0.5) * h) @ np.array(vector))
        for k in range(count)
    ]
    truth = sum(lengths) * h
    assert truth <= bound + 1e-7
    assert bound <= truth * 1.02
