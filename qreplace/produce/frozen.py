"""Producer of ``frozen``: the first depth from which no increment reaches half a cell (T4.4)."""

from __future__ import annotations

from qreplace.claims.frozen import FrozenClaim
from qreplace.question.frozen_start import FrozenStart
from qreplace.question.model import DepthRule
from qreplace.question.subject import Subject


def produce(subject: Subject, bits: int, start: FrozenStart, step: DepthRule) -> FrozenClaim | None:
    """The claim for a state grid with this step rule; ``None`` when the state never freezes."""
    largest, half = start.field * start.horizon, step.coefficient / 2
    if step.power == 1:
        if largest >= half:
            return None
        first = 1
    else:
        first = int(largest / half) + 1
    return FrozenClaim(
        format="qreplace/claim/frozen/v1",
        subject=subject.execution_digest(bits),
        code=bits,
        first_depth=first,
        lower=start.ends[0],
        upper=start.ends[1],
    )
