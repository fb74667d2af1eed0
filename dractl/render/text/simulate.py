"""Simulations and capacities as text."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from dractl.explain.words import listing, plural
from dractl.render.text.table import clean, table
from dractl.render.text.terminal import Terminal
from dractl.simulate.capacity import MOST, Capacity
from dractl.simulate.compare import Comparison
from dractl.simulate.place import Affected, Placement, Simulation

_WORDS = {
    "fits": "fits",
    "doesNotFit": "does not fit",
    "error": "error",
    "undecided": "undecided",
    "runs": "runs",
    "lost": "is lost",
}


def render_simulation(report: Simulation, terminal: Terminal, gang: bool = False) -> str:
    """One line a unit, then the sum; before it the pods that changes make wait."""
    lines: list[str] = []
    if report.moved:
        title = terminal.bold("pods that the change makes wait, placed first")
        lines += [title, *_placements(report.moved, terminal), ""]
    if report.affected:
        lines += _affected(report.affected, terminal)
    lines += [*_placements(report.placements, terminal), ""]
    if gang:
        word = "all of them fit together" if report.together else "not all of them fit together, so none is counted"
        lines.append(f"{report.placed} of {report.total} fit: {word} (Kubernetes {report.kubernetes})")
    else:
        lines.append(f"{report.placed} of {report.total} fit (Kubernetes {report.kubernetes})")
    if report.moved:
        lines += _wrapped(_moved_words(len(report.moved), [item.verdict for item in report.moved]), "", terminal)
    return "\n".join([*lines, *_notes(report.notes, terminal)])


def _placements(placements: Sequence[Placement], terminal: Terminal) -> list[str]:
    rows = [
        (
            item.name,
            _WORDS[item.verdict],
            item.node or "",
            str(item.nodes) if item.nodes else "",
            ", ".join(item.devices),
        )
        for item in placements
    ]
    heads = ("WHAT", "VERDICT", "NODE", "CHOICE OF", "DEVICES")
    return [table(heads, rows, terminal), *_why([(item.name, item.reason) for item in placements], terminal)]


def _why(reasons: Sequence[tuple[str, str]], terminal: Terminal) -> list[str]:
    """The reasons below a table: they are too long for a column."""
    told = [row for name, reason in reasons if reason for row in _wrapped(f"{name}: {reason}", "  ", terminal)]
    return ["", terminal.bold("why"), *told] if told else []


def _wrapped(text: str, indent: str, terminal: Terminal) -> list[str]:
    return textwrap.wrap(
        clean(text),
        max(40, terminal.width),
        initial_indent=indent,
        subsequent_indent=indent * 2,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _notes(notes: Sequence[str], terminal: Terminal) -> list[str]:
    return [row for text in notes for row in _wrapped(f"note: {text}", "", terminal)]


def _moved_words(total: int, verdicts: Sequence[str]) -> str:
    """How the pods fare that a change takes from their nodes."""
    fit, lost = verdicts.count("fits"), verdicts.count("lost")
    parts = [f"{fit} {plural(fit, 'finds', 'find')} a place"]
    if total - fit - lost:
        parts.append(f"{total - fit - lost} {plural(total - fit - lost, 'does', 'do')} not")
    if lost:
        them = plural(lost, "it", "them")
        parts.append(f"{lost} {plural(lost, 'is', 'are')} lost (no controller makes {them} anew)")
    whom = f"of {total} running {plural(total, 'pod')} that {plural(total, 'has', 'have')} to leave"
    return f"{whom} {plural(total, 'its', 'their')} place, {listing(parts)}"


def _affected(affected: Sequence[Affected], terminal: Terminal) -> list[str]:
    rows = [row for one in affected for row in _wrapped(f"{one.name}: {one.what}", "  ", terminal)]
    return [terminal.bold("affected by the change"), *rows, ""]


def render_capacity(report: Capacity, terminal: Terminal) -> str:
    """One line a node that can hold any, with how far its pools are used; then the sum."""
    use = _use_by_node(report)
    rows = [
        (
            item.node,
            _count(item.now),
            "?" if item.defragmented is None else _count(item.defragmented),
            _count(item.idle),
            use.get(item.node, ""),
            "cordoned" if item.cordoned else item.error,
        )
        for item in report.nodes
        if item.now or item.idle or item.error
    ]
    heads = ("NODE", "NOW", "DEFRAGMENTED", "IDLE", "IN USE", "REMARK")
    lines = [table(heads, rows, terminal), ""] if rows else []
    sign = "" if report.bounded else "at least "
    better = f"{sign}{report.defragmented} if nodes were defragmented, " if report.defragmented is not None else ""
    lines.append(
        f"{report.claim}: {sign}{report.now} more now, {better}{sign}{report.idle} if nothing were in use "
        f"(Kubernetes {report.kubernetes})"
    )
    totals: dict[str, list[int]] = {}
    known = {item.node for item in report.nodes}
    for pool in report.pools:
        if pool.nodes and not known & set(pool.nodes):
            continue  # of a node that is gone
        total = totals.setdefault(pool.driver, [0, 0, 0])
        total[0] += pool.held_devices
        total[1] += pool.total_devices
        total[2] += 1
    for driver, (held, devices, pools) in totals.items():
        lines.append(f"{driver}: {held:,} of {devices:,} devices in use in {pools:,} {plural(pools, 'pool')}")
    return "\n".join([*lines, *_notes(report.notes, terminal)])


def _use_by_node(report: Capacity) -> dict[str, str]:
    """``gpu.nvidia.com 5/8, dra.net 5/8`` for each node."""
    parts: dict[str, list[str]] = {}
    for pool in report.pools:
        for node in pool.nodes:
            parts.setdefault(node, []).append(f"{pool.driver} {pool.held_devices}/{pool.total_devices}")
    return {node: ", ".join(texts) for node, texts in parts.items()}


def _count(number: int) -> str:
    return f">={MOST}" if number >= MOST else str(number)


def render_comparison(report: Comparison, terminal: Terminal) -> str:
    """Before and after, one line a pod, those first that the change moves; whom else it hits."""
    moved = [item for item in report.changes if item.before == "runs"]
    waiting = [item for item in report.changes if item.before != "runs"]
    lines: list[str] = []
    for title, some in (("pods that the change makes wait", moved), ("pods that waited before", waiting)):
        if some:
            rows = [
                (item.name, _WORDS[item.before], _WORDS[item.after], item.node or "", ", ".join(item.devices))
                for item in some
            ]
            lines += [terminal.bold(title), table(("WHAT", "BEFORE", "AFTER", "NODE", "DEVICES"), rows, terminal)]
            lines += [*_why([(item.name, item.reason) for item in some], terminal), ""]
    if report.affected:
        lines += _affected(report.affected, terminal)
    if moved:
        lines += _wrapped(_moved_words(len(moved), [item.after for item in moved]), "", terminal)
    if waiting:
        lines.append(
            f"of {report.total} {plural(report.total, 'pod')} that waited before, {report.fits_before} "
            f"{plural(report.fits_before, 'fits', 'fit')} without the change and {report.fits_after} with it"
        )
    if not report.changes:
        lines.append("no pod waits for claims, before or after")
    lines[-1] += f" (Kubernetes {report.kubernetes})"
    return "\n".join([*lines, *_notes(report.notes, terminal)])
