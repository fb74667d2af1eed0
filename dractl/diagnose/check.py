"""What a check is, what it is given, and how it may end."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from dractl.explain.case import Case
from dractl.explain.claim import Question, case_of, explain
from dractl.explain.report import ClaimExplanation
from dractl.hardware.model import Host
from dractl.inventory import DeviceId, Inventory, Key, PublishedDevice, key_of
from dractl.kube.objects import DeviceClass, Pod, ResourceClaim
from dractl.rules.finding import Finding, ObjectRef, Rule

CATEGORIES = ("conflicts", "topology", "publication", "health", "access", "versions", "hardware")

FINISHED = ("Succeeded", "Failed")
"""Phases of pods that need nothing any more."""

_ALWAYS_THERE = frozenset({"Node", "Pod", "Namespace", "ClusterRole"})
"""Kinds of which every cluster has objects: none in the input means that they were not recorded."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """Claims that wait for one and the same reason: the explanation of the first, and all of their names."""

    report: ClaimExplanation
    claims: list[Key]


@dataclass
class Context:
    """The cluster and the rules of its release; explanations of pending claims are made once and shared.

    ``reports`` are what node agents say of their hosts, by node; ``silent`` names nodes that did not answer, and why.
    ``asked`` tells whether they were asked at all.
    """

    question: Question
    reports: Mapping[str, Host] = field(default_factory=dict)
    silent: Mapping[str, str] = field(default_factory=dict)
    asked: bool = False
    differing: list[Finding] | None = None
    """What node reports and slices disagree about, once it was looked for."""
    kept: dict[str, tuple[set[int], dict[str, list[PublishedDevice]]]] = field(default_factory=dict)
    """What each class selects, by its name: identities of devices, and those that its selectors fail on by error."""
    _explained: dict[Key, ClaimExplanation] = field(default_factory=dict)

    @property
    def inventory(self) -> Inventory:
        """The cluster's objects."""
        return self.question.inventory

    @cached_property
    def release(self) -> tuple[int, int]:
        """The release of Kubernetes as numbers."""
        major, minor = (int(part) for part in self.question.release.minor.split("."))
        return major, minor

    @cached_property
    def pending(self) -> dict[Key, ClaimExplanation]:
        """Claims without allocation that pods refer to, explained."""
        return {key: self._explain(key) for key in self._waiting_keys()}

    @cached_property
    def waiting(self) -> list[Waiting]:
        """The same, with claims of one form whose pods are of one form taken together; only the first is explained."""
        groups: dict[Hashable, list[Key]] = {}
        for key in self._waiting_keys():
            groups.setdefault(self._form(key), []).append(key)
        return [Waiting(self._explain(keys[0]), keys) for keys in groups.values()]

    def case(self, key: Key) -> Case:
        """The question of one waiting claim in all its parts."""
        pods = [
            pod
            for pod in self.inventory.claim_pods[key]
            if pod.phase not in FINISHED and not pod.meta.deletion_timestamp and not pod.node_name
        ]
        return case_of(self.question, [self.inventory.claims[key]], pods)

    def usable(self, key: Key) -> list[tuple[int, frozenset[DeviceId]]]:
        """For every plain request of a waiting claim: how many devices it wants, and which can serve it now.

        Requests for all devices, with alternatives or for shares of devices are left out.
        """
        case = self.case(key)
        found = []
        for index, ask in enumerate(case.survey.asks):
            devices = {one.id: one.device for node in case.fitting() for one in node.reason.facts.asks[index].usable}
            shared = any(device.allow_multiple_allocations for device in devices.values())
            if not ask.all and ask.request.exactly is not None and not ask.spec.admin_access and not shared:
                found.append((ask.count, frozenset(devices)))
        return found

    def _explain(self, key: Key) -> ClaimExplanation:
        if key not in self._explained:
            self._explained[key] = explain(self.question, self.inventory.claims[key])
        return self._explained[key]

    def _waiting_keys(self) -> list[Key]:
        return [
            key
            for key, claim in self.inventory.claims.items()
            if claim.allocation is None
            and not claim.meta.deletion_timestamp
            and any(pod.phase not in FINISHED for pod in self.inventory.claim_pods.get(key) or [])
        ]

    def _form(self, key: Key) -> Hashable:
        """What decides whether and where a claim fits: its spec, its pods' rules, and their other claims."""
        inventory = self.inventory
        pods = [pod for pod in inventory.claim_pods[key] if pod.phase not in FINISHED]
        others = [
            (link.state, repr(link.claim.spec), repr(link.claim.allocation)) if link.claim is not None else link.state
            for pod in pods
            for link in inventory.pod_claims.get(key_of(pod), [])
            if link.claim is not inventory.claims[key]
        ]
        return key.namespace, repr(inventory.claims[key].spec), tuple(sorted(map(_rules, pods))), tuple(others)


def _rules(pod: Pod) -> str:
    """Everything of a pod that the scheduler looks at, but for its names."""
    return repr(
        (
            pod.node_name,
            pod.scheduler_name,
            pod.priority,
            pod.node_selector,
            pod.node_affinity_required,
            pod.affinity and (pod.affinity, pod.meta.labels),
            pod.topology_spread_constraints,
            pod.tolerations,
            pod.scheduling_gates,
            pod.meta.deletion_timestamp,
            [(one.requests, one.limits, one.init) for one in pod.containers],
        )
    )


@dataclass(frozen=True, slots=True)
class Check:
    """A check: the rule that it looks for, its category, and the function that looks."""

    rule: Rule
    category: str
    run: Callable[[Context], Iterable[Finding]]

    def blocked(self, inventory: Inventory) -> str | None:
        """Why the check cannot be made on this input, or None."""
        for kind in self.rule.needs:
            if kind in inventory.provenance.unseen:
                return f"{kind}: {inventory.provenance.unseen[kind]}"
            if kind in _ALWAYS_THERE and kind not in inventory.kinds:
                return f"the input holds no {kind}"
        return None


def claim_ref(claim: ResourceClaim) -> ObjectRef:
    """A claim as the subject of a finding."""
    return ObjectRef("ResourceClaim", claim.meta.name, claim.meta.namespace)


def class_ref(item: DeviceClass) -> ObjectRef:
    """A class as the subject of a finding."""
    return ObjectRef("DeviceClass", item.meta.name)
