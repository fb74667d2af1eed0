"""``dractl validate`` with a cluster: the manifests against a fleet, and against the objects that are there."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from dractl.cli.checking import Choice, FileResult
from dractl.cli.options import DEFAULT_NAMESPACE
from dractl.cli.output import Progress, note
from dractl.cli.placing import item_of
from dractl.cli.source import choose_release, connect_to, one_source
from dractl.rules import advice
from dractl.rules.finding import ObjectRef
from dractl.sources.manifests import Document, read_file
from dractl.validation.fleet import GONE, FleetAnswer, FleetChecker, known_of
from dractl.validation.model import Fault, Path
from dractl.validation.report import FleetResult, ObjectResult, ValidationReport, in_order
from dractl.validation.server import environment_of

if TYPE_CHECKING:
    from dractl.inventory import Inventory
    from dractl.sources.cluster import RawState
    from dractl.sources.connection import Connection

NAMES = ("DeviceClass", "ResourceClaim", "ResourceClaimTemplate")
FLEET_KINDS = (*NAMES, "ResourceSlice", "DeviceTaintRule", "Node", "Namespace")
OWN_KINDS = (*NAMES, "DeviceTaintRule", "ResourceSlice", "Pod", "DaemonSet")
"""Kinds whose objects in a running cluster are compared with the manifests."""


@dataclass(slots=True)
class ClusterState:
    """What was read of a cluster, recorded or running: as an inventory, and as the objects themselves.

    ``namespace`` is where objects without one go; ``read`` names the kinds that a running cluster was asked for.
    """

    inventory: Inventory
    items: list[dict[str, Any]]
    namespace: str = DEFAULT_NAMESPACE
    read: tuple[str, ...] = ()

    def objects(self) -> dict[tuple[str, str, str], dict[str, Any]]:
        """The objects by kind, namespace and name."""
        known: dict[tuple[str, str, str], dict[str, Any]] = {}
        for body in self.items:
            meta = body.get("metadata")
            if isinstance(meta, dict):
                known[str(body.get("kind")), str(meta.get("namespace") or ""), str(meta.get("name"))] = body
        return known


def read_cluster_state(
    snapshot: str | None, demo: bool, context: str | None, kubeconfig: str | None, with_objects: bool
) -> ClusterState:
    """Read the cluster that the options name; without any it is that of the kubeconfig's current context.

    Raises:
        DractlError: for contradicting options and unreadable input, and when the cluster cannot be asked.
    """
    from dractl.sources.snapshot import inventory_of, read_demo, read_raw, read_snapshot

    one_source(snapshot, demo, context, kubeconfig)
    if snapshot or demo:
        if not with_objects:
            inventory = read_demo() if demo or snapshot is None else read_snapshot(snapshot)
            _tell(inventory.provenance.notes)
            return ClusterState(inventory, [])
        state = read_raw(None if demo else snapshot)
        _tell(state.notes)
        return ClusterState(inventory_of(state), state.items)
    connection = connect_to(context, kubeconfig)
    kinds = tuple(dict.fromkeys((*FLEET_KINDS, *(OWN_KINDS if with_objects else ()))))
    live = _read_live(connection, kinds)
    return ClusterState(inventory_of(live), live.items, connection.namespace, kinds)


def _read_live(connection: Connection, kinds: tuple[str, ...]) -> RawState:
    from dractl.sources.cluster import read_cluster

    with Progress() as progress:
        state = read_cluster(connection, kinds, connection.namespace, progress)
    _tell(f"{kind}: {reason}" for kind, reason in state.unseen.items())
    return state


def _tell(texts: Iterable[str]) -> None:
    for text in texts:
        note(f"note: {text}")


class Fleet:
    """A cluster as ``validate`` uses it: the release, what is known by name, and the allocator."""

    def __init__(self, state: ClusterState, kubernetes: str | None, choice: Choice) -> None:
        from dractl.kube.gates import parse_release

        inventory = self.inventory = state.inventory
        release = parse_release(choose_release(inventory, kubernetes).minor)
        labels = {name: item.meta.labels for name, item in inventory.namespaces.items()}
        settings = replace(choice.settings, release=release, namespaces=labels, namespace=state.namespace)
        self.choice = replace(choice, settings=settings, keep_objects=True, keep_claims=True)
        self.known = known_of(inventory, environment_of(settings, stored=True), state.read)

    def check(self, report: ValidationReport, total: FileResult, wanted: int) -> None:
        """Try every claim and template; ``wanted`` is the number of nodes that each has to fit on (0: no demand)."""
        checker = FleetChecker(self.inventory, self.choice.settings, total.classes)
        for one, value in total.claims:
            if one.verdict == "rejected":
                continue
            answer = checker.check(value)
            if answer is not None:
                report.fleet.append(_result(one, answer))
                faults = [*answer.faults, *_fit(answer, wanted)]
                _add(report, one, faults)
        report.items = in_order(report.items)


def _result(one: ObjectResult, answer: FleetAnswer) -> FleetResult:
    requests: list[dict[str, Any]] = [
        {"name": count.name, "class": count.device_class, "matching": count.matching, "nodes": count.nodes}
        for count in answer.requests
    ]
    words = answer.note or (f"kube-scheduler would give up: {answer.error}" if answer.error else "")
    return FleetResult(
        one.file,
        one.document,
        one.kind,
        one.namespace,
        one.name,
        requests,
        answer.nodes,
        len(answer.fits),
        answer.fits,
        words,
        answer.left_out,
        answer.tainted,
        answer.undecided,
        answer.allocated,
    )


def _fit(answer: FleetAnswer, wanted: int) -> list[Fault]:
    """A claim that fits on too few nodes, or of which that cannot be told although it was asked."""
    where: Path = ("metadata", "name")
    if answer.allocated:
        return []
    if answer.note:
        message = f"whether it fits on {wanted} {_nodes(wanted)} cannot be told: {answer.note}"
        return [Fault(advice.FITS_NOWHERE, message, where)] if wanted else []
    found = len(answer.fits)
    left = [
        f"{name} is {reason}" if reason != GONE else f"{name} has {reason}" for name, reason in answer.left_out.items()
    ]
    more = f"; {answer.undecided} undecided" if answer.undecided else ""
    more += (
        f"; not counted: {', '.join(left[:4])}" + (f" and {len(left) - 4} more" if len(left) > 4 else "")
        if left
        else ""
    )
    if wanted and found < wanted:
        message = f"it fits on {found} of {answer.nodes} nodes as the fleet is now, at least {wanted} are wanted{more}"
        return [Fault(advice.FITS_NOWHERE, message, where, evidence={"fits": found})]
    if not wanted and found == 0:
        message = f"it fits on none of the {answer.nodes} nodes as the fleet is now{more}"
        return [Fault(advice.FLEET_NOTE, message, where, evidence={"fits": 0})]
    return []


def _nodes(number: int) -> str:
    return "node" if number == 1 else "nodes"


def _add(report: ValidationReport, one: ObjectResult, faults: list[Fault]) -> None:
    if not faults:
        return
    document = _document(one)
    subject = ObjectRef(one.kind, one.name, one.namespace, one.api_version)
    told = {(item.finding.code, item.line, item.column) for item in report.items if item.file == one.file}
    for fault in faults:
        item = item_of(fault, document, one, subject)
        if document is not None and (item.finding.code, item.line, item.column) in told:
            continue  # known without the fleet
        report.items.append(item)
        if one.verdict == "accepted":
            one.verdict = "accepted-with-warning"
            report.counts["accepted"] -= 1
            report.counts["accepted-with-warning"] += 1


def _document(one: ObjectResult) -> Document | None:
    """The document again, for lines and columns; None where it came from stdin."""
    if one.file == "<stdin>":
        return None
    for found in read_file(one.file):
        if isinstance(found, Document) and found.index == one.document and found.line == one.line:
            return found
    return None
