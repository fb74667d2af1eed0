"""What is allocated: devices given out alone, shares of devices, and the capacity that the shares take."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from dractl.kube.objects import ResourceClaim

DeviceId = tuple[str, str, str]
"""Driver, pool, device."""


def id_text(device: DeviceId) -> str:
    """``driver/pool/device``."""
    return "/".join(device)


@dataclass(slots=True, eq=False)
class AllocatedState:
    """The devices that claims hold.

    Admin access holds nothing. Whether a claim is reserved for a pod plays no part: an allocated claim holds its
    devices until it is deallocated (KEP-4381).
    """

    exclusive: set[DeviceId] = field(default_factory=set)
    shared: set[DeviceId] = field(default_factory=set)
    aggregated: dict[DeviceId, dict[str, int]] = field(default_factory=dict)
    """Capacity taken by the shares of a device, by name, in nano units."""
    holders: dict[DeviceId, list[ResourceClaim]] = field(default_factory=dict)
    """The claims that hold a device, alone or as a share."""

    @classmethod
    def of(cls, claims: Iterable[ResourceClaim], consumable_capacity: bool) -> AllocatedState:
        """Gather the allocations of claims; without the feature every share counts as the whole device."""
        return cls().with_claims(claims, consumable_capacity)

    def with_claims(self, claims: Iterable[ResourceClaim], consumable_capacity: bool) -> AllocatedState:
        """The state with the allocations of more claims."""
        state = AllocatedState(set(self.exclusive), set(self.shared), dict(self.aggregated), dict(self.holders))
        for claim in claims:
            if claim.allocation is None:
                continue
            for result in claim.allocation.results:
                if result.admin_access:
                    continue
                device = (result.driver, result.pool, result.device)
                state.holders[device] = [*state.holders.get(device, ()), claim]
                if not consumable_capacity or result.share_id is None:
                    state.exclusive.add(device)
                    continue
                state.shared.add(device)
                if result.consumed_capacity is not None:
                    total = state.aggregated[device] = dict(state.aggregated.get(device, ()))
                    for name, amount in result.consumed_capacity.items():
                        total[name] = total.get(name, 0) + amount.nano
        return state

    def excludes(self, device: DeviceId, shareable: bool) -> bool:
        """Whether a device cannot be given out again because of what is allocated; shares only exclude what cannot be
        shared."""
        return device in self.exclusive or (not shareable and self.holds_any(device))

    def holds_any(self, device: DeviceId) -> bool:
        """Whether a device is given out at all, wholly or in shares."""
        return device in self.exclusive or device in self.shared or device in self.aggregated
