"""SARIF 2.1.0 (OASIS), as GitHub code scanning and IDEs read it."""

from __future__ import annotations

import json
from typing import Any

from dractl.rules.finding import Rule, Severity
from dractl.rules.registry import all_rules
from dractl.validation.report import ADDRESS, TOOL, Item, ValidationReport

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}


def to_sarif(report: ValidationReport, version: str) -> str:
    """The report as one SARIF run; ``version`` is dractl's own."""
    codes = sorted({item.finding.code for item in report.items})
    rules = [rule_entry(all_rules()[code]) for code in codes if code in all_rules()]
    index = {rule["id"]: number for number, rule in enumerate(rules)}
    run: dict[str, Any] = {
        "tool": {
            "driver": {"name": TOOL, "semanticVersion": version, "informationUri": ADDRESS, "rules": rules},
        },
        "columnKind": "unicodeCodePoints",
        "invocations": [{"executionSuccessful": not report.unreadable}],
        "results": [_result(item, index) for item in report.items],
        "properties": {"kubernetes": report.kubernetes},
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=1, ensure_ascii=False) + "\n"


def rule_entry(rule: Rule) -> dict[str, Any]:
    """A rule as SARIF describes it (reportingDescriptor)."""
    markdown = [rule.cause, "", f"**Fix.** {rule.fix}"]
    if rule.example:
        markdown += ["", "```yaml", rule.example, "```"]
    return {
        "id": rule.code,
        "name": "".join(part.capitalize() for part in rule.name.split("-")),
        "shortDescription": {"text": rule.title},
        "fullDescription": {"text": rule.cause},
        "help": {"text": f"{rule.cause}\n\nFix: {rule.fix}", "markdown": "\n".join(markdown)},
        "helpUri": f"{ADDRESS}/blob/main/docs/rules.md#{rule.code.lower()}",
        "defaultConfiguration": {"level": LEVELS[rule.severity]},
        "properties": {"tags": [rule.category.value]},
    }


def _result(item: Item, index: dict[str, int]) -> dict[str, Any]:
    found = item.finding
    text = found.message
    if item.server:
        text += f"\nAPI server: {item.server}"
    if found.hint:
        text += f"\nFix: {found.hint}"
    out: dict[str, Any] = {
        "ruleId": found.code,
        "level": LEVELS[found.severity],
        "message": {"text": text},
        "partialFingerprints": {"dractl/v1": item.fingerprint()},
    }
    if found.code in index:
        out["ruleIndex"] = index[found.code]
    place = _location(item)
    if place:
        out["locations"] = [place]
    if item.also:
        out["relatedLocations"] = [
            {"id": number, "physicalLocation": {**_artifact(item), "region": {"startLine": line}}}
            for number, line in enumerate(item.also, 1)
        ]
    return out


def _artifact(item: Item) -> dict[str, Any]:
    return {"artifactLocation": {"uri": _uri(item.file)}}


def _uri(file: str) -> str:
    """A file name as a URI reference: blanks and other special characters are escaped."""
    safe = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/"
    name = file.replace("\\", "/").removeprefix("./")
    if name == "<stdin>":
        return "stdin"
    return "".join(char if char in safe else "".join(f"%{byte:02X}" for byte in _bytes(char)) for char in name)


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _location(item: Item) -> dict[str, Any]:
    found = item.finding
    if found.location is None or not item.file:
        return {}
    physical = _artifact(item)
    if item.line:
        region: dict[str, Any] = {"startLine": item.line}
        if item.column:
            region["startColumn"] = item.column
            region["endColumn"] = item.column + max(1, item.length)
        if item.excerpt:
            region["snippet"] = {"text": item.excerpt}
        physical["region"] = region
    place: dict[str, Any] = {"physicalLocation": physical}
    if found.location.path or found.subject is not None:
        name = found.location.path or str(found.subject)
        place["logicalLocations"] = [{"fullyQualifiedName": name, "kind": "object"}]
    return place
