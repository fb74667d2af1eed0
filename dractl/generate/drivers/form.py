"""The form of the data about drivers.

An attribute takes its value from a *fact* about a device, by name (``nvml.uuid``, ``std.pcieRoot``); ``=text`` is a
constant. ``hardware.facts`` knows the facts of a real host. Releases are ordered by ``Driver.releases``, the oldest
first, since numbers do not order them (NVIDIA's 0.4 is newer than 25.12).
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Attribute:
    """An attribute of a published device. ``name`` without a slash is in the driver's own domain.

    ``type`` is string, int, bool or version. ``since`` and ``until`` (exclusive) are releases of the driver, ``gate`` a
    gate of the driver that must be on, ``list_gate`` one that turns the value into a list of one.
    """

    name: str
    type: str
    fact: str
    since: str = ""
    until: str = ""
    gate: str = ""
    list_gate: str = ""


@dataclass(frozen=True, slots=True)
class Capacity:
    """A capacity. ``default``, ``minimum``, ``step`` make a requestPolicy with a range; ``*`` as default is all."""

    name: str
    fact: str
    default: str = ""
    minimum: str = ""
    step: str = ""
    gate: str = ""


@dataclass(frozen=True, slots=True)
class DeviceForm:
    """One kind of device that a driver publishes.

    ``of`` names the selection of a host's devices (see ``hardware.facts``), ``name`` is a template over facts. ``gate``
    must be on, ``not_gate`` off.
    """

    type: str
    of: str
    name: str
    attributes: tuple[Attribute, ...]
    capacity: tuple[Capacity, ...] = ()
    shared: bool = False
    gate: str = ""
    not_gate: str = ""
    since: str = ""


@dataclass(frozen=True, slots=True)
class DeviceClassData:
    """A DeviceClass that the driver's chart installs: its CEL expression and extended resource, if any."""

    name: str
    expression: str
    extended_resource: str = ""
    since: str = ""


@dataclass(frozen=True, slots=True)
class PluginResource:
    """An extended resource of a device plugin for the same hardware, and what asks for the same from this driver."""

    name: str
    device_class: str
    expression: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class ConfigKind:
    """A kind of opaque parameters: its API version, and its fields as dotted paths with the values they take."""

    api_version: str
    kind: str
    fields: tuple[tuple[str, str], ...] = ()
    gate: str = ""


@dataclass(frozen=True, slots=True)
class Driver:
    """A DRA driver. ``address`` names the attributes that tell which PCI function a device is; ``vendors`` are the PCI
    vendors whose hardware it is for; ``daemonset`` runs it; ``notes`` are what its slices cannot show from a host."""

    name: str
    title: str
    source: str
    forms: tuple[DeviceForm, ...]
    releases: tuple[str, ...] = ()
    vendors: tuple[int, ...] = ()
    address: tuple[str, ...] = ()
    classes: tuple[DeviceClassData, ...] = ()
    plugin_resources: tuple[PluginResource, ...] = ()
    configs: tuple[ConfigKind, ...] = ()
    gates: tuple[str, ...] = ()
    daemonset: str = ""
    daemonset_labels: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def newest(self) -> str:
        """The newest release that the data describes."""
        return self.releases[-1] if self.releases else ""


def release_key(driver: Driver, version: str) -> int:
    """Place of a release among the driver's; ``0.4.1`` falls to ``0.4``. ValueError for an unknown one."""
    text = version.removeprefix("v")
    while text:
        if text in driver.releases:
            return driver.releases.index(text)
        text = text.rpartition(".")[0]
    raise ValueError(version)


PCIE_ROOT = Attribute("resource.kubernetes.io/pcieRoot", "string", "std.pcieRoot")
PCI_BUS_ID = Attribute("resource.kubernetes.io/pciBusID", "string", "std.pciBusID")
NUMA_NODE = Attribute("resource.kubernetes.io/numaNode", "int", "std.numaNode", list_gate="DRAListTypeAttributes")
