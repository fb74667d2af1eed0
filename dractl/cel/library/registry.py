"""Which implementation a call runs: by overload id where the checker knows it, else by the types met at run time.

An implementation gets values of the types that its overload declares; what does not fit ends in cel-go's "no such
overload". Implementations are in the modules beside this one, signatures in ``decl_*.py``.
Source: cel-go ``common/decls`` and ``interpreter/planner.go``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from dractl.cel import types as t
from dractl.cel.environment import Environment, declarations
from dractl.cel.library import (
    collections,
    kubernetes,
    named_formats,
    network,
    regex,
    standard,
    strings,
    urls,
)
from dractl.cel.signatures import Overload
from dractl.cel.values import (
    NO_OVERLOAD,
    CelMap,
    Duration,
    EvalError,
    Timestamp,
    Value,
    classes_of,
    type_name,
)

Implementation = Callable[..., Value]
Predicate = Callable[[Value], bool]

IMPLEMENTATIONS: dict[str, Implementation] = {
    **standard.OVERLOADS,
    **strings.OVERLOADS,
    **collections.OVERLOADS,
    **regex.OVERLOADS,
    **urls.OVERLOADS,
    **network.OVERLOADS,
    **named_formats.OVERLOADS,
    **kubernetes.OVERLOADS,
}

_SINCE_137: dict[str, Implementation] = {**strings.SINCE_137, **collections.SINCE_137}
_BEFORE_135: dict[str, Implementation] = {**named_formats.BEFORE_135}

SINGLETONS: dict[str, tuple[Implementation, frozenset[type] | None]] = {
    **standard.SINGLETONS,
    "sort": (collections.sort_list, standard.LISTS),
    "@sortByAssociatedKeys": (collections.sort_by_keys, standard.LISTS),
}

_UNGUARDED = frozenset(("contains", "endsWith", "startsWith", "flatten"))
"""Functions whose implementations check the types themselves."""
_DECLARED_MANY = frozenset(("string_format",))
"""Overloads that cel-go binds as functions of any number of arguments though they take two."""
_WITHOUT_IMPLEMENTATION = frozenset(("optional_or_optional", "optional_orValue_value"))
_RECEIVERS = frozenset((str, Duration, Timestamp))


@dataclass(frozen=True, slots=True)
class Binding:
    """What a call runs. ``many``: cel-go stops evaluating arguments at the first error."""

    run: Implementation
    many: bool


class PlanError(Exception):
    """There is no program for the expression; the message is Kubernetes', after "program instantiation failed"."""


def no_such_overload(function: str, arguments: tuple[Value, ...]) -> EvalError:
    """The error for arguments of types that no overload takes."""
    names = ", ".join(map(type_name, arguments))
    return EvalError(f"no such overload: {function}({names})")


def predicate(declared: t.Type) -> Predicate | None:
    """Whether a value may stand for a parameter of a type; None if any value may.

    As in cel-go, of a list or map only the first entry is looked at.
    """
    if declared.is_dynamic:
        return None
    if declared.kind is t.Kind.LIST:
        return _list_predicate(predicate(declared.params[0]))
    if declared.kind is t.Kind.MAP:
        return _map_predicate(predicate(declared.params[0]), predicate(declared.params[1]))
    name = declared.name
    classes = classes_of(name)
    if classes:
        return lambda value: value.__class__ in classes
    return lambda value: type_name(value) == name


def _list_predicate(element: Predicate | None) -> Predicate:
    def accepts(value: Value) -> bool:
        return isinstance(value, list) and (element is None or not value or element(value[0]))

    return accepts


def _map_predicate(key: Predicate | None, item: Predicate | None) -> Predicate:
    def accepts(value: Value) -> bool:
        if not isinstance(value, CelMap):
            return False
        for first_key, first_item in value.items():
            return (key is None or key(first_key)) and (item is None or item(first_item))
        return True

    return accepts


@dataclass(frozen=True, slots=True)
class _Candidate:
    overload: Overload
    run: Implementation
    predicates: tuple[Predicate | None, ...]
    guarded: bool = True

    def accepts(self, arguments: tuple[Value, ...]) -> bool:
        if len(arguments) != len(self.predicates):
            return False
        if not self.guarded:
            return True
        return all(check is None or check(argument) for check, argument in zip(self.predicates, arguments, strict=True))


def _out_of_reach(*values: Value) -> Value:
    """The authorizer functions: declared, yet no value of a selector is of a type that they take."""
    raise EvalError(NO_OVERLOAD)


@lru_cache(maxsize=4096)
def _candidates(env: Environment, function: str) -> tuple[_Candidate, ...]:
    declared = declarations(env).functions.get(function)
    changed = _SINCE_137 if env.cel_go >= (0, 29) else _BEFORE_135 if env.release < (1, 35) else {}
    return tuple(
        _Candidate(
            overload,
            changed.get(overload.id) or IMPLEMENTATIONS.get(overload.id, _out_of_reach),
            tuple(map(predicate, overload.args)),
            function not in _UNGUARDED,
        )
        for overload in (declared.overloads if declared else ())
        if overload.id not in _WITHOUT_IMPLEMENTATION
    )


@lru_cache(maxsize=4096)
def bind(env: Environment, function: str, overloads: tuple[str, ...], arguments: int) -> Binding:
    """What a call of a function with the overloads that the checker left runs.

    Raises:
        PlanError: when there is nothing that takes this number of arguments.
    """
    if function in SINGLETONS:
        return Binding(_singleton(function, arguments), many=False)
    candidates = _candidates(env, function)
    chosen = candidates
    if len(overloads) == 1:
        chosen = tuple(each for each in candidates if each.overload.id == overloads[0])
    if len(chosen) == 1:
        only = chosen[0]
        many = arguments > 2 or only.overload.id in _DECLARED_MANY
        return Binding(_guarded(function, only), many)
    if not candidates:
        raise PlanError(f"no such overload: {function}(...)")
    return Binding(_dispatched(function, candidates), many=True)


def _singleton(function: str, arguments: int) -> Implementation:
    run, classes = SINGLETONS[function]
    if classes is None:
        return run
    allowed = classes

    def checked(*values: Value) -> Value:
        kind = values[0].__class__
        if kind in allowed:
            return run(*values)
        raise EvalError(NO_OVERLOAD if kind in _RECEIVERS else f"no such overload: {function}")

    return checked


def _guarded(function: str, candidate: _Candidate) -> Implementation:
    run = candidate.run
    if not candidate.guarded:
        return run
    checks = candidate.predicates
    if len(checks) == 1:
        check = checks[0]

        def unary(value: Value) -> Value:
            if check is None or check(value):
                return run(value)
            raise no_such_overload(function, (value,))

        return unary

    if len(checks) == 2:
        return _guarded_pair(function, run, *checks)

    def checked(*values: Value) -> Value:
        if candidate.accepts(values):
            return run(*values)
        raise no_such_overload(function, values)

    return checked


def _guarded_pair(
    function: str, run: Implementation, first: Predicate | None, second: Predicate | None
) -> Implementation:
    def binary(one: Value, other: Value) -> Value:
        if (first is None or first(one)) and (second is None or second(other)):
            return run(one, other)
        raise no_such_overload(function, (one, other))

    return binary


def _dispatched(function: str, candidates: tuple[_Candidate, ...]) -> Implementation:
    def dispatch(*values: Value) -> Value:
        for candidate in candidates:
            if candidate.accepts(values):
                return candidate.run(*values)
        raise no_such_overload(function, values)

    return dispatch
