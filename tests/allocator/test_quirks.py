"""Every quirk shows in a small case, comes with the releases that have it, and is gone in those that do not."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "conformance")]

from kind_allocator import cluster, read  # noqa: E402
from quirk_cases import CASES, NOT_IN_THE_ALLOCATOR, ONLY_ORDER, Case  # noqa: E402

from dractl.allocator import Allocator, Features, NodeResult, Profile  # noqa: E402
from dractl.allocator import quirks as q  # noqa: E402
from dractl.allocator.departure import departures  # noqa: E402
from dractl.allocator.taints import with_taint_rules  # noqa: E402
from dractl.kube.decode import decode  # noqa: E402
from dractl.kube.objects import (  # noqa: E402
    DeviceTaint,
    DeviceTaintRule,
    DeviceTaintSelector,
    Meta,
    Node,
    ResourceClaim,
    ResourceSlice,
)

NEWEST = "1.37.2"
IDS = [case.quirk for case in CASES]


def shown(result: NodeResult, what: str) -> str:
    if result.error is not None:
        return result.error
    if result.allocations is None:
        return "-"
    if what == "config":
        return " ".join(",".join(entry.requests) for item in result.allocations for entry in item.config)
    results = [r for item in result.allocations for r in item.results]
    if what == "tolerations":
        return " ".join(t.key for r in results for t in r.tolerations)
    return " ".join(f"{r.request}={r.device}" for r in results)


def says(got: str, expected: str) -> bool:
    """Whether an answer is the expected one; of an error only a part is given."""
    is_part = " " in expected and "=" not in expected
    return got == expected or (is_part and expected in got)


def answer(case: Case, profile: Profile) -> str:
    given = case.input()
    results = Allocator(profile, *cluster(given)).allocate_nodes(
        read(given["claims"], ResourceClaim), read(given["nodes"], Node)
    )
    return shown(results.by_node[f"n{case.nodes}"], case.shows)


def profile_of(case: Case, release: str = "") -> Profile:
    return Profile.of_features(release or case.release, Features.of(case.input()["features"]))


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_what_the_release_answers(case: Case) -> None:
    profile = profile_of(case)
    assert case.quirk in profile.quirks
    assert says(answer(case, profile), case.real)


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_what_is_right(case: Case) -> None:
    assert says(answer(case, profile_of(case).correct()), case.right)


@pytest.mark.parametrize("case", [c for c in CASES if not c.old_shape], ids=lambda case: case.quirk)
def test_the_newest_release_has_it_only_if_it_is_not_fixed(case: Case) -> None:
    profile = profile_of(case, NEWEST)
    known = case.quirk in profile.quirks
    assert known == (q.quirk_for(case.quirk, profile.version, profile.variant).fixed is None)
    assert says(answer(case, profile), case.real if known else case.right)


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_the_departure_is_put_down_to_it(case: Case) -> None:
    given = case.input()
    profile = profile_of(case)
    found = departures(
        Allocator(profile, *cluster(given)), read(given["claims"], ResourceClaim), read(given["nodes"], Node)
    )
    names = {quirk.name for departure in found if departure.node == f"n{case.nodes}" for quirk in departure.quirks}
    assert case.quirk in names


def test_every_quirk_has_a_case() -> None:
    plain = {name.removesuffix("-stable") for name in q.QUIRKS}
    assert plain == set(IDS) | NOT_IN_THE_ALLOCATOR | ONLY_ORDER


def test_quirks_of_the_default_profiles() -> None:
    by_release = {release: Profile.for_release(release) for release in ("1.34", "1.35", "1.36", "1.37")}
    assert [p.variant for p in by_release.values()] == ["incubating"] * 4
    assert [p.ordered for p in by_release.values()] == [False, False, True, True]
    assert q.COUNTERS_LEAK in by_release["1.36"].quirks
    assert q.COUNTERS_LEAK not in by_release["1.37"].quirks
    assert q.ALL_COUNTERS_PANIC in Profile.for_release("1.36.0").quirks
    assert q.ALL_COUNTERS_PANIC not in Profile.for_release("v1.36.1-gke.1").quirks
    assert not by_release["1.36"].correct().quirks


def test_gates_choose_the_copy_of_the_allocator() -> None:
    off = {"DRADeviceBindingConditions": False, "DRAConsumableCapacity": False}
    stable = Profile.for_release("1.36", off)
    assert (stable.variant, stable.ordered) == ("stable", False)
    assert Profile.for_release("1.37", {"DRAListTypeAttributes": True}).variant == "experimental"
    # 1.36 does not tell its allocator of that gate
    lists = Profile.for_release("1.36", {"DRAListTypeAttributes": True})
    assert (lists.variant, lists.features.list_type_attributes) == ("incubating", False)
    assert q.LIST_ATTRIBUTES_UNUSED in lists.quirks and lists.environment().list_attributes
    assert lists.correct().features.list_type_attributes


def test_releases_that_are_not_known() -> None:
    with pytest.raises(ValueError, match="not known"):
        Profile.for_release("1.33")
    assert Profile.for_release("1.38").quirks == Profile.for_release("1.37").quirks


def taint_rule(selector: DeviceTaintSelector | None) -> DeviceTaintRule:
    return DeviceTaintRule(Meta(name="rule"), selector, DeviceTaint("k", "", "NoSchedule", None, "rule"))


def tainted(release: str, rule: DeviceTaintRule, **gates: bool) -> list[str]:
    spec: dict[str, Any] = {"driver": "d", "pool": {"name": "p"}, "devices": [{"name": "x"}, {"name": "y"}]}
    item = decode(
        {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": "s"}, "spec": spec}
    )
    assert isinstance(item, ResourceSlice)
    patched = with_taint_rules([item], [rule], Profile.for_release(release, gates))
    assert all(not device.taints for device in item.devices), "the slice itself stays as it is"
    return [device.name for device in patched[0].devices if device.taints]


def test_device_taint_rules() -> None:
    on = {"DRADeviceTaintRules": True}
    one = taint_rule(DeviceTaintSelector(driver="d", pool="p", device="y"))
    assert tainted("1.37", one) == ["y"]
    assert tainted("1.36", one) == [], "off by default"
    assert tainted("1.36.2", one, **on) == [], "not seen by the scheduler"
    assert tainted("1.36.3", one, **on) == ["y"]
    assert tainted("1.37", taint_rule(DeviceTaintSelector(driver="e"))) == []
    assert tainted("1.37", taint_rule(DeviceTaintSelector())) == ["x", "y"]
    unset = taint_rule(None)
    assert tainted("1.37", unset) == []
    assert tainted("1.36.3", unset, **on) == ["x", "y"], "taken to fit everything"
