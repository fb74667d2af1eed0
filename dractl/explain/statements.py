"""Sentences about one request on a set of nodes: what there is, what matches, what is free. Each is true by itself."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from dractl.explain.eligibility import affinity_text
from dractl.explain.holders import holders_of
from dractl.explain.judge import Ask, device_taint_text
from dractl.explain.nearest import (
    TermTally,
    amount_text,
    device_names,
    misses_of,
    number,
    readable,
    related,
)
from dractl.explain.nodes import drivers_of
from dractl.explain.survey import Candidate, Survey
from dractl.explain.terms import Term
from dractl.explain.words import listing, natural, plural, ranges
from dractl.inventory import DeviceId
from dractl.kube.quantity import Quantity

_FEW_DEVICES = 4
"""Up to so many devices are named one by one."""


@dataclass(slots=True)
class Scope:
    """What one ask finds on some nodes: every device once, and the largest numbers on one node."""

    survey: Survey
    index: int
    nodes: list[str]
    in_class: int = 0
    matched: dict[DeviceId, Candidate] = field(default_factory=dict)
    most_matched: tuple[int, str] = (0, "")
    most_usable: tuple[int, str] = (0, "")
    failing: int = 0

    @property
    def ask(self) -> Ask:
        """The ask."""
        return self.survey.asks[self.index]

    @property
    def usable(self) -> int:
        """Devices that could be taken."""
        return sum(1 for one in self.matched.values() if one.judgement.code is None)

    @property
    def codes(self) -> Counter[str]:
        """First refusals of the matching devices."""
        return Counter(one.judgement.code for one in self.matched.values() if one.judgement.code)


def scope_of(survey: Survey, index: int, nodes: Iterable[str]) -> Scope:
    """Take together what an ask finds on some nodes."""
    scope = Scope(survey, index, sorted(nodes, key=natural))
    classed: set[DeviceId] = set()
    for name in scope.nodes:
        found = survey.nodes[name].asks[index]
        for candidate in found.matched:
            scope.matched.setdefault(candidate.id, candidate)
        scope.failing += found.failing
        classed.update(found.classed)
        scope.most_matched = _more(scope.most_matched, len(found.matched), name)
        scope.most_usable = _more(scope.most_usable, len(found.usable), name)
    scope.in_class = len(classed)
    return scope


def _more(best: tuple[int, str], number: int, name: str) -> tuple[int, str]:
    return (number, name) if number > best[0] else best


def noun(ask: Ask) -> str:
    """What the devices of an ask are called."""
    return ask.noun


def place(survey: Survey, nodes: Sequence[str], allowed: bool) -> str:
    """``on h100-1``, ``on the 3 nodes that the pod may use``, or nothing where all nodes are meant."""
    if len(nodes) == len(survey.nodes):
        return ""
    if len(nodes) <= 3:
        return f" on {ranges(nodes)}"
    return f" on the {len(nodes)} nodes that the pod may use" if allowed else f" on {ranges(nodes)}"


# --- nothing of the class -------------------------------------------------------------------------------------------


def nothing_published(scope: Scope, where: str) -> str:
    """No device of the class is there."""
    ask = scope.ask
    drivers = sorted(drivers_of(scope.survey, scope.index))
    elsewhere = [name for name in scope.survey.nodes if name not in scope.nodes]
    if len(drivers) == 1 and not any(key.driver == drivers[0] for key in scope.survey.inventory.pools):
        return (
            f"no ResourceSlice of driver {drivers[0]} exists on any node, so class {ask.spec.device_class_name} of "
            f"request {ask.label} selects nothing"
        )
    misses = misses_of(scope.survey, scope.index, scope.nodes)
    if misses.total and (culprits := misses.culprits()):
        # none of these devices is of the class; what the request says comes later
        culprits = [one for one in culprits if one.of_class] or culprits
        name = "device" if noun(ask) == "MIG device" else noun(ask)
        blamed = listing([blame(one, misses.total, name) for one in culprits], 3)
        return (
            f"class {ask.spec.device_class_name} of request {ask.label} selects none of the "
            f"devices{where or ' there are'}: {blamed}"
        )
    pools = troubled_pools(scope)
    if pools:
        return (
            f"no {noun(ask)} of class {ask.spec.device_class_name} counts{where} (request {ask.label}): "
            f"{listing(pools, 3)}"
        )
    if where and elsewhere and (other := scope_of(scope.survey, scope.index, elsewhere)).in_class:
        there = f"elsewhere there {plural(other.in_class, 'is')} {other.in_class:,}"
        what = f"{noun(ask)} of class {ask.spec.device_class_name}"
        return f"no {what} is published{where} (request {ask.label}), {there}"
    unseen = _unseen(scope)
    if unseen:
        return (
            f"no node sees a {noun(ask)} of class {ask.spec.device_class_name} (request {ask.label}): "
            f"{listing(unseen, 3)}"
        )
    return f"no {noun(ask)} of class {ask.spec.device_class_name} is published{where} (request {ask.label})"


def troubled_pools(scope: Scope) -> list[str]:
    """Pools of the ask's drivers that do not count on the nodes of a scope, and why."""
    drivers = drivers_of(scope.survey, scope.index)
    out: dict[str, list[str]] = {}
    for name in scope.nodes:
        for pool in scope.survey.nodes[name].pools:
            if pool.usable or pool.driver not in drivers:
                continue
            why = f"is invalid ({pool.reason})" if pool.reason else f"has {pool.found} of {pool.expected} slices"
            out.setdefault(f"pool {pool} {why}", []).append(name)
    return [f"{text} on {ranges(nodes, 3)}" for text, nodes in out.items()]


def _unseen(scope: Scope) -> list[str]:
    """Devices of the class that are published, but for no node that there is."""
    survey = scope.survey
    found: dict[str, list[DeviceId]] = {}
    for device_id, published in survey.inventory.devices.items():
        if device_id in survey.seen:
            continue
        selection = survey.judge.selection(scope.ask, device_id.driver, published.device)
        if selection.code == "class-selector":
            continue
        item = published.slice
        if published.node_name:
            reason = f"published for node {published.node_name}, which does not exist"
        elif item.node_selector is not None:
            reason = f"published for nodes with {affinity_text(item.node_selector.terms)}, which no node is"
        else:
            reason = "in a pool that does not count"
        found.setdefault(reason, []).append(device_id)
    return [f"{device_names(devices, 3)} {plural(len(devices), 'is')} {reason}" for reason, devices in found.items()]


# --- nothing matches ------------------------------------------------------------------------------------------------


def nothing_matches(scope: Scope, where: str) -> str:
    """No device of the class passes the selectors: which term is to blame, and what the devices have."""
    ask = scope.ask
    misses = misses_of(scope.survey, scope.index, scope.nodes)
    total = misses.total or scope.in_class
    name = noun(ask)
    head = f"no {name}{where} matches request {ask.label}"
    culprits = misses.culprits()
    if culprits:
        blamed = [blame(one, total, name) for one in culprits]
        return f"{head}: {listing(blamed, 3)}"
    if misses.groups:
        closest = misses.groups[0]
        told = listing([fault.text for fault in closest.faults], 3)
        return (
            f"{head}: every condition is true of some of the {total:,} {plural(total, name)}, but of none all are; "
            f"{device_names(closest.devices, 3)} {'comes' if len(closest.devices) == 1 else 'come'} closest ({told})"
        )
    return head


def blame(tally: TermTally, total: int, name: str) -> str:
    """``productName == 'A100' is true of none of the 72 GPUs (they have ...)``."""
    term = tally.term
    values = [(value, times) for value, times in tally.values.most_common() if value is not None]
    lacking = tally.values.get(None, 0)
    if term.field is None and term.source != "false":
        return _blame_compound(term, values, total, name)
    if total == 1 and term.source != "false":
        has = f"has {_value(term, values[0][0])}" if values else f"has no {term.field}"
        return f"the only one {has}, asked for {term.asked} ({term.field})"
    if term.wanted == ("published",):
        return f"none of the {total:,} {plural(total, name)} publishes {term.field}"
    if term.source == "false":
        return "its selector is false, whatever the device"
    text = f"{term.text} is true of none of the {total:,} {plural(total, name)}"
    if not values:
        return f"{text} ({'they do not publish it' if lacking else 'each fails it'})"
    if term.operator in (">=", ">", "<=", "<") and (edge := extreme(tally)) is not None:
        most = "most" if term.operator in (">=", ">") else "least"
        text += f" (the {most} that any has is {amount_text(term, edge)}"
        return text + (f"; {lacking:,} do not publish it)" if lacking else ")")
    shown = [
        f"{_value(term, value)} ({times:,})" if len(values) > 1 else _value(term, value) for value, times in values[:4]
    ]
    more = f" and {len(values) - 4} other values" if len(values) > 4 else ""
    text += f" (they have {', '.join(shown)}{more}"
    return text + (f"; {lacking:,} do not publish it)" if lacking else ")")


def _blame_compound(term: Term, values: list[tuple[str, int]], total: int, name: str) -> str:
    """A term that is not about one field: what it reads is shown."""
    text = f"{term.source} is true of none of the {total:,} {plural(total, name)}"
    if total == 1:
        text = f"{term.source} is not true of the only one"
    shown = [value if len(values) == 1 else f"{value} ({times:,})" for value, times in values[:3]]
    more = f"; and {len(values) - 3} other combinations" if len(values) > 3 else ""
    return f"{text} ({'; '.join(shown)}{more})" if shown else text


def extreme(tally: TermTally) -> str | None:
    """The largest amount that devices have, or for an upper bound the smallest; None where they are not amounts."""
    amounts = [(amount, value) for value in tally.values if value is not None and (amount := number(value)) is not None]
    if not amounts:
        return None
    return (max if tally.term.operator in (">=", ">") else min)(amounts)[1]


def _value(term: Term, value: str) -> str:
    shown = amount_text(term, value)
    return shown if shown != value or not any(char == " " for char in value) else f"'{value}'"


def correction(tally: TermTally) -> str | None:
    """How a term that is true nowhere could be written so that it is true somewhere; None where nothing looks alike."""
    term = tally.term
    values = [value for value in tally.values if value is not None]
    if term.field is None or not term.wanted:
        return None
    if term.operator in (">=", ">") and term.typed == "quantity":
        return None
    if term.operator in ("==", "in") and any(value in term.wanted for value in values):
        return _other_type(term)
    alike = [value for value in values if any(related(word, value) for word in term.wanted)]
    if term.operator in ("==", "in", "containing", "starting with", "matching") and alike:
        quoted = [f"'{value}'" for value in sorted(alike)]
        return f"write {term.field} as published: {listing(quoted, 4, 'or')}"
    return None


def _other_type(term: Term) -> str:
    """A value that reads like the constant and is not equal to it: the types differ."""
    value = term.wanted[0]
    if term.typed == "number":
        shown, how, kind, other = [f"'{one}'" for one in term.wanted], "with", "text", "number"
    elif value in ("true", "false"):
        shown, how, kind, other = list(term.wanted), "without", "bool", "text"
    elif value.lstrip("-").isdigit():
        shown, how, kind, other = list(term.wanted), "without", "int", "text"
    else:
        return f"compare {term.field} with semver('{value}'): it is published as a version, which no text equals"
    what = f"in [{', '.join(shown)}]" if term.operator == "in" else f"== {shown[0]}"
    article = "an" if kind == "int" else "a"
    return f"write {term.field} {what}, {how} quotes: it is published as {article} {kind}, which no {other} equals"


# --- too few --------------------------------------------------------------------------------------------------------


def too_few(scope: Scope, where: str) -> str:
    """No node has as many matching devices as are asked for, free or not."""
    ask = scope.ask
    most, name = scope.most_matched
    need = f"{ask.count:,} {plural(ask.count, noun(ask))}"
    also = [one for one in scope.nodes if len(scope.survey.nodes[one].asks[scope.index].matched) == most]
    if most == 0:
        return nothing_matches(scope, where)
    if len(scope.nodes) == 1:
        has = f"{name} has only {most:,} that {_match(most)}, free or not"
        return f"request {ask.label} needs {need} on one node, and {has}"
    owner = f"node {name}" if len(also) == 1 else f"{len(also)} nodes"
    return (
        f"request {ask.label} needs {need} on one node, and no node{_that(where)} has more than {most:,} that "
        f"{_match(most)}, free or not ({owner} {'has' if len(also) == 1 else 'have'} {most:,})"
    )


def _match(number_of: int) -> str:
    return "matches" if number_of == 1 else "match"


def _that(where: str) -> str:
    if not where:
        return ""
    return " that the pod may use" if "that the pod may use" in where else " of these"


# --- taken ----------------------------------------------------------------------------------------------------------


def not_available(scope: Scope, where: str) -> str:
    """Devices match, but not enough of them can be taken: in use, tainted, counters or amounts used up."""
    ask, name = scope.ask, noun(scope.ask)
    matched = sorted(scope.matched.values(), key=lambda one: natural(str(one.id)))
    total, free = len(matched), scope.usable
    if ask.all:
        return _not_all(scope, where)
    if (small := _too_small(scope, where)) is not None:
        return small
    if ask.count > 1:
        most, at = scope.most_usable
        if len(scope.nodes) == 1:
            return (
                f"request {ask.label} needs {ask.count:,} {plural(ask.count, name)} on one node, and of the {total:,} "
                f"that match{where or f' on {scope.nodes[0]}'} {free or 'none'} {plural(free, 'is')} left: "
                f"{code_counts(scope.codes)}"
            )
        free_text = f"the most is {most:,} on {at}" if most else "none is free"
        return (
            f"request {ask.label} needs {ask.count:,} {plural(ask.count, name)} on one node, and no node{_that(where)} "
            f"has that many left: {free_text}; of {total:,} that match, {code_counts(scope.codes)}"
            + (f", {free:,} {plural(free, 'is')} free" if free else "")
        )
    if total <= _FEW_DEVICES:
        alike: dict[str, list[DeviceId]] = {}
        for one in matched:
            alike.setdefault(one.judgement.text, []).append(one.id)
        parts = [_refused(devices, text) for text, devices in alike.items()]
        subject = f"the only {name} that matches" if total == 1 else f"the {total} {plural(total, name)} that match"
        return f"{subject} request {ask.label}{where} cannot be taken: {listing(parts, 4)}"
    codes = scope.codes
    if set(codes) == {"in-use"}:
        held = holders_of(scope.survey, [scope.index], scope.nodes)
        who = listing([one.name for one in held], 4)
        return f"all {total:,} {plural(total, name)} that match request {ask.label}{where} are in use, by {who}"
    subject = f"none of the {total:,} {plural(total, name)} that match request {ask.label}{where}"
    return f"{subject} can be taken: {code_counts(codes)}"


def _refused(devices: list[DeviceId], text: str) -> str:
    """``gpu-0 and gpu-1 are in use by a/b``: devices that are refused in the same words."""
    verb, _, rest = text.partition(" ")
    words = {"is": "are", "has": "have", "lacks": "lack", "does": "do"}
    if len(devices) > 1 and verb in words:
        text = f"{words[verb]} {rest}"
    elif len(devices) > 1:
        return listing([f"{short_name(one)} {text}" for one in devices], 4)
    return f"{device_names(devices)} {text}"


def _too_small(scope: Scope, where: str) -> str | None:
    """Where every matching device has less of a capacity than is asked for, even with nothing taken of it."""
    shorts = [one.judgement.short for one in scope.matched.values()]
    most: Quantity | None = None
    wanted = name = ""
    for short in shorts:
        if short is None or short.wanted is None or short.has is None or short.has >= short.wanted:
            return None
        if most is None or short.has > most:
            most, wanted, name = short.has, str(short.wanted), short.name
    if most is None:
        return None
    return (
        f"request {scope.ask.label} asks for {wanted} of {name} from one {noun(scope.ask)}, and none{_that(where)} "
        f"has more than {readable(str(most))}"
    )


def _not_all(scope: Scope, where: str) -> str:
    """allocationMode All: every matching device of a node has to be usable."""
    ask, name = scope.ask, noun(scope.ask)
    taken = [one for one in scope.matched.values() if one.judgement.code is not None]
    shown = listing([f"{short_name(one.id)} {one.judgement.text}" for one in taken], 3)
    return (
        f"request {ask.label} asks for all {plural(2, name)} of a node that match, and on no node{_that(where)} are "
        f"all of them free: {shown}"
    )


_CODE_WORDS = {
    "in-use": "in use",
    "tainted": "tainted",
    "counters-insufficient": "without counters left",
    "capacity-insufficient": "without enough capacity",
    "capacity-undefined": "without that capacity",
    "constraint-attribute-missing": "without the attribute of a constraint",
}


def code_counts(codes: Counter[str]) -> str:
    """``24 are in use, 8 are tainted``."""
    parts = [f"{times:,} {plural(times, 'is')} {_CODE_WORDS.get(code, code)}" for code, times in codes.most_common()]
    return listing(parts, 6) or "none is left"


def taints_of(scope: Scope) -> list[str]:
    """The taints that keep otherwise usable devices from the ask."""
    return list(
        dict.fromkeys(
            device_taint_text(taint)
            for one in scope.matched.values()
            if one.judgement.codes == ("tainted",)
            for taint in one.judgement.taints
        )
    )


def short_name(device: DeviceId) -> str:
    """``pool/device``: the driver is known from the request."""
    return f"{device.pool}/{device.device}"
