"""Why nothing of a class is published: the driver's DaemonSet and pods, nodes that look like its own, the "
"autoscaler."""

from __future__ import annotations

from collections.abc import Iterable

from dractl.explain.answer import Answer
from dractl.explain.drivers import DriverView, driver_view, hinting_labels, matching_nodes
from dractl.explain.lifecycle import events_about
from dractl.explain.words import count, listing, natural, near, plural, ranges
from dractl.inventory import Inventory
from dractl.kube.objects import Pod
from dractl.rules import allocation as rules

_AUTOSCALERS = ("cluster-autoscaler", "karpenter")


def explain_unpublished(inventory: Inventory, answer: Answer, driver: str, pods: Iterable[Pod]) -> None:
    """Say what the snapshot shows about a driver of which no slice exists."""
    view = driver_view(inventory, driver)
    hints = hinting_labels(inventory, driver)
    idle = [one for one in view.workloads if one.desired == 0]
    ready = [one for one in view.workloads if one.desired and one.ready == one.desired]
    unready = [one for one in view.workloads if one.desired and one.ready < one.desired]
    for workload in idle:
        _wants_no_node(inventory, answer, view, str(workload), workload.node_selector, bool(hints))
    for workload in ready:
        labelled = _label_words(hints)
        answer.say(
            f"yet the DaemonSet {workload} is ready on {workload.ready} of {workload.desired} nodes{labelled}: the "
            "driver runs but its slices are not there, so it is refused or fails at publishing"
        )
        answer.advise(
            f"read the log of the pods of DaemonSet {workload}: look for a rejected ResourceSlice (for example a "
            "version attribute that is not a semantic version), or for missing rights on resourceslices"
        )
    for workload in unready:
        answer.say(f"the DaemonSet {workload} is ready on only {workload.ready} of {workload.desired} nodes")
        answer.advise(f"repair the pods of DaemonSet {workload} (their status and log say what is wrong)")
    _pods(inventory, answer, view, bool(view.workloads))
    _others(inventory, answer, driver)
    _autoscaler(inventory, answer, pods)
    if not view.workloads and not view.pods:
        if "DaemonSet" in inventory.kinds or "Pod" in inventory.kinds:
            answer.say(f"nothing in the snapshot looks like the driver {driver}: no DaemonSet and no pod of it")
        answer.advise(f"install the driver {driver}, or see why its pods do not run on the nodes with the hardware")


def _label_words(hints: dict[str, list[str]]) -> str:
    if not hints:
        return ""
    label, nodes = next(iter(sorted(hints.items())))
    return f", and the nodes report its hardware ({label} on {ranges(sorted(nodes, key=natural), 4)})"


def _wants_no_node(
    inventory: Inventory, answer: Answer, view: DriverView, name: str, selector: dict[str, str], hinted: bool
) -> None:
    wanted = listing([f"{key}={value}" for key, value in selector.items()], 4)
    matching = matching_nodes(inventory.nodes.values(), selector) if selector else []
    total = len(inventory.nodes)
    why = f" (its nodeSelector {wanted} matches none)" if selector and not matching else ""
    all_words = "both nodes are" if total == 2 else f"all {total} nodes are"
    nodes = all_words if total > 1 else "the node is"
    bare = "" if hinted else f": {nodes} without labels of that hardware"
    answer.say(
        f"no node could have one{bare}, and DaemonSet {name} wants 0 nodes{why}"
        if not hinted
        else f"DaemonSet {name} wants 0 nodes{why}"
    )
    if selector and hinted:
        answer.advise(f"label the nodes that have the hardware with {wanted}, so that {name} runs there")


def _pods(inventory: Inventory, answer: Answer, view: DriverView, owned: bool) -> None:
    troubled = [pod for pod in view.pods if pod.trouble]
    for pod in troubled[:4]:
        answer.say(f"the driver's pod {pod} on {pod.pod.node_name or 'no node'} is not well: {pod.trouble}")
    healthy = [pod for pod in view.pods if not pod.trouble]
    if owned or not healthy:
        return
    containers = sorted({name for pod in healthy for name in pod.containers})
    names = listing([str(pod) for pod in healthy], 3)
    where = ranges(sorted({pod.pod.node_name for pod in healthy if pod.pod.node_name}, key=natural), 4)
    runs = f"{plural(len(containers), 'container')} {listing(containers, 6)}"
    part = _missing_part(view.name, containers)
    only = f" alone, without container {part}" if part else ""
    answer.say(
        f"{plural(len(healthy), 'pod')} that {plural(len(healthy), 'looks', 'look')} like the driver's "
        f"{plural(len(healthy), 'runs', 'run')} on {where} with {runs}{only} ({names})"
    )
    if part:
        answer.advise(
            f"turn on the part of the driver's chart that serves {view.name} (for NVIDIA: resources.gpus.enabled "
            "together with gpuResourcesEnabledOverride), which brings the DeviceClass and the slices; the claim needs "
            "no change"
        )


_PARTS = {"gpu.nvidia.com": "gpus", "compute-domain.nvidia.com": "compute-domains"}
"""Drivers that are one container of a pod which serves several of them."""


def _missing_part(driver: str, containers: list[str]) -> str | None:
    part = _PARTS.get(driver)
    return part if part and part not in containers and set(containers) & set(_PARTS.values()) else None


def _others(inventory: Inventory, answer: Answer, driver: str) -> None:
    """Which drivers do publish; a name that is nearly the same is likely the one meant."""
    drivers = sorted({key.driver for key in inventory.pools})
    alike = near(driver, drivers)
    if alike:
        answer.say(f"slices of driver {listing(alike, 3)} exist; is that the one meant?")
    elif drivers:
        answer.say(f"published are slices of {listing(drivers, 6)}")
    else:
        answer.say("no driver publishes any ResourceSlice in this snapshot")


def _autoscaler(inventory: Inventory, answer: Answer, pods: Iterable[Pod]) -> None:
    for pod in pods:
        for event in events_about(inventory, None, [pod]):
            source = event.source or ""
            if event.reason == "NotTriggerScaleUp" or (source in _AUTOSCALERS and "scale" in event.message.lower()):
                who = source or "cluster-autoscaler"
                answer.say(
                    f"{who} has looked at pod {pod.meta.namespace}/{pod.meta.name} and did not scale up "
                    f"({event.message}): "
                    "devices become known only when a node runs, unless the autoscaler knows from its provider which "
                    "slices a new node of a group will have (and runs with dynamic resource allocation enabled)"
                )
                answer.advise(
                    "start one node of the group that has the devices (keep its minimum at 1), or teach the "
                    "autoscaler's node template which devices a new node has"
                )
                return


def class_missing(inventory: Inventory, answer: Answer, requests: list[tuple[str, str]], pods: Iterable[Pod]) -> None:
    """A request names a class that does not exist."""
    classes = sorted(inventory.classes)
    for request, name in requests:
        there = listing(classes, 10)
        text = f"request {request} names DeviceClass {name}, which does not exist"
        exist = plural(len(classes), "the class that exists is", "the classes that exist are")
        text += f"; {exist} {there}" if classes else "; no DeviceClass exists at all"
        answer.say(text)
        answer.find(rules.UNKNOWN_CLASS.finding(text))
        alike = near(name, classes)
        if alike:
            answer.advise(f"name class {listing(alike, 3, 'or')}, if that is meant: the name is nearly the same")
    for name in dict.fromkeys(name for _, name in requests):
        _driver_of_missing_class(inventory, answer, name, pods)


def _driver_of_missing_class(inventory: Inventory, answer: Answer, name: str, pods: Iterable[Pod]) -> None:
    """Whether a class of that name alone would help: charts name the class after the driver."""
    drivers = {key.driver for key in inventory.pools}
    if name in drivers:
        total = sum(1 for device in inventory.devices if device.driver == name)
        answer.say(f"driver {name} does publish {count(total, 'device')}; only the class is missing")
        answer.advise(f"create DeviceClass {name} (the driver's chart does that), selector device.driver == '{name}'")
        return
    if near(name, inventory.classes) or any(driver in name or name in driver for driver in drivers):
        # a class for some devices of a driver often bears its name
        return
    nodes = ranges(sorted(inventory.nodes, key=natural), 4) if len(inventory.nodes) <= 4 else "any node"
    answer.say(f"a class alone would not help: no slice of a driver {name} is published on {nodes}")
    view = driver_view(inventory, name)
    for workload in view.workloads:
        answer.say(f"DaemonSet {workload} is ready on {workload.ready} of {workload.desired} nodes")
    _pods(inventory, answer, view, bool(view.workloads))
    if drivers:
        told = [f"{driver}{_few_devices(inventory, driver)}" for driver in sorted(drivers)]
        answer.say(f"published are slices of {listing(told, 6)}")
    if not answer.actions:
        answer.advise(f"install the driver that brings class {name}, or ask for a class that exists")


def _few_devices(inventory: Inventory, driver: str) -> str:
    """The names of a driver's devices, if they are few."""
    names = sorted({device.device for device in inventory.devices if device.driver == driver}, key=natural)
    return f" ({listing(names, 4)})" if 0 < len(names) <= 4 else ""
