"""The pools that a node can use, put together from ResourceSlices (KEP-4381, "pool"; KEP-4815 for shared counters)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from dractl.allocator import quirks as q
from dractl.allocator.profile import Profile
from dractl.kube.node_selector import NodeSelectorError, matches
from dractl.kube.objects import CounterSet, Device, Node, NodeSelector, ResourceSlice

PoolId = tuple[str, str]
"""Driver, pool name."""

USABLE = "usable"
INCOMPLETE = "incomplete"
INVALID = "invalid"


class GatherError(Exception):
    """A node selector of a slice cannot be evaluated; ends the scheduling of the pod."""


@dataclass(slots=True, eq=False)
class Pool:
    """A pool as one node sees it."""

    driver: str
    name: str
    status: str
    """usable, incomplete (slices are missing or too many) or invalid."""
    generation: int = 0
    expected: int = 0
    """resourceSliceCount of the pool."""
    found: int = 0
    """Slices of the generation that were found."""
    reason: str = ""
    """Why it is invalid."""
    slices: list[ResourceSlice] = field(default_factory=list)
    """The slices with devices for the node, in the order they are tried."""
    others: list[ResourceSlice] = field(default_factory=list)
    """The pool's slices with devices for other nodes."""
    counter_sets: dict[str, CounterSet] = field(default_factory=dict)
    binding: bool = False
    """Whether a device has binding conditions; such pools are tried last."""
    used_incomplete: bool = False
    """Whether its devices are tried although slices are missing (1.34)."""
    skipping: bool | None = None
    """Whether slices that skip node operations are for nodes that support it, or for none; None: for all nodes."""

    @property
    def usable(self) -> bool:
        """Whether its devices are tried."""
        return self.status == USABLE or (self.used_incomplete and self.status == INCOMPLETE)

    def allows(self, item: ResourceSlice, node: Node) -> bool:
        """Whether the node operations that a slice skips (1.37, alpha) keep no node from its devices."""
        if self.skipping is None or not item.skip_node_operations:
            return True
        return self.skipping and "DRAOptionalNodeOperations" in node.declared_features

    @property
    def complete(self) -> bool:
        """Whether exactly the expected number of slices was found."""
        return self.found == self.expected

    def __str__(self) -> str:
        return f"{self.driver}/{self.name}"


class PoolGatherer:
    """Indexes all slices once and gives the pools of any node."""

    def __init__(self, profile: Profile, slices: Sequence[ResourceSlice]) -> None:
        self.profile = profile
        self._counter_slices_everywhere = q.COUNTER_SLICES_EVERYWHERE in profile.quirks
        self._counters_by_slice = q.COUNTERS_BY_SLICE in profile.quirks
        self._partitionable = profile.features.partitionable_devices
        self._ordered = profile.ordered
        self._knows_bindings = profile.knows_sharing or not profile.quirks
        self._by_pool: dict[PoolId, list[ResourceSlice]] = {}
        self._by_node: dict[str, list[ResourceSlice]] = {}
        self._shared: list[ResourceSlice] = []
        self._all = list(slices)
        self._position = {id(item): index for index, item in enumerate(self._all)}
        self._newest: dict[PoolId, int] = {}
        self._pools: dict[tuple[PoolId, tuple[int, ...]], Pool] = {}
        self._names: dict[str, set[str | None]] = {}
        self._foreign: dict[PoolId, list[ResourceSlice]] = {}
        """Slices with counters that are for one node by name but count on all, of pools that only nodes' own slices
        make up."""
        self._troubled: list[Pool] | None = None
        counting: list[ResourceSlice] = []
        elsewhere: set[PoolId] = set()
        for item in self._all:
            pool = (item.driver, item.pool.name)
            self._by_pool.setdefault(pool, []).append(item)
            self._newest[pool] = max(self._newest.get(pool, item.pool.generation), item.pool.generation)
            self._names.setdefault(item.pool.name, set()).add(item.node_name or None)
            if not item.node_name:
                self._shared.append(item)
                elsewhere.add(pool)
            elif self._counter_slices_everywhere and item.shared_counters:
                counting.append(item)
            else:
                self._by_node.setdefault(item.node_name, []).append(item)
        for item in counting:
            pool = (item.driver, item.pool.name)
            if pool in elsewhere:
                self._shared.append(item)
            else:
                self._foreign.setdefault(pool, []).append(item)
        self._shared.sort(key=self._place)

    def _place(self, item: ResourceSlice) -> int:
        return self._position[id(item)]

    def slices_of_pool(self, pool: PoolId) -> Sequence[ResourceSlice]:
        """All slices of a pool, of any generation and node."""
        return self._by_pool.get(pool, ())

    def newest_generation(self, pool: PoolId) -> int:
        """The highest generation among a pool's slices."""
        return self._newest[pool]

    def pool_ids(self) -> Iterable[PoolId]:
        """Every pool that has a slice."""
        return self._by_pool

    def is_local(self, pool: Pool) -> bool:
        """Whether all slices with the pool's name, of any driver, are for one and the same node."""
        scopes = self._names[pool.name]
        return len(scopes) == 1 and None not in scopes

    def slices_for(self, node: Node) -> list[ResourceSlice]:
        """The slices to be looked at for a node: its own, then those that are not bound to a node by name."""
        own = self._by_node.get(node.meta.name, [])
        shared = self._shared
        if self._foreign:
            pools = {(item.driver, item.pool.name) for item in own}
            counting = [item for pool in pools for item in self._foreign.get(pool, ())]
            if counting:
                shared = sorted(shared + counting, key=self._place)
        if self._ordered:
            return own + shared
        # Older allocators walk through all slices in the order of the cache.
        return sorted(own + shared, key=self._place)

    def _troubled_pools(self) -> list[Pool]:
        """Pools of other nodes that disturb a node by their counters alone: those that are incomplete or invalid.

        Up to 1.36 slices with counters count on every node. Most such pools are whole, and have no devices for the
        node: they change nothing and are left out.
        """
        if self._troubled is None:
            self._troubled = []
            for pool, items in self._foreign.items():
                relevant: dict[PoolId, list[ResourceSlice]] = {}
                if self._partitionable:
                    for item in items:
                        self._add(relevant, item)
                built = self._pool(pool, relevant[pool]) if relevant else None
                if built is not None and not built.usable:
                    self._troubled.append(built)
        return self._troubled

    def gather(self, node: Node) -> list[Pool]:
        """The pools visible from a node, in the order in which they are tried.

        Raises:
            GatherError: when a node selector cannot be evaluated.
        """
        relevant: dict[PoolId, list[ResourceSlice]] = {}
        last: list[ResourceSlice] = []
        binding_last = q.BINDING_SLICES_LAST in self.profile.quirks
        for item in self.slices_for(node):
            if not self._relevant(item, node):
                continue
            counters = self._counter_slices_everywhere and item.shared_counters
            if binding_last and not counters and _has_binding_conditions(item.devices):
                last.append(item)
            else:
                self._add(relevant, item)
        for item in last:
            self._add(relevant, item)
        pools = [pool for found in relevant.items() if (pool := self._pool(*found)) is not None]
        if self._foreign:
            mine = {(item.driver, item.pool.name) for item in self._by_node.get(node.meta.name, ())}
            pools += [pool for pool in self._troubled_pools() if (pool.driver, pool.name) not in mine]
        pools.sort(key=lambda pool: (pool.binding, pool.driver, pool.name))
        return pools

    def is_for(self, item: ResourceSlice, node: Node) -> bool:
        """Whether a slice counts on a node.

        Raises:
            GatherError: when a node selector cannot be evaluated.
        """
        return self._relevant(item, node)

    def _relevant(self, item: ResourceSlice, node: Node) -> bool:
        if not self._partitionable and (
            item.per_device_node_selection is not None or (item.shared_counters and not self._counters_by_slice)
        ):
            return False
        if self._counter_slices_everywhere and item.shared_counters:
            return True
        if not self.profile.features.compatibility_groups and self.profile.is_at_least(37) and _uses_groups(item):
            # Without the feature such devices cannot be told apart; leaving the slice out makes the pool incomplete.
            return False
        if item.node_name or item.all_nodes or item.node_selector is not None:
            try:
                return node_matches(node, item.node_name, item.all_nodes, item.node_selector)
            except NodeSelectorError as error:
                raise GatherError(
                    f"gather pool information: failed to perform node selection for slice {item.meta.name}: {error}"
                ) from None
        if item.per_device_node_selection:
            return any(self._device_relevant(device, item, node) for device in item.devices)
        return False

    def _device_relevant(self, device: Device, item: ResourceSlice, node: Node) -> bool:
        try:
            return node_matches(node, device.node_name, device.all_nodes, device.node_selector)
        except NodeSelectorError as error:
            raise GatherError(
                f"gather pool information: failed to perform node selection for device {device.name} "
                f"in slice {item.meta.name}: {error}"
            ) from None

    def _add(self, pools: dict[PoolId, list[ResourceSlice]], item: ResourceSlice) -> None:
        """Collect a slice; a newer generation replaces what was found before, an older one is dropped."""
        pool = (item.driver, item.pool.name)
        if q.STALE_GENERATION not in self.profile.quirks and item.pool.generation < self._newest[pool]:
            return
        known = pools.get(pool)
        if known is None or item.pool.generation > known[0].pool.generation:
            pools[pool] = [item]
        elif item.pool.generation == known[0].pool.generation:
            known.append(item)

    def _pool(self, pool: PoolId, relevant: list[ResourceSlice]) -> Pool | None:
        key = (pool, tuple(map(id, relevant)))
        if key in self._pools:
            return self._pools[key]
        built = self._build(pool, relevant)
        if built is not None:
            self._pools[key] = built
        return built

    def _build(self, pool: PoolId, relevant: list[ResourceSlice]) -> Pool | None:
        """Build the pool of a node, or None where a newer generation makes it obsolete."""
        generation = relevant[0].pool.generation
        expected = relevant[0].pool.resource_slice_count
        everything = relevant
        whole = q.STALE_GENERATION not in self.profile.quirks
        by_node = q.NODE_ONLY_COMPLETENESS in self.profile.quirks
        if (whole or len(relevant) != expected) and not by_node:
            if self._newest[pool] > generation:
                return None
            everything = [item for item in self._by_pool[pool] if item.pool.generation == generation]
            if not self.profile.features.compatibility_groups and self.profile.is_at_least(37):
                everything = [item for item in everything if not _uses_groups(item)]
        result = Pool(*pool, USABLE, generation, expected, len(everything))
        if self.profile.is_at_least(37) and self.profile.variant == q.EXPERIMENTAL:
            # other copies of the allocator do not look at them
            result.skipping = self.profile.features.optional_node_operations
        complete = len(everything) == expected
        result.used_incomplete = q.INCOMPLETE_USED in self.profile.quirks
        if not complete and not result.used_incomplete:
            result.status = INCOMPLETE
            return result
        if self._ordered:
            relevant = sorted(relevant, key=lambda item: item.meta.name)
        elsewhere = self._elsewhere(relevant, everything)
        self._fill(result, relevant, elsewhere)
        if not complete and result.status == USABLE:
            result.status = INCOMPLETE
        return result

    @staticmethod
    def _elsewhere(relevant: list[ResourceSlice], everything: list[ResourceSlice]) -> list[ResourceSlice]:
        if len(relevant) == len(everything):
            return []
        names = {item.meta.name for item in relevant}
        return [item for item in everything if item.meta.name not in names]

    def _fill(self, pool: Pool, relevant: list[ResourceSlice], elsewhere: list[ResourceSlice]) -> None:
        if self._partitionable and not self._counters_by_slice:
            counters = [item for item in relevant if item.shared_counters]
            # Until 1.34 a slice held counters together with the devices that draw from them.
            both = self.profile.version < (1, 35, 0)
            pool.slices = [item for item in relevant if not item.shared_counters or (both and item.devices)]
            if self._counter_slices_everywhere:
                pool.others = elsewhere
            else:
                counters += [item for item in elsewhere if item.shared_counters]
                pool.others = [item for item in elsewhere if not item.shared_counters]
            pool.reason = (
                _duplicate_device(pool.slices)
                or _collect_counter_sets(pool, counters)
                or _dangling_counter(pool.counter_sets, relevant if self._counter_slices_everywhere else pool.slices)
                or _dangling_counter(pool.counter_sets, pool.others)
            )
        else:
            pool.slices = relevant
            pool.others = elsewhere
            pool.reason = _duplicate_device(relevant)
        if self._knows_bindings:
            pool.binding = any(_has_binding_conditions(item.devices) for item in pool.slices)
        if pool.reason:
            pool.status = INVALID
            pool.slices = []
            pool.others = []
            pool.counter_sets = {}
            pool.binding = pool.binding and q.INVALID_POOL_ABORTS in self.profile.quirks


def node_matches(node: Node, name: str | None, all_nodes: bool | None, selector: NodeSelector | None) -> bool:
    """Whether a node is one that a slice or a device is for.

    Raises:
        NodeSelectorError: when the selector cannot be evaluated.
    """
    if name:
        return node.meta.name == name
    if all_nodes:
        return True
    return selector is not None and matches(selector, node.meta.name, node.meta.labels)


def _has_binding_conditions(devices: Iterable[Device]) -> bool:
    return any(device.binding_conditions is not None for device in devices)


def _uses_groups(item: ResourceSlice) -> bool:
    return any(use.compatibility_groups for device in item.devices for use in device.consumes_counters)


def _duplicate_device(slices: Iterable[ResourceSlice]) -> str:
    seen = set()
    for item in slices:
        for device in item.devices:
            if device.name in seen:
                return f"duplicate device name {device.name}"
            seen.add(device.name)
    return ""


def _collect_counter_sets(pool: Pool, slices: Iterable[ResourceSlice]) -> str:
    for item in slices:
        for counter_set in item.shared_counters:
            if counter_set.name in pool.counter_sets:
                return f"duplicate counter set name {counter_set.name}"
            pool.counter_sets[counter_set.name] = counter_set
    return ""


def _dangling_counter(counter_sets: dict[str, CounterSet], slices: Iterable[ResourceSlice]) -> str:
    for item in slices:
        for device in item.devices:
            for use in device.consumes_counters:
                counter_set = counter_sets.get(use.counter_set)
                if counter_set is None:
                    return f"counter set {use.counter_set} not found"
                for name in use.counters:
                    if name not in counter_set.counters:
                        return f"counter {name} not found in counter set {use.counter_set}"
    return ""
