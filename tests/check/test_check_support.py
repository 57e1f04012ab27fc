"""An accepted reach function is above what every trajectory's functional reaches."""

from __future__ import annotations

from fractions import Fraction

import pytest
from corpora.support import ACCEPTED, QUESTIONS, REJECTED, subject
from dynamic_questions import polynomial, polynomial_question
from dynamic_truth import ROUNDING, best_schedule_error, enumerated_value
from hypothesis import given, settings
from hypothesis import strategies as st
from lifted_questions import LINF
from square_claims import NOTHING, TIME, Hand, changed, functional
from straight_claims import StraightSystem, reach_claim, straight_systems

from qreplace.check.support import as_polynomial, check
from qreplace.claims.support import SupportClaim
from qreplace.errors import Rejected
from qreplace.premises import Evidence
from qreplace.question.dynamics import PolynomialProblem
from qreplace.question.subject import Subject


@pytest.mark.parametrize(("kind", "name", "claim"), ACCEPTED, ids=[n for _, n, _ in ACCEPTED])
def test_the_corpus_speaks_the_truth(kind: str, name: str, claim: SupportClaim) -> None:
    question = name.split("--")[0]
    (bound,) = check(subject(question), claim)
    assert (bound.side, bound.value, bound.kind) == ("lower", claim.lower, kind)
    assert bound.covers == "every_schedule"
    assert bound.evidence is Evidence.ANALYTIC_CERTIFIED
    norm = QUESTIONS[question].norm
    problem = subject(question).polynomial(0)
    if claim.depth is None:
        assert bound.quantity == "relaxed_floor"
        truth = enumerated_value(problem, norm, cells=6, mixtures=2, keep=500)
    else:
        assert bound.quantity == "ideal_error" and bound.depths.last == claim.depth
        truth = best_schedule_error(problem, norm, claim.depth)
    assert float(bound.value) <= truth + ROUNDING


@pytest.mark.parametrize(
    ("name", "claim", "pointer", "words"),
    [case[1:] for case in REJECTED],
    ids=[case[1] for case in REJECTED],
)
def test_attacks_fail_for_their_reason(
    name: str, claim: SupportClaim, pointer: str, words: str
) -> None:
    with pytest.raises(Rejected) as caught:
        check(subject(name.split("--")[0]), claim)
    assert words in caught.value.message
    assert caught.value.pointer == pointer


@settings(max_examples=60)
@given(straight_systems(), st.sampled_from([None, 1, 2, 3]))
def test_random_systems(system: StraightSystem, depth: int | None) -> None:
    about = Subject(system.question, {})
    claim = reach_claim(system, depth)
    (bound,) = check(about, claim)
    problem: PolynomialProblem = about.polynomial(0)
    if depth is None:
        truth = enumerated_value(problem, system.norm, cells=1, mixtures=12)
    else:
        truth = best_schedule_error(problem, system.norm, depth)
    assert float(bound.value) <= truth + ROUNDING
    if len(system.target) == 1:
        assert float(bound.value) >= truth - 1e-6
    above = changed(claim, lower=claim.lower + Fraction(1, 10**40))
    with pytest.raises(Rejected, match="exceeds the separation"):
        check(about, above)


CONTROLS = st.lists(st.integers(-3, 3), min_size=2, max_size=3, unique=True)


@settings(max_examples=25)
@given(CONTROLS, st.sampled_from([-1, 1]), st.tuples(*[st.fractions(-4, 4)] * 4))
def test_random_double_integrators(
    controls: list[int], sign: int, numbers: tuple[Fraction, ...]
) -> None:
    """``x'' = u``: the reach of ``s x`` from ``(t, x, v)`` is ``s x + (1 - t) s v + m (1-t)^2/2``.

    The flow leaves ``(1 - t)(m - s u) = (m - s u) ((1 - t)^2 + t (1 - t))``.
    """
    hand = Hand(2)
    reach = max(sign * u for u in controls)
    target, initial = numbers[:2], numbers[2:]
    question = polynomial_question([["z2", str(u)] for u in controls], target, initial, LINF)
    about = Subject(question, {})
    flow = []
    for u in controls:
        part = [(reach - sign * u, "1 - t")]
        flow.append(hand.combination(part, {0: [(reach - sign * u, "1")]}))
    here = sign * initial[0] + sign * initial[1] + Fraction(reach, 2)
    claim = SupportClaim(
        format="qreplace/claim/support/v1",
        subject=about.problem_digest(0),
        code=0,
        depth=None,
        witness=functional(sign, 0),
        bound=polynomial(_reach(sign, reach), 2),
        region=(TIME,),
        flow=tuple(flow),
        terminal=NOTHING,
        lower=sign * target[0] - here,
    )
    (bound,) = check(about, claim)
    problem = about.polynomial(0)
    truth = enumerated_value(problem, LINF, cells=5, mixtures=2, keep=300)
    assert float(bound.value) <= truth + ROUNDING


def _reach(sign: int, reach: int) -> str:
    lead = "-" if sign < 0 else ""
    middle = "-" if sign < 0 else "+"
    tail = "-" if reach < 0 else "+"
    return f"{lead}z1 {middle} (1 - t)*z2 {tail} {abs(reach)}/2*(1 - t)^2"


def test_functionals_as_polynomials() -> None:
    assert as_polynomial([Fraction(0), Fraction(-2, 3)]) == polynomial("-2/3*z2", 2)
    assert not as_polynomial([Fraction(0)]).exponents
