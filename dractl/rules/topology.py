"""DRA5xx: which devices are near each other: PCIe roots, NUMA nodes, fabrics."""

from __future__ import annotations

from dractl.rules.finding import Rule

RULES: tuple[Rule, ...] = ()
