"""A diagnosis as text: categories with ticks, then the findings, the worst first, each with what to do."""

from __future__ import annotations

import re
import textwrap

from dractl.diagnose.run import CheckView, Diagnosis
from dractl.render.text.table import clean
from dractl.render.text.terminal import Terminal
from dractl.rules.finding import Finding, Severity
from dractl.rules.registry import rule

_MARKS = {"passed": "ok", "found": "!!", "skipped": "--", "failed": "??"}
_INDENT = "    "
_GLUE = "\x00"
_WHOLE = re.compile(
    # a command, up to where the sentence goes on
    r"(?:kubectl|dractl) [a-z][^;,()\n]*?(?=[;,)]|\. |\.?$| tells | says | writes | and | to see )"
    # a text in quotes
    r"|'[^'\n]{1,60}'|\"[^\"\n]{1,60}\""
)
"""What is never broken over two lines, so that it can be pasted."""


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
        made = any(item.outcome in ("passed", "found") for item in report.checks)
        lines += ["", "nothing found by the checks that were made" if made else "no check could be made"]
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
    about = rule(item.code)
    title = (
        about.title[:1].lower() + about.title[1:]
        if about.title[1:2].islower() or about.title[:2] == "A "
        else about.title
    )
    subject = clean(str(item.subject)) if item.subject is not None else ""
    name = f"{item.code} {subject}".rstrip().replace(" ", _GLUE)
    words = f"{name}{':' if subject else ''} {title}"
    head = _wrap(words, terminal, "  ", _INDENT)
    code = terminal.red(item.code) if item.severity is Severity.ERROR else terminal.yellow(item.code)
    head[0] = head[0].replace(item.code, code, 1)
    if subject:
        head = [line.replace(subject, terminal.bold(subject), 1) for line in head]
    why = _wrap(_glued(f"why: {item.message}"), terminal, _INDENT, _INDENT * 2)
    return head + why + _wrap(_glued(f"do:  {item.hint or about.fix}"), terminal, _INDENT, _INDENT * 2)


def _glued(text: str) -> str:
    return _WHOLE.sub(lambda found: found[0].replace(" ", _GLUE), clean(text))


def _wrap(text: str, terminal: Terminal, first: str, rest: str) -> list[str]:
    width = max(40, min(terminal.width, 120))
    lines = textwrap.wrap(
        text, width, initial_indent=first, subsequent_indent=rest, break_long_words=False, break_on_hyphens=False
    )
    return [line.replace(_GLUE, " ") for line in lines]


def _total(report: Diagnosis) -> str:
    counts = [(one, sum(item.severity is one for item in report.findings)) for one in Severity]
    parts = [f"{number} {one.value}{'s' if number != 1 and one is not Severity.INFO else ''}" for one, number in counts]
    more = f"; what a code means: dractl explain {report.findings[0].code}" if report.findings else ""
    return ", ".join(parts) + more
