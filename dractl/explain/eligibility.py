"""Which nodes a pod may use, devices aside: cordons, node taints, node selector, node affinity, nodeName, gates, room.

The rules are those of kube-scheduler's own filters (NodeUnschedulable, NodeName, TaintToleration, NodeAffinity and
NodeResourcesFit); InterPodAffinity is in ``neighbours``. Topology spread and volumes are not judged; ``unjudged`` says
so.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from dractl.kube.node_selector import NodeSelectorError, matches
from dractl.kube.objects import Meta, Node, NodeRequirement, NodeSelector, NodeSelectorTerm, Pod, Taint, Toleration
from dractl.kube.quantity import Quantity

_UNSCHEDULABLE = Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")


@dataclass(slots=True)
class PodReason:
    """One reason why a pod may not use a node.

    ``code`` is stable: ``cordoned``, ``node-name``, ``node-taint``, ``node-selector``, ``node-affinity``,
    ``node-resources``, ``pod-affinity``, ``pod-anti-affinity``. ``text`` names the values; ``shared`` is the text
    without what only this node has.
    """

    code: str
    text: str
    shared: str
    key: str = ""


@dataclass(slots=True)
class Eligibility:
    """Whether a pod may use a node, and why not."""

    eligible: bool
    reasons: list[PodReason] = field(default_factory=list)


def pod_on_node(pod: Pod, node: Node, used: Mapping[str, Quantity] | None = None) -> Eligibility:
    """Judge one pod on one node. ``used`` is what other pods on the node are known to request (see ``requested``)."""
    reasons: list[PodReason] = []
    if pod.node_name and pod.node_name != node.meta.name:
        reasons.append(PodReason("node-name", f"the pod is on {pod.node_name}", f"the pod is on {pod.node_name}"))
    if node.unschedulable and not tolerated(_UNSCHEDULABLE, pod.tolerations):
        reasons.append(PodReason("cordoned", "cordoned", "cordoned"))
    for taint in node.taints:
        if _is_cordon(taint) and node.unschedulable:
            continue
        if taint.effect in ("NoSchedule", "NoExecute") and not tolerated(taint, pod.tolerations):
            text = f"node taint {taint_text(taint)}"
            reasons.append(PodReason("node-taint", text, text, taint.key))
    reasons.extend(_selector_reasons(pod, node))
    reasons.extend(_room_reasons(pod, node, used))
    return Eligibility(not reasons, reasons)


def closed_words(node: Node) -> list[str]:
    """What keeps pods from a node that tolerate nothing: a cordon, taints."""
    reasons = pod_on_node(Pod(Meta()), node).reasons
    return [reason.text for reason in reasons if reason.code in ("cordoned", "node-taint")]


def unjudged(pod: Pod) -> list[str]:
    """The parts of a pod's placement that this module does not judge, in the words of the pod's fields."""
    hard = [one for one in pod.topology_spread_constraints if one.get("whenUnsatisfiable") != "ScheduleAnyway"]
    return ["topology spread"] if hard else []


def taint_text(taint: Taint) -> str:
    """A taint as kubectl writes it: ``key=value:Effect``."""
    return f"{taint.key}={taint.value}:{taint.effect}" if taint.value else f"{taint.key}:{taint.effect}"


def tolerated(taint: Taint, tolerations: Iterable[Toleration]) -> bool:
    """Whether one of the tolerations fits the taint (core/v1 ``Toleration.ToleratesTaint``)."""
    return any(tolerates(one, taint) for one in tolerations)


def tolerates(toleration: Toleration, taint: Taint) -> bool:
    """Whether a pod's toleration fits a node's taint."""
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    if toleration.operator in ("", "Equal"):
        return toleration.value == taint.value
    return toleration.operator == "Exists"


def _is_cordon(taint: Taint) -> bool:
    return taint.key == _UNSCHEDULABLE.key and taint.effect == _UNSCHEDULABLE.effect


def _selector_reasons(pod: Pod, node: Node) -> list[PodReason]:
    reasons = []
    labels = node.meta.labels
    for key, value in pod.node_selector.items():
        if labels.get(key) != value:
            has = f"{key}={labels[key]}" if key in labels else f"no label {key}"
            shared = f"nodeSelector {key}={value}"
            reasons.append(PodReason("node-selector", f"{shared}, the node has {has}", shared, f"{key}={value}"))
    affinity = pod.node_affinity_required
    if affinity is not None and not fits(affinity, node):
        shared = f"required node affinity {affinity_text(affinity.terms)}"
        found = [
            f"{key}={labels[key]}" if key in labels else f"no label {key}" for key in _affinity_keys(affinity.terms)
        ]
        text = f"{shared}, the node has {', '.join(found)}" if found else shared
        reasons.append(PodReason("node-affinity", text, shared, shared))
    return reasons


def _affinity_keys(terms: list[NodeSelectorTerm]) -> list[str]:
    return list(dict.fromkeys(one.key for term in terms for one in term.match_expressions))


def affinity_text(terms: list[NodeSelectorTerm]) -> str:
    """Node selector terms in one line: ``zone In [a, b] and gpu Exists, or name In [n1]``."""
    return ", or ".join(
        " and ".join(requirement_text(one) for one in [*term.match_expressions, *term.match_fields]) or "(empty term)"
        for term in terms
    )


def requirement_text(requirement: NodeRequirement) -> str:
    """One requirement: ``zone In [a, b]``."""
    if requirement.operator in ("Exists", "DoesNotExist"):
        return f"{requirement.key} {requirement.operator}"
    return f"{requirement.key} {requirement.operator} [{', '.join(requirement.values)}]"


def fits(selector: NodeSelector, node: Node) -> bool:
    """Whether a node fits a node selector; one that cannot be evaluated fits nothing."""
    try:
        return matches(selector, node.meta.name, node.meta.labels)
    except NodeSelectorError:
        return False


# --- room for the pod's ordinary resources --------------------------------------------------------------------------


def requested(pod: Pod) -> dict[str, Quantity]:
    """What a pod requests of a node: its containers and sidecars, or its largest init container, and overhead."""
    total: dict[str, Quantity] = {}
    peak: dict[str, Quantity] = {}
    sidecars: dict[str, Quantity] = {}
    for container in pod.containers:
        if not container.init:
            _add(total, container.requests)
        elif container.restart_policy == "Always":
            _add(total, container.requests)
            _add(sidecars, container.requests)
        else:
            step = dict(sidecars)
            _add(step, container.requests)
            for name, amount in step.items():
                if name not in peak or peak[name] < amount:
                    peak[name] = amount
    for name, amount in peak.items():
        if name not in total or total[name] < amount:
            total[name] = amount
    _add(total, pod.overhead)
    return total


def used_on_nodes(pods: Iterable[Pod]) -> dict[str, dict[str, Quantity]]:
    """What the pods that are placed and not finished request, by node. Pods count under ``pods``."""
    used: dict[str, dict[str, Quantity]] = {}
    one = Quantity.of(1)
    for pod in pods:
        if pod.node_name and pod.phase not in ("Succeeded", "Failed"):
            node = used.setdefault(pod.node_name, {})
            _add(node, requested(pod))
            _add(node, {"pods": one})
    return used


def _room_reasons(pod: Pod, node: Node, used: Mapping[str, Quantity] | None) -> list[PodReason]:
    """What cannot fit: native resources, and extended ones that the node advertises itself (on the others devices of a
    class may serve them). Other pods that the snapshot does not hold can only make it worse.
    """
    if pod.node_name:
        return []
    taken = used or {}
    reasons = []
    wanted = {**requested(pod), "pods": Quantity.of(1)}
    for name, amount in wanted.items():
        room = node.allocatable.get(name)
        if room is None or amount.nano == 0 or ("/" in name and room.nano == 0):
            continue
        busy = taken.get(name, Quantity.of(0))
        if busy + amount > room:
            shared = f"not enough {name}" if name != "pods" else "no room for another pod"
            text = f"{shared} (the pod asks for {amount}, and {busy} of {room} are requested already)"
            reasons.append(PodReason("node-resources", text, shared, name))
    return reasons


def _add(total: dict[str, Quantity], more: Mapping[str, Quantity]) -> None:
    for name, amount in more.items():
        total[name] = total[name] + amount if name in total else amount
