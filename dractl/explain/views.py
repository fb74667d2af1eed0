"""The evidence of a report: nodes and their groups, requests with their funnels, constraints with their values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from dractl.explain.case import ERROR, FITS, Case, NodeAnswer
from dractl.explain.constraints import bound_labels, value_text, values_of
from dractl.explain.devices import attribute_words, shared_value
from dractl.explain.eligibility import PodReason, closed_words
from dractl.explain.judge import ATTRIBUTE_MISSING, MISMATCH
from dractl.explain.lifecycle import result_view
from dractl.explain.nearest import misses_of, near_views
from dractl.explain.nodes import (
    COMPETE,
    FEW,
    LIMIT,
    NO_ATTRIBUTE,
    NO_GROUP,
    NOT_DISTINCT,
    NOTHING,
    POOL,
    TAKEN,
    UNMATCHED,
    Blocker,
    drivers_of,
)
from dractl.explain.report import (
    AllocatorView,
    ConstraintGroup,
    ConstraintView,
    DeviceOnNode,
    GroupView,
    NodeVerdict,
    NodeView,
    PodOnNode,
    RefusalView,
    RequestView,
    StageView,
)
from dractl.explain.statements import code_counts, noun, scope_of
from dractl.explain.survey import visible_devices
from dractl.explain.terms import attribute_text
from dractl.explain.words import count, listing, natural, plural, ranges
from dractl.inventory import DeviceId
from dractl.kube.objects import Device

_VERDICTS: dict[str, NodeVerdict] = {
    "fits": "fits",
    "doesNotFit": "doesNotFit",
    "error": "error",
    "undecided": "undecided",
}
_VALUES_LIMIT = 200


def node_views(case: Case, detail: str | None = None) -> tuple[list[NodeView], list[GroupView]]:
    """All nodes and the groups they form; ``detail`` is the node to be shown device by device."""
    keys: dict[tuple[object, ...], list[NodeAnswer]] = {}
    for answer in case.nodes.values():
        keys.setdefault(_key(case, answer), []).append(answer)
    ordered = sorted(keys.values(), key=_rank)
    groups = [_group(case, members) for members in ordered]
    number = {answer.name: index for index, members in enumerate(ordered) for answer in members}
    views = []
    for answer in case.nodes.values():
        result = answer.result
        allocator = AllocatorView(
            _VERDICTS[answer.verdict],
            [result_view(one) for allocation in result.allocations for one in allocation.results]
            if result.allocations is not None
            else None,
            result.error,
        )
        pod = PodOnNode(answer.eligible, [reason.text for reason in answer.pod.reasons])
        devices = device_views(case, answer) if answer.name == detail else None
        views.append(NodeView(answer.name, allocator, pod, number[answer.name], devices))
    return views, groups


def _key(case: Case, answer: NodeAnswer) -> tuple[object, ...]:
    blockers = answer.reason.blockers if answer.verdict not in (FITS, ERROR) else ()
    error = answer.result.error if answer.verdict == ERROR else None
    # where no pod is known, what keeps most pods from a node is told with the nodes that fit
    closed = tuple(closed_words(answer.reason.facts.node)) if answer.verdict == FITS and not case.pods else ()
    return (answer.verdict, error, blockers, tuple(reason.shared for reason in answer.pod.reasons), closed)


def _rank(members: list[NodeAnswer]) -> tuple[object, ...]:
    first = members[0]
    order = {ERROR: 0, FITS: 1, "undecided": 2}.get(first.verdict, 3)
    depth = first.reason.depth if first.verdict != FITS else 0
    return (not first.eligible, order, -depth, -len(members), natural(first.name))


def _group(case: Case, members: list[NodeAnswer]) -> GroupView:
    first = members[0]
    nodes = [answer.name for answer in members]
    pod = listing([_pod_reason(reason, len(nodes)) for reason in first.pod.reasons], 4)
    if first.verdict == FITS:
        them = plural(len(nodes), "it", "them")
        reason = "fits" if first.eligible else f"fits, but the pod may not use {them}: {pod}"
        closed = [] if case.pods else closed_words(first.reason.facts.node)
        if closed:
            reason += f", but pods may not use {them} without more: {listing(closed, 4)}"
        return GroupView(len(nodes), reason, [], nodes, ranges(nodes, 5), "fits")
    if first.verdict == ERROR:
        reason = f"the allocator fails: {first.result.error}"
    elif first.verdict == "undecided":
        reason = first.result.error or "undecided"
    else:
        texts = [blocker_text(case, blocker, members) for blocker in first.reason.blockers]
        reason = "; ".join(texts) or "devices are free one by one, but the search does not find enough of them"
    if pod:
        reason += f"; besides, the pod may not use {plural(len(nodes), 'it', 'them')}: {pod}"
    return GroupView(len(nodes), reason, _refusals(case, nodes), nodes, ranges(nodes, 5), _VERDICTS[first.verdict])


def _pod_reason(reason: PodReason, nodes: int) -> str:
    return reason.text if nodes == 1 and reason.code == "node-resources" else reason.shared


def blocker_text(case: Case, blocker: Blocker, members: Sequence[NodeAnswer]) -> str:
    """A blocker of a group of nodes in short."""
    nodes = [answer.name for answer in members]
    if blocker.kind == COMPETE:
        labels = [case.survey.asks[case.reasons.units[unit][0]].label for unit in blocker.units]
        return f"{plural(len(labels), 'request')} {listing(labels, 4)} want more devices together than there are"
    if blocker.rule >= 0:
        rule = case.reasons.rules[blocker.rule]
        members_text = listing(bound_labels(rule, case.survey.asks), 4)
        words = attribute_words(rule.attribute)
        if blocker.kind == NO_GROUP and any(
            shared_value(case, rule, answer.reason.groups.get(blocker.rule)) for answer in members
        ):
            return f"no {words} has enough usable devices for {members_text}"
        return {
            NO_ATTRIBUTE: f"devices for {members_text} lack {rule.attribute}",
            NO_GROUP: f"usable devices for {members_text} never have the same {words}",
            NOT_DISTINCT: f"usable devices for {members_text} have too few different {words}",
        }[blocker.kind]
    scope = scope_of(case.survey, blocker.ask, nodes)
    ask = scope.ask
    name = noun(ask)
    if blocker.kind == LIMIT:
        return f"request {ask.label} asks for more than 32 devices"
    if blocker.kind == NOTHING:
        return f"no {name} of class {ask.spec.device_class_name} for request {ask.label}"
    if blocker.kind == POOL:
        drivers = drivers_of(case.survey, blocker.ask)
        pools = [pool for answer in members for pool in answer.reason.facts.pools if pool.driver in drivers]
        bad = [pool for pool in pools if not pool.usable]
        shown = [
            f"{pool} {f'is invalid ({pool.reason})' if pool.reason else f'has {pool.found} of {pool.expected} slices'}"
            for pool in bad[:3]
        ]
        return f"request {ask.label}: pool {listing(shown, 3)}, so its devices do not count"
    if blocker.kind == UNMATCHED:
        return f"none of {count(scope.in_class, name)} matches request {ask.label}"
    if blocker.kind == FEW:
        most = scope.most_matched[0]
        if len(nodes) == 1:
            return f"request {ask.label} needs {ask.count}, and {most} {_match(most)}"
        return (
            f"request {ask.label} needs {ask.count} on one node, and on none of these more than {most} {_match(most)}"
        )
    assert blocker.kind == TAKEN
    need = f" needs {ask.count}" if ask.count > 1 else ""
    matched = f"{count(len(scope.matched), name)} {_match(len(scope.matched))}"
    free = f", {scope.usable} free" if scope.usable else ""
    if free and ask.count > 1 and len(nodes) > 1:
        need += " on one node"
        free += f" (at most {scope.most_usable[0]} on one node)"
    return f"request {ask.label}{need}: {matched}, {code_counts(scope.codes)}{free}"


def _match(number: int) -> str:
    return "matches" if number == 1 else "match"


def _refusals(case: Case, nodes: Sequence[str]) -> list[RefusalView]:
    out: list[RefusalView] = []
    for index, ask in enumerate(case.survey.asks):
        total: Counter[str] = Counter()
        for name in nodes:
            total.update(case.survey.nodes[name].asks[index].refused)
        out.extend(RefusalView(ask.label, code, number) for code, number in total.most_common())
    return out


def device_views(case: Case, answer: NodeAnswer) -> list[DeviceOnNode]:
    """Every device of one node in the eyes of every request; other classes' devices last."""
    facts = answer.reason.facts
    taken = {
        (one.request, one.driver, one.pool, one.device)
        for allocation in answer.result.allocations or []
        for one in allocation.results
    }
    out: list[tuple[int, DeviceOnNode]] = []
    for pool in facts.pools:
        if not pool.usable:
            why = pool.reason or f"{pool.found} of {pool.expected} slices are there"
            refusal = "pool-invalid" if pool.reason else "pool-incomplete"
            out.append((1, DeviceOnNode("", f"{pool}", refusal, f"the whole pool does not count: {why}")))
    for index, ask in enumerate(case.survey.asks):
        for device_id, device in visible_devices(facts.node, facts.pools):
            judgement = case.survey.judgements[index].get(device_id)
            if judgement is None:
                continue
            code, text = judgement.code, judgement.text
            if code is None:
                code, text = _usable_text(case, index, device_id, device)
                if (ask.name, *device_id) in taken:
                    text = f"would be taken{text.removeprefix('is usable')}"
            order = 2 if code == "class-selector" else 0
            out.append((order, DeviceOnNode(ask.label, str(device_id), code, text)))
    return [view for _, view in sorted(out, key=lambda item: item[0])]


def _usable_text(case: Case, index: int, device_id: DeviceId, device: Device) -> tuple[str | None, str]:
    """A device that nothing of its own keeps from being taken: its values for the constraints on the request."""
    parts = []
    code = None
    for rule in case.reasons.rules:
        if index not in rule.asks:
            continue
        attribute = case.survey.attribute(index, device_id, device, rule.attribute)
        if attribute is None:
            code = ATTRIBUTE_MISSING
            parts.append(f"has no {rule.attribute}")
        else:
            parts.append(f"{rule.attribute.rpartition('/')[2]} {attribute_text(attribute.value)}")
    if code is not None:
        return code, ", ".join(parts)
    return None, ", ".join(["is usable", *parts])


# --- requests and constraints ---------------------------------------------------------------------------------------


def request_views(case: Case) -> list[RequestView]:
    """Every request or alternative with its funnel and its near misses."""
    out = []
    for index, ask in enumerate(case.survey.asks):
        view = RequestView(
            name=ask.label,
            class_=ask.spec.device_class_name,
            count=None if ask.all else ask.count,
            mode=ask.spec.allocation_mode or "ExactCount",
            admin_access=ask.admin,
        )
        if ask.device_class is None:
            view.notes.append(f"DeviceClass {ask.spec.device_class_name} does not exist")
        else:
            view.funnel = [*case.survey.funnel(index), *_last_stages(case, index)]
            matched = next(stage.devices for stage in view.funnel if stage.stage == "selectors")
            if not matched:
                view.nearest = near_views(case.survey, ask, misses_of(case.survey, index))
        out.append(view)
    return out


def _last_stages(case: Case, index: int) -> list[StageView]:
    """The constraints, and the nodes that the pods may use."""
    usable = {one.id: (one, facts.name) for facts in case.survey.nodes.values() for one in facts.asks[index].usable}
    stages = []
    bound = [(number, rule) for number, rule in enumerate(case.reasons.rules) if index in rule.asks]
    kept = set(usable)
    if bound:
        refused: Counter[str] = Counter()
        for device_id, (one, _) in usable.items():
            for _, rule in bound:
                attribute = case.survey.attribute(index, device_id, one.device, rule.attribute)
                if attribute is None:
                    refused[ATTRIBUTE_MISSING] += 1
                    kept.discard(device_id)
                    break
        fitting = {device for device in kept if _partners(case, index, device, bound)}
        if len(kept) > len(fitting):
            refused[MISMATCH] = len(kept) - len(fitting)
        kept = fitting
        stages.append(StageView("constraints", len(kept), dict(refused)))
    allowed = {answer.name for answer in case.eligible}
    if len(allowed) < len(case.nodes):
        inside = {device for device in kept if allowed.intersection(case.survey.nodes_of_device.get(device, ()))}
        fallen = len(kept) - len(inside)
        stages.append(StageView("pod", len(inside), {"pod-rules": fallen} if fallen else {}))
    return stages


def _partners(case: Case, index: int, device: object, bound: Sequence[tuple[int, object]]) -> bool:
    """Whether on some node of a device every constraint has, for its value, devices for the other requests."""
    for name in case.survey.nodes_of_device.get(device, ()):  # type: ignore[call-overload]
        groups = case.reasons.nodes[name].groups
        if all(number not in groups or _complete(case, index, device, number, name) for number, _ in bound) and any(
            number in groups for number, _ in bound
        ):
            return True
    return False


def _complete(case: Case, index: int, device: object, number: int, name: str) -> bool:
    rule = case.reasons.rules[number]
    if rule.distinct:
        return True
    for by_ask in case.reasons.nodes[name].groups[number].values.values():
        if any(one.id == device for one in by_ask.get(index, ())):
            units = [[one for one in unit if one in rule.asks] for unit in case.reasons.units]
            return all(
                any(len(by_ask.get(one, ())) >= case.survey.asks[one].count for one in unit) for unit in units if unit
            )
    return False


def constraint_views(case: Case) -> list[ConstraintView]:
    """Every constraint with its values: on which node how many usable devices of each request carry it."""
    out = []
    for rule in case.reasons.rules:
        labels = [case.survey.asks[index].label for index in rule.asks]
        kind = "distinctAttribute" if rule.distinct else "matchAttribute"
        word = "different" if rule.distinct else "same"
        view = ConstraintView(rule.index, kind, rule.attribute, labels)
        view.text = f"constraint   {word} {rule.attribute} for {listing(bound_labels(rule, case.survey.asks), 6)}"
        lists = case.profile.features.list_type_attributes
        missing: Counter[str] = Counter()
        groups: list[tuple[int, ConstraintGroup]] = []
        allowed = {answer.name for answer in case.eligible}
        for name, answer in case.nodes.items():
            found: dict[tuple[str, object], Counter[str]] = {}
            for index in rule.asks:
                label = case.survey.asks[index].label
                for one in answer.reason.facts.asks[index].usable:
                    attribute = case.survey.attribute(index, one.id, one.device, rule.attribute)
                    values = values_of(attribute, lists) if attribute is not None else []
                    if not values:
                        missing[label] += 1
                    for value in values:
                        found.setdefault(value, Counter())[label] += 1
            for value, numbers in found.items():
                free = {label: numbers[label] for label in dict.fromkeys(labels)}
                short = sum(1 for label in free if not free[label])
                order = short + (0 if name in allowed else 2 * len(free))
                groups.append((order, ConstraintGroup(value_text(value), free, name)))
        groups.sort(key=lambda item: (item[0], natural(item[1].node or ""), natural(item[1].value)))
        view.groups = [group for _, group in groups[:_VALUES_LIMIT]]
        view.missing = dict(missing)
        if missing:
            lacking = [f"{number} usable {plural(number, 'device')} of {label}" for label, number in missing.items()]
            view.text += f" (missing on {listing(lacking, 4)})"
        out.append(view)
    return out
