"""Network interfaces and RDMA devices, by the PCI function they hang on.

Source: Linux Documentation/ABI/testing/sysfs-class-net, ABI/stable/sysfs-class-infiniband.
"""

from __future__ import annotations

from dractl.hardware.model import Netdev, PciFunction, Rdma, RdmaPort, Source, SourceState, Unseen, Why
from dractl.hardware.readers.pci import DEVICES
from dractl.hardware.readers.tree import Tree, natural

NET = "sys/class/net"
RDMA = "sys/class/infiniband"


def read_network(tree: Tree, functions: dict[str, PciFunction]) -> tuple[list[Netdev], list[Source]]:
    """Fill ``functions`` with their interfaces; the interfaces without a function are given back."""
    loose: list[Netdev] = []
    done: set[str] = set()
    entries = tree.entries(NET)
    if isinstance(entries, list):
        for entry in sorted(entries, key=lambda entry: natural(entry.name)):
            if entry.address is None and not tree.root.exists(entry.path):
                continue
            netdev = _netdev(tree, entry.path, entry.name)
            function = functions.get(entry.address or "")
            if function is None:
                netdev.virtual = "/virtual/" in f"/{_real(tree, entry.path)}/"
                loose.append(netdev)
            else:
                function.netdevs.append(netdev)
            done.add(entry.name)
    for function in functions.values():
        if function.klass is None or function.klass >> 8 != 0x02 or function.netdevs:
            continue
        path = f"{DEVICES}/{function.address}/net"
        for name in tree.names(path):
            if name not in done:
                function.netdevs.append(_netdev(tree, f"{path}/{name}", name))
    return loose, [_net_source(entries, functions, loose)]


def _real(tree: Tree, path: str) -> str:
    place = tree.root.real(path)
    return place if isinstance(place, str) else ""


def _net_source(entries: object, functions: dict[str, PciFunction], loose: list[Netdev]) -> Source:
    count = sum(len(function.netdevs) for function in functions.values()) + len(loose)
    if isinstance(entries, Unseen):
        if count:
            return Source("net", SourceState.PARTIAL, f"{count} interfaces by their PCI functions; no /sys/class/net")
        return Source("net", SourceState.ABSENT, f"/sys/class/net: {entries.reason}")
    return Source("net", SourceState.READ, f"{count} interface" + ("s" if count != 1 else ""))


def _netdev(tree: Tree, path: str, name: str) -> Netdev:
    carrier = tree.root.text(f"{path}/carrier")
    speed = tree.root.text(f"{path}/speed")
    return Netdev(
        name,
        state=tree.text(f"{path}/operstate"),
        # an interface that is down answers the read of carrier with an error
        carrier={"1": True, "0": False}.get(carrier) if isinstance(carrier, str) else None,
        speed=int(speed) if isinstance(speed, str) and speed.isdigit() and 0 < int(speed[:9]) < 1 << 30 else None,
        mtu=tree.maybe(f"{path}/mtu"),
        mac=tree.text(f"{path}/address"),
        type=tree.maybe(f"{path}/type"),
        port=tree.text(f"{path}/phys_port_name") if tree.root.exists(f"{path}/phys_port_name") else "",
    )


# --- RDMA -----------------------------------------------------------------------------------------------------------


def read_rdma(tree: Tree, functions: dict[str, PciFunction]) -> tuple[list[Rdma], Source]:
    """Fill ``functions`` with their RDMA devices; those without a function are given back."""
    loose: list[Rdma] = []
    entries = tree.entries(RDMA)
    done: set[str] = set()
    if isinstance(entries, list):
        for entry in sorted(entries, key=lambda entry: natural(entry.name)):
            device = _rdma(tree, entry.path, entry.name)
            function = functions.get(entry.address or "")
            (loose if function is None else function.rdma).append(device)
            done.add(entry.name)
    for function in functions.values():
        if function.klass is None or function.klass >> 8 != 0x02 or function.rdma:
            continue
        path = f"{DEVICES}/{function.address}/infiniband"
        for name in tree.names(path):
            if name not in done:
                function.rdma.append(_rdma(tree, f"{path}/{name}", name))
    return loose, _rdma_source(tree, entries, functions, loose)


def _rdma_source(tree: Tree, entries: object, functions: dict[str, PciFunction], loose: list[Rdma]) -> Source:
    count = sum(len(function.rdma) for function in functions.values()) + len(loose)
    if isinstance(entries, Unseen):
        if count:
            return Source("rdma", SourceState.PARTIAL, f"{count} devices by their functions; no /sys/class/infiniband")
        if entries.why is not Why.ABSENT:
            return Source("rdma", SourceState.FAILED, f"/sys/class/infiniband: {entries.reason}")
        loaded = tree.root.exists("sys/module/ib_core")
        reason = "/sys/class/infiniband is not there: " + (
            "ib_core is loaded, so it is hidden here (another network namespace, or a container's /sys)"
            if loaded
            else "no RDMA driver is loaded"
        )
        return Source("rdma", SourceState.ABSENT, reason)
    return Source("rdma", SourceState.READ, f"{count} device" + ("s" if count != 1 else ""))


def _rdma(tree: Tree, path: str, name: str) -> Rdma:
    ports = []
    for number in tree.names(f"{path}/ports"):
        if not number.isdigit():
            continue
        port = f"{path}/ports/{number}"
        ports.append(
            RdmaPort(
                int(number[:6]),
                _word(tree.text(f"{port}/state")),
                _word(tree.text(f"{port}/phys_state")),
                tree.text(f"{port}/link_layer"),
                tree.text(f"{port}/rate"),
            )
        )
    ports.sort(key=lambda port: port.number)
    return Rdma(name, ports, tree.text(f"{path}/node_guid"), tree.text(f"{path}/fw_ver"))


def _word(text: str) -> str:
    """``4: ACTIVE`` without its number."""
    return text.partition(":")[2].strip() or text
