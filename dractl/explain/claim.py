"""``explain claim``: where a claim stands, and why it is not further."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dractl.allocator.allocator import NO_LIMITS
from dractl.allocator.profile import Profile
from dractl.allocator.search import Limits
from dractl.errors import DractlError
from dractl.explain.allocated import explain_allocated, explain_deleting
from dractl.explain.answer import Answer
from dractl.explain.case import DOES_NOT_FIT, FITS, Case, NodeAnswer
from dractl.explain.devices import free_devices
from dractl.explain.eligibility import closed_words
from dractl.explain.holders import holder_views
from dractl.explain.last_answer import explain_last_answer
from dractl.explain.lifecycle import (
    age_of,
    allocation_view,
    event_view,
    events_about,
    life_of,
    pod_views,
    pods_known,
    users_of,
    waiting,
)
from dractl.explain.pending import explain_devices
from dractl.explain.placement import gates, placed_by_hand, pods_text
from dractl.explain.repeated import explain_repeated
from dractl.explain.report import ClaimExplanation, NameView, PodExplanation, Verdict
from dractl.explain.tainting import taint_rules
from dractl.explain.views import constraint_views, node_views, request_views
from dractl.explain.words import listing, near, plural, ranges
from dractl.inventory import Inventory, Key, Release, key_of
from dractl.kube.objects import Pod, ResourceClaim
from dractl.rules import allocation, lifecycle
from dractl.rules.finding import ObjectRef

VERDICTS: dict[str, Verdict] = {"fits": "fits", "doesNotFit": "doesNotFit", "error": "error", "undecided": "undecided"}


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked, and under which rules: release and profile, the reference time of ages, the node to show.

    ``fixes`` asks for what would help, too: most of the work on a large cluster.
    """

    inventory: Inventory
    release: Release
    profile: Profile
    now: str | None = None
    node: str | None = None
    limits: Limits = NO_LIMITS
    fixes: bool = True


def explain_claim(question: Question, namespace: str, name: str) -> ClaimExplanation:
    """Explain a claim.

    Raises:
        DractlError: if there is no such claim; the hint names what there is instead.
    """
    claim = question.inventory.claims.get(Key(namespace, name))
    if claim is None:
        raise _not_found(question.inventory, namespace, name)
    check_node(question)
    return explain(question, claim)


def check_node(question: Question) -> None:
    """Raise a DractlError if the node asked about is not known."""
    inventory, node = question.inventory, question.node
    if node is None or node in inventory.nodes:
        return
    known = set(inventory.nodes) or {name for pool in inventory.pools.values() for name in pool.nodes}
    if node in known:
        return
    alike = near(node, known)
    raise DractlError(
        f"node {node} is not in {inventory.provenance.description or 'the input'}",
        f"Did you mean {listing(alike, 3, 'or')}?" if alike else f"Nodes there: {ranges(list(known), 10) or 'none'}.",
    )


def explain(question: Question, claim: ResourceClaim) -> ClaimExplanation:
    """Explain a claim of the inventory."""
    inventory = question.inventory
    life = life_of(inventory, claim)
    report = ClaimExplanation(
        claim=NameView(claim.meta.namespace, claim.meta.name, claim.meta.uid),
        kubernetes=question.release.full,
        state=life.state,  # type: ignore[arg-type]
        stage=life.stage,
        verdict="undecided",
        summary="",
        age=age_of(inventory, claim.meta, question.now),
        pods=pod_views(inventory, claim, question.now),
        allocation=allocation_view(inventory, claim),
    )
    answer = Answer()
    users = users_of(inventory, claim)
    if claim.meta.deletion_timestamp:
        report.verdict = "allocated" if claim.allocation is not None else "undecided"
        explain_deleting(question, answer, claim, users)
    if claim.allocation is not None:
        report.verdict = "allocated"
        explain_allocated(question, answer, claim, users)
    elif not claim.meta.deletion_timestamp:
        _pending(question, claim, users, answer, report)
    report.events = [event_view(inventory, one, question.now) for one in events_about(inventory, claim, users)]
    put(question, answer, report)
    return report


def put(question: Question, answer: Answer, report: ClaimExplanation | PodExplanation) -> None:
    """Put the sentences into the report."""
    report.summary = answer.summary
    report.details = answer.details
    report.actions = answer.actions
    report.findings = sorted(answer.findings, key=lambda one: (-one.severity.rank, one.code))
    for kind, reason in question.inventory.provenance.unseen.items():
        answer.note(f"{kind} could not be read ({reason}), so nothing is said about it")
    report.notes = answer.notes


def _pending(
    question: Question, claim: ResourceClaim, users: list[Pod], answer: Answer, report: ClaimExplanation
) -> None:
    inventory = question.inventory
    pods = waiting(users)
    by_hand = [pod for pod in users if pod.node_name and not pod.meta.deletion_timestamp]
    case = case_of(question, [claim], pods)
    if question.fixes and (pods or not by_hand):
        add_fixes(case, report)
    report.verdict = VERDICTS[case.verdict] if report.stage != "class missing" else "error"
    if by_hand and not pods:
        placed_by_hand(case, answer, by_hand)
        report.verdict = _verdict_on(case, by_hand)
    else:
        apart = case.verdict == FITS and not_together(question, claim, pods, answer)
        fits_or_not(case, answer, report, waits=not apart)
    if not users:
        nobody(inventory, claim, answer, case)
    evidence(case, question, report)
    other_claims(question, claim, pods, answer)
    taint_rules(case, answer)
    remarks(question, case, answer)


def add_fixes(case: Case, report: ClaimExplanation | PodExplanation) -> None:
    """Look for changes after which the claims would fit."""
    from dractl.simulate.conflict import find_conflict
    from dractl.simulate.fixes import find_fixes

    report.conflict = find_conflict(case.idle or case).views() if case.verdict == DOES_NOT_FIT else []
    found = find_fixes(case)
    report.fixes, report.fixes_note = found.fixes, found.note


def fits_or_not(case: Case, answer: Answer, report: ClaimExplanation, waits: bool = True) -> None:
    """The main part: fits and (where nothing else is known) what it waits for, or why not; with the holders."""
    if case.verdict == FITS:
        fits(case, answer, waits)
        return
    gated = Answer()
    held = explain_devices(case, answer)
    report.holders = holder_views(case.inventory, held, case.now)
    if gates(case.inventory, case.pods, gated, classes_of(case)):
        # the gate decides first: nothing of the rest has been tried by the scheduler yet
        for text in (gated.summary, *gated.details):
            answer.say(text)
        answer.actions[:0] = gated.actions
        for finding in gated.findings:
            answer.find(finding)


def fits(case: Case, answer: Answer, waits: bool = True) -> None:
    """The claims fit on nodes that the pods may use: say where, and what they may be waiting for."""
    fitting = case.fitting()
    # where no pod is known, the nodes apart that most pods may not use
    closed = [one for one in fitting if not case.pods and closed_words(one.reason.facts.node)]
    free = [one for one in fitting if one not in closed] or closed
    names = ranges([one.name for one in free], 5)
    subject = listing([f"claim {key_of(claim)}" for claim in case.claims], 3)
    verb = plural(len(case.claims), "fits", "fit")
    example = free_devices(case, free[0].name)
    gated = Answer()
    if case.pods and gates(case.inventory, case.pods, gated, classes_of(case)):
        answer.say(
            f"{subject} {verb} on {names} ({example}); devices are not what it waits for: {_lower(gated.summary)}"
        )
        for text in gated.details:
            answer.say(text)
        answer.actions.extend(gated.actions)
        for finding in gated.findings:
            answer.find(finding)
        return
    answer.say(f"{subject} {verb} on {names} ({example}){_closed(closed, free is closed)}")
    explain_repeated(case, answer, fitting[0])
    if case.pods and waits:
        _not_yet_placed(case, answer)


def _closed(nodes: Sequence[NodeAnswer], all_of_them: bool) -> str:
    """The nodes that most pods may not use, and why."""
    parts = [f"{one.name} ({listing(closed_words(one.reason.facts.node), 3)})" for one in nodes]
    if not parts:
        return ""
    return (
        f", where pods may not go without more: {listing(parts, 4)}"
        if all_of_them
        else (f"; besides on {listing(parts, 4)}, where pods may not go without more")
    )


def classes_of(case: Case) -> list[str]:
    """The classes that the claims name."""
    return list(dict.fromkeys(ask.spec.device_class_name for ask in case.survey.asks))


def _not_yet_placed(case: Case, answer: Answer) -> None:
    """Why a pod whose claims fit may still wait."""
    if explain_last_answer(case.pods, answer):
        return
    pods = pods_text(case.pods)
    said = [pod for pod in case.pods if any(one.type == "PodScheduled" for one in pod.conditions)]
    names = dict.fromkeys(
        pod.scheduler_name for pod in case.pods if pod.scheduler_name not in ("", "default-scheduler")
    )
    if not said and not names:
        answer.say(f"the scheduler has said nothing about {pods} yet; it may be placed any moment")
    elif said:
        answer.say(
            f"{pods} {plural(len(case.pods), 'waits', 'wait')} nevertheless: the scheduler's last answer may be older "
            "than the present state (it tries again on changes, and after five minutes at the latest), or something "
            "other than devices keeps it"
        )
    if names:
        seen = "" if said else ", and nothing in its status says that this scheduler has looked at it"
        answer.say(f"the pod asks for scheduler {listing(names)}, not for the default one{seen}")
        answer.advise(
            f"see that scheduler {listing(names)} runs and knows claims (DRA), or make the pod anew without "
            "spec.schedulerName"
        )
        return
    answer.advise(f"look at the events of {pods} for reasons that are not about devices")


def nobody(inventory: Inventory, claim: ResourceClaim, answer: Answer, case: Case) -> None:
    """No pod refers to the claim."""
    if not pods_known(inventory):
        return
    finished = [str(key_of(pod)) for pod in inventory.claim_pods.get(key_of(claim), [])]
    who = f"the pods that refer to claim {key_of(claim)} are finished ({listing(finished, 3)})"
    text = who if finished else f"no pod refers to claim {key_of(claim)}"
    text = f"{text}, and a claim is allocated only when a pod that uses it is scheduled"
    answer.find(lifecycle.UNUSED_CLAIM.finding(text, ObjectRef("ResourceClaim", claim.meta.name, claim.meta.namespace)))
    if case.verdict == FITS:
        answer.details.insert(0, answer.summary)
        answer.summary = ""
        details, answer.details = answer.details, []
        answer.say(f"{text}; {_lower(details[0])}")
        answer.details = details[1:]
    else:
        answer.say(text)


def _lower(text: str) -> str:
    return text[0].lower() + text[1:] if text.split(" ", 1)[0].isalpha() else text


def case_of(question: Question, claims: list[ResourceClaim], pods: list[Pod]) -> Case:
    """The case of claims that are allocated together, with the claims of the pods that are allocated already."""
    inventory = question.inventory
    held = {
        id(link.claim): link.claim
        for pod in pods
        for link in inventory.pod_claims.get(key_of(pod), [])
        if link.claim is not None and link.claim.allocation is not None
    }
    return Case(
        inventory,
        question.release,
        question.profile,
        claims,
        pods,
        list(held.values()),
        question.now or inventory.as_of,
        question.limits,
    )


def _verdict_on(case: Case, pods: list[Pod]) -> Verdict:
    """The allocator's verdict on the nodes where the pods already are."""
    verdicts = [case.nodes[pod.node_name].verdict for pod in pods if pod.node_name in case.nodes]
    return VERDICTS[verdicts[0]] if verdicts else "undecided"


def evidence(case: Case, question: Question, report: ClaimExplanation) -> None:
    """Requests, constraints, nodes and groups."""
    report.requests = request_views(case)
    report.constraints = constraint_views(case)
    report.nodes, report.groups = node_views(case, question.node)


def other_claims(question: Question, claim: ResourceClaim, pods: list[Pod], answer: Answer) -> None:
    """Other unallocated claims of the pods: they are allocated together with this one."""
    for pod in pods:
        links = question.inventory.pod_claims.get(key_of(pod), [])
        others = [
            link.claim
            for link in links
            if link.claim is not None and link.claim is not claim and link.claim.allocation is None
        ]
        if others:
            names = listing([str(key_of(one)) for one in others], 4)
            answer.say(
                f"pod {key_of(pod)} has {plural(len(others), 'another unallocated claim', 'more unallocated claims')} "
                f"({names}), and all of them have to fit on one node together: dractl explain pod {pod.meta.name} -n "
                f"{pod.meta.namespace}"
            )
            for other in others[:3]:
                _by_itself(question, other, pod, answer)


def not_together(question: Question, claim: ResourceClaim, pods: list[Pod], answer: Answer) -> bool:
    """Say, first of all, if a claim that fits by itself does not fit together with the other claims of its pods."""
    for pod in pods:
        links = question.inventory.pod_claims.get(key_of(pod), [])
        open_claims = [link.claim for link in links if link.claim is not None and link.claim.allocation is None]
        if len(open_claims) < 2 or case_of(question, open_claims, [pod]).verdict == FITS:
            continue
        others = listing([str(key_of(one)) for one in open_claims if one is not claim], 4)
        text = (
            f"claim {key_of(claim)} fits by itself, but pod {key_of(pod)} needs it together with {others}, and on no "
            "node that the pod may use do all of them fit"
        )
        answer.say(text)
        answer.find(allocation.NOT_TOGETHER.finding(text, ObjectRef("Pod", pod.meta.name, pod.meta.namespace)))
        return True
    return False


def _by_itself(question: Question, claim: ResourceClaim, pod: Pod, answer: Answer) -> None:
    """Where another claim of the pod would fit: then it is not that one which keeps the pod."""
    case = case_of(question, [claim], [pod])
    fitting = case.fitting()
    if not fitting:
        return
    parts = []
    for node in fitting[:3]:
        found = [one for one in node.reason.facts.asks if one.matched]
        numbers = [f"{len(one.usable)} of {len(one.matched)}" for one in found]
        parts.append(f"{node.name} ({listing(numbers, 3)} matching devices free)" if numbers else node.name)
    more = f" and {len(fitting) - 3} more" if len(fitting) > 3 else ""
    answer.say(f"claim {key_of(claim)} by itself would fit on {listing(parts, 4)}{more}")


def remarks(question: Question, case: Case, answer: Answer) -> None:
    """What was assumed and what was not judged."""
    if case.unjudged:
        answer.note(f"not judged for the pod: {listing(case.unjudged)}")
    if not question.inventory.nodes and question.inventory.pools:
        answer.note("the input holds no Node objects: nodes are those that slices name, without labels and taints")
    if question.release.source.startswith("assumed"):
        release = question.release.full
        answer.note(f"the input does not say which Kubernetes it is of; {release} is assumed (--kubernetes VERSION)")
    if not case.profile.ordered:
        answer.note(f"Kubernetes {question.release.minor} takes pools in random order: other devices may be taken")


def _not_found(inventory: Inventory, namespace: str, name: str) -> DractlError:
    where = inventory.provenance.description or "the input"
    elsewhere = [key.namespace for key in inventory.claims if key.name == name]
    if elsewhere:
        return DractlError(
            f"claim {name} is not in namespace {namespace} of {where}",
            f"It is in namespace {listing(elsewhere, 5, 'or')}: add -n {elsewhere[0]}.",
        )
    pods = [key for key in inventory.pods if key.name == name]
    here = [key.name for key in inventory.claims if key.namespace == namespace]
    alike = near(name, here) or _parts(name, here)
    everywhere = near(name, [key.name for key in inventory.claims])
    hints = []
    if alike:
        hints.append(f"Did you mean {listing(alike, 4, 'or')}?")
    elif everywhere:
        keys = [str(key) for key in inventory.claims if key.name in everywhere]
        hints.append(f"Did you mean {listing(keys, 4, 'or')}?")
    if pods:
        hints.append(f"There is a pod of that name: dractl explain pod {name} -n {pods[0].namespace}.")
    if not hints:
        none = "It holds no ResourceClaim."
        hints.append("List the claims with: dractl get claims -A." if inventory.claims else none)
    return DractlError(f"claim {namespace}/{name} is not in {where}", " ".join(hints))


def _parts(name: str, candidates: list[str]) -> list[str]:
    """Names that begin with the one given: a generated claim has five letters more."""
    return [one for one in candidates if one.startswith(name) or name.startswith(one)][:4]
