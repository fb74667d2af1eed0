"""What drivers publish: pools, slices, classes over them, and the drivers' own pods."""

from __future__ import annotations

from collections.abc import Iterator

from dractl.cel.environment import Environment
from dractl.cel.selector import Selector, compile_selector
from dractl.diagnose.check import Context, claim_ref, class_ref
from dractl.diagnose.conflicts import families
from dractl.diagnose.versions import requests_of
from dractl.explain.lifecycle import since
from dractl.explain.words import count, listing, natural, near, plural, ranges
from dractl.inventory import DeviceId, Inventory, Pool, PoolId, PublishedDevice, key_of
from dractl.kube.drivers import STANDARD
from dractl.kube.objects import ClaimSpec, DeviceClass, DeviceRequest, ResourceSlice
from dractl.rules import allocation, publication
from dractl.rules.finding import Finding, ObjectRef, Severity


def _pool_ref(identity: PoolId) -> ObjectRef:
    return ObjectRef("Pool", str(identity))


def _slice_ref(item: ResourceSlice) -> ObjectRef:
    return ObjectRef("ResourceSlice", item.meta.name)


def pools_incomplete(context: Context) -> Iterator[Finding]:
    """Pools with another number of slices than they say."""
    for identity, pool in context.inventory.pools.items():
        if pool.complete or _complete_on_each_node(pool):
            continue
        devices = sum(len(item.devices) for item in pool.current)
        wanted = sorted({item.pool.resource_slice_count for item in pool.current})
        said = f"{wanted[0]}" if len(wanted) == 1 else f"now {listing([str(one) for one in wanted], last='now')}"
        where = f" on {listing(pool.nodes)}" if pool.nodes and pool.nodes != [identity.pool] else ""
        yield publication.POOL_INCOMPLETE.finding(
            f"pool {identity}{where} has {count(len(pool.current), 'slice')} of generation {pool.generation}, but its "
            f"resourceSliceCount is {said}: none of its {count(devices, 'published device')} is given out",
            _pool_ref(identity),
            evidence={"slices": [item.meta.name for item in pool.current], "expected": wanted},
            hint=_incomplete_hint(identity, pool, wanted),
        )


def _complete_on_each_node(pool: Pool) -> bool:
    """Whether every node sees as many slices of its own as there should be: the scheduler asks for no more."""
    by_node: dict[str | None, int] = {}
    for item in pool.current:
        by_node[item.node_name] = by_node.get(item.node_name, 0) + 1
    if None in by_node or len(by_node) < 2 or any(item.shared_counters for item in pool.current):
        return False
    return pool.counts_agree and set(by_node.values()) == {pool.expected_slices}


def names_shared(context: Context) -> Iterator[Finding]:
    """Pools in which several nodes publish devices of one and the same name."""
    for identity, pool in context.inventory.pools.items():
        places: dict[str, set[str]] = {}
        for found in pool.devices():
            if found.node_name:
                places.setdefault(found.id.device, set()).add(found.node_name)
        shared = {name: nodes for name, nodes in places.items() if len(nodes) > 1}
        if not shared:
            continue
        nodes = sorted(set().union(*shared.values()), key=natural)
        held = [name for name in shared if context.inventory.holders.get(DeviceId(*identity, name))]
        given = f"; {ranges(held)} {plural(len(held), 'is', 'are')} given out on one node and so refused on the others"
        taken = given if held else ""
        are = plural(len(shared), "is", "are")
        yield allocation.SHARED_DEVICE_NAME.finding(
            f"{ranges(list(shared))} of pool {identity} {are} published by {ranges(nodes)}, "
            f"under one name: the scheduler takes {plural(len(shared), 'it', 'each')} for one device{taken}",
            _pool_ref(identity),
            evidence={"devices": list(shared), "nodes": nodes},
            hint=f"let driver {identity.driver} name the pool after the node, or the device after both",
        )


def _incomplete_hint(identity: PoolId, pool: Pool, wanted: list[int]) -> str:
    nodes = {item.node_name for item in pool.current if item.node_name}
    if len(nodes) > 1 and wanted == [len(pool.current) // len(nodes)]:
        return (
            f"the driver on each of {listing(sorted(nodes), 4)} publishes its own slices under one pool name: let it "
            "name the pool after the node"
        )
    where = listing(sorted(nodes), 4) or "its node"
    if len(pool.current) > max(wanted):
        return f"more slices than the pool has: delete those that the driver on {where} does not own, or restart it"
    return f"look at the log of driver {identity.driver} on {where}: the API server may refuse the slices that lack"


def pools_invalid(context: Context) -> Iterator[Finding]:
    """Pools with devices or counters that contradict each other."""
    for identity, pool in context.inventory.pools.items():
        faults = list(dict.fromkeys(_faults(pool)))
        # of a pool that is not complete the scheduler looks no further, and slices to come may mend it
        if faults and pool.complete:
            devices = sum(len(item.devices) for item in pool.current)
            yield publication.POOL_INVALID.finding(
                f"pool {identity} is invalid: {'; '.join(faults[:2])}"
                f"{f'; and {len(faults) - 2} more faults of this kind' if len(faults) > 2 else ''}: none of its "
                f"{count(devices, 'device')} is given out",
                _pool_ref(identity),
                evidence={"faults": faults},
                hint=f"a fault of driver {identity.driver}: report it; a restart of its pod on "
                f"{listing(pool.nodes, 3) or 'its node'} publishes the pool anew",
            )


def _faults(pool: Pool) -> Iterator[str]:
    owners: dict[str, str] = {}
    counters: dict[str, set[str]] = {}
    for piece in pool.current:
        for shared in piece.shared_counters:
            if shared.name in counters:
                yield f"counter set {shared.name} is there twice"
            counters[shared.name] = set(shared.counters)
    for piece in pool.current:
        for device in piece.devices:
            if device.name in owners:
                yield f"device {device.name} is in slice {owners[device.name]} and again in {piece.meta.name}"
            owners[device.name] = piece.meta.name
            for consumption in device.consumes_counters:
                known = counters.get(consumption.counter_set)
                if known is None:
                    yield f"device {device.name} draws on counter set {consumption.counter_set}, which does not exist"
                else:
                    missing = sorted(set(consumption.counters) - known)
                    if missing:
                        yield f"device {device.name} draws on {listing(missing)}, not in set {consumption.counter_set}"


def slices_stale(context: Context) -> Iterator[Finding]:
    """Slices of generations that were replaced."""
    for identity, pool in context.inventory.pools.items():
        if not pool.former:
            continue
        current = {device.name for item in pool.current for device in item.devices}
        lost = sorted({device.name for item in pool.former for device in item.devices} - current)
        only = f"; {ranges(lost)} {'is' if len(lost) == 1 else 'are'} listed only there" if lost else ""
        names = [item.meta.name for item in pool.former]
        generations = sorted({item.pool.generation for item in pool.former})
        yield publication.STALE_SLICES.finding(
            f"pool {identity} is at generation {pool.generation}, but {listing(names, 4)} of "
            f"generation {listing([str(one) for one in generations])} {'is' if len(pool.former) == 1 else 'are'} still "
            f"there{only}",
            _pool_ref(identity),
        )


def slices_of_unknown_nodes(context: Context) -> Iterator[Finding]:
    """Slices that name a node which is not there."""
    inventory = context.inventory
    for item in inventory.slices:
        if item.node_name and item.node_name not in inventory.nodes:
            age = since(inventory, item.meta.creation_timestamp, context.question.now)
            names = [DeviceId(item.driver, item.pool.name, device.name) for device in item.devices]
            held = sum(1 for name in names if inventory.holders.get(name))
            used = f"; claims still hold {count(held, 'of them', 'of them')}" if held else ""
            yield publication.SLICE_OF_UNKNOWN_NODE.finding(
                f"slice {item.meta.name} publishes {count(len(item.devices), 'device')} of driver {item.driver} for "
                f"node {item.node_name}, which does not exist{f' ({age} old)' if age else ''}{used}",
                _slice_ref(item),
                hint=f"if the node is gone for good: kubectl delete resourceslice {item.meta.name}",
            )


def slices_of_unready_nodes(context: Context) -> Iterator[Finding]:
    """Devices on nodes whose kubelet does not report."""
    inventory = context.inventory
    for name, node in inventory.nodes.items():
        ready = next((item for item in node.conditions if item.type == "Ready"), None)
        if ready is None or ready.status == "True":
            continue
        devices = [found for found in inventory.devices.values() if found.node_name == name]
        if devices:
            age = since(inventory, ready.last_transition_time, context.question.now)
            drivers = sorted({found.id.driver for found in devices})
            users = sorted(
                {str(key_of(one.claim)) for found in devices for one in inventory.holders.get(found.id, [])},
                key=natural,
            )
            used = (
                f"; {count(len(users), 'claim')} {plural(len(users), 'has', 'have')} devices there: {listing(users, 4)}"
                if users
                else ""
            )
            yield publication.SLICE_OF_UNREADY_NODE.finding(
                f"node {name} is not ready{f' for {age}' if age else ''} ({ready.reason or ready.status}), and "
                f"{count(len(devices), 'device')} of {listing(drivers)} are still published for it{used}",
                ObjectRef("Node", name),
                evidence={"devices": len(devices), "claims": users},
                hint=f"kubectl describe node {name}; if it is gone for good: kubectl delete node {name}",
            )


def _matches(context: Context, item: DeviceClass) -> tuple[set[int], dict[str, list[PublishedDevice]]]:
    """Identities of the devices that a class selects, and errors of its selectors by text."""
    known = context.kept.get(item.meta.name)
    if known is None:
        known = context.kept[item.meta.name] = _match_all(context, item)
    return known


def _match_all(context: Context, item: DeviceClass) -> tuple[set[int], dict[str, list[PublishedDevice]]]:
    environment = _environment(context)
    matched: set[int] = set()
    errors: dict[str, list[PublishedDevice]] = {}
    selectors = [compile_selector(one.cel or "", environment) for one in item.selectors]
    known: dict[object, tuple[bool, str | None]] = {}
    for published in context.inventory.devices.values():
        driver, device = published.id.driver, published.device
        key = tuple(one.projection(driver, device) if one.error is None else None for one in selectors)
        answer = known.get(key)
        if answer is None:
            answer = known[key] = _judge(selectors, driver, published)
        fits, error = answer
        if error is not None:
            errors.setdefault(error, []).append(published)
        elif fits:
            matched.add(id(published))
    return matched, errors


def selected_devices(context: Context, item: DeviceClass) -> list[PublishedDevice]:
    """The published devices that a class selects."""
    return _selected(context, item)


def _selected(context: Context, item: DeviceClass) -> list[PublishedDevice]:
    matched = _matches(context, item)[0]
    return [found for found in context.inventory.devices.values() if id(found) in matched]


def _judge(selectors: list[Selector], driver: str, published: PublishedDevice) -> tuple[bool, str | None]:
    for number, selector in enumerate(selectors):
        if selector.error is not None:
            return False, f"selector #{number}: {selector.error}"
        outcome = selector.evaluate(driver, published.device)
        if outcome.error is not None:
            return False, f"selector #{number}: {outcome.error}"
        if not outcome.match:
            return False, None
    return True, None


def _environment(context: Context) -> Environment:
    features = context.question.profile.features
    major, minor = (int(part) for part in context.question.release.minor.split("."))
    return Environment(
        kubernetes=(major, minor),
        consumable_capacity=features.consumable_capacity,
        list_attributes=features.list_type_attributes,
        stored=True,
    )


def classes_selecting_nothing(context: Context) -> Iterator[Finding]:
    """Classes without any device."""
    for name, item in context.inventory.classes.items():
        matched, errors = _matches(context, item)
        if not matched and not errors:
            yield publication.CLASS_SELECTS_NOTHING.finding(
                f"class {name} selects none of the {len(context.inventory.devices)} published devices", class_ref(item)
            )


def classes_with_errors(context: Context) -> Iterator[Finding]:
    """Classes whose selectors fail on devices."""
    for name, item in context.inventory.classes.items():
        for text, devices in _matches(context, item)[1].items():
            drivers = sorted({found.id.driver for found in devices})
            yield publication.CLASS_SELECTOR_ERROR.finding(
                f"class {name}, {text}: on {count(len(devices), 'device')} of {listing(drivers)}, for example "
                f"{devices[0].id}",
                class_ref(item),
                hint=_class_hint(name, text, devices[0]),
                related=tuple(
                    claim_ref(claim)
                    for claim in context.inventory.claims.values()
                    if claim.allocation is None
                    and any(one.device_class_name == name for one in requests_of(claim.spec))
                ),
            )


def _class_hint(name: str, error: str, found: PublishedDevice) -> str:
    """What to change in a class: a name that was meant, or a guard."""
    missing = error.rpartition("no such key: ")[2] if "no such key: " in error else ""
    there = [key.rpartition("/")[2] for key in [*found.device.attributes, *found.device.capacity]]
    alike = near(missing, there) if missing else []
    change = f"kubectl edit deviceclass {name}"
    if alike:
        return f"{found.id.driver} publishes {listing(alike, 3, 'or')}, not {missing}: {change}"
    if missing:
        return (
            f"ask for the driver first and whether {missing} is there (has(...) or .?{missing}.orValue(...)): {change}"
        )
    return f"correct the selector: {change}; until then every pod that uses the class stays pending"


def constraints_without_attribute(context: Context) -> Iterator[Finding]:
    """Templates, and claims that nobody waits for yet, with a constraint on what no device of their class carries."""
    inventory = context.inventory
    waiting = {key for group in context.waiting for key in group.claims}
    owners: list[tuple[ObjectRef, ClaimSpec]] = [
        (ObjectRef("ResourceClaimTemplate", key.name, key.namespace), one.spec)
        for key, one in inventory.templates.items()
    ]
    owners += [
        (ObjectRef("ResourceClaim", key.name, key.namespace), one.spec)
        for key, one in inventory.claims.items()
        if one.allocation is None and key not in waiting and not one.meta.deletion_timestamp
    ]
    for ref, spec in owners:
        for constraint in spec.constraints:
            name = constraint.match_attribute or constraint.distinct_attribute
            for request in spec.requests if name else []:
                if constraint.requests and request.name not in {one.partition("/")[0] for one in constraint.requests}:
                    continue
                lacking = _lacking(context, [request.exactly] if request.exactly else request.first_available, name)
                if lacking:
                    yield allocation.CONSTRAINT_ATTRIBUTE_MISSING.finding(
                        f"{ref} constrains request {request.name} by {name}, which none of the devices of class "
                        f"{lacking} carries: no device can be taken for it",
                        ref,
                        severity=Severity.WARNING,
                        hint=_carried(context, lacking, str(name)),
                    )


def _lacking(context: Context, asked: list[DeviceRequest], name: str | None) -> str:
    """The class of a request whose devices all lack an attribute, or an empty text: also where there are none."""
    classes = [context.inventory.classes.get(one.device_class_name) for one in asked]
    for item in classes:
        devices = _selected(context, item) if item is not None else []
        if not devices or any(name == _full(one.id.driver, key) for one in devices for key in one.device.attributes):
            return ""
    return asked[0].device_class_name if asked else ""


def _full(driver: str, name: str) -> str:
    return name if "/" in name else f"{driver}/{name}"


def _carried(context: Context, name: str, wanted: str) -> str:
    """What the devices of a class carry instead: names that end alike, or standard ones."""
    devices = _selected(context, context.inventory.classes[name])
    names = {_full(one.id.driver, key) for one in devices[:64] for key in one.device.attributes}
    last = wanted.rpartition("/")[2].lower()
    alike = sorted(
        one for one in names if one.rpartition("/")[2].lower()[:4] == last[:4] or one.startswith(f"{STANDARD}/")
    )
    return f"they carry {listing(alike, 4)}" if alike else "see what they carry: dractl cel fields"


def devices_without_class(context: Context) -> Iterator[Finding]:
    """Devices that no class selects, by driver and type."""
    inventory = context.inventory
    if not inventory.classes:
        return
    selected: set[int] = set()
    for item in inventory.classes.values():
        selected |= _matches(context, item)[0]
    rest: dict[tuple[str, str], list[PublishedDevice]] = {}
    for found in inventory.devices.values():
        if id(found) not in selected:
            attribute = found.device.attributes.get("type")
            rest.setdefault((found.id.driver, str(attribute.value) if attribute else ""), []).append(found)
    for (driver, kind), devices in sorted(rest.items()):
        what = f" of type {kind}" if kind else ""
        yield publication.DEVICES_WITHOUT_CLASS.finding(
            f"{count(len(devices), 'device')} of driver {driver}{what} can be asked for through no class, for example "
            f"{devices[0].id}",
            ObjectRef("Driver", driver),
        )


def attribute_types_differ(context: Context) -> Iterator[Finding]:
    """Attributes of one driver with several types."""
    kinds: dict[tuple[str, str], dict[str, list[PublishedDevice]]] = {}
    for found in context.inventory.devices.values():
        for name, attribute in found.device.attributes.items():
            kinds.setdefault((found.id.driver, name), {}).setdefault(attribute.kind, []).append(found)
    for (driver, name), by_kind in sorted(kinds.items()):
        if len(by_kind) > 1:
            parts = [f"{kind} on {_where(devices)}" for kind, devices in sorted(by_kind.items())]
            yield publication.ATTRIBUTE_TYPE_DIFFERS.finding(
                f"attribute {name} of driver {driver} is {listing(parts)}", ObjectRef("Driver", driver)
            )


def _where(devices: list[PublishedDevice]) -> str:
    return ranges(sorted({found.node_name or found.id.pool for found in devices}))


def wholes_beside_parts(context: Context) -> Iterator[Finding]:
    """Whole devices beside their parts; those of which both are given out are told by another check."""
    inventory = context.inventory
    for whole, parts in families(inventory):
        if inventory.holders.get(whole.id) and any(inventory.holders.get(part.id) for part in parts):
            continue
        yield publication.WHOLE_AND_PARTS.finding(
            f"{whole.id} is published beside {count(len(parts), 'part')} of it ({ranges([p.id.device for p in parts])})"
            " with no shared counters between them: both can be given out",
            ObjectRef("Device", str(whole.id)),
        )


def devices_that_never_fit(context: Context) -> Iterator[Finding]:
    """Devices that alone need more of a counter than there is."""
    for identity, pool in context.inventory.pools.items():
        sets = {item.name: item.counters for piece in pool.current for item in piece.shared_counters}
        for found in pool.devices():
            for consumption in found.device.consumes_counters:
                for name, amount in consumption.counters.items():
                    have = sets.get(consumption.counter_set, {}).get(name)
                    if have is not None and amount > have:
                        yield publication.DEVICE_NEVER_FITS.finding(
                            f"{found.id} needs {amount} of {name}, but set {consumption.counter_set} of pool "
                            f"{identity} has {have}",
                            ObjectRef("Device", str(found.id)),
                        )


def published_nodes(inventory: Inventory) -> list[str]:
    """Nodes for which anything is published."""
    return sorted({found.node_name for found in inventory.devices.values() if found.node_name})
