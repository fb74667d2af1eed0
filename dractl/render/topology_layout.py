"""Where the boxes of a drawing of a host are: computed once, drawn by thin back-ends. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

WIDTH = 1180
"""Pixels of a drawing; it is made for a page or a screen of 1,200."""
MARGIN, PADDING, GAP, TITLE = 16, 10, 8, 20
DEVICE_WIDTH, LINE, DEVICE_LINES = 154, 14, 4
_PIXELS_PER_CHARACTER = 6.7
"""Of the widest common font at 11 pixels; texts are cut by it so that they stay in their box."""
COLOURS = {
    "gpu": ("#d7f0d8", "#2e7d32"),
    "accelerator": ("#ffe8cc", "#b35c00"),
    "fpga": ("#ecdcf7", "#6a1b9a"),
    "nic": ("#d6e8fb", "#1456a0"),
    "nvme": ("#e6e6e6", "#555555"),
    "cxl": ("#d3f1ee", "#00695c"),
    "fabric-switch": ("#fff6c2", "#8a6d00"),
    "storage": ("#eeeeee", "#777777"),
    "display": ("#eeeeee", "#777777"),
    "other": ("#f5f5f5", "#888888"),
}
"""Fill and line by kind of device."""
KIND_NAMES = {
    "gpu": "GPU", "accelerator": "accelerator", "fpga": "FPGA", "nic": "NIC", "nvme": "NVMe", "cxl": "CXL memory",
    "fabric-switch": "fabric switch", "storage": "storage", "display": "display", "other": "other",
}  # fmt: skip
CONTAINERS = {
    "package": ("#f7f7f4", "#8c8c80"),
    "numa": ("#ffffff", "#a9a99c"),
    "root": ("#f3f6fa", "#8fa3bd"),
    "bridge": ("#ffffff", "#b6bfcc"),
    "machine": ("#ffffff", "#ffffff"),
}


@dataclass(slots=True)
class Box:
    """A rectangle with its texts; positions are absolute after ``place``."""

    type: str
    title: str
    lines: list[str] = field(default_factory=list)
    kind: str = ""
    broken: bool = False
    tip: str = ""
    x: float = 0
    y: float = 0
    width: float = 0
    height: float = 0
    children: list[Box] = field(default_factory=list)

    def move(self, dx: float, dy: float) -> None:
        """Shift it with all that is in it."""
        self.x += dx
        self.y += dy
        for child in self.children:
            child.move(dx, dy)


def cut(text: str, pixels: float) -> str:
    """The text, cut so that it fits."""
    most = max(3, int(pixels / _PIXELS_PER_CHARACTER))
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"


def layout(report: Mapping[str, Any]) -> Box:
    """All boxes of a HostReport, the machine's first, placed from (0, 0)."""
    devices = {device["label"]: device for device in report["devices"]}
    top = _box(report["topology"]["tree"], devices, "")
    _arrange(top, WIDTH - 2 * MARGIN)
    top.width = max(top.width, 640)
    return top


def _box(node: Mapping[str, Any], devices: Mapping[str, Any], port: str) -> Box:
    if node["type"] == "device":
        return _device(node, devices.get(node["name"], {}), port)
    children = node.get("children", [])
    if node["type"] == "bridge" and len(children) == 1 and children[0]["type"] == "device":
        # a port with one device: say the port in the device's box instead of a box around it
        return _box(children[0], devices, node["name"])
    words = {"root": "PCI root ", "bridge": "switch "}
    name = node["name"]
    shown = _short(name) if node["type"] == "bridge" else name
    title = words.get(node["type"], "") + shown if not name.startswith(("not on", "PCI root")) else name
    box = Box(node["type"], title, [node["text"]] if node.get("text") else [], tip=name)
    box.children = [_box(child, devices, "") for child in children]
    return box


def _short(name: str) -> str:
    """Addresses without the domain when it is the usual one."""
    return name.replace("0000:", "")


def _device(node: Mapping[str, Any], device: Mapping[str, Any], port: str) -> Box:
    address = device.get("address") or "no address"
    names = [rdma["name"] for rdma in device.get("rdma", [])] + [one["name"] for one in device.get("netdevs", [])]
    state = device.get("state", "")
    last = state or ", ".join(names) or _link(device.get("link"))
    product = (device.get("product") or device.get("pciId") or "").removeprefix(f"{device.get('vendor', '')} ")
    lines = [address, product, last]
    tip = " ".join(
        part for part in (node["name"], node.get("text", ""), f"below {port}" if port else "", state) if part
    )
    if port:
        domain = address.partition(":")[0]
        lines[0] = f"{_short(address)} < {port.removeprefix(domain + ':')}"
    return Box("device", node["name"], lines, node.get("kind", "other"), bool(state), tip)


def _link(link: Mapping[str, Any] | None) -> str:
    if not link or not link.get("width"):
        return ""
    return (f"gen{link['generation']} " if link.get("generation") else "") + f"x{link['width']}"


def _arrange(box: Box, available: float) -> None:
    """Sizes and positions of everything in a box, relative to (0, 0); rows are filled and wrapped."""
    if box.type == "device":
        box.width, box.height = DEVICE_WIDTH, LINE * DEVICE_LINES + PADDING
        return
    head = 0 if box.type == "machine" else TITLE + (LINE if box.lines and box.type == "package" else 0)
    inner = available - 2 * PADDING
    x, y, row, widest = float(PADDING), float(head + (PADDING if head == 0 else 4)), 0.0, 0.0
    for child in box.children:
        _arrange(child, inner)
        if x > PADDING and x + child.width > PADDING + inner + 0.5:
            x, y, row = float(PADDING), y + row + GAP, 0.0
        child.move(x, y)
        x += child.width + GAP
        row = max(row, child.height)
        widest = max(widest, x - GAP + PADDING)
    text = (len(title_of(box)) + 1) * _PIXELS_PER_CHARACTER + 2 * PADDING
    box.width = min(max(widest, min(text, available), 150), available)
    box.height = y + row + PADDING if box.children else head + PADDING
    if box.type in {"package", "machine"}:
        box.width = available


def title_of(box: Box) -> str:
    """Title of a container with its text."""
    return f"{box.title}: {box.lines[0]}" if box.lines and box.type in {"numa", "package"} else box.title


def kinds(box: Box) -> list[str]:
    """Kinds of devices in a drawing, in the order of the colours."""
    found: set[str] = set()

    def walk(one: Box) -> None:
        if one.kind:
            found.add(one.kind)
        for child in one.children:
            walk(child)

    walk(box)
    return [kind for kind in COLOURS if kind in found]


def fabric(report: Mapping[str, Any]) -> str:
    """How the GPUs are tied to each other, where one word says it for all pairs."""
    matrix = report["topology"]["matrix"]
    labels = matrix["labels"]
    places = [place for place, label in enumerate(labels) if label.startswith(("GPU", "ACC"))]
    words = {matrix["rows"][one][two] for one in places for two in places if one != two}
    if len(places) < 2 or len(words) != 1:
        return ""
    word = next(iter(words))
    if word.startswith("NV"):
        return f"every GPU pair: {word} ({word[2:]} NVLinks)"
    return f"every GPU pair: {word}" if word == "XGMI" else ""
