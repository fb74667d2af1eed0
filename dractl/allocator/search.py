"""The search for devices on one node: depth first, in a fixed order, the first solution wins.

The search is written as a loop over a stack of frames, so that its depth does not depend on the Python stack:
``_Claim`` marks where a claim ends and the next begins, ``_Alternatives`` tries the alternatives of a request in order,
``_Devices`` tries the candidates for one device of a request. Within a request the devices only ever move forward
(combinations); each request starts over at the first candidate.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from dractl.allocator import quirks as q
from dractl.allocator.attributes import Attributes, DerivedFailure
from dractl.allocator.capacity import CapacityError, CapacityRules, SchedulerPanic
from dractl.allocator.constraint import Constraint, make_constraint
from dractl.allocator.counters import Cache, CounterBook, GroupBook
from dractl.allocator.profile import Profile
from dractl.allocator.proof import Part, Proofs
from dractl.allocator.request import RESULTS_LIMIT, AllocationError, ClaimPlan, RequestSpec, check_plan, claim_label
from dractl.allocator.selection import MATCH, Selection
from dractl.allocator.solution import Limits, Solution, Taken, Undecided
from dractl.allocator.state import AllocatedState, DeviceId, id_text
from dractl.allocator.taints import blocking_taint
from dractl.allocator.view import Candidate, NodeView
from dractl.kube.objects import Device


@dataclass(slots=True)
class _Claim:
    """The next claim is being searched; a size excess there is a plain failure here."""


@dataclass(slots=True)
class _Alternatives:
    claim: int
    request: int
    sub: int = 0
    all_exceed: bool = True


@dataclass(slots=True)
class _Place:
    """Where the search is: device ``number`` of a request or alternative, looked for from candidate ``start`` on."""

    claim: int
    request: int
    sub: int
    number: int
    start: int
    in_sub: bool


@dataclass(slots=True)
class _Devices:
    place: _Place
    spec: RequestSpec
    all_devices: list[Candidate] | None
    at: int
    """Next candidate to try."""
    taken: Taken | None = None


_Frame = _Claim | _Alternatives | _Devices

_PROOF_AFTER = 2000
"""Steps after which looking for proofs of impossibility is worth its price."""


_FAIL, _EXCEED, _TRY = range(3)
"""How it went above a frame: no solution; too many devices for one allocation; not tried yet."""


@dataclass(slots=True, eq=False)
class _Prepared:
    """Node-dependent data of the requests: devices of All requests and counts."""

    all_devices: dict[int, list[Candidate]] = field(default_factory=dict)

    def everything(self, spec: RequestSpec) -> list[Candidate] | None:
        return self.all_devices.get(id(spec))

    def count(self, spec: RequestSpec) -> int:
        return len(self.all_devices[id(spec)]) if spec.wants_all else spec.count


class Search:
    """Searches one node for one list of claims. Use an instance once."""

    def __init__(
        self,
        profile: Profile,
        view: NodeView,
        plans: Sequence[ClaimPlan],
        state: AllocatedState,
        selection: Selection,
        attributes: Attributes,
        rules: CapacityRules,
        cache: Cache,
        limits: Limits,
    ) -> None:
        self._profile = profile
        self._features = profile.features
        self._view = view
        self._plans = plans
        self._state = state
        self._selection = selection
        self._attributes = attributes
        self._rules = rules
        self._limits = limits
        self._counters = CounterBook(profile, state, cache)
        self._groups = GroupBook(state) if profile.features.compatibility_groups else None
        self._constraints: list[list[Constraint]] = []
        self.prepared = _Prepared()
        self.steps = 0
        self._proof_at = _PROOF_AFTER
        self._proofs: Proofs | None = None
        self._dead: set[Part] = set()
        names = profile.quirks
        self._leak_counters = q.COUNTERS_LEAK in names
        self._leak_recheck = q.CAPACITY_RECHECK_LEAK in names
        self._keep_shared_counters = q.SHARED_COUNTERS_KEPT in names
        self._charged_again = q.SHARES_CHARGED_AGAIN in names
        self._each_share = q.EACH_SHARE_CHARGED in names
        self._admin_blocks = q.ADMIN_BLOCKS in names
        self._admin_counters = q.ADMIN_NEEDS_COUNTERS in names
        self._every_taint = q.EVERY_TAINT_BLOCKS in names
        self._permutations = q.PERMUTATIONS in names
        candidates = view.candidates
        self._candidates = candidates
        overlooked = q.SHARES_OVERLOOKED in names
        self._allocated = [state.excludes(c.id, c.multi or overlooked) for c in candidates]
        self._busy = [0] * len(candidates)
        """Bit i: given to claim i in this search, so that others cannot have it."""
        self._held = [0] * len(candidates)
        """Bit i: given to claim i in this search, also with admin access."""
        self._taking: dict[DeviceId, dict[str, int]] = {}
        """What shares given out in this search take, by device; presence alone marks a device as shared."""
        self._results: list[list[Taken]] = [[] for _ in plans]

    # --- preparation ---------------------------------------------------------------------------------------------

    def prepare(self) -> None:
        """Count what every request needs.

        Raises:
            AllocationError: for claims that cannot be allocated on this node or at all.
        """
        overflows = q.HUGE_COUNTS_PANIC in self._profile.quirks
        check_plan(self._plans, self._count, self._profile.is_at_least(37), overflows)
        lookup = self._attributes.lookup(self._plans)
        for plan in self._plans:
            self._constraints.append([make_constraint(c, self._profile, lookup) for c in plan.constraints])

    def _count(self, spec: RequestSpec) -> int:
        if spec.wants_all:
            self.prepared.all_devices[id(spec)] = self._all_devices(spec)
        return self.prepared.count(spec)

    def _all_devices(self, spec: RequestSpec) -> list[Candidate]:
        """The devices that an All request is about, whether they are free or not."""
        view, label = self._view, claim_label(spec.claim)
        selecting = spec
        if q.ALL_SHARES_SELECTION in self._profile.quirks and spec.sub_index > 0:
            selecting = self._selects_for(spec)
        result = []
        position = 0
        for pool in view.pools:
            view.check_pool_for_all(label, spec, pool)
            while position < len(self._candidates) and self._candidates[position].pool is pool:
                candidate = self._candidates[position]
                position += 1
                if view.selectable(selecting, candidate, self._selection) and self._counts_for_all(spec, candidate):
                    result.append(candidate)
        return result

    def _selects_for(self, spec: RequestSpec) -> RequestSpec:
        """1.34 and 1.35: the alternative whose cached selection an All alternative gets, the first All before it."""
        alternatives = self._plans[spec.claim_index].requests[spec.request_index].specs
        key = max(spec.sub_index - 1, 0)
        for other in alternatives[: spec.sub_index]:
            if other is not None and other.wants_all and max(other.sub_index - 1, 0) == key:
                return other
        return spec

    def _counts_for_all(self, spec: RequestSpec, candidate: Candidate) -> bool:
        if not self._features.consumable_capacity:
            return True
        if q.ALL_LEAVES_OUT_FULL in self._profile.quirks:
            return self._has_capacity(spec, candidate, "")
        try:
            return self._rules.shortage(spec.request.capacity, candidate.device.capacity, None) is None
        except CapacityError as error:
            raise AllocationError(
                f"claim {claim_label(spec.claim)}, request {spec.request.name}: "
                f"checking capacity for device {candidate.device.name}: {error}"
            ) from None
        except SchedulerPanic as panic:
            raise AllocationError(f"panic: {panic}") from None

    # --- the loop ------------------------------------------------------------------------------------------------

    def run(self) -> Solution | None:
        """The first solution, or None where there is none.

        Raises:
            AllocationError: where kube-scheduler gives up.
            Undecided: at the limit.
        """
        stack: list[_Frame] = []
        place: _Place | None = _Place(0, 0, 0, 0, 0, False)
        failed = _FAIL
        while True:
            if place is not None and self.steps >= self._proof_at and self._prune(stack):
                failed, place = _FAIL, None
            if place is not None:
                if place.claim >= len(self._plans):
                    self._step()
                    return Solution(self._results, self._choices(stack))
                failed, place = self._descend(stack, place)
                if place is not None:
                    continue
            if not stack:
                if failed == _EXCEED:
                    raise AllocationError("allocation max size exceeded")
                return None
            failed, place = self._resume(stack, failed)

    def _descend(self, stack: list[_Frame], place: _Place) -> tuple[int, _Place | None]:
        """Go one step deeper: the next place, or none after a failure or once a frame has candidates to try."""
        self._step()
        claim, request = place.claim, place.request
        plan = self._plans[claim]
        if request >= len(plan.requests):
            stack.append(_Claim())
            return _FAIL, _Place(claim + 1, 0, 0, 0, 0, False)
        if self._dead and place.number == 0 and self._is_dead(stack, place):
            return _FAIL, None
        alternatives = plan.requests[request]
        if alternatives.has_alternatives and not place.in_sub:
            stack.append(_Alternatives(claim, request))
            return _FAIL, _Place(claim, request, 0, 0, 0, True)
        spec = alternatives.specs[place.sub]
        assert spec is not None
        count = self.prepared.count(spec)
        everything = self.prepared.all_devices.get(id(spec))
        if everything is not None and not everything:
            return _FAIL, None
        if place.number >= count:
            return _FAIL, _Place(claim, request + 1, 0, 0, 0, False)
        if len(self._results[claim]) + count - place.number > RESULTS_LIMIT:
            return _EXCEED, None
        stack.append(_Devices(place, spec, everything, place.start))
        return _TRY, None

    def _resume(self, stack: list[_Frame], failed: int) -> tuple[int, _Place | None]:
        """Go on at the top frame after what lies above it failed, or try the first candidate of a new frame."""
        top = stack[-1]
        if isinstance(top, _Claim):
            stack.pop()
            return _FAIL, None
        if isinstance(top, _Alternatives):
            if failed == _FAIL:
                top.all_exceed = False
            top.sub += 1
            if top.sub < len(self._plans[top.claim].requests[top.request].specs):
                return _FAIL, _Place(top.claim, top.request, top.sub, 0, 0, True)
            stack.pop()
            return (_EXCEED if top.all_exceed else _FAIL), None
        place = top.place
        if top.taken is not None:
            self._undo(top.taken)
            top.taken = None
            if failed == _EXCEED or top.all_devices is not None:
                stack.pop()
                return failed, None
        if not self._advance(top):
            stack.pop()
            return _FAIL, None
        sub, start = place.sub, top.at
        if top.all_devices is not None:
            start = 0
            if q.ALL_FALLS_BACK in self._profile.quirks:
                sub = 0
        elif self._permutations:
            start = 0
        return _FAIL, _Place(place.claim, place.request, sub, place.number + 1, start, place.in_sub)

    def _step(self) -> None:
        self.steps += 1
        if self.steps > self._limits.steps:
            raise Undecided(f"undecided after {self.steps - 1} steps")
        expired = self._limits.expired
        if expired is not None and self.steps % 256 == 0 and expired():
            raise Undecided(f"undecided after {self.steps} steps")

    def _prune(self, stack: list[_Frame]) -> bool:
        """Leave the first part of the search on the way here that is hopeless.

        Returns:
            Whether there is one; what is above it is taken from the stack.
        """
        if self._proofs is None:
            counts, everything = self.prepared.count, self.prepared.everything
            self._proofs = Proofs(
                self._profile,
                self._view,
                self._plans,
                self._state,
                self._attributes,
                self._rules,
                everything,
                counts,
            )
        chosen: tuple[tuple[int, int, int], ...] = ()
        for height, frame in enumerate(stack):
            part = None
            if isinstance(frame, _Alternatives):
                part = Part(frame.claim, frame.request, False, chosen)
                chosen = (*chosen, (frame.claim, frame.request, frame.sub))
            elif isinstance(frame, _Devices) and frame.place.number == 0:
                part = Part(frame.place.claim, frame.place.request, frame.place.in_sub, chosen)
            if part is not None and self._proofs.hopeless(part):
                self._dead.add(part)
                while len(stack) > height:
                    top = stack.pop()
                    if isinstance(top, _Devices) and top.taken is not None:
                        self._undo(top.taken)
                self._proof_at = self.steps + _PROOF_AFTER
                return True
        self._proof_at = 2 * self.steps
        return False

    def _is_dead(self, stack: Sequence[_Frame], place: _Place) -> bool:
        """Whether the search is about to begin a part that was proven hopeless."""
        chosen = tuple((f.claim, f.request, f.sub) for f in stack if isinstance(f, _Alternatives))
        return Part(place.claim, place.request, place.in_sub, chosen) in self._dead

    @staticmethod
    def _choices(stack: Sequence[_Claim | _Alternatives | _Devices]) -> dict[tuple[int, int], int]:
        return {(frame.claim, frame.request): frame.sub for frame in stack if isinstance(frame, _Alternatives)}

    def _advance(self, frame: _Devices) -> bool:
        """Give the next device that fits to the request; its place is left in the frame."""
        spec = frame.spec
        everything = frame.all_devices
        if everything is not None:
            candidate = everything[frame.place.number]
            frame.taken = self._take(spec, candidate, frame.place.number, True)
            return frame.taken is not None
        candidates, view = self._candidates, self._view
        allocated, busy, held = self._allocated, self._busy, self._held
        bit = 1 << frame.place.claim
        admin = spec.admin
        check_capacity = self._features.consumable_capacity
        count = len(candidates)
        aborts = view.aborts
        index = frame.at
        verdicts = view.verdicts.setdefault(id(spec), [None] * count)
        while index < count:
            if index in aborts:
                raise AllocationError(aborts[index])
            at = index
            index += 1
            if held[at] & bit or (not admin and (allocated[at] or busy[at])):
                continue
            verdict = verdicts[at]
            candidate = candidates[at]
            if verdict is not MATCH and not view.selectable(spec, candidate, self._selection):
                continue
            if check_capacity and not self._has_capacity(spec, candidate, "checking"):
                continue
            taken = self._take(spec, candidate, frame.place.number, False)
            if taken is not None:
                frame.at = index
                frame.taken = taken
                return True
        if count in aborts:
            raise AllocationError(aborts[count])
        frame.at = index
        return False

    # --- one device ----------------------------------------------------------------------------------------------

    def _has_capacity(self, spec: RequestSpec, candidate: Candidate, doing: str) -> bool:
        requests = spec.request.capacity
        if not requests and candidate.plain:
            return True
        device = candidate.device
        try:
            short = self._rules.shortage(
                requests, device.capacity, self._state.aggregated.get(candidate.id), self._taking.get(candidate.id)
            )
        except CapacityError as error:
            raise AllocationError(
                f"claim {claim_label(spec.claim)}, request {spec.request.name}: "
                f"{doing} capacity for device {id_text(candidate.id)}: {error}"
            ) from None
        except SchedulerPanic as panic:
            raise AllocationError(f"panic: {panic}") from None
        return short is None

    def _take(self, spec: RequestSpec, candidate: Candidate, number: int, must: bool) -> Taken | None:
        """Give a device to a request, or return None, the state as before (save for what the quirks leak).

        Raises:
            AllocationError: with ``must``, when a constraint refuses the device.
        """
        if not self._available(spec, candidate):
            return None
        taken = Taken(spec, candidate, None)
        if not self._take_counters(taken, must):
            return None
        device = candidate.device
        if self._tainted(spec, device):
            self._refuse(taken, 0)
            return None
        constraints = self._constraints[spec.claim_index]
        for position, constraint in enumerate(constraints):
            try:
                added = constraint.add(spec, candidate.pool.driver, device)
            except DerivedFailure as failure:
                raise AllocationError(failure.text(id_text(candidate.id))) from None
            if not added:
                if must:
                    raise AllocationError(
                        f"claim {claim_label(spec.claim)}, request {spec.request.name}: cannot add device "
                        f"{id_text(candidate.id)} because a claim constraint would not be satisfied"
                    )
                self._refuse(taken, position)
                return None
        if not candidate.multi:
            self._mark(taken)
        if self._features.consumable_capacity:
            if not self._has_capacity(spec, self._rechecked(candidate, number), "rechecking"):
                if not self._leak_recheck:
                    self._refuse(taken, len(constraints))
                return None
            if candidate.multi:
                self._insert(taken)
        self._results[spec.claim_index].append(taken)
        return taken

    def _available(self, spec: RequestSpec, candidate: Candidate) -> bool:
        """Whether a device is not in use, and is of a kind that the features allow."""
        at, bit = candidate.index, 1 << spec.claim_index
        if spec.admin:
            if not candidate.multi and self._held[at] & bit:
                return False
        elif self._allocated[at] or self._busy[at] or self._held[at] & bit:
            return False
        if not self._features.partitionable_devices and candidate.device.consumes_counters:
            return False
        return self._view.operations_allowed(candidate)

    def _take_counters(self, taken: Taken, must: bool) -> bool:
        """Take the counters that a device needs, unless another share of it has done so."""
        candidate = taken.candidate
        device = candidate.device
        if not device.consumes_counters or self._counters_charged(candidate):
            return True
        if taken.spec.admin and not self._admin_counters:
            return True
        if self._groups is not None:
            before = self._groups.admit(candidate.pool, device)
            if before is None:
                return False
            taken.groups = dict(before)
        if must and q.ALL_COUNTERS_PANIC in self._profile.quirks:
            raise AllocationError("panic: runtime error: invalid memory address or nil pointer dereference")
        if not self._counters.take(candidate.pool, candidate.slice, device):
            self._refuse(taken, 0)
            return False
        taken.counters = True
        return True

    def _rechecked(self, candidate: Candidate, number: int) -> Candidate:
        """The device whose capacity gets a second look, which matters for All requests: they had no first one.

        1.34 looks at the device whose place in the slice is the number of the device within the request.
        """
        if q.CAPACITY_OF_ANOTHER_DEVICE not in self._profile.quirks:
            return candidate
        devices = candidate.slice.devices
        if number >= len(devices):
            raise AllocationError(f"panic: runtime error: index out of range [{number}] with length {len(devices)}")
        return next(other for other in self._candidates if other.device is devices[number])

    def _tainted(self, spec: RequestSpec, device: Device) -> bool:
        """Whether a taint keeps the request from the device."""
        if not device.taints or not self._features.device_taints:
            return False
        return blocking_taint(device.taints, spec.request.tolerations, self._every_taint) is not None

    def _counters_charged(self, candidate: Candidate) -> bool:
        """Whether another share of the device has taken its counters."""
        if not candidate.multi or self._each_share:
            return False
        device = candidate.id
        if device in self._state.aggregated or device in self._taking:
            return True
        return not self._charged_again and device in self._state.shared

    def _insert(self, taken: Taken) -> None:
        """Record what a share takes."""
        candidate = taken.candidate
        taken.consumed = self._rules.consumed(taken.spec.request.capacity, candidate.device.capacity)
        entry = self._taking.get(candidate.id)
        taken.entry_existed = entry is not None
        taken.inserted = True
        if entry is None:
            entry = self._taking[candidate.id] = {}
        for name, amount in taken.consumed.items():
            entry[name] = entry.get(name, 0) + amount.nano

    def _remove(self, taken: Taken) -> None:
        candidate = taken.candidate
        if self._keep_shared_counters and not taken.consumed:
            return  # up to 1.36 a share without capacity stays on record
        entry = self._taking.get(candidate.id)
        if entry is None:
            return
        for name, amount in (taken.consumed or {}).items():
            if name in entry:
                entry[name] -= amount.nano
        if not any(entry.values()):
            del self._taking[candidate.id]
            if taken.entry_existed and not self._keep_shared_counters:
                self._taking[candidate.id] = {}

    def _refuse(self, taken: Taken, constraints: int) -> None:
        """Undo what was done for a device that is refused after all."""
        spec, candidate = taken.spec, taken.candidate
        if taken.marked:
            self._unmark(candidate.index, spec.claim_index)
        for constraint in self._constraints[spec.claim_index][:constraints][::-1]:
            constraint.remove(spec, candidate.pool.driver, candidate.device)
        if taken.groups is not None and self._groups is not None:
            self._groups.restore(taken.groups)
        if taken.counters and not self._leak_counters:
            self._counters.give_back(candidate.pool, candidate.slice, candidate.device)

    def _mark(self, taken: Taken) -> None:
        at, bit = taken.candidate.index, 1 << taken.spec.claim_index
        taken.marked = True
        self._held[at] |= bit
        if not taken.spec.admin or self._admin_blocks:
            self._busy[at] |= bit

    def _unmark(self, index: int, claim: int) -> None:
        self._held[index] &= ~(1 << claim)
        self._busy[index] &= ~(1 << claim)

    def _undo(self, taken: Taken) -> None:
        """Take a device back."""
        spec, candidate = taken.spec, taken.candidate
        self._results[spec.claim_index].pop()
        if taken.inserted:
            self._remove(taken)
        if taken.marked:
            self._unmark(candidate.index, spec.claim_index)
        for constraint in reversed(self._constraints[spec.claim_index]):
            constraint.remove(spec, candidate.pool.driver, candidate.device)
        if taken.groups is not None and self._groups is not None:
            self._groups.restore(taken.groups)
        if taken.counters and not (candidate.multi and self._keep_shared_counters):
            self._counters.give_back(candidate.pool, candidate.slice, candidate.device)


__all__ = ["Limits", "Search", "Solution", "Undecided"]
