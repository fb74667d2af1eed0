"""cel-go's grammar as data, and the transition network that ANTLR makes of it.

Only ``recovery`` and ``prediction`` use it, to find the syntax errors that cel-go's generated parser finds. An element
knows the states of the network that belong to it: error recovery asks what may follow a state.
Source: cel-go's ``parser/gen/CEL.g4``; the shapes are those of ANTLR 4.13.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum, auto
from functools import lru_cache

from dractl.cel import lexer as k

EPSILON = -2
"""Stands in a set of tokens for "the rule may end here"."""


class StateKind(Enum):
    BASIC = auto()
    RULE_START = auto()
    RULE_STOP = auto()
    BLOCK_START = auto()
    """Start of alternatives, of an optional part, of the body of a loop."""
    BLOCK_END = auto()
    STAR_LOOP_ENTRY = auto()
    LOOP_BACK = auto()
    LOOP_END = auto()


@dataclass(slots=True, eq=False)
class Transition:
    """A step to ``target``: over a token of ``tokens``, into a rule (then on at ``follow``), or without any token.

    ``precedence`` with a rule is the precedence it is called with, otherwise the least one that lets the step pass.
    ``leaves_rule``: on the way out of a rule that is called with precedence 0, that rule.
    """

    target: State
    tokens: frozenset[int] | None = None
    follow: State | None = None
    precedence: int = -1
    leaves_rule: str = ""


@dataclass(slots=True, eq=False)
class State:
    number: int
    rule: str
    kind: StateKind = StateKind.BASIC
    transitions: list[Transition] = field(default_factory=list)
    block_end: State | None = None
    """Of the entry of a loop of a left-recursive rule: the end of the loop's body."""
    look: frozenset[int] | None = None
    """Tokens that may come next inside the rule, filled in when asked for."""

    @property
    def epsilon_only(self) -> bool:
        return bool(self.transitions) and self.transitions[0].tokens is None


@dataclass(slots=True, eq=False)
class Element:
    """A part of a rule. ``state`` is where the parser stands before it."""

    state: State = field(init=False)


@dataclass(slots=True, eq=False)
class Tok(Element):
    """One token of ``kinds``, kept under ``label`` (a list if that ends with ``+``)."""

    kinds: frozenset[int]
    label: str = ""


@dataclass(slots=True, eq=False)
class Ref(Element):
    """A use of another rule."""

    rule: str
    label: str = ""
    precedence: int = 0


@dataclass(slots=True, eq=False)
class Pred(Element):
    """Lets pass if the rule was called with at most this precedence."""

    precedence: int


@dataclass(slots=True, eq=False)
class Alternative:
    elements: list[Element]
    name: str = ""


@dataclass(slots=True, eq=False)
class Choice(Element):
    """One of several alternatives. ``simple``: one token of lookahead decides, without prediction."""

    alternatives: list[Alternative]
    simple: bool = False


@dataclass(slots=True, eq=False)
class Optional(Element):
    """Perhaps the elements; one token of lookahead, one of ``first``, decides, or without ``first`` prediction."""

    elements: list[Element]
    first: frozenset[int] | None


@dataclass(slots=True, eq=False)
class Loop(Element):
    """The body any number of times (``at_least_one``: or once at least).

    With ``first`` one token of lookahead decides whether it goes on, without it prediction does. ``recursive``: the
    loop that takes the place of a rule's left recursion.
    """

    body: Choice | list[Element]
    first: frozenset[int] | None
    at_least_one: bool = False
    recursive: bool = False
    back: State = field(init=False)


@dataclass(slots=True, eq=False)
class Rule:
    name: str
    elements: list[Element]
    recursive: bool = False
    start: State = field(init=False)
    stop: State = field(init=False)


def _tok(*kinds: int, label: str = "") -> Tok:
    return Tok(frozenset(kinds), label)


_EXPR_FIRST = frozenset(
    {k.LBRACKET, k.LBRACE, k.LPAREN, k.DOT, k.MINUS, k.EXCLAM, k.TRUE, k.FALSE, k.NULL}
    | {k.NUM_FLOAT, k.NUM_INT, k.NUM_UINT, k.STRING, k.BYTES, k.IDENTIFIER}
)
_ITEM_FIRST = _EXPR_FIRST | {k.QUESTION}
_FIELD_FIRST = frozenset((k.QUESTION, k.IDENTIFIER, k.ESC_IDENTIFIER))


def _optional(first: frozenset[int] | int, *elements: Element) -> Optional:
    return Optional([*elements], frozenset((first,)) if isinstance(first, int) else first)


def _dot() -> Optional:
    return _optional(k.DOT, _tok(k.DOT, label="dot"))


def _comma() -> Optional:
    return _optional(k.COMMA, _tok(k.COMMA))


def _args() -> Optional:
    return _optional(_EXPR_FIRST, Ref("exprList", "args"))


def _question(label: str = "opt") -> Optional:
    return _optional(k.QUESTION, _tok(k.QUESTION, label=label))


def _sign() -> Optional:
    return _optional(k.MINUS, _tok(k.MINUS, label="sign"))


def _chain(name: str, operand: str, op: int) -> Rule:
    loop = Loop([_tok(op, label="ops+"), Ref(operand, "rest+")], frozenset((op,)))
    return Rule(name, [Ref(operand, "e"), loop])


def _entries(name: str, key: str) -> Rule:
    more = [_tok(k.COMMA), Ref(key, "keys+"), _tok(k.COLON, label="colons+"), Ref("expr", "values+")]
    return Rule(name, [Ref(key, "keys+"), _tok(k.COLON, label="colons+"), Ref("expr", "values+"), Loop([*more], None)])


def _rules(escapes: bool) -> list[Rule]:
    """All rules; ``escapes``: with names in backticks, as since cel-go 0.23."""
    rules = [
        Rule("start", [Ref("expr", "e"), _tok(k.EOF)]),
        Rule(
            "expr",
            [
                Ref("conditionalOr", "e"),
                _optional(
                    k.QUESTION,
                    _tok(k.QUESTION, label="op"),
                    Ref("conditionalOr", "e1"),
                    _tok(k.COLON),
                    Ref("expr", "e2"),
                ),
            ],
        ),
        _chain("conditionalOr", "conditionalAnd", k.LOGICAL_OR),
        _chain("conditionalAnd", "relation", k.LOGICAL_AND),
        Rule("relation", [Ref("calc", "operand"), _relation_loop()], recursive=True),
        Rule("calc", [Ref("unary", "operand"), _calc_loop()], recursive=True),
        Rule("unary", [_unary()]),
        Rule("member", [Ref("primary", "primary"), _member_loop(escapes)], recursive=True),
        Rule("primary", [_primary(escapes)]),
        Rule("exprList", [Ref("expr", "e+"), Loop([_tok(k.COMMA), Ref("expr", "e+")], frozenset((k.COMMA,)))]),
        Rule("listInit", [Ref("optExpr", "e+"), Loop([_tok(k.COMMA), Ref("optExpr", "e+")], None)]),
        _entries("fieldInitializerList", "optField"),
        Rule("optField", [_question(), _field_name(escapes)]),
        _entries("mapInitializerList", "optExpr"),
        Rule(
            "escapeIdent",
            [
                Choice(
                    [
                        Alternative([_tok(k.IDENTIFIER, label="id")], "plain"),
                        Alternative([_tok(k.ESC_IDENTIFIER, label="id")], "quoted"),
                    ],
                    simple=True,
                )
            ],
        ),
        Rule("optExpr", [_question(), Ref("expr", "e")]),
        Rule("literal", [_literal()]),
    ]
    return [rule for rule in rules if escapes or rule.name != "escapeIdent"]


def _field_name(escapes: bool) -> Element:
    return Ref("escapeIdent", "id") if escapes else _tok(k.IDENTIFIER, label="id")


def _relation_loop() -> Loop:
    operators = _tok(k.EQUALS, k.NOT_EQUALS, k.IN, k.LESS, k.LESS_EQUALS, k.GREATER_EQUALS, k.GREATER, label="op")
    return Loop([Pred(1), operators, Ref("relation", "right", 2)], None, recursive=True)


def _calc_loop() -> Loop:
    products = [Pred(2), _tok(k.STAR, k.SLASH, k.PERCENT, label="op"), Ref("calc", "right", 3)]
    sums = [Pred(1), _tok(k.MINUS, k.PLUS, label="op"), Ref("calc", "right", 2)]
    return Loop(Choice([Alternative([*products]), Alternative([*sums])]), None, recursive=True)


def _unary() -> Choice:
    excls = Loop([_tok(k.EXCLAM, label="ops+")], frozenset((k.EXCLAM,)), at_least_one=True)
    minuses = Loop([_tok(k.MINUS, label="ops+")], None, at_least_one=True)
    return Choice(
        [
            Alternative([Ref("member", "member")], "member"),
            Alternative([excls, Ref("member", "member")], "!_"),
            Alternative([minuses, Ref("member", "member")], "-_"),
        ]
    )


def _member_loop(escapes: bool) -> Loop:
    select = [Pred(3), _tok(k.DOT, label="op"), _question(), _field_name(escapes)]
    call: list[Element] = [
        Pred(2),
        _tok(k.DOT, label="op"),
        _tok(k.IDENTIFIER, label="id"),
        _tok(k.LPAREN, label="open"),
        _args(),
        _tok(k.RPAREN),
    ]
    index = [Pred(1), _tok(k.LBRACKET, label="op"), _question(), Ref("expr", "index"), _tok(k.RBRACKET)]
    return Loop(
        Choice(
            [
                Alternative([*select], "select"),
                Alternative(call, "call"),
                Alternative([*index], "index"),
            ]
        ),
        None,
        recursive=True,
    )


def _primary(escapes: bool) -> Choice:
    name = k.IDENTIFIER
    call: list[Element] = [_dot(), _tok(name, label="id"), _tok(k.LPAREN, label="op"), _args(), _tok(k.RPAREN)]
    list_literal: list[Element] = [
        _tok(k.LBRACKET, label="op"),
        _optional(_ITEM_FIRST, Ref("listInit", "elems")),
        _comma(),
        _tok(k.RBRACKET),
    ]
    map_literal: list[Element] = [
        _tok(k.LBRACE, label="op"),
        _optional(_ITEM_FIRST, Ref("mapInitializerList", "entries")),
        _comma(),
        _tok(k.RBRACE),
    ]
    message: list[Element] = [
        _dot(),
        _tok(name, label="ids+"),
        Loop([_tok(k.DOT), _tok(name, label="ids+")], frozenset((k.DOT,))),
        _tok(k.LBRACE, label="op"),
        _optional(_FIELD_FIRST, Ref("fieldInitializerList", "entries")),
        _comma(),
        _tok(k.RBRACE),
    ]
    if escapes:
        named = [Alternative([_dot(), _tok(name, label="id")], "ident"), Alternative(call, "call")]
    else:
        named = [Alternative([*call[:2], Optional(call[2:], None)], "name")]
    return Choice(
        [
            *named,
            Alternative([_tok(k.LPAREN), Ref("expr", "e"), _tok(k.RPAREN)], "nested"),
            Alternative(list_literal, "list"),
            Alternative(map_literal, "map"),
            Alternative(message, "message"),
            Alternative([Ref("literal", "literal")], "literal"),
        ]
    )


def _literal() -> Choice:
    return Choice(
        [
            Alternative([_sign(), _tok(k.NUM_INT, label="tok")], "int"),
            Alternative([_tok(k.NUM_UINT, label="tok")], "uint"),
            Alternative([_sign(), _tok(k.NUM_FLOAT, label="tok")], "double"),
            Alternative([_tok(k.STRING, label="tok")], "string"),
            Alternative([_tok(k.BYTES, label="tok")], "bytes"),
            Alternative([_tok(k.TRUE, label="tok")], "true"),
            Alternative([_tok(k.FALSE, label="tok")], "false"),
            Alternative([_tok(k.NULL, label="tok")], "null"),
        ]
    )


_Ends = tuple[State, State]
"""The states before and behind a part of a rule."""


def _is_single_step(left: State, right: State) -> bool:
    """Whether nothing but one step lies between two plain states."""
    if left.kind is not StateKind.BASIC or right.kind is not StateKind.BASIC or len(left.transitions) != 1:
        return False
    step = left.transitions[0]
    return right in (step.follow, step.target)


def _redirect(step: Transition, target: State) -> None:
    """Lets a step end at another state."""
    if step.follow is not None:
        step.follow = target
    else:
        step.target = target


def _shorten_tails(state: State, seen: set[State]) -> None:
    """Takes out the state between the last step of an alternative and the end of the block.

    That two alternatives then return from a rule to the same state decides how far predictions look ahead. What comes
    behind a use of a rule is not reached, as in ANTLR.
    """
    if state in seen:
        return
    seen.add(state)
    if state.kind is StateKind.BASIC and len(state.transitions) == 1:
        step = state.transitions[0]
        middle = step.follow or step.target
        if middle.kind is StateKind.BASIC and len(middle.transitions) == 1:
            last = middle.transitions[0]
            if last.tokens is None and last.follow is None and last.target.kind in _BLOCK_ENDS:
                _redirect(step, last.target)
    for step in state.transitions:
        if step.follow is None:
            _shorten_tails(step.target, seen)


_BLOCK_ENDS = (StateKind.BLOCK_END, StateKind.LOOP_BACK)


class Network:
    """The states of all rules."""

    def __init__(self, escapes: bool) -> None:
        self.states: list[State] = []
        self.rules = {rule.name: rule for rule in _rules(escapes)}
        for rule in self.rules.values():
            rule.start = self._state(rule.name, StateKind.RULE_START)
            rule.stop = self._state(rule.name, StateKind.RULE_STOP)
        for rule in self.rules.values():
            left, right = self._sequence(rule.elements, rule)
            self._link(rule.start, left)
            self._link(right, rule.stop)
        self._add_ways_out()

    def _state(self, rule: str, kind: StateKind = StateKind.BASIC) -> State:
        state = State(len(self.states), rule, kind)
        self.states.append(state)
        return state

    @staticmethod
    def _link(source: State, target: State) -> None:
        source.transitions.append(Transition(target))

    def _sequence(self, elements: list[Element], rule: Rule) -> _Ends:
        """Builds elements one after the other."""
        ends = [self._element(element, rule) for element in elements]
        for number, (left, right) in enumerate(ends[:-1]):
            following = ends[number + 1][0]
            # ANTLR sets the operand that a left-recursive rule starts with apart
            set_apart = rule.recursive and elements is rule.elements and number == 0
            if not set_apart and _is_single_step(left, right):
                _redirect(left.transitions[0], following)
            else:
                self._link(right, following)
        return ends[0][0], ends[-1][1]

    def _element(self, element: Element, rule: Rule) -> _Ends:
        match element:
            case Loop():
                return self._loop(element, rule)
            case Choice():
                element.state = self._state(rule.name, StateKind.BLOCK_START)
                return self._block(element.state, [each.elements for each in element.alternatives], rule)
            case Optional():
                element.state = self._state(rule.name, StateKind.BLOCK_START)
                start, end = self._block(element.state, [element.elements], rule)
                self._link(start, end)
                return start, end
        element.state = self._state(rule.name)
        end = self._state(rule.name)
        match element:
            case Tok():
                step = Transition(end, tokens=element.kinds)
            case Ref():
                step = Transition(self.rules[element.rule].start, follow=end, precedence=element.precedence)
            case Pred():
                step = Transition(end, precedence=element.precedence)
            case _:
                raise TypeError(type(element))
        element.state.transitions.append(step)
        return element.state, end

    def _block(self, start: State, alternatives: list[list[Element]], rule: Rule) -> _Ends:
        end = self._state(rule.name, StateKind.BLOCK_END)
        for elements in alternatives:
            left, right = self._sequence(elements, rule)
            self._link(start, left)
            self._link(right, end)
            _shorten_tails(left, set())
        return start, end

    def _loop(self, loop: Loop, rule: Rule) -> _Ends:
        body = self._state(rule.name, StateKind.BLOCK_START)
        if isinstance(loop.body, Choice):
            loop.body.state = body
            alternatives = [each.elements for each in loop.body.alternatives]
        else:
            alternatives = [loop.body]
        body, body_end = self._block(body, alternatives, rule)
        back = loop.back = self._state(rule.name, StateKind.LOOP_BACK)
        done = self._state(rule.name, StateKind.LOOP_END)
        self._link(body_end, back)
        if loop.at_least_one:
            loop.state = body
            self._link(back, body)
            self._link(back, done)
            return body, done
        loop.state = entry = self._state(rule.name, StateKind.STAR_LOOP_ENTRY)
        if loop.recursive:
            entry.block_end = body_end
        self._link(entry, body)
        self._link(entry, done)
        self._link(back, entry)
        return entry, done

    def _add_ways_out(self) -> None:
        """From the end of each rule to wherever the rule is used."""
        for state in self.states:
            for step in state.transitions:
                if step.follow is None:
                    continue
                called = self.rules[step.target.rule]
                leaves = called.name if called.recursive and step.precedence == 0 else ""
                called.stop.transitions.append(Transition(step.follow, leaves_rule=leaves))

    # -- what may come next

    def look(self, state: State) -> frozenset[int]:
        """Tokens that may come at ``state``, and EPSILON if its rule may end there."""
        if state.look is None:
            found: set[int] = set()
            self._look(state, found, set(), [])
            state.look = frozenset(found)
        return state.look

    def _look(self, state: State, found: set[int], seen: set[State], called: list[str]) -> None:
        if state.kind is StateKind.RULE_STOP:
            found.add(EPSILON)
            return
        if state in seen:
            return
        seen.add(state)
        for step in state.transitions:
            if step.tokens is not None:
                found |= step.tokens
            elif step.follow is None:
                self._look(step.target, found, seen, called)
            elif step.target.rule not in called:
                inner: set[int] = set()
                self._look(step.target, inner, set(), [*called, step.target.rule])
                if EPSILON in inner:
                    self._look(step.follow, found, seen, called)
                found |= inner - {EPSILON}


@lru_cache
def network(escapes: bool) -> Network:
    """The network of the grammar with or without names in backticks; built at the first syntax error."""
    return Network(escapes)
