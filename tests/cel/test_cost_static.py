"""The estimate: sizes that DRA declares, what the libraries charge, and numbers that do not overflow."""

from __future__ import annotations

import pytest

from dractl.cel.cost_range import FREE, HIGHEST, NOTHING, Range
from dractl.cel.cost_static import estimate
from dractl.cel.environment import Environment
from dractl.cel.frontend import compile


def cost(text: str, release: tuple[int, int] = (1, 36)) -> tuple[int, int]:
    env = Environment(release)
    return estimate(compile(text, env), env)


def test_ranges_stop_at_the_highest() -> None:
    most = Range(0, HIGHEST)
    assert most.add(Range(1, 1)) == Range(1, HIGHEST)
    assert most.multiply(Range(2, 2)) == most
    assert most.scale(2.0) == most
    assert Range(5, 5).scale(0.1) == Range(1, 1)
    assert Range(3, 4).union(NOTHING) == Range(3, 4)
    assert FREE.scale(0.1) == FREE


# text, lowest and highest cost: the highest ones are Kubernetes' own (1.36)
ESTIMATES = [
    ("true", 0, 0),
    ("device.driver == 'a'", 3, 3),
    ("device.driver == 'a' || device.driver == 'b'", 3, 6),
    ("device.driver.startsWith('gpu')", 3, 3),
    ("device.attributes['d'].model == 'a'", 5, 5),
    ("device.capacity['d'].memory.compareTo(quantity('1Gi')) >= 0", 7, 7),
    ("device.attributes.all(d, d == 'x')", 3, 163),
]


@pytest.mark.parametrize(("text", "lowest", "highest"), ESTIMATES)
def test_estimates(text: str, lowest: int, highest: int) -> None:
    assert cost(text) == (lowest, highest)


def test_device_maps_have_a_size() -> None:
    """There are at most 32 attributes and capacities, so that going through them has a highest cost."""
    assert cost("device.attributes['d'].all(n, n != '')") == (4, 132)
    assert cost("[1, 2, 3].all(n, n != device.attributes['d'].x)") == (20, 38)


def test_unknown_sizes_cost_the_most() -> None:
    assert cost("optional.of([1]).value().all(x, true)") == (13, HIGHEST)
    # a list of an attribute has at most 64 entries
    assert cost("device.attributes['d'].x.all(n, n == 'a')", (1, 37))[1] == 325


def test_concatenations_of_doubling_size_end() -> None:
    text = "cel.bind(a, 'x' + device.driver, " + "cel.bind(a, a + a, " * 60 + "a == ''" + ")" * 61
    assert cost(text)[1] <= HIGHEST
