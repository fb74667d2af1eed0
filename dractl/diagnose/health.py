"""What drivers and kubelet report about devices: taints, conditions, health of resources in use; taint rules."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dractl.allocator.quirks import TAINT_RULES_UNSEEN
from dractl.allocator.taints import tolerates
from dractl.diagnose.check import Context, claim_ref
from dractl.explain.lifecycle import since
from dractl.explain.words import count, duration, listing, moment, ranges, seconds_between
from dractl.inventory import Inventory, PublishedDevice, key_of
from dractl.kube.objects import DeviceTaintRule, Pod
from dractl.rules import publication, scheduler
from dractl.rules.finding import Finding, ObjectRef, Severity

_BINDING_TIMEOUT = 600
"""Seconds that the scheduler waits for binding conditions (its bindingTimeout)."""


def devices_tainted(context: Context) -> Iterator[Finding]:
    """Taints that drivers have put on devices, by taint."""
    inventory = context.inventory
    groups: dict[tuple[str, str, str, str], list[tuple[PublishedDevice, str | None]]] = {}
    for found in inventory.devices.values():
        for taint in found.device.taints:
            key = (found.id.driver, taint.key, taint.value, taint.effect)
            groups.setdefault(key, []).append((found, taint.time_added))
    for (driver, name, value, effect), items in sorted(groups.items()):
        devices = [str(found.id) for found, _ in items]
        oldest = min((stamp for _, stamp in items if stamp), default=None)
        age = since(inventory, oldest, context.question.now)
        users = sorted(
            {
                str(key_of(holder.claim))
                for found, _ in items
                for holder in inventory.holders.get(found.id, [])
                if not holder.result.admin_access
            }
        )
        used = f"; in use by {listing(users)}" if users else "; not in use"
        yield publication.DEVICES_TAINTED.finding(
            f"{count(len(devices), 'device')} of {driver} {'carries' if len(devices) == 1 else 'carry'} the taint "
            f"{name}{'=' + value if value else ''}:{effect}{f' for {age}' if age else ''}: {listing(devices, 4)}{used}",
            ObjectRef("Device", devices[0]) if len(devices) == 1 else ObjectRef("Driver", driver),
            severity=Severity.INFO if effect == "None" else None,
            evidence={"devices": devices, "since": oldest or ""},
        )


def affected(inventory: Inventory, rule: DeviceTaintRule) -> list[PublishedDevice]:
    """The devices that a rule names; a rule without selector is meant for none."""
    chosen = rule.selector
    if chosen is None:
        return []
    return [
        found
        for identity, found in inventory.devices.items()
        if chosen.driver in (None, identity.driver)
        and chosen.pool in (None, identity.pool)
        and chosen.device in (None, identity.device)
    ]


def taint_rules(context: Context) -> Iterator[Finding]:
    """Rules in force, the devices they name, and who would have to go."""
    inventory = context.inventory
    for rule in inventory.taint_rules:
        devices = affected(inventory, rule)
        taint = rule.taint
        text = f"{taint.key}{'=' + taint.value if taint.value else ''}:{taint.effect}"
        where = ranges(sorted({found.node_name or found.id.pool for found in devices}))
        users = _users(inventory, devices)
        used = f", in use by {listing(users)}" if users else ""
        evict: str = ""
        related: tuple[ObjectRef, ...] = ()
        if taint.effect == "NoExecute":
            evict, related = _evicted(context, rule, devices)
        what = f"{count(len(devices), 'device')} ({where})" if devices else "no published device"
        yield publication.TAINT_RULE_ACTIVE.finding(
            f"DeviceTaintRule {rule.meta.name} puts {text} on {what}{used}{evict}",
            ObjectRef("DeviceTaintRule", rule.meta.name),
            evidence={"devices": len(devices), "users": users},
            related=related,
        )


def _evicted(
    context: Context, rule: DeviceTaintRule, devices: list[PublishedDevice]
) -> tuple[str, tuple[ObjectRef, ...]]:
    """Whom the controller evicts because of a rule with NoExecute: running pods whose allocation does not tolerate."""
    inventory = context.inventory
    leaving: dict[str, Pod] = {}
    staying: set[str] = set()
    for found in devices:
        for holder in inventory.holders.get(found.id, []):
            for pod in holder.pods:
                if pod.phase in ("Succeeded", "Failed"):
                    continue
                if any(tolerates(one, rule.taint) for one in holder.result.tolerations):
                    staying.add(str(key_of(pod)))
                else:
                    leaving[str(key_of(pod))] = pod
    staying -= leaving.keys()
    gone = [name for name, pod in sorted(leaving.items()) if pod.meta.deletion_timestamp]
    words = f"; it evicts {listing(sorted(leaving), 4)}" if leaving else "; it evicts nobody"
    words += f" ({listing(gone, 3)} {'is' if len(gone) == 1 else 'are'} ending already)" if gone else ""
    words += f"; {listing(sorted(staying), 3)} {'tolerates' if len(staying) == 1 else 'tolerate'} it" if staying else ""
    if context.release < (1, 37):
        words += ", if the gate DRADeviceTaintRules is on"
    return words, tuple(ObjectRef("Pod", pod.meta.name, pod.meta.namespace) for pod in leaving.values())


def _users(inventory: Inventory, devices: list[PublishedDevice]) -> list[str]:
    return sorted({str(key_of(holder.claim)) for found in devices for holder in inventory.holders.get(found.id, [])})


def taint_rules_ignored(context: Context) -> Iterator[Finding]:
    """Rules that the scheduler of this release does not see."""
    if TAINT_RULES_UNSEEN not in context.question.profile.quirks:
        return
    for rule in context.inventory.taint_rules:
        devices = affected(context.inventory, rule)
        yield scheduler.TAINT_RULES_IGNORED.finding(
            f"kube-scheduler {context.question.release.full} does not see DeviceTaintRule {rule.meta.name}: it still "
            f"gives out the {count(len(devices), 'device')} that the rule names",
            ObjectRef("DeviceTaintRule", rule.meta.name),
            hint="cordon the node, or let the driver taint the devices in its slices, until the scheduler is 1.36.3 or "
            "later",
        )


def device_conditions(context: Context) -> Iterator[Finding]:
    """Devices in use that their driver reports as not ready."""
    for claim in context.inventory.claims.values():
        for status in claim.devices:
            for condition in status.conditions:
                if condition.type == "Ready" and condition.status == "False":
                    yield publication.DEVICE_CONDITION.finding(
                        f"{status.driver}/{status.pool}/{status.device}, held by {key_of(claim)}, is not ready: "
                        f"{condition.reason}{': ' + condition.message if condition.message else ''}",
                        claim_ref(claim),
                    )


def binding_failed(context: Context) -> Iterator[Finding]:
    """Devices whose binding conditions failed, or have not come for longer than the scheduler waits."""
    for key, claim in context.inventory.claims.items():
        if claim.allocation is None or claim.meta.deletion_timestamp:
            continue
        for result in claim.allocation.results:
            device = f"{result.driver}/{result.pool}/{result.device}"
            conditions = {
                one.type: one
                for status in claim.devices
                if (status.driver, status.pool, status.device) == (result.driver, result.pool, result.device)
                for one in status.conditions
            }
            failed = [
                conditions[name]
                for name in result.binding_failure_conditions
                if name in conditions and conditions[name].status == "True"
            ]
            open_ = [
                name
                for name in result.binding_conditions
                if name not in conditions or conditions[name].status != "True"
            ]
            now = moment(context.question.now or context.inventory.as_of)
            waited = seconds_between(claim.allocation.allocation_timestamp or claim.meta.creation_timestamp, now) or 0
            if failed:
                said = f": {failed[0].reason} {failed[0].message}".rstrip(": ")
                text = f"{device}, allocated to claim {key}, could not be made ready: {failed[0].type} is True{said}"
            elif open_ and waited > _BINDING_TIMEOUT:
                text = f"{device}, allocated to claim {key} {duration(waited)} ago, still waits for {listing(open_)}"
            else:
                continue
            yield publication.BINDING_FAILED.finding(text, claim_ref(claim), evidence={"device": device})


def resources_unhealthy(context: Context) -> Iterator[Finding]:
    """Resources of running pods that kubelet reports as unhealthy; for information those it knows nothing about."""
    for key, pod in context.inventory.pods.items():
        if pod.phase in ("Succeeded", "Failed"):
            continue
        for name, health, what in _resource_health(pod):
            if health in ("Unhealthy", "Unknown"):
                state = "is unhealthy" if health == "Unhealthy" else "is in a state that its driver does not report"
                yield publication.DEVICE_UNHEALTHY.finding(
                    f"pod {key}, container {name}: {what.replace(_HEALTH, state)}",
                    ObjectRef("Pod", key.name, key.namespace),
                    severity=None if health == "Unhealthy" else Severity.INFO,
                    hint=f"move the pod away (kubectl delete pod {key.name} -n {key.namespace}, if something makes it "
                    f"anew) and see to the device; its driver's log on {pod.node_name or 'the node'} tells more"
                    if health == "Unhealthy"
                    else "",
                )


_HEALTH = "\x00"


def _resource_health(pod: Pod) -> Iterator[tuple[str, str, str]]:
    for status in pod.container_statuses:
        for resource in _list(status.get("allocatedResourcesStatus")):
            for one in _list(resource.get("resources")):
                note = f": {one['message']}" if one.get("message") else ""
                what = f"{resource.get('name')} {one.get('resourceID')} {_HEALTH}{note}"
                yield str(status.get("name")), str(one.get("health")), what


def _list(value: object) -> list[dict[str, Any]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []
