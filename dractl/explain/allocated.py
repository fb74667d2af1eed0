"""The answer for a claim that has its devices: who uses it, and what goes wrong on the node."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from dractl.explain.answer import Answer
from dractl.explain.eligibility import pod_on_node, used_on_nodes
from dractl.explain.judge import device_taint_text
from dractl.explain.lifecycle import (
    FINALIZER,
    gone_consumers,
    gone_words,
    pods_known,
    role_of,
    since,
    usable_nodes,
)
from dractl.explain.nearest import device_names
from dractl.explain.neighbours import Neighbours
from dractl.explain.preparation import explain_preparation, not_started, prepare_event, prepare_text
from dractl.explain.words import count, listing, plural, ranges
from dractl.inventory import DeviceId, Inventory, key_of
from dractl.kube.objects import Pod, ResourceClaim
from dractl.rules import lifecycle
from dractl.rules.finding import ObjectRef

if TYPE_CHECKING:
    from dractl.explain.claim import Question

_RESERVATIONS = 256
"""Entries that status.reservedFor can hold (ResourceClaimReservedForMaxSize)."""

_UID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_NOT_REGISTERED = re.compile(r"DRA driver (\S+) is not registered")
_FOREIGN = re.compile(r"(already|prepared|in use|allocated).*\b(claim|for)\b", re.IGNORECASE)


def explain_allocated(question: Question, answer: Answer, claim: ResourceClaim, users: Sequence[Pod]) -> None:
    """Say where the claim is, who uses it, and what keeps its pods from running."""
    inventory = question.inventory
    assert claim.allocation is not None
    where = _where(inventory, claim)
    running = [pod for pod in users if role_of(pod) == "running"]
    preparing = [pod for pod in users if role_of(pod) == "preparing"]
    waits = [pod for pod in users if role_of(pod) == "waiting"]
    subject = ObjectRef("ResourceClaim", claim.meta.name, claim.meta.namespace)
    trouble = prepare_event(inventory, preparing)
    reserved = _reserved(inventory, claim)
    if trouble is not None:
        pod, event = trouble
        answer.say(
            f"claim {key_of(claim)} is allocated ({where}) and {reserved}; it waits for no device, but for the "
            f"preparation on {pod.node_name}: {prepare_text(event)}"
        )
        explain_preparation(question, answer, claim, pod, event)
    elif running and not preparing:
        answer.say(f"claim {key_of(claim)} is allocated ({where}), {reserved} and in use")
    else:
        answer.say(f"claim {key_of(claim)} is allocated ({where}) and {reserved}")
        for pod in preparing:
            why = not_started(pod)
            answer.say(
                f"pod {key_of(pod)} is on {pod.node_name}, and its containers have not started yet"
                + (f": {why}" if why else "")
            )
    for pod in running:
        if pod.meta.deletion_timestamp:
            answer.say(f"pod {key_of(pod)} is being deleted; the devices become free when it is gone")
    gone = gone_consumers(inventory, claim)
    if gone and len(gone) == len(claim.reserved_for) and not preparing:
        text = f"the reservation names {gone_words(inventory, claim)}: nothing uses the devices"
        answer.say(text)
        answer.find(lifecycle.STALE_HOLDER.finding(text, subject))
        answer.advise(
            "the resource claim controller (in kube-controller-manager) should release it: look there first; as a last "
            "step clear status.reservedFor by hand, after making sure that nothing of the pod is left on the node"
        )
    if waits:
        reservation_full(answer, claim, waits)
    if not claim.reserved_for and not claim.meta.deletion_timestamp:
        _unreserved(inventory, answer, claim, waits, subject)
    for pod in waits:
        waiting_elsewhere(inventory, answer, claim, pod)
    _devices_gone(inventory, answer, claim)
    _nodes_gone(inventory, answer, claim)
    _binding(answer, claim)
    _device_health(inventory, answer, claim)


def _nodes_gone(inventory: Inventory, answer: Answer, claim: ResourceClaim) -> None:
    """Nodes of the allocation that do not exist any more, or that are not ready."""
    assert claim.allocation is not None
    if not inventory.nodes:
        return
    nodes = usable_nodes(inventory, claim.allocation)
    lost = [name for name in nodes if name not in inventory.nodes]
    if lost and len(lost) == len(nodes):
        exist = plural(len(lost), "exists", "exist")
        answer.say(f"{plural(len(lost), 'node')} {ranges(lost, 3)} of its allocation {exist} no more")
        if claim.reserved_for:
            answer.advise(f"delete the pods of claim {key_of(claim)}: only then is it allocated anew, on another node")
    for name in nodes if len(nodes) <= 3 else []:
        node = inventory.nodes.get(name)
        ready = next((one for one in node.conditions if one.type == "Ready"), None) if node else None
        if ready is not None and ready.status != "True":
            told = ": ".join(part for part in (ready.reason, ready.message) if part)
            answer.say(f"node {name} is not ready ({told})")


def _binding(answer: Answer, claim: ResourceClaim) -> None:
    """Binding conditions of allocated devices that are not met yet, or have failed."""
    assert claim.allocation is not None
    statuses = {(one.driver, one.pool, one.device): one for one in claim.devices}
    for result in claim.allocation.results:
        if not result.binding_conditions:
            continue
        status = statuses.get((result.driver, result.pool, result.device))
        true = {one.type for one in status.conditions if one.status == "True"} if status else set()
        failed = [name for name in result.binding_failure_conditions if name in true]
        open_conditions = [name for name in result.binding_conditions if name not in true]
        name = f"{result.pool}/{result.device}"
        if failed:
            told = [
                ": ".join(part for part in (one.type, one.reason, one.message) if part)
                for one in (status.conditions if status else [])
                if one.type in failed
            ]
            answer.say(f"{name} reports the binding failure {listing(told)}: the scheduler gives the claim back")
            answer.advise(
                f"see what driver {result.driver} reports of {name}; the scheduler tries again by itself, there or "
                "elsewhere"
            )
        elif open_conditions:
            answer.say(
                f"{name} is not ready to be bound: the scheduler waits (10 minutes at most) for "
                f"{plural(len(open_conditions), 'condition')} {listing(open_conditions)} in the claim's status"
            )
            answer.advise(f"see why whatever sets {listing(open_conditions)} for driver {result.driver} does not")


def _device_health(inventory: Inventory, answer: Answer, claim: ResourceClaim) -> None:
    """Taints of allocated devices, and conditions by which the driver reports them not ready."""
    assert claim.allocation is not None
    for result in claim.allocation.results:
        published = inventory.devices.get(DeviceId(result.driver, result.pool, result.device))
        for taint in published.device.taints if published else []:
            if taint.effect in ("NoExecute", "NoSchedule"):
                evicts = " (pods that do not tolerate it are evicted)" if taint.effect == "NoExecute" else ""
                answer.say(f"{result.pool}/{result.device} is tainted {device_taint_text(taint)}{evicts}")
    for status in claim.devices:
        bad = [one for one in status.conditions if one.type == "Ready" and one.status == "False"]
        for one in bad:
            told = ": ".join(part for part in (one.reason, one.message) if part)
            answer.say(f"driver {status.driver} reports {status.pool}/{status.device} as not ready ({told})")


def _where(inventory: Inventory, claim: ResourceClaim) -> str:
    assert claim.allocation is not None
    devices = [DeviceId(one.driver, one.pool, one.device) for one in claim.allocation.results]
    nodes = usable_nodes(inventory, claim.allocation)
    text = device_names(devices, 4) if devices else "no device"
    if len(nodes) <= 3 and nodes:
        return f"{text}, usable on {ranges(nodes)}"
    return f"{text}, usable on {count(len(nodes), 'node')}"


def _reserved(inventory: Inventory, claim: ResourceClaim) -> str:
    if not claim.reserved_for:
        return "reserved for no pod"
    gone = set(gone_consumers(inventory, claim))
    names = [
        f"{claim.meta.namespace}/{one.name}{' (a former pod)' if one.name in gone and one.resource == 'pods' else ''}"
        for one in claim.reserved_for
    ]
    what = "pod" if all(one.resource == "pods" for one in claim.reserved_for) else "consumer"
    return f"reserved for {plural(len(names), what)} {listing(names, 4)}"


def _unreserved(
    inventory: Inventory, answer: Answer, claim: ResourceClaim, waits: Sequence[Pod], subject: ObjectRef
) -> None:
    since_text = since(inventory, claim.allocation.allocation_timestamp if claim.allocation else None)
    for_time = f" for {since_text}" if since_text else ""
    if waits:
        return
    text = f"no pod has reserved it{for_time}, and it still holds its devices: nobody else can take them"
    answer.say(text)
    answer.find(lifecycle.STALE_HOLDER.finding(text, subject))
    answer.advise(f"delete claim {key_of(claim)} if no pod is going to use it; its devices are free at once")


def reservation_full(answer: Answer, claim: ResourceClaim, waits: Sequence[Pod]) -> bool:
    """Whether a claim cannot be reserved for any further pod; say so if it is."""
    if len(claim.reserved_for) < _RESERVATIONS:
        return False
    names = listing([str(key_of(pod)) for pod in waits], 3)
    answer.say(
        f"the reservation of claim {key_of(claim)} is full ({len(claim.reserved_for)} entries, the largest possible "
        f"number): pod {names} cannot use the claim until one of the pods that do ends"
    )
    answer.advise(
        f"make a second claim of the same kind for further pods, or end some of those that use {key_of(claim)}"
    )
    return True


def waiting_elsewhere(inventory: Inventory, answer: Answer, claim: ResourceClaim, pod: Pod) -> bool:
    """A pod that waits for an allocated claim: whether it may go to a node of the allocation, and if not why."""
    assert claim.allocation is not None
    nodes = usable_nodes(inventory, claim.allocation)
    allowed: list[str] = []
    reasons: list[str] = []
    codes: set[str] = set()
    neighbours, used = Neighbours.of(inventory), used_on_nodes(inventory.pods.values())
    for name in nodes:
        node = inventory.nodes.get(name)
        if node is None:
            continue
        found = [*pod_on_node(pod, node, used.get(name)).reasons, *neighbours.reasons(pod, node)]
        if not found:
            allowed.append(name)
        reasons.extend(f"{name}: {reason.text}" for reason in found)
        codes.update(reason.code for reason in found)
    lost = [name for name in nodes if inventory.nodes and name not in inventory.nodes]
    reasons.extend(f"{name} exists no more" for name in lost)
    if allowed or not reasons:
        return bool(allowed) or not nodes
    why = listing(dict.fromkeys(reasons), 4)
    others = [one for one in claim.reserved_for if one.uid != pod.meta.uid]
    if not others:
        answer.say(
            f"claim {key_of(claim)} is allocated on {ranges(nodes, 4)}, where pod {key_of(pod)} may not run ({why}); "
            "since no other pod has reserved it, the scheduler gives the allocation back at one of its next tries and "
            "allocates anew"
        )
        return False
    text = (
        f"claim {key_of(claim)} is allocated on {ranges(nodes, 4)} and can be used only there, and pod {key_of(pod)} "
        f"may not run there ({why}): there is no node for it"
    )
    answer.say(text)
    answer.find(lifecycle.ALLOCATED_ELSEWHERE.finding(text, ObjectRef("Pod", pod.meta.name, pod.meta.namespace)))
    answer.advise(_way_out(codes, pod, ranges(nodes, 4)))
    return False


_WAYS_OUT = {
    "node-selector": "drop the node selector",
    "node-affinity": "drop the node affinity",
    "pod-anti-affinity": "drop the anti-affinity",
    "pod-affinity": "drop the pod affinity",
    "node-taint": "tolerate the node taint",
    "cordoned": "uncordon the node",
}


def _way_out(codes: set[str], pod: Pod, nodes: str) -> str:
    """What to change so that a pod can go where its claim is, or do without that claim."""
    own = (
        "give the pod a claim of its own (resourceClaimTemplateName instead of resourceClaimName makes one for each "
        "pod of a workload)"
    )
    if codes == {"node-resources"}:
        return f"make room on {nodes} (end or move other pods), let pod {key_of(pod)} ask for less, or {own}"
    ways = listing([way for code, way in _WAYS_OUT.items() if code in codes], 3, "or")
    return f"change what keeps pod {key_of(pod)} from {nodes}{f' ({ways})' if ways else ''}, or {own}"


# --- devices that are gone, claims that are going -------------------------------------------------------------------


def _devices_gone(inventory: Inventory, answer: Answer, claim: ResourceClaim) -> None:
    """Devices of the allocation that no slice lists any more."""
    assert claim.allocation is not None
    if "ResourceSlice" in inventory.provenance.unseen or not inventory.slices:
        return
    gone = [
        device
        for one in claim.allocation.results
        if (device := DeviceId(one.driver, one.pool, one.device)) not in inventory.devices
    ]
    if gone:
        answer.say(f"{device_names(gone)} {plural(len(gone), 'is', 'are')} no longer published by the driver")
        if not answer.actions and claim.reserved_for:
            answer.advise(
                f"see why the driver lost {plural(len(gone), 'it')}; to get other devices, end the pods of claim "
                f"{key_of(claim)} and make it anew: an allocation is never changed"
            )


def explain_deleting(question: Question, answer: Answer, claim: ResourceClaim, users: Sequence[Pod]) -> None:
    """What keeps a claim that is being deleted."""
    inventory = question.inventory
    name = key_of(claim)
    when_text = claim.meta.deletion_timestamp
    subject = ObjectRef("ResourceClaim", claim.meta.name, claim.meta.namespace)
    finalizers = listing(claim.meta.finalizers, 4)
    alive = [pod for pod in users if role_of(pod) in ("running", "preparing")]
    if not claim.meta.finalizers:
        text = f"claim {name} is being deleted since {when_text}; nothing keeps it any more"
    elif claim.meta.finalizers != [FINALIZER]:
        text = f"claim {name} is being deleted since {when_text} and kept by {finalizers}"
    elif alive:
        pods = listing([str(key_of(pod)) for pod in alive], 4)
        text = f"claim {name} is being deleted since {when_text}; {FINALIZER} keeps it because pod {pods} still uses it"
    else:
        text = f"claim {name} is being deleted since {when_text}, and {FINALIZER} keeps it"
        text += " although no pod uses it" if pods_known(inventory) else "; its pods are not in the input"
    answer.say(text)
    answer.find(lifecycle.CLAIM_DELETING.finding(text, subject))
    if alive:
        answer.advise(f"end pod {listing([str(key_of(pod)) for pod in alive], 4)}; the claim goes then by itself")
    waits = [pod for pod in users if role_of(pod) == "waiting"]
    for pod in waits:
        answer.say(f"pod {key_of(pod)} waits for a claim that is being deleted: it cannot use it")
        answer.advise(f"make the claim anew once it is gone, or give pod {key_of(pod)} another one")
