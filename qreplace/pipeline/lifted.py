"""Claims about lifted affine systems: bracket, schedules, freezing (theory T7.1, T7.13, T4.4)."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from qreplace.check.frozen import frozen_step_rule
from qreplace.claims import Claim
from qreplace.claims.affine_lp import AffineLPClaim
from qreplace.decision.grid import count, every_depth, thinned
from qreplace.errors import InputError, ProducerFailed, Rejected
from qreplace.question.frozen_start import frozen_start
from qreplace.question.model import QuantizedExecution, Unbounded
from qreplace.question.subject import Subject

MAX_SCHEDULE_DEPTHS = 96
"""Schedules are searched at every grid depth up to this many, else at a spread of them."""
MAX_SCHEDULE_STEPS = 4096
"""Beyond this depth the closed-form radius P_D is already small and no schedule is searched."""

Progress = Callable[[str, int, int], None]
"""Called with a stage's name, the steps done and the steps in all."""


def lifted_claims(subject: Subject, bits: int, progress: Progress) -> list[Claim]:
    """The floor's bracket, and schedules at searched depths.

    Raises ``ProducerFailed`` when no bracket was found.
    """
    from qreplace.produce.affine_lp import produce as produce_bracket

    progress("floor", 0, 1)
    floor = produce_bracket(subject, bits)
    progress("floor", 1, 1)
    return [floor, *_schedules(subject, bits, floor, progress)]


def _schedules(
    subject: Subject, bits: int, floor: AffineLPClaim, progress: Progress
) -> list[Claim]:
    from qreplace.produce.schedule_error import ScheduleProducer
    from qreplace.produce.threads import single_threaded

    weights = [Fraction(0)] * len(subject.lifted(bits).atoms)
    for index, number in zip(floor.primal.indices, floor.primal.numerators, strict=True):
        weights[index] = number / floor.primal.denominator
    producer = ScheduleProducer(subject, bits, weights)
    depths = schedule_depths(subject)
    claims: list[Claim] = []
    with single_threaded():
        for done, depth in enumerate(depths):
            progress("schedules", done, len(depths))
            claims.append(producer.produce(depth))
    progress("schedules", len(depths), len(depths))
    return claims


def schedule_depths(subject: Subject) -> list[int]:
    """Where schedules are searched: the grid's depths, or a spread of them."""
    grid = subject.question.search.depths
    few = count(grid) <= MAX_SCHEDULE_DEPTHS
    depths = list(every_depth(grid)) if few else thinned(grid, [], MAX_SCHEDULE_DEPTHS)
    return [depth for depth in depths if depth <= MAX_SCHEDULE_STEPS]


def lattice_claims(subject: Subject, bits: int) -> tuple[list[Claim], str]:
    """Registers that never overflow, where the execution declares any; else why there are none.

    An exact carry is worth a claim too: it is never rounded (theory T4.7).
    """
    from qreplace.produce.lattice import produce as produce_lattice

    execution = subject.question.execution
    if not isinstance(execution, QuantizedExecution):
        return [], ""
    if isinstance(execution.overflow, Unbounded) and execution.carry is None:
        return [], ""
    try:
        return list(produce_lattice(subject, bits, subject.question.search.depths)), ""
    except ProducerFailed as error:
        return [], str(error)


def frozen_claims(subject: Subject, bits: int) -> list[Claim]:
    """Freezing, where the execution block admits it (theory T4.4); else nothing."""
    from qreplace.produce.frozen import produce as produce_frozen

    if not isinstance(subject.question.execution, QuantizedExecution):
        return []
    try:
        start = frozen_start(subject, bits)
        step = frozen_step_rule(subject, start)
    except (InputError, Rejected):
        return []
    claim = produce_frozen(subject, bits, start, step)
    return [] if claim is None else [claim]
