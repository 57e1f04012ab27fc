"""Producer of ``frozen``: the first depth from which no increment reaches half a cell (T4.4)."""

from __future__ import annotations

from fractions import Fraction

from qreplace.claims.frozen import FrozenClaim
from qreplace.question.model import DepthRule
from qreplace.question.norms import norm_bounds
from qreplace.question.subject import Subject


def produce(subject: Subject, bits: int, step: DepthRule) -> FrozenClaim | None:
    """The claim for a state grid with this step rule; ``None`` when the state never freezes."""
    problem = subject.lifted(bits)
    largest = Fraction(max(max(map(abs, atom)) for atom in problem.atoms), problem.denominator)
    half = step.coefficient / 2
    if step.power == 1:
        if largest >= half:
            return None
        first = 1
    else:
        first = int(largest / half) + 1
    ends = norm_bounds(subject.question.norm, problem.target, problem.denominator)
    return FrozenClaim(
        format="qreplace/claim/frozen/v1",
        subject=subject.execution_digest(bits),
        code=bits,
        first_depth=first,
        lower=ends[0],
        upper=ends[1],
    )
