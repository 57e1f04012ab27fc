"""``net_floor``: what is accepted is true of dense controls, and attacks fail for their reason."""

from __future__ import annotations

import dataclasses
import itertools
from fractions import Fraction

import numpy as np
import pytest
from corpora import net_floor as corpus
from hypothesis import given, settings
from hypothesis import strategies as st
from random_piecewise import RandomSystem, random_system, targets

from qreplace.check.net_floor import check, lower_walk, upper_net
from qreplace.check.net_ledger import ledger
from qreplace.check.piecewise import require_piecewise
from qreplace.claims import claim_bytes, read_claim
from qreplace.claims.net_floor import NetFloorClaim, NetFunctional, NetLower, NetUpper
from qreplace.errors import Rejected
from qreplace.premises import Evidence
from qreplace.question.controlled import Controlled
from qreplace.question.maps import rational_point
from qreplace.question.subject import Subject


@pytest.mark.parametrize(
    ("name", "claim"), [(name, claim) for _, name, claim in corpus.ACCEPTED], ids=lambda x: str(x)
    if isinstance(x, str) else "",
)  # fmt: skip
def test_accepted(name: str, claim: NetFloorClaim) -> None:
    subject = corpus.subject(name.split("--")[0])
    assert read_claim(claim_bytes(claim)) == claim
    bounds = {bound.side: bound for bound in check(subject, claim)}
    full = subject.question.domain.kind == "full"
    if claim.below is not None:
        assert bounds["lower"].value == claim.lower
        assert bounds["lower"].domain == ("full" if full else "witnesses")
        assert bounds["lower"].covers == "every_schedule"
    if claim.above is not None:
        assert bounds["upper"].value == claim.upper
        assert bounds["upper"].domain == ("full" if claim.above.cells else "witnesses")
    for bound in bounds.values():
        seen = bound.domain == "witnesses"
        assert bound.evidence is (
            Evidence.FINITE_WITNESS_CERTIFIED if seen else Evidence.INTERVAL_CERTIFIED
        )
        assert bound.quantity == "relaxed_floor"


@pytest.mark.parametrize(
    ("name", "claim", "pointer", "words"),
    [case[1:] for case in corpus.REJECTED],
    ids=[case[1] for case in corpus.REJECTED],
)
def test_rejected(name: str, claim: NetFloorClaim, pointer: str, words: str) -> None:
    with pytest.raises(Rejected, match=words) as refusal:
        check(corpus.subject(name.split("--")[0]), claim)
    assert refusal.value.pointer == pointer


def test_a_tree_beyond_the_limit() -> None:
    assert corpus.BENT.below is not None
    side = dataclasses.replace(corpus.BENT.below, tree=(0,) * 1_000_001)
    with pytest.raises(Rejected, match="the tree is too long"):
        check(corpus.subject("net-bend"), dataclasses.replace(corpus.BENT, below=side))


# --- random systems --------------------------------------------------------------------------


def random_tree(rng: np.random.Generator, steps: int, leaves: int) -> list[int]:
    """Halvings of random steps with leaves that all name functional 0, in preorder."""
    if leaves == 1:
        return [0]
    part = int(rng.integers(1, leaves))
    first, second = random_tree(rng, steps, part), random_tree(rng, steps, leaves - part)
    return [-1 - int(rng.integers(steps)), *first, *second]


def smallest_value(walk: Controlled, below: NetLower) -> Fraction:
    """The smallest value of a leaf, by walking the tree from the front."""
    functionals = [tuple(zip(f.points, f.values, strict=True)) for f in below.functionals]
    entries = iter(below.tree)

    def value() -> Fraction:
        entry = next(entries)
        if entry >= 0:
            return walk.error_lower(functionals[entry])
        step, found = -1 - entry, []
        whole = walk.cell(step)
        for half in whole.halves():
            walk.set_cell(step, half)
            found.append(value())
        walk.set_cell(step, whole)
        return min(found)

    return value()


def random_claim(rng: np.random.Generator, system: RandomSystem) -> NetFloorClaim:
    """A claim with a random functional and tree, and a random control."""
    subject = Subject(system.question, {})
    problem = subject.piecewise(0)
    points = tuple(rational_point(q) for q in problem.witnesses or ())
    used = sorted(rng.choice(3, int(rng.integers(1, 4)), replace=False).tolist())
    values = tuple(tuple(int(x) for x in rng.integers(-9, 10, problem.dimension)) for _ in used)
    steps = int(rng.integers(1, 4))
    below = NetLower(
        steps,
        points,
        (NetFunctional(tuple(used), values),),
        Fraction(0),
        tuple(random_tree(rng, steps, int(rng.integers(1, 5)))),
    )
    turned = tuple(tuple(-x for x in row) for row in values)
    sides = [below, dataclasses.replace(below, functionals=(NetFunctional(tuple(used), turned),))]
    walk = lower_walk(subject, problem, below)
    distances = [smallest_value(walk, side) for side in sides]
    distance = max(distances)
    below = dataclasses.replace(sides[distances.index(distance)], distance=distance)
    lower = max(Fraction(0), distance - walk.steps.defect)
    count = len(system.atoms)
    rows = tuple(
        tuple(Fraction(int(x), 8) for x in rng.multinomial(8, np.full(count, 1 / count)))
        for _ in range(int(rng.integers(1, 4)))
    )
    above = NetUpper(rows, int(rng.integers(1, 5)), (), Fraction(0))
    net = upper_net(subject, problem, above)
    above = dataclasses.replace(
        above, distance=max(net.walk.error_upper(index) for index in range(3))
    )
    return NetFloorClaim(
        format="qreplace/claim/net_floor/v1",
        subject=subject.problem_digest(0),
        code=0,
        lower=lower,
        upper=above.distance + net.walk.steps.defect,
        below=below,
        above=above,
    )


@settings(max_examples=30)
@given(st.integers(0, 10**6))
def test_no_control_beats_a_lower_end(seed: int) -> None:
    """Dense controls of up to three pieces, two atoms: complete on a grid of weights."""
    rng = np.random.default_rng(seed)
    system = random_system(rng, largest=2)
    subject = Subject(system.question, {})
    claim = random_claim(rng, system)
    bounds = {bound.side: bound for bound in check(subject, claim)}
    aim = targets(subject, system.inputs)
    grid = [np.array([k / 4, 1 - k / 4]) for k in range(5)]
    for pieces in (1, 2):
        for control in itertools.product(grid, repeat=pieces):
            end = system.relaxed(list(control), 12 // pieces)[-1]
            missed = system.sizes(end - aim).max()
            assert float(bounds["lower"].value) <= missed + 1e-4 * (1 + np.abs(end).max())


@settings(max_examples=40)
@given(st.integers(0, 10**6))
def test_a_control_ends_within_its_upper_end(seed: int) -> None:
    """And not much nearer: its distance is sharp up to the mixed steps' defect."""
    rng = np.random.default_rng(seed)
    system = random_system(rng)
    subject = Subject(system.question, {})
    claim = random_claim(rng, system)
    assert claim.above is not None and claim.upper is not None
    upper = next(b.value for b in check(subject, claim) if b.side == "upper")
    control = [np.array([float(x) for x in row]) for row in claim.above.weights]
    end = system.relaxed(control, 80)[-1]
    missed = system.sizes(end - targets(subject, system.inputs)).max()
    slack = 1e-5 * (1 + np.abs(end).max())
    assert missed <= float(upper) + slack
    defect = claim.upper - claim.above.distance
    assert missed >= float(claim.above.distance - defect) - slack
    nearer = dataclasses.replace(claim.above, distance=claim.above.distance - Fraction(1, 2**70))
    with pytest.raises(Rejected, match="farther from the target"):
        check(subject, dataclasses.replace(claim, above=nearer))


@settings(max_examples=40)
@given(st.integers(0, 10**6))
def test_a_larger_distance_is_refused_or_true(seed: int) -> None:
    """Distances are raised until they are refused: the last accepted one is still below truth."""
    rng = np.random.default_rng(seed)
    system = random_system(rng, largest=2)
    subject = Subject(system.question, {})
    claim = random_claim(rng, system)
    assert claim.below is not None
    aim = targets(subject, system.inputs)
    grid = [np.array([k / 8, 1 - k / 8]) for k in range(9)]
    true = min(system.sizes(system.relaxed([w], 24)[-1] - aim).max() for w in grid)
    distance, accepted = claim.below.distance, True
    while accepted and distance < 1000:
        distance = distance * Fraction(5, 4) + Fraction(1, 16)
        side = dataclasses.replace(claim.below, distance=distance)
        lower = distance - lower_walk(subject, require_piecewise(subject, 0), side).steps.defect
        wrong = dataclasses.replace(claim, below=side, lower=max(Fraction(0), lower))
        try:
            check(subject, wrong)
        except Rejected:
            accepted = False
        else:
            assert float(wrong.lower) <= true + 1e-5 * (1 + abs(true))
    assert not accepted


# --- the ledger ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["net-split--bracket", "net-bend--bracket", "net-disk--bracket"])
def test_the_ledger_adds_up(name: str) -> None:
    """With ends as sharp as the terms allow, the five rows are the bracket."""
    claims = {key: claim for _, key, claim in corpus.ACCEPTED}
    claim, subject = claims[name], corpus.subject(name.split("--")[0])
    assert isinstance(claim, NetFloorClaim)
    assert claim.above is not None and claim.below is not None
    problem = require_piecewise(subject, 0)
    walk, net = lower_walk(subject, problem, claim.below), upper_net(subject, problem, claim.above)
    sharp = dataclasses.replace(
        claim,
        lower=claim.below.distance - walk.steps.defect,
        upper=claim.above.distance + net.walk.steps.defect + net.covering,
    )
    check(subject, sharp)
    rows = ledger(subject, sharp)
    assert [row.step for row in rows] == [1, 2, 3, 4, 5, 6]
    assert sum(row.amount for row in rows[:5]) == rows[5].amount
    assert rows[0].amount == net.covering
    assert rows[2].amount == rows[3].amount == 0
    assert rows[1].paper is not None and 2 * rows[1].paper > rows[1].amount
    assert "controls to the power" in rows[2].note


def test_the_ledger_of_one_side() -> None:
    claim = dataclasses.replace(corpus.BENT, upper=None, above=None)
    rows = ledger(corpus.subject("net-bend"), claim)
    assert rows[0].amount == 0 and rows[1].amount > 0
