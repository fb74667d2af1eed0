"""The ResourceSlices that a known driver publishes for a host. Pure; the data is in ``generate.drivers``.

What a driver would say and dractl does not know is left out and said in a note: nothing is made up.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from dractl.errors import DractlError
from dractl.generate.drivers import DRIVERS, Attribute, Capacity, DeviceForm, Driver, driver_names, release_key
from dractl.hardware import publish_mig
from dractl.hardware.facts import Facts, select
from dractl.hardware.model import Host

Json = dict[str, Any]
MAX_DEVICES, MAX_DEVICES_WITH_EXTRAS = 128, 64
"""Devices of one slice; fewer where one has taints, counters or list attributes (resource.k8s.io/v1, 1.36)."""
MAX_TEXT = 64
MAX_COUNTER_SETS = 8
_LABEL = re.compile(r"^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$")
_PLACE = re.compile(r"\{([^}]+)\}")
_UNITS = (("Ti", 40), ("Gi", 30), ("Mi", 20), ("Ki", 10))


@dataclass(slots=True)
class Published:
    """Slices in v1 form, and remarks on what is not in them."""

    slices: list[Json] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Settings:
    """How the driver is run: its release (a place in ``Driver.releases``) and the gates that are on."""

    driver: Driver
    release: int
    features: frozenset[str]

    def applies(self, since: str, until: str, gate: str = "") -> bool:
        """Whether something is published by this release with these gates."""
        releases = self.driver.releases
        if since and releases and self.release < releases.index(since):
            return False
        if until and releases and self.release >= releases.index(until):
            return False
        return not gate or gate in self.features

    def at_least(self, release: str) -> bool:
        """Whether this is the given release or a newer one."""
        return self.release >= self.driver.releases.index(release)


def settings_for(name: str, version: str | None, features: frozenset[str]) -> Settings:
    """Look a driver up. DractlError for an unknown driver, release or gate."""
    driver = DRIVERS.get(name)
    if driver is None:
        raise DractlError(f"unknown driver {name!r}", f"Known drivers: {', '.join(driver_names())}.")
    unknown = features - set(driver.gates)
    if unknown:
        known = ", ".join(driver.gates) or "none"
        raise DractlError(f"{name} has no gate {', '.join(sorted(unknown))}", f"Its gates: {known}.")
    if version is None:
        return Settings(driver, max(0, len(driver.releases) - 1), features)
    try:
        return Settings(driver, release_key(driver, version), features)
    except ValueError:
        known = ", ".join(driver.releases) or "one only, leave the option out"
        raise DractlError(f"{name}: release {version} is not known", f"Known releases: {known}.") from None


def publish(
    host: Host, name: str, node: str, version: str | None = None, features: frozenset[str] = frozenset()
) -> Published:
    """The slices of one driver for this host as node ``node``. DractlError for an unknown driver, release or gate."""
    settings = settings_for(name, version, features)
    result = Published(notes=list(settings.driver.notes))
    if settings.driver.releases and version is None:
        result.notes.insert(0, f"as {name} {settings.driver.newest} publishes it; --driver-version for others")
    groups: list[list[Json]] = []
    counters: list[Json] = []
    if name == "gpu.nvidia.com" and "DynamicMIG" in features:
        counters, groups = publish_mig.dynamic(host, settings, result.notes, device)
    else:
        devices = _devices(host, settings, result.notes)
        groups = [devices] if devices else []
    result.slices = _slices(settings.driver, node, counters, groups)
    _explain_nothing(host, settings, result)
    return result


def _devices(host: Host, settings: Settings, notes: list[str]) -> list[Json]:
    devices: list[Json] = []
    for form in settings.driver.forms:
        if not settings.applies(form.since, "", form.gate) or (form.not_gate and form.not_gate in settings.features):
            continue
        for facts in select(host, form.of):
            if settings.driver.name == "gpu.nvidia.com" and not publish_mig.static_allows(form, facts, host, settings):
                continue
            made = device(form, facts, settings, notes)
            if made is not None:
                devices.append(publish_mig.with_slices(made, facts) if form.type == "mig" else made)
    return devices


def _explain_nothing(host: Host, settings: Settings, result: Published) -> None:
    if result.slices:
        return
    name = settings.driver.name
    if not host.pci_seen and settings.driver.vendors:
        result.notes.append(f"{name} publishes nothing that could be seen here: the PCI bus is not visible")
    else:
        result.notes.append(f"{name} publishes nothing for this host: it has no device that the driver would take")


# --- one device -----------------------------------------------------------------------------------------------------


def device(form: DeviceForm, facts: Facts, settings: Settings, notes: list[str]) -> Json | None:
    """One device; None (and a note) where not even its name can be told."""
    name = _filled(form.name, facts)
    if name is None or not _LABEL.match(name):
        _note(notes, f"a device of {settings.driver.name} is left out: its name ({form.name}) can not be told here")
        return None
    attributes: Json = {}
    unknown: list[str] = []
    for attribute in form.attributes:
        if not settings.applies(attribute.since, attribute.until, attribute.gate):
            continue
        value = _attribute(attribute, facts, settings)
        if value is None:
            unknown.append(attribute.name)
        elif isinstance(value.get("string"), str) and len(value["string"].encode()) > MAX_TEXT:
            _note(notes, f"{name}: {attribute.name} is longer than {MAX_TEXT} bytes, the API server would refuse it")
        else:
            attributes[attribute.name] = value
    if unknown:
        _note(notes, f"not known here and left out: {', '.join(unknown)} (of {form.type})")
    made: Json = {"name": name, "attributes": attributes}
    capacity = {
        entry.name: made_capacity
        for entry in form.capacity
        if settings.applies("", "", entry.gate) and (made_capacity := _capacity(entry, facts)) is not None
    }
    if capacity:
        made["capacity"] = capacity
    if form.shared:
        made["allowMultipleAllocations"] = True
    return made


def _filled(template: str, facts: Facts) -> str | None:
    missing = [name for name in _PLACE.findall(template) if name not in facts]
    if missing:
        return None
    return _PLACE.sub(lambda match: str(facts[match[1]]), template).lower()


def _attribute(attribute: Attribute, facts: Facts, settings: Settings) -> Json | None:
    value: Any = attribute.fact[1:] if attribute.fact.startswith("=") else facts.get(attribute.fact)
    if value is None:
        return None
    if attribute.type == "int":
        number = int(value)
        return {"ints": [number]} if attribute.list_gate in settings.features else {"int": number}
    if attribute.type == "bool":
        return {"bool": bool(value)}
    return {attribute.type: str(value)}


def _capacity(entry: Capacity, facts: Facts) -> Json | None:
    value: Any = entry.fact[1:] if entry.fact.startswith("=") else facts.get(entry.fact)
    if value is None:
        return None
    text = quantity(value)
    made: Json = {"value": text}
    if entry.default:
        policy: Json = {"default": text if entry.default == "*" else _policy_value(entry.default, facts)}
        if entry.minimum:
            policy["validRange"] = {"min": _policy_value(entry.minimum, facts), "max": text}
            if entry.step:
                policy["validRange"]["step"] = _policy_value(entry.step, facts)
        made["requestPolicy"] = _fitting(policy, value, facts)
    return made


def _fitting(policy: Json, value: Any, facts: Facts) -> Json:
    """A range whose maximum is not a whole number of steps above its minimum is refused: leave the maximum out then."""
    spread = policy.get("validRange")
    if spread and isinstance(value, int) and spread.get("step"):
        step, least = _number(spread["step"]), _number(spread["min"])
        if (value - least) % step:
            spread.pop("max")
        if (_number(policy["default"]) - least) % step:
            spread.pop("step")
    return policy


def _number(text: str) -> int:
    for unit, shift in _UNITS:
        if text.endswith(unit):
            return int(text[:-2]) << shift
    return int(text)


def _policy_value(text: str, facts: Facts) -> str:
    return str(facts[text[1:]]) if text.startswith("@") else text


def quantity(value: Any) -> str:
    """A number in the canonical binary form (``81559Mi``), or a text as it is."""
    if not isinstance(value, int):
        return str(value)
    for unit, shift in _UNITS:
        if value and value % (1 << shift) == 0:
            return f"{value >> shift}{unit}"
    return str(value)


def _note(notes: list[str], text: str) -> None:
    if text not in notes:
        notes.append(text)


# --- slices ---------------------------------------------------------------------------------------------------------


def _slices(driver: Driver, node: str, counters: list[Json], groups: list[list[Json]]) -> list[Json]:
    pieces: list[Json] = [
        {"sharedCounters": counters[at : at + MAX_COUNTER_SETS]} for at in range(0, len(counters), MAX_COUNTER_SETS)
    ]
    for group in groups:
        pieces += [{"devices": part} for part in _split(group)]
    return [
        {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceSlice",
            "metadata": {"name": _object_name(node, driver.name, number)},
            "spec": {
                "driver": driver.name,
                "nodeName": node,
                "pool": {"name": node, "generation": 1, "resourceSliceCount": len(pieces)},
                **piece,
            },
        }
        for number, piece in enumerate(pieces)
    ]


def _split(devices: list[Json]) -> Iterable[list[Json]]:
    """Parts that one slice may hold."""
    extras = any("consumesCounters" in one or "taints" in one or _has_list(one) for one in devices)
    most = MAX_DEVICES_WITH_EXTRAS if extras else MAX_DEVICES
    for at in range(0, len(devices), most):
        yield devices[at : at + most]


def _has_list(made: Json) -> bool:
    return any(key.endswith("s") for value in made["attributes"].values() for key in value)


def _object_name(node: str, driver: str, number: int) -> str:
    return f"{node}-{driver}-{number}"[-253:].lower()
