"""A recording written by dractl is read again with the same content."""

from __future__ import annotations

import gzip
import json

from dractl.sources.cluster import RawState
from dractl.sources.save import write_snapshot
from dractl.sources.snapshot import read_snapshot


def test_same_state_gives_same_bytes_and_same_answers(dractl, tmp_path):
    first, second = tmp_path / "a.json.gz", tmp_path / "b.json.gz"
    assert dractl("snapshot", "save", str(first), "--demo").code == 0
    assert dractl("snapshot", "save", str(second), "--snapshot", str(first)).code == 0
    assert first.read_bytes() == second.read_bytes()
    for command in (("get", "devices"), ("get", "claims", "-A"), ("explain", "claim", "sixteen", "-n", "research")):
        demo, saved = dractl(*command, "--demo"), dractl(*command, "--snapshot", str(first))
        assert (saved.code, saved.out) == (demo.code, demo.out)


def test_what_is_known_of_the_reading_is_kept(dractl, tmp_path):
    file = tmp_path / "a.json"
    notes = {"dractl.dev/kubernetes": "v1.37.2", "dractl.dev/taken": "2026-12-01T00:00:00Z"}
    notes["dractl.dev/unseen"] = "Pod: no"
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n", "managedFields": [{"manager": "x"}]}}
    state = {"apiVersion": "v1", "kind": "List", "metadata": {"annotations": notes}, "items": [node]}
    file.write_text(json.dumps(state))
    out = tmp_path / "b.json.gz"
    assert dractl("snapshot", "save", str(out), "--snapshot", str(file), "--strict").code == 3
    saved = json.loads(gzip.decompress(out.read_bytes()))
    assert saved["metadata"]["annotations"] == {**notes, "dractl.dev/snapshot": "1"}
    assert saved["items"] == [{**node, "metadata": {"name": "n"}}]
    info = dractl("snapshot", "info", str(out))
    assert "v1.37.2" in info.out and "Pod: no" in info.out


def test_diff_names_what_changed(dractl, tmp_path):
    before, after = tmp_path / "a.json", tmp_path / "b.json"
    assert dractl("snapshot", "save", str(before), "--demo").code == 0
    state = json.loads(before.read_text())
    for item in state["items"]:
        if (item["kind"], item["metadata"]["name"]) == ("Node", "h100-5"):
            del item["spec"]["unschedulable"]
        if (item["kind"], item["metadata"]["name"]) == ("ResourceClaim", "whole-node"):
            del item["status"]
    after.write_text(json.dumps(state))
    assert dractl("snapshot", "diff", str(before), str(before)).code == 0
    changed = dractl("snapshot", "diff", str(before), str(after), "-o", "json")
    assert changed.code == 1
    found = {(item["kind"], item["subject"]): item["after"] for item in json.loads(changed.out)["changes"]}
    assert found["Claim", "ml/whole-node"] == "pending"
    assert found["Node", "h100-5"] == "ready"
    assert len(found) == 2


def test_a_file_that_cannot_be_written(dractl, tmp_path):
    result = dractl("snapshot", "save", str(tmp_path / "no" / "a.json"), "--demo")
    assert result.code == 2 and "cannot be written" in result.err


def test_who_writes_through_an_old_version_is_kept(tmp_path):
    """A diagnosis names them (DRA811), from a recording as from the cluster; what they wrote is left out."""
    written = {"manager": "driver", "apiVersion": "resource.k8s.io/v1beta1", "fieldsV1": {"f:spec": {}}}
    other = {"manager": "kubectl", "apiVersion": "resource.k8s.io/v1", "fieldsV1": {"f:spec": {}}}
    body = {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass",
            "metadata": {"name": "c", "managedFields": [other, written]}, "spec": {}}  # fmt: skip
    file = tmp_path / "s.json"
    write_snapshot(str(file), RawState([body]))
    kept = json.loads(file.read_text())["items"][0]["metadata"]["managedFields"]
    assert kept == [{"manager": "driver", "apiVersion": "resource.k8s.io/v1beta1"}]
    assert read_snapshot(str(file)).classes["c"].meta.writers == (("driver", "v1beta1"),)
