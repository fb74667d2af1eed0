"""A cluster before and after changes: which waiting pods fit, and whom the changes hit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from dractl.allocator.profile import Profile
from dractl.allocator.search import Limits
from dractl.explain.case import FITS
from dractl.inventory import DeviceId, Inventory, key_of
from dractl.kube.objects import DeviceTaint, DeviceToleration
from dractl.report import API_VERSION, to_plain
from dractl.simulate.place import Placement, place, waiting_units

RUNS = "runs"
_FINISHED = ("Succeeded", "Failed")


@dataclass(slots=True)
class Changed:
    """One pod before and after. ``before`` is ``runs`` for a pod that only the change makes wait."""

    name: str
    before: str
    after: str
    node: str | None = None
    reason: str = ""


@dataclass(slots=True)
class Affected:
    """A pod or claim that the change evicts, strands or moves."""

    name: str
    what: str


@dataclass(slots=True)
class Comparison:
    """The answer to a simulated change."""

    kubernetes: str
    total: int
    fits_before: int
    fits_after: int
    changes: list[Changed]
    affected: list[Affected]
    notes: list[str] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """The report as plain data."""
        return {"apiVersion": API_VERSION, "kind": "Comparison", **to_plain(self)}


def compare(
    before: Inventory, after: Inventory, profiles: tuple[Profile, Profile], releases: tuple[str, str], limits: Limits
) -> Comparison:
    """Place the waiting pods on both states. ``profiles`` and ``releases`` are those before and after."""
    first = place(before, profiles[0], waiting_units(before), releases[0], limits)
    second = place(after, profiles[1], waiting_units(after), releases[1], limits)
    old = {item.name: item for item in first.placements}
    new = {item.name: item for item in second.placements}
    names = list(dict.fromkeys([*old, *new]))
    changes = [_changed(name, old.get(name), new.get(name)) for name in names]
    notes = list(dict.fromkeys([*first.notes, *second.notes]))
    release = releases[1] if releases[0] == releases[1] else f"{releases[0]} before, {releases[1]} after"
    good = sum(item.before in (FITS, RUNS) for item in changes)
    return Comparison(release, len(names), good, second.placed, changes, _affected(before, after), notes)


def _changed(name: str, before: Placement | None, after: Placement | None) -> Changed:
    if after is None:
        return Changed(name, before.verdict if before else "doesNotFit", "doesNotFit", reason="it is gone")
    reason = after.reason or ", ".join(after.devices)
    return Changed(name, before.verdict if before else RUNS, after.verdict, after.node, reason)


def _affected(before: Inventory, after: Inventory) -> list[Affected]:
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
            found.append(Affected(f"claim {key}", f"loses its devices and is allocated anew; used by {users}"))
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
