"""What dractl foretells, and what kube-scheduler then does: the same devices on the same nodes, the same refusals.

The scheduler rests while a pod and its claims are made and dractl looks at them; then it works on this one pod. Pods
that were scheduled stay, so each case finds a fuller fleet than the one before.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections import Counter
from pathlib import Path

import pytest

from tests.envtest.conftest import why_not
from tests.envtest.controlplane import ControlPlane
from tests.envtest.fleet import create_fleet
from tests.envtest.workloads import CASES, Case, drawn

pytestmark = pytest.mark.envtest

CLAIMS = "/apis/resource.k8s.io/v1/namespaces/{}/resourceclaims"
PODS = "/api/v1/namespaces/{}/pods"
DRAWN = int(os.environ.get("DRACTL_SCHEDULER_CASES", "30"))
SEED = int(os.environ.get("DRACTL_SCHEDULER_SEED", "7"))
SECONDS = 60.0


@pytest.fixture(scope="module")
def staffed(tmp_path_factory, demo_objects):
    """A control plane with a scheduler, and the fleet with what runs on it."""
    reason = why_not()
    if reason:
        pytest.skip(reason)
    assets = Path(os.environ["KUBEBUILDER_ASSETS"])
    if not os.access(assets / "kube-scheduler", os.X_OK):
        pytest.skip(f"KUBEBUILDER_ASSETS={assets} has no kube-scheduler")
    running = ControlPlane(assets, tmp_path_factory.mktemp("staffed"))
    try:
        running.start()
        there = [item for item in demo_objects if item["kind"] != "Event" and not _waits(item)]
        assert create_fleet(running, there) == []
        running.start_scheduler()
        yield running
    finally:
        running.stop()


def _waits(item):
    return item["kind"] == "Pod" and "nodeName" not in item["spec"]


def recorded(demo_objects):
    """The pods that wait in the recording and whose claims are there."""
    there = {item["metadata"]["name"] for item in demo_objects if item["kind"] == "ResourceClaim"}
    for item in filter(_waits, demo_objects):
        names = [entry.get("resourceClaimName") for entry in item["spec"].get("resourceClaims", [])]
        # without its claim a pod is not even looked at
        if names and all(name in there for name in names):
            keys = item["spec"].keys() & {"nodeSelector", "tolerations", "affinity"}
            pod = {key: item["spec"][key] for key in keys}
            yield Case(item["metadata"]["name"], [], pod, item["metadata"]["namespace"], names)


def create(plane, case):
    """The claims and the pod; the names of the claims."""
    names = list(case.existing)
    for index, spec in enumerate(case.claims):
        names.append(f"{case.name}-{index}")
        body = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim",
                "metadata": {"name": names[-1]}, "spec": {"devices": spec}}  # fmt: skip
        plane.request("POST", CLAIMS.format(case.namespace), body)
    entries = [{"name": f"c{index}", "resourceClaimName": name} for index, name in enumerate(names)]
    container = {
        "name": "main", "image": "registry.example/app:1",
        "resources": {"claims": [{"name": entry["name"]} for entry in entries],
                      "requests": {"cpu": case.cpu, **case.extended}, "limits": case.extended},
    }  # fmt: skip
    plane.request("POST", PODS.format(case.namespace), {
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": case.name},
        "spec": {"containers": [container], "resourceClaims": entries, **case.pod},
    })  # fmt: skip
    return names


def decided(plane, case):
    """The pod once the scheduler has bound it or given it up."""
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        pod = plane.request("GET", f"{PODS.format(case.namespace)}/{case.name}")
        found = [one for one in pod.get("status", {}).get("conditions", []) if one["type"] == "PodScheduled"]
        if found:
            return pod, found[0]
        time.sleep(0.05)
    raise AssertionError(f"{case.name}: the scheduler did not decide within {SECONDS} s")


def remove(plane, case, names):
    """Take away the pod, and its claims as their controller would."""
    plane.request("DELETE", f"{PODS.format(case.namespace)}/{case.name}?gracePeriodSeconds=0")
    for name in names if case.claims else ():
        path = f"{CLAIMS.format(case.namespace)}/{name}"
        claim = plane.request("GET", path)
        claim = plane.request("PUT", f"{path}/status", {**claim, "status": {}})
        claim["metadata"]["finalizers"] = []
        plane.request("PUT", path, claim)
        plane.request("DELETE", path)


def foretold(dractl, kubeconfig, case):
    run = dractl("explain", "pod", case.name, "-n", case.namespace, "-o", "json", "--kubeconfig", kubeconfig)
    assert run.code in (0, 1), run.err
    report = json.loads(run.out)
    # of a pod with one claim the nodes are told with the claim
    if not report["nodes"] and len(report["claims"]) == 1:
        report["nodes"] = report["claims"][0]["nodes"]
    return report


def devices(results):
    """Request, driver, pool, device and what is special of each result."""
    return [tuple(item.get(key) for key in ("request", "driver", "pool", "device", "adminAccess")) for item in results]


def differences(plane, case, names, report, pod, condition):
    """Where the scheduler did something else than was foretold."""
    nodes = {node["name"]: node for node in report["nodes"]}
    if condition["status"] == "True":
        name = pod["spec"]["nodeName"]
        if report["verdict"] not in ("fits", "allocated"):
            yield f"scheduled on {name}, foretold {report['verdict']}: {report['summary']}"
            return
        if report["verdict"] == "allocated":
            return
        node = nodes.get(name)
        if node is None:
            yield f"scheduled on {name}; foretold were {sorted(nodes)}"
            return
        if not node["pod"]["eligible"] or node["allocator"]["verdict"] != "fits":
            yield f"scheduled on {name}, of which was foretold {node}"
            return
        more = pod["status"].get("extendedResourceClaimStatus", {}).get("resourceClaimName")
        claims = [plane.request("GET", f"{CLAIMS.format(case.namespace)}/{one}") for one in (*names, more) if one]
        given = [one for item in claims for one in item["status"]["allocation"]["devices"]["results"]]
        if devices(given) != devices(node["allocator"]["results"]):
            yield f"on {name} given {devices(given)}, foretold {devices(node['allocator']['results'])}"
        return
    message = condition["message"]
    if report["verdict"] == "fits":
        yield f"foretold to fit, but {message}"
    possible = [node for node in report["nodes"] if node["pod"]["eligible"]]
    if condition["reason"] == "SchedulerError":
        if not any((node["allocator"]["error"] or "\0") in message for node in possible):
            yield f"{message}; foretold {Counter(node['allocator']['error'] for node in possible)}"
        return
    counted = re.search(r"(\d+) cannot allocate all claims", message)
    refused = sum(node["allocator"]["verdict"] == "doesNotFit" for node in possible)
    if (int(counted[1]) if counted else 0) != refused and "does not exist" not in message:
        yield f"{message}; foretold {refused} that cannot allocate"
    if "does not exist" in message and report["verdict"] != "error":
        yield f"{message}; foretold {report['verdict']}"


def test_the_scheduler_does_what_is_foretold(dractl, staffed, demo_objects, tmp_path):
    kubeconfig = staffed.kubeconfig(tmp_path / "kc")
    wrong, count = [], Counter()
    for case in [*recorded(demo_objects), *CASES, *drawn(DRAWN, SEED)]:
        names = create(staffed, case)
        report = foretold(dractl, kubeconfig, case)
        with staffed.scheduling():
            pod, condition = decided(staffed, case)
        count[condition.get("reason", "Scheduled")] += 1
        wrong += [f"{case.name}: {text}" for text in differences(staffed, case, names, report, pod, condition)]
        if case.passing or condition["status"] != "True":
            # a pod that waits must not be tried again while another is looked at
            remove(staffed, case, names)
    print(f"\nkube-scheduler against dractl: {count.total()} pods, {dict(count)}, {len(wrong)} differ")
    assert not wrong, "\n".join(wrong)
    assert count["Scheduled"] >= 15 and count["Unschedulable"] >= 10 and count["SchedulerError"] >= 1
