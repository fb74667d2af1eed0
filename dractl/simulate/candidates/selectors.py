"""Selectors and classes made to match what is there: a term with another value or without it, a name as published."""

from __future__ import annotations

import re
from collections.abc import Iterator

from dractl.explain.case import Case
from dractl.explain.errors import Failing, failing_devices, guarded
from dractl.explain.judge import Ask, Fault, drivers_named
from dractl.explain.nearest import misses_of, readable
from dractl.explain.nodes import drivers_of
from dractl.explain.selection import rounded_down
from dractl.explain.terms import Field, names_of, value_text
from dractl.explain.words import natural, near
from dractl.kube.objects import (
    DeviceSelector,
)
from dractl.kube.quantity import Quantity, QuantityError
from dractl.simulate.candidates.model import CLAIM, Change, request_setter
from dractl.simulate.variant import Variant

_CLASSES = 4
"""So many other classes are tried for each request."""

_MISSES = 3
"""So many kinds of near misses are tried for each request."""


def selectors(case: Case) -> Iterator[Change]:
    """A term of a selector with another value, without it, guarded or spelt as published."""
    names = [answer.name for answer in case.eligible] or list(case.nodes)
    for index, ask in enumerate(case.survey.asks):
        if ask.device_class is None:
            continue
        matched = max((len(case.survey.nodes[name].asks[index].matched) for name in names), default=0)
        if matched >= ask.count and not case.errors:
            continue
        seen: set[str] = set()
        for miss in misses_of(case.survey, index, names).groups[:_MISSES]:
            if len(miss.faults) == 1:
                for change in _relaxed(ask, miss.faults[0]):
                    if change.text not in seen:
                        seen.add(change.text)
                        yield change
    for failing in failing_devices(case, case.errors) if case.errors else []:
        yield from _guards(failing)


def _relaxed(ask: Ask, fault: Fault) -> Iterator[Change]:
    """A term made true for devices that miss by it alone: another value, or the term dropped."""
    term = fault.term
    if fault.of_class or fault.index >= len(ask.spec.selectors):
        return
    new = _of_the_right_type(fault) or _with_value(fault)
    if new is not None and term.field is not None:
        source, shown = new
        yield _selector_change(ask, fault, source, f"write {term.field} {shown} instead of {term.asked}", 10)
    if fault.error is None:
        yield _selector_change(ask, fault, "true", f"drop the condition {term.text}", 14)


def _of_the_right_type(fault: Fault) -> tuple[str, str] | None:
    """The term with its constant as a value of another type, where the values read the same: ``0`` for ``'0'``."""
    term, has = fault.term, fault.has
    if term.operator != "==" or len(term.wanted) != 1 or has != term.wanted[0]:
        return None
    if term.typed == "number":
        new, old = f"'{has}'", rf"(?<![\w'\".]){re.escape(has)}(?![\w'\".])"
    elif not term.typed:
        plain = has in ("true", "false") or re.fullmatch(r"-?[0-9]+", has) is not None
        new, old = has if plain else f"semver('{has}')", rf"(['\"]){re.escape(has)}\1"
    else:
        return None
    if len(re.findall(old, term.source)) != 1:
        return None
    return re.sub(old, lambda _: new, term.source), f"== {new}"


def _with_value(fault: Fault) -> tuple[str, str] | None:
    """The term's source with the device's value in the place of the constant, and how it is shown."""
    term, has = fault.term, fault.has
    if has is None or len(term.wanted) != 1 or term.source.count(term.wanted[0]) != 1:
        return None
    if term.operator in (">=", ">", "<=", "<"):
        value = rounded_down(has) if term.operator in (">=", ">") and term.typed == "quantity" else has
        if not _ordered(term.operator, has, value):
            value = has
        operator = {">": ">=", "<": "<="}.get(term.operator, term.operator)
        source = term.source
        if operator != term.operator:
            if source.count(f" {term.operator} ") != 1:
                return None
            source = source.replace(f" {term.operator} ", f" {operator} ")
        return source.replace(term.wanted[0], value), f"{operator} {readable(value)}"
    if term.operator in ("==", "containing", "starting with", "ending with") and not term.folded:
        if term.typed or "'" in has or '"' in has or "\\" in has:
            return (term.source.replace(term.wanted[0], has), f"{term.operator} {has}") if term.typed else None
        return term.source.replace(term.wanted[0], has), f"{term.operator} '{has}'"
    return None


def _ordered(operator: str, has: str, value: str) -> bool:
    """Whether a device with ``has`` passes a bound of ``value``."""
    try:
        left, right = Quantity.parse(has), Quantity.parse(value)
    except QuantityError:
        return False
    return left >= right if operator in (">=", ">") else left <= right


def _guards(failing: Failing) -> Iterator[Change]:
    ask, fault = failing.ask, failing.fault
    if fault.of_class or fault.missing is None or fault.index >= len(ask.spec.selectors):
        return
    expression = ask.spec.selectors[fault.index].cel or ""
    source = guarded(fault, expression)
    if source is not None:
        yield _selector_change(ask, fault, source, f"guard the selector: {source}", 8, whole=True)
    for spelt, other in _respelled(failing):
        yield _selector_change(ask, fault, spelt, f"write {other} instead of {fault.missing[1]}", 6, whole=True)
    for moved_to, moved_expression in _moved(failing):
        text = f"write {moved_to} instead of {fault.missing[0]}/{fault.missing[1]}"
        yield _selector_change(ask, fault, moved_expression, text, 5, whole=True)
    for number, moved in enumerate(_as_capacity(failing)):
        yield _selector_change(ask, fault, moved, f"compare the capacity: {moved}", 9 + number)


def _respelled(failing: Failing) -> Iterator[tuple[str, str]]:
    """The whole expression with the missing name as the devices spell it: (expression, name)."""
    missing, fault = failing.fault.missing, failing.fault
    expression = failing.ask.spec.selectors[fault.index].cel or ""
    field_of_term = fault.term.field
    if missing is None or field_of_term is None:
        return
    domain, name = missing
    driver, device = next((one.driver, device) for one, device in failing.devices.items())
    kind = "capacity" if field_of_term.kind == "capacity" else "attribute"
    known = [bare for where, bare in names_of(driver, device, kind) if where == domain]
    for other in near(name, known):
        if len(re.findall(rf"\b{re.escape(name)}\b", expression)) == 1:
            yield re.sub(rf"\b{re.escape(name)}\b", other, expression), other


def _moved(failing: Failing) -> Iterator[tuple[str, str]]:
    """The whole expression with the domain under which the devices publish the missing name: (name, expression)."""
    missing, fault = failing.fault.missing, failing.fault
    expression = failing.ask.spec.selectors[fault.index].cel or ""
    if missing is None:
        return
    domain, name = missing
    driver, device = next((one.driver, device) for one, device in failing.devices.items())
    known = names_of(driver, device)
    if any(where == domain for where, _ in known):
        return
    for where in sorted({one for one, bare in known if bare == name}):
        for quote in "'\"":
            if f"[{quote}{domain}{quote}]" in expression:
                yield (
                    f"{where}/{name}",
                    expression.replace(f"[{quote}{domain}{quote}]", f"[{quote}{where}{quote}]"),
                )


def _as_capacity(failing: Failing) -> Iterator[str]:
    """``device.attributes['d'].memory == '80Gi'`` as a comparison of the capacity of that name; or a bit less of it."""
    term = failing.fault.term
    if term.field is None or term.field.kind != "attribute" or len(term.wanted) != 1:
        return
    try:
        Quantity.parse(term.wanted[0])
    except QuantityError:
        return
    sign = term.operator if term.operator in (">", ">=", "<", "<=") else ">="
    place = f"device.capacity['{term.field.domain}'].{term.field.name}"
    yield f"{place}.compareTo(quantity('{term.wanted[0]}')) {sign} 0"
    as_capacity = Field("capacity", term.field.domain, term.field.name)
    values = [value_text(one.driver, device, as_capacity) for one, device in failing.devices.items()]
    amounts = [Quantity.parse(value) for value in values if value is not None]
    if amounts and sign in (">", ">="):
        yield f"{place}.compareTo(quantity('{rounded_down(str(max(amounts)))}')) >= 0"


def _selector_change(ask: Ask, fault: Fault, source: str, text: str, cost: int, whole: bool = False) -> Change:
    def apply(variant: Variant) -> None:
        request = variant.request(ask.claim, ask.name)
        selectors = list(request.selectors)
        old = selectors[fault.index].cel or ""
        selectors[fault.index] = DeviceSelector(source if whole else old.replace(fault.term.source, source, 1))
        variant.change_request(ask.claim, ask.name, selectors=selectors)

    subject = f"{ask.label} selector {fault.index}"
    return Change("selector", f"in request {ask.label} {text}", CLAIM, cost, apply, subjects=frozenset({subject}))


def classes(case: Case) -> Iterator[Change]:
    """Another class: one of a similar name where there is none of that name, else one of the same drivers."""
    for index, ask in enumerate(case.survey.asks):
        name = ask.spec.device_class_name
        if ask.device_class is None:
            others, cost = near(name, case.inventory.classes), 5
        else:
            drivers = drivers_of(case.survey, index)
            about = [
                other
                for other, one in case.inventory.classes.items()
                if other != name and drivers & set(drivers_named(one))
            ]
            others, cost = sorted(about, key=natural)[:_CLASSES], 26
        for other in others:
            yield Change(
                "class",
                f"in request {ask.label} name class {other} instead of {name}",
                CLAIM,
                cost,
                request_setter(ask, device_class_name=other),
                subjects=frozenset({f"{ask.label} class"}),
            )
