"""Brackets of piecewise-affine floors: known floors lie inside, and budgets narrow them."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lifted_questions import L1, L2, LINF, weighted_l1, weighted_linf
from piecewise_questions import (
    INSTANCE,
    atom,
    box,
    instance_atoms,
    instance_witnesses,
    pwa_question,
    reference,
)
from random_piecewise import random_system, targets

from qreplace.check.bounds import ScopedBound
from qreplace.check.net_floor import check
from qreplace.claims.net_floor import NetFloorClaim
from qreplace.errors import ProducerFailed
from qreplace.produce.net_floor import produce
from qreplace.question.model import NetworkTarget, Norm, PwaAtom, Question
from qreplace.question.subject import Subject


def brackets(question: Question, **budget: Any) -> list[tuple[Fraction, Fraction]]:
    """The checked brackets of every claim, in order."""
    subject = Subject(question, {})
    found = []
    for claim in produce(subject, 0, **budget):
        ends = {bound.side: bound for bound in check(subject, claim)}
        lower = ends["lower"].value if "lower" in ends else Fraction(0)
        found.append((lower, ends["upper"].value))
    return found


def maps(atoms: Sequence[PwaAtom], aim: PwaAtom, **fields: Any) -> Question:
    """A question with a network of one layer as target."""
    asked: dict[str, Any] = {"norm": LINF, "inputs": 1, "dimension": 1, **fields}
    return pwa_question(atoms, NetworkTarget("network", (aim,)), **asked)


@pytest.mark.parametrize("norm", [LINF, L2, L1, weighted_linf(1, 2), weighted_l1(1, 2)])
def test_a_missing_output_direction(norm: Norm) -> None:
    """All atoms write along (1, 1), the target is (y, -y): the floor is the target's size at 1.

    ``S`` and soft thresholds bend on the way; nothing of that matters to ``z1 - z2``.
    """
    atoms = [
        atom([[1], [1]], [["1/4", 0], ["1/4", 0]], thresholds=["1/4"]),
        atom([[-1], [-1]], [[0, "1/4"], [0, "1/4"]]),
    ]
    question = maps(
        atoms,
        atom([[1], [-1]]),
        dimension=2,
        region=None,
        witnesses=[["1/3"], [1]],
        full=False,
        norm=norm,
    )
    true = {"linf": 1, "l2": 2**0.5, "l1": 2, "weighted_linf": 4 / 3, "weighted_l1": 2}
    lower, upper = brackets(question, nodes=30)[-1]
    # The l1 norms' functional comes from linf, of whose ball it is a corner here as well.
    assert float(lower) <= true[norm.kind] <= float(upper)
    assert true[norm.kind] - float(lower) < 0.09


def test_a_reachable_target_has_floor_0() -> None:
    """``z' = +-y``: the mixture (3/4, 1/4) gives y / 2 exactly."""
    question = maps(
        [atom([[1]], leak=0), atom([[-1]], leak=0)],
        atom([["1/2"]]),
        region=None,
        witnesses=[[1], ["-1/2"]],
        full=False,
    )
    lower, upper = brackets(question, nodes=10)[-1]
    assert lower == 0 and 0 <= upper < Fraction(1, 10**6)


def test_no_atoms_to_mix() -> None:
    """One atom: the bracket is the error of its own flow, and only the steps' defect is left."""
    question = maps(
        [atom([[1]], [["1/2"]])],
        atom([[2]]),
        region=None,
        witnesses=[[1]],
        full=False,
    )
    lower, upper = brackets(question, width=Fraction(1, 50), nodes=64)[-1]
    # z' = 1 + z/2 - z: z(1) = 2 (1 - e^(-1/2)).
    true = 2 - 2 * (1 - np.exp(-0.5))
    assert float(lower) <= true <= float(upper)
    assert upper - lower <= Fraction(1, 50)


def test_budgets_narrow_the_bracket() -> None:
    """The matrix instance on 21 of its witnesses: every claim is narrower, and all meet."""
    question = pwa_question(
        instance_atoms("low"),
        reference(instance_atoms("high"), INSTANCE["H32"]),
        dimension=2,
        witnesses=instance_witnesses()[20::61],
        full=False,
    )
    found = brackets(question, nodes=24)
    assert len(found) >= 2
    widths = [upper - lower for lower, upper in found]
    assert all(b < a for a, b in itertools.pairwise(widths))
    assert max(lower for lower, _ in found) <= min(upper for _, upper in found)
    assert found[-1][0] > 0 and widths[-1] < Fraction(1, 100)


def test_the_width_ends_the_search() -> None:
    """A wide request takes the first claim; the budget ends the others."""
    question = maps(
        [atom([[1]], [["1/8"]]), atom([[-1]], [["1/4"]])],
        atom([["1/5"]]),
        region=box([-1], [1]),
    )
    subject = Subject(question, {})
    assert len(list(produce(subject, 0, width=Fraction(10), nodes=100))) == 1
    several = list(produce(subject, 0, width=Fraction(1, 1000), nodes=40))
    assert len(several) > 1
    narrow = several[-1]
    assert narrow.upper is not None
    assert narrow.upper - narrow.lower < (several[0].upper or 0) - several[0].lower


def test_a_single_atom_ends_by_itself() -> None:
    """There is nothing to halve: the search ends when a round brings no more, far below budget."""
    question = maps([atom([[1]], [["1/2"]])], atom([[2]]), region=None, witnesses=[[1]], full=False)
    widths = [upper - lower for lower, upper in brackets(question, nodes=10**6)]
    assert widths[-1] < Fraction(1, 100)


def test_time_is_a_budget_too() -> None:
    """With no time left the first claim is the only one, and it is a claim."""
    question = maps(
        [atom([[1]], [["1/8"]]), atom([[-1]], [["1/4"]])], atom([["1/5"]]), region=box([-1], [1])
    )
    assert len(brackets(question, nodes=10**6, seconds=0)) == 1


def test_the_same_request_gives_the_same_claims() -> None:
    question = maps(
        [atom([[1]], [["1/8"]]), atom([[-1]], [["1/4"]])], atom([["1/5"]]), region=box([-1], [1])
    )

    def claims() -> list[NetFloorClaim]:
        return list(produce(Subject(question, {}), 0, nodes=20))

    assert claims() == claims()


@settings(max_examples=8)
@given(st.integers(0, 10**6))
def test_random_systems(seed: int) -> None:
    """Checked brackets hold: no sampled control beats the lower end, the upper one is good."""
    rng = np.random.default_rng(seed)
    system = random_system(rng, largest=2, horizon=Fraction(1))
    subject = Subject(system.question, {})
    claim = list(produce(subject, 0, nodes=12))[-1]
    ends: dict[str, ScopedBound] = {bound.side: bound for bound in check(subject, claim)}
    aim = targets(subject, system.inputs)
    lower = float(ends["lower"].value) if "lower" in ends else 0.0
    best = np.inf
    for a, b in itertools.product(np.linspace(0, 1, 9), repeat=2):
        control = [np.array([a, 1 - a]), np.array([b, 1 - b])]
        end = system.relaxed(control, 8)[-1]
        missed = float(system.sizes(end - aim).max())
        best = min(best, missed)
        assert lower <= missed + 1e-4 * (1 + np.abs(end).max())
    # The search finds about the best constant control; its own steps' defect and rounding are left.
    defect = float(ends["upper"].value - (claim.above.distance if claim.above else 0))
    assert float(ends["upper"].value) <= best + 2 * defect + 0.05 * (1 + best)


def test_a_growing_relu_network() -> None:
    """No ball is invariant; the finite horizon still bounds the steps' defect."""
    atoms = [
        atom([[1], ["-1/2"]], [["1/2", "1/4"], ["-1/2", "1/2"]], activation="relu", leak=0),
        atom([["-1/2"], [1]], [["1/4", 0], ["1/2", "-1/4"]], activation="relu", leak=0),
    ]
    question = pwa_question(
        atoms,
        reference(atoms, [0, 1, 0]),
        dimension=2,
        inputs=1,
        region=box([0], [1]),
        witnesses=[[0], ["1/2"], [1]],
        full=False,
        norm=LINF,
    )
    lower, upper = brackets(question, nodes=20)[-1]
    assert 0 <= lower <= upper < Fraction(1, 4)


def test_systems_without_constants() -> None:
    steep = maps(
        [atom([[1]], [[100]], leak=0)], atom([[1]]), region=None, witnesses=[[1]], full=False
    )
    with pytest.raises(ProducerFailed, match="exceeds 64"):
        list(produce(Subject(steep, {}), 0))
