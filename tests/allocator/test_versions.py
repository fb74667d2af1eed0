"""Objects of one cluster in different API versions: the answer is the one for v1."""

from __future__ import annotations

import gzip
import json
import random
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "conformance")]

from orders import determined, shown  # noqa: E402

from dractl.allocator import Allocator, Features, Profile  # noqa: E402
from dractl.kube.decode import decode  # noqa: E402
from dractl.kube.objects import DeviceClass, Node, ResourceClaim, ResourceSlice  # noqa: E402

KINDS: dict[str, type[Any]] = {
    "slices": ResourceSlice,
    "classes": DeviceClass,
    "allocated": ResourceClaim,
    "claims": ResourceClaim,
}
Json = dict[str, Any]


def in_version(item: Json, kind: str, version: str) -> Json:
    """A v1 object as another version writes it."""
    item = {"apiVersion": f"resource.k8s.io/{version}", "kind": kind, **json.loads(json.dumps(item))}
    if version != "v1beta1":
        return item
    spec = item["spec"]
    for request in spec.get("devices", {}).get("requests", []) if kind == "ResourceClaim" else []:
        request.update(request.pop("exactly", {}))
    if kind == "ResourceSlice" and "devices" in spec:
        spec["devices"] = [{"name": one.pop("name"), "basic": one} for one in spec["devices"]]
    return item


def test_versions_may_be_mixed() -> None:
    with gzip.open(HERE / "recorded" / "1.36.jsonl.gz", "rt") as file:
        cases = [json.loads(line) for _, line in zip(range(100), file, strict=False)]
    r = random.Random(1)
    used = set()
    for case in cases:
        given = case["input"]
        profile = Profile.of_features("1.36", Features.of(given["features"]))
        if not profile.ordered or "panic" in case["expected"]:
            continue
        objects: dict[str, list[Any]] = {}
        for name, kind in KINDS.items():
            versions = [r.choice(("v1", "v1beta2", "v1beta1")) for _ in given[name] or []]
            used.update((name, version) for version in versions)
            objects[name] = [
                decode(in_version(item, kind.__name__, version))
                for item, version in zip(given[name] or [], versions, strict=True)
            ]
        nodes: list[Node] = [decode({"apiVersion": "v1", "kind": "Node", **item}) for item in given["nodes"]]  # type: ignore[misc]
        allocator = Allocator(profile, objects["slices"], objects["classes"], objects["allocated"])
        answers = allocator.allocate_nodes(objects["claims"], nodes).by_node
        got = {name: shown(result) for name, result in answers.items()}
        assert got == determined(case["expected"])["nodes"], case["id"]
    assert len(used) == 12  # every kind in every version
