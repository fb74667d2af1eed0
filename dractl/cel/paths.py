"""How a path is followed: fields, map keys and list indices, optional steps, and presence tests.

Source: cel-go ``interpreter/attributes.go``.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from dractl.cel.ast import Uint
from dractl.cel.gotext import go_value
from dractl.cel.values import (
    MAX_INT,
    MIN_INT,
    CelMap,
    Cidr,
    EvalError,
    IpAddress,
    Optional,
    TypeValue,
    Url,
    Value,
    go_type,
    text_of,
    type_name,
)
from dractl.kube.quantity import Quantity
from dractl.kube.semver import Semver


class _Absent:
    """What an optional step gives where there is nothing."""


ABSENT = _Absent()

_KEY_CLASSES = frozenset((bool, float, int, str, Uint))
_NATIVE = {Semver: "semver.Version", IpAddress: "netip.Addr", Cidr: "netip.Prefix", Url: "*url.URL"}


def check_key(key: Value) -> Value:
    """A computed key, if it is of a type that can be one."""
    if key.__class__ not in _KEY_CLASSES:
        raise EvalError(f"invalid qualifier type: {go_type(key)}")
    return key


def list_index(key: Value) -> int:
    """The index that a key stands for."""
    kind = key.__class__
    if kind is int:
        return int(key)
    if kind is float:
        if not math.isnan(key) and not math.isinf(key) and key == int(key) and MIN_INT < key < MAX_INT:
            return int(key)
        raise EvalError(f"unsupported index value {go_value(key)} in list")
    if kind is Uint:
        if key.value <= MAX_INT:
            return int(key.value)
        raise EvalError(f"unsupported index value {go_value(key)} in list")
    raise EvalError(f"unsupported index type '{type_name(key)}' in list")


def get(target: Value, key: Value) -> Value:
    """``target[key]``.

    Raises:
        EvalError: when there is no such key or index.
    """
    if isinstance(target, CelMap):
        found = target.find(key)
        if found is not None:
            return found[1]
        raise EvalError(f"no such key: {go_value(key)}")
    if isinstance(target, list):
        index = list_index(key)
        if 0 <= index < len(target):
            return target[index]
        raise EvalError(f"index out of bounds: {go_value(key)}")
    if isinstance(target, EvalError):
        raise target
    raise EvalError(f"no such key: {go_value(key)}")


def find(target: Value, key: Value) -> Value:
    """``target[key]``, or ``ABSENT``."""
    if isinstance(target, CelMap):
        found = target.find(key)
        return ABSENT if found is None else found[1]
    if isinstance(target, list):
        index = list_index(key)
        return target[index] if 0 <= index < len(target) else ABSENT
    if isinstance(target, EvalError):
        raise target
    return ABSENT


def through_go(value: Value) -> Value:
    """What is left of an optional's value when a path starts at it, before cel-go 0.29.

    The value passes through Go's own types there: a type becomes its name, and Kubernetes' types become an error.
    """
    if isinstance(value, Quantity):
        return EvalError(f"unsupported conversion to ref.Val: (*resource.Quantity){value}")
    native = _NATIVE.get(value.__class__)
    if native is not None:
        return EvalError(f"unsupported conversion to ref.Val: ({native}){text_of(value)}")
    if value.__class__ is TypeValue:
        return value.name
    if value.__class__ is Optional:
        return through_go(value.value) if value.has_value else None
    return value


def keep(value: Value) -> Value:
    """What is left of an optional's value when a path starts at it, since cel-go 0.29: all of it."""
    return value


Unwrap = Callable[[Value], Value]
