"""A diagnosis as text: categories with ticks, then the findings, the worst first, each with what to do."""

from __future__ import annotations

import textwrap

from dractl.diagnose.run import CheckView, Diagnosis
from dractl.render.text.table import clean
from dractl.render.text.terminal import Terminal
from dractl.rules.finding import Finding, Severity
from dractl.rules.registry import rule

_MARKS = {"passed": "ok", "found": "!!", "skipped": "--", "failed": "??"}
_INDENT = "    "


def render_diagnosis(report: Diagnosis, terminal: Terminal, wide: bool = False) -> str:
    """The whole report. ``wide`` also lists every check that passed."""
    lines = [f"{report.source}, Kubernetes {report.kubernetes}" + (f", as of {report.taken}" if report.taken else "")]
    lines.append("")
    for category in report.categories:
        lines += _category(category, [item for item in report.checks if item.category == category], terminal, wide)
    for severity in Severity:
        found = [item for item in report.findings if item.severity is severity]
        if found:
            head = "for information" if severity is Severity.INFO else f"{severity.value}s"
            lines += ["", terminal.bold(f"{head} ({len(found)})")]
            for item in found:
                lines += _finding(item, terminal)
    if not report.findings:
        lines += ["", "nothing found by the checks that were made"]
    if report.notes:
        lines += ["", *(f"note: {text}" for text in report.notes)]
    lines += ["", _total(report)]
    return "\n".join(lines)


def _category(name: str, checks: list[CheckView], terminal: Terminal, wide: bool) -> list[str]:
    if not checks:
        return []
    found = [item for item in checks if item.outcome == "found"]
    skipped = [item for item in checks if item.outcome in ("skipped", "failed")]
    passed = len(checks) - len(found) - len(skipped)
    mark = terminal.red("!!") if found else terminal.green("ok") if passed else "--"
    words = [f"{passed} of {len(checks)} checks passed"]
    words += [f"{len(found)} found something"] if found else []
    words += [f"{len(skipped)} could not be made"] if skipped else []
    lines = [f"{mark} {terminal.bold(name.ljust(12))} {', '.join(words)}"]
    for item in checks:
        if item.outcome in ("skipped", "failed") or wide:
            reason = f" ({item.reason})" if item.reason else ""
            lines.append(f"     {_MARKS[item.outcome]} {item.code} {item.title}{reason}")
    return lines


def _finding(item: Finding, terminal: Terminal) -> list[str]:
    code = terminal.red(item.code) if item.severity is Severity.ERROR else terminal.yellow(item.code)
    subject = f"{item.subject}" if item.subject is not None else ""
    lines = [f"  {code} {terminal.bold(subject)}".rstrip()]
    lines += _wrap(item.message, terminal, _INDENT, _INDENT)
    lines += _wrap(f"do: {item.hint or rule(item.code).fix}", terminal, _INDENT, _INDENT * 2)
    return lines


def _wrap(text: str, terminal: Terminal, first: str, rest: str) -> list[str]:
    width = max(40, min(terminal.width, 120))
    return textwrap.wrap(
        clean(text), width, initial_indent=first, subsequent_indent=rest, break_long_words=False, break_on_hyphens=False
    )


def _total(report: Diagnosis) -> str:
    counts = [(one, sum(item.severity is one for item in report.findings)) for one in Severity]
    parts = [f"{number} {one.value}{'s' if number != 1 and one is not Severity.INFO else ''}" for one, number in counts]
    more = f"; what a code means: dractl explain {report.findings[0].code}" if report.findings else ""
    return ", ".join(parts) + more
