"""From a checked tree to a plan: calls bound to implementations, paths gathered, constants folded.

A plan node stands for one step of cel-go's program; its ``id`` is the id that cel-go's cost tracker sees. A chain such
as ``device.attributes["d"].name`` is one ``Path`` with qualifiers. Folding runs what cel-go runs when it makes a
program: a fault there is a ``PlanError`` ("program instantiation failed").
Source: cel-go ``interpreter/planner.go``, ``decorators.go`` and ``attributes.go``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from dractl.cel import ast
from dractl.cel.ast import Uint
from dractl.cel.checked import Checked
from dractl.cel.compare import equal
from dractl.cel.environment import declarations
from dractl.cel.library.regex import compile_regex, with_constant_pattern
from dractl.cel.library.registry import PlanError, bind
from dractl.cel.types import Kind
from dractl.cel.values import (
    MAX_INT,
    MAX_UINT,
    CelMap,
    EvalError,
    Optional,
    Stopped,
    TypeValue,
    Value,
    encode_key,
    go_type,
)

Implementation = Callable[..., Value]

DEVICE_SLOT = 0
"""Where the variable ``device`` is kept; the variables of comprehensions follow."""


@dataclass(slots=True, eq=False)
class Step:
    """Base of plan nodes."""

    id: int


@dataclass(slots=True, eq=False)
class Const(Step):
    value: Value


@dataclass(slots=True, eq=False)
class Failure(Step):
    """Always fails."""

    text: str


@dataclass(slots=True, eq=False)
class Both(Step):
    """``&&``, or with ``any`` ``||``."""

    terms: list[Step]
    any: bool


@dataclass(slots=True, eq=False)
class Equality(Step):
    left: Step
    right: Step
    negated: bool


@dataclass(slots=True, eq=False)
class Call(Step):
    """A function. ``overload`` is empty where the checker left several. ``many``: see ``registry.Binding``."""

    function: str
    overload: str
    args: list[Step]
    run: Implementation
    many: bool


@dataclass(slots=True, eq=False)
class Membership(Step):
    """``x in [constants]``: the constants, and the keys under which they are found."""

    element: Step
    items: list[Value]
    keys: frozenset[object]


@dataclass(slots=True, eq=False)
class ListStep(Step):
    elements: list[Step]
    optional: frozenset[int]


@dataclass(slots=True, eq=False)
class MapStep(Step):
    entries: list[tuple[Step, Step, bool]]
    """Key, value, and whether the value is optional."""


@dataclass(slots=True, eq=False)
class MessageStep(Step):
    name: str
    fields: list[tuple[str, Step, bool]]


@dataclass(slots=True, eq=False)
class OrElse(Step):
    """``a.or(b)``, or with ``unwrap`` ``a.orValue(b)``."""

    left: Step
    right: Step
    unwrap: bool


@dataclass(slots=True, eq=False)
class Fold(Step):
    """A comprehension. The numbers are slots of variables; ``second`` is -1 where there is one variable only.

    ``mutable`` is the slot that tells whether the accumulator is changed in place.
    """

    range: Step
    first: int
    second: int
    accumulator: int
    mutable: int
    init: Step
    condition: Step
    step: Step
    result: Step


# --- paths ----------------------------------------------------------------------------------------------------------


@dataclass(slots=True, eq=False)
class Constant:
    """A qualifier known beforehand: ``.name`` or ``["name"]``; ``test``: only whether it is there counts."""

    id: int
    value: Value
    optional: bool = False
    test: bool = False


@dataclass(slots=True, eq=False)
class Dynamic:
    """A qualifier that is computed. ``by_path``: it is a path itself, which the cost tracker counts differently."""

    id: int
    path: Source
    optional: bool
    by_path: bool


Qualifier = Constant | Dynamic


@dataclass(slots=True, eq=False)
class Variable:
    """A path that starts at a variable."""

    own_id: int
    slot: int
    qualifiers: list[Qualifier] = field(default_factory=list)

    @property
    def id(self) -> int:
        return self.qualifiers[-1].id if self.qualifiers else self.own_id

    def add(self, qualifier: Qualifier) -> None:
        self.qualifiers.append(qualifier)


@dataclass(slots=True, eq=False)
class Computed:
    """A path that starts at the value of a step."""

    own_id: int
    operand: Step
    qualifiers: list[Qualifier] = field(default_factory=list)

    @property
    def id(self) -> int:
        return self.qualifiers[-1].id if self.qualifiers else self.own_id

    def add(self, qualifier: Qualifier) -> None:
        self.qualifiers.append(qualifier)


@dataclass(slots=True, eq=False)
class Choice:
    """``condition ? a : b``, as a path: qualifiers go to both branches."""

    own_id: int
    condition: Step
    then: Source
    otherwise: Source

    @property
    def id(self) -> int:
        then = self.then.id
        return then if then == self.otherwise.id else self.own_id

    def add(self, qualifier: Qualifier) -> None:
        self.then.add(qualifier)
        self.otherwise.add(qualifier)


Source = Variable | Computed | Choice


class Path(Step):
    """A step that is the value of a path; ``test_id`` is set for ``has(path)``."""

    __slots__ = ("source", "test_id")

    def __init__(self, source: Source, test_id: int | None = None) -> None:
        self.source = source
        self.test_id = test_id

    @property
    def id(self) -> int:  # type: ignore[override]
        return self.source.id if self.test_id is None else self.test_id


@dataclass(slots=True)
class Plan:
    """What there is to evaluate: the root, and the number of slots for variables."""

    root: Step
    slots: int
    depth: int
    """How deep the tree is nested."""


_CONVERSIONS = frozenset(("bool", "bytes", "double", "duration", "dyn", "int", "string", "timestamp", "type", "uint"))
_REGEX_FUNCTIONS = frozenset(("matches", "find", "findAll"))
_PRIMITIVES = frozenset((bool, float, int, str, Uint))


def make_plan(checked: Checked) -> Plan:
    """The plan of a checked expression.

    Raises:
        PlanError: when Kubernetes would fail to make a program.
    """
    planner = _Planner(checked)
    root = planner.plan(checked.ast.root, {"device": DEVICE_SLOT})
    return Plan(root, planner.slots, planner.deepest)


Scope = dict[str, int]


class _Planner:
    def __init__(self, checked: Checked) -> None:
        self.checked = checked
        self.env = checked.environment
        self.type_names = declarations(self.env).planned_types
        self.slots = 1
        self.depth = 0
        self.deepest = 0
        # before cel-go 0.29 a name with a leading dot finds a comprehension's variable as well
        self.dotted_is_global = self.env.cel_go >= (0, 29)

    def plan(self, node: ast.Node, scope: Scope) -> Step:
        self.depth += 1
        self.deepest = max(self.deepest, self.depth)
        step = self._plan(node, scope)
        self.depth -= 1
        return step

    def _plan(self, node: ast.Node, scope: Scope) -> Step:
        match node:
            case ast.Literal():
                return Const(node.id, node.value)
            case ast.Ident():
                return self._ident(node, scope)
            case ast.Select():
                return self._select(node, scope)
            case ast.Call():
                return self._call(node, scope)
            case ast.ListExpr():
                return self._list(node, scope)
            case ast.MapExpr():
                return self._map(node, scope)
            case ast.StructExpr():
                fields = [(entry.field, self.plan(entry.value, scope), entry.optional) for entry in node.entries]
                return MessageStep(node.id, node.type_name, fields)
            case ast.Comprehension():
                return self._fold(node, scope)
        raise PlanError(f"unsupported expr: {node}")

    def _ident(self, node: ast.Ident, scope: Scope) -> Step:
        reference = self.checked.references.get(node.id)
        if reference is not None and reference.value is not None:
            return Const(node.id, reference.value)
        name = (reference.name if reference is not None else "") or node.name
        kind = self.checked.types.get(node.id)
        if kind is not None and kind.kind is Kind.TYPE:
            if name not in self.type_names:
                raise PlanError(f"reference to undefined type: {name}")
            return Const(node.id, TypeValue(kind.params[0].name if kind.params else "type"))
        if self.dotted_is_global and node.name.startswith(".") and name.lstrip(".") == "device":
            return Path(Variable(node.id, DEVICE_SLOT))
        slot = scope.get(name.lstrip("."))
        if slot is None:
            # a type's name that stands for a value of the type (1.31)
            return Failure(node.id, f"no such attribute(s): {name}")
        return Path(Variable(node.id, slot))

    def _select(self, node: ast.Select, scope: Scope) -> Step:
        operand = self.plan(node.operand, scope)
        source = self._source(operand)
        source.add(Constant(node.id, node.field, test=node.test_only))
        return Path(source, test_id=node.id if node.test_only else None)

    @staticmethod
    def _source(operand: Step) -> Source:
        return operand.source if isinstance(operand, Path) else Computed(operand.id, operand)

    def _call(self, node: ast.Call, scope: Scope) -> Step:
        args = [self.plan(each, scope) for each in ([node.target] if node.target is not None else []) + node.args]
        match node.function:
            case "_&&_" | "_||_":
                return Both(node.id, args, any=node.function == "_||_")
            case "_?_:_":
                return Path(Choice(node.id, args[0], self._branch(args[1]), self._branch(args[2])))
            case "_==_" | "_!=_":
                return Equality(node.id, args[0], args[1], negated=node.function == "_!=_")
            case "_[_]" | "_[?_]" | "_?._":
                return self._index(node, args)
        return self._function(node, args)

    @staticmethod
    def _branch(step: Step) -> Source:
        return step.source if isinstance(step, Path) else Computed(step.id, step)

    def _index(self, node: ast.Call, args: list[Step]) -> Step:
        source = self._source(args[0])
        index = args[1]
        optional = node.function != "_[_]"
        qualifier: Qualifier
        if isinstance(index, Const):
            if index.value.__class__ not in _PRIMITIVES:
                raise PlanError(f"invalid qualifier type: {go_type(index.value)}")
            qualifier = Constant(node.id, index.value, optional)
        elif isinstance(index, Path):
            qualifier = Dynamic(node.id, index.source, optional, by_path=True)
        else:
            qualifier = Dynamic(node.id, Computed(node.id, index), optional, by_path=False)
        source.add(qualifier)
        return Path(source)

    def _function(self, node: ast.Call, args: list[Step]) -> Step:
        function = node.function
        overloads = self.checked.overloads(node.id)
        overload = overloads[0] if len(overloads) == 1 else ""
        if (
            len(args) == 2
            and function in ("or", "orValue")
            and overload in ("", "optional_or_optional", "optional_orValue_value")
        ):
            return OrElse(node.id, args[0], args[1], unwrap=function == "orValue")
        binding = bind(self.env, function, overloads, len(args))
        call = Call(node.id, function, overload, args, binding.run, binding.many)
        if overload == "in_list" and isinstance(args[1], Const):
            return self._membership(call, args[1].value)
        if function in _CONVERSIONS and len(args) == 1 and isinstance(args[0], Const):
            try:
                return Const(node.id, binding.run(args[0].value))
            except EvalError as error:
                raise PlanError(error.text) from None
        if function in _REGEX_FUNCTIONS and len(args) > 1 and isinstance(args[1], Const):
            return self._regex(call, args[1].value)
        return call

    @staticmethod
    def _regex(call: Call, pattern: Value) -> Step:
        """A call with a constant pattern: the pattern is compiled now, and any value that is a text may be matched."""
        if pattern.__class__ is not str:
            return call
        regex = compile_regex(pattern)
        if regex.error is not None:
            raise PlanError(regex.error)
        call.run = with_constant_pattern(call.function, regex)
        call.many = True
        return call

    @staticmethod
    def _membership(call: Call, items: list[Value]) -> Step:
        if not items:
            return Const(call.id, False)
        keys: set[object] = set()
        for item in items:
            if item.__class__ not in _PRIMITIVES:
                return call
            keys.update(_member_keys(item))
        return Membership(call.id, call.args[0], items, frozenset(keys))

    def _list(self, node: ast.ListExpr, scope: Scope) -> Step:
        elements = [self.plan(each, scope) for each in node.elements]
        if all(isinstance(each, Const) for each in elements):
            values: list[Value] = []
            for index, each in enumerate(elements):
                assert isinstance(each, Const)
                if index in node.optional:
                    _fold_optional(values, each.value)
                else:
                    values.append(each.value)
            return Const(node.id, values)
        return ListStep(node.id, elements, node.optional)

    def _map(self, node: ast.MapExpr, scope: Scope) -> Step:
        entries = []
        for entry in node.entries:
            assert entry.key is not None
            entries.append((self.plan(entry.key, scope), self.plan(entry.value, scope), entry.optional))
        pairs = [
            (key.value, item.value)
            for key, item, optional in entries
            if isinstance(key, Const) and isinstance(item, Const) and not optional
        ]
        if len(pairs) == len(entries):
            try:
                return Const(node.id, CelMap.of(pairs))
            except Stopped as error:
                # Kubernetes does not even catch this panic
                raise PlanError(error.text) from None
        return MapStep(node.id, entries)

    def _fold(self, node: ast.Comprehension, scope: Scope) -> Step:
        accumulator, first = self._slot(), self._slot()
        second = self._slot() if node.iter_var2 else -1
        mutable = self._slot()
        outside = dict(scope)
        outside[node.accu_var] = accumulator
        inside = dict(scope)
        if node.iter_var2:
            inside[node.iter_var2] = second
        inside[node.iter_var] = first
        inside[node.accu_var] = accumulator
        return Fold(
            node.id,
            init=self.plan(node.accu_init, scope),
            range=self.plan(node.iter_range, scope),
            first=first,
            second=second,
            accumulator=accumulator,
            mutable=mutable,
            condition=self.plan(node.loop_condition, inside),
            step=self.plan(node.loop_step, inside),
            result=self.plan(node.result, outside),
        )

    def _slot(self) -> int:
        self.slots += 1
        return self.slots - 1


def _fold_optional(values: list[Value], value: Value) -> None:
    if value.__class__ is not Optional:
        return
    if value.has_value:
        values.append(value.value)


def _member_keys(item: Value) -> list[object]:
    """The keys of a constant in a list, with the equal numbers of other types."""
    keys = [encode_key(item)]
    kind = item.__class__
    if kind is float:
        if item == item and abs(item) != float("inf"):  # noqa: PLR0124
            whole = int(item)
            if float(-(2**63)) < item < float(MAX_INT) and equal(whole, item) is True:
                keys.append(whole)
            if 0 <= item < 2.0**64 and whole <= MAX_UINT and equal(Uint(whole), item) is True:
                keys.append(encode_key(Uint(whole)))
    elif kind is int:
        keys.append(encode_key(float(item)))
        if item >= 0:
            keys.append(encode_key(Uint(item)))
    elif kind is Uint:
        keys.append(encode_key(float(item.value)))
        if item.value <= MAX_INT:
            keys.append(item.value)
    return keys


__all__ = ["DEVICE_SLOT", "Plan", "PlanError", "make_plan"]
