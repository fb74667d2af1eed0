"""PCI configuration space: what its bytes say. Source: PCI Local Bus 3.0, PCI Express Base (chapters 7.5, 7.7.11)."""

from __future__ import annotations

from dataclasses import dataclass

HEADER = 64
"""Bytes that everybody may read; the rest needs root."""
EXTENDED = 0x100
_CAPABILITY_PCIE = 0x10
_EXTENDED_ACS = 0x000D
_SPEEDS = {1: 2.5, 2: 5.0, 3: 8.0, 4: 16.0, 5: 32.0, 6: 64.0, 7: 128.0}


@dataclass(frozen=True, slots=True)
class Acs:
    """Access Control Services of a port: whether it sends peer-to-peer traffic up instead of across."""

    request_redirect: bool
    completion_redirect: bool
    upstream_forwarding: bool

    @property
    def redirects(self) -> bool:
        """Whether peers below the same switch talk by way of the root complex."""
        return self.request_redirect or self.completion_redirect


def all_ones(config: bytes) -> bool:
    """Whether the function does not answer: every read gives ones."""
    return len(config) >= 4 and not config[:HEADER].strip(b"\xff")


def identity(config: bytes) -> tuple[int, int, int] | None:
    """Vendor, device and 24-bit class; None where the bytes are too few or all ones."""
    if len(config) < 12 or all_ones(config):
        return None
    return (
        int.from_bytes(config[0:2], "little"),
        int.from_bytes(config[2:4], "little"),
        int.from_bytes(config[9:12], "little"),
    )


def secondary_buses(config: bytes) -> tuple[int, int] | None:
    """Secondary and subordinate bus of a bridge (header type 1), else None."""
    if len(config) < 0x1B or all_ones(config) or config[0x0E] & 0x7F != 1:
        return None
    return config[0x19], config[0x1A]


def link_registers(config: bytes) -> tuple[float | None, float | None, int | None, int | None] | None:
    """Current and maximum speed (GT/s), current and maximum width from the PCI Express capability, if readable."""
    at = _capability(config, _CAPABILITY_PCIE)
    if at is None or len(config) < at + 0x14:
        return None
    limits = int.from_bytes(config[at + 0x0C : at + 0x10], "little")
    status = int.from_bytes(config[at + 0x12 : at + 0x14], "little")
    return (
        _SPEEDS.get(status & 0xF),
        _SPEEDS.get(limits & 0xF),
        (status >> 4) & 0x3F or None,
        (limits >> 4) & 0x3F or None,
    )


def acs(config: bytes) -> Acs | None:
    """The ACS control register, or None where the port has none or the bytes are not readable (root only)."""
    at = _extended(config, _EXTENDED_ACS)
    if at is None or len(config) < at + 8:
        return None
    control = int.from_bytes(config[at + 6 : at + 8], "little")
    return Acs(bool(control & 0x04), bool(control & 0x08), bool(control & 0x10))


def _capability(config: bytes, wanted: int) -> int | None:
    if len(config) <= HEADER or all_ones(config) or not config[0x06] & 0x10:
        return None
    at = config[0x34] & 0xFC
    for _ in range(48):
        if at < HEADER or at + 1 >= len(config):
            return None
        if config[at] == wanted:
            return at
        at = config[at + 1] & 0xFC
    return None


def _extended(config: bytes, wanted: int) -> int | None:
    at = EXTENDED
    for _ in range(960):
        if at < EXTENDED or at + 4 > len(config):
            return None
        header = int.from_bytes(config[at : at + 4], "little")
        if header & 0xFFFF == wanted:
            return at
        at = header >> 20
    return None
