"""How many more of a claim fit, by node and in all: one after another, until kube-scheduler would find no more."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import Any

from dractl.allocator.allocator import Allocator
from dractl.allocator.profile import Profile
from dractl.allocator.search import Limits
from dractl.explain.alike import nodes_by_pool
from dractl.explain.case import DOES_NOT_FIT, ERROR, FITS, freed
from dractl.explain.judge import drivers_named
from dractl.explain.words import count, natural
from dractl.inventory import Inventory, Key, key_of
from dractl.kube.objects import ClaimRequest, Meta, Node, ResourceClaim
from dractl.report import API_VERSION, to_plain
from dractl.simulate.cluster import Cluster, Unit, nodes_of

MOST = 1000
"""Copies on one node after which counting stops: a device without capacity can be shared without limit."""


_STEPS = 50_000
"""Steps of one search for a better arrangement of what is on a node."""


@dataclass(slots=True)
class NodeCapacity:
    """Copies on one node: ``now`` on top of what is in use, ``idle`` if nothing were.

    ``defragmented`` is how many there could be if the claims on the node had others of its devices; None where that
    could not be found out. ``error`` is set where the allocator fails.
    """

    node: str
    now: int
    idle: int
    error: str = ""
    cordoned: bool = False
    defragmented: int | None = None


@dataclass(slots=True)
class PoolUse:
    """How far a pool is used.

    ``total_devices`` and ``allocated_devices`` are counted as in the status of a ResourcePoolStatusRequest: devices of
    the newest generation, and results of allocations (shares and admin access included). ``held_devices`` are devices
    that anybody has, each once. ``lost`` is how many copies its node could hold more if it were defragmented.
    """

    driver: str
    pool: str
    nodes: list[str]
    complete: bool
    total_devices: int
    allocated_devices: int
    held_devices: int
    lost: int | None = None


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
    defragmented: int | None = None
    pools: list[PoolUse] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """The report as plain data."""
        return {"apiVersion": API_VERSION, "kind": "Capacity", **to_plain(self)}


@dataclass(slots=True)
class _Counts:
    """Copies by node, errors, and the group that each node is alike with."""

    numbers: dict[str, int]
    errors: dict[str, str]
    groups: dict[str, int]
    cluster: Cluster


def capacity(inventory: Inventory, profile: Profile, claim: ResourceClaim, release: str, limits: Limits) -> Capacity:
    """Count copies of ``claim``: how many more now, how many if nodes were defragmented, and how many on an idle fleet.

    Devices of a node are counted apart from those of other nodes. Where a claim could take devices that several nodes
    share, the nodes are filled one after another, and each node's number is what is left by those before it.
    """
    without = Inventory(
        [item for item in inventory.objects if item is not claim], inventory.provenance
    )  # the claim itself, if it waits, is not in the way
    now = _counts(without, profile, claim, limits)
    idle = _counts(freed(without), profile, claim, limits)
    better = _defragmented(without, profile, claim, now, idle.numbers)
    nodes = nodes_of(inventory)
    rows = [
        NodeCapacity(
            name,
            now.numbers.get(name, 0),
            idle.numbers.get(name, 0),
            now.errors.get(name, ""),
            nodes[name].unschedulable,
            better.get(name),
        )
        for name in sorted(nodes, key=natural)
    ]
    name = f"{claim.meta.namespace}/{claim.meta.name}" if claim.meta.namespace else claim.meta.name
    bounded = all(item.idle < MOST and item.now < MOST for item in rows)
    notes = ["pod rules (cordons, node taints, selectors) are left aside: the numbers are those of the devices"]
    if any(item.cordoned and item.now for item in rows):
        notes.append("cordoned nodes are counted; they are marked")
    found = [item.defragmented for item in rows if item.defragmented is not None]
    if len(found) < len(rows):
        unknown = count(len(rows) - len(found), "node")
        notes.append(f"on {unknown} it is not known what defragmenting would bring (the search takes too long)")
    return Capacity(
        name,
        release,
        sum(item.now for item in rows),
        sum(item.idle for item in rows),
        bounded,
        rows,
        notes,
        sum(found) if len(found) == len(rows) else None,
        _pools(inventory, claim, rows),
    )


def _counts(inventory: Inventory, profile: Profile, claim: ResourceClaim, limits: Limits) -> _Counts:
    cluster = Cluster(inventory, profile, limits)
    found = cluster.allocator.allocate_nodes([claim], cluster.nodes, limits)
    errors = {name: item.error or "" for name, item in found.by_node.items() if item.verdict == ERROR}
    groups = {name: item.group for name, item in found.by_node.items()}
    counts: dict[str, int] = {}
    if any(item.node_name is None and item.devices for item in inventory.slices):
        for node in cluster.nodes:
            counts[node.meta.name] = _fill(cluster, claim, node)
        return _Counts(counts, errors, groups, cluster)
    nodes = {node.meta.name: node for node in cluster.nodes}
    for group in found.groups:
        number = 0
        if found.by_node[group[0]].verdict == FITS:
            number = _fill(cluster, claim, nodes[group[0]])
        counts.update(dict.fromkeys(group, number))
    return _Counts(counts, errors, groups, cluster)


def _defragmented(
    inventory: Inventory, profile: Profile, claim: ResourceClaim, now: _Counts, idle: Mapping[str, int]
) -> dict[str, int]:
    """The most copies beside the claims of a node if those may have others of its devices; absent where not found out.

    Claims that hold devices of several nodes, or of pools that several nodes see, stay as they are.
    """
    movable = _movable(inventory)
    allocator = Cluster(inventory, profile, Limits()).allocator
    known: dict[Hashable, int | None] = {}
    out: dict[str, int] = {}
    for node in now.cluster.nodes:
        name = node.meta.name
        fit, most = now.numbers.get(name, 0), idle.get(name, 0)
        claims = movable.get(name, [])
        if fit >= most or not claims or most >= MOST:
            out[name] = fit
            continue
        key = (now.groups.get(name), fit, most, tuple(sorted(repr(one.spec) for one in claims)))
        if key not in known:
            held = {id(one) for one, _ in _pairs(inventory, claims)}
            rest = [one for one in inventory.claims.values() if one.allocation is not None and id(one) not in held]
            known[key] = _rearranged(allocator.holding(rest), claims, claim, node, fit, most)
        number = known[key]
        if number is not None:
            out[name] = number
    return out


def _rearranged(
    allocator: Allocator, claims: Sequence[ResourceClaim], claim: ResourceClaim, node: Node, fit: int, most: int
) -> int | None:
    best = fit
    for number in range(fit + 1, most + 1):
        copies = [ResourceClaim(Meta(name=f"copy-{index}"), claim.spec) for index in range(number)]
        # those that are hard to place go first, or else the search takes much longer
        ordered = sorted([*claims, *copies], key=lambda one: (-len(one.spec.constraints), -len(one.spec.requests)))
        verdict = allocator.allocate(ordered, node, Limits(steps=_STEPS)).verdict
        if verdict == FITS:
            best = number
        elif verdict == DOES_NOT_FIT:
            return best
        else:
            return None
    return best


def _movable(inventory: Inventory) -> dict[str, list[ResourceClaim]]:
    """The claims of each node that could have others of its devices, without their allocation.

    An alternative that was chosen stays chosen.
    """
    seen_by = nodes_by_pool(inventory.slices)
    found: dict[str, list[ResourceClaim]] = {}
    for claim in inventory.claims.values():
        results = claim.allocation.results if claim.allocation is not None else []
        nodes: set[str] = set()
        for result in results:
            seen = seen_by.get((result.driver, result.pool))
            nodes |= {""} if seen is None or len(seen) != 1 else seen
        if len(nodes) == 1 and "" not in nodes and not any(result.admin_access for result in results):
            chosen = {result.request for result in results}
            requests = [_as_chosen(request, chosen) for request in claim.spec.requests]
            free = replace(claim, allocation=None, spec=replace(claim.spec, requests=requests))
            found.setdefault(nodes.pop(), []).append(free)
    return found


def _as_chosen(request: ClaimRequest, chosen: Set[str]) -> ClaimRequest:
    kept = [one for one in request.first_available if f"{request.name}/{one.name}" in chosen]
    return replace(request, first_available=kept) if kept else request


def _pairs(inventory: Inventory, free: Iterable[ResourceClaim]) -> list[tuple[ResourceClaim, ResourceClaim]]:
    """Each claim of the inventory beside its form without an allocation."""
    return [(inventory.claims[key_of(one)], one) for one in free]


def _pools(inventory: Inventory, claim: ResourceClaim, rows: Sequence[NodeCapacity]) -> list[PoolUse]:
    """The pools of the drivers that the claim's classes are about."""
    specs = [one for request in claim.spec.requests for one in [request.exactly, *request.first_available] if one]
    classes = [inventory.classes[one.device_class_name] for one in specs if one.device_class_name in inventory.classes]
    drivers = {driver for one in classes for driver in drivers_named(one)}
    lost = {row.node: row.defragmented - row.now for row in rows if row.defragmented is not None}
    given: Counter[tuple[str, str]] = Counter()
    held: dict[tuple[str, str], set[str]] = {}
    for one in inventory.claims.values():
        for result in one.allocation.results if one.allocation is not None else []:
            given[result.driver, result.pool] += 1
            if not result.admin_access:
                held.setdefault((result.driver, result.pool), set()).add(result.device)
    out = []
    for key, pool in inventory.pools.items():
        if key.driver not in drivers or not pool.current:
            continue
        names = {device.id.device for device in pool.devices()}
        nodes = sorted(pool.nodes, key=natural)
        out.append(
            PoolUse(
                key.driver,
                key.pool,
                nodes,
                pool.complete,
                sum(len(item.devices) for item in pool.current),
                given[key.driver, key.pool],
                len(held.get((key.driver, key.pool), set()) & names),
                lost.get(nodes[0]) if len(nodes) == 1 else None,
            )
        )
    return out


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
