"""A redacted snapshot tells nobody's names and gives the same answers."""

from __future__ import annotations

import copy
import json
import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dractl.allocator.profile import Profile
from dractl.explain.claim import Question, explain_claim
from dractl.inventory import release_of
from dractl.sources.cluster import RawState
from dractl.sources.redact import LEFT_OUT, Redactor, redact
from dractl.sources.save import snapshot_list
from dractl.sources.snapshot import inventory_of, read_raw


@pytest.fixture(scope="module")
def demo():
    return read_raw(None)


def names(state, kind):
    return [item["metadata"]["name"] for item in state.items if item["kind"] == kind]


def test_no_name_of_the_fleet_is_left(demo):
    text = json.dumps(snapshot_list(redact(demo)))
    words = set(re.findall(r'"((?:[^"\\]|\\.)*)"', text))
    for item in demo.items:
        meta = item["metadata"]
        # drivers, whose names some classes have too, and a field's name
        kept = {"gpu.nvidia.com", "dra.net", "dra.cpu", "default"}
        originals = {meta["name"], meta.get("namespace"), meta["uid"], *(meta.get("labels") or {}).values()}
        spec = item.get("spec") or {}
        originals |= {one.get("image") for one in spec.get("containers") or []}
        originals |= {(spec.get("pool") or {}).get("name"), spec.get("nodeName")}
        assert not (originals - {None, "true"} - kept) & words, item["kind"]
        assert meta["uid"] not in text
    assert "GPU-" in json.dumps(demo.items) and not re.search(r"[1-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}", text)


def test_the_same_verdicts_nodes_and_devices(demo):
    redacted = redact(demo)
    to_new = renamed(demo, redacted)
    before, after = inventory_of(demo), inventory_of(redacted)
    release = release_of(before)
    profile = Profile.for_release(release.full)
    compared = 0
    for old, new in zip(demo.items, redacted.items, strict=True):
        if old["kind"] != "ResourceClaim":
            continue
        first, second = (
            explain_claim(Question(inventory, release, profile), meta["namespace"], meta["name"]).to_json()
            for inventory, meta in ((before, old["metadata"]), (after, new["metadata"]))
        )
        assert (first["verdict"], first["state"]) == (second["verdict"], second["state"])
        assert nodes(first, to_new) == nodes(second, {})
        assert [one["funnel"] for one in first.get("requests", [])] == [one["funnel"] for one in second["requests"]]
        compared += len(first["nodes"])
    assert compared > 50


def renamed(old, new):
    """New names of nodes, pools, devices and requests, from the objects in their order."""
    found = {}
    for one, other in zip(old.items, new.items, strict=True):
        found["node", one["metadata"]["name"]] = other["metadata"]["name"]
        if one["kind"] == "ResourceSlice":
            found["node", one["spec"]["pool"]["name"]] = other["spec"]["pool"]["name"]
            pairs = zip(one["spec"].get("devices", []), other["spec"].get("devices", []), strict=True)
            found.update({("device", a["name"]): b["name"] for a, b in pairs})
        if one["kind"] == "ResourceClaim":
            pairs = zip(one["spec"]["devices"]["requests"], other["spec"]["devices"]["requests"], strict=True)
            for a, b in pairs:
                found["request", a["name"]] = b["name"]
                alternatives = zip(a.get("firstAvailable", []), b.get("firstAvailable", []), strict=True)
                found.update({("request", c["name"]): d["name"] for c, d in alternatives})
    return found


def nodes(report, to_new):
    """Per node the allocator's verdict and devices, under the new names."""

    def new(category, name):
        return to_new.get((category, name), name) if to_new else name

    out = []
    for node in report["nodes"]:
        results = [
            (
                "/".join(new("request", part) for part in one["request"].split("/")),
                one["driver"],
                new("node", one["pool"]),
                new("device", one["device"]),
            )
            for one in node["allocator"]["results"] or []
        ]
        out.append((new("node", node["name"]), node["allocator"]["verdict"], results, node["pod"]["eligible"]))
    return sorted(out)


def test_twice_is_the_same_as_once(demo):
    once = redact(demo)
    assert [item for item in redact(once).items if item["kind"] == "Node"] == [
        item for item in once.items if item["kind"] == "Node"
    ]


def test_what_has_no_shape_is_left_out_and_said(demo):
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "zq-secret"}}
    state = RawState([*demo.items, role], "v1.36.2", None, {"Pod": "only those of namespace zq-secret were read"})
    redacted = redact(state)
    assert redacted.unseen == {"ClusterRole": LEFT_OUT, "Pod": "could not be read, or not all of it"}
    assert "zq-secret" not in json.dumps(snapshot_list(redacted))


SECRET = st.text("abcdefghijklmnopqrstuvwxyz0123456789", min_size=6, max_size=12).map(lambda text: f"zq{text}")
UUID = st.uuids(version=4).map(str)
MAC = st.binary(min_size=6, max_size=6).map(lambda data: "fe:" + ":".join(f"{byte:02x}" for byte in data[1:]))


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_no_secret_survives(demo, data):
    """Every place that people name things in, and every field that is not known, filled with what must not come out."""
    planted = []

    def plant(strategy=SECRET):
        planted.append(data.draw(strategy))
        return planted[-1]

    chosen = data.draw(st.lists(st.sampled_from(demo.items), min_size=3, max_size=8))
    items = [sow(copy.deepcopy(item), plant) for item in chosen]
    text = json.dumps(snapshot_list(redact(RawState(items))))
    for secret in planted:
        assert secret not in text


def sow(item, plant):
    meta = item["metadata"]
    meta["name"] = plant()
    if "namespace" in meta:
        meta["namespace"] = plant()
    meta["uid"] = plant(UUID)
    meta["labels"] = {plant(): plant(), f"{plant()}.example/team": plant(), "kubernetes.io/hostname": plant()}
    meta["annotations"] = {plant(): plant()}
    meta["managedFields"] = [{"manager": plant()}]
    meta["generateName"] = plant()
    item[plant()] = plant()
    spec = item.setdefault("spec", {})
    spec[plant()] = {plant(): [plant()]}
    status = item.setdefault("status", {})
    status.update({"message": plant(), "addresses": [{"type": "InternalIP", "address": plant(MAC)}]})
    if item["kind"] == "Event":
        item["message"] = f"node {plant()} has {plant(UUID)}"
        item["involvedObject"] = {"kind": "Pod", "name": plant(), "namespace": plant(), "fieldPath": plant()}
        item["source"] = {"component": plant(), "host": plant()}
    if item["kind"] == "Node":
        spec.update({"providerID": plant(), "podCIDR": "10.97.0.0/16", "taints": [
            {"key": plant(), "value": plant(), "effect": "NoSchedule"}]})  # fmt: skip
    if item["kind"] == "ResourceSlice":
        spec["nodeName"], spec["pool"]["name"] = plant(), plant()
        for device in spec.get("devices", []):
            device["name"] = plant()
            device["attributes"] = {
                "gpu.nvidia.com/productName": {"string": f"H100 {plant(UUID)}"},
                "gpu.nvidia.com/owner": {"string": plant()},
                "dra.net/mac": {"string": plant(MAC)},
                "dra.net/names": {"strings": [plant(), plant()]},
            }
            device["taints"] = [{"key": f"{plant()}.example/broken", "value": plant(), "effect": "NoExecute"}]
    if item["kind"] == "Pod":
        spec["containers"] = [{
            "name": plant(), "image": f"{plant()}.example/{plant()}:{plant()}", "command": [plant()], "args": [plant()],
            "env": [{"name": plant(), "value": plant()}], "resources": {"limits": {f"{plant()}.example/gpu": "1"}},
            "volumeMounts": [{"name": plant(), "mountPath": plant()}],
        }]  # fmt: skip
        spec.update(nodeName=plant(), nodeSelector={plant(): plant()}, serviceAccountName=plant(),
                    tolerations=[{"key": plant(), "operator": "Equal", "value": plant()}],
                    volumes=[{"name": plant()}], priorityClassName=plant(), hostname=plant())  # fmt: skip
        status.update(podIP="10.98.1.7", hostIP="10.98.1.8", conditions=[
            {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": plant()}])  # fmt: skip
    if item["kind"] in ("ResourceClaim", "DeviceClass"):
        holder = spec.setdefault("devices", {}) if item["kind"] == "ResourceClaim" else spec
        holder["config"] = [{"opaque": {"driver": "gpu.nvidia.com", "parameters": {plant(): plant()}}}]
    if item["kind"] == "ResourceClaim":
        expression = f"device.attributes['gpu.nvidia.com'].uuid == '{plant(UUID)}' // for {plant()}"
        spec["devices"]["requests"] = [{"name": plant(), "exactly": {
            "deviceClassName": plant(), "selectors": [{"cel": {"expression": expression}}]}}]  # fmt: skip
        status["devices"] = [{"driver": "gpu.nvidia.com", "pool": plant(), "device": plant(),
                              "data": {plant(): plant()},
                              "networkData": {"ips": ["10.99.3.4"], "hardwareAddress": plant(MAC)}}]  # fmt: skip
        status["reservedFor"] = [{"resource": "pods", "name": plant(), "uid": plant(UUID)}]
    return item


def test_pseudonyms_keep_the_byte_order():
    redactor = Redactor()
    originals = ["node-10", "node-9", "a", "Z", "ä", "node-1", "node-1.x", "node-1-x"] + [f"n{i}" for i in range(11000)]
    for text in originals:
        redactor.name("node", text)
    redactor.freeze()
    new = {text: redactor.name("node", text) for text in originals}
    assert sorted(originals, key=str.encode) == sorted(originals, key=lambda text: new[text].encode())
    assert len(set(new.values())) == len(set(originals))


@pytest.mark.parametrize(("before", "after"), [
    ("device.driver == 'x' // jane's", "device.driver == 'x' "),
    ("a == 'node-7' || a == \"http://b\"", "a == 'node-0001' || a == \"http://b\""),
    ("uuid == 'GPU-1b4e28ba-2fa1-41d2-883f-0016d3cca427'", "uuid == 'GPU-00000000-0000-4000-8000-000000000001'"),
    (r"a == r'\d' && b == '\'' && c", r"a == r'\d' && b == '\'' && c"),
    ("a == '0000:15:00.0' && b == '1.2.3'", "a == '0000:15:00.0' && b == '1.2.3'"),
])  # fmt: skip
def test_expressions(before, after):
    redactor = Redactor(drivers=frozenset(["x"]))
    redactor.name("node", "node-7")
    redactor.expression(before)
    redactor.freeze()
    assert redactor.expression(before) == after


def test_the_command(dractl, tmp_path):
    file = tmp_path / "r.json.gz"
    assert dractl("snapshot", "save", str(file), "--demo", "--redact").code == 0
    demo = dractl("get", "claims", "-A", "--demo", "-o", "json").out
    redacted = dractl("get", "claims", "-A", "--snapshot", str(file), "-o", "json").out
    states = [[row["state"] for row in json.loads(text)["items"]] for text in (demo, redacted)]
    assert sorted(states[0]) == sorted(states[1])
    again = tmp_path / "again.json.gz"
    assert dractl("snapshot", "save", str(again), "--demo", "--redact").code == 0
    assert again.read_bytes() == file.read_bytes()
