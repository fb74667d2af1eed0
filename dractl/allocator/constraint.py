"""Constraints over the devices of a claim: matchAttribute and distinctAttribute."""

from __future__ import annotations

from typing import Protocol

from dractl.allocator import quirks as q
from dractl.allocator.attributes import Lookup
from dractl.allocator.profile import Profile
from dractl.allocator.request import RequestSpec
from dractl.kube.objects import Device, DeviceAttribute, DeviceConstraint

_SCALAR_KINDS = frozenset({"string", "int", "bool", "version"})
_FAMILY = {
    "int": "int",
    "ints": "int",
    "bool": "bool",
    "bools": "bool",
    "string": "string",
    "strings": "string",
    "version": "version",
    "versions": "version",
}

ValueSet = tuple[str, frozenset[object]]
"""Family of types and the values; a scalar is a set of one."""


def value_set(attribute: DeviceAttribute) -> ValueSet | None:
    """The values of an attribute as a set, or None for an unknown or empty one."""
    family = _FAMILY.get(attribute.kind)
    if family is None:
        return None
    values = attribute.value if isinstance(attribute.value, tuple) else (attribute.value,)
    return (family, frozenset(values)) if values else None


def applies_to(constraint: DeviceConstraint, spec: RequestSpec) -> bool:
    """Whether a constraint is about a request or alternative."""
    names = constraint.requests
    return not names or spec.main_name in names or (spec.parent is not None and spec.name in names)


class Constraint(Protocol):
    """Accepts devices one by one. Each accepted ``add`` is undone by one ``remove``, last in first out."""

    def add(self, spec: RequestSpec, driver: str, device: Device) -> bool:
        """Accept a device, or say that it does not fit the ones accepted before.

        Raises:
            DerivedFailure: when its attribute cannot be derived.
        """

    def remove(self, spec: RequestSpec, driver: str, device: Device) -> None:
        """Undo an accepted add."""


class _Applicable:
    """What both kinds share: the requests they are about, by identity."""

    def __init__(self, constraint: DeviceConstraint, name: str, lookup: Lookup) -> None:
        self.constraint = constraint
        self.name = name
        self._lookup = lookup
        self._applies: dict[int, bool] = {}

    def applies(self, spec: RequestSpec) -> bool:
        known = self._applies.get(id(spec))
        if known is None:
            known = self._applies[id(spec)] = applies_to(self.constraint, spec)
        return known


class MatchAttribute(_Applicable):
    """All devices have one value of the attribute (as published; versions are compared as texts)."""

    def __init__(self, constraint: DeviceConstraint, name: str, lookup: Lookup) -> None:
        super().__init__(constraint, name, lookup)
        self._first: DeviceAttribute | None = None
        self._count = 0

    def add(self, spec: RequestSpec, driver: str, device: Device) -> bool:
        if not self.applies(spec):
            return True
        attribute = self._lookup(spec, driver, device, self.name)
        if attribute is None:
            return False
        first = self._first
        if self._count == 0 or first is None:
            self._first = attribute
            self._count = 1
            return True
        if attribute is not first and (attribute.kind != first.kind or attribute.value != first.value):
            return False
        if attribute.kind not in _SCALAR_KINDS:
            return False
        self._count += 1
        return True

    def remove(self, spec: RequestSpec, driver: str, device: Device) -> None:
        if self.applies(spec):
            self._count -= 1


class MatchSets(_Applicable):
    """All devices share a value of the attribute, which may be a list (KEP-5491)."""

    def __init__(self, constraint: DeviceConstraint, name: str, lookup: Lookup, stays_narrow: bool) -> None:
        super().__init__(constraint, name, lookup)
        self._stays_narrow = stays_narrow
        self._common: list[ValueSet] = []
        self._count = 0

    def add(self, spec: RequestSpec, driver: str, device: Device) -> bool:
        if not self.applies(spec):
            return True
        attribute = self._lookup(spec, driver, device, self.name)
        values = None if attribute is None else value_set(attribute)
        if values is None:
            return False
        if self._count == 0:
            self._common = [values]
            self._count = 1
            return True
        family, common = self._common[-1]
        rest = common & values[1]
        if family != values[0] or not rest:
            return False
        if self._stays_narrow:
            self._common[-1] = (family, rest)
        else:
            self._common.append((family, rest))
        self._count += 1
        return True

    def remove(self, spec: RequestSpec, driver: str, device: Device) -> None:
        if self.applies(spec):
            self._count -= 1
            if not self._stays_narrow:
                self._common.pop()


class DistinctAttribute(_Applicable):
    """No two devices have the same value (with list attributes: a value in common)."""

    def __init__(self, constraint: DeviceConstraint, name: str, lookup: Lookup, lists: bool) -> None:
        super().__init__(constraint, name, lookup)
        self._lists = lists
        self._seen: list[DeviceAttribute] = []

    def add(self, spec: RequestSpec, driver: str, device: Device) -> bool:
        if not self.applies(spec):
            return True
        attribute = self._lookup(spec, driver, device, self.name)
        if attribute is None or not _differs(attribute, self._seen, self._lists):
            return False
        self._seen.append(attribute)
        return True

    def remove(self, spec: RequestSpec, driver: str, device: Device) -> None:
        if self.applies(spec):
            self._seen.pop()


class ForgetfulDistinct(_Applicable):
    """distinctAttribute up to 1.36: one value is remembered for each request, the latest.

    1.34 (``blind``) only tells devices apart, not values.
    """

    def __init__(self, constraint: DeviceConstraint, name: str, lookup: Lookup, lists: bool, blind: bool) -> None:
        super().__init__(constraint, name, lookup)
        self._lists = lists
        self._blind = blind
        self._seen: dict[str, tuple[DeviceAttribute, Device]] = {}
        self._count = 0

    def add(self, spec: RequestSpec, driver: str, device: Device) -> bool:
        if not self.applies(spec):
            return True
        attribute = self._lookup(spec, driver, device, self.name)
        if attribute is None:
            return False
        if self._count and not self._accepts(attribute, device):
            return False
        self._seen[spec.main_name] = (attribute, device)
        self._count += 1
        return True

    def _accepts(self, attribute: DeviceAttribute, device: Device) -> bool:
        seen = [known for known, owner in self._seen.values() if owner is device or not self._blind]
        if self._blind and self._seen and attribute.kind not in _SCALAR_KINDS:
            return False
        return _differs(attribute, seen, self._lists)

    def remove(self, spec: RequestSpec, driver: str, device: Device) -> None:
        if self.applies(spec):
            self._seen.pop(spec.main_name, None)
            self._count -= 1


def _differs(attribute: DeviceAttribute, seen: list[DeviceAttribute], lists: bool) -> bool:
    if lists:
        values = value_set(attribute)
        if values is None:
            return False
        others = [other for other in map(value_set, seen) if other is not None]
        return not any(family == values[0] and common & values[1] for family, common in others)
    if seen and attribute.kind not in _SCALAR_KINDS:
        return False
    return not any(other.kind == attribute.kind and other.value == attribute.value for other in seen)


def make_constraint(constraint: DeviceConstraint, profile: Profile, lookup: Lookup) -> Constraint:
    """The constraint as a profile keeps it; where both attributes are set, matchAttribute counts."""
    lists = profile.features.list_type_attributes
    if constraint.match_attribute is not None:
        if lists:
            narrow = q.MATCH_STAYS_NARROW in profile.quirks
            return MatchSets(constraint, constraint.match_attribute, lookup, narrow)
        return MatchAttribute(constraint, constraint.match_attribute, lookup)
    name = constraint.distinct_attribute or ""
    if q.DISTINCT_FORGETS in profile.quirks:
        return ForgetfulDistinct(constraint, name, lookup, lists, q.DISTINCT_BLIND in profile.quirks)
    return DistinctAttribute(constraint, name, lookup, lists)
