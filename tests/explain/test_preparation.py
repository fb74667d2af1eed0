"""Errors when allocated devices are prepared: what they mean and what to do."""

import re

import pytest

from dractl.explain.claim import explain_claim
from dractl.explain.troubles import TROUBLES, trouble_in

from .builders import GPU, claim, class_, cluster, device, node, pod, question, request, result, slice_

EVENTS = "FailedPrepareDynamicResources"


def event(message, reason=EVENTS):
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": f"e-{reason}".lower(), "namespace": "ns"},
        "type": "Warning",
        "reason": reason,
        "message": message,
        "count": 3,
        "involvedObject": {"kind": "Pod", "namespace": "ns", "name": "p", "uid": "uid-pod-p"},
    }


def said(message, *, reserved="uid-pod-p", kubelet="", reason=EVENTS, waits=None):
    user = pod("p", "c", on="n1")
    user["status"] = {"phase": "Pending"}
    if waits:
        user["status"]["containerStatuses"] = [{"name": "main", "state": {"waiting": waits}}]
    on = node("n1")
    on["status"]["nodeInfo"] = {"kubeletVersion": kubelet}
    inventory = cluster(
        on,
        class_(GPU),
        slice_("n1", [device("gpu-0")]),
        user,
        [event(message, reason)] if message else [],
        claim(
            "c",
            request("r"),
            results=[result("r", "n1", "gpu-0")],
            on="n1",
            reserved=[{"resource": "pods", "name": "p", "uid": reserved}],
        ),
    )
    report = explain_claim(question(inventory), "ns", "c")
    return " ".join([report.summary, *report.details, *report.actions])


@pytest.mark.parametrize(
    ("message", "means"),
    [
        ("error applying GPU config: unknown GPU sharing strategy: MPS", "feature gate MPSSupport, off by default"),
        ("unknown GPU sharing strategy: TimeSlicing", "feature gate TimeSlicingSettings, off by default"),
        (
            "cannot apply GpuConfig to device gpu-0-mig-1 of type mig",
            "is of kind GpuConfig, which is for devices of",
        ),
        ("requested device is not allocatable: gpu-7", "does not have the allocated device"),
        ("current node not ready in ComputeDomain", "its IMEX daemon there has to be up first"),
        ("fail to get network interface mlx5_6", "not in the host's network namespace on n1"),
        ("rpc error: code = Unavailable desc = connection error", "does not reach the driver through its socket"),
        ("rpc error: code = DeadlineExceeded desc = context deadline exceeded", "did not answer in time"),
        ("IOMMU is not enabled in the kernel", "on n1 it is off"),
        ('claim is forbidden: User "system:serviceaccount:a:b" cannot get', "the API server refuses"),
    ],
)
def test_known_errors(message, means):
    text = said(f"Failed to prepare dynamic resources: NodePrepareResources failed for claim ns/c: {message}")
    assert means in text[text.index("kubelet says") :].replace("The API", "the API")


def test_unknown_errors_lead_to_the_log():
    assert f"Read the log of driver {GPU} on n1" in said("prepare dynamic resources: something new")


def test_every_trouble_can_be_worded():
    for one in TROUBLES:
        names = {*one.text.groupindex, "node", "driver", "pod"}
        assert set(re.findall(r"{(\w+)}", one.meaning + one.advice)) <= names
    assert trouble_in("all is well") is None


def test_a_container_runtime_without_cdi():
    text = said("Error: CDI device injection failed: unresolvable CDI devices k8s.gpu/claim=x", reason="Failed")
    assert "the container runtime on n1 does not find the CDI devices" in text.replace("The claim", "the claim")
    assert "enable_cdi = true" in text


def test_a_kubelet_older_than_the_served_versions():
    text = said("failed to fetch ResourceClaim c: the server could not find the requested resource", kubelet="v1.33.1")
    assert "Kubelet on n1 is v1.33.1 and asks for claims in a version" in text
    assert "Bring kubelet on n1 to the release of the control plane" in text
    assert "Read the log" not in text


def test_a_claim_reserved_for_a_former_pod():
    message = 'pod "p" (x) is not allowed to use ResourceClaim "c" (y)'
    text = said(message, reserved="uid-of-before")
    assert "ns/p (a former pod)" in text
    assert "reserved for a former pod of the same name (another uid)" in text
    assert "nothing uses the device" not in text
    assert "by now the claim is reserved for pod ns/p" in said(message).replace("By now", "by now")


def test_containers_that_do_not_start_for_other_reasons():
    text = said("", waits={"reason": "ImagePullBackOff", "message": "not found"})
    assert "its containers have not started yet: ImagePullBackOff (not found)" in text
