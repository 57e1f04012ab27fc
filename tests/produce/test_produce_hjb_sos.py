"""Value functions against known floors, complete enumeration and every norm; refusals."""

from __future__ import annotations

import random
from fractions import Fraction
from itertools import islice
from math import e, sqrt

import pytest
from dynamic_truth import (
    ROUNDING,
    affine_floor,
    best_schedule_error,
    enumerated_value,
    scalar_floor,
)
from lifted_questions import (
    L1,
    L2,
    LINF,
    block_l2,
    make_question,
    weighted_l1,
    weighted_linf,
)
from random_systems import random_question
from value_systems import (
    BILINEAR,
    CHAIN,
    CUBIC,
    INTEGRATOR,
    STEPS,
    SWITCHED,
    accepted_lower,
    system,
)

from qreplace.claims import claim_bytes
from qreplace.claims.region import BoxPart, ImpliedPart, InvariantPart, TimePart
from qreplace.errors import ProducerFailed
from qreplace.produce.hjb_sos import HjbSosProducer, produce
from qreplace.produce.regions import NoRegion, RegionFinder
from qreplace.produce.sos_program import Budget, Clock, Solver
from qreplace.question.model import Norm
from qreplace.question.subject import Subject

PLANAR_NORMS: list[Norm] = [
    L1,
    L2,
    LINF,
    weighted_linf(2, "1/2"),
    weighted_l1("1/2", 3),
]


def test_the_switched_scalar_reaches_its_published_floor() -> None:
    """Theory T7.9: squared floor ``(1 + 1/e)^2 = 1.87109417``; degree 4 must show 1.87108."""
    subject = system(SWITCHED, [2])
    lower = accepted_lower(subject, produce(subject, 0, order=2))
    assert Fraction("1.87108") <= lower**2 <= Fraction((1 + 1 / e) ** 2 + 1e-12)


@pytest.mark.parametrize("order", [1, 2])
def test_the_worked_example_is_nearly_exact(order: int) -> None:
    """Theory T7.4: the value is 1; the margin of the Gram matrices is all that is lost."""
    subject = system(STEPS, [2])
    lower = accepted_lower(subject, produce(subject, 0, order=order))
    assert 1 - Fraction(1, 10**5) < lower <= 1


@pytest.mark.parametrize("solver", ["CLARABEL", "SCS"])
def test_either_solver_may_propose(solver: Solver) -> None:
    subject = system(SWITCHED, [2])
    lower = accepted_lower(subject, produce(subject, 0, order=2, solver=solver))
    assert 1.36 < lower <= 1 + 1 / e


@pytest.mark.parametrize(
    ("atoms", "target", "short"),
    [
        (INTEGRATOR, [1, 0], 0.005),
        (BILINEAR, [1, 1], 0.001),
        (CUBIC, [1, 1], 0.002),
        (CHAIN, [1, 1, 0], 0.01),
    ],
)
def test_known_systems_come_close(atoms: list[list[str]], target: list[int], short: float) -> None:
    """Degree 4 against a fine enumeration: never above it, and within the stated distance."""
    subject = system(atoms, target)
    lower = float(accepted_lower(subject, produce(subject, 0, order=2)))
    truth = enumerated_value(subject.polynomial(0), L2, cells=24, keep=3000)
    assert truth - short <= lower <= truth + ROUNDING


def test_orders_converge() -> None:
    """Degrees 2, 4, 6 on the first region: each closes most of what was left."""
    subject = system(INTEGRATOR, [1, 0])
    truth = affine_floor(subject.polynomial(0), L2)
    producer = HjbSosProducer(subject, 0)
    region = next(iter(producer.regions))
    claims = [producer.attempt(order, region).claim for order in (1, 2, 3)]
    gaps = [truth - float(accepted_lower(subject, claim)) for claim in claims]
    assert gaps[0] < 0.01
    assert gaps[1] < gaps[0] / 2
    assert -1e-5 < gaps[2] < gaps[1] / 2


@pytest.mark.parametrize("norm", PLANAR_NORMS)
def test_every_norm_has_its_weights(norm: Norm) -> None:
    """Below the exact floor in each norm; sharp where the squared error is a mean of squares."""
    subject = system([["1", "0"], ["0", "1"], ["-1", "-1/2"]], [2, 1], norm)
    lower = float(accepted_lower(subject, produce(subject, 0, order=1)))
    truth = affine_floor(subject.polynomial(0), norm)
    assert lower <= truth + 1e-5
    if norm.kind in ("l2", "linf", "weighted_linf"):
        assert lower >= truth - 1e-3


@pytest.mark.parametrize(("norm", "same"), [(block_l2(1), LINF), (block_l2(2), L2)])
def test_blocks_are_shared_out_like_coordinates(norm: Norm, same: Norm) -> None:
    atoms, target = [["1", "0"], ["0", "1"], ["-1", "-1/2"]], [2, 1]
    one, other = (
        accepted_lower(subject, produce(subject, 0, order=1))
        for subject in (system(atoms, target, norm), system(atoms, target, same))
    )
    assert abs(one - other) < 1e-5


# --- complete enumeration -------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [1, 3, 4])
def test_a_depth_is_never_above_all_its_schedules(seed: int) -> None:
    """Theory T3.6: the ideal error of a depth, against the errors of all ``J**D`` schedules."""
    shape = ("linear", "bilinear")[seed % 2]
    question = random_question(shape, 1 + seed % 2 if shape == "linear" else 1, seed)
    subject = Subject(question, {})
    depth = 2 + seed % 3
    claim = produce(subject, 0, order=1, depth=depth)
    truth = best_schedule_error(subject.polynomial(0), question.norm, depth)
    assert accepted_lower(subject, claim) <= truth + 1e-12


def test_a_depth_is_not_its_floor() -> None:
    """``x' = -x + u``, target ``1 - (3/4)^4``: four steps reach it, relaxed controls do not."""
    subject = system(SWITCHED, [Fraction(175, 256)])
    assert accepted_lower(subject, produce(subject, 0, order=2)) > Fraction(1, 20)
    assert accepted_lower(subject, produce(subject, 0, order=2, depth=4)) == 0


@pytest.mark.parametrize("seed", [0, 4])
def test_random_scalars_are_bounded_by_the_truth(seed: int) -> None:
    """One state: the truth is an interval's distance; degree 4 comes within a few percent of it."""
    question = random_question(("linear", "bilinear", "cubic")[seed % 3], 1, seed)
    subject = Subject(question, {})
    lower = float(accepted_lower(subject, produce(subject, 0, order=2)))
    truth = scalar_floor(subject.polynomial(0))
    assert lower <= truth + 1e-7
    assert lower >= 0.95 * truth - 1e-3


@pytest.mark.parametrize(("shape", "seed"), [("linear", 2)])
def test_random_planar_systems_are_bounded_by_enumeration(shape: str, seed: int) -> None:
    question = random_question(shape, 2, seed)
    subject = Subject(question, {})
    lower = float(accepted_lower(subject, produce(subject, 0, order=1)))
    truth = enumerated_value(subject.polynomial(0), question.norm, cells=16, keep=2000)
    assert lower <= truth + ROUNDING
    assert lower >= truth / 4


def test_a_target_within_reach_leaves_nothing_to_show() -> None:
    """The claim of 0 is exact and short, and rests on no region."""
    subject = system(SWITCHED, ["1/2"])
    claim = produce(subject, 0, order=1)
    assert claim.region == ()
    assert accepted_lower(subject, claim) == 0


# --- regions --------------------------------------------------------------------------------------


def test_regions_hold_over_long_horizons() -> None:
    subject = system(SWITCHED, [2], horizon=5)
    claim = produce(subject, 0, order=2)
    assert [type(part) for part in claim.region] == [
        TimePart,
        InvariantPart,
        InvariantPart,
        ImpliedPart,
    ]
    assert 0.98 < accepted_lower(subject, claim) <= 1 + e**-5


def test_the_asked_ball_is_proved_and_used() -> None:
    """A rotation keeps to its circle: on the disc the value function knows more."""
    atoms = [["z2", "-z1"], ["-z2", "z1"]]
    plain = system(atoms, [2, 0], initial=[1, 0])
    asked = system(atoms, [2, 0], initial=[1, 0], region=["1 - z1^2 - z2^2"])
    with_ball = HjbSosProducer(asked, 0)
    claim = with_ball.best(1).claim
    constraints = [part.constraint for part in claim.region if isinstance(part, InvariantPart)]
    assert asked.question.floor.region[0] in constraints  # type: ignore[union-attr]
    lower = accepted_lower(asked, claim)
    assert accepted_lower(plain, produce(plain, 0, order=1)) < lower <= 1
    assert lower > Fraction("0.999")


def test_a_constraint_without_a_proof_is_left_out_and_said() -> None:
    subject = system(STEPS, [2], region=["1/4 - z1^2", "z1 - 1"])
    producer = HjbSosProducer(subject, 0)
    claim = producer.best(1).claim
    assert accepted_lower(subject, claim) > Fraction("0.99")
    assert any(note.startswith("region constraint 0 is left out") for note in producer.notes)
    assert "region constraint 1 fails at the initial state" in producer.notes


def test_the_box_serves_where_no_sides_move(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("qreplace.produce.regions.SIDE_DEGREES", ())
    subject = system(INTEGRATOR, [1, 0])
    claim = produce(subject, 0, order=2)
    assert [type(part) for part in claim.region] == [TimePart, BoxPart]
    assert 0.67 < accepted_lower(subject, claim) < 0.6877


def test_escaping_trajectories_have_no_region() -> None:
    subject = system([["1 + z1^2"], ["z1^2"]], [2], horizon=2)
    with pytest.raises(NoRegion, match="no region was found that holds every trajectory"):
        produce(subject, 0)


@pytest.mark.parametrize("depth", [None, 5])
def test_every_region_found_holds_random_trajectories(depth: int | None) -> None:
    """Random switching, at the depth itself or in fine steps, keeps every constraint."""
    draw = random.Random(7)
    problem = system(BILINEAR, [1, 1]).polynomial(0)
    steps = depth or 60
    step = problem.horizon / steps
    for region in islice(RegionFinder(problem, depth, (), Clock()).candidates(), 2):
        for _ in range(5):
            state = list(problem.initial)
            for k in range(steps + 1):
                point = [step * k, *state]
                assert all(g.at(point) >= 0 for g in region.constraints)
                atom = draw.choice(problem.atoms)
                moved = [z + step * p.at(point) for z, p in zip(state, atom, strict=True)]
                state = [Fraction(round(z * 2**40), 2**40) for z in moved]


# --- limits and identity --------------------------------------------------------------------------


def test_the_same_question_gives_the_same_bytes() -> None:
    one, other = (produce(system(SWITCHED, [2]), 0, order=2) for _ in range(2))
    assert claim_bytes(one) == claim_bytes(other)


def test_the_order_is_the_questions_unless_given() -> None:
    subject = system(SWITCHED, [2], order=1)
    assert produce(subject, 0).value_function.degree <= 2
    assert produce(subject, 0, order=2).value_function.degree == 4


def test_size_is_refused_before_anything_is_solved() -> None:
    subject = system(CHAIN, [1, 1, 0])
    producer = HjbSosProducer(subject, 0)
    with pytest.raises(ProducerFailed, match="needs Gram matrices of 210 rows"):
        producer.best(6)
    assert producer.clock.solver_seconds == 0


def test_a_time_budget_ends_the_attempt() -> None:
    with pytest.raises(ProducerFailed, match="time budget"):
        produce(system(SWITCHED, [2]), 0, budget=Budget(seconds=1e-3))


def test_state_independent_atoms_are_polynomial_too() -> None:
    """A lifted question of theory T7.1, by way of polynomials: the hull's distance is 1/sqrt 2."""
    question = make_question([1, 1], [[1, 0], [0, 1]], L2)
    subject = Subject(question, {})
    lower = accepted_lower(subject, produce(subject, 0, order=1))
    assert 1 / sqrt(2) - 1e-4 < lower <= 1 / sqrt(2)
