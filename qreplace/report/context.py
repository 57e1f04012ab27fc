"""What a report needs beside the decision document: the question and the texts for people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from qreplace.claims import Claim
    from qreplace.question.model import Question
    from qreplace.spec.lower import Labels


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
