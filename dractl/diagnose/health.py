"""What drivers and kubelet report about devices: taints, conditions, health of resources in use; taint rules."""

from __future__ import annotations

from collections.abc import Iterator

from dractl.diagnose.check import Context, claim_ref
from dractl.explain.lifecycle import since
from dractl.explain.words import count, listing, ranges
from dractl.inventory import Inventory, PublishedDevice, key_of
from dractl.kube.objects import DeviceTaintRule
from dractl.rules import publication, scheduler
from dractl.rules.finding import Finding, ObjectRef, Severity


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
        evict = f"; NoExecute evicts their pods unless they tolerate it{used}" if taint.effect == "NoExecute" else used
        what = f"{count(len(devices), 'device')} ({where})" if devices else "no published device"
        yield publication.TAINT_RULE_ACTIVE.finding(
            f"DeviceTaintRule {rule.meta.name} puts {text} on {what}{evict}",
            ObjectRef("DeviceTaintRule", rule.meta.name),
            evidence={"devices": len(devices), "users": users},
        )


def _users(inventory: Inventory, devices: list[PublishedDevice]) -> list[str]:
    return sorted({str(key_of(holder.claim)) for found in devices for holder in inventory.holders.get(found.id, [])})


def taint_rules_ignored(context: Context) -> Iterator[Finding]:
    """Rules that the scheduler of this release does not see."""
    if "taint-rules-unseen" not in context.question.profile.quirks:
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


def resources_unhealthy(context: Context) -> Iterator[Finding]:
    """Resources of running pods that kubelet reports as unhealthy."""
    for key, pod in context.inventory.pods.items():
        for status in pod.container_statuses:
            for resource in status.get("allocatedResourcesStatus") or []:
                for one in resource.get("resources") or []:
                    if one.get("health") == "Unhealthy":
                        note = f": {one['message']}" if one.get("message") else ""
                        what = f"{resource.get('name')} {one.get('resourceID')}"
                        yield publication.DEVICE_UNHEALTHY.finding(
                            f"pod {key}, container {status.get('name')}: {what} is unhealthy{note}",
                            ObjectRef("Pod", key.name, key.namespace),
                        )
