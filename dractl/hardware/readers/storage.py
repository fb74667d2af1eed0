"""NVMe controllers, and CXL memory devices and regions.

Source: Linux Documentation/ABI/testing/sysfs-nvme, sysfs-bus-cxl, sysfs-bus-dax.
"""

from __future__ import annotations

import re

from dractl.hardware.model import Details, PciFunction, Source, SourceState, Unseen
from dractl.hardware.readers.tree import Tree, natural

_NAMESPACE = re.compile(r"^nvme(\d+)(?:c\d+)?n\d+$")


def read_nvme(tree: Tree, functions: dict[str, PciFunction]) -> Source:
    """Fill ``functions`` with model, firmware, state and size of their controllers."""
    entries = tree.entries("sys/class/nvme")
    if isinstance(entries, Unseen):
        return Source("nvme", SourceState.ABSENT, "/sys/class/nvme is not there: the nvme driver is not loaded")
    sizes = _sizes(tree)
    for entry in sorted(entries, key=lambda entry: natural(entry.name)):
        function = functions.get(entry.address or "")
        if function is None:
            continue
        details: Details = {"name": entry.name}
        for name, key in (("model", "model"), ("firmware_rev", "firmware"), ("state", "state"), ("serial", "serial"),
                          ("transport", "transport")):  # fmt: skip
            text = tree.text(f"{entry.path}/{name}")
            if text:
                details[key] = text[:100]
        if entry.name[4:] in sizes:
            details["size"] = sizes[entry.name[4:]]
        function.details["nvme"] = details
    return Source("nvme", SourceState.READ, f"{len(entries)} controllers")


def _sizes(tree: Tree) -> dict[str, int]:
    """Bytes of all namespaces by controller number."""
    sizes: dict[str, int] = {}
    for name in tree.names("sys/class/block"):
        match = _NAMESPACE.match(name)
        blocks = tree.maybe(f"sys/class/block/{name}/size") if match else None
        if match and blocks is not None:
            # sysfs counts in sectors of 512 bytes whatever the disk's own are
            sizes[match[1]] = sizes.get(match[1], 0) + blocks * 512
    return sizes


def read_cxl(tree: Tree, functions: dict[str, PciFunction]) -> tuple[list[Details], Source]:
    """CXL memory devices (tied to their function), regions, and DAX devices with the node they become."""
    entries = tree.entries("sys/bus/cxl/devices")
    if isinstance(entries, Unseen):
        return [], Source("cxl", SourceState.ABSENT, "/sys/bus/cxl is not there: no CXL, or its driver is not loaded")
    found: list[Details] = []
    for entry in sorted(entries, key=lambda entry: natural(entry.name)):
        if re.fullmatch(r"mem\d+", entry.name):
            details: Details = {
                "name": entry.name,
                "address": entry.address,
                "volatile": _hex(tree, f"{entry.path}/ram/size"),
                "persistent": _hex(tree, f"{entry.path}/pmem/size"),
                "numaNode": tree.maybe(f"{entry.path}/numa_node")
                if tree.root.exists(f"{entry.path}/numa_node")
                else None,
                "firmware": tree.text(f"{entry.path}/firmware_version"),
            }
            function = functions.get(entry.address or "")
            if function is not None:
                function.details["cxl"] = details
        elif re.fullmatch(r"region\d+", entry.name):
            details = {"name": entry.name, "size": _hex(tree, f"{entry.path}/size")}
        else:
            continue
        found.append({key: value for key, value in details.items() if value not in (None, "")})
    for name in tree.names("sys/bus/dax/devices"):
        target = tree.maybe(f"sys/bus/dax/devices/{name}/target_node")
        found.append({"name": name, "size": tree.maybe(f"sys/bus/dax/devices/{name}/size"), "targetNode": target})
    return found, Source("cxl", SourceState.READ, f"{len(found)} memory devices and regions")


def _hex(tree: Tree, path: str) -> int | None:
    text = tree.root.text(path)
    if isinstance(text, Unseen) or len(text) > 20:
        return None
    try:
        return int(text, 0)
    except ValueError:
        tree.problem(path, f"holds {text[:20]!r}, not a size")
        return None
