"""The static cost estimate: the least and the most that evaluating an expression can cost, in CEL's cost units.

The API server rejects selectors whose estimate exceeds ``MAX_COST``. Sizes of what a device holds come from
``cost_sizes``, the costs of library functions from ``cost_functions`` (``ESTIMATORS`` there: by function name, then by
overload id). Source: cel-go's ``checker/cost.go``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from dractl.cel.ast import (
    Call,
    Comprehension,
    Ident,
    ListExpr,
    Literal,
    MapExpr,
    Node,
    Select,
    StructExpr,
)
from dractl.cel.checked import Checked
from dractl.cel.cost_functions import estimate_call
from dractl.cel.cost_range import FREE, NOTHING, UNKNOWN, Range
from dractl.cel.cost_sizes import Path, declared_size
from dractl.cel.environment import Environment
from dractl.cel.recursion import deep_recursion
from dractl.cel.types import DYN, Kind, Type

MAX_COST = 1_000_000
"""CELSelectorExpressionMaxCost of resource.k8s.io: the highest estimate the API server accepts."""
_ONE = Range(1, 1)
_LIST_BASE = Range(10, 10)
_MAP_BASE = Range(30, 30)
_MESSAGE_BASE = Range(40, 40)
_SCALARS = (Kind.BOOL, Kind.DOUBLE, Kind.DURATION, Kind.INT, Kind.TIMESTAMP, Kind.UINT)
_INDEX_STEPS = {"index_list": "@items", "index_map": "@values"}


def estimate(checked: Checked, env: Environment) -> tuple[int, int]:
    """The least and the most that one evaluation of ``checked`` can cost; the most is at most 2**64 - 1."""
    from dractl.cel.cost_old import OldEstimator

    estimator = Estimator if env.cel_go >= (0, 23) else OldEstimator
    with deep_recursion():
        found = estimator(checked, env).cost(checked.ast.root)
    return found.min, found.max


@dataclass(frozen=True, slots=True)
class EntrySizes:
    """Sizes of what a list (``is_map`` False) or a map holds."""

    is_map: bool
    key: Range
    value: Range

    def union(self, other: EntrySizes) -> EntrySizes:
        return EntrySizes(self.is_map, self.key.union(other.key), self.value.union(other.value))


@dataclass(slots=True)
class _Local:
    """A variable of a comprehension: where it comes from, and its sizes where they are known."""

    path: Path
    size: Range | None
    entries: EntrySizes | None


@dataclass(slots=True)
class Operand:
    """An argument or receiver of a call, as the estimators of functions see it."""

    node: Node
    type: Type
    path: Path
    size: Range | None
    known: Range | None
    """The size as cel-go's own functions see it."""


class Estimator:
    """Estimates one expression, as cel-go does since 0.23."""

    def __init__(self, checked: Checked, env: Environment) -> None:
        self._checked = checked
        self._env = env
        self._paths: dict[int, Path] = {}
        self._locals: dict[str, list[_Local]] = {}
        self._sizes: dict[int, Range] = {}
        self._entries: dict[int, EntrySizes] = {}
        self._sees_through_dyn = True
        self._estimators: dict[type[Node], Callable[..., Range]] = {
            Literal: self._literal,
            Ident: self._ident,
            Select: self._select,
            Call: self._call,
            ListExpr: self._list,
            MapExpr: self._map,
            StructExpr: self._struct,
            Comprehension: self._comprehension,
        }

    def cost(self, node: Node) -> Range:
        return self._estimators[type(node)](node)

    # -- what is known of nodes

    def _type(self, node: Node) -> Type:
        return self._checked.types.get(node.id, DYN)

    def _local(self, name: str) -> _Local | None:
        stack = self._locals.get(name)
        return stack[-1] if stack else None

    def _path(self, node: Node) -> Path:
        if isinstance(node, Ident) and (local := self._local(node.name)):
            return local.path
        return self._paths.get(node.id, Path())

    def _size(self, node: Node) -> Range | None:
        known = self._sizes.get(node.id) or literal_size(node)
        if known:
            return known
        declared = declared_size(self._path(node), self._env)
        if declared:
            self._sizes[node.id] = declared
            return declared
        if is_scalar(self._type(node)):
            return _ONE
        if isinstance(node, Ident) and (local := self._local(node.name)):
            return local.size
        return None

    def _size_or_unknown(self, node: Node) -> Range:
        return self._size(node) or UNKNOWN

    def _entry_sizes(self, node: Node) -> EntrySizes | None:
        found = self._entries.get(node.id)
        if found is None and isinstance(node, Ident) and (local := self._local(node.name)):
            return local.entries
        return found

    def _keep_sizes(self, node: Node, size: Range | None, entries: EntrySizes | None = None) -> None:
        if size:
            self._sizes[node.id] = size
        if entries:
            self._entries[node.id] = entries

    def _operand(self, node: Node) -> Operand:
        path = self._path(node)
        if path.first in ("@result", "__result__"):
            path = Path()
        size = self._size(node)
        return Operand(node, self._type(node), path, size, size)

    # -- nodes

    def _literal(self, node: Literal) -> Range:
        return FREE

    def _ident(self, node: Ident) -> Range:
        local = self._local(node.name)
        self._paths[node.id] = local.path if local else Path.start(node.name)
        return _ONE

    def _select(self, node: Select) -> Range:
        total = self.cost(node.operand)
        if node.test_only:
            return total
        if self._type(node.operand).kind in (Kind.MAP, Kind.STRUCT, Kind.PARAM):
            total = total.add(_ONE)
        self._paths[node.id] = self._path(node.operand).step(node.field)
        return total

    def _call(self, node: Call) -> Range:
        if node.function == "dyn" and self._sees_through_dyn:
            argument = node.args[0]
            total = self.cost(argument).add(_ONE)
            self._keep_sizes(node, self._size(argument), self._entry_sizes(argument))
            return total
        costs: list[Range] = []
        args: list[Operand] = []
        for arg in node.args:
            costs.append(self.cost(arg))
            args.append(self._operand(arg))
        overloads = self._checked.overloads(node.id)
        if not overloads:
            return FREE
        total = FREE
        target: Operand | None = None
        if node.target is not None:
            total = self.cost(node.target)
            target = self._operand(node.target)
        call_cost = NOTHING
        result: Range | None = None
        for overload in overloads:
            cost, size = self._function_cost(node, overload, target, args, costs)
            call_cost = call_cost.union(cost)
            if size:
                result = result.union(size) if result else size
            if overload in _INDEX_STEPS and node.args:
                entries = self._entry_sizes(node.args[0])
                result = entries.value if entries else None
                self._paths[node.id] = self._path(node.args[0]).step(_INDEX_STEPS[overload])
            if result is None:
                result = self._size(node)
        self._keep_sizes(node, result)
        return total.add(call_cost)

    def _function_cost(
        self, node: Call, overload: str, target: Operand | None, args: list[Operand], costs: list[Range]
    ) -> tuple[Range, Range | None]:
        """Cost of one overload with its arguments, and the size of its result where that is known."""
        all_args = FREE
        for cost in costs:
            all_args = all_args.add(cost)
        found = estimate_call(node.function, overload, target, args, self._env)
        if found is not None:
            return found[0].add(all_args), found[1]
        match overload:
            case "logical_or" | "logical_and":
                return Range(costs[0].min, costs[0].add(costs[1]).max), None
            case "conditional":
                return self._conditional(node, args, costs)
            case "add_string" | "add_bytes" | "add_list":
                cost, size = self._concatenation(node, overload, args)
                return cost.add(all_args), size
        return _ONE.add(all_args), None

    def _conditional(self, node: Call, args: Sequence[Operand], costs: list[Range]) -> tuple[Range, Range]:
        size = (args[1].known or UNKNOWN).union(args[2].known or UNKNOWN)
        self._join_entry_sizes(node, args[1].node, args[2].node)
        return costs[0].add(costs[1].union(costs[2])), size

    def _concatenation(self, node: Call, overload: str, args: Sequence[Operand]) -> tuple[Range, Range]:
        size = (args[0].known or UNKNOWN).add(args[1].known or UNKNOWN)
        self._join_entry_sizes(node, args[0].node, args[1].node)
        return (_ONE if overload == "add_list" else size.scale(0.1)), size

    def _join_entry_sizes(self, node: Node, first: Node, second: Node) -> None:
        one, other = self._entry_sizes(first), self._entry_sizes(second)
        if one and other:
            self._entries[node.id] = one.union(other)

    def _list(self, node: ListExpr) -> Range:
        total = FREE
        size = NOTHING if node.elements else FREE
        for element in node.elements:
            total = total.add(self.cost(element))
            size = size.union(self._size_or_unknown(element))
        self._entries[node.id] = EntrySizes(False, _ONE, size)
        return total.add(_LIST_BASE)

    def _map(self, node: MapExpr) -> Range:
        total = FREE
        keys = values = NOTHING if node.entries else FREE
        for entry in node.entries:
            assert entry.key is not None
            total = total.add(self.cost(entry.key)).add(self.cost(entry.value))
            keys = keys.union(self._size_or_unknown(entry.key))
            values = values.union(self._size_or_unknown(entry.value))
        self._entries[node.id] = EntrySizes(True, keys, values)
        return total.add(_MAP_BASE)

    def _struct(self, node: StructExpr) -> Range:
        total = FREE
        for entry in node.entries:
            total = total.add(self.cost(entry.value))
        return total.add(_MESSAGE_BASE)

    def _comprehension(self, node: Comprehension) -> Range:
        total = self.cost(node.iter_range).add(self.cost(node.accu_init))
        accumulator = _Local(self._path(node.accu_init), self._size(node.accu_init), self._entry_sizes(node.accu_init))
        self._locals.setdefault(node.accu_var, []).append(accumulator)
        if _is_bind(node):
            total = total.add(self.cost(node.result))
            self._locals[node.accu_var].pop()
            self._keep_sizes(node, self._size(node.result), self._entry_sizes(node.result))
            return total
        self._push_iteration(node)
        each = self.cost(node.loop_condition)
        each = self.cost(node.loop_step).add(each)
        self._locals[node.iter_var].pop()
        if node.iter_var2:
            self._locals[node.iter_var2].pop()
        total = total.add(self.cost(node.result))
        self._locals[node.accu_var].pop()
        count = self._size_or_unknown(node.iter_range)
        total = total.add(count.multiply(each))
        if isinstance(node.accu_init, Literal):
            self._keep_sizes(node, self._size(node.accu_init))
        elif isinstance(node.accu_init, ListExpr | MapExpr):
            self._keep_sizes(node, count, self._entry_sizes(node.loop_step))
        return total

    def _push_iteration(self, node: Comprehension) -> None:
        """Makes the iteration variables known: keys or indices, and values."""
        entries = self._entry_sizes(node.iter_range)
        is_list = not entries.is_map if entries else self._type(node.iter_range).kind is Kind.LIST
        keys = ("@indices" if is_list else "@keys", entries.key if entries else None)
        values = ("@items" if is_list else "@values", entries.value if entries else None)
        if node.iter_var2:
            parts = [(node.iter_var, keys), (node.iter_var2, values)]
        else:
            parts = [(node.iter_var, values if is_list else keys)]
        for name, (step, size) in parts:
            local = _Local(self._path(node.iter_range).step(step), size, None)
            self._locals.setdefault(name, []).append(local)


def _is_bind(node: Comprehension) -> bool:
    """Whether a comprehension is what ``cel.bind`` and its kin expand to."""
    return (
        isinstance(node.iter_range, ListExpr)
        and not node.iter_range.elements
        and isinstance(node.loop_condition, Literal)
        and node.loop_condition.value is False
        and node.accu_var != "__result__"
    )


def literal_size(node: Node) -> Range | None:
    """The size of what is written out in the expression."""
    match node:
        case Literal(value=str() | bytes() as value):
            return Range(len(value), len(value))
        case Literal():
            return _ONE
        case ListExpr(elements=elements):
            return Range(len(elements), len(elements))
        case MapExpr(entries=entries):
            return Range(len(entries), len(entries))
    return None


def is_scalar(each: Type) -> bool:
    if each.is_optional and each.params:
        return is_scalar(each.params[0])
    return each.kind in _SCALARS
