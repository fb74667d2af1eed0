"""Where each character of a value stands in the text: needed for the places inside a CEL expression.

A YAML scalar may be folded over lines, indented, quoted or escaped. All styles keep the order of the characters that
are not blank, so walking text and value side by side finds every such character exactly.
"""

from __future__ import annotations

from typing import Any

_BLANK = " \t\r\n"
_BLANK_SET = frozenset(_BLANK)
_ESCAPE_LENGTH = {"x": 4, "u": 6, "U": 10}


def character_index(text: str, node: Any, offset: int) -> int:
    """The index in ``text`` of character ``offset`` of a scalar node's value (its end if the value is shorter)."""
    position: int = node.start_mark.index
    end: int = min(node.end_mark.index, len(text))
    value, style = node.value, node.style
    if style in ("|", ">"):
        newline = text.find("\n", position, end)
        position = end if newline < 0 else newline + 1
    elif style in ("'", '"'):
        position += 1
        end -= 1
    for index, wanted in enumerate(value):
        position = _align(text, position, end, wanted, style)
        if index == offset:
            return position
        position = _after(text, position, end, wanted, style)
    return min(position, end)


def _align(text: str, position: int, end: int, wanted: str, style: str | None) -> int:
    """Where the character ``wanted`` starts, at or after ``position``."""
    while position < end:
        here = text[position]
        if style == '"' and here == "\\" and text[position + 1 : position + 2] in ("\n", "\r"):
            position += 2
            while text[position : position + 1] in _BLANK_SET:
                position += 1
        elif here in _BLANK and wanted not in _BLANK:
            position += 1
        else:
            break
    return position


def _after(text: str, position: int, end: int, wanted: str, style: str | None) -> int:
    """The place behind the character that stands at ``position``."""
    if position >= end:
        return end
    here = text[position]
    if style == '"' and here == "\\":
        return position + _ESCAPE_LENGTH.get(text[position + 1 : position + 2], 2)
    if style == "'" and here == "'":
        return position + 2
    if wanted in _BLANK:
        if here == "\r" and text[position + 1 : position + 2] == "\n":
            return position + 2
        return position + 1 if here in _BLANK else position
    return position + 1
