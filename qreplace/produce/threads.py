"""One thread for linear algebra: small products gain nothing, and sums keep their order."""

from __future__ import annotations

from contextlib import AbstractContextManager

from threadpoolctl import threadpool_limits


def single_threaded() -> AbstractContextManager[object]:
    """A context in which BLAS uses one thread, whatever the machine's setting (design rule 7)."""
    limits: AbstractContextManager[object] = threadpool_limits(limits=1, user_api="blas")
    return limits
