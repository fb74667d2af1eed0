"""Why the devices of some nodes do not serve: the statement that holds on all of them, or on the closest ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dractl.explain.case import Case, NodeAnswer
from dractl.explain.constraints import NodeGroups, Rule, Value, bound_labels, value_text, values_of
from dractl.explain.nearest import device_names
from dractl.explain.nodes import (
    COMPETE,
    DEPTH,
    FEW,
    NO_ATTRIBUTE,
    NO_GROUP,
    NOT_DISTINCT,
    NOTHING,
    SEARCH,
    TAKEN,
    UNMATCHED,
    Blocker,
    NodeReason,
    wanted,
)
from dractl.explain.statements import (
    Scope,
    not_available,
    nothing_matches,
    nothing_published,
    noun,
    scope_of,
    short_name,
    too_few,
)
from dractl.explain.survey import Candidate
from dractl.explain.words import count, listing, plural, ranges
from dractl.inventory import DeviceId

_CONFLICT_NODES = 8

_SHORT_NAMES = {"pcieRoot": "PCIe root", "numaNode": "NUMA node", "parentUUID": "parent GPU"}


@dataclass(slots=True)
class Statement:
    """A sentence, the kind of blocker that it is about, and the asks and nodes concerned."""

    text: str
    kind: str
    asks: list[int]
    nodes: list[str]
    unit: int | None = None


def statements(case: Case, answers: Sequence[NodeAnswer], where: str) -> list[Statement]:
    """What can be said about some nodes, the strongest first. ``where`` says which nodes, if not all."""
    reasons = [answer.reason for answer in answers]
    names = [answer.name for answer in answers]
    out = []
    for unit in blocked_everywhere(case, reasons):
        indices = case.reasons.units[unit]
        kind = max((_kind(scope_of(case.survey, index, names)) for index in indices), key=DEPTH.index)
        out.append(Statement(unit_sentence(case, unit, names, where), kind, indices, names, unit))
    return out or _closest(case, answers, where)


def _kind(scope: Scope) -> str:
    if not scope.in_class:
        return NOTHING
    if not scope.matched:
        return UNMATCHED
    return FEW if scope.most_matched[0] < scope.ask.count else TAKEN


def blocked_everywhere(case: Case, reasons: Sequence[NodeReason]) -> list[int]:
    """The requests (indices of units) that no node can serve by themselves, the most hopeless first."""
    units = case.reasons.units
    owner = {ask: number for number, unit in enumerate(units) for ask in unit}
    sets = [{owner[blocker.ask] for blocker in reason.blockers if blocker.ask >= 0} for reason in reasons]
    common = set.intersection(*sets) if sets else set()
    nodes = [reason.facts.name for reason in reasons]
    return sorted(common, key=lambda unit: (_strength(case, units[unit], nodes), unit))


def _strength(case: Case, unit: Sequence[int], nodes: Sequence[str]) -> int:
    return max(DEPTH.index(_kind(scope_of(case.survey, index, nodes))) for index in unit)


def unit_sentence(case: Case, unit: int, nodes: Sequence[str], where: str) -> str:
    """The statement about one request: about its only alternative, or about each of them."""
    indices = case.reasons.units[unit]
    texts = [ask_sentence(scope_of(case.survey, index, nodes), where) for index in indices]
    if len(texts) == 1:
        return texts[0]
    ask = case.survey.asks[indices[0]]
    name = ask.label.rpartition("/")[0]
    return f"none of the {len(texts)} alternatives of request {name} can be had{where}: {'; '.join(texts)}"


def ask_sentence(scope: Scope, where: str) -> str:
    """The statement about one ask on the nodes of a scope."""
    sentence_of = {NOTHING: nothing_published, UNMATCHED: nothing_matches, FEW: too_few, TAKEN: not_available}
    return sentence_of[_kind(scope)](scope, where)


# --- every request can be served somewhere, but not all on one node -------------------------------------------------


def _closest(case: Case, answers: Sequence[NodeAnswer], where: str) -> list[Statement]:
    best = max(answer.reason.depth for answer in answers)
    close = [answer for answer in answers if answer.reason.depth == best]
    kinds = {blocker.kind for answer in close for blocker in answer.reason.blockers}
    for kind in (NO_ATTRIBUTE, NO_GROUP, NOT_DISTINCT):
        if kind in kinds:
            chosen = [answer for answer in close if any(blocker.kind == kind for blocker in answer.reason.blockers)]
            return _with_the_rest(_constraint_sentences(case, kind, chosen, where), chosen, answers)
    every = list(range(len(case.survey.asks)))
    near = [answer.name for answer in close]
    if COMPETE in kinds:
        return _compete_statements(case, close, where)
    if not kinds:
        found = Statement(_search_sentence(case, close, where), SEARCH, every, near)
        return _with_the_rest([found], close, answers)
    return [Statement(_split_sentence(case, answers, where), TAKEN, every, [answer.name for answer in answers])]


def _with_the_rest(
    told: list[Statement], close: Sequence[NodeAnswer], answers: Sequence[NodeAnswer]
) -> list[Statement]:
    """Statements about one node only, with a word about the others: the first sentence has to be about all of them."""
    rest = [answer for answer in answers if all(answer is not one for one in close)]
    if len(close) > 1 or not rest or not told:
        return told
    blockers = [blocker for answer in rest for blocker in answer.reason.blockers]
    why = []
    if any(blocker.ask >= 0 for blocker in blockers):
        why.append("a request cannot be served")
    if any(blocker.kind == NO_ATTRIBUTE for blocker in blockers):
        why.append("devices lack the attribute")
    if any(blocker.rule >= 0 and blocker.kind != NO_ATTRIBUTE for blocker in blockers):
        why.append("a constraint cannot be kept")
    if any(blocker.kind == COMPETE for blocker in blockers):
        why.append("requests want the same devices")
    other = f"on {rest[0].name}" if len(rest) == 1 else f"on the other {len(rest)} nodes"
    told[0].text += f"; {other} {listing(why, 4, 'or')}" if why else ""
    return told


def _no_node(where: str) -> str:
    """``no node``, or ``none of the 8 nodes that the pod may use``."""
    return f"none of {where.removeprefix(' on ')}" if where else "no node"


def _split_sentence(case: Case, answers: Sequence[NodeAnswer], where: str) -> str:
    """Each request is served on some nodes, never all on one."""
    owner = {ask: number for number, unit in enumerate(case.reasons.units) for ask in unit}
    parts = []
    for number in range(len(case.reasons.units)):
        serving = [
            answer.name
            for answer in answers
            if all(owner.get(blocker.ask) != number for blocker in answer.reason.blockers)
        ]
        if len(serving) < len(answers):
            parts.append(f"request {_label(case, number)} could be served on {ranges(serving, 4)}")
    return f"{_no_node(where)} serves all requests at once: {listing(parts, 4)}"


def _compete_statements(case: Case, answers: Sequence[NodeAnswer], where: str) -> list[Statement]:
    """The requests that want the same devices, and how many there are; where nodes differ, each with its nodes."""
    by_units: dict[tuple[int, ...], list[NodeAnswer]] = {}
    for answer in answers:
        for blocker in answer.reason.blockers:
            if blocker.kind == COMPETE:
                by_units.setdefault(blocker.units, []).append(answer)
    out = []
    for units, members in sorted(by_units.items(), key=lambda item: -len(item[1])):
        asks = [index for unit in units for index in case.reasons.units[unit]]
        free = {answer.name: _usable(answer, asks) for answer in members}
        most = max(members, key=lambda answer: len(free[answer.name]))
        wants = sum(_wants(case, unit, most) for unit in units)
        nouns = {noun(case.survey.asks[index]) for index in asks}
        what = count(wants, nouns.pop() if len(nouns) == 1 else "device")
        labels = listing([_label(case, unit) for unit in units], 4)
        there = len(free[most.name])
        if len(by_units) == 1 and len(members) > 1:
            text = f"{_no_node(where)} has that many usable ones: the most is {there} on {most.name}"
        else:
            has = plural(len(members), "has", "have")
            on = ranges([answer.name for answer in members], 3)
            limit = "only" if len(members) == 1 else "at most"
            text = f"{on} {has} {limit} {there} that {plural(there, 'is')} usable for them"
        out.append(
            Statement(
                f"requests {labels} want {what} together, and {text}"
                if len(units) > 1
                else f"request {labels} wants {what}, and {text}",
                COMPETE,
                asks,
                [answer.name for answer in members],
            )
        )
    return out[:3]


def _usable(answer: NodeAnswer, asks: Sequence[int]) -> set[DeviceId]:
    return {one.id for index in asks for one in answer.reason.facts.asks[index].usable}


def _wants(case: Case, unit: int, answer: NodeAnswer) -> int:
    facts = answer.reason.facts
    choices = [index for index in case.reasons.units[unit] if facts.asks[index].usable]
    return wanted(case.survey.asks, choices or case.reasons.units[unit], facts)


def _label(case: Case, unit: int) -> str:
    indices = case.reasons.units[unit]
    label = case.survey.asks[indices[0]].label
    return label if len(indices) == 1 else label.rpartition("/")[0]


def _search_sentence(case: Case, answers: Sequence[NodeAnswer], where: str) -> str:
    """Each device can be taken by itself, each constraint could be kept, and still there is no solution."""
    from dractl.simulate.conflict import find_conflict

    names = ranges([answer.name for answer in answers], 4)
    asks = case.survey.asks
    parts = find_conflict(case, [answer.name for answer in answers[:_CONFLICT_NODES]]).parts
    labels = list(dict.fromkeys(part.request for part in parts if part.kind == "request"))
    labels = labels or list(dict.fromkeys(ask.label for ask in asks))
    if len(labels) == 1 and all(ask.count == 1 and not ask.all for ask in asks):
        return f"devices for request {labels[0]} are free on {names}, but the scheduler's search takes none of them"
    keeping = [part.text for part in parts if part.kind == "constraint"]
    why = f"there is no choice in which {listing(keeping, 4)}" if keeping else ""
    if any(part.kind == "counters" for part in parts):
        why = f"{why}; besides, they draw from the same counters" if why else "they draw from the same counters"
    if not why:
        shared = any(one.device.allow_multiple_allocations for one in _all_usable(answers))
        why = "they want more of the devices' capacity than there is" if shared else "the search finds no choice"
    what = f"{plural(len(labels), 'request')} {listing(labels, 4)}"
    return f"on {names} devices for {what} are free one by one, but not together: {why}"


def _all_usable(answers: Sequence[NodeAnswer]) -> list[Candidate]:
    return [one for answer in answers for found in answer.reason.facts.asks for one in found.usable]


# --- constraints ----------------------------------------------------------------------------------------------------


def attribute_words(name: str) -> str:
    """What an attribute is about, for people, with its full name."""
    short = _SHORT_NAMES.get(name.rpartition("/")[2])
    return f"{short} ({name})" if short else name


def _constraint_sentences(case: Case, kind: str, answers: Sequence[NodeAnswer], where: str) -> list[Statement]:
    out = []
    seen: set[int] = set()
    names = [answer.name for answer in answers]
    for answer in answers:
        for blocker in answer.reason.blockers:
            if blocker.kind == kind and blocker.rule not in seen:
                seen.add(blocker.rule)
                bound = case.reasons.rules[blocker.rule].asks
                out.append(Statement(constraint_sentence(case, blocker, answers, where), kind, bound, names))
    return out


def constraint_sentence(case: Case, blocker: Blocker, answers: Sequence[NodeAnswer], where: str) -> str:
    """Why one constraint cannot be kept on the nodes given."""
    rule = case.reasons.rules[blocker.rule]
    asks = case.survey.asks
    if blocker.kind == NO_ATTRIBUTE:
        return _missing_sentence(case, rule, [answer.reason for answer in answers], blocker.rule, where)
    members = bound_labels(rule, asks)
    names = ranges([answer.name for answer in answers], 4)
    if rule.distinct:
        return (
            f"{_no_node(where)} has enough usable devices with different {attribute_words(rule.attribute)} for "
            f"{plural(len(members), 'request')} {listing(members)}"
        )
    if len(rule.asks) == 1:
        ask = asks[rule.asks[0]]
        most = max(
            (
                len(found)
                for answer in answers
                for by in answer.reason.groups[blocker.rule].values.values()
                for found in by.values()
            ),
            default=0,
        )
        return (
            f"request {ask.label} needs {ask.count} {plural(ask.count, noun(ask))} with the same "
            f"{attribute_words(rule.attribute)}, and no value{where} has that many usable ones (the most is {most})"
        )
    if any(shared_value(case, rule, answer.reason.groups.get(blocker.rule)) for answer in answers):
        return _not_enough_of_a_value(case, blocker, answers, where)
    what = listing([f"{noun(asks[index])} for {asks[index].label}" for index in rule.asks], 4)
    same = f"with the same {attribute_words(rule.attribute)}"
    if len(answers) == 1:
        values = _values_by_ask(case, rule, answers[0].reason.groups[blocker.rule])
        return f"no usable {what} on {names} share one {attribute_words(rule.attribute)}: {values}"
    return f"{_no_node(where)} has a usable {what} {same}; {names} have each, but never with a common value"


def shared_value(case: Case, rule: Rule, groups: NodeGroups | None) -> bool:
    """Whether some value is carried by devices of every request: then it is their number that does not do."""
    if groups is None:
        return False
    units = [[index for index in unit if index in rule.asks] for unit in case.reasons.units]
    return any(
        all(any(index in by_ask for index in unit) for unit in units if unit) for by_ask in groups.values.values()
    )


def _not_enough_of_a_value(case: Case, blocker: Blocker, answers: Sequence[NodeAnswer], where: str) -> str:
    """Values are common, but none has as many devices as are asked for: what is needed, and the value that has most."""
    rule = case.reasons.rules[blocker.rule]
    asks = [case.survey.asks[index] for index in rule.asks]
    words = attribute_words(rule.attribute)
    everything = [ask for ask in asks if ask.all]
    if everything:
        labels = listing([ask.label for ask in everything], 3)
        takes = f"{plural(len(everything), 'request')} {labels} {plural(len(everything), 'takes', 'take')}"
        others = listing([f"those of {ask.label}" for ask in asks if not ask.all], 3)
        beside = f", and {others} with it" if others else ""
        return f"{takes} all devices that match, and {_no_node(where)} has all of them with one {words}{beside}"
    needs = [f"{ask.count} {plural(ask.count, noun(ask))} for {ask.label}" for ask in asks]
    best: tuple[tuple[int, int, int], str] | None = None
    for answer in answers:
        for value, by_ask in answer.reason.groups[blocker.rule].values.items():
            numbers = [len(by_ask.get(index, ())) for index in rule.asks]
            different = len({one.id for found in by_ask.values() for one in found})
            met = sum(number >= ask.count for number, ask in zip(numbers, asks, strict=True))
            rank = (met, different, min(numbers))
            if best is not None and rank <= best[0]:
                continue
            has = listing([f"{number} for {ask.label}" for number, ask in zip(numbers, asks, strict=True)], 4)
            # one device can be counted for several requests
            total = f", {different} different ones in all" if different < sum(numbers) else ""
            best = (rank, f"{value_text(value)} on {answer.name} has {has}{total}")
    closest = f" (the closest: {best[1]})" if best is not None else ""
    return f"{listing(needs, 4)} are needed with the same {words}, and no value{where} has so many usable ones{closest}"


def _values_by_ask(case: Case, rule: Rule, groups: NodeGroups) -> str:
    parts = []
    for index in rule.asks:
        values = [value_text(value) for value, by_ask in groups.values.items() if index in by_ask]
        if values:
            parts.append(f"{case.survey.asks[index].label} has {ranges(sorted(values), 4)}")
    return listing(parts, 4) or "there is no value"


def _missing_sentence(case: Case, rule: Rule, reasons: Sequence[NodeReason], number: int, where: str) -> str:
    asks = case.survey.asks
    lacking = [
        index
        for index in rule.asks
        if all(
            reason.groups[number].missing.get(index)
            and not any(index in by_ask for by_ask in reason.groups[number].values.values())
            for reason in reasons
            if number in reason.groups
        )
    ] or list(rule.asks)
    words = listing([f"{noun(asks[index])} of request {asks[index].label}" for index in lacking], 3, "or")
    verb = "be different in" if rule.distinct else "share"
    members = bound_labels(rule, asks)
    whose = f"requests {listing(members)}" if len(members) > 1 else f"its {plural(2, noun(asks[rule.asks[0]]))}"
    who = f"{whose} have to"
    return f"no usable {words}{where} carries the attribute {rule.attribute}, which {who} {verb}"


def partner_details(case: Case, number: int, reason: NodeReason, limit: int = 6) -> list[str]:
    """For each value that some request has free on a node: what the others have of it, free or taken by whom."""
    rule = case.reasons.rules[number]
    lists = case.profile.features.list_type_attributes
    matched: dict[Value, dict[int, list[Candidate]]] = {}
    for index in rule.asks:
        for one in reason.facts.asks[index].matched:
            attribute = case.survey.attribute(index, one.id, one.device, rule.attribute)
            for value in values_of(attribute, lists) if attribute is not None else []:
                matched.setdefault(value, {}).setdefault(index, []).append(one)
    out = []
    for value in sorted(matched, key=value_text):
        by_ask = matched[value]
        if not any(one.judgement.code is None for found in by_ask.values() for one in found):
            continue
        parts = [_partner(case, index, by_ask.get(index, [])) for index in rule.asks]
        bare = rule.attribute.rpartition("/")[2]
        out.append(f"{bare} {value_text(value)} on {reason.facts.name}: {listing(parts, 4)}")
    return out[:limit] + ([f"{len(out) - limit} more values"] if len(out) > limit else [])


def _partner(case: Case, index: int, found: list[Candidate]) -> str:
    ask = case.survey.asks[index]
    name = noun(ask)
    free = [one.id for one in found if one.judgement.code is None]
    if free:
        return f"{plural(len(free), name)} {_names(free)} {plural(len(free), 'is')} free"
    if not found:
        return f"no {name} for {ask.label} has it"
    return listing([f"{name} {short_name(one.id)} {one.judgement.text}" for one in found], 3)


def _names(devices: list[DeviceId]) -> str:
    return device_names(devices, 3)


def free_devices(case: Case, name: str) -> str:
    """What the claims would take on a node where they fit, and how many devices there are to choose from."""
    node = case.nodes[name]
    taken = [one.device for allocation in node.result.allocations or [] for one in allocation.results]
    if not taken:
        return "no device is needed"
    counts = []
    for index, ask in enumerate(case.survey.asks):
        found = node.reason.facts.asks[index]
        usable = len(found.usable)
        if usable and not ask.admin:
            many = plural(len(found.matched), noun(ask))
            counts.append(f"{usable} of {len(found.matched)} matching {many} {plural(usable, 'is')} free")
    told = f"; on {name} {listing(dict.fromkeys(counts), 3)}" if counts and len(case.survey.asks) <= 3 else ""
    return f"it would take {listing(taken, 4)}{told}"
