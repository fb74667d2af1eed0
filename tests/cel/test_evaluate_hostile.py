"""Whatever the expression and the device: an outcome, soon, and never another exception."""

from __future__ import annotations

import random
import time
from itertools import pairwise

import pytest
from calls import Calls
from generate import DEVICES, DRIVER, expressions, mutate
from grammar import expression
from hypothesis import given, settings
from hypothesis import strategies as st
from kind_cel import device_of

from dractl.cel.environment import Environment
from dractl.cel.selector import Outcome, compile_selector
from dractl.kube.objects import Device, DeviceAttribute, DeviceCapacity
from dractl.kube.quantity import Quantity

KNOWN = [device_of(each) for each in DEVICES]
LIMIT = 5.0
"""Seconds of this process; far above what is needed, because the machine may be slow."""


def outcome(text: str, device: Device, env: Environment | None = None) -> Outcome:
    """The outcome, if it comes in time."""
    started = time.process_time()
    selector = compile_selector(text, env or Environment())
    found = selector.evaluate(DRIVER, device)
    assert found.cost >= 0
    selector.projection(DRIVER, device)
    selector.explain(DRIVER, device)
    assert time.process_time() - started < LIMIT, text[:300]
    assert found.error is None or not found.match
    return found


@pytest.mark.parametrize("release", [(1, 34), (1, 36), (1, 37)])
def test_random(release: tuple[int, int]) -> None:
    source = random.Random(sum(release))
    env = Environment(release, list_attributes=True)
    for _ in range(250):
        text = expression(source, env)
        for device in KNOWN:
            outcome(text, device, env)


def test_mutated() -> None:
    for text in expressions(7, 600, Environment()):
        outcome(text, KNOWN[0])


def test_mutated_calls() -> None:
    """Every function, macro and form, with up to four mutations, in every release."""
    source = random.Random(11)
    for minor in range(31, 38):
        env = Environment((1, minor), list_attributes=minor % 2 == 0)
        made = Calls(source, env)
        for number in range(len(made.makers) // 4):
            text = made.expression(number * 4 + minor % 4)
            for _ in range(source.randrange(5)):
                text = mutate(source, text)
            outcome(text, KNOWN[number % len(KNOWN)], env)


def _doubled(first: str, step: str, times: int, result: str) -> str:
    names = [first, *(f"x{index}" for index in range(times))]
    head = "".join(f"cel.bind({new}, {step.replace('@', old)}, " for old, new in pairwise(names))
    return head + result.replace("@", names[-1]) + ")" * times


TEN = "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]"
LIMIT_TEXT = "operation cancelled: actual cost limit exceeded"
STOPPED = "evaluation stopped: "


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (f"{TEN}.all(a, {TEN}.all(b, {TEN}.all(c, {TEN}.all(d, {TEN}.all(e, {TEN}.all(f, true))))))", LIMIT_TEXT),
        ("lists.range(500000).all(x, lists.range(500000).all(y, true))", LIMIT_TEXT),
        ("cel.bind(l, lists.range(900000), lists.range(20000).all(x, l.exists(y, true)))", LIMIT_TEXT),
        ("lists.range(9223372036854775807).size() > 0", STOPPED),
        ("sets.contains(lists.range(300000), lists.range(300000))", STOPPED),
        (_doubled("[1, 2]", "@ + @", 40, "@.size() > 1"), STOPPED),
        (_doubled("[1]", "[@, @]", 40, "@ == @"), STOPPED),
        (_doubled("[1]", "[@, @]", 40, '"%s".format([@]) == ""'), STOPPED),
        (_doubled("{1: 1}", "{1: @, 2: @}", 40, "@ == @"), STOPPED),
        (_doubled('"aaaaaaaaaa"', '@.replace("a", "aaaaaaaaaa")', 12, "@.size() > 1"), STOPPED),
        (_doubled('"ab"', "@ + @", 40, "@.size() > 1"), LIMIT_TEXT),
    ],
)
def test_blown_up(text: str, error: str) -> None:
    found = outcome(text, KNOWN[0])
    assert found.error is not None
    assert found.error.startswith(error)


def test_backtracking_pattern() -> None:
    assert not outcome(f'"{"a" * 5000}".matches("(a*)*(a*)*(a*)*b")', KNOWN[0]).match


def test_deep() -> None:
    assert outcome("!" * 240 + "true", KNOWN[0]).match
    assert outcome("(" * 200 + "true" + ")" * 200, KNOWN[0]).match
    assert outcome(" && ".join(["device.driver != ''"] * 400), KNOWN[0]).match
    nested = _doubled("[1]", "[@]", 60, "@ == @")
    assert outcome(nested, KNOWN[0]).match


TEXTS = st.text(max_size=40)
ATTRIBUTES = st.one_of(
    TEXTS.map(lambda text: DeviceAttribute("string", text)),
    st.integers(-(2**63), 2**63 - 1).map(lambda number: DeviceAttribute("int", number)),
    st.booleans().map(lambda value: DeviceAttribute("bool", value)),
    TEXTS.map(lambda text: DeviceAttribute("version", text)),
    st.lists(st.integers(-9, 9), max_size=60).map(lambda items: DeviceAttribute("ints", tuple(items))),
    st.just(DeviceAttribute("", "")),
)
AMOUNTS = st.integers(-(2**70), 2**70).map(lambda number: DeviceCapacity(Quantity(number)))
NAMES = st.sampled_from(["model", "index", "gpu.example.com/model", "other.io/x", "memory", "a"])
PROBES = (
    'device.attributes["gpu.example.com"].model == "x" || device.attributes["other.io"].x > 3',
    'device.capacity["gpu.example.com"].memory.compareTo(quantity("1Gi")) >= 0 && device.capacity.size() > 0',
    'device.attributes.all(d, device.attributes[d].all(n, device.attributes[d][n] != "q"))',
    'device.attributes["gpu.example.com"].model.includes(3)',
    'has(device.attributes["gpu.example.com"].model) ? device.attributes["gpu.example.com"].index : true',
    'device.capacity["gpu.example.com"].a.add(5).sub(quantity("1")).isInteger()',
)


@settings(max_examples=150, deadline=None)
@given(st.dictionaries(NAMES, ATTRIBUTES, max_size=5), st.dictionaries(NAMES, AMOUNTS, max_size=3))
def test_any_device(attributes: dict[str, DeviceAttribute], capacity: dict[str, DeviceCapacity]) -> None:
    device = Device(name="any", attributes=attributes, capacity=capacity)
    for text in PROBES:
        for lists in (False, True):
            outcome(text, device, Environment(list_attributes=lists))


@settings(max_examples=100, deadline=None)
@given(st.dictionaries(NAMES, ATTRIBUTES, max_size=5), st.dictionaries(NAMES, AMOUNTS, max_size=3))
def test_equal_projections(attributes: dict[str, DeviceAttribute], capacity: dict[str, DeviceCapacity]) -> None:
    """A device that differs only in what a selector does not read has the same projection and outcome."""
    device = Device(name="any", attributes=attributes, capacity=capacity)
    more = Device(
        name="other",
        attributes=attributes | {"never.read/this": DeviceAttribute("string", "x")},
        capacity=capacity | {"never.read/this": DeviceCapacity(Quantity(1))},
    )
    for text in PROBES:
        selector = compile_selector(text, Environment(list_attributes=True))
        if selector.error is None and selector.reads is not None:
            assert selector.projection(DRIVER, device) == selector.projection(DRIVER, more)
            assert selector.evaluate(DRIVER, device) == selector.evaluate(DRIVER, more)
