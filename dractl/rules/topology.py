"""DRA5xx: which devices are near each other: PCIe roots, NUMA nodes, fabrics."""

from __future__ import annotations

from dractl.rules.finding import Rule, Severity

DISJOINT_ROOTS = Rule(
    "DRA510",
    "disjoint-roots",
    "Two kinds of devices of a node never share a PCIe root",
    Severity.INFO,
    cause="On ordinary machines each NIC for GPUs hangs under a root that GPUs hang under as well. Where no root is "
    "common the machine is wired otherwise, or a driver reports roots wrongly (a virtual machine, a wrong sysfs).",
    fix="Compare with the machine: dractl discover on that node, or lspci -t. If the wiring is so, a constraint on the "
    "root can never be met there.",
    needs=("ResourceSlice",),
)

RULES: tuple[Rule, ...] = (DISJOINT_ROOTS,)
