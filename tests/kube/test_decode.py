"""Decoding: every served version reads into the same objects, and what is wrong is named with its place."""

from __future__ import annotations

from typing import Any

import pytest

from dractl.kube.decode import DecodeError, DecodeReport, decode
from dractl.kube.objects import (
    DeviceTaintRule,
    Event,
    GenericObject,
    KubeObject,
    Node,
    Origin,
    Pod,
    ResourceClaim,
    ResourceClaimTemplate,
    ResourceSlice,
)
from dractl.kube.quantity import Quantity

META = {"name": "x", "namespace": "ns"}
EXACT: dict[str, Any] = {
    "deviceClassName": "gpu",
    "selectors": [{"cel": {"expression": "true"}}],
    "allocationMode": "ExactCount",
    "count": 2,
    "adminAccess": False,
    "tolerations": [{"key": "k", "operator": "Exists", "effect": "NoSchedule", "tolerationSeconds": 5}],
    "capacity": {"requests": {"memory": "1Gi"}},
}
DEVICE: dict[str, Any] = {
    "attributes": {
        "model": {"string": "a"},
        "index": {"int": 1},
        "ok": {"bool": True},
        "one": {"bool": False},
        "v": {"version": "1.2.3"},
        "many": {"ints": [1, 2]},
    },
    "capacity": {
        "memory": {"value": "80Gi", "requestPolicy": {"default": "1Gi", "validRange": {"min": "1Gi", "step": "1Gi"}}},
        "cores": {"value": 4},
    },
    "consumesCounters": [{"counterSet": "set", "counters": {"slices": {"value": "1"}}}],
    "taints": [{"key": "t", "effect": "NoSchedule"}],
    "nodeSelector": {"nodeSelectorTerms": [{"matchExpressions": [{"key": "z", "operator": "In", "values": ["1"]}]}]},
    "bindsToNode": True,
    "bindingConditions": ["ready"],
    "bindingFailureConditions": ["failed"],
    "allowMultipleAllocations": True,
}


def resource(kind: str, version: str = "v1", **body: Any) -> dict[str, Any]:
    return {"apiVersion": f"resource.k8s.io/{version}", "kind": kind, "metadata": META, **body}


def dump(value: Any) -> Any:
    """A comparable form of an object tree."""
    if isinstance(value, list | tuple):
        return [dump(item) for item in value]
    if isinstance(value, dict):
        return {key: dump(item) for key, item in value.items()}
    if hasattr(value, "__slots__") and not isinstance(value, Quantity):
        return {name: dump(getattr(value, name)) for name in value.__slots__ if name != "origin"}
    return value


def claim_of(version: str, request: dict[str, Any]) -> ResourceClaim:
    read = decode(resource("ResourceClaim", version, spec={"devices": {"requests": [request]}}), strict=True)
    assert isinstance(read, ResourceClaim)
    return read


def test_requests_of_all_versions_read_alike() -> None:
    nested = claim_of("v1", {"name": "r", "exactly": EXACT})
    for version, request in (
        ("v1beta2", {"name": "r", "exactly": EXACT}),
        ("v1beta1", {"name": "r", **EXACT}),
        ("v1alpha3", {"name": "r", **EXACT}),
    ):
        assert dump(claim_of(version, request)) == dump(nested), version
    exact = nested.spec.requests[0].exactly
    assert exact is not None
    assert (exact.name, exact.count, exact.admin_access) == ("r", 2, False)
    assert exact.capacity == {"memory": Quantity.parse("1Gi")}
    assert exact.tolerations[0].toleration_seconds == 5


def test_a_flat_request_is_exact_only_once_a_field_is_set() -> None:
    assert claim_of("v1beta1", {"name": "r"}).spec.requests[0].exactly is None
    assert claim_of("v1beta1", {"name": "r", "count": 0}).spec.requests[0].exactly is None
    assert claim_of("v1beta1", {"name": "r", "adminAccess": False}).spec.requests[0].exactly is not None
    assert claim_of("v1beta1", {"name": "r", "selectors": []}).spec.requests[0].exactly is not None


def slice_of(version: str, device: dict[str, Any], **spec: Any) -> ResourceSlice:
    body = {"driver": "d", "pool": {"name": "p", "generation": 3, "resourceSliceCount": 1}, "devices": [device], **spec}
    read = decode(resource("ResourceSlice", version, spec=body), strict=True)
    assert isinstance(read, ResourceSlice)
    return read


def test_devices_of_all_versions_read_alike() -> None:
    flat = slice_of("v1", {"name": "gpu-0", **DEVICE}, perDeviceNodeSelection=True)
    for version, device in (
        ("v1beta2", {"name": "gpu-0", **DEVICE}),
        ("v1beta1", {"name": "gpu-0", "basic": DEVICE}),
    ):
        assert dump(slice_of(version, device, perDeviceNodeSelection=True)) == dump(flat), version
    device = flat.devices[0]
    values = {name: (attribute.kind, attribute.value) for name, attribute in device.attributes.items()}
    assert values["ok"] == ("bool", True)
    assert values["index"] == ("int", 1) and values["index"][1] is not True
    assert values["many"] == ("ints", (1, 2))
    assert str(device.capacity["cores"].value) == "4"
    policy = device.capacity["memory"].request_policy
    assert policy is not None and policy.valid_range is not None and policy.valid_range.max is None
    assert device.consumes_counters[0].counters == {"slices": Quantity.parse("1")}
    assert device.allow_multiple_allocations and device.binds_to_node


def test_older_versions_hold_capacity_and_node_name_plainly() -> None:
    old = slice_of("v1alpha3", {"name": "a", "basic": {"capacity": {"memory": "1Gi"}}}, nodeName="", allNodes=False)
    assert str(old.devices[0].capacity["memory"].value) == "1Gi"
    assert old.node_name is None and old.all_nodes is None
    new = slice_of("v1", {"name": "a"}, nodeName="", allNodes=False)
    assert new.node_name == "" and new.all_nodes is False


def test_int_and_bool_attributes_do_not_share_a_value() -> None:
    read = slice_of("v1", {"name": "a", "attributes": {"a": {"int": 1}, "b": {"bool": True}, "c": {"int": 0}}})
    kinds = {name: type(attribute.value) for name, attribute in read.devices[0].attributes.items()}
    assert kinds == {"a": int, "b": bool, "c": int}


@pytest.mark.parametrize("version", ["v1alpha3", "v1beta2", "v1"])
def test_taint_rules(version: str) -> None:
    spec = {"deviceSelector": {"driver": "d"}, "taint": {"key": "k", "effect": "NoExecute", "timeAdded": "2026-01-01"}}
    rule = decode(resource("DeviceTaintRule", version, spec=spec), strict=True)
    assert isinstance(rule, DeviceTaintRule)
    assert rule.selector is not None and (rule.selector.driver, rule.selector.pool) == ("d", None)
    assert (rule.taint.rule, rule.taint.effect) == ("x", "NoExecute")
    bare = decode(resource("DeviceTaintRule", version, spec={"taint": {}}))
    assert isinstance(bare, DeviceTaintRule) and bare.selector is None


@pytest.mark.parametrize(
    ("body", "path", "words"),
    [
        (
            resource("ResourceClaim", spec={"devices": {"requests": [{"name": "r", "exactly": {"count": "two"}}]}}),
            "spec.devices.requests[0].exactly.count",
            'expected a whole number, got the text "two"',
        ),
        (
            resource("ResourceSlice", spec={"devices": [{"name": "a"}, {"attributes": {"m": {"string": 3}}}]}),
            "spec.devices[1].attributes[m].string",
            "expected a text, got the number 3",
        ),
        (
            resource("ResourceSlice", spec={"devices": [{"capacity": {"memory": {"value": "80 Gi"}}}]}),
            "spec.devices[0].capacity[memory].value",
            "is not a quantity",
        ),
        (
            resource("ResourceSlice", "v1beta1", spec={"devices": [{"basic": {"attributes": {"m": {"int": True}}}}]}),
            "spec.devices[0].basic.attributes[m].int",
            "expected a whole number, got a boolean",
        ),
        (resource("ResourceSlice", spec={"devices": ["a"]}), "spec.devices[0]", "expected an object"),
        (resource("DeviceClass", spec=[]), "spec", "expected an object, got a list"),
        ({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": 1}}, "metadata.name", "got the number 1"),
        ({"apiVersion": "v1", "metadata": {"name": "a"}}, "kind", "is missing"),
    ],
)
def test_wrong_types_are_named(body: dict[str, Any], path: str, words: str) -> None:
    with pytest.raises(DecodeError) as caught:
        decode(body, Origin("claims.yaml", 7))
    assert caught.value.path == path
    assert words in caught.value.message
    assert str(caught.value).startswith("claims.yaml:7: ")
    assert path in str(caught.value)


def test_an_error_names_the_object() -> None:
    with pytest.raises(DecodeError, match="ResourceClaim ns/x: spec"):
        decode(resource("ResourceClaim", spec=1))


def test_unknown_fields_are_reported_and_strict_raises() -> None:
    body = resource(
        "ResourceSlice",
        spec={
            "drivers": "d",
            "devices": [
                {"name": "a"},
                {"name": "b", "basic": {}, "attributes": {"m": {"text": "x"}}, "taints": [{"ke": 1}]},
            ],
        },
    )
    report = DecodeReport()
    decode(body, report=report)
    assert [path for _, path in report.unknown] == [
        "spec.drivers",
        "spec.devices[1].basic",
        "spec.devices[1].attributes[m].text",
        "spec.devices[1].taints[0].ke",
    ]
    assert report.unknown[0][0] == "ResourceSlice ns/x"
    with pytest.raises(DecodeError, match=r"spec\.drivers: no such field"):
        decode(body, strict=True)


def test_the_beta_shape_in_v1_is_unknown() -> None:
    report = DecodeReport()
    spec = {"devices": {"requests": [{"name": "r", "deviceClassName": "gpu"}]}}
    read = decode(resource("ResourceClaim", spec=spec), report=report)
    assert isinstance(read, ResourceClaim) and read.spec.requests[0].exactly is None
    assert report.unknown == [("ResourceClaim ns/x", "spec.devices.requests[0].deviceClassName")]


def test_null_is_absent() -> None:
    read = decode(resource("ResourceClaim", spec=None, status={"allocation": None, "reservedFor": None}), strict=True)
    assert isinstance(read, ResourceClaim)
    assert read.allocation is None and read.spec.requests == []


def test_defaults_only_when_asked_for() -> None:
    request = {"name": "r", "exactly": {"deviceClassName": "gpu", "tolerations": [{"key": "k"}]}}
    body = resource(
        "ResourceClaimTemplate", spec={"metadata": {"labels": {"a": "b"}}, "spec": {"devices": {"requests": [request]}}}
    )
    for defaults, expected in ((False, ("", 0, "")), (True, ("ExactCount", 1, "Equal"))):
        read = decode(body, strict=True, defaults=defaults)
        assert isinstance(read, ResourceClaimTemplate) and read.labels == {"a": "b"}
        exact = read.spec.requests[0].exactly
        assert exact is not None
        assert (exact.allocation_mode, exact.count, exact.tolerations[0].operator) == expected


def test_status_of_a_claim() -> None:
    result = {"request": "r", "driver": "d", "pool": "p", "device": "a", "adminAccess": True, "shareID": "u"}
    status = {
        "allocation": {
            "devices": {
                "results": [{**result, "consumedCapacity": {"memory": "1Gi"}}],
                "config": [
                    {"source": "FromClass", "requests": ["r"], "opaque": {"driver": "d", "parameters": {"a": 1}}}
                ],
            },
            "nodeSelector": {"nodeSelectorTerms": [{"matchFields": [{"key": "metadata.name", "operator": "In"}]}]},
            "allocationTimestamp": "2026-01-01T00:00:00Z",
        },
        "reservedFor": [{"resource": "pods", "name": "p", "uid": "u"}],
        "devices": [{"driver": "d", "pool": "p", "device": "a", "data": {"x": 1}, "conditions": [{"type": "Ready"}]}],
    }
    read = decode(resource("ResourceClaim", status=status), strict=True)
    assert isinstance(read, ResourceClaim) and read.allocation is not None
    assert read.allocation.results[0].consumed_capacity == {"memory": Quantity.parse("1Gi")}
    assert read.allocation.results[0].admin_access is True and read.allocation.results[0].share_id == "u"
    assert read.allocation.config[0].opaque is not None and read.allocation.config[0].source == "FromClass"
    assert read.reserved_for[0].name == "p" and read.devices[0].conditions[0].type == "Ready"


def test_core_kinds() -> None:
    node = decode(
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": "n", "labels": {"a": "b"}},
            "spec": {"unschedulable": True, "taints": [{"key": "k", "effect": "NoSchedule"}]},
            "status": {"allocatable": {"cpu": "4"}, "nodeInfo": {"kubeletVersion": "v1.36.2"}},
        }
    )
    assert isinstance(node, Node) and node.unschedulable and node.kubelet_version == "v1.36.2"
    required = {"nodeSelectorTerms": [{"matchExpressions": [{"key": "z", "operator": "Exists"}]}]}
    pod = decode(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": "p",
                "ownerReferences": [{"kind": "Job", "name": "j", "uid": "1", "controller": True}],
            },
            "spec": {
                "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}},
                "initContainers": [{"name": "i", "restartPolicy": "Always"}],
                "containers": [
                    {"name": "c", "resources": {"limits": {"nvidia.com/gpu": 1}, "claims": [{"name": "g"}]}}
                ],
                "resourceClaims": [
                    {"name": "g", "resourceClaimTemplateName": "t"},
                    {"name": "h", "source": {"resourceClaimName": "old"}},
                ],
            },
            "status": {
                "resourceClaimStatuses": [{"name": "g", "resourceClaimName": "p-g-x"}, {"name": "h"}],
                "extendedResourceClaimStatus": {
                    "resourceClaimName": "e",
                    "requestMappings": [{"containerName": "c", "resourceName": "r", "requestName": "q"}],
                },
            },
        }
    )
    assert isinstance(pod, Pod) and pod.node_affinity_required is not None
    assert [(c.name, c.init, c.restart_policy) for c in pod.containers] == [("i", True, "Always"), ("c", False, "")]
    assert pod.claim_statuses == {"g": "p-g-x", "h": None}
    assert pod.resource_claims[1].resource_claim_name == "old"
    assert pod.extended_claim is not None and pod.extended_claim.request_mappings == [("c", "r", "q")]
    assert pod.meta.owners[0].controller
    old = {"apiVersion": "v1", "kind": "Event", "metadata": META, "involvedObject": {"kind": "Pod", "name": "p"}}
    new = {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": META,
        "regarding": {"kind": "Pod", "name": "p"},
    }
    for body in ({**old, "message": "m", "count": 3}, {**new, "note": "m", "series": {"count": 3}}):
        event = decode(body)
        assert isinstance(event, Event)
        assert (event.kind, event.name, event.message, event.count) == ("Pod", "p", "m", 3)


@pytest.mark.parametrize(("version", "kind"), [("apps/v1", "DaemonSet"), ("resource.k8s.io/v1alpha2", "ResourceClaim")])
def test_other_kinds_stay_as_written(version: str, kind: str) -> None:
    body = {"apiVersion": version, "kind": kind, "metadata": META, "spec": {"anything": 1}}
    read: KubeObject = decode(body, strict=True)
    assert isinstance(read, GenericObject)
    assert read.body is body and read.meta.namespace == "ns"
