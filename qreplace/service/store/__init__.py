"""The study store: answers in SQLite, their bytes in files named by SHA-256.

Everything is content-addressed and nothing is ever changed in place: the same question decided
by the same engine is one row, whoever asks. No path is ever made from what a client sent.
"""

from __future__ import annotations

from qreplace.service.store.blobs import Blobs
from qreplace.service.store.studies import Page, StoredStudy, StudyStore

__all__ = ["Blobs", "Page", "StoredStudy", "StudyStore"]
