"""The errors that dractl shows to its user: one sentence, the next step, and an exit code."""

from __future__ import annotations

from enum import IntEnum


class Exit(IntEnum):
    """The exit codes of every command."""

    GOOD = 0
    """Fits, allocated, clean."""
    NOT_GOOD = 1
    """Does not fit, or findings at the threshold."""
    USAGE = 2
    """Wrong usage or unreadable input."""
    NO_CLUSTER = 3
    """The cluster could not be asked, or not all of it."""


class DractlError(Exception):
    """Something the user can act on. ``message`` names the file, line and object; ``hint`` is the next step.

    Raised anywhere, shown in one place (``dractl.cli.boundary``), never with a traceback unless ``--debug`` is given.
    """

    def __init__(self, message: str, hint: str = "", exit_code: int = Exit.USAGE) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.exit_code = int(exit_code)
