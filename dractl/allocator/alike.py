"""Which nodes are alike for a list of claims, so that one search answers for all of them.

The key of a node holds everything that the search can see of it, in search order, with names left out where they cannot
matter: names of pools and devices that belong to this node alone. Nodes with equal keys get equal answers, device by
device in the same places.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any

from dractl.allocator.attributes import Attributes, published_attribute
from dractl.allocator.constraint import applies_to
from dractl.allocator.pools import Pool, PoolGatherer, node_matches
from dractl.allocator.profile import Profile
from dractl.allocator.request import ClaimPlan, RequestSpec
from dractl.allocator.selection import Chain
from dractl.allocator.state import AllocatedState
from dractl.kube.node_selector import NodeSelectorError
from dractl.kube.objects import CapacityRange, Device, DeviceCapacity, Node
from dractl.kube.quantity import Quantity


class NodeKeys:
    """Keys of nodes for one list of claims."""

    def __init__(
        self,
        profile: Profile,
        gatherer: PoolGatherer,
        state: AllocatedState,
        plans: Sequence[ClaimPlan],
        attributes: Attributes,
    ) -> None:
        self._profile = profile
        self._gatherer = gatherer
        specs = list(_specs(plans))
        self._chains: list[Chain] = list({id(spec.chain): spec.chain for spec in specs}.values())
        self._attributes = sorted(
            {
                name
                for plan in plans
                for constraint in plan.constraints
                if (name := constraint.match_attribute or constraint.distinct_attribute)
            }
        )
        self._lookup = attributes
        self._derived = [
            (spec, name)
            for plan in plans
            for constraint in plan.constraints
            for spec in _specs([plan])
            if (name := constraint.match_attribute or constraint.distinct_attribute)
            and applies_to(constraint, spec)
            and attributes.expression(spec, name) is not None
        ]
        sharing = profile.features.consumable_capacity
        self._capacities = sharing and any(spec.request.capacity for spec in specs)
        self._sharing = sharing
        self._rare: dict[int, Hashable] = {}
        self._shared_keys: dict[int, Hashable] = {}
        self._held: dict[tuple[str, str], dict[str, Hashable]] = {}
        for driver, pool, device in state.exclusive | state.shared | set(state.aggregated):
            key = (driver, pool, device)
            amounts = state.aggregated.get(key)
            self._held.setdefault((driver, pool), {})[device] = (
                key in state.exclusive,
                key in state.shared,
                None if amounts is None else tuple(sorted(amounts.items())),
            )

    def key(self, node: Node, pools: Sequence[Pool]) -> Hashable:
        """The key of a node that sees these pools."""
        names: dict[str, int] = {}
        parts: list[Hashable] = []
        for pool in pools:
            # Bookkeeping of counters may go by name: which pools of the node share one is part of the key.
            same = names.setdefault(pool.name, len(names))
            local = self._gatherer.is_local(pool) and not pool.others
            parts.append((same, self._local(pool) if local else self._shared(pool, node)))
        if self._profile.features.optional_node_operations:
            parts.append("DRAOptionalNodeOperations" in node.declared_features)
        return tuple(parts)

    def _local(self, pool: Pool) -> Hashable:
        """A pool whose slices are all for this node."""
        held = self._held.get((pool.driver, pool.name))
        devices = [self._device(pool.driver, device, held) for item in pool.slices for device in item.devices]
        # Where a slice ends matters to 1.34, which counts devices and counters by slice.
        slices = tuple(
            (
                len(item.devices),
                tuple(item.skip_node_operations),
                tuple((one.name, _amounts(one.counters)) for one in item.shared_counters),
            )
            for item in pool.slices
        )
        counters = tuple((name, _amounts(item.counters)) for name, item in sorted(pool.counter_sets.items()))
        return (pool.driver, pool.status, pool.complete, slices, tuple(devices), counters)

    def _shared(self, pool: Pool, node: Node) -> Hashable:
        """A pool that other nodes may see: itself, and which of its devices are for this node."""
        if not any(item.per_device_node_selection for item in pool.slices):
            return id(pool)
        mine = []
        for item in pool.slices:
            if item.per_device_node_selection:
                for device in item.devices:
                    try:
                        mine.append(node_matches(node, device.node_name, device.all_nodes, device.node_selector))
                    except NodeSelectorError:
                        mine.append(False)
        return (id(pool), tuple(mine))

    def _device(self, driver: str, device: Device, held: dict[str, Hashable] | None) -> Hashable:
        rare = self._rare.get(id(device), self)
        if rare is self:
            rare = self._rare[id(device)] = self._rare_key(device)
        key: list[Any] = [rare, None if held is None else held.get(device.name)]
        for chain in self._chains:
            found = chain.by_device.get(id(device))
            key.append(id(chain.verdict(driver, device) if found is None else found))
        for name in self._attributes:
            attribute = published_attribute(driver, device, name)
            key.append(None if attribute is None else (attribute.kind, attribute.value))
        for spec, name in self._derived:
            key.append(self._lookup.key(spec, driver, device, name))
        return tuple(key)

    def _rare_key(self, device: Device) -> Hashable:
        """What most devices do not have; and capacity, where it can matter."""
        multi = self._sharing and device.allow_multiple_allocations
        capacity: Hashable = None
        if self._sharing and (
            self._capacities
            or multi
            or any(c.request_policy is not None or c.value.nano < 0 for c in device.capacity.values())
        ):
            capacity = tuple((name, _capacity(item)) for name, item in sorted(device.capacity.items()))
        plain = not (
            device.taints
            or device.consumes_counters
            or device.binding_conditions is not None
            or device.binds_to_node
            or device.allow_multiple_allocations
        )
        if plain:
            return capacity
        return (
            capacity,
            multi,
            tuple((taint.key, taint.value, taint.effect) for taint in device.taints),
            tuple(
                (use.counter_set, _amounts(use.counters), tuple(use.compatibility_groups))
                for use in device.consumes_counters
            ),
            None if device.binding_conditions is None else tuple(device.binding_conditions),
            tuple(device.binding_failure_conditions or ()),
            device.binds_to_node,
            device.allow_multiple_allocations,
        )


def _specs(plans: Sequence[ClaimPlan]) -> Iterable[RequestSpec]:
    for plan in plans:
        for request in plan.requests:
            for spec in request.specs:
                if spec is not None:
                    yield spec


def _amounts(counters: dict[str, Quantity]) -> Hashable:
    return tuple(sorted((name, amount.nano) for name, amount in counters.items()))


def _capacity(item: DeviceCapacity) -> Hashable:
    policy = item.request_policy
    if policy is None:
        return _form(item.value)
    return (
        _form(item.value),
        _form(policy.default),
        tuple(map(_form, policy.valid_values)),
        _range(policy.valid_range),
    )


def _range(bounds: CapacityRange | None) -> Hashable:
    return None if bounds is None else (_form(bounds.min), _form(bounds.max), _form(bounds.step))


def _form(quantity: Quantity | None) -> Hashable:
    """A quantity with its spelling, which results and some comparisons show."""
    return None if quantity is None else (quantity.nano, quantity.notation, quantity.text)
