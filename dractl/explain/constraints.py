"""Constraints as groups: the values of an attribute, and how many usable devices of each request carry each value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from dractl.allocator import quirks as q
from dractl.explain.judge import Ask
from dractl.explain.survey import Candidate, NodeFacts, Survey
from dractl.explain.terms import attribute_text
from dractl.kube.objects import DeviceAttribute, DeviceConstraint, ResourceClaim

Value = tuple[str, object]
"""Kind and value of an attribute: values of different kinds are never equal."""


@dataclass(slots=True, eq=False)
class Rule:
    """One constraint of one claim and the asks that it binds (their indices)."""

    claim: ResourceClaim
    index: int
    constraint: DeviceConstraint
    asks: list[int]

    @property
    def attribute(self) -> str:
        """The fully qualified attribute name."""
        return self.constraint.match_attribute or self.constraint.distinct_attribute or ""

    @property
    def distinct(self) -> bool:
        """Whether values have to differ instead of being equal; matchAttribute goes first where both are set."""
        return not self.constraint.match_attribute


@dataclass(slots=True)
class NodeGroups:
    """A constraint on one node: the usable devices of each ask by value, those without the attribute, and how many."""

    values: dict[Value, dict[int, list[Candidate]]] = field(default_factory=dict)
    missing: dict[int, int] = field(default_factory=dict)
    usable: dict[int, int] = field(default_factory=dict)


def rules_of(asks: Sequence[Ask]) -> list[Rule]:
    """The constraints of all claims, each with the asks that it binds."""
    out = []
    claims = {id(ask.claim): ask.claim for ask in asks}
    for claim in claims.values():
        for index, constraint in enumerate(claim.spec.constraints):
            bound = [number for number, ask in enumerate(asks) if ask.claim is claim and binds(constraint, ask)]
            out.append(Rule(claim, index, constraint, bound))
    return out


def bound_labels(rule: Rule, asks: Sequence[Ask]) -> list[str]:
    """The requests that a constraint binds; one that it binds with all its alternatives is named once."""
    out = []
    for unit in _units(rule, asks):
        ask = asks[unit[0]]
        whole = not ask.request.first_available or len(unit) == len(ask.request.first_available)
        main = ask.label.removesuffix(f"/{ask.spec.name}") if ask.request.first_available else ask.label
        out += [main] if whole else [asks[index].label for index in unit]
    return out


def binds(constraint: DeviceConstraint, ask: Ask) -> bool:
    """Whether a constraint is about a request or alternative; without a list of requests it is about all."""
    return not constraint.requests or ask.name in constraint.requests or ask.request.name in constraint.requests


class Uncompared(tuple[object, ...]):
    """A list where lists are not compared: it is like no other, not even the same one on another device."""

    __slots__ = ()
    __eq__ = object.__eq__
    __hash__ = object.__hash__


def values_of(attribute: DeviceAttribute, lists: bool) -> list[Value]:
    """The values that count in a constraint: one, or each element of a list where lists are compared."""
    if isinstance(attribute.value, tuple):
        if not lists:
            return [(attribute.kind, Uncompared(attribute.value))]
        kind = attribute.kind.removesuffix("s")
        return [(kind, one) for one in attribute.value]
    return [(attribute.kind, attribute.value)]


def groups_on(rule: Rule, survey: Survey, facts: NodeFacts) -> NodeGroups:
    """The usable devices of a node by value of the constraint's attribute."""
    out = NodeGroups()
    lists = survey.profile.features.list_type_attributes
    for index in rule.asks:
        usable = facts.asks[index].usable
        out.usable[index] = len(usable)
        for candidate in usable:
            attribute = survey.attribute(index, candidate.id, candidate.device, rule.attribute)
            values = values_of(attribute, lists) if attribute is not None else []
            if not values:
                out.missing[index] = out.missing.get(index, 0) + 1
            for value in values:
                out.values.setdefault(value, {}).setdefault(index, []).append(candidate)
    return out


def satisfiable(rule: Rule, survey: Survey, groups: NodeGroups) -> bool:
    """Whether the constraint alone could be kept on a node, given that every ask has enough usable devices there."""
    asks, quirks = survey.asks, survey.profile.quirks
    units = _units(rule, asks)
    if not units or (rule.distinct and q.DISTINCT_BLIND in quirks):
        return True
    if rule.distinct:
        # up to 1.36 the devices of one request are not told apart
        once = q.DISTINCT_FORGETS in quirks
        needed = sum(1 if once else min(asks[index].count for index in unit) for unit in units)
        return len(groups.values) >= needed
    again = q.PERMUTATIONS in quirks
    return any(_holds(units, asks, groups, by_ask, again) for by_ask in groups.values.values())


def _holds(
    units: list[list[int]], asks: Sequence[Ask], groups: NodeGroups, by_ask: dict[int, list[Candidate]], again: bool
) -> bool:
    """Whether one value has enough devices for every request; requests that compete for a device need one each.

    ``again``: whether one request may have a shared device several times.
    """
    together: set[object] = set()
    needed = 0
    for unit in units:
        wanted = {index: groups.usable[index] if asks[index].all else asks[index].count for index in unit}
        for index in unit if again else ():
            if not asks[index].all and any(one.device.allow_multiple_allocations for one in by_ask.get(index, ())):
                wanted[index] = 1
        if not any(len(by_ask.get(index, ())) >= wanted[index] for index in unit):
            return False
        needed += min(asks[index].count for index in unit)
        together |= {one.id for index in unit for one in by_ask.get(index, ())}
    shared = any(one.device.allow_multiple_allocations for found in by_ask.values() for one in found)
    return shared or len(together) >= needed


def _units(rule: Rule, asks: Sequence[Ask]) -> list[list[int]]:
    """The bound asks by request: alternatives of one request are one unit."""
    units: dict[tuple[int, str], list[int]] = {}
    for index in rule.asks:
        units.setdefault((id(asks[index].claim), asks[index].request.name), []).append(index)
    return list(units.values())


def value_text(value: Value) -> str:
    """A value for people."""
    return attribute_text(value[1])
