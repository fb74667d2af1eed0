"""Devices that others keep: claims that end, taints that go or are tolerated."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from dractl.explain.case import Case
from dractl.explain.holders import Held, holders_of
from dractl.explain.judge import Ask, device_taint_text
from dractl.explain.lifecycle import age_of, gone_consumers
from dractl.explain.nearest import device_names
from dractl.explain.taken import is_health
from dractl.explain.words import listing, natural
from dractl.inventory import DeviceId, key_of
from dractl.kube.objects import (
    Device,
    DeviceTaint,
    DeviceToleration,
    ResourceSlice,
)
from dractl.simulate.candidates.model import ADMIN, CLAIM, Change
from dractl.simulate.variant import Variant

_HOLDERS = 40
"""So many holders are tried one by one."""


def holders(case: Case) -> Iterator[Change]:
    """One claim ends that keeps devices which could be used."""
    if case.idle is not None:
        # even with all devices free it would not fit
        return
    names = [answer.name for answer in case.eligible] or list(case.nodes)
    held = holders_of(case.survey, range(len(case.survey.asks)), names)
    for one in held[:_HOLDERS]:
        yield free(case, one)


def free(case: Case, held: Held) -> Change:
    """Give back the devices of a claim."""
    key = key_of(held.claim)

    def apply(variant: Variant) -> None:
        variant.freed.add(key)

    gone = gone_consumers(case.inventory, held.claim)
    unused = not held.claim.reserved_for or len(gone) == len(held.claim.reserved_for)
    mine = max((pod.priority for pod in case.pods), default=0)
    cost = 50 if unused else 52 if (held.priority or 0) < mine else 55
    pods = listing([str(key_of(pod)) for pod in held.pods], 2)
    known = [f"pod {pods}"] if pods else []
    name = f"{key} (pod {pods})" if pods and pods != str(key) else str(key)
    age = age_of(case.inventory, held.claim.meta, case.now)
    known += [f"{age} old"] if age else []
    known += [f"priority {held.priority}"] if held.priority else []
    known += ["no longer used"] if unused else []
    touched = sorted(
        {
            node
            for result in (held.claim.allocation.results if held.claim.allocation else [])
            for node in case.survey.nodes_of_device.get(DeviceId(result.driver, result.pool, result.device), [])
        }
        | _counter_nodes(case, held),
        key=natural,
    )
    return Change(
        "free",
        f"end claim {key}",
        f"owner of {key}",
        cost,
        apply,
        touched,
        choice=f"free {cost}",
        name=name,
        subjects=frozenset({f"claim {key}"}),
        detail=", ".join(known),
    )


def _counter_nodes(case: Case, held: Held) -> set[str]:
    """Nodes that see a pool of a claim's devices: counters of the pool count there as well."""
    pools = {(one.driver, one.pool) for one in (held.claim.allocation.results if held.claim.allocation else [])}
    return {
        facts.name for facts in case.survey.nodes.values() for pool in facts.pools if (pool.driver, pool.name) in pools
    }


def device_taints(case: Case) -> Iterator[Change]:
    """A device's taint goes, or is tolerated."""
    found: dict[tuple[int, str], tuple[Ask, DeviceTaint, list[DeviceId]]] = {}
    for name in [answer.name for answer in case.eligible]:
        for index, ask in enumerate(case.survey.asks):
            for one in case.survey.nodes[name].asks[index].matched:
                for taint in one.judgement.taints:
                    entry = found.setdefault((index, device_taint_text(taint)), (ask, taint, []))
                    if one.id not in entry[2]:
                        entry[2].append(one.id)
    for (_, text), (ask, taint, devices) in found.items():
        names = device_names(sorted(devices, key=lambda one: natural(str(one))), 3)
        if taint.rule:
            yield Change(
                "taint-rule",
                f"delete DeviceTaintRule {taint.rule} ({names})",
                ADMIN,
                61,
                _without_rule(taint.rule),
                subjects=frozenset({f"taint {text}"}),
            )
        else:
            yield Change(
                "untaint",
                f"bring {names} back to health, so that the taint {text} goes"
                if is_health(taint)
                else f"end the cause of the taint {text} of {names}, so that it goes",
                ADMIN,
                62,
                _untainted(devices, taint.key),
                subjects=frozenset({f"taint {text}"}),
            )
        yield Change(
            "toleration",
            f"tolerate the device taint {text} in request {ask.label} (it then may get {names} as it is)",
            CLAIM,
            70,
            _tolerating(ask, taint),
            subjects=frozenset({f"taint {text}"}),
        )


def _without_rule(name: str) -> Callable[[Variant], None]:
    def apply(variant: Variant) -> None:
        variant.taint_rules = [rule for rule in variant.taint_rules if rule.meta.name != name]

    return apply


def _untainted(devices: Iterable[DeviceId], key: str) -> Callable[[Variant], None]:
    wanted = set(devices)

    def changed(item: ResourceSlice, device: Device) -> Device:
        if DeviceId(item.driver, item.pool.name, device.name) not in wanted:
            return device
        return replace(device, taints=[taint for taint in device.taints if taint.key != key])

    def apply(variant: Variant) -> None:
        pools = {(one.driver, one.pool) for one in wanted}
        variant.slices = [
            replace(item, devices=[changed(item, device) for device in item.devices])
            if (item.driver, item.pool.name) in pools
            else item
            for item in variant.slices
        ]

    return apply


def _tolerating(ask: Ask, taint: DeviceTaint) -> Callable[[Variant], None]:
    def apply(variant: Variant) -> None:
        request = variant.request(ask.claim, ask.name)
        toleration = DeviceToleration(key=taint.key, operator="Exists", effect=taint.effect)
        variant.change_request(ask.claim, ask.name, tolerations=[*request.tolerations, toleration])

    return apply
