"""The pod's side of the answer: nodes that it may not use, gates, a node set by hand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from dractl.explain.answer import Answer
from dractl.explain.case import Case, NodeAnswer
from dractl.explain.devices import statements
from dractl.explain.words import count, listing, natural, plural, ranges
from dractl.inventory import Inventory, key_of
from dractl.kube.names import is_extended_resource
from dractl.kube.objects import Node, Pod
from dractl.rules import allocation as rules
from dractl.rules import lifecycle
from dractl.rules.finding import ObjectRef


def pods_text(pods: Sequence[Pod]) -> str:
    """``pod ml/a`` or ``pods ml/a and ml/b``."""
    return f"{plural(len(pods), 'pod')} {listing([str(key_of(pod)) for pod in pods], 3)}"


def reasons_text(answers: Sequence[NodeAnswer], limit: int = 4) -> str:
    """Why the pods may not use some nodes, the commonest reasons first, with the nodes of each."""
    by_reason: dict[str, list[str]] = {}
    for answer in answers:
        for reason in answer.pod.reasons:
            # with values where only one node is meant
            by_reason.setdefault(reason.shared if len(answers) > 1 else reason.text, []).append(answer.name)
    ranked = sorted(by_reason.items(), key=lambda item: (-len(item[1]), item[0]))
    parts = []
    for words, nodes in ranked[:limit]:
        parts.append(words if len(nodes) == len(answers) else f"{words} ({ranges(nodes, 4)})")
    return listing(parts, limit)


def rule_text(case: Case) -> str:
    """The pods' own rules in short: node selectors, affinity, nodeName."""
    rules_of = dict.fromkeys(
        reason.shared
        for answer in case.nodes.values()
        for reason in answer.pod.reasons
        if reason.code in ("node-selector", "node-affinity", "node-name", "claim")
    )
    return listing(rules_of, 4)


def closed_text(case: Case) -> str:
    """What keeps pods from the other nodes: ``6 others are cordoned, 1 has the node taint a=b:NoSchedule``."""
    counts: Counter[tuple[str, str]] = Counter()
    for answer in case.nodes.values():
        for reason in answer.pod.reasons[:1]:
            counts[reason.code, reason.shared] += 1
    parts = []
    for number, ((code, shared), times) in enumerate(counts.most_common(3)):
        other = f" {plural(times, 'other')}" if number == 0 else ""
        if code == "cordoned":
            parts.append(f"{times:,}{other} {plural(times, 'is')} cordoned")
        elif code == "node-taint":
            parts.append(f"{times:,}{other} {plural(times, 'has', 'have')} the {shared}")
        else:
            parts.append(f"on {times:,}{other}: {shared}")
    return listing(parts, 3)


def no_node_left(case: Case, answer: Answer) -> None:
    """The pods may use no node at all."""
    pods = pods_text(case.pods)
    _unknown_labels(case, answer)
    excluded = list(case.nodes.values())
    text = f"{pods} may use none of the {count(len(excluded), 'node')}: {reasons_text(excluded)}"
    if len(excluded) == 1:
        text = f"{pods} may not use the only node, {excluded[0].name}: {reasons_text(excluded)}"
    answer.say(text if excluded else f"there is no node that {pods} could use")
    fitting = case.fitting(eligible=False)
    if fitting:
        names = ranges([one.name for one in fitting], 5)
        text = f"by its devices the claim would fit on {names}"
        answer.say(text)
        _find_pod_may_not(case, answer, text)
    _way_to(case, answer, fitting or excluded)


def _unknown_labels(case: Case, answer: Answer) -> None:
    """A node selector that no node satisfies."""
    nodes = case.inventory.nodes.values()
    for pod in case.pods:
        for key, value in pod.node_selector.items():
            if not nodes or any(node.meta.labels.get(key) == value for node in nodes):
                continue
            known = sorted({node.meta.labels[key] for node in nodes if key in node.meta.labels}, key=natural)
            there = f"the values there are {listing(known, 6)}" if known else "no node has that label at all"
            text = f"pod {key_of(pod)} requires {key}={value} (nodeSelector), and no node has that; {there}"
            answer.say(text)
            answer.find(rules.NO_NODE_HAS_LABEL.finding(text, ObjectRef("Pod", pod.meta.name, pod.meta.namespace)))
            answer.advise(f"correct the nodeSelector of pod {key_of(pod)}, or add a node with {key}={value}")


def _find_pod_may_not(case: Case, answer: Answer, text: str) -> None:
    pod = case.pods[0].meta if case.pods else None
    answer.find(rules.POD_MAY_NOT.finding(text, ObjectRef("Pod", pod.name, pod.namespace) if pod else None))


def fits_elsewhere(case: Case, answer: Answer) -> None:
    """Say where the claim would fit although its pods may not go there."""
    fitting = case.fitting(eligible=False)
    if not fitting:
        return
    names = ranges([one.name for one in fitting], 5)
    text = f"the claim would fit on {names}, which its pod may not use ({reasons_text(fitting)})"
    answer.say(text)
    _find_pod_may_not(case, answer, text)
    _way_to(case, answer, fitting)


def _way_to(case: Case, answer: Answer, nodes: Sequence[NodeAnswer]) -> None:
    """What opens nodes that only the pods' own rules or room close, beyond what changes of rules can do."""
    codes = {reason.code for node in nodes for reason in node.pod.reasons}
    names = ranges(sorted((node.name for node in nodes), key=natural), 4)
    if codes == {"node-resources"}:
        keys = listing(dict.fromkeys(reason.key for node in nodes for reason in node.pod.reasons), 3)
        answer.advise(
            f"make room for {keys} on {names} (end or move pods there), or let {pods_text(case.pods)} ask for less"
        )
    for key in dict.fromkeys(
        reason.key for node in nodes for reason in node.pod.reasons if reason.code == "node-taint"
    ):
        if is_extended_resource(key):
            answer.say(
                f"a pod that asks for an extended resource {key} is given the toleration for a taint of that name by "
                "the admission plugin ExtendedResourceToleration, a pod with claims is not: it has to bring its own"
            )
    for node in nodes[:3]:
        known = case.inventory.nodes.get(node.name)
        why = not_ready(known) if known is not None else None
        if why is not None:
            answer.say(f"{node.name} is not ready ({why})")
            answer.advise(f"bring {node.name} back: no pod is placed there before it is ready")


def gates(inventory: Inventory, pods: Sequence[Pod], answer: Answer, classes: Sequence[str] = ()) -> bool:
    """Say which scheduling gates hold pods back; whether there are any. ``classes`` are those of the pods' claims."""
    named = f"class {listing(classes, 3)} is" if classes else "the classes of its claims are"
    gated = [pod for pod in pods if pod.scheduling_gates]
    for pod in gated:
        names = listing(pod.scheduling_gates, 4)
        text = (
            f"pod {key_of(pod)} carries the scheduling {plural(len(pod.scheduling_gates), 'gate')} {names}, so the "
            "scheduler does not look at it (condition SchedulingGated)"
        )
        answer.say(text)
        answer.find(lifecycle.SCHEDULING_GATED.finding(text, ObjectRef("Pod", pod.meta.name, pod.meta.namespace)))
        for gate in pod.scheduling_gates:
            if gate.startswith("kueue.x-k8s.io/"):
                queue = pod.meta.labels.get("kueue.x-k8s.io/queue-name")
                where = f" in queue {queue}" if queue else ""
                answer.advise(
                    f"look at Kueue: its Workload for pod {key_of(pod)}{where} says why it is not admitted (quota, or "
                    f"{named} not mapped to a quota resource)"
                )
            else:
                answer.advise(f"ask whoever sets the gate {gate} why it is still on pod {key_of(pod)}")
    return bool(gated)


def placed_by_hand(case: Case, answer: Answer, pods: Sequence[Pod]) -> None:
    """Pods that sit on a node although their claim is not allocated."""
    for pod in pods:
        node = case.nodes.get(pod.node_name)
        claim = case.claims[0]
        text = (
            f"claim {key_of(claim)} is not allocated, although pod {key_of(pod)} already sits on {pod.node_name}: a "
            "scheduler that knows claims allocates them before it binds a pod, so the pod got its node past it "
            "(spec.nodeName set by hand, or by a scheduler without DRA), and nobody else allocates"
        )
        answer.say(text)
        answer.say("the claim controller only reserves a claim that is allocated already")
        answer.find(lifecycle.PLACED_PAST_SCHEDULER.finding(text, ObjectRef("Pod", pod.meta.name, pod.meta.namespace)))
        if node is not None and node.verdict == "fits" and node.result.allocations:
            devices = [one.device for allocation in node.result.allocations for one in allocation.results]
            verb = plural(len(devices), "is")
            answer.say(f"by its devices the claim would fit on {pod.node_name} ({listing(devices, 6)} {verb} free)")
        elif node is not None:
            found = statements(case, [node], f" on {pod.node_name}")
            why = f": {found[0].text}" if found else ""
            answer.say(f"by its devices the claim would not fit on {pod.node_name} now{why}")
        answer.advise(
            f"delete pod {key_of(pod)} and create it without nodeName, with a nodeSelector kubernetes.io/hostname: "
            f"{pod.node_name} (or node affinity) instead, so that the scheduler places it and allocates the claim"
        )


def not_ready(node: Node) -> str | None:
    """Why a node is not ready; None if it is, or does not say."""
    ready = next((one for one in node.conditions if one.type == "Ready"), None)
    if ready is None or ready.status == "True":
        return None
    return ": ".join(part for part in (ready.reason, ready.message) if part) or "Ready is not True"
