"""No ``affine_dynamics`` claim that passes is beaten by a schedule or a control."""

from __future__ import annotations

import dataclasses
import itertools
from fractions import Fraction

import pytest
from affine_systems import error, euler, float_endpoint, norms_of, random_affine
from dynamic_questions import affine_question
from hypothesis import given, settings
from hypothesis import strategies as st
from lifted_questions import LINF

from qreplace.check.affine_dynamics import check
from qreplace.claims.affine_dynamics import AffineDynamicsClaim, DominantPiece
from qreplace.claims.functional import Functional
from qreplace.errors import Rejected
from qreplace.premises import Evidence
from qreplace.produce.affine_dynamics import lower_end, produce, produce_at_depth
from qreplace.produce.functionals import exact_functional, rounded_functional
from qreplace.question.subject import Subject

SEEDS = st.integers(0, 10**6)


def claimed(
    subject: Subject, witness: Functional, dominant: tuple[DominantPiece, ...]
) -> AffineDynamicsClaim:
    """The best lower end along a functional."""
    return AffineDynamicsClaim(
        format="qreplace/claim/affine_dynamics/v1",
        subject=subject.problem_digest(0),
        code=0,
        depth=None,
        witness=witness,
        dominant=dominant,
        control=(),
        lower=lower_end(subject.affine(0), witness, dominant),
        upper=None,
    )


@settings(max_examples=40)
@given(SEEDS, st.data())
def test_no_switching_beats_a_lower_end(seed: int, data: st.DataObject) -> None:
    subject = random_affine(seed)
    problem, norm = subject.affine(0), subject.question.norm
    entries = data.draw(
        st.lists(st.integers(-5, 5), min_size=problem.dimension, max_size=problem.dimension)
    )
    witness = exact_functional(
        norm, [(i, Fraction(n)) for i, n in enumerate(entries)], problem.dimension
    )
    atoms = st.integers(0, len(problem.atoms) - 1)
    first, last = data.draw(atoms), data.draw(atoms)
    dominant = (
        DominantPiece(problem.horizon / 3, first), DominantPiece(problem.horizon, last)
    )  # fmt: skip
    claim = claimed(subject, witness, dominant)
    (bound,) = check(subject, claim)
    assert bound.value == claim.lower
    assert bound.quantity == "relaxed_floor" and bound.side == "lower"
    assert bound.evidence is Evidence.INTERVAL_CERTIFIED
    for order in itertools.product(range(len(problem.atoms)), repeat=3):
        ends = [float(problem.horizon) * share for share in (0.3, 0.7, 1.0)]
        state = float_endpoint(problem, ends, order, steps=60)
        reached = [Fraction(float(z)) for z in state]
        assert error(problem, norm, reached) >= float(bound.value) - 1e-6
    with pytest.raises(Rejected, match="below the claimed lower end"):
        check(subject, dataclasses.replace(claim, lower=claim.lower + Fraction(1, 2**90)))


@settings(max_examples=25)
@given(SEEDS, st.integers(1, 4))
def test_no_schedule_beats_a_lower_end_at_its_depth(seed: int, depth: int) -> None:
    subject = random_affine(seed)
    problem, norm = subject.affine(0), subject.question.norm
    claim = produce_at_depth(subject, 0, depth)
    (bound,) = check(subject, claim)
    assert bound.quantity == "ideal_error" and depth in bound.depths
    assert depth + 1 not in bound.depths
    best = min(
        error(problem, norm, euler(problem, schedule))
        for schedule in itertools.product(range(len(problem.atoms)), repeat=depth)
    )
    assert float(bound.value) <= best + 1e-12


@settings(max_examples=15)
@given(SEEDS)
def test_upper_ends_are_those_of_the_control(seed: int) -> None:
    subject = random_affine(seed)
    problem = subject.affine(0)
    claim = produce(subject, 0)
    lower, upper = check(subject, claim)
    assert lower.value <= upper.value and upper.covers == "one_schedule"
    with pytest.raises(Rejected, match="beyond the claimed upper end"):
        check(subject, dataclasses.replace(claim, upper=upper.value - Fraction(1, 2**70)))
    # A rotation of the weights is another control, whose error is not below the lower end.
    for piece in claim.control:
        shifted = tuple((i + 1) % len(problem.atoms) for i in piece.weights.indices)
        if sorted(shifted) != list(shifted):
            continue
        weights = dataclasses.replace(piece.weights, indices=shifted)
        control = tuple(
            dataclasses.replace(p, weights=weights) if p is piece else p for p in claim.control
        )
        with pytest.raises(Rejected, match="beyond the claimed upper end"):
            check(
                subject,
                dataclasses.replace(claim, control=control, upper=lower.value - Fraction(1, 2**70)),
            )


@pytest.mark.parametrize("dimension", [1, 2, 4])
def test_every_norm_has_its_ball(dimension: int) -> None:
    """A functional on the sphere passes; a little beyond it does not."""
    for norm in norms_of(dimension):
        subject = random_affine(7, norm=norm, dimension=dimension)
        import numpy as np

        witness = rounded_functional(norm, np.arange(1.0, dimension + 1))
        dominant = (DominantPiece(subject.affine(0).horizon, 0),)
        claim = claimed(subject, witness, dominant)
        check(subject, claim)
        vector = dataclasses.replace(
            witness.vector, denominator=witness.vector.denominator * 999,
            numerators=tuple(n * 1000 for n in witness.vector.numerators),
        )  # fmt: skip
        wide = dataclasses.replace(witness, vector=vector)
        with pytest.raises(Rejected, match=r"dual norm|block norm"):
            check(subject, dataclasses.replace(claim, witness=wide))


def test_thousands_of_coordinates_of_one_rate() -> None:
    rows = [[Fraction((7 * i * j + j) % 255 - 127, 64) for i in range(6144)] for j in range(16)]
    target = [sum(row[i] for row in rows) / 16 + Fraction(i % 3, 8) for i in range(6144)]
    subject = Subject(affine_question(rows, target, norm=LINF, rate="-1/2"), {})
    subject.affine(0)
    digest = subject.problem_digest(0)
    witness = exact_functional(LINF, [(i, Fraction(i % 5 - 2)) for i in range(40)], 6144)
    claim = claimed(subject, witness, (DominantPiece(Fraction(1), 3),))
    assert claim.subject == digest
    check(subject, claim)
