"""Enclosed flows contain the true ones, tightly, and cost what is stated."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import mpmath
import pytest
from affine_systems import euler, forcing_at, random_affine
from dynamic_questions import affine_question
from hypothesis import given, settings
from hypothesis import strategies as st

from qreplace.errors import Malformed
from qreplace.exact.affine_flow import (
    Mixture,
    adjoint_cells,
    cut_times,
    discrete_endpoint,
    endpoint,
    growth,
    integrands,
    precision,
)
from qreplace.exact.bernstein import bernstein, positive_integral
from qreplace.exact.observables import DriftPiece, combined_endpoint, observable_flow
from qreplace.exact.support_function import discrete_support, support
from qreplace.question.dynamics import AffineProblem, ForcingOnPiece
from qreplace.question.subject import Subject

DIGITS = 70
SEEDS = st.integers(0, 10**6)


def number(x: Fraction) -> mpmath.mpf:
    return mpmath.mpf(x.numerator) / x.denominator


def true_endpoint(problem: AffineProblem, control: list[Mixture]) -> list[mpmath.mpf]:
    """The state at the horizon by exponentials of the augmented generator, piece by piece."""
    size = problem.dimension
    state = [number(Fraction(n, problem.denominator)) for n in problem.initial]
    marks = sorted({Fraction(0), *problem.breaks, *(m.end for m in control)})
    for start, end in itertools.pairwise(marks):
        mixture = next(m for m in control if end <= m.end)
        degree = max(len(p.coefficients) for atom in problem.atoms for p in atom)
        mixed = [[Fraction(0)] * size for _ in range(degree)]
        for j, weight in enumerate(mixture.weights):
            rows = problem.piece_at(j, start, end).coefficients
            for k, row in enumerate(rows):
                for i in range(size):
                    share = Fraction(weight * row[i], mixture.total * problem.denominator)
                    mixed[k][i] += share
        # States z, then the powers t^k as chain: (t^k)' = k t^(k-1).
        generator = mpmath.zeros(size + degree)
        for i in range(size):
            for k in range(size):
                generator[i, k] = number(problem.entry(i, k))
            for k in range(degree):
                generator[i, size + k] = number(mixed[k][i])
        for k in range(1, degree):
            generator[size + k, size + k - 1] = k
        powers = [number(start) ** k if k else mpmath.mpf(1) for k in range(degree)]
        moved = mpmath.expm(generator * number(end - start)) * mpmath.matrix(state + powers)
        state = [moved[i] for i in range(size)]
    return state


@settings(max_examples=40)
@given(SEEDS, st.data())
def test_endpoints_are_enclosed_tightly(seed: int, data: st.DataObject) -> None:
    problem = random_affine(seed).affine(0)
    weights = st.lists(st.integers(0, 5), min_size=3, max_size=3).filter(lambda w: any(w[:2]))
    control = []
    for k in (1, 3):
        drawn = data.draw(weights)[: len(problem.atoms)]
        control.append(Mixture(problem.horizon * Fraction(k, 3), drawn, sum(drawn)))
    found = endpoint(problem, control)
    with mpmath.workdps(DIGITS):
        for centre, true in zip(found.centre, true_endpoint(problem, control), strict=True):
            distance = abs(number(Fraction(centre, found.denominator)) - true)
            assert distance <= number(found.radius) + mpmath.mpf(10) ** -(DIGITS - 12)
    assert found.radius < Fraction(1, 2**100)


def test_precision_outlasts_growth() -> None:
    """``||A|| T = 122`` with ``e^{AT}`` of that size: still 100 bits of the data's last unit."""
    question = affine_question([[1, 0]], [0, 0], [1, 1], rate=1, state_matrix=[[59, 0], [1, 58]],
                               horizon=2)  # fmt: skip
    problem = Subject(question, {}).affine(0)
    assert growth(problem) == 122
    found = endpoint(problem, [Mixture(Fraction(2), [1], 1)])
    with mpmath.workdps(160):
        true = true_endpoint(problem, [Mixture(Fraction(2), [1], 1)])
        for centre, value in zip(found.centre, true, strict=True):
            distance = abs(number(Fraction(centre, found.denominator)) - value)
            assert distance <= number(found.radius)
            assert distance < abs(value) * mpmath.mpf(2) ** -100
    assert found.radius < Fraction(1, 2**100) * Fraction(str(mpmath.nstr(true[0], 30)))


@settings(max_examples=25)
@given(SEEDS)
def test_integrands_are_enclosed(seed: int) -> None:
    problem = random_affine(seed).affine(0)
    if problem.matrix is None:
        return
    functional = [k + 1 for k in range(problem.dimension)]
    bits = precision(problem)
    times = cut_times(problem, [problem.horizon / 3], Fraction(4))
    unit = problem.denominator << bits
    with mpmath.workdps(DIGITS):
        matrix = mpmath.matrix(
            [
                [number(problem.entry(i, k)) for k in range(problem.dimension)]
                for i in range(problem.dimension)
            ]
        )
        for cell in adjoint_cells(problem, functional, 7, times, bits):
            for x in (Fraction(0), Fraction(1, 3), Fraction(1)):
                left = cell.start + cell.width * x
                moved = mpmath.expm(matrix.T * number(left)) * mpmath.matrix(functional) / 7
                for j, function in enumerate(integrands(problem, cell)):
                    value = sum(c * x**k for k, c in enumerate(function.coefficients)) / unit
                    middle = problem.horizon - cell.start - cell.width / 2
                    piece = [p for p in problem.atoms[j] if p.start <= middle][-1]
                    now = problem.horizon - left
                    drift = [
                        sum(Fraction(r[i], problem.denominator) * now**k
                            for k, r in enumerate(piece.coefficients))
                        for i in range(problem.dimension)
                    ]  # fmt: skip
                    true = sum(number(b) * moved[i] for i, b in enumerate(drift))
                    assert abs(number(Fraction(value)) - true) <= (
                        number(Fraction(function.error, unit)) + mpmath.mpf(10) ** -60
                    )


def pieces_of(problem: AffineProblem, atoms: list[int]) -> list[tuple[Fraction, int]]:
    count = len(atoms)
    return [(problem.horizon * Fraction(k + 1, count), atom) for k, atom in enumerate(atoms)]


@settings(max_examples=15)
@given(SEEDS, st.data())
def test_no_control_exceeds_the_support_function(seed: int, data: st.DataObject) -> None:
    """Whatever the dominant atoms are: they cost next to nothing."""
    problem = random_affine(seed).affine(0)
    indices = range(problem.dimension)
    functional = data.draw(
        st.lists(st.integers(-5, 5), min_size=problem.dimension, max_size=problem.dimension)
    )
    atom = st.integers(0, len(problem.atoms) - 1)
    dominant = pieces_of(problem, data.draw(st.lists(atom, min_size=1, max_size=4)))
    bound = support(problem, indices, functional, 3, dominant)
    for atoms in itertools.product(range(len(problem.atoms)), repeat=3):
        control = [
            Mixture(end, [int(k == j) for k in range(len(problem.atoms))], 1)
            for end, j in pieces_of(problem, list(atoms))
        ]
        found = endpoint(problem, control)
        value = Fraction(sum(f * z for f, z in zip(functional, found.centre, strict=True)), 3)
        value = value / found.denominator - sum(map(abs, functional)) * found.radius
        assert value <= bound
    other = support(problem, indices, functional, 3, [(problem.horizon, 0)])
    assert abs(other - bound) < Fraction(1, 10**3) * (1 + abs(bound))


@settings(max_examples=40)
@given(SEEDS, st.integers(1, 4), st.data())
def test_discrete_support_is_the_enumerated_maximum(
    seed: int, depth: int, data: st.DataObject
) -> None:
    problem = random_affine(seed).affine(0)
    functional = data.draw(
        st.lists(st.integers(-5, 5), min_size=problem.dimension, max_size=problem.dimension)
    )
    bound = discrete_support(problem, range(problem.dimension), functional, 3, depth)
    best = max(
        sum(f * z for f, z in zip(functional, euler(problem, schedule), strict=True)) / 3
        for schedule in itertools.product(range(len(problem.atoms)), repeat=depth)
    )
    # The maximum is attained by the schedule that takes the largest integrand at every step.
    assert 0 <= bound - best < Fraction(1, 2**100)


@settings(max_examples=25)
@given(SEEDS, st.integers(1, 6))
def test_discrete_endpoints_are_enclosed(seed: int, depth: int) -> None:
    problem = random_affine(seed, coupled=True).affine(0)
    found = discrete_endpoint(problem, 1, depth)
    for centre, true in zip(found.centre, euler(problem, [1] * depth), strict=True):
        assert abs(Fraction(centre, found.denominator) - true) <= found.radius


def test_one_rate_is_the_matrix_of_that_rate() -> None:
    for seed in range(12):
        scalar = random_affine(seed, coupled=False).affine(0)
        size = scalar.dimension
        rows = tuple(tuple(0 for _ in range(size)) for _ in range(size))
        full: Any = AffineProblem(
            scalar.rate, rows, 1, scalar.initial, scalar.target, scalar.atoms,
            scalar.denominator, scalar.horizon,
        )  # fmt: skip
        dominant = [(scalar.horizon, 0)]
        one = support(scalar, range(size), [2] * size, 3, dominant)
        other = support(full, range(size), [2] * size, 3, dominant)
        # Scalar and coupled cells are the same, so are their bounds up to rounding.
        assert abs(one - other) < Fraction(1, 2**80)
        control = [Mixture(scalar.horizon, [1] * len(scalar.atoms), len(scalar.atoms))]
        states = [endpoint(scalar, control), endpoint(full, control)]
        for a, b in zip(states[0].centre, states[1].centre, strict=True):
            gap = Fraction(a, states[0].denominator) - Fraction(b, states[1].denominator)
            assert abs(gap) <= states[0].radius + states[1].radius
        depth = 5
        one = discrete_support(scalar, range(size), [2] * size, 3, depth)
        other = discrete_support(full, range(size), [2] * size, 3, depth)
        assert abs(one - other) < Fraction(1, 2**100)


def test_without_dynamics_everything_is_exact() -> None:
    problem = Subject(affine_question([[1], ["1/3"]], [2], ["1/7"]), {}).affine(0)
    found = endpoint(problem, [Mixture(Fraction(1, 3), [1, 0], 1), Mixture(Fraction(1), [1, 2], 3)])
    assert found.radius == 0
    expected = Fraction(1, 7) + Fraction(1, 3) + Fraction(2, 3) * Fraction(5, 9)
    assert Fraction(found.centre[0], found.denominator) == expected
    assert support(problem, [0], [1], 2, [(Fraction(1), 1)]) == Fraction(4, 7)
    assert discrete_support(problem, [0], [1], 2, 10**12) == Fraction(4, 7)
    assert support(problem, [0], [0], 2, [(Fraction(1), 1)]) == 0


@settings(max_examples=80)
@given(st.lists(st.lists(st.integers(-9, 9), min_size=1, max_size=5), min_size=1, max_size=3))
def test_bernstein_bounds(polynomials: list[list[int]]) -> None:
    width = Fraction(3, 7)
    bound = positive_integral(polynomials, width, 0)

    def at(coefficients: list[int], x: Fraction) -> Fraction:
        return sum((c * x**k for k, c in enumerate(coefficients)), Fraction(0))

    points = 60
    middle = [Fraction(2 * k + 1, 2 * points) for k in range(points)]
    largest = [max(Fraction(0), *(at(p, x) for p in polynomials)) for x in middle]
    slope = max(sum(k * abs(c) for k, c in enumerate(p)) for p in polynomials)
    truth = width * sum(largest) / points
    slack = width * slope * Fraction(1, 2 * points)
    assert bound >= truth - slack
    assert bound <= truth + slack + width * slope / 4 + 1
    row, scale = bernstein(polynomials[0])
    assert Fraction(row[0], scale) == at(polynomials[0], Fraction(0))
    assert Fraction(row[-1], scale) == at(polynomials[0], Fraction(1))
    assert min(row) <= scale * at(polynomials[0], Fraction(1, 3)) <= max(row)


def test_a_crossing_in_the_middle_of_a_cell_costs_little() -> None:
    """``max(0, x - 1/3)`` has integral 2/9; without halving the bound would be 1/3."""
    unit = 10**12
    bound = positive_integral([[-unit, 3 * unit]], Fraction(1), 0)
    truth = Fraction(2, 3) * unit
    assert truth <= bound <= truth * Fraction(10001, 10000)


def test_limits_raise() -> None:
    problem = Subject(affine_question([[0], [1]], [1], state_matrix=[[1]]), {}).affine(0)
    with pytest.raises(Malformed, match="at most 8192 cells"):
        cut_times(problem, [], Fraction(20_000))
    with pytest.raises(Malformed, match="within the horizon"):
        cut_times(problem, [Fraction(2)], Fraction(1))


@pytest.mark.parametrize("depth", [None, 1, 5])
def test_observables_without_coupling_are_exact(depth: int | None) -> None:
    third = Fraction(1, 3)
    drift = [
        DriftPiece(Fraction(0), third, ((Fraction(1),), (Fraction(2),))),
        DriftPiece(third, Fraction(1), ((Fraction(0),), (Fraction(0),), (Fraction(3),))),
    ]
    flow = observable_flow([[Fraction(0)]], drift, [third], Fraction(1))
    low, high = combined_endpoint(flow, [Fraction(2)], depth)
    assert low == high
    if depth is None:
        assert low == 2 * (third + third + Fraction(1, 9) + 1 - Fraction(1, 27))
    else:
        problem = AffineProblem(
            Fraction(0), ((0,),), 1, (1,), (0,),
            ((ForcingOnPiece(Fraction(0), third, ((3,), (6,))),
              ForcingOnPiece(third, Fraction(1), ((0,), (0,), (9,)))),),
            3, Fraction(1),
        )  # fmt: skip
        assert low == 2 * euler(problem, [0] * depth)[0]
        assert forcing_at(problem, 0, third) == [third]


def test_large_states_of_one_rate_take_no_time() -> None:
    rows = [[(7 * i * j + j) % 255 - 127 for i in range(6144)] for j in range(16)]
    problem = AffineProblem(
        Fraction(-1, 2), None, 1, (1,) * 6144, (0,) * 6144,
        tuple((ForcingOnPiece(Fraction(0), Fraction(1), (tuple(row),)),) for row in rows),
        64, Fraction(1),
    )  # fmt: skip
    support(problem, range(6144), [1] * 6144, 6144, [(Fraction(1), 0)])
    found = endpoint(problem, [Mixture(Fraction(1), [1] * 16, 16)])
    assert found.radius < Fraction(1, 2**100)
