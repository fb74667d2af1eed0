"""How near two devices are, in the words of ``nvidia-smi topo -m``, for devices of all vendors. Pure.

X self; NV# that many NVLinks; XGMI AMD's links; PIX at most one PCIe bridge between; PXB several bridges below one root
port; PHB through a PCIe host bridge; NODE between host bridges of one NUMA node; SYS between NUMA nodes; ? not known.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from dractl.hardware.classify import address_key
from dractl.hardware.model import Device, Host, Kind, NumaNode, PciFunction, Unseen, known

SELF, PIX, PXB, PHB, NODE, SYS, UNKNOWN, XGMI = "X", "PIX", "PXB", "PHB", "NODE", "SYS", "?", "XGMI"
LEGEND = {
    SELF: "the device itself",
    "NV#": "that many NVLinks",
    XGMI: "AMD Infinity Fabric links",
    PIX: "at most one PCIe bridge between",
    PXB: "several PCIe bridges, no host bridge",
    PHB: "through a PCIe host bridge (the CPU)",
    NODE: "between host bridges of one NUMA node",
    SYS: "between NUMA nodes",
    UNKNOWN: "the tree does not say",
}
_RANKS = {SELF: 0, XGMI: 1, PIX: 2, PXB: 3, PHB: 4, NODE: 5, SYS: 6, UNKNOWN: 7}
MATRIX_KINDS = (Kind.GPU, Kind.ACCELERATOR, Kind.FPGA, Kind.NIC, Kind.NVME, Kind.CXL)
MAX_MATRIX = 128
"""Devices in a matrix; beyond that nobody reads it."""


def rank(word: str) -> int:
    """Smaller is nearer; NV# before everything but the device itself."""
    return 1 if word.startswith("NV") else _RANKS.get(word, 7)


def relation(first: Device, second: Device, host: Host) -> str:
    """The word for two devices."""
    if first is second:
        return SELF
    return _fabric(first, second) or pci_relation(first.function, second.function, host)


def pci_relation(first: PciFunction | None, second: PciFunction | None, host: Host) -> str:
    """The word for two functions by PCIe and NUMA alone."""
    if first is None or second is None:
        return UNKNOWN
    roots = known(first.root), known(second.root)
    if roots[0] is not None and roots[0] == roots[1]:
        return _below_one_root(first, second)
    if None in roots and not _certainly_apart(first, second):
        return UNKNOWN
    return _between_roots(first, second, host)


def _below_one_root(first: PciFunction, second: PciFunction) -> str:
    above, beside = known(first.path), known(second.path)
    if above is None or beside is None:
        return UNKNOWN
    shared = 0
    for left, right in zip(above, beside, strict=False):
        if left != right:
            break
        shared += 1
    if not shared:
        # functions of one card on the root bus itself
        return PIX if first.slot == second.slot else PHB
    bridges = len(above) + len(beside) - 2 * shared
    return PIX if bridges <= 1 else PXB


def _certainly_apart(first: PciFunction, second: PciFunction) -> bool:
    """Functions of two PCI domains never share a host bridge (but VMD's hang below another domain's)."""
    domains = {function.address.split(":", 1)[0] for function in (first, second)}
    return len(domains) == 2 and all(int(domain, 16) < 0x10000 for domain in domains)


def _between_roots(first: PciFunction, second: PciFunction, host: Host) -> str:
    nodes = [node for node in host.numa_nodes if not node.memory_only]
    here, there = known(first.numa), known(second.numa)
    if here is not None and there is not None:
        return NODE if here == there else SYS
    # with a single node there is no other place
    return NODE if len(nodes) == 1 else UNKNOWN


def _fabric(first: Device, second: Device) -> str:
    left, right = first.nvml, second.nvml
    if left is not None and right is not None:
        direct = left.nvlink_peers.get(second.address, 0)
        switched = min(left.nvlink_peers.get("switch", 0), right.nvlink_peers.get("switch", 0))
        if direct or switched:
            return f"NV{direct or switched}"
    if first.function is not None and second.function is not None:
        nodes = {node["node"] for node in second.function.details.get("kfd", [])}
        for node in first.function.details.get("kfd", []):
            if any(link["to"] in nodes and link["type"] == XGMI for link in node.get("links", [])):
                return XGMI
    return ""


# --- matrix and pairs -----------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Matrix:
    """Words by row and column for ``devices``; ``left_out`` says how many more there are."""

    devices: list[Device]
    rows: list[list[str]]
    left_out: int = 0


def matrix(host: Host, devices: list[Device]) -> Matrix:
    """Distances between devices; virtual functions are where their physical function is and are left out."""
    shown = [device for device in devices if device.kind in MATRIX_KINDS and not device.parent]
    kept = shown[:MAX_MATRIX]
    rows = [[relation(first, second, host) for second in kept] for first in kept]
    return Matrix(kept, rows, len(shown) - len(kept))


@dataclass(slots=True)
class Pair:
    """For one NIC (or other device): the nearest GPUs or accelerators, and how near they are."""

    device: Device
    nearest: list[Device] = field(default_factory=list)
    word: str = UNKNOWN
    rail: int | None = None
    """Place among the GPUs that have a NIC of their own behind the same switch; networks connect equal rails."""


def is_flat(host: Host) -> bool:
    """Whether a virtual machine hides the wiring: everything directly on one root bus, nothing with a NUMA node."""
    if not host.machine.virtual:
        return False
    functions = [
        device.function for device in host.devices if device.kind in MATRIX_KINDS and device.function is not None
    ]
    roots = {known(function.root) for function in functions}
    return len(functions) > 1 and len(roots) == 1 and all(not known(function.path) for function in functions)


def pairs(host: Host) -> list[Pair]:
    """The best GPUs for each NIC. Nothing where the wiring is hidden: a guess would be worse."""
    if is_flat(host):
        return []
    compute = [device for device in host.devices if device.kind in {Kind.GPU, Kind.ACCELERATOR} and not device.parent]
    found = []
    for nic in host.devices:
        if nic.kind is not Kind.NIC or nic.parent:
            continue
        words = [(pci_relation(nic.function, device.function, host), device) for device in compute]
        near = [(word, device) for word, device in words if word not in {UNKNOWN, SYS}]
        if near:
            best = min(rank(word) for word, _ in near)
            word = next(word for word, _ in near if rank(word) == best)
            found.append(Pair(nic, [device for other, device in near if other == word], word))
    _rails(found)
    return found


def _rails(found: list[Pair]) -> None:
    own = [pair for pair in found if len(pair.nearest) == 1 and pair.word in {PIX, PXB}]
    order = sorted({pair.nearest[0].address for pair in own}, key=address_key)
    if len(order) > 1:
        for pair in own:
            pair.rail = order.index(pair.nearest[0].address)


# --- tree -----------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Node:
    """One box of the drawing: ``type`` machine, package, numa, root, bridge or device; ``name`` and ``text`` in it."""

    type: str
    name: str
    text: str = ""
    kind: str = ""
    children: list[Node] = field(default_factory=list)


def tree(host: Host, devices: list[Device]) -> Node:
    """The machine: packages, NUMA nodes, PCI roots, bridges and the given devices."""
    top = Node("machine", host.machine.hostname or host.machine.product or "host", _machine_text(host))
    places = _numa_places(host, top)
    elsewhere = Node("numa", "NUMA node unknown", "the firmware or the tree does not say")
    for root, members in _by_root(devices).items():
        node = _root_node(root, members)
        (places.get(_numa_of(members)) or elsewhere).children.append(node)
    if elsewhere.children:
        top.children.append(elsewhere)
    return top


def _machine_text(host: Host) -> str:
    cpus = host.cpus
    parts = []
    if isinstance(cpus.packages, int):
        parts.append(f"{cpus.packages} x {cpus.model}" if cpus.model else f"{cpus.packages} packages")
    if isinstance(cpus.cores, int):
        parts.append(f"{cpus.cores} cores")
    return ", ".join(parts)


def _numa_places(host: Host, top: Node) -> dict[int | None, Node]:
    """A box for each NUMA node, inside its package where all its CPUs are in one."""
    packages: dict[int, Node] = {}
    places: dict[int | None, Node] = {}
    for package in sorted(set(host.cpus.package_of.values())):
        identity = host.cpus.package_ids[package] if package < len(host.cpus.package_ids) else package
        packages[package] = Node("package", f"package {identity if identity >= 0 else package}")
        top.children.append(packages[package])
    for numa in host.numa_nodes:
        box = Node("numa", f"NUMA node {numa.id}", _numa_text(numa))
        places[numa.id] = box
        owners = {host.cpus.package_of.get(cpu) for cpu in (known(numa.cpus) or ())} - {None}
        owner = packages.get(owners.pop() or 0) if len(owners) == 1 else None
        (owner or top).children.append(box)
    return places


def _numa_text(numa: NumaNode) -> str:
    memory = known(numa.memory)
    parts = ["memory unknown" if memory is None else f"{memory / (1 << 30):.0f} GiB"]
    cpus = known(numa.cpus)
    if cpus is None:
        parts.append("CPUs unknown")
    elif cpus:
        from dractl.hardware.cpuset import format_list

        parts.append(f"CPUs {format_list(cpus)}")
    else:
        parts.append("no CPUs" + (f", memory of {numa.device}" if numa.device else ""))
    return ", ".join(parts)


def _by_root(devices: list[Device]) -> dict[str, list[Device]]:
    groups: dict[str, list[Device]] = {}
    for device in sorted(devices, key=lambda device: address_key(device.address)):
        function = device.function
        if function is None:
            name = "not on the PCI bus that is visible here"
        else:
            name = function.root if isinstance(function.root, str) else "PCI root unknown"
        groups.setdefault(name, []).append(device)
    return groups


def _numa_of(devices: list[Device]) -> int | None:
    nodes = {known(device.function.numa) if device.function is not None else None for device in devices}
    return nodes.pop() if len(nodes) == 1 else None


def _root_node(name: str, devices: list[Device]) -> Node:
    top = Node("root", name)
    boxes: dict[tuple[str, ...], Node] = {(): top}
    for device in devices:
        path = known(device.function.path) if device.function is not None else None
        place: tuple[str, ...] = ()
        for bridge in path or ():
            longer = (*place, bridge)
            if longer not in boxes:
                boxes[longer] = Node("bridge", bridge)
                boxes[place].children.append(boxes[longer])
            place = longer
        boxes[place].children.append(device_node(device))
    _collapse(top)
    return top


def device_node(device: Device) -> Node:
    """The box of a device: its label, address and product, and its interfaces."""
    text = device.product
    function = device.function
    names = [] if function is None else [rdma.name for rdma in function.rdma]
    names += [] if function is None else [netdev.name for netdev in function.netdevs]
    if names:
        text += f" ({', '.join(names)})"
    return Node("device", device.label, f"{device.address} {text}".strip(), device.kind.value)


def _collapse(node: Node) -> None:
    """A chain of bridges without branches is one box: ``15:01.0 > 16:00.0``."""
    for child in node.children:
        while child.type == "bridge" and len(child.children) == 1 and child.children[0].type == "bridge":
            inner = child.children[0]
            child.name = f"{child.name} > {inner.name}"
            child.children = inner.children
        _collapse(child)


def numa_text(device: Device) -> str:
    """The NUMA node of a device, or ``?``."""
    if device.function is None:
        return UNKNOWN
    return UNKNOWN if isinstance(device.function.numa, Unseen) else str(device.function.numa)
