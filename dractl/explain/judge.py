"""How one device fares with one request, taken by itself: which checks refuse it, with the values.

This is a statement about the state of the cluster, not about the search: a device is "usable" for a request if all of
its own checks let it pass (class, selectors, capacity, taints, in use, counters). What devices do to each other
(constraints, counts, two requests wanting one device) is looked at node by node in ``nodes``.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field, replace

from dractl.allocator import quirks as q
from dractl.allocator.capacity import CapacityError, CapacityRules, CapacityShort, SchedulerPanic
from dractl.allocator.profile import Profile
from dractl.allocator.selection import hides_sharing
from dractl.allocator.taints import tolerates
from dractl.cel.selector import Outcome, Selector, compile_selector
from dractl.explain.room import Room, Shortage
from dractl.explain.terms import Field, Term, terms_of, value_text
from dractl.explain.words import listing, noun_for, plural
from dractl.inventory import DeviceId, Holder, Inventory
from dractl.kube.objects import ClaimRequest, Device, DeviceClass, DeviceRequest, DeviceTaint, ResourceClaim
from dractl.kube.quantity import Quantity

CLASS = "class-selector"
REQUEST = "request-selector"
ERROR = "selector-error"
UNDEFINED = "capacity-undefined"
INSUFFICIENT = "capacity-insufficient"
TAINTED = "tainted"
IN_USE = "in-use"
COUNTERS = "counters-insufficient"
ATTRIBUTE_MISSING = "constraint-attribute-missing"
MISMATCH = "constraint-mismatch"
BINDING_OFF = "binding-conditions-off"

NOT_COMPILED = "does not compile"

SELECTION = (CLASS, REQUEST, ERROR, BINDING_OFF)
"""Refusals that no other claim's end can change: the device is not what is asked for."""


@dataclass(slots=True, eq=False)
class Ask:
    """One thing asked for: an exact request, or one alternative of a firstAvailable list.

    ``label`` names it for people; in an explanation of several claims it starts with the claim's name.
    """

    claim: ResourceClaim
    request: ClaimRequest
    spec: DeviceRequest
    name: str
    label: str
    device_class: DeviceClass | None
    noun: str = "device"
    """What its devices are called: GPU, NIC and the like, or device."""

    @property
    def all(self) -> bool:
        """Whether all matching devices are asked for."""
        return self.spec.allocation_mode == "All"

    @property
    def count(self) -> int:
        """How many devices are needed at least; one for All."""
        return 1 if self.all else max(1, self.spec.count)

    @property
    def admin(self) -> bool:
        """Whether admin access is asked for, which ignores that devices are in use."""
        return bool(self.spec.admin_access)


def asks_of(inventory: Inventory, claims: Iterable[ResourceClaim]) -> list[Ask]:
    """Everything that claims ask for, in order."""
    claims = list(claims)
    out = []
    for claim in claims:
        prefix = f"{claim.meta.name}: " if len(claims) > 1 else ""
        for request in claim.spec.requests:
            alternatives = [request.exactly] if request.exactly else request.first_available
            for spec in alternatives:
                name = request.name if request.exactly else f"{request.name}/{spec.name}"
                found = inventory.classes.get(spec.device_class_name)
                noun = _noun(spec.device_class_name, found)
                out.append(Ask(claim, request, spec, name, prefix + name, found, noun))
    return out


def _noun(name: str, device_class: DeviceClass | None) -> str:
    """What devices of a class are called: by the class's name, else by the drivers that its selectors name."""
    noun = noun_for(name)
    if noun != "device" or device_class is None:
        return noun
    nouns = {noun_for(driver) for driver in drivers_named(device_class)}
    return nouns.pop() if len(nouns) == 1 else noun


def drivers_named(device_class: DeviceClass) -> list[str]:
    """The drivers that a class's selectors compare ``device.driver`` with."""
    terms = [term for one in device_class.selectors if one.cel is not None for term in terms_of(one.cel)]
    return [
        word
        for term in terms
        if term.field is not None and term.field.kind == "driver" and term.operator in ("==", "in")
        for word in term.wanted
    ]


@dataclass(frozen=True, slots=True)
class Fault:
    """A term of a selector that refuses a device: it is false, or fails with an error.

    ``missing`` is the (domain, name) that the device lacks where that is the error; ``has`` is the device's value, or
    all values that the term reads, with their names, where the term is not about one field.
    """

    of_class: bool
    index: int
    term: Term
    error: str | None = None
    missing: tuple[str, str] | None = None
    has: str | None = None

    @property
    def text(self) -> str:
        """``gpu.nvidia.com/memory is 40Gi, asked for >= 80Gi``."""
        if self.missing is not None:
            return f"no {'/'.join(self.missing)}"
        if self.error is not None:
            return self.error
        if self.term.field is None:
            return f"not true: {self.term.source}" + (f" ({self.has})" if self.has else "")
        if self.has is None:
            return f"no {self.term.field}, asked for {self.term.asked}"
        return f"{self.term.field} is {self.has}, asked for {self.term.asked}"


@dataclass(frozen=True, slots=True)
class Selection:
    """What the selectors of class and request say of a device. ``code`` is None if they let it pass."""

    code: str | None
    faults: tuple[Fault, ...] = ()


PASSED = Selection(None)
"""The selectors let a device pass."""

_BINDING_OFF = Selection(BINDING_OFF)


@dataclass(slots=True)
class Judgement:
    """All checks of a device for a request. ``codes`` are the refusals that hold, in order of the funnel."""

    selection: Selection
    codes: tuple[str, ...] = ()
    taints: tuple[DeviceTaint, ...] = ()
    holders: tuple[Holder, ...] = ()
    shortages: tuple[Shortage, ...] = ()
    short: CapacityShort | None = None
    apart: tuple[str, ...] = ()
    """Counter sets on which its compatibility groups exclude devices in use (1.37, alpha)."""

    @property
    def code(self) -> str | None:
        """The first refusal, or None for a usable device."""
        return self.codes[0] if self.codes else None

    @property
    def selected(self) -> bool:
        """Whether class and selectors let the device pass."""
        return self.selection.code is None

    @property
    def text(self) -> str:
        """Why the device is refused, with values; empty for a usable one."""
        return "; ".join(self.texts())

    def _counters_text(self) -> str:
        if self.shortages:
            return "lacks counters: " + ", ".join(one.text for one in self.shortages)
        if self.apart:
            sets = plural(len(self.apart), "set", "sets")
            return f"has compatibility groups that exclude devices in use on counter {sets} {listing(self.apart)}"
        return "takes counters, and the feature for them is off"

    def texts(self) -> list[str]:
        """One predicate for each refusal (``is in use by ml/a``); for a selector what is false."""
        out = []
        for code in self.codes:
            if code == BINDING_OFF:
                out.append("has binding conditions, and the feature for them is off")
            elif code in SELECTION:
                out.append(", ".join(fault.text for fault in self.selection.faults) or code)
            elif code in (UNDEFINED, INSUFFICIENT):
                out.append(short_text(self.short) if self.short else code)
            elif code == TAINTED:
                out.append("is tainted " + ", ".join(device_taint_text(taint) for taint in self.taints))
            elif code == IN_USE:
                out.append(f"is in use by {', '.join(dict.fromkeys(_holder_text(one) for one in self.holders))}")
            elif code == COUNTERS:
                out.append(self._counters_text())
        return out


def _holder_text(holder: Holder) -> str:
    meta = holder.claim.meta
    name = f"{meta.namespace}/{meta.name}"
    return f"claim {name} (being deleted)" if meta.deletion_timestamp else name


@dataclass(slots=True)
class _Program:
    """The compiled selectors of an ask, whole and taken apart.

    It holds on to the ask, since results are kept by the ask's identity.
    """

    ask: Ask
    whole: list[tuple[bool, int, Selector]]
    terms: list[tuple[bool, int, Term, Selector]]


@dataclass(slots=True)
class Judge:
    """Judges devices for the asks of an explanation; selectors are evaluated once for devices that are alike."""

    inventory: Inventory
    profile: Profile
    room: Room = field(init=False)
    _capacity_rules: CapacityRules = field(init=False)
    _programs: dict[int, _Program] = field(default_factory=dict)
    _selections: dict[tuple[int, int, Hashable], Selection] = field(default_factory=dict)
    _refused: dict[int, Judgement] = field(default_factory=dict)
    _hidden: dict[int, tuple[Device, Device]] = field(default_factory=dict)
    """Devices as selectors see them that are not shown allowMultipleAllocations, with the published ones."""

    def __post_init__(self) -> None:
        self.room = Room(self.inventory, self.profile)
        self._capacity_rules = CapacityRules(self.profile)

    def learn(self, other: Judge) -> None:
        """Share what another judge has evaluated for the same asks under the same profile."""
        self._programs = other._programs
        self._selections = other._selections
        self._refused = other._refused

    def judge(self, ask: Ask, device_id: DeviceId, device: Device, taints: Iterable[DeviceTaint]) -> Judgement:
        """All checks of one device. ``taints`` are the ones that count, with those of rules."""
        selection = self.selection(ask, device_id.driver, device)
        if device.binding_conditions and not self.profile.features.binding_conditions:
            # looked at before any selector, which therefore cannot fail on it
            selection = _BINDING_OFF if selection.code in (None, ERROR) else selection
        if selection.code is not None:
            # devices that are alike share one judgement
            shared = self._refused.get(id(selection))
            if shared is None:
                shared = self._refused[id(selection)] = Judgement(selection, (selection.code,))
            return shared
        out = Judgement(selection)
        codes: list[str] = []
        out.short = self._capacity(ask, device_id, device)
        if out.short is not None:
            codes.append(out.short.code)
            out.holders = tuple(self.room.shares.get(device_id, ()))
        if self.profile.features.device_taints:
            out.taints = tuple(taint for taint in taints if not self._tolerated(ask, taint))
            if out.taints:
                codes.append(TAINTED)
        holders = () if ask.admin else self.room.in_the_way(device_id, device)
        if holders:
            out.holders = tuple(holders)
            codes.append(IN_USE)
        elif device.consumes_counters and not self.profile.features.partitionable_devices:
            codes.append(COUNTERS)
        elif device.consumes_counters and self._takes_counters(ask, device_id, device):
            out.shortages = tuple(self.room.shortages(device_id, device))
            out.apart = tuple(self.room.apart(device_id, device))
            if out.shortages or out.apart:
                codes.append(COUNTERS)
        out.codes = tuple(codes)
        return out

    def _takes_counters(self, ask: Ask, device_id: DeviceId, device: Device) -> bool:
        """Whether giving out a device takes its counters: a further share of one does not, as a rule."""
        quirks = self.profile.quirks
        if ask.admin and q.ADMIN_NEEDS_COUNTERS not in quirks:
            return False
        shares = self.room.shares.get(device_id, ())
        if not shares or not self.room.shareable(device) or q.EACH_SHARE_CHARGED in quirks:
            return True
        recorded = any(holder.result.consumed_capacity is not None for holder in shares)
        return not recorded and q.SHARES_CHARGED_AGAIN in quirks

    def selection(self, ask: Ask, driver: str, device: Device) -> Selection:
        """What the selectors say of a device: the first one that does not let it pass decides."""
        program = self._program(ask)
        if device.allow_multiple_allocations and hides_sharing(self.profile):
            device = self._hidden.setdefault(id(device), (device, replace(device, allow_multiple_allocations=False)))[1]
        for number, (of_class, index, selector) in enumerate(program.whole):
            key = (id(ask), number, selector.projection(driver, device) if selector.error is None else None)
            found = self._selections.get(key)
            if found is None:
                found = self._selections[key] = self._select(program, of_class, index, selector, driver, device)
            if found.code is not None:
                return found
        return PASSED

    def _select(
        self, program: _Program, of_class: bool, index: int, selector: Selector, driver: str, device: Device
    ) -> Selection:
        if selector.error is not None:
            whole = Term(selector.expression)
            error = f"{NOT_COMPILED}: {_first_error(selector.error)}"
            return Selection(ERROR, (Fault(of_class, index, whole, error),))
        outcome = selector.evaluate(driver, device)
        if outcome.match and outcome.error is None:
            return PASSED
        faults = tuple(self._faults(program, of_class, index, driver, device, outcome))
        if outcome.error is not None:
            return Selection(ERROR, faults)
        return Selection(CLASS if of_class else REQUEST, faults)

    def projection(self, ask: Ask, driver: str, device: Device) -> Hashable:
        """A key: devices with equal keys fare alike with all selectors of an ask."""
        return tuple(
            one.projection(driver, device) if one.error is None else None for _, _, one in self._program(ask).whole
        )

    def _faults(
        self, program: _Program, of_class: bool, index: int, driver: str, device: Device, outcome: Outcome
    ) -> Iterable[Fault]:
        """The terms that are to blame: the false ones of a refusal, those that fail of an error."""
        found = []
        for in_class, number, term, selector in program.terms:
            if (in_class, number) != (of_class, index):
                continue
            result = selector.evaluate(driver, device) if selector.error is None else Outcome(True)
            has = _has(term, selector, driver, device)
            if result.error is not None and outcome.error is not None:
                found.append(Fault(of_class, index, term, result.error, result.missing, has))
            elif result.error is None and not result.match and outcome.error is None:
                found.append(Fault(of_class, index, term, has=has))
        if found:
            return found
        whole = Term(next(one.expression for flag, number, one in program.whole if (flag, number) == (of_class, index)))
        return [Fault(of_class, index, whole, outcome.error, outcome.missing)]

    def failing_terms(self, ask: Ask, driver: str, device: Device) -> list[Fault]:
        """All terms of class and request that a device does not pass, those of later selectors included."""
        program = self._program(ask)
        out = []
        for of_class, index, term, selector in program.terms:
            if selector.error is not None:
                continue
            result = selector.evaluate(driver, device)
            if result.match and result.error is None:
                continue
            has = _has(term, selector, driver, device)
            out.append(Fault(of_class, index, term, result.error, result.missing, has))
        return out

    def expressions(self, ask: Ask) -> list[tuple[bool, int, Selector]]:
        """The selectors of an ask: whether it is the class's, its index, and the compiled selector."""
        return self._program(ask).whole

    def terms(self, ask: Ask) -> list[tuple[bool, int, Term]]:
        """The terms of an ask's selectors: whether of the class, index of the selector, term."""
        return [(of_class, index, term) for of_class, index, term, _ in self._program(ask).terms]

    def _program(self, ask: Ask) -> _Program:
        program = self._programs.get(id(ask))
        if program is None:
            program = self._programs[id(ask)] = self._compile(ask)
        return program

    def _compile(self, ask: Ask) -> _Program:
        environment = self.profile.environment()
        whole: list[tuple[bool, int, Selector]] = []
        terms: list[tuple[bool, int, Term, Selector]] = []
        lists = [(True, ask.device_class.selectors if ask.device_class else []), (False, ask.spec.selectors)]
        for of_class, selectors in lists:
            for index, one in enumerate(selectors):
                if one.cel is None:
                    continue
                whole.append((of_class, index, compile_selector(one.cel, environment)))
                terms.extend(
                    (of_class, index, term, compile_selector(term.source, environment)) for term in terms_of(one.cel)
                )
        return _Program(ask, whole, terms)

    def _capacity(self, ask: Ask, device_id: DeviceId, device: Device) -> CapacityShort | None:
        if not self.profile.features.consumable_capacity:
            return None
        taken = {name: amount.nano for name, amount in self.room.consumed(device_id).items()}
        if not (taken or ask.spec.capacity or device.allow_multiple_allocations) and _plain(device):
            return None
        try:
            return self._capacity_rules.shortage(ask.spec.capacity, device.capacity, taken)
        except (CapacityError, SchedulerPanic) as error:
            return CapacityShort(str(error), INSUFFICIENT)

    def _tolerated(self, ask: Ask, taint: DeviceTaint) -> bool:
        if taint.effect not in ("NoSchedule", "NoExecute") and q.EVERY_TAINT_BLOCKS not in self.profile.quirks:
            return True
        return any(tolerates(one, taint) for one in ask.spec.tolerations)


_PLACED = re.compile(r"ERROR: <input>:(\d+):(\d+): ([^\n]*)")


def _first_error(text: str) -> str:
    """The first message of a compiler's output, with its place."""
    match = _PLACED.search(text)
    return f"{match[3].strip()} (line {match[1]}, column {match[2]})" if match else " ".join(text.split())


def _plain(device: Device) -> bool:
    """Whether a device's capacity always serves a request that names none."""
    return all(one.request_policy is None and one.value.nano >= 0 for one in device.capacity.values())


def device_taint_text(taint: DeviceTaint, with_rule: bool = True) -> str:
    """A device taint as ``key=value:Effect``, with the rule that it came from."""
    text = f"{taint.key}={taint.value}:{taint.effect}" if taint.value else f"{taint.key}:{taint.effect}"
    return f"{text} (DeviceTaintRule {taint.rule})" if taint.rule and with_rule else text


def short_text(short: CapacityShort) -> str:
    """Why a device's capacity does not do, as a predicate with the amounts."""
    if short.code == UNDEFINED:
        return f"has no capacity {short.name} ({short.wanted} asked for)"
    if short.wanted is None or short.has is None:
        return short.name
    if short.by_policy:
        return f"does not allow to take {short.wanted} of {short.name} (its policy)"
    if short.taken:
        left = Quantity(short.has.nano - short.taken, short.has.notation)
        return f"has {left} of {short.has} {short.name} left ({short.wanted} asked for)"
    return f"has {short.has} {short.name} ({short.wanted} asked for)"


def _has(term: Term, selector: Selector, driver: str, device: Device) -> str | None:
    """The device's value of the field that a term is about; of other terms all values that they read, with names."""
    if term.field is not None:
        return value_text(driver, device, term.field)
    fields = [Field(kind, domain, name) for kind, domain, name in sorted(selector.reads or ()) if name not in ("", "*")]
    if not fields or len(fields) > _SHOWN:
        return None
    return listing(
        [
            f"{field} {'is not published' if (value := value_text(driver, device, field)) is None else f'is {value}'}"
            for field in fields
        ],
        _SHOWN,
    )


_SHOWN = 4
"""So many values are shown for one term."""
