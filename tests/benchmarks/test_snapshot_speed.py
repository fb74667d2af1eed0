"""How long it takes to read a large snapshot and to list its devices; run with: make bench."""

import json
import subprocess
import sys
import time

import pytest

pytestmark = pytest.mark.benchmarks
NODES = 2000
DEVICES = 16


def large_snapshot(nodes: int) -> str:
    """A node and a slice of 16 devices for each of ``nodes``."""
    items = []
    for index in range(nodes):
        name = f"node-{index:05}"
        devices = [
            {
                "name": f"gpu-{number}",
                "attributes": {
                    **{f"attribute{key}": {"string": f"value-{key}"} for key in range(8)},
                    "uuid": {"string": f"GPU-{index}-{number}"},
                    "index": {"int": number},
                    "driverVersion": {"version": "580.105.8"},
                },
                "capacity": {"memory": {"value": "80Gi"}, "cores": {"value": "132"}},
            }
            for number in range(DEVICES)
        ]
        pool = {"name": name, "generation": 1, "resourceSliceCount": 1}
        spec = {"driver": "gpu.nvidia.com", "nodeName": name, "pool": pool, "devices": devices}
        items.append({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}})
        kind = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice"}
        items.append({**kind, "metadata": {"name": name}, "spec": spec})
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": items})


def test_reading_and_listing(tmp_path):
    path = tmp_path / "large.json"
    path.write_text(large_snapshot(NODES))
    for arguments in (["get", "pools", "-o", "name"], ["get", "devices"], ["get", "devices", "-o", "json"]):
        start = time.perf_counter()
        command = [sys.executable, "-m", "dractl", *arguments, "--snapshot", str(path)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        seconds = time.perf_counter() - start
        print(f"\n{NODES} slices, {NODES * DEVICES} devices, {path.stat().st_size >> 20} MB:", end=" ")
        print(f"dractl {' '.join(arguments)}: {seconds:.1f} s")
        assert done.stdout


def test_start_up():
    def shortest(*command: str) -> float:
        times = []
        for _ in range(10):
            start = time.perf_counter()
            subprocess.run(command, capture_output=True, check=True)
            times.append(time.perf_counter() - start)
        return min(times) * 1000

    bare = shortest(sys.executable, "-c", "pass")
    print(f"\npython -c pass: {bare:.0f} ms")
    for arguments in (["--version"], ["--help"], ["get", "nodes", "--demo"]):
        print(f"dractl {' '.join(arguments)}: {shortest(sys.executable, '-m', 'dractl', *arguments):.0f} ms")
