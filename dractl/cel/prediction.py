"""Which alternative of a choice the input calls for, as ANTLR's adaptive LL(*) prediction decides it.

First the input is followed through the network with what may follow a rule anywhere (as a cached automaton); where that
leaves more than one alternative, again with what can follow in the rules that are really open. For a text without
syntax errors simpler means would do; but where the prediction fails decides what the error message says.
Source: ANTLR 4.13's ``parser_atn_simulator`` for Go, peculiarities included.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Protocol

from dractl.cel.grammar import Choice, Loop, Network, Optional, State, StateKind, Transition
from dractl.cel.lexer import EOF, Token


class Frame(Protocol):
    """An open rule, as the parser keeps it."""

    stack: Stack | None
    """Kept here by the predictor: the rules to return to."""

    @property
    def parent(self) -> Frame | None: ...

    @property
    def invoking(self) -> State | None: ...


class Input(Protocol):
    def peek(self, ahead: int) -> Token:
        """The visible token ``ahead`` places further, 0 being the current one; EOF at the end and beyond."""
        ...


class NoViableAlternative(Exception):
    """No alternative fits; the input was read from ``start`` up to ``offending``."""

    def __init__(self, start: Token, offending: Token) -> None:
        super().__init__()
        self.start = start
        self.offending = offending


class Stack:
    """The rules to return to: a set of (return state, stack below) pairs, shared and never changed.

    The pair with None stands for "nothing known", or in full context for the end.
    """

    __slots__ = ("pairs",)

    def __init__(self, pairs: tuple[tuple[State | None, Stack | None], ...]) -> None:
        self.pairs = pairs

    @property
    def is_empty(self) -> bool:
        return self.pairs[0][0] is None

    @property
    def has_empty_path(self) -> bool:
        return any(state is None for state, _ in self.pairs)


EMPTY = Stack(((None, None),))


class _Stacks:
    """Makes stacks so that equal ones are one object."""

    def __init__(self) -> None:
        self._known: dict[tuple[tuple[int, int], ...], Stack] = {((-1, id(None)),): EMPTY}
        self._merged: dict[tuple[int, int, bool], Stack] = {}

    def _make(self, pairs: Iterable[tuple[State | None, Stack | None]]) -> Stack:
        # the end sorts behind all states
        ordered = tuple(sorted(pairs, key=lambda pair: pair[0].number if pair[0] else 1 << 30))
        key = tuple((state.number if state else -1, id(below)) for state, below in ordered)
        return self._known.setdefault(key, Stack(ordered))

    def push(self, below: Stack, state: State) -> Stack:
        return self._make([(state, below)])

    def merge(self, first: Stack, second: Stack, wildcard: bool) -> Stack:
        """One stack for both. ``wildcard``: where nothing is known, the other adds nothing."""
        if first is second:
            return first
        key = (id(first), id(second), wildcard)
        merged = self._merged.get(key)
        if merged is None:
            merged = self._merged[key] = self._merge(first, second, wildcard)
        return merged

    def _merge(self, first: Stack, second: Stack, wildcard: bool) -> Stack:
        if wildcard and (first is EMPTY or second is EMPTY):
            return EMPTY
        pairs: dict[State | None, Stack | None] = dict(first.pairs)
        for state, below in second.pairs:
            mine = pairs.get(state)
            if state in pairs and mine is not None and below is not None:
                pairs[state] = self.merge(mine, below, wildcard)
            else:
                pairs[state] = below
        return self._make(pairs.items())


@dataclass(slots=True)
class _Config:
    """A place in the network that the input may have reached, on the way of one alternative."""

    state: State
    alternative: int
    stack: Stack
    predicate: int | None = None
    """The precedence that must be allowed for this to count."""
    outside: int = 0
    """How many rules were left beyond the one that asks."""
    unfiltered: bool = False

    def at(self, state: State) -> _Config:
        return _Config(state, self.alternative, self.stack, self.predicate, self.outside, self.unfiltered)


class _ConfigSet:
    """Places that the input may have reached. ``full``: with the rules that are really open."""

    def __init__(self, full: bool, stacks: _Stacks) -> None:
        self.full = full
        self.stacks = stacks
        self.configs: list[_Config] = []
        self._index: dict[tuple[State, int, int | None], _Config] = {}

    def add(self, config: _Config) -> None:
        key = (config.state, config.alternative, config.predicate)
        mine = self._index.get(key)
        if mine is None:
            self._index[key] = config
            self.configs.append(config)
            return
        mine.stack = self.stacks.merge(mine.stack, config.stack, wildcard=not self.full)
        mine.outside = max(mine.outside, config.outside)
        mine.unfiltered = mine.unfiltered or config.unfiltered

    def unique_alternative(self) -> int:
        found = {config.alternative for config in self.configs}
        return found.pop() if len(found) == 1 else 0

    def conflicts(self) -> list[set[int]]:
        """Alternatives that are at the same place with the same stack, place by place."""
        places: dict[tuple[State, int], set[int]] = {}
        for config in self.configs:
            places.setdefault((config.state, id(config.stack)), set()).add(config.alternative)
        return list(places.values())

    def key(self) -> tuple[tuple[object, ...], ...]:
        """Equal for sets that any input takes to the same places."""
        return tuple(
            (c.state, c.alternative, id(c.stack), c.predicate, c.outside > 0, c.unfiltered) for c in self.configs
        )


@dataclass(slots=True)
class _Node:
    """A state of the cached automaton."""

    configs: _ConfigSet
    edges: dict[int, _Node | None] = field(default_factory=dict)
    prediction: int = 0
    predicates: list[tuple[int, int | None]] | None = None
    """Alternatives with the precedence that each of them asks for."""
    ambiguous: bool = False


class _Automaton:
    """What predictions without context have found out so far; all parses share it."""

    def __init__(self) -> None:
        self.stacks = _Stacks()
        self.starts: dict[tuple[State, int], _Node] = {}
        self.nodes: dict[tuple[str, tuple[tuple[object, ...], ...]], _Node] = {}
        self.size = 0


_MAX_NODES = 20_000
_shared = _Automaton()


def _automaton() -> _Automaton:
    """The shared automaton; a new one where it has grown too large."""
    global _shared  # noqa: PLW0603  a cache
    if _shared.size > _MAX_NODES:
        _shared = _Automaton()
    return _shared


class Predictor:
    """Predicts for one parse. ``allowed`` tells whether a precedence may be used in the rule that is open."""

    def __init__(self, network: Network, tokens: Input, allowed: Callable[[int], bool]) -> None:
        self._network = network
        self._tokens = tokens
        self._allowed = allowed
        self._automaton = _automaton()
        self._open_stacks = _Stacks()
        self._recursive_rule = ""

    def predict(self, decision: Choice | Loop | Optional, frame: Frame, precedence: int) -> int:
        """The number (from 1) of the alternative; of a loop or an optional part, 1 to go on and 2 to leave.

        Raises NoViableAlternative.
        """
        at_back = isinstance(decision, Loop) and decision.at_least_one
        state = decision.back if isinstance(decision, Loop) and at_back else decision.state
        recursive = isinstance(decision, Loop) and decision.recursive
        self._recursive_rule = state.rule if recursive else ""
        key = (state, precedence if recursive else -1)
        start = self._automaton.starts.get(key)
        if start is None:
            configs = self._start_configs(state, EMPTY, _ConfigSet(False, self._automaton.stacks))
            if recursive:
                configs = self._filter_by_precedence(configs)
            start = self._automaton.starts[key] = _Node(configs)
        return self._follow(state, start, frame)

    def _follow(self, decision: State, node: _Node, frame: Frame) -> int:
        ahead = 0
        while True:
            token = self._tokens.peek(ahead)
            if token.kind not in node.edges:
                node.edges[token.kind] = self._next_node(node, token.kind)
                self._automaton.size += 1
            following = node.edges[token.kind]
            if following is None:
                return self._finished(node.configs, token)
            node = following
            if node.ambiguous:
                predicates = node.predicates
                if predicates is not None:
                    passing = self._passing(predicates)
                    if len(passing) == 1:
                        return passing[0]
                return self._follow_in_context(decision, frame)
            if node.predicates is not None:
                passing = self._passing(node.predicates)
                if not passing:
                    raise NoViableAlternative(self._tokens.peek(0), self._tokens.peek(0))
                return passing[0]
            if node.prediction:
                return node.prediction
            if token.kind != EOF:
                ahead += 1

    def _passing(self, predicates: list[tuple[int, int | None]]) -> list[int]:
        return [alternative for alternative, least in predicates if least is None or self._allowed(least)]

    def _finished(self, configs: _ConfigSet, offending: Token) -> int:
        """The input does not fit: the alternative that got to the end of the rule before, if any."""
        allowed = [c for c in configs.configs if c.predicate is None or self._allowed(c.predicate)]
        denied = [c for c in configs.configs if not (c.predicate is None or self._allowed(c.predicate))]
        for group in (allowed, denied):
            done = [
                c.alternative
                for c in group
                if c.outside > 0 or (c.state.kind is StateKind.RULE_STOP and c.stack.has_empty_path)
            ]
            if done:
                return min(done)
        raise NoViableAlternative(self._tokens.peek(0), offending)

    def _next_node(self, node: _Node, kind: int) -> _Node | None:
        reached = self._reach(node.configs, kind)
        if reached is None:
            return None
        key = (self._recursive_rule, reached.key())
        following = self._automaton.nodes.get(key)
        if following is not None:
            return following
        following = self._automaton.nodes[key] = _Node(reached)
        alternative = reached.unique_alternative()
        alternatives = {alternative}
        if alternative:
            following.prediction = alternative
        elif _sure_to_conflict(reached):
            alternatives = set().union(*reached.conflicts())
            following.ambiguous = True
            following.prediction = min(alternatives)
        if following.prediction and any(c.predicate is not None for c in reached.configs):
            following.predicates = _predicates(alternatives, reached)
        return following

    def _follow_in_context(self, decision: State, frame: Frame) -> int:
        configs = self._start_configs(decision, self._stack_of(frame), _ConfigSet(True, self._open_stacks))
        ahead = 0
        while True:
            token = self._tokens.peek(ahead)
            reached = self._reach(configs, token.kind)
            if reached is None:
                # by the time of the report the input is back at its start
                return self._finished(configs, self._tokens.peek(0))
            alternative = reached.unique_alternative()
            if alternative:
                return alternative
            least = {min(alternatives) for alternatives in reached.conflicts()}
            if len(least) == 1:
                return least.pop()
            configs = reached
            if token.kind != EOF:
                ahead += 1

    def _stack_of(self, frame: Frame) -> Stack:
        open_frames: list[Frame] = []
        each: Frame | None = frame
        while each is not None and each.stack is None:
            open_frames.append(each)
            each = each.parent
        stack = each.stack if each is not None and each.stack is not None else EMPTY
        for each in reversed(open_frames):
            if each.parent is not None and each.invoking is not None:
                follow = each.invoking.transitions[0].follow
                assert follow is not None
                stack = self._open_stacks.push(stack, follow)
            each.stack = stack
        return stack

    # -- following the network

    def _start_configs(self, decision: State, stack: Stack, configs: _ConfigSet) -> _ConfigSet:
        for number, step in enumerate(decision.transitions, 1):
            walk = _Walk(self, configs, collect=True, eof=False)
            walk.close(_Config(step.target, number, stack), 0)
        return configs

    def _reach(self, configs: _ConfigSet, kind: int) -> _ConfigSet | None:
        """Where a token leads."""
        stopped: list[_Config] = []
        moved = _ConfigSet(configs.full, configs.stacks)
        for config in configs.configs:
            if config.state.kind is StateKind.RULE_STOP:
                if configs.full or kind == EOF:
                    stopped.append(config)
                continue
            for step in config.state.transitions:
                if step.tokens is not None and kind in step.tokens:
                    moved.add(config.at(step.target))
        if not stopped and kind != EOF and (len(moved.configs) == 1 or moved.unique_alternative()):
            return moved
        reached = _ConfigSet(configs.full, configs.stacks)
        walk = _Walk(self, reached, collect=False, eof=kind == EOF)
        for config in moved.configs:
            walk.close(config, 0)
        if kind == EOF:
            reached = self._only_ended(reached)
        if stopped and not (configs.full and any(c.state.kind is StateKind.RULE_STOP for c in reached.configs)):
            for config in stopped:
                reached.add(config.at(config.state))
        return reached if reached.configs else None

    def _only_ended(self, configs: _ConfigSet) -> _ConfigSet:
        ended = _ConfigSet(configs.full, configs.stacks)
        for config in configs.configs:
            if config.state.kind is StateKind.RULE_STOP:
                ended.add(config)
        return ended

    def _filter_by_precedence(self, configs: _ConfigSet) -> _ConfigSet:
        """Leaves out what the precedence forbids, and ways out of the loop that are ways on in it, too."""
        stacks: dict[State, Stack] = {}
        kept = _ConfigSet(configs.full, configs.stacks)
        for config in configs.configs:
            if config.alternative != 1 or not (config.predicate is None or self._allowed(config.predicate)):
                continue
            stacks[config.state] = config.stack
            plain = config.at(config.state)
            plain.predicate = None
            kept.add(plain)
        for config in configs.configs:
            if config.alternative == 1:
                continue
            if config.unfiltered or stacks.get(config.state) is not config.stack:
                kept.add(config)
        return kept

    def leave_filtered(self, step: Transition) -> bool:
        return bool(self._recursive_rule) and step.leaves_rule == self._recursive_rule

    def is_allowed(self, precedence: int) -> bool:
        return self._allowed(precedence)


class _Walk:
    """Follows the steps that need no token, and collects where tokens are needed."""

    def __init__(self, predictor: Predictor, configs: _ConfigSet, collect: bool, eof: bool) -> None:
        self._predictor = predictor
        self._configs = configs
        self._collect = collect
        self._eof = eof
        self._busy: set[tuple[object, ...]] = set()

    def close(self, config: _Config, depth: int) -> None:
        pending = [config]
        while pending:
            each = pending.pop()
            if each.state.kind is StateKind.RULE_STOP:
                if not each.stack.is_empty:
                    pending += self._returns(each, depth)
                    continue
                if self._configs.full:
                    self._configs.add(each)
                    continue
            self._step(each, depth)

    def _returns(self, config: _Config, depth: int) -> list[_Config]:
        """Back in the rules that the ended one was used in."""
        found: list[_Config] = []
        for state, below in config.stack.pairs:
            if state is None:
                if self._configs.full:
                    ended = config.at(config.state)
                    ended.stack = EMPTY
                    self._configs.add(ended)
                else:
                    self._step(config, depth)
                continue
            assert below is not None
            found.append(_Config(state, config.alternative, below, config.predicate, config.outside))
        return found

    def _step(self, config: _Config, depth: int) -> None:
        if not config.state.epsilon_only:
            self._configs.add(config)
        for number, step in enumerate(config.state.transitions):
            if number == 0 and _repeats_outer_loop(config):
                continue
            following = self._after(config, step, depth)
            if following is None:
                continue
            deeper = depth
            if config.state.kind is StateKind.RULE_STOP:
                if self._predictor.leave_filtered(step):
                    following.unfiltered = True
                following.outside += 1
                if self._is_busy(following):
                    continue
                deeper -= 1
            elif step.tokens is not None:
                if self._is_busy(following):
                    continue
            elif step.follow is not None and deeper >= 0:
                deeper += 1
            self.close(following, deeper)

    def _is_busy(self, config: _Config) -> bool:
        key = (config.state, config.alternative, id(config.stack), config.predicate, config.unfiltered)
        if key in self._busy:
            return True
        self._busy.add(key)
        return False

    def _after(self, config: _Config, step: Transition, depth: int) -> _Config | None:
        if step.follow is not None:
            entered = config.at(step.target)
            entered.stack = self._configs.stacks.push(config.stack, step.follow)
            return entered
        if step.tokens is not None:
            return config.at(step.target) if self._eof and EOF in step.tokens else None
        following = config.at(step.target)
        if step.precedence >= 0 and self._collect and depth == 0:
            if not self._configs.full:
                following.predicate = min(step.precedence, config.predicate or step.precedence)
            elif not self._predictor.is_allowed(step.precedence):
                return None
        return following


def _repeats_outer_loop(config: _Config) -> bool:
    """Whether the loop of a left-recursive rule would do what the same loop one level up does as well."""
    loop = config.state
    if loop.block_end is None or config.stack.is_empty or config.stack.has_empty_path:
        return False
    for state, _ in config.stack.pairs:
        if state is None or state.rule != loop.rule or len(state.transitions) != 1 or not state.epsilon_only:
            return False
        if loop.block_end not in (state, state.transitions[0].target):
            return False
    return True


def _sure_to_conflict(configs: _ConfigSet) -> bool:
    if all(c.state.kind is StateKind.RULE_STOP for c in configs.configs):
        return True
    if not any(len(alternatives) > 1 for alternatives in configs.conflicts()):
        return False
    by_state: dict[State, set[int]] = {}
    for config in configs.configs:
        by_state.setdefault(config.state, set()).add(config.alternative)
    return all(len(alternatives) > 1 for alternatives in by_state.values())


def _predicates(alternatives: set[int], configs: _ConfigSet) -> list[tuple[int, int | None]] | None:
    """What each alternative asks for; None if none asks for anything."""
    asked: dict[int, int | None] = {}
    for config in configs.configs:
        if config.alternative not in alternatives:
            continue
        before = asked.get(config.alternative, config.predicate)
        if before is None or config.predicate is None:
            asked[config.alternative] = None
        else:
            asked[config.alternative] = max(before, config.predicate)
    if all(least is None for least in asked.values()):
        return None
    return sorted(asked.items())
