"""Which claims a pod uses, which pods use a claim, and who has a device."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum

from dractl.inventory.ids import DeviceId, Key
from dractl.kube.objects import AllocationDevice, Pod, PodResourceClaim, ResourceClaim, ResourceClaimTemplate

POD_CLAIM_ANNOTATION = "resource.kubernetes.io/pod-claim-name"
"""On a claim made from a template: the entry of spec.resourceClaims that it was made for."""

EXTENDED_RESOURCE_ANNOTATION = "resource.kubernetes.io/extended-resource-claim"
"""On a claim that the scheduler made for extended resources of a pod."""


class LinkState(Enum):
    """How far an entry of spec.resourceClaims has come."""

    FOUND = "found"
    """The claim is there."""
    NOT_NEEDED = "not-needed"
    """The pod's status says that no claim was made for this entry, on purpose."""
    CLAIM_MISSING = "claim-missing"
    """The entry, or the pod's status, names a claim that is not there."""
    TEMPLATE_MISSING = "template-missing"
    """The entry names a template that is not there, and no claim was made."""
    NOT_CREATED = "not-created"
    """The template is there, the claim is not made yet."""
    FOREIGN = "foreign"
    """A claim of the wanted name is there, but it was generated for another pod."""


@dataclass(slots=True, eq=False)
class PodClaim:
    """One entry of a pod's spec.resourceClaims and what became of it.

    ``entry`` is None for the claim of extended resources, which no entry names. ``claim_name`` is the name wanted, as
    far as it is known.
    """

    pod: Pod
    state: LinkState
    entry: PodResourceClaim | None = None
    claim_name: str | None = None
    claim: ResourceClaim | None = None
    template: ResourceClaimTemplate | None = None


@dataclass(slots=True, eq=False)
class Holder:
    """A claim that has (a share of) a device, and the pods that use the claim.

    ``pods`` are those of status.reservedFor that are known; ``reserved_for`` names all of them.
    """

    claim: ResourceClaim
    result: AllocationDevice
    pods: list[Pod] = field(default_factory=list)
    reserved_for: list[str] = field(default_factory=list)


def resolve_pod(
    pod: Pod,
    claims: Mapping[Key, ResourceClaim],
    templates: Mapping[Key, ResourceClaimTemplate],
    generated: Mapping[tuple[str, str], ResourceClaim],
    extended: Mapping[str, ResourceClaim],
) -> list[PodClaim]:
    """The claims of a pod, in the order of its spec.

    ``generated`` finds a claim by the uid of the pod that owns it and the entry's name, ``extended`` the claim of
    extended resources by the pod's uid.
    """
    links = [_resolve_entry(pod, entry, claims, templates, generated) for entry in pod.resource_claims]
    name = pod.extended_claim.resource_claim_name if pod.extended_claim else None
    claim = claims.get(Key(pod.meta.namespace, name)) if name else extended.get(pod.meta.uid)
    if claim is not None:
        links.append(PodClaim(pod, LinkState.FOUND, claim_name=claim.meta.name, claim=claim))
    elif name:
        links.append(PodClaim(pod, LinkState.CLAIM_MISSING, claim_name=name))
    return links


def _resolve_entry(
    pod: Pod,
    entry: PodResourceClaim,
    claims: Mapping[Key, ResourceClaim],
    templates: Mapping[Key, ResourceClaimTemplate],
    generated: Mapping[tuple[str, str], ResourceClaim],
) -> PodClaim:
    namespace = pod.meta.namespace
    if entry.resource_claim_name is not None:
        claim = claims.get(Key(namespace, entry.resource_claim_name))
        state = LinkState.FOUND if claim else LinkState.CLAIM_MISSING
        return PodClaim(pod, state, entry, entry.resource_claim_name, claim)
    template = templates.get(Key(namespace, entry.resource_claim_template_name or ""))
    if entry.name in pod.claim_statuses:
        name = pod.claim_statuses[entry.name]
        if name is None:
            return PodClaim(pod, LinkState.NOT_NEEDED, entry, template=template)
        claim = claims.get(Key(namespace, name))
        state = LinkState.CLAIM_MISSING if claim is None else LinkState.FOUND
        if claim is not None and not is_owned_by(claim, pod):
            state = LinkState.FOREIGN
        return PodClaim(pod, state, entry, name, claim, template)
    claim = generated.get((pod.meta.uid, entry.name))
    if claim is not None:
        return PodClaim(pod, LinkState.FOUND, entry, claim.meta.name, claim, template)
    return PodClaim(pod, LinkState.NOT_CREATED if template else LinkState.TEMPLATE_MISSING, entry, template=template)


def is_owned_by(claim: ResourceClaim, pod: Pod) -> bool:
    """Whether the pod is the controlling owner of the claim (as kubelet and scheduler demand of generated claims)."""
    return any(owner.controller and owner.uid == pod.meta.uid for owner in claim.meta.owners)


def owned_claims(
    claims: Iterable[ResourceClaim],
) -> tuple[dict[tuple[str, str], ResourceClaim], dict[str, ResourceClaim]]:
    """Generated claims by (uid of the owning pod, entry), and claims of extended resources by that uid."""
    generated: dict[tuple[str, str], ResourceClaim] = {}
    extended: dict[str, ResourceClaim] = {}
    for claim in claims:
        for owner in claim.meta.owners:
            if not owner.controller or owner.kind != "Pod":
                continue
            entry = claim.meta.annotations.get(POD_CLAIM_ANNOTATION)
            if entry is not None:
                generated[(owner.uid, entry)] = claim
            elif EXTENDED_RESOURCE_ANNOTATION in claim.meta.annotations:
                extended[owner.uid] = claim
    return generated, extended


def find_holders(
    claims: Iterable[ResourceClaim], pods: Mapping[Key, Pod]
) -> dict[DeviceId, list[Holder]]:
    """Who has each device: every result of every allocation, also admin access and shares."""
    holders: dict[DeviceId, list[Holder]] = {}
    for claim in claims:
        if claim.allocation is None:
            continue
        consumers = [item for item in claim.reserved_for if item.resource == "pods"]
        found = [pods.get(Key(claim.meta.namespace, item.name)) for item in consumers]
        users = [
            pod
            for pod, item in zip(found, consumers, strict=True)
            if pod is not None and (not item.uid or pod.meta.uid == item.uid)
        ]
        names = [item.name for item in claim.reserved_for]
        for result in claim.allocation.results:
            key = DeviceId(result.driver, result.pool, result.device)
            holders.setdefault(key, []).append(Holder(claim, result, users, names))
    return holders
