"""The trace says true things: what it refuses cannot be had, what it leaves can, and nothing is left out."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "conformance")]

import fleets  # noqa: E402
from kind_allocator import cluster, read  # noqa: E402

from dractl.allocator import Allocator, Features, Profile  # noqa: E402
from dractl.allocator.allocator import FITS  # noqa: E402
from dractl.allocator.request import AllocationError  # noqa: E402
from dractl.allocator.search import Search  # noqa: E402
from dractl.allocator.solution import Limits  # noqa: E402
from dractl.allocator.trace import RequestTrace  # noqa: E402
from dractl.kube.objects import ClaimRequest, ClaimSpec, Node, ResourceClaim  # noqa: E402

SEEDS = range(500, 740)


def setup(seed: int, correct: bool, release: str = "1.37") -> tuple[Allocator, list[ResourceClaim], list[Node]]:
    given = fleets.fleet(seed, release)
    profile = Profile.of_features(release, Features.of(given["features"]))
    allocator = Allocator(profile.correct() if correct else profile, *cluster(given))
    return allocator, read(given["claims"], ResourceClaim), read(given["nodes"], Node)


def could_have(
    allocator: Allocator, node: Node, trace: RequestTrace, claims: list[ResourceClaim]
) -> set[tuple[str, str, str]]:
    """The devices that a request gets when it asks for one device, alone, of one device only."""
    claim, request = find(claims, trace)
    exact = replace(request, allocation_mode="ExactCount", count=1)
    alternatives = [exact] if "/" in trace.request else []
    lone = ClaimRequest(trace.request.split("/")[0], None if alternatives else exact, alternatives)
    plans = allocator.plan([ResourceClaim(claim.meta, ClaimSpec([lone]))])
    found = set()
    for index in range(len(allocator.view(node).candidates)):
        view = allocator.view(node)
        search = Search(
            allocator.profile,
            view,
            plans,
            allocator.state,
            allocator.selection,
            allocator.attributes,
            allocator.rules,
            {},
            Limits(),
        )
        search._candidates = view.candidates = [replace(view.candidates[index], index=0)]
        search._allocated = [search._allocated[index]]
        view.verdicts, view.aborts = {}, {}
        # 1.34 looks at the capacity of another device, which is a fault of the search
        search._rechecked = lambda candidate, number: candidate  # type: ignore[method-assign]
        try:
            search.prepare()
            if search.run() is not None:
                found.add(view.candidates[0].id)
        except AllocationError:
            pass
    return found


def find(claims: list[ResourceClaim], trace: RequestTrace):  # type: ignore[no-untyped-def]
    main, _, sub = trace.request.partition("/")
    claim = next(c for c in claims if f"{c.meta.namespace}/{c.meta.name}" == trace.claim)
    request = next(r for r in claim.spec.requests if r.name == main)
    return claim, next(r for r in request.first_available if r.name == sub) if sub else request.exactly


@pytest.mark.parametrize(
    ("start", "release", "correct"),
    [*((start, "1.37", True) for start in SEEDS[::40])]
    + [(900, release, False) for release in ("1.34", "1.35", "1.36.0", "1.36", "1.37")],
)
def test_refusals_are_true_and_complete(start: int, release: str, correct: bool) -> None:
    checked = 0
    for seed in range(start, start + 40):
        allocator, claims, nodes = setup(seed, correct, release)
        results = allocator.allocate_nodes(claims, nodes)
        for node in nodes[:1]:
            trace = results.by_node[node.meta.name].trace
            if trace is None:
                continue  # pools cannot be gathered
            for request in trace.requests:
                joint = {r.device for r in request.refusals if r.code.startswith("constraint-")}
                own = {r.device for r in request.refusals if not r.code.startswith(("constraint-", "pool-"))}
                free = set(request.free)
                assert len(request.free) == len(free) and not free & (own | joint)
                possible = could_have(allocator, node, request, claims)
                assert own.isdisjoint(possible), (seed, node.meta.name, request.request)
                assert free | joint == possible, (seed, node.meta.name, request.request)
                assert {c.id for c in allocator.view(node).candidates} <= own | free | joint
                funnel = request.funnel()
                assert funnel[0].left == len(request.refusals) + len(request.free)
                assert funnel[-1].left == len(request.free)
                checked += len(possible) + len(own)
    assert checked > 100


@pytest.mark.parametrize("start", SEEDS[::40])
def test_what_is_allocated_is_not_refused(start: int) -> None:
    seen = 0
    for seed in range(start, start + 40):
        allocator, claims, nodes = setup(seed, correct=True)
        for result in allocator.allocate_nodes(claims, nodes).by_node.values():
            trace = result.trace
            if trace is None:
                continue
            assert bool(trace.causes) == (result.verdict != FITS)
            for claim, allocation in zip(claims, result.allocations or [], strict=False):
                label = f"{claim.meta.namespace}/{claim.meta.name}"
                free = {(r.claim, r.request): set(r.free) for r in trace.requests}
                for given in allocation.results:
                    assert (given.driver, given.pool, given.device) in free[label, given.request], seed
                    seen += 1
    assert seen > 10
