"""``dractl explain`` on the command line: exit codes, formats, what is said of things that are not there."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

SCHEMAS = Path(__file__).parent.parent.parent / "schemas"


def test_formats(dractl):
    run = dractl("explain", "claim", "sixteen", "-n", "research", "--demo", "-o", "json")
    report = json.loads(run.out)
    assert (run.code, report["kind"], report["apiVersion"]) == (1, "ClaimExplanation", "dractl.dev/v1alpha1")
    yaml = dractl("explain", "claim", "sixteen", "-n", "research", "--demo", "-o", "yaml")
    assert yaml.out.startswith("apiVersion: dractl.dev/v1alpha1\nkind: ClaimExplanation\n")
    wide = dractl("explain", "claim", "sixteen", "-n", "research", "--demo", "-o", "wide")
    assert "19 in-use" in wide.out
    assert "19 in-use" not in dractl("explain", "claim", "sixteen", "-n", "research", "--demo").out


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("claim", "nobody-uses-me", "-n", "research"), 0),
        (("claim", "research/nobody-uses-me"), 0),
        (("claim", "whole-node", "-n", "ml"), 0),
        (("claim", "sixteen", "-n", "research"), 1),
        (("claim", "wrong-attribute", "-n", "research"), 1),
        (("pod", "whole-node", "-n", "ml"), 0),
        (("pod", "classic-gpu", "-n", "ml"), 0),
        (("pod", "missing-claim", "-n", "research"), 1),
        (("pod", "sixteen", "-n", "research"), 1),
        (("device", "h100-2/gpu-5"), 0),
        (("device", "gpu.nvidia.com/h100-4/gpu-1"), 0),
        (("node", "h100-3"), 0),
        (("class", "rdma.dra.net"), 0),
    ],
)
def test_exit_codes(dractl, words, code):
    run = dractl("explain", *words, "--demo")
    assert run.code == code, run.out + run.err
    assert run.err == ""


@pytest.mark.parametrize(
    ("words", "message", "hint"),
    [
        (("claim", "sixteen"), "claim sixteen is not in namespace default", "It is in namespace research: add -n"),
        (("claim", "sixteem", "-n", "research"), "claim research/sixteem is not in demo", "Did you mean sixteen?"),
        (("claim", "train-0", "-n", "ml"), "claim ml/train-0 is not in demo fleet", "Did you mean train-0-c0-wlqz7?"),
        (("claim", "missing-claim", "-n", "research"), "claim research/missing-claim", "explain pod missing-claim"),
        (("claim", "zzz", "-n", "zzz"), "claim zzz/zzz is not in demo fleet", "dractl get claims -A"),
        (("pod", "sixteen"), "pod sixteen is not in namespace default", "It is in namespace research: add -n"),
        (("pod", "best-gpu", "-n", "research"), "pod research/best-gpu is not in", "dractl explain claim best-gpu"),
        (("claim", "sixteen", "-n", "research", "--node", "h100-9"), "node h100-9 is not in demo", "Did you mean h1"),
        (("device", "h100-2/gpu-9"), "device h100-2/gpu-9 is not in demo fleet", "Did you mean gpu-0, gpu-1 or gpu-2?"),
        (("device", "gpu-5"), "6 devices are called gpu-5", "gpu.nvidia.com/h100-0/gpu-5, "),
        (("node", "h100-9"), "node h100-9 is not in demo fleet", "Did you mean h100-0"),
        (("class", "gpu.nvidia.con"), "class gpu.nvidia.con is not in demo fleet", "Did you mean gpu.nvidia.com?"),
        (("DRA999",), "there is no code DRA999", "Codes are DRA and three digits"),
        (("claim", "sixteen", "-n", "research", "--kubernetes", "1.33"), "Kubernetes 1.33 is not known", "--kuber"),
    ],
)
def test_what_is_not_there(dractl, words, message, hint):
    run = dractl("explain", *words, *(() if words[0].startswith("DRA") else ("--demo",)))
    assert run.code == 2
    assert run.out == ""
    assert message in run.err
    assert hint in run.err
    assert "Traceback" not in run.err


def test_codes(dractl):
    run = dractl("explain", "DRA204")
    assert run.code == 0
    assert run.out.startswith("DRA204 selector-error: ")
    assert dractl("explain", "dra204").out == run.out
    assert dractl("explain", "code", "selector-error").out == run.out


def test_one_node(dractl):
    run = dractl("explain", "claim", "numa-match", "-n", "research", "--demo", "--node", "h100-0")
    assert "node h100-0: does not fit" in run.out
    assert "gpu.nvidia.com/h100-0/gpu-5      has no dra.net/numaNode" in run.out
    assert "dra.cpu/h100-0/cpudevnuma000" not in run.out
    wide = dractl("explain", "claim", "numa-match", "-n", "research", "--demo", "--node", "h100-0", "-o", "wide")
    assert "dra.cpu/h100-0/cpudevnuma000" in wide.out


def test_reports_keep_to_their_schemas(dractl):
    import jsonschema

    for kind, words in (
        ("ClaimExplanation", ("claim", "all-nics-cpu", "-n", "research", "--node", "h100-3")),
        ("ClaimExplanation", ("claim", "best-gpu", "-n", "research")),
        ("PodExplanation", ("pod", "pair-on-h100-1", "-n", "ml")),
        ("PodExplanation", ("pod", "missing-template", "-n", "research")),
        ("DeviceExplanation", ("device", "h100-2/gpu-5")),
        ("NodeExplanation", ("node", "h100-4")),
        ("ClassExplanation", ("class", "high-performance-gpu")),
    ):
        report = json.loads(dractl("explain", *words, "--demo", "-o", "json").out)
        jsonschema.validate(report, json.loads((SCHEMAS / f"{kind}.json").read_text(encoding="utf-8")))


def test_a_class_that_selects_nothing(dractl, tmp_path):
    path = tmp_path / "class.yaml"
    path.write_text(
        "{apiVersion: resource.k8s.io/v1, kind: DeviceClass, metadata: {name: none}, spec: {selectors: "
        "[{cel: {expression: device.driver == 'x.y'}}]}}",
        encoding="utf-8",
    )
    run = dractl("explain", "class", "none", "--snapshot", str(path))
    assert run.code == 1
    assert "selects nothing: no ResourceSlice of driver x.y exists" in run.out
