"""Why devices were not taken: for every request every device with the first reason that refuses it, and what made
combinations fail.

Reasons are statements about the state of the cluster ("held by ml/a", "needs memory 80Gi, has 40Gi"), in the order of
the funnel: published, pools, class, request, capacity, taints, free, counters, constraints. They do not depend on the
order in which the search tried things. A trace is made from the state when it is asked for, so that it costs a search
nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from dractl.allocator import quirks as q
from dractl.allocator.attributes import Attributes, DerivedFailure
from dractl.allocator.bounds import matching
from dractl.allocator.capacity import CapacityError, CapacityRules, CapacityShort, SchedulerPanic
from dractl.allocator.constraint import applies_to, value_set
from dractl.allocator.counters import CounterSets, GroupBook, remaining, shares_count
from dractl.allocator.pools import INCOMPLETE, Pool, PoolGatherer
from dractl.allocator.profile import Profile
from dractl.allocator.request import RESULTS_LIMIT, AllocationError, ClaimPlan, RequestSpec, claim_label
from dractl.allocator.selection import Selection, Verdict
from dractl.allocator.state import AllocatedState, DeviceId
from dractl.allocator.taints import blocking_taint
from dractl.allocator.view import BINDING_OFF, NOT_FOR_NODE, Candidate, NodeView
from dractl.kube.objects import DeviceConstraint, DeviceTaint
from dractl.kube.quantity import Quantity

STAGES: Mapping[str, tuple[str, ...]] = {
    "published": (),
    "pools": ("pool-obsolete", "pool-incomplete", "pool-invalid", "node-mismatch"),
    "class": ("class-selector", "binding-conditions-off"),
    "request": ("request-selector", "selector-error"),
    "capacity": ("capacity-undefined", "capacity-insufficient"),
    "taints": ("tainted",),
    "free": ("in-use",),
    "counters": ("counters-insufficient",),
    "constraints": ("constraint-attribute-missing", "constraint-mismatch", "constraint-duplicate"),
}
"""The steps of the funnel and the refusals that belong to each."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a request cannot have a device. ``facts`` are the values in the text, for other wordings."""

    device: DeviceId
    code: str
    text: str
    facts: Mapping[str, object] = field(default_factory=dict)


@dataclass(slots=True, eq=False)
class Stage:
    """How many devices are left after a step of the funnel, and how many each reason took away in it."""

    name: str
    left: int
    refused: dict[str, int] = field(default_factory=dict)


@dataclass(slots=True, eq=False)
class RequestTrace:
    """One request, or one alternative of it."""

    claim: str
    request: str
    """``name`` or ``name/alternative``."""
    device_class: str
    needed: int
    """Devices wanted; for All, all that class and selectors choose."""
    wants_all: bool
    refusals: list[Refusal] = field(default_factory=list)
    free: list[DeviceId] = field(default_factory=list)
    """Devices that nothing refuses: the request could have them, if it was for it alone."""

    def funnel(self) -> list[Stage]:
        """The steps from all published devices to those that are left."""
        left = len(self.refusals) + len(self.free)
        stages = []
        for name, codes in STAGES.items():
            refused: dict[str, int] = {}
            for refusal in self.refusals:
                if refusal.code in codes:
                    refused[refusal.code] = refused.get(refusal.code, 0) + 1
            left -= sum(refused.values())
            stages.append(Stage(name, left, refused))
        return stages


GroupValue = tuple[str, object]
"""A value of an attribute with the family of its type: values of different types are never equal."""


@dataclass(slots=True, eq=False)
class ConstraintTrace:
    """A constraint: for each value of its attribute how many otherwise free devices each request has with it."""

    claim: str
    index: int
    kind: str
    """matchAttribute or distinctAttribute."""
    attribute: str
    requests: list[str]
    groups: dict[GroupValue, dict[str, int]]


@dataclass(frozen=True, slots=True)
class Cause:
    """What makes the claims as a whole fail. ``kind``: too-few, all-blocked, constraint, competition, result-limit, or
    combination where no single cause is enough."""

    kind: str
    text: str
    facts: Mapping[str, object] = field(default_factory=dict)


@dataclass(slots=True, eq=False)
class Trace:
    """The account for one node."""

    node: str
    requests: list[RequestTrace]
    constraints: list[ConstraintTrace]
    causes: list[Cause]
    """Why the claims do not fit; empty where they do."""


@dataclass(slots=True, eq=False)
class _Seen:
    """A request with the devices that are left before constraints."""

    spec: RequestSpec
    trace: RequestTrace
    left: list[Candidate] = field(default_factory=list)
    blocked: list[Refusal] = field(default_factory=list)
    """Devices of an All request that it must have and cannot get."""


_Values = dict[tuple[int, int], list[GroupValue]]
"""The values of a constraint's attribute, by request and device (identities): a request may derive its own."""


class Tracer:
    """Makes the trace of a node.

    Args:
        profile: decides which features count; quirks of the search play no part, except for which pools are seen.
        view: the node.
        gatherer: all pools, for devices that the node does not get to see.
        state: what is allocated.
        selection: compiled selectors.
        attributes: what constraints see of devices.
        plans: the claims.
    """

    def __init__(
        self,
        profile: Profile,
        view: NodeView,
        gatherer: PoolGatherer,
        state: AllocatedState,
        selection: Selection,
        attributes: Attributes,
        plans: Sequence[ClaimPlan],
    ) -> None:
        self._profile = profile
        self._features = profile.features
        self._view = view
        self._gatherer = gatherer
        self._state = state
        self._selection = selection
        self._attributes = attributes
        self._plans = plans
        self._rules = CapacityRules(profile)
        self._left: dict[int, CounterSets] = {}

    def trace(self, fits: bool) -> Trace:
        """The account. ``fits`` is the verdict: only where it is False are causes looked for."""
        seen = [self._request(spec) for plan in self._plans for r in plan.requests for spec in r.specs if spec]
        constraints = [
            found
            for plan in self._plans
            for index, constraint in enumerate(plan.constraints)
            if (found := self._constraint(plan, index, constraint, seen)) is not None
        ]
        for entry in seen:
            entry.trace.free = [c.id for c in entry.left]
        causes = [] if fits else self._causes(seen, constraints)
        return Trace(self._view.node.meta.name, [entry.trace for entry in seen], constraints, causes)

    # --- one device ----------------------------------------------------------------------------------------------

    def _request(self, spec: RequestSpec) -> _Seen:
        trace = RequestTrace(
            claim_label(spec.claim), spec.name, spec.device_class.meta.name, spec.count, spec.wants_all
        )
        entry = _Seen(spec, trace)
        trace.refusals.extend(self._unseen())
        for candidate in self._view.candidates:
            refusal = self._refusal(spec, candidate)
            if refusal is None:
                entry.left.append(candidate)
            else:
                trace.refusals.append(refusal)
                if spec.wants_all and refusal.code in ("tainted", "in-use", "counters-insufficient"):
                    entry.blocked.append(refusal)
        if spec.wants_all:
            trace.needed = len(entry.left) + len(entry.blocked)
        return entry

    def _unseen(self) -> Iterable[Refusal]:
        """Devices published for the node whose pool is not used."""
        seen = {id(item) for pool in self._view.pools for item in pool.slices}
        pools = {(pool.driver, pool.name): pool for pool in self._view.pools}
        for item in self._gatherer.slices_for(self._view.node):
            if id(item) in seen or not self._gatherer.is_for(item, self._view.node):
                continue
            key = (item.driver, item.pool.name)
            code, text, facts = self._lost(pools.get(key), item.pool.generation, key)
            for device in item.devices:
                yield Refusal((*key, device.name), code, text, facts)

    def _lost(self, pool: Pool | None, generation: int, key: tuple[str, str]) -> tuple[str, str, dict[str, object]]:
        newest = self._gatherer.newest_generation(key)
        if pool is None or generation < pool.generation:
            facts: dict[str, object] = {"generation": generation, "newest": newest}
            return "pool-obsolete", f"generation {generation} of the pool, the newest is {newest}", facts
        facts = {"expected": pool.expected, "found": pool.found, "generation": pool.generation}
        if pool.status == INCOMPLETE:
            text = f"the pool has {pool.found} of {pool.expected} slices of generation {pool.generation}"
            return "pool-incomplete", text, facts
        return "pool-invalid", f"the pool is invalid: {pool.reason}", {"reason": pool.reason}

    def _refusal(self, spec: RequestSpec, candidate: Candidate) -> Refusal | None:
        """The first reason that refuses a device, constraints aside."""
        for found in (
            self._by_selection(spec, candidate),
            self._by_capacity(spec, candidate),
            self._by_taint(spec, candidate),
            self._by_use(spec, candidate),
            self._by_counters(spec, candidate),
        ):
            if found is not None:
                return found
        return None

    def _by_selection(self, spec: RequestSpec, candidate: Candidate) -> Refusal | None:
        try:
            if not self._view.for_node(candidate):
                return Refusal(candidate.id, "node-mismatch", "published for other nodes")
        except AllocationError as error:
            return Refusal(candidate.id, "node-mismatch", str(error))
        if not self._view.operations_allowed(candidate):
            text = "skips operations on the node, which the node or the scheduler does not support"
            return Refusal(candidate.id, "node-mismatch", text)
        verdict = self._view.verdict(spec, candidate)
        if verdict.match:
            return None
        if verdict is NOT_FOR_NODE:
            return Refusal(candidate.id, "node-mismatch", "published for other nodes")
        if verdict is BINDING_OFF:
            names = list(candidate.device.binding_conditions or ())
            text = f"has binding conditions ({', '.join(names)}), and the feature is off"
            return Refusal(candidate.id, "binding-conditions-off", text, {"conditions": names})
        return self._by_selector(verdict, candidate)

    def _by_selector(self, verdict: Verdict, candidate: Candidate) -> Refusal:
        assert verdict.selector is not None
        facts: dict[str, object] = {
            "owner": verdict.owner,
            "index": verdict.index,
            "expression": verdict.selector.expression,
        }
        if verdict.failed:
            facts["error"] = verdict.selector.error or verdict.error
            if verdict.outcome is not None and verdict.outcome.missing is not None:
                facts["missing"] = verdict.outcome.missing
            return Refusal(candidate.id, "selector-error", self._selection.error_text(verdict, candidate.id), facts)
        code = "class-selector" if verdict.by_class else "request-selector"
        return Refusal(candidate.id, code, f"{verdict.owner}: selector #{verdict.index} is false", facts)

    def _by_capacity(self, spec: RequestSpec, candidate: Candidate) -> Refusal | None:
        if not self._features.consumable_capacity:
            return None
        taken = self._state.aggregated.get(candidate.id)
        try:
            short = self._rules.shortage(spec.request.capacity, candidate.device.capacity, taken)
        except (CapacityError, SchedulerPanic) as error:
            return Refusal(candidate.id, "capacity-insufficient", str(error), {"error": str(error)})
        if short is None:
            return None
        holders = self._holders(candidate.id) if short.taken else []
        facts = {"name": short.name, "wanted": short.wanted, "has": short.has, "taken": short.taken}
        return Refusal(candidate.id, short.code, _capacity_text(short, holders), {**facts, "holders": holders})

    def _by_taint(self, spec: RequestSpec, candidate: Candidate) -> Refusal | None:
        if not self._features.device_taints:
            return None
        every = q.EVERY_TAINT_BLOCKS in self._profile.quirks
        taint = blocking_taint(candidate.device.taints, spec.request.tolerations, every)
        if taint is None:
            return None
        facts = {"key": taint.key, "value": taint.value, "effect": taint.effect, "rule": taint.rule}
        return Refusal(candidate.id, "tainted", f"tainted {taint_text(taint)}", facts)

    def _by_use(self, spec: RequestSpec, candidate: Candidate) -> Refusal | None:
        overlooked = q.SHARES_OVERLOOKED in self._profile.quirks
        if spec.admin or not self._state.excludes(candidate.id, candidate.multi or overlooked):
            return None
        holders = self._holders(candidate.id)
        return Refusal(candidate.id, "in-use", f"held by {', '.join(holders)}", {"holders": holders})

    def _holders(self, device: DeviceId) -> list[str]:
        return list(dict.fromkeys(map(claim_label, self._state.holders.get(device, ()))))

    def _by_counters(self, spec: RequestSpec, candidate: Candidate) -> Refusal | None:
        device = candidate.device
        if not device.consumes_counters:
            return None
        if not self._features.partitionable_devices:
            text = "takes counters, and the feature is off"
            return Refusal(candidate.id, "counters-insufficient", text)
        if not self._takes_counters(spec, candidate):
            return None
        left = self._counters(candidate)
        for use in device.consumes_counters:
            for name, amount in use.counters.items():
                have = left.get(use.counter_set, {}).get(name)
                if have is not None and have < amount.nano:
                    rest = Quantity(have, amount.notation)
                    facts = {"set": use.counter_set, "counter": name, "needed": amount, "left": rest}
                    text = f"needs {amount} of counter {use.counter_set}/{name}, {rest} left"
                    return Refusal(candidate.id, "counters-insufficient", text, facts)
        refusal = self._by_overdraft(candidate, left)
        if refusal is not None:
            return refusal
        if self._features.compatibility_groups and GroupBook(self._state).admit(candidate.pool, device) is None:
            text = "its compatibility groups exclude devices in use on its counter sets"
            return Refusal(candidate.id, "counters-insufficient", text)
        return None

    def _takes_counters(self, spec: RequestSpec, candidate: Candidate) -> bool:
        """Whether giving out a device takes its counters: a further share of one does not, as a rule."""
        quirks = self._profile.quirks
        if spec.admin and q.ADMIN_NEEDS_COUNTERS not in quirks:
            return False
        if not candidate.multi or q.EACH_SHARE_CHARGED in quirks:
            return True
        if candidate.id in self._state.aggregated:
            return False
        return candidate.id not in self._state.shared or q.SHARES_CHARGED_AGAIN in quirks

    def _by_overdraft(self, candidate: Candidate, left: CounterSets) -> Refusal | None:
        """A counter of which more was given out than there is, which keeps all devices with counters from being had."""
        if q.OVERDRAWN_BLOCKS_POOL not in self._profile.quirks:
            return None
        for counter_set, counters in left.items():
            for name, amount in counters.items():
                if amount < 0:
                    facts = {"set": counter_set, "counter": name, "left": Quantity(amount)}
                    text = f"more of counter {counter_set}/{name} is in use than there is"
                    return Refusal(candidate.id, "counters-insufficient", text, facts)
        return None

    def _counters(self, candidate: Candidate) -> CounterSets:
        pool, item = candidate.pool, candidate.slice
        by_slice = q.COUNTERS_BY_SLICE in self._profile.quirks
        key = id(item if by_slice else pool)
        if key not in self._left:
            sets = item.shared_counters if by_slice else list(pool.counter_sets.values())
            slices = [item] if by_slice else pool.slices + pool.others
            counts = self._state.holds_any if shares_count(self._profile) else self._state.exclusive.__contains__
            self._left[key] = remaining(sets, slices, counts)
        return self._left[key]

    # --- constraints ---------------------------------------------------------------------------------------------

    def _constraint(
        self, plan: ClaimPlan, index: int, constraint: DeviceConstraint, seen: Sequence[_Seen]
    ) -> ConstraintTrace | None:
        """Refuse what a constraint refuses, and count what it leaves."""
        entries = [e for e in seen if e.spec.claim is plan.claim and applies_to(constraint, e.spec)]
        name = constraint.match_attribute or constraint.distinct_attribute
        if name is None:
            return None
        kind = "matchAttribute" if constraint.match_attribute else "distinctAttribute"
        label = claim_label(plan.claim)
        trace = ConstraintTrace(label, index, kind, name, [e.trace.request for e in entries], {})
        values: _Values = {}
        for entry in entries:
            kept = []
            for candidate in entry.left:
                try:
                    found = self._values(entry.spec, candidate, name)
                    text = f"has no attribute {name}"
                except DerivedFailure as failure:
                    found, text = [], f"attribute {name} cannot be derived: {failure.error}"
                if not found:
                    refusal = Refusal(candidate.id, "constraint-attribute-missing", text, {"attribute": name})
                    entry.trace.refusals.append(refusal)
                    continue
                kept.append(candidate)
                values[id(entry), id(candidate)] = found
                for value in found:
                    free = trace.groups.setdefault(value, {})
                    free[entry.trace.request] = free.get(entry.trace.request, 0) + 1
            entry.left = kept
        if kind == "matchAttribute":
            self._mismatches(plan, trace, entries, values)
        return trace

    def _values(self, spec: RequestSpec, candidate: Candidate, name: str) -> list[GroupValue]:
        attribute = self._attributes.of(spec, candidate.pool.driver, candidate.device, name)
        found = None if attribute is None else value_set(attribute)
        if attribute is None or found is None:
            return []
        if isinstance(attribute.value, tuple) and not self._features.list_type_attributes:
            # without the feature a list is like nothing else, not even the same list on another device
            return [(attribute.kind, (attribute.value, candidate.id))]
        return sorted(((found[0], value) for value in found[1]), key=str)

    def _mismatches(self, plan: ClaimPlan, trace: ConstraintTrace, entries: Sequence[_Seen], values: _Values) -> None:
        """Refuse devices whose value some other request cannot match."""
        for entry in entries:
            kept = []
            for candidate in entry.left:
                lacking = [
                    self._lacking(plan, trace, entry, entries, value) for value in values[id(entry), id(candidate)]
                ]
                if all(lacking):
                    request = next(name for name in lacking if name)
                    shown = ", ".join(_shown(value) for _, value in values[id(entry), id(candidate)])
                    text = f"{trace.attribute} is {shown}, and {request} has too few free devices with that"
                    facts = {
                        "attribute": trace.attribute,
                        "value": values[id(entry), id(candidate)],
                        "request": request,
                    }
                    entry.trace.refusals.append(Refusal(candidate.id, "constraint-mismatch", text, facts))
                else:
                    kept.append(candidate)
            entry.left = kept

    @staticmethod
    def _lacking(
        plan: ClaimPlan, trace: ConstraintTrace, entry: _Seen, entries: Sequence[_Seen], value: GroupValue
    ) -> str | None:
        """The request that cannot be served with a value, if any; alternatives serve for their request."""
        free = trace.groups.get(value, {})
        if free.get(entry.trace.request, 0) < entry.trace.needed:
            return f"request {entry.trace.request}"
        for request in plan.requests:
            own = [e for e in entries if e.spec in request.specs]
            if not own or entry.spec in request.specs:
                continue
            unbound = len(own) < len(request.specs)
            if not unbound and all(free.get(e.trace.request, 0) < e.trace.needed for e in own):
                return f"request {request.request.name}"
        return None

    # --- the whole -----------------------------------------------------------------------------------------------

    def _causes(self, seen: Sequence[_Seen], constraints: Sequence[ConstraintTrace]) -> list[Cause]:
        causes: list[Cause] = []
        for plan in self._plans:
            for request in plan.requests:
                own = [entry for entry in seen if entry.spec in request.specs]
                if own and all(self._short(entry) for entry in own):
                    causes += [self._too_few(entry, constraints) for entry in own]
        return causes or self._joint(seen)

    def _short(self, entry: _Seen) -> bool:
        needed = entry.trace.needed
        if needed > 1 and q.PERMUTATIONS in self._profile.quirks and any(c.multi for c in entry.left):
            needed = 1  # all orders are tried, so that one device may be shared within the request
        return bool(entry.blocked) or len(entry.left) < max(needed, 1) or entry.trace.needed > RESULTS_LIMIT

    def _too_few(self, entry: _Seen, constraints: Sequence[ConstraintTrace]) -> Cause:
        trace = entry.trace
        facts: dict[str, object] = {"claim": trace.claim, "request": trace.request, "needed": trace.needed}
        if entry.blocked:
            blocked = entry.blocked[0]
            text = f"request {trace.request} wants all devices, but {'/'.join(blocked.device)} is {blocked.text}"
            return Cause("all-blocked", text, {**facts, "blocked": len(entry.blocked)})
        if trace.needed > RESULTS_LIMIT:
            text = f"request {trace.request} needs {trace.needed} devices, an allocation holds {RESULTS_LIMIT}"
            return Cause("result-limit", text, facts)
        facts["free"] = len(entry.left)
        by_constraint = sum(1 for refusal in trace.refusals if refusal.code.startswith("constraint-"))
        if len(entry.left) + by_constraint >= max(trace.needed, 1):
            about = [c for c in constraints if c.claim == trace.claim and trace.request in c.requests]
            names = ", ".join(dict.fromkeys(f"{c.kind} {c.attribute}" for c in about))
            text = f"request {trace.request}: {names} leaves {len(entry.left)} of {trace.needed} devices"
            return Cause("constraint", text, {**facts, "constraints": [c.index for c in about]})
        text = f"request {trace.request} needs {max(trace.needed, 1)}, {len(entry.left)} could be had"
        return Cause("too-few", text, facts)

    def _joint(self, seen: Sequence[_Seen]) -> list[Cause]:
        """Every request could be served by itself, but not all of them together."""
        slots: list[list[object]] = []
        for plan in self._plans:
            for request in plan.requests:
                own = [entry for entry in seen if entry.spec in request.specs]
                if len(own) != 1 or own[0].spec.admin or any(c.multi for c in own[0].left):
                    continue
                slots += [[c.id for c in own[0].left]] * own[0].trace.needed
        found = matching(slots)
        if found < len(slots):
            things = len({device for slot in slots for device in slot})
            text = (
                f"the requests need {len(slots)} devices together, {found} of them can be had from {things} free ones"
            )
            return [Cause("competition", text, {"needed": len(slots), "possible": found, "free": things})]
        return [Cause("combination", "each request can be served alone, but not all of them together")]


def taint_text(taint: DeviceTaint) -> str:
    """``key=value:Effect``."""
    return f"{taint.key}{'=' + taint.value if taint.value else ''}:{taint.effect}"


def _shown(value: object) -> str:
    """A value of a constraint's attribute; of a list that is not compared, the list."""
    return f"the list {', '.join(map(str, value[0]))}" if isinstance(value, tuple) else str(value)


def _capacity_text(short: CapacityShort, holders: Sequence[str]) -> str:
    if short.code == "capacity-undefined":
        return f"has no capacity {short.name}"
    assert short.wanted is not None and short.has is not None
    if short.by_policy:
        return f"its policy does not allow {short.wanted} of {short.name}"
    if short.taken:
        taken = Quantity(short.taken, short.has.notation)
        by = f" by {', '.join(holders)}" if holders else ""
        return f"needs {short.name} {short.wanted}, has {short.has}, {taken} of it taken{by}"
    return f"needs {short.name} {short.wanted}, has {short.has}"
