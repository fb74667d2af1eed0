"""DeviceTaintRules that the scheduler does not heed although they fit devices of interest."""

from __future__ import annotations

from collections.abc import Iterable

from dractl.allocator.profile import Profile
from dractl.allocator.quirks import TAINT_RULES_UNSEEN
from dractl.explain.answer import Answer
from dractl.explain.case import Case
from dractl.explain.survey import Survey
from dractl.explain.words import listing
from dractl.inventory import DeviceId, Release
from dractl.kube.objects import DeviceTaintRule
from dractl.rules import scheduler
from dractl.rules.finding import ObjectRef


def taint_rules(case: Case, answer: Answer) -> None:
    """Tell of DeviceTaintRules that are for devices that the claims could take, but have no effect."""
    selected = {
        device for judgements in case.survey.judgements for device, judged in judgements.items() if judged.selected
    }
    rules = unheeded(case.survey, selected)
    if not rules:
        return
    names = listing([rule.meta.name for rule in rules], 3)
    why = unheeded_why(case.profile, case.release)
    text = f"DeviceTaintRule {names} is for devices that this claim could take, but is not heeded here: {why}"
    answer.find(scheduler.TAINT_RULES_IGNORED.finding(text, ObjectRef("DeviceTaintRule", rules[0].meta.name)))


def unheeded(survey: Survey, devices: Iterable[DeviceId]) -> list[DeviceTaintRule]:
    """The rules that fit some of the devices but taint nothing under the survey's profile."""
    rules = survey.inventory.taint_rules
    if not rules or survey.profile.heeds_taint_rules:
        return []
    devices = list(devices)
    return [rule for rule in rules if any(_fits(rule, one) for one in devices)]


def unheeded_why(profile: Profile, release: Release) -> str:
    """Why a scheduler does not heed DeviceTaintRules."""
    if TAINT_RULES_UNSEEN in profile.quirks:
        return "kube-scheduler 1.36.0 to 1.36.2 does not see such rules"
    return f"the feature gate DRADeviceTaintRules is off by default in {release.minor}"


def _fits(rule: DeviceTaintRule, device: DeviceId) -> bool:
    selector = rule.selector
    return (
        selector is not None
        and selector.driver in (None, device.driver)
        and selector.pool in (None, device.pool)
        and selector.device in (None, device.device)
    )
