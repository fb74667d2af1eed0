"""Devices that work together but are far apart, and attributes by which they can never be matched."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from dractl.diagnose.check import Context
from dractl.explain.words import listing
from dractl.inventory import DeviceId, Inventory, PublishedDevice
from dractl.kube.objects import Device
from dractl.rules import topology
from dractl.rules.finding import Finding, ObjectRef

ROOT_NAMES = ("resource.kubernetes.io/pcieRoot", "resource.kubernetes.io/pciRoot", "pcieRoot", "pciRoot", "pcieroot")
NUMA_NAMES = (
    "resource.kubernetes.io/numaNode",
    "numaNode",
    "numa",
    "dra.net/numaNode",
    "dra.cpu/numaNodeID",
    "numaNodeID",
    "dra.memory/numaNode",
)
_FINISHED = ("Succeeded", "Failed")
_NETWORK = ("net", "nic", "rdma", "sriov")


@dataclass(frozen=True, slots=True)
class Place:
    """A device in use or free, with its root and NUMA node as far as they are published."""

    id: DeviceId
    root: str | None
    numa: int | None
    network: bool


def place_of(found: PublishedDevice) -> Place:
    """Where a device hangs."""
    root = _value(found.device, found.id.driver, ROOT_NAMES)
    numa = _value(found.device, found.id.driver, NUMA_NAMES)
    network = any(word in found.id.driver.lower() for word in _NETWORK)
    return Place(
        found.id,
        root if isinstance(root, str) and root else None,
        numa if isinstance(numa, int) and not isinstance(numa, bool) and numa >= 0 else None,
        network,
    )


def _value(device: Device, driver: str, names: tuple[str, ...]) -> object:
    for name in names:
        for key in (name, f"{driver}/{name}"):
            attribute = device.attributes.get(key)
            if attribute is not None:
                return attribute.value
    return None


def _by_node(inventory: Inventory) -> dict[str, list[Place]]:
    found: dict[str, list[Place]] = {}
    for published in inventory.devices.values():
        if published.node_name:
            found.setdefault(published.node_name, []).append(place_of(published))
    return found


def roots_disjoint(context: Context) -> Iterator[Finding]:
    """Nodes on which NICs and other devices have no root in common."""
    apart: list[tuple[str, list[str], list[str]]] = []
    together = 0
    for node, places in _by_node(context.inventory).items():
        nics = {place.root for place in places if place.network and place.root}
        others = {place.root for place in places if not place.network and place.root}
        if not nics or not others:
            continue
        if nics & others:
            together += 1
        else:
            apart.append((node, sorted(others), sorted(nics)))
    for node, devices, networks in apart:
        than = f"; on {together} other nodes they do" if together else ""
        yield topology.DISJOINT_ROOTS.finding(
            f"on {node} no NIC shares a PCIe root with another device: devices are under {listing(devices, 8)}, NICs "
            f"under {listing(networks, 8)}{than}",
            ObjectRef("Node", node),
            hint=f"a constraint on the root cannot be met on {node}; compare with dractl discover there",
        )


def allocated_across_roots(context: Context) -> Iterator[Finding]:
    """Pods with a device and a NIC under different roots where a pair under one root was free as well."""
    inventory = context.inventory
    free = _free_by_node(inventory)
    for key, links in inventory.pod_claims.items():
        pod = links[0].pod
        if pod.phase in _FINISHED or not pod.node_name:
            continue
        places = _places_of(inventory, [link.claim for link in links if link.claim is not None])
        nics = [place for place in places if place.network and place.root]
        others = [place for place in places if not place.network and place.root]
        if not nics or not others or {place.root for place in nics} & {place.root for place in others}:
            continue
        spare = free.get(pod.node_name, [])
        better = _better(others, nics, spare)
        if better is None:
            continue
        numa = {place.numa for place in nics + others if place.numa is not None}
        far = "even on different NUMA nodes" if len(numa) > 1 else "on one NUMA node"
        yield topology.ALLOCATED_ACROSS_ROOTS.finding(
            f"pod {key} on {pod.node_name} has {_named(others)} and {_named(nics)}, {far}; {better}",
            ObjectRef("Pod", key.name, key.namespace),
            evidence={"devices": [str(place.id) for place in others], "nics": [str(place.id) for place in nics]},
        )


def _named(places: list[Place]) -> str:
    return listing([f"{place.id.device} under {place.root}" for place in places], 4)


def _better(others: list[Place], nics: list[Place], spare: list[Place]) -> str | None:
    for held, wanted in ((others, True), (nics, False)):
        for place in held:
            match = next((one for one in spare if one.network is wanted and one.root == place.root), None)
            if match is not None:
                return f"{match.id.device}, free today, is under {place.root} as {place.id.device} is"
    return None


def _free_by_node(inventory: Inventory) -> dict[str, list[Place]]:
    found: dict[str, list[Place]] = {}
    for identity, published in inventory.devices.items():
        if published.node_name and not inventory.holders.get(identity) and not published.device.taints:
            found.setdefault(published.node_name, []).append(place_of(published))
    return found


def _places_of(inventory: Inventory, claims: list[object]) -> list[Place]:
    places = []
    for claim in claims:
        allocation = getattr(claim, "allocation", None)
        for item in allocation.results if allocation is not None else []:
            published = inventory.devices.get(DeviceId(item.driver, item.pool, item.device))
            if published is not None and not item.admin_access:
                places.append(place_of(published))
    return places


def cpus_elsewhere(context: Context) -> Iterator[Finding]:
    """Pods whose CPUs and devices, both from DRA drivers, are on different NUMA nodes."""
    inventory = context.inventory
    for key, links in inventory.pod_claims.items():
        pod = links[0].pod
        if pod.phase in _FINISHED:
            continue
        places = _places_of(inventory, [link.claim for link in links if link.claim is not None])
        cpus = {place.numa for place in places if _is_cpu(place) and place.numa is not None}
        others = [place for place in places if not _is_cpu(place) and place.numa is not None]
        away = [place for place in others if place.numa not in cpus]
        if cpus and away:
            yield topology.CPU_ON_OTHER_NUMA.finding(
                f"pod {key} has its CPUs on NUMA node {listing([str(one) for one in sorted(cpus, key=str)])}, but "
                f"{listing([f'{place.id.device} on node {place.numa}' for place in away], 4)}",
                ObjectRef("Pod", key.name, key.namespace),
            )


def _is_cpu(place: Place) -> bool:
    return "cpu" in place.id.driver.lower()


def names_differ(context: Context) -> Iterator[Finding]:
    """NUMA nodes and roots under different names in drivers that publish on the same nodes."""
    inventory = context.inventory
    for what, names in (("the NUMA node", NUMA_NAMES), ("the PCIe root", ROOT_NAMES)):
        spelled: dict[str, set[str]] = {}
        nodes: dict[str, set[str]] = {}
        for published in inventory.devices.values():
            driver = published.id.driver
            for key in published.device.attributes:
                bare = key.removeprefix(f"{driver}/")
                if key in names or bare in names:
                    spelled.setdefault(driver, set()).add(key if "/" in key else f"{driver}/{key}")
                    nodes.setdefault(driver, set()).add(published.node_name or "")
        drivers = sorted(spelled)
        pairs = [
            (first, second)
            for index, first in enumerate(drivers)
            for second in drivers[index + 1 :]
            if not spelled[first] & spelled[second] and nodes[first] & nodes[second]
        ]
        if pairs:
            involved = sorted({driver for pair in pairs for driver in pair})
            words = [f"{driver} as {listing(sorted(spelled[driver]))}" for driver in involved]
            yield topology.ATTRIBUTE_NAMES_DIFFER.finding(
                f"{what} is published by {listing(words)}: no matchAttribute can hold between "
                f"{listing([f'{first} and {second}' for first, second in pairs])}",
                ObjectRef("Driver", involved[0]),
                related=tuple(ObjectRef("Driver", driver) for driver in involved[1:]),
            )


