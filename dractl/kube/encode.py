"""The objects of ``dractl.kube.objects`` -> JSON of the newest version (resource.k8s.io/v1, core/v1).

Fields that are unset or empty are left out, as the API's ``omitempty`` does; quantities are written in canonical form.
Reading a v1 object and writing it again gives the same JSON, defaults, unknown fields and quantities' spelling aside.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from dractl.kube.objects import (
    Allocation,
    AllocationDevice,
    CapacityRequestPolicy,
    ClaimRequest,
    ClaimSpec,
    Condition,
    CounterSet,
    Device,
    DeviceAttribute,
    DeviceCapacity,
    DeviceClass,
    DeviceConfig,
    DeviceConstraint,
    DeviceCounterConsumption,
    DeviceRequest,
    DeviceSelector,
    DeviceStatus,
    DeviceTaint,
    DeviceTaintRule,
    DeviceToleration,
    GenericObject,
    Json,
    Meta,
    Namespace,
    Node,
    NodeRequirement,
    NodeSelector,
    ResourceClaim,
    ResourceClaimTemplate,
    ResourceSlice,
)
from dractl.kube.quantity import Quantity

_RESOURCE = "resource.k8s.io/v1"


def encode(item: Any) -> Json:
    """A whole object.

    Raises:
        TypeError: for a kind that is only read (Pod, Event), so that no field is lost unseen.
    """
    match item:
        case ResourceSlice():
            return _object(_RESOURCE, "ResourceSlice", item.meta, spec=_slice_spec(item))
        case DeviceClass():
            spec = _tidy(
                selectors=[_selector(s) for s in item.selectors],
                config=[_config(c) for c in item.config],
                extendedResourceName=item.extended_resource_name,
            )
            return _object(_RESOURCE, "DeviceClass", item.meta, spec=spec)
        case ResourceClaim():
            return _object(
                _RESOURCE, "ResourceClaim", item.meta, spec=claim_spec(item.spec), status=_claim_status(item)
            )
        case ResourceClaimTemplate():
            inner = _tidy(labels=item.labels, annotations=item.annotations)
            return _object(
                _RESOURCE, "ResourceClaimTemplate", item.meta, spec=_tidy(metadata=inner, spec=claim_spec(item.spec))
            )
        case DeviceTaintRule():
            selector = None
            if item.selector is not None:
                selector = _tidy(driver=item.selector.driver, pool=item.selector.pool, device=item.selector.device)
            spec = _tidy(taint=_taint(item.taint))
            if selector is not None:
                spec["deviceSelector"] = selector
            status = _tidy(conditions=[_condition(c) for c in item.conditions])
            return _object(_RESOURCE, "DeviceTaintRule", item.meta, spec=spec, status=status)
        case Node():
            return _object("v1", "Node", item.meta, spec=_node_spec(item), status=_node_status(item))
        case Namespace():
            return _object("v1", "Namespace", item.meta, status=_tidy(phase=item.phase))
        case GenericObject():
            return dict(item.body)
    raise TypeError(f"objects of type {type(item).__name__} are not written")


def allocation(item: Allocation) -> Json:
    """status.allocation of a claim."""
    devices = _tidy(results=[_result(r) for r in item.results], config=[_config(c) for c in item.config])
    return {
        "devices": devices,
        **_tidy(nodeSelector=node_selector(item.node_selector), allocationTimestamp=item.allocation_timestamp),
    }


def node_selector(item: NodeSelector | None) -> Json | None:
    """A node selector."""
    if item is None:
        return None
    terms = [
        _tidy(
            matchExpressions=[_requirement(r) for r in term.match_expressions],
            matchFields=[_requirement(r) for r in term.match_fields],
        )
        for term in item.terms
    ]
    return {"nodeSelectorTerms": terms}


def claim_spec(item: ClaimSpec) -> Json:
    """spec of a claim."""
    devices = _tidy(
        requests=[_claim_request(r) for r in item.requests],
        constraints=[_constraint(c) for c in item.constraints],
        config=[_config(c) for c in item.config],
    )
    return {"devices": devices}


def _tidy(**values: Any) -> Json:
    """Without what is unset or empty; False and 0 stay only where given as such by an optional field."""
    return {key: value for key, value in values.items() if value is not None and value not in ("", [], {})}


def _object(version: str, kind: str, meta: Meta, **parts: Json) -> Json:
    return {"apiVersion": version, "kind": kind, "metadata": _meta(meta), **{k: v for k, v in parts.items() if v}}


def _meta(meta: Meta) -> Json:
    owners = [
        _tidy(apiVersion=o.api_version, kind=o.kind, name=o.name, uid=o.uid, controller=o.controller or None)
        for o in meta.owners
    ]
    return _tidy(
        name=meta.name,
        generateName=meta.generate_name,
        namespace=meta.namespace,
        uid=meta.uid,
        resourceVersion=meta.resource_version,
        generation=meta.generation or None,
        creationTimestamp=meta.creation_timestamp,
        deletionTimestamp=meta.deletion_timestamp,
        labels=meta.labels,
        annotations=meta.annotations,
        ownerReferences=owners,
        finalizers=meta.finalizers,
    )


def _quantities(items: Mapping[str, Quantity]) -> dict[str, str]:
    return {name: str(value) for name, value in items.items()}


def _requirement(item: NodeRequirement) -> Json:
    return {"key": item.key, "operator": item.operator, **_tidy(values=item.values)}


def _condition(item: Condition) -> Json:
    return _tidy(
        type=item.type,
        status=item.status,
        reason=item.reason,
        message=item.message,
        lastTransitionTime=item.last_transition_time,
    )


def _slice_spec(item: ResourceSlice) -> Json:
    pool = {
        "name": item.pool.name,
        "generation": item.pool.generation,
        "resourceSliceCount": item.pool.resource_slice_count,
    }
    spec: Json = {"driver": item.driver, "pool": pool}
    optional = {
        "nodeName": item.node_name,
        "nodeSelector": node_selector(item.node_selector),
        "allNodes": item.all_nodes,
        "perDeviceNodeSelection": item.per_device_node_selection,
    }
    spec.update({key: value for key, value in optional.items() if value is not None})
    spec.update(
        _tidy(
            devices=[_device(d) for d in item.devices],
            sharedCounters=[_counters(c.name, "name", c) for c in item.shared_counters],
            partitionTypeAttribute=item.partition_type_attribute,
            skipNodeOperations=item.skip_node_operations,
        )
    )
    return spec


def _device(item: Device) -> Json:
    return _tidy(
        name=item.name,
        attributes={name: _attribute(a) for name, a in item.attributes.items()},
        capacity={name: _capacity(c) for name, c in item.capacity.items()},
        consumesCounters=[_consumption(c) for c in item.consumes_counters],
        nodeName=item.node_name,
        nodeSelector=node_selector(item.node_selector),
        allNodes=item.all_nodes,
        taints=[_taint(t) for t in item.taints],
        bindsToNode=item.binds_to_node or None,
        bindingConditions=item.binding_conditions,
        bindingFailureConditions=item.binding_failure_conditions,
        allowMultipleAllocations=item.allow_multiple_allocations or None,
        nodeAllocatableResources=item.node_allocatable,
    )


def _attribute(item: DeviceAttribute) -> Json:
    if not item.kind:
        return {}
    return {item.kind: list(item.value) if isinstance(item.value, tuple) else item.value}


def _capacity(item: DeviceCapacity) -> Json:
    policy = None if item.request_policy is None else _policy(item.request_policy)
    return {"value": str(item.value), **({} if policy is None else {"requestPolicy": policy})}


def _policy(item: CapacityRequestPolicy) -> Json:
    bounds = item.valid_range
    return _tidy(
        default=_text(item.default),
        validValues=[str(value) for value in item.valid_values],
        validRange=None
        if bounds is None
        else _tidy(min=_text(bounds.min), max=_text(bounds.max), step=_text(bounds.step)),
    )


def _text(value: Quantity | None) -> str | None:
    return None if value is None else str(value)


def _counters(name: str, key: str, item: CounterSet | DeviceCounterConsumption) -> Json:
    return {key: name, "counters": {n: {"value": str(value)} for n, value in item.counters.items()}}


def _consumption(item: DeviceCounterConsumption) -> Json:
    groups = _tidy(compatibilityGroups=item.compatibility_groups)
    return {**_counters(item.counter_set, "counterSet", item), **groups}


def _taint(item: DeviceTaint) -> Json:
    return _tidy(key=item.key, value=item.value, effect=item.effect, timeAdded=item.time_added)


def _selector(item: DeviceSelector) -> Json:
    return {} if item.cel is None else {"cel": {"expression": item.cel}}


def _config(item: DeviceConfig) -> Json:
    opaque = None
    if item.opaque is not None:
        opaque = {"driver": item.opaque.driver, "parameters": item.opaque.parameters}
    return _tidy(source=item.source, requests=item.requests, opaque=opaque)


def _claim_request(item: ClaimRequest) -> Json:
    result: Json = {"name": item.name}
    if item.exactly is not None:
        result["exactly"] = _request(item.exactly)
    if item.first_available:
        result["firstAvailable"] = [{"name": r.name, **_request(r)} for r in item.first_available]
    return result


def _request(item: DeviceRequest) -> Json:
    result = _tidy(
        deviceClassName=item.device_class_name,
        selectors=[_selector(s) for s in item.selectors],
        allocationMode=item.allocation_mode,
        count=item.count or None,
        adminAccess=item.admin_access,
        tolerations=[_toleration(t) for t in item.tolerations],
        derivedAttributes=[{"name": d.name, "expression": d.expression} for d in item.derived_attributes],
    )
    if item.capacity is not None:
        result["capacity"] = _tidy(requests=_quantities(item.capacity))
    return result


def _toleration(item: DeviceToleration) -> Json:
    return _tidy(
        key=item.key,
        operator=item.operator,
        value=item.value,
        effect=item.effect,
        tolerationSeconds=item.toleration_seconds,
    )


def _constraint(item: DeviceConstraint) -> Json:
    return _tidy(requests=item.requests, matchAttribute=item.match_attribute, distinctAttribute=item.distinct_attribute)


def _result(item: AllocationDevice) -> Json:
    return {
        "request": item.request,
        "driver": item.driver,
        "pool": item.pool,
        "device": item.device,
        **_tidy(
            adminAccess=item.admin_access,
            tolerations=[_toleration(t) for t in item.tolerations],
            bindingConditions=item.binding_conditions,
            bindingFailureConditions=item.binding_failure_conditions,
            shareID=item.share_id,
            consumedCapacity=_quantities(item.consumed_capacity or {}),
            skipNodeOperations=item.skip_node_operations,
        ),
    }


def _claim_status(item: ResourceClaim) -> Json:
    return _tidy(
        allocation=None if item.allocation is None else allocation(item.allocation),
        reservedFor=[
            _tidy(apiGroup=c.api_group, resource=c.resource, name=c.name, uid=c.uid) for c in item.reserved_for
        ],
        devices=[_device_status(d) for d in item.devices],
    )


def _device_status(item: DeviceStatus) -> Json:
    return _tidy(
        driver=item.driver,
        pool=item.pool,
        device=item.device,
        shareID=item.share_id,
        conditions=[_condition(c) for c in item.conditions],
        data=item.data,
        networkData=item.network_data,
    )


def _node_spec(item: Node) -> Json:
    return _tidy(
        unschedulable=item.unschedulable or None,
        taints=[_tidy(key=t.key, value=t.value, effect=t.effect, timeAdded=t.time_added) for t in item.taints],
    )


def _node_status(item: Node) -> Json:
    return _tidy(
        capacity=_quantities(item.capacity),
        allocatable=_quantities(item.allocatable),
        conditions=[_condition(c) for c in item.conditions],
        nodeInfo=_tidy(kubeletVersion=item.kubelet_version),
        declaredFeatures=item.declared_features,
    )


def encode_all(items: Iterable[Any]) -> Json:
    """A v1 List of objects."""
    return {"apiVersion": "v1", "kind": "List", "items": [encode(item) for item in items]}
