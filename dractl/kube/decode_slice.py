"""Reading of ResourceSlices; see ``dractl.kube.decode``.

Slices are the bulk of what is read (80,000 devices in a large fleet), so paths are put together only once something is
wrong, and equal attributes, capacities and quantities share one object.
"""

from __future__ import annotations

import sys
from typing import Any

from dractl.kube import reader
from dractl.kube.decode_core import meta, node_selector
from dractl.kube.objects import (
    CapacityRange,
    CapacityRequestPolicy,
    CounterSet,
    Device,
    DeviceAttribute,
    DeviceCapacity,
    DeviceCounterConsumption,
    DeviceTaint,
    Json,
    PoolRef,
    ResourceSlice,
)
from dractl.kube.reader import FieldError, Unknown, each, fields, opt_text, text, texts, wrong

_TOP = fields("apiVersion kind metadata spec")
_SPEC = fields(
    "driver pool nodeName nodeSelector allNodes perDeviceNodeSelection devices sharedCounters partitionTypeAttribute "
    "skipNodeOperations"
)
_POOL = fields("name generation resourceSliceCount")
_DEVICE_FIELDS = fields(
    "attributes capacity consumesCounters nodeName nodeSelector allNodes taints bindsToNode bindingConditions "
    "bindingFailureConditions allowMultipleAllocations nodeAllocatableResourceMappings nodeAllocatableResources"
)
_DEVICE = _DEVICE_FIELDS | {"name"}
_USUAL = frozenset(["name", "attributes", "capacity"])
_BASIC = frozenset(["name", "basic"])
_CAPACITY = frozenset(["value", "requestPolicy"])
_POLICY = fields("default validValues validRange")
_RANGE = fields("min max step")
_COUNTER_SET = frozenset(["name", "counters"])
_CONSUMPTION = frozenset(["counterSet", "counters", "compatibilityGroups"])
_COUNTER = frozenset(["value"])
_TAINT = fields("key value effect timeAdded")

_SCALARS: dict[str, type] = {"int": int, "bool": bool, "string": str, "version": str}
_LISTS: dict[str, type] = {"ints": int, "bools": bool, "strings": str, "versions": str}
_KINDS = (*_SCALARS, *_LISTS)
_KIND_SET = frozenset(_KINDS)

_CACHE_LIMIT = 200_000
_attributes: dict[tuple[str, object], DeviceAttribute] = {}
_capacities: dict[object, DeviceCapacity] = {}


def resource_slice(body: Json, version: str, unknown: Unknown) -> ResourceSlice:
    """A ResourceSlice."""
    unknown.check(body, _TOP, "")
    spec = reader.obj(body, "spec", "")
    unknown.check(spec, _SPEC, "spec")
    pool = reader.obj(spec, "pool", "spec")
    unknown.check(pool, _POOL, "spec.pool")
    beta1 = version.endswith(("v1beta1", "v1alpha3"))
    bare_capacity = version.endswith("v1alpha3")
    devices = []
    for index, item in enumerate(reader.items(spec, "devices", "spec")):
        try:
            devices.append(_device(item, beta1, bare_capacity, unknown))
        except FieldError as error:
            raise FieldError(f"spec.devices[{index}].{error.path}".rstrip("."), error.message) from None
        finally:
            _prefix(unknown, index)
    node_name = opt_text(spec, "nodeName", "spec")
    all_nodes = reader.opt_boolean(spec, "allNodes", "spec")
    return ResourceSlice(
        meta=meta(body, unknown),
        driver=sys.intern(text(spec, "driver", "spec")),
        pool=PoolRef(
            sys.intern(text(pool, "name", "spec.pool")),
            reader.integer(pool, "generation", "spec.pool"),
            reader.integer(pool, "resourceSliceCount", "spec.pool"),
        ),
        # Plain fields in the older versions: empty and false are the same as unset there.
        node_name=node_name or None if beta1 else node_name,
        node_selector=node_selector(spec, "nodeSelector", "spec", unknown),
        all_nodes=all_nodes or None if beta1 else all_nodes,
        per_device_node_selection=reader.opt_boolean(spec, "perDeviceNodeSelection", "spec"),
        devices=devices,
        shared_counters=each(spec, "sharedCounters", "spec", lambda item, at: _counter_set(item, at, unknown)),
        partition_type_attribute=opt_text(spec, "partitionTypeAttribute", "spec"),
        skip_node_operations=texts(spec, "skipNodeOperations", "spec"),
    )


def _prefix(unknown: Unknown, index: int) -> None:
    """Complete the paths noted while a device was read; they start with a dot."""
    if unknown.paths and unknown.paths[-1].startswith("."):
        unknown.paths[:] = [f"spec.devices[{index}]{p}" if p.startswith(".") else p for p in unknown.paths]


def _note(unknown: Unknown, body: Json, known: frozenset[str], path: str = "") -> None:
    unknown.paths.extend(f".{reader.join(path, key)}" for key in body if key not in known)


def _device(item: Any, beta1: bool, bare_capacity: bool, unknown: Unknown) -> Device:
    if not isinstance(item, dict):
        if item is None:
            return Device()
        wrong("", "an object", item)
    name = sys.intern(text(item, "name", ""))
    body, below = item, ""
    if beta1:
        if not item.keys() <= _BASIC:
            _note(unknown, item, _BASIC)
        body, below = reader.obj(item, "basic", ""), "basic"
        if not body.keys() <= _DEVICE_FIELDS:
            _note(unknown, body, _DEVICE_FIELDS, below)
    elif not body.keys() <= _DEVICE:
        _note(unknown, body, _DEVICE)
    attributes = body.get("attributes")
    capacity = body.get("capacity")
    device = Device(
        name=name,
        attributes=_read_attributes(attributes, below, unknown) if attributes else {},
        capacity=_read_capacity(capacity, below, bare_capacity, unknown) if capacity else {},
    )
    if not body.keys() <= _USUAL:
        _rest(device, body, below, unknown)
    return device


def _rest(device: Device, body: Json, path: str, unknown: Unknown) -> None:
    """The fields that most devices lack."""
    inner = Unknown()
    device.consumes_counters = each(body, "consumesCounters", path, lambda i, a: _consumption(i, a, inner))
    device.node_name = opt_text(body, "nodeName", path)
    device.node_selector = node_selector(body, "nodeSelector", path, inner)
    device.all_nodes = reader.opt_boolean(body, "allNodes", path)
    device.taints = each(body, "taints", path, lambda i, a: taint(i, a, inner))
    device.binds_to_node = reader.boolean(body, "bindsToNode", path)
    device.binding_conditions = reader.opt_texts(body, "bindingConditions", path)
    device.binding_failure_conditions = reader.opt_texts(body, "bindingFailureConditions", path)
    device.allow_multiple_allocations = reader.boolean(body, "allowMultipleAllocations", path)
    for key in ("nodeAllocatableResources", "nodeAllocatableResourceMappings"):
        if body.get(key) is not None:
            device.node_allocatable = reader.obj(body, key, path)
    unknown.paths.extend(f".{p}" for p in inner.paths)


def _read_attributes(values: Any, path: str, unknown: Unknown) -> dict[str, DeviceAttribute]:
    if not isinstance(values, dict):
        wrong(reader.join(path, "attributes"), "an object", values)
    result = {}
    intern = sys.intern
    for name, data in values.items():
        # The usual case: one scalar field of the right type. `type() is` keeps true apart from 1.
        if type(data) is dict and len(data) == 1:
            ((kind, value),) = data.items()
            if _SCALARS.get(kind) is type(value):
                found = _attributes.get((kind, value))
                result[intern(name)] = _shared(kind, value) if found is None else found
                continue
        result[intern(name)] = _attribute(data, reader.join(path, f"attributes[{name}]"), unknown)
    return result


def _shared(kind: str, value: Any) -> DeviceAttribute:
    attribute = DeviceAttribute(sys.intern(kind), value)
    if len(_attributes) < _CACHE_LIMIT:
        _attributes[(kind, value)] = attribute
    return attribute


def _attribute(data: Any, path: str, unknown: Unknown) -> DeviceAttribute:
    """One attribute the slow way: null, a list, several fields, a wrong type."""
    if data is None:
        return DeviceAttribute("", "")
    if not isinstance(data, dict):
        wrong(path, "an object such as {string: ...}", data)
    if not data.keys() <= _KIND_SET:
        _note(unknown, data, _KIND_SET, path)
    first = None
    for kind in _KINDS:
        value: Any = data.get(kind)
        if value is None:
            continue
        wanted = _SCALARS.get(kind)
        if wanted is None:
            value = _list_value(kind, value, f"{path}.{kind}")
        elif type(value) is not wanted:
            wrong(f"{path}.{kind}", {int: "a whole number", bool: "true or false", str: "a text"}[wanted], value)
        if first is None:
            first = DeviceAttribute(kind, value)
    return first or DeviceAttribute("", "")


def _list_value(kind: str, value: Any, path: str) -> tuple[Any, ...]:
    wanted = _LISTS[kind]
    if not isinstance(value, list):
        wrong(path, "a list", value)
    for index, item in enumerate(value):
        if type(item) is not wanted:
            wrong(f"{path}[{index}]", {int: "a whole number", bool: "true or false", str: "a text"}[wanted], item)
    return tuple(value)


def _read_capacity(values: Any, path: str, bare: bool, unknown: Unknown) -> dict[str, DeviceCapacity]:
    if not isinstance(values, dict):
        wrong(reader.join(path, "capacity"), "an object", values)
    result = {}
    for name, data in values.items():
        if type(data) is dict and len(data) == 1:
            value = data.get("value")
            if type(value) is str:
                found = _capacities.get(value)
                if found is None:
                    at = reader.join(path, f"capacity[{name}].value")
                    found = DeviceCapacity(reader.quantity(value, at))
                    if len(_capacities) < _CACHE_LIMIT:
                        _capacities[value] = found
                result[sys.intern(name)] = found
                continue
        at = reader.join(path, f"capacity[{name}]")
        result[sys.intern(name)] = _capacity(data, at, bare, unknown)
    return result


def _capacity(data: Any, path: str, bare: bool, unknown: Unknown) -> DeviceCapacity:
    if bare and not isinstance(data, dict):
        return DeviceCapacity(reader.quantity(data, path))
    if data is None:
        data = {}
    if not isinstance(data, dict):
        wrong(path, "an object such as {value: ...}", data)
    if not data.keys() <= _CAPACITY:
        _note(unknown, data, _CAPACITY, path)
    policy = reader.opt_obj(data, "requestPolicy", path)
    parsed = None
    if policy is not None:
        at = f"{path}.requestPolicy"
        if not policy.keys() <= _POLICY:
            _note(unknown, policy, _POLICY, at)
        bounds = reader.opt_obj(policy, "validRange", at)
        if bounds is not None and not bounds.keys() <= _RANGE:
            _note(unknown, bounds, _RANGE, f"{at}.validRange")
        parsed = CapacityRequestPolicy(
            default=reader.opt_quantity(policy, "default", at),
            valid_values=[
                reader.quantity(value, f"{at}.validValues[{index}]")
                for index, value in enumerate(reader.items(policy, "validValues", at))
            ],
            valid_range=None
            if bounds is None
            else CapacityRange(
                *(reader.opt_quantity(bounds, key, f"{at}.validRange") for key in ("min", "max", "step"))
            ),
        )
    return DeviceCapacity(reader.quantity(data.get("value"), f"{path}.value"), parsed)


def _counters(item: Json, path: str, unknown: Unknown) -> dict[str, Any]:
    result = {}
    for name, data in reader.obj(item, "counters", path).items():
        at = f"{path}.counters[{name}]"
        if data is None:
            data = {}
        if not isinstance(data, dict):
            wrong(at, "an object such as {value: ...}", data)
        unknown.check(data, _COUNTER, at)
        result[sys.intern(name)] = reader.quantity(data.get("value"), f"{at}.value")
    return result


def _counter_set(item: Json, path: str, unknown: Unknown) -> CounterSet:
    unknown.check(item, _COUNTER_SET, path)
    return CounterSet(sys.intern(text(item, "name", path)), _counters(item, path, unknown))


def _consumption(item: Json, path: str, unknown: Unknown) -> DeviceCounterConsumption:
    unknown.check(item, _CONSUMPTION, path)
    return DeviceCounterConsumption(
        sys.intern(text(item, "counterSet", path)),
        _counters(item, path, unknown),
        texts(item, "compatibilityGroups", path),
    )


def taint(item: Json, path: str, unknown: Unknown) -> DeviceTaint:
    """A device taint; ``rule`` is left empty."""
    unknown.check(item, _TAINT, path)
    return DeviceTaint(
        key=text(item, "key", path),
        value=text(item, "value", path),
        effect=text(item, "effect", path),
        time_added=opt_text(item, "timeAdded", path),
    )
