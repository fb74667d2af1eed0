"""Results, run-time errors and costs of recorded expressions on devices, as Kubernetes' own code gave them."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from cases import document, lines
from kind_cel import ORDERS, device_of

from dractl.cel.environment import Environment
from dractl.cel.selector import Selector, compile_selector
from dractl.kube.objects import Device

HERE = Path(__file__).resolve().parent
DRIVER = "gpu.example.com"
PANICS = "hash of unhashable type"
"""Kubernetes itself panics there, and some of its programs with it."""


def devices() -> dict[str, Device]:
    found = json.loads((HERE / "devices.json").read_text()) + json.loads((HERE / "devices-lists.json").read_text())
    return {each["name"]: device_of(each) for each in found}


def cost(selector: Selector, device: Device, recorded: int) -> int:
    """The cost, in some order of the entries of maps: Kubernetes' is random."""
    shuffled = random.Random(0)
    found = selector.cost(DRIVER, device)
    if found == recorded or ("device" not in selector.expression and "{" not in selector.expression):
        return found

    def order(entries: list[Any]) -> list[Any]:
        return shuffled.sample(entries, len(entries))

    tried = (selector.cost(DRIVER, device, order) for _ in range(ORDERS))
    return recorded if recorded in tried else found


def differences(cases: list[tuple[dict[str, Any], Environment]], known: dict[str, Device]) -> tuple[int, list[str]]:
    """How many evaluations there are, and those that came out differently."""
    count, different = 0, []
    for case, env in cases:
        selector = compile_selector(case["expression"], env)
        if case.get("compileError"):
            if selector.error != case["compileError"]:
                different.append(f"{case['expression']!r}: {selector.error!r}")
            continue
        for result in case["results"]:
            count += 1
            device = known[result["device"]]
            outcome = selector.evaluate(DRIVER, device)
            recorded = (result.get("match", False), result.get("error"), result.get("cost", 0))
            found = (outcome.match, outcome.error, cost(selector, device, result.get("cost", 0)))
            if recorded != found:
                different.append(f"{case['expression']!r} on {device.name}\n  wanted {recorded}\n  found  {found}")
            if outcome.cost != selector.cost(DRIVER, device):
                different.append(f"{case['expression']!r}: another cost when counted again")
    return count, different


def test_selectors() -> None:
    data = document("cel.json.gz")
    cases = []
    for case in data["cases"]:
        gates = case["environment"]
        cases.append((case, Environment((1, 36), gates["consumableCapacity"], gates["listTypeAttributes"])))
    count, different = differences(cases, {each["name"]: device_of(each) for each in data["devices"]})
    assert count == 1700
    assert different == []


@pytest.mark.parametrize("release", [(1, 34), (1, 36), (1, 37)])
def test_texts(release: tuple[int, int]) -> None:
    """Texts handed to functions that read quantities, versions, times, addresses, URLs, names, patterns, numbers."""
    known = {each["name"]: device_of(each) for each in document("cel.json.gz")["devices"]}
    recorded = lines(f"texts-{release[0]}.{release[1]}.jsonl.gz")
    cases = [(each, Environment(release, list_attributes=each["list"])) for each in recorded]
    assert len(cases) > 800
    _, different = differences(cases, known)
    assert different == []


@pytest.mark.parametrize("release", [(1, 34), (1, 36), (1, 37)])
def test_every_form(release: tuple[int, int]) -> None:
    """Every overload, macro and form that a release has, each once (``calls.py``)."""
    known = {each["name"]: device_of(each) for each in document("cel.json.gz")["devices"]}
    recorded = lines(f"calls-{release[0]}.{release[1]}.jsonl.gz")
    cases = [(each, Environment(release, list_attributes=each["list"])) for each in recorded]
    count, different = differences(cases, known)
    assert count > 1000
    assert different == []


def test_edges() -> None:
    """Numbers at their limits, long precisions, odd patterns, zones, names, escapes, messages, nesting, other types."""
    known = {each["name"]: device_of(each) for each in document("cel.json.gz")["devices"]}
    cases = [(each, Environment((1, 36))) for each in lines("edges-1.36.jsonl.gz")]
    assert len(cases) == 1394
    _, different = differences(cases, known)
    assert different == []


@pytest.mark.parametrize("release", [(1, 36), (1, 37)])
def test_random_expressions(release: tuple[int, int]) -> None:
    recorded = lines(f"recorded-{release[0]}.{release[1]}.jsonl.gz")
    cases = [(each, Environment(release, list_attributes=each["list"])) for each in recorded]
    assert len(cases) == 2000
    count, different = differences(cases, devices())
    assert count > 2000
    assert different == []
