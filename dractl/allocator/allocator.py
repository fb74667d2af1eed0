"""The allocator: what kube-scheduler would give to claims on a node, on many nodes at once, and why not."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from dractl.allocator.capacity import CapacityRules
from dractl.allocator.counters import Cache
from dractl.allocator.pools import GatherError, Pool, PoolGatherer
from dractl.allocator.profile import Profile
from dractl.allocator.request import AllocationError, ClaimPlan, Planner
from dractl.allocator.result import allocations
from dractl.allocator.search import Limits, Search, Solution, Undecided
from dractl.allocator.selection import Selection
from dractl.allocator.state import AllocatedState
from dractl.allocator.taints import with_taint_rules
from dractl.allocator.view import NodeView
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
        self.slices = with_taint_rules(slices, taint_rules, profile)
        self.classes: Mapping[str, DeviceClass] = {item.meta.name: item for item in classes}
        self.state = AllocatedState.of(allocated, profile.features.consumable_capacity)
        self.gatherer = PoolGatherer(profile, self.slices)
        self.selection = Selection(profile)
        self.rules = CapacityRules(profile)

    def allocate(self, claims: Sequence[ResourceClaim], node: Node, limits: Limits = NO_LIMITS) -> NodeResult:
        """What the claims, allocated together in this order, would get on a node."""
        return self.allocate_nodes(claims, [node], limits).by_node[node.meta.name]

    def allocate_nodes(
        self, claims: Sequence[ResourceClaim], nodes: Iterable[Node], limits: Limits = NO_LIMITS
    ) -> NodeResults:
        """The same for many nodes, in their order."""
        run = _Run(self, self.plan(claims), limits)
        results = NodeResults()
        for node in nodes:
            result = run.node(node)
            result.group = len(results.groups)
            results.groups.append([node.meta.name])
            results.by_node[node.meta.name] = result
        return results

    def plan(self, claims: Sequence[ResourceClaim]) -> list[ClaimPlan]:
        """The claims made ready, errors in place."""
        return Planner(self.profile, self.classes, self.selection).plan(claims)

    def view(self, node: Node) -> NodeView:
        """A node's pools and devices.

        Raises:
            GatherError: when a node selector of a slice cannot be evaluated.
        """
        return NodeView(self.profile, node, self.gatherer.gather(node), self.state)

    @cached_property
    def correct(self) -> Allocator:
        """The same cluster under the profile without quirks."""
        raise NotImplementedError


class _Run:
    """One question to the allocator, for many nodes."""

    def __init__(self, allocator: Allocator, plans: list[ClaimPlan], limits: Limits) -> None:
        self._allocator = allocator
        self._plans = plans
        self._limits = limits
        self._cache: Cache = {}

    def node(self, node: Node) -> NodeResult:
        name = node.meta.name
        try:
            view = self._allocator.view(node)
        except GatherError as error:
            return NodeResult(name, ERROR, error=str(error), fatal=True)
        search = self._search(view)
        try:
            solution = self._solve(search, view.pools)
            if solution is None:
                return NodeResult(name, DOES_NOT_FIT, steps=search.steps)
            found = allocations(self._allocator.profile, self._plans, solution, name)
            return NodeResult(name, FITS, found, steps=search.steps)
        except AllocationError as error:
            return NodeResult(name, ERROR, error=str(error), fatal=not error.node_only, steps=search.steps)
        except Undecided as undecided:
            return NodeResult(name, UNDECIDED, error=str(undecided), steps=search.steps)

    def _search(self, view: NodeView) -> Search:
        allocator = self._allocator
        return Search(
            allocator.profile,
            view,
            self._plans,
            allocator.state,
            allocator.selection,
            allocator.rules,
            self._cache,
            self._limits,
        )

    def _solve(self, search: Search, pools: Sequence[Pool]) -> Solution | None:
        search.prepare()
        solution = search.run()
        if solution is None and any(pool.status == "invalid" for pool in pools):
            raise AllocationError(_INVALID_POOLS, node_only=True)
        return solution
