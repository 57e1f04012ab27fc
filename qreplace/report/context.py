"""What a report needs beside the decision document: the question and the texts for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from qreplace.claims import Claim
    from qreplace.decision.questions import Answer
    from qreplace.decision.what_if import Change
    from qreplace.question.model import Question
    from qreplace.spec.lower import Labels

Outcome = Literal["kept", "no_better", "failed", "stopped", "not_tried"]


@dataclass(frozen=True, slots=True)
class Attempt:
    """One try of one engine: what it gave, what it cost and what stopped it.

    ``outcome``: ``kept`` (a claim of it is in the bundle), ``no_better`` (checked, but others are
    tighter), ``failed`` (``detail`` says why), ``stopped`` (a budget ran out), ``not_tried``.
    """

    engine: str
    metadata_bits: int
    outcome: Outcome
    detail: str
    lower: Fraction | None
    upper: Fraction | None
    claims: int
    seconds: float
    """Wall-clock time, for people only; 0 where it was not taken."""


@dataclass(frozen=True)
class ReportContext:
    """The question, its labels and its checked claims; nothing here can change a verdict."""

    title: str
    question: Question
    labels: Labels
    source_name: str
    """The name of the specification's file."""
    claims: Sequence[Claim] = ()
    """Checked claims; they add depths and methods to the list of claims, and may be left out."""
    arrays: Mapping[str, bytes] = field(default_factory=dict)
    """The question's side arrays by digest, for figures."""
    attempts: Sequence[Attempt] = ()
    """What was tried to bracket the floor."""
    questions: Sequence[Answer] = ()
    """The five questions of QR 11, answered; may be left out."""
    changes: Sequence[Change] = ()
    """What would decide an unresolved study, one change at a time; may be left out."""
