"""The machine as firmware and kernel name it, kernel modules, IOMMU groups, and the kernel's log.

Source: Linux Documentation/ABI/testing/sysfs-firmware-dmi-tables, sysfs-kernel-iommu_groups, sysfs-module.
"""

from __future__ import annotations

import re

from dractl.hardware.model import Iommu, Machine, PciFunction, Source, SourceState, Unseen, Why, Xid
from dractl.hardware.readers.tree import Tree

_DMI = ("sys/class/dmi/id", "sys/devices/virtual/dmi/id")
GROUPS = "sys/kernel/iommu_groups"
_VIRTUAL = {
    "qemu": "QEMU",
    "kvm": "KVM",
    "vmware": "VMware",
    "innotek": "VirtualBox",
    "xen": "Xen",
    "bochs": "Bochs",
    "parallels": "Parallels",
    "openstack": "OpenStack",
    "google compute engine": "Google Compute Engine",
    "microsoft corporation virtual": "Hyper-V",
    "alibaba cloud ecs": "Alibaba Cloud",
    "firecracker": "Firecracker",
    "cloud-hypervisor": "Cloud Hypervisor",
    "amazon ec2": "Amazon EC2",
    "bhyve": "bhyve",
}
"""Words of DMI's vendor and product, in lower case. Bare metal of a cloud says so in its product name."""
MODULES = (
    "nvidia", "nvidia_uvm", "nvidia_peermem", "nvidia_fs", "gdrdrv", "nouveau", "amdgpu", "i915", "xe", "habanalabs",
    "neuron", "vfio_pci", "mlx5_core", "mlx5_ib", "ib_core", "irdma", "bnxt_re", "efa", "gve", "ice", "xocl", "dfl",
    "cxl_core", "ve_drv", "kvm",
)  # fmt: skip
_MEMORY_OPTIONS = ("iommu", "intel_iommu", "amd_iommu", "iommu.passthrough", "iommu.strict", "pcie_acs_override", "pci")
_XID = re.compile(r"NVRM: Xid \(PCI:([0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2})(?:\.[0-7])?\): (\d{1,4}),?\s*(.*)")
_MEMORY = re.compile(r"^MemTotal:\s+(\d{1,18})\s*kB", re.MULTILINE)
_LOGS = ("dev/kmsg", "var/log/dmesg")


def read_machine(tree: Tree, flags: frozenset[str]) -> Machine:
    """Names of the machine; ``flags`` are the processor's, which tell a guest."""
    dmi = next((path for path in _DMI if tree.root.exists(path)), _DMI[0])
    model = tree.text("proc/device-tree/model") or tree.text("sys/firmware/devicetree/base/model")
    machine = Machine(
        hostname=tree.text("proc/sys/kernel/hostname"),
        vendor=tree.text(f"{dmi}/sys_vendor"),
        product=tree.text(f"{dmi}/product_name") or model.rstrip("\0"),
        board=" ".join(part for part in (tree.text(f"{dmi}/board_vendor"), tree.text(f"{dmi}/board_name")) if part),
        memory=_memory(tree.root.text("proc/meminfo")),
        kernel=_kernel(tree),
        iommu_options=_iommu_options(tree.text("proc/cmdline")),
    )
    machine.virtual = _virtual(tree, machine, flags)
    return machine


def _memory(text: str | Unseen) -> int | None:
    match = _MEMORY.search(text) if isinstance(text, str) else None
    return int(match[1]) * 1024 if match else None


def _kernel(tree: Tree) -> str:
    release = tree.text("proc/sys/kernel/osrelease")
    if release:
        return release
    words = tree.text("proc/version").split()
    return words[2] if len(words) > 2 and words[0] == "Linux" else ""


def _iommu_options(line: str) -> list[str]:
    """Only what concerns the IOMMU: a command line may hold secrets."""
    return [word for word in line.split() if word.partition("=")[0] in _MEMORY_OPTIONS and "iommu" in word + "acs"]


def _virtual(tree: Tree, machine: Machine, flags: frozenset[str]) -> str:
    if "metal" in machine.product.lower():
        return ""
    words = f"{machine.vendor} {machine.product}".lower()
    for word, name in _VIRTUAL.items():
        if word in words:
            return f"{name} (DMI: {machine.vendor or machine.product})"
    hypervisor = tree.text("sys/hypervisor/type")
    if hypervisor and "hypervisor" in flags:
        return f"{hypervisor} (/sys/hypervisor)"
    if "hypervisor" in flags:
        return "unknown hypervisor (the processor says it runs a guest)"
    return ""


def read_container(tree: Tree) -> str:
    """What kind of container this root is the root of."""
    if tree.root.exists(".dockerenv"):
        return "docker"
    if tree.root.exists("run/.containerenv"):
        return "podman"
    if tree.root.exists("var/run/secrets/kubernetes.io/serviceaccount"):
        return "kubernetes"
    return ""


def read_modules(tree: Tree) -> dict[str, str]:
    """Loaded kernel modules that matter here, with their versions."""
    return {name: tree.text(f"sys/module/{name}/version") for name in MODULES if tree.root.exists(f"sys/module/{name}")}


# --- IOMMU ----------------------------------------------------------------------------------------------------------


def read_iommu(tree: Tree, functions: dict[str, PciFunction]) -> tuple[Iommu, Source]:
    """Groups with all their functions, from /sys/kernel/iommu_groups and from the functions' links."""
    iommu = Iommu(units=tree.names("sys/class/iommu"))
    names = tree.root.names(GROUPS)
    for group in names if isinstance(names, list) else []:
        members = tree.names(f"{GROUPS}/{group}/devices")
        if members:
            iommu.groups[group] = members
            iommu.types[group] = tree.text(f"{GROUPS}/{group}/type")
            for member in members:
                function = functions.get(member)
                if function is not None and function.iommu_group is None:
                    function.iommu_group = group
    for function in functions.values():
        if function.iommu_group is not None:
            members = iommu.groups.setdefault(function.iommu_group, [])
            if function.address not in members:
                members.append(function.address)
    if iommu.groups:
        iommu.on = True
        return iommu, Source("iommu", SourceState.READ, f"{len(iommu.groups)} groups")
    if isinstance(names, list):
        iommu.on = False
        iommu.reason = "no IOMMU group exists: the IOMMU is off (firmware or kernel option) or the machine has none"
        return iommu, Source("iommu", SourceState.READ, "off or none: there is no group")
    iommu.reason = "/sys/kernel/iommu_groups is not there: " + (
        names.reason if isinstance(names, Unseen) and names.why is not Why.ABSENT else "can not be told from this tree"
    )
    return iommu, Source("iommu", SourceState.ABSENT, iommu.reason)


# --- kernel log -----------------------------------------------------------------------------------------------------


def read_xids(tree: Tree) -> tuple[list[Xid], Source]:
    """NVIDIA driver errors (Xid) in the kernel's log of this boot."""
    for path in _LOGS:
        text = tree.root.log(path)
        if isinstance(text, str):
            found = [
                Xid(_function_zero(match[1]), int(match[2]), match[3].strip()[:200]) for match in _XID.finditer(text)
            ]
            return found, Source("kernel-log", SourceState.READ, f"/{path}: {len(found)} Xid")
        if text.why is Why.DENIED:
            return [], Source(
                "kernel-log", SourceState.ABSENT, "the kernel's log is for root", "run as root to see Xid errors"
            )
    return [], Source("kernel-log", SourceState.ABSENT, "no kernel log is visible here")


def _function_zero(address: str) -> str:
    """``0000:17:00`` of the log as a PCI address; an eight-digit domain is shortened when it can be."""
    domain, bus, device = address.lower().split(":")
    return f"{int(domain, 16):04x}:{bus}:{device}.0"
