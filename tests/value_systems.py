"""Small systems that the tests of value functions share, and how their claims are checked."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from dynamic_questions import Number, polynomial_question
from lifted_questions import L2, Numbers

from qreplace.check.bounds import ScopedBound
from qreplace.check.registry import check_claim
from qreplace.claims import Claim, claim_bytes, read_claim
from qreplace.question.model import Norm
from qreplace.question.subject import Subject

SWITCHED = [["-z1"], ["1 - z1"]]
STEPS = [["1"], ["-1"]]
INTEGRATOR = [["z2", "1"], ["z2", "-1"]]
BILINEAR = [["-z1 + z2", "-z2"], ["z1*z2/2", "1 - z2"]]
CUBIC = [["z2", "1 - z1 - z1^3/3"], ["z2", "-1 - z1 - z1^3/3"]]
CHAIN = [["z2", "z3", "1 - z3"], ["z2", "z3", "-1 - z3"]]


def system(
    atoms: Sequence[Sequence[str]],
    target: Numbers,
    norm: Norm = L2,
    *,
    initial: Numbers | None = None,
    horizon: Number = 1,
    region: Sequence[str] = (),
    blocks: Sequence[Sequence[int]] = (),
    order: int | None = None,
) -> Subject:
    """A subject about polynomial atoms."""
    question = polynomial_question(
        atoms, target, initial, norm, horizon=horizon, region=region, blocks=blocks, order=order
    )
    return Subject(question, {})


def accepted_lower(subject: Subject, claim: Claim) -> Fraction:
    """The lower end that the checker proves from the claim as it is written to a file."""
    (bound,) = check_claim(subject, read_claim(claim_bytes(claim)))
    if not isinstance(bound, ScopedBound) or bound.side != "lower":
        raise TypeError("a lower bound was expected")
    return bound.value
