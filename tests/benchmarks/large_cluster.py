"""An API server with a large fleet, in a process of its own: ``python large_cluster.py KUBECONFIG [NODES]``.

Every answer is made before the first request, so that what is timed is the client. Prints a line when it is ready and
serves until it is killed.
"""

from __future__ import annotations

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

PAGE = 500
V1 = "/apis/resource.k8s.io/v1"


def slices(node: int) -> list[dict[str, Any]]:
    """Eight GPUs, eight NICs and two groups of CPUs."""
    name = f"node-{node:05}"
    gpus = [
        {"name": f"gpu-{index}",
         "attributes": {
             "type": {"string": "gpu"}, "uuid": {"string": f"GPU-{node:08x}-{index:04x}-4a4b-8c8d-0123456789ab"},
             "productName": {"string": "NVIDIA H100 80GB HBM3"}, "brand": {"string": "Nvidia"},
             "architecture": {"string": "Hopper"}, "cudaComputeCapability": {"version": "9.0.0"},
             "driverVersion": {"version": "580.105.8"}, "cudaDriverVersion": {"version": "13.0.0"},
             "pcieBusID": {"string": f"0000:{index:02x}:00.0"}, "index": {"int": index}, "minor": {"int": index},
             "resource.kubernetes.io/pcieRoot": {"string": f"pci0000:{index:02x}"}},
         "capacity": {"memory": {"value": "81559Mi"}}}
        for index in range(8)
    ]  # fmt: skip
    nics = [
        {"name": f"nic-{index}",
         "attributes": {
             "dra.net/ifName": {"string": f"eth{index}"}, "dra.net/rdma": {"bool": True}, "dra.net/mtu": {"int": 9000},
             "dra.net/numaNode": {"int": index // 4},
             "dra.net/mac": {"string": f"02:00:{node % 256:02x}:00:00:{index:02x}"},
             "resource.kubernetes.io/pcieRoot": {"string": f"pci0000:{index:02x}"}}}
        for index in range(8)
    ]  # fmt: skip
    cpus = [{"name": f"numa-{index}", "attributes": {"dra.cpu/numaNode": {"int": index}},
             "capacity": {"dra.cpu/cpus": {"value": "96"}}} for index in range(2)]  # fmt: skip
    return [
        {"metadata": meta(f"{name}-{driver}"),
         "spec": {"driver": driver, "nodeName": name, "devices": devices,
                  "pool": {"name": name, "generation": 1, "resourceSliceCount": 1}}}
        for driver, devices in (("gpu.nvidia.com", gpus), ("dra.net", nics), ("dra.cpu", cpus))
    ]  # fmt: skip


def meta(name: str, namespace: str = "", **more: Any) -> dict[str, Any]:
    """What the server adds to every object, managedFields among it."""
    fields = {"f:spec": {f"f:field{index}": {} for index in range(12)}}
    managed = [{"apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": fields, "manager": "m",
                "operation": "Update", "time": "2026-12-01T06:00:00Z"}]  # fmt: skip
    place = {"namespace": namespace} if namespace else {}
    return {"name": name, **place, "uid": f"uid-{namespace}-{name}", "resourceVersion": "77",
            "creationTimestamp": "2026-12-01T06:00:00Z", **more, "managedFields": managed}  # fmt: skip


def pod(name: str, node: int | None, claim: str = "") -> dict[str, Any]:
    container: dict[str, Any] = {
        "name": "main", "image": "registry.example/app:1", "resources": {"requests": {"cpu": "1", "memory": "1Gi"}},
        "env": [{"name": f"VARIABLE_{index}", "value": "x" * 20} for index in range(8)],
    }  # fmt: skip
    spec: dict[str, Any] = {"containers": [container], "schedulerName": "default-scheduler"}
    status: dict[str, Any] = {"phase": "Running" if node is not None else "Pending"}
    if claim:
        spec["resourceClaims"] = [{"name": "c", "resourceClaimName": claim}]
        container["resources"]["claims"] = [{"name": "c"}]
    if node is not None:
        spec["nodeName"] = f"node-{node:05}"
        status["conditions"] = [{"type": kind, "status": "True", "lastTransitionTime": "2026-12-01T06:00:00Z"}
                                for kind in ("PodScheduled", "Ready", "ContainersReady", "Initialized")]  # fmt: skip
    return {"metadata": meta(name, "ml", labels={"app": "train"}), "spec": spec, "status": status}


def claim(name: str, node: int | None, count: int) -> dict[str, Any]:
    request = {"name": "gpu", "exactly": {"deviceClassName": "gpu.nvidia.com", "count": count,
                                          "allocationMode": "ExactCount"}}  # fmt: skip
    body: dict[str, Any] = {"metadata": meta(name, "ml"), "spec": {"devices": {"requests": [request]}}}
    if node is not None:
        results = [{"request": "gpu", "driver": "gpu.nvidia.com", "pool": f"node-{node:05}", "device": f"gpu-{index}"}
                   for index in range(count)]  # fmt: skip
        user = {"resource": "pods", "name": name, "uid": f"uid-ml-{name}"}
        body["status"] = {"allocation": {"devices": {"results": results}}, "reservedFor": [user]}
    return body


def lists(nodes: int) -> dict[str, list[dict[str, Any]]]:
    """Every node has its devices, a claim for seven of its GPUs and four pods; one claim asks for eight on one node."""
    expression = "device.driver == 'gpu.nvidia.com' && device.attributes['gpu.nvidia.com'].type == 'gpu'"
    node_bodies = [
        {"metadata": meta(f"node-{index:05}", labels={"kubernetes.io/hostname": f"node-{index:05}"}), "spec": {},
         "status": {"allocatable": {"cpu": "192", "memory": "2Ti", "pods": "110"},
                    "conditions": [{"type": "Ready", "status": "True"}]}}
        for index in range(nodes)
    ]  # fmt: skip
    return {
        f"{V1}/resourceslices": [one for index in range(nodes) for one in slices(index)],
        f"{V1}/deviceclasses": [
            {"metadata": meta("gpu.nvidia.com"), "spec": {"selectors": [{"cel": {"expression": expression}}]}}
        ],
        f"{V1}/resourceclaims": [
            *(claim(f"held-{index:05}", index, 7) for index in range(nodes)), claim("pending", None, 8)
        ],
        f"{V1}/resourceclaimtemplates": [],
        f"{V1}/devicetaintrules": [],
        "/api/v1/pods": [
            *(pod(f"held-{index:05}", index, f"held-{index:05}") for index in range(nodes)),
            *(pod(f"other-{index:05}", index % nodes) for index in range(3 * nodes)),
            pod("pending", None, "pending"),
        ],
        "/api/v1/nodes": node_bodies,
        "/api/v1/namespaces": [{"metadata": meta("ml")}],
        "/api/v1/namespaces/ml/events": [],
        "/api/v1/events": [],
        "/apis/apps/v1/daemonsets": [],
    }  # fmt: skip


def serve(kubeconfig: Path, nodes: int) -> None:
    answers: dict[tuple[str, str], bytes] = {}
    kinds = {"resourceslices": "ResourceSlice", "deviceclasses": "DeviceClass", "resourceclaims": "ResourceClaim",
             "resourceclaimtemplates": "ResourceClaimTemplate", "devicetaintrules": "DeviceTaintRule"}  # fmt: skip
    for path, items in lists(nodes).items():
        for start in range(0, max(1, len(items)), PAGE):
            more = {"continue": str(start + PAGE)} if start + PAGE < len(items) else {}
            kind = kinds.get(path.rpartition("/")[2], "")
            head = {"kind": f"{kind}List", "apiVersion": "resource.k8s.io/v1"} if kind else {}
            page = {**head, "metadata": {"resourceVersion": "100", **more}, "items": items[start : start + PAGE]}
            answers[path, str(start) if start else ""] = json.dumps(page).encode()
    resources = [{"name": plural, "singularName": kind.lower(), "kind": kind, "verbs": ["get", "list"],
                  "namespaced": "claim" in plural} for plural, kind in kinds.items()]  # fmt: skip
    served = [{"groupVersion": "resource.k8s.io/v1", "version": "v1"}]
    group = {"kind": "APIGroup", "apiVersion": "v1", "name": "resource.k8s.io", "versions": served,
             "preferredVersion": served[0]}  # fmt: skip
    for path, body in {
        "/version": {"gitVersion": "v1.36.2", "major": "1", "minor": "36"},
        "/apis/resource.k8s.io": group,
        "/apis": {"kind": "APIGroupList", "apiVersion": "v1", "groups": [group]},
        "/api": {"kind": "APIVersions", "versions": ["v1"]},
        "/api/v1": {"kind": "APIResourceList", "groupVersion": "v1", "resources": []},
        V1: {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": served[0]["groupVersion"],
             "resources": resources},
    }.items():  # fmt: skip
        answers[path, ""] = json.dumps(body).encode()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            split = urlsplit(self.path)
            data = answers.get((split.path, dict(parse_qsl(split.query)).get("continue", "")))
            self.send_response(200 if data is not None else 404)
            data = data or b'{"kind":"Status","status":"Failure","reason":"NotFound","code":404}'
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: Any) -> None:
            return

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    address = f"http://127.0.0.1:{http.server_address[1]}"
    kubeconfig.write_text(json.dumps({
        "apiVersion": "v1", "kind": "Config", "current-context": "c",
        "clusters": [{"name": "c", "cluster": {"server": address}}], "users": [{"name": "c", "user": {}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "c"}}],
    }))  # fmt: skip
    total = sum(map(len, answers.values()))
    slice_bytes = sum(len(data) for (path, _), data in answers.items() if path.endswith("slices"))
    print(f"{total >> 20} MB, of them {slice_bytes >> 20} MB of slices", flush=True)
    http.serve_forever()


if __name__ == "__main__":
    serve(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 5000)
