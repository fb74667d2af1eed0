"""``explain class``: which devices a class selects, which it nearly selects, and who asks for it."""

from __future__ import annotations

from dractl.errors import DractlError
from dractl.explain.claim import Question
from dractl.explain.device import class_ask
from dractl.explain.judge import drivers_named
from dractl.explain.lifecycle import life_of
from dractl.explain.nearest import device_names, fault_text, same_driver
from dractl.explain.reports import AskView, ClassExplanation, MissView
from dractl.explain.survey import Survey
from dractl.explain.words import count, listing, natural, near, plural, ranges, sentence
from dractl.inventory import DeviceId, Inventory, key_of
from dractl.rules import allocation as rules
from dractl.rules.finding import ObjectRef


def explain_class(question: Question, name: str) -> ClassExplanation:
    """Explain a DeviceClass.

    Raises:
        DractlError: if there is no such class.
    """
    inventory = question.inventory
    device_class = inventory.classes.get(name)
    if device_class is None:
        alike = near(name, inventory.classes)
        hint = f"Did you mean {listing(alike, 3, 'or')}?" if alike else _known(inventory)
        raise DractlError(f"class {name} is not in {inventory.provenance.description or 'the input'}", hint)
    survey = Survey(inventory, question.profile, [class_ask(device_class, inventory.classes)])
    selected = [one for one, judgement in survey.judgements[0].items() if judgement.selected]
    free = [one for one in selected if survey.judgements[0][one].code is None]
    by_node: dict[str, int] = {}
    for device in selected:
        for node in survey.nodes_of_device.get(device, []):
            by_node[node] = by_node.get(node, 0) + 1
    report = ClassExplanation(
        name,
        "",
        selected=len(selected),
        free=len(free),
        by_node={node: by_node[node] for node in sorted(by_node, key=natural)},
        misses=_misses(survey),
        claims=_claims(inventory, name),
        extended_resource=device_class.extended_resource_name,
    )
    told = [_overview(inventory, report, drivers_named(device_class))]
    told += _errors(survey, report, name)
    _extended(inventory, report, told)
    pending = [one.claim for one in report.claims if one.code is not None]
    if pending:
        asks = plural(len(pending), "asks", "ask")
        told.append(f"{count(len(pending), 'pending claim')} {asks} for it: {listing(pending, 6)}")
    report.summary, report.details = sentence(told[0]), [sentence(text) for text in told[1:]]
    return report


def _known(inventory: Inventory) -> str:
    known = listing(sorted(inventory.classes), 10)
    return f"Classes there: {known}." if known else "It holds no DeviceClass."


def _overview(inventory: Inventory, report: ClassExplanation, drivers: list[str]) -> str:
    if report.selected:
        nodes = ranges(list(report.by_node), 6)
        free = f"{report.free} {plural(report.free, 'is')} free"
        if report.free == report.selected:
            free = "all are free" if report.free > 1 else "which is free"
        return f"class {report.name} selects {count(report.selected, 'device')} on {nodes}: {free}"
    absent = [one for one in drivers if not any(key.driver == one for key in inventory.pools)]
    if absent:
        return f"class {report.name} selects nothing: no ResourceSlice of driver {listing(absent, 3)} exists"
    return f"class {report.name} selects none of the published devices"


def _errors(survey: Survey, report: ClassExplanation, name: str) -> list[str]:
    """Devices on which the class itself fails: that stops every claim that uses it on their nodes."""
    failing = [one for one, judgement in survey.judgements[0].items() if judgement.code == "selector-error"]
    if not failing:
        return []
    fault = survey.judgements[0][failing[0]].selection.faults[0]
    text = (
        f"its selector fails on {device_names(failing)} ({fault.text}), which stops every claim that uses the class on "
        "their nodes"
    )
    report.findings.append(rules.SELECTOR_ERROR.finding(text, ObjectRef("DeviceClass", name)))
    return [text]


def _extended(inventory: Inventory, report: ClassExplanation, told: list[str]) -> None:
    resource = report.extended_resource
    if resource is None:
        return
    serving = [one for one in inventory.classes.values() if one.extended_resource_name == resource]
    plugin = [name for name, node in inventory.nodes.items() if resource in node.allocatable]
    told.append(f"it serves the extended resource {resource}")
    if len(serving) > 1:
        serving.sort(key=lambda one: one.meta.name)
        serving.sort(key=lambda one: one.meta.creation_timestamp or "", reverse=True)
        used = serving[0].meta.name
        text = f"{len(serving)} classes carry {resource}, and the one created last, {used}, is used" + (
            "" if used == report.name else f"; {report.name} is without effect for it"
        )
        told.append(text)
        report.findings.append(rules.CLASS_SHADOWED.finding(text, ObjectRef("DeviceClass", report.name)))
    if plugin:
        where = ranges(plugin, 4)
        told.append(f"on {where} a device plugin advertises {resource} itself, and the class is not used there")


def _misses(survey: Survey) -> list[MissView]:
    """Devices of the class's drivers that it does not select, those that fail least first."""
    groups: dict[tuple[str, ...], list[DeviceId]] = {}
    for device, judgement in survey.judgements[0].items():
        faults = judgement.selection.faults
        if faults and same_driver(faults):
            groups.setdefault(tuple(fault_text(fault) for fault in faults), []).append(device)
    out = []
    for texts, devices in sorted(groups.items(), key=lambda item: (len(item[0]), -len(item[1])))[:5]:
        devices.sort(key=lambda one: natural(str(one)))
        out.append(MissView(len(devices), str(devices[0]), ", ".join(texts)))
    return out


def _claims(inventory: Inventory, name: str) -> list[AskView]:
    out = []
    for claim in inventory.claims.values():
        for request in claim.spec.requests:
            for one in [request.exactly] if request.exactly else request.first_available:
                if one.device_class_name != name:
                    continue
                label = request.name if request.exactly else f"{request.name}/{one.name}"
                stage = life_of(inventory, claim).stage
                code = "pending" if claim.allocation is None else None
                out.append(AskView(str(key_of(claim)), label, code, stage))
    return out
