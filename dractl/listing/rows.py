"""The rows of every list, as they are written by ``dractl get -o json``; see ``schemas/*List.json``."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from dractl.report import API_VERSION, to_plain

DeviceState = Literal[
    "free", "used", "shared", "full", "tainted", "counters-exhausted", "pool-incomplete", "node-missing"
]
DEVICE_STATES: tuple[str, ...] = get_args(DeviceState)
PoolStatus = Literal["complete", "incomplete", "counts-differ"]
NodeStatus = Literal["Ready", "NotReady", "Unknown", "missing"]


@dataclass(slots=True)
class HolderRow:
    """A claim that has (a share of) a device. ``pods`` are the names that its reservation lists."""

    namespace: str
    name: str
    request: str
    pods: list[str] = field(default_factory=list)
    admin_access: bool | None = None
    share_id: str | None = None
    consumed_capacity: dict[str, str] | None = None


@dataclass(slots=True)
class TaintRow:
    """A taint on devices: ``source`` is ``driver`` or the name of the DeviceTaintRule; ``devices`` counts them."""

    key: str
    value: str
    effect: str
    source: str
    driver: str | None = None
    pool: str | None = None
    device: str | None = None
    devices: int | None = None
    time_added: str | None = None
    age: str | None = None


@dataclass(slots=True)
class DeviceRow:
    """One published device of a pool's current generation.

    ``state`` is one of free, used, shared (partly given out), full, tainted, counters-exhausted, pool-incomplete and
    node-missing; ``reasons`` says what it rests on. ``nodes`` describes where a device without ``node`` can be used.
    Names of attributes and capacities are written with their domain, values as the API has them.
    """

    id: str
    driver: str
    pool: str
    device: str
    state: DeviceState
    node: str | None = None
    nodes: str | None = None
    product: str | None = None
    reasons: list[str] = field(default_factory=list)
    holders: list[HolderRow] = field(default_factory=list)
    taints: list[TaintRow] = field(default_factory=list)
    attributes: dict[str, Any] = field(default_factory=dict)
    capacity: dict[str, str] = field(default_factory=dict)
    available: dict[str, str] | None = None
    slice: str = ""


@dataclass(slots=True)
class PoolRow:
    """One pool. ``status`` is complete, incomplete or counts-differ (its slices disagree on resourceSliceCount)."""

    driver: str
    pool: str
    generation: int
    slices: int
    expected_slices: int
    status: PoolStatus
    devices: int
    free: int
    former_slices: int = 0
    nodes: list[str] = field(default_factory=list)


@dataclass(slots=True)
class SliceRow:
    """One ResourceSlice. ``current`` is False where a newer generation of the pool is published."""

    name: str
    driver: str
    pool: str
    generation: int
    current: bool
    devices: int
    shared_counters: int = 0
    node: str | None = None
    nodes: str | None = None
    age: str | None = None


@dataclass(slots=True)
class RequestRow:
    """What one request of a claim asks for; of alternatives one row each, named ``request/alternative``."""

    name: str
    class_: str
    mode: str
    count: int | None = None
    selectors: list[str] = field(default_factory=list)
    admin_access: bool | None = None


@dataclass(slots=True)
class ClaimRow:
    """One ResourceClaim. ``state`` is kubectl's: pending, or allocated, reserved and deleted joined by commas."""

    namespace: str
    name: str
    state: str
    requests: list[RequestRow] = field(default_factory=list)
    devices: list[str] = field(default_factory=list)
    nodes: list[str] = field(default_factory=list)
    pods: list[str] = field(default_factory=list)
    age: str | None = None


@dataclass(slots=True)
class TemplateRow:
    """One ResourceClaimTemplate and how many pods name it."""

    namespace: str
    name: str
    requests: list[RequestRow] = field(default_factory=list)
    pods: int = 0
    age: str | None = None


@dataclass(slots=True)
class ClassRow:
    """One DeviceClass: how many published devices its selectors take, and how many requests name it."""

    name: str
    devices: int | None
    requests: int
    selectors: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    extended_resource_name: str | None = None
    age: str | None = None


@dataclass(slots=True)
class DriverCount:
    """Devices of one driver on a node."""

    driver: str
    devices: int
    free: int


@dataclass(slots=True)
class NodeRow:
    """One node that is known or that slices name. ``status`` is Ready, NotReady, Unknown or missing.

    ``schedulable`` is False where it is cordoned, and left out where the node itself was not read.
    """

    name: str
    status: NodeStatus
    schedulable: bool | None = None
    drivers: list[DriverCount] = field(default_factory=list)
    taints: list[str] = field(default_factory=list)
    kubelet: str | None = None
    age: str | None = None


Row = DeviceRow | PoolRow | SliceRow | ClaimRow | TemplateRow | ClassRow | NodeRow | TaintRow


@dataclass(slots=True)
class Listing:
    """A list of rows of one kind (``Device``); ``source`` says what was read, ``notes`` what was left out and why.

    ``namespace`` is the one that was looked at, where the objects have one and not all were asked for; ``elsewhere``
    names others that have some. Neither is written.
    """

    kind: str
    items: list[Any]
    source: str = ""
    notes: list[str] = field(default_factory=list)
    namespace: str | None = None
    elsewhere: list[str] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """``{"apiVersion", "kind": "DeviceList", "items", ...}``."""
        out: dict[str, Any] = {"apiVersion": API_VERSION, "kind": f"{self.kind}List", "source": self.source}
        if self.notes:
            out["notes"] = self.notes
        out["items"] = to_plain(self.items)
        return out

    def nothing(self) -> str:
        """What is said of an empty list, in kubectl's words."""
        return "No resources found" + (f" in {self.namespace} namespace." if self.namespace else ".")
