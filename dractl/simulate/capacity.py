"""How many more of a claim fit, by node and in all: one after another, until kube-scheduler would find no more."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from dractl.allocator.allocator import Allocator
from dractl.allocator.profile import Profile
from dractl.allocator.search import Limits
from dractl.explain.case import ERROR, FITS, freed
from dractl.explain.words import natural
from dractl.inventory import Inventory, Key
from dractl.kube.objects import Meta, Node, ResourceClaim
from dractl.report import API_VERSION, to_plain
from dractl.simulate.cluster import Cluster, Unit, nodes_of

MOST = 1000
"""Copies on one node after which counting stops: a device without capacity can be shared without limit."""


@dataclass(slots=True)
class NodeCapacity:
    """``now`` on top of what is in use, ``idle`` if nothing were; ``error`` where the allocator fails."""

    node: str
    now: int
    idle: int
    error: str = ""
    cordoned: bool = False


@dataclass(slots=True)
class Capacity:
    """How many copies of a claim fit. ``bounded`` is False where counting stopped at ``MOST``."""

    claim: str
    kubernetes: str
    now: int
    idle: int
    bounded: bool
    nodes: list[NodeCapacity]
    notes: list[str] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """The report as plain data."""
        return {"apiVersion": API_VERSION, "kind": "Capacity", **to_plain(self)}


def capacity(inventory: Inventory, profile: Profile, claim: ResourceClaim, release: str, limits: Limits) -> Capacity:
    """Count copies of ``claim``: how many more now, and how many on an idle fleet.

    Devices of a node are counted apart from those of other nodes. Where a claim could take devices that several nodes
    share, the nodes are filled one after another, and each node's number is what is left by those before it.
    """
    without = Inventory(
        [item for item in inventory.objects if item is not claim], inventory.provenance
    )  # the claim itself, if it waits, is not in the way
    now, errors = _counts(without, profile, claim, limits)
    idle, _ = _counts(freed(without), profile, claim, limits)
    nodes = nodes_of(inventory)
    rows = [
        NodeCapacity(name, now.get(name, 0), idle.get(name, 0), errors.get(name, ""), nodes[name].unschedulable)
        for name in sorted(nodes, key=natural)
    ]
    name = f"{claim.meta.namespace}/{claim.meta.name}" if claim.meta.namespace else claim.meta.name
    bounded = all(item.idle < MOST and item.now < MOST for item in rows)
    notes = ["pod rules (cordons, node taints, selectors) are left aside: the numbers are those of the devices"]
    if any(item.cordoned and item.now for item in rows):
        notes.append("cordoned nodes are counted; they are marked")
    return Capacity(
        name, release, sum(item.now for item in rows), sum(item.idle for item in rows), bounded, rows, notes
    )


def _counts(
    inventory: Inventory, profile: Profile, claim: ResourceClaim, limits: Limits
) -> tuple[dict[str, int], dict[str, str]]:
    nodes = nodes_of(inventory)
    allocator = Allocator(
        profile,
        inventory.slices,
        inventory.classes.values(),
        [item for item in inventory.claims.values() if item.allocation is not None],
        inventory.taint_rules,
    )
    found = allocator.allocate_nodes([claim], nodes.values(), limits)
    errors = {name: item.error or "" for name, item in found.by_node.items() if item.verdict == ERROR}
    shared = any(item.node_name is None and item.devices for item in inventory.slices)
    counts: dict[str, int] = {}
    if shared:
        cluster = Cluster(inventory, profile, limits)
        for name, node in sorted(nodes.items(), key=lambda one: natural(one[0])):
            counts[name] = _fill(cluster, claim, node)
        return counts, errors
    for group in found.groups:
        number = 0
        if found.by_node[group[0]].verdict == FITS:
            number = _fill(Cluster(inventory, profile, limits), claim, nodes[group[0]])
        counts.update(dict.fromkeys(group, number))
    return counts, errors


def _fill(cluster: Cluster, claim: ResourceClaim, node: Node) -> int:
    number = 0
    while number < MOST:
        unit = Unit("", [ResourceClaim(Meta(name=f"copy-{number}", namespace=claim.meta.namespace), claim.spec)])
        result = cluster.results(unit, [node]).get(node.meta.name)
        if result is None or result.verdict != FITS or not any(one.results for one in result.allocations or []):
            break
        cluster.take(unit, result)
        number += 1
    return number


def find_claim(inventory: Inventory, text: str, namespace: str) -> ResourceClaim | None:
    """A claim or a template of the cluster by ``NAME`` or ``NS/NAME``, as a claim."""
    space, _, name = text.rpartition("/")
    key = Key(space or namespace, name)
    if key in inventory.claims:
        return inventory.claims[key]
    template = inventory.templates.get(key)
    if template is None:
        return None
    return ResourceClaim(Meta(name=template.meta.name, namespace=template.meta.namespace), template.spec)
