"""The explicit table from claim kind to checker."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from qreplace.check import (
    affine_dynamics,
    affine_lp,
    compositional,
    count_minimum,
    exposed_channel,
    field_constants,
    frozen,
    hjb_sos,
    lattice,
    net_floor,
    observable,
    operator_norm,
    perturbed,
    pwa_supremum,
    relaxed_control,
    schedule_error,
    schedule_minimum,
    support,
)
from qreplace.check.bounds import Checked
from qreplace.claims import Claim, claim_kind
from qreplace.errors import InputError, Rejected
from qreplace.question.model import PwaSystem
from qreplace.question.subject import Subject

CHECKERS: dict[str, Callable[[Subject, Any], tuple[Checked, ...]]] = {
    "affine_lp": affine_lp.check,
    "schedule_error": schedule_error.check,
    "frozen": frozen.check,
    "affine_dynamics": affine_dynamics.check,
    "perturbed": perturbed.check,
    "hjb_sos": hjb_sos.check,
    "compositional": compositional.check,
    "support": support.check,
    "observable": observable.check,
    "relaxed_control": relaxed_control.check,
    "operator_norm": operator_norm.check,
    "field_constants": field_constants.check,
    "pwa_supremum": pwa_supremum.check,
    "count_minimum": count_minimum.check,
    "schedule_minimum": schedule_minimum.check,
    "net_floor": net_floor.check,
    "lattice": lattice.check,
    "exposed_channel": exposed_channel.check,
}


ABOUT_PIECEWISE = (
    "pwa_supremum", "schedule_minimum", "net_floor", "affine_dynamics", "observable",
    "exposed_channel",
)  # fmt: skip
"""The kinds of claim that a piecewise-affine question may have."""


def check_claim(subject: Subject, claim: Claim) -> tuple[Checked, ...]:
    """The bounds or constants that ``claim`` proves, recomputed; raises ``Rejected``."""
    kind = claim_kind(claim)
    piecewise = isinstance(subject.question.system, PwaSystem)
    if not piecewise:
        return CHECKERS[kind](subject, claim)
    if kind not in ABOUT_PIECEWISE:
        raise Rejected(f"a claim of kind {kind} is not about piecewise-affine maps")
    try:
        return CHECKERS[kind](subject, claim)
    except InputError as error:  # the maps are there, but not affine dynamics at the witnesses
        raise Rejected(error.message) from None
