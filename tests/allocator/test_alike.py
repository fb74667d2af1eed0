"""Nodes that are alike are searched once, and get what each would have got by itself."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "conformance")]

import fleets  # noqa: E402
from kind_allocator import cluster, read  # noqa: E402

from dractl.allocator import Allocator, Features, Profile  # noqa: E402
from dractl.allocator.departure import same  # noqa: E402
from dractl.allocator.quirks import COUNTERS_CACHED  # noqa: E402
from dractl.kube.objects import Node, ResourceClaim  # noqa: E402

COPIES = ("node-0", "node-7", "node-8")


def copied(given: dict[str, Any]) -> dict[str, Any]:
    """The fleet with two more nodes that are node-0 under other names, with its own slices and what is held of them."""
    result = {
        **given,
        "nodes": list(given["nodes"]),
        "slices": list(given["slices"]),
        "allocated": list(given["allocated"]),
    }
    for name in COPIES[1:]:

        def rename(item: dict[str, Any], name: str = name) -> dict[str, Any]:
            return json.loads(json.dumps(item).replace("node-0", name))  # type: ignore[no-any-return]

        result["nodes"].append(rename(given["nodes"][0]))
        result["slices"] += [rename(s) for s in given["slices"] if s["spec"].get("nodeName") == "node-0"]
        for claim in given["allocated"]:
            if any(r["pool"].startswith("node-0") for r in claim["status"]["allocation"]["devices"]["results"]):
                result["allocated"].append(rename(claim))
    return result


@pytest.mark.parametrize("release", ["1.36", "1.37", "correct"])
def test_the_same_answers_as_node_by_node(release: str) -> None:
    shared = 0
    for seed in range(3000, 3120):
        given = copied(fleets.fleet(seed, "1.36" if release == "1.36" else "1.37"))
        profile = Profile.of_features(release if release != "correct" else "1.37", Features.of(given["features"]))
        profile = profile.correct() if release == "correct" else profile.without(COUNTERS_CACHED)
        allocator = Allocator(profile, *cluster(given))
        claims, nodes = read(given["claims"], ResourceClaim), read(given["nodes"], Node)
        together = allocator.allocate_nodes(claims, nodes)
        assert sorted(name for group in together.groups for name in group) == sorted(n.meta.name for n in nodes)
        for node in nodes:
            name = node.meta.name
            assert same(together.by_node[name], allocator.allocate(claims, node)), (seed, name)
            assert name in together.groups[together.by_node[name].group]
        shared += sum(len(group) > 1 for group in together.groups)
    assert shared > 40


def slice_of(node: str, root: str = "r", **attributes: Any) -> dict[str, Any]:
    device = {"name": "gpu", "attributes": {"x.io/root": {"string": root}, **attributes}}
    where = {"driver": "d", "nodeName": node, "pool": {"name": node, "generation": 1, "resourceSliceCount": 1}}
    return {"metadata": {"name": node}, "spec": {**where, "devices": [device, {**device, "name": "nic"}]}}


def fleet_of(*slices: dict[str, Any], held: tuple[str, ...] = ()) -> tuple[Allocator, list[Node]]:
    results = [{"request": "r", "driver": "d", "pool": pool, "device": "gpu"} for pool in held]
    allocated = {"metadata": {"name": "h"}, "status": {"allocation": {"devices": {"results": results}}}}
    given = {"slices": slices, "classes": [{"metadata": {"name": "any"}}], "allocated": [allocated]}
    nodes = read([{"metadata": {"name": item["metadata"]["name"]}} for item in slices], Node)
    return Allocator(Profile.for_release("1.36"), *cluster(given)), nodes


def claim_of(count: int, **more: Any) -> list[ResourceClaim]:
    exact = {"deviceClassName": "any", "allocationMode": "ExactCount", "count": count}
    spec = {"devices": {"requests": [{"name": "r", "exactly": exact}], **more}}
    claims: list[ResourceClaim] = read([{"metadata": {"name": "c"}, "spec": spec}], ResourceClaim)
    return claims


def test_values_that_no_claim_reads_do_not_set_nodes_apart() -> None:
    slices = [slice_of(f"n{i}", f"r{i}", serial={"string": f"s{i}"}) for i in range(4)]
    allocator, nodes = fleet_of(*slices)
    plain = allocator.allocate_nodes(claim_of(2), nodes)
    assert plain.groups == [["n0", "n1", "n2", "n3"]]
    pools = [r.allocations[0].results[0].pool for r in plain.by_node.values() if r.allocations]
    assert pools == ["n0", "n1", "n2", "n3"]
    matching = claim_of(2, constraints=[{"matchAttribute": "x.io/root"}])
    assert len(allocator.allocate_nodes(matching, nodes).groups) == 4


def test_what_is_held_sets_nodes_apart() -> None:
    allocator, nodes = fleet_of(*(slice_of(f"n{i}") for i in range(4)), held=("n1", "n3"))
    results = allocator.allocate_nodes(claim_of(2), nodes)
    assert results.groups == [["n0", "n2"], ["n1", "n3"]]
    assert [r.verdict for r in results.by_node.values()] == ["fits", "doesNotFit", "fits", "doesNotFit"]
