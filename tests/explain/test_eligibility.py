"""Which nodes a pod may use: the rules of kube-scheduler's own filters."""

from __future__ import annotations

import pytest

from dractl.explain.eligibility import pod_on_node, requested, unjudged, used_on_nodes
from dractl.kube.decode import decode
from explain.builders import node, pod

TAINT = {"key": "k", "value": "v", "effect": "NoSchedule"}


def _reasons(pod_body, node_body, used=None):
    verdict = pod_on_node(decode(pod_body), decode(node_body), used)
    assert verdict.eligible == (not verdict.reasons)
    return [reason.text for reason in verdict.reasons]


@pytest.mark.parametrize(
    ("toleration", "fits"),
    [
        ({"key": "k", "operator": "Exists"}, True),
        ({"operator": "Exists"}, True),
        ({"key": "k", "value": "v"}, True),
        ({"key": "k", "operator": "Equal", "value": "w"}, False),
        ({"key": "k", "operator": "Exists", "effect": "NoExecute"}, False),
        ({"key": "other", "operator": "Exists"}, False),
    ],
)
def test_taints_and_tolerations(toleration, fits):
    texts = _reasons(pod("p", tolerations=[toleration]), node("n", taints=[TAINT]))
    assert texts == ([] if fits else ["node taint k=v:NoSchedule"])


def test_a_taint_that_only_prefers_is_no_obstacle():
    assert _reasons(pod("p"), node("n", taints=[{**TAINT, "effect": "PreferNoSchedule"}])) == []


def test_cordon_is_told_once_and_can_be_tolerated():
    taint = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
    assert _reasons(pod("p"), node("n", cordon=True, taints=[taint])) == ["cordoned"]
    tolerating = pod("p", tolerations=[{"key": taint["key"], "operator": "Exists"}])
    assert _reasons(tolerating, node("n", cordon=True, taints=[taint])) == []


def test_node_selector_names_what_the_node_has():
    wanting = pod("p", nodeSelector={"zone": "a"})
    assert _reasons(wanting, node("n", labels={"zone": "b"})) == ["nodeSelector zone=a, the node has zone=b"]
    assert _reasons(wanting, node("n")) == ["nodeSelector zone=a, the node has no label zone"]
    assert _reasons(wanting, node("n", labels={"zone": "a"})) == []


@pytest.mark.parametrize(
    ("expression", "fits"),
    [
        ({"key": "gen", "operator": "Gt", "values": ["5"]}, True),
        ({"key": "gen", "operator": "Lt", "values": ["5"]}, False),
        ({"key": "gen", "operator": "NotIn", "values": ["7"]}, False),
        ({"key": "none", "operator": "DoesNotExist"}, True),
        ({"key": "gen", "operator": "Exists"}, True),
    ],
)
def test_required_node_affinity(expression, fits):
    terms = [{"matchExpressions": [expression]}]
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}
    texts = _reasons(pod("p", affinity=affinity), node("n", labels={"gen": "7"}))
    assert (texts == []) == fits
    if not fits:
        assert texts[0].startswith("required node affinity gen ")


def test_another_node_is_named_in_the_spec():
    assert _reasons(pod("p", on="other"), node("n")) == ["the pod is on other"]


def test_room_counts_what_placed_pods_request():
    def asking(name, cpu, **more):
        return pod(name, containers=[{"name": "m", "resources": {"requests": {"cpu": cpu}}}], **more)

    used = used_on_nodes([decode(asking("a", "5", on="n")), decode(asking("b", "2", on="m"))])
    assert _reasons(asking("p", "3"), node("n"), used["n"]) == []
    assert _reasons(asking("p", "4"), node("n"), used["n"]) == [
        "not enough cpu (the pod asks for 4, and 5 of 8 are requested already)"
    ]


def test_init_containers_count_by_their_peak_and_sidecars_always():
    def container(name, cpu, **more):
        return {"name": name, "resources": {"requests": {"cpu": cpu}}, **more}

    body = pod("p", containers=[container("main", "1")])
    body["spec"]["initContainers"] = [container("side", "2", restartPolicy="Always"), container("setup", "4")]
    assert str(requested(decode(body))["cpu"]) == "6"


def test_what_is_not_judged_is_said():
    anti = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "zone"}]}}
    spread = [{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}]
    assert unjudged(decode(pod("p", affinity=anti, topologySpreadConstraints=spread))) == ["topology spread"]
    assert unjudged(decode(pod("p"))) == []
