"""Fixes: every change that is named makes the claim fit, checked on a cluster that was changed from scratch."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from explain.builders import GPU, NIC, claim, class_, cluster, device, held, node, pod, question, request, slice_
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dractl.explain.case import FITS, Case
from dractl.explain.claim import Question, case_of, explain_claim
from dractl.explain.lifecycle import users_of, waiting
from dractl.inventory import Inventory, Key, key_of
from dractl.kube.objects import ResourceClaim
from dractl.simulate.candidates import candidates
from dractl.simulate.fixes import find_fixes
from dractl.simulate.variant import Variant
from dractl.sources.snapshot import read_demo, read_snapshot

CASES = Path(__file__).parent.parent / "cases"


def _case(asked: Question, namespace: str, name: str) -> Case:
    found = asked.inventory.claims[Key(namespace, name)]
    return case_of(asked, [found], waiting(users_of(asked.inventory, found)))


def _as_inventory(variant: Variant) -> Inventory:
    """The changed cluster as if it had been read so."""
    claims = {key_of(one): one for one in variant.claims}
    pods = {key_of(one): one for one in variant.pods}
    slices = {one.meta.name: one for one in variant.slices}
    rules = {one.meta.name for one in variant.taint_rules}
    objects = []
    for item in variant.case.inventory.objects:
        kind = type(item).__name__
        if isinstance(item, ResourceClaim):
            key = key_of(item)
            changed = claims.get(key, item)
            objects.append(replace(changed, allocation=None, reserved_for=[]) if key in variant.freed else changed)
        elif kind == "Pod":
            objects.append(pods.get(key_of(item), item))
        elif kind == "ResourceSlice":
            if item.meta.name in slices:
                objects.append(slices[item.meta.name])
        elif kind == "Node":
            if item.meta.name not in variant.avoided:
                objects.append(variant.nodes[item.meta.name])
        elif kind != "DeviceTaintRule" or item.meta.name in rules:
            objects.append(item)
    return Inventory(objects, variant.case.inventory.provenance)


def _check(case: Case) -> int:
    """Every single change that the search calls a fix is one; and what it does not call one is none."""
    helping = 0
    if case.verdict == FITS:
        # nothing is searched for then, and a change of one node says nothing about the others, which fit already
        assert find_fixes(case).fixes == []
        return helping
    for change in candidates(case):
        variant = Variant.of(case).copy()
        change.apply(variant)
        nodes = variant.fitting(change.touched or None)
        inventory = _as_inventory(variant)
        again = Question(inventory, case.release, case.profile)
        fresh = [inventory.claims[key_of(one)] for one in case.claims]
        pods = waiting(users_of(inventory, fresh[0]))
        judged = case_of(again, fresh, pods)
        fitting = [answer.name for answer in judged.fitting()] if not judged.errors else []
        assert set(nodes) <= set(fitting), change.text
        if nodes:
            helping += 1
        else:
            assert not fitting, change.text
    return helping


FLEET = ["typo-product", "wrong-attribute", "numa-match", "xid-gpu-only", "all-nics-cpu", "sixteen", "needs-141g",
         "wants-l40s-zone-c", "no-such-class"]


@pytest.mark.parametrize("name", FLEET)
def test_fleet(name):
    _check(_case(question(read_demo()), "research", name))


def test_pair_on_one_node():
    assert _check(_case(question(read_demo()), "ml", "pair-on-h100-1")) == 1


@pytest.mark.parametrize(
    ("name", "texts"),
    [
        (
            "typo-product",
            ["in request gpu write gpu.nvidia.com/productName == 'NVIDIA A100-SXM4-40GB' instead of == 'A100'"],
        ),
        ("numa-match", ["constrain gpu and nic by resource.kubernetes.io/pcieRoot instead of dra.net/numaNode"]),
        ("sixteen", ["in request gpu ask for 5 instead of 16 GPUs"]),
        ("needs-141g", ["in request gpu write gpu.nvidia.com/memory >= 79Gi instead of >= 141Gi"]),
        (
            "wants-l40s-zone-c",
            ["drop nodeSelector topology.kubernetes.io/zone=zone-c of pod research/wants-l40s-zone-c"],
        ),
        (
            "all-nics-cpu",
            [
                "in request cpu ask for 96 of dra.cpu/cpu instead of 200, and in request nic ask for 8 NICs instead of "
                "all"
            ],
        ),
        ("no-such-class", []),
    ],
)
def test_the_cheapest_fix_comes_first(name, texts):
    fixes = find_fixes(_case(question(read_demo()), "research", name))
    assert [fix.text for fix in fixes.fixes][:1] == texts
    assert all(fix.proven and fix.nodes for fix in fixes.fixes)


@pytest.mark.parametrize(
    ("folder", "namespace", "name", "text", "nodes"),
    [
        ("12-mig-placements-blocked", "dev", "mid", "end one of the claims dev/one or dev/two: one", ["a100-0"]),
        (
            "18-free-gpu-and-free-nic-on-two-roots",
            "ml",
            "pair",
            "end one of the claims ml/solo-gpu or ml/solo-nic",
            ["h-3"],
        ),
        ("36-zombie-claim", "ml", "next", "end claim ml/previous", ["gpu-a"]),
        ("114-one-name-on-three-nodes", "net", "second", "end claim net/first", ["n1", "n2", "n3"]),
    ],
)
def test_cases(folder, namespace, name, text, nodes):
    asked = question(read_snapshot(str(CASES / folder / "objects.yaml")))
    case = _case(asked, namespace, name)
    assert _check(case) >= 1
    fixes = find_fixes(case).fixes
    assert [fix.nodes for fix in fixes if fix.text.startswith(text)] == [nodes]


def test_nothing_is_offered_where_the_claim_fits():
    inventory = cluster(class_(GPU), node("n1"), slice_("n1", [device("g0")]), claim("c", request("r")), pod("p", "c"))
    assert find_fixes(_case(question(inventory), "ns", "c")).fixes == []


def test_two_holders_have_to_end_together():
    inventory = cluster(
        class_(GPU),
        node("n1"),
        slice_("n1", [device("g0"), device("g1"), device("g2", {"type": "other"})]),
        held("a", "n1", "g0"),
        held("b", "n1", "g1"),
        held("unrelated", "n1", "g2"),
        claim("c", request("r", GPU, f"!('type' in device.attributes['{GPU}'])", count=2)),
        pod("p", "c"),
    )
    found = find_fixes(_case(question(inventory), "ns", "c"))
    assert found.fixes[0].text == "end the 2 claims ns/a and ns/b (all of them)"
    assert found.note.startswith("No single change helps")


def test_lower_priority_and_unused_holders_are_cheaper():
    gone = {"resource": "pods", "name": "gone", "uid": "x"}
    stale = claim("stale", request("r"), results=[{"request": "r", "driver": GPU, "pool": "n1", "device": "g1"}],
                  on="n1", reserved=[gone])
    inventory = cluster(
        class_(GPU),
        node("n1"),
        slice_("n1", [device("g0"), device("g1")]),
        held("busy", "n1", "g0"),
        stale,
        claim("c", request("r")),
        pod("p", "c"),
    )
    fixes = find_fixes(_case(question(inventory), "ns", "c")).fixes
    assert [(fix.text, fix.detail) for fix in fixes] == [
        ("end claim ns/stale", "0s old, no longer used"),
        ("end claim ns/busy", "pod ns/busy, 0s old"),
    ]


def test_an_incomplete_pool_is_completed_with_what_is_known():
    inventory = cluster(
        class_(GPU), node("n1"), node("n2"), slice_("n1", [device("g0")], count=2), slice_("n2", [device("g0")]),
        held("busy", "n2", "g0"), claim("c", request("r")), pod("p", "c"),
    )
    case = _case(question(inventory), "ns", "c")
    assert _check(case) == 2
    pools = [fix for fix in find_fixes(case).fixes if fix.kind == "pool"]
    assert [(fix.nodes, fix.proven) for fix in pools] == [(["n1"], False)]
    assert pools[0].text.startswith("let driver gpu.example.com publish the 1 missing slice of pool n1: the devices")


def test_an_incomplete_pool_that_ends_the_attempt_is_taken_away():
    inventory = cluster(
        class_(GPU), node("n1"), node("n2"), slice_("n1", [device("g0")], count=2), slice_("n2", [device("g0")]),
        claim("c", request("r", count=None)), pod("p", "c"),
    )
    case = _case(question(inventory), "ns", "c")
    assert _check(case) >= 1
    pools = [fix for fix in find_fixes(case).fixes if fix.kind == "pool"]
    assert [(fix.nodes, fix.proven, fix.who) for fix in pools] == [(["n2"], True, "cluster")]
    assert pools[0].text == (
        "delete the slices of pool gpu.example.com/n1, which has 1 of 2 slices and stops the attempt on all nodes"
    )


def test_another_class_of_the_same_driver():
    narrow = class_("narrow", f"device.driver == '{GPU}' && device.attributes['{GPU}'].model == 'X'")
    inventory = cluster(
        class_(GPU), narrow, node("n1"), slice_("n1", [device("g0", {"model": "A"})]),
        claim("c", request("r", "narrow")), pod("p", "c"),
    )
    case = _case(question(inventory), "ns", "c")
    assert _check(case) >= 1
    assert "in request r name class gpu.example.com instead of narrow" in [one.text for one in find_fixes(case).fixes]


_DEVICES = st.lists(
    st.tuples(st.sampled_from("AB"), st.integers(0, 2), st.booleans(), st.booleans()), min_size=1, max_size=4
)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(_DEVICES, _DEVICES, st.integers(1, 3), st.sampled_from("ABC"), st.booleans(), st.booleans(), st.integers(1, 2))
def test_on_random_clusters_a_fix_is_a_fix(first, second, count, model, cordon, constrained, slices):
    objects = [class_(GPU), class_(NIC), node("n1", cordon=cordon), node("n2")]
    for name, devices in (("n1", first), ("n2", second)):
        made = []
        for index, (kind, root, taken, tainted) in enumerate(devices):
            taints = [{"key": "t", "effect": "NoSchedule"}] if tainted else []
            made.append(device(f"g{index}", {"model": kind, "root": root}, taints=taints))
            if taken:
                objects += held(f"{name}-g{index}", name, f"g{index}")
        objects.append(slice_(name, made, count=slices if name == "n1" else 1))
    constraints = [{"matchAttribute": f"{GPU}/root"}] if constrained else []
    wanted = request("r", GPU, f"device.attributes['{GPU}'].model == '{model}'", count=count)
    objects += [claim("c", wanted, constraints=constraints), pod("p", "c")]
    _check(_case(question(cluster(*objects)), "ns", "c"))


def test_fixes_are_part_of_the_report():
    report = explain_claim(question(read_demo()), "research", "numa-match").to_json()
    assert report["fixes"][0] == {
        "text": "constrain gpu and nic by resource.kubernetes.io/pcieRoot instead of dra.net/numaNode",
        "kind": "constraint",
        "nodes": ["h100-0", "h100-2", "h100-4"],
        "proven": True,
        "who": "claim",
    }
