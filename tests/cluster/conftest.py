"""The demo fleet behind an API server."""

from __future__ import annotations

import gzip
import json
from datetime import UTC, datetime
from importlib import resources

import pytest

from dractl.sources import cluster, connection
from tests.cluster.server import ApiServer

MOMENT = datetime(2026, 12, 1, 6, 40, tzinfo=UTC)


@pytest.fixture(scope="session")
def demo_objects():
    return json.loads(gzip.decompress(resources.files("dractl.data").joinpath("demo.json.gz").read_bytes()))["items"]


@pytest.fixture
def server(demo_objects):
    with ApiServer(demo_objects) as running:
        yield running


@pytest.fixture(autouse=True)
def steady(monkeypatch):
    """The clock stands still, and retries do not wait; the list holds the pauses that were asked for."""
    pauses: list[float] = []
    monkeypatch.setattr(cluster, "clock", lambda: MOMENT)
    monkeypatch.setattr(connection, "pause", pauses.append)
    return pauses
