"""Nodes that a driver does not reach: no pod of it there, slices without devices, labels that are gone."""

from __future__ import annotations

from collections.abc import Iterable

from dractl.explain.answer import Answer
from dractl.explain.case import Case
from dractl.explain.drivers import driver_view, hinting_labels
from dractl.explain.eligibility import pod_on_node
from dractl.explain.words import listing, natural, plural, ranges
from dractl.inventory import Inventory
from dractl.kube.decode import DecodeError, decode
from dractl.kube.objects import Node, NodeSelector, Pod, Toleration

_NO = ("false", "0", "no", "")

_ADDED = tuple(
    Toleration(key=f"node.kubernetes.io/{key}", operator="Exists")
    for key in ("not-ready", "unreachable", "disk-pressure", "memory-pressure", "pid-pressure", "unschedulable")
)
"""What the DaemonSet controller adds to the pods of every DaemonSet."""


def explain_unreached(case: Case, answer: Answer, driver: str, nodes: Iterable[str]) -> None:
    """Say which of the nodes look as if they had the driver's hardware, and why nothing of it is published there."""
    inventory = case.inventory
    view = driver_view(inventory, driver)
    if not view.seen or not view.workloads:
        return
    labels = {
        label: [name for name in names if inventory.nodes[name].meta.labels[label].lower() not in _NO]
        for label, names in hinting_labels(inventory, driver).items()
    }
    there = {name for key, pool in inventory.pools.items() if key.driver == driver for name in pool.nodes}
    with_pod = {one.pod.node_name for one in view.pods}
    for name in sorted(nodes, key=natural):
        hints = sorted(label for label, names in labels.items() if name in names)
        if name in there or not hints or name not in inventory.nodes:
            continue
        label = f"{hints[0]}={inventory.nodes[name].meta.labels[hints[0]]}"
        lead = f"{name} carries {label}, but no slice of {driver} is published for it"
        troubled = [one for one in view.pods if one.pod.node_name == name and one.trouble]
        if troubled:
            answer.say(f"{lead}: the driver's pod {troubled[0]} there is not well ({troubled[0].trouble})")
            answer.advise(f"repair the driver's pod {troubled[0]} on {name}")
        elif name in with_pod:
            answer.say(f"{lead}, although a pod of the driver runs there")
            answer.advise(f"read the log of the driver {driver} on {name}: it finds no device, or may not publish")
        elif (kept := _kept_off(inventory, str(view.workloads[0]), inventory.nodes[name])) is not None:
            answer.say(f"{lead}: DaemonSet {view.workloads[0]} does not run there ({kept})")
            answer.advise(
                f"let DaemonSet {view.workloads[0]} run on {name}: change its pod template (tolerations, nodeSelector, "
                f"affinity) or the node, so that this does not keep it off any more: {kept}"
            )


def _kept_off(inventory: Inventory, workload: str, node: Node) -> str | None:
    """Why the pods of a DaemonSet may not run on a node; None if nothing keeps them off."""
    body = next(
        (
            item.body
            for item in inventory.others
            if item.kind == "DaemonSet" and f"{item.meta.namespace}/{item.meta.name}" == workload
        ),
        None,
    )
    template = ((body or {}).get("spec") or {}).get("template") or {}
    spec = template.get("spec")
    if not isinstance(spec, dict):
        return None
    metadata = {"name": "p", "namespace": "n"}
    try:
        pod = decode({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})
    except DecodeError:
        return None
    assert isinstance(pod, Pod)
    pod.tolerations = [*pod.tolerations, *_ADDED]
    return listing([reason.text for reason in pod_on_node(pod, node).reasons], 3) or None


def explain_empty(inventory: Inventory, answer: Answer, driver: str) -> None:
    """A driver whose slices hold no device: it runs, but does not find its hardware."""
    pools = [pool for key, pool in inventory.pools.items() if key.driver == driver]
    empty = [item for pool in pools for item in pool.current if not item.devices and not item.shared_counters]
    if not empty or any(item.devices for pool in pools for item in pool.current):
        return
    nodes = sorted({item.node_name for item in empty if item.node_name}, key=natural)
    where = f" for {ranges(nodes, 4)}" if nodes else ""
    names = listing(sorted(item.meta.name for item in empty), 3)
    hints = [
        f"{label}={inventory.nodes[name].meta.labels[label]}"
        for label, names_of in sorted(hinting_labels(inventory, driver).items())
        for name in names_of
        if name in nodes
    ]
    labelled = f", though the node labels speak of it ({listing(dict.fromkeys(hints), 3)})" if hints else ""
    answer.say(
        f"driver {driver} publishes {plural(len(empty), 'slice')} {names}{where} without any device: it runs, but "
        f"finds no hardware{labelled}"
    )
    root = ", or the root under which it looks for driver and libraries is another one" if "nvidia" in driver else ""
    answer.advise(
        f"read the log of driver {driver} on {ranges(nodes, 3) or 'its nodes'}: often the kernel driver of the devices "
        f"is not loaded there{root}; dractl discover on the node shows what is there"
    )


def explain_labels(inventory: Inventory, answer: Answer, driver: str) -> None:
    """Slices that are for nodes with certain labels, which no node carries."""
    told: set[str] = set()
    for key, pool in inventory.pools.items():
        if key.driver != driver:
            continue
        for item in pool.current:
            selector = item.node_selector
            if selector is None or not inventory.nodes:
                continue
            lacking = _lacking(inventory, selector)
            if lacking and lacking not in told:
                told.add(lacking)
                answer.say(f"pool {key.pool}: {lacking}")
                answer.advise(
                    f"give the nodes that can reach pool {key.pool} the label back that its slices ask for, or see why "
                    f"driver {driver} publishes them for other nodes"
                )


def _lacking(inventory: Inventory, selector: NodeSelector) -> str:
    """Which labels of a selector no node carries, and what there is instead."""
    keys = dict.fromkeys(one.key for term in selector.terms for one in term.match_expressions)
    parts = []
    for key in keys:
        wanted = {
            value for term in selector.terms for one in term.match_expressions if one.key == key for value in one.values
        }
        values = {node.meta.labels[key] for node in inventory.nodes.values() if key in node.meta.labels}
        if not values:
            parts.append(f"no node has a label {key}")
        elif wanted and not wanted & values:
            there = listing(sorted(values, key=natural), 4)
            parts.append(f"no node has {key}={listing(sorted(wanted, key=natural), 3, 'or')}, there is {there}")
    return listing(parts, 3)
