"""All devices in the eyes of all asks, node by node: what is visible, what matches, what is usable.

``Survey`` judges every device once for every ask and keeps, for each node, counts and the usable devices. Devices that
several nodes can use count once in the funnel.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property

from dractl.allocator.allocator import Allocator
from dractl.allocator.attributes import Attributes, DerivedFailure
from dractl.allocator.pools import GatherError, Pool, PoolGatherer, node_matches
from dractl.allocator.profile import Profile
from dractl.allocator.taints import with_taint_rules
from dractl.explain.judge import ERROR, SELECTION, Ask, Judge, Judgement
from dractl.explain.report import StageView
from dractl.inventory import DeviceId, Inventory
from dractl.kube.node_selector import NodeSelectorError
from dractl.kube.objects import Device, DeviceAttribute, Meta, Node, ResourceSlice

STAGES: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("class", ("class-selector",)),
    ("selectors", ("request-selector", "selector-error", "binding-conditions-off")),
    ("capacity", ("capacity-undefined", "capacity-insufficient")),
    ("taints", ("tainted",)),
    ("free", ("in-use",)),
    ("counters", ("counters-insufficient",)),
)
"""Steps of the funnel after "published" and "pools", each with the refusals that fall at it."""


@dataclass(slots=True)
class Candidate:
    """A device that class and selectors let pass, on a node."""

    id: DeviceId
    device: Device
    judgement: Judgement


@dataclass(slots=True)
class AskOnNode:
    """What one ask finds on one node."""

    classed: list[DeviceId] = field(default_factory=list)
    """Devices that the class takes, whatever the request says of them."""
    failing: int = 0
    """Devices on which a selector fails with an error."""
    matched: list[Candidate] = field(default_factory=list)
    refused: Counter[str] = field(default_factory=Counter)
    """First refusals of the devices seen, those of other classes included."""

    @property
    def in_class(self) -> int:
        """How many devices the class takes."""
        return len(self.classed)

    @property
    def usable(self) -> list[Candidate]:
        """Devices that nothing of their own keeps from being taken."""
        return [one for one in self.matched if one.judgement.code is None]


@dataclass(slots=True)
class NodeFacts:
    """One node: the pools it sees and what each ask finds there. ``error`` is set where pools cannot be gathered."""

    node: Node
    pools: list[Pool]
    asks: list[AskOnNode]
    error: str | None = None

    @property
    def name(self) -> str:
        """The node's name."""
        return self.node.meta.name


class Survey:
    """The devices of an inventory in the eyes of some asks."""

    def __init__(
        self,
        inventory: Inventory,
        profile: Profile,
        asks: list[Ask],
        alike: Survey | None = None,
        only: frozenset[str] | None = None,
        allocator: Allocator | None = None,
    ) -> None:
        """``alike`` is a survey of the same asks under the same profile, whose evaluations count here as well.

        ``only`` restricts the survey to some nodes. An ``allocator`` of the same state has put the pools together.
        """
        self.inventory = inventory
        self.profile = profile
        self.asks = asks
        self.judge = Judge(inventory, profile)
        if alike is not None:
            self.judge.learn(alike.judge)
        self._attributes = Attributes(profile)
        if allocator is not None:
            self.slices: list[ResourceSlice] = allocator.slices
            self.gatherer = allocator.gatherer
        else:
            self.slices = with_taint_rules(inventory.slices, inventory.taint_rules, profile)
            self.gatherer = PoolGatherer(profile, self.slices)
        self.seen: dict[DeviceId, Device] = {}
        """Every device that some node can see in a usable pool."""
        self.judgements: list[dict[DeviceId, Judgement]] = [{} for _ in asks]
        self.kept: dict[tuple[int, frozenset[str] | None], object] = {}
        """Results that are asked for more than once, by ask and nodes."""
        self.nodes_of_device: dict[DeviceId, list[str]] = {}
        self.nodes: dict[str, NodeFacts] = {
            node.meta.name: self._survey(node) for node in nodes_of(inventory) if only is None or node.meta.name in only
        }

    def attribute(self, index: int, device_id: DeviceId, device: Device, name: str) -> DeviceAttribute | None:
        """The attribute that a constraint on an ask sees: what the request derives, or what the driver publishes."""
        try:
            return self._attributes.of_request(self.asks[index].spec, device_id.driver, device, name)
        except DerivedFailure:
            return None

    def derives(self, index: int, name: str) -> bool:
        """Whether an ask derives an attribute by an expression of its own (1.37, alpha)."""
        return self._attributes.derivation(self.asks[index].spec, name) is not None

    def _survey(self, node: Node) -> NodeFacts:
        try:
            pools = self.gatherer.gather(node)
        except GatherError as error:
            return NodeFacts(node, [], [AskOnNode() for _ in self.asks], str(error))
        facts = NodeFacts(node, pools, [AskOnNode() for _ in self.asks])
        for device_id, device in visible_devices(node, pools):
            self.seen[device_id] = device
            self.nodes_of_device.setdefault(device_id, []).append(node.meta.name)
            for index, ask in enumerate(self.asks):
                if ask.device_class is None:
                    continue
                self._note(facts.asks[index], index, ask, device_id, device)
        return facts

    def _note(self, found: AskOnNode, index: int, ask: Ask, device_id: DeviceId, device: Device) -> None:
        judgement = self.judgements[index].get(device_id)
        if judgement is None:
            judgement = self.judgements[index][device_id] = self.judge.judge(ask, device_id, device, device.taints)
        code = judgement.code
        if code is not None:
            found.refused[code] += 1
        if code != "class-selector" and not (code == ERROR and judgement.selection.faults[0].of_class):
            found.classed.append(device_id)
        if code == ERROR:
            found.failing += 1
        if code not in SELECTION:
            found.matched.append(Candidate(device_id, device, judgement))

    # --- the funnel ---

    def funnel(self, index: int) -> list[StageView]:
        """How many devices are left for an ask after each step, over all nodes."""
        published, lost = self._published
        stages = [StageView("published", published), StageView("pools", len(self.seen), dict(lost))]
        codes = Counter(judgement.code or "" for judgement in self.judgements[index].values())
        left = len(self.seen)
        for stage, refusals in STAGES:
            fallen = {code: codes[code] for code in refusals if codes[code]}
            left -= sum(fallen.values())
            stages.append(StageView(stage, left, fallen))
        return stages

    @cached_property
    def _published(self) -> tuple[int, Counter[str]]:
        """Devices in all slices (one that is listed twice counts once), and why nobody can see some of them."""
        names: dict[DeviceId, str] = {}
        lost: Counter[str] = Counter()
        for pool in self.inventory.pools.values():
            for published in [*pool.devices(), *pool.former_devices()]:
                if published.id in names:
                    continue
                names[published.id] = ""
                if published.id in self.seen:
                    continue
                if not published.current:
                    lost["pool-obsolete"] += 1
                elif not pool.complete:
                    lost["pool-incomplete"] += 1
                elif self._invalid(published.id):
                    lost["pool-invalid"] += 1
                else:
                    lost["node-mismatch"] += 1
        return len(names), lost

    def _invalid(self, device_id: DeviceId) -> bool:
        return any(
            pool.status == "invalid" and (pool.driver, pool.name) == device_id.pool_id
            for facts in self.nodes.values()
            for pool in facts.pools
        )


def nodes_of(inventory: Inventory) -> list[Node]:
    """The nodes of an inventory; where it holds none, one for each name that a slice or device gives."""
    if inventory.nodes:
        return list(inventory.nodes.values())
    names = {name for pool in inventory.pools.values() for name in pool.nodes}
    return [Node(Meta(name=name, labels={"kubernetes.io/hostname": name})) for name in sorted(names)]


def visible_devices(node: Node, pools: Iterable[Pool]) -> Iterable[tuple[DeviceId, Device]]:
    """The devices in usable pools of a node that are for this node, in the order in which they are tried."""
    for pool in pools:
        for item in pool.slices if pool.usable else []:
            if not pool.allows(item, node):
                continue
            for device in item.devices:
                if item.per_device_node_selection and not _for_node(node, device):
                    continue
                yield DeviceId(pool.driver, pool.name, device.name), device


def _for_node(node: Node, device: Device) -> bool:
    """Whether a device that says so itself is for a node; one whose selector cannot be evaluated is for none."""
    try:
        return node_matches(node, device.node_name, device.all_nodes, device.node_selector)
    except NodeSelectorError:
        return False
