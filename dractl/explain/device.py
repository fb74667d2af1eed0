"""``explain device``: who has a device, which classes select it, and which pending requests could take it."""

from __future__ import annotations

from typing import Literal

from dractl.errors import DractlError
from dractl.explain.claim import Question
from dractl.explain.holders import Held, holder_views
from dractl.explain.judge import Ask, asks_of, device_taint_text
from dractl.explain.lifecycle import gone_words, users_of
from dractl.explain.report import HolderView
from dractl.explain.reports import AskView, ClassView, DeviceExplanation
from dractl.explain.survey import Survey
from dractl.explain.tainting import unheeded, unheeded_why
from dractl.explain.terms import attribute_text
from dractl.explain.words import listing, near, plural, ranges, sentence
from dractl.inventory import DeviceId, Holder, Inventory, PublishedDevice, key_of
from dractl.kube.objects import ClaimRequest, Device, DeviceClass, DeviceRequest, Meta, ResourceClaim

State = Literal["free", "used", "shared", "blocked", "tainted", "unpublished"]


def explain_device(question: Question, name: str) -> DeviceExplanation:
    """Explain a device, given as ``driver/pool/device``, ``pool/device`` or, where it is the only one, ``device``.

    Raises:
        DractlError: if there is no such device, or several.
    """
    inventory = question.inventory
    device_id = find_device(inventory, name)
    published = inventory.devices.get(device_id)
    holders = inventory.holders.get(device_id, [])
    if published is None:
        names = _owners(holders)
        text = f"{device_id} is held by {listing(names, 4)}, but no current slice of its pool lists it any more"
        return DeviceExplanation(str(device_id), None, "unpublished", sentence(text), holders=_views(question, holders))
    survey = Survey(inventory, question.profile, asks_of(inventory, pending_claims(inventory)))
    seen = survey.seen.get(device_id, published.device)
    report = DeviceExplanation(
        str(device_id),
        published.node_name,
        state_of(survey, device_id, seen),
        "",
        attributes={key: attribute_text(one.value) for key, one in sorted(seen.attributes.items())},
        capacity={key: str(one.value) for key, one in sorted(seen.capacity.items())},
        taints=[device_taint_text(taint) for taint in seen.taints],
        holders=_views(question, holders),
        classes=[_class_view(survey, one, device_id, seen) for one in inventory.classes.values()],
    )
    _asks(survey, device_id, report)
    told = _sentences(question, survey, published, seen, holders)
    report.summary, report.details = sentence(told[0]), [sentence(text) for text in told[1:]]
    return report


def find_device(inventory: Inventory, name: str) -> DeviceId:
    """The device that a name means, among the published ones and those that claims hold."""
    known = dict.fromkeys([*inventory.devices, *inventory.holders])
    whole = DeviceId.parse(name)
    if whole is not None and whole in known:
        return whole
    found = [one for one in known if str(one).endswith(f"/{name}") or one.device == name]
    if len(found) == 1:
        return found[0]
    where = inventory.provenance.description or "the input"
    if found:
        raise DractlError(
            f"{len(found)} devices are called {name}",
            f"Give it as driver/pool/device: {listing([str(one) for one in found], 4, 'or')}.",
        )
    alike = near(name, [str(one) for one in known]) or near(name.rpartition("/")[2], {one.device for one in known})
    hint = f"Did you mean {listing(alike, 3, 'or')}?" if alike else "List the devices with: dractl get devices."
    raise DractlError(f"device {name} is not in {where}", hint)


def pending_claims(inventory: Inventory) -> list[ResourceClaim]:
    """Claims without an allocation that are not being deleted."""
    return [one for one in inventory.claims.values() if one.allocation is None and not one.meta.deletion_timestamp]


def state_of(survey: Survey, device_id: DeviceId, device: Device) -> State:
    """Whether a published device could be taken."""
    room = survey.judge.room
    if device_id in room.exclusive:
        return "used"
    if any(taint.effect in ("NoSchedule", "NoExecute") for taint in device.taints):
        return "tainted"
    if device_id in room.shares:
        return "shared"
    return "blocked" if room.shortages(device_id, device) else "free"


def _sentences(
    question: Question, survey: Survey, published: PublishedDevice, device: Device, holders: list[Holder]
) -> list[str]:
    name = str(published.id)
    where = f" on {published.node_name}" if published.node_name else ""
    out = []
    taking = [one for one in holders if not one.result.admin_access]
    if taking:
        shares = [one for one in taking if one.result.share_id]
        verb = f"is shared by {plural(len(shares), 'claim')}" if shares else "is in use by claim"
        users = [str(key_of(pod)) for one in taking for pod in users_of(question.inventory, one.claim)]
        pods = f" ({plural(len(users), 'pod')} {listing(dict.fromkeys(users), 4)})" if users else ""
        out.append(f"{name}{where} {verb} {listing(_owners(taking), 4)}{pods}")
    shortages = survey.judge.room.shortages(published.id, device)
    if not taking and shortages:
        by = dict.fromkeys(str(one) for shortage in shortages for one in shortage.by)
        out.append(
            f"{name}{where} is not allocated, but cannot be taken: it lacks counters "
            f"{listing([one.text for one in shortages], 4)}, which {listing(by, 4)} {plural(len(by), 'has', 'have')}"
        )
    elif not taking:
        harmful = [taint for taint in device.taints if taint.effect in ("NoSchedule", "NoExecute")]
        but = ", but only for claims that tolerate " + plural(len(harmful), "its taint") if harmful else ""
        out.append(f"{name}{where} is free{but}")
    for taint in device.taints:
        blocks = "" if taint.effect in ("NoSchedule", "NoExecute") else " (without effect on scheduling)"
        since = f" since {taint.time_added}" if taint.time_added else ""
        out.append(f"it is tainted {device_taint_text(taint)}{since}{blocks}")
    rules = unheeded(survey, [published.id])
    if rules:
        names = listing([rule.meta.name for rule in rules], 3)
        why = unheeded_why(question.profile, question.release)
        out.append(f"DeviceTaintRule {names} is for it, but is not heeded: {why}")
    for one in taking:
        words = gone_words(question.inventory, one.claim)
        if words:
            out.append(f"the reservation of claim {key_of(one.claim)} names {words}")
    admin = [one for one in holders if one.result.admin_access]
    if admin:
        have = plural(len(admin), "has", "have")
        out.append(f"{listing(_owners(admin), 4)} {have} admin access to it, which takes nothing")
    if published.id not in survey.seen:
        pool = published.pool
        why = "its pool is not complete" if not pool.complete else "no node that exists can see it"
        out.append(f"nobody can take it: {why}")
    nodes = survey.nodes_of_device.get(published.id, [])
    if not published.node_name and nodes:
        out.append(f"it can be used on {ranges(nodes, 6)}")
    return out


def _owners(holders: list[Holder]) -> list[str]:
    return list(dict.fromkeys(str(key_of(one.claim)) for one in holders))


def _views(question: Question, holders: list[Holder]) -> list[HolderView]:
    held: dict[object, Held] = {}
    for one in holders:
        entry = held.setdefault(key_of(one.claim), Held(one.claim, shared=bool(one.result.share_id)))
        entry.devices.append(DeviceId(one.result.driver, one.result.pool, one.result.device))
        entry.pods = users_of(question.inventory, one.claim)
    return holder_views(question.inventory, held.values(), question.now)


def class_ask(device_class: DeviceClass, device_classes: dict[str, DeviceClass]) -> Ask:
    """A request for one device of a class, with nothing else."""
    spec = DeviceRequest(name="", device_class_name=device_class.meta.name, allocation_mode="ExactCount", count=1)
    request = ClaimRequest("", exactly=spec)
    claim = ResourceClaim(Meta())
    return Ask(claim, request, spec, "", "", device_classes.get(device_class.meta.name))


def _class_view(survey: Survey, device_class: DeviceClass, device_id: DeviceId, device: Device) -> ClassView:
    ask = class_ask(device_class, survey.inventory.classes)
    selection = survey.judge.selection(ask, device_id.driver, device)
    text = "selects it" if selection.code is None else listing([one.text for one in selection.faults], 3)
    return ClassView(device_class.meta.name, selection.code is None, text)


def _asks(survey: Survey, device_id: DeviceId, report: DeviceExplanation) -> None:
    for index, ask in enumerate(survey.asks):
        judgement = survey.judgements[index].get(device_id)
        if judgement is None or judgement.code == "class-selector":
            continue
        report.claims.append(
            AskView(str(key_of(ask.claim)), ask.name, judgement.code, judgement.text or "could take it")
        )
