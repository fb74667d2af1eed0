"""What a check is, what it is given, and how it may end."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property

from dractl.explain.claim import Question, explain
from dractl.explain.report import ClaimExplanation
from dractl.inventory import Inventory, Key
from dractl.kube.objects import DeviceClass, ResourceClaim
from dractl.rules.finding import Finding, ObjectRef, Rule

CATEGORIES = ("conflicts", "topology", "publication", "health", "access", "versions", "hardware")

_ALWAYS_THERE = frozenset({"Node", "Pod", "Namespace", "ClusterRole"})
"""Kinds of which every cluster has objects: none in the input means that they were not recorded."""


@dataclass
class Context:
    """The cluster and the rules of its release; explanations of pending claims are made once and shared."""

    question: Question

    @property
    def inventory(self) -> Inventory:
        """The cluster's objects."""
        return self.question.inventory

    @cached_property
    def pending(self) -> dict[Key, ClaimExplanation]:
        """Claims without allocation that pods refer to, explained."""
        return {
            key: explain(self.question, claim)
            for key, claim in self.inventory.claims.items()
            if claim.allocation is None and not claim.meta.deletion_timestamp and self.inventory.claim_pods.get(key)
        }


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
