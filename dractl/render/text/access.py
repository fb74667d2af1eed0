"""Rights as a table."""

from __future__ import annotations

from dractl.listing.access import AccessReport
from dractl.render.text.table import table
from dractl.render.text.terminal import Terminal


def render_access(report: AccessReport, terminal: Terminal) -> str:
    """One line a right, and below it what is missing for whom."""
    words = {"namespace": f"only in {report.namespace}"}
    rows = []
    for row in report.items:
        resource = f"{row.resource}.{row.group}" if row.group else row.resource
        consequence = row.without if row.allowed in ("no", "namespace", "unknown") else ""
        rows.append([row.verb, resource, words.get(row.allowed, row.allowed), ", ".join(row.commands), consequence])
    return table(["VERB", "RESOURCE", "ALLOWED", "NEEDED BY", "WITHOUT IT"], rows, terminal)
