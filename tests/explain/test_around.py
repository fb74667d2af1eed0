"""What lies around devices: drivers that do not reach a node, holders in trouble, classes beside the point."""

import pytest

from dractl.explain.claim import explain_claim
from dractl.explain.pod import explain_pod

from .builders import (
    GPU,
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


def told(*objects, release="1.36.2", name="c"):
    report = explain_claim(question(cluster(*objects), release), "ns", name)
    return " ".join([report.summary, *report.details, *report.actions, *[fix.text for fix in report.fixes]])


WANTS = [claim("c", request("r")), pod("p", "c")]


def wants(*selectors):
    return [claim("c", request("r", GPU, *selectors)), pod("p", "c")]


# --- drivers that do not reach a node ---


def daemon_set(**spec):
    labels = {"app": "gpu-example-driver"}
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": "gpu-example-driver-kubeletplugin", "namespace": "drivers"},
        "spec": {
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{"name": "plugin", "image": "registry.example/dra-example-driver"}], **spec},
            },
        },
        "status": {"desiredNumberScheduled": 1, "numberReady": 1},
    }


def two_nodes(**second):
    labels = {"example.com/gpu.present": "true"}
    return [
        node("n1", labels=labels),
        node("n2", labels=labels, **second),
        class_(GPU),
        slice_("n1", [device("gpu-0")]),
    ]


def test_a_taint_keeps_the_driver_from_a_node():
    taint = [{"key": "team", "value": "x", "effect": "NoSchedule"}]
    user = pod("p", "c", tolerations=[{"operator": "Exists"}])
    text = told(two_nodes(taints=taint), daemon_set(), held("h", "n1", "gpu-0"), claim("c", request("r")), user)
    assert "n2 carries example.com/gpu.present=true, but no slice of gpu.example.com is published for it" in text
    assert "does not run there (node taint team=x:NoSchedule)" in text


def test_nodes_that_the_driver_could_reach_are_not_blamed():
    text = told(two_nodes(), daemon_set(), held("h", "n1", "gpu-0"), WANTS)
    assert "does not run there" not in text


def test_a_cordoned_node_gets_the_pods_of_daemon_sets():
    text = told(two_nodes(cordon=True), daemon_set(), held("h", "n1", "gpu-0"), WANTS)
    assert "does not run there" not in text


def test_slices_without_devices():
    text = told(node("n1"), class_(GPU), slice_("n1", []), WANTS)
    assert "publishes slice n1-gpu.example.com-1 for n1 without any device: it runs, but finds no hardware" in text


def test_slices_for_nodes_that_lost_their_label():
    selector = {"nodeSelectorTerms": [{"matchExpressions": [{"key": "rack", "operator": "In", "values": ["7"]}]}]}
    pool = slice_("rack-7", [device("gpu-0")], nodeSelector=selector)
    assert "Pool rack-7: no node has a label rack" in told(node("n1"), class_(GPU), pool, WANTS)
    there = told(node("n1", labels={"rack": "8"}), class_(GPU), pool, WANTS)
    assert "Pool rack-7: no node has rack=7, there is 8" in there


# --- holders ---


def replica(name, replica_set, on=None):
    body = pod(name, f"c-{name}", on=on)
    body["metadata"]["ownerReferences"] = [{"kind": "ReplicaSet", "name": replica_set, "controller": True}]
    return body


@pytest.mark.parametrize(("other", "is_update"), [("web-7c9b", True), ("web-6d5f", False), ("api-7c9b", False)])
def test_a_rolling_update_that_waits_for_itself(other, is_update):
    reserved = [{"resource": "pods", "name": "old", "uid": "uid-pod-old"}]
    text = told(
        node("n1"),
        class_(GPU),
        slice_("n1", [device("gpu-0")]),
        claim("c-old", request("r"), results=[result("r", "n1", "gpu-0")], on="n1", reserved=reserved),
        replica("old", "web-6d5f", on="n1"),
        claim("c-new", request("r")),
        replica("new", other),
        name="c-new",
    )
    assert ("in a rolling update (both are of Deployment web)" in text) is is_update


def test_a_holder_that_does_not_start():
    claims = held("h", "n1", "gpu-0")
    claims[1]["status"] = {
        "phase": "Pending",
        "containerStatuses": [{"name": "m", "state": {"waiting": {"reason": "ImagePullBackOff"}}}],
    }
    text = told(node("n1"), class_(GPU), slice_("n1", [device("gpu-0")]), claims, WANTS)
    assert "Pod ns/h holds n1/gpu-0 on n1, but its containers have not started: ImagePullBackOff" in text


def test_a_holder_that_cannot_end():
    claims = held("h", "n1", "gpu-0")
    claims[1]["metadata"]["deletionTimestamp"] = "2026-11-30T12:00:00Z"
    lost = node("n1", taints=[{"key": "node.kubernetes.io/unreachable", "effect": "NoSchedule"}])
    lost["status"]["conditions"] = [{"type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown"}]
    text = told(lost, class_(GPU), slice_("n1", [device("gpu-0")]), claims, WANTS)
    assert "no kubelet says that the pod has ended, so the devices stay held" in text
    assert "node.kubernetes.io/out-of-service" in text


@pytest.mark.parametrize(("release", "off"), [("1.35.4", True), ("1.36.2", False)])
def test_devices_made_to_be_shared_where_sharing_is_off(release, off):
    driver = "dra.cpu"
    text = told(
        node("n1"), class_(driver), slice_("n1", [device("cpudevnuma000")], driver=driver),
        held("h", "n1", "cpudevnuma000", driver, driver), claim("c", request("r", driver)), pod("p", "c"),
        release=release,
    )  # fmt: skip
    assert ("DRAConsumableCapacity, off by default in 1.35" in text) is off


# --- classes and selectors ---


def test_another_class_would_do():
    wrong = class_("gpu.big", f"device.driver == '{GPU}' && device.attributes['{GPU}'].kind == 'big'")
    cut = slice_("n1", [device("gpu-0", {"kind": "small"})])
    text = told(node("n1"), wrong, class_(GPU), cut, claim("c", request("r", "gpu.big")), pod("p", "c"))
    assert "Class gpu.example.com selects 1 device of them; with it the claim would fit on n1" in text


def test_a_class_that_does_not_ask_for_the_driver():
    blunt = class_("fast", f"device.attributes['{GPU}'].model == 'a'")
    text = told(
        node("n1"),
        blunt,
        slice_("n1", [device("nic-0")], driver="a.example.com"),
        slice_("n1", [device("gpu-0", {"model": "a"})]),
        claim("c", request("r", "fast")),
        pod("p", "c"),
    )
    assert f"The selector is about devices of {GPU}, but does not ask for the driver" in text
    assert f"Put device.driver == '{GPU}' && in front of the expression of the class" in text
    assert "Guard the selector" not in text


def test_the_right_name_under_the_wrong_domain():
    text = told(
        node("n1"),
        class_(GPU),
        slice_("n1", [device("gpu-0", {"model": "a"})]),
        wants("device.attributes['example.com'].model == 'a'"),
    )
    assert f"Write device.attributes['{GPU}'].model in the selector" in text
    assert f"in request r write {GPU}/model instead of example.com/model" in text
    assert "Guard the selector" not in text


@pytest.mark.parametrize(
    ("value", "selector", "said"),
    [
        (3, "== '3'", "== 3, without quotes: it is published as an int, which no text equals"),
        (True, "== 'true'", "== true, without quotes: it is published as a bool, which no text equals"),
        ("3", "== 3", "== '3', with quotes: it is published as a text, which no number equals"),
        (3, "in ['3', '4']", "in [3, 4], without quotes: it is published as an int, which no text equals"),
        (("version", "1.2.3"), "== '1.2.3'", ".compareTo(semver('1.2.3')) == 0"),
        (3, "> '2'", "is published as an int (3), and"),
    ],
)
def test_values_of_another_type(value, selector, said):
    text = told(
        node("n1"),
        class_(GPU),
        slice_("n1", [device("gpu-0", {"x": value})]),
        wants(f"device.attributes['{GPU}'].x {selector}"),
    )
    assert said in text
    assert "as published: '" not in text


def test_terms_about_several_values_show_what_is_there():
    place = f"device.attributes['{GPU}']"
    text = told(
        node("n1"),
        class_(GPU),
        slice_("n1", [device("gpu-0", {"x": "c"})]),
        wants(f"{place}.x == 'a' || {place}.x == 'b'"),
    )
    assert f"is not true of the only one ({GPU}/x is c)" in text
    assert "None" not in text


def test_a_device_for_nodes_by_two_terms():
    terms = [{"matchExpressions": [{"key": "rack", "operator": "In", "values": [one]}]} for one in ("a", "b")]
    pool = slice_("fabric", [device("f0", nodeSelector={"nodeSelectorTerms": terms})], perDeviceNodeSelection=True)
    text = told(node("n1", labels={"rack": "a"}), class_(GPU), pool, WANTS)
    assert "the nodeSelector of fabric/f0 has 2 terms, and it takes exactly one" in text
    assert f"Driver {GPU} has to publish one term" in text


def test_values_that_repeat_although_they_should_differ():
    devices = [device(f"gpu-{index}", {"root": "ab"[index % 2]}) for index in range(4)]
    spread = claim("c", request("r", count=4), constraints=[{"distinctAttribute": f"{GPU}/root"}])
    told_of = told(node("n1"), class_(GPU), slice_("n1", devices), spread, pod("p", "c"))
    assert f"{GPU}/root would not differ, although the claim asks for that: gpu-0 and gpu-2 have a" in told_of
    two = claim("c", request("r", count=2), constraints=[{"distinctAttribute": f"{GPU}/root"}])
    assert "would not differ" not in told(node("n1"), class_(GPU), slice_("n1", devices), two, pod("p", "c"))


# --- the pod's side ---


def test_no_room_on_the_node():
    big = pod("big", on="n1", containers=[{"name": "m", "resources": {"requests": {"cpu": "7"}}}])
    asking = pod("p", "c", containers=[{"name": "m", "resources": {"requests": {"cpu": "2"}}}])
    text = told(node("n1"), class_(GPU), slice_("n1", [device("gpu-0")]), big, claim("c", request("r")), asking)
    assert "Make room for cpu on n1" in text


def test_taints_named_like_an_extended_resource():
    tainted = node("n1", taints=[{"key": "example.com/gpu", "effect": "NoSchedule"}])
    text = told(tainted, node("n2"), class_(GPU), slice_("n1", [device("gpu-0")]), WANTS)
    assert "admission plugin ExtendedResourceToleration, a pod with claims is not" in text


def test_a_scheduler_that_says_nothing():
    text = told(
        node("n1"),
        class_(GPU),
        slice_("n1", [device("gpu-0")]),
        claim("c", request("r")),
        pod("p", "c", schedulerName="batch"),
    )
    assert "asks for scheduler batch, not for the default one, and nothing in its status says" in text
    assert "See that scheduler batch runs and knows claims" in text


def test_a_rule_that_taints_everything():
    rule = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceTaintRule",
        "metadata": {"name": "all"},
        "spec": {"deviceSelector": {}, "taint": {"key": "k", "effect": "NoExecute"}},
    }
    text = told(
        node("n1"), class_(GPU), slice_("n1", [device("gpu-0"), device("gpu-1")]), rule, WANTS, release="1.37.2"
    )
    assert "n1/gpu-0 and gpu-1 are tainted k:NoExecute (DeviceTaintRule all)" in text
    assert "deviceSelector of DeviceTaintRule all is empty, so the rule is for every device" in text


@pytest.mark.parametrize(("release", "fits"), [("1.35.4", False), ("1.36.2", True)])
def test_extended_resources_by_release(release, fits):
    serving = class_(GPU)
    serving["spec"]["extendedResourceName"] = "example.com/gpu"
    asking = pod("p", containers=[{"name": "m", "resources": {"requests": {"example.com/gpu": "1"}}}])
    inventory = cluster(node("n1"), serving, slice_("n1", [device("gpu-0")]), asking)
    report = explain_pod(question(inventory, release), "ns", "p")
    assert report.verdict == ("fits" if fits else "doesNotFit")
    assert ("DRAExtendedResource is off by default in 1.35" in report.summary) is not fits


def test_a_device_plugin_serves_where_it_advertises():
    """kube-scheduler makes no claim for a node that advertises the resource: there only its room counts."""
    serving = class_(GPU)
    serving["spec"]["extendedResourceName"] = "example.com/gpu"

    def asking(amount):
        return pod("p", containers=[{"name": "m", "resources": {"requests": {"example.com/gpu": amount}}}])

    def verdicts(amount):
        old = node("old")
        old["status"]["allocatable"] = {"example.com/gpu": "4"}
        inventory = cluster(node("n1"), old, serving, slice_("n1", [device("gpu-0")]), asking(amount))
        report = explain_pod(question(inventory, "1.36.2"), "ns", "p")
        return report, {view.name: (view.allocator.verdict, view.pod.eligible) for view in report.nodes}

    assert verdicts("1")[0].verdict == "fits"
    assert verdicts("1")[1] == {"n1": ("fits", True), "old": ("fits", True)}
    enough = verdicts("3")[0]
    assert enough.verdict == "fits"
    assert "enough left on old, so the pod fits there, without a claim" in " ".join([enough.summary, *enough.details])
    too_much, nodes = verdicts("5")
    assert too_much.verdict == "doesNotFit"
    assert nodes == {"n1": ("doesNotFit", True), "old": ("fits", False)}


def test_extended_resources_are_allocated_together_with_claims():
    serving = class_(GPU)
    serving["spec"]["extendedResourceName"] = "example.com/gpu"
    resources = {"requests": {"example.com/gpu": "1"}, "claims": [{"name": "c"}]}

    def verdict(devices):
        asking = pod("p", "c", containers=[{"name": "m", "resources": resources}])
        inventory = cluster(node("n1"), serving, slice_("n1", [device(name) for name in devices]), WANTS, asking)
        return explain_pod(question(inventory, "1.36.2"), "ns", "p")

    assert verdict(["gpu-0", "gpu-1"]).verdict == "fits"
    refused = verdict(["gpu-0"])
    assert refused.verdict == "doesNotFit"
    assert any("also asks for example.com/gpu: 1" in note for note in refused.notes)


def test_the_requests_that_are_made_for_extended_resources():
    """Names, order and amounts as kube-scheduler makes them, with init containers and sidecars."""
    serving = class_(GPU)
    serving["spec"]["extendedResourceName"] = "example.com/gpu"

    def made(*containers, init=()):
        def body(name, amount, **more):
            return {"name": name, "resources": {"requests": {"cpu": "1", "example.com/gpu": str(amount)}}, **more}

        asking = pod("p", containers=[body(f"m{place}", amount) for place, amount in enumerate(containers)])
        asking["spec"]["initContainers"] = [
            body(f"i{place}", amount, **({"restartPolicy": "Always"} if stays else {}))
            for place, (amount, stays) in enumerate(init)
        ]
        devices = [device(f"gpu-{place}") for place in range(16)]
        inventory = cluster(node("n1"), serving, slice_("n1", devices), asking)
        report = explain_pod(question(inventory, "1.36.2"), "ns", "p")
        counts = {}
        for given in report.nodes[0].allocator.results:
            counts[given.request] = counts.get(given.request, 0) + 1
        return list(counts.items())

    assert made(2) == [("container-0-request-1", 2)]
    assert made(1, 2) == [("container-0-request-1", 1), ("container-1-request-1", 2)]
    # an init container uses what the others have, and asks for the rest
    assert made(2, init=[(2, False)]) == [("container-1-request-1", 2)]
    assert made(2, init=[(3, False), (5, False)]) == [("container-1-request-1", 3), ("container-2-request-1", 2)]
    # a sidecar stays; those before it can use its devices before it does
    assert made(1, init=[(1, True), (2, False)]) == [
        ("container-0-request-1", 1), ("container-1-request-1", 1), ("container-2-request-1", 1),
    ]  # fmt: skip
