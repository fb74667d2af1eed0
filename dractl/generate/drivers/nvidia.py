"""NVIDIA: GPUs, MIG, VFIO, and the channels of compute domains.

Source: kubernetes-sigs/dra-driver-nvidia-gpu (August 2026) and its tags. Releases by date: 25.3, 25.8, 25.12, 0.4, 0.5.
"""

from __future__ import annotations

from dataclasses import replace

from dractl.generate.drivers.form import (
    NUMA_NODE,
    PCI_BUS_ID,
    PCIE_ROOT,
    Attribute,
    Capacity,
    ConfigKind,
    DeviceClassData,
    DeviceForm,
    Driver,
    PluginResource,
)

_RELEASES = ("25.3", "25.8", "25.12", "0.4", "0.5")
_PARENT = (
    Attribute("productName", "string", "nvml.productName"),
    Attribute("brand", "string", "nvml.brand"),
    Attribute("architecture", "string", "nvml.architecture"),
    Attribute("cudaComputeCapability", "version", "nvml.computeCapability"),
    Attribute("driverVersion", "version", "nvml.driverVersion"),
    Attribute("cudaDriverVersion", "version", "nvml.cudaVersion"),
    Attribute("addressingMode", "string", "nvml.addressingMode", since="25.12"),
    Attribute("pcieBusID", "string", "std.pciBusID", until="25.12"),
    replace(PCI_BUS_ID, since="25.12"),
    PCIE_ROOT,
    replace(NUMA_NODE, since="0.5"),
)
MIG_CAPACITY = (
    Capacity("memory", "mig.memory"),
    Capacity("multiprocessors", "mig.multiprocessors"),
    Capacity("copyEngines", "mig.copyEngines"),
    Capacity("decoders", "mig.decoders"),
    Capacity("encoders", "mig.encoders"),
    Capacity("jpegEngines", "mig.jpegEngines"),
    Capacity("ofaEngines", "mig.ofaEngines"),
)
"""Counters of a GPU's counter set have the same names in kebab case, and ``memory-slice-N`` for each slice."""
_GPU = DeviceForm(
    "gpu",
    "nvidia-gpus",
    "gpu-{nvml.minor}",
    (
        Attribute("type", "string", "=gpu"),
        Attribute("uuid", "string", "nvml.uuid"),
        Attribute("minor", "int", "nvml.minor", until="25.8"),
        Attribute("index", "int", "nvml.index", until="25.8"),
        *_PARENT,
    ),
    (Capacity("memory", "memory.bytes"),),
)
_MIG = DeviceForm(
    "mig",
    "nvidia-mig",
    "gpu-{nvml.minor}-mig-{mig.slug}-{mig.profileId}-{mig.start}",
    (
        Attribute("type", "string", "=mig"),
        Attribute("uuid", "string", "mig.uuid"),
        Attribute("parentUUID", "string", "nvml.uuid"),
        Attribute("profile", "string", "mig.profile"),
        *_PARENT,
    ),
    MIG_CAPACITY,
)
_VFIO = DeviceForm(
    "vfio",
    "nvidia-vfio",
    "gpu-vfio-{vfio.index}",
    (
        Attribute("type", "string", "=vfio"),
        Attribute("uuid", "string", "vfio.uuid"),
        Attribute("productName", "string", "pci.deviceName"),
        Attribute("deviceID", "string", "pci.deviceId"),
        Attribute("vendorID", "string", "pci.vendorId"),
        Attribute("numa", "int", "std.numaNode", since="25.12", until="0.5"),
        PCI_BUS_ID,
        PCIE_ROOT,
        replace(NUMA_NODE, since="0.5"),
    ),
    (),
    gate="PassthroughSupport",
    since="25.12",
)
_SHARING = (
    ("sharing.strategy", "TimeSlicing | MPS"),
    ("sharing.timeSlicingConfig.interval", "Default | Short | Medium | Long"),
    ("sharing.mpsConfig.defaultActiveThreadPercentage", "int"),
    ("sharing.mpsConfig.defaultPinnedDeviceMemoryLimit", "quantity"),
    ("sharing.mpsConfig.defaultPerDevicePinnedMemoryLimit", "map of index or UUID to quantity"),
    ("sharing.mpsConfig.multiUser", "bool"),
)
_API = "resource.nvidia.com/v1beta1"

GPU = Driver(
    name="gpu.nvidia.com",
    title="NVIDIA GPUs",
    source="kubernetes-sigs/dra-driver-nvidia-gpu",
    forms=(_GPU, _MIG, _VFIO),
    releases=_RELEASES,
    vendors=(0x10DE,),
    address=("resource.kubernetes.io/pciBusID", "gpu.nvidia.com/pcieBusID"),
    classes=(
        DeviceClassData(
            "gpu.nvidia.com",
            "device.driver == 'gpu.nvidia.com' && device.attributes['gpu.nvidia.com'].type == 'gpu'",
            "nvidia.com/gpu",
            since="25.12",
        ),
        DeviceClassData(
            "mig.nvidia.com",
            "device.driver == 'gpu.nvidia.com' && device.attributes['gpu.nvidia.com'].type == 'mig'",
        ),
        DeviceClassData(
            "vfio.gpu.nvidia.com",
            "device.driver == 'gpu.nvidia.com' && device.attributes['gpu.nvidia.com'].type == 'vfio'",
            since="25.12",
        ),
    ),
    plugin_resources=(
        PluginResource("nvidia.com/gpu", "gpu.nvidia.com"),
        PluginResource("nvidia.com/gpu.shared", "gpu.nvidia.com", note="sharing by a GpuConfig or ConsumableShares"),
        PluginResource(
            "nvidia.com/mig-*",
            "mig.nvidia.com",
            "device.attributes['gpu.nvidia.com'].profile == '{profile}'",
            note="a dot in front of me, gfx in the resource's name is a plus in the profile",
        ),
    ),
    configs=(
        ConfigKind(_API, "GpuConfig", _SHARING),
        ConfigKind(_API, "MigDeviceConfig", tuple(field for field in _SHARING if "timeSlicing" not in field[0])),
        ConfigKind(
            _API,
            "VfioDeviceConfig",
            (("iommu.backendPolicy", "LegacyOnly | PreferIommuFD"), ("iommu.enableAPIDevice", "bool")),
            gate="PassthroughSupport",
        ),
    ),
    gates=(
        "TimeSlicingSettings",
        "MPSSupport",
        "PassthroughSupport",
        "DynamicMIG",
        "NVMLDeviceHealthCheck",
        "DeviceMetadata",
        "DRAListTypeAttributes",
        "FabricManagerPartitioning",
        "ConsumableShares",
        "CrashOnNVLinkFabricErrors",
    ),
    daemonset="dra-driver-nvidia-gpu-kubelet-plugin",
    daemonset_labels=(("dra-driver-nvidia-gpu-component", "kubelet-plugin"),),
)

COMPUTE_DOMAIN = Driver(
    name="compute-domain.nvidia.com",
    title="NVIDIA compute domains (IMEX channels)",
    source="kubernetes-sigs/dra-driver-nvidia-gpu",
    forms=(
        DeviceForm(
            "daemon", "node", "daemon-0", (Attribute("type", "string", "=daemon"), Attribute("id", "int", "=0"))
        ),
        DeviceForm(
            "channel", "node", "channel-0", (Attribute("type", "string", "=channel"), Attribute("id", "int", "=0"))
        ),
    ),
    releases=_RELEASES,
    vendors=(0x10DE,),
    classes=(
        DeviceClassData(
            "compute-domain-daemon.nvidia.com",
            "device.driver == 'compute-domain.nvidia.com' && "
            "device.attributes['compute-domain.nvidia.com'].type == 'daemon'",
        ),
        DeviceClassData(
            "compute-domain-default-channel.nvidia.com",
            "device.driver == 'compute-domain.nvidia.com' && "
            "device.attributes['compute-domain.nvidia.com'].type == 'channel' && "
            "device.attributes['compute-domain.nvidia.com'].id == 0",
        ),
    ),
    configs=(
        ConfigKind(_API, "ComputeDomainChannelConfig", (("domainID", "uid"), ("allocationMode", "Single | All"))),
        ConfigKind(_API, "ComputeDomainDaemonConfig", (("domainID", "uid"),)),
    ),
    gates=("IMEXDaemonsWithDNSNames", "ComputeDomainCliques", "HostManagedIMEXDaemon"),
    daemonset="dra-driver-nvidia-gpu-kubelet-plugin",
)

HAMI = Driver(
    name="hami-core-gpu.project-hami.io",
    title="HAMi's shared NVIDIA GPUs",
    source="Project-HAMi/k8s-dra-driver",
    forms=(
        DeviceForm(
            "hami-gpu",
            "nvidia-gpus",
            "hami-gpu-{nvml.minor}",
            (
                Attribute("type", "string", "=hami-gpu"),
                Attribute("uuid", "string", "nvml.uuid"),
                Attribute("minor", "int", "nvml.minor"),
                Attribute("productName", "string", "nvml.productName"),
                Attribute("brand", "string", "nvml.brand"),
                Attribute("architecture", "string", "nvml.architecture"),
                Attribute("cudaComputeCapability", "version", "nvml.computeCapability"),
                Attribute("driverVersion", "version", "nvml.driverVersion"),
                Attribute("cudaDriverVersion", "version", "nvml.cudaVersion"),
                Attribute("pcieBusID", "string", "std.pciBusID"),
                PCIE_ROOT,
            ),
            (
                Capacity("cores", "=100", default="100", minimum="0", step="1"),
                Capacity("memory", "memory.bytes", default="*", minimum="0", step="1Mi"),
            ),
            shared=True,
        ),
    ),
    vendors=(0x10DE,),
    address=("hami-core-gpu.project-hami.io/pcieBusID",),
    classes=(
        DeviceClassData(
            "hami-core-gpu.project-hami.io", "device.driver == 'hami-core-gpu.project-hami.io'", "nvidia.com/gpu"
        ),
    ),
)

DRIVERS = (GPU, COMPUTE_DOMAIN, HAMI)
