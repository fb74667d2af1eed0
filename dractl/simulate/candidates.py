"""Single changes that might make claims fit: what is nearly right is changed, never everything. None is proven here."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace

from dractl.explain.attributes import shared_attributes
from dractl.explain.case import Case
from dractl.explain.constraints import Rule, bound_labels
from dractl.explain.errors import Failing, failing_devices, guarded
from dractl.explain.holders import Held, holders_of
from dractl.explain.judge import UNDEFINED, Ask, Fault, device_taint_text
from dractl.explain.lifecycle import gone_consumers
from dractl.explain.nearest import device_names, misses_of, readable
from dractl.explain.selection import rounded_down
from dractl.explain.taken import is_health
from dractl.explain.terms import Field, names_of, value_text
from dractl.explain.words import listing, natural, near, plural, ranges
from dractl.inventory import DeviceId, key_of
from dractl.kube.objects import (
    Device,
    DeviceSelector,
    DeviceTaint,
    DeviceToleration,
    ResourceSlice,
    Taint,
    Toleration,
)
from dractl.kube.quantity import Quantity, QuantityError
from dractl.simulate.variant import Variant

CLAIM, POD, ADMIN = "claim", "pod", "cluster"
"""Whose object is changed: the claim (or its template), the pod, or something of the cluster."""

_HOLDERS = 40
_MISSES = 3


@dataclass(slots=True)
class Change:
    """One change: ``text`` is an instruction, ``who`` whose object it is, ``cost`` orders changes (small is cheap).

    ``touched`` are the only nodes whose answer can change, or None for all. Changes with equal ``choice`` are
    alternatives of one kind and are told together.
    """

    kind: str
    text: str
    who: str
    cost: int
    apply: Callable[[Variant], None]
    touched: list[str] | None = None
    choice: str = ""
    name: str = ""
    subjects: frozenset[str] = field(default_factory=frozenset)
    """What is changed; two changes of one thing are not combined."""


def candidates(case: Case) -> list[Change]:
    """The changes worth trying, the cheapest for the user first."""
    found = [
        *_selectors(case),
        *_classes(case),
        *_constraints(case),
        *_counts(case),
        *_capacities(case),
        *_placement(case),
        *_avoid(case),
        *_holders(case),
        *_taints(case),
    ]
    return sorted(found, key=lambda change: change.cost)


# --- selectors ------------------------------------------------------------------------------------------------------


def _selectors(case: Case) -> Iterator[Change]:
    names = [answer.name for answer in case.eligible] or list(case.nodes)
    for index, ask in enumerate(case.survey.asks):
        if ask.device_class is None:
            continue
        matched = max((len(case.survey.nodes[name].asks[index].matched) for name in names), default=0)
        if matched >= ask.count and not case.errors:
            continue
        seen: set[str] = set()
        for miss in misses_of(case.survey, index, names).groups[:_MISSES]:
            if len(miss.faults) == 1:
                for change in _relaxed(ask, miss.faults[0]):
                    if change.text not in seen:
                        seen.add(change.text)
                        yield change
    for failing in failing_devices(case, case.errors) if case.errors else []:
        yield from _guards(failing)


def _relaxed(ask: Ask, fault: Fault) -> Iterator[Change]:
    """A term made true for devices that miss by it alone: another value, or the term dropped."""
    term = fault.term
    if fault.of_class or fault.index >= len(ask.spec.selectors):
        return
    new = _with_value(fault)
    if new is not None and term.field is not None:
        source, shown = new
        yield _selector_change(ask, fault, source, f"write {term.field} {shown} instead of {term.asked}", 10)
    if fault.error is None:
        yield _selector_change(ask, fault, "true", f"drop the condition {term.text}", 14)


def _with_value(fault: Fault) -> tuple[str, str] | None:
    """The term's source with the device's value in the place of the constant, and how it is shown."""
    term, has = fault.term, fault.has
    if has is None or len(term.wanted) != 1 or term.source.count(term.wanted[0]) != 1:
        return None
    if term.operator in (">=", ">", "<=", "<"):
        value = rounded_down(has) if term.operator in (">=", ">") and term.typed == "quantity" else has
        if not _ordered(term.operator, has, value):
            value = has
        operator = {">": ">=", "<": "<="}.get(term.operator, term.operator)
        source = term.source
        if operator != term.operator:
            if source.count(f" {term.operator} ") != 1:
                return None
            source = source.replace(f" {term.operator} ", f" {operator} ")
        return source.replace(term.wanted[0], value), f"{operator} {readable(value)}"
    if term.operator in ("==", "containing", "starting with", "ending with") and not term.folded:
        if term.typed or "'" in has or '"' in has or "\\" in has:
            return (term.source.replace(term.wanted[0], has), f"{term.operator} {has}") if term.typed else None
        return term.source.replace(term.wanted[0], has), f"{term.operator} '{has}'"
    return None


def _ordered(operator: str, has: str, value: str) -> bool:
    """Whether a device with ``has`` passes a bound of ``value``."""
    try:
        left, right = Quantity.parse(has), Quantity.parse(value)
    except QuantityError:
        return False
    return left >= right if operator in (">=", ">") else left <= right


def _guards(failing: Failing) -> Iterator[Change]:
    ask, fault = failing.ask, failing.fault
    if fault.of_class or fault.missing is None or fault.index >= len(ask.spec.selectors):
        return
    expression = ask.spec.selectors[fault.index].cel or ""
    source = guarded(fault, expression)
    if source is not None:
        yield _selector_change(ask, fault, source, f"guard the selector: {source}", 8, whole=True)
    for spelt, other in _respelled(failing):
        yield _selector_change(ask, fault, spelt, f"write {other} instead of {fault.missing[1]}", 6, whole=True)
    for number, moved in enumerate(_as_capacity(failing)):
        yield _selector_change(ask, fault, moved, f"compare the capacity: {moved}", 9 + number)


def _respelled(failing: Failing) -> Iterator[tuple[str, str]]:
    """The whole expression with the missing name as the devices spell it: (expression, name)."""
    missing, fault = failing.fault.missing, failing.fault
    expression = failing.ask.spec.selectors[fault.index].cel or ""
    field_of_term = fault.term.field
    if missing is None or field_of_term is None:
        return
    domain, name = missing
    driver, device = next((one.driver, device) for one, device in failing.devices.items())
    kind = "capacity" if field_of_term.kind == "capacity" else "attribute"
    known = [bare for where, bare in names_of(driver, device, kind) if where == domain]
    for other in near(name, known):
        if len(re.findall(rf"\b{re.escape(name)}\b", expression)) == 1:
            yield re.sub(rf"\b{re.escape(name)}\b", other, expression), other


def _as_capacity(failing: Failing) -> Iterator[str]:
    """``device.attributes['d'].memory == '80Gi'`` as a comparison of the capacity of that name; or a bit less of it."""
    term = failing.fault.term
    if term.field is None or term.field.kind != "attribute" or len(term.wanted) != 1:
        return
    try:
        Quantity.parse(term.wanted[0])
    except QuantityError:
        return
    sign = term.operator if term.operator in (">", ">=", "<", "<=") else ">="
    place = f"device.capacity['{term.field.domain}'].{term.field.name}"
    yield f"{place}.compareTo(quantity('{term.wanted[0]}')) {sign} 0"
    as_capacity = Field("capacity", term.field.domain, term.field.name)
    values = [value_text(one.driver, device, as_capacity) for one, device in failing.devices.items()]
    amounts = [Quantity.parse(value) for value in values if value is not None]
    if amounts and sign in (">", ">="):
        yield f"{place}.compareTo(quantity('{rounded_down(str(max(amounts)))}')) >= 0"


def _selector_change(ask: Ask, fault: Fault, source: str, text: str, cost: int, whole: bool = False) -> Change:
    def apply(variant: Variant) -> None:
        request = variant.request(ask.claim, ask.name)
        selectors = list(request.selectors)
        old = selectors[fault.index].cel or ""
        selectors[fault.index] = DeviceSelector(source if whole else old.replace(fault.term.source, source, 1))
        variant.change_request(ask.claim, ask.name, selectors=selectors)

    subject = f"{ask.label} selector {fault.index}"
    return Change("selector", f"in request {ask.label} {text}", CLAIM, cost, apply, subjects=frozenset({subject}))


# --- classes --------------------------------------------------------------------------------------------------------


def _classes(case: Case) -> Iterator[Change]:
    for ask in case.survey.asks:
        if ask.device_class is not None:
            continue
        for name in near(ask.spec.device_class_name, case.inventory.classes):
            yield Change(
                "class",
                f"in request {ask.label} name class {name} instead of {ask.spec.device_class_name}",
                CLAIM,
                5,
                _request_setter(ask, device_class_name=name),
                subjects=frozenset({f"{ask.label} class"}),
            )


def _request_setter(ask: Ask, **changes: object) -> Callable[[Variant], None]:
    def apply(variant: Variant) -> None:
        variant.change_request(ask.claim, ask.name, **changes)

    return apply


# --- constraints ----------------------------------------------------------------------------------------------------


def _constraints(case: Case) -> Iterator[Change]:
    for rule in case.reasons.rules:
        subject = frozenset({f"constraint {rule.index} of {key_of(rule.claim)}"})
        labels = listing(bound_labels(rule, case.survey.asks), 4)
        for other in shared_attributes(case, rule):
            yield Change(
                "constraint",
                f"constrain {labels} by {other} instead of {rule.attribute}",
                CLAIM,
                20,
                _constraint_setter(rule, other),
                subjects=subject,
            )
        yield Change(
            "constraint",
            f"drop the constraint on {rule.attribute} for {labels}",
            CLAIM,
            24,
            _constraint_setter(rule, None),
            subjects=subject,
        )


def _constraint_setter(rule: Rule, attribute: str | None) -> Callable[[Variant], None]:
    def apply(variant: Variant) -> None:
        claim = next(one for one in variant.claims if key_of(one) == key_of(rule.claim))
        kept = []
        for one in claim.spec.constraints:
            if one is not rule.constraint:
                kept.append(one)
            elif attribute is not None and rule.distinct:
                kept.append(replace(one, distinct_attribute=attribute))
            elif attribute is not None:
                kept.append(replace(one, match_attribute=attribute))
        variant.change_spec(claim, replace(claim.spec, constraints=kept))

    return apply


# --- counts and amounts ---------------------------------------------------------------------------------------------


def _counts(case: Case) -> Iterator[Change]:
    names = [answer.name for answer in case.eligible] or list(case.nodes)
    for index, ask in enumerate(case.survey.asks):
        usable = [len(case.survey.nodes[name].asks[index].usable) for name in names]
        subject = frozenset({f"{ask.label} count"})
        if ask.all:
            most = max(usable, default=0)
            if most:
                yield Change(
                    "count",
                    f"in request {ask.label} ask for {most} {plural(most, ask.noun)} instead of all",
                    CLAIM,
                    32,
                    _request_setter(ask, allocation_mode="ExactCount", count=most),
                    subjects=subject,
                )
        elif ask.count > 1:
            lower = sorted({min(number, 32) for number in usable if 0 < min(number, 32) < ask.count}, reverse=True)[:2]
            for number in lower or [1]:
                yield Change(
                    "count",
                    f"in request {ask.label} ask for {number} instead of {ask.count} {plural(ask.count, ask.noun)}",
                    CLAIM,
                    30,
                    _request_setter(ask, count=number),
                    choice=f"count {ask.label}",
                    name=str(number),
                    subjects=subject,
                )


def _capacities(case: Case) -> Iterator[Change]:
    names = [answer.name for answer in case.eligible] or list(case.nodes)
    for index, ask in enumerate(case.survey.asks):
        asked = ask.spec.capacity or {}
        done: set[tuple[str, str]] = set()
        for name, amount, renamed in _amounts_possible(case, index, names):
            if (name, str(amount)) in done:
                continue
            done.add((name, str(amount)))
            kept = {key: value for key, value in asked.items() if key not in (name, renamed)}
            wanted = asked.get(renamed or name)
            text = f"name capacity {name} instead of {renamed}" if renamed else f"ask for {amount} of {name}"
            if wanted is not None and not renamed:
                text += f" instead of {wanted}"
            yield Change(
                "capacity",
                f"in request {ask.label} {text}",
                CLAIM,
                31,
                _request_setter(ask, capacity={**kept, name: amount}),
                subjects=frozenset({f"{ask.label} capacity"}),
            )


def _amounts_possible(case: Case, index: int, nodes: list[str]) -> Iterator[tuple[str, Quantity, str]]:
    """(capacity, amount, the name to be replaced) of what could be asked for instead; the most that is left first."""
    left: dict[str, Quantity] = {}
    for node in nodes:
        for one in case.survey.nodes[node].asks[index].matched:
            short = one.judgement.short
            if short is None or short.wanted is None:
                continue
            if short.code == UNDEFINED:
                bare = short.name.rpartition("/")[2]
                for key in one.device.capacity:
                    if key.rpartition("/")[2] == bare or near(short.name, [key]):
                        yield key, short.wanted, short.name
            elif short.has is not None and short.by_policy:
                policy = one.device.capacity[short.name].request_policy
                if policy is not None and policy.valid_values:
                    yield short.name, max(policy.valid_values), ""
                elif policy is not None and policy.valid_range is not None and policy.valid_range.max is not None:
                    yield short.name, policy.valid_range.max, ""
            elif short.has is not None:
                rest = Quantity(short.has.nano - short.taken, short.has.notation)
                if rest.nano > 0 and (short.name not in left or left[short.name] < rest):
                    left[short.name] = rest
    for name, amount in left.items():
        yield name, amount, ""


# --- the pod's rules and the nodes ----------------------------------------------------------------------------------


def _placement(case: Case) -> Iterator[Change]:
    done: set[str] = set()
    for answer in case.nodes.values():
        if answer.eligible:
            continue
        for reason in answer.pod.reasons:
            for change in _placement_change(case, reason.code, reason.key, answer.name):
                if change.text not in done:
                    done.add(change.text)
                    yield change


def _placement_change(case: Case, code: str, key: str, node: str) -> Iterator[Change]:
    pods = plural(len(case.pods), "pod")
    names = listing([str(key_of(pod)) for pod in case.pods], 3)
    if code == "node-selector":
        yield Change(
            "node-selector",
            f"drop nodeSelector {key} of {pods} {names}",
            POD,
            40,
            _without_selector(key.partition("=")[0]),
            touched=[],
            subjects=frozenset({f"nodeSelector {key}"}),
        )
    elif code == "node-affinity":
        yield Change(
            "node-affinity",
            f"drop the required node affinity of {pods} {names}",
            POD,
            41,
            _without_affinity,
            touched=[],
            subjects=frozenset({"affinity"}),
        )
    elif code == "node-taint":
        for taint in case.survey.nodes[node].node.taints:
            if taint.key == key and taint.effect in ("NoSchedule", "NoExecute"):
                text = f"{taint.key}={taint.value}:{taint.effect}" if taint.value else f"{taint.key}:{taint.effect}"
                yield Change(
                    "node-toleration",
                    f"tolerate the node taint {text} in {pods} {names}",
                    POD,
                    44,
                    _with_toleration(taint),
                    touched=[],
                    subjects=frozenset({f"node taint {text}"}),
                )
    elif code == "cordoned":
        yield Change(
            "uncordon",
            f"uncordon node {node}",
            ADMIN,
            60,
            _uncordoned(node),
            touched=[],
            choice="uncordon",
            name=node,
            subjects=frozenset({f"cordon of {node}"}),
        )


def _without_selector(key: str) -> Callable[[Variant], None]:
    def apply(variant: Variant) -> None:
        variant.pods = [
            replace(pod, node_selector={name: value for name, value in pod.node_selector.items() if name != key})
            for pod in variant.pods
        ]

    return apply


def _without_affinity(variant: Variant) -> None:
    variant.pods = [replace(pod, node_affinity_required=None) for pod in variant.pods]


def _with_toleration(taint: Taint) -> Callable[[Variant], None]:
    toleration = Toleration(key=taint.key, operator="Exists", effect=taint.effect)

    def apply(variant: Variant) -> None:
        variant.pods = [replace(pod, tolerations=[*pod.tolerations, toleration]) for pod in variant.pods]

    return apply


def _uncordoned(name: str) -> Callable[[Variant], None]:
    def apply(variant: Variant) -> None:
        node = variant.nodes[name]
        taints = [taint for taint in node.taints if taint.key != "node.kubernetes.io/unschedulable"]
        variant.nodes[name] = replace(node, unschedulable=False, taints=taints)

    return apply


def _avoid(case: Case) -> Iterator[Change]:
    """Keep the pods from nodes on which the allocator fails."""
    if not case.errors or not case.pods:
        return
    failing = {answer.name for answer in case.errors}
    if len(failing) >= len(case.eligible):
        return
    names = ranges(sorted(failing, key=natural), 4)

    def apply(variant: Variant) -> None:
        variant.avoided |= failing

    yield Change(
        "avoid",
        f"keep {plural(len(case.pods), 'pod')} {listing([str(key_of(pod)) for pod in case.pods], 3)} away from {names} "
        "(node affinity NotIn, or a cordon)",
        POD,
        42,
        apply,
        subjects=frozenset({"avoid"}),
    )


# --- holders --------------------------------------------------------------------------------------------------------


def _holders(case: Case) -> Iterator[Change]:
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
    name = f"{key} (pod {pods})" if pods and pods != str(key) else str(key)
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
        f"end claim {name}",
        f"owner of {key}",
        cost,
        apply,
        touched,
        choice=f"free {cost}",
        name=name,
        subjects=frozenset({f"claim {key}"}),
    )


def _counter_nodes(case: Case, held: Held) -> set[str]:
    """Nodes that see a pool of a claim's devices: counters of the pool count there as well."""
    pools = {(one.driver, one.pool) for one in (held.claim.allocation.results if held.claim.allocation else [])}
    return {
        facts.name for facts in case.survey.nodes.values() for pool in facts.pools if (pool.driver, pool.name) in pools
    }


# --- device taints --------------------------------------------------------------------------------------------------


def _taints(case: Case) -> Iterator[Change]:
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
