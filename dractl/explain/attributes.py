"""Other names of what a constraint asks for: drivers call one thing by several names, and some values differ in "
"form."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from dractl.allocator.attributes import published_attribute
from dractl.explain.answer import Answer
from dractl.explain.case import Case, NodeAnswer
from dractl.explain.constraints import Rule
from dractl.explain.nodes import NO_ATTRIBUTE
from dractl.explain.statements import noun
from dractl.explain.survey import Candidate
from dractl.explain.terms import attribute_text, names_of
from dractl.explain.words import listing, natural, near, plural

_MEANINGS: tuple[tuple[str, ...], ...] = (
    ("pcieRoot", "pciRoot", "pcieroot"),
    ("numaNode", "numa", "numaNodeID"),
    ("pciBusID", "pcieBusID", "pciAddress", "pciAddr", "pfPciAddress"),
)
"""Attribute names, whatever their domain, that different drivers use for one thing."""

_STANDARD = "resource.kubernetes.io"


def explain_missing(case: Case, answer: Answer, answers: Sequence[NodeAnswer]) -> None:
    """For constraints whose attribute some devices lack: what these devices publish instead, and what would match."""
    numbers = dict.fromkeys(
        blocker.rule for one in answers for blocker in one.reason.blockers if blocker.kind == NO_ATTRIBUTE
    )
    for number in numbers:
        _explain(case, answer, case.reasons.rules[number])


def _explain(case: Case, answer: Answer, rule: Rule) -> None:
    asks = case.survey.asks
    devices = {index: _matched(case, index) for index in rule.asks}
    lacking = [
        index
        for index in rule.asks
        if devices[index]
        and not case.survey.derives(index, rule.attribute)
        and not any(_has(rule, one) for one in devices[index])
    ]
    for index in lacking:
        name = noun(asks[index])
        same = _same_meaning(rule.attribute, devices[index])
        text = (
            f"none of the {len(devices[index])} matching {plural(2, name)} publishes {rule.attribute}: the attribute "
            "is missing there, not different"
        )
        answer.say(text)
        for other, values in same.items():
            shown = listing(sorted(values, key=natural), 6)
            having = [index for index in rule.asks if index not in lacking]
            theirs = _values(rule, [one for index in having for one in devices[index]])
            others = listing(dict.fromkeys(plural(2, noun(asks[index])) for index in having), 3)
            answer.say(
                f"the {plural(2, name)} publish {other} ({shown}{_form(values, theirs)})"
                + (f", the {others} {rule.attribute} ({listing(sorted(theirs, key=natural), 6)})" if theirs else "")
            )
            _would_match(answer, rule, values, theirs)
        _advise(answer, rule, same, devices, lacking)


def _advise(
    answer: Answer,
    rule: Rule,
    same: dict[str, set[str]],
    devices: dict[int, list[Candidate]],
    lacking: list[int],
) -> None:
    drivers = sorted({one.id.driver for index in lacking for one in devices[index]})
    common = _common(rule.attribute, devices)
    if common:
        answer.say(f"carried by the devices of all these requests {plural(len(common), 'is')} {listing(common, 4)}")
    if rule.attribute.startswith(f"{_STANDARD}/"):
        known = "gpu.intel.com" in drivers and "pcieRoot" in rule.attribute
        release = " (gpu.intel.com: 0.10.0 or newer)" if known else ""
        answer.advise(
            f"use a release of driver {listing(drivers, 3)} that publishes the standard attribute {rule.attribute}"
            f"{release}, or drop the constraint"
        )
    elif common:
        names = listing(common, 3, "or")
        answer.advise(f"constrain by {names} instead, if that serves the purpose, or drop the constraint")
    else:
        answer.advise("drop the constraint, or use an attribute that the devices of all these requests carry")


def _matched(case: Case, index: int) -> list[Candidate]:
    found: dict[object, Candidate] = {}
    for facts in case.survey.nodes.values():
        for one in facts.asks[index].matched:
            found.setdefault(one.id, one)
    return list(found.values())


def _has(rule: Rule, candidate: Candidate) -> bool:
    return published_attribute(candidate.id.driver, candidate.device, rule.attribute) is not None


def _values(rule: Rule, candidates: Iterable[Candidate]) -> set[str]:
    found = (published_attribute(one.id.driver, one.device, rule.attribute) for one in candidates)
    return {attribute_text(attribute.value) for attribute in found if attribute is not None}


def _same_meaning(attribute: str, candidates: list[Candidate]) -> dict[str, set[str]]:
    """Attributes of the devices that mean the same or are nearly spelt the same: full name -> values."""
    bare = attribute.rpartition("/")[2]
    names = {bare} | {name for group in _MEANINGS if bare in group for name in group}
    out: dict[str, set[str]] = {}
    for one in candidates:
        have = names_of(one.id.driver, one.device)
        alike = set(near(bare, [name for _, name in have]))
        for (domain, name), value in have.items():
            if (name in names or name in alike) and f"{domain}/{name}" != attribute:
                out.setdefault(f"{domain}/{name}", set()).add(value)
    return out


def _form(mine: set[str], theirs: set[str]) -> str:
    """Whether the values differ only in form: the bus part of a PCIe root."""
    if theirs and mine.isdisjoint(theirs) and {_bus(value) for value in mine} & {_bus(value) for value in theirs}:
        return ": only the bus part" if all(":" not in value for value in mine) else ""
    return ""


def _bus(value: str) -> str:
    return value.rpartition(":")[2]


def _would_match(answer: Answer, rule: Rule, mine: set[str], theirs: set[str]) -> None:
    if rule.distinct or not theirs:
        return
    both = sorted({_bus(value) for value in mine} & {_bus(value) for value in theirs}, key=natural)
    if both and "root" in rule.attribute.lower():
        buses = f"{plural(len(both), 'bus', 'buses')} {listing(both, 6)}"
        answer.say(f"by those values the devices under {buses} would share a root")
    elif mine & theirs:
        answer.say(f"by those values {listing(sorted(mine & theirs, key=natural), 6)} would be common")


def shared_attributes(case: Case, rule: Rule) -> list[str]:
    """Attributes by which a constraint could bind instead: of a known meaning, and carried by devices of all "
    "requests."""
    return _common(rule.attribute, {index: _matched(case, index) for index in rule.asks})


def _common(attribute: str, devices: dict[int, list[Candidate]]) -> list[str]:
    sets = []
    for found in devices.values():
        names: set[str] = set()
        for one in found:
            names |= {f"{domain}/{name}" for domain, name in names_of(one.id.driver, one.device)}
        sets.append(names)
    if not sets:
        return []
    common = set.intersection(*sets)
    useful = {name for group in _MEANINGS[:2] for name in group}
    return sorted(name for name in common if name.rpartition("/")[2] in useful and name != attribute)
