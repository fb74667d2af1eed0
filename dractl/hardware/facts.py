"""Facts about a host's devices by name, for the data of ``generate.drivers``: which devices a driver looks at, and what
is known of each. A fact that is not known is not there. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

from dractl.generate.drivers.accelerators import TPU_GENERATIONS
from dractl.generate.drivers.intel import GAUDI, MODELS
from dractl.hardware.classify import AMD, GOOGLE, HABANA, INTEL
from dractl.hardware.health import VFIO_DRIVERS
from dractl.hardware.model import Device, Host, Kind, PciFunction, Unseen, known
from dractl.hardware.standard import NUMA_NODE, PCI_BUS_ID, PCIE_ROOT, standard_attributes

Facts = dict[str, Any]
_STANDARD = {PCIE_ROOT: "std.pcieRoot", PCI_BUS_ID: "std.pciBusID", NUMA_NODE: "std.numaNode"}
_VERSION = re.compile(r"\d+")
_ETHERNET, _INFINIBAND = 1, 32
_MADE_UP = 8


def select(host: Host, of: str) -> list[Facts]:
    """The facts of all devices of a selection, in the order in which they are published. KeyError for an unknown "
    "one."""
    return _SELECTIONS[of](host)


def version(text: str) -> str:
    """A version as drivers publish it: three numbers without leading zeros; empty if there is no number in front."""
    numbers = _VERSION.findall(text.split("-", maxsplit=1)[0].split("+", maxsplit=1)[0])
    if not numbers or not text[:1].isdigit():
        return ""
    return ".".join(str(int(number)) for number in [*numbers, "0", "0"][:3])


# --- PCI ------------------------------------------------------------------------------------------------------------


def _pci(function: PciFunction, host: Host) -> Facts:
    facts: Facts = {"pci.address": function.address, "pci.dashes": re.sub("[:.]", "-", function.address)}
    if function.vendor is not None and function.device is not None:
        facts["pci.vendorId"], facts["pci.deviceId"] = f"0x{function.vendor:04x}", f"0x{function.device:04x}"
        facts["pci.vendorHex"], facts["pci.deviceHex"] = f"{function.vendor:04x}", f"{function.device:04x}"
        facts["pci.vendorName"] = host.names.get(f"{function.vendor:04x}")
        facts["pci.deviceName"] = host.names.get(f"{function.vendor:04x}:{function.device:04x}")
    if function.subsystem[1] is not None:
        facts["pci.subsystem"] = f"{function.subsystem[1]:04x}"
    if not isinstance(function.driver, Unseen):
        facts["pci.driver"] = function.driver or ""
    if isinstance(function.root, str):
        facts["pci.rootBus"] = function.root.rpartition(":")[2]
    for name, value in standard_attributes(function)[0].items():
        facts[_STANDARD[name]] = value
    return {name: value for name, value in facts.items() if value is not None}


def _of_device(device: Device, host: Host) -> Facts:
    facts = _pci(device.function, host) if device.function is not None else {}
    if device.function is None and device.address:
        facts["pci.address"] = device.address
        facts["std.pciBusID"] = device.address
    memory = known(device.memory)
    if memory is not None:
        facts["memory.bytes"] = memory
        facts["memory.mebibytes"] = f"{memory >> 20}Mi"
    return facts


def _devices(host: Host, test: Callable[[Device, PciFunction], bool]) -> Iterable[tuple[Device, PciFunction]]:
    for device in host.devices:
        if device.function is not None and test(device, device.function):
            yield device, device.function


def _numbered(host: Host, test: Callable[[Device, PciFunction], bool]) -> list[Facts]:
    return [
        {**_of_device(device, host), "device.number": number} for number, (device, _) in enumerate(_devices(host, test))
    ]


# --- NVIDIA ---------------------------------------------------------------------------------------------------------


def nvidia_devices(host: Host) -> list[Device]:
    """GPUs that the NVIDIA driver has, in order of their minor where it is known; not those for virtual machines."""
    found = [
        device
        for device in host.devices
        if device.kind is Kind.GPU
        and device.vendor_name == "NVIDIA"
        and (device.function is None or device.function.driver == "nvidia")
        and not (device.nvml is not None and (device.nvml.lost or device.nvml.handle_error))
    ]
    return sorted(found, key=lambda device: minor_of(device, found))


def minor_of(device: Device, siblings: list[Device]) -> int:
    """The minor from NVML or the driver's files; else the place in PCI order, which it mostly is."""
    if device.nvml is not None and device.nvml.minor is not None:
        return device.nvml.minor
    if device.function is not None:
        minor = device.function.details.get("nvidia", {}).get("minor")
        if isinstance(minor, int):
            return minor
    return siblings.index(device)


def nvidia_facts(device: Device, host: Host) -> Facts:
    """Facts of one GPU of the NVIDIA driver."""
    facts = _of_device(device, host)
    siblings = [other for other in host.devices if other.kind is Kind.GPU and other.vendor_name == "NVIDIA"]
    facts["nvml.minor"] = minor_of(device, siblings)
    gpu = device.nvml
    proc = device.function.details.get("nvidia", {}) if device.function is not None else {}
    driver = (host.nvml.driver if host.nvml is not None else "") or host.modules.get("nvidia", "")
    values: Facts = {
        "nvml.driverVersion": version(driver),
        "nvml.uuid": proc.get("uuid"),
        "nvml.productName": proc.get("model"),
    }
    if gpu is not None:
        cuda = host.nvml.cuda if host.nvml is not None else None
        values.update(
            {
                "nvml.uuid": gpu.uuid or proc.get("uuid"),
                "nvml.index": gpu.index,
                "nvml.productName": gpu.name,
                "nvml.brand": gpu.brand,
                "nvml.architecture": gpu.architecture,
                "nvml.computeCapability": version(gpu.compute_capability),
                "nvml.cudaVersion": f"{cuda // 1000}.{cuda % 1000 // 10}.0" if cuda else None,
                "nvml.addressingMode": gpu.addressing,
            }
        )
    facts.update({name: value for name, value in values.items() if value not in (None, "")})
    return facts


def _nvidia_gpus(host: Host) -> list[Facts]:
    return [nvidia_facts(device, host) for device in nvidia_devices(host)]


def _nvidia_mig(host: Host) -> list[Facts]:
    """MIG devices that exist."""
    found = []
    for device in nvidia_devices(host):
        gpu = device.nvml
        if gpu is None or not gpu.mig:
            continue
        profiles = {profile.id: profile for profile in gpu.mig_profiles}
        for instance in gpu.mig_instances:
            facts = nvidia_facts(device, host)
            facts.update(mig_names(instance.profile, instance.profile_id, instance.start))
            if instance.uuid:
                facts["mig.uuid"] = instance.uuid
            profile = profiles.get(instance.profile_id) if instance.profile_id is not None else None
            memory = profile.memory if profile is not None else instance.memory
            if memory:
                facts["mig.memory"] = memory
            if profile is not None:
                facts.update(mig_engines(profile))
            facts["mig.slices"] = (
                [] if instance.start is None else [instance.start + n for n in range(instance.size or 0)]
            )
            found.append(facts)
    return found


def mig_names(profile: str, identity: int | None, start: int | None) -> Facts:
    """The parts of a MIG device's name."""
    facts: Facts = {}
    if profile:
        facts["mig.profile"] = profile
        facts["mig.slug"] = profile.replace(".", "").replace("+", "-").lower()
    if identity is not None:
        facts["mig.profileId"] = identity
    if start is not None:
        facts["mig.start"] = start
    return facts


def mig_engines(profile: Any) -> Facts:
    """Counts of a profile's engines."""
    return {
        "mig.multiprocessors": profile.multiprocessors,
        "mig.copyEngines": profile.copy_engines,
        "mig.decoders": profile.decoders,
        "mig.encoders": profile.encoders,
        "mig.jpegEngines": profile.jpeg_engines,
        "mig.ofaEngines": profile.ofa_engines,
    }


def _nvidia_vfio(host: Host) -> list[Facts]:
    gpus = [device for device in host.devices if device.kind is Kind.GPU and device.vendor_name == "NVIDIA"]
    found = []
    for index, device in enumerate(gpus):
        if device.function is not None and device.function.driver in VFIO_DRIVERS:
            facts = _of_device(device, host)
            facts["vfio.index"] = index
            found.append(facts)
    return found


# --- AMD ------------------------------------------------------------------------------------------------------------


def _amd(host: Host, whole: bool) -> list[Facts]:
    found = []
    for device, function in _devices(
        host, lambda device, function: function.vendor == AMD and "amdgpu" in function.details
    ):
        said, nodes = function.details["amdgpu"], function.details.get("kfd", [])
        compute = str(said.get("computePartition", "SPX")).lower()
        if (compute == "spx") is not whole:
            continue
        profile = f"{compute}_{str(said.get('memoryPartition', 'NPS1')).lower()}"
        for place, node in enumerate(nodes[:1] if whole else nodes):
            facts = _amd_facts(device, said, node, host)
            facts["amd.partitionProfile"] = profile
            if not whole and place:
                facts.pop("amd.card", None)
                card = next(
                    (one.get("card") for one in host.partitions if one.get("render") == node.get("render")), None
                )
                if card is not None:
                    facts["amd.card"] = card
            found.append(facts)
        if whole and not nodes:
            found.append({**_amd_facts(device, said, {}, host), "amd.partitionProfile": profile})
    return found


def _amd_facts(device: Device, said: Facts, node: Facts, host: Host) -> Facts:
    facts = _of_device(device, host)
    facts.pop("memory.bytes", None)
    product = re.sub(r"[()]", "", str(said.get("productName", ""))).strip().replace(" ", "_")
    identity = str(said.get("uniqueId", ""))
    partition = node.get("memory")
    values = {
        "amd.card": said.get("card"),
        "amd.render": node.get("render") or said.get("render"),
        # all of gfx9, which every Instinct card is
        "amd.family": "AI" if str(node.get("gfx", "")).startswith("9") else None,
        "amd.productName": product,
        "amd.deviceId": str(int(identity, 16)) if re.fullmatch(r"(0x)?[0-9a-f]{1,16}", identity) else None,
        "amd.driverVersion": version(host.modules.get("amdgpu", "")),
        "amd.driverSrcVersion": host.modules.get("amdgpu.srcversion"),
        "amd.memory": partition or said.get("vram"),
        "amd.computeUnits": node.get("computeUnits"),
        "amd.simdUnits": node.get("simds"),
    }
    facts.update({name: value for name, value in values.items() if value not in (None, "")})
    return facts


# --- Intel, Habana --------------------------------------------------------------------------------------------------


def _intel_gpus(host: Host) -> list[Facts]:
    found = []
    for device, function in _devices(
        host, lambda device, function: device.kind is Kind.GPU and function.vendor == INTEL
    ):
        facts = _of_device(device, host)
        model, family = MODELS.get(function.device or 0, ("Unknown", "Unknown"))
        facts["intel.model"], facts["intel.family"] = model, family
        facts["intel.type"] = "vf" if device.parent else "gpu"
        facts["intel.sriov"] = bool(function.sriov is not None and function.sriov.total)
        found.append(facts)
    return found


def _gaudi(host: Host) -> list[Facts]:
    found = []
    for device, function in _devices(host, lambda device, function: function.vendor == HABANA):
        said = function.details.get("accel", {})
        facts = _of_device(device, host)
        facts["gaudi.model"] = GAUDI.get(function.device or 0, "Unknown")
        if said.get("serial"):
            facts["gaudi.serial"] = said["serial"]
        if said.get("status"):
            facts["gaudi.healthy"] = said["status"].lower() == "operational"
        found.append(facts)
    return found


def _qat(host: Host) -> list[Facts]:
    found = []
    for device, function in _devices(host, lambda device, function: function.klass == 0x0B40 and bool(device.parent)):
        parent = host.functions.get(function.sriov.physical) if function.sriov is not None else None
        facts = _of_device(device, host)
        services = parent.details.get("qat", {}).get("services") if parent is not None else None
        if services:
            facts["qat.services"] = services
        found.append(facts)
    return found


# --- network --------------------------------------------------------------------------------------------------------


def _network(host: Host) -> list[Facts]:
    return [
        _net_facts(device, function, host)
        for device, function in _devices(host, lambda device, function: device.kind is Kind.NIC)
    ]


def _net_facts(device: Device, function: PciFunction, host: Host) -> Facts:
    facts = _of_device(device, host)
    sriov = function.sriov
    facts["net.rdma"] = bool(function.rdma)
    facts["net.virtual"] = False
    facts["net.sriov"] = bool(sriov is not None and sriov.total)
    if function.rdma:
        facts["net.rdmaDevice"] = function.rdma[0].name
    if sriov is not None and sriov.physical:
        facts["net.isSriovVf"] = True
    elif sriov is not None and sriov.total:
        facts["net.sriovVfs"] = sriov.created or 0
    if function.netdevs:
        netdev = function.netdevs[0]
        values: Facts = {
            "net.ifName": netdev.name,
            "net.mac": netdev.mac,
            "net.mtu": netdev.mtu,
            "net.state": netdev.state if netdev.state in {"up", "down"} else "unknown",
            "net.encapsulation": {_ETHERNET: "ether", _INFINIBAND: "infiniband"}.get(netdev.type or 0),
            "net.type": "ipoib" if netdev.type == _INFINIBAND else "device",
        }
        facts.update({name: value for name, value in values.items() if value not in (None, "")})
    return facts


def _virtual_functions(host: Host) -> list[Facts]:
    found = []
    for device, function in _devices(host, lambda device, function: device.kind is Kind.NIC and bool(device.parent)):
        assert function.sriov is not None
        parent = host.functions[function.sriov.physical]
        facts = _net_facts(device, function, host)
        above = standard_attributes(parent)[0]
        types = {_ETHERNET: "ethernet", _INFINIBAND: "infiniband"}
        kind = types.get(parent.netdevs[0].type or 0, "unknown") if parent.netdevs else "unknown"
        values: Facts = {
            "vf.parentDevice": f"{parent.device:04x}" if parent.device is not None else None,
            "vf.parentInterface": parent.netdevs[0].name if parent.netdevs else None,
            "vf.parentAddress": parent.address,
            "vf.linkType": kind,
            "vf.index": function.sriov.index,
            "vf.parentRoot": above.get(PCIE_ROOT),
            "vf.parentNuma": parent.numa if isinstance(parent.numa, int) else -1,
        }
        facts.update({name: value for name, value in values.items() if value is not None})
        found.append(facts)
    return found


# --- CPUs and memory ------------------------------------------------------------------------------------------------


def _cpu_nodes(host: Host) -> list[Facts]:
    found = []
    for node in host.numa_nodes:
        cpus = known(node.cpus)
        if not cpus:
            continue
        found.append({**_cpu_facts(min(cpus), host), "cpu.node": node.id, "cpu.nodePadded": f"{node.id:03d}",
                      "cpu.count": len(cpus)})  # fmt: skip
    return found


def _cpu_facts(cpu: int, host: Host) -> Facts:
    package = host.cpus.package_of.get(cpu)
    cores = host.cpus.cores
    facts: Facts = {"cpu.smt": isinstance(cores, int) and len(host.cpus.online) > cores}
    if package is not None and package < len(host.cpus.package_ids):
        facts["cpu.socket"] = host.cpus.package_ids[package]
    return facts


def _each_cpu(host: Host) -> list[Facts]:
    node_of = {cpu: node.id for node in host.numa_nodes for cpu in known(node.cpus) or ()}
    found = []
    for cpu in sorted(host.cpus.online):
        facts = {**_cpu_facts(cpu, host), "cpu.id": cpu, "cpu.padded": f"{cpu:03d}"}
        for name, table in (("cpu.node", node_of), ("cpu.cache", host.cpus.l3_of), ("cpu.core", host.cpus.core_of)):
            if cpu in table:
                facts[name] = table[cpu]
        found.append(facts)
    return found


def _memory(host: Host) -> list[Facts]:
    found = []
    for node in host.numa_nodes:
        memory = known(node.memory)
        if memory:
            found.append(_pages(f"memory-{node.id}", node.id, "4Ki", False, memory, "1Mi"))
        for pages in node.hugepages:
            if pages.total:
                size = _binary(pages.size)
                name = f"hugepages-{size.lower()}-{node.id}"
                found.append(_pages(name, node.id, size, True, pages.size * pages.total, size))
    return found


def _pages(name: str, node: int, page: str, huge: bool, size: int, step: str) -> Facts:
    return {
        "memory.name": name, "memory.node": node, "memory.pageSize": page, "memory.huge": huge, "memory.size": size,
        "memory.step": step,
    }  # fmt: skip


def _binary(size: int) -> str:
    for unit, shift in (("Gi", 30), ("Mi", 20), ("Ki", 10)):
        if size % (1 << shift) == 0:
            return f"{size >> shift}{unit}"
    return str(size)


# --- others ---------------------------------------------------------------------------------------------------------


def _tpus(host: Host) -> list[Facts]:
    found = []
    chips = list(_devices(host, lambda device, function: function.vendor == GOOGLE and device.kind is Kind.ACCELERATOR))
    for number, (device, function) in enumerate(chips):
        facts = {**_of_device(device, host), "tpu.index": number, "tpu.count": len(chips)}
        name = function.details.get("accel", {}).get("name") or function.iommu_group
        facts["tpu.file"] = name or f"accel{number}"
        if (function.device or 0) in TPU_GENERATIONS:
            facts["tpu.generation"] = TPU_GENERATIONS[function.device or 0]
        found.append(facts)
    return found


def _neuron(host: Host) -> list[Facts]:
    named = list(host.others.get("neuron", []))
    named += [function.details["neuron"] for function in host.functions.values() if "neuron" in function.details]
    found = []
    for entry in named:
        number = re.sub(r"\D", "", str(entry.get("name", "")))
        if number:
            facts: Facts = {"neuron.index": int(number[:6])}
            if entry.get("instanceType"):
                facts["neuron.instanceType"] = entry["instanceType"]
            if host.modules.get("neuron"):
                facts["neuron.driverVersion"] = host.modules["neuron"]
            found.append(facts)
    return sorted(found, key=lambda facts: int(facts["neuron.index"]))


_SELECTIONS: dict[str, Callable[[Host], list[Facts]]] = {
    "nvidia-gpus": _nvidia_gpus,
    "nvidia-mig": _nvidia_mig,
    "nvidia-vfio": _nvidia_vfio,
    "node": lambda host: [{}] if any(device.vendor_name == "NVIDIA" for device in host.devices) else [],
    "amd-gpus": lambda host: _amd(host, whole=True),
    "amd-partitions": lambda host: _amd(host, whole=False),
    "intel-gpus": _intel_gpus,
    "gaudi": _gaudi,
    "qat-functions": _qat,
    "network-functions": _network,
    "virtual-network-functions": _virtual_functions,
    "cpu-nodes": _cpu_nodes,
    "cpus": _each_cpu,
    "memory-nodes": _memory,
    "tpus": _tpus,
    "neuron-devices": _neuron,
    "rebellions": lambda host: _numbered(host, lambda device, function: function.vendor == 0x1EFF),
    "furiosa": lambda host: _numbered(host, lambda device, function: function.vendor == 0x1ED2),
    "hygon": lambda host: _numbered(host, lambda device, function: function.vendor == 0x1D94),
    "tenstorrent": lambda host: _numbered(host, lambda device, function: function.vendor == 0x1E52),
    "made-up": lambda host: [{"device.number": number} for number in range(_MADE_UP)],
}
