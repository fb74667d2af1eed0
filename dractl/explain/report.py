"""What ``dractl explain`` answers, as plain data: ClaimExplanation and PodExplanation (``dractl.dev/v1alpha1``).

Every sentence that a terminal shows is in here; renderers only lay it out. Names and forms are described by
``schemas/ClaimExplanation.json`` and ``schemas/PodExplanation.json``.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any, Literal

from dractl.report import API_VERSION, camel
from dractl.rules.finding import Finding

Json = dict[str, Any]

State = Literal["pending", "allocated", "reserved", "deleting", "missing"]
PodState = Literal["pending", "preparing", "running", "finished", "missing"]
Verdict = Literal["fits", "doesNotFit", "error", "allocated", "undecided"]
NodeVerdict = Literal["fits", "doesNotFit", "error", "undecided"]


@dataclass(slots=True)
class NameView:
    """An object of a namespace."""

    namespace: str
    name: str
    uid: str = ""


@dataclass(slots=True)
class PodView:
    """A pod that names the claim, holds a reservation of it, or waits for it.

    ``role`` is ``waiting``, ``running``, ``preparing`` (bound to a node, containers not started), ``finished`` or
    ``gone`` (named by a reservation, not in the snapshot). ``scheduler`` is what the scheduler last wrote about it.
    """

    namespace: str
    name: str
    uid: str = ""
    role: str = "waiting"
    node: str | None = None
    phase: str | None = None
    age: str | None = None
    priority: int | None = None
    scheduling_gates: list[str] = field(default_factory=list)
    scheduler: str | None = None
    reserved: bool = False
    deleting: bool = False


@dataclass(slots=True)
class StageView:
    """One step of the funnel: how many devices are left after it, and why the others fell at it."""

    stage: str
    devices: int
    refused: dict[str, int] = field(default_factory=dict)


@dataclass(slots=True)
class NearView:
    """Devices that missed for one reason only, taken together where the reason is the same."""

    devices: int
    example: str
    nodes: list[str]
    code: str
    text: str


@dataclass(slots=True)
class RequestView:
    """A request, or one alternative of it (``gpu/h200``)."""

    name: str
    class_: str
    count: int | None
    mode: str
    admin_access: bool = False
    funnel: list[StageView] = field(default_factory=list)
    nearest: list[NearView] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


@dataclass(slots=True)
class ConstraintGroup:
    """One value of a constraint's attribute: how many usable devices of each request carry it, all nodes together."""

    value: str
    free: dict[str, int]
    node: str | None = None


@dataclass(slots=True)
class ConstraintView:
    """A constraint with its groups, the closest first. ``missing`` counts devices without the attribute."""

    index: int
    kind: str
    attribute: str
    requests: list[str]
    groups: list[ConstraintGroup] = field(default_factory=list)
    missing: dict[str, int] = field(default_factory=dict)
    text: str = ""


@dataclass(slots=True)
class ResultView:
    """One device of an allocation."""

    request: str
    driver: str
    pool: str
    device: str
    admin_access: bool | None = None
    share_id: str | None = None
    consumed_capacity: dict[str, str] | None = None


@dataclass(slots=True)
class AllocatorView:
    """The allocator's answer on one node: fits, doesNotFit, error or undecided."""

    verdict: NodeVerdict
    results: list[ResultView] | None = None
    error: str | None = None


@dataclass(slots=True)
class PodOnNode:
    """Whether the waiting pods may use a node, devices aside."""

    eligible: bool
    reasons: list[str] = field(default_factory=list)


@dataclass(slots=True)
class DeviceOnNode:
    """One device in the eyes of one request on one node (``--node``): the code of the refusal, or none if usable."""

    request: str
    device: str
    code: str | None
    text: str


@dataclass(slots=True)
class NodeView:
    """One node. ``group`` is the index of its group in ``groups``; ``devices`` is filled for the node asked about."""

    name: str
    allocator: AllocatorView
    pod: PodOnNode
    group: int = 0
    devices: list[DeviceOnNode] | None = None


@dataclass(slots=True)
class RefusalView:
    """Devices of a group of nodes that one request could not take, for one reason."""

    request: str
    code: str
    devices: int
    text: str = ""


@dataclass(slots=True)
class GroupView:
    """Nodes that fail (or fit) for the same reason."""

    nodes: int
    reason: str
    refusals: list[RefusalView] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    where: str = ""
    """The names in short."""
    verdict: NodeVerdict = "doesNotFit"


@dataclass(slots=True)
class HolderView:
    """A claim that has devices which this claim could use."""

    namespace: str
    name: str
    devices: list[str]
    pods: list[str]
    nodes: list[str]
    age: str | None = None
    priority: int | None = None
    deleting: bool = False
    text: str = ""


@dataclass(slots=True)
class AllocationView:
    """Where an allocated claim is: its devices and the nodes on which they can be used."""

    results: list[ResultView]
    nodes: list[str]
    since: str | None = None


@dataclass(slots=True)
class EventView:
    """Something that a component of Kubernetes said about the claim or its pods."""

    object: str
    type: str
    reason: str
    message: str
    count: int
    last: str | None = None


@dataclass(slots=True)
class FixView:
    """A change after which the claim fits, as the allocator proved (``proven``), on the nodes named.

    ``detail`` is what is good to know of what is changed: the age and priority of a claim that would end.
    """

    text: str
    kind: str
    nodes: list[str]
    proven: bool = True
    who: str = ""
    detail: str | None = None


@dataclass(slots=True)
class ConflictView:
    """One of the statements that cannot hold together, though they could without any one of them."""

    kind: str
    text: str
    request: str | None = None


@dataclass(slots=True)
class ClaimExplanation:
    """The answer to ``dractl explain claim``."""

    claim: NameView
    kubernetes: str
    state: State
    stage: str
    verdict: Verdict
    summary: str
    age: str | None = None
    details: list[str] = field(default_factory=list)
    actions: list[str] = field(default_factory=list)
    pods: list[PodView] = field(default_factory=list)
    allocation: AllocationView | None = None
    requests: list[RequestView] = field(default_factory=list)
    constraints: list[ConstraintView] = field(default_factory=list)
    nodes: list[NodeView] = field(default_factory=list)
    groups: list[GroupView] = field(default_factory=list)
    holders: list[HolderView] = field(default_factory=list)
    conflict: list[ConflictView] = field(default_factory=list)
    fixes: list[FixView] = field(default_factory=list)
    fixes_note: str = ""
    events: list[EventView] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def to_json(self) -> Json:
        """The whole report."""
        return {"apiVersion": API_VERSION, "kind": "ClaimExplanation", **_object(self)}


@dataclass(slots=True)
class EntryView:
    """One entry of a pod's ``spec.resourceClaims`` (or its extended resources) and how its claim stands."""

    name: str
    source: str
    claim: str | None
    stage: str
    text: str


@dataclass(slots=True)
class PodExplanation:
    """The answer to ``dractl explain pod``: the pod, its claims one by one, and all unallocated ones together."""

    pod: NameView
    kubernetes: str
    state: PodState
    verdict: Verdict
    summary: str
    age: str | None = None
    details: list[str] = field(default_factory=list)
    actions: list[str] = field(default_factory=list)
    pods: list[PodView] = field(default_factory=list)
    entries: list[EntryView] = field(default_factory=list)
    claims: list[ClaimExplanation] = field(default_factory=list)
    nodes: list[NodeView] = field(default_factory=list)
    groups: list[GroupView] = field(default_factory=list)
    conflict: list[ConflictView] = field(default_factory=list)
    fixes: list[FixView] = field(default_factory=list)
    fixes_note: str = ""
    events: list[EventView] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    unplaceable: bool = False
    """Whether the pod may run on no node where its allocated claims can be used."""

    @property
    def good(self) -> bool:
        """Whether nothing about devices keeps the pod."""
        return self.verdict in ("fits", "allocated") and not self.unplaceable and self.state != "missing"

    def to_json(self) -> Json:
        """The whole report."""
        return {"apiVersion": API_VERSION, "kind": "PodExplanation", **_object(self)}


_NULLABLE = {(AllocatorView, "results"), (AllocatorView, "error")}
"""Fields that are written as null; elsewhere a field without a value is left out."""


def _object(value: Any) -> Json:
    out: Json = {}
    for one in fields(value):
        content = getattr(value, one.name)
        if content is None and (type(value), one.name) not in _NULLABLE:
            continue
        out[camel(one.name)] = _plain(content)
    return out


def _plain(value: Any) -> Any:
    if isinstance(value, ClaimExplanation):
        return value.to_json()
    if isinstance(value, Finding):
        return value.to_json()
    if is_dataclass(value):
        return _object(value)
    if isinstance(value, list):
        return [_plain(one) for one in value]
    return value
