"""Parses an expression with syntax errors the way cel-go's generated parser does, to report what it reports.

This is ANTLR's default error strategy over the grammar's network: one token deleted or made up where that mends things,
otherwise tokens skipped until one fits an open rule; with cel-go's limits on how long it goes on. The parse tree comes
with holes; building it may bring up further faults.
Source: ANTLR 4.13's ``error_strategy`` for Go; cel-go's ``parser/parser.go``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from dractl.cel import lexer as k
from dractl.cel.descent import MAX_DEPTH, TooDeep
from dractl.cel.errors import NO_POSITION, Issues
from dractl.cel.grammar import (
    EPSILON,
    Choice,
    Element,
    Loop,
    Optional,
    Pred,
    Ref,
    State,
    StateKind,
    Tok,
    network,
)
from dractl.cel.lexer import LexError, Token
from dractl.cel.prediction import NoViableAlternative, Predictor
from dractl.cel.syntax import Syntax
from dractl.cel.syntax_tree import Frame, to_syntax

_MAX_REPORTS = 100
_MAX_RECOVERIES = 30
_MAX_SKIPPED = 256
_VERB = re.compile(r"%[-+# 0]*[0-9]*(?:\.[0-9]*)?(.?)", re.DOTALL)
_RESERVED = re.compile(r"no viable alternative at input '.(true|false|null)'")


class GaveUp(Exception):
    """A limit was reached; all that can be reported is."""


class _Mismatch(Exception):
    """The current token cannot stand here; what could is looked up when this is reported."""

    def __init__(self, token: Token, expected: frozenset[int]) -> None:
        super().__init__()
        self.token = token
        self.expected = expected


def parse(source: str, issues: Issues, escapes: bool = True) -> Syntax | None:
    """The parse tree of ``source``, as far as there is one; errors go to ``issues``. Raises GaveUp, TooDeep.

    ``escapes``: the grammar has names in backticks.
    """
    return to_syntax(_Parser(source, issues, escapes).parse())


class _Tokens:
    """The visible tokens, read when needed; what is no token is reported on the way."""

    def __init__(self, source: str, parser: _Parser, escapes: bool) -> None:
        self._reader = k.tokens(source, escapes)
        self._parser = parser
        self._all: list[Token] = []
        self._visible: list[Token] = []
        self.at = 0

    def peek(self, ahead: int) -> Token:
        wanted = self.at + ahead
        while len(self._visible) <= wanted and not (self._visible and self._visible[-1].kind == k.EOF):
            token = next(self._reader)
            if isinstance(token, LexError):
                self._parser.report(token.start, token.message)
                continue
            self._all.append(token)
            if not token.hidden:
                self._visible.append(token)
        return self._visible[min(wanted, len(self._visible) - 1)]

    def consume(self) -> None:
        if self.peek(0).kind != k.EOF:
            self.at += 1
            self.peek(0)

    def text(self, start: Token, stop: Token) -> str:
        """The tokens from ``start`` to ``stop`` as written, hidden ones included."""
        parts = (token.text for token in self._all[start.index : stop.index + 1] if token.kind != k.EOF)
        return "".join(parts)


@dataclass(slots=True)
class _Budget:
    """How many tokens one recovery may skip."""

    left: int = field(default=_MAX_SKIPPED)


class _Parser:
    def __init__(self, source: str, issues: Issues, escapes: bool) -> None:
        self._issues = issues
        self._escapes = escapes
        self._network = network(escapes)
        self._reports = 0
        self._recoveries = 0
        self._recovering = False
        self._last_error_at = -1
        self._last_error_states: set[State] = set()
        self._depths = dict.fromkeys(self._network.rules, 0)
        self._precedences = [0]
        self._state: State | None = None
        self._frame: Frame | None = None
        self._tokens = _Tokens(source, self, escapes)
        self._predictor = Predictor(self._network, self._tokens, lambda least: least >= self._precedences[-1])

    def parse(self) -> Frame:
        return self._rule("start", 0)

    # -- reports

    def report(self, offset: int, message: str) -> None:
        if not self._escapes:
            # cel-go before 0.23 took the message for a format
            message = _VERB.sub(_missing_verb, message)
        if "no viable alternative" in message:
            message = _RESERVED.sub(r"mismatched input '\1' expecting IDENTIFIER", message)
        if self._reports >= _MAX_REPORTS:
            self._issues.add(offset, f"Syntax error: More than {_MAX_REPORTS} syntax errors", of_token=True)
            raise GaveUp
        self._reports += 1
        self._issues.add(offset, f"Syntax error: {message}", of_token=True)

    def _report_error(self, error: NoViableAlternative | _Mismatch) -> None:
        if self._recovering:
            return
        self._recovering = True
        if isinstance(error, _Mismatch):
            self.report(error.token.start, f"mismatched input {_shown(error.token)} expecting {_named(error.expected)}")
            return
        text = "<EOF>" if error.start.kind == k.EOF else self._tokens.text(error.start, error.offending)
        self.report(error.offending.start, f"no viable alternative at input {_quoted(text)}")

    def _report_unwanted(self) -> None:
        if self._recovering:
            return
        self._recovering = True
        token = self._tokens.peek(0)
        self.report(token.start, f"extraneous input {_shown(token)} expecting {_named(self._expected())}")

    def _report_missing(self) -> None:
        if self._recovering:
            return
        self._recovering = True
        token = self._tokens.peek(0)
        self.report(token.start, f"missing {_named(self._expected())} at {_shown(token)}")

    # -- what may follow

    def _expected(self) -> frozenset[int]:
        assert self._state is not None
        return self._expected_at(self._state)

    def _expected_at(self, state: State) -> frozenset[int]:
        """Tokens that may come at a state, in the rules that are open."""
        look = self._network.look(state)
        expected = set(look)
        frame = self._frame
        while EPSILON in look and frame is not None and frame.invoking is not None:
            look = self._network.look(_follow(frame.invoking))
            expected |= look
            frame = frame.parent
        expected.discard(EPSILON)
        if EPSILON in look:
            expected.add(k.EOF)
        return frozenset(expected)

    def _recovery_set(self) -> set[int]:
        """Tokens at which one of the open rules can go on."""
        found: set[int] = set()
        frame = self._frame
        while frame is not None and frame.invoking is not None:
            found |= self._network.look(_follow(frame.invoking))
            frame = frame.parent
        found.discard(EPSILON)
        return found

    # -- recovery

    def _matched(self) -> None:
        self._recovering = False
        self._last_error_states = set()
        self._last_error_at = -1

    def _count_recovery(self) -> None:
        if self._recoveries == _MAX_RECOVERIES:
            self._recoveries += 1
            self.report(self._tokens.peek(0).start, f"error recovery attempt limit exceeded: {_MAX_RECOVERIES}")
            raise GaveUp
        self._recoveries += 1

    def _skip(self, budget: _Budget | None) -> None:
        if budget is not None:
            if budget.left <= 0:
                self._issues.add(
                    NO_POSITION, f"error recovery token lookahead limit exceeded: {_MAX_SKIPPED}", placeless=True
                )
                raise GaveUp
            budget.left -= 1
        self._tokens.consume()

    def _recover(self) -> None:
        self._count_recovery()
        budget = _Budget()
        assert self._state is not None
        if self._last_error_at == self._tokens.at and self._state in self._last_error_states:
            # no progress since the last error: skip a token lest it go on forever
            self._skip(budget)
        self._last_error_at = self._tokens.at
        self._last_error_states.add(self._state)
        self._skip_to(self._recovery_set(), budget)

    def _skip_to(self, wanted: set[int], budget: _Budget | None) -> None:
        while self._tokens.peek(0).kind != k.EOF and self._tokens.peek(0).kind not in wanted:
            self._skip(budget)

    def _delete_token(self, budget: _Budget | None) -> Token | None:
        """If the next but one token fits here: deletes the next, returns the one that fits."""
        if self._tokens.peek(1).kind not in self._expected():
            return None
        self._report_unwanted()
        self._skip(budget)
        self._matched()
        return self._tokens.peek(0)

    def _recover_inline(self) -> Token:
        self._count_recovery()
        budget = _Budget()
        found = self._delete_token(budget)
        if found is not None:
            self._skip(budget)
            return found
        current = self._tokens.peek(0)
        assert self._state is not None
        if current.kind in self._expected_at(self._state.transitions[0].target):
            self._report_missing()
            return self._missing_token(current)
        raise _Mismatch(current, self._expected())

    def _missing_token(self, current: Token) -> Token:
        kind = min(self._expected())
        name = "EOF" if kind == k.EOF else k.NAMES[kind] if k.NAMES[kind].startswith("'") else "undefined"
        return Token(kind, f"<missing {name}>", current.start)

    def _sync(self, state: State) -> None:
        """Before an optional part or a loop: makes sure that the input fits, or mends it."""
        self._state = state
        if self._recovering:
            return
        look = self._network.look(state)
        if EPSILON in look or self._tokens.peek(0).kind in look:
            return
        if state.kind is StateKind.LOOP_BACK:
            self._report_unwanted()
            self._skip_to(set(self._expected()) | self._recovery_set(), None)
        elif self._delete_token(None) is None:
            raise _Mismatch(self._tokens.peek(0), self._expected())

    # -- rules

    def _deeper(self, rule: str) -> None:
        self._depths[rule] += 1
        if self._depths[rule] > MAX_DEPTH:
            raise TooDeep

    def _rule(self, name: str, precedence: int) -> Frame:
        rule = self._network.rules[name]
        parent, invoking = self._frame, self._state
        frame = self._frame = Frame(name, self._tokens.peek(0), parent, invoking)
        self._state = rule.start
        if rule.recursive:
            self._precedences.append(precedence)
        self._deeper(name)
        try:
            self._sequence(rule.elements)
        except (NoViableAlternative, _Mismatch) as error:
            self._report_error(error)
            self._recover()
        self._depths[name] -= 1
        frame = self._frame
        if rule.recursive:
            self._precedences.pop()
        else:
            self._state = invoking
        self._frame = parent
        return frame

    def _sequence(self, elements: Iterable[Element]) -> None:
        for element in elements:
            match element:
                case Tok():
                    self._token(element)
                case Ref():
                    self._state = element.state
                    self._keep(element.label, self._rule(element.rule, element.precedence))
                case Pred():
                    self._state = element.state
                case Optional():
                    self._sync(element.state)
                    if self._goes_on(element):
                        self._sequence(element.elements)
                case Choice():
                    self._sync(element.state)
                    self._choose(element)
                case Loop():
                    self._loop(element)

    def _token(self, element: Tok) -> None:
        self._state = element.state
        token = self._tokens.peek(0)
        if token.kind in element.kinds:
            self._matched()
            self._tokens.consume()
        else:
            token = self._recover_inline()
        self._keep(element.label, token)

    def _keep(self, label: str, part: Token | Frame) -> None:
        assert self._frame is not None
        if label.endswith("+"):
            self._frame.lists.setdefault(label[:-1], []).append(part)
        elif label:
            self._frame.parts[label] = part

    def _predict(self, decision: Choice | Loop | Optional) -> int:
        assert self._frame is not None
        return self._predictor.predict(decision, self._frame, self._precedences[-1])

    def _choose(self, choice: Choice) -> None:
        if choice.simple:
            token = self._tokens.peek(0)
            for alternative in choice.alternatives:
                first = alternative.elements[0]
                if isinstance(first, Tok) and token.kind in first.kinds:
                    break
            else:
                raise NoViableAlternative(token, token)
        else:
            alternative = choice.alternatives[self._predict(choice) - 1]
        assert self._frame is not None
        if self._network.rules[self._frame.rule].recursive:
            self._extend_frame()
        self._frame.alternative = alternative.name
        self._sequence(alternative.elements)

    def _goes_on(self, part: Loop | Optional) -> bool:
        if part.first is not None:
            return self._tokens.peek(0).kind in part.first
        return self._predict(part) == 1

    def _loop(self, loop: Loop) -> None:
        self._sync(loop.state)
        going = True if loop.at_least_one else self._goes_on(loop)
        while going:
            if isinstance(loop.body, Choice):
                self._sync(loop.body.state)
                self._choose(loop.body)
            else:
                if loop.recursive:
                    self._extend_frame()
                self._sequence(loop.body)
            self._sync(loop.back)
            going = self._goes_on(loop)

    def _extend_frame(self) -> None:
        """What was parsed of a left-recursive rule becomes the left operand of the next step."""
        before = self._frame
        assert before is not None
        frame = Frame(before.rule, before.start, before.parent, before.invoking)
        frame.parts["left"] = before
        before.invoking = self._network.rules[before.rule].start
        before.parent = frame
        self._frame = frame


def _missing_verb(verb: re.Match[str]) -> str:
    """What Go's ``Sprintf`` makes of a verb without an argument."""
    letter = verb.group(1)
    if letter == "%":
        return "%"
    return f"%!{letter}(MISSING)" if letter else "%!(NOVERB)"


def _follow(invoking: State) -> State:
    follow = invoking.transitions[0].follow
    assert follow is not None
    return follow


def _quoted(text: str) -> str:
    return "'" + text.replace("\t", "\\t").replace("\n", "\\n").replace("\r", "\\r") + "'"


def _shown(token: Token) -> str:
    return _quoted(token.text)


def _named(kinds: frozenset[int]) -> str:
    names = [k.NAMES[kind] for kind in sorted(kinds)]
    return names[0] if len(names) == 1 else "{" + ", ".join(names) + "}"
