"""``dractl cel``: what it prints, and its exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

SCHEMAS = Path(__file__).resolve().parents[2] / "schemas"
HOPPER = 'device.attributes["gpu.nvidia.com"].architecture == "Hopper"'


def report(text: str, kind: str) -> dict:
    from jsonschema import Draft202012Validator

    found = json.loads(text)
    assert found["kind"] == kind
    Draft202012Validator(json.loads((SCHEMAS / f"{kind}.json").read_text())).validate(found)
    return found


def test_valid(dractl) -> None:
    run = dractl("cel", "check", 'device.capacity["gpu.nvidia.com"].memory.compareTo(quantity("40Gi")) >= 0')
    assert run.code == 0
    assert run.out.splitlines() == [
        "valid in Kubernetes 1.36",
        "",
        "  result  bool",
        "  cost    at most 7 of 1,000,000",
        "  reads   capacity gpu.nvidia.com/memory",
    ]


def test_caret_under_the_fault(dractl) -> None:
    run = dractl("cel", "check", "-", stdin='device.driver == "ü" &&\n  device.driver == 5\n')
    assert run.code == 1
    lines = run.out.splitlines()
    assert lines[2].startswith("  2:17: found no matching overload for '_==_'")
    place = lines.index("      device.driver == 5")
    assert lines[place + 1].index("^") == lines[place].index("==")


def test_long_line_is_cut_around_the_fault(dractl) -> None:
    text = "true && " * 40 + "device.driver == 5" + " && true" * 40
    lines = dractl("cel", "check", text, env={"COLUMNS": "80"}).out.splitlines()
    under = next(index for index, line in enumerate(lines) if line.strip() == "^")
    assert max(map(len, lines)) <= 80
    assert lines[under - 1][lines[under].index("^") :].startswith("== 5")


@pytest.mark.parametrize(
    ("expression", "hint"),
    [
        ("device.driver == “gpu”", "straight quotes"),
        ('device.driver = "x"', "Use == to compare"),
        ('device.attributes["model"] == "x"', "the domain or the name is missing"),
        ('device.model == "x"', 'device.attributes["DOMAIN"].model'),
        ('device.capacity["a.b"].m > quantity("1Gi")', 'compareTo(quantity("40Gi")) > 0'),
        ('device.capacity["a.b"].m == "1Gi"', "a quantity as well"),
        ('device.capacity["a.b"].m.sign() > 0', "sign(q)"),
        ('semver("1.0.0") < semver("2.0.0")', "compareTo"),
        ('device.driver.startswith("x")', "startsWith()"),
        ("device.driver == True", "Write true"),
        ('device.driver == "a" and true', "Use &&"),
        ('device.driver.matches("[")', "missing closing ]"),
        ('device.driver.matches("\\d")', "backslash twice"),
        ("len(device.driver) > 1", "Use size"),
        ("devices.driver == 'x'", "Did you mean device"),
        ("device.driver", "true or false"),
        ('["a"].join("-") == "a"', "cannot bound the size"),
        ("(true", "is not closed"),
        ("", "is empty"),
        (" \n", "is empty"),
        ("\ufefftrue", "byte order mark"),
        ("true \\n && true", "stands for a character only inside quotes"),
        ("true\u00a0&& true", "U+00A0"),
        ("true\u200b", "U+200B"),
    ],
)
def test_hints(dractl, expression: str, hint: str) -> None:
    run = dractl("cel", "check", expression)
    assert run.code == 1
    assert hint in " ".join(run.out.split())


def test_check_as_json(dractl) -> None:
    found = report(dractl("cel", "check", "device.driver = 5", "-o", "json").out, "ExpressionCheck")
    assert not found["valid"]
    assert found["error"].startswith("compilation failed: ERROR: <input>:1:15: Syntax error")
    assert (found["faults"][0]["line"], found["faults"][0]["column"]) == (1, 15)
    assert report(dractl("cel", "check", "true", "-o", "json").out, "ExpressionCheck")["maxCost"] == 0


def test_release_and_gates(dractl) -> None:
    lists = 'device.attributes["a.b"].x.includes("y")'
    assert dractl("cel", "check", lists, "--kubernetes", "1.35").code == 1
    assert dractl("cel", "check", lists, "--kubernetes", "1.36", "--gate", "DRAListTypeAttributes=true").code == 0
    assert dractl("cel", "check", "true", "--gate", "NoSuchGate=true").code == 2
    assert dractl("cel", "check", "true", "--kubernetes", "1.30").code == 2


def test_no_limits_in_1_31(dractl) -> None:
    for text in ('["a"].join("-") == "a"', "true || " * 2000 + "true"):
        assert dractl("cel", "check", "-", "--kubernetes", "1.32", stdin=text).code == 1
        run = dractl("cel", "check", "-", "--kubernetes", "1.31", stdin=text)
        assert run.code == 0
        assert "without a limit in this release" in run.out
        found = report(
            dractl("cel", "check", "-", "--kubernetes", "1.31", "-o", "json", stdin=text).out, "ExpressionCheck"
        )
        assert "costLimit" not in found


def test_too_long(dractl) -> None:
    run = dractl("cel", "check", "-", stdin="true || " * 2000 + "true")
    assert run.code == 1
    assert "10240 are allowed" in run.out


def test_eval(dractl) -> None:
    run = dractl("cel", "eval", HOPPER, "--demo")
    assert run.code == 0
    found = report(dractl("cel", "eval", HOPPER, "--demo", "-o", "json").out, "ExpressionEvaluation")
    matching, others = len(found["matching"]), found["notMatching"]
    assert (
        run.out.splitlines()[0]
        == f"{found['devices']} devices: {matching} match, {others} do not, {found['errors']} raise errors"
    )
    assert sum(reason["devices"] for reason in found["reasons"]) == others + found["errors"]
    assert 'found "Ampere", asked for "Hopper"' in run.out
    assert "error: no such key: architecture" in run.out
    assert dractl("cel", "eval", HOPPER, "--demo", "-o", "name").out.splitlines() == found["matching"]


def test_eval_without_match(dractl) -> None:
    run = dractl("cel", "eval", 'device.attributes["gpu.nvidia.con"].x == "y"', "--demo")
    assert run.code == 1
    assert "no device publishes an attribute under 'gpu.nvidia.con'" in run.out
    assert dractl("cel", "eval", "device.driver = 1", "--demo").code == 2


def test_eval_of_one_driver(dractl) -> None:
    found = report(
        dractl("cel", "eval", "true", "--demo", "--driver", "dra.cpu", "-o", "json").out, "ExpressionEvaluation"
    )
    assert found["devices"] == len(found["matching"]) > 0
    assert all(name.startswith("dra.cpu/") for name in found["matching"])


def test_fields(dractl) -> None:
    run = dractl("cel", "fields", "--demo")
    assert run.code == 0
    assert 'device.attributes["gpu.nvidia.com"].architecture' in run.out
    found = report(dractl("cel", "fields", "--demo", "-o", "json").out, "FieldReport")
    for row in found["fields"]:
        assert 0 < row["devices"] <= row["ofDevices"]
        assert 0 < len(row["examples"]) <= row["distinct"]
        # what the table says can be used in an expression
        assert dractl("cel", "check", f"has({row['expression']})").code == 0
