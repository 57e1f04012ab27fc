"""Timing helpers shared by the benchmarks."""

from __future__ import annotations

import json
import platform
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).with_name("results.json")


def best_of(repeats: int, action: Callable[[], Any]) -> tuple[float, float]:
    """(median, minimum) wall seconds of ``action``."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        action()
        times.append(time.perf_counter() - start)
    return statistics.median(times), min(times)


def cpu_of(repeats: int, action: Callable[[], Any]) -> tuple[float, float]:
    """(median, minimum) CPU seconds of ``action`` in this process."""
    times = []
    for _ in range(repeats):
        start = time.process_time()
        action()
        times.append(time.process_time() - start)
    return statistics.median(times), min(times)


def record(name: str, rows: list[dict[str, Any]]) -> None:
    """Print rows and keep them in ``results.json`` under the benchmark's name."""
    stored = json.loads(RESULTS.read_text("utf-8")) if RESULTS.exists() else {}
    stored["machine"] = {
        "python": platform.python_version(),
        "processor": platform.processor() or platform.machine(),
        "system": platform.system(),
    }
    stored[name] = rows
    RESULTS.write_text(json.dumps(stored, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    print(f"== {name}")
    for row in rows:
        print("  " + "  ".join(f"{key}={_text(value)}" for key, value in row.items()))


def _text(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
