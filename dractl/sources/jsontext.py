"""JSON text to values with Python's fast decoder, and on demand the place of each value.

A text may hold several values one after the other, as kubectl accepts them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from dractl.sources.yamltext import MAX_DEPTH, Path, Repeat

_SPACE = re.compile(r"[ \t\r\n]*")
_STRING = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"')
_LONG_NUMBER = re.compile(r"[0-9]{4301,}")
_OTHER = re.compile(r"[^\s,\]}]+")


class JsonProblem(Exception):
    """The text is not JSON. ``kind`` is syntax or depth; line and column count from 1."""

    def __init__(self, kind: str, message: str, line: int, column: int) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.line = line
        self.column = column


@dataclass(slots=True)
class Mark:
    """A place in a text: line and column from 0, index in characters. The same fields as a YAML mark."""

    line: int
    column: int
    index: int


@dataclass(slots=True)
class Node:
    """A value with its place, in the form of a YAML node (``id`` is mapping, sequence or scalar)."""

    id: str
    value: Any
    start_mark: Mark
    end_mark: Mark
    tag: str = ""
    style: str | None = None


@dataclass(slots=True)
class JsonTree:
    """One value, where it starts in the text, and whether some object has a key twice."""

    value: Any
    start: int
    repeated: bool


class _Constant(ValueError):
    pass


def read_values(text: str) -> Iterator[JsonTree]:
    """The values of a text.

    Raises:
        JsonProblem: at the value that cannot be read; those before it have been given out.
    """
    repeated: list[bool] = []

    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        out = dict(items)
        if len(out) != len(items):
            repeated.append(True)
        return out

    def constant(name: str) -> Any:
        raise _Constant(name)

    decoder = json.JSONDecoder(object_pairs_hook=pairs, parse_constant=constant)
    position = _after_space(text, 0)
    while position < len(text):
        repeated.clear()
        start = position
        try:
            value, position = decoder.raw_decode(text, position)
        except json.JSONDecodeError as err:
            raise JsonProblem("syntax", err.msg[:1].lower() + err.msg[1:], err.lineno, err.colno) from None
        except _Constant as err:
            line, column = line_column(text, max(text.find(str(err), start), 0))
            raise JsonProblem("syntax", f"{err} is not a JSON number", line, column) from None
        except ValueError:
            # Python does not read integers of more digits
            found = _LONG_NUMBER.search(text, start)
            line, column = line_column(text, found.start() if found else start)
            raise JsonProblem("syntax", "a number of more than 4300 digits", line, column) from None
        except RecursionError:
            raise JsonProblem("depth", f"nested deeper than {MAX_DEPTH} levels", *_deep_place(text, start)) from None
        if _too_deep(value):
            raise JsonProblem("depth", f"nested deeper than {MAX_DEPTH} levels", *_deep_place(text, start))
        yield JsonTree(value, start, bool(repeated))
        position = _after_space(text, position)


def line_column(text: str, index: int) -> tuple[int, int]:
    """Line and column, from 1, of a character."""
    return text.count("\n", 0, index) + 1, index - text.rfind("\n", 0, index)


def _after_space(text: str, position: int) -> int:
    match = _SPACE.match(text, position)
    return match.end() if match else position


def _too_deep(value: Any) -> bool:
    level = [value] if isinstance(value, dict | list) else []
    for _ in range(MAX_DEPTH):
        level = [
            child
            for item in level
            for child in (item.values() if isinstance(item, dict) else item)
            if isinstance(child, dict | list)
        ]
        if not level:
            return False
    return True


def _deep_place(text: str, start: int) -> tuple[int, int]:
    depth = 0
    for match in re.finditer(r'"(?:[^"\\]|\\.)*"|[\[\]{}]', text[start:]):
        mark = match.group()
        depth += (mark in "[{") - (mark in "]}")
        if depth > MAX_DEPTH:
            return line_column(text, start + match.start())
    return line_column(text, start)


def parse_nodes(text: str, start: int = 0, first_line: int = 0) -> Node:
    """The nodes of one value that :func:`read_values` has accepted."""
    return _Places(text, start, first_line).node()


class _Places:
    """A second, slower pass over a JSON text that keeps places."""

    def __init__(self, text: str, start: int, first_line: int) -> None:
        self.text = text
        self.position = start
        self.line = text.count("\n", 0, start)
        self.line_start = text.rfind("\n", 0, start) + 1
        self.counted = start

    def _mark(self) -> Mark:
        passed = self.text.count("\n", self.counted, self.position)
        if passed:
            self.line += passed
            self.line_start = self.text.rfind("\n", 0, self.position) + 1
        self.counted = self.position
        return Mark(self.line, self.position - self.line_start, self.position)

    def _skip(self) -> str:
        self.position = _after_space(self.text, self.position)
        return self.text[self.position : self.position + 1]

    def node(self) -> Node:
        head = self._skip()
        start = self._mark()
        value: Any
        if head == "{":
            kind, value = "mapping", self._members()
        elif head == "[":
            kind, value = "sequence", self._items()
        else:
            return self._scalar(head, start)
        return Node(kind, value, start, self._mark())

    def _scalar(self, head: str, start: Mark) -> Node:
        match = (_STRING if head == '"' else _OTHER).match(self.text, self.position)
        if match is None:
            raise ValueError("not JSON")
        self.position = match.end()
        if head == '"':
            return Node("scalar", json.loads(match.group(), strict=False), start, self._mark(), "", '"')
        return Node("scalar", match.group(), start, self._mark(), "p")

    def _items(self) -> list[Node]:
        out: list[Node] = []
        self.position += 1
        while self._skip() != "]":
            out.append(self.node())
            if self._skip() == ",":
                self.position += 1
        self.position += 1
        return out

    def _members(self) -> list[tuple[Node, Node]]:
        out: list[tuple[Node, Node]] = []
        self.position += 1
        while self._skip() != "}":
            key = self.node()
            self._skip()
            self.position += 1
            out.append((key, self.node()))
            if self._skip() == ",":
                self.position += 1
        self.position += 1
        return out


def repeats(root: Node) -> list[Repeat]:
    """Keys that stand twice in one object."""
    out: list[Repeat] = []

    def walk(node: Node, path: Path) -> None:
        if node.id == "sequence":
            for index, item in enumerate(node.value):
                walk(item, (*path, index))
        elif node.id == "mapping":
            first: dict[str, Mark] = {}
            for key, value in node.value:
                mark = key.start_mark
                if key.value in first:
                    out.append(
                        Repeat((*path, key.value), key.value, mark.line + 1, mark.column + 1, first[key.value].line + 1)
                    )
                first[key.value] = mark
                walk(value, (*path, key.value))

    walk(root, ())
    return out
