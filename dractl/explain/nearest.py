"""Near misses: devices of the class that the selectors refuse, taken together by what they lack, the closest first."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field

from dractl.explain.judge import CLASS, ERROR, NOT_COMPILED, REQUEST, Ask, Fault, Judgement
from dractl.explain.report import NearView
from dractl.explain.survey import Survey, visible_devices
from dractl.explain.terms import Term
from dractl.explain.words import count, listing, natural, ranges
from dractl.inventory import DeviceId
from dractl.kube.quantity import Quantity, QuantityError


@dataclass(slots=True)
class Miss:
    """Devices that miss for the same terms with the same values. ``free`` counts those that no claim has."""

    faults: tuple[Fault, ...]
    devices: list[DeviceId] = field(default_factory=list)
    free: int = 0


@dataclass(slots=True)
class TermTally:
    """How a term fared on the devices of the class: false (with values), failing with an error, or true."""

    term: Term
    of_class: bool
    false: int = 0
    errors: int = 0
    values: Counter[str | None] = field(default_factory=Counter)


@dataclass(slots=True)
class Misses:
    """All devices of an ask's class that its selectors refuse. ``total`` counts the devices of the class."""

    total: int
    groups: list[Miss]
    tallies: list[TermTally]

    def culprits(self) -> list[TermTally]:
        """Terms that are true on no device of the class; of those on one field the test whether it is there alone."""
        never = [one for one in self.tallies if one.false + one.errors == self.total and self.total]
        absent = {str(one.term.field) for one in never if one.term.wanted == ("published",)}
        return [one for one in never if str(one.term.field) not in absent or one.term.wanted == ("published",)]


def misses_of(survey: Survey, index: int, nodes: Iterable[str] | None = None) -> Misses:
    """Take the refused devices of one ask together; ``nodes`` restricts them to what these nodes see."""
    key = (index, None if nodes is None else frozenset(nodes))
    if key[1] is not None and len(key[1]) == len(survey.nodes):
        key = (index, None)
    known = survey.kept.get(key)
    if not isinstance(known, Misses):
        known = survey.kept[key] = _misses(survey, *key)
    return known


def _misses(survey: Survey, index: int, nodes: frozenset[str] | None) -> Misses:
    ask = survey.asks[index]
    allowed = _visible(survey, nodes)
    groups: dict[tuple[object, ...], Miss] = {}
    tallies: dict[tuple[bool, int, str], TermTally] = {
        (of_class, number, term.source): TermTally(term, of_class) for of_class, number, term in survey.judge.terms(ask)
    }
    total = 0
    memo: dict[Hashable, list[Fault]] = {}
    judged = {
        device_id: judgement
        for device_id, judgement in survey.judgements[index].items()
        if allowed is None or device_id in allowed
    }
    inside = {device_id: judgement for device_id, judgement in judged.items() if not by_class(judgement)}
    # where the class itself takes no device, those of its driver are the ones to look at
    for device_id, judgement in (inside or judged).items():
        if not inside and not same_driver(judgement.selection.faults):
            continue
        total += 1
        if judgement.code not in (CLASS, REQUEST, ERROR):
            continue
        device = survey.seen[device_id]
        alike = survey.judge.projection(ask, device_id.driver, device)
        faults = memo.get(alike)
        if faults is None:
            faults = survey.judge.failing_terms(ask, device_id.driver, device)
            faults = memo[alike] = faults or list(judgement.selection.faults)
        for fault in faults:
            tally = tallies.get((fault.of_class, fault.index, fault.term.source))
            if tally is not None:
                _count(tally, fault)
        key = tuple((fault.of_class, fault.index, fault.term.source, fault.has, fault.error) for fault in faults)
        miss = groups.setdefault(key, Miss(tuple(faults)))
        miss.devices.append(device_id)
        if device_id not in survey.judge.room.exclusive:
            miss.free += 1
    ranked = sorted(groups.values(), key=_rank)
    return Misses(total, ranked, list(tallies.values()))


def by_class(judgement: Judgement) -> bool:
    """Whether the class refuses a device, or fails on it."""
    if judgement.code == ERROR:
        return any(fault.of_class for fault in judgement.selection.faults)
    return judgement.code == CLASS


def _count(tally: TermTally, fault: Fault) -> None:
    if fault.error is not None:
        tally.errors += 1
    else:
        tally.false += 1
    tally.values[fault.has] += 1


def _visible(survey: Survey, nodes: Iterable[str] | None) -> set[DeviceId] | None:
    if nodes is None:
        return None
    found: set[DeviceId] = set()
    for name in nodes:
        facts = survey.nodes[name]
        found.update(device_id for device_id, _ in visible_devices(facts.node, facts.pools))
    return found


def same_driver(faults: Iterable[Fault]) -> bool:
    """Whether a refusal by the class is not about the driver: a device of another driver is no near miss."""
    return not any(fault.term.field is not None and fault.term.field.kind == "driver" for fault in faults)


def _rank(miss: Miss) -> tuple[object, ...]:
    distances = [distance(fault) for fault in miss.faults]
    return (len(miss.faults), sum(distances), not miss.free, -len(miss.devices))


def distance(fault: Fault) -> float:
    """How far a value is from what is asked: 0 very close, 1 far or not comparable."""
    if fault.has is None or not fault.term.wanted:
        return 1.0
    wanted = fault.term.wanted[0]
    if fault.term.operator in (">=", ">", "<=", "<"):
        left, right = number(fault.has), number(wanted)
        if left is not None and right is not None and max(left, right) > 0:
            return abs(left - right) / max(left, right)
        return 1.0
    if fault.term.operator in ("==", "in", "containing"):
        close = any(related(word, fault.has) for word in fault.term.wanted)
        return 0.5 if close else 1.0
    return 1.0


def number(text: str) -> float | None:
    """A quantity or plain number as a number."""
    try:
        return Quantity.parse(text).nano / 1e9
    except QuantityError:
        return None


def related(wanted: str, has: str) -> bool:
    """Whether two texts look like ways of writing one thing: one holds the other, letter case and blanks aside."""
    one, two = _squeezed(wanted), _squeezed(has)
    return bool(one) and bool(two) and (one in two or two in one)


def _squeezed(text: str) -> str:
    return "".join(char for char in text.lower() if char.isalnum())


def near_views(survey: Survey, ask: Ask, misses: Misses, limit: int = 5) -> list[NearView]:
    """The closest misses as the report shows them: those with one fault, or else with the fewest."""
    if not misses.groups:
        return []
    fewest = len(misses.groups[0].faults)
    out = []
    for miss in misses.groups[:limit]:
        if len(miss.faults) > fewest:
            break
        if any((fault.error or "").startswith(NOT_COMPILED) for fault in miss.faults):
            continue
        devices = sorted(miss.devices, key=lambda one: natural(str(one)))
        nodes = sorted({node for one in devices for node in nodes_with(survey, one)}, key=natural)
        shown = device_names(devices)
        what = ", ".join(fault_text(fault) for fault in miss.faults)
        kind = ask.noun
        where = f"{count(len(devices), kind)} ({shown}): {what}"
        code = ERROR if any(fault.error for fault in miss.faults) else REQUEST
        out.append(NearView(len(devices), str(devices[0]), nodes, code, where))
    return out


def fault_text(fault: Fault) -> str:
    """A fault with amounts that are hard to read written out once more: ``81559Mi (79.6Gi)``."""
    if fault.has is None or fault.error is not None or fault.term.field is None:
        return fault.text
    return f"{fault.term.field} is {amount_text(fault.term, fault.has)}, asked for {fault.term.asked}"


def amount_text(term: Term, value: str) -> str:
    """A value for people; a decimal amount where a binary one is asked for is given in binary units too."""
    found = re.fullmatch(r"(\d+)([MGT])", value)
    if found is None or term.typed != "quantity" or not all(word.endswith("i") for word in term.wanted):
        return readable(value)
    power = {"M": 2, "G": 3, "T": 4}[found[2]]
    units = int(found[1]) * 1000**power * 1024 // 1024**power
    return f"{value} ({_tenths(units)}{found[2]}i)"


def readable(amount: str) -> str:
    """``81559Mi`` as ``81559Mi (79.6Gi)``; other texts as they are."""
    for small, large in (("Ki", "Mi"), ("Mi", "Gi"), ("Gi", "Ti")):
        if amount.endswith(small) and amount[: -len(small)].isdigit():
            units = int(amount[: -len(small)])
            if units >= 10_000 or (units >= 1024 and units % 1024):
                return f"{amount} ({_tenths(units)}{large})"
    return amount


def _tenths(units: int) -> str:
    """A 1024th with one decimal, rounded down, so that it never looks like more than it is."""
    tenths = units * 10 // 1024
    return f"{tenths // 10}.{tenths % 10}" if tenths % 10 else str(tenths // 10)


def nodes_with(survey: Survey, device_id: DeviceId) -> list[str]:
    """The nodes that a device is published for."""
    return survey.nodes_of_device.get(device_id, [])


def device_names(devices: list[DeviceId], limit: int = 4) -> str:
    """Devices by pool: ``h100-0/gpu-0 to gpu-7, h100-1/gpu-3 and 12 more``."""
    pools: dict[str, list[str]] = {}
    for device in devices:
        pools.setdefault(device.pool, []).append(device.device)
    parts = [f"{pool}/{ranges(names, 4)}" for pool, names in pools.items()]
    if len(parts) > limit:
        shown = parts[: limit - 1]
        rest = len(devices) - sum(len(names) for names in list(pools.values())[: limit - 1])
        return f"{', '.join(shown)} and {rest} more"
    return listing(parts, limit)
