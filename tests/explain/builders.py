"""Small clusters in a few lines: objects as the API server writes them, read by dractl's own decoder."""

from __future__ import annotations

from typing import Any

from dractl.allocator.profile import Profile
from dractl.explain.claim import Question
from dractl.inventory import Inventory, Provenance, Release
from dractl.kube.decode import decode

TIME = "2026-12-01T06:00:00Z"
GPU = "gpu.example.com"
NIC = "nic.example.com"

Json = dict[str, Any]


def node(name: str, *, labels: Json | None = None, taints: list[Json] | None = None, cordon: bool = False,
         allocatable: Json | None = None) -> Json:
    """A ready node."""
    spec: Json = {}
    if taints:
        spec["taints"] = taints
    if cordon:
        spec["unschedulable"] = True
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, **(labels or {})}},
        "spec": spec,
        "status": {
            "allocatable": {"cpu": "8", "memory": "32Gi", "pods": "110", **(allocatable or {})},
            "conditions": [{"type": "Ready", "status": "True", "lastHeartbeatTime": TIME}],
        },
    }


def attributes(values: Json) -> Json:
    """Attributes by their Python types; versions as ``("version", text)``."""
    out = {}
    for name, value in values.items():
        if isinstance(value, tuple):
            out[name] = {value[0]: value[1]}
        elif isinstance(value, bool):
            out[name] = {"bool": value}
        elif isinstance(value, int):
            out[name] = {"int": value}
        else:
            out[name] = {"string": value}
    return out


def device(name: str, attrs: Json | None = None, capacity: Json | None = None, **more: Any) -> Json:
    """A device; ``more`` holds further fields as the API names them."""
    out: Json = {"name": name, "attributes": attributes(attrs or {}), **more}
    if capacity:
        out["capacity"] = {
            key: value if isinstance(value, dict) else {"value": value} for key, value in capacity.items()
        }
    return out


def slice_(pool: str, devices: list[Json], *, driver: str = GPU, on: str | None = None, generation: int = 1,
           count: int = 1, name: str = "", **spec: Any) -> Json:
    """A slice of a pool, for the node of the pool's name unless told otherwise."""
    where: Json = {} if any(key in spec for key in ("nodeSelector", "allNodes", "perDeviceNodeSelection")) else {
        "nodeName": on or pool
    }
    body: Json = {
        "driver": driver,
        "pool": {"name": pool, "generation": generation, "resourceSliceCount": count},
        **where,
        **spec,
    }
    if devices:
        body["devices"] = devices
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": name or f"{pool}-{driver}-{generation}"},
        "spec": body,
    }


def class_(name: str, *expressions: str) -> Json:
    """A DeviceClass; without expressions it selects the driver of its name."""
    chosen = expressions or (f"device.driver == '{name}'",)
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": {"name": name},
        "spec": {"selectors": [{"cel": {"expression": one}} for one in chosen]},
    }


def request(name: str, class_name: str = GPU, *selectors: str, count: int | None = 1, **more: Any) -> Json:
    """An exact request; a count of None asks for all."""
    mode: Json = {"allocationMode": "All"} if count is None else {"allocationMode": "ExactCount", "count": count}
    exact: Json = {"deviceClassName": class_name, **mode, **more}
    if selectors:
        exact["selectors"] = [{"cel": {"expression": one}} for one in selectors]
    return {"name": name, "exactly": exact}


def claim(name: str, *requests: Json, constraints: list[Json] | None = None, results: list[Json] | None = None,
          on: str | None = None, reserved: list[Json] | None = None, namespace: str = "ns", **meta: Any) -> Json:
    """A claim; with ``results`` it is allocated (``(request, driver, pool, device)`` as objects)."""
    body: Json = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": name, "namespace": namespace, "uid": f"uid-{name}", "creationTimestamp": TIME, **meta},
        "spec": {"devices": {"requests": list(requests), "constraints": constraints or []}},
        "status": {},
    }
    if results is not None:
        allocation: Json = {"devices": {"results": results}}
        if on is not None:
            field = {"key": "metadata.name", "operator": "In", "values": [on]}
            allocation["nodeSelector"] = {"nodeSelectorTerms": [{"matchFields": [field]}]}
        body["status"] = {"allocation": allocation, "reservedFor": reserved or []}
    return body


def result(request_name: str, pool: str, device_name: str, driver: str = GPU, **more: Any) -> Json:
    """One result of an allocation."""
    return {"request": request_name, "driver": driver, "pool": pool, "device": device_name, **more}


def held(name: str, pool: str, device_name: str, driver: str = GPU, class_name: str = GPU, **meta: Any) -> list[Json]:
    """A claim that has one device, and its running pod of the same name."""
    consumer = {"resource": "pods", "name": name, "uid": f"uid-pod-{name}"}
    return [
        claim(name, request("r", class_name), results=[result("r", pool, device_name, driver)], on=pool,
              reserved=[consumer], **meta),
        pod(name, name, on=pool),
    ]


def pod(name: str, *claims: str, on: str | None = None, namespace: str = "ns", **spec: Any) -> Json:
    """A pod that names claims; running where it is on a node."""
    body: Json = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace, "uid": f"uid-pod-{name}", "creationTimestamp": TIME},
        "spec": {
            "containers": [{"name": "main", "image": "registry.example/app:1"}],
            "resourceClaims": [{"name": f"c{index}", "resourceClaimName": one} for index, one in enumerate(claims)],
            **spec,
        },
        "status": {"phase": "Running" if on else "Pending"},
    }
    if on:
        body["spec"]["nodeName"] = on
    return body


def cluster(*objects: Json | list[Json]) -> Inventory:
    """An inventory of these objects; lists among them are opened."""
    flat = [one for item in objects for one in (item if isinstance(item, list) else [item])]
    return Inventory([decode(one) for one in flat], Provenance("test"))


def question(inventory: Inventory, release: str = "1.36.2", **more: Any) -> Question:
    """A question under the rules of a release."""
    minor = ".".join(release.split(".")[:2])
    return Question(inventory, Release(minor, release, "given"), Profile.for_release(release), **more)
