"""Decimal companions: beside every exact number an approximate one, for reading and plotting."""

from __future__ import annotations

import math
import re
from fractions import Fraction
from typing import Any

from qreplace.exact.rational import approximate

_EXACT = re.compile(r"-?[0-9]+(/[0-9]+)?")

EXACT_KEYS = frozenset(
    {"lower", "upper", "lo", "hi", "cost", "value", "weight", "error", "tolerance", "missed_by"}
)
"""Keys whose strings are exact numbers."""


def with_companions(document: Any) -> Any:
    """A copy in which ``"key": "p/q"`` is followed by ``"key~": decimal``.

    The companion of a number beyond the range of a double is ``null``: JSON has no infinity.
    """
    if isinstance(document, list):
        return [with_companions(item) for item in document]
    if not isinstance(document, dict):
        return document
    result: dict[str, Any] = {}
    for key, value in document.items():
        result[key] = with_companions(value)
        if key in EXACT_KEYS and isinstance(value, str) and _EXACT.fullmatch(value):
            result[f"{key}~"] = _companion(value)
        if key == "weights" and isinstance(value, list):
            result["weights~"] = [_companion(item) for item in value]
    return result


def _companion(text: str) -> float | None:
    near = approximate(Fraction(text))
    return near if math.isfinite(near) else None
