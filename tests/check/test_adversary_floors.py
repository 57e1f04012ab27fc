"""Attacks on the checkers of floors and constants: false claims, and claims that cost too much."""

from __future__ import annotations

import dataclasses
from fractions import Fraction

import pytest
from declared_questions import depths, tolerance
from dynamic_questions import affine_question, forcing, polynomial_question

from qreplace.check import field_constants, relaxed_control
from qreplace.check.bounds import Checked
from qreplace.check.work import Work
from qreplace.claims import Claim
from qreplace.claims.field_constants import FieldConstantsClaim
from qreplace.claims.functional import SparseVector
from qreplace.claims.region import BoxPart
from qreplace.claims.relaxed_control import ControlPiece, RelaxedControl, RelaxedControlClaim
from qreplace.decision.verdict import decide
from qreplace.errors import Rejected
from qreplace.exact.affine_flow import MAX_WORK, discrete_work
from qreplace.question.field_ranges import fields_of
from qreplace.question.model import ComputedSynthesis, Question
from qreplace.question.reach import reached, walls_of
from qreplace.question.subject import Subject

QUARTER = Fraction(1, 4)
ZERO, ONE = Fraction(0), Fraction(1)


def beyond_a_wall() -> Question:
    """Both fields point away from the point 1 at the start 0, and into it at 1 itself."""
    question = polynomial_question(
        [["1 - 2*(z1 - 1)^2"], ["1 - 3*(z1 - 1)^2"]],
        target=[Fraction(-461831, 10**6)],  # where the first atom alone ends
        initial=[0],
        horizon=QUARTER,
    )
    return dataclasses.replace(
        question,
        objective=tolerance("1/1000"),
        synthesis=ComputedSynthesis("computed"),
        search=depths(1, 1),
    )


def elsewhere(about: Subject) -> FieldConstantsClaim:
    """Constants on the point 1, which no trajectory ever visits."""
    return FieldConstantsClaim(
        format="qreplace/claim/field_constants/v1",
        subject=about.problem_digest(0),
        code=0,
        tube=BoxPart("box", (ONE,), (ONE,), (1, 1)),
        reach_lower=(ONE,),
        reach_upper=(ONE,),
        margin=ZERO,
        field_bound=ONE,
        state_lipschitz=ZERO,
        growth_rate=ZERO,
        step_limit=QUARTER,
        time_variation=ZERO,
        difference_bound=ZERO,
        difference_lipschitz=ZERO,
        difference_variation=ZERO,
    )


def test_a_reach_without_the_initial_state_is_refused() -> None:
    """A wall between the start and the reach hides that every trajectory is outside."""
    about = Subject(beyond_a_wall(), {})
    with pytest.raises(Rejected):
        field_constants.check(about, elsewhere(about))


def test_no_box_is_reached_beyond_a_wall() -> None:
    """What is reached holds the initial state, so no side of it is cut off by a wall."""
    fields = fields_of(Subject(beyond_a_wall(), {}), 0)
    sides = [(ONE, ONE)]
    assert reached(fields, 1, sides, walls_of(fields, sides, QUARTER)) is None


def test_no_verdict_rests_on_constants_of_another_place() -> None:
    """One Euler step ends at -1/4 or -1/2, so E_1 is 0.038, far above the tolerance."""
    about = Subject(beyond_a_wall(), {})
    only_first = ControlPiece(QUARTER, SparseVector(ONE, (0,), (ONE,)))
    control = RelaxedControlClaim(
        format="qreplace/claim/relaxed_control/v1",
        subject=about.problem_digest(0),
        code=0,
        control=RelaxedControl("relaxed", (only_first,), (20,), 12),
        upper=Fraction(1, 10**5),
    )
    checked: list[Checked] = [*relaxed_control.check(about, control)]
    claims: list[Claim] = [control]
    claim = elsewhere(about)
    try:
        checked.extend(field_constants.check(about, claim))
        claims.append(claim)
    except Rejected:
        pass
    assert decide(about, claims, checked)["verdict"] != "certified_feasible"


def test_very_deep_sums_are_not_started() -> None:
    """A step in one dimension takes about 20 microseconds, however few its products."""
    turn = affine_question([[0, 0], [0, 1]], [0, 0], [1, 0], state_matrix=[[0, 1], [-1, 0]])
    ramps = affine_question([forcing((0, [[0], [1]])), forcing((0, [[1], [-1]]))], [2])
    for question, depth in ((turn, 3 * 10**7), (ramps, 5 * 10**7)):
        assert discrete_work(Subject(question, {}).affine(0), depth) > MAX_WORK


def test_slices_of_many_pieces_are_counted() -> None:
    """Every slice of time looks at every earlier piece of every forcing."""
    pieces = 64
    atoms = [
        forcing(*((Fraction(i, pieces), [[(i * k) % 3 - 1]]) for i in range(pieces)))
        for k in range(1, 9)
    ]
    fields = fields_of(Subject(affine_question(atoms, [2], [0], rate=-1), {}), 0)
    assert fields.work((60_000, 1)) > field_constants.MAX_WORK


def test_slices_of_a_box_are_counted() -> None:
    """A box by slices bounds every component up to a dozen times a slice."""
    question = polynomial_question([["-z1 - z1^3"], ["1 - z1 - z1^3"]], [2])
    problem = Subject(question, {}).polynomial(0)

    def counted(slices: int) -> int:
        part = BoxPart("box", (ZERO,), (ONE,), (slices, 1))
        work = Work(2, part, problem)
        work.box(problem, part)
        return work.total

    assert counted(1024) > 500 * counted(1)
