"""Rules that take several objects: references between manifests, pools of slices, and what depends on a class.

Objects that a cluster or snapshot has (``Known``) count as well. Without one, a name that is nowhere defined is only
reported where a similar one is, or where the manifests are said to be complete.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from dractl.kube import drivers as known_drivers
from dractl.rules import advice as rules
from dractl.rules import allocation
from dractl.rules import manifests as refusals
from dractl.validation.facts import ClassUse, Facts, SliceFacts, Spot, Use
from dractl.validation.factstore import FactStore
from dractl.validation.model import Fault
from dractl.validation.settings import Settings
from dractl.validation.versions import closest

Raised = tuple[Facts, Spot, Fault]
"""Which object (and all that are alike to it), where in it, what."""

_KIND_RULES = {
    "DeviceClass": rules.CLASS_NOT_HERE,
    "ResourceClaimTemplate": rules.TEMPLATE_NOT_HERE,
    "ResourceClaim": rules.CLAIM_NOT_HERE,
}
_OTHER_KIND = {"ResourceClaim": "ResourceClaimTemplate", "ResourceClaimTemplate": "ResourceClaim"}
ADMIN_LABEL = "resource.kubernetes.io/admin-access"


@dataclass(slots=True)
class Known:
    """What the cluster has besides the manifests.

    ``objects`` maps a kind to (namespace, name) pairs; a kind that is missing there could not be seen. ``classes`` maps
    a class to the drivers that it selects (None: any); ``requests`` a claim or template to its requests' names.
    """

    objects: dict[str, frozenset[tuple[str, str]]] = field(default_factory=dict)
    classes: dict[str, frozenset[str] | None] = field(default_factory=dict)
    requests: dict[tuple[str, str, str], frozenset[str]] = field(default_factory=dict)
    namespaces: dict[str, Mapping[str, str]] = field(default_factory=dict)
    published: dict[str, dict[tuple[str, str], frozenset[str]]] = field(default_factory=dict)
    """Driver -> (domain, name) of attributes that its devices carry -> their types."""


def cross_faults(store: FactStore, known: Known, settings: Settings) -> Iterator[Raised]:
    """Everything that only shows when the objects are seen together."""
    facts = [entry.facts for entry in store]
    index = _Index(store, facts, known)
    for one in facts:
        for use in one.uses:
            yield from _use(one, use, index, settings)
        for class_use in one.class_uses:
            yield from _class_use(one, class_use, index)
        yield from _admin(one, index, settings)
        for resource, spot in one.resources:
            yield from _extended_use(one, resource, spot, index, settings)
    yield from _same_extended(facts)
    yield from _pools(facts)


class _Index:
    """Objects by kind and name."""

    def __init__(self, store: FactStore, facts: list[Facts], known: Known) -> None:
        self.known = known
        self.names_here = store.names
        self.labels: dict[str, Mapping[str, str]] = dict(known.namespaces)
        self.extended: dict[str, Facts] = {}
        for one in facts:
            if one.kind == "Namespace" and one.labels is not None:
                self.labels[one.name] = one.labels
            if one.extended:
                self.extended.setdefault(one.extended, one)

    def here(self, kind: str, namespace: str, name: str) -> Facts | None:
        return self.names_here.get(kind, {}).get(namespace, {}).get(name)

    def has(self, kind: str, namespace: str, name: str) -> bool:
        known = self.known.objects.get(kind, frozenset())
        return self.here(kind, namespace, name) is not None or (namespace, name) in known

    def names(self, kind: str, namespace: str) -> list[str]:
        known = self.known.objects.get(kind, frozenset())
        found = set(self.names_here.get(kind, {}).get(namespace, {}))
        return sorted(found | {name for space, name in known if space == namespace})

    def elsewhere(self, kind: str, name: str) -> list[str]:
        known = self.known.objects.get(kind, frozenset())
        found = {space for space, names in self.names_here.get(kind, {}).items() if name in names}
        return sorted(found | {space for space, other in known if other == name})

    def requests(self, kind: str, namespace: str, name: str) -> frozenset[str] | None:
        one = self.here(kind, namespace, name)
        return one.requests if one is not None else self.known.requests.get((kind, namespace, name))

    def class_drivers(self, name: str) -> frozenset[str] | None:
        """The drivers that a class selects; None if that is not known or not restricted."""
        one = self.here("DeviceClass", "", name)
        if one is not None:
            return one.drivers
        if name in self.known.classes:
            return self.known.classes[name]
        if name in known_drivers.CLASSES:
            return frozenset([known_drivers.CLASSES[name][0]])
        return None

    def unguarded_class(self, name: str) -> bool:
        """Whether a class is known to select devices of every driver."""
        one = self.here("DeviceClass", "", name)
        if one is not None:
            return one.drivers is None
        return name in self.known.classes and self.known.classes[name] is None


# --- names ----------------------------------------------------------------------------------------------------------


def _use(one: Facts, use: Use, index: _Index, settings: Settings) -> Iterator[Raised]:
    namespace = "" if use.kind == "DeviceClass" else one.namespace
    if index.has(use.kind, namespace, use.name):
        yield from _requests(one, use, namespace, index)
        return
    seen = use.kind in index.known.objects
    others = [space for space in index.elsewhere(use.kind, use.name) if space != namespace]
    names = index.names(use.kind, namespace)
    close = closest(use.name, names)
    if others:
        message = f"{use.kind} {use.name} is in namespace {', '.join(others)}, the pod is in {namespace}"
        yield one, use.spot, Fault(rules.TEMPLATE_ELSEWHERE, message, hint=f"put it into namespace {namespace} too")
    elif use.kind in _OTHER_KIND and index.has(_OTHER_KIND[use.kind], namespace, use.name):
        other = _OTHER_KIND[use.kind]
        message = f"{use.name} is a {other}, and the pod names it as a {use.kind}: it waits until there is one"
        field_name = "resourceClaimName" if other == "ResourceClaim" else "resourceClaimTemplateName"
        yield one, use.spot, Fault(_KIND_RULES[use.kind], message, hint=f"write {field_name}: {use.name}")
    elif seen or settings.complete or close:
        where = "in the cluster nor in the manifests" if seen else "in the manifests"
        space = f" in namespace {namespace}" if namespace else ""
        verb = "is neither" if seen else "is not"
        message = f"{use.kind} {use.name}{space} {verb} {where}"
        rule = allocation.UNKNOWN_CLASS if seen and use.kind == "DeviceClass" else _KIND_RULES[use.kind]
        hint = f"did you mean {close}?" if close else f"there are {', '.join(names[:8])}" if names else ""
        yield one, use.spot, Fault(rule, message, hint=hint)


def _requests(one: Facts, use: Use, namespace: str, index: _Index) -> Iterator[Raised]:
    """Requests of a claim that containers name."""
    have = index.requests(use.kind, namespace, use.name)
    if have is None:
        return
    for name, spot in use.requests:
        if name not in have:
            message = f"{use.kind} {use.name} has no request {name}: the container gets no device of it"
            hint = f"it has {', '.join(sorted(have))}" if have else "it has no requests"
            yield one, spot, Fault(rules.REQUEST_NOT_IN_CLAIM, message, hint=hint)


def _admin(one: Facts, index: _Index, settings: Settings) -> Iterator[Raised]:
    """Admin access needs a label on the namespace; the server itself is asked where the cluster's labels are known."""
    if one.admin is None or one.namespace in settings.namespaces:
        return
    labels = index.labels.get(one.namespace)
    if labels is None:
        message = f'namespace {one.namespace} has to carry the label {ADMIN_LABEL}: "true"'
        yield one, one.admin, Fault(rules.ADMIN_NAMESPACE, message)
        return
    if labels.get(ADMIN_LABEL) == "true":
        return
    value = labels.get(ADMIN_LABEL)
    has = f"has {ADMIN_LABEL}={value!r}" if value is not None else f"lacks the label {ADMIN_LABEL}"
    near = next((key for key in labels if closest(key, [ADMIN_LABEL])), "") if value is None else ""
    message = f'admin access is refused: namespace {one.namespace} {has}, it has to be "true"'
    if near:
        message += f" ({near} is misspelt)"
    hint = f'kubectl label namespace {one.namespace} {ADMIN_LABEL}="true"'
    yield one, one.admin, Fault(refusals.ADMIN_LABEL, message, hint=hint)


# --- what depends on a class ----------------------------------------------------------------------------------------


def _class_use(one: Facts, use: ClassUse, index: _Index) -> Iterator[Raised]:
    drivers = [index.class_drivers(name) for name in use.classes]
    if use.what == "config":
        possible = frozenset().union(*[found for found in drivers if found is not None])
        if None not in drivers and use.name not in possible:
            names = ", ".join(sorted(possible))
            message = f"configuration for {use.name}, but the requests can only get devices of {names}: no effect"
            yield one, use.spot, Fault(rules.CONFIG_DRIVER, message)
    elif use.what == "selector":
        found = drivers[0]
        if found is not None and use.name not in found:
            others = ", ".join(sorted(found))
            message = (
                f"the selector asks for {use.name}, but class {use.classes[0]} selects {others}: no device is left"
            )
            yield one, use.spot, Fault(rules.OTHER_DRIVER, message)
    elif use.what == "read":
        yield from _read(one, use, index, drivers[0])
    else:
        yield from _constraint(one, use, drivers, index)


def _read(one: Facts, use: ClassUse, index: _Index, found: frozenset[str] | None) -> Iterator[Raised]:
    """An attribute read without a guard: on all drivers' devices, or on those of a driver that has none of the "
    "domain."""
    name = use.requests[1]
    if found is None and index.unguarded_class(use.classes[0]):
        message = (
            f"it reads {name} of {use.name}, and class {use.classes[0]} lets devices of every driver through: on one "
            f"without it the expression fails, and the scheduler gives up on the pod"
        )
        yield (
            one,
            use.spot,
            Fault(rules.NO_DRIVER_GUARD, message, hint=f'put device.driver == "{use.name}" && in front'),
        )
    elif found is not None and len(found) == 1:
        (driver,) = found
        entry = known_drivers.DRIVERS.get(driver)
        if entry is None or not entry.complete or use.name in (driver, known_drivers.STANDARD):
            return
        if use.name in {domain for domain, _ in entry.attributes}:
            return
        message = f"devices of {driver}, which class {use.classes[0]} selects, have nothing in domain {use.name}"
        yield one, use.spot, Fault(rules.UNPUBLISHED, message)


def _constraint(one: Facts, use: ClassUse, drivers: list[frozenset[str] | None], index: _Index) -> Iterator[Raised]:
    domain, _, name = use.name.rpartition("/")
    if not domain:
        return
    kinds: dict[str, frozenset[str]] = {}
    for class_name, found in zip(use.classes, drivers, strict=True):
        if found is None or len(found) != 1:
            continue
        (driver,) = found
        types = _types_of(driver, class_name, domain, name, index)
        if types is None:
            continue
        if not types:
            yield one, use.spot, _missing_attribute(use, driver, class_name, index, domain)
            return
        kinds[driver] = types
    if use.what == "match" and len(kinds) > 1 and not frozenset.intersection(*kinds.values()):
        shown = ", ".join(f"{driver} as {'/'.join(sorted(types))}" for driver, types in sorted(kinds.items()))
        message = f"{use.name} is published by {shown}: values of different types are never equal"
        yield one, use.spot, Fault(rules.NEVER_MATCHES, message)


def _types_of(driver: str, class_name: str, domain: str, name: str, index: _Index) -> frozenset[str] | None:
    """The types in which a driver publishes an attribute: empty for never, None if that is not known."""
    published = index.known.published.get(driver)
    if published is not None:
        return published.get((domain, name), frozenset())
    entry = known_drivers.DRIVERS.get(driver)
    if entry is None:
        return None
    attribute = entry.attributes.get((domain, name))
    if attribute is None:
        return frozenset() if entry.complete else None
    wanted = known_drivers.CLASSES.get(class_name, ("", ""))[1]
    if wanted and attribute.types and wanted not in attribute.types:
        return frozenset()
    return frozenset([attribute.kind])


def _missing_attribute(use: ClassUse, driver: str, class_name: str, index: _Index, domain: str) -> Fault:
    shared = _common_names(use, index)
    rule = rules.NEVER_MATCHES if len(use.classes) > 1 else rules.UNPUBLISHED
    seen = "in this cluster" if driver in index.known.published else "in any release known to dractl"
    message = (
        f"{driver} (class {class_name}) does not publish {use.name} {seen}: the constraint refuses all of its devices"
    )
    hint = f"all drivers of the constraint publish {', '.join(shared)}" if shared else ""
    close = closest(use.name, sorted(_published_names(driver, index)))
    if close:
        hint = f"did you mean {close}?"
    return Fault(rule, message, hint=hint, evidence={"attribute": use.name, "driver": driver, "domain": domain})


def _published_names(driver: str, index: _Index) -> set[str]:
    """The full names of a driver's attributes, as far as they are known."""
    entry = known_drivers.DRIVERS.get(driver)
    names = index.known.published.get(driver) or (entry.attributes if entry is not None else {})
    return {f"{domain}/{name}" for domain, name in names}


def _common_names(use: ClassUse, index: _Index) -> list[str]:
    """Attributes outside the drivers' own domains that all drivers of a constraint publish."""
    sets = []
    for class_name in use.classes:
        found = index.class_drivers(class_name)
        for driver in found or ():
            published = index.known.published.get(driver)
            entry = known_drivers.DRIVERS.get(driver)
            names = published if published is not None else entry.attributes if entry is not None else None
            if names is not None:
                sets.append({f"{domain}/{name}" for domain, name in names if domain != driver})
    return sorted(set.intersection(*sets)) if len(sets) > 1 else []


# --- extended resources ---------------------------------------------------------------------------------------------


def _extended_use(one: Facts, resource: str, spot: Spot, index: _Index, settings: Settings) -> Iterator[Raised]:
    provider = index.extended.get(resource)
    if provider is None or settings.enabled("DRAExtendedResource"):
        return
    message = (
        f"with DRAExtendedResource off in {settings.version} nothing ties {resource} to class {provider.name}: the "
        f"pod waits for a node that offers {resource} by a device plugin"
    )
    hint = "enable DRAExtendedResource (API server, scheduler, kubelet), go to 1.36, or use a claim"
    yield one, spot, Fault(rules.EXTENDED_BY_CLASS, message, hint=hint)


def _same_extended(facts: list[Facts]) -> Iterator[Raised]:
    first: dict[str, Facts] = {}
    for one in facts:
        if not one.extended or one.extended_spot is None:
            continue
        other = first.setdefault(one.extended, one)
        if other is not one and other.name != one.name:
            message = f"classes {other.name} and {one.name} both claim {one.extended}: only the newer one serves it"
            yield one, one.extended_spot, Fault(rules.SAME_RESOURCE, message)


# --- pools ----------------------------------------------------------------------------------------------------------


def _pools(facts: list[Facts]) -> Iterator[Raised]:
    pools: dict[tuple[str, str], list[tuple[Facts, SliceFacts]]] = {}
    for one in facts:
        if one.slice is not None:
            pools.setdefault((one.slice.driver, one.slice.pool), []).append((one, one.slice))
    counted: dict[str, str] = {}
    for (driver, pool), members in pools.items():
        newest = max(item.generation for _, item in members)
        current = [(one, item) for one, item in members if item.generation == newest]
        yield from _pool(f"{driver}/{pool}", current)
        if any(item.counters for _, item in current):
            other = counted.setdefault(pool, driver)
            if other != driver:
                one = next(facts for facts, item in current if item.counters)
                message = f"pool {pool} of {driver} and pool {pool} of {other} both have shared counters, and one name"
                yield one, one.spot, Fault(rules.ONE_POOL_NAME, message)


def _pool(name: str, current: list[tuple[Facts, SliceFacts]]) -> Iterator[Raised]:
    seen: dict[str, Facts] = {}
    for one, item in current:
        for device, spot in item.devices.items():
            other = seen.setdefault(device, one)
            if other is not one:
                message = f"device {device} of pool {name} is in slice {other.name} too: the whole pool is invalid"
                yield one, spot, Fault(rules.DUPLICATE_DEVICE, message)
    counts = {item.count for _, item in current}
    more = len(current) > max(counts)
    if (len(counts) > 1 or more) and len(current) > 1:
        one, item = next((pair for pair in current if pair[1].count != len(current)), current[0])
        message = (
            f"pool {name} has {len(current)} slices here and this one says resourceSliceCount: {item.count}: the pool "
            f"counts as incomplete"
        )
        yield one, item.count_spot, Fault(rules.SLICE_COUNT, message, hint=f"write {len(current)} in all of them")
    if len(current) < max(counts):
        return
    sets: dict[str, frozenset[str]] = {}
    for _, item in current:
        sets.update(item.counters)
    for one, item in current:
        for device, counter_set, counter, spot in item.consumes:
            if counter_set not in sets:
                message = f"device {device} consumes counter set {counter_set}, which pool {name} does not have"
                yield one, spot, Fault(rules.UNKNOWN_COUNTER, message, hint=_have(sets))
            elif counter not in sets[counter_set]:
                message = f"device {device} consumes counter {counter}, which counter set {counter_set} does not have"
                yield one, spot, Fault(rules.UNKNOWN_COUNTER, message, hint=_have(sets[counter_set]))


def _have(names: Iterable[str]) -> str:
    shown = ", ".join(sorted(names))
    return f"there are {shown}" if shown else "there are none"
