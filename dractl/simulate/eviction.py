"""What becomes of the pods of a node that is drained or lost, and of their claims.

A pod of a controller is made anew and waits for a place. A pod that nobody controls is lost. Pods of DaemonSets and
those that kubelet runs from files stay where they are, as ``kubectl drain --ignore-daemonsets`` leaves them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from enum import StrEnum
from typing import Any

from dractl.explain.neighbours import selects
from dractl.explain.words import listing, natural, plural
from dractl.inventory import Inventory, Key, key_of
from dractl.kube.objects import KubeObject, Node, Pod, ResourceClaim, ResourceSlice

_FINISHED = ("Succeeded", "Failed")
_MIRROR = "kubernetes.io/config.mirror"


class Fate(StrEnum):
    """What becomes of a pod when its node is emptied."""

    MOVES = "moves"
    LOST = "lost"
    DAEMON = "daemon"
    MIRROR = "mirror"
    LEAVES = "leaves"
    """It is being deleted already."""
    FINISHED = "finished"


def fate_of(pod: Pod) -> Fate:
    """What becomes of a pod when its node is drained."""
    if pod.phase in _FINISHED:
        return Fate.FINISHED
    controller = next((owner for owner in pod.meta.owners if owner.controller), None)
    if _MIRROR in pod.meta.annotations or (controller is not None and controller.kind == "Node"):
        return Fate.MIRROR
    if pod.meta.deletion_timestamp:
        return Fate.LEAVES
    if controller is None:
        return Fate.LOST
    return Fate.DAEMON if controller.kind == "DaemonSet" else Fate.MOVES


def pods_on(inventory: Inventory, node: str) -> list[Pod]:
    """The pods of a node, finished ones too."""
    return [pod for pod in inventory.pods.values() if pod.node_name == node]


def emptied(inventory: Inventory, node: str, gone: bool) -> Inventory:
    """The cluster after a node was drained, or after it is ``gone`` with its slices and all of its pods.

    A claim is given back once none of its pods is left; what a template made goes with its pod, and is made anew for
    the pod that replaces it.
    """
    fates = {id(pod): fate_of(pod) for pod in pods_on(inventory, node)}
    leaving = {Fate.MOVES, Fate.LOST, Fate.LEAVES, Fate.FINISHED} | ({Fate.DAEMON, Fate.MIRROR} if gone else set())
    left = {key_of(pod): pod for pod in inventory.pods.values() if fates.get(id(pod)) in leaving}
    for_good = {pod.meta.uid for pod in left.values() if fates[id(pod)] is not Fate.MOVES}

    def one(item: Any) -> KubeObject | None:
        if isinstance(item, Pod) and id(item) in fates:
            return _pod_after(item, fates[id(item)], gone)
        if isinstance(item, ResourceClaim) and item.allocation is not None and _left_alone(item, left):
            if any(owner.controller and owner.uid in for_good for owner in item.meta.owners):
                return None
            return replace(item, allocation=None, reserved_for=[])
        if gone and isinstance(item, Node) and item.meta.name == node:
            return None
        if gone and isinstance(item, ResourceSlice) and item.node_name == node:
            return None
        kept: KubeObject = item
        return kept

    made = (one(item) for item in inventory.objects)
    return Inventory([item for item in made if item is not None], inventory.provenance)


def _pod_after(pod: Pod, fate: Fate, gone: bool) -> Pod | None:
    if fate is Fate.MOVES:
        return replace(pod, node_name="", nominated_node_name="", phase="Pending", conditions=[])
    if fate in (Fate.LOST, Fate.LEAVES) or gone:
        return None
    return pod


def _left_alone(claim: ResourceClaim, left: dict[Key, Pod]) -> bool:
    """Whether a claim had pods, and none of them is there any more."""
    if not claim.reserved_for or any(one.resource != "pods" for one in claim.reserved_for):
        return False
    for one in claim.reserved_for:
        pod = left.get(Key(claim.meta.namespace, one.name))
        if pod is None or (one.uid and one.uid != pod.meta.uid):
            return False
    return True


def remarks(inventory: Inventory, drained: Iterable[str]) -> list[str]:
    """What is worth knowing before nodes are drained: pods that stay, budgets that may slow it down."""
    out: list[str] = []
    moving: list[Pod] = []
    for node in drained:
        pods = pods_on(inventory, node)
        for fate, words in (
            (Fate.DAEMON, "of DaemonSets: a drain leaves them, and they keep their devices"),
            (Fate.MIRROR, "run by kubelet itself: a drain leaves them"),
            (Fate.LEAVES, "being deleted already"),
        ):
            names = sorted((str(key_of(pod)) for pod in pods if fate_of(pod) is fate), key=natural)
            if names:
                out.append(f"on {node} {listing(names, 4)} {plural(len(names), 'is', 'are')} {words}")
        moving += [pod for pod in pods if fate_of(pod) in (Fate.MOVES, Fate.LOST)]
    budgets = _budgets(inventory, moving)
    if budgets:
        out.append(
            f"PodDisruptionBudget {listing(budgets, 4)} may hold evictions back for a while; that is not simulated"
        )
    return out


def _budgets(inventory: Inventory, pods: Sequence[Pod]) -> list[str]:
    found = []
    for item in inventory.others:
        if item.kind != "PodDisruptionBudget":
            continue
        spec: Any = item.body.get("spec")
        selector = spec.get("selector") if isinstance(spec, dict) else None
        if isinstance(selector, dict) and any(
            pod.meta.namespace == item.meta.namespace and selects(selector, pod.meta.labels) for pod in pods
        ):
            found.append(f"{item.meta.namespace}/{item.meta.name}")
    return sorted(found, key=natural)
