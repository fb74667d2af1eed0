"""Follow a running cluster: list, then watch, the kinds that a command needs.

The interface, for a command that shows something again and again::

    with Follower(connection, kinds, namespace).start() as follower:  # the end is .close()
        follower.wait_until_read(60)                              # every kind listed once, or refused
        while True:
            inventory = follower.snapshot()                       # what open_inventory would give now
            ...
            while not follower.wait_for_change(timeout=1.0):      # True: something differs from the last snapshot()
                show(follower.freshness())                        # per kind: watched, polled, broken...; last contact

One thread a kind keeps the newest object of each name and nothing else: memory grows with the cluster, not with time or
with what a slow reader leaves unread. A watch goes on from the last resourceVersion (bookmarks keep it young); one that
is too old (410), and any other error that the watch itself reports, lists anew. Broken connections are taken up again
with growing pauses while the last known objects stay. Kinds that may be listed and not watched are listed again every
``POLL`` seconds, and what is forbidden is tried again as often.

Source: Kubernetes API concepts, "Efficient detection of changes" (watch, BOOKMARK, 410 Gone).
"""

from __future__ import annotations

import json
import random
import threading
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from dractl.errors import DractlError
from dractl.inventory import Inventory, Provenance
from dractl.kube.objects import KubeObject, Origin
from dractl.sources import cluster, text
from dractl.sources.cluster import RESOURCES, Listed, Resource, greet, list_kind, nothing_readable, served_versions
from dractl.sources.connection import ApiError, Connection
from dractl.sources.snapshot import decoded

POLL = 30.0
"""Seconds between two lists of what may not be watched."""
RARELY = 300.0
"""Seconds after which a kind that is not served is looked for again."""
FIRST_PAUSE = 1.0
LONGEST_PAUSE = 30.0
SILENCE = 90.0
"""Seconds without a byte after which a watch is opened anew. Servers send a bookmark about every minute."""
_SHORTEST_WATCH = 1.0
"""A watch that ends sooner and brought nothing counts as a failure, so that no server is asked without pause."""
_LOST_AFTER = 3
"""So many failed watches in a row and the list is read anew: the server may have been restored from a backup."""

State = Literal["starting", "watched", "polled", "broken", "forbidden", "not served"]


@dataclass(frozen=True, slots=True)
class Freshness:
    """How one kind is followed. ``contact`` is the last time that the server answered for it, None: never yet.

    ``problem`` is empty, or says why the objects may be old (``broken``) or are not (all) seen.
    """

    kind: str
    state: State
    contact: datetime | None
    problem: str
    objects: int


class Follower:
    """The newest objects of some kinds of a running cluster.

    Args:
        connection: the cluster.
        kinds: names of kinds in ``cluster.RESOURCES``.
        namespace: where to look for what may not be listed in all namespaces; None: the context's namespace.
        events_of: the only namespace whose Events are wanted; None: those of all.
    """

    def __init__(
        self,
        connection: Connection,
        kinds: Collection[str],
        namespace: str | None = None,
        events_of: str | None = None,
    ) -> None:
        self._connection = connection
        self._version: str | None = None
        self._store = _Store()
        fallback = namespace or connection.namespace
        self._kinds = [
            _Kind(connection, item, self._store, fallback, events_of if item.kind == "Event" else None)
            for item in RESOURCES
            if item.kind in kinds
        ]
        self._seen = -1

    def __enter__(self) -> Follower:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def start(self) -> Follower:
        """Greet the server and begin to list.

        Raises:
            DractlError: the server cannot be reached, does not accept the credentials, or serves no DRA at all.
        """
        self._version, served = greet(self._connection)
        for kind in self._kinds:
            kind.served = served
            kind.start()
        return self

    def close(self) -> None:
        """End all watches. Threads that cannot be woken end with the process."""
        self._store.close()
        for kind in self._kinds:
            kind.hang_up()
        end = time.monotonic() + 1.0
        for kind in self._kinds:
            kind.join(max(0.0, end - time.monotonic()))

    def wait_until_read(self, timeout: float | None = None) -> bool:
        """Wait until every kind was listed or refused once; False if ``timeout`` (seconds) passed before."""
        with self._store.changed:
            return self._store.changed.wait_for(lambda: all(kind.asked for kind in self._kinds), timeout)

    def wait_for_change(self, timeout: float | None = None, settle: float = 0.2) -> bool:
        """Wait until an object differs from the last ``snapshot``; False if ``timeout`` (seconds) passed before.

        Changes often come in bursts: the first is followed by a wait until none came for ``settle`` seconds, or five
        times as long.
        """
        store = self._store
        with store.changed:
            if not store.changed.wait_for(lambda: store.changes != self._seen, timeout):
                return False
            end = time.monotonic() + 5 * settle
            known = -1
            while known != store.changes and (left := end - time.monotonic()) > 0:
                known = store.changes
                store.changed.wait(min(settle, left))
        return True

    def snapshot(self) -> Inventory:
        """What is known now, in the order in which a list would give it.

        Raises:
            DractlError: no kind may be read, or an object cannot be understood.
        """
        objects: list[KubeObject] = []
        unseen: dict[str, str] = {}
        notes: list[str] = []
        with self._store.changed:
            self._seen = self._store.changes
            for kind in self._kinds:
                for _, entry in sorted(kind.entries.items()):
                    if isinstance(entry.item, DractlError):
                        raise entry.item
                    if entry.item is not None:
                        objects.append(entry.item)
                    notes += entry.notes
                if kind.unseen:
                    unseen[kind.name] = kind.unseen
                elif kind.state == "broken":
                    notes.append(f"{kind.name}: {kind.problem}; this is what it was at {_time_of(kind.contact)}")
        if self._kinds and not objects and len(unseen) == len(self._kinds):
            raise nothing_readable(next(iter(unseen.values())))
        provenance = Provenance(self._connection.host, self._version, cluster.moment(), unseen, tuple(notes))
        return Inventory(objects, provenance)

    def freshness(self) -> dict[str, Freshness]:
        """How each kind is followed."""
        with self._store.changed:
            return {
                kind.name: Freshness(
                    kind.name, kind.state, kind.contact, kind.problem or kind.unseen, len(kind.entries)
                )
                for kind in self._kinds
            }


def _time_of(moment: datetime | None) -> str:
    return moment.strftime("%H:%M:%S") if moment else "no time"


@dataclass(slots=True)
class _Entry:
    """One object: decoded, or malformed (the error; None with notes where it does not matter)."""

    version: str
    item: KubeObject | DractlError | None
    notes: list[str] = field(default_factory=list)


class _Store:
    """What the threads share: one lock, and the number of changes so far."""

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.changes = 0
        self.stop = threading.Event()

    def notify(self) -> None:
        """Count a change; the lock is held."""
        self.changes += 1
        self.changed.notify_all()

    def close(self) -> None:
        """Let everything end that waits."""
        self.stop.set()
        with self.changed:
            self.changed.notify_all()


class _Lost(Exception):
    """The watch cannot go on from where it was; ``calm``: the server only wants the list read anew."""

    def __init__(self, problem: str, calm: bool = False) -> None:
        super().__init__(problem)
        self.calm = calm


class _NotWatchable(Exception):
    """The kind may be listed and not watched."""


class _Kind:
    """One kind: its objects, and the thread that follows it. The fields are read and written with the store's lock."""

    def __init__(
        self, connection: Connection, resource: Resource, store: _Store, fallback: str, only: str | None
    ) -> None:
        self.name = resource.kind
        self.served: dict[str, str] | None = None
        self.entries: dict[tuple[str, str], _Entry] = {}
        self.state: State = "starting"
        self.contact: datetime | None = None
        self.problem = ""
        self.unseen = "not read yet"
        self.asked = False
        self._connection = connection
        self._resource = resource
        self._store = store
        self._fallback = fallback
        self._only = only
        self._origin = Origin(f"{connection.host}, {resource.kind}")
        self._pause = 0.0
        self._end_reading: Callable[[], None] | None = None
        self._thread = threading.Thread(target=self._run, name=f"follow-{resource.plural}", daemon=True)

    def start(self) -> None:
        """Begin to follow."""
        self._thread.start()

    def join(self, timeout: float) -> None:
        """Wait for the thread's end."""
        if self._thread.is_alive():
            self._thread.join(timeout)

    def hang_up(self) -> None:
        """Wake the thread out of a watch."""
        end = self._end_reading
        if end is not None:
            end()

    # --- the thread ---

    def _run(self) -> None:
        while not self._store.stop.is_set():
            try:
                self._follow()
            except _Lost as error:
                if error.calm:
                    self._back_off()
                else:
                    self._failed(str(error))
            except Exception as error:  # a thread that dies in silence would leave old objects that look fresh
                self._failed(f"dractl failed: {type(error).__name__}: {error}")

    def _follow(self) -> None:
        """List, then watch or poll. Returns, or raises ``_Lost``, when the list has to be read anew."""
        listed = list_kind(
            self._connection, self._resource, self.served, self._fallback, only=self._only
        )
        if not listed.path:
            self._not_listed(listed)
            return
        self._replace(listed)
        try:
            self._watch(listed.path, listed.version)
        except _NotWatchable as error:
            with self._store.changed:
                self.state, self.problem = "polled", str(error)
            self._sleep(POLL)

    def _not_listed(self, listed: Listed) -> None:
        if listed.unseen and not listed.forbidden:
            self._failed(listed.unseen)
            return
        forbidden = bool(listed.unseen)
        with self._store.changed:
            if self.entries or not self.asked:
                self.entries = {}
                self._store.notify()
            self.state, self.problem = ("forbidden" if forbidden else "not served"), ""
            self.unseen, self.contact, self.asked = listed.unseen or "", cluster.clock(), True
        self._sleep(POLL if forbidden else RARELY)
        if self._resource.group == cluster.DRA:
            self._discover()

    def _discover(self) -> None:
        """Ask anew which versions are served: the server may have been upgraded."""
        try:
            self.served = served_versions(self._connection)
        except DractlError as error:
            raise _Lost(error.message) from None

    def _watch(self, path: str, version: str) -> None:
        failures = 0
        while not self._store.stop.is_set():
            begun = time.monotonic()
            try:
                version, heard = self._read_watch(path, version)
                problem = "" if heard or time.monotonic() - begun >= _SHORTEST_WATCH else "watches end at once"
            except ApiError as error:
                if error.status in (403, 405):
                    raise _NotWatchable(f"not allowed to watch {self._resource.plural}") from None
                if error.status == 404:
                    self._discover()
                    raise _Lost(str(error)) from None
                if error.status == 410:
                    raise _Lost(str(error), calm=True) from None
                problem = str(error)
            except DractlError as error:
                problem = error.message
            if not problem:
                failures = 0
                if self._pause or time.monotonic() - begun < _SHORTEST_WATCH:
                    self._back_off()
                continue
            failures += 1
            if failures == _LOST_AFTER:
                raise _Lost(problem)
            self._failed(problem)

    def _read_watch(self, path: str, version: str) -> tuple[str, bool]:
        """Read one watch to its end: the resourceVersion to go on from, and whether there was anything.

        Raises:
            _Lost: the server says that the list has to be read anew.
        """
        params: dict[str, str | int] = {
            "watch": "true",
            "resourceVersion": version,
            "allowWatchBookmarks": "true",
            # spread over time, so that not all watches are opened anew at once
            "timeoutSeconds": random.randint(240, 480),
        }
        heard = False
        begun = time.monotonic()
        try:
            for line in self._connection.lines(path, params, SILENCE, self._opened):
                if self._store.stop.is_set():
                    break
                if not line.strip():
                    continue
                try:
                    event = json.loads(line)
                    body, kind = event["object"], event["type"]
                    newest = str(body["metadata"]["resourceVersion"]) if kind != "ERROR" else version
                except (ValueError, KeyError, TypeError):
                    # the last line of a connection that broke off
                    break
                if kind == "ERROR":
                    message = str(body.get("message") or body.get("reason") or "the watch failed")
                    raise _Lost(message, calm=body.get("code") == 410)
                self._apply(kind, body)
                version, heard = newest, True
        except DractlError:
            # what was heard before the connection broke off is not asked for again
            if not heard:
                raise
        finally:
            if self._end_reading is not None and time.monotonic() - begun >= _SHORTEST_WATCH:
                self._pause = 0.0
            self._end_reading = None
        return version, heard

    def _opened(self, end_reading: Callable[[], None]) -> None:
        self._end_reading = end_reading
        with self._store.changed:
            self.state, self.problem, self.contact = "watched", "", cluster.clock()
        if self._store.stop.is_set():
            end_reading()

    def _failed(self, problem: str) -> None:
        """Keep what is known, say what is wrong, and wait longer each time."""
        with self._store.changed:
            self.problem = problem
            self.state = "broken"
            if not self.asked:
                self.unseen, self.asked = problem, True
                self._store.notify()
        self._back_off()

    def _back_off(self) -> None:
        """Wait, the longer the less time a watch has lasted since."""
        self._pause = min(max(FIRST_PAUSE, self._pause * 2), LONGEST_PAUSE)
        self._sleep(self._pause * (0.8 + 0.4 * random.random()))

    def _sleep(self, seconds: float) -> None:
        self._store.stop.wait(seconds)

    # --- objects ---

    def _replace(self, listed: Listed) -> None:
        """What the list holds, and nothing else. Objects that are as they were keep their decoded form."""
        entries: dict[tuple[str, str], _Entry] = {}
        differ = False
        with text.collector_paused():
            for body in listed.items:
                key, version = _key(body)
                known = self.entries.get(key)
                if known is None or known.version != version or not version:
                    known = self._entry(body, version)
                    differ = True
                entries[key] = known
        listed.items.clear()
        with self._store.changed:
            differ = differ or entries.keys() != self.entries.keys() or (listed.unseen or "") != self.unseen
            self.entries = entries
            if self.state != "polled":
                self.state, self.problem = "starting", ""
            self.contact = cluster.clock()
            self.unseen, self.asked = listed.unseen or "", True
            if differ:
                self._store.notify()
            else:
                self._store.changed.notify_all()

    def _apply(self, kind: str, body: dict[str, Any]) -> None:
        """Take over one event of a watch."""
        entry = None
        key, version = _key(body)
        if kind in ("ADDED", "MODIFIED"):
            group = self._resource.group
            served = self._resource.version or (self.served or {}).get(self._resource.plural, "v1")
            body.setdefault("apiVersion", f"{group}/{served}" if group else served)
            body.setdefault("kind", self._resource.kind)
            entry = self._entry(body, version)
        with self._store.changed:
            self.contact = cluster.clock()
            if entry is not None:
                self.entries[key] = entry
                self._store.notify()
            elif kind == "DELETED" and self.entries.pop(key, None) is not None:
                self._store.notify()

    def _entry(self, body: dict[str, Any], version: str) -> _Entry:
        notes: list[str] = []
        try:
            item: KubeObject | DractlError | None = decoded(body, self._origin, notes)
        except DractlError as error:
            item = error
        return _Entry(version, item, notes)


def _key(body: dict[str, Any]) -> tuple[tuple[str, str], str]:
    """Namespace and name, and the resourceVersion."""
    meta = body.get("metadata")
    meta = meta if isinstance(meta, dict) else {}
    return (str(meta.get("namespace") or ""), str(meta.get("name") or "")), str(meta.get("resourceVersion") or "")
