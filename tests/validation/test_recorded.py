"""Recorded answers of Kubernetes' own code: every verdict, cause, stored object and warning is the same.

``recorded-*.jsonl.gz`` are answers of the API server's registry strategies to random requests (creations and updates of
every kind and version) with default gates, with all beta gates, and with all gates; ``recorded-wild-*`` those to
objects spoiled as people do it, pods and workloads too, with gates by chance. The conformance file is what a real API
server of 1.36 answered over HTTP.
"""

from __future__ import annotations

import gzip
import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from apiserver_answers import compare

from dractl.kube.gates import parse_release
from dractl.validation.apiserver import admit

HERE = Path(__file__).parent
CONFORMANCE = HERE.parent / "conformance"


def recorded(release: str) -> list[dict[str, Any]]:
    text = gzip.decompress((HERE / f"recorded-{release}.jsonl.gz").read_bytes()).decode()
    return [json.loads(line) for line in text.splitlines()]


@pytest.mark.parametrize("release", ["1.34", "1.35", "1.36", "1.37"])
def test_mutated_requests(release: str) -> None:
    cases = recorded(release)
    assert len(cases) >= 990
    assert Counter(case["answer"]["code"] for case in cases).keys() == {201, 400, 422}
    for case in cases:
        assert compare(case, case["answer"], parse_release(release), case["gates"]) == [], case["id"]


@pytest.mark.parametrize("release", ["1.34", "1.35", "1.36", "1.37"])
def test_spoiled_objects(release: str) -> None:
    cases = recorded(f"wild-{release}")
    assert len(cases) >= 250
    assert Counter(case["answer"]["code"] for case in cases).keys() >= {201, 400, 422}
    for case in cases:
        if case["answer"]["code"] != 500:  # a name that is to be generated, which is done before the strategies
            assert compare(case, case["answer"], parse_release(release), case["gates"]) == [], case["id"]


# what was given, and what Kubernetes' own code stores: some texts stay as they are, some lose their form
AMOUNTS = {
    "01": "01", "+1": "+1", "1.": "1.", "1.500": "1.500", "1.5": "1500m", "1000": "1k", "10000": "10k", "1E3": "1E3",
    "1e4": "10e3", "1024Ki": "1Mi", "1Ki": "1Ki", "8Ki": "8Ki", "0.5Gi": "512Mi", "00": "0", "-0": "0", "100m": "100m",
    "1e-3": "1e-3", "1000m": "1", "12345678901234567890": "12345678901234567890", "3Ei": "3Ei", " 5 ": "5",
}  # fmt: skip


@pytest.mark.parametrize(("given", "stored"), AMOUNTS.items())
def test_amounts_as_they_are_stored(given: str, stored: str) -> None:
    devices = [{"name": "a", "capacity": {"m": {"value": given}}}]
    pool = {"name": "n", "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": "d.x", "nodeName": "n", "pool": pool, "devices": devices}
    verdict = admit(
        {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": "x"}, "spec": spec}
    )
    assert verdict.stored is not None
    assert verdict.stored["spec"]["devices"][0]["capacity"]["m"]["value"] == stored


def test_a_real_server() -> None:
    sys.path[:0] = [str(CONFORMANCE)]
    try:
        import kind_validation
    finally:
        del sys.path[0]
    figures = kind_validation.run(CONFORMANCE / "validation.jsonl.gz", 0, None, "1.36")
    got = {figure.name: (figure.matched, figure.total) for figure in figures}
    assert got == {"verdict": (518, 518), "causes": (518, 518), "stored": (158, 158), "warnings": (518, 518)}
