"""The JSON Schema of ``qreplace/verdict/v1``: the decision document as a bundle stores it."""

from __future__ import annotations

from typing import Any

DIGEST_PATTERN = r"^[0-9a-f]{64}$"

RATIONAL = {"type": "string", "pattern": r"^(0|-?[1-9][0-9]*(/[1-9][0-9]*)?)$"}
"""A recomputed number may be longer than those that are read."""
DIGEST = {"type": "string", "pattern": DIGEST_PATTERN}
COUNT = {"type": "integer", "minimum": 0}
DEPTH = {"type": "integer", "minimum": 1}
TEXT = {"type": "string"}

VERDICTS = [
    "certified_feasible",
    "certified_impossible",
    "certified_asymptotically_impossible",
    "conditionally_feasible",
    "conditionally_impossible",
    "unresolved",
]
EVIDENCE = [
    "analytic_certified",
    "interval_certified",
    "finite_witness_certified",
    "calibrated_estimate",
    "diagnostic",
    "unavailable",
]


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    """Every property and no other."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _list(items: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items}


def _or_null(schema: dict[str, Any]) -> dict[str, Any]:
    return {"oneOf": [schema, {"type": "null"}]}


INTERVAL = _object({"lower": RATIONAL, "upper": _or_null(RATIONAL)})

RADIUS = _object(
    {
        "value": _or_null(RATIONAL),
        "formula": TEXT,
        "evidence": {"enum": EVIDENCE},
        "used": {"type": "boolean"},
    }
)

BEST = _object(
    {
        "depth": DEPTH,
        "metadata_bits": COUNT,
        "cost": RATIONAL,
        "interval": INTERVAL,
        "radii": {"type": "object", "additionalProperties": RADIUS},
    }
)

ROW = _object(
    {
        "depth": DEPTH,
        "metadata_bits": COUNT,
        "verdict": {"enum": VERDICTS},
        "cost": RATIONAL,
        "interval": INTERVAL,
    }
)

FRONTIER = _object({"depth": DEPTH, "metadata_bits": COUNT, "cost": RATIONAL, "upper": RATIONAL})

PLAN = _object(
    {
        "depth": DEPTH,
        "metadata_bits": COUNT,
        "weights": _or_null(_list(RATIONAL)),
        "counts": _list(COUNT),
        "schedule": _or_null(_list(COUNT)),
        "order": TEXT,
        "error": RATIONAL,
        "atoms": _list(_object({"index": COUNT, "sha256": DIGEST, "uses": DEPTH})),
    }
)

OBSTRUCTION = _object(
    {
        "claim": TEXT,
        "lower": RATIONAL,
        "tolerance": RATIONAL,
        "missed_by": RATIONAL,
        "coordinates": COUNT,
        "witnesses": _list(COUNT),
        "heaviest": _list(
            _object({"coordinate": COUNT, "witness": COUNT, "output": COUNT, "weight": RATIONAL})
        ),
    }
)

CLAIM = _object(
    {
        "kind": TEXT,
        "sha256": DIGEST,
        "lower": _or_null(RATIONAL),
        "upper": _or_null(RATIONAL),
        "evidence": {"enum": EVIDENCE},
    }
)

VERDICT = _object(
    {
        "format": {"const": "qreplace/verdict/v1"},
        "study": DIGEST,
        "verdict": {"enum": VERDICTS},
        "domain": {"enum": ["witnesses", "full"]},
        "evidence": {"enum": EVIDENCE},
        "asked": _list(TEXT),
        "declared": _list(TEXT),
        "tolerance": _object({"lo": RATIONAL, "hi": RATIONAL}),
        "bracket": _or_null(INTERVAL),
        "best": _or_null(BEST),
        "minimal": {"type": "boolean"},
        "impossible_from": _or_null(DEPTH),
        "depths": _list(ROW),
        "frontier": _list(FRONTIER),
        "plan": _or_null(PLAN),
        "obstruction": _or_null(OBSTRUCTION),
        "claims": _list(CLAIM),
        "weakest": TEXT,
        "reasons": _list(TEXT),
        "not_shown": _list(TEXT),
    }
)
