"""Accessors of timestamps whose zone leads out of the years 1 to 9999, which Python's calendar lacks."""

import pytest

from dractl.cel.environment import Environment
from dractl.cel.selector import compile_selector
from dractl.kube.objects import Device

FIRST, LAST = 'timestamp("0001-01-01T00:00:00Z")', 'timestamp("9999-12-31T23:59:59Z")'


@pytest.mark.parametrize(
    "expression",
    [
        f'{FIRST}.getFullYear("-08:00") == 0',
        f'{FIRST}.getMonth("-08:00") == 11',
        f'{FIRST}.getDate("-08:00") == 31',
        f'{FIRST}.getHours("-08:00") == 16',
        f'{FIRST}.getMinutes("-08:00") == 0',
        f'{LAST}.getFullYear("+01:00") == 10000',
        f'{LAST}.getDayOfYear("+01:00") == 0',
        f'{LAST}.getDayOfWeek("+01:00") == 6',
    ],
)
def test_years_0_and_10000(expression):
    selector = compile_selector(expression, Environment(kubernetes=(1, 36)))
    assert selector.error is None
    outcome = selector.evaluate("gpu.example.com", Device(name="gpu-0"))
    assert (outcome.match, outcome.error) == (True, None)
