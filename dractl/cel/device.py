"""The variable ``device``: one device of one driver, as an expression sees it.

Attributes and capacities are maps of maps, by domain and name; a name without a domain stands under the driver's.
Source: ``k8s.io/dynamic-resource-allocation/cel/compile.go`` (DeviceMatches).
"""

from __future__ import annotations

from typing import Any

from dractl.cel.library.kubernetes import VersionError, parse_version
from dractl.cel.values import CapacityMap, CelMap, DomainMap, EvalError, StringMap, Value
from dractl.kube.objects import Device, DeviceAttribute

SCALARS = frozenset(("string", "int", "bool"))
"""Kinds of attributes whose value is used as it is."""
LISTS = frozenset(("strings", "ints", "bools", "versions"))


GOOD_VERSIONS: set[object] = set()
"""Texts that are known to be versions: they are the same on most devices."""
_KEPT_VERSIONS = 10_000


def attribute_value(attribute: DeviceAttribute) -> Value:
    """The value of an attribute; a version that is none was found by ``unusable`` before."""
    if attribute.kind == "version":
        return parse_version(str(attribute.value))
    value: Any = attribute.value
    if attribute.kind == "versions":
        return [parse_version(str(each)) for each in value]
    return list(value) if attribute.kind in LISTS else value


def unusable(device: Device, lists: bool) -> str | None:
    """Why no expression can be evaluated on a device: an attribute without a value that this release knows.

    Args:
        lists: whether attributes may be lists (gate DRAListTypeAttributes).
    """
    for name, attribute in device.attributes.items():
        kind = attribute.kind
        if kind in SCALARS:
            continue
        if kind == "version":
            if attribute.value in GOOD_VERSIONS:
                continue
            versions: Any = (attribute.value,)
        elif lists and kind in LISTS:
            versions = attribute.value if kind == "versions" else ()
        else:
            return f"attribute {name}: unsupported attribute value"
        for version in versions:
            try:
                parse_version(str(version))
            except VersionError as error:
                return f"attribute {name}: parse semantic version: {error}"
            if len(GOOD_VERSIONS) < _KEPT_VERSIONS:
                GOOD_VERSIONS.add(version)
    return None


class DeviceScope:
    """A device while one expression is evaluated on it."""

    __slots__ = ("_domains", "_map", "device", "driver")

    def __init__(self, driver: str, device: Device) -> None:
        self.driver = driver
        self.device = device
        self._map: CelMap | None = None
        self._domains: dict[tuple[str, str], StringMap] | None = None

    def reset(self, driver: str, device: Device) -> None:
        """Make this the scope of another device."""
        self.driver = driver
        self.device = device
        if self._domains is not None:
            self._domains = self._map = None

    def attribute(self, domain: str, name: str) -> DeviceAttribute | None:
        """The attribute of a name in a domain."""
        found = self.device.attributes.get(f"{domain}/{name}")
        if found is None and domain == self.driver and "/" not in name:
            found = self.device.attributes.get(name)
        return found

    def domain(self, kind: str, domain: str) -> StringMap:
        """All attributes or capacities (``kind`` is the field's name) of a domain."""
        if self._domains is None:
            self._domains = {}
        found = self._domains.get((kind, domain))
        if found is None:
            found = self._domains[kind, domain] = self._make_domain(kind, domain)
        return found

    def _make_domain(self, kind: str, domain: str) -> StringMap:
        entries: dict[Any, tuple[Value, Value]] = {}
        source: dict[str, Any] = self.device.attributes if kind == "attributes" else self.device.capacity
        for qualified, item in source.items():
            owner, slash, name = qualified.partition("/")
            if not slash:
                owner, name = self.driver, qualified
            if owner == domain:
                entries[name] = (name, attribute_value(item) if kind == "attributes" else item.value)
        return StringMap(entries) if kind == "attributes" else CapacityMap(entries)

    def outer(self, kind: str) -> DomainMap:
        """``device.attributes`` or ``device.capacity``."""
        source: dict[str, Any] = self.device.attributes if kind == "attributes" else self.device.capacity
        domains: dict[str, None] = {}
        for qualified in source:
            owner, slash, _ = qualified.partition("/")
            domains[owner if slash else self.driver] = None
        return DomainMap({domain: (domain, self.domain(kind, domain)) for domain in domains})

    def as_map(self) -> CelMap:
        """The whole of ``device``."""
        if self._map is None:
            self._domains = self._domains or {}
            self._map = StringMap(
                {
                    key: (key, value)
                    for key, value in (
                        ("driver", self.driver),
                        ("allowMultipleAllocations", self.device.allow_multiple_allocations),
                        ("attributes", self.outer("attributes")),
                        ("capacity", self.outer("capacity")),
                    )
                }
            )
        return self._map


def missing(domain: str, name: str) -> EvalError:
    """The error for an attribute or capacity that a device does not have."""
    return EvalError(f"no such key: {name}", (domain, name))
