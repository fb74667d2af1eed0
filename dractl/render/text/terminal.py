"""What a text may look like where it is shown: colour and width. Knows no stream; the caller looks at it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Terminal:
    """``width`` in columns for prose; ``limited`` where tables should keep to it too (a real terminal)."""

    colour: bool = False
    width: int = 100
    limited: bool = False

    def bold(self, text: str) -> str:
        """Headings, names that matter."""
        return self._sgr("1", text)

    def dim(self, text: str) -> str:
        """What may be passed over."""
        return self._sgr("2", text)

    def red(self, text: str) -> str:
        """Errors; does not fit."""
        return self._sgr("31", text)

    def green(self, text: str) -> str:
        """Good; fits."""
        return self._sgr("32", text)

    def yellow(self, text: str) -> str:
        """Warnings."""
        return self._sgr("33", text)

    def cyan(self, text: str) -> str:
        """Notes."""
        return self._sgr("36", text)

    def _sgr(self, code: str, text: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self.colour and text else text


PLAIN = Terminal()
"""No colour, 100 columns: for files, tickets and tests."""
