"""One node as the search sees it: its pools and their devices in the order in which they are tried."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dractl.allocator import quirks as q
from dractl.allocator.pools import INVALID, Pool, node_matches
from dractl.allocator.profile import Profile
from dractl.allocator.request import AllocationError, RequestSpec
from dractl.allocator.selection import MATCH, Selection, Verdict
from dractl.allocator.state import AllocatedState, DeviceId
from dractl.kube.node_selector import NodeSelectorError
from dractl.kube.objects import Device, Node, ResourceSlice


@dataclass(slots=True, eq=False)
class Candidate:
    """A device of a node, with where it comes from. ``index`` counts in search order."""

    index: int
    place: tuple[int, int, int]
    """Position of its pool among the node's pools, of its slice in the pool, and of itself in the slice."""
    pool: Pool
    slice: ResourceSlice
    device: Device
    id: DeviceId
    multi: bool
    """Whether it may be allocated several times."""
    plain: bool
    """Whether its capacity always serves a request that names none."""


def moved(candidate: Candidate, pools: Sequence[Pool]) -> Candidate:
    """The device at the same place among the pools of another node."""
    pool_at, slice_at, device_at = candidate.place
    pool = pools[pool_at]
    item = pool.slices[slice_at]
    device = item.devices[device_at]
    key = (pool.driver, pool.name, device.name)
    return Candidate(candidate.index, candidate.place, pool, item, device, key, candidate.multi, candidate.plain)


NOT_FOR_NODE = Verdict(False)
"""The verdict on a device that its slice publishes for another node."""

BINDING_OFF = Verdict(False)
"""The verdict on a device with binding conditions while the feature is off."""


class NodeView:
    """The pools and devices of a node under a profile."""

    def __init__(self, profile: Profile, node: Node, pools: Sequence[Pool], state: AllocatedState) -> None:
        self.profile = profile
        self.node = node
        self.pools = pools
        self._node_first = q.SELECTORS_BEFORE_NODE not in profile.quirks
        self._bindings = profile.features.binding_conditions
        self.aborts: dict[int, str] = {}
        """1.34: the error that ends the search once it comes to a candidate, because an invalid pool precedes it."""
        self.candidates = self._candidates(state)
        self.verdicts: dict[int, list[Verdict | None]] = {}

    def _candidates(self, state: AllocatedState) -> list[Candidate]:
        result: list[Candidate] = []
        sharing = self.profile.features.consumable_capacity
        for pool_at, pool in enumerate(self.pools):
            if not pool.usable:
                if q.INVALID_POOL_ABORTS in self.profile.quirks and pool.status == INVALID:
                    self.aborts.setdefault(len(result), f"pool {pool.name} is invalid: {pool.reason}")
                continue
            for slice_at, item in enumerate(pool.slices):
                for device_at, device in enumerate(item.devices):
                    key = (pool.driver, pool.name, device.name)
                    multi = sharing and device.allow_multiple_allocations
                    plain = (
                        not multi
                        and key not in state.aggregated
                        and all(c.request_policy is None and c.value.nano >= 0 for c in device.capacity.values())
                    )
                    place = (pool_at, slice_at, device_at)
                    result.append(Candidate(len(result), place, pool, item, device, key, multi, plain))
        return result

    def operations_allowed(self, candidate: Candidate) -> bool:
        """Whether the node operations that a slice skips (1.37, alpha) keep nobody from its devices."""
        return candidate.pool.allows(candidate.slice, self.node)

    def verdict(self, spec: RequestSpec, candidate: Candidate) -> Verdict:
        """Whether a request may have a device: binding conditions, selectors, and the device's own node."""
        known = self.verdicts.get(id(spec))
        if known is None:
            known = self.verdicts[id(spec)] = [None] * len(self.candidates)
        found = known[candidate.index]
        if found is None:
            found = known[candidate.index] = self._decide(spec, candidate)
        return found

    def _decide(self, spec: RequestSpec, candidate: Candidate) -> Verdict:
        device = candidate.device
        if not self._bindings and device.binding_conditions:
            return BINDING_OFF
        if self._node_first and not self.for_node(candidate):
            return NOT_FOR_NODE
        verdict = spec.chain.verdict(candidate.pool.driver, device)
        if verdict is MATCH and not self._node_first and not self.for_node(candidate):
            return NOT_FOR_NODE
        return verdict

    def for_node(self, candidate: Candidate) -> bool:
        """Whether a device is for this node, where its slice leaves that to the devices."""
        if not candidate.slice.per_device_node_selection:
            return True
        device = candidate.device
        try:
            return node_matches(self.node, device.node_name, device.all_nodes, device.node_selector)
        except NodeSelectorError as error:
            raise AllocationError(str(error)) from None

    def selectable(self, spec: RequestSpec, candidate: Candidate, selection: Selection) -> bool:
        """As ``verdict``.

        Raises:
            AllocationError: when a selector fails on the device.
        """
        verdict = self.verdict(spec, candidate)
        if verdict.failed:
            raise AllocationError(selection.error_text(verdict, candidate.id))
        return verdict.match

    @staticmethod
    def check_pool_for_all(label: str, spec: RequestSpec, pool: Pool) -> None:
        """An All request needs every pool of the node to be whole and valid.

        Raises:
            AllocationError: when the pool is not.
        """
        problem = "" if pool.complete else "being updated"
        if not problem and pool.status == INVALID:
            problem = "invalid"
        if problem:
            raise AllocationError(
                f"claim {label}, request {spec.request.name}: asks for all devices, but resource pool {pool} is "
                f"currently {problem}"
            )
