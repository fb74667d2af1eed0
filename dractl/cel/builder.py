"""Turns a parse tree into the syntax tree: numbers the nodes in cel-go's order, reads literals, expands macros."""

from __future__ import annotations

from collections.abc import Callable

from dractl.cel.ast import (
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
    Unspecified,
)
from dractl.cel.environment import Environment, declarations
from dractl.cel.errors import NO_POSITION, Issues
from dractl.cel.lexer import BYTES, ESC_IDENTIFIER, FALSE, NULL, NUM_FLOAT, NUM_INT, NUM_UINT, STRING, Token
from dractl.cel.literals import InvalidLiteral, parse_bytes, parse_float, parse_int, parse_string, parse_uint
from dractl.cel.syntax import (
    Binary,
    Broken,
    Chain,
    Constant,
    Fields,
    FunctionCall,
    Identifier,
    Item,
    ListLiteral,
    MapLiteral,
    Member,
    Message,
    MethodCall,
    Name,
    Prefix,
    Subscript,
    Syntax,
    Ternary,
)

MAX_DEPTH = 250
MAX_NODES = 20_000
"""Nodes of a tree, more for a long text. A text of 10 KiB has 10,000 at most; only nested ``optMap`` macros, which copy
their receiver each, make more, and Kubernetes would go on until memory ends."""
_OPERATORS = {
    "==": "_==_",
    "!=": "_!=_",
    "in": "@in",
    "<": "_<_",
    "<=": "_<=_",
    ">=": "_>=_",
    ">": "_>_",
    "*": "_*_",
    "/": "_/_",
    "%": "_%_",
    "+": "_+_",
    "-": "_-_",
}
_RESERVED = frozenset(
    [
        "as",
        "break",
        "const",
        "continue",
        "else",
        "false",
        "for",
        "function",
        "if",
        "import",
        "in",
        "let",
        "loop",
        "package",
        "namespace",
        "null",
        "return",
        "true",
        "var",
        "void",
        "while",
    ]
)


class MacroFault(Exception):
    """Arguments that a macro cannot take; ``node`` is where."""

    def __init__(self, node: Node, message: str) -> None:
        super().__init__(message)
        self.node = node
        self.message = message


class _TooDeep(Exception):
    """The tree nests deeper than cel-go builds it."""


class TooLarge(Exception):
    """Macros that copy their receiver write the expression out to far more than was written."""


class Builder:
    """Builds one syntax tree. Faults go to ``issues``; a node that could not be built is ``Unspecified``."""

    def __init__(self, env: Environment, issues: Issues) -> None:
        self._env = env
        self._issues = issues
        self._macros = declarations(env).macros
        self._next_id = 1
        self._max_nodes = max(MAX_NODES, 2 * len(issues.source.text))
        self._shared = 0
        self._depth = 0
        self._macro_position = NO_POSITION
        self.accumulator = "@result" if env.cel_go >= (0, 23) else "__result__"
        # before 0.23 the accumulator was a name that expressions could see and hide
        self.guards_accumulator = env.cel_go >= (0, 23)
        self.macro_calls: dict[int, Node] = {}
        self._visitors: dict[type[Syntax], Callable[..., Node]] = {
            Ternary: self._ternary,
            Chain: self._chain,
            Binary: self._binary,
            Prefix: self._prefix,
            Member: self._member,
            MethodCall: self._method_call,
            Subscript: self._subscript,
            Identifier: self._identifier,
            FunctionCall: self._function_call,
            ListLiteral: self._list,
            MapLiteral: self._map,
            Message: self._message,
            Constant: self._constant,
            Broken: self._broken,
        }

    def build(self, tree: Syntax | None) -> Node:
        try:
            return self._visit(tree)
        except _TooDeep:
            self._issues.add(NO_POSITION, "max recursion depth exceeded", placeless=True)
            return Unspecified(0, NO_POSITION)

    # -- numbering

    def _new_id(self, at: Token | None) -> tuple[int, int]:
        """The next id, and the position it is for. Without a token no id is used up."""
        if at is None:
            return -1, NO_POSITION
        return self._next(), at.start

    def _next(self) -> int:
        node_id = self._next_id
        if node_id > self._max_nodes:
            raise TooLarge
        self._next_id += 1
        return node_id

    def _delete_id(self, node_id: int) -> None:
        if node_id == self._next_id - 1 and self._env.copies_receivers:
            self._next_id -= 1

    def _unspecified(self, at: Token | None) -> Unspecified:
        return Unspecified(*self._new_id(at))

    def _fault(self, at: Token, message: str) -> Node:
        node = self._unspecified(at)
        self._issues.add(at.start, message)
        return node

    # -- the tree

    def _visit(self, tree: Syntax | None) -> Node:
        if tree is None:
            return self._unknown("<<nil>>")
        return self._visitors[type(tree)](tree)

    def _unknown(self, what: str) -> Node:
        node = Unspecified(self._next(), NO_POSITION)
        if not self._issues:
            self._issues.add(NO_POSITION, f"unknown parse element encountered: {what}", placeless=True)
        return node

    def _deeper(self) -> None:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise _TooDeep

    def _broken(self, tree: Broken) -> Node:
        if tree.unary:
            return Literal(*self._new_id(tree.start), "<<error>>")
        return self._unknown("")

    def _ternary(self, tree: Ternary) -> Node:
        self._deeper()
        condition = self._visit(tree.condition)
        node_id, pos = self._new_id(tree.op)
        then = self._visit(tree.then)
        otherwise = self._visit(tree.otherwise)
        self._depth -= 1
        return Call(node_id, pos, "_?_:_", [condition, then, otherwise])

    def _chain(self, tree: Chain) -> Node:
        terms = [self._visit(tree.first)]
        ops: list[tuple[int, int]] = []
        for number, op in enumerate(tree.ops):
            if number >= len(tree.rest):
                return self._fault(tree.start, f"unexpected character, wanted '{tree.function.strip('_')}'")
            terms.append(self._visit(tree.rest[number]))
            ops.append(self._new_id(op))
        return _balance(tree.function, terms, ops, 0, len(ops) - 1) if ops else terms[0]

    def _binary(self, tree: Binary) -> Node:
        self._deeper()
        left = self._visit(tree.left)
        node_id, pos = self._new_id(tree.op)
        right = self._visit(tree.right)
        self._depth -= 1
        return Call(node_id, pos, _OPERATORS[tree.op.text], [left, right])

    def _prefix(self, tree: Prefix) -> Node:
        if len(tree.ops) % 2 == 0:
            return self._visit(tree.operand)
        node_id, pos = self._new_id(tree.ops[0])
        return Call(node_id, pos, tree.function, [self._visit(tree.operand)])

    def _name(self, name: Name | None) -> str:
        """The field name; raises InvalidLiteral where it is not one."""
        if name is None or name.token is None:
            raise InvalidLiteral("unsupported ident kind")
        if name.token.kind != ESC_IDENTIFIER:
            return name.token.text
        if self._env.cel_go < (0, 27):
            raise InvalidLiteral("unsupported syntax: '`'")
        return name.token.text[1:-1]

    def _member(self, tree: Member) -> Node:
        self._deeper()
        node = self._member_of(tree, self._visit(tree.operand))
        self._depth -= 1
        return node

    def _member_of(self, tree: Member, operand: Node) -> Node:
        if tree.name is None or tree.op is None:
            return self._unspecified(tree.start)
        field = ""
        try:
            field = self._name(tree.name)
        except InvalidLiteral as fault:
            self._fault(tree.name.start, str(fault))
        if not tree.optional:
            return Select(*self._new_id(tree.op), operand, field)
        literal = Literal(*self._new_id(tree.name.start), field)
        return Call(*self._new_id(tree.op), "_?._", [operand, literal])

    def _method_call(self, tree: MethodCall) -> Node:
        self._deeper()
        operand = self._visit(tree.operand)
        if tree.name is None:
            node: Node = self._unspecified(tree.start)
        else:
            node_id, pos = self._new_id(tree.open)
            args = [self._visit(arg) for arg in tree.args]
            node = self._call_or_macro(node_id, pos, tree.name.text, operand, args)
        self._depth -= 1
        return node

    def _subscript(self, tree: Subscript) -> Node:
        self._deeper()
        operand = self._visit(tree.operand)
        if tree.op is None:
            node: Node = self._unspecified(tree.start)
        else:
            node_id, pos = self._new_id(tree.op)
            index = self._visit(tree.index)
            node = Call(node_id, pos, "_[?_]" if tree.optional else "_[_]", [operand, index])
        self._depth -= 1
        return node

    def _identifier(self, tree: Identifier) -> Node:
        if tree.name is None:
            return self._unspecified(tree.start)
        if tree.name.text in _RESERVED:
            return self._fault(tree.start, f"reserved identifier: {tree.name.text}")
        return Ident(*self._new_id(tree.name), ("." if tree.dot else "") + tree.name.text)

    def _function_call(self, tree: FunctionCall) -> Node:
        if tree.name is None:
            return self._unspecified(tree.start)
        if tree.name.text in _RESERVED:
            return self._fault(tree.start, f"reserved identifier: {tree.name.text}")
        node_id, pos = self._new_id(tree.open)
        args = [self._visit(arg) for arg in tree.args]
        return self._call_or_macro(node_id, pos, ("." if tree.dot else "") + tree.name.text, None, args)

    def _list(self, tree: ListLiteral) -> Node:
        node_id, pos = self._new_id(tree.op)
        elements = [self._visit(item.value) for item in tree.items]
        optional = frozenset(number for number, item in enumerate(tree.items) if item.optional)
        return ListExpr(node_id, pos, elements, optional)

    def _map(self, tree: MapLiteral) -> Node:
        node_id, pos = self._new_id(tree.op)
        return MapExpr(node_id, pos, self._map_entries(tree))

    def _map_entries(self, tree: MapLiteral) -> list[Entry]:
        entries: list[Entry] = []
        if not tree.keys:
            return entries
        for number, colon in enumerate(tree.colons):
            entry_id, pos = self._new_id(colon)
            if number >= len(tree.keys) or number >= len(tree.values):
                return []
            item: Item = tree.keys[number]
            key = self._visit(item.value)
            value = self._visit(tree.values[number])
            entries.append(Entry(entry_id, pos, value, key=key, optional=item.optional))
        return entries

    def _message(self, tree: Message) -> Node:
        name = ("." if tree.dot else "") + ".".join(token.text for token in tree.names)
        node_id, pos = self._new_id(tree.op)
        return StructExpr(node_id, pos, name, self._message_fields(tree.fields))

    def _message_fields(self, tree: Fields | None) -> list[Entry]:
        entries: list[Entry] = []
        if tree is None:
            return entries
        for number, field in enumerate(tree.fields):
            if number >= len(tree.colons) or number >= len(tree.values):
                return []
            entry_id, pos = self._new_id(tree.colons[number])
            if field.name is None and not self._env.escapes:
                return []
            try:
                name = self._name(field.name)
            except InvalidLiteral as fault:
                self._fault(tree.start, str(fault))
                continue
            value = self._visit(tree.values[number])
            entries.append(Entry(entry_id, pos, value, field=name, optional=field.optional))
        return entries

    def _constant(self, tree: Constant) -> Node:
        try:
            value = _constant_value(tree)
        except InvalidLiteral as fault:
            self._fault(tree.start, str(fault))
            if tree.token.kind not in (STRING, BYTES):
                return Unspecified(self._next_id - 1, tree.start.start)
            value = tree.token.text
        return Literal(*self._new_id(tree.start), value)

    # -- macros

    def _call_or_macro(self, node_id: int, pos: int, function: str, target: Node | None, args: list[Node]) -> Node:
        from dractl.cel.macros import EXPANDERS  # the expanders build with this class

        if (function, len(args), target is not None) in self._macros:
            outer, self._macro_position = self._macro_position, pos
            try:
                expanded = EXPANDERS[function](self, target, args)
            except MacroFault as fault:
                self._delete_id(node_id)
                node = Unspecified(self._next(), fault.node.pos)
                self._issues.add(fault.node.pos, fault.message)
                return node
            finally:
                self._macro_position = outer
            if expanded is not None:
                self.macro_calls[expanded.id] = Call(0, pos, function, args, target)
                self._delete_id(node_id)
                return expanded
        return Call(node_id, pos, function, args, target)

    def _at_macro(self) -> tuple[int, int]:
        """Id and position of a node that an expander adds: all of them stand where the macro stands."""
        return self._next(), self._macro_position

    def literal(self, value: bool | int) -> Node:
        return Literal(*self._at_macro(), value)

    def list(self, *elements: Node) -> Node:
        return ListExpr(*self._at_macro(), [*elements])

    def map(self) -> Node:
        return MapExpr(*self._at_macro(), [])

    def ident(self, name: str) -> Node:
        return Ident(*self._at_macro(), name)

    def result(self) -> Node:
        """The accumulator of a comprehension."""
        return self.ident(self.accumulator)

    def call(self, function: str, *args: Node) -> Node:
        return Call(*self._at_macro(), function, [*args])

    def method_call(self, function: str, target: Node, *args: Node) -> Node:
        return Call(*self._at_macro(), function, [*args], target)

    def presence_test(self, operand: Node, field: str) -> Node:
        return Select(*self._at_macro(), operand, field, test_only=True)

    def comprehension(
        self,
        iter_range: Node,
        iter_vars: tuple[str, str],
        accu_var: str,
        accu_init: Node,
        condition: Node,
        step: Node,
        result: Node,
    ) -> Node:
        node_id, pos = self._at_macro()
        return Comprehension(
            node_id, pos, iter_range, iter_vars[0], iter_vars[1], accu_var, accu_init, condition, step, result
        )

    def _id_of_copy(self, node_id: int) -> int:
        if self._env.copies_receivers:
            return self._next()
        self._shared += 1
        if self._shared > self._max_nodes:
            raise TooLarge
        return node_id

    def copy(self, node: Node) -> Node:
        """The same tree under new ids (old releases: under the same ids)."""
        node_id, pos = self._id_of_copy(node.id), node.pos
        match node:
            case Literal(value=value):
                return Literal(node_id, pos, value)
            case Ident(name=name):
                return Ident(node_id, pos, name)
            case Select(operand=operand, field=field, test_only=test_only):
                return Select(node_id, pos, self.copy(operand), field, test_only)
            case Call(function=function, args=args, target=target):
                copied = [self.copy(arg) for arg in args]
                return Call(node_id, pos, function, copied, self.copy(target) if target else None)
            case ListExpr(elements=elements, optional=optional):
                return ListExpr(node_id, pos, [self.copy(element) for element in elements], optional)
            case MapExpr(entries=entries):
                return MapExpr(node_id, pos, [self._copy_entry(entry) for entry in entries])
            case StructExpr(type_name=type_name, entries=entries):
                return StructExpr(node_id, pos, type_name, [self._copy_entry(entry) for entry in entries])
            case Comprehension():
                iter_range, accu_init = self.copy(node.iter_range), self.copy(node.accu_init)
                condition, step = self.copy(node.loop_condition), self.copy(node.loop_step)
                result = self.copy(node.result)
                return Comprehension(
                    node_id,
                    pos,
                    iter_range,
                    node.iter_var,
                    node.iter_var2,
                    node.accu_var,
                    accu_init,
                    condition,
                    step,
                    result,
                )
        return Unspecified(node_id, pos)

    def _copy_entry(self, entry: Entry) -> Entry:
        entry_id, pos = self._id_of_copy(entry.id), self._macro_position
        key = self.copy(entry.key) if entry.key else None
        return Entry(entry_id, pos, self.copy(entry.value), key, entry.field, entry.optional)


def _constant_value(tree: Constant) -> bool | int | Uint | float | str | bytes | None:
    text = tree.token.text
    signed = f"-{text}" if tree.sign else text
    match tree.token.kind:
        case k if k == NUM_INT:
            return parse_int(text, tree.sign is not None)
        case k if k == NUM_UINT:
            return Uint(parse_uint(text))
        case k if k == NUM_FLOAT:
            return parse_float(signed)
        case k if k == STRING:
            return parse_string(text)
        case k if k == BYTES:
            return parse_bytes(text)
        case k if k == NULL:
            return None
        case kind:
            return kind != FALSE


def _balance(function: str, terms: list[Node], ops: list[tuple[int, int]], low: int, high: int) -> Node:
    """A balanced tree over a chain of ``&&`` or ``||``, so that long chains stay shallow."""
    middle = (low + high + 1) // 2
    left = terms[middle] if middle == low else _balance(function, terms, ops, low, middle - 1)
    right = terms[middle + 1] if middle == high else _balance(function, terms, ops, middle + 1, high)
    return Call(*ops[middle], function, [left, right])
