"""Where claims and pods are stuck in their life: missing parts, holders that nobody needs, deletion, preparation."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from dractl.diagnose.check import Context, claim_ref
from dractl.explain.answer import Answer
from dractl.explain.claim import explain
from dractl.explain.entries import explain_missing_claim
from dractl.explain.lifecycle import gone_consumers, pods_known, since
from dractl.explain.pod import explain_pod
from dractl.explain.preparation import prepare_event
from dractl.explain.words import count, listing, moment, near, plural
from dractl.inventory import Inventory, LinkState, PodClaim, key_of
from dractl.kube.objects import ClaimSpec, Event, Pod, ResourceClaim, ResourceClaimTemplate
from dractl.rules import allocation, lifecycle
from dractl.rules.finding import Finding, ObjectRef, Rule, Severity

_FINISHED = ("Succeeded", "Failed")


def _unfinished(context: Context) -> Iterator[PodClaim]:
    for links in context.inventory.pod_claims.values():
        for link in links:
            if link.pod.phase not in _FINISHED and not link.pod.meta.deletion_timestamp:
                yield link


def _pod_ref(pod: Pod) -> ObjectRef:
    return ObjectRef("Pod", pod.meta.name, pod.meta.namespace)


def templates_missing(context: Context) -> Iterator[Finding]:
    """Pods whose template is not there."""
    for link in _unfinished(context):
        if link.state is LinkState.TEMPLATE_MISSING and link.entry is not None:
            name = link.entry.resource_claim_template_name or ""
            yield _missing(context, link, lifecycle.TEMPLATE_MISSING, "ResourceClaimTemplate", name)


def claims_missing(context: Context) -> Iterator[Finding]:
    """Pods whose claim is not there."""
    for link in _unfinished(context):
        if link.state is LinkState.CLAIM_MISSING:
            yield _missing(context, link, lifecycle.CLAIM_MISSING, "ResourceClaim", link.claim_name or "")


def _missing(context: Context, link: PodClaim, rule: Rule, kind: str, name: str) -> Finding:
    inventory, namespace = context.inventory, link.pod.meta.namespace
    known = inventory.templates if kind == "ResourceClaimTemplate" else inventory.claims
    here = [key.name for key in known if key.namespace == namespace]
    elsewhere = sorted(key.namespace for key in known if key.name == name and key.namespace != namespace)
    alike = near(name, here)
    hint = f"did you mean {listing(alike, 3, 'or')}?" if alike else ""
    if elsewhere:
        hint = f"{kind} {name} exists in namespace {listing(elsewhere)}; a pod only uses those of its own namespace"
    return rule.finding(
        f"pod {key_of(link.pod)} waits for {kind} {name}, which does not exist in namespace {namespace}",
        _pod_ref(link.pod),
        hint=hint or f"create {kind} {name} in namespace {namespace}, or correct the name in the pod",
    )


def classes_missing(context: Context) -> Iterator[Finding]:
    """Claims and templates that name a class that is not there, and the pods that wait because of it."""
    inventory = context.inventory
    claims: dict[str, list[ResourceClaim]] = {}
    templates: dict[str, list[ResourceClaimTemplate]] = {}
    for claim in inventory.claims.values():
        if claim.allocation is None:
            for name in _unknown_classes(inventory, claim.spec):
                claims.setdefault(name, []).append(claim)
    for template in inventory.templates.values():
        for name in _unknown_classes(inventory, template.spec):
            templates.setdefault(name, []).append(template)
    for name in sorted(claims.keys() | templates.keys()):
        yield _class_missing(inventory, name, claims.get(name, []), templates.get(name, []))


def _unknown_classes(inventory: Inventory, spec: ClaimSpec) -> list[str]:
    names = [
        one.device_class_name
        for request in spec.requests
        for one in ([request.exactly] if request.exactly else request.first_available)
    ]
    return [name for name in dict.fromkeys(names) if name and name not in inventory.classes]


def _class_missing(
    inventory: Inventory, name: str, claims: list[ResourceClaim], templates: list[ResourceClaimTemplate]
) -> Finding:
    pods = list(dict.fromkeys(pod for claim in claims for pod in inventory.claim_pods.get(key_of(claim), [])))
    users = [f"claim {key_of(item)}" for item in claims] + [f"template {key_of(item)}" for item in templates]
    waits = f"; {count(len(pods), 'pod')} {plural(len(pods), 'waits', 'wait')} for it: " if pods else ""
    waits += listing([str(key_of(pod)) for pod in pods], 4)
    alike = near(name, inventory.classes)
    there = f"install the driver that brings class {name}, or name a class that exists: " + (
        listing(inventory.classes, 12) or "there is none"
    )
    return allocation.UNKNOWN_CLASS.finding(
        f"DeviceClass {name} does not exist, but {listing(users)} {plural(len(users), 'names', 'name')} it{waits}",
        ObjectRef("DeviceClass", name),
        severity=None if claims else Severity.WARNING,
        hint=f"did you mean {listing(alike, 3, 'or')}?" if alike else there,
        related=(*map(claim_ref, claims), *map(_pod_ref, pods)),
    )


def foreign_claims(context: Context) -> Iterator[Finding]:
    """Pods whose status names a claim of another pod."""
    for link in _unfinished(context):
        if link.state is LinkState.FOREIGN:
            yield lifecycle.FOREIGN_CLAIM.finding(
                f"pod {key_of(link.pod)} is to use claim {link.claim_name}, which was generated for another pod",
                _pod_ref(link.pod),
            )


def stale_holders(context: Context) -> Iterator[Finding]:
    """Allocated claims that no living pod uses: never reserved, or reserved by pods that are gone."""
    inventory = context.inventory
    for claim in inventory.claims.values():
        if claim.allocation is None or claim.meta.deletion_timestamp or not pods_known(inventory):
            continue
        results = claim.allocation.results
        if not results or all(item.admin_access for item in results):
            continue
        gone = gone_consumers(inventory, claim)
        devices = listing([f"{item.pool}/{item.device}" for item in results], 4)
        if claim.reserved_for and len(gone) == len(claim.reserved_for):
            yield lifecycle.STALE_HOLDER.finding(
                f"claim {key_of(claim)} holds {devices}, reserved only for {listing(gone)}, which no longer "
                f"{'exists' if len(gone) == 1 else 'exist'}",
                claim_ref(claim),
                evidence={"gone": gone},
                hint=f"nothing uses the devices: kubectl delete resourceclaim {claim.meta.name} -n "
                f"{claim.meta.namespace}; if it stays, look at the resource claim controller (kube-controller-manager)",
            )
        elif not claim.reserved_for and (finished := _all_finished(inventory, claim)):
            yield lifecycle.STALE_HOLDER.finding(
                f"claim {key_of(claim)} holds {devices}, is reserved for nobody, and the pods that refer to it are "
                f"finished ({listing(finished, 3)}): it should have been deallocated",
                claim_ref(claim),
                hint=f"see whether the resource claim controller (kube-controller-manager) is well; kubectl delete "
                f"resourceclaim {claim.meta.name} -n {claim.meta.namespace} frees the devices",
            )
        elif not claim.reserved_for and not inventory.claim_pods.get(key_of(claim)):
            yield lifecycle.STALE_HOLDER.finding(
                f"claim {key_of(claim)} holds {devices}, is reserved for nobody, and no pod refers to it",
                claim_ref(claim),
                hint=f"kubectl delete resourceclaim {claim.meta.name} -n {claim.meta.namespace}, if it is not needed",
            )


def _all_finished(inventory: Inventory, claim: ResourceClaim) -> list[str]:
    pods = inventory.claim_pods.get(key_of(claim), [])
    return [str(key_of(pod)) for pod in pods] if all(pod.phase in _FINISHED for pod in pods) else []


def claims_without_pod(context: Context) -> Iterator[Finding]:
    """Unallocated claims that nobody refers to, and generated claims whose pod is gone."""
    inventory = context.inventory
    if not pods_known(inventory):
        return
    uids = {pod.meta.uid for pod in inventory.pods.values()}
    for key, claim in inventory.claims.items():
        if claim.meta.deletion_timestamp or inventory.claim_pods.get(key) or claim.reserved_for:
            continue
        owner = next((item for item in claim.meta.owners if item.kind == "Pod" and item.controller), None)
        if owner is not None and owner.uid not in uids:
            text = f"claim {key} was generated for pod {owner.name}, which is gone"
        elif claim.allocation is None:
            text = f"claim {key} is there{_for(context, claim)}, but no pod refers to it; nothing will allocate it"
        else:
            continue
        yield lifecycle.UNUSED_CLAIM.finding(text, claim_ref(claim))


def _for(context: Context, claim: ResourceClaim) -> str:
    age = since(context.inventory, claim.meta.creation_timestamp, context.question.now)
    return f" for {age}" if age else ""


def claims_deleting(context: Context) -> Iterator[Finding]:
    """Claims that stay although they are to be deleted, and what keeps them."""
    for key, claim in context.inventory.claims.items():
        if not claim.meta.deletion_timestamp:
            continue
        pods = [item.name for item in claim.reserved_for if item.resource == "pods"]
        age = since(context.inventory, claim.meta.deletion_timestamp, context.question.now)
        keeps = f"reserved for {listing(pods)}" if pods else f"finalizers {listing(claim.meta.finalizers) or 'none'}"
        yield lifecycle.CLAIM_DELETING.finding(
            f"claim {key} is being deleted{f' for {age}' if age else ''} and stays: {keeps}",
            claim_ref(claim),
            hint=f"delete pod {listing(pods)} first" if pods else "see why the finalizer is not removed",
        )


def claims_refused(context: Context) -> Iterator[Finding]:
    """Pods whose claim cannot be made from its template: refused by a quota, for lack of a label, or otherwise."""
    for link in _unfinished(context):
        if link.state is not LinkState.NOT_CREATED:
            continue
        answer = Answer()
        explain_missing_claim(context.inventory, answer, link)
        special = [one for one in answer.findings if one.code != lifecycle.CREATION_REFUSED.code]
        for found in special or answer.findings:
            yield replace(
                found,
                hint=found.hint or "; ".join(answer.actions[:2]),
                related=(*found.related, _pod_ref(link.pod)) if found.subject != _pod_ref(link.pod) else found.related,
            )


def creations_refused(context: Context) -> Iterator[Finding]:
    """Those refused for another reason than the two below."""
    return _of(claims_refused(context), lifecycle.CREATION_REFUSED)


def labels_missing(context: Context) -> Iterator[Finding]:
    """Those that lack the namespace's label for admin access."""
    return _of(claims_refused(context), lifecycle.ADMIN_LABEL)


def quotas_refusing(context: Context) -> Iterator[Finding]:
    """Those that a quota refuses."""
    return _of(claims_refused(context), lifecycle.QUOTA)


def _of(findings: Iterator[Finding], rule: Rule) -> Iterator[Finding]:
    """Findings of one rule; those about one object are told once, with all pods."""
    seen: dict[str, Finding] = {}
    for found in findings:
        if found.code == rule.code:
            known = seen.get(str(found.subject))
            more = tuple(ref for ref in found.related if known is not None and ref not in known.related)
            seen[str(found.subject)] = replace(known, related=(*known.related, *more)) if known else found
    yield from seen.values()


def unprepared_pods(context: Context) -> Iterator[Finding]:
    """Pods that have their devices, but whose preparation fails on the node for no known reason."""
    return _of(_unprepared_pods(context), lifecycle.PREPARE_FAILED)


def drivers_keeping_claims(context: Context) -> Iterator[Finding]:
    """Pods whose preparation fails because a driver remembers a claim that is gone."""
    return _of(_unprepared_pods(context), lifecycle.DRIVER_KEEPS_CLAIM)


def drivers_not_registered(context: Context) -> Iterator[Finding]:
    """Pods whose preparation fails because kubelet does not know the driver."""
    return _of(_unprepared_pods(context), lifecycle.DRIVER_NOT_REGISTERED)


_PREPARING = (lifecycle.PREPARE_FAILED, lifecycle.DRIVER_KEEPS_CLAIM, lifecycle.DRIVER_NOT_REGISTERED)


def _unprepared_pods(context: Context) -> Iterator[Finding]:
    for links in context.inventory.pod_claims.values():
        pod = links[0].pod
        if not pod.node_name or pod.phase != "Pending" or pod.meta.deletion_timestamp:
            continue
        event = prepare_event(context.inventory, [pod])
        if event is None or any(link.claim is not None and link.claim.allocation is None for link in links):
            # without an allocation there is nothing to prepare; another check tells of that
            continue
        codes = {rule.code for rule in _PREPARING[1:]}
        told = [
            found
            for link in links
            if link.claim is not None and link.claim.allocation is not None
            for found in explain(context.question, link.claim).findings
            if found.code in codes
        ]
        for found in told[:1] or [_unprepared(pod, event[1])]:
            yield replace(
                found,
                subject=_pod_ref(pod),
                hint=found.hint or f"dractl explain pod {pod.meta.name} -n {pod.meta.namespace}",
            )


def placed_past_scheduler(context: Context) -> Iterator[Finding]:
    """Pods that have their node but not their devices: nobody will allocate for them."""
    for key, links in context.inventory.pod_claims.items():
        pod = links[0].pod
        if not pod.node_name or pod.phase != "Pending" or pod.meta.deletion_timestamp:
            continue
        waiting = [one.claim for one in links if one.claim and one.claim.allocation is None]
        if waiting:
            yield lifecycle.PLACED_PAST_SCHEDULER.finding(
                f"pod {key} is bound to {pod.node_name}, but claim {listing([str(key_of(one)) for one in waiting])} is "
                "not allocated: nothing allocates for a pod that has its node already",
                _pod_ref(pod),
                hint="make the pod anew without spec.nodeName, with nodeSelector kubernetes.io/hostname instead: "
                f"kubectl delete pod {key.name} -n {key.namespace}",
                related=tuple(claim_ref(one) for one in waiting),
            )


def _unprepared(pod: Pod, event: Event) -> Finding:
    return lifecycle.PREPARE_FAILED.finding(
        f"pod {key_of(pod)} has its devices but does not start on {pod.node_name}: {event.message}",
        _pod_ref(pod),
        hint=f"look at the driver's kubelet plugin on {pod.node_name}; dractl explain pod {pod.meta.name} "
        f"-n {pod.meta.namespace}",
    )


def allocated_elsewhere(context: Context) -> Iterator[Finding]:
    """Waiting pods whose shared claim is allocated where they may not run."""
    for key, links in context.inventory.pod_claims.items():
        pod = links[0].pod
        if pod.node_name or pod.phase in _FINISHED or pod.meta.deletion_timestamp:
            continue
        if not any(link.claim is not None and link.claim.allocation is not None for link in links):
            continue
        report = explain_pod(context.question, *key)
        if report.unplaceable:
            yield lifecycle.ALLOCATED_ELSEWHERE.finding(
                f"pod {key}: {report.summary}", _pod_ref(pod), hint=report.actions[0] if report.actions else ""
            )


def pods_terminating(context: Context) -> Iterator[Finding]:
    """Pods that are being deleted and whose claims keep their devices until they are gone."""
    inventory = context.inventory
    for key, links in inventory.pod_claims.items():
        pod = links[0].pod
        if not pod.meta.deletion_timestamp or not pod.node_name or pod.phase in _FINISHED:
            continue
        results = [
            f"{item.pool}/{item.device}"
            for link in links
            if link.claim is not None and link.claim.allocation is not None
            for item in link.claim.allocation.results
            if not item.admin_access
        ]
        if not results:
            continue
        end, now = moment(pod.meta.deletion_timestamp), moment(context.question.now or inventory.as_of)
        late = end is None or now is None or now > end
        age = since(inventory, pod.meta.deletion_timestamp, context.question.now) if late else None
        when = f"should have ended{f' {age} ago' if age else ''}" if late else "is within its time to end"
        yield lifecycle.POD_TERMINATING.finding(
            f"pod {key} on {pod.node_name} is being deleted, {when}, and holds {listing(results, 4)} until it is gone",
            _pod_ref(pod),
            severity=None if late else Severity.INFO,
        )
