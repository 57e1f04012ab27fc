"""What was tried to bracket the floor, ready to show: engine, gain, obstacle, seconds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from qreplace.report.context import Attempt
from qreplace.report.decimals import Number, at_least, at_most
from qreplace.report.text import one_line
from qreplace.report.words import ENGINES, OUTCOMES, in_words

LONGEST_DETAIL = 300


@dataclass(frozen=True, slots=True)
class AttemptRow:
    """One try of one engine."""

    engine: str
    words: str
    metadata_bits: int
    outcome: str
    stopped: bool
    """It failed or a budget ran out."""
    lower: Number | None
    upper: Number | None
    claims: int
    detail: str
    seconds: str


def attempt_rows(attempts: Sequence[Attempt]) -> tuple[AttemptRow, ...]:
    """The attempts, when there is something to tell: several, or one that did not go through."""
    if len(attempts) < 2 and not any(map(_stopped, attempts)):
        return ()
    return tuple(map(_row, attempts))


def _stopped(attempt: Attempt) -> bool:
    return attempt.outcome in ("failed", "stopped")


def _row(attempt: Attempt) -> AttemptRow:
    return AttemptRow(
        engine=attempt.engine,
        words=ENGINES.get(attempt.engine, in_words(attempt.engine)),
        metadata_bits=attempt.metadata_bits,
        outcome=OUTCOMES[attempt.outcome],
        stopped=_stopped(attempt),
        lower=None if attempt.lower is None else at_least(attempt.lower),
        upper=None if attempt.upper is None else at_most(attempt.upper),
        claims=attempt.claims,
        detail=one_line(attempt.detail, LONGEST_DETAIL),
        seconds=_seconds(attempt),
    )


def _seconds(attempt: Attempt) -> str:
    """Wall-clock seconds to two decimals or, from 100 on, none; empty where none were taken."""
    if attempt.outcome == "not_tried" or not attempt.seconds:
        return ""
    if attempt.seconds >= 100:
        return f"{attempt.seconds:,.0f}"
    return f"{attempt.seconds:.2f}"
