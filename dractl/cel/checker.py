"""The type checker: gives every node a type, and every call the overloads that may apply.

Source: cel-go's ``checker/checker.go``; the texts of the errors are the ones it reports.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from dractl.cel import types as t
from dractl.cel.ast import (
    Ast,
    Call,
    Comprehension,
    Entry,
    Ident,
    ListExpr,
    Literal,
    MapExpr,
    Node,
    Select,
    StructExpr,
    Uint,
)
from dractl.cel.checked import Checked, Reference
from dractl.cel.environment import Environment, declarations
from dractl.cel.errors import NO_POSITION, CelTypeErrors, Issues, Source
from dractl.cel.recursion import deep_recursion
from dractl.cel.signatures import Function, Overload
from dractl.cel.types import Kind, Type
from dractl.cel.unify import Bindings, is_dyn, is_dyn_or_error, most_general

_LOGIC = ("_&&_", "_||_")
_OPT_SELECT = "_?._"
_WELL_KNOWN = {
    Kind.ANY: "google.protobuf.Any",
    Kind.BOOL: "google.protobuf.BoolValue",
    Kind.BYTES: "google.protobuf.BytesValue",
    Kind.DOUBLE: "google.protobuf.DoubleValue",
    Kind.DURATION: "google.protobuf.Duration",
    Kind.DYN: "google.protobuf.Value",
    Kind.INT: "google.protobuf.Int64Value",
    Kind.LIST: "google.protobuf.ListValue",
    Kind.NULL: "google.protobuf.NullValue",
    Kind.MAP: "google.protobuf.Struct",
    Kind.STRING: "google.protobuf.StringValue",
    Kind.TIMESTAMP: "google.protobuf.Timestamp",
    Kind.UINT: "google.protobuf.UInt64Value",
}


def check(ast: Ast, env: Environment) -> Checked:
    """Checks ``ast`` and resolves its names (the tree is changed). Raises CelTypeErrors."""
    issues = Issues(Source(ast.source, env.old_places))
    with deep_recursion():
        checker = _Checker(env, issues)
        root = checker.visit(ast.root)
        types = checker.final_types()
    if issues:
        raise CelTypeErrors(issues)
    resolved = Ast(ast.source, root, ast.macro_calls)
    return Checked(resolved, env, types[root.id], types, checker.references)


@dataclass(slots=True)
class _Variable:
    """What a name resolves to."""

    name: str
    type: Type
    value: int | None = None


class _Checker:
    def __init__(self, env: Environment, issues: Issues) -> None:
        self._declared = declarations(env)
        self._issues = issues
        self._scopes: list[dict[str, Type]] = []
        self._bindings = Bindings()
        self._free = 0
        # since 0.27 a dotted name whose first part is a local variable is a selection from it
        self._locals_first = env.cel_go >= (0, 27)
        # before 0.23 the second variable over a range of unknown type got no type
        self._second_type = t.DYN if env.cel_go >= (0, 23) else t.MISSING
        self._types: dict[int, Type] = {}
        self.references: dict[int, Reference] = {}
        self._visitors: dict[type[Node], Callable[..., Node]] = {
            Literal: self._literal,
            Ident: self._ident,
            Select: self._select,
            Call: self._call,
            ListExpr: self._list,
            MapExpr: self._map,
            StructExpr: self._struct,
            Comprehension: self._comprehension,
        }

    def final_types(self) -> dict[int, Type]:
        """Types by node id, with what was not inferred as dyn."""
        known: dict[Type, Type] = {}
        bindings = self._bindings
        return {node_id: bindings.substitute(each, True, known) for node_id, each in self._types.items()}

    def visit(self, node: Node) -> Node:
        """Checks a node; returns what takes its place in the tree (itself, but for resolved qualified names)."""
        return self._visitors[type(node)](node)

    # -- helpers

    def _set(self, node: Node, each: Type) -> None:
        before = self._types.setdefault(node.id, each)
        if not before.same(each):
            self._conflict(node, "incompatible type", str(before), str(each))

    def _refer(self, node: Node, each: Reference) -> None:
        before = self.references.setdefault(node.id, each)
        if before.name != each.name or set(before.overloads) != set(each.overloads) or before.value != each.value:
            self._conflict(node, "reference", str(before), str(each))

    def _conflict(self, node: Node, what: str, before: str, each: str) -> None:
        """A node that stands at two places of the tree (``Environment.copies_receivers``) is two things. Kubernetes'
        text has the node's address in memory, which is another one each time."""
        found = f"&{{{node.id} 0xc000000000}}({node.id}) old:{before}, new:{each}"
        self._report(node, f"{what} already exists for expression: {found}")

    def _type(self, node: Node) -> Type:
        return self._types[node.id]

    def _report(self, node: Node | Entry, message: str) -> None:
        self._issues.add(node.pos, message, placeless=node.pos == NO_POSITION)

    def _mismatch(self, node: Node, expected: Type, found: Type) -> None:
        self._report(node, f"expected type '{expected.format()}' but found '{found.format()}'")

    def _undeclared(self, node: Node, name: str) -> None:
        self._report(node, f"undeclared reference to '{name}' (in container '')")

    def _new_param(self) -> Type:
        self._free += 1
        return t.param(f"_var{self._free - 1}")

    # -- names

    def _local(self, name: str) -> Type | None:
        for scope in reversed(self._scopes):
            if name in scope:
                return scope[name]
        return None

    def _global(self, name: str) -> _Variable | None:
        each = self._declared.idents.get(name)
        if each is not None:
            return _Variable(name, each)
        if name in self._declared.constants:
            return _Variable(name, t.INT, self._declared.constants[name])
        return None

    def _lookup(self, name: str) -> _Variable | None:
        """What a name stands for; a leading dot asks for what is declared outside of the expression."""
        plain = name.removeprefix(".")
        local = self._local(plain)
        if local is not None and not (self._locals_first and name.startswith(".")):
            return _Variable(plain, local)
        return self._global_beside(plain, local)

    def _lookup_qualified(self, name: str) -> _Variable | None:
        if not self._locals_first:
            return self._lookup(name)
        plain = name.removeprefix(".")
        local = self._local(plain.partition(".")[0])
        if local is not None and not name.startswith("."):
            return None
        return self._global_beside(plain, local)

    def _global_beside(self, name: str, local: Type | None) -> _Variable | None:
        """A global name; the dot in front is kept where a local variable hides it."""
        found = self._global(name)
        if found and local is not None:
            found.name = f".{name}"
        return found

    # -- nodes

    def _literal(self, node: Literal) -> Node:
        self._set(node, _literal_type(node.value))
        return node

    def _ident(self, node: Ident) -> Node:
        variable = self._lookup(node.name)
        if variable is None:
            self._set(node, t.ERROR)
            self._undeclared(node, node.name)
            return node
        return self._resolved(node, variable)

    def _resolved(self, node: Node, variable: _Variable) -> Node:
        self._set(node, variable.type)
        self._refer(node, Reference(variable.name, value=variable.value))
        return Ident(node.id, node.pos, variable.name)

    def _select(self, node: Select) -> Node:
        name = _qualified_name(node)
        variable = self._lookup_qualified(name) if name else None
        if variable is not None:
            return self._resolved(node, variable)
        node.operand, result = self._select_field(node, node.operand, node.field, optional=False)
        self._set(node, self._bindings.substitute(t.BOOL if node.test_only else result))
        return node

    def _select_field(self, node: Node, operand: Node, field: str, optional: bool) -> tuple[Node, Type]:
        operand = self.visit(operand)
        target = self._bindings.substitute(self._type(operand))
        was_optional = target.is_optional
        if was_optional:
            target = target.params[0]
        result = t.ERROR
        match target.kind:
            case Kind.MAP:
                result = target.params[1]
            case Kind.STRUCT:
                result = self._field_type(node, target.name, field) or t.ERROR
            case Kind.PARAM:
                self._bindings.assignable(t.DYN, target)
                result = t.DYN
            case _:
                if not is_dyn_or_error(target):
                    self._report(node, f"type '{target.format()}' does not support field selection")
                result = t.DYN
        return operand, t.optional_of(result) if was_optional or optional else result

    def _field_type(self, node: Node | Entry, message: str, field: str) -> Type | None:
        fields = self._declared.fields.get(message)
        if fields is None:
            self._report(node, f"unexpected failed resolution of '{message}'")
            return None
        found = fields.get(field) or fields.get("*")
        if found is None:
            self._report(node, f"undefined field '{field}'")
        return found

    def _call(self, node: Call) -> Node:
        if node.function == _OPT_SELECT:
            return self._optional_select(node)
        node.args = [self.visit(arg) for arg in node.args]
        if node.target is not None:
            prefix = _qualified_name(node.target)
            function = self._function(f"{prefix}.{node.function}") if prefix else None
            if function is not None:
                # the "receiver" is part of the name
                node.function, node.target = function.name, None
                return self._resolve(node, function)
            node.target = self.visit(node.target)
        function = self._function(node.function)
        if function is None:
            self._set(node, t.ERROR)
            self._undeclared(node, node.function)
            return node
        node.function = function.name
        return self._resolve(node, function)

    def _function(self, name: str) -> Function | None:
        return self._declared.functions.get(name.removeprefix("."))

    def _optional_select(self, node: Call) -> Node:
        field = node.args[1]
        assert isinstance(field, Literal) and isinstance(field.value, str)
        node.args[0], result = self._select_field(node, node.args[0], field.value, optional=True)
        self._set(node, self._bindings.substitute(result))
        self._refer(node, Reference(overloads=("select_optional_field",)))
        return node

    def _resolve(self, node: Call, function: Function) -> Node:
        operands = [node.target, *node.args] if node.target is not None else node.args
        found = [self._type(operand) for operand in operands]
        if function.name in _LOGIC and node.target is None:
            self._resolve_logic(node, function, found)
            return node
        overloads: list[str] = []
        result: Type | None = None
        for overload in function.overloads:
            if overload.is_method != (node.target is not None):
                continue
            wanted, fresh_result = self._instantiate(overload)
            if not self._bindings.all_assignable(found, wanted):
                continue
            if overload.id not in overloads:
                overloads.append(overload.id)
            returned = self._bindings.substitute(fresh_result)
            if result is None:
                result = returned
            elif not is_dyn(result) and not returned.same(result):
                result = t.DYN
        if result is None:
            self._set(node, t.ERROR)
            self._report(node, self._no_match(function.name, found, node.target is not None))
        else:
            self._set(node, result)
            self._refer(node, Reference(overloads=tuple(overloads)))
        return node

    def _resolve_logic(self, node: Call, function: Function, found: list[Type]) -> None:
        fits = True
        for arg, each in zip(node.args, found, strict=True):
            if not self._bindings.assignable(each, t.BOOL):
                self._mismatch(arg, t.BOOL, each)
                fits = False
        self._set(node, t.BOOL if fits else t.ERROR)
        if fits:
            self._refer(node, Reference(overloads=(function.overloads[0].id,)))

    def _instantiate(self, overload: Overload) -> tuple[tuple[Type, ...], Type]:
        """Argument and result types of an overload, with new type parameters of their own."""
        if not overload.params:
            return overload.args, overload.result
        fresh = Bindings()
        for name in overload.params:
            fresh.bind(t.param(name), self._new_param())
        return tuple(fresh.substitute(arg) for arg in overload.args), fresh.substitute(overload.result)

    def _no_match(self, function: str, found: list[Type], is_method: bool) -> str:
        names = [self._bindings.substitute(each, free_to_dyn=True).format() for each in found]
        receiver = f"{names.pop(0)}." if is_method else ""
        return f"found no matching overload for '{function}' applied to '{receiver}({', '.join(names)})'"

    def _list(self, node: ListExpr) -> Node:
        element_type: Type | None = None
        for number, element in enumerate(node.elements):
            element = node.elements[number] = self.visit(element)
            each = self._type(element)
            if number in node.optional:
                each = self._unwrap(element, each)
            element_type = self._join(element_type, each)
        self._set(node, t.list_of(element_type or self._new_param()))
        return node

    def _unwrap(self, node: Node, each: Type) -> Type:
        """What an entry marked with ``?`` holds."""
        if each.is_optional:
            return each.params[0]
        if not is_dyn(each):
            self._mismatch(node, t.optional_of(each), each)
        return each

    def _join(self, before: Type | None, each: Type) -> Type:
        """The common type of the entries so far. Where there is none it is dyn; ``validators`` finds fault later."""
        if before is None:
            return each
        return most_general(before, each) if self._bindings.assignable(before, each) else t.DYN

    def _map(self, node: MapExpr) -> Node:
        key_type: Type | None = None
        value_type: Type | None = None
        for entry in node.entries:
            assert entry.key is not None
            entry.key = self.visit(entry.key)
            key_type = self._join(key_type, self._type(entry.key))
            entry.value = self.visit(entry.value)
            each = self._type(entry.value)
            if entry.optional:
                each = self._unwrap(entry.value, each)
            value_type = self._join(value_type, each)
        if key_type is None or value_type is None:
            key_type, value_type = self._new_param(), self._new_param()
        self._set(node, t.map_of(key_type, value_type))
        return node

    def _struct(self, node: StructExpr) -> Node:
        variable = self._lookup_type(node.type_name)
        if variable is None:
            self._undeclared(node, node.type_name)
            self._set(node, t.ERROR)
            return node
        node.type_name = name = variable.name
        self._refer(node, Reference(name))
        result = t.ERROR
        if variable.type.kind is not Kind.ERROR:
            if variable.type.kind is not Kind.TYPE:
                self._report(node, f"'{variable.type.declared_name()}' is not a type")
            else:
                result, name = self._message_type(node, variable)
        self._set(node, result)
        for entry in node.entries:
            self._struct_field(entry, name)
        return node

    def _lookup_type(self, name: str) -> _Variable | None:
        if not self._locals_first:
            return self._lookup(name)
        found = self._global(name.removeprefix("."))
        if found is None or found.type.kind is not Kind.TYPE:
            return None
        # without its type parameter a list is a message: google.protobuf.ListValue
        return replace(found, type=t.type_of(t.list_of(t.DYN))) if found.name == "list" else found

    def _message_type(self, node: StructExpr, variable: _Variable) -> tuple[Type, str]:
        result = variable.type.params[0] if variable.type.params else t.ERROR
        if _is_well_known(result):
            return result, _WELL_KNOWN[result.kind]
        if result.kind is Kind.STRUCT:
            return result, result.declared_name()
        self._report(node, f"'{result.declared_name()}' is not a message type")
        return t.ERROR, variable.name

    def _struct_field(self, entry: Entry, message: str) -> None:
        entry.value = self.visit(entry.value)
        wanted = self._field_type(entry, message, entry.field) or t.ERROR
        found = self._type(entry.value)
        if entry.optional:
            found = self._unwrap(entry.value, found)
        if not self._bindings.assignable(wanted, found):
            self._report(
                entry,
                f"expected type of field '{entry.field}' is '{wanted.format()}'"
                f" but provided type is '{found.format()}'",
            )

    def _comprehension(self, node: Comprehension) -> Node:
        node.iter_range = self.visit(node.iter_range)
        node.accu_init = self.visit(node.accu_init)
        range_type = self._bindings.substitute(self._type(node.iter_range))
        accu_type = self._type(node.accu_init)
        self._scopes.append({node.accu_var: accu_type})
        first, second = self._iteration_types(node, range_type)
        scope = {node.iter_var: first}
        if node.iter_var2:
            scope.setdefault(node.iter_var2, second)
        self._scopes.append(scope)
        node.loop_condition = self.visit(node.loop_condition)
        self._assert(node.loop_condition, t.BOOL)
        node.loop_step = self.visit(node.loop_step)
        self._assert(node.loop_step, accu_type)
        self._scopes.pop()
        node.result = self.visit(node.result)
        self._scopes.pop()
        self._set(node, self._bindings.substitute(self._type(node.result)))
        return node

    def _iteration_types(self, node: Comprehension, range_type: Type) -> tuple[Type, Type]:
        """Types of the first and the second iteration variable."""
        two = bool(node.iter_var2)
        match range_type.kind:
            case Kind.LIST:
                element = range_type.params[0]
                return (t.INT, element) if two else (element, element)
            case Kind.MAP:
                return range_type.params[0], range_type.params[1]
            case Kind.DYN | Kind.ERROR | Kind.PARAM:
                self._bindings.assignable(t.DYN, range_type)
                return t.DYN, self._second_type
        self._report(
            node.iter_range,
            f"expression of type '{range_type.format()}' cannot be range of a comprehension"
            " (must be list, map, or dynamic)",
        )
        return t.ERROR, t.ERROR if self._second_type is t.DYN else t.MISSING

    def _assert(self, node: Node, wanted: Type) -> None:
        found = self._type(node)
        if not self._bindings.assignable(wanted, found):
            self._mismatch(node, wanted, found)


def _literal_type(value: bool | int | Uint | float | str | bytes | None) -> Type:
    match value:
        case None:
            return t.NULL
        case bool():
            return t.BOOL
        case int():
            return t.INT
        case Uint():
            return t.UINT
        case float():
            return t.DOUBLE
        case str():
            return t.STRING
    return t.BYTES


def _qualified_name(node: Node) -> str | None:
    """``a.b.c`` for the selections that spell it; None for anything else."""
    parts: list[str] = []
    while isinstance(node, Select) and not node.test_only:
        parts.append(node.field)
        node = node.operand
    if not isinstance(node, Ident):
        return None
    return ".".join((node.name, *reversed(parts)))


def _is_well_known(each: Type) -> bool:
    match each.kind:
        case Kind.ANY | Kind.TIMESTAMP | Kind.DURATION | Kind.DYN | Kind.NULL:
            return True
        case Kind.BOOL | Kind.BYTES | Kind.DOUBLE | Kind.INT | Kind.STRING | Kind.UINT:
            return each.nullable
        case Kind.LIST:
            return each.params[0] is t.DYN
        case Kind.MAP:
            return each.params[0] is t.STRING and each.params[1] is t.DYN
    return False
