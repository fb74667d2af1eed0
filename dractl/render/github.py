"""Annotations of GitHub Actions: one workflow command for each finding."""

from __future__ import annotations

from dractl.rules.finding import Severity
from dractl.validation.report import Item, ValidationReport

_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}


def to_github(report: ValidationReport) -> str:
    """The workflow commands, one a line."""
    return "".join(_line(item) + "\n" for item in report.items)


def _line(item: Item) -> str:
    found = item.finding
    fields = {"file": item.file if item.file != "<stdin>" else ""}
    if item.line:
        fields["line"] = str(item.line)
        if item.column:
            fields["col"] = str(item.column)
            fields["endColumn"] = str(item.column + max(1, item.length))
    fields["title"] = found.code
    shown = ",".join(f"{name}={_property(value)}" for name, value in fields.items() if value)
    text = found.message
    if item.server:
        text += f"\nAPI server: {item.server}"
    if found.hint:
        text += f"\nFix: {found.hint}"
    return f"::{_COMMANDS[found.severity]} {shown}::{_data(text)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
