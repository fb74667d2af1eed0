"""YAML text to JSON values as kubectl reads it (YAML 1.1 with the scalars of go-yaml 2), with the place of each value.

libyaml composes the nodes; the values are built from them here, so that every value's line and column is known without
a second pass. Differences from PyYAML's own loader, all as in kubectl: ``1:30`` and dates stay text, ``1e3`` is a
number, ``010`` is eight, ``y`` and ``on`` are true, keys become text, a later key of the same name wins.
Source: go.yaml.in/yaml/v2 ``resolve`` and sigs.k8s.io/yaml.
"""

from __future__ import annotations

import base64
import binascii
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Any

MAX_DEPTH = 200
"""Levels of nesting that are followed. Kubernetes objects need about 30."""

MAX_EXPANDED = 2_000_000
"""Nodes that a document may have after its aliases are written out."""

Path = tuple[str | int, ...]

_INT = re.compile(r"[-+]?(0[xX][0-9a-fA-F]+|0[bB][01]+|0[oO][0-7]+|0[0-7]+|0|[1-9][0-9]*)")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_TAG = "tag:yaml.org,2002:"
_MISSING = object()

_WORDS: dict[str, Any] = {
    **dict.fromkeys(["y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"], True),
    **dict.fromkeys(["n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"], False),
    **dict.fromkeys(["", "~", "null", "Null", "NULL"], None),
    **dict.fromkeys([".nan", ".NaN", ".NAN"], math.nan),
    **dict.fromkeys([".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"], math.inf),
    **dict.fromkeys(["-.inf", "-.Inf", "-.INF"], -math.inf),
}


class YamlProblem(Exception):
    """The text is not usable YAML. ``kind`` is syntax, depth, alias or value; line and column count from 1."""

    def __init__(self, kind: str, message: str, line: int, column: int, context: str = "") -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.line = line
        self.column = column
        self.context = context


@dataclass(slots=True)
class Repeat:
    """A key written twice in one mapping: where the second stands, and the line of the first."""

    path: Path
    key: str
    line: int
    column: int
    first_line: int


@dataclass(slots=True)
class YamlTree:
    """One document: its value, the nodes behind it and the keys that were written twice."""

    value: Any
    node: Any
    repeats: list[Repeat] = field(default_factory=list)
    aliased: bool = False


def plain_scalar(text: str) -> Any:
    """What an unquoted scalar stands for."""
    if text in _WORDS:
        return _WORDS[text]
    head = text[0]
    if head not in "+-.0123456789":
        return text
    bare = text.replace("_", "")
    if head != "." and _INT.fullmatch(bare):
        return _integer(bare)
    if _FLOAT.fullmatch(text if head == "." else bare):
        return _number(float(bare), text)
    return text


def _number(value: float, text: str) -> Any:
    """A float as it arrives after the step through JSON: whole numbers are integers, what overflows stays text."""
    if math.isinf(value):
        return text
    return int(value) if value.is_integer() and abs(value) < 1e21 else value


def _integer(text: str) -> Any:
    sign, digits = (-1, text[1:]) if text[0] == "-" else (1, text.lstrip("+"))
    prefix = digits[:2].lower()
    if prefix in ("0x", "0b", "0o"):
        number = int(digits, 0)
    elif len(digits) > 1 and digits[0] == "0":
        number = int(digits, 8)
    elif len(digits) > 40:
        return _number(float(text), text)
    else:
        number = int(digits)
    number *= sign
    return number if -(2**63) <= number < 2**64 else _number(float(number), text)


@cache
def _loader() -> Any:
    """The composer: libyaml's parser with a resolver that only tells plain scalars from quoted ones."""
    import yaml
    from yaml._yaml import CParser

    class Composer(CParser):
        def __init__(self, text: str) -> None:
            CParser.__init__(self, text)

        def resolve(self, kind: Any, value: Any, implicit: Any) -> str:
            return "p" if kind is yaml.ScalarNode and implicit[0] else ""

        def descend_resolver(self, current_node: Any, current_index: Any) -> None:
            pass

        def ascend_resolver(self) -> None:
            pass

    return Composer


def read_documents(text: str, first_line: int = 0) -> Iterator[YamlTree]:
    """The documents of a text. ``first_line`` is the number of lines before it in its file.

    Raises:
        YamlProblem: at the document that cannot be read; those before it have been given out.
    """
    import yaml

    composer = None
    try:
        composer = _loader()(text)
        while composer.check_node():
            yield _tree(composer.get_node(), first_line, aliases="&" in text)
    except yaml.composer.ComposerError as err:
        if "duplicate anchor" in f"{err.problem} {err.context}":
            yield from _read_by_events(text, first_line)
            return
        raise _problem(err, first_line) from None
    except yaml.MarkedYAMLError as err:
        raise _problem(err, first_line) from None
    except yaml.reader.ReaderError as err:
        line, column = _line_of(text, err.position)
        what = f"character U+{err.character:04X} is not allowed in YAML" if isinstance(err.character, int) else str(err)
        raise YamlProblem("syntax", what, line + first_line, column) from None
    finally:
        if composer is not None:
            composer.dispose()


def _line_of(text: str, position: int | None) -> tuple[int, int]:
    if position is None:
        return 1, 1
    before = text[:position]
    return before.count("\n") + 1, position - (before.rfind("\n") + 1) + 1


def _problem(err: Any, first_line: int) -> YamlProblem:
    mark = err.problem_mark or err.context_mark
    line, column = (mark.line + first_line + 1, mark.column + 1) if mark else (first_line + 1, 1)
    problem = str(err.problem or err.context or err)
    if "nesting depth" in problem:
        return YamlProblem("depth", f"nested deeper than {MAX_DEPTH} levels", line, column)
    kind = "alias" if "alias" in problem else "syntax"
    return YamlProblem(kind, problem, line, column, str(err.context or ""))


def _read_by_events(text: str, first_line: int) -> Iterator[YamlTree]:
    """As :func:`read_documents`, for texts that define an anchor twice: the later definition counts from there on."""
    import yaml

    parser = _loader()(text)
    try:
        event = parser.get_event()
        while not isinstance(event, yaml.StreamEndEvent):
            if isinstance(event, yaml.DocumentStartEvent):
                anchors: dict[str, Any] = {}
                node = _compose(parser, parser.get_event(), anchors, 0)
                parser.get_event()
                yield _tree(node, first_line, aliases=True)
            event = parser.get_event()
    except yaml.MarkedYAMLError as err:
        raise _problem(err, first_line) from None
    finally:
        parser.dispose()


def _compose(parser: Any, event: Any, anchors: dict[str, Any], depth: int) -> Any:
    import yaml

    mark = event.start_mark
    if depth > MAX_DEPTH:
        raise YamlProblem("depth", f"nested deeper than {MAX_DEPTH} levels", mark.line + 1, mark.column + 1)
    if isinstance(event, yaml.AliasEvent):
        if event.anchor not in anchors:
            raise yaml.composer.ComposerError(None, None, f"found undefined alias {event.anchor!r}", mark)
        return anchors[event.anchor]
    node: Any
    if isinstance(event, yaml.ScalarEvent):
        tag = event.tag if event.tag not in (None, "!") else ("p" if event.implicit[0] else "")
        node = yaml.ScalarNode(tag, event.value, mark, event.end_mark, event.style)  # type: ignore[arg-type]
        if event.anchor:
            anchors[event.anchor] = node
        return node
    sequence = isinstance(event, yaml.SequenceStartEvent)
    node = yaml.SequenceNode("", [], mark) if sequence else yaml.MappingNode("", [], mark)
    node.flow_style = event.flow_style
    if event.anchor:
        anchors[event.anchor] = node
    event = parser.get_event()
    while not isinstance(event, yaml.SequenceEndEvent | yaml.MappingEndEvent):
        item = _compose(parser, event, anchors, depth + 1)
        node.value.append(item if sequence else (item, _compose(parser, parser.get_event(), anchors, depth + 1)))
        event = parser.get_event()
    node.end_mark = event.end_mark
    return node


def _tree(node: Any, first_line: int, aliases: bool) -> YamlTree:
    if not aliases:
        try:
            return YamlTree(_quick(node, 0), node)
        except _NotQuick:
            pass
    builder = _Builder(first_line)
    value = builder.build(node, 0)
    tree = YamlTree(value, node, builder.repeats, builder.aliased)
    if builder.aliased:
        _check_expansion(node, first_line)
    if builder.repeats:
        _name_repeats(tree, builder.repeat_nodes)
    return tree


class _NotQuick(Exception):
    """The document has something that only the careful builder handles."""


def _quick(node: Any, depth: int) -> Any:
    """The value of a node without aliases, merges, tags and repeated keys, which almost all documents are."""
    kind = node.id
    if kind == "scalar":
        tag = node.tag
        if tag == "p":
            value = plain_scalar(node.value)
            if value.__class__ is float and not math.isfinite(value):
                raise _NotQuick
            return value
        if tag == "":
            return node.value
        raise _NotQuick
    if depth > MAX_DEPTH:
        raise _NotQuick
    if kind == "sequence":
        return [_quick(item, depth + 1) for item in node.value]
    out: dict[str, Any] = {}
    for key, item in node.value:
        name = key.value
        if key.id != "scalar" or (key.tag == "p" and (name == "<<" or plain_scalar(name) is not name)):
            raise _NotQuick
        out[name] = _quick(item, depth + 1)
    if len(out) != len(node.value):
        raise _NotQuick
    return out


class _Builder:
    """Values from nodes. A node that aliases share is built once and shared."""

    def __init__(self, first_line: int) -> None:
        self.first_line = first_line
        self.repeats: list[Repeat] = []
        self.repeat_nodes: list[Any] = []
        self.aliased = False
        self._built: dict[int, Any] = {}
        self._open: set[int] = set()

    def build(self, node: Any, depth: int) -> Any:
        kind = node.id
        if kind == "scalar":
            tag = node.tag
            value: Any = node.value if tag == "" else plain_scalar(node.value) if tag == "p" else self._tagged(node)
            if isinstance(value, float) and not math.isfinite(value):
                raise self._fail("value", f"{node.value} cannot be sent: JSON has no such number", node)
            return value
        identity = id(node)
        if identity in self._built:
            self.aliased = True
            return self._built[identity]
        if identity in self._open:
            raise self._fail("alias", "an anchor contains itself", node)
        if depth > MAX_DEPTH:
            raise self._fail("depth", f"nested deeper than {MAX_DEPTH} levels", node)
        self._open.add(identity)
        if kind == "sequence":
            value = [self.build(item, depth + 1) for item in node.value]
        else:
            value = self._mapping(node, depth)
        self._open.discard(identity)
        self._built[identity] = value
        return value

    def _mapping(self, node: Any, depth: int) -> dict[str, Any]:
        out: dict[str, Any] = {}
        first: dict[str, Any] = {}
        for key_node, value_node in node.value:
            if key_node.value == "<<" and key_node.tag == "p":
                self._merge(out, value_node, depth)
                continue
            key = self._key(key_node)
            if key in first:
                self.repeat_nodes.append(key_node)
                mark = key_node.start_mark
                line = mark.line + self.first_line + 1
                self.repeats.append(
                    Repeat((), key, line, mark.column + 1, first[key].start_mark.line + self.first_line + 1)
                )
            first[key] = key_node
            out[key] = self.build(value_node, depth + 1)
        return out

    def _merge(self, out: dict[str, Any], node: Any, depth: int) -> None:
        sources = node.value if node.id == "sequence" else [node]
        for source in reversed(sources):
            value = self.build(source, depth + 1)
            if not isinstance(value, dict):
                raise self._fail("value", "map merge requires map or sequence of maps as the value", source)
            self.aliased = True
            out.update(value)

    def _key(self, node: Any) -> str:
        if node.id != "scalar":
            raise self._fail("value", "a key has to be a text, not a mapping or a list", node)
        if node.tag == "":
            return str(node.value)
        value = plain_scalar(node.value) if node.tag == "p" else self._tagged(node)
        if isinstance(value, str):
            return value
        if value is None:
            raise self._fail("value", "a key is empty (null)", node)
        if isinstance(value, bool):
            return "true" if value else "false"
        return f"{value:g}" if isinstance(value, float) else str(value)

    def _tagged(self, node: Any) -> Any:
        text, tag = node.value, node.tag.removeprefix(_TAG)
        if tag == "str":
            return text
        if tag == "binary":
            try:
                return base64.b64decode(text, validate=False).decode("utf-8", "replace")
            except (binascii.Error, ValueError):
                raise self._fail("value", "!!binary value contains invalid base64 data", node) from None
        value = plain_scalar(text)
        if tag == "float" and isinstance(value, int) and not isinstance(value, bool):
            return float(value)
        kinds: dict[str, Any] = {"int": int, "float": float, "bool": bool, "null": type(None)}
        wanted = kinds.get(tag, _MISSING)
        if wanted is _MISSING:
            return text
        if type(value) is not wanted:
            raise self._fail("value", f"cannot read `{text[:60]}` as !!{tag}", node)
        return value

    def _fail(self, kind: str, message: str, node: Any) -> YamlProblem:
        mark = node.start_mark
        return YamlProblem(kind, message, mark.line + self.first_line + 1, mark.column + 1)


def _check_expansion(root: Any, first_line: int) -> None:
    """Refuse a document that grows out of proportion when its aliases are written out (as go-yaml does)."""
    sizes: dict[int, int] = {}

    def size(node: Any) -> int:
        known = sizes.get(id(node))
        if known is not None:
            return known
        total = 1
        if node.id == "sequence":
            total += sum(size(item) for item in node.value)
        elif node.id == "mapping":
            total += sum(size(key) + size(value) for key, value in node.value)
        sizes[id(node)] = total
        return total

    expanded = size(root)
    written = len(sizes)
    aliased = expanded - written
    if aliased > 100 and expanded > 1000 and aliased / expanded > _allowed_ratio(expanded):
        mark = root.start_mark
        raise YamlProblem(
            "alias",
            f"{written} values become {expanded} when the aliases are written out",
            mark.line + first_line + 1,
            mark.column + 1,
        )


def _allowed_ratio(expanded: int) -> float:
    low, high = 400_000, 4_000_000
    if expanded <= low:
        return 0.99
    if expanded >= high:
        return 0.10
    return 0.99 - 0.89 * (expanded - low) / (high - low)


def _name_repeats(tree: YamlTree, keys: list[Any]) -> None:
    """Fill in the paths of repeated keys."""
    wanted = {id(node): repeat for node, repeat in zip(keys, tree.repeats, strict=True)}
    stack: list[tuple[Any, Path]] = [(tree.node, ())]
    seen: set[int] = set()
    while stack:
        node, path = stack.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if node.id == "sequence":
            stack.extend((item, (*path, index)) for index, item in enumerate(node.value))
        elif node.id == "mapping":
            for key, value in node.value:
                below = (*path, key.value if isinstance(key.value, str) else "")
                if id(key) in wanted:
                    wanted[id(key)].path = below
                stack.append((value, below))


def find_node(root: Any, path: Path) -> tuple[Any, Any, int]:
    """The key node and value node at a path, or those of the nearest value above it.

    Returns:
        The key node (None for list items and the root), the value node, and how many steps of the path exist.
    """
    key: Any = None
    node = root
    for depth, step in enumerate(path):
        found = _child(node, step)
        if found is None:
            return key, node, depth
        key, node = found
    return key, node, len(path)


def _child(node: Any, step: str | int) -> tuple[Any, Any] | None:
    if node.id == "sequence" and isinstance(step, int):
        return (None, node.value[step]) if 0 <= step < len(node.value) else None
    if node.id != "mapping" or not isinstance(step, str):
        return None
    for key, value in reversed(node.value):
        written = key.value
        if written == step and written != "<<":
            return key, value
        if written == "<<" and key.tag == "p":
            for source in value.value if value.id == "sequence" else [value]:
                merged = _child(source, step)
                if merged is not None:
                    return merged
        elif key.tag == "p" and plain_scalar(written).__class__ is not str and _key_text(key) == step:
            return key, value
    return None


def _key_text(node: Any) -> str:
    value = plain_scalar(node.value)
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{value:g}" if isinstance(value, float) else str(value)
