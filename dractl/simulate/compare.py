"""A cluster before and after changes: which waiting pods fit, and whom the changes hit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from dractl.allocator.profile import Profile
from dractl.allocator.search import Limits
from dractl.explain.case import FITS
from dractl.inventory import DeviceId, Inventory, key_of
from dractl.kube.objects import DeviceTaint, DeviceToleration, KubeObject, Pod
from dractl.report import API_VERSION, to_plain
from dractl.simulate.cluster import Cluster, Unit
from dractl.simulate.eviction import Fate, fate_of, pods_on, remarks
from dractl.simulate.place import Affected, Placement, Simulation, manifest_units, place_on, waiting_units

RUNS, LOST = "runs", "lost"
_FINISHED = ("Succeeded", "Failed")


@dataclass(slots=True)
class Changed:
    """One pod before and after. ``before`` is ``runs`` for a pod that only the change makes wait.

    ``after`` is ``lost`` for one that nobody makes anew.
    """

    name: str
    before: str
    after: str
    node: str | None = None
    reason: str = ""
    devices: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Comparison:
    """The answer to a simulated change.

    ``total``, ``fits_before`` and ``fits_after`` count the pods that waited before the change; ``moved`` are those that
    the change makes wait, ``moved_fit`` those of them that find a place, ``lost`` those that nobody makes anew.
    ``worse`` is whether any pod is worse off than before.
    """

    kubernetes: str
    total: int
    fits_before: int
    fits_after: int
    moved: int
    moved_fit: int
    lost: int
    worse: bool
    changes: list[Changed]
    affected: list[Affected]
    notes: list[str] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """The report as plain data."""
        return {"apiVersion": API_VERSION, "kind": "Comparison", **to_plain(self)}


@dataclass(frozen=True, slots=True)
class Emptied:
    """The nodes that a change takes pods from."""

    drained: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()

    def lost(self, inventory: Inventory) -> list[Pod]:
        """The pods that nobody makes anew."""
        fates = {Fate.LOST}
        pods = [pod for node in (*self.drained, *self.removed) for pod in pods_on(inventory, node)]
        return [pod for pod in pods if fate_of(pod) in fates]


NOTHING_EMPTIED = Emptied()


def compare(
    before: Inventory,
    after: Inventory,
    profiles: tuple[Profile, Profile],
    releases: tuple[str, str],
    limits: Limits,
    emptied: Emptied = NOTHING_EMPTIED,
) -> Comparison:
    """Place the waiting pods on both states. ``profiles`` and ``releases`` are those before and after."""
    old_cluster = Cluster(before, profiles[0], limits)
    first = place_on(old_cluster, waiting_units(before), releases[0])
    new_cluster = Cluster(after, profiles[1], limits, like=old_cluster)
    second = place_on(new_cluster, waiting_units(after), releases[1])
    old = {item.name: item for item in first.placements}
    new = {item.name: item for item in second.placements}
    waiting = [_changed(name, item, new.get(name)) for name, item in old.items()]
    moved = [_changed(name, None, item) for name, item in new.items() if name not in old]
    lost = _lost(before, emptied, new_cluster)
    notes = list(dict.fromkeys([*first.notes, *second.notes, *remarks(before, emptied.drained)]))
    release = releases[1] if releases[0] == releases[1] else f"{releases[0]} before, {releases[1]} after"
    worse = bool(lost) or any(item.after != FITS and item.before in (FITS, RUNS) for item in [*waiting, *moved])
    return Comparison(
        release,
        len(waiting),
        sum(item.before == FITS for item in waiting),
        sum(item.after == FITS for item in waiting),
        len(moved),
        sum(item.after == FITS for item in moved),
        len(lost),
        worse,
        [*moved, *lost, *waiting],
        affected(before, after),
        notes,
    )


def place_after(
    before: Inventory,
    after: Inventory,
    profile: Profile,
    release: str,
    limits: Limits,
    items: Sequence[KubeObject],
    replicas: int | None,
    emptied: Emptied = NOTHING_EMPTIED,
) -> Simulation:
    """Place manifests on a changed cluster, after the pods that the change makes wait.

    ``after`` holds the ``items`` already.
    """
    cluster = Cluster(after, profile, limits)
    given = {id(item) for item in items}
    waited = {key for key, links in before.pod_claims.items() if not links[0].pod.node_name}
    moved = [
        unit
        for unit in waiting_units(after)
        if unit.pod is not None and id(unit.pod) not in given and key_of(unit.pod) not in waited
    ]
    first = place_on(cluster, moved, release)
    report = place_on(cluster, manifest_units(after, items, replicas), release)
    lost = _lost(before, emptied, cluster)
    report.moved = [*first.placements, *(Placement(item.name, LOST, reason=item.reason) for item in lost)]
    report.affected = affected(before, after)
    report.worse = any(item.verdict != FITS for item in report.moved)
    report.notes = list(dict.fromkeys([*report.notes, *first.notes, *remarks(before, emptied.drained)]))
    return report


def _lost(before: Inventory, emptied: Emptied, cluster: Cluster) -> list[Changed]:
    """The pods with claims that nobody makes anew, and whether they would fit if somebody did."""
    out = []
    for pod in emptied.lost(before):
        if not before.pod_claims.get(key_of(pod)):
            continue
        reason = "no controller makes it anew"
        if pod.node_name in emptied.drained:
            reason += ", so kubectl drain wants --force"
        again = place_on(cluster, [_made_anew(before, pod)], "").placements[0]
        would = f"fits on {again.node}" if again.verdict == FITS else f"does not fit: {again.reason}"
        out.append(Changed(f"pod {key_of(pod)}", RUNS, LOST, None, f"{reason}; made by hand, it {would}"))
    return out


def _made_anew(before: Inventory, pod: Pod) -> Unit:
    claims = [link.claim for link in before.pod_claims.get(key_of(pod), []) if link.claim is not None]
    fresh = [replace(claim, allocation=None, reserved_for=[]) for claim in claims]
    return Unit(f"pod {key_of(pod)}", fresh, replace(pod, node_name="", phase="Pending"))


def _changed(name: str, before: Placement | None, after: Placement | None) -> Changed:
    if after is None:
        return Changed(name, before.verdict if before else "doesNotFit", "doesNotFit", reason="it is gone")
    return Changed(
        name, before.verdict if before else RUNS, after.verdict, after.node, after.reason, list(after.devices)
    )


def affected(before: Inventory, after: Inventory) -> list[Affected]:
    """Whom a change hits: claims that lose devices, whose devices are tainted or published no more; and their pods."""
    found: list[Affected] = []
    for key, claim in before.claims.items():
        if claim.allocation is None:
            continue
        pods = [pod for pod in before.claim_pods.get(key, []) if pod.phase not in _FINISHED]
        users = ", ".join(f"pod {key_of(pod)}" for pod in pods) or "no pod"
        other = after.claims.get(key)
        if other is None:
            found.append(Affected(f"claim {key}", f"is gone; used by {users}"))
        elif other.allocation is None:
            again = any(pod.phase not in _FINISHED for pod in after.claim_pods.get(key, []))
            what = "loses its devices and is allocated anew" if again else "gives its devices back"
            found.append(Affected(f"claim {key}", f"{what}; used by {users}"))
        else:
            found += _hit(before, after, str(key), users, _devices(claim.allocation.results))
    return found


def _devices(results: Sequence[Any]) -> list[tuple[DeviceId, list[DeviceToleration]]]:
    return [(DeviceId(one.driver, one.pool, one.device), one.tolerations) for one in results if not one.admin_access]


def _hit(
    before: Inventory,
    after: Inventory,
    name: str,
    users: str,
    devices: list[tuple[DeviceId, list[DeviceToleration]]],
) -> list[Affected]:
    lost = [str(device) for device, _ in devices if device in before.devices and device not in after.devices]
    if lost:
        return [Affected(f"claim {name}", f"its {', '.join(lost)} is published no more; used by {users}")]
    tainted = []
    for device, _ in devices:
        if device in before.devices and device in after.devices:
            old = {_key(one) for one in before.devices[device].device.taints}
            fresh = [one for one in after.devices[device].device.taints if _key(one) not in old]
            tainted += [f"{device} ({one.key}:{one.effect})" for one in fresh]
    if tainted:
        text = f"keeps its devices, NoSchedule evicts nobody: {', '.join(tainted)}; used by {users}"
        return [Affected(f"claim {name}", text)]
    return []


def _key(taint: DeviceTaint) -> tuple[str, str, str]:
    return taint.key, taint.value, taint.effect
