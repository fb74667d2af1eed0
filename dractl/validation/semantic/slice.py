"""Rules for ResourceSlice: pool, nodes, shared counters; the devices are in ``device``."""

from __future__ import annotations

from typing import Any

from dractl.kube import names
from dractl.validation.errors import Key, Path
from dractl.validation.gotext import json_string, json_text, quote
from dractl.validation.semantic import common, device, meta
from dractl.validation.semantic import scope as limits
from dractl.validation.semantic.scope import Scope, check_set, sorted_items

SPEC: Path = ("spec",)
ONE_NODE_FIELD = "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required"
LIST_FIELDS = ("ints", "bools", "strings", "versions")


def check(scope: Scope, obj: dict[str, Any]) -> None:
    """A new slice."""
    meta.check_metadata(scope.errors, obj["metadata"], names.dns_subdomain_errors, False, scope.types)
    check_spec(scope, obj.get("spec", {}), None)


def check_update(scope: Scope, obj: dict[str, Any], old: dict[str, Any]) -> None:
    """A changed slice: driver, pool name and node name must be the same; all else is checked again."""
    meta.check_metadata_update(scope.errors, obj["metadata"], old["metadata"], scope.types)
    check_spec(scope, obj.get("spec", {}), old.get("spec", {}))


def warnings(obj: dict[str, Any], minor: int) -> list[str]:
    """What the server says although it accepts the slice."""
    driver = obj.get("spec", {}).get("driver", "")
    if driver != names.lower(driver) and minor >= 35:
        shown = quote(driver)
        return [f"spec.driver: driver names should be lowercase; {shown} contains uppercase characters"]
    return []


def check_spec(scope: Scope, spec: dict[str, Any], old: dict[str, Any] | None) -> None:
    """The whole spec."""
    common.check_driver(scope, spec.get("driver", ""), (*SPEC, "driver"))
    check_pool(scope, spec.get("pool", {}))
    if old is not None:
        check_unchanged(scope, spec, old)
    check_node_fields(scope, spec)
    counters, devices = spec.get("sharedCounters"), spec.get("devices")
    if counters is not None and devices is not None and scope.minor >= 35:
        scope.errors.invalid(SPEC, "", "only one of `sharedCounters` or `devices` is allowed")
    if devices:
        check_devices(scope, spec, old)
    if counters:
        check_counter_sets(scope, counters)
    if "partitionTypeAttribute" in spec:
        check_partition_type(scope, spec, spec["partitionTypeAttribute"])
    check_skipped_operations(scope, spec.get("skipNodeOperations"), (*SPEC, "skipNodeOperations"))


def check_pool(scope: Scope, pool: dict[str, Any]) -> None:
    """Name, number of slices, generation."""
    path: Path = (*SPEC, "pool")
    common.check_pool_name(scope, pool.get("name", ""), (*path, "name"))
    if pool.get("resourceSliceCount", 0) <= 0:
        count = pool.get("resourceSliceCount", 0)
        scope.errors.invalid((*path, "resourceSliceCount"), count, "must be greater than zero")
    if pool.get("generation", 0) < 0:
        scope.errors.invalid((*path, "generation"), pool["generation"], "must be greater than or equal to zero")


def check_unchanged(scope: Scope, spec: dict[str, Any], old: dict[str, Any]) -> None:
    """What identifies the slice's pool and node."""
    name = spec.get("pool", {}).get("name", "")
    if name != old.get("pool", {}).get("name", ""):
        scope.errors.invalid((*SPEC, "pool", "name"), name, meta.IMMUTABLE)
    driver = spec.get("driver", "")
    if driver != old.get("driver", ""):
        scope.errors.invalid((*SPEC, "driver"), driver, meta.IMMUTABLE)
    node = spec.get("nodeName")
    if node != old.get("nodeName"):
        text = "null" if node is None else json_string(node)
        scope.errors.invalid_text((*SPEC, "nodeName"), text, meta.IMMUTABLE)


def check_node_fields(scope: Scope, spec: dict[str, Any]) -> None:
    """Exactly one way to say which nodes have the devices."""
    errors = scope.errors
    given = []
    node = spec.get("nodeName")
    if node:
        given.append("`nodeName`")
        common.check_node_name(scope, node, (*SPEC, "nodeName"))
    elif node is not None:
        errors.invalid((*SPEC, "nodeName"), node, "must be either unset or set to a non-empty string")
    selector = spec.get("nodeSelector")
    if selector is not None:
        given.append("`nodeSelector`")
        common.check_node_selector(scope, selector, (*SPEC, "nodeSelector"))
        terms = selector.get("nodeSelectorTerms")
        if terms is None or len(terms) != 1:
            text = scope.types.get("[]core/v1.NodeSelectorTerm").go_json(terms)
            path: Path = (*SPEC, "nodeSelector", "nodeSelectorTerms")
            errors.invalid_text(path, text, "must have exactly one node selector term")
    for name in ("allNodes", "perDeviceNodeSelection"):
        value = spec.get(name)
        if value:
            given.append(f"`{name}`")
        elif value is not None:
            errors.invalid((*SPEC, name), False, "must be either unset or set to true")
    if not given:
        errors.required(SPEC, ONE_NODE_FIELD)
    elif len(given) > 1:
        errors.invalid(SPEC, f"{{{', '.join(given)}}}", f"{ONE_NODE_FIELD}, but multiple fields are set")


def check_devices(scope: Scope, spec: dict[str, Any], old: dict[str, Any] | None) -> None:
    """All devices; their number depends on what they use."""
    devices: list[dict[str, Any]] = spec["devices"]
    limit = limits.DEVICES_MAX
    if scope.minor >= 35 and any(map(_advanced, devices)):
        limit = limits.DEVICES_ADVANCED_MAX
    before: dict[str, dict[str, Any]] = {}
    for item in reversed((old or {}).get("devices") or ()):
        before[item.get("name", "")] = item
    per_device = bool(spec.get("perDeviceNodeSelection"))
    counters = _counter_names(spec.get("sharedCounters") or ()) if scope.minor < 35 else None
    check_set(
        scope,
        devices,
        limit,
        lambda item, path: device.check_device(
            scope, item, before.get(item.get("name", "")), path, per_device, counters
        ),
        lambda item: item.get("name", ""),
        lambda item: quote(item.get("name", "")),
        (*SPEC, "devices"),
        "name",
    )
    if scope.minor < 35:
        total = sum(len(use.get("counters") or ()) for item in devices for use in item.get("consumesCounters") or ())
        if total > limits.SLICE_COUNTERS_1_34_MAX:
            detail = f"the total number of counters in devices must not exceed {limits.SLICE_COUNTERS_1_34_MAX}"
            scope.errors.invalid((*SPEC, "devices"), total, detail)


def _advanced(item: dict[str, Any]) -> bool:
    """Whether a device uses what halves the number of devices in a slice."""
    if item.get("taints") or item.get("consumesCounters"):
        return True
    attributes = item.get("attributes") or {}
    return any(field in attribute for attribute in attributes.values() for field in LIST_FIELDS)


def _counter_names(sets: Any) -> dict[str, set[str]]:
    return {item.get("name", ""): set(item.get("counters") or ()) for item in sets}


def check_counter_sets(scope: Scope, sets: list[dict[str, Any]]) -> None:
    """Shared counters of the pool."""
    path: Path = (*SPEC, "sharedCounters")
    limit = limits.COUNTER_SETS_MAX
    if scope.minor < 35:
        limit = -1
        total = sum(len(item.get("counters") or ()) for item in sets)
        if total > limits.COUNTERS_1_34_MAX:
            detail = f"the total number of shared counters must not exceed {limits.COUNTERS_1_34_MAX}"
            scope.errors.invalid(path, total, detail)
    check_set(
        scope,
        sets,
        limit,
        lambda item, at: _check_counter_set(scope, item, at),
        lambda item: item.get("name", ""),
        lambda item: quote(item.get("name", "")),
        path,
        "name",
    )


def _check_counter_set(scope: Scope, item: dict[str, Any], path: Path) -> None:
    name = item.get("name", "")
    if not name:
        scope.errors.required((*path, "name"))
    else:
        common.check_label_name(scope, name, (*path, "name"))
    check_counters(scope, item.get("counters"), (*path, "counters"))


def check_counters(scope: Scope, counters: dict[str, Any] | None, path: Path) -> None:
    """Named counters; any quantity is good."""
    if not counters:
        scope.errors.required(path)
        return
    if scope.minor >= 35 and len(counters) > limits.COUNTERS_MAX:
        scope.errors.too_many(path, len(counters), limits.COUNTERS_MAX)
        return
    for key, _ in sorted_items(counters):
        at: Path = path if scope.minor >= 36 else (*path, Key(limits.shortened(key, limits.COUNTER_KEY_SHOWN)))
        scope.errors.invalid_each(at, key, names.dns_label_errors(key), (*path, key))


def check_partition_type(scope: Scope, spec: dict[str, Any], name: str) -> None:
    """Devices that consume counters must have the attribute that tells their type (since 1.37)."""
    errors = scope.errors
    users = [(index, item) for index, item in enumerate(spec.get("devices") or ()) if item.get("consumesCounters")]
    path: Path = (*SPEC, "partitionTypeAttribute")
    if not users:
        errors.invalid(path, name, "may only be set on a slice which declares devices that consume counters")
        return
    probe = Scope(scope.minor, scope.gates, scope.types)
    common.check_fully_qualified_name(probe, name, path)
    if probe.errors.causes:
        return  # the declarative rules say so
    bare = name.removeprefix(f"{spec.get('driver', '')}/")
    for index, item in users:
        attributes = item.get("attributes") or {}
        at: Path = (*SPEC, "devices", index, "attributes", Key(name))
        attribute = attributes.get(name, attributes.get(bare))
        place: Path = (*SPEC, "devices", index, "attributes", name if name in attributes else bare)
        if attribute is None:
            detail = "device consumes counters and `partitionTypeAttribute` names this attribute, so it must be set"
            errors.required(at, detail, place[:-1])
        elif "string" not in attribute:
            text = scope.internal("DeviceAttribute").go_json(attribute)
            errors.invalid_text(at, text, NEEDS_STRING, place)


NEEDS_STRING = "must be a string value because `partitionTypeAttribute` names this attribute"


def check_skipped_operations(scope: Scope, skipped: list[str] | None, path: Path) -> None:
    """The kubelet undoes what it prepared, so preparing alone cannot be left out (since 1.37)."""
    chosen = set(skipped or ())
    if "NodePrepareResources" in chosen and not chosen & {"NodeUnprepareResources", "*"}:
        detail = "NodePrepareResources cannot be skipped unless NodeUnprepareResources is also skipped"
        scope.errors.invalid_text(path, json_text(skipped), detail)
