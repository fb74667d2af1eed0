"""The syntax tree of a CEL expression, after macro expansion.

Every node has an ``id`` (unique inside one tree, positive, in the order cel-go assigns them) and ``pos``, the offset of
its position in code points from the start of the source. ``Ast`` holds the tree, the source, and for expanded macros
the call as it was written. Checked information (types, references) is kept beside the tree, keyed by id.
Source: the CEL specification's ``syntax.proto``.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True, eq=False)
class Uint:
    """An unsigned 64-bit literal or value: a type of its own, never mixed up with int."""

    value: int


@dataclass(slots=True, eq=False)
class Node:
    """Base of all nodes."""

    id: int
    pos: int


@dataclass(slots=True, eq=False)
class Unspecified(Node):
    """Stands where a fault kept the parser from building a node; never part of a tree that is handed out."""


@dataclass(slots=True, eq=False)
class Literal(Node):
    """A constant: None, bool, int (int64), Uint, float, str, bytes."""

    value: bool | int | Uint | float | str | bytes | None


@dataclass(slots=True, eq=False)
class Ident(Node):
    """A name, possibly with a leading dot."""

    name: str


@dataclass(slots=True, eq=False)
class Select(Node):
    """``operand.field``; ``test_only`` for has(operand.field). ``operand.?field`` is a Call of ``_?._``."""

    operand: Node
    field: str
    test_only: bool = False


@dataclass(slots=True, eq=False)
class Call(Node):
    """A function, method or operator.

    Operators use cel-go's names: ``_&&_``, ``_[_]``, ``_?_:_``, ``@in``, ``_[?_]``, ``_?._``.
    """

    function: str
    args: list[Node]
    target: Node | None = None


@dataclass(slots=True, eq=False)
class ListExpr(Node):
    """``[a, ?b]``: ``optional`` holds the indices of elements that were marked with ``?``."""

    elements: list[Node]
    optional: frozenset[int] = frozenset()


@dataclass(slots=True, eq=False)
class Entry:
    """An entry of a map (``key`` is a Node) or a field of a message (``field`` is a name)."""

    id: int
    pos: int
    value: Node
    key: Node | None = None
    field: str = ""
    optional: bool = False


@dataclass(slots=True, eq=False)
class MapExpr(Node):
    """``{k: v, ?k: v}``."""

    entries: list[Entry]


@dataclass(slots=True, eq=False)
class StructExpr(Node):
    """``Type{field: value}``."""

    type_name: str
    entries: list[Entry]


@dataclass(slots=True, eq=False)
class Comprehension(Node):
    """A fold over a range: what the macros all, exists, exists_one, map, filter and their kin expand to.

    ``iter_var2`` is empty for one-variable forms.
    """

    iter_range: Node
    iter_var: str
    iter_var2: str
    accu_var: str
    accu_init: Node
    loop_condition: Node
    loop_step: Node
    result: Node


@dataclass(slots=True, eq=False)
class Ast:
    """A parsed expression."""

    source: str
    root: Node
    macro_calls: dict[int, Node] = field(default_factory=dict)
    """Expanded node id -> the call as written (for printing the expression again)."""
