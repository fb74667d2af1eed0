"""Recursive descent over the tokens of an expression without syntax errors.

The functions mirror the rules of cel-go's grammar (``parser/gen/CEL.g4``), because its nesting limit counts how deep
each rule is nested. At the first token that does not fit, ``NotInGrammar`` is raised; ``recovery`` then parses again,
slowly, to say what cel-go's parser would say.
"""

from __future__ import annotations

from dractl.cel import lexer as k
from dractl.cel.lexer import Token
from dractl.cel.syntax import (
    Binary,
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

MAX_DEPTH = 250
_RELATIONS = frozenset((k.EQUALS, k.NOT_EQUALS, k.IN, k.LESS, k.LESS_EQUALS, k.GREATER_EQUALS, k.GREATER))
_PRODUCTS = frozenset((k.STAR, k.SLASH, k.PERCENT))
_SUMS = frozenset((k.PLUS, k.MINUS))
_NUMBERS = frozenset((k.NUM_INT, k.NUM_FLOAT))
_CONSTANTS = frozenset((k.NUM_INT, k.NUM_UINT, k.NUM_FLOAT, k.STRING, k.BYTES, k.TRUE, k.FALSE, k.NULL))


class NotInGrammar(Exception):
    """A token that cannot follow."""


class TooDeep(Exception):
    """More than ``MAX_DEPTH`` nested uses of one grammar rule."""


def parse_tokens(tokens: list[Token]) -> Syntax:
    """The parse tree of the visible ``tokens``, the last of which is EOF. Raises NotInGrammar, TooDeep."""
    parser = _Parser(tokens)
    tree = parser.expr()
    parser.expect(k.EOF)
    return tree


class _Parser:
    def __init__(self, tokens: list[Token]) -> None:
        self._tokens = tokens
        self._at = 0
        self._exprs = 0
        self._relations = 0
        self._calcs = 0

    def expect(self, kind: int) -> Token:
        token = self._tokens[self._at]
        if token.kind != kind:
            raise NotInGrammar
        self._at += 1
        return token

    def _take(self, kind: int) -> Token | None:
        token = self._tokens[self._at]
        if token.kind != kind:
            return None
        self._at += 1
        return token

    def _kind(self) -> int:
        return self._tokens[self._at].kind

    def expr(self) -> Syntax:
        self._exprs += 1
        if self._exprs > MAX_DEPTH:
            raise TooDeep
        start = self._tokens[self._at]
        tree = self._or()
        op = self._take(k.QUESTION)
        if op:
            then = self._or()
            self.expect(k.COLON)
            tree = Ternary(start, tree, op, then, self.expr())
        self._exprs -= 1
        return tree

    def _or(self) -> Syntax:
        start = self._tokens[self._at]
        tree = self._and()
        if self._kind() != k.LOGICAL_OR:
            return tree
        chain = Chain(start, "_||_", tree, [], [])
        while op := self._take(k.LOGICAL_OR):
            chain.ops.append(op)
            chain.rest.append(self._and())
        return chain

    def _and(self) -> Syntax:
        start = self._tokens[self._at]
        tree = self._relation(0)
        if self._kind() != k.LOGICAL_AND:
            return tree
        chain = Chain(start, "_&&_", tree, [], [])
        while op := self._take(k.LOGICAL_AND):
            chain.ops.append(op)
            chain.rest.append(self._relation(0))
        return chain

    def _relation(self, precedence: int) -> Syntax:
        self._relations += 1
        if self._relations > MAX_DEPTH:
            raise TooDeep
        start = self._tokens[self._at]
        tree = self._calc(0)
        while precedence <= 1 and self._kind() in _RELATIONS:
            op = self.expect(self._kind())
            tree = Binary(start, tree, op, self._relation(2))
        self._relations -= 1
        return tree

    def _calc(self, precedence: int) -> Syntax:
        self._calcs += 1
        if self._calcs > MAX_DEPTH:
            raise TooDeep
        start = self._tokens[self._at]
        tree = self._unary()
        while True:
            kind = self._kind()
            if precedence <= 2 and kind in _PRODUCTS:
                tree = Binary(start, tree, self.expect(kind), self._calc(3))
            elif precedence <= 1 and kind in _SUMS:
                tree = Binary(start, tree, self.expect(kind), self._calc(2))
            else:
                break
        self._calcs -= 1
        return tree

    def _unary(self) -> Syntax:
        start = self._tokens[self._at]
        if start.kind == k.EXCLAM:
            ops = []
            while op := self._take(k.EXCLAM):
                ops.append(op)
            return Prefix(start, "!_", ops, self._member())
        # a minus before a number belongs to the number, unless another minus stands before it
        if start.kind == k.MINUS and self._tokens[self._at + 1].kind not in _NUMBERS:
            ops = []
            while op := self._take(k.MINUS):
                ops.append(op)
            return Prefix(start, "-_", ops, self._member())
        return self._member()

    def _member(self) -> Syntax:
        start = self._tokens[self._at]
        tree = self._primary()
        while True:
            if op := self._take(k.DOT):
                tree = self._after_dot(start, tree, op)
            elif op := self._take(k.LBRACKET):
                optional = self._take(k.QUESTION) is not None
                index = self.expr()
                self.expect(k.RBRACKET)
                tree = Subscript(start, tree, op, optional, index)
            else:
                return tree

    def _after_dot(self, start: Token, operand: Syntax, op: Token) -> Syntax:
        if self._kind() == k.IDENTIFIER and self._tokens[self._at + 1].kind == k.LPAREN:
            name = self.expect(k.IDENTIFIER)
            opening = self.expect(k.LPAREN)
            return MethodCall(start, operand, name, opening, self._args())
        optional = self._take(k.QUESTION) is not None
        return Member(start, operand, op, optional, self._name())

    def _name(self) -> Name:
        token = self._tokens[self._at]
        if token.kind not in (k.IDENTIFIER, k.ESC_IDENTIFIER):
            raise NotInGrammar
        self._at += 1
        return Name(token, token)

    def _args(self) -> list[Syntax | None]:
        args: list[Syntax | None] = []
        if self._kind() != k.RPAREN:
            args.append(self.expr())
            while self._take(k.COMMA):
                args.append(self.expr())
        self.expect(k.RPAREN)
        return args

    def _primary(self) -> Syntax:
        start = self._tokens[self._at]
        kind = start.kind
        if kind in (k.IDENTIFIER, k.DOT):
            return self._named(start)
        if kind == k.LPAREN:
            self._at += 1
            tree = self.expr()
            self.expect(k.RPAREN)
            return tree
        if kind == k.LBRACKET:
            return self._list(self.expect(k.LBRACKET))
        if kind == k.LBRACE:
            return self._map(self.expect(k.LBRACE))
        sign = self._take(k.MINUS)
        token = self._tokens[self._at]
        if token.kind not in (_NUMBERS if sign else _CONSTANTS):
            raise NotInGrammar
        self._at += 1
        return Constant(start, sign, token)

    def _named(self, start: Token) -> Syntax:
        """An identifier, a call, or the construction of a message, which takes looking ahead for the brace."""
        dot = self._take(k.DOT)
        at = self._at
        self.expect(k.IDENTIFIER)
        names = [self._tokens[at]]
        ahead = self._at
        while self._tokens[ahead].kind == k.DOT and self._tokens[ahead + 1].kind == k.IDENTIFIER:
            names.append(self._tokens[ahead + 1])
            ahead += 2
        if self._tokens[ahead].kind == k.LBRACE:
            self._at = ahead
            return Message(start, dot, names, self.expect(k.LBRACE), self._fields())
        if opening := self._take(k.LPAREN):
            return FunctionCall(start, dot, names[0], opening, self._args())
        return Identifier(start, dot, names[0])

    def _item(self) -> Item:
        start = self._tokens[self._at]
        optional = self._take(k.QUESTION) is not None
        return Item(start, optional, self.expr())

    def _more(self, closing: int) -> bool:
        """Whether another entry follows; a comma before the end is allowed."""
        if not self._take(k.COMMA):
            return False
        return self._kind() != closing

    def _list(self, op: Token) -> Syntax:
        items: list[Item] = []
        if self._kind() != k.RBRACKET and not self._lone_comma(k.RBRACKET):
            items.append(self._item())
            while self._more(k.RBRACKET):
                items.append(self._item())
        self.expect(k.RBRACKET)
        return ListLiteral(op, op, items)

    def _lone_comma(self, closing: int) -> bool:
        """``[,]`` and ``{,}`` are in the grammar."""
        if self._kind() == k.COMMA and self._tokens[self._at + 1].kind == closing:
            self._at += 1
            return True
        return False

    def _map(self, op: Token) -> Syntax:
        tree = MapLiteral(op, op, [], [], [])
        if self._kind() != k.RBRACE and not self._lone_comma(k.RBRACE):
            more = True
            while more:
                tree.keys.append(self._item())
                tree.colons.append(self.expect(k.COLON))
                tree.values.append(self.expr())
                more = self._more(k.RBRACE)
        self.expect(k.RBRACE)
        return tree

    def _fields(self) -> Fields | None:
        tree = Fields(self._tokens[self._at], [], [], [])
        if self._kind() != k.RBRACE and not self._lone_comma(k.RBRACE):
            more = True
            while more:
                start = self._tokens[self._at]
                optional = self._take(k.QUESTION) is not None
                tree.fields.append(Field(start, optional, self._name()))
                tree.colons.append(self.expect(k.COLON))
                tree.values.append(self.expr())
                more = self._more(k.RBRACE)
        self.expect(k.RBRACE)
        return tree if tree.fields else None
