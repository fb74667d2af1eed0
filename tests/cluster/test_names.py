"""Names complete from the cluster or the recording, quickly and in silence."""

from __future__ import annotations

import time

import pytest

from tests.cluster.server import Fault


@pytest.fixture(autouse=True)
def cache(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def offered(dractl, *words):
    run = dractl("__complete", *words)
    assert (run.code, run.err) == (0, "")
    *names, last = run.out.splitlines()
    assert last == ":4"
    return names


def test_from_a_recording(dractl):
    assert offered(dractl, "explain", "claim", "--demo", "-n", "ml", "pair") == ["pair-on-h100-1"]
    assert offered(dractl, "get", "devices", "--demo", "--node", "h100-1") == ["h100-1"]
    assert "ml" in offered(dractl, "explain", "claim", "--demo", "-n", "")


def test_devices_and_drivers(dractl, server, tmp_path):
    live = ("--kubeconfig", str(server.kubeconfig(tmp_path / "kc")))
    for source in (("--demo",), live):
        assert offered(dractl, "get", "devices", *source, "--driver", "") == ["dra.cpu", "dra.net", "gpu.nvidia.com"]
        ids = offered(dractl, "explain", "device", *source, "gpu.nvidia.com/l40s-0/")
        assert ids == [f"gpu.nvidia.com/l40s-0/gpu-{index}" for index in range(4)]


def test_from_the_cluster_and_once_only(dractl, server, tmp_path):
    words = ("explain", "claim", "--kubeconfig", str(server.kubeconfig(tmp_path / "kc", namespace="ml")))
    assert offered(dractl, *words, "pair") == ["pair-on-h100-1"]
    assert offered(dractl, *words, "tr")[0] == "train-0-c0-wlqz7"
    assert len(server.requests) == 1
    assert offered(dractl, *words, "-n", "infer", "shared") == ["shared-mig"]


@pytest.mark.parametrize("fault", [Fault(403, "no"), Fault(raw=b"<html>"), Fault(cut=10)], ids=["403", "html", "cut"])
def test_silence_when_it_fails(dractl, server, tmp_path, fault):
    server.faults = lambda path, params: fault
    assert offered(dractl, "explain", "pod", "--kubeconfig", str(server.kubeconfig(tmp_path / "kc")), "") == []
    assert len(server.requests) == 1
    assert offered(dractl, "explain", "pod", "--kubeconfig", str(tmp_path / "none"), "") == []


def test_a_slow_cluster_is_given_up(dractl, server, tmp_path):
    server.faults = lambda path, params: Fault(delay=5)
    begun = time.monotonic()
    assert offered(dractl, "explain", "claim", "--kubeconfig", str(server.kubeconfig(tmp_path / "kc")), "") == []
    assert time.monotonic() - begun < 4
