"""For every check a small cluster where it finds something and one, as like as can be, where it does not."""

from __future__ import annotations

import json
from typing import Any

from explain.builders import (
    GPU,
    NIC,
    TIME,
    Json,
    claim,
    class_,
    device,
    held,
    node,
    pod,
    request,
    result,
    slice_,
)

ROOT = "resource.kubernetes.io/pcieRoot"
NVIDIA = "gpu.nvidia.com"
Objects = list[Any]


def generic(api: str, kind: str, name: str, namespace: str = "", **body: Any) -> Json:
    meta: Json = {"name": name, **({"namespace": namespace} if namespace else {})}
    return {"apiVersion": api, "kind": kind, "metadata": meta, **body}


def template(name: str, *requests: Json) -> Json:
    spec = {"spec": {"devices": {"requests": list(requests)}}}
    return generic("resource.k8s.io/v1", "ResourceClaimTemplate", name, "ns", spec=spec)


def by_template(name: str, wanted: str) -> Json:
    made = pod(name)
    made["spec"]["resourceClaims"] = [{"name": "c0", "resourceClaimTemplateName": wanted}]
    return made


def fleet(*devices: Json, on: str = "n1", **more: Any) -> Objects:
    """One node with devices of the usual driver, and its class."""
    return [node(on), slice_(on, list(devices) or [device("gpu-0")], **more), class_(GPU)]


def with_parent(parent: str | None, **more: Any) -> Objects:
    part = device("gpu-0-part", {"uuid": "MIG-1", **({"parentUUID": parent} if parent else {})}, **more)
    return [node("n1"), slice_("n1", [device("gpu-0", {"uuid": "GPU-1"}), part]), class_(GPU)]


def counted(total: str, *amounts: str) -> Objects:
    """A pool with one counter and a device for each amount."""
    devices = [
        device(f"gpu-{index}", consumesCounters=[{"counterSet": "set", "counters": {"memory": {"value": amount}}}])
        for index, amount in enumerate(amounts)
    ]
    counters = {"name": "set", "counters": {"memory": {"value": total}}}
    return [
        node("n1"),
        class_(GPU),
        slice_("n1", [], name="counters", count=2, sharedCounters=[counters]),
        slice_("n1", devices, name="devices", count=2),
    ]


def share(name: str, amount: str) -> Json:
    taken = result("r", "n1", "gpu-0", shareID=f"share-{name}", consumedCapacity={"memory": amount})
    return claim(name, request("r"), results=[taken], on="n1", reserved=[])


def role(name: str, *rules: tuple[list[str], list[str]], groups: list[str] | None = None) -> Json:
    made = [{"apiGroups": groups or ["resource.k8s.io"], "resources": what, "verbs": verbs} for what, verbs in rules]
    return generic("rbac.authorization.k8s.io/v1", "ClusterRole", name, rules=made)


def gone(seconds: str, made: Json) -> Json:
    made["metadata"]["deletionTimestamp"] = f"2026-12-01T05:{seconds}Z"
    return made


def shaped(made: Json, **status: Any) -> Json:
    made["status"].update(status)
    return made


def pair_of_devices(gpu_root: str, *nic_roots: str) -> Objects:
    nics = [device(f"nic-{index}", {ROOT: root}) for index, root in enumerate(nic_roots)]
    return [node("n1"), slice_("n1", [device("gpu-0", {ROOT: gpu_root})]), slice_("n1", nics, driver=NIC)]


def both(nic: str) -> Objects:
    """A running pod with gpu-0 and one NIC."""
    results = [result("g", "n1", "gpu-0"), result("n", "n1", nic, NIC)]
    consumer = {"resource": "pods", "name": "p", "uid": "uid-pod-p"}
    asked = [request("g"), request("n", NIC)]
    return [claim("p", *asked, results=results, on="n1", reserved=[consumer]), pod("p", "p", on="n1")]


def numa(cpu: int) -> Objects:
    results = [result("g", "n1", "gpu-0"), result("c", "n1", "cpu-0", "dra.cpu")]
    consumer = {"resource": "pods", "name": "p", "uid": "uid-pod-p"}
    return [
        node("n1"),
        slice_("n1", [device("gpu-0", {"numa": 0})]),
        slice_("n1", [device("cpu-0", {"dra.cpu/numaNodeID": cpu})], driver="dra.cpu"),
        claim("p", request("g"), request("c", "dra.cpu"), results=results, on="n1", reserved=[consumer]),
        pod("p", "p", on="n1"),
    ]


def taint_rule(selector: Json | None) -> Json:
    spec: Json = {"taint": {"key": "k", "effect": "NoSchedule"}}
    if selector is not None:
        spec["deviceSelector"] = selector
    return generic("resource.k8s.io/v1beta2", "DeviceTaintRule", "rule", spec=spec)


def event(reason: str) -> Json:
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": "e", "namespace": "ns"},
        "involvedObject": {"kind": "Pod", "namespace": "ns", "name": "p", "uid": "uid-pod-p"},
        "reason": reason,
        "message": "NodePrepareResources: no such device",
        "lastTimestamp": TIME,
    }


def quota(used: str) -> Json:
    hard = {"count/resourceclaims.resource.k8s.io": "2"}
    status = {"hard": hard, "used": {"count/resourceclaims.resource.k8s.io": used}}
    return generic("v1", "ResourceQuota", "q", "ns", status=status)


def warned(pod_name: str, reason: str, message: str) -> Json:
    """An event about a pod."""
    about = {"kind": "Pod", "namespace": "ns", "name": pod_name, "uid": f"uid-pod-{pod_name}"}
    meta = {"name": f"e-{pod_name}", "namespace": "ns"}
    body = {"apiVersion": "v1", "kind": "Event", "metadata": meta, "involvedObject": about, "reason": reason}
    return {**body, "message": message, "type": "Warning", "lastTimestamp": TIME, "count": 3}


def not_made(message: str) -> Objects:
    """A pod whose claim cannot be made from its template, and what the controller says."""
    text = f"PodResourceClaim c0: failed to create ResourceClaim: {message}"
    space = generic("v1", "Namespace", "ns")
    return [
        ONE,
        space,
        by_template("p", "t"),
        template("t", request("r")),
        warned("p", "FailedResourceClaimCreation", text),
    ]


def preparing(message: str) -> Objects:
    """A pod that has its device and does not start, and what kubelet says."""
    consumer = {"resource": "pods", "name": "p", "uid": "uid-pod-p"}
    made = claim("p", request("r"), results=[result("r", "n1", "gpu-0")], on="n1", reserved=[consumer])
    started = shaped(pod("p", "p", on="n1"), phase="Pending")
    return [ONE, made, started, warned("p", "FailedPrepareDynamicResources", message)]


def owned_pod(name: str, on: str, kind: str = "DaemonSet") -> Json:
    made = pod(name, on=on)
    made["metadata"]["ownerReferences"] = [{"apiVersion": "apps/v1", "kind": kind, "name": "d", "uid": "d"}]
    return made


def many(number: int, *last: Json) -> Objects:
    """Devices that carry model, and some more."""
    return fleet(*(device(f"gpu-{index}", {"model": "A"}) for index in range(number)), *last)


def applied(version: str) -> Json:
    made = class_(GPU)
    text = json.dumps({"apiVersion": f"resource.k8s.io/{version}", "kind": "DeviceClass"})
    made["metadata"]["annotations"] = {"kubectl.kubernetes.io/last-applied-configuration": text}
    return made


def with_kubelet(version: str) -> Objects:
    made = node("n1")
    made["status"]["nodeInfo"] = {"kubeletVersion": version}
    return [made, slice_("n1", [device("gpu-0")])]


def counted_and_tainted(taint: bool) -> Objects:
    """A device that is refused draws from the counters that the next one needs."""
    taints = [{"key": "k", "effect": "NoSchedule"}] if taint else []
    objects = counted("10", "6", "6")
    objects[3]["spec"]["devices"][0]["taints"] = taints
    return [objects, WAITING]


def bound(status: str) -> Objects:
    taken = result("r", "n1", "gpu-0", bindingConditions=["x.io/ok"], bindingFailureConditions=["x.io/failed"])
    condition = {"type": "x.io/failed", "status": status, "reason": "NoCable", "lastTransitionTime": TIME}
    device_status = {"driver": GPU, "pool": "n1", "device": "gpu-0", "conditions": [condition]}
    made = claim("h", request("r"), results=[taken], on="n1", reserved=[])
    return [ONE, shaped(made, devices=[device_status]), pod("h", "h")]


def spread(*free: int) -> Objects:
    """Nodes with four devices each, of which some are free; a claim waits for three."""
    objects: Objects = [class_(GPU), claim("w", request("r", count=3)), pod("w", "w")]
    for number, left in enumerate(free):
        objects += [node(f"n{number}"), slice_(f"n{number}", [device(f"gpu-{index}") for index in range(4)])]
        objects += [held(f"h{number}-{index}", f"n{number}", f"gpu-{index}") for index in range(4 - left)]
    return objects


def constrained(attribute: str) -> Objects:
    made = template("t", request("r", count=2))
    made["spec"]["spec"]["devices"]["constraints"] = [{"matchAttribute": attribute}]
    return [many(2), made]


def holding(name: str, device_name: str, *, pod_there: bool = True, priority: int = 0) -> Objects:
    made = held(name, "n1", device_name)
    if priority:
        made[1]["spec"]["priority"] = priority
    return made if pod_there else [made[0], pod("other", on="n1")]


ONE = fleet(device("gpu-0"))
TWO = fleet(device("gpu-0"), device("gpu-1"))
WAITING = [claim("w", request("r")), pod("w", "w")]
NVIDIA_NODES = [node("n1"), node("n2"), slice_("n1", [device("gpu-0")], driver=NVIDIA)]
OTHER_WAITING = [claim("v", request("r")), pod("v", "v")]
QUOTA = (
    'resourceclaims.resource.k8s.io "p-c0-" is forbidden: exceeded quota: q, requested: '
    "gpu.example.com.deviceclass.resource.k8s.io/devices=1, used: "
    "gpu.example.com.deviceclass.resource.k8s.io/devices=2, limited: "
    "gpu.example.com.deviceclass.resource.k8s.io/devices=2"
)
ADMIN = (
    'ResourceClaim.resource.k8s.io "p-c0" is invalid: spec.devices.requests[0].exactly.adminAccess: Forbidden: admin '
    "access to devices requires the `resource.kubernetes.io/admin-access: true` label on the containing namespace"
)
OTHER_CLAIM = "3c2545d7-7fd1-55e3-bf91-81eb7926e2d3"
NARROW = class_(GPU, f"device.driver == '{GPU}' && device.attributes['{GPU}'].model == 'A'")

PAIRS: dict[str, tuple[Objects, Objects]] = {
    "DRA230": ([ONE, WAITING, holding("h", "gpu-0")], [ONE, held("h", "n1", "gpu-0")]),
    "DRA301": ([ONE, by_template("p", "t")], [ONE, by_template("p", "t"), template("t", request("r"))]),
    "DRA302": ([ONE, pod("w", "w")], [ONE, WAITING]),
    "DRA201": ([node("n1"), slice_("n1", [device("gpu-0")]), WAITING], [ONE, WAITING]),
    "DRA311": (
        [
            ONE,
            template("t", request("r")),
            shaped(by_template("p", "t"), resourceClaimStatuses=[{"name": "c0", "resourceClaimName": "c"}]),
            claim("c", request("r")),
        ],
        [
            ONE,
            template("t", request("r")),
            shaped(by_template("p", "t"), resourceClaimStatuses=[{"name": "c0", "resourceClaimName": "c"}]),
            claim(
                "c",
                request("r"),
                ownerReferences=[
                    {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "uid-pod-p", "controller": True}
                ],
            ),
        ],
    ),
    "DRA308": (
        [TWO, node("n2"), held("h", "n1", "gpu-0"), pod("p", "h", nodeSelector={"kubernetes.io/hostname": "n2"})],
        [TWO, node("n2"), held("h", "n1", "gpu-0"), pod("p", "h", nodeSelector={"kubernetes.io/hostname": "n1"})],
    ),
    "DRA231": (
        [TWO, held("a", "n1", "gpu-0"), held("b", "n1", "gpu-0")],
        [TWO, held("a", "n1", "gpu-0"), held("b", "n1", "gpu-1")],
    ),
    "DRA235": (
        [with_parent("GPU-1"), held("a", "n1", "gpu-0"), held("b", "n1", "gpu-0-part")],
        [with_parent("GPU-2"), held("a", "n1", "gpu-0"), held("b", "n1", "gpu-0-part")],
    ),
    "DRA233": (
        [counted("10Gi", "8Gi", "4Gi"), held("a", "n1", "gpu-0"), held("b", "n1", "gpu-1")],
        [counted("12Gi", "8Gi", "4Gi"), held("a", "n1", "gpu-0"), held("b", "n1", "gpu-1")],
    ),
    "DRA234": (
        [
            fleet(device("gpu-0", capacity={"memory": "10Gi"}, allowMultipleAllocations=True)),
            share("a", "6Gi"),
            share("b", "6Gi"),
        ],
        [
            fleet(device("gpu-0", capacity={"memory": "12Gi"}, allowMultipleAllocations=True)),
            share("a", "6Gi"),
            share("b", "6Gi"),
        ],
    ),
    "DRA232": ([ONE, held("a", "n1", "gpu-9")], [ONE, held("a", "n1", "gpu-0")]),
    "DRA237": (
        [node("n1", allocatable={"nvidia.com/gpu": "1"}), slice_("n1", [device("gpu-0")], driver=NVIDIA)],
        [node("n1", allocatable={"nvidia.com/gpu": "0"}), slice_("n1", [device("gpu-0")], driver=NVIDIA)],
    ),
    "DRA222": (
        [
            ONE,
            *(
                generic("resource.k8s.io/v1", "DeviceClass", name, spec={"extendedResourceName": "x.io/gpu"})
                for name in ("a", "b")
            ),
        ],
        [
            ONE,
            *(
                generic("resource.k8s.io/v1", "DeviceClass", name, spec={"extendedResourceName": f"x.io/{name}"})
                for name in ("a", "b")
            ),
        ],
    ),
    "DRA306": ([ONE, holding("h", "gpu-0", pod_there=False)], [ONE, holding("h", "gpu-0")]),
    "DRA309": ([ONE, claim("c", request("r")), pod("p", on="n1")], [ONE, WAITING]),
    "DRA310": (
        [ONE, gone("00:00", held("h", "n1", "gpu-0")[0]), held("h", "n1", "gpu-0")[1]],
        [ONE, held("h", "n1", "gpu-0")],
    ),
    "DRA236": (
        [ONE, claim("w", request("r")), pod("w", "w", priority=100), holding("h", "gpu-0", priority=1)],
        [ONE, claim("w", request("r")), pod("w", "w", priority=100), holding("h", "gpu-0", priority=100)],
    ),
    "DRA238": ([ONE, quota("2")], [ONE, quota("1")]),
    "DRA511": (
        [pair_of_devices("pci0000:10", "pci0000:20", "pci0000:10"), both("nic-0")],
        [pair_of_devices("pci0000:10", "pci0000:20", "pci0000:10"), both("nic-1")],
    ),
    "DRA512": (numa(1), numa(0)),
    "DRA510": (pair_of_devices("pci0000:10", "pci0000:20"), pair_of_devices("pci0000:10", "pci0000:10")),
    "DRA513": (
        [
            node("n1"),
            slice_("n1", [device("gpu-0", {"numa": 0})]),
            slice_("n1", [device("nic-0", {"dra.net/numaNode": 0})], driver="dra.net"),
        ],
        [
            node("n1"),
            slice_("n1", [device("gpu-0", {"resource.kubernetes.io/numaNode": 0})]),
            slice_("n1", [device("nic-0", {"resource.kubernetes.io/numaNode": 0})], driver="dra.net"),
        ],
    ),
    "DRA401": (fleet(count=2), fleet(count=1)),
    "DRA402": (fleet(device("gpu-0"), device("gpu-0")), TWO),
    "DRA403": ([ONE, slice_("n1", [device("gpu-9")], generation=0, name="old")], [ONE]),
    "DRA404": ([ONE, slice_("n2", [device("gpu-0")])], [ONE, node("n2"), slice_("n2", [device("gpu-0")])]),
    "DRA405": (
        [shaped(node("n1"), conditions=[{"type": "Ready", "status": "Unknown"}]), slice_("n1", [device("gpu-0")])],
        [node("n1"), slice_("n1", [device("gpu-0")])],
    ),
    "DRA409": (
        [
            node("n1"),
            slice_("n1", [device("gpu-0")], driver=NVIDIA),
            shaped(
                pod("nvidia-dra-driver-x", on="n1"),
                phase="Running",
                containerStatuses=[{"name": "main", "state": {"waiting": {"reason": "CrashLoopBackOff"}}}],
            ),
        ],
        [
            node("n1"),
            slice_("n1", [device("gpu-0")], driver=NVIDIA),
            shaped(
                pod("nvidia-dra-driver-x", on="n1"),
                phase="Running",
                containerStatuses=[{"name": "main", "state": {"running": {}}}],
            ),
        ],
    ),
    "DRA407": (
        [node("n1"), slice_("n1", [device("gpu-0")]), NARROW],
        [node("n1"), slice_("n1", [device("gpu-0", {"model": "A"})]), NARROW],
    ),
    "DRA406": ([ONE, class_("other.example.com")], [ONE, class_("other.example.com", "true")]),
    "DRA408": (
        [ONE, slice_("n1", [device("nic-0")], driver=NIC)],
        [ONE, slice_("n1", [device("nic-0")], driver=NIC), class_(NIC)],
    ),
    "DRA410": (
        fleet(device("gpu-0", {"index": 1}), device("gpu-1", {"index": "1"})),
        fleet(device("gpu-0", {"index": 1}), device("gpu-1", {"index": 2})),
    ),
    "DRA411": (with_parent("GPU-1"), with_parent("GPU-2")),
    "DRA412": (counted("10Gi", "12Gi"), counted("12Gi", "12Gi")),
    "DRA307": (
        [
            ONE,
            claim(
                "p",
                request("r"),
                results=[result("r", "n1", "gpu-0")],
                on="n1",
                reserved=[{"resource": "pods", "name": "p", "uid": "uid-pod-p"}],
            ),
            shaped(pod("p", "p", on="n1"), phase="Pending"),
            event("FailedPrepareDynamicResources"),
        ],
        [ONE, held("p", "n1", "gpu-0"), event("FailedPrepareDynamicResources")],
    ),
    "DRA316": (
        [ONE, held("h", "n1", "gpu-0")[0], gone("00:00", held("h", "n1", "gpu-0")[1])],
        [ONE, held("h", "n1", "gpu-0")],
    ),
    "DRA420": (
        fleet(device("gpu-0", taints=[{"key": "x.io/ecc", "effect": "NoSchedule", "timeAdded": TIME}])),
        fleet(device("gpu-0")),
    ),
    "DRA421": ([ONE, taint_rule({"driver": GPU})], [ONE]),
    "DRA422": (
        [
            ONE,
            shaped(
                held("h", "n1", "gpu-0")[0],
                devices=[
                    {
                        "driver": GPU,
                        "pool": "n1",
                        "device": "gpu-0",
                        "conditions": [
                            {"type": "Ready", "status": "False", "reason": "Xid", "lastTransitionTime": TIME}
                        ],
                    }
                ],
            ),
            held("h", "n1", "gpu-0")[1],
        ],
        [
            ONE,
            shaped(
                held("h", "n1", "gpu-0")[0],
                devices=[
                    {
                        "driver": GPU,
                        "pool": "n1",
                        "device": "gpu-0",
                        "conditions": [
                            {"type": "Ready", "status": "True", "reason": "Fine", "lastTransitionTime": TIME}
                        ],
                    }
                ],
            ),
            held("h", "n1", "gpu-0")[1],
        ],
    ),
    "DRA423": tuple(  # type: ignore[dict-item]
        [
            ONE,
            held("h", "n1", "gpu-0")[0],
            shaped(
                held("h", "n1", "gpu-0")[1],
                containerStatuses=[
                    {
                        "name": "main",
                        "allocatedResourcesStatus": [
                            {"name": "claim:c0", "resources": [{"resourceID": "gpu-0", "health": health}]}
                        ],
                    }
                ],
            ),
        ]
        for health in ("Unhealthy", "Healthy")
    ),
    "DRA701": (
        [ONE, role("gpu-driver", (["resourceslices"], ["create"]), (["resourceclaims/status"], ["update"]))],
        [
            ONE,
            role(
                "gpu-driver",
                (["resourceslices"], ["create"]),
                (["resourceclaims/status"], ["update"]),
                (["resourceclaims/driver"], ["associated-node:update"]),
            ),
        ],
    ),
    "DRA702": (
        [ONE, role("my-scheduler", (["resourceclaims/status"], ["patch"]))],
        [ONE, role("my-scheduler", (["resourceclaims/status", "resourceclaims/binding"], ["patch"]))],
    ),
    "DRA703": (
        [
            ONE,
            role("gpu-driver", (["resourceslices"], ["create"])),
            generic("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy", "p", spec={"x": "pods"}),
        ],
        [
            ONE,
            role("gpu-driver", (["resourceslices"], ["create"])),
            generic("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy", "p", spec={"x": "resourceslices"}),
        ],
    ),
    "DRA704": (
        [
            ONE,
            {
                "apiVersion": "v1",
                "kind": "Namespace",
                "metadata": {"name": "m", "labels": {"resource.kubernetes.io/admin-access": "true"}},
            },
        ],
        [
            ONE,
            {
                "apiVersion": "v1",
                "kind": "Namespace",
                "metadata": {"name": "m", "labels": {"resource.kubernetes.io/admin-access": "yes"}},
            },
        ],
    ),
    "DRA705": (
        [ONE, role("all", (["*"], ["*"]))],
        [ONE, role("all", (["*"], ["get"]))],
    ),
    "DRA801": ([ONE, taint_rule({"driver": GPU})], [ONE]),
    "DRA216": tuple(  # type: ignore[dict-item]
        [
            *(node(name) for name in ("n1", "n2")),
            slice_("ports", [device("port-1")], on="n1", name="a"),
            slice_("ports", [device(other)], on="n2", name="b"),
        ]
        for other in ("port-1", "port-2")
    ),
    "DRA303": (not_made('admission webhook "x.io" denied the request: no'), not_made(QUOTA)),
    "DRA312": (not_made(ADMIN), not_made(QUOTA)),
    "DRA313": (not_made(QUOTA), not_made(ADMIN)),
    "DRA304": (
        [ONE, claim("w", request("r")), shaped(pod("w", "w", on="n1"), phase="Pending")],
        [ONE, WAITING],
    ),
    "DRA314": (
        preparing(f"gpu-0 is already prepared for claim {OTHER_CLAIM}"),
        preparing("gpu-0 cannot be opened"),
    ),
    "DRA315": (
        preparing(f"DRA driver {GPU} is not registered"),
        preparing("gpu-0 cannot be opened"),
    ),
    "DRA206": (constrained(f"{GPU}/numa"), constrained(f"{GPU}/model")),
    "DRA239": ([ONE, WAITING, OTHER_WAITING], [TWO, WAITING, OTHER_WAITING]),
    "DRA514": (spread(2, 1), spread(3, 0)),
    "DRA413": (
        [node("n1"), slice_("n1", [device("gpu-0")], allNodes=True)],
        [node("n1"), slice_("fabric", [device("channel-0")], allNodes=True)],
    ),
    "DRA414": (many(20, device("gpu-99")), many(20, device("gpu-99", {"model": "B"}))),
    "DRA415": tuple(  # type: ignore[dict-item]
        [
            *(fleet(*(device(f"gpu-{index}", {"uuid": f"GPU-{index}"}) for index in range(8)))),
            node("n2"),
            slice_("n2", [device("gpu-0", {"uuid": uuid})]),
        ]
        for uuid in ("GPU-3", "GPU-33")
    ),
    "DRA416": (
        [NVIDIA_NODES, owned_pod("nvidia-dra-driver-x", "n2")],
        [NVIDIA_NODES, owned_pod("nvidia-dra-driver-x", "n1")],
    ),
    "DRA424": (bound("True"), bound("False")),
    "DRA802": (counted_and_tainted(True), counted_and_tainted(False)),
    "DRA810": (
        fleet({"name": "gpu-0", "attributes": {"x": {"strings": ["a"]}}}),
        fleet({"name": "gpu-0", "attributes": {"x": {"string": "a"}}}),
    ),
    "DRA811": ([applied("v1beta1")], [applied("v1")]),
    "DRA812": (with_kubelet("v1.33.4"), with_kubelet("v1.35.0")),
}
