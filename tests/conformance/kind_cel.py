"""CEL cases: an expression in an environment, its verdict, and its result and cost on some devices."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

from figures import Figure, Mismatches, read_json

from dractl.cel.environment import Environment
from dractl.cel.selector import Selector, compile_selector
from dractl.kube.objects import Device, DeviceAttribute, DeviceCapacity
from dractl.kube.quantity import Quantity

ORDERS = 500
"""How many orders of map entries are tried where a cost differs."""


def device_of(data: dict[str, Any]) -> Device:
    """A device from the API's JSON."""
    attributes = {}
    for name, attribute in data.get("attributes", {}).items():
        ((kind, value),) = attribute.items()
        attributes[name] = DeviceAttribute(kind, tuple(value) if isinstance(value, list) else value)
    capacity = {
        name: DeviceCapacity(Quantity.parse(str(amount["value"]))) for name, amount in data.get("capacity", {}).items()
    }
    return Device(
        name=data["name"],
        attributes=attributes,
        capacity=capacity,
        allow_multiple_allocations=data.get("allowMultipleAllocations", False),
    )


def environment_of(data: dict[str, Any]) -> Environment:
    """An environment as the cases write it."""
    major, minor = data["kubernetes"].split(".")[:2]
    return Environment(
        kubernetes=(int(major), int(minor)),
        consumable_capacity=data["consumableCapacity"],
        list_attributes=data["listTypeAttributes"],
    )


class Checker:
    """Compares answers with what was recorded."""

    def __init__(self, show: int) -> None:
        self.outcome = Figure("outcome")
        self.text = Figure("text")
        self.max_cost = Figure("maxCost")
        self.cost = Figure("cost")
        self.mismatches = Mismatches(show)

    def figures(self) -> list[Figure]:
        return [self.outcome, self.text, self.max_cost, self.cost]

    def check(self, name: str, case: dict[str, Any], environment: Environment, driver: str, devices: dict[str, Device]):
        """One case: ``compileError`` and ``errorType``, or ``outputType``, ``maxCost`` and ``results``."""
        expression = case["expression"]
        name = f"{name} {expression!r}"
        selector = compile_selector(expression, environment)
        expected_error = case.get("compileError")
        if expected_error is not None or selector.error is not None:
            self._compare(self.outcome, name, "accepted", expected_error is None, selector.error is None)
            if expected_error is not None:
                got = (selector.error, selector.error_type)
                wanted = (expected_error, case.get("errorType", selector.error_type))
                self._compare(self.text, name, "compile error", wanted, got)
            return
        self._compare(self.max_cost, name, "maxCost", case["maxCost"], selector.max_cost)
        wanted_outcomes, outcomes, texts, got_texts, costs, got_costs = [], [], [], [], [], []
        for result in case["results"]:
            outcome = selector.evaluate(driver, devices[result["device"]])
            wanted_outcomes.append("error" if "error" in result else result["match"])
            outcomes.append("error" if outcome.error is not None else outcome.match)
            texts.append(result.get("error"))
            got_texts.append(_text(selector, driver, devices[result["device"]], outcome.error, result.get("error")))
            costs.append(result.get("cost", 0))
            got_costs.append(_cost(selector, driver, devices[result["device"]], outcome.cost, result.get("cost", 0)))
        same_type = case["outputType"] == selector.output_type
        self._compare(
            self.outcome, name, "outcome", (case["outputType"], wanted_outcomes), (selector.output_type, outcomes)
        )
        if same_type and any(text is not None for text in texts):
            self._compare(self.text, name, "run-time error", texts, got_texts)
        self._compare(self.cost, name, "cost", costs, got_costs)

    def _compare(self, figure: Figure, name: str, respect: str, wanted: object, got: object) -> None:
        if not figure.add(wanted == got):
            self.mismatches.add(name, respect, wanted, got)


def _cost(selector: Selector, driver: str, device: Device, cost: int, recorded: int) -> int:
    """The cost, or the recorded one if some order of the entries of maps gives it.

    Kubernetes goes through a map in random order: what a search in one costs was recorded for the order of that moment.
    """
    if cost == recorded or ("exists" not in selector.expression and "all(" not in selector.expression):
        return cost
    shuffled = random.Random(0)

    def order(entries):
        return shuffled.sample(entries, len(entries))

    found = any(selector.cost(driver, device, order) == recorded for _ in range(ORDERS))
    return recorded if found else cost


def _text(selector: Selector, driver: str, device: Device, text: str | None, recorded: str | None) -> str | None:
    """The error's text, or the recorded one if some order of the entries of maps gives it."""
    if text == recorded or text is None or recorded is None:
        return text
    shuffled = random.Random(0)

    def order(entries):
        return shuffled.sample(entries, len(entries))

    found = any(selector.evaluate_in(order, driver, device).error == recorded for _ in range(ORDERS))
    return recorded if found else text


def run(cases_path: Path, show: int, only: str | None, profile: str) -> list[Figure]:
    """The four figures of a file of cases."""
    data = read_json(cases_path)
    devices = {each["name"]: device_of(each) for each in data["devices"]}
    checker = Checker(show)
    for index, case in enumerate(data["cases"]):
        if only is not None and only not in (str(index), case["expression"]):
            continue
        checker.check(str(index), case, environment_of(case["environment"]), case["driver"], devices)
    return checker.figures()
