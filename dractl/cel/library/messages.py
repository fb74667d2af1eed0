"""Protobuf's well-known messages written in an expression, such as ``google.protobuf.Int32Value{value: 1}``.

Source: cel-go ``common/types/provider.go`` and ``pb``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dractl.cel.ast import Uint
from dractl.cel.library import native
from dractl.cel.values import (
    MAX_INT,
    MIN_INT,
    CelMap,
    Duration,
    EvalError,
    Message,
    StringMap,
    Timestamp,
    Value,
    type_name,
)

SECOND = 10**9
_YEAR_ONE = 62_135_596_800
"""Seconds from the year 1 to 1970."""

_PARAMETRIC = {"list": "list(dyn)", "map": "map(dyn, dyn)"}
_REPEATED = "repeated"
_MAP = "map"
_FIELDS: dict[str, dict[str, str]] = {
    "google.protobuf.BoolValue": {"value": "bool"},
    "google.protobuf.BytesValue": {"value": "[]uint8"},
    "google.protobuf.DoubleValue": {"value": "float64"},
    "google.protobuf.FloatValue": {"value": "float32"},
    "google.protobuf.Int32Value": {"value": "int32"},
    "google.protobuf.Int64Value": {"value": "int64"},
    "google.protobuf.StringValue": {"value": "string"},
    "google.protobuf.UInt32Value": {"value": "uint32"},
    "google.protobuf.UInt64Value": {"value": "uint64"},
    "google.protobuf.Duration": {"seconds": "int64", "nanos": "int32"},
    "google.protobuf.Timestamp": {"seconds": "int64", "nanos": "int32"},
    "google.protobuf.Any": {"type_url": "string", "value": "[]uint8"},
    "google.protobuf.Value": {
        "null_value": native.ENUM,
        "number_value": "float64",
        "string_value": "string",
        "bool_value": "bool",
        "struct_value": native.JSON_MAP,
        "list_value": native.JSON_LIST,
    },
    "google.protobuf.Struct": {"fields": _MAP},
    "google.protobuf.Struct.FieldsEntry": {"key": "string", "value": native.JSON},
    "google.protobuf.ListValue": {"values": _REPEATED},
}
"""The Go types of the fields of messages."""
_ZEROES: dict[str, Value] = {
    "google.protobuf.BoolValue": False,
    "google.protobuf.BytesValue": b"",
    "google.protobuf.DoubleValue": 0.0,
    "google.protobuf.FloatValue": 0.0,
    "google.protobuf.Int32Value": 0,
    "google.protobuf.Int64Value": 0,
    "google.protobuf.StringValue": "",
    "google.protobuf.UInt32Value": Uint(0),
    "google.protobuf.UInt64Value": Uint(0),
}


def make_message(name: str, fields: dict[str, Value], typed: bool) -> Value:
    """The value of a message: wrappers and JSON values become what they hold.

    Args:
        typed: whether messages call an optional by its whole type, as cel-go does since 0.29.

    Raises:
        EvalError: when a field's value does not fit.
    """
    types = _FIELDS.get(name, {})
    held = {field: _held(name, field, types[field], value, typed) for field, value in fields.items()}
    if name in _ZEROES:
        return held.get("value", _ZEROES[name])
    maker = _MAKERS.get(name)
    return maker(held) if maker is not None else Message(name, held)


def _held(message: str, field: str, target: str, value: Value, typed: bool) -> Value:
    """A value as a field holds it."""
    if target in (_REPEATED, _MAP) and not isinstance(value, list if target == _REPEATED else CelMap):
        kind = type_name(value)
        if typed and kind == "optional_type":
            kind = "optional_type(dyn)"
        raise EvalError(f"unsupported field type for {message}.{field}: {_PARAMETRIC.get(kind, kind)}")
    try:
        if target == _REPEATED:
            return native.to_native(value, native.JSON_LIST)
        return native.json_map(value) if target == _MAP else native.to_native(value, target)
    except EvalError as error:
        raise EvalError(f"field type conversion error for {message}.{field} value type: {error.text}") from None


def _duration(held: dict[str, Any]) -> Value:
    return Duration(min(max(held.get("seconds", 0) * SECOND + held.get("nanos", 0), MIN_INT), MAX_INT))


def _timestamp(held: dict[str, Any]) -> Value:
    carried, rest = divmod(held.get("nanos", 0), SECOND)
    since_year_1 = (held.get("seconds", 0) + carried + _YEAR_ONE + 2**63) % 2**64 - 2**63
    return Timestamp((since_year_1 - _YEAR_ONE) * SECOND + rest)


def _value(held: dict[str, Any]) -> Value:
    """The kinds of a JSON value exclude each other: the last one written counts."""
    if not held:
        return None
    field, value = list(held.items())[-1]
    return None if field == "null_value" else value


def _any(held: dict[str, Any]) -> Value:
    """A google.protobuf.Any cannot be written in an expression: what it holds is not known."""
    shown = []
    if held.get("type_url"):
        shown.append(f'type_url:"{_escaped(held["type_url"])}"')
    if held.get("value"):
        shown.append(f'value:"{_escaped(held["value"].decode("utf-8", "surrogateescape"))}"')
    raise EvalError(f"unsupported conversion to ref.Val: (*dynamicpb.Message){'  '.join(shown)}")


_SPECIAL = {"\n": "\\n", "\r": "\\r", "\t": "\\t", '"': '\\"', "\\": "\\\\"}


def _escaped(text: str) -> str:
    """A text as protobuf's text format writes it, bytes that are none by their number."""
    return "".join(_SPECIAL.get(char) or _escaped_char(char, ord(char)) for char in text)


def _escaped_char(char: str, code: int) -> str:
    if code < 0x20 or code == 0x7F:
        return f"\\x{code:02x}"
    if 0xDC80 <= code <= 0xDCFF:
        return f"\\x{code - 0xDC00:02x}"
    return f"\\u{code:04x}" if 0x80 <= code < 0xA0 else char


_MAKERS: dict[str, Callable[[dict[str, Any]], Value]] = {
    "google.protobuf.Any": _any,
    "google.protobuf.Duration": _duration,
    "google.protobuf.Timestamp": _timestamp,
    "google.protobuf.Value": _value,
    "google.protobuf.Struct": lambda held: held.get("fields", StringMap({})),
    "google.protobuf.ListValue": lambda held: held.get("values", []),
}
