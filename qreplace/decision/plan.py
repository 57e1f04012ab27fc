"""What to run when the answer is yes, and what stands in the way when it is no."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from qreplace.claims import Claim
from qreplace.claims.affine_lp import AffineLPClaim
from qreplace.claims.schedule_error import ScheduleErrorClaim
from qreplace.decision.schedules import chairman_schedule, rounded_counts
from qreplace.exact.codec import encode
from qreplace.exact.document import canonical_bytes, sha256_hex
from qreplace.exact.rational import format_rational
from qreplace.question.model import LiftedAffineSystem, ListedDictionary
from qreplace.question.norms import norm_bounds
from qreplace.question.subject import Subject

MAX_SCHEDULE = 4096
"""Longer schedules are given by their counts and the rule that orders them."""
MAX_OBSTRUCTION = 12
"""Coordinates of the dual witness named in an obstruction, heaviest first."""

ORDER_RULE = "chairman assignment of counts / depth (theory T2.2)"


def plan(subject: Subject, claims: Sequence[Claim], depth: int, bits: int) -> dict[str, Any] | None:
    """Weights, schedule and atoms for a feasible candidate, with that schedule's own error.

    ``None`` for a question whose atoms are not listed or that asks about the path. The error is the
    exact ideal endpoint error of this very schedule; the executed one is the candidate's interval.
    """
    question = subject.question
    if question.scope == "path":
        return None
    dictionary = question.dictionary_for(bits)
    if not isinstance(question.system, LiftedAffineSystem) or not isinstance(
        dictionary, ListedDictionary
    ):
        return None
    problem = subject.lifted(bits)
    weights = _mixing_weights(claims, bits, len(problem.atoms))
    options = _claimed_counts(claims, bits, depth)
    if weights is not None:
        options.append(rounded_counts(weights, depth))
    if not options:
        return None

    def error_of(counts: Sequence[int]) -> Fraction:
        residual = problem.residual(counts, depth)
        return norm_bounds(question.norm, residual, depth * problem.denominator)[1]

    counts = min(options, key=lambda option: (error_of(option), option))
    error = error_of(counts)
    schedule = None
    if depth <= MAX_SCHEDULE:
        # With shares n / D every count is met exactly at the end.
        schedule = chairman_schedule([Fraction(n, depth) for n in counts], depth)
    return {
        "depth": depth,
        "metadata_bits": bits,
        "weights": None if weights is None else [format_rational(w) for w in weights],
        "counts": counts,
        "schedule": schedule,
        "order": ORDER_RULE,
        "error": format_rational(error),
        "atoms": [
            {"index": index, "sha256": sha256_hex(canonical_bytes(encode(atom))), "uses": uses}
            for index, (atom, uses) in enumerate(zip(dictionary.atoms, counts, strict=True))
            if uses
        ],
    }


def _claimed_counts(claims: Sequence[Claim], bits: int, depth: int) -> list[list[int]]:
    """The counts of the schedule claims at this depth."""
    return [
        list(claim.counts)
        for claim in claims
        if isinstance(claim, ScheduleErrorClaim)
        and claim.code == bits
        and sum(claim.counts) == depth
    ]


def _mixing_weights(claims: Sequence[Claim], bits: int, atoms: int) -> list[Fraction] | None:
    """The relaxed weights alpha of the tightest affine_lp claim."""
    fitting = [c for c in claims if isinstance(c, AffineLPClaim) and c.code == bits]
    best = min(fitting, key=lambda claim: claim.upper, default=None)
    if best is None:
        return None
    weights = [Fraction(0)] * atoms
    for index, number in zip(best.primal.indices, best.primal.numerators, strict=True):
        weights[index] = number / best.primal.denominator
    return weights


def obstruction(
    subject: Subject, claims: Sequence[Claim], bits: int, tolerance: Fraction
) -> dict[str, Any] | None:
    """Which witnesses and coordinates the dual functional weighs, and what the tolerance misses."""
    fitting = [c for c in claims if isinstance(c, AffineLPClaim) and c.code == bits]
    best = max(fitting, key=lambda claim: claim.lower, default=None)
    if best is None or best.lower <= tolerance:
        return None
    problem = subject.lifted(bits)
    weights = [
        (index, number / best.dual.denominator)
        for index, number in zip(best.dual.indices, best.dual.numerators, strict=True)
    ]
    heaviest = sorted(weights, key=lambda entry: (-abs(entry[1]), entry[0]))[:MAX_OBSTRUCTION]
    entries = [
        {
            "coordinate": index,
            "witness": index // problem.outputs,
            "output": index % problem.outputs,
            "weight": format_rational(_short(weight)),
        }
        for index, weight in heaviest
    ]
    witnesses = sorted({index // problem.outputs for index, _ in weights})
    return {
        "claim": "affine_lp",
        "lower": format_rational(best.lower),
        "tolerance": format_rational(tolerance),
        "missed_by": format_rational(best.lower - tolerance),
        "coordinates": len(weights),
        "witnesses": witnesses,
        "heaviest": entries,
    }


def _short(value: Fraction) -> Fraction:
    """A weight rounded to 2^-40 for reading; the claim holds the exact one."""
    return Fraction(round(value * (1 << 40)), 1 << 40)
