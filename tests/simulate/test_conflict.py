"""Conflicts: what is named cannot hold together, and without any one of it the claims fit."""

from __future__ import annotations

import pytest
from explain.builders import GPU, NIC, claim, class_, cluster, device, held, node, pod, question, request, slice_
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dractl.explain.case import DOES_NOT_FIT, FITS, Case
from dractl.explain.claim import case_of
from dractl.explain.lifecycle import users_of, waiting
from dractl.explain.matching import lacks, shortage
from dractl.inventory import Key
from dractl.simulate.conflict import Conflict, ConflictSearch, find_conflict
from dractl.sources.snapshot import read_demo


def _case(asked, namespace, name) -> Case:
    found = asked.inventory.claims[Key(namespace, name)]
    return case_of(asked, [found], waiting(users_of(asked.inventory, found)))


def _check(case: Case) -> Conflict:
    """The statements of the conflict alone do not fit; one less, and they do."""
    conflict = find_conflict(case)
    if case.verdict != DOES_NOT_FIT:
        assert conflict.parts == []
        return conflict
    search = ConflictSearch(case)
    named = {(part.kind, part.text) for part in [*conflict.parts, *conflict.fixed]}
    parts = [part for part in search.everything if (part.kind, part.text) in named]
    fixed = {part.text for part in conflict.fixed}
    assert search.verdict(parts) == DOES_NOT_FIT
    for part in parts:
        if part.text in fixed:
            continue
        assert search.verdict([one for one in parts if one is not part]) == FITS, part.text
    return conflict


@pytest.mark.parametrize(
    ("namespace", "name", "texts"),
    [
        (
            "ml",
            "pair-on-h100-1",
            [
                "pod ml/pair-on-h100-1 may only run on h100-1 (nodeSelector kubernetes.io/hostname=h100-1)",
                "a GPU of class gpu.nvidia.com",
                "a NIC of class rdma.dra.net",
                "gpu and nic have the same resource.kubernetes.io/pcieRoot",
            ],
        ),
        ("research", "sixteen", ["a GPU of class gpu.nvidia.com", "16 of them on one node"]),
        ("research", "needs-141g", ["a GPU of class gpu.nvidia.com", "gpu.nvidia.com/memory >= 141Gi"]),
        (
            "research",
            "numa-match",
            ["a GPU of class gpu.nvidia.com", "gpu and nic have the same dra.net/numaNode"],
        ),
        (
            "research",
            "wants-l40s-zone-c",
            [
                "pod research/wants-l40s-zone-c requires what no node has (nodeSelector "
                "topology.kubernetes.io/zone=zone-c)"
            ],
        ),
        ("research", "nobody-uses-me", []),
        ("research", "wrong-attribute", []),
    ],
)
def test_fleet(namespace, name, texts):
    conflict = _check(_case(question(read_demo()), namespace, name))
    assert [part.text for part in conflict.parts] == texts


def test_devices_in_use_cordons_and_taints():
    taint = {"key": "sick", "value": "1", "effect": "NoSchedule"}
    inventory = cluster(
        class_(GPU),
        node("n1"),
        node("n2", cordon=True),
        slice_("n1", [device("g0"), device("g1", taints=[taint])]),
        slice_("n2", [device("g0")]),
        held("a", "n1", "g0"),
        claim("c", request("r")),
        pod("p", "c"),
    )
    conflict = _check(_case(question(inventory), "ns", "c"))
    assert [part.text for part in conflict.parts] == [
        "claim ns/a keeps its devices",
        "n1/g1 has the taint sick=1:NoSchedule, which is not tolerated",
        "n2 is cordoned",
        "a GPU of class gpu.example.com",
    ]


def test_a_test_for_an_attribute_stays():
    guarded = f"'x' in device.attributes['{GPU}'] && device.attributes['{GPU}'].x == 1"
    inventory = cluster(
        class_(GPU),
        node("n1"),
        slice_("n1", [device("g0"), device("g1", {"x": 2})]),
        claim("c", request("r", GPU, guarded)),
        pod("p", "c"),
    )
    conflict = _check(_case(question(inventory), "ns", "c"))
    assert [part.text for part in conflict.parts] == ["a GPU of class gpu.example.com", f"{GPU}/x == 1"]


_DEVICES = st.lists(
    st.tuples(st.sampled_from("AB"), st.integers(0, 1), st.booleans(), st.booleans()), min_size=1, max_size=3
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(_DEVICES, _DEVICES, _DEVICES, st.integers(1, 2), st.sampled_from("ABC"), st.booleans(), st.integers(0, 3))
def test_on_random_clusters(first, second, nics, count, model, cordon, constrained):
    objects = [class_(GPU), class_(NIC), node("n1", cordon=cordon), node("n2")]
    for driver, name, devices in ((GPU, "n1", first), (GPU, "n2", second), (NIC, "n1", nics), (NIC, "n2", nics)):
        made = []
        for index, (kind, root, taken, tainted) in enumerate(devices):
            taints = [{"key": "t", "effect": "NoSchedule"}] if tainted else []
            made.append(device(f"d{index}", {"example.com/model": kind, "example.com/root": root}, taints=taints))
            if taken:
                objects += held(f"{name}-{driver[0]}{index}", name, f"d{index}", driver, driver)
        objects.append(slice_(name, made, driver=driver, name=f"{name}-{driver}"))
    constraints = [
        {key: f"example.com/{attribute}"}
        for bit, (key, attribute) in enumerate((("matchAttribute", "root"), ("distinctAttribute", "model")))
        if constrained & 1 << bit
    ]
    wanted = request("r", GPU, f"device.attributes['example.com'].model == '{model}'", count=count)
    objects += [claim("c", wanted, request("nic", NIC), constraints=constraints), pod("p", "c")]
    _check(_case(question(cluster(*objects)), "ns", "c"))


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3), st.frozensets(st.integers(0, 5), max_size=4)), max_size=5))
def test_shortages_are_found_and_smallest(wants):
    numbers = range(len(wants))
    subsets = [[index for index in numbers if bits & 1 << index] for bits in range(1, 1 << len(wants))]
    short = shortage(wants)
    assert bool(short) == any(lacks(wants, subset) for subset in subsets)
    if short:
        assert lacks(wants, short)
        rests = ([one for one in short if one != index] for index in short)
        assert not any(lacks(wants, rest) for rest in rests if rest)
