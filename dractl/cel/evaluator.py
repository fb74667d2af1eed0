"""From a plan to closures: ``Program`` evaluates one expression, plainly or with its cost.

A closure takes the environment of one evaluation: a list whose first entry is the device's scope, followed by the
variables of comprehensions, and last the ``Run``. Plain closures take short cuts (a look into the device instead of
maps, one flat ``&&``); counting ones follow every step as cel-go does. Both give the same results.
Source: cel-go ``interpreter/interpretable.go``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dractl.cel import counted, plan
from dractl.cel.compare import equal
from dractl.cel.cost_runtime import charge_of, once
from dractl.cel.device import DeviceScope
from dractl.cel.environment import Environment
from dractl.cel.folds import UNSET, Run, fold
from dractl.cel.gotext import go_value
from dractl.cel.library.messages import make_message
from dractl.cel.library.registry import PlanError
from dractl.cel.paths import keep, through_go
from dractl.cel.shortcuts import comparison, device_path, equality
from dractl.cel.steps import (
    Getter,
    accumulator,
    bare,
    chosen,
    computed_step,
    constant_step,
    followed,
    raise_if_error,
    tested,
)
from dractl.cel.values import NO_OVERLOAD, CelMap, EvalError, Optional, Stopped, Value, encode_key

Env = list[Any]
Closure = Callable[[Env], Value]


class Program:
    """A plan made ready to run."""

    def __init__(self, made: plan.Plan, env: Environment) -> None:
        self.slots = made.slots
        self.depth = made.depth
        self._env = env
        self.root = made.root
        self._plain: Closure | None = None
        self._counting: Closure | None = None

    def plain(self) -> Closure:
        """The closure that does not count the cost."""
        if self._plain is None:
            self._plain = Emitter(self._env, counting=False).emit(self.root)
        return self._plain

    def counting(self) -> Closure:
        """The closure that counts the cost and stops at the limit."""
        if self._counting is None:
            self._counting = Emitter(self._env, counting=True).emit(self.root)
        return self._counting

    def environment(self, scope: DeviceScope, run: Run) -> Env:
        """The environment of one evaluation."""
        env: Env = [UNSET] * (self.slots + 1)
        env[0] = scope
        env[-1] = run
        return env


class Emitter:
    """Makes the closure of each step."""

    def __init__(self, env: Environment, counting: bool) -> None:
        self.env = env
        self.counting = counting
        self.unwrap = keep if env.cel_go >= (0, 29) else through_go
        self.lazy: dict[int, Closure] = {}
        """How the accumulator in a slot gets its first value."""

    def emit(self, step: plan.Step) -> Closure:
        """The closure of a step."""
        match step:
            case plan.Const():
                return _constant(step.value)
            case plan.Failure():
                return _failure(step.text)
            case plan.Path():
                return self._path(step)
            case plan.Both():
                return _logical([self.emit(term) for term in _flattened(step)], ends=step.any)
            case plan.Equality():
                return self._equality(step)
            case plan.Call():
                return self._call(step)
            case plan.Membership():
                return _membership(self.emit(step.element), step.keys)
            case plan.ListStep():
                made = _new_list([self.emit(each) for each in step.elements], step.optional)
                return self._fixed(made, counted.LIST_COST)
            case plan.MapStep():
                parts = [(self.emit(key), self.emit(item), optional) for key, item, optional in step.entries]
                return self._fixed(_new_map(parts), counted.MAP_COST)
            case plan.MessageStep():
                fields = [(name, self.emit(item), optional) for name, item, optional in step.fields]
                return self._fixed(_new_message(step.name, fields, self.env.cel_go >= (0, 29)), counted.MESSAGE_COST)
            case plan.OrElse():
                strict = self.env.cel_go >= (0, 29)
                return _or_else(self.emit(step.left), self.emit(step.right), step.unwrap, strict)
            case plan.Fold():
                return fold(self, step)
        raise PlanError(f"unsupported step: {step!r}")

    def _fixed(self, closure: Closure, cost: int) -> Closure:
        return counted.fixed(closure, cost) if self.counting else closure

    # --- calls ------------------------------------------------------------------------------------------------------

    def _equality(self, step: plan.Equality) -> Closure:
        left, right = self.emit(step.left), self.emit(step.right)
        if not self.counting:
            return equality(left, right, step.left, step.right, step.negated)
        names = ("_!=_", "not_equals") if step.negated else ("_==_", "equals")
        return counted.pair(_unequal if step.negated else _equal, left, right, charge_of(self.env, *names))

    def _call(self, step: plan.Call) -> Closure:
        args = [self.emit(arg) for arg in step.args]
        if step.function == "@not_strictly_false":
            return self._fixed(_not_strictly_false(args[0]), 1)
        if self.counting:
            return self._counted_call(step, args)
        if all(isinstance(arg, plan.Const) for arg in step.args):
            return _known(_applied(step.run, args))
        return comparison(step, args) or _applied(step.run, args)

    def _counted_call(self, step: plan.Call, args: list[Closure]) -> Closure:
        charge = charge_of(self.env, step.function, step.overload)
        constants = [arg.value for arg in step.args if isinstance(arg, plan.Const)]
        if len(constants) == len(args) and args:
            try:
                return counted.known(_applied(step.run, args), constants, charge)
            except Stopped:
                # it stops again when it is evaluated
                pass
        if step.many or len(args) > 2 or not args:
            return counted.many(step.run, args, charge)
        if len(args) == 1:
            return counted.unary(step.run, args[0], charge)
        if charge is once:
            return counted.unit_pair(step.run, args[0], args[1])
        return counted.pair(step.run, args[0], args[1], charge)

    # --- paths ------------------------------------------------------------------------------------------------------

    def _path(self, step: plan.Path) -> Closure:
        resolve = self.source(step.source)
        choice = isinstance(step.source, plan.Choice)
        if step.test_id is not None:
            # a presence test costs what its qualifiers cost; cel-go takes 1 off though a choice did not add it
            return self._fixed(tested(resolve), -1) if choice else tested(resolve)
        return counted.path(resolve) if self.counting and not choice else resolve

    def source(self, source: plan.Source) -> Closure:
        """The closure that follows a path."""
        if isinstance(source, plan.Choice):
            return chosen(self.emit(source.condition), self.source(source.then), self.source(source.otherwise))
        if isinstance(source, plan.Computed):
            return self._qualified(self.emit(source.operand), source.qualifiers)
        if source.slot == plan.DEVICE_SLOT:
            return self._device(source)
        return self._qualified(self._variable(source.slot), source.qualifiers)

    def _device(self, source: plan.Variable) -> Closure:
        quick, used = device_path(source.qualifiers)
        if quick is not None:
            if self.counting:
                quick = counted.quick_path(quick, used)
            rest = source.qualifiers[used:]
            return self._qualified(quick, rest) if rest else quick
        return self._qualified(lambda env: env[0].as_map(), source.qualifiers)

    def _variable(self, slot: int) -> Closure:
        first_value = self.lazy.get(slot)
        if first_value is None:
            return lambda env: env[slot]
        return accumulator(slot, first_value)

    def _qualified(self, base: Closure, qualifiers: Sequence[plan.Qualifier]) -> Closure:
        unwrap = self.unwrap
        if not qualifiers:
            return bare(base, unwrap)
        steps = [self._qualifier(each) for each in qualifiers]
        return followed(base, steps, unwrap)

    def _qualifier(self, qualifier: plan.Qualifier) -> tuple[bool, Getter, Getter]:
        """Whether a qualifier is optional, and how to follow it: at any cost, and if it is there."""
        if isinstance(qualifier, plan.Constant):
            follow, present = constant_step(qualifier.value, qualifier.test)
        else:
            follow, present = computed_step(self.source(qualifier.path))
        if self.counting:
            follow, present = counted.qualifier(follow, present)
        return qualifier.optional, follow, present


def _constant(value: Value) -> Closure:
    return lambda env: value


def _failure(text: str) -> Closure:
    def fail(env: Env) -> Value:
        raise EvalError(text)

    return fail


# --- operators ------------------------------------------------------------------------------------------------------


def _flattened(step: plan.Both) -> list[plan.Step]:
    terms: list[plan.Step] = []
    queue: list[plan.Step] = [step]
    while queue:
        each = queue.pop()
        if isinstance(each, plan.Both) and each.any == step.any:
            queue += reversed(each.terms)
        else:
            terms.append(each)
    return terms


def _logical(terms: Sequence[Closure], ends: bool) -> Closure:
    """``&&`` (which ends with False) or ``||`` (which ends with True): errors count only if no term ends it."""
    if len(terms) == 2:
        return _logical_pair(terms[0], terms[1], ends)
    goes_on = not ends

    def run(env: Env) -> Value:
        error: EvalError | None = None
        for term in terms:
            try:
                value = term(env)
            except EvalError as fault:
                if error is None:
                    error = fault
                continue
            if value is ends:
                return ends
            if value is not goes_on and error is None:
                error = EvalError(NO_OVERLOAD)
        if error is not None:
            raise error
        return goes_on

    return run


def _logical_pair(first: Closure, second: Closure, ends: bool) -> Closure:
    goes_on = not ends

    def run(env: Env) -> Value:
        try:
            value = first(env)
            if value is ends:
                return ends
            error = None if value is goes_on else EvalError(NO_OVERLOAD)
        except EvalError as fault:
            error = fault
        if error is None:
            value = second(env)
            if value is ends or value is goes_on:
                return value
            raise EvalError(NO_OVERLOAD)
        try:
            value = second(env)
        except EvalError:
            raise error from None
        if value is ends:
            return ends
        raise error

    return run


def _equal(left: Value, right: Value) -> Value:
    return raise_if_error(equal(left, right))


def _unequal(left: Value, right: Value) -> bool:
    return equal(left, right) is not True


def _known(call: Closure) -> Closure:
    """A call of constants, made once: functions have no side effects."""
    try:
        value = call([])
    except (EvalError, Stopped):
        return call
    return _constant(value)


def _not_strictly_false(argument: Closure) -> Closure:
    def run(env: Env) -> Value:
        try:
            value = argument(env)
        except EvalError:
            return True
        return value if value.__class__ is bool else True

    return run


def _applied(function: Callable[..., Value], args: Sequence[Closure]) -> Closure:
    if len(args) == 1:
        only = args[0]
        return lambda env: function(only(env))
    if len(args) == 2:
        first, second = args
        return lambda env: function(first(env), second(env))

    def run(env: Env) -> Value:
        return function(*[arg(env) for arg in args])

    return run


def _membership(element: Closure, keys: frozenset[object]) -> Closure:
    return lambda env: encode_key(element(env)) in keys


def _new_list(elements: Sequence[Closure], optional: frozenset[int]) -> Closure:
    if not optional:
        return lambda env: [element(env) for element in elements]

    def run(env: Env) -> Value:
        items: list[Value] = []
        for index, element in enumerate(elements):
            value = element(env)
            if index in optional:
                if value.__class__ is not Optional:
                    raise EvalError(
                        f"cannot initialize optional list element from non-optional value {go_value(value)}"
                    )
                if not value.has_value:
                    continue
                value = raise_if_error(value.value)
            items.append(value)
        return items

    return run


def _new_map(entries: Sequence[tuple[Closure, Closure, bool]]) -> Closure:
    def run(env: Env) -> Value:
        found: dict[Any, tuple[Value, Value]] = {}
        for key_of, item_of, optional in entries:
            key, item = key_of(env), item_of(env)
            if optional:
                if item.__class__ is not Optional:
                    raise _not_optional(go_value(key), item)
                if not item.has_value:
                    found.pop(encode_key(key), None)
                    continue
                item = raise_if_error(item.value)
            found[encode_key(key)] = (key, item)
        return CelMap(found)

    return run


def _not_optional(name: str, value: Value) -> EvalError:
    return EvalError(f"cannot initialize optional entry '{name}' from non-optional value {go_value(value)}")


def _new_message(name: str, fields: Sequence[tuple[str, Closure, bool]], typed: bool) -> Closure:
    def run(env: Env) -> Value:
        found: dict[str, Value] = {}
        for field, item_of, optional in fields:
            item = item_of(env)
            if optional:
                if item.__class__ is not Optional:
                    raise _not_optional(field, item)
                if not item.has_value:
                    found.pop(field, None)
                    continue
                item = item.value
            found[field] = item
        return make_message(name, found, typed)

    return run


def _or_else(left: Closure, right: Closure, unwrap: bool, strict: bool) -> Closure:
    def run(env: Env) -> Value:
        value = left(env)
        if value.__class__ is not Optional:
            if strict:
                raise EvalError(NO_OVERLOAD)
            return value
        if value.has_value:
            return raise_if_error(value.value) if unwrap else value
        return right(env)

    return run
