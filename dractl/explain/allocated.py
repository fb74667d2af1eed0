"""The answer for a claim that has its devices: who uses it, and what goes wrong on the node."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from dractl.explain.answer import Answer
from dractl.explain.case import FITS, Case
from dractl.explain.drivers import driver_view
from dractl.explain.eligibility import pod_on_node
from dractl.explain.judge import device_taint_text
from dractl.explain.lifecycle import (
    FINALIZER,
    events_about,
    gone_consumers,
    gone_words,
    pods_known,
    role_of,
    since,
    usable_nodes,
    when,
)
from dractl.explain.nearest import device_names
from dractl.explain.variants import without_claim
from dractl.explain.words import count, listing, natural, plural, ranges
from dractl.inventory import DeviceId, Inventory, key_of
from dractl.kube.objects import Event, Pod, ResourceClaim
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
    trouble = _prepare_event(inventory, preparing)
    reserved = _reserved(claim)
    if trouble is not None:
        pod, event = trouble
        answer.say(
            f"claim {key_of(claim)} is allocated ({where}) and {reserved}; it waits for no device, but for the "
            f"preparation on {pod.node_name}: {_prepare_text(event)}"
        )
        _prepare(question, answer, claim, pod, event)
    elif running and not preparing:
        answer.say(f"claim {key_of(claim)} is allocated ({where}), {reserved} and in use")
    else:
        answer.say(f"claim {key_of(claim)} is allocated ({where}) and {reserved}")
        for pod in preparing:
            answer.say(f"pod {key_of(pod)} is on {pod.node_name}, and its containers have not started yet")
    for pod in running:
        if pod.meta.deletion_timestamp:
            answer.say(f"pod {key_of(pod)} is being deleted; the devices become free when it is gone")
    gone = gone_consumers(inventory, claim)
    if gone and len(gone) == len(claim.reserved_for):
        text = f"the reservation names {gone_words(inventory, claim)}: nothing uses the devices"
        answer.say(text)
        answer.find(lifecycle.STALE_HOLDER.finding(text, subject))
        answer.advise(
            "the resource claim controller (in kube-controller-manager) should release it: look there first; as a last "
            "step clear status.reservedFor by hand, after making sure that nothing of the pod is left on the node"
        )
    if len(claim.reserved_for) >= _RESERVATIONS and waits:
        answer.say(
            f"its reservation is full ({len(claim.reserved_for)} entries): no further pod can use the claim until one "
            "of them ends"
        )
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
            answer.say(f"{name} reports the binding failure {listing(failed)}: the scheduler gives the claim back")
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


def _reserved(claim: ResourceClaim) -> str:
    names = [f"{claim.meta.namespace}/{one.name}" for one in claim.reserved_for]
    if not names:
        return "reserved for no pod"
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


def waiting_elsewhere(inventory: Inventory, answer: Answer, claim: ResourceClaim, pod: Pod) -> bool:
    """A pod that waits for an allocated claim: whether it may go to a node of the allocation, and if not why."""
    assert claim.allocation is not None
    nodes = usable_nodes(inventory, claim.allocation)
    allowed: list[str] = []
    reasons: list[str] = []
    for name in nodes:
        node = inventory.nodes.get(name)
        if node is None:
            continue
        verdict = pod_on_node(pod, node)
        if verdict.eligible:
            allowed.append(name)
        reasons.extend(f"{name}: {reason.text}" for reason in verdict.reasons)
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
    answer.advise(
        f"change the rule of pod {key_of(pod)} that keeps it from {ranges(nodes, 4)} (drop the node selector), or give "
        "the pod a claim of its own"
    )
    return False


# --- preparation on the node ----------------------------------------------------------------------------------------


def _prepare_event(inventory: Inventory, pods: Sequence[Pod]) -> tuple[Pod, Event] | None:
    found = [
        (pod, event)
        for pod in pods
        for event in events_about(inventory, None, [pod])
        if event.reason == "FailedPrepareDynamicResources"
    ]
    return max(found, key=lambda item: when(item[1])) if found else None


def _prepare_text(event: Event) -> str:
    text = event.message
    for prefix in ("Failed to prepare dynamic resources: ", "prepare dynamic resources: "):
        text = text.removeprefix(prefix)
    return f"kubelet says: {text}"


def _prepare(question: Question, answer: Answer, claim: ResourceClaim, pod: Pod, event: Event) -> None:
    inventory = question.inventory
    subject = ObjectRef("Pod", pod.meta.name, pod.meta.namespace)
    answer.find(lifecycle.PREPARE_FAILED.finding(answer.summary, subject))
    unregistered = _NOT_REGISTERED.search(event.message)
    drivers = sorted({one.driver for one in claim.allocation.results}) if claim.allocation else []
    driver = unregistered[1] if unregistered else next((one for one in drivers if one in event.message), None)
    driver = driver or (drivers[0] if drivers else "")
    if unregistered:
        answer.find(lifecycle.DRIVER_NOT_REGISTERED.finding(answer.summary, subject))
    _driver_on_node(inventory, answer, driver, pod.node_name, bool(unregistered))
    foreign = [uid for uid in _UID.findall(event.message) if uid != claim.meta.uid]
    if foreign and _FOREIGN.search(event.message):
        _foreign_claim(question, answer, claim, pod, event, foreign[-1], driver)
    elif not unregistered:
        answer.advise(f"read the log of driver {driver} on {pod.node_name}; kubelet tries again by itself")


def _driver_on_node(inventory: Inventory, answer: Answer, driver: str, node: str, unregistered: bool) -> None:
    view = driver_view(inventory, driver)
    here = [pod for pod in view.pods if pod.pod.node_name == node]
    bad = [pod for pod in here if pod.trouble]
    for pod in bad:
        answer.say(f"on {node} the driver's pod {pod} is not running ({pod.trouble})")
    if here and not bad and not unregistered:
        answer.say(f"the driver's pod {listing([str(pod) for pod in here], 2)} on {node} runs")
    if not unregistered:
        return
    if not here and view.seen and view.pods:
        answer.say(f"no pod of the driver {driver} is on {node}")
    published = [key for key in inventory.pools if key.driver == driver and node in inventory.pools[key].nodes]
    if published:
        answer.say(f"its slice for {node} is still published, so the scheduler goes on placing pods there")
    names = listing([str(pod) for pod in bad], 2)
    answer.advise(
        f"repair the driver {driver} on {node}{f' (log of {names})' if names else ''}; cordon the node or taint its "
        "devices meanwhile, so that no more pods go there"
    )


def _foreign_claim(
    question: Question, answer: Answer, claim: ResourceClaim, pod: Pod, event: Event, uid: str, driver: str
) -> None:
    """The driver refuses a device because it has it prepared for another claim."""
    inventory = question.inventory
    other = next((one for one in inventory.claims.values() if one.meta.uid == uid), None)
    assert claim.allocation is not None
    words = set(re.findall(r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?", event.message))
    named = [one.device for one in claim.allocation.results if one.device in words]
    what = listing(dict.fromkeys(named), 4) or "a device"
    node = pod.node_name
    if other is not None:
        answer.say(f"the driver on {node} refuses {what} because it has it prepared for claim {key_of(other)} ({uid})")
        answer.advise(f"see why claim {key_of(other)} is still prepared on {node}: is a pod of it left there?")
        return
    text = (
        f"the driver on {node} refuses {what} because it has it prepared for claim UID {uid}; no claim in the cluster "
        "has that UID: it was deleted, and the driver kept its entry"
    )
    answer.say(text)
    answer.find(
        lifecycle.DRIVER_KEEPS_CLAIM.finding(text, ObjectRef("ResourceClaim", claim.meta.name, claim.meta.namespace))
    )
    assert claim.allocation is not None
    devices = [DeviceId(one.driver, one.pool, one.device) for one in claim.allocation.results]
    holders = [holder for one in devices for holder in inventory.holders.get(one, [])]
    alone = all(holder.claim is claim for holder in holders if not holder.result.admin_access)
    if alone:
        answer.say(
            f"nothing in the API holds these devices twice: {claim.meta.name} is the only claim with "
            f"{device_names(devices)}"
        )
    answer.advise(
        f"on {node} clear the stale entry out of the checkpoint of driver {driver}, after making sure that no process "
        "is left on the devices"
    )
    _elsewhere(question, answer, claim, pod)


def _elsewhere(question: Question, answer: Answer, claim: ResourceClaim, pod: Pod) -> None:
    """Where a new claim of the same form would fit, the present node aside."""
    inventory, fresh = without_claim(question.inventory, claim)
    case = Case(inventory, question.release, question.profile, [fresh], [], [], question.now, question.limits)
    nodes = []
    for name, one in case.nodes.items():
        if name != pod.node_name and one.verdict == FITS:
            on = pod_on_node(_unplaced(pod), case.survey.nodes[name].node)
            if on.eligible:
                nodes.append(name)
    if not nodes:
        return
    free = listing(
        [
            f"{name} ({count(len(case.nodes[name].result.allocations[0].results), 'device')} free)"  # type: ignore[index]
            for name in sorted(nodes, key=natural)
        ],
        4,
    )
    answer.advise(
        f"until then, to run elsewhere, cordon {pod.node_name}, delete pod {key_of(pod)} and create it again, so that "
        f"it gets a new claim: it fits on {free}"
    )


def _unplaced(pod: Pod) -> Pod:
    return replace(pod, node_name="")


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
