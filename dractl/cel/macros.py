"""The macros: what a call like ``list.all(x, x > 0)`` is written out to.

Each expander gets the builder, the receiver and the arguments and returns the tree that takes the call's place, or None
where the call is not the macro after all. The order in which nodes are made is the order of their ids, as in cel-go.
Source: cel-go ``parser/macro.go``, ``cel/library.go``, and in ``ext`` ``comprehensions.go``, ``bindings.go``,
``lists.go``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from dractl.cel.ast import Call, Comprehension, Ident, ListExpr, Node, Select
from dractl.cel.builder import Builder, MacroFault

_UNUSED = "#unused"
_OVERWRITES = "iteration variable overwrites accumulator variable"

Expander = Callable[[Builder, Node | None, list[Node]], Node | None]


def _name(node: Node, message: str) -> str:
    if not isinstance(node, Ident):
        raise MacroFault(node, message)
    return node.name


def _iter_vars(b: Builder, args: list[Node], count: int, message: str) -> tuple[str, str]:
    """The variables of a comprehension: one, or two where ``count`` is 2."""
    names = [_name(arg, message) for arg in args[:count]]
    if count == 2 and names[0] == names[1]:
        raise MacroFault(args[1], f"duplicate variable name: {names[0]}")
    for arg, name in zip(args, names, strict=False):
        if name in (b.accumulator, "__result__") and (count == 2 or b.guards_accumulator):
            raise MacroFault(arg, _OVERWRITES)
    return names[0], names[1] if count == 2 else ""


def _has(b: Builder, target: Node | None, args: list[Node]) -> Node:
    if not isinstance(args[0], Select):
        raise MacroFault(args[0], "invalid argument to has() macro")
    return b.presence_test(args[0].operand, args[0].field)


def _all(b: Builder, target: Node | None, args: list[Node]) -> Node:
    variables = _iter_vars(b, args, len(args) - 1, "argument must be a simple name")
    init = b.literal(True)
    condition = b.call("@not_strictly_false", b.result())
    step = b.call("_&&_", b.result(), args[-1])
    return b.comprehension(cast(Node, target), variables, b.accumulator, init, condition, step, b.result())


def _exists(b: Builder, target: Node | None, args: list[Node]) -> Node:
    variables = _iter_vars(b, args, len(args) - 1, "argument must be a simple name")
    init = b.literal(False)
    condition = b.call("@not_strictly_false", b.call("!_", b.result()))
    step = b.call("_||_", b.result(), args[-1])
    return b.comprehension(cast(Node, target), variables, b.accumulator, init, condition, step, b.result())


def _exists_one(b: Builder, target: Node | None, args: list[Node]) -> Node:
    variables = _iter_vars(b, args, len(args) - 1, "argument must be a simple name")
    init = b.literal(0)
    condition = b.literal(True)
    step = b.call("_?_:_", args[-1], b.call("_+_", b.result(), b.literal(1)), b.result())
    result = b.call("_==_", b.result(), b.literal(1))
    return b.comprehension(cast(Node, target), variables, b.accumulator, init, condition, step, result)


def _map(b: Builder, target: Node | None, args: list[Node]) -> Node:
    variables = _iter_vars(b, args, 1, "argument is not an identifier")
    init = b.list()
    condition = b.literal(True)
    step = b.call("_+_", b.result(), b.list(args[-1]))
    if len(args) == 3:
        step = b.call("_?_:_", args[1], step, b.result())
    return b.comprehension(cast(Node, target), variables, b.accumulator, init, condition, step, b.result())


def _filter(b: Builder, target: Node | None, args: list[Node]) -> Node:
    variables = _iter_vars(b, args, 1, "argument is not an identifier")
    init = b.list()
    condition = b.literal(True)
    step = b.call("_+_", b.result(), b.list(args[0]))
    step = b.call("_?_:_", args[1], step, b.result())
    return b.comprehension(cast(Node, target), variables, b.accumulator, init, condition, step, b.result())


def _transform_list(b: Builder, target: Node | None, args: list[Node]) -> Node:
    variables = _iter_vars(b, args, 2, "argument must be a simple name")
    step = b.call("_+_", b.result(), b.list(args[-1]))
    if len(args) == 4:
        step = b.call("_?_:_", args[2], step, b.result())
    init = b.list()
    condition = b.literal(True)
    return b.comprehension(cast(Node, target), variables, b.accumulator, init, condition, step, b.result())


def _transform_map(b: Builder, target: Node | None, args: list[Node]) -> Node:
    variables = _iter_vars(b, args, 2, "argument must be a simple name")
    step = b.call("cel.@mapInsert", b.result(), b.ident(variables[0]), args[-1])
    return _fold_into_map(b, cast(Node, target), variables, step, args)


def _transform_map_entry(b: Builder, target: Node | None, args: list[Node]) -> Node:
    variables = _iter_vars(b, args, 2, "argument must be a simple name")
    step = b.call("cel.@mapInsert", b.result(), args[-1])
    return _fold_into_map(b, cast(Node, target), variables, step, args)


def _fold_into_map(b: Builder, target: Node, variables: tuple[str, str], step: Node, args: list[Node]) -> Node:
    if len(args) == 4:
        step = b.call("_?_:_", args[2], step, b.result())
    init = b.map()
    condition = b.literal(True)
    return b.comprehension(target, variables, b.accumulator, init, condition, step, b.result())


def _bind(b: Builder, target: Node | None, args: list[Node]) -> Node | None:
    if not (isinstance(target, Ident) and target.name == "cel"):
        return None
    name = _name(args[0], "cel.bind() variable names must be simple identifiers")
    return _let(b, name, lambda: args[1], args[2])


def _let(b: Builder, name: str, value: Callable[[], Node], body: Node) -> Node:
    """``body`` with ``name`` bound to ``value``: a comprehension over nothing, whose result is ``body``."""
    nothing = b.list()
    bound = value()
    condition = b.literal(False)
    return b.comprehension(nothing, (_UNUSED, ""), name, bound, condition, b.ident(name), body)


def _opt_map(b: Builder, target: Node | None, args: list[Node]) -> Node:
    name = _name(args[0], "optMap() variable name must be a simple identifier")
    source = cast(Node, target)
    has_value = b.method_call("hasValue", source)
    body = _let(b, name, lambda: b.method_call("value", b.copy(source)), args[1])
    return b.call("_?_:_", has_value, b.call("optional.of", body), b.call("optional.none"))


def _opt_flat_map(b: Builder, target: Node | None, args: list[Node]) -> Node:
    name = _name(args[0], "optFlatMap() variable name must be a simple identifier")
    source = cast(Node, target)
    has_value = b.method_call("hasValue", source)
    body = _let(b, name, lambda: b.method_call("value", b.copy(source)), args[1])
    return b.call("_?_:_", has_value, body, b.call("optional.none"))


def _sort_by(b: Builder, target: Node | None, args: list[Node]) -> Node:
    source = cast(Node, target)
    variable = b.ident("@__sortBy_input__")
    if not isinstance(source, ListExpr | Select | Ident | Comprehension | Call):
        raise MacroFault(
            source, "sortBy can only be applied to a list, identifier, comprehension, call or select expression"
        )
    keys = _map(b, b.copy(variable), args)
    body = b.method_call("@sortByAssociatedKeys", b.copy(variable), keys)
    nothing = b.list()
    return b.comprehension(nothing, (_UNUSED, ""), "@__sortBy_input__", source, b.literal(False), variable, body)


EXPANDERS: dict[str, Expander] = {
    "has": _has,
    "all": _all,
    "exists": _exists,
    "exists_one": _exists_one,
    "existsOne": _exists_one,
    "map": _map,
    "filter": _filter,
    "transformList": _transform_list,
    "transformMap": _transform_map,
    "transformMapEntry": _transform_map_entry,
    "bind": _bind,
    "optMap": _opt_map,
    "optFlatMap": _opt_flat_map,
    "sortBy": _sort_by,
}
