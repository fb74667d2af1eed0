"""``explain claim --wait``: until the claim is allocated, through broken connections."""

from __future__ import annotations

import copy

import pytest

from dractl.sources import wait
from tests.cluster.server import Fault

PATH = "/apis/resource.k8s.io/v1/namespaces/ml/resourceclaims/pair-on-h100-1"
COMMAND = ("explain", "claim", "pair-on-h100-1", "-n", "ml", "--wait")


@pytest.fixture
def pending(server):
    claims = [item for item in server.objects if item["kind"] == "ResourceClaim"]
    claim = next(item for item in claims if item["metadata"]["name"] == "pair-on-h100-1")
    server.singles[PATH] = copy.deepcopy(claim)
    return server.singles[PATH]


@pytest.fixture
def waited(monkeypatch):
    """What happens at each pause."""
    steps = []
    monkeypatch.setattr(wait, "pause", lambda seconds: steps.pop(0)() if steps else None)
    return steps


def test_ends_when_the_claim_is_allocated(dractl, server, pending, waited, tmp_path):
    def broken():
        server.faults = lambda path, params: Fault(cut=3) if path == PATH else None

    def back():
        server.faults = lambda path, params: None

    def allocated():
        pending["status"] = {"allocation": {"devices": {"results": []}}}
        for listed in server.lists("resourceclaims"):
            if listed["metadata"]["name"] == "pair-on-h100-1":
                listed["status"] = pending["status"]

    waited += [lambda: None, broken, back, allocated]
    run = dractl(*COMMAND, "--kubeconfig", str(server.kubeconfig(tmp_path / "kc")))
    assert (run.code, waited) == (0, []), run.err
    assert "the connection broke off; still waiting" in run.err and "the cluster answers again" in run.err
    assert run.out.startswith("ml/pair-on-h100-1")


def test_the_time_passes(dractl, server, pending, tmp_path):
    run = dractl(*COMMAND, "--timeout", "1s", "--kubeconfig", str(server.kubeconfig(tmp_path / "kc")))
    assert run.code == 1 and "not allocated after 1s" in run.err
    assert "may only run on h100-1" in run.out


def test_a_claim_that_goes_away(dractl, server, pending, waited, tmp_path):
    server.faults = lambda path, params: None if path in server.singles or path != PATH else Fault(404, "not found")
    waited.append(server.singles.clear)
    run = dractl(*COMMAND, "--kubeconfig", str(server.kubeconfig(tmp_path / "kc")))
    assert run.code == 1 and "was deleted while it was waited for" in run.err


def test_wrong_use(dractl):
    assert dractl(*COMMAND, "--demo").code == 2
    assert dractl(*COMMAND, "--timeout", "soon").code == 2


def test_diagnose_waits_until_nothing_is_left(dractl, server, waited, tmp_path):
    """Slices of an incomplete pool arrive while it waits; the connection breaks meanwhile."""
    command = ("diagnose", "--select", "DRA401", "--wait", "--kubeconfig", str(server.kubeconfig(tmp_path / "kc")))

    def broken():
        server.faults = lambda path, params: Fault(500, "no leader")

    def arrived():
        server.faults = lambda path, params: None
        for item in server.lists("resourceslices"):
            if item["spec"]["pool"]["name"] == "h100-3" and item["spec"]["driver"] == "gpu.nvidia.com":
                item["spec"] = {**item["spec"], "pool": {**item["spec"]["pool"], "resourceSliceCount": 1}}

    waited += [lambda: None, broken, arrived]
    run = dractl(*command)
    assert (run.code, waited) == (0, []), run.err
    assert "1 at severity error or worse; waiting" in run.err
    assert "still waiting" in run.err


def test_diagnose_stops_waiting(dractl, server, tmp_path):
    kubeconfig = str(server.kubeconfig(tmp_path / "kc"))
    run = dractl("diagnose", "--select", "DRA401", "--wait", "--timeout", "1s", "--kubeconfig", kubeconfig)
    assert run.code == 1 and "1 left when the time to wait was over" in run.err
    assert dractl("diagnose", "--wait", "--demo").code == 2
