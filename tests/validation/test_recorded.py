"""Recorded answers of Kubernetes' own code: every verdict, cause, stored object and warning is the same.

``recorded-*.jsonl.gz`` are answers of the API server's registry strategies to random requests (creations and updates of
every kind and version) with default gates, with all beta gates, and with all gates. The conformance file is what a real
API server of 1.36 answered over HTTP.
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


def test_a_real_server() -> None:
    sys.path[:0] = [str(CONFORMANCE)]
    try:
        import kind_validation
    finally:
        del sys.path[0]
    figures = kind_validation.run(CONFORMANCE / "validation.jsonl.gz", 0, None, "1.36")
    got = {figure.name: (figure.matched, figure.total) for figure in figures}
    assert got == {"verdict": (518, 518), "causes": (518, 518), "stored": (158, 158), "warnings": (518, 518)}
