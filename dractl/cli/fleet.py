"""``dractl validate --snapshot``: the manifests against a fleet."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dractl.cli.checking import Choice, FileResult
from dractl.cli.placing import item_of
from dractl.cli.source import choose_release
from dractl.rules import advice
from dractl.rules.finding import ObjectRef
from dractl.sources.manifests import Document, read_file
from dractl.validation.fleet import FleetAnswer, FleetChecker, known_of
from dractl.validation.model import Fault
from dractl.validation.report import FleetResult, ObjectResult, ValidationReport, in_order
from dractl.validation.server import environment_of

if TYPE_CHECKING:
    from dractl.inventory import Inventory


class Fleet:
    """A snapshot as ``validate`` uses it: the release, what is known by name, and the allocator."""

    def __init__(self, inventory: Inventory, kubernetes: str | None, choice: Choice) -> None:
        from dractl.kube.gates import parse_release

        self.inventory = inventory
        release = parse_release(choose_release(inventory, kubernetes).minor)
        labels = {name: item.meta.labels for name, item in inventory.namespaces.items()}
        settings = replace(choice.settings, release=release, namespaces=labels)
        self.choice = replace(choice, settings=settings, keep_objects=True, keep_claims=True)
        self.known = known_of(inventory, environment_of(settings, stored=True))

    def check(self, report: ValidationReport, total: FileResult, wanted: int) -> None:
        """Try every claim and template; ``wanted`` is the number of nodes that each has to fit on (0: no demand)."""
        checker = FleetChecker(self.inventory, self.choice.settings, total.classes)
        for one, value in total.claims:
            if one.verdict == "rejected":
                continue
            answer = checker.check(value)
            if answer is not None:
                report.fleet.append(_result(one, answer))
                faults = [*answer.faults, *_fit(answer, wanted)]
                _add(report, one, faults)
        report.items = in_order(report.items)


def _result(one: ObjectResult, answer: FleetAnswer) -> FleetResult:
    requests: list[dict[str, Any]] = [
        {"name": count.name, "class": count.device_class, "matching": count.matching, "nodes": count.nodes}
        for count in answer.requests
    ]
    note = answer.note or (f"kube-scheduler would give up: {answer.error}" if answer.error else "")
    return FleetResult(
        one.file,
        one.document,
        one.kind,
        one.namespace,
        one.name,
        requests,
        answer.nodes,
        len(answer.fits),
        answer.fits,
        note,
    )


def _fit(answer: FleetAnswer, wanted: int) -> list[Fault]:
    """A claim that fits on too few nodes."""
    if answer.note or answer.nodes == 0:
        return []
    found = len(answer.fits)
    if wanted and found < wanted:
        message = f"it fits on {found} of {answer.nodes} nodes as the fleet is now, at least {wanted} are wanted"
        return [Fault(advice.FITS_NOWHERE, message, ("metadata", "name"), evidence={"fits": found})]
    if not wanted and found == 0:
        message = f"it fits on none of the {answer.nodes} nodes as the fleet is now"
        return [Fault(advice.FLEET_NOTE, message, ("metadata", "name"), evidence={"fits": 0})]
    return []


def _add(report: ValidationReport, one: ObjectResult, faults: list[Fault]) -> None:
    if not faults:
        return
    document = _document(one)
    subject = ObjectRef(one.kind, one.name, one.namespace, one.api_version)
    for fault in faults:
        item = item_of(fault, document, one, subject)
        report.items.append(item)
        if one.verdict == "accepted":
            one.verdict = "accepted-with-warning"
            report.counts["accepted"] -= 1
            report.counts["accepted-with-warning"] += 1


def _document(one: ObjectResult) -> Document | None:
    """The document again, for lines and columns; None where it came from stdin."""
    if one.file == "<stdin>":
        return None
    for found in read_file(one.file):
        if isinstance(found, Document) and found.index == one.document and found.line == one.line:
            return found
    return None
