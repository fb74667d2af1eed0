"""A host as the plain data of a ``HostReport``. What was not seen is null, with its reason under ``unknown``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from dractl.hardware import config_space as space
from dractl.hardware import health, topology
from dractl.hardware.cpuset import format_list
from dractl.hardware.model import (
    Device,
    Host,
    HugePages,
    Kind,
    Link,
    Netdev,
    NumaNode,
    Nvml,
    NvmlGpu,
    PciFunction,
    Rdma,
    Unseen,
    known,
)
from dractl.hardware.standard import standard_attributes
from dractl.hardware.words import plural
from dractl.rules.finding import Finding, Severity

if TYPE_CHECKING:
    from dractl.hardware.reconcile import Comparison

Json = dict[str, Any]
API_VERSION, KIND = "dractl.dev/v1alpha1", "HostReport"
_GENERATIONS = {2.5: 1, 5.0: 2, 8.0: 3, 16.0: 4, 32.0: 5, 64.0: 6, 128.0: 7}
_MATRIX_MINIMUM = 2
SHOWN = (Kind.GPU, Kind.ACCELERATOR, Kind.FPGA, Kind.SWITCH, Kind.NIC, Kind.NVME, Kind.CXL)
"""Kinds of the table and the drawings; the report holds all."""


def host_report(
    host: Host,
    findings: Iterable[Finding],
    only: frozenset[Kind] | None = None,
    comparison: Comparison | None = None,
) -> Json:
    """The whole report; ``only`` keeps devices of some kinds (findings about others are kept: they may be the cause).

    With a ``comparison`` its findings come first.
    """
    devices = [device for device in host.devices if only is None or device.kind in only]
    found = [*(comparison.findings if comparison is not None else []), *findings]
    found.sort(key=lambda finding: -finding.severity.rank)
    shown = [device for device in devices if device.kind in (only or SHOWN) and not device.parent]
    return {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "host": host.machine.hostname,
        "root": host.root,
        "summary": summary(host, devices),
        "machine": _machine(host),
        "processors": _processors(host),
        "numaNodes": None if isinstance(host.numa, Unseen) else [_numa(node) for node in host.numa],
        **({"unknown": {"numaNodes": host.numa.reason}} if isinstance(host.numa, Unseen) else {}),
        "hugePages": [_pages(pages) for pages in host.hugepages],
        "iommu": _iommu(host),
        "nvml": None if host.nvml is None else _nvml(host.nvml),
        "modules": dict(host.modules),
        "devices": [_device(device, host) for device in devices],
        "netdevs": [_netdev(netdev) for netdev in host.netdevs],
        "rdma": [_rdma(rdma) for rdma in host.rdma],
        "cxl": host.cxl,
        "partitions": host.partitions,
        "unplaced": host.others,
        "topology": _topology(host, devices, shown),
        "sources": [_source(source) for source in host.sources],
        **({"comparison": comparison.to_json()} if comparison is not None else {}),
        "findings": [finding.to_json() for finding in found],
    }


def summary(host: Host, devices: Iterable[Device]) -> str:
    """One sentence: how many devices of each kind, and how many of them can be used."""
    parts = []
    words = {
        Kind.GPU: "GPU", Kind.ACCELERATOR: "accelerator", Kind.FPGA: "FPGA",
        Kind.SWITCH: "NVSwitch", Kind.NIC: "NIC port",
        Kind.NVME: "NVMe disk", Kind.CXL: "CXL memory device",
    }  # fmt: skip
    listed = list(devices)
    for kind, word in words.items():
        members = [device for device in listed if device.kind is kind and not device.parent]
        children = [device for device in listed if device.kind is kind and device.parent]
        if not members and not children:
            continue
        text = f"{len(members)} {plural(len(members), word)}"
        broken = [device for device in members if health.unusable(device, host)]
        if kind is Kind.NIC:
            cards = len({device.function.slot for device in members if device.function is not None})
            text += f" of {cards} {plural(cards, 'card')}" if cards != len(members) else ""
        facts = _ids(members)
        if broken and kind in health.COMPUTE:
            facts.append(f"{len(members) - len(broken)} usable by containers")
        text += f" ({', '.join(facts)})" if facts else ""
        if children:
            text += f" with {len(children)} virtual {plural(len(children), 'function')}"
        parts.append(text)
    if not host.pci_seen and "nvidia" in host.modules and not any(device.kind is Kind.GPU for device in listed):
        parts.append(
            "the NVIDIA kernel module is loaded, so that there are GPUs; neither the PCI bus nor NVML is visible here"
        )
    if not parts:
        where = "on the PCI bus" if host.pci_seen else "in what is visible here"
        return f"No GPU, accelerator, NIC or NVMe disk {where}."
    text = ", ".join(parts)
    return f"{text[0].upper()}{text[1:]}."


def _ids(members: list[Device]) -> list[str]:
    """PCI ids of the devices of one kind, while they are few."""
    ids = {_id(device.function.vendor, device.function.device) for device in members if device.function is not None} - {
        None
    }
    return sorted(str(one) for one in ids) if len(ids) <= 3 else []


def usable_severity(findings: Iterable[Json]) -> Severity | None:
    """The worst severity among findings of a report, or None."""
    worst = max((Severity(finding["severity"]) for finding in findings), key=lambda one: one.rank, default=None)
    return worst


# --- machine --------------------------------------------------------------------------------------------------------


def _machine(host: Host) -> Json:
    machine = host.machine
    return {
        "vendor": machine.vendor,
        "product": machine.product,
        "board": machine.board,
        "kernel": machine.kernel,
        "memoryBytes": machine.memory,
        "virtual": machine.virtual or None,
        "container": machine.container or None,
        "iommuOptions": machine.iommu_options,
    }


def _processors(host: Host) -> Json:
    cpus = host.cpus
    unknown = {
        name: value.reason
        for name, value in (("packages", cpus.packages), ("cores", cpus.cores), ("threads", cpus.threads))
        if isinstance(value, Unseen)
    }
    return {
        "model": cpus.model,
        "packages": known(cpus.packages),
        "cores": known(cpus.cores),
        "threads": known(cpus.threads),
        "online": format_list(cpus.online),
        "offline": format_list(cpus.offline),
        "caches": [
            {"level": cache.level, "type": cache.type, "bytes": cache.size, "count": cache.count,
             "sharedBy": cache.shared_by}
            for cache in cpus.caches
        ],
        **({"unknown": unknown} if unknown else {}),
    }  # fmt: skip


def _numa(node: NumaNode) -> Json:
    out: Json = {"id": node.id}
    unknown: Json = {}
    _put(out, unknown, "cpus", node.cpus, format_list)
    _put(out, unknown, "memoryBytes", node.memory)
    _put(out, unknown, "freeBytes", node.free)
    _put(out, unknown, "distances", node.distances, lambda row: {str(to): far for to, far in row.items()})
    out["hugePages"] = [_pages(pages) for pages in node.hugepages]
    out["memoryOnly"] = node.memory_only
    if node.initiators:
        out["initiators"] = node.initiators
    if node.device:
        out["memoryOf"] = node.device
    if unknown:
        out["unknown"] = unknown
    return out


def _put(out: Json, unknown: Json, name: str, value: Any, form: Any = None) -> None:
    if isinstance(value, Unseen):
        out[name] = None
        unknown[name] = value.reason
    else:
        out[name] = form(value) if form is not None else value


def _pages(pages: HugePages) -> Json:
    return {"bytes": pages.size, "total": pages.total, "free": pages.free}


def _iommu(host: Host) -> Json:
    return {
        "on": host.iommu.on,
        "reason": host.iommu.reason,
        "units": host.iommu.units,
        "groups": len(host.iommu.groups),
    }


def _source(source: Any) -> Json:
    out = {"name": source.name, "state": source.state.value, "reason": source.reason}
    if source.hint:
        out["hint"] = source.hint
    return out


def _nvml(nvml: Nvml) -> Json:
    return {
        "error": nvml.init or None,
        "driverVersion": nvml.driver or None,
        "libraryVersion": nvml.library or None,
        "cudaVersion": f"{nvml.cuda // 1000}.{nvml.cuda % 1000 // 10}" if nvml.cuda else None,
        "gpus": len(nvml.gpus),
    }


# --- devices --------------------------------------------------------------------------------------------------------


def _device(device: Device, host: Host) -> Json:
    function = device.function
    out: Json = {
        "label": device.label,
        "kind": device.kind.value,
        "address": device.address or None,
        "vendor": device.vendor_name,
        "product": device.product,
    }
    if device.parent:
        out["parent"] = device.parent
    unknown: Json = {}
    if device.kind in {Kind.GPU, Kind.ACCELERATOR, Kind.NVME, Kind.CXL}:
        _put(out, unknown, "memoryBytes", device.memory)
    state = health.unusable(device, host)
    out["usable"] = not state
    if state:
        out["state"] = state
    if function is None:
        reason = "the PCI bus is not visible here" if not host.pci_seen else "not on the PCI bus that is visible here"
        for name in ("numaNode", "pcieRoot", "driver", "iommuGroup", "link"):
            out[name] = None
            unknown[name] = reason
    else:
        _put_function(out, unknown, function, host)
    if device.parts:
        out["companions"] = device.parts
    if device.nvml is not None:
        out["nvml"] = _gpu(device.nvml)
    if unknown:
        out["unknown"] = unknown
    return out


def _put_function(out: Json, unknown: Json, function: PciFunction, host: Host) -> None:
    out["pciId"] = _id(function.vendor, function.device)
    out["class"] = None if function.class_code is None else f"{function.class_code >> 8:04x}"
    if function.subsystem != (None, None):
        out["subsystemId"] = _id(*function.subsystem)
    _put(out, unknown, "numaNode", function.numa)
    if function.numa_from != "numa_node":
        out["numaNodeFrom"] = function.numa_from
    _put(out, unknown, "cpus", function.cpus, format_list)
    _put(out, unknown, "pcieRoot", function.root)
    _put(out, unknown, "bridges", function.path, list)
    attributes, errors = standard_attributes(function)
    out["standardAttributes"] = attributes
    if errors:
        out["standardAttributeErrors"] = errors
    _put(out, unknown, "driver", function.driver)
    out["iommuGroup"] = function.iommu_group
    out["link"] = link_json(function.link)
    if function.sriov is not None:
        out["sriov"] = _sriov(function, host)
    elif health.is_passed_through_vf(function):
        out["sriov"] = {"role": "virtual function without a visible parent"}
    if function.netdevs:
        out["netdevs"] = [_netdev(netdev) for netdev in function.netdevs]
    if function.rdma:
        out["rdma"] = [_rdma(rdma) for rdma in function.rdma]
    if function.aer:
        out["pcieErrors"] = function.aer
    if function.reset:
        out["resetMethods"] = function.reset.split()
    if isinstance(function.config, bytes) and space.all_ones(function.config):
        out["answers"] = False
    for name in sorted(function.details):
        out.setdefault("details", {})[name] = function.details[name]


def _id(vendor: int | None, device: int | None) -> str | None:
    if vendor is None or device is None:
        return None
    return f"{vendor:04x}:{device:04x}"


def link_json(link: Link) -> Json | None:
    """Speeds in GT/s, widths in lanes, bandwidth in GB/s of one direction after encoding; None where nothing is "
    "known."""
    if link == Link():
        return None
    return {
        "speed": link.speed,
        "maxSpeed": link.max_speed,
        "generation": _GENERATIONS.get(link.speed or 0),
        "width": link.width,
        "maxWidth": link.max_width,
        "gigabytesPerSecond": bandwidth(link.speed, link.width),
    }


def bandwidth(speed: float | None, width: int | None) -> float | None:
    """GB/s of a link: 8b/10b up to 5 GT/s, 128b/130b up to 32, 242/256 in flits beyond."""
    if not speed or not width:
        return None
    share = 0.8 if speed < 8 else 128 / 130 if speed < 64 else 242 / 256
    return round(speed * share * width / 8, 2)


def _sriov(function: PciFunction, host: Host) -> Json:
    sriov = function.sriov
    assert sriov is not None
    if sriov.physical:
        parent = host.device_at(sriov.physical)
        return {
            "role": "virtual",
            "physicalFunction": sriov.physical,
            "physicalLabel": parent.label if parent is not None else None,
            "index": sriov.index,
        }
    return {"role": "physical", "total": sriov.total, "created": sriov.created, "virtualFunctions": sriov.virtual}


def _netdev(netdev: Netdev) -> Json:
    out: Json = {"name": netdev.name, "state": netdev.state, "carrier": netdev.carrier}
    optional = {"speedMbit": netdev.speed, "mtu": netdev.mtu, "mac": netdev.mac, "port": netdev.port}
    out.update({name: value for name, value in optional.items() if value not in (None, "")})
    if netdev.virtual:
        out["virtual"] = True
    return out


def _rdma(rdma: Rdma) -> Json:
    return {
        "name": rdma.name,
        **({"guid": rdma.guid} if rdma.guid else {}),
        **({"firmware": rdma.firmware} if rdma.firmware else {}),
        "ports": [
            {"number": port.number, "state": port.state, "linkLayer": port.link_layer, "rate": port.rate}
            for port in rdma.ports
        ],
    }


def _gpu(gpu: NvmlGpu) -> Json:
    values: Json = {
        "index": gpu.index, "uuid": gpu.uuid, "serial": gpu.serial, "minor": gpu.minor, "brand": gpu.brand,
        "architecture": gpu.architecture, "computeCapability": gpu.compute_capability,
        "persistenceMode": gpu.persistence, "processes": gpu.processes, "virtualization": gpu.virtualization,
        "addressingMode": gpu.addressing, "ecc": gpu.ecc, "eccPending": gpu.ecc_pending,
        "eccUncorrected": gpu.ecc_uncorrected, "remapPending": gpu.remap_pending, "remapFailed": gpu.remap_failed,
        "nvlinks": gpu.nvlinks or None, "nvlinksDown": gpu.nvlinks_down if gpu.nvlinks else None,
        "nvlinkPeers": gpu.nvlink_peers or None, "memoryNumaNode": gpu.numa_memory, "fabric": gpu.fabric,
        "recovery": gpu.recovery, "xids": gpu.xids or None,
    }  # fmt: skip
    out = {name: value for name, value in values.items() if value not in (None, "")}
    out["lost"] = gpu.lost
    if gpu.handle_error:
        out["handleError"] = gpu.handle_error
    out["mig"] = _mig(gpu)
    if gpu.errors:
        out["errors"] = gpu.errors
    return out


def _mig(gpu: NvmlGpu) -> Json:
    if gpu.mig is None:
        return {"supported": False if gpu.mig_unsupported else None}
    return {
        "supported": True,
        "enabled": bool(gpu.mig),
        "pending": bool(gpu.mig_pending),
        "maxInstances": gpu.max_mig_devices,
        "instances": [
            {
                name: value
                for name, value in {
                    "uuid": instance.uuid, "profile": instance.profile, "profileId": instance.profile_id,
                    "gpuInstance": instance.gpu_instance, "computeInstance": instance.compute_instance,
                    "start": instance.start, "size": instance.size, "memoryBytes": instance.memory,
                }.items()
                if value not in (None, "")
            }
            for instance in gpu.mig_instances
        ],
        "profiles": [profile.name or str(profile.id) for profile in gpu.mig_profiles],
    }  # fmt: skip


# --- topology -------------------------------------------------------------------------------------------------------


def _topology(host: Host, devices: list[Device], shown: list[Device]) -> Json:
    table = topology.matrix(host, devices)
    words = {word for row in table.rows for word in row}
    used = {"NV#" if word.startswith("NV") else word for word in words}
    return {
        "flat": topology.is_flat(host),
        "matrix": {
            "labels": [device.label for device in table.devices],
            "rows": table.rows,
            "leftOut": table.left_out,
            "affinity": [_affinity(device) for device in table.devices],
        },
        "legend": {word: text for word, text in topology.LEGEND.items() if word in used},
        "pairs": [_pair(pair) for pair in topology.pairs(host)],
        "tree": _tree(topology.tree(host, shown)),
    }


def _affinity(device: Device) -> Json:
    function = device.function
    cpus = known(function.cpus) if function is not None else None
    placed = function is not None and not isinstance(function.numa, Unseen)
    return {
        "label": device.label,
        # local_cpulist lists all CPUs, or node 0's, where numa_node is -1: no affinity is known then
        "cpus": format_list(cpus) if cpus and placed else None,
        "numaNode": known(function.numa) if function is not None else None,
        "memoryNode": device.nvml.numa_memory if device.nvml is not None else None,
    }


def _pair(pair: topology.Pair) -> Json:
    function, other = pair.device.function, pair.nearest[0].function
    out: Json = {
        "device": pair.device.label,
        "nearest": [device.label for device in pair.nearest],
        "distance": pair.word,
    }
    if pair.rail is not None:
        out["rail"] = pair.rail
    if function is not None and other is not None:
        if isinstance(function.root, str) and all(
            device.function is not None and device.function.root == function.root for device in pair.nearest
        ):
            out["pcieRoot"] = function.root
        shared = [one for one in known(function.path) or () if one in (known(other.path) or ())]
        if shared:
            out["bridge"] = shared[-1]
    return out


def _tree(node: topology.Node) -> Json:
    out: Json = {"type": node.type, "name": node.name}
    if node.text:
        out["text"] = node.text
    if node.kind:
        out["kind"] = node.kind
    if node.children:
        out["children"] = [_tree(child) for child in node.children]
    return out
