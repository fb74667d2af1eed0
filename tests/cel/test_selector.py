"""Selectors: what they read, when two devices are alike to them, and the explanation of an outcome."""

from __future__ import annotations

import pytest

from dractl.cel.environment import Environment
from dractl.cel.selector import Selector, SelectorCache, compile_selector, evaluate_many
from dractl.kube.objects import Device, DeviceAttribute, DeviceCapacity
from dractl.kube.quantity import Quantity

DRIVER = "gpu.example.com"


def selector(expression: str) -> Selector:
    found = compile_selector(expression, Environment())
    assert found.error is None
    return found


def device(model: str = "l40s", index: int = 3, memory: str = "40Gi", **more: str) -> Device:
    return Device(
        name="gpu-0",
        attributes={
            "model": DeviceAttribute("string", model),
            "index": DeviceAttribute("int", index),
            **{name: DeviceAttribute("string", text) for name, text in more.items()},
        },
        capacity={"memory": DeviceCapacity(Quantity.parse(memory))},
    )


@pytest.mark.parametrize(
    ("expression", "reads"),
    [
        ("true", set()),
        ('device.driver == "x"', {("driver", "", "")}),
        ("device.allowMultipleAllocations", {("multi", "", "")}),
        ('device.attributes["d.x"].a == 1', {("attribute", "d.x", "a")}),
        ('has(device.attributes["d.x"].a)', {("attribute", "d.x", "a")}),
        ('"a" in device.attributes["d.x"]', {("attribute", "d.x", "a")}),
        ('device.attributes["d.x"].?a.orValue(1) == 1', {("attribute", "d.x", "a")}),
        ('device.capacity["d.x"].m.isInteger()', {("capacity", "d.x", "m")}),
        (
            'cel.bind(d, device.attributes["d.x"], d.a == 1 && d.b == 2)',
            {("attribute", "d.x", "a"), ("attribute", "d.x", "b")},
        ),
        ('device.attributes["d.x"].size() > 1', {("attribute", "d.x", "*")}),
        ("device.attributes.size() > 1", None),
        ("device.attributes[device.driver].a == 1", None),
        ('device.attributes.exists(d, d == "x")', None),
    ],
)
def test_reads(expression: str, reads: set[tuple[str, str, str]] | None) -> None:
    assert selector(expression).reads == reads


def test_projection_tells_what_is_read_apart() -> None:
    found = selector('device.attributes["gpu.example.com"].model == "l40s"')
    assert found.projection(DRIVER, device()) == found.projection(DRIVER, device(index=4, memory="1Gi"))
    assert found.projection(DRIVER, device()) != found.projection(DRIVER, device(model="B200"))
    assert found.projection(DRIVER, device()) != found.projection("other.example.com", device())
    qualified = Device(attributes={"gpu.example.com/model": DeviceAttribute("string", "l40s")})
    assert found.projection(DRIVER, device()) == found.projection("other.example.com", qualified)


def test_true_is_not_one() -> None:
    one, true = (
        Device(attributes={"a": DeviceAttribute("int", 1)}),
        Device(attributes={"a": DeviceAttribute("bool", True)}),
    )
    found = selector('device.attributes["gpu.example.com"].a == 1')
    assert found.projection(DRIVER, one) != found.projection(DRIVER, true)
    assert found.evaluate(DRIVER, one).match
    assert not found.evaluate(DRIVER, true).match


def test_cache_evaluates_each_kind_once() -> None:
    found = selector('device.attributes["gpu.example.com"].index < 4')
    devices = [device(index=index % 8) for index in range(80)]
    cache = SelectorCache(found)
    outcomes = [cache.evaluate(DRIVER, each) for each in devices]
    assert len(cache) == 8
    assert sum(outcome.match for outcome in outcomes) == 40
    assert outcomes == evaluate_many(found, [(DRIVER, each) for each in devices])


def test_missing() -> None:
    outcome = selector('device.attributes["gpu.example.com"].nope == 1').evaluate(DRIVER, device())
    assert (outcome.error, outcome.missing) == ("no such key: nope", (DRIVER, "nope"))
    outcome = selector('device.capacity["other.io"].m.isInteger()').evaluate(DRIVER, device())
    assert outcome.missing == ("other.io", "m")
    assert selector('device.attributes["gpu.example.com"].nope == 1 || true').evaluate(DRIVER, device()).missing is None


def test_unknown_kind_of_attribute() -> None:
    broken = Device(attributes={"fine": DeviceAttribute("int", 1), "new": DeviceAttribute("", "")})
    assert selector("true").evaluate(DRIVER, broken).error == "attribute new: unsupported attribute value"
    lists = Device(attributes={"many": DeviceAttribute("ints", (1, 2))})
    assert selector("true").evaluate(DRIVER, lists).error == "attribute many: unsupported attribute value"
    on = compile_selector('2 in device.attributes["gpu.example.com"].many', Environment(list_attributes=True))
    assert on.evaluate(DRIVER, lists).match


def test_bad_expression_is_no_exception() -> None:
    found = compile_selector("device.driver ==", Environment())
    assert found.error is not None
    assert found.error_type == "RuleInvalid"
    assert found.evaluate(DRIVER, device()).error == found.error
    assert found.explain(DRIVER, device()) == []


def test_explanation() -> None:
    terms = selector(
        'device.driver == "gpu.example.com" && device.attributes["gpu.example.com"].model in ["H100", "B200"] && '
        '(device.capacity["gpu.example.com"].memory.compareTo(quantity("80Gi")) >= 0) && '
        'device.attributes["gpu.example.com"].nope == "x"'
    ).explain(DRIVER, device())
    assert [term.text for term in terms] == [
        'device.driver == "gpu.example.com"',
        'device.attributes["gpu.example.com"].model in ["H100", "B200"]',
        'device.capacity["gpu.example.com"].memory.compareTo(quantity("80Gi")) >= 0',
        'device.attributes["gpu.example.com"].nope == "x"',
    ]
    assert [term.value for term in terms] == [True, False, False, None]
    assert [term.decided for term in terms] == [False, True, False, False]
    assert terms[1].detail == '"l40s", asked for one of "H100", "B200"'
    assert terms[2].detail == "40Gi, asked for >= 80Gi"
    assert (terms[3].error, terms[3].missing) == ("no such key: nope", (DRIVER, "nope"))


def test_explanation_inside_a_binding() -> None:
    terms = selector(
        'cel.bind(d, device.attributes["gpu.example.com"], d.model.startsWith("H") && d.index < 4)'
    ).explain(DRIVER, device())
    assert [(term.text, term.value, term.decided) for term in terms] == [
        ('d.model.startsWith("H")', False, True),
        ("d.index < 4", True, False),
    ]


def test_error_decides_if_nothing_is_false() -> None:
    terms = selector('device.attributes["gpu.example.com"].nope && true').explain(DRIVER, device())
    assert [term.decided for term in terms] == [True, False]
    assert all(not term.decided for term in selector("true && true").explain(DRIVER, device()))


FOUND = 'device.attributes["gpu.example.com"]'


@pytest.mark.parametrize(
    ("expression", "detail"),
    [
        (f"!({FOUND}.index < 5)", "3, asked for >= 5"),
        (f"!!({FOUND}.index > 5)", "3, asked for > 5"),
        (f"5 < {FOUND}.index", "3, asked for > 5"),
        (f"!({FOUND}.index in [3, 4])", "3, asked for none of 3, 4"),
        (f'!({FOUND}.model.startsWith("l4"))', '"l40s", asked for a text that does not start with "l4"'),
        (f'!({FOUND}.model != "x")', '"l40s", asked for "x"'),
        (f"!({FOUND}.index > 5 || {FOUND}.index > 2)", "3, asked for <= 2"),
        (f'{FOUND}.index > 5 || {FOUND}.model == "x"', '3, asked for > 5 or "l40s", asked for "x"'),
        (f"{FOUND}.healthy || {FOUND}.index > 5", "false, asked for true or 3, asked for > 5"),
        (f"{FOUND}.healthy ? true : {FOUND}.index > 5", "3, asked for > 5"),
        (f'has({FOUND}.x) ? true : ({FOUND}.healthy ? true : {FOUND}.model == "x")', '"l40s", asked for "x"'),
        ('device.capacity["gpu.example.com"].memory.compareTo(quantity("80Gi")) == 1', "40Gi, asked for > 80Gi"),
        ('quantity("80Gi").compareTo(device.capacity["gpu.example.com"].memory) <= 0', "40Gi, asked for >= 80Gi"),
        ('device.capacity["gpu.example.com"].memory.compareTo(quantity("80Gi")) != -1', "40Gi, asked for >= 80Gi"),
        ('quantity("80Gi").isLessThan(device.capacity["gpu.example.com"].memory)', "40Gi, asked for > 80Gi"),
        (f'"x" in {FOUND}', ""),
        (f'{FOUND}.model in {{"a": 1}}', '"l40s", asked for one of "a"'),
    ],
)
def test_what_was_found_and_asked_for(expression: str, detail: str) -> None:
    device = Device(
        name="gpu-0",
        attributes={
            "model": DeviceAttribute("string", "l40s"),
            "index": DeviceAttribute("int", 3),
            "healthy": DeviceAttribute("bool", False),
        },
        capacity={"memory": DeviceCapacity(Quantity.parse("40Gi"))},
    )
    (term,) = compile_selector(expression, Environment()).explain("gpu.example.com", device)
    assert (term.value, term.decided, term.detail) == (False, True, detail)
