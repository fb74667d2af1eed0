"""Accelerators by the classes that their drivers register: Habana, TPU and others in accel; Neuron; NEC; FPGAs; QAT.

Source: Linux Documentation/accel, ABI/testing/sysfs-driver-habanalabs, sysfs-driver-qat, sysfs-class-fpga-region; the
vendors' manuals for Neuron and the vector engine. Every file is optional.
"""

from __future__ import annotations

import re

from dractl.hardware.model import Details, PciFunction, Source, SourceState, Unseen
from dractl.hardware.readers.amd import drm_numbers
from dractl.hardware.readers.pci import DEVICES
from dractl.hardware.readers.tree import ADDRESS, Tree, natural

_HABANA = 0x1DA3
_INTEL = 0x8086
_HABANA_FILES = {
    "device_type": "type", "status": "status", "cpucp_ver": "firmware", "fw_os_ver": "firmwareOs",
    "driver_ver": "driverVersion", "serial": "serial", "infineon_ver": "", "parent_device": "parent",
    "security_enabled": "secured", "module_id": "module",
}  # fmt: skip
_VE_FILES = {
    "model": "model", "type": "type", "num_of_core": "cores", "memory_size": "memoryGib", "fw_version": "firmware",
    "ve_state": "state", "os_state": "osState", "serial": "serial", "cache_llc": "lastLevelCacheKib",
}  # fmt: skip
_NEURON_FILES = {
    "core_count": "cores", "connected_devices": "connected", "info/architecture/device_name": "device",
    "info/architecture/arch_type": "architecture", "info/architecture/instance_type": "instanceType",
    "serial_number": "serial", "reset": "",
}  # fmt: skip
_REGION = re.compile(r"^region\d+$")


def read_accelerators(tree: Tree, functions: dict[str, PciFunction]) -> tuple[dict[str, list[Details]], list[Source]]:
    """Fill ``functions``; devices that name no function are given back by their class."""
    loose: dict[str, list[Details]] = {}
    sources = [
        _accel(tree, functions, loose),
        _habana_old(tree, functions, loose),
        _neuron(tree, functions, loose),
        _vector_engine(tree, functions, loose),
        _fpga(tree, functions, loose),
        _intel(tree, functions),
        _mediated(tree, functions),
    ]
    return {name: found for name, found in loose.items() if found}, sources


def _files(tree: Tree, path: str, names: dict[str, str]) -> Details:
    details: Details = {}
    for name, key in names.items():
        if not key:
            continue
        text = tree.root.text(f"{path}/{name}")
        if isinstance(text, str) and text and text.isprintable():
            details[key] = text[:200]
    return details


def _absent(name: str, reason: str) -> Source:
    return Source(name, SourceState.ABSENT, reason)


def _accel(tree: Tree, functions: dict[str, PciFunction], loose: dict[str, list[Details]]) -> Source:
    """Class accel of the DRM subsystem: Gaudi since Linux 6.4, TPU, NPUs."""
    entries = tree.entries("sys/class/accel")
    if isinstance(entries, Unseen):
        return _absent("accel", "/sys/class/accel is not there: no driver of that class is loaded")
    for entry in sorted(entries, key=lambda entry: natural(entry.name)):
        function = functions.get(entry.address or "")
        details: Details = {"name": entry.name}
        if function is None:
            loose.setdefault("accel", []).append(details)
            continue
        if function.vendor == _HABANA:
            details.update(_habana(tree, f"{entry.path}/device"))
        function.details["accel"] = details
    return Source("accel", SourceState.READ, f"{len(entries)} devices")


def _habana(tree: Tree, path: str) -> Details:
    return _files(tree, path, _HABANA_FILES)


def _habana_old(tree: Tree, functions: dict[str, PciFunction], loose: dict[str, list[Details]]) -> Source:
    """Class habanalabs of drivers before Linux 6.4: its own files beside the device's."""
    entries = tree.entries("sys/class/habanalabs")
    if isinstance(entries, Unseen):
        return _absent("habanalabs", "/sys/class/habanalabs is not there")
    count = 0
    for entry in sorted(entries, key=lambda entry: natural(entry.name)):
        if not re.fullmatch(r"hl\d+", entry.name):
            continue
        count += 1
        said = tree.text(f"{entry.path}/pci_addr").lower()
        address = entry.address or (said if ADDRESS.match(said) else None)
        details = {"name": entry.name, **_habana(tree, f"{entry.path}/device"), **_habana(tree, entry.path)}
        function = functions.get(address or "")
        if function is None:
            loose.setdefault("habanalabs", []).append(details)
        else:
            function.details["accel"] = details
    return Source("habanalabs", SourceState.READ, f"{count} devices")


def _neuron(tree: Tree, functions: dict[str, PciFunction], loose: dict[str, list[Details]]) -> Source:
    for folder in ("sys/class/neuron_device", "sys/devices/virtual/neuron_device"):
        names = [name for name in tree.names(folder) if re.fullmatch(r"neuron\d+", name)]
        if not names:
            continue
        for name in sorted(names, key=natural):
            details: Details = {"name": name, **_files(tree, f"{folder}/{name}", _NEURON_FILES)}
            address = tree.function_of(f"{folder}/{name}")
            function = functions.get(address or "")
            if function is None:
                # the neuron driver's devices are virtual: sysfs does not say which PCI function is which
                loose.setdefault("neuron", []).append(details)
            else:
                function.details["neuron"] = details
        return Source("neuron", SourceState.READ, f"{len(names)} devices")
    return _absent("neuron", "no /sys/class/neuron_device: the neuron driver is not loaded")


def _vector_engine(tree: Tree, functions: dict[str, PciFunction], loose: dict[str, list[Details]]) -> Source:
    entries = tree.entries("sys/class/ve")
    if isinstance(entries, Unseen):
        return _absent("vector-engine", "no /sys/class/ve: NEC's ve_drv is not loaded")
    for entry in sorted(entries, key=lambda entry: natural(entry.name)):
        details = {"name": entry.name, **_files(tree, entry.path, _VE_FILES)}
        function = functions.get(entry.address or "")
        if function is None:
            loose.setdefault("vector-engine", []).append(details)
        else:
            function.details["ve"] = details
    return Source("vector-engine", SourceState.READ, f"{len(entries)} devices")


def _fpga(tree: Tree, functions: dict[str, PciFunction], loose: dict[str, list[Details]]) -> Source:
    """FPGA regions and managers (DFL cards), and Xilinx's management and user drivers."""
    count = 0
    for name, folder in (
        ("region", "sys/class/fpga_region"),
        ("manager", "sys/class/fpga_manager"),
        ("xclmgmt", "sys/class/xclmgmt"),
        ("xrt", "sys/class/xrt_user"),
    ):
        entries = tree.entries(folder)
        for entry in entries if isinstance(entries, list) else []:
            count += 1
            details: Details = {"name": entry.name, "class": name}
            if name == "region" and _REGION.match(entry.name):
                details.update(_files(tree, entry.path, {"compat_id": "compatId"}))
            if name == "manager":
                details.update(_files(tree, entry.path, {"name": "manager", "state": "state"}))
            function = functions.get(entry.address or "")
            if function is None:
                loose.setdefault("fpga", []).append(details)
            else:
                function.details.setdefault("fpga", []).append(details)
    if not count:
        return _absent("fpga", "no FPGA region, manager or Xilinx class is registered")
    return Source("fpga", SourceState.READ, f"{count} regions and managers")


def _mediated(tree: Tree, functions: dict[str, PciFunction]) -> Source:
    """vGPU types that a GPU offers to virtual machines, and how many of each are free (vfio-mdev)."""
    entries = tree.entries("sys/class/mdev_bus")
    if isinstance(entries, Unseen):
        return _absent("vgpu", "no /sys/class/mdev_bus: no driver here offers mediated devices (vGPU)")
    made = len(tree.names("sys/bus/mdev/devices"))
    for entry in entries:
        function = functions.get(entry.name)
        if function is None:
            continue
        path = f"{DEVICES}/{entry.name}/mdev_supported_types"
        function.details["vgpu"] = [
            {
                "type": name,
                "name": tree.text(f"{path}/{name}/name"),
                "available": tree.maybe(f"{path}/{name}/available_instances"),
            }
            for name in tree.names(path)[:64]
        ]
    return Source("vgpu", SourceState.READ, f"{len(entries)} GPUs offer vGPUs, {made} are made")


def _intel(tree: Tree, functions: dict[str, PciFunction]) -> Source:
    """Intel GPUs (i915, xe) and QuickAssist: what their drivers show in sysfs."""
    gpus = services = 0
    for function in functions.values():
        if function.vendor != _INTEL or function.klass is None:
            continue
        path = f"{DEVICES}/{function.address}"
        if function.driver in {"i915", "xe"}:
            gpus += 1
            details = drm_numbers(tree, path)
            if "card" in details:
                memory = tree.root.text(f"{path}/drm/card{details['card']}/lmem_total_bytes")
                if isinstance(memory, str) and memory.isdigit() and len(memory) < 20:
                    details["memory"] = int(memory)
            function.details["intel"] = details
        elif function.klass == 0x0B40 and tree.root.exists(f"{path}/qat"):
            services += 1
            function.details["qat"] = _files(tree, f"{path}/qat", {"state": "state", "cfg_services": "services"})
    if not gpus and not services:
        return _absent("intel", "no Intel GPU is bound to i915 or xe, no QuickAssist device is set up")
    return Source("intel", SourceState.READ, f"{gpus} GPUs, {services} QuickAssist devices; GPU memory needs an ioctl")
