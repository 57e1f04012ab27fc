"""Claims about piecewise-affine questions: comparator, single depths, floor (theory T7.11, T8)."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from qreplace.claims import Claim
from qreplace.claims.pwa_supremum import ComparatorMap, ScheduleMap
from qreplace.errors import ProducerFailed
from qreplace.pipeline.engines import Limits
from qreplace.question.subject import Subject

COARSE = Fraction(1)
"""Width of an upper end that decides nothing: one polygon or few boxes, for the table."""


def comparator(subject: Subject, bits: int, limits: Limits) -> Iterator[Claim]:
    """The comparator's own largest error, bracketed (theory T1.2)."""
    from qreplace.produce.pwa_supremum import produce

    yield produce(
        subject, bits, ComparatorMap("comparator"), nodes=limits.nodes, seconds=limits.seconds
    )


def suprema(subject: Subject, bits: int, limits: Limits) -> Iterator[Claim]:
    """The largest error of a good schedule at each depth, until one meets the threshold."""
    from qreplace.produce.pwa_supremum import produce
    from qreplace.produce.schedule_search import good_schedule

    meets = Fraction(limits.meets or 0)
    share = None if limits.seconds is None else limits.seconds / len(limits.depths)
    for depth in limits.depths:
        schedule, least = good_schedule(subject, bits, depth, nodes=limits.nodes, seconds=share)
        # A schedule that already misses on some input is bounded once; a promising one closely.
        width = COARSE if least > meets else None
        claim = produce(
            subject,
            bits,
            ScheduleMap("schedule", schedule),
            width=width,
            nodes=limits.nodes,
            seconds=share,
        )
        yield claim
        if claim.upper is not None and claim.upper <= meets:
            return


def minima(subject: Subject, bits: int, limits: Limits) -> Iterator[Claim]:
    """No schedule of the depth comes closer: as far as the threshold asks (theory T8.4)."""
    from qreplace.produce.schedule_minimum import produce

    target = None if limits.exceeds is None else Fraction(limits.exceeds)
    reasons = []
    for depth in limits.depths:
        try:
            yield produce(subject, bits, depth, target=target)
        except ProducerFailed as error:
            reasons.append(f"depth {depth}: {error.message}")
    if reasons:
        raise ProducerFailed("; ".join(reasons))


def net_floor(subject: Subject, bits: int, limits: Limits) -> Iterator[Claim]:
    """The floor on a net of inputs, as closely as the budget allows (theory T7.11)."""
    from qreplace.produce.net_floor import produce

    yield from produce(subject, bits, nodes=limits.nodes, seconds=limits.seconds)
