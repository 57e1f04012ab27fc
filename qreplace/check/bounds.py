"""What a checked claim returns: a bound with its scope (theory T11.1).

Bounds combine only when their scopes match; the decision is the only place that combines them.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from qreplace.errors import Rejected
from qreplace.premises import Evidence
from qreplace.question.model import CodesMetadata, Question


def require(condition: bool, reason: str, pointer: str = "") -> None:
    """Raise ``Rejected`` with the reason unless the obligation holds."""
    if not condition:
        raise Rejected(reason, pointer=pointer)


def require_code(question: Question, code: int) -> None:
    """Raise ``Rejected`` unless a dictionary runs at ``code`` metadata bits."""
    known = not isinstance(question.metadata, CodesMetadata) or code in question.codes
    require(known and code >= 0, "the question has no dictionary at this code", "/code")


@dataclass(frozen=True, slots=True)
class DepthSet:
    """The depths a bound speaks about: ``first`` to ``last``, without end when ``last`` is None."""

    first: int
    last: int | None

    def __contains__(self, depth: int) -> bool:
        return self.first <= depth and (self.last is None or depth <= self.last)


EVERY_DEPTH = DepthSet(1, None)


@dataclass(frozen=True, slots=True)
class ScopedBound:
    """One side of one quantity, recomputed by a checker, with everything it is true about.

    ``quantity``: ``relaxed_floor`` is E_inf, ``ideal_error`` is E_D in exact execution,
    ``executed_error`` is E_D as declared to run. ``subject`` is the digest of the problem it was
    proved for; it fixes norm, horizon, target, witnesses and dictionary. ``domain`` says whether it
    holds on the witnesses or on every input. ``covers`` says whether a lower bound speaks about
    every schedule, or an upper bound about one.
    """

    quantity: Literal["relaxed_floor", "ideal_error", "executed_error"]
    side: Literal["lower", "upper"]
    value: Fraction
    objective: Literal["endpoint", "path"]
    domain: Literal["witnesses", "full"]
    depths: DepthSet
    subject: str
    code: int
    covers: Literal["every_schedule", "one_schedule"]
    evidence: Evidence
    kind: str
    claim: str
    """SHA-256 of the claim it came from."""
