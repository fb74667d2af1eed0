"""The allocation that a solution stands for: results, configuration and node selector, as kube-scheduler writes it."""

from __future__ import annotations

from collections.abc import Iterable

from dractl.allocator import quirks as q
from dractl.allocator.profile import Profile
from dractl.allocator.request import AllocationError, ClaimPlan, RequestSpec
from dractl.allocator.solution import Solution, Taken
from dractl.kube.objects import (
    Allocation,
    AllocationDevice,
    DeviceConfig,
    NodeRequirement,
    NodeSelector,
    NodeSelectorTerm,
)

NEW_SHARE = "SHARE"
"""Stands for the random ID that kube-scheduler gives to a new share of a device."""


def allocations(profile: Profile, plans: Iterable[ClaimPlan], solution: Solution, node: str) -> list[Allocation]:
    """One allocation a claim.

    Raises:
        AllocationError: when a device's node selector is of a form that cannot be recorded.
    """
    result = []
    for index, plan in enumerate(plans):
        taken = solution.taken[index]
        chosen = _chosen(plan, solution, index)
        allocation = Allocation(
            results=[_device(profile, item) for item in taken],
            config=_config(profile, plan, chosen),
        )
        try:
            allocation.node_selector = _node_selector(profile, taken, node)
        except _TooManyTerms as error:
            raise AllocationError(
                f"create NodeSelector for claim {plan.claim.meta.name}: "
                f"unsupported ResourceSlice.NodeSelector with {error} terms"
            ) from None
        result.append(allocation)
    return result


def _chosen(plan: ClaimPlan, solution: Solution, claim: int) -> list[RequestSpec]:
    """The request, or the alternative that was taken, of each request of a claim."""
    result = []
    for index, request in enumerate(plan.requests):
        spec = request.specs[solution.chosen.get((claim, index), 0)]
        assert spec is not None
        result.append(spec)
    return result


def _device(profile: Profile, taken: Taken) -> AllocationDevice:
    spec, candidate = taken.spec, taken.candidate
    device = candidate.device
    driver, pool, name = candidate.id
    bindings = profile.features.binding_conditions
    return AllocationDevice(
        request=spec.name,
        driver=driver,
        pool=pool,
        device=name,
        admin_access=True if spec.admin else None,
        tolerations=[] if q.TOLERATIONS_NOT_COPIED in profile.quirks else spec.request.tolerations,
        binding_conditions=(device.binding_conditions or []) if bindings else [],
        binding_failure_conditions=(device.binding_failure_conditions or []) if bindings else [],
        share_id=NEW_SHARE if candidate.multi else None,
        consumed_capacity=taken.consumed or None,
        skip_node_operations=candidate.slice.skip_node_operations if profile.features.optional_node_operations else [],
    )


def _config(profile: Profile, plan: ClaimPlan, chosen: list[RequestSpec]) -> list[DeviceConfig]:
    result: list[DeviceConfig] = []
    by_class: dict[str, list[DeviceConfig]] = {}
    for spec in chosen:
        name = spec.device_class.meta.name
        if name in by_class:
            for entry in by_class[name]:
                entry.requests.append(spec.name)
            continue
        by_class[name] = [
            DeviceConfig(requests=[spec.name], opaque=config.opaque, source="FromClass")
            for config in spec.device_class.config
        ]
        result.extend(by_class[name])
    repeated = q.CONFIG_REPEATED in profile.quirks
    for config in plan.claim.spec.config:
        times = 1 if not config.requests else sum(1 for spec in chosen if _named(spec, config.requests))
        for _ in range(times if repeated else min(times, 1)):
            result.append(DeviceConfig(list(config.requests), config.opaque, "FromClaim"))
    if not repeated:
        for entry in result:
            if entry.requests and all(_named(spec, entry.requests) for spec in chosen):
                entry.requests = []
    return result


def _named(spec: RequestSpec, names: list[str]) -> bool:
    return spec.main_name in names or (spec.parent is not None and spec.name in names)


class _TooManyTerms(Exception):
    pass


def _node_selector(profile: Profile, taken: Iterable[Taken], node: str) -> NodeSelector | None:
    """Where the allocation can be used: on this node, or where all devices' own selectors hold, or anywhere."""
    term = NodeSelectorTerm()
    knows_binds = profile.knows_sharing or not profile.quirks
    for item in taken:
        candidate = item.candidate
        source = candidate.device if candidate.slice.per_device_node_selection else candidate.slice
        if source.node_name is not None or (knows_binds and candidate.device.binds_to_node):
            only = NodeRequirement("metadata.name", "In", [node])
            return NodeSelector([NodeSelectorTerm(match_fields=[only])])
        selector = source.node_selector
        if selector is None or not selector.terms:
            continue
        if len(selector.terms) > 1:
            raise _TooManyTerms(str(len(selector.terms)))
        _merge(selector.terms[0].match_fields, term.match_fields)
        _merge(selector.terms[0].match_expressions, term.match_expressions)
    return NodeSelector([term]) if term.match_fields or term.match_expressions else None


def _merge(new: list[NodeRequirement], into: list[NodeRequirement]) -> None:
    for requirement in new:
        values = set(requirement.values)
        if not any(
            other.key == requirement.key and other.operator == requirement.operator and set(other.values) == values
            for other in into
        ):
            into.append(requirement)
