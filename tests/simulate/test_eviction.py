"""Who moves, who is lost and who stays when a node is emptied; manifests that the API server would refuse."""

from __future__ import annotations

import json

import pytest
from explain.builders import GPU, claim, class_, cluster, device, held, node, pod, question, request, slice_

from dractl.allocator.search import Limits
from dractl.inventory import Key
from dractl.simulate import changes
from dractl.simulate.compare import Comparison, Emptied, compare, place_after
from dractl.simulate.eviction import Fate, fate_of, remarks


def _owner(kind: str) -> dict:
    return {"ownerReferences": [{"apiVersion": "apps/v1", "kind": kind, "name": "o", "uid": "u", "controller": True}]}


def _runs(name: str, gpu: str, **meta):
    found = held(name, "n1", gpu)
    found[1]["metadata"].update(meta)
    return found


OTHERS = [
    _runs("moves", "g0", **_owner("ReplicaSet")),
    _runs("lost", "g1"),
    _runs("daemon", "g2", **_owner("DaemonSet")),
    _runs("mirror", "g3", annotations={"kubernetes.io/config.mirror": "x"}),
    _runs("leaves", "g4", **_owner("ReplicaSet"), deletionTimestamp="2026-12-01T05:00:00Z"),
]
BUDGET = {
    "apiVersion": "policy/v1",
    "kind": "PodDisruptionBudget",
    "metadata": {"name": "few", "namespace": "ns"},
    "spec": {"selector": {}},
}


def _state(*more, free: int = 1):
    return cluster(
        class_(GPU),
        node("n1"),
        node("n2"),
        slice_("n1", [device(f"g{index}") for index in range(6)]),
        slice_("n2", [device(f"g{index}") for index in range(free)]),
        *(item for one in OTHERS for item in one),
        *more,
    )


def _compared(before, change, emptied) -> Comparison:
    asked = question(before)
    profiles, releases = (asked.profile, asked.profile), ("1.36", "1.36")
    return compare(before, changes.apply(before, [change]), profiles, releases, Limits(), emptied)


def test_fates():
    pods = _state().pods
    assert {key.name: fate_of(one) for key, one in pods.items()} == {fate.value: fate for fate in Fate if fate.value in
                                                                      {"moves", "lost", "daemon", "mirror", "leaves"}}


def test_a_drain_moves_what_controllers_make_anew_and_leaves_daemons():
    before = _state()
    after = changes.apply(before, [changes.drain("n1")])
    assert {key.name: one.node_name for key, one in after.pods.items()} == {
        "moves": "", "daemon": "n1", "mirror": "n1",
    }
    allocated = {key.name for key, one in after.claims.items() if one.allocation is not None}
    assert allocated == {"daemon", "mirror"}
    result = _compared(before, changes.drain("n1"), Emptied(drained=("n1",)))
    assert {item.name: (item.before, item.after, item.node) for item in result.changes} == {
        "pod ns/moves": ("runs", "fits", "n2"),
        "pod ns/lost": ("runs", "lost", None),
    }
    assert (result.moved, result.moved_fit, result.lost, result.worse) == (1, 1, 1, True)
    assert "does not fit" in result.changes[1].reason  # n2 has room for one only


def test_a_node_that_is_gone_takes_daemons_with_it():
    after = changes.apply(_state(), [changes.remove_node("n1")])
    assert [key.name for key in after.pods] == ["moves"]
    assert set(after.nodes) == {"n2"}
    assert all(one.allocation is None for one in after.claims.values())


def test_a_claim_is_kept_as_long_as_a_pod_that_stays_uses_it():
    users = [{"resource": "pods", "name": name, "uid": f"uid-pod-{name}"} for name in ("moves", "daemon")]
    results = [{"request": "r", "driver": GPU, "pool": "n1", "device": "g5"}]
    shared = claim("both", request("r"), results=results, on="n1", reserved=users)
    after = changes.apply(_state(shared), [changes.drain("n1")])
    assert after.claims[Key("ns", "both")].allocation is not None


def test_pods_that_waited_before_are_counted_apart():
    before = _state(claim("big", request("r", count=9)), pod("waits", "big"))
    result = _compared(before, changes.drain("n1"), Emptied(drained=("n1",)))
    assert (result.total, result.fits_before, result.fits_after, result.moved) == (1, 0, 0, 1)
    assert not _compared(before, changes.cordon("n2"), Emptied()).worse


def test_remarks_name_what_stays_and_budgets():
    assert remarks(_state(BUDGET), ["n1"]) == [
        "on n1 ns/daemon is of DaemonSets: a drain leaves them, and they keep their devices",
        "on n1 ns/mirror is run by kubelet itself: a drain leaves them",
        "on n1 ns/leaves is being deleted already",
        "PodDisruptionBudget ns/few may hold evictions back for a while; that is not simulated",
    ]


def test_manifests_are_placed_after_the_pods_that_a_drain_moves():
    wanted = cluster(claim("new", request("r")), pod("new", "new")).objects
    before = _state(free=2)
    after = changes.apply(before, [changes.drain("n1"), changes.add_objects(wanted)])
    asked = question(before)
    report = place_after(before, after, asked.profile, "1.36", Limits(), wanted, None, Emptied(drained=("n1",)))
    assert [(item.name, item.verdict) for item in report.moved] == [("pod ns/moves", "fits"), ("pod ns/lost", "lost")]
    assert [(item.name, item.devices) for item in report.placements] == [("pod ns/new", [f"{GPU}/n2/g1"])]
    assert report.worse
    assert report.together


def test_a_claim_that_two_pods_share_is_allocated_once():
    wanted = cluster(claim("one", request("r")), pod("a", "one"), pod("b", "one")).objects
    before = _state(free=2)
    after = changes.apply(before, [changes.add_objects(wanted), changes.cordon("n1")])
    asked = question(before)
    report = place_after(before, after, asked.profile, "1.36", Limits(), wanted, None)
    assert [(item.verdict, item.node, item.devices) for item in report.placements] == [
        ("fits", "n2", [f"{GPU}/n2/g0"]),
        ("fits", "n2", []),
    ]


@pytest.mark.parametrize("command", [("-f", "FILE"), ("--set-class", "FILE"), ("capacity", "x", "-f", "FILE")])
def test_what_the_api_server_refuses_is_not_tried(dractl, tmp_path, command):
    file = tmp_path / "bad.yaml"
    file.write_text(
        "apiVersion: resource.k8s.io/v1\nkind: DeviceClass\nmetadata:\n  name: x\nspec:\n"
        "  selectors:\n  - cel:\n      expression: device.driver ==\n"
    )
    result = dractl("simulate", *(str(file) if word == "FILE" else word for word in command), "--demo")
    assert result.code == 2
    assert result.err.startswith(f"error: {file}:8:")
    assert "(DeviceClass x)" in result.err.splitlines()[0]
    assert "dractl validate" in result.err


def test_unreadable_manifests_are_named_as_such(dractl, tmp_path):
    result = dractl("simulate", "-f", str(tmp_path / "none.yaml"), "--demo")
    assert result.code == 2
    assert "--snapshot" not in result.err
    assert "none.yaml" in result.err
    (tmp_path / "broken.json").write_text(json.dumps({"a": 1})[:-1])
    result = dractl("simulate", "-f", str(tmp_path / "broken.json"), "--demo")
    assert result.code == 2
    assert "broken.json:1" in result.err
