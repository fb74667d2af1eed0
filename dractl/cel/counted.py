"""Closures that count the cost of an evaluation, and stop it at Kubernetes' limit.

A step on a path costs 1, a list, map or message a fixed amount, a call what ``cost_runtime`` says; constants, ``&&``,
``||``, ``?:`` and comprehensions cost nothing themselves.
Source: cel-go ``interpreter/runtimecost.go`` (CostTracker.Observe).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from dractl.cel.cost_runtime import Charge
from dractl.cel.paths import ABSENT
from dractl.cel.values import OPTIONAL_NONE, EvalError, Value

Env = list[Any]
Closure = Callable[[Env], Value]
Getter = Callable[[Env, Value], Value]
Function = Callable[..., Value]

LIST_COST = 10
MAP_COST = 30
MESSAGE_COST = 40


def fixed(closure: Closure, cost: int) -> Closure:
    """A step that costs the same whatever it gives."""

    def run(env: Env) -> Value:
        try:
            value = closure(env)
        except EvalError:
            env[-1].add(cost)
            raise
        env[-1].add(cost)
        return value

    return run


def path(closure: Closure) -> Closure:
    """The path itself, after its qualifiers."""

    def run(env: Env) -> Value:
        try:
            value = closure(env)
        except EvalError:
            env[-1].add_units(1)
            raise
        env[-1].add_units(1)
        return value

    return run


def quick_path(closure: Closure, steps: int) -> Closure:
    """A short cut into the device, in place of some qualifiers; the last of them is optional if it gives nothing."""

    def run(env: Env) -> Value:
        try:
            value = closure(env)
        except EvalError:
            env[-1].add_units(steps)
            raise
        env[-1].add_units(steps - 1 if value is OPTIONAL_NONE else steps)
        return value

    return run


def qualifier(follow: Getter, present: Getter) -> tuple[Getter, Getter]:
    """A qualifier: it costs 1, also if it fails, but nothing if it is optional and finds nothing."""

    def counted_follow(env: Env, target: Value) -> Value:
        try:
            value = follow(env, target)
        except EvalError:
            env[-1].add_units(1)
            raise
        env[-1].add_units(1)
        return value

    def counted_present(env: Env, target: Value) -> Value:
        value = present(env, target)
        if value is not ABSENT:
            env[-1].add_units(1)
        return value

    return counted_follow, counted_present


def known(call: Closure, args: Sequence[Value], charge: Charge) -> Closure:
    """A call of constants: its cost is known as well."""
    try:
        result = call([])
    except EvalError as error:
        result = error
    cost = charge(args, result)

    def run(env: Env) -> Value:
        env[-1].add(cost)
        if result.__class__ is EvalError:
            raise EvalError(result.text)
        return result

    return run


def unary(function: Function, arg: Closure, charge: Charge) -> Closure:
    """A call with one argument."""

    def run(env: Env) -> Value:
        try:
            value = arg(env)
        except EvalError as error:
            env[-1].add(charge((error,), error))
            raise
        try:
            result = function(value)
        except EvalError as error:
            env[-1].add(charge((value,), error))
            raise
        env[-1].add(charge((value,), result))
        return result

    return run


def pair(function: Function, first: Closure, second: Closure, charge: Charge) -> Closure:
    """A call with two arguments: the second is evaluated even if the first is an error."""

    def run(env: Env) -> Value:
        try:
            one = first(env)
        except EvalError as error:
            one = error
        try:
            other = second(env)
        except EvalError as error:
            other = error
        if one.__class__ is EvalError or other.__class__ is EvalError:
            result = one if one.__class__ is EvalError else other
        else:
            try:
                result = function(one, other)
            except EvalError as error:
                result = error
        env[-1].add(charge((one, other), result))
        if result.__class__ is EvalError:
            raise result
        return result

    return run


def unit_pair(function: Function, first: Closure, second: Closure) -> Closure:
    """A call with two arguments that costs 1."""

    def run(env: Env) -> Value:
        try:
            one = first(env)
        except EvalError:
            with suppress(EvalError):
                second(env)
            env[-1].add_units(1)
            raise
        try:
            result = function(one, second(env))
        except EvalError:
            env[-1].add_units(1)
            raise
        env[-1].add_units(1)
        return result

    return run


def many(function: Function, args: Sequence[Closure], charge: Charge) -> Closure:
    """A call that stops at the first argument in error, and then costs nothing unless that was the last one."""
    last = len(args) - 1

    def run(env: Env) -> Value:
        values: list[Value] = []
        for index, arg in enumerate(args):
            try:
                values.append(arg(env))
            except EvalError as error:
                if index == last:
                    env[-1].add(charge([*values, error], error))
                raise
        try:
            result = function(*values)
        except EvalError as error:
            env[-1].add(charge(values, error))
            raise
        env[-1].add(charge(values, result))
        return result

    return run
