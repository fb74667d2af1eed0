"""The part of kubectl's JSONPath and custom columns that lists need; anything else is refused, never guessed.

Known are ``{.a.b}``, ``{.a['b.c/d']}``, ``[0]``, ``[-1]``, ``[*]``, ``[?(@.a=="x")]`` (also ``!=``), literals
``{"\\n"}``, text outside of braces, and ``{range .items[*]}...{end}``, not nested.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Sequence
from typing import Any

_STEP = re.compile(
    r"""\.(?P<name>(?:\\.|[^.\[\]{}()'"\s\\])+)|\[(?P<index>-?\d+)\]|\[(?P<all>\*)\]|\[(?P<quote>['"])(?P<key>.*?)(?P=quote)\]"""
    r"""|\[\?\(@(?P<path>[^=!<>()]*?)\s*(?P<operator>==|!=)\s*(?P<value>"[^"]*"|'[^']*'|true|false|-?\d+)\s*\)\]"""
)
_PART = re.compile(r"\{([^{}]*)\}|([^{}]+)")


class PathError(ValueError):
    """An expression that is not understood; the message is for the user."""


Step = tuple[str, Any]


def parse_path(text: str) -> list[Step]:
    """The steps of one path, as ``.items[*].name``; a leading ``$`` is allowed."""
    rest = text.strip().removeprefix("$")
    if rest and rest[0] not in ".[":
        rest = "." + rest
    steps: list[Step] = []
    position = 1 if rest == "." else 0
    while position < len(rest):
        found = _STEP.match(rest, position)
        if found is None:
            raise PathError(f"{rest[position:]!r} in {text!r} is not understood")
        steps.append(_step(found))
        position = found.end()
    return steps


def _step(found: re.Match[str]) -> Step:
    if found["name"] is not None:
        return ("all", None) if found["name"] == "*" else ("key", re.sub(r"\\(.)", r"\1", found["name"]))
    if found["index"] is not None:
        return ("index", int(found["index"]))
    if found["all"] is not None:
        return ("all", None)
    if found["key"] is not None:
        return ("key", found["key"])
    value = found["value"]
    wanted = value[1:-1] if value[0] in "'\"" else json.loads(value)
    return ("filter", (parse_path(found["path"]) if found["path"] else [], found["operator"] == "==", wanted))


def select(value: Any, steps: Sequence[Step]) -> list[Any]:
    """All values that a path leads to; a field that is not there leads to none."""
    found = [value]
    for kind, argument in steps:
        found = [item for one in found for item in _follow(one, kind, argument)]
    return found


def _follow(value: Any, kind: str, argument: Any) -> Iterator[Any]:
    if kind == "key":
        if isinstance(value, dict) and argument in value:
            yield value[argument]
    elif kind == "all":
        yield from value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    elif isinstance(value, list) and kind == "index":
        if -len(value) <= argument < len(value):
            yield value[argument]
    elif isinstance(value, list) and kind == "filter":
        path, equal, wanted = argument
        yield from (item for item in value if (select(item, path)[:1] == [wanted]) is equal)


def jsonpath(template: str, report: Any, known: Collection[str] | None = None) -> str:
    """A template filled in; several values of one path are separated by spaces.

    Args:
        template: as kubectl takes it.
        report: a list, with ``items``.
        known: the fields that items can have; None: not checked.

    Raises:
        PathError: for what is not understood, and for fields that there never are.
    """
    parts = _parts(template)
    if known is not None:
        _check_template(parts, report, known)
    out: list[str] = []
    position = 0
    while position < len(parts):
        braced, text = parts[position]
        if braced and text.startswith("range "):
            end = next((index for index in range(position, len(parts)) if parts[index] == (True, "end")), None)
            if end is None:
                raise PathError("{range} without {end}")
            for item in select(report, parse_path(text.removeprefix("range "))):
                out += [_fill(part, item) for part in parts[position + 1 : end]]
            position = end + 1
        else:
            out.append(_fill(parts[position], report))
            position += 1
    return "".join(out)


def _parts(template: str) -> list[tuple[bool, str]]:
    if "{" not in template:
        return [(True, template.strip())]
    parts: list[tuple[bool, str]] = []
    position = 0
    while position < len(template):
        found = _PART.match(template, position)
        if found is None:
            raise PathError(f"braces do not match at {template[position:]!r}")
        parts.append((True, found[1].strip()) if found[1] is not None else (False, found[2]))
        position = found.end()
    return parts


def _fill(part: tuple[bool, str], value: Any) -> str:
    braced, text = part
    if not braced:
        return text
    if text[:1] in ("'", '"'):
        return _literal(text)
    if text.startswith(("range ", "end")):
        raise PathError(f"{{{text}}} is not expected here")
    if text == "@":
        return plain(value)
    return " ".join(plain(item) for item in select(value, parse_path(text.removeprefix("@"))))


def _check_template(parts: list[tuple[bool, str]], report: Any, known: Collection[str]) -> None:
    inside = False
    for braced, text in parts:
        if not braced or text[:1] in ("'", '"', "@"):
            continue
        if text == "end":
            inside = False
        elif text.startswith("range "):
            steps = parse_path(text.removeprefix("range "))
            _check_root(steps, report, known)
            inside = len(steps) == 2 and steps[0] == ("key", "items")
        elif inside:
            _check_field(parse_path(text), known)
        else:
            _check_root(parse_path(text), report, known)


def _check_root(steps: Sequence[Step], report: Any, known: Collection[str]) -> None:
    if steps and steps[0][0] == "key":
        _check_field(steps, [*report, "notes"])
        if steps[0][1] == "items":
            _check_field(steps[2:], known)


def _check_field(steps: Sequence[Step], known: Collection[str]) -> None:
    if steps and steps[0][0] == "key" and steps[0][1] not in known:
        raise PathError(f"there is no field {steps[0][1]}; fields are: {', '.join(sorted(known))}")


def _literal(text: str) -> str:
    if len(text) < 2 or text[-1] != text[0]:
        raise PathError(f"{text} lacks its closing quote")
    inner = text[1:-1]
    return inner.replace("\\n", "\n").replace("\\t", "\t").replace('\\"', '"').replace("\\\\", "\\")


def plain(value: Any) -> str:
    """A value as kubectl prints it: texts as they are, objects and lists as JSON."""
    return value if isinstance(value, str) else json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def custom_columns(
    spec: str, items: Sequence[Any], known: Collection[str] | None = None
) -> tuple[list[str], list[list[str]]]:
    """Headers and cells of ``NAME:.name,HOLDER:.holders[*].name``; what is not there is ``<none>``.

    Raises:
        PathError: for a column without header or path, and for a field that is not among ``known``.
    """
    columns = []
    for text in _split(spec):
        header, colon, path = text.partition(":")
        if not header or not colon or not path:
            raise PathError(f"column {text!r} is not written as HEADER:PATH")
        steps = parse_path(path.strip().removeprefix("{").removesuffix("}"))
        if known is not None:
            _check_field(steps, known)
        columns.append((header, steps))
    rows = [
        [",".join(plain(value) for value in select(item, steps)) or "<none>" for _, steps in columns] for item in items
    ]
    return [header for header, _ in columns], rows


def _split(spec: str) -> Iterator[str]:
    """At commas outside of brackets."""
    yield from (text.strip() for text in re.split(r",(?![^\[]*\])", spec))
