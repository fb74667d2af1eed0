"""Edits of YAML text that leave everything else as it was: comments, order, quotes, indentation.

Every function takes the text, the root node of the document in it (``yamltext.read_documents``) and a path, and gives
the new text, or None where the layout is one that it does not handle. The caller reads the result again to be sure.
"""

from __future__ import annotations

import json
import re
from typing import Any

from dractl.sources.yamltext import Path, find_node, plain_scalar

_PLAIN = re.compile(r"[A-Za-z0-9_/][-A-Za-z0-9_./]*")
_STEP = 2


def replace_scalar(text: str, root: Any, path: Path, value: Any) -> str | None:
    """Write another value."""
    _, node, found = find_node(root, path)
    if found != len(path) or node.id != "scalar":
        return None
    start, end = node.start_mark.index, node.end_mark.index
    if node.style in ("|", ">"):
        return None
    gap = " " if start > 0 and text[start - 1] == ":" else ""
    return text[:start] + gap + scalar_text(value, node.style) + text[end:]


def scalar_text(value: Any, style: str | None = None) -> str:
    """A value as a YAML scalar on one line; texts are quoted where they would be read as something else."""
    if not isinstance(value, str):
        return json.dumps(value)
    if style == "'" and "'" not in value and "\n" not in value:
        return f"'{value}'"
    if style == '"' or not _PLAIN.fullmatch(value) or not isinstance(plain_scalar(value), str):
        return json.dumps(value, ensure_ascii=False)
    return value


def nest_scalar(text: str, root: Any, path: Path, key: str) -> str | None:
    """Put a value into a mapping of its own: ``80Gi`` becomes ``{value: 80Gi}``."""
    _, node, found = find_node(root, path)
    if found != len(path) or node.id != "scalar" or node.style in ("|", ">"):
        return None
    start, end = node.start_mark.index, node.end_mark.index
    written = text[start:end]
    if "\n" in written:
        return None
    if not node.style and not re.fullmatch(r"[-A-Za-z0-9_./+]+", written):
        written = json.dumps(node.value, ensure_ascii=False)
    return f"{text[:start]}{{{key}: {written}}}{text[end:]}"


def rename_key(text: str, root: Any, path: Path, name: str) -> str | None:
    """Give a key another name."""
    key, _, found = find_node(root, path)
    if found != len(path) or key is None:
        return None
    return text[: key.start_mark.index] + scalar_text(name, key.style) + text[key.end_mark.index :]


def remove_key(text: str, root: Any, path: Path) -> str | None:
    """Take a key and its value out of a mapping."""
    mapping, entries = _mapping(root, path[:-1])
    index = _position(entries, path[-1])
    if mapping is None or index is None:
        return None
    if _is_flow(mapping):
        return _remove_flow(text, entries, index)
    lines = text.split("\n")
    first, last = _lines_of(entries[index])
    if _starts_line(lines, entries[index]):
        first = _with_comments_above(lines, first, entries[index][0].start_mark.column)
        del lines[first : last + 1]
        return "\n".join(lines)
    if len(entries) == 1:
        return None
    # the first key of a list entry: the next one takes its place beside the dash
    following = entries[index + 1][0].start_mark
    start = entries[index][0].start_mark.index
    return text[:start] + text[following.index :]


def wrap_keys(text: str, root: Any, path: Path, keys: list[str], name: str) -> str | None:
    """Put some keys of the mapping at ``path`` below a new key that stands where the first of them was."""
    mapping, entries = _mapping(root, path)
    if mapping is None:
        return None
    chosen = [index for index, (key, _) in enumerate(entries) if key.value in keys]
    if len(chosen) != len(keys) or not chosen:
        return None
    if _is_flow(mapping):
        return _wrap_flow(text, entries, chosen, name)
    text, moved = _gather(text, entries, chosen)
    if moved:
        return _rewrap(text, path, keys, name, root)
    return _indent_below(text, entries, chosen, name)


def _rewrap(text: str, path: Path, keys: list[str], name: str, root: Any) -> str | None:
    """After keys were moved together their places are new: read again and go on."""
    from dractl.sources.yamltext import YamlProblem, read_documents

    try:
        trees = [tree for tree in read_documents(text) if tree.value is not None]
    except YamlProblem:
        return None
    same = [tree for tree in trees if tree.node.start_mark.line == root.start_mark.line]
    return wrap_keys(text, same[0].node, path, keys, name) if same else None


def shift_below(text: str, root: Any, path: Path, above: str) -> str | None:
    """Indent a key so that it stands below its neighbour directly above, which has no value."""
    mapping, entries = _mapping(root, path[:-1])
    index = _position(entries, path[-1])
    if mapping is None or not index or _is_flow(mapping):
        return None
    key, value = entries[index - 1]
    if key.value != above or value.value not in ("", None) or key.end_mark.line == entries[index][0].start_mark.line:
        return None
    lines = text.split("\n")
    first, last = _lines_of(entries[index])
    column = entries[index][0].start_mark.column
    step = _STEP + key.start_mark.column - column if key.start_mark.column > column else _STEP
    _indent(lines, first, last, step)
    return "\n".join(lines)


def unwrap_key(text: str, root: Any, path: Path) -> str | None:
    """Take a level away: what is below the key moves up to where the key stands."""
    key, value, found = find_node(root, path)
    parent, entries = _mapping(root, path[:-1])
    if found != len(path) or key is None or parent is None or value.id != "mapping" or not value.value:
        return None
    index = _position(entries, path[-1])
    assert index is not None
    if _is_flow(value):
        return _unwrap_flow(text, parent, key, value)
    if _is_flow(parent):
        return None
    inner = value.value[0][0].start_mark
    outer = key.start_mark
    dedent = inner.column - outer.column
    lines = text.split("\n")
    _, last = _lines_of(entries[index])
    for number in range(inner.line + 1, last + 1):
        blanks = len(lines[number]) - len(lines[number].lstrip(" "))
        lines[number] = lines[number][min(dedent, blanks) :]
    between = text[key.end_mark.index : inner.index]
    comments = [row.strip().lstrip(":").strip() for row in between.split("\n")]
    kept = "".join(f"{comment}\n{' ' * outer.column}" for comment in comments if comment.startswith("#"))
    head = lines[outer.line][: outer.column] + kept + lines[inner.line][inner.column :]
    lines[outer.line : inner.line + 1] = head.split("\n")
    return "\n".join(lines)


# --- mappings -------------------------------------------------------------------------------------------------------

Entry = tuple[Any, Any]


def _mapping(root: Any, path: Path) -> tuple[Any, list[Entry]]:
    _, node, found = find_node(root, path)
    if found != len(path) or node.id != "mapping":
        return None, []
    return node, list(node.value)


def _position(entries: list[Entry], name: str | int) -> int | None:
    return next((index for index, (key, _) in enumerate(entries) if key.value == name), None)


def _is_flow(node: Any) -> bool:
    return bool(node.flow_style)


def _last_line(node: Any) -> int:
    """The last line (from 0) that a value takes; the end that libyaml gives for blocks is the next token."""
    if node.id == "scalar":
        end = node.end_mark
        if node.style in ("|", ">"):
            return int(max(node.start_mark.line, end.line - (end.column == 0)))
        return int(end.line)
    if _is_flow(node):
        return int(node.end_mark.line)
    children = [part for entry in node.value for part in entry] if node.id == "mapping" else node.value
    return max([int(node.start_mark.line), *(_last_line(child) for child in children)])


def _lines_of(entry: Entry) -> tuple[int, int]:
    key, value = entry
    return int(key.start_mark.line), max(int(key.start_mark.line), _last_line(value))


def _starts_line(lines: list[str], entry: Entry) -> bool:
    mark = entry[0].start_mark
    return not lines[mark.line][: mark.column].strip()


def _with_comments_above(lines: list[str], first: int, column: int) -> int:
    """The first line of the comments that stand directly above, in the same column."""
    while first > 0 and lines[first - 1].startswith(" " * column + "#"):
        first -= 1
    return first


def _indent(lines: list[str], first: int, last: int, step: int) -> None:
    for number in range(first, last + 1):
        if lines[number].strip():
            lines[number] = " " * step + lines[number]


def _indent_below(text: str, entries: list[Entry], chosen: list[int], name: str) -> str:
    """The chosen entries are neighbours: a new line above them, and each two blanks to the right."""
    lines = text.split("\n")
    first_key = entries[chosen[0]][0].start_mark
    _, last = _lines_of(entries[chosen[-1]])
    column = first_key.column
    beside = lines[first_key.line][:column]
    first = first_key.line
    if not beside.strip():
        first = _with_comments_above(lines, first, column)
        _indent(lines, first, last, _STEP)
        lines.insert(first, " " * column + f"{name}:")
    else:
        _indent(lines, first + 1, last, _STEP)
        lines[first] = f"{beside}{name}:\n{' ' * (column + _STEP)}{lines[first][column:]}"
    return "\n".join(lines)


def _gather(text: str, entries: list[Entry], chosen: list[int]) -> tuple[str, bool]:
    """Move the chosen entries together, behind the first run of them; whether anything was moved."""
    run = 1
    while run < len(chosen) and chosen[run] == chosen[run - 1] + 1:
        run += 1
    if run == len(chosen):
        return text, False
    lines = text.split("\n")
    pieces: list[str] = []
    for index in reversed(chosen[run:]):
        first, last = _lines_of(entries[index])
        first = _with_comments_above(lines, first, entries[index][0].start_mark.column)
        pieces[:0] = lines[first : last + 1]
        del lines[first : last + 1]
    _, anchor = _lines_of(entries[chosen[run - 1]])
    lines[anchor + 1 : anchor + 1] = pieces
    return "\n".join(lines), True


# --- flow style -----------------------------------------------------------------------------------------------------


def _entry_text(text: str, entry: Entry) -> str:
    return text[entry[0].start_mark.index : entry[1].end_mark.index].rstrip()


def _remove_flow(text: str, entries: list[Entry], index: int) -> str:
    start = entries[index][0].start_mark.index
    end = entries[index][1].end_mark.index
    if index + 1 < len(entries):
        end = entries[index + 1][0].start_mark.index
    elif index > 0:
        start = entries[index - 1][1].end_mark.index
    return text[:start] + text[end:]


def _wrap_flow(text: str, entries: list[Entry], chosen: list[int], name: str) -> str:
    inner = ", ".join(_entry_text(text, entries[index]) for index in chosen)
    kept = []
    for index in range(len(entries)):
        if index == chosen[0]:
            kept.append(f"{name}: {{{inner}}}")
        elif index not in chosen:
            kept.append(_entry_text(text, entries[index]))
    start, end = entries[0][0].start_mark.index, entries[-1][1].end_mark.index
    return text[:start] + ", ".join(kept) + text[end:]


def _unwrap_flow(text: str, parent: Any, key: Any, value: Any) -> str:
    parts = [_entry_text(text, entry) for entry in value.value]
    glue = ", " if _is_flow(parent) else "\n" + " " * key.start_mark.column
    return text[: key.start_mark.index] + glue.join(parts) + text[value.end_mark.index :]
