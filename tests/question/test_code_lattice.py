"""Registers in whole numbers: the ranges hold every code that really occurs (theory T4.10, T4.11).

The runs here are made in rationals, step by step, by the definitions of ``question.execution``.
"""

from __future__ import annotations

import dataclasses
import random
from fractions import Fraction
from typing import Any

import pytest
from corpora.lattice import execution, grid, registers
from dynamic_questions import affine_question
from hypothesis import given, settings
from hypothesis import strategies as st
from lattice_truth import Case, assert_within, cases, ran, reached
from lifted_questions import LINF, make_question, vector

from qreplace.errors import InputError
from qreplace.question.code_lattice import (
    CodeRange,
    Work,
    code_lattice,
    codes_are_constant,
    declared_ranges,
    enumerated_ranges,
    interval_ranges,
    lattice_problem,
    ranges_at,
)
from qreplace.question.model import AffineDynamicsSystem, ComputedFloor, FullDomain, Wrapping
from qreplace.question.subject import Subject


@settings(max_examples=80)
@given(cases(), st.integers(0, 2**32))
def test_every_code_that_occurs_is_in_the_ranges(case: Case, seed: int) -> None:
    lattice = case.lattice()
    assert lattice.ratio == case.step / case.fine
    assert lattice.feedback == (case.semantics == "error_feedback")
    found = ran(case, seed)
    intervals, listed = interval_ranges(lattice), enumerated_ranges(lattice)
    assert_within(found, listed)
    assert_within(listed, intervals)


@settings(max_examples=60)
@given(cases(depths=(1, 2, 3)))
def test_an_enumeration_finds_exactly_the_codes_that_can_be_reached(case: Case) -> None:
    assert enumerated_ranges(case.lattice()) == reached(case)


@settings(max_examples=80)
@given(cases(depths=(1, 2, 3, 5), reads=False))
def test_the_closed_form_of_state_independent_atoms_is_attained(case: Case) -> None:
    """States and accumulators of one coordinate; a coordinate alone is a system of its own."""
    case = dataclasses.replace(
        case, atoms=tuple(atom[:1] for atom in case.atoms), initial=case.initial[:1]
    )
    intervals, listed = interval_ranges(case.lattice()), enumerated_ranges(case.lattice())
    assert intervals["accumulator"] == listed["accumulator"]
    assert intervals["state"] == listed["state"]
    if case.semantics != "error_feedback":
        assert intervals == listed


@settings(max_examples=40, deadline=None)
@given(cases(depths=(1, 4, 7)), st.integers(0, 2**32))
def test_simulated_runs_stay_in_the_ranges(case: Case, seed: int) -> None:
    from qreplace.simulate.arithmetic import simulate
    from qreplace.simulate.study import study_arithmetic, study_system

    subject = Subject(case.question(), {})
    system, _ = study_system(subject, 0)
    arithmetic = dataclasses.replace(study_arithmetic(subject, case.depth), seed=seed)
    ranges = interval_ranges(case.lattice())
    rng = random.Random(seed)
    for _ in range(3):
        run = simulate(system, [rng.randrange(len(case.atoms)) for _ in range(case.depth)],
                       arithmetic)  # fmt: skip
        seen = {n: CodeRange(*run.extremes[n]) for n in ("state", "increment", "carry")
                if n in run.extremes}  # fmt: skip
        assert "state" in seen
        assert ("increment" in seen) == (case.semantics != "write_back")
        assert_within(seen, ranges)


def test_ranges_of_the_worked_example() -> None:
    """T4.10: increments 0 and 1, m = 4, D = 13; sums to 13, so states to (13 + 2) / 4."""
    own = execution(grid("4", 1), grid("1", 1), registers(3))
    question = make_question([1], [[0], [1]], LINF, execution=own)
    found, problem = lattice_problem(Subject(question, {}), 0)
    lattice = code_lattice(found, problem, 13)
    assert (lattice.ratio, lattice.slack, lattice.offsets) == (4, 2, ((0,), (1,)))
    assert interval_ranges(lattice) == {
        "state": CodeRange(0, 3),
        "increment": CodeRange(-1, 1),
        "carry": CodeRange(-2, 2),
        "accumulator": CodeRange(0, 1),
    }


# --- where codes are constant, and where they are too many ----------------------------------------


def constant(**changes: Any) -> bool:
    own = execution(grid("4", 1), grid("1", 1), registers(3))
    question = make_question([1], [[0], [1]], LINF, execution=own)
    return codes_are_constant(*lattice_problem(Subject(dataclasses.replace(question, **changes),
                                                       {}), 0))  # fmt: skip


def test_codes_are_constant_only_where_nothing_changes_with_depth() -> None:
    assert constant()
    wide = registers(3)
    assert not constant(execution=execution(grid("4", 0), grid("1", 1), wide))
    assert not constant(execution=execution(grid("4", 1), grid("1", 2), wide))
    assert not constant(initial=vector([4]))
    leaking = AffineDynamicsSystem("affine_dynamics", Fraction(-1), None)
    assert not constant(system=leaking, floor=ComputedFloor("compute", "auto"))
    # A limit is a number of the state's unit, so it holds more codes at larger depths.
    wraps = execution(grid("4", 1, limit="1"), grid("1", 1), Wrapping("wrap", None))
    assert not constant(execution=wraps)


def test_work_is_counted_over_all_depths_and_refused_before_it_is_done() -> None:
    own = execution(grid("1/4", 0), None, registers(8), "write_back")
    question = affine_question([[1], [0]], [1], norm=LINF, rate=-1, execution=own)
    found, problem = lattice_problem(Subject(question, {}), 0)
    work = Work(most=5_000)
    with pytest.raises(InputError, match="more than are followed"):
        for _ in range(1000):
            ranges_at(found, problem, 4, "intervals", work)
    assert 5_000 < work.total < 6_000
    with pytest.raises(InputError, match="more than are followed"):
        ranges_at(found, problem, 4, "enumeration", Work(most=60))
    # One state a step, but a long one.
    steps = execution(grid("1", 1), None, registers(8), "write_back")
    wide = make_question([1] * 300, [[1] * 300], LINF, execution=steps)
    found, problem = lattice_problem(Subject(wide, {}), 0)
    assert ranges_at(found, problem, 9, "enumeration", Work(most=50_000))["state"].upper == 9
    with pytest.raises(InputError, match="more than are followed"):
        ranges_at(found, problem, 4096, "enumeration", Work(most=50_000))


def test_a_step_that_reaches_too_many_codes_is_refused() -> None:
    """Twenty coordinates on a tie each: a million codes."""
    own = execution(grid("2", 0), None, registers(8), "increment")
    wide = make_question([1] * 20, [[1] * 20], LINF, execution=own)
    found, problem = lattice_problem(Subject(wide, {}), 0)
    with pytest.raises(InputError, match="one step reaches more than 200000 codes"):
        enumerated_ranges(code_lattice(found, problem, 1))


def test_an_enumeration_ends_at_the_first_step_that_overflows() -> None:
    """Prefix sums pass 3 at the fourth of a million steps."""
    steps = execution(grid("1", 1), None, registers(3), "write_back")
    found, problem = lattice_problem(Subject(make_question([1], [[1]], execution=steps), {}), 0)
    held = declared_ranges(found, 3)
    assert ranges_at(found, problem, 3, "enumeration", Work(100), held)["state"].upper == 3
    with pytest.raises(InputError, match="a code that some schedule reaches overflows"):
        ranges_at(found, problem, 10**6, "enumeration", Work(100), held)


def test_codes_that_outgrow_every_register_are_refused() -> None:
    own = execution(grid("1", 1), None, registers(accumulator=63), "write_back")
    question = affine_question([[1]], [1], norm=LINF, rate=1 << 60, execution=own)
    found, problem = lattice_problem(Subject(question, {}), 0)
    for method in ("intervals", "enumeration"):
        with pytest.raises(InputError, match="codes outgrow 4096 bits"):
            ranges_at(found, problem, 128, method, Work())  # type: ignore[arg-type]


def test_what_has_no_codes_is_refused_with_the_reason() -> None:
    own = execution(grid("1/4", 0), None, registers(8), "write_back")
    question = make_question([1], [[0], [1]], LINF, execution=own)
    full = dataclasses.replace(question, domain=FullDomain("full", None, None))
    with pytest.raises(InputError, match="those of the witnesses"):
        lattice_problem(Subject(full, {}), 0)
    wrapping = dataclasses.replace(own, overflow=Wrapping("wrap", None))
    endless = dataclasses.replace(question, execution=wrapping)
    floating = grid("1/4", 0, "floating", "1")
    own = execution(floating, None, Wrapping("wrap", None), "write_back")
    with pytest.raises(InputError, match="on no uniform grid"):
        lattice_problem(Subject(dataclasses.replace(question, execution=own), {}), 0)
    with pytest.raises(InputError, match="a register that can overflow needs its range"):
        lattice_problem(Subject(endless, {}), 0)
