"""Recordings of a cluster as text."""

from __future__ import annotations

from dractl.listing.recording import Changes, Recording
from dractl.render.text.table import table
from dractl.render.text.terminal import Terminal

_SIGNS = {"added": "+", "removed": "-", "changed": "~"}


def render_recording(report: Recording, terminal: Terminal) -> str:
    """What the recording holds, one fact a line."""
    facts = [
        ("recording", report.source),
        ("Kubernetes", report.kubernetes or "not recorded"),
        ("taken", report.taken or f"not recorded (newest time in it: {report.latest or 'none'})"),
        ("devices", str(report.devices)),
        ("pods with claims", str(report.pods_with_claims)),
    ]
    width = max(len(name) for name, _ in facts)
    lines = [f"{name.ljust(width)}  {text}" for name, text in facts]
    rows = [(kind, str(number)) for kind, number in report.objects.items()]
    lines += ["", table(("KIND", "OBJECTS"), rows, terminal)]
    if report.unseen:
        lines += ["", terminal.bold("not seen")]
        lines += [f"  {kind}: {reason}" for kind, reason in report.unseen.items()]
    return "\n".join(lines + [f"note: {text}" for text in report.notes])


def render_changes(report: Changes, terminal: Terminal) -> str:
    """One change a line, grouped by kind."""
    if not report.changes:
        return "no difference in claims, devices, taints, pools, nodes, classes and taint rules"
    lines: list[str] = []
    kind = ""
    for item in report.changes:
        if item.kind != kind:
            kind = item.kind
            lines += ([""] if lines else []) + [terminal.bold(kind)]
        lines.append(f"  {_SIGNS[item.change]} {item.subject}  {_what(item.before, item.after)}")
    return "\n".join(lines)


def _what(before: str | None, after: str | None) -> str:
    if before is None or after is None:
        return before or after or ""
    return f"{before} -> {after}"
