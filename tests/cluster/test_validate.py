"""``dractl validate`` with a cluster: the same answers for a running one and for every form of its recording."""

from __future__ import annotations

import copy
import gzip
import json
from pathlib import Path

import pytest
from kubernetes.config import kube_config  # noqa: TID253 (a test)

from tests.cluster.server import ApiServer

NEW = """\
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: hopper, namespace: ml}
spec:
  spec:
    devices:
      requests:
      - name: gpu
        exactly:
          deviceClassName: gpu.nvidia.com
          selectors:
          - cel: {expression: 'device.attributes["gpu.nvidia.com"].architecture == "Hopper"'}
"""


def claim(body: dict, **changes) -> str:
    """A claim of the fleet as a manifest, with another number of devices."""
    fresh = {key: copy.deepcopy(body[key]) for key in ("apiVersion", "kind", "spec")}
    fresh["metadata"] = {name: body["metadata"][name] for name in ("name", "namespace")}
    fresh["spec"]["devices"]["requests"][0]["exactly"] |= changes
    return json.dumps(fresh, indent=1)


@pytest.fixture
def held(demo_objects):
    """A claim of the fleet that has its devices."""
    return next(
        body
        for body in demo_objects
        if body["kind"] == "ResourceClaim"
        and "allocation" in body.get("status", {})
        and "exactly" in body["spec"]["devices"]["requests"][0]
    )


def sources(demo_objects, server, tmp_path: Path) -> dict[str, list[str]]:
    """The options for the fleet in all its forms."""
    everything = json.dumps({"apiVersion": "v1", "kind": "List", "items": demo_objects})
    (tmp_path / "fleet.json").write_text(everything)
    (tmp_path / "fleet.json.gz").write_bytes(gzip.compress(everything.encode()))
    folder = tmp_path / "fleet"
    folder.mkdir()
    for kind in {body["kind"] for body in demo_objects}:
        items = [body for body in demo_objects if body["kind"] == kind]
        (folder / f"{kind}.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    kubeconfig = str(server.kubeconfig(tmp_path / "kc"))
    return {
        "kubeconfig": ["--kubeconfig", kubeconfig],
        "context": ["--kubeconfig", kubeconfig, "--context", "test"],
        "file": ["--snapshot", str(tmp_path / "fleet.json")],
        "gzip": ["--snapshot", str(tmp_path / "fleet.json.gz")],
        "folder": ["--snapshot", str(folder)],
        "demo": ["--demo"],
    }


def test_changes_are_checked_against_every_form_of_a_cluster(dractl, demo_objects, server, held, tmp_path):
    manifests = tmp_path / "m"
    manifests.mkdir()
    (manifests / "same.json").write_text(claim(held))
    (manifests / "more.json").write_text(claim(held, count=31))
    for name, options in sources(demo_objects, server, tmp_path).items():
        same = dractl("validate", str(manifests / "same.json"), "--against-live", *options)
        assert (name, same.code, same.err) == (name, 0, "")
        assert "it is allocated already" in same.out
        run = dractl("validate", str(manifests / "more.json"), "--against-live", "-o", "json", *options)
        found = [one for one in json.loads(run.out)["findings"] if one["code"] == "DRA027"]
        assert (name, run.code, len(found)) == (name, 1, 1)
        assert "field is immutable" in found[0]["evidence"]["apiServer"]
        # without the option the manifest is a new claim
        assert "DRA027" not in dractl("validate", str(manifests / "more.json"), "-o", "json", *options).out


def test_the_current_context_is_the_live_cluster(dractl, server, held, tmp_path, monkeypatch):
    (tmp_path / "more.json").write_text(claim(held, count=31))
    kubeconfig = str(server.kubeconfig(tmp_path / "kc"))
    # the client takes $KUBECONFIG when it is imported
    monkeypatch.setattr(kube_config, "KUBE_CONFIG_DEFAULT_LOCATION", kubeconfig)
    environment = {"KUBECONFIG": kubeconfig}
    run = dractl("validate", "--against-live", str(tmp_path / "more.json"), env=environment)
    assert "DRA027" in run.out
    # nothing is asked without an option that says so
    asked = len(server.requests)
    assert dractl("validate", str(tmp_path / "more.json"), env=environment).code == 0
    assert len(server.requests) == asked


def test_a_running_fleet_and_its_recording_give_one_answer(dractl, demo_objects, server, tmp_path):
    (tmp_path / "new.yaml").write_text(NEW)
    answers = set()
    for options in sources(demo_objects, server, tmp_path).values():
        run = dractl("validate", str(tmp_path / "new.yaml"), "--min-nodes", "4", *options)
        assert run.code == 1
        answers.add(run.out)
    (answer,) = answers
    assert "fits on 3 of 12 nodes" in answer
    assert "left out: h100-gone (no Node object), h100-5 (cordoned)" in answer
    assert "not counted: h100-gone has no Node object, h100-5 is cordoned" in " ".join(answer.split())


def test_objects_without_a_namespace_go_where_the_context_says(dractl, server, held, tmp_path):
    body = json.loads(claim(held, count=31))
    space = body["metadata"].pop("namespace")
    (tmp_path / "more.json").write_text(json.dumps(body))
    for namespace, code in ((space, 1), ("elsewhere", 0)):
        kubeconfig = str(server.kubeconfig(tmp_path / "kc", namespace=namespace))
        run = dractl("validate", "--against-live", "--kubeconfig", kubeconfig, str(tmp_path / "more.json"))
        assert run.code == code


def test_names_are_missing_only_where_all_may_be_seen(dractl, demo_objects, tmp_path):
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "namespace": "ml"},
        "spec": {
            "containers": [{"name": "c", "image": "i", "resources": {"claims": [{"name": "g"}]}}],
            "resourceClaims": [{"name": "g", "resourceClaimTemplateName": "no-such"}],
        },
    }
    (tmp_path / "pod.json").write_text(json.dumps(pod))
    kinds = [body for body in demo_objects if body["kind"] != "ResourceClaimTemplate"]
    with ApiServer(kinds) as server:
        kubeconfig = str(server.kubeconfig(tmp_path / "kc"))
        run = dractl("validate", "--kubeconfig", kubeconfig, str(tmp_path / "pod.json"))
        assert "ResourceClaimTemplate no-such in namespace ml is neither in the cluster nor" in " ".join(
            run.out.split()
        )
    with ApiServer(demo_objects) as server:
        from tests.cluster.server import Fault

        server.faults = lambda path, params: Fault(403, "no") if path.endswith("/v1/resourceclaimtemplates") else None
        kubeconfig = str(server.kubeconfig(tmp_path / "kc"))
        run = dractl("validate", "--kubeconfig", kubeconfig, str(tmp_path / "pod.json"))
        assert "no-such" not in run.out
        assert "ResourceClaimTemplate: not allowed" in run.err


def test_a_cluster_that_cannot_be_asked_is_exit_3(dractl, tmp_path):
    (tmp_path / "new.yaml").write_text(NEW)
    with ApiServer([]) as server:
        kubeconfig = str(server.kubeconfig(tmp_path / "kc"))
    run = dractl("validate", "--against-live", "--kubeconfig", kubeconfig, str(tmp_path / "new.yaml"))
    assert run.code == 3
    assert run.err.startswith("error: ")


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"spec": {"unschedulable": True}}, "cordoned"),
        ({"status": {"conditions": [{"type": "Ready", "status": "False"}]}}, "not ready"),
        ({"status": {"conditions": [{"type": "Ready", "status": "Unknown"}]}}, "unreachable"),
        ({"spec": {"taints": [{"key": "node.kubernetes.io/out-of-service", "effect": "NoExecute"}]}}, "taint node."),
    ],
)
def test_nodes_that_take_no_pods_do_not_count(dractl, demo_objects, tmp_path, change, reason):
    objects = copy.deepcopy(demo_objects)
    (node,) = [body for body in objects if body["kind"] == "Node" and body["metadata"]["name"] == "h100-0"]
    for part, fields in change.items():
        node[part] = {**node.get(part, {}), **fields}
    (tmp_path / "fleet.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
    (tmp_path / "new.yaml").write_text(NEW)
    run = dractl("validate", str(tmp_path / "new.yaml"), "--snapshot", str(tmp_path / "fleet.json"), "--require-fit")
    assert run.code == 0
    assert "fits on 2 of 11 nodes" in run.out
    assert f"h100-0 ({reason}" in run.out


def test_what_cannot_be_told_does_not_pass_for_a_fit(dractl, demo_objects, tmp_path):
    kept = [body for body in demo_objects if body["kind"] != "Node"]
    (tmp_path / "fleet.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": kept}))
    (tmp_path / "new.yaml").write_text(NEW)
    options = ["--snapshot", str(tmp_path / "fleet.json")]
    assert dractl("validate", str(tmp_path / "new.yaml"), *options).code == 0
    run = dractl("validate", str(tmp_path / "new.yaml"), *options, "--require-fit")
    assert run.code == 1
    assert "whether it fits on 1 node cannot be told: not tried: the snapshot has no nodes" in " ".join(run.out.split())
    assert "fits on 0" not in run.out
