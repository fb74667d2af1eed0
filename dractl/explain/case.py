"""Everything known about one question: claims, pods, nodes, the allocator's answers. Sentences are made elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from dractl.allocator.allocator import Allocator, NodeResult
from dractl.allocator.profile import Profile
from dractl.allocator.search import Limits
from dractl.explain.alike import Alike, nodes_by_pool
from dractl.explain.eligibility import Eligibility, PodReason, pod_on_node, unjudged, used_on_nodes
from dractl.explain.judge import asks_of
from dractl.explain.lifecycle import usable_nodes
from dractl.explain.neighbours import Neighbours
from dractl.explain.nodes import NodeReason, Reasons
from dractl.explain.survey import Survey
from dractl.explain.words import natural
from dractl.inventory import Inventory, Release, key_of
from dractl.kube.objects import KubeObject, Node, Pod, ResourceClaim
from dractl.kube.quantity import Quantity

FITS, DOES_NOT_FIT, ERROR, UNDECIDED = "fits", "doesNotFit", "error", "undecided"


@dataclass(slots=True)
class NodeAnswer:
    """One node: what the allocator says there, whether the pods may use it, and why the devices do not do."""

    name: str
    result: NodeResult
    pod: Eligibility
    reason: NodeReason

    @property
    def verdict(self) -> str:
        """fits, doesNotFit, error or undecided."""
        return self.result.verdict

    @property
    def eligible(self) -> bool:
        """Whether the pods may use the node."""
        return self.pod.eligible


@dataclass
class Case:
    """The question why ``claims`` are not allocated, for ``pods`` that wait for them.

    Without pods every node counts as allowed. ``held`` are claims of the pods that are allocated already: they tie the
    pods to the nodes of their allocation.
    """

    inventory: Inventory
    release: Release
    profile: Profile
    claims: list[ResourceClaim]
    pods: list[Pod] = field(default_factory=list)
    held: list[ResourceClaim] = field(default_factory=list)
    now: str | None = None
    limits: Limits = field(default_factory=Limits)
    parent: Case | None = None
    """The same question about another state of the cluster, whose evaluations of selectors are used again."""
    only: frozenset[str] | None = None
    """The nodes to look at; None for all."""

    @cached_property
    def survey(self) -> Survey:
        """All devices in the eyes of all requests."""
        if self.parent is not None:
            known = self.parent.survey
            return Survey(self.inventory, self.profile, known.asks, known, self.only, self.allocator)
        asks = asks_of(self.inventory, self.claims)
        return Survey(self.inventory, self.profile, asks, only=self.only, allocator=self.allocator)

    @cached_property
    def reasons(self) -> Reasons:
        """Blockers, node by node."""
        return Reasons(self.survey)

    @cached_property
    def allocator(self) -> Allocator:
        """The allocator on the state as it is."""
        parent = self.parent
        if parent is None or not _all_same(parent.inventory.slices, self.inventory.slices):
            return allocator_for(self.inventory, self.profile, self.claims)
        # only what is in use differs: pools and evaluations of selectors are the same
        return parent.allocator.holding(claim for claim in self.inventory.claims.values() if claim not in self.claims)

    @cached_property
    def neighbours(self) -> Neighbours:
        """The pods that are placed."""
        return Neighbours.of(self.inventory)

    @cached_property
    def alike(self) -> Alike:
        """Which nodes fare alike with the claims, whatever of the claims is changed."""
        return Alike(self)

    @cached_property
    def seen_by(self) -> dict[tuple[str, str], set[str] | None]:
        """The nodes that see a pool; None where it is not bound to nodes by name."""
        return nodes_by_pool(self.inventory.slices)

    @cached_property
    def nodes(self) -> dict[str, NodeAnswer]:
        """All nodes, in natural order of names."""
        used = used_on_nodes(self.inventory.pods.values())
        facts = self.survey.nodes
        names = sorted(facts, key=natural)
        results = self.allocator.allocate_nodes(self.claims, [facts[name].node for name in names], self.limits).by_node
        answers = {}
        for name in names:
            pod = self._eligibility(name, used)
            answers[name] = NodeAnswer(name, results[name], pod, self.reasons.nodes[name])
        return answers

    def _eligibility(self, name: str, used: Mapping[str, Mapping[str, Quantity]]) -> Eligibility:
        node = self.survey.nodes[name].node
        reasons: dict[tuple[str, str], PodReason] = {}
        verdicts = [self.judge(pod, node, used.get(name)) for pod in self.pods]
        # whichever pod is placed first decides where the claims go
        if not any(verdict.eligible for verdict in verdicts):
            for reason in (reason for verdict in verdicts for reason in verdict.reasons):
                reasons.setdefault((reason.code, reason.text), reason)
        for claim in self.held:
            if claim.allocation is not None and name not in usable_nodes(self.inventory, claim.allocation):
                text = f"claim {key_of(claim)} is allocated elsewhere"
                reasons.setdefault(("claim", text), PodReason("claim", text, text))
        return Eligibility(not reasons, list(reasons.values()))

    def judge(self, pod: Pod, node: Node, used: Mapping[str, Quantity] | None) -> Eligibility:
        """Judge one pod on one node, with the other pods in view."""
        verdict = pod_on_node(pod, node, used)
        reasons = [*verdict.reasons, *self.neighbours.reasons(pod, node)]
        return Eligibility(not reasons, reasons)

    @cached_property
    def eligible(self) -> list[NodeAnswer]:
        """The nodes that the pods may use."""
        return [answer for answer in self.nodes.values() if answer.eligible]

    def fitting(self, eligible: bool = True) -> list[NodeAnswer]:
        """Nodes on which the claims fit, among those that the pods may use or among the others."""
        return [answer for answer in self.nodes.values() if answer.verdict == FITS and answer.eligible == eligible]

    @cached_property
    def errors(self) -> list[NodeAnswer]:
        """Allowed nodes on which the allocator fails with an error that ends the attempt for all nodes."""
        return [answer for answer in self.eligible if answer.verdict == ERROR and answer.result.fatal]

    @property
    def verdict(self) -> str:
        """The answer over all allowed nodes: an error on one of them is the answer, as it is for the scheduler."""
        if self.errors:
            return ERROR
        verdicts = {answer.verdict for answer in self.eligible}
        for verdict in (FITS, UNDECIDED):
            if verdict in verdicts:
                return verdict
        return DOES_NOT_FIT

    @cached_property
    def idle(self) -> Case | None:
        """The case with all devices free, if even then no allowed node serves the claims; else None."""
        if not self.eligible or not any(claim.allocation is not None for claim in self.inventory.claims.values()):
            return None
        idle = Case(
            freed(self.inventory, self.held),
            self.release,
            self.profile,
            self.claims,
            self.pods,
            self.held,
            self.now,
            self.limits,
            parent=self,
            only=self.only,
        )
        # one node of each group is enough to know quickly that devices in use are all that is in the way
        groups = {answer.result.group: self.survey.nodes[answer.name].node for answer in self.eligible}
        some = list(groups.values())
        for start in range(0, len(some), _CHUNK):
            results = idle.allocator.allocate_nodes(self.claims, some[start : start + _CHUNK], self.limits)
            if any(result.verdict != DOES_NOT_FIT for result in results.by_node.values()):
                return None
        if any(answer.verdict != DOES_NOT_FIT for answer in idle.eligible):
            return None
        return idle

    @cached_property
    def unjudged(self) -> list[str]:
        """Parts of the pods' placement that were not looked at."""
        return list(dict.fromkeys(part for pod in self.pods for part in unjudged(pod)))


_CHUNK = 64
"""So many nodes are tried at once where one that fits is enough to know."""


def _all_same(first: Sequence[object], second: Sequence[object]) -> bool:
    return len(first) == len(second) and all(one is other for one, other in zip(first, second, strict=True))


def freed(inventory: Inventory, kept: Iterable[ResourceClaim] = ()) -> Inventory:
    """The cluster as if no claim had any device, some claims excepted."""
    keep = {id(claim) for claim in kept}
    objects: list[KubeObject] = [
        replace(item, allocation=None, reserved_for=[])
        if isinstance(item, ResourceClaim) and item.allocation is not None and id(item) not in keep
        else item
        for item in inventory.objects
    ]
    return Inventory(objects, inventory.provenance)


def allocator_for(inventory: Inventory, profile: Profile, claims: Iterable[ResourceClaim]) -> Allocator:
    """An allocator on a state; the claims asked about hold nothing."""
    asked = {id(claim) for claim in claims}
    others = [claim for claim in inventory.claims.values() if id(claim) not in asked]
    return Allocator(profile, inventory.slices, inventory.classes.values(), others, inventory.taint_rules)
