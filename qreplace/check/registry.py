"""The explicit table from claim kind to checker."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from qreplace.check import (
    affine_lp,
    compositional,
    frozen,
    hjb_sos,
    relaxed_control,
    schedule_error,
    support,
)
from qreplace.check.bounds import ScopedBound
from qreplace.claims import Claim, claim_kind
from qreplace.question.subject import Subject

CHECKERS: dict[str, Callable[[Subject, Any], tuple[ScopedBound, ...]]] = {
    "affine_lp": affine_lp.check,
    "schedule_error": schedule_error.check,
    "frozen": frozen.check,
    "hjb_sos": hjb_sos.check,
    "compositional": compositional.check,
    "support": support.check,
    "relaxed_control": relaxed_control.check,
}


def check_claim(subject: Subject, claim: Claim) -> tuple[ScopedBound, ...]:
    """The bounds that ``claim`` proves about ``subject``, recomputed; raises ``Rejected``."""
    return CHECKERS[claim_kind(claim)](subject, claim)
