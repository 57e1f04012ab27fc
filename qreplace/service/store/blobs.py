"""Bytes on disk by their SHA-256: written whole or not at all, and checked whenever they are read.

A blob is written under a temporary name, flushed to the disk and then renamed, so a file that has
its final name is complete, whatever happened to the machine.
"""

from __future__ import annotations

import os
import re
import tempfile
from pathlib import Path

from qreplace.errors import QReplaceError
from qreplace.exact.document import sha256_hex

_DIGEST = re.compile(r"[0-9a-f]{64}")


class StoreDamaged(QReplaceError):
    """The store lacks bytes that it has a record of, or holds others."""

    code = "store-damaged"
    title = "The store is damaged"


class Blobs:
    """A folder of blobs. Writers hold the database's write lock (see ``StudyStore.put``)."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._incoming = folder / "incoming"
        self._incoming.mkdir(parents=True, exist_ok=True)

    def write(self, data: bytes) -> tuple[str, bool]:
        """Store ``data``; the digest, and whether it was not there before.

        A stored blob that no longer has its digest is replaced.
        """
        digest = sha256_hex(data)
        target = self._path(digest)
        if self._intact(target, digest):
            return digest, False
        target.parent.mkdir(exist_ok=True)
        handle, name = tempfile.mkstemp(dir=self._incoming)
        temporary = Path(name)
        try:
            with os.fdopen(handle, "wb") as stream:
                stream.write(data)
                stream.flush()
                os.fsync(stream.fileno())
            temporary.replace(target)
            _flush_folder(target.parent)
        except BaseException:
            temporary.unlink(missing_ok=True)
            target.unlink(missing_ok=True)  # whole perhaps, but the caller does not know of it
            raise
        return digest, True

    def read(self, digest: str) -> bytes:
        """The bytes with that digest; raises ``StoreDamaged`` if they are missing or changed."""
        try:
            data = self._path(digest).read_bytes()
        except FileNotFoundError:
            raise StoreDamaged(f"the blob {digest} is missing") from None
        if sha256_hex(data) != digest:
            raise StoreDamaged(f"the blob {digest} has other bytes")
        return data

    def remove(self, digest: str) -> None:
        """Remove a blob that nothing refers to."""
        self._path(digest).unlink(missing_ok=True)

    def sweep(self) -> None:
        """Remove what interrupted writes left; only while no other writer runs."""
        for path in self._incoming.iterdir():
            path.unlink(missing_ok=True)

    def probe(self) -> None:
        """Write and remove a small file; raises ``OSError`` when that is impossible."""
        with tempfile.TemporaryFile(dir=self._incoming) as stream:
            stream.write(b"probe")
            stream.flush()
            os.fsync(stream.fileno())

    def _path(self, digest: str) -> Path:
        if not _DIGEST.fullmatch(digest):
            raise StoreDamaged("a record names a blob by something that is no SHA-256")
        return self._folder / digest[:2] / digest

    @staticmethod
    def _intact(path: Path, digest: str) -> bool:
        try:
            return sha256_hex(path.read_bytes()) == digest
        except FileNotFoundError:
            return False


def _flush_folder(folder: Path) -> None:
    """Make the names in a folder, and its own name, survive a power cut."""
    for path in (folder, folder.parent):
        handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
