"""The Kubernetes objects that allocation reads, in the shape of their v1 API, as slotted dataclasses.

Instances are made once by ``dractl.kube.decode`` and not changed afterwards; they compare by identity. Field names are
the API's, in snake case. ``None`` means unset where the API tells unset and empty apart. Source: the API reference of
resource.k8s.io/v1, core/v1 and scheduling of Kubernetes 1.36.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from dractl.kube.quantity import Quantity

Json = dict[str, Any]


@dataclass(slots=True, eq=False)
class Origin:
    """Where an object was read: a file with the line of its first key, or an API path."""

    source: str
    line: int | None = None
    document: int | None = None

    def __str__(self) -> str:
        return self.source if self.line is None else f"{self.source}:{self.line}"


@dataclass(slots=True, eq=False)
class OwnerReference:
    """One entry of metadata.ownerReferences."""

    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool = False


@dataclass(slots=True, eq=False)
class Meta:
    """metadata of any object. Times are RFC 3339 texts as the server wrote them, or None."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    generate_name: str = ""
    labels: dict[str, str] = field(default_factory=dict)
    annotations: dict[str, str] = field(default_factory=dict)
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    finalizers: list[str] = field(default_factory=list)
    owners: list[OwnerReference] = field(default_factory=list)
    generation: int = 0
    resource_version: str = ""
    writers: tuple[tuple[str, str], ...] = ()
    """Field managers that wrote the object through an old version of resource.k8s.io: (manager, version)."""


@dataclass(slots=True, eq=False)
class Condition:
    """A metav1 condition, or a pod or node condition (they share these fields but for the heartbeat, a node's)."""

    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""
    last_transition_time: str | None = None
    last_heartbeat_time: str | None = None


# --- selection of nodes ---------------------------------------------------------------------------------------------


@dataclass(slots=True, eq=False)
class NodeRequirement:
    """One expression of a node selector term: key, operator (In, NotIn, Exists, DoesNotExist, Gt, Lt), values."""

    key: str = ""
    operator: str = ""
    values: list[str] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class NodeSelectorTerm:
    """Requirements on labels and on fields; all must hold. A term without any matches nothing."""

    match_expressions: list[NodeRequirement] = field(default_factory=list)
    match_fields: list[NodeRequirement] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class NodeSelector:
    """Terms of which one must hold."""

    terms: list[NodeSelectorTerm] = field(default_factory=list)


# --- ResourceSlice --------------------------------------------------------------------------------------------------

AttributeScalar = bool | int | str
AttributeData = AttributeScalar | tuple[AttributeScalar, ...]


@dataclass(slots=True, eq=False)
class DeviceAttribute:
    """A typed value: ``kind`` is the API's field name (int, bool, string, version, ints, bools, strings, versions).

    ``kind`` is empty where no known field was set (a newer API, or a list whose gate is off). Versions stay text.
    """

    kind: str
    value: AttributeData


@dataclass(slots=True, eq=False)
class CapacityRange:
    """requestPolicy.validRange."""

    min: Quantity | None = None
    max: Quantity | None = None
    step: Quantity | None = None


@dataclass(slots=True, eq=False)
class CapacityRequestPolicy:
    """How much of a capacity a request may consume."""

    default: Quantity | None = None
    valid_values: list[Quantity] = field(default_factory=list)
    valid_range: CapacityRange | None = None


@dataclass(slots=True, eq=False)
class DeviceCapacity:
    """An amount that a device has, and the policy for sharing it."""

    value: Quantity
    request_policy: CapacityRequestPolicy | None = None


@dataclass(slots=True, eq=False)
class CounterSet:
    """spec.sharedCounters[]: named counters that devices of the pool draw from."""

    name: str = ""
    counters: dict[str, Quantity] = field(default_factory=dict)


@dataclass(slots=True, eq=False)
class DeviceCounterConsumption:
    """What one device takes from one counter set."""

    counter_set: str = ""
    counters: dict[str, Quantity] = field(default_factory=dict)
    compatibility_groups: list[str] = field(default_factory=list)
    """1.37, alpha: devices drawing on one set may only be allocated together when they share a group."""


@dataclass(slots=True, eq=False)
class DeviceTaint:
    """A taint of a device; effect is NoSchedule, NoExecute or None. ``rule`` names the DeviceTaintRule it came from."""

    key: str = ""
    value: str = ""
    effect: str = ""
    time_added: str | None = None
    rule: str = ""


@dataclass(slots=True, eq=False)
class Device:
    """One device of a slice. ``allow_multiple_allocations`` False is the same as unset."""

    name: str = ""
    attributes: dict[str, DeviceAttribute] = field(default_factory=dict)
    capacity: dict[str, DeviceCapacity] = field(default_factory=dict)
    consumes_counters: list[DeviceCounterConsumption] = field(default_factory=list)
    node_name: str | None = None
    node_selector: NodeSelector | None = None
    all_nodes: bool | None = None
    taints: list[DeviceTaint] = field(default_factory=list)
    binds_to_node: bool = False
    binding_conditions: list[str] | None = None
    binding_failure_conditions: list[str] | None = None
    allow_multiple_allocations: bool = False
    node_allocatable: Json | None = None
    """nodeAllocatableResourceMappings (1.36) or nodeAllocatableResources (1.37) as written."""


@dataclass(slots=True, eq=False)
class PoolRef:
    """spec.pool of a slice."""

    name: str = ""
    generation: int = 0
    resource_slice_count: int = 0


@dataclass(slots=True, eq=False)
class ResourceSlice:
    """What a driver publishes: devices, or shared counters, of one pool."""

    meta: Meta
    driver: str = ""
    pool: PoolRef = field(default_factory=PoolRef)
    node_name: str | None = None
    node_selector: NodeSelector | None = None
    all_nodes: bool | None = None
    per_device_node_selection: bool | None = None
    devices: list[Device] = field(default_factory=list)
    shared_counters: list[CounterSet] = field(default_factory=list)
    partition_type_attribute: str | None = None
    skip_node_operations: list[str] = field(default_factory=list)
    """1.37, alpha: node operations that the kubelet need not call the driver for."""
    origin: Origin | None = None


# --- DeviceClass, ResourceClaim, ResourceClaimTemplate --------------------------------------------------------------


@dataclass(slots=True, eq=False)
class DeviceSelector:
    """One selector: ``cel`` is the expression, or None for a selector of a kind that this release does not know."""

    cel: str | None = None


@dataclass(slots=True, eq=False)
class OpaqueConfig:
    """Parameters for a driver, as JSON."""

    driver: str = ""
    parameters: Any = None


@dataclass(slots=True, eq=False)
class DeviceConfig:
    """One entry of a config list; ``requests`` is empty for all requests and for classes."""

    requests: list[str] = field(default_factory=list)
    opaque: OpaqueConfig | None = None
    source: str = ""
    """FromClass or FromClaim in an allocation, else empty."""


@dataclass(slots=True, eq=False)
class DeviceClass:
    """A category of devices. ``created`` orders classes that serve one extended resource."""

    meta: Meta
    selectors: list[DeviceSelector] = field(default_factory=list)
    config: list[DeviceConfig] = field(default_factory=list)
    extended_resource_name: str | None = None
    origin: Origin | None = None


@dataclass(slots=True, eq=False)
class DeviceToleration:
    """A toleration of device taints."""

    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""
    toleration_seconds: int | None = None


@dataclass(slots=True, eq=False)
class DerivedAttribute:
    """1.37, alpha: an attribute computed by a CEL expression, for the constraints of the claim."""

    name: str = ""
    expression: str = ""


@dataclass(slots=True, eq=False)
class DeviceRequest:
    """A request (``exactly``) or one alternative of ``firstAvailable``.

    ``admin_access`` keeps None (unset) apart from False. ``capacity`` is capacity.requests, or None when unset.
    """

    name: str = ""
    device_class_name: str = ""
    selectors: list[DeviceSelector] = field(default_factory=list)
    allocation_mode: str = ""
    count: int = 0
    admin_access: bool | None = None
    tolerations: list[DeviceToleration] = field(default_factory=list)
    capacity: dict[str, Quantity] | None = None
    derived_attributes: list[DerivedAttribute] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class ClaimRequest:
    """An entry of spec.devices.requests: one ``exactly`` or several alternatives, in order of preference."""

    name: str = ""
    exactly: DeviceRequest | None = None
    first_available: list[DeviceRequest] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class DeviceConstraint:
    """A constraint over requests (none listed: all of the claim)."""

    requests: list[str] = field(default_factory=list)
    match_attribute: str | None = None
    distinct_attribute: str | None = None


@dataclass(slots=True, eq=False)
class ClaimSpec:
    """spec.devices of a claim."""

    requests: list[ClaimRequest] = field(default_factory=list)
    constraints: list[DeviceConstraint] = field(default_factory=list)
    config: list[DeviceConfig] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class AllocationDevice:
    """One result of an allocation. ``request`` is ``name`` or ``name/alternative``."""

    request: str = ""
    driver: str = ""
    pool: str = ""
    device: str = ""
    admin_access: bool | None = None
    tolerations: list[DeviceToleration] = field(default_factory=list)
    binding_conditions: list[str] = field(default_factory=list)
    binding_failure_conditions: list[str] = field(default_factory=list)
    share_id: str | None = None
    consumed_capacity: dict[str, Quantity] | None = None
    skip_node_operations: list[str] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class Allocation:
    """status.allocation of a claim."""

    results: list[AllocationDevice] = field(default_factory=list)
    config: list[DeviceConfig] = field(default_factory=list)
    node_selector: NodeSelector | None = None
    allocation_timestamp: str | None = None


@dataclass(slots=True, eq=False)
class Consumer:
    """An entry of status.reservedFor."""

    api_group: str = ""
    resource: str = ""
    name: str = ""
    uid: str = ""


@dataclass(slots=True, eq=False)
class DeviceStatus:
    """An entry of status.devices, written by a driver. ``data`` and ``network_data`` as written."""

    driver: str = ""
    pool: str = ""
    device: str = ""
    share_id: str | None = None
    conditions: list[Condition] = field(default_factory=list)
    data: Any = None
    network_data: Json | None = None


@dataclass(slots=True, eq=False)
class ResourceClaim:
    """A claim: what is asked for, and once allocated what it holds and who uses it."""

    meta: Meta
    spec: ClaimSpec = field(default_factory=ClaimSpec)
    allocation: Allocation | None = None
    reserved_for: list[Consumer] = field(default_factory=list)
    devices: list[DeviceStatus] = field(default_factory=list)
    origin: Origin | None = None


@dataclass(slots=True, eq=False)
class ResourceClaimTemplate:
    """The claim that is made for each pod naming the template."""

    meta: Meta
    spec: ClaimSpec = field(default_factory=ClaimSpec)
    labels: dict[str, str] = field(default_factory=dict)
    annotations: dict[str, str] = field(default_factory=dict)
    origin: Origin | None = None


@dataclass(slots=True, eq=False)
class DeviceTaintRule:
    """A taint for all devices that the selector fits. ``selector`` None (unset) and empty differ, see the fields."""

    meta: Meta
    selector: DeviceTaintSelector | None = None
    taint: DeviceTaint = field(default_factory=DeviceTaint)
    conditions: list[Condition] = field(default_factory=list)
    origin: Origin | None = None


@dataclass(slots=True, eq=False)
class DeviceTaintSelector:
    """spec.deviceSelector of a taint rule; unset fields fit everything."""

    driver: str | None = None
    pool: str | None = None
    device: str | None = None


# --- core/v1 --------------------------------------------------------------------------------------------------------


@dataclass(slots=True, eq=False)
class Taint:
    """A taint of a node."""

    key: str = ""
    value: str = ""
    effect: str = ""
    time_added: str | None = None


@dataclass(slots=True, eq=False)
class Toleration:
    """A pod's toleration of node taints."""

    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""
    toleration_seconds: int | None = None


@dataclass(slots=True, eq=False)
class Node:
    """A node. ``capacity`` and ``allocatable`` map resource names to quantities."""

    meta: Meta
    unschedulable: bool = False
    taints: list[Taint] = field(default_factory=list)
    capacity: dict[str, Quantity] = field(default_factory=dict)
    allocatable: dict[str, Quantity] = field(default_factory=dict)
    conditions: list[Condition] = field(default_factory=list)
    kubelet_version: str = ""
    declared_features: list[str] = field(default_factory=list)
    """status.declaredFeatures: gates that the node says it has on."""
    origin: Origin | None = None


@dataclass(slots=True, eq=False)
class Namespace:
    """A namespace."""

    meta: Meta
    phase: str = ""
    origin: Origin | None = None


@dataclass(slots=True, eq=False)
class PodResourceClaim:
    """An entry of spec.resourceClaims of a pod."""

    name: str = ""
    resource_claim_name: str | None = None
    resource_claim_template_name: str | None = None


@dataclass(slots=True, eq=False)
class ContainerClaim:
    """An entry of resources.claims of a container."""

    name: str = ""
    request: str = ""


@dataclass(slots=True, eq=False)
class Container:
    """A container as far as resources are concerned."""

    name: str = ""
    image: str = ""
    requests: dict[str, Quantity] = field(default_factory=dict)
    limits: dict[str, Quantity] = field(default_factory=dict)
    claims: list[ContainerClaim] = field(default_factory=list)
    init: bool = False
    restart_policy: str = ""


@dataclass(slots=True, eq=False)
class ExtendedResourceClaimStatus:
    """status.extendedResourceClaimStatus of a pod; mappings are (container, resource, request)."""

    resource_claim_name: str = ""
    request_mappings: list[tuple[str, str, str]] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class Pod:
    """A pod. ``claim_statuses`` maps an entry of spec.resourceClaims to its claim (None: intentionally none).

    ``affinity`` is spec.affinity as written; ``node_affinity_required`` is its required node selector.
    """

    meta: Meta
    node_name: str = ""
    scheduler_name: str = ""
    priority: int = 0
    priority_class_name: str = ""
    service_account_name: str = ""
    node_selector: dict[str, str] = field(default_factory=dict)
    node_affinity_required: NodeSelector | None = None
    affinity: Json = field(default_factory=dict)
    topology_spread_constraints: list[Json] = field(default_factory=list)
    tolerations: list[Toleration] = field(default_factory=list)
    resource_claims: list[PodResourceClaim] = field(default_factory=list)
    containers: list[Container] = field(default_factory=list)
    scheduling_gates: list[str] = field(default_factory=list)
    overhead: dict[str, Quantity] = field(default_factory=dict)
    phase: str = ""
    reason: str = ""
    message: str = ""
    conditions: list[Condition] = field(default_factory=list)
    claim_statuses: dict[str, str | None] = field(default_factory=dict)
    extended_claim: ExtendedResourceClaimStatus | None = None
    container_statuses: list[Json] = field(default_factory=list)
    nominated_node_name: str = ""
    origin: Origin | None = None


@dataclass(slots=True, eq=False)
class Event:
    """An event of core/v1 (events.k8s.io fields are folded into these)."""

    meta: Meta
    kind: str = ""
    namespace: str = ""
    name: str = ""
    uid: str = ""
    type: str = ""
    reason: str = ""
    message: str = ""
    count: int = 0
    first_timestamp: str | None = None
    last_timestamp: str | None = None
    source: str = ""
    origin: Origin | None = None


@dataclass(slots=True, eq=False)
class GenericObject:
    """An object of any other kind, kept as written: DaemonSets, RBAC, quotas, policies, CSINodes and the like."""

    api_version: str
    kind: str
    meta: Meta
    body: Mapping[str, Any]
    origin: Origin | None = None


KubeObject = (
    ResourceSlice
    | DeviceClass
    | ResourceClaim
    | ResourceClaimTemplate
    | DeviceTaintRule
    | Node
    | Namespace
    | Pod
    | Event
    | GenericObject
)
