"""Verdict, error text, result type and cost estimate of recorded expressions, as Kubernetes' own code gave them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from cases import document, lines

from dractl.cel.cost_static import estimate
from dractl.cel.environment import Environment
from dractl.cel.errors import CelError
from dractl.cel.frontend import compile

# Found when the program is planned (constant folding), which is the evaluator's part.
PLANNING = "program instantiation failed: "


def answer(expression: str, env: Environment) -> tuple[str | None, str | None, int | None]:
    """Error, result type and highest cost of an expression."""
    try:
        checked = compile(expression, env)
    except CelError as error:
        return str(error), None, None
    return None, str(checked.output_type), estimate(checked, env)[1] if env.has_cost_limit else None


def recorded(case: dict[str, Any]) -> tuple[str | None, str | None, int | None]:
    if case.get("compileError"):
        return case["compileError"], None, None
    return None, case.get("outputType") or case.get("type"), case.get("maxCost")


def differences(cases: Iterator[tuple[str, Environment, dict[str, Any]]]) -> tuple[int, list[str]]:
    """How many cases there are, and those that are answered differently."""
    count = 0
    different = []
    for expression, env, case in cases:
        count += 1
        wanted, found = recorded(case), answer(expression, env)
        if wanted[0] and wanted[0].startswith(PLANNING):
            assert found[0] is None, expression
        elif wanted != found:
            different.append(f"{expression!r}\n  wanted {wanted}\n  found  {found}")
    return count, different


def test_selectors() -> None:
    def cases() -> Iterator[tuple[str, Environment, dict[str, Any]]]:
        for case in document("cel.json.gz")["cases"]:
            gates = case["environment"]
            env = Environment((1, 36), gates["consumableCapacity"], gates["listTypeAttributes"])
            yield case["expression"], env, case

    count, different = differences(cases())
    assert count == 612
    assert different == []


@pytest.mark.parametrize("release", [(1, 36), (1, 37)])
def test_random_expressions(release: tuple[int, int]) -> None:
    name = f"recorded-{release[0]}.{release[1]}.jsonl.gz"
    cases = ((each["expression"], Environment(release, list_attributes=each["list"]), each) for each in lines(name))
    count, different = differences(cases)
    assert count == 2000
    assert different == []


def test_older_releases() -> None:
    """1.31 to 1.35, as the scheduler compiles and as the API server compiles what is new.

    An address in memory that 1.31 prints is replaced.
    """
    cases = (
        (each["expression"], Environment((1, int(each["release"][2:])), stored=each["stored"]), each)
        for each in lines("recorded-old.jsonl.gz")
    )
    count, different = differences(cases)
    assert count == 3858
    assert different == []
