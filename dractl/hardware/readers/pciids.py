"""Names of vendors and devices: a capture's own, the root's or this machine's pci.ids, and a small table of our own.

pci.ids is 1.5 MB; only the blocks of the vendors that are asked for are searched, as bytes.
"""

from __future__ import annotations

from collections.abc import Iterable

from dractl.hardware.model import Source, SourceState
from dractl.hardware.names import DEVICES, VENDORS
from dractl.hardware.readers.root import Root

PLACES = ("dractl/pci.ids", "usr/share/hwdata/pci.ids", "usr/share/misc/pci.ids", "var/lib/pciutils/pci.ids")
_LIMIT = 1 << 23
_OWN_NAMES = "# the captured machine had no pci.ids"


def read_names(pairs: Iterable[tuple[int, int | None]], roots: Iterable[Root]) -> tuple[dict[str, str], Source]:
    """Names by ``10de`` and ``10de:2330``; the first root that has a pci.ids gives them, our table fills the gaps."""
    wanted = set(pairs)
    data = _find(roots)
    names: dict[str, str] = {}
    for vendor in {vendor for vendor, _ in wanted}:
        block, name = _block(data, vendor)
        if name or vendor in VENDORS:
            names[f"{vendor:04x}"] = name or VENDORS[vendor]
        for device in {device for other, device in wanted if other == vendor and device is not None}:
            found = _device(block, device) or DEVICES.get((vendor, device), "")
            if found:
                names[f"{vendor:04x}:{device:04x}"] = found
    if data and not data.startswith(b"\n" + _OWN_NAMES.encode()):
        return names, Source("pci.ids", SourceState.READ, f"{len(names)} names")
    return names, Source(
        "pci.ids", SourceState.ABSENT, "no pci.ids on this system: only well-known devices have names",
        "install pci.ids (package pci.ids or hwdata)",
    )  # fmt: skip


def _find(roots: Iterable[Root]) -> bytes:
    for root in roots:
        for place in PLACES:
            # the file itself is never recorded: a capture keeps the few lines that it needs
            record, root.record = root.record, None
            data = root.read(place, _LIMIT)
            root.record = record
            if isinstance(data, bytes) and data:
                return b"\n" + data
    return b""


def _block(data: bytes, vendor: int) -> tuple[bytes, str]:
    start = data.find(b"\n%04x  " % vendor)
    if start < 0:
        return b"", ""
    line_end = data.find(b"\n", start + 1)
    line_end = len(data) if line_end < 0 else line_end
    name = data[start + 7 : line_end].decode("utf-8", "replace").strip()
    at = line_end
    while True:
        following = data.find(b"\n", at + 1)
        if at + 1 >= len(data) or data[at + 1 : at + 2] not in {b"\t", b"#"}:
            return data[line_end:at], name
        if following < 0:
            return data[line_end:], name
        at = following


def _device(block: bytes, device: int) -> str:
    start = block.find(b"\n\t%04x  " % device)
    if start < 0:
        return ""
    end = block.find(b"\n", start + 1)
    return block[start + 8 : end if end > 0 else len(block)].decode("utf-8", "replace").strip()


def subset(names: dict[str, str], from_file: bool) -> bytes:
    """A pci.ids of the given names alone, for a capture; it remembers whether the machine had one."""
    lines = [] if from_file else [_OWN_NAMES]
    for vendor in sorted({key[:4] for key in names}):
        lines.append(f"{vendor}  {names.get(vendor, 'vendor ' + vendor)}")
        lines += [f"\t{key[5:]}  {names[key]}" for key in sorted(names) if key.startswith(vendor + ":")]
    return ("\n".join(lines) + "\n").encode()
