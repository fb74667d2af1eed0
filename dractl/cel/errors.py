"""Errors of an expression, with their places, printed as cel-go prints them."""

from __future__ import annotations

from dataclasses import dataclass, field

_MAX_ERRORS = 100
_MAX_SNIPPET_BYTES = 16_384
NO_POSITION = -1
"""Offset of an error that has no place in the source; printed as line -1."""


class Source:
    """The text of an expression, with its lines.

    ``old``: places as cel-go before 0.22 counts them: a node at the start of a line is at the end of the line before.
    """

    __slots__ = ("line_starts", "old", "text")

    def __init__(self, text: str, old: bool = False) -> None:
        self.text = text
        self.old = old
        self.line_starts = [0, *(index + 1 for index, char in enumerate(text) if char == "\n")]

    def location(self, offset: int, of_token: bool = False) -> tuple[int, int]:
        """Line (from 1) and column (from 0) of an offset in code points; in an empty text the column is -1 (sic)."""
        if not self.text:
            return 1, 0 if self.old else -1
        if self.old and not of_token and offset in self.line_starts[1:]:
            line, column = self.location(offset - 1, of_token=True)
            return line, column + 1
        if "\n" not in self.text:
            return 1, offset
        low, high = 0, len(self.line_starts)
        while high - low > 1:
            middle = (low + high) // 2
            if self.line_starts[middle] <= offset:
                low = middle
            else:
                high = middle
        return low + 1, offset - self.line_starts[low]

    def line(self, number: int) -> str | None:
        """The text of a line (from 1), None if there is none."""
        if not 1 <= number <= len(self.line_starts) or not self.text:
            return None
        end = self.line_starts[number] - 1 if number < len(self.line_starts) else len(self.text)
        return self.text[self.line_starts[number - 1] : end]


@dataclass(frozen=True, slots=True)
class Issue:
    """One fault: ``offset`` in code points from the start of the source, or ``NO_POSITION``."""

    offset: int
    message: str
    placeless: bool = False
    of_token: bool = False
    """Found at a token, not at a node."""

    def location(self, source: Source) -> tuple[int, int]:
        return (-1, -1) if self.placeless else source.location(self.offset, self.of_token)

    def render(self, source: Source) -> str:
        """The message, the line it is about, and a caret under the place."""
        line, column = self.location(source)
        text = f"ERROR: <input>:{line}:{column + 1}: {self.message}"
        snippet = source.line(line)
        if snippet is None or len(snippet.encode("utf-8", "surrogatepass")) > _MAX_SNIPPET_BYTES:
            return text
        snippet = snippet.replace("\t", " ")
        dots = "".join("\uff0e" if ord(char) > 0x7F else "." for char in snippet[: max(column, 0)])
        under = snippet[max(column, 0) : max(column, 0) + 1]
        caret = "\uff3e" if under and ord(under) > 0x7F else "^"
        return f"{text}\n | {snippet}\n | {dots}{caret}"


@dataclass(slots=True)
class Issues:
    """Faults in the order in which they were found; at most 100 are kept, the rest is counted."""

    source: Source
    found: list[Issue] = field(default_factory=list)
    total: int = 0

    def add(self, offset: int, message: str, placeless: bool = False, of_token: bool = False) -> None:
        self.total += 1
        if self.total <= _MAX_ERRORS:
            self.found.append(Issue(offset, message, placeless, of_token))

    def __bool__(self) -> bool:
        return self.total > 0

    def sorted(self) -> list[Issue]:
        return sorted(self.found, key=lambda issue: issue.location(self.source))

    def render(self) -> str:
        """All faults by place, as cel-go prints them."""
        lines = [issue.render(self.source) for issue in self.sorted()]
        if self.total > _MAX_ERRORS:
            lines.append(f"{self.total - _MAX_ERRORS} more errors were truncated")
        return "\n".join(lines)


class CelError(Exception):
    """An expression that Kubernetes rejects when it compiles it. ``str()`` is Kubernetes' text.

    ``issues`` are the single faults with their places, empty where there is no place (the wrong result type, say).
    ``internal`` is True for what Kubernetes calls an internal error rather than an invalid expression.
    """

    def __init__(self, text: str, source: Source, issues: list[Issue] | None = None, internal: bool = False) -> None:
        super().__init__(text)
        self.source = source
        self.issues = issues or []
        self.internal = internal


class _Faulty(CelError):
    def __init__(self, issues: Issues) -> None:
        super().__init__(f"compilation failed: {issues.render()}", issues.source, issues.sorted())


class CelSyntaxErrors(_Faulty):
    """The text is no CEL expression."""


class CelTypeErrors(_Faulty):
    """The expression names what is not there, or mixes types that do not fit."""


class CelLimit(CelError):
    """dractl gave up where Kubernetes would go on; there is no verdict."""
