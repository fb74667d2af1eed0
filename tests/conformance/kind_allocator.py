"""Conformance of the allocator: for every node of a recorded fleet the allocation, the error text or nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from figures import Figure, Mismatches, read_lines

from dractl.allocator import Allocator, Features, Profile
from dractl.kube import encode
from dractl.kube.decode import decode
from dractl.kube.objects import DeviceClass, Node, ResourceClaim, ResourceSlice


def run(cases_path: Path, show: int, only: str | None, profile: str) -> list[Figure]:
    """Answer every case with the features that it was recorded with."""
    figure = Figure("matched")
    mismatches = Mismatches(show)
    for number, case in enumerate(read_lines(cases_path)):
        if only is not None and only not in (case["id"], str(number)):
            continue
        features = Features.of(case["input"]["features"])
        got = answer(case["input"], Profile.of_features(profile, features))
        expected = case["expected"]
        if not figure.add(got == expected):
            for node in expected.get("nodes", {}):
                want, have = expected["nodes"][node], got["nodes"].get(node)
                if want != have:
                    mismatches.add(f"{case['id']} {node}", "allocation", want, have)
    return [figure]


def answer(given: dict[str, Any], profile: Profile) -> dict[str, Any]:
    """dractl's answer to a recorded input, in the form of the recorded answers."""
    allocator = Allocator(profile, *cluster(given))
    results = allocator.allocate_nodes(read(given["claims"], ResourceClaim), read(given["nodes"], Node))
    nodes: dict[str, Any] = {}
    for name, result in results.by_node.items():
        if result.error is not None:
            nodes[name] = {"error": result.error}
        elif result.allocations is None:
            nodes[name] = None
        else:
            nodes[name] = [encode.allocation(item) for item in result.allocations]
    return {"nodes": nodes}


def cluster(given: dict[str, Any]) -> tuple[list[ResourceSlice], list[DeviceClass], list[ResourceClaim]]:
    """Slices, classes and allocated claims of a recorded input."""
    return (
        read(given.get("slices"), ResourceSlice),
        read(given.get("classes"), DeviceClass),
        read(given.get("allocated"), ResourceClaim),
    )


def read(items: list[dict[str, Any]] | None, kind: type[Any]) -> list[Any]:
    """Objects recorded without apiVersion and kind."""
    version = "v1" if kind is Node else "resource.k8s.io/v1"
    return [decode({"apiVersion": version, "kind": kind.__name__, **item}) for item in items or []]
