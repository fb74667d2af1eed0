"""Comprehensions: a fold over a list or map, with its variables and its accumulator.

The accumulator gets its first value when it is first asked for, as in cel-go; one that starts as an empty list or map
is changed in place until the fold ends. Every turn of every fold counts against ``guard.MAX_STEPS``.
Source: cel-go ``interpreter/interpretable.go`` (evalFold, folder).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from dractl.cel import guard
from dractl.cel.cost_runtime import LIMIT, LIMIT_EXCEEDED
from dractl.cel.values import MAX_UINT, CelMap, EvalError, MutableList, MutableMap, Stopped, Value, go_type

if TYPE_CHECKING:
    from dractl.cel import plan
    from dractl.cel.evaluator import Emitter

Env = list[Any]
Closure = Callable[[Env], Value]
Order = Callable[[list[tuple[Value, Value]]], list[tuple[Value, Value]]]


class _Unset:
    """A variable that has no value yet."""


UNSET = _Unset()


class Run:
    """What one evaluation keeps count of."""

    __slots__ = ("cost", "limit", "order", "steps")

    def __init__(self, order: Order | None = None, limit: int = LIMIT) -> None:
        self.cost = 0
        self.limit = limit
        self.steps = guard.MAX_STEPS
        self.order = order
        """How the entries of a map are ordered; by default as they were put in. Kubernetes' order is random."""

    def add(self, cost: int) -> None:
        """Add to the cost, which is a uint64: it wraps around."""
        self.cost = total = (self.cost + cost) & MAX_UINT
        if total > self.limit:
            raise Stopped(LIMIT_EXCEEDED)

    def add_units(self, count: int) -> None:
        """Add 1 to the cost ``count`` times."""
        self.cost = total = self.cost + count
        if total > self.limit:
            self.cost = self.limit + 1
            raise Stopped(LIMIT_EXCEEDED)

    def step(self) -> None:
        """Count one turn of a fold."""
        self.steps -= 1
        if self.steps < 0:
            raise Stopped("evaluation stopped: too many steps in comprehensions")


def fold(emitter: Emitter, step: plan.Fold) -> Closure:
    """The closure of a comprehension."""
    accumulator, mutable, first, second = step.accumulator, step.mutable, step.first, step.second
    emitter.lazy[accumulator] = first_value(accumulator, mutable, emitter.emit(step.init))
    range_of = emitter.emit(step.range)
    condition, turn, result = emitter.emit(step.condition), emitter.emit(step.step), emitter.emit(step.result)
    entries = _pairs if second >= 0 else _singles

    def run(env: Env) -> Value:
        env[accumulator] = UNSET
        env[mutable] = False
        items = range_of(env)
        for key, item in entries(items, env[-1].order):
            env[first] = key
            if second >= 0:
                env[second] = item
            try:
                if condition(env) is False:
                    break
            except EvalError:
                # an error is no reason to end
                pass
            try:
                env[accumulator] = turn(env)
            except EvalError as error:
                env[accumulator] = error
            env[-1].step()
        value = result(env)
        if env[mutable]:
            if value.__class__ is MutableList:
                guard.check_items(len(value))
                return list(value)
            if value.__class__ is MutableMap:
                return CelMap(value.entries)
        return value

    return run


def first_value(slot: int, mutable: int, init: Closure) -> Closure:
    """How an accumulator gets its first value."""

    def run(env: Env) -> Value:
        try:
            value = init(env)
        except EvalError as error:
            env[slot] = error
            raise
        if isinstance(value, list) and not value:
            value = MutableList()
            env[mutable] = True
        elif isinstance(value, CelMap) and not len(value):
            value = MutableMap({})
            env[mutable] = True
        env[slot] = value
        return value

    return run


def _singles(items: Value, order: Order | None) -> Iterable[tuple[Value, Value]]:
    if isinstance(items, list):
        return ((item, None) for item in _fixed(items))
    if isinstance(items, CelMap):
        return _entries(items, order)
    raise EvalError(f"got '{go_type(items)}', expected iterable type")


def _fixed(items: list[Value]) -> list[Value]:
    """A list to go through; one that is changed in place keeps the length it has."""
    return items[:] if items.__class__ is MutableList else items


def _entries(items: CelMap, order: Order | None) -> Iterable[tuple[Value, Value]]:
    if order is not None:
        return order(items.items())
    return items.items() if items.__class__ is MutableMap else items.entries.values()


def _pairs(items: Value, order: Order | None) -> Iterable[tuple[Value, Value]]:
    if isinstance(items, list):
        return enumerate(_fixed(items))
    if isinstance(items, CelMap):
        return _entries(items, order)
    raise EvalError(f"unsupported comprehension range type: {go_type(items)}")
