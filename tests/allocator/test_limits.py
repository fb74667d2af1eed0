"""Bounds of the search: after so many steps the answer is "undecided", never a guess."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "conformance")]

from kind_allocator import cluster, read  # noqa: E402
from quirk_cases import ask, attribute, claim, device, devices, either, pool  # noqa: E402

from dractl.allocator import Allocator, Limits, NodeResult, Profile  # noqa: E402
from dractl.allocator.bounds import matching  # noqa: E402
from dractl.kube.objects import Node, ResourceClaim  # noqa: E402


def answer(
    slices: list[Any], claims: list[Any], limits: Limits, release: str = "1.37", gates: dict[str, bool] | None = None
) -> NodeResult:
    given = {"slices": slices, "classes": [{"metadata": {"name": "any"}}]}
    allocator = Allocator(Profile.for_release(release, gates), *cluster(given))
    (node,) = read([{"metadata": {"name": "n1"}}], Node)
    return allocator.allocate(read(claims, ResourceClaim), node, limits)


MANY = pool(devices(*(device(f"x{i}", **attribute("v", i // 2)) for i in range(24))))
HARD = [
    # twelve pairs cannot serve three equal ones, and all of it hangs on the last request
    claim(
        either("r0", ask("a", count=3), ask("b", count=4)), ask("r1", count=3), constraints=[{"matchAttribute": "d/v"}]
    )
]


def test_steps() -> None:
    result = answer(MANY, HARD, Limits(steps=20))
    assert (result.verdict, result.error, result.allocations) == ("undecided", "undecided after 20 steps", None)
    assert answer(MANY, HARD, Limits()).verdict == "doesNotFit"


def test_a_clock_from_outside() -> None:
    asked = []

    def expired() -> bool:
        asked.append(1)
        return len(asked) == 2

    slices = pool(devices(*(device(f"x{i}", **attribute("v", i % 5)) for i in range(32))))
    claims = [claim(*(ask(f"r{i}", count=2) for i in range(4)), constraints=[{"distinctAttribute": "d/v"}])]
    result = answer(slices, claims, Limits(expired=expired))
    assert (result.verdict, result.error) == ("undecided", "undecided after 512 steps")


def test_a_long_search_ends_early_where_nothing_can_fit() -> None:
    slices = pool(devices(*(device(f"x{i}", **attribute("v", i % 5)) for i in range(32))))
    claims = [claim(*(ask(f"r{i}", count=2) for i in range(4)), constraints=[{"distinctAttribute": "d/v"}])]
    result = answer(slices, claims, Limits())
    assert result.verdict == "doesNotFit"
    assert result.steps == 2000


def test_alternatives_that_cannot_do_are_left_behind() -> None:
    """A later alternative may end in an error, so that only the earlier ones can be proven hopeless."""
    slices = pool(devices(*(device(f"x{i}") for i in range(12))))
    choice = either("r", ask("a"), ask("b", allocationMode="All"))
    claims = [
        claim(choice, ask("s", count=6), constraints=[{"matchAttribute": "x.io/none", "requests": ["r/b"]}]),
        {**claim(ask("t", count=6)), "metadata": {"name": "d", "namespace": "ns"}},
    ]
    result = answer(slices, claims, Limits())
    assert (result.error or "").endswith("cannot add device d/p/x0 because a claim constraint would not be satisfied")
    assert result.steps < 10_000


def test_long_claims_need_no_deep_stack() -> None:
    slices = pool(*(devices(*(device(f"x{s}-{i}") for i in range(100))) for s in range(20)))
    claims = [{**claim(ask("r", count=32)), "metadata": {"name": f"c{i}", "namespace": "ns"}} for i in range(60)]
    result = answer(slices, claims, Limits())
    assert result.verdict == "fits" and result.allocations is not None
    given = [r.device for item in result.allocations for r in item.results]
    assert len(set(given)) == 60 * 32


def test_derived_attributes_count_with_their_feature() -> None:
    derived = [{"name": "x.io/root", "expression": "'a'"}]
    claims = [claim(ask("r", derivedAttributes=derived), constraints=[{"matchAttribute": "x.io/root"}])]
    on = {"DRADerivedAttributes": True}
    assert answer(MANY, claims, Limits(), gates=on).verdict == "fits"
    result = answer(MANY, claims, Limits())
    assert (result.error or "").endswith("cannot handle request with derived attributes, the feature is disabled")


def test_matching() -> None:
    assert matching([]) == 0
    assert matching([["a"], ["a", "b"], ["b", "c"]]) == 3
    assert matching([["a"], ["a"], ["b"]]) == 2
    assert matching([["a", "b"], ["a", "b"], ["a", "b"]]) == 2
