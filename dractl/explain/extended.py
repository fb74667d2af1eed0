"""Extended resources that DeviceClasses serve: which class counts, and the claim that the scheduler would make.

Rules of kube-scheduler: a class serves ``spec.extendedResourceName`` and always ``deviceclass.resource.kubernetes.io/``
and its name. Of several classes with one name the one created last counts, of equally old ones the first by name. On a
node that advertises the resource itself a device plugin serves it. Source: KEP-5004.
"""

from __future__ import annotations

from dataclasses import dataclass

from dractl.allocator.extended import IMPLICIT_PREFIX, is_extended, requests_for
from dractl.explain.answer import Answer
from dractl.explain.eligibility import pod_on_node, used_on_nodes
from dractl.explain.report import AllocatorView, GroupView, NodeView, PodOnNode
from dractl.explain.words import listing, plural, ranges
from dractl.inventory import Inventory, key_of
from dractl.kube.objects import (
    ClaimSpec,
    DeviceClass,
    Meta,
    Pod,
    ResourceClaim,
)
from dractl.rules import allocation as rules
from dractl.rules.finding import ObjectRef


@dataclass(slots=True)
class Extended:
    """One extended resource of a pod: how many, the class that serves it, and the others that carry the name."""

    name: str
    amount: int
    device_class: DeviceClass | None
    shadowed: list[DeviceClass]
    plugin_nodes: list[str]


def extended_of(inventory: Inventory, pod: Pod) -> list[Extended]:
    """The extended resources that a pod asks for."""
    wanted: dict[str, int] = {}
    for container in pod.containers:
        for name, amount in {**container.limits, **container.requests}.items():
            if is_extended(name) and amount.nano > 0 and amount.is_integer():
                wanted[name] = wanted.get(name, 0) + amount.value()
    return [_extended(inventory, name, amount) for name, amount in sorted(wanted.items())]


def _extended(inventory: Inventory, name: str, amount: int) -> Extended:
    plugin = [
        node for node, item in inventory.nodes.items() if name in item.allocatable and item.allocatable[name].nano > 0
    ]
    if name.startswith(IMPLICIT_PREFIX):
        return Extended(name, amount, inventory.classes.get(name.removeprefix(IMPLICIT_PREFIX)), [], plugin)
    serving = [one for one in inventory.classes.values() if one.extended_resource_name == name]
    serving.sort(key=lambda one: one.meta.name)
    serving.sort(key=lambda one: one.meta.creation_timestamp or "", reverse=True)
    return Extended(name, amount, serving[0] if serving else None, serving[1:], plugin)


def claim_for(pod: Pod, resources: list[Extended]) -> ResourceClaim | None:
    """The claim that the scheduler would make for a pod's extended resources; None if no class serves any of them.

    The node that the pod lands on is not known here: each resource with a class counts as served by devices.
    """
    served = {one.name: one.device_class.meta.name for one in resources if one.device_class is not None}
    requests, _ = requests_for(pod, served)
    if not requests:
        return None
    meta = Meta(name=f"{pod.meta.name}-extended-resources", namespace=pod.meta.namespace)
    return ResourceClaim(meta, ClaimSpec(requests=requests))


def explain_gate_off(answer: Answer, pod: Pod, resources: list[Extended], minor: str) -> None:
    """Classes carry the names, but the scheduler does not serve extended resources with devices."""
    for one in resources:
        asked = f"pod {key_of(pod)} asks for {one.name}: {one.amount}"
        if one.plugin_nodes:
            answer.say(f"{asked}, which {listing(one.plugin_nodes, 4)} {_advertises(one)} itself (device plugin)")
        elif one.device_class is None:
            answer.say(f"{asked}, which no node advertises and no DeviceClass serves")
        else:
            name = one.device_class.meta.name
            answer.say(
                f"{asked}, which no node advertises; DeviceClass {name} maps it, but the feature gate "
                f"DRAExtendedResource is off by default in {minor}, so the scheduler takes it for a resource that "
                "only a device plugin can offer, and the devices of the class do not count"
            )
            answer.advise(
                "use a claim (or claim template) for the devices, switch the gate DRAExtendedResource on (API server, "
                "scheduler and kubelet; an API server that had it off has dropped extendedResourceName from the "
                "class), or go to 1.36, where it is on"
            )


def _advertises(one: Extended) -> str:
    return plural(len(one.plugin_nodes), "advertises", "advertise")


def explain_extended(inventory: Inventory, answer: Answer, pod: Pod, resources: list[Extended]) -> None:
    """Say which class serves which resource, and where two classes quarrel."""
    for one in resources:
        asked = f"pod {key_of(pod)} asks for {one.name}: {one.amount}"
        advertised = (
            f"which {listing(one.plugin_nodes, 4)} {_advertises(one)} itself (device plugin{_left(inventory, one)})"
            if one.plugin_nodes
            else "which no node advertises"
        )
        if one.device_class is None:
            answer.say(f"{asked}, {advertised} and no DeviceClass serves")
            if not one.plugin_nodes:
                answer.advise(f"install what serves {one.name}: a device plugin, or a class with that resource name")
            continue
        name = one.device_class.meta.name
        if not one.shadowed:
            answer.say(f"{asked}, {advertised} and DeviceClass {name} serves")
            continue
        classes = [*reversed(one.shadowed), one.device_class]
        told = listing([f"{item.meta.name} ({_day(item)})" for item in classes], 4)
        text = (
            f"{asked}, {advertised}, but {len(classes)} DeviceClasses map: {told}; the one created last, {name}, is "
            "used"
        )
        answer.say(text)
        answer.find(rules.CLASS_SHADOWED.finding(text, ObjectRef("DeviceClass", name)))
        others = listing([item.meta.name for item in one.shadowed], 3)
        answer.advise(
            f"give one of the classes {name} and {others} another extendedResourceName (or none): one name should "
            "belong to one class"
        )


def _left(inventory: Inventory, one: Extended) -> str:
    """How much of a resource the nodes with a device plugin have left: ``: 0 of 2 left on g-1``."""
    used = used_on_nodes(inventory.pods.values())
    parts = []
    for name in one.plugin_nodes[:3]:
        total = inventory.nodes[name].allocatable[one.name].value()
        busy = used.get(name, {}).get(one.name)
        parts.append(f"{total - (busy.value() if busy else 0)} of {total} left on {name}")
    return f": {listing(parts, 3)}"


def advertising(inventory: Inventory, resources: list[Extended]) -> list[str]:
    """The nodes that advertise all of the resources: there the scheduler makes no claim, a device plugin serves."""
    common = set.intersection(*(set(one.plugin_nodes) for one in resources)) if resources else set()
    return [name for name in inventory.nodes if name in common]


def plugin_nodes(
    inventory: Inventory, pod: Pod, resources: list[Extended], first_group: int
) -> tuple[list[NodeView], list[GroupView]]:
    """The advertising nodes as they are shown: no device is needed there, only room."""
    used = used_on_nodes(inventory.pods.values())
    views: list[NodeView] = []
    groups: dict[tuple[str, ...], GroupView] = {}
    for name in advertising(inventory, resources):
        allowed = pod_on_node(pod, inventory.nodes[name], used.get(name))
        shared = tuple(reason.shared for reason in allowed.reasons)
        why = f", but the pod may not use it: {listing([*shared], 4)}" if shared else ""
        what = f"a device plugin serves the pod there, without a claim{why}"
        group = groups.setdefault(shared, GroupView(0, what, verdict="fits"))
        group.names.append(name)
        group.nodes, group.where = len(group.names), ranges(group.names, 5)
        reasons = [reason.text for reason in allowed.reasons]
        number = first_group + list(groups).index(shared)
        views.append(NodeView(name, AllocatorView("fits", []), PodOnNode(allowed.eligible, reasons), number))
    return views, list(groups.values())


def _day(item: DeviceClass) -> str:
    return (item.meta.creation_timestamp or "unknown")[:10]
