"""Radii of piecewise-affine systems from recomputed constants, against the truth (T8.1, T3.3)."""

from __future__ import annotations

import dataclasses
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lifted_questions import LINF, write_back
from piecewise_questions import atom, box, matrix_question, pwa_question, reference
from random_piecewise import random_system
from switched_systems import balanced, vertices

from qreplace.premises import Evidence
from qreplace.question.model import CoveringMetadata, DepthRule, Grid, Question, Saturating
from qreplace.question.subject import Subject
from qreplace.radii.arithmetic import arithmetic_radii
from qreplace.radii.constants import FieldConstants, Sight, field_constants
from qreplace.radii.radius import Radius
from qreplace.radii.synthesis import synthesis_radii

CERTIFIED = Sight(None)
SLACK = 1e-6


def constants_of(question: Question) -> tuple[FieldConstants, ...]:
    return field_constants(Subject(question, {}), 0, (), CERTIFIED)


def value_at(radius: Radius | None, depth: int) -> float | None:
    """The radius at a depth, or ``None`` in a gap or where a guard fails."""
    assert radius is not None
    for piece in radius.pieces:
        if piece.first <= depth and (piece.last is None or depth <= piece.last):
            for guard in radius.guards:
                if Fraction(guard.sum.over(depth, depth, 64)[0], 1 << 64) > guard.limit:
                    return None
            high = piece.sum.over(depth, depth, 64)[1]
            return None if high is None else high / 2**64
    return None


def directed(question: Question, depth: int) -> list[tuple[float | None, float | None]]:
    """Pure to relaxed and relaxed to pure, of every alternative and growth rate."""
    found = []
    for constants in constants_of(question):
        for choice in constants.choices:
            radii = synthesis_radii(question, constants, choice, CERTIFIED)
            found.append(
                (value_at(radii.pure_to_relaxed, depth), value_at(radii.relaxed_to_pure, depth))
            )
    return found


@settings(max_examples=40)
@given(st.integers(0, 10**6))
def test_no_radius_is_below_the_truth(seed: int) -> None:
    """Quadrature and switching, at every depth, of every alternative."""
    rng = np.random.default_rng(seed)
    system = random_system(rng)
    depth = int(rng.integers(1, 9))
    parts = 3
    control = system.control(rng, depth * parts)
    averages = [np.mean(control[k * parts : (k + 1) * parts], axis=0) for k in range(depth)]
    exact = [[Fraction(float(x)) for x in row] for row in averages]
    for row in exact:
        row[0] += 1 - sum(row)
    end = system.relaxed(control, 16)[-1]
    pure = [np.array(row, dtype=float) for row in vertices(balanced(exact), len(system.atoms))]
    mixed, switched = system.euler(averages)[-1], system.euler(pure)[-1]
    alone = system.relaxed(pure, 24)[-1]
    scale = SLACK * (1 + np.abs(end).max() + np.abs(switched).max())
    available = 0
    for backward, forward in directed(system.question, depth):
        if backward is not None:
            available += 1
            assert system.sizes(mixed - end).max() <= backward + scale
            assert system.sizes(switched - alone).max() <= backward + scale
        if forward is not None:
            assert system.sizes(switched - end).max() <= forward + scale
    assert available, "some alternative speaks about every depth"


def test_the_matrix_instance_has_radii() -> None:
    """Recomputed on the whole disk, certified, better with m than with L."""
    question = matrix_question()
    (plain, growing), *_ = [c.choices for c in constants_of(question)]
    constants = constants_of(question)[0]
    assert constants.proved and not constants.state_independent
    assert growing.rate is not None and growing.rate.value < Fraction(-89, 100)
    radii = [synthesis_radii(question, constants, c, CERTIFIED) for c in (plain, growing)]
    ends = [(value_at(r.pure_to_relaxed, 8), value_at(r.relaxed_to_pure, 8)) for r in radii]
    assert all(end is not None for pair in ends for end in pair)
    (back, forth), (better_back, better_forth) = ends
    assert better_back < back and better_forth < forth  # type: ignore[operator]
    assert 0.02 < better_back < 0.07  # type: ignore[operator]
    for radius in (radii[1].pure_to_relaxed, radii[1].relaxed_to_pure):
        assert radius.evidence is Evidence.ANALYTIC_CERTIFIED and radius.declared == ()


def test_steps_beyond_the_limit_fall_back_on_l() -> None:
    """Leak 4: m is known from depth 4 on; the alternative with L serves the depths before."""
    atoms = [atom([[1]], [["1/2"]], leak=4), atom([[-1]], [["1/2"]], leak=4)]
    question = pwa_question(
        atoms, reference(atoms, [0]), dimension=1, inputs=1, region=box([-1], [1]), norm=LINF
    )
    alternatives = constants_of(question)
    assert [c.field_bound.first for c in alternatives if c.field_bound] == [4, 4, 1, 1]
    assert [len(c.choices) for c in alternatives] == [2, 2, 1, 1]
    at_two = directed(question, 2)
    assert [pair[0] is not None for pair in at_two] == [False] * 4 + [True] * 2


def test_growth_that_is_not_enclosed_gives_a_reason() -> None:
    atoms = [atom([[1]], [[100]], leak=0)]
    question = pwa_question(
        atoms, reference(atoms, [0]), dimension=1, inputs=1, region=box([-1], [1]), norm=LINF
    )
    for constants in constants_of(question):
        radii = synthesis_radii(question, constants, constants.choices[0], CERTIFIED)
        assert not radii.pure_to_relaxed.pieces
        assert "field_bound" in radii.pure_to_relaxed.gaps[0].reason


def test_a_covering_code_runs_other_atoms() -> None:
    metadata = CoveringMetadata("covering", None, None, 3)
    (constants,) = constants_of(matrix_question(metadata=metadata))
    assert constants.field_bound is None and constants.state_lipschitz is None


def test_differences_without_the_shared_leak() -> None:
    constants = constants_of(matrix_question())[0]
    lipschitz, apart = constants.state_lipschitz, constants.difference_lipschitz
    assert lipschitz is not None and apart is not None
    assert apart.value < lipschitz.value / 5


@pytest.mark.parametrize(("limit", "speaks"), [("1/4", False), ("1", True)])
def test_a_saturating_increment_needs_the_field_on_executed_states(
    limit: str, speaks: bool
) -> None:
    """B holds with room about the ideal states: the guard of the alternative with room decides."""
    execution = write_back("1/1024", semantics="increment")
    grid = Grid(DepthRule(Fraction(1, 1024), 1), "nearest", Fraction(limit))
    execution = dataclasses.replace(execution, grid=grid, overflow=Saturating("saturate", None))
    question = matrix_question(execution=execution)
    subject = Subject(question, {})
    found = [
        value_at(arithmetic_radii(subject, constants, choice, 0, CERTIFIED)[0], 4)
        for constants in constants_of(question)
        for choice in constants.choices
    ]
    # No room, no executed state; with room the field's bound times h fits the limit or does not.
    assert found[:2] == [None, None]
    assert [value is not None for value in found[2:]] == [speaks] * 2
