"""Reading of metadata, node selectors and the kinds of core/v1; see ``dractl.kube.decode``."""

from __future__ import annotations

from dractl.kube import reader
from dractl.kube.objects import (
    Condition,
    Container,
    ContainerClaim,
    Event,
    ExtendedResourceClaimStatus,
    Json,
    Meta,
    Namespace,
    Node,
    NodeRequirement,
    NodeSelector,
    NodeSelectorTerm,
    OwnerReference,
    Pod,
    PodResourceClaim,
    Taint,
    Toleration,
)
from dractl.kube.reader import Unknown, each, fields, opt_text, text, texts

_META = fields(
    "name namespace uid generateName labels annotations creationTimestamp deletionTimestamp finalizers ownerReferences "
    "generation resourceVersion deletionGracePeriodSeconds managedFields selfLink"
)
_OWNER = fields("apiVersion kind name uid controller blockOwnerDeletion")
_SELECTOR = frozenset(["nodeSelectorTerms"])
_TERM = frozenset(["matchExpressions", "matchFields"])
_REQUIREMENT = frozenset(["key", "operator", "values"])
_CONDITION = fields("type status reason message lastTransitionTime observedGeneration")


def meta(body: Json, unknown: Unknown) -> Meta:
    """metadata."""
    return meta_at(reader.obj(body, "metadata", ""), "metadata", unknown)


def meta_at(data: Json, path: str, unknown: Unknown) -> Meta:
    """metadata found at ``path``."""
    unknown.check(data, _META, path)

    def owner(item: Json, at: str) -> OwnerReference:
        unknown.check(item, _OWNER, at)
        return OwnerReference(
            api_version=text(item, "apiVersion", at),
            kind=text(item, "kind", at),
            name=text(item, "name", at),
            uid=text(item, "uid", at),
            controller=reader.boolean(item, "controller", at),
        )

    return Meta(
        name=text(data, "name", path),
        namespace=text(data, "namespace", path),
        uid=text(data, "uid", path),
        generate_name=text(data, "generateName", path),
        labels=reader.text_map(data, "labels", path),
        annotations=reader.text_map(data, "annotations", path),
        creation_timestamp=opt_text(data, "creationTimestamp", path),
        deletion_timestamp=opt_text(data, "deletionTimestamp", path),
        finalizers=texts(data, "finalizers", path),
        owners=each(data, "ownerReferences", path, owner),
        generation=reader.integer(data, "generation", path),
        resource_version=text(data, "resourceVersion", path),
        writers=_writers(data.get("managedFields")),
    )


def _writers(entries: object) -> tuple[tuple[str, str], ...]:
    """Who of metadata.managedFields wrote through another version of resource.k8s.io than v1."""
    found: dict[tuple[str, str], None] = {}
    for entry in entries if isinstance(entries, list) else ():
        version = entry.get("apiVersion") if isinstance(entry, dict) else None
        if isinstance(version, str) and version.startswith("resource.k8s.io/") and version != "resource.k8s.io/v1":
            found[str(entry.get("manager") or "unknown"), version.partition("/")[2]] = None
    return tuple(found)


def node_selector(body: Json, key: str, path: str, unknown: Unknown) -> NodeSelector | None:
    """A core/v1 NodeSelector at ``key``, or None."""
    data = reader.opt_obj(body, key, path)
    if data is None:
        return None
    below = reader.join(path, key)
    unknown.check(data, _SELECTOR, below)

    def requirement(item: Json, at: str) -> NodeRequirement:
        unknown.check(item, _REQUIREMENT, at)
        return NodeRequirement(text(item, "key", at), text(item, "operator", at), texts(item, "values", at))

    def term(item: Json, at: str) -> NodeSelectorTerm:
        unknown.check(item, _TERM, at)
        return NodeSelectorTerm(
            each(item, "matchExpressions", at, requirement), each(item, "matchFields", at, requirement)
        )

    return NodeSelector(each(data, "nodeSelectorTerms", below, term))


def condition(item: Json, at: str) -> Condition:
    """A condition; probe times of pods are not kept."""
    return Condition(
        type=text(item, "type", at),
        status=text(item, "status", at),
        reason=text(item, "reason", at),
        message=text(item, "message", at),
        last_transition_time=opt_text(item, "lastTransitionTime", at),
        last_heartbeat_time=opt_text(item, "lastHeartbeatTime", at),
    )


def strict_condition(unknown: Unknown, item: Json, at: str) -> Condition:
    """A metav1 condition."""
    unknown.check(item, _CONDITION, at)
    return condition(item, at)


def namespace(body: Json, _version: str, unknown: Unknown) -> Namespace:
    """A Namespace."""
    status = reader.obj(body, "status", "")
    return Namespace(meta=meta(body, unknown), phase=text(status, "phase", "status"))


def node(body: Json, _version: str, unknown: Unknown) -> Node:
    """A Node."""
    spec = reader.obj(body, "spec", "")
    status = reader.obj(body, "status", "")
    return Node(
        meta=meta(body, unknown),
        unschedulable=reader.boolean(spec, "unschedulable", "spec"),
        taints=each(spec, "taints", "spec", _taint),
        capacity=reader.quantity_map(status, "capacity", "status"),
        allocatable=reader.quantity_map(status, "allocatable", "status"),
        conditions=each(status, "conditions", "status", condition),
        kubelet_version=text(reader.obj(status, "nodeInfo", "status"), "kubeletVersion", "status.nodeInfo"),
        declared_features=texts(status, "declaredFeatures", "status"),
    )


def _taint(item: Json, at: str) -> Taint:
    return Taint(
        key=text(item, "key", at),
        value=text(item, "value", at),
        effect=text(item, "effect", at),
        time_added=opt_text(item, "timeAdded", at),
    )


def _toleration(item: Json, at: str) -> Toleration:
    return Toleration(
        key=text(item, "key", at),
        operator=text(item, "operator", at),
        value=text(item, "value", at),
        effect=text(item, "effect", at),
        toleration_seconds=reader.opt_integer(item, "tolerationSeconds", at),
    )


def pod(body: Json, _version: str, unknown: Unknown) -> Pod:
    """A Pod. Fields that allocation and its explanation do not use are neither kept nor checked."""
    spec = reader.obj(body, "spec", "")
    status = reader.obj(body, "status", "")
    affinity = reader.obj(spec, "affinity", "spec")
    node_affinity = reader.obj(affinity, "nodeAffinity", "spec.affinity")
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    claim_statuses = {
        text(item, "name", f"status.resourceClaimStatuses[{index}]"): opt_text(
            item, "resourceClaimName", f"status.resourceClaimStatuses[{index}]"
        )
        for index, item in enumerate(each(status, "resourceClaimStatuses", "status", lambda item, _: item))
    }
    return Pod(
        meta=meta(body, unknown),
        node_name=text(spec, "nodeName", "spec"),
        scheduler_name=text(spec, "schedulerName", "spec"),
        priority=reader.integer(spec, "priority", "spec"),
        priority_class_name=text(spec, "priorityClassName", "spec"),
        service_account_name=text(spec, "serviceAccountName", "spec"),
        node_selector=reader.text_map(spec, "nodeSelector", "spec"),
        node_affinity_required=node_selector(node_affinity, required, "spec.affinity.nodeAffinity", unknown),
        affinity=affinity,
        topology_spread_constraints=each(spec, "topologySpreadConstraints", "spec", lambda item, _: item),
        tolerations=each(spec, "tolerations", "spec", _toleration),
        resource_claims=each(spec, "resourceClaims", "spec", _pod_claim),
        containers=[
            *each(spec, "initContainers", "spec", lambda item, at: _container(item, at, True)),
            *each(spec, "containers", "spec", lambda item, at: _container(item, at, False)),
        ],
        scheduling_gates=[text(g, "name", at) for g, at in each(spec, "schedulingGates", "spec", lambda i, a: (i, a))],
        overhead=reader.quantity_map(spec, "overhead", "spec"),
        phase=text(status, "phase", "status"),
        reason=text(status, "reason", "status"),
        message=text(status, "message", "status"),
        conditions=each(status, "conditions", "status", condition),
        claim_statuses=claim_statuses,
        extended_claim=_extended_claim(status),
        container_statuses=[
            item
            for key in ("initContainerStatuses", "containerStatuses")
            for item in each(status, key, "status", lambda item, _: item)
        ],
        nominated_node_name=text(status, "nominatedNodeName", "status"),
    )


def _pod_claim(item: Json, at: str) -> PodResourceClaim:
    # Up to 1.30 both names were one level deeper.
    source = reader.opt_obj(item, "source", at)
    names, below = (item, at) if source is None else (source, f"{at}.source")
    return PodResourceClaim(
        name=text(item, "name", at),
        resource_claim_name=opt_text(names, "resourceClaimName", below),
        resource_claim_template_name=opt_text(names, "resourceClaimTemplateName", below),
    )


def _container(item: Json, at: str, init: bool) -> Container:
    resources = reader.obj(item, "resources", at)
    below = f"{at}.resources"
    return Container(
        name=text(item, "name", at),
        image=text(item, "image", at),
        requests=reader.quantity_map(resources, "requests", below),
        limits=reader.quantity_map(resources, "limits", below),
        claims=each(resources, "claims", below, lambda c, a: ContainerClaim(text(c, "name", a), text(c, "request", a))),
        init=init,
        restart_policy=text(item, "restartPolicy", at),
    )


def _extended_claim(status: Json) -> ExtendedResourceClaimStatus | None:
    data = reader.opt_obj(status, "extendedResourceClaimStatus", "status")
    if data is None:
        return None
    path = "status.extendedResourceClaimStatus"

    def mapping(item: Json, at: str) -> tuple[str, str, str]:
        return text(item, "containerName", at), text(item, "resourceName", at), text(item, "requestName", at)

    return ExtendedResourceClaimStatus(
        resource_claim_name=text(data, "resourceClaimName", path),
        request_mappings=each(data, "requestMappings", path, mapping),
    )


def event(body: Json, version: str, unknown: Unknown) -> Event:
    """An Event of core/v1 or events.k8s.io/v1."""
    newer = version.startswith("events.")
    key = "regarding" if newer else "involvedObject"
    target = reader.obj(body, key, "")
    source = reader.obj(body, "deprecatedSource" if newer else "source", "")
    series = reader.obj(body, "series", "")
    times = ("deprecatedFirstTimestamp", "deprecatedLastTimestamp") if newer else ("firstTimestamp", "lastTimestamp")
    first, last = (opt_text(body, name, "") for name in times)
    event_time = opt_text(body, "eventTime", "")
    count = reader.integer(body, "deprecatedCount" if newer else "count", "")
    return Event(
        meta=meta(body, unknown),
        kind=text(target, "kind", key),
        namespace=text(target, "namespace", key),
        name=text(target, "name", key),
        uid=text(target, "uid", key),
        type=text(body, "type", ""),
        reason=text(body, "reason", ""),
        message=text(body, "note" if newer else "message", ""),
        count=count or reader.integer(series, "count", "series"),
        first_timestamp=first or event_time,
        last_timestamp=last or opt_text(series, "lastObservedTime", "series") or event_time,
        source=text(source, "component", "source")
        or text(body, "reportingController" if newer else "reportingComponent", ""),
    )
