"""The answer for claims without an allocation: errors first, then fits, then what keeps them from every node."""

from __future__ import annotations

from collections.abc import Sequence

from dractl.explain.answer import Answer
from dractl.explain.attributes import explain_missing
from dractl.explain.case import ERROR, FITS, Case, NodeAnswer
from dractl.explain.constraints import value_text
from dractl.explain.devices import Statement, partner_details, statements
from dractl.explain.errors import explain_errors
from dractl.explain.holders import Held
from dractl.explain.lifecycle import missing_classes
from dractl.explain.nearest import misses_of
from dractl.explain.nodes import (
    COMPETE,
    FEW,
    NO_ATTRIBUTE,
    NO_GROUP,
    NOT_DISTINCT,
    NOTHING,
    SEARCH,
    TAKEN,
    UNMATCHED,
    drivers_of,
)
from dractl.explain.other_class import explain_other_classes
from dractl.explain.placement import closed_text, fits_elsewhere, no_node_left, pods_text, rule_text
from dractl.explain.pools import explain_pools
from dractl.explain.publication import class_missing, explain_unpublished
from dractl.explain.reach import explain_empty, explain_labels, explain_unreached
from dractl.explain.selection import explain_misses
from dractl.explain.statements import scope_of
from dractl.explain.taken import explain_outdated, explain_taken
from dractl.explain.variants import scheduler_fault, tell_fault
from dractl.explain.words import listing, plural, ranges
from dractl.rules import allocation as rules
from dractl.rules import topology
from dractl.rules.finding import ObjectRef

_ABOUT_TAKEN = (TAKEN, NO_GROUP, NOT_DISTINCT, COMPETE, SEARCH)
_RULES = {
    NOTHING: rules.NOTHING_PUBLISHED,
    UNMATCHED: rules.SELECTS_NOTHING,
    FEW: rules.MORE_THAN_A_NODE,
    TAKEN: rules.FULL_OF_HOLDERS,
    NO_ATTRIBUTE: rules.CONSTRAINT_ATTRIBUTE_MISSING,
    NO_GROUP: rules.CONSTRAINT_NOT_MET,
    NOT_DISTINCT: rules.CONSTRAINT_NOT_MET,
}


def explain_devices(case: Case, answer: Answer) -> list[Held]:
    """Say whether the claims fit on the nodes that the pods may use, and if not why; the holders of interest."""
    missing = [pair for claim in case.claims for pair in missing_classes(case.inventory, claim)]
    if missing:
        class_missing(case.inventory, answer, missing, case.pods)
        return []
    if not case.nodes:
        answer.say("the snapshot holds no node and no slice that names one, so the claim can be allocated nowhere")
        return []
    if not case.eligible:
        no_node_left(case, answer)
        return [] if case.fitting(eligible=False) else _besides_rules(case, answer)
    if case.verdict == ERROR:
        explain_errors(case, answer)
        return _besides_errors(case, answer)
    if case.verdict == FITS:
        return []
    if case.verdict == "undecided":
        names = ranges([one.name for one in case.eligible if one.verdict == "undecided"], 4)
        answer.say(f"undecided: on {names} the search takes too many steps to know whether the claim fits there")
    return does_not_fit(case, answer, case.eligible)


def _besides_rules(case: Case, answer: Answer) -> list[Held]:
    """What keeps the devices, where the pods may use no node anyway."""
    told = statements(case, list(case.nodes.values()), "")
    if not told:
        return []
    first = told[0]
    answer.say(f"besides that, {first.text}")
    return explain_taken(case, answer, first.asks, first.nodes) if first.kind in _ABOUT_TAKEN else []


def _besides_errors(case: Case, answer: Answer) -> list[Held]:
    """Whether, with the error gone, the other nodes would serve."""
    failing = {node.name for node in case.errors}
    others = [node for node in case.eligible if node.name not in failing]
    if not others or case.fitting() or _same_failure(case, others):
        return []
    more = Answer()
    held = does_not_fit(case, more, others, others=True)
    if more.summary:
        first = more.summary[0].lower() + more.summary[1:] if more.summary.split(" ")[0].isalpha() else more.summary
        # both have to be known: the error alone is not the whole reason
        text = f"even without that error the claim would not fit on the other nodes: {first}"
        answer.summary = f"{answer.summary.rstrip('.')}; {text}"
    for detail in more.details:
        answer.say(detail)
    for finding in more.findings:
        answer.find(finding)
    return held


def _same_failure(case: Case, others: Sequence[NodeAnswer]) -> bool:
    """Whether on other nodes, too, every device that could match makes a selector fail (but is in use already)."""
    for unit in case.reasons.units:
        scopes = [scope_of(case.survey, index, [node.name for node in others]) for index in unit]
        if all(not scope.matched and scope.failing for scope in scopes):
            return True
    return False


def does_not_fit(case: Case, answer: Answer, nodes: Sequence[NodeAnswer], others: bool = False) -> list[Held]:
    """Why none of some nodes serves the claims; ``others`` if they are what an error has left over."""
    names = [node.name for node in nodes]
    where, lead = _scope_words(case, nodes, others)
    # what an error has left over is part of the allowed nodes: the question for all of them says nothing about it
    idle = None if others else case.idle
    judged = idle or case
    judged_nodes = [judged.nodes[name] for name in names]
    told = statements(judged, judged_nodes, where)
    fault = scheduler_fault(case, names)
    if fault is not None and told[0].kind == SEARCH:
        # the fault is what has to be known; that the search finds nothing follows from it
        tell_fault(answer, fault)
        held = explain_taken(case, answer, told[0].asks, told[0].nodes)
        return held
    for number, one in enumerate(told):
        answer.say(f"{lead}{one.text}" if number == 0 else one.text)
        _finding(judged, answer, one, answer.summary if number == 0 and not answer.details else one.text)
    if idle is not None:
        _hopeless(case, idle, answer, names, where, told)
    fits_elsewhere(case, answer)
    for one in told:
        _more(judged, answer, one)
    explain_missing(judged, answer, judged_nodes)
    if idle is not None:
        return []
    held = []
    for one in told:
        if one.kind in _ABOUT_TAKEN:
            held += explain_taken(case, answer, one.asks, one.nodes)
    _constraint_partners(case, answer, nodes)
    if fault is not None:
        tell_fault(answer, fault)
    return held


def _scope_words(case: Case, nodes: Sequence[NodeAnswer], others: bool) -> tuple[str, str]:
    """How to say which nodes are meant: a place inside the sentence, and words before it."""
    if others:
        return f" on {ranges([node.name for node in nodes], 4)}", ""
    if len(nodes) == len(case.nodes) or not case.pods:
        return "", ""
    names = ranges([node.name for node in nodes], 3)
    own = rule_text(case)
    if len(nodes) <= 3:
        because = f" ({own or closed_text(case)})" if own or closed_text(case) else ""
        return f" on {names}", f"{pods_text(case.pods)} may only run on {names}{because}, and "
    return f" on the {len(nodes)} nodes that the pod may use", ""


def _hopeless(case: Case, idle: Case, answer: Answer, names: list[str], where: str, told: Sequence[Statement]) -> None:
    """It would not fit even if all devices were free: what is taken comes on top."""
    now = statements(case, [case.nodes[name] for name in names], where)
    known = {one.text for one in told}
    fresh = [one.text for one in now if one.text not in known and one.kind == TAKEN]
    if fresh:
        answer.say(f"that holds even with all devices free; at the moment, besides, {fresh[0]}")
    if len(names) > 3:
        return
    for name in names:
        node = idle.nodes[name]
        for blocker in node.reason.blockers:
            if blocker.kind == NO_GROUP:
                for detail in _values_detail(idle, blocker.rule, node):
                    answer.say(detail)
                _disjoint_roots(idle, answer, blocker.rule, node)


def _disjoint_roots(case: Case, answer: Answer, number: int, node: NodeAnswer) -> None:
    """Two kinds of devices of one node that never share a PCIe root: often a fault of publication."""
    rule = case.reasons.rules[number]
    groups = node.reason.groups.get(number)
    if groups is None or not rule.attribute.endswith("/pcieRoot") or len(rule.asks) < 2 or len(groups.values) < 4:
        return
    if any(len(by_ask) > 1 for by_ask in groups.values.values()):
        return
    kinds = listing(dict.fromkeys(plural(2, case.survey.asks[index].noun) for index in rule.asks), 3)
    answer.find(
        topology.DISJOINT_ROOTS.finding(
            f"on {node.name} {kinds} never report the same PCIe root: wired so, or reported wrongly by a driver",
            ObjectRef("Node", node.name),
        )
    )


def _values_detail(case: Case, number: int, node: NodeAnswer) -> list[str]:
    """The values that each request's devices have on a node where none is common."""
    rule = case.reasons.rules[number]
    groups = node.reason.groups.get(number)
    if groups is None:
        return []
    parts = []
    for index in rule.asks:
        values = sorted(value_text(value) for value, by_ask in groups.values.items() if index in by_ask)
        parts.append(f"{case.survey.asks[index].label}: {listing(values, 8)}")
    return [f"{rule.attribute} on {node.name} is for {'; for '.join(parts)}"]


def _finding(case: Case, answer: Answer, one: Statement, text: str) -> None:
    rule = _RULES.get(one.kind)
    if rule is None:
        return
    if rule is rules.FULL_OF_HOLDERS and any(
        set(scope_of(case.survey, index, one.nodes).codes) != {"in-use"} for index in one.asks
    ):
        return
    claim = case.survey.asks[one.asks[0]].claim.meta if one.asks else case.claims[0].meta
    answer.find(rule.finding(text, ObjectRef("ResourceClaim", claim.name, claim.namespace)))


def _more(case: Case, answer: Answer, one: Statement) -> None:
    """More about a request that no node serves: drivers that publish nothing, values that nearly match, counts."""
    if one.kind == NOTHING:
        explain_pools(case, answer, one.asks, one.nodes)
        for index in one.asks:
            for driver in sorted(drivers_of(case.survey, index)):
                if not any(key.driver == driver for key in case.inventory.pools):
                    explain_unpublished(case.inventory, answer, driver, case.pods)
                else:
                    explain_empty(case.inventory, answer, driver)
                    explain_labels(case.inventory, answer, driver)
            if misses_of(case.survey, index, one.nodes).total:
                explain_other_classes(case, answer, index)
    if one.kind in (NOTHING, UNMATCHED):
        for index in one.asks:
            claim = case.survey.asks[index].claim.meta
            subject = ObjectRef("ResourceClaim", claim.name, claim.namespace)
            explain_misses(answer, misses_of(case.survey, index, one.nodes), subject)
    if one.kind == FEW:
        most = max(scope_of(case.survey, index, one.nodes).most_matched[0] for index in one.asks)
        answer.advise(f"ask for at most {most} in one claim; more need several pods, each with a claim of its own")
    if one.kind in (NOTHING, FEW, TAKEN):
        for driver in sorted({driver for index in one.asks for driver in drivers_of(case.survey, index)}):
            if any(key.driver == driver for key in case.inventory.pools):
                explain_unreached(case, answer, driver, one.nodes)
    if one.kind in (UNMATCHED, FEW, TAKEN):
        explain_outdated(case, answer, one.asks)
        explain_pools(case, answer, one.asks, one.nodes)


def _constraint_partners(case: Case, answer: Answer, nodes: Sequence[NodeAnswer]) -> None:
    close = max((node.reason.depth for node in nodes), default=0)
    told = 0
    for node in nodes:
        if node.reason.depth != close or told >= 2:
            continue
        for blocker in node.reason.blockers:
            if blocker.kind == NO_GROUP:
                told += 1
                for detail in partner_details(case, blocker.rule, node.reason):
                    answer.say(detail)
