"""How an answer of Kubernetes' own code is compared with a verdict."""

from __future__ import annotations

from typing import Any

from dractl.kube.gates import GATES, stage
from dractl.validation.apiserver import NOW, Request, Verdict, admit
from dractl.validation.pod_defaults import UID

GATES_OFF = ("DRAControlPlaneController", "SchedulerPreQueueingHints")
"""Gates that the API server does not know."""

Difference = tuple[str, Any, Any]


def gate_settings(release: tuple[int, int], beta: bool, alpha: bool) -> dict[str, bool]:
    """All beta gates on, all gates on, or the defaults."""
    wanted = ("Beta", "Alpha") if alpha else ("Beta",) if beta else ()
    found = {name: stage(name, release) for name in GATES}
    return {name: True for name, at in found.items() if at is not None and at.stage in wanted and not at.locked}


def put(case: dict[str, Any], release: tuple[int, int], gates: dict[str, bool]) -> Verdict:
    """The verdict on a recorded request."""
    request = Request(namespace_labels=case.get("namespaceLabels", {}), serve_gated=True, admission=False)
    return admit(case["object"], release=release, gates=gates, old=case.get("old"), request=request)


def compare(
    case: dict[str, Any], answer: dict[str, Any], release: tuple[int, int], gates: dict[str, bool]
) -> list[Difference]:
    """What differs, as (respect, expected, got)."""
    verdict = put(case, release, gates)
    out: list[Difference] = []
    expected, got = said(answer), said_by(verdict)
    if answer["code"] != verdict.code:
        out.append(("verdict", (answer["code"], expected), (verdict.code, got)))
    elif expected != got:
        out.append(("causes", sorted(expected - got), sorted(got - expected)))
    if answer["code"] == 201 and verdict.code == 201:
        stored = verdict.stored
        assert stored is not None
        want = same_times(answer["stored"], stored)
        if want != stored:
            out.append(("stored", *first_difference(want, stored)))
        told = [text for text in verdict.warnings if " is deprecated in v" not in text]
        if answer.get("warnings", []) != told:
            out.append(("warnings", answer.get("warnings", []), told))
    return out


def said(answer: dict[str, Any]) -> set[tuple[str, ...]]:
    """Causes, or the message where there are none."""
    if answer["code"] == 201:
        return set()
    if answer.get("causes"):
        return {(c.get("field", ""), c.get("reason", ""), without_dump(c["message"])) for c in answer["causes"]}
    return {(answer.get("message", ""),)}


def without_dump(message: str) -> str:
    """Without the whole template of a Job, or the difference of two pods, which the server prints as Go holds them."""
    if message.startswith("Invalid value: {") and message.endswith(": field is immutable"):
        return "Invalid value: (template): field is immutable"
    return message.partition("\n@@ ")[0] if message.startswith("Forbidden: pod updates") else message


def said_by(verdict: Verdict) -> set[tuple[str, ...]]:
    """The same of a verdict; what the HTTP layer puts in front of a decoding error is left out."""
    if verdict.causes:
        return {(c.field, c.reason, without_dump(c.message)) for c in verdict.causes}
    if verdict.message is None:
        return set()
    head, found, tail = verdict.message.partition(" cannot be handled as a ")
    return {(tail.partition(": ")[2] if found else head,)}


def same_times(expected: Any, got: Any) -> Any:
    """The expected value, with dractl's stand-in where the server took a time from its clock or made a UID."""
    if got in (NOW, UID) and isinstance(expected, str):
        return got
    if isinstance(expected, dict) and isinstance(got, dict):
        return {key: same_times(item, got.get(key)) for key, item in expected.items()}
    if isinstance(expected, list) and isinstance(got, list) and len(expected) == len(got):
        return [same_times(item, other) for item, other in zip(expected, got, strict=True)]
    return expected


def first_difference(expected: Any, got: Any, path: str = "") -> tuple[Any, Any]:
    """The innermost place where two values differ."""
    if isinstance(expected, dict) and isinstance(got, dict):
        for key in [*expected, *got]:
            if expected.get(key, "(absent)") != got.get(key, "(absent)"):
                return first_difference(expected.get(key, "(absent)"), got.get(key, "(absent)"), f"{path}.{key}")
    if isinstance(expected, list) and isinstance(got, list) and len(expected) == len(got):
        for index, (one, two) in enumerate(zip(expected, got, strict=True)):
            if one != two:
                return first_difference(one, two, f"{path}[{index}]")
    return (path, expected), got
