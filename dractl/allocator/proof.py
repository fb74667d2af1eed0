"""Which parts of a search are hopeless, so that they need not be gone through.

A part is everything that follows from a place in the search: a request, with the alternatives chosen before it. It is
hopeless if ``Bounds`` proves that nothing can be found there, and if nothing there can end in an error:
kube-scheduler would report that instead. What came before the place is done; errors there were met or not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from dractl.allocator import quirks as q
from dractl.allocator.attributes import Attributes, DerivedFailure
from dractl.allocator.bounds import Bounds, Distinct
from dractl.allocator.capacity import CapacityError, CapacityRules, SchedulerPanic
from dractl.allocator.constraint import applies_to
from dractl.allocator.profile import Profile
from dractl.allocator.request import AllocationError, ClaimPlan, RequestSpec
from dractl.allocator.state import AllocatedState
from dractl.allocator.taints import blocking_taint
from dractl.allocator.view import Candidate, NodeView


@dataclass(frozen=True, slots=True)
class Part:
    """A place in the search: a request or one of its alternatives, not begun; and the alternatives chosen so far."""

    claim: int
    request: int
    in_sub: bool
    chosen: tuple[tuple[int, int, int], ...]
    """(claim, request, alternative), this one's too where it is an alternative."""


class Proofs:
    """Proofs about one search.

    Args:
        everything: the devices of an All request, or None for others.
        counts: the number of devices that a request needs.
    """

    def __init__(
        self,
        profile: Profile,
        view: NodeView,
        plans: Sequence[ClaimPlan],
        state: AllocatedState,
        attributes: Attributes,
        rules: CapacityRules,
        everything: Callable[[RequestSpec], list[Candidate] | None],
        counts: Callable[[RequestSpec], int],
    ) -> None:
        self._profile = profile
        self._view = view
        self._plans = plans
        self._state = state
        self._attributes = attributes
        self._rules = rules
        self._everything = everything
        self._counts = counts
        self._options: dict[int, list[Candidate]] = {}
        self._risky: set[int] = set()
        """Requests and alternatives whose search may end in an error."""
        self._known: dict[Part, bool] = {}
        quirks = profile.quirks
        panics = {q.ALL_COUNTERS_PANIC, q.ALL_FALLS_BACK}
        if profile.features.consumable_capacity:
            panics.add(q.CAPACITY_OF_ANOTHER_DEVICE)
        self._possible = not view.aborts and not quirks & panics
        self._distinct = Distinct(q.DISTINCT_FORGETS not in quirks, q.DISTINCT_BLIND not in quirks)

    def hopeless(self, part: Part) -> bool:
        """Whether there is surely no solution, and no error either, from a place on."""
        if not self._possible:
            return False
        known = self._known.get(part)
        if known is None:
            known = self._known[part] = self._prove(part)
        return known

    def _prove(self, part: Part) -> bool:
        chosen = {(claim, request): sub for claim, request, sub in part.chosen}
        specs: list[list[list[RequestSpec]]] = []
        for claim, plan in enumerate(self._plans):
            specs.append([])
            for number, request in enumerate(plan.requests):
                still = [spec for spec in request.specs if spec is not None]
                if (claim, number) in chosen:
                    still = [still[chosen[claim, number]]]
                specs[-1].append(still)
                for spec in still:
                    self._look(plan, spec)
                    if (claim, number) >= (part.claim, part.request) and id(spec) in self._risky:
                        return False
        bounds = Bounds(self._plans, specs, self._options, self._needed, self._attributes.of, self._distinct)
        try:
            return bounds.impossible()
        except DerivedFailure:
            return False

    def _needed(self, spec: RequestSpec) -> int:
        """How many different devices a request needs; where all orders are tried, one may be shared for all of them."""
        count = self._counts(spec)
        if count < 2 or spec.wants_all or q.PERMUTATIONS not in self._profile.quirks:
            return count
        return 1 if any(candidate.multi for candidate in self._options[id(spec)]) else count

    def _look(self, plan: ClaimPlan, spec: RequestSpec) -> None:
        """Find the devices that a request could have if nothing else was wanted, and whether that may be an error."""
        if id(spec) in self._options:
            return
        bound = [c for c in plan.constraints if applies_to(c, spec)]
        everything = self._everything(spec)
        if everything is not None and bound:
            self._risky.add(id(spec))  # a constraint that refuses a device of an All request is an error
        names = {c.match_attribute or c.distinct_attribute or "" for c in bound}
        derived = [name for name in names if self._attributes.expression(spec, name) is not None]
        options = self._options[id(spec)] = []
        for candidate in self._view.candidates if everything is None else everything:
            try:
                if self._could_have(spec, candidate):
                    options.append(candidate)
                    for name in derived:
                        self._attributes.of(spec, candidate.pool.driver, candidate.device, name)
            except (AllocationError, CapacityError, SchedulerPanic, DerivedFailure):
                self._risky.add(id(spec))

    def _could_have(self, spec: RequestSpec, candidate: Candidate) -> bool:
        verdict = self._view.verdict(spec, candidate)
        if verdict.failed:
            self._risky.add(id(spec))
        quirks = self._profile.quirks
        busy = self._state.excludes(candidate.id, candidate.multi or q.SHARES_OVERLOOKED in quirks)
        if not verdict.match or (busy and not spec.admin):
            return False
        device = candidate.device
        features = self._profile.features
        every = q.EVERY_TAINT_BLOCKS in quirks
        if features.device_taints and blocking_taint(device.taints, spec.request.tolerations, every) is not None:
            return False
        taken = self._state.aggregated.get(candidate.id)
        return not (
            features.consumable_capacity
            and self._rules.shortage(spec.request.capacity, device.capacity, taken) is not None
        )
