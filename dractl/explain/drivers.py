"""What a snapshot shows of the drivers themselves: their DaemonSets and pods, and whether they publish anything.

Which DaemonSet belongs to a driver is nowhere written in the API. It is taken from names: a workload counts as the
driver's if its namespace, name, labels or images hold the driver's vendor word and a word that drivers carry
(``dra``, ``driver``, ``plugin``). What is drawn from that is worded as "looks like".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from dractl.inventory import Inventory
from dractl.kube.objects import GenericObject, Node, Pod

_SYNONYMS = {
    "dra.net": ("dranet",),
    "dra.cpu": ("dra-driver-cpu", "dra-cpu", "dracpu"),
    "dra.memory": ("dra-driver-memory", "dra-memory", "dramemory"),
    "sriovnetwork.k8snetworkplumbingwg.io": ("sriov",),
}
"""Drivers whose workloads carry another word than the second label of the driver's name."""

_ROLE = re.compile(r"(^|[^a-z0-9])(dra|driver|kubelet-?plugin|resource-driver|plugin)([^a-z0-9]|$)|dranet")
_NOT_ROLE = re.compile(r"device-plugin(?!.*dra)|controller|webhook")
_BESIDE = re.compile(r"driver-(daemonset|container)|operator|toolkit|dcgm|validator|feature-discovery|mig-manager")
"""What else a vendor runs on its nodes: the kernel driver's container and the operator's helpers."""
_GENERIC = {"gpu", "npu", "net", "nic", "device", "devices", "dra", "resource", "com", "io", "org", "k8s", "x-k8s"}


@dataclass(slots=True)
class Workload:
    """A DaemonSet: how many nodes it wants and how many of its pods are ready."""

    namespace: str
    name: str
    desired: int
    ready: int
    node_selector: dict[str, str] = field(default_factory=dict)
    images: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


@dataclass(slots=True)
class DriverPod:
    """A pod of a driver and why it is not well, if it is not."""

    pod: Pod
    trouble: str | None
    containers: list[str]

    def __str__(self) -> str:
        return f"{self.pod.meta.namespace}/{self.pod.meta.name}"


@dataclass(slots=True)
class DriverView:
    """One driver as far as the snapshot shows it. ``published`` counts the devices in its current slices."""

    name: str
    published: int
    nodes: list[str]
    workloads: list[Workload]
    pods: list[DriverPod]
    seen: bool
    """Whether pods or DaemonSets could be looked for at all."""


def driver_view(inventory: Inventory, driver: str) -> DriverView:
    """What is known of one driver."""
    pools = [pool for key, pool in inventory.pools.items() if key.driver == driver]
    nodes = sorted({node for pool in pools for node in pool.nodes})
    published = sum(len(item.devices) for pool in pools for item in pool.current)
    workloads = [
        workload for item in inventory.others if item.kind == "DaemonSet" and (workload := _workload(item, driver))
    ]
    selectors = [_pod_labels(item) for item in inventory.others if item.kind == "DaemonSet" and _workload(item, driver)]
    pods = [
        DriverPod(pod, trouble_of(pod), [one.name for one in pod.containers if not one.init])
        for pod in inventory.pods.values()
        if _is_driver_pod(pod, driver, selectors)
    ]
    seen = bool({"DaemonSet", "Pod"} & inventory.kinds)
    return DriverView(driver, published, nodes, workloads, pods, seen)


def words_of(driver: str) -> tuple[str, ...]:
    """Words that the names of a driver's workloads carry: for ``gpu.nvidia.com`` it is ``nvidia``."""
    if driver in _SYNONYMS:
        return _SYNONYMS[driver]
    labels = [label for label in driver.split(".")[:-1] if label not in _GENERIC]
    return tuple(dict.fromkeys(labels[-1:])) or (driver.split(".", maxsplit=1)[0],)


def looks_like_driver(texts: Iterable[str], driver: str) -> bool:
    """Whether names of a workload point to a driver."""
    joined = " ".join(texts).lower()
    return any(word in joined for word in words_of(driver)) and _ROLE.search(joined) is not None


def trouble_of(pod: Pod) -> str | None:
    """Why a pod that ought to run does not: its phase, a container's waiting or terminated reason, not ready."""
    if pod.phase in ("Failed", "Unknown"):
        return f"{pod.phase}: {pod.reason or pod.message}".rstrip(": ")
    if pod.phase == "Pending" and not pod.node_name:
        return "not scheduled"
    for status in pod.container_statuses:
        state = status.get("state")
        waiting = state.get("waiting") if isinstance(state, dict) else None
        if isinstance(waiting, dict) and waiting.get("reason"):
            return str(waiting["reason"])
        stopped = state.get("terminated") if isinstance(state, dict) else None
        if isinstance(stopped, dict) and stopped.get("exitCode") not in (0, None):
            return f"{stopped.get('reason') or 'terminated'} (exit code {stopped.get('exitCode')})"
    for condition in pod.conditions:
        if condition.type == "Ready" and condition.status == "False" and pod.phase == "Running":
            return "not ready"
    return "Pending" if pod.phase == "Pending" else None


def matching_nodes(nodes: Iterable[Node], selector: Mapping[str, str]) -> list[str]:
    """Names of the nodes that carry all labels of a node selector."""
    return [
        node.meta.name for node in nodes if all(node.meta.labels.get(key) == value for key, value in selector.items())
    ]


def hinting_labels(inventory: Inventory, driver: str) -> dict[str, list[str]]:
    """Node labels that name the driver's vendor (``amd.com/gpu.product-name``): label -> nodes that carry it."""
    found: dict[str, list[str]] = {}
    for name, node in inventory.nodes.items():
        for key in node.meta.labels:
            domain = key.partition("/")[0].lower()
            if any(re.search(rf"(^|[.-]){re.escape(word)}([.-]|$)", domain) for word in words_of(driver)):
                found.setdefault(key, []).append(name)
    return found


def _workload(item: GenericObject, driver: str) -> Workload | None:
    spec = _map(_map(item.body.get("spec")).get("template"))
    pod_spec = _map(spec.get("spec"))
    containers = [_map(one) for one in pod_spec.get("containers") or []]
    images = [str(one.get("image", "")) for one in containers]
    labels = [str(value) for value in _map(_map(spec.get("metadata")).get("labels")).values()]
    names = [item.meta.name, *[str(one.get("name", "")) for one in containers], *images, *labels]
    if not looks_like_driver([item.meta.namespace, *names], driver) or _is_plugin(item.meta.name, images):
        return None
    if _is_beside(item.meta.name, images):
        return None
    status = _map(item.body.get("status"))
    selector = {str(key): str(value) for key, value in _map(pod_spec.get("nodeSelector")).items()}
    return Workload(
        item.meta.namespace,
        item.meta.name,
        int(status.get("desiredNumberScheduled") or 0),
        int(status.get("numberReady") or 0),
        selector,
        images,
    )


def _is_beside(name: str, images: list[str]) -> bool:
    """Whether a workload serves the same hardware, but is no DRA driver."""
    return _BESIDE.search(name) is not None and not re.search(r"(^|[^a-z])dra([^a-z]|$)", " ".join([name, *images]))


def _is_plugin(name: str, images: list[str]) -> bool:
    """A device plugin offers extended resources; it is no DRA driver."""
    return "device-plugin" in " ".join([name, *images]).lower() or name.endswith("-dp-ds")


def _pod_labels(item: GenericObject) -> dict[str, str]:
    selector = _map(_map(item.body.get("spec")).get("selector"))
    return {str(key): str(value) for key, value in _map(selector.get("matchLabels")).items()}


def _is_driver_pod(pod: Pod, driver: str, selectors: list[dict[str, str]]) -> bool:
    labels = pod.meta.labels
    if any(one and all(labels.get(key) == value for key, value in one.items()) for one in selectors):
        return True
    if pod.resource_claims or _NOT_ROLE.search(pod.meta.name):
        return False
    images = [one.image for one in pod.containers]
    if _is_beside(pod.meta.name, images):
        return False
    texts = [pod.meta.name, *images, *labels, *labels.values()]
    return looks_like_driver(texts, driver) and not _is_plugin(pod.meta.name, images)


def _map(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
