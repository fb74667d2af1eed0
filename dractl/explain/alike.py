"""Which nodes fare alike with claims, however the claims are changed: then one of them answers for all.

The allocator's groups hold everything of a node that it looks at for the claims as they are. What changed selectors
and constraints read of devices is added here.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from dractl.allocator.profile import Profile
from dractl.cel.reads import Read
from dractl.cel.selector import compile_selector, project
from dractl.explain.survey import visible_devices
from dractl.kube.objects import DeviceClass, DeviceRequest, ResourceClaim, ResourceSlice

if TYPE_CHECKING:
    from dractl.explain.case import Case

PoolName = tuple[str, str]


class Alike:
    """The classes of a case's nodes, as fine as what was read of devices so far demands."""

    def __init__(self, case: Case) -> None:
        self._case = case
        self._apart = counters_apart(case.inventory.slices)
        self._reads: set[Read] = set()
        self._classes: dict[str, int] | None = None
        unknown = any(ask.device_class is None for ask in case.survey.asks)
        self._open = unknown and any(ask.spec.capacity for ask in case.survey.asks)

    def expect(self, claims: Sequence[ResourceClaim]) -> None:
        """Make the classes fine enough for claims that will be asked about later."""
        reads = reads_of(claims, self._case.inventory.classes, self._case.profile)
        if reads is not None and not reads <= self._reads:
            self._reads |= reads
            self._classes = None

    def classes(self, claims: Sequence[ResourceClaim]) -> Mapping[str, int] | None:
        """Each node's class for some form of the claims; None where every node has to be asked by itself."""
        reads = reads_of(claims, self._case.inventory.classes, self._case.profile)
        if reads is None or not self._apart or self._open:
            return None
        if self._classes is None or not reads <= self._reads:
            self._reads |= reads
            self._classes = self._made()
        return self._classes

    def _made(self) -> dict[str, int]:
        reads = sorted(self._reads)
        numbers: dict[Hashable, int] = {}
        found = {}
        for name, answer in self._case.nodes.items():
            facts = answer.reason.facts
            # pools that several nodes see are in the allocator's group by their identity
            devices = [
                project(reads, device_id.driver, device)
                for device_id, device in visible_devices(
                    facts.node, [pool for pool in facts.pools if _own(pool.slices, name)]
                )
            ]
            key = (answer.result.group, tuple(devices))
            found[name] = numbers.setdefault(key, len(numbers))
        return found


def _own(slices: Iterable[ResourceSlice], node: str) -> bool:
    return all(item.node_name == node for item in slices)


def reads_of(
    claims: Iterable[ResourceClaim], classes: Mapping[str, DeviceClass], profile: Profile
) -> frozenset[Read] | None:
    """What the selectors and constraints of claims read of devices; None where that may be anything."""
    environment = profile.environment()
    found: set[Read] = set()
    for claim in claims:
        for constraint in claim.spec.constraints:
            for attribute in (constraint.match_attribute, constraint.distinct_attribute):
                domain, _, name = (attribute or "").partition("/")
                if name:
                    found.add(("attribute", domain, name))
        for spec in _specs(claim):
            if spec.derived_attributes:
                return None
            device_class = classes.get(spec.device_class_name)
            for one in [*(device_class.selectors if device_class else []), *spec.selectors]:
                if one.cel is None:
                    continue
                selector = compile_selector(one.cel, environment)
                if selector.error is not None:
                    continue
                if selector.reads is None:
                    return None
                found |= selector.reads
    return frozenset(found)


def _specs(claim: ResourceClaim) -> Iterable[DeviceRequest]:
    for request in claim.spec.requests:
        if request.exactly is not None:
            yield request.exactly
        yield from request.first_available


def counters_apart(slices: Iterable[ResourceSlice]) -> bool:
    """Whether no two nodes see one pool with counters: then no node's answer depends on those asked before it."""
    counting: set[str] = set()
    names: dict[str, set[str | None]] = {}
    for item in slices:
        names.setdefault(item.pool.name, set()).add(item.node_name or None)
        if item.shared_counters:
            counting.add(item.pool.name)
    return all(len(names[pool]) == 1 and None not in names[pool] for pool in counting)


def nodes_by_pool(slices: Iterable[ResourceSlice]) -> dict[PoolName, set[str] | None]:
    """The nodes that see a pool, by the names in its slices; None where it is not bound to nodes by name."""
    found: dict[PoolName, set[str] | None] = {}
    for item in slices:
        nodes = found.setdefault((item.driver, item.pool.name), set())
        if not item.node_name:
            found[item.driver, item.pool.name] = None
        elif nodes is not None:
            nodes.add(item.node_name)
    return found
