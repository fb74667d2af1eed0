"""What one manifest defines and refers to, kept small, so that thousands of files can be compared with each other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from dractl.cel.environment import Environment
from dractl.validation.advice import selectors_of
from dractl.validation.model import ClaimView, Json, Path, at, claim_view, entries, mapping, pod_views, text, whole


@dataclass(slots=True)
class Spot:
    """A place in the object: path, whether its key is meant, a character in the text."""

    path: Path
    key: bool = False
    offset: int | None = None


@dataclass(slots=True)
class Use:
    """A name that something else has to define: of a DeviceClass, ResourceClaim or ResourceClaimTemplate."""

    kind: str
    name: str
    spot: Spot
    requests: list[tuple[str, Spot]] = field(default_factory=list)
    """Requests of that claim that containers name."""


@dataclass(slots=True)
class ClassUse:
    """Something in a claim that depends on the classes of its requests.

    ``what`` is config (``name`` is the driver), match or distinct (the attribute), selector (the drivers it asks for)
    or read (the domain of an attribute that is read without a guard).
    """

    what: str
    name: str
    classes: tuple[str, ...]
    spot: Spot
    requests: tuple[str, ...] = ()


@dataclass(slots=True)
class SliceFacts:
    """What of a slice matters for its pool."""

    driver: str
    pool: str
    generation: int
    count: int
    count_spot: Spot
    devices: dict[str, Spot]
    counters: dict[str, frozenset[str]]
    consumes: list[tuple[str, str, str, Spot]]
    """Device, counter set, counter."""


@dataclass(slots=True)
class Facts:
    """One object's part in the whole."""

    kind: str
    namespace: str
    name: str
    spot: Spot
    uses: list[Use] = field(default_factory=list)
    class_uses: list[ClassUse] = field(default_factory=list)
    requests: frozenset[str] | None = None
    drivers: frozenset[str] | None = None
    """Of a class: the drivers that its selectors let through; None if they do not say."""
    extended: str = ""
    extended_spot: Spot | None = None
    slice: SliceFacts | None = None
    labels: dict[str, str] | None = None
    admin: Spot | None = None
    resources: list[tuple[str, Spot]] = field(default_factory=list)
    """Extended resources that containers ask for."""

    def spots(self) -> Iterator[Spot]:
        """Every place that a later finding may need, in an order that is the same for objects that are alike."""
        yield self.spot
        for use in self.uses:
            yield use.spot
            yield from (spot for _, spot in use.requests)
        yield from (use.spot for use in self.class_uses)
        if self.extended_spot is not None:
            yield self.extended_spot
        if self.admin is not None:
            yield self.admin
        yield from (spot for _, spot in self.resources)
        if self.slice is not None:
            yield self.slice.count_spot
            yield from self.slice.devices.values()
            yield from (spot for *_, spot in self.slice.consumes)


def collect(value: Json, environment: Environment, namespace: str = "default") -> Facts | None:
    """The facts of an object; None for kinds that play no part. ``namespace`` is where it goes if it names none."""
    kind = text(value.get("kind"))
    meta = mapping(value.get("metadata"))
    name = text(meta.get("name"))
    facts = Facts(kind, text(meta.get("namespace")) or namespace, name, Spot(("metadata", "name")))
    claim = claim_view(value)
    if claim is not None:
        _claim(facts, claim, environment)
    elif kind == "DeviceClass":
        _device_class(facts, value, environment)
    elif kind == "ResourceSlice":
        facts.slice = _slice(value)
    elif kind == "Namespace":
        facts.labels = {str(key): str(item) for key, item in mapping(meta.get("labels")).items()}
        facts.namespace = ""
    else:
        for pod in pod_views(value):
            _pod(facts, pod.path, pod.spec)
        if not facts.uses and not facts.resources:
            return None
    return facts


def _claim(facts: Facts, claim: ClaimView, environment: Environment) -> None:
    facts.requests = frozenset(claim.request_names)
    for request in claim.requests:
        name = request.device_class
        if name:
            facts.uses.append(Use("DeviceClass", name, Spot((*request.path, "deviceClassName"))))
        if request.body.get("adminAccess") is True and facts.admin is None:
            facts.admin = Spot((*request.path, "adminAccess"))
        if request.body.get("selectors") and name:
            asked = False
            for path, _, view in selectors_of(request.body, request.path, environment):
                if view.drivers is not None:
                    for driver in view.drivers:
                        facts.class_uses.append(ClassUse("selector", driver, (name,), Spot(path), (request.name,)))
                    asked = True
                read = next((read for read in view.reads if not read.asked), None)
                if read is not None and not asked and not view.guarded:
                    spot = Spot(path, offset=read.offset)
                    facts.class_uses.append(ClassUse("read", read.domain, (name,), spot, (request.name, read.name)))
    for path, entry in claim.config():
        driver = text(at(entry, "opaque", "driver"))
        chosen = claim.chosen(entry.get("requests"))
        if driver and chosen:
            classes = tuple(dict.fromkeys(view.device_class for view in chosen))
            facts.class_uses.append(ClassUse("config", driver, classes, Spot((*path, "opaque", "driver"))))
    for path, entry in claim.constraints():
        for field_name, what in (("matchAttribute", "match"), ("distinctAttribute", "distinct")):
            attribute = text(entry.get(field_name))
            chosen = claim.chosen(entry.get("requests"))
            if attribute and chosen:
                classes = tuple(dict.fromkeys(view.device_class for view in chosen))
                names = tuple(view.name for view in chosen)
                facts.class_uses.append(ClassUse(what, attribute, classes, Spot((*path, field_name)), names))


def _device_class(facts: Facts, value: Json, environment: Environment) -> None:
    spec = mapping(value.get("spec"))
    facts.namespace = ""
    drivers: frozenset[str] | None = None
    for _, _, view in selectors_of(spec, ("spec",), environment):
        if view.drivers is not None:
            drivers = view.drivers if drivers is None else drivers & view.drivers
    facts.drivers = drivers
    for index, entry in entries(spec.get("config")):
        driver = text(at(entry, "opaque", "driver"))
        if driver and drivers is not None and driver not in drivers:
            path: Path = ("spec", "config", index, "opaque", "driver")
            facts.class_uses.append(ClassUse("config", driver, (facts.name,), Spot(path)))
    facts.extended = text(spec.get("extendedResourceName"))
    if facts.extended:
        facts.extended_spot = Spot(("spec", "extendedResourceName"))


def _pod(facts: Facts, path: Path, spec: Mapping[str, Any]) -> None:
    by_entry: dict[str, Use] = {}
    for index, claim in entries(spec.get("resourceClaims")):
        for field_name, kind in (
            ("resourceClaimTemplateName", "ResourceClaimTemplate"),
            ("resourceClaimName", "ResourceClaim"),
        ):
            name = text(claim.get(field_name))
            if name:
                use = Use(kind, name, Spot((*path, "resourceClaims", index, field_name)))
                by_entry[text(claim.get("name"))] = use
                facts.uses.append(use)
    for group in ("initContainers", "containers"):
        for index, container in entries(spec.get(group)):
            base = (*path, group, index, "resources")
            for number, claim in entries(at(container, "resources", "claims")):
                wanted, entry = text(claim.get("request")), by_entry.get(text(claim.get("name")))
                if wanted and entry is not None:
                    entry.requests.append((wanted, Spot((*base, "claims", number, "request"))))
            for resource in mapping(at(container, "resources", "limits")):
                if "/" in resource:
                    facts.resources.append((resource, Spot((*base, "limits", resource), key=True)))


def _slice(value: Json) -> SliceFacts:
    spec = mapping(value.get("spec"))
    pool = mapping(spec.get("pool"))
    devices: dict[str, Spot] = {}
    consumes: list[tuple[str, str, str, Spot]] = []
    for index, device in entries(spec.get("devices")):
        path: Path = ("spec", "devices", index)
        name = text(device.get("name"))
        devices[name] = Spot((*path, "name"))
        basic = device.get("basic")
        body, base = (mapping(basic), (*path, "basic")) if isinstance(basic, dict) else (device, path)
        for number, entry in entries(body.get("consumesCounters")):
            for counter in mapping(entry.get("counters")):
                spot = Spot((*base, "consumesCounters", number, "counters", counter), key=True)
                consumes.append((name, text(entry.get("counterSet")), counter, spot))
    counters = {
        text(one.get("name")): frozenset(mapping(one.get("counters"))) for _, one in entries(spec.get("sharedCounters"))
    }
    return SliceFacts(
        text(spec.get("driver")),
        text(pool.get("name")),
        whole(pool.get("generation")) or 0,
        whole(pool.get("resourceSliceCount")) or 0,
        Spot(("spec", "pool", "resourceSliceCount")),
        devices,
        counters,
        consumes,
    )
