"""Feature gates around dynamic resource allocation, by release from 1.30 to 1.37.

``GATES`` holds, for each gate, the releases in which its stage changed; ``state`` answers for any release between. A
release before the first entry does not know the gate. Source: ``pkg/features/kube_features.go`` of Kubernetes 1.36.2
and 1.37.2 (version 1.36 and older entries are kept there), and the gates' KEPs for what came before.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

Release = tuple[int, int]

OLDEST: Release = (1, 30)
NEWEST: Release = (1, 37)


@dataclass(frozen=True, slots=True)
class Stage:
    """A gate's stage from a release on; ``default`` whether it is on unless set, ``locked`` whether it can be set."""

    since: Release
    stage: str
    """Alpha, Beta, GA or Deprecated."""
    default: bool
    locked: bool = False


@dataclass(frozen=True, slots=True)
class Gate:
    """A feature gate: its stages in order, the gates it needs, and what it is for."""

    name: str
    stages: tuple[Stage, ...]
    needs: tuple[str, ...] = ()
    purpose: str = ""
    removed: Release | None = None


def _stages(text: str) -> tuple[Stage, ...]:
    """``1.33 A, 1.36 B+, 1.37 GA locked`` as stages; A is off, GA on, B has its sign."""
    stages = []
    for part in text.split(","):
        since, mark, *rest = part.split()
        stage = {"A": "Alpha", "B": "Beta", "G": "GA"}[mark[0]]
        on = stage == "GA" or mark.endswith("+")
        stages.append(Stage(parse_release(since), stage, on, "locked" in rest))
    return tuple(stages)


def parse_release(text: str) -> Release:
    """``1.36``, ``v1.36.2`` or ``1.36.2-gke.1`` as (1, 36).

    Raises:
        ValueError: when the text does not start with two numbers.
    """
    parts = text.strip().removeprefix("v").split(".")
    minor = parts[1] if len(parts) > 1 else ""
    digits = minor[: next((i for i, c in enumerate(minor) if not c.isdigit()), len(minor))]
    if not parts[0].isdigit() or not digits:
        raise ValueError(f"{text!r} is not a Kubernetes release such as 1.36")
    return int(parts[0]), int(digits)


_DRA = ("DynamicResourceAllocation",)

GATES: Mapping[str, Gate] = {
    gate.name: gate
    for gate in (
        Gate(
            "DynamicResourceAllocation",
            _stages("1.26 A, 1.32 B-, 1.34 GA, 1.35 GA locked"),
            purpose="the API group resource.k8s.io and everything around it",
        ),
        Gate(
            "DRAControlPlaneController",
            _stages("1.31 A"),
            _DRA,
            "allocation by a controller of the driver (classic DRA)",
            removed=(1, 32),
        ),
        Gate("DRAAdminAccess", _stages("1.32 A, 1.34 B+, 1.36 GA locked"), _DRA, "adminAccess in requests"),
        Gate(
            "DRAPrioritizedList",
            _stages("1.33 A, 1.34 B+, 1.36 GA, 1.37 GA locked"),
            _DRA,
            "firstAvailable in requests",
        ),
        Gate(
            "DRAResourceClaimDeviceStatus",
            _stages("1.32 A, 1.33 B+, 1.37 GA locked"),
            _DRA,
            "status.devices of claims",
        ),
        Gate(
            "DRAPartitionableDevices",
            _stages("1.33 A, 1.36 B+"),
            _DRA,
            "shared counters and nodes chosen by each device",
        ),
        Gate("DRADeviceTaints", _stages("1.33 A, 1.36 B+, 1.37 GA"), _DRA, "taints in slices, tolerations in requests"),
        Gate(
            "DRADeviceTaintRules",
            _stages("1.35 A, 1.36 B-, 1.37 GA"),
            ("DynamicResourceAllocation", "DRADeviceTaints"),
            "DeviceTaintRule objects (in 1.33 and 1.34 part of DRADeviceTaints)",
        ),
        Gate(
            "DRAConsumableCapacity",
            _stages("1.34 A, 1.36 B+"),
            _DRA,
            "devices shared by several claims, each with a part of the capacity; distinctAttribute",
        ),
        Gate(
            "DRAExtendedResource",
            _stages("1.34 A, 1.36 B+, 1.37 GA locked"),
            _DRA,
            "extended resources of pods served by DeviceClasses",
        ),
        Gate(
            "DRADeviceBindingConditions",
            _stages("1.34 A, 1.36 B+"),
            ("DynamicResourceAllocation", "DRAResourceClaimDeviceStatus"),
            "devices that must report conditions before a pod is bound",
        ),
        Gate("DRASchedulerFilterTimeout", _stages("1.34 B+"), _DRA, "a time limit for the search on one node"),
        Gate("DRAListTypeAttributes", _stages("1.36 A"), _DRA, "attributes that hold lists"),
        Gate(
            "DRANodeAllocatableResources",
            _stages("1.36 A"),
            _DRA,
            "devices that stand for cpu, memory and the like of the node",
        ),
        Gate("DRAResourcePoolStatus", _stages("1.36 A"), _DRA, "ResourcePoolStatusRequest objects"),
        Gate(
            "DRAWorkloadResourceClaims",
            _stages("1.36 A, 1.37 B-"),
            ("DynamicResourceAllocation", "GenericWorkload"),
            "claims of pod groups",
        ),
        Gate("GenericWorkload", _stages("1.35 A, 1.37 B-"), (), "pod groups of workloads"),
        Gate(
            "DRAResourceClaimGranularStatusAuthorization",
            _stages("1.36 B+"),
            ("DynamicResourceAllocation", "DRAResourceClaimDeviceStatus"),
            "separate rights for the parts of a claim's status",
        ),
        # on only with --min-compatibility-version=1.37, which by default is the release before
        Gate("DRAFractionalCapacityRange", _stages("1.37 B-"), _DRA, "steps of capacity finer than one"),
        Gate("DRADerivedAttributes", _stages("1.37 A"), _DRA, "attributes computed by a request"),
        Gate(
            "DRADeviceCompatibilityGroups",
            _stages("1.37 A"),
            _DRA,
            "devices of one counter set that exclude each other",
        ),
        Gate("DRAOptionalNodeOperations", _stages("1.37 A"), _DRA, "devices that the kubelet need not prepare"),
        Gate("DRAPartitionableDevicesType", _stages("1.37 A"), _DRA, "the attribute that tells partition types apart"),
        Gate("ResourceHealthStatus", _stages("1.31 A, 1.36 B+"), (), "device health in the status of pods"),
        Gate(
            "ResourceHealthStatusMessage",
            _stages("1.36 B+"),
            ("ResourceHealthStatus",),
            "a message beside device health",
        ),
        Gate(
            "KubeletPodResourcesDynamicResources",
            _stages("1.27 A, 1.34 B+, 1.36 GA locked"),
            (),
            "claims in the kubelet's PodResources API",
            removed=(1, 37),
        ),
        Gate("DeclarativeValidationBeta", _stages("1.36 B+"), (), "generated rules take the place of handwritten ones"),
        Gate("SchedulerPreQueueingHints", _stages("1.37 A"), (), "claim events wake only the pods that use the claim"),
    )
}


def stage(gate: str, release: Release) -> Stage | None:
    """The stage of a gate in a release, or None where the release does not know it."""
    entry = GATES.get(gate)
    if entry is None or (entry.removed is not None and release >= entry.removed):
        return None
    found = None
    for candidate in entry.stages:
        if candidate.since <= release:
            found = candidate
    return found


def enabled(release: Release, settings: Mapping[str, bool] | None = None) -> dict[str, bool]:
    """Every gate that a release knows, and whether it is on.

    Args:
        release: as (major, minor); later ones than ``NEWEST`` are treated like it.
        settings: values given with ``--feature-gates``; those of locked or unknown gates are ignored, and a gate whose
            needs are off counts as off.
    """
    return dict(_enabled(min(release, NEWEST), tuple(sorted((settings or {}).items()))))


@lru_cache(maxsize=64)
def _enabled(release: Release, settings: tuple[tuple[str, bool], ...]) -> tuple[tuple[str, bool], ...]:
    wanted = dict(settings)
    result: dict[str, bool] = {}
    for name in GATES:
        found = stage(name, release)
        if found is not None:
            result[name] = found.default if found.locked else wanted.get(name, found.default)
    # Needs come before the gates that need them only by chance: repeat until nothing changes.
    changed = True
    while changed:
        changed = False
        for name, on in result.items():
            if on and not all(result.get(need, False) for need in GATES[name].needs):
                result[name] = False
                changed = True
    return tuple(result.items())
