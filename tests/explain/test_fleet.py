"""The recorded fleet: verdicts and allocations as Kubernetes' own code gave them, and the sentence for each claim."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path

import pytest

from dractl.allocator.profile import Profile
from dractl.explain.claim import Question, explain_claim
from dractl.explain.pod import explain_pod
from dractl.inventory import Release
from dractl.sources.snapshot import read_demo

HERE = Path(__file__).parent
GOLDEN = HERE.parent / "golden" / "explain"
EXPECTED = json.loads(gzip.decompress((HERE / "fleet.expected.json.gz").read_bytes()))
PENDING = sorted(EXPECTED["deviceTaintRulesIgnored"])


@pytest.fixture(scope="module")
def fleet():
    return read_demo()


def _question(fleet, release: str = "1.36.2", gates: dict[str, bool] | None = None) -> Question:
    return Question(fleet, Release("1.36", release, "given"), Profile.for_release(release, gates))


def _compare(report: dict, expected: dict) -> None:
    nodes = {node["name"]: node["allocator"] for node in report["nodes"]}
    assert set(nodes) == set(expected)
    for name, want in expected.items():
        got = nodes[name]
        if want is None:
            assert (got["verdict"], got["results"], got["error"]) == ("doesNotFit", None, None), name
        elif isinstance(want, dict):
            assert (got["verdict"], got["results"], got["error"]) == ("error", None, want["error"]), name
        else:
            assert got["verdict"] == "fits", name
            keys = ("request", "driver", "pool", "device")
            wanted = [tuple(one[key] for key in keys) for one in want[0]["devices"]["results"]]
            assert [tuple(one[key] for key in keys) for one in got["results"]] == wanted, name


@pytest.mark.parametrize("name", PENDING)
def test_verdicts_and_allocations_are_those_of_kubernetes(fleet, name):
    namespace, claim = name.split("/")
    _compare(explain_claim(_question(fleet), namespace, claim).to_json(), EXPECTED["deviceTaintRulesIgnored"][name])


@pytest.mark.parametrize("name", PENDING)
def test_with_device_taint_rules_in_force(fleet, name):
    namespace, claim = name.split("/")
    question = _question(fleet, "1.36.3", {"DRADeviceTaintRules": True})
    _compare(explain_claim(question, namespace, claim).to_json(), EXPECTED["deviceTaintRulesApplied"][name])


def test_every_pending_claim_is_among_them(fleet):
    pending = {str(key) for key, claim in fleet.claims.items() if claim.allocation is None}
    assert pending == set(PENDING)


VERDICTS = {
    "ml/pair-on-h100-1": "doesNotFit",
    "research/all-nics-cpu": "error",
    "research/needs-141g": "doesNotFit",
    "research/no-such-class": "error",
    "research/nobody-uses-me": "fits",
    "research/numa-match": "doesNotFit",
    "research/sixteen": "doesNotFit",
    "research/typo-product": "doesNotFit",
    "research/wants-l40s-zone-c": "doesNotFit",
    "research/wrong-attribute": "error",
    "research/xid-gpu-only": "doesNotFit",
}


@pytest.mark.parametrize("name", PENDING)
def test_verdict_for_the_pod(fleet, name):
    namespace, claim = name.split("/")
    assert explain_claim(_question(fleet), namespace, claim).verdict == VERDICTS[name]


def test_an_ignored_taint_rule_is_told_where_it_matters(fleet):
    def codes(name: str, **more) -> set[str]:
        return {one.code for one in explain_claim(_question(fleet, **more), "ml", name).findings}

    assert "DRA801" in codes("pair-on-h100-1")
    assert "DRA801" not in codes("pair-on-h100-1", release="1.36.3", gates={"DRADeviceTaintRules": True})
    assert "DRA801" not in {one.code for one in explain_claim(_question(fleet), "research", "typo-product").findings}


GOLDENS = [
    ("claim", "research", "typo-product"),
    ("claim", "research", "wrong-attribute"),
    ("claim", "research", "numa-match"),
    ("claim", "ml", "pair-on-h100-1"),
    ("claim", "research", "xid-gpu-only"),
    ("claim", "research", "all-nics-cpu"),
    ("claim", "research", "sixteen"),
    ("claim", "research", "needs-141g"),
    ("claim", "research", "no-such-class"),
    ("claim", "research", "wants-l40s-zone-c"),
    ("pod", "research", "missing-template"),
    ("pod", "research", "missing-claim"),
]


@pytest.mark.parametrize(("kind", "namespace", "name"), GOLDENS, ids=lambda value: value)
def test_golden(dractl, kind, namespace, name):
    """Read by a person when they change; ``UPDATE_GOLDEN=1 pytest`` writes them anew."""
    run = dractl("explain", kind, name, "-n", namespace, "--demo", "--kubernetes", "1.36.2")
    assert (run.code, run.err) == (1, "")
    path = GOLDEN / f"{name}.txt"
    if os.environ.get("UPDATE_GOLDEN") and not os.environ.get("CI"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(run.out, encoding="utf-8")
    assert run.out == path.read_text(encoding="utf-8")


def test_nodes_that_pods_may_not_use_are_told_apart_where_no_pod_is_known(fleet):
    report = explain_claim(_question(fleet), "research", "nobody-uses-me").to_json()
    fitting = [node["name"] for node in report["nodes"] if node["allocator"]["verdict"] == "fits"]
    assert len(fitting) == 10
    assert "h100-4 and 2 more (" in report["summary"]  # 6 are named
    assert "besides on h100-5 (cordoned) and l40s-1 (node taint dedicated=inference:NoSchedule)" in report["summary"]
    assert [group["nodes"] for group in report["groups"] if group["verdict"] == "fits"] == [8, 1, 1]


def test_pod_of_a_single_claim_says_what_the_claim_says(fleet):
    claim = explain_claim(_question(fleet), "research", "sixteen")
    pod = explain_pod(_question(fleet), "research", "sixteen")
    assert pod.summary == claim.summary
    assert pod.verdict == claim.verdict


@pytest.mark.parametrize("name", [str(key) for key, claim in read_demo().claims.items() if claim.allocation])
def test_allocated_claims_say_where_they_are(fleet, name):
    namespace, claim = name.split("/")
    report = explain_claim(_question(fleet), namespace, claim)
    assert report.verdict == "allocated"
    assert report.state in ("allocated", "reserved")
    assert report.summary.startswith(f"Claim {name} is allocated")
    assert report.allocation is not None
    assert report.nodes == []
