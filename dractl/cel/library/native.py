"""Values put into the fields of protobuf messages: what fits, and what cel-go says of the rest.

Source: the ``ConvertToNative`` methods of cel-go's ``common/types`` and of ``k8s.io/apiserver/pkg/cel``.
"""

from __future__ import annotations

import base64
import struct
from collections.abc import Callable

from dractl.cel import guard
from dractl.cel.ast import Uint
from dractl.cel.gotext import duration_text, timestamp_text
from dractl.cel.values import (
    CelMap,
    Cidr,
    Duration,
    EvalError,
    IpAddress,
    Message,
    NamedFormat,
    Optional,
    StringMap,
    Timestamp,
    TypeValue,
    Url,
    Value,
    text_of,
)
from dractl.kube.quantity import Quantity
from dractl.kube.semver import Semver

JSON = "*structpb.Value"
JSON_LIST = "*structpb.ListValue"
JSON_MAP = "*structpb.Struct"
ENUM = "protoreflect.EnumNumber"
_SAFE_INTEGER = 2**53 - 1
_PROTOBUF = {JSON_LIST: "google.protobuf.ListValue", JSON_MAP: "google.protobuf.Struct"}
_NAMED = (
    (Quantity, "Quantity"),
    (Semver, "Semver"),
    (IpAddress, "IP"),
    (Cidr, "CIDR"),
    (Url, "URL"),
    (NamedFormat, "Format"),
    (Duration, "Duration"),
    (Timestamp, "Timestamp"),
)


def to_native(value: Value, target: str) -> Value:
    """A value as a field holds it whose type is called ``target`` in Go, such as ``int32`` or ``*structpb.Value``.

    Raises:
        EvalError: when it does not fit.
    """
    kind = value.__class__
    if kind is Optional:
        if not value.has_value:
            raise EvalError("optional.none() dereference")
        return to_native(value.value, target)
    if target == JSON:
        return to_json(value)
    convert = _CONVERSIONS.get((kind, target))
    if convert is not None:
        return convert(value)
    if isinstance(value, list) and target == JSON_LIST:
        return _json_list(value)
    if isinstance(value, list) and target == "[]uint8":
        return bytes(to_native(item, "uint8").value for item in value)
    if isinstance(value, CelMap) and target == JSON_MAP:
        return json_map(value)
    if isinstance(value, CelMap) and target == JSON_LIST:
        return _list_from_map(value)
    if target == "string" and kind is not NamedFormat and any(isinstance(value, each) for each, _ in _NAMED[:6]):
        return text_of(value)
    raise EvalError(_refusal(value, target))


def _refusal(value: Value, target: str) -> str:
    kind = value.__class__
    if kind is int or kind is Uint:
        return f"unsupported type conversion from '{'int' if kind is int else 'uint'}' to {target}"
    if kind is str:
        return f"unsupported native conversion from string to '{target}'"
    if kind is TypeValue:
        return "type conversion not supported for 'type'"
    for each, name in _NAMED:
        if isinstance(value, each):
            return f"type conversion error from '{name}' to '{target}'"
    if kind is Message and target in _PROTOBUF:
        kinds = f"{_PROTOBUF[target]}, {value.name}"
        return f"type conversion error: pb.Merge() arguments must be the same type. got: {kinds}"
    if value is None:
        source = "'null_type'"
    elif kind is Message:
        source = "'*dynamicpb.Message'"
    elif isinstance(value, list):
        source = "list"
    elif isinstance(value, CelMap):
        source = "map"
    else:
        source = {bool: "bool", float: "Double", bytes: "Bytes"}[kind]
    return f"type conversion error from {source} to '{target}'"


def _within(low: int, high: int, text: str) -> Callable[[Value], Value]:
    def convert(value: Value) -> Value:
        number = value.value if value.__class__ is Uint else value
        if not low <= number <= high:
            raise EvalError(text)
        return value

    return convert


def _single(value: float) -> float:
    try:
        return float(struct.unpack("<f", struct.pack("<f", value))[0])
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def _same(value: Value) -> Value:
    return value


_CONVERSIONS: dict[tuple[type, str], Callable[[Value], Value]] = {
    (bool, "bool"): _same,
    (int, "int64"): _same,
    (int, "int32"): _within(-(2**31), 2**31 - 1, "integer overflow"),
    (int, ENUM): _within(-(2**31), 2**31 - 1, "integer overflow"),
    (Uint, "uint64"): _same,
    (Uint, "uint8"): _within(0, 2**8 - 1, "unsigned integer overflow"),
    (Uint, "uint32"): _within(0, 2**32 - 1, "unsigned integer overflow"),
    (float, "float64"): _same,
    (float, "float32"): _single,
    (str, "string"): _same,
    (bytes, "[]uint8"): _same,
}


# --- JSON values ----------------------------------------------------------------------------------------------------


def to_json(value: Value) -> Value:
    """A value as google.protobuf.Value holds it: numbers are doubles, keys strings."""
    kind = value.__class__
    if kind is Optional:
        return to_native(value, JSON)
    if value is None or kind in (bool, float, str):
        return value
    if kind is int:
        return float(value) if abs(value) <= _SAFE_INTEGER else str(value)
    if kind is Uint:
        return float(value.value) if value.value <= _SAFE_INTEGER else str(value.value)
    if kind is bytes:
        return base64.b64encode(value).decode()
    if kind is Timestamp:
        return timestamp_text(value)
    if kind is Duration:
        return duration_text(value.nanos)
    if kind is Message:
        return StringMap({})
    if isinstance(value, list):
        return _json_list(value)
    if isinstance(value, CelMap):
        return json_map(value)
    raise EvalError(_refusal(value, JSON))


def _json_list(value: list[Value]) -> Value:
    guard.spend(len(value) + 4)
    return [to_json(item) for item in value]


def json_map(value: CelMap) -> StringMap:
    """A map as google.protobuf.Struct holds it."""
    guard.spend(len(value) + 4)
    entries = {}
    for key, item in value.items():
        name = to_native(key, "string")
        entries[name] = (name, to_json(item))
    return StringMap(entries)


def _list_from_map(value: CelMap) -> list[Value]:
    """A map taken for a Go struct with one field, ``Values`` (sic)."""
    found: list[Value] = []
    for key, item in value.items():
        field = "".join(part[:1].upper() + part[1:] for part in text_of(key).split("_"))
        if field != "Values":
            raise EvalError(f"type conversion error, no such field '{field}' in type 'structpb.ListValue'")
        found = to_native(item, JSON_LIST)
    return found
