"""A service with a stand-in engine for each test, and one with the real engine for a module."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from service_client import Client, Stub


@pytest.fixture
def stub() -> Stub:
    return Stub()


@pytest.fixture
def client(tmp_path: Path, stub: Stub) -> Iterator[Client]:
    client = Client(tmp_path / "store", stub)
    yield client
    client.close()


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    client = Client(tmp_path_factory.mktemp("engine"))
    yield client
    client.close()
