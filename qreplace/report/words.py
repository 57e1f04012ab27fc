"""The vocabulary of reports: verdicts, labels and premises in plain words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Tone = Literal["yes", "no", "open"]
Standing = Literal["certified", "conditional", "open"]


@dataclass(frozen=True, slots=True)
class VerdictWords:
    """How a verdict is shown: the words, and the form that tells it from the others.

    ``tone`` and ``standing`` choose colour, shape and border; ``mark`` is for plain text.
    """

    headline: str
    label: str
    tone: Tone
    standing: Standing
    mark: str


VERDICTS: dict[str, VerdictWords] = {
    "certified_feasible": VerdictWords("Yes", "certified feasible", "yes", "certified", "[ YES ]"),
    "certified_impossible": VerdictWords("No", "certified impossible", "no", "certified", "[ NO ]"),
    "certified_asymptotically_impossible": VerdictWords(
        "No, at large depth",
        "certified asymptotically impossible",
        "no",
        "certified",
        "[ NO, AT LARGE DEPTH ]",
    ),
    "conditionally_feasible": VerdictWords(
        "Yes, if", "conditionally feasible", "yes", "conditional", "[ YES, IF ]"
    ),
    "conditionally_impossible": VerdictWords(
        "No, if", "conditionally impossible", "no", "conditional", "[ NO, IF ]"
    ),
    "unresolved": VerdictWords("Not decided", "unresolved", "open", "open", "[ OPEN ]"),
}

STANDINGS: dict[Standing, str] = {
    "certified": "proved: every step was checked here in exact arithmetic",
    "conditional": "not proved: it holds if what was declared holds",
    "open": "neither yes nor no is shown",
}

EVIDENCE = {
    "analytic_certified": "certified analytically",
    "interval_certified": "certified by interval enclosure",
    "finite_witness_certified": "certified on finitely many witnesses",
    "calibrated_estimate": "a calibrated estimate only",
    "diagnostic": "diagnostic only",
    "unavailable": "unavailable",
}

DOMAINS = {
    "witnesses": "the named witness inputs only",
    "full": "every input of the declared domain",
}

THRESHOLDS = {
    "emulation": "Tolerance",
    "accuracy_matching": "Comparator error",
    "behavioural": "Harmless error",
}
"""What the error is compared with, by objective (theory T1)."""

OBJECTIVES = {
    "emulation": "imitate the high-precision map itself",
    "accuracy_matching": "be as accurate as the comparator",
    "behavioural": "lead to the same decisions",
}
"""What the low-bit steps are asked to do."""

NORMS = {
    "linf": "largest coordinate (linf norm)",
    "l1": "sum of magnitudes (l1 norm)",
    "weighted_linf": "largest weighted coordinate (weighted linf norm)",
    "weighted_l1": "weighted sum of magnitudes (weighted l1 norm)",
    "block_l2": "largest Euclidean length of a block (block l2 norm)",
    "l2": "Euclidean length (l2 norm)",
}

SCOPES = {"endpoint": "after the last step", "path": "along the whole path"}

ENDS = {
    "affine_lp": "the structural floor",
    "schedule_error": "the schedule’s error",
    "frozen": "the frozen state’s error",
    "affine_dynamics": "the error of the affine system",
    "perturbed": "the floor shown by a nearby affine system",
    "hjb_sos": "the error shown by a value function",
    "compositional": "the floor shown block by block",
    "support": "the error shown by one bounded functional",
    "observable": "the error shown by a common observable",
    "relaxed_control": "the error of one control",
    "operator_norm": "the operator norm",
    "field_constants": "the field’s constants",
    "pwa_supremum": "the largest error of one map",
    "schedule_minimum": "the least error of any schedule",
    "count_minimum": "the least error of any counts",
    "net_floor": "the floor on a net of inputs",
    "lattice": "what the registers hold",
    "exposed_channel": "the error shown by an exposed channel",
    "declared": "the declared floor",
}
"""What an end of a bracket is about, by the kind of claim behind it."""

CLAIMS = {
    "affine_lp": "structural floor by linear programming",
    "affine_dynamics": "affine dynamics by support function and control",
    "observable": "observables that no schedule changes",
    "perturbed": "floor by a nearby affine system",
    "support": "floor by one bounded functional",
    "hjb_sos": "floor by a polynomial value function",
    "compositional": "floor block by block",
    "relaxed_control": "error of one control",
    "schedule_error": "error of one schedule",
    "frozen": "rounding freezes the state",
    "field_constants": "constants of the field",
    "operator_norm": "operator norm of a matrix",
    "pwa_supremum": "largest error of one piecewise-affine map",
    "schedule_minimum": "least error over all schedules of one depth",
    "count_minimum": "least error over all counts of one depth",
    "net_floor": "floor of piecewise-affine controls on a net of inputs",
    "lattice": "registers that never overflow",
    "exposed_channel": "least error of any schedule along one functional",
}

ENGINES = {
    **CLAIMS,
    "moment": "floor by moments, made exact as a value function",
    "schedules": "pure schedules at single depths",
    "lower_at_depths": "lower ends at single depths",
    "comparator": "the comparator’s own largest error",
    "least_error": "least error at the chosen depth",
}
"""What was tried, by the engine's name."""

OUTCOMES = {
    "kept": "kept",
    "no_better": "checked, but others are tighter",
    "failed": "failed",
    "stopped": "stopped",
    "not_tried": "not tried",
}
"""What became of an attempt."""

SHORT_NOT_SHOWN = {
    "domain: the verdict is about the named witnesses": "other inputs than the witnesses",
    "domain: no covering remainder": "what happens between the witnesses",
    "domain: the verdict is about the inputs of": "inputs outside the region",
    "execution:": "rounding, overflow and kernels",
    "impossibility is about": "other libraries and targets",
    "feasibility is an error bound": "task accuracy and speed",
    "costs are declared": "measured costs",
    "affine_lp:": "what an optimiser would find",
    "schedule_error:": "that no better schedule exists",
    "frozen:": "other kernels and accumulators",
    "affine_dynamics:": "that a search finds the control",
    "perturbed:": "how near the nominal system’s floor is",
    "hjb_sos:": "that a control comes that close",
    "compositional:": "what the coupling really costs",
    "support:": "other directions than the functional’s",
    "observable:": "the rest of the state",
    "relaxed_control:": "that no better control exists",
    "operator_norm:": "that the norm is attained",
    "field_constants:": "the field outside its tube",
    "pwa_supremum:": "that no other schedule is better",
    "schedule_minimum:": "that a search finds the best schedule",
    "count_minimum:": "other depths than those counted",
    "net_floor:": "how much of the bracket is the method’s",
    "lattice:": "other depths, inputs and kernels",
    "exposed_channel:": "the rest of the state and other depths",
}
"""The first screen's version of what is not shown, by how the full sentence starts."""


def short_not_shown(text: str) -> str:
    """A few words for a sentence of ``not_shown``; the sentence itself when it is a new one."""
    for start, short in SHORT_NOT_SHOWN.items():
        if text.startswith(start):
            return short
    return text


def full_not_shown(text: str) -> str:
    """A sentence of ``not_shown`` that starts with a claim's kind, with that kind in words."""
    kind, colon, rest = text.partition(":")
    return f"{CLAIMS[kind]}:{rest}" if colon and kind in CLAIMS else text


def in_words(identifier: str) -> str:
    """``schedule_error`` as ``schedule error``."""
    return identifier.replace("_", " ")
