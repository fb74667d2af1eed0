"""Quick proofs that no allocation exists, for searches that take long.

Each proof relaxes the problem (it leaves rules out), so what it calls impossible is impossible in whatever order
devices are tried, and with the quirks, which only ever take devices away.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from dractl.allocator.attributes import Lookup
from dractl.allocator.constraint import applies_to, value_set
from dractl.allocator.request import ClaimPlan, RequestSpec
from dractl.allocator.view import Candidate
from dractl.kube.objects import DeviceConstraint

_MOST_PAIRS = 200_000
"""Largest number of (device wanted, device) pairs for which competition is looked at."""


@dataclass(slots=True, eq=False)
class Distinct:
    """How distinctAttribute is kept: among all devices, among requests only (one device each), or not at all."""

    within: bool = True
    between: bool = True


class Bounds:
    """Proofs about one search.

    Args:
        plans: the claims.
        specs: for every claim and request the alternatives that are still open; one where the choice is made.
        options: the devices that a request could have, or all that it must have.
        lookup: gives the attributes that constraints see.
        distinct: how distinctAttribute is kept.
    """

    def __init__(
        self,
        plans: Sequence[ClaimPlan],
        specs: Sequence[Sequence[Sequence[RequestSpec]]],
        options: Mapping[int, list[Candidate]],
        counts: Callable[[RequestSpec], int],
        lookup: Lookup,
        distinct: Distinct,
    ) -> None:
        self._plans = plans
        self._specs = specs
        self._options = options
        self._counts = counts
        self._lookup = lookup
        self._distinct = distinct

    def impossible(self) -> bool:
        """Whether there is surely no allocation."""
        return self._too_few() or any(map(self._constraint_fails, self._constraints())) or self._competition()

    def _fixed(self, claim: int) -> Iterable[RequestSpec]:
        """The requests of a claim, and the alternatives chosen, that must all be served."""
        for specs in self._specs[claim]:
            if len(specs) == 1:
                yield specs[0]

    def _short(self, spec: RequestSpec) -> bool:
        options = self._options[id(spec)]
        return len(options) < self._counts(spec) or (spec.wants_all and not options)

    def _too_few(self) -> bool:
        """A request, with all its alternatives, has fewer devices than it needs."""
        return any(all(map(self._short, specs)) for claim in self._specs for specs in claim)

    def _constraints(self) -> Iterable[tuple[int, DeviceConstraint]]:
        for claim, plan in enumerate(self._plans):
            for constraint in plan.constraints:
                yield claim, constraint

    def _constraint_fails(self, item: tuple[int, DeviceConstraint]) -> bool:
        claim, constraint = item
        specs = [spec for spec in self._fixed(claim) if applies_to(constraint, spec)]
        if sum(map(self._counts, specs)) < 2:
            return False
        if constraint.match_attribute is not None:
            return not self._common_value(specs, constraint.match_attribute)
        return self._distinct.between and not self._enough_values(specs, constraint.distinct_attribute or "")

    def _values(self, spec: RequestSpec, candidate: Candidate, name: str) -> Iterable[object]:
        attribute = self._lookup(spec, candidate.pool.driver, candidate.device, name)
        values = None if attribute is None else value_set(attribute)
        return () if values is None else [(values[0], value) for value in values[1]]

    def _common_value(self, specs: Sequence[RequestSpec], name: str) -> bool:
        """Whether some value is shared by enough devices of every request."""
        common: set[object] | None = None
        for spec in specs:
            tally: dict[object, int] = {}
            for candidate in self._options[id(spec)]:
                for value in self._values(spec, candidate, name):
                    tally[value] = tally.get(value, 0) + 1
            needed = self._counts(spec)
            enough = {value for value, number in tally.items() if number >= needed}
            common = enough if common is None else common & enough
        return bool(common)

    def _enough_values(self, specs: Sequence[RequestSpec], name: str) -> bool:
        """Whether every device wanted can be given a value of its own."""
        slots: list[list[object]] = []
        for spec in specs:
            values = {value for c in self._options[id(spec)] for value in self._values(spec, c, name)}
            slots += [list(values)] * (self._counts(spec) if self._distinct.within else 1)
        return matching(slots) == len(slots)

    def _competition(self) -> bool:
        """Requests want more devices together than there are for them, though each alone could be served."""
        slots: list[list[object]] = []
        for specs in (specs for claim in self._specs for specs in claim):
            if any(spec.admin for spec in specs):
                continue
            if len(specs) == 1 and specs[0].wants_all:
                options = self._options[id(specs[0])]
                slots += [[candidate.index] for candidate in options if not candidate.multi]
                continue
            open_to = [candidate for spec in specs for candidate in self._options[id(spec)]]
            if not any(candidate.multi for candidate in open_to):
                # whichever alternative is chosen takes at least the least number of these
                things: list[object] = list(dict.fromkeys(candidate.index for candidate in open_to))
                slots += [things] * min(map(self._counts, specs))
        if sum(map(len, slots)) > _MOST_PAIRS:
            return False  # not worth its price
        return matching(slots) < len(slots)


def matching(slots: Sequence[Sequence[object]]) -> int:
    """How many slots can get a thing of their own, each from its list (maximum bipartite matching)."""
    owner: dict[object, int] = {}
    has: dict[int, object] = {}

    def place(slot: int) -> bool:
        """Find a chain of slots that each pass their thing on, so that the last one takes a free thing."""
        found_by: dict[object, int] = {}
        queue = [slot]
        for current in queue:
            for thing in slots[current]:
                if thing in found_by:
                    continue
                found_by[thing] = current
                if thing in owner:
                    queue.append(owner[thing])
                    continue
                while True:
                    taker = found_by[thing]
                    passed_on = has.get(taker)
                    owner[thing], has[taker] = taker, thing
                    if taker == slot:
                        return True
                    assert passed_on is not None
                    thing = passed_on
        return False

    return sum(map(place, range(len(slots))))
