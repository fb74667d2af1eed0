"""A diagnosis as SARIF 2.1.0 and as JUnit XML."""

from __future__ import annotations

import json
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from dractl.diagnose.run import Diagnosis
from dractl.render.sarif import LEVELS, SCHEMA, rule_entry
from dractl.rules.finding import Finding, Severity
from dractl.rules.registry import all_rules
from dractl.validation.report import ADDRESS, TOOL


def to_sarif(report: Diagnosis, version: str) -> str:
    """One run; objects of the cluster are logical locations."""
    codes = sorted({item.code for item in report.findings})
    index = {code: number for number, code in enumerate(codes)}
    run: dict[str, Any] = {
        "tool": {
            "driver": {
                "name": TOOL,
                "semanticVersion": version,
                "informationUri": ADDRESS,
                "rules": [rule_entry(all_rules()[code]) for code in codes],
            }
        },
        "invocations": [{"executionSuccessful": not any(item.outcome == "failed" for item in report.checks)}],
        "results": [_result(item, index) for item in report.findings],
        "properties": {"kubernetes": report.kubernetes, "source": report.source},
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=1, ensure_ascii=False) + "\n"


def _result(item: Finding, index: dict[str, int]) -> dict[str, Any]:
    text = item.message + (f"\n{item.hint}" if item.hint else "")
    out: dict[str, Any] = {
        "ruleId": item.code,
        "ruleIndex": index[item.code],
        "level": LEVELS[item.severity],
        "message": {"text": text},
    }
    if item.subject is not None:
        place = {"fullyQualifiedName": str(item.subject), "kind": "resource"}
        out["locations"] = [{"logicalLocations": [place]}]
        out["partialFingerprints"] = {"subject/v1": f"{item.code} {item.subject}"}
    return out


def to_junit(report: Diagnosis, threshold: Severity) -> str:
    """One test case for each check; it fails if it found something at the threshold."""
    rows = []
    failed = skipped = errors = 0
    for check in report.checks:
        name = f"{check.code} {check.title}"
        head = f"    <testcase name={quoteattr(name)} classname={quoteattr(check.category)}"
        found = [item for item in report.findings if item.code == check.code and item.severity.at_least(threshold)]
        if check.outcome == "skipped":
            skipped += 1
            rows.append(f"{head}><skipped message={quoteattr(check.reason)}/></testcase>")
        elif check.outcome == "failed":
            errors += 1
            rows.append(f"{head}><error message={quoteattr(check.reason)}/></testcase>")
        elif found:
            failed += 1
            text = "\n".join(f"{item.subject}: {item.message}" for item in found)
            rows.append(f"{head}><failure message={quoteattr(found[0].message)}>{escape(text)}</failure></testcase>")
        else:
            rows.append(f"{head}/>")
    totals = f'tests="{len(report.checks)}" failures="{failed}" errors="{errors}" skipped="{skipped}"'
    return "\n".join(
        [
            '<?xml version="1.0" encoding="UTF-8"?>',
            f'<testsuites name="dractl diagnose" tests="{len(report.checks)}" failures="{failed}" errors="{errors}">',
            f'  <testsuite name="dractl diagnose" {totals}>',
            *rows,
            "  </testsuite>",
            "</testsuites>",
            "",
        ]
    )
