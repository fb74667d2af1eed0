"""What of each kind a redacted snapshot keeps, field by field, and how. What is not named here is dropped."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from dractl.sources.redact import Redactor

Shape = Callable[[Redactor, Any], Any]
"""The kept form of a value, or ``GONE``."""

GONE: Any = object()

_ENUM = re.compile(r"[A-Za-z][A-Za-z0-9]{0,63}")
_PUBLIC = re.compile(r"[A-Za-z0-9][A-Za-z0-9_./-]{0,316}")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)")
_QUANTITY = re.compile(r"[+-]?[0-9.]+([eE][+-]?[0-9]+|[numkKMGTPE]i?)?")
_VERSION = re.compile(r"v?[0-9][0-9A-Za-z.+-]*")


def _texts(pattern: re.Pattern[str]) -> Shape:
    def shape(redactor: Redactor, value: Any) -> Any:
        return value if value == "" or (isinstance(value, str) and pattern.fullmatch(value)) else GONE

    return shape


enum = _texts(_ENUM)
"""A word of the API: an operator, a phase, a reason."""
public = _texts(_PUBLIC)
"""A technical name that expressions and constraints go by: drivers, attributes, counters, conditions."""
time = _texts(_TIME)
version = _texts(_VERSION)


def plain(redactor: Redactor, value: Any) -> Any:
    """A number or a truth value."""
    return value if value is None or isinstance(value, bool | int | float) else GONE


def digits(redactor: Redactor, value: Any) -> Any:
    """A number written as a text: a resourceVersion."""
    return value if isinstance(value, str) and value.isdigit() else GONE


def quantity(redactor: Redactor, value: Any) -> Any:
    """An amount."""
    if isinstance(value, str):
        return value if _QUANTITY.fullmatch(value) else GONE
    return plain(redactor, value)


def expression(redactor: Redactor, value: Any) -> Any:
    """A CEL expression."""
    return redactor.expression(value) if isinstance(value, str) else GONE


def name(category: str) -> Shape:
    """A name of a category."""

    def shape(redactor: Redactor, value: Any) -> Any:
        return redactor.name(category, value) if isinstance(value, str) else GONE

    return shape


def uid(redactor: Redactor, value: Any) -> Any:
    """An identifier that objects refer to each other by."""
    return redactor.name("uuid", value) if isinstance(value, str) else GONE


def class_name(redactor: Redactor, value: Any) -> Any:
    """The name of a DeviceClass."""
    return redactor.class_name(value) if isinstance(value, str) else GONE


def resource(redactor: Redactor, value: Any) -> Any:
    """The name of a resource."""
    return redactor.resource(value) if isinstance(value, str) else GONE


def label_key(redactor: Redactor, value: Any) -> Any:
    """A key of labels or taints."""
    return redactor.label_key(value) if isinstance(value, str) else GONE


def request(redactor: Redactor, value: Any) -> Any:
    """A request of a claim, or ``request/alternative``."""
    return "/".join(redactor.name("request", part) for part in value.split("/")) if isinstance(value, str) else GONE


def scheduler(redactor: Redactor, value: Any) -> Any:
    """A scheduler's name."""
    return value if value == "default-scheduler" else name("scheduler")(redactor, value)


def labels(redactor: Redactor, value: Any) -> Any:
    """Labels, or a selector of equal ones."""
    if not isinstance(value, dict):
        return GONE
    return {redactor.label_key(key): redactor.label_value(key, str(text)) for key, text in value.items()}


def obj(**fields: Shape) -> Shape:
    """An object with these fields."""

    def shape(redactor: Redactor, value: Any) -> Any:
        if not isinstance(value, dict):
            return GONE
        out = {key: fields[key](redactor, item) for key, item in value.items() if key in fields and item is not None}
        return {key: item for key, item in out.items() if item is not GONE}

    return shape


def each(inner: Shape) -> Shape:
    """A list."""

    def shape(redactor: Redactor, value: Any) -> Any:
        if not isinstance(value, list):
            return GONE
        return [item for item in (inner(redactor, one) for one in value) if item is not GONE]

    return shape


def mapping(key: Shape, inner: Shape) -> Shape:
    """A map whose keys are names too."""

    def shape(redactor: Redactor, value: Any) -> Any:
        if not isinstance(value, dict):
            return GONE
        pairs = ((key(redactor, one), inner(redactor, item)) for one, item in value.items())
        return {one: item for one, item in pairs if one is not GONE and item is not GONE}

    return shape


def _keyed(redactor: Redactor, value: Any) -> Any:
    """A taint, toleration or requirement: what its values are depends on its key."""
    if not isinstance(value, dict):
        return GONE
    kept = _KEYED(redactor, value)
    key = str(value.get("key") or "")
    by_name = key == "metadata.name"  # the one field that node selectors can ask for
    if isinstance(value.get("value"), str):
        kept["value"] = redactor.label_value(key, value["value"])
    if isinstance(value.get("values"), list):
        kept["values"] = [
            redactor.name("node", text) if by_name else redactor.label_value(key, text)
            for text in map(str, value["values"])
        ]
    return kept


def _key(redactor: Redactor, value: Any) -> Any:
    return value if value == "metadata.name" else label_key(redactor, value)


_KEYED = obj(key=_key, operator=enum, effect=enum, tolerationSeconds=plain, timeAdded=time)
_requirements = each(_keyed)
_label_selector = obj(matchLabels=labels, matchExpressions=_requirements)
_node_term = obj(matchExpressions=_requirements, matchFields=_requirements)
_node_selector = obj(nodeSelectorTerms=each(_node_term))

_KINDS = {"Pod": "pod", "ResourceClaim": "claim", "Node": "node", "ResourceSlice": "slice", "Namespace": "namespace",
          "ResourceClaimTemplate": "template"}  # fmt: skip
_RESOURCES = {"pods": "pod", "resourceclaims": "claim", "nodes": "node"}


def _reference(redactor: Redactor, value: Any) -> Any:
    """An owner, a consumer or the object of an event: the kind says of which category the name is."""
    if not isinstance(value, dict):
        return GONE
    kept = obj(apiVersion=public, apiGroup=public, kind=enum, resource=enum, uid=uid, controller=plain,
               namespace=name("namespace"))(redactor, value)  # fmt: skip
    kind, plural = str(value.get("kind") or ""), str(value.get("resource") or "")
    if isinstance(value.get("name"), str):
        kept["name"] = (
            redactor.class_name(value["name"])
            if kind == "DeviceClass"
            else redactor.name(_KINDS.get(kind) or _RESOURCES.get(plural) or "object", value["name"])
        )
    return kept


_annotations = obj(**{
    "resource.kubernetes.io/pod-claim-name": name("entry"),
    "resource.kubernetes.io/extended-resource-claim": enum,
})  # fmt: skip


def _meta(own: Shape) -> Shape:
    return obj(name=own, namespace=name("namespace"), uid=uid, labels=labels, annotations=_annotations,
               creationTimestamp=time, deletionTimestamp=time, deletionGracePeriodSeconds=plain,
               finalizers=each(label_key), ownerReferences=each(_reference), generation=plain,
               resourceVersion=digits)  # fmt: skip


def _kind(own: Shape, **fields: Shape) -> Shape:
    return obj(apiVersion=public, kind=enum, metadata=_meta(own), **fields)


# --- resource.k8s.io, all served versions -----------------------------------------------------------------------------


def _attributes(redactor: Redactor, value: Any) -> Any:
    if not isinstance(value, dict):
        return GONE
    out = {}
    for key, attribute in value.items():
        if isinstance(attribute, dict) and _PUBLIC.fullmatch(key):
            out[key] = {kind: _attribute(redactor, key, kind, item) for kind, item in attribute.items()}
            out[key] = {kind: item for kind, item in out[key].items() if item is not GONE}
    return out


def _attribute(redactor: Redactor, key: str, kind: str, value: Any) -> Any:
    if isinstance(value, list):
        return [item for item in (_attribute(redactor, key, kind, one) for one in value) if item is not GONE]
    if kind.startswith("string") and isinstance(value, str):
        return redactor.attribute(key, value)
    if kind.startswith("version"):
        return version(redactor, value)
    return plain(redactor, value)


_counters = mapping(public, obj(value=quantity))
_policy = obj(default=quantity, validValues=each(quantity), validRange=obj(min=quantity, max=quantity, step=quantity))


def _capacity_value(redactor: Redactor, value: Any) -> Any:
    """v1alpha3 writes a bare quantity where later versions have an object."""
    return obj(value=quantity, requestPolicy=_policy)(redactor, value) if isinstance(value, dict) else quantity(
        redactor, value
    )  # fmt: skip


_taint = _keyed
_device_fields: dict[str, Shape] = {
    "attributes": _attributes,
    "capacity": mapping(public, _capacity_value),
    "consumesCounters": each(
        obj(counterSet=name("counters"), counters=_counters, compatibilityGroups=each(name("group")))
    ),
    "nodeName": name("node"),
    "nodeSelector": _node_selector,
    "allNodes": plain,
    "taints": each(_taint),
    "bindsToNode": plain,
    "bindingConditions": each(public),
    "bindingFailureConditions": each(public),
    "allowMultipleAllocations": plain,
    "nodeAllocatableResourceMappings": mapping(resource, obj(capacityKey=public, allocationMultiplier=quantity)),
}


_config = each(
    obj(source=enum, requests=each(request), opaque=obj(driver=public, parameters=lambda redactor, value: {}))
)
_tolerations = each(_keyed)
_selectors = each(obj(cel=obj(expression=expression)))
_request_fields: dict[str, Shape] = {
    "name": request,
    "deviceClassName": class_name,
    "selectors": _selectors,
    "allocationMode": enum,
    "count": plain,
    "adminAccess": plain,
    "tolerations": _tolerations,
    "capacity": obj(requests=mapping(public, quantity)),
    "derivedAttributes": each(obj(name=public, expression=expression)),
}
_claim_spec = obj(
    devices=obj(
        requests=each(
            obj(**_request_fields, exactly=obj(**_request_fields), firstAvailable=each(obj(**_request_fields)))
        ),
        constraints=each(obj(requests=each(request), matchAttribute=public, distinctAttribute=public)),
        config=_config,
    )
)
_result = obj(request=request, driver=public, pool=name("node"), device=name("device"), adminAccess=plain,
              tolerations=_tolerations, bindingConditions=each(public), bindingFailureConditions=each(public),
              shareID=uid, consumedCapacity=mapping(public, quantity))  # fmt: skip
_condition = obj(type=public, status=enum, reason=enum, lastTransitionTime=time, lastHeartbeatTime=time,
                 observedGeneration=plain)  # fmt: skip
_claim_status = obj(
    allocation=obj(
        devices=obj(results=each(_result), config=_config), nodeSelector=_node_selector, allocationTimestamp=time
    ),
    reservedFor=each(_reference),
    devices=each(
        obj(driver=public, pool=name("node"), device=name("device"), shareID=uid, conditions=each(_condition))
    ),
)

# --- core/v1 ----------------------------------------------------------------------------------------------------------

_amounts = mapping(resource, quantity)
_container = obj(
    name=name("container"),
    image=name("image"),
    restartPolicy=enum,
    resources=obj(requests=_amounts, limits=_amounts, claims=each(obj(name=name("entry"), request=request))),
)
_term = obj(labelSelector=_label_selector, namespaceSelector=_label_selector, namespaces=each(name("namespace")),
            topologyKey=label_key, matchLabelKeys=each(label_key), mismatchLabelKeys=each(label_key))  # fmt: skip
_pod_terms = obj(
    requiredDuringSchedulingIgnoredDuringExecution=each(_term),
    preferredDuringSchedulingIgnoredDuringExecution=each(obj(weight=plain, podAffinityTerm=_term)),
)
_affinity = obj(
    nodeAffinity=obj(
        requiredDuringSchedulingIgnoredDuringExecution=_node_selector,
        preferredDuringSchedulingIgnoredDuringExecution=each(obj(weight=plain, preference=_node_term)),
    ),
    podAffinity=_pod_terms,
    podAntiAffinity=_pod_terms,
)
_spread = obj(maxSkew=plain, topologyKey=label_key, whenUnsatisfiable=enum, labelSelector=_label_selector,
              minDomains=plain, nodeAffinityPolicy=enum, nodeTaintsPolicy=enum,
              matchLabelKeys=each(label_key))  # fmt: skip
_state = obj(waiting=obj(reason=enum), running=obj(startedAt=time),
             terminated=obj(reason=enum, exitCode=plain, startedAt=time, finishedAt=time))  # fmt: skip
_container_status = obj(name=name("container"), ready=plain, started=plain, restartCount=plain, state=_state,
                        lastState=_state)  # fmt: skip
_pod_spec = obj(
    nodeName=name("node"), schedulerName=scheduler, priority=plain, nodeSelector=labels, affinity=_affinity,
    topologySpreadConstraints=each(_spread), tolerations=_tolerations, restartPolicy=enum, overhead=_amounts,
    resourceClaims=each(obj(name=name("entry"), resourceClaimName=name("claim"),
                            resourceClaimTemplateName=name("template"))),
    containers=each(_container), initContainers=each(_container), schedulingGates=each(obj(name=label_key)),
    preemptionPolicy=enum, hostNetwork=plain,
)  # fmt: skip
_pod_status = obj(
    phase=enum, reason=enum, conditions=each(_condition), startTime=time, qosClass=enum,
    nominatedNodeName=name("node"), containerStatuses=each(_container_status),
    initContainerStatuses=each(_container_status),
    resourceClaimStatuses=each(obj(name=name("entry"), resourceClaimName=name("claim"))),
    extendedResourceClaimStatus=obj(
        resourceClaimName=name("claim"),
        requestMappings=each(obj(containerName=name("container"), resourceName=resource, requestName=request)),
    ),
)  # fmt: skip
_event_fields: dict[str, Shape] = {
    "involvedObject": _reference, "regarding": _reference, "type": enum, "reason": enum, "count": plain,
    "firstTimestamp": time, "lastTimestamp": time, "eventTime": time, "deprecatedCount": plain,
    "deprecatedFirstTimestamp": time, "deprecatedLastTimestamp": time,
    "series": obj(count=plain, lastObservedTime=time),
}  # fmt: skip

SHAPES: dict[str, Shape] = {
    "ResourceSlice": _kind(
        name("slice"),
        spec=obj(
            driver=public,
            pool=obj(name=name("node"), generation=plain, resourceSliceCount=plain),
            nodeName=name("node"),
            nodeSelector=_node_selector,
            allNodes=plain,
            perDeviceNodeSelection=plain,
            partitionTypeAttribute=public,
            devices=each(obj(name=name("device"), **_device_fields, basic=obj(**_device_fields))),
            sharedCounters=each(obj(name=name("counters"), counters=_counters)),
        ),
    ),
    "DeviceClass": _kind(class_name, spec=obj(selectors=_selectors, config=_config, extendedResourceName=resource)),
    "ResourceClaim": _kind(name("claim"), spec=_claim_spec, status=_claim_status),
    "ResourceClaimTemplate": _kind(name("template"), spec=obj(metadata=obj(labels=labels), spec=_claim_spec)),
    "DeviceTaintRule": _kind(
        name("rule"),
        spec=obj(
            deviceSelector=obj(driver=public, pool=name("node"), device=name("device"), deviceClassName=class_name),
            taint=_taint,
        ),
        status=obj(conditions=each(_condition)),
    ),
    "Node": _kind(
        name("node"),
        spec=obj(unschedulable=plain, taints=each(_taint)),
        status=obj(
            capacity=_amounts,
            allocatable=_amounts,
            conditions=each(_condition),
            nodeInfo=obj(kubeletVersion=version),
            declaredFeatures=each(enum),
        ),
    ),
    "Namespace": _kind(name("namespace"), status=obj(phase=enum)),
    "Pod": _kind(name("pod"), spec=_pod_spec, status=_pod_status),
    "Event": _kind(name("event"), **_event_fields),
}
"""The kinds that a redacted snapshot has."""
