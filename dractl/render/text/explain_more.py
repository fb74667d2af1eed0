"""``dractl explain device``, ``node`` and ``class`` as text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dractl.render.text.explain import Page
from dractl.render.text.table import clean
from dractl.render.text.terminal import PLAIN, Terminal

Report = Mapping[str, Any]

_SHOWN = 12


def render_device(report: Report, terminal: Terminal = PLAIN, wide: bool = False) -> str:
    """A DeviceExplanation."""
    page = Page(terminal, wide)
    where = f" on {report['node']}" if report.get("node") else ""
    _head(page, f"device {report['device']}{where}: {report['state']}", report)
    facts = [[name, value] for part in ("attributes", "capacity") for name, value in report[part].items()]
    if facts:
        page.title("publishes")
        page.columns(facts, "    ")
    page.holders(report["holders"])
    chosen = [one for one in report["classes"] if one["selects"]]
    rest = [one for one in report["classes"] if not one["selects"]]
    if report["classes"]:
        page.title("classes")
        page.columns([[one["name"], one["text"]] for one in [*chosen, *(rest if wide else rest[:_SHOWN])]], "    ")
    _claims(page, report["claims"])
    page.codes([report])
    return page.text()


def render_node(report: Report, terminal: Terminal = PLAIN, wide: bool = False) -> str:
    """A NodeExplanation."""
    page = Page(terminal, wide)
    _head(page, f"node {report['node']}", report)
    if report["drivers"]:
        page.title("devices")
        names = ("driver", "devices", "free", "used", "tainted", "blocked")
        rows = [[str(one[name]) for name in names] + [", ".join(one["pools"])] for one in report["drivers"]]
        page.columns([[*names, "pools"], *rows], "    ", head=True)
    page.holders(report["holders"])
    _claims(page, report["claims"])
    page.codes([report])
    return page.text()


def render_class(report: Report, terminal: Terminal = PLAIN, wide: bool = False) -> str:
    """A ClassExplanation."""
    page = Page(terminal, wide)
    _head(page, f"class {report['name']}", report)
    nodes = list(report["byNode"].items())
    if nodes:
        page.title("selected devices by node")
        shown = nodes if wide else nodes[: 2 * _SHOWN]
        page.columns([[name, str(number)] for name, number in shown], "    ")
        if len(nodes) > len(shown):
            page.line(f"    ... {len(nodes) - len(shown)} more nodes (-o wide shows them)")
    if report["misses"]:
        page.title("not selected")
        for miss in report["misses"]:
            page.item(f"{miss['devices']} such as {miss['example']}: {miss['text']}", "    ")
    _claims(page, report["claims"])
    page.codes([report])
    return page.text()


def _head(page: Page, text: str, report: Report) -> None:
    page.line(page.terminal.bold(clean(text)))
    page.prose(report["summary"], strong=True)
    page.bullets(report["details"])


def _claims(page: Page, claims: list[Mapping[str, Any]]) -> None:
    if not claims:
        return
    page.title("claims")
    shown = claims if page.wide else claims[:_SHOWN]
    for one in shown:
        request = f", request {one['request']}" if one["request"] else ""
        page.item(f"{one['claim']}{request}: {one['text']}", "    ")
    if len(claims) > len(shown):
        page.line(f"    ... {len(claims) - len(shown)} more (-o wide shows them)")
