"""A node's hardware against what its ResourceSlices say: missing, extra, changed. Pure.

What a driver *would* publish for the hardware (``publish``) is compared with what is published. Values that are not
known on one of the two sides are not compared; a driver that dractl has no data about is named as not compared.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from dractl.generate.drivers import DRIVERS, Driver
from dractl.hardware import health
from dractl.hardware.model import Device, Host, Kind
from dractl.hardware.publish import Published, publish
from dractl.hardware.standard import NUMA_NODE, PCI_BUS_ID, PCIE_ROOT, standard_attributes
from dractl.hardware.words import listed, plural, subject, titled
from dractl.kube import objects
from dractl.kube.quantity import Quantity
from dractl.rules import hardware as rules
from dractl.rules.finding import Finding, ObjectRef, Severity

_VOLATILE = {"state", "health", "sriovVfs", "processes"}
"""Attributes that change from minute to minute; drivers follow on their own."""
_BY_POLICY = {"dra.net", "sriovnetwork.k8snetworkplumbingwg.io", "dra.cpu", "dra.memory"}
"""Drivers that leave devices out by configuration, or name them at random."""
_RANDOM_NAMES = {"dra.memory"}
_ADDRESS_NAMES = (PCI_BUS_ID, "dra.net/pciAddress")


@dataclass(slots=True)
class OnNode:
    """One published device of the node."""

    driver: str
    pool: str
    device: objects.Device

    @property
    def identity(self) -> str:
        """``driver/pool/device``."""
        return f"{self.driver}/{self.pool}/{self.device.name}"

    def value(self, name: str) -> Any:
        """An attribute by its name; without a slash it is in the driver's domain. A list gives its first value."""
        full = name if "/" in name else f"{self.driver}/{name}"
        short = full.removeprefix(f"{self.driver}/")
        attribute = self.device.attributes.get(full) or self.device.attributes.get(short)
        if attribute is None:
            return None
        return attribute.value[0] if isinstance(attribute.value, tuple) and attribute.value else attribute.value

    def amount(self, name: str) -> Quantity | None:
        """A capacity by its name."""
        full = name if "/" in name else f"{self.driver}/{name}"
        capacity = self.device.capacity.get(full) or self.device.capacity.get(full.removeprefix(f"{self.driver}/"))
        return None if capacity is None else capacity.value


@dataclass(slots=True)
class Compared:
    """How one driver's slices were compared: counts, or why they were not."""

    driver: str
    published: int
    matched: int = 0
    reason: str = ""

    def to_json(self) -> dict[str, Any]:
        """The form in the report."""
        out: dict[str, Any] = {"driver": self.driver, "published": self.published, "matched": self.matched}
        if self.reason:
            out["notCompared"] = self.reason
        return out


@dataclass(slots=True)
class Comparison:
    """All differences of a node, and what was compared."""

    node: str
    findings: list[Finding] = field(default_factory=list)
    drivers: list[Compared] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """The form in the report."""
        return {"node": self.node, "drivers": [one.to_json() for one in self.drivers]}


def reconcile(
    host: Host,
    slices: Sequence[objects.ResourceSlice],
    node: objects.Node | None,
    name: str,
    taint_rules: Sequence[objects.DeviceTaintRule] = (),
) -> Comparison:
    """Compare ``host`` with the slices that name the node ``name``; ``node`` adds its device plugins' resources."""
    result = Comparison(name)
    by_driver: dict[str, list[OnNode]] = {}
    counters: set[str] = set()
    for piece in _current(slices, name):
        devices = by_driver.setdefault(piece.driver, [])
        if piece.shared_counters:
            counters.add(piece.driver)
        devices += [
            OnNode(piece.driver, piece.pool.name, device)
            for device in piece.devices
            if name in (piece.node_name, device.node_name)
        ]
    for driver, devices in sorted(by_driver.items()):
        result.drivers.append(
            _one_driver(host, driver, devices, driver in counters, taint_rules, name, result.findings)
        )
        result.findings += _plugins(driver, devices, node)
    result.findings += _not_published_at_all(host, by_driver, node)
    result.findings.sort(key=lambda finding: (-finding.severity.rank, finding.code))
    return result


def _current(slices: Iterable[objects.ResourceSlice], name: str) -> list[objects.ResourceSlice]:
    """The newest generation of each pool on the node."""
    mine = [
        piece
        for piece in slices
        if piece.node_name == name or any(device.node_name == name for device in piece.devices)
    ]
    newest: dict[tuple[str, str], int] = {}
    for piece in mine:
        key = (piece.driver, piece.pool.name)
        newest[key] = max(newest.get(key, 0), piece.pool.generation)
    return [piece for piece in mine if piece.pool.generation == newest[(piece.driver, piece.pool.name)]]


# --- one driver -----------------------------------------------------------------------------------------------------


def _one_driver(
    host: Host,
    name: str,
    devices: list[OnNode],
    counters: bool,
    taint_rules: Sequence[objects.DeviceTaintRule],
    node: str,
    findings: list[Finding],
) -> Compared:
    compared = Compared(name, len(devices))
    driver = DRIVERS.get(name)
    if driver is None:
        compared.reason = "dractl has no data about this driver"
        return compared
    if driver.vendors and not host.pci_seen and not host.devices:
        compared.reason = "the PCI bus of the host is not visible here"
        return compared
    expected = _expected(host, driver, devices, counters, node)
    by_name = {str(made["name"]): made for piece in expected.slices for made in piece["spec"].get("devices", [])}
    differences: dict[tuple[str, str, str], list[str]] = {}
    seen: set[str] = set()
    for one in devices:
        hardware = _hardware(host, driver, one)
        made = _match(by_name, driver, one)
        if made is not None:
            seen.add(str(made["name"]))
        if hardware is None and made is None:
            findings.extend(_extra(host, driver, one))
            continue
        compared.matched += 1
        if made is not None:
            _differences(driver, one, made, differences)
        if hardware is not None:
            _unfounded(one, hardware, differences)
            findings += _faults(host, driver, one, hardware, taint_rules)
    findings += _mig(host, name, devices)
    findings += _differing(name, differences)
    findings += _missing(host, driver, by_name, seen, devices)
    return compared


def _expected(host: Host, driver: Driver, devices: list[OnNode], counters: bool, node: str) -> Published:
    features: set[str] = set()
    version: str | None = None
    if driver.name == "gpu.nvidia.com":
        if counters:
            features.add("DynamicMIG")
        version = _nvidia_release(devices)
    return publish(host, driver.name, node, version, frozenset(features))


def _nvidia_release(devices: list[OnNode]) -> str:
    """The oldest release whose attributes these are."""
    if any(one.value("minor") is not None for one in devices):
        return "25.3"
    if any(one.value("pcieBusID") is not None for one in devices):
        return "25.8"
    return "0.5" if any(one.value(NUMA_NODE) is not None for one in devices) else "0.4"


def _addresses(driver: Driver, one: OnNode) -> str | None:
    for name in (*driver.address, *_ADDRESS_NAMES):
        value = one.value(name)
        if isinstance(value, str) and value:
            return value
    return None


def _hardware(host: Host, driver: Driver, one: OnNode) -> Device | None:
    """The host's device by address, else by UUID."""
    address = _addresses(driver, one)
    if address is not None:
        return host.device_at(address)
    wanted = one.value("uuid")
    for device in host.devices:
        if device.nvml is not None and wanted and device.nvml.uuid == wanted:
            return device
    return None


def _match(by_name: dict[str, Any], driver: Driver, one: OnNode) -> Any:
    """What the driver would publish for the same device: by address where it is known, else by name."""
    address = _addresses(driver, one)
    same_kind = [made for made in by_name.values() if _text(made, "type") == one.value("type")]
    if address is not None:
        for made in same_kind:
            for name in (*driver.address, *_ADDRESS_NAMES):
                short = name.removeprefix(f"{driver.name}/")
                if _text(made, short) == address and (made["name"] == one.device.name or not _is_part(made)):
                    return made
        return None
    if driver.name in _RANDOM_NAMES:
        keys = ("resource.kubernetes.io/pageSize", "dra.cpu/numaNodeID")
        return next((made for made in same_kind if all(_text(made, key) == one.value(key) for key in keys)), None)
    return by_name.get(one.device.name)


def _is_part(made: Any) -> bool:
    return _text(made, "type") in {"mig", "amdgpu-partition"}


def _text(made: Any, name: str) -> Any:
    value = made["attributes"].get(name)
    if value is None:
        return None
    first = next(iter(value.values()))
    return first[0] if isinstance(first, list) else first


def _extra(host: Host, driver: Driver, one: OnNode) -> Iterator[Finding]:
    address = _addresses(driver, one)
    if address is not None:
        if not host.pci_seen:
            return
        text = f"{one.identity} is published with the address {address}, and the host has no such device"
    elif driver.name in _BY_POLICY or one.value("type") == "mig":
        return
    else:
        text = f"{one.identity} is published, and the host has nothing that the driver would publish under this name"
    yield rules.PUBLISHED_WITHOUT_HARDWARE.finding(text, ObjectRef("Device", one.identity))


# --- values ---------------------------------------------------------------------------------------------------------


def _differences(driver: Driver, one: OnNode, made: Any, differences: dict[tuple[str, str, str], list[str]]) -> None:
    for name, value in made["attributes"].items():
        if name in _VOLATILE:
            continue
        there, here = one.value(name), next(iter(value.values()))
        here = here[0] if isinstance(here, list) else here
        if there is not None and str(there) != str(here) and not _unsaid(driver, name, here):
            differences.setdefault((name, str(there), str(here)), []).append(one.device.name)
    for name, entry in made.get("capacity", {}).items():
        published = one.amount(name)
        if published is not None and published != Quantity.parse(entry["value"]):
            differences.setdefault((name, str(published), entry["value"]), []).append(one.device.name)


def _unsaid(driver: Driver, name: str, here: Any) -> bool:
    """Values that stand for 'not known' in the data."""
    return here == "Unknown" or (driver.name == "dra.net" and name in {"pciVendor", "pciDevice"})


def _unfounded(one: OnNode, hardware: Device, differences: dict[tuple[str, str, str], list[str]]) -> None:
    """Standard attributes that the helper would not have given."""
    if hardware.function is None:
        return
    attributes, errors = standard_attributes(hardware.function)
    for name in (NUMA_NODE, PCIE_ROOT):
        there = one.value(name)
        if there is None or name in attributes:
            if name in attributes and there is not None and str(there) != str(attributes[name]):
                key = (name, str(there), str(attributes[name]))
                names = differences.setdefault(key, [])
                if one.device.name not in names:
                    names.append(one.device.name)
            continue
        why = "numa_node is -1: unknown" if "numa_node=-1" in errors[name] else "not known"
        differences.setdefault((name, str(there), why), []).append(one.device.name)


def _differing(driver: str, differences: dict[tuple[str, str, str], list[str]]) -> Iterator[Finding]:
    for (name, there, here), names in sorted(differences.items()):
        yield rules.ATTRIBUTE_DIFFERS.finding(
            f"{driver}: {name} is published as {there} for {listed(names)}, the host says {here}",
            ObjectRef("Device", f"{driver}/{names[0]}") if len(names) == 1 else ObjectRef("Driver", driver),
            evidence={"name": name, "published": there, "host": here, "devices": names},
        )


# --- faults ---------------------------------------------------------------------------------------------------------


def _faults(
    host: Host, driver: Driver, one: OnNode, hardware: Device, taint_rules: Sequence[objects.DeviceTaintRule]
) -> Iterator[Finding]:
    function = hardware.function
    bound = function.driver if function is not None else None
    for_machines = one.value("type") == "vfio" or one.value("driver") in health.VFIO_DRIVERS
    if bound in health.VFIO_DRIVERS and not for_machines and hardware.kind is not Kind.NIC:
        yield rules.VFIO_PUBLISHED.finding(
            f"{one.identity} is published for containers, and {titled(hardware)} is bound to {bound}",
            ObjectRef("Device", one.identity),
        )
    wrong = _wrong(host, hardware)
    if wrong and not _tainted(one, taint_rules):
        yield rules.DEGRADED_PUBLISHED.finding(
            f"{one.identity} is published without a taint, and {titled(hardware)} {listed(wrong)}",
            ObjectRef("Device", one.identity),
            severity=Severity.ERROR if {"is lost", "does not answer on the bus"} & set(wrong) else None,
            related=(subject(hardware),),
        )


def _wrong(host: Host, hardware: Device) -> list[str]:
    state = health.unusable(hardware, host)
    wrong = {"lost": ["is lost"], "does not answer": ["does not answer on the bus"]}.get(state, [])
    function, gpu = hardware.function, hardware.nvml
    if function is not None and function.link.narrow:
        wrong.append(f"runs at x{function.link.width} of x{function.link.max_width}")
    if gpu is not None and gpu.ecc_uncorrected:
        wrong.append(f"has {gpu.ecc_uncorrected} uncorrected memory errors")
    if gpu is not None and gpu.recovery:
        wrong.append(f"needs recovery ({gpu.recovery})")
    return wrong


def _tainted(one: OnNode, taint_rules: Sequence[objects.DeviceTaintRule]) -> bool:
    if any(taint.effect in {"NoSchedule", "NoExecute"} for taint in one.device.taints):
        return True
    for rule in taint_rules:
        selector = rule.selector
        if rule.taint.effect not in {"NoSchedule", "NoExecute"} or selector is None:
            continue
        wanted = ((selector.driver, one.driver), (selector.pool, one.pool), (selector.device, one.device.name))
        if all(want is None or want == have for want, have in wanted):
            return True
    return False


def _mig(host: Host, driver: str, devices: list[OnNode]) -> Iterator[Finding]:
    if driver != "gpu.nvidia.com" or host.nvml is None or host.nvml.init:
        return
    wholes = {one.value(PCI_BUS_ID) or one.value("pcieBusID"): one for one in devices if one.value("type") == "gpu"}
    dynamic = any(one.device.consumes_counters for one in devices)
    static = [one for one in devices if one.value("type") == "mig" and not one.device.consumes_counters]
    real: dict[str, Device] = {}
    for device in host.devices:
        gpu = device.nvml
        if gpu is None or gpu.lost or gpu.handle_error:
            continue
        for instance in gpu.mig_instances:
            real[instance.uuid] = device
        whole = wholes.get(device.address)
        if gpu.mig and whole is not None and not dynamic:
            yield rules.MIG_DRIFT.finding(
                f"{whole.identity} is published as a whole GPU, and {titled(device)} is in MIG mode with "
                f"{len(gpu.mig_instances)} {plural(len(gpu.mig_instances), 'instance')}",
                ObjectRef("Device", whole.identity),
            )
    for one in static:
        wanted = one.value("uuid")
        if isinstance(wanted, str) and wanted not in real:
            yield rules.MIG_DRIFT.finding(
                f"{one.identity} (profile {one.value('profile')}) is published, and the host has no such MIG device "
                "any more",
                ObjectRef("Device", one.identity),
            )
    published = {one.value("uuid") for one in static}
    unseen = [(identity, device) for identity, device in real.items() if identity not in published]
    if unseen and not dynamic:
        parents = listed(sorted({device.label for _, device in unseen}))
        yield rules.MIG_DRIFT.finding(
            f"{len(unseen)} MIG {plural(len(unseen), 'device')} of {parents} {'is' if len(unseen) == 1 else 'are'} not "
            "published",
            ObjectRef("Driver", driver),
        )


# --- missing, plugins -----------------------------------------------------------------------------------------------


def _missing(
    host: Host, driver: Driver, by_name: dict[str, Any], seen: set[str], devices: list[OnNode]
) -> Iterator[Finding]:
    published = {_addresses(driver, one) for one in devices}
    missing = []
    for name, made in sorted(by_name.items()):
        if name in seen or _is_part(made):
            continue
        device = _device_of(host, driver, made)
        if device is not None and device.address in published:
            # there in another form: MIG devices, a type for virtual machines
            continue
        missing.append((name, device))
    if not missing or driver.name in _RANDOM_NAMES:
        return
    names = listed(f"{name}" + (f" ({titled(device)})" if device is not None else "") for name, device in missing)
    policy = driver.name in _BY_POLICY
    yield rules.NOT_PUBLISHED.finding(
        f"{driver.name} publishes {len(devices)} {plural(len(devices), 'device')} of this node and not {names}"
        + (": its configuration may leave them out" if policy else ""),
        ObjectRef("Driver", driver.name),
        severity=Severity.INFO if policy else None,
        evidence={"devices": [device.address for _, device in missing if device is not None]},
    )


def _device_of(host: Host, driver: Driver, made: Any) -> Device | None:
    for name in (*driver.address, *_ADDRESS_NAMES):
        address = _text(made, name.removeprefix(f"{driver.name}/"))
        if isinstance(address, str):
            return host.device_at(address)
    return None


def _plugins(driver: str, devices: list[OnNode], node: objects.Node | None) -> Iterator[Finding]:
    known = DRIVERS.get(driver)
    if known is None or node is None or not devices:
        return
    for resource, amount in sorted(node.allocatable.items()):
        if amount == Quantity.parse("0"):
            continue
        if any(fnmatch.fnmatchcase(resource, entry.name) for entry in known.plugin_resources):
            yield rules.PLUGIN_TOO.finding(
                f"the node's allocatable has {resource}: {amount} from a device plugin while {driver} publishes "
                f"{len(devices)} {plural(len(devices), 'device')} of the same hardware",
                ObjectRef("Node", node.meta.name),
            )


def _not_published_at_all(
    host: Host, by_driver: dict[str, list[OnNode]], node: objects.Node | None
) -> Iterator[Finding]:
    """Devices of a vendor for which a driver is known, and no such driver publishes on the node."""
    for vendor, drivers in _drivers_by_vendor().items():
        if any(driver.name in by_driver for driver in drivers):
            continue
        devices = [
            device
            for device in host.devices
            if device.kind in {Kind.GPU, Kind.ACCELERATOR}
            and not device.parent
            and (device.function.vendor if device.function is not None else 0x10DE) == vendor
        ]
        if not devices:
            continue
        names = " or ".join(driver.name for driver in drivers)
        plugins = _plugin_resources(drivers, node)
        yield rules.NO_SLICES.finding(
            f"{listed(titled(device) for device in devices)}: no slice of {names} names this node"
            + (f"; a device plugin advertises {listed(plugins)}" if plugins else ""),
            ObjectRef("Node", node.meta.name) if node is not None else None,
            severity=Severity.INFO if plugins else None,
        )


def _drivers_by_vendor() -> dict[int, list[Driver]]:
    table: dict[int, list[Driver]] = {}
    for driver in DRIVERS.values():
        if driver.name in {"compute-domain.nvidia.com", "qat.intel.com"}:
            continue
        for vendor in driver.vendors:
            table.setdefault(vendor, []).append(driver)
    return table


def _plugin_resources(drivers: list[Driver], node: objects.Node | None) -> list[str]:
    if node is None:
        return []
    patterns = [entry.name for driver in drivers for entry in driver.plugin_resources]
    return sorted(
        f"{resource}: {amount}"
        for resource, amount in node.allocatable.items()
        if any(fnmatch.fnmatchcase(resource, pattern) for pattern in patterns)
    )
