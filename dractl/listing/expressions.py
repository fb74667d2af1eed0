"""What ``dractl cel`` reports: the verdict on an expression, its outcome on devices, the fields there are to name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from dractl.cel.advice import advise, advise_cost, advise_result
from dractl.cel.environment import Environment
from dractl.cel.explain import show
from dractl.cel.selector import Selector, SelectorCache, compile_selector
from dractl.inventory import DeviceId, Inventory
from dractl.kube.gates import enabled
from dractl.kube.objects import Device, DeviceAttribute
from dractl.report import API_VERSION, to_plain

COST_LIMIT = 1_000_000
"""Kubernetes' limit for the estimated cost of a selector (resource.CELSelectorExpressionMaxCost)."""
MAX_LENGTH = 10 * 1024
"""Kubernetes' limit for the length of a selector in bytes (resource.CELSelectorExpressionMaxLength)."""
EXAMPLES = 3
"""How many values or devices are shown as examples."""


# --- check ----------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Fault:
    """One thing wrong; ``line`` (from 1) and ``column`` (from 1, in characters) are None where it has no place."""

    message: str
    line: int | None = None
    column: int | None = None
    hint: str | None = None


@dataclass(slots=True)
class ExpressionCheck:
    """The API server's verdict on an expression. ``error`` is Kubernetes' own text.

    ``gates`` holds those that are not as they are by default. ``type`` is the type of the result and ``max_cost`` the
    estimated cost, of which ``cost_limit`` are allowed (None: 1.31 had no limit). ``reads`` names what the expression
    looks at; it is left out where that may be anything of the device.
    """

    expression: str
    kubernetes: str
    gates: dict[str, bool]
    valid: bool
    error: str | None = None
    faults: list[Fault] = field(default_factory=list)
    type: str | None = None
    max_cost: int | None = None
    cost_limit: int | None = COST_LIMIT
    reads: list[str] | None = None
    note: str | None = None

    def to_json(self) -> dict[str, Any]:
        """The report as plain data."""
        return {"apiVersion": API_VERSION, "kind": "ExpressionCheck", **to_plain(self)}


def check_expression(expression: str, environment: Environment) -> ExpressionCheck:
    """The verdict on a new expression; a remark where one that is already stored would be accepted."""
    new = Environment(
        environment.kubernetes, environment.consumable_capacity, environment.list_attributes, stored=False
    )
    report = _check(expression, new)
    if not report.valid:
        stored = _check(expression, environment)
        if stored.valid:
            report.note = "Kubernetes accepts it where it is already stored, but not in a new or changed object."
    return report


def _check(expression: str, environment: Environment) -> ExpressionCheck:
    release = ".".join(map(str, environment.kubernetes))
    report = ExpressionCheck(expression, release, _unusual_gates(environment), valid=False)
    length = len(expression.encode("utf-8", "surrogatepass"))
    if not environment.has_cost_limit:
        report.cost_limit = None
    elif length > MAX_LENGTH:
        report.error = f"may not be more than {MAX_LENGTH} bytes"
        report.faults = [Fault(f"the expression has {length} bytes; {MAX_LENGTH} are allowed")]
        return report
    selector = compile_selector(expression, environment)
    if selector.error is not None:
        report.error = selector.error
        report.faults = _faults(selector)
        return report
    report.type = selector.output_type
    report.max_cost = selector.max_cost
    report.reads = reads_of(selector)
    if report.cost_limit is not None and selector.max_cost > report.cost_limit:
        report.error = "too complex, exceeds cost limit"
        report.faults = [
            Fault(
                f"too complex: Kubernetes expects a cost of up to {selector.max_cost:,}; {COST_LIMIT:,} are allowed",
                hint=advise_cost(expression),
            )
        ]
        return report
    report.valid = True
    return report


def _unusual_gates(environment: Environment) -> dict[str, bool]:
    """The gates that are not as they are by default."""
    usual = enabled(environment.release)
    chosen = {
        "DRAConsumableCapacity": environment.consumable_capacity,
        "DRAListTypeAttributes": environment.list_attributes,
    }
    return {name: on for name, on in chosen.items() if on != usual.get(name, False)}


def _faults(selector: Selector) -> list[Fault]:
    if not selector.faults:
        message = selector.error or ""
        return [Fault(message.removeprefix("program instantiation failed: "), hint=advise_result(message))]
    starts = [0, *(index + 1 for index, char in enumerate(selector.expression) if char == "\n")]
    found = []
    for issue in selector.faults:
        hint = advise(issue, selector.expression, selector.environment)
        if issue.placeless or issue.offset < 0:
            found.append(Fault(issue.message, hint=hint))
            continue
        line = sum(start <= issue.offset for start in starts)
        found.append(Fault(issue.message, line, issue.offset - starts[line - 1] + 1, hint))
    return found


def reads_of(selector: Selector) -> list[str] | None:
    """What an expression looks at, by the names that people know."""
    if selector.reads is None:
        return None
    names = {"driver": "driver", "multi": "allowMultipleAllocations"}
    return sorted(names.get(kind) or f"{kind} {domain}/{name}" for kind, domain, name in selector.reads)


# --- evaluate -------------------------------------------------------------------------------------------------------


_ON_ERRORS = (
    "Kubernetes allocates nothing on a node where a selector raises an error, unless the device class leaves the "
    'device out before. Guard it: device.driver == "…" && …, or has(…) && …'
)


@dataclass(slots=True)
class Reason:
    """Why devices do not match: the part of the expression that decided, and what was found in it.

    ``error`` is Kubernetes' text where the part could not be evaluated. ``examples`` are IDs of such devices.
    """

    devices: int
    term: str
    detail: str | None = None
    error: str | None = None
    examples: list[str] = field(default_factory=list)


@dataclass(slots=True)
class ExpressionEvaluation:
    """The outcome of an expression on the published devices. ``reasons`` are sorted, the most frequent first."""

    expression: str
    kubernetes: str
    source: str
    devices: int
    matching: list[str]
    not_matching: int
    errors: int
    reasons: list[Reason]
    max_cost: int
    notes: list[str] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """The report as plain data."""
        return {"apiVersion": API_VERSION, "kind": "ExpressionEvaluation", **to_plain(self)}


def evaluate_expression(inventory: Inventory, selector: Selector, driver: str | None = None) -> ExpressionEvaluation:
    """Evaluate a selector that compiles on all published devices, or those of one driver."""
    cache = SelectorCache(selector)
    reasons: dict[Any, Reason] = {}
    report = ExpressionEvaluation(
        selector.expression,
        ".".join(map(str, selector.environment.kubernetes)),
        inventory.provenance.description,
        devices=0,
        matching=[],
        not_matching=0,
        errors=0,
        reasons=[],
        max_cost=selector.max_cost,
    )
    known: dict[Any, tuple[str, str | None, str | None]] = {}
    for key, published in inventory.devices.items():
        if driver is not None and key.driver != driver:
            continue
        report.devices += 1
        outcome = cache.evaluate(key.driver, published.device)
        if outcome.match:
            report.matching.append(str(key))
            continue
        if outcome.error is None:
            report.not_matching += 1
        else:
            report.errors += 1
        why = _why(selector, key, published.device, known)
        reason = reasons.setdefault(why, Reason(0, *why))
        reason.devices += 1
        if len(reason.examples) < EXAMPLES:
            reason.examples.append(str(key))
    report.reasons = sorted(reasons.values(), key=lambda reason: -reason.devices)
    report.notes = _silent_domains(inventory, selector)
    if report.errors:
        report.notes.append(_ON_ERRORS)
    return report


def _why(
    selector: Selector, key: DeviceId, device: Device, known: dict[Any, tuple[str, str | None, str | None]]
) -> tuple[str, str | None, str | None]:
    projection = selector.projection(key.driver, device)
    found = known.get(projection)
    if found is None:
        terms = selector.explain(key.driver, device)
        term = next((each for each in terms if each.decided), None)
        if term is None:
            found = (selector.expression.strip(), None, selector.evaluate(key.driver, device).error)
        else:
            found = (term.text, term.detail or None, term.error)
        known[projection] = found
    return found


def _silent_domains(inventory: Inventory, selector: Selector) -> list[str]:
    """Domains and names in the expression that no device publishes: mostly a spelling mistake."""
    if selector.reads is None or not inventory.devices:
        return []
    published: dict[str, dict[str, set[str]]] = {"attribute": {}, "capacity": {}}
    for key, item in inventory.devices.items():
        for kind, fields in (("attribute", item.device.attributes), ("capacity", item.device.capacity)):
            for qualified in fields:
                domain, slash, name = qualified.rpartition("/")
                published[kind].setdefault(domain if slash else key.driver, set()).add(name)
    notes = []
    for kind, domain, name in sorted(selector.reads):
        names = published.get(kind)
        if names is None:
            continue
        if domain not in names:
            notes.append(f"no device publishes {'an' if kind == 'attribute' else 'a'} {kind} under {domain!r}")
        elif name != "*" and name not in names[domain]:
            notes.append(f"no device publishes the {kind} {domain}/{name}")
    return list(dict.fromkeys(notes))


# --- fields ---------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class FieldRow:
    """An attribute or capacity that a driver publishes, and how an expression names it.

    ``types`` has more than one entry where devices disagree; ``distinct`` counts the values.
    """

    driver: str
    kind: str
    name: str
    expression: str
    types: list[str]
    devices: int
    of_devices: int
    distinct: int
    examples: list[str]


@dataclass(slots=True)
class FieldReport:
    """What drivers publish, by driver and name."""

    source: str
    devices: int
    fields: list[FieldRow]

    def to_json(self) -> dict[str, Any]:
        """The report as plain data."""
        return {"apiVersion": API_VERSION, "kind": "FieldReport", **to_plain(self)}


def list_fields(inventory: Inventory, driver: str | None = None) -> FieldReport:
    """The attributes and capacities of all published devices, or those of one driver."""
    totals: Counter[str] = Counter()
    values: dict[tuple[str, str, str], Counter[str]] = {}
    types: dict[tuple[str, str, str], Counter[str]] = {}
    for key, published in inventory.devices.items():
        if driver is not None and key.driver != driver:
            continue
        totals[key.driver] += 1
        for kind, name, type_name, value in _published(key.driver, published.device):
            place = (key.driver, kind, name)
            values.setdefault(place, Counter())[value] += 1
            types.setdefault(place, Counter())[type_name] += 1
    rows = [
        FieldRow(
            driver=owner,
            kind=kind,
            name=name,
            expression=_expression(kind, name),
            types=sorted(types[owner, kind, name]),
            devices=sum(found.values()),
            of_devices=totals[owner],
            distinct=len(found),
            examples=[value for value, _ in found.most_common(EXAMPLES)],
        )
        for (owner, kind, name), found in sorted(values.items())
    ]
    return FieldReport(inventory.provenance.description, sum(totals.values()), rows)


def _published(driver: str, device: Device) -> Iterable[tuple[str, str, str, str]]:
    for name, attribute in device.attributes.items():
        qualified = name if "/" in name else f"{driver}/{name}"
        yield "attribute", qualified, attribute.kind or "unknown", _value(attribute)
    for name, amount in device.capacity.items():
        yield "capacity", name if "/" in name else f"{driver}/{name}", "quantity", str(amount.value)


def _value(attribute: DeviceAttribute) -> str:
    if isinstance(attribute.value, tuple):
        return show(list(attribute.value))
    return show(attribute.value)


def _expression(kind: str, qualified: str) -> str:
    domain, _, name = qualified.rpartition("/")
    field_name = "attributes" if kind == "attribute" else "capacity"
    return f'device.{field_name}["{domain}"].{name}'
