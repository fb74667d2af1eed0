"""Why a unit finds no place: the first sentence that ``explain`` would say; on large clusters a shorter account."""

from __future__ import annotations

from collections import Counter

from dractl.allocator.allocator import NodeResult
from dractl.explain.answer import Answer
from dractl.explain.case import Case
from dractl.explain.pending import explain_devices
from dractl.explain.words import count
from dractl.inventory import Inventory, Release, key_of
from dractl.kube.objects import KubeObject
from dractl.simulate.cluster import Cluster, Unit

_EXPLAINED = 400
"""Up to so many nodes the sentence of ``explain`` is made."""


class Reasoner:
    """Gives the reasons on one growing cluster; units alike that follow each other are explained once."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self._told: dict[tuple[object, ...], str] = {}

    def why_not(self, unit: Unit, results: dict[str, NodeResult]) -> str:
        """Why a unit does not fit, given the answers on the nodes that it may use."""
        key = (self.cluster.steps, unit.asks, _rules(unit), tuple(str(key_of(one)) for one in unit.held))
        if key in self._told:
            return f"as {self._told[key]}"
        self._told[key] = unit.name
        if len(self.cluster.nodes) <= _EXPLAINED:
            return self._explained(unit)
        if not results:
            return self._kept_off(unit)
        return _lacking(self.cluster.one_of_each(unit, results), len(results))

    def why_error(self, unit: Unit, node: str) -> str:
        """What the error is that the allocator ends with, on a node and by that on all."""
        if len(self.cluster.nodes) <= _EXPLAINED:
            return self._explained(unit)
        error = self.cluster.again(unit, node).error
        return f"{error} (on {node}; it ends the attempt on all nodes)"

    def _explained(self, unit: Unit) -> str:
        cluster = self.cluster
        version = cluster.profile.version
        release = Release(f"{version[0]}.{version[1]}", ".".join(map(str, version)), "given")
        pods = [unit.pod] if unit.pod is not None else []
        case = Case(_grown(cluster), release, cluster.profile, unit.claims, pods, unit.held, limits=cluster.limits)
        answer = Answer()
        explain_devices(case, answer)
        text = answer.summary.rstrip(".")
        return text[0].lower() + text[1:] if text.split(" ", 1)[0].isalpha() else text

    def _kept_off(self, unit: Unit) -> str:
        """Why a pod may use no node: the commonest rules of its nodes."""
        counts: Counter[str] = Counter()
        for node in self.cluster.nodes:
            if unit.pod is not None:
                counts.update(item.shared for item in self.cluster.reasons(unit.pod, node))
        rules = [f"{text} ({count(number, 'node')})" for text, number in counts.most_common(3)]
        return f"its pod may use no node: {', '.join(rules)}" if rules else "its pod may use no node"


def _rules(unit: Unit) -> str:
    pod = unit.pod
    if pod is None:
        return ""
    parts = (pod.node_selector, pod.node_affinity_required, pod.affinity, pod.tolerations, pod.containers, pod.overhead)
    return repr((pod.node_name, *parts))


def _grown(cluster: Cluster) -> Inventory:
    """The cluster's inventory with what was placed on it."""
    fresh: list[KubeObject] = [*cluster.taken, *cluster.placed]
    names = {(type(item), key_of(item)) for item in fresh}
    kept = [item for item in cluster.inventory.objects if (type(item), key_of(item)) not in names]
    return Inventory([*kept, *fresh], cluster.inventory.provenance)


def _lacking(results: list[NodeResult], nodes: int) -> str:
    """What the nodes lack, from the account of the search on one of each kind of nodes."""
    most: dict[str, int] = {}
    wanted: dict[str, int] = {}
    for result in results:
        trace = result.trace
        for item in trace.requests if trace is not None else ():
            most[item.request] = max(most.get(item.request, 0), len(item.free))
            wanted[item.request] = item.needed
    short = [name for name, number in most.items() if number < wanted[name]]
    if nodes == 1:
        parts = [
            f"request {name} needs {wanted[name]}, and {results[0].node} has {most[name]} usable" for name in short
        ]
    else:
        parts = [
            f"request {name} needs {count(wanted[name], 'device')} on one node, and none of the {nodes:,} nodes that "
            f"it may use has {f'more than {most[name]} usable' if most[name] else 'a usable one'}"
            for name in short
        ]
    return "; ".join(parts) or "no combination of the devices of one node satisfies all requests and constraints"
