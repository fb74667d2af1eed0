"""DRA6xx: the hardware of a host, and where it differs from what is published.

601 to 639 are what ``dractl discover`` finds on a host, 640 to 659 what it finds when it compares the host with the
ResourceSlices of its node.
"""

from __future__ import annotations

from dractl.rules.finding import Rule, Severity

_SYSFS = "Linux Documentation/ABI/testing/sysfs-bus-pci"
_NVML = "NVIDIA NVML API reference"
_XID = "https://docs.nvidia.com/deploy/xid-errors/"
_VFIO = "Linux Documentation/driver-api/vfio.rst"
_STANDARD = "https://github.com/kubernetes/enhancements/issues/4381 (standard device attributes)"

PCI_HIDDEN = Rule(
    "DRA601",
    "pci-not-visible",
    "The PCI bus is not visible",
    Severity.WARNING,
    "/sys/bus/pci does not exist below the root that was read, mostly because dractl runs in a container with a /sys "
    "of "
    "its own. Address, NUMA node, PCIe root, link, IOMMU group and kernel driver of devices can not be told then; that "
    "NVML answers does not help.",
    "Mount the host's /sys read-only into the container, for example at /host/sys, and run with --root /host.",
    "a pod without hostPath mounts in which nvidia-smi works",
    _SYSFS,
)
NUMA_UNKNOWN = Rule(
    "DRA602",
    "numa-node-unknown",
    "A device without a NUMA node on a machine with several",
    Severity.WARNING,
    "numa_node reads -1: the firmware's tables do not place the device's root bus. It is not on node 0 and not on a "
    "node "
    "-1. A driver must not publish resource.kubernetes.io/numaNode for it, and constraints on that attribute never "
    "match.",
    "Update the firmware, or set the locality in its setup (NPS, SNC); do not write numa_node by hand.",
    "numa_node -1 beside two nodes in /sys/devices/system/node",
    _STANDARD,
)
FLAT_TOPOLOGY = Rule(
    "DRA603",
    "flat-virtual-machine",
    "A virtual machine that hides where its devices are",
    Severity.INFO,
    "All devices hang directly on one emulated root bus. Their common PCIe root says nothing about their distance on "
    "the "
    "host: a constraint on pcieRoot always holds here and means nothing, and so would any distance drawn from it.",
    "Let the hypervisor expose the host's layout (PCIe expander buses with NUMA nodes), or use a provider's own "
    "attributes.",
    "GPU and NIC at 0000:00:05.0 and 0000:00:08.0 of pci0000:00, numa_node -1",
)
BOUND_TO_VFIO = Rule(
    "DRA604",
    "bound-to-vfio",
    "A device is bound to vfio-pci",
    Severity.INFO,
    "The kernel driver of a vendor does not see it: no container can use it, only a virtual machine.",
    "For containers bind it to its vendor's driver again; else publish it as a device for virtual machines (vfio).",
    "driver -> ../../../../bus/pci/drivers/vfio-pci",
    _VFIO,
)
GROUP_NOT_VIABLE = Rule(
    "DRA605",
    "iommu-group-not-viable",
    "An IOMMU group is split between vfio and the host",
    Severity.ERROR,
    "A virtual machine can open a device only if every function of its IOMMU group is bound to vfio-pci or to no "
    "driver. "
    "Another function of the group still has a driver of the host, so that opening the group fails.",
    "Bind the other function to vfio-pci too, or unbind it from its driver.",
    "GPU 86:00.0 with vfio-pci, its audio function 86:00.1 with snd_hda_intel, both in group 6",
    _VFIO,
)
IOMMU_OFF = Rule(
    "DRA606",
    "iommu-off",
    "vfio-pci without an IOMMU",
    Severity.ERROR,
    "A device is bound to vfio-pci and there is no IOMMU group: the IOMMU is off in the firmware or by a kernel "
    "option. "
    "A virtual machine can not be given the device safely, and drivers that prepare it for one refuse.",
    "Turn VT-d or AMD-Vi on in the firmware and boot with intel_iommu=on or without amd_iommu=off.",
    "/sys/kernel/iommu_groups is empty",
    _VFIO,
)
NO_DRIVER = Rule(
    "DRA607",
    "no-kernel-driver",
    "An accelerator without a kernel driver",
    Severity.WARNING,
    "No kernel driver is bound, so that nothing on the machine can use the device and no DRA driver will publish it.",
    "Install and load the vendor's kernel module; look into the kernel's log for why it did not bind.",
    "no link 'driver' in /sys/bus/pci/devices/<address>",
    _SYSFS,
)
LINK_NARROW = Rule(
    "DRA608",
    "link-narrow",
    "A PCIe link runs with fewer lanes than it could",
    Severity.WARNING,
    "Fewer lanes were trained than device and slot support: dirt, a badly seated card, a riser, or a slot that shares "
    "its lanes. Bandwidth falls in proportion, and the width does not come back by itself.",
    "Reseat the card, try another slot, update the firmware; until then taint the device for bandwidth-bound work.",
    "current_link_width 8, max_link_width 16",
    _SYSFS,
)
LINK_SLOW = Rule(
    "DRA609",
    "link-slow",
    "A PCIe link runs slower than it could",
    Severity.INFO,
    "The link runs at a lower rate than both ends support. Idle GPUs do that on purpose and go up under load; a NIC or "
    "a disk that does it is limited by its slot or has trained badly.",
    "Look again under load; else check slot, riser and firmware.",
    "current_link_speed 8.0 GT/s, max_link_speed 32.0 GT/s on a NIC",
    _SYSFS,
)
NO_ANSWER = Rule(
    "DRA610",
    "device-does-not-answer",
    "A device does not answer on the bus",
    Severity.ERROR,
    "Its configuration space reads all ones: the kernel still lists the function, and nothing is there. With NVIDIA "
    "GPUs "
    "that is what Xid 79 (fallen off the bus) stands for.",
    "Take the device out of service (taint it, drain the node), reset or reboot; reseat or replace it when it comes "
    "back.",
    "the first 64 bytes of config are ff",
    _XID,
)
GPU_LOST = Rule(
    "DRA611",
    "gpu-lost",
    "NVML has lost a GPU",
    Severity.ERROR,
    "NVML answers GPU_IS_LOST: the GPU has fallen off the bus or needs a reset. Work on it fails, and nothing new can "
    "start there. If it is still in a ResourceSlice it must be tainted or removed.",
    "Taint the device or drain the node, then reset the GPU or reboot; reseat or replace it if it comes back.",
    "nvmlDeviceGetHandleByIndex: NVML_ERROR_GPU_IS_LOST",
    _XID,
)
NOT_IN_NVML = Rule(
    "DRA612",
    "gpu-not-in-nvml",
    "A GPU on the bus that NVML does not know",
    Severity.ERROR,
    "The nvidia driver is bound to the function, and NVML does not list it: the driver failed to initialise it, or "
    "this "
    "process (a container) was given only some of the GPUs.",
    "Look for 'RmInitAdapter failed' in the kernel's log; in a container ask for all GPUs "
    "(NVIDIA_VISIBLE_DEVICES=all).",
    "8 functions of class 0302 with driver nvidia, nvmlDeviceGetCount 7",
    _NVML,
)
VERSION_MISMATCH = Rule(
    "DRA613",
    "driver-library-mismatch",
    "NVIDIA's library does not match the loaded driver",
    Severity.ERROR,
    "libnvidia-ml is of another version than the kernel module, mostly after an update without a reboot. nvidia-smi, "
    "the "
    "device plugin and the DRA driver all fail until both agree.",
    "Reboot, or unload and load the nvidia modules; in a container give it the libraries of the host's driver.",
    "nvmlInit: NVML_ERROR_LIB_RM_VERSION_MISMATCH",
    _NVML,
)
XID = Rule(
    "DRA614",
    "xid",
    "The NVIDIA driver reported an Xid error",
    Severity.WARNING,
    "The driver writes an Xid when a GPU, its memory, its links or a program on it fails. 13, 31, 43, 45, 68 and 109 "
    "are "
    "mostly the program's own; 48, 63, 64, 74, 79, 94, 95, 119 and 120 point to the hardware or the driver.",
    "Look the number up in NVIDIA's catalogue; for those of the hardware drain the node and reset the GPU.",
    "NVRM: Xid (PCI:0000:17:00): 79, GPU has fallen off the bus.",
    _XID,
)
ECC = Rule(
    "DRA615",
    "ecc-errors",
    "Uncorrected memory errors on a GPU",
    Severity.ERROR,
    "Uncorrected ECC errors since the driver was loaded, or rows that wait to be or could not be remapped. Results may "
    "be wrong or programs be killed until the GPU is reset; a failed remapping means a replacement.",
    "Drain the node and reset the GPU; replace it if remapping failed or errors return.",
    "nvmlDeviceGetTotalEccErrors (uncorrected, volatile): 3",
    _NVML,
)
MIG_EMPTY = Rule(
    "DRA616",
    "mig-without-instances",
    "MIG is on and nothing has been made of it",
    Severity.WARNING,
    "The GPU is in MIG mode and has no instances: it can be used neither whole nor in part. The NVIDIA DRA driver "
    "(without DynamicMIG) leaves it out since 25.12; the device plugin with strategy single does not start on such a "
    "node, with strategy mixed it leaves the GPU out (older releases fail too).",
    "Create GPU and compute instances (nvidia-smi mig -cgi PROFILE -C), or switch MIG off (nvidia-smi -i N -mig 0).",
    "MIG mode current 1, no MIG device",
    _NVML,
)
MIG_PENDING = Rule(
    "DRA617",
    "mig-change-pending",
    "A change of MIG mode waits for a reset",
    Severity.WARNING,
    "Current and pending MIG mode differ: the change takes effect when the GPU is reset, which needs it to be free.",
    "Stop what runs on the GPU and reset it (nvidia-smi -i N --gpu-reset), or reboot the node.",
    "MIG mode current 0, pending 1",
    _NVML,
)
NO_CARRIER = Rule(
    "DRA618",
    "no-carrier",
    "A network port without a carrier",
    Severity.INFO,
    "The interface has no link: no cable, a switch port that is off, or another setting of speed at the other end.",
    "Check cable, transceiver and switch port; leave the port out of what is published if it is not meant to be used.",
    "carrier 0",
    "Linux Documentation/ABI/testing/sysfs-class-net",
)
RDMA_WITHOUT_NETDEV = Rule(
    "DRA619",
    "rdma-without-netdev",
    "An RDMA device without a network interface here",
    Severity.INFO,
    "Its interface is in another network namespace (a pod has it), is not made (InfiniBand without IPoIB), or never "
    "existed (EFA). A driver that looks for interfaces does not find the device now.",
    "If no pod is meant to have it, look for the interface with 'rdma link' and 'ip netns'.",
    "infiniband/mlx5_3 in the function's folder and no net/",
)
RDMA_PORT_DOWN = Rule(
    "DRA620",
    "rdma-port-down",
    "An RDMA port is not active",
    Severity.WARNING,
    "The port is not in state ACTIVE: no link, or on InfiniBand no subnet manager answered (state INIT).",
    "Check cable and switch; on InfiniBand check that a subnet manager runs.",
    "ports/1/state: 1: DOWN",
    "Linux Documentation/ABI/stable/sysfs-class-infiniband",
)
ACS_ON = Rule(
    "DRA621",
    "acs-between-peers",
    "ACS sends traffic between neighbours through the CPU",
    Severity.WARNING,
    "A switch port between the GPU and the NIC has P2P request or completion redirect on: what the two exchange goes "
    "up "
    "to the root complex and back, although they share a switch. GPUDirect RDMA gets much slower.",
    "Turn ACS off on those ports (setpci, or the firmware's setup) where devices are not passed to virtual machines.",
    "ACSCtl: ReqRedir+ CmpltRedir+",
    "PCI Express Base Specification 7.7.11",
)
NO_VIRTUAL_FUNCTIONS = Rule(
    "DRA622",
    "no-virtual-functions",
    "A port that can do SR-IOV has no virtual functions",
    Severity.INFO,
    "sriov_numvfs is 0: a driver or plugin that hands out virtual functions finds nothing on this port. They have to "
    "be "
    "created, and anew after each boot.",
    "echo N > /sys/bus/pci/devices/<address>/sriov_numvfs, or let the SR-IOV operator do it.",
    "sriov_totalvfs 64, sriov_numvfs 0",
    _SYSFS,
)
PCIE_ERRORS = Rule(
    "DRA623",
    "pcie-errors",
    "PCIe errors were counted",
    Severity.WARNING,
    "The kernel counted uncorrectable (fatal or non-fatal) errors, or very many corrected ones, on the link of the "
    "device.",
    "Reseat the card, check riser and cable; look into the kernel's log for 'AER'.",
    "aer_dev_fatal: TOTAL_ERR_FATAL 2",
    "Linux Documentation/PCI/pcieaer-howto.rst",
)
ROOT_IS_NOT_SWITCH = Rule(
    "DRA624",
    "root-wider-than-switch",
    "One PCIe root above several switches",
    Severity.INFO,
    "Devices under different switches (or root ports) report the same pcieRoot. A constraint on pcieRoot holds for "
    "near "
    "and far pairs alike here: a shared pcieRoot does not mean a shared switch.",
    "Choose the pair by hand (see the matrix), or use a driver that publishes a closer attribute.",
    "GPU 43 and NIC 44 on one switch, GPU 47 and NIC 48 on another, all under pci0000:40",
    _STANDARD,
)
MALFORMED = Rule(
    "DRA625",
    "malformed-file",
    "A file of the tree does not hold what it should",
    Severity.WARNING,
    "A number is no number, a link leads in a circle, a folder is named like nothing that belongs there: a damaged or "
    "made-up capture, or a kernel bug. What depends on it is reported as unknown.",
    "Capture the tree anew; on a live machine report the file to the kernel's or driver's maintainers.",
    "numa_node holds 'abc'",
)
UNSAFE_ARCHIVE = Rule(
    "DRA626",
    "unsafe-archive",
    "An archive with entries that lead outside",
    Severity.WARNING,
    "Names with '..' would be written outside of the folder that an archive is unpacked in. dractl unpacks nothing and "
    "left these entries out; other programs may not.",
    "Do not unpack the archive; ask where it comes from.",
    "../../etc/cron.d/x",
)
NVML_FAILED = Rule(
    "DRA627",
    "nvml-failed",
    "NVML or one of its calls failed",
    Severity.WARNING,
    "NVML is there and did not give an answer that it should have: what depends on it is unknown, which is not the "
    "same "
    "as absent.",
    "Run nvidia-smi -q on the node and look into the kernel's log for NVRM.",
    "nvmlDeviceGetMemoryInfo: NVML_ERROR_UNKNOWN",
    _NVML,
)
NVIDIA_NOT_LOADED = Rule(
    "DRA628",
    "nvidia-driver-not-loaded",
    "NVIDIA GPUs and no NVIDIA driver",
    Severity.WARNING,
    "There are NVIDIA GPUs on the bus that are not given to virtual machines, and the nvidia kernel module is not "
    "loaded "
    "(or nouveau has them): neither the device plugin nor the DRA driver can use them.",
    "Install the driver (or let the GPU operator do it), blacklist nouveau, and look why the module does not load.",
    "nvmlInit: NVML_ERROR_DRIVER_NOT_LOADED",
    _NVML,
)
LONG_DOMAIN = Rule(
    "DRA629",
    "pci-domain-too-long",
    "A PCI domain that Kubernetes' helper refuses",
    Severity.INFO,
    "The domain has more than four digits (Intel VMD, Hyper-V). Kubernetes' helper for the standard attributes accepts "
    "four digits only, so that a driver publishes neither pcieRoot nor pciBusID for the device.",
    "Turn VMD off for the slot if the device is meant to be matched by its root.",
    "10000:00:04.0: invalid PCI Bus ID format",
    _STANDARD,
)
RECOVERY = Rule(
    "DRA630",
    "gpu-wants-recovery",
    "The driver asks for a reset or reboot",
    Severity.ERROR,
    "NVML's recovery action is not 'none': the driver has seen a fault that only a reset, a reboot or draining "
    "resolves.",
    "Drain the node and do what it asks for.",
    "NVML_FI_DEV_GET_GPU_RECOVERY_ACTION: reset",
    _NVML,
)
NVLINK_DOWN = Rule(
    "DRA631",
    "nvlink-down",
    "NVLinks are down",
    Severity.WARNING,
    "A GPU has fewer active NVLinks than its neighbours of the same product: collective operations run slower or fail.",
    "Check the fabric manager (systemctl status nvidia-fabricmanager) and look for Xid 74; reset the GPUs together.",
    "16 of 18 links active",
    _NVML,
)
SOURCE_FAILED = Rule(
    "DRA632",
    "source-failed",
    "A source could not be read",
    Severity.WARNING,
    "A source is there and reading it failed; what it would have told is unknown.",
    "See the reason beside the source; run as root, or capture again.",
)
MEMORY_ONLY_NODE = Rule(
    "DRA633",
    "memory-only-numa-node",
    "A memory-only NUMA node without a known owner",
    Severity.INFO,
    "A NUMA node has memory and no CPU, and nothing says whose memory it is: CXL, high bandwidth memory or a GPU's "
    "own. "
    "Programs may be given it by the kernel without knowing.",
    "Keep it out of ordinary allocations (cpuset.mems, a movable zone) if it is a device's memory.",
    "node2: MemTotal 256 GiB, cpulist empty",
    "Linux Documentation/admin-guide/mm/numaperf.rst",
)

DEVICE_FAULT = Rule(
    "DRA634",
    "accelerator-fault",
    "An accelerator's driver reports a fault",
    Severity.ERROR,
    "The driver's own status of the device is not that of a working one: it is in reset, has malfunctioned or needs a "
    "reset. Work on it fails.",
    "Look into the kernel's log for the driver's messages; reset the device or reboot the node.",
    "/sys/class/accel/accel5/device/status: Malfunction",
    "Linux Documentation/ABI/testing/sysfs-driver-habanalabs",
)

NOT_PUBLISHED = Rule(
    "DRA640",
    "hardware-not-published",
    "Hardware that no ResourceSlice shows",
    Severity.WARNING,
    "The device is on the node and a driver that publishes on this node does not list it: the driver failed on it, was "
    "told to leave it out, or its slice is stale.",
    "Read the driver's log on the node for the device; restart its pod if it started before the device was ready.",
    "GPU 0000:43:00.0 on the bus, seven devices in gpu.nvidia.com's slice",
    reference="ResourceSlice against sysfs and NVML, as dractl discover --compare",
    needs=("ResourceSlice",),
)
PUBLISHED_WITHOUT_HARDWARE = Rule(
    "DRA641",
    "published-without-hardware",
    "A published device that the node does not have",
    Severity.ERROR,
    "A ResourceSlice lists a device that is not there (any more): pods can be given it and fail when it is prepared.",
    "Restart the driver's pod on the node so that it publishes anew; if the driver is gone, delete the slice.",
    "gpu-7 with pciBusID 0000:df:00.0, no such function",
    reference="ResourceSlice against sysfs and NVML, as dractl discover --compare",
    needs=("ResourceSlice",),
)
ATTRIBUTE_DIFFERS = Rule(
    "DRA642",
    "published-value-differs",
    "A published value is not the hardware's",
    Severity.WARNING,
    "Memory, driver version, NUMA node, PCIe root or another value of the slice differs from what the host says now: "
    "the driver published before a change, or reads it in another way. Selectors decide by the published value.",
    "Restart the driver's pod after changes of driver, firmware or MIG; compare versions without leading zeros.",
    "driverVersion 570.86.15 published, 580.105.8 loaded",
    reference="ResourceSlice against sysfs and NVML, as dractl discover --compare",
    needs=("ResourceSlice",),
)
MIG_DRIFT = Rule(
    "DRA643",
    "mig-drift",
    "MIG on the node and in the slices differ",
    Severity.ERROR,
    "The slices show a whole GPU that is in MIG mode, or MIG devices that do not exist (any more), or leave out some "
    "that "
    "do. Claims get devices that can not be prepared.",
    "Do not change MIG by hand under a running driver; restart the driver's pod after a change.",
    "gpu-0 published as a whole, MIG mode is on",
    reference="ResourceSlice against sysfs and NVML, as dractl discover --compare",
    needs=("ResourceSlice",),
)
VFIO_PUBLISHED = Rule(
    "DRA644",
    "vfio-published-as-gpu",
    "A device with vfio-pci is published for containers",
    Severity.ERROR,
    "The function is bound to vfio-pci, and the slice shows it as a device for containers: preparing it fails.",
    "Publish it as a device for virtual machines, or bind it to its vendor's driver and restart the driver's pod.",
    "gpu-0 of type gpu, driver vfio-pci",
    reference="ResourceSlice against sysfs and NVML, as dractl discover --compare",
    needs=("ResourceSlice",),
)
DEGRADED_PUBLISHED = Rule(
    "DRA645",
    "degraded-published",
    "A degraded device is published without a taint",
    Severity.WARNING,
    "The host shows a fault of the device (lost, no answer, narrow link, uncorrected memory errors), and its published "
    "form has no taint: the scheduler goes on giving it out.",
    "Taint it with a DeviceTaintRule until it is repaired, or let the driver's health monitoring do it.",
    "gpu-3 at x8 of x16, no taint",
    reference="ResourceSlice against sysfs and NVML, as dractl discover --compare",
    needs=("ResourceSlice",),
)
PLUGIN_TOO = Rule(
    "DRA646",
    "device-plugin-too",
    "A device plugin advertises the same devices",
    Severity.ERROR,
    "The node's allocatable has the extended resource of a device plugin while a DRA driver publishes the same "
    "hardware: "
    "both hand out the same devices and know nothing of each other.",
    "Run one of the two on a node (node selectors, or the operator's switch for the plugin).",
    "allocatable nvidia.com/gpu: 8, slices of gpu.nvidia.com with 8 GPUs",
    needs=("ResourceSlice", "Node"),
)
NO_SLICES = Rule(
    "DRA647",
    "no-driver-publishes",
    "Hardware of a kind that no driver publishes on the node",
    Severity.WARNING,
    "The node has devices for which a DRA driver is known, and no slice of that driver names the node: the driver is "
    "not "
    "installed, its pod does not run here (labels, taints), or it has not published yet.",
    "Check the driver's DaemonSet and the labels that it selects nodes by.",
    "8 H100, no slice of gpu.nvidia.com for the node",
    reference="ResourceSlice against sysfs and NVML, as dractl discover --compare",
    needs=("ResourceSlice",),
)
FAULT_ON_NODE = Rule(
    "DRA648",
    "node-reports-fault",
    "A node agent reports hardware that is not well",
    Severity.WARNING,
    "What dractl discover finds wrong on the node itself: devices that do not answer, narrow links, missing kernel "
    "drivers. Each of these has a code of its own.",
    "Run dractl discover on the node for the details; dractl explain CODE tells what a code means.",
    "h100-1: DRA610 GPU3 does not answer on the bus",
    "dractl generate node-agent",
)
NO_NODE_REPORT = Rule(
    "DRA649",
    "no-node-report",
    "A node with devices has no report of its hardware",
    Severity.INFO,
    "No node agent runs on the node, or its answer did not come through the API server in time.",
    "dractl generate node-agent writes the DaemonSet; see its pods, and whether the NetworkPolicy lets the API server "
    "in.",
    "h100-7: the agent did not answer in 10 s",
    "GET /api/v1/namespaces/NS/pods/NAME/proxy/report",
)

RULES: tuple[Rule, ...] = (
    PCI_HIDDEN, NUMA_UNKNOWN, FLAT_TOPOLOGY, BOUND_TO_VFIO, GROUP_NOT_VIABLE, IOMMU_OFF, NO_DRIVER, LINK_NARROW,
    LINK_SLOW, NO_ANSWER, GPU_LOST, NOT_IN_NVML, VERSION_MISMATCH, XID, ECC, MIG_EMPTY, MIG_PENDING, NO_CARRIER,
    RDMA_WITHOUT_NETDEV, RDMA_PORT_DOWN, ACS_ON, NO_VIRTUAL_FUNCTIONS, PCIE_ERRORS, ROOT_IS_NOT_SWITCH, MALFORMED,
    UNSAFE_ARCHIVE, NVML_FAILED, NVIDIA_NOT_LOADED, LONG_DOMAIN, RECOVERY, NVLINK_DOWN, SOURCE_FAILED, MEMORY_ONLY_NODE,
    DEVICE_FAULT,
    NOT_PUBLISHED, PUBLISHED_WITHOUT_HARDWARE, ATTRIBUTE_DIFFERS, MIG_DRIFT, VFIO_PUBLISHED, DEGRADED_PUBLISHED,
    PLUGIN_TOO, NO_SLICES, FAULT_ON_NODE, NO_NODE_REPORT,
)  # fmt: skip
