"""``dractl diagnose``: what is wrong in this cluster, ordered by damage."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from dractl.cli import options
from dractl.cli.app import new_app

if TYPE_CHECKING:
    from dractl.diagnose.run import Diagnosis

app = new_app()


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
    strict: Annotated[bool, typer.Option("--strict", help="Exit with 3 if anything could not be read.")] = False,
    snapshot: options.Snapshot = None,
    demo: options.Demo = False,
    context: options.Context = None,
    kubeconfig: options.Kubeconfig = None,
    kubernetes: options.Kubernetes = None,
) -> int:
    """Look for all that is wrong: claims that wait, devices held twice, broken pools, taints, roles, versions."""
    from dractl.cli.explain import question_of
    from dractl.cli.source import open_inventory
    from dractl.diagnose.run import diagnose as run
    from dractl.errors import Exit
    from dractl.rules.finding import Severity

    _known(categories or [])
    inventory = open_inventory(snapshot, demo, context, kubeconfig, everything=True)
    report = run(
        question_of(inventory, kubernetes), categories or (), _codes(select), _codes(ignore)
    )
    _emit(report, output, Severity(fail_on.value))
    if strict and inventory.provenance.unseen:
        return Exit.NO_CLUSTER
    worst = report.worst()
    return Exit.NOT_GOOD if worst is not None and worst.at_least(Severity(fail_on.value)) else Exit.GOOD


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


def _emit(report: Diagnosis, output: Format, threshold: object) -> None:
    from dractl import __version__
    from dractl.cli.output import emit, emit_report
    from dractl.render.diagnosis import to_junit, to_sarif
    from dractl.render.text.diagnose import render_diagnosis
    from dractl.rules.finding import Severity

    if output is Format.SARIF:
        emit(to_sarif(report, __version__))
    elif output is Format.JUNIT:
        assert isinstance(threshold, Severity)
        emit(to_junit(report, threshold))
    else:
        wide = output is Format.WIDE
        emit_report(report.to_json(), output.value, lambda terminal: render_diagnosis(report, terminal, wide))
