"""Pools as they are published: which slices belong to one, which generation is current, and whether all are there.

Only facts are kept here. What a scheduler of some release makes of an incomplete or invalid pool, node by node, is the
allocator's business.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property

from dractl.inventory.ids import DeviceId, PoolId
from dractl.kube.objects import Device, ResourceSlice


@dataclass(slots=True, eq=False)
class PublishedDevice:
    """A device and the slice that publishes it. ``current`` is False for a slice of a former generation."""

    id: DeviceId
    device: Device
    slice: ResourceSlice
    pool: Pool
    current: bool = True

    @property
    def node_name(self) -> str | None:
        """The node that the device is local to, if one is named by it or by its slice."""
        return self.device.node_name or self.slice.node_name


@dataclass(eq=False)
class Pool:
    """One pool. ``generation`` is the highest one published; only slices of it are ``current``."""

    id: PoolId
    generation: int = 0
    current: list[ResourceSlice] = field(default_factory=list)
    former: list[ResourceSlice] = field(default_factory=list)

    @cached_property
    def expected_slices(self) -> int:
        """resourceSliceCount of the current generation; the largest, should its slices disagree."""
        return max(item.pool.resource_slice_count for item in self.current)

    @cached_property
    def counts_agree(self) -> bool:
        """Whether all current slices state the same resourceSliceCount."""
        return len({item.pool.resource_slice_count for item in self.current}) == 1

    @cached_property
    def complete(self) -> bool:
        """Whether as many current slices are there as each of them says."""
        return self.counts_agree and len(self.current) == self.expected_slices

    @cached_property
    def nodes(self) -> list[str]:
        """Names of the nodes that its current slices and devices name, sorted."""
        names = {item.node_name for item in self.current}
        names |= {device.node_name for item in self.current for device in item.devices}
        return sorted(name for name in names if name)

    def devices(self) -> Iterator[PublishedDevice]:
        """The devices of the current generation, in the order of slices and devices."""
        for item in self.current:
            for device in item.devices:
                yield PublishedDevice(DeviceId(*self.id, device.name), device, item, self)

    def former_devices(self) -> Iterator[PublishedDevice]:
        """Devices of slices that a newer generation has replaced."""
        for item in self.former:
            for device in item.devices:
                yield PublishedDevice(DeviceId(*self.id, device.name), device, item, self, current=False)


def group_pools(slices: Iterable[ResourceSlice]) -> dict[PoolId, Pool]:
    """Pools by driver and name, sorted; slices inside a generation are sorted by name."""
    by_pool: dict[PoolId, list[ResourceSlice]] = {}
    for item in slices:
        by_pool.setdefault(PoolId(item.driver, item.pool.name), []).append(item)
    pools = {}
    for key in sorted(by_pool):
        members = sorted(by_pool[key], key=lambda item: item.meta.name)
        newest = max(item.pool.generation for item in members)
        pools[key] = Pool(
            id=key,
            generation=newest,
            current=[item for item in members if item.pool.generation == newest],
            former=[item for item in members if item.pool.generation != newest],
        )
    return pools
