"""Derived attributes: what a request's expression computes for a device (KEP-6080, alpha since 1.37).

The value counts for constraints as if the driver published it.
Source: ``k8s.io/dynamic-resource-allocation/cel/compile.go`` (EvaluateDerivedAttribute).
"""

from __future__ import annotations

from dractl.cel.ast import Uint
from dractl.cel.selector import Selector
from dractl.cel.values import (
    CapacityMap,
    CelMap,
    Cidr,
    ComputedQuantity,
    DomainMap,
    Duration,
    EvalError,
    IpAddress,
    Message,
    NamedFormat,
    Optional,
    Stopped,
    StringMap,
    Timestamp,
    TypeValue,
    Url,
    Value,
)
from dractl.kube.objects import Device, DeviceAttribute
from dractl.kube.quantity import Quantity
from dractl.kube.semver import Semver


class DerivedError(Exception):
    """The expression gives no attribute for a device; the text is Kubernetes'."""


_KINDS: dict[type, str] = {bool: "bool", int: "int", str: "string", Semver: "version"}
_LIST_NAMES = {"bool": "bool", "int": "int", "string": "string", "version": "semver"}

_GO_VALUES: dict[type, str] = {
    bool: "bool",
    int: "int64",
    str: "string",
    Semver: "semver.Version",
    Uint: "uint64",
    float: "float64",
    bytes: "[]uint8",
    type(None): "structpb.NullValue",
    Duration: "time.Duration",
    Timestamp: "time.Time",
    TypeValue: "string",
    Quantity: "*resource.Quantity",
    ComputedQuantity: "*resource.Quantity",
    IpAddress: "netip.Addr",
    Cidr: "netip.Prefix",
    Url: "*url.URL",
    NamedFormat: "cel.Format",
    CelMap: "map[ref.Val]ref.Val",
    StringMap: "map[string]interface {}",
    DomainMap: "map[string]interface {}",
    Message: "*dynamicpb.Message",
    CapacityMap: "map[string]cel.Quantity",
}
"""The Go types that Kubernetes' texts show for values that are no attribute."""


def derive(expression: Selector, driver: str, device: Device) -> DeviceAttribute:
    """The attribute that an expression without compile error computes for a device of a driver.

    Raises:
        DerivedError: when it fails on the device, or gives what is no attribute.
    """
    try:
        value = expression.value(driver, device)
    except (EvalError, Stopped) as error:
        raise DerivedError(error.text) from None
    value = _plain(value)
    kind = _KINDS.get(value.__class__)
    if kind is not None:
        return DeviceAttribute(kind, _data(value))
    if isinstance(value, list):
        return _list(value)
    raise DerivedError(f"unsupported CEL return type: {_go_type(value)}")


def _list(items: list[Value]) -> DeviceAttribute:
    if not items:
        return DeviceAttribute("strings", ())
    values = [_plain(item) for item in items]
    kind = _KINDS.get(values[0].__class__)
    if kind is None:
        raise DerivedError(f"unsupported list element type: {_go_type(values[0])}")
    for index, value in enumerate(values):
        if _KINDS.get(value.__class__) != kind:
            raise DerivedError(
                f"expected list element at index {index} to be {_LIST_NAMES[kind]}, got {_go_type(value)}"
            )
    return DeviceAttribute(f"{kind}s", tuple(map(_data, values)))


def _plain(value: Value) -> Value:
    """What Go sees of a value: types are their names, optional values what they hold."""
    while value.__class__ is Optional and value.has_value and value.value.__class__ in (*_KINDS, Optional, TypeValue):
        value = value.value
    return str(value.name) if value.__class__ is TypeValue else value


def _data(value: Value) -> bool | int | str:
    return str(value) if isinstance(value, Semver) else value


def _go_type(value: Value) -> str:
    if value.__class__ is Optional:
        return _go_type(value.value) if value.has_value else "<nil>"
    if isinstance(value, list):
        return "[]ref.Val"
    if value.__class__ is CapacityMap and not value.entries:
        return _GO_VALUES[StringMap]  # what stands for a domain that the device does not have
    return _GO_VALUES.get(value.__class__) or str(value.__class__.__name__)
