"""Stored studies: put once, read by id, listed by page."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, RowMapping, delete, exists, insert, select, text
from sqlalchemy.exc import SQLAlchemyError

from qreplace.errors import InputError
from qreplace.service.deciding import Answer
from qreplace.service.store.blobs import Blobs
from qreplace.service.store.database import open_database, writing
from qreplace.service.store.simulations import SimulationStore
from qreplace.service.store.tables import FILES, STUDIES

DOCUMENT = "document.json"
BUNDLE = "bundle.zip"


@dataclass(frozen=True, slots=True)
class StoredStudy:
    """A row of the store: which question, which engine, which answer."""

    seq: int
    id: str
    engine: str
    verdict: str
    title: str
    created: str
    bundle_sha256: str
    spec_sha256: str
    document_sha256: str
    complete: bool
    """Whether every attempt ran to its end; one that a budget cut short is asked again."""


@dataclass(frozen=True, slots=True)
class Page:
    """Studies, newest first, and where the next page starts (``before``), if there is one."""

    studies: tuple[StoredStudy, ...]
    before: int | None


class StudyStore:
    """Answers in ``qreplace.sqlite`` and ``blobs/`` below one folder; safe to use from threads."""

    def __init__(self, folder: Path) -> None:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self.blobs = Blobs(folder / "blobs")
            self._engine = open_database(folder / "qreplace.sqlite")
            self.simulations = SimulationStore(self._engine, self.blobs)
            with writing(self._engine):
                self.blobs.sweep()
        except (OSError, SQLAlchemyError) as error:
            reason = getattr(error, "strerror", None) or type(error).__name__
            raise InputError(
                f"the study store at {str(folder)!r} cannot be opened: {reason}",
                remedy="Name a folder that can be written with QREPLACE_DATA_DIR.",
            ) from error

    def close(self) -> None:
        """Give the connections back."""
        self._engine.dispose()

    def put(self, answer: Answer) -> StoredStudy:
        """Store an answer whole or not at all; the stored one, if this engine gave one before.

        A stored answer that is not complete gives way to the new one.
        """
        with writing(self._engine) as connection:
            stored = _find(connection, answer.study, answer.engine)
            if stored is not None and stored.complete:
                return stored
            if stored is not None:
                connection.execute(delete(STUDIES).where(STUDIES.c.seq == stored.seq))
            with self._blobs_of_one_answer() as written:
                row: dict[str, Any] = {
                    "id": answer.study,
                    "engine": answer.engine,
                    "verdict": answer.verdict,
                    "title": answer.title,
                    "created": _now(),
                    "bundle_sha256": written.add(answer.bundle),
                    "spec_sha256": written.add(answer.spec),
                    "document_sha256": written.add(answer.document),
                    "complete": answer.complete,
                }
                statement = insert(STUDIES).values(row).returning(STUDIES.c.seq)
                seq: int = connection.execute(statement).scalar_one()
                files = [
                    {"study_seq": seq, "name": name, "sha256": written.add(data)}
                    for name, data in sorted(answer.files.items())
                ]
                if files:
                    connection.execute(insert(FILES), files)
                connection.commit()
        return StoredStudy(seq=seq, **row)

    @contextmanager
    def _blobs_of_one_answer(self) -> Iterator[_Written]:
        """Blobs that are removed again unless the block ends well; the write lock is held."""
        written = _Written(self.blobs)
        try:
            yield written
        except BaseException:
            for digest in written.new:
                self.blobs.remove(digest)
            raise

    def find(self, study: str, engine: str | None = None) -> StoredStudy | None:
        """The answer of ``engine``, or the newest of any engine, to a question."""
        with self._engine.connect() as connection:
            return _find(connection, study, engine)

    def digest(self, study: StoredStudy, name: str) -> str | None:
        """The SHA-256 of a file of an answer, or ``None`` if it has no file of that name."""
        if name == DOCUMENT:
            return study.document_sha256
        if name == BUNDLE:
            return study.bundle_sha256
        query = select(FILES.c.sha256).where(FILES.c.study_seq == study.seq, FILES.c.name == name)
        with self._engine.connect() as connection:
            return connection.execute(query).scalar_one_or_none()

    def page(self, limit: int, before: int | None = None) -> Page:
        """The newest answer to each question, ``limit`` at a time, from below ``before``."""
        later = STUDIES.alias("later")
        superseded = exists().where(later.c.id == STUDIES.c.id, later.c.seq > STUDIES.c.seq)
        query = select(STUDIES).where(~superseded).order_by(STUDIES.c.seq.desc()).limit(limit + 1)
        if before is not None:
            query = query.where(STUDIES.c.seq < before)
        with self._engine.connect() as connection:
            rows = [_study(row) for row in connection.execute(query).mappings()]
        shown = tuple(rows[:limit])
        return Page(shown, shown[-1].seq if len(rows) > limit else None)

    def ready(self) -> bool:
        """Whether the database and the blob folder can be written now."""
        try:
            with writing(self._engine) as connection:
                connection.execute(text("SELECT 1 FROM studies LIMIT 1"))
            self.blobs.probe()
        except (OSError, SQLAlchemyError):
            return False
        return True


class _Written:
    """The blobs of one answer; ``new`` are those that were not there before."""

    def __init__(self, blobs: Blobs) -> None:
        self._blobs = blobs
        self.new: list[str] = []

    def add(self, data: bytes) -> str:
        digest, new = self._blobs.write(data)
        if new:
            self.new.append(digest)
        return digest


def _find(connection: Connection, study: str, engine: str | None) -> StoredStudy | None:
    query = select(STUDIES).where(STUDIES.c.id == study).order_by(STUDIES.c.seq.desc()).limit(1)
    if engine is not None:
        query = query.where(STUDIES.c.engine == engine)
    row = connection.execute(query).mappings().one_or_none()
    return None if row is None else _study(row)


def _study(row: RowMapping) -> StoredStudy:
    return StoredStudy(**{name: row[name] for name in StoredStudy.__dataclass_fields__})


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
