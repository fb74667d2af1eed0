"""Intel: GPUs, Gaudi, QuickAssist. Source: intel/intel-resource-drivers-for-kubernetes (August 2026)."""

from __future__ import annotations

from dataclasses import replace

from dractl.generate.drivers.form import (
    PCI_BUS_ID,
    PCIE_ROOT,
    Attribute,
    Capacity,
    DeviceClassData,
    DeviceForm,
    Driver,
    PluginResource,
)

MODELS: dict[int, tuple[str, str]] = {
    0x56C0: ("Flex 170", "Data Center Flex"), 0x56C1: ("Flex 140", "Data Center Flex"),
    0x0BD5: ("Max 1550", "Data Center Max"), 0x0BD6: ("Max 1550", "Data Center Max"),
    0x0BD9: ("Max 1100", "Data Center Max"), 0x0BDA: ("Max 1100", "Data Center Max"),
    0x0BDB: ("Max 1100", "Data Center Max"), 0xE211: ("B60", "Arc Pro B-Series"), 0x56A0: ("A770", "Arc A-Series"),
}  # fmt: skip
"""Model and family by PCI device id; the driver says ``Unknown`` for others."""
GAUDI: dict[int, str] = {
    0x1000: "Gaudi", 0x1001: "Gaudi", 0x1010: "Gaudi", 0x1011: "Gaudi", 0x1020: "Gaudi2", 0x1030: "Gaudi3",
    0x1060: "Gaudi3", 0x1061: "Gaudi3", 0x1062: "Gaudi3", 0x1063: "Gaudi3",
}  # fmt: skip
"""Gaudi models by PCI device id."""

GPU = Driver(
    name="gpu.intel.com",
    title="Intel GPUs",
    source="intel/intel-resource-drivers-for-kubernetes",
    forms=(
        DeviceForm(
            "gpu",
            "intel-gpus",
            "{pci.dashes}-{pci.deviceId}",
            (
                Attribute("model", "string", "intel.model"),
                Attribute("family", "string", "intel.family"),
                Attribute("driver", "string", "pci.driver"),
                Attribute("type", "string", "intel.type"),
                Attribute("sriov", "bool", "intel.sriov"),
                Attribute("pciId", "string", "pci.deviceId"),
                Attribute("pciAddress", "string", "pci.address"),
                Attribute("pciRoot", "string", "pci.rootBus"),
                Attribute("health", "string", "=Unknown"),
                replace(PCIE_ROOT, since="0.10"),
                replace(PCI_BUS_ID, since="0.10"),
            ),
            (Capacity("memory", "memory.mebibytes"), Capacity("millicores", "=1k")),
        ),
    ),
    releases=("0.9", "0.10", "0.11"),
    vendors=(0x8086,),
    address=("resource.kubernetes.io/pciBusID", "gpu.intel.com/pciAddress"),
    classes=(
        DeviceClassData("gpu.intel.com", "device.driver == 'gpu.intel.com'", "intel.com/gpu"),
        DeviceClassData("gpu-vfio.intel.com", "device.driver == 'gpu.intel.com'"),
    ),
    plugin_resources=(
        PluginResource("gpu.intel.com/i915", "gpu.intel.com", "device.attributes['gpu.intel.com'].driver == 'i915'"),
        PluginResource("gpu.intel.com/xe", "gpu.intel.com", "device.attributes['gpu.intel.com'].driver == 'xe'"),
        PluginResource("gpu.intel.com/i915_monitoring", "gpu.intel.com", note="adminAccess"),
        PluginResource("gpu.intel.com/xe_monitoring", "gpu.intel.com", note="adminAccess"),
    ),
    daemonset="intel-gpu-resource-driver-kubelet-plugin",
    daemonset_labels=(("app", "intel-gpu-resource-driver"),),
    notes=("health is what the driver's own monitoring says; dractl can not tell and writes Unknown",),
)

GAUDI_DRIVER = Driver(
    name="gaudi.intel.com",
    title="Intel Gaudi accelerators",
    source="intel/intel-resource-drivers-for-kubernetes",
    forms=(
        DeviceForm(
            "gaudi",
            "gaudi",
            "{pci.dashes}-{pci.deviceId}",
            (
                Attribute("model", "string", "gaudi.model"),
                Attribute("serial", "string", "gaudi.serial"),
                Attribute("healthy", "bool", "gaudi.healthy"),
                Attribute("pciRoot", "string", "pci.rootBus"),
                PCIE_ROOT,
            ),
        ),
    ),
    releases=("0.7",),
    vendors=(0x1DA3,),
    classes=(DeviceClassData("gaudi.intel.com", "device.driver == 'gaudi.intel.com'", "intel.com/gaudi"),),
    plugin_resources=(PluginResource("habana.ai/gaudi", "gaudi.intel.com"),),
    daemonset="intel-gaudi-resource-driver-kubelet-plugin",
)

QAT = Driver(
    name="qat.intel.com",
    title="Intel QuickAssist virtual functions",
    source="intel/intel-resource-drivers-for-kubernetes",
    forms=(
        DeviceForm("vf", "qat-functions", "qatvf-{pci.dashes}", (Attribute("services", "string", "qat.services"),)),
    ),
    releases=("0.4",),
    vendors=(0x8086,),
    classes=(DeviceClassData("qat.intel.com", "device.driver == 'qat.intel.com'", "intel.com/qat"),),
    plugin_resources=(PluginResource("qat.intel.com/*", "qat.intel.com", note="by services: sym, asym, dc, dcc"),),
    daemonset="intel-qat-resource-driver-kubelet-plugin",
    daemonset_labels=(("app", "intel-qat-resource-driver"),),
)

DRIVERS = (GPU, GAUDI_DRIVER, QAT)
