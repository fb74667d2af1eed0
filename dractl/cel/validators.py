"""Rules that a checked expression must keep besides types: literals that can only fail, and literals of mixed types.

Source: cel-go's ``cel/validator.go`` and ``ext/formatting.go``, as Kubernetes turns them on.
"""

from __future__ import annotations

from dractl.cel.ast import Call, ListExpr, Literal, MapExpr, Node
from dractl.cel.checked import Checked
from dractl.cel.errors import CelTypeErrors, Issues, Source
from dractl.cel.format_check import check_format
from dractl.cel.types import Type
from dractl.cel.walk import bottom_up, children


def validate(checked: Checked) -> None:
    """Raises CelTypeErrors if a rule is broken."""
    issues = Issues(Source(checked.ast.source, checked.environment.old_places))
    nodes = list(bottom_up(checked.ast.root))
    exempt = _inside_format(nodes)
    for node in nodes:
        if isinstance(node, ListExpr) and node.id not in exempt:
            _check_list(node, checked, issues)
    for node in nodes:
        if isinstance(node, MapExpr) and node.id not in exempt:
            _check_map(node, checked, issues)
    for function in ("duration", "timestamp", "matches"):
        for node in nodes:
            if isinstance(node, Call) and node.function == function:
                _check_literal(node, issues)
    for node in nodes:
        if isinstance(node, Call):
            check_format(node, checked, issues)
    if issues:
        raise CelTypeErrors(issues)


def _inside_format(nodes: list[Node]) -> set[int]:
    """Ids of the nodes below a ``format`` call: there, lists may mix types."""
    inside: set[int] = set()
    for node in reversed(nodes):
        if node.id in inside or (isinstance(node, Call) and node.function == "format"):
            inside.update(child.id for child in children(node))
    return inside


def _mismatch(issues: Issues, node: Node, expected: Type, found: Type) -> None:
    issues.add(node.pos, f"expected type '{expected.format()}' but found '{found.format()}'")


def _held(each: Type, optional: bool) -> Type:
    return each.params[0] if optional and each.params else each


def _check_list(node: ListExpr, checked: Checked, issues: Issues) -> None:
    expected: Type | None = None
    for number, element in enumerate(node.elements):
        found = _held(checked.types[element.id], number in node.optional)
        if expected is None:
            expected = found
        elif not expected.equivalent(found):
            _mismatch(issues, element, expected, found)
            return


def _check_map(node: MapExpr, checked: Checked, issues: Issues) -> None:
    expected: tuple[Type, Type] | None = None
    for entry in node.entries:
        assert entry.key is not None
        key = checked.types[entry.key.id]
        value = _held(checked.types[entry.value.id], entry.optional)
        if expected is None:
            expected = (key, value)
            continue
        if not expected[0].equivalent(key):
            _mismatch(issues, entry.key, expected[0], key)
        if not expected[1].equivalent(value):
            _mismatch(issues, entry.value, expected[1], value)


def _check_literal(node: Call, issues: Issues) -> None:
    """The first argument, if it is a literal: of the method ``matches`` the pattern, of the function the text (sic)."""
    if not node.args or not isinstance(node.args[0], Literal):
        return
    if not _is_valid(node.function, node.args[0].value):
        issues.add(node.args[0].pos, f"invalid {node.function} argument")


def _is_valid(function: str, value: object) -> bool:
    from dractl.cel.library.regex import compile_regex
    from dractl.cel.library.standard import (
        int_to_duration,
        int_to_timestamp,
        string_to_duration,
        string_to_timestamp,
    )
    from dractl.cel.values import EvalError

    if function == "matches":
        return not isinstance(value, str) or compile_regex(value).error is None
    try:
        if isinstance(value, str):
            (string_to_duration if function == "duration" else string_to_timestamp)(value)
        elif isinstance(value, int):
            (int_to_duration if function == "duration" else int_to_timestamp)(value)
        else:
            # null passes the checker, but there is nothing to convert it with
            return False
    except EvalError:
        return False
    return True
