"""From a plan to closures: ``Program`` evaluates one expression, plainly or with its cost.

A closure takes the environment of one evaluation: a list whose first entry is the device's scope, followed by the
variables of comprehensions, and last the ``Run``. Plain closures take short cuts (a look into the device instead of
maps, one flat ``&&``); counting ones follow every step as cel-go does. Both give the same results.
Source: cel-go ``interpreter/interpretable.go``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dractl.cel import plan
from dractl.cel.compare import equal
from dractl.cel.cost_runtime import LIST_COST, MAP_COST, MESSAGE_COST, Tracker, charge_of
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
    counted_step,
    followed,
    raise_if_error,
    tested,
)
from dractl.cel.values import NO_OVERLOAD, CelMap, EvalError, Optional, Stopped, Value, encode_key

Env = list[Any]
Closure = Callable[[Env], Value]
Observer = Callable[[Tracker, Value], None]


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
        if isinstance(step, plan.Const):
            closure = _constant(step.value)
        elif isinstance(step, plan.Path):
            closure = self._path(step)
        elif isinstance(step, plan.Both):
            closure = self._both(step)
        elif isinstance(step, plan.Equality):
            closure = self._equality(step)
        elif isinstance(step, plan.Call):
            closure = self._call(step)
        elif isinstance(step, plan.Membership):
            closure = _membership(self.emit(step.element), step.keys)
        elif isinstance(step, plan.ListStep):
            closure = _new_list([self.emit(each) for each in step.elements], step.optional)
        elif isinstance(step, plan.MapStep):
            closure = self._map(step)
        elif isinstance(step, plan.MessageStep):
            closure = self._message(step)
        elif isinstance(step, plan.OrElse):
            closure = _or_else(self.emit(step.left), self.emit(step.right), step.unwrap, self.env.cel_go >= (0, 29))
        elif isinstance(step, plan.Fold):
            closure = fold(self, step)
        else:
            raise PlanError(f"unsupported step: {step!r}")
        return _observed(step.id, closure, self._observer(step)) if self.counting else closure

    # --- operators --------------------------------------------------------------------------------------------------

    def _both(self, step: plan.Both) -> Closure:
        terms = step.terms if self.counting else _flattened(step)
        return _logical([self.emit(term) for term in terms], ends=step.any)

    def _equality(self, step: plan.Equality) -> Closure:
        if self.counting:
            return _equality(_value(self.emit(step.left)), _value(self.emit(step.right)), step.negated)
        return equality(self.emit(step.left), self.emit(step.right), step.left, step.right, step.negated)

    def _call(self, step: plan.Call) -> Closure:
        args = [self.emit(arg) for arg in step.args]
        if step.function == "@not_strictly_false":
            return _not_strictly_false(args[0])
        if self.counting and not step.many and len(args) == 2:
            # cel-go evaluates the second argument even if the first is an error
            return _eager_pair(_value(args[0]), _value(args[1]), step.run)
        if not self.counting:
            if all(isinstance(arg, plan.Const) for arg in step.args):
                return _known(_applied(step.run, args))
            quick = comparison(step, args)
            if quick is not None:
                return quick
        return _applied(step.run, args)

    def _map(self, step: plan.MapStep) -> Closure:
        return _new_map([(self.emit(key), self.emit(item), optional) for key, item, optional in step.entries])

    def _message(self, step: plan.MessageStep) -> Closure:
        return _new_message(step.name, [(name, self.emit(item), optional) for name, item, optional in step.fields])

    # --- paths ------------------------------------------------------------------------------------------------------

    def _path(self, step: plan.Path) -> Closure:
        resolve = self.source(step.source)
        return resolve if step.test_id is None else tested(resolve)

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
        if not self.counting:
            quick, used = device_path(source.qualifiers)
            if quick is not None:
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
            follow, present = counted_step(qualifier, follow, present)
        return qualifier.optional, follow, present

    # --- cost -------------------------------------------------------------------------------------------------------

    def _observer(self, step: plan.Step) -> Observer:
        if isinstance(step, plan.Path):
            return _path_observer(step)
        if isinstance(step, plan.Both):
            return _drop_observer([term.id for term in step.terms])
        if isinstance(step, plan.Fold):
            return _drop_observer([step.range.id])
        if isinstance(step, plan.Equality):
            names = ("_!=_", "not_equals") if step.negated else ("_==_", "equals")
            return self._call_observer(*names, [step.left, step.right])
        if isinstance(step, plan.Call):
            return self._call_observer(step.function, step.overload, step.args)
        if isinstance(step, plan.ListStep):
            return _maker_observer(LIST_COST, [each.id for each in step.elements])
        if isinstance(step, plan.MapStep):
            return _maker_observer(MAP_COST, [part.id for key, item, _ in step.entries for part in (key, item)])
        if isinstance(step, plan.MessageStep):
            return _maker_observer(MESSAGE_COST, [item.id for _, item, _ in step.fields])
        return lambda tracker, value: None

    def _call_observer(self, function: str, overload: str, args: Sequence[plan.Step]) -> Observer:
        charge = charge_of(self.env, function, overload)
        ids = [arg.id for arg in args]

        def observe(tracker: Tracker, value: Value) -> None:
            values = tracker.take(ids)
            if values is not None:
                tracker.add(charge(values, value))

        return observe


# --- values and errors ----------------------------------------------------------------------------------------------


def _value(closure: Closure) -> Closure:
    """A closure that gives an error as a value."""

    def run(env: Env) -> Value:
        try:
            return closure(env)
        except EvalError as error:
            return error

    return run


def _constant(value: Value) -> Closure:
    return lambda env: value


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


def _equality(left: Closure, right: Closure, negated: bool) -> Closure:
    def run(env: Env) -> Value:
        first, second = left(env), right(env)
        raise_if_error(first)
        raise_if_error(second)
        result = equal(first, second)
        return result is not True if negated else raise_if_error(result)

    return run


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


def _eager_pair(first: Closure, second: Closure, function: Callable[..., Value]) -> Closure:
    def run(env: Env) -> Value:
        one, other = first(env), second(env)
        raise_if_error(one)
        raise_if_error(other)
        return function(one, other)

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


def _new_message(name: str, fields: Sequence[tuple[str, Closure, bool]]) -> Closure:
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
        return make_message(name, found)

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


# --- cost -----------------------------------------------------------------------------------------------------------


def _observed(step: int, closure: Closure, observe: Observer) -> Closure:
    def run(env: Env) -> Value:
        tracker: Tracker = env[-1].tracker
        try:
            value = closure(env)
        except EvalError as error:
            observe(tracker, error)
            tracker.push(step, error)
            raise
        observe(tracker, value)
        tracker.push(step, value)
        return value

    return run


def _path_observer(step: plan.Path) -> Observer:
    source = step.source
    test = step.test_id is not None
    if isinstance(source, plan.Choice):
        dropped = (source.otherwise.id, source.then.id, source.condition.id)

        def observe_choice(tracker: Tracker, value: Value) -> None:
            tracker.drop(*dropped)
            tracker.cost -= test

        return observe_choice
    last = source.id

    def observe(tracker: Tracker, value: Value) -> None:
        tracker.drop(last)
        tracker.cost += 0 if test else 1

    return observe


def _drop_observer(steps: Sequence[int]) -> Observer:
    return lambda tracker, value: tracker.drop(*steps)


def _maker_observer(cost: int, steps: Sequence[int]) -> Observer:
    def observe(tracker: Tracker, value: Value) -> None:
        tracker.take(steps)
        tracker.cost += cost

    return observe
