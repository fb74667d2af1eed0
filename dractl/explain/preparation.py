"""What keeps allocated devices from being prepared on their node, as kubelet, driver and container runtime say it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from dractl.explain.answer import Answer
from dractl.explain.case import FITS, Case
from dractl.explain.drivers import driver_view
from dractl.explain.eligibility import pod_on_node
from dractl.explain.lifecycle import events_about, when
from dractl.explain.nearest import device_names
from dractl.explain.troubles import trouble_in
from dractl.explain.variants import without_claim
from dractl.explain.words import count, listing, natural
from dractl.inventory import DeviceId, Inventory, key_of
from dractl.kube.objects import Event, Pod, ResourceClaim
from dractl.rules import lifecycle
from dractl.rules.finding import ObjectRef

if TYPE_CHECKING:
    from dractl.explain.claim import Question

_UID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_NOT_REGISTERED = re.compile(r"DRA driver (\S+) is not registered")
_NOT_ALLOWED = re.compile(r"not allowed to use (?:resource ?claim)", re.IGNORECASE)
_SKEW = "could not find the requested resource"
_FOREIGN = re.compile(r"(already|prepared|in use|allocated).*\b(claim|for)\b", re.IGNORECASE)


def prepare_event(inventory: Inventory, pods: Sequence[Pod]) -> tuple[Pod, Event] | None:
    """The latest event by which kubelet says that it cannot prepare the claims of one of the pods, or start it."""
    found = [
        (pod, event)
        for pod in pods
        for event in events_about(inventory, None, [pod])
        if event.reason == "FailedPrepareDynamicResources" or (event.reason == "Failed" and "CDI" in event.message)
    ]
    return max(found, key=lambda item: when(item[1])) if found else None


def prepare_text(event: Event) -> str:
    """What kubelet says in such an event, without the words that are always the same."""
    text = event.message
    for prefix in ("Failed to prepare dynamic resources: ", "prepare dynamic resources: ", "Error: "):
        text = text.removeprefix(prefix)
    return f"kubelet says: {text}"


def not_started(pod: Pod) -> str | None:
    """Why the containers of a pod that is on a node have not started: ``ImagePullBackOff``, with the message."""
    for status in pod.container_statuses:
        state = status.get("state")
        waits = state.get("waiting") if isinstance(state, dict) else None
        reason = str(waits.get("reason") or "") if isinstance(waits, dict) else ""
        if reason not in ("", "ContainerCreating", "PodInitializing"):
            message = str(waits.get("message") or "") if isinstance(waits, dict) else ""
            return f"{reason} ({message})" if message else reason
    return None


def explain_preparation(question: Question, answer: Answer, claim: ResourceClaim, pod: Pod, event: Event) -> None:
    """Say what the error means, whose it is, and what to do."""
    inventory = question.inventory
    subject = ObjectRef("Pod", pod.meta.name, pod.meta.namespace)
    answer.find(lifecycle.PREPARE_FAILED.finding(answer.summary, subject))
    if _SKEW in event.message:
        _kubelet_of_another_release(question, answer, pod)
        return
    if _NOT_ALLOWED.search(event.message):
        _reserved_for_another(answer, claim, pod)
        return
    unregistered = _NOT_REGISTERED.search(event.message)
    drivers = sorted({one.driver for one in claim.allocation.results}) if claim.allocation else []
    driver = unregistered[1] if unregistered else next((one for one in drivers if one in event.message), None)
    driver = driver or (drivers[0] if drivers else "")
    if unregistered:
        answer.find(lifecycle.DRIVER_NOT_REGISTERED.finding(answer.summary, subject))
    _driver_on_node(inventory, answer, driver, pod.node_name, bool(unregistered))
    foreign = [uid for uid in _UID.findall(event.message) if uid not in (claim.meta.uid, pod.meta.uid)]
    known = trouble_in(event.message)
    if foreign and _FOREIGN.search(event.message):
        _foreign_claim(question, answer, claim, pod, event, foreign[-1], driver)
    elif known is not None:
        trouble, parts = known
        words = {**parts, "node": pod.node_name, "driver": driver, "pod": str(key_of(pod))}
        answer.say(trouble.meaning.format(**words))
        answer.advise(trouble.advice.format(**words))
        if trouble.log:
            _read_log(answer, driver, pod)
    elif not unregistered:
        _read_log(answer, driver, pod)


def _read_log(answer: Answer, driver: str, pod: Pod) -> None:
    answer.advise(f"read the log of driver {driver} on {pod.node_name}; kubelet tries again by itself")


def _kubelet_of_another_release(question: Question, answer: Answer, pod: Pod) -> None:
    """Kubelet asks for a version of the API that the server does not serve."""
    node = question.inventory.nodes.get(pod.node_name)
    version = node.kubelet_version if node is not None else ""
    whose = f"kubelet on {pod.node_name}{f' is {version} and' if version else ''}"
    answer.say(
        f"{whose} asks for claims in a version of resource.k8s.io that the API server does not serve: the claim is "
        "there, only not under that version"
    )
    answer.say(
        "kubelets up to 1.33 ask for a beta version (v1beta1), newer ones for v1; an API server of 1.34 or newer "
        f"serves v1, and beta versions only where they are switched on (Kubernetes here: {question.release.full})"
    )
    answer.advise(
        f"bring kubelet on {pod.node_name} to the release of the control plane; or let the API server serve v1beta1 "
        "until then (--runtime-config=resource.k8s.io/v1beta1=true)"
    )


def _reserved_for_another(answer: Answer, claim: ResourceClaim, pod: Pod) -> None:
    """Kubelet lets only pods use a claim for which it is reserved."""
    here = any(one.uid == pod.meta.uid for one in claim.reserved_for)
    if here:
        answer.say(f"by now the claim is reserved for pod {key_of(pod)}, so kubelet's next try will succeed")
        return
    same = any(one.name == pod.meta.name for one in claim.reserved_for)
    who = "a former pod of the same name (another uid)" if same else "other pods"
    answer.say(
        f"kubelet lets a pod use a claim only if the claim is reserved for it, and {key_of(claim)} is reserved for "
        f"{who if claim.reserved_for else 'no pod'}, not for the pod that is on {pod.node_name} now"
    )
    answer.say(
        f"the scheduler reserves when it places a pod: pod {key_of(pod)} came to {pod.node_name} past it "
        "(spec.nodeName set by hand), or the reservation was taken away since"
    )
    answer.advise(
        f"the claim controller (in kube-controller-manager) reserves an allocated claim for such a pod by itself: see "
        f"that it runs; or delete pod {key_of(pod)} and create it without nodeName, so that the scheduler places it"
    )


def _driver_on_node(inventory: Inventory, answer: Answer, driver: str, node: str, unregistered: bool) -> None:
    view = driver_view(inventory, driver)
    here = [pod for pod in view.pods if pod.pod.node_name == node]
    bad = [pod for pod in here if pod.trouble]
    for pod in bad:
        answer.say(f"on {node} the driver's pod {pod} is not running ({pod.trouble})")
    if here and not bad and not unregistered:
        answer.say(f"the driver's pod {listing([str(pod) for pod in here], 2)} on {node} runs")
    if not unregistered:
        return
    if not here and view.seen and view.pods:
        answer.say(f"no pod of the driver {driver} is on {node}")
    published = [key for key in inventory.pools if key.driver == driver and node in inventory.pools[key].nodes]
    if published:
        answer.say(f"its slice for {node} is still published, so the scheduler goes on placing pods there")
    names = listing([str(pod) for pod in bad], 2)
    answer.advise(
        f"repair the driver {driver} on {node}{f' (log of {names})' if names else ''}; cordon the node or taint its "
        "devices meanwhile, so that no more pods go there"
    )


def _foreign_claim(
    question: Question, answer: Answer, claim: ResourceClaim, pod: Pod, event: Event, uid: str, driver: str
) -> None:
    """The driver refuses a device because it has it prepared for another claim."""
    inventory = question.inventory
    other = next((one for one in inventory.claims.values() if one.meta.uid == uid), None)
    assert claim.allocation is not None
    words = set(re.findall(r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?", event.message))
    named = [one.device for one in claim.allocation.results if one.device in words]
    what = listing(dict.fromkeys(named), 4) or "a device"
    node = pod.node_name
    if other is not None:
        answer.say(f"the driver on {node} refuses {what} because it has it prepared for claim {key_of(other)} ({uid})")
        answer.advise(f"see why claim {key_of(other)} is still prepared on {node}: is a pod of it left there?")
        return
    text = (
        f"the driver on {node} refuses {what} because it has it prepared for claim UID {uid}; no claim in the cluster "
        "has that UID: it was deleted, and the driver kept its entry"
    )
    answer.say(text)
    answer.find(
        lifecycle.DRIVER_KEEPS_CLAIM.finding(text, ObjectRef("ResourceClaim", claim.meta.name, claim.meta.namespace))
    )
    assert claim.allocation is not None
    devices = [DeviceId(one.driver, one.pool, one.device) for one in claim.allocation.results]
    holders = [holder for one in devices for holder in inventory.holders.get(one, [])]
    alone = all(holder.claim is claim for holder in holders if not holder.result.admin_access)
    if alone:
        answer.say(
            f"nothing in the API holds these devices twice: {claim.meta.name} is the only claim with "
            f"{device_names(devices)}"
        )
    answer.advise(
        f"on {node} clear the stale entry out of the checkpoint of driver {driver}, after making sure that no process "
        "is left on the devices"
    )
    _elsewhere(question, answer, claim, pod)


def _elsewhere(question: Question, answer: Answer, claim: ResourceClaim, pod: Pod) -> None:
    """Where a new claim of the same form would fit, the present node aside."""
    inventory, fresh = without_claim(question.inventory, claim)
    case = Case(inventory, question.release, question.profile, [fresh], [], [], question.now, question.limits)
    nodes = []
    for name, one in case.nodes.items():
        if name != pod.node_name and one.verdict == FITS:
            on = pod_on_node(_unplaced(pod), case.survey.nodes[name].node)
            if on.eligible:
                nodes.append(name)
    if not nodes:
        return
    free = listing(
        [
            f"{name} ({count(len(case.nodes[name].result.allocations[0].results), 'device')} free)"  # type: ignore[index]
            for name in sorted(nodes, key=natural)
        ],
        4,
    )
    answer.advise(
        f"until then, to run elsewhere, cordon {pod.node_name}, delete pod {key_of(pod)} and create it again, so that "
        f"it gets a new claim: it fits on {free}"
    )


def _unplaced(pod: Pod) -> Pod:
    return replace(pod, node_name="")
