"""The entries of a pod's spec.resourceClaims whose claim is not there: missing, not made, refused, another pod's."""

from __future__ import annotations

import re

from dractl.explain.answer import Answer
from dractl.explain.lifecycle import events_about, life_of
from dractl.explain.report import EntryView
from dractl.explain.troubles import trouble_in
from dractl.explain.words import listing, near, plural
from dractl.inventory import Inventory, Key, LinkState, PodClaim, key_of
from dractl.kube.objects import ClaimSpec, Event, Pod, ResourceClaimTemplate
from dractl.rules import lifecycle
from dractl.rules.finding import ObjectRef

ADMIN_LABEL = "resource.kubernetes.io/admin-access"
_QUOTA = re.compile(
    r"exceeded quota: (?P<quota>[^,]+), requested: (?P<requested>.+?), used: (?P<used>.+?), limited: (?P<limited>.+)$"
)
_DEVICES_OF_CLASS = ".deviceclass.resource.k8s.io/devices"


def entry_view(inventory: Inventory, link: PodClaim) -> EntryView:
    """One entry as the report shows it."""
    entry = link.entry
    if entry is None:
        name, source = "extended resources", "made by the scheduler for the pod's extended resources"
    elif entry.resource_claim_template_name:
        name, source = entry.name, f"template {entry.resource_claim_template_name}"
    else:
        name, source = entry.name, f"claim {entry.resource_claim_name}"
    stage = _stage(inventory, link)
    text = f"{source}: {stage}" if link.claim is None else f"claim {link.claim.meta.name}, {stage}"
    return EntryView(name, source, link.claim_name, stage, text)


def _stage(inventory: Inventory, link: PodClaim) -> str:
    if link.claim is not None and link.state is LinkState.FOUND:
        return life_of(inventory, link.claim).stage
    return {
        LinkState.NOT_NEEDED: "no claim needed",
        LinkState.CLAIM_MISSING: "claim missing",
        LinkState.TEMPLATE_MISSING: "template missing",
        LinkState.NOT_CREATED: "no claim yet",
        LinkState.FOREIGN: "claim of another pod",
    }.get(link.state, "no claim yet")


def explain_missing_claim(inventory: Inventory, answer: Answer, link: PodClaim) -> None:
    """Say why an entry has no claim that the pod can use."""
    pod = link.pod
    event = creation_event(inventory, pod, link)
    if link.state is LinkState.TEMPLATE_MISSING:
        _template_missing(inventory, answer, link, event)
    elif link.state is LinkState.CLAIM_MISSING:
        _claim_missing(inventory, answer, link)
    elif link.state is LinkState.FOREIGN:
        owner = listing([one.name for one in link.claim.meta.owners if one.controller], 2) if link.claim else ""
        text = (
            f"the status of pod {key_of(pod)} names claim {link.claim_name} for entry {_entry(link)}, but that claim "
            f"belongs to another pod{f' ({owner} with another uid)' if owner else ''}"
        )
        answer.say(text)
        answer.find(lifecycle.FOREIGN_CLAIM.finding(text, _subject(pod)))
        answer.advise(f"delete claim {link.claim_name} (or the pod); the controller then makes one for this pod")
    else:
        _not_created(inventory, answer, link, event)


def creation_event(inventory: Inventory, pod: Pod, link: PodClaim) -> Event | None:
    """The latest event about the creation of an entry's claim."""
    marks = (f"PodResourceClaim {_entry(link)}:", f'claim "{_entry(link)}"')
    found = [
        event
        for event in events_about(inventory, None, [pod])
        if event.reason == "FailedResourceClaimCreation" and any(mark in event.message for mark in marks)
    ]
    return found[-1] if found else None


def _entry(link: PodClaim) -> str:
    return link.entry.name if link.entry else "(extended resources)"


def _subject(pod: Pod) -> ObjectRef:
    return ObjectRef("Pod", pod.meta.name, pod.meta.namespace)


def _template_missing(inventory: Inventory, answer: Answer, link: PodClaim, event: Event | None) -> None:
    pod, namespace = link.pod, link.pod.meta.namespace
    name = link.entry.resource_claim_template_name if link.entry else ""
    if "ResourceClaimTemplate" in inventory.provenance.unseen:
        answer.say(f"entry {_entry(link)} of pod {key_of(pod)} has no claim yet; templates could not be read")
        return
    text = (
        f"entry {_entry(link)} of pod {key_of(pod)} names ResourceClaimTemplate {name}, which does not exist in "
        f"namespace {namespace}, so its claim is not made and the scheduler does not look at the pod"
    )
    answer.say(text)
    answer.find(lifecycle.TEMPLATE_MISSING.finding(text, _subject(pod)))
    if event is not None and event.count > 1:
        answer.say(f"the claim controller has tried {event.count} times (event FailedResourceClaimCreation)")
    _suggest(answer, str(name), "template", namespace, list(inventory.templates))
    answer.advise(
        f"create ResourceClaimTemplate {name} in namespace {namespace} (the controller then makes the claim by "
        "itself), or make the pod anew with the right name"
    )


def _claim_missing(inventory: Inventory, answer: Answer, link: PodClaim) -> None:
    pod, namespace = link.pod, link.pod.meta.namespace
    if link.entry is not None and link.entry.resource_claim_name is None:
        text = (
            f"claim {link.claim_name}, which was made for entry {_entry(link)} of pod {key_of(pod)}, does not exist "
            "any more"
        )
        if not pod.node_name:
            text += "; the controller makes a new one while the pod is pending"
    else:
        text = (
            f"pod {key_of(pod)} names claim {link.claim_name} (entry {_entry(link)}), which does not exist in "
            f"namespace {namespace}, so the scheduler does not look at the pod"
        )
    answer.say(text)
    answer.find(lifecycle.CLAIM_MISSING.finding(text, _subject(pod)))
    _suggest(answer, str(link.claim_name), "claim", namespace, list(inventory.claims))
    templates = [key for key in inventory.templates if key == Key(namespace, str(link.claim_name))]
    if templates:
        answer.say(
            "a ResourceClaimTemplate of that name exists: the entry may be meant to say resourceClaimTemplateName "
            "instead of resourceClaimName"
        )
    if link.entry is not None and link.entry.resource_claim_name is not None:
        answer.advise(
            f"create claim {link.claim_name} in namespace {namespace}, or make the pod anew with the name of a claim "
            "that exists"
        )


def _suggest(answer: Answer, name: str, kind: str, namespace: str, keys: list[Key]) -> None:
    """Near names in the namespace, the same name in others."""
    here = [key.name for key in keys if key.namespace == namespace]
    elsewhere = sorted({key.namespace for key in keys if key.name == name and key.namespace != namespace})
    alike = near(name, here)
    if alike:
        answer.say(f"there {plural(len(alike), 'is')} {kind} {listing(alike, 3, 'or')} in namespace {namespace}")
    if elsewhere:
        answer.say(
            f"a {kind} of that name exists in namespace {listing(elsewhere, 4)}, but a pod can use only those of its "
            "own namespace"
        )


def _not_created(inventory: Inventory, answer: Answer, link: PodClaim, event: Event | None) -> None:
    pod = link.pod
    template = link.template
    name = f"{pod.meta.namespace}/{template.meta.name}" if template else "its template"
    if event is None:
        if template is not None and _needs_label(template) and not _labelled(inventory, pod.meta.namespace):
            _admin_label(inventory, answer, link, name)
            return
        answer.say(
            f"the claim for entry {_entry(link)} of pod {key_of(pod)} does not exist yet: the claim controller (in "
            f"kube-controller-manager) has not made it from template {name}, and no event says why"
        )
        answer.advise(
            "if it stays so for more than a few seconds, look at kube-controller-manager (resource claim controller) "
            f"and at the events of pod {key_of(pod)}"
        )
        return
    message = event.message.partition(": ")[2] or event.message
    quota = _QUOTA.search(event.message)
    if ADMIN_LABEL in event.message:
        _admin_label(inventory, answer, link, name)
    elif quota:
        _quota(inventory, answer, link, name, quota)
    else:
        text = (
            f"the claim for entry {_entry(link)} of pod {key_of(pod)} does not exist: creating it from template {name} "
            f"fails: {message}"
        )
        answer.say(text)
        answer.find(lifecycle.CREATION_REFUSED.finding(text, _subject(pod)))
        answer.advise(_way_out(message))
    if event.count > 1:
        answer.say(f"the claim controller has tried {event.count} times (event FailedResourceClaimCreation)")


def _way_out(message: str) -> str:
    """What to do about a refusal: a webhook that does not answer, a fault of the driver's config, or what is named."""
    hook = re.search(r'failed calling webhook "([^"]+)"', message)
    if hook is not None:
        service = re.search(r'Post "https?://([^:/"?]+)', message)
        where = f" (service {service[1].removesuffix('.svc')})" if service else ""
        return (
            f"bring the admission webhook {hook[1]} back{where}: look at its pods and its certificate; the controller "
            "then makes the claim by itself. If its driver is gone, delete its ValidatingWebhookConfiguration"
        )
    known = trouble_in(message)
    if known is not None and "{" not in known[0].advice:
        return f"{known[0].advice} (in the template); the controller then makes the claim by itself"
    return "remove what the answer above names; the controller then makes the claim by itself"


# --- admin access ---------------------------------------------------------------------------------------------------


def _needs_label(template: ResourceClaimTemplate) -> bool:
    return any(one.exactly is not None and one.exactly.admin_access for one in template.spec.requests)


def _labelled(inventory: Inventory, namespace: str) -> bool:
    known = inventory.namespaces.get(namespace)
    return known is None or known.meta.labels.get(ADMIN_LABEL) == "true"


def _admin_label(inventory: Inventory, answer: Answer, link: PodClaim, template: str) -> None:
    pod = link.pod
    namespace = pod.meta.namespace
    text = (
        f"the claim for entry {_entry(link)} of pod {key_of(pod)} does not exist: creating it from template {template} "
        f"is refused, because the template asks for adminAccess and that needs the namespace label {ADMIN_LABEL} with "
        "exactly the value true"
    )
    answer.say(text)
    subject = ObjectRef("Namespace", namespace)
    answer.find(lifecycle.ADMIN_LABEL.finding(text, subject))
    answer.find(lifecycle.CREATION_REFUSED.finding(text, _subject(pod)))
    known = inventory.namespaces.get(namespace)
    labels = known.meta.labels if known else {}
    value = labels.get(ADMIN_LABEL)
    alike = [key for key in labels if key != ADMIN_LABEL and near(ADMIN_LABEL, [key])]
    if known is None:
        answer.say(f"namespace {namespace} is not in the input, so its labels are not known")
    elif value == "true":
        answer.say(f"namespace {namespace} carries the label now, so the controller's next try will succeed")
    elif value is not None:
        case = " (upper case)" if value.lower() == "true" else ""
        answer.say(f"namespace {namespace} carries the label, but with the value {value}{case}, which does not count")
    elif alike:
        answer.say(f"namespace {namespace} carries {alike[0]}={labels[alike[0]]}, which is another label")
    else:
        answer.say(f"namespace {namespace} does not carry the label")
    answer.advise(
        f"set the label of namespace {namespace} to true (lower case): kubectl label namespace {namespace} "
        f"{ADMIN_LABEL}=true --overwrite; the controller then makes the claim by itself. Devices in use by others are "
        "no obstacle to admin access"
    )


# --- quota ----------------------------------------------------------------------------------------------------------


def _amounts(text: str) -> dict[str, str]:
    return dict(part.split("=", 1) for part in text.split(",") if "=" in part)


def _quota(inventory: Inventory, answer: Answer, link: PodClaim, template: str, match: re.Match[str]) -> None:
    pod = link.pod
    quota = match["quota"].strip()
    requested, used, limited = (_amounts(match[part]) for part in ("requested", "used", "limited"))
    parts = [
        f"{name} to {limited.get(name, '?')} (used {used.get(name, '?')}), and the claim asks for {amount}"
        for name, amount in requested.items()
    ]
    text = (
        f"the claim for entry {_entry(link)} of pod {key_of(pod)} is not made: ResourceQuota "
        f"{pod.meta.namespace}/{quota} limits {listing(parts, 3)} (template {template})"
    )
    answer.say(text)
    answer.find(lifecycle.QUOTA.finding(text, ObjectRef("ResourceQuota", quota, pod.meta.namespace)))
    answer.find(lifecycle.CREATION_REFUSED.finding(text, _subject(pod)))
    spec = link.template.spec if link.template else ClaimSpec()
    for name, amount in requested.items():
        if name.endswith(_DEVICES_OF_CLASS):
            class_name = name.removesuffix(_DEVICES_OF_CLASS)
            _devices_quota(inventory, answer, spec, class_name, amount, limited.get(name), quota)
        else:
            answer.advise(f"free some of {name} in namespace {pod.meta.namespace}, or raise quota {quota}")


def _devices_quota(
    inventory: Inventory, answer: Answer, spec: ClaimSpec, class_name: str, amount: str, limit: str | None, quota: str
) -> None:
    """Why a claim is charged as it is: All counts as the largest possible number, of alternatives the largest "
    "counts."""
    asking_all = [
        request.name
        for request in spec.requests
        for one in ([request.exactly] if request.exactly else request.first_available)
        if one.device_class_name == class_name and one.allocation_mode == "All"
    ]
    on_nodes, at = _most_on_a_node(inventory, class_name)
    if asking_all:
        there = f", not with the {on_nodes} that {at} has" if on_nodes else ""
        answer.say(
            f"request {listing(asking_all, 3)} of the template has allocationMode All; quota charges such a request "
            f"with the largest possible number of devices of a claim (32){there}"
        )
        fits_in = on_nodes and limit is not None and limit.isdigit() and on_nodes <= int(limit)
        within = f" ({on_nodes} is within the quota)" if fits_in else ""
        answer.advise(f"ask for a count{within} instead of All, or raise quota {quota} to at least {amount}")
    else:
        answer.advise(f"ask for fewer devices of class {class_name}, or raise quota {quota} ({amount} needed on top)")


def _most_on_a_node(inventory: Inventory, class_name: str) -> tuple[int, str]:
    """The largest number of devices of a driver named like the class that one node has, and the node."""
    numbers: dict[str, int] = {}
    for device, published in inventory.devices.items():
        if device.driver == class_name and published.node_name:
            numbers[published.node_name] = numbers.get(published.node_name, 0) + 1
    node = max(numbers, key=lambda name: numbers[name], default="")
    return numbers.get(node, 0), node
