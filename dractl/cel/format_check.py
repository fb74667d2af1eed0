"""Checks ``string.format`` calls whose format and argument list are literals.

Source: cel-go's ``ext/formatting.go``.
"""

from __future__ import annotations

from collections.abc import Callable

from dractl.cel.ast import Call, ListExpr, Literal, MapExpr, Node
from dractl.cel.checked import Checked
from dractl.cel.errors import Issues
from dractl.cel.types import DYN, Kind

_STRINGS = (
    Kind.LIST,
    Kind.MAP,
    Kind.INT,
    Kind.UINT,
    Kind.DOUBLE,
    Kind.BOOL,
    Kind.STRING,
    Kind.TIMESTAMP,
    Kind.BYTES,
    Kind.DURATION,
    Kind.TYPE,
    Kind.NULL,
)
# What a clause takes, and how cel-go says so.
_CLAUSES: dict[str, tuple[tuple[Kind, ...], str]] = {
    "d": ((Kind.INT, Kind.UINT), "decimal clause can only be used on integers"),
    "f": ((Kind.DOUBLE, Kind.STRING), "fixed-point clause can only be used on doubles"),
    "e": ((Kind.DOUBLE, Kind.STRING), "scientific clause can only be used on doubles"),
    "b": ((Kind.INT, Kind.UINT, Kind.BOOL), "only integers and bools can be formatted as binary"),
    "x": (
        (Kind.INT, Kind.UINT, Kind.STRING, Kind.BYTES),
        "only integers, byte buffers, and strings can be formatted as hex",
    ),
    "o": ((Kind.INT, Kind.UINT), "octal clause can only be used on integers"),
}
_CLAUSES["X"] = _CLAUSES["x"]
_STRING_CLAUSE = (
    "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and"
    " timestamps"
)


class _FormatFault(Exception):
    """What is wrong with a format; ``node`` is the argument to blame, None for the call."""

    def __init__(self, message: str, node: Node | None = None) -> None:
        super().__init__(message)
        self.node = node


def check_format(node: Call, checked: Checked, issues: Issues) -> None:
    """Reports a format that cannot work with its arguments, or that has too many."""
    if node.function != "format" or "string_format" not in checked.overloads(node.id):
        return
    match node:
        case Call(target=Literal(value=str(text)), args=[ListExpr(elements=args)]):
            pass
        case _:
            return
    try:
        used = _check_clauses(text, args, lambda arg: checked.types[arg.id].kind, checked)
    except _FormatFault as fault:
        issues.add((fault.node or node).pos, str(fault))
        return
    if len(args) > used:
        issues.add(node.pos, f"too many arguments supplied to string.format (expected {used}, got {len(args)})")


def _check_clauses(text: str, args: list[Node], kind: Callable[[Node], Kind], checked: Checked) -> int:
    """Checks each clause against its argument; returns how many clauses there are."""
    # cel-go reads bytes: a clause letter beyond ASCII is one byte of it
    data = text.encode("utf-8", "surrogatepass").decode("latin-1")
    at = used = 0
    while at < len(data):
        if data[at] != "%":
            at += 1
        elif data[at + 1 : at + 2] == "%":
            at += 2
        else:
            if at + 1 >= len(data):
                raise _FormatFault("unexpected end of string")
            if used >= len(args):
                raise _FormatFault(f"index {used} out of range")
            at = _skip_precision(data, at + 1)
            _check_clause(data[at], args[used], checked)
            at += 1
            used += 1
    return used


def _skip_precision(data: str, at: int) -> int:
    if data[at] != ".":
        return at
    end = at + 1
    while end < len(data) and data[end] in "0123456789":
        end += 1
    parsing = "could not parse formatting clause: error while parsing precision: "
    if end >= len(data):
        raise _FormatFault(parsing + "could not find end of precision specifier")
    digits = data[at + 1 : end]
    converting = "error while converting precision to integer: strconv.Atoi: parsing "
    if not digits:
        raise _FormatFault(f'{parsing}{converting}"": invalid syntax')
    if len(digits.lstrip("0")) > 19 or int(digits) > 2**63 - 1:
        raise _FormatFault(f'{parsing}{converting}"{digits}": value out of range')
    return end


def _check_clause(clause: str, arg: Node, checked: Checked) -> None:
    if clause == "s":
        fault = _not_printable(arg, checked)
        if fault is not None:
            name = checked.types[fault.id].name
            raise _FormatFault(f"error during formatting: {_STRING_CLAUSE}, was given {name}", fault)
        return
    if clause not in _CLAUSES:
        raise _FormatFault(f'could not parse formatting clause: unrecognized formatting clause "{clause}"')
    kinds, message = _CLAUSES[clause]
    each = checked.types[arg.id]
    if each != DYN and each.kind not in kinds:
        raise _FormatFault(f"error during formatting: {message}, was given {each.name}", arg)


def _not_printable(node: Node, checked: Checked) -> Node | None:
    """The first part of ``node`` that ``%s`` cannot print."""
    each = checked.types[node.id]
    if each != DYN and each.kind not in _STRINGS:
        return node
    parts: list[Node] = []
    if isinstance(node, ListExpr):
        parts = node.elements
    elif isinstance(node, MapExpr):
        parts = [part for entry in node.entries for part in (entry.key, entry.value) if part is not None]
    return next((fault for part in parts if (fault := _not_printable(part, checked)) is not None), None)
