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
    example="GPUs under pci0000:15 to d7, NICs under pci0000:e0 to e7",
    reference="resource.kubernetes.io/pcieRoot; /sys/devices/pci*",
    needs=("ResourceSlice",),
)

ALLOCATED_ACROSS_ROOTS = Rule(
    "DRA511",
    "allocated-across-roots",
    "A pod's GPU and NIC are under different PCIe roots although a nearer pair was there",
    Severity.WARNING,
    cause="Without a constraint the scheduler takes the first devices that match, wherever they hang. Traffic between "
    "them then crosses the CPUs' interconnect.",
    fix="Constrain the requests: matchAttribute resource.kubernetes.io/pcieRoot. The claim has to be made anew.",
    example="gpu-0 under pci0000:15 and a NIC under pci0000:d7, while a NIC under pci0000:15 was free",
    reference="KEP-4381, resource.kubernetes.io/pcieRoot",
    needs=("ResourceClaim", "ResourceSlice"),
)
CPU_ON_OTHER_NUMA = Rule(
    "DRA512",
    "cpu-on-other-numa",
    "A pod's CPUs and its device are on different NUMA nodes",
    Severity.WARNING,
    cause="CPUs from a driver and a device were chosen independently.",
    fix="Put both requests under one constraint on an attribute that both drivers publish with the same name and type; "
    "where they do not, select the NUMA node in both requests.",
    example="cpudevnuma001 beside gpu-0 of NUMA node 0",
    reference="resource.kubernetes.io/numaNode (KEP-6072), dra.cpu/numaNodeID",
    needs=("ResourceClaim", "ResourceSlice"),
)
ATTRIBUTE_NAMES_DIFFER = Rule(
    "DRA513",
    "attribute-names-differ",
    "Drivers publish one property under different names",
    Severity.INFO,
    cause="matchAttribute compares one fully qualified name. Devices that carry the property under another name (or "
    "type) are refused, so such a constraint between these drivers can never be met.",
    fix="Use an attribute that all of them publish (resource.kubernetes.io/pcieRoot, from 1.37 on "
    "resource.kubernetes.io/numaNode), or select the value in each request.",
    example="gpu.intel.com/pciRoot beside resource.kubernetes.io/pcieRoot",
    reference="resource.k8s.io/v1 DeviceConstraint.matchAttribute",
    needs=("ResourceSlice",),
)
FRAGMENTED = Rule(
    "DRA514",
    "fragmented",
    "Enough devices are free, but not together on one node",
    Severity.WARNING,
    cause="A claim's devices have to be on one node. Claims that take single devices are spread over the nodes, so "
    "that what is free adds up to enough and no node has enough by itself.",
    fix="Move the small claims of one node away (the nearest is named), or ask for fewer devices with firstAvailable.",
    example="a claim wants 4 GPUs; three are free on each of two nodes",
    reference="the scheduler allocates a claim for one node; it does not move what is placed",
    needs=("ResourceClaim", "ResourceSlice"),
)

RULES: tuple[Rule, ...] = (
    DISJOINT_ROOTS,
    ALLOCATED_ACROSS_ROOTS,
    CPU_ON_OTHER_NUMA,
    ATTRIBUTE_NAMES_DIFFER,
    FRAGMENTED,
)
