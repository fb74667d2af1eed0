"""What the scheduler last said of pods whose claims fit: other reasons than devices are named, with what to do."""

from __future__ import annotations

import re
from collections.abc import Sequence

from dractl.explain.answer import Answer
from dractl.explain.words import listing, plural
from dractl.inventory import key_of
from dractl.kube.objects import Pod
from dractl.rules import access
from dractl.rules.finding import ObjectRef

_NODES = re.compile(r"nodes are available: (?P<reasons>.+)$", re.DOTALL)
_COUNT = re.compile(r"^\d+ ")
_AFTER = (" still not schedulable", " preemption:", " no new claims to deallocate")
_ABOUT_DEVICES = (
    "cannot allocate all claims",
    "resourceclaim not available",
    "resourceclaim in use",
    "invalid resource pools",
    "device class",
    "waiting for",
    "not found",
)
_BINDING = re.compile(r'User "(?P<user>[^"]+)" cannot \w+ resource "resourceclaims/binding"')


def explain_last_answer(pods: Sequence[Pod], answer: Answer) -> bool:
    """Say what the scheduler said, where it is not about devices; whether there was such a thing."""
    told = False
    for pod in pods:
        message = next((one.message for one in pod.conditions if one.type == "PodScheduled" and one.message), "")
        refused = _BINDING.search(message)
        if refused is not None:
            _may_not_bind(pod, refused["user"], answer)
            told = True
            continue
        others = other_reasons(message)
        if others:
            told = True
            answer.say(
                f"the scheduler's last answer for pod {key_of(pod)} names {plural(len(others), 'a reason', 'reasons')} "
                f"that {plural(len(others), 'is', 'are')} not about devices: {listing(others, 4)}"
            )
            answer.advise(f"look at what the scheduler names for pod {key_of(pod)}; with the claim all is well")
    return told


def other_reasons(message: str) -> list[str]:
    """The reasons in a message of the scheduler, without the numbers of nodes; none if one of them is about devices.

    A node that lacked devices then may have them now, and it alone may be the one that the pod can use.
    """
    found = _NODES.search(message)
    if found is None:
        return []
    text = found["reasons"]
    for mark in _AFTER:
        text = text.partition(mark)[0]
    if any(word in text for word in _ABOUT_DEVICES):
        return []
    parts = [_COUNT.sub("", part.strip(" .")) for part in text.split(", ")]
    return [part for part in dict.fromkeys(parts) if part]


def _may_not_bind(pod: Pod, user: str, answer: Answer) -> None:
    text = (
        f"the scheduler found devices for pod {key_of(pod)}, but may not write the allocation: its account {user} "
        "lacks the right to update resourceclaims/binding, which it needs since 1.36 beside resourceclaims/status"
    )
    answer.say(text)
    answer.find(access.SCHEDULER_LACKS_VERB.finding(text, ObjectRef("Pod", pod.meta.name, pod.meta.namespace)))
    answer.advise(
        f"add to the role of {user}: apiGroups [resource.k8s.io], resources [resourceclaims/binding], verbs [update, "
        "patch]"
    )
