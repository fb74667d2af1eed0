"""Pods whose claims fit: what the scheduler itself named, and claims that are refused when they are made."""

import pytest

from dractl.explain.claim import explain_claim
from dractl.explain.last_answer import other_reasons
from dractl.explain.pod import explain_pod

from .builders import (
    GPU,
    TIME,
    claim,
    class_,
    cluster,
    device,
    node,
    pod,
    question,
    request,
    result,
    slice_,
)

PREEMPTION = " still not schedulable, preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling."


def waiting(message, **spec):
    body = pod("p", "c", **spec)
    body["status"]["conditions"] = [
        {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}
    ]
    return body


def told(message):
    inventory = cluster(
        node("n1"), class_(GPU), slice_("n1", [device("gpu-0")]), claim("c", request("r")), waiting(message)
    )
    report = explain_claim(question(inventory), "ns", "c")
    return " ".join([report.summary, *report.details, *report.actions])


@pytest.mark.parametrize(
    ("message", "reasons"),
    [
        (
            "0/2 nodes are available: 1 node(s) had volume node affinity conflict, 1 Insufficient cpu." + PREEMPTION,
            ["node(s) had volume node affinity conflict", "Insufficient cpu"],
        ),
        ("0/2 nodes are available: 1 cannot allocate all claims, 1 Insufficient cpu." + PREEMPTION, []),
        ("0/2 nodes are available: waiting for dynamic resource controller.", []),
        ("something else", []),
    ],
)
def test_reasons_of_a_message(message, reasons):
    assert other_reasons(message) == reasons


def test_reasons_that_are_not_about_devices_are_cited():
    text = told("0/1 nodes are available: 1 node(s) didn't match pod topology spread constraints." + PREEMPTION)
    assert "names a reason that is not about devices: node(s) didn't match pod topology spread constraints" in text
    assert "something other than devices keeps it" in told("0/1 nodes are available: 1 cannot allocate all claims.")


def test_a_scheduler_that_may_not_bind():
    text = told(
        'running PreBind plugin "DynamicResources": resourceclaims.resource.k8s.io "c" is forbidden: User '
        '"system:serviceaccount:x:batch" cannot update resource "resourceclaims/binding" in API group "resource.k8s.io"'
    )
    assert "its account system:serviceaccount:x:batch lacks the right to update resourceclaims/binding" in text
    assert "Add to the role of system:serviceaccount:x:batch" in text


@pytest.mark.parametrize(
    ("message", "way_out"),
    [
        (
            'failed calling webhook "check.example.com": Post "https://hook.ns.svc:443/x": connection refused',
            "Bring the admission webhook check.example.com back (service hook.ns)",
        ),
        ('webhook "w" denied the request: unknown GPU sharing strategy: MPS', "Set MPSSupport=true"),
        ("something new", "Remove what the answer above names"),
    ],
)
def test_a_claim_that_is_refused_when_it_is_made(message, way_out):
    template = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": "t", "namespace": "ns"},
        "spec": {"spec": {"devices": {"requests": [request("r")]}}},
    }
    asking = pod("p", resourceClaims=[{"name": "e", "resourceClaimTemplateName": "t"}])
    event = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": "x", "namespace": "ns"},
        "count": 2,
        "reason": "FailedResourceClaimCreation",
        "message": f"PodResourceClaim e: failed to create: {message}",
        "involvedObject": {"kind": "Pod", "namespace": "ns", "name": "p", "uid": "uid-pod-p"},
    }
    inventory = cluster(node("n1"), class_(GPU), slice_("n1", [device("gpu-0")]), template, asking, event)
    assert any(action.startswith(way_out) for action in explain_pod(question(inventory), "ns", "p").actions)


def test_a_binding_that_failed_says_why():
    taken = [result("r", "n1", "gpu-0", bindingConditions=["Ready"], bindingFailureConditions=["Failed"])]
    body = claim(
        "c", request("r"), results=taken, on="n1", reserved=[{"resource": "pods", "name": "p", "uid": "uid-pod-p"}]
    )
    condition = {"type": "Failed", "status": "True", "reason": "NoPort", "message": "busy", "lastTransitionTime": TIME}
    body["status"]["devices"] = [{"driver": GPU, "pool": "n1", "device": "gpu-0", "conditions": [condition]}]
    inventory = cluster(node("n1"), class_(GPU), slice_("n1", [device("gpu-0")]), body, pod("p", "c"))
    report = explain_claim(question(inventory), "ns", "c")
    assert any("reports the binding failure Failed: NoPort: busy" in detail for detail in report.details)
