"""Piecewise-affine atoms as affine dynamics at witnesses, exactly or refused (theory T7.2)."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any

import pytest
from lifted_questions import L1, L2, LINF, block_l2, weighted_l1, weighted_linf
from piecewise_questions import atom, box, pwa_question, reference

from qreplace.check import affine_dynamics
from qreplace.errors import InputError
from qreplace.produce.affine_dynamics import produce
from qreplace.question.dynamics import AffineProblem
from qreplace.question.model import BlockL2Norm, LinfNorm, Norm, PwaAtom, WeightedLinfNorm
from qreplace.question.subject import Subject

COUPLED: list[list[int | str]] = [["1/8", "1/4"], [0, "-1/8"]]
WITNESSES = [["1/2", 1], [-1, "1/4"], [0, 0]]
ATOMS = [
    atom([[1, 0], [0, 1]], thresholds=["1/4"], state_matrix=COUPLED, offset=["1/3", 0]),
    atom([[0, -2], [1, 1]], activation="relu", bias=["1/2", 0], state_matrix=COUPLED),
]


def subject_of(atoms: list[PwaAtom], norm: Norm = L2, **fields: Any) -> Subject:
    asked: dict[str, Any] = {
        "dimension": 2,
        "region": None,
        "witnesses": WITNESSES,
        "full": False,
        "initial": ["1/5", -1],
        "horizon": 2,
        **fields,
    }
    return Subject(
        pwa_question(atoms, reference(atoms, [0, len(atoms) - 1, 0]), norm=norm, **asked), {}
    )


def euler(problem: AffineProblem, schedule: tuple[int, ...]) -> list[Fraction]:
    """The lifted Euler endpoint of a schedule."""
    state = [Fraction(n, problem.denominator) for n in problem.initial]
    step = problem.horizon / len(schedule)
    size = range(problem.dimension)
    for j in schedule:
        forcing = problem.atoms[j][0].coefficients[0]
        moved = [sum((problem.entry(i, k) * state[k] for k in size), Fraction(0)) for i in size]
        state = [
            z + step * (m + Fraction(b, problem.denominator))
            for z, m, b in zip(state, moved, forcing, strict=True)
        ]
    return state


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_lifted_steps_are_the_maps_own(depth: int) -> None:
    """Every schedule, every witness, in exact numbers; the target too."""
    subject = subject_of(ATOMS)
    lifted, _ = subject.affine_floor(0)
    problem = subject.piecewise(0)
    points = problem.witnesses or ()
    for schedule in product(range(2), repeat=depth):
        student = problem.student(schedule)
        assert euler(lifted, schedule) == [x for q in points for x in student.value(q)]
    aim = [x for q in points for x in problem.target.value(q)]
    assert [Fraction(n, lifted.denominator) for n in lifted.target] == aim
    assert lifted.horizon == 2 and lifted.rate == Fraction(-7, 8)


def test_a_shared_rate_needs_no_matrix() -> None:
    lifted, _ = subject_of([atom([[1, 0], [0, 1]]), atom([[0, 1], [1, 0]])]).affine_floor(0)
    assert lifted.matrix is None and lifted.rate == -1 and lifted.dimension == 6


def test_what_does_not_bend_joins_the_matrix() -> None:
    """``V S`` of an identity activation; and rows of S that V does not see are nothing."""
    first = atom([[1, 0], [0, 1]], [[0, "1/2"], ["1/2", 0]], activation="identity")
    second = atom(
        [[1, 0], [0, 1], [1, 1]],
        [[0, 0], [0, 0], [1, 1]],
        output=[[1, 0, 0], [0, 1, 0]],
        state_matrix=[[0, "1/2"], ["1/2", 0]],
    )
    subject = subject_of([first, second])
    lifted, _ = subject.affine_floor(0)
    assert [lifted.entry(0, k) for k in range(3)] == [-1, Fraction(1, 2), 0]
    problem = subject.piecewise(0)
    student = problem.student((0, 1))
    values = [x for q in problem.witnesses or () for x in student.value(q)]
    assert euler(lifted, (0, 1)) == values


@pytest.mark.parametrize(
    ("norm", "expected"),
    [
        (LINF, LinfNorm("linf")),
        (L2, BlockL2Norm("block_l2", 2)),
        (block_l2(1), block_l2(1)),
        (weighted_linf(1, 3), WeightedLinfNorm("weighted_linf", tuple(map(Fraction, [1, 3] * 3)))),
    ],
)
def test_norms_are_the_largest_over_the_witnesses(norm: Norm, expected: Norm) -> None:
    assert subject_of(ATOMS, norm).affine_floor(0)[1] == expected


@pytest.mark.parametrize("norm", [L1, weighted_l1(1, 2)])
def test_sums_have_no_lifted_form(norm: Norm) -> None:
    with pytest.raises(InputError, match="use linf, weighted linf or l2"):
        subject_of(ATOMS, norm).affine_floor(0)


def test_one_output_makes_l1_and_l2_alike() -> None:
    for norm in (L1, L2):
        subject = subject_of([atom([[1, 0]]), atom([[0, 1]])], norm, dimension=1, initial=None)
        assert subject.affine_floor(0)[1] == LINF


@pytest.mark.parametrize(
    ("atoms", "words"),
    [
        ([atom([[1, 0], [0, 1]], [[1, 0], [0, 0]])], "reads the state through its activation"),
        ([ATOMS[0], atom([[1, 0], [0, 1]])], "different state matrices or leaks"),
        ([atom([[1, 0], [0, 1]]), atom([[1, 0], [0, 1]], leak=2)], "different state matrices"),
    ],
)
def test_other_atoms_are_refused(atoms: list[PwaAtom], words: str) -> None:
    with pytest.raises(InputError, match=words):
        subject_of(atoms).affine_floor(0)


def test_lifting_needs_inputs_of_the_question() -> None:
    with pytest.raises(InputError, match="need witness inputs"):
        subject_of(ATOMS, region=box([-1, -1], [1, 1]), witnesses=None, full=True).affine_floor(0)
    with pytest.raises(InputError, match="outside the region"):
        subject_of(ATOMS, region=box([-1, -1], [1, "1/2"]), full=True).affine_floor(0)
    many = [[Fraction(k, 600), 0] for k in range(513)]
    with pytest.raises(InputError, match="more than 1024 in all"):
        subject_of(ATOMS, witnesses=many).affine_floor(0)


def test_kinds_that_do_not_know_the_norm_do_not_see_it() -> None:
    """The l2 norm of all witnesses together is another one: only ``affine_floor`` lifts."""
    subject = subject_of(ATOMS)
    for form in (subject.affine, subject.polynomial, subject.lifted):
        with pytest.raises(InputError):
            form(0)


def test_a_floor_on_two_witnesses() -> None:
    """``z' = +-y``, target (y, 0) + 1/2 in l2: the floor is the larger of the witnesses' misses."""
    atoms = [atom([[1, 0], [0, 0]], leak=0), atom([[-1, 0], [0, 0]], leak=0)]
    aim = reference([atom([[1, 0], [0, 1]], leak=0)], [0])
    question = pwa_question(
        atoms,
        aim,
        dimension=2,
        region=None,
        witnesses=[["1/2", "1/2"], [1, "1/4"]],
        full=False,
    )
    subject = Subject(question, {})
    bounds = affine_dynamics.check(subject, produce(subject, 0))
    ends = {bound.side: bound.value for bound in bounds}
    # The first atom alone reaches (y, 0): (0, 1/2) and (0, 1/4) are missed, 1/2 is the larger.
    assert abs(ends["lower"] - Fraction(1, 2)) < Fraction(1, 10**6)
    assert Fraction(1, 2) <= ends["upper"] < Fraction(1, 2) + Fraction(1, 10**6)
