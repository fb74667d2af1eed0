"""A changed cluster or question, and whether the claims fit then. Nothing is said to fit that was not tried."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from dractl.allocator.allocator import Allocator, NodeResult
from dractl.explain.case import ERROR, FITS, Case
from dractl.explain.eligibility import used_on_nodes
from dractl.explain.lifecycle import usable_nodes
from dractl.inventory import Key, key_of
from dractl.kube.objects import (
    ClaimSpec,
    DeviceClass,
    DeviceRequest,
    DeviceTaintRule,
    Node,
    Pod,
    ResourceClaim,
    ResourceSlice,
)
from dractl.kube.quantity import Quantity
from dractl.simulate.cluster import seen_everywhere


@dataclass(slots=True)
class Variant:
    """What the allocator and the pod rules look at, as it would be after some changes."""

    case: Case
    claims: list[ResourceClaim]
    pods: list[Pod]
    slices: list[ResourceSlice]
    classes: list[DeviceClass]
    taint_rules: list[DeviceTaintRule]
    nodes: dict[str, Node]
    freed: set[Key] = field(default_factory=set)
    """Claims whose devices are given back."""
    avoided: set[str] = field(default_factory=set)
    """Nodes that the pods are kept from."""
    used: dict[str, dict[str, Quantity]] = field(default_factory=dict)
    """What placed pods request, by node."""

    @classmethod
    def of(cls, case: Case) -> Variant:
        """The state as it is."""
        inventory = case.inventory
        return cls(
            case,
            list(case.claims),
            list(case.pods),
            list(inventory.slices),
            list(inventory.classes.values()),
            list(inventory.taint_rules),
            {name: facts.node for name, facts in case.survey.nodes.items()},
            used=used_on_nodes(inventory.pods.values()),
        )

    def copy(self) -> Variant:
        """A variant to be changed further."""
        return replace(
            self,
            claims=list(self.claims),
            pods=list(self.pods),
            slices=list(self.slices),
            taint_rules=list(self.taint_rules),
            nodes=dict(self.nodes),
            freed=set(self.freed),
            avoided=set(self.avoided),
        )

    def allowed(self) -> list[Node]:
        """The nodes that the pods may use."""
        case = self.case
        same_pods = all(one is other for one, other in zip(self.pods, case.pods, strict=True))
        out = []
        for name, node in self.nodes.items():
            if name in self.avoided:
                continue
            if same_pods and node is case.survey.nodes[name].node:
                may = case.nodes[name].eligible
            else:
                may = self._may(name, node)
            if may:
                out.append(node)
        return out

    def _may(self, name: str, node: Node) -> bool:
        inventory = self.case.inventory
        if self.pods and not any(self.case.judge(pod, node, self.used.get(name)).eligible for pod in self.pods):
            return False
        return all(
            claim.allocation is None or name in usable_nodes(inventory, claim.allocation) for claim in self.case.held
        )

    def fitting(self, only: Iterable[str] | None = None) -> list[str]:
        """The allowed nodes on which all claims fit; empty if the allocator fails on an allowed node.

        ``only`` restricts the trial to nodes that the change touches; the others keep the answers that they had.
        """
        allowed = self.allowed()
        touched = set(only) if only is not None else None
        tried = [node.meta.name for node in allowed if touched is None or node.meta.name in touched]
        results = self.results(tried)
        if any(result.verdict == ERROR and result.fatal for result in results.values()):
            return []
        if touched is not None:
            rest = [self.case.nodes[node.meta.name] for node in allowed if node.meta.name not in touched]
            if any(answer.verdict == ERROR and answer.result.fatal for answer in rest):
                return []
        return [name for name, result in results.items() if result.verdict == FITS]

    def results(self, names: Iterable[str]) -> dict[str, NodeResult]:
        """What the allocator says on some nodes, whether the pods may use them or not.

        Of nodes that are alike and not changed themselves one is asked, and its answer is given for all of them.
        """
        names = list(names)
        allocator = self._allocator()
        asked = self._representatives(names, allocator) if len(names) > 1 else {name: name for name in names}
        nodes = [self.nodes[name] for name in dict.fromkeys(asked.values())]
        found = allocator.allocate_nodes(self.claims, nodes, self.case.limits).by_node
        return {name: found[asked[name]] for name in names}

    def _representatives(self, names: Iterable[str], allocator: Allocator) -> dict[str, str]:
        """For each node the one that answers for it."""
        classes = self.case.alike.classes(self.claims)
        changed = self._changed_nodes(allocator) if classes is not None else None
        if classes is None or changed is None:
            return {name: name for name in names}
        first: dict[int, str] = {}
        return {name: name if name in changed else first.setdefault(classes[name], name) for name in names}

    def _changed_nodes(self, allocator: Allocator) -> set[str] | None:
        """The nodes that see other devices, or devices in another state, than they do now; None if that may be any."""
        case = self.case
        pools: set[tuple[str, str]] = set()
        for key in self.freed:
            claim = case.inventory.claims[key]
            if claim.allocation is not None:
                pools |= {(one.driver, one.pool) for one in claim.allocation.results}
        if allocator.gatherer is not case.allocator.gatherer:
            before = {id(item) for item in case.allocator.slices}
            after = {id(item) for item in allocator.slices}
            pools |= {(one.driver, one.pool.name) for one in allocator.slices if id(one) not in before}
            pools |= {(one.driver, one.pool.name) for one in case.allocator.slices if id(one) not in after}
            if seen_everywhere(allocator) != seen_everywhere(case.allocator):
                return None
        changed: set[str] = set()
        for pool in pools:
            seen = case.seen_by.get(pool, set())
            if seen is None:
                return None
            changed |= seen
        return changed

    def _allocator(self) -> Allocator:
        case = self.case
        published = all(one is other for one, other in zip(self.slices, case.inventory.slices, strict=False))
        published = published and len(self.slices) == len(case.inventory.slices)
        if published and len(self.taint_rules) == len(case.inventory.taint_rules):
            # only what is in use differs: the pools need not be put together again
            if not self.freed:
                return case.allocator
            return case.allocator.holding(self._holding())
        return Allocator(case.profile, self.slices, self.classes, self._holding(), self.taint_rules)

    def _holding(self) -> list[ResourceClaim]:
        asked = {id(claim) for claim in self.case.claims}
        return [
            claim
            for claim in self.case.inventory.claims.values()
            if id(claim) not in asked and key_of(claim) not in self.freed
        ]

    # --- changes of claims ---

    def change_request(self, claim: ResourceClaim, name: str, **changes: object) -> None:
        """Change fields of a request, or of one alternative (``request/alternative``), of a claim."""
        main, _, sub = name.partition("/")
        index = next(number for number, one in enumerate(self.claims) if key_of(one) == key_of(claim))
        current = self.claims[index]
        requests = []
        for request in current.spec.requests:
            if request.name != main:
                requests.append(request)
            elif request.exactly is not None:
                requests.append(replace(request, exactly=_changed(request.exactly, changes)))
            else:
                alternatives = [_changed(one, changes) if one.name == sub else one for one in request.first_available]
                requests.append(replace(request, first_available=alternatives))
        self.claims[index] = replace(current, spec=replace(current.spec, requests=requests))

    def change_spec(self, claim: ResourceClaim, spec: ClaimSpec) -> None:
        """Give a claim another spec."""
        index = next(number for number, one in enumerate(self.claims) if key_of(one) == key_of(claim))
        self.claims[index] = replace(self.claims[index], spec=spec)

    def request(self, claim: ResourceClaim, name: str) -> DeviceRequest:
        """A request, or one alternative, as it is in this variant."""
        main, _, sub = name.partition("/")
        current = next(one for one in self.claims if key_of(one) == key_of(claim))
        for request in current.spec.requests:
            if request.name == main:
                return request.exactly or next(one for one in request.first_available if one.name == sub)
        raise KeyError(name)


def _changed(request: DeviceRequest, changes: dict[str, object]) -> DeviceRequest:
    return replace(request, **changes)  # type: ignore[arg-type]
