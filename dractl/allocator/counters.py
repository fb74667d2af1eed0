"""Shared counters of partitionable devices (KEP-4815), and the groups that keep devices of one set apart (1.37, alpha).

Amounts are whole numbers of nano units. What is left of a pool's counters is what the pool publishes less what its
allocated devices take; it may be negative.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from dractl.allocator import quirks as q
from dractl.allocator.pools import Pool
from dractl.allocator.profile import Profile
from dractl.allocator.state import AllocatedState
from dractl.kube.objects import CounterSet, Device, ResourceSlice

CounterSets = dict[str, dict[str, int]]
"""Counter set, counter -> amount."""

Cache = dict[object, CounterSets]
"""What is left of pools' counters, by the key under which the profile keeps them."""


class CounterBook:
    """What one search takes of counters.

    ``cache`` is kept for all nodes where the profile computes what is left once for all of them.
    """

    def __init__(self, profile: Profile, state: AllocatedState, cache: Cache) -> None:
        self._state = state
        self._by_name = q.COUNTERS_BY_POOL_NAME in profile.quirks
        self._by_slice = q.COUNTERS_BY_SLICE in profile.quirks
        self._every_counter = q.OVERDRAWN_BLOCKS_POOL in profile.quirks
        self._is_allocated = state.holds_any if shares_count(profile) else state.exclusive.__contains__
        self._cache = cache
        self._taken: dict[object, CounterSets] = {}
        self._odd: dict[object, bool] = {}

    def _key(self, pool: Pool, item: ResourceSlice) -> object:
        if self._by_slice:
            return item.meta.name
        return pool.name if self._by_name else (pool.driver, pool.name)

    def left(self, pool: Pool, item: ResourceSlice) -> CounterSets:
        """What allocated devices leave of a pool's counters."""
        key = self._key(pool, item)
        known = self._cache.get(key)
        if known is None:
            if self._by_slice:
                sets: Iterable[CounterSet] = item.shared_counters
                slices = [item]
            else:
                sets, slices = pool.counter_sets.values(), pool.slices + pool.others
            known = remaining(sets, slices, self._is_allocated)
            self._cache[key] = known
        return known

    def take(self, pool: Pool, item: ResourceSlice, device: Device) -> bool:
        """Take what a device needs; False, and nothing taken, if that is more than is left."""
        key = self._key(pool, item)
        left = self.left(pool, item)
        taken = self._taken.setdefault(key, {})
        odd = self._odd.get(key)
        if odd is None:
            odd = self._odd[key] = any(amount < 0 for counters in left.values() for amount in counters.values())
        for use in device.consumes_counters:
            counters = taken.setdefault(use.counter_set, {})
            for name, amount in use.counters.items():
                counters[name] = counters.get(name, 0) + amount.nano
                if amount.nano < 0:
                    self._odd[key] = odd = True
        if odd and self._every_counter:
            fits = all(
                amount >= taken.get(name, {}).get(counter, 0)
                for name, counters in left.items()
                for counter, amount in counters.items()
            )
        else:
            fits = self._own_fit(left, taken, device)
        if not fits:
            self.give_back(pool, item, device)
        return fits

    @staticmethod
    def _own_fit(left: CounterSets, taken: CounterSets, device: Device) -> bool:
        """Whether the counters that a device takes suffice; others were checked when they were taken."""
        for use in device.consumes_counters:
            available = left.get(use.counter_set)
            if available is None:
                continue
            counters = taken[use.counter_set]
            for name in use.counters:
                amount = available.get(name)
                if amount is not None and amount < counters[name]:
                    return False
        return True

    def give_back(self, pool: Pool, item: ResourceSlice, device: Device) -> None:
        """Undo a take."""
        taken = self._taken.setdefault(self._key(pool, item), {})
        for use in device.consumes_counters:
            counters = taken.setdefault(use.counter_set, {})
            for name, amount in use.counters.items():
                counters[name] = counters.get(name, 0) - amount.nano


def shares_count(profile: Profile) -> bool:
    """Whether devices that are given out in shares count against their pool's counters."""
    quirks = profile.quirks
    return not quirks or (q.SHARES_FREE_COUNTERS not in quirks and profile.variant != q.STABLE)


def remaining(counter_sets: Iterable[CounterSet], slices: Iterable[ResourceSlice], is_allocated: object) -> CounterSets:
    """Counters of the sets less what allocated devices of the slices take.

    Args:
        counter_sets: the pool's sets.
        slices: the pool's slices with devices, for whatever node.
        is_allocated: says for a device ID whether it counts.
    """
    assert callable(is_allocated)
    left = {item.name: {name: amount.nano for name, amount in item.counters.items()} for item in counter_sets}
    for item in slices:
        for device in item.devices:
            if not device.consumes_counters or not is_allocated((item.driver, item.pool.name, device.name)):
                continue
            for use in device.consumes_counters:
                counters = left.get(use.counter_set)
                if counters is None:
                    continue
                for name, amount in use.counters.items():
                    if name in counters:
                        counters[name] -= amount.nano
    return left


Groups = frozenset[str] | None
"""Groups that the devices on a counter set have in common; empty: all have none; None: no device yet."""

_NOTHING_IN_COMMON: Groups = frozenset({""})
"""Devices that exclude each other were placed together; no group has an empty name, so nothing may join them."""


def common_groups(placed: Iterable[Iterable[str]]) -> Groups:
    """The groups that all devices placed on a counter set have in common, from the groups of each."""
    common: Groups = None
    for groups in map(frozenset, placed):
        # Devices placed against the rules leave the common groups as they are.
        if common is None:
            common = groups
        elif common and groups:
            common = (common & groups) or _NOTHING_IN_COMMON
    return common


def may_join(common: Groups, groups: Iterable[str]) -> bool:
    """Whether a device with these groups may be placed beside those that are there: all without any, or one shared."""
    own = frozenset(groups)
    return common is None or bool(common & own) or not (common or own)


class GroupBook:
    """Compatibility groups of the devices on each counter set (DRADeviceCompatibilityGroups)."""

    def __init__(self, state: AllocatedState) -> None:
        self._state = state
        self._common: dict[tuple[str, str, str], Groups] = {}

    def admit(self, pool: Pool, device: Device) -> Mapping[tuple[str, str, str], Groups] | None:
        """Place a device on its counter sets.

        Returns:
            What to ``restore`` later, or None where the groups exclude each other.
        """
        before: dict[tuple[str, str, str], Groups] = {}
        for use in device.consumes_counters:
            key = (pool.driver, pool.name, use.counter_set)
            common = self._common[key] if key in self._common else self._baseline(pool, use.counter_set)
            groups = frozenset(use.compatibility_groups)
            if not may_join(common, groups):
                self.restore(before)
                return None
            before.setdefault(key, common)
            self._common[key] = groups if common is None else common & groups
        return before

    def restore(self, before: Mapping[tuple[str, str, str], Groups]) -> None:
        """Undo an admission."""
        self._common.update(before)

    def _baseline(self, pool: Pool, counter_set: str) -> Groups:
        return common_groups(
            use.compatibility_groups
            for item in pool.slices + pool.others
            for device in item.devices
            if self._state.holds_any((item.driver, item.pool.name, device.name))
            for use in device.consumes_counters
            if use.counter_set == counter_set
        )
