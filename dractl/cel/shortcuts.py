"""Short cuts of plain evaluation for what nearly every selector does: look up an attribute, compare it to a constant.

They give what the long way gives (``paths``, ``values``).
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

from dractl.cel import plan
from dractl.cel.compare import equal
from dractl.cel.device import SCALARS, attribute_value, missing
from dractl.cel.values import OPTIONAL_NONE, EvalError, Optional, Value

Env = list[Any]
Closure = Callable[[Env], Value]


def device_path(qualifiers: Sequence[plan.Qualifier]) -> tuple[Closure | None, int]:
    """A closure for the first qualifiers of a path that starts at ``device``, and how many it covers."""
    known: list[plan.Constant] = []
    for each in qualifiers[:3]:
        if not isinstance(each, plan.Constant) or each.value.__class__ is not str:
            break
        known.append(each)
    if not known or known[0].optional or known[0].test:
        return None, 0
    field = known[0].value
    if field == "driver":
        return (lambda env: env[0].driver), 1
    if field == "allowMultipleAllocations":
        return (lambda env: env[0].device.allow_multiple_allocations), 1
    if field not in ("attributes", "capacity") or len(known) < 2 or known[1].optional or known[1].test:
        return None, 0
    domain = known[1].value
    last = known[2] if len(known) > 2 else None
    if last is None or "/" in last.value or last.value == "":
        return (lambda env: env[0].domain(field, domain)), 2
    if last.optional and len(qualifiers) > 3:
        return (lambda env: env[0].domain(field, domain)), 2
    finder = _attribute if field == "attributes" else _capacity
    return finder(domain, last.value, last.optional, last.test), 3


def _attribute(domain: str, name: str, optional: bool, test: bool) -> Closure:
    qualified = f"{domain}/{name}"

    def run(env: Env) -> Value:
        scope = env[0]
        attributes = scope.device.attributes
        found = attributes.get(qualified)
        if found is None:
            if scope.driver == domain:
                found = attributes.get(name)
            if found is None:
                raise missing(domain, name)
        return found.value if found.kind in SCALARS else attribute_value(found)

    def is_there(env: Env) -> bool:
        scope = env[0]
        attributes = scope.device.attributes
        return qualified in attributes or (scope.driver == domain and name in attributes)

    return _variant(run, is_there, optional, test)


def _capacity(domain: str, name: str, optional: bool, test: bool) -> Closure:
    qualified = f"{domain}/{name}"

    def run(env: Env) -> Value:
        scope = env[0]
        capacity = scope.device.capacity
        found = capacity.get(qualified)
        if found is None:
            if scope.driver == domain:
                found = capacity.get(name)
            if found is None:
                raise missing(domain, name)
        return found.value

    def is_there(env: Env) -> bool:
        scope = env[0]
        capacity = scope.device.capacity
        return qualified in capacity or (scope.driver == domain and name in capacity)

    return _variant(run, is_there, optional, test)


def _variant(run: Closure, is_there: Callable[[Env], bool], optional: bool, test: bool) -> Closure:
    if optional:
        return lambda env: Optional(run(env)) if is_there(env) else OPTIONAL_NONE
    return is_there if test else run


def equality(left: Closure, right: Closure, left_step: plan.Step, right_step: plan.Step, negated: bool) -> Closure:
    """``left == right`` or ``left != right``."""
    if isinstance(right_step, plan.Const) and right_step.value.__class__ is str:
        return _equals_text(left, right_step.value, negated)
    if isinstance(left_step, plan.Const) and left_step.value.__class__ is str:
        return _text_equals(left_step.value, right, negated)

    def run(env: Env) -> Value:
        result = equal(left(env), right(env))
        if negated:
            return result is not True
        if result.__class__ is EvalError:
            raise result
        return result

    return run


def _equals_text(left: Closure, text: str, negated: bool) -> Closure:
    def run(env: Env) -> Value:
        value = left(env)
        if value.__class__ is str:
            return (value == text) is not negated
        result = equal(value, text)
        if negated:
            return result is not True
        if result.__class__ is EvalError:
            raise result
        return result

    return run


def _text_equals(text: str, right: Closure, negated: bool) -> Closure:
    def run(env: Env) -> Value:
        value = right(env)
        return (value.__class__ is str and value == text) is not negated

    return run


_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "_<_": operator.lt,
    "_<=_": operator.le,
    "_>_": operator.gt,
    "_>=_": operator.ge,
}


def comparison(step: plan.Call, args: Sequence[Closure]) -> Closure | None:
    """``value < constant`` and its kin for an int constant; None for anything else."""
    compare = _COMPARE.get(step.function)
    if compare is None or not isinstance(step.args[1], plan.Const) or step.args[1].value.__class__ is not int:
        return None
    left, bound, slow = args[0], step.args[1].value, step.run

    def run(env: Env) -> Value:
        value = left(env)
        return compare(value, bound) if value.__class__ is int else slow(value, bound)

    return run
