"""Produced count minima are the least error of all counts, and budgets only weaken them."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lifted_questions import L1, L2, LINF, block_l2, make_subject, weighted_l1, weighted_linf
from lifted_strategies import LINEAR, Problem, problems, simplex_grid

from qreplace.check.registry import check_claim
from qreplace.claims import claim_bytes, read_claim
from qreplace.claims.count_minimum import Single
from qreplace.exact.roots import sqrt_bounds
from qreplace.produce.count_minimum import CountProducer, CountSearch, produce
from qreplace.question.model import BlockL2Norm, L2Norm, Norm
from qreplace.question.subject import Subject

SEED = 7
NEARLY = 1 - Fraction(1, 1 << 36)

NORMS: list[Norm] = [
    LINF,
    L1,
    L2,
    block_l2(3),
    weighted_linf(*([1, "1/3", 2] * 4)),
    weighted_l1(*([1, "1/3", 2] * 4)),
]


def least(problem: Problem, depth: int) -> Fraction:
    """The least error by complete enumeration, of the l2 norms from below."""
    best = min(problem.error(alpha) for alpha in simplex_grid(len(problem.atoms), depth))
    square = isinstance(problem.norm, BlockL2Norm | L2Norm)
    return sqrt_bounds(best)[0] if square else best


def checked(subject: Subject, search: CountSearch) -> tuple[Fraction, Fraction]:
    """The two ends that the checkers confirm."""
    (lower,) = check_claim(subject, search.minimum)
    (upper,) = check_claim(subject, search.schedule)
    assert lower.side == "lower"
    assert upper.side == "upper"
    assert lower.depths == upper.depths
    assert lower.quantity == upper.quantity == "ideal_error"
    return lower.value, upper.value


def mixed(norm: Norm, count: int = 5, dimension: int = 12) -> Subject:
    """A middling problem with numbers of no particular pattern, the target in the middle."""
    draw = random.Random(SEED).randint
    atoms = [[draw(-40, 40) for _ in range(dimension)] for _ in range(count)]
    return make_subject([draw(-5, 5) for _ in range(dimension)], atoms, norm)


@settings(max_examples=120)
@given(problems(), st.integers(1, 6))
def test_the_minimum_is_that_of_complete_enumeration(problem: Problem, depth: int) -> None:
    search = produce(problem.subject, 0, depth)
    lower, upper = checked(problem.subject, search)
    truth = least(problem, depth)
    assert search.stopped == ""
    if problem.norm.kind in LINEAR:
        assert lower == truth == upper
    else:
        assert truth * NEARLY <= lower <= truth


@settings(max_examples=60)
@given(problems(), st.integers(2, 6), st.integers(1, 6))
def test_few_nodes_and_a_poor_start_never_give_too_much(
    problem: Problem, depth: int, nodes: int
) -> None:
    """The worst single atom to begin with, and a search that ends at once."""
    count = len(problem.atoms)
    vertices = [[depth * (i == j) for i in range(count)] for j in range(count)]
    start = max(vertices, key=lambda n: problem.error([Fraction(k, depth) for k in n]))
    lower, upper = checked(
        problem.subject, produce(problem.subject, 0, depth, nodes=nodes, start=start)
    )
    truth = least(problem, depth)
    assert lower <= truth
    square = isinstance(problem.norm, BlockL2Norm | L2Norm)
    assert truth <= upper * (1 + Fraction(1, 2**100)) if square else truth <= upper


@settings(max_examples=60)
@given(problems(), st.integers(1, 6), st.integers(0, 4))
def test_a_target_is_exceeded_exactly_when_every_error_exceeds_it(
    problem: Problem, depth: int, quarter: int
) -> None:
    """Targets from 0 to the minimum itself, which no lower end exceeds."""
    truth = least(problem, depth)
    target = truth * Fraction(quarter, 4)
    search = produce(problem.subject, 0, depth, target=target, enough=target)
    lower, _ = checked(problem.subject, search)
    assert lower <= truth
    assert (lower > target) == (truth > target)
    assert search.stopped in ("", "enough")


@pytest.mark.parametrize("norm", NORMS, ids=lambda norm: norm.kind)
def test_equal_errors_everywhere_need_no_enumeration(norm: Norm) -> None:
    """Atoms that differ only where nobody is ever right: one functional closes the root."""
    atoms = [[3 if i < 9 else (i + j) % 2 for i in range(12)] for j in range(4)]
    subject = make_subject([0] * 12, atoms, norm)
    search = produce(subject, 0, 12)
    lower, upper = checked(subject, search)
    assert upper * NEARLY <= lower <= upper
    assert search.nodes == 1


@pytest.mark.parametrize("norm", NORMS, ids=lambda norm: norm.kind)
def test_deeper_searches_are_complete_and_smaller_than_enumeration(norm: Norm) -> None:
    """Against the float error of every choice of counts."""
    import numpy as np

    from qreplace.produce.nearest_point import float_norms
    from qreplace.produce.schedule_error import _compositions

    subject = mixed(norm)
    depth, count = 16, 5
    search = produce(subject, 0, depth)
    lower, upper = checked(subject, search)
    problem = subject.lifted(0)
    options = np.array(list(_compositions(depth, count)))
    atoms = np.array(problem.atoms, dtype=float) / problem.denominator
    target = np.array(problem.target, dtype=float) / problem.denominator
    errors = float_norms(norm, options @ atoms / depth - target)
    assert lower <= upper
    assert float(upper) == pytest.approx(float(errors.min()), rel=1e-12)
    assert float(lower) == pytest.approx(float(errors.min()), rel=1e-9)
    assert search.nodes < len(options) / 4
    assert len(search.minimum.tree) <= search.nodes


def test_a_good_enough_schedule_ends_the_search() -> None:
    subject = mixed(LINF)
    whole = produce(subject, 0, 24)
    start = [24, 0, 0, 0, 0]
    error = whole.schedule.error
    search = produce(subject, 0, 24, target=error, enough=error * 2, start=start)
    assert error <= search.schedule.error <= error * 2
    assert search.stopped == "enough"
    assert search.nodes < whole.nodes
    lower, _ = checked(subject, search)
    assert lower <= whole.minimum.lower


def test_more_nodes_never_loosen_the_bracket() -> None:
    subject = mixed(LINF, count=8, dimension=40)
    brackets = [
        checked(subject, produce(subject, 0, 20, nodes=nodes)) for nodes in (1, 10, 40, 4000)
    ]
    lowers, uppers = zip(*brackets, strict=True)
    assert list(lowers) == sorted(lowers)
    assert list(uppers) == sorted(uppers, reverse=True)
    assert lowers[0] < lowers[-1] == uppers[-1]
    assert all(lower <= lowers[-1] <= upper for lower, upper in brackets)


def test_the_time_limit_is_reported_and_the_claim_still_holds() -> None:
    subject = mixed(LINF, count=8, dimension=40)
    search = produce(subject, 0, 20, seconds=0)
    assert search.stopped == "seconds"
    lower, upper = checked(subject, search)
    assert lower < upper


def test_the_same_search_gives_the_same_claim() -> None:
    subject = mixed(L2)
    one, other = (claim_bytes(produce(subject, 0, 9).minimum) for _ in range(2))
    assert one == other
    assert claim_bytes(read_claim(one)) == one


def test_depths_share_what_was_learnt_without_changing_the_answer() -> None:
    producer = CountProducer(mixed(LINF), 0)
    for depth in (3, 8, 13):
        together = producer.produce(depth)
        alone = produce(mixed(LINF), 0, depth)
        assert together.minimum.lower == alone.minimum.lower == together.schedule.error


def test_multiples_of_a_depth_reach_no_less() -> None:
    """``E_kD <= E_D``: every schedule of D steps may repeat each step."""
    subject = mixed(L1)
    errors = {depth: produce(subject, 0, depth).minimum.lower for depth in (2, 3, 6, 12)}
    assert errors[12] <= errors[6] <= min(errors[2], errors[3])


@pytest.mark.parametrize("norm", NORMS, ids=lambda norm: norm.kind)
def test_one_atom_and_atoms_that_are_the_target(norm: Norm) -> None:
    single = make_subject([1] * 12, [[0] * 12], norm)
    search = produce(single, 0, 4)
    assert search.minimum.tree == (Single("single"),)
    lower, upper = checked(single, search)
    assert lower <= upper
    met = make_subject([1] * 12, [[1] * 12, [1] * 12], norm)
    search = produce(met, 0, 4)
    assert checked(met, search) == (0, 0)
    assert len(search.minimum.tree) == 1


@pytest.mark.parametrize("scale", [Fraction(10) ** 300, Fraction(1, 10**300)])
def test_the_scale_of_the_data_does_not_matter(scale: Fraction) -> None:
    target, atoms = [2, 1], [[1, 0], [0, 3], [5, 5]]
    scaled = make_subject([scale * x for x in target], [[scale * x for x in a] for a in atoms])
    plain = make_subject(target, atoms)
    for depth in (3, 20):
        one, other = produce(plain, 0, depth), produce(scaled, 0, depth)
        assert checked(scaled, other)[0] == scale * checked(plain, one)[0]
        assert one.schedule.counts == other.schedule.counts


def test_a_complete_tree_is_smaller_than_the_list_of_all_counts() -> None:
    subject = mixed(LINF, count=8, dimension=40)
    search = produce(subject, 0, 20)
    assert search.stopped == ""
    assert len(search.minimum.tree) < math.comb(27, 7) / 100
