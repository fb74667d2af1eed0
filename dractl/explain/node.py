"""``explain node``: what a node has, who has it, and which pending claims it could serve."""

from __future__ import annotations

from dractl.explain.case import Case
from dractl.explain.claim import Question, check_node
from dractl.explain.device import pending_claims, state_of
from dractl.explain.eligibility import taint_text
from dractl.explain.holders import Held, holder_views
from dractl.explain.lifecycle import users_of, waiting
from dractl.explain.reports import AskView, DriverOnNode, NodeExplanation
from dractl.explain.survey import NodeFacts, Survey, visible_devices
from dractl.explain.views import blocker_text
from dractl.explain.words import count, listing, natural, noun_for, plural, sentence
from dractl.inventory import DeviceId, key_of
from dractl.kube.objects import Node


def explain_node(question: Question, name: str) -> NodeExplanation:
    """Explain a node.

    Raises:
        DractlError: if there is no such node.
    """
    check_node(Question(question.inventory, question.release, question.profile, question.now, name))
    survey = Survey(question.inventory, question.profile, [], only=frozenset({name}))
    facts = survey.nodes[name]
    report = NodeExplanation(name, "", drivers=_drivers(survey, facts))
    report.holders = holder_views(question.inventory, _held(survey, facts), question.now)
    told = [_overview(report), *_state_of(facts.node), *_pools(facts)]
    fitting = _claims(question, name, report)
    if fitting:
        told.append(f"of the pending claims {listing(fitting, 6)} would fit here")
    elif report.claims:
        told.append(f"none of the {count(len({one.claim for one in report.claims}), 'pending claim')} fits here")
    report.summary, report.details = sentence(told[0]), [sentence(text) for text in told[1:]]
    return report


def _drivers(survey: Survey, facts: NodeFacts) -> list[DriverOnNode]:
    out: dict[str, DriverOnNode] = {}
    for pool in facts.pools:
        entry = out.setdefault(pool.driver, DriverOnNode(pool.driver, 0, 0, 0, 0, 0))
        why = "" if pool.usable else f" ({pool.reason or f'{pool.found} of {pool.expected} slices'})"
        entry.pools.append(f"{pool.name}{why}")
    for device_id, device in visible_devices(facts.node, facts.pools):
        entry = out[device_id.driver]
        entry.devices += 1
        state = state_of(survey, device_id, device)
        if state in ("used", "shared"):
            entry.used += 1
        elif state == "tainted":
            entry.tainted += 1
        elif state == "blocked":
            entry.blocked += 1
        else:
            entry.free += 1
    return [out[driver] for driver in sorted(out)]


def _overview(report: NodeExplanation) -> str:
    if not report.drivers:
        return f"node {report.node} sees no devices: no driver publishes a slice for it"
    return f"node {report.node} sees {listing([_driver_text(one) for one in report.drivers], 6)}"


def _driver_text(one: DriverOnNode) -> str:
    """``8 GPUs (gpu.nvidia.com: 5 free, 3 in use)``."""
    devices = count(one.devices, noun_for(one.driver))
    states = {"free": one.free, "in use": one.used, "tainted": one.tainted, "blocked by others": one.blocked}
    there = {state: number for state, number in states.items() if number}
    if not there:
        return f"{devices} that can be used ({one.driver})"
    only = next(iter(there))
    text = f"all {only}" if len(there) == 1 else ", ".join(f"{number} {state}" for state, number in there.items())
    return f"{devices} ({one.driver}: {text})"


def _state_of(node: Node) -> list[str]:
    out = []
    if node.unschedulable:
        out.append("it is cordoned: pods that do not tolerate that are not placed on it")
    taints = [taint_text(one) for one in node.taints if one.effect in ("NoSchedule", "NoExecute")]
    if taints:
        out.append(f"it has the {plural(len(taints), 'taint')} {listing(taints, 4)}")
    for condition in node.conditions:
        if condition.type == "Ready" and condition.status != "True":
            out.append(f"it is not ready ({': '.join(one for one in (condition.reason, condition.message) if one)})")
    return out


def _pools(facts: NodeFacts) -> list[str]:
    out = []
    for pool in facts.pools:
        if not pool.usable:
            why = f"is invalid ({pool.reason})" if pool.reason else f"has {pool.found} of {pool.expected} slices"
            out.append(f"pool {pool} {why}, so its devices do not count, and claims for all devices fail here")
    return out


def _held(survey: Survey, facts: NodeFacts) -> list[Held]:
    found: dict[object, Held] = {}
    for device_id, _ in visible_devices(facts.node, facts.pools):
        for holder in survey.judge.room.holders_of(device_id):
            held = found.setdefault(key_of(holder.claim), Held(holder.claim, shared=bool(holder.result.share_id)))
            held.devices.append(DeviceId(*device_id))
            held.pods = users_of(survey.inventory, holder.claim)
    return sorted(found.values(), key=lambda one: natural(one.name))


def _claims(question: Question, name: str, report: NodeExplanation) -> list[str]:
    """The pending claims in the eyes of the node; the names of those that fit."""
    fitting = []
    inventory = question.inventory
    for claim in pending_claims(inventory):
        pods = waiting(users_of(inventory, claim))
        case = Case(
            inventory, question.release, question.profile, [claim], pods, limits=question.limits, only=frozenset({name})
        )
        answer = case.nodes[name]
        key = str(key_of(claim))
        if answer.verdict == "fits" and answer.eligible:
            fitting.append(key)
            report.claims.append(AskView(key, "", None, "fits"))
            continue
        if answer.verdict == "fits":
            text = f"fits, but its pod may not use the node: {listing([one.text for one in answer.pod.reasons], 4)}"
            report.claims.append(AskView(key, "", answer.pod.reasons[0].code, text))
        elif answer.verdict == "error":
            report.claims.append(AskView(key, "", "error", f"the allocator fails: {answer.result.error}"))
        else:
            texts = [blocker_text(case, one, [answer]) for one in answer.reason.blockers]
            code = answer.reason.blockers[0].kind if answer.reason.blockers else "search"
            report.claims.append(AskView(key, "", code, "; ".join(texts) or "does not fit"))
    return fitting
