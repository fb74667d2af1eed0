"""dractl simulate on the recorded fleet and on small ones, against counts made by hand or by trying everything."""

from __future__ import annotations

import json
from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st


def run(dractl, *arguments: str, code: int | None = None):
    result = dractl("simulate", *arguments, "-o", "json")
    assert code is None or result.code == code, result.err
    return json.loads(result.out)


def test_capacity_of_a_template_on_the_fleet(dractl):
    report = run(dractl, "capacity", "ml/gpu-nic", "--demo", code=0)
    now = {item["node"]: item["now"] for item in report["nodes"] if item["now"]}
    idle = {item["node"]: item["idle"] for item in report["nodes"] if item["idle"]}
    # h100-1 has no root in common, h100-3 an incomplete pool
    assert set(idle) == {"h100-0", "h100-2", "h100-4", "h100-5"}
    assert set(now) <= set(idle)
    assert report["now"] == sum(now.values())
    assert report["bounded"]


def test_draining_a_node_loses_pods_without_a_controller(dractl):
    report = run(dractl, "--drain", "h100-0", "--demo", code=1)
    lost = {item["name"]: item for item in report["changes"] if item["after"] == "lost"}
    assert set(lost) == {f"pod ml/train-{n}" for n in range(2, 7)} | {"pod monitoring/dcgm-h100-0"}
    assert all("made by hand, it fits on h100-" in item["reason"] for name, item in lost.items() if "train" in name)
    assert "nodeSelector kubernetes.io/hostname=h100-0" in lost["pod monitoring/dcgm-h100-0"]["reason"]
    assert (report["moved"], report["movedFit"], report["lost"], report["worse"]) == (0, 0, 6, True)
    assert {item["name"] for item in report["affected"]} >= {"claim ml/train-2-c0-t289j"}


def test_nodes_that_are_added_bring_room(dractl):
    before = run(dractl, "capacity", "infer/l40s", "--demo")["now"]
    assert before > 0
    more = run(dractl, "--add-nodes", "h100=2", "--demo", code=0)
    assert more["total"] == 12


def test_gang_of_manifests(dractl, tmp_path):
    claim = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": "one", "namespace": "ml"},
        "spec": {"spec": {"devices": {"requests": [{"name": "g", "exactly": {"deviceClassName": "gpu.nvidia.com"}}]}}},
    }
    file = tmp_path / "one.json"
    file.write_text(json.dumps(claim))
    few = run(dractl, "-f", str(file), "--replicas", "3", "--gang", "--demo", code=0)
    assert (few["placed"], few["total"], few["together"]) == (3, 3, True)
    devices = [device for item in few["placements"] for device in item["devices"]]
    assert len(set(devices)) == 3
    many = run(dractl, "-f", str(file), "--replicas", "200", "--gang", "--demo", code=1)
    free = run(dractl, "capacity", "one", "-n", "ml", "-f", str(file), "--demo")["now"]
    assert many["placed"] == free < 200


def test_a_taint_a_driver_and_a_version(dractl):
    tainted = run(dractl, "--taint", "gpu.nvidia.com/h100-1/gpu-0", "--demo")
    assert any("h100-1/gpu-0" in item["what"] and "ml/whole-node" in item["name"] for item in tainted["affected"])
    gone = run(dractl, "--remove-driver", "dra.net", "--demo")
    assert any("published no more" in item["what"] for item in gone["affected"])
    newer = run(dractl, "--kubernetes", "1.37", "--demo")
    assert newer["kubernetes"] == "1.36 before, 1.37 after"


@pytest.mark.parametrize(
    "arguments",
    [
        ("--drain", "nowhere"),
        ("--taint", "no/such/device"),
        ("--add-nodes", "h100-0"),
        ("--delete", "claim/x"),
        ("--gate", "X"),
        (),
        ("capacity", "nothing"),
    ],
)
def test_wrong_options_are_told_in_one_line(dractl, arguments):
    result = dractl("simulate", *arguments, "--demo")
    assert result.code == 2
    assert result.err.startswith("error: ")
    assert "Traceback" not in result.err


def fleet(roots: list[list[int]], nics: list[list[int]]):
    """Nodes with GPUs and NICs under numbered roots."""
    items = []
    for number, (gpus, cards) in enumerate(zip(roots, nics, strict=True)):
        node = f"n{number}"
        items.append({"apiVersion": "v1", "kind": "Node", "metadata": {"name": node}})
        for driver, placed in (("gpu.x", gpus), ("nic.x", cards)):
            devices = [
                {"name": f"d{index}", "attributes": {"resource.kubernetes.io/pcieRoot": {"string": f"pci{root}"}}}
                for index, root in enumerate(placed)
            ]
            spec = {"driver": driver, "nodeName": node, "devices": devices}
            spec["pool"] = {"name": node, "generation": 1, "resourceSliceCount": 1}
            meta = {"name": f"{node}-{driver}"}
            items.append({"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": meta, "spec": spec})
    for driver in ("gpu.x", "nic.x"):
        selectors = [{"cel": {"expression": f'device.driver == "{driver}"'}}]
        items.append(
            {
                "apiVersion": "resource.k8s.io/v1",
                "kind": "DeviceClass",
                "metadata": {"name": driver},
                "spec": {"selectors": selectors},
            }
        )
    requests = [
        {"name": d, "exactly": {"deviceClassName": d, "allocationMode": "ExactCount", "count": 1}}
        for d in ("gpu.x", "nic.x")
    ]
    for request in requests:
        request["name"] = request["name"][:3]
    spec = {"devices": {"requests": requests, "constraints": [{"matchAttribute": "resource.kubernetes.io/pcieRoot"}]}}
    template = {"metadata": {"name": "pair", "namespace": "default"}, "spec": {"spec": spec}}
    items.append({"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaimTemplate", **template})
    return {"apiVersion": "v1", "kind": "List", "items": items}


def most_pairs(gpus: list[int], nics: list[int]) -> int:
    """The largest number of pairs under one root each, by trying every set of pairs."""
    pairs = [(g, n) for g, root in enumerate(gpus) for n, other in enumerate(nics) if root == other]
    for size in range(min(len(gpus), len(nics)), 0, -1):
        for chosen in combinations(pairs, size):
            if len({g for g, _ in chosen}) == size and len({n for _, n in chosen}) == size:
                return size
    return 0


@settings(max_examples=25, deadline=None)
@given(
    st.lists(
        st.tuples(st.lists(st.integers(0, 2), max_size=4), st.lists(st.integers(0, 2), max_size=4)),
        min_size=1,
        max_size=3,
    )
)
def test_capacity_against_trying_everything(nodes):
    from dractl.allocator.profile import Profile
    from dractl.allocator.search import Limits
    from dractl.inventory import Inventory
    from dractl.kube.decode import decode
    from dractl.simulate.capacity import capacity, find_claim

    state = fleet([list(gpus) for gpus, _ in nodes], [list(cards) for _, cards in nodes])
    inventory = Inventory([decode(item) for item in state["items"]])
    claim = find_claim(inventory, "pair", "default")
    report = capacity(inventory, Profile.for_release("1.36"), claim, "1.36", Limits())
    assert {item.node: item.now for item in report.nodes} == {
        f"n{number}": most_pairs(list(gpus), list(cards)) for number, (gpus, cards) in enumerate(nodes)
    }


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.integers(0, 2), min_size=1, max_size=4),
    st.lists(st.integers(0, 2), max_size=4),
    st.integers(0, 3),
)
def test_defragmented_against_trying_everything(gpus, nics, taken):
    from dractl.allocator.profile import Profile
    from dractl.allocator.search import Limits
    from dractl.inventory import Inventory
    from dractl.kube.decode import decode
    from dractl.simulate.capacity import capacity, find_claim

    taken = min(taken, len(gpus))
    state = fleet([gpus], [nics])["items"]
    for number in range(taken):
        exact = {"deviceClassName": "gpu.x", "allocationMode": "ExactCount", "count": 1}
        result = {"request": "g", "driver": "gpu.x", "pool": "n0", "device": f"d{number}"}
        state.append(
            {
                "apiVersion": "resource.k8s.io/v1",
                "kind": "ResourceClaim",
                "metadata": {"name": f"has-{number}", "namespace": "default"},
                "spec": {"devices": {"requests": [{"name": "g", "exactly": exact}]}},
                "status": {"allocation": {"devices": {"results": [result]}}},
            }
        )
    inventory = Inventory([decode(item) for item in state])
    report = capacity(
        inventory, Profile.for_release("1.36"), find_claim(inventory, "pair", "default"), "1.36", Limits()
    )
    ways = [most_pairs(list(rest), nics) for rest in combinations(gpus, len(gpus) - taken)]
    row = report.nodes[0]
    assert (row.now, row.idle) == (most_pairs(gpus[taken:], nics), most_pairs(gpus, nics))
    assert row.defragmented == max(ways)
    pool = next(one for one in report.pools if one.driver == "gpu.x")
    assert (pool.total_devices, pool.allocated_devices, pool.held_devices) == (len(gpus), taken, taken)
    assert pool.lost == row.defragmented - row.now


def test_reports_keep_to_their_schemas(dractl):
    import jsonschema

    folder = Path(__file__).resolve().parents[2] / "schemas"
    manifest = folder.parent / "tests" / "cases" / "18-free-gpu-and-free-nic-on-two-roots" / "objects.yaml"
    for kind, words in (
        ("Capacity", ("capacity", "ml/gpu-nic")),
        ("Comparison", ("--drain", "h100-0")),
        ("Simulation", ("-f", str(manifest), "--drain", "h100-2")),
    ):
        report = json.loads(dractl("simulate", *words, "--demo", "-o", "json").out)
        assert report["kind"] == kind
        jsonschema.validate(report, json.loads((folder / f"{kind}.json").read_text(encoding="utf-8")))
