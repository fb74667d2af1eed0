"""The numbers of one reading of a cluster."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from dractl.diagnose.check import Context
from dractl.diagnose.run import Diagnosis, diagnose
from dractl.diagnose.topology import Place, place_of
from dractl.explain.claim import Question
from dractl.explain.words import moment, seconds_between
from dractl.inventory import DeviceId, Inventory
from dractl.kube.objects import ResourceClaim
from dractl.listing.devices import device_rows
from dractl.listing.lists import pool_list
from dractl.listing.rows import DeviceRow
from dractl.metrics import catalogue
from dractl.metrics.catalogue import Definition

_FINISHED = ("Succeeded", "Failed")


@dataclass(slots=True)
class Family:
    """A metric with its samples: label values in the order of the definition, and the value."""

    definition: Definition
    samples: dict[tuple[str, ...], float] = field(default_factory=dict)


def families(question: Question, now: str | None = None) -> list[Family]:
    """Everything that one state of the cluster says. ``now`` (RFC 3339) is what ages are counted to."""
    inventory = question.inventory
    rows = device_rows(inventory)
    context = Context(replace(question, now=now, fixes=False))
    report = diagnose(context.question, context=context)
    return [
        _counted(catalogue.DEVICES, ((row.driver, row.pool, row.node or "", row.state) for row in rows)),
        *_classes(context, rows),
        _counted(catalogue.POOLS, ((pool.driver, pool.status) for pool in pool_list(inventory))),
        _counted(catalogue.CLAIMS, (_claim(claim) for claim in inventory.claims.values())),
        ages(inventory, now),
        _reasons(context),
        _findings(report),
        _counted(catalogue.CHECKS, ((check.outcome,) for check in report.checks)),
        _counted(catalogue.TOPOLOGY, ((quality,) for quality in _qualities(inventory))),
        Family(catalogue.UNSEEN, {(kind,): 1.0 for kind in sorted(inventory.provenance.unseen)}),
    ]


def _counted(definition: Definition, labels: Iterable[tuple[str, ...]]) -> Family:
    return Family(definition, {key: float(number) for key, number in sorted(Counter(labels).items())})


def _classes(context: Context, rows: list[DeviceRow]) -> tuple[Family, Family]:
    from dractl.diagnose.publication import selected_devices

    states = {row.id: row.state for row in rows}
    found: Counter[tuple[str, ...]] = Counter()
    together: dict[tuple[str, ...], float] = {}
    for name, item in sorted(context.inventory.classes.items()):
        free: Counter[str | None] = Counter()
        for published in selected_devices(context, item):
            state = states[str(published.id)]
            found[name, state] += 1
            if state == "free":
                free[published.node_name] += 1
        free.pop(None, None)  # of no node, or of several
        together[(name,)] = float(max(free.values(), default=0))
    counted = {key: float(number) for key, number in sorted(found.items())}
    return Family(catalogue.CLASS_DEVICES, counted), Family(catalogue.FREE_TOGETHER, together)


def _claim(claim: ResourceClaim) -> tuple[str, str, str]:
    if claim.meta.deletion_timestamp:
        state = "deleting"
    elif claim.allocation is None:
        state = "pending"
    else:
        state = "reserved" if claim.reserved_for else "allocated"
    requests = claim.spec.requests
    first = (requests[0].exactly or requests[0].first_available[0]) if requests and _has_class(requests[0]) else None
    return claim.meta.namespace, first.device_class_name if first else "", state


def _has_class(request: object) -> bool:
    return bool(getattr(request, "exactly", None) or getattr(request, "first_available", None))


def ages(inventory: Inventory, now: str | None) -> Family:
    """The pending ages alone: they grow while nothing else changes."""
    end = moment(now or inventory.as_of)
    oldest: dict[tuple[str, ...], float] = {}
    for key, claim in inventory.claims.items():
        pods = inventory.claim_pods.get(key) or ()
        waited_for = any(pod.phase not in _FINISHED and not pod.scheduling_gates for pod in pods)
        if claim.allocation is None and not claim.meta.deletion_timestamp and waited_for:
            age = seconds_between(claim.meta.creation_timestamp, end)
            if age is not None:
                label = (key.namespace,)
                oldest[label] = max(oldest.get(label, 0.0), float(age))
    return Family(catalogue.PENDING_AGE, dict(sorted(oldest.items())))


def _reasons(context: Context) -> Family:
    found: Counter[tuple[str, ...]] = Counter()
    for waiting in context.waiting:
        findings = waiting.report.findings  # the worst first
        for key in waiting.claims:
            found[key.namespace, waiting.report.verdict, findings[0].code if findings else ""] += 1
    return Family(catalogue.PENDING_REASONS, {key: float(number) for key, number in sorted(found.items())})


def _findings(report: Diagnosis) -> Family:
    category = {check.code: check.category for check in report.checks}
    return _counted(
        catalogue.FINDINGS,
        ((item.code, item.severity.value, category.get(item.code, "dractl")) for item in report.findings),
    )


def _qualities(inventory: Inventory) -> Iterable[str]:
    for links in inventory.pod_claims.values():
        pod = links[0].pod
        if pod.phase in _FINISHED or not pod.node_name:
            continue
        places: list[Place] = []
        for link in links:
            allocation = link.claim.allocation if link.claim is not None else None
            for item in allocation.results if allocation is not None else ():
                published = inventory.devices.get(DeviceId(item.driver, item.pool, item.device))
                if published is not None and not item.admin_access:
                    places.append(place_of(published))
        nics = [one for one in places if one.network]
        others = [one for one in places if not one.network]
        if nics and others:
            yield _quality(nics, others)


def _quality(nics: list[Place], others: list[Place]) -> str:
    if {one.root for one in nics if one.root} & {one.root for one in others if one.root}:
        return "root"
    if {one.numa for one in nics if one.numa is not None} & {one.numa for one in others if one.numa is not None}:
        return "numa"
    known = all(one.root or one.numa is not None for one in nics + others)
    return "apart" if known else "unknown"
