"""get pools --server-status: asks, compares, and leaves nothing behind."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from dractl.sources import poolstatus
from tests.cluster.server import ApiServer

BASE = "/apis/resource.k8s.io/v1alpha3/resourcepoolstatusrequests"


@pytest.fixture
def counting(demo_objects, monkeypatch):
    """A server whose controller counts as kube-controller-manager does."""
    monkeypatch.setattr(poolstatus, "pause", lambda seconds: None)
    marker = {"apiVersion": "resource.k8s.io/v1alpha3", "kind": "ResourcePoolStatusRequest", "metadata": {"name": "x"}}
    with ApiServer([*demo_objects, marker]) as server:
        server.wrong = {}

        def answer(path, body):
            driver = body["spec"]["driver"]
            slices = [item["spec"] for item in demo_objects if item["kind"] == "ResourceSlice"]
            given = Counter(
                result["pool"]
                for item in demo_objects if item["kind"] == "ResourceClaim"
                for result in item.get("status", {}).get("allocation", {}).get("devices", {}).get("results", [])
                if result["driver"] == driver
            )  # fmt: skip
            pools = []
            for name in sorted({spec["pool"]["name"] for spec in slices if spec["driver"] == driver}):
                own = [spec for spec in slices if spec["driver"] == driver and spec["pool"]["name"] == name]
                newest = max(spec["pool"]["generation"] for spec in own)
                current = [spec for spec in own if spec["pool"]["generation"] == newest]
                entry = {"driver": driver, "poolName": name, "generation": newest}
                if len(current) < current[0]["pool"]["resourceSliceCount"]:
                    entry["validationError"] = "pool is incomplete"
                else:
                    entry["totalDevices"] = sum(len(spec.get("devices", [])) for spec in current)
                    entry["allocatedDevices"] = given[name] + server.wrong.get((driver, name), 0)
                pools.append(entry)
            return {**body, "status": {"pools": pools, "conditions": [{"type": "Complete", "status": "True"}]}}

        server.on_create = answer
        yield server


def test_no_difference(dractl, counting, tmp_path):
    kubeconfig = str(counting.kubeconfig(tmp_path / "kc"))
    run = dractl("get", "pools", "--server-status", "--yes", "-o", "json", "--kubeconfig", kubeconfig)
    assert (run.code, json.loads(run.out).get("notes")) == (0, None)
    methods = Counter(method for method, path, *_ in counting.requests if path.startswith(BASE))
    assert methods["POST"] == methods["DELETE"] == 3 and counting.singles == {}


def test_a_difference_is_said_and_is_not_good(dractl, counting, tmp_path):
    counting.wrong["gpu.nvidia.com", "h100-0"] = 2
    kubeconfig = str(counting.kubeconfig(tmp_path / "kc"))
    run = dractl("get", "pools", "--server-status", "--yes", "--kubeconfig", kubeconfig)
    assert run.code == 1
    assert run.err.count("note: pool ") == 1 and "pool gpu.nvidia.com/h100-0: the control plane counts 8" in run.err


def test_nobody_answers(dractl, counting, tmp_path, monkeypatch):
    monkeypatch.setattr(poolstatus, "PATIENCE", 0.05)
    counting.on_create = lambda path, body: body
    run = dractl("get", "pools", "--server-status", "--yes", "--kubeconfig", str(counting.kubeconfig(tmp_path / "kc")))
    assert run.code == 3 and "nobody answered" in run.err
    assert counting.singles == {}


def test_it_is_not_done_unasked(dractl, server, tmp_path):
    kubeconfig = str(server.kubeconfig(tmp_path / "kc"))
    for arguments in (["--kubeconfig", kubeconfig], ["--demo", "--yes"]):
        assert dractl("get", "pools", "--server-status", *arguments).code == 2
    assert not server.requests
    run = dractl("get", "pools", "--server-status", "--yes", "--kubeconfig", kubeconfig)
    assert run.code == 3 and "does not serve ResourcePoolStatusRequest" in run.err
