"""Taints of devices: tolerations, and the taints that DeviceTaintRules add."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from dractl.allocator import quirks as q
from dractl.allocator.profile import Profile
from dractl.kube.objects import Device, DeviceTaint, DeviceTaintRule, DeviceToleration, ResourceSlice

_BLOCKING = ("NoSchedule", "NoExecute")


def tolerates(toleration: DeviceToleration, taint: DeviceTaint) -> bool:
    """Whether a toleration fits a taint; an unknown operator never does."""
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    if toleration.operator in ("", "Equal"):
        return toleration.value == taint.value
    return toleration.operator == "Exists"


def blocking_taint(
    taints: Sequence[DeviceTaint], tolerations: Sequence[DeviceToleration], every_effect: bool = False
) -> DeviceTaint | None:
    """The first taint that keeps a request from a device, or None.

    Only NoSchedule and NoExecute block; with ``every_effect`` all do (1.34).
    """
    for taint in taints:
        if not every_effect and taint.effect not in _BLOCKING:
            continue
        if not any(tolerates(toleration, taint) for toleration in tolerations):
            return taint
    return None


def with_taint_rules(
    slices: Sequence[ResourceSlice], rules: Iterable[DeviceTaintRule], profile: Profile
) -> list[ResourceSlice]:
    """The slices with the taints of the rules added to the devices they select.

    Slices without such a device are the same objects. Where the profile's scheduler does not see rules, nothing is
    added. A rule without a selector fits no device, except where the profile's scheduler takes it to fit all.
    """
    rules = list(rules)
    if not rules or not profile.heeds_taint_rules:
        return list(slices)
    unset_fits_all = q.TAINT_RULE_WITHOUT_SELECTOR in profile.quirks
    return [_tainted(item, rules, unset_fits_all) for item in slices]


def _tainted(item: ResourceSlice, rules: Sequence[DeviceTaintRule], unset_fits_all: bool) -> ResourceSlice:
    fitting = [rule for rule in rules if _fits_slice(rule, item, unset_fits_all)]
    if not fitting:
        return item
    devices = [_tainted_device(device, fitting) for device in item.devices]
    if all(new is old for new, old in zip(devices, item.devices, strict=True)):
        return item
    return replace(item, devices=devices)


def _fits_slice(rule: DeviceTaintRule, item: ResourceSlice, unset_fits_all: bool) -> bool:
    selector = rule.selector
    if selector is None:
        return unset_fits_all
    return selector.driver in (None, item.driver) and selector.pool in (None, item.pool.name)


def _tainted_device(device: Device, rules: Sequence[DeviceTaintRule]) -> Device:
    added = [rule.taint for rule in rules if rule.selector is None or rule.selector.device in (None, device.name)]
    return replace(device, taints=[*device.taints, *added]) if added else device
