"""Every object that an API server accepted goes up, down and up again without loss."""

from __future__ import annotations

import copy
import gzip
import json
from pathlib import Path

import pytest

from dractl.convert.model import Target
from dractl.convert.nodes import plain, tree
from dractl.convert.run import convert

CASES = Path(__file__).parent.parent / "conformance" / "validation.jsonl.gz"
KINDS = ("DeviceClass", "ResourceClaim", "ResourceClaimTemplate", "ResourceSlice")


def recorded():
    with gzip.open(CASES, "rt") as lines:
        for line in lines:
            case = json.loads(line)
            body = case["object"]
            version = str(body.get("apiVersion"))
            if case["code"] == 201 and body.get("kind") in KINDS and version.startswith("resource.k8s.io/"):
                yield case["id"], body


def to(version: str, body: dict) -> dict:
    found = convert([tree(copy.deepcopy(body))], Target(version))
    assert len(found.nodes) == 1
    return plain(found.nodes[0])


@pytest.mark.parametrize(("name", "body"), list(recorded()))
@pytest.mark.parametrize("below", ["v1beta1", "v1beta2"])
def test_up_down_up(name, body, below):
    from dractl.validation.apiserver import admit

    up = to("v1", body)
    assert up["apiVersion"] == "resource.k8s.io/v1"
    down = to(below, up)
    assert down["apiVersion"] == f"resource.k8s.io/{below}"
    assert to("v1", down) == up
    # all three mean the same to the API server
    stored = [admit(item, release=(1, 36)).stored for item in (body, up)]
    for item in stored:
        item.pop("apiVersion", None)
    if body["apiVersion"] == "resource.k8s.io/v1beta1":
        lower = admit(down, release=(1, 36)).stored if below == "v1beta1" else None
        if lower is not None:
            lower.pop("apiVersion", None)
            assert lower == stored[0]
    else:
        assert stored[0] == stored[1]
