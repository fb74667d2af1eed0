"""``explain pod``: all claims of a pod together, also those that are not made yet, and the pod's own rules."""

from __future__ import annotations

from dataclasses import replace

from dractl.errors import DractlError
from dractl.explain.allocated import reservation_full, waiting_elsewhere
from dractl.explain.answer import Answer
from dractl.explain.case import FITS, Case
from dractl.explain.claim import (
    VERDICTS,
    Question,
    add_fixes,
    case_of,
    check_node,
    explain,
    fits_or_not,
    put,
    remarks,
)
from dractl.explain.entries import entry_view, explain_missing_claim
from dractl.explain.extended import (
    Extended,
    advertising,
    claim_for,
    explain_extended,
    explain_gate_off,
    extended_of,
    plugin_nodes,
)
from dractl.explain.lifecycle import age_of, event_view, events_about, pod_view, role_of
from dractl.explain.placement import gates
from dractl.explain.report import ClaimExplanation, NameView, PodExplanation, PodState
from dractl.explain.tainting import taint_rules
from dractl.explain.views import constraint_views, node_views, request_views
from dractl.explain.words import listing, near, plural, ranges
from dractl.inventory import Inventory, Key, LinkState, PodClaim, key_of
from dractl.kube.objects import Pod, ResourceClaim
from dractl.rules import allocation as rules
from dractl.rules.finding import ObjectRef

_STATES: dict[str, PodState] = {
    "waiting": "pending",
    "preparing": "preparing",
    "running": "running",
    "finished": "finished",
}


def explain_pod(question: Question, namespace: str, name: str) -> PodExplanation:
    """Explain a pod.

    Raises:
        DractlError: if there is no such pod; the hint names what there is instead.
    """
    inventory = question.inventory
    pod = inventory.pods.get(Key(namespace, name))
    if pod is None:
        raise _not_found(inventory, namespace, name)
    check_node(question)
    links = inventory.pod_claims.get(key_of(pod), [])
    report = PodExplanation(
        pod=NameView(pod.meta.namespace, pod.meta.name, pod.meta.uid),
        kubernetes=question.release.full,
        state=_STATES[role_of(pod)],
        verdict="undecided",
        summary="",
        age=age_of(inventory, pod.meta, question.now),
        pods=[pod_view(inventory, pod, None, question.now)],
        entries=[entry_view(inventory, link) for link in links],
    )
    answer = Answer()
    _explain(question, pod, links, answer, report)
    report.events = [event_view(inventory, one, question.now) for one in events_about(inventory, None, [pod])]
    put(question, answer, report)
    return report


def _explain(question: Question, pod: Pod, links: list[PodClaim], answer: Answer, report: PodExplanation) -> None:
    inventory = question.inventory
    absent = [link for link in links if link.state not in (LinkState.FOUND, LinkState.NOT_NEEDED)]
    claims = [link.claim for link in links if link.claim is not None and link.state is LinkState.FOUND]
    report.claims = [explain(question, claim) for claim in claims]
    if report.state == "finished":
        answer.say(f"pod {key_of(pod)} is finished ({pod.phase}), so it needs no device any more")
        report.verdict = "allocated"
        return
    _unreferenced(pod, answer)
    if absent:
        for link in absent:
            explain_missing_claim(inventory, answer, link)
        _hypothetical(question, pod, absent, claims, answer)
        report.state = "missing"
        return
    if not claims and not pod.node_name:
        _extended(question, pod, answer, report)
        return
    if not claims:
        answer.say(f"pod {key_of(pod)} uses no claim; devices are not what it waits for")
        report.verdict = "fits"
        return
    open_claims = [claim for claim in claims if claim.allocation is None and not claim.meta.deletion_timestamp]
    more = _extended_beside(question, pod, answer)
    if not more and (len(claims) == 1 or (not open_claims and pod.node_name)):
        _from_claims(question, pod, claims, answer, report)
        return
    _together(question, pod, claims, [*open_claims, *more], answer, report)


def _extended_beside(question: Question, pod: Pod, answer: Answer) -> list[ResourceClaim]:
    """The claim that the scheduler makes for the extended resources of a waiting pod that has claims of its own too."""
    if pod.node_name or not question.profile.features.extended_resource:
        return []
    resources = [one for one in extended_of(question.inventory, pod) if one.device_class is not None]
    claim = claim_for(pod, resources)
    if claim is None:
        return []
    names = listing([f"{one.name}: {one.amount}" for one in resources], 3)
    classes = listing([one.device_class.meta.name for one in resources if one.device_class is not None], 3)
    answer.note(f"the pod also asks for {names}, served by DeviceClass {classes}: allocated together with its claims")
    plugins = sorted({name for one in resources for name in one.plugin_nodes})
    if plugins:
        answer.note(f"on {listing(plugins, 4)} a device plugin serves that instead, which is not judged here")
    return [claim]


def _unreferenced(pod: Pod, answer: Answer) -> None:
    """Entries that no container lists: their devices are held, but no container sees them."""
    listed = {one.name for container in pod.containers for one in container.claims}
    unused = [one.name for one in pod.resource_claims if one.name not in listed]
    if unused:
        names = listing(unused, 4)
        answer.note(
            f"no container of pod {key_of(pod)} lists {names} under resources.claims: the devices are allocated and "
            "held, but no container sees them"
        )


def _from_claims(
    question: Question, pod: Pod, claims: list[ResourceClaim], answer: Answer, report: PodExplanation
) -> None:
    """One claim decides: its explanation is the pod's, but for what concerns only this pod."""
    one = report.claims[0]
    report.verdict = one.verdict
    claim = claims[0]
    if claim.allocation is not None and not pod.node_name and not claim.meta.deletion_timestamp:
        _waits_for_allocated(question, pod, claims, answer, report)
        return
    for other in report.claims:
        answer.say(other.summary)
    if len(report.claims) == 1:
        # the details are shown with the claim
        answer.actions = list(one.actions)
        answer.findings = list(one.findings)
        answer.notes = [*answer.notes, *one.notes]
        report.fixes, report.fixes_note, report.conflict = one.fixes, one.fixes_note, one.conflict
        one.actions, one.findings, one.notes, one.fixes, one.fixes_note, one.conflict = [], [], [], [], "", []


def _waits_for_allocated(
    question: Question, pod: Pod, claims: list[ResourceClaim], answer: Answer, report: PodExplanation
) -> None:
    """All claims are allocated, and the pod is not placed: it can go only where they all are."""
    inventory = question.inventory
    report.verdict = "allocated"
    if gates(inventory, [pod], answer):
        return
    full = [claim for claim in claims if reservation_full(answer, claim, [pod])]
    blocked = [claim for claim in claims if not waiting_elsewhere(inventory, answer, claim, pod)]
    report.unplaceable = (bool(blocked) or bool(full)) and bool(answer.summary)
    if not answer.summary:
        names = listing([str(key_of(claim)) for claim in claims], 4)
        answer.say(
            f"the {plural(len(claims), 'claim')} of pod {key_of(pod)} ({names}) {plural(len(claims), 'is')} allocated; "
            "devices are not what it waits for"
        )


def _together(
    question: Question,
    pod: Pod,
    claims: list[ResourceClaim],
    open_claims: list[ResourceClaim],
    answer: Answer,
    report: PodExplanation,
) -> None:
    """Several claims: those without an allocation are allocated together, on a node where the others can be used."""
    if not open_claims:
        _waits_for_allocated(question, pod, claims, answer, report)
        return
    case = case_of(question, open_claims, [] if pod.node_name else [pod])
    report.verdict = VERDICTS[case.verdict]
    alone = {claim.meta.name: _fits_alone(question, claim, pod) for claim in open_claims}
    shell = _shell(report)
    if case.verdict == "doesNotFit" and all(alone.values()) and len(open_claims) > 1:
        _not_together(case, open_claims, alone, answer)
    fits_or_not(case, answer, shell)
    add_fixes(case, report)
    report.nodes, report.groups = node_views(case, question.node)
    for one in report.claims:
        mine = [claim for claim in open_claims if claim.meta.name == one.claim.name]
        if mine:
            one.nodes, one.groups = [], []
    if report.claims:
        report.claims[0].holders = shell.holders
    taint_rules(case, answer)
    remarks(question, case, answer)


def _shell(report: PodExplanation) -> ClaimExplanation:
    """Where the parts that claims and pods share are put first."""
    return ClaimExplanation(report.pod, report.kubernetes, "pending", "unallocated", report.verdict, "")


def _fits_alone(question: Question, claim: ResourceClaim, pod: Pod) -> list[str]:
    """The nodes on which a claim fits by itself, among those that the pod may use."""
    case = case_of(question, [claim], [] if pod.node_name else [pod])
    return [answer.name for answer in case.fitting()]


def _not_together(case: Case, claims: list[ResourceClaim], alone: dict[str, list[str]], answer: Answer) -> None:
    parts = [f"{name} on {ranges(nodes, 4)}" for name, nodes in alone.items()]
    common = set.intersection(*(set(nodes) for nodes in alone.values()))
    names = ranges([name for name in case.nodes if name in common], 4)
    why = f"on {names} they want the same devices" if common else "no node serves all of them"
    whose = f" of pod {key_of(case.pods[0])}" if case.pods else ""
    text = f"the {len(claims)} claims{whose} fit alone ({'; '.join(parts)}), but not together: {why}"
    answer.say(text)
    pod = case.pods[0].meta if case.pods else None
    answer.find(rules.NOT_TOGETHER.finding(text, ObjectRef("Pod", pod.name, pod.namespace) if pod else None))


def _extended(question: Question, pod: Pod, answer: Answer, report: PodExplanation) -> None:
    """A pod without claims: extended resources that classes serve, or nothing about devices at all."""
    inventory = question.inventory
    resources = extended_of(inventory, pod)
    if not resources:
        if not gates(inventory, [pod], answer):
            text = f"pod {key_of(pod)} has no claims and asks for no extended resource"
            answer.say(f"{text}: devices are not what it waits for")
        report.verdict = "fits"
        return
    if not question.profile.features.extended_resource:
        explain_gate_off(answer, pod, resources, question.release.minor)
        report.verdict = "undecided" if any(one.plugin_nodes for one in resources) else "doesNotFit"
        return
    claim = claim_for(pod, resources)
    explain_extended(inventory, answer, pod, resources)
    if claim is None:
        served = all(one.plugin_nodes for one in resources)
        report.verdict = "undecided" if served else "doesNotFit"
        return
    elsewhere = frozenset(inventory.nodes) - set(advertising(inventory, resources))
    case = case_of(question, [claim], [pod])
    if elsewhere and len(elsewhere) < len(inventory.nodes):
        # where a device plugin serves the pod, the scheduler makes no claim
        case = replace(case, only=elsewhere)
    if elsewhere:
        report.nodes, report.groups = node_views(case, question.node)
    by_plugin, plugin_groups = plugin_nodes(inventory, pod, resources, len(report.groups))
    report.nodes, report.groups = [*report.nodes, *by_plugin], [*report.groups, *plugin_groups]
    enough = [view.name for view in by_plugin if view.pod.eligible]
    if enough and (not elsewhere or case.verdict != FITS):
        answer.say(f"there is enough left on {ranges(enough, 4)}, so the pod fits there, without a claim")
        report.verdict = "fits"
        return
    report.verdict = VERDICTS[case.verdict]
    shell = _shell(report)
    shell.claim = NameView(claim.meta.namespace, claim.meta.name)
    inner = Answer()
    fits_or_not(case, inner, shell)
    for text in (inner.summary, *inner.details):
        answer.say(text)
    answer.actions.extend(inner.actions)
    for finding in inner.findings:
        answer.find(finding)
    shell.summary = inner.summary
    shell.requests, shell.constraints = request_views(case), constraint_views(case)
    add_fixes(case, report)
    _other_class(case, answer, resources, claim)
    report.claims = [shell]


def _other_class(case: Case, answer: Answer, resources: list[Extended], claim: ResourceClaim) -> None:
    """Whether a class that is without effect would have served."""
    for one in resources:
        if case.verdict == FITS:
            continue
        for other in one.shadowed:
            requests = [
                replace(request, exactly=replace(request.exactly, device_class_name=other.meta.name))
                for request in claim.spec.requests
                if request.exactly is not None
            ]
            changed = replace(claim, spec=replace(claim.spec, requests=requests))
            again = Case(case.inventory, case.release, case.profile, [changed], case.pods, [], case.now, case.limits)
            fitting = again.fitting()
            if fitting:
                allocations = fitting[0].result.allocations or []
                devices = sum(len(found.usable) for found in fitting[0].reason.facts.asks)
                names = ranges([node.name for node in fitting], 4)
                answer.say(
                    f"class {other.meta.name} would select {devices} free devices on {names}: with it the pod would fit"
                    if allocations
                    else f"with class {other.meta.name} the pod would fit on {names}"
                )


def _hypothetical(
    question: Question, pod: Pod, absent: list[PodClaim], claims: list[ResourceClaim], answer: Answer
) -> None:
    """Whether there would be devices, once the claims were made from their templates."""
    if any(link.template is None for link in absent):
        return
    made = [
        ResourceClaim(replace(link.template.meta, name=f"{pod.meta.name}-{link.entry.name}"), link.template.spec)
        for link in absent
        if link.template is not None and link.entry is not None
    ]
    open_claims = [claim for claim in claims if claim.allocation is None]
    case = case_of(question, [*made, *open_claims], [] if pod.node_name else [pod])
    fitting = case.fitting()
    if fitting:
        names = ranges([one.name for one in fitting], 4)
        answer.say(f"devices are not the obstacle: once made, the {plural(len(made), 'claim')} would fit on {names}")


def _not_found(inventory: Inventory, namespace: str, name: str) -> DractlError:
    where = inventory.provenance.description or "the input"
    elsewhere = [key.namespace for key in inventory.pods if key.name == name]
    if elsewhere:
        return DractlError(
            f"pod {name} is not in namespace {namespace} of {where}",
            f"It is in namespace {listing(elsewhere, 5, 'or')}: add -n {elsewhere[0]}.",
        )
    here = [key.name for key in inventory.pods if key.namespace == namespace]
    alike = near(name, here) or [one for one in here if one.startswith(name)][:4]
    if alike:
        hint = f"Did you mean {listing(alike, 4, 'or')}?"
    elif Key(namespace, name) in inventory.claims:
        hint = f"There is a claim of that name: dractl explain claim {name} -n {namespace}."
    else:
        everywhere = [str(key) for key in inventory.pods if near(name, [key.name])]
        hint = f"Did you mean {listing(everywhere, 4, 'or')}?" if everywhere else "See the pods of the input."
    return DractlError(f"pod {namespace}/{name} is not in {where}", hint)
