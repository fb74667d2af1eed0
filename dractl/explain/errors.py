"""Errors of the allocator: a selector that fails on a device, All with an incomplete pool, and the like.

They are no refusal of one node: kube-scheduler ends the attempt for all nodes with them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from dractl.explain.answer import Answer
from dractl.explain.case import Case, NodeAnswer
from dractl.explain.constraints import value_text
from dractl.explain.devices import free_devices
from dractl.explain.judge import ERROR, NOT_COMPILED, Ask, Fault
from dractl.explain.nearest import by_class, device_names
from dractl.explain.statements import noun, short_name
from dractl.explain.survey import visible_devices
from dractl.explain.terms import names_of
from dractl.explain.words import count, listing, natural, near, noun_for, plural, ranges
from dractl.inventory import DeviceId, PoolId
from dractl.kube.objects import Device
from dractl.rules import allocation as rules
from dractl.rules import scheduler
from dractl.rules.finding import ObjectRef

_OVERLOAD = "no such overload"
_CONSTRAINT = "because a claim constraint would not be satisfied"
_UPDATING = "is currently being updated"
_INVALID = "is currently invalid"


@dataclass(slots=True)
class Failing:
    """Devices on which an ask's selectors fail in one and the same way."""

    ask: Ask
    fault: Fault
    devices: dict[DeviceId, Device]
    nodes: list[str]


def explain_errors(case: Case, answer: Answer) -> None:
    """Say what the errors on the allowed nodes are, where they come from, and what they keep from happening."""
    by_text: dict[str, list[NodeAnswer]] = {}
    for node in case.errors:
        by_text.setdefault(node.result.error or "", []).append(node)
    for text, nodes in sorted(by_text.items(), key=lambda item: -len(item[1])):
        if "CEL" in text:
            _selector_error(case, answer, text, nodes)
        elif _UPDATING in text or _INVALID in text:
            _all_and_pool(case, answer, text, nodes)
        elif "exceeds the claim limit" in text:
            answer.say(f"{text}, so no node can serve the claim")
            answer.find(rules.TOO_MANY_RESULTS.finding(answer.summary))
            answer.advise("ask for at most 32 devices in one claim; more need several claims or pods")
        elif "NodeSelector" in text:
            _selector_terms(case, answer, text, nodes)
        elif _CONSTRAINT in text:
            _all_and_constraint(case, answer, text, nodes)
        else:
            answer.say(f"on {ranges([node.name for node in nodes], 4)} the allocator fails: {text}")
    _consequence(case, answer)


def _selector_terms(case: Case, answer: Answer, text: str, nodes: list[NodeAnswer]) -> None:
    """A device whose nodeSelector has several terms: the API server takes it, the allocator wants exactly one."""
    names = ranges([node.name for node in nodes], 4)
    bad = {
        device_id: device
        for node in nodes
        for device_id, device in visible_devices(node.reason.facts.node, node.reason.facts.pools)
        if device.node_selector is not None and len(device.node_selector.terms) != 1
    }
    if not bad:
        answer.say(f"on {names} the allocator fails: {text}")
        return
    terms = max(len(device.node_selector.terms) for device in bad.values() if device.node_selector is not None)
    drivers = listing(sorted({one.driver for one in bad}), 3)
    answer.say(
        f"on {names} the allocator fails: the nodeSelector of {device_names(list(bad))} has {terms} terms, and it "
        f"takes exactly one ({text})"
    )
    answer.say("the API server does not check that for the nodeSelector of a single device, only for that of a slice")
    answer.advise(
        f"driver {drivers} has to publish one term, which may hold several matchExpressions and values (In); until "
        f"then the pod has to be kept from the nodes that see {device_names(list(bad), 2)}"
    )


def _all_and_constraint(case: Case, answer: Answer, text: str, nodes: list[NodeAnswer]) -> None:
    """A request of all devices, of which one does not keep a constraint: an error, not a device to pass over."""
    asks = case.survey.asks
    names = ranges([node.name for node in nodes], 4)
    for number, rule in enumerate(case.reasons.rules):
        everything = [asks[index] for index in rule.asks if asks[index].all]
        groups = [node.reason.groups[number] for node in nodes if number in node.reason.groups]
        if not everything or not any(len(one.values) > 1 or one.missing for one in groups):
            continue
        wanted = "different values of" if rule.distinct else "the same"
        values = sorted({value_text(value) for one in groups for value in one.values}, key=natural)
        missing = sum(sum(one.missing.values()) for one in groups)
        has = [f"the values there are {listing(values, 6)}"] if values else []
        has += [f"{count(missing, 'device')} {plural(missing, 'does', 'do')} not publish it"] if missing else []
        others = [f"those of {asks[index].label}" for index in rule.asks if not asks[index].all]
        beside = f", and {listing(others, 3)}" if others else ""
        answer.say(
            f"request {listing([ask.label for ask in everything], 3)} asks for all devices that match{beside}, which "
            f"have to have {wanted} {rule.attribute}, and on {names} they have not: {listing(has, 2)}"
        )
        answer.say(f"for a request of all devices that is an error of the allocator: {text}")
        answer.advise("ask for a count instead of all devices, or drop the constraint")
        return
    answer.say(f"on {names} the allocator fails: {text}")


def _consequence(case: Case, answer: Answer) -> None:
    failing = {node.name for node in case.errors}
    others = [node for node in case.eligible if node.name not in failing]
    fitting = [node.name for node in case.fitting()]
    if fitting:
        verb = plural(len(fitting), "is")
        example = f" ({free_devices(case, fitting[0])})"
        text = (
            f"the claim would fit on {ranges(fitting, 4)}{example}, but the error ends the scheduling attempt for all "
            f"nodes, so {'it' if len(fitting) == 1 else 'they'} {verb} not used either"
        )
        answer.say(text)
        answer.find(scheduler.ERROR_STOPS_ALL.finding(text))
    elif others:
        text = "such an error ends the scheduling attempt for all nodes, not only for those it occurs on"
        answer.say(text)
        answer.find(scheduler.ERROR_STOPS_ALL.finding(text))


# --- selectors ------------------------------------------------------------------------------------------------------


def failing_devices(case: Case, nodes: Sequence[NodeAnswer]) -> list[Failing]:
    """The devices of some nodes on which selectors fail, by ask and kind of failure; the most devices first."""
    found: dict[tuple[int, str, str], Failing] = {}
    for node in nodes:
        facts = node.reason.facts
        for device_id, device in visible_devices(facts.node, facts.pools):
            for index, ask in enumerate(case.survey.asks):
                judgement = case.survey.judgements[index].get(device_id)
                if judgement is None or judgement.code != ERROR:
                    continue
                fault = judgement.selection.faults[0]
                key = (index, fault.term.source, fault.error or "")
                failing = found.setdefault(key, Failing(ask, fault, {}, []))
                failing.devices[device_id] = device
                if node.name not in failing.nodes:
                    failing.nodes.append(node.name)
    return sorted(found.values(), key=lambda one: -len(one.devices))


def _selector_error(case: Case, answer: Answer, text: str, nodes: list[NodeAnswer]) -> None:
    failings = failing_devices(case, nodes)
    if not failings:
        answer.say(f"on {ranges([node.name for node in nodes], 4)} the allocator fails: {text}")
        return
    for failing in failings[:3]:
        _say_failing(case, answer, failing)


def _say_failing(case: Case, answer: Answer, failing: Failing) -> None:
    ask, fault = failing.ask, failing.fault
    whose = f"class {ask.spec.device_class_name}" if fault.of_class else f"request {ask.label}"
    where = _where(case, failing.nodes)
    subject = ObjectRef("ResourceClaim", ask.claim.meta.name, ask.claim.meta.namespace)
    if fault.missing is None:
        compiled = not (fault.error or "").startswith(NOT_COMPILED)
        at = f" fails on {device_names(list(failing.devices))}:" if compiled else ""
        text = f"the selector of {whose}{at} {fault.error}, in: {fault.term.source}"
        answer.say(text)
        answer.find(rules.SELECTOR_ERROR.finding(text, subject))
        if compiled and fault.error == _OVERLOAD:
            _wrong_type(answer, failing)
        return
    domain, name = fault.missing
    key = f"{domain}/{name}"
    total = _evaluated(case, failing)
    kind = _kind(failing)
    few = len(failing.devices) < total
    who = (
        f"{device_names(sorted(failing.devices, key=lambda one: natural(str(one))))} {_does(failing)} not publish it"
        if few
        else f"none of the {total:,} {plural(total, kind)} there publishes it"
        if total > 1
        else f"the {kind} {short_name(next(iter(failing.devices)))} does not publish it"
    )
    text = f"the selector of {whose} fails{where} with a CEL error, no such key: {name} ({key}): {who}"
    answer.say(text)
    answer.find(
        rules.SELECTOR_ERROR.finding(
            text, subject, evidence={"devices": [str(one) for one in failing.devices], "missing": key}
        )
    )
    if _of_other_driver(case, answer, failing, domain):
        return
    moved = _where_it_is(case, answer, failing, name, domain)
    if not moved:
        answer.advise(_guard_advice(fault, domain, name, _carried_by_all(case, failing)))


def _wrong_type(answer: Answer, failing: Failing) -> None:
    """An operation that the published type does not have: say the type, and how to compare with it."""
    term = failing.fault.term
    device_id, device = next(iter(failing.devices.items()))
    if term.field is None or term.field.kind != "attribute":
        return
    field = term.field
    attribute = device.attributes.get(field.name if field.domain == device_id.driver else str(field))
    attribute = attribute or device.attributes.get(str(field))
    if attribute is None:
        return
    kinds = {"int": "an int", "bool": "a bool", "string": "a text", "version": "a version"}
    kind = kinds.get(attribute.kind, f"a list ({attribute.kind})")
    with_what = "a number" if term.typed == "number" else f"a {term.typed}" if term.typed else "a text"
    answer.say(f"{field} is published as {kind} ({failing.fault.has}), and {term.source} compares it with {with_what}")
    place = f"device.attributes['{field.domain}'].{field.name}"
    wanted = term.wanted[0] if len(term.wanted) == 1 else "..."
    sign = term.operator if term.operator in ("<", "<=", ">", ">=", "==", "!=") else "=="
    if attribute.kind == "version":
        answer.advise(f"compare versions: {place}.compareTo(semver('{wanted}')) {sign} 0")
    elif attribute.kind == "int" and wanted.lstrip("-").isdigit():
        answer.advise(f"compare with a number, without quotes: {place} {sign} {wanted}")
    elif attribute.kind == "string" and term.typed == "number":
        answer.advise(f"compare with a text: {place} == '{wanted}' (texts have no numerical order)")
    elif attribute.kind.endswith("s"):
        quoted = wanted if attribute.kind in ("ints", "bools") else f"'{wanted}'"
        answer.advise(f"ask whether the list holds the value: {place}.includes({quoted})")


def _kind(failing: Failing) -> str:
    """What the failing devices are called, which need not be what the request is for."""
    nouns = {noun_for(device.driver) for device in failing.devices}
    return nouns.pop() if len(nouns) == 1 and "device" not in nouns else noun(failing.ask)


def _of_other_driver(case: Case, answer: Answer, failing: Failing, domain: str) -> bool:
    """A selector that does not ask for the driver first, and fails on devices of drivers that it is not about."""
    drivers = sorted({device.driver for device in failing.devices})
    published = {key.driver for key in case.inventory.pools}
    if domain in drivers or domain not in published:
        return False
    answer.say(
        f"the selector is about devices of {domain}, but does not ask for the driver, so it is evaluated on devices of "
        f"{listing(drivers, 4)} too, which publish nothing of {domain}"
    )
    where = "class" if failing.fault.of_class else "selector"
    rest = ", the rest in parentheses" if "||" in failing.fault.term.source else ""
    answer.advise(
        f"put device.driver == '{domain}' && in front of the expression of the {where}{rest}: && does not look at the "
        "rest where its left side is false"
    )
    return True


def _does(failing: Failing) -> str:
    return "does" if len(failing.devices) == 1 else "do"


def _where(case: Case, nodes: list[str]) -> str:
    if len(nodes) == len(case.survey.nodes) and len(nodes) > 1:
        return " on every node"
    return f" on {ranges(sorted(nodes, key=natural), 4)}"


def _evaluated(case: Case, failing: Failing) -> int:
    """How many devices of the same drivers on these nodes the failing selector is about (those of the class)."""
    drivers = {device.driver for device in failing.devices}
    judgements = case.survey.judgements[case.survey.asks.index(failing.ask)]
    seen: set[DeviceId] = set()
    for name in failing.nodes:
        facts = case.survey.nodes[name]
        for one, _ in visible_devices(facts.node, facts.pools):
            if one.driver in drivers and (failing.fault.of_class or not by_class(judgements[one])):
                seen.add(one)
    return len(seen)


def _where_it_is(case: Case, answer: Answer, failing: Failing, name: str, domain: str) -> bool:
    """Which devices do have the key, what is there instead, and what else the failing devices lack.

    Returns:
        Whether the key stands under another domain: then that is what to write, and to guard the key helps nothing.
    """
    drivers = {device.driver for device in failing.devices}
    peers = {
        device_id: device
        for device_id, device in case.survey.seen.items()
        if device_id.driver in drivers and device_id not in failing.devices
    }
    field = failing.fault.term.field
    sort = "capacity" if field is not None and field.kind == "capacity" else "attribute"
    having = [one for one, device in peers.items() if (domain, name) in names_of(one.driver, device, sort)]
    judged = case.survey.judgements[case.survey.asks.index(failing.ask)]
    having = [one for one in having if one in judged and not by_class(judged[one])] or having
    kind = noun(failing.ask)
    if having:
        values = {names_of(one.driver, peers[one], sort)[(domain, name)] for one in having}
        more = f" ({name} is {ranges(sorted(values, key=natural), 6)} there)" if len(values) < 50 else ""
        answer.say(
            f"{len(having):,} other {plural(len(having), kind)} {plural(len(having), 'publishes', 'publish')} it, on "
            f"{ranges(_nodes_of(case, having), 4)}{more}"
        )
        _lacks_more(case, answer, failing, {one: peers[one] for one in having})
        return False
    sample_id, sample = next(iter(failing.devices.items()))
    capacities = names_of(sample_id.driver, sample, "capacity")
    attributes = names_of(sample_id.driver, sample)
    if (domain, name) in capacities and sort == "attribute":
        text = (
            f"the name {name} is published as a capacity, not as an attribute: device.capacity['{domain}'].{name} "
            f"({capacities[(domain, name)]} on {short_name(sample_id)})"
        )
        answer.say(text)
        answer.find(rules.NEEDS_AN_ATTRIBUTE_NAME.finding(text))
        answer.advise(
            f"compare the capacity instead: device.capacity['{domain}'].{name}.compareTo(quantity('...')) >= 0"
        )
        return False
    if (domain, name) in attributes and sort == "capacity":
        place = f"device.attributes['{domain}'].{name}"
        answer.say(f"the name {name} is published as an attribute, not as a capacity: {place}")
        return False
    elsewhere = sorted({one for one, bare in attributes if bare == name and one != domain})
    if elsewhere:
        there = listing([f"{one}/{name}" for one in elsewhere])
        answer.say(f"an attribute of that name is published there under another domain: {there}")
        if not any(one == domain for one, _ in attributes):
            places = [f"device.attributes['{one}'].{name}" for one in elsewhere]
            answer.say(f"no device there has anything under the domain {domain}")
            answer.advise(f"write {listing(places, 3, 'or')} in the selector")
            return True
    own = [bare for one, bare in attributes if one == domain]
    alike = near(name, own)
    if alike:
        answer.say(f"{domain} has no {name}; did you mean {listing(alike, 3, 'or')}?")
    elif own:
        answer.say(f"{domain} publishes {listing(sorted(own), 20)}")
    return False


def _lacks_more(case: Case, answer: Answer, failing: Failing, having: dict[DeviceId, Device]) -> None:
    """Attributes that go together with the missing one: a sign of another release, or of a device that lost them."""
    lost = Counter[str]()
    for device_id, device in failing.devices.items():
        lost.update(f"{one}/{bare}" for one, bare in _all_names(device_id, device))
    kept = Counter[str]()
    for device_id, device in having.items():
        kept.update(f"{one}/{bare}" for one, bare in _all_names(device_id, device))
    gone = sorted(key for key, number in kept.items() if number == len(having) and key not in lost)
    new = sorted(key for key, number in lost.items() if number == len(failing.devices) and key not in kept)
    driver = next(iter(failing.devices)).driver
    bare = [key.removeprefix(f"{driver}/") for key in gone]
    whole_nodes = set(_nodes_of(case, failing.devices)).isdisjoint(_nodes_of(case, having))
    if whole_nodes and len(gone) + len(new) > 1:
        text = f"the driver publishes other attributes on {ranges(_nodes_of(case, having), 3)} than on " + ranges(
            failing.nodes, 3
        )
        only = f": {listing(bare, 12)} only there" if bare else ""
        other = [key.removeprefix(f"{driver}/") for key in new]
        only += f", {listing(other, 12)} only here" if other else ""
        answer.say(f"{text}{only}; it looks like different releases of the driver {driver}")
    elif len(gone) > 1:
        answer.say(
            f"{device_names(list(failing.devices))} {plural(len(failing.devices), 'lacks', 'lack')} all of "
            f"{listing(bare, 12)}, which the others publish"
        )
        if driver == "dra.net" and any(key.endswith("ifName") for key in gone):
            answer.say(
                "dranet publishes these only while the interface is in the host's network namespace: a pod has taken "
                "it, or has left it behind in a namespace of its own"
            )
            answer.advise(
                f"see on {ranges(failing.nodes, 3)} where the interface of {device_names(list(failing.devices))} is, "
                "and bring it back into the host's namespace (or reboot the node), so that the driver publishes it "
                "whole"
            )


def _all_names(device_id: DeviceId, device: Device) -> dict[tuple[str, str], str]:
    return {**names_of(device_id.driver, device), **names_of(device_id.driver, device, "capacity")}


def _nodes_of(case: Case, devices: Iterable[DeviceId]) -> list[str]:
    names = {node for device in devices for node in case.survey.nodes_of_device.get(device, [])}
    return sorted(names, key=natural)


def guarded(fault: Fault, expression: str) -> str | None:
    """The expression with a question in front whether the missing key is there."""
    if fault.missing is None or fault.term.field is None or fault.term.field.kind not in ("attribute", "capacity"):
        return None
    domain, name = fault.missing
    where = "attributes" if fault.term.field.kind == "attribute" else "capacity"
    return f"'{name}' in device.{where}['{domain}'] && ({expression})"


def _guard_advice(fault: Fault, domain: str, name: str, others: list[str]) -> str:
    where = "capacity" if fault.term.field is not None and fault.term.field.kind == "capacity" else "attributes"
    base = f"device.{where}['{domain}']"
    optional = f"{base}.?{name}.orValue({_default(fault)})"
    term = fault.term
    if where == "attributes" and term.operator in ("==", "!=", "<", "<=", ">", ">=") and term.wanted:
        word = term.wanted[0] if term.typed == "number" else f"'{term.wanted[0]}'"
        optional += f" {term.operator} {word}"
    by = f" ({listing(others, 4)}, for example)" if others else ""
    return (
        f"guard the selector: '{name}' in {base} && ... (or the optional form {optional}), or do not select by {name} "
        f"but by an attribute that every device publishes{by}"
    )


def _default(fault: Fault) -> str:
    """A value that does not match, for ``orValue``."""
    if fault.term.operator == "is":
        return "false"
    return "-1" if fault.term.typed == "number" else "''"


_TELLING = ("productName", "model", "architecture", "uuid", "type", "family", "memory")


def _carried_by_all(case: Case, failing: Failing) -> list[str]:
    """Attributes that all devices of the driver carry and that tell devices apart."""
    drivers = {device.driver for device in failing.devices}
    sets = [
        {bare for domain, bare in names_of(device_id.driver, device) if domain == device_id.driver}
        for device_id, device in case.survey.seen.items()
        if device_id.driver in drivers
    ]
    common = set.intersection(*sets) if sets else set()
    return [name for name in _TELLING if name in common][:3]


# --- allocationMode All ---------------------------------------------------------------------------------------------


def _all_and_pool(case: Case, answer: Answer, text: str, nodes: list[NodeAnswer]) -> None:
    asks = [ask for ask in case.survey.asks if ask.all]
    label = listing(dict.fromkeys(ask.label for ask in asks), 3)
    names = [node.name for node in nodes]
    pools = [pool for node in nodes for pool in node.reason.facts.pools if not pool.usable and f"{pool}" in text]
    if not pools:
        answer.say(f"on {ranges(names, 4)} the allocator fails: {text}")
        return
    pool = pools[0]
    foreign = pool.driver not in {device.driver for ask in asks for device in _matching_drivers(case, ask)}
    what = (
        f"is not complete ({count(pool.found, 'slice')} of {pool.expected} published)"
        if _UPDATING in text
        else f"is invalid ({pool.reason})"
    )
    also = ", though it is no pool of the devices asked for" if foreign else ""
    text = (
        f"request {label} asks for all devices (allocationMode All), which needs every pool that a node sees to be "
        f"complete: pool {pool.name} of driver {pool.driver} {what}{also}, so the allocator fails on {ranges(names, 4)}"
    )
    answer.say(text)
    answer.find(rules.ALL_NEEDS_COMPLETE_POOLS.finding(text, ObjectRef("Pool", str(pool))))
    current = case.inventory.pools.get(PoolId(pool.driver, pool.name))
    slices = [item.meta.name for item in current.current] if current else []
    if slices:
        answer.say(f"of pool {pool.driver}/{pool.name} generation {pool.generation} only {listing(slices, 3)} is there")
    answer.advise(
        f"look at driver {pool.driver} on {ranges(names, 3)} until it publishes the missing slice; meanwhile keep the "
        f"pod away from {ranges(names, 3)} with a nodeSelector or node affinity, or cordon {plural(len(names), 'it')}"
    )


def _matching_drivers(case: Case, ask: Ask) -> list[DeviceId]:
    index = case.survey.asks.index(ask)
    return [one for one, judgement in case.survey.judgements[index].items() if judgement.selected]
