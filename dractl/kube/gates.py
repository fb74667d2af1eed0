"""Feature gates of Kubernetes that matter for DRA: their stage and default in each release.

Source: pkg/features/kube_features.go of Kubernetes 1.34.4, 1.35.4, 1.36.2 and 1.37.2, which lists earlier releases too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType

Release = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Stage:
    """A gate from one release (1.``minor``) on. ``stage`` is alpha, beta or GA; a locked gate cannot be changed."""

    minor: int
    stage: str
    default: bool
    locked: bool = False


def _stages(*entries: tuple[int, str, bool] | tuple[int, str, bool, bool]) -> tuple[Stage, ...]:
    return tuple(Stage(*entry) for entry in entries)


GATES: Mapping[str, tuple[Stage, ...]] = MappingProxyType(
    {
        "DynamicResourceAllocation": _stages(
            (26, "alpha", False), (32, "beta", False), (34, "GA", True), (35, "GA", True, True)
        ),
        "DRAAdminAccess": _stages((32, "alpha", False), (34, "beta", True), (36, "GA", True, True)),
        "DRAConsumableCapacity": _stages((34, "alpha", False), (36, "beta", True)),
        "DRADerivedAttributes": _stages((37, "alpha", False)),
        "DRADeviceBindingConditions": _stages((34, "alpha", False), (36, "beta", True)),
        "DRADeviceCompatibilityGroups": _stages((37, "alpha", False)),
        "DRADeviceTaintRules": _stages((35, "alpha", False), (36, "beta", False), (37, "GA", True)),
        "DRADeviceTaints": _stages((33, "alpha", False), (36, "beta", True), (37, "GA", True)),
        "DRAExtendedResource": _stages((34, "alpha", False), (36, "beta", True), (37, "GA", True, True)),
        "DRAFractionalCapacityRange": _stages((37, "beta", True)),
        "DRAListTypeAttributes": _stages((36, "alpha", False)),
        "DRANodeAllocatableResources": _stages((36, "alpha", False)),
        "DRAOptionalNodeOperations": _stages((37, "alpha", False)),
        "DRAPartitionableDevices": _stages((33, "alpha", False), (36, "beta", True)),
        "DRAPartitionableDevicesType": _stages((37, "alpha", False)),
        "DRAPrioritizedList": _stages(
            (33, "alpha", False), (34, "beta", True), (36, "GA", True), (37, "GA", True, True)
        ),
        "DRAResourceClaimDeviceStatus": _stages((32, "alpha", False), (33, "beta", True), (37, "GA", True, True)),
        "DRAResourceClaimGranularStatusAuthorization": _stages((36, "beta", True)),
        "DRAResourcePoolStatus": _stages((36, "alpha", False)),
        "DRASchedulerFilterTimeout": _stages((34, "beta", True)),
        "DRAWorkloadResourceClaims": _stages((36, "alpha", False), (37, "beta", False)),
        "DeclarativeValidationBeta": _stages((36, "beta", True)),
        "GenericWorkload": _stages((35, "alpha", False), (37, "beta", False)),
        "KubeletPodResourcesDynamicResources": _stages(
            (27, "alpha", False), (34, "beta", True), (36, "GA", True, True)
        ),
        "PodLevelResources": _stages((32, "alpha", False), (34, "beta", True)),
        "ResourceHealthStatus": _stages((31, "alpha", False), (36, "beta", True)),
        "ResourceHealthStatusMessage": _stages((36, "beta", True)),
    }
)

DEPENDS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "DRADeviceBindingConditions": ("DRAResourceClaimDeviceStatus",),
        "DRADeviceCompatibilityGroups": ("DRAPartitionableDevices",),
        "DRADeviceTaintRules": ("DRADeviceTaints",),
        "DRAFractionalCapacityRange": ("DRAConsumableCapacity",),
        "DRAPartitionableDevicesType": ("DRAPartitionableDevices", "DRAResourcePoolStatus"),
        "DRAResourceClaimGranularStatusAuthorization": ("DRAResourceClaimDeviceStatus",),
        "DRAWorkloadResourceClaims": ("GenericWorkload",),
    }
)
"""Gates that a gate needs, besides DynamicResourceAllocation."""


def stage_of(gate: str, release: Release) -> Stage | None:
    """The stage of a gate in a release, or None where the gate does not exist (yet)."""
    found = None
    for stage in GATES.get(gate, ()):
        if stage.minor <= release[1]:
            found = stage
    return found


@lru_cache(maxsize=64)
def defaults(release: Release) -> Mapping[str, bool]:
    """Every gate that exists in a release with its default."""
    stages = {gate: stage_of(gate, release) for gate in GATES}
    return MappingProxyType({gate: stage.default for gate, stage in stages.items() if stage is not None})


@lru_cache(maxsize=64)
def all_beta(release: Release) -> Mapping[str, bool]:
    """The gates of a release with every beta and GA gate on, as ``--feature-gates=AllBeta=true`` sets them."""
    stages = {gate: stage_of(gate, release) for gate in GATES}
    return MappingProxyType({gate: stage.stage != "alpha" for gate, stage in stages.items() if stage is not None})


def effective(release: Release, overrides: Mapping[str, bool] | None = None) -> Mapping[str, bool]:
    """The gates of a release after ``overrides``; locked gates and unknown ones stay as they are."""
    base = defaults(release)
    if not overrides:
        return base
    merged = dict(base)
    for gate, value in overrides.items():
        stage = stage_of(gate, release)
        if stage is not None and not stage.locked:
            merged[gate] = value
    return merged


def enabled_by_default_since(gate: str) -> int | None:
    """The minor release from which a gate is on by default, or None."""
    return next((stage.minor for stage in GATES.get(gate, ()) if stage.default), None)


def existing(release: Release) -> Iterable[str]:
    """Names of the gates of a release."""
    return defaults(release).keys()
