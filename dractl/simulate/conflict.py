"""A smallest set of statements that cannot hold together: requests, selectors, constraints, devices in use, node rules.

Each statement is left out in turn; where the claims still do not fit without it, it is no part of the conflict and
stays out. What is left cannot hold together, and could if any one of it were left out. Statements without which the
allocator fails with an error (a test whether an attribute is there) are never left out.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from dractl.explain.case import DOES_NOT_FIT, ERROR, FITS, UNDECIDED, Case
from dractl.explain.constraints import Rule, bound_labels
from dractl.explain.holders import holders_of
from dractl.explain.judge import Ask, device_taint_text
from dractl.explain.nearest import device_names
from dractl.explain.placement import pods_text
from dractl.explain.report import ConflictView
from dractl.explain.survey import visible_devices
from dractl.explain.words import listing, natural, plural, ranges
from dractl.inventory import DeviceId, key_of
from dractl.kube.objects import ClaimSpec, DeviceConstraint, DeviceSelector, DeviceTaint, DeviceToleration
from dractl.simulate.variant import Variant

_NODE_TRIALS = 60_000
"""Statements times different nodes; beyond that the search is left out."""

_ALL_TRIED = 32
"""Up to so many nodes it is not worthwhile to look which of them are alike."""


@dataclass(slots=True, eq=False)
class Part:
    """One statement. ``drop`` takes it out of a variant, or ``rule`` is the (code, text) of a rule of the pods.

    ``term`` is (ask, selector, term) by index where the statement is one term of a selector.
    """

    kind: str
    text: str
    drop: Callable[[Variant], None] | None = None
    rule: tuple[str, str] | None = None
    term: tuple[int, int, int] | None = None
    request: str = ""


@dataclass(slots=True)
class Conflict:
    """The statements that cannot hold together; empty where none were found or looked for.

    ``fixed`` are statements that have to stay, or else the allocator fails with an error.
    """

    parts: list[Part] = field(default_factory=list)
    fixed: list[Part] = field(default_factory=list)

    def views(self) -> list[ConflictView]:
        """As plain data."""
        return [ConflictView(part.kind, part.text, part.request or None) for part in self.parts]


def find_conflict(case: Case, nodes: Sequence[str] | None = None) -> Conflict:
    """The conflict of claims that do not fit, on all nodes or on some."""
    search = ConflictSearch(case, nodes)
    everything = search.everything
    search.only_different()
    if not case.claims or len(everything) * len(search.tried) > _NODE_TRIALS:
        return Conflict()
    if search.verdict(everything) != DOES_NOT_FIT:
        return Conflict()
    kept = list(everything)
    fixed: list[Part] = []
    for part in everything:
        rest = [one for one in kept if one is not part]
        verdict = search.verdict(rest)
        if verdict == UNDECIDED:
            return Conflict()
        if verdict == DOES_NOT_FIT:
            kept = rest
        elif verdict == ERROR:
            fixed.append(part)
    if len(search.tried) < len(search.nodes):
        search.tried = search.nodes
        if search.verdict(kept) != DOES_NOT_FIT:
            return Conflict()
    return Conflict([part for part in kept if part not in fixed], fixed)


class ConflictSearch:
    """Tries what the allocator says if only some of the statements hold."""

    def __init__(self, case: Case, nodes: Sequence[str] | None = None) -> None:
        self.case = case
        self.nodes = list(case.nodes) if nodes is None else list(nodes)
        self.tried = self.nodes
        self.base = Variant.of(case)
        self.everything = list(self._parts())

    def only_different(self) -> None:
        """Try one node of those that are alike in all that the allocator, the selectors and the pods see of them."""
        if len(self.nodes) <= _ALL_TRIED:
            return
        case = self.case
        found: dict[Hashable, str] = {}
        for name in self.nodes:
            answer = case.nodes[name]
            rules = tuple((reason.code, reason.shared) for reason in answer.pod.reasons)
            devices = tuple(
                case.survey.judge.projection(ask, device_id.driver, device)
                for device_id, device in visible_devices(answer.reason.facts.node, answer.reason.facts.pools)
                for ask in case.survey.asks
            )
            found.setdefault((answer.result.group, rules, devices), name)
        self.tried = list(found.values())

    def _parts(self) -> Iterator[Part]:
        """All statements, those that are left out first at the beginning."""
        case = self.case
        yield from _in_use(case, self.nodes)
        yield from _counters(case, self.nodes)
        yield from _taints(case, self.nodes)
        yield from _rules(case, self.nodes)
        yield from _requests(case)
        yield from (_constraint(case, rule) for rule in case.reasons.rules)
        yield from _amounts(case)
        yield from _terms(case)

    def verdict(self, parts: Iterable[Part]) -> str:
        """The allocator's answer over the allowed nodes if only these statements hold."""
        holding = {id(part) for part in parts}
        dropped = [part for part in self.everything if id(part) not in holding]
        variant = self.base.copy()
        _drop_terms(self.case, variant, [part.term for part in dropped if part.term is not None])
        for part in sorted(dropped, key=lambda one: one.kind == "request"):
            if part.drop is not None:
                part.drop(variant)
        rules = {part.rule for part in dropped}
        allowed = [
            name
            for name in self.tried
            if all((reason.code, reason.shared) in rules for reason in self.case.nodes[name].pod.reasons)
        ]
        results = variant.results(allowed)
        if any(result.verdict == ERROR and result.fatal for result in results.values()):
            return ERROR
        verdicts = {result.verdict for result in results.values()}
        return next((one for one in (FITS, UNDECIDED) if one in verdicts), DOES_NOT_FIT)


# --- what other claims, drivers and nodes say -----------------------------------------------------------------------


def _in_use(case: Case, nodes: Sequence[str]) -> Iterator[Part]:
    held = holders_of(case.survey, range(len(case.survey.asks)), list(nodes))
    if not held:
        return
    keys = {key_of(one.claim) for one in held}
    names = listing(sorted((str(key) for key in keys), key=natural), 6)

    def drop(variant: Variant) -> None:
        variant.freed |= keys

    yield Part(
        "in-use", f"{plural(len(keys), 'claim')} {names} {plural(len(keys), 'keeps its', 'keep their')} devices", drop
    )


def _counters(case: Case, nodes: Sequence[str]) -> Iterator[Part]:
    matched = (one for name in nodes for found in case.survey.nodes[name].asks for one in found.matched)
    if not any(one.device.consumes_counters for one in matched):
        return

    def drop(variant: Variant) -> None:
        variant.slices = [
            replace(item, devices=[replace(one, consumes_counters=[]) for one in item.devices])
            if any(one.consumes_counters for one in item.devices)
            else item
            for item in variant.slices
        ]

    yield Part("counters", "devices draw from counters that they share, and exclude each other by that", drop)


def _taints(case: Case, nodes: Sequence[str]) -> Iterator[Part]:
    found: dict[str, tuple[DeviceTaint, list[DeviceId]]] = {}
    for name in nodes:
        for on_node in case.survey.nodes[name].asks:
            for one in on_node.matched:
                for taint in one.judgement.taints:
                    entry = found.setdefault(device_taint_text(taint), (taint, []))
                    if one.id not in entry[1]:
                        entry[1].append(one.id)
    for text, (taint, devices) in found.items():
        names = device_names(sorted(devices, key=lambda one: natural(str(one))), 3)
        have = plural(len(devices), "has", "have")
        yield Part("device-taint", f"{names} {have} the taint {text}, which is not tolerated", _tolerating(case, taint))


def _tolerating(case: Case, taint: DeviceTaint) -> Callable[[Variant], None]:
    def drop(variant: Variant) -> None:
        toleration = DeviceToleration(key=taint.key, operator="Exists", effect=taint.effect)
        for ask in case.survey.asks:
            request = variant.request(ask.claim, ask.name)
            variant.change_request(ask.claim, ask.name, tolerations=[*request.tolerations, toleration])

    return drop


def _rules(case: Case, nodes: Sequence[str]) -> Iterator[Part]:
    found: dict[tuple[str, str], list[str]] = {}
    for name in nodes:
        for reason in case.nodes[name].pod.reasons:
            found.setdefault((reason.code, reason.shared), []).append(name)
    for rule, names in sorted(found.items(), key=lambda item: len(item[1])):
        yield Part(rule[0], _rule_words(case, *rule, names, nodes), rule=rule)


def _rule_words(case: Case, code: str, shared: str, names: list[str], nodes: Sequence[str]) -> str:
    where, number = ranges(names, 4), len(names)
    if code == "cordoned":
        return f"{where} {plural(number, 'is')} cordoned"
    if code == "node-taint":
        return f"{where} {plural(number, 'has', 'have')} the {shared}"
    if code in ("node-resources", "pod-affinity", "pod-anti-affinity"):
        return f"on {where}: {shared}"
    if code == "claim":
        return shared
    others = [name for name in nodes if name not in names]
    if not others:
        return f"{pods_text(case.pods)} requires what no node has ({shared})"
    return f"{pods_text(case.pods)} may only run on {ranges(others, 4)} ({shared})"


# --- what the claims say --------------------------------------------------------------------------------------------


def _requests(case: Case) -> Iterator[Part]:
    for unit in case.reasons.units:
        ask = case.survey.asks[unit[0]]
        label = ask.label if len(unit) == 1 else ask.label.rpartition("/")[0]
        wants = [
            f"{'all' if one.all else 'a'} {plural(2 if one.all else 1, one.noun)} of class {one.spec.device_class_name}"
            for one in (case.survey.asks[index] for index in unit)
        ]
        yield Part("request", listing(wants, 4, "or"), _without_request(ask), request=label)


def _without_request(ask: Ask) -> Callable[[Variant], None]:
    def drop(variant: Variant) -> None:
        claim = next(one for one in variant.claims if key_of(one) == key_of(ask.claim))
        name = ask.request.name
        kept = [one for one in claim.spec.requests if one.name != name]
        constraints = [one for one in (_unbound(one, name) for one in claim.spec.constraints) if one is not None]
        variant.change_spec(claim, replace(claim.spec, requests=kept, constraints=constraints))

    return drop


def _unbound(constraint: DeviceConstraint, name: str) -> DeviceConstraint | None:
    """A constraint without a request; none where it was about that request only."""
    if not constraint.requests:
        return constraint
    kept = [one for one in constraint.requests if one.partition("/")[0] != name]
    return replace(constraint, requests=kept) if kept else None


def _constraint(case: Case, rule: Rule) -> Part:
    return Part("constraint", constraint_words(case, rule), _without_constraint(rule))


def constraint_words(case: Case, rule: Rule) -> str:
    """What a constraint says: ``gpu and nic have the same resource.kubernetes.io/pcieRoot``."""
    labels = bound_labels(rule, case.survey.asks)
    whose = listing(labels, 6) if len(labels) > 1 else f"the devices of {labels[0] if labels else 'no request'}"
    return f"{whose} have {'different' if rule.distinct else 'the same'} {rule.attribute}"


def _without_constraint(rule: Rule) -> Callable[[Variant], None]:
    def drop(variant: Variant) -> None:
        claim = next(one for one in variant.claims if key_of(one) == key_of(rule.claim))
        kept: list[DeviceConstraint] = [one for one in claim.spec.constraints if one is not rule.constraint]
        spec: ClaimSpec = replace(claim.spec, constraints=kept)
        variant.change_spec(claim, spec)

    return drop


def _amounts(case: Case) -> Iterator[Part]:
    for ask in case.survey.asks:
        if ask.all:
            one = {"allocation_mode": "ExactCount", "count": 1}
            yield Part("count", "all of them on a node", _setting(ask, **one), request=ask.label)
        elif ask.count > 1:
            text = f"{ask.count} of them on one node"
            yield Part("count", text, _setting(ask, count=1), request=ask.label)
        if ask.spec.capacity:
            amounts = listing([f"{value} of {name}" for name, value in sorted(ask.spec.capacity.items())], 4)
            yield Part("capacity", f"{amounts} of each", _setting(ask, capacity={}), request=ask.label)


def _setting(ask: Ask, **changes: object) -> Callable[[Variant], None]:
    def drop(variant: Variant) -> None:
        variant.change_request(ask.claim, ask.name, **changes)

    return drop


def _terms(case: Case) -> Iterator[Part]:
    for number, ask in enumerate(case.survey.asks):
        counts: dict[int, int] = {}
        for of_class, index, term in case.survey.judge.terms(ask):
            if of_class:
                continue
            position = counts.get(index, 0)
            counts[index] = position + 1
            yield Part("selector", term.text, term=(number, index, position), request=ask.label)


def _drop_terms(case: Case, variant: Variant, dropped: Sequence[tuple[int, int, int]]) -> None:
    """Write the selectors of the requests anew, without some of their terms."""
    for number in {one[0] for one in dropped}:
        ask = case.survey.asks[number]
        terms: dict[int, list[str]] = {}
        for of_class, index, term in case.survey.judge.terms(ask):
            if not of_class:
                terms.setdefault(index, []).append(term.source)
        selectors = list(ask.spec.selectors)
        for index, sources in terms.items():
            kept = [source for position, source in enumerate(sources) if (number, index, position) not in dropped]
            if len(kept) < len(sources):
                selectors[index] = DeviceSelector(" && ".join(f"({source})" for source in kept) or "true")
        variant.change_request(ask.claim, ask.name, selectors=selectors)
