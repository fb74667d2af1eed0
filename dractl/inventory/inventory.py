"""The state of a cluster in memory: its objects, and the indexes that every analysis asks. Nothing is decided here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeVar

from dractl.inventory.ids import DeviceId, Key, PoolId
from dractl.inventory.links import Holder, PodClaim, find_holders, owned_claims, resolve_pod
from dractl.inventory.pools import Pool, PublishedDevice, group_pools
from dractl.kube.objects import (
    DeviceClass,
    DeviceTaintRule,
    Event,
    GenericObject,
    KubeObject,
    Meta,
    Namespace,
    Node,
    Pod,
    ResourceClaim,
    ResourceClaimTemplate,
    ResourceSlice,
)

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where an inventory came from.

    ``server_version`` is the API server's (``v1.36.2``) and ``taken`` the moment of the reading (RFC 3339), both None
    if they were not recorded. ``unseen`` names the kinds that could not be read, with the reason; ``notes`` are
    remarks for the user about what was passed over.
    """

    description: str = ""
    server_version: str | None = None
    taken: str | None = None
    unseen: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


class Inventory:
    """Objects by kind, and indexes over them that are made when they are first asked for.

    Lists keep the order in which the objects were read; maps are sorted by key. Not changed after it was made.
    """

    def __init__(self, objects: Iterable[KubeObject] = (), provenance: Provenance | None = None) -> None:
        self.provenance = provenance or Provenance()
        self.objects: list[KubeObject] = list(objects)

    # --- objects by kind ---

    @cached_property
    def slices(self) -> list[ResourceSlice]:
        """All ResourceSlices, of all generations."""
        return self._of(ResourceSlice)

    @cached_property
    def claims(self) -> dict[Key, ResourceClaim]:
        """ResourceClaims by namespace and name."""
        return _by_key(self._of(ResourceClaim))

    @cached_property
    def templates(self) -> dict[Key, ResourceClaimTemplate]:
        """ResourceClaimTemplates by namespace and name."""
        return _by_key(self._of(ResourceClaimTemplate))

    @cached_property
    def pods(self) -> dict[Key, Pod]:
        """Pods by namespace and name."""
        return _by_key(self._of(Pod))

    @cached_property
    def classes(self) -> dict[str, DeviceClass]:
        """DeviceClasses by name."""
        return {key.name: item for key, item in _by_key(self._of(DeviceClass)).items()}

    @cached_property
    def nodes(self) -> dict[str, Node]:
        """Nodes by name."""
        return {key.name: item for key, item in _by_key(self._of(Node)).items()}

    @cached_property
    def namespaces(self) -> dict[str, Namespace]:
        """Namespaces by name."""
        return {key.name: item for key, item in _by_key(self._of(Namespace)).items()}

    @cached_property
    def taint_rules(self) -> list[DeviceTaintRule]:
        """DeviceTaintRules."""
        return self._of(DeviceTaintRule)

    @cached_property
    def others(self) -> list[GenericObject]:
        """Objects of kinds that are kept as written."""
        return self._of(GenericObject)

    @cached_property
    def kinds(self) -> frozenset[str]:
        """The kinds of which at least one object was read."""
        return frozenset(kind_of(item) for item in self.objects)

    # --- indexes ---

    @cached_property
    def pools(self) -> dict[PoolId, Pool]:
        """Pools by driver and name, sorted."""
        return group_pools(self.slices)

    @cached_property
    def devices(self) -> dict[DeviceId, PublishedDevice]:
        """The devices of the current generation of every pool; of equal names in one pool the first."""
        found: dict[DeviceId, PublishedDevice] = {}
        for pool in self.pools.values():
            for published in pool.devices():
                found.setdefault(published.id, published)
        return found

    @cached_property
    def slices_by_node(self) -> dict[str, list[ResourceSlice]]:
        """Slices by the node that they name; those for several nodes are under the empty name."""
        found: dict[str, list[ResourceSlice]] = {}
        for item in self.slices:
            found.setdefault(item.node_name or "", []).append(item)
        return found

    @cached_property
    def holders(self) -> dict[DeviceId, list[Holder]]:
        """Who has each device, also devices that are no longer published."""
        return find_holders(self.claims.values(), self.pods)

    @cached_property
    def pod_claims(self) -> dict[Key, list[PodClaim]]:
        """For every pod with claims: each of them and what became of it."""
        generated, extended = owned_claims(self.claims.values())
        links = {
            key: resolve_pod(pod, self.claims, self.templates, generated, extended) for key, pod in self.pods.items()
        }
        return {key: found for key, found in links.items() if found}

    @cached_property
    def claim_pods(self) -> dict[Key, list[Pod]]:
        """Pods whose spec or status refers to a claim, by claim."""
        found: dict[Key, list[Pod]] = {}
        for links in self.pod_claims.values():
            for link in links:
                if link.claim is not None and link.pod not in found.setdefault(key_of(link.claim), []):
                    found[key_of(link.claim)].append(link.pod)
        return found

    @cached_property
    def _events(self) -> dict[tuple[str, str, str], list[Event]]:
        found: dict[tuple[str, str, str], list[Event]] = {}
        for event in self._of(Event):
            found.setdefault((event.kind, event.namespace, event.name), []).append(event)
        for events in found.values():
            events.sort(key=lambda event: event.last_timestamp or event.first_timestamp or "")
        return found

    def events_of(self, kind: str, namespace: str, name: str) -> list[Event]:
        """Events about an object, oldest first."""
        return self._events.get((kind, namespace, name), [])

    @cached_property
    def as_of(self) -> str | None:
        """The moment that ages are counted from (RFC 3339).

        That is when the inventory was taken; if that was not recorded, the latest time that any object carries.
        """
        if self.provenance.taken:
            return self.provenance.taken
        return max((stamp for item in self.objects for stamp in _times(item) if stamp), default=None)

    def _of(self, kind: type[T]) -> list[T]:
        return [item for item in self.objects if isinstance(item, kind)]


def kind_of(item: KubeObject) -> str:
    """The API's kind of an object."""
    return item.kind if isinstance(item, GenericObject) else type(item).__name__


def key_of(item: KubeObject) -> Key:
    """Namespace and name of an object."""
    return Key(item.meta.namespace, item.meta.name)


def _by_key(items: Iterable[T]) -> dict[Key, T]:
    keyed: dict[Key, T] = {}
    for item in items:
        meta: Meta = item.meta  # type: ignore[attr-defined]
        keyed[Key(meta.namespace, meta.name)] = item
    return dict(sorted(keyed.items()))


def _times(item: KubeObject) -> Iterable[str | None]:
    yield item.meta.creation_timestamp
    if isinstance(item, Event):
        yield item.last_timestamp
    elif isinstance(item, ResourceClaim):
        yield item.allocation.allocation_timestamp if item.allocation else None
    elif isinstance(item, Node):
        yield from (condition.last_heartbeat_time for condition in item.conditions)
    elif isinstance(item, Pod):
        yield from (condition.last_transition_time for condition in item.conditions)
