"""What a recording of a cluster holds, and what changed from one recording to another."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from dractl.inventory import Inventory, kind_of
from dractl.kube.objects import DeviceTaint, Node, ResourceClaim
from dractl.report import API_VERSION, to_plain


@dataclass(slots=True)
class Recording:
    """``unseen`` maps kinds that could not be read to the reason; ``objects`` counts what is there by kind."""

    source: str
    kubernetes: str | None
    taken: str | None
    latest: str | None
    """The newest time in any object, from which ages are counted where ``taken`` is not known."""
    objects: dict[str, int]
    devices: int
    pods_with_claims: int
    unseen: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """The report as plain data."""
        return {"apiVersion": API_VERSION, "kind": "Recording", **to_plain(self)}


@dataclass(slots=True)
class Change:
    """``change`` is added, removed or changed; ``subject`` names the thing; ``before`` and ``after`` what it was."""

    kind: str
    subject: str
    change: str
    before: str | None = None
    after: str | None = None


@dataclass(slots=True)
class Changes:
    """The differences between two recordings, by kind and name."""

    before: Recording
    after: Recording
    changes: list[Change]

    def to_json(self) -> dict[str, Any]:
        """The report as plain data."""
        return {"apiVersion": API_VERSION, "kind": "RecordingChanges", **to_plain(self)}


def describe_recording(inventory: Inventory) -> Recording:
    """Count what an inventory holds."""
    source = inventory.provenance
    return Recording(
        source=source.description,
        kubernetes=source.server_version,
        taken=source.taken,
        latest=inventory.as_of,
        objects=dict(sorted(Counter(kind_of(item) for item in inventory.objects).items())),
        devices=len(inventory.devices),
        pods_with_claims=len(inventory.pod_claims),
        unseen=dict(sorted(source.unseen.items())),
        notes=list(source.notes),
    )


def compare_recordings(before: Inventory, after: Inventory) -> Changes:
    """What an administrator wants to know of the time between: claims, devices and their taints, pools, nodes.

    Objects of kinds that one of the two could not see are left out.
    """
    blind = set(before.provenance.unseen) | set(after.provenance.unseen)
    views = {
        "Claim": ("ResourceClaim", _claims),
        "Device": ("ResourceSlice", _devices),
        "Pool": ("ResourceSlice", _pools),
        "Node": ("Node", _nodes),
        "DeviceClass": ("DeviceClass", _classes),
        "DeviceTaintRule": ("DeviceTaintRule", _rules),
    }
    changes: list[Change] = []
    for kind, (needed, view) in views.items():
        if needed not in blind:
            changes.extend(_compare(kind, view(before), view(after)))
    return Changes(describe_recording(before), describe_recording(after), changes)


def _compare(kind: str, before: Mapping[str, str], after: Mapping[str, str]) -> Iterable[Change]:
    for name in sorted(before.keys() | after.keys()):
        old, new = before.get(name), after.get(name)
        if old == new:
            continue
        change = "added" if old is None else "removed" if new is None else "changed"
        yield Change(kind, name, change, old, new)


def _claims(inventory: Inventory) -> dict[str, str]:
    return {str(key): _claim(claim) for key, claim in inventory.claims.items()}


def _claim(claim: ResourceClaim) -> str:
    if claim.meta.deletion_timestamp:
        state = "deleting"
    elif claim.allocation is None:
        return "pending"
    else:
        state = "reserved" if claim.reserved_for else "allocated"
    devices = [f"{item.driver}/{item.pool}/{item.device}" for item in (claim.allocation or _NOTHING).results]
    pods = [item.name for item in claim.reserved_for]
    return f"{state}: {', '.join(devices) or 'no device'}" + (f"; for {', '.join(pods)}" if pods else "")


class _NOTHING:
    results: tuple[Any, ...] = ()


def _devices(inventory: Inventory) -> dict[str, str]:
    return {str(identity): _taints(found.device.taints) for identity, found in inventory.devices.items()}


def _taints(taints: Iterable[DeviceTaint]) -> str:
    texts = sorted(f"{item.key}{'=' + item.value if item.value else ''}:{item.effect}" for item in taints)
    return f"tainted {', '.join(texts)}" if texts else "not tainted"


def _pools(inventory: Inventory) -> dict[str, str]:
    return {
        str(identity): f"generation {pool.generation}, {len(pool.current)} of {pool.expected_slices} slices"
        for identity, pool in inventory.pools.items()
    }


def _nodes(inventory: Inventory) -> dict[str, str]:
    return {name: _node(node) for name, node in inventory.nodes.items()}


def _node(node: Node) -> str:
    ready = next((item.status for item in node.conditions if item.type == "Ready"), "Unknown")
    words = ["ready" if ready == "True" else "not ready"]
    words += ["cordoned"] if node.unschedulable else []
    words += sorted(f"taint {item.key}{'=' + item.value if item.value else ''}:{item.effect}" for item in node.taints)
    return ", ".join(words)


def _classes(inventory: Inventory) -> dict[str, str]:
    return {
        name: " && ".join(item.cel or "(unknown selector)" for item in found.selectors) or "every device"
        for name, found in inventory.classes.items()
    }


def _rules(inventory: Inventory) -> dict[str, str]:
    found = {}
    for rule in inventory.taint_rules:
        chosen = rule.selector
        parts = [] if chosen is None else [chosen.driver, chosen.pool, chosen.device]
        target = "/".join(part or "*" for part in parts) or "no selector"
        found[rule.meta.name] = f"{_taints([rule.taint])} on {target}"
    return found
