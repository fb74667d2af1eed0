"""Equality and order of any two values.

Errors are values here, because lists and maps ignore them. Source: the CEL specification, "Equality" and "Ordering";
``Equal`` and ``Compare`` of cel-go's and Kubernetes' types.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dractl.cel import guard
from dractl.cel.ast import Uint
from dractl.cel.values import (
    MAX_INT,
    MAX_UINT,
    MIN_INT,
    NO_OVERLOAD,
    NUMBERS,
    CapacityMap,
    CelMap,
    Cidr,
    ComputedQuantity,
    DomainMap,
    Duration,
    EvalError,
    IpAddress,
    Message,
    MutableList,
    MutableMap,
    NamedFormat,
    Optional,
    StringMap,
    Timestamp,
    TypeValue,
    Url,
    Value,
    type_name,
)
from dractl.kube.quantity import Quantity
from dractl.kube.semver import Semver

# --- equality -------------------------------------------------------------------------------------------------------

_SELF_EQUAL = frozenset((str, bytes, bool))


def equal(left: Value, right: Value) -> bool | EvalError:
    """``left == right``: True, False, or the error as a value.

    Numbers compare across types, NaN equals nothing, null only null. Kubernetes' types give an error when compared
    with another type.
    """
    kind = left.__class__
    other = right.__class__
    if left is None or right is None:
        return left is right
    if kind is other and kind in _SELF_EQUAL:
        return bool(left == right)
    if kind in NUMBERS:
        return other in NUMBERS and compare_numbers(left, right) == 0
    rule = _EQUAL.get(kind)
    if rule is not None:
        return rule(left, right)
    return False


def compare_numbers(left: Value, right: Value) -> int | None:
    """-1, 0 or 1 for two numbers of any numeric types; None if one is NaN.

    A double is compared with an integer as doubles once it is inside the integer's range, as cel-go does it.
    """
    kind = left.__class__
    other = right.__class__
    if kind is float:
        if other is float:
            if left != left or right != right:  # noqa: PLR0124
                return None
            return int(left > right) - int(left < right)
        return _compare_double(left, right)
    if other is float:
        result = _compare_double(right, left)
        return None if result is None else -result
    left_value = left.value if kind is Uint else left
    right_value = right.value if other is Uint else right
    return int(left_value > right_value) - int(left_value < right_value)


def _compare_double(double: float, whole: Any) -> int | None:
    if double != double:  # noqa: PLR0124
        return None
    if whole.__class__ is Uint:
        if double < 0:
            return -1
        if double > float(MAX_UINT):
            return 1
        other = float(whole.value)
    else:
        if double < float(MIN_INT):
            return -1
        if double > float(MAX_INT):
            return 1
        other = float(whole)
    return (double > other) - (double < other)


def _equal_lists(left: list[Value], right: Value) -> bool | EvalError:
    if not isinstance(right, list) or len(left) != len(right):
        return False
    guard.spend(len(left) + 4)
    return all(equal(a, b) is not False for a, b in zip(left, right, strict=True))


def _equal_maps(left: CelMap, right: Value) -> bool | EvalError:
    if not isinstance(right, CelMap) or len(left) != len(right):
        return False
    guard.spend(len(left) + 4)
    for key, value in left.entries.values():
        found = right.find(key)
        if found is None or equal(value, found[1]) is False:
            return False
    return True


def _equal_optionals(left: Optional, right: Value) -> bool | EvalError:
    if right.__class__ is not Optional:
        return False
    if not left.has_value or not right.has_value:
        return bool(left.has_value == right.has_value)
    if left.value is None or right.value is None:
        return type_name(left.value) == type_name(right.value)
    return equal(left.value, right.value)


def _no_overload() -> EvalError:
    return EvalError(NO_OVERLOAD)


def _equal_quantities(left: Quantity, right: Value) -> bool | EvalError:
    return left.nano == right.nano if right.__class__ is Quantity else _no_overload()


def _equal_semvers(left: Semver, right: Value) -> bool | EvalError:
    return left.key == right.key if right.__class__ is Semver else _no_overload()


def _equal_addresses(left: IpAddress, right: Value) -> bool | EvalError:
    return left.address == right.address if right.__class__ is IpAddress else _no_overload()


def _equal_cidrs(left: Cidr, right: Value) -> bool | EvalError:
    if right.__class__ is not Cidr:
        return _no_overload()
    return bool(left.address == right.address and left.bits == right.bits)


def _equal_urls(left: Url, right: Value) -> bool | EvalError:
    return left.text == right.text if right.__class__ is Url else _no_overload()


def _equal_formats(left: NamedFormat, right: Value) -> bool | EvalError:
    return left.name == right.name if right.__class__ is NamedFormat else _no_overload()


def _equal_plain(left: Value, right: Value) -> bool | EvalError:
    return left.__class__ is right.__class__ and bool(left == right)


def _equal_instants(left: Timestamp, right: Value) -> bool | EvalError:
    return right.__class__ is Timestamp and left.nanos == right.nanos


def _equal_messages(left: Message, right: Value) -> bool | EvalError:
    if right.__class__ is not Message or left.name != right.name or left.fields.keys() != right.fields.keys():
        return False
    return all(equal(value, right.fields[name]) is True for name, value in left.fields.items())


def _equal_errors(left: EvalError, right: Value) -> bool | EvalError:
    return left


_EQUAL: dict[type, Callable[[Any, Value], bool | EvalError]] = {
    EvalError: _equal_errors,
    list: _equal_lists,
    MutableList: _equal_lists,
    CelMap: _equal_maps,
    MutableMap: _equal_maps,
    StringMap: _equal_maps,
    CapacityMap: _equal_maps,
    DomainMap: _equal_maps,
    Optional: _equal_optionals,
    Duration: _equal_plain,
    Timestamp: _equal_instants,
    TypeValue: _equal_plain,
    Quantity: _equal_quantities,
    ComputedQuantity: _equal_quantities,
    Semver: _equal_semvers,
    IpAddress: _equal_addresses,
    Cidr: _equal_cidrs,
    Url: _equal_urls,
    NamedFormat: _equal_formats,
    Message: _equal_messages,
}


# --- order ----------------------------------------------------------------------------------------------------------

COMPARABLE = frozenset((bool, bytes, float, Duration, int, str, Timestamp, Uint))
"""Classes whose values can stand on the left of ``<``."""


def compare(left: Value, right: Value) -> int:
    """-1, 0 or 1 for two comparable values; the left one's class is in ``COMPARABLE``.

    Raises:
        EvalError: for values of types that do not go together, and for NaN.
    """
    kind = left.__class__
    other = right.__class__
    if kind in NUMBERS:
        if kind is float and left != left:  # noqa: PLR0124
            raise EvalError("NaN values cannot be ordered")
        if other not in NUMBERS:
            raise EvalError(NO_OVERLOAD)
        result = compare_numbers(left, right)
        if result is None:
            raise EvalError("NaN values cannot be ordered")
        return result
    if kind is not other:
        raise EvalError(NO_OVERLOAD)
    if kind is Duration or kind is Timestamp:
        return int(left.nanos > right.nanos) - int(left.nanos < right.nanos)
    return int(left > right) - int(left < right)


def is_zero(value: Value) -> bool:
    """Whether ``optional.ofNonZeroValue`` takes a value for none."""
    kind = value.__class__
    if value is None:
        return True
    if kind is bool or kind is int or kind is float:
        return not value
    if kind is Uint:
        return bool(value.value == 0)
    if kind is Duration:
        return bool(value.nanos == 0)
    if kind is Timestamp:
        return bool(value.nanos == YEAR_ONE_NANOS)
    if kind is Message:
        return not value.fields
    if kind is str or kind is bytes or isinstance(value, list | CelMap):
        return len(value) == 0
    return False


YEAR_ONE_NANOS = -62135596800 * 10**9
"""The start of year 1, which Go takes for the zero of time."""
