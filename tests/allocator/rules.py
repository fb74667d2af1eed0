"""An independent judge of allocations, written from the API reference of resource.k8s.io/v1, and a brute force search.

It shares nothing with the allocator but the objects, CEL and node selectors. It speaks of what the documentation
promises, so it judges answers of a profile without quirks.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from dractl.allocator import Profile
from dractl.cel.derived import DerivedError, derive
from dractl.cel.selector import compile_selector
from dractl.kube.node_selector import matches
from dractl.kube.objects import (
    Allocation,
    AllocationDevice,
    ClaimRequest,
    Device,
    DeviceAttribute,
    DeviceClass,
    DeviceConstraint,
    DeviceRequest,
    DeviceTaint,
    DeviceToleration,
    Node,
    NodeSelector,
    ResourceClaim,
    ResourceSlice,
)
from dractl.kube.quantity import Quantity

Id = tuple[str, str, str]


@dataclass(eq=False)
class Published:
    """A device that a node may use."""

    id: Id
    device: Device
    slice: ResourceSlice


@dataclass(eq=False)
class Given:
    """A device given to a request, or to one alternative."""

    request: ClaimRequest
    exact: DeviceRequest
    sub: bool
    published: Published

    @property
    def name(self) -> str:
        return f"{self.request.name}/{self.exact.name}" if self.sub else self.request.name

    @property
    def admin(self) -> bool:
        return bool(self.exact.admin_access) and not self.sub


@dataclass(eq=False)
class World:
    """A cluster as the judge sees it."""

    profile: Profile
    slices: list[ResourceSlice]
    classes: dict[str, DeviceClass]
    allocated: list[ResourceClaim]
    problems: list[str] = field(default_factory=list)

    # --- what a node may use -------------------------------------------------------------------------------------

    def devices(self, node: Node) -> list[Published]:
        """Devices of complete, sound pools at their newest generation that are for the node."""
        result = []
        for pool in sorted({(s.driver, s.pool.name) for s in self.slices}):
            members = [s for s in self.slices if (s.driver, s.pool.name) == pool]
            newest = max(s.pool.generation for s in members)
            members = [s for s in members if s.pool.generation == newest]
            # Without the feature, slices that need it do not exist for the scheduler.
            mine = [s for s in members if self.known(s) and self.is_for(node, s)]
            if not mine or len(members) != mine[0].pool.resource_slice_count or not self.sound(members, mine):
                continue
            for item in mine:
                if not item.shared_counters:
                    result += [
                        Published((*pool, d.name), d, item)
                        for d in item.devices
                        if not item.per_device_node_selection
                        or self.fits(node, d.node_name, d.all_nodes, d.node_selector)
                    ]
        return result

    def known(self, item: ResourceSlice) -> bool:
        partitionable = self.profile.features.partitionable_devices
        return partitionable or (item.per_device_node_selection is None and not item.shared_counters)

    def is_for(self, node: Node, item: ResourceSlice) -> bool:
        if item.per_device_node_selection:
            return any(self.fits(node, d.node_name, d.all_nodes, d.node_selector) for d in item.devices)
        return self.fits(node, item.node_name, item.all_nodes, item.node_selector)

    @staticmethod
    def fits(node: Node, name: str | None, everywhere: bool | None, selector: NodeSelector | None) -> bool:
        if name:
            return name == node.meta.name
        return bool(everywhere) or (selector is not None and matches(selector, node.meta.name, node.meta.labels))

    def sound(self, members: Sequence[ResourceSlice], mine: Sequence[ResourceSlice]) -> bool:
        names = [d.name for s in mine if not s.shared_counters for d in s.devices]
        if len(names) != len(set(names)):
            return False
        if not self.profile.features.partitionable_devices:
            return True
        sets = [c for s in members for c in s.shared_counters]
        known = {c.name: set(c.counters) for c in sets}
        if len(known) != len(sets):
            return False
        uses = [u for s in members if not s.shared_counters for d in s.devices for u in d.consumes_counters]
        return all(u.counter_set in known and set(u.counters) <= known[u.counter_set] for u in uses)

    # --- one device ----------------------------------------------------------------------------------------------

    def selected(self, exact: DeviceRequest, published: Published) -> bool | None:
        """Whether class and request choose the device; None where a selector fails."""
        if published.device.binding_conditions and not self.profile.features.binding_conditions:
            return False
        for selector in [*self.classes[exact.device_class_name].selectors, *exact.selectors]:
            outcome = compile_selector(selector.cel or "", self.profile.environment()).evaluate(
                published.id[0], published.device
            )
            if outcome.error is not None:
                return None
            if not outcome.match:
                return False
        return True

    def suits(self, exact: DeviceRequest, published: Published, admin: bool) -> bool:
        """Whether a request could have a selected device if the cluster's other claims were all that mattered."""
        device = published.device
        if self.profile.features.device_taints and any(
            taint.effect in ("NoSchedule", "NoExecute") and not any(tolerated(taint, t) for t in exact.tolerations)
            for taint in device.taints
        ):
            return False
        if device.consumes_counters and not self.profile.features.partitionable_devices:
            return False
        # What is in use is not given out again, unless it is shared and may be shared further.
        return admin or published.id not in (self.exclusive() if self.shares(device) else self.in_use())

    def shares(self, device: Device) -> bool:
        return self.profile.features.consumable_capacity and device.allow_multiple_allocations

    def results(self) -> Iterator[AllocationDevice]:
        for claim in self.allocated:
            for result in claim.allocation.results if claim.allocation else []:
                if not result.admin_access:
                    yield result

    def is_share(self, result: AllocationDevice) -> bool:
        return self.profile.features.consumable_capacity and result.share_id is not None

    def exclusive(self) -> set[Id]:
        return {(r.driver, r.pool, r.device) for r in self.results() if not self.is_share(r)}

    def in_use(self) -> set[Id]:
        return {(r.driver, r.pool, r.device) for r in self.results()}

    # --- all together --------------------------------------------------------------------------------------------

    def allows(self, claims: Sequence[ResourceClaim], given: Sequence[Sequence[Given]]) -> bool:
        """Whether devices may be given to claims together; every device must suit its request."""
        return (
            self._once(given)
            and self._capacity([g for claim in given for g in claim])
            and self._counters([g for claim in given for g in claim])
            and all(self._constraints(claim, own) for claim, own in zip(claims, given, strict=True))
            and all(len(own) <= 32 for own in given)
        )

    def _once(self, given: Sequence[Sequence[Given]]) -> bool:
        """A device that cannot be shared is given once: in a claim at all, beyond that not counting admin access."""
        ordinary: set[Id] = set()
        for claim in given:
            own: set[Id] = set()
            for item in claim:
                key = item.published.id
                if self.shares(item.published.device):
                    continue
                if key in own or (not item.admin and key in ordinary):
                    return False
                own.add(key)
            ordinary |= {g.published.id for g in claim if not g.admin and not self.shares(g.published.device)}
        return True

    def _capacity(self, given: Sequence[Given]) -> bool:
        if not self.profile.features.consumable_capacity:
            return True
        taken: dict[tuple[Id, str], int] = {}
        for result in self.results():
            if self.is_share(result):
                for name, amount in (result.consumed_capacity or {}).items():
                    key = ((result.driver, result.pool, result.device), name)
                    taken[key] = taken.get(key, 0) + amount.nano
        for item in given:
            device = item.published.device
            amounts = self.consumed(item.exact, device)
            if amounts is None:
                return False
            for name, amount in amounts.items():
                key = (item.published.id, name)
                total = taken.get(key, 0) + amount.nano
                if total > device.capacity[name].value.nano:
                    return False
                if self.shares(device):
                    taken[key] = total
        return True

    def consumed(self, exact: DeviceRequest, device: Device) -> dict[str, Quantity] | None:
        """What a request takes of each capacity, or None if a policy or a missing capacity forbids it."""
        wanted = exact.capacity or {}
        if any(name not in device.capacity for name in wanted):
            return None
        result = {}
        for name, has in device.capacity.items():
            policy = has.request_policy
            if name not in wanted:
                result[name] = policy.default if policy and policy.default else has.value
                continue
            amount = wanted[name]
            if policy and policy.valid_values:
                larger = [value for value in policy.valid_values if value >= amount]
                if not larger:
                    return None
                amount = min(larger)
            elif policy and policy.valid_range and policy.valid_range.min:
                bounds = policy.valid_range
                amount = self._stepped(amount, bounds.min, bounds.step)
                if bounds.max and amount > bounds.max:
                    return None
            result[name] = amount
        return result

    def _stepped(self, amount: Quantity, least: Quantity, step: Quantity | None) -> Quantity:
        if amount <= least:
            return least
        if step is None:
            return amount
        # Fractions of a unit count only with the feature; without it everything is rounded up to whole units.
        fine = self.profile.features.fractional_capacity_range
        unit = 10**6 if fine else 10**9
        a, low, by = (-(-q.nano // unit) for q in (amount, least, step))
        return Quantity((low + -(-(a - low) // by) * by) * unit)

    def _counters(self, given: Sequence[Given]) -> bool:
        """What devices in use and the new ones take stays within every counter that the new ones draw from."""
        if not self.profile.features.partitionable_devices:
            return True
        new = {g.published.id: g.published for g in given if not g.admin}
        fresh = {key: p for key, p in new.items() if key not in self.in_use()}
        for published in fresh.values():
            driver, pool, _ = published.id
            members = [s for s in self.slices if (s.driver, s.pool.name) == (driver, pool)]
            newest = max(s.pool.generation for s in members)
            members = [s for s in members if s.pool.generation == newest]
            used: dict[tuple[str, str], int] = {}
            for item in members:
                for device in item.devices if not item.shared_counters else []:
                    key = (driver, pool, device.name)
                    if key in fresh or key in self.in_use():
                        for use in device.consumes_counters:
                            for name, amount in use.counters.items():
                                used[use.counter_set, name] = used.get((use.counter_set, name), 0) + amount.nano
            if self.profile.features.compatibility_groups and not self._together(published, members, fresh):
                return False
            limits = {(c.name, n): a.nano for s in members for c in s.shared_counters for n, a in c.counters.items()}
            for use in published.device.consumes_counters:
                if any(used[use.counter_set, name] > limits[use.counter_set, name] for name in use.counters):
                    return False
        return True

    def _together(self, published: Published, members: Sequence[ResourceSlice], fresh: dict[Id, Published]) -> bool:
        """Whether the devices on each of a device's counter sets all have no groups, or one in common."""
        driver, pool, _ = published.id
        placed = [
            use
            for item in members
            for device in item.devices
            if (driver, pool, device.name) in fresh or (driver, pool, device.name) in self.in_use()
            for use in device.consumes_counters
        ]
        for own in published.device.consumes_counters:
            groups = [set(use.compatibility_groups) for use in placed if use.counter_set == own.counter_set]
            if any(groups) and not set.intersection(*groups):
                return False
        return True

    def _constraints(self, claim: ResourceClaim, given: Sequence[Given]) -> bool:
        for constraint in claim.spec.constraints:
            bound = [g for g in given if covers(constraint, g)]
            values = [self.values(g, constraint.match_attribute or constraint.distinct_attribute or "") for g in bound]
            if any(value is None for value in values):
                return False
            known = [value for value in values if value is not None]
            if constraint.match_attribute:
                if len(known) > 1 and not set.intersection(*map(set, known)):
                    return False
            elif any(set(a) & set(b) for a, b in itertools.combinations(known, 2)):
                return False
        return True

    def values(self, given: Given, name: str) -> list[tuple[str, object]] | None:
        """The values of an attribute with their type; None where the device lacks it."""
        attribute = self.derived(given, name) or attribute_of(given.published, name)
        if attribute is None:
            return None
        kind = attribute.kind
        if isinstance(attribute.value, tuple):
            return [(kind.removesuffix("s"), value) for value in attribute.value]
        return [(kind, attribute.value)]

    def derived(self, given: Given, name: str) -> DeviceAttribute | None:
        """What the request computes under a name, if it does; one without a value where that fails."""
        for item in given.exact.derived_attributes if self.profile.features.derived_attributes else ():
            if item.name == name:
                environment = replace(self.profile.environment(), derived_attribute=True)
                expression = compile_selector(item.expression, environment)
                if expression.error is not None:
                    return DeviceAttribute("strings", ())
                try:
                    return derive(expression, given.published.id[0], given.published.device)
                except DerivedError:
                    return DeviceAttribute("strings", ())
        return None


def tolerated(taint: DeviceTaint, toleration: DeviceToleration) -> bool:
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    return toleration.operator == "Exists" or toleration.value == taint.value


def covers(constraint: DeviceConstraint, given: Given) -> bool:
    return not constraint.requests or given.request.name in constraint.requests or given.name in constraint.requests


def attribute_of(published: Published, name: str) -> DeviceAttribute | None:
    found = published.device.attributes.get(name)
    domain, _, bare = name.partition("/")
    return found if found is not None or domain != published.id[0] else published.device.attributes.get(bare)


# --- brute force ---------------------------------------------------------------------------------------------------


def options(world: World, devices: Sequence[Published], request: ClaimRequest) -> list[list[Given]] | None:
    """Every way to serve a request by itself; None where a selector fails on a device."""
    result: list[list[Given]] = []
    for exact in [request.exactly] if request.exactly else request.first_available:
        assert exact is not None
        sub = request.exactly is None
        selected = []
        for published in devices:
            chosen = world.selected(exact, published)
            if chosen is None:
                return None
            if chosen:
                selected.append(Given(request, exact, sub, published))
        if exact.allocation_mode == "All":
            if world.profile.features.consumable_capacity:
                # Devices that could never hold what is asked for are not meant.
                selected = [g for g in selected if can_hold(world, g)]
            if selected and all(world.suits(exact, g.published, g.admin) for g in selected):
                result.append(selected)
        else:
            suiting = [g for g in selected if world.suits(exact, g.published, g.admin)]
            result += [list(some) for some in itertools.combinations(suiting, exact.count)]
    return result


def can_hold(world: World, given: Given) -> bool:
    amounts = world.consumed(given.exact, given.published.device)
    capacity = given.published.device.capacity
    return amounts is not None and all(amount <= capacity[name].value for name, amount in amounts.items())


def exists(world: World, node: Node, claims: Sequence[ResourceClaim], limit: int) -> bool | None:
    """Whether any allocation exists; None where a selector fails or there are too many ways to try."""
    devices = world.devices(node)
    ways: list[list[list[Given]]] = []
    total = 1
    for claim in claims:
        for request in claim.spec.requests:
            found = options(world, devices, request)
            if found is None:
                return None
            ways.append(found)
            total *= len(found)
    if total > limit:
        return None
    sizes = [len(claim.spec.requests) for claim in claims]
    return any(world.allows(claims, split(choice, sizes)) for choice in itertools.product(*ways))


def split(choice: Iterable[list[Given]], sizes: Sequence[int]) -> list[list[Given]]:
    parts = iter(choice)
    return [[g for _ in range(size) for g in next(parts)] for size in sizes]


# --- judging an answer -----------------------------------------------------------------------------------------------


def faults(world: World, node: Node, claims: Sequence[ResourceClaim], answers: Sequence[Allocation]) -> list[str]:
    """What is wrong with an answer; nothing if it keeps every rule."""
    devices = {published.id: published for published in world.devices(node)}
    given: list[list[Given]] = []
    problems: list[str] = []
    for claim, answer in zip(claims, answers, strict=True):
        own: list[Given] = []
        for request in claim.spec.requests:
            results = [r for r in answer.results if r.request.split("/")[0] == request.name]
            names = {r.request for r in results}
            if len(names) > 1:
                problems.append(f"request {request.name} is served by several alternatives")
                continue
            sub = request.exactly is None
            exact = request.exactly or next(s for s in request.first_available if f"{request.name}/{s.name}" in names)
            own += _served(world, devices, request, exact, sub, results, problems)
        given.append(own)
        selector = answer.node_selector
        if selector is not None and not matches(selector, node.meta.name, node.meta.labels):
            problems.append("the node selector does not fit the node")
    if not problems and not world.allows(claims, given):
        problems.append("the devices may not be given together")
    return problems


def _served(
    world: World,
    devices: dict[Id, Published],
    request: ClaimRequest,
    exact: DeviceRequest,
    sub: bool,
    results: Sequence[AllocationDevice],
    problems: list[str],
) -> list[Given]:
    own = []
    for result in results:
        published = devices.get((result.driver, result.pool, result.device))
        if published is None:
            problems.append(f"{result.device} is not there for the node")
            continue
        item = Given(request, exact, sub, published)
        if not world.selected(exact, published) or not world.suits(exact, published, item.admin):
            problems.append(f"{result.device} does not suit {request.name}")
        amounts = world.consumed(exact, published.device) if world.shares(published.device) else {}
        if {n: a.nano for n, a in (result.consumed_capacity or {}).items()} != {
            n: a.nano for n, a in (amounts or {}).items()
        }:
            problems.append(f"{result.device} does not record what it takes")
        own.append(item)
    if exact.allocation_mode == "All":
        wanted = {p.id for p in devices.values() if world.selected(exact, p)}
        if world.profile.features.consumable_capacity:
            wanted = {i for i in wanted if can_hold(world, Given(request, exact, sub, devices[i]))}
        if {g.published.id for g in own} != wanted:
            problems.append(f"{request.name} does not have all devices")
    elif len(own) != exact.count:
        problems.append(f"{request.name} has {len(own)} of {exact.count} devices")
    return own
