"""What known DRA drivers publish: attributes and capacities with their types, classes, configuration and its gates.

Only names that were read in a driver's public source are listed. ``complete`` says that the list holds everything the
driver publishes in its releases so far, so that another name is a mistake; a driver that is not listed, or not
complete, is never the ground for a finding about a name. Names are (domain, name); attributes without a domain live in
that of the driver.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

STANDARD = "resource.kubernetes.io"
Name = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Attribute:
    """A published attribute: its type (string, version, int, bool; with ``s`` a list) and the device types having it.

    ``types`` is empty where all devices of the driver have it. ``optional`` means that it may be missing on a device.
    ``since`` is the first driver release that has it, if not all have.
    """

    kind: str
    types: frozenset[str] = frozenset()
    optional: bool = False
    since: str = ""


@dataclass(frozen=True, slots=True)
class Parameters:
    """A kind of opaque configuration: allowed fields as nested mappings; a leaf is a type or a tuple of words."""

    api_version: str
    kind: str
    fields: Mapping[str, object]
    gate: str = ""


@dataclass(frozen=True, slots=True)
class Driver:
    """One driver. ``classes`` maps the chart's DeviceClasses to the ``type`` they select (empty: all devices)."""

    name: str
    classes: Mapping[str, str]
    attributes: Mapping[Name, Attribute]
    capacities: Mapping[str, frozenset[str]]
    complete: bool = True
    gone: Mapping[str, str] = field(default_factory=dict)
    """Names of older releases and what became of them."""
    parameters: tuple[Parameters, ...] = ()
    resources: tuple[str, ...] = ()
    """Extended resources that the vendor's device plugin offers for the same hardware."""


def _attributes(driver: str, text: str) -> dict[Name, Attribute]:
    """Lines ``name kind [types] [?] [since ...]``; ``std:name`` for the standard domain, ``domain/name`` for others."""
    out: dict[Name, Attribute] = {}
    for row in filter(None, map(str.strip, text.splitlines())):
        spelled, kind, *rest = row.split()
        optional = "?" in rest
        since = " ".join(rest[rest.index("since") + 1 :]) if "since" in rest else ""
        types = frozenset(rest[0].split(",")) if rest and rest[0] not in ("?", "since") else frozenset[str]()
        if spelled.startswith("std:"):
            name = (STANDARD, spelled[4:])
        elif "/" in spelled:
            domain, _, last = spelled.rpartition("/")
            name = (domain, last)
        else:
            name = (driver, spelled)
        out[name] = Attribute(kind, types, optional, since)
    return out


def _capacities(text: str) -> dict[str, frozenset[str]]:
    """``name[:type,type]`` separated by blanks."""
    out = {}
    for word in text.split():
        name, _, types = word.partition(":")
        out[name] = frozenset(types.split(",")) if types else frozenset[str]()
    return out


_SHARING = {
    "sharing": {
        "strategy": ("TimeSlicing", "MPS"),
        "timeSlicingConfig": {"interval": ("Default", "Short", "Medium", "Long")},
        "mpsConfig": {
            "defaultActiveThreadPercentage": int,
            "defaultPinnedDeviceMemoryLimit": str,
            "defaultPerDevicePinnedMemoryLimit": dict,
            "multiUser": bool,
        },
    }
}
_NVIDIA_CONFIG = "resource.nvidia.com/v1beta1"

_NVIDIA = Driver(
    "gpu.nvidia.com",
    {"gpu.nvidia.com": "gpu", "mig.nvidia.com": "mig", "vfio.gpu.nvidia.com": "vfio"},
    _attributes(
        "gpu.nvidia.com",
        """
        type string
        uuid string gpu,vfio,mig ?
        parentUUID string mig
        profile string mig
        productName string
        brand string gpu,mig
        architecture string gpu,mig
        cudaComputeCapability version gpu,mig
        driverVersion version gpu,mig
        cudaDriverVersion version gpu,mig
        addressingMode string gpu,mig ?
        std:pciBusID string since 25.12
        std:pcieRoot string ?
        std:numaNode int ? since 0.5
        deviceID string vfio
        vendorID string vfio
        iommuFDEnabled bool vfio
        numa int vfio ?
        gpuModuleID int ?
        partition1 int ?
        partition2 int ?
        partition4 int ?
        partition8 int ?
        """,
    ),
    _capacities(
        "memory:gpu,mig addressableMemory:vfio multiprocessors:gpu,mig copyEngines:gpu,mig decoders:gpu,mig "
        "encoders:gpu,mig jpegEngines:gpu,mig ofaEngines:gpu,mig shares:gpu "
        + " ".join(f"memorySlice{number}:mig" for number in range(8))
    ),
    gone={
        "index": "published up to 25.3; select by uuid or by resource.kubernetes.io/pciBusID",
        "minor": "published up to 25.3; the device's name is gpu-<minor>",
        "parentIndex": "published up to 25.3; use parentUUID",
        "pcieBusID": "published up to 25.8; use resource.kubernetes.io/pciBusID",
    },
    parameters=(
        Parameters(_NVIDIA_CONFIG, "GpuConfig", _SHARING),
        Parameters(
            _NVIDIA_CONFIG,
            "MigDeviceConfig",
            {"sharing": {k: v for k, v in _SHARING["sharing"].items() if k != "timeSlicingConfig"}},
        ),
        Parameters(
            _NVIDIA_CONFIG,
            "VfioDeviceConfig",
            {"iommu": {"backendPolicy": ("LegacyOnly", "PreferIommuFD"), "enableAPIDevice": bool}},
            gate="PassthroughSupport",
        ),
    ),
    resources=("nvidia.com/gpu", "nvidia.com/gpu.shared", "nvidia.com/mig-*"),
)

_COMPUTE_DOMAIN = Driver(
    "compute-domain.nvidia.com",
    {"compute-domain-daemon.nvidia.com": "daemon", "compute-domain-default-channel.nvidia.com": "channel"},
    _attributes("compute-domain.nvidia.com", "type string\nid int"),
    {},
    parameters=(
        Parameters(_NVIDIA_CONFIG, "ComputeDomainChannelConfig", {"domainID": str, "allocationMode": str}),
        Parameters(_NVIDIA_CONFIG, "ComputeDomainDaemonConfig", {"domainID": str}),
    ),
)

_AMD = Driver(
    "gpu.amd.com",
    {"gpu.amd.com": ""},
    _attributes(
        "gpu.amd.com",
        """
        type string
        pciAddr string amdgpu
        parentPciAddr string amdgpu-partition
        deviceID string amdgpu
        parentDeviceID string amdgpu-partition
        cardIndex int
        renderIndex int
        family string
        productName string
        driverVersion version
        driverSrcVersion string
        partitionProfile string
        std:pcieRoot string ?
        """,
    ),
    _capacities("memory computeUnits simdUnits"),
    parameters=(Parameters("gpu.resource.amd.com/v1alpha1", "GpuConfig", {}),),
    resources=("amd.com/gpu", "amd.com/*"),
)

_INTEL_GPU = Driver(
    "gpu.intel.com",
    {"gpu.intel.com": "", "gpu-vfio.intel.com": ""},
    _attributes(
        "gpu.intel.com",
        """
        model string
        family string
        driver string
        type string
        sriov bool
        pciId string
        pciAddress string
        pciRoot string
        health string
        std:pcieRoot string ? since 0.10.0
        std:pciBusID string ? since 0.10.0
        """,
    ),
    _capacities("memory millicores"),
    resources=("gpu.intel.com/i915", "gpu.intel.com/xe", "gpu.intel.com/*"),
)

_INTEL_GAUDI = Driver(
    "gaudi.intel.com",
    {"gaudi.intel.com": ""},
    _attributes("gaudi.intel.com", "model string\nserial string\nhealthy bool\nstd:pcieRoot string ?\npciRoot string"),
    {},
    resources=("habana.ai/gaudi",),
)

_INTEL_QAT = Driver(
    "qat.intel.com",
    {"qat.intel.com": ""},
    _attributes("qat.intel.com", "services string"),
    {},
    resources=("qat.intel.com/*",),
)

_DRANET = Driver(
    "dra.net",
    {},
    _attributes(
        "dra.net",
        """
        ifName string ?
        mac string ?
        encapsulation string ?
        alias string ?
        state string ?
        type string ?
        mtu int ?
        ipv4 string ?
        ipv6 string ?
        ebpf bool ?
        sriov bool ?
        virtual bool ?
        rdma bool
        isSriovVf bool ?
        sriovVfs int ?
        tcFilterNames string ?
        tcxProgramNames string ?
        rdmaDevice string ?
        pciAddress string ?
        pciVendor string ?
        pciDevice string ?
        pciSubsystem string ?
        numaNode int ?
        std:pcieRoot string ?
        std:numaNode int ? since 1.4.1
        """
        + "".join(
            f"\n{cloud}.dra.net/{name} string ?"
            for cloud, names in {
                "gce": "block subBlock host networkName networkProjectNumber ipAliases machineType",
                "azure": "placementGroupId vmSize interconnectGroupId interconnectSubgroupId",
                "oke": "hpcIslandId networkBlockId localBlockId rackId gpuMemoryFabricId",
                "alibaba": "instanceType erdma",
            }.items()
            for name in names.split()
        ),
    ),
    {},
    resources=("rdma/*", "vpc.amazonaws.com/efa"),
)

_CPU = Driver(
    "dra.cpu",
    {"dra.cpu": ""},
    _attributes(
        "dra.cpu",
        """
        socketID int ?
        numCPUs int ?
        smtEnabled bool
        numaNodeID int ?
        dra.net/numaNode int ?
        cacheL3ID int ?
        coreType string ?
        coreID int ?
        cpuID int ?
        std:numaNode int ? since 0.3
        std:pcieRoot strings ? since 0.3
        """,
    ),
    _capacities("dra.cpu/cpu"),
)

_MEMORY = Driver(
    "dra.memory",
    {"dra.memory": "", "dra.hugepages-2m": "", "dra.hugepages-1g": ""},
    _attributes(
        "dra.memory",
        """
        std:numaNode int
        std:pageSize string
        std:hugeTLB bool
        dra.cpu/numaNodeID int
        dra.net/numaNode int
        """,
    ),
    _capacities("size"),
)

_SRIOV_NAME = "sriovnetwork.k8snetworkplumbingwg.io"
_SRIOV = Driver(
    _SRIOV_NAME,
    {_SRIOV_NAME: ""},
    _attributes(
        _SRIOV_NAME,
        """
        vendor string
        deviceID string
        pfDeviceID string
        pciAddress string
        PFName string
        EswitchMode string
        linkType string
        pfPciAddress string
        resourceName string ?
        interfaceName string ?
        vfID int
        rdmaCapable bool
        k8s.cni.cncf.io/deviceID string
        k8s.cni.cncf.io/resourceName string
        std:pcieRoot string ?
        std:pciBusID string
        dra.net/numaNode int
        """,
    ),
    {},
    # a DeviceAttributes object of the cluster adds attributes of its own
    complete=False,
)

_TPU = Driver(
    "tpu.google.com",
    {"tpu.google.com": ""},
    _attributes(
        "tpu.google.com",
        """
        index int
        uuid string
        tpuGen string
        brand string
        accelerator string
        chipCount int
        topology string ?
        """,
    ),
    {},
    resources=("google.com/tpu",),
)

_NEURON = Driver(
    "neuron.aws.com",
    {"neuron.aws.com": ""},
    _attributes("neuron.aws.com", "deviceId int\ninstanceType string\nneuronDriverVersion string\nresourceType string"),
    {},
    complete=False,
    resources=("aws.amazon.com/neuron", "aws.amazon.com/neuroncore", "aws.amazon.com/neurondevice"),
)

_REBELLIONS = Driver(
    "npu.rebellions.ai",
    {"npu.rebellions.ai": "", "vfio-npu.rebellions.ai": ""},
    _attributes(
        "npu.rebellions.ai",
        """
        type string
        productName string
        sid string
        uuid string
        pciDeviceID string
        pciLinkSpeed string
        pciLinkWidth string
        firmwareVersion string
        driverVersion string
        std:pciBusID string
        std:pcieRoot string
        std:numaNode int
        """,
    ),
    _capacities("memory"),
    resources=("rebellions.ai/npu",),
)

DRIVERS: Mapping[str, Driver] = {
    one.name: one
    for one in (
        _NVIDIA,
        _COMPUTE_DOMAIN,
        _AMD,
        _INTEL_GPU,
        _INTEL_GAUDI,
        _INTEL_QAT,
        _DRANET,
        _CPU,
        _MEMORY,
        _SRIOV,
        _TPU,
        _NEURON,
        _REBELLIONS,
    )
}

CLASSES: Mapping[str, tuple[str, str]] = {
    name: (driver.name, kind) for driver in DRIVERS.values() for name, kind in driver.classes.items()
}
"""Class names of the drivers' charts: driver and device type."""

NVIDIA_PRODUCTS: Mapping[str, int] = {
    "Tesla T4": 15360,
    "NVIDIA A10": 23028,
    "NVIDIA A10G": 23028,
    "NVIDIA A30": 24576,
    "NVIDIA A40": 46068,
    "NVIDIA L40": 46068,
    "NVIDIA L40S": 46068,
    "NVIDIA L4": 23034,
    "NVIDIA A100-SXM4-40GB": 40960,
    "NVIDIA A100-PCIE-40GB": 40960,
    "NVIDIA A100-SXM4-80GB": 81920,
    "NVIDIA A100 80GB PCIe": 81920,
    "NVIDIA H100 80GB HBM3": 81559,
    "NVIDIA H100 PCIe": 81559,
    "NVIDIA H100 NVL": 95830,
    "NVIDIA GH200 480GB": 97871,
    "NVIDIA GH200 120GB": 97871,
    "NVIDIA H20": 97871,
    "NVIDIA H200": 143771,
    "NVIDIA B200": 183359,
    "NVIDIA GB200": 189471,
    "NVIDIA GB300": 284208,
}
"""productName of GPUs and their capacity ``memory`` in MiB (whole GPU, without DynamicMIG)."""

PRODUCT_MEMORY: Mapping[str, Mapping[str, int]] = {
    "gpu.nvidia.com": NVIDIA_PRODUCTS,
    "gpu.amd.com": {"AMD_Instinct_MI300X_OAM": 196592},
}
"""Driver -> product -> memory in MiB."""

NVIDIA_GATES: Mapping[str, str] = {
    "TimeSlicing": "TimeSlicingSettings",
    "MPS": "MPSSupport",
}
"""Feature gates of the NVIDIA driver (off by default) that a sharing strategy with settings needs."""


def driver_of_resource(resource: str) -> Driver | None:
    """The driver for the hardware that a device plugin's extended resource stands for."""
    for driver in DRIVERS.values():
        for pattern in driver.resources:
            if resource == pattern or (pattern.endswith("*") and resource.startswith(pattern[:-1])):
                return driver
    return None
