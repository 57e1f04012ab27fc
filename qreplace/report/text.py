"""Texts that users wrote, made safe to show: one line, nothing invisible, no change of direction.

A title may hold control characters, terminal escapes or bidirectional overrides, which could make
one verdict look like another. Markup is escaped by each format itself.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
_INVISIBLE = frozenset(
    "\u061c\u200b\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2060\u2066\u2067\u2068\u2069\ufeff"
)
"""Bidirectional controls and characters of no width."""


def one_line(text: str, limit: int | None = None) -> str:
    """The text on one line with invisible characters shown as U+FFFD, cut at ``limit``."""
    line = " ".join(text.split())
    line = "".join(REPLACEMENT if _hidden(character) else character for character in line)
    if limit is not None and len(line) > limit:
        return line[: limit - 1].rstrip() + "…"
    return line


def _hidden(character: str) -> bool:
    """Control characters and surrogates, bidirectional controls, zero-width and tag characters.

    The joiners U+200C and U+200D are left alone: scripts and emoji need them.
    """
    if unicodedata.category(character) in ("Cc", "Cs"):
        return True
    return character in _INVISIBLE or 0xE0000 <= ord(character) <= 0xE007F


def capitalised(text: str) -> str:
    """The text with its first letter in upper case, the rest untouched."""
    return text[:1].upper() + text[1:]


def sentence(text: str) -> str:
    """The text as a sentence: a capital at the start, a full stop at the end."""
    done = capitalised(text.strip())
    return done if done.endswith((".", "!", "?", "…")) else done + "."


def listed(items: list[str], *, joint: str = "and") -> str:
    """``a``, ``a and b``, ``a, b and c``."""
    if len(items) < 2:
        return "".join(items)
    return f"{', '.join(items[:-1])} {joint} {items[-1]}"


def counted(count: int, noun: str, plural: str = "") -> str:
    """``1 step``, ``16 steps``, with thousands separated."""
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"


def in_row(items: Sequence[str], most: int = 4) -> str:
    """``a, b, c``; with more than ``most`` items the first ones, ``…`` and the last."""
    if len(items) <= most:
        return ", ".join(items)
    return f"{', '.join(items[: most - 1])}, …, {items[-1]}"
