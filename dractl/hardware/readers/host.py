"""Run all readers over one root. A reader that breaks is a source that failed, not the end."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from dractl.hardware.classify import NVIDIA, classify
from dractl.hardware.model import Host, Nvml, Problem, Source, SourceState, Unseen, Why
from dractl.hardware.nvml_record import from_json
from dractl.hardware.readers.accelerators import read_accelerators
from dractl.hardware.readers.amd import read_amd
from dractl.hardware.readers.cpu import read_cpus
from dractl.hardware.readers.network import read_network, read_rdma
from dractl.hardware.readers.numa import read_hugepages, read_numa
from dractl.hardware.readers.nvidia import read_nvidia
from dractl.hardware.readers.nvml import TIMEOUT, read_nvml, source_of
from dractl.hardware.readers.pci import PciReading, read_pci
from dractl.hardware.readers.pciids import read_names
from dractl.hardware.readers.root import FolderRoot, Root
from dractl.hardware.readers.storage import read_cxl, read_nvme
from dractl.hardware.readers.system import read_container, read_iommu, read_machine, read_modules, read_xids
from dractl.hardware.readers.tree import Tree

T = TypeVar("T")
NVML_RECORD = "dractl/nvml.json"
"""Where a capture keeps what NVML answered."""
_BOOT = "proc/sys/kernel/random/boot_id"


@dataclass(frozen=True, slots=True)
class Asking:
    """What to ask beside the tree. ``nvml`` None asks the library where its answers can belong to the tree."""

    nvml: bool | None = None
    timeout: float = TIMEOUT
    progress: Callable[[str], None] | None = None


def read_host(root: Root, live: bool, asking: Asking | None = None) -> Host:
    """Everything that can be seen below ``root``. ``live`` says that it is this very machine."""
    asking = asking or Asking()
    tree = Tree(root)
    host = Host(root=root.name, live=live)
    run = _Runner(host)
    host.cpus, source = run.one("cpu", lambda: read_cpus(tree), lambda why: (host.cpus, why))
    host.sources.append(source)
    host.machine = run.one("machine", lambda: read_machine(tree, host.cpus.flags), lambda why: host.machine)
    host.machine.container = read_container(tree)
    host.numa, source = run.one("numa", lambda: read_numa(tree), lambda why: (Unseen(why.reason), why))
    host.sources.append(source)
    host.hugepages = run.one("hugepages", lambda: read_hugepages(tree), lambda why: [])
    pci = run.one("pci", lambda: read_pci(tree), lambda why: PciReading(source=why))
    host.functions, host.pci_seen = pci.functions, pci.seen
    host.sources.append(pci.source)
    _locality(host)
    host.modules = run.one("modules", lambda: read_modules(tree), lambda why: {})
    _devices(tree, host, run)
    _nvml(tree, host, asking)
    _names(root, host)
    host.devices = classify(host)
    _calm(host)
    _owners(host)
    host.problems = tree.problems + [Problem(root.name, text) for text in root.warnings]
    _privileges(host)
    return host


@dataclass(slots=True)
class _Runner:
    host: Host

    def one(self, name: str, read: Callable[[], T], instead: Callable[[Source], T]) -> T:
        """What a reader gives, or a substitute and a note where a strange tree broke it."""
        try:
            return read()
        except (ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError, OverflowError) as error:
            reason = f"dractl could not make sense of it ({type(error).__name__}: {error})"
            return instead(Source(name, SourceState.FAILED, reason))


def _locality(host: Host) -> None:
    """Where a kernel has no numa_node file at all, the CPUs near a function tell its node (not where it says -1)."""
    for function in host.functions.values():
        if not isinstance(function.numa, Unseen) or function.numa.why is not Why.ABSENT:
            continue
        near = function.cpus
        if isinstance(near, Unseen) or not near:
            continue
        nodes = [node.id for node in host.numa_nodes if isinstance(node.cpus, frozenset) and near <= node.cpus]
        if len(nodes) == 1:
            function.numa, function.numa_from = nodes[0], "local_cpus"


def _devices(tree: Tree, host: Host, run: _Runner) -> None:
    functions, sources = host.functions, host.sources
    host.netdevs, found = run.one("net", lambda: read_network(tree, functions), lambda why: ([], [why]))
    sources += found
    host.rdma, source = run.one("rdma", lambda: read_rdma(tree, functions), lambda why: ([], why))
    sources.append(source)
    host.iommu, source = run.one("iommu", lambda: read_iommu(tree, functions), lambda why: (host.iommu, why))
    sources.append(source)
    version, source = run.one("nvidia-proc", lambda: read_nvidia(tree, functions), lambda why: ("", why))
    if version:
        host.modules["nvidia"] = version
    sources.append(source)
    nodes, host.partitions, source = run.one("amd", lambda: read_amd(tree, functions), lambda why: ([], [], why))
    if nodes:
        host.fabric["kfd"] = nodes
    if "amdgpu" in host.modules:
        host.modules["amdgpu.srcversion"] = tree.text("sys/module/amdgpu/srcversion")
    sources.append(source)
    host.others, found = run.one("accel", lambda: read_accelerators(tree, functions), lambda why: ({}, [why]))
    sources += found
    sources.append(run.one("nvme", lambda: read_nvme(tree, functions), lambda why: why))
    host.cxl, source = run.one("cxl", lambda: read_cxl(tree, functions), lambda why: ([], why))
    sources.append(source)
    host.xids, source = run.one("kernel-log", lambda: read_xids(tree), lambda why: ([], why))
    sources.append(source)


def _names(root: Root, host: Host) -> None:
    pairs = {(function.vendor, function.device) for function in host.functions.values() if function.vendor is not None}
    host.names, source = read_names(pairs, [root] if host.live else [root, FolderRoot(Path("/"), "this machine")])
    host.sources.append(source)


# --- NVML -----------------------------------------------------------------------------------------------------------


def _nvml(tree: Tree, host: Host, asking: Asking) -> None:
    """NVML's answers: from the capture, or from the library where it talks of the machine that the tree shows."""
    recorded = tree.root.read(NVML_RECORD, 1 << 24)
    if isinstance(recorded, bytes):
        try:
            data = json.loads(recorded)
            if "skipped" in data:
                host.sources.append(Source("nvml", SourceState.SKIPPED, str(data["skipped"])))
                return
            host.nvml = from_json(data)
            host.sources.append(source_of(host.nvml))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            host.sources.append(Source("nvml", SourceState.FAILED, f"{NVML_RECORD} can not be read: {error}"))
        return
    why_not = _why_not(tree, host, asking)
    if why_not:
        host.sources.append(Source("nvml", SourceState.SKIPPED, why_not))
        return
    expected = [
        function.address
        for function in host.functions.values()
        if function.vendor == NVIDIA and function.driver == "nvidia" and (function.klass or 0) >> 8 == 0x03
    ]
    nvml, source = read_nvml(expected, asking.progress, asking.timeout)
    if asking.nvml is None and _of_another_machine(host, nvml):
        source = Source(
            "nvml", SourceState.SKIPPED, "NVML knows none of the GPUs of this tree: it speaks of another machine"
        )
    else:
        host.nvml = nvml
    host.sources.append(source)


def _why_not(tree: Tree, host: Host, asking: Asking) -> str:
    if asking.nvml is not None:
        return "" if asking.nvml else "not asked (--no-nvml)"
    if not isinstance(tree.root, FolderRoot):
        return "the archive holds no NVML answers, and this machine's would be about other GPUs"
    if host.live:
        return ""
    theirs, ours = tree.root.text(_BOOT), FolderRoot(Path("/")).text(_BOOT)
    if isinstance(theirs, str) and isinstance(ours, str) and theirs != ours:
        return "the tree is of another machine or boot (boot_id differs)"
    return ""


def _of_another_machine(host: Host, nvml: Nvml) -> bool:
    if host.live or not host.pci_seen or nvml.init or not nvml.gpus:
        return False
    return not any(gpu.address in host.functions for gpu in nvml.gpus if gpu.address)


def _calm(host: Host) -> None:
    """No advice about sources that this machine does not need."""
    nvidia = any(function.vendor == NVIDIA for function in host.functions.values()) or "nvidia" in host.modules
    nameless = [device for device in host.devices if not device.product or device.product.startswith("class ")]
    for source in host.sources:
        if source.name == "nvml" and host.pci_seen and not nvidia and source.state is SourceState.ABSENT:
            source.hint = ""
        if source.name == "pci.ids" and not nameless:
            source.hint = ""


def _owners(host: Host) -> None:
    """NUMA nodes that are a GPU's own memory, where the driver says so."""
    nodes = {node.id: node for node in host.numa_nodes}
    for device in host.devices:
        number = device.nvml.numa_memory if device.nvml is not None else None
        if number is None and device.function is not None:
            number = device.function.details.get("nvidia", {}).get("memoryNode")
        node = nodes.get(number) if number is not None else None
        if node is not None and node.memory_only:
            node.device = f"{device.label} {device.address}"


def _privileges(host: Host) -> None:
    """Say once what root would add."""
    short = [
        function
        for function in host.functions.values()
        if isinstance(function.config, bytes) and len(function.config) == 64
    ]
    if short:
        host.sources.append(
            Source(
                "pci-config",
                SourceState.PARTIAL,
                f"64 bytes of {len(short)} functions' configuration are readable: ACS can not be told",
                "run as root to see ACS between switches",
            )
        )
