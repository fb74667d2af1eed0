"""Other accelerators: Google TPU, AWS Neuron, Rebellions, Furiosa, Hygon, Tenstorrent.

Sources: kubernetes-sigs/dra-driver-google-tpu, AWS Neuron's documentation, RBLN-SW/rbln-k8s-dra-driver, Furiosa's
documentation, HYGON-AI/k8s-hcu-dra-driver, tenstorrent/tt-dra-driver (2026).
"""

from __future__ import annotations

from dractl.generate.drivers.form import (
    NUMA_NODE,
    PCI_BUS_ID,
    PCIE_ROOT,
    Attribute,
    Capacity,
    DeviceClassData,
    DeviceForm,
    Driver,
    PluginResource,
)

TPU_GENERATIONS: dict[int, str] = {0x0027: "v3", 0x005E: "v4", 0x0063: "v5lite", 0x0062: "v5p", 0x006F: "v6e"}
"""tpuGen by PCI device id."""

TPU = Driver(
    name="tpu.google.com",
    title="Google TPUs",
    source="kubernetes-sigs/dra-driver-google-tpu",
    forms=(
        DeviceForm(
            "tpu",
            "tpus",
            "{tpu.file}",
            (
                Attribute("index", "int", "tpu.index"),
                Attribute("tpuGen", "string", "tpu.generation"),
                Attribute("brand", "string", "=Google"),
                Attribute("chipCount", "int", "tpu.count"),
            ),
        ),
    ),
    vendors=(0x1AE0,),
    classes=(DeviceClassData("tpu.google.com", "device.driver == 'tpu.google.com'"),),
    plugin_resources=(PluginResource("google.com/tpu", "tpu.google.com"),),
    notes=("uuid, accelerator and topology come from the node's name and labels; dractl does not know them",),
)

NEURON = Driver(
    name="neuron.aws.com",
    title="AWS Neuron devices",
    source="AWS Neuron documentation",
    forms=(
        DeviceForm(
            "neuron_device",
            "neuron-devices",
            "neurondevice{neuron.index}",
            (
                Attribute("deviceId", "int", "neuron.index"),
                Attribute("instanceType", "string", "neuron.instanceType"),
                Attribute("neuronDriverVersion", "string", "neuron.driverVersion"),
                Attribute("resourceType", "string", "=neuron_device"),
            ),
        ),
    ),
    vendors=(0x1D0F,),
    classes=(DeviceClassData("neuron.aws.com", "device.driver == 'neuron.aws.com'"),),
    plugin_resources=(
        PluginResource("aws.amazon.com/neuron", "neuron.aws.com"),
        PluginResource("aws.amazon.com/neurondevice", "neuron.aws.com"),
    ),
    notes=(
        "network layers, positions in the topology and device groups come from the cloud; dractl does not know them",
    ),
)

REBELLIONS = Driver(
    name="npu.rebellions.ai",
    title="Rebellions NPUs",
    source="RBLN-SW/rbln-k8s-dra-driver",
    forms=(
        DeviceForm(
            "npu",
            "rebellions",
            "npu-{pci.dashes}",
            (
                Attribute("type", "string", "=npu"),
                Attribute("productName", "string", "pci.deviceName"),
                Attribute("pciDeviceID", "string", "pci.deviceHex"),
                PCI_BUS_ID,
                PCIE_ROOT,
                NUMA_NODE,
            ),
        ),
    ),
    vendors=(0x1EFF,),
    address=("resource.kubernetes.io/pciBusID",),
    classes=(DeviceClassData("npu.rebellions.ai", "device.driver == 'npu.rebellions.ai'", "rebellions.ai/npu"),),
    plugin_resources=(PluginResource("rebellions.ai/npu", "npu.rebellions.ai"),),
    notes=("names, uuid, sid, versions and memory come from the vendor's tool; names here are made from addresses",),
)

FURIOSA = Driver(
    name="npu.furiosa.ai",
    title="Furiosa NPUs",
    source="Furiosa's documentation",
    forms=(DeviceForm("npu", "furiosa", "npu{device.number}", ()),),
    vendors=(0x1ED2,),
    classes=(DeviceClassData("npu.furiosa.ai", "device.driver == 'npu.furiosa.ai'"),),
    plugin_resources=(PluginResource("furiosa.ai/rngd", "npu.furiosa.ai"),),
    notes=("the names of its attributes are not public, uuid aside; they are left out",),
)

HYGON = Driver(
    name="dra.hygon.com",
    title="Hygon accelerators",
    source="HYGON-AI/k8s-hcu-dra-driver",
    forms=(
        DeviceForm(
            "hcu",
            "hygon",
            "hcu-{pci.dashes}",
            (Attribute("type", "string", "=hcu"), Attribute("productName", "string", "pci.deviceName")),
            (Capacity("slices", "=4", default="1", minimum="1", step="1"),),
            shared=True,
        ),
    ),
    vendors=(0x1D94,),
    classes=(),
    notes=("uuid, brand, cores and memory come from the vendor's library; they are left out",),
)

TENSTORRENT = Driver(
    name="tenstorrent.com",
    title="Tenstorrent cards",
    source="tenstorrent/tt-dra-driver",
    forms=(
        DeviceForm(
            "chip",
            "tenstorrent",
            "tt-{device.number}",
            (Attribute("chipID", "int", "device.number"), Attribute("pciAddress", "string", "pci.address")),
        ),
    ),
    vendors=(0x1E52,),
    address=("tenstorrent.com/pciAddress",),
    notes=("board, chip and tray come from the vendor's library; they are left out",),
)

DRIVERS = (TPU, NEURON, REBELLIONS, FURIOSA, HYGON, TENSTORRENT)
