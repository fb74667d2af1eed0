"""Users' reports, rewritten: what has to be said of each, and what must not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

CASES = Path(__file__).parent.parent / "cases"


@pytest.fixture
def found(dractl):
    def run(case: str) -> dict[str, str]:
        path = str(CASES / case / "objects.yaml")
        report = json.loads(dractl("diagnose", "--snapshot", path, "--kubernetes", "1.36", "-o", "json").out)
        assert not [item for item in report["checks"] if item["outcome"] == "failed"]
        return {
            f"{item['code']} {item['subject']['name']}": f"{item['message']} {item.get('hint', '')}"
            for item in report["findings"]
            if item["severity"] != "info"
        }

    return run


def test_counters_given_out_twice(found):
    said = found("26-counters-given-out-twice")
    assert list(said) == ["DRA233 gpu.example.com/node-3"]
    text = said["DRA233 gpu.example.com/node-3"]
    for fact in (
        "gpu-0-counters",
        "80Gi of memory but 120Gi",
        "100 of compute but 150",
        "gpu-0-full (shared by claim ai/chat)",
        "gpu-0-partition-0 (held by claim ai/vision)",
        "gpu-1-partition-1",
        "1.36.0",
        "1.36.1",
    ):
        assert fact in text


def test_plugin_and_driver_on_one_node(found):
    said = found("30-plugin-and-driver")
    assert list(said) == ["DRA237 gpu-a"]
    text = said["DRA237 gpu-a"]
    for fact in ("nvidia.com/gpu (4 allocatable)", "4 devices of driver gpu.nvidia.com in pool gpu-a"):
        assert fact in text
    assert "pod shop/old-style (nvidia.com/gpu: 2) and claim shop/new-style (gpu-0 and gpu-1) may be" in text


def test_driver_without_the_verb_of_1_36(found):
    said = found("44-driver-without-the-new-verb")
    assert list(said) == ["DRA701 nic-driver"]
    text = said["DRA701 nic-driver"]
    assert "resourceclaims/driver" in text
    assert "associated-node:update" in text
    assert "resourceNames [dra.net]" in text


def test_driver_without_the_verb_is_fine_before_1_36(dractl):
    path = str(CASES / "44-driver-without-the-new-verb" / "objects.yaml")
    report = json.loads(dractl("diagnose", "access", "--snapshot", path, "--kubernetes", "1.35", "-o", "json").out)
    assert "DRA701" not in {item["code"] for item in report["findings"]}


def test_whole_gpu_beside_its_slices(found):
    said = found("126-whole-gpu-beside-its-slices")
    assert list(said) == ["DRA235 gpu.nvidia.com/yak-1/gpu-0"]
    text = said["DRA235 gpu.nvidia.com/yak-1/gpu-0"]
    for fact in ("fin/stress holds gpu-0", "fin/risk holds gpu-0-mig-9-4-4", "parentUUID", "gpu-0-mig-9-0-4", "25.12"):
        assert fact in text
    assert "yak-2" not in text
    assert "pricing" not in text
