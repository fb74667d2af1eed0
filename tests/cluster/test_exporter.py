"""The exporter before a real HTTP server of recorded objects: changes, outages, restarts, watches that are too old."""

from __future__ import annotations

import copy
import threading
import time
import urllib.error
import urllib.request
from datetime import UTC, datetime

import pytest

from dractl.cli.exporter import Exporter
from dractl.cli.following import Followed
from dractl.cli.metrics import _ages, _compute
from dractl.cli.source import Source
from dractl.metrics import catalogue
from dractl.metrics.families import Family
from dractl.sources import cluster, watch
from tests.cluster.server import ApiServer, Fault

BEGUN = datetime(2026, 12, 1, 6, 40, tzinfo=UTC).timestamp()


class Clock:
    """A time that the test moves."""

    def __init__(self) -> None:
        self.now = BEGUN

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch):
    found = Clock()
    monkeypatch.setattr(cluster, "clock", lambda: datetime.fromtimestamp(found.now, UTC))
    for name, value in {"FIRST_PAUSE": 0.02, "LONGEST_PAUSE": 0.1, "POLL": 0.05, "_SHORTEST_WATCH": 0.2}.items():
        monkeypatch.setattr(watch, name, value)
    return found


def few(inventory) -> list[Family]:
    """Numbers that cost nothing: how many objects there are."""
    return [
        Family(catalogue.DEVICES, {("all", "", "", "free"): float(len(inventory.devices))}),
        Family(catalogue.CLAIMS, {("all", "", "pending"): float(len(inventory.claims))}),
    ]


class Scraped:
    """An exporter of a running cluster, and what a scrape of it says."""

    def __init__(self, kubeconfig: str, clock: Clock, compute=few) -> None:
        self.followed = Followed(Source(kubeconfig=kubeconfig, everything=True), clock)
        self.exporter = Exporter(self.followed, compute, _ages(live=True), 30, clock=clock)
        self.clock = clock

    def refresh(self, after: float = 30.0, wait: float = 0.0) -> bool:
        self.clock.now += after
        return self.exporter.refresh(self.followed.wait(wait))

    def until(self, true, seconds: float = 10.0) -> None:
        """Refresh until a scrape has a property."""
        end = time.monotonic() + seconds
        while not true():
            assert time.monotonic() < end, (self.exporter.problem, self.followed.health())
            self.refresh(0.0, 0.05)

    def value(self, name: str, *labels: str) -> float | None:
        found = {family.definition.name: family.samples for family in self.exporter.families()}
        return found.get(name, {}).get(labels)

    def watched(self) -> bool:
        """Whether all kinds are followed by watches."""
        return {one.state for one in self.followed._follower.freshness().values()} <= {"watched", "not served"}

    @property
    def as_of(self) -> float:
        return self.value("dractl_read_timestamp_seconds") - BEGUN


@pytest.fixture
def scraped(clock, tmp_path):
    made: list[Scraped] = []

    def new(running: ApiServer, **more) -> Scraped:
        made.append(Scraped(str(running.kubeconfig(tmp_path / "kc")), clock, **more))
        return made[-1]

    yield new
    for one in made:
        one.followed.close()


def named(running: ApiServer, kind: str, name: str):
    return next(
        copy.deepcopy(item) for item in running.objects if item["kind"] == kind and item["metadata"]["name"] == name
    )


def test_a_scrape_before_and_after_changes_of_the_fleet(server, scraped):
    found = scraped(server, compute=_compute(None))
    assert found.exporter.refresh()
    found.until(found.watched)

    def numbers():
        gpu = ("gpu.nvidia.com", "h100-5", "h100-5")
        return (
            found.value("dractl_devices", *gpu, "free"),
            found.value("dractl_devices", *gpu, "tainted"),
            found.value("dractl_claims", "ml", "gpu.nvidia.com", "pending"),
        )

    assert numbers() == (8, None, 1)
    for piece in (item for item in list(server.objects) if item["kind"] == "ResourceSlice"):
        if piece["spec"].get("nodeName") == "h100-5" and piece["spec"]["driver"] == "gpu.nvidia.com":
            changed = copy.deepcopy(piece)
            for device in changed["spec"]["devices"][:3]:
                device["taints"] = [{"key": "a", "effect": "NoSchedule"}]
            server.put(changed)
    claim = named(server, "ResourceClaim", "pair-on-h100-1")
    server.take_away(claim)
    found.until(lambda: numbers() == (5, 3, None), 30)
    assert found.value("dractl_read_errors_total") == 0
    server.put(claim)
    found.until(lambda: numbers() == (5, 3, 1), 30)
    lists = [path for _, path, params, _ in server.requests if path.endswith("slices") and "watch" not in params]
    assert len(lists) == 1  # read once, then followed


def test_ages_grow_without_any_change(server, scraped, clock):
    found = scraped(server)
    found.exporter.refresh()
    ages = []
    for _ in range(3):
        clock.now += 30
        found.exporter.refresh(changed=False)
        ages.append(found.value("dractl_claims_pending_age_seconds_max", "ml"))
    assert [ages[1] - ages[0], ages[2] - ages[1]] == [30, 30]


def test_an_outage_is_told_and_the_last_numbers_stay(server, scraped):
    found = scraped(server)
    assert found.refresh(0)
    found.until(found.watched)
    devices = found.value("dractl_devices", "all", "", "", "free")
    assert devices == 230
    assert found.refresh(30) and found.as_of == 30  # nothing changes, and that is known
    server.faults = lambda path, params: Fault(503, "etcd is away")
    server.cut_watches()
    found.until(lambda: not found.exporter.refresh(False))
    assert "etcd is away" in found.exporter.problem or "503" in found.exporter.problem
    stale = found.as_of
    assert stale <= 30
    for _ in range(3):
        assert not found.refresh(30)
    assert found.as_of == stale
    assert found.value("dractl_devices", "all", "", "", "free") == devices
    assert found.value("dractl_read_errors_total") >= 3
    assert not found.exporter.healthy
    server.faults = lambda path, params: None
    found.until(lambda: found.exporter.refresh(False))
    assert found.refresh(10) and found.as_of == found.clock.now - BEGUN
    assert found.exporter.healthy


def test_a_watch_that_is_too_old_lists_anew(server, scraped):
    found = scraped(server)
    assert found.refresh(0)
    gone = named(server, "ResourceClaim", "pair-on-h100-1")
    claims = found.value("dractl_claims", "all", "", "pending")
    server.forget()
    server.cut_watches()
    server.take_away(gone)
    found.until(lambda: found.value("dractl_claims", "all", "", "pending") == claims - 1)
    found.until(lambda: found.exporter.refresh(False))


def test_a_cluster_that_is_not_there_at_first_is_waited_for(demo_objects, scraped, tmp_path):
    running = ApiServer(demo_objects)
    running.faults = lambda path, params: Fault(503, "starting")
    with running:
        found = scraped(running)
        assert not found.exporter.refresh()
        assert not found.exporter.healthy and found.as_of == -BEGUN
        assert found.value("dractl_read_errors_total") == 1
        assert "dractl_devices" not in {one.definition.name for one in found.exporter.families()}
        running.faults = lambda path, params: None
        found.until(lambda: found.value("dractl_devices", "all", "", "", "free") == 230)
        found.until(lambda: found.exporter.refresh(False))
        assert found.as_of == 0


def test_a_server_that_is_restarted(demo_objects, scraped, clock):
    first = ApiServer(demo_objects)
    with first:
        found = scraped(first)
        assert found.refresh(0)
        port = first._server.server_address[1]
        first.faults = lambda path, params: Fault(cut=0)  # connections that are kept open die with the server
        first.cut_watches()
    found.until(lambda: not found.exporter.refresh(False))
    assert found.value("dractl_devices", "all", "", "", "free") == 230
    second = ApiServer(demo_objects, port=port)
    with second:
        found.until(lambda: found.exporter.refresh(False), 20)
        second.take_away(named(second, "ResourceClaim", "pair-on-h100-1"))
        found.until(lambda: found.value("dractl_claims", "all", "", "pending") == 35)


def test_served_over_http_and_stale_by_healthz(server, scraped, clock):
    from dractl.cli import exporter as module

    found = scraped(server)
    http = module.server(found.exporter, "127.0.0.1", 0)
    threading.Thread(target=http.serve_forever, daemon=True).start()
    base = f"http://127.0.0.1:{http.server_address[1]}"
    try:
        with pytest.raises(urllib.error.HTTPError) as early:
            urllib.request.urlopen(f"{base}/healthz")
        assert early.value.code == 503 and b"nothing was read yet" in early.value.read()
        found.refresh(0)
        with urllib.request.urlopen(f"{base}/metrics") as answer:
            assert b"dractl_devices{" in answer.read()
        with urllib.request.urlopen(f"{base}/healthz") as answer:
            assert answer.status == 200
        clock.now += 91
        with pytest.raises(urllib.error.HTTPError) as late:
            urllib.request.urlopen(f"{base}/healthz")
        assert late.value.code == 503
    finally:
        http.shutdown()
        http.server_close()
