"""Colours of the figures, each a fixed light-scheme value that a page may replace by its own.

Every colour is used for one meaning, and no meaning rests on colour alone: line styles, markers
and labels repeat it.
"""

from __future__ import annotations

PAPER = "#ffffff"
INK = "#1c2733"
MUTED = "#566272"
GRID = "#dde3ea"
BAND = "#bcd0ee"
UPPER = "#24559f"
LOWER = "#5c7fb8"
TOLERANCE = "#b4232f"
FLOOR = "#7a5b0b"
YES = "#0b6b3c"
NO = "#a3202d"
VALUE = "#6b3fa0"
PATH = "#0a6f80"
STEPS = "#a34a00"

VARIABLES = {
    PAPER: "--fig-paper",
    INK: "--fig-ink",
    MUTED: "--fig-muted",
    GRID: "--fig-grid",
    BAND: "--fig-band",
    UPPER: "--fig-upper",
    LOWER: "--fig-lower",
    TOLERANCE: "--fig-tolerance",
    FLOOR: "--fig-floor",
    YES: "--fig-yes",
    NO: "--fig-no",
    VALUE: "--fig-value",
    PATH: "--fig-path",
    STEPS: "--fig-steps",
}
"""The style-sheet variable of each colour."""
