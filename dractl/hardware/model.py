"""What a host is made of, as plain data. Filled by ``readers``; nothing here reads anything.

A value that could not be looked at is an ``Unseen`` with its reason: not None, not 0, not an empty list. ``None`` means
that the kernel says there is none (no driver is bound, no IOMMU group).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, TypeVar

T = TypeVar("T")
Details = dict[str, Any]


class Why(Enum):
    """Why something was not seen."""

    ABSENT = "absent"
    """There is no such file, folder or library here."""
    DENIED = "denied"
    """It is there and may not be read; root may."""
    BROKEN = "broken"
    """It is there and does not hold what it should."""
    UNSAID = "unsaid"
    """The kernel or the library answers that it does not know (numa_node -1, not supported)."""


@dataclass(frozen=True, slots=True)
class Unseen:
    """Could not be looked at, and why, in words that end a sentence: ``numa_node is -1``."""

    reason: str
    why: Why = Why.UNSAID


NO_NUMA = Unseen("numa_node is -1: the firmware does not say")
"""The NUMA node of a device for which the kernel has none; neither node 0 nor a node -1."""


def known(value: T | Unseen) -> T | None:
    """The value, or None where it was not seen."""
    return None if isinstance(value, Unseen) else value


class Kind(Enum):
    """What a device is to somebody who schedules work on it."""

    GPU = "gpu"
    ACCELERATOR = "accelerator"
    FPGA = "fpga"
    NIC = "nic"
    NVME = "nvme"
    CXL = "cxl"
    SWITCH = "fabric-switch"
    """A switch of an accelerator fabric (NVSwitch)."""
    STORAGE = "storage"
    DISPLAY = "display"
    """A graphics card that only shows a console (a BMC's, an emulated one)."""
    BRIDGE = "bridge"
    OTHER = "other"


class SourceState(Enum):
    """How reading one source ended."""

    READ = "read"
    PARTIAL = "partial"
    ABSENT = "absent"
    FAILED = "failed"
    SKIPPED = "skipped"


@dataclass(slots=True)
class Source:
    """One source and how it went. ``reason`` says why it is absent or partial, ``hint`` what would change that."""

    name: str
    state: SourceState
    reason: str = ""
    hint: str = ""


@dataclass(slots=True)
class Problem:
    """Something in the tree that should not be there: garbage in a number, a loop of links."""

    path: str
    text: str


# --- processors and memory ------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Cache:
    """All caches of one level, type and size. ``size`` in bytes; ``shared_by`` is the most CPUs that share one."""

    level: int
    type: str
    size: int
    count: int
    shared_by: int


@dataclass(slots=True)
class Cpus:
    """The processors: counts of what is online, and their caches."""

    model: str = ""
    architecture: str = ""
    packages: int | Unseen = Unseen("not read", Why.ABSENT)
    cores: int | Unseen = Unseen("not read", Why.ABSENT)
    threads: int | Unseen = Unseen("not read", Why.ABSENT)
    online: frozenset[int] = frozenset()
    offline: frozenset[int] = frozenset()
    package_of: dict[int, int] = field(default_factory=dict)
    """CPU number to the number of its package, counted from 0 in order of CPUs."""
    package_ids: list[int] = field(default_factory=list)
    """physical_package_id by package."""
    core_of: dict[int, int] = field(default_factory=dict)
    caches: list[Cache] = field(default_factory=list)
    flags: frozenset[str] = frozenset()
    compute_units: bool = False
    """AMD family 21 (Bulldozer): what the kernel calls threads are cores of a module."""
    l3_of: dict[int, int] = field(default_factory=dict)
    """CPU number to the id of its level 3 cache."""


@dataclass(slots=True)
class HugePages:
    """Huge pages of one size (bytes) on one node or in all."""

    size: int
    total: int
    free: int | None = None


@dataclass(slots=True)
class NumaNode:
    """One NUMA node. ``memory`` in bytes; ``distances`` by node number, as the firmware's table says."""

    id: int
    cpus: frozenset[int] | Unseen
    memory: int | Unseen
    free: int | Unseen
    distances: dict[int, int] | Unseen
    hugepages: list[HugePages] = field(default_factory=list)
    initiators: list[int] = field(default_factory=list)
    """Nodes whose CPUs have the best access to this node's memory (access0/initiators)."""
    device: str = ""
    """Address of the device whose memory this is, where a driver says so."""

    @property
    def memory_only(self) -> bool:
        """Whether the node has memory and no CPU (CXL, high bandwidth memory, a GPU's memory)."""
        return isinstance(self.cpus, frozenset) and not self.cpus


# --- devices --------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Link:
    """A PCIe link: speeds in GT/s, widths in lanes; None where unknown."""

    speed: float | None = None
    max_speed: float | None = None
    width: int | None = None
    max_width: int | None = None

    @property
    def narrow(self) -> bool:
        """Whether fewer lanes run than both ends could."""
        return self.width is not None and self.max_width is not None and 0 < self.width < self.max_width


@dataclass(slots=True)
class Netdev:
    """A network interface. ``speed`` in Mbit/s."""

    name: str
    state: str = ""
    carrier: bool | None = None
    speed: int | None = None
    mtu: int | None = None
    mac: str = ""
    type: int | None = None
    """ARPHRD number: 1 Ethernet, 32 InfiniBand."""
    port: str = ""
    """phys_port_name or dev_port, which tells ports of one function apart."""
    virtual: bool = False


@dataclass(slots=True)
class RdmaPort:
    """A port of an RDMA device: state (ACTIVE, DOWN...), physical state, link layer, rate as the kernel prints it."""

    number: int
    state: str = ""
    physical: str = ""
    link_layer: str = ""
    rate: str = ""


@dataclass(slots=True)
class Rdma:
    """An RDMA device (``mlx5_0``)."""

    name: str
    ports: list[RdmaPort] = field(default_factory=list)
    guid: str = ""
    firmware: str = ""


@dataclass(slots=True)
class Sriov:
    """SR-IOV of a function: what a physical function can and does, or whose virtual function this is."""

    total: int | None = None
    created: int | None = None
    physical: str = ""
    """Address of the physical function, on a virtual one."""
    index: int | None = None
    virtual: list[str] = field(default_factory=list)
    """Addresses of the virtual functions, on a physical one, in order of their index."""


@dataclass(slots=True)
class PciFunction:
    """One PCI function as sysfs shows it. Numbers are None where the file is missing."""

    address: str
    vendor: int | None = None
    device: int | None = None
    class_code: int | None = None
    """24 bits: class, subclass, programming interface."""
    subsystem: tuple[int | None, int | None] = (None, None)
    revision: int | None = None
    target: str | None = None
    """The link in /sys/bus/pci/devices as it is written."""
    root: str | Unseen = Unseen("not read", Why.ABSENT)
    """First folder below /sys/devices: ``pci0000:15``."""
    path: tuple[str, ...] | Unseen = ()
    """Bridges above it, the one nearest to the root first."""
    numa: int | Unseen = Unseen("not read", Why.ABSENT)
    numa_from: str = "numa_node"
    """The file that ``numa`` was drawn from; Kubernetes' own rule knows numa_node only."""
    cpus: frozenset[int] | Unseen = Unseen("not read", Why.ABSENT)
    driver: str | Unseen | None = None
    iommu_group: str | None = None
    link: Link = field(default_factory=Link)
    config: bytes | Unseen = Unseen("not read", Why.ABSENT)
    sriov: Sriov | None = None
    aer: dict[str, int] = field(default_factory=dict)
    """Totals of PCIe errors by kind: correctable, nonfatal, fatal."""
    reset: str = ""
    netdevs: list[Netdev] = field(default_factory=list)
    rdma: list[Rdma] = field(default_factory=list)
    details: Details = field(default_factory=dict)
    """What a vendor's driver says, by source: ``amdgpu``, ``kfd``, ``habana``..."""

    @property
    def klass(self) -> int | None:
        """Class and subclass, 16 bits."""
        return None if self.class_code is None else self.class_code >> 8

    @property
    def slot(self) -> str:
        """The address without the function: functions of one slot are one card."""
        return self.address.rpartition(".")[0]


@dataclass(slots=True)
class MigInstance:
    """A MIG device that exists. Memory in bytes."""

    uuid: str = ""
    profile: str = ""
    profile_id: int | None = None
    gpu_instance: int | None = None
    compute_instance: int | None = None
    start: int | None = None
    size: int | None = None
    memory: int | None = None


@dataclass(slots=True)
class MigProfile:
    """A GPU instance profile: what one instance gets, where it may start (in memory slices of ``size``)."""

    id: int
    name: str
    memory: int
    multiprocessors: int
    copy_engines: int = 0
    decoders: int = 0
    encoders: int = 0
    jpeg_engines: int = 0
    ofa_engines: int = 0
    starts: tuple[int, ...] = ()
    size: int = 0
    slices: int = 0


@dataclass(slots=True)
class NvmlGpu:
    """What NVML says of one GPU. A failed call leaves its field unset and its error in ``errors`` by call."""

    index: int
    address: str | None = None
    lost: bool = False
    handle_error: str = ""
    name: str = ""
    uuid: str = ""
    serial: str = ""
    minor: int | None = None
    brand: str = ""
    architecture: str = ""
    compute_capability: str = ""
    memory: int | None = None
    mig: int | None = None
    mig_pending: int | None = None
    mig_unsupported: bool = False
    max_mig_devices: int | None = None
    mig_instances: list[MigInstance] = field(default_factory=list)
    mig_profiles: list[MigProfile] = field(default_factory=list)
    ecc: bool | None = None
    ecc_pending: bool | None = None
    ecc_uncorrected: int | None = None
    remap_pending: bool | None = None
    remap_failed: bool | None = None
    persistence: bool | None = None
    processes: int | None = None
    virtualization: str = ""
    addressing: str = ""
    nvlinks: int = 0
    nvlinks_down: list[int] = field(default_factory=list)
    nvlink_peers: dict[str, int] = field(default_factory=dict)
    """Active links by the address at the other end; switches count as ``switch``."""
    numa_memory: int | None = None
    """NUMA node of the GPU's own memory (Grace), if any."""
    fabric: str = ""
    """clusterUUID.cliqueId of the NVLink fabric."""
    recovery: str = ""
    """What the driver wants done: reset, reboot, drain."""
    xids: list[int] = field(default_factory=list)
    errors: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class Nvml:
    """NVML as a whole. ``init`` is empty when it answered, else the error's name."""

    init: str = ""
    driver: str = ""
    library: str = ""
    cuda: int | None = None
    """13000 is 13.0."""
    gpus: list[NvmlGpu] = field(default_factory=list)
    count_error: str = ""


@dataclass(slots=True)
class Xid:
    """An NVIDIA driver error in the kernel's log."""

    address: str
    code: int
    text: str


@dataclass(slots=True)
class Device:
    """A device as people name it: ``label`` GPU0, its PCI function, and what vendors' software says of it."""

    label: str
    kind: Kind
    address: str
    function: PciFunction | None = None
    nvml: NvmlGpu | None = None
    vendor_name: str = ""
    product: str = ""
    memory: int | Unseen = Unseen("no source says", Why.UNSAID)
    """Bytes of device memory."""
    parts: list[str] = field(default_factory=list)
    """Addresses of other functions of the card (audio, USB) that belong to it."""
    parent: str = ""
    """Label of the physical function's device, on a virtual function."""
    details: Details = field(default_factory=dict)


@dataclass(slots=True)
class Machine:
    """The machine as its firmware and kernel name it."""

    hostname: str = ""
    memory: int | None = None
    """Bytes, from /proc/meminfo."""
    vendor: str = ""
    product: str = ""
    board: str = ""
    kernel: str = ""
    virtual: str = ""
    """Hypervisor, if this looks like a virtual machine, and how that was seen."""
    container: str = ""
    """Kind of container that dractl itself runs in, on the live machine."""
    iommu_options: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Iommu:
    """IOMMU groups by name, and the units that the kernel drives. ``on`` is None where nothing was visible."""

    on: bool | None = None
    reason: str = ""
    units: list[str] = field(default_factory=list)
    groups: dict[str, list[str]] = field(default_factory=dict)
    types: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class Host:
    """Everything that was read of one host."""

    root: str = ""
    live: bool = False
    """Whether this is the running machine (its NVML and this tree belong together for certain)."""
    machine: Machine = field(default_factory=Machine)
    cpus: Cpus = field(default_factory=Cpus)
    numa: list[NumaNode] | Unseen = Unseen("not read", Why.ABSENT)
    hugepages: list[HugePages] = field(default_factory=list)
    functions: dict[str, PciFunction] = field(default_factory=dict)
    """All PCI functions by address, bridges too."""
    pci_seen: bool = False
    netdevs: list[Netdev] = field(default_factory=list)
    """Interfaces without a PCI function."""
    rdma: list[Rdma] = field(default_factory=list)
    """RDMA devices without a PCI function (soft RoCE)."""
    nvml: Nvml | None = None
    iommu: Iommu = field(default_factory=Iommu)
    modules: dict[str, str] = field(default_factory=dict)
    """Kernel modules that matter, and their versions ('' where the module has none)."""
    xids: list[Xid] = field(default_factory=list)
    cxl: list[Details] = field(default_factory=list)
    fabric: Details = field(default_factory=dict)
    """Vendors' graphs: ``kfd`` nodes and links."""
    partitions: list[Details] = field(default_factory=list)
    """Partitions of GPUs that are platform devices (amdgpu_xcp)."""
    others: dict[str, list[Details]] = field(default_factory=dict)
    """Devices of vendors' classes that name no PCI function (neuron)."""
    devices: list[Device] = field(default_factory=list)
    sources: list[Source] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    names: Mapping[str, str] = field(default_factory=dict)
    """Names of vendors (``10de``) and devices (``10de:2330``) that were looked up."""
    _by_address: dict[str, Device] = field(default_factory=dict)

    def device_at(self, address: str) -> Device | None:
        """The device of a PCI address."""
        if len(self._by_address) != len(self.devices):
            self._by_address = {device.address: device for device in self.devices}
        return self._by_address.get(address)

    @property
    def numa_nodes(self) -> list[NumaNode]:
        """The NUMA nodes, none where they could not be seen."""
        return [] if isinstance(self.numa, Unseen) else self.numa
