"""What is left of shared things: amounts of devices that several claims share, and counters that devices share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from dractl.allocator import quirks as q
from dractl.allocator.counters import common_groups, may_join, shares_count
from dractl.allocator.profile import Profile
from dractl.inventory import DeviceId, Holder, Inventory, PoolId
from dractl.kube.objects import Device, ResourceSlice
from dractl.kube.quantity import Quantity

ZERO = Quantity.of(0)


@dataclass(slots=True)
class CounterLeft:
    """One counter of a set: how much there is, how much is taken, and by which devices (those with a holder)."""

    total: Quantity
    taken: Quantity = ZERO
    by: list[DeviceId] = field(default_factory=list)

    @property
    def left(self) -> Quantity:
        """What is not taken; below zero where more was given out than there is."""
        return self.total - self.taken


@dataclass(frozen=True, slots=True)
class Shortage:
    """A counter that a device needs more of than is left."""

    counter_set: str
    counter: str
    needed: Quantity
    left: Quantity
    total: Quantity
    by: tuple[DeviceId, ...]

    @property
    def text(self) -> str:
        """``memory-slice-0 (needs 1, 0 of 1 left)``."""
        return f"{self.counter} (needs {self.needed}, {self.left} of {self.total} left)"


Counters = dict[str, dict[str, CounterLeft]]


class Room:
    """What claims hold, device by device and pool by pool, as a profile's scheduler counts it."""

    def __init__(self, inventory: Inventory, profile: Profile) -> None:
        self.inventory = inventory
        self.profile = profile
        self._counters: dict[PoolId, Counters] = {}
        self._of_slice: dict[int, Counters] = {}

    def shareable(self, device: Device) -> bool:
        """Whether a device may be given out several times."""
        return device.allow_multiple_allocations and self.profile.features.consumable_capacity

    def in_the_way(self, device_id: DeviceId, device: Device) -> list[Holder]:
        """The holders that keep a device from being given out again."""
        found = self.exclusive.get(device_id, [])
        if not found and not self.shareable(device) and q.SHARES_OVERLOOKED not in self.profile.quirks:
            return self.shares.get(device_id, [])
        return found

    @cached_property
    def exclusive(self) -> dict[DeviceId, list[Holder]]:
        """Devices that are taken as a whole, and by which claims; admin access takes nothing."""
        return self._holders(shared=False)

    @cached_property
    def shares(self) -> dict[DeviceId, list[Holder]]:
        """Devices of which claims have shares."""
        return self._holders(shared=True)

    def _holders(self, shared: bool) -> dict[DeviceId, list[Holder]]:
        sharing = self.profile.features.consumable_capacity  # without it a share counts as the whole device
        found = {}
        for device, holders in self.inventory.holders.items():
            kept = [
                holder
                for holder in holders
                if not holder.result.admin_access and (sharing and holder.result.share_id is not None) == shared
            ]
            if kept:
                found[device] = kept
        return found

    def consumed(self, device: DeviceId) -> dict[str, Quantity]:
        """How much of each capacity the shares of a device take together."""
        total: dict[str, Quantity] = {}
        for holder in self.shares.get(device, ()):
            for name, amount in (holder.result.consumed_capacity or {}).items():
                total[name] = total[name] + amount if name in total else amount
        return total

    def holders_of(self, device: DeviceId) -> list[Holder]:
        """Whoever holds a device or a share of it."""
        return [*self.exclusive.get(device, ()), *self.shares.get(device, ())]

    def counters(self, pool: PoolId) -> Counters:
        """The counters of a pool's current generation and what its allocated devices take of them."""
        if pool not in self._counters:
            self._counters[pool] = self._count(pool)
        return self._counters[pool]

    def _count(self, key: PoolId) -> Counters:
        pool = self.inventory.pools.get(key)
        return {} if pool is None else self._count_slices(key, pool.current)

    def _count_slices(self, key: PoolId, slices: Iterable[ResourceSlice]) -> Counters:
        sets: Counters = {}
        for item in slices:
            for one in item.shared_counters:
                sets[one.name] = {name: CounterLeft(total) for name, total in one.counters.items()}
        for item in slices:
            for device in item.devices:
                device_id = DeviceId(*key, device.name)
                if device_id not in self._counted:
                    continue
                for name, counter, amount in consumption(device):
                    left = sets.get(name, {}).get(counter)
                    if left is not None:
                        left.taken = left.taken + amount
                        left.by.append(device_id)
        return sets

    @cached_property
    def _counted(self) -> set[DeviceId]:
        """The devices that take counters: those in use, shared ones where the scheduler counts them."""
        return set(self.exclusive) | (set(self.shares) if shares_count(self.profile) else set())

    def _where(self, device_id: DeviceId, device: Device) -> Counters:
        """The counters from which a device draws: up to 1.34 those of its own slice."""
        pool = self.inventory.pools.get(device_id.pool_id)
        if pool is None or q.COUNTERS_BY_SLICE not in self.profile.quirks:
            return self.counters(device_id.pool_id)
        home = next((one.slice for one in pool.devices() if one.id == device_id), None)
        if home is None:
            return {}
        if id(home) not in self._of_slice:
            self._of_slice[id(home)] = self._count_slices(device_id.pool_id, [home])
        return self._of_slice[id(home)]

    def apart(self, device_id: DeviceId, device: Device) -> list[str]:
        """The counter sets on which a device's compatibility groups (1.37, alpha) exclude the devices in use there."""
        pool = self.inventory.pools.get(device_id.pool_id)
        if pool is None or not self.profile.features.compatibility_groups:
            return []
        out = []
        for use in device.consumes_counters:
            common = common_groups(
                other.compatibility_groups
                for one in pool.devices()
                if self.holders_of(one.id)
                for other in one.device.consumes_counters
                if other.counter_set == use.counter_set
            )
            if not may_join(common, use.compatibility_groups):
                out.append(use.counter_set)
        return out

    def shortages(self, device_id: DeviceId, device: Device) -> list[Shortage]:
        """The counters that keep a free device from being taken: those it needs, and what is overdrawn already."""
        sets = self._where(device_id, device)
        found = []
        for name, counter, amount in consumption(device):
            left = sets.get(name, {}).get(counter)
            if left is not None and left.left < amount:
                found.append(Shortage(name, counter, amount, left.left, left.total, tuple(left.by)))
        if found or not device.consumes_counters or q.OVERDRAWN_BLOCKS_POOL not in self.profile.quirks:
            return found
        return [
            Shortage(name, counter, ZERO, left.left, left.total, tuple(left.by))
            for name, counters in sets.items()
            for counter, left in counters.items()
            if left.left < ZERO
        ]


def consumption(device: Device) -> list[tuple[str, str, Quantity]]:
    """(counter set, counter, amount) for everything that a device draws from counters."""
    return [
        (one.counter_set, counter, amount)
        for one in device.consumes_counters
        for counter, amount in one.counters.items()
    ]


def fraction(total: Mapping[str, CounterLeft]) -> str:
    """How many of a set's counters that have one unit each are free: ``6 of 8``; empty if there are none such."""
    units = [left for left in total.values() if left.total == Quantity.of(1)]
    if not units:
        return ""
    free = sum(1 for left in units if left.left >= Quantity.of(1))
    return f"{free} of {len(units)}"
