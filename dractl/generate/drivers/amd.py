"""AMD Instinct GPUs. Source: ROCm/k8s-gpu-dra-driver (October 2025)."""

from __future__ import annotations

from dractl.generate.drivers.form import (
    PCIE_ROOT,
    Attribute,
    Capacity,
    ConfigKind,
    DeviceClassData,
    DeviceForm,
    Driver,
    PluginResource,
)

_COMMON = (
    Attribute("cardIndex", "int", "amd.card"),
    Attribute("renderIndex", "int", "amd.render"),
    Attribute("family", "string", "amd.family"),
    Attribute("productName", "string", "amd.productName"),
    Attribute("driverVersion", "version", "amd.driverVersion"),
    Attribute("driverSrcVersion", "string", "amd.driverSrcVersion"),
    Attribute("partitionProfile", "string", "amd.partitionProfile"),
    PCIE_ROOT,
)
_CAPACITY = (
    Capacity("memory", "amd.memory"),
    Capacity("computeUnits", "amd.computeUnits"),
    Capacity("simdUnits", "amd.simdUnits"),
)

GPU = Driver(
    name="gpu.amd.com",
    title="AMD Instinct GPUs",
    source="ROCm/k8s-gpu-dra-driver",
    forms=(
        DeviceForm(
            "amdgpu",
            "amd-gpus",
            "gpu-{amd.card}-{amd.render}",
            (
                Attribute("type", "string", "=amdgpu"),
                Attribute("pciAddr", "string", "pci.address"),
                Attribute("deviceID", "string", "amd.deviceId"),
                *_COMMON,
            ),
            _CAPACITY,
        ),
        DeviceForm(
            "amdgpu-partition",
            "amd-partitions",
            "gpu-{amd.card}-{amd.render}",
            (
                Attribute("type", "string", "=amdgpu-partition"),
                Attribute("parentPciAddr", "string", "pci.address"),
                Attribute("parentDeviceID", "string", "amd.deviceId"),
                *_COMMON,
            ),
            _CAPACITY,
        ),
    ),
    vendors=(0x1002,),
    address=("gpu.amd.com/pciAddr", "gpu.amd.com/parentPciAddr"),
    classes=(DeviceClassData("gpu.amd.com", "device.driver == 'gpu.amd.com'"),),
    plugin_resources=(
        PluginResource("amd.com/gpu", "gpu.amd.com", "device.attributes['gpu.amd.com'].type == 'amdgpu'"),
        PluginResource(
            "amd.com/*_nps*",
            "gpu.amd.com",
            "device.attributes['gpu.amd.com'].type == 'amdgpu-partition' && "
            "device.attributes['gpu.amd.com'].partitionProfile == '{profile}'",
        ),
    ),
    configs=(ConfigKind("gpu.resource.amd.com/v1alpha1", "GpuConfig"),),
    daemonset="-kubeletplugin",
    daemonset_labels=(("app.kubernetes.io/component", "kubeletplugin"),),
    notes=(
        "where sysfs gives no memory the driver publishes 80Gi for a GPU and 20Gi for a partition; dractl leaves it "
        "out",
    ),
)

DRIVERS = (GPU,)
