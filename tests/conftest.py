"""Shared settings: this folder's helper modules are importable, property tests have no deadline.

The machines that run the tests are shared, so a single slow example says nothing.
"""

from __future__ import annotations

from hypothesis import HealthCheck, settings

settings.register_profile(
    "shared", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
settings.load_profile("shared")
