"""Releases, API versions and feature gates: what objects use against what this release offers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace

from dractl.allocator.quirks import TAINT_RULES_UNSEEN
from dractl.diagnose.check import Context
from dractl.explain.words import count, listing, plural
from dractl.inventory import Inventory, key_of, kind_of
from dractl.kube.gates import GATES, enabled, stage
from dractl.kube.objects import (
    ClaimSpec,
    Device,
    DeviceRequest,
    DeviceTaintRule,
    KubeObject,
    Meta,
    ResourceClaim,
    ResourceClaimTemplate,
    ResourceSlice,
)
from dractl.rules import scheduler
from dractl.rules.finding import Finding, ObjectRef, Severity

_GROUP = "resource.k8s.io"
_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_DRA_KINDS = ("ResourceSlice", "DeviceClass", "ResourceClaim", "ResourceClaimTemplate", "DeviceTaintRule")
_LIVES = {
    ("v1alpha3", "DeviceTaintRule"): ((1, 36), (1, 39)),
    "v1alpha1": ((1, 26), (1, 27)),
    "v1alpha2": ((1, 30), (1, 31)),
    "v1alpha3": ((1, 32), (1, 34)),
    "v1beta1": ((1, 35), (1, 38)),
    "v1beta2": ((1, 36), (1, 39)),
}
"""Since when a version is deprecated, and from when on it is not served at all (k8s.io/api of 1.37)."""


_TAINT_RULES = "DRADeviceTaintRules"


# --- gates ----------------------------------------------------------------------------------------------------------


def gates_off(context: Context) -> Iterator[Finding]:
    """Fields in use whose gate is off by default, or that the release does not know, by gate."""
    on = enabled(context.release)
    found: dict[str, list[ObjectRef]] = {}
    for item in context.inventory.objects:
        for gate in sorted(_gates_of(item)):
            if gate == _TAINT_RULES:
                # until 1.34 one gate for both; where rules are not seen at all, another check says so
                gate = "DRADeviceTaints" if context.release < (1, 35) else gate
                if TAINT_RULES_UNSEEN in context.question.profile.quirks:
                    continue
            if not on.get(gate, False):
                found.setdefault(gate, []).append(ObjectRef(kind_of(item), item.meta.name, item.meta.namespace))
    for gate, users in sorted(found.items()):
        known = stage(gate, context.release)
        minor = context.question.release.minor
        state = f"is {known.stage.lower()} and off by default in {minor}" if known else f"is not known to {minor}"
        purpose = f" ({GATES[gate].purpose})" if gate in GATES and gate != _TAINT_RULES else ""
        yield scheduler.GATE_OFF.finding(
            f"{count(len(users), 'object')} {plural(len(users), 'uses', 'use')} feature gate {gate}{purpose}, "
            f"which {state}: {listing([str(one) for one in users], 3)}; dractl's own answers take it for off",
            users[0],
            evidence={"gate": gate, "objects": len(users)},
            hint=f"see that kube-apiserver, kube-scheduler and kubelets all have --feature-gates={gate}=true",
            related=tuple(users[1:20]),
        )


def _gates_of(item: KubeObject) -> set[str]:
    if isinstance(item, ResourceSlice):
        return _slice_gates(item)
    if isinstance(item, ResourceClaim | ResourceClaimTemplate):
        return _claim_gates(item.spec)
    if isinstance(item, DeviceTaintRule):
        return {_TAINT_RULES}
    if kind_of(item) == "DeviceClass" and getattr(item, "extended_resource_name", None):
        return {"DRAExtendedResource"}
    return set()


def _slice_gates(item: ResourceSlice) -> set[str]:
    gates = set()
    if item.shared_counters or item.per_device_node_selection:
        gates.add("DRAPartitionableDevices")
    if item.partition_type_attribute:
        gates.add("DRAPartitionableDevicesType")
    if item.skip_node_operations:
        gates.add("DRAOptionalNodeOperations")
    for device in item.devices:
        gates |= _device_gates(device)
    return gates


def _device_gates(device: Device) -> set[str]:
    gates = set()
    if device.consumes_counters:
        gates.add("DRAPartitionableDevices")
        if any(one.compatibility_groups for one in device.consumes_counters):
            gates.add("DRADeviceCompatibilityGroups")
    if device.taints:
        gates.add("DRADeviceTaints")
    if device.binding_conditions or device.binding_failure_conditions or device.binds_to_node:
        gates.add("DRADeviceBindingConditions")
    if device.node_allocatable:
        gates.add("DRANodeAllocatableResources")
    if device.allow_multiple_allocations or any(one.request_policy for one in device.capacity.values()):
        gates.add("DRAConsumableCapacity")
    if any(isinstance(one.value, tuple) for one in device.attributes.values()):
        gates.add("DRAListTypeAttributes")
    return gates


def requests_of(spec: ClaimSpec) -> Iterator[DeviceRequest]:
    """Every request and every alternative of a claim."""
    for request in spec.requests:
        yield from [request.exactly] if request.exactly else request.first_available


def _claim_gates(spec: ClaimSpec) -> set[str]:
    gates = set()
    if any(one.distinct_attribute for one in spec.constraints):
        gates.add("DRAConsumableCapacity")
    if any(request.first_available for request in spec.requests):
        gates.add("DRAPrioritizedList")
    for request in requests_of(spec):
        gates |= {"DRADeviceTaints"} if request.tolerations else set()
        gates |= {"DRAConsumableCapacity"} if request.capacity else set()
        gates |= {"DRAAdminAccess"} if request.admin_access else set()
        gates |= {"DRADerivedAttributes"} if request.derived_attributes else set()
    return gates


# --- API versions ---------------------------------------------------------------------------------------------------


def old_versions(context: Context) -> Iterator[Finding]:
    """Versions of resource.k8s.io through which objects were written last, by version and writer."""
    found: dict[tuple[str, str, str], list[ObjectRef]] = {}
    for item in context.inventory.objects:
        kind = kind_of(item)
        if kind not in _DRA_KINDS:
            continue
        for writer, version in writers(item.meta):
            life = _LIVES.get((version, kind)) or _LIVES.get(version)
            if life is not None and context.release >= life[0]:
                ref = ObjectRef(kind, item.meta.name, item.meta.namespace)
                found.setdefault((version, kind if (version, kind) in _LIVES else "", writer), []).append(ref)
    for (version, kind, writer), objects in sorted(found.items()):
        yield _old_version(context, version, kind, writer, objects)


def writers(meta: Meta) -> Iterator[tuple[str, str]]:
    """Who wrote an object through which version of resource.k8s.io: the last manifest applied, and field managers."""
    applied = meta.annotations.get(_APPLIED)
    if applied:
        try:
            version = str(json.loads(applied).get("apiVersion", ""))
        except (ValueError, AttributeError):
            version = ""
        group, _, version = version.partition("/")
        if group == _GROUP:
            yield "kubectl apply", version
    yield from meta.writers


def _old_version(context: Context, version: str, kind: str, writer: str, objects: list[ObjectRef]) -> Finding:
    since, gone = _LIVES[(version, kind)] if kind else _LIVES[version]
    release, minor = context.release, context.question.release.minor
    text = f"{gone[0]}.{gone[1]}"
    if release >= gone:
        state = f"{minor} does not serve it (it ended with {gone[0]}.{gone[1] - 1})"
    else:
        left = gone[1] - release[1]
        when = "the next release" if left == 1 else f"{left} releases from now"
        state = f"deprecated since {since[0]}.{since[1]}, gone in {text}, {when}; served only where it is switched on"
    by_hand = writer == "kubectl apply"
    who = "manifests applied with kubectl" if by_hand else f"{writer} (a driver or client)"
    hint = "dractl convert --to v1 on the manifests" if by_hand else f"update {writer} before kube-apiserver is {text}"
    return scheduler.OLD_API_VERSION.finding(
        f"{count(len(objects), 'object')} {plural(len(objects), 'was', 'were')} written through {_GROUP}/{version} by "
        f"{who}: {state}; {listing([str(one) for one in objects], 3)}",
        objects[0],
        severity=scheduler.KUBELET_SKEW.severity if release >= gone or gone[1] - release[1] == 1 else None,
        evidence={"version": version, "writer": writer, "objects": len(objects), "removed": text},
        hint=hint,
        related=tuple(objects[1:20]),
    )


def kubelets_older(context: Context) -> Iterator[Finding]:
    """Nodes with devices whose kubelet comes from before resource.k8s.io/v1."""
    if context.release < (1, 34):
        return
    by_version: dict[str, list[str]] = {}
    for name in _nodes_with_devices(context.inventory):
        node = context.inventory.nodes.get(name)
        minor = _minor(node.kubelet_version) if node is not None else None
        if node is not None and minor is not None and minor < (1, 34):
            by_version.setdefault(f"{minor[0]}.{minor[1]}", []).append(name)
    for version, names in sorted(by_version.items()):
        through = "v1beta1" if version in ("1.32", "1.33") else "v1alpha3"
        yield scheduler.KUBELET_SKEW.finding(
            f"kubelet {version} runs on {listing(names, 4)}, for which devices are published, under Kubernetes "
            f"{context.question.release.minor}: it reads claims through {_GROUP}/{through}, which this release does "
            "not serve unless switched on",
            ObjectRef("Node", names[0]),
            related=tuple(ObjectRef("Node", name) for name in names[1:]),
        )


def _nodes_with_devices(inventory: Inventory) -> list[str]:
    return sorted({found.node_name for found in inventory.devices.values() if found.node_name})


def _minor(version: str) -> tuple[int, int] | None:
    parts = version.removeprefix("v").split(".")
    if len(parts) < 2 or not parts[0].isdigit() or not parts[1].isdigit():
        return None
    return int(parts[0]), int(parts[1])


# --- faults of this scheduler ---------------------------------------------------------------------------------------


def counters_leak(context: Context) -> Iterator[Finding]:
    """Claims that a fault of this release's counting keeps waiting."""
    return _faults(context, scheduler.COUNTERS_LEAK.code)


def _faults(context: Context, code: str) -> Iterator[Finding]:
    """Findings of one code among the explanations of what waits."""
    for waiting in context.waiting:
        for found in waiting.report.findings:
            if found.code == code:
                key = waiting.claims[0]
                others = tuple(ObjectRef("ResourceClaim", one.name, one.namespace) for one in waiting.claims[1:])
                subject = found.subject or ObjectRef("ResourceClaim", key.name, key.namespace)
                yield replace(
                    found,
                    # the claim is told as such; this says why a change elsewhere may help it
                    severity=Severity.INFO,
                    message=f"claim {key_of(context.inventory.claims[key])}: {found.message}",
                    subject=subject,
                    related=(*found.related, *others),
                )
