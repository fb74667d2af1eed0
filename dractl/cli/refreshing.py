"""A value that is made again and again in a thread of its own, for a screen that must not wait for it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

from dractl.cli.following import Health, problem_of

T = TypeVar("T")
_STEP = 0.5
"""Seconds after which a wait looks whether it is to end at once."""


class Changing(Protocol):
    """What tells of changes and of its health; see ``dractl.cli.following``."""

    def wait(self, seconds: float) -> bool:
        """Whether something changed within so many seconds."""

    def health(self) -> Health:
        """How far what is known can be trusted."""


class Refreshing(Generic[T]):
    """Calls ``make`` after changes, and at the latest every ``interval`` seconds, since ages grow.

    After a failure the last good value stays, and ``problem`` says why. The first value was made before, so that an
    unreadable cluster ends the command with its error.
    """

    def __init__(
        self, changing: Changing, make: Callable[[], T], interval: float, clock: Callable[[], float] = time.time
    ) -> None:
        self._changing = changing
        self._make = make
        self._interval = interval
        self._clock = clock
        self._lock = threading.Lock()
        self._hurry = threading.Event()
        self._fresh: T | None = None
        self._good = clock()
        self._busy = False
        self._failed = ""

    def start(self, told: Callable[[], None]) -> None:
        """Begin; ``told`` is called after each reading, from the thread."""
        threading.Thread(target=self._run, args=(told,), daemon=True).start()

    def hurry(self) -> None:
        """Make it now."""
        self._hurry.set()

    def take(self) -> T | None:
        """The new value, once; None when there is none since the last call."""
        with self._lock:
            fresh, self._fresh = self._fresh, None
        return fresh

    @property
    def problem(self) -> str:
        """What keeps the value from being up to date; empty for nothing."""
        return self._failed or self._changing.health().problem

    def status(self) -> str:
        """How old what is shown is."""
        as_of = self._changing.health().as_of
        age = max(0, int(self._clock() - min(as_of or self._good, self._good)))
        words = "computing, " if self._busy else ""
        return f"{words}as of {age}s ago"

    def once(self) -> None:
        """Make it once."""
        begun = self._clock()
        self._busy = True
        try:
            found = self._make()
        except Exception as error:  # the screen stays
            self._failed = problem_of(error)
        else:
            with self._lock:
                self._fresh = found
            self._good, self._failed = begun, ""
        finally:
            self._busy = False

    def _run(self, told: Callable[[], None]) -> None:
        while True:
            begun = time.monotonic()
            while not self._hurry.is_set() and time.monotonic() - begun < self._interval:
                if self._changing.wait(_STEP):
                    break
            self._hurry.clear()
            begun = time.monotonic()
            self.once()
            told()
            # on a large cluster, which changes all the time, the processor is left to others as long
            time.sleep(min(30.0, time.monotonic() - begun))
