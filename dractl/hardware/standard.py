"""The standard device attributes, by the rules of Kubernetes' own helpers for drivers.

Source: k8s.io/dynamic-resource-allocation/deviceattribute (pcieRoot since 1.34, pciBusID since 1.36, numaNode since
1.37, KEP-6072). They differ from what a person would say of a strange tree: a PCI domain of more than four digits is
refused.
"""

from __future__ import annotations

import posixpath
import re

from dractl.hardware.model import NO_NUMA, PciFunction, Unseen

PREFIX = "resource.kubernetes.io/"
PCIE_ROOT, PCI_BUS_ID, NUMA_NODE = PREFIX + "pcieRoot", PREFIX + "pciBusID", PREFIX + "numaNode"
MAX_NUMA = 1024
_BDF = re.compile(r"^[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-9a-f]$")
_FOLDER = "bus/pci/devices"


class NotPublished(ValueError):
    """Why a driver can not publish the attribute, as the helper words it."""


def pci_bus_id(address: str) -> str:
    """The address itself, if it has the right form."""
    if not address:
        raise NotPublished("PCI Bus ID cannot be empty")
    if not _BDF.match(address):
        raise NotPublished(f"invalid PCI Bus ID format: {address}")
    return address


def pcie_root(address: str, target: str | None) -> str:
    """``pci0000:15`` from the link ``/sys/bus/pci/devices/<address>`` as it is written."""
    head = f"failed to resolve PCIe Root Complex for PCI Bus ID {address}: "
    try:
        pci_bus_id(address)
    except NotPublished as error:
        raise NotPublished(f"{head}{error}") from None
    if target is None:
        raise NotPublished(f"{head}failed to read symlink for PCI Bus ID {_FOLDER}/{address}: it is no link")
    place = target if target.startswith("/") else posixpath.normpath(f"{_FOLDER}/{target}")
    text = f"{head}symlink target for PCI Bus ID {address} is invalid: it must "
    if not place.startswith("devices/pci"):
        raise NotPublished(f"{text}start with devices/pci: {place}")
    if posixpath.basename(place) != address:
        raise NotPublished(f"{text}end with {address}: {place}")
    return place.split("/")[1]


def numa_node(function: PciFunction) -> int:
    """The node from numa_node; a negative one is not to be published."""
    head = f"failed to read NUMA node for PCI Bus ID {function.address}: "
    if isinstance(function.numa, Unseen):
        if function.numa == NO_NUMA:
            raise NotPublished(
                f"PCI device {function.address} has no NUMA affinity (numa_node=-1); do not publish the numaNode "
                "attribute for it"
            )
        raise NotPublished(head + function.numa.reason)
    if function.numa_from != "numa_node":
        raise NotPublished(head + "numa_node is not there")
    if function.numa >= MAX_NUMA:
        raise NotPublished(f"invalid NUMA node {function.numa}: must be below {MAX_NUMA}")
    return function.numa


def standard_attributes(function: PciFunction) -> tuple[dict[str, str | int], dict[str, str]]:
    """The attributes that a driver would publish, and for the others why it would not."""
    found: dict[str, str | int] = {}
    errors: dict[str, str] = {}
    for name, value in (
        (PCIE_ROOT, lambda: pcie_root(function.address, function.target)),
        (PCI_BUS_ID, lambda: pci_bus_id(function.address)),
        (NUMA_NODE, lambda: numa_node(function)),
    ):
        try:
            found[name] = value()
        except NotPublished as error:
            errors[name] = str(error)
    return found, errors
