"""Shared settings: helper modules here are importable, property tests are seeded and unhurried.

The machines that run the tests are shared, so a single slow example says nothing about the code,
and examples are the same in every run. ``make soak`` draws ``SOAK_FACTOR`` times as many, anew.
"""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, settings

SOAK_FACTOR = 10

settings.register_profile(
    "shared",
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
    print_blob=True,
)
settings.load_profile("shared")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """In a soak run every property test gets new random examples, and many more of them."""
    if os.environ.get("QREPLACE_SOAK") != "1":
        return
    for item in items:
        test = getattr(item, "obj", None)
        test = getattr(test, "__func__", test)
        # Where hypothesis keeps what @settings and the profile decided for a test.
        own = getattr(test, "_hypothesis_internal_use_settings", None)
        if own is not None:
            test._hypothesis_internal_use_settings = settings(
                own, derandomize=False, max_examples=own.max_examples * SOAK_FACTOR
            )
