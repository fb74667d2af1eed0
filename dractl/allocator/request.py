"""What claims ask for, made ready for the search: requests with their classes, counts, selectors and errors.

``ClaimPlan`` holds all that does not depend on a node; ``prepare`` adds what does, the devices of All requests.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from dractl.allocator.profile import Profile
from dractl.allocator.selection import Chain, Selection
from dractl.kube.objects import ClaimRequest, DeviceClass, DeviceConstraint, DeviceRequest, ResourceClaim
from dractl.kube.quantity import MAX_INT64

RESULTS_LIMIT = 32
"""Devices in one allocation (AllocationResultsMaxSize)."""

ALL = "All"
EXACT_COUNT = "ExactCount"


class AllocationError(Exception):
    """Input that cannot be allocated: kube-scheduler gives up on the pod with this text.

    ``node_only``: the text counts for one node, others may still do.
    """

    def __init__(self, text: str, node_only: bool = False) -> None:
        super().__init__(text)
        self.node_only = node_only


@dataclass(slots=True, eq=False)
class RequestSpec:
    """A request, or one alternative of a request, of a claim."""

    claim_index: int
    request_index: int
    sub_index: int
    claim: ResourceClaim
    request: DeviceRequest
    parent: ClaimRequest | None
    device_class: DeviceClass
    chain: Chain
    count: int
    """Devices wanted; for All known only per node."""

    @property
    def name(self) -> str:
        """``request`` or ``request/alternative``."""
        return self.request.name if self.parent is None else f"{self.parent.name}/{self.request.name}"

    @property
    def main_name(self) -> str:
        """The name of the request that the claim lists."""
        return self.request.name if self.parent is None else self.parent.name

    @property
    def sub_name(self) -> str:
        """The name of the alternative, or empty."""
        return "" if self.parent is None else self.request.name

    @property
    def wants_all(self) -> bool:
        return self.request.allocation_mode == ALL

    @property
    def admin(self) -> bool:
        """Whether it asks for admin access; alternatives cannot."""
        return self.parent is None and bool(self.request.admin_access)


@dataclass(slots=True, eq=False)
class RequestPlan:
    """A request of a claim: its alternatives, or itself alone.

    ``error`` is met before any of them, ``errors[i]`` at alternative i.
    """

    request: ClaimRequest
    specs: list[RequestSpec | None] = field(default_factory=list)
    errors: list[str | None] = field(default_factory=list)
    error: str | None = None

    @property
    def has_alternatives(self) -> bool:
        return bool(self.request.first_available)


@dataclass(slots=True, eq=False)
class ClaimPlan:
    """A claim with its requests in order; ``constraint_error`` where one of its constraints is of no known kind."""

    claim: ResourceClaim
    requests: list[RequestPlan]
    constraints: Sequence[DeviceConstraint]
    constraint_error: str | None = None

    @property
    def label(self) -> str:
        return claim_label(self.claim)


def claim_label(claim: ResourceClaim) -> str:
    """``namespace/name``."""
    return f"{claim.meta.namespace}/{claim.meta.name}" if claim.meta.namespace else claim.meta.name


class Planner:
    """Makes plans of claims under one profile."""

    def __init__(self, profile: Profile, classes: Mapping[str, DeviceClass], selection: Selection) -> None:
        self._profile = profile
        self._features = profile.features
        self._classes = classes
        self._selection = selection

    def plan(self, claims: Sequence[ResourceClaim]) -> list[ClaimPlan]:
        """One plan a claim. Errors are kept in place: whether one is met may depend on the node."""
        return [self._claim(index, claim) for index, claim in enumerate(claims)]

    def _claim(self, index: int, claim: ResourceClaim) -> ClaimPlan:
        plan = ClaimPlan(claim, [], claim.spec.constraints)
        plan.requests = [self._request(index, i, claim, request) for i, request in enumerate(claim.spec.requests)]
        knows_distinct = self._profile.knows_sharing or not self._profile.quirks
        for i, constraint in enumerate(claim.spec.constraints):
            if constraint.match_attribute is None and (constraint.distinct_attribute is None or not knows_distinct):
                plan.constraint_error = (
                    f"claim {plan.label}, constraint #{i}: empty constraint (unsupported constraint type?)"
                )
                break
        return plan

    def _request(self, claim_index: int, index: int, claim: ResourceClaim, request: ClaimRequest) -> RequestPlan:
        plan = RequestPlan(request)
        label = claim_label(claim)
        if request.first_available and not self._features.prioritized_list:
            text = "has subrequests, but the DRAPrioritizedList feature is disabled"
            plan.error = f"claim {label}, request {request.name}: {text}"
            return plan
        plan.error = self._capacity_error(label, request)
        if plan.error:
            return plan
        if request.first_available:
            wanted = [(i, sub, request) for i, sub in enumerate(request.first_available)]
        else:
            exactly = request.exactly
            if exactly is None:
                plan.error = (
                    f"claim {label}, request {request.name}: missing device class name (unsupported request type?)"
                )
                return plan
            wanted = [(0, exactly, None)]  # type: ignore[list-item]
        for sub_index, exact, parent in wanted:
            spec, error = self._spec(claim_index, index, sub_index, claim, exact, parent)
            plan.specs.append(spec)
            plan.errors.append(error)
            if error:
                break
        return plan

    def _capacity_error(self, label: str, request: ClaimRequest) -> str | None:
        if self._features.consumable_capacity or not self._profile.knows_sharing:
            return None  # copies of the allocator that do not know capacity requests ignore them
        text = "has capacity requests, but the DRAConsumableCapacity feature is disabled"
        if request.exactly is not None and request.exactly.capacity is not None:
            return f"claim {label}, request {request.name}: {text}"
        for sub in request.first_available:
            if sub.capacity is not None:
                name = f"subrequest {sub.name}" if self._profile.is_at_least(35) else f"request {request.name}"
                return f"claim {label}, {name}: {text}"
        return None

    def _spec(
        self,
        claim_index: int,
        request_index: int,
        sub_index: int,
        claim: ResourceClaim,
        request: DeviceRequest,
        parent: ClaimRequest | None,
    ) -> tuple[RequestSpec | None, str | None]:
        where = f"claim {claim_label(claim)}, request {request.name}"
        if request.derived_attributes and self._profile.is_at_least(37) and not self._features.derived_attributes:
            return None, f"{where}: cannot handle request with derived attributes, the feature is disabled"
        for i, selector in enumerate(request.selectors):
            if selector.cel is None:
                return None, f"{where}, selector #{i}: CEL expression empty (unsupported selector type?)"
        if parent is None and request.admin_access is not None and not self._features.admin_access:
            return None, f"{where}: admin access is requested, but the feature is disabled"
        if not request.device_class_name:
            return None, f"{where}: missing device class name (unsupported request type?)"
        device_class = self._classes.get(request.device_class_name)
        if device_class is None:
            name = request.device_class_name
            return None, (
                f'{where}: could not retrieve device class {name}: deviceclass.resource.k8s.io "{name}" not found'
            )
        mode = request.allocation_mode
        if mode not in (ALL, EXACT_COUNT):
            return None, f"{where}: unsupported count mode {mode}"
        if mode == EXACT_COUNT and request.count > MAX_INT64:
            return None, f"{where}: exact count {request.count} is too large"
        chain = self._selection.chain(claim, device_class, request.selectors)
        count = 0 if mode == ALL else request.count
        return (
            RequestSpec(claim_index, request_index, sub_index, claim, request, parent, device_class, chain, count),
            None,
        )


Counter = Callable[[RequestSpec], int]


def check_plan(plans: Sequence[ClaimPlan], count: Counter, by_request: bool, overflows: bool) -> None:
    """Walk through the plans as kube-scheduler does before it searches.

    Args:
        plans: the claims in order.
        count: called for each request and alternative in order; gives the number of devices it needs.
        by_request: whether the limit is checked request by request (since 1.37) or once a claim.
        overflows: whether the sum is kept in 64 bits, where too much is less than nothing.

    Raises:
        AllocationError: at the first fault.
    """
    for plan in plans:
        total = 0
        for request in plan.requests:
            if request.error:
                raise AllocationError(request.error)
            least = None
            for spec, error in zip(request.specs, request.errors, strict=True):
                if error or spec is None:
                    raise AllocationError(error or "")
                number = count(spec)
                least = number if least is None else min(least, number)
            least = least or 0
            if by_request and least > RESULTS_LIMIT - total:
                raise AllocationError(
                    f"claim {plan.label}, request {request.request.name}: adding {least} devices exceeds the claim "
                    f"limit of {RESULTS_LIMIT}, with {total} already accounted for"
                )
            total += least
        if overflows:
            total = (total + 2**63) % 2**64 - 2**63
            if total < 0:
                raise AllocationError("panic: runtime error: makeslice: cap out of range")
        if not by_request and total > RESULTS_LIMIT:
            raise AllocationError(
                f"claim {plan.label}: number of requested devices {total} exceeds the claim limit of {RESULTS_LIMIT}"
            )
        if plan.constraint_error:
            raise AllocationError(plan.constraint_error)
