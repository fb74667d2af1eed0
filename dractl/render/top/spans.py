"""Pieces of text with the name of a style, and their width in a terminal's columns."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from dractl.render.text.table import cell_width

Line = list[tuple[str, str]]
"""One line: (style, text)... Styles are states of devices, severities, and those of ``STYLES``."""

STYLES: dict[str, str] = {
    "title": "bold",
    "head": "bold",
    "dim": "dim",
    "tab": "",
    "active": "bold reverse",
    "chosen": "reverse",
    "cursor": "reverse",
    "bad": "bold red",
    "error": "bold red",
    "warning": "yellow",
    "info": "cyan",
    "note": "dim",
    "free": "green",
    "used": "bright_blue",
    "shared": "cyan",
    "full": "white on blue",
    "tainted": "black on yellow",
    "counters-exhausted": "dim",
    "pool-incomplete": "bright_magenta",
    "node-missing": "white on red",
}
"""Style -> how it looks, in rich's words. Letters and words tell the same without colour."""


def look(style: str) -> str:
    """Several names (``free chosen``) as one style of rich."""
    return " ".join(STYLES.get(name, "") for name in style.split()).strip()


def plain(line: Line) -> str:
    """The text alone."""
    return "".join(text for _, text in line)


def length(line: Line) -> int:
    """Columns that a line takes."""
    return sum(cell_width(text) for _, text in line)


def cut(line: Line, width: int) -> Line:
    """The line, or its beginning with an ellipsis where it is longer than ``width``."""
    if length(line) <= width:
        return line
    out: Line = []
    left = width - 1
    for style, text in line:
        kept = _first(text, left)
        out.append((style, kept))
        left -= cell_width(kept)
        if len(kept) < len(text):
            break
    return [*out, ("dim", "…")] if width > 0 else []


def fitted(text: str, width: int) -> str:
    """The text in exactly ``width`` columns; a long name loses its middle, since both ends tell names apart."""
    found = cell_width(text)
    if found <= width:
        return text + " " * (width - found)
    if width < 5:
        return _first(text, width - 1) + "…"
    tail = text[-((width - 1) // 2) :]
    while cell_width(tail) > (width - 1) // 2:
        tail = tail[1:]
    head = _first(text, width - 1 - cell_width(tail))
    return head + "…" + tail + " " * (width - 1 - cell_width(head) - cell_width(tail))


def wrapped(text: str, width: int) -> Sequence[str]:
    """Lines of at most ``width`` columns; what hangs under a list mark or a device is indented."""
    indent = "  " if text.startswith(("- ", "to do: ")) or text[1:2] == " " else ""
    if text.isascii():
        hanging = indent if width > 10 else ""
        return textwrap.wrap(text, max(width, 1), subsequent_indent=hanging, break_on_hyphens=False) or [""]
    rows: list[str] = []
    row = ""
    for word in text.split(" "):
        if row.strip() and cell_width(row) + 1 + cell_width(word) > width:
            rows.append(row)
            row = indent + word
        else:
            row = f"{row} {word}" if row else word
        while cell_width(row) > width:
            part = _first(row, width)
            rows.append(part or row[:1])
            row = row[len(part or row[:1]) :]
    return [*rows, row]


def _first(text: str, width: int) -> str:
    """The longest beginning that takes at most ``width`` columns."""
    if text.isascii():
        return text[: max(0, width)]
    kept, used = 0, 0
    for char in text:
        used += cell_width(char)
        if used > width:
            break
        kept += 1
    return text[:kept]
