"""The result of an expression as a bool, as Kubernetes converts it.

Source: ``k8s.io/dynamic-resource-allocation/cel/compile.go``; ``ConvertToNative`` of cel-go's and Kubernetes' types.
"""

from __future__ import annotations

from collections.abc import Callable

from dractl.cel.ast import Uint
from dractl.cel.values import (
    CelMap,
    Cidr,
    ComputedQuantity,
    Duration,
    EvalError,
    IpAddress,
    NamedFormat,
    Optional,
    Timestamp,
    TypeValue,
    Url,
    Value,
    type_name,
)
from dractl.kube.quantity import Quantity
from dractl.kube.semver import Semver


class ResultError(Exception):
    """The result is no bool; the text is Kubernetes'."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text


_NO_CONVERSION: dict[type, str] = {
    int: "unsupported type conversion from 'int' to bool",
    Uint: "unsupported type conversion from 'uint' to bool",
    float: "type conversion error from Double to 'bool'",
    str: "unsupported native conversion from string to 'bool'",
    bytes: "type conversion error from Bytes to 'bool'",
    type(None): "type conversion error from 'null_type' to 'bool'",
    Duration: "type conversion error from 'Duration' to 'bool'",
    Timestamp: "type conversion error from 'Timestamp' to 'bool'",
    TypeValue: "type conversion not supported for 'type'",
    Quantity: "type conversion error from 'Quantity' to 'bool'",
    ComputedQuantity: "type conversion error from 'Quantity' to 'bool'",
    Semver: "type conversion error from 'Semver' to 'bool'",
    IpAddress: "type conversion error from 'IP' to 'bool'",
    Cidr: "type conversion error from 'CIDR' to 'bool'",
    Url: "type conversion error from 'URL' to 'bool'",
    NamedFormat: "type conversion error from 'Format' to 'bool'",
}


def to_bool(value: Value) -> bool:
    """The bool that a result is.

    Raises:
        ResultError: when it is none.
    """
    if value.__class__ is bool:
        return bool(value)
    inner, why = value, ""
    while inner.__class__ is Optional:
        if not inner.has_value:
            why = "optional.none() dereference"
            break
        inner = inner.value
        if inner.__class__ is bool:
            return bool(inner)
    raise ResultError(f"CEL result of type {type_name(value)} could not be converted to bool: {why or _why(inner)}")


def _why(value: Value) -> str:
    if isinstance(value, list):
        return "type conversion error from list to 'bool'"
    if isinstance(value, CelMap):
        return "type conversion error from map to 'bool'"
    if isinstance(value, EvalError):
        return value.text
    return _NO_CONVERSION.get(value.__class__, f"type conversion error from '{type_name(value)}' to 'bool'")


Conversion = Callable[[Value], bool]
