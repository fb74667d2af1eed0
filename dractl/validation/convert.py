"""Conversion between the served versions and the internal form, which looks like v1, as the API server does it.

v1 and v1beta2 are the internal form. v1beta1 and v1alpha3 have the fields of a request beside its name, and those of a
device under ``basic``; v1alpha3's capacities are bare quantities. Paths of the internal form lead back to the object as
it was written by ``original_path``.
"""

from __future__ import annotations

from typing import Any

from dractl.validation.errors import Path

Json = dict[str, Any]

FLAT_VERSIONS = ("resource.k8s.io/v1beta1", "resource.k8s.io/v1alpha3")
BARE_CAPACITY_VERSION = "resource.k8s.io/v1alpha3"

REQUEST_FIELDS = (
    "deviceClassName",
    "selectors",
    "allocationMode",
    "count",
    "adminAccess",
    "tolerations",
    "capacity",
    "derivedAttributes",
)
DEVICE_MAPS = ("attributes", "capacity")
LISTS_LOST_WHEN_EMPTY = ("consumesCounters", "taints")


def to_internal(api_version: str, kind: str, obj: Json) -> Json:
    """The internal form of a decoded object with defaults; parts may be shared with ``obj``."""
    if api_version not in FLAT_VERSIONS:
        return obj
    if kind == "ResourceClaim" and "spec" in obj:
        return {**obj, "spec": _spec_to_internal(obj["spec"])}
    if kind == "ResourceClaimTemplate" and "spec" in obj.get("spec", {}):
        outer = obj["spec"]
        return {**obj, "spec": {**outer, "spec": _spec_to_internal(outer["spec"])}}
    if kind == "ResourceSlice" and "spec" in obj:
        return {**obj, "spec": _slice_to_internal(obj["spec"], api_version == BARE_CAPACITY_VERSION)}
    return obj


def from_internal(api_version: str, kind: str, obj: Json) -> Json:
    """The object as a version stores and shows it."""
    if api_version not in FLAT_VERSIONS:
        return obj
    if kind == "ResourceClaim" and "spec" in obj:
        return {**obj, "spec": _spec_from_internal(obj["spec"])}
    if kind == "ResourceClaimTemplate" and "spec" in obj.get("spec", {}):
        outer = obj["spec"]
        return {**obj, "spec": {**outer, "spec": _spec_from_internal(outer["spec"])}}
    if kind == "ResourceSlice" and "spec" in obj:
        return {**obj, "spec": _slice_from_internal(obj["spec"], api_version == BARE_CAPACITY_VERSION)}
    return obj


def _spec_to_internal(spec: Json) -> Json:
    requests = spec.get("devices", {}).get("requests")
    if not requests:
        return spec
    return {**spec, "devices": {**spec["devices"], "requests": [_request_to_internal(r) for r in requests]}}


def _request_to_internal(request: Json) -> Json:
    """Any field of the flat form makes an ``exactly``, even ``adminAccess: false`` and an empty list."""
    out = {name: value for name, value in request.items() if name not in REQUEST_FIELDS}
    exactly = {name: request[name] for name in REQUEST_FIELDS if name in request}
    for name in ("deviceClassName", "allocationMode", "count"):
        if name in exactly and not exactly[name]:
            del exactly[name]
    if exactly:
        if exactly.get("tolerations") == []:
            del exactly["tolerations"]
        out["exactly"] = exactly
    return out


def _spec_from_internal(spec: Json) -> Json:
    requests = spec.get("devices", {}).get("requests")
    if not requests:
        return spec
    flat = []
    for request in requests:
        rest = {name: value for name, value in request.items() if name != "exactly"}
        flat.append({**rest, **request.get("exactly", {})})
    return {**spec, "devices": {**spec["devices"], "requests": flat}}


def _slice_to_internal(spec: Json, bare: bool) -> Json:
    out = dict(spec)
    for name in ("nodeName", "allNodes"):
        if name in out and not out[name]:
            del out[name]
    if spec.get("devices"):
        out["devices"] = [_device_to_internal(device, bare) for device in spec["devices"]]
    return out


def _device_to_internal(device: Json, bare: bool) -> Json:
    out = {name: value for name, value in device.items() if name != "basic"}
    basic: Json = device.get("basic", {})
    for name, value in basic.items():
        if (name in DEVICE_MAPS or name in LISTS_LOST_WHEN_EMPTY) and not value:
            continue
        if name == "capacity" and bare:
            value = {key: {"value": amount} for key, amount in value.items()}
        out[name] = value
    return out


def _slice_from_internal(spec: Json, bare: bool) -> Json:
    out = dict(spec)
    if spec.get("devices") is not None:
        out["devices"] = [_device_from_internal(device, bare) for device in spec["devices"]]
    return out


def _device_from_internal(device: Json, bare: bool) -> Json:
    basic = {name: value for name, value in device.items() if name != "name" and (value or name not in DEVICE_MAPS)}
    if bare and "capacity" in basic:
        basic["capacity"] = {key: capacity.get("value") for key, capacity in basic["capacity"].items()}
    out: Json = {"basic": basic}
    if "name" in device:
        out["name"] = device["name"]
    return out


def original_path(api_version: str, kind: str, path: Path) -> Path:
    """The place in the object as written of a path in the internal form."""
    if api_version not in FLAT_VERSIONS:
        return path
    if kind in ("ResourceClaim", "ResourceClaimTemplate"):
        return tuple(part for part in path if part != "exactly")
    if kind == "ResourceSlice" and path[:2] == ("spec", "devices") and len(path) > 3 and path[3] != "name":
        path = (*path[:3], "basic", *path[3:])
        if api_version == BARE_CAPACITY_VERSION and path[4] == "capacity" and len(path) > 6 and path[6] == "value":
            return path[:6]
    return path
