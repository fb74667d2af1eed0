"""``--watch``: a running cluster is followed, and what changes is shown until Ctrl-C.

On a terminal the whole answer stands on the screen and is drawn anew; elsewhere (pipes, logs) each change is printed
below the last. How is up to a ``Shown``; this module waits for changes and says what cannot be seen.
"""

from __future__ import annotations

import contextlib
import signal
import sys
import time
from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from types import FrameType
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from dractl.cli.output import emit, note, terminal
from dractl.cli.source import Source
from dractl.errors import DractlError

if TYPE_CHECKING:
    from rich.live import Live

    from dractl.inventory import Inventory
    from dractl.render.text.terminal import Terminal
    from dractl.sources.watch import Follower, Freshness


class _Plain(Protocol):
    def to_json(self) -> dict[str, Any]:
        """The report as JSON."""


T = TypeVar("T", bound=_Plain)

TICK = 1.0
"""Seconds after which the screen looks whether the connection is well, and whether the window has another size."""
AGES = 10.0
"""Seconds after which ages on the screen are counted anew."""


class Shown(Protocol):
    """What a command shows of an inventory."""

    def whole(self, inventory: Inventory, terminal: Terminal) -> str:
        """The whole answer, for a screen."""

    def changes(self, inventory: Inventory) -> str:
        """What differs from the last call, for a stream; empty for nothing. The first call gives all."""


def watch(source: Source, shown: Shown, screen: bool) -> int:
    """Show until Ctrl-C, which ends as it ends ``kubectl get -w``: with 130.

    Args:
        source: the cluster.
        shown: what to show of it.
        screen: whether a terminal gets a live view; formats for programs get a stream there too.

    Raises:
        DractlError: for a recorded cluster, and for what is wrong at the beginning. Later errors are told and waited
            out.
    """
    follower = source.follow()
    with follower.start(), _ended_by_signals():
        if screen and sys.stdout.isatty():
            _on_screen(follower, shown)
        else:
            _as_stream(follower, shown)
    return 0


def watch_report(
    source: Source, make: Callable[[Inventory], T], as_text: Callable[[T, Terminal], str], output: str
) -> int:
    """``watch`` a report: the text of it, or one document of JSON or YAML for each change."""
    if output in ("json", "yaml"):
        from dractl.render.json import to_json
        from dractl.render.yaml import to_yaml

        def document(inventory: Inventory, _: Terminal) -> str:
            plain = make(inventory).to_json()
            return to_json(plain) if output == "json" else "---\n" + to_yaml(plain)

        return watch(source, Report(document, stamped=False), screen=False)
    if output not in ("text", "wide"):
        raise DractlError(f"--watch does not go with -o {output}", "Use -o wide, json, yaml or none.")
    text = Report(lambda inventory, terminal: as_text(make(inventory), terminal), stamped=True)
    return watch(source, text, screen=True)


@contextlib.contextmanager
def _ended_by_signals() -> Iterator[None]:
    """A terminated process puts the terminal back too."""

    def end(number: int, frame: FrameType | None) -> None:
        raise SystemExit(128 + number)

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _as_stream(follower: Follower, shown: Shown) -> None:
    follower.wait_until_read()
    remarks = _Remarks()
    first = True
    while True:
        begun = time.monotonic()
        try:
            inventory = follower.snapshot()
            remarks.unseen(inventory)
            text = shown.changes(inventory)
            if text:
                emit(text)
            remarks.mended()
        except DractlError as error:
            if first:
                raise
            remarks.failed(error.message)
        first = False
        _spare(time.monotonic() - begun)
        while not follower.wait_for_change(TICK):
            remarks.contact(follower.freshness().values())


def _on_screen(follower: Follower, shown: Shown) -> None:
    from rich.console import Console
    from rich.live import Live

    last = ""
    first = True
    console = Console(highlight=False)
    try:
        with Live(console=console, screen=True, auto_refresh=False, vertical_overflow="crop") as live:
            while not follower.wait_until_read(TICK / 4):
                waiting = [one.kind for one in follower.freshness().values() if one.state == "starting"]
                _draw(live, "", f"reading {', '.join(waiting)}")
            while True:
                begun = time.monotonic()
                problem = ""
                try:
                    last = shown.whole(follower.snapshot(), terminal())
                except DractlError as error:
                    if first:
                        raise
                    problem = error.message
                first = False
                _draw(live, last, problem or _state(follower.freshness().values()))
                _spare(time.monotonic() - begun)
                size = console.size
                end = time.monotonic() + AGES
                while not follower.wait_for_change(TICK) and console.size == size and time.monotonic() < end:
                    _draw(live, last, problem or _state(follower.freshness().values()))
    finally:
        # the screen goes away with what stood on it
        if last:
            emit(last)


def _draw(live: Live, text: str, state: str) -> None:
    from rich.text import Text

    lines = text.splitlines()
    height = live.console.size.height - 2
    more = len(lines) - height
    if more > 0:
        lines = [*lines[: height - 1], f"... {more + 1} more lines (a higher window, or without --watch)"]
    head = Text(f"{_now()}  {state}  (Ctrl-C ends)", style="reverse", no_wrap=True, overflow="ellipsis")
    body = Text.from_ansi("\n".join(lines), no_wrap=True, overflow="ellipsis")
    live.update(Text("\n").join([head, body]), refresh=True)


def _now() -> str:
    from dractl.sources.cluster import clock

    return clock().strftime("%H:%M:%SZ")


def _state(found: Collection[Freshness]) -> str:
    broken = [one for one in found if one.state == "broken"]
    if broken:
        contact = broken[0].contact
        since = f" since {contact.strftime('%H:%M:%SZ')}" if contact else ""
        return f"no contact{since}: {broken[0].problem}"
    hidden = [one.kind for one in found if one.state == "forbidden"]
    polled = [one.kind for one in found if one.state == "polled"]
    parts = ["following the cluster"]
    if hidden:
        parts.append(f"not allowed to see {', '.join(hidden)}")
    if polled:
        parts.append(f"asked every 30s: {', '.join(polled)}")
    return "; ".join(parts)


def _spare(seconds: float) -> None:
    """After work that took long, leave the processor to others for as long."""
    if seconds > TICK / 2:
        time.sleep(min(seconds, 30.0))


class _Remarks:
    """What is said on stderr beside a stream, each once until it is over."""

    def __init__(self) -> None:
        self._unseen: dict[str, str] = {}
        self._broken = ""
        self._failed = ""

    def unseen(self, inventory: Inventory) -> None:
        """Kinds that cannot be read."""
        for kind, reason in inventory.provenance.unseen.items():
            if self._unseen.get(kind) != reason:
                note(f"note: {kind}: {reason}")
        self._unseen = dict(inventory.provenance.unseen)

    def contact(self, found: Collection[Freshness]) -> None:
        """Whether the server answers."""
        broken = next((one for one in found if one.state == "broken"), None)
        if broken is not None and not self._broken:
            self._broken = broken.problem
            note(f"note: {broken.kind}: {broken.problem}; still watching")
        elif self._broken and all(one.state not in ("broken", "starting") for one in found):
            self._broken = ""
            note("note: the cluster answers again")

    def failed(self, message: str) -> None:
        """The answer cannot be given now: an object went away, or one is malformed."""
        if message != self._failed:
            note(f"note: {message}; still watching")
        self._failed = message

    def mended(self) -> None:
        """It can be given again."""
        self._failed = ""


class Report:
    """A report that is printed again, under the time, when it says something else.

    Ages grow without any change, so reports are compared as of the time of the first.
    """

    def __init__(self, render: Callable[[Inventory, Terminal], str], stamped: bool) -> None:
        self._render = render
        self._stamped = stamped
        self._begun: str | None = None
        self._compared = ""

    def whole(self, inventory: Inventory, terminal: Terminal) -> str:
        """The report."""
        return self._render(inventory, terminal)

    def changes(self, inventory: Inventory) -> str:
        """The report with its time, or nothing if it says what it said."""
        self._begun = self._begun or inventory.provenance.taken
        compared = self._render(_as_of(inventory, self._begun), terminal())
        if compared == self._compared:
            return ""
        text = self._render(inventory, terminal())
        later = bool(self._compared)
        self._compared = compared
        if not self._stamped:
            return text
        return ("\n" if later else "") + f"== {inventory.provenance.taken} ==\n{text}"


def _as_of(inventory: Inventory, taken: str | None) -> Inventory:
    from dractl.inventory import Inventory as Made

    return Made(inventory.objects, replace(inventory.provenance, taken=taken))
