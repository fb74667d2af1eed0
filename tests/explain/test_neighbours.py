"""Required pod affinity and anti-affinity, as kube-scheduler's filter InterPodAffinity judges them."""

import pytest

from dractl.explain.neighbours import Neighbours, selects
from dractl.inventory import Key

from .builders import cluster, node, pod

HOST, ZONE = "kubernetes.io/hostname", "zone"


def term(selector, key=HOST, **more):
    return {"requiredDuringSchedulingIgnoredDuringExecution": [{"labelSelector": selector, "topologyKey": key, **more}]}


def labelled(body, **labels):
    body["metadata"]["labels"] = labels
    return body


def kept_from(asking, *placed, namespaces=()):
    nodes = [node("n1", labels={ZONE: "a"}), node("n2", labels={ZONE: "a"}), node("n3", labels={ZONE: "b"})]
    inventory = cluster(nodes, asking, list(placed), list(namespaces))
    neighbours = Neighbours.of(inventory)
    mine = inventory.pods[Key("ns", asking["metadata"]["name"])]
    return {name for name, one in inventory.nodes.items() if neighbours.reasons(mine, one)}


WEB = {"matchLabels": {"app": "web"}}


@pytest.mark.parametrize(
    ("affinity", "away"),
    [
        ({"podAntiAffinity": term(WEB)}, {"n1"}),
        ({"podAntiAffinity": term(WEB, ZONE)}, {"n1", "n2"}),
        ({"podAntiAffinity": term(WEB, "no-such-label")}, set()),
        ({"podAntiAffinity": term(WEB, namespaces=["other"])}, set()),
        ({"podAntiAffinity": term(WEB, namespaceSelector={})}, {"n1"}),
        ({"podAntiAffinity": term({})}, {"n1"}),
        ({"podAntiAffinity": term(None)}, set()),
        ({"podAffinity": term(WEB)}, {"n2", "n3"}),
        ({"podAffinity": term(WEB, ZONE)}, {"n3"}),
        ({"podAffinity": term({"matchLabels": {"app": "db"}})}, {"n1", "n2", "n3"}),
    ],
)
def test_a_pod_among_others(affinity, away):
    placed = labelled(pod("w", on="n1"), app="web")
    assert kept_from(pod("p", affinity=affinity), placed) == away


def test_the_first_of_a_group_may_go_anywhere():
    asking = labelled(pod("p", affinity={"podAffinity": term(WEB)}), app="web")
    assert kept_from(asking) == set()


def test_anti_affinity_of_placed_pods_keeps_others_away():
    placed = pod("w", on="n1", affinity={"podAntiAffinity": term(WEB, ZONE)})
    assert kept_from(labelled(pod("p"), app="web"), placed) == {"n1", "n2"}
    assert kept_from(labelled(pod("p"), app="db"), placed) == set()


def test_finished_pods_do_not_count():
    placed = labelled(pod("w", on="n1"), app="web")
    placed["status"]["phase"] = "Succeeded"
    assert kept_from(pod("p", affinity={"podAntiAffinity": term(WEB)}), placed) == set()


@pytest.mark.parametrize(
    ("operator", "values", "labels", "fits"),
    [
        ("In", ["a"], {"k": "a"}, True),
        ("In", ["a"], {}, False),
        ("NotIn", ["a"], {}, True),
        ("NotIn", ["a"], {"k": "a"}, False),
        ("Exists", [], {"k": ""}, True),
        ("DoesNotExist", [], {"k": ""}, False),
    ],
)
def test_label_selectors(operator, values, labels, fits):
    assert selects({"matchExpressions": [{"key": "k", "operator": operator, "values": values}]}, labels) is fits
