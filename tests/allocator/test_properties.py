"""What the correct search answers is right, and it finds an allocation whenever there is one."""

from __future__ import annotations

import sys
from pathlib import Path

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "conformance")]

import fleets  # noqa: E402
from kind_allocator import cluster, read  # noqa: E402
from rules import World, exists, faults  # noqa: E402

from dractl.allocator import DOES_NOT_FIT, FITS, Allocator, Features, Profile  # noqa: E402
from dractl.kube.objects import Node, ResourceClaim  # noqa: E402

SEEDS = st.integers(min_value=0, max_value=2**32 - 1)
QUIET = settings(
    max_examples=250, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck)
)


def made(seed: int, small: bool) -> tuple[Allocator, World, list[Node], list[ResourceClaim]]:
    maker = fleets.Maker(seed, newer=True, small=small)
    given_ = maker.fleet()
    # kept out of the judge
    given_["features"].pop("optionalNodeOperations")
    for item in given_["slices"]:
        item["spec"].pop("skipNodeOperations", None)
        for device in item["spec"].get("devices", []):
            if not given_["features"]["listTypeAttributes"]:
                # an API server without the feature does not store them
                values = device.get("attributes", {})
                device["attributes"] = {n: v for n, v in values.items() if not isinstance(*v.values(), list)}
            for use in device.get("consumesCounters", []):
                if not given_["features"]["compatibilityGroups"]:
                    use.pop("compatibilityGroups", None)
    profile = Profile.of_features("1.37", Features.of(given_["features"])).correct()
    slices, classes, allocated = cluster(given_)
    world = World(profile, slices, {item.meta.name: item for item in classes}, allocated)
    allocator = Allocator(profile, slices, classes, allocated)
    return allocator, world, read(given_["nodes"], Node), read(given_["claims"], ResourceClaim)


@given(SEEDS)
@QUIET
def test_an_allocation_keeps_every_rule(seed: int) -> None:
    allocator, world, nodes, claims = made(seed, small=False)
    results = allocator.allocate_nodes(claims, nodes)
    for node in nodes:
        result = results.by_node[node.meta.name]
        if result.verdict == FITS:
            assert faults(world, node, claims, result.allocations or []) == [], node.meta.name


@given(SEEDS)
@QUIET
def test_what_exists_is_found_and_what_is_found_exists(seed: int) -> None:
    allocator, world, nodes, claims = made(seed, small=True)
    results = allocator.allocate_nodes(claims, nodes)
    decided = 0
    for node in nodes:
        result = results.by_node[node.meta.name]
        if result.verdict in (FITS, DOES_NOT_FIT):
            there_is = exists(world, node, claims, limit=20_000)
            if there_is is not None:
                assert there_is == (result.verdict == FITS), node.meta.name
                decided += 1
    assume(decided)


def test_enough_of_both_is_seen() -> None:
    """The properties above would mean little if the fleets were all alike."""
    seen = {FITS: 0, DOES_NOT_FIT: 0}
    shares = counters = 0
    for seed in range(150):
        allocator, world, nodes, claims = made(seed, small=True)
        result = allocator.allocate(claims, nodes[0])
        if result.verdict in seen and exists(world, nodes[0], claims, limit=20_000) is not None:
            seen[result.verdict] += 1
            given_out = [one for allocation in result.allocations or [] for one in allocation.results]
            drawing = {p.id for p in world.devices(nodes[0]) if p.device.consumes_counters}
            shares += any(one.consumed_capacity for one in given_out)
            counters += any((one.driver, one.pool, one.device) in drawing for one in given_out)
    assert seen[FITS] >= 15 and seen[DOES_NOT_FIT] >= 15
    assert shares >= 3 and counters >= 3
