"""Every rule on manifests with an example that breaks it and a twin that does not."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dractl.rules import advice, manifests, workloads

V1 = "resource.k8s.io/v1"


def claim(request: dict[str, Any] | None = None, **devices: Any) -> dict[str, Any]:
    exactly = {"deviceClassName": "c", **(request or {})}
    spec = {"devices": {"requests": [{"name": "r", "exactly": exactly}], **devices}}
    return {"apiVersion": V1, "kind": "ResourceClaim", "metadata": {"name": "x", "namespace": "ns"}, "spec": spec}


def selector(expression: str, device_class: str = "c") -> dict[str, Any]:
    return claim({"deviceClassName": device_class, "selectors": [{"cel": {"expression": expression}}]})


def device_class(expression: str = 'device.driver == "d.example.com"', name: str = "c", **spec: Any) -> dict[str, Any]:
    selectors = [{"cel": {"expression": expression}}]
    body = {"apiVersion": V1, "kind": "DeviceClass", "metadata": {"name": name}}
    return {**body, "spec": {"selectors": selectors, **spec}}


def tolerating(**toleration: Any) -> dict[str, Any]:
    return claim({"tolerations": [toleration]})


def config(parameters: dict[str, Any], driver: str = "gpu.nvidia.com") -> dict[str, Any]:
    entry = {"opaque": {"driver": driver, "parameters": parameters}}
    return claim({"deviceClassName": "gpu.nvidia.com"}, config=[entry])


def sharing(**fields: Any) -> dict[str, Any]:
    return config({"apiVersion": "resource.nvidia.com/v1beta1", "kind": "GpuConfig", "sharing": fields})


def resource_slice(device: dict[str, Any], name: str = "s", count: int = 1, **spec: Any) -> dict[str, Any]:
    body = {
        "driver": "d.example.com",
        "nodeName": "n",
        "pool": {"name": "p", "generation": 1, "resourceSliceCount": count},
        "devices": [{"name": "d", **device}],
        **spec,
    }
    if not body["devices"]:
        del body["devices"]
    body = {key: value for key, value in body.items() if value is not None}
    return {"apiVersion": V1, "kind": "ResourceSlice", "metadata": {"name": name}, "spec": body}


def pod(claims: list[dict[str, Any]], uses: list[dict[str, Any]], name: str = "p", **limits: Any) -> dict[str, Any]:
    resources: dict[str, Any] = {"claims": uses}
    if limits:
        resources["limits"] = {key.replace("__", "/").replace("_", "."): value for key, value in limits.items()}
    container = {"name": "main", "image": "i:1", "resources": resources}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "ns"},
        "spec": {"containers": [container], "resourceClaims": claims},
    }


def template(name: str = "t", namespace: str = "ns", request: str = "r") -> dict[str, Any]:
    spec = {"devices": {"requests": [{"name": request, "exactly": {"deviceClassName": "c"}}]}}
    return {
        "apiVersion": V1,
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"spec": spec},
    }


def plugin(
    path: str = "/var/lib/kubelet/device-plugins",
    tolerate: bool = True,
    resources: dict[str, Any] | None = None,
    **more: Any,
) -> dict[str, Any]:
    container = {
        "name": "ctr",
        "image": "nvcr.io/nvidia/k8s-device-plugin:v0.17.0",
        "volumeMounts": [{"name": "dp", "mountPath": "/var/lib/kubelet/device-plugins"}],
        "resources": resources or {},
        **more,
    }
    spec: dict[str, Any] = {"containers": [container], "volumes": [{"name": "dp", "hostPath": {"path": path}}]}
    if tolerate:
        spec["tolerations"] = [{"key": "nvidia.com/gpu", "operator": "Exists"}]
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": "plugin", "namespace": "kube-system"},
        "spec": {
            "selector": {"matchLabels": {"app": "x"}},
            "template": {"metadata": {"labels": {"app": "x"}}, "spec": spec},
        },
    }


def dra_driver(path: str) -> dict[str, Any]:
    body = plugin(path)
    body["spec"]["template"]["spec"]["containers"][0] |= {
        "image": "registry.example/dra-driver-x:1",
        "volumeMounts": [],
    }
    return body


def deployment(entry: dict[str, Any], kind: str = "Deployment", replicas: int = 2) -> dict[str, Any]:
    container = {"name": "main", "image": "i:1", "resources": {"claims": [{"name": entry["name"]}]}}
    body = {"labels": {"app": "x"}}
    spec = {
        "selector": {"matchLabels": {"app": "x"}},
        "template": {"metadata": body, "spec": {"containers": [container], "resourceClaims": [entry]}},
    }
    counted = {} if kind == "DaemonSet" else {"replicas": replicas}
    meta = {"name": "w", "namespace": "ns"}
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": meta, "spec": {**counted, **spec}}


def role(groups: list[str], resources: list[str], verbs: list[str] | None = None) -> dict[str, Any]:
    rules = [{"apiGroups": groups, "resources": resources, "verbs": verbs or ["get"]}]
    kind = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole"}
    return {**kind, "metadata": {"name": "some-driver"}, "rules": rules}


def quota(name: str) -> dict[str, Any]:
    meta = {"name": "q", "namespace": "ns"}
    return {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": meta, "spec": {"hard": {name: "1"}}}


def namespace(**labels: str) -> dict[str, Any]:
    named = {key.replace("__", "/").replace("_", "."): value for key, value in labels.items()}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ns", "labels": named}}


ENTRY = [{"name": "e", "resourceClaimTemplateName": "t"}]
ADMIN = "resource.kubernetes.io/admin-access"
NVIDIA = 'device.driver == "gpu.nvidia.com" && '
ATTRIBUTE = 'device.attributes["gpu.nvidia.com"]'
MEMORY = 'device.capacity["gpu.nvidia.com"].memory.compareTo(quantity("{}")) >= 0'
COUNTERS = {"consumesCounters": [{"counterSet": "set", "counters": {"memory": {"value": "1"}}}]}
SHARED = [{"name": "set", "counters": {"memory": {"value": "1"}}}]
OTHER = [{"name": "set", "counters": {"cores": {"value": "1"}}}]


def counters(sets: list[Any], name: str = "k") -> dict[str, Any]:
    return resource_slice({}, name, 2, devices=[], sharedCounters=sets)


def in_range(limits: dict[str, str]) -> dict[str, Any]:
    policy = {"default": "1", "validRange": limits}
    return resource_slice(
        {"allowMultipleAllocations": True, "capacity": {"m": {"value": "9", "requestPolicy": policy}}}
    )


PAIR = [
    {"name": "gpu", "exactly": {"deviceClassName": "gpu.nvidia.com"}},
    {"name": "cpu", "exactly": {"deviceClassName": "dra.cpu"}},
]


def pair(attribute: str) -> dict[str, Any]:
    return claim(requests=PAIR, constraints=[{"matchAttribute": attribute}])


Case = tuple[Any, Any, list[str]]
CASES: dict[str, Case] = {
    # code: (objects that break the rule, objects that do not, options)
    "DRA005": (
        '{"apiVersion": "v1", "kind": "Namespace", "kind": "Namespace", "metadata": {"name": "x"}}',
        namespace(),
        [],
    ),
    "DRA008": ({"metadata": {"name": "x"}, "spec": {}}, claim(), []),
    "DRA010": (claim({"classes": 1}), claim(), []),
    "DRA011": (claim({"count": "two"}), claim({"count": 2}), []),
    "DRA012": ({**claim(), "kind": "ResourceClaims"}, claim(), []),
    "DRA013": ({**claim(), "apiVersion": "resource.k8s.io/v2"}, claim(), []),
    "DRA014": ({**claim(), "apiVersion": "resource.k8s.io/v1alpha2"}, claim(), []),
    "DRA015": ({**claim(), "apiVersion": "resource.k8s.io/v1beta2"}, claim(), []),
    "DRA016": (resource_slice({"capacity": {"m": {"value": "1 Gi"}}}), resource_slice({}), []),
    "DRA020": (claim({"deviceClassName": ""}), claim(), []),
    "DRA021": (claim({"count": -1}), claim(), []),
    "DRA022": (claim({"allocationMode": "all"}), claim({"allocationMode": "All"}), []),
    "DRA023": (claim(requests=[{"name": "r", "exactly": {"deviceClassName": "c"}}] * 2), claim(), []),
    "DRA024": (
        claim(requests=[{"name": f"r{n}", "exactly": {"deviceClassName": "c"}} for n in range(33)]),
        claim(),
        [],
    ),
    "DRA025": (
        resource_slice({"capacity": {"m": {"value": "1", "requestPolicy": {"default": "1"}}}}),
        resource_slice(
            {"allowMultipleAllocations": True, "capacity": {"m": {"value": "1", "requestPolicy": {"default": "1"}}}}
        ),
        [],
    ),
    "DRA026": (pod(ENTRY, [{"name": "other"}]), pod(ENTRY, [{"name": "e"}]), []),
    "DRA030": (selector('device.drivr == "x"'), selector('device.driver == "x"'), []),
    "DRA031": (
        selector('device.attributes["d.example.com"].x.split(",").map(s, s.trim()).exists(s, s == "a")'),
        selector('device.attributes["d.example.com"].x.split(",").exists(s, s == "a")'),
        [],
    ),
    "DRA032": (claim(requests=[{"name": "GPU", "exactly": {"deviceClassName": "c"}}]), claim(), []),
    "DRA033": (claim(requests=[{"name": "r"}]), claim(), []),
    "DRA034": (
        resource_slice({"attributes": {"v": {"version": "v1.2"}}}),
        resource_slice({"attributes": {"v": {"version": "1.2.0"}}}),
        [],
    ),
    "DRA035": (resource_slice(COUNTERS, sharedCounters=SHARED), resource_slice({}), []),
    "DRA036": (
        {**plugin(), "spec": {**plugin()["spec"], "selector": {"matchLabels": {"app": "y"}}}},
        plugin(),
        [],
    ),
    "DRA037": (
        [claim({"adminAccess": True}), namespace()],
        [claim({"adminAccess": True}), namespace(**{ADMIN: "true"})],
        [],
    ),
    "DRA038": (pod([{"name": "e", "source": {"resourceClaimTemplateName": "t"}}], [{"name": "e"}]), pod(ENTRY, []), []),
    "DRA101": (claim(), [claim(), device_class()], ["--complete"]),
    "DRA102": (pod(ENTRY, [{"name": "e"}]), [pod(ENTRY, [{"name": "e"}]), template()], ["--complete"]),
    "DRA103": (
        pod([{"name": "e", "resourceClaimName": "x"}], [{"name": "e"}]),
        [pod([{"name": "e", "resourceClaimName": "x"}], [{"name": "e"}]), claim()],
        ["--complete"],
    ),
    "DRA104": (
        [pod(ENTRY, [{"name": "e", "request": "gpu"}]), template()],
        [pod(ENTRY, [{"name": "e", "request": "r"}]), template()],
        [],
    ),
    "DRA105": (pod(ENTRY, []), pod(ENTRY, [{"name": "e"}]), []),
    "DRA106": (
        [pod(ENTRY, [{"name": "e"}]), template(namespace="other")],
        [pod(ENTRY, [{"name": "e"}]), template()],
        [],
    ),
    "DRA107": (
        deployment({"name": "e", "resourceClaimName": "x"}),
        deployment({"name": "e", "resourceClaimTemplateName": "x"}),
        [],
    ),
    "DRA110": (claim({"count": 33}), claim({"count": 32}), []),
    "DRA111": (selector(f"{ATTRIBUTE}.index == 0"), selector(f'{ATTRIBUTE}.uuid == "x"'), []),
    "DRA112": (
        claim(constraints=[{"matchAttribute": "a.b/c", "distinctAttribute": "a.b/d"}]),
        claim(constraints=[{"matchAttribute": "a.b/c"}, {"distinctAttribute": "a.b/d"}]),
        [],
    ),
    "DRA113": (pair("resource.kubernetes.io/pciBusID"), pair("resource.kubernetes.io/numaNode"), []),
    "DRA114": (
        claim({"capacity": {"requests": {"gpu.nvidia.com/memory": "1Gi"}}}),
        claim({"capacity": {"requests": {"memory": "1Gi"}}}),
        [],
    ),
    "DRA115": (claim(requests=[]), claim(), []),
    "DRA116": (claim({"allocationMode": "All"}), claim(), []),
    "DRA117": (
        claim({"count": 3, "capacity": {"requests": {"memory": "1Gi"}}}),
        claim(
            requests=[
                {"name": n, "exactly": {"deviceClassName": "c", "capacity": {"requests": {"memory": "1Gi"}}}}
                for n in "ab"
            ]
        ),
        [],
    ),
    "DRA120": (
        device_class('device.attributes["d.example.com"].type == "gpu"'),
        device_class('device.driver == "d.example.com" && device.attributes["d.example.com"].type == "gpu"'),
        [],
    ),
    "DRA121": (
        selector(f'{ATTRIBUTE}.driverVersion == "580.105.8"'),
        selector(f'{ATTRIBUTE}.driverVersion.isGreaterThan(semver("580.105.8"))'),
        [],
    ),
    "DRA122": (selector(MEMORY.format("80Gi")), selector(MEMORY.format("79Gi")), []),
    "DRA123": (
        selector(f'{ATTRIBUTE}.productName == "NVIDIA-H100-80GB-HBM3"'),
        selector(f'{ATTRIBUTE}.productName == "NVIDIA H100 80GB HBM3"'),
        [],
    ),
    "DRA124": (selector(f'{ATTRIBUTE}.memory == "80Gi"'), selector(MEMORY.format("79Gi")), []),
    "DRA125": (
        selector('device.driver == "gpu.amd.com"', "gpu.nvidia.com"),
        selector('device.driver == "gpu.nvidia.com"', "gpu.nvidia.com"),
        [],
    ),
    "DRA126": (
        selector('device.capacity["d.example.com"].m.isGreaterThan(quantity("40GB"))'),
        selector('device.capacity["d.example.com"].m.isGreaterThan(quantity("40G"))'),
        [],
    ),
    "DRA130": (config({"a": 1}, "gpu.amd.com"), config({"a": 1}, "gpu.nvidia.com"), []),
    "DRA131": (
        sharing(strategy="MPS", mpsConfig={"defaultActiveThreadPercentage": 50}),
        config({"apiVersion": "resource.nvidia.com/v1beta1", "kind": "MigDeviceConfig"}),
        [],
    ),
    "DRA132": (
        sharing(strategy="TimeSlicing", timeSlicingConfig={"timeSlice": "Long"}),
        sharing(strategy="TimeSlicing", timeSlicingConfig={"interval": "Long"}),
        [],
    ),
    "DRA140": (tolerating(key="k", operator="Exists"), tolerating(key="k", operator="Exists", effect="NoExecute"), []),
    "DRA141": (
        tolerating(key="k", operator="Exists", effect="NoSchedule", tolerationSeconds=5),
        tolerating(key="k", operator="Exists", effect="NoExecute", tolerationSeconds=5),
        [],
    ),
    "DRA142": (
        claim({"tolerations": [{"key": f"k{n}", "operator": "Exists", "effect": "NoExecute"} for n in range(17)]}),
        claim({"tolerations": [{"key": f"k{n}", "operator": "Exists", "effect": "NoExecute"} for n in range(16)]}),
        [],
    ),
    "DRA143": (tolerating(value="v", effect="NoExecute"), tolerating(operator="Exists", effect="NoExecute"), []),
    "DRA144": (
        claim({"adminAccess": True}),
        [claim({"adminAccess": True}), namespace(**{ADMIN: "true"})],
        [],
    ),
    "DRA150": (
        [resource_slice(COUNTERS, count=2), counters(OTHER)],
        [resource_slice(COUNTERS, count=2), counters(SHARED)],
        [],
    ),
    "DRA151": (
        [resource_slice({}, "a", 2), resource_slice({}, "b", 2)],
        [resource_slice({}, "a", 2), resource_slice({"name": "e"}, "b", 2)],
        [],
    ),
    "DRA152": (
        [resource_slice({}, "a", 1), resource_slice({"name": "e"}, "b", 1)],
        [resource_slice({}, "a", 2), resource_slice({"name": "e"}, "b", 2)],
        [],
    ),
    "DRA153": (
        resource_slice(
            {
                "nodeSelector": {
                    "nodeSelectorTerms": [
                        {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [n]}]} for n in "ab"
                    ]
                }
            },
            nodeName=None,
            perDeviceNodeSelection=True,
        ),
        resource_slice({"nodeName": "n"}, nodeName=None, perDeviceNodeSelection=True),
        [],
    ),
    "DRA154": (
        resource_slice(
            {
                "allowMultipleAllocations": True,
                "capacity": {
                    "m": {"value": "9", "requestPolicy": {"default": "1", "validRange": {"min": "1", "step": "0"}}}
                },
            }
        ),
        resource_slice(
            {
                "allowMultipleAllocations": True,
                "capacity": {
                    "m": {"value": "9", "requestPolicy": {"default": "1", "validRange": {"min": "1", "step": "1"}}}
                },
            }
        ),
        [],
    ),
    "DRA155": (
        resource_slice(
            {"allowMultipleAllocations": True, "capacity": {"m": {"value": "1", "requestPolicy": {"default": "2"}}}}
        ),
        resource_slice(
            {"allowMultipleAllocations": True, "capacity": {"m": {"value": "2", "requestPolicy": {"default": "2"}}}}
        ),
        [],
    ),
    "DRA156": (
        resource_slice({"bindingConditions": ["a.b/c"], "bindingFailureConditions": ["a.b/d"]}),
        resource_slice({}),
        [],
    ),
    "DRA157": (
        resource_slice({"attributes": {"a.b/c/d": {"int": 1}}}),
        resource_slice({"attributes": {"a.b/c": {"int": 1}}}),
        [],
    ),
    "DRA158": (resource_slice({}, driver="D.example.com"), resource_slice({}), []),
    "DRA159": (
        in_range({"min": "1", "step": "500m"}),
        in_range({"min": "1", "step": "1"}),
        [],
    ),
    "DRA160": (
        {
            "apiVersion": "resource.k8s.io/v1beta2",
            "kind": "DeviceTaintRule",
            "metadata": {"name": "r"},
            "spec": {"taint": {"key": "a.b/c", "effect": "NoSchedule"}},
        },
        {
            "apiVersion": "resource.k8s.io/v1beta2",
            "kind": "DeviceTaintRule",
            "metadata": {"name": "r"},
            "spec": {"deviceSelector": {}, "taint": {"key": "a.b/c", "effect": "NoSchedule"}},
        },
        [],
    ),
    "DRA161": (
        [
            device_class(name="a", extendedResourceName="x.com/g"),
            device_class(name="b", extendedResourceName="x.com/g"),
        ],
        [
            device_class(name="a", extendedResourceName="x.com/g"),
            device_class(name="b", extendedResourceName="x.com/h"),
        ],
        [],
    ),
    "DRA162": (device_class(name="x" * 64), device_class(name="x" * 63), []),
    "DRA163": (pod(ENTRY, [{"name": "e"}], "p" * 55), pod(ENTRY, [{"name": "e"}], "p" * 54), []),
    "DRA164": ({**claim(), "status": {"reservedFor": []}}, claim(), []),
    "DRA165": (role(["resource.k8s.io/v1"], ["resourceslices"]), role(["resource.k8s.io"], ["resourceslices"]), []),
    "DRA166": (
        role(["resource.k8s.io"], ["resourceslices", "resourceclaims/status"], ["create", "update"]),
        role(["resource.k8s.io"], ["resourceslices", "resourceclaims/status"], ["get"]),
        [],
    ),
    "DRA167": (quota("count/resourceclaims"), quota("count/resourceclaims.resource.k8s.io"), []),
    "DRA168": (
        [counters(SHARED), {**counters(SHARED, "l"), "spec": {**counters(SHARED)["spec"], "driver": "e.example.com"}}],
        [counters(SHARED), resource_slice({}, "l", driver="e.example.com")],
        [],
    ),
    "DRA170": (
        claim({"tolerations": [{"operator": "Exists", "effect": "NoExecute"}]}),
        claim(),
        ["--gate", "DRADeviceTaints=false"],
    ),
    "DRA171": (
        claim(requests=[{"name": "r", "firstAvailable": [{"name": "a", "deviceClassName": "c"}]}]),
        claim(),
        ["--gate", "DRAPrioritizedList=false"],
    ),
    "DRA172": (
        resource_slice({"attributes": {"x": {"ints": [1]}}}),
        resource_slice({"attributes": {"x": {"int": 1}}}),
        ["--kubernetes", "1.35"],
    ),
    "DRA173": (
        [device_class(extendedResourceName="x.com/gpu"), pod([], [], x_com__gpu=1)],
        [device_class(extendedResourceName="x.com/gpu"), pod([], [], x_com__nic=1)],
        ["--gate", "DRAExtendedResource=false"],
    ),
    "DRA180": (plugin("/var/lib/kubelet/plugins"), plugin(), []),
    "DRA181": (plugin(tolerate=False), plugin(), []),
    "DRA182": (
        plugin(args=["--mig-strategy=mixed"]),
        plugin(
            args=["--mig-strategy=mixed"],
            env=[{"name": "NVIDIA_MIG_MONITOR_DEVICES", "value": "all"}],
            securityContext={"capabilities": {"add": ["SYS_ADMIN"]}},
        ),
        [],
    ),
    "DRA184": (
        pod(ENTRY, [{"name": "e"}], nvidia_com__gpu=1),
        pod(ENTRY, [{"name": "e"}], memory="1Gi"),
        [],
    ),
    "DRA186": (
        plugin(resources={"limits": {"nvidia.com/gpu": 1}}),
        plugin(resources={"limits": {"memory": "1Gi"}}),
        [],
    ),
    "DRA187": (plugin(args=["--fail-on-init-error=false"]), plugin(args=["--fail-on-init-error=true"]), []),
    "DRA188": (dra_driver("/var/lib/kubelet/device-plugins"), dra_driver("/var/lib/kubelet/plugins_registry"), []),
}
ELSEWHERE = {
    # tests/cli/test_validate.py: input that cannot be read, updates, fleets
    "DRA001", "DRA002", "DRA003", "DRA004", "DRA006", "DRA007", "DRA009", "DRA027", "DRA190", "DRA191",
    # an answer of the server that no known object draws
    "DRA039",
}  # fmt: skip


def test_every_rule_has_its_pair() -> None:
    rules = {rule.code for rule in (*manifests.RULES, *advice.RULES, *workloads.RULES)}
    assert rules == set(CASES) | ELSEWHERE
    assert not set(CASES) & ELSEWHERE


@pytest.fixture
def codes(dractl: Any) -> Any:
    def run(objects: Any, options: list[str]) -> set[str]:
        if not isinstance(objects, str):
            listed = objects if isinstance(objects, list) else [objects]
            objects = "\n".join(json.dumps(one) for one in listed)
        answer = dractl("validate", "--no-config", "-", "-o", "json", *options, stdin=objects)
        assert answer.err == ""
        return {one["code"] for one in json.loads(answer.out)["findings"]}

    return run


@pytest.mark.parametrize("code", CASES)
def test_a_rule_speaks_when_it_should_and_only_then(codes: Any, code: str) -> None:
    bad, good, options = CASES[code]
    assert code in codes(bad, options)
    assert code not in codes(good, options)


WORDS = [
    # what a reader gets to see: (object, code, words of the finding)
    (
        selector('device.attributes["resource.kubernetes.io/pcieRoot"] == "x"'),
        "DRA030",
        ['["resource.kubernetes.io"].pcieRoot'],
    ),
    (selector('device.attributes["a.b/c"].d == "x"'), "DRA111", ["the domain ends before the first slash"]),
    (selector('device.driver = "x"'), "DRA030", ["== compares"]),
    (selector('device.driver == "x" and true'), "DRA030", ["write &&"]),
    (selector("device.attributes.a.b.model == 'x'"), "DRA111", ['write device.attributes["a.b"].model']),
    (selector('device.attributes["type"] == "gpu"'), "DRA030", ['device.attributes["DRIVER"].type']),
    (selector('device.capacity["d.e"].m >= 40Gi'), "DRA030", ['.compareTo(quantity("40Gi")) >= 0']),
    (claim({"deviceClass": "x"}), "DRA010", ["did you mean deviceClassName?"]),
    (
        selector("device.driver == 'x' && device.capacity['d.e'].m >= quantity('10Gi')"),
        "DRA030",
        ["quantities are compared with methods", '.compareTo(quantity("10Gi")) >= 0'],
    ),
    (selector('device.attributes["dra.net"].rdma == "true"'), "DRA121", ["write true without quotes"]),
    (pod(ENTRY, ["e"]), "DRA011", ["claims[0] has to be a mapping", "write {name: e}"]),
    (pair("resource.kubernetes.io/pcieroot"), "DRA113", ["did you mean resource.kubernetes.io/pcieRoot?"]),
    (
        claim(config=[{"opaque": {"driver": "d.e", "parameters": "x: y"}}]),
        "DRA021",
        ["parameters has to be a mapping"],
    ),
    (
        {**claim(), "apiVersion": "resource.k8s.io/v1beta1"},
        "DRA015",
        ["has the shape of v1 already, so that only the apiVersion changes"],
    ),
    (role(["resource.k8s.io"], ["resourceclaim"]), "DRA165", ["did you mean resourceclaims?"]),
    (role(["resource.k8s.io"], ["resourceclasses"]), "DRA165", ["no resourceclasses since Kubernetes 1.31"]),
    (role(["resource.k8s.io"], ["resourceclaims/state"]), "DRA165", ["have no subresource state"]),
    (
        deployment({"name": "e", "resourceClaimName": "x"}, "DaemonSet"),
        "DRA107",
        ["the pods of the other nodes wait for ever"],
    ),
    (selector('device.driver == "x" && foo'), "DRA030", ["uses foo, which does not exist here"]),
    (
        selector('device.attributes["x"].memory >= quantity("1Gi")'),
        "DRA030",
        ["quantities are capacities", 'device.capacity["x"].memory.compareTo(quantity("1Gi")) >= 0'],
    ),
    (selector('device.capacity["x"].m.compareTo(quantity("1"))'), "DRA030", ["this one gives int", "for example >= 0"]),
    (
        claim(constraints=[{"matchAttribute": "pcieRoot"}]),
        "DRA032",
        ["lacks the domain", "resource.kubernetes.io/pcieRoot"],
    ),
    (
        claim(constraints=[{"matchAttribute": "a/b", "requests": ["R"]}]),
        "DRA026",
        ['no request \\"R\\"', "did you mean r?"],
    ),
    (device_class(extendedResourceName="gpu"), "DRA021", ["no extended resource name", "example.com/gpu"]),
    (resource_slice({"attributes": {"model": "H100"}}), "DRA011", ["write model: {string: H100}"]),
    (resource_slice({"attributes": {"index": 0}}), "DRA011", ["write index: {int: 0}"]),
    (resource_slice({"capacity": {"memory": "80Gi"}}), "DRA011", ["write memory: {value: 80Gi}"]),
    (
        {**claim(), "spec": {"devices": {"requests": {"name": "r"}}}},
        "DRA011",
        ["requests has to be a list", "with a dash"],
    ),
    (claim({"deviceClassname": "x"}), "DRA010", ["did you mean deviceClassName?"]),
    (
        pod([], []) | {"spec": {"containers": [{"name": "c", "image": "i", "claims": [{"name": "x"}]}]}},
        "DRA010",
        ["resources.claims"],
    ),
    (
        claim(
            {"deviceClassName": "mig.nvidia.com"},
            config=[
                {
                    "opaque": {
                        "driver": "gpu.nvidia.com",
                        "parameters": {"apiVersion": "resource.nvidia.com/v1beta1", "kind": "GpuConfig"},
                    }
                }
            ],
        ),
        "DRA132",
        ["GpuConfig is not for devices of class mig.nvidia.com", "use MigDeviceConfig"],
    ),
    (
        claim(
            requests=[
                {"name": "r", "exactly": {"deviceClassName": "c"}},
                {"name": "r", "exactly": {"deviceClassName": "c"}},
            ]
        ),
        "DRA023",
        ["is there twice in requests"],
    ),
    (
        {**template(), "spec": claim()["spec"]},
        "DRA010",
        ["it belongs to spec.spec.devices", "an EMPTY claim is stored"],
    ),
    (claim({"allocationMode": "exactcount"}), "DRA022", ["did you mean ExactCount?"]),
    (
        claim({"capacity": {"requests": {"dra.net/x": "0"}}}),
        "DRA114",
        ["asks for 0 of dra.net/x"],
    ),
]


@pytest.mark.parametrize(("body", "code", "words"), WORDS)
def test_findings_say_what_to_write(dractl: Any, body: Any, code: str, words: list[str]) -> None:
    answer = dractl("validate", "--no-config", "-", "-o", "json", stdin=json.dumps(body))
    found = [json.dumps(one) for one in json.loads(answer.out)["findings"] if one["code"] == code]
    assert found
    plain = " ".join(found).replace('\\\\"', '"').replace('\\"', '"')
    for word in words:
        assert word in " ".join(found) or word in plain


def test_a_template_named_as_a_claim_and_the_reverse(dractl: Any) -> None:
    for entry, other, words in (
        ({"name": "e", "resourceClaimName": "t"}, template(), "write resourceClaimTemplateName: t"),
        ({"name": "e", "resourceClaimTemplateName": "x"}, claim(), "write resourceClaimName: x"),
    ):
        text = "\n".join(json.dumps(one) for one in (pod([entry], [{"name": "e"}]), other))
        answer = dractl("validate", "--no-config", "-", "-o", "json", stdin=text)
        (finding,) = json.loads(answer.out)["findings"]
        assert finding["code"] in ("DRA102", "DRA103")
        assert finding["hint"] == words


def test_a_quote_inside_quotes_is_explained(dractl: Any) -> None:
    text = 'apiVersion: v1\nspec:\n  expression: "device.driver == "x.y""\n'
    answer = dractl("validate", "--no-config", "-", stdin=text)
    assert 'the text ends at its second "; put all of it in single quotes' in answer.out
    assert answer.code == 2


def test_a_name_is_not_called_missing_without_reason(codes: Any) -> None:
    assert codes(claim(), []) == set()
    assert codes(pod(ENTRY, [{"name": "e"}]), []) == set()
    assert codes([claim({"deviceClassName": "gpuu"}), device_class(name="gpu")], []) == {"DRA101"}
