"""Closures that follow a path: its start, its qualifiers one after another, and a choice between two paths.

Source: cel-go ``interpreter/attributes.go`` and ``interpretable.go`` (evalAttr, evalWatchAttr).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dractl.cel.folds import UNSET
from dractl.cel.paths import ABSENT, check_key, find, get
from dractl.cel.values import NO_OVERLOAD, OPTIONAL_NONE, EvalError, Optional, Value

Env = list[Any]
Closure = Callable[[Env], Value]
Getter = Callable[[Env, Value], Value]


def raise_if_error(value: Value) -> Value:
    """The value, unless it is an error."""
    if value.__class__ is EvalError:
        raise value
    return value


def chosen(condition: Closure, then: Closure, otherwise: Closure) -> Closure:
    def run(env: Env) -> Value:
        value = condition(env)
        if value is True:
            return then(env)
        if value is False:
            return otherwise(env)
        raise EvalError(NO_OVERLOAD)

    return run


def tested(resolve: Closure) -> Closure:
    def run(env: Env) -> Value:
        value = resolve(env)
        return value.has_value if value.__class__ is Optional else value

    return run


def accumulator(slot: int, first_value: Closure) -> Closure:
    def run(env: Env) -> Value:
        value = env[slot]
        if value is UNSET:
            value = first_value(env)
        if value.__class__ is EvalError:
            raise EvalError(value.text, value.missing)
        return value

    return run


def bare(base: Closure, unwrap: Callable[[Value], Value]) -> Closure:
    def run(env: Env) -> Value:
        value = base(env)
        if value.__class__ is Optional and value.has_value:
            return Optional(unwrap(value.value))
        return raise_if_error(value)

    return run


Following = Sequence[tuple[bool, Getter, Getter]]


def followed(base: Closure, steps: Following, unwrap: Callable[[Value], Value]) -> Closure:
    def run(env: Env) -> Value:
        value = base(env)
        optional = False
        if value.__class__ is Optional:
            if not value.has_value:
                return value
            value = unwrap(value.value)
            optional = True
        for starts_optional, follow, present in steps:
            if optional or starts_optional:
                optional = True
                value = present(env, value)
                if value is ABSENT:
                    return OPTIONAL_NONE
            else:
                value = follow(env, value)
        return Optional(value) if optional else raise_if_error(value)

    return run


def constant_step(key: Value, test: bool) -> tuple[Getter, Getter]:
    def present(env: Env, target: Value) -> Value:
        return find(target, key)

    if test:
        return (lambda env, target: find(target, key) is not ABSENT), present
    return (lambda env, target: get(target, key)), present


def computed_step(key_of: Closure) -> tuple[Getter, Getter]:
    def follow(env: Env, target: Value) -> Value:
        return get(target, check_key(key_of(env)))

    def present(env: Env, target: Value) -> Value:
        return find(target, check_key(key_of(env)))

    return follow, present
