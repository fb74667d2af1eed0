"""Rules for a device of a ResourceSlice: attributes, counters, nodes; request policies are in ``capacity``."""

from __future__ import annotations

from typing import Any

from dractl.kube import names
from dractl.kube.semver import Semver, SemverError
from dractl.validation.errors import Key, Path
from dractl.validation.gotext import json_string, quote
from dractl.validation.semantic import common
from dractl.validation.semantic import scope as limits
from dractl.validation.semantic.capacity import check_capacity
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
    if not _same(scope, "capacity", item, old, since=37):
        for key, entry in sorted_items(capacity):
            check_capacity(scope, entry, _entry(scope, key, (*path, "capacity")), shared)
    if not _same(scope, "taints", item, old, since=35):
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
    check_node_resources(scope, item.get("nodeAllocatableResources"), capacity, path)


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


def _same(scope: Scope, name: str, item: dict[str, Any], old: dict[str, Any] | None, since: int) -> bool:
    """Whether a field did not change, in a release that then leaves it alone."""
    if old is None or scope.minor < since:
        return False
    field = scope.internal("Device").fields[name]
    return field.type.equal(item.get(name), old.get(name))


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
        text = scope.internal("DeviceAttribute").go_json(attribute)
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


def check_node_resources(scope: Scope, resources: dict[str, Any] | None, capacity: dict[str, Any], path: Path) -> None:
    """nodeAllocatableResources (since 1.37)."""
    errors = scope.errors
    for name, entry in sorted_items(resources or {}):
        at: Path = (*path, "nodeAllocatableResources", Key(name))
        if name not in ("cpu", "memory") and not name.startswith("hugepages-"):
            errors.invalid_text(at, json_string(name), "must be a node allocatable resource name")
        mapping, overhead = entry.get("mapping"), entry.get("overhead")
        if mapping is None and overhead is None:
            errors.required(at, "at least one of mapping or overhead must be set")
        if mapping is not None:
            _check_mapping(scope, mapping, capacity, (*at, "mapping"))
        if overhead is not None:
            _check_overhead(scope, overhead, (*at, "overhead"))


def _check_mapping(scope: Scope, mapping: dict[str, Any], capacity: dict[str, Any], path: Path) -> None:
    errors = scope.errors
    key, multiplier, per_device = (
        mapping.get(name) for name in ("capacityKey", "capacityMultiplier", "deviceMultiplier")
    )
    if key is not None:
        if not key:
            errors.invalid((*path, "capacityKey"), "", "capacityKey must not be an empty string")
        elif key not in capacity:
            errors.not_found((*path, "capacityKey"), json_string(key))
        if multiplier is None:
            errors.required((*path, "capacityMultiplier"), "capacityMultiplier is required when capacityKey is set")
        elif multiplier.nano <= 0:
            errors.invalid((*path, "capacityMultiplier"), str(multiplier), "must be positive")
    if per_device is not None and per_device.nano <= 0:
        errors.invalid((*path, "deviceMultiplier"), str(per_device), "must be positive")
    if multiplier is not None and key is None:
        errors.required((*path, "capacityKey"), "capacityKey is required when capacityMultiplier is set")


def _check_overhead(scope: Scope, overhead: dict[str, Any], path: Path) -> None:
    if "perPod" not in overhead and "perContainer" not in overhead:
        scope.errors.invalid(path, "", "at least one of perPod or perContainer must be set")
    for name in ("perPod", "perContainer"):
        amount = overhead.get(name)
        if amount is not None and amount.nano < 0:
            scope.errors.invalid((*path, name), str(amount), "must be non-negative")
