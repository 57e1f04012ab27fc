"""The fallbacks of the ``affine_lp`` producer, driven by doctored solver answers (style rule 20).

The checker is the real one throughout: whatever a solver says, a claim is true or there is none.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lifted_questions import (
    L1,
    L2,
    LINF,
    block_l2,
    bracket_of,
    make_subject,
    weighted_l1,
    weighted_linf,
)
from lifted_strategies import Problem, problems, simplex_grid

from qreplace.errors import ProducerFailed
from qreplace.produce import affine_lp, l1, maximum, tangent_cuts
from qreplace.produce.affine_lp import produce
from qreplace.produce.linear_program import LinearProgram, Solution, centred_atoms, solve
from qreplace.produce.tangent_cuts import TangentCuts
from qreplace.question.model import Norm
from qreplace.question.subject import LiftedProblem, Subject

Doctor = Callable[[Solution, float], Solution]
LINEAR_NORMS = [LINF, L1, weighted_linf(1, 2, "1/3"), weighted_l1(1, 2, "1/3")]
ALL_NORMS = [*LINEAR_NORMS, L2, block_l2(1)]


def names(norm: Norm) -> str:
    return norm.kind


def subject_of(norm: Norm) -> Subject:
    return make_subject([3, "1/3", -1], [[1, 0, 2], [0, 5, -1], [7, "1/7", 0], [2, 2, 2]], norm)


@pytest.fixture
def doctored(monkeypatch: pytest.MonkeyPatch) -> Callable[[Doctor], list[float]]:
    """Route every solve through a doctor; returns the list of tolerances that were asked for."""

    def install(doctor: Doctor) -> list[float]:
        asked: list[float] = []

        def answer(
            program: LinearProgram, *, tolerance: float = 1e-9, presolve: bool = True
        ) -> Solution:
            asked.append(tolerance)
            return doctor(solve(program, tolerance=tolerance, presolve=presolve), tolerance)

        monkeypatch.setattr(maximum, "solve", answer)
        monkeypatch.setattr(l1, "solve", answer)
        return asked

    return install


def without_basis(solution: Solution) -> Solution:
    """An answer whose basis is empty."""
    return dataclasses.replace(solution, basic_columns=np.array([], dtype=np.intp))


def first_columns(solution: Solution) -> Solution:
    """An answer whose basis holds the first columns, as many as it should."""
    count = len(solution.basic_columns)
    return dataclasses.replace(solution, basic_columns=np.arange(count, dtype=np.intp))


@pytest.mark.parametrize("norm", LINEAR_NORMS, ids=names)
def test_a_bad_basis_leads_to_the_refined_one(norm: Norm, doctored: Any) -> None:
    subject = subject_of(norm)
    truth = bracket_of(subject, produce(subject, 0))
    asked = doctored(lambda s, tolerance: without_basis(s) if tolerance == 1e-9 else s)
    claim = produce(subject, 0)
    assert claim.method == "refined_basis"
    assert bracket_of(subject, claim) == truth
    assert asked[0] == 1e-9 and asked[-1] == 1e-10


@pytest.mark.parametrize("norm", LINEAR_NORMS, ids=names)
@pytest.mark.parametrize("damage", [without_basis, first_columns])
def test_bad_bases_lead_to_rounding(norm: Norm, damage: Any, doctored: Any) -> None:
    subject = subject_of(norm)
    (truth, _) = bracket_of(subject, produce(subject, 0))
    doctored(lambda s, _: damage(s))
    claim = produce(subject, 0)
    lower, upper = bracket_of(subject, claim)
    assert lower <= truth <= upper
    if claim.method == "rounded":
        assert upper - lower <= Fraction(1, 10**9)
        assert claim.primal.denominator <= 10**12


def test_rounding_is_reached_in_every_linear_norm(doctored: Any) -> None:
    doctored(lambda s, _: without_basis(s))
    methods = {norm.kind: produce(subject_of(norm), 0).method for norm in LINEAR_NORMS}
    assert set(methods.values()) == {"rounded"}


@pytest.mark.parametrize("norm", [LINF, weighted_linf(1, 2, "1/3")], ids=names)
def test_solves_that_fail_lead_to_a_coarser_one(norm: Norm, doctored: Any) -> None:
    def fail_when_tight(solution: Solution, tolerance: float) -> Solution:
        if tolerance < 1e-8:
            raise ProducerFailed("no optimum")
        return solution

    asked = doctored(fail_when_tight)
    subject = subject_of(norm)
    claim = produce(subject, 0)
    bracket_of(subject, claim)
    assert claim.method == "rounded"
    assert asked[-1] == 1e-7


@pytest.mark.parametrize("norm", ALL_NORMS, ids=names)
def test_without_any_solution_there_is_no_claim(norm: Norm, doctored: Any) -> None:
    def fail(solution: Solution, tolerance: float) -> Solution:
        raise ProducerFailed("no optimum")

    doctored(fail)
    with pytest.raises(ProducerFailed):
        produce(subject_of(norm), 0)


@pytest.mark.parametrize("norm", ALL_NORMS, ids=names)
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 0.0, -1.0, 1e300])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_nonsense_in_every_number(
    norm: Norm, value: float, doctored: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(affine_lp, "MAX_ROUNDS", 12)
    monkeypatch.setattr(tangent_cuts, "MAX_ROUNDS", 12)

    def nonsense(solution: Solution, tolerance: float) -> Solution:
        return dataclasses.replace(
            without_basis(solution),
            values=np.full_like(solution.values, value),
            row_duals=np.full_like(solution.row_duals, value),
        )

    subject = subject_of(norm)
    truth = bracket_of(subject, produce(subject, 0))
    doctored(nonsense)
    try:
        claim = produce(subject, 0)
    except ProducerFailed:
        return
    lower, upper = bracket_of(subject, claim)
    assert lower <= truth[1] and upper >= truth[0]


def test_a_solve_that_fails_after_cuts_were_added(doctored: Any) -> None:
    """The last solution knows fewer functionals than the model by then."""
    rounds: list[float] = []

    def fail_later(solution: Solution, tolerance: float) -> Solution:
        rounds.append(tolerance)
        if len(rounds) > 2:
            raise ProducerFailed("no optimum")
        return solution

    doctored(fail_later)
    subject = make_subject([3, "1/3", -1, 2], [[1, 0, 2, 0], [0, 5, -1, 1], [7, 0, 0, 9]], L2)
    lower, upper = bracket_of(subject, produce(subject, 0))
    assert 0 < lower < upper


@settings(max_examples=80)
@given(problems(), st.integers(0, 2**32 - 1))
def test_random_answers_never_give_a_false_claim(problem: Problem, seed: int) -> None:
    generator = np.random.Generator(np.random.PCG64(seed))

    def answer(
        program: LinearProgram, *, tolerance: float = 1e-9, presolve: bool = True
    ) -> Solution:
        rows, columns = program.matrix.shape
        basic = generator.random(columns) < 0.5
        tight = generator.random(rows) < 0.5
        return Solution(
            values=generator.normal(size=columns),
            row_duals=generator.normal(size=rows),
            basic_columns=np.flatnonzero(basic),
            tight_rows=np.flatnonzero(tight),
            objective=0.0,
            seconds=0.0,
        )

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(maximum, "solve", answer)
        patch.setattr(l1, "solve", answer)
        subject = problem.subject
        try:
            claim = produce(subject, 0)
        except ProducerFailed:
            return
    lower, _ = bracket_of(subject, claim)
    for alpha in simplex_grid(len(problem.atoms), 6):
        assert problem.exceeds(alpha, lower)


def test_a_block_that_is_met_gives_no_tangent_even_below_a_negative_value() -> None:
    """Found by a soak run: a solver's value of -1 made a cut of a zero residual."""
    problem = LiftedProblem(((1, 0, 5, 0), (2, 0, 0, 1)), (1, 0, 0, 0), 1, 4)
    cuts = TangentCuts(problem, centred_atoms(problem), 2)
    assert cuts._exceeding(np.array([1.0, 0.0]), -1.0) == [1]
