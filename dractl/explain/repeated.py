"""Allocations that fit only because this scheduler's distinctAttribute does not compare all values."""

from __future__ import annotations

from dractl.allocator import quirks
from dractl.explain.answer import Answer
from dractl.explain.case import Case, NodeAnswer
from dractl.explain.terms import Field, value_text
from dractl.explain.words import listing, natural
from dractl.inventory import DeviceId
from dractl.kube.objects import Allocation, DeviceConstraint, ResourceClaim

_FAULTS = (quirks.DISTINCT_FORGETS, quirks.DISTINCT_BLIND)


def explain_repeated(case: Case, answer: Answer, node: NodeAnswer) -> None:
    """Say so if devices that would be taken share a value that distinctAttribute asks to differ."""
    faults = [name for name in _FAULTS if name in case.profile.quirks]
    if not faults or not node.result.allocations:
        return
    for claim, allocation in zip(case.claims, node.result.allocations, strict=True):
        for constraint in claim.spec.constraints:
            if not constraint.distinct_attribute:
                continue
            repeated = _repeated(case, claim, allocation, constraint)
            if repeated:
                parts = [f"{listing(devices, 4)} have {value}" for value, devices in repeated]
                answer.say(
                    f"{constraint.distinct_attribute} would not differ, although the claim asks for that: "
                    f"{listing(parts, 4)}; {case.profile.quirk(faults[-1]).effect}"
                )
                answer.advise(
                    "where devices have to differ for certain, ask with one request of count 1 for each of them, all "
                    "named in the constraint: values of different requests are compared"
                )


def _repeated(
    case: Case, claim: ResourceClaim, allocation: Allocation, constraint: DeviceConstraint
) -> list[tuple[str, list[str]]]:
    domain, _, name = (constraint.distinct_attribute or "").partition("/")
    by_value: dict[str, list[str]] = {}
    for result in allocation.results:
        if constraint.requests and result.request.partition("/")[0] not in constraint.requests:
            continue
        published = case.inventory.devices.get(DeviceId(result.driver, result.pool, result.device))
        if published is None:
            continue
        value = value_text(result.driver, published.device, Field("attribute", domain, name))
        if value is not None:
            by_value.setdefault(value, []).append(result.device)
    return sorted(
        ((value, devices) for value, devices in by_value.items() if len(devices) > 1), key=lambda item: natural(item[0])
    )
