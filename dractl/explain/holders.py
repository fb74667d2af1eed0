"""Who has the devices that a claim could use: claims, their pods, priorities, and whether anything still uses them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from dractl.explain.lifecycle import age_of, gone_consumers, gone_words, pods_known, users_of
from dractl.explain.nearest import device_names
from dractl.explain.report import HolderView
from dractl.explain.survey import Candidate, Survey
from dractl.explain.words import listing, natural
from dractl.inventory import DeviceId, Inventory, Key, key_of
from dractl.kube.objects import Pod, ResourceClaim


@dataclass(slots=True)
class Held:
    """A claim and the devices of interest that it holds, or whose counters or amounts it takes."""

    claim: ResourceClaim
    devices: list[DeviceId] = field(default_factory=list)
    shared: bool = False
    """Whether it holds only shares or counters, not the devices themselves."""
    pods: list[Pod] = field(default_factory=list)

    @property
    def name(self) -> str:
        """``namespace/name``."""
        return str(key_of(self.claim))

    @property
    def priority(self) -> int | None:
        """The highest priority of its pods."""
        return max((pod.priority for pod in self.pods), default=None)


def holders_of(survey: Survey, indices: Iterable[int], nodes: Iterable[str]) -> list[Held]:
    """The claims that keep matching devices on some nodes from the asks, those with most devices first."""
    found: dict[Key, Held] = {}
    done: set[DeviceId] = set()
    for name in nodes:
        for index in indices:
            for candidate in survey.nodes[name].asks[index].matched:
                if candidate.judgement.code is not None and candidate.id not in done:
                    done.add(candidate.id)
                    _note(survey, found, candidate)
    held = sorted(found.values(), key=lambda one: (-len(one.devices), natural(one.name)))
    for one in held:
        one.pods = users_of(survey.inventory, one.claim)
        one.devices.sort(key=lambda device: natural(str(device)))
    return held


def _note(survey: Survey, found: dict[Key, Held], candidate: Candidate) -> None:
    judgement = candidate.judgement
    for holder in judgement.holders:
        held = found.setdefault(key_of(holder.claim), Held(holder.claim))
        _add(held.devices, candidate.id)
        held.shared = bool(holder.result.share_id)
    for shortage in judgement.shortages:
        for device in shortage.by:
            for holder in survey.judge.room.holders_of(device):
                held = found.setdefault(key_of(holder.claim), Held(holder.claim))
                _add(held.devices, device)


def _add(devices: list[DeviceId], device: DeviceId) -> None:
    if device not in devices:
        devices.append(device)


def holder_views(inventory: Inventory, held: Iterable[Held], now: str | None = None) -> list[HolderView]:
    """Holders as the report shows them."""
    out = []
    for one in held:
        nodes = sorted({device.pool for device in one.devices if device.pool in inventory.nodes}, key=natural)
        nodes = nodes or sorted({pod.node_name for pod in one.pods if pod.node_name}, key=natural)
        out.append(
            HolderView(
                one.claim.meta.namespace,
                one.claim.meta.name,
                [str(device) for device in one.devices],
                [str(key_of(pod)) for pod in one.pods],
                nodes,
                age=age_of(inventory, one.claim.meta, now),
                priority=one.priority,
                deleting=bool(one.claim.meta.deletion_timestamp),
                text=holder_text(inventory, one, now),
            )
        )
    return out


def holder_text(inventory: Inventory, held: Held, now: str | None = None) -> str:
    """``ml/whole-node (pod ml/whole-node, running): h100-1/gpu-0 to gpu-7``."""
    text = f"claim {held.name} ({_users_text(inventory, held)}): {device_names(held.devices)}"
    taken = amounts_of(held)
    if taken:
        text += f", {taken}"
    age = age_of(inventory, held.claim.meta, now)
    return f"{text}, {age} old" if age else text


def amounts_of(held: Held) -> str:
    """What a claim takes of devices that are shared: ``dra.cpu/cpu 32``."""
    if held.claim.allocation is None:
        return ""
    wanted = set(held.devices)
    parts = [
        f"{amount} of {name}"
        for result in held.claim.allocation.results
        if result.consumed_capacity and DeviceId(result.driver, result.pool, result.device) in wanted
        for name, amount in result.consumed_capacity.items()
    ]
    return listing(dict.fromkeys(parts), 4)


def _users_text(inventory: Inventory, held: Held) -> str:
    claim = held.claim
    if held.pods:
        names = [str(key_of(pod)) for pod in held.pods]
        text = f"pod {names[0]}" if len(names) == 1 else f"pods {listing(names, 3)}"
        if len(held.pods) == 1 and held.pods[0].meta.deletion_timestamp:
            text += ", being deleted"
        if held.priority:
            text += f", priority {held.priority}"
        return text + (", claim being deleted" if claim.meta.deletion_timestamp else "")
    if claim.meta.deletion_timestamp:
        return "being deleted, kept by a finalizer"
    if not claim.reserved_for:
        return "reserved for no pod"
    gone = gone_consumers(inventory, claim)
    if gone and len(gone) == len(claim.reserved_for):
        return f"reserved for {gone_words(inventory, claim)}"
    names = [consumer.name for consumer in claim.reserved_for]
    return f"reserved for {listing(names, 3)}" + ("" if pods_known(inventory) else ", pods not seen")
