"""Ends of a quantity that checkers accept: what is printed is what they returned."""

from __future__ import annotations

from collections.abc import Iterable

from qreplace.check.bounds import ScopedBound
from qreplace.check.registry import check_claim
from qreplace.claims import Claim
from qreplace.question.subject import Subject
from qreplace.reproduce.table import Interval


def ends(subject: Subject, claims: Iterable[Claim]) -> Interval:
    """The largest lower and the smallest upper end that claims about one quantity prove.

    The caller gives claims about the same quantity; raises ``Rejected`` where a checker does.
    """
    lower, upper = None, None
    for claim in claims:
        for bound in check_claim(subject, claim):
            if not isinstance(bound, ScopedBound):
                continue
            if bound.side == "lower":
                lower = bound.value if lower is None else max(lower, bound.value)
            else:
                upper = bound.value if upper is None else min(upper, bound.value)
    return Interval(lower, upper)
