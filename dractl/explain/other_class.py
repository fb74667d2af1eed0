"""Classes that would serve a request whose own class selects nothing of what there is."""

from __future__ import annotations

from dataclasses import replace

from dractl.explain.answer import Answer
from dractl.explain.case import Case
from dractl.explain.nodes import drivers_of
from dractl.explain.words import count, natural, ranges
from dractl.kube.objects import ClaimRequest, DeviceClass, ResourceClaim

_TRIED = 8
"""So many classes are tried at most."""


def explain_other_classes(case: Case, answer: Answer, index: int) -> None:
    """Say which other classes select devices of the same drivers, and where the claim would fit with them."""
    ask = case.survey.asks[index]
    drivers = drivers_of(case.survey, index)
    others = [
        one
        for name, one in sorted(case.inventory.classes.items(), key=lambda item: natural(item[0]))
        if name != ask.spec.device_class_name and _is_about(one, drivers)
    ]
    _all_cut(case, answer, drivers)
    for one in others[:_TRIED]:
        changed = [_changed(claim, ask.name, one) if claim is ask.claim else claim for claim in case.claims]
        again = Case(case.inventory, case.release, case.profile, changed, case.pods, case.held, case.now, case.limits)
        where = [index for index, other in enumerate(again.survey.asks) if other.label == ask.label]
        selected = {
            device
            for number in where
            for device, judgement in again.survey.judgements[number].items()
            if judgement.selected
        }
        if not selected:
            continue
        fitting = [node.name for node in again.fitting()]
        fits = f"; with it the claim would fit on {ranges(fitting, 4)}" if fitting else ""
        answer.say(f"class {one.meta.name} selects {count(len(selected), 'device')} of them{fits}")
        if fitting:
            answer.advise(f"name class {one.meta.name} in request {ask.label}, if such a device is what is wanted")


def _changed(claim: ResourceClaim, name: str, device_class: DeviceClass) -> ResourceClaim:
    requests = [_with_class(one, name, device_class.meta.name) for one in claim.spec.requests]
    return replace(claim, spec=replace(claim.spec, requests=requests))


def _with_class(request: ClaimRequest, name: str, class_name: str) -> ClaimRequest:
    main, _, sub = name.partition("/")
    if request.name != main:
        return request
    if request.exactly is not None:
        return replace(request, exactly=replace(request.exactly, device_class_name=class_name))
    alternatives = [
        replace(one, device_class_name=class_name) if one.name == sub else one for one in request.first_available
    ]
    return replace(request, first_available=alternatives)


def _is_about(device_class: DeviceClass, drivers: set[str]) -> bool:
    return any(driver in (one.cel or "") for one in device_class.selectors for driver in drivers)


def _all_cut(case: Case, answer: Answer, drivers: set[str]) -> None:
    """Where every GPU of the driver is cut into MIG devices."""
    if "gpu.nvidia.com" not in drivers:
        return
    kinds: dict[str, set[str]] = {}
    for device, published in case.inventory.devices.items():
        attribute = published.device.attributes.get("type") if device.driver == "gpu.nvidia.com" else None
        if attribute is not None:
            kinds.setdefault(str(attribute.value), set()).add(device.pool)
    if set(kinds) == {"mig"}:
        nodes = sorted(kinds["mig"], key=natural)
        answer.say(
            f"all GPUs on {ranges(nodes, 4)} are in MIG mode: they are published as MIG devices, and none as a whole"
        )
        answer.advise(
            "ask for a MIG device (class mig.nvidia.com), or switch MIG off on a GPU that is to be used whole"
        )
