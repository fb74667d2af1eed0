"""The parse tree: what was written, before names are numbered and macros expanded.

Parts that a syntax error left out are None. ``start`` is the node's first token.
"""

from __future__ import annotations

from dataclasses import dataclass

from dractl.cel.lexer import Token


@dataclass(slots=True, eq=False)
class Syntax:
    start: Token


@dataclass(slots=True, eq=False)
class Broken(Syntax):
    """A place where no expression could be recognised; ``unary`` if at least an operand was expected there."""

    unary: bool = False


@dataclass(slots=True, eq=False)
class Ternary(Syntax):
    condition: Syntax | None
    op: Token
    then: Syntax | None
    otherwise: Syntax | None


@dataclass(slots=True, eq=False)
class Chain(Syntax):
    """``a || b || c``; ``function`` is ``_||_`` or ``_&&_``."""

    function: str
    first: Syntax | None
    ops: list[Token]
    rest: list[Syntax | None]


@dataclass(slots=True, eq=False)
class Binary(Syntax):
    left: Syntax | None
    op: Token
    right: Syntax | None


@dataclass(slots=True, eq=False)
class Prefix(Syntax):
    """``!!a`` or ``--a``; ``function`` is ``!_`` or ``-_``."""

    function: str
    ops: list[Token]
    operand: Syntax | None


@dataclass(slots=True, eq=False)
class Name(Syntax):
    """A field name, plain or in backticks; ``token`` is None where neither was found."""

    token: Token | None


@dataclass(slots=True, eq=False)
class Member(Syntax):
    operand: Syntax | None
    op: Token | None
    optional: bool
    name: Name | None


@dataclass(slots=True, eq=False)
class MethodCall(Syntax):
    operand: Syntax | None
    name: Token | None
    open: Token | None
    args: list[Syntax | None]


@dataclass(slots=True, eq=False)
class Subscript(Syntax):
    operand: Syntax | None
    op: Token | None
    optional: bool
    index: Syntax | None


@dataclass(slots=True, eq=False)
class Identifier(Syntax):
    dot: Token | None
    name: Token | None


@dataclass(slots=True, eq=False)
class FunctionCall(Syntax):
    dot: Token | None
    name: Token | None
    open: Token | None
    args: list[Syntax | None]


@dataclass(slots=True, eq=False)
class Item(Syntax):
    """An element of a list or a key of a map, possibly marked with ``?``."""

    optional: bool
    value: Syntax | None


@dataclass(slots=True, eq=False)
class ListLiteral(Syntax):
    op: Token | None
    items: list[Item]


@dataclass(slots=True, eq=False)
class MapLiteral(Syntax):
    op: Token | None
    keys: list[Item]
    colons: list[Token]
    values: list[Syntax | None]


@dataclass(slots=True, eq=False)
class Field(Syntax):
    optional: bool
    name: Name | None


@dataclass(slots=True, eq=False)
class Fields(Syntax):
    fields: list[Field]
    colons: list[Token]
    values: list[Syntax | None]


@dataclass(slots=True, eq=False)
class Message(Syntax):
    dot: Token | None
    names: list[Token]
    op: Token | None
    fields: Fields | None


@dataclass(slots=True, eq=False)
class Constant(Syntax):
    """A literal; ``sign`` is the minus before a number."""

    sign: Token | None
    token: Token
