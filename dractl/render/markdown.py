"""A cluster as Markdown for tickets: counts, what waits, what was found; short where a fleet is long."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from dractl.diagnose.check import Waiting
from dractl.render.overview import Overview, Place, alike, head_line, names, readable, remarks
from dractl.rules.conflicts import CLAIM_PENDING
from dractl.rules.finding import Finding, Severity
from dractl.rules.registry import rule

_MOST_NODES = 30
_MOST_FINDINGS = 40
_MOST_WAITING = 20
_SPECIAL = re.compile(r"([\\`*_{}\[\]#!|~])")
_ENTITY = re.compile(r"&(?=#?\w+;)")
_BEGINNING = re.compile(r"^(\d+(?=[.)](?:\s|$))|(?=[>+=-]))([>+.)=-])")
"""What makes a quotation, a list or a heading of a line that begins with it."""
_TROUBLE = ("tainted", "pool-incomplete", "node-missing")


def render_markdown(overview: Overview) -> str:
    """The whole report; what was left out for length is counted."""
    report = overview.diagnosis
    taken = f", as of {plain(report.taken)}" if report.taken else ""
    lines = [
        f"# DRA report: {plain(report.source)}",
        "",
        f"Kubernetes {plain(report.kubernetes)}{taken}.",
        "",
        f"{plain(head_line(overview))}.",
        "",
    ]
    lines += ["## Devices", "", *_devices(overview), ""]
    lines += ["## Nodes to look at", "", *_nodes(overview.places), ""]
    lines += ["## Pending claims", "", *_waiting(overview), ""]
    lines += ["## Findings", "", *_findings(report.findings, bool(overview.waiting)), ""]
    limits = [f"- {plain(text)}" for text in remarks(overview, together=True)]
    if limits:
        lines += ["## Limits of this report", "", *limits, ""]
    return "\n".join(lines).rstrip() + "\n"


def plain(text: str) -> str:
    """Text that Markdown shows as it is: no markup, HTML, links or mentions come of it."""
    safe = _ENTITY.sub("&amp;", readable(" ".join(text.split()))).replace("<", "&lt;")
    safe = _SPECIAL.sub(r"\\\1", safe).replace("@", "&#64;").replace("://", ":&#47;/")
    return _BEGINNING.sub(r"\1\\\2", safe).replace("www.", "www&#46;")


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield f"|{'---|' * len(head)}"
    for row in rows:
        yield f"| {' | '.join(row)} |"


def _devices(overview: Overview) -> Iterator[str]:
    if not overview.states:
        yield "No devices were seen."
        return
    states = list(overview.states)
    rows = [
        [plain(driver), *(f"{counts.get(state, 0):,}" for state in states)]
        for driver, counts in overview.drivers.items()
    ]
    yield from _table(["driver", *states], rows)


def _nodes(places: Sequence[Place]) -> Iterator[str]:
    rows = []
    for place in places:
        troubled = [device for device in place.devices if device.state in _TROUBLE]
        words: list[str] = []
        if place.node is not None:
            words += [place.node.status] if place.node.status not in ("Ready", "Unknown") else []
            words += ["cordoned"] if place.node.schedulable is False else []
        for state in _TROUBLE:
            found = [device for device in troubled if device.state == state]
            if found:
                words.append(f"{len(found):,} {state} ({names([item.device for item in found], 4)})")
        if words:
            rows.append([plain(place.name), plain("; ".join(words))])
    if not rows:
        yield "None: no node is missing, cordoned or not ready, no device is tainted, no pool incomplete."
        return
    yield from _table(["node", "what"], rows[:_MOST_NODES])
    if len(rows) > _MOST_NODES:
        yield f"\n{len(rows) - _MOST_NODES:,} more nodes are not shown."


def _waiting(overview: Overview) -> Iterator[str]:
    if not overview.waiting:
        unseen = "ResourceClaim" in overview.unseen
        yield "Claims were not seen." if unseen else "No pod that was seen waits for a claim."
        return
    for item in overview.waiting[:_MOST_WAITING]:
        yield from _claim(item)
    if len(overview.waiting) > _MOST_WAITING:
        yield f"{len(overview.waiting) - _MOST_WAITING:,} more claims are not shown."


def _claim(waiting: Waiting) -> Iterator[str]:
    item = waiting.report
    age = f" ({plain(item.age)})" if item.age else ""
    yield f"### {plain(item.claim.namespace)}/{plain(item.claim.name)}{age}"
    yield ""
    yield plain(item.summary)
    yield ""
    if others := alike(waiting):
        yield f"- {plain(others)}"
    for text in item.actions[:1]:
        yield f"- to do: {plain(text)}"
    for fix in item.fixes[:1]:
        who = f" ({plain(fix.who)})" if fix.who else ""
        tried = "would help, tried out" if fix.proven else "could help"
        where = f"; fits on {plain(names(fix.nodes, 6))}" if fix.nodes else ""
        yield f"- {tried}: {plain(fix.text)}{who}{where}"
    more = len(item.fixes) - 1
    besides = f" ({more} more {'change' if more == 1 else 'changes'} that would help)" if more > 0 else ""
    yield f"- all of it{besides}: {plain(f'dractl explain claim {item.claim.name} -n {item.claim.namespace}')}"
    yield ""


def _findings(findings: Sequence[Finding], told: bool) -> Iterator[str]:
    """Findings with what to do; those for information only by name. ``told``: pending claims stand above."""
    rest = [item for item in findings if not (told and item.code == CLAIM_PENDING.code)]
    if not rest:
        yield "None but the pending claims." if findings else "Nothing was found by the checks that were made."
        return
    serious = sorted(
        (item for item in rest if item.severity is not Severity.INFO), key=lambda item: -item.severity.rank
    )
    for item in serious[:_MOST_FINDINGS]:
        yield f"- **{item.severity.value} {item.code}** {_about(item)}{plain(item.message)}"
        yield f"  - do: {plain(item.hint or rule(item.code).fix)}"
    if len(serious) > _MOST_FINDINGS:
        yield f"- {len(serious) - _MOST_FINDINGS:,} more are not shown"
    names_only = [f"{item.code} {item.subject or rule(item.code).title}" for item in rest if item not in serious]
    if names_only:
        yield f"- for information: {plain('; '.join(names_only[:_MOST_FINDINGS]))}"
    yield ""
    yield "What a code means: dractl explain CODE"


def _about(item: Finding) -> str:
    """The finding's subject, unless its sentence names it."""
    if item.subject is None or item.subject.name.rpartition("/")[2] in item.message:
        return ""
    return f"{plain(str(item.subject))}: "
