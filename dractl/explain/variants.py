"""The same question under other circumstances: all devices free, a scheduler without faults, each claim by itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from dractl.allocator import quirks as q
from dractl.explain.answer import Answer
from dractl.explain.case import FITS, Case
from dractl.explain.words import ranges
from dractl.inventory import Inventory
from dractl.kube.objects import KubeObject, ResourceClaim
from dractl.rules import scheduler


def without_allocations(case: Case) -> Case:
    """The case in a cluster where no claim has any device."""
    objects = [_freed(item, case) for item in case.inventory.objects]
    inventory = Inventory(objects, case.inventory.provenance)
    return Case(inventory, case.release, case.profile, case.claims, case.pods, case.held, case.now, case.limits)


def _freed(item: KubeObject, case: Case) -> KubeObject:
    if isinstance(item, ResourceClaim) and item.allocation is not None and item not in case.held:
        return replace(item, allocation=None, reserved_for=[])
    return item


def explain_variants(case: Case, answer: Answer, names: Sequence[str]) -> None:
    """Say if a faultless scheduler would find devices where this one does not."""
    open_nodes = [name for name in names if not case.nodes[name].reason.blockers and case.nodes[name].verdict != FITS]
    if not open_nodes or not case.profile.quirks:
        return
    correct = Case(
        case.inventory, case.release, case.profile.correct(), case.claims, case.pods, case.held, case.now, case.limits
    )
    found = [name for name in open_nodes if correct.nodes[name].verdict == FITS]
    if not found:
        return
    culprit = _culprit(case, found[0])
    effect = f": {culprit.effect}" if culprit else ""
    fix = f" ({culprit.fix})" if culprit and culprit.fix else ""
    text = (
        f"on {ranges(found, 4)} the devices fit, but kube-scheduler {case.profile.release} does not find "
        f"them{effect}{fix}"
    )
    answer.say(text)
    answer.find(scheduler.COUNTERS_LEAK.finding(text))
    if culprit and culprit.advice:
        answer.advise(culprit.advice)


def _culprit(case: Case, name: str) -> q.Quirk | None:
    """The one quirk without which the claims fit on a node, if it is a single one."""
    for quirk in sorted(case.profile.quirks):
        other = Case(case.inventory, case.release, case.profile.without(quirk), case.claims, limits=case.limits)
        facts = other.survey.nodes.get(name)
        if facts is not None and other.allocator.allocate(case.claims, facts.node, case.limits).verdict == FITS:
            return case.profile.quirk(quirk)
    return None


def without_claim(inventory: Inventory, claim: ResourceClaim) -> tuple[Inventory, ResourceClaim]:
    """The cluster as if a claim had not been allocated yet, and the claim in it."""
    fresh = replace(claim, allocation=None, reserved_for=[], devices=[])
    objects = [fresh if item is claim else item for item in inventory.objects]
    return Inventory(objects, inventory.provenance), fresh
