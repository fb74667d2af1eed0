"""Editing of parsed YAML documents without losing their comments.

Documents are ruamel.yaml's round-trip maps and lists; they behave as dict and list, and hold comments in ``ca``.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

Map = Any
"""A CommentedMap: a dict that knows its comments and lines."""


def new_map(**content: Any) -> Map:
    """A new map; nested dicts and lists become round-trip ones too."""
    from ruamel.yaml.comments import CommentedMap

    made = CommentedMap()
    for key, value in content.items():
        made[key] = tree(value)
    return made


def tree(value: Any) -> Any:
    """Plain data as round-trip nodes."""
    from ruamel.yaml.comments import CommentedMap, CommentedSeq

    if isinstance(value, CommentedMap | CommentedSeq):
        return value
    if isinstance(value, Mapping):
        made = CommentedMap()
        for key, item in value.items():
            made[key] = tree(item)
        return made
    if isinstance(value, list | tuple):
        listed = CommentedSeq()
        listed.extend(tree(item) for item in value)
        return listed
    return value


def move(source: Map, key: str, target: Map, name: str | None = None) -> None:
    """Move one entry with its comments to the end of another map, under another name if given."""
    comment = source.ca.items.get(key)
    value = source.pop(key)
    source.ca.items.pop(key, None)
    target[name or key] = value
    if comment is not None:
        target.ca.items[name or key] = comment


def rename(node: Map, key: str, name: str) -> None:
    """Give an entry another name in the same place."""
    place = list(node).index(key)
    comment = node.ca.items.pop(key, None)
    value = node.pop(key)
    node.insert(place, name, value)
    if comment is not None:
        node.ca.items[name] = comment


def drop(node: Map, key: str) -> list[str]:
    """Remove an entry; the comments that hung on it are returned as lines."""
    comment = node.ca.items.pop(key, None)
    value = node.pop(key)
    lines = _lines(comment)
    lines += _inner(value)
    return lines


def head_comment(node: Map) -> list[str]:
    """Comment lines before the first key of a document; they are taken away from it."""
    if node.ca.comment is None or len(node.ca.comment) < 2 or not node.ca.comment[1]:
        return []
    lines = _lines(node.ca.comment)
    node.ca.comment = None
    return lines


def say(node: Map, key: str, lines: list[str], indent: int = 0) -> None:
    """Put comment lines above an entry, after those that are there."""
    if lines and key in node:
        node.yaml_set_comment_before_after_key(key, before="\n".join(lines), indent=indent)


def line_of(node: Any, key: Any = None) -> int | None:
    """The line (from 1) of a document, or of one of its keys or items."""
    mark = getattr(node, "lc", None)
    if mark is None:
        return None
    try:
        if key is not None:
            place = mark.key(key) if hasattr(node, "keys") else mark.item(key)
            return int(place[0]) + 1
        return int(mark.line) + 1 if mark.line is not None else None
    except (KeyError, TypeError, AttributeError):
        return None


def child(node: Any, *path: str) -> Any:
    """The value at a path of keys, or None."""
    for key in path:
        if not isinstance(node, Mapping) or key not in node:
            return None
        node = node[key]
    return node


def many(value: Any) -> list[Any]:
    """The value if it is a list, else an empty one: manifests are converted before anybody has checked them."""
    return value if isinstance(value, list) else []


def plain(value: Any) -> Any:
    """Round-trip nodes as plain dicts and lists."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, bool) or value is None:
        return value
    # numbers and texts of a round-trip document are subclasses that remember how they were written
    for kind in (int, float, str):
        if isinstance(value, kind):
            return kind(value)
    if isinstance(value, datetime):
        return value.strftime("%Y-%m-%dT%H:%M:%SZ")
    return bool(value) if type(value).__name__ == "ScalarBoolean" else str(value)


def _lines(comment: Any) -> list[str]:
    lines: list[str] = []
    stack = [comment]
    while stack:
        item = stack.pop(0)
        if isinstance(item, list | tuple):
            stack = list(item) + stack
        elif item is not None and hasattr(item, "value"):
            lines += [line.strip().lstrip("#").strip() for line in str(item.value).splitlines() if line.strip()]
    return [line for line in lines if line]


def _inner(value: Any) -> list[str]:
    """Comments inside a value that is taken out."""
    lines: list[str] = []
    if hasattr(value, "ca"):
        lines += _lines(value.ca.comment)
        for comment in value.ca.items.values():
            lines += _lines(comment)
    if isinstance(value, Mapping):
        for item in value.values():
            lines += _inner(item)
    elif isinstance(value, list):
        for item in value:
            lines += _inner(item)
    return lines
