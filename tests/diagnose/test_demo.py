"""The recorded fleet: every planted fault is found, and nothing else."""

from __future__ import annotations

import json

import pytest

EXPECTED = {
    # what is missing or asked for in vain
    ("DRA201", "gpu.amd.com"),
    ("DRA301", "missing-template"),
    ("DRA302", "missing-claim"),
    ("DRA230", "pair-on-h100-1"),
    ("DRA230", "all-nics-cpu"),
    ("DRA230", "needs-141g"),
    ("DRA230", "no-such-class"),
    ("DRA230", "numa-match"),
    ("DRA230", "sixteen"),
    ("DRA230", "typo-product"),
    ("DRA230", "wants-l40s-zone-c"),
    ("DRA230", "wrong-attribute"),
    ("DRA230", "xid-gpu-only"),
    # the pool of which half never arrived, the slice of the node that is gone
    ("DRA401", "gpu.nvidia.com/h100-3"),
    ("DRA404", "h100-gone-gpu.nvidia.com-a"),
    # device plugin beside the driver, the reservation of a pod that is gone, the pod that does not end
    ("DRA237", "l40s-0"),
    ("DRA306", "serve-5-c0-4kkzd"),
    ("DRA316", "train-9"),
    # the claim that nobody uses, the GPU with an Xid
    ("DRA309", "nobody-uses-me"),
    ("DRA420", "gpu.nvidia.com/h100-2/gpu-5"),
    # the rule for maintenance, and that this scheduler does not see it
    ("DRA421", "maintenance-h100-4-nics"),
    ("DRA801", "maintenance-h100-4-nics"),
    # NICs under other roots; names that can never match
    ("DRA510", "h100-1"),
    ("DRA513", "dra.net"),
    ("DRA704", "monitoring"),
}


@pytest.fixture
def report(dractl):
    result = dractl("diagnose", "--demo", "-o", "json")
    assert result.code == 1, result.err
    return json.loads(result.out)


def test_all_planted_faults_and_nothing_else(report):
    assert {(item["code"], item["subject"]["name"]) for item in report["findings"]} == EXPECTED
    assert report["summary"] == {"error": 14, "warning": 5, "info": 6}


def test_what_was_not_looked_at_is_not_called_passed(report):
    skipped = {item["code"]: item["reason"] for item in report["checks"] if item["outcome"] == "skipped"}
    assert skipped == dict.fromkeys(("DRA701", "DRA702", "DRA703", "DRA705"), "the input holds no ClusterRole")
    assert not [item for item in report["checks"] if item["outcome"] == "failed"]


def test_facts_in_the_sentences(report):
    said = {(item["code"], item["subject"]["name"]): item["message"] for item in report["findings"]}
    pool = said["DRA401", "gpu.nvidia.com/h100-3"]
    assert "1 slice of generation 3" in pool
    assert "resourceSliceCount is 2" in pool
    twice = said["DRA237", "l40s-0"]
    assert "nvidia.com/gpu (4 allocatable)" in twice
    assert "infer/serve-0-c0-98j72 (gpu-0)" in twice
    assert "reserved only for serve-5" in said["DRA306", "serve-5-c0-4kkzd"]
    assert "pci0000:e0" in said["DRA510", "h100-1"]


def test_categories_codes_and_thresholds(dractl):
    only = json.loads(dractl("diagnose", "publication", "--demo", "-o", "json").out)
    assert {item["category"] for item in only["checks"]} == {"publication"}
    assert dractl("diagnose", "health", "--demo").code == 0
    assert dractl("diagnose", "health", "--demo", "--fail-on", "warning").code == 1
    chosen = json.loads(dractl("diagnose", "--demo", "--select", "DRA4", "--ignore", "DRA42", "-o", "json").out)
    assert {item["code"] for item in chosen["findings"]} == {"DRA401", "DRA404"}
    assert dractl("diagnose", "nonsense", "--demo").code == 2
    assert dractl("diagnose", "--demo", "--select", "DRA999").code == 2


def test_machine_formats(dractl):
    sarif = json.loads(dractl("diagnose", "--demo", "-o", "sarif").out)
    results = sarif["runs"][0]["results"]
    rules = sarif["runs"][0]["tool"]["driver"]["rules"]
    assert len(results) == len(EXPECTED)
    assert all(rules[item["ruleIndex"]]["id"] == item["ruleId"] for item in results)
    import xml.etree.ElementTree as ET

    suite = ET.fromstring(dractl("diagnose", "--demo", "-o", "junit").out)[0]
    failed = {case.get("name", "")[:6] for case in suite if case.find("failure") is not None}
    assert failed == {"DRA201", "DRA230", "DRA301", "DRA302", "DRA401"}
    assert suite.get("skipped") == "4"
