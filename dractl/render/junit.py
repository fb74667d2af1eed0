"""JUnit XML: one test case for each object, failed if it has a finding at the threshold."""

from __future__ import annotations

from xml.sax.saxutils import escape, quoteattr

from dractl.rules.finding import Severity
from dractl.validation.report import Item, ObjectResult, ValidationReport


def to_junit(report: ValidationReport, threshold: Severity) -> str:
    """The report as one test suite for each file."""
    by_object: dict[tuple[str, int, str], list[Item]] = {}
    for item in report.items:
        by_object.setdefault((item.file, item.document, str(item.finding.subject or "")), []).append(item)
    suites: dict[str, list[str]] = {}
    failures: dict[str, int] = {}
    counts: dict[str, int] = {}
    for one in report.objects:
        found = by_object.pop((one.file, one.document, _subject(one)), [])
        _add(suites, failures, counts, one.file, _case_name(one), found, threshold)
    for (file, _, subject), found in by_object.items():
        _add(suites, failures, counts, file, subject or "reading", found, threshold)
    total, failed = sum(counts.values()), sum(failures.values())
    rows = ['<?xml version="1.0" encoding="UTF-8"?>']
    rows.append(f'<testsuites name="dractl validate" tests="{total}" failures="{failed}" errors="0">')
    for file, cases in suites.items():
        name = quoteattr(_clean(file) or "input")
        rows.append(f'  <testsuite name={name} tests="{counts[file]}" failures="{failures[file]}" errors="0">')
        rows += cases
        rows.append("  </testsuite>")
    rows.append("</testsuites>")
    return "\n".join(rows) + "\n"


def _subject(one: ObjectResult) -> str:
    name = f"{one.namespace}/{one.name}" if one.namespace else one.name
    return f"{one.kind} {name}"


def _case_name(one: ObjectResult) -> str:
    return f"{_subject(one)} (line {one.line})"


def _add(
    suites: dict[str, list[str]],
    failures: dict[str, int],
    counts: dict[str, int],
    file: str,
    name: str,
    found: list[Item],
    threshold: Severity,
) -> None:
    bad = [item for item in found if item.finding.severity.at_least(threshold)]
    rest = [item for item in found if item not in bad]
    rows = suites.setdefault(file, [])
    counts[file] = counts.get(file, 0) + 1
    failures[file] = failures.get(file, 0) + bool(bad)
    head = f"    <testcase name={quoteattr(_clean(name))} classname={quoteattr(_clean(file) or 'input')}"
    if not found:
        rows.append(head + "/>")
        return
    rows.append(head + ">")
    if bad:
        codes = ", ".join(dict.fromkeys(item.finding.code for item in bad))
        message = f"{len(bad)} findings: {codes}" if len(bad) > 1 else f"{codes}: {bad[0].finding.message}"
        text = "\n".join(_text(item) for item in bad)
        rows.append(f"      <failure message={quoteattr(_clean(message))} type={quoteattr(codes)}>")
        rows.append(f"{escape(_clean(text))}</failure>")
    if rest:
        text = "\n".join(_text(item) for item in rest)
        rows.append(f"      <system-out>{escape(_clean(text))}</system-out>")
    rows.append("    </testcase>")


def _text(item: Item) -> str:
    found = item.finding
    where = str(found.location) if found.location else ""
    parts = [f"{where}: {found.severity.value} {found.code}: {found.message}"]
    if item.server:
        parts.append(f"  API server: {item.server}")
    if found.hint:
        parts.append(f"  fix: {found.hint}")
    return "\n".join(parts)


def _clean(text: str) -> str:
    """Without characters that XML 1.0 does not allow."""
    return "".join(c if c in "\t\n\r" or 0x20 <= ord(c) < 0xD800 or 0xE000 <= ord(c) < 0xFFFE else "?" for c in text)
