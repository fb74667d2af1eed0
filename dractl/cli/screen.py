"""The terminal of ``dractl top``: the other screen, single keys, changes of size; all put back at the end, however."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
from collections.abc import Callable, Iterator
from types import FrameType
from typing import TYPE_CHECKING, Any

from dractl.cli.keys import Keys
from dractl.render.top.spans import Line, look

if TYPE_CHECKING:
    from rich.live import Live

_ESCAPE_WAIT = 0.05
"""Seconds after which an escape that nothing followed is the key itself."""


def keyboard() -> int | None:
    """Where keys come from: stdin, or the terminal itself where stdin is something else; None: there are none."""
    try:
        import termios
    except ImportError:  # not a Unix
        return None
    for descriptor in (_descriptor(sys.stdin), _opened("/dev/tty")):
        if descriptor is not None and os.isatty(descriptor):
            with contextlib.suppress(termios.error):
                termios.tcgetattr(descriptor)
                return descriptor
    return None


def _descriptor(stream: Any) -> int | None:
    try:
        number: int = stream.fileno()
    except (AttributeError, OSError, ValueError):
        return None
    return number


def _opened(path: str) -> int | None:
    try:
        return os.open(path, os.O_RDONLY | os.O_NOCTTY)
    except OSError:
        return None


class Picture:
    """Lines as rich draws them."""

    def __init__(self, lines: list[Line]) -> None:
        self._lines = lines

    def __rich_console__(self, console: Any, options: Any) -> Iterator[Any]:
        from rich.segment import Segment
        from rich.style import Style

        for number, line in enumerate(self._lines):
            if number:
                yield Segment.line()
            for style, text in line:
                yield Segment(text, Style.parse(look(style)) if style else None)


def coloured(lines: list[Line]) -> str:
    """Lines with colours, for a pipe that asks for them."""
    import io

    from rich.console import Console

    out = io.StringIO()
    console = Console(file=out, force_terminal=True, color_system="standard", width=10**6, highlight=False)
    for line in lines:
        console.print(Picture([line]), soft_wrap=True, end="\n")
    return out.getvalue()


class Screen:
    """A full-screen program. ``draw`` makes the lines for a width and a height; ``press`` is told of each key."""

    def __init__(self, draw: Callable[[int, int], list[Line]], press: Callable[[str], None], keys: int, colour: bool):
        self._draw = draw
        self._press = press
        self._keys = keys
        self._colour = colour
        self._decoder = Keys()
        self._live: Live | None = None
        self._wake, self._awake = os.pipe()
        os.set_blocking(self._awake, False)
        os.set_blocking(self._wake, False)

    def wake(self) -> None:
        """Make ``run`` draw anew; from any thread, and from signal handlers."""
        with contextlib.suppress(OSError):
            os.write(self._awake, b"w")

    def run(self, going: Callable[[], bool], tick: float | None) -> None:
        """Draw and listen while ``going`` says so; draw anew every ``tick`` seconds, after keys and ``wake``."""
        import termios

        before = termios.tcgetattr(self._keys)
        try:
            with self._signals():
                self._enter()
                while going():
                    self._refresh()
                    self._listen(tick)
        finally:
            self._leave()
            termios.tcsetattr(self._keys, termios.TCSADRAIN, before)
            os.close(self._wake)
            os.close(self._awake)

    def _enter(self) -> None:
        import termios

        from rich.console import Console
        from rich.live import Live

        mode = termios.tcgetattr(self._keys)
        mode[3] &= ~(termios.ICANON | termios.ECHO)
        mode[6][termios.VMIN], mode[6][termios.VTIME] = 1, 0
        mode[6][termios.VSUSP] = b"\0"  # ctrl-z comes as a key: the screen has to be left first
        termios.tcsetattr(self._keys, termios.TCSADRAIN, mode)
        console = Console(highlight=False, no_color=not self._colour, legacy_windows=False)
        self._live = Live(
            console=console, screen=True, auto_refresh=False, redirect_stdout=False, redirect_stderr=False
        )
        self._live.start()

    def _leave(self) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None

    def _refresh(self) -> None:
        from rich.console import ConsoleDimensions

        live = self._live
        assert live is not None
        width, height = _size()
        live.console.size = ConsoleDimensions(width, height)
        live.update(Picture(self._draw(width, height)), refresh=True)

    def _listen(self, tick: float | None) -> None:
        """Wait for a key, a wake-up or the tick, and hand on the keys that are there."""
        ready, _, _ = select.select([self._keys, self._wake], [], [], tick)
        if self._wake in ready:
            with contextlib.suppress(OSError):
                os.read(self._wake, 4096)
        if self._keys not in ready:
            return
        data = os.read(self._keys, 4096)
        if not data:
            raise KeyboardInterrupt  # the terminal has gone
        keys = self._decoder.feed(data)
        while self._decoder.waiting:
            if select.select([self._keys], [], [], _ESCAPE_WAIT)[0]:
                keys += self._decoder.feed(os.read(self._keys, 4096))
            else:
                keys += self._decoder.flush()
        for key in keys:
            if key == "ctrl-z":
                self._suspend()
            else:
                self._press(key)

    def _suspend(self) -> None:
        import termios

        inside = termios.tcgetattr(self._keys)
        outside = [*inside]
        outside[3] |= termios.ICANON | termios.ECHO
        self._leave()
        termios.tcsetattr(self._keys, termios.TCSADRAIN, outside)
        os.kill(0, signal.SIGTSTP)
        self._enter()

    @contextlib.contextmanager
    def _signals(self) -> Iterator[None]:
        """A new size draws anew; an end from outside ends as ctrl-c does, so that the terminal is put back."""

        def resized(number: int, frame: FrameType | None) -> None:
            self.wake()

        def ended(number: int, frame: FrameType | None) -> None:
            raise KeyboardInterrupt

        wanted = {signal.SIGWINCH: resized, signal.SIGTERM: ended, signal.SIGHUP: ended}
        before = {number: signal.signal(number, handler) for number, handler in wanted.items()}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def _size() -> tuple[int, int]:
    """Columns and lines of the terminal that is written to."""
    try:
        found = os.get_terminal_size(sys.stdout.fileno())
    except (OSError, ValueError):
        return 80, 24
    return found.columns or 80, found.lines or 24
