"""Would these claims and pods fit, where, and in which order: one after another, as kube-scheduler would take them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from dractl.allocator.profile import Profile
from dractl.allocator.search import Limits
from dractl.explain.case import DOES_NOT_FIT, ERROR, FITS, UNDECIDED
from dractl.inventory import Inventory, LinkState, PodClaim, key_of
from dractl.inventory.links import resolve_pod
from dractl.kube.decode import decode
from dractl.kube.decode_resource import apply_defaults
from dractl.kube.objects import (
    GenericObject,
    KubeObject,
    Meta,
    Pod,
    ResourceClaim,
    ResourceClaimTemplate,
)
from dractl.report import API_VERSION, to_plain
from dractl.simulate.cluster import Cluster, Unit
from dractl.simulate.reasons import Reasoner

_FINISHED = ("Succeeded", "Failed")


@dataclass(slots=True)
class Placement:
    """One unit's outcome. ``nodes`` is the number of nodes it could have gone to; ``devices`` what it got."""

    name: str
    verdict: str
    node: str | None = None
    nodes: int = 0
    devices: list[str] = field(default_factory=list)
    reason: str = ""


@dataclass(slots=True)
class Affected:
    """A pod or claim that a change evicts, strands or moves."""

    name: str
    what: str


@dataclass(slots=True)
class Simulation:
    """Outcomes in the order of placing. ``together`` is whether all of them fit."""

    kubernetes: str
    placed: int
    total: int
    together: bool
    placements: list[Placement]
    notes: list[str] = field(default_factory=list)
    moved: list[Placement] = field(default_factory=list)
    """Pods that changes of the cluster make wait: they are placed first."""
    affected: list[Affected] = field(default_factory=list)
    worse: bool = False
    """Whether the changes leave a pod that ran without a place."""

    def to_json(self) -> dict[str, Any]:
        """The report as plain data."""
        return {"apiVersion": API_VERSION, "kind": "Simulation", **to_plain(self)}


def place(inventory: Inventory, profile: Profile, units: Sequence[Unit], release: str, limits: Limits) -> Simulation:
    """Place units in their order, each on the first node (by name) where it fits.

    Which of several nodes kube-scheduler would take depends on its scores; ``Placement.nodes`` says how many there
    were. An error that the scheduler meets on any allowed node ends the attempt, as it does there.
    """
    return place_on(Cluster(inventory, profile, limits), units, release)


def place_on(cluster: Cluster, units: Sequence[Unit], release: str) -> Simulation:
    """Place units on a cluster, which is changed by that."""
    reasoner = Reasoner(cluster)
    placements = [_place(cluster, unit, reasoner) for unit in units]
    placed = sum(item.verdict == FITS for item in placements)
    notes = []
    if any(item.nodes > 1 for item in placements):
        notes.append("where several nodes would do, the first by name is taken; kube-scheduler decides by its scores")
    return Simulation(release, placed, len(placements), placed == len(placements), placements, notes)


def _place(cluster: Cluster, unit: Unit, reasoner: Reasoner) -> Placement:
    if unit.problem:
        return Placement(unit.name, "error", reason=unit.problem)
    unit = cluster.settled(unit)
    results = cluster.results(unit)
    fatal = next((item for item in results.values() if item.verdict == ERROR and item.fatal), None)
    if fatal is not None:
        return Placement(unit.name, ERROR, reason=reasoner.why_error(unit, fatal.node))
    fitting = [item for item in results.values() if item.verdict == FITS]
    if not fitting:
        undecided = any(item.verdict == UNDECIDED for item in results.values())
        return Placement(unit.name, UNDECIDED if undecided else DOES_NOT_FIT, reason=reasoner.why_not(unit, results))
    chosen = fitting[0]
    cluster.take(unit, chosen)
    devices = [
        f"{item.driver}/{item.pool}/{item.device}" for given in chosen.allocations or [] for item in given.results
    ]
    return Placement(unit.name, FITS, chosen.node, len(fitting), devices)


# --- what to place --------------------------------------------------------------------------------------------------


def waiting_units(inventory: Inventory) -> list[Unit]:
    """Pods of the cluster that wait for claims, the highest priority and the oldest first."""
    pods = [
        links
        for links in inventory.pod_claims.values()
        if not links[0].pod.node_name
        and links[0].pod.phase not in _FINISHED
        and not links[0].pod.meta.deletion_timestamp
        and not links[0].pod.scheduling_gates
    ]
    waiting = [links[0].pod for links in pods]
    waiting.sort(key=lambda pod: (-pod.priority, pod.meta.creation_timestamp or "", pod.meta.name))
    return [unit_of(inventory, pod) for pod in waiting]


def unit_of(inventory: Inventory, pod: Pod) -> Unit:
    """A pod with the claims that it needs; those that are not made yet are made from their templates."""
    unit = Unit(f"pod {key_of(pod)}", [], pod)
    for link in _links(inventory, pod):
        if link.claim is not None and link.state is LinkState.FOUND:
            (unit.held if link.claim.allocation is not None else unit.claims).append(link.claim)
        elif link.template is not None and link.entry is not None:
            unit.claims.append(claim_from(link.template, f"{pod.meta.name}-{link.entry.name}"))
        elif link.state is LinkState.TEMPLATE_MISSING and link.entry is not None:
            unit.problem = f"ResourceClaimTemplate {link.entry.resource_claim_template_name} does not exist"
        elif link.state is not LinkState.NOT_NEEDED:
            unit.problem = f"ResourceClaim {link.claim_name} does not exist"
    return unit


def _links(inventory: Inventory, pod: Pod) -> list[PodClaim]:
    """The claims of a pod, also of one that the inventory does not hold."""
    if inventory.pods.get(key_of(pod)) is pod:
        return inventory.pod_claims.get(key_of(pod), [])
    return resolve_pod(pod, inventory.claims, inventory.templates, {}, {})


def claim_from(template: ResourceClaimTemplate, name: str) -> ResourceClaim:
    """The claim that a template makes."""
    meta = Meta(name=name, namespace=template.meta.namespace, labels=dict(template.labels))
    return ResourceClaim(meta, template.spec)


def manifest_units(inventory: Inventory, items: Sequence[KubeObject], replicas: int | None) -> list[Unit]:
    """Units for the objects of manifests: pods, workloads with a pod template, claims and templates that nobody uses.

    ``inventory`` already holds the items. ``replicas`` overrides a workload's own number, and repeats pods and
    templates.
    """
    units: list[Unit] = []
    used: set[tuple[str, str]] = set()
    pods = [item for item in items if isinstance(item, Pod)]
    copies = [made for pod in pods for made in _repeated(pod, replicas)]
    copies += [made for item in items if isinstance(item, GenericObject) for made in workload_pods(item, replicas)]
    for pod in copies:
        unit = unit_of(inventory, pod)
        if pod.resource_claims:
            units.append(unit)
        for entry in pod.resource_claims:
            for kind, name in (
                ("claim", entry.resource_claim_name),
                ("template", entry.resource_claim_template_name),
            ):
                if name:
                    used.add((kind, f"{pod.meta.namespace}/{name}"))
    for item in items:
        if isinstance(item, ResourceClaim) and ("claim", str(key_of(item))) not in used and item.allocation is None:
            units.append(Unit(f"claim {key_of(item)}", [item]))
        elif isinstance(item, ResourceClaimTemplate) and ("template", str(key_of(item))) not in used:
            units += [
                Unit(f"template {key_of(item)} #{number + 1}", [claim_from(item, f"{item.meta.name}-{number}")])
                for number in range(replicas or 1)
            ]
    return units


def _repeated(pod: Pod, replicas: int | None) -> list[Pod]:
    if not replicas or replicas == 1:
        return [pod]
    return [replace(pod, meta=replace(pod.meta, name=f"{pod.meta.name}-{number}")) for number in range(replicas)]


def workload_pods(item: GenericObject, replicas: int | None) -> list[Pod]:
    """The pods of a workload with a pod template; of other objects none."""
    spec: Any = item.body.get("spec")
    if isinstance(spec, dict) and item.kind == "CronJob":
        spec = (spec.get("jobTemplate") or {}).get("spec")
    template = spec.get("template") if isinstance(spec, dict) else None
    body = template.get("spec") if isinstance(template, dict) else None
    if not isinstance(body, dict) or "containers" not in body:
        return []
    wanted = replicas or spec.get("replicas") or spec.get("parallelism") or 1
    pods = []
    for number in range(int(wanted)):
        meta = {"name": f"{item.meta.name}-{number}", "namespace": item.meta.namespace or "default"}
        pod = decode({"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": body})
        assert isinstance(pod, Pod)
        pods.append(pod)
    return pods


def prepared(items: Iterable[KubeObject], namespace: str) -> list[KubeObject]:
    """Objects of manifests as the API server would store them: with defaults and a namespace."""
    out = []
    for item in items:
        apply_defaults(item)
        if isinstance(item, Pod | ResourceClaim | ResourceClaimTemplate) and not item.meta.namespace:
            item.meta.namespace = namespace
        if isinstance(item, Pod) and item.meta.generate_name and not item.meta.name:
            item.meta.name = f"{item.meta.generate_name}x"
        out.append(item)
    return out
