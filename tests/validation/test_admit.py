"""What the API server says of single objects: the facts of each kind of answer."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from dractl.validation.apiserver import Request, Verdict, admit

GROUP = "resource.k8s.io"


def claim(version: str = "v1", **request: Any) -> dict[str, Any]:
    details = {"deviceClassName": "gpu", **request}
    entry = {"name": "a", "exactly": details} if version in ("v1", "v1beta2") else {"name": "a", **details}
    return {
        "apiVersion": f"{GROUP}/{version}",
        "kind": "ResourceClaim",
        "metadata": {"name": "c", "namespace": "d"},
        "spec": {"devices": {"requests": [entry]}},
    }


def resource_slice(version: str = "v1", **device: Any) -> dict[str, Any]:
    entry = {"name": "d0", "basic": device} if version in ("v1beta1", "v1alpha3") else {"name": "d0", **device}
    spec = {
        "driver": "gpu.example.com",
        "pool": {"name": "n", "generation": 1, "resourceSliceCount": 1},
        "nodeName": "n",
        "devices": [entry],
    }
    return {"apiVersion": f"{GROUP}/{version}", "kind": "ResourceSlice", "metadata": {"name": "s"}, "spec": spec}


def taint_rule(effect: str = "NoExecute", time: str | None = None) -> dict[str, Any]:
    taint = {"key": "example.com/k", "effect": effect, "timeAdded": time}
    spec = {"deviceSelector": {"driver": "gpu.example.com"}, "taint": taint}
    return {"apiVersion": f"{GROUP}/v1beta2", "kind": "DeviceTaintRule", "metadata": {"name": "t"}, "spec": spec}


def found(verdict: Verdict) -> list[tuple[str, str]]:
    return [(cause.field, cause.message) for cause in verdict.causes]


# --- decoding ---------------------------------------------------------------------------------------------------------


def test_a_good_claim_gets_defaults() -> None:
    verdict = admit(claim())
    assert (verdict.code, verdict.accepted, verdict.message, verdict.warnings) == (201, True, None, [])
    assert verdict.stored == {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "spec": {
            "devices": {
                "requests": [
                    {
                        "name": "a",
                        "exactly": {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 1},
                    }
                ]
            }
        },
        "status": {},
    }


def test_an_unknown_field_is_refused_or_warned_of() -> None:
    obj = claim(gpus=1)
    text = 'unknown field "spec.devices.requests[0].exactly.gpus"'
    verdict = admit(obj)
    assert (verdict.code, verdict.reason) == (400, "BadRequest")
    assert verdict.message == (
        f'ResourceClaim in version "v1" cannot be handled as a ResourceClaim: strict decoding error: {text}'
    )
    assert verdict.decoding[0].path == ("spec", "devices", "requests", 0, "exactly", "gpus")
    lenient = admit(obj, strict=False)
    assert (lenient.code, lenient.warnings) == (201, [text])


def test_a_repeated_field_is_known_to_the_reader_alone() -> None:
    verdict = admit(claim(), request=Request(duplicates=frozenset({("spec", "devices")})))
    assert verdict.code == 400
    assert verdict.message is not None
    assert verdict.message.endswith('strict decoding error: duplicate field "spec.devices"')


@pytest.mark.parametrize(
    ("request_", "text"),
    [
        (
            {"count": "2"},
            "json: cannot unmarshal string into Go struct field "
            "ExactDeviceRequest.spec.devices.requests.exactly.count of type int64",
        ),
        (
            {"selectors": {}},
            "json: cannot unmarshal object into Go struct field "
            "ExactDeviceRequest.spec.devices.requests.exactly.selectors of type []v1.DeviceSelector",
        ),
        (
            {"adminAccess": "yes"},
            "json: cannot unmarshal string into Go struct field "
            "ExactDeviceRequest.spec.devices.requests.exactly.adminAccess of type bool",
        ),
        (
            {"count": 1.5},
            "json: cannot unmarshal number 1.5 into Go struct field "
            "ExactDeviceRequest.spec.devices.requests.exactly.count of type int64",
        ),
        (
            {"count": 2**63},
            "json: cannot unmarshal number 9223372036854775808 into Go struct field "
            "ExactDeviceRequest.spec.devices.requests.exactly.count of type int64",
        ),
    ],
)
def test_wrong_types(request_: dict[str, Any], text: str) -> None:
    verdict = admit(claim(**request_))
    assert verdict.code == 400
    assert verdict.message == f'ResourceClaim in version "v1" cannot be handled as a ResourceClaim: {text}'
    assert verdict.decoding[0].path[-1] == next(iter(request_))


def test_field_names_differing_in_case_are_not_the_field() -> None:
    verdict = admit(claim(DeviceClassName="x"))
    assert verdict.code == 400
    assert "unknown field" in (verdict.message or "")


@pytest.mark.parametrize(
    ("obj", "code"),
    [
        ([], 400),
        ("x", 400),
        (None, 400),
        ({}, 400),
        ({"kind": 1, "apiVersion": "v1"}, 400),
        ({"kind": "ResourceClaim", "apiVersion": "resource.k8s.io/v1alpha2"}, 404),
        ({"kind": "ResourceClaim", "apiVersion": "v1"}, 404),
        ({"kind": "ResourceClaims", "apiVersion": "resource.k8s.io/v1"}, 400),
        ({"kind": "resourceclaim", "apiVersion": "resource.k8s.io/v1"}, 400),
    ],
)
def test_what_is_no_object_of_a_served_kind(obj: Any, code: int) -> None:
    verdict = admit(obj)
    assert verdict.code == code
    assert verdict.stored is None


# --- releases, gates, namespaces --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("version", "minor", "code"),
    [
        ("v1alpha3", 31, 201),
        ("v1beta1", 31, 404),
        ("v1beta1", 32, 201),
        ("v1beta2", 32, 404),
        ("v1beta2", 33, 201),
        ("v1", 33, 404),
        ("v1", 34, 201),
        ("v1beta1", 36, 201),
        ("v1alpha3", 36, 404),
    ],
)
def test_versions_of_releases(version: str, minor: int, code: int) -> None:
    assert admit(claim(version), release=(1, minor)).code == code


def test_a_deprecated_version_is_warned_of() -> None:
    verdict = admit(claim("v1beta1"), release=(1, 36))
    assert verdict.warnings == ["resource.k8s.io/v1beta1 ResourceClaim is deprecated in v1.35+, unavailable in v1.38+"]


def test_a_kind_behind_a_gate_is_not_served() -> None:
    off = {"DRADeviceTaintRules": False}
    verdict = admit(taint_rule(), gates=off)
    assert (verdict.code, verdict.gate) == (404, "DRADeviceTaintRules")
    assert admit(taint_rule(), gates=off, request=Request(serve_gated=True)).code == 201


def test_fields_of_features_that_are_off_are_lost() -> None:
    obj = claim(capacity={"requests": {"memory": "1Gi"}})
    verdict = admit(obj, gates={"DRAConsumableCapacity": False})
    path = ("spec", "devices", "requests", 0, "exactly", "capacity")
    assert verdict.dropped == [(path, "DRAConsumableCapacity")]
    assert verdict.stored is not None
    assert "capacity" not in verdict.stored["spec"]["devices"]["requests"][0]["exactly"]
    assert admit(obj, gates={"DRAConsumableCapacity": True}).dropped == []


def test_lost_fields_of_the_flat_form_are_found_where_they_are_written() -> None:
    verdict = admit(claim("v1beta1", capacity={"requests": {"memory": "1Gi"}}), gates={"DRAConsumableCapacity": False})
    assert verdict.dropped == [(("spec", "devices", "requests", 0, "capacity"), "DRAConsumableCapacity")]


def test_what_the_old_object_uses_is_kept() -> None:
    old = resource_slice(taints=[{"key": "a", "effect": "NoSchedule"}])
    new = resource_slice(taints=[{"key": "b", "effect": "NoSchedule"}])
    for obj in (old, new):
        obj["metadata"]["resourceVersion"] = "1"
    off = {"DRADeviceTaints": False, "DRADeviceTaintRules": False}
    assert admit(new, gates=off).dropped == [(("spec", "devices", 0, "taints"), "DRADeviceTaints")]
    assert admit(new, gates=off, old=old).dropped == []


def test_namespaces() -> None:
    assert admit(claim(), request=Request(namespace="d")).code == 201
    other = admit(claim(), request=Request(namespace="e"))
    assert other.message == ("the namespace of the provided object does not match the namespace sent on the request")
    assert other.decoding[0].path == ("metadata", "namespace")


def test_admin_access_needs_a_label_of_the_namespace() -> None:
    obj = claim(adminAccess=True)
    assert admit(obj).code == 201  # nothing is known of the namespace
    labels = {"resource.kubernetes.io/admin-access": "true"}
    assert admit(obj, request=Request(namespace_labels=labels)).code == 201
    refused = admit(obj, request=Request(namespace_labels={}))
    (cause,) = refused.causes
    assert (cause.field, cause.reason) == ("spec.devices.requests[0].adminAccess", "FieldValueForbidden")
    assert cause.path == ("spec", "devices", "requests", 0, "exactly", "adminAccess")


def test_generated_names() -> None:
    obj = claim()
    obj["metadata"] = {"generateName": "c-", "namespace": "d"}
    assert admit(obj).code == 201
    obj["metadata"] = {"namespace": "d"}
    assert found(admit(obj)) == [("metadata.name", "Required value: name or generateName is required")]


# --- rules ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", ["v1beta1", "v1"])
def test_causes_have_the_servers_names_and_the_files_places(version: str) -> None:
    verdict = admit(claim(version, tolerations=[{"operator": "Foo"}]), release=(1, 36))
    (cause,) = verdict.causes
    assert cause.field == "spec.devices.requests[0].exactly.tolerations[0].operator"
    inner = ("tolerations", 0, "operator")
    place = ("exactly", *inner) if version == "v1" else inner
    assert cause.path == ("spec", "devices", "requests", 0, *place)
    assert verdict.message == f'ResourceClaim.resource.k8s.io "c" is invalid: {cause.field}: {cause.message}'


@pytest.mark.parametrize("version", ["v1beta1", "v1beta2"])
def test_devices_of_v1beta1_are_found_under_basic(version: str) -> None:
    (cause,) = admit(resource_slice(version, attributes={"a": {"int": 1, "bool": True}})).causes
    assert cause.field == "spec.devices[0].attributes[a]"
    inner = ("attributes", "a")
    assert cause.path == ("spec", "devices", 0, *(("basic", *inner) if version == "v1beta1" else inner))


def test_declared_rules_name_fields_as_written() -> None:
    """Since 1.37 they run on the object in its own version."""
    obj = claim("v1beta1", selectors=[{"cel": {"expression": "true"}}] * 33)
    paths = {minor: [cause.field for cause in admit(obj, release=(1, minor)).causes] for minor in (36, 37)}
    assert paths == {
        36: ["spec.devices.requests[0].exactly.selectors"],
        37: ["spec.devices.requests[0].selectors"],
    }


def test_expressions_are_compiled_as_new_ones() -> None:
    (cause,) = admit(claim(selectors=[{"cel": {"expression": "device.drivr == 'x'"}}])).causes
    assert cause.field == "spec.devices.requests[0].exactly.selectors[0].cel.expression"
    assert "undefined field 'drivr'" in cause.message


def test_the_spec_of_a_claim_cannot_change() -> None:
    old, new = claim(), claim(count=2)
    (cause,) = admit(new, old=old).causes
    assert (cause.field, cause.reason) == ("spec", "FieldValueInvalid")
    assert cause.message.startswith('Invalid value: {"Devices":{"Requests":[{"Name":"a","Exactly":{')
    assert cause.message.endswith(": field is immutable")
    relabelled = copy.deepcopy(old)
    relabelled["metadata"]["labels"] = {"a": "b"}
    assert admit(relabelled, old=old).code == 201


def test_the_same_claim_in_another_version_is_not_a_change() -> None:
    assert admit(claim("v1"), old=claim("v1beta1")).code == 201


def test_pool_driver_and_node_of_a_slice_cannot_change() -> None:
    old, new = resource_slice(), resource_slice()
    new["spec"] |= {"driver": "x.example.com", "nodeName": "m"}
    new["spec"]["pool"]["name"] = "m"
    text = "field is immutable"
    assert found(admit(new, old=old)) == [
        ("spec.pool.name", f'Invalid value: "m": {text}'),
        ("spec.driver", f'Invalid value: "x.example.com": {text}'),
        ("spec.nodeName", f'Invalid value: "m": {text}'),
    ]


@pytest.mark.parametrize(
    ("effect", "time", "stored"),
    [
        ("NoExecute", "2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z"),
        ("NoSchedule", "2026-01-01T00:00:00Z", "(time of creation)"),
        ("NoSchedule", "2026-02-02T00:00:00Z", "2026-02-02T00:00:00Z"),
    ],
)
def test_a_new_effect_of_a_taint_rule_gets_a_new_time(effect: str, time: str, stored: str) -> None:
    old = taint_rule("NoExecute", "2026-01-01T00:00:00Z")
    verdict = admit(taint_rule(effect, time), old=old, gates={"DRADeviceTaintRules": True})
    assert verdict.stored is not None
    assert verdict.stored["spec"]["taint"]["timeAdded"] == stored


def test_a_step_of_nothing_breaks_the_server_before_1_37() -> None:
    policy = {"default": "1", "validRange": {"min": "1", "step": "0"}}
    obj = resource_slice(allowMultipleAllocations=True, capacity={"m": {"value": "9", "requestPolicy": policy}})
    before, after = admit(obj, release=(1, 36)), admit(obj, release=(1, 37))
    assert before.code == 500
    assert "divide by zero" in (before.message or "")
    path = "spec.devices[0].capacity[m].requestPolicy.validRange.step"
    assert found(after) == [(path, 'Invalid value: "0": must be greater than zero')]


# --- pods and workloads -----------------------------------------------------------------------------------------------


def pod(**spec: Any) -> dict[str, Any]:
    container = {"name": "c", "image": "x", "resources": {"claims": [{"name": "gpu"}]}}
    body = {"containers": [container], "resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "t"}], **spec}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "d"}, "spec": body}


def test_a_pod_with_a_claim() -> None:
    verdict = admit(pod())
    assert (verdict.code, verdict.partial) == (201, True)


TWO = '{"Name":"gpu","ResourceClaimName":"a","ResourceClaimTemplateName":"b"}'
NONE = '{"Name":"gpu","ResourceClaimName":null,"ResourceClaimTemplateName":null}'


@pytest.mark.parametrize(
    ("claims", "field", "message"),
    [
        (
            [],
            "spec.containers[0].resources.claims[0]",
            'Not found: "gpu": must be one of the names in pod.spec.resourceClaims which is empty',
        ),
        (
            [{"name": "gpu"}],
            "spec.resourceClaims[0]",
            f"Invalid value: {NONE}: must specify one of: `resourceClaimName`, `resourceClaimTemplateName`",
        ),
        (
            [{"name": "gpu", "resourceClaimName": "a", "resourceClaimTemplateName": "b"}],
            "spec.resourceClaims[0]",
            f"Invalid value: {TWO}: at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified",
        ),
        (
            [{"name": "gpu", "resourceClaimName": "a"}] * 2,
            "spec.resourceClaims[1].name",
            'Duplicate value: "gpu"',
        ),
    ],
)
def test_claims_of_pods(claims: list[dict[str, Any]], field: str, message: str) -> None:
    assert found(admit(pod(resourceClaims=claims))) == [(field, message)]


def test_a_selector_has_to_match_the_labels() -> None:
    spec = {
        "selector": {"matchLabels": {"a": "b"}},
        "template": {"metadata": {"labels": {"a": "c"}}, "spec": {"containers": [{"name": "c", "image": "x"}]}},
    }
    obj = {"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "x"}, "spec": spec}
    (cause,) = admit(obj).causes
    assert cause.field == "spec.template.metadata.labels"
    assert cause.message == 'Invalid value: {"a":"c"}: `selector` does not match template `labels`'
