"""Following a cluster: nothing is lost when watches end, break off, are too old or forbidden."""

from __future__ import annotations

import copy
import threading
import time

import pytest

from dractl.errors import DractlError
from dractl.sources import watch
from dractl.sources.cluster import read_cluster
from dractl.sources.connection import Access, connect
from dractl.sources.snapshot import inventory_of
from dractl.sources.watch import Follower
from tests.cluster.server import Fault

KINDS = ("ResourceSlice", "DeviceClass", "ResourceClaim", "Pod", "Node")


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(watch, "FIRST_PAUSE", 0.02)
    monkeypatch.setattr(watch, "LONGEST_PAUSE", 0.1)
    monkeypatch.setattr(watch, "POLL", 0.05)
    monkeypatch.setattr(watch, "_SHORTEST_WATCH", 0.2)


@pytest.fixture
def connection(server, tmp_path):
    return connect(Access(kubeconfig=str(server.kubeconfig(tmp_path / "kc")), request_timeout=5))


@pytest.fixture
def claim(server):
    return next(copy.deepcopy(item) for item in server.objects
                if item["kind"] == "ResourceClaim" and item["metadata"]["name"] == "pair-on-h100-1")  # fmt: skip


def follow(connection, *kinds, **more):
    follower = Follower(connection, kinds or KINDS, **more).start()
    assert follower.wait_until_read(30)
    return follower


def until(follower, true, seconds=20.0):
    """Wait until a snapshot has a property."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if true(follower.snapshot()):
            return
        follower.wait_for_change(0.05, settle=0)
    raise AssertionError(f"not within {seconds}s: {follower.freshness()}")


def state(follower, kind, wanted, seconds=20.0):
    end = time.monotonic() + seconds
    while (now := follower.freshness()[kind]).state != wanted:
        assert time.monotonic() < end, now
        time.sleep(0.01)
    return now


def eventually(true, seconds=10.0):
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end
        time.sleep(0.01)


def texts(inventory):
    return [(type(item).__name__, item.meta.namespace, item.meta.name) for item in inventory.objects]


def labelled(claim, value):
    claim["metadata"].setdefault("labels", {})["at"] = value
    return claim


def label(inventory, claim):
    found = inventory.claims.get((claim["metadata"]["namespace"], claim["metadata"]["name"]))
    return found and found.meta.labels.get("at")


def test_the_first_snapshot_is_what_a_reading_gives(connection):
    with follow(connection) as follower:
        live, read = follower.snapshot(), inventory_of(read_cluster(connection, KINDS))
    assert sorted(texts(live)) == sorted(texts(read)) and len(texts(live)) > 100
    assert (live.provenance.server_version, live.provenance.taken, dict(live.provenance.unseen)) == (
        read.provenance.server_version, read.provenance.taken, {})  # fmt: skip


def test_changes_arrive_in_order_and_wake_the_reader(connection, server, claim):
    with follow(connection) as follower:
        follower.snapshot()
        state(follower, "ResourceClaim", "watched")
        assert not follower.wait_for_change(0.05)
        for number in range(20):
            server.put(labelled(claim, str(number)))
        assert follower.wait_for_change(20)
        until(follower, lambda now: label(now, claim) == "19")
        server.take_away(claim)
        assert follower.wait_for_change(20)
        until(follower, lambda now: label(now, claim) is None and now.claims)
        server.put(labelled(claim, "again"))
        until(follower, lambda now: label(now, claim) == "again")
        lists = [path for _, path, params, _ in server.requests if path.endswith("claims") and "watch" not in params]
        assert len(lists) == 1


def test_a_connection_that_is_cut_goes_on_where_it_was(connection, server, claim):
    with follow(connection) as follower:
        state(follower, "ResourceClaim", "watched")
        for number in range(5):
            server.cut_watches()
            server.put(labelled(claim, str(number)))
            until(follower, lambda now, number=number: label(now, claim) == str(number))
        lists = [path for _, path, params, _ in server.requests if path.endswith("claims") and "watch" not in params]
        assert len(lists) == 1


def test_an_event_that_is_cut_in_the_middle_is_asked_for_again(connection, server, claim):
    broken = []

    def faults(path, params):
        if path.endswith("/resourceclaims") and params.get("watch") and len(broken) < 2:
            broken.append(params["resourceVersion"])
            return Fault(cut=40)
        return None

    server.faults = faults
    with follow(connection) as follower:
        server.put(labelled(claim, "whole"))
        until(follower, lambda now: label(now, claim) == "whole")
    assert broken == ["100", "100"]


@pytest.mark.parametrize("at_once", [False, True], ids=["as an event", "as a status"])
def test_what_is_too_old_is_listed_anew(connection, server, claim, at_once):
    server.bookmark_every = 600
    with follow(connection) as follower:
        state(follower, "ResourceClaim", "watched")
        gone = next(item for item in server.objects if item["kind"] == "Pod")
        failing = threading.Event()
        if at_once:
            server.faults = lambda path, params: (
                Fault(410, "too old") if params.get("watch") and not failing.is_set() else None
            )
        else:
            server.faults = lambda path, params: Fault(503, "away") if params.get("watch") else None
        server.cut_watches()
        server.put(labelled(claim, "missed"))
        server.take_away(gone)
        server.forget()
        if not at_once:
            state(follower, "ResourceClaim", "broken")
            server.faults = lambda path, params: None
        until(follower, lambda now: label(now, claim) == "missed")
        key = (gone["metadata"]["namespace"], gone["metadata"]["name"])
        until(follower, lambda now: key not in now.pods and now.pods)
        failing.set()
        state(follower, "ResourceClaim", "watched")


def test_bookmarks_keep_the_place(connection, server, claim):
    server.bookmark_every = 0.05
    with follow(connection, "ResourceClaim", "Node") as follower:
        state(follower, "Node", "watched")
        for number in range(3):
            server.put(labelled(claim, str(number)))
        until(follower, lambda now: label(now, claim) == "2")
        eventually(lambda: server.bookmarked.get("/api/v1/nodes") == 103)
        before = len(server.requests)
        server.forget()
        server.cut_watches()

        def again():
            return [params for _, path, params, _ in server.requests[before:] if path.endswith("/nodes")]

        eventually(again)
        assert again()[0].get("resourceVersion") == "103"


def test_what_may_not_be_watched_is_listed_again(connection, server, claim):
    server.faults = lambda path, params: Fault(403, "no watch") if params.get("watch") else None
    with follow(connection) as follower:
        assert state(follower, "ResourceClaim", "polled").problem == "not allowed to watch resourceclaims"
        server.put(labelled(claim, "polled"))
        until(follower, lambda now: label(now, claim) == "polled")
        assert not follower.snapshot().provenance.unseen


def test_what_is_forbidden_is_said_and_taken_up_once_it_is_allowed(connection, server):
    server.faults = lambda path, params: Fault(403, "forbidden") if path.endswith("/nodes") else None
    with follow(connection) as follower:
        now = follower.snapshot()
        assert dict(now.provenance.unseen) == {"Node": "not allowed to list nodes"} and not now.nodes
        assert follower.freshness()["Node"].state == "forbidden"
        server.faults = lambda path, params: None
        until(follower, lambda now: now.nodes and not now.provenance.unseen)


def test_the_namespace_serves_who_may_not_see_all(connection, server, claim):
    server.faults = lambda path, params: (
        Fault(403, "forbidden") if path.endswith("/v1/resourceclaims") else None
    )
    with follow(connection, "ResourceClaim", "ResourceSlice", namespace="ml") as follower:
        assert {key.namespace for key in follower.snapshot().claims} == {"ml"}
        assert "only those of namespace ml" in follower.snapshot().provenance.unseen["ResourceClaim"]
        state(follower, "ResourceClaim", "watched")
        server.put(labelled(claim, "mine"))
        until(follower, lambda now: label(now, claim) == "mine")


def test_a_server_that_is_away_leaves_the_last_known_state_and_says_so(connection, server, claim):
    with follow(connection) as follower:
        before = texts(follower.snapshot())
        server.faults = lambda path, params: Fault(503, "apiserver is shutting down")
        server.cut_watches()
        state(follower, "Pod", "broken")
        while "503" not in (broken := follower.freshness()["Pod"]).problem:
            time.sleep(0.01)
        assert broken.contact is not None
        now = follower.snapshot()
        assert texts(now) == before
        assert any(note.startswith("Pod: ") and "503" in note for note in now.provenance.notes)
        server.put(labelled(claim, "meanwhile"))
        server.faults = lambda path, params: None
        until(follower, lambda now: label(now, claim) == "meanwhile")
        assert not follower.snapshot().provenance.notes or state(follower, "Pod", "watched")


def test_a_slow_list_does_not_hold_up_the_others(connection, server, claim):
    server.faults = lambda path, params: Fault(delay=1.5) if path.endswith("/pods") else None
    follower = Follower(connection, KINDS).start()
    with follower:
        for kind in set(KINDS) - {"Pod"}:
            state(follower, kind, "watched")
        assert follower.snapshot().provenance.unseen == {"Pod": "not read yet"}
        assert not follower.wait_until_read(0.01)
        assert follower.wait_until_read(20)
        until(follower, lambda now: now.pods and not now.provenance.unseen)


def test_only_the_newest_of_each_object_is_kept(connection, server, claim):
    with follow(connection, "ResourceClaim") as follower:
        state(follower, "ResourceClaim", "watched")
        count = follower.freshness()["ResourceClaim"].objects
        for number in range(300):
            server.put(labelled(claim, str(number)))
        until(follower, lambda now: label(now, claim) == "299")
        assert follower.freshness()["ResourceClaim"].objects == count


def test_malformed_objects_are_named_and_their_repair_is_seen(connection, server, claim):
    with follow(connection) as follower:
        state(follower, "ResourceClaim", "watched")
        follower.snapshot()
        wrong = copy.deepcopy(claim)
        wrong["spec"]["devices"]["requests"] = 7
        server.put(wrong)
        assert follower.wait_for_change(20)
        with pytest.raises(DractlError, match="requests"):
            follower.snapshot()
        server.put(labelled(claim, "mended"))
        assert follower.wait_for_change(20)
        until(follower, lambda now: label(now, claim) == "mended")


def test_a_server_that_ends_every_watch_is_not_asked_without_pause(connection, server, monkeypatch):
    monkeypatch.setattr(watch, "FIRST_PAUSE", 0.1)
    monkeypatch.setattr(watch, "LONGEST_PAUSE", 1.0)
    server.faults = lambda path, params: Fault(410, "always") if params.get("watch") else None
    with follow(connection, "Node"):
        time.sleep(0.8)
        assert len([path for _, path, *_ in server.requests if path.endswith("/nodes")]) < 12


def test_the_end_is_quick_and_leaves_no_thread(connection, server):
    follower = follow(connection)
    for kind in KINDS:
        state(follower, kind, "watched")
    begun = time.monotonic()
    follower.close()
    assert time.monotonic() - begun < 5
    eventually(lambda: not [one for one in threading.enumerate() if one.name.startswith("follow-")])


def test_nothing_may_be_read(connection, server):
    hidden = ("/nodes", "/resourceslices")
    server.faults = lambda path, params: Fault(403, "forbidden") if path.endswith(hidden) else None
    with follow(connection, "ResourceSlice", "Node") as follower, pytest.raises(DractlError, match="nothing may be"):
        follower.snapshot()
