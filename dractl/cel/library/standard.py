"""CEL's standard functions: arithmetic, order, conversions, times, and the string tests.

``SINGLETONS`` holds functions with one implementation for all their overloads and the classes their first argument may
have; ``OVERLOADS`` holds one implementation an overload id. Declarations are in ``decl_standard``; what a call costs is
in ``dractl.cel.cost_runtime`` (run time) and in the static cost estimate.
Source: the CEL specification, "Standard Definitions"; cel-go ``common/stdlib`` and ``common/types``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

from dractl.cel import guard, times
from dractl.cel.ast import Uint
from dractl.cel.compare import COMPARABLE, compare, equal
from dractl.cel.gotext import SECOND, civil, civil_year, duration_text, go_float, timestamp_text
from dractl.cel.library.regex import search
from dractl.cel.values import (
    MAX_INT,
    MAX_UINT,
    MIN_INT,
    NO_OVERLOAD,
    CelMap,
    Duration,
    EvalError,
    MutableList,
    Timestamp,
    TypeValue,
    Value,
    is_map,
    type_name,
)

Implementation = Callable[..., Value]
INT_OVERFLOW = "integer overflow"
UINT_OVERFLOW = "unsigned integer overflow"
TIMESTAMP_OVERFLOW = "timestamp overflow"


def _int(value: int) -> int:
    if MIN_INT <= value <= MAX_INT:
        return value
    raise EvalError(INT_OVERFLOW)


def _uint(value: int) -> Uint:
    if 0 <= value <= MAX_UINT:
        return Uint(value)
    raise EvalError(UINT_OVERFLOW)


def _instant(nanos: int, offset: int) -> Timestamp:
    stamp = Timestamp(nanos, offset)
    if times.in_range(stamp):
        return stamp
    raise EvalError(TIMESTAMP_OVERFLOW)


def _later(stamp: Timestamp, nanos: int) -> Timestamp:
    whole = stamp.unix_seconds * SECOND + stamp.nanos % SECOND + nanos
    _int(whole // SECOND)
    return _instant(whole, stamp.offset)


def _between(later: Timestamp, earlier: Timestamp) -> Duration:
    seconds = _int(later.unix_seconds - earlier.unix_seconds)
    return Duration(_int(_int(seconds * SECOND) + later.nanos % SECOND - earlier.nanos % SECOND))


# --- arithmetic -----------------------------------------------------------------------------------------------------


def add(left: Value, right: Value) -> Value:
    kind, other = left.__class__, right.__class__
    if kind is other:
        if kind is int:
            return _int(left + right)
        if kind is float:
            return left + right
        if kind is str or kind is bytes:
            guard.check_text(len(left) + len(right))
            return left + right
        if kind is Uint:
            return _uint(left.value + right.value)
        if kind is Duration:
            return Duration(_int(left.nanos + right.nanos))
    if kind is MutableList and isinstance(right, list):
        guard.check_items(len(left) + len(right))
        left.extend(right)
        return left
    if isinstance(left, list) and isinstance(right, list):
        if not left:
            return right
        if not right:
            return left
        guard.check_items(len(left) + len(right))
        return [*left, *right]
    if kind is Timestamp and other is Duration:
        return _later(left, right.nanos)
    if kind is Duration and other is Timestamp:
        return _later(right, left.nanos)
    raise EvalError(NO_OVERLOAD)


def subtract(left: Value, right: Value) -> Value:
    kind, other = left.__class__, right.__class__
    if kind is other:
        if kind is int:
            return _int(left - right)
        if kind is float:
            return left - right
        if kind is Uint:
            return _uint(left.value - right.value)
        if kind is Duration:
            return Duration(_int(left.nanos - right.nanos))
        if kind is Timestamp:
            return _between(left, right)
    if kind is Timestamp and other is Duration:
        return _later(left, _int(-right.nanos))
    raise EvalError(NO_OVERLOAD)


def multiply(left: Value, right: Value) -> Value:
    kind = left.__class__
    if kind is right.__class__:
        if kind is int:
            return _int(left * right)
        if kind is float:
            return left * right
        if kind is Uint:
            return _uint(left.value * right.value)
    raise EvalError(NO_OVERLOAD)


def divide(left: Value, right: Value) -> Value:
    kind = left.__class__
    if kind is right.__class__:
        if kind is int:
            if right == 0:
                raise EvalError("division by zero")
            whole = abs(left) // abs(right)
            return _int(whole if (left < 0) == (right < 0) else -whole)
        if kind is float:
            return _divide_doubles(left, right)
        if kind is Uint:
            if right.value == 0:
                raise EvalError("division by zero")
            return Uint(left.value // right.value)
    raise EvalError(NO_OVERLOAD)


def _divide_doubles(left: float, right: float) -> float:
    if right != 0:
        return left / right
    if left == 0 or math.isnan(left):
        return math.nan
    return math.copysign(math.inf, left) * math.copysign(1, right)


def modulo(left: Value, right: Value) -> Value:
    kind = left.__class__
    if kind is right.__class__:
        if kind is int:
            if right == 0:
                raise EvalError("modulus by zero")
            if left == MIN_INT and right == -1:
                raise EvalError(INT_OVERFLOW)
            rest = abs(left) % abs(right)
            return -rest if left < 0 else rest
        if kind is Uint:
            if right.value == 0:
                raise EvalError("modulus by zero")
            return Uint(left.value % right.value)
    raise EvalError(NO_OVERLOAD)


def negate(value: Value) -> Value:
    kind = value.__class__
    if kind is int:
        return _int(-value)
    if kind is float:
        return -value
    if kind is Duration:
        return Duration(_int(-value.nanos))
    raise EvalError(NO_OVERLOAD)


def logical_not(value: Value) -> bool:
    if value is True:
        return False
    if value is False:
        return True
    raise EvalError(NO_OVERLOAD)


def not_strictly_false(value: Value) -> bool:
    """For the condition of a comprehension: an error (which the evaluator handles) counts as true."""
    return value if value.__class__ is bool else True


def less(left: Value, right: Value) -> bool:
    return compare(left, right) < 0


def less_equals(left: Value, right: Value) -> bool:
    return compare(left, right) <= 0


def greater(left: Value, right: Value) -> bool:
    return compare(left, right) > 0


def greater_equals(left: Value, right: Value) -> bool:
    return compare(left, right) >= 0


# --- collections ----------------------------------------------------------------------------------------------------


def size(value: Value) -> int:
    return len(value)


def contains_element(items: list[Value], element: Value) -> bool:
    """Whether a list holds an element; elements that cannot be compared do not count."""
    guard.spend(len(items))
    return any(equal(element, item) is True for item in items)


def is_in(element: Value, container: Value) -> bool:
    if isinstance(container, list):
        return contains_element(container, element)
    if is_map(container):
        return bool(container.contains(element))
    raise EvalError(NO_OVERLOAD)


# --- conversions ----------------------------------------------------------------------------------------------------


def _failed(value: Value, target: str) -> EvalError:
    return EvalError(f"type conversion error from '{type_name(value)}' to '{target}'")


def identity(value: Value) -> Value:
    return value


def type_of(value: Value) -> TypeValue:
    return TypeValue(type_name(value))


_TRUE = frozenset(("1", "t", "T", "true", "TRUE", "True"))
_FALSE = frozenset(("0", "f", "F", "false", "FALSE", "False"))


def string_to_bool(text: str) -> bool:
    if text in _TRUE:
        return True
    if text in _FALSE:
        return False
    raise _failed(text, "bool")


def string_to_bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def bytes_to_string(data: bytes) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise EvalError("invalid UTF-8 in bytes, cannot convert to string") from None


_FLOAT = re.compile(
    r"[+-]?(?:(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|(?i:inf|infinity))|(?i:nan)", re.ASCII
)
_HEX_FLOAT = re.compile(r"[+-]?0[xX](?:[0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)[pP][+-]?[0-9]+", re.ASCII)


_HEX_PREFIX = re.compile(r"[+-]?0[xX]")
_SEPARATOR = re.compile(r"(?<=[0-9])_(?=[0-9])")
_HEX_SEPARATOR = re.compile(r"(?<=[0-9a-fA-FxX])_(?=[0-9a-fA-F])")


def parse_double(text: str) -> float | None:
    """A double as Go's ``strconv.ParseFloat`` reads it; None if it is none or out of range."""
    if "_" in text:
        text = (_HEX_SEPARATOR if _HEX_PREFIX.match(text) else _SEPARATOR).sub("", text)
    if _FLOAT.fullmatch(text):
        value = float(text)
        return None if math.isinf(value) and text.lstrip("+-")[0] not in "iI" else value
    if _HEX_FLOAT.fullmatch(text):
        try:
            return float.fromhex(text)
        except OverflowError:
            return None
    return None


def string_to_double(text: str) -> float:
    value = parse_double(text)
    if value is None:
        raise _failed(text, "double")
    return value


_WHOLE = re.compile(r"[+-]?[0-9]{1,400}", re.ASCII)
_NATURAL = re.compile(r"[0-9]{1,400}", re.ASCII)


def string_to_int(text: str) -> int:
    if _WHOLE.fullmatch(text):
        value = int(text)
        if MIN_INT <= value <= MAX_INT:
            return value
    raise _failed(text, "int")


def string_to_uint(text: str) -> Uint:
    if _NATURAL.fullmatch(text):
        value = int(text)
        if value <= MAX_UINT:
            return Uint(value)
    raise _failed(text, "uint")


def double_to_int(value: float) -> int:
    if math.isnan(value) or math.isinf(value) or value <= float(MIN_INT) or value >= float(MAX_INT):
        raise EvalError(INT_OVERFLOW)
    return int(value)


def double_to_uint(value: float) -> Uint:
    if math.isnan(value) or math.isinf(value) or value < 0 or value >= 2.0**64:
        raise EvalError(UINT_OVERFLOW)
    return Uint(int(value))


def int_to_uint(value: int) -> Uint:
    return _uint(value)


def uint_to_int(value: Uint) -> int:
    return _int(value.value)


def int_to_double(value: int) -> float:
    return float(value)


def uint_to_double(value: Uint) -> float:
    return float(value.value)


def duration_to_int(value: Duration) -> int:
    return value.nanos


def timestamp_to_int(value: Timestamp) -> int:
    return value.unix_seconds


def int_to_duration(value: int) -> Duration:
    raise _failed(value, "google.protobuf.Duration")


def string_to_duration(text: str) -> Duration:
    nanos = times.parse_duration(text)
    if nanos is None:
        raise _failed(text, "google.protobuf.Duration")
    return Duration(nanos)


def int_to_timestamp(value: int) -> Timestamp:
    return _instant(value * SECOND, 0)


def string_to_timestamp(text: str) -> Timestamp:
    stamp = times.parse_timestamp(text)
    if stamp is None:
        raise _failed(text, "google.protobuf.Timestamp")
    return _instant(stamp.nanos, stamp.offset)


def bool_to_string(value: bool) -> str:
    return "true" if value else "false"


def int_to_string(value: int) -> str:
    return str(value)


def uint_to_string(value: Uint) -> str:
    return str(value.value)


def duration_to_string(value: Duration) -> str:
    return duration_text(value.nanos)


# --- strings --------------------------------------------------------------------------------------------------------


def contains(text: Value, part: Value) -> bool:
    if text.__class__ is str and part.__class__ is str:
        return part in text
    raise EvalError(NO_OVERLOAD)


def starts_with(text: Value, part: Value) -> bool:
    if text.__class__ is str and part.__class__ is str:
        return bool(text.startswith(part))
    raise EvalError(NO_OVERLOAD)


def ends_with(text: Value, part: Value) -> bool:
    if text.__class__ is str and part.__class__ is str:
        return bool(text.endswith(part))
    raise EvalError(NO_OVERLOAD)


def matches(text: Value, pattern: Value) -> bool:
    if pattern.__class__ is not str:
        raise EvalError(NO_OVERLOAD)
    return search(pattern, text)


# --- timestamps and durations ---------------------------------------------------------------------------------------


def _part(function: Callable[[Timestamp, int], int]) -> tuple[Implementation, Implementation]:
    """A part of a timestamp in UTC, and in a named zone."""

    def in_utc(stamp: Timestamp) -> int:
        return function(stamp, 0)

    def in_zone(stamp: Timestamp, zone: str) -> int:
        return function(stamp, times.zone_offset(stamp, zone))

    return in_utc, in_zone


_PARTS: dict[str, Callable[[Timestamp, int], int]] = {
    "year": civil_year,
    "month": lambda stamp, offset: civil(stamp, offset).month - 1,
    "day_of_year": lambda stamp, offset: civil(stamp, offset).timetuple().tm_yday - 1,
    "day_of_month": lambda stamp, offset: civil(stamp, offset).day - 1,
    "day_of_month_1_based": lambda stamp, offset: civil(stamp, offset).day,
    "day_of_week": lambda stamp, offset: civil(stamp, offset).isoweekday() % 7,
    "hours": lambda stamp, offset: civil(stamp, offset).hour,
    "minutes": lambda stamp, offset: civil(stamp, offset).minute,
    "seconds": lambda stamp, offset: civil(stamp, offset).second,
    "milliseconds": lambda stamp, offset: stamp.nanos % SECOND // 10**6,
}


def _time_overloads() -> dict[str, Implementation]:
    found: dict[str, Implementation] = {}
    for name, function in _PARTS.items():
        in_utc, in_zone = _part(function)
        found[f"timestamp_to_{name}"] = in_utc
        # cel-go's own id for seconds lacks "with"
        found[f"timestamp_to_{name}_tz" if name == "seconds" else f"timestamp_to_{name}_with_tz"] = in_zone
    for name, scale in (("hours", 3600 * SECOND), ("minutes", 60 * SECOND), ("seconds", SECOND)):
        found[f"duration_to_{name}"] = _whole(scale)
    found["duration_to_milliseconds"] = _whole(10**6)
    return found


def _whole(scale: int) -> Implementation:
    def convert(span: Duration) -> int:
        whole = abs(span.nanos) // scale
        return -whole if span.nanos < 0 else whole

    return convert


# --- tables ---------------------------------------------------------------------------------------------------------

Classes = frozenset[type]
_ADDERS: Classes = frozenset((bytes, float, Duration, int, list, MutableList, str, Timestamp, Uint))
_NUMERIC: Classes = frozenset((float, int, Uint))


def _all_maps() -> Classes:
    found: set[type] = set()
    queue: list[Any] = [CelMap]
    while queue:
        each = queue.pop()
        found.add(each)
        queue += each.__subclasses__()
    return frozenset(found)


LISTS: Classes = frozenset((list, MutableList))

SINGLETONS: dict[str, tuple[Implementation, Classes | None]] = {
    "!_": (logical_not, None),
    "@not_strictly_false": (not_strictly_false, None),
    "-_": (negate, frozenset((bool, float, Duration, int))),
    "_+_": (add, _ADDERS),
    "_-_": (subtract, frozenset((float, Duration, int, Timestamp, Uint))),
    "_*_": (multiply, _NUMERIC),
    "_/_": (divide, _NUMERIC),
    "_%_": (modulo, frozenset((int, Uint))),
    "_<_": (less, COMPARABLE),
    "_<=_": (less_equals, COMPARABLE),
    "_>_": (greater, COMPARABLE),
    "_>=_": (greater_equals, COMPARABLE),
    "@in": (is_in, None),
    "size": (size, frozenset((bytes, str)) | LISTS | _all_maps()),
    "type": (type_of, None),
    "dyn": (identity, None),
    "matches": (matches, frozenset((str,))),
}

OVERLOADS: dict[str, Implementation] = {
    "bool_to_bool": identity,
    "string_to_bool": string_to_bool,
    "bytes_to_bytes": identity,
    "string_to_bytes": string_to_bytes,
    "double_to_double": identity,
    "int64_to_double": int_to_double,
    "string_to_double": string_to_double,
    "uint64_to_double": uint_to_double,
    "duration_to_duration": identity,
    "int64_to_duration": int_to_duration,
    "string_to_duration": string_to_duration,
    "int64_to_int64": identity,
    "double_to_int64": double_to_int,
    "duration_to_int64": duration_to_int,
    "string_to_int64": string_to_int,
    "timestamp_to_int64": timestamp_to_int,
    "uint64_to_int64": uint_to_int,
    "string_to_string": identity,
    "bool_to_string": bool_to_string,
    "bytes_to_string": bytes_to_string,
    "double_to_string": go_float,
    "duration_to_string": duration_to_string,
    "int64_to_string": int_to_string,
    "timestamp_to_string": timestamp_text,
    "uint64_to_string": uint_to_string,
    "timestamp_to_timestamp": identity,
    "int64_to_timestamp": int_to_timestamp,
    "string_to_timestamp": string_to_timestamp,
    "uint64_to_uint64": identity,
    "double_to_uint64": double_to_uint,
    "int64_to_uint64": int_to_uint,
    "string_to_uint64": string_to_uint,
    "contains_string": contains,
    "starts_with_string": starts_with,
    "ends_with_string": ends_with,
    **_time_overloads(),
}
