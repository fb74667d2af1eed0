"""Devices that work together but are far apart, and attributes by which they can never be matched."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from dractl.diagnose.check import Context
from dractl.explain.judge import Ask
from dractl.explain.words import listing, natural, plural
from dractl.inventory import DeviceId, Inventory, Key, PublishedDevice, key_of
from dractl.kube.objects import Device
from dractl.rules import topology
from dractl.rules.finding import Finding, ObjectRef, Severity

ROOT_NAMES = ("resource.kubernetes.io/pcieRoot", "resource.kubernetes.io/pciRoot", "pcieRoot", "pciRoot", "pcieroot")
NUMA_NAMES = (
    "resource.kubernetes.io/numaNode",
    "numaNode",
    "numa",
    "composite/numaNode",
    "dra.net/numaNode",
    "dra.cpu/numaNodeID",
    "numaNodeID",
    "dra.memory/numaNode",
)
RAIL_NAMES = ("rail", "railIndex", "railID", "rail_id")
_DIMENSIONS = ("PCIe root", "rail", "NUMA node")
"""Ways to be near each other, the nearest first."""
_FINISHED = ("Succeeded", "Failed")
_NETWORK = ("net", "nic", "rdma", "sriov")


@dataclass(frozen=True, slots=True)
class Place:
    """A device in use or free, with its root and NUMA node as far as they are published."""

    id: DeviceId
    root: str | None
    numa: int | None
    network: bool
    rail: str | int | None = None

    def at(self, where: str) -> str | int | None:
        """The value of one of ``_DIMENSIONS``."""
        return {"PCIe root": self.root, "rail": self.rail, "NUMA node": self.numa}[where]


def place_of(found: PublishedDevice) -> Place:
    """Where a device hangs."""
    root = _value(found.device, found.id.driver, ROOT_NAMES)
    numa = _value(found.device, found.id.driver, NUMA_NAMES)
    network = any(word in found.id.driver.lower() for word in _NETWORK)
    return Place(
        found.id,
        # what is written in a form of its own cannot be compared with the kernel's pci0000:15
        root if isinstance(root, str) and root.startswith("pci") else None,
        numa if isinstance(numa, int) and not isinstance(numa, bool) and numa >= 0 else None,
        network,
        _rail(found),
    )


def _rail(found: PublishedDevice) -> str | int | None:
    for key, attribute in found.device.attributes.items():
        if key.rpartition("/")[2] in RAIL_NAMES and isinstance(attribute.value, str | int):
            return attribute.value
    return None


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


def fragmented(context: Context) -> Iterator[Finding]:
    """Waiting claims for which enough devices are free, but not on one node."""
    for waiting in context.waiting:
        report, key = waiting.report, waiting.claims[0]
        gated = any(one.scheduling_gates for one in report.pods)
        if report.verdict != "doesNotFit" or gated or not any(one.count and one.count > 1 for one in report.requests):
            continue
        case = context.case(key)
        for index, ask in enumerate(case.survey.asks):
            if ask.all or ask.count < 2 or ask.request.exactly is None:
                continue
            free = {node.name: len(node.reason.facts.asks[index].usable) for node in case.eligible}
            large = {
                node.name: len(node.reason.facts.asks[index].matched)
                for node in case.eligible
                if len(node.reason.facts.asks[index].matched) >= ask.count
            }
            total = len({one.id for node in case.eligible for one in node.reason.facts.asks[index].usable})
            if large and total >= ask.count > max(free.values(), default=0) and total == sum(free.values()):
                yield _fragmented(context, key, ask, free, large)


def _fragmented(context: Context, key: Key, ask: Ask, free: dict[str, int], large: dict[str, int]) -> Finding:
    inventory = context.inventory
    best = max(large, key=lambda name: (free[name], name))
    lack = ask.count - free[best]
    users: dict[str, int] = {}
    for found in inventory.devices.values():
        if found.node_name == best:
            for holder in inventory.holders.get(found.id, []):
                if not holder.result.admin_access:
                    name = str(key_of(holder.claim))
                    users[name] = users.get(name, 0) + 1
    moving = listing([f"claim {name} ({number})" for name, number in sorted(users.items(), key=lambda one: one[1])], 4)
    most = sorted(free.items(), key=lambda one: (-one[1], natural(one[0])))
    spread = listing([f"{number} on {name}" for name, number in most if number])
    total = sum(free.values())
    return topology.FRAGMENTED.finding(
        f"claim {key} wants {ask.count} {plural(ask.count, ask.noun)} on one node for request {ask.label}; {total} are "
        f"free, but spread: {spread}",
        ObjectRef("ResourceClaim", key.name, key.namespace),
        evidence={"wanted": ask.count, "free": {name: number for name, number in free.items() if number}},
        hint=f"{best} is the nearest: {lack} more there would do; {moving} "
        f"{plural(len(users), 'has', 'have')} devices there"
        if users
        else f"{best} is the nearest",
    )


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
    """Pods whose device and NIC have no root (rail, NUMA node) in common where a nearer pair was free as well."""
    inventory = context.inventory
    free = _free_by_node(inventory)
    for key, links in inventory.pod_claims.items():
        pod = links[0].pod
        if pod.phase in _FINISHED or not pod.node_name:
            continue
        places = _places_of(inventory, [link.claim for link in links if link.claim is not None])
        nics = [place for place in places if place.network]
        others = [place for place in places if not place.network and not _is_cpu(place)]
        for where in _DIMENSIONS:
            here = [place for place in others if place.at(where) is not None]
            there = [place for place in nics if place.at(where) is not None]
            if not here or not there:
                continue
            if not {place.at(where) for place in here} & {place.at(where) for place in there}:
                better = _better(here, there, free.get(pod.node_name, []), where)
                if better is not None:
                    yield _across(key, pod.node_name, here, there, where, better)
            break


def _across(key: Key, node: str, others: list[Place], nics: list[Place], where: str, better: str) -> Finding:
    numa = ({place.numa for place in others} - {None}, {place.numa for place in nics} - {None})
    apart = bool(numa[0] and numa[1]) and not numa[0] & numa[1]
    far = "even on different NUMA nodes" if apart else "on one NUMA node" if numa[0] & numa[1] else ""
    away = f", {far}" if far and where != "NUMA node" else ""
    return topology.ALLOCATED_ACROSS_ROOTS.finding(
        f"pod {key} on {node} has {_named(others, where)} and {_named(nics, where)}{away}; {better}",
        ObjectRef("Pod", key.name, key.namespace),
        evidence={
            "devices": [str(place.id) for place in others],
            "nics": [str(place.id) for place in nics],
            "by": where,
            "distance": 2 if apart else 1,
        },
    )


def _named(places: list[Place], where: str) -> str:
    under = "under" if where == "PCIe root" else f"on {where}"
    return listing([f"{place.id.device} {under} {place.at(where)}" for place in places], 4)


def _better(others: list[Place], nics: list[Place], spare: list[Place], where: str) -> str | None:
    under = "under" if where == "PCIe root" else f"on {where}"
    for held, wanted in ((others, True), (nics, False)):
        drivers = {place.id.driver for place in (nics if wanted else others)}
        for place in held:
            match = next(
                (
                    one
                    for one in spare
                    if one.network is wanted and one.id.driver in drivers and one.at(where) == place.at(where)
                ),
                None,
            )
            if match is not None:
                return f"{match.id.device}, free today, is {under} {match.at(where)} as {place.id.device} is"
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
            none_near = len(away) == len(others)
            near = listing([place.id.device for place in others if place not in away], 4)
            rest = "" if none_near else f"; {near} {plural(len(others) - len(away), 'is')} near"
            yield topology.CPU_ON_OTHER_NUMA.finding(
                f"pod {key} has its CPUs on NUMA node {listing([str(one) for one in sorted(cpus, key=str)])}, but "
                f"{listing([f'{place.id.device} on node {place.numa}' for place in away], 4)}{rest}",
                ObjectRef("Pod", key.name, key.namespace),
                # devices of both sockets cannot all be near the CPUs of one
                severity=None if none_near else Severity.INFO,
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
                    nodes.setdefault(driver, set())
                    if published.node_name:
                        nodes[driver].add(published.node_name)
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
