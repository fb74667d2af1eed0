"""Where a claim stands in its life: unallocated, allocated, reserved, being deleted; its pods, its age, its events."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from dractl.explain.eligibility import fits
from dractl.explain.report import AllocationView, EventView, PodView, ResultView
from dractl.explain.words import duration, listing, moment, plural, seconds_between
from dractl.inventory import Inventory, Key, key_of
from dractl.kube.objects import Allocation, AllocationDevice, Event, Meta, Pod, ResourceClaim

FINALIZER = "resource.kubernetes.io/delete-protection"
"""Kept on a claim by the scheduler and the claim controller while it is allocated."""

_FINISHED = ("Succeeded", "Failed")
_FIELDS = {"metadata.name"}


@dataclass(frozen=True, slots=True)
class Life:
    """``state`` is the report's word, ``stage`` the step of the life cycle in words."""

    state: str
    stage: str


def life_of(inventory: Inventory, claim: ResourceClaim) -> Life:
    """The state and stage of a claim that is there."""
    if claim.meta.deletion_timestamp:
        return Life("deleting", "being deleted")
    if claim.allocation is None:
        missing = missing_classes(inventory, claim)
        return Life("pending", "class missing" if missing else "unallocated")
    if claim.reserved_for:
        return Life("reserved", "reserved")
    return Life("allocated", "allocated, not reserved")


def missing_classes(inventory: Inventory, claim: ResourceClaim) -> list[tuple[str, str]]:
    """(request, class) for every request whose DeviceClass is not there; empty where classes could not be read."""
    if "DeviceClass" in inventory.provenance.unseen:
        return []
    out = []
    for request in claim.spec.requests:
        alternatives = [request.exactly] if request.exactly else request.first_available
        for one in alternatives:
            if one.device_class_name and one.device_class_name not in inventory.classes:
                name = request.name if request.exactly else f"{request.name}/{one.name}"
                out.append((name, one.device_class_name))
    return out


def age_of(inventory: Inventory, meta: Meta, now: str | None = None) -> str | None:
    """How old an object is at ``now`` (by default when the inventory was taken), as kubectl writes it."""
    return since(inventory, meta.creation_timestamp, now)


def since(inventory: Inventory, start: str | None, now: str | None = None) -> str | None:
    """How long ago a time was."""
    seconds = seconds_between(start, moment(now or inventory.as_of))
    return None if seconds is None else duration(seconds)


# --- pods -----------------------------------------------------------------------------------------------------------


def pods_known(inventory: Inventory) -> bool:
    """Whether a pod that is not in the inventory can be said not to exist."""
    return "Pod" in inventory.kinds and "Pod" not in inventory.provenance.unseen


def users_of(inventory: Inventory, claim: ResourceClaim) -> list[Pod]:
    """Pods that refer to a claim and are not finished, in order of names."""
    pods = inventory.claim_pods.get(key_of(claim), [])
    return [pod for pod in pods if pod.phase not in _FINISHED]


def waiting(pods: Iterable[Pod]) -> list[Pod]:
    """The pods that the scheduler has still to place."""
    return [pod for pod in pods if not pod.node_name and not pod.meta.deletion_timestamp]


def role_of(pod: Pod) -> str:
    """``waiting``, ``preparing``, ``running`` or ``finished``."""
    if pod.phase in _FINISHED:
        return "finished"
    if not pod.node_name:
        return "waiting"
    return "running" if pod.phase == "Running" else "preparing"


def pod_view(inventory: Inventory, pod: Pod, claim: ResourceClaim | None = None, now: str | None = None) -> PodView:
    """A pod as the report shows it."""
    uids = {item.uid for item in claim.reserved_for} if claim else set()
    return PodView(
        namespace=pod.meta.namespace,
        name=pod.meta.name,
        uid=pod.meta.uid,
        role=role_of(pod),
        node=pod.node_name or None,
        phase=pod.phase or None,
        age=age_of(inventory, pod.meta, now),
        priority=pod.priority or None,
        scheduling_gates=list(pod.scheduling_gates),
        scheduler=scheduler_said(pod),
        reserved=pod.meta.uid in uids,
        deleting=bool(pod.meta.deletion_timestamp),
    )


def pod_views(inventory: Inventory, claim: ResourceClaim, now: str | None = None) -> list[PodView]:
    """The pods that refer to a claim, and those that only a reservation names."""
    pods = inventory.claim_pods.get(key_of(claim), [])
    views = [pod_view(inventory, pod, claim, now) for pod in pods]
    known = {pod.meta.uid for pod in pods}
    for consumer in claim.reserved_for:
        if consumer.resource != "pods" or consumer.uid in known:
            continue
        other = inventory.pods.get(Key(claim.meta.namespace, consumer.name))
        if other is not None and (not consumer.uid or other.meta.uid == consumer.uid):
            views.append(pod_view(inventory, other, claim, now))
            continue
        role = "gone" if pods_known(inventory) else "unknown"
        views.append(PodView(claim.meta.namespace, consumer.name, consumer.uid, role=role, reserved=True))
    return views


def scheduler_said(pod: Pod) -> str | None:
    """The message of the pod's PodScheduled condition, if it is not scheduled."""
    for condition in pod.conditions:
        if condition.type == "PodScheduled" and condition.status == "False":
            return f"{condition.reason}: {condition.message}" if condition.message else condition.reason
    return None


def gone_consumers(inventory: Inventory, claim: ResourceClaim) -> list[str]:
    """Names of pods in a claim's reservation that do not exist any more (gone, replaced or finished).

    Empty where the pods could not be read.
    """
    return [name for name, _ in _gone(inventory, claim)]


def _gone(inventory: Inventory, claim: ResourceClaim) -> list[tuple[str, str]]:
    if not pods_known(inventory):
        return []
    out = []
    for consumer in claim.reserved_for:
        if consumer.resource != "pods":
            continue
        pod = inventory.pods.get(Key(claim.meta.namespace, consumer.name))
        if pod is None or (consumer.uid and pod.meta.uid != consumer.uid):
            out.append((consumer.name, "exists no more"))
        elif pod.phase in _FINISHED:
            out.append((consumer.name, "is finished"))
    return out


def gone_words(inventory: Inventory, claim: ResourceClaim) -> str:
    """``pod ml/a (by uid), which exists no more``: the pods of a reservation that are no longer there."""
    by_fate: dict[str, list[str]] = {}
    for name, fate in _gone(inventory, claim):
        by_fate.setdefault(fate, []).append(f"{claim.meta.namespace}/{name}")
    plurals = {"exists no more": "exist no more", "is finished": "are finished"}
    parts = []
    for fate, names in by_fate.items():
        verb = fate if len(names) == 1 else plurals[fate]
        by_uid = " (by uid)" if fate == "exists no more" else ""
        parts.append(f"{plural(len(names), 'pod')} {listing(names, 3)}{by_uid}, which {verb}")
    return listing(parts)


# --- the allocation -------------------------------------------------------------------------------------------------


def result_view(result: AllocationDevice) -> ResultView:
    """One result as the report shows it."""
    consumed = result.consumed_capacity
    return ResultView(
        result.request,
        result.driver,
        result.pool,
        result.device,
        admin_access=result.admin_access,
        share_id=result.share_id,
        consumed_capacity={name: str(amount) for name, amount in consumed.items()} if consumed else None,
    )


def allocation_view(inventory: Inventory, claim: ResourceClaim) -> AllocationView | None:
    """The devices of an allocated claim and the nodes on which it can be used."""
    if claim.allocation is None:
        return None
    return AllocationView(
        [result_view(result) for result in claim.allocation.results],
        usable_nodes(inventory, claim.allocation),
        claim.allocation.allocation_timestamp,
    )


def usable_nodes(inventory: Inventory, allocation: Allocation) -> list[str]:
    """Names of the nodes that an allocation's node selector allows; all nodes where it has none."""
    selector = allocation.node_selector
    if selector is None:
        return list(inventory.nodes)
    known = [name for name, node in inventory.nodes.items() if fits(selector, node)]
    named = [
        value
        for term in selector.terms
        for requirement in term.match_fields
        if requirement.key in _FIELDS and requirement.operator == "In" and not term.match_expressions
        for value in requirement.values
    ]
    return list(dict.fromkeys([*known, *named]))


# --- events ---------------------------------------------------------------------------------------------------------


def event_view(inventory: Inventory, event: Event, now: str | None = None) -> EventView:
    """An event as the report shows it."""
    last = event.last_timestamp or event.first_timestamp or event.meta.creation_timestamp
    return EventView(
        object=f"{event.kind} {event.namespace}/{event.name}" if event.namespace else f"{event.kind} {event.name}",
        type=event.type,
        reason=event.reason,
        message=event.message,
        count=max(1, event.count),
        last=since(inventory, last, now),
    )


def events_about(inventory: Inventory, claim: ResourceClaim | None, pods: Iterable[Pod]) -> list[Event]:
    """The latest event of each reason and text about the claim and about pods of the right uid, oldest first."""
    found: list[Event] = []
    if claim is not None:
        found += inventory.events_of("ResourceClaim", claim.meta.namespace, claim.meta.name)
    for pod in pods:
        events = inventory.events_of("Pod", pod.meta.namespace, pod.meta.name)
        found += [event for event in events if not event.uid or not pod.meta.uid or event.uid == pod.meta.uid]
    placed = {(event.namespace, event.name): when(event) for event in found if event.reason == "Scheduled"}
    # what the scheduler said before it placed the pod is history
    found = [
        event
        for event in found
        if event.reason != "FailedScheduling" or when(event) > placed.get((event.namespace, event.name), "")
    ]
    latest: dict[tuple[str, str, str, str], Event] = {}
    for event in found:
        key = (event.kind, event.name, event.reason, event.message)
        latest.pop(key, None)
        latest[key] = event
    return sorted(latest.values(), key=when)


def when(event: Event) -> str:
    """The time of an event's last occurrence, as text that sorts (all times of a cluster are in UTC)."""
    return event.last_timestamp or event.first_timestamp or event.meta.creation_timestamp or ""
