"""Everything that dractl prints goes through here: results to stdout, remarks and errors to stderr."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from threading import Lock
from time import monotonic
from typing import TYPE_CHECKING, Any, TextIO

from dractl.cli.options import Format
from dractl.errors import DractlError
from dractl.render.text.terminal import Terminal

if TYPE_CHECKING:
    from enum import Enum

_DEFAULT_WIDTH = 100


class OutputClosed(Exception):
    """Whoever read our output has gone (``dractl ... | head``); there is nothing more to do."""


class Streams:
    """stderr as the error boundary uses it."""

    def __init__(self, stderr: Terminal) -> None:
        self.stderr = stderr

    def error(self, message: str, hint: str) -> None:
        """``error: message`` and below it what to do next."""
        head = self.stderr.red(self.stderr.bold("error:"))
        text = f"{head} {message}\n" + (f"  {hint}\n" if hint else "")
        _write(sys.stderr, text)


def open_streams() -> Streams:
    """Make both streams able to print any character, and look at stderr. A stream that the caller closed is empty."""
    if sys.stdin is None:
        sys.stdin = open(os.devnull, encoding="utf-8")  # noqa: SIM115, PTH123
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by the caller (>&-)
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115, PTH123
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    return Streams(terminal(sys.stderr))


def terminal(stream: TextIO | None = None) -> Terminal:
    """How ``stream`` (stdout) may be written to.

    Colour only on a terminal, never with NO_COLOR or TERM=dumb; FORCE_COLOR asks for it elsewhere. The width is
    COLUMNS, else the terminal's, else 100; tables keep to it only on a terminal, so that scripts see everything.
    """
    stream = stream or sys.stdout
    tty = stream.isatty()
    colour = tty and os.environ.get("TERM") != "dumb"
    if os.environ.get("FORCE_COLOR"):
        colour = True
    if os.environ.get("NO_COLOR"):
        colour = False
    return Terminal(colour=colour, width=_width(stream, tty), limited=tty)


def emit(text: str) -> None:
    """Print a result, with a line end if it lacks one."""
    _write(sys.stdout, text if text.endswith("\n") else text + "\n")


def note(text: str) -> None:
    """Say something about the run (progress, what could not be seen) on stderr."""
    _write(sys.stderr, text if text.endswith("\n") else text + "\n")


class Progress:
    """Counts of what has been read so far, on one line of stderr: only on a terminal, and only after a second.

    Called from several threads; the line is cleared at the end.
    """

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}
        self._lock = Lock()
        self._begun = monotonic()
        self._shown = False

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        if self._shown:
            _write(sys.stderr, "\r\033[K")

    def __call__(self, kind: str, count: int) -> None:
        with self._lock:
            self._counts[kind] = count
            if monotonic() - self._begun < 1 or not sys.stderr.isatty():
                return
            self._shown = True
            text = "reading " + ", ".join(f"{kind} {count}" for kind, count in sorted(self._counts.items()))
            _write(sys.stderr, "\r\033[K" + text[: terminal(sys.stderr).width - 1])


def emit_report(report: Mapping[str, Any], output: Enum | str, as_text: Callable[[Terminal], str]) -> None:
    """Print a report: JSON or YAML as it is, else what ``as_text`` makes of it for this terminal."""
    wanted = output if isinstance(output, str) else output.value
    if wanted == Format.JSON.value:
        from dractl.render.json import to_json

        emit(to_json(report))
    elif wanted == Format.YAML.value:
        from dractl.render.yaml import to_yaml

        emit(to_yaml(report))
    else:
        emit(as_text(terminal()))


def _columns() -> int:
    value = os.environ.get("COLUMNS", "")
    return int(value) if value.isdigit() else 0


def _width(stream: TextIO, tty: bool) -> int:
    if _columns() > 0:
        return _columns()
    if tty:
        try:
            return os.get_terminal_size(stream.fileno()).columns or _DEFAULT_WIDTH
        except (OSError, ValueError):
            return _DEFAULT_WIDTH
    return _DEFAULT_WIDTH


def _write(stream: TextIO, text: str) -> None:
    try:
        stream.write(text)
        stream.flush()
    except BrokenPipeError:
        # the interpreter flushes once more at its end and would complain there, hence the silence
        _silence(stream)
        raise OutputClosed from None
    except OSError as error:
        _silence(stream)
        raise DractlError(f"cannot write the output: {error.strerror}", "Check where the output goes.") from None


def _silence(stream: TextIO) -> None:
    """Send what is left in the buffer nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
