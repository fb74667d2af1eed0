"""What will bite on this host: findings from what was read, each with what proves it. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from dractl.hardware import config_space as space
from dractl.hardware import topology
from dractl.hardware.health_nvidia import nvidia_findings
from dractl.hardware.model import NO_NUMA, Device, Host, Kind, PciFunction, SourceState, Unseen, known
from dractl.hardware.names import VIRTUAL_FUNCTIONS
from dractl.hardware.words import amount, listed, plural, subject, titled
from dractl.rules import hardware as rules
from dractl.rules.finding import Finding, ObjectRef, Severity

VFIO_DRIVERS = {"vfio-pci", "xe-vfio-pci", "nvgrace_gpu_vfio_pci", "mlx5_vfio_pci", "pci-stub"}
"""Drivers that keep a function for virtual machines; a group with only these is viable."""
PLACED = {Kind.GPU, Kind.ACCELERATOR, Kind.FPGA, Kind.NIC, Kind.NVME, Kind.CXL}
"""Kinds whose place matters."""
COMPUTE = {Kind.GPU, Kind.ACCELERATOR, Kind.FPGA}
MANY_CORRECTED = 1000
_GOOGLE = 0x1AE0
_CO_PROCESSOR = 0x0B40
"""PCI class of QuickAssist, whose drivers for containers hand out virtual functions."""


def health(host: Host) -> list[Finding]:
    """All findings of a host, the worst first, in a stable order."""
    found = [
        *_sources(host),
        *_places(host),
        *_vfio(host),
        *_drivers(host),
        *_links(host),
        *_network(host),
        *_acs(host),
        *nvidia_findings(host),
        *_malformed(host),
    ]
    return sorted(found, key=lambda finding: (-finding.severity.rank, finding.code))


def unusable(device: Device, host: Host) -> str:
    """Why work can not use a device as it stands, or an empty text."""
    function, nvml = device.function, device.nvml
    if nvml is not None and nvml.lost:
        return "lost"
    if function is None:
        return "no handle" if nvml is not None and nvml.handle_error else ""
    if isinstance(function.config, bytes) and space.all_ones(function.config):
        return "does not answer"
    if function.driver in VFIO_DRIVERS and not _wants_vfio(device):
        return "for virtual machines" if device.kind is Kind.GPU else "with vfio"
    if nvml is not None and nvml.mig and not nvml.mig_instances:
        return "MIG without instances"
    if _fault(function):
        return _fault(function).lower()
    if device.kind in COMPUTE and function.driver is None and shows_drivers(host):
        return "no driver"
    if function.driver == "nouveau":
        return "with nouveau"
    return ""


def _wants_vfio(device: Device) -> bool:
    """TPUs since v5e are used through vfio by their own runtime, in containers too."""
    return device.function is not None and device.function.vendor == _GOOGLE


def _fault(function: PciFunction) -> str:
    """The status that Habana's or QuickAssist's driver gives, unless it is that of a working device."""
    status = str(function.details.get("accel", {}).get("status", ""))
    if status.lower() not in {"", "operational"}:
        return status
    state = str(function.details.get("qat", {}).get("state", ""))
    return state if state.lower() == "down" else ""


def shows_drivers(host: Host) -> bool:
    """Whether the tree has the links to drivers at all."""
    return any(function.driver for function in host.functions.values())


def _host_ref(host: Host) -> ObjectRef:
    return ObjectRef("Host", host.machine.hostname or "host")


# --- sources, places ------------------------------------------------------------------------------------------------


def _sources(host: Host) -> Iterator[Finding]:
    if not host.pci_seen:
        source = next((source for source in host.sources if source.name == "pci"), None)
        reason = source.reason if source is not None else "no PCI bus is visible here"
        known_otherwise = [device for device in host.devices if device.nvml is not None]
        text = reason
        if known_otherwise:
            names = listed(titled(device) for device in known_otherwise)
            text = (
                f"NVML knows {names}; {reason}: NUMA node, PCIe root, link, IOMMU group and kernel driver could not be "
                "looked at"
            )
        yield rules.PCI_HIDDEN.finding(
            text,
            _host_ref(host),
            severity=None if known_otherwise or host.machine.container else Severity.INFO,
            hint="Mount the host's /sys (for example at /host/sys) and run with --root /host.",
        )
    for source in host.sources:
        if source.state is SourceState.FAILED and source.name != "nvml":
            yield rules.SOURCE_FAILED.finding(f"{source.name}: {source.reason}", _host_ref(host), hint=source.hint)


def _places(host: Host) -> Iterator[Finding]:
    flat = topology.is_flat(host)
    if flat:
        yield _flat(host)
    with_cpus = [node for node in host.numa_nodes if not node.memory_only]
    placeless = [
        device
        for device in host.devices
        if device.kind in PLACED and not device.parent and _numa_is_minus_one(device.function)
    ]
    if placeless and len(with_cpus) > 1:
        names = listed(f"{device.label} {device.address}" for device in placeless)
        verb = "has" if len(placeless) == 1 else "have"
        yield rules.NUMA_UNKNOWN.finding(
            f"{names} {verb} numa_node -1 although the machine has {len(with_cpus)} NUMA nodes: the place is unknown",
            subject(placeless[0]) if len(placeless) == 1 else _host_ref(host),
            evidence={
                "devices": [device.address for device in placeless],
                "numaNodes": [node.id for node in with_cpus],
            },
        )
    if not flat:
        yield from _wide_roots(host)
    for device in host.devices:
        domain = device.address.split(":", 1)[0]
        if len(domain) > 4 and device.kind in PLACED:
            yield rules.LONG_DOMAIN.finding(
                f"{device.label} {device.address} is in a PCI domain of {len(domain)} digits: Kubernetes' helper "
                "accepts "
                "four, so that no driver publishes pcieRoot or pciBusID for it",
                subject(device),
            )
    owned = {int(entry["targetNode"]) for entry in host.cxl if isinstance(entry.get("targetNode"), int)}
    loose = [node for node in host.numa_nodes if node.memory_only and not node.device and node.id not in owned]
    if loose:
        total = sum(known(node.memory) or 0 for node in loose)
        yield rules.MEMORY_ONLY_NODE.finding(
            f"NUMA {plural(len(loose), 'node')} {', '.join(str(node.id) for node in loose)} "
            f"{'has' if len(loose) == 1 else 'have'} memory ({amount(total)}) and no CPU, and nothing says whose it is",
            _host_ref(host),
            evidence={"numaNodes": [node.id for node in loose]},
        )


def _numa_is_minus_one(function: PciFunction | None) -> bool:
    return function is not None and function.numa == NO_NUMA


def _flat(host: Host) -> Finding:
    placed = [device for device in host.devices if device.kind in PLACED]
    roots = {known(device.function.root) for device in placed if device.function is not None}
    root = next(iter(roots)) or "one root"
    text = (
        f"this looks like a virtual machine, {host.machine.virtual}: {listed(device.label for device in placed)} hang "
        f"directly on {root}, which says nothing about their distance on the host; a constraint on pcieRoot always "
        "holds here"
    )
    without = [device for device in placed if _numa_is_minus_one(device.function)]
    nodes = len(host.numa_nodes)
    if without:
        who = "all" if len(without) == len(placed) else listed(device.label for device in without)
        text += f". numa_node is -1 for {who}: unknown, not to be published"
        if nodes == 1:
            text += "; the machine shows one NUMA node, so that a constraint on it could say nothing anyway"
    return rules.FLAT_TOPOLOGY.finding(
        text, _host_ref(host), evidence={"pcieRoot": root, "devices": [device.address for device in placed]}
    )


def _wide_roots(host: Host) -> Iterator[Finding]:
    by_root: dict[str, list[Device]] = {}
    for device in host.devices:
        if device.kind in {Kind.GPU, Kind.ACCELERATOR, Kind.NIC} and device.function is not None and not device.parent:
            root = known(device.function.root)
            if root is not None:
                by_root.setdefault(root, []).append(device)
    for root, devices in by_root.items():
        compute = [device for device in devices if device.kind is not Kind.NIC][:32]
        nics = [device for device in devices if device.kind is Kind.NIC][:32]
        words = {
            (nic.label, other.label): topology.pci_relation(nic.function, other.function, host)
            for nic in nics
            for other in compute
        }
        near = [pair for pair, word in words.items() if word in {topology.PIX, topology.PXB}]
        far = [pair for pair, word in words.items() if word == topology.PHB]
        if near and far:
            yield rules.ROOT_IS_NOT_SWITCH.finding(
                f"{listed(device.label for device in compute + nics)} all report the PCIe root {root}: a constraint on "
                f"pcieRoot does not tell the near pairs ({_pairs(near)}) from those across the host bridge "
                f"({_pairs(far)})",
                ObjectRef("Host", host.machine.hostname or "host"),
                evidence={"pcieRoot": root, "near": [list(pair) for pair in near], "far": [list(pair) for pair in far]},
            )


def _pairs(pairs: list[tuple[str, str]]) -> str:
    return ", ".join(f"{other}-{nic}" for nic, other in pairs[:4]) + (
        f" and {len(pairs) - 4} more" if len(pairs) > 4 else ""
    )


# --- vfio, drivers --------------------------------------------------------------------------------------------------


def _vfio(host: Host) -> Iterator[Finding]:
    bound = [
        device for device in host.devices if device.function is not None and device.function.driver in VFIO_DRIVERS
    ]
    children: dict[str, list[Device]] = {}
    for device in bound:
        if device.parent:
            children.setdefault(device.parent, []).append(device)
        elif not _wants_vfio(device):
            yield _bound(device)
    for parent, group in children.items():
        names = listed((f"{device.label} {device.address}" for device in group), most=4)
        verb, have = ("is", "has") if len(group) == 1 else ("are", "have")
        yield rules.BOUND_TO_VFIO.finding(
            f"{names} (of {parent}) {verb} bound to {_driver(group[0])} and therefore {have} no interface here: for "
            "virtual machines, or programs with a driver of their own (DPDK)",
            subject(group[0]),
        )
    for device in bound:
        yield from _viability(device, host)


def _bound(device: Device) -> Finding:
    extra = " and not through the NVIDIA driver" if device.vendor_name == "NVIDIA" else ""
    use = f"no use by containers{extra}, only by a virtual machine"
    if device.kind is Kind.NIC:
        use = "no network interface here, only for a virtual machine or a program with a driver of its own (DPDK)"
    elif device.kind is not Kind.GPU:
        use = "only for a virtual machine or a program with a driver of its own"
    return rules.BOUND_TO_VFIO.finding(
        f"{device.label} {device.address} is bound to {_driver(device)}: {use}", subject(device)
    )


def _driver(device: Device) -> str:
    return str(device.function.driver) if device.function is not None else ""


def _viability(device: Device, host: Host) -> Iterator[Finding]:
    function = device.function
    assert function is not None
    if function.iommu_group is None:
        if host.iommu.on is False:
            yield rules.IOMMU_OFF.finding(
                f"{device.label} {device.address} is bound to {function.driver} and {host.iommu.reason}",
                subject(device),
            )
        elif host.iommu.on is None:
            yield rules.IOMMU_OFF.finding(
                f"{device.label} {device.address} is bound to {function.driver} and has no IOMMU group: the IOMMU is "
                "off, or what was read does not show the groups",
                subject(device),
                severity=Severity.INFO,
                hint="Look at /sys/kernel/iommu_groups on the host; if it is empty, switch the IOMMU on (firmware, and "
                "intel_iommu=on or amd_iommu=on on the kernel command line).",
            )
        return
    for address in host.iommu.groups.get(function.iommu_group, []):
        other = host.functions.get(address)
        if other is None or address == function.address or other.driver is None or isinstance(other.driver, Unseen):
            continue
        if other.driver in VFIO_DRIVERS or (other.klass or 0) >> 8 == 0x06:
            # bridges keep their port driver: the kernel allows that
            continue
        what = "its audio function" if other.klass == 0x0403 and other.slot == function.slot else "function"
        hint = f"Bind {address} to vfio-pci too, or unbind it from {other.driver}."
        if other.slot != function.slot:
            hint = (
                f"{address} is another device: binding it to vfio-pci, or unbinding it, takes it away from the host. "
                "If the host needs it, put one of the two into a slot behind a root port of its own (with ACS), so "
                "that they are in separate groups."
            )
        yield rules.GROUP_NOT_VIABLE.finding(
            f"{device.label} {device.address} is bound to {function.driver}, and {what} {address} in the same IOMMU "
            "group "
            f"{function.iommu_group} to {other.driver}: the group is not viable, a virtual machine can not open it",
            subject(device),
            hint=hint,
            evidence={"group": function.iommu_group, "function": address, "driver": other.driver},
        )


def _drivers(host: Host) -> Iterator[Finding]:
    for device in host.devices:
        if device.function is not None and _fault(device.function):
            yield rules.DEVICE_FAULT.finding(
                f"{titled(device)}: its driver reports the status {_fault(device.function)!r}", subject(device)
            )
    if not shows_drivers(host):
        return
    for device in host.devices:
        function = device.function
        if device.kind not in COMPUTE or function is None or function.driver is not None:
            continue
        if device.vendor_name != "NVIDIA":
            yield rules.NO_DRIVER.finding(
                f"{titled(device)} has no kernel driver: nothing can use it and no driver publishes it", subject(device)
            )


# --- links ----------------------------------------------------------------------------------------------------------


def _links(host: Host) -> Iterator[Finding]:
    for device in host.devices:
        function = device.function
        if function is None or device.kind not in PLACED:
            continue
        yield from _narrow(device, function, host)
        fatal, nonfatal = function.aer.get("fatal", 0), function.aer.get("nonfatal", 0)
        corrected = function.aer.get("correctable", 0)
        if fatal or nonfatal or corrected >= MANY_CORRECTED:
            yield rules.PCIE_ERRORS.finding(
                f"{device.label} {device.address} counted {fatal} fatal, {nonfatal} non-fatal and {corrected} "
                "corrected "
                "PCIe errors since boot",
                subject(device),
                evidence=dict(function.aer),
            )
        if isinstance(function.config, bytes) and space.all_ones(function.config):
            yield rules.NO_ANSWER.finding(
                f"{device.label} {device.address} does not answer on the bus: its configuration space reads all ones"
                + (" (what Xid 79 stands for)" if device.vendor_name == "NVIDIA" else ""),
                subject(device),
                hint="Take it out of service (taint it, drain the node), reset or reboot; reseat or replace it when it "
                "comes back. In a ResourceSlice it must be tainted or removed.",
            )


def _narrow(device: Device, function: PciFunction, host: Host) -> Iterator[Finding]:
    link, slot = function.link, _port(function, host)
    port = slot.link if slot is not None else None
    if link.narrow:
        limited = port is not None and port.max_width is not None and port.max_width <= (link.width or 0)
        why = f": the port above it, {slot.address}, has {port.max_width} lanes" if limited and slot and port else ""
        yield rules.LINK_NARROW.finding(
            f"{device.label} {device.address} runs at x{link.width} of x{link.max_width}{why}",
            subject(device),
            severity=Severity.INFO if limited else None,
            evidence={"width": link.width, "maxWidth": link.max_width},
        )
    top = min(filter(None, (link.max_speed, port.max_speed if port is not None else None)), default=None)
    if device.kind in {Kind.NIC, Kind.NVME} and link.speed and top and link.speed < top:
        yield rules.LINK_SLOW.finding(
            f"{device.label} {device.address} runs at {link.speed:g} of {top:g} GT/s", subject(device)
        )


def _port(function: PciFunction, host: Host) -> PciFunction | None:
    path = known(function.path)
    return host.functions.get(path[-1]) if path else None


# --- network --------------------------------------------------------------------------------------------------------


def _network(host: Host) -> Iterator[Finding]:
    for device in host.devices:
        function = device.function
        if device.kind is not Kind.NIC or function is None:
            continue
        for netdev in function.netdevs:
            if netdev.carrier is False:
                yield rules.NO_CARRIER.finding(
                    f"{device.label} {device.address} ({netdev.name}) has no carrier", subject(device)
                )
        yield from _rdma(device, function)
    yield from _no_functions(host)


def _no_functions(host: Host) -> Iterator[Finding]:
    """Ports without virtual functions, in one finding: most machines use none."""
    ports = []
    for device in host.devices:
        sriov = device.function.sriov if device.function is not None else None
        shared = device.kind is Kind.NIC or (device.function is not None and device.function.klass == _CO_PROCESSOR)
        if shared and sriov is not None and not sriov.physical and sriov.total and sriov.created == 0:
            ports.append((device, sriov.total))
    if not ports:
        return
    names = listed(f"{device.label} {device.address} ({_created(device, total)})" for device, total in ports)
    this = "this port" if len(ports) == 1 else "these ports"
    address = ports[0][0].address if len(ports) == 1 else "ADDRESS"
    yield rules.NO_VIRTUAL_FUNCTIONS.finding(
        f"no virtual functions are created (sriov_numvfs 0) on {names}: a driver or plugin that hands them out finds "
        f"nothing on {this}",
        subject(ports[0][0]) if len(ports) == 1 else _host_ref(host),
        hint=f"Create them, and anew after each boot: echo N > /sys/bus/pci/devices/{address}/sriov_numvfs",
        evidence={"ports": [device.address for device, _ in ports]},
    )


def _created(device: Device, total: int) -> str:
    names = [netdev.name for netdev in device.function.netdevs] if device.function is not None else []
    return ", ".join([*names, f"0 of {total}"])


def _rdma(device: Device, function: PciFunction) -> Iterator[Finding]:
    for rdma in function.rdma:
        if not function.netdevs:
            infiniband = any(port.link_layer == "InfiniBand" for port in rdma.ports)
            why = "IPoIB is not set up, or a pod has it" if infiniband else "a pod may have it"
            yield rules.RDMA_WITHOUT_NETDEV.finding(
                f"{device.label} {device.address}: RDMA device {rdma.name} has no network interface here ({why})",
                subject(device),
            )
        for port in rdma.ports:
            if port.state and port.state != "ACTIVE":
                yield rules.RDMA_PORT_DOWN.finding(
                    f"{device.label} {device.address}: port {port.number} of {rdma.name} is {port.state}"
                    + (f" ({port.physical})" if port.physical else ""),
                    subject(device),
                    severity=Severity.INFO if any(netdev.carrier is False for netdev in function.netdevs) else None,
                )


def is_passed_through_vf(function: PciFunction) -> bool:
    """Whether this is a virtual function whose physical one is not visible: it was passed into a virtual machine."""
    if function.sriov is not None and function.sriov.physical:
        return False
    return (function.device or 0) in VIRTUAL_FUNCTIONS.get(function.vendor or 0, frozenset())


# --- ACS ------------------------------------------------------------------------------------------------------------


def _acs(host: Host) -> Iterator[Finding]:
    """Downstream ports between a GPU and a NIC that share a switch, with peer-to-peer redirected upwards."""
    by_ports: dict[tuple[str, ...], list[str]] = {}
    compute = [device for device in host.devices if device.kind in COMPUTE and not device.parent]
    nics = [device for device in host.devices if device.kind is Kind.NIC and not device.parent]
    for nic in nics:
        for device in compute:
            if topology.pci_relation(nic.function, device.function, host) != topology.PXB:
                continue
            ports = tuple(_redirecting(nic.function, device.function, host))
            if ports:
                by_ports.setdefault(ports, []).append(f"{device.label} and {nic.label}")
    for ports, between in by_ports.items():
        yield rules.ACS_ON.finding(
            f"ACS is on at {listed(ports)} between {listed(between)}: their traffic goes through the CPU although they "
            "share a switch",
            _host_ref(host),
            evidence={"ports": list(ports)},
        )


def _redirecting(first: PciFunction | None, second: PciFunction | None, host: Host) -> Iterable[str]:
    above = set(known(first.path) or ()) if first is not None else set()
    beside = set(known(second.path) or ()) if second is not None else set()
    for address in sorted(above ^ beside):
        bridge = host.functions.get(address)
        control = space.acs(bridge.config) if bridge is not None and isinstance(bridge.config, bytes) else None
        if control is not None and control.redirects:
            yield address


# --- garbage --------------------------------------------------------------------------------------------------------


def _malformed(host: Host) -> Iterator[Finding]:
    outside = [problem for problem in host.problems if problem.path == host.root]
    for problem in outside:
        rule = rules.UNSAFE_ARCHIVE if "outside" in problem.text else rules.MALFORMED
        yield rule.finding(problem.text, _host_ref(host))
    garbage = [problem for problem in host.problems if problem.path != host.root]
    for problem in garbage[:20]:
        yield rules.MALFORMED.finding(f"/{problem.path} {problem.text}", _host_ref(host))
    if len(garbage) > 20:
        yield rules.MALFORMED.finding(f"{len(garbage) - 20} more files do not hold what they should", _host_ref(host))
