"""Manifests from files, directories and stdin, one document at a time, each value with its line and column.

Text is cut at the ``---`` lines before it is parsed, so memory follows the largest document and not the file, and a
document that cannot be read does not hide the ones after it.
"""

from __future__ import annotations

import itertools
import os
import re
import stat
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path as FilePath
from typing import Any, BinaryIO

from dractl.sources import jsontext, yamltext
from dractl.sources.scalars import character_index
from dractl.sources.yamltext import Path, Repeat

STDIN = "-"
STDIN_NAME = "<stdin>"
SUFFIXES = (".yaml", ".yml", ".json")
_ENDINGS = ".yaml, .yml or .json"
SKIPPED_FOLDERS = frozenset({"node_modules", "__pycache__"})
WHOLE_FILE = 1024 * 1024
"""Files up to this size (bytes) are read at once, larger ones document by document."""

EXCERPT = 240
"""Characters of a source line that are kept for showing it."""

_SHORT = 80
_EMPTY_DOCUMENT = "- \r\n"
_SEPARATOR = re.compile(r"^---(?:[ \t].*)?\r?$", re.MULTILINE)
_IGNORE = re.compile(r"#\s*dractl:ignore(?P<file>-file)?=(?P<codes>[A-Za-z0-9_,\-]+)[ \t]*(?P<reason>.*)")
_TEMPLATE = re.compile(r"\{\{-?\s*[.$a-zA-Z(/]")
_GLOB = re.compile(r"[*?\[]")


@dataclass(slots=True)
class Place:
    """Where something stands: line and column from 1, the length in characters, and the text of the line."""

    line: int
    column: int
    length: int = 1
    excerpt: str = ""
    excerpt_column: int = 0
    """The column of the mark in ``excerpt`` (from 1), which is cut out of very long lines."""
    key_line: int = 0
    """The line of the key that the value belongs to."""


@dataclass(slots=True)
class Problem:
    """Input that could not be read. ``kind`` is unreadable, empty, binary, syntax, json, template, depth, alias or
    value.
    """

    source: str
    kind: str
    message: str
    place: Place | None = None
    context: str = ""


@dataclass(slots=True)
class Ignore:
    """A comment ``# dractl:ignore=CODES reason``: the lines that it covers (None: the whole document or file)."""

    codes: frozenset[str]
    reason: str
    lines: tuple[int, int] | None
    line: int


@dataclass(slots=True)
class Text:
    """A piece of a file that holds one or more documents, and what is needed to find places in it."""

    source: str
    text: str
    first_line: int
    is_json: bool = False
    ignores: list[Ignore] = field(default_factory=list)


@dataclass(slots=True)
class Document:
    """One object of a manifest.

    ``index`` counts the documents of the file from 1; ``prefix`` is the path inside the document for items of a List.
    """

    text: Text
    index: int
    value: Any
    node: Any
    start: int = 0
    prefix: Path = ()
    repeats: list[Repeat] = field(default_factory=list)

    @property
    def source(self) -> str:
        """The name of the file as it was given."""
        return self.text.source

    @property
    def line(self) -> int:
        """The first line of the object."""
        _, node, _ = yamltext.find_node(self._root(), self.prefix)
        return int(node.start_mark.line) + self.text.first_line + 1

    def _root(self) -> Any:
        if self.node is None:
            self.node = jsontext.parse_nodes(self.text.text, self.start)
        return self.node

    def place(self, path: Path, *, key: bool = False, offset: int | None = None) -> Place:
        """Where the value at a path stands, or the nearest value above it that exists.

        Args:
            path: keys and indices from the object's root.
            key: the place of the key instead of the value's.
            offset: a character (from 0) inside the value, which has to be a text.
        """
        full = (*self.prefix, *path)
        key_node, node, found = yamltext.find_node(self._root(), full)
        complete = found == len(full)
        if path and found == len(self.prefix):
            # of what is missing altogether nothing can be shown but what the object is
            key_node, node, _ = yamltext.find_node(self._root(), (*self.prefix, "kind"))
        text = self.text.text
        key_line = (key_node or node).start_mark.line + self.text.first_line + 1
        if offset is not None and complete and node.id == "scalar":
            index = character_index(text, node, offset)
            line = self.text.first_line + text.count("\n", 0, index) + 1
            place = self._at(line, index, 1)
        else:
            target = node
            if key_node is not None and (key or not complete or node.id != "scalar" or node.value == ""):
                target = key_node
            mark = target.start_mark
            length = target.end_mark.index - mark.index if target.id == "scalar" else 1
            place = self._at(mark.line + self.text.first_line + 1, mark.index, length)
        place.key_line = key_line
        return place

    def written(self, full: Path) -> str | None:
        """An unquoted scalar as it is written (``y`` for true), by its path from the root; None for other values."""
        _, node, found = yamltext.find_node(self._root(), full)
        plain = found == len(full) and node.id == "scalar" and node.tag == "p" and not self.text.is_json
        return str(node.value) if plain else None

    def _at(self, line: int, index: int, length: int) -> Place:
        text = self.text.text
        start = text.rfind("\n", 0, index) + 1
        end = text.find("\n", index)
        return _place(text[start : end if end >= 0 else len(text)], line, index - start + 1, length)


def _place(row: str, line: int, column: int, length: int = 1) -> Place:
    row = row.rstrip("\r\n")
    length = max(1, min(length, len(row) - column + 1))
    shown, mark = row, column
    if len(row) > EXCERPT:
        cut = max(0, min(column - 1 - EXCERPT // 3, len(row) - EXCERPT))
        shown, mark = row[cut : cut + EXCERPT], column - cut
        length = min(length, EXCERPT - mark + 1)
    return Place(line, column, length, shown.replace("\t", " "), mark, line)


# --- which files ----------------------------------------------------------------------------------------------------


def find_inputs(paths: Iterable[str]) -> Iterator[str | Problem]:
    """The files behind the arguments: files as they are, folders with everything below, globs, ``-`` for stdin.

    Folders whose name starts with a dot are passed over, symbolic links are followed once.
    """
    for argument in paths:
        if argument == STDIN:
            yield STDIN
            continue
        path = FilePath(argument)
        try:
            if path.is_dir():
                found = list(_folder(argument, set()))
                yield from found or [Problem(argument, "empty", f"no {_ENDINGS} file in this folder or below")]
            elif path.exists() or not _GLOB.search(argument):
                yield argument
            else:
                yield from _matches(argument)
        except OSError as err:
            yield Problem(argument, "unreadable", _reason(err))


def _matches(pattern: str) -> Iterator[str | Problem]:
    import glob

    found = sorted(glob.glob(pattern, recursive=True))  # noqa: PTH207 (the pattern may be absolute)
    if not found:
        yield Problem(pattern, "unreadable", "no file matches this pattern")
    for name in found:
        if FilePath(name).is_dir():
            yield from _folder(name, set())
        else:
            yield name


def _folder(folder: str, seen: set[tuple[int, int]]) -> Iterator[str | Problem]:
    try:
        status = os.stat(folder)  # noqa: PTH116 (device and inode)
        if (status.st_dev, status.st_ino) in seen:
            return
        seen.add((status.st_dev, status.st_ino))
        with os.scandir(folder) as listing:
            entries = sorted(listing, key=lambda entry: entry.name)
    except OSError as err:
        yield Problem(folder, "unreadable", _reason(err))
        return
    for entry in entries:
        try:
            is_folder = entry.is_dir()
        except OSError as err:
            yield Problem(entry.path.removeprefix("./"), "unreadable", _reason(err))
            continue
        if is_folder:
            if not entry.name.startswith(".") and entry.name not in SKIPPED_FOLDERS:
                yield from _folder(entry.path, seen)
        elif entry.name.endswith(SUFFIXES):
            yield entry.path.removeprefix("./")


def _reason(err: OSError) -> str:
    text = err.strerror or str(err)
    return text[:1].lower() + text[1:]


# --- documents ------------------------------------------------------------------------------------------------------


def read_file(name: str) -> Iterator[Document | Problem]:
    """The objects of one file (or of stdin), and what could not be read of it."""
    if name == STDIN:
        yield from read_stream(sys.stdin.buffer, STDIN_NAME)
        return
    try:
        status = os.stat(name)  # noqa: PTH116 (thousands of files: a Path costs more)
        if not stat.S_ISREG(status.st_mode):
            yield Problem(name, "unreadable", "not a regular file")
            return
        with open(name, "rb") as stream:  # noqa: PTH123
            if status.st_size < WHOLE_FILE:
                # no buffer of the size of WHOLE_FILE for a small file
                yield from _read_bytes(stream.read(), name)
            else:
                yield from read_stream(stream, name)
    except OSError as err:
        yield Problem(name, "unreadable", _reason(err))


def read_stream(stream: BinaryIO, source: str) -> Iterator[Document | Problem]:
    """As :func:`read_file`, from an open file."""
    head = stream.read(WHOLE_FILE)
    more = b"" if len(head) < WHOLE_FILE else stream.read(1)
    if not more:
        yield from _read_bytes(head, source)
    elif head.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] in (b"{", b"["):
        yield from _read_bytes(head + more + stream.read(), source)
    else:
        yield from _documents(_large_chunks(stream, head + more), source)


def _read_bytes(data: bytes, source: str) -> Iterator[Document | Problem]:
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        yield Problem(source, "binary", "UTF-16 text, Kubernetes' tools read UTF-8")
        return
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as err:
        yield _not_utf8(data, err, source, 0)
        return
    if "\x00" in text:
        yield Problem(source, "binary", "binary data, not a manifest")
        return
    yield from read_text(text, source)


def read_text(text: str, source: str) -> Iterator[Document | Problem]:
    """The objects of a text."""
    head = text.lstrip()[:2]
    if head[:1] in ("{", "[") and head != "{{":
        documents = _json_documents(text, source)
        first = next(documents, None)
        # a file in YAML's flow style starts like JSON
        if source.endswith(".json") or not (isinstance(first, Problem) and first.kind == "json"):
            yield from documents if first is None else itertools.chain([first], documents)
            return
    yield from _documents(_chunks(text), source)


def _json_documents(text: str, source: str) -> Iterator[Document | Problem]:
    piece = Text(source, text, 0, is_json=True)
    index = 0
    try:
        for tree in jsontext.read_values(text):
            index += 1
            document = Document(piece, index, tree.value, None, tree.start)
            if tree.repeated:
                document.node = jsontext.parse_nodes(text, tree.start)
                document.repeats = jsontext.repeats(document.node)
            yield from _items(document)
    except jsontext.JsonProblem as problem:
        row = text.split("\n", problem.line)[problem.line - 1]
        kind = "json" if problem.kind == "syntax" else problem.kind
        yield Problem(source, kind, problem.message, _place(row, problem.line, problem.column))


def split_text(text: str) -> list[str]:
    """The pieces of a text, each with one or more documents; together they are the text."""
    return [piece for piece, _ in _chunks(text)]


def _chunks(text: str) -> Iterator[tuple[str, int]]:
    """Pieces that start at a ``---`` line, with the number of lines before them."""
    if "\n---" not in text:
        yield text, 0
        return
    start = line = 0
    for match in _SEPARATOR.finditer(text):
        piece = text[start : match.start()]
        if piece and not _only_directives(piece):
            yield piece, line
            line += piece.count("\n")
            start = match.start()
    yield text[start:], line


def _only_directives(piece: str) -> bool:
    rows = piece.split("\n")
    return any(row.startswith("%") for row in rows) and all(not row.strip() or row[0] in "%#" for row in rows)


def _large_chunks(stream: BinaryIO, head: bytes) -> Iterator[tuple[str | UnicodeDecodeError, int]]:
    """As :func:`_chunks`, for a file that is not held in memory."""
    rest = head.removeprefix(b"\xef\xbb\xbf")
    line = 0
    while True:
        more = stream.read(WHOLE_FILE)
        cut = rest.rfind(b"\n---") + 1 if more else len(rest)
        if cut > 0 or not more:
            done, rest = rest[:cut], rest[cut:]
            try:
                text = done.decode("utf-8")
            except UnicodeDecodeError as err:
                yield err, line
            else:
                for piece, before in _chunks(text):
                    yield piece, line + before
            line += done.count(b"\n")
        if not more:
            return
        rest += more


def _documents(chunks: Iterable[tuple[str | UnicodeDecodeError, int]], source: str) -> Iterator[Document | Problem]:
    index = 0
    file_ignores: list[Ignore] = []
    for chunk, first_line in chunks:
        if isinstance(chunk, UnicodeDecodeError):
            yield _not_utf8(chunk.object, chunk, source, first_line)
            continue
        if len(chunk) < _SHORT and not chunk.strip(_EMPTY_DOCUMENT):
            continue
        piece = Text(source, chunk, first_line)
        if "dractl:ignore" in chunk:
            piece.ignores = _ignores(chunk, first_line)
            file_ignores += [ignore for ignore in piece.ignores if ignore.lines is None and ignore.line < 0]
        piece.ignores = [*piece.ignores, *file_ignores]
        try:
            for tree in yamltext.read_documents(chunk, first_line):
                if tree.value is None:
                    continue
                index += 1
                document = Document(piece, index, tree.value, tree.node, repeats=tree.repeats)
                yield from _items(document)
        except yamltext.YamlProblem as problem:
            yield _yaml_problem(problem, piece)


def documents_in(piece: Text, index: int) -> list[Document]:
    """The objects of one piece of YAML.

    Raises:
        YamlProblem: where the piece cannot be read.
    """
    if "dractl:ignore" in piece.text:
        piece.ignores = _ignores(piece.text, piece.first_line)
    out: list[Document] = []
    for number, tree in enumerate(yamltext.read_documents(piece.text, piece.first_line)):
        if tree.value is not None:
            whole = Document(piece, index + number, tree.value, tree.node, repeats=tree.repeats)
            out += [one for one in _items(whole) if isinstance(one, Document)]
    return out


def _yaml_problem(problem: yamltext.YamlProblem, piece: Text) -> Problem:
    rows = piece.text.split("\n")
    number = min(max(problem.line - piece.first_line - 1, 0), len(rows) - 1)
    place = _place(rows[number], number + piece.first_line + 1, problem.column)
    kind = problem.kind
    if kind in ("syntax", "value") and _TEMPLATE.search(piece.text):
        kind = "template"
    message = problem.message
    if "\t" in rows[number][: problem.column] and kind == "syntax":
        message = f"a tab is used for indentation ({message})"
    return Problem(piece.source, kind, message, place, problem.context)


def _not_utf8(data: bytes, err: UnicodeDecodeError, source: str, first_line: int) -> Problem:
    if b"\x00" in data[:4096]:
        return Problem(source, "binary", "binary data, not a manifest")
    line = data.count(b"\n", 0, err.start)
    row_start = data.rfind(b"\n", 0, err.start) + 1
    row_end = data.find(b"\n", err.start)
    row = data[row_start : row_end if row_end >= 0 else len(data)].decode("utf-8", "replace")
    column = len(data[row_start : err.start].decode("utf-8", "replace")) + 1
    message = f"byte 0x{data[err.start]:02x} is not UTF-8"
    return Problem(source, "binary", message, _place(row, first_line + line + 1, column))


def _items(document: Document) -> Iterator[Document | Problem]:
    """The document itself, or the objects of a List."""
    value = document.value
    kind = value.get("kind") if isinstance(value, dict) else None
    items = value.get("items") if isinstance(value, dict) else None
    if not isinstance(kind, str) or not kind.endswith("List") or not isinstance(items, list):
        yield document
        return
    inner = kind.removesuffix("List")
    version = value.get("apiVersion")
    for index, item in enumerate(items):
        shown = item
        if inner and isinstance(item, dict) and "kind" not in item:
            shown = {"apiVersion": version, "kind": inner, **item}
        inner_document = Document(
            document.text,
            document.index,
            shown,
            document.node,
            document.start,
            (*document.prefix, "items", index),
            _below(document.repeats, ("items", index)),
        )
        # a list in a list, as pipelines that join outputs make them
        yield from _items(inner_document)


def _below(repeats: list[Repeat], prefix: Path) -> list[Repeat]:
    size = len(prefix)
    return [
        Repeat(one.path[size:], one.key, one.line, one.column, one.first_line)
        for one in repeats
        if one.path[:size] == prefix
    ]


# --- comments that silence ------------------------------------------------------------------------------------------


def _ignores(chunk: str, first_line: int) -> list[Ignore]:
    """The ``# dractl:ignore=`` comments of a piece.

    Behind a value the comment is for that line; on a line of its own for the next line, or for the whole document where
    nothing stands before it. ``# dractl:ignore-file=`` is for everything from there to the end of the file.
    """
    rows = chunk.split("\n")
    out: list[Ignore] = []
    for number, row in enumerate(rows):
        match = _IGNORE.search(row)
        if match is None:
            continue
        codes = frozenset(code.upper() for code in match["codes"].split(",") if code)
        reason = match["reason"].strip()
        line = first_line + number + 1
        if match["file"]:
            out.append(Ignore(codes, reason, None, -line))
        elif row[: match.start()].strip():
            out.append(Ignore(codes, reason, (line, line), line))
        elif any(_has_content(before) for before in rows[:number]):
            after = next((i for i in range(number + 1, len(rows)) if _has_content(rows[i])), number)
            out.append(Ignore(codes, reason, (line, first_line + after + 1), line))
        else:
            out.append(Ignore(codes, reason, None, line))
    return out


def _has_content(row: str) -> bool:
    text = row.strip()
    return bool(text) and not text.startswith(("#", "---", "%"))
