"""What is odd about published devices (for wrong nodes, without an attribute, twice), and about their drivers."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from itertools import pairwise

from dractl.diagnose.check import Context
from dractl.explain.drivers import DriverView, driver_view, hinting_labels
from dractl.explain.lifecycle import since
from dractl.explain.words import count, listing, natural, plural, ranges
from dractl.inventory import Inventory, PublishedDevice
from dractl.kube.drivers import DRIVERS, STANDARD
from dractl.kube.objects import ResourceSlice
from dractl.rules import publication
from dractl.rules.finding import Finding, ObjectRef, Severity

_IN_A_MACHINE = ("pciBusID", "pcieRoot", "pciRoot", "pciAddress", "pcieBusID", "pciAddr", "numaNode")
"""Attributes that only a device inside a node has."""
_IDENTITIES = ("uuid", "serial", "serialNumber")
_FEW = 16
"""So many devices may be out of step before it looks like a way of publishing rather than a fault."""


def local_devices_for_all(context: Context) -> Iterator[Finding]:
    """Slices for all nodes with devices that are inside one."""
    inventory = context.inventory
    found: dict[str, list[tuple[ResourceSlice, str]]] = {}
    for pool in inventory.pools.values():
        for item in pool.current:
            if not item.all_nodes or not item.devices:
                continue
            why = f"its pool is named like node {item.pool.name}" if item.pool.name in inventory.nodes else ""
            seen = sorted({name for device in item.devices for name in _IN_A_MACHINE if _has(device.attributes, name)})
            if not why and seen:
                why = f"its devices carry {listing(seen)}"
            if why:
                found.setdefault(item.driver, []).append((item, why))
    for driver, items in sorted(found.items()):
        first, why = items[0]
        number = sum(len(item.devices) for item, _ in items)
        more = f" (and {len(items) - 1} more of {driver})" if len(items) > 1 else ""
        yield publication.LOCAL_FOR_ALL.finding(
            f"slice {first.meta.name}{more} publishes {count(number, 'device')} of {driver} for all nodes "
            f"(spec.allNodes), though {why}: every node seems to have them",
            ObjectRef("ResourceSlice", first.meta.name),
            related=tuple(ObjectRef("ResourceSlice", item.meta.name) for item, _ in items[1:20]),
        )


def _has(attributes: Iterable[str], name: str) -> bool:
    return any(key.rpartition("/")[2] == name for key in attributes)


# --- attributes -----------------------------------------------------------------------------------------------------


def attributes_lost(context: Context) -> Iterator[Finding]:
    """Devices without an attribute that all others of their driver and type carry."""
    kinds: dict[tuple[str, str], list[PublishedDevice]] = defaultdict(list)
    for found in context.inventory.devices.values():
        type_ = found.device.attributes.get("type") or found.device.attributes.get(f"{found.id.driver}/type")
        kinds[found.id.driver, str(type_.value) if type_ else ""].append(found)
    for (driver, kind), devices in sorted(kinds.items()):
        lost: dict[tuple[PublishedDevice, ...], list[str]] = {}
        for name, without in _rare_gaps(devices):
            if not _optional(driver, name):
                lost.setdefault(tuple(without), []).append(name)
        for gaps, names in lost.items():
            yield _lost(context, driver, kind, devices, list(gaps), names)


def _rare_gaps(devices: list[PublishedDevice]) -> Iterator[tuple[str, list[PublishedDevice]]]:
    """Attributes that a few devices lack and at least nine of ten carry, with the devices that lack them."""
    raw: Counter[str] = Counter()
    for found in devices:
        raw.update(found.device.attributes.keys())
    driver = devices[0].id.driver
    carried: Counter[str] = Counter()
    for name, number in raw.items():
        carried[_full(driver, name)] += number
    total = len(devices)
    for name, number in sorted(carried.items()):
        missing = total - number
        # of a driver that is known to give all of its devices the attribute, one of two is enough to tell
        if 0 < missing <= min(_FEW, total // (2 if _always(driver, name) else 10)):
            short = name.removeprefix(f"{driver}/")
            yield name, [one for one in devices if not {name, short} & one.device.attributes.keys()]


def _full(driver: str, name: str) -> str:
    return name if "/" in name else f"{driver}/{name}"


def _always(driver: str, name: str) -> bool:
    """Whether all devices of the driver are known to carry the attribute."""
    known = DRIVERS.get(driver)
    domain, _, short = name.rpartition("/")
    attribute = known.attributes.get((domain, short)) if known is not None else None
    return attribute is not None and not (attribute.optional or attribute.since or attribute.types)


def _optional(driver: str, name: str) -> bool:
    """Whether the driver is known to leave the attribute out on some devices, or in some releases."""
    known = DRIVERS.get(driver)
    domain, _, short = name.rpartition("/")
    attribute = known.attributes.get((domain, short)) if known is not None else None
    return attribute is not None and (attribute.optional or bool(attribute.since))


def _lost(
    context: Context,
    driver: str,
    kind: str,
    devices: list[PublishedDevice],
    without: list[PublishedDevice],
    names: list[str],
) -> Finding:
    nodes = sorted({one.node_name or one.id.pool for one in without}, key=natural)
    what = f" of type {kind}" if kind else ""
    # where nothing is known of the driver, some devices may well have less to say
    known = DRIVERS.get(driver) is not None or any(name.startswith(f"{STANDARD}/") for name in names)
    read = sorted({name for name in names if any(name.rpartition("/")[2] in text for text in _selectors(context))})
    bites = f"; selectors here read {listing(read)}" if read else ""
    return publication.ATTRIBUTE_LOST.finding(
        f"{listing([str(one.id) for one in without], 4)} on {ranges(nodes, 4)} {plural(len(without), 'lacks', 'lack')} "
        f"{listing(names, 4)}, which the other {count(len(devices) - len(without), 'device')} of {driver}{what} "
        f"{plural(len(devices) - len(without), 'carries', 'carry')}{bites}",
        ObjectRef("Device", str(without[0].id)) if len(without) == 1 else ObjectRef("Driver", driver),
        severity=None if read or known else Severity.INFO,
        evidence={"attributes": names, "devices": [str(one.id) for one in without]},
    )


def _selectors(context: Context) -> list[str]:
    inventory = context.inventory
    specs = [one.spec for one in inventory.claims.values()] + [one.spec for one in inventory.templates.values()]
    requests = [
        one
        for spec in specs
        for request in spec.requests
        for one in ([request.exactly] if request.exactly else request.first_available)
    ]
    selectors = [one for item in inventory.classes.values() for one in item.selectors]
    selectors += [one for request in requests for one in request.selectors]
    constraints = [one.match_attribute or one.distinct_attribute or "" for spec in specs for one in spec.constraints]
    return list(dict.fromkeys([one.cel or "" for one in selectors] + constraints))


def identities_twice(context: Context) -> Iterator[Finding]:
    """UUIDs and serial numbers that devices of different nodes share."""
    seen: dict[tuple[str, str, str], list[PublishedDevice]] = defaultdict(list)
    drivers: dict[str, int] = defaultdict(int)
    for found in context.inventory.devices.values():
        for name in _IDENTITIES:
            attribute = found.device.attributes.get(name) or found.device.attributes.get(f"{found.id.driver}/{name}")
            if attribute is not None and isinstance(attribute.value, str) and attribute.value:
                seen[found.id.driver, name, attribute.value].append(found)
                drivers[found.id.driver] += 1
    pairs: dict[tuple[str, str, str], list[tuple[str, PublishedDevice, PublishedDevice]]] = defaultdict(list)
    for (driver, name, value), devices in sorted(seen.items()):
        for first, second in pairwise(devices):
            places = (first.node_name or first.id.pool, second.node_name or second.id.pool)
            if places[0] != places[1]:
                pairs[driver, *places].append((f"{name} {value}", first, second))
    for (driver, here, there), doubles in sorted(pairs.items()):
        number = sum(len(value) for key, value in pairs.items() if key[0] == driver)
        yield publication.IDENTITY_TWICE.finding(
            f"nodes {here} and {there} both publish {count(len(doubles), 'device')} of {driver} with the same "
            f"identity: {listing([f'{what} as {a.id} and {b.id}' for what, a, b in doubles], 2)}",
            ObjectRef("Node", here),
            # where most devices are like that, the identities are made up
            severity=None if number * 4 <= drivers[driver] else Severity.INFO,
            related=(ObjectRef("Node", there),),
        )


# --- drivers --------------------------------------------------------------------------------------------------------


def drivers_publishing_nothing(context: Context) -> Iterator[Finding]:
    """Drivers whose pods are well on nodes for which they publish nothing."""
    inventory = context.inventory
    for driver in drivers_of(inventory):
        view = driver_view(inventory, driver)
        published = set(view.nodes)
        shared = any(pool.current and not pool.nodes for key, pool in inventory.pools.items() if key.driver == driver)
        lonely = sorted(
            {
                one.pod.node_name
                for index, one in enumerate(view.pods)
                if one.pod.node_name in inventory.nodes
                and not one.trouble
                and one.pod.node_name not in published
                and not _young(context, view, index)
            },
            key=natural,
        )
        if lonely and not shared and _is_daemon(view):
            yield _publishing_nothing(inventory, view, lonely)


def _is_daemon(view: DriverView) -> bool:
    """Whether pods run on many nodes as of a DaemonSet: a controller publishes nothing for its own node."""
    return any(owner.kind == "DaemonSet" for one in view.pods for owner in one.pod.meta.owners) or bool(view.workloads)


def _publishing_nothing(inventory: Inventory, view: DriverView, lonely: list[str]) -> Finding:
    labels = hinting_labels(inventory, view.name)
    hinted = [name for name in lonely if any(name in nodes for nodes in labels.values())]
    pods = [str(one) for one in view.pods if one.pod.node_name in lonely]
    why = ""
    if hinted and view.published:
        key = next(key for key, nodes in labels.items() if hinted[0] in nodes)
        why = f"; {listing(hinted, 4)} {plural(len(hinted), 'carries', 'carry')} the label {key}"
    elif not view.published:
        why = "; it publishes for no node at all"
    wanted = not view.published and any(
        view.name in (one.cel or "") for item in inventory.classes.values() for one in item.selectors
    )
    return publication.NOTHING_PUBLISHED_THERE.finding(
        f"pods that look like driver {view.name}'s run on {ranges(lonely)} ({listing(pods, 3)}), and nothing of "
        f"{view.name} is published there{why}",
        ObjectRef("Driver", view.name),
        severity=Severity.WARNING if (hinted and view.published) or wanted else None,
        evidence={"nodes": lonely},
        hint=f"{_logs(view, lonely[0])}; compare with dractl discover on {lonely[0]}",
        related=tuple(ObjectRef("Node", name) for name in lonely[:20]),
    )


def _logs(view: DriverView, node: str) -> str:
    meta = next(one.pod.meta for one in view.pods if one.pod.node_name == node)
    return f"kubectl logs {meta.name} -n {meta.namespace} --all-containers"


def drivers_of(inventory: Inventory) -> list[str]:
    """Drivers that publish something, and known ones that a class selects."""
    names = {item.driver for item in inventory.slices}
    texts = [one.cel or "" for item in inventory.classes.values() for one in item.selectors]
    names |= {name for name in DRIVERS if any(f"'{name}'" in text or f'"{name}"' in text for text in texts)}
    return sorted(names)


def driver_pods_in_trouble(context: Context) -> Iterator[Finding]:
    """Pods of drivers that are not well, and nodes with slices on which no pod of the driver runs."""
    inventory = context.inventory
    for driver in drivers_of(inventory):
        view = driver_view(inventory, driver)
        troubled: dict[str, list[int]] = {}
        for index, one in enumerate(view.pods):
            if one.trouble and not one.pod.meta.deletion_timestamp and not _young(context, view, index):
                troubled.setdefault(one.trouble, []).append(index)
        for trouble, indices in sorted(troubled.items()):
            yield _in_trouble(inventory, view, trouble, indices)
        running = {one.pod.node_name for one in view.pods if not one.trouble}
        sick = {one.pod.node_name for one in view.pods if one.trouble}
        lonely = sorted(
            (node for node in view.nodes if node not in running | sick and node in inventory.nodes), key=natural
        )
        if view.pods and running and lonely:
            devices = _published(inventory, driver, lonely)
            yield publication.DRIVER_POD_TROUBLE.finding(
                f"{driver} has {count(devices, 'device')} published for {ranges(lonely)}, but no pod that looks like "
                f"the driver's runs there (it does on {count(len(running), 'other node')}): claims allocated there are "
                "not prepared",
                ObjectRef("Driver", driver),
                evidence={"nodes": lonely},
                hint=f"see why the DaemonSet has no pod on {lonely[0]}: its nodeSelector, the node's taints, kubectl "
                f"describe node {lonely[0]}",
                related=tuple(ObjectRef("Node", name) for name in lonely[:20]),
            )


def _published(inventory: Inventory, driver: str, nodes: list[str]) -> int:
    """How many devices of a driver are published for some nodes."""
    return sum(found.id.driver == driver and found.node_name in nodes for found in inventory.devices.values())


def _young(context: Context, view: DriverView, index: int) -> bool:
    """A pod within its first minute that only starts (Pending, ContainerCreating) or has only just started."""
    pod = view.pods[index].pod
    starting = (None, "Pending", "ContainerCreating", "not ready")
    if not context.inventory.provenance.taken or view.pods[index].trouble not in starting:
        return False
    age = since(context.inventory, pod.meta.creation_timestamp, context.question.now)
    return age is not None and age.endswith("s") and age[:-1].isdigit() and int(age[:-1]) < 60


def _in_trouble(inventory: Inventory, view: DriverView, trouble: str, indices: list[int]) -> Finding:
    pods = [view.pods[index].pod for index in indices]
    nodes = sorted({pod.node_name for pod in pods if pod.node_name}, key=natural)
    first = pods[0].meta
    more = f" (and {len(pods) - 1} more)" if len(pods) > 1 else ""
    where = f" on {ranges(nodes, 4)}" if nodes else ""
    devices = _published(inventory, view.name, nodes)
    held = f"; {count(devices, 'device')} published there cannot be prepared meanwhile" if devices else ""
    return publication.DRIVER_POD_TROUBLE.finding(
        f"pod {first.namespace}/{first.name}{more} looks like driver {view.name}'s{where} and is not well: "
        f"{trouble}{held}",
        ObjectRef("Pod", first.name, first.namespace),
        hint=f"kubectl describe pod {first.name} -n {first.namespace}; kubectl logs {first.name} -n {first.namespace} "
        "--all-containers",
        related=tuple(ObjectRef("Pod", pod.meta.name, pod.meta.namespace) for pod in pods[1:20]),
    )
