"""``schedule_minimum``: no schedule of one depth has a smaller error (theory T8.4)."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

BRANCH = -1


@dataclass(frozen=True, slots=True)
class ScheduleMinimumClaim:
    """``min over the J**depth schedules of the error on the inputs >= lower``.

    ``tree`` in preorder: ``BRANCH`` lets the next step run each atom in turn, a number names the
    point at which every continuation of the prefix misses the target by at least ``lower``.
    ``points`` are inputs of the question: of its region on a full domain, else its witnesses.
    """

    format: Literal["qreplace/claim/schedule_minimum/v1"]
    subject: str
    code: int
    depth: int
    lower: Fraction
    points: tuple[tuple[Fraction, ...], ...]
    tree: tuple[int, ...]
