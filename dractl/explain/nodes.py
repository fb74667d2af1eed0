"""Why a node does not serve: for each node the blockers, and nodes with the same blockers taken together.

A blocker is a true statement about the state of one node that by itself keeps the claims from it. Only where no such
statement is found although the allocator does not succeed, ``search`` is given, and the sentence says so.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from dractl.allocator import quirks as q
from dractl.explain.constraints import NodeGroups, Rule, groups_on, rules_of, satisfiable
from dractl.explain.judge import Ask, drivers_named
from dractl.explain.matching import shortage
from dractl.explain.survey import AskOnNode, Candidate, NodeFacts, Survey

NOTHING = "nothing"
POOL = "pool"
UNMATCHED = "unmatched"
FEW = "few"
TAKEN = "taken"
NO_ATTRIBUTE = "no-attribute"
NO_GROUP = "no-group"
NOT_DISTINCT = "not-distinct"
COMPETE = "compete"
COUNTERS = "counters"
SEARCH = "search"
ERROR = "error"
LIMIT = "limit"

DEPTH = (LIMIT, NOTHING, POOL, UNMATCHED, FEW, TAKEN, NO_ATTRIBUTE, NO_GROUP, NOT_DISTINCT, COMPETE, COUNTERS, SEARCH)
"""Kinds of blockers, from the farthest from a fit to the closest."""


@dataclass(frozen=True, slots=True)
class Blocker:
    """One statement: ``kind``, the ask (index) or rule (index) that it is about, and the refusals involved.

    ``units`` are the requests (indices of units) that want the same devices.
    """

    kind: str
    ask: int = -1
    rule: int = -1
    codes: tuple[str, ...] = ()
    units: tuple[int, ...] = ()

    @property
    def depth(self) -> int:
        """How close to a fit the node is."""
        return DEPTH.index(self.kind) if self.kind in DEPTH else -1


@dataclass(slots=True)
class NodeReason:
    """The blockers of one node; empty where everything that can be said by itself is all right."""

    facts: NodeFacts
    units: tuple[tuple[Blocker, ...], ...] = ()
    """For each request that cannot be served: a blocker for each of its alternatives. Else one for each constraint."""
    groups: dict[int, NodeGroups] = field(default_factory=dict)
    """For each rule (index) that was looked at: the usable devices by value."""

    @property
    def blockers(self) -> tuple[Blocker, ...]:
        """All blockers."""
        return tuple(blocker for unit in self.units for blocker in unit)

    @property
    def depth(self) -> int:
        """How far the node is from a fit: of alternatives the closest counts, of requests the farthest."""
        return min((max(blocker.depth for blocker in unit) for unit in self.units), default=len(DEPTH))


class Reasons:
    """The blockers of all nodes of a survey."""

    def __init__(self, survey: Survey) -> None:
        self.survey = survey
        self.asks: list[Ask] = survey.asks
        self.rules: list[Rule] = rules_of(survey.asks)
        self.units = units_of(survey.asks)
        self.nodes: dict[str, NodeReason] = {name: self._node(facts) for name, facts in survey.nodes.items()}

    def _node(self, facts: NodeFacts) -> NodeReason:
        blocked: list[tuple[Blocker, ...]] = []
        open_asks: set[int] = set()
        for unit in self.units:
            found = [self._ask(facts, index) for index in unit]
            passing = [index for index, blocker in zip(unit, found, strict=True) if blocker is None]
            open_asks.update(passing)
            if not passing:
                blocked.append(tuple(blocker for blocker in found if blocker is not None))
        reason = NodeReason(facts, tuple(blocked))
        if blocked:
            return reason
        rules = [self._rule(reason, number, rule, open_asks) for number, rule in enumerate(self.rules)]
        reason.units = tuple((blocker,) for blocker in rules if blocker is not None)
        if not reason.units:
            short = self._compete(facts, open_asks)
            reason.units = ((Blocker(COMPETE, units=short),),) if short else ()
        return reason

    def _ask(self, facts: NodeFacts, index: int) -> Blocker | None:
        ask, found = self.asks[index], facts.asks[index]
        if not ask.all and ask.count > 32:
            return Blocker(LIMIT, index)
        if not found.in_class and not found.matched:
            return Blocker(POOL if self._pool_trouble(facts, index) else NOTHING, index)
        if not found.matched:
            return Blocker(UNMATCHED, index)
        if len(found.matched) < ask.count and not self._shared_within(found):
            return Blocker(FEW, index)
        enough = self._enough(ask, found)
        if enough:
            return None
        return Blocker(TAKEN, index, codes=tuple(sorted(refusals(found.matched))))

    def _enough(self, ask: Ask, found: AskOnNode) -> bool:
        if not ask.all:
            return len(found.usable) >= ask.count or self._shared_within(found)
        # devices that cannot hold what is asked for are left out of "all" by the allocator
        wanted = [one for one in found.matched if not _left_out(one)]
        return bool(wanted) and all(one.judgement.code is None for one in wanted)

    def _shared_within(self, found: AskOnNode) -> bool:
        """Whether there is a device that one request may have several times: up to 1.35, where all orders are tried."""
        shareable = self.survey.judge.room.shareable
        return q.PERMUTATIONS in self.survey.profile.quirks and any(shareable(one.device) for one in found.usable)

    def _pool_trouble(self, facts: NodeFacts, index: int) -> bool:
        drivers = drivers_of(self.survey, index)
        return any(not pool.usable and pool.driver in drivers for pool in facts.pools)

    def _rule(self, reason: NodeReason, number: int, rule: Rule, open_asks: set[int]) -> Blocker | None:
        # a request is bound if all of its alternatives are that could still be had
        bound = [
            index
            for unit in self.units
            if set(unit) & open_asks <= set(rule.asks)
            for index in unit
            if index in open_asks and index in rule.asks
        ]
        narrowed = Rule(rule.claim, rule.index, rule.constraint, bound)
        groups = reason.groups[number] = groups_on(narrowed, self.survey, reason.facts)
        if len(bound) == 1 and self.asks[bound[0]].count == 1 and not self.asks[bound[0]].all and groups.values:
            return None
        lacking = [
            index
            for index in bound
            if sum(index in by_ask for by_ask in groups.values.values()) == 0 and groups.missing.get(index)
        ]
        if any(set(unit) & set(bound) and set(unit) & set(bound) <= set(lacking) for unit in self.units):
            return Blocker(NO_ATTRIBUTE, rule=number)
        if satisfiable(narrowed, self.survey, groups):
            return None
        return Blocker(NOT_DISTINCT if rule.distinct else NO_GROUP, rule=number)

    def _compete(self, facts: NodeFacts, open_asks: set[int]) -> tuple[int, ...]:
        """The requests that together want more devices than there are for them, the fewest of them.

        A request with admin access may take what others have, but not what its own claim takes already.
        """
        claims = dict.fromkeys(id(self.asks[unit[0]].claim) for unit in self.units)
        every = [number for number, unit in enumerate(self.units) if not self.asks[unit[0]].admin]
        short = self._short(facts, open_asks, every)
        if short or len(every) == len(self.units):
            return short
        for claim in claims:
            own = [number for number, unit in enumerate(self.units) if id(self.asks[unit[0]].claim) == claim]
            short = short or self._short(facts, open_asks, own)
        return short

    def _short(self, facts: NodeFacts, open_asks: set[int], units: Sequence[int]) -> tuple[int, ...]:
        wants, numbers = [], []
        for number in units:
            choices = [index for index in self.units[number] if index in open_asks]
            usable = [one for index in choices for one in facts.asks[index].usable]
            # a device with shares can serve many requests
            if not any(one.device.allow_multiple_allocations for one in usable):
                wants.append((wanted(self.asks, choices, facts), frozenset(one.id for one in usable)))
                numbers.append(number)
        return tuple(numbers[index] for index in shortage(wants))


def wanted(asks: Sequence[Ask], choices: Sequence[int], facts: NodeFacts) -> int:
    """How many devices a request wants on a node at least; for all of them it is as many as there are."""
    return min(len(facts.asks[index].usable) if asks[index].all else asks[index].count for index in choices)


def units_of(asks: Sequence[Ask]) -> list[list[int]]:
    """Indices of asks by request: the alternatives of one request form one unit, of which one has to be served."""
    units: dict[tuple[int, str], list[int]] = {}
    for index, ask in enumerate(asks):
        units.setdefault((id(ask.claim), ask.request.name), []).append(index)
    return list(units.values())


def refusals(candidates: Sequence[Candidate]) -> Counter[str]:
    """First refusals of matching devices."""
    return Counter(one.judgement.code for one in candidates if one.judgement.code is not None)


def _left_out(candidate: Candidate) -> bool:
    return bool(candidate.judgement.codes) and candidate.judgement.codes[0].startswith("capacity-")


def drivers_of(survey: Survey, index: int) -> set[str]:
    """The drivers that an ask's class is about: those it names, else those of devices in the class."""
    ask = survey.asks[index]
    named = set(drivers_named(ask.device_class)) if ask.device_class is not None else set()
    if named:
        return named
    return {
        device.driver for device, judgement in survey.judgements[index].items() if judgement.code != "class-selector"
    }
