"""Rules for a device of a ResourceSlice: attributes, capacities and their policies, counters, nodes."""

from __future__ import annotations

from typing import Any

from dractl.kube import names
from dractl.kube.quantity import Quantity
from dractl.kube.semver import Semver, SemverError
from dractl.validation.errors import Key, Path, path_text
from dractl.validation.gotext import json_string, quote
from dractl.validation.semantic import common
from dractl.validation.semantic import scope as limits
from dractl.validation.semantic.scope import Scope, check_list, check_set, shortened, sorted_items

ONE_NODE_FIELD = (
    "exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when `perDeviceNodeSelection` is set to true "
    "in the ResourceSlice spec"
)
NO_NODE_FIELD = (
    "`nodeName`, `nodeSelector` and `allNodes` can only be set if `perDeviceNodeSelection` is set to true "
    "in the ResourceSlice spec"
)
BAD_VERSION = "must be a string compatible with semver.org spec 2.0.0"
SCALARS = ("bool", "int", "string", "version")
LISTS = ("bools", "ints", "strings", "versions")

CounterNames = dict[str, set[str]] | None


def check_device(
    scope: Scope,
    item: dict[str, Any],
    old: dict[str, Any] | None,
    path: Path,
    per_device: bool,
    counters: CounterNames,
) -> None:
    """One device; ``old`` is the device of the same name before, ``counters`` the slice's own (1.34 looks them up)."""
    common.check_label_name(scope, item.get("name", ""), (*path, "name"))
    attributes, capacity = item.get("attributes") or {}, item.get("capacity") or {}
    check_numbers(scope, attributes, capacity, path)
    for key, attribute in sorted_items(attributes):
        at = _entry(scope, key, (*path, "attributes"))
        check_attribute(scope, attribute, at, (*path, "attributes", key))
    shared = bool(item.get("allowMultipleAllocations"))
    for key, entry in sorted_items(capacity):
        check_capacity(scope, entry, _entry(scope, key, (*path, "capacity")), shared)
    if not _same_taints(scope, item, old):
        check_list(
            scope,
            item.get("taints"),
            limits.taints_max(scope.minor),
            lambda taint, at: common.check_taint(scope, taint, at),
            (*path, "taints"),
        )
    check_consumption(scope, item.get("consumesCounters"), path, counters)
    check_node_fields(scope, item, path, per_device)
    common.check_binding_conditions(scope, item, path)
    check_mappings(scope, item.get("nodeAllocatableResourceMappings"), capacity, path)


def check_numbers(scope: Scope, attributes: dict[str, Any], capacity: dict[str, Any], path: Path) -> None:
    """How many attributes, capacities and values a device may have."""
    total = len(attributes) + len(capacity)
    if total > limits.ATTRIBUTES_AND_CAPACITIES_MAX:
        limit = limits.ATTRIBUTES_AND_CAPACITIES_MAX
        scope.errors.invalid(path, total, f"the total number of attributes and capacities must not exceed {limit}")
    if scope.minor >= 36:
        values = 0
        for attribute in attributes.values():
            values += sum(len(attribute.get(name) or ()) for name in LISTS) or 1
        if values > limits.ATTRIBUTE_VALUES_MAX:
            limit = limits.ATTRIBUTE_VALUES_MAX
            scope.errors.invalid(path, values, f"the total number of attribute values must not exceed {limit}")


def _entry(scope: Scope, key: str, path: Path) -> Path:
    """Check the key of an entry and give the path of the entry, with the key cut where it is long."""
    at: Path = (*path, Key(shortened(key, limits.ATTRIBUTE_KEY_SHOWN)))
    common.check_qualified_name(scope, key, path if scope.minor >= 36 else at, (*path, key))
    return at


def _same_taints(scope: Scope, item: dict[str, Any], old: dict[str, Any] | None) -> bool:
    if old is None or scope.minor < 35:
        return False
    field = scope.types.struct("resource/v1.Device").fields["taints"]
    return field.type.equal(item.get("taints"), old.get("taints"))


def check_attribute(scope: Scope, attribute: dict[str, Any], path: Path, at: Path) -> None:
    """Exactly one value of a known type."""
    errors = scope.errors
    given = sum(name in attribute for name in (*SCALARS, *LISTS))
    if "string" in attribute:
        check_string(scope, attribute["string"], (*path, "string"))
    if "version" in attribute:
        check_version(scope, attribute["version"], (*path, "version"))
    for name in LISTS:
        values = attribute.get(name)
        if values is None:
            continue
        if not values:
            errors.invalid_text((*path, name), "[]", "must not be empty if specified")
        for index, value in enumerate(values):
            if name == "strings":
                check_string(scope, value, (*path, name, index))
            elif name == "versions":
                check_version(scope, value, (*path, name, index))
    if given == 0 and scope.minor < 35:
        errors.required(path, "exactly one value must be specified", at)
    elif given == 0:
        errors.invalid(path, "", "exactly one value must be specified", at)
    elif given > 1:
        text = scope.types.struct("resource/v1.DeviceAttribute").go_json(attribute)
        errors.invalid_text(path, text, "exactly one value must be specified", at)


def check_string(scope: Scope, value: str, path: Path) -> None:
    """A string value."""
    if names.byte_length(value) > limits.ATTRIBUTE_VALUE_MAX:
        scope.errors.too_long(path, limits.ATTRIBUTE_VALUE_MAX)


def check_version(scope: Scope, value: str, path: Path) -> None:
    """A semantic version."""
    try:
        Semver.parse(value)
    except SemverError:
        scope.errors.invalid(path, value, BAD_VERSION)
    check_string(scope, value, path)


# --- capacity and its request policy --------------------------------------------------------------------------------


def check_capacity(scope: Scope, capacity: dict[str, Any], path: Path, shared: bool) -> None:
    """A capacity; a policy needs a device that may be allocated more than once."""
    policy = capacity.get("requestPolicy")
    if policy is None:
        return
    at: Path = (*path, "requestPolicy")
    if not shared:
        scope.errors.forbidden(at, "allowMultipleAllocations must be true")
        return
    total = capacity.get("value") or Quantity(0)
    values, valid_range, default = policy.get("validValues"), policy.get("validRange"), policy.get("default")
    if values and valid_range is not None:
        detail = 'exactly one policy can be specified, cannot specify "validValues" and "validRange" at the same time'
        scope.errors.forbidden(at, detail)
    elif values:
        if default is None:
            scope.errors.required((*at, "default"), "required when validValues is defined")
        else:
            check_valid_values(scope, default, total, values, (*at, "validValues"))
    elif valid_range is not None:
        if default is None:
            scope.errors.required((*at, "default"), "required when validRange is defined")
        else:
            check_valid_range(scope, default, total, valid_range, (*at, "validRange"))


def check_valid_values(scope: Scope, default: Quantity, total: Quantity, values: list[Quantity], path: Path) -> None:
    """A closed list of amounts, in ascending order, that has the default."""
    errors = scope.errors
    for index in range(len(values) - 1):
        if values[index] > values[index + 1]:
            detail = "values must be sorted in ascending order"
            errors.invalid((*path, index + 1), str(values[index + 1]), detail)

    def check_value(value: Quantity, at: Path) -> None:
        if value > total:
            errors.invalid(at, str(value), f"option is larger than capacity value: {total}")

    check_set(
        scope, values, limits.VALID_VALUES_MAX, check_value, _value_key, lambda v: quote(str(_value_key(v))), path
    )
    looked_at = len(values) <= limits.VALID_VALUES_MAX or scope.minor < 35
    if not (looked_at and default in values):
        errors.invalid(path, str(default), "default value is not valid according to the requestPolicy")


def _value_key(value: Quantity) -> int:
    return go_int64(value.value())


def go_int64(value: int) -> int:
    """A number as it wraps around in an int64."""
    return (value + (1 << 63)) % (1 << 64) - (1 << 63)


def check_valid_range(scope: Scope, default: Quantity, total: Quantity, given: dict[str, Any], path: Path) -> None:
    """A range of amounts, optionally in steps."""
    errors = scope.errors
    low, high, step = given.get("min"), given.get("max"), given.get("step")
    if low is None:
        errors.required((*path, "min"), "required when validRange is defined")
        return
    if low > total:
        errors.invalid((*path, "min"), str(low), f"min is larger than capacity value: {total}")
    if default < low:
        errors.invalid((*path, "min"), str(default), f"default is less than min: {low}")
    if high is not None:
        if low > high:
            errors.invalid((*path, "max"), str(low), f"min is larger than max: {high}")
        if high > total:
            errors.invalid((*path, "max"), str(high), f"max is larger than capacity value: {total}")
        if default > high:
            errors.invalid((*path, "max"), str(default), f"default is more than max: {high}")
    if step is not None:
        after = low + step
        if after > total:
            errors.invalid((*path, "step"), str(step), f"one step {after} is larger than capacity value: {total}")
        check_step(scope, default, low, step, (*path, "step"))
        if high is not None:
            check_step(scope, high, low, step, (*path, "step"))


def check_step(scope: Scope, value: Quantity, low: Quantity, step: Quantity, path: Path) -> None:
    """Whether a value is a whole number of steps above the minimum, in rounded int64 arithmetic."""
    width = go_int64(step.value())
    if width == 0:
        scope.crash = f"{path_text(path)}: a step of {step} makes the server divide by zero"
        return
    if go_int64(go_int64(value.value()) - go_int64(low.value())) % abs(width):
        detail = f"value is not a multiple of a given step ({step}) from ({low})"
        scope.errors.invalid(path, str(value), detail)


# --- counters, nodes, node resources --------------------------------------------------------------------------------


def check_consumption(scope: Scope, uses: list[dict[str, Any]] | None, path: Path, counters: CounterNames) -> None:
    """What the device takes from counter sets."""
    if not uses:
        return
    at: Path = (*path, "consumesCounters")
    check_set(
        scope,
        uses,
        limits.CONSUMPTIONS_MAX if scope.minor >= 35 else -1,
        lambda use, where: _check_use(scope, use, where),
        lambda use: use.get("counterSet", ""),
        lambda use: quote(use.get("counterSet", "")),
        at,
        "counterSet",
    )
    if counters is not None:
        _check_uses_1_34(scope, uses, path, counters)


def _check_use(scope: Scope, use: dict[str, Any], path: Path) -> None:
    name = use.get("counterSet", "")
    if not name:
        scope.errors.required((*path, "counterSet"))
    elif scope.minor >= 35:
        common.check_label_name(scope, name, (*path, "counterSet"))
    at: Path = (*path, "counters")
    counters = use.get("counters")
    if not counters:
        scope.errors.required(at)
    elif scope.minor >= 35 and len(counters) > limits.COUNTERS_MAX:
        scope.errors.too_many(at, len(counters), limits.COUNTERS_MAX)
    else:
        for key, _ in sorted_items(counters):
            where: Path = at if scope.minor >= 36 else (*at, Key(shortened(key, limits.COUNTER_KEY_SHOWN)))
            scope.errors.invalid_each(where, key, names.dns_label_errors(key), (*at, key))


def _check_uses_1_34(scope: Scope, uses: list[dict[str, Any]], path: Path, known: dict[str, set[str]]) -> None:
    """1.34 limits the counters of a device and looks them up in the same slice."""
    total = sum(len(use.get("counters") or ()) for use in uses)
    if total > limits.COUNTERS_1_34_MAX:
        detail = f"the total number of counters must not exceed {limits.COUNTERS_1_34_MAX}"
        scope.errors.invalid(path, total, detail)
    for index, use in enumerate(uses):
        at: Path = (*path, "consumesCounters", index)
        name = use.get("counterSet", "")
        if name not in known:
            detail = "must reference a counterSet defined in the ResourceSlice sharedCounters"
            scope.errors.invalid((*at, "counterSet"), name, detail)
            continue
        for key, _ in sorted_items(use.get("counters") or {}):
            if key not in known[name]:
                detail = "must reference a counter defined in the ResourceSlice sharedCounters"
                scope.errors.invalid((*at, "counters"), key, detail, (*at, "counters", key))


def check_node_fields(scope: Scope, item: dict[str, Any], path: Path, per_device: bool) -> None:
    """Nodes of the device itself, where the slice leaves them to its devices."""
    errors = scope.errors
    node, selector, everywhere = item.get("nodeName"), item.get("nodeSelector"), item.get("allNodes")
    if not per_device:
        if node is not None or selector is not None or everywhere is not None:
            errors.invalid_text(path, "null", NO_NODE_FIELD)
        return
    given = []
    if node:
        given.append("`nodeName`")
        common.check_node_name(scope, node, (*path, "nodeName"))
    elif node is not None:
        errors.invalid((*path, "nodeName"), node, "must not be empty")
    if selector is not None:
        given.append("`nodeSelector`")
        common.check_node_selector(scope, selector, (*path, "nodeSelector"))
    if everywhere:
        given.append("`allNodes`")
    elif everywhere is not None:
        errors.invalid((*path, "allNodes"), False, "must be either unset or set to true")
    if not given:
        errors.required(path, ONE_NODE_FIELD)
    elif len(given) > 1:
        errors.invalid(path, f"{{{', '.join(given)}}}", ONE_NODE_FIELD)


def check_mappings(scope: Scope, mappings: dict[str, Any] | None, capacity: dict[str, Any], path: Path) -> None:
    """nodeAllocatableResourceMappings (1.36 only)."""
    for name, mapping in sorted_items(mappings or {}):
        at: Path = (*path, "nodeAllocatableResourceMappings", Key(name))
        if not names.is_native_resource(name):
            scope.errors.invalid_text(at, json_string(name), "must be a node allocatable resource name")
        multiplier, key = mapping.get("allocationMultiplier"), mapping.get("capacityKey")
        if multiplier is None and key is None:
            scope.errors.invalid(at, "", "at least one of allocationMultiplier or capacityKey must be set")
            continue
        if multiplier is not None and multiplier.nano <= 0:
            scope.errors.invalid((*at, "allocationMultiplier"), str(multiplier), "must be positive")
        if key == "":
            scope.errors.invalid((*at, "capacityKey"), "", "capacityKey must not be an empty string")
        elif key is not None and key not in capacity:
            scope.errors.not_found((*at, "capacityKey"), json_string(key))
