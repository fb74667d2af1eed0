"""Writing objects as v1 JSON: what was read from v1 comes out again, and older versions come out as v1."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from dractl.kube import encode
from dractl.kube.decode import decode
from dractl.kube.objects import Meta, Pod

DEMO = Path(__file__).resolve().parents[2] / "dractl" / "data" / "demo.json.gz"
WRITTEN = ("ResourceSlice", "DeviceClass", "ResourceClaim", "ResourceClaimTemplate", "DeviceTaintRule")


def demo() -> list[dict[str, Any]]:
    with gzip.open(DEMO, "rt") as file:
        items: list[dict[str, Any]] = json.load(file)["items"]
    return items


def test_the_demo_fleet_comes_out_as_it_went_in() -> None:
    seen = set()
    for item in demo():
        if item["kind"] not in WRITTEN:
            continue
        seen.add(item["kind"])
        item["metadata"].pop("managedFields", None)
        item["apiVersion"] = "resource.k8s.io/v1"
        for condition in item.get("status", {}).get("conditions", []):
            condition.pop("observedGeneration", None)  # not kept
        # what is empty is left out
        item = {key: value for key, value in item.items() if value}
        item["spec"] = {key: value for key, value in item["spec"].items() if value}
        assert encode.encode(decode(item, strict=True)) == item
    assert seen == set(WRITTEN)


def test_a_device_with_everything() -> None:
    selector = {"nodeSelectorTerms": [{"matchExpressions": [{"key": "z", "operator": "In", "values": ["1"]}]}]}
    device = {
        "name": "a",
        "attributes": {"i": {"int": 0}, "b": {"bool": False}, "s": {"string": ""}, "l": {"versions": ["1.0.0"]}},
        "capacity": {
            "m": {"value": "80Gi", "requestPolicy": {"default": "1Gi", "validRange": {"min": "1Gi", "step": "1Gi"}}},
            "n": {"value": "4", "requestPolicy": {"default": "1", "validValues": ["1", "2"]}},
        },
        "consumesCounters": [{"counterSet": "c", "counters": {"x": {"value": "1"}}, "compatibilityGroups": ["g"]}],
        "nodeSelector": selector,
        "taints": [{"key": "k", "value": "v", "effect": "NoExecute", "timeAdded": "2026-01-01T00:00:00Z"}],
        "bindsToNode": True,
        "bindingConditions": ["ready"],
        "bindingFailureConditions": ["failed"],
        "allowMultipleAllocations": True,
        "nodeAllocatableResources": {"cpu": {"mapping": {}}},
    }
    spec = {
        "driver": "d",
        "pool": {"name": "p", "generation": 0, "resourceSliceCount": 1},
        "perDeviceNodeSelection": True,
        "devices": [device],
        "partitionTypeAttribute": "d/profile",
        "skipNodeOperations": ["*"],
    }
    item = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": "s"}, "spec": spec}
    assert encode.encode(decode(item, strict=True)) == item
    old = json.loads(json.dumps(item))
    old["apiVersion"] = "resource.k8s.io/v1beta1"
    old["spec"]["devices"] = [{"name": "a", "basic": {k: v for k, v in device.items() if k != "name"}}]
    assert encode.encode(decode(old, strict=True)) == item


def test_a_claim_with_everything() -> None:
    exact = {
        "deviceClassName": "gpu",
        "selectors": [{"cel": {"expression": "true"}}],
        "allocationMode": "ExactCount",
        "count": 2,
        "adminAccess": False,
        "tolerations": [{"key": "k", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 0}],
        "capacity": {"requests": {"memory": "1Gi"}},
        "derivedAttributes": [{"name": "x.io/a", "expression": "1"}],
    }
    sub = {"name": "s", "deviceClassName": "gpu", "allocationMode": "All"}
    opaque = {"driver": "d", "parameters": {"a": [1]}}
    result = {
        "request": "r",
        "driver": "d",
        "pool": "p",
        "device": "a",
        "adminAccess": True,
        "bindingConditions": ["ready"],
        "bindingFailureConditions": ["failed"],
        "shareID": "u",
        "consumedCapacity": {"memory": "1Gi"},
    }
    status = {
        "allocation": {
            "devices": {"results": [result], "config": [{"source": "FromClass", "requests": ["r"], "opaque": opaque}]},
            "nodeSelector": {"nodeSelectorTerms": [{"matchFields": [{"key": "metadata.name", "operator": "Exists"}]}]},
            "allocationTimestamp": "2026-01-01T00:00:00Z",
        },
        "reservedFor": [{"resource": "pods", "name": "p", "uid": "u"}],
        "devices": [{"driver": "d", "pool": "p", "device": "a", "data": {"x": 1}, "networkData": {"ips": ["::1/64"]}}],
    }
    devices = {
        "requests": [{"name": "r", "exactly": exact}, {"name": "f", "firstAvailable": [sub]}],
        "constraints": [{"requests": ["r"], "matchAttribute": "d/a"}, {"distinctAttribute": "d/b"}],
        "config": [{"opaque": opaque}],
    }
    meta = {"name": "c", "namespace": "n", "uid": "u", "generation": 2, "labels": {"a": "b"}, "finalizers": ["f"]}
    item = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": meta, "spec": {"devices": devices}}
    item["status"] = status
    assert encode.encode(decode(item, strict=True)) == item


def test_quantities_are_written_in_canonical_form() -> None:
    spec = {"driver": "d", "pool": {"name": "p"}, "devices": [{"name": "a", "capacity": {"m": {"value": "81920Mi"}}}]}
    item = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": "s"}, "spec": spec}
    assert encode.encode(decode(item))["spec"]["devices"][0]["capacity"] == {"m": {"value": "80Gi"}}


def test_nodes_and_others() -> None:
    node = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "n"},
        "spec": {"unschedulable": True, "taints": [{"key": "k", "effect": "NoSchedule"}]},
        "status": {"allocatable": {"cpu": "4"}, "nodeInfo": {"kubeletVersion": "v1.36.2"}, "declaredFeatures": ["A"]},
    }
    other = {"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "d"}, "spec": {"x": 1}}
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n"}, "status": {"phase": "Active"}}
    for item in (node, other, namespace):
        assert encode.encode(decode(item)) == item
    assert encode.encode_all([decode(node)])["items"] == [node]


def test_kinds_that_are_only_read_are_not_written() -> None:
    with pytest.raises(TypeError, match="Pod"):
        encode.encode(Pod(Meta(name="p")))
