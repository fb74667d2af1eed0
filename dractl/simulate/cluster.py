"""A state that grows: what is placed holds its devices for those that come after.

An answer of the allocator on a node holds as long as nothing that the node sees changes, so it is kept, for units that
ask for the same; only the nodes that see a pool of which devices were taken are asked again.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from dractl.allocator.allocator import Allocator, NodeResult
from dractl.allocator.pools import GatherError
from dractl.allocator.profile import Profile
from dractl.allocator.search import Limits
from dractl.explain.alike import counters_apart, nodes_by_pool
from dractl.explain.case import ERROR
from dractl.explain.eligibility import PodReason, pod_on_node, used_on_nodes
from dractl.explain.lifecycle import usable_nodes
from dractl.explain.neighbours import Neighbours
from dractl.explain.words import natural
from dractl.inventory import Inventory, key_of
from dractl.kube.objects import Allocation, Meta, Node, Pod, ResourceClaim


@dataclass(slots=True)
class Unit:
    """What is placed together: a pod with its unallocated claims, or a claim without a pod."""

    name: str
    claims: list[ResourceClaim]
    pod: Pod | None = None
    held: list[ResourceClaim] = field(default_factory=list)
    """Claims of the pod that are allocated already and tie it to their nodes."""
    problem: str = ""
    """What keeps it from being tried at all (a template that is not there)."""

    @property
    def asks(self) -> Hashable:
        """Equal for units that ask for the same devices."""
        return tuple(repr(claim.spec) for claim in self.claims)


@dataclass(slots=True)
class _Known:
    """The answers for one question: at the beginning, and later on nodes of which devices were taken."""

    first: dict[str, NodeResult] = field(default_factory=dict)
    groups: dict[int, object] = field(default_factory=dict)
    """What nodes that were alike when they were asked have in common, by the identity of the answer."""
    later: dict[str, tuple[int, NodeResult]] = field(default_factory=dict)


class Cluster:
    """A state that grows; ``like`` is the cluster of a similar inventory, whose answers hold where nothing differs."""

    def __init__(self, inventory: Inventory, profile: Profile, limits: Limits, like: Cluster | None = None) -> None:
        self.inventory = inventory
        self.profile = profile
        self.limits = limits
        self.used = used_on_nodes(inventory.pods.values())
        self.neighbours = Neighbours.of(inventory)
        self.taken: list[ResourceClaim] = []
        self.placed: list[Pod] = []
        holding = [claim for claim in inventory.claims.values() if claim.allocation is not None]
        self.allocator = Allocator(
            profile, inventory.slices, inventory.classes.values(), holding, inventory.taint_rules
        )
        self.nodes = sorted(nodes_of(inventory).values(), key=lambda node: natural(node.meta.name))
        self._seen_by = nodes_by_pool(inventory.slices)
        self._separate = counters_apart(inventory.slices)
        self._known: dict[Hashable, _Known] = {}
        self._touched: dict[str, int] = {}
        self.steps = 0
        if like is not None and self._separate and like._separate:
            self._learn(like)

    def results(self, unit: Unit, only: Iterable[Node] | None = None) -> dict[str, NodeResult]:
        """The allocator's answers on the nodes that the unit's pod may use."""
        nodes = self.allowed(unit, self.nodes if only is None else only)
        if not self._separate:
            # the order of the nodes plays a part
            return self.allocator.allocate_nodes(unit.claims, nodes, self.limits).by_node
        known = self._known.setdefault(unit.asks, _Known())
        missing = [node for node in nodes if self._answer(known, node.meta.name) is None]
        if missing:
            fresh = self.allocator.allocate_nodes(unit.claims, missing, self.limits)
            for name, result in fresh.by_node.items():
                known.groups[id(result)] = fresh.groups[result.group]
                touched = self._touched.get(name)
                if touched is None:
                    known.first[name] = result
                else:
                    known.later[name] = (touched, result)
        found = {node.meta.name: self._answer(known, node.meta.name) for node in nodes}
        return {name: result for name, result in found.items() if result is not None}

    def one_of_each(self, unit: Unit, results: Mapping[str, NodeResult]) -> list[NodeResult]:
        """Of answers of nodes that were alike one each."""
        known = self._known.get(unit.asks)
        groups = known.groups if known is not None else {}
        return list({id(groups.get(id(result), result)): result for result in results.values()}.values())

    def again(self, unit: Unit, node: str) -> NodeResult:
        """One node's answer for this very unit: texts of errors name its claims."""
        return self.allocator.allocate(unit.claims, self.inventory_node(node), self.limits)

    def inventory_node(self, name: str) -> Node:
        """A node by name."""
        return next(node for node in self.nodes if node.meta.name == name)

    def settled(self, unit: Unit) -> Unit:
        """The unit as it is after those before it: claims that it shares with them are allocated already."""
        taken = {key_of(claim): claim for claim in self.taken}
        shared = [taken[key_of(claim)] for claim in unit.claims if key_of(claim) in taken]
        if not shared:
            return unit
        rest = [claim for claim in unit.claims if key_of(claim) not in taken]
        return replace(unit, claims=rest, held=[*unit.held, *shared])

    def take(self, unit: Unit, result: NodeResult) -> None:
        """Let the unit have what it was given."""
        made = [
            replace(claim, allocation=_distinct(allocation, len(self.taken) + number))
            for number, (claim, allocation) in enumerate(zip(unit.claims, result.allocations or [], strict=True))
        ]
        self.taken += made
        self.allocator = self.allocator.holding_more(made)
        self.steps += 1
        for claim in made:
            for one in claim.allocation.results if claim.allocation else ():
                seen = self._seen_by.get((one.driver, one.pool))
                for name in [node.meta.name for node in self.nodes] if seen is None else seen:
                    self._touched[name] = self.steps
        if unit.pod is not None:
            self._place(replace(unit.pod, node_name=result.node))

    def reasons(self, pod: Pod, node: Node) -> list[PodReason]:
        """Why a pod may not use a node."""
        verdict = pod_on_node(pod, node, self.used.get(node.meta.name))
        return [*verdict.reasons, *self.neighbours.reasons(pod, node)]

    def allowed(self, unit: Unit, nodes: Iterable[Node]) -> list[Node]:
        """Those of some nodes that the unit's pod may use."""
        held = [
            set(usable_nodes(self.inventory, claim.allocation)) for claim in unit.held if claim.allocation is not None
        ]
        return [
            node
            for node in nodes
            if all(node.meta.name in names for names in held) and (unit.pod is None or not self.reasons(unit.pod, node))
        ]

    def _place(self, pod: Pod) -> None:
        """A pod on a node takes room there and is a neighbour."""
        self.placed.append(pod)
        for name, amount in used_on_nodes([pod]).get(pod.node_name, {}).items():
            room = self.used.setdefault(pod.node_name, {})
            room[name] = room[name] + amount if name in room else amount
        self.neighbours = self.neighbours.with_pod(pod)

    def _answer(self, known: _Known, node: str) -> NodeResult | None:
        touched = self._touched.get(node)
        if touched is None:
            return known.first.get(node)
        found = known.later.get(node)
        return found[1] if found is not None and found[0] == touched else None

    def _learn(self, like: Cluster) -> None:
        """Use the first answers of a similar cluster on nodes of which nothing differs."""
        differing = differing_nodes(like.inventory, self.inventory)
        if differing is None or like.profile is not self.profile:
            return
        if seen_everywhere(self.allocator) != seen_everywhere(like.allocator):
            return
        for asks, known in like._known.items():
            kept = {
                name: result
                for name, result in known.first.items()
                if name not in differing and result.verdict != ERROR
            }
            self._known[asks] = _Known(kept, dict(known.groups))


def seen_everywhere(allocator: Allocator) -> list[tuple[str, str, str]]:
    """The pools that even a node without slices of its own sees: those of other nodes that are in trouble, too."""
    try:
        pools = allocator.gatherer.gather(Node(Meta()))
    except GatherError as error:
        return [("", "", str(error))]
    return [(str(pool), pool.status, pool.reason) for pool in pools]


def differing_nodes(before: Inventory, after: Inventory) -> set[str] | None:
    """The nodes on which the allocator may answer otherwise; None where that may be any node."""
    if not (_same(before.classes, after.classes) and _all_same(before.taint_rules, after.taint_rules)):
        return None
    found: set[str] = set()
    old, new = nodes_of(before), nodes_of(after)
    found |= {name for name in {*old, *new} if old.get(name) is not new.get(name)}
    known = {id(item) for item in before.slices}
    kept = {id(item) for item in after.slices}
    changed = [item for item in after.slices if id(item) not in known]
    changed += [item for item in before.slices if id(item) not in kept]
    if any(not item.node_name for item in changed):
        return None
    pools = {(item.driver, item.pool.name) for item in changed}
    for key in {*before.claims, *after.claims}:
        one, other = before.claims.get(key), after.claims.get(key)
        if (one.allocation if one else None) is not (other.allocation if other else None):
            held = [claim.allocation for claim in (one, other) if claim is not None and claim.allocation is not None]
            pools |= {(result.driver, result.pool) for allocation in held for result in allocation.results}
    for seen_by in (nodes_by_pool(before.slices), nodes_by_pool(after.slices)):
        for pool in pools:
            seen = seen_by.get(pool, set())
            if seen is None:
                return None
            found |= seen
    return found


def _same(before: Mapping[str, object], after: Mapping[str, object]) -> bool:
    return before.keys() == after.keys() and all(before[key] is after[key] for key in before)


def _all_same(before: Sequence[object], after: Sequence[object]) -> bool:
    return len(before) == len(after) and all(one is other for one, other in zip(before, after, strict=True))


def _distinct(allocation: Allocation, number: int) -> Allocation:
    """Shares with identities of their own, so that their amounts add up."""
    results = [
        replace(item, share_id=f"{number}-{index}") if item.share_id is not None else item
        for index, item in enumerate(allocation.results)
    ]
    return replace(allocation, results=results)


def nodes_of(inventory: Inventory) -> dict[str, Node]:
    """The nodes; where none was recorded, those that slices name."""
    if inventory.nodes:
        return dict(inventory.nodes)
    names = {name for pool in inventory.pools.values() for name in pool.nodes}
    return {name: Node(Meta(name=name, labels={"kubernetes.io/hostname": name})) for name in sorted(names)}
