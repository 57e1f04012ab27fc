"""The machine-readable reports: the decision document as JSON, its depth rows as CSV."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

from qreplace.report.decimals import at_least, at_most

KEY_ORDER = (
    "study", "bundle_sha256", "engine", "verdict", "domain", "evidence", "asked", "declared",
    "tolerance", "bracket", "best", "minimal", "impossible_from", "depths", "frontier", "plan",
    "obstruction", "claims", "attempts", "weakest", "reasons", "not_shown",
)  # fmt: skip
"""The order of ``design.md``; keys that are not listed follow in their own order."""

COLUMNS = (
    "depth", "metadata_bits", "verdict",
    "cost", "cost_decimal", "lower", "lower_decimal", "upper", "upper_decimal",
)  # fmt: skip
"""Columns of ``report.csv``; exact numbers are ``p/q``, decimals are rounded outward."""


def ordered(document: dict[str, Any]) -> dict[str, Any]:
    """The decision document with its keys in the documented order."""
    known = {key: document[key] for key in KEY_ORDER if key in document}
    return {**known, **document}


def json_bytes(document: dict[str, Any]) -> bytes:
    """``report.json``: the decision document itself, for people to look into."""
    text = json.dumps(ordered(document), ensure_ascii=False, allow_nan=False, indent=2)
    return (text + "\n").encode()


def csv_bytes(document: dict[str, Any]) -> bytes:
    """``report.csv``: one row a reported depth; a missing upper end is an empty field."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(COLUMNS)
    for row in document["depths"]:
        lower, upper = row["interval"]["lower"], row["interval"]["upper"]
        ends = [lower, at_least(lower).text]
        ends += ["", ""] if upper is None else [upper, at_most(upper).text]
        cost = [row["cost"], at_most(row["cost"]).text]
        writer.writerow([row["depth"], row["metadata_bits"], row["verdict"], *cost, *ends])
    return stream.getvalue().encode()
