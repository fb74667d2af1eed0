"""Time and memory against 5,000 nodes with 15,000 slices, beside kubectl; run with: make bench.

kubectl is taken from KUBEBUILDER_ASSETS or PATH; it only gets the slices, dractl all that its answer needs (pods,
claims and nodes among it).
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.benchmarks
NODES = int(os.environ.get("DRACTL_BENCHMARK_NODES", "5000"))


@pytest.fixture(scope="module")
def kubeconfig(tmp_path_factory):
    file = tmp_path_factory.mktemp("large") / "kubeconfig"
    program = Path(__file__).with_name("large_cluster.py")
    server = subprocess.Popen([sys.executable, str(program), str(file), str(NODES)], stdout=subprocess.PIPE, text=True)
    try:
        print(f"\n{NODES} nodes, {3 * NODES} slices:", server.stdout.readline().strip())
        yield str(file)
    finally:
        server.kill()
        server.wait()
        server.stdout.close()


def measured(name, command, output):
    """Run and print: seconds on the clock and of the processor, and the most memory."""
    begun = time.perf_counter()
    with output.open("wb") as out:
        process = subprocess.Popen(command, stdout=out, stderr=subprocess.PIPE)
        error = process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    process.stderr.close()
    seconds = time.perf_counter() - begun
    print(f"{name}: {seconds:.1f} s ({usage.ru_utime + usage.ru_stime:.1f} s of processor), "
          f"{usage.ru_maxrss >> 10} MB")  # fmt: skip
    assert process.returncode in (0, 1), error
    return output.read_text()


def test_a_large_cluster(kubeconfig, tmp_path):
    assets = Path(os.environ.get("KUBEBUILDER_ASSETS", "/nonexistent")) / "kubectl"
    kubectl = str(assets) if assets.is_file() else shutil.which("kubectl")
    out = tmp_path / "out"
    if kubectl is None:
        print("there is no kubectl to compare with")
    else:
        command = [kubectl, "get", "resourceslices", "-o", "json", "--kubeconfig", kubeconfig]
        assert measured("kubectl get resourceslices -o json", command, out)
    own = [sys.executable, "-m", "dractl"]
    listed = measured("dractl get devices", [*own, "get", "devices", "--kubeconfig", kubeconfig], out)
    assert len(listed.splitlines()) == 18 * NODES + 1
    explain = [*own, "explain", "claim", "pending", "-n", "ml", "--kubeconfig", kubeconfig]
    assert f"{7 * NODES:,} are in use" in measured("dractl explain claim", explain, out)
