"""Where a study is decided: outside the event loop, a few at a time.

``Decider`` is the seam: the service hands over a specification that was read and gets everything
to store. ``ThreadDecider`` uses a thread of this process; worker processes with a time limit fit
behind the same method.
"""

from __future__ import annotations

import json
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from qreplace.spec import LoadedSpec


@dataclass(frozen=True, slots=True)
class Answer:
    """A decided study, ready to be stored."""

    study: str
    """The study id, the SHA-256 of the canonical question."""
    engine: str
    verdict: str
    title: str
    spec: bytes
    """The specification as it was sent."""
    document: bytes
    """The decision document: JSON, as ``qreplace decide --json`` prints it."""
    bundle: bytes
    files: dict[str, bytes]
    """Reports and figures by name, such as ``report.html`` and ``figures/interval.svg``."""
    complete: bool = True
    """Whether every attempt ran to its end."""


class Decider(Protocol):
    """Decides specifications; called from a worker thread, possibly from several at once."""

    def decide(self, spec: LoadedSpec) -> Answer:
        """The answer to a specification; raises ``QReplaceError`` where there is none."""
        ...


class ThreadDecider:
    """Decides in the calling thread, with this process's engine.

    ``attempt_seconds`` and ``attempt_megabytes`` are the most that one attempt at a floor may use,
    whatever a specification asks for.
    """

    def __init__(self, attempt_seconds: int, attempt_megabytes: int) -> None:
        self._drawing = threading.Lock()
        self._seconds = attempt_seconds
        self._megabytes = attempt_megabytes

    def decide(self, spec: LoadedSpec) -> Answer:
        """Decide, render the reports, and say what to store."""
        from qreplace.pipeline import decide
        from qreplace.report import render
        from qreplace.spec import FloorBudget

        ceiling = FloorBudget(self._seconds, self._megabytes, None)
        study = decide(spec, ceiling=ceiling)
        document = study.document()
        with self._drawing:  # drawing libraries keep process-wide state
            files = render(document, study.report_context())
        return Answer(
            study=study.id,
            engine=str(document["engine"]),
            verdict=study.verdict,
            title=spec.labels.title,
            spec=spec.source,
            document=document_bytes(document),
            bundle=study.bundle,
            files=files,
            complete=study.complete,
        )


def document_bytes(document: object) -> bytes:
    """A decision document as compact JSON, keys in the order in which they are documented."""
    return json.dumps(document, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()
