"""``dractl diagnose``: what is wrong in this cluster, ordered by damage."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from dractl.cli import options
from dractl.cli.app import new_app

if TYPE_CHECKING:
    from collections.abc import Callable

    from dractl.diagnose.run import Diagnosis
    from dractl.explain.claim import Question
    from dractl.inventory import Inventory
    from dractl.render.text.terminal import Terminal
    from dractl.rules.finding import Severity
    from dractl.sources.nodereports import NodeReports

app = new_app()
_PAUSE = 5.0
"""Seconds between two looks with --wait: a whole cluster is read each time."""


class Format(StrEnum):
    """Output formats of diagnose."""

    TEXT = "text"
    WIDE = "wide"
    JSON = "json"
    YAML = "yaml"
    SARIF = "sarif"
    JUNIT = "junit"


class Threshold(StrEnum):
    """From which severity on the exit code is 1."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


@app.command()
def diagnose(
    categories: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[CATEGORY]...",
            help="conflicts, topology, publication, health, access, versions, hardware (default: all).",
            show_default=False,
        ),
    ] = None,
    select: Annotated[
        list[str] | None, typer.Option("--select", metavar="CODE", help="Only these codes (DRA401) or ranges (DRA4).")
    ] = None,
    ignore: Annotated[
        list[str] | None, typer.Option("--ignore", metavar="CODE", help="Leave these codes or ranges out.")
    ] = None,
    fail_on: Annotated[
        Threshold, typer.Option("--fail-on", help="Exit with 1 from this severity on.", show_default=True)
    ] = Threshold.ERROR,
    output: Annotated[Format, typer.Option("--output", "-o", help="Output format.", show_default=False)] = Format.TEXT,
    wait: Annotated[
        bool, typer.Option("--wait", help="Look again and again until nothing at the threshold is left.")
    ] = False,
    timeout: Annotated[
        str, typer.Option("--timeout", metavar="TIME", help="Longest time to --wait (5m; 0: no limit).")
    ] = "5m",
    watch: options.Watch = False,
    agent_namespace: Annotated[
        str, typer.Option("--agent-namespace", metavar="NS", help="With hardware: where the node agents run.")
    ] = "dractl",
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit with 3 if not all could be read, or no check could be made.")
    ] = False,
    snapshot: options.Snapshot = None,
    demo: options.Demo = False,
    context: options.Context = None,
    kubeconfig: options.Kubeconfig = None,
    kubernetes: options.Kubernetes = None,
) -> int:
    """Look for all that is wrong: claims that wait, devices held twice, broken pools, taints, roles, versions."""
    from dractl.cli.explain import question_of
    from dractl.cli.frame import seconds_of
    from dractl.cli.live import watch_report
    from dractl.cli.source import Source
    from dractl.errors import DractlError, Exit
    from dractl.render.text.diagnose import render_diagnosis
    from dractl.rules.finding import Severity

    _known(categories or [])
    chosen = _Chosen(categories or [], _codes(select), _codes(ignore), Severity(fail_on.value))
    chosen.check()
    if wait and (snapshot or demo):
        raise DractlError("--wait needs a running cluster", "Leave out --wait, or --snapshot and --demo.")

    source = Source(snapshot, demo, context, kubeconfig, everything=True)
    if watch:
        if wait:
            raise DractlError("--wait and --watch exclude each other", "Give one of them.")

        def as_text(report: Diagnosis, terminal: Terminal) -> str:
            return render_diagnosis(report, terminal, output is Format.WIDE)

        return watch_report(
            source, lambda inventory: chosen.look(question_of(inventory, kubernetes)), as_text, output.value
        )

    def look() -> tuple[Diagnosis, bool]:
        inventory = source.open()
        reports = None
        if "hardware" in chosen.categories and not (snapshot or demo):
            reports = _node_reports(inventory, agent_namespace, context, kubeconfig)
        unseen = bool(inventory.provenance.unseen or (reports and reports.silent))
        return chosen.look(question_of(inventory, kubernetes), reports), unseen

    report, unseen = _until_good(look, chosen.threshold, seconds_of(timeout, "--timeout")) if wait else look()
    _emit(report, output, chosen.threshold)
    if strict and (unseen or all(check.outcome == "skipped" for check in report.checks)):
        return Exit.NO_CLUSTER
    return Exit.NOT_GOOD if chosen.bad(report) else Exit.GOOD


@dataclass(slots=True)
class _Chosen:
    """Which checks are made, and from which severity on a finding is too much."""

    categories: list[str]
    select: list[str]
    ignore: list[str]
    threshold: Severity

    def check(self) -> None:
        """Raise a DractlError if no check is left."""
        from dractl.diagnose.run import checks_of
        from dractl.errors import DractlError

        if not checks_of(self.categories, self.select, self.ignore):
            what = " and ".join(
                f"{option} {','.join(codes)}"
                for option, codes in (("--select", self.select), ("--ignore", self.ignore))
                if codes
            )
            where = f" of {', '.join(self.categories)}" if self.categories else ""
            raise DractlError(
                f"{what} leave no check{where} to be made", "See what each code is with: dractl diagnose -o wide --demo"
            )

    def look(self, question: Question, reports: NodeReports | None = None) -> Diagnosis:
        """Make the checks."""
        from dractl.diagnose.check import Context
        from dractl.diagnose.run import diagnose as run

        context = Context(question)
        if reports is not None:
            context.reports, context.silent, context.asked = reports.hosts, reports.silent, True
        return run(question, self.categories, self.select, self.ignore, context)

    def bad(self, report: Diagnosis) -> bool:
        """Whether anything at the threshold was found."""
        worst = report.worst()
        return worst is not None and worst.at_least(self.threshold)


def _node_reports(inventory: Inventory, namespace: str, context: str | None, kubeconfig: str | None) -> NodeReports:
    """The reports of all node agents, through the API server."""
    from dractl.cli.output import Progress
    from dractl.cli.source import connect_to
    from dractl.sources.nodereports import collect

    with Progress() as progress:
        return collect(connect_to(context, kubeconfig), inventory.pods.values(), namespace, progress)


def _until_good(
    look: Callable[[], tuple[Diagnosis, bool]], threshold: Severity, limit: float
) -> tuple[Diagnosis, bool]:
    """Look again until nothing at the threshold is left or ``limit`` seconds (0: no limit) are over.

    A cluster that cannot be asked for a while is no failure, once it has answered.
    """
    import time

    from dractl.cli.output import note
    from dractl.errors import DractlError
    from dractl.sources import wait

    end = time.monotonic() + limit if limit else None
    found, said = look(), ""
    while True:
        left = sum(item.severity.at_least(threshold) for item in found[0].findings)
        if not left:
            return found
        if end is not None and time.monotonic() >= end:
            note(f"note: {left} left when the time to wait was over")
            return found
        text = f"note: {left} at severity {threshold.value} or worse; waiting"
        if text != said:
            note(text)
            said = text
        wait.pause(_PAUSE if end is None else max(0.0, min(_PAUSE, end - time.monotonic())))
        try:
            found = look()
        except DractlError as error:
            note(f"note: {error.message}; still waiting")


def _known(categories: list[str]) -> None:
    from dractl.diagnose.check import CATEGORIES
    from dractl.errors import DractlError

    for name in categories:
        if name not in CATEGORIES:
            raise DractlError(f"there is no category {name}", f"Categories: {', '.join(CATEGORIES)}.")


def _codes(values: list[str] | None) -> list[str]:
    from dractl.errors import DractlError
    from dractl.rules.registry import all_rules

    out = []
    for word in (word.strip().upper() for value in values or [] for word in value.split(",")):
        if not word.startswith("DRA") or not any(code.startswith(word) for code in all_rules()):
            raise DractlError(f"{word}: no code begins like this", "See the codes with: dractl rules")
        out.append(word)
    return out


def _emit(report: Diagnosis, output: Format, threshold: Severity) -> None:
    from dractl import __version__
    from dractl.cli.output import emit, emit_report
    from dractl.render.diagnosis import to_junit, to_sarif
    from dractl.render.text.diagnose import render_diagnosis

    if output is Format.SARIF:
        emit(to_sarif(report, __version__))
    elif output is Format.JUNIT:
        emit(to_junit(report, threshold))
    else:
        wide = output is Format.WIDE
        emit_report(report.to_json(), output.value, lambda terminal: render_diagnosis(report, terminal, wide))
