"""Protobuf's well-known messages written in an expression, such as ``google.protobuf.Int32Value{value: 1}``.

Source: cel-go ``common/types/provider.go`` and ``pb``.
"""

from __future__ import annotations

from collections.abc import Callable

from dractl.cel import guard
from dractl.cel.ast import Uint
from dractl.cel.gotext import go_quote
from dractl.cel.values import (
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
_GO_NATIVE = {
    "google.protobuf.BoolValue": "bool",
    "google.protobuf.BytesValue": "[]uint8",
    "google.protobuf.DoubleValue": "float64",
    "google.protobuf.FloatValue": "float32",
    "google.protobuf.Int32Value": "int32",
    "google.protobuf.Int64Value": "int64",
    "google.protobuf.StringValue": "string",
    "google.protobuf.UInt32Value": "uint32",
    "google.protobuf.UInt64Value": "uint64",
}
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


def _field_error(message: str, field: str, text: str) -> EvalError:
    return EvalError(f"field type conversion error for {message}.{field} value type: {text}")


def make_message(name: str, fields: dict[str, Value]) -> Value:
    """The value of a message: wrappers and JSON values become what they hold.

    Raises:
        EvalError: when a field's value does not fit.
    """
    if name in _ZEROES:
        return _wrapper(name, fields)
    maker = _MAKERS.get(name)
    return maker(name, fields) if maker is not None else Message(name, fields)


def _wrapper(name: str, fields: dict[str, Value]) -> Value:
    value = fields.get("value")
    zero = _ZEROES[name]
    if value is None:
        return zero
    if value.__class__ is not zero.__class__:
        why = f"unsupported type conversion from '{type_name(value)}' to {_GO_NATIVE[name]}"
        raise _field_error(name, "value", why)
    if name.endswith("Int32Value") and value.__class__ is int and not -(2**31) <= value < 2**31:
        raise _field_error(name, "value", "integer overflow")
    if name.endswith("UInt32Value") and value.value >= 2**32:
        raise _field_error(name, "value", "unsigned integer overflow")
    if name.endswith("FloatValue"):
        import struct

        try:
            return float(struct.unpack("<f", struct.pack("<f", value))[0])
        except OverflowError:
            return float("inf") if value > 0 else float("-inf")
    return value


def _duration(name: str, fields: dict[str, Value]) -> Value:
    return Duration(fields.get("seconds", 0) * SECOND + fields.get("nanos", 0))


def _timestamp(name: str, fields: dict[str, Value]) -> Value:
    return Timestamp(fields.get("seconds", 0) * SECOND + fields.get("nanos", 0))


def _value(name: str, fields: dict[str, Value]) -> Value:
    for field in ("number_value", "string_value", "bool_value", "struct_value", "list_value"):
        if field in fields:
            return to_json(fields[field])
    return None


def _struct(name: str, fields: dict[str, Value]) -> Value:
    return to_json(fields.get("fields", CelMap({})))


def _list(name: str, fields: dict[str, Value]) -> Value:
    return to_json(fields.get("values", []))


def to_json(value: Value) -> Value:
    """A value as google.protobuf.Value holds it: numbers are doubles, keys strings."""
    kind = value.__class__
    if value is None or kind in (bool, float, str):
        return value
    if kind is int:
        return float(value) if abs(value) <= 2**53 - 1 else str(value)
    if kind is Uint:
        return float(value.value) if value.value <= 2**53 - 1 else str(value.value)
    if isinstance(value, list | CelMap):
        guard.spend(len(value) + 4)
    if isinstance(value, list):
        return [to_json(item) for item in value]
    if isinstance(value, CelMap):
        return StringMap({str(key): (str(key), to_json(item)) for key, item in value.items()})
    raise EvalError(f"type conversion error from '{type_name(value)}' to 'google.protobuf.Value'")


def _any(name: str, fields: dict[str, Value]) -> Value:
    """A google.protobuf.Any cannot be written in an expression: what it holds is not known."""
    shown = []
    if fields.get("type_url"):
        shown.append(f"type_url:{go_quote(fields['type_url'])}")
    if fields.get("value"):
        shown.append(f'value:"{_escaped(fields["value"])}"')
    raise EvalError(f"unsupported conversion to ref.Val: (*dynamicpb.Message){'  '.join(shown)}")


def _escaped(data: bytes) -> str:
    """Bytes as protobuf's text format writes them."""
    special = {10: "\\n", 13: "\\r", 9: "\\t", 34: '\\"', 92: "\\\\"}
    return "".join(special.get(byte) or (chr(byte) if 32 <= byte < 127 else f"\\x{byte:02x}") for byte in data)


_MAKERS: dict[str, Callable[[str, dict[str, Value]], Value]] = {
    "google.protobuf.Any": _any,
    "google.protobuf.Duration": _duration,
    "google.protobuf.Timestamp": _timestamp,
    "google.protobuf.Value": _value,
    "google.protobuf.Struct": _struct,
    "google.protobuf.ListValue": _list,
}
