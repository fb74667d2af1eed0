"""``dractl cel``: check an expression, try it on devices, and see which fields there are to name."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from dractl.cli import options
from dractl.cli.app import new_app
from dractl.cli.output import emit, emit_report
from dractl.cli.source import choose_release, open_inventory
from dractl.errors import DractlError, Exit

if TYPE_CHECKING:
    from dractl.cel.environment import Environment
    from dractl.inventory import Inventory

app = new_app(help="Check CEL expressions, try them on devices, list the fields that drivers publish.")


class EvalFormat(StrEnum):
    """Output formats of ``eval``."""

    TEXT = "text"
    WIDE = "wide"
    JSON = "json"
    YAML = "yaml"
    NAME = "name"


Expression = Annotated[
    str, typer.Argument(metavar="EXPR|-", help="The expression, or - to read it from stdin.", show_default=False)
]
Gate = Annotated[
    list[str] | None,
    typer.Option("--gate", metavar="NAME=true|false", help="Feature gate (DRAListTypeAttributes=true); several times."),
]
Driver = Annotated[str | None, typer.Option("--driver", metavar="NAME", help="Only devices of this driver.")]


@app.command()
def check(
    expression: Expression,
    gate: Gate = None,
    output: options.Output = options.Format.TEXT,
    kubernetes: options.Kubernetes = None,
) -> int:
    """The API server's verdict on an expression: type and cost, or what is wrong and where."""
    from dractl.listing.expressions import check_expression
    from dractl.render.text.cel import render_check

    report = check_expression(_text(expression), _environment(kubernetes, gate))
    emit_report(report.to_json(), output, lambda terminal: render_check(report, terminal))
    return Exit.GOOD if report.valid else Exit.NOT_GOOD


@app.command(name="eval")
def evaluate(
    expression: Expression,
    driver: Driver = None,
    gate: Gate = None,
    output: Annotated[
        EvalFormat, typer.Option("--output", "-o", help="Output format; name prints only IDs.", show_default=False)
    ] = EvalFormat.TEXT,
    snapshot: options.Snapshot = None,
    demo: options.Demo = False,
    context: options.Context = None,
    kubeconfig: options.Kubeconfig = None,
    kubernetes: options.Kubernetes = None,
) -> int:
    """Which devices match an expression, which do not and why, which raise errors."""
    from dractl.cel.selector import compile_selector
    from dractl.listing.expressions import check_expression, evaluate_expression
    from dractl.render.text.cel import render_check, render_evaluation

    text = _text(expression)
    inventory = open_inventory(snapshot, demo, context, kubeconfig)
    _require_driver(inventory, driver)
    environment = _environment(choose_release(inventory, kubernetes).minor, gate)
    selector = compile_selector(text, environment)
    if selector.error is not None:
        report = check_expression(text, environment)
        emit_report(report.to_json(), output, lambda terminal: render_check(report, terminal))
        return Exit.USAGE
    found = evaluate_expression(inventory, selector, driver)
    if output is EvalFormat.NAME:
        if found.matching:
            emit("\n".join(found.matching))
    else:
        wide = output is EvalFormat.WIDE
        emit_report(found.to_json(), output, lambda terminal: render_evaluation(found, terminal, wide))
    return Exit.GOOD if found.matching else Exit.NOT_GOOD


@app.command()
def fields(
    driver: Driver = None,
    output: options.Output = options.Format.TEXT,
    snapshot: options.Snapshot = None,
    demo: options.Demo = False,
    context: options.Context = None,
    kubeconfig: options.Kubeconfig = None,
) -> int:
    """Attributes and capacities that drivers publish: types, example values, on how many devices."""
    from dractl.listing.expressions import list_fields
    from dractl.render.text.cel import render_fields

    inventory = open_inventory(snapshot, demo, context, kubeconfig)
    _require_driver(inventory, driver)
    report = list_fields(inventory, driver)
    emit_report(report.to_json(), output, lambda terminal: render_fields(report, terminal))
    return Exit.GOOD if report.fields else Exit.NOT_GOOD


def _text(expression: str) -> str:
    if expression != "-":
        return expression
    import sys

    data = sys.stdin.buffer.read()
    try:
        return data.decode().rstrip("\n")
    except UnicodeDecodeError:
        raise DractlError("stdin is no UTF-8 text", "Give the expression in UTF-8.") from None


def _require_driver(inventory: Inventory, driver: str | None) -> None:
    """Refuse a driver that publishes no devices: mostly a spelling mistake.

    Raises:
        DractlError: if there is none; it names those that there are.
    """
    from dractl.explain.words import near

    drivers = {key.driver for key in inventory.devices}
    if driver is None or driver in drivers:
        return
    close = near(driver, drivers)
    hint = f"Did you mean {' or '.join(close)}? " if close else ""
    raise DractlError(
        f"driver {driver!r} publishes no devices in {inventory.provenance.description}",
        f"{hint}Drivers that do: {', '.join(sorted(drivers)) or 'none'}.",
    )


def _environment(kubernetes: str | None, gates: list[str] | None) -> Environment:
    """The release and gates that an expression is compiled for."""
    from dractl.cel.environment import OLDEST, Environment
    from dractl.cli.validate import make_settings

    settings = make_settings(kubernetes, gates or [], [])
    if settings.release < OLDEST:
        raise DractlError("CEL selectors came with Kubernetes 1.31", "Give a later release with --kubernetes.")
    return Environment(
        settings.release,
        consumable_capacity=settings.enabled("DRAConsumableCapacity"),
        list_attributes=settings.enabled("DRAListTypeAttributes"),
    )
