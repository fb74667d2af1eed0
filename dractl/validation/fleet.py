"""Claims and templates against a fleet: what their selectors match, and on which nodes the allocator serves them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from dractl.allocator import ERROR, FITS, UNDECIDED, Allocator, Profile
from dractl.allocator.request import ClaimPlan, RequestSpec
from dractl.cel.environment import Environment
from dractl.inventory import Inventory, Key
from dractl.kube.decode import DecodeError, decode
from dractl.kube.objects import DeviceClass, Meta, Node, ResourceClaim, ResourceClaimTemplate
from dractl.rules import advice as rules
from dractl.rules import allocation
from dractl.validation.model import Fault, Json, Path, RequestView, at, claim_view, mapping
from dractl.validation.references import Known
from dractl.validation.selectors import selector_view
from dractl.validation.settings import Settings
from dractl.validation.versions import closest

GONE = "no Node object"
_OF_THE_SYSTEM = ("node.kubernetes.io/", "node.cloudprovider.kubernetes.io/")
_KEEPS_AWAY = ("NoSchedule", "NoExecute")


@dataclass(slots=True)
class RequestCount:
    """How many published devices match one request (class and selectors; in use or not), on how many nodes."""

    name: str
    device_class: str
    matching: int = 0
    nodes: int = 0


@dataclass(slots=True)
class FleetAnswer:
    """One claim against the fleet. ``error`` is kube-scheduler's text where it gives up on all nodes.

    ``nodes`` counts those to which pods can be scheduled, ``fits`` names the ones among them. ``left_out`` holds the
    others on which it would fit, or that have matching devices, with the reason; ``tainted`` those of ``fits`` with a
    taint that the pod has to tolerate. ``note`` says why it was not tried, ``allocated`` that it has its devices.
    """

    requests: list[RequestCount] = field(default_factory=list)
    nodes: int = 0
    fits: list[str] = field(default_factory=list)
    undecided: int = 0
    left_out: dict[str, str] = field(default_factory=dict)
    tainted: dict[str, str] = field(default_factory=dict)
    error: str = ""
    faults: list[Fault] = field(default_factory=list)
    note: str = ""
    allocated: bool = False


class FleetChecker:
    """Answers for one fleet.

    Args:
        inventory: the fleet with what is in use.
        settings: release and gates.
        classes: DeviceClasses of the manifests as read; they replace those of the fleet.
    """

    def __init__(self, inventory: Inventory, settings: Settings, classes: Iterable[Json] = ()) -> None:
        self.inventory = inventory
        known = dict(inventory.classes)
        for body in classes:
            found = _decoded(body)
            if isinstance(found, DeviceClass):
                known[found.meta.name] = found
        self.classes = known
        self.reasons = {name: why_not(node) for name, node in inventory.nodes.items()}
        """Why no pod is scheduled to a node; empty where one can be."""
        self.allocator = Allocator(
            Profile.for_release(settings.version, settings.gates),
            inventory.slices,
            known.values(),
            inventory.claims.values(),
            inventory.taint_rules,
        )

    def check(self, value: Json) -> FleetAnswer | None:
        """The answer for a ResourceClaim or ResourceClaimTemplate as read; None if it cannot be decoded."""
        claim = _claim_of(value)
        view = claim_view(value)
        if claim is None or view is None:
            return None
        answer = FleetAnswer(nodes=sum(not reason for reason in self.reasons.values()))
        missing = sorted({one.device_class for one in view.requests} - set(self.classes) - {""})
        if missing:
            answer.note = f"not tried: class {', '.join(missing)} is not known"
            return answer
        (plan,) = self.allocator.plan([claim])
        self._count(plan, {one.name: one for one in view.requests}, answer)
        present = self.inventory.claims.get(Key(claim.meta.namespace, claim.meta.name))
        if present is not None and present.allocation is not None and value.get("kind") == "ResourceClaim":
            answer.allocated, answer.note = True, "it is allocated already"
            return answer
        if not self.inventory.nodes:
            answer.note = "not tried: the snapshot has no nodes"
            return answer
        by_node = self.allocator.allocate_nodes([claim], self.inventory.nodes.values()).by_node
        good = [name for name, result in by_node.items() if result.verdict == FITS]
        answer.fits = [name for name in good if not self.reasons[name]]
        answer.left_out |= {name: self.reasons[name] for name in good if self.reasons[name]}
        answer.tainted = {name: taints for name in answer.fits if (taints := _taints(self.inventory.nodes[name]))}
        answer.undecided = sum(
            result.verdict == UNDECIDED and not self.reasons[name] for name, result in by_node.items()
        )
        errors = {result.error for result in by_node.values() if result.verdict == ERROR and result.error}
        answer.error = min(errors) if errors and not answer.fits else ""
        return answer

    def _count(self, plan: ClaimPlan, views: Mapping[str, RequestView], answer: FleetAnswer) -> None:
        for spec in _specs(plan):
            count = RequestCount(spec.name, spec.device_class.meta.name)
            nodes: set[str] = set()
            capacities: set[str] = set()
            failed: dict[tuple[bool, int], list[tuple[str, str]]] = {}
            for device_id, published in self.inventory.devices.items():
                verdict = spec.chain.verdict(device_id.driver, published.device)
                if verdict.match:
                    count.matching += 1
                    capacities.update(published.device.capacity)
                    if published.node_name:
                        nodes.add(published.node_name)
                elif verdict.failed and verdict.error:
                    failed.setdefault((verdict.by_class, verdict.index), []).append((str(device_id), verdict.error))
            count.nodes = len(nodes)
            answer.left_out |= dict.fromkeys(sorted(nodes - set(self.inventory.nodes)), GONE)
            answer.requests.append(count)
            request = views.get(spec.name)
            path = request.path if request is not None else ("spec",)
            if request is not None and count.matching:
                answer.faults += _unknown_capacities(request, count.matching, capacities)
            for (by_class, index), devices in failed.items():
                answer.faults.append(_failed(spec, path, by_class, index, devices))
            if count.matching == 0 and not failed:
                answer.faults.append(_nothing(spec, path, len(self.inventory.devices)))


def why_not(node: Node) -> str:
    """Why no ordinary pod can be scheduled to a node now; empty where one can be."""
    if node.unschedulable:
        return "cordoned"
    ready = next((one.status for one in node.conditions if one.type == "Ready"), "True")
    if ready != "True":
        return "not ready" if ready == "False" else "unreachable"
    own = [taint.key for taint in node.taints if taint.key.startswith(_OF_THE_SYSTEM) and taint.effect in _KEEPS_AWAY]
    return f"taint {own[0]}" if own else ""


def _taints(node: Node) -> str:
    """The taints of a node that a pod has to tolerate."""
    return ", ".join(
        f"{taint.key}={taint.value}:{taint.effect}" if taint.value else f"{taint.key}:{taint.effect}"
        for taint in node.taints
        if taint.effect in _KEEPS_AWAY
    )


def _specs(plan: ClaimPlan) -> list[RequestSpec]:
    """The requests of a plan, alternatives one by one; without those that have an error of their own."""
    return [spec for request in plan.requests for spec in request.specs if spec is not None]


def _failed(spec: RequestSpec, path: Path, by_class: bool, index: int, devices: list[tuple[str, str]]) -> Fault:
    device, error = devices[0]
    where = f"a selector of class {spec.device_class.meta.name}" if by_class else "the selector"
    message = f"{where} fails on {len(devices)} published devices, the first is {device}: {error}"
    place = (*path, "deviceClassName") if by_class else (*path, "selectors", index, "cel", "expression")
    return Fault(allocation.SELECTOR_ERROR, message, place, evidence={"devices": len(devices), "first": device})


def _unknown_capacities(request: RequestView, matching: int, known: set[str]) -> Iterator[Fault]:
    """Amounts of something that no matching device has: every one of them is ruled out."""
    for key in mapping(at(request.body, "capacity", "requests")):
        if key in known:
            continue
        same = [other for other in sorted(known) if other.rpartition("/")[2] == key.rpartition("/")[2]]
        close = same[0] if same else closest(key, sorted(known))
        message = f"none of the {matching} published devices that match has a capacity {key}, so none can serve it"
        has = f"they have {', '.join(sorted(known)[:8])}" if known else "they have no capacities"
        hint = f"write {close}; the keys are compared letter by letter" if close else has
        place = (*request.path, "capacity", "requests", key)
        yield Fault(rules.CAPACITY_KEY, message, place, key=True, hint=hint)


def _nothing(spec: RequestSpec, path: Path, published: int) -> Fault:
    message = (
        f"request {spec.name} (class {spec.device_class.meta.name}) matches none of the {published} published devices"
    )
    return Fault(allocation.SELECTS_NOTHING, message, path)


def _decoded(body: Json) -> object:
    try:
        return decode(body, defaults=True)
    except DecodeError:
        return None


def _claim_of(value: Json) -> ResourceClaim | None:
    found = _decoded(value)
    if isinstance(found, ResourceClaimTemplate):
        name = found.meta.name or "template"
        return ResourceClaim(Meta(name=name, namespace=found.meta.namespace or "default"), found.spec)
    if isinstance(found, ResourceClaim):
        found.meta.namespace = found.meta.namespace or "default"
        return ResourceClaim(found.meta, found.spec)
    return None


def known_of(inventory: Inventory, environment: Environment, read: Iterable[str] = ()) -> Known:
    """What the rules that take several objects need from a fleet.

    ``read`` names kinds that were asked for, so that none of them means that there is none; a kind of which only a part
    may be seen tells nothing of what is not there.
    """
    known = Known()
    seen = (inventory.kinds | frozenset(read)) - frozenset(inventory.provenance.unseen)
    if "DeviceClass" in seen:
        known.objects["DeviceClass"] = frozenset(("", name) for name in inventory.classes)
    if "ResourceClaim" in seen:
        known.objects["ResourceClaim"] = frozenset((key.namespace, key.name) for key in inventory.claims)
    if "ResourceClaimTemplate" in seen:
        known.objects["ResourceClaimTemplate"] = frozenset((key.namespace, key.name) for key in inventory.templates)
    for name, item in inventory.classes.items():
        known.classes[name] = _drivers(item, environment)
    for key, claim in inventory.claims.items():
        known.requests["ResourceClaim", key.namespace, key.name] = frozenset(one.name for one in claim.spec.requests)
    for key, template in inventory.templates.items():
        names = frozenset(one.name for one in template.spec.requests)
        known.requests["ResourceClaimTemplate", key.namespace, key.name] = names
    published: dict[str, dict[tuple[str, str], set[str]]] = {}
    for device_id, device in inventory.devices.items():
        types = published.setdefault(device_id.driver, {})
        for key_text, attribute in device.device.attributes.items():
            domain, _, name = key_text.rpartition("/")
            types.setdefault((domain or device_id.driver, name), set()).add(attribute.kind)
    known.published = {
        driver: {name: frozenset(kinds) for name, kinds in types.items()} for driver, types in published.items()
    }
    return known


def _drivers(item: DeviceClass, environment: Environment) -> frozenset[str] | None:
    found: frozenset[str] | None = None
    for selector in item.selectors:
        view = selector_view(selector.cel, environment) if selector.cel else None
        if view is not None and view.drivers is not None:
            found = view.drivers if found is None else found & view.drivers
    return found
