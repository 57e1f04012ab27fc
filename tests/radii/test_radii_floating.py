"""A floating format never leaves its radius, and nothing that counts in steps is claimed of it."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import pytest
from declared_questions import premise, radii_of
from lifted_questions import LINF, make_question, vector

from qreplace.check.frozen import frozen_step_rule
from qreplace.decision.evaluate import radius_at
from qreplace.errors import InputError, Rejected
from qreplace.exact.block_formats import number_format
from qreplace.exact.float_formats import FORMATS
from qreplace.exact.rounding import Rounding
from qreplace.premises import ABSENT
from qreplace.question import model as q
from qreplace.question.code_lattice import lattice_problem
from qreplace.question.frozen_start import frozen_start
from qreplace.question.subject import Subject
from qreplace.simulate.float_arithmetic import simulate_exact
from qreplace.simulate.model import Arithmetic, Atom, FloatingPoint, System
from qreplace.simulate.study import study_arithmetic

ATOMS = [[1, 0], [0, 1]]


def floating(name: str, limit: Fraction, mode: Rounding) -> q.Grid:
    """What the specification lowers such a grid to."""
    radius = number_format(name).write_back_radius(limit, mode)
    return q.Grid(q.DepthRule(radius, 0), "floating", limit)


def executed(grid: q.Grid, semantics: Any = "write_back", overflow: Any = None) -> q.Execution:
    return q.QuantizedExecution(
        kind="quantized",
        semantics=semantics,
        grid=grid,
        carry=None,
        field_error=ABSENT,
        initial_error=ABSENT,
        overflow=overflow or q.Saturating("saturate", None),
    )


def bound(question: q.Question, depth: int) -> Fraction:
    radius = radii_of(question)[0].arithmetic
    assert radius is not None
    found = radius_at(radius, depth)
    assert found is not None
    return found


@pytest.mark.parametrize("name", ["bf16", "fp16", "e4m3", "e5m2", "mxfp4", "mxfp8_e4m3"])
@pytest.mark.parametrize("mode", ["nearest_even", "floor", "stochastic"])
@pytest.mark.parametrize("semantics", ["write_back", "error_feedback"])
def test_no_schedule_leaves_the_radius(name: str, mode: Rounding, semantics: Any) -> None:
    """Every schedule of three depths, run in the format itself."""
    grid = floating(name, Fraction(255, 64), mode)
    question = make_question(["1/2", "1/2"], ATOMS, LINF, execution=executed(grid, semantics))
    system = System(
        tuple(Atom(tuple(map(Fraction, atom))) for atom in ATOMS), (Fraction(0),) * 2, Fraction(1)
    )
    own = FloatingPoint(name)
    state = own if semantics == "write_back" else None
    for depth in (2, 3, 4):
        if name == "mxfp4" and semantics == "write_back" and depth > 2:
            continue  # so coarse that the margin to the limit is not kept
        allowed = bound(question, depth)
        for schedule in itertools.product(range(2), repeat=depth):
            for seed in range(3 if mode == "stochastic" else 1):
                arithmetic = Arithmetic(semantics, mode, state, own, seed=seed)
                assert simulate_exact(system, schedule, arithmetic).error <= allowed


def start_at(value: Any, grid: q.Grid) -> q.Question:
    """A field that is 0, started at a state."""
    execution = executed(grid, overflow=q.Saturating("saturate", premise(Fraction(1, 4))))
    return make_question(["1/2"], [[0], [0]], LINF, initial=vector([value]), execution=execution)


def test_a_start_that_the_format_moves_is_no_start_on_the_grid() -> None:
    """17/16 is a multiple of e4m3's half gap 1/16 there, and no number of e4m3.

    A uniform grid of that step would call it stored exactly.
    """
    grid = floating("e4m3", Fraction(3, 2), "nearest_even")
    assert grid.step.coefficient == Fraction(1, 16)
    assert not FORMATS["e4m3"].holds(Fraction(17, 16))
    system = System((Atom((Fraction(0),)),), (Fraction(17, 16),), Fraction(1))
    own = Arithmetic("write_back", "nearest_even", FloatingPoint("e4m3"))
    assert simulate_exact(system, [0], own).error == Fraction(1, 16)
    moved = bound(start_at("17/16", grid), 1)
    uniform = q.Grid(grid.step, "directed", grid.limit)
    assert bound(start_at("17/16", uniform), 1) + grid.step.coefficient == moved
    assert bound(start_at(0, grid), 1) == bound(start_at(0, uniform), 1)


@pytest.mark.parametrize("where", ["grid", "carry"])
def test_there_is_no_common_lattice(where: str) -> None:
    fixed = q.Grid(q.DepthRule(Fraction(1, 16), 0), "nearest", Fraction(4))
    grids = {"grid": fixed, "carry": fixed, where: floating("bf16", Fraction(4), "nearest_even")}
    execution = q.QuantizedExecution(
        "quantized", "error_feedback", grids["grid"], grids["carry"], ABSENT, ABSENT,
        q.Wrapping("wrap", None),
    )  # fmt: skip
    question = make_question(["1/2", "1/2"], ATOMS, LINF, execution=execution)
    with pytest.raises(InputError, match="on no uniform grid"):
        lattice_problem(Subject(question, {}), 0)


def test_nothing_is_frozen() -> None:
    grid = floating("bf16", Fraction(4), "nearest_even")
    subject = Subject(make_question(["1/2", "1/2"], ATOMS, LINF, execution=executed(grid)), {})
    with pytest.raises(Rejected, match="nearest rounding"):
        frozen_step_rule(subject, frozen_start(subject, 0))


def test_a_study_keeps_no_format_to_run() -> None:
    grid = floating("bf16", Fraction(4), "nearest_even")
    subject = Subject(make_question(["1/2", "1/2"], ATOMS, LINF, execution=executed(grid)), {})
    with pytest.raises(InputError, match="rounding radius"):
        study_arithmetic(subject, 4)
