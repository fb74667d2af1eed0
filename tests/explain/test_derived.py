"""Constraints over attributes that a request derives (1.37, alpha)."""

from __future__ import annotations

import pytest

from dractl.allocator.profile import Profile
from dractl.explain.claim import Question, explain_claim
from dractl.inventory import Release
from explain.builders import GPU, claim, class_, cluster, device, node, request, slice_


@pytest.mark.parametrize(
    ("expression", "verdict", "summary"),
    [
        ("numa / 2", "fits", "Claim ns/c fits on n1"),
        ("numa", "doesNotFit", "needs 2 GPUs with the same x.io/socket, and no value has that many usable ones"),
        ("nothing", "error", "evaluate derived attribute x.io/socket on device gpu.example.com/n1/g0 failed"),
    ],
)
def test_derived_attributes(expression: str, verdict: str, summary: str) -> None:
    derived = [{"name": "x.io/socket", "expression": f"device.attributes['{GPU}'].{expression}"}]
    inventory = cluster(
        node("n1"),
        class_(GPU),
        slice_("n1", [device("g0", {"numa": 0}), device("g1", {"numa": 1})]),
        claim("c", request("r", count=2, derivedAttributes=derived), constraints=[{"matchAttribute": "x.io/socket"}]),
    )
    profile = Profile.for_release("1.37", {"DRADerivedAttributes": True})
    report = explain_claim(Question(inventory, Release("1.37", "1.37", "given"), profile), "ns", "c")
    assert report.verdict == verdict
    assert summary in report.summary
