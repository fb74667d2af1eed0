"""From PCI functions to devices as people name them: GPU0, NIC1, NIC1v3. Pure; source of classes: PCI Code and ID."""

from __future__ import annotations

import re

from dractl.hardware.model import Device, Host, Kind, NvmlGpu, PciFunction, Unseen, Why
from dractl.hardware.names import VENDORS

NVIDIA, AMD, INTEL, HABANA, AMAZON, GOOGLE = 0x10DE, 0x1002, 0x8086, 0x1DA3, 0x1D0F, 0x1AE0
XILINX, ALTERA, MELLANOX, NEC = 0x10EE, 0x1172, 0x15B3, 0x1BCF
_CONSOLES = {0x1A03, 0x102B, 0x1234, 0x1013, 0x15AD, 0x1414, 0x1AF4, 0x1B36, 0x18CA, 0x19E5, 0x80EE}
"""Vendors whose display controllers are consoles: BMCs and emulated cards."""
_ACCELERATOR_VENDORS = {HABANA, 0x1ED2, 0x1EFF, 0xCABC, 0x1E52, NEC, 0x1D94, 0x1E36}
_FPGA_IDS = {(INTEL, device) for device in (0x0B30, 0x0B31, 0x09C4, 0x09C5, 0x0B2B, 0x0B2C, 0xBCCE, 0xBCCF, 0xBCBD)}
_ACCELERATOR_IDS = {
    *((AMAZON, device) for device in (0x7064, 0x7065, 0x7066, 0x7067, 0x7164, 0x7264, 0x7364, 0x7564, 0x7565)),
    *((GOOGLE, device) for device in (0x0027, 0x0056, 0x005E, 0x0062, 0x0063, 0x006F, 0x0076)),
    *((INTEL, device) for device in (0x0B25, 0x0CFE)),
}
LABELS = {
    Kind.GPU: "GPU",
    Kind.ACCELERATOR: "ACC",
    Kind.FPGA: "FPGA",
    Kind.NIC: "NIC",
    Kind.NVME: "NVME",
    Kind.CXL: "CXL",
    Kind.SWITCH: "NVSW",
    Kind.STORAGE: "DISK",
    Kind.DISPLAY: "DISP",
    Kind.OTHER: "PCI",
}
ORDER = list(LABELS)
"""Kinds in the order that tables show them."""
_BRACKETS = re.compile(r"\[([^\]]+)\]")


def kind_of(function: PciFunction) -> Kind:
    """What a function is, from its ids and class."""
    vendor, device, klass = function.vendor, function.device, function.klass
    base = None if klass is None else klass >> 8
    pair = (vendor or 0, device or 0)
    if base == 0x06:
        return Kind.SWITCH if vendor == NVIDIA and klass == 0x0680 else Kind.BRIDGE
    if base == 0x02:
        return Kind.NIC
    if pair in _FPGA_IDS or (vendor in {XILINX, ALTERA} and base not in {0x01, 0x0C}):
        return Kind.FPGA
    if pair in _ACCELERATOR_IDS:
        return Kind.ACCELERATOR
    if base == 0x03:
        return Kind.DISPLAY if vendor in _CONSOLES else Kind.GPU
    if base == 0x12:
        return Kind.GPU if vendor == AMD else Kind.ACCELERATOR
    if klass == 0x0B40 or (vendor in _ACCELERATOR_VENDORS and base not in {0x01, 0x04, 0x0C, 0x08}):
        return Kind.ACCELERATOR
    if klass == 0x0108:
        return Kind.NVME
    if klass == 0x0502:
        return Kind.CXL
    return Kind.STORAGE if base == 0x01 else Kind.OTHER


def address_key(address: str) -> tuple[int, ...]:
    """Orders PCI addresses as numbers; what is no address comes last."""
    try:
        domain, bus, rest = address.split(":")
        device, function = rest.split(".")
        return int(domain, 16), int(bus, 16), int(device, 16), int(function, 16)
    except ValueError:
        return (1 << 40,)


def classify(host: Host) -> list[Device]:
    """All devices of a host, in the order of kinds and addresses; bridges are not among them."""
    cards = _companions(host)
    _match_by_order(host)
    answers = {gpu.address: gpu for gpu in host.nvml.gpus if gpu.address} if host.nvml else {}
    devices: list[Device] = []
    for address in sorted(host.functions, key=address_key):
        function = host.functions[address]
        kind = kind_of(function)
        if kind is Kind.BRIDGE or address in cards:
            continue
        device = Device("", kind, address, function, answers.pop(address, None))
        device.parts = sorted(part for part, owner in cards.items() if owner == address)
        _describe(device, host)
        devices.append(device)
    for gpu in host.nvml.gpus if host.nvml else []:
        # nobody on the bus that this tree shows: a container without PCI, a GPU that is no PCI device, or lost
        if gpu.address is None or gpu.address in answers:
            device = Device("", Kind.GPU, gpu.address or "", None, gpu)
            _describe(device, host)
            devices.append(device)
    _label(devices)
    return devices


def _match_by_order(host: Host) -> None:
    """GPUs whose address NVML did not tell: it lists them in order of their bus, so that equal numbers match."""
    gpus = host.nvml.gpus if host.nvml is not None else []
    seen = {gpu.address for gpu in gpus}
    bound = [
        address
        for address in sorted(host.functions, key=address_key)
        if (function := host.functions[address]).vendor == NVIDIA
        and function.driver == "nvidia"
        and kind_of(function) is Kind.GPU
        and address not in seen
    ]
    nameless = [gpu for gpu in gpus if gpu.address is None]
    if len(nameless) == len(bound):
        for gpu, address in zip(nameless, bound, strict=True):
            gpu.address = address


def _companions(host: Host) -> dict[str, str]:
    """Audio, USB and serial functions of a graphics card and further functions of an FPGA card, with their owner."""
    owners: dict[str, str] = {}
    by_slot: dict[str, str] = {}
    for address in sorted(host.functions, key=address_key):
        function = host.functions[address]
        kind = kind_of(function)
        if kind is Kind.GPU:
            by_slot[function.slot] = address
        elif kind is Kind.FPGA and function.sriov is None and by_slot.setdefault(function.slot, address) != address:
            owners[address] = by_slot[function.slot]
    for address, function in host.functions.items():
        owner = by_slot.get(function.slot)
        if owner is None or owner == address or function.klass is None:
            continue
        if function.klass in {0x0403, 0x0C03, 0x0C80} and function.vendor == host.functions[owner].vendor:
            owners[address] = owner
    return owners


def _describe(device: Device, host: Host) -> None:
    function, nvml = device.function, device.nvml
    vendor = function.vendor if function is not None else NVIDIA
    if vendor is not None:
        device.vendor_name = VENDORS.get(vendor) or host.names.get(f"{vendor:04x}") or f"vendor {vendor:04x}"
    device.product = _product(function, nvml, host)
    device.memory = _memory(device)


def _product(function: PciFunction | None, nvml: NvmlGpu | None, host: Host) -> str:
    if nvml is not None and nvml.name:
        return nvml.name
    if function is None:
        return "GPU"
    for source, key in (("nvidia", "model"), ("amdgpu", "productName"), ("nvme", "model")):
        said = function.details.get(source, {}).get(key)
        if said:
            return str(said)
    if function.vendor is None or function.device is None:
        return "" if function.klass is None else f"class {function.klass:04x}"
    name = host.names.get(f"{function.vendor:04x}:{function.device:04x}", "")
    match = _BRACKETS.search(name)
    return match[1] if match else name


def _memory(device: Device) -> int | Unseen:
    function, nvml = device.function, device.nvml
    if nvml is not None and nvml.memory:
        return nvml.memory
    if function is None:
        return Unseen("NVML does not say")
    details = function.details
    for source, key in (("amdgpu", "vram"), ("intel", "memory"), ("nvidia", "memory")):
        said = details.get(source, {}).get(key)
        if isinstance(said, int) and said > 0:
            return said
    banks = [node["memory"] for node in details.get("kfd", []) if node.get("memory")]
    if banks:
        return int(sum(banks))
    gib = details.get("ve", {}).get("memoryGib", "")
    if isinstance(gib, str) and gib.isdigit() and len(gib) < 6:
        return int(gib) << 30
    size = details.get("nvme", {}).get("size") or details.get("cxl", {}).get("volatile")
    if isinstance(size, int) and size > 0:
        return size
    return _why_no_memory(device.kind, function)


def _why_no_memory(kind: Kind, function: PciFunction) -> Unseen:
    if kind not in {Kind.GPU, Kind.ACCELERATOR}:
        return Unseen("no source says")
    if function.vendor == NVIDIA:
        if function.driver == "vfio-pci":
            return Unseen("bound to vfio-pci: only a virtual machine could tell")
        return Unseen("only NVML tells, and it did not answer for it", Why.ABSENT)
    if function.vendor == AMD:
        return Unseen("amdgpu's mem_info_vram_total is not there", Why.ABSENT)
    if function.vendor == INTEL:
        return Unseen("i915 and xe tell it by an ioctl only")
    return Unseen("no source says")


def _label(devices: list[Device]) -> None:
    counts: dict[Kind, int] = {}
    by_address = {device.address: device for device in devices}
    children = []
    for device in devices:
        sriov = device.function.sriov if device.function is not None else None
        if sriov is not None and sriov.physical in by_address:
            children.append(device)
            continue
        number = counts.get(device.kind, 0)
        counts[device.kind] = number + 1
        device.label = f"{LABELS[device.kind]}{number}"
    for device in children:
        assert device.function is not None and device.function.sriov is not None
        sriov = device.function.sriov
        parent = by_address[sriov.physical]
        siblings = parent.function.sriov.virtual if parent.function and parent.function.sriov else []
        number = sriov.index if sriov.index is not None else siblings.index(device.address)
        device.label = f"{parent.label}v{number}"
        device.parent = parent.label
    devices.sort(key=lambda device: (ORDER.index(device.kind), address_key(device.address)))
