"""Sums-of-squares programmes: known optima, the exact repair, the change of variables, limits."""

from __future__ import annotations

import dataclasses
from fractions import Fraction

import numpy as np
import pytest
from dynamic_questions import polynomial
from hypothesis import given, settings
from hypothesis import strategies as st
from value_systems import SWITCHED, system

from qreplace.check.sums_of_squares import expand, expand_combination
from qreplace.claims.sums_of_squares import NO_SQUARES, Gram
from qreplace.errors import ProducerFailed
from qreplace.exact.intervals import range_on
from qreplace.exact.polynomial import (
    ZERO,
    Polynomial,
    accumulate,
    constant,
    from_terms,
    variable,
)
from qreplace.produce.direct_solver import solve_directly
from qreplace.produce.documents import combination
from qreplace.produce.hulls import bernstein, hull_part
from qreplace.produce.modelled_solver import solve
from qreplace.produce.monomials import count, monomials, reduced_basis
from qreplace.produce.rounding import (
    NotDefinite,
    exact_solution,
    group_norms,
    repaired,
    rounded_parameters,
)
from qreplace.produce.scaling import Scaling, scaling_of
from qreplace.produce.sides import propose_sides
from qreplace.produce.sos_program import (
    Budget,
    Clock,
    FloatSolution,
    NoSuchSquares,
    ParameterSet,
    Program,
    Solver,
    identity,
    require_size,
)

ONE = constant(Fraction(1), 2)
FRACTIONS = st.fractions(min_value=-4, max_value=4, max_denominator=12)


def bound_program(text: str, degree: int, ball: bool = False) -> Program:
    """The largest theta with ``p - theta`` a sum of squares (on ``[-1, 1]^2`` if asked)."""
    goal = polynomial(text, 1)
    sides = [(i, ONE - variable(i, 2) * variable(i, 2)) for i in range(2)] if ball else []
    part = identity("bound", goal, {0: -ONE}, sides, range(2), 2, degree)
    return Program((part,), 1, {0: Fraction(1)})


@pytest.mark.parametrize("solver", ["CLARABEL", "SCS"])
def test_a_minimum_is_found_and_proved(solver: Solver) -> None:
    """``z^4 - 3 z^2 + 1`` has minimum -5/4; SCS gets there with a wider margin."""
    program = bound_program("z1^4 - 3*z1^2 + 1 + t^4 + t^2*z1^2", 4)
    solution = exact_solution(program, Clock(), solver)
    assert -1.2505 < solution.parameters[0] <= Fraction(-5, 4)
    document = combination(
        program.identities[0], solution, 0, IDENTITY, Fraction(1), lambda _: Fraction(1)
    )
    shown = expand_combination(document, [], 2, "")
    assert shown == program.identities[0].fixed - ONE.scaled(solution.parameters[0])


IDENTITY = Scaling((Fraction(0), Fraction(0)), (Fraction(1), Fraction(1)))


def test_what_is_not_a_sum_of_squares_is_refused_with_its_value() -> None:
    """Motzkin's polynomial is nonnegative, yet no ``p - theta`` is a sum of squares."""
    program = bound_program("t^4*z1^2 + t^2*z1^4 - 3*t^2*z1^2 + 1", 6)
    with pytest.raises(ProducerFailed, match="no exact certificate"):
        exact_solution(program, Clock(), attempts=2)
    on_box = bound_program("t^4*z1^2 + t^2*z1^4 - 3*t^2*z1^2 + 1", 6, ball=True)
    solution = exact_solution(on_box, Clock())
    assert -0.01 < solution.parameters[0] <= 0


def test_the_reason_names_identity_and_eigenvalue_and_labels_the_value() -> None:
    """With one attempt and no margin the free part lands outside and says so."""
    program = bound_program("z1^4 - 3*z1^2 + 1 + t^4 + t^2*z1^2", 4)
    with pytest.raises(ProducerFailed) as caught:
        exact_solution(program, Clock(), margin=-1e-6, attempts=1)
    assert "bound: the Gram matrix of the free part" in caught.value.message
    assert "smallest eigenvalue" in caught.value.message
    assert "a diagnostic only" in caught.value.message


@settings(max_examples=15)
@given(st.integers(0, 10_000), st.sampled_from([1e-12, 1e-9, 1e-4]))
def test_recorded_answers_are_repaired_or_refused(seed: int, noise: float) -> None:
    """A recorded answer with noise: the identity holds exactly, whatever the noise, or no answer.

    Noise far below the margin never hurts; noise far above is refused, not passed on.
    """
    program, floats = RECORDED
    generator = np.random.Generator(np.random.PCG64(seed))
    shaken = dataclasses.replace(
        floats,
        parameters=floats.parameters + noise * generator.standard_normal(1),
        grams=tuple(
            tuple(g + noise * generator.standard_normal(g.shape) for g in group)
            for group in floats.grams
        ),
    )
    try:
        solution = repaired(program, shaken, 1e-6)
    except NotDefinite as error:
        assert noise > 1e-9
        assert error.eigenvalue < 0
        return
    document = combination(
        program.identities[0], solution, 0, IDENTITY, Fraction(1), lambda _: Fraction(1)
    )
    sides = [ONE - variable(i, 2) * variable(i, 2) for i in range(2)]
    shown = expand_combination(document, sides, 2, "")
    assert shown == program.identities[0].fixed - ONE.scaled(solution.parameters[0])


def _recorded() -> tuple[Program, FloatSolution]:
    program = bound_program("z1^4 - 3*z1^2 + 1 + t*z1", 4, ball=True)
    return program, solve(program, 1e-6, "CLARABEL", Clock())


RECORDED = _recorded()


@settings(max_examples=60)
@given(
    st.lists(FRACTIONS, min_size=6, max_size=6),
    st.lists(FRACTIONS, min_size=2, max_size=2),
    st.lists(
        st.sampled_from([Fraction(1, 4), Fraction(1, 2), Fraction(2)]), min_size=2, max_size=2
    ),
)
def test_gram_matrices_keep_their_polynomial_under_scaling(
    entries: list[Fraction], centres: list[Fraction], radii: list[Fraction]
) -> None:
    scaling = Scaling(tuple(centres), tuple(radii))
    basis = monomials((0, 1), 2, 1)
    zero = Fraction(0)
    root = [[entries[0], zero, zero], [entries[1], entries[2], zero], entries[3:]]
    rows = [
        [sum((a * b for a, b in zip(x, y, strict=True)), Fraction(0)) for y in root] for x in root
    ]
    document = scaling.gram(basis, rows, Fraction(3, 2))
    terms: dict[tuple[int, ...], Fraction] = {}
    for i, one in enumerate(basis):
        for j, other in enumerate(basis):
            key = tuple(map(sum, zip(one, other, strict=True)))
            accumulate(terms, from_terms({key: Fraction(1)}), rows[i][j])
    expected = scaling.original(from_terms(terms)).scaled(Fraction(3, 2))
    assert expand(document, 2, "") == expected
    assert scaling.scaled(scaling.original(expected)) == expected


def test_a_zero_gram_matrix_is_no_squares() -> None:
    assert IDENTITY.gram(monomials((0,), 2, 1), [[Fraction(0)] * 2] * 2, Fraction(1)) == NO_SQUARES


def test_reduction_keeps_what_a_gram_matrix_can_use() -> None:
    """The Newton polytope of Motzkin's polynomial leaves 1, xy, x^2 y, x y^2; no square of x."""
    motzkin = polynomial("t^4*z1^2 + t^2*z1^4 - 3*t^2*z1^2 + 1", 1)
    kept = reduced_basis(monomials((0, 1), 2, 3), motzkin.exponents)
    assert set(kept) == {(0, 0), (1, 1), (2, 1), (1, 2)}
    assert reduced_basis(monomials((0, 1), 2, 2), polynomial("t^2", 1).exponents) == ((1, 0),)
    assert reduced_basis(monomials((0, 1), 2, 2), polynomial("t*z1", 1).exponents) == ()


@pytest.mark.parametrize("variables", [1, 2, 3])
@pytest.mark.parametrize("degree", [0, 1, 2, 3])
def test_monomials_are_counted(variables: int, degree: int) -> None:
    found = monomials(range(1, variables + 1), variables + 1, degree)
    assert len(set(found)) == len(found) == count(variables, degree)
    assert all(e[0] == 0 and sum(e) <= degree for e in found)


@settings(max_examples=80)
@given(
    st.sampled_from(["budget", "l1", "linf", "l2"]),
    st.lists(st.floats(-2, 2), min_size=4, max_size=4),
    st.lists(st.fractions(Fraction(1, 3), 3, max_denominator=5), min_size=4, max_size=4),
)
def test_rounded_parameters_stay_in_their_sets(
    kind: str, values: list[float], sizes: list[Fraction]
) -> None:
    chosen = ParameterSet(kind, (0, 1, 2, 3), tuple(sizes), group=2)  # type: ignore[arg-type]
    program = Program((), 5, {}, (chosen,))
    *own, free = rounded_parameters(program, np.array([*values, 7.25]), 34)
    assert free == Fraction(29, 4)
    scaled = [abs(v) * s for v, s in zip(own, sizes, strict=True)]
    size = {
        "budget": sum(scaled),
        "l1": sum(scaled),
        "linf": max(scaled),
        "l2": sum(group_norms(scaled, 2)),
    }[kind]
    assert size <= 1
    if kind == "budget":
        assert min(own) >= 0
    else:
        inside = _float_size(kind, values, sizes) <= 0.999
        assert not inside or all(abs(a - b) < 1e-9 for a, b in zip(own, values, strict=True))


def _float_size(kind: str, values: list[float], sizes: list[Fraction]) -> float:
    scaled = np.abs(values) * np.array([float(s) for s in sizes])
    if kind == "l2":
        return float(np.sqrt((scaled.reshape(2, 2) ** 2).sum(axis=1)).sum())
    return float(scaled.sum() if kind == "l1" else scaled.max())


# --- limits ---------------------------------------------------------------------------------------


def test_large_programmes_are_refused_with_their_size() -> None:
    with pytest.raises(ProducerFailed, match="Gram matrices of 252 rows; at most 130"):
        require_size(5, 10, 2, Budget())
    with pytest.raises(ProducerFailed, match="24024 moments; at most 12000"):
        require_size(6, 8, 8, Budget(gram_rows=210))


def test_memory_of_interior_points_is_estimated_before_they_start() -> None:
    program = bound_program("z1^4 + t^4", 4)
    with pytest.raises(ProducerFailed, match="rows need about 0 MB"):
        solve(program, 0.0, "CLARABEL", Clock(Budget(megabytes=-1)))


@pytest.mark.parametrize("solver", ["CLARABEL", "SCS"])
def test_a_time_budget_stops_cleanly(solver: Solver) -> None:
    with pytest.raises(ProducerFailed, match="time budget of 1e-06 s is used up"):
        exact_solution(bound_program("z1^4 + t^4", 4), Clock(Budget(seconds=1e-6)), solver)


@pytest.mark.parametrize("text", ["z1^4 - 3*z1^2 + 1 + t^4", "z1^3 - t*z1 + t^2"])
def test_the_direct_way_agrees_with_the_modelled_one(text: str) -> None:
    program = bound_program(text, 4, ball=True)
    one, other = solve(program, 1e-6, "CLARABEL", Clock()), solve_directly(program, 1e-6, Clock())
    assert abs(one.value - other.value) < 1e-6
    assert np.allclose(one.moments[0], other.moments[0], atol=1e-4)
    exact = [exact_solution(program, Clock(), direct=way).parameters[0] for way in (True, False)]
    assert abs(exact[0] - exact[1]) < 1e-5


def test_the_direct_way_knows_when_there_are_no_squares() -> None:
    program = bound_program("t^4 - z1^4", 4)
    with pytest.raises(NoSuchSquares):
        solve_directly(program, 1e-6, Clock())
    with pytest.raises(ProducerFailed, match="restricted parameters"):
        solve_directly(
            dataclasses.replace(program, sets=(ParameterSet("l1", (0,), (Fraction(1),)),)),
            1e-6,
            Clock(),
        )


def test_the_same_programme_gives_the_same_answer() -> None:
    program = bound_program("z1^4 - 3*z1^2 + 1 + t^4", 4)
    one, other = (exact_solution(program, Clock()) for _ in range(2))
    assert one.parameters == other.parameters
    assert one.grams == other.grams


# --- sides and hulls ------------------------------------------------------------------------------


@settings(max_examples=60)
@given(
    st.lists(FRACTIONS, min_size=1, max_size=5),
    st.lists(FRACTIONS, min_size=1, max_size=5),
    st.sampled_from([Fraction(1), Fraction(3, 2)]),
)
def test_a_hull_follows_from_its_sides(
    lower: list[Fraction], gap: list[Fraction], horizon: Fraction
) -> None:
    """Whatever the sides are, the identity holds and every weight of a square is positive."""
    size = max(len(lower), len(gap))
    padded = [c + [Fraction(0)] * (size - len(c)) for c in (lower, gap)]
    upper = [a + abs(b) for a, b in zip(*padded, strict=True)]
    upper[0] += 1
    part = hull_part(0, 2, padded[0], upper, horizon, (1, 2))
    t, z = variable(0, 2), variable(1, 2)
    low, high = (from_terms({(k, 0): c for k, c in enumerate(s)}) for s in (padded[0], upper))
    constraints = [t * (constant(horizon, 2) - t), z - low, high - z]
    assert expand_combination(part.combination, constraints, 2, "") == part.constraint


@given(st.lists(FRACTIONS, min_size=1, max_size=5), st.sampled_from([Fraction(1), Fraction(5, 2)]))
def test_bernstein_coefficients_enclose(coefficients: list[Fraction], horizon: Fraction) -> None:
    found = bernstein(coefficients, horizon)
    p = from_terms({(k,): c for k, c in enumerate(coefficients)})
    for k in range(9):
        value = p.at([horizon * k / 8])
        assert min(found) <= value <= max(found)


def test_sides_hold_where_a_speed_bound_fails() -> None:
    """``x' = -x + u`` stays in [0, 1] for ever; the sides need not grow with the horizon."""
    problem = system(SWITCHED, [2], horizon=4).polynomial(0)
    low, high = propose_sides(problem, 1, 1 / 64).hull(problem.horizon)
    assert -0.1 < low[0] <= 0
    assert 1 - np.exp(-4) <= high[0] < 1.2


def test_sides_that_run_away_are_refused() -> None:
    problem = system([["1 + z1^2"], ["z1^2"]], [2], horizon=2).polynomial(0)
    for degree in (1, 2, 3):
        with pytest.raises(ProducerFailed, match=r"side|escape"):
            propose_sides(problem, degree, 1 / 64)


@settings(max_examples=20)
@given(FRACTIONS, st.fractions(Fraction(1, 8), 8, max_denominator=8))
def test_scaled_boxes_are_about_one(low: Fraction, width: Fraction) -> None:
    scaling = scaling_of([float(low)], [float(low + width)])
    z = from_terms({(1,): Fraction(1)})
    ends = range_on(scaling.scaled(z), [(Fraction(-1), Fraction(1))])
    assert ends[0] <= low + width / 2 <= ends[1]
    assert width / 4 <= ends[1] - ends[0] <= 2 * width


def test_documents_hold_grams_with_whole_numbers() -> None:
    solution = exact_solution(bound_program("t^2 + z1^2 + 1/3", 2), Clock())
    found = IDENTITY.gram(monomials((0, 1), 2, 1), solution.grams[0][0], Fraction(1, 3))
    assert isinstance(found, Gram)
    assert all(entry.denominator == 1 for entry in found.lower)
    assert isinstance(expand(found, 2, ""), Polynomial)
    assert expand(found, 2, "") != ZERO
