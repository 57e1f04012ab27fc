"""What to run when the answer is yes, and what stands in the way when it is no."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, get_args

from qreplace.claims import Claim, claim_kind
from qreplace.claims.affine_dynamics import AffineDynamicsClaim
from qreplace.claims.affine_lp import AffineLPClaim
from qreplace.claims.compositional import CompositionalClaim
from qreplace.claims.count_minimum import CountMinimumClaim
from qreplace.claims.exposed_channel import ExposedChannelClaim
from qreplace.claims.functional import SparseVector
from qreplace.claims.hjb_sos import HjbSosClaim
from qreplace.claims.net_floor import NetFloorClaim
from qreplace.claims.observable import ObservableClaim
from qreplace.claims.perturbed import PerturbedClaim
from qreplace.claims.pwa_supremum import PwaSupremumClaim, ScheduleMap
from qreplace.claims.relaxed_control import (
    ControlPiece,
    PureSchedule,
    RelaxedControl,
    RelaxedControlClaim,
)
from qreplace.claims.schedule_error import ScheduleErrorClaim
from qreplace.claims.schedule_minimum import ScheduleMinimumClaim
from qreplace.claims.support import SupportClaim
from qreplace.decision.controls import cell_averages, dense, mean_weights, rounding_rule
from qreplace.decision.schedules import chairman_schedule, counts_of, rounded_counts
from qreplace.exact.codec import encode
from qreplace.exact.document import canonical_bytes, sha256_hex
from qreplace.exact.rational import format_rational, round_up
from qreplace.question.model import (
    AffineDynamicsSystem,
    LiftedAffineSystem,
    LinearTarget,
    ListedDictionary,
    PolynomialSystem,
    PwaSystem,
)
from qreplace.question.norms import norm_bounds
from qreplace.question.subject import Subject

MAX_SCHEDULE = 4096
"""Longer schedules are given by their counts and the rule that orders them."""
MAX_OBSTRUCTION = 12
"""Coordinates of the dual witness named in an obstruction, heaviest first."""

ERROR_BITS = 128
"""Bits after the point of an error that is only a bound."""

CLAIMED_ORDER = "in the order that the claim is about"
ORDER_RULE = "chairman assignment of counts / depth (theory T2.2)"


def plan(
    subject: Subject,
    claims: Sequence[Claim],
    depth: int,
    bits: int,
    rounding: Fraction | None = None,
) -> dict[str, Any] | None:
    """Weights, schedule and atoms for a feasible candidate, with that schedule's own error.

    ``None`` for a question whose atoms are not listed or that asks about the path. The error is the
    exact ideal endpoint error of this very schedule, or a bound of it where states are enclosed;
    the executed one is the candidate's interval. ``rounding`` bounds what a control loses when a
    schedule of this depth follows it (``Q_D + P_D``, theory T3.3).
    """
    question = subject.question
    dictionary = question.dictionary_for(bits)
    if question.scope == "path" or not isinstance(dictionary, ListedDictionary):
        return None
    own = [claim for claim in claims if claim.code == bits]
    if isinstance(question.system, LiftedAffineSystem):
        chosen = _lifted_choice(subject, own, depth, bits)
    elif isinstance(question.system, (AffineDynamicsSystem, PolynomialSystem)):
        chosen = _dynamic_choice(own, dictionary.atom_count, depth, question.horizon, rounding)
    elif isinstance(question.system, PwaSystem):
        chosen = _piecewise_choice(own, dictionary.atom_count, depth)
    else:
        chosen = None
    if chosen is None:
        return None
    return {
        "depth": depth,
        "metadata_bits": bits,
        "weights": None if chosen.weights is None else [format_rational(w) for w in chosen.weights],
        "counts": chosen.counts,
        "schedule": chosen.schedule,
        "order": chosen.order,
        "error": format_rational(chosen.error),
        "atoms": [
            {"index": index, "sha256": sha256_hex(canonical_bytes(encode(atom))), "uses": uses}
            for index, (atom, uses) in enumerate(zip(dictionary.atoms, chosen.counts, strict=True))
            if uses
        ],
    }


@dataclass(frozen=True, slots=True)
class _Choice:
    """What a plan says to run; ``error`` bounds the ideal endpoint error."""

    weights: list[Fraction] | None
    counts: list[int]
    schedule: list[int] | None
    order: str
    error: Fraction


# --- state-independent atoms: counts decide -------------------------------------------------------


def _lifted_choice(
    subject: Subject, claims: Sequence[Claim], depth: int, bits: int
) -> _Choice | None:
    problem, norm = subject.lifted(bits), subject.question.norm
    weights = mixing_weights(claims, len(problem.atoms))
    options = _claimed_counts(claims, depth)
    if weights is not None:
        options.append(rounded_counts(weights, depth))
    if not options:
        return None

    def error_of(counts: Sequence[int]) -> Fraction:
        residual = problem.residual(counts, depth)
        return norm_bounds(norm, residual, depth * problem.denominator)[1]

    counts = min(options, key=lambda option: (error_of(option), option))
    schedule = None
    if depth <= MAX_SCHEDULE:
        # With shares n / D every count is met exactly at the end.
        schedule = chairman_schedule([Fraction(n, depth) for n in counts], depth)
    return _Choice(weights, counts, schedule, ORDER_RULE, error_of(counts))


def _claimed_counts(claims: Sequence[Claim], depth: int) -> list[list[int]]:
    """The counts of the schedule claims at this depth."""
    return [
        list(claim.counts)
        for claim in claims
        if isinstance(claim, ScheduleErrorClaim) and sum(claim.counts) == depth
    ]


def mixing_weights(claims: Sequence[Claim], atoms: int) -> list[Fraction] | None:
    """The relaxed weights alpha of the tightest affine_lp claim."""
    fitting = [c for c in claims if isinstance(c, AffineLPClaim)]
    best = min(fitting, key=lambda claim: claim.upper, default=None)
    return None if best is None else dense(best.primal, atoms)


# --- dynamics: order matters ----------------------------------------------------------------------


def _dynamic_choice(
    claims: Sequence[Claim],
    atoms: int,
    depth: int,
    horizon: Fraction,
    rounding: Fraction | None,
) -> _Choice | None:
    """The claimed schedule of this depth, or the tightest control's rounding; whichever is closer.

    A control is rounded by the rule whose prefix discrepancy ``rounding`` assumes, so the
    schedule's error is within the control's plus ``rounding``.
    """
    control = tightest_control(claims)
    weights = None if control is None else mean_weights(control[1], atoms, horizon)
    found = []
    for claim in claims:
        if isinstance(claim, RelaxedControlClaim) and isinstance(claim.control, PureSchedule):
            runs = claim.control.runs
            if sum(times for _, times in runs) == depth:
                found.append((claim.upper, runs))
    if found:
        error, runs = min(found)
        steps = (atom for atom, times in runs for _ in range(times))
        schedule = list(steps) if depth <= MAX_SCHEDULE else None
        counts = [sum(times for atom, times in runs if atom == j) for j in range(atoms)]
        return _Choice(weights, counts, schedule, CLAIMED_ORDER, error)
    if control is None or rounding is None or depth > MAX_SCHEDULE:
        return None
    averages = cell_averages(control[1], atoms, horizon, depth)
    order, rule = rounding_rule(atoms)
    schedule = rule(averages)
    error = round_up(control[0] + rounding, ERROR_BITS)
    return _Choice(weights, counts_of(schedule, atoms), schedule, order, error)


def tightest_control(claims: Sequence[Claim]) -> tuple[Fraction, Sequence[ControlPiece]] | None:
    """The smallest upper end of a relaxed control, and its pieces."""
    found: list[tuple[Fraction, Sequence[ControlPiece]]] = []
    for claim in claims:
        if isinstance(claim, RelaxedControlClaim) and isinstance(claim.control, RelaxedControl):
            found.append((claim.upper, claim.control.pieces))
        elif isinstance(claim, AffineDynamicsClaim) and claim.upper is not None and claim.control:
            found.append((claim.upper, claim.control))
    return min(found, key=lambda entry: entry[0], default=None)


def _piecewise_choice(claims: Sequence[Claim], atoms: int, depth: int) -> _Choice | None:
    """The schedule of this depth whose largest error is known to be smallest (theory T8.2)."""
    found = [
        (claim.upper, claim.map.schedule)
        for claim in claims
        if isinstance(claim, PwaSupremumClaim)
        and isinstance(claim.map, ScheduleMap)
        and claim.upper is not None
        and len(claim.map.schedule) == depth
    ]
    if not found:
        return None
    error, schedule = min(found)
    return _Choice(None, counts_of(schedule, atoms), list(schedule), CLAIMED_ORDER, error)


# --- what stands in the way ----------------------------------------------------------------------


def obstruction(
    subject: Subject, claims: Sequence[Claim], bits: int, tolerance: Fraction
) -> dict[str, Any] | None:
    """The certificate with the best lower end, and by how much the tolerance misses it.

    Where it has a dual functional, which witnesses and coordinates that weighs. A claim about one
    depth serves only where no claim about every depth does; then the depth that comes closest does.
    """
    fitting = [
        claim
        for claim in claims
        if isinstance(claim, LOWER_CLAIMS) and claim.code == bits and claim.lower > tolerance
    ]
    if not fitting:
        return None
    best = _telling(fitting)
    vector = _functional(best)
    weights = [
        (index, number / vector.denominator)
        for index, number in zip(vector.indices, vector.numerators, strict=True)
    ]
    outputs = _outputs(subject, bits)
    heaviest = sorted(weights, key=lambda entry: (-abs(entry[1]), entry[0]))[:MAX_OBSTRUCTION]
    return {
        "claim": claim_kind(best),
        "lower": format_rational(best.lower),
        "tolerance": format_rational(tolerance),
        "missed_by": format_rational(best.lower - tolerance),
        "coordinates": len(weights),
        "witnesses": sorted({index // outputs for index, _ in weights}),
        "heaviest": [
            {
                "coordinate": index,
                "witness": index // outputs,
                "output": index % outputs,
                "weight": format_rational(_short(weight)),
            }
            for index, weight in heaviest
        ],
    }


LowerClaim = (
    AffineLPClaim
    | AffineDynamicsClaim
    | PerturbedClaim
    | HjbSosClaim
    | CompositionalClaim
    | SupportClaim
    | ObservableClaim
    | NetFloorClaim
    | ScheduleMinimumClaim
    | CountMinimumClaim
    | ExposedChannelClaim
)
LOWER_CLAIMS = get_args(LowerClaim)
WITHOUT_FUNCTIONAL = (
    HjbSosClaim, CompositionalClaim, NetFloorClaim, ScheduleMinimumClaim, CountMinimumClaim,
)  # fmt: skip
NO_FUNCTIONAL = SparseVector(Fraction(1), (), ())


def _telling(fitting: Sequence[LowerClaim]) -> LowerClaim:
    """The highest end about every depth; without one, the highest end of the closest depth."""
    lasting = [claim for claim in fitting if _every_depth(claim)]
    if lasting:
        return max(lasting, key=lambda claim: claim.lower)
    depths: dict[int, LowerClaim] = {}
    for claim in fitting:
        depth = claim.last if isinstance(claim, ExposedChannelClaim) else getattr(claim, "depth", 0)
        if depth not in depths or claim.lower > depths[depth].lower:
            depths[depth] = claim
    return min(depths.values(), key=lambda claim: claim.lower)


def _every_depth(claim: LowerClaim) -> bool:
    if isinstance(claim, ExposedChannelClaim):
        return False
    return getattr(claim, "depth", None) is None


def _functional(claim: LowerClaim) -> SparseVector:
    """The dual functional; without entries where the claim has none."""
    if isinstance(claim, AffineLPClaim):
        return claim.dual
    if isinstance(claim, WITHOUT_FUNCTIONAL):
        return NO_FUNCTIONAL
    return claim.witness.vector


def _outputs(subject: Subject, bits: int) -> int:
    """Coordinates a witness: those of the target's map, else the whole state."""
    target = subject.question.target
    return target.weights.shape[0] if isinstance(target, LinearTarget) else subject.dimension(bits)


def _short(value: Fraction) -> Fraction:
    """A weight rounded to 2^-40 for reading; the claim holds the exact one."""
    return Fraction(round(value * (1 << 40)), 1 << 40)
