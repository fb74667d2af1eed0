"""A cluster as one HTML file that needs no network: heat map of the fleet, pending claims, findings.

What comes from the cluster reaches the page in two ways only: as escaped text, and as JSON in a data block in which no
``<`` is left. A content security policy lets nothing but the page's own script and style run.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
from collections.abc import Iterator, Sequence
from importlib.resources import files
from typing import Any

from dractl.diagnose.check import Waiting
from dractl.explain.report import FixView, GroupView
from dractl.listing.devices import taint_text
from dractl.listing.rows import DeviceRow, HolderRow
from dractl.render.overview import STATE_MARKS, Overview, Place, alike, head_line, names, readable, remarks
from dractl.rules.finding import Finding
from dractl.rules.registry import rule

_ROOT = "resource.kubernetes.io/pcieRoot"
_NUMA = ("numaNode", "numaNodeID", "numa", "numaNodeId")


def render_html(overview: Overview, version: str) -> str:
    """The whole page."""
    style, script = _asset("report.css"), _asset("report.js")
    report = overview.diagnosis
    policy = f"default-src 'none'; style-src '{_digest(style)}'; script-src '{_digest(script)}'; base-uri 'none'"
    taken = f", as of {text(report.taken)}" if report.taken else ""
    parts = [
        "<!DOCTYPE html>",
        '<html lang="en">',
        "<head>",
        '<meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>DRA report: {text(report.source)}</title>",
        f"<style>{style}</style>",
        "</head>",
        "<body>",
        '<a class="skip" href="#main">Skip to the content</a>',
        "<header>",
        f"<h1>DRA report: {text(report.source)}</h1>",
        f"<p>{text(head_line(overview))}.</p>",
        f'<p class="quiet">Kubernetes {text(report.kubernetes)}{taken}. Made by dractl {text(version)}.</p>',
        '<nav aria-label="Parts of the report"><a href="#fleet">Fleet</a> <a href="#pending">Pending claims</a>'
        ' <a href="#findings">Findings</a> <a href="#limits">Limits</a></nav>',
        '<button type="button" id="theme" hidden>Theme: system</button>',
        "</header>",
        '<main id="main" tabindex="-1">',
        *_fleet(overview),
        *_waiting(overview),
        *_findings(report.findings),
        *_limits(overview),
        "</main>",
        f'<script type="application/json" id="data">{data_block(fleet_data(overview.places))}</script>',
        f"<script>{script}</script>",
        "</body>",
        "</html>",
    ]
    return "\n".join(parts) + "\n"


def text(value: object) -> str:
    """Text as HTML shows it; also safe inside a quoted attribute."""
    return html.escape(readable(str(value)))


def data_block(value: Any) -> str:
    """JSON that can stand in a script element: nothing in it ends the element or opens a comment."""
    plain = json.dumps(value, separators=(",", ":"))
    return plain.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


class _Strings:
    """Every string once; elsewhere its number stands for it."""

    def __init__(self) -> None:
        self.all: list[str] = []
        self._numbers: dict[str, int] = {}

    def __call__(self, value: str) -> int:
        number = self._numbers.get(value)
        if number is None:
            number = self._numbers[value] = len(self.all)
            self.all.append(readable(value))
        return number


def fleet_data(places: Sequence[Place]) -> dict[str, Any]:
    """The fleet for the page's script.

    ``places`` are ``[name, what stands beside it, [device...]]``; a device is ``[name, driver, pool, state, product,
    PCIe root, NUMA node, holders, taints, reasons]`` of which empty ones at the end are left out. All but the states
    (places in ``states``) are numbers of ``strings``.
    """
    strings = _Strings()
    strings("")
    order = list(STATE_MARKS)
    rows = []
    for place in places:
        devices = [_device(device, strings, order) for device in place.devices]
        rows.append([strings(place.name), strings(_beside(place)), devices])
    return {
        "strings": strings.all,
        "states": [[state, mark, meaning] for state, (mark, meaning) in STATE_MARKS.items()],
        "places": rows,
    }


def _beside(place: Place) -> str:
    """What is remarkable about a node."""
    if place.node is None:
        return "devices without a node of their own"
    words: list[str] = [place.node.status] if place.node.status != "Ready" else []
    words += ["cordoned"] if place.node.schedulable is False else []
    return ", ".join([*words, *place.node.taints])


def _device(device: DeviceRow, strings: _Strings, order: list[str]) -> list[Any]:
    numa = next((value for name, value in device.attributes.items() if name.rpartition("/")[2] in _NUMA), "")
    row: list[Any] = [
        strings(device.device),
        strings(device.driver),
        strings(device.pool),
        order.index(device.state),
        strings(device.product or ""),
        strings(str(device.attributes.get(_ROOT, ""))),
        strings(str(numa)),
        [strings(_holder(holder)) for holder in device.holders],
        [strings(taint_text(taint)) for taint in device.taints],
        [strings(reason) for reason in device.reasons] if device.state != "used" else [],
    ]
    while row[-1] in (0, []):
        row.pop()
    return row


def _holder(holder: HolderRow) -> str:
    admin = ", admin access" if holder.admin_access else ""
    word = "pod" if len(holder.pods) == 1 else "pods"
    pods = f", {word} {names(holder.pods, 3)}" if holder.pods else ", no pod"
    return f"{holder.namespace}/{holder.name} (request {holder.request}{admin}{pods})"


def _fleet(overview: Overview) -> Iterator[str]:
    yield '<section aria-labelledby="fleet"><h2 id="fleet">Fleet</h2>'
    if not overview.places:
        yield "<p>Nodes and devices were not seen, or there are none.</p></section>"
        return
    states = list(overview.states)
    yield '<div class="wide" tabindex="0" role="region" aria-label="Devices by driver and state">'
    yield '<table class="totals">'
    yield "<caption>Devices by driver and state</caption><thead><tr><th scope='col'>driver</th>"
    for state in states:
        yield (
            f'<th scope="col" class="number"><span class="d {state}" aria-hidden="true">{STATE_MARKS[state][0]}</span>'
            f' <span class="word">{state}</span></th>'
        )
    yield "</tr></thead><tbody>"
    for driver, counts in overview.drivers.items():
        cells = "".join(f'<td class="number">{counts.get(state, 0):,}</td>' for state in states)
        yield f'<tr><th scope="row">{text(driver)}</th>{cells}</tr>'
    yield "</tbody></table></div>"
    yield "<noscript><p>The map of the nodes needs JavaScript; all else on this page does not.</p></noscript>"
    yield '<div id="map" hidden>'
    yield '<form role="search" aria-label="Filter the fleet" id="filter">'
    yield '<label>Text <input type="search" id="text" placeholder="node, device, claim, taint" autocomplete="off">'
    yield '</label><label>Driver <select id="driver"><option value="">all</option></select></label>'
    yield '<label>State <select id="state"><option value="">all</option></select></label>'
    yield '<label>Order <select id="order"><option value="name">by name</option><option value="free">most free'
    yield '</option><option value="trouble">most trouble</option></select></label>'
    yield '<button type="reset">Clear</button></form>'
    yield '<p id="count" role="status" aria-live="polite"></p>'
    yield '<ul id="legend" aria-label="Marks of device states"></ul>'
    yield '<div class="wide" tabindex="0" role="region" aria-label="Map of nodes and devices"><table id="nodes">'
    yield "<caption>Nodes by devices; choose a node to see its devices, their holders and taints</caption>"
    yield '<thead><tr><th scope="col">node</th><th scope="col" class="number">free</th>'
    yield '<th scope="col">devices</th></tr></thead>'
    yield '<tbody></tbody></table></div><nav id="pages" aria-label="Pages of the map"></nav></div></section>'


def _waiting(overview: Overview) -> Iterator[str]:
    yield f'<section aria-labelledby="pending"><h2 id="pending">Pending claims ({overview.pending:,})</h2>'
    if not overview.waiting:
        unseen = "ResourceClaim" in overview.unseen
        yield f"<p>{'Claims were not seen.' if unseen else 'No pod that was seen waits for a claim.'}</p>"
    for item in overview.waiting:
        yield from _claim(item)
    yield "</section>"


def _claim(waiting: Waiting) -> Iterator[str]:
    item = waiting.report
    age = f' <span class="quiet">({text(item.age)})</span>' if item.age else ""
    yield f'<article class="item"><h3>{text(item.claim.namespace)}/{text(item.claim.name)}{age}</h3>'
    yield f"<p>{text(item.summary)}</p>"
    if others := alike(waiting):
        yield f"<p>{text(others)}</p>"
    yield "<details><summary>Details and what would help</summary>"
    yield from _list("", item.details)
    yield from _list("To do", item.actions)
    yield from _list("What would help", [_fix(fix) for fix in item.fixes])
    if item.fixes_note:
        yield f"<p>{text(item.fixes_note)}</p>"
    yield from _list("Nodes", [_group(group) for group in item.groups])
    yield from _list("Holders", [f"{one.namespace}/{one.name}: {names(one.devices, 6)}" for one in item.holders])
    codes = dict.fromkeys(found.code for found in item.findings)
    yield from _list("Codes", [f"{code}: {rule(code).title}" for code in codes])
    again = f"dractl explain claim {item.claim.name} -n {item.claim.namespace}"
    yield f"<p>All of it, device by device: <code>{text(again)}</code></p></details></article>"


def _group(group: GroupView) -> str:
    number = f"{group.nodes:,} nodes, " if group.nodes > 1 else ""
    return f"{number}{group.where}: {group.reason}"


def _fix(fix: FixView) -> str:
    who = f" ({fix.who})" if fix.who else ""
    tried = "tried out" if fix.proven else "not tried out"
    return f"{fix.text}{who}; {tried}" + (f", fits on {names(fix.nodes, 6)}" if fix.nodes else "")


def _list(title: str, items: Sequence[str]) -> Iterator[str]:
    if items:
        head = f"<h4>{text(title)}</h4>" if title else ""
        yield f"{head}<ul>{''.join(f'<li>{text(item)}</li>' for item in items)}</ul>"


def _findings(findings: Sequence[Finding]) -> Iterator[str]:
    yield f'<section aria-labelledby="findings"><h2 id="findings">Findings ({len(findings):,})</h2>'
    if not findings:
        yield "<p>Nothing was found by the checks that were made.</p>"
    for item in findings:
        subject = text(item.subject) if item.subject is not None else text(rule(item.code).title)
        yield (
            f'<article class="item {item.severity.value}"><h3><span class="severity">{item.severity.value}</span>'
            f" {text(item.code)} {subject}</h3><p>{text(item.message)}</p>"
            f"<p><strong>Do:</strong> {text(item.hint or rule(item.code).fix)}</p></article>"
        )
    yield "</section>"


def _limits(overview: Overview) -> Iterator[str]:
    yield '<section aria-labelledby="limits"><h2 id="limits">Limits of this report</h2>'
    found = list(remarks(overview))
    yield from _list("", found)
    if not found:
        yield "<p>All kinds were read and all checks were made.</p>"
    yield "</section>"


def _asset(name: str) -> str:
    return files("dractl.render").joinpath("assets", name).read_text(encoding="utf-8")


def _digest(content: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
