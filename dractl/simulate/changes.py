"""Changes of a cluster that are tried without touching it: nodes added, drained or gone, devices tainted or freed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

from dractl.allocator.profile import Profile
from dractl.allocator.quirks import TAINT_RULES_UNSEEN
from dractl.errors import DractlError
from dractl.explain.case import freed
from dractl.inventory import DeviceId, Inventory, Key
from dractl.kube.objects import (
    Device,
    DeviceClass,
    DeviceTaint,
    KubeObject,
    Meta,
    Node,
    Pod,
    ResourceClaim,
    ResourceSlice,
)
from dractl.simulate.eviction import emptied

Change = Callable[[Inventory], Inventory]

TAINT_KEY = "dractl.dev/simulated"


def apply(inventory: Inventory, changes: Iterable[Change]) -> Inventory:
    """The cluster after all changes, in order; the one given is not changed."""
    for change in changes:
        inventory = change(inventory)
    return inventory


def _rebuilt(inventory: Inventory, objects: Iterable[KubeObject]) -> Inventory:
    return Inventory(list(objects), inventory.provenance)


def _mapped(inventory: Inventory, change: Callable[[Any], KubeObject | None]) -> Inventory:
    return _rebuilt(inventory, (made for item in inventory.objects if (made := change(item)) is not None))


def _known_node(inventory: Inventory, name: str) -> None:
    if name not in inventory.nodes:
        from dractl.explain.words import listing, near

        alike = near(name, inventory.nodes)
        raise DractlError(f"there is no node {name}", f"Did you mean {listing(alike, 3, 'or')}?" if alike else "")


def unseen_rules(inventory: Inventory, profile: Profile) -> list[str]:
    """A remark where the release's scheduler gives out devices that a DeviceTaintRule names."""
    if TAINT_RULES_UNSEEN not in profile.quirks or not inventory.taint_rules:
        return []
    names = ", ".join(rule.meta.name for rule in inventory.taint_rules)
    return [f"this scheduler does not see DeviceTaintRules ({names}), so devices that they taint are given out too"]


def idle() -> Change:
    """No claim holds any device."""
    return freed


def add_nodes(text: str) -> Change:
    """``h100-0=4``: four more nodes like h100-0, with the same slices and nothing in use; ``h100=4`` takes the first
    node whose name begins so."""
    name, _, number = text.partition("=")
    if not number.isdigit() or not 0 < int(number) <= 10_000:
        raise DractlError(f"--add-nodes {text}: is not NODE=NUMBER", "Give it as h100-0=4.")

    def change(inventory: Inventory) -> Inventory:
        alike = [name] if name in inventory.nodes else [one for one in inventory.nodes if one.startswith(name)]
        model = alike[0] if alike else None
        if model is None:
            _known_node(inventory, name)
        node = inventory.nodes[str(model)]
        slices = [item for item in inventory.slices if item.node_name == model]
        objects = list(inventory.objects)
        for index in range(int(number)):
            objects += _copies(node, slices, f"{model}-new-{index}")
        return _rebuilt(inventory, objects)

    return change


def _copies(node: Node, slices: Sequence[ResourceSlice], name: str) -> list[KubeObject]:
    labels = {key: name if value == node.meta.name else value for key, value in node.meta.labels.items()}
    made: list[KubeObject] = [
        replace(node, meta=replace(node.meta, name=name, uid=f"{name}-uid", labels=labels), unschedulable=False)
    ]
    for item in slices:
        pool = item.pool.name
        pool = pool.replace(node.meta.name, name) if node.meta.name in pool else f"{name}-{pool}"
        made.append(
            replace(
                item,
                meta=replace(item.meta, name=f"{name}-{item.meta.name}", uid=f"{name}-{item.meta.uid}"),
                node_name=name,
                pool=replace(item.pool, name=pool),
                devices=[replace(device, taints=[]) for device in item.devices],
            )
        )
    return made


def remove_node(name: str) -> Change:
    """The node, its slices and its pods are gone; pods of controllers wait again."""

    def change(inventory: Inventory) -> Inventory:
        _known_node(inventory, name)
        return emptied(inventory, name, gone=True)

    return change


def cordon(name: str) -> Change:
    """No new pod is placed on the node."""

    def change(inventory: Inventory) -> Inventory:
        _known_node(inventory, name)
        node = inventory.nodes[name]
        return _mapped(inventory, lambda item: replace(item, unschedulable=True) if item is node else item)

    return change


def drain(name: str) -> Change:
    """The node is cordoned and its pods leave it: see ``eviction``."""

    def change(inventory: Inventory) -> Inventory:
        return emptied(cordon(name)(inventory), name, gone=False)

    return change


def taint(text: str) -> Change:
    """``driver/pool/device`` or ``driver/pool``: tainted NoSchedule, tolerated by nobody."""

    def change(inventory: Inventory) -> Inventory:
        devices = {found for found in inventory.devices if text in (str(found), str(found.pool_id), found.driver)}
        if not devices:
            raise DractlError(f"--taint {text}: no device is named so", "Give driver/pool/device (dractl get devices).")

        def one(item: Any) -> KubeObject | None:
            if not isinstance(item, ResourceSlice):
                made: KubeObject = item
                return made
            return replace(item, devices=[_tainted(item, device, devices) for device in item.devices])

        return _mapped(inventory, one)

    return change


def _tainted(item: ResourceSlice, device: Device, chosen: set[DeviceId]) -> Device:
    if DeviceId(item.driver, item.pool.name, device.name) not in chosen:
        return device
    return replace(device, taints=[*device.taints, DeviceTaint(key=TAINT_KEY, effect="NoSchedule")])


def remove_driver(name: str) -> Change:
    """The driver publishes nothing any more."""

    def change(inventory: Inventory) -> Inventory:
        if not any(item.driver == name for item in inventory.slices):
            raise DractlError(f"--remove-driver {name}: it publishes nothing", "See dractl get pools.")
        return _mapped(
            inventory, lambda item: None if isinstance(item, ResourceSlice) and item.driver == name else item
        )

    return change


def delete(text: str) -> Change:
    """``claim/NS/NAME`` or ``pod/NS/NAME``: gone; claims that only this pod uses are free again."""
    kind, _, rest = text.partition("/")
    namespace, _, name = rest.partition("/")
    if kind not in ("claim", "pod") or not namespace or not name:
        raise DractlError(f"--delete {text}: is not claim/NAMESPACE/NAME or pod/NAMESPACE/NAME", "Give one of these.")
    key = Key(namespace, name)

    def change(inventory: Inventory) -> Inventory:
        if key not in (inventory.claims if kind == "claim" else inventory.pods):
            raise DractlError(f"--delete {text}: there is no such {kind}", "See dractl get claims -A.")

        def one(item: Any) -> KubeObject | None:
            if isinstance(item, ResourceClaim) and kind == "claim" and Key(item.meta.namespace, item.meta.name) == key:
                return None
            if isinstance(item, Pod) and kind == "pod" and Key(item.meta.namespace, item.meta.name) == key:
                return None
            if isinstance(item, ResourceClaim) and kind == "pod" and item.meta.namespace == namespace:
                users = [one.name for one in item.reserved_for]
                if users == [name]:
                    return replace(item, allocation=None, reserved_for=[])
            made: KubeObject = item
            return made

        return _mapped(inventory, one)

    return change


def set_class(item: DeviceClass) -> Change:
    """A class replaced, or added."""

    def change(inventory: Inventory) -> Inventory:
        known = inventory.classes.get(item.meta.name)
        return _rebuilt(inventory, [*(one for one in inventory.objects if one is not known), item])

    return change


def add_objects(items: Sequence[KubeObject]) -> Change:
    """Objects of manifests, put beside those of the cluster; equal names replace."""

    def change(inventory: Inventory) -> Inventory:
        names = {_identity(item) for item in items}
        return _rebuilt(inventory, [*(one for one in inventory.objects if _identity(one) not in names), *items])

    return change


def _identity(item: KubeObject) -> tuple[str, str, str]:
    meta: Meta = item.meta
    return type(item).__name__, meta.namespace, meta.name
