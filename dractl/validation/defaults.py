"""Defaults that the API server sets before it checks an object, for the DRA kinds of each version.

Functions change a decoded object in place. The server's clock is not at hand: a time that it would set to now is the
text given by the caller.
"""

from __future__ import annotations

from typing import Any

from dractl.kube.quantity import Quantity
from dractl.validation.convert import FLAT_VERSIONS

Json = dict[str, Any]


def set_defaults(api_version: str, kind: str, obj: Json, now: str, minor: int) -> None:
    """Defaults of a DRA object in the version that it was written in."""
    spec = obj.get("spec")
    if kind == "ResourceClaim":
        if spec:
            _claim_spec(api_version, spec)
        for result in obj.get("status", {}).get("allocation", {}).get("devices", {}).get("results") or ():
            _tolerations(result)
    elif kind == "ResourceClaimTemplate":
        if spec and spec.get("spec"):
            _claim_spec(api_version, spec["spec"])
    elif kind == "ResourceSlice":
        for device in (spec or {}).get("devices") or ():
            _device(device.get("basic", {}) if api_version in FLAT_VERSIONS else device, now)
    elif kind == "DeviceTaintRule":
        _taint(obj.setdefault("spec", {}).setdefault("taint", {}), now)
    elif kind == "ResourcePoolStatusRequest":
        obj.setdefault("spec", {}).setdefault("limit", 100)


def _claim_spec(api_version: str, spec: Json) -> None:
    flat = api_version in FLAT_VERSIONS
    for request in spec.get("devices", {}).get("requests") or ():
        if flat:
            if request.get("deviceClassName"):
                _count(request)
            _tolerations(request)
        elif "exactly" in request:
            _count(request["exactly"])
            _tolerations(request["exactly"])
        for alternative in request.get("firstAvailable") or ():
            _count(alternative)
            _tolerations(alternative)


def _count(request: Json) -> None:
    if not request.get("allocationMode"):
        request["allocationMode"] = "ExactCount"
    if request["allocationMode"] == "ExactCount" and not request.get("count"):
        request["count"] = 1


def _tolerations(holder: Json) -> None:
    for toleration in holder.get("tolerations") or ():
        if not toleration.get("operator"):
            toleration["operator"] = "Equal"


def _device(device: Json, now: str) -> None:
    for taint in device.get("taints") or ():
        _taint(taint, now)
    for mapping in (device.get("nodeAllocatableResourceMappings") or {}).values():
        mapping.setdefault("allocationMultiplier", Quantity(10**9))


def _taint(taint: Json, now: str) -> None:
    taint.setdefault("timeAdded", now)
