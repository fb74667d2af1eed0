"""Pod templates wherever they are: in kinds of Kubernetes, in kinds of others, in lists of lists."""

from __future__ import annotations

import json
from typing import Any

import pytest

POD = {
    "containers": [{"name": "c", "image": "i:1", "resources": {"claims": [{"name": "gpus"}]}}],
    "resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "t"}],
}
TEMPLATE = {"metadata": {"labels": {"a": "b"}}, "spec": POD}
WORKLOAD = {"selector": {"matchLabels": {"a": "b"}}, "template": TEMPLATE}
ONCE = {"metadata": {"labels": {"a": "b"}}, "spec": {**POD, "restartPolicy": "Never"}}

KINDS: dict[str, tuple[str, dict[str, Any]]] = {
    "Pod": ("v1", {"spec": POD}),
    "PodTemplate": ("v1", {"template": TEMPLATE}),
    "ReplicationController": ("v1", {"spec": {"template": TEMPLATE}}),
    "Deployment": ("apps/v1", {"spec": WORKLOAD}),
    "ReplicaSet": ("apps/v1", {"spec": WORKLOAD}),
    "DaemonSet": ("apps/v1", {"spec": WORKLOAD}),
    "StatefulSet": ("apps/v1", {"spec": {**WORKLOAD, "serviceName": "s"}}),
    "Job": ("batch/v1", {"spec": {"template": ONCE}}),
    "CronJob": ("batch/v1", {"spec": {"schedule": "0 * * * *", "jobTemplate": {"spec": {"template": ONCE}}}}),
    "JobSet": (
        "jobset.x-k8s.io/v1alpha2",
        {"spec": {"replicatedJobs": [{"name": "w", "template": {"spec": {"template": ONCE}}}]}},
    ),
    "LeaderWorkerSet": (
        "leaderworkerset.x-k8s.io/v1",
        {"spec": {"leaderWorkerTemplate": {"size": 2, "workerTemplate": TEMPLATE}}},
    ),
    "RayCluster": ("ray.io/v1", {"spec": {"workerGroupSpecs": [{"groupName": "w", "template": TEMPLATE}]}}),
    "RayService": (
        "ray.io/v1",
        {"spec": {"rayClusterConfig": {"headGroupSpec": {"template": TEMPLATE}}}},
    ),
    "PyTorchJob": ("kubeflow.org/v1", {"spec": {"pytorchReplicaSpecs": {"Worker": {"template": TEMPLATE}}}}),
    "MPIJob": ("kubeflow.org/v2beta1", {"spec": {"mpiReplicaSpecs": {"Worker": {"template": TEMPLATE}}}}),
    "Workload": ("kueue.x-k8s.io/v1beta1", {"spec": {"podSets": [{"name": "m", "count": 1, "template": TEMPLATE}]}}),
}
OTHERS = ("JobSet", "LeaderWorkerSet", "RayCluster", "RayService", "PyTorchJob", "MPIJob", "Workload")


def body(kind: str) -> dict[str, Any]:
    version, fields = KINDS[kind]
    return {"apiVersion": version, "kind": kind, "metadata": {"name": "x", "namespace": "ml"}, **fields}


def findings(dractl: Any, value: Any) -> list[dict[str, Any]]:
    run = dractl("validate", "--no-config", "-", "-o", "json", stdin=json.dumps(value, indent=1))
    return list(json.loads(run.out)["findings"])


@pytest.mark.parametrize("kind", KINDS)
def test_claims_of_containers_are_checked_in_every_kind(dractl: Any, kind: str) -> None:
    (finding,) = [one for one in findings(dractl, body(kind)) if one["code"] < "DRA100"]
    assert finding["code"] == "DRA026"
    assert "container c wants claim gpus" in finding["message"]
    assert "did you mean gpu?" in finding["message"]
    assert finding["location"]["path"].endswith("containers[0].resources.claims[0]")
    assert (f"the {kind}'s controller" in finding["evidence"].get("note", "")) == (kind in OTHERS)


def test_what_follows_from_a_wrong_name_is_not_told(dractl: Any) -> None:
    assert [one["code"] for one in findings(dractl, body("Pod"))] == ["DRA026"]
    right = json.loads(json.dumps(body("Pod")).replace("gpus", "gpu"))
    assert findings(dractl, right) == []
    right["spec"]["containers"][0].pop("resources")
    assert [one["code"] for one in findings(dractl, right)] == ["DRA105"]


def test_lists_in_lists(dractl: Any) -> None:
    inner = {"apiVersion": "apps/v1", "kind": "DeploymentList", "items": [{**body("Deployment"), "kind": "Deployment"}]}
    outer = {"apiVersion": "v1", "kind": "List", "items": [inner, {"apiVersion": "v1", "kind": "List", "items": []}]}
    whole = {"apiVersion": "v1", "kind": "List", "items": [outer, body("Pod")]}
    found = findings(dractl, whole)
    assert [one["subject"]["kind"] for one in found] == ["Deployment", "Pod"]
    lines = json.dumps(whole, indent=1).split("\n")
    for one in found:
        assert lines[one["location"]["line"] - 1].strip() == "{"
        assert '"name": "gpus"' in lines[one["location"]["line"]]


LIVE_SPEC = {
    **POD,
    "nodeName": "n1",
    "serviceAccountName": "default",
    "tolerations": [{"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute"}],
    "volumes": [{"name": "token", "emptyDir": {}}],
}
CHANGES: dict[str, tuple[dict[str, Any], str]] = {
    "nothing": ({}, ""),
    "another image": ({"containers": [{**POD["containers"][0], "image": "i:2"}]}, ""),  # type: ignore[dict-item]
    "a toleration more": ({"tolerations": [{"key": "a", "operator": "Exists"}]}, ""),
    "another template": (
        {"resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "u"}]},
        "resourceClaims cannot be changed once the Pod exists",
    ),
    "a claim more": (
        {"resourceClaims": [*POD["resourceClaims"], {"name": "b", "resourceClaimName": "x"}]},
        "resourceClaims cannot be changed once the Pod exists",
    ),
    "a container more": (
        {"containers": [*POD["containers"], {"name": "d", "image": "i"}]},
        "containers cannot be added or taken away once the Pod exists",
    ),
    "no claim in the container": (
        {"containers": [{"name": "c", "image": "i:1", "resources": {"claims": []}}]},
        "containers cannot be changed once the Pod exists",
    ),
}


@pytest.mark.parametrize("name", CHANGES)
def test_what_of_a_running_pod_may_change(dractl: Any, tmp_path: Any, name: str) -> None:
    """A manifest is compared as ``kubectl apply`` sends it: what the server has added stays."""
    plain = json.loads(json.dumps(body("Pod")).replace("gpus", "gpu"))
    live = json.loads(json.dumps({**plain, "spec": LIVE_SPEC}).replace("gpus", "gpu"))
    (tmp_path / "live.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [live]}))
    change, words = CHANGES[name]
    plain["spec"] |= json.loads(json.dumps(change).replace("gpus", "gpu"))
    run = dractl(
        "validate", "--no-config", "-", "--old", str(tmp_path / "live.json"), "-o", "json", stdin=json.dumps(plain)
    )
    found = [one for one in json.loads(run.out)["findings"] if one["severity"] == "error"]
    assert [one["message"] for one in found] == ([words] if words else [])
    assert [one["code"] for one in found] == (["DRA027"] if words else [])
