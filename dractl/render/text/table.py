"""Plain tables as kubectl prints them: a header in capitals, columns two spaces apart, no lines."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

from dractl.render.text.terminal import PLAIN, Terminal

_GAP = "  "
_MIN_WIDTH = 8
_ELLIPSIS = "…"


def table(
    headers: Sequence[str],
    rows: Sequence[Sequence[str]],
    terminal: Terminal = PLAIN,
    indent: str = "",
    at_least: Sequence[int] = (),
) -> str:
    """Lay out rows under headers; empty cells become ``-``. ``at_least`` are widths that columns have anyway.

    On a terminal that is too narrow the widest columns are cut with an ellipsis, but never the first one, which holds
    the name; elsewhere nothing is cut, so that scripts see everything. Lines carry no spaces at their end.
    """
    cells = [[clean(cell) or "-" for cell in row] for row in rows]
    widths = _widths(headers, cells)
    if at_least:
        widths = [max(pair) for pair in zip(widths, at_least, strict=True)]
    if terminal.limited:
        widths = _narrowed(widths, terminal.width - len(indent))
    lines = [indent + terminal.bold(_line(headers, widths))] if headers else []
    lines += [indent + _line(row, widths) for row in cells]
    return "\n".join(lines)


def column_widths(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> list[int]:
    """The width of each column without any limit."""
    return _widths(headers, [[clean(cell) or "-" for cell in row] for row in rows])


def _widths(headers: Sequence[str], cells: Sequence[Sequence[str]]) -> list[int]:
    return [
        max([cell_width(header), *(cell_width(row[column]) for row in cells)]) for column, header in enumerate(headers)
    ]


def cell_width(text: str) -> int:
    """Columns that a text takes; wide characters take two, combining ones none."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text
    )


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    parts = [_fit(cell, width) for cell, width in zip(row, widths, strict=True)]
    return _GAP.join(parts).rstrip()


def _fit(text: str, width: int) -> str:
    length = cell_width(text)
    if length <= width:
        return text + " " * (width - length)
    kept = text
    while cell_width(kept) > width - 1:
        kept = kept[:-1]
    return kept + _ELLIPSIS + " " * (width - 1 - cell_width(kept))


def _narrowed(widths: list[int], available: int) -> list[int]:
    widths = list(widths)
    excess = sum(widths) + len(_GAP) * (len(widths) - 1) - available
    while excess > 0 and len(widths) > 1:
        widest = max(range(1, len(widths)), key=lambda column: widths[column])
        if widths[widest] <= _MIN_WIDTH:
            break
        widths[widest] -= 1
        excess -= 1
    return widths


def clean(text: str) -> str:
    """Control characters from the cluster must not reach the terminal."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else " " if char in "\n\t" else repr(char)[1:-1] for char in text)
