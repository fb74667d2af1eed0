"""GitLab's code quality report: a JSON list that a merge request shows."""

from __future__ import annotations

import json
from typing import Any

from dractl.rules.finding import Severity
from dractl.validation.report import Item, ValidationReport

_SEVERITIES = {Severity.ERROR: "critical", Severity.WARNING: "major", Severity.INFO: "info"}


def to_gitlab(report: ValidationReport) -> str:
    """The report as GitLab reads it; fingerprints are unique in it, as GitLab wants."""
    seen: dict[str, int] = {}
    return json.dumps([_entry(item, seen) for item in report.items], indent=1, ensure_ascii=False) + "\n"


def _entry(item: Item, seen: dict[str, int]) -> dict[str, Any]:
    found = item.finding
    fingerprint = item.fingerprint()
    seen[fingerprint] = seen.get(fingerprint, 0) + 1
    if seen[fingerprint] > 1:
        fingerprint += f"-{seen[fingerprint]}"
    text = found.message + (f" (fix: {found.hint})" if found.hint else "")
    return {
        "description": text,
        "check_name": found.code,
        "fingerprint": fingerprint,
        "severity": _SEVERITIES[found.severity],
        "location": {"path": item.file.removeprefix("./"), "lines": {"begin": item.line or 1}},
    }
