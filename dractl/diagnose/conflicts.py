"""Claims that wait, claims that get in each other's way, and hardware that is given out twice."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase

from dractl.diagnose.check import Context, Waiting, claim_ref
from dractl.explain.matching import shortage
from dractl.explain.report import ClaimExplanation, HolderView
from dractl.explain.words import count, listing, moment, plural, ranges, seconds_between
from dractl.inventory import DeviceId, Holder, Inventory, Key, Pool, PublishedDevice, key_of
from dractl.kube.drivers import DRIVERS
from dractl.kube.objects import DeviceClass, Pod, ResourceClaim
from dractl.kube.quantity import Quantity
from dractl.rules import allocation, conflicts, lifecycle, scheduler
from dractl.rules.finding import Finding, ObjectRef, Severity

_FINISHED = ("Succeeded", "Failed")


_QUEUED = {allocation.FULL_OF_HOLDERS.code, scheduler.NO_PREEMPTION.code}
"""Codes of a claim that only waits for its turn."""
_COMPETING = 200
"""So many claims are looked at for competition."""
_FRESH = 60
"""Seconds in which a pod may wait without anything being wrong."""


def pending_claims(context: Context) -> Iterator[Finding]:
    """Claims that pods wait for, each with the sentence that explains it; claims of one form are taken together."""
    for waiting in context.waiting:
        report, key = waiting.report, waiting.claims[0]
        related = tuple(ObjectRef("Pod", pod.name, pod.namespace) for pod in report.pods)
        related += tuple(ObjectRef("ResourceClaim", other.name, other.namespace) for other in waiting.claims[1:])
        codes = sorted({found.code for found in report.findings})
        past = lifecycle.PLACED_PAST_SCHEDULER.code in codes
        if past or (report.verdict == "fits" and _fresh(context, waiting)):
            # told by another check, or nothing to tell
            continue
        evidence = {"verdict": report.verdict, "codes": codes, "age": report.age}
        message = report.summary
        if len(waiting.claims) > 1:
            evidence["claims"] = [str(one) for one in waiting.claims]
            others = listing([str(one) for one in waiting.claims[1:]], 3)
            alike = plural(len(waiting.claims) - 1, "claim like it waits", "claims like it wait")
            message += f" {len(waiting.claims) - 1:,} more {alike} too: {others}."
        yield conflicts.CLAIM_PENDING.finding(
            message,
            ObjectRef("ResourceClaim", key.name, key.namespace),
            severity=_weight(context, waiting, codes),
            evidence=evidence,
            hint=_next_step(report, key),
            related=related,
        )


def _next_step(report: ClaimExplanation, key: Key) -> str:
    command = f"dractl explain claim {key.name} -n {key.namespace}"
    if report.fixes:
        return f"{report.fixes[0].text}; tried out, see: {command}"
    if report.actions:
        return f"{report.actions[0].rstrip('.')}; see: {command}"
    return command


def _weight(context: Context, waiting: Waiting, codes: list[str]) -> Severity | None:
    """For information, if nothing is wrong: it fits, is kept back on purpose, or is only seconds old."""
    if waiting.report.verdict == "fits" or lifecycle.SCHEDULING_GATED.code in codes or _fresh(context, waiting):
        return Severity.INFO
    return Severity.WARNING if codes and set(codes) <= _QUEUED else None


def _fresh(context: Context, waiting: Waiting) -> bool:
    """Whether claims are so young that nothing is wrong yet; only where the time of the reading is known."""
    claims = context.inventory.claims
    return bool(context.inventory.provenance.taken) and all(
        _seconds_old(context, claims[key].meta.creation_timestamp) < _FRESH for key in waiting.claims
    )


def _seconds_old(context: Context, stamp: str | None) -> float:
    age = seconds_between(stamp, moment(context.question.now or context.inventory.as_of))
    return age if age is not None else float("inf")


def claims_competing(context: Context) -> Iterator[Finding]:
    """Claims that fit one by one and ask for more devices together than there are for them."""
    claims: list[ResourceClaim] = []
    wants: list[tuple[int, frozenset[DeviceId]]] = []
    fitting = [waiting for waiting in context.waiting if waiting.report.verdict == "fits"]
    if sum(len(waiting.claims) for waiting in fitting) < 2:
        return
    for waiting in fitting:
        for needed, usable in context.usable(waiting.claims[0]):
            for key in waiting.claims[:_COMPETING]:
                claims.append(context.inventory.claims[key])
                wants.append((needed, usable))
    if len(wants) > _COMPETING:
        wants, claims = wants[:_COMPETING], claims[:_COMPETING]
    short = shortage(wants) if len(claims) > 1 else []
    names = list(dict.fromkeys(str(key_of(claims[index])) for index in short))
    if len(names) < 2:
        return
    devices = sorted(set().union(*(wants[index][1] for index in short)))
    asked = sum(wants[index][0] for index in short)
    yield conflicts.CLAIMS_COMPETE.finding(
        f"{listing([f'claim {name}' for name in names], 4)} fit one by one, but together they ask for "
        f"{count(asked, 'device')}, and only {count(len(devices), 'device')} can serve them: "
        f"{listing([str(one) for one in devices], 4)}",
        claim_ref(claims[short[0]]),
        evidence={"claims": names, "devices": [str(one) for one in devices], "asked": asked},
        hint=f"free or add {count(asked - len(devices), 'device')} more, or delete the pods that can wait",
        related=tuple(claim_ref(claims[index]) for index in short[1:]),
    )


def held_twice(context: Context) -> Iterator[Finding]:
    """Devices with more than one exclusive holder."""
    for device, holders in sorted(context.inventory.holders.items()):
        exclusive = [item for item in holders if not item.result.admin_access and item.result.share_id is None]
        names = sorted({str(key_of(item.claim)) for item in exclusive})
        if len(names) > 1:
            yield conflicts.DEVICE_HELD_TWICE.finding(
                f"{device} is held by {listing(names)}, and it cannot be shared",
                ObjectRef("Device", str(device)),
                evidence={"claims": names},
                hint=f"{_end_one(exclusive)}; find out who wrote the second allocation (a second scheduler, a restored "
                "backup)",
                related=tuple(claim_ref(item.claim) for item in exclusive),
            )


def _end_one(holders: list[Holder]) -> str:
    """How to end the claim that was allocated last, with its pods."""
    last = max(holders, key=lambda item: item.claim.meta.creation_timestamp or "")
    meta = last.claim.meta
    pods = [f"kubectl delete pod {pod.meta.name} -n {pod.meta.namespace}" for pod in last.pods[:2]]
    first = f"end the younger one: {' and '.join(pods)}, then " if pods else "end the younger one: "
    return f"{first}kubectl delete resourceclaim {meta.name} -n {meta.namespace}"


def devices_gone(context: Context) -> Iterator[Finding]:
    """Allocations of devices that are not published (any more)."""
    inventory = context.inventory
    lost: dict[str, tuple[ResourceClaim, list[DeviceId]]] = {}
    for device, holders in inventory.holders.items():
        if device not in inventory.devices:
            for item in holders:
                lost.setdefault(str(key_of(item.claim)), (item.claim, []))[1].append(device)
    for name, (claim, devices) in sorted(lost.items()):
        pools = sorted({str(device.pool_id) for device in devices})
        missing = [pool for pool in pools if not any(str(key) == pool for key in inventory.pools)]
        why = f"; no slice of pool {listing(missing)} is there at all" if missing else ""
        yield conflicts.DEVICE_GONE.finding(
            f"{name} holds {listing([str(device) for device in sorted(devices)])}, which no slice publishes{why}",
            claim_ref(claim),
            evidence={"devices": [str(device) for device in sorted(devices)]},
            hint=f"see what publishes there now: dractl get slices --driver {devices[0].driver}; if the device is gone "
            f"for good, end its pods: {_pods_of(inventory, claim)}",
            related=tuple(
                ObjectRef("Pod", pod.meta.name, pod.meta.namespace)
                for pod in inventory.claim_pods.get(key_of(claim), [])
            ),
        )


def _pods_of(inventory: Inventory, claim: ResourceClaim) -> str:
    pods = inventory.claim_pods.get(key_of(claim), [])
    if not pods:
        return f"kubectl delete resourceclaim {claim.meta.name} -n {claim.meta.namespace}"
    return f"kubectl delete pod {' '.join(pod.meta.name for pod in pods[:4])} -n {claim.meta.namespace}"


def counters_overdrawn(context: Context) -> Iterator[Finding]:
    """Counter sets whose allocated devices consume more than there is."""
    inventory = context.inventory
    for identity, pool in inventory.pools.items():
        sets = {item.name: item.counters for piece in pool.current for item in piece.shared_counters}
        if not sets:
            continue
        used: dict[tuple[str, str], Quantity] = {}
        users: dict[str, list[tuple[PublishedDevice, list[Holder]]]] = {}
        for published in pool.devices():
            holders = [item for item in inventory.holders.get(published.id, []) if not item.result.admin_access]
            if not holders:
                continue
            for consumption in published.device.consumes_counters:
                users.setdefault(consumption.counter_set, []).append((published, holders))
                for name, amount in consumption.counters.items():
                    key = (consumption.counter_set, name)
                    used[key] = used.get(key, Quantity.of(0)) + amount
        for set_name, counters in sorted(sets.items()):
            over = {
                name: (used[set_name, name], have)
                for name, have in sorted(counters.items())
                if (set_name, name) in used and used[set_name, name] > have
            }
            if over:
                blocked = _blocked_parts(pool, set_name, inventory)
                yield _overdrawn(str(identity), set_name, over, users[set_name], blocked)


def _overdrawn(
    pool: str,
    set_name: str,
    over: dict[str, tuple[Quantity, Quantity]],
    users: list[tuple[PublishedDevice, list[Holder]]],
    blocked: list[str],
) -> Finding:
    amounts = listing([f"{have} of {name} but {taken} given out" for name, (taken, have) in over.items()])
    who = listing(
        [
            f"{published.id.device} ({_held_words(published, holders)})"
            for published, holders in sorted(users, key=lambda one: one[0].id)
        ]
    )
    further = ""
    if blocked:
        further = (
            f"; a scheduler that counts rightly sees the set as negative and gives out no further device of the pool "
            f"that draws on counters, so {listing(blocked)} cannot be had either while both stand"
        )
    claims = {str(key_of(item.claim)): claim_ref(item.claim) for _, holders in users for item in holders}
    return conflicts.COUNTERS_OVERDRAWN.finding(
        f"counter set {set_name} of pool {pool} has {amounts}: {who} exclude each other{further}",
        ObjectRef("Pool", pool),
        evidence={
            "counterSet": set_name,
            "counters": {name: {"has": str(have), "given": str(taken)} for name, (taken, have) in over.items()},
        },
        hint=f"end the pods of one of the claims {listing(sorted(claims), last='or')} and make its claim anew; update "
        "the scheduler (1.36.0 does not count shared devices when it adds counters up; mended in 1.36.1)",
        related=tuple(claims.values()),
    )


def _held_words(published: PublishedDevice, holders: list[Holder]) -> str:
    verb = "shared by" if published.device.allow_multiple_allocations else "held by"
    return f"{verb} claim {listing(sorted({str(key_of(item.claim)) for item in holders}))}"


def _blocked_parts(pool: Pool, set_name: str, inventory: Inventory) -> list[str]:
    """Free devices of the pool that draw on other counter sets: they are refused too, through no fault of theirs."""
    names = []
    for published in pool.devices():
        sets = {item.counter_set for item in published.device.consumes_counters}
        if sets and set_name not in sets and not inventory.holders.get(published.id):
            names.append(published.id.device)
    return names


def capacity_overdrawn(context: Context) -> Iterator[Finding]:
    """Shared devices of which more is given out than they have."""
    inventory = context.inventory
    for device, holders in sorted(inventory.holders.items()):
        published = inventory.devices.get(device)
        shares = [item for item in holders if item.result.share_id is not None]
        if published is None or len(shares) < 2:
            continue
        for name, capacity in published.device.capacity.items():
            total = sum(
                ((item.result.consumed_capacity or {}).get(name, Quantity.of(0)) for item in shares), Quantity.of(0)
            )
            if total > capacity.value:
                claims = sorted({str(key_of(item.claim)) for item in shares})
                yield conflicts.CAPACITY_OVERDRAWN.finding(
                    f"{device} has {capacity.value} of {name}, but {total} is given out, to {listing(claims)}",
                    ObjectRef("Device", str(device)),
                    evidence={"capacity": name, "has": str(capacity.value), "given": str(total)},
                    related=tuple(claim_ref(item.claim) for item in shares),
                )


def families(inventory: Inventory) -> Iterator[tuple[PublishedDevice, list[PublishedDevice]]]:
    """Devices that are published beside parts of themselves (by parentUUID) with no shared counter between them."""
    for pool in inventory.pools.values():
        wholes: dict[str, PublishedDevice] = {}
        parts: dict[str, list[PublishedDevice]] = {}
        for published in pool.devices():
            uuid = _text(published, "uuid")
            parent = _text(published, "parentUUID")
            if parent:
                parts.setdefault(parent, []).append(published)
            elif uuid:
                wholes[uuid] = published
        for uuid, found in parts.items():
            whole = wholes.get(uuid)
            if whole is not None:
                sets = {item.counter_set for item in whole.device.consumes_counters}
                apart = [one for one in found if not sets & {item.counter_set for item in one.device.consumes_counters}]
                if apart:
                    yield whole, apart


def _text(published: PublishedDevice, name: str) -> str | None:
    for key in (name, f"{published.id.driver}/{name}"):
        attribute = published.device.attributes.get(key)
        if attribute is not None and isinstance(attribute.value, str):
            return attribute.value
    return None


def whole_and_part(context: Context) -> Iterator[Finding]:
    """A whole device and a part of it, both allocated, where no counter could prevent it."""
    inventory = context.inventory
    for whole, parts in families(inventory):
        above = inventory.holders.get(whole.id, [])
        below = [(part, holder) for part in parts for holder in inventory.holders.get(part.id, [])]
        if not above or not below:
            continue
        node = whole.node_name or whole.id.pool
        holder = listing(sorted({str(key_of(item.claim)) for item in above}))
        others = listing([f"claim {key_of(item.claim)} holds {part.id.device}" for part, item in below])
        free = [part.id.device for part in parts if not inventory.holders.get(part.id)]
        verb = "is" if len(free) == 1 else "are"
        rest = f"; {listing(free)}, not given out, {verb} not really free either" if free else ""
        yield conflicts.WHOLE_AND_PART_HELD.finding(
            f"on {node} claim {holder} holds {whole.id.device} and {others}, which is a part of it: its parentUUID is "
            f"the uuid of {whole.id.device}. Driver {whole.id.driver} publishes both and no shared counters link them, "
            f"so the scheduler takes them for independent devices, and no rule of Kubernetes was broken{rest}",
            ObjectRef("Device", str(whole.id)),
            evidence={"whole": str(whole.id), "parts": [str(part.id) for part, _ in below], "notReallyFree": free},
            hint=f"end or move one of the two; then update driver {whole.id.driver} on {node} (gpu.nvidia.com from "
            f"25.12 on publishes no whole GPU in MIG mode), or keep its class off GPUs in MIG mode meanwhile",
            related=tuple(claim_ref(item.claim) for item in [*above, *(item for _, item in below)]),
        )


def priority_inversions(context: Context) -> Iterator[Finding]:
    """Waiting pods with a higher priority than those that hold what they wait for."""
    for waiting in context.waiting:
        report, key = waiting.report, waiting.claims[0]
        wanted = max((pod.priority or 0 for pod in report.pods if pod.role == "waiting"), default=None)
        if wanted is None or report.verdict == "fits":
            continue
        lower = [item for item in report.holders if item.pods and (item.priority or 0) < wanted]
        if lower:
            names = [f"{item.namespace}/{item.name} (priority {item.priority or 0})" for item in lower]
            yield conflicts.PRIORITY_INVERSION.finding(
                f"{key} waits with priority {wanted} for devices that {listing(names)} "
                f"{'holds' if len(lower) == 1 else 'hold'}",
                ObjectRef("ResourceClaim", key.name, key.namespace),
                hint=_ending(lower),
                related=tuple(ObjectRef("ResourceClaim", item.name, item.namespace) for item in lower),
            )


def _ending(holders: list[HolderView]) -> str:
    """How to end the pods of low priority, one namespace at a time."""
    spaces: dict[str, list[str]] = {}
    for item in holders:
        for pod in item.pods:
            spaces.setdefault(item.namespace, []).append(pod.rpartition("/")[2])
    commands = [f"kubectl delete pod {' '.join(pods[:4])} -n {space}" for space, pods in sorted(spaces.items())]
    return f"preemption does not free devices; by hand, as many as are needed: {' and '.join(commands[:2])}"


def offered_twice(context: Context) -> Iterator[Finding]:
    """Nodes whose device plugin offers what a driver publishes there as well."""
    inventory = context.inventory
    local = _devices_by_node(inventory)
    for name, node in inventory.nodes.items():
        for driver, devices in sorted(local.get(name, {}).items()):
            known = DRIVERS.get(driver)
            for resource, amount in sorted(node.allocatable.items()):
                if known is None or amount.nano <= 0 or not any(fnmatchcase(resource, one) for one in known.resources):
                    continue
                yield _offered(inventory, name, resource, amount, driver, devices)


def _offered(
    inventory: Inventory, node: str, resource: str, amount: Quantity, driver: str, devices: list[PublishedDevice]
) -> Finding:
    pods = [
        pod
        for pod in inventory.pods.values()
        if pod.node_name == node and pod.phase not in _FINISHED and _asks(pod, resource) and pod.extended_claim is None
    ]
    claims = {
        str(key_of(item.claim)): (item.claim, found)
        for found in devices
        for item in inventory.holders.get(found.id, [])
        if not item.result.admin_access
    }
    held: dict[str, list[str]] = {}
    for found in devices:
        for item in inventory.holders.get(found.id, []):
            held.setdefault(str(key_of(item.claim)), []).append(found.id.device)
    users = [f"pod {key_of(pod)} ({resource}: {_asks(pod, resource)})" for pod in pods]
    users += [f"claim {name} ({ranges(names)})" for name, names in sorted(held.items()) if name in claims]
    both = ""
    if pods and claims:
        both = f"; {listing(users)} may be on the same hardware, which nothing in the API tells"
    elif users:
        both = f"; {listing(users)} {'uses' if len(users) == 1 else 'use'} it today"
    pools = sorted({found.id.pool for found in devices})
    return conflicts.OFFERED_TWICE.finding(
        f"node {node} offers the same hardware twice: as extended resource {resource} ({amount} allocatable) and as "
        f"{count(len(devices), 'device')} of driver {driver} in pool {listing(pools)}; the two are counted "
        f"independently{both}",
        ObjectRef("Node", node),
        evidence={"resource": resource, "allocatable": str(amount), "driver": driver, "devices": len(devices)},
        hint=f"let only one of them serve on {node}: stop the device plugin where the DRA driver runs, or map a "
        f"DeviceClass to {resource} (spec.extendedResourceName) and stop the plugin",
        related=tuple(ObjectRef("Pod", pod.meta.name, pod.meta.namespace) for pod in pods)
        + tuple(claim_ref(claim) for claim, _ in claims.values()),
    )


def _asks(pod: Pod, resource: str) -> str:
    amounts = [one.limits.get(resource) or one.requests.get(resource) for one in pod.containers]
    found = [one for one in amounts if one is not None and one.nano > 0]
    return str(sum(found, Quantity.of(0))) if found else ""


def _devices_by_node(inventory: Inventory) -> dict[str, dict[str, list[PublishedDevice]]]:
    found: dict[str, dict[str, list[PublishedDevice]]] = {}
    for identity, published in inventory.devices.items():
        if published.node_name:
            found.setdefault(published.node_name, {}).setdefault(identity.driver, []).append(published)
    return found


def shadowed_classes(context: Context) -> Iterator[Finding]:
    """Extended resources that several classes claim to serve."""
    by_resource: dict[str, list[DeviceClass]] = {}
    for item in context.inventory.classes.values():
        if item.extended_resource_name:
            by_resource.setdefault(item.extended_resource_name, []).append(item)
    for resource, items in sorted(by_resource.items()):
        if len(items) < 2:
            continue
        # the newest serves it; of several of one age the first by name
        items.sort(key=lambda item: item.meta.name)
        items.sort(key=lambda item: item.meta.creation_timestamp or "", reverse=True)
        serving, others = items[0].meta.name, sorted(item.meta.name for item in items[1:])
        known = all(item.meta.creation_timestamp for item in items)
        which = f"the newest, {serving}, serves it and {listing(others)} not" if known else "only the newest serves it"
        yield allocation.CLASS_SHADOWED.finding(
            f"extended resource {resource} is named by the classes {listing(sorted([serving, *others]))}; {which}",
            ObjectRef("DeviceClass", others[0]),
            hint="take spec.extendedResourceName out of the class that is not meant: kubectl edit deviceclass "
            f"{others[0]} (or {serving})",
            related=tuple(ObjectRef("DeviceClass", name) for name in [serving, *others[1:]]),
        )


def quotas_exhausted(context: Context) -> Iterator[Finding]:
    """Quotas on claims or devices that leave no room."""
    for item in context.inventory.others:
        if item.kind != "ResourceQuota":
            continue
        status = item.body.get("status")
        status = status if isinstance(status, dict) else {}
        hard, used = status.get("hard") or {}, status.get("used") or {}
        for name, limit in sorted(hard.items()):
            if "deviceclass.resource.k8s.io" in name or name.startswith("count/resourceclaims"):
                room, taken = _quantity(limit), _quantity(used.get(name, "0"))
                if room is not None and taken is not None and taken >= room:
                    yield conflicts.QUOTA_EXHAUSTED.finding(
                        f"quota {item.meta.namespace}/{item.meta.name}: {taken} of {room} used of {name}",
                        ObjectRef("ResourceQuota", item.meta.name, item.meta.namespace),
                    )


def _quantity(value: object) -> Quantity | None:
    try:
        return Quantity.parse(str(value))
    except ValueError:
        return None


def merge(groups: Iterable[Iterable[Finding]]) -> list[Finding]:
    """Findings of several sources, each said once."""
    seen: dict[tuple[str, str, str], Finding] = {}
    for group in groups:
        for found in group:
            seen.setdefault((found.code, str(found.subject), found.message), found)
    return list(seen.values())
