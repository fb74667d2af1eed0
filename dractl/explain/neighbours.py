"""Required pod affinity and anti-affinity: which nodes other pods open or close to a pod.

The rules are those of kube-scheduler's filter InterPodAffinity. ``matchLabelKeys`` needs no care: the API server has
merged them into the label selector when it stored the pod.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from dractl.explain.eligibility import PodReason
from dractl.explain.words import listing, natural
from dractl.inventory import Inventory, key_of
from dractl.kube.objects import Node, Pod

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


@dataclass(frozen=True, slots=True)
class _Term:
    """One required term: which pods it is about, and within what (a node label)."""

    owner: Pod
    selector: dict[str, Any] | None
    namespaces: frozenset[str] | None
    """None for all namespaces."""
    topology_key: str

    def about(self, pod: Pod) -> bool:
        """Whether the term is about a pod."""
        if self.namespaces is not None and pod.meta.namespace not in self.namespaces:
            return False
        return self.selector is not None and selects(self.selector, pod.meta.labels)

    def words(self) -> str:
        """The pods meant, as a selector is written: ``app=web``."""
        return selector_text(self.selector or {})


@dataclass(slots=True)
class _Rule:
    """One term as a pod meets it: the places (values of the topology key) where the pods that count are."""

    code: str
    words: str
    topology_key: str
    places: dict[str, list[Pod]]

    def reason(self, node: Node) -> PodReason | None:
        """Why the rule keeps the pod from a node; None if it does not."""
        value = node.meta.labels.get(self.topology_key)
        near = self.places.get(value, []) if value is not None else []
        if self.code == "pod-anti-affinity":
            if not near:
                return None
            names = listing([str(key_of(one)) for one in near], 3)
            return PodReason(self.code, f"{self.words}, and {names} is there", self.words, self.topology_key)
        return None if near else PodReason(self.code, self.words, self.words, self.topology_key)


@dataclass(slots=True)
class Neighbours:
    """The pods that are placed, as far as (anti-)affinity is concerned."""

    inventory: Inventory
    placed: list[Pod] = field(default_factory=list)
    repelling: list[_Term] = field(default_factory=list)
    """Required anti-affinity of placed pods: it keeps others away as well."""
    _rules: dict[int, list[_Rule]] = field(default_factory=dict)

    @classmethod
    def of(cls, inventory: Inventory) -> Neighbours:
        """The placed pods of an inventory that are not finished."""
        placed = [pod for pod in inventory.pods.values() if pod.node_name and pod.phase not in ("Succeeded", "Failed")]
        found = cls(inventory, placed)
        found.repelling = [term for pod in placed for term in found._terms(pod, "podAntiAffinity")]
        return found

    def with_pod(self, pod: Pod) -> Neighbours:
        """The same with one more pod in its place."""
        terms = self._terms(pod, "podAntiAffinity")
        return Neighbours(self.inventory, [*self.placed, pod], [*self.repelling, *terms])

    def reasons(self, pod: Pod, node: Node) -> list[PodReason]:
        """Why the neighbours keep a pod from a node."""
        if pod.node_name:
            return []
        if id(pod) not in self._rules:
            self._rules[id(pod)] = [*self._repulsion(pod), *self._attraction(pod)]
        reasons = (rule.reason(node) for rule in self._rules[id(pod)])
        return [reason for reason in reasons if reason is not None]

    def _repulsion(self, pod: Pod) -> Iterable[_Rule]:
        own = self._terms(pod, "podAntiAffinity")
        for term in own:
            near = [one for one in self.placed if term.about(one)]
            words = f"required pod anti-affinity to {term.words()} within {term.topology_key}"
            yield _Rule("pod-anti-affinity", words, term.topology_key, self._places(near, term))
        for term in self.repelling:
            alike = any(one.topology_key == term.topology_key and one.about(term.owner) for one in own)
            if term.about(pod) and not alike:
                words = f"required pod anti-affinity of {key_of(term.owner)} to {term.words()}"
                yield _Rule("pod-anti-affinity", words, term.topology_key, self._places([term.owner], term))

    def _attraction(self, pod: Pod) -> Iterable[_Rule]:
        terms = self._terms(pod, "podAffinity")
        if not terms or "Pod" in self.inventory.provenance.unseen:
            return
        wanted = [one for one in self.placed if all(term.about(one) for term in terms)]
        if not wanted and all(term.about(pod) for term in terms):
            return  # the first of a group that wants to be together may go anywhere
        for term in terms:
            there = sorted({one.node_name for one in wanted}, key=natural)
            where = f" (such pods are on {listing(there, 3)})" if there else " (there is none)"
            words = f"required pod affinity to {term.words()} within {term.topology_key}{where}"
            yield _Rule("pod-affinity", words, term.topology_key, self._places(wanted, term))

    def _places(self, pods: Iterable[Pod], term: _Term) -> dict[str, list[Pod]]:
        places: dict[str, list[Pod]] = {}
        for pod in pods:
            node = self.inventory.nodes.get(pod.node_name)
            value = node.meta.labels.get(term.topology_key) if node is not None else None
            if value is not None:
                places.setdefault(value, []).append(pod)
        return places

    def _terms(self, pod: Pod, kind: str) -> list[_Term]:
        part = pod.affinity.get(kind)
        items = part.get(_REQUIRED) if isinstance(part, dict) else None
        return [
            _Term(pod, _mapping(item.get("labelSelector")), self._namespaces(pod, item), str(item.get("topologyKey")))
            for item in items or []
            if isinstance(item, dict)
        ]

    def _namespaces(self, pod: Pod, item: dict[str, Any]) -> frozenset[str] | None:
        named = [str(one) for one in item.get("namespaces") or []]
        chosen = _mapping(item.get("namespaceSelector"))
        if chosen is None:
            return frozenset(named or [pod.meta.namespace])
        if not chosen:
            return None
        known = self.inventory.namespaces.values()
        return frozenset([*named, *(one.meta.name for one in known if selects(chosen, one.meta.labels))])


def _mapping(value: object) -> dict[str, Any] | None:
    return value if isinstance(value, dict) else None


def selects(selector: dict[str, Any], labels: dict[str, str]) -> bool:
    """Whether a label selector (``matchLabels``, ``matchExpressions``) selects labels; an empty one selects all."""
    if any(labels.get(key) != value for key, value in (selector.get("matchLabels") or {}).items()):
        return False
    return all(_requirement(one, labels) for one in selector.get("matchExpressions") or [])


def _requirement(one: dict[str, Any], labels: dict[str, str]) -> bool:
    key, operator, values = str(one.get("key")), one.get("operator"), one.get("values") or []
    if operator == "Exists":
        return key in labels
    if operator == "DoesNotExist":
        return key not in labels
    if operator == "NotIn":
        return labels.get(key) not in values
    return operator == "In" and labels.get(key) in values


def selector_text(selector: dict[str, Any]) -> str:
    """A label selector in one line: ``app=web and tier In [a, b]``; ``any pod`` for an empty one."""
    parts = [f"{key}={value}" for key, value in (selector.get("matchLabels") or {}).items()]
    for one in selector.get("matchExpressions") or []:
        values = f" [{', '.join(str(item) for item in one.get('values') or [])}]" if one.get("values") else ""
        parts.append(f"{one.get('key')} {one.get('operator')}{values}")
    return " and ".join(parts) or "any pod"
