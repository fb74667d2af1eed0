"""``dractl explain`` as text: the headline, one sentence, the evidence, what to do.

Works on the report as plain data; every sentence comes from there.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from dractl.render.text.table import cell_width, clean
from dractl.render.text.terminal import PLAIN, Terminal

Report = Mapping[str, Any]

_STAGES = {
    "published": "published",
    "pools": "in usable pools",
    "class": "in the class",
    "selectors": "match the selectors",
    "capacity": "have the capacity",
    "taints": "not tainted",
    "free": "free",
    "counters": "have counters left",
    "constraints": "within the constraints",
    "pod": "on nodes the pod may use",
}
_GROUPS_SHOWN = 8
_HOLDERS_SHOWN = 8
_NEAREST_SHOWN = 3
_VALUES_SHOWN = 8
_DEVICES_SHOWN = 40


def render_claim(report: Report, terminal: Terminal = PLAIN, wide: bool = False) -> str:
    """A ClaimExplanation. ``wide`` shows all groups, holders, values and codes."""
    page = Page(terminal, wide)
    page.headline(report["claim"], report)
    page.body(report)
    return page.text()


def render_pod(report: Report, terminal: Terminal = PLAIN, wide: bool = False) -> str:
    """A PodExplanation: the pod's sentence, its claims, then the evidence."""
    page = Page(terminal, wide)
    page.headline(report["pod"], report)
    page.prose(report["summary"], strong=True)
    page.bullets(report.get("details", []))
    page.entries(report.get("entries", []))
    claims = report.get("claims", [])
    said = {report["summary"], *report.get("details", [])}
    for claim in claims:
        if len(claims) > 1 or claim["summary"] not in said:
            page.gap()
            page.line(terminal.bold(clean(f"claim {_full(claim['claim'])}")))
            page.prose(claim["summary"])
        if len(claims) == 1:
            page.bullets(text for text in claim.get("details", []) if text not in said)
        page.evidence(claim, nodes=not report.get("nodes"))
    page.groups(report)
    page.devices(report)
    page.advice(report)
    page.codes([report, *claims])
    return page.text()


class Page:
    """Lines as they are put together: prose, lists and columns, and the sections that reports share."""

    def __init__(self, terminal: Terminal, wide: bool) -> None:
        self.terminal = terminal
        self.wide = wide
        self.lines: list[str] = []

    def text(self) -> str:
        return "\n".join(self.lines).rstrip() + "\n"

    # --- building blocks ---

    def line(self, text: str = "") -> None:
        self.lines.append(text.rstrip())

    def gap(self) -> None:
        if self.lines and self.lines[-1]:
            self.lines.append("")

    def prose(self, text: str, indent: str = "  ", strong: bool = False) -> None:
        self.gap()
        for row in self._wrap(text, indent, indent):
            self.line(self.terminal.bold(row) if strong else row)

    def bullets(self, texts: Iterable[str], mark: str = "- ") -> None:
        kept = list(texts)
        if not kept:
            return
        self.gap()
        for text in kept:
            self.item(text, "  " + mark)

    def item(self, text: str, mark: str) -> None:
        for row in self._wrap(text, mark, " " * len(mark)):
            self.line(row)

    def title(self, text: str) -> None:
        self.gap()
        self.line("  " + self.terminal.bold(clean(text)))

    def _wrap(self, text: str, first: str, rest: str) -> list[str]:
        width = max(40, self.terminal.width)
        rows = textwrap.wrap(
            clean(text),
            width,
            initial_indent=first,
            subsequent_indent=rest,
            break_long_words=False,
            break_on_hyphens=False,
        )
        return rows or [first.rstrip()]

    # --- sections ---

    def headline(self, subject: Mapping[str, str], report: Report) -> None:
        state = report["state"]
        parts = [f"{_full(subject)}: {_state_words(state, report.get('stage'))}"]
        if report["kind"] == "PodExplanation" and state == "missing":
            parts[0] = f"{_full(subject)}: pending for {report.get('age', 'some time')}, its claim is missing"
        if report.get("age") and state == "pending":
            parts[0] = f"{_full(subject)}: pending for {report['age']}"
            if report.get("stage", "unallocated") != "unallocated":
                parts.append(report["stage"])
        if report["kind"] == "ClaimExplanation":
            parts.extend(_pods_words(report.get("pods", [])))
        self.line(self.terminal.bold(clean(", ".join(parts))))

    def body(self, report: Report) -> None:
        self.prose(report["summary"], strong=True)
        self.bullets(report.get("details", []))
        self.evidence(report)
        self.advice(report)
        self.codes([report])

    def evidence(self, report: Report, nodes: bool = True) -> None:
        self.allocation(report.get("allocation"))
        self.requests(report.get("requests", []))
        self.constraints(report.get("constraints", []))
        if nodes:
            self.groups(report)
            self.devices(report)
        self.holders(report.get("holders", []))

    def entries(self, entries: Sequence[Mapping[str, Any]]) -> None:
        if len(entries) < 2 and not any(entry["stage"] in ("no claim yet",) for entry in entries):
            return
        self.title("claims")
        for entry in entries:
            self.item(f"{entry['name']}: {entry['text']}", "    ")

    def allocation(self, allocation: Mapping[str, Any] | None) -> None:
        if not allocation:
            return
        self.title("allocation")
        rows = []
        for result in allocation["results"]:
            extra = " (admin access)" if result.get("adminAccess") else ""
            consumed = result.get("consumedCapacity")
            if consumed:
                extra += " (" + ", ".join(f"{name} {amount}" for name, amount in consumed.items()) + ")"
            rows.append([result["request"], f"{result['driver']}/{result['pool']}/{result['device']}{extra}"])
        self.columns(rows)

    def requests(self, requests: Sequence[Mapping[str, Any]]) -> None:
        if not requests:
            return
        self.gap()
        width = max(cell_width(_request_head(request)) for request in requests)
        for request in requests:
            head = _request_head(request)
            mark = f"  {clean(head)}{' ' * (width - cell_width(head))}   "
            if len(mark) > self.terminal.width // 2:
                # on narrow terminals the funnel goes below
                self.line(mark)
                mark = "      "
            self.item(_funnel_words(request.get("funnel", []), self.wide), mark)
            for note in request.get("notes", []):
                self.item(note, "      ")
            nearest = request.get("nearest", [])
            for miss in nearest if self.wide else nearest[:_NEAREST_SHOWN]:
                self.item(f"near: {miss['text']}", "      ")

    def constraints(self, constraints: Sequence[Mapping[str, Any]]) -> None:
        for constraint in constraints:
            self.gap()
            self.item(constraint["text"], "  ")
            groups = constraint.get("groups", [])
            shown = groups if self.wide else groups[:_VALUES_SHOWN]
            rows = [
                [
                    group["value"],
                    group.get("node", ""),
                    ", ".join(f"{name} {number}" for name, number in group["free"].items()),
                ]
                for group in shown
            ]
            if rows:
                self.columns([["value", "node", "usable devices"], *rows], head=True)
            if len(groups) > len(shown):
                self.line(f"      ... {len(groups) - len(shown)} more values (-o wide shows them)")

    def groups(self, report: Report) -> None:
        groups = report.get("groups", [])
        if not groups:
            return
        self.title("nodes")
        shown = groups if self.wide else groups[:_GROUPS_SHOWN]
        width = max(len(str(group["nodes"])) for group in shown)
        for group in shown:
            where = ", ".join(group["names"]) if self.wide else group["where"]
            self.item(f"{where}: {group['reason']}", f"    {group['nodes']:>{width}}  ")
            if self.wide:
                by_request: dict[str, list[str]] = {}
                for refusal in group.get("refusals", []):
                    by_request.setdefault(refusal["request"], []).append(f"{refusal['devices']} {refusal['code']}")
                for request, refused in by_request.items():
                    self.item(f"{request}: {', '.join(refused)}", " " * (width + 8))
        if len(groups) > len(shown):
            rest = sum(group["nodes"] for group in groups[len(shown) :])
            self.line(f"    ... {rest} more nodes in {len(groups) - len(shown)} groups (-o wide shows them)")

    def devices(self, report: Report) -> None:
        """The one node that was asked about, device by device."""
        for node in report.get("nodes", []):
            if node.get("devices") is None:
                continue
            self.title(f"node {node['name']}: {_node_words(node, report['groups'])}")
            every = node["devices"]
            rows = every if self.wide else [row for row in every if row.get("code") != "class-selector"]
            shown = rows if self.wide else rows[:_DEVICES_SHOWN]
            if shown:
                self.columns([[row["request"], row["device"], row["text"]] for row in shown])
            if len(every) > len(shown):
                other = "more, those of other classes among them" if len(every) > len(rows) else "more"
                self.line(f"      ... {len(every) - len(shown)} {other} (-o wide shows them)")

    def holders(self, holders: Sequence[Mapping[str, Any]]) -> None:
        if not holders:
            return
        self.title("in use by")
        shown = holders if self.wide else holders[:_HOLDERS_SHOWN]
        for holder in shown:
            self.item(holder["text"], "    ")
        if len(holders) > len(shown):
            self.line(f"    ... {len(holders) - len(shown)} more (-o wide shows them)")

    def conflict(self, parts: Sequence[Mapping[str, Any]]) -> None:
        """What cannot hold together, in one line for each request; a conflict of two things is told already."""
        lines: dict[str, list[str]] = {}
        for part in parts:
            key = f"request {part['request']}" if part.get("request") else part["text"]
            lines.setdefault(key, []).extend([part["text"]] if part.get("request") else [])
        if len(lines) < 3 and (len(lines) < 2 or len(parts) < 4):
            return
        self.title("cannot hold together")
        for key, texts in lines.items():
            self.item(f"{key}: {', '.join(texts)}" if texts else key, "    - ")

    def advice(self, report: Report) -> None:
        self.conflict(report.get("conflict", []))
        fixes = report.get("fixes", [])
        if fixes:
            self.title("what would help, each tried out")
            for number, fix in enumerate(fixes, 1):
                nodes = f" (fits on {', '.join(_short(fix['nodes']))})" if fix.get("nodes") else ""
                about = [text for text in (fix.get("who"), fix.get("detail")) if text]
                who = f" [{'; '.join(about)}]" if about else ""
                self.item(fix["text"] + nodes + who, f"    {number}. ")
        if report.get("fixesNote"):
            self.gap()
            self.item(report["fixesNote"], "  ")
        if report.get("actions"):
            self.title("what to do")
            for action in report["actions"]:
                self.item(action, "    - ")
        events = report.get("events", [])
        if events:
            self.title("events")
            for event in events if self.wide else _latest(events):
                times = f", {event['count']} times" if event["count"] > 1 else ""
                last = f", last {event['last']} ago" if event.get("last") else ""
                self.item(f"{event['reason']} ({event['object']}{times}{last}): {event['message']}", "    ")
        if report.get("notes"):
            self.title("notes")
            for note in report["notes"]:
                self.item(note, "    - ")

    def codes(self, reports: Sequence[Report]) -> None:
        said = {_bare(text) for report in reports for text in [report["summary"], *report.get("details", [])]}
        findings: dict[tuple[str, str], Mapping[str, Any]] = {}
        for report in reports:
            for finding in report.get("findings", []):
                findings.setdefault((finding["code"], finding["message"]), finding)
        fresh = [
            finding for finding in findings.values() if not any(_bare(finding["message"]) in text for text in said)
        ]
        if fresh:
            self.title("worth a look")
            for finding in fresh:
                self.item(finding["message"], f"    {finding['code']}  ")
        codes = sorted({finding["code"] for finding in findings.values()})
        if codes:
            self.gap()
            self.item(f"More about {', '.join(codes)}: dractl explain {codes[0]}", "  ")

    def columns(self, rows: Sequence[Sequence[str]], indent: str = "      ", head: bool = False) -> None:
        cells = [[clean(cell) for cell in row] for row in rows]
        if not cells:
            return
        used = [index for index in range(len(cells[0])) if any(row[index] for row in cells[1 if head else 0 :])]
        widths = {index: max(cell_width(row[index]) for row in cells) for index in used}
        for number, row in enumerate(cells):
            parts = [row[index] + " " * (widths[index] - cell_width(row[index])) for index in used]
            text = indent + "  ".join(parts).rstrip()
            self.line(self.terminal.dim(text) if head and number == 0 else text)


def _bare(text: str) -> str:
    """A sentence without what its place in the text adds to it."""
    return text.rstrip(".").lower()


def _latest(events: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The last event of each object and reason, at most three."""
    last = {(event["object"], event["reason"]): event for event in events}
    return [event for event in events if last[(event["object"], event["reason"])] is event][-3:]


def _full(subject: Mapping[str, str]) -> str:
    return f"{subject['namespace']}/{subject['name']}"


def _state_words(state: str, stage: str | None) -> str:
    if stage and state not in ("reserved",) and stage not in (state, "unallocated"):
        return stage if state in ("deleting", "allocated") else f"{state}, {stage}"
    return "allocated and reserved" if state == "reserved" else state


def _pods_words(pods: Sequence[Mapping[str, Any]]) -> list[str]:
    out = []
    for role, words in (
        ("waiting", "wanted by"),
        ("preparing", "to be prepared for"),
        ("running", "used by"),
        ("finished", "still named by finished"),
        ("gone", "reserved for vanished"),
    ):
        names = [_full(pod) for pod in pods if pod["role"] == role]
        if names:
            out.append(f"{words} {'pods' if len(names) > 1 else 'pod'} {', '.join(_short(names, 3))}")
    return out


def _short(names: Sequence[str], limit: int = 6) -> list[str]:
    if len(names) <= limit:
        return list(names)
    return [*names[: limit - 1], f"{len(names) - limit + 1} more"]


def _request_head(request: Mapping[str, Any]) -> str:
    number = "all" if request["mode"] == "All" else f"x{request.get('count', 1)}"
    admin = " (admin access)" if request.get("adminAccess") else ""
    return f"request {request['name']}  {request['class']} {number}{admin}"


def _funnel_words(funnel: Sequence[Mapping[str, Any]], wide: bool) -> str:
    parts = []
    before: int | None = None
    for stage in funnel:
        refused = stage.get("refused", {})
        if before is not None and stage["devices"] == before and not wide:
            continue
        why = ""
        if wide and refused:
            why = " (" + ", ".join(f"{number} {code}" for code, number in refused.items()) + ")"
        parts.append(f"{stage['devices']} {_STAGES.get(stage['stage'], stage['stage'])}{why}")
        before = stage["devices"]
    return " > ".join(parts)


def _node_words(node: Mapping[str, Any], groups: Sequence[Mapping[str, Any]]) -> str:
    words = {"fits": "fits", "doesNotFit": "does not fit", "error": "the allocator fails", "undecided": "undecided"}
    verdict = node["allocator"]["verdict"]
    text = words[verdict]
    if node["allocator"].get("error"):
        text += f" ({node['allocator']['error']})"
    elif verdict == "doesNotFit":
        return f"{text}: {groups[node['group']]['reason']}"
    if not node["pod"]["eligible"]:
        text += f"; the pod may not use it: {', '.join(node['pod']['reasons'])}"
    return text
