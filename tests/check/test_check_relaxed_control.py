"""An accepted control really ends that close, and no claim gets below the truth."""

from __future__ import annotations

import dataclasses
from fractions import Fraction

import numpy as np
import pytest
from corpora.relaxed_control import (
    ACCEPTED,
    DECAY,
    QUESTIONS,
    REJECTED,
    control,
    schedule,
    subject,
    weights,
)
from dynamic_questions import affine_question, forcing, matrix, polynomial_question
from dynamic_truth import (
    ROUNDING,
    affine_floor,
    best_schedule_error,
    endpoints,
    euler_endpoints,
    float_norm,
    scalar_floor,
)
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from lifted_questions import (
    L1,
    L2,
    LINF,
    Numbers,
    block_l2,
    make_question,
    make_subject,
    weighted_l1,
    weighted_linf,
)
from random_systems import SHAPES, random_question

from qreplace.check.relaxed_control import check
from qreplace.claims.relaxed_control import (
    ControlPiece,
    PureSchedule,
    RelaxedControl,
    RelaxedControlClaim,
)
from qreplace.errors import InputError, Rejected
from qreplace.exact.taylor import EnclosedState
from qreplace.premises import Evidence
from qreplace.question.endpoints import Endpoints, NotEnclosed, error_bound
from qreplace.question.model import (
    DeclaredSystem,
    LinearAtom,
    LinearTarget,
    ListedDictionary,
    Norm,
    Question,
    WitnessDomain,
)
from qreplace.question.subject import Subject

ENCLOSED = {
    "ctl-decay--enclosed",
    "ctl-decay--mixed",
    "ctl-forced--enclosed",
    "ctl-escape--waits",
    "ctl-squares--schedule",
}
"""Cases of the corpus whose endpoint is no short rational."""
NORMS = [LINF, L1, L2, weighted_linf(1, 3), weighted_l1(2, "1/3"), block_l2(1), block_l2(2)]


# --- the corpus -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("kind", "name", "claim"), ACCEPTED, ids=[n for _, n, _ in ACCEPTED])
def test_the_corpus_speaks_the_truth(kind: str, name: str, claim: RelaxedControlClaim) -> None:
    question = name.split("--")[0]
    (bound,) = check(subject(question), claim)
    assert (bound.side, bound.value, bound.kind) == ("upper", claim.upper, kind)
    assert bound.covers == "one_schedule" and bound.objective == "endpoint"
    assert bound.subject == subject(question).problem_digest(0)
    if isinstance(claim.control, PureSchedule):
        depth = sum(n for _, n in claim.control.runs)
        assert bound.quantity == "ideal_error"
        assert (bound.depths.first, bound.depths.last) == (depth, depth)
    else:
        assert bound.quantity == "relaxed_floor" and bound.depths.last is None
    enclosed = name in ENCLOSED
    expected = Evidence.INTERVAL_CERTIFIED if enclosed else Evidence.ANALYTIC_CERTIFIED
    assert bound.evidence is expected


@pytest.mark.parametrize(
    ("name", "claim", "pointer", "words"), [r[1:] for r in REJECTED], ids=[r[1] for r in REJECTED]
)
def test_attacks_are_refused(
    name: str, claim: RelaxedControlClaim, pointer: str, words: str
) -> None:
    with pytest.raises(Rejected) as caught:
        check(subject(name.split("--")[0]), claim)
    assert words in caught.value.message and caught.value.pointer == pointer


def test_the_scalar_floor_is_met_and_not_passed() -> None:
    floor = scalar_floor(subject("ctl-decay").polynomial(0))
    assert abs(float(DECAY.upper) - floor) < ROUNDING


# --- small systems: the error is that of the control, from both sides -----------------------------


@st.composite
def controls(draw: st.DrawFn, atoms: int) -> RelaxedControl:
    """One to three pieces on quarters of the horizon, weights in sixths."""
    inner = draw(st.sets(st.integers(1, 3), max_size=2))
    pieces = []
    for quarter in [*sorted(inner), 4]:
        shares = draw(st.lists(st.integers(0, 3), min_size=atoms, max_size=atoms))
        assume(sum(shares))
        row = weights(*(Fraction(share, sum(shares)) for share in shares))
        pieces.append(ControlPiece(Fraction(quarter, 4), row))
    steps = draw(st.sampled_from([16, 24]))
    order = draw(st.integers(8, 14))
    return RelaxedControl("relaxed", tuple(pieces), (steps,) * len(pieces), order)


def claim_of(question: Question, own: RelaxedControl | PureSchedule) -> RelaxedControlClaim:
    """The claim with the smallest upper end that the enclosure allows."""
    whole = Subject(question, {})
    ends = Endpoints(whole, 0)
    if isinstance(own, PureSchedule):
        state = ends.scheduled(own.runs)
    else:
        pieces = [(piece.end, dense(piece, ends.count)) for piece in own.pieces]
        state = ends.relaxed(pieces, own.steps, own.order)
    upper = error_bound(question.norm, state, ends.target)
    digest = whole.problem_digest(0)
    return RelaxedControlClaim("qreplace/claim/relaxed_control/v1", digest, 0, own, upper)


def dense(piece: ControlPiece, count: int) -> list[Fraction]:
    row = piece.weights
    values = dict(zip(row.indices, row.numerators, strict=True))
    return [values.get(j, Fraction(0)) / row.denominator for j in range(count)]


@settings(max_examples=30)
@given(st.sampled_from(SHAPES), st.integers(1, 2), st.integers(0, 10**6), st.data())
def test_the_error_is_that_of_the_control(
    shape: str, dimension: int, seed: int, data: st.DataObject
) -> None:
    question = random_question(shape, dimension, seed)
    problem = Subject(question, {}).polynomial(0)
    own = data.draw(controls(len(problem.atoms)))
    try:
        claim = claim_of(question, own)
    except NotEnclosed:
        assume(False)
    (bound,) = check(Subject(question, {}), claim)
    rows = np.zeros((1, 4, len(problem.atoms)))
    for cell in range(4):
        piece = next(p for p in own.pieces if Fraction(cell, 4) < p.end)
        rows[0, cell] = [float(w) for w in dense(piece, len(problem.atoms))]
    end = endpoints(problem, rows, 25)[0]
    error = float_norm(question.norm, end - [float(y) for y in problem.target])
    assert abs(float(bound.value) - error) <= 1e-6 * (1 + error)
    if dimension == 1:
        assert float(bound.value) >= scalar_floor(problem, 200) - 1e-6
    less = dataclasses.replace(claim, upper=claim.upper - Fraction(1, 10**40))
    with pytest.raises(Rejected, match="exceeds the claimed upper end"):
        check(Subject(question, {}), less)


@settings(max_examples=40)
@given(st.sampled_from(SHAPES), st.integers(1, 2), st.integers(0, 10**6), st.data())
def test_schedules_have_their_euler_error(
    shape: str, dimension: int, seed: int, data: st.DataObject
) -> None:
    question = random_question(shape, dimension, seed)
    problem = Subject(question, {}).polynomial(0)
    count = len(problem.atoms)
    atoms = data.draw(st.lists(st.integers(0, count - 1), min_size=1, max_size=6))
    repeat = data.draw(st.integers(1, 3))
    own = PureSchedule("schedule", tuple((atom, repeat) for atom in atoms))
    claim = claim_of(question, own)
    (bound,) = check(Subject(question, {}), claim)
    steps = np.array([[atom for atom in atoms for _ in range(repeat)]])
    end = euler_endpoints(problem, steps)[0]
    error = float_norm(question.norm, end - [float(y) for y in problem.target])
    assert bound.depths.first == bound.depths.last == len(atoms) * repeat
    assert abs(float(bound.value) - error) <= 1e-9 * (1 + error)
    if count ** len(steps[0]) <= 300:
        best = best_schedule_error(problem, question.norm, len(steps[0]))
        assert float(bound.value) >= best - ROUNDING


@pytest.mark.parametrize("norm", NORMS, ids=lambda norm: norm.kind)
def test_every_norm(norm: Norm) -> None:
    """``z' = -z + u`` in two coordinates: exact where it is not moved, enclosed where it is."""
    question = affine_question([[0, 0], [1, 2]], [1, 1], norm=norm, rate=-1)
    own = RelaxedControl("relaxed", (ControlPiece(Fraction(1), weights(0, 1)),), (8,), 16)
    (bound,) = check(Subject(question, {}), claim_of(question, own))
    share = 1 - np.exp(-1)
    error = float_norm(norm, np.array([share - 1, 2 * share - 1]))
    assert abs(float(bound.value) - error) < 1e-12
    floor = affine_floor(Subject(question, {}).polynomial(0), L2, 400) if norm == L2 else 0.0
    assert float(bound.value) >= floor - 1e-6


# --- affine dynamics ------------------------------------------------------------------------------


def euler_by_hand(question: Question, atoms: list[int]) -> list[Fraction]:
    """The Euler steps of affine dynamics in plain rationals; forcings hold from their start."""
    affine = Subject(question, {}).affine(0)
    scale = affine.denominator
    step = affine.horizon / len(atoms)
    state = [Fraction(n, scale) for n in affine.initial]
    for k, atom in enumerate(atoms):
        time = k * step
        piece = [p for p in affine.atoms[atom] if p.start <= time][-1]
        forced = [
            sum((Fraction(c[i], scale) * time**n for n, c in enumerate(piece.coefficients)),
                Fraction(0))
            for i in range(affine.dimension)
        ]  # fmt: skip
        moved = [
            sum((affine.entry(i, j) * z for j, z in enumerate(state)), Fraction(0))
            for i in range(affine.dimension)
        ]
        state = [z + step * (a + b) for z, a, b in zip(state, moved, forced, strict=True)]
    return state


pieces_of_time = st.lists(st.tuples(st.integers(-2, 2), st.integers(-2, 2)), min_size=1, max_size=3)


@settings(max_examples=40)
@given(
    st.lists(pieces_of_time, min_size=2, max_size=2),
    st.sampled_from([0, -1, "1/2"]),
    st.booleans(),
    st.lists(st.integers(0, 1), min_size=1, max_size=7),
)
def test_forced_schedules_by_hand(
    forcings: list[list[tuple[int, int]]], rate: int | str, coupled: bool, atoms: list[int]
) -> None:
    made = [
        forcing(*((Fraction(k, len(rows)), [[a, b], [b, 1]]) for k, (a, b) in enumerate(rows)))
        for rows in forcings
    ]
    state_matrix: list[Numbers] | None = [[0, 1], ["-1/2", 0]] if coupled else None
    question = affine_question(made, [1, -1], ["1/2", 0], rate=rate, state_matrix=state_matrix)
    state = Endpoints(Subject(question, {}), 0).scheduled([(atom, 1) for atom in atoms])
    assert not isinstance(state, EnclosedState)
    assert list(state) == euler_by_hand(question, atoms)


@settings(max_examples=30)
@given(st.lists(pieces_of_time, min_size=2, max_size=2), st.integers(0, 4))
def test_forced_fields_of_time_are_integrated_exactly(
    forcings: list[list[tuple[int, int]]], share: int
) -> None:
    """At any weights the endpoint is the mixture of the atoms' own integrals."""
    made, wholes = [], []
    for rows in forcings:
        starts = [Fraction(k, len(rows)) for k in range(len(rows))]
        made.append(
            forcing(*((s, [[a, b], [b, 1]]) for s, (a, b) in zip(starts, rows, strict=True)))
        )
        whole = [Fraction(0), Fraction(0)]
        for s, e, (a, b) in zip(starts, [*starts[1:], Fraction(1)], rows, strict=True):
            squares = (e * e - s * s) / 2
            whole[0] += a * (e - s) + b * squares
            whole[1] += b * (e - s) + squares
        wholes.append(whole)
    weight = Fraction(share, 4)
    mixed = tuple(weight * a + (1 - weight) * b for a, b in zip(*wholes, strict=True))
    question = affine_question(made, [1, -1])
    ends = Endpoints(Subject(question, {}), 0)
    row = [weight, 1 - weight]
    assert ends.relaxed([(Fraction(1, 3), row), (Fraction(1), row)], (1, 1), 1) == mixed
    # The same through validated steps: a state that nothing moves makes the flow depend on it.
    third = affine_question(made, [1, -1], state_matrix=[[0, 0], [0, 0]])
    assert Endpoints(Subject(third, {}), 0).relaxed([(Fraction(1), row)], (1,), 1) == mixed


def test_state_independent_atoms_of_any_dimension() -> None:
    size = 300
    one, other = [[(7 * i + j) % 5 for i in range(size)] for j in range(2)]
    question = make_question([2] * size, [one, other], L1)
    own = RelaxedControl("relaxed", (ControlPiece(Fraction(1), weights("1/3", "2/3")),), (1,), 1)
    claim = claim_of(question, own)
    assert claim.upper == sum(
        abs(Fraction(a + 2 * b, 3) - 2) for a, b in zip(one, other, strict=True)
    )
    (bound,) = check(Subject(question, {}), claim)
    assert bound.evidence is Evidence.ANALYTIC_CERTIFIED
    steps = PureSchedule("schedule", ((0, 2), (1, 4)))
    assert claim_of(question, steps).upper == claim.upper


def test_flows_of_many_coordinates_are_refused() -> None:
    question = affine_question([[1] * 65], [1] * 65, rate=-1)
    whole = Subject(question, {})
    claim = dataclasses.replace(DECAY, subject=whole.problem_digest(0))
    with pytest.raises(InputError, match="flows of at most 64 coordinates"):
        check(whole, claim)


def test_a_finite_witness_lift_is_labelled_so() -> None:
    unit = matrix([[1, 0], [0, 1]])
    question = dataclasses.replace(
        make_question([1, 0], [[0, 0]], L2),
        domain=WitnessDomain("witnesses", unit),
        target=LinearTarget("linear_map", matrix([[1, 1]])),
        dictionary=ListedDictionary(
            "listed",
            (
                LinearAtom("linear_map", matrix([[1, 0]])),
                LinearAtom("linear_map", matrix([[0, 1]])),
            ),
            4,
            learned=False,
            shared_schedule=True,
        ),
    )
    own = RelaxedControl("relaxed", (ControlPiece(Fraction(1), weights("1/2", "1/2")),), (1,), 1)
    (bound,) = check(Subject(question, {}), claim_of(question, own))
    assert bound.evidence is Evidence.FINITE_WITNESS_CERTIFIED
    assert bound.domain == "witnesses"


def test_a_question_without_dynamics_is_refused() -> None:
    whole = make_subject([1, 1], [[1, 0]], L2, system=DeclaredSystem("declared", 2), floor=None)
    claim = dataclasses.replace(DECAY, subject=whole.problem_digest(0))
    with pytest.raises(InputError, match="holds no affine dynamics"):
        check(whole, claim)


# --- precision ------------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [Fraction(1, 10**60), Fraction(10) ** 60])
def test_linear_errors_follow_the_scale(scale: Fraction) -> None:
    """The enclosure of ``z' = u - z`` keeps its relative precision at any size of the state."""
    question = polynomial_question([["-z1"], [f"({scale}) - z1"]], [2 * scale])
    own = RelaxedControl("relaxed", (ControlPiece(Fraction(1), weights(0, 1)),), (16,), 20)
    claim = claim_of(question, own)
    assert abs(claim.upper / scale - Fraction("1.36787944117144232159552")) < Fraction(1, 10**20)


def test_more_steps_and_orders_tighten() -> None:
    sizes = []
    for steps, order in ((4, 4), (8, 8), (16, 16)):
        claim = control("ctl-squares", [(1, (0, 1))], 0, steps=[steps], order=order)
        assert isinstance(claim.control, RelaxedControl)
        sizes.append(claim_of(QUESTIONS["ctl-squares"], claim.control).upper)
    # 1 - tanh(1 + artanh(1/3))
    truth = 1 - np.tanh(1 + np.arctanh(1 / 3))
    assert sizes[0] > sizes[1] > sizes[2] > truth - 1e-12
    assert sizes[2] - sizes[1] < 0 and float(sizes[2]) - truth < 1e-12


def test_long_schedules_are_enclosed_in_time() -> None:
    claim = schedule("ctl-squares", [(0, 1500), (1, 1500)], 2)
    own = claim.control
    assert isinstance(own, PureSchedule)
    (bound,) = check(subject("ctl-squares"), claim_of(QUESTIONS["ctl-squares"], own))
    assert bound.evidence is Evidence.INTERVAL_CERTIFIED
    steps = np.array([[0] * 1500 + [1] * 1500])
    end = euler_endpoints(subject("ctl-squares").polynomial(0), steps)[0, 0]
    assert abs(float(bound.value) - abs(end - 1)) < 1e-10
