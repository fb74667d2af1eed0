"""What devices there are to ask for, under which names: from a fleet's slices, else from what is known of drivers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from dractl.cel.environment import Environment
from dractl.cel.selector import compile_selector
from dractl.inventory import Inventory
from dractl.inventory.pools import PublishedDevice
from dractl.kube.drivers import CLASSES, DRIVERS, PRODUCT_MEMORY, STANDARD, Driver
from dractl.kube.objects import DeviceClass
from dractl.kube.quantity import Quantity

Name = tuple[str, str]
"""Domain and name of an attribute or capacity."""

DRIVERS_OF: Mapping[str, tuple[tuple[str, str], ...]] = {
    "gpu": (("gpu.nvidia.com", "gpu"), ("gpu.amd.com", "amdgpu"), ("gpu.intel.com", "")),
    "mig": (("gpu.nvidia.com", "mig"),),
    "nic": (("dra.net", ""), ("sriovnetwork.k8snetworkplumbingwg.io", "")),
    "cpu": (("dra.cpu", ""),),
}
"""Drivers, and the value of their attribute ``type``, behind each kind of device; the usual one first."""

PRODUCT_NAMES = ("productName", "model")
_UNTYPED = frozenset({"gpu.intel.com", "dra.net", "dra.cpu", "sriovnetwork.k8snetworkplumbingwg.io"})
"""Drivers whose attribute ``type`` does not tell kinds of devices apart."""
_SAMPLE = 64


@dataclass(slots=True)
class Field:
    """An attribute: its type, whether some devices lack it, the values seen, the driver release that brought it."""

    kind: str
    optional: bool = False
    values: Counter[str] = field(default_factory=Counter)
    since: str = ""


@dataclass(slots=True)
class Source:
    """Devices of one driver and type.

    ``device_class`` is the class to ask for them by; ``class_known`` says whether the fleet has it (None: no fleet);
    ``needs_type`` that the class takes other types too. ``shared`` tells whether some can be shared (None: not known).
    """

    driver: str
    type: str
    attributes: dict[Name, Field]
    capacities: dict[Name, Field]
    device_class: str
    class_known: bool | None = None
    needs_type: bool = False
    shared: bool | None = None
    devices: int = 0
    nodes: int = 0

    @property
    def product(self) -> Name | None:
        """The attribute that holds the product's name."""
        return next(((self.driver, name) for name in PRODUCT_NAMES if (self.driver, name) in self.attributes), None)

    @property
    def products(self) -> list[str]:
        """Product names that devices have, or that are known of."""
        name = self.product
        seen = list(self.attributes[name].values) if name else []
        return seen or list(PRODUCT_MEMORY.get(self.driver, ()))

    @property
    def title(self) -> str:
        """The driver, with the type where it has several."""
        return f"{self.driver} ({self.type})" if self.type else self.driver


class Catalog:
    """All sources: those of a fleet if there is one."""

    def __init__(self, inventory: Inventory | None = None, environment: Environment | None = None) -> None:
        self.inventory = inventory
        self._fleet = _from_fleet(inventory, environment) if inventory is not None and environment is not None else {}

    @property
    def fleet(self) -> list[Source]:
        """The sources that the fleet publishes, sorted by driver and type."""
        return [self._fleet[key] for key in sorted(self._fleet)]

    def sources(self, kind: str, driver: str = "") -> tuple[list[Source], bool]:
        """Sources for a kind of device, and whether they are the fleet's.

        Without any in the fleet (or without a fleet) those that are known. ``driver`` is for kind ``device``.
        """
        if kind == "device":
            mine = [one for one in self.fleet if one.driver == driver]
            known = [_known(driver, name) for name in _types(driver)] if driver in DRIVERS else []
            return (mine, True) if mine else (known, False)
        wanted = DRIVERS_OF[kind]
        mine = [one for one in self.fleet if _is_kind(one, kind)]
        if mine:
            order = {name: place for place, (name, _) in enumerate(wanted)}
            return sorted(mine, key=lambda one: (order.get(one.driver, 99), one.driver)), True
        return [_known(name, type_) for name, type_ in wanted], False


def _is_kind(source: Source, kind: str) -> bool:
    if any(source.driver == name and type_ in ("", source.type) for name, type_ in DRIVERS_OF[kind]):
        return True
    listed = any(source.driver == name for pairs in DRIVERS_OF.values() for name, _ in pairs)
    return kind == "gpu" and not listed and source.driver.startswith("gpu.") and source.type in ("", "gpu")


# --- known drivers --------------------------------------------------------------------------------------------------


def _types(driver: str) -> list[str]:
    types = list(dict.fromkeys(DRIVERS[driver].classes.values()))
    return types or [""]


def _known(name: str, type_: str) -> Source:
    driver = DRIVERS[name]
    attributes = {
        key: Field(item.kind, item.optional, since=item.since)
        for key, item in driver.attributes.items()
        if not item.types or type_ in item.types or not type_
    }
    capacities = {
        _qualified(key, name): Field("quantity")
        for key, types in driver.capacities.items()
        if not types or type_ in types or not type_
    }
    chart = class_of(driver, type_)
    # the chart of AMD's driver has one class for whole GPUs and partitions
    return Source(
        name,
        type_,
        attributes,
        capacities,
        chart or name,
        needs_type=bool(type_) and CLASSES.get(chart) != (name, type_),
    )


def class_of(driver: Driver, type_: str) -> str:
    """The chart's class for a type of a driver; empty if the chart brings none."""
    exact = [name for name, kind in driver.classes.items() if kind == type_]
    wide = [name for name, kind in driver.classes.items() if not kind]
    return next(iter([*exact, *wide]), "")


def _qualified(name: str, driver: str) -> Name:
    domain, slash, last = name.rpartition("/")
    return (domain, last) if slash else (driver, name)


# --- a fleet --------------------------------------------------------------------------------------------------------


def _from_fleet(inventory: Inventory, environment: Environment) -> dict[tuple[str, str], Source]:
    groups: dict[tuple[str, str], list[PublishedDevice]] = {}
    for key, published in inventory.devices.items():
        groups.setdefault((key.driver, _type_of(key.driver, published)), []).append(published)
    found = {place: _source(*place, members) for place, members in groups.items()}
    _choose_classes(found, groups, inventory.classes.values(), environment)
    return found


def _type_of(driver: str, published: PublishedDevice) -> str:
    if driver in _UNTYPED:
        return ""
    value = published.device.attributes.get("type") or published.device.attributes.get(f"{driver}/type")
    return value.value if value is not None and isinstance(value.value, str) else ""


def _source(driver: str, type_: str, members: list[PublishedDevice]) -> Source:
    attributes: dict[Name, Field] = {}
    capacities: dict[Name, Field] = {}
    for published in members:
        for name, attribute in published.device.attributes.items():
            entry = attributes.setdefault(_qualified(name, driver), Field(attribute.kind))
            value = attribute.value
            entry.values[_shown(value[0] if isinstance(value, tuple) and value else value)] += 1
        for name, capacity in published.device.capacity.items():
            entry = capacities.setdefault(_qualified(name, driver), Field("quantity"))
            entry.values[str(capacity.value)] += 1
    for entry in (*attributes.values(), *capacities.values()):
        entry.optional = entry.values.total() < len(members)
    return Source(
        driver,
        type_,
        attributes,
        capacities,
        driver,
        class_known=False,
        shared=any(published.device.allow_multiple_allocations for published in members),
        devices=len(members),
        nodes=len({published.node_name for published in members if published.node_name}),
    )


def _shown(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _choose_classes(
    found: dict[tuple[str, str], Source],
    groups: dict[tuple[str, str], list[PublishedDevice]],
    classes: Iterable[DeviceClass],
    environment: Environment,
) -> None:
    """Give each source the class that takes the most of its devices; the chart's own among equals."""
    samples = {place: members[:: max(1, len(members) // _SAMPLE)][:_SAMPLE] for place, members in groups.items()}
    taken = {one.meta.name: _coverage(one, samples, environment) for one in classes}
    for place, source in found.items():
        known = DRIVERS.get(source.driver)
        chart = class_of(known, source.type) if known else ""
        ranked = sorted(
            (-covered[place], name not in (chart, source.driver), sum(covered.values()), len(name), name)
            for name, covered in taken.items()
            if covered.get(place)
        )
        source.device_class = ranked[0][-1] if ranked else chart or source.driver
        source.class_known = bool(ranked)
        if ranked and source.type:
            covered = taken[source.device_class]
            source.needs_type = any(
                number and other != place and other[0] == source.driver for other, number in covered.items()
            )


def _coverage(
    item: DeviceClass, samples: Mapping[tuple[str, str], list[PublishedDevice]], environment: Environment
) -> dict[tuple[str, str], int]:
    selectors = [compile_selector(one.cel, environment) for one in item.selectors if one.cel is not None]
    if any(one.error is not None for one in selectors):
        return {}
    return {
        place: sum(all(one.evaluate(place[0], each.device).match for one in selectors) for each in members)
        for place, members in samples.items()
    }


def largest(entry: Field) -> Quantity | None:
    """The largest amount seen."""
    return max((Quantity.parse(text) for text in entry.values), default=None)


def standard(name: str) -> Name:
    """An attribute of the standard domain."""
    return (STANDARD, name)
