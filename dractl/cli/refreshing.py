"""A value that is read again and again in a thread of its own, for a screen that must not wait for it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar

from dractl.errors import DractlError

T = TypeVar("T")


class Refreshing(Generic[T]):
    """Calls ``read`` every ``interval`` seconds. After a failure the last good value stays, and ``problem`` says why.

    The first value was read before, so that an unreadable cluster ends the command with its error.
    """

    def __init__(self, read: Callable[[], T], interval: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._read = read
        self._interval = interval
        self._clock = clock
        self._lock = threading.Lock()
        self._hurry = threading.Event()
        self._fresh: T | None = None
        self._good = clock()
        self._reading = False
        self.problem = ""

    def start(self, told: Callable[[], None]) -> None:
        """Begin; ``told`` is called after each reading, from the thread."""
        threading.Thread(target=self._run, args=(told,), daemon=True).start()

    def hurry(self) -> None:
        """Read now."""
        self._hurry.set()

    def take(self) -> T | None:
        """The new value, once; None when there is none since the last call."""
        with self._lock:
            fresh, self._fresh = self._fresh, None
        return fresh

    def status(self) -> str:
        """How old what is shown is."""
        age = int(self._clock() - self._good)
        if self._reading:
            return f"reading, {age}s old"
        return f"{age}s old"

    def once(self) -> None:
        """One reading."""
        self._reading = True
        try:
            found = self._read()
        except DractlError as error:
            self.problem = error.message
        except Exception as error:
            # a fault of dractl in one reading must not end the screen
            self.problem = f"{type(error).__name__}: {error}"
        else:
            with self._lock:
                self._fresh = found
            self._good = self._clock()
            self.problem = ""
        finally:
            self._reading = False

    def _run(self, told: Callable[[], None]) -> None:
        while True:
            self._hurry.wait(self._interval)
            self._hurry.clear()
            self.once()
            told()
