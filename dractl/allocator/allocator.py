"""The allocator: what kube-scheduler would give to claims on a node, on many nodes at once, and why not."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace

from dractl.allocator.alike import NodeKeys
from dractl.allocator.attributes import Attributes
from dractl.allocator.capacity import CapacityRules
from dractl.allocator.counters import Cache
from dractl.allocator.pools import INVALID, GatherError, Pool, PoolGatherer
from dractl.allocator.profile import Profile
from dractl.allocator.quirks import COUNTERS_CACHED, INVALID_POOL_ABORTS
from dractl.allocator.request import AllocationError, ClaimPlan, Planner
from dractl.allocator.result import allocations
from dractl.allocator.search import Search
from dractl.allocator.selection import Selection
from dractl.allocator.solution import Limits, Solution, Undecided
from dractl.allocator.state import AllocatedState
from dractl.allocator.taints import with_taint_rules
from dractl.allocator.trace import Trace, Tracer
from dractl.allocator.view import NodeView, moved
from dractl.kube.objects import Allocation, DeviceClass, DeviceTaintRule, Node, ResourceClaim, ResourceSlice

FITS = "fits"
DOES_NOT_FIT = "doesNotFit"
ERROR = "error"
UNDECIDED = "undecided"

NO_LIMITS = Limits()
_INVALID_POOLS = "invalid resource pools were encountered"


@dataclass(slots=True, eq=False)
class NodeResult:
    """The answer for one node."""

    node: str
    verdict: str
    """fits, doesNotFit, error or undecided."""
    allocations: list[Allocation] | None = None
    """One a claim, where it fits. ``share_id`` of a new share is ``result.NEW_SHARE``."""
    error: str | None = None
    """kube-scheduler's text for ``error``, dractl's for ``undecided``."""
    fatal: bool = False
    """Whether an error ends the scheduling of the pod on all nodes, not only on this one."""
    steps: int = 0
    """Steps of the search (of the node of the group that was searched)."""
    group: int = 0
    """Nodes of one group are alike for these claims and were searched once."""
    _tracer: Callable[[NodeResult], Trace | None] | None = None

    @property
    def trace(self) -> Trace | None:
        """The account of refusals, made from the state when it is asked for; None where pools cannot be gathered."""
        return None if self._tracer is None else self._tracer(self)


@dataclass(slots=True, eq=False)
class NodeResults:
    """The answers for many nodes."""

    by_node: dict[str, NodeResult] = field(default_factory=dict)
    groups: list[list[str]] = field(default_factory=list)
    """Names of nodes that are alike, in the order of ``NodeResult.group``."""


class Allocator:
    """Answers for one state of a cluster.

    Args:
        profile: the release and its quirks.
        slices: all ResourceSlices of the cluster.
        classes: all DeviceClasses.
        allocated: claims whose allocation counts as in use; others among them are ignored.
        taint_rules: DeviceTaintRules of the cluster.
    """

    def __init__(
        self,
        profile: Profile,
        slices: Sequence[ResourceSlice],
        classes: Iterable[DeviceClass],
        allocated: Iterable[ResourceClaim] = (),
        taint_rules: Iterable[DeviceTaintRule] = (),
    ) -> None:
        self.profile = profile
        self._published = slices
        self._taint_rules = list(taint_rules)
        self._allocated = list(allocated)
        self.slices = with_taint_rules(slices, self._taint_rules, profile)
        self.classes: Mapping[str, DeviceClass] = {item.meta.name: item for item in classes}
        self.state = AllocatedState.of(self._allocated, profile.features.consumable_capacity)
        self.gatherer = PoolGatherer(profile, self.slices)
        self.selection = Selection(profile)
        self.attributes = Attributes(profile)
        self.rules = CapacityRules(profile)

    def allocate(self, claims: Sequence[ResourceClaim], node: Node, limits: Limits = NO_LIMITS) -> NodeResult:
        """What the claims, allocated together in this order, would get on a node."""
        return self.allocate_nodes(claims, [node], limits).by_node[node.meta.name]

    def allocate_nodes(
        self, claims: Sequence[ResourceClaim], nodes: Iterable[Node], limits: Limits = NO_LIMITS
    ) -> NodeResults:
        """The same for many nodes, in their order."""
        return _Run(self, self.plan(claims), limits).nodes(nodes)

    def under(self, profile: Profile) -> Allocator:
        """The same cluster under another profile."""
        return Allocator(profile, self._published, self.classes.values(), self._allocated, self._taint_rules)

    def holding(self, allocated: Iterable[ResourceClaim]) -> Allocator:
        """The same cluster where other claims hold devices. Pools and evaluations of selectors are shared."""
        other = copy(self)
        other._allocated = list(allocated)
        other.state = AllocatedState.of(other._allocated, self.profile.features.consumable_capacity)
        return other

    def holding_more(self, allocated: Sequence[ResourceClaim]) -> Allocator:
        """The same cluster where more claims hold devices."""
        other = copy(self)
        other._allocated = [*self._allocated, *allocated]
        other.state = self.state.with_claims(allocated, self.profile.features.consumable_capacity)
        return other

    def plan(self, claims: Sequence[ResourceClaim]) -> list[ClaimPlan]:
        """The claims made ready, errors in place."""
        return Planner(self.profile, self.classes, self.selection).plan(claims)

    def view(self, node: Node) -> NodeView:
        """A node's pools and devices.

        Raises:
            GatherError: when a node selector of a slice cannot be evaluated.
        """
        return NodeView(self.profile, node, self.gatherer.gather(node), self.state)


class _Run:
    """One question to the allocator, for many nodes."""

    def __init__(self, allocator: Allocator, plans: list[ClaimPlan], limits: Limits) -> None:
        self._allocator = allocator
        self._plans = plans
        self._limits = limits
        self._cache: Cache = {}
        self._keys = NodeKeys(allocator.profile, allocator.gatherer, allocator.state, plans, allocator.attributes)
        self._results = NodeResults()
        self._nodes: dict[str, Node] = {}
        self._known: dict[Hashable, tuple[NodeResult, Solution | None]] = {}

    def nodes(self, nodes: Iterable[Node]) -> NodeResults:
        nodes = list(nodes)
        for node in nodes:
            name = node.meta.name
            self._nodes[name] = node
            try:
                pools = self._allocator.gatherer.gather(node)
            except GatherError as error:
                self._add(NodeResult(name, ERROR, error=str(error), fatal=True), None)
                continue
            key = self._keys.key(node, pools) if len(nodes) > 1 else None
            known = self._known.get(key) if key is not None else None
            if known is None or known[0].verdict == ERROR:
                # Texts of errors name devices and pools of the node, so they are not shared.
                result, solution = self._search(node, pools)
                if key is not None and known is None:
                    self._known[key] = (result, solution)
                self._add(result, known)
            else:
                self._add(self._same(known, node, pools), known)
        return self._results

    def _add(self, result: NodeResult, like: tuple[NodeResult, Solution | None] | None) -> None:
        groups = self._results.groups
        if like is None:
            result.group = len(groups)
            groups.append([])
        else:
            result.group = like[0].group
        groups[result.group].append(result.node)
        result._tracer = self._trace
        self._results.by_node[result.node] = result

    def _trace(self, result: NodeResult) -> Trace | None:
        allocator = self._allocator
        try:
            view = allocator.view(self._nodes[result.node])
        except GatherError:
            return None
        tracer = Tracer(
            allocator.profile,
            view,
            allocator.gatherer,
            allocator.state,
            allocator.selection,
            allocator.attributes,
            self._plans,
        )
        return tracer.trace(result.verdict == FITS)

    def _same(self, known: tuple[NodeResult, Solution | None], node: Node, pools: Sequence[Pool]) -> NodeResult:
        """The answer of a node that is like one searched before: the same devices in the same places."""
        like, solution = known
        name = node.meta.name
        if solution is None:
            return NodeResult(name, like.verdict, error=like.error, fatal=like.fatal, steps=like.steps)
        taken = [[replace(item, candidate=moved(item.candidate, pools)) for item in claim] for claim in solution.taken]
        found = allocations(self._allocator.profile, self._plans, Solution(taken, solution.chosen), name)
        return NodeResult(name, FITS, found, steps=like.steps)

    def _search(self, node: Node, pools: Sequence[Pool]) -> tuple[NodeResult, Solution | None]:
        name = node.meta.name
        allocator = self._allocator
        view = NodeView(allocator.profile, node, pools, allocator.state)
        search = Search(
            allocator.profile,
            view,
            self._plans,
            allocator.state,
            allocator.selection,
            allocator.attributes,
            allocator.rules,
            self._cache if COUNTERS_CACHED in allocator.profile.quirks else {},
            self._limits,
        )
        try:
            search.prepare()
            solution = search.run()
            if solution is not None:
                found = allocations(allocator.profile, self._plans, solution, name)
                return NodeResult(name, FITS, found, steps=search.steps), solution
            if INVALID_POOL_ABORTS not in allocator.profile.quirks and any(p.status == INVALID for p in pools):
                raise AllocationError(_INVALID_POOLS, node_only=True)
            return NodeResult(name, DOES_NOT_FIT, steps=search.steps), None
        except AllocationError as error:
            return NodeResult(name, ERROR, error=str(error), fatal=not error.node_only, steps=search.steps), None
        except Undecided as undecided:
            return NodeResult(name, UNDECIDED, error=str(undecided), steps=search.steps), None
