"""``dractl cel``: verdicts with a caret under the fault, outcomes with reasons, and tables of fields."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from dractl.listing.expressions import ExpressionCheck, ExpressionEvaluation, Fault, FieldReport, Reason
from dractl.render.text.table import cell_width, clean, table
from dractl.render.text.terminal import PLAIN, Terminal

_SHOWN = 10
_SYNTAX = "Syntax error"
_INDENT = "    "


def render_check(report: ExpressionCheck, terminal: Terminal = PLAIN) -> str:
    """The verdict; below it type, cost and what is read, or every fault."""
    gates = ", ".join(f"with {name}" if on else f"without {name}" for name, on in report.gates.items())
    where = f"Kubernetes {report.kubernetes}" + (f" {gates}" if gates else "")
    if report.valid:
        lines = [f"{terminal.green('valid')} in {where}", ""]
    else:
        lines = [f"{terminal.red('not valid')} in {where}", ""]
        shown, hidden = _worth_showing(report.faults)
        for fault in shown:
            lines += [*_fault(fault, report.expression, terminal), ""]
        if hidden:
            lines.append(f"  … and {hidden} more that follow from the first (-o json shows all)")
    if report.type is not None:
        lines.append(f"  result  {report.type}")
    if report.max_cost is not None:
        limit = f"of {report.cost_limit:,}" if report.cost_limit is not None else "without a limit in this release"
        lines.append(f"  cost    at most {report.max_cost:,} {limit}")
        reads = "anything of the device" if report.reads is None else ", ".join(report.reads) or "nothing"
        lines += textwrap.wrap(reads, terminal.width - 10, initial_indent="  reads   ", subsequent_indent=" " * 10)
    if report.note:
        lines.append(f"  {terminal.cyan('note')}    {report.note}")
    return "\n".join(lines).rstrip()


def _worth_showing(faults: Sequence[Fault]) -> tuple[list[Fault], int]:
    """Of several syntax errors only the first: the others mostly follow from it. And how many are left out."""
    shown: list[Fault] = []
    for fault in faults:
        if not shown or not fault.message.startswith(_SYNTAX):
            shown.append(fault)
    return shown, len(faults) - len(shown)


def _fault(fault: Fault, expression: str, terminal: Terminal) -> list[str]:
    place = f"{fault.line}:{fault.column}: " if fault.line is not None else ""
    message = clean(fault.message)
    lines = textwrap.wrap(place + message, max(terminal.width - 2, 40), initial_indent="  ", subsequent_indent=_INDENT)
    if fault.line is not None and fault.column is not None:
        lines += caret(expression, fault.line, fault.column, terminal)
    if fault.hint:
        hint = textwrap.wrap(fault.hint, max(terminal.width - 8, 40))
        lines += [f"  {terminal.cyan('hint')}: {hint[0]}", *(" " * 8 + line for line in hint[1:])]
    return lines


def caret(expression: str, line: int, column: int, terminal: Terminal = PLAIN) -> list[str]:
    """The line of a fault and a caret under its place; a long line is cut around it."""
    rows = expression.split("\n")
    text = rows[line - 1] if line <= len(rows) else ""
    text = "".join(char if char.isprintable() else " " for char in text)
    at = min(column - 1, len(text))
    room = max(terminal.width - len(_INDENT) - 2, 20)
    start = 0
    if cell_width(text) > room:
        start = max(0, min(at - room // 2, len(text) - room))
        end = start + room
        cut = ("…" if start else "") + text[start + bool(start) : end]
        text = cut[:-1] + "…" if end < start + len(text) and end < len(rows[line - 1]) else cut
    under = " " * cell_width(text[: at - start])
    return [_INDENT + text, _INDENT + under + terminal.red("^")]


def render_evaluation(report: ExpressionEvaluation, terminal: Terminal = PLAIN, wide: bool = False) -> str:
    """How many devices match; then which do, and why the others do not, by the part of the expression that decided."""
    total = report.devices
    counts = [
        _count(len(report.matching), "matches", "match"),
        _count(report.not_matching, "does not", "do not"),
        _count(report.errors, "raises an error", "raise errors"),
    ]
    shown = [text for text in counts if text]
    head = f"{total} device{'' if total == 1 else 's'}: {', '.join(shown)}" if total else "no devices are published"
    lines = [terminal.bold(terminal.green(head) if report.matching else terminal.red(head))]
    for note in report.notes:
        lines += _wrapped(f"{terminal.yellow('note')}: {note}", terminal, "  ", " " * 8)
    lines += _matching(report, terminal, wide)
    for title, errors in (("do not match", False), ("raise an error", True)):
        reasons = [reason for reason in report.reasons if (reason.error is not None) == errors]
        if reasons:
            lines += ["", f"  {title}:"]
            for term in dict.fromkeys(reason.term for reason in reasons):
                lines += _term(term, [reason for reason in reasons if reason.term == term], terminal, wide)
    return "\n".join(lines)


def _count(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}" if number else ""


def _matching(report: ExpressionEvaluation, terminal: Terminal, wide: bool) -> list[str]:
    if not report.matching:
        return []
    shown = report.matching if wide else report.matching[:_SHOWN]
    lines = ["", "  match:", *(f"    {name}" for name in shown)]
    if len(shown) < len(report.matching):
        lines.append(f"    … and {len(report.matching) - len(shown)} more (-o wide shows all)")
    return lines


def _term(term: str, reasons: Sequence[Reason], terminal: Terminal, wide: bool) -> list[str]:
    """A part of the expression, and what it met on how many devices."""
    total = sum(reason.devices for reason in reasons)
    lines = _wrapped(f"{total:>5}  {clean(term)}", terminal, "  ", " " * 9)
    for reason in reasons if wide else reasons[:_SHOWN]:
        found = f"error: {reason.error}" if reason.error else f"found {reason.detail}" if reason.detail else ""
        count = f"{reason.devices}: " if len(reasons) > 1 else ""
        examples = ", ".join(reason.examples if wide else reason.examples[:1])
        text = f"{count}{clean(found)}" if found else f"{count}false"
        lines += _wrapped(f"{text}  {terminal.dim(f'such as {examples}')}", terminal, " " * 9, " " * 11)
    if len(reasons) > _SHOWN and not wide:
        lines.append(" " * 9 + f"… and {len(reasons) - _SHOWN} more values (-o wide shows all)")
    return lines


def _wrapped(text: str, terminal: Terminal, first: str, rest: str) -> list[str]:
    width = max(terminal.width, 60)
    return textwrap.wrap(
        text, width, initial_indent=first, subsequent_indent=rest, break_long_words=False, break_on_hyphens=False
    )


def render_fields(report: FieldReport, terminal: Terminal = PLAIN, wide: bool = False) -> str:
    """A table of fields for each driver."""
    if not report.fields:
        return "no devices are published" if not report.devices else "no attributes and no capacities are published"
    parts = []
    for driver in dict.fromkeys(row.driver for row in report.fields):
        rows = [row for row in report.fields if row.driver == driver]
        cells = [
            [
                row.expression,
                "|".join(row.types),
                f"{row.devices}" if row.devices == row.of_devices else f"{row.devices} of {row.of_devices}",
                f"{row.distinct}",
                ", ".join(row.examples) + (", …" if row.distinct > len(row.examples) else ""),
            ]
            for row in rows
        ]
        title = f"{driver}: {rows[0].of_devices} device{'' if rows[0].of_devices == 1 else 's'}"
        head = ["FIELD", "TYPE", "DEVICES", "VALUES", "EXAMPLES"]
        parts.append(f"{terminal.bold(title)}\n" + table(head, cells, terminal, indent="  "))
    return "\n\n".join(parts)
