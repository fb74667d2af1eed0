"""Simulations and capacities as text."""

from __future__ import annotations

from dractl.render.text.table import table
from dractl.render.text.terminal import Terminal
from dractl.simulate.capacity import MOST, Capacity
from dractl.simulate.compare import Comparison
from dractl.simulate.place import Placement, Simulation

_WORDS = {"fits": "fits", "doesNotFit": "does not fit", "error": "error", "undecided": "undecided", "runs": "runs"}


def render_simulation(report: Simulation, terminal: Terminal, gang: bool = False) -> str:
    """One line a unit, then the sum."""
    rows = [
        (item.name, _WORDS[item.verdict], item.node or "", str(item.nodes) if item.nodes else "", _what(item))
        for item in report.placements
    ]
    lines = [table(("WHAT", "VERDICT", "NODE", "CHOICE OF", "DEVICES OR REASON"), rows, terminal), ""]
    if gang:
        word = "all of them fit together" if report.together else "not all of them fit together, so none is counted"
        lines.append(f"{report.placed} of {report.total} fit: {word} (Kubernetes {report.kubernetes})")
    else:
        lines.append(f"{report.placed} of {report.total} fit (Kubernetes {report.kubernetes})")
    return "\n".join([*lines, *(f"note: {text}" for text in report.notes)])


def _what(item: Placement) -> str:
    return item.reason or ", ".join(item.devices)


def render_capacity(report: Capacity, terminal: Terminal) -> str:
    """One line a node that can hold any, then the sum."""
    rows = [
        (item.node, _count(item.now), _count(item.idle), "cordoned" if item.cordoned else item.error)
        for item in report.nodes
        if item.now or item.idle or item.error
    ]
    lines = [table(("NODE", "NOW", "IDLE", "REMARK"), rows, terminal), ""] if rows else []
    sign = "" if report.bounded else "at least "
    lines.append(
        f"{report.claim}: {sign}{report.now} more now, {sign}{report.idle} if nothing were in use "
        f"(Kubernetes {report.kubernetes})"
    )
    return "\n".join([*lines, *(f"note: {text}" for text in report.notes)])


def _count(number: int) -> str:
    return f">={MOST}" if number >= MOST else str(number)


def render_comparison(report: Comparison, terminal: Terminal) -> str:
    """Before and after, one line a pod; what the change evicts or strands."""
    rows = [
        (item.name, _WORDS[item.before], _WORDS[item.after], item.node or "", item.reason) for item in report.changes
    ]
    lines = [table(("WHAT", "BEFORE", "AFTER", "NODE", "DEVICES OR REASON"), rows, terminal)] if rows else []
    if not rows:
        lines.append("no pod waits for claims, before or after")
    if report.affected:
        lines += ["", terminal.bold("affected by the change")]
        lines += [f"  {item.name}: {item.what}" for item in report.affected]
    lines += ["", f"{report.fits_before} of {report.total} fit or run before, {report.fits_after} after"]
    return "\n".join([*lines, *(f"note: {text}" for text in report.notes)])
