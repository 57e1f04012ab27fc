"""``schedule_error``: the error of one pure schedule of state-independent atoms (theory T7.13)."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal


@dataclass(frozen=True, slots=True)
class ScheduleErrorClaim:
    """The schedule that uses atom ``j`` ``counts[j]`` times misses the target by at most ``error``.

    The depth is the sum of the counts; the order is irrelevant to the endpoint.
    """

    format: Literal["qreplace/claim/schedule_error/v1"]
    subject: str
    code: int
    counts: tuple[int, ...]
    error: Fraction
