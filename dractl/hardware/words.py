"""Small pieces of wording that findings and reports share."""

from __future__ import annotations

from collections.abc import Iterable

from dractl.hardware.model import Device
from dractl.rules.finding import ObjectRef


def listed(names: Iterable[str], most: int = 8) -> str:
    """``a, b and c``; beyond ``most`` the rest is counted."""
    all_names = list(names)
    if len(all_names) > most:
        return f"{', '.join(all_names[:most])} and {len(all_names) - most} more"
    if len(all_names) < 2:
        return "".join(all_names)
    return f"{', '.join(all_names[:-1])} and {all_names[-1]}"


def plural(count: int, word: str) -> str:
    """The word for that many."""
    if count == 1:
        return word
    return word + ("es" if word.endswith("ch") else "s")


def titled(device: Device) -> str:
    """``GPU0 0000:17:00.0 (H100)``."""
    product = f" ({device.product})" if device.product else ""
    return f"{device.label} {device.address or 'without address'}{product}"


def subject(device: Device) -> ObjectRef:
    """A device of a host as the subject of a finding."""
    return ObjectRef("HostDevice", device.address or device.label)


def amount(size: int) -> str:
    """Bytes in the largest fitting binary unit: ``79.6 GiB``."""
    value = float(size)
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if value < 1024 or unit == "TiB":
            text = f"{value:.1f}".rstrip("0").rstrip(".")
            return f"{text} {unit}"
        value /= 1024
    return str(size)
