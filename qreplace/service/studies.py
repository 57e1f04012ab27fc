"""From a submission to a stored study: read, look it up, decide only when it is new.

The same question is the same object: it is decided once for each engine version, however often
and by whomever it is asked. What a budget cut short is kept, but decided anew when asked again.
"""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING

import anyio

from qreplace.service.deciding import Decider
from qreplace.service.logs import log
from qreplace.service.store import StoredStudy, StudyStore
from qreplace.service.submission import Submission
from qreplace.version import __version__

if TYPE_CHECKING:
    from qreplace.spec import LoadedSpec


class Studies:
    """The studies of one service. Reading and deciding run in threads, ``deciders`` of each."""

    def __init__(self, store: StudyStore, decider: Decider, deciders: int) -> None:
        self.store = store
        self._decider = decider
        self._reading = anyio.CapacityLimiter(deciders)
        self._deciding = anyio.CapacityLimiter(deciders)

    async def submit(self, submission: Submission) -> tuple[StoredStudy, bool]:
        """The study that a submission asks for, and whether it was decided now.

        Raises ``SpecError`` or ``InputError`` for a specification that cannot be read, ``Rejected``
        for an attached claim that does not hold; nothing is stored then.
        """
        spec, stored = await anyio.to_thread.run_sync(self._read, submission, limiter=self._reading)
        if stored is not None and stored.complete:
            return stored, False
        return await anyio.to_thread.run_sync(self._decide, spec, limiter=self._deciding)

    def _read(self, submission: Submission) -> tuple[LoadedSpec, StoredStudy | None]:
        spec = submission.load()
        return spec, self.store.find(spec.question.study_id, __version__)

    def _decide(self, spec: LoadedSpec) -> tuple[StoredStudy, bool]:
        stored = self.store.find(spec.question.study_id, __version__)
        if stored is not None and stored.complete:  # decided while this request waited
            return stored, False
        started = time.monotonic()
        study = self.store.put(self._decider.decide(spec))
        log(
            logging.INFO,
            "decided",
            study=study.id,
            verdict=study.verdict,
            engine=study.engine,
            milliseconds=round(1000 * (time.monotonic() - started), 1),
        )
        return study, True
