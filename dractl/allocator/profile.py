"""Which allocator is meant: a release of Kubernetes, its features, and the quirks that it has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace

from dractl.allocator import quirks as q
from dractl.cel.environment import Environment
from dractl.kube.gates import NEWEST, enabled, parse_release, stage

_LATEST_PATCH = {34: 4, 35: 4, 36: 2, 37: 2}
"""The patch release that a bare ``1.36`` stands for: the newest that was compared."""


@dataclass(frozen=True, slots=True)
class Features:
    """What of the allocator is on. ``taint_rules`` and ``extended_resource`` belong to the scheduler around it."""

    admin_access: bool = False
    binding_conditions: bool = False
    compatibility_groups: bool = False
    consumable_capacity: bool = False
    derived_attributes: bool = False
    device_taints: bool = False
    extended_resource: bool = False
    fractional_capacity_range: bool = False
    list_type_attributes: bool = False
    optional_node_operations: bool = False
    partitionable_devices: bool = False
    prioritized_list: bool = False
    taint_rules: bool = False

    @classmethod
    def of(cls, names: Mapping[str, bool]) -> Features:
        """From a mapping with the names in camel case, as recorded cases have them; unknown names are ignored."""
        known = {_camel(field.name): field.name for field in fields(cls)}
        return cls(**{known[name]: on for name, on in names.items() if name in known})

    @classmethod
    def by_gates(cls, gates: Mapping[str, bool]) -> Features:
        """From feature gates."""
        values = {name: gates.get(gate, False) for name, gate in _GATES.items()}
        values["binding_conditions"] = values["binding_conditions"] and gates.get("DRAResourceClaimDeviceStatus", False)
        return cls(**values)


_GATES = {
    "admin_access": "DRAAdminAccess",
    "binding_conditions": "DRADeviceBindingConditions",
    "compatibility_groups": "DRADeviceCompatibilityGroups",
    "consumable_capacity": "DRAConsumableCapacity",
    "derived_attributes": "DRADerivedAttributes",
    "device_taints": "DRADeviceTaints",
    "extended_resource": "DRAExtendedResource",
    "fractional_capacity_range": "DRAFractionalCapacityRange",
    "list_type_attributes": "DRAListTypeAttributes",
    "optional_node_operations": "DRAOptionalNodeOperations",
    "partitionable_devices": "DRAPartitionableDevices",
    "prioritized_list": "DRAPrioritizedList",
    "taint_rules": "DRADeviceTaintRules",
}


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(part.capitalize() for part in rest)


@dataclass(frozen=True, slots=True)
class Profile:
    """A release's allocator. Make one with ``for_release`` or ``of_features``."""

    release: str
    """As shown: ``1.36`` or ``1.36.2``."""
    version: q.Version
    features: Features
    quirks: frozenset[str]
    """Names of ``quirks.QUIRKS``; empty in a correct profile."""
    list_attributes_in_cel: bool
    """Whether selectors may read list attributes."""

    @property
    def heeds_taint_rules(self) -> bool:
        """Whether the scheduler keeps to the taints of DeviceTaintRules: the gate is on, and it sees the rules."""
        return self.features.taint_rules and q.TAINT_RULES_UNSEEN not in self.quirks

    @classmethod
    def for_release(cls, release: str, gates: Mapping[str, bool] | None = None) -> Profile:
        """The allocator that kube-scheduler of a release runs.

        Args:
            release: ``1.36`` (its newest patch known here), ``1.36.1`` or ``v1.36.1+build``.
            gates: feature gates as set on the scheduler; the others keep the release's defaults.

        Raises:
            ValueError: when the release cannot be read or is older than 1.34 (see ``OLDEST``).
        """
        version = _version(release)
        settings = dict(gates or {})
        if version < (1, 35, 0) and "DRADeviceTaintRules" not in settings:
            # one gate for both until 1.34
            on = enabled(version[:2], settings)
            features = replace(Features.by_gates(on), taint_rules=on.get("DRADeviceTaints", False))
        else:
            features = Features.by_gates(enabled(version[:2], settings))
        in_cel = features.list_type_attributes
        unused = q.QUIRKS[q.LIST_ATTRIBUTES_UNUSED].applies(version, q.EXPERIMENTAL)
        if unused and in_cel:
            features = replace(features, list_type_attributes=False)
        return cls._make(release, version, features, in_cel, unused and in_cel)

    @classmethod
    def of_features(cls, release: str, features: Features) -> Profile:
        """The allocator of a release with exactly these features, whatever gates and scheduler say."""
        return cls._make(release, _version(release), features, features.list_type_attributes, False)

    @classmethod
    def _make(cls, release: str, version: q.Version, features: Features, in_cel: bool, unused: bool) -> Profile:
        off = {
            name: False for name, gate in _GATES.items() if stage(gate, version[:2]) is None and name != "taint_rules"
        }
        features = replace(features, **off)  # what the release does not know cannot be on
        in_cel = in_cel and "list_type_attributes" not in off
        names = q.quirks_of(version, _variant(version, features))
        if not unused:
            names -= {q.LIST_ATTRIBUTES_UNUSED}
        return cls(release, version, features, names, in_cel)

    @property
    def variant(self) -> str:
        """Which copy of the allocator runs: stable, incubating or experimental."""
        return _variant(self.version, self.features)

    @property
    def knows_sharing(self) -> bool:
        """Whether this copy of the allocator knows binding conditions and consumable capacity at all."""
        return self.variant == q.EXPERIMENTAL or (self.variant == q.INCUBATING and self.version >= (1, 36, 0))

    @property
    def ordered(self) -> bool:
        """Whether the order of pools is fixed, so that the release's answer is determined."""
        return q.UNORDERED not in self.quirks

    def correct(self) -> Profile:
        """The same release and features without the quirks: what the API promises."""
        features = self.features
        if q.LIST_ATTRIBUTES_UNUSED in self.quirks:
            features = replace(features, list_type_attributes=self.list_attributes_in_cel)
        return replace(self, features=features, quirks=frozenset())

    def without(self, *names: str) -> Profile:
        """The same profile with some quirks taken away."""
        return replace(self, quirks=self.quirks - set(names))

    def quirk(self, name: str) -> q.Quirk:
        """What is known about one of the profile's quirks."""
        return q.quirk_for(name, self.version, self.variant)

    def environment(self) -> Environment:
        """The CEL environment in which this scheduler compiles selectors."""
        return Environment(
            kubernetes=self.version[:2],
            consumable_capacity=self.features.consumable_capacity,
            list_attributes=self.list_attributes_in_cel,
            stored=True,
        )

    def is_at_least(self, minor: int) -> bool:
        """Whether the release is 1.``minor`` or later (for texts that changed)."""
        return self.version[:2] >= (1, minor)


OLDEST = (1, 34)
"""The oldest release whose allocator is known here."""


def _version(release: str) -> q.Version:
    major, minor = parse_release(release)
    if (major, minor) < OLDEST:
        raise ValueError(
            f"the allocator of Kubernetes {release} is not known; known are 1.34 to {NEWEST[0]}.{NEWEST[1]}"
        )
    parts = release.strip().removeprefix("v").split(".")
    patch = parts[2] if len(parts) > 2 else ""
    digits = patch[: next((i for i, c in enumerate(patch) if not c.isdigit()), len(patch))]
    return (major, minor, int(digits) if digits else _LATEST_PATCH.get(minor, 0))


_AROUND = frozenset({"taint_rules", "extended_resource"})
"""Features of the scheduler around the allocator."""

_STABLE_FEATURES = frozenset({"admin_access", "prioritized_list", "partitionable_devices", "device_taints"})
_ALSO_INCUBATING = frozenset({"binding_conditions", "consumable_capacity", "fractional_capacity_range"})


def _variant(version: q.Version, features: Features) -> str:
    """The first copy of the allocator that knows all features that are on."""
    on = {field.name for field in fields(features) if getattr(features, field.name)} - _AROUND
    if version < (1, 36, 0):
        first, second = (frozenset[str](), _STABLE_FEATURES)
    else:
        first, second = _STABLE_FEATURES, _STABLE_FEATURES | _ALSO_INCUBATING
    if on <= first:
        return q.STABLE
    return q.INCUBATING if on <= second else q.EXPERIMENTAL
