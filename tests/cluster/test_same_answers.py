"""A running cluster and a snapshot of it give the same answers, command by command."""

from __future__ import annotations

import json

import pytest

from tests.cluster.commands import COMMANDS, FORMATS, output_of, unnamed


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_live_and_snapshot_say_the_same(dractl, server, tmp_path, command):
    kubeconfig, file = str(server.kubeconfig(tmp_path / "kc")), str(tmp_path / "s.json.gz")
    assert dractl("snapshot", "save", file, "--kubeconfig", kubeconfig).code == 0
    for output in FORMATS[command[0]]:
        live = dractl(*command, *output_of(output), "--kubeconfig", kubeconfig)
        recorded = dractl(*command, *output_of(output), "--snapshot", file)
        assert live.code == recorded.code
        assert unnamed(live.out, server.url) == unnamed(recorded.out, file)
        assert live.err.replace(server.url, "SOURCE") == recorded.err.replace(file, "SOURCE")
        assert live.out or live.err
        if output == "json" and live.code < 2:
            json.loads(live.out)
    # and nothing is written to the cluster
    assert {method for method, *_ in server.requests} == {"GET"}


def test_snapshot_of_the_cluster_and_of_its_snapshot_are_the_same_bytes(dractl, server, tmp_path):
    first, second = tmp_path / "a.json.gz", tmp_path / "b.json.gz"
    assert dractl("snapshot", "save", str(first), "--kubeconfig", str(server.kubeconfig(tmp_path / "kc"))).code == 0
    assert dractl("snapshot", "save", str(second), "--snapshot", str(first)).code == 0
    assert first.read_bytes() == second.read_bytes()


def test_the_namespace_of_the_context_is_the_default(dractl, server, tmp_path):
    kubeconfig = str(server.kubeconfig(tmp_path / "kc", namespace="research"))
    live = dractl("explain", "claim", "sixteen", "--kubeconfig", kubeconfig)
    assert live.out.startswith("research/sixteen")
    # and it does not outlive the command
    assert dractl("explain", "claim", "sixteen", "--demo").code == 2


def test_lists_come_in_pages_and_events_are_left_out_of_lists(dractl, server, tmp_path):
    kubeconfig = str(server.kubeconfig(tmp_path / "kc"))
    assert dractl("get", "devices", "--kubeconfig", kubeconfig).code == 0
    lists = [(path, params) for _, path, params, _ in server.requests if params.get("limit")]
    assert lists and all(params["limit"] == "500" for _, params in lists)
    assert not any(path.endswith("/events") for path, _ in lists)
