"""An accepted value function is below every trajectory's cost, at every depth it speaks about."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from corpora.hjb_sos import ACCEPTED, QUESTIONS, REJECTED, WORKED, subject
from dynamic_truth import (
    ROUNDING,
    best_schedule_error,
    enumerated_value,
    float_norm,
    scalar_floor,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from lifted_questions import L1, L2, LINF, block_l2, make_question, weighted_l1, weighted_linf
from square_claims import TINY, changed
from straight_claims import (
    StraightSystem,
    error_weights,
    straight_systems,
    value_claim,
)

from qreplace.check.hjb_sos import check, check_weights
from qreplace.claims.hjb_sos import HjbSosClaim
from qreplace.errors import InputError, Rejected
from qreplace.premises import Evidence
from qreplace.question.model import DeclaredSystem, Norm
from qreplace.question.subject import Subject

SHARES = st.sampled_from([Fraction(1, 2), Fraction(1, 3), Fraction(7, 8)])


def best_error(name: str, depth: int | None) -> float:
    """An error that some control or schedule really has."""
    question = QUESTIONS[name]
    problem = subject(name).polynomial(0)
    if depth is not None:
        return best_schedule_error(problem, question.norm, depth)
    return enumerated_value(problem, question.norm, cells=6, mixtures=2, keep=500)


@pytest.mark.parametrize(("kind", "name", "claim"), ACCEPTED, ids=[n for _, n, _ in ACCEPTED])
def test_the_corpus_speaks_the_truth(kind: str, name: str, claim: HjbSosClaim) -> None:
    question = name.split("--")[0]
    (bound,) = check(subject(question), claim)
    assert (bound.side, bound.value, bound.kind) == ("lower", claim.lower, kind)
    assert bound.covers == "every_schedule" and bound.objective == "endpoint"
    assert bound.evidence is Evidence.ANALYTIC_CERTIFIED
    if claim.depth is None:
        assert bound.quantity == "relaxed_floor" and bound.depths.last is None
    else:
        assert bound.quantity == "ideal_error"
        assert (bound.depths.first, bound.depths.last) == (claim.depth, claim.depth)
    assert float(bound.value) <= best_error(question, claim.depth) + ROUNDING


@pytest.mark.parametrize(
    ("name", "claim", "pointer", "words"),
    [case[1:] for case in REJECTED],
    ids=[case[1] for case in REJECTED],
)
def test_attacks_fail_for_their_reason(
    name: str, claim: HjbSosClaim, pointer: str, words: str
) -> None:
    with pytest.raises(Rejected) as caught:
        check(subject(name.split("--")[0]), claim)
    assert words in caught.value.message
    assert caught.value.pointer == pointer


@settings(max_examples=60)
@given(straight_systems(), st.sampled_from([None, 1, 2, 3]), SHARES)
def test_random_systems(system: StraightSystem, depth: int | None, share: Fraction) -> None:
    about = Subject(system.question, {})
    claim = value_claim(system, depth, share)
    (bound,) = check(about, claim)
    problem = about.polynomial(0)
    if depth is None:
        truth = enumerated_value(problem, system.norm, cells=1, mixtures=12)
    else:
        truth = best_schedule_error(problem, system.norm, depth)
    assert float(bound.value) <= truth + ROUNDING
    if len(system.target) == 1 and depth is None:
        size = float_norm(system.norm, np.array([[scalar_floor(problem, 50)]]))
        assert abs(float(bound.value) - float(size[0])) < 1e-6
    above = changed(claim, lower=claim.lower + Fraction(1, 10**9))
    with pytest.raises(Rejected, match="exceeds what the value function shows"):
        check(about, above)


@settings(max_examples=25)
@given(straight_systems(), st.data())
def test_a_claim_serves_its_own_problem_only(system: StraightSystem, data: st.DataObject) -> None:
    claim = value_claim(system, None)
    field, value = data.draw(
        st.sampled_from(
            [
                ("horizon", system.horizon + 1),
                ("initial", tuple(x + TINY for x in system.initial)),
                ("target", tuple(x + TINY for x in system.target)),
                ("atoms", (*system.atoms, system.atoms[0])),
            ]
        )
    )
    other = Subject(changed(system, **{field: value}).question, {})
    with pytest.raises(Rejected, match="about another question"):
        check(other, claim)
    # Naming the other problem does not help: nothing of it is taken from the claim.
    forged = changed(claim, subject=other.problem_digest(0))
    try:
        (bound,) = check(other, forged)
    except Rejected:
        return
    problem = other.polynomial(0)
    truth = enumerated_value(problem, system.norm, cells=1, mixtures=12)
    assert float(bound.value) <= truth + ROUNDING


NORMS = [
    L2,
    LINF,
    L1,
    block_l2(2),
    weighted_l1("1/2", 1, 3, 2),
    weighted_linf("1/2", 1, 3, 2),
]
VECTORS = st.tuples(*[st.fractions(-3, 3, max_denominator=5)] * 4)


def squared_norm(norm: Norm, e: tuple[Fraction, ...]) -> Fraction:
    """The squared norm of four coordinates, exactly."""
    if norm == L2:
        return sum((x * x for x in e), Fraction(0))
    if norm == LINF:
        return max(map(abs, e)) ** 2
    if norm == L1:
        return sum(map(abs, e), Fraction(0)) ** 2
    if norm == block_l2(2):
        return max(e[0] ** 2 + e[1] ** 2, e[2] ** 2 + e[3] ** 2)
    sizes = [w * abs(x) for w, x in zip(norm.weights, e, strict=True)]  # type: ignore[union-attr]
    return (sum(sizes, Fraction(0)) if norm.kind == "weighted_l1" else max(sizes)) ** 2


@given(st.sampled_from(NORMS), st.tuples(*[st.fractions(0, 10)] * 4), VECTORS)
def test_weights_keep_below_the_norm(
    norm: Norm, drawn: tuple[Fraction, ...], e: tuple[Fraction, ...]
) -> None:
    """Scaled until they are just allowed: below the norm everywhere, refused a little above."""
    if not any(drawn):
        return
    scale = _largest_scale(norm, drawn)
    weights = [scale * w for w in drawn]
    check_weights(norm, weights)
    phi = sum((w * x * x for w, x in zip(weights, e, strict=True)), Fraction(0))
    assert phi <= squared_norm(norm, e)
    with pytest.raises(Rejected, match="can exceed the squared norm"):
        check_weights(norm, [w * (1 + TINY) for w in weights])
    # The rule is sharp: some error vector attains the norm, so no more can be allowed.
    if norm != L1 and norm.kind != "weighted_l1":
        attained = [_phi(weights, e) / squared_norm(norm, e) for e in _extreme(norm)]
        assert max(attained) == 1


def _phi(weights: list[Fraction], e: tuple[Fraction, ...]) -> Fraction:
    return sum((w * x * x for w, x in zip(weights, e, strict=True)), Fraction(0))


def _extreme(norm: Norm) -> list[tuple[Fraction, ...]]:
    """Error vectors among which the largest ratio to the norm is attained."""
    units = [tuple(Fraction(int(i == k)) for i in range(4)) for k in range(4)]
    if norm == L2:
        return units
    if norm == block_l2(2):
        return [
            tuple(a + b for a, b in zip(units[i], units[j], strict=True))
            for i in (0, 1)
            for j in (2, 3)
        ]
    sizes = getattr(norm, "weights", (Fraction(1),) * 4)
    return [tuple(1 / w for w in sizes)]


def _largest_scale(norm: Norm, weights: tuple[Fraction, ...]) -> Fraction:
    sizes = getattr(norm, "weights", (Fraction(1),) * 4)
    scaled = [w / (s * s) for w, s in zip(weights, sizes, strict=True)]
    if norm.kind in ("l1", "l2", "weighted_l1"):
        return 1 / max(scaled)
    if norm == block_l2(2):
        return 1 / (max(scaled[:2]) + max(scaled[2:]))
    return 1 / sum(scaled, Fraction(0))


def test_the_rule_of_the_strategy_is_the_rule_of_the_checker() -> None:
    for norm in (L2, LINF, L1, block_l2(1), weighted_l1(3, 2), weighted_linf(3, 2)):
        weights = error_weights(norm, 2, Fraction(1, 3))
        check_weights(norm, weights)
        with pytest.raises(Rejected):
            check_weights(norm, [w * (1 + TINY) for w in weights])


def test_other_systems_are_no_polynomial_problems() -> None:
    question = make_question([1], [[1]], system=DeclaredSystem("declared", 1), floor=None)
    about = Subject(question, {})
    claim = changed(WORKED, subject=about.problem_digest(0))
    with pytest.raises(InputError, match="no affine dynamics"):
        check(about, claim)


def test_state_independent_atoms_are_polynomials_too() -> None:
    """A lifted question is ``z' = b_j`` with horizon 1: the worked claim serves it."""
    about = Subject(make_question([2], [[1], [-1]], L2), {})
    (bound,) = check(about, changed(WORKED, subject=about.problem_digest(0)))
    assert bound.value == 1
