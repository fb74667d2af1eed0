"""Recorded requests to an API server: the verdict, its causes or message, the stored form and the warnings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from figures import Figure, Mismatches, read_lines

from dractl.kube.gates import GATES, parse_release, stage
from dractl.validation.apiserver import Request, Verdict, admit

WARNING_PREFIX = '299 - "'


def all_beta(release: tuple[int, int]) -> dict[str, bool]:
    """Settings that turn every beta gate on, as the recorded servers had them."""
    found = {name: stage(name, release) for name in GATES}
    return {name: True for name, at in found.items() if at is not None and at.stage == "Beta"}


def run(cases_path: Path, show: int, only: str | None, profile: str) -> list[Figure]:
    """Put every object to ``admit`` and compare."""
    verdicts, causes, stored, warnings = (Figure(name) for name in ("verdict", "causes", "stored", "warnings"))
    mismatches = Mismatches(show)
    release = parse_release(profile)
    gates = all_beta(release)
    for number, case in enumerate(read_lines(cases_path)):
        if only is not None and only not in (case["id"], str(number)):
            continue
        request = Request(namespace="default", namespace_labels={}, serve_gated=True)
        verdict = admit(case["object"], release=release, gates=gates, old=case.get("old"), request=request)
        if not verdicts.add(verdict.code == case["code"]):
            mismatches.add(case["id"], "verdict", (case["code"], said(case)), (verdict.code, verdict.message))
        expected, got = said(case), said_by(verdict)
        if not causes.add(expected == got):
            mismatches.add(case["id"], "causes", sorted(expected - got), sorted(got - expected))
        if case["code"] == 201:
            want, have = without_times(case["stored"]), without_times(verdict.stored)
            if not stored.add(want == have):
                mismatches.add(case["id"], "stored", want, have)
        told = [plain_warning(text) for text in case.get("warnings") or ()]
        if not warnings.add(told == verdict.warnings):
            mismatches.add(case["id"], "warnings", told, verdict.warnings)
    return [verdicts, causes, stored, warnings]


def said(case: dict[str, Any]) -> set[tuple[str, ...]]:
    """The recorded causes, or the message where there are none."""
    if case["code"] == 201:
        return set()
    if case.get("causes"):
        return {(c.get("field", ""), c.get("reason", ""), c["message"]) for c in case["causes"]}
    return {(case.get("message", ""),)}


def said_by(verdict: Verdict) -> set[tuple[str, ...]]:
    """The same of a verdict."""
    if verdict.causes:
        return {(c.field, c.reason, c.message) for c in verdict.causes}
    return {(verdict.message,)} if verdict.message is not None else set()


def plain_warning(text: str) -> str:
    """The text of a Warning header."""
    if not text.startswith(WARNING_PREFIX):
        return text
    return text.removeprefix(WARNING_PREFIX).removesuffix('"').replace('\\"', '"').replace("\\\\", "\\")


def without_times(value: Any) -> Any:
    """The value without times that the server took from its clock."""
    if isinstance(value, dict):
        return {key: without_times(item) for key, item in value.items() if key != "timeAdded"}
    return [without_times(item) for item in value] if isinstance(value, list) else value
