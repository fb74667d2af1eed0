"""One validation rendered by every format."""

from __future__ import annotations

import gzip
import json
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import jsonschema  # noqa: TID253 (a test)
import pytest

from dractl.render.github import to_github
from dractl.render.gitlab import to_gitlab
from dractl.render.junit import to_junit
from dractl.render.sarif import to_sarif
from dractl.render.text.terminal import Terminal
from dractl.render.text.validate import render_validation
from dractl.rules import advice, manifests
from dractl.rules.finding import Location, ObjectRef, Severity
from dractl.validation.report import Item, ObjectResult, ValidationReport

SCHEMA = Path(__file__).parent / "sarif-schema-2.1.0.json.gz"


def item(rule: Any, message: str, line: int, column: int, **more: Any) -> Item:
    evidence = {key: more.pop(key) for key in ("apiServer", "note", "after") if key in more}
    subject = ObjectRef("ResourceClaim", "c", "ns", "resource.k8s.io/v1")
    place = Location(more.pop("file", "a dir/x.yaml"), line, column, "spec.devices")
    finding = rule.finding(message, subject, place, evidence=evidence, hint=more.pop("hint", ""))
    return Item(finding, **more)


@pytest.fixture
def report() -> ValidationReport:
    found = ValidationReport("1.36", files=2)
    found.items = [
        item(
            manifests.UNKNOWN_FIELD,
            "count is no field of a v1 request",
            3,
            5,
            excerpt="    count: <1> & \x1b[31m",
            excerpt_column=5,
            length=5,
            also=[7],
            document=1,
            apiServer='unknown field "spec.count"',
            note="without strict checking it would be dropped",
            hint="move it",
            after="with that the API server accepts the object",
        ),
        item(advice.UNPUBLISHED, "100% of it, really: a, b\nsecond line", 9, 1, file="<stdin>", document=1),
        item(advice.SHARED_COUNT, "all", 9, 2, document=1, file="<stdin>"),
    ]
    found.objects = [
        ObjectResult("a dir/x.yaml", 1, 1, "resource.k8s.io/v1", "ResourceClaim", "ns", "c", "rejected"),
        ObjectResult("y.yaml", 1, 1, "resource.k8s.io/v1", "DeviceClass", "", "d", "accepted"),
    ]
    found.passed_over["ConfigMap"] = 2
    found.suppressed = 1
    return found


def test_sarif_keeps_to_its_schema(report: ValidationReport) -> None:
    log = json.loads(to_sarif(report, "1.2.3"))
    schema = json.loads(gzip.decompress(SCHEMA.read_bytes()))
    jsonschema.Draft4Validator(schema).validate(log)
    (run,) = log["runs"]
    rules = run["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == ["DRA010", "DRA111", "DRA116"]
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
    first = run["results"][0]
    place = first["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "a%20dir/x.yaml"
    assert place["region"] == {
        "startLine": 3,
        "startColumn": 5,
        "endColumn": 10,
        "snippet": {"text": "    count: <1> & \x1b[31m"},
    }
    assert first["relatedLocations"][0]["physicalLocation"]["region"]["startLine"] == 7
    assert 'API server: unknown field "spec.count"' in first["message"]["text"]
    assert [result["level"] for result in run["results"]] == ["error", "warning", "note"]


def test_sarif_without_findings_is_valid_too() -> None:
    schema = json.loads(gzip.decompress(SCHEMA.read_bytes()))
    jsonschema.Draft4Validator(schema).validate(json.loads(to_sarif(ValidationReport("1.36"), "0.1.0")))


def test_the_schema_refuses_what_is_no_sarif(report: ValidationReport) -> None:
    schema = json.loads(gzip.decompress(SCHEMA.read_bytes()))
    log = json.loads(to_sarif(report, "1.2.3"))
    log["runs"][0]["results"][0]["line"] = 3
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft4Validator(schema).validate(log)


def test_junit_counts_and_escapes(report: ValidationReport) -> None:
    root = ET.fromstring(to_junit(report, Severity.ERROR))
    assert root.attrib["tests"] == "3"
    assert root.attrib["failures"] == "1"
    suites = {suite.attrib["name"]: suite for suite in root}
    failure = suites["a dir/x.yaml"].find("testcase/failure")
    assert failure is not None
    assert failure.text is not None
    assert "a dir/x.yaml:3:5: error DRA010" in failure.text
    assert suites["y.yaml"].find("testcase/failure") is None
    assert suites["<stdin>"].find("testcase/system-out") is not None
    warned = ET.fromstring(to_junit(report, Severity.WARNING))
    assert warned.attrib["failures"] == "2"


def test_github_commands_are_one_line_each(report: ValidationReport) -> None:
    first, second, third = to_github(report).splitlines()
    assert first.startswith("::error file=a dir/x.yaml,line=3,col=5,endColumn=10,title=DRA010::count is no field")
    assert "%0AAPI server: unknown field" in first
    assert second == ("::warning line=9,col=1,endColumn=2,title=DRA111::100%25 of it, really: a, b%0Asecond line")
    assert third.startswith("::notice ")


def test_gitlab_fingerprints_are_unique(report: ValidationReport) -> None:
    report.items.append(report.items[0])
    entries = json.loads(to_gitlab(report))
    assert [entry["severity"] for entry in entries] == ["critical", "major", "info", "critical"]
    assert entries[0]["location"] == {"path": "a dir/x.yaml", "lines": {"begin": 3}}
    assert len({entry["fingerprint"] for entry in entries}) == 4
    assert all(set(entry) == {"description", "check_name", "fingerprint", "severity", "location"} for entry in entries)


def test_text_shows_line_mark_and_reason(report: ValidationReport) -> None:
    text = render_validation(report)
    assert (
        "a dir/x.yaml:3:5: error DRA010 (ResourceClaim ns/c)\n"
        "  count is no field of a v1 request\n"
        "    3 |     count: <1> & ?[31m\n"
        "      |     ^^^^^\n"
        "      | see also line 7\n"
        '      | API server: unknown field "spec.count"\n'
        "      | without strict checking it would be dropped\n"
        "      | fix: move it; with that the API server accepts the object\n"
    ) in text
    assert "the API server refuses 1 of 2; 1 error, 1 warning, 1 note" in text
    assert "passed over: 2 objects of other kinds (ConfigMap 2)" in text
    assert "not shown: 1 by comments or settings" in text
    assert "\x1b" not in text
    assert "\x1b[31m" in render_validation(report, Terminal(colour=True))


def test_text_keeps_to_a_narrow_terminal(report: ValidationReport) -> None:
    report.items[0].excerpt = "x" * 150 + "count"
    report.items[0].excerpt_column = 151
    rows = render_validation(report, Terminal(width=50, limited=True)).splitlines()
    shown = next(row for row in rows if row.startswith("    3 |"))
    mark = rows[rows.index(shown) + 1]
    assert len(shown) <= 50
    assert shown[mark.index("^") : mark.rindex("^") + 1] == "count"


def test_json_has_what_the_summary_says(report: ValidationReport) -> None:
    data = report.to_json()
    assert data["kind"] == "ValidationReport"
    assert data["verdict"] == "rejected"
    assert data["summary"]["verdicts"] == {"accepted": 1, "rejected": 1}
    assert data["findings"][0]["location"] == {"file": "a dir/x.yaml", "line": 3, "column": 5, "path": "spec.devices"}
    assert data["findings"][0]["alsoLines"] == [7]


def test_fingerprints_do_not_depend_on_lines(report: ValidationReport) -> None:
    first = report.items[0]
    moved = item(manifests.UNKNOWN_FIELD, "worded otherwise", 33, 8, apiServer='unknown field "spec.count"', document=2)
    other = item(manifests.UNKNOWN_FIELD, "worded otherwise", 33, 8, apiServer='unknown field "spec.x"', document=2)
    assert first.fingerprint() == moved.fingerprint()
    assert first.fingerprint() != other.fingerprint()
