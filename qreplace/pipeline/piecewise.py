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

SEARCH_NODES = 4096
"""Nodes of the search for one good schedule, unless the budget names some."""
MINIMUM_NODES = 1 << 22
"""Prefixes seen for the least error of one depth, unless the budget names some."""
MAX_OPEN = 2
"""Depths in a row that may stay open before deeper ones are given up."""


def comparator(subject: Subject, bits: int, limits: Limits) -> Iterator[Claim]:
    """The comparator's own largest error, bracketed (theory T1.2)."""
    from qreplace.produce.pwa_supremum import last_bracket

    found = last_bracket(
        subject, bits, ComparatorMap("comparator"), nodes=limits.nodes, seconds=limits.seconds
    )
    yield found.claim
    if found.remains:
        raise ProducerFailed(found.remains)


def suprema(subject: Subject, bits: int, limits: Limits) -> Iterator[Claim]:
    """The largest error of a good schedule at each depth, until one meets the threshold."""
    from qreplace.produce.pwa_supremum import last_bracket
    from qreplace.produce.schedule_search import good_schedule

    meets = Fraction(limits.meets or 0)
    share = _share(limits)
    nodes = SEARCH_NODES if limits.nodes is None else limits.nodes
    remains = []
    for depth in limits.depths:
        schedule, least = good_schedule(subject, bits, depth, nodes=nodes, seconds=share)
        # A schedule that already misses on some input is bounded once; a promising one closely.
        width = COARSE if least > meets else None
        found = last_bracket(
            subject,
            bits,
            ScheduleMap("schedule", schedule),
            width=width,
            nodes=limits.nodes,
            seconds=share,
        )
        yield found.claim
        if found.remains:
            remains.append(f"depth {depth}: {found.remains}")
        if found.upper <= meets:
            break
    if remains:
        raise ProducerFailed("; ".join(remains))


def minima(subject: Subject, bits: int, limits: Limits) -> Iterator[Claim]:
    """No schedule of the depth comes closer: as far as the threshold asks (theory T8.4)."""
    from qreplace.produce.schedule_minimum import produce
    from qreplace.produce.schedule_search import NODES_A_UNIT

    target = None if limits.exceeds is None else Fraction(limits.exceeds)
    nodes = MINIMUM_NODES if limits.nodes is None else limits.nodes * NODES_A_UNIT
    reasons: list[str] = []
    in_a_row = 0
    for depth in limits.depths:
        try:
            yield produce(subject, bits, depth, target=target, nodes=nodes, seconds=_share(limits))
            in_a_row = 0
        except ProducerFailed as error:
            reasons.append(f"depth {depth}: {error.message}")
            in_a_row += 1
        if in_a_row == MAX_OPEN:
            reasons.append("deeper ones have more schedules, and were not tried")
            break
    if reasons:
        raise ProducerFailed("; ".join(reasons))


def _share(limits: Limits) -> float | None:
    """The seconds of one depth."""
    return None if limits.seconds is None else limits.seconds / len(limits.depths)


def net_floor(subject: Subject, bits: int, limits: Limits) -> Iterator[Claim]:
    """The floor on a net of inputs, as closely as the budget allows (theory T7.11)."""
    from qreplace.produce.net_floor import produce

    for claim in produce(subject, bits, nodes=limits.nodes, seconds=limits.seconds):
        yield claim
        if limits.exceeds is not None and claim.lower > Fraction(limits.exceeds):
            return
