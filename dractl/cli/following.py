"""A cluster read again and again, for what runs long: a running one is followed by watches, a recording read anew."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from dractl.cli.source import Source
from dractl.errors import DractlError

if TYPE_CHECKING:
    from dractl.inventory import Inventory
    from dractl.sources.watch import Follower, Freshness

FIRST_READING = 300.0
"""Seconds that the first lists may take before a reading goes on without them."""


@dataclass(frozen=True, slots=True)
class Health:
    """How far what is known can be trusted.

    ``as_of`` is the Unix time as of which all of it is right, ``kinds`` the same for each kind that is seen at all.
    ``problem`` says what keeps the cluster from being seen now; empty: nothing.
    """

    as_of: float
    kinds: dict[str, float] = field(default_factory=dict)
    problem: str = ""


class Recorded:
    """A snapshot that may be replaced: every look at it reads it."""

    def __init__(self, source: Source, clock: Callable[[], float] = time.time) -> None:
        self._source = source
        self._clock = clock
        self._read = 0.0

    def wait(self, seconds: float) -> bool:
        """A file does not tell of its changes: always True, after ``seconds`` (at once before the first look)."""
        if self._read:
            time.sleep(seconds)
        return True

    def look(self) -> Inventory:
        """Read it.

        Raises:
            DractlError: it cannot be read.
        """
        begun = self._clock()
        inventory = self._source.open()
        self._read = begun
        return inventory

    def health(self) -> Health:
        """As of the last look."""
        return Health(self._read)

    def close(self) -> None:
        """Nothing is open."""


class Followed:
    """A running cluster. It is connected to at the first look, and again until that succeeds."""

    def __init__(self, source: Source, clock: Callable[[], float] = time.time) -> None:
        self._source = source
        self._clock = clock
        self._follower: Follower | None = None
        self._looked = False

    def wait(self, seconds: float) -> bool:
        """Wait for a change since the last look; whether there was one within ``seconds``."""
        if self._follower is None or not self._looked:
            if self._looked:
                time.sleep(seconds)
            return True
        return self._follower.wait_for_change(seconds)

    def look(self, told: Callable[[Mapping[str, Freshness]], object] | None = None) -> Inventory:
        """What is known now. ``told`` is called while the first lists are read.

        Raises:
            DractlError: the cluster cannot be reached, or nothing may be read in it.
        """
        self._looked = True
        if self._follower is None:
            self._follower = self._source.follow().start()
            end = time.monotonic() + FIRST_READING
            while not self._follower.wait_until_read(0.25) and time.monotonic() < end:
                if told is not None:
                    told(self._follower.freshness())
        return self._follower.snapshot()

    def health(self) -> Health:
        """By the kinds: a watch that stands tells of every change, so what it follows is known as of now.

        A connection that died without a word is noticed by the follower after a while (``watch.SILENCE``).
        """
        if self._follower is None:
            return Health(0.0, problem="the cluster was not reached yet")
        now = self._clock()
        kinds: dict[str, float] = {}
        problems: dict[str, list[str]] = {}
        for name, one in self._follower.freshness().items():
            contact = one.contact.timestamp() if one.contact is not None else 0.0
            if one.state in ("watched", "starting", "polled", "broken"):
                kinds[name] = now if one.state == "watched" else contact
            if one.state == "broken":
                problems.setdefault(one.problem, []).append(name)
        told = [f"{problem} ({_listed(names)})" for problem, names in problems.items()]
        return Health(min(kinds.values(), default=now), kinds, "; ".join(told))

    def close(self) -> None:
        """End the watches."""
        if self._follower is not None:
            self._follower.close()
            self._follower = None


def _listed(names: list[str]) -> str:
    more = len(names) - 2
    return ", ".join(names[:2]) + (f" and {more} more kinds" if more > 0 else "")


Following = Recorded | Followed


def following(source: Source) -> Following:
    """The way to read a source again and again."""
    return Recorded(source) if source.snapshot or source.demo else Followed(source)


def problem_of(error: Exception) -> str:
    """What to say of a reading that failed; a fault of dractl must not end what runs for days."""
    return error.message if isinstance(error, DractlError) else f"dractl failed: {type(error).__name__}: {error}"
