"""The pods that hold devices: on a node that is gone, not started, or about to be replaced by the one that asks."""

from __future__ import annotations

from collections.abc import Sequence

from dractl.explain.answer import Answer
from dractl.explain.case import Case
from dractl.explain.holders import Held
from dractl.explain.lifecycle import role_of
from dractl.explain.nearest import device_names
from dractl.explain.placement import not_ready
from dractl.explain.preparation import not_started
from dractl.explain.words import listing
from dractl.inventory import Inventory, key_of
from dractl.kube.objects import Pod


def explain_users(case: Case, answer: Answer, held: Sequence[Held]) -> None:
    """Say of the pods that hold what is asked for what is not as it should be."""
    for one in held[:20]:
        for pod in one.pods:
            _on_a_lost_node(case.inventory, answer, one, pod)
            _not_running(answer, one, pod)
    _replaced(case, answer, held)
    _sharing_off(case, answer, held)


_SHARING = frozenset({"hami-core-gpu.project-hami.io", "dra.hygon.com", "dra.cpu", "dra.memory"})
"""Drivers whose devices are made to be shared by several claims."""


def _sharing_off(case: Case, answer: Answer, held: Sequence[Held]) -> None:
    """Devices that are made to be shared, on a release that does not share them."""
    drivers = sorted({device.driver for one in held for device in one.devices} & _SHARING)
    if not drivers or case.profile.features.consumable_capacity:
        return
    names = listing(drivers, 3)
    answer.say(
        f"devices of {names} are made to be shared, which needs the feature gate DRAConsumableCapacity, off by default "
        f"in {case.release.minor}: the API server then drops allowMultipleAllocations from slices and capacity from "
        "requests, and every device goes to one claim"
    )
    answer.advise(
        "switch DRAConsumableCapacity on (API server and scheduler; the driver then has to publish anew), or go to "
        "1.36, where it is on"
    )


def _on_a_lost_node(inventory: Inventory, answer: Answer, held: Held, pod: Pod) -> None:
    """A pod that is being deleted on a node whose kubelet does not answer: nobody can say that it has ended."""
    node = inventory.nodes.get(pod.node_name)
    why = not_ready(node) if node is not None else None
    if why is None or not pod.meta.deletion_timestamp:
        return
    answer.say(
        f"pod {key_of(pod)}, which holds {device_names(held.devices)}, is being deleted since "
        f"{pod.meta.deletion_timestamp}, but its node {pod.node_name} is not ready ({why}): no kubelet says that the "
        "pod has ended, so the devices stay held"
    )
    answer.advise(
        f"bring {pod.node_name} back; if it is certainly switched off, taint it node.kubernetes.io/out-of-service or "
        "delete the Node: the pod then goes, and its claim is freed"
    )


def _not_running(answer: Answer, held: Held, pod: Pod) -> None:
    """A holder that has not started and cannot: its devices lie idle."""
    why = not_started(pod) if role_of(pod) == "preparing" and not pod.meta.deletion_timestamp else None
    if why is not None:
        answer.say(
            f"pod {key_of(pod)} holds {device_names(held.devices)} on {pod.node_name}, but its containers have not "
            f"started: {why}"
        )
        answer.advise(f"repair pod {key_of(pod)}, or delete it if nobody needs it: its devices lie idle meanwhile")


def _replaced(case: Case, answer: Answer, held: Sequence[Held]) -> None:
    """A rolling update in which the new pod waits for the devices of the old one, which waits for the new pod."""
    for asking in case.pods:
        mine = _deployment(case.inventory, asking)
        if mine is None:
            continue
        old = [
            pod
            for one in held
            for pod in one.pods
            if (theirs := _deployment(case.inventory, pod)) is not None
            and theirs[0] == mine[0]
            and theirs[1] != mine[1]
            and pod.meta.namespace == asking.meta.namespace
            and not pod.meta.deletion_timestamp
        ]
        if old:
            names = listing([str(key_of(pod)) for pod in old], 3)
            answer.say(
                f"pod {key_of(asking)} is to replace {names} in a rolling update (both are of Deployment {mine[0]}): "
                "the old pod is kept until the new one is ready, and the new one waits for the devices of the old"
            )
            answer.advise(
                f"let the update of Deployment {mine[0]} end the old pod first: strategy Recreate, or rollingUpdate "
                f"with maxSurge 0 and maxUnavailable 1; to go on now, delete {names}"
            )
            return


def _deployment(inventory: Inventory, pod: Pod) -> tuple[str, str] | None:
    """The Deployment and the ReplicaSet of a pod; by the ReplicaSet's name where that is not in the input."""
    for owner in pod.meta.owners:
        if owner.kind != "ReplicaSet" or not owner.controller:
            continue
        for item in inventory.others:
            if (item.kind, item.meta.namespace, item.meta.name) == ("ReplicaSet", pod.meta.namespace, owner.name):
                above = [one.name for one in item.meta.owners if one.kind == "Deployment"]
                return (above[0], owner.name) if above else None
        name, dash, _ = owner.name.rpartition("-")
        return (name, owner.name) if dash else None
    return None
