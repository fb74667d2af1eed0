"""Alerts and dashboards use only metrics and labels that exist, in expressions that parse."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import promql_parser
import pytest

from dractl.generate.alerts import ALERTS, rule_file
from dractl.generate.dashboard import DASHBOARDS, dashboard
from dractl.metrics.catalogue import KUBERNETES, OWN
from dractl.rules.registry import all_rules

LABELS = {definition.name: set(definition.labels) for definition in OWN}
LABELS |= {name: set(labels) for name, labels in KUBERNETES.items()}
FREE = {"le", "instance", "node"}
"""Labels that Prometheus itself adds."""


def expressions():
    for alert in ALERTS:
        yield alert.name, alert.expression
    for name in DASHBOARDS:
        for panel in dashboard(name)["panels"]:
            for target in panel["targets"]:
                yield f"{name}: {panel['title']}", target["expr"]


def selectors(node):
    """Every vector selector in a parsed expression."""
    if isinstance(node, promql_parser.VectorSelector):
        yield node
    for field in ("lhs", "rhs", "expr", "vector_selector", "vs", "param"):
        inner = getattr(node, field, None)
        if inner is not None and not isinstance(inner, str | int | float):
            yield from selectors(inner)
    for inner in getattr(node, "args", None) or ():
        yield from selectors(inner)


@pytest.mark.parametrize(("where", "expression"), list(expressions()))
def test_expressions_use_what_exists(where, expression):
    parsed = promql_parser.parse(expression.replace("$node", "h100-0"))
    found = list(selectors(parsed))
    assert found, where
    for selector in found:
        base = re.sub(r"_(bucket|count|sum)$", "", selector.name)
        name = selector.name if selector.name in LABELS else base
        assert name in LABELS, f"{where}: no metric {selector.name}"
        used = {matcher.name for matcher in selector.matchers.matchers}
        assert used <= LABELS[name] | FREE, f"{where}: {selector.name} has no label {used - LABELS[name]}"


def test_alerts_name_codes_and_labels_that_exist():
    for alert in ALERTS:
        for code in re.findall(r"DRA\d{3}", alert.expression + alert.runbook):
            assert code in all_rules(), alert.name
        assert alert.summary
        assert alert.runbook
        grouped = set(re.findall(r"\$labels\.(\w+)", alert.summary + alert.runbook))
        known = set().union(*LABELS.values())
        assert grouped <= known, alert.name


def test_names_are_unique_and_panels_do_not_overlap():
    assert len({alert.name for alert in ALERTS}) == len(ALERTS)
    for name in DASHBOARDS:
        taken: set[tuple[int, int]] = set()
        for panel in dashboard(name)["panels"]:
            place = panel["gridPos"]
            cells = {
                (x, y)
                for x in range(place["x"], place["x"] + place["w"])
                for y in range(place["y"], place["y"] + place["h"])
            }
            assert place["x"] + place["w"] <= 24
            assert not cells & taken
            taken |= cells


UNITS = {"short", "s", "percentunit"}
"""Those of Grafana's units that are used."""
PANELS = {"stat", "timeseries", "table", "piechart"}


@pytest.mark.parametrize("name", DASHBOARDS)
def test_what_grafana_needs_of_a_dashboard(name, dractl):
    """The dashboard JSON model of Grafana: https://grafana.com/docs/grafana/latest/dashboards/build-dashboards/."""
    made = json.loads(dractl("generate", "dashboard", name).out)
    assert made == dashboard(name)
    assert made["id"] is None  # Grafana gives it one; a number could replace another dashboard
    assert made["uid"] == f"dractl-{name}" and len(made["uid"]) <= 40
    assert made["schemaVersion"] >= 36  # of Grafana 9, from which on a datasource is an object
    variables = {one["name"]: one for one in made["templating"]["list"]}
    assert variables["datasource"]["type"] == "datasource" and variables["datasource"]["query"] == "prometheus"
    for one in variables.values():
        if one["type"] == "query":
            found = re.fullmatch(r"label_values\((\w+), (\w+)\)", one["query"]["query"])
            assert found and found[2] in LABELS[found[1]]
            assert one["datasource"] == {"type": "prometheus", "uid": "${datasource}"}
    numbers = [panel["id"] for panel in made["panels"]]
    assert len(set(numbers)) == len(numbers) and 0 not in numbers
    for panel in made["panels"]:
        assert panel["type"] in PANELS and panel["title"]
        assert panel["fieldConfig"]["defaults"]["unit"] in UNITS
        assert panel["datasource"] == {"type": "prometheus", "uid": "${datasource}"}
        assert len({target["refId"] for target in panel["targets"]}) == len(panel["targets"]) > 0
        for target in panel["targets"]:
            assert set(re.findall(r"\$\{?(\w+)", target["expr"])) <= variables.keys()
            legend = set(re.findall(r"{{(\w+)}}", target["legendFormat"]))
            kept = re.findall(r"by \(([^)]*)\)", target["expr"])
            whole = LABELS[re.findall(r"dra\w+|scheduler\w+", target["expr"])[0]] if not kept else set()
            assert legend <= whole | {label.strip() for group in kept for label in group.split(",")}, panel["title"]


@pytest.mark.prometheus
def test_promtool_accepts_the_rules(tmp_path):
    tool = shutil.which("promtool")
    if tool is None:
        pytest.skip("promtool is not installed (Debian package prometheus)")
    from dractl.render.yaml import to_yaml

    file = tmp_path / "rules.yaml"
    file.write_text(to_yaml(rule_file()))
    done = subprocess.run([tool, "check", "rules", str(file)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{len(ALERTS)} rules found" in done.stdout


@pytest.mark.prometheus
def test_promtool_accepts_the_metrics(dractl):
    tool = shutil.which("promtool")
    if tool is None:
        pytest.skip("promtool is not installed (Debian package prometheus)")
    text = dractl("metrics", "--once", "--demo").out
    done = subprocess.run([tool, "check", "metrics"], input=text, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_documentation_names_every_metric_and_alert():
    text = (Path(__file__).parents[2] / "docs" / "observability.md").read_text(encoding="utf-8")
    for one in OWN:
        labels, given_up = ", ".join(one.labels) or "-", ", ".join(one.gives_up) or "-"
        assert f"| `{one.name}` | {labels} | {one.help} | {one.bound} | {given_up} |" in text, one.name
    for alert in ALERTS:
        expression = alert.expression.replace("|", "\\|")
        assert f"| {alert.name} | {alert.severity} | {alert.wait} | `{expression}` |" in text, alert.name
