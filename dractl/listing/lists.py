"""The other lists of ``dractl get``: pools, slices, claims, templates, classes, nodes and taints."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

from dractl.explain.lifecycle import age_of, since
from dractl.inventory import Inventory, Pool, key_of
from dractl.kube.objects import ClaimRequest, DeviceRequest, DeviceSelector, Node, ResourceClaim, ResourceSlice
from dractl.listing.devices import device_rows, nodes_text, pool_rows, rule_matches, taint_text
from dractl.listing.filters import selects
from dractl.listing.rows import (
    ClaimRow,
    ClassRow,
    DriverCount,
    NodeRow,
    NodeStatus,
    PoolRow,
    PoolStatus,
    RequestRow,
    SliceRow,
    TaintRow,
    TemplateRow,
)

ClassMatcher = Callable[[list[DeviceSelector]], tuple[int | None, list[str]]]
"""Selectors of a class -> how many devices they take (None: cannot be told), and errors."""


def pool_list(inventory: Inventory) -> list[PoolRow]:
    """Pools, by driver and name."""
    rows = []
    for pool in inventory.pools.values():
        devices = list(pool_rows(inventory, pool))
        rows.append(
            PoolRow(
                driver=pool.id.driver,
                pool=pool.id.pool,
                generation=pool.generation,
                slices=len(pool.current),
                expected_slices=pool.expected_slices,
                status=_pool_status(pool),
                devices=len(devices),
                free=sum(row.state == "free" for row in devices),
                former_slices=len(pool.former),
                nodes=pool.nodes,
            )
        )
    return rows


def _pool_status(pool: Pool) -> PoolStatus:
    if not pool.counts_agree:
        return "counts-differ"
    return "complete" if pool.complete else "incomplete"


def slice_list(inventory: Inventory) -> list[SliceRow]:
    """Slices, by name."""
    current = {id(item) for pool in inventory.pools.values() for item in pool.current}
    return [
        _slice(inventory, item, id(item) in current)
        for item in sorted(inventory.slices, key=lambda item: item.meta.name)
    ]


def _slice(inventory: Inventory, item: ResourceSlice, current: bool) -> SliceRow:
    return SliceRow(
        name=item.meta.name,
        driver=item.driver,
        pool=item.pool.name,
        generation=item.pool.generation,
        current=current,
        devices=len(item.devices),
        shared_counters=len(item.shared_counters),
        node=item.node_name or None,
        nodes=nodes_text(item),
        age=age_of(inventory, item.meta),
    )


def claim_list(inventory: Inventory) -> list[ClaimRow]:
    """Claims, by namespace and name."""
    return [_claim(inventory, claim) for claim in inventory.claims.values()]


def _claim(inventory: Inventory, claim: ResourceClaim) -> ClaimRow:
    allocation = claim.allocation
    results = allocation.results if allocation else []
    pods = [item.name for item in claim.reserved_for] or [
        pod.meta.name for pod in inventory.claim_pods.get(key_of(claim), [])
    ]
    return ClaimRow(
        namespace=claim.meta.namespace,
        name=claim.meta.name,
        state=claim_state(claim),
        requests=request_rows(claim.spec.requests),
        devices=[f"{result.driver}/{result.pool}/{result.device}" for result in results],
        nodes=_allocation_nodes(inventory, claim),
        pods=pods,
        age=age_of(inventory, claim.meta),
    )


def claim_state(claim: ResourceClaim) -> str:
    """The STATE column of kubectl: deleted, pending, allocated, reserved, joined by commas."""
    states = ["deleted"] if claim.meta.deletion_timestamp else []
    if claim.allocation is None:
        return "deleted" if states else "pending"
    states.append("allocated")
    if claim.reserved_for:
        states.append("reserved")
    return ",".join(states)


def _allocation_nodes(inventory: Inventory, claim: ResourceClaim) -> list[str]:
    """The nodes on which an allocation can be used; empty where it is not bound to nodes."""
    selector = claim.allocation.node_selector if claim.allocation else None
    if selector is None:
        return []
    named = {
        value
        for term in selector.terms
        for field in term.match_fields
        if field.key == "metadata.name" and field.operator == "In"
        for value in field.values
    }
    matching = {name for name, node in inventory.nodes.items() if selects(selector, node)}
    return sorted(matching or named)


def request_rows(requests: Iterable[ClaimRequest]) -> list[RequestRow]:
    """One row for each request, or for each of its alternatives."""
    rows = []
    for request in requests:
        if request.exactly is not None:
            rows.append(_request(request.name, request.exactly))
        rows.extend(_request(f"{request.name}/{one.name}", one) for one in request.first_available)
    return rows


def _request(name: str, request: DeviceRequest) -> RequestRow:
    every = request.allocation_mode == "All"
    return RequestRow(
        name=name,
        class_=request.device_class_name,
        mode=request.allocation_mode or "ExactCount",
        count=None if every else request.count or 1,
        selectors=[selector.cel for selector in request.selectors if selector.cel is not None],
        admin_access=request.admin_access or None,
    )


def template_list(inventory: Inventory) -> list[TemplateRow]:
    """Templates, by namespace and name, with the number of pods that name them."""
    used = Counter(
        (pod.meta.namespace, entry.resource_claim_template_name)
        for pod in inventory.pods.values()
        for entry in pod.resource_claims
    )
    return [
        TemplateRow(
            namespace=key.namespace,
            name=key.name,
            requests=request_rows(template.spec.requests),
            pods=used[(key.namespace, key.name)],
            age=age_of(inventory, template.meta),
        )
        for key, template in inventory.templates.items()
    ]


def class_list(inventory: Inventory, match: ClassMatcher) -> list[ClassRow]:
    """Classes, by name."""
    specs = [claim.spec for claim in inventory.claims.values()]
    used = Counter(row.class_ for spec in specs for row in request_rows(spec.requests))
    rows = []
    for name, item in inventory.classes.items():
        devices, errors = match(item.selectors)
        rows.append(
            ClassRow(
                name=name,
                devices=devices,
                requests=used[name],
                selectors=[selector.cel for selector in item.selectors if selector.cel is not None],
                errors=errors,
                extended_resource_name=item.extended_resource_name,
                age=age_of(inventory, item.meta),
            )
        )
    return rows


def node_list(inventory: Inventory) -> list[NodeRow]:
    """Nodes, by name: those that are known, and those that only slices name."""
    counts: dict[str, Counter[str]] = {}
    free: dict[str, Counter[str]] = {}
    for device in device_rows(inventory):
        if device.node:
            counts.setdefault(device.node, Counter())[device.driver] += 1
            free.setdefault(device.node, Counter())[device.driver] += device.state == "free"
    rows = []
    for name in sorted(inventory.nodes.keys() | counts.keys()):
        drivers = counts.get(name, Counter())
        rows.append(
            _node(
                inventory,
                name,
                [DriverCount(driver, drivers[driver], free[name][driver]) for driver in sorted(drivers)],
            )
        )
    return rows


def _node(inventory: Inventory, name: str, drivers: list[DriverCount]) -> NodeRow:
    node = inventory.nodes.get(name)
    if node is None:
        return NodeRow(name, "missing" if inventory.nodes else "Unknown", None, drivers)
    taints = [f"{taint.key}{f'={taint.value}' if taint.value else ''}:{taint.effect}" for taint in node.taints]
    return NodeRow(
        name=name,
        status=node_status(node),
        schedulable=not node.unschedulable,
        drivers=drivers,
        taints=taints,
        kubelet=node.kubelet_version or None,
        age=age_of(inventory, node.meta),
    )


def node_status(node: Node) -> NodeStatus:
    """Ready, NotReady or Unknown, by the node's condition."""
    ready = next((condition.status for condition in node.conditions if condition.type == "Ready"), None)
    if ready == "True":
        return "Ready"
    return "NotReady" if ready == "False" else "Unknown"


def taint_list(inventory: Inventory) -> list[TaintRow]:
    """Taints of devices: one row for each DeviceTaintRule, and one for each equal taint that a driver set in a pool."""
    rows = []
    for rule in inventory.taint_rules:
        selector = rule.selector
        rows.append(
            TaintRow(
                key=rule.taint.key,
                value=rule.taint.value,
                effect=rule.taint.effect,
                source=rule.meta.name,
                driver=selector.driver if selector else None,
                pool=selector.pool if selector else None,
                device=selector.device if selector else None,
                devices=sum(rule_matches(rule, key) for key in inventory.devices),
                time_added=rule.taint.time_added,
                age=since(inventory, rule.taint.time_added),
            )
        )
    published: dict[tuple[str, str, str, str, str], list[TaintRow]] = {}
    for device in device_rows(inventory):
        for taint in device.taints:
            if taint.source == "driver":
                taint.driver, taint.pool, taint.device = device.driver, device.pool, device.device
                key = (device.driver, device.pool, taint.key, taint.value, taint.effect)
                published.setdefault(key, []).append(taint)
    for members in published.values():
        first = members[0]
        first.devices = len(members)
        first.device = first.device if len(members) == 1 else None
        first.age = since(inventory, first.time_added)
        rows.append(first)
    return rows


def taint_name(taint: TaintRow) -> str:
    """``key=value:Effect`` without its source."""
    return taint_text(taint).partition(" (")[0]
