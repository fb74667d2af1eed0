"""Published devices with their state: who has them, what keeps others from having them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from dractl.inventory import DeviceId, Holder, Inventory, Pool, PublishedDevice
from dractl.kube.objects import AttributeData, Device, DeviceTaint, DeviceTaintRule, ResourceSlice
from dractl.kube.quantity import Quantity
from dractl.listing.rows import DeviceRow, DeviceState, HolderRow, TaintRow

PRODUCT_ATTRIBUTES = (
    "productName",
    "model",
    "boardName",
    "instanceType",
    "accelerator",
    "pciDevice",
    "deviceName",
    "product",
    "ifName",
)
"""Local names under which drivers publish what a device is called, the best first."""

PARTITION_ATTRIBUTES = ("profile", "partitionProfile")
"""Local names of the kind of a partition; said after the product."""

_BLOCKING = ("NoSchedule", "NoExecute")


def device_rows(inventory: Inventory) -> list[DeviceRow]:
    """All devices of current generations, in order of driver, pool, slice and device."""
    return [row for pool in inventory.pools.values() for row in pool_rows(inventory, pool)]


def pool_rows(inventory: Inventory, pool: Pool) -> Iterator[DeviceRow]:
    """The devices of one pool."""
    left = _counters_left(inventory, pool)
    for published in pool.devices():
        yield _row(inventory, published, left)


def _row(inventory: Inventory, published: PublishedDevice, left: dict[tuple[str, str], Quantity]) -> DeviceRow:
    device = published.device
    holders = inventory.holders.get(published.id, [])
    taints = list(_taints(inventory.taint_rules, published))
    available = _available(device, holders)
    state, reasons = _state(inventory, published, holders, taints, available, left)
    driver = published.id.driver
    return DeviceRow(
        id=str(published.id),
        driver=driver,
        pool=published.id.pool,
        device=published.id.device,
        state=state,
        node=published.node_name,
        nodes=nodes_text(published.slice, device),
        product=product(device),
        reasons=reasons,
        holders=[_holder(holder) for holder in holders],
        taints=taints,
        attributes={qualified(driver, name): _json(one.value) for name, one in device.attributes.items()},
        capacity={qualified(driver, name): str(one.value) for name, one in device.capacity.items()},
        available=None
        if available is None
        else {qualified(driver, name): str(amount) for name, amount in available.items()},
        slice=published.slice.meta.name,
    )


def _state(
    inventory: Inventory,
    published: PublishedDevice,
    holders: list[Holder],
    taints: list[TaintRow],
    available: dict[str, Quantity] | None,
    left: dict[tuple[str, str], Quantity],
) -> tuple[DeviceState, list[str]]:
    """The one word, and true statements about everything that bears on it."""
    found: list[tuple[DeviceState, str]] = []
    holding = [holder for holder in holders if not holder.result.admin_access]
    if holding:
        held = "held by " + ", ".join(_claim_name(holder) for holder in holding)
        if available is None:
            found.append(("used", held))
        else:
            total = published.device.capacity
            rest = ", ".join(f"{amount} of {total[name].value} {name} left" for name, amount in available.items())
            gone = any(amount.nano <= 0 for amount in available.values())
            found.append(("full" if gone else "shared", "; ".join(text for text in (held, rest) if text)))
    node = published.node_name
    if node and inventory.nodes and node not in inventory.nodes:
        found.append(("node-missing", f"there is no node {node}"))
    if not published.pool.complete:
        pool = published.pool
        text = f"{len(pool.current)} of {pool.expected_slices} slices of the pool are published"
        found.append(("pool-incomplete", text))
    blocking = [taint for taint in taints if taint.effect in _BLOCKING]
    if blocking:
        found.append(("tainted", "taint " + ", ".join(taint_text(taint) for taint in blocking)))
    short = _short_counters(published.device, left) if not holding else []
    if short:
        found.append(("counters-exhausted", ", ".join(short)))
    if not found:
        return "free", []
    return found[0][0], [reason for _, reason in found]


def qualified(driver: str, name: str) -> str:
    """A name of an attribute or capacity with its domain; the driver's where none is written."""
    return name if "/" in name else f"{driver}/{name}"


def product(device: Device) -> str | None:
    """What a device is called, by the best of the known attributes, with the kind of partition."""
    by_local = {name.rpartition("/")[2]: attribute.value for name, attribute in device.attributes.items()}
    name = next((str(by_local[local]) for local in PRODUCT_ATTRIBUTES if by_local.get(local)), None)
    part = next((str(by_local[local]) for local in PARTITION_ATTRIBUTES if by_local.get(local)), None)
    return " ".join(text for text in (name, part) if text) or None


def nodes_text(item: ResourceSlice, device: Device | None = None) -> str | None:
    """Where a device or slice without a node's name can be used; None where a node is named."""
    if item.node_name or (device is not None and device.node_name):
        return None
    if item.all_nodes or (device is not None and device.all_nodes):
        return "all nodes"
    if item.per_device_node_selection and device is None:
        return "per device"
    selector = (device.node_selector if device is not None else None) or item.node_selector
    if selector is None:
        return None
    terms = [
        " and ".join(
            f"{one.key} {one.operator}" + (f" [{', '.join(one.values)}]" if one.values else "")
            for one in [*term.match_expressions, *term.match_fields]
        )
        for term in selector.terms
    ]
    return " or ".join(terms) or None


def taint_text(taint: TaintRow) -> str:
    """``key=value:Effect``, with the rule that it comes from."""
    value = f"={taint.value}" if taint.value else ""
    source = "" if taint.source == "driver" else f" (DeviceTaintRule {taint.source})"
    return f"{taint.key}{value}:{taint.effect}{source}"


def rule_matches(rule: DeviceTaintRule, key: DeviceId) -> bool:
    """Whether a taint rule's selector fits a device.

    A rule without a selector fits all, as kube-scheduler takes it (its API says: none).
    """
    selector = rule.selector
    if selector is None:
        return True
    return (
        selector.driver in (None, key.driver)
        and selector.pool in (None, key.pool)
        and selector.device in (None, key.device)
    )


def _taints(rules: Iterable[DeviceTaintRule], published: PublishedDevice) -> Iterator[TaintRow]:
    for taint in published.device.taints:
        yield _taint(taint, "driver")
    for rule in rules:
        if rule_matches(rule, published.id):
            yield _taint(rule.taint, rule.meta.name)


def _taint(taint: DeviceTaint, source: str) -> TaintRow:
    return TaintRow(taint.key, taint.value, taint.effect, source, time_added=taint.time_added)


def _holder(holder: Holder) -> HolderRow:
    result = holder.result
    return HolderRow(
        namespace=holder.claim.meta.namespace,
        name=holder.claim.meta.name,
        request=result.request,
        pods=list(holder.reserved_for),
        admin_access=result.admin_access or None,
        share_id=result.share_id,
        consumed_capacity=(
            {name: str(amount) for name, amount in result.consumed_capacity.items()}
            if result.consumed_capacity is not None
            else None
        ),
    )


def _claim_name(holder: Holder) -> str:
    return f"{holder.claim.meta.namespace}/{holder.claim.meta.name}"


def _available(device: Device, holders: list[Holder]) -> dict[str, Quantity] | None:
    """What is left of each capacity of a device that several claims may share; None for other devices."""
    if not device.allow_multiple_allocations:
        return None
    left = {name: capacity.value for name, capacity in device.capacity.items()}
    for holder in holders:
        for name, amount in (holder.result.consumed_capacity or {}).items():
            if name in left:
                left[name] = _minus(left[name], amount)
    return left


def _counters_left(inventory: Inventory, pool: Pool) -> dict[tuple[str, str], Quantity]:
    """(set, counter) -> what the devices in use leave of it."""
    left = {
        (counters.name, name): amount
        for item in pool.current
        for counters in item.shared_counters
        for name, amount in counters.counters.items()
    }
    if not left:
        return left
    for published in pool.devices():
        holders = inventory.holders.get(published.id, [])
        if not any(not holder.result.admin_access for holder in holders):
            continue
        for consumed in published.device.consumes_counters:
            for name, amount in consumed.counters.items():
                key = (consumed.counter_set, name)
                if key in left:
                    left[key] = _minus(left[key], amount)
    return left


def _short_counters(device: Device, left: dict[tuple[str, str], Quantity]) -> list[str]:
    """For each counter set of which too little is left: the first counter that is short, and how many more are."""
    short = []
    for consumed in device.consumes_counters:
        texts = []
        for name, amount in consumed.counters.items():
            rest = left.get((consumed.counter_set, name))
            if rest is None:
                texts.append(f"{consumed.counter_set} has no counter {name}")
            elif rest < amount:
                texts.append(f"needs {amount} {name} of {consumed.counter_set}, {rest} left")
        if texts:
            more = "" if len(texts) == 1 else f" (and {len(texts) - 1} more counters are short)"
            short.append(texts[0] + more)
    return short


def _minus(left: Quantity, right: Quantity) -> Quantity:
    return Quantity(left.nano - right.nano, left.notation)


def _json(value: AttributeData) -> object:
    return list(value) if isinstance(value, tuple) else value
