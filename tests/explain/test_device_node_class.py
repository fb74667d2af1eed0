"""``explain device``, ``node`` and ``class``: who has it, who could have it, and why not."""

from __future__ import annotations

import pytest

from dractl.errors import DractlError
from dractl.explain.device import explain_device
from dractl.explain.device_class import explain_class
from dractl.explain.node import explain_node
from dractl.render.text.explain_more import render_class, render_device, render_node
from explain.builders import (
    GPU,
    NIC,
    claim,
    class_,
    cluster,
    device,
    held,
    node,
    pod,
    question,
    request,
    result,
    slice_,
)

CLASSES = [class_(GPU), class_(NIC), class_("big", f"device.driver == '{GPU}' && device.attributes['{GPU}'].gb > 40")]
TAINT = {"key": "sick", "value": "1", "effect": "NoSchedule"}
COUNTERS = [{"name": "set", "counters": {"m": {"value": "10"}}}]


def asked(*objects, release="1.36.2"):
    return question(cluster(*CLASSES, *objects), release)


def part(name, amount):
    return device(name, consumesCounters=[{"counterSet": "set", "counters": {"m": {"value": amount}}}])


def told(report):
    return " ".join([report.summary, *report.details])


def test_a_device_in_use():
    report = explain_device(
        asked(node("n1"), slice_("n1", [device("g0", {"gb": 80})]), held("a", "n1", "g0"), claim("c", request("r"))),
        "n1/g0",
    )
    assert (report.device, report.node, report.state) == (f"{GPU}/n1/g0", "n1", "used")
    assert report.summary == f"{GPU}/n1/g0 on n1 is in use by claim ns/a (pod ns/a)."
    assert report.attributes == {"gb": "80"}
    assert [(one.name, one.selects) for one in report.classes] == [("big", True), (GPU, True), (NIC, False)]
    assert [(one.claim, one.code, one.text) for one in report.claims] == [("ns/c", "in-use", "is in use by ns/a")]


def test_classes_are_told_apart():
    report = explain_device(asked(node("n1"), slice_("n1", [device("g0", {"gb": 40})])), "g0")
    texts = {one.name: one.text for one in report.classes}
    assert texts == {
        GPU: "selects it",
        "big": f"{GPU}/gb is 40, asked for > 40",
        NIC: f"driver is {GPU}, asked for == '{NIC}'",
    }


def test_a_tainted_device_and_one_that_others_block():
    objects = [
        node("n1"),
        slice_("n1", [device("g0", taints=[TAINT]), part("g1", "8"), part("g2", "8")], count=2, name="a"),
        slice_("n1", [], count=2, name="b", sharedCounters=COUNTERS),
        held("a", "n1", "g1"),
    ]
    report = explain_device(asked(*objects), "g0")
    assert report.state == "tainted"
    assert "is free, but only for claims that tolerate its taint. It is tainted sick=1:NoSchedule." in told(report)
    report = explain_device(asked(*objects), "g2")
    assert report.state == "blocked"
    assert "lacks counters m (needs 8, 2 of 10 left), which" in report.summary
    assert f"{GPU}/n1/g1" in report.summary


def test_a_rule_that_the_scheduler_does_not_heed():
    rule = {
        "apiVersion": "resource.k8s.io/v1beta2",
        "kind": "DeviceTaintRule",
        "metadata": {"name": "sick"},
        "spec": {"deviceSelector": {"driver": GPU, "pool": "n1"}, "taint": TAINT},
    }
    objects = [node("n1"), node("n2"), slice_("n1", [device("g0")]), slice_("n2", [device("g0")]), rule]
    assert "DeviceTaintRule sick is for it, but is not heeded" in told(explain_device(asked(*objects), "n1/g0"))
    assert "DeviceTaintRule" not in told(explain_device(asked(*objects), "n2/g0"))


def test_a_device_that_is_held_but_no_longer_published():
    report = explain_device(asked(node("n1"), slice_("n1", [device("g0")]), held("a", "n1", "g9")), "g9")
    assert report.state == "unpublished"
    assert report.summary == (
        f"{GPU}/n1/g9 is held by ns/a, but no current slice of its pool lists it any more."
    )


def test_admin_access_takes_nothing():
    watching = claim("w", request("r"), results=[result("r", "n1", "g0", adminAccess=True)], on="n1")
    report = explain_device(asked(node("n1"), slice_("n1", [device("g0")]), watching), "g0")
    assert report.state == "free"
    assert "ns/w has admin access to it, which takes nothing" in told(report)


def test_a_reservation_of_a_pod_that_is_gone():
    consumer = {"resource": "pods", "name": "gone", "uid": "uid-gone"}
    holder = claim("a", request("r"), results=[result("r", "n1", "g0")], on="n1", reserved=[consumer])
    report = explain_device(asked(node("n1"), slice_("n1", [device("g0")]), pod("p"), holder), "g0")
    assert "The reservation of claim ns/a names " in told(report)
    assert "gone" in told(report)


def test_devices_of_an_incomplete_pool():
    report = explain_device(asked(node("n1"), slice_("n1", [device("g0")], count=2)), "g0")
    assert "Nobody can take it: its pool is not complete." in report.details


@pytest.mark.parametrize(
    ("name", "message", "hint"),
    [
        ("g0", "2 devices are called g0", f"{GPU}/n1/g0 or {GPU}/n2/g0"),
        ("n1/g1", "device n1/g1 is not in test", "Did you mean g0?"),
        ("other", "device other is not in test", "dractl get devices"),
    ],
)
def test_names_of_devices(name, message, hint):
    with pytest.raises(DractlError) as caught:
        explain_device(
            asked(node("n1"), node("n2"), slice_("n1", [device("g0")]), slice_("n2", [device("g0")])), name
        )
    assert message in str(caught.value)
    assert hint in (caught.value.hint or "")


def test_a_node():
    report = explain_node(
        asked(
            node("n1"),
            node("n2"),
            slice_("n1", [device("g0", {"gb": 80}), device("g1", {"gb": 40}), device("g2", taints=[TAINT])]),
            slice_("n2", [device("g0"), device("g1")]),
            slice_("n1", [device("eth0")], driver=NIC, count=2, name="nics"),
            held("a", "n1", "g1"),
            claim("one", request("r")),
            pod("p", "one"),
            claim("two", request("r", count=2)),
            pod("q", "two"),
            claim("there", request("r")),
            pod("s", "there", nodeSelector={"disk": "ssd"}),
        ),
        "n1",
    )
    assert "3 GPUs (gpu.example.com: 1 free, 1 in use, 1 tainted)" in report.summary
    assert [(one.driver, one.devices, one.free, one.used, one.tainted) for one in report.drivers] == [
        (GPU, 3, 1, 1, 1),
        (NIC, 0, 0, 0, 0),
    ]
    assert f"Pool {NIC}/n1 has 1 of 2 slices, so its devices do not count" in told(report)
    assert [one.name for one in report.holders] == ["a"]
    assert "Of the pending claims ns/one would fit here." in report.details
    texts = {one.claim: one.text for one in report.claims}
    assert texts["ns/one"] == "fits"
    assert texts["ns/two"] == "request r needs 2: 3 GPUs match, 1 is in use and 1 is tainted, 1 free"
    assert texts["ns/there"].startswith("fits, but its pod may not use the node: nodeSelector disk=ssd")


def test_a_cordoned_node_without_devices():
    taint = {"key": "k", "value": "v", "effect": "NoExecute"}
    report = explain_node(asked(node("n1", cordon=True, taints=[taint])), "n1")
    assert report.summary == "Node n1 sees no devices: no driver publishes a slice for it."
    assert "It is cordoned: pods that do not tolerate that are not placed on it." in report.details
    assert "It has the taint k=v:NoExecute." in report.details


def test_a_class():
    report = explain_class(
        asked(
            node("n1"),
            node("n2"),
            slice_("n1", [device("g0", {"gb": 80}), device("g1", {"gb": 80})]),
            slice_("n2", [device("g0", {"gb": 40}), device("g1", {"gb": 80})]),
            held("a", "n1", "g0"),
            claim("c", request("r", "big")),
            pod("p", "c"),
        ),
        "big",
    )
    assert (report.selected, report.free, report.by_node) == (3, 2, {"n1": 2, "n2": 1})
    assert report.summary == "Class big selects 3 devices on n1 and n2: 2 are free."
    assert report.details == ["1 pending claim asks for it: ns/c."]
    assert [(one.devices, one.example, one.text) for one in report.misses] == [
        (1, f"{GPU}/n2/g0", f"{GPU}/gb is 40, asked for > 40")
    ]
    assert [(one.claim, one.request, one.code, one.text) for one in report.claims] == [
        ("ns/c", "r", "pending", "unallocated")
    ]


def test_a_class_that_selects_nothing():
    report = explain_class(asked(node("n1")), NIC)
    assert report.summary == f"Class {NIC} selects nothing: no ResourceSlice of driver {NIC} exists."
    report = explain_class(asked(node("n1"), slice_("n1", [device("g0", {"gb": 40})])), "big")
    assert report.summary == "Class big selects none of the published devices."


def test_a_class_that_fails():
    report = explain_class(asked(node("n1"), slice_("n1", [device("g0")])), "big")
    assert "Its selector fails on n1/g0 (no gpu.example.com/gb)" in told(report)
    assert [one.code for one in report.findings] == ["DRA204"]


def test_classes_of_one_extended_resource():
    def serving(name, time):
        body = class_(name, f"device.driver == '{GPU}'")
        body["metadata"]["creationTimestamp"] = time
        body["spec"]["extendedResourceName"] = "example.com/gpu"
        return body

    old, new = serving("old", "2026-01-01T00:00:00Z"), serving("new", "2026-02-01T00:00:00Z")
    report = explain_class(asked(node("n1", allocatable={"example.com/gpu": "4"}), old, new), "old")
    assert "2 classes carry example.com/gpu, and the one created last, new, is used; old is without" in told(report)
    assert "On n1 a device plugin advertises example.com/gpu itself" in told(report)


def test_texts_hold_what_the_reports_hold():
    asking = asked(
        node("n1"),
        slice_("n1", [device("g0", {"gb": 80}, {"memory": "80Gi"})]),
        held("a", "n1", "g0"),
        claim("c", request("r", "big")),
        pod("p", "c"),
    )
    text = render_device(explain_device(asking, "g0").to_json())
    assert text.startswith(f"device {GPU}/n1/g0 on n1: used\n")
    for part_ in ("gb      80", "memory  80Gi", "claim ns/a (pod ns/a): n1/g0", "ns/c, request r: is in use by ns/a"):
        assert part_ in text
    text = render_node(explain_node(asking, "n1").to_json())
    for part_ in ("driver           devices  free", "gpu.example.com  1        0", "claim ns/a (pod ns/a): n1/g0"):
        assert part_ in text
    text = render_class(explain_class(asking, "big").to_json())
    assert "selected devices by node\n    n1  1\n" in text
