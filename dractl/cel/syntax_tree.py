"""From the open and closed rules of ``recovery`` to the parse tree that ``builder`` reads."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from dractl.cel.grammar import State
from dractl.cel.lexer import Token
from dractl.cel.prediction import Stack
from dractl.cel.syntax import (
    Binary,
    Broken,
    Chain,
    Constant,
    Field,
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


@dataclass(slots=True, eq=False)
class Frame:
    """A use of a rule: where it was called, and its labelled parts."""

    rule: str
    start: Token
    parent: Frame | None
    invoking: State | None
    """The state that called the rule; None for the first."""
    alternative: str = ""
    stack: Stack | None = None
    """The rules to return to, kept here by the predictor."""
    parts: dict[str, Token | Frame] = field(default_factory=dict)
    lists: dict[str, list[Token | Frame]] = field(default_factory=dict)

    def token(self, label: str) -> Token | None:
        part = self.parts.get(label)
        return part if isinstance(part, Token) else None

    def frame(self, label: str) -> Frame | None:
        part = self.parts.get(label)
        return part if isinstance(part, Frame) else None

    def tokens(self, label: str) -> list[Token]:
        return [part for part in self.lists.get(label, []) if isinstance(part, Token)]

    def frames(self, label: str) -> list[Frame]:
        return [part for part in self.lists.get(label, []) if isinstance(part, Frame)]


def to_syntax(frame: Frame | None) -> Syntax | None:
    """The parse tree of a rule; rules that only hand on are left out."""
    return _CONVERTERS[frame.rule](frame) if frame is not None else None


def _expr(frame: Frame) -> Syntax | None:
    op = frame.token("op")
    condition = to_syntax(frame.frame("e"))
    if op is None:
        return condition
    return Ternary(frame.start, condition, op, to_syntax(frame.frame("e1")), to_syntax(frame.frame("e2")))


def _chain(frame: Frame) -> Syntax | None:
    ops = frame.tokens("ops")
    first = to_syntax(frame.frame("e"))
    if not ops:
        return first
    function = "_||_" if frame.rule == "conditionalOr" else "_&&_"
    return Chain(frame.start, function, first, ops, [to_syntax(each) for each in frame.frames("rest")])


def _binary(frame: Frame) -> Syntax | None:
    op = frame.token("op")
    if op is None:
        return to_syntax(frame.frame("operand"))
    left, right = to_syntax(frame.frame("left")), to_syntax(frame.frame("right"))
    return Binary(frame.start, left, op, right)


def _unary(frame: Frame) -> Syntax | None:
    if not frame.alternative:
        return Broken(frame.start, unary=True)
    member = to_syntax(frame.frame("member"))
    if frame.alternative == "member":
        return member
    return Prefix(frame.start, frame.alternative, frame.tokens("ops"), member)


def _member(frame: Frame) -> Syntax | None:
    if "left" not in frame.parts:
        return to_syntax(frame.frame("primary"))
    operand = to_syntax(frame.frame("left"))
    optional = frame.token("opt") is not None
    match frame.alternative:
        case "select":
            return Member(frame.start, operand, frame.token("op"), optional, _name(frame))
        case "call":
            args = _args(frame.frame("args"))
            return MethodCall(frame.start, operand, frame.token("id"), frame.token("open"), args)
    return Subscript(frame.start, operand, frame.token("op"), optional, to_syntax(frame.frame("index")))


def _name(frame: Frame) -> Name | None:
    """The field name in a selection or before a colon."""
    token, named = frame.token("id"), frame.frame("id")
    if token is not None:
        return Name(token, token)
    return Name(named.start, named.token("id") if named.alternative else None) if named is not None else None


def _args(frame: Frame | None) -> list[Syntax | None]:
    return [to_syntax(each) for each in frame.frames("e")] if frame else []


def _primary(frame: Frame) -> Syntax | None:
    match frame.alternative:
        case "name" if frame.token("op") is None:
            return Identifier(frame.start, frame.token("dot"), frame.token("id"))
        case "ident":
            return Identifier(frame.start, frame.token("dot"), frame.token("id"))
        case "call" | "name":
            args = _args(frame.frame("args"))
            return FunctionCall(frame.start, frame.token("dot"), frame.token("id"), frame.token("op"), args)
        case "nested":
            return to_syntax(frame.frame("e"))
        case "list":
            return ListLiteral(frame.start, frame.token("op"), _items(frame.frame("elems")))
        case "map":
            return _map(frame, frame.frame("entries"))
        case "message":
            return _message(frame)
        case "literal":
            return to_syntax(frame.frame("literal"))
    return Broken(frame.start)


def _item(frame: Frame) -> Item:
    return Item(frame.start, frame.token("opt") is not None, to_syntax(frame.frame("e")))


def _items(frame: Frame | None) -> list[Item]:
    return [_item(each) for each in frame.frames("e")] if frame else []


def _map(frame: Frame, entries: Frame | None) -> Syntax:
    if entries is None:
        return MapLiteral(frame.start, frame.token("op"), [], [], [])
    keys = [_item(each) for each in entries.frames("keys")]
    values = [to_syntax(each) for each in entries.frames("values")]
    return MapLiteral(frame.start, frame.token("op"), keys, entries.tokens("colons"), values)


def _message(frame: Frame) -> Syntax:
    entries = frame.frame("entries")
    fields: Fields | None = None
    if entries is not None:
        names = [Field(each.start, each.token("opt") is not None, _name(each)) for each in entries.frames("keys")]
        values = [to_syntax(each) for each in entries.frames("values")]
        fields = Fields(entries.start, names, entries.tokens("colons"), values)
    return Message(frame.start, frame.token("dot"), frame.tokens("ids"), frame.token("op"), fields)


def _literal(frame: Frame) -> Syntax | None:
    token = frame.token("tok")
    return Constant(frame.start, frame.token("sign"), token) if token else Broken(frame.start)


def _start(frame: Frame) -> Syntax | None:
    return to_syntax(frame.frame("e"))


_CONVERTERS: dict[str, Callable[[Frame], Syntax | None]] = {
    "start": _start,
    "expr": _expr,
    "conditionalOr": _chain,
    "conditionalAnd": _chain,
    "relation": _binary,
    "calc": _binary,
    "unary": _unary,
    "member": _member,
    "primary": _primary,
    "literal": _literal,
}
