"""Files that a specification names: beside it on disk, or attached to a request.

A path is relative to the specification's folder and stays inside it, also through symbolic links.
The SHA-256 is that of the file and is always checked.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from qreplace.errors import InputError
from qreplace.exact.document import sha256_hex

MAX_FILE_BYTES = 1 << 30


class SideFiles:
    """Reads named files, each once; ``base`` ``None`` means that no file system is touched."""

    def __init__(self, base: Path | None, attached: Mapping[str, bytes]) -> None:
        self._base = base
        self._attached = attached
        self._read: dict[str, bytes] = {}
        self._digests: dict[str, str] = {}
        self._verified: set[str] = set()

    def find(self, path: str) -> bytes:
        """The bytes of the file at ``path``; raises ``InputError`` when it cannot be had."""
        if path not in self._read:
            self._read[path] = self._fetch(path)
        return self._read[path]

    def digest(self, path: str) -> str:
        """The SHA-256 of the file at ``path``."""
        if path not in self._digests:
            self._digests[path] = sha256_hex(self.find(path))
        return self._digests[path]

    def attached(self, sha256: str) -> bytes | None:
        """An attachment by its digest, if there is one; raises ``InputError`` if it has another."""
        data = self._attached.get(sha256)
        if data is None or sha256 in self._verified:
            return data
        found = sha256_hex(data)
        if found != sha256:
            raise InputError(f"needed an attachment with SHA-256 {sha256}, received {found}")
        self._verified.add(sha256)
        return data

    def verified(self, path: str, sha256: str) -> bytes:
        """The bytes of the file at ``path``, whose digest is ``sha256``.

        Raises ``InputError`` for a path that is unsafe or missing, a file that is too large, and
        for another digest, which the message names.
        """
        check_path(path)
        attached = self.attached(sha256)
        if attached is not None:
            return attached
        found = self.digest(path)
        if found != sha256:
            raise InputError(
                f"needed the file {path!r} with SHA-256 {sha256}, received one with {found}",
                remedy="Restore the file, or write the new digest if the change is meant.",
            )
        return self.find(path)

    def _fetch(self, path: str) -> bytes:
        check_path(path)
        attached = self._attached.get(path)
        if attached is not None:
            return attached
        if self._base is None:
            raise InputError(
                f"needed the file {path!r} as an attachment, received none of that name or digest",
                remedy="Attach it; no other files are read here.",
            )
        return _read_below(self._base, path)


def check_path(path: str) -> None:
    """Refuse absolute paths, ``..``, drive letters, backslashes and control characters."""
    parts = PurePosixPath(path).parts
    unsafe = not parts or path.startswith("/") or ".." in parts or "\\" in path or ":" in path
    if unsafe or not path.isprintable() or len(path) > 1024:
        raise InputError(
            f"needed a relative path inside the specification's folder, received {path[:80]!r}",
            remedy="Put the file beside the specification and name it with forward slashes.",
        )


def _read_below(base: Path, path: str) -> bytes:
    try:
        root = base.resolve(strict=True)
        full = (root / path).resolve(strict=True)
        if not full.is_relative_to(root):
            raise InputError(
                f"needed a file inside the specification's folder, received the link {path!r} "
                "that leads out of it",
                remedy="Copy the file into the folder.",
            )
        if not full.is_file():
            raise InputError(f"needed a regular file at {path!r}, received something else")
        size = full.stat().st_size
        if size > MAX_FILE_BYTES:
            raise InputError(f"needed a file of at most {MAX_FILE_BYTES} bytes, received {size}")
        return full.read_bytes()
    except FileNotFoundError:
        raise InputError(
            f"needed the file {path!r}, received no such file",
            remedy="Paths are relative to the specification.",
        ) from None
    except (OSError, RuntimeError, ValueError) as error:
        reason = getattr(error, "strerror", None) or type(error).__name__
        raise InputError(f"needed the file {path!r}, which cannot be read: {reason}") from None
