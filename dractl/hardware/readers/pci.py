"""PCI functions from /sys/bus/pci/devices. Source: Linux Documentation/ABI/testing/sysfs-bus-pci."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from dractl.hardware import config_space as space
from dractl.hardware.model import NO_NUMA, Link, PciFunction, Source, SourceState, Sriov, Unseen, Why, known
from dractl.hardware.readers.tree import ADDRESS, PCI_ROOT, Tree, absent

DEVICES = "sys/bus/pci/devices"
_SPEED = re.compile(r"^\s*(\d+(?:\.\d+)?)\s*GT/s")
_EVENT = re.compile(r"^([0-9A-F]{1,6}) ([0-9A-F]{4}):([0-9A-F]{4}) ([0-9A-F]{4}):([0-9A-F]{4})$")
_AER = {
    "correctable": ("aer_dev_correctable", "TOTAL_ERR_COR"),
    "nonfatal": ("aer_dev_nonfatal", "TOTAL_ERR_NONFATAL"),
    "fatal": ("aer_dev_fatal", "TOTAL_ERR_FATAL"),
}
_BRIDGE, _NETWORK, _DISPLAY, _STORAGE = 0x06, 0x02, 0x03, 0x01
_DETAILED = {_NETWORK, _DISPLAY, 0x12, 0x0B, 0x08, 0xFF}
"""Classes of which every detail is read, beside NVMe, CXL and single vendors' devices."""
_DETAILED_SUBCLASSES = {0x0108, 0x0502, 0x0580, 0x0680}
MAX_VIRTUAL = 4096


@dataclass(slots=True)
class PciReading:
    """The functions by address, and how it went."""

    functions: dict[str, PciFunction] = field(default_factory=dict)
    seen: bool = False
    source: Source = field(default_factory=lambda: Source("pci", SourceState.ABSENT))


def read_pci(tree: Tree) -> PciReading:
    """All PCI functions. Bridges and uninteresting functions are read as far as the wiring needs them."""
    reading = PciReading()
    names = tree.root.names(DEVICES)
    if isinstance(names, Unseen):
        reading.source = _not_seen(names)
        return reading
    reading.seen = True
    for name in names:
        if not ADDRESS.match(name):
            tree.problem(f"{DEVICES}/{name}", "is not named like a PCI address")
            continue
        reading.functions[name] = _read_identity(tree, name)
    _paths_from_config(tree, reading.functions)
    wanted = {address for address, function in reading.functions.items() if _is_detailed(function)}
    for address in _bridges_above(reading.functions, wanted):
        bridge = reading.functions.get(address)
        if bridge is not None and address not in wanted:
            _read_link(tree, bridge)
            _read_config(tree, bridge, 4096)
    _link_virtual(tree, reading.functions)
    reading.source = _summary(reading.functions)
    return reading


def _not_seen(names: Unseen) -> Source:
    if names.why is Why.ABSENT:
        return Source(
            "pci",
            SourceState.ABSENT,
            "/sys/bus/pci/devices is not visible here",
            "in a container mount the host's /sys (for example at /host/sys) and give --root /host",
        )
    return Source("pci", SourceState.FAILED, f"/sys/bus/pci/devices: {names.reason}")


def _summary(functions: dict[str, PciFunction]) -> Source:
    lacking = sum(1 for function in functions.values() if function.class_code is None)
    count = f"{len(functions)} functions"
    if not functions:
        return Source("pci", SourceState.READ, "no PCI function on this machine")
    if lacking:
        return Source("pci", SourceState.PARTIAL, f"{count}, {lacking} of them without a readable class")
    return Source("pci", SourceState.READ, count)


# --- one function ---------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Folder:
    """The folder of one function. Only files that are in it are asked for: most functions have few of them."""

    tree: Tree
    path: str
    names: frozenset[str] | None

    def has(self, name: str) -> bool:
        """Whether there may be such an entry; True where the folder can not be listed."""
        return self.names is None or name in self.names

    def number(self, name: str, base: int = 10) -> int | Unseen:
        """A number, see ``Tree.number``."""
        return self.tree.number(f"{self.path}/{name}", base) if self.has(name) else absent(name)

    def maybe(self, name: str, base: int = 10) -> int | None:
        """A number or None."""
        return known(self.number(name, base))

    def text(self, name: str) -> str:
        """A text, empty where there is none."""
        return self.tree.text(f"{self.path}/{name}") if self.has(name) else ""

    def target(self, name: str) -> str | None:
        """Last part of a link's target."""
        return self.tree.target_name(f"{self.path}/{name}") if self.has(name) else None


def _folder(tree: Tree, address: str) -> _Folder:
    path = f"{DEVICES}/{address}"
    return _Folder(tree, path, tree.root.peek(path))


def _read_identity(tree: Tree, address: str) -> PciFunction:
    folder = _folder(tree, address)
    path = folder.path
    function = PciFunction(address)
    function.target = tree.root.link(path)
    place = tree.root.real(path)
    if isinstance(place, Unseen):
        tree.problem(path, place.reason)
        function.root = function.path = place
        return function
    event = _event(folder)
    if not _identity_from_event(event, function):
        function.class_code = folder.maybe("class", 16)
        function.vendor = folder.maybe("vendor", 16)
        function.device = folder.maybe("device", 16)
    if function.class_code is None or function.vendor is None:
        _identity_from_config(tree, function)
    _place(function, place)
    function.numa = _numa(folder)
    function.cpus = absent("local_cpulist")
    if _is_detailed(function) and (folder.has("local_cpulist") or folder.has("local_cpus")):
        function.cpus = tree.cpus(f"{path}/local_cpulist", f"{path}/local_cpus")
    function.driver = folder.target("driver")
    if function.driver is None and function.target is None:
        function.driver = Unseen("the tree was gathered without links: drivers are not in it", Why.ABSENT)
    if _is_detailed(function):
        _read_details(folder, function, event)
    return function


def _event(folder: _Folder) -> dict[str, str]:
    """The lines of uevent: one file that repeats what five others say."""
    pairs = (line.partition("=") for line in folder.text("uevent").splitlines())
    return {name: value for name, _, value in pairs}


def _identity_from_event(event: dict[str, str], function: PciFunction) -> bool:
    """Class and ids, if uevent has them in full."""
    match = _EVENT.match(f"{event.get('PCI_CLASS', '')} {event.get('PCI_ID', '')} {event.get('PCI_SUBSYS_ID', '')}")
    if match is None:
        return False
    function.class_code, function.vendor, function.device = (int(match[group], 16) for group in (1, 2, 3))
    function.subsystem = (int(match[4], 16), int(match[5], 16))
    return True


def _numa(folder: _Folder) -> int | Unseen:
    numa = folder.number("numa_node")
    if isinstance(numa, int) and not -1 <= numa < 1 << 16:
        folder.tree.problem(f"{folder.path}/numa_node", f"holds {numa}, not a NUMA node")
        return Unseen(f"numa_node is {numa}, not a NUMA node", Why.BROKEN)
    if numa == -1:
        return NO_NUMA
    return absent("numa_node") if _is_absent(numa) else numa


def _is_absent(value: object) -> bool:
    return isinstance(value, Unseen) and value.why is Why.ABSENT


def _identity_from_config(tree: Tree, function: PciFunction) -> None:
    _read_config(tree, function, space.HEADER)
    config = known(function.config)
    found = space.identity(config) if config else None
    if found is None:
        return
    function.vendor = found[0] if function.vendor is None else function.vendor
    function.device = found[1] if function.device is None else function.device
    function.class_code = found[2] if function.class_code is None else function.class_code


def _place(function: PciFunction, place: str) -> None:
    """Root and bridges from the folder's path: devices/pci0000:15/0000:15:01.0/.../0000:17:00.0."""
    parts = place.split("/")
    if parts[:2] != ["sys", "devices"] or len(parts) < 4:
        function.root = Unseen("the tree does not say where in /sys/devices it is", Why.ABSENT)
        function.path = Unseen("the tree does not say which bridges are above it", Why.ABSENT)
        return
    first = next((part for part in parts[2:] if PCI_ROOT.match(part)), None)
    function.root = first if first is not None else Unseen(f"is below /{'/'.join(parts[:3])}, no PCI root", Why.UNSAID)
    function.path = tuple(part for part in parts[2:-1] if ADDRESS.match(part))


def _paths_from_config(tree: Tree, functions: dict[str, PciFunction]) -> None:
    """Where sysfs has no paths (some gathered trees): the bridges' bus numbers tell them."""
    lost = [function for function in functions.values() if isinstance(function.path, Unseen)]
    if not lost:
        return
    behind: dict[tuple[str, int], str] = {}
    unread = False
    for function in functions.values():
        if function.klass is None or function.klass >> 8 != _BRIDGE:
            continue
        _read_config(tree, function, space.HEADER)
        config = known(function.config)
        buses = space.secondary_buses(config) if config else None
        domain = function.address.rsplit(":", 2)[0]
        if buses is not None and buses[0]:
            behind[(domain, buses[0])] = function.address
        unread = unread or (function.klass == 0x0604 and buses is None)
    if not behind or unread:
        return
    for function in lost:
        function.path, top = _climb(function.address, behind)
        domain, bus, _ = top.rsplit(":", 2)
        function.root = f"pci{domain}:{bus}"


def _climb(address: str, behind: dict[tuple[str, int], str]) -> tuple[tuple[str, ...], str]:
    path: list[str] = []
    here = address
    while len(path) < 64:
        domain, bus, _ = here.rsplit(":", 2)
        above = behind.get((domain, int(bus, 16)))
        if above is None or above in path or above == here:
            break
        path.append(above)
        here = above
    return tuple(reversed(path)), here


def _is_detailed(function: PciFunction) -> bool:
    klass = function.klass
    if klass is None:
        return function.vendor is not None
    return klass >> 8 in _DETAILED or klass in _DETAILED_SUBCLASSES


def _read_details(folder: _Folder, function: PciFunction, event: dict[str, str]) -> None:
    tree = folder.tree
    if function.driver is None or isinstance(function.driver, Unseen):
        # trees gathered without links may still have the driver in uevent
        function.driver = event.get("DRIVER") or function.driver
    if function.subsystem == (None, None):
        function.subsystem = (folder.maybe("subsystem_vendor", 16), folder.maybe("subsystem_device", 16))
    function.iommu_group = folder.target("iommu_group")
    if folder.has("config"):
        _read_config(tree, function, 4096)
    _read_link(tree, function, folder)
    for kind, (name, total) in _AER.items():
        for line in folder.text(name).splitlines():
            word, _, count = line.strip().rpartition(" ")
            if word == total and count.isdigit() and len(count) < 20:
                function.aer[kind] = int(count)
    function.reset = folder.text("reset_method")
    possible = folder.maybe("sriov_totalvfs")
    physical = folder.target("physfn")
    if possible is not None or physical:
        function.sriov = Sriov(total=possible, created=folder.maybe("sriov_numvfs"), physical=physical or "")


def _read_config(tree: Tree, function: PciFunction, limit: int) -> None:
    if isinstance(function.config, bytes) and len(function.config) >= min(limit, space.HEADER):
        return
    config = tree.root.read(f"{DEVICES}/{function.address}/config", limit)
    function.config = absent("config") if _is_absent(config) else config


def _read_link(tree: Tree, function: PciFunction, folder: _Folder | None = None) -> None:
    folder = folder or _folder(tree, function.address)
    link = Link(
        _speed(folder.text("current_link_speed")),
        _speed(folder.text("max_link_speed")),
        _width(folder.maybe("current_link_width")),
        _width(folder.maybe("max_link_width")),
    )
    config = known(function.config)
    if link.width is None and config:
        registers = space.link_registers(config)
        if registers is not None:
            link = Link(*registers)
    function.link = link


def _speed(text: str) -> float | None:
    match = _SPEED.match(text)
    return float(match[1]) if match else None


def _width(number: int | None) -> int | None:
    # 255 and 63 are how the kernel prints an unknown width
    return number if number is not None and 0 < number <= 32 else None


def _bridges_above(functions: dict[str, PciFunction], wanted: set[str]) -> set[str]:
    above: set[str] = set()
    for address in wanted:
        above.update(known(functions[address].path) or ())
    return above


def _link_virtual(tree: Tree, functions: dict[str, PciFunction]) -> None:
    """Tie virtual functions to their physical one, from either end."""
    for function in list(functions.values()):
        sriov = function.sriov
        if sriov is None or sriov.physical or not sriov.created:
            continue
        for index in range(min(sriov.created, MAX_VIRTUAL)):
            address = tree.target_name(f"{DEVICES}/{function.address}/virtfn{index}")
            if address is None:
                continue
            sriov.virtual.append(address)
            child = functions.get(address)
            if child is not None:
                child.sriov = child.sriov or Sriov(physical=function.address)
                child.sriov.index = index
    known_children = {child for function in functions.values() if function.sriov for child in function.sriov.virtual}
    for function in functions.values():
        if function.sriov is None or not function.sriov.physical or function.address in known_children:
            continue
        parent = functions.get(function.sriov.physical)
        if parent is None:
            continue
        parent.sriov = parent.sriov or Sriov()
        parent.sriov.virtual.append(function.address)
