"""The same question under other circumstances: all devices free, a scheduler without faults, each claim by itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from dractl.allocator import quirks as q
from dractl.explain.answer import Answer
from dractl.explain.case import FITS, Case
from dractl.explain.words import ranges
from dractl.inventory import Inventory
from dractl.kube.objects import ResourceClaim
from dractl.rules import scheduler


@dataclass(slots=True)
class Fault:
    """A fault of the scheduler that keeps the claims from nodes where they fit: what happens, and what helps."""

    text: str
    advice: str


def scheduler_fault(case: Case, names: Sequence[str]) -> Fault | None:
    """Whether a scheduler without faults would find devices on nodes where this one finds none."""
    open_nodes = [name for name in names if not case.nodes[name].reason.blockers and case.nodes[name].verdict != FITS]
    if not open_nodes or not case.profile.quirks:
        return None
    correct = Case(
        case.inventory, case.release, case.profile.correct(), case.claims, case.pods, case.held, case.now, case.limits
    )
    found = [name for name in open_nodes if correct.nodes[name].verdict == FITS]
    if not found:
        return None
    culprit = _culprit(case, found[0])
    effect = f": {culprit.effect}" if culprit else ""
    fix = f" ({culprit.fix})" if culprit and culprit.fix else ""
    where, release = ranges(found, 4), case.profile.release
    text = f"on {where} the devices fit, but kube-scheduler {release} does not find them{effect}{fix}"
    return Fault(text, culprit.advice if culprit else "")


def tell_fault(answer: Answer, fault: Fault) -> None:
    """Say what the scheduler does wrong."""
    answer.say(fault.text)
    answer.find(scheduler.COUNTERS_LEAK.finding(fault.text))
    if fault.advice:
        answer.advise(fault.advice)


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
