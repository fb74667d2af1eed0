"""Claims and pods to be put before kube-scheduler: one of each kind of question, and a number drawn at random."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

GPU, MIG, NIC, RDMA, CPU, A100 = (
    "gpu.nvidia.com", "mig.nvidia.com", "dra.net", "rdma.dra.net", "dra.cpu", "high-performance-gpu",
)  # fmt: skip
PCIE, NUMA = "resource.kubernetes.io/pcieRoot", "dra.net/numaNode"
HOST = "kubernetes.io/hostname"


@dataclass(slots=True)
class Case:
    """A pod with claims of its own (their specs' ``devices``); ``existing`` are claims that are there already.

    ``extended`` are resources of the container that a class offers; ``passing``: it ends and frees its devices.
    """

    name: str
    claims: list[dict[str, Any]]
    pod: dict[str, Any] = field(default_factory=dict)
    namespace: str = "research"
    existing: list[str] = field(default_factory=list)
    cpu: str = "100m"
    extended: dict[str, str] = field(default_factory=dict)
    passing: bool = False


def request(name: str, device_class: str, count: int = 1, where: str = "", **more: Any) -> dict[str, Any]:
    exactly: dict[str, Any] = {"deviceClassName": device_class, **more}
    if more.get("allocationMode") != "All":
        exactly["count"] = count
    if where:
        exactly["selectors"] = [{"cel": {"expression": where}}]
    return {"name": name, "exactly": exactly}


def first(name: str, *alternatives: dict[str, Any]) -> dict[str, Any]:
    return {"name": name, "firstAvailable": [{"name": one["name"], **one["exactly"]} for one in alternatives]}


def devices(*requests: dict[str, Any], **constraint: Any) -> dict[str, Any]:
    return {"requests": list(requests), **({"constraints": [constraint]} if constraint else {})}


def on(node: str, **more: Any) -> dict[str, Any]:
    return {"nodeSelector": {HOST: node}, **more}


def product(name: str) -> str:
    return f"device.attributes['gpu.nvidia.com'].productName == '{name}'"


H100 = "device.attributes['gpu.nvidia.com'].architecture == 'Hopper'"
ONE_MORE = {"nvidia.com/gpu": "1"}
ANY_TAINT = [{"operator": "Exists"}]

CASES = [
    Case("one-gpu", [devices(request("gpu", GPU))]),
    Case("hopper", [devices(request("gpu", GPU, where=H100))]),
    Case("eight-on-h100-2", [devices(request("gpu", GPU, 8))], on("h100-2")),
    Case("nine-anywhere", [devices(request("gpu", GPU, 9))]),
    Case("memory", [devices(request(
        "gpu", GPU, where="device.capacity['gpu.nvidia.com'].memory.compareTo(quantity('80Gi')) >= 0"))]),
    Case("too-much-memory", [devices(request(
        "gpu", GPU, where="device.capacity['gpu.nvidia.com'].memory.compareTo(quantity('500Gi')) >= 0"))]),
    Case("gpu-and-nic", [devices(request("gpu", GPU), request("nic", RDMA), matchAttribute=PCIE)]),
    Case("gpu-and-nic-on-h100-1", [devices(request("gpu", GPU), request("nic", RDMA), matchAttribute=PCIE)],
         on("h100-1")),
    Case("two-pairs", [devices(request("gpu", GPU, 2), request("nic", RDMA, 2), matchAttribute=PCIE)]),
    Case("nics-of-one-numa", [devices(request("nic", NIC, 3), matchAttribute=NUMA)]),
    Case("nics-of-two-numas", [devices(request("nic", NIC, 2), distinctAttribute=NUMA)]),
    Case("nics-of-three-numas", [devices(request("nic", NIC, 3), distinctAttribute=NUMA)]),
    Case("all-nics", [devices(request("nic", RDMA, allocationMode="All"))], on("h100-4")),
    Case("all-nics-tolerated", [devices(request("nic", RDMA, allocationMode="All", tolerations=ANY_TAINT))],
         on("h100-4")),
    Case("all-cpus", [devices(request("cpu", CPU, allocationMode="All"))]),
    Case("broken-gpu-tolerated", [devices(request("gpu", GPU, 8, tolerations=ANY_TAINT))], on("h100-2")),
    Case("alternatives", [devices(first(
        "gpu", request("huge", GPU, 16), request("l40s", GPU, 2, product("NVIDIA L40S")), request("any", GPU)))]),
    Case("alternatives-with-match", [devices(
        first("gpu", request("two", GPU, 2), request("one", GPU)), request("nic", RDMA), matchAttribute=PCIE,
        requests=["gpu", "nic"])]),
    Case("no-alternative", [devices(first("gpu", request("a", GPU, 16), request("b", GPU, 12)))]),
    Case("mig", [devices(request("mig", MIG))]),
    Case("mig-many", [devices(request("mig", MIG, 7))]),
    Case("mig-3g", [devices(request("mig", MIG, 2, "device.attributes['gpu.nvidia.com'].profile == '3g.20gb'"))]),
    Case("whole-a100", [devices(request("gpu", A100))]),
    Case("all-a100", [devices(request("gpu", A100, 4))]),
    Case("mig-of-two-parents", [devices(
        request("a", MIG), request("b", MIG), distinctAttribute="gpu.nvidia.com/parentUUID")]),
    Case("mig-of-one-parent", [devices(
        request("a", MIG), request("b", MIG), matchAttribute="gpu.nvidia.com/parentUUID")]),
    Case("two-claims", [devices(request("gpu", GPU, 3)), devices(request("gpu", GPU, 2), request("nic", RDMA))]),
    Case("claims-that-compete", [devices(request("gpu", GPU, 5)), devices(request("gpu", GPU, 4))]),
    Case("error-in-selector", [devices(request(
        "gpu", GPU, where="device.attributes['gpu.nvidia.com'].nothing == 'x'"))]),
    Case("class-that-is-not", [devices(request("gpu", "gpu.amd.com"))]),
    Case("attribute-that-is-not", [devices(request("gpu", GPU, 2), matchAttribute="example.com/none")]),
    Case("tolerated-node", [devices(request("gpu", GPU, where=product("NVIDIA L40S")))],
         on("l40s-1", tolerations=[{"key": "dedicated", "operator": "Exists"}])),
    Case("node-not-tolerated", [devices(request("gpu", GPU))], on("l40s-1")),
    Case("cordoned", [devices(request("gpu", GPU))], on("h100-5")),
    Case("node-that-is-not", [devices(request("gpu", GPU))], on("h100-9")),
    Case("too-much-cpu", [devices(request("gpu", GPU))], {}, cpu="500"),
    Case("zone", [devices(request("gpu", GPU))], {"nodeSelector": {"topology.kubernetes.io/zone": "zone-b"}}),
    Case("affinity", [devices(request("gpu", GPU, 2))], {"affinity": {"nodeAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchExpressions": [
            {"key": HOST, "operator": "In", "values": ["l40s-2", "l40s-3"]}]}]}}}}),
    Case("shared", [], namespace="infer", existing=["shared-mig"]),
    Case("monitor", [devices(request("gpu", GPU, allocationMode="All", adminAccess=True))], on("h100-0"),
         namespace="monitoring"),
    Case("extended", [], extended={"nvidia.com/gpu": "1"}),
    Case("extended-four", [], extended={"nvidia.com/gpu": "4"}),
    Case("extended-on-h100-1", [], on("h100-1"), extended={"nvidia.com/gpu": "1"}),
    Case("extended-nine", [], extended={"nvidia.com/gpu": "9"}),
    Case("extended-and-claim", [devices(request("nic", RDMA))], extended={"nvidia.com/gpu": "1"}),
    Case("extended-and-claim-on-h100-1", [devices(request("nic", RDMA))], on("h100-1"), extended=ONE_MORE),
    Case("extended-and-claim-on-h100-0", [devices(request("nic", RDMA))], on("h100-0"), extended=ONE_MORE),
    Case("long-selector", [devices(request(
        "gpu", GPU, where="['NVIDIA L40S', 'x'].exists(p, device.attributes['gpu.nvidia.com'].productName == p)"))]),
    Case("other-driver", [devices(request("gpu", GPU, where="device.driver == 'dra.net'"))]),
]  # fmt: skip

_WHERE = (
    "", "", H100, product("NVIDIA L40S"), "device.attributes['gpu.nvidia.com'].index > 2",
    "device.attributes['gpu.nvidia.com'].cudaComputeCapability.isGreaterThan(semver('8.0.0'))",
    "'resource.kubernetes.io/pcieRoot' in device.attributes", "device.attributes['dra.net'].?mtu.orValue(0) >= 1500",
)  # fmt: skip
_NODES = ("h100-0", "h100-1", "h100-3", "h100-4", "l40s-0", "l40s-2", "a100-0", "a100-2")


def drawn(number: int, seed: int) -> list[Case]:
    """Cases of one to three requests, some with alternatives, constraints and a node."""
    chance = random.Random(seed)
    cases = []
    for index in range(number):
        requests = []
        for position in range(chance.choice((1, 1, 2, 3))):
            what = chance.choice((GPU, GPU, MIG, NIC, RDMA, CPU, A100))
            where = chance.choice(_WHERE) if what in (GPU, MIG) else ""
            one = request(f"r{position}", what, chance.choice((1, 1, 1, 2, 3)), where)
            if chance.random() < 0.15:
                one = first(f"r{position}", request("big", what, chance.choice((4, 9)), where), request("small", what))
            requests.append(one)
        constraint = {}
        if chance.random() < 0.35:
            key = chance.choice(("matchAttribute", "matchAttribute", "distinctAttribute"))
            constraint = {key: chance.choice((PCIE, NUMA, "gpu.nvidia.com/productName", "gpu.nvidia.com/parentUUID"))}
        pod = on(chance.choice(_NODES)) if chance.random() < 0.3 else {}
        case = Case(f"drawn-{index}", [devices(*requests, **constraint)], pod, passing=chance.random() < 0.7)
        if chance.random() < 0.2:
            case.claims.append(devices(request("more", chance.choice((GPU, NIC)), chance.choice((1, 2)))))
        cases.append(case)
    return cases
