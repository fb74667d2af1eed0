"""Create the objects of the demo fleet, with their status, in a running control plane."""

from __future__ import annotations

import copy
from typing import Any

from tests.cluster.server import PLURALS
from tests.envtest.controlplane import ControlPlane

ORDER = (
    "Namespace", "Node", "DeviceClass", "ResourceSlice", "DeviceTaintRule", "ResourceClaimTemplate", "Pod",
    "ResourceClaim", "Event",
)  # fmt: skip
_SERVERS = ("uid", "resourceVersion", "creationTimestamp", "generation", "managedFields")


def create_fleet(plane: ControlPlane, items: list[dict[str, Any]]) -> list[str]:
    """Create everything; returns what this release does not serve or does not take, with its answer."""
    uids: dict[str, str] = {}
    refused: list[str] = []
    served = {entry["name"] for version in _versions(plane) for entry in _resources(plane, version)}
    for kind in ORDER:
        for item in (item for item in items if item["kind"] == kind):
            if item["apiVersion"].startswith("resource.k8s.io") and PLURALS[kind][1] not in served:
                refused.append(f"{kind}: not served")
                continue
            try:
                _create(plane, _with_uids(item, uids), uids)
            except RuntimeError as error:
                if "409" not in str(error):
                    refused.append(f"{kind} {item['metadata']['name']}: {error}")
    return refused


def _versions(plane: ControlPlane) -> list[str]:
    return [item["groupVersion"] for item in plane.request("GET", "/apis/resource.k8s.io")["versions"]]


def _resources(plane: ControlPlane, version: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = plane.request("GET", f"/apis/{version}")["resources"]
    return found


def _create(plane: ControlPlane, item: dict[str, Any], uids: dict[str, str]) -> None:
    group, plural, namespaced = PLURALS[item["kind"]]
    version = item["apiVersion"]
    base = f"/apis/{version}" if group else f"/api/{version}"
    meta = item["metadata"]
    path = f"{base}/namespaces/{meta['namespace']}/{plural}" if namespaced else f"{base}/{plural}"
    old = meta.get("uid", "")
    body = {**item, "metadata": {key: value for key, value in meta.items() if key not in _SERVERS}}
    status = body.pop("status", None)
    made = plane.request("POST", path, body)
    uids[old] = made["metadata"]["uid"]
    if status and item["kind"] in ("Node", "Pod", "ResourceClaim"):
        plane.request("PUT", f"{path}/{meta['name']}/status", {**made, "status": status})


def _with_uids(value: Any, uids: dict[str, str]) -> Any:
    """Owners and consumers under the identifiers that the new objects got."""
    if isinstance(value, dict):
        return {
            key: uids.get(item, item) if key == "uid" and isinstance(item, str) else _with_uids(item, uids)
            for key, item in value.items()
        }
    if isinstance(value, list):
        return [_with_uids(item, uids) for item in value]
    return copy.copy(value)
