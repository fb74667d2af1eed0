"""``dractl generate alerts`` and ``dractl generate dashboard``: what watches a cluster from ``dractl metrics``."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer


class AlertForm(StrEnum):
    """A PrometheusRule of the operator, or a rule file of Prometheus itself."""

    YAML = "yaml"
    JSON = "json"
    RULES = "rules"


class Dashboard(StrEnum):
    """The dashboards that there are."""

    FLEET = "fleet"
    CLAIMS = "claims"
    NODE = "node"


def register(app: typer.Typer) -> None:
    """Add both commands to ``dractl generate``."""
    app.command()(alerts)
    app.command()(dashboard)


def alerts(
    namespace: Annotated[
        str, typer.Option("--namespace", "-n", metavar="NS", help="Namespace of the PrometheusRule.")
    ] = "monitoring",
    output: Annotated[
        AlertForm, typer.Option("--output", "-o", help="yaml or json: a PrometheusRule; rules: a file for Prometheus.")
    ] = AlertForm.YAML,
) -> int:
    """Alerts over dractl's metrics and those of kubelet and kube-scheduler, each with what to do first."""
    from dractl.cli.output import emit
    from dractl.generate.alerts import prometheus_rule, rule_file
    from dractl.render.json import to_json
    from dractl.render.yaml import to_yaml

    if output is AlertForm.RULES:
        emit(to_yaml(rule_file()))
    else:
        write = to_json if output is AlertForm.JSON else to_yaml
        emit(write(prometheus_rule(namespace)))
    return 0


def dashboard(
    name: Annotated[Dashboard, typer.Argument(metavar="fleet|claims|node", help="Which dashboard.")] = Dashboard.FLEET,
) -> int:
    """A Grafana dashboard over dractl's metrics, as JSON to import or provision."""
    from dractl.cli.output import emit
    from dractl.generate.dashboard import dashboard as build
    from dractl.render.json import to_json

    emit(to_json(build(name.value)))
    return 0
