"""A made claim tried on a fleet: on which nodes it fits now, on which with all devices free, and why not elsewhere."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from dractl.allocator.allocator import DOES_NOT_FIT
from dractl.allocator.profile import Profile
from dractl.allocator.search import Limits
from dractl.explain.answer import Answer
from dractl.explain.case import ERROR, FITS, Case, freed
from dractl.explain.pending import explain_devices
from dractl.explain.words import ranges
from dractl.generate.manifest import Json, Manifest
from dractl.inventory import Inventory, Release
from dractl.kube.decode import decode
from dractl.kube.objects import DeviceClass, Meta, Pod, ResourceClaim

_LIMITS = Limits(steps=200_000)
_KINDS = ("ResourceClaim", "ResourceClaimTemplate", "DeviceClass")


@dataclass(slots=True)
class Fit:
    """Names of nodes: ``now`` and ``idle`` (all devices free) serve the claims; ``barred`` would now, but pods may not
    use them (cordoned, tainted). ``undecided`` counts nodes on which the search was given up."""

    nodes: int
    now: list[str] = field(default_factory=list)
    idle: list[str] = field(default_factory=list)
    barred: list[str] = field(default_factory=list)
    undecided: int = 0
    reason: str = ""
    """Why it fits nowhere now; where it fits nowhere even when idle, why that is."""

    @property
    def never(self) -> bool:
        """Whether no node could serve the claims even with all devices free."""
        return not self.idle and not self.undecided

    @property
    def text(self) -> str:
        """One sentence."""
        if not self.nodes:
            return "not tried: no node is known"
        where = f": {ranges(self.now, 6)}" if self.now else ""
        out = f"fits on {len(self.now)} of {self.nodes} nodes now{where}; on {len(self.idle)} when all devices are free"
        if self.barred:
            out += f"; besides on {ranges(self.barred, 4)}, which pods may not use without more (cordoned or tainted)"
        if self.undecided:
            out += f"; undecided on {self.undecided}, where the search was given up"
        return out


def try_manifests(
    manifests: Iterable[Manifest], inventory: Inventory, release: Release, profile: Profile
) -> Fit | None:
    """Try what was made together: its claims and templates, for its pod if there is one. None without any claim."""
    made = list(manifests)
    objects = [decode(_body(one), defaults=True) for one in made if one.kind in (*_KINDS, "Pod")]
    claims = [one for one in objects if isinstance(one, ResourceClaim)]
    if not claims:
        return None
    classes = [one for one in objects if isinstance(one, DeviceClass)]
    pod = next((one for one in objects if isinstance(one, Pod)), None)
    pod = replace(pod, resource_claims=[]) if pod else Pod(Meta("new", claims[0].meta.namespace))
    return try_claims(with_classes(inventory, classes), release, profile, claims, pod)


def with_classes(inventory: Inventory, classes: list[DeviceClass]) -> Inventory:
    """The inventory with classes added or replaced."""
    if not classes:
        return inventory
    names = {one.meta.name for one in classes}
    rest = [one for one in inventory.objects if not (isinstance(one, DeviceClass) and one.meta.name in names)]
    return Inventory([*rest, *classes], inventory.provenance)


def _body(one: Manifest) -> Json:
    """The object as it will be; for a template the claim that is made from it."""
    body = one.body
    if one.kind == "ResourceClaimTemplate":
        body = {"apiVersion": body["apiVersion"], "kind": "ResourceClaim", "metadata": body["metadata"], **body["spec"]}
    if "namespace" not in body["metadata"] and one.kind != "DeviceClass":
        body = {**body, "metadata": {**body["metadata"], "namespace": "default"}}
    return body


def try_claims(inventory: Inventory, release: Release, profile: Profile, claims: list[ResourceClaim], pod: Pod) -> Fit:
    """Try claims of one pod on all nodes, as things are and with all devices free."""
    case = Case(inventory, release, profile, claims, [pod], now=inventory.as_of, limits=_LIMITS)
    fit = Fit(len(case.nodes))
    if not case.nodes:
        return fit
    idle = Case(freed(inventory), release, profile, claims, [pod], now=inventory.as_of, limits=_LIMITS, parent=case)
    if not case.errors:
        fit.now = [one.name for one in case.fitting()]
        fit.barred = [one.name for one in case.fitting(eligible=False)]
    if not idle.errors:
        fit.idle = [one.name for one in idle.fitting()]
    known = (FITS, DOES_NOT_FIT, ERROR)
    fit.undecided = sum(one.verdict not in known for one in case.eligible)
    if not fit.now:
        answer = Answer()
        explain_devices(case if fit.idle else idle, answer)
        fit.reason = answer.summary
    return fit
