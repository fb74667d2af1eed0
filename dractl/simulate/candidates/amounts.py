"""Constraints dropped or on another attribute, smaller counts, smaller amounts of capacity."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from dractl.explain.attributes import shared_attributes
from dractl.explain.case import Case
from dractl.explain.constraints import Rule, bound_labels
from dractl.explain.judge import UNDEFINED
from dractl.explain.words import listing, near, plural
from dractl.inventory import key_of
from dractl.kube.quantity import Quantity
from dractl.simulate.candidates.model import CLAIM, Change, request_setter
from dractl.simulate.variant import Variant


def constraints(case: Case) -> Iterator[Change]:
    """A constraint on another attribute that devices share, or dropped."""
    for rule in case.reasons.rules:
        subject = frozenset({f"constraint {rule.index} of {key_of(rule.claim)}"})
        labels = listing(bound_labels(rule, case.survey.asks), 4)
        for other in shared_attributes(case, rule):
            yield Change(
                "constraint",
                f"constrain {labels} by {other} instead of {rule.attribute}",
                CLAIM,
                20,
                _constraint_setter(rule, other),
                subjects=subject,
            )
        yield Change(
            "constraint",
            f"drop the constraint on {rule.attribute} for {labels}",
            CLAIM,
            24,
            _constraint_setter(rule, None),
            subjects=subject,
        )


def _constraint_setter(rule: Rule, attribute: str | None) -> Callable[[Variant], None]:
    def apply(variant: Variant) -> None:
        claim = next(one for one in variant.claims if key_of(one) == key_of(rule.claim))
        kept = []
        for one in claim.spec.constraints:
            if one is not rule.constraint:
                kept.append(one)
            elif attribute is not None and rule.distinct:
                kept.append(replace(one, distinct_attribute=attribute))
            elif attribute is not None:
                kept.append(replace(one, match_attribute=attribute))
        variant.change_spec(claim, replace(claim.spec, constraints=kept))

    return apply


def counts(case: Case) -> Iterator[Change]:
    """Fewer devices."""
    names = [answer.name for answer in case.eligible] or list(case.nodes)
    for index, ask in enumerate(case.survey.asks):
        usable = [len(case.survey.nodes[name].asks[index].usable) for name in names]
        subject = frozenset({f"{ask.label} count"})
        if ask.all:
            most = max(usable, default=0)
            if most:
                yield Change(
                    "count",
                    f"in request {ask.label} ask for {most} {plural(most, ask.noun)} instead of all",
                    CLAIM,
                    32,
                    request_setter(ask, allocation_mode="ExactCount", count=most),
                    subjects=subject,
                )
        elif ask.count > 1:
            lower = sorted({min(number, 32) for number in usable if 0 < min(number, 32) < ask.count}, reverse=True)[:2]
            for number in lower or [1]:
                yield Change(
                    "count",
                    f"in request {ask.label} ask for {number} instead of {ask.count} {plural(ask.count, ask.noun)}",
                    CLAIM,
                    30,
                    request_setter(ask, count=number),
                    choice=f"count {ask.label}",
                    name=str(number),
                    subjects=subject,
                )


def capacities(case: Case) -> Iterator[Change]:
    """Another amount or name of a capacity."""
    names = [answer.name for answer in case.eligible] or list(case.nodes)
    for index, ask in enumerate(case.survey.asks):
        asked = ask.spec.capacity or {}
        done: set[tuple[str, str]] = set()
        for name, amount, renamed in _amounts_possible(case, index, names):
            if (name, str(amount)) in done:
                continue
            done.add((name, str(amount)))
            kept = {key: value for key, value in asked.items() if key not in (name, renamed)}
            wanted = asked.get(renamed or name)
            text = f"name capacity {name} instead of {renamed}" if renamed else f"ask for {amount} of {name}"
            if wanted is not None and not renamed:
                text += f" instead of {wanted}"
            yield Change(
                "capacity",
                f"in request {ask.label} {text}",
                CLAIM,
                31,
                request_setter(ask, capacity={**kept, name: amount}),
                subjects=frozenset({f"{ask.label} capacity"}),
            )


def _amounts_possible(case: Case, index: int, nodes: list[str]) -> Iterator[tuple[str, Quantity, str]]:
    """(capacity, amount, the name to be replaced) of what could be asked for instead; the most that is left first."""
    left: dict[str, Quantity] = {}
    for node in nodes:
        for one in case.survey.nodes[node].asks[index].matched:
            short = one.judgement.short
            if short is None or short.wanted is None:
                continue
            if short.code == UNDEFINED:
                bare = short.name.rpartition("/")[2]
                for key in one.device.capacity:
                    if key.rpartition("/")[2] == bare or near(short.name, [key]):
                        yield key, short.wanted, short.name
            elif short.has is not None and short.by_policy:
                policy = one.device.capacity[short.name].request_policy
                if policy is not None and policy.valid_values:
                    yield short.name, max(policy.valid_values), ""
                elif policy is not None and policy.valid_range is not None and policy.valid_range.max is not None:
                    yield short.name, policy.valid_range.max, ""
            elif short.has is not None:
                rest = Quantity(short.has.nano - short.taken, short.has.notation)
                if rest.nano > 0 and (short.name not in left or left[short.name] < rest):
                    left[short.name] = rest
    for name, amount in left.items():
        yield name, amount, ""
