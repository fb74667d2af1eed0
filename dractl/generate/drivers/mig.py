"""MIG profiles by product, where NVML can not be asked.

Source: NVIDIA's MIG user guide (placements) and captures of ``nvidia-smi mig -lgip`` (sizes). The printed GiB are
rounded and depend on the driver: NVML's own values go before these.
"""

from __future__ import annotations

from dataclasses import dataclass

PLACEMENTS: dict[int, tuple[tuple[int, ...], int]] = {
    19: ((0, 1, 2, 3, 4, 5, 6), 1),
    20: ((0, 1, 2, 3, 4, 5, 6), 1),
    15: ((0, 2, 4, 6), 2),
    14: ((0, 2, 4), 2),
    9: ((0, 4), 4),
    5: ((0,), 4),
    0: ((0,), 8),
}
"""Starts and size in memory slices, by GPU instance profile id, for GPUs with eight memory slices."""


@dataclass(frozen=True, slots=True)
class Profile:
    """One profile: memory in GiB as printed, then SMs, copy engines, decoders, JPEG and OFA engines."""

    id: int
    name: str
    gib: float
    multiprocessors: int
    copy_engines: int
    decoders: int = 0
    jpeg_engines: int = 0
    ofa_engines: int = 0


_A100_40 = (
    Profile(19, "1g.5gb", 4.75, 14, 1), Profile(20, "1g.5gb+me", 4.75, 14, 1, 1, 1, 1),
    Profile(15, "1g.10gb", 9.75, 14, 1, 1), Profile(14, "2g.10gb", 9.75, 28, 2, 1),
    Profile(9, "3g.20gb", 19.62, 42, 3, 2),
    Profile(5, "4g.20gb", 19.62, 56, 4, 2), Profile(0, "7g.40gb", 39.38, 98, 7, 5, 1, 1),
)  # fmt: skip
_A100_80 = (
    Profile(19, "1g.10gb", 9.5, 14, 1), Profile(20, "1g.10gb+me", 9.5, 14, 1, 1, 1, 1),
    Profile(15, "1g.20gb", 19.5, 14, 1, 1), Profile(14, "2g.20gb", 19.5, 28, 2, 1),
    Profile(9, "3g.40gb", 39.25, 42, 3, 2),
    Profile(5, "4g.40gb", 39.25, 56, 4, 2), Profile(0, "7g.80gb", 79.0, 98, 7, 5, 1, 1),
)  # fmt: skip
_H100 = (
    Profile(19, "1g.10gb", 9.75, 16, 1, 1, 1), Profile(20, "1g.10gb+me", 9.75, 16, 1, 1, 1, 1),
    Profile(15, "1g.20gb", 19.62, 26, 1, 1, 1), Profile(14, "2g.20gb", 19.62, 32, 2, 2, 2),
    Profile(9, "3g.40gb", 39.5, 60, 3, 3, 3), Profile(5, "4g.40gb", 39.5, 64, 4, 4, 4),
    Profile(0, "7g.80gb", 79.25, 132, 8, 7, 7, 1),
)  # fmt: skip
_H200 = (
    Profile(19, "1g.18gb", 16.0, 16, 1, 1, 1), Profile(20, "1g.18gb+me", 16.0, 16, 1, 1, 1, 1),
    Profile(15, "1g.35gb", 32.25, 26, 1, 1, 1), Profile(14, "2g.35gb", 32.25, 32, 2, 2, 2),
    Profile(9, "3g.71gb", 69.5, 60, 3, 3, 3), Profile(5, "4g.71gb", 69.5, 64, 4, 4, 4),
    Profile(0, "7g.141gb", 140.0, 132, 8, 7, 7, 1),
)  # fmt: skip

BY_DEVICE: dict[int, tuple[Profile, ...]] = {
    0x20B0: _A100_40,
    0x20F1: _A100_40,
    0x20B1: _A100_40,
    0x20B2: _A100_80,
    0x20B5: _A100_80,
    0x2330: _H100,
    0x2335: _H200,
    0x233B: _H200,
}
"""Profiles by PCI device id; products whose values were not found whole are left out."""
AMPERE: frozenset[int] = frozenset({0x20B0, 0x20B1, 0x20B2, 0x20B5, 0x20B7, 0x20F1})
"""GPUs whose MIG mode can not be switched without a reset."""
