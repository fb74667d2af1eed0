"""Declared functions: overloads, and the one-line form in which the libraries write them down.

``overload id: (receiver).name(arguments) -> result`` is a method, without ``(receiver).`` a function. Types are written
as in CEL; a single capital letter is a type parameter; ``optional(T)`` stands for ``optional_type(T)``, ``authz.`` for
``kubernetes.authorization.``.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from dractl.cel import types as t


@dataclass(frozen=True, slots=True)
class Overload:
    """One signature of a function. A method's receiver is the first of ``args``."""

    id: str
    function: str
    is_method: bool
    args: tuple[t.Type, ...]
    result: t.Type
    params: tuple[str, ...] = ()
    """Names of the type parameters that occur."""


@dataclass(frozen=True, slots=True)
class Function:
    """A function or method name with its overloads, in the order in which they are tried."""

    name: str
    overloads: list[Overload]


_SIMPLE = {
    "any": t.ANY,
    "bool": t.BOOL,
    "bytes": t.BYTES,
    "double": t.DOUBLE,
    "duration": t.DURATION,
    "dyn": t.DYN,
    "int": t.INT,
    "string": t.STRING,
    "timestamp": t.TIMESTAMP,
    "uint": t.UINT,
    "net.IP": t.IP,
    "net.CIDR": t.CIDR,
}


@lru_cache(maxsize=64)
def parse_signatures(text: str) -> tuple[Overload, ...]:
    """The overloads written in ``text``, one a line."""
    return tuple(_parse_line(line) for line in text.splitlines())


def _parse_line(line: str) -> Overload:
    overload_id, _, signature = line.partition(": ")
    call, _, result = signature.rpartition(" -> ")
    is_method = call.startswith("(")
    args: list[t.Type] = []
    if is_method:
        end = _closing(call, 0)
        args.append(_parse_type(call[1:end]))
        call = call[end + 2 :]
    name, _, rest = call.partition("(")
    args += [_parse_type(arg) for arg in _split(rest[:-1])]
    result_type = _parse_type(result)
    params: dict[str, None] = {}
    for each in (*args, result_type):
        _collect_params(each, params)
    return Overload(overload_id, name, is_method, tuple(args), result_type, tuple(params))


def _closing(text: str, start: int) -> int:
    depth = 0
    for index in range(start, len(text)):
        depth += {"(": 1, ")": -1}.get(text[index], 0)
        if depth == 0:
            return index
    raise ValueError(f"unbalanced parentheses: {text}")


def _split(text: str) -> list[str]:
    parts, depth, start = [], 0, 0
    for index, char in enumerate(text):
        depth += {"(": 1, ")": -1}.get(char, 0)
        if char == "," and depth == 0:
            parts.append(text[start:index])
            start = index + 1
    parts.append(text[start:])
    return [part.strip() for part in parts if part.strip()]


@lru_cache(maxsize=256)
def _parse_type(text: str) -> t.Type:
    if text in _SIMPLE:
        return _SIMPLE[text]
    if len(text) == 1 and text.isupper():
        return t.param(text)
    if text.startswith(("kubernetes.", "authz.")):
        return t.struct(text.replace("authz.", "kubernetes.authorization."))
    head, _, rest = text.partition("(")
    inner = [_parse_type(part) for part in _split(rest[:-1])]
    match head:
        case "list":
            return t.list_of(*inner)
        case "map":
            return t.map_of(*inner)
        case "optional":
            return t.optional_of(*inner)
        case "type":
            return t.type_of(*inner)
    raise ValueError(f"unknown type: {text}")


def _collect_params(each: t.Type, into: dict[str, None]) -> None:
    if each.kind is t.Kind.PARAM:
        into[each.name] = None
    for inner in each.params:
        _collect_params(inner, into)
