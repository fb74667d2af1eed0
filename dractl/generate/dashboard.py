"""Grafana dashboards over dractl's metrics: the fleet, claims, one node. The JSON model of Grafana 10 and later."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

SCHEMA = 39
_WIDTH = 24


@dataclass(frozen=True, slots=True)
class Panel:
    """One panel: ``queries`` are (expression, legend); ``kind`` is Grafana's type of panel."""

    title: str
    kind: str
    queries: tuple[tuple[str, str], ...]
    unit: str = "short"
    width: int = 12
    height: int = 8
    description: str = ""


def _one(title: str, kind: str, expression: str, legend: str = "", **layout: Any) -> Panel:
    """A panel with a single query."""
    return Panel(title, kind, ((expression, legend),), **layout)


_KUBELET = "Of kubelet's own metrics, where they are scraped with a label node, or with the node's name in instance."


def _on_node(metric: str, more: str = "", function: str = "") -> str:
    """A metric of kubelet on the dashboard's node: scrapes name it in ``node``, or in ``instance`` with a port."""
    out = []
    for label in ('node="$node"', 'node="",instance=~"$node(:[0-9]+)?"'):
        selected = f"{metric}{{{label}{',' if more else ''}{more}}}"
        out.append(f"{function}({selected}[5m])" if function else selected)
    return " or ".join(out)


FLEET: tuple[Panel, ...] = (
    _one("Devices", "stat", "sum by (state) (dractl_devices)", "{{state}}", width=24, height=4),
    _one(
        "Devices by driver and state", "timeseries", "sum by (driver, state) (dractl_devices)", "{{driver}} {{state}}"
    ),
    Panel(
        "In use by driver",
        "timeseries",
        (
            (
                'sum by (driver) (dractl_devices{state=~"used|full|shared"}) / sum by (driver) (dractl_devices)',
                "{{driver}}",
            ),
        ),
        unit="percentunit",
    ),
    _one("Nodes with free devices", "table", 'sum by (driver, node) (dractl_devices{state="free"})', ""),
    _one("Pools that are not complete", "stat", 'sum by (driver) (dractl_pools{status!="complete"})', "{{driver}}"),
    _one("Findings", "table", "sum by (severity, category, code) (dractl_findings)", ""),
    Panel(
        "Topology of running pods",
        "piechart",
        (("sum by (quality) (dractl_pods_topology)", "{{quality}}"),),
        description="How near the nearest pair of NIC and other device of a pod is.",
    ),
    _one("Age of the last reading", "stat", "time() - dractl_read_timestamp_seconds", "", unit="s", height=4),
    _one("Readings that failed", "timeseries", "increase(dractl_read_errors_total[15m])", "", height=4),
)

CLAIMS: tuple[Panel, ...] = (
    _one("Claims", "stat", "sum by (state) (dractl_claims)", "{{state}}", width=24, height=4),
    _one(
        "Pending claims by namespace",
        "timeseries",
        'sum by (namespace) (dractl_claims{state="pending"})',
        "{{namespace}}",
    ),
    _one("Oldest pending claim", "timeseries", "dractl_claims_pending_age_seconds_max", "{{namespace}}", unit="s"),
    _one("Why claims wait", "table", "sum by (namespace, verdict, code) (dractl_claims_pending_reason)", ""),
    _one("Free devices by class", "timeseries", 'sum by (class) (dractl_class_devices{state="free"})', "{{class}}"),
    _one(
        "Most free on one node",
        "timeseries",
        "dractl_class_free_on_one_node_max",
        "{{class}}",
        description="A claim for more devices than this does not fit, however many are free in all.",
    ),
    Panel(
        "Search of the scheduler, a call",
        "timeseries",
        (
            (
                "sum by (extension_point) (rate(scheduler_plugin_execution_duration_seconds_sum"
                '{plugin="DynamicResources"}[5m])) / sum by (extension_point) '
                '(rate(scheduler_plugin_execution_duration_seconds_count{plugin="DynamicResources"}[5m]))',
                "{{extension_point}}",
            ),
        ),
        unit="s",
        description="On average. The histogram of kube-scheduler ends at 22 ms, so that quantiles say nothing above.",
    ),
    Panel(
        "Preparation on nodes (p99)",
        "timeseries",
        (
            (
                "histogram_quantile(0.99, sum by (le, driver_name) "
                "(rate(dra_grpc_operations_duration_seconds_bucket[5m])))",
                "{{driver_name}}",
            ),
        ),
        unit="s",
    ),
)

NODE: tuple[Panel, ...] = (
    _one(
        "Devices",
        "stat",
        'sum by (driver, state) (dractl_devices{node="$node"})',
        "{{driver}} {{state}}",
        width=24,
        height=4,
    ),
    _one(
        "Devices over time",
        "timeseries",
        'sum by (driver, state) (dractl_devices{node="$node"})',
        "{{driver}} {{state}}",
    ),
    Panel(
        "Claims in use on the node",
        "timeseries",
        ((f"{_on_node('dra_resource_claims_in_use')}", "{{driver_name}}"),),
        description=_KUBELET,
    ),
    Panel(
        "Failed calls to drivers",
        "timeseries",
        (
            (
                "sum by (driver_name, method_name) ("
                + _on_node("dra_grpc_operations_duration_seconds_count", 'grpc_status_code!="OK"', "increase")
                + ")",
                "{{driver_name}} {{method_name}}",
            ),
        ),
        description=_KUBELET,
    ),
)

DASHBOARDS: dict[str, tuple[str, tuple[Panel, ...]]] = {
    "fleet": ("DRA: fleet", FLEET),
    "claims": ("DRA: claims", CLAIMS),
    "node": ("DRA: one node", NODE),
}


def dashboard(name: str) -> dict[str, Any]:
    """One dashboard by its name in ``DASHBOARDS``. KeyError for another name."""
    title, panels = DASHBOARDS[name]
    variables = [_source()]
    if name == "node":
        variables.append(_variable("node", "label_values(dractl_devices, node)"))
    return {
        "id": None,
        "uid": f"dractl-{name}",
        "title": title,
        "tags": ["dra", "dractl"],
        "schemaVersion": SCHEMA,
        "version": 1,
        "editable": True,
        "refresh": "1m",
        "time": {"from": "now-6h", "to": "now"},
        "templating": {"list": variables},
        "panels": _laid_out(panels),
    }


def _source() -> dict[str, Any]:
    return {"name": "datasource", "type": "datasource", "query": "prometheus", "label": "Data source"}


def _variable(name: str, query: str) -> dict[str, Any]:
    return {
        "name": name,
        "type": "query",
        "datasource": _datasource(),
        "query": {"query": query, "refId": name},
        "refresh": 2,
        "sort": 1,
    }


def _datasource() -> dict[str, str]:
    return {"type": "prometheus", "uid": "${datasource}"}


def _laid_out(panels: Sequence[Panel]) -> list[dict[str, Any]]:
    """Panels from left to right, in rows as high as their highest."""
    out: list[dict[str, Any]] = []
    x = y = row = 0
    for number, panel in enumerate(panels, start=1):
        if x + panel.width > _WIDTH:
            x, y, row = 0, y + row, 0
        out.append(_panel(panel, number, x, y))
        x += panel.width
        row = max(row, panel.height)
    return out


def _panel(panel: Panel, number: int, x: int, y: int) -> dict[str, Any]:
    table = panel.kind == "table"
    targets = [
        {
            "refId": chr(ord("A") + index),
            "datasource": _datasource(),
            "expr": expression,
            "legendFormat": legend,
            **({"format": "table", "instant": True} if table else {}),
        }
        for index, (expression, legend) in enumerate(panel.queries)
    ]
    made: dict[str, Any] = {
        "id": number,
        "title": panel.title,
        "type": panel.kind,
        "datasource": _datasource(),
        "gridPos": {"x": x, "y": y, "w": panel.width, "h": panel.height},
        "fieldConfig": {"defaults": {"unit": panel.unit}, "overrides": []},
        "targets": targets,
    }
    if table:  # all rows are of one time
        hidden = {"excludeByName": {"Time": True}, "indexByName": {}, "renameByName": {"Value": "number"}}
        made["transformations"] = [{"id": "organize", "options": hidden}]
    if panel.description:
        made["description"] = panel.description
    return made
