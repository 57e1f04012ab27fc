"""What does a study cost when nothing is solved: declared premises only, and very large grids.

Peers: parsing the same bytes with the standard library's ``json`` for the small study; evaluating
one candidate at a time, exactly, for the grids (extrapolated from a sample, and said so).
"""

from __future__ import annotations

import json
from typing import Any

from benchmarks.measure import best_of, cpu_of, record
from qreplace.decision.search import Search
from qreplace.pipeline import Study, decide
from qreplace.question.subject import Subject
from qreplace.spec import load_spec_bytes

REPEATS = 40
SAMPLE = 200


def declared(depths: list[Any], budgets: list[int]) -> bytes:
    """A declared-premise study as JSON."""

    def premise(value: str) -> dict[str, str]:
        return {"value": value, "evidence": "interval_certified", "source": "benchmark"}

    return json.dumps(
        {
            "format": "qreplace/spec/v1",
            "objective": {"kind": "emulation", "tolerance": "1/20", "norm": "linf",
                          "domain": {"kind": "witnesses"}},
            "system": {"kind": "declared", "dimension": 64},
            "initial_state": "zero",
            "tube": "whole_space",
            "target": {"kind": "declared", "name": "block"},
            "dictionary": {"bits": 4, "learned": True, "schedule": "shared", "atom_count": 4},
            "structural_floor": {"lower": premise("0"), "upper": premise("0.01"),
                                 "covers": "dictionary"},
            "synthesis": {"kind": "bounded_variation", "field_bound": premise("1/2"),
                          "state_lipschitz": premise("1/2"), "time_variation": "none"},
            "metadata": {"kind": "covering", "sensitivity": premise("1"),
                         "constant": premise("1"), "dimension": 40},
            "execution": "exact",
            "routing": "none",
            "search": {"depths": depths, "metadata_bits": budgets},
        }
    ).encode()  # fmt: skip


def run(data: bytes) -> Study:
    """Bytes in, verdict and bundle out."""
    return decide(load_spec_bytes(data, name="benchmark.json", base=None, media="json"))


def main() -> None:
    """Measure and record."""
    small = declared([8, 16, 32, 64, 128, 256], [0, 80, 160, 240, 320])
    run(small)
    engine, engine_best = cpu_of(REPEATS, lambda: run(small))
    parse, _ = cpu_of(REPEATS, lambda: json.loads(small))
    rows: list[dict[str, Any]] = [
        {
            "study": "declared JSON, 6 depths x 5 budgets",
            "cpu_s": engine,
            "cpu_min_s": engine_best,
            "json_parse_cpu_s": parse,
            "verdict": run(small).verdict,
        }
    ]
    grids = {
        "1000 depths x 1000 budgets": ([{"from": 1, "to": 1000}], list(range(1000))),
        "1000000 depths x 1 budget": ([{"from": 1, "to": 1_000_000}], [320]),
    }
    for name, (depths, budgets) in grids.items():
        data = declared(depths, budgets)
        wall, _ = best_of(3, lambda d=data: run(d))
        each = _one_by_one(data)
        rows.append(
            {
                "study": name,
                "wall_s": wall,
                "verdict": run(data).verdict,
                "one_by_one_s_extrapolated": each,
                "ratio": each / wall,
            }
        )
    record("declared", rows)


def _one_by_one(data: bytes) -> float:
    """Exact evaluation of every candidate by itself, from a sample of ``SAMPLE``."""
    loaded = load_spec_bytes(data, name="benchmark.json", base=None, media="json")
    search = Search(Subject(loaded.question, {}), ())
    level = search.levels[-1]
    bits = search.bits[-1]
    wall, _ = best_of(
        1, lambda: [search.feasible_at(depth, bits, level) for depth in range(1, SAMPLE + 1)]
    )
    return wall / SAMPLE * 1_000_000


if __name__ == "__main__":
    main()
