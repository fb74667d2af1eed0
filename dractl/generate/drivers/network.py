"""Network: DraNet and SR-IOV. Source: kubernetes-sigs/dranet (August 2026), k8snetworkplumbingwg/dra-driver-sriov."""

from __future__ import annotations

from dataclasses import replace

from dractl.generate.drivers.form import (
    NUMA_NODE,
    PCI_BUS_ID,
    PCIE_ROOT,
    Attribute,
    ConfigKind,
    DeviceClassData,
    DeviceForm,
    Driver,
    PluginResource,
)

SRIOV_NAME = "sriovnetwork.k8snetworkplumbingwg.io"

DRANET = Driver(
    name="dra.net",
    title="DraNet network interfaces",
    source="kubernetes-sigs/dranet",
    forms=(
        DeviceForm(
            "nic",
            "network-functions",
            "pci-{pci.dashes}",
            (
                Attribute("ifName", "string", "net.ifName"),
                Attribute("mac", "string", "net.mac"),
                Attribute("mtu", "int", "net.mtu"),
                Attribute("encapsulation", "string", "net.encapsulation"),
                Attribute("state", "string", "net.state"),
                Attribute("type", "string", "net.type"),
                Attribute("rdma", "bool", "net.rdma"),
                Attribute("rdmaDevice", "string", "net.rdmaDevice"),
                Attribute("sriov", "bool", "net.sriov"),
                Attribute("sriovVfs", "int", "net.sriovVfs"),
                Attribute("isSriovVf", "bool", "net.isSriovVf", since="1.1"),
                Attribute("virtual", "bool", "net.virtual"),
                Attribute("pciAddress", "string", "pci.address"),
                Attribute("pciVendor", "string", "pci.vendorName"),
                Attribute("pciDevice", "string", "pci.deviceName"),
                Attribute("pciSubsystem", "string", "pci.subsystem"),
                Attribute("numaNode", "int", "std.numaNode"),
                PCIE_ROOT,
                replace(NUMA_NODE, since="1.5"),
            ),
        ),
    ),
    releases=("1.0", "1.1", "1.2", "1.3", "1.4", "1.5"),
    address=("dra.net/pciAddress",),
    plugin_resources=(
        PluginResource("rdma/*", "", "device.attributes['dra.net'].rdma == true", note="shared there, exclusive here"),
        PluginResource(
            "vpc.amazonaws.com/efa", "", "device.attributes['dra.net'].rdma == true", note="EFA by pciDevice"
        ),
    ),
    configs=(ConfigKind("", "", (("profile", "text"), ("interface.name", "text"), ("interface.mtu", "int"))),),
    gates=("DRAListTypeAttributes", "PersistentResourceSliceAttributes"),
    daemonset="dranet",
    daemonset_labels=(("k8s-app", "dranet"),),
    notes=(
        "addresses, eBPF programs and cloud attributes are left out: they are not read here",
        "interfaces without a PCI function (bridges, veth) are left out; the driver publishes some of them",
        "numaNode in the standard domain is published after 1.4 only",
    ),
)

SRIOV = Driver(
    name=SRIOV_NAME,
    title="SR-IOV virtual functions",
    source="k8snetworkplumbingwg/dra-driver-sriov",
    forms=(
        DeviceForm(
            "vf",
            "virtual-network-functions",
            "{pci.dashes}",
            (
                Attribute("vendor", "string", "pci.vendorHex"),
                Attribute("deviceID", "string", "pci.deviceHex"),
                Attribute("pfDeviceID", "string", "vf.parentDevice"),
                Attribute("pciAddress", "string", "pci.address"),
                Attribute("PFName", "string", "vf.parentInterface"),
                Attribute("linkType", "string", "vf.linkType"),
                Attribute("pfPciAddress", "string", "vf.parentAddress"),
                Attribute("interfaceName", "string", "net.ifName"),
                Attribute("vfID", "int", "vf.index"),
                Attribute("rdmaCapable", "bool", "net.rdma"),
                Attribute("k8s.cni.cncf.io/deviceID", "string", "pci.address"),
                replace(PCIE_ROOT, fact="vf.parentRoot"),
                PCI_BUS_ID,
                Attribute("dra.net/numaNode", "int", "vf.parentNuma"),
            ),
        ),
    ),
    address=(f"{SRIOV_NAME}/pciAddress",),
    classes=(DeviceClassData(SRIOV_NAME, f"device.driver == '{SRIOV_NAME}'"),),
    plugin_resources=(
        PluginResource("intel.com/intel_sriov_netdevice", SRIOV_NAME, note="by resourceName or PFName"),
        PluginResource("mellanox.com/mlnx_rdma", SRIOV_NAME, note="by resourceName or PFName"),
    ),
    configs=(
        ConfigKind(
            f"{SRIOV_NAME}/v1alpha1",
            "VfConfig",
            (("driver", "text"), ("ifName", "text"), ("netAttachDefName", "text"), ("addVhostMount", "bool")),
        ),
    ),
    notes=(
        "published only where a SriovResourcePolicy selects the function; it adds resourceName and EswitchMode",
        "dra.net/numaNode is published even when it is -1",
    ),
)

DRIVERS = (DRANET, SRIOV)
