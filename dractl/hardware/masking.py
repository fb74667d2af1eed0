"""Hide what identifies one piece of hardware: serial numbers, MAC addresses, UUIDs, GUIDs. Pure.

The same value always gets the same mask, so that what belonged together still does and a masked capture gives the same
answer as the machine, these values aside.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

_UUID = re.compile(rb"\b[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}\b")
_MAC = re.compile(rb"\b(?:[0-9a-fA-F]{2}:){5}(?:[0-9a-fA-F]{2}:){0,14}[0-9a-fA-F]{2}\b")
_GUID = re.compile(rb"\b(?:[0-9a-fA-F]{4}:){3}[0-9a-fA-F]{4}\b")
_MAC_NAME = re.compile(r"\benx([0-9a-f]{12})\b")
_NUMBER_LINE = re.compile(rb"^((?:unique_id|hive_id|serial_number)\s+)(\d+)$", re.MULTILINE)
_SECRET_NAMES = {
    "serial",
    "serial_number",
    "unique_id",
    "xgmi_hive_id",
    "board_serial",
    "product_serial",
    "chassis_serial",
}
_SECRET_FIELDS = {"serial"}


@dataclass(slots=True)
class Mask:
    """Masks by kind and value; ``count`` values were hidden."""

    known: dict[tuple[str, bytes], bytes] = field(default_factory=dict)

    @property
    def count(self) -> int:
        """How many different values were hidden."""
        return len(self.known)

    def _of(self, kind: str, value: bytes) -> int:
        key = (kind, value.lower())
        if key not in self.known:
            number = sum(1 for other, _ in self.known if other == kind) + 1
            self.known[key] = str(number).encode()
        return int(self.known[key])

    def file(self, path: str, data: bytes) -> bytes:
        """The content of a file with identifying values hidden."""
        name = path.rpartition("/")[2]
        if path.endswith("/cmdline"):
            # a kernel's command line may hold anything; only the options that are used are kept
            kept = [word for word in data.split() if b"iommu" in word or word.startswith(b"pcie_acs_override")]
            return b" ".join(kept) + b"\n"
        if not data.strip():
            return data
        if name in _SECRET_NAMES:
            return self._secret(name, data)
        data = self._common(data)
        if name == "properties":
            data = _NUMBER_LINE.sub(lambda match: match[1] + (b"%d" % self._of(name, match[2])), data)
        if name == "address":
            data = _MAC.sub(lambda match: self._mac(match[0]), data)
        if "guid" in name:
            data = _GUID.sub(lambda match: b"0000:0000:0000:%04x" % self._of("guid", match[0]), data)
        return data

    def _secret(self, name: str, data: bytes) -> bytes:
        value = data.strip()
        if value in {b"0", b"0x0"}:
            return data
        number = self._of(name, value)
        return (b"%016x" % number if name in {"unique_id", "xgmi_hive_id"} else b"masked-%d" % number) + b"\n"

    def _common(self, data: bytes) -> bytes:
        if b"-" not in data:
            return data
        return _UUID.sub(lambda match: b"00000000-0000-0000-0000-%012x" % self._of("uuid", match[0]), data)

    def _mac(self, value: bytes) -> bytes:
        if not value.strip(b"0:"):
            return value
        octets = value.count(b":") + 1
        digits = b"%0*x" % (2 * octets - 2, self._of("mac", value))
        return b"02:" + b":".join(digits[place : place + 2] for place in range(0, len(digits), 2))

    def path(self, path: str) -> str:
        """A path or link target; interfaces may be named by their MAC address (enx...)."""
        return _MAC_NAME.sub(lambda match: f"enx02{self._of('mac', _colons(match[1])):010x}", path)

    def record(self, value: Any, name: str = "") -> Any:
        """JSON data (NVML's answers) with identifying values hidden."""
        if isinstance(value, Mapping):
            return {key: self.record(item, str(key)) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [self.record(item, name) for item in value]
        if isinstance(value, str) and value:
            if name in _SECRET_FIELDS:
                return self._secret(name, value.encode()).decode().strip()
            return self._common(value.encode()).decode()
        return value


def _colons(digits: str) -> bytes:
    return ":".join(digits[place : place + 2] for place in range(0, 12, 2)).encode()
