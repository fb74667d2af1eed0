"""Made manifests as YAML with a comment where a field has a reason, or as JSON without."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

WIDTH = 118
_BESIDE = 60
"""Longest text of a field that a comment may stand beside; longer ones have it above."""
_PLAIN = re.compile(r"[A-Za-z_/][A-Za-z0-9_./+-]*(?::[A-Za-z0-9_./+-]+)*|[0-9]+(?:Ki|Mi|Gi|Ti)")
_SPECIAL = re.compile(r"(?i:y|yes|n|no|true|false|on|off|null|nan|inf)|\.(?i:nan|inf)")
Path = tuple[str | int, ...]


def to_yaml(body: Mapping[str, Any], notes: Mapping[Path, str], head: Sequence[str] = ()) -> str:
    """One document; ``notes`` are comments by path, ``head`` lines above all."""
    lines = [row for text in head for row in _comment(text, 0)]
    _mapping(body, (), 0, notes, lines)
    return "\n".join(lines) + "\n"


def to_json(bodies: Sequence[Mapping[str, Any]]) -> str:
    """One object, or several in a List."""
    value: Any = bodies[0] if len(bodies) == 1 else {"apiVersion": "v1", "kind": "List", "items": list(bodies)}
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def _mapping(node: Mapping[str, Any], path: Path, depth: int, notes: Mapping[Path, str], out: list[str]) -> None:
    for key, value in node.items():
        _entry(f"{_scalar(key)}:", value, (*path, key), depth, notes, out)


def _entry(lead: str, value: Any, path: Path, depth: int, notes: Mapping[Path, str], out: list[str]) -> None:
    """``lead`` is ``key:`` or ``-``, to be written at ``depth``."""
    pad, note = " " * depth, notes.get(path)
    if isinstance(value, dict) and value:
        _noted(pad + lead, note, depth, out)
        _mapping(value, path, depth + 2, notes, out)
    elif isinstance(value, list) and value:
        _noted(pad + lead, note, depth, out)
        _sequence(value, path, depth + 2, notes, out)
    elif isinstance(value, str) and "\n" in value and _block_safe(value):
        _noted(f"{pad}{lead} |-", note, depth, out)
        out += [f"{pad}  {row}" if row else "" for row in value.split("\n")]
    else:
        _noted(f"{pad}{lead} {_scalar(value)}", note, depth, out)


def _sequence(node: Sequence[Any], path: Path, depth: int, notes: Mapping[Path, str], out: list[str]) -> None:
    for index, value in enumerate(node):
        here = (*path, index)
        if isinstance(value, dict) and value:
            note = notes.get(here)
            if note:
                out += _comment(note, depth)
            inner: list[str] = []
            _mapping(value, here, depth + 2, notes, inner)
            first = next(number for number, row in enumerate(inner) if not row.lstrip().startswith("#"))
            out += [row[2:] for row in inner[:first]]  # comments of the first key stand above the dash
            out.append(" " * depth + "- " + inner[first][depth + 2 :])
            out += inner[first + 1 :]
        else:
            _entry("-", value, here, depth, notes, out)


def _noted(text: str, note: str | None, depth: int, out: list[str]) -> None:
    if note and len(text) <= _BESIDE and len(text) + 4 + len(note) <= WIDTH:
        out.append(f"{text}  # {note}")
        return
    if note:
        out += _comment(note, depth)
    out.append(text)


def _comment(text: str, depth: int) -> list[str]:
    pad = " " * depth + "# "
    rows: list[str] = []
    for line in text.splitlines() or [""]:
        rows += textwrap.wrap(line, WIDTH - len(pad), break_long_words=False, break_on_hyphens=False) or [""]
    return [(pad + row).rstrip() for row in rows]


def _block_safe(text: str) -> bool:
    rows = text.split("\n")
    return (
        all(row.isprintable() and row == row.rstrip() for row in rows)
        and bool(rows[0].strip())
        and not rows[0].startswith(" ")
        and bool(rows[-1])
    )


def _scalar(value: Any) -> str:
    if not isinstance(value, str):
        return json.dumps(value)
    if _PLAIN.fullmatch(value) and not _SPECIAL.fullmatch(value):
        return value
    if value.isprintable() and '"' in value:
        return "'" + value.replace("'", "''") + "'"
    return "".join(map(_escaped, json.dumps(value, ensure_ascii=False)))


def _escaped(char: str) -> str:
    """A character of a quoted text as YAML wants it."""
    if char.isprintable():
        return char
    code = ord(char)
    return f"\\U{code:08x}" if code > 0xFFFF else f"\\u{code:04x}"
