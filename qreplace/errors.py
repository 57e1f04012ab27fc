"""One error tree: what was needed, what was received, how to mend it.

Every failure a user can cause is one of these; a raw ``ValueError`` or ``KeyError`` never
reaches a user. The exit codes are those of ``design.md``: 3 for an invalid specification or
input, 4 for a claim or evidence that was rejected, 5 for a fault of ours.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong with a document, with its place."""

    message: str
    pointer: str = ""
    """JSON Pointer (RFC 6901) to the offending field; empty for the whole document."""
    file: str = ""
    line: int | None = None
    column: int | None = None
    code: str = "invalid"

    def __str__(self) -> str:
        place = self.file or "document"
        if self.line is not None:
            place += f":{self.line}"
            if self.column is not None:
                place += f":{self.column}"
        where = f" at {self.pointer}" if self.pointer else ""
        return f"{place}{where}: {self.message}"


class QReplaceError(Exception):
    """Base of every error of this package."""

    code = "error"
    exit_code = 5
    title = "qreplace failed"

    def __init__(self, message: str, *, pointer: str = "", remedy: str = "") -> None:
        self.message = message
        self.pointer = pointer
        self.remedy = remedy
        super().__init__(message)

    def __str__(self) -> str:
        where = f" (at {self.pointer})" if self.pointer else ""
        if not self.remedy:
            return f"{self.message}{where}"
        return f"{self.message.rstrip('.')}{where}. {self.remedy}"


class SpecError(QReplaceError):
    """A specification that cannot be accepted; carries every problem found, not only the first."""

    code = "invalid-specification"
    exit_code = 3
    title = "The specification is invalid"

    def __init__(self, problems: list[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(str(p) for p in problems) or "invalid specification")


class InputError(QReplaceError):
    """An input file that is missing, changed, unreadable or outside the limits."""

    code = "invalid-input"
    exit_code = 3
    title = "The input is invalid"


class Malformed(QReplaceError):
    """A claim, question or bundle that is not a document of its declared format."""

    code = "malformed"
    exit_code = 3
    title = "The document is malformed"


class Rejected(QReplaceError):
    """A well-formed claim, certificate or bundle that does not prove what it says."""

    code = "rejected"
    exit_code = 4
    title = "The evidence was rejected"


class Contradiction(Rejected):
    """Checked claims that contradict each other: a lower end above an upper end."""

    code = "contradiction"
    title = "Checked claims contradict each other"


class ProducerFailed(QReplaceError):
    """A producer found no certificate; nothing is known about the floor from it."""

    code = "producer-failed"
    title = "No certificate was produced"


class NotFound(QReplaceError):
    """Something named by an identifier is not here."""

    code = "not-found"
    exit_code = 3
    title = "Not found"
