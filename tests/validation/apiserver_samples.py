"""Values and valid objects from which requests are made; the first values of a tuple are the likely ones."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable
from typing import Any

from dractl.validation import gotypes
from dractl.validation.gotypes import table

Json = Any

LABELS = ("gpu", "a", "r0", "big", "Gpu_1", "a.b", "", "x" * 63, "x" * 64, "-a", "a-", "é", "a\n")
DOMAINS = (
    "gpu.example.com",
    "dra.net",
    "Gpu.Example.com",
    "a b",
    "",
    "e" * 63,
    "e" * 64,
    "e" * 254,
    "a..b",
    "x_y",
    "a/b",
)
POOLS = ("n1", "rack/n1", "a//b", "", "B", "p" * 253, "p" * 254, "a/b/c", "/a", "a b")
QUALIFIED = (
    "model",
    "gpu.example.com/model",
    "a-b",
    "9x",
    "/x",
    "d/",
    "",
    "a/b/c",
    "x" * 33,
    f"{'d' * 64}/y",
    "Dom.ain/ok",
    "un_der/x",
    f"{'k' * 120}",
    "resource.kubernetes.io/pcieRoot",
)
KEYS = ("example.com/key", "key", "a b", "", "a/b/c", "/a", "k" * 64, "-k", "Ex.com/x", "x" * 254 + "/a")
VALUES = ("v", "", "a b", "v" * 63, "v" * 64, "-v", "é")
VERSIONS = ("1.2.3", "v1.2.3", "1.2", "01.2.3", "1.2.3-rc.1+b5", "1.2.3-", "", "1.2.3-" + "a" * 60)
QUANTITIES = (
    "1",
    "0",
    "-1",
    "80Gi",
    "1.5",
    "100m",
    "1e3",
    "10",
    "2",
    "3",
    "4",
    "5",
    "1Ki",
    "9223372036854775807",
    "0.5",
    "40Gi",
    "1n",
    "1.5Ki",
    "12E",
    "9Ei",
    "nope",
    "",
    "1 Gi",
    5,
    2.5,
    True,
)
TIMES = (
    "2026-01-02T03:04:05Z",
    "2026-01-02T03:04:05+02:00",
    "yesterday",
    "",
    "2026-13-01T00:00:00Z",
    "2026-02-30T00:00:00Z",
    "2026-01-02T03:04:05.678Z",
    "2026-01-02",
    "0001-01-01T00:00:00Z",
    "2026-01-02T3:04:05Z",
)
NUMBERS = (0, 1, 2, 3, -1, 32, 33, 100, 1000, 1001, 2**31, -(2**31) - 1, 2**63 - 1, 2**63, 1.5, 1.0)
OPERATORS = ("Equal", "Exists", "In", "NotIn", "DoesNotExist", "Gt", "Lt", "", "Foo", "<>")
EFFECTS = ("NoSchedule", "NoExecute", "None", "", "PreferNoSchedule", "<&>")
MODES = ("ExactCount", "All", "", "Some", "exactCount", "A&B")
UIDS = ("6d1bd1c2-4bd1-4d5f-a3e8-0a5b6c7d8e9f", "x", "", "6D1BD1C2-4BD1-4D5F-A3E8-0A5B6C7D8E9F")
RESOURCES = (
    "nvidia.com/gpu",
    "gpu",
    "kubernetes.io/gpu",
    "requests.nvidia.com/gpu",
    "a.b/c",
    "",
    "cpu",
    "memory",
    "x/y/z",
    "example.com/" + "a" * 63,
    "example.com/" + "a" * 64,
    "Ex/ample",
)
EXPRESSIONS = (
    "true",
    'device.driver == "gpu.example.com"',
    "device.driver ==",
    "foo.bar",
    "device.driver",
    "1 + 1",
    'device.attributes["gpu.example.com"].model == "A100"',
    "false",
    "x" * 10241,
    "true && nosuch",
    'device.capacity["gpu.example.com"].memory.compareTo(quantity("40Gi")) >= 0',
    "",
    'device.driver == "<a&b>"',
    "[1,2,3].all(i, i > 0)",
    "device.allowMultipleAllocations == true",
)
PARAMETERS: tuple[Json, ...] = (
    {"apiVersion": "x/v1", "kind": "Y"},
    {},
    [],
    "text",
    5,
    None,
    {"a": "x" * 10230},
    {"a": "x" * 10300},
    {"h": "<&>" * 1200},
    True,
    {"é": "ü" * 5000},
)
ADDRESSES = ("10.9.8.7/24", "10.9.8.0/24", "2001:db8::1/64", "10.9.8.7", "010.1.1.1/8", "2001:DB8::1/64", "x")

Maker = Callable[[random.Random], Json]


def pick(values: tuple[Json, ...]) -> Maker:
    """The first values more often than the others."""

    def make(rng: random.Random) -> Json:
        if rng.random() < 0.75:
            return copy.deepcopy(values[min(int(rng.random() * 3), len(values) - 1)])
        return copy.deepcopy(rng.choice(values))

    return make


FIELD_VALUES: dict[str, Maker] = {
    "name": pick(LABELS),
    "driver": pick(DOMAINS),
    "pool": pick(POOLS),
    "poolName": pick(POOLS),
    "device": pick(LABELS),
    "nodeName": pick(DOMAINS),
    "deviceClassName": pick(("gpu", "gpu.example.com", "", "Gpu", "c" * 253, "c" * 254)),
    "matchAttribute": pick(QUALIFIED[1:]),
    "distinctAttribute": pick(QUALIFIED[1:]),
    "string": pick(("A100", "", "s" * 64, "s" * 65, "é" * 33)),
    "version": pick(VERSIONS),
    "key": pick(KEYS),
    "value": pick(VALUES),
    "operator": pick(OPERATORS),
    "effect": pick(EFFECTS),
    "allocationMode": pick(MODES),
    "expression": pick(EXPRESSIONS),
    "parameters": pick(PARAMETERS),
    "data": pick(PARAMETERS),
    "extendedResourceName": pick(RESOURCES),
    "count": pick((1, 2, 0, -1, 33, 10**12)),
    "limit": pick((100, 1, 1000, 0, -1, 1001)),
    "resourceSliceCount": pick((1, 2, 3, 0, -1)),
    "generation": pick((1, 0, 2, -1)),
    "counterSet": pick(LABELS),
    "timeAdded": pick(TIMES),
    "creationTimestamp": pick(TIMES),
    "deletionTimestamp": pick(TIMES),
    "shareID": pick(UIDS),
    "uid": pick(UIDS),
    "capacityKey": pick(("memory", "gpu.example.com/memory", "nosuch", "", "<x>")),
    "namespace": pick(("default", "default", "default", "ns")),
    "generateName": pick(("c-", "Bad_", "x" * 70, "a.")),
    "finalizers": pick((["example.com/f"], ["a b"], ["orphan", "foregroundDeletion"], [])),
    "managedFields": pick(
        ([], [{"manager": "m", "operation": "Update"}], [{"operation": "X", "fieldsType": "Y", "manager": "a\tb"}])
    ),
    "resourceVersion": pick(("1",)),
    "request": pick(("gpu", "a", "zz", "gpu/big", "gpu/big/x")),
    "type": pick(KEYS),
    "status": pick(("True", "False", "Unknown", "maybe", "")),
    "reason": pick(("Good", "", "a-b", "r" * 1025)),
    "attribute": pick(QUALIFIED),
    "partitionTypeAttribute": pick(QUALIFIED[1:]),
    "defaultPartitionTypeAttribute": pick(QUALIFIED[1:]),
    "apiVersion": pick(("v1", "apps/v1", "", "a/b/c")),
    "kind": pick(("Pod", "Event", "")),
    "apiGroup": pick(("", "x.io")),
    "resource": pick(("pods", "", "podgroups")),
    "image": pick(("busybox", "x:1", "", " x", "X", "a/b:latest")),
    "imagePullPolicy": pick(("Always", "Never", "", "X")),
    "restartPolicy": pick(("Always", "Never", "OnFailure", "", "X")),
    "resourceClaimName": pick(DOMAINS),
    "resourceClaimTemplateName": pick(DOMAINS),
    "protocol": pick(("TCP", "UDP", "", "X")),
    "schedule": pick(("0 * * * *", "")),
    "concurrencyPolicy": pick(("Allow", "", "X")),
    "serviceAccountName": pick(DOMAINS),
    "priorityClassName": pick(DOMAINS),
}
MAP_KEYS = {
    "attributes": QUALIFIED,
    "capacity": QUALIFIED,
    "counters": LABELS,
    "labels": KEYS,
    "annotations": KEYS,
    "nodeAllocatableResourceMappings": ("cpu", "memory", "nvidia.com/gpu", "kubernetes.io/x", "<r>"),
    "nodeAllocatableResources": (
        "cpu",
        "memory",
        "ephemeral-storage",
        "nvidia.com/gpu",
        "kubernetes.io/x",
        "<r>",
        "hugepages-1Gi",
    ),
    "requests": QUALIFIED,
    "consumedCapacity": QUALIFIED,
}
LIST_VALUES: dict[str, tuple[Json, ...]] = {
    "requests": ("gpu", "a", "gpu/big", "zz", "gpu/zz", "gpu/big/x", "A_"),
    "bindingConditions": KEYS,
    "bindingFailureConditions": ("example.com/bad", "bad", *KEYS),
    "ips": ADDRESSES,
    "versions": VERSIONS,
    "strings": ("a", "b", "", "s" * 65),
    "ints": NUMBERS,
    "bools": (True, False),
    "values": VALUES,
    "validValues": QUANTITIES,
    "skipNodeOperations": ("NodePrepareResources", "NodeUnprepareResources", "*", "X"),
    "compatibilityGroups": LABELS,
}


class Generator:
    """Random values of the types of one release."""

    def __init__(self, rng: random.Random, minor: int) -> None:
        self.rng = rng
        self.types = table(minor)

    def value(self, kind: gotypes.Type, name: str, depth: int = 0) -> Json:
        rng = self.rng
        if isinstance(kind, gotypes.PointerType):
            return self.value(kind.item, name, depth)
        if isinstance(kind, gotypes.StructType):
            return self.struct(kind, depth)
        if isinstance(kind, gotypes.ListType):
            size = rng.choice((0, 1, 1, 1, 2, 2, 3))
            if name in LIST_VALUES and not isinstance(kind.item, gotypes.StructType):
                return [pick(LIST_VALUES[name])(rng) for _ in range(size)]
            return [self.value(kind.item, name, depth + 1) for _ in range(size)]
        if isinstance(kind, gotypes.MapType):
            keys = MAP_KEYS.get(name, KEYS)
            return {pick(keys)(rng): self.value(kind.item, "", depth + 1) for _ in range(rng.choice((0, 1, 1, 2, 3)))}
        if isinstance(kind, gotypes.QuantityType):
            return pick(QUANTITIES)(rng)
        if name in FIELD_VALUES:
            return FIELD_VALUES[name](rng)
        if isinstance(kind, gotypes.BoolType):
            return rng.random() < 0.7
        if isinstance(kind, gotypes.IntType):
            return pick((1, 2, 0, *NUMBERS))(rng)
        if isinstance(kind, gotypes.TimeType):
            return pick(TIMES)(rng)
        if isinstance(kind, gotypes.RawType):
            return pick(PARAMETERS)(rng)
        return pick(LABELS)(rng)

    def struct(self, kind: gotypes.StructType, depth: int) -> Json:
        rng = self.rng
        chance = 0.5 if depth < 4 else 0.3
        out = {}
        for name, field in kind.fields.items():
            if rng.random() < (0.9 if not field.omit else chance):
                out[name] = self.value(field.type, name, depth + 1)
        return out


# --- objects that are good to start from ----------------------------------------------------------------------------


def claim_devices(rng: random.Random, flat: bool, generator: Generator) -> Json:
    """spec.devices of a claim that is valid, with a random choice of features."""
    details: Json = {"deviceClassName": "gpu"}
    if rng.random() < 0.5:
        details["selectors"] = [{"cel": {"expression": 'device.driver == "gpu.example.com"'}}]
    if rng.random() < 0.3:
        details |= {"allocationMode": rng.choice(("All", "ExactCount"))}
    if rng.random() < 0.3 and details.get("allocationMode") != "All":
        details["count"] = 2
    if rng.random() < 0.3:
        details["tolerations"] = [
            {"key": "example.com/k", "value": "v", "effect": "NoSchedule"},
            {"operator": "Exists"},
        ]
    if rng.random() < 0.2:
        details["capacity"] = {"requests": {"memory": "1Gi"}}
    exact: Json = {"name": "gpu", **({"exactly": details} if not flat else details)}
    either = {
        "name": "a",
        "firstAvailable": [{"name": "big", **copy.deepcopy(details)}, {"name": "r0", "deviceClassName": "x"}],
    }
    if rng.random() < 0.2:
        (exact if flat else exact["exactly"])["adminAccess"] = rng.random() < 0.8
    requests = [exact, either] if rng.random() < 0.5 else [exact]
    out: Json = {"requests": requests}
    if rng.random() < 0.5:
        out["constraints"] = [{"requests": ["gpu"], "matchAttribute": "resource.kubernetes.io/pcieRoot"}]
    if rng.random() < 0.3:
        out.setdefault("constraints", []).append({"distinctAttribute": "gpu.example.com/model"})
    if rng.random() < 0.5:
        opaque = {"driver": "gpu.example.com", "parameters": {"apiVersion": "x/v1", "kind": "Y"}}
        out["config"] = [{"requests": ["gpu"], "opaque": opaque}]
    return out


def slice_spec(rng: random.Random, flat: bool, generator: Generator) -> Json:
    """spec of a slice that is valid, with a random choice of features."""
    spec: Json = {"driver": "gpu.example.com", "pool": {"name": "n1", "generation": 1, "resourceSliceCount": 1}}
    node = rng.choice(("nodeName", "nodeName", "allNodes", "nodeSelector", "perDeviceNodeSelection"))
    term = {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a", "b"]}]}
    values: Json = {"nodeName": "n1", "nodeSelector": {"nodeSelectorTerms": [term]}}
    spec[node] = values.get(node, True)
    if rng.random() < 0.15:
        spec["sharedCounters"] = [{"name": "a", "counters": {"memory": {"value": "80Gi"}, "slots": {"value": 8}}}]
        if rng.random() < 0.7:
            return spec
    devices = []
    for index in range(rng.choice((1, 1, 2, 3))):
        basic: Json = {
            "attributes": {"model": {"string": "A100"}, "index": {"int": index}, "gpu.example.com/ok": {"bool": True}}
        }
        basic["capacity"] = {"memory": {"value": "80Gi"}}
        if rng.random() < 0.3:
            basic["taints"] = [{"key": "example.com/bad", "value": "x", "effect": "NoSchedule"}]
        if rng.random() < 0.3:
            basic["consumesCounters"] = [{"counterSet": "a", "counters": {"memory": {"value": "40Gi"}}}]
        if rng.random() < 0.3:
            policy: Json = {"default": "1"}
            if rng.random() < 0.5:
                policy = {"default": "2", "validValues": ["1", "2", "4"]}
            elif rng.random() < 0.7:
                policy = {"default": "2", "validRange": {"min": "1", "max": "9", "step": "1"}}
            basic["allowMultipleAllocations"] = True
            basic["capacity"]["slots"] = {"value": "10", "requestPolicy": policy}
        if rng.random() < 0.2:
            basic |= {
                "bindingConditions": ["example.com/ready"],
                "bindingFailureConditions": ["example.com/bad"],
                "bindsToNode": True,
            }
        if node == "perDeviceNodeSelection":
            which = rng.choice(("nodeName", "allNodes", "nodeSelector"))
            basic[which] = copy.deepcopy(values.get(which, True))
        if rng.random() < 0.15 and generator.types.minor >= 36:
            basic["attributes"]["many"] = {rng.choice(("ints", "bools", "strings", "versions")): []}
        devices.append({"name": f"gpu-{index}", **({"basic": basic} if flat else basic)})
    spec["devices"] = devices
    return spec


def base(rng: random.Random, kind: str, api_version: str, generator: Generator) -> Json:
    """An object that the server accepts or nearly so."""
    flat = api_version.endswith(("v1beta1", "v1alpha3")) and kind in (
        "ResourceClaim",
        "ResourceClaimTemplate",
        "ResourceSlice",
    )
    meta: Json = {"name": "obj", "labels": {"a": "b"}}
    spec: Json
    if kind in ("ResourceClaim", "ResourceClaimTemplate"):
        meta["namespace"] = "default"
        spec = {"devices": claim_devices(rng, flat, generator)}
        if kind == "ResourceClaimTemplate":
            spec = {"metadata": {"labels": {"x": "y"}}, "spec": spec}
    elif kind == "ResourceSlice":
        spec = slice_spec(rng, flat, generator)
    elif kind == "DeviceClass":
        spec = {"selectors": [{"cel": {"expression": 'device.driver == "gpu.example.com"'}}]}
        spec["config"] = [{"opaque": {"driver": "gpu.example.com", "parameters": {"a": 1}}}]
        if rng.random() < 0.5:
            spec["extendedResourceName"] = "nvidia.com/gpu"
    elif kind == "DeviceTaintRule":
        spec = {"deviceSelector": {"driver": "gpu.example.com", "pool": "n1", "device": "gpu-0"}}
        spec["taint"] = {"key": "example.com/bad", "value": "x", "effect": "NoSchedule"}
    else:
        spec = {"driver": "gpu.example.com", "poolName": "n1"}
    return {"apiVersion": api_version, "kind": kind, "metadata": meta, "spec": spec}


# --- damage ---------------------------------------------------------------------------------------------------------


def pod_spec(rng: random.Random) -> Json:
    """A pod spec with claims that is valid."""
    container: Json = {"name": "c", "image": rng.choice(("busybox", "x:1", "x@sha256:" + "a" * 64, "r.io/x:latest"))}
    if rng.random() < 0.7:
        container["resources"] = {"claims": [{"name": "gpu"}]}
        if rng.random() < 0.3:
            container["resources"]["claims"][0]["request"] = "gpu"
    if rng.random() < 0.4:
        container.setdefault("resources", {})["limits"] = {"cpu": "1", "memory": "1Gi", "nvidia.com/gpu": 1}
    spec: Json = {"containers": [container]}
    spec["resourceClaims"] = [{"name": "gpu", rng.choice(("resourceClaimName", "resourceClaimTemplateName")): "x"}]
    if rng.random() < 0.2:
        spec["initContainers"] = [{"name": "i", "image": "x", "resources": {"claims": [{"name": "gpu"}]}}]
    if rng.random() < 0.2:
        spec["tolerations"] = [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}]
    return spec


def pod_base(rng: random.Random, kind: str, api_version: str) -> Json:
    """A pod or workload that is valid."""
    spec = pod_spec(rng)
    out: Json = {"apiVersion": api_version, "kind": kind, "metadata": {"name": "obj", "namespace": "default"}}
    template: Json = {"metadata": {"labels": {"a": "b"}}, "spec": spec}
    if kind == "Pod":
        out["spec"] = spec
    elif kind == "CronJob":
        spec["restartPolicy"] = "Never"
        out["spec"] = {"schedule": "0 * * * *", "jobTemplate": {"spec": {"template": template}}}
    elif kind == "Job":
        spec["restartPolicy"] = "OnFailure"
        out["spec"] = {"template": template}
    else:
        out["spec"] = {"selector": {"matchLabels": {"a": "b"}}, "template": template}
    return out
