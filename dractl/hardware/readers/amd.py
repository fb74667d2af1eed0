"""AMD GPUs from the amdgpu driver's files and the KFD topology.

Source: Linux Documentation/gpu/amdgpu/driver-misc.rst, include/uapi/linux/kfd_sysfs.h.
"""

from __future__ import annotations

import re

from dractl.hardware.model import Details, PciFunction, Source, SourceState, Unseen
from dractl.hardware.readers.pci import DEVICES
from dractl.hardware.readers.tree import Tree

KFD = "sys/class/kfd/kfd/topology/nodes"
_VENDOR = 0x1002
_NUMBERS = {
    "mem_info_vram_total": "vram",
    "mem_info_vis_vram_total": "visibleVram",
    "mem_info_gtt_total": "gtt",
}
_TEXTS = {
    "product_name": "productName",
    "unique_id": "uniqueId",
    "serial_number": "serial",
    "current_compute_partition": "computePartition",
    "available_compute_partition": "computePartitions",
    "current_memory_partition": "memoryPartition",
    "vbios_version": "vbios",
    "xgmi_hive_info/xgmi_hive_id": "hive",
}
_LINKS = {2: "PCIe", 11: "XGMI"}
"""HSA_IOLINKTYPE values that occur between GPUs and CPUs."""
_PROPERTY = re.compile(r"^(\w+)\s+(-?\d{1,20})\s*$", re.MULTILINE)
_PARTITION = re.compile(r"^amdgpu_xcp_\d+$")
_DRM = re.compile(r"^(card|renderD)(\d{1,5})$")


def read_amd(tree: Tree, functions: dict[str, PciFunction]) -> tuple[list[Details], list[Details], Source]:
    """Fill ``functions``; the KFD nodes and the partitions that are platform devices are given back."""
    gpus = [
        function
        for function in functions.values()
        if function.vendor == _VENDOR and function.driver == "amdgpu" and function.klass is not None
    ]
    for function in gpus:
        function.details["amdgpu"] = _device(tree, function.address)
    nodes = _nodes(tree)
    for node in nodes:
        owner = functions.get(node.get("address", ""))
        if owner is not None:
            owner.details.setdefault("kfd", []).append(node)
    partitions = _partitions(tree)
    return nodes, partitions, _source(tree, gpus, nodes, functions)


def _source(tree: Tree, gpus: list[PciFunction], nodes: list[Details], functions: dict[str, PciFunction]) -> Source:
    if gpus and not nodes:
        return Source("amd", SourceState.PARTIAL, f"{len(gpus)} GPUs; /sys/class/kfd is not visible: no XGMI links")
    if gpus or nodes:
        return Source("amd", SourceState.READ, f"{len(gpus)} GPUs with amdgpu, {len(nodes)} KFD nodes")
    if any(
        function.vendor == _VENDOR and function.klass in {0x0300, 0x0380, 0x1200} for function in functions.values()
    ):
        return Source("amd", SourceState.ABSENT, "no AMD GPU is bound to amdgpu")
    reason = "no AMD GPU" if not tree.root.exists("sys/module/amdgpu") else "amdgpu is loaded and drives nothing"
    return Source("amd", SourceState.ABSENT, reason)


def _device(tree: Tree, address: str) -> Details:
    path = f"{DEVICES}/{address}"
    details: Details = {}
    for name, key in _NUMBERS.items():
        if tree.root.exists(f"{path}/{name}"):
            details[key] = tree.maybe(f"{path}/{name}")
    for name, key in _TEXTS.items():
        text = tree.root.text(f"{path}/{name}")
        if isinstance(text, str) and text:
            details[key] = text
    details.update(drm_numbers(tree, path))
    return {key: value for key, value in details.items() if value is not None}


def drm_numbers(tree: Tree, path: str) -> Details:
    """``card`` and ``render`` numbers of a device with a ``drm`` folder."""
    found: Details = {}
    for name in tree.names(f"{path}/drm"):
        match = _DRM.match(name)
        if match:
            found["card" if match[1] == "card" else "render"] = int(match[2])
    return found


def _partitions(tree: Tree) -> list[Details]:
    return [
        {"name": name, **drm_numbers(tree, f"sys/devices/platform/{name}")}
        for name in tree.names("sys/devices/platform")
        if _PARTITION.match(name)
    ]


def _nodes(tree: Tree) -> list[Details]:
    """KFD nodes: one for each CPU package and each GPU (or partition), with links to other nodes."""
    names = tree.root.names(KFD)
    if isinstance(names, Unseen):
        return []
    nodes = []
    for name in sorted((name for name in names if name.isdigit()), key=int):
        path = f"{KFD}/{name}"
        properties = _properties(tree, f"{path}/properties")
        if not properties:
            continue
        node: Details = {"node": int(name), "cpuCores": properties.get("cpu_cores_count", 0)}
        if properties.get("simd_count"):
            node.update(_gpu(tree, path, properties))
        node["links"] = [
            {
                "to": link.get("node_to"),
                "type": _LINKS.get(link.get("type", 0), str(link.get("type"))),
                "weight": link.get("weight"),
                "maxBandwidth": link.get("max_bandwidth"),
            }
            for number in tree.names(f"{path}/io_links")
            if (link := _properties(tree, f"{path}/io_links/{number}/properties"))
        ]
        nodes.append(node)
    return nodes


def _gpu(tree: Tree, path: str, properties: dict[str, int]) -> Details:
    place, domain = properties.get("location_id", 0), properties.get("domain", 0)
    banks = (_properties(tree, f"{path}/mem_banks/{name}/properties") for name in tree.names(f"{path}/mem_banks"))
    # heap types 1 and 2 are the GPU's own memory, hidden from or visible to the host
    memory = sum(bank.get("size_in_bytes", 0) for bank in banks if bank.get("heap_type") in {1, 2})
    per_unit = properties.get("simd_per_cu") or 4
    return {
        "address": f"{domain & 0xFFFFFFFF:04x}:{place >> 8 & 0xFF:02x}:{place >> 3 & 0x1F:02x}.{place & 7}",
        "gpuId": tree.maybe(f"{path}/gpu_id"),
        "simds": properties["simd_count"],
        "computeUnits": properties["simd_count"] // per_unit,
        "gfx": properties.get("gfx_target_version"),
        "render": properties.get("drm_render_minor"),
        "uniqueId": properties.get("unique_id"),
        "hive": properties.get("hive_id"),
        "memory": memory or None,
    }


def _properties(tree: Tree, path: str) -> dict[str, int]:
    return {name: int(value) for name, value in _PROPERTY.findall(tree.text(path))}
