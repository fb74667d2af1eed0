"""Against Kubernetes itself: the same answers live and from a snapshot, partial rights, kubectl's plugin."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dractl.sources import cluster
from dractl.sources.connection import Access, connect
from dractl.sources.snapshot import inventory_of
from dractl.sources.watch import Follower
from tests.cluster.commands import COMMANDS, FORMATS, output_of, unnamed
from tests.envtest.controlplane import ADMIN, NOBODY, PARTIAL

pytestmark = pytest.mark.envtest


def test_the_fleet_is_there(dractl, plane, refused, admin, demo_objects):
    version = plane.request("GET", "/version")
    live, recorded = (
        json.loads(dractl("get", "nodes", "-o", "json", *source).out)["items"]
        for source in (("--kubeconfig", admin), ("--demo",))
    )
    assert [item["name"] for item in live] == [item["name"] for item in recorded]
    claims = json.loads(dractl("get", "claims", "-A", "-o", "json", "--kubeconfig", admin).out)["items"]
    expected = [item for item in demo_objects if item["kind"] == "ResourceClaim"]
    assert len(claims) + sum(text.startswith("ResourceClaim ") for text in refused) == len(expected)
    if (version["major"], version["minor"]) == ("1", "36"):
        assert refused == []


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_live_and_snapshot_say_the_same(dractl, plane, admin, tmp_path, command):
    file = str(tmp_path / "s.json.gz")
    assert dractl("snapshot", "save", file, "--kubeconfig", admin, "--strict").code == 0
    for output in FORMATS[command[0]]:
        live = dractl(*command, *output_of(output), "--kubeconfig", admin)
        recorded = dractl(*command, *output_of(output), "--snapshot", file)
        assert live.code == recorded.code
        assert unnamed(live.out, plane.url) == unnamed(recorded.out, file)
        assert live.err.replace(plane.url, "SOURCE") == recorded.err.replace(file, "SOURCE")


def test_the_verdicts_of_the_recorded_fleet(dractl, plane, refused, admin, demo_objects):
    """What the server stored and gave back is judged as the recording it was made of."""
    if refused:
        pytest.skip(f"this release does not take all of the fleet: {refused[0]}")
    for item in (item for item in demo_objects if item["kind"] == "ResourceClaim"):
        command = ("explain", "claim", item["metadata"]["name"], "-n", item["metadata"]["namespace"], "-o", "json")
        sources = (("--kubeconfig", admin), ("--demo",))
        live, recorded = (json.loads(dractl(*command, *source).out) for source in sources)
        assert (live["verdict"], live["state"]) == (recorded["verdict"], recorded["state"]), item["metadata"]["name"]
        assert [(node["name"], node["allocator"]) for node in live["nodes"]] == [
            (node["name"], node["allocator"]) for node in recorded["nodes"]
        ]


def test_real_continue_tokens(dractl, admin, monkeypatch):
    whole = dractl("get", "devices", "-o", "json", "--kubeconfig", admin)
    monkeypatch.setattr(cluster, "PAGE", 3)
    assert dractl("get", "devices", "-o", "json", "--kubeconfig", admin).out == whole.out


def test_reading_changes_nothing(dractl, plane, admin, tmp_path):
    def versions():
        paths = ("/api/v1/pods", "/api/v1/nodes", "/apis/resource.k8s.io/v1/resourceclaims")
        return [
            (item["metadata"]["uid"], item["metadata"]["resourceVersion"])
            for path in paths
            for item in plane.request("GET", path)["items"]
        ]

    before = versions()
    for command in COMMANDS:
        output = output_of(FORMATS[command[0]][0])
        assert dractl(*command, *output, "--kubeconfig", admin).code in (0, 1, 2)
    assert dractl("auth", "--kubeconfig", admin).code == 0
    assert versions() == before


def test_rights_of_an_administrator(dractl, plane, refused, tmp_path):
    for kubeconfig in (plane.kubeconfig(tmp_path / "a", ADMIN), plane.kubeconfig(tmp_path / "b")):
        report = json.loads(dractl("auth", "-o", "json", "--kubeconfig", kubeconfig).out)
        assert {row["allowed"] for row in report["items"]} <= {"yes", "not served"}


@pytest.fixture
def partial(plane, refused, tmp_path):
    """May see devices everywhere, and claims and pods of one namespace."""
    rules = {
        "roles": ("ml", [
            {"apiGroups": ["resource.k8s.io"], "resources": ["resourceclaims", "resourceclaimtemplates"],
             "verbs": ["get", "list"]},
            {"apiGroups": [""], "resources": ["pods", "events"], "verbs": ["get", "list"]},
        ]),
        "clusterroles": (None, [
            {"apiGroups": ["resource.k8s.io"], "resources": ["resourceslices", "deviceclasses"], "verbs": ["list"]},
        ]),
    }  # fmt: skip
    base = "/apis/rbac.authorization.k8s.io/v1"
    for plural, (namespace, entries) in rules.items():
        kind = "Role" if namespace else "ClusterRole"
        where = f"{base}/namespaces/{namespace}" if namespace else base
        reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": "partial"}
        subject = {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "partial"}
        role = {"metadata": {"name": "partial"}, "rules": entries}
        binding = {"metadata": {"name": "partial"}, "roleRef": reference, "subjects": [subject]}
        for path, body in ((plural, role), (f"{plural.removesuffix('s')}bindings", binding)):
            try:
                plane.request("POST", f"{where}/{path}", body)
            except RuntimeError as error:
                assert "409" in str(error)
    return plane.kubeconfig(tmp_path / "partial", PARTIAL, "ml")


def test_a_user_with_partial_rights(dractl, partial):
    claims = dractl("get", "claims", "-o", "json", "--kubeconfig", partial)
    assert claims.code == 0
    assert {item["namespace"] for item in json.loads(claims.out)["items"]} == {"ml"}
    assert "note: ResourceClaim: not allowed in all namespaces, only those of namespace ml were read" in claims.err
    explained = dractl("explain", "claim", "pair-on-h100-1", "-o", "json", "--kubeconfig", partial)
    assert explained.code in (0, 1) and json.loads(explained.out)["claim"]["name"] == "pair-on-h100-1"
    assert "Node: not allowed to list nodes" in explained.err
    rights = json.loads(dractl("auth", "-o", "json", "--kubeconfig", partial).out)
    found = {row["resource"]: row["allowed"] for row in rights["items"] if row["verb"] == "list"}
    assert (found["resourceslices"], found["pods"], found["nodes"]) == ("yes", "namespace", "no")


def test_a_user_without_rights(dractl, plane, refused, tmp_path):
    run = dractl("get", "devices", "--kubeconfig", plane.kubeconfig(tmp_path / "n", NOBODY))
    assert run.code == 3 and "nothing may be read in this cluster" in run.err


def test_a_followed_cluster_is_what_is_read(plane, refused, partial, tmp_path):
    """List and watch of the real server; a user who may not watch is served by listing again."""
    for kubeconfig, states in ((plane.kubeconfig(tmp_path / "f", ADMIN), {"watched"}), (partial, {"polled"})):
        connection = connect(Access(kubeconfig=kubeconfig))
        kinds = ("ResourceSlice", "DeviceClass", "ResourceClaim", "Pod")
        with Follower(connection, kinds).start() as follower:
            assert follower.wait_until_read(60)
            read = inventory_of(cluster.read_cluster(connection, kinds))
            seen = follower.snapshot()
            names = [sorted((type(one).__name__, one.meta.namespace, one.meta.name) for one in found.objects)
                     for found in (seen, read)]  # fmt: skip
            assert names[0] == names[1] and len(names[0]) > 40
            wait_for(lambda follower=follower: {one.state for one in follower.freshness().values()}, states)
            if states == {"polled"}:
                continue
            body = {"metadata": {"name": "followed"}, "spec": {"selectors": [{"cel": {"expression": "true"}}]}}
            path = "/apis/resource.k8s.io/v1/deviceclasses"
            plane.request("POST", path, body)
            wait_for(lambda follower=follower: "followed" in follower.snapshot().classes, True)
            plane.request("DELETE", f"{path}/followed")
            wait_for(lambda follower=follower: "followed" in follower.snapshot().classes, False)


def wait_for(ask, wanted):
    end = time.monotonic() + 30
    while (found := ask()) != wanted:
        assert time.monotonic() < end, found
        time.sleep(0.05)


def test_impersonation(dractl, admin, partial):
    run = dractl("get", "nodes", "-o", "json", "--kubeconfig", admin, "--as", "partial")
    assert "Node: not allowed to list nodes" in run.err


def test_a_wrong_token(dractl, plane, refused, tmp_path):
    secret = "wrong-token-that-must-not-be-shown"
    run = dractl("get", "devices", "--kubeconfig", plane.kubeconfig(tmp_path / "w", secret))
    assert run.code == 3 and "401 Unauthorized" in run.err and secret not in run.out + run.err


def test_no_credential_in_any_output(dractl, plane, refused, tmp_path):
    kubeconfig, file = plane.kubeconfig(tmp_path / "a", ADMIN), tmp_path / "s.json"
    assert dractl("snapshot", "save", str(file), "--kubeconfig", kubeconfig).code == 0
    run = dractl("diagnose", "-o", "json", "--kubeconfig", kubeconfig)
    assert ADMIN not in file.read_text() + run.out + run.err


def test_redacted_snapshot_of_a_real_cluster(dractl, admin, tmp_path):
    file = tmp_path / "r.json"
    assert dractl("snapshot", "save", str(file), "--redact", "--kubeconfig", admin).code == 0
    assert "pair-on-h100-1" not in file.read_text() and "h100-" not in file.read_text()
    states = [
        sorted(item["state"] for item in json.loads(dractl("get", "claims", "-A", "-o", "json", *source).out)["items"])
        for source in (("--kubeconfig", admin), ("--snapshot", str(file)))
    ]
    assert states[0] == states[1]


def test_kubectl_dra(dractl, plane, admin):
    kubectl = Path(os.environ["KUBEBUILDER_ASSETS"]) / "kubectl"
    program = str(kubectl) if kubectl.is_file() else shutil.which("kubectl")
    if program is None:
        pytest.skip("there is no kubectl in KUBEBUILDER_ASSETS or PATH")
    scripts = Path(sys.executable).parent
    if not (scripts / "kubectl-dra").is_file():
        pytest.skip(f"{scripts} has no kubectl-dra: dractl is not installed there")
    environment = {**os.environ, "PATH": f"{scripts}{os.pathsep}{os.environ['PATH']}", "KUBECONFIG": admin}
    environment.pop("COLUMNS", None)
    command = [program, "dra", "get", "devices"]
    ran = subprocess.run(command, check=False, capture_output=True, text=True, env=environment, timeout=60)
    own = dractl("get", "devices", "--kubeconfig", admin)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout == own.out
