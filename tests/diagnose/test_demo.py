"""The recorded fleet: every planted fault is found, and nothing else."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

EXPECTED = {
    # what is missing or asked for in vain
    ("DRA201", "gpu.amd.com"),
    ("DRA301", "missing-template"),
    ("DRA302", "missing-claim"),
    ("DRA230", "pair-on-h100-1"),
    ("DRA230", "all-nics-cpu"),
    ("DRA230", "needs-141g"),
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


_MADE: dict[str, dict] = {}


@pytest.fixture
def report(dractl):
    if not _MADE:
        result = dractl("diagnose", "--demo", "-o", "json")
        assert result.code == 1, result.err
        _MADE["demo"] = json.loads(result.out)
    return _MADE["demo"]


def test_all_planted_faults_and_nothing_else(report):
    assert {(item["code"], item["subject"]["name"]) for item in report["findings"]} == EXPECTED
    assert report["summary"] == {"error": 13, "warning": 5, "info": 6}


def test_what_was_not_looked_at_is_not_called_passed(report):
    skipped = {item["code"]: item["reason"] for item in report["checks"] if item["outcome"] == "skipped"}
    assert skipped == dict.fromkeys(("DRA701", "DRA702", "DRA703", "DRA705"), "the input holds no ClusterRole")
    assert not [item for item in report["checks"] if item["outcome"] == "failed"]


def test_the_report_has_its_published_form(report):
    import jsonschema

    schema = json.loads((Path(__file__).parents[2] / "schemas" / "Diagnosis.json").read_text())
    jsonschema.validate(report, schema)
    assert report["findings"] and report["checks"]


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


def test_a_choice_that_leaves_no_check_is_refused(dractl):
    run = dractl("diagnose", "--demo", "--select", "DRA230", "--ignore", "DRA2")
    assert run.code == 2 and "--select DRA230 and --ignore DRA2 leave no check to be made" in run.err
    run = dractl("diagnose", "health", "--demo", "--select", "DRA230")
    assert run.code == 2 and "no check of health" in run.err


def test_a_class_that_is_missing_is_told_once_with_all_who_wait(report):
    (found,) = [item for item in report["findings"] if "gpu.amd.com" in item["message"]]
    assert found["code"] == "DRA201"
    assert {(ref["kind"], ref["name"]) for ref in found["related"]} == {
        ("ResourceClaim", "no-such-class"),
        ("Pod", "no-such-class"),
    }
    assert "1 pod waits for it: research/no-such-class" in found["message"]


def test_hardware_that_is_lost_comes_before_claims_that_wait(report):
    assert report["findings"][0]["code"] == "DRA401"


@pytest.mark.parametrize("width", ["40", "80", "100", "200"])
def test_names_and_commands_are_never_broken(dractl, report, width):
    text = dractl("diagnose", "--demo", env={"COLUMNS": width}).out
    for item in report["findings"]:
        namespace = item["subject"].get("namespace")
        name = f"{namespace}/{item['subject']['name']}" if namespace else item["subject"]["name"]
        assert f"{item['code']} {item['subject']['kind']} {name}:" in text
        if item["code"] == "DRA230":
            command = f"dractl explain claim {item['subject']['name']} -n {namespace}"
            assert any(line.strip().endswith(command) for line in text.splitlines())
    assert "kubectl delete resourceclaim serve-5-c0-4kkzd -n infer" in text
    assert "'NVIDIA A100-SXM4-40GB'" in text
    if width != "40":
        body = text.partition("errors (")[2].partition("note:")[0]
        assert max(map(len, body.splitlines())) <= min(int(width), 120)


def test_claims_of_one_form_are_told_together():
    """Ten replicas that wait for the same reason are one finding, with all of their names."""
    from explain.builders import claim, class_, device, node, pod, question, request, slice_

    from diagnose.test_checks import cluster
    from dractl.diagnose.run import diagnose

    objects = [node("n1"), slice_("n1", [device("gpu-0")]), class_("gpu.example.com")]
    for index in range(10):
        objects += [claim(f"c{index}", request("r", count=2)), pod(f"p{index}", f"c{index}")]
    objects += [claim("other", request("r", count=3)), pod("other", "other")]
    found = [item for item in diagnose(question(cluster(*objects))).findings if item.code == "DRA230"]
    assert [(item.subject.name, len(item.evidence.get("claims", []))) for item in found] == [("c0", 10), ("other", 0)]
    assert "9 more claims like it wait too: ns/c1, ns/c2 and 7 more" in found[0].message
