"""Small clusters, one fault each: the first sentence names it, with names and values."""

from __future__ import annotations

import pytest

from dractl.explain.claim import explain_claim
from dractl.explain.pod import explain_pod
from explain.builders import (
    GPU,
    NIC,
    TIME,
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

CLASSES = [class_(GPU), class_(NIC)]
COUNTERS = [{"name": "set", "counters": {"m": {"value": "10"}}}]


def gpu(name, **attributes):
    return device(name, attributes)


def part(name, amount, **more):
    return device(name, consumesCounters=[{"counterSet": "set", "counters": {"m": {"value": amount}}}], **more)


def explained(*objects, name="c", release="1.36.2", **more):
    return explain_claim(question(cluster(*CLASSES, *objects), release, **more), "ns", name)


def told(report):
    return " ".join([report.summary, *report.details])


def test_a_pool_with_one_name_twice_does_not_count():
    report = explained(
        node("n1"),
        slice_("n1", [gpu("g0")], count=2, name="a"),
        slice_("n1", [gpu("g0")], count=2, name="b"),
        claim("c", request("r")),
        pod("p", "c"),
    )
    assert report.verdict == "doesNotFit"
    assert "pool gpu.example.com/n1 is invalid (duplicate device name g0) on n1" in report.summary


def test_devices_published_for_nodes_that_no_node_is():
    terms = [{"matchExpressions": [{"key": "zone", "operator": "In", "values": ["b"]}]}]
    report = explained(
        node("n1", labels={"zone": "a"}),
        slice_("shared", [gpu("g0")], nodeSelector={"nodeSelectorTerms": terms}),
        claim("c", request("r")),
        pod("p", "c"),
    )
    assert "shared/g0 is published for nodes with zone In [b], which no node is" in report.summary


def test_devices_that_many_nodes_can_use_count_once():
    report = explained(
        node("n1"), node("n2"), slice_("shared", [gpu("g0")], allNodes=True), claim("c", request("r")), pod("p", "c")
    )
    assert report.verdict == "fits"
    funnel = {stage.stage: stage.devices for stage in report.requests[0].funnel}
    assert funnel["published"] == funnel["pools"] == funnel["free"] == 1


def test_more_than_an_allocation_can_hold():
    report = explained(
        node("n1"), slice_("n1", [gpu(f"g{i}") for i in range(40)]), claim("c", request("r", count=33)), pod("p", "c")
    )
    assert report.verdict == "error"
    assert "number of requested devices 33 exceeds the claim limit of 32" in report.summary
    assert [fix.text for fix in report.fixes] == ["in request r ask for 32 instead of 33 GPUs"]


def test_two_requests_for_one_free_device():
    report = explained(
        node("n1"),
        slice_("n1", [gpu("g0"), gpu("g1")]),
        held("h", "n1", "g0"),
        claim("c", request("a"), request("b")),
        pod("p", "c"),
    )
    assert report.summary == "Requests a and b want 2 GPUs together, and n1 has only 1 that is usable for them."


def test_only_the_requests_that_want_the_same_devices_are_named():
    report = explained(
        node("n1"),
        slice_("n1", [gpu(f"g{i}") for i in range(4)]),
        slice_("n1", [device("eth0")], driver=NIC, name="nics"),
        claim("c", request("nic", NIC), request("a", count=2), request("b", count=3)),
        pod("p", "c"),
    )
    assert report.summary == "Requests a and b want 5 GPUs together, and n1 has only 4 that are usable for them."


def test_nodes_with_different_shortages():
    x, y = (f"device.attributes['{GPU}'].?{name}.orValue(false)" for name in "xy")
    report = explained(
        node("n1"),
        node("n2"),
        slice_("n1", [gpu("g0", x=True), gpu("g1", y=True)]),
        slice_("n2", [gpu("g0", x=True), gpu("g1", x=True, y=True), gpu("g2")]),
        claim("c", request("a", GPU, x), request("b", GPU, x), request("d", GPU, y)),
        pod("p", "c"),
    )
    assert report.verdict == "doesNotFit"
    assert "equests a and b want 2 GPUs together, and n1 has only 1 that is usable for them" in told(report)
    assert "equests a, b and d want 3 GPUs together, and n2 has only 2 that are usable for them" in told(report)


def test_admin_access_does_not_take_what_its_own_claim_takes():
    report = explained(
        node("n1"),
        slice_("n1", [gpu("g0")]),
        claim("c", request("a"), request("w", adminAccess=True)),
        pod("p", "c"),
    )
    assert report.summary == "Requests a and w want 2 GPUs together, and n1 has only 1 that is usable for them."


def test_all_and_one_more():
    report = explained(
        node("n1"),
        slice_("n1", [gpu("g0"), gpu("g1")]),
        claim("c", request("a", count=None), request("b")),
        pod("p", "c"),
    )
    assert report.summary == "Requests a and b want 3 GPUs together, and n1 has only 2 that are usable for them."


def test_which_constraints_exclude_each_other():
    def both(name, rack, numa):
        return device(name, {"example.com/rack": rack, "example.com/numa": numa})

    report = explained(
        node("n1"),
        slice_("n1", [both("g0", "a", 0), both("g1", "b", 1)]),
        slice_("n1", [both("e0", "a", 1), both("e1", "b", 0)], driver=NIC, name="nics"),
        claim(
            "c",
            {"name": "gpu", "firstAvailable": [
                {"name": "one", "deviceClassName": GPU, "allocationMode": "ExactCount", "count": 1},
                {"name": "other", "deviceClassName": GPU, "allocationMode": "ExactCount", "count": 1},
            ]},
            request("nic", NIC),
            constraints=[{"matchAttribute": "example.com/rack"}, {"matchAttribute": "example.com/numa"}],
        ),
        pod("p", "c"),
    )
    assert report.summary == (
        "On n1 devices for requests gpu and nic are free one by one, but not together: there is no choice in which "
        "gpu and nic have the same example.com/rack and gpu and nic have the same example.com/numa."
    )
    assert [one.kind for one in report.conflict] == ["request", "request", "constraint", "constraint"]


def test_counters_do_not_suffice_for_both():
    report = explained(
        node("n1"),
        slice_("n1", [], sharedCounters=COUNTERS, count=2, name="a"),
        slice_("n1", [part("p0", "6"), part("p1", "6")], count=2, name="b"),
        claim("c", request("r", count=2)),
        pod("p", "c"),
    )
    assert "free one by one, but not together: they draw from the same counters" in report.summary


def test_a_fault_of_the_scheduler_is_told_first_and_only_where_the_release_has_it():
    tainted = [{"key": "k", "effect": "NoSchedule"}]
    objects = [
        node("n1"),
        slice_("n1", [], sharedCounters=COUNTERS, count=2, name="a"),
        slice_("n1", [part("p0", "6", taints=tainted), part("p1", "6")], count=2, name="b"),
        claim("c", request("r")),
        pod("p", "c"),
    ]
    old = explained(*objects)
    assert old.verdict == "doesNotFit"
    assert old.summary.startswith("On n1 the devices fit, but kube-scheduler 1.36.2 does not find them: counters taken")
    assert "DRA802" in {one.code for one in old.findings}
    new = explained(*objects, release="1.37.2")
    assert (new.verdict, new.summary[:26]) == ("fits", "Claim ns/c fits on n1 (it ")


def test_all_needs_all_of_them_free():
    report = explained(
        node("n1"),
        slice_("n1", [gpu("g0"), gpu("g1")]),
        held("h", "n1", "g0"),
        claim("c", request("r", count=None)),
        pod("p", "c"),
    )
    assert "asks for all GPUs of a node that match" in report.summary
    assert "n1/g0 is in use by ns/h" in report.summary


def test_admin_access_does_not_mind_users():
    report = explained(
        node("n1"), slice_("n1", [gpu("g0")]), held("h", "n1", "g0"), claim("c", request("r", adminAccess=True))
    )
    assert report.verdict == "fits"


@pytest.mark.parametrize(
    ("capacity", "asked", "fact", "fix"),
    [
        ({f"{GPU}/mem": "4Gi"}, {"mem": "1Gi"}, "names capacity mem; n1/g0 has gpu.example.com/mem", "name capacity"),
        (
            {"mem": {"value": "4Gi", "requestPolicy": {"default": "1Gi", "validValues": ["1Gi", "2Gi"]}}},
            {"mem": "3Gi"},
            "The policy of mem on n1/g0 allows 1Gi or 2Gi",
            "ask for 2Gi of mem instead of 3Gi",
        ),
        ({"mem": "4Gi"}, {"mem": "5Gi"}, "asks for 5Gi of mem from one GPU, and none has more than 4Gi", "ask for 4Gi"),
    ],
)
def test_amounts_that_cannot_be_had(capacity, asked, fact, fix):
    shared = device("g0", {}, capacity, allowMultipleAllocations=True)
    report = explained(
        node("n1"), slice_("n1", [shared]), claim("c", request("r", capacity={"requests": asked})), pod("p", "c")
    )
    assert report.verdict == "doesNotFit"
    assert fact in told(report)
    assert fix in report.fixes[0].text


def test_a_selector_that_does_not_compile():
    report = explained(
        node("n1"), slice_("n1", [gpu("g0")]), claim("c", request("r", GPU, "device.foo == 1")), pod("p", "c")
    )
    assert report.verdict == "error"
    assert report.summary.startswith("The selector of request r does not compile: undefined field 'foo' (line 1, ")


@pytest.mark.parametrize(
    ("selector", "facts", "fix"),
    [
        (
            f"device.attributes['{GPU}'].productname == 'X'",
            ["no such key: productname", "did you mean productName?"],
            "write productName instead of productname",
        ),
        (
            f"device.attributes['{GPU}'].mem == '4Gi'",
            ["no such key: mem", "published as a capacity, not as an attribute"],
            "compare the capacity",
        ),
        (
            "device.attributes['other.com'].productName == 'X'",
            ["no such key: productName", "published there under another domain: gpu.example.com/productName"],
            None,
        ),
    ],
)
def test_a_key_that_is_not_there(selector, facts, fix):
    report = explained(
        node("n1"),
        slice_("n1", [device("g0", {"productName": "X"}, {"mem": "4Gi"})]),
        claim("c", request("r", GPU, selector)),
        pod("p", "c"),
    )
    assert report.verdict == "error"
    for fact in facts:
        assert fact in told(report)
    assert fix is None or fix in report.fixes[0].text


def test_a_class_whose_name_is_misspelt():
    report = explained(
        node("n1"), slice_("n1", [gpu("g0")]), claim("c", request("r", "gpu.exampel.com")), pod("p", "c")
    )
    assert report.stage == "class missing"
    assert "names DeviceClass gpu.exampel.com, which does not exist" in report.summary
    assert report.fixes[0].text == "in request r name class gpu.example.com instead of gpu.exampel.com"


def test_a_class_that_selects_none_of_its_drivers_devices():
    report = explained(
        class_("fast", f"device.driver == '{GPU}'", f"device.attributes['{GPU}'].speed == 'fast'"),
        node("n1"),
        slice_("n1", [gpu("g0", speed="slow")]),
        claim("c", request("r", "fast")),
        pod("p", "c"),
    )
    assert "class fast of request r selects none of the devices" in report.summary.lower()
    assert "has slow, asked for == 'fast'" in report.summary


def test_no_alternative_can_be_had():
    alternatives = [
        {
            "name": "big",
            "deviceClassName": GPU,
            "allocationMode": "ExactCount",
            "count": 1,
            "selectors": [{"cel": {"expression": f"device.attributes['{GPU}'].m == 'B'"}}],
        },
        {"name": "small", "deviceClassName": GPU, "allocationMode": "ExactCount", "count": 1},
    ]
    report = explained(
        node("n1"),
        slice_("n1", [gpu("g0", m="A")]),
        held("h", "n1", "g0"),
        claim("c", {"name": "r", "firstAvailable": alternatives}),
        pod("p", "c"),
    )
    assert report.summary.startswith("None of the 2 alternatives of request r can be had")
    assert "n1/g0 is in use by ns/h" in report.summary
    assert [one.name for one in report.requests] == ["r/big", "r/small"]


def test_values_that_have_to_differ():
    report = explained(
        node("n1"),
        slice_("n1", [gpu("g0", m="A"), gpu("g1", m="A")]),
        claim("c", request("r"), request("s"), constraints=[{"distinctAttribute": f"{GPU}/m"}]),
        pod("p", "c"),
    )
    assert "different gpu.example.com/m for requests r and s" in report.summary


def test_a_taint_rule_counts_where_the_scheduler_heeds_it():
    rule = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceTaintRule",
        "metadata": {"name": "tr"},
        "spec": {"deviceSelector": {"driver": GPU}, "taint": {"key": "a/b", "value": "v", "effect": "NoSchedule"}},
    }
    objects = [node("n1"), slice_("n1", [gpu("g0")]), claim("c", request("r")), pod("p", "c"), rule]
    assert "tainted a/b=v:NoSchedule by DeviceTaintRule tr" in told(explained(*objects, release="1.37.2"))
    ignored = explained(*objects)
    assert ignored.verdict == "fits"
    assert "DRA801" in {one.code for one in ignored.findings}


def test_nodes_that_the_snapshot_does_not_hold_are_taken_from_slices():
    report = explained(slice_("n1", [gpu("g0")]), held("h", "n1", "g0"), claim("c", request("r")), pod("p", "c"))
    assert [one.name for one in report.nodes] == ["n1"]
    assert any("no Node objects" in text for text in report.notes)


# --- the pod's side -------------------------------------------------------------------------------------------------


def test_room_on_the_node():
    containers = [{"name": "m", "resources": {"requests": {"cpu": "16"}}}]
    report = explained(
        node("n1"), slice_("n1", [gpu("g0")]), claim("c", request("r")), pod("p", "c", containers=containers)
    )
    assert report.verdict == "doesNotFit"
    reason = "not enough cpu (the pod asks for 16, and 0 of 8 are requested already)"
    assert report.summary == f"Pod ns/p may not use the only node, n1: {reason}."
    assert "by its devices the claim would fit on n1" in told(report).lower()


def test_the_pod_may_run_only_where_there_is_nothing():
    report = explained(
        node("n1", taints=[{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}]),
        node("n2"),
        slice_("n1", [gpu("g0")]),
        claim("c", request("r")),
        pod("p", "c"),
    )
    assert report.summary.startswith(
        "Pod ns/p may only run on n2 (1 other has the node taint node.kubernetes.io/not-ready:NoSchedule), and no GPU "
        "of class gpu.example.com is published on"
    )
    assert "DRA207" in {one.code for one in report.findings}


def test_of_two_pods_that_share_a_claim_one_may_go():
    report = explained(
        node("n1", labels={"zone": "a"}),
        slice_("n1", [gpu("g0")]),
        claim("c", request("r")),
        pod("p", "c", nodeSelector={"zone": "b"}),
        pod("q", "c"),
    )
    assert report.verdict == "fits"


def test_claims_fit_alone_but_not_together():
    objects = [
        node("n1"),
        node("n2"),
        slice_("n1", [gpu("g0")]),
        slice_("n2", [device("x")], driver=NIC),
        claim("c", request("r")),
        claim("d", request("r", NIC)),
        pod("p", "c", "d"),
    ]
    report = explain_pod(question(cluster(*CLASSES, *objects)), "ns", "p")
    assert report.verdict == "doesNotFit"
    assert not report.good
    assert report.summary == (
        "The 2 claims of pod ns/p fit alone (c on n1; d on n2), but not together: no node serves all of them."
    )
    assert "DRA208" in {one.code for one in report.findings}
    alone = explained(*objects)
    assert alone.verdict == "fits"
    assert alone.summary.startswith("Claim ns/c fits by itself, but pod ns/p needs it together with ns/d")


def test_an_allocated_claim_ties_the_others_to_its_node():
    report = explain_pod(
        question(
            cluster(
                *CLASSES,
                node("n1"),
                node("n2"),
                slice_("n1", [gpu("g0")]),
                slice_("n2", [device("x")], driver=NIC),
                claim("c", request("r"), results=[result("r", "n1", "g0")], on="n1"),
                claim("d", request("r", NIC)),
                pod("p", "c", "d"),
            )
        ),
        "ns",
        "p",
    )
    assert report.verdict == "doesNotFit"
    assert [node.pod.eligible for node in report.nodes] == [True, False]
    assert report.nodes[1].pod.reasons == ["claim ns/c is allocated elsewhere"]


def test_a_pod_without_devices():
    report = explain_pod(question(cluster(*CLASSES, node("n1"), pod("p"))), "ns", "p")
    assert report.good
    assert "devices are not what it waits for" in report.summary


# --- life cycle -----------------------------------------------------------------------------------------------------


def test_a_claim_that_is_being_deleted_and_used():
    report = explained(
        node("n1"),
        slice_("n1", [gpu("g0")]),
        claim(
            "c",
            request("r"),
            results=[result("r", "n1", "g0")],
            on="n1",
            reserved=[{"resource": "pods", "name": "p", "uid": "uid-pod-p"}],
            deletionTimestamp=TIME,
            finalizers=["resource.kubernetes.io/delete-protection"],
        ),
        pod("p", "c", on="n1"),
    )
    assert (report.state, report.stage, report.verdict) == ("deleting", "being deleted", "allocated")
    assert "delete-protection keeps it because pod ns/p still uses it" in report.summary


def test_an_allocated_claim_that_nobody_reserved():
    report = explained(
        node("n1"), slice_("n1", [gpu("g0")]), claim("c", request("r"), results=[result("r", "n1", "g0")], on="n1")
    )
    assert (report.state, report.stage) == ("allocated", "allocated, not reserved")
    assert "nobody else can take them" in told(report)


def test_a_device_that_is_gone_from_the_slices():
    report = explained(node("n1"), slice_("n1", [gpu("g0")]), held("c", "n1", "g7"))
    assert "n1/g7 is no longer published" in told(report)


def test_what_could_not_be_read_is_said():
    inventory = cluster(*CLASSES, node("n1"), slice_("n1", [gpu("g0")]), claim("c", request("r")))
    object.__setattr__(inventory.provenance, "unseen", {"Pod": "forbidden"})
    report = explain_claim(question(inventory), "ns", "c")
    assert any("Pod could not be read (forbidden)" in text for text in report.notes)
    assert "DRA309" not in {one.code for one in report.findings}


def test_ages_count_from_the_time_given():
    inventory = cluster(*CLASSES, node("n1"), slice_("n1", [gpu("g0")]), claim("c", request("r")), pod("p", "c"))
    assert explain_claim(question(inventory), "ns", "c").age == "0s"
    later = question(inventory, now="2026-12-01T08:30:00Z")
    assert explain_claim(later, "ns", "c").age == "150m"


def test_one_node_device_by_device():
    report = explained(
        node("n1"),
        slice_("n1", [gpu("g0", root="a"), gpu("g1", root="a"), gpu("g2")]),
        held("h", "n1", "g0"),
        claim("c", request("r"), constraints=[{"matchAttribute": f"{GPU}/root"}]),
        node="n1",
    )
    devices = {one.device: (one.code, one.text) for one in report.nodes[0].devices or []}
    assert devices == {
        f"{GPU}/n1/g0": ("in-use", "is in use by ns/h"),
        f"{GPU}/n1/g1": (None, "would be taken, root a"),
        f"{GPU}/n1/g2": ("constraint-attribute-missing", "has no gpu.example.com/root"),
    }


@pytest.mark.parametrize(
    ("toleration", "text"),
    [
        ({"key": "sick", "operator": "Exists", "effect": "NoSchedule"},
         "the one for sick is for effect NoSchedule, the taint has NoExecute"),
        ({"key": "sick", "operator": "Equal", "value": "2"}, "the one for sick is for value '2', the taint has '1'"),
        ({"key": "sik", "operator": "Exists"}, "one is for sik, the taint is sick"),
        ({"key": "other", "operator": "Exists"}, "one is for other"),
    ],
)
def test_why_a_toleration_does_not_fit(toleration, text):
    taint = {"key": "sick", "value": "1", "effect": "NoExecute"}
    report = explained(
        node("n1"),
        slice_("n1", [device("g0", taints=[taint])]),
        claim("c", request("r", tolerations=[toleration])),
        pod("p", "c"),
    )
    assert f"request r has tolerations, but none that fits: {text}." in told(report)


def test_decimal_amounts_and_exact_ones():
    def asked(expression, amount):
        return explained(
            node("n1"),
            slice_("n1", [device("g0", capacity={"memory": amount})]),
            claim("c", request("r", GPU, expression.replace("M", f"device.capacity['{GPU}'].memory"))),
            pod("p", "c"),
        )

    report = asked("M.compareTo(quantity('80Gi')) >= 0", "80G")
    assert "the only one has 80G (74.5Gi), asked for >= 80Gi" in report.summary
    assert "Ask for less, for example 80G instead of 80Gi: G counts in powers of 1000 and Gi in powers of 1024." in (
        report.actions
    )
    report = asked("M == quantity('80Gi')", "81559Mi")
    assert report.actions == [
        "== compares amounts to the byte; ask for at least so much: compareTo(quantity('79Gi')) >= 0."
    ]


def test_a_selector_that_is_false_and_an_attribute_that_nobody_has():
    for expression, text in (
        ("false", "its selector is false, whatever the device"),
        (f"'x' in device.attributes['{GPU}'] && device.attributes['{GPU}'].x == 1",
         f"none of the 2 GPUs publishes {GPU}/x"),
    ):
        report = explained(
            node("n1"),
            slice_("n1", [device("g0"), device("g1")]),
            claim("c", request("r", GPU, expression)),
            pod("p", "c"),
        )
        assert report.summary == f"No GPU matches request r: {text}."


def test_a_value_in_common_is_not_enough_devices():
    root = {"resource.kubernetes.io/pcieRoot": "pci0"}
    inventory = cluster(
        class_(GPU), class_(NIC), node("n1"), node("n2"),
        slice_("n1", [device("g0", root)]),
        slice_("n1", [device("i0", root), device("i1", {"resource.kubernetes.io/pcieRoot": "pci1"})], driver=NIC),
        claim("c", request("gpu"), request("nic", NIC, count=2),
              constraints=[{"matchAttribute": "resource.kubernetes.io/pcieRoot"}]),
        pod("p", "c"),
    )
    report = explain_claim(question(inventory), "ns", "c").to_json()
    assert report["summary"] == (
        "1 GPU for gpu and 2 NICs for nic are needed with the same PCIe root (resource.kubernetes.io/pcieRoot), and no "
        "value has so many usable ones (the closest: pci0 on n1 has 1 for gpu and 1 for nic); on n2 a request cannot "
        "be served."
    )
    assert [group["reason"] for group in report["groups"]] == [
        "no PCIe root (resource.kubernetes.io/pcieRoot) has enough usable devices for gpu and nic",
        "no GPU of class gpu.example.com for request gpu; no NIC of class nic.example.com for request nic",
    ]


def test_requests_of_all_devices_want_one_value_for_all():
    inventory = cluster(
        class_(GPU), class_(NIC), node("n1"),
        slice_("n1", [device("g0", {"example.com/x": 1}), device("g1", {"example.com/x": 2})]),
        slice_("n1", [device("i0", {"example.com/x": 1})], driver=NIC),
        claim("c", request("gpu", count=None), request("nic", NIC), constraints=[{"matchAttribute": "example.com/x"}]),
        pod("p", "c"),
    )
    report = explain_claim(question(inventory), "ns", "c").to_json()
    assert report["summary"] == (
        "Request gpu asks for all devices that match, and those of nic, which have to have the same example.com/x, and "
        "on n1 they have not: the values there are 1 and 2."
    )
