"""Fields that the API server drops without a word because their feature gate is off, on objects in the internal form.

On an update nothing is dropped of a feature that the old object uses already.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from dractl.validation.errors import Path

Json = dict[str, Any]
Dropped = list[tuple[Path, str]]
"""Paths in the internal form, each with the gate that is off."""


def drop_disabled(kind: str, obj: Json, old: Json | None, gates: Mapping[str, bool], minor: int) -> Dropped:
    """Drop in place what the gates do not allow; what was dropped.

    A gate that the release does not know has no field in it either.
    """
    dropper = _DROPPERS_1_34.get(kind) if minor < 35 and kind in _DROPPERS_1_34 else _DROPPERS.get(kind)
    if dropper is None or not dropper.needed(gates):
        return []
    return dropper.run(obj, old, gates)


class _Rule:
    """Places that need a gate. ``places`` finds (path, holder, field) in an object; empty lists do not count as use."""

    def __init__(
        self,
        gates: tuple[str, ...],
        places: Callable[[Json], Iterable[tuple[Path, Json, str]]],
        in_use: Callable[[Json, str], bool] | None = None,
        use: Callable[[Json], Iterable[tuple[Path, Json, str]]] | None = None,
    ) -> None:
        self.gates = gates
        self.places = places
        self.use = use or places
        self.in_use = in_use or (lambda holder, field: field in holder)

    def used(self, obj: Json) -> bool:
        return any(field in holder and self.in_use(holder, field) for _, holder, field in self.use(obj))

    def drop(self, obj: Json) -> list[Path]:
        dropped = []
        for path, holder, field in list(self.places(obj)):
            if field in holder:
                del holder[field]
                dropped.append((*path, field))
        return dropped


class _Dropper:
    def __init__(self, *rules: _Rule) -> None:
        self.rules = rules

    def needed(self, gates: Mapping[str, bool]) -> bool:
        return not all(gates.get(gate, True) for rule in self.rules for gate in rule.gates)

    def run(self, obj: Json, old: Json | None, gates: Mapping[str, bool]) -> Dropped:
        dropped: Dropped = []
        for rule in self.rules:
            off = next((gate for gate in rule.gates if not gates.get(gate, True)), None)
            if off is not None and not (old is not None and rule.used(old)):
                dropped += [(path, off) for path in rule.drop(obj)]
        return dropped


def _filled(holder: Json, field: str) -> bool:
    """Use of a list: it has entries."""
    return bool(holder[field])


def _requests(spec_path: Path) -> Callable[[Json], Iterable[tuple[Path, Json]]]:
    """Every request of a claim spec under a path: the entry itself."""

    def find(obj: Json) -> Iterable[tuple[Path, Json]]:
        spec: Json = obj
        for part in spec_path:
            spec = spec.get(str(part), {})
        for index, request in enumerate(spec.get("devices", {}).get("requests") or ()):
            yield (*spec_path, "devices", "requests", index), request

    return find


def _claim_rules(spec_path: Path, since_35: bool = True) -> list[_Rule]:
    requests = _requests(spec_path)

    def lists(obj: Json) -> Iterable[tuple[Path, Json, str]]:
        for path, request in requests(obj):
            yield path, request, "firstAvailable"

    def details(*fields: str) -> Callable[[Json], Iterable[tuple[Path, Json, str]]]:
        def find(obj: Json) -> Iterable[tuple[Path, Json, str]]:
            for path, request in requests(obj):
                if "exactly" in request:
                    for field in fields:
                        yield (*path, "exactly"), request["exactly"], field
                for index, alternative in enumerate(request.get("firstAvailable") or ()):
                    for field in fields:
                        yield (*path, "firstAvailable", index), alternative, field

        return find

    def admin(obj: Json) -> Iterable[tuple[Path, Json, str]]:
        for path, request in requests(obj):
            if "exactly" in request:
                yield (*path, "exactly"), request["exactly"], "adminAccess"

    def sharing(obj: Json) -> Iterable[tuple[Path, Json, str]]:
        spec: Json = obj
        for part in spec_path:
            spec = spec.get(str(part), {})
        for index, constraint in enumerate(spec.get("devices", {}).get("constraints") or ()):
            yield (*spec_path, "devices", "constraints", index), constraint, "distinctAttribute"
        yield from details("capacity")(obj)

    def status_sharing(obj: Json) -> Iterable[tuple[Path, Json, str]]:
        yield from sharing(obj)
        status = obj.get("status", {})
        for result in status.get("allocation", {}).get("devices", {}).get("results") or ():
            yield (), result, "shareID"
            yield (), result, "consumedCapacity"
        for device in status.get("devices") or ():
            yield (), device, "shareID"

    if not since_35:
        # 1.34 means to drop distinctAttribute too but changes a copy, and it leaves tolerations alone.
        return [
            _Rule(("DRAPrioritizedList",), lists, _filled),
            _Rule(("DRAAdminAccess",), admin),
            _Rule(("DRAConsumableCapacity",), details("capacity"), use=status_sharing),
        ]
    return [
        _Rule(("DRAPrioritizedList",), lists, _filled),
        _Rule(("DRADeviceTaints",), details("tolerations"), _filled),
        _Rule(("DRAAdminAccess",), admin),
        _Rule(("DRAConsumableCapacity",), sharing),
        _Rule(("DRADerivedAttributes",), details("derivedAttributes"), _filled),
    ]


def _devices(*fields: str, spec_fields: tuple[str, ...] = ()) -> Callable[[Json], Iterable[tuple[Path, Json, str]]]:
    def find(obj: Json) -> Iterable[tuple[Path, Json, str]]:
        spec = obj.get("spec", {})
        for field in spec_fields:
            yield ("spec",), spec, field
        for index, device in enumerate(spec.get("devices") or ()):
            for field in fields:
                yield ("spec", "devices", index), device, field

    return find


def _policies(obj: Json) -> Iterable[tuple[Path, Json, str]]:
    yield from _devices("allowMultipleAllocations")(obj)
    for index, device in enumerate(obj.get("spec", {}).get("devices") or ()):
        for key, capacity in (device.get("capacity") or {}).items():
            yield ("spec", "devices", index, "capacity", key), capacity, "requestPolicy"


def _value_lists(obj: Json) -> Iterable[tuple[Path, Json, str]]:
    for index, device in enumerate(obj.get("spec", {}).get("devices") or ()):
        for key, attribute in (device.get("attributes") or {}).items():
            for field in ("ints", "bools", "strings", "versions"):
                yield ("spec", "devices", index, "attributes", key), attribute, field


def _groups(obj: Json) -> Iterable[tuple[Path, Json, str]]:
    for index, device in enumerate(obj.get("spec", {}).get("devices") or ()):
        for position, use in enumerate(device.get("consumesCounters") or ()):
            yield ("spec", "devices", index, "consumesCounters", position), use, "compatibilityGroups"


def _partitioned_in_use(holder: Json, field: str) -> bool:
    return bool(holder[field]) if field in ("sharedCounters", "consumesCounters") else True


def _binding_in_use(holder: Json, field: str) -> bool:
    return True if field == "bindsToNode" else bool(holder[field])


_DROPPERS = {
    "DeviceClass": _Dropper(
        _Rule(("DRAExtendedResource",), lambda obj: [(("spec",), obj.get("spec", {}), "extendedResourceName")])
    ),
    "ResourceClaim": _Dropper(*_claim_rules(("spec",))),
    "ResourceClaimTemplate": _Dropper(*_claim_rules(("spec", "spec"))),
    "ResourceSlice": _Dropper(
        _Rule(("DRADeviceTaints",), _devices("taints"), _filled),
        _Rule(
            ("DRAPartitionableDevices",),
            _devices(
                "consumesCounters",
                "nodeName",
                "nodeSelector",
                "allNodes",
                spec_fields=("sharedCounters", "perDeviceNodeSelection"),
            ),
            _partitioned_in_use,
        ),
        _Rule(
            ("DRADeviceBindingConditions", "DRAResourceClaimDeviceStatus"),
            _devices("bindingConditions", "bindingFailureConditions", "bindsToNode"),
            _binding_in_use,
        ),
        _Rule(("DRAConsumableCapacity",), _policies),
        _Rule(("DRADeviceCompatibilityGroups",), _groups, _filled),
        _Rule(
            ("DRANodeAllocatableResources",),
            _devices("nodeAllocatableResourceMappings", "nodeAllocatableResources"),
            _filled,
        ),
        _Rule(("DRAListTypeAttributes",), _value_lists),
        _Rule(("DRAPartitionableDevicesType",), _devices(spec_fields=("partitionTypeAttribute",))),
        _Rule(("DRAOptionalNodeOperations",), _devices(spec_fields=("skipNodeOperations",)), _filled),
    ),
    "ResourcePoolStatusRequest": _Dropper(
        _Rule(
            ("DRAPartitionableDevicesType",),
            lambda obj: [(("spec",), obj.get("spec", {}), "defaultPartitionTypeAttribute")],
        )
    ),
}

_DROPPERS_1_34 = {
    "ResourceClaim": _Dropper(*_claim_rules(("spec",), since_35=False)),
    "ResourceClaimTemplate": _Dropper(*_claim_rules(("spec", "spec"), since_35=False)),
}
