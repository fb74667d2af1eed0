"""Memory of the exporter on 100,000 devices: it grows with the cluster, not with time; run with: make bench."""

import os
import resource
import subprocess
import sys
import time
import urllib.request

import pytest

from tests.cluster.server import ApiServer

pytestmark = pytest.mark.benchmarks
NODES, DEVICES = 6_250, 16
WAITING = 0
"""Pods that wait for more devices than a node has; explaining them takes long on so many nodes."""
REFRESHES = 4


def objects():
    """Nodes with a slice of 16 devices each; on each node two claims in use, and a few that wait."""
    driver, group = "gpu.example.com", "resource.k8s.io/v1"
    selector = [{"cel": {"expression": f"device.driver == '{driver}'"}}]
    yield {"apiVersion": group, "kind": "DeviceClass", "metadata": {"name": "gpu"}, "spec": {"selectors": selector}}

    def claim(name, count, status):
        exactly = {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": count}
        meta = {"name": name, "namespace": "ml", "uid": name, "creationTimestamp": "2026-12-01T00:00:00Z"}
        spec = {"devices": {"requests": [{"name": "gpu", "exactly": exactly}]}}
        return {"apiVersion": group, "kind": "ResourceClaim", "metadata": meta, "spec": spec, "status": status}

    def pod(name, node, phase):
        meta = {"name": f"p-{name}", "namespace": "ml", "uid": f"p-{name}"}
        claims = [{"name": "gpu", "resourceClaimName": name}]
        spec = {"nodeName": node, "resourceClaims": claims, "containers": [{"name": "a", "image": "b"}]}
        return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec, "status": {"phase": phase}}

    for number in range(NODES):
        node = f"node-{number:05}"
        ready = {"conditions": [{"type": "Ready", "status": "True"}]}
        yield {"apiVersion": "v1", "kind": "Node", "metadata": {"name": node}, "status": ready}
        yield piece(node, number, "0")
        for one in range(2):
            result = {"request": "gpu", "driver": driver, "pool": node, "device": f"gpu-{one}"}
            used = [{"resource": "pods", "name": f"p-c-{number}-{one}", "uid": f"p-c-{number}-{one}"}]
            status = {"allocation": {"devices": {"results": [result]}}, "reservedFor": used}
            yield claim(f"c-{number}-{one}", 1, status)
            yield pod(f"c-{number}-{one}", node, "Running")
    for one in range(WAITING):
        yield claim(f"waits-{one}", DEVICES + 1, {})
        yield pod(f"waits-{one}", "", "Pending")


def piece(node, number, word):
    devices = [
        {
            "name": f"gpu-{one}",
            "attributes": {
                "productName": {"string": "Accelerator 100"},
                "uuid": {"string": f"GPU-{number}-{one}"},
                "index": {"int": one},
                "word": {"string": word},
            },
            "capacity": {"memory": {"value": "80Gi"}},
        }
        for one in range(DEVICES)
    ]
    pool = {"name": node, "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": "gpu.example.com", "nodeName": node, "pool": pool, "devices": devices}
    return {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": node}, "spec": spec}


def resident(process) -> float:
    """MiB of memory that a process holds."""
    with open(f"/proc/{process.pid}/statm") as file:  # noqa: PTH123
        return int(file.read().split()[1]) * resource.getpagesize() / 2**20


def scraped(base: str) -> dict[str, float]:
    with urllib.request.urlopen(f"{base}/metrics", timeout=60) as answer:
        text = answer.read().decode()
    found = {"bytes": float(len(text)), "series": float(sum(not line.startswith("#") for line in text.splitlines()))}
    for line in text.splitlines():
        name, _, value = line.rpartition(" ")
        if name in ("dractl_read_timestamp_seconds", "dractl_read_duration_seconds", "dractl_read_errors_total"):
            found[name] = float(value)
    found["devices"] = sum(
        float(line.rpartition(" ")[2]) for line in text.splitlines() if line.startswith("dractl_devices{")
    )
    return found


def test_memory_of_a_hundred_thousand_devices(tmp_path):
    with ApiServer(objects()) as server:
        command = [sys.executable, "-m", "dractl", "metrics", "--listen", "127.0.0.1:0", "--interval", "5"]
        command += ["--kubeconfig", str(server.kubeconfig(tmp_path / "kc"))]
        begun = time.monotonic()
        process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env={**os.environ, "NO_COLOR": "1"})
        try:
            base = process.stderr.readline().split()[1].removesuffix("/metrics,")
            figures = []
            last = 0.0
            for number in range(REFRESHES):
                # a hundred slices change before each refresh but the first, which lists
                for one in range(100 if number else 0):
                    server.put(piece(f"node-{one:05}", one, str(number)))
                end = time.monotonic() + 600
                while (found := scraped(base))["dractl_read_timestamp_seconds"] <= last or not found["devices"]:
                    assert time.monotonic() < end and process.poll() is None
                    time.sleep(1)
                last = found["dractl_read_timestamp_seconds"]
                figures.append(resident(process))
                print(
                    f"\n{time.monotonic() - begun:.0f} s: {found['devices']:,.0f} devices, "
                    f"{found['series']:,.0f} series, {found['bytes'] / 2**20:.1f} MiB; "
                    f"computed in {found['dractl_read_duration_seconds']:.1f} s, {figures[-1]:.0f} MiB resident",
                    end="",
                )
                assert found["devices"] == NODES * DEVICES
                assert found["dractl_read_errors_total"] == 0
            print()
            assert max(figures[2:]) < 1.25 * figures[1]
        finally:
            process.terminate()
            assert process.wait(30) == 0
